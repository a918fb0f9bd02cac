# SPDX-License-Identifier: Apache-2.0
"""The vfio-user server: against a small device of this file, where every access is seen, and with a drive behind it."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import random
import select
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import vfio_client as vc
from conftest import BACKEND
from doorbell.device.messages import DmaRequest
from doorbell.device.pci_config import PciConfig, PciState
from doorbell.device.vfio_user import Server, serving
from doorbell.errors import UserError
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.vm import serve
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

VECTORS = 9
DMA_ADDRESS, DMA_SIZE, DMA_GO, FIRE, LEVEL = 0x800, 0x808, 0x80C, 0x810, 0x814


EMPTY = 0xFFFFFFFF  # in the doorbell page: nothing written since the device looked


class FakeDevice:
    """Registers that keep what is written, a DMA engine, an interrupt register. Reads take a few runs.

    DMA_GO: 1 reads host memory into `buffer`, 2 writes it there. FIRE: signals a vector. LEVEL: INTx.
    """

    def __init__(self) -> None:
        self.vectors = VECTORS
        self.idle = True
        self.bar = bytearray(0x4000)
        self.maps: dict[int, tuple[int, int | None, bool]] = {}
        self.buffer = bytearray()
        self.fds: dict[int, int] = {}
        self.reads: dict[int, tuple[int, int, int]] = {}
        self.requests: deque[DmaRequest] = deque()
        self.waiting: dict[int, DmaRequest] = {}
        self.failed = 0
        self.answered = 0
        self.doorbells: list[tuple[int, int]] = []
        self.state: PciState | None = None
        self.msix_enable = False
        self.intx = False
        self.resets = 0
        self.next = 0
        self.runs = 0
        self.page = (ctypes.c_uint32 * 1024)()

    def map(self, base: int, size: int, pointer: int | None, writable: bool) -> None:
        self.maps[base] = (size, pointer, writable)

    def unmap(self, base: int, size: int) -> None:
        del self.maps[base]

    def write(self, offset: int, data: bytes) -> None:
        self.bar[offset : offset + len(data)] = data
        word = int.from_bytes(data, "little")
        if offset == DMA_GO:
            self.dma(write=word == 2)
        elif offset == FIRE and (fd := self.fds.get(word, -1)) >= 0 and self.msix_enable:
            os.eventfd_write(fd, 1)
        elif offset == LEVEL:
            self.intx = bool(word)

    def dma(self, write: bool) -> None:
        address, size = struct.unpack_from("<QI", self.bar, DMA_ADDRESS)
        for base, (length, pointer, writable) in self.maps.items():
            if base <= address and address + size <= base + length:
                self.next += 1
                data = bytes(self.buffer[:size]) if write else None
                if pointer is None:
                    self.requests.append(DmaRequest(self.next, address, size, data))
                    if not write:
                        self.waiting[self.next] = self.requests[-1]
                elif data is None:
                    self.buffer[:] = ctypes.string_at(pointer + address - base, size)
                elif writable:
                    ctypes.memmove(pointer + address - base, data, size)
                return
        self.failed += 1

    def read_start(self, offset: int, size: int) -> int:
        self.next += 1
        self.reads[self.next] = (offset, size, self.runs + 3)
        return self.next

    def read_poll(self, handle: int) -> bytes | None:
        offset, size, when = self.reads[handle]
        if self.runs < when:
            return None
        del self.reads[handle]
        return bytes(self.bar[offset : offset + size])

    def read_forget(self, handle: int) -> None:
        del self.reads[handle]

    def run(self, cycles: int) -> None:
        self.runs += 1
        for i in range(8):
            if self.page[i] != EMPTY:
                self.doorbells.append((i, self.page[i]))
                self.page[i] = EMPTY

    def dma_next(self) -> DmaRequest | None:
        return self.requests.popleft() if self.requests else None

    def dma_complete(self, request: int, data: bytes | None) -> None:
        del self.waiting[request]
        self.answered += 1
        if data is None:
            self.failed += 1
        else:
            self.buffer[:] = data

    def irq_eventfd(self, vector: int, fd: int) -> None:
        self.fds[vector] = fd

    def doorbell_page(self, pointer: int) -> None:
        self.page = (ctypes.c_uint32 * 1024).from_address(pointer)

    def doorbell_reset(self) -> None:
        self.page[:] = [EMPTY] * 1024

    def configure(self, state: PciState, msix_enable: bool) -> None:
        self.state, self.msix_enable = state, msix_enable

    def reset(self) -> None:
        self.resets += 1
        self.bar[:] = bytes(len(self.bar))
        self.intx = False
        for request in self.requests:
            self.waiting.pop(request.id, None)
        self.requests.clear()


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


@pytest.fixture
def device() -> FakeDevice:
    return FakeDevice()


@pytest.fixture
def path(tmp_path: Path, device: FakeDevice) -> Iterator[str]:
    """Socket of a running server for `device`."""
    name = str(tmp_path / "s")
    with serving(name, device, PciConfig(VECTORS)) as server, running(server):
        yield name
    assert not os.path.exists(name)


@pytest.fixture
def client(path: str) -> Iterator[vc.Client]:
    c = vc.Client(path)
    c.version('{"capabilities":{}}')
    yield c
    c.close()


def memfd(size: int, fill: bytes = b"") -> int:
    fd = os.memfd_create("m")
    os.ftruncate(fd, size)
    os.pwrite(fd, fill, 0)
    return fd


def refused(number: int) -> Any:
    return pytest.raises(vc.ServerError, match=os.strerror(number))


def eventually(what: Any, seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.001)


def dma(c: vc.Client, address: int, size: int, go: int) -> None:
    c.write(vc.BAR0, DMA_ADDRESS, struct.pack("<Q", address))
    c.write(vc.BAR0, DMA_SIZE, struct.pack("<I", size))
    c.write(vc.BAR0, DMA_GO, struct.pack("<I", go))


# ------------------------------------------------------------------------------------------------------------- messages


def test_version_and_info(path: str) -> None:
    c = vc.Client(path)
    with refused(errno.EINVAL):
        c.ask(vc.GET_INFO, struct.pack("<4I", 16, 0, 0, 0))  # before VERSION
    for body in (b"", b"\0\0\0", struct.pack("<HH", 1, 0), struct.pack("<HH", 0, 0) + b"{nonsense\0",
                 struct.pack("<HH", 0, 0) + b"[]\0", struct.pack("<HH", 0, 0) + b"\xff\xfe\0"):  # fmt: skip
        with refused(errno.EINVAL):
            c.ask(vc.VERSION, body)
    caps = c.version('{"capabilities":{"max_msg_fds":8}}')
    assert caps["max_data_xfer_size"] >= 1 << 16 and caps["pgsizes"] == 4096 and caps["max_msg_fds"] >= 8
    with refused(errno.EINVAL):
        c.version()  # a second time
    assert struct.unpack("<4I", c.ask(vc.GET_INFO, struct.pack("<4I", 16, 0, 0, 0)).body) == (16, 3, 9, 5)
    for index, count in enumerate((1, 0, VECTORS, 1, 1)):
        info = struct.unpack("<4I", c.ask(vc.IRQ_INFO, struct.pack("<4I", 16, 0, index, 0)).body)
        assert info[3] == count and info[1] == (7 if index == vc.INTX else 1), "vectors may come one by one"
    for command, body in ((vc.IRQ_INFO, struct.pack("<4I", 16, 0, 5, 0)), (vc.IRQ_INFO, b"\0" * 4),
                          (vc.GET_INFO, struct.pack("<II", 8, 0)),
                          (vc.REGION_INFO, struct.pack("<IIIIQQ", 32, 0, 9, 0, 0, 0))):  # fmt: skip
        with refused(errno.EINVAL):
            c.ask(command, body)
    for command in (0, vc.REGION_IO_FDS, vc.DMA_READ, vc.DMA_WRITE, 14, 16, 999):
        with refused(errno.ENOTSUP):
            c.ask(command, b"\0" * 64)
    c.close()


def test_region_info(client: vc.Client) -> None:
    for index in range(9):
        info, rest, fds = client.region_info(index)
        assert info[4] == {0: 0x4000, 7: 4096}.get(index, 0)
        assert not fds and not rest
        if index == 0:  # QEMU asks again with argsz as told, and refuses a cap_offset outside of it
            assert info[0] > 32 and info[1] == 0xF and 32 <= info[3] <= info[0]
            info, rest, fds = client.region_info(0, info[0])
            assert len(fds) == 1 and len(rest) == info[0] - 32
            os.close(fds[0])


def test_config_space(client: vc.Client, device: FakeDevice) -> None:
    config = client.read(vc.CONFIG, 0, 4096)
    assert config[9:12] == b"\x02\x08\x01"  # NVMe
    ids, at = [], config[0x34]
    while at:
        ids.append(config[at])
        at = config[at + 1]
    assert sorted(ids) == [1, 0x10, 0x11]
    client.write(vc.CONFIG, 0x10, b"\xff" * 8)
    assert struct.unpack("<Q", client.read(vc.CONFIG, 0x10, 8))[0] == (1 << 64) - 0x4000 | 4
    client.write(vc.CONFIG, 0, b"\0\0\0\0")
    assert client.read(vc.CONFIG, 0, 4) == config[:4]
    client.write(vc.CONFIG, 4, struct.pack("<H", 0x406))
    client.write(vc.CONFIG, 0x68, struct.pack("<H", 5 << 12 | 1 << 5))
    assert device.state == PciState(bus_master=True, intx_disable=True, mps=1, mrrs=5)
    client.write(vc.BAR0, 0x40, b"abcd")
    resets = device.resets
    client.write(vc.CONFIG, 0x69, b"\x80")  # FLR, by a byte write
    assert device.resets == resets + 1
    assert device.state == PciState(bus_master=False, intx_disable=False, mps=0, mrrs=2)
    assert client.read(vc.CONFIG, 0, 4096) == config
    assert client.read(vc.BAR0, 0x40, 4) == b"\0" * 4
    with refused(errno.EINVAL):
        client.read(vc.CONFIG, 4094, 4)


def test_region_access(client: vc.Client, device: FakeDevice) -> None:
    device.bar[0x20:0x60] = bytes(range(64))
    for size in (1, 2, 3, 4, 8):
        assert client.read(vc.BAR0, 0x20, size) == bytes(range(size))
    for offset, size in ((0x20, 9), (0x20, 64), (1, 64), (0x24, 8), (7, 2)):  # no CPU does that
        assert client.read(vc.BAR0, offset, size) == b"\xff" * size
        client.write(vc.BAR0, offset, b"w" * size)
    assert device.bar[:0x60] == bytes(0x20) + bytes(range(64))
    assert client.read(vc.BAR0, 0x23, 2) == b"\3\4"
    client.write(vc.BAR0, 0x28, b"12345678")
    for i in range(50):  # posted writes and reads keep their order
        client.write(vc.BAR0, 0x30, struct.pack("<I", i), posted=True)
        assert client.read(vc.BAR0, 0x30, 4) == struct.pack("<I", i)
    assert client.read(vc.BAR0, 0x28, 8) == b"12345678"
    body = struct.pack("<Q", 2) + struct.pack("<QIIQ", 0x50, 0, 4, 0x11223344) + struct.pack("<QIIQ", 0x54, 0, 2, 7)
    client.ask(vc.WRITE_MULTI, body)
    assert client.read(vc.BAR0, 0x50, 6) == b"\x44\x33\x22\x11\x07\x00"
    # the table is the client's own: kept, not passed on
    assert client.read(vc.BAR0, 0x2000, 16) == struct.pack("<QII", 0, 0, 1)
    client.write(vc.BAR0, 0x2000, b"x" * 16)
    assert client.read(vc.BAR0, 0x2000, 16) == b"x" * 16 and device.bar[0x2000] != ord("x")
    assert client.read(vc.BAR0, 0x3000, 8) == b"\0" * 8
    client.read(vc.BAR0, 0x1FFC, 8)  # across the two: no bus does that; it must only be answered
    for region, offset, size in ((0, 0x4000, 4), (0, 0x3FFE, 4), (0, 0, 0), (1, 0, 4), (6, 0, 4), (9, 0, 4),
                                 (0xFFFFFFFF, 0, 4), (0, (1 << 64) - 2, 4), (0, 0, 1 << 31)):  # fmt: skip
        with refused(errno.EINVAL):
            client.read(region, offset, size)
        with refused(errno.EINVAL):
            client.ask(vc.REGION_WRITE, struct.pack("<QII", offset, region, size) + b"\0" * min(size, 64))
    with refused(errno.EINVAL):  # says 8 bytes, brings 4
        client.ask(vc.REGION_WRITE, struct.pack("<QII", 0, 0, 8) + b"\0" * 4)


def test_many_commands_at_once(client: vc.Client) -> None:
    """A client need not wait for replies; they come in the order of the commands."""
    sent = []
    for i in range(600):
        if i % 3:
            sent.append((client.send(vc.REGION_WRITE, struct.pack("<QIII", 0x40, 0, 4, i)), vc.REGION_WRITE, 0))
        else:
            sent.append((client.send(vc.REGION_READ, struct.pack("<QII", 0x40, 0, 4)), vc.REGION_READ, i))
    for number, command, i in sent:
        reply = client.reply_to(number, command)
        assert not reply.error
        if command == vc.REGION_READ and i:
            assert struct.unpack_from("<I", reply.body, 16)[0] == i - 1


def test_message_in_pieces(client: vc.Client) -> None:
    body = struct.pack("<QII", 0, vc.CONFIG, 4)
    raw = vc.HEADER.pack(77, vc.REGION_READ, 16 + len(body), 0, 0) + body
    for i in range(len(raw)):
        client.sock.sendall(raw[i : i + 1])
        time.sleep(0.0005)
    assert client.reply_to(77, vc.REGION_READ).body[16:18] == b"\x34\x12"


# ------------------------------------------------------------------------------------------------------------------ DMA


def test_map_rules(client: vc.Client, device: FakeDevice) -> None:
    fd = memfd(1 << 20)
    client.map(0x10000, 0x10000, fd)
    client.map(0x20000, 0x10000, fd, 0x10000)
    for base, size, offset, flags, number in (
        (0x18000, 0x1000, 0, 3, errno.EEXIST), (0xF000, 0x2000, 0, 3, errno.EEXIST),
        (1 << 32, 1 << 40, 0, 3, errno.EINVAL),
        (0x40000, 0, 0, 3, errno.EINVAL), (0x40001, 0x1000, 0, 3, errno.EINVAL), (0x40000, 0x800, 0, 3, errno.EINVAL),
        (0x40000, 0x1000, 0, 0, errno.EINVAL), (0x40000, 0x1000, 0, 8, errno.EINVAL),
        (0x40000, 0x2000, 0xFF000, 3, errno.EINVAL),  # beyond the file's end
        (0xFFFFFFFFFFFFF000, 0x2000, 0, 3, errno.EINVAL), (0x40000, 0x1000, 1 << 63, 3, errno.EINVAL),
    ):  # fmt: skip
        with refused(number):
            client.map(base, size, fd, offset, flags)
    with refused(errno.EINVAL):
        client.ask(vc.DMA_MAP, struct.pack("<IIQQQ", 32, 3, 0, 0x40000, 0x1000), [fd, fd])
    for base, size, flags, number in (
        (0x10000, 0x8000, 0, errno.EINVAL), (0x50000, 0x1000, 0, errno.ENOENT), (0x10000, 0, 0, errno.EINVAL),
        (0x10000, 0x10000, 1, errno.ENOTSUP), (0x10000, 0x10000, 2, errno.EINVAL),
    ):  # fmt: skip
        with refused(number):
            client.unmap(base, size, flags)
    client.unmap(0x10000, 0x20000)  # both
    assert not device.maps
    client.map(0x10000, 0x10000, fd)
    client.map(0, 0x1000)
    client.map(0xFFFFFFFFFFFFF000, 0x1000)  # the last page there is
    client.unmap(0, 0, 2)  # all
    assert not device.maps
    os.close(fd)


def test_dma_through_descriptors(client: vc.Client, device: FakeDevice) -> None:
    fd = memfd(0x4000, b"A" * 0x1000 + b"B" * 0x1000)
    client.map(1 << 40, 0x2000, fd, 0x1000)
    dma(client, 1 << 40, 0x20, 1)
    client.read(vc.BAR0, 0, 4)
    assert device.buffer == b"B" * 0x20
    device.buffer[:] = b"hello"
    dma(client, (1 << 40) + 0x1FFB, 5, 2)
    client.read(vc.BAR0, 0, 4)
    assert os.pread(fd, 5, 0x2FFB) == b"hello"
    # read-only: the descriptor may even forbid writing
    read_only = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
    client.map(0x10000, 0x1000, read_only, 0, 1)
    dma(client, 0x10000, 4, 1)
    client.read(vc.BAR0, 0, 4)
    assert device.buffer == b"AAAA"
    device.buffer[:] = b"evil"
    dma(client, 0x10000, 4, 2)
    client.read(vc.BAR0, 0, 4)
    assert os.pread(fd, 4, 0) == b"AAAA"
    with refused(errno.EACCES):
        client.map(0x20000, 0x1000, read_only, 0, 3)
    os.close(read_only)
    os.close(fd)


def test_dma_by_messages(client: vc.Client, device: FakeDevice) -> None:
    memory = bytearray(random.Random(1).randbytes(0x2000))
    client.memory.append((0x5000, 0x2000, memory))
    client.map(0x5000, 0x2000)
    dma(client, 0x5010, 0x100, 1)
    assert client.serve_dma(5) == 1
    eventually(lambda: device.buffer == memory[0x10:0x110])
    device.buffer[:] = b"posted"
    dma(client, 0x6000, 6, 2)
    client.serve_dma(5)
    assert memory[0x1000:0x1006] == b"posted"
    # region accesses are answered while DMA waits for the client
    for _ in range(20):
        dma(client, 0x5010, 0x10, 1)
        client.read(vc.BAR0, 0x40, 4)
    assert device.waiting
    while device.waiting:
        client.serve_dma(1)
    assert device.failed == 0
    # errors, short answers and answers to nothing
    client.memory.clear()
    dma(client, 0x5000, 4, 1)
    client.serve_dma(5)
    eventually(lambda: device.failed == 1)
    dma(client, 0x5000, 64, 1)
    number, command, _, _, body, _ = client.receive()
    client.sock.sendall(vc.HEADER.pack(number, command, 36, 1, 0) + body[:16] + b"1234")
    eventually(lambda: device.failed == 2)
    client.sock.sendall(vc.HEADER.pack(number, command, 16, 1, 0))
    client.read(vc.CONFIG, 0, 4)
    # a reset gives up what is pending; the late answer must not reach a later request
    dma(client, 0x5000, 16, 1)
    late = client.receive()
    client.ask(vc.RESET)
    assert not device.waiting and device.failed == 3
    answered = device.answered
    client.sock.sendall(vc.HEADER.pack(late[0], late[1], 48, 1, 0) + late[4][:16] + b"x" * 16)
    client.read(vc.CONFIG, 0, 4)
    assert device.answered == answered


def test_unmap_while_busy(client: vc.Client, device: FakeDevice) -> None:
    """Mappings come and go while the device works: it never touches one that is gone."""
    fd = memfd(0x10000, b"z" * 0x10000)
    rng = random.Random(3)
    mapped: set[int] = set()
    for _ in range(300):
        base = 0x10000 * rng.randrange(1, 5)
        if base in mapped:
            client.unmap(base, 0x10000)
            mapped.discard(base)
        else:
            client.map(base, 0x10000, fd)
            mapped.add(base)
        target = 0x10000 * rng.randrange(1, 5)
        failed = device.failed
        dma(client, target, 0x1000, rng.choice((1, 2)))
        assert (device.failed == failed) == (target in mapped)
        assert {b for b in device.maps} == mapped
    client.unmap(0, 0, 2)
    os.close(fd)


# ----------------------------------------------------------------------------------------------------------- interrupts


def test_msix(client: vc.Client, device: FakeDevice) -> None:
    fds = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(VECTORS)]
    client.set_irqs(0x24, vc.MSIX, 0, 4, fds=fds[:4])
    client.set_irqs(0x24, vc.MSIX, 4, 5, fds=fds[4:])
    assert device.msix_enable
    for vector in range(VECTORS):
        entry = struct.unpack_from("<QII", device.bar, 0x2000 + 16 * vector)
        assert entry == (0xFEE00000 | vector << 4, vector, 0)
        client.write(vc.BAR0, FIRE, struct.pack("<I", vector))
        assert select.select(fds, [], [], 5)[0] == [fds[vector]]
        assert os.eventfd_read(fds[vector]) == 1
    client.set_irqs(0x24, vc.MSIX, 2, 1)  # no descriptor: detach
    client.write(vc.BAR0, FIRE, struct.pack("<I", 2))
    assert struct.unpack_from("<I", device.bar, 0x2000 + 16 * 2 + 12) == (1,)
    client.ask(vc.RESET)  # the eventfds stay, and so does what the device needs for them
    client.write(vc.BAR0, FIRE, struct.pack("<I", 7))
    assert select.select(fds, [], [], 5)[0] == [fds[7]]
    assert struct.unpack_from("<QII", device.bar, 0x2000 + 16 * 7) == (0xFEE00070, 7, 0)
    client.set_irqs(0x21, vc.MSIX, 3, 2)  # the client signals itself, to test its own way
    assert os.eventfd_read(fds[3]) == os.eventfd_read(fds[4]) == 1
    client.set_irqs(0x22, vc.MSIX, 3, 2, b"\0\1")
    assert os.eventfd_read(fds[4]) == 1 and not select.select([fds[3]], [], [], 0)[0]
    client.set_irqs(0x21, vc.MSIX, 0, 0)  # all off
    assert not device.msix_enable and all(fd < 0 for fd in device.fds.values())
    for fd in fds:
        os.close(fd)


def test_vectors_that_were_away(client: vc.Client, device: FakeDevice) -> None:
    """A client takes all vectors away to bring one more, as QEMU did: what was said meanwhile is not lost."""
    fds = [os.eventfd(0, os.EFD_NONBLOCK) for _ in range(3)]
    client.set_irqs(0x24, vc.MSIX, 0, 2, fds=fds[:2])
    assert not select.select(fds, [], [], 0)[0]
    client.set_irqs(0x21, vc.MSIX, 0, 0)
    client.write(vc.BAR0, FIRE, struct.pack("<I", 1))
    client.set_irqs(0x24, vc.MSIX, 0, 3, fds=fds)
    assert select.select(fds, [], [], 5)[0] == fds[:2] and [os.eventfd_read(fd) for fd in fds[:2]] == [1, 1]
    client.set_irqs(0x24, vc.MSIX, 0, 3, fds=fds)  # in the place of others: nothing was missed
    client.set_irqs(0x21, vc.MSIX, 0, 0)
    client.ask(vc.RESET)  # what was said before is of no interest any more
    client.set_irqs(0x24, vc.MSIX, 0, 3, fds=fds)
    assert not select.select(fds, [], [], 0.1)[0]
    for fd in fds:
        os.close(fd)


def test_bad_set_irqs(client: vc.Client) -> None:
    fd, other = os.eventfd(0), memfd(4096)
    for flags, index, start, count, data, fds, number in (
        (0x24, vc.MSIX, VECTORS, 1, b"", [fd], errno.EINVAL), (0x24, vc.MSIX, 0, 3, b"", [fd], errno.EINVAL),
        (0x24, vc.MSIX, 0xFFFFFFFF, 1, b"", [fd], errno.EINVAL), (0x24, 5, 0, 1, b"", [fd], errno.EINVAL),
        (0x24, vc.MSIX, 0, 1, b"", [other], errno.EINVAL), (0x26, vc.MSIX, 0, 1, b"", [fd], errno.EINVAL),
        (0x38, vc.MSIX, 0, 1, b"", [], errno.EINVAL), (0x04, vc.MSIX, 0, 1, b"", [fd], errno.EINVAL),
        (0x22, vc.MSIX, 0, 4, b"\1", [], errno.EINVAL), (0x09, vc.MSIX, 0, 1, b"", [], errno.ENOTSUP),
        (0x24, 1, 0, 1, b"", [fd], errno.EINVAL), (0x64, vc.MSIX, 0, 1, b"", [fd], errno.EINVAL),
        (0x24, vc.MSIX, 0, 0, b"", [], errno.EINVAL),
    ):  # fmt: skip
        with refused(number):
            client.set_irqs(flags, index, start, count, data, fds)
    os.close(fd)
    os.close(other)


def test_intx(client: vc.Client, device: FakeDevice) -> None:
    """A level becomes one signal, then nothing until the client unmasks."""
    fd, unmask = os.eventfd(0, os.EFD_NONBLOCK), os.eventfd(0, os.EFD_NONBLOCK)

    def fired(seconds: float = 5.0) -> bool:
        if not select.select([fd], [], [], seconds)[0]:
            return False
        assert os.eventfd_read(fd) == 1
        return True

    client.set_irqs(0x24, vc.INTX, 0, 1, fds=[fd])
    client.write(vc.BAR0, LEVEL, b"\1\0\0\0")
    assert fired() and not fired(0.05)
    assert client.read(vc.CONFIG, 6, 1)[0] & 8
    client.set_irqs(0x11, vc.INTX, 0, 1)  # unmask: still asserted, so again
    assert fired()
    client.write(vc.BAR0, LEVEL, b"\0\0\0\0")
    client.set_irqs(0x11, vc.INTX, 0, 1)
    assert not fired(0.05)
    client.set_irqs(0x09, vc.INTX, 0, 1)  # mask
    client.write(vc.BAR0, LEVEL, b"\1\0\0\0")
    assert not fired(0.05)
    client.set_irqs(0x12, vc.INTX, 0, 1, b"\1")
    assert fired()
    client.set_irqs(0x14, vc.INTX, 0, 1, fds=[unmask])  # unmask by eventfd
    os.eventfd_write(unmask, 1)
    assert fired()
    client.set_irqs(0x21, vc.INTX, 0, 0)
    os.close(fd)
    os.close(unmask)


# --------------------------------------------------------------------------------------- doorbells, ends of connections


def test_mapped_doorbells(path: str, device: FakeDevice) -> None:
    drive = vc.Drive(path, spdk=True)
    for i in range(1, 40):
        drive.mmio_write(0x1000 + 4 * (i % 8), i)
        eventually(lambda i=i: device.doorbells and device.doorbells[-1] == (i % 8, i))
        if i % 10 == 0:
            time.sleep(0.02)  # let the server go to sleep
    # after the controller is disabled, the same values count again
    for _ in range(2):
        drive.mmio_write(0x14, 1)
        drive.mmio_write(0x1000, 5)
        eventually(lambda: device.doorbells[-1] == (0, 5))
        drive.mmio_write(0x14, 0)
        device.doorbells.append((-1, 0))
    drive.close()


def test_reconnect(path: str, device: FakeDevice) -> None:
    for _ in range(5):
        c = vc.Client(path)
        c.version()
        fd = memfd(0x2000)
        event = os.eventfd(0)
        c.map(0, 0x1000, fd)
        c.map(0x1000, 0x1000)
        c.set_irqs(0x24, vc.MSIX, 1, 1, fds=[event])
        c.write(vc.CONFIG, 4, b"\x06\x00")
        dma(c, 0x1000, 8, 1)  # pending for ever
        c.send(vc.REGION_READ, struct.pack("<QII", 0, 0, 4))
        resets = device.resets
        c.close()
        eventually(lambda n=resets: device.resets > n and not device.maps)
        assert not device.waiting and not device.msix_enable and device.fds[1] == -1
        assert device.state and not device.state.bus_master
        os.close(fd)
        os.close(event)


def test_no_descriptor_leaks(path: str) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    def session() -> None:
        c = vc.Client(path)
        c.version()
        fd, event = memfd(0x1000), os.eventfd(0)
        c.map(0, 0x1000, fd)
        for flags, index in ((0x24, vc.MSIX), (0x24, vc.INTX), (0x14, vc.INTX), (0x24, 3), (0x24, 4)):
            c.set_irqs(flags, index, 0, 1, fds=[event])
            c.set_irqs(flags, index, 0, 1, fds=[event])
        for command in (vc.GET_INFO, vc.REGION_READ, 999):  # unexpected descriptors
            c.send(command, b"\0" * 16, [fd, fd, event])
            c.receive()
        c.sock.sendall(b"\1")  # and half a header
        c.close()
        os.close(fd)
        os.close(event)

    session()
    time.sleep(0.05)
    before = count()
    for _ in range(5):
        session()
    eventually(lambda: count() <= before)


def test_oversized_message(path: str) -> None:
    for size in (0, 15, 1 << 30, 0xFFFFFFFF):
        c = vc.Client(path)
        c.version()
        number = c.send(vc.GET_INFO, b"", size=size)
        assert c.reply_to(number, vc.GET_INFO).error == errno.EINVAL
        with pytest.raises(ConnectionError):
            c.receive()
        c.close()


def test_second_server(path: str, tmp_path: Path, device: FakeDevice) -> None:
    with pytest.raises(UserError, match="in use"), serving(path, FakeDevice(), PciConfig(VECTORS)):
        pass
    with pytest.raises(UserError, match="too long"), serving(tmp_path / ("x" * 200), device, PciConfig(VECTORS)):
        pass


FIELD = st.sampled_from([0, 1, 2, 3, 4, 7, 8, 9, 16, 20, 24, 32, 0x24, 0x1000, 0x2000, 0x4000, 0xFFFFFFFF])
BODY = st.one_of(st.binary(max_size=64), st.lists(FIELD, max_size=12).map(lambda v: struct.pack(f"<{len(v)}I", *v)))
FLAGS = st.sampled_from([0, 0, 0, 0x10, 1, 0x21, 2, 0xFFFFFFFF])
MESSAGE = st.tuples(st.integers(0, 20), BODY, FLAGS, st.integers(0, 2))  # command, body, flags, descriptors
FUZZ = {"deadline": None, "derandomize": True, "suppress_health_check": [HealthCheck.function_scoped_fixture]}


@settings(max_examples=150, **FUZZ)
@given(st.lists(MESSAGE, min_size=1, max_size=20))
@example([(0, b"", 1, 0)])  # a reply to nothing
def test_nonsense(path: str, messages: list[tuple[int, bytes, int, int]]) -> None:
    """Whatever comes, the server answers each command that wants an answer, and serves the next client."""
    c = vc.Client(path, timeout=10)
    c.version()
    fds = [os.eventfd(0), memfd(0x4000)]
    try:
        for command, body, flags, count in messages:
            number = c.send(command, body, fds[:count], flags=flags)
            if flags & 0xF != 1 and not flags & 0x10:
                c.reply_to(number, command)
    finally:
        for fd in fds:
            os.close(fd)
    number = c.send(vc.GET_INFO, struct.pack("<4I", 16, 0, 0, 0))
    assert c.reply_to(number, vc.GET_INFO).error == 0
    c.close()


@settings(max_examples=60, **FUZZ)
@given(st.binary(min_size=1, max_size=200))
def test_noise(path: str, noise: bytes) -> None:
    """Bytes that are no messages: the connection may end, the server goes on."""
    c = vc.Client(path, timeout=10)
    with contextlib.suppress(OSError):
        c.sock.sendall(noise)
    c.close()
    c = vc.Client(path, timeout=10)
    c.version()
    c.close()


# -------------------------------------------------------------------------------------------------------- a real drive


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
