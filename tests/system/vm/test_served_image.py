# SPDX-License-Identifier: Apache-2.0
"""`./doorbell serve --image` as a process that is ended at any moment: what was acknowledged is in the image.

A host writes and flushes without a pause until the server is gone, then looks at the image, and goes on with a new one.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import vfio_client as vc
from conftest import BACKEND
from doorbell import build
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.vm.devices import QUEUE_PAIRS
from doorbell.vm.serve import DATA_W
from own_mounts import own_mounts
from served_drives import new_driver

BLOCK, BLOCKS, DEPTH = 512, 2048, 6  # of the region that is written; commands in flight
SLOW = ("--media-flush-latency-ns", "50000")


@pytest.fixture(scope="module", autouse=True)
def simulator() -> None:
    """Built before a server is started: that would say so, and take its time."""
    if BACKEND == "rtl":
        build.simulator("db_ssd", {"DATA_W": DATA_W, "NUM_QP": QUEUE_PAIRS})


class Served:
    """A server process; `path` is its socket."""

    def __init__(self, folder: Path, image: Path, *options: str, begin: tuple[str, ...] = ()) -> None:
        self.path = str(folder / "s")
        ready, ready_w = os.pipe()
        command = [*begin, sys.executable, "-m", "doorbell", "serve", "--socket", self.path, "--image", str(image),
                   "--size", "16m", "--backend", BACKEND, "--ready-fd", str(ready_w), *options]  # fmt: skip
        env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        self.process = subprocess.Popen(command, pass_fds=(ready_w,), stderr=subprocess.PIPE, text=True, env=env)
        os.close(ready_w)
        self._ready = ready

    def wait_until_ready(self) -> None:
        with contextlib.closing(os.fdopen(self._ready, "rb")) as pipe:
            assert pipe.read(1) == b"r", self.end()

    def end(self, number: int = 0) -> tuple[int, str]:
        """Send a signal and wait; exit status and what was said."""
        if number:
            self.process.send_signal(number)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


class Host:
    """Writes blocks that say which write they are of, and knows what each may hold."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.serial = 0
        self.sure = dict.fromkeys(range(BLOCKS), 0)  # block: the write that was acknowledged last
        self.open: dict[int, tuple[int, int, int]] = {}  # of a command in flight: serial, first block, how many

    def content(self, serial: int) -> bytes:
        return serial.to_bytes(8, "little") * (BLOCK // 8)

    def check(self, image: Path) -> None:
        """Every block holds its last acknowledged write, or one that was in flight. What it holds is known then."""
        data = image.read_bytes()
        for block in range(BLOCKS):
            may = {self.sure[block]} | {s for s, first, n in self.open.values() if first <= block < first + n}
            found = data[block * BLOCK : (block + 1) * BLOCK]
            held = next((s for s in may if found == self.content(s)), None)
            assert held is not None, f"block {block} holds {found[:16].hex()}, not one of {sorted(may)}"
            self.sure[block] = held
        self.open.clear()

    def work(self, driver: Driver, flushes: list[int], acknowledged: int, then: Callable[[], None]) -> None:
        """Until the server is gone. `then` is called after so many commands."""
        done = 0
        while True:
            while driver.in_flight() < DEPTH:
                self._send(driver)
            driver.ring()
            for command in driver.step():
                self._done(command, flushes)
                done += 1
                if done == acknowledged:
                    then()

    def _send(self, driver: Driver) -> None:
        if self.rng.random() < 0.2:
            driver.submit(1, NvmOpc.FLUSH)
            return
        n, first = self.rng.randint(1, 16), self.rng.randrange(BLOCKS - 16)
        if any(first < f + m and f < first + n for _, f, m in self.open.values()):
            return driver.submit(1, NvmOpc.FLUSH) and None
        self.serial += 1
        buffer = driver.buffer(n * BLOCK)
        buffer.write(self.content(self.serial) * n)
        self.open[self.serial] = (self.serial, first, n)
        driver.submit(1, NvmOpc.WRITE, first, n - 1, buffer, user=self.serial)

    def _done(self, command: Command, flushes: list[int]) -> None:
        command.check()
        if command.opcode == NvmOpc.FLUSH:
            flushes.append(self.serial)
            return
        serial, first, n = self.open.pop(command.user)
        for block in range(first, first + n):
            self.sure[block] = serial
        assert command.buffer
        command.buffer.free()


@contextlib.contextmanager
def connected(server: Served) -> Iterator[tuple[vc.Drive, Driver]]:
    drive, driver = new_driver(server.path)
    try:
        driver.start(queues=1, entries=16)
        yield drive, driver
    finally:
        drive.close()


def rounds(folder: Path, count: int, seed: int, number: int) -> None:
    """The server gets a signal at `count` random moments, and is made anew. What is done until then does not depend on
    the machine's pace, and some of it is always done.
    """
    host, moments, image, flushes = Host(seed), random.Random(seed), folder / "image", []
    for round_ in range(count):
        server = Served(folder, image, *(SLOW if round_ % 2 else ()))
        server.wait_until_ready()
        after, moment = moments.randint(10, 300), moments.random() ** 2 * 0.05
        timer = threading.Timer(moment, server.process.send_signal, [number])
        with contextlib.suppress(OSError):  # the socket's end
            with connected(server) as (_, driver):
                host.work(driver, flushes, after, timer.start)
        timer.join()
        status, said = server.end()
        assert (status, said) == ((-number, "") if number == signal.SIGKILL else (0, "")), (
            f"seed {seed}, {after} commands, {moment} s"
        )
        host.check(image)
    assert len(flushes) > count and host.serial > 5 * count, "hardly anything was written"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_what_is_acknowledged_is_kept(tmp_path: Path, number: int) -> None:
    rounds(tmp_path, 3, 1, number)


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_what_is_acknowledged_is_kept_at_100_moments(tmp_path: Path, number: int, part: int) -> None:
    rounds(tmp_path, 10, 2 + part, number)


def test_ended_before_it_is_ready(tmp_path: Path) -> None:
    """At whatever it is: no trace, no socket that is left, and the image is as it was or whole."""
    for tenths in (1, 4, 7, 10):
        server = Served(tmp_path, tmp_path / "image")
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.process.wait(tenths / 10)
        status, said = server.end(signal.SIGTERM)
        assert status in (0, -signal.SIGTERM, 128 + signal.SIGTERM) and said == "", (tenths, status, said)
        assert not os.path.exists(server.path)
        os.close(server._ready)
    assert (tmp_path / "image").stat().st_size in (0, 16 << 20) if (tmp_path / "image").exists() else True


def test_its_own_lines(tmp_path: Path) -> None:
    """Started by hand it says where it is and that it has written the image; a second one why it does not start."""
    ready, ready_w = os.pipe()
    server = Served(tmp_path, tmp_path / "image", "--ready-fd", "-1")
    assert server.process.stderr
    assert "db_ssd is at" in server.process.stderr.readline()
    (tmp_path / "two").mkdir()
    second = Served(tmp_path / "two", tmp_path / "image")
    status, said = second.end()
    assert status == 2 and said.count("\n") == 1 and "in use by another process" in said
    status, said = server.end(signal.SIGTERM)
    assert status == 0 and said == f"doorbell: ended; {tmp_path / 'image'} is written out\n"
    for fd in (ready, ready_w, server._ready, second._ready):
        os.close(fd)


def test_full_disk(tmp_path: Path) -> None:
    """Writes that find no room end with Write Fault, the others stay; the server says so in one line."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = f'mount -t tmpfs -o size=2m none "{disk}" && exec "$@"'
    server = Served(tmp_path, disk / "image", begin=(*own_mounts(), "sh", "-c", mount, "sh"))
    server.wait_until_ready()
    kept = {}
    with connected(server) as (_, driver):
        buffer = driver.buffer(32768)
        for i in range(100):
            data = random.Random(i).randbytes(32768)
            buffer.write(data)
            command = driver.submit(1, NvmOpc.WRITE, 64 * i, 63, buffer)
            driver.wait([command])
            assert command.status in (Status.SUCCESS, Status.WRITE_FAULT)
            if not command.status:
                kept[i] = data
        assert 50 < len(kept) <= 64
        driver.flush()
        for i, data in kept.items():
            assert driver.read(64 * i, 64) == data
    status, said = server.end(signal.SIGTERM)
    assert status == 0 and said.count("\n") == 1 and "No space left" in said, said
