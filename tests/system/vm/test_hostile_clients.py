# SPDX-License-Identifier: Apache-2.0
"""What a client can do to the vfio-user server by bad will or by accident: it must not end, wait for ever or grow."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import vfio_client as vc
from conftest import BACKEND
from doorbell.device.messages import SimError
from doorbell.device.pci_config import PciConfig
from doorbell.device.vfio_user import Loop, serving
from doorbell.device.vfio_user.wire import MAX_QUEUED
from doorbell.errors import UserError
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import RW_FUA, Feature, NvmOpc, Status
from doorbell.vm import devices
from hypothesis import example, given, settings
from hypothesis import strategies as st
from served_drives import drive_server, exercise, new_driver, running
from vfio_device import FUZZ, VECTORS, FakeDevice, dma, eventually, memfd, refused

OTHER = 0x9_0000_0000
"""Of memory beside the driver's own."""


@pytest.fixture(params=["functional", "rtl"] if BACKEND == "rtl" else ["functional"])
def backend(request: pytest.FixtureRequest) -> str:
    return request.param


@contextlib.contextmanager
def drive_up(tmp_path: Path, **options: Any) -> Iterator[tuple[vc.Drive, Any]]:
    with drive_server(tmp_path, **options) as path:
        drive, driver = new_driver(path)
        driver.start(queues=2, entries=16)
        yield drive, driver
        drive.close()


# --------------------------------------------------------------------------------------------------------------- memory


def test_memory_that_is_not_there_or_goes(tmp_path: Path, backend: str) -> None:
    """A file that is too short is no memory. One that is truncated later ends the commands that touch it."""
    with drive_up(tmp_path, backend=backend) as (drive, driver):
        empty, file = memfd(0), memfd(1 << 16, b"x" * (1 << 16))
        with refused(errno.EINVAL):
            drive.client.map(OTHER, 4096, empty)
        drive.client.map(OTHER, 1 << 16, file)
        driver.run(driver.submit(1, NvmOpc.WRITE, 8, 7, prp1=OTHER))
        assert driver.read(8, 8) == b"x" * 4096
        os.ftruncate(file, 0)
        for _ in range(2):
            lost = driver.submit(1, NvmOpc.WRITE, 8, 7, prp1=OTHER + 8192)
            driver.wait([lost])
            assert lost.status == Status.DATA_TRANSFER_ERROR
        driver.wait([driver.submit(1, NvmOpc.READ, 8, 7, prp1=OTHER)])  # written to nobody
        assert driver.read(8, 8) == b"x" * 4096
        drive.client.unmap(OTHER, 1 << 16)
        os.ftruncate(file, 1 << 16)
        drive.client.map(OTHER, 1 << 16, file)
        driver.run(driver.submit(1, NvmOpc.READ, 8, 7, prp1=OTHER))
        assert os.pread(file, 4096, 0) == b"x" * 4096
        exercise(driver, ios=3)
        os.close(empty)
        os.close(file)


def test_memory_that_is_for_reading(tmp_path: Path, backend: str) -> None:
    with drive_up(tmp_path, backend=backend) as (drive, driver):
        file = memfd(4096, b"r" * 4096)
        drive.client.map(OTHER, 4096, file, flags=1)
        driver.run(driver.submit(1, NvmOpc.WRITE, 0, 7, prp1=OTHER))
        driver.wait([driver.submit(1, NvmOpc.READ, 8, 7, prp1=OTHER)])
        assert os.pread(file, 4096, 0) == b"r" * 4096 and driver.read(0, 8) == b"r" * 4096
        os.close(file)


def test_doorbells_stay(tmp_path: Path) -> None:
    """The page that the client gets is the server's: it cannot be made shorter."""
    with serving(tmp_path / "s", FakeDevice(), PciConfig(VECTORS)) as server, running(server):
        c = vc.Client(str(tmp_path / "s"))
        c.version()
        _, _, fds = c.region_info(vc.BAR0, 4080)
        for size in (0, 4096, 1 << 20):
            with pytest.raises(PermissionError):
                os.ftruncate(fds[0], size)
        os.close(fds[0])
        c.close()


# ------------------------------------------------------------------------------------------------------------ messages


def test_abandoned_reads(tmp_path: Path, backend: str) -> None:
    """Clients that go while a register is being read take nothing with them."""
    with drive_server(tmp_path, backend=backend) as path:
        for _ in range(70):
            c = vc.Client(path)
            c.version()
            c.send(vc.REGION_READ, struct.pack("<QII", 0, vc.BAR0, 4))
            c.close()
        c = vc.Client(path)
        c.version()
        assert c.read(vc.BAR0, 8, 4) == struct.pack("<I", 0x20000)
        c.close()


def test_a_client_that_takes_no_replies(tmp_path: Path) -> None:
    """What waits for it is bounded; when it takes its replies, all of them come."""
    with serving(tmp_path / "s", FakeDevice(), PciConfig(VECTORS)) as server, running(server):
        c = vc.Client(str(tmp_path / "s"))
        c.version()
        ask = struct.pack("<QII", 0, vc.CONFIG, 4096)
        raw = b"".join(vc.HEADER.pack(i, vc.REGION_READ, 32, 0, 0) + ask for i in range(10_000))  # 40 MB of replies
        c.sock.setblocking(False)
        sent, end = 0, time.monotonic() + 20
        while select.select([], [c.sock], [], 0.3)[1]:
            assert time.monotonic() < end
            with contextlib.suppress(BlockingIOError):
                sent += c.sock.send(raw[sent:])
        assert sent < len(raw) and server._connection
        assert server._connection._queued <= MAX_QUEUED + 8192
        c.sock.setblocking(True)
        c.sock.settimeout(20)
        for i in range(sent // 32):
            number, command, _, error, body, _ = c.receive()
            assert (number, command, error, len(body)) == (i, vc.REGION_READ, 0, 16 + 4096)
        c.close()


def test_a_client_that_sends_much_behind_a_register(tmp_path: Path) -> None:
    """What waits for the device to answer is bounded."""

    class Slow(FakeDevice):
        def read_poll(self, handle: int) -> bytes | None:
            return None

    with serving(tmp_path / "s", Slow(), PciConfig(VECTORS)) as server, running(server):
        c = vc.Client(str(tmp_path / "s"))
        c.version()
        c.send(vc.REGION_READ, struct.pack("<QII", 0, vc.BAR0, 4))
        body = struct.pack("<QII", 0, vc.CONFIG, 1 << 20) + bytes(1 << 20)
        raw = vc.HEADER.pack(7, vc.REGION_WRITE, 16 + len(body), 0, 0) + body
        c.sock.setblocking(False)
        sent, end = 0, time.monotonic() + 20
        while select.select([], [c.sock], [], 0.5)[1]:
            assert time.monotonic() < end and sent < 64 << 20
            with contextlib.suppress(BlockingIOError):
                sent += c.sock.send(raw[sent % len(raw) :])
        assert sent < MAX_QUEUED + (3 << 20)
        c.close()


REGISTERS = st.sampled_from([0, 8, 0xC, 0x10, 0x14, 0x1C, 0x20, 0x24, 0x28, 0x2C, 0x30, 0x34, 0x38, 0x40, 0x800, 0x1000,
                             0x1004, 0x1008, 0x1100, 0x1FF8, 0x2000, 0x3000, 0x3FC0])  # fmt: skip
ACCESS = st.tuples(st.booleans(), REGISTERS, st.integers(0, 7), st.sampled_from([1, 2, 3, 4, 8, 12, 16, 63, 64, 65]),
                   st.sampled_from([b"\0", b"\1", b"\xff", b"\x46\0"]))  # fmt: skip
"""Write it? Register, bytes behind its beginning, size, what is written."""


def nonsense(path: str, accesses: list[tuple[bool, int, int, int, bytes]]) -> None:
    c = vc.Client(path, timeout=20)
    c.version()
    c.write(vc.CONFIG, 4, struct.pack("<H", 6))
    for write, register, lead, size, fill in accesses:
        at = struct.pack("<QII", register + lead, vc.BAR0, size)
        command = vc.REGION_WRITE if write else vc.REGION_READ
        number = c.send(command, at + ((fill * size)[:size] if write else b""))
        reply = c.reply_to(number, command)
        assert reply.error or len(reply.body) == 16 + (0 if write else size)
    c.close()
    c = vc.Client(path, timeout=20)
    c.version()
    assert c.read(vc.BAR0, 8, 4) == struct.pack("<I", 0x20000)
    c.close()


@pytest.mark.parametrize("examples", [pytest.param(40, id="short"), pytest.param(3000, marks=pytest.mark.nightly)])
def test_nonsense_to_a_drive(tmp_path: Path, backend: str, examples: int) -> None:
    """Accesses of registers of any size, anywhere, with anything in them, answered by a real drive. Its addresses lead
    to no memory, as nothing is mapped. It is there for the next client.
    """
    count = examples if backend == "functional" else examples // 5

    with drive_server(tmp_path, backend=backend) as path:

        @settings(max_examples=count, **FUZZ)
        @given(st.lists(ACCESS, min_size=1, max_size=20))
        @example([(False, 0, 1, 64, b"")])
        @example([(True, 0, 1, 64, b"\1")])
        @example([(True, 0x14, 0, 16, b"\xff"), (False, 0x14, 0, 4, b"")])
        @example([(True, 0x10, 0, 8, b"\xff"), (False, 0x10, 0, 8, b"")])
        @example([(True, 0x24, 0, 3, b"\xff"), (True, 0x24, 3, 1, b"\xff"), (False, 0x24, 0, 4, b"")])
        def each(accesses: list[tuple[bool, int, int, int, bytes]]) -> None:
            nonsense(path, accesses)

        each()


def test_a_flood_does_not_keep_it_from_stopping(tmp_path: Path) -> None:
    """Nor from running the device."""
    device = FakeDevice()
    with serving(tmp_path / "s", device, PciConfig(VECTORS)) as server:
        c = vc.Client(str(tmp_path / "s"))
        raw = vc.HEADER.pack(1, vc.REGION_WRITE, 36, 0x10, 0) + struct.pack("<QIII", 0x40, vc.BAR0, 4, 7)
        go_on = True

        def flood() -> None:
            with contextlib.suppress(OSError):
                while go_on:
                    c.sock.sendall(raw * 1000)

        flooding = threading.Thread(target=flood)
        try:
            with running(server):
                c.version()
                flooding.start()
                time.sleep(0.2)
                runs = device.runs
                eventually(lambda: device.runs > runs + 10)
                start = time.monotonic()
            assert time.monotonic() - start < 5, "it stopped only when the client did"
            assert flooding.is_alive()
        finally:
            go_on = False
            c.sock.shutdown(socket.SHUT_RDWR)
            flooding.join(20)
            c.close()


# --------------------------------------------------------------------------------------------- clients of one device


@contextlib.contextmanager
def two_clients(
    tmp_path: Path, *devices: FakeDevice, patience_s: float = 10.0
) -> Iterator[tuple[vc.Client, vc.Client]]:
    """Of two functions of one device. What runs is the first."""
    with contextlib.ExitStack() as stack:
        names = [str(tmp_path / f"s{i}") for i in range(2)]
        servers = [stack.enter_context(serving(name, device, PciConfig(VECTORS), patience_s=patience_s))
                   for name, device in zip(names, devices, strict=True)]  # fmt: skip
        loop = Loop(devices[0], servers)
        stack.callback(loop.close)
        stack.enter_context(running(loop))
        clients = [vc.Client(name) for name in names]
        for c in clients:
            stack.callback(c.close)
            c.version()
        yield clients[0], clients[1]


def test_unmapping_without_end(tmp_path: Path) -> None:
    """The device waits for what follows an unmap, but not all the time: the others wait with it."""
    device = FakeDevice()
    with two_clients(tmp_path, device, FakeDevice()) as (_, loud):
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            loud.map(0x1000, 0x1000)
            loud.unmap(0x1000, 0x1000)
            if time.monotonic() < end - 1:
                runs = device.runs
        assert device.runs > runs + 100


def test_unmapping_nothing(tmp_path: Path) -> None:
    """That is refused, and the device goes on."""
    device = FakeDevice()
    with two_clients(tmp_path, device, FakeDevice()) as (_, loud):
        runs, end = device.runs, time.monotonic() + 0.3
        while time.monotonic() < end:
            with refused(errno.ENOENT):
                loud.unmap(0x1000, 0x1000)
        assert device.runs > runs + 30


def test_resets_without_end(tmp_path: Path) -> None:
    """Between two of them the others have their turn."""

    class Slow(FakeDevice):
        def reset(self) -> None:
            time.sleep(0.02)
            super().reset()

    with two_clients(tmp_path, FakeDevice(), Slow()) as (other, loud):
        for _ in range(200):
            loud.send(vc.RESET)
        time.sleep(0.05)
        start = time.monotonic()
        assert other.read(vc.CONFIG, 0, 4)
        assert time.monotonic() - start < 1
        for _ in range(200):
            loud.receive()


@pytest.mark.parametrize("what", ["answers nothing", "takes nothing"])
def test_memory_that_others_wait_for(tmp_path: Path, what: str) -> None:
    """A client that does not answer for its memory, or takes no messages, is gone after a while."""
    device = FakeDevice()
    with two_clients(tmp_path, FakeDevice(), device, patience_s=0.2) as (other, silent):
        silent.map(0x1000, 0x1000)
        if what == "answers nothing":
            dma(silent, 0x1000, 64, 1)
        else:
            raw = vc.HEADER.pack(7, vc.REGION_READ, 32, 0, 0) + struct.pack("<QII", 0, vc.CONFIG, 4096)
            silent.sock.setblocking(False)
            sent, end = 0, time.monotonic() + 10
            while device.maps and time.monotonic() < end:
                with contextlib.suppress(OSError):
                    sent += silent.sock.send(raw[sent % len(raw) :])
        eventually(lambda: not device.maps)
        assert device.resets
        assert other.read(vc.CONFIG, 0, 4)


# ---------------------------------------------------------------------------------------------------------- descriptors


def test_many_descriptors(tmp_path: Path) -> None:
    """Those of the server are above 1,023, which is as far as select() counts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
    null = os.open(os.devnull, os.O_RDONLY)
    many = [os.dup(null) for _ in range(1100)]
    try:
        with serving(tmp_path / "s", FakeDevice(), PciConfig(VECTORS)) as server, running(server):
            c = vc.Client(str(tmp_path / "s"))
            assert c.sock.fileno() > 1023
            c.version()
            time.sleep(0.05)  # it sleeps by now
            assert c.read(vc.CONFIG, 0, 4)
            c.close()
    finally:
        for fd in (null, *many):
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_client_that_finds_no_descriptor(tmp_path: Path) -> None:
    """Others have taken those of the server for a while: it is served when there is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    path = str(tmp_path / "s")
    with serving(path, FakeDevice(), PciConfig(VECTORS)) as server, running(server):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as late:
            late.settimeout(5)
            many: list[int] = []
            try:
                resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
                with contextlib.suppress(OSError):
                    while True:
                        many.append(os.dup(late.fileno()))
                late.connect(path)
                time.sleep(0.1)
            finally:
                for fd in many:
                    os.close(fd)
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            late.sendall(vc.HEADER.pack(1, vc.VERSION, 20, 0, 0) + struct.pack("<HH", 0, 0))
            assert late.recv(vc.HEADER.size)[:4] == struct.pack("<HH", 1, vc.VERSION)


def test_full_eventfds(tmp_path: Path, backend: str) -> None:
    """Interrupts of a client that does not look at them hold nobody up."""
    full = [os.eventfd(0) for _ in range(3)]
    for fd in full:
        os.eventfd_write(fd, (1 << 64) - 2)
    with drive_server(tmp_path, backend=backend) as path:
        drive, driver = new_driver(path, spdk=True)  # polls its queues
        drive.client.set_irqs(0x24, vc.MSIX, 0, 3, fds=full)
        for fd in full:
            os.set_blocking(fd, True)  # what the server may have set there is the client's to change
        driver.start(queues=2, entries=16)
        exercise(driver, ios=3)
        drive.close()
    for fd in full:
        assert os.eventfd_read(fd) == (1 << 64) - 2
        os.close(fd)


def test_an_empty_eventfd_that_blocks(tmp_path: Path) -> None:
    """The one that is to unmask INTx."""
    device = FakeDevice()
    with serving(tmp_path / "s", device, PciConfig(VECTORS)) as server, running(server):
        c = vc.Client(str(tmp_path / "s"), timeout=5)
        c.version()
        fd, unmask = os.eventfd(0), os.eventfd(0)
        c.set_irqs(0x24, vc.INTX, 0, 1, fds=[fd])
        c.set_irqs(0x14, vc.INTX, 0, 1, fds=[unmask])
        os.set_blocking(unmask, True)
        device.intx = True
        for _ in range(3):
            eventually(lambda: select.select([fd], [], [], 0)[0])
            assert os.eventfd_read(fd) == 1
            assert c.read(vc.CONFIG, 0, 4)
            os.eventfd_write(unmask, 1)
        c.close()
        os.close(fd)
        os.close(unmask)


# ------------------------------------------------------------------------------------------------------- socket, resets


def test_sockets_of_others(tmp_path: Path) -> None:
    """A socket is made anew only if nobody listens at it any more."""
    path = tmp_path / "s"

    def taken(why: str) -> None:
        before = path.stat().st_ino
        with pytest.raises(UserError, match=why), serving(path, FakeDevice(), PciConfig(VECTORS)):
            pass
        assert path.stat().st_ino == before

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(path))
        taken("cannot use the socket")
    path.unlink()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as busy:
        busy.bind(str(path))
        busy.listen(0)
        with contextlib.ExitStack() as waiting:
            with contextlib.suppress(BlockingIOError):
                while True:  # until it takes no more
                    one = waiting.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                    one.setblocking(False)
                    one.connect(str(path))
            taken("in use by another server")
    with serving(path, FakeDevice(), PciConfig(VECTORS)) as server, running(server):
        vc.Client(str(path)).close()
    assert not path.exists()


def test_two_servers_at_what_another_left_behind(tmp_path: Path) -> None:
    """The second one waits until the first has its socket. One whose socket was taken away leaves the new one alone."""
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    release = threading.Timer(0.3, os.close, [folder])
    release.start()
    begin = time.monotonic()
    with serving(path, FakeDevice(), PciConfig(VECTORS)):
        assert time.monotonic() - begin > 0.25
        path.unlink()
        with serving(path, FakeDevice(), PciConfig(VECTORS)) as second, running(second):
            pass
        assert not path.exists()
        with serving(path, FakeDevice(), PciConfig(VECTORS)):
            there = path.stat().st_ino
            first = Path(tmp_path / "t")
            with serving(first, FakeDevice(), PciConfig(VECTORS)):
                first.unlink()
                path.rename(first)
            assert first.stat().st_ino == there
            first.rename(path)
    release.join()
    with (
        pytest.raises(UserError, match="No such file"),
        serving(tmp_path / "no" / "s", FakeDevice(), PciConfig(VECTORS)),
    ):
        pass


def test_resets_in_a_row(tmp_path: Path, backend: str) -> None:
    with drive_up(tmp_path, backend=backend) as (drive, driver):
        driver.write(0, b"k" * 512)
        start = time.monotonic()
        for _ in range(5):
            drive.flr()
            drive.client.ask(vc.RESET)
        assert time.monotonic() - start < 5
        driver._forget_queues()
        driver.start(queues=2, entries=16)
        assert driver.read(0, 1) == b"k" * 512
        exercise(driver, ios=3)


def test_a_device_that_does_not_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not powered off and on instead: it would forget what its media hold."""

    class Stuck:
        def __init__(self) -> None:
            self.tries = 0

        def flr(self, _: int) -> None:
            self.tries += 1
            raise SimError("not acknowledged")

        def irq_eventfd(self, *_: int) -> None: ...
        def dma_pending(self) -> list[Any]:
            return []

        def reset(self) -> None:
            raise AssertionError("it must not")

    monkeypatch.setattr(devices, "RESET_S", 0.02)
    stuck = Stuck()
    with pytest.raises(UserError, match="does not finish its function-level reset"):
        devices.SimDevice(stuck).reset()
    assert stuck.tries > 1


def test_two_drives_with_one_image(tmp_path: Path, backend: str) -> None:
    image = tmp_path / "image"
    (tmp_path / "b").mkdir()
    with drive_up(tmp_path, image=image, size="16m", backend=backend) as (_, driver):
        with pytest.raises(UserError, match="in use"), drive_server(tmp_path / "b", image=image, size="32m"):
            pass
        assert image.stat().st_size == 16 << 20
        exercise(driver, ios=3)


@pytest.mark.rtl
def test_a_capacity_that_is_too_large(tmp_path: Path) -> None:
    for options in ({"size": "2t"}, {"size": "2t", "image": tmp_path / "image"}):
        with pytest.raises(UserError, match="too large: .* 40 bits"), drive_server(tmp_path, **options):
            pass
    assert not (tmp_path / "image").exists()
    with pytest.raises(UserError, match="131072 of these bytes are the drive's own"), drive_server(tmp_path, size="1t"):
        pass


def test_zeroes_take_no_room(tmp_path: Path, backend: str) -> None:
    image = tmp_path / "image"
    with drive_up(tmp_path, image=image, size="16m", backend=backend) as (_, driver):
        for at in range(0, 2048, 256):
            driver.write(at, b"a" * (256 * 512))
        driver.flush()
        before = image.stat().st_blocks
        driver.run(driver.submit(1, NvmOpc.WRITE_ZEROES, 3, 2040))
        driver.flush()
        assert image.stat().st_blocks < before - 1900
        assert driver.read(0, 8) == b"a" * 1536 + bytes(5 * 512) and driver.read(2040, 8) == bytes(2048) + b"a" * 2048


@pytest.mark.parametrize("pace", [{"zero_gbps": 4295.0}, {"zero_gbps": float("nan")}, {"flush_ns": -1}])
def test_a_pace_that_makes_no_sense(tmp_path: Path, pace: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="is not in 0 to"), drive_server(tmp_path, backend="functional", **pace):
        pass


def test_many_maps(tmp_path: Path) -> None:
    """More of them than the server may have descriptors."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with drive_up(tmp_path, backend="functional") as (drive, driver):
        file = memfd(4096 * 200, b"x" * 4096)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 150), hard))
        try:
            for i in range(200):
                drive.client.map(OTHER + 4096 * i, 4096, file, offset=4096 * i)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        driver.run(driver.submit(1, NvmOpc.WRITE, 8, 7, prp1=OTHER))
        assert driver.read(8, 8) == b"x" * 4096
        os.close(file)


def test_status_of_a_failing_image(tmp_path: Path, backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The commands say it, each; the server says it once, and goes on with what is left."""
    image = tmp_path / "image"
    with pytest.raises(UserError, match="could not be written out"):
        with drive_up(tmp_path, image=image, size="16m", backend=backend) as (_, driver):
            driver.write(0, b"a" * 4096)
            os.truncate(image, 1 << 20)
            buffer = driver.buffer(4096)
            for _ in range(3):
                for command, status in (
                    (driver.submit(1, NvmOpc.WRITE, 8 << 11, 7, buffer), Status.WRITE_FAULT),
                    (driver.submit(1, NvmOpc.READ, 8 << 11, 7, buffer), Status.READ_ERROR),
                    (driver.submit(1, NvmOpc.FLUSH), Status.WRITE_FAULT),
                ):
                    driver.wait([command])
                    expect(command, status)
            driver.write(8, b"c" * 4096)
            found = driver.read(0, 16)
    assert found == b"a" * 4096 + b"c" * 4096  # else what went wrong before is hidden by how it ends
    assert image.read_bytes()[:8192] == b"a" * 4096 + b"c" * 4096
    assert capfd.readouterr().err.count("truncated") == 1


def test_what_is_to_be_durable_of_a_failing_image(tmp_path: Path, backend: str) -> None:
    """Once the image could not be written out no command with FUA says that it was, though it finds its block."""
    image = tmp_path / "image"
    statuses: list[int] = []
    with pytest.raises(UserError, match="could not be written out"):
        with drive_up(tmp_path, image=image, size="16m", backend=backend) as (_, driver):
            driver.write(0, b"a" * 512)
            driver.run(driver.submit(1, NvmOpc.READ, 0, 0, driver.buffer(512), cdw12=RW_FUA))
            os.truncate(image, 1 << 20)
            for opcode in (NvmOpc.WRITE, NvmOpc.VERIFY, NvmOpc.READ, NvmOpc.WRITE_ZEROES) * 2:
                buffer = driver.buffer(512) if opcode in (NvmOpc.WRITE, NvmOpc.READ) else None
                command = driver.submit(1, opcode, 0, 0, buffer, cdw12=RW_FUA)
                driver.wait([command])
                statuses.append(command.status)
    assert statuses == [Status.WRITE_FAULT, Status.READ_ERROR, Status.READ_ERROR, Status.WRITE_FAULT] * 2


def test_a_write_cache_that_is_off(tmp_path: Path, backend: str) -> None:
    image = tmp_path / "image"
    statuses: list[int] = []
    with pytest.raises(UserError, match="could not be written out"):
        with drive_up(tmp_path, image=image, size="16m", backend=backend) as (_, driver):
            driver.set_features(Feature.VOLATILE_WC, 0)
            driver.write(0, b"a" * 512)
            os.truncate(image, 1 << 20)
            for opcode in (NvmOpc.WRITE, NvmOpc.WRITE_ZEROES):
                command = driver.submit(1, opcode, 0, 0, driver.buffer(512) if opcode == NvmOpc.WRITE else None)
                driver.wait([command])
                statuses.append(command.status)
    assert statuses == [Status.WRITE_FAULT] * 2
