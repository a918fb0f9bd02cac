# SPDX-License-Identifier: Apache-2.0
"""The vfio-user server against the small device of vfio_device.py, where every access is seen."""

from __future__ import annotations

import errno
import os
import random
import select
import struct
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import vfio_client as vc
from doorbell.device.messages import DmaRequest
from doorbell.device.pci_config import PciConfig, PciState
from doorbell.device.vfio_user import serving
from doorbell.errors import UserError
from served_drives import running
from vfio_device import FIRE, LEVEL, VECTORS, FakeDevice, device_served, dma, eventually, memfd, refused


@pytest.fixture
def device() -> FakeDevice:
    return FakeDevice()


@pytest.fixture
def path(tmp_path: Path, device: FakeDevice) -> Iterator[str]:
    """Socket of a running server for `device`."""
    yield from device_served(tmp_path, device)


@pytest.fixture
def client(path: str) -> Iterator[vc.Client]:
    c = vc.Client(path)
    c.version('{"capabilities":{}}')
    yield c
    c.close()


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


def test_memory_whose_pages_others_provide_is_refused(client: vc.Client, device: FakeDevice, tmp_path: Path) -> None:
    """Whoever is behind a file system (FUSE: the client) would hold up the server, and so all functions."""
    for file in (Path(__file__), Path("/proc/self/exe"), Path("/dev/zero")):
        with file.open("rb") as opened, refused(errno.EOPNOTSUPP):
            client.map(0x10000, 0x1000, opened.fileno(), 0, 1)
    assert not device.maps
    shared = Path("/dev/shm") if Path("/dev/shm").is_dir() else tmp_path
    with tempfile.TemporaryFile(dir=shared) as opened:
        opened.truncate(0x1000)
        client.map(0x10000, 0x1000, opened.fileno(), 0)
    assert device.maps


def test_memory_of_huge_pages(client: vc.Client, device: FakeDevice) -> None:
    """Pieces of it need not begin and end with one: a PC has a hole in its first."""
    try:
        fd = os.memfd_create("huge", os.MFD_HUGETLB)
    except OSError as e:
        pytest.skip(f"no huge pages: {e}")
    os.ftruncate(fd, 8 << 20)
    for base, size in ((0, 0xA0000), (0xC0000, 0x40000), (2 << 20, 4 << 20)):
        try:
            client.map(base, size, fd, base)
        except vc.ServerError as e:
            assert e.number == errno.ENOMEM, "there are none, but one may ask for them"
        else:
            client.unmap(base, size)
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


def test_a_register_does_not_overtake_what_was_written(tmp_path: Path) -> None:
    """Who reads that a device has stopped may take his memory back."""

    class Writer(FakeDevice):
        def run(self, cycles: int) -> None:
            super().run(cycles)
            if any(when == self.runs for _, _, when in self.reads.values()):
                self.requests.append(DmaRequest(99, 0x5000, 4, b"last"))

    with serving(tmp_path / "s", Writer(), PciConfig(VECTORS)) as server, running(server):
        c = vc.Client(str(tmp_path / "s"))
        c.version()
        c.map(0x5000, 0x1000)
        for _ in range(20):
            c.read(vc.BAR0, 0, 4)
            assert [body[16:] for _, _, body in c.requests] == [b"last"]
            c.serve_dma()
        c.close()


def test_a_register_does_not_overtake_what_is_kept(client: vc.Client, device: FakeDevice) -> None:
    """Behind what the client has not answered; it may do so only when it has the register's value."""
    client.map(0x5000, 0x1000)
    for text, done in ((b"one", lambda: device.held), (b"two", lambda: device.kept)):
        device.buffer[:] = text
        dma(client, 0x5000, 3, 2)
        eventually(done)
    client.send(vc.REGION_READ, struct.pack("<QII", 0x40, vc.BAR0, 4))
    got = [client.receive() for _ in range(2 - len(client.requests) + 1)]
    assert [body[16:] for _, _, body in client.requests] + [m[4][16:] for m in got[:-1]] == [b"one", b"two"]
    assert got[-1][1] == vc.REGION_READ


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


@pytest.mark.parametrize("index", [vc.MSIX, vc.INTX], ids=["msix", "intx"])
def test_interrupts_behind_messages(client: vc.Client, device: FakeDevice, index: int) -> None:
    """A client is told when it has answered what was written before."""
    memory = bytearray(0x1000)
    client.memory.append((0x5000, 0x1000, memory))
    client.map(0x5000, 0x1000)
    fd, unmask = os.eventfd(0, os.EFD_NONBLOCK), os.eventfd(0, os.EFD_NONBLOCK)
    client.set_irqs(0x24, index, 0, 1, fds=[fd])
    if index == vc.INTX:
        client.set_irqs(0x14, index, 0, 1, fds=[unmask])

    def interrupt() -> None:
        client.write(vc.BAR0, FIRE if index == vc.MSIX else LEVEL, struct.pack("<I", index == vc.INTX))

    def fired(seconds: float = 0.05) -> bool:
        return bool(select.select([fd], [], [], seconds)[0])

    for text in (b"one", b"two"):
        device.buffer[:] = text
        dma(client, 0x5000, 3, 2)
        while not client.requests:
            client.read(vc.CONFIG, 0, 4)
        interrupt()
        assert not fired()
        dma(client, 0x5010, 3, 2)  # what comes later is of no interest
        client.answer_dma(*client.requests.popleft())
        assert fired(5) and os.eventfd_read(fd) == 1 and memory[:3] == text
        if index == vc.MSIX:
            interrupt()
            while not client.requests:
                client.read(vc.CONFIG, 0, 4)
            assert not fired()
        else:
            client.write(vc.BAR0, LEVEL, b"\0\0\0\0")
            os.eventfd_write(unmask, 1)
        client.serve_dma(1)
        if index == vc.MSIX:
            assert fired(5) and os.eventfd_read(fd) == 1
    interrupt()
    assert fired(5), "nothing was written"
    client.ask(vc.RESET)
    os.close(fd)
    os.close(unmask)


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


def test_second_server(path: str, tmp_path: Path, device: FakeDevice) -> None:
    with pytest.raises(UserError, match="in use"), serving(path, FakeDevice(), PciConfig(VECTORS)):
        pass
    with pytest.raises(UserError, match="too long"), serving(tmp_path / ("x" * 200), device, PciConfig(VECTORS)):
        pass
