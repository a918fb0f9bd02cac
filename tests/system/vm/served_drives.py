# SPDX-License-Identifier: Apache-2.0
"""A vfio-user server in a thread, a drive behind it, and what a host does with that drive."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import vfio_client as vc
from conftest import BACKEND
from doorbell.device.vfio_user import Server
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.vm import serve


@contextlib.contextmanager
def running(server: Server) -> Iterator[None]:
    """Serve in a thread; an exception there fails the test."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            server.serve()
        except BaseException as e:  # noqa: BLE001
            failed.append(e)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()
        if failed:
            raise failed[0]


@contextlib.contextmanager
def drive_server(tmp_path: Path, **options: Any) -> Iterator[str]:
    path = str(tmp_path / "drive")
    options = {"size": "64m", "backend": BACKEND, **options}
    with serve.serving_device(path, **options) as server, running(server):
        yield path


def exercise(driver: Driver, seed: int = 1, ios: int = 24, largest: int = 64) -> None:
    """Write, read back and compare over two queues."""
    rng = random.Random(seed)
    block = driver.block_size
    shadow: dict[int, bytes] = {}
    for i in range(ios):
        blocks = rng.choice((1, 3, 8, largest))
        slba = 256 * i
        source = driver.buffer(blocks * block, offset=rng.choice((0, 0, 512)), scattered=bool(rng.randrange(2)))
        data = rng.randbytes(blocks * block)
        source.write(data)
        driver.run(driver.submit(1 + i % 2, NvmOpc.WRITE, slba, blocks - 1, source))
        source.free()
        shadow[slba] = data
    reads = []
    for i, (slba, data) in enumerate(shadow.items()):
        target = driver.buffer(len(data), scattered=bool(rng.randrange(2)))
        reads.append((driver.submit(1 + i % 2, NvmOpc.READ, slba, len(data) // block - 1, target), target, data))
    driver.run(*(command for command, _, _ in reads))
    for _, target, data in reads:
        assert target.read(len(data)) == data
        target.free()


def new_driver(path: str, nsid: int = 1, **kind: bool) -> tuple[vc.Drive, Driver]:
    drive = vc.Drive(path, **kind)
    memory = drive.use(vc.SharedMemory())
    return drive, Driver(drive, memory, io_timeout_us=60e6, admin_timeout_us=60e6, ready_timeout_us=60e6, nsid=nsid)
