# SPDX-License-Identifier: Apache-2.0
"""The vfio-user server with a drive behind it: clients as QEMU and as SPDK are, resets, memory that goes, an image."""

from __future__ import annotations

import select
from pathlib import Path
from typing import Any

import pytest
import vfio_client as vc
from doorbell.device.functional import FunctionalSsd
from doorbell.errors import UserError
from doorbell.nvme.constants import NvmOpc
from doorbell.vm.devices import FunctionalDevice
from served_drives import drive_server, exercise, new_driver


@pytest.mark.parametrize("spdk", [False, True], ids=["qemu", "spdk"])
def test_drive(tmp_path: Path, spdk: bool) -> None:
    with drive_server(tmp_path) as path:
        for round_ in range(2):  # the second client finds a drive like new, with the data of the first
            drive, driver = new_driver(path, spdk=spdk)
            driver.start(queues=2, entries=16)
            exercise(driver, round_)
            if round_:
                driver.stop()
            else:  # leave in the middle of something
                driver.submit(1, NvmOpc.READ, 0, 63, driver.buffer(64 * 512), ring=True)
            drive.close()


@pytest.mark.parametrize("spdk", [False, True], ids=["qemu", "spdk"])
def test_drive_whose_queues_are_made_anew(tmp_path: Path, spdk: bool) -> None:
    """Their doorbells have the values again that they had."""
    with drive_server(tmp_path) as path:
        drive, driver = new_driver(path, spdk=spdk)
        for round_ in range(2):
            driver.start(queues=1, entries=16)
            for _ in range(2):
                driver.write(0, bytes([round_ + 1]) * 512)
                driver.delete_sq(1)
                driver.delete_cq(1)
                driver.create_cq(1, 16, 1)
                driver.create_sq(1, 16, 1)
            assert driver.read(0, 1) == bytes([round_ + 1]) * 512
            driver.disable()
        drive.close()


def test_a_doorbell_that_is_rung_while_the_page_is_looked_at() -> None:
    """By the functional drive, which has no way to take a value and leave another one in one step."""

    class Page:
        """As soon as the 1 has been read its host writes a 2."""

        def __init__(self) -> None:
            self.words = [0xFFFFFFFF] * 1024

        def __getitem__(self, i: int) -> int:
            value = self.words[i]
            if i == 2 and value == 1:
                self.words[2] = 2
            return value

        def __setitem__(self, i: int, value: int) -> None:
            self.words[i] = value

    sim: Any = FunctionalSsd(media_size=1 << 20, num_qp=4)
    device: Any = FunctionalDevice(sim)
    rung = []
    sim.mmio_write = lambda offset, value, size=4: rung.append((offset, value))
    device._doorbells = Page()
    device._doorbells[2] = 1
    for _ in range(3):
        device.run(1)
    assert rung == [(0x1008, 1), (0x1008, 2)]


def test_drive_reset_and_flr(tmp_path: Path) -> None:
    with drive_server(tmp_path) as path:
        drive, driver = new_driver(path)
        driver.start(queues=2, entries=16)
        for how in (driver.disable, driver.flr, lambda: (drive.client.ask(vc.RESET), driver._forget_queues())):
            for q in (1, 2):
                driver.submit(q, NvmOpc.READ, 0, 63, driver.buffer(64 * 512), ring=True)
            how()
            driver.start(queues=2, entries=16)
            exercise(driver, ios=4)
        drive.close()


def test_drive_remap_while_enabled(tmp_path: Path) -> None:
    """SeaBIOS does that: all memory goes and comes back while the controller is enabled."""
    with drive_server(tmp_path) as path:
        drive, driver = new_driver(path)
        driver.start(queues=2, entries=16)
        for _ in range(5):
            drive.client.unmap(driver.memory.base, driver.memory.size)
            drive.client.map(driver.memory.base, driver.memory.size, driver.memory.fd)
            exercise(driver, ios=3, largest=8)
        drive.close()


@pytest.mark.rtl
def test_drive_by_messages(tmp_path: Path) -> None:
    """All of host memory by messages: slow, and right."""
    with drive_server(tmp_path) as path:
        drive, driver = new_driver(path, messages=True)
        driver.start(queues=2, entries=16)
        exercise(driver, ios=6, largest=16)
        assert drive.client.served > 20
        drive.close()


@pytest.mark.rtl
def test_nothing_is_written_after_a_reset(tmp_path: Path) -> None:
    """What was on its way does not come to a client that has been told of the reset: its memory may be another's."""
    with drive_server(tmp_path) as path:
        drive, driver = new_driver(path, messages=True)
        for round_ in range(4):
            driver.start(queues=2, entries=16)
            for q in (1, 2):
                driver.submit(q, NvmOpc.READ, 0, 255, driver.buffer(256 * 512))
            driver.ring()
            written = 0
            while written < 10 * (round_ + 1):
                number, command, _, _, body, _ = drive.client.receive()
                drive.client.answer_dma(number, command, body)
                written += command == vc.DMA_WRITE
            drive.client.send(vc.RESET)
            while drive.client.receive()[1] != vc.RESET:
                pass
            assert not select.select([drive.client.sock], [], [], 0.2)[0]
            driver._forget_queues()
        drive.close()


def test_image(tmp_path: Path) -> None:
    image = tmp_path / "disk"
    with drive_server(tmp_path, image=image, size="16m") as path:
        drive, driver = new_driver(path)
        driver.start(queues=1, entries=16)
        source = driver.buffer(4096)
        source.write(b"lasting " * 512)
        driver.run(driver.submit(1, NvmOpc.WRITE, 8, 7, source))
        drive.close()
    assert image.stat().st_size == 16 << 20
    assert image.read_bytes()[4096:8192] == b"lasting " * 512
    with drive_server(tmp_path, image=image, size=None) as path:
        drive, driver = new_driver(path)
        driver.start(queues=1, entries=16)
        target = driver.buffer(4096)
        driver.run(driver.submit(1, NvmOpc.READ, 8, 7, target))
        assert target.read() == b"lasting " * 512
        drive.close()
    with pytest.raises(UserError, match="end would be lost"), drive_server(tmp_path, image=image, size="8m"):
        pass


@pytest.mark.parametrize(("options", "text"), [({"size": "17"}, "capacity"), ({"size": "many"}, "size"),
                                               ({"link": "gen9x8"}, "link"),
                                               ({"top": "db_vcsd", "image": Path("any")}, "their files")])  # fmt: skip
def test_bad_options(tmp_path: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(UserError, match=text), drive_server(tmp_path, **options):
        pass
