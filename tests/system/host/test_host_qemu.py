# SPDX-License-Identifier: Apache-2.0
"""db_host against QEMU's stock NVMe drive, which nobody here wrote; what it holds is read from its image file."""

from __future__ import annotations

import platform
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorbell.device.blocks import BlockCommand, BlockStatus, DataEnd, DriveMessage
from doorbell.device.drives import ExternalDrive
from doorbell.device.host_sim import HostSim
from doorbell.errors import UserError
from doorbell.qemu.drives import DRIVE_BARS, QemuDrives
from doorbell.qemu.mirror import NvmeMirror
from host_helpers import CONFIG, CONTROL, FORMAT, MAX_BLOCKS, NUM_RESETS, library

needs_vm = pytest.mark.skipif(
    platform.machine() != "x86_64" or not shutil.which("apt-get"), reason="QEMU comes from Debian's amd64 packages"
)
SIZE = 4 << 20


class Stock:
    """db_host, QEMU with one drive, and what stands between them."""

    def __init__(self, image: Path, options: str = "") -> None:
        self.bus = QemuDrives([image], device_options=options)
        window, _ = self.bus.window(0)
        self.sim = HostSim(library("narrow"), [ExternalDrive()], window=window, bar=DRIVE_BARS)
        self.mirror = NvmeMirror(self.sim, self.bus, 0)

    def until(self, done: Callable[[], object], rounds: int = 200_000) -> None:
        for _ in range(rounds):
            if done():
                return
            busy = self.mirror.step()
            self.bus.pump()
            self.sim.run(200 if busy else 50, "message")
        raise AssertionError("no end")

    def wait(self, count: int) -> list[BlockStatus]:
        got: list[BlockStatus] = []

        def enough() -> bool:
            got.extend(self.sim.statuses())
            return len(got) >= count

        self.until(enough)
        return got

    def close(self) -> None:
        errors = self.sim.errors()
        self.sim.close()
        self.bus.close()
        assert not errors


@needs_vm
@pytest.mark.parametrize(
    ("lba", "options", "prp_only"),
    [(512, "", False), (4096, ",logical_block_size=4096,physical_block_size=4096", False), (512, "", True)],
)
def test_write_and_read(tmp_path: Path, lba: int, options: str, prp_only: bool) -> None:
    """4 MiB there and back, trim and zeroes, a read beyond the end."""
    image = tmp_path / "image"
    with open(image, "wb") as f:
        f.truncate(16 << 20)
    data = bytearray(random.Random(lba).randbytes(SIZE))
    stock = Stock(image, options)
    sim = stock.sim
    stock.until(lambda: sim.up)
    assert sim.signal("lba_shift") == lba.bit_length() - 1 and sim.signal("blocks") == (16 << 20) // lba
    assert sim.axil_read(FORMAT) >> 5 & 1, "QEMU's drive takes SGLs"
    sim.axil_write(CONFIG, 1 | 2 * prp_only)
    most = sim.axil_read(MAX_BLOCKS)
    each = 65536 // lba
    assert each > most, "commands are split"
    sim.write_data(bytes(data))
    count = SIZE // 65536
    sim.submit([BlockCommand("write", n * each, each, n) for n in range(count)] + [BlockCommand("flush", tag=count)])
    assert [(s.tag, s.status) for s in stock.wait(count + 1)] == [(n, 0) for n in range(count + 1)]
    assert image.read_bytes()[: SIZE + 1] == data + b"\0"
    back = bytearray(SIZE)
    sim.read_buffer(back)
    sim.submit([BlockCommand("read", n * each, each, n) for n in range(count)])
    assert not any(s.status for s in stock.wait(count))
    stock.until(lambda: sim.signal("rdata_bytes") == SIZE)
    assert back == data
    assert [(e.size, e.error) for e in sim.data_ends()] == [(65536, False)] * count
    sim.submit([BlockCommand("zeroes", 3, 2, 1), BlockCommand("trim", 10 * each, each, 2), BlockCommand("flush", tag=3),
                BlockCommand("read", (16 << 20) // lba - 1, 2, 4), BlockCommand("read", 2, 4, 5)])  # fmt: skip
    assert [s.status & 0x7FF for s in stock.wait(5)] == [0, 0, 0, 0x80, 0]
    data[3 * lba : 5 * lba] = bytes(2 * lba)
    stock.until(lambda: sim.signal("rdata_bytes") == SIZE + 6 * lba)
    assert back[: 6 * lba] == bytes(2 * lba) + data[2 * lba : 6 * lba]
    stock.close()
    held = image.read_bytes()
    trimmed = held[10 * 65536 : 11 * 65536]
    assert trimmed in (bytes(65536), bytes(data[10 * 65536 : 11 * 65536]))
    assert held[: 10 * 65536] == data[: 10 * 65536] and held[11 * 65536 : SIZE] == data[11 * 65536 :]


@needs_vm
def test_resets_under_io(tmp_path: Path) -> None:
    """All commands end, the drive comes back, and what it has is as it was."""
    image = tmp_path / "image"
    data = random.Random(3).randbytes(1 << 20)
    image.write_bytes(data)
    stock = Stock(image)
    sim, rng = stock.sim, random.Random(4)
    stock.until(lambda: sim.up)
    reads = [BlockCommand("read", n * 128, 128, n) for n in range(16)]
    ends: list[DataEnd] = []
    for turn in range(6):
        sim.read_buffer(bytearray(len(data)))
        sim.submit(reads)
        for _ in range(rng.randrange(200)):
            stock.mirror.step()
            stock.bus.pump()
            sim.run(50, "message")
        sim.axil_write(CONTROL, 2)  # reset
        assert sorted(s.tag for s in stock.wait(len(reads))) == list(range(len(reads)))
        ended = 0
        while ended < len(reads):
            stock.until(lambda: ends.extend(sim.data_ends()) or ends)
            ended, ends[:] = ended + len(ends), []
        stock.until(lambda: sim.up or sim.dead)
        assert sim.up and sim.axil_read(NUM_RESETS) > turn  # a slow machine may add one
    back = bytearray(len(data))
    sim.read_buffer(back)
    sim.submit(reads)
    assert not any(s.status for s in stock.wait(len(reads)))
    stock.until(lambda: sim.signal("rdata_bytes") >= len(data))
    assert back == data
    stock.close()


def test_no_image(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a file"):
        QemuDrives([tmp_path / "none"])


class FakeBus:
    """In the place of QemuDrives: a window of plain memory, and a drive that the test plays."""

    def __init__(self) -> None:
        self.memory = bytearray(64 << 20)
        self.written: list[tuple[int, bytes]] = []
        self.config: dict[int, int] = {0: 0x12345678}

    def window(self, _drive: int) -> tuple[int, memoryview]:
        return 0x10_0000_0000, memoryview(self.memory)

    def config_read(self, _drive: int, offset: int) -> int:
        return self.config.get(offset, 0)

    def config_write(self, _drive: int, offset: int, value: int, enables: int) -> None:
        self.config[offset] = value

    def memory_read(self, address: int, size: int) -> int:
        return address

    def memory_answer(self, number: int) -> bytes | None:
        return {0x2000000000: bytes([0xFF] * 4), 0x2000000004: bytes([1, 0, 0, 0])}.get(number, b"")

    def memory_write(self, address: int, data: bytes) -> None:
        self.written.append((address, data))


class FakeSim:
    """In the place of HostSim: what the core asks, and what it would answer to reads of its window."""

    def __init__(self) -> None:
        self.asked: list[DriveMessage] = []
        self.answers: list[tuple[int, Any, int]] = []
        self.core = bytearray(64 << 20)
        self.wrote: list[tuple[int, bytes]] = []
        self.reads: list[tuple[int, int]] = []

    def messages(self, _port: int) -> list[DriveMessage]:
        asked, self.asked = self.asked, []
        return asked

    def answer(self, number: int, data: bytes | None, status: int, _port: int) -> None:
        self.answers.append((number, data, status))

    def host_read(self, address: int, size: int, _port: int) -> int:
        self.reads.append((address - 0x10_0000_0000, size))
        return len(self.reads) - 1

    def host_read_poll(self, handle: int, size: int, _port: int) -> bytes:
        at, _ = self.reads[handle]
        return bytes(self.core[at : at + size])

    def host_write(self, address: int, data: bytes, _port: int) -> None:
        self.wrote.append((address - 0x10_0000_0000, data))


def test_mirror() -> None:
    """Entries, lists and data reach the memory before the doorbell reaches the drive; answers go back data first."""
    bus, sim = FakeBus(), FakeSim()
    mirror = NvmeMirror(sim, bus, 0)  # type: ignore[arg-type]
    window, bar = 0x10_0000_0000, 0x20_0000_0000

    def step(*asked: tuple[str, int, int, bytes]) -> None:
        sim.asked = [DriveMessage(n, kind, addr, size, 0x0100, data)
                     for n, (kind, addr, size, data) in enumerate(asked)]  # fmt: skip
        while mirror.step():
            pass

    def word(value: int) -> bytes:
        return struct.pack("<I", value)

    step(("cfg_read", 0, 4, b""), ("cfg_write", 0x10, 4, word(4)), ("cfg_write", 0x14, 4, word(0x20)),
         ("read", bar + 4, 4, b""), ("read", bar + 0x999, 4, b""))  # fmt: skip
    assert sim.answers == [(0, word(0x12345678), 0), (1, b"", 0), (2, b"", 0), (3, word(1), 0), (4, None, 1)]
    step(*(("write", bar + at, 4, word(value)) for at, value in
           ((0x24, 0x30003), (0x28, 0), (0x2C, 0x10), (0x30, 0x1000), (0x34, 0x10), (0x14, 0x460001))))  # fmt: skip
    assert bus.written[-1] == (bar + 0x14, word(0x460001))
    # a completion and a submission queue of 4 entries, then three pages of a write and a read through a list
    sim.core[:128] = struct.pack("<BxH20xQ8xII", 5, 1, window + 0x200000, 3 << 16 | 1, 1).ljust(
        64, b"\0"
    ) + struct.pack("<BxH20xQ8xII", 1, 2, window + 0x100000, 3 << 16 | 1, 1 << 16 | 1).ljust(64, b"\0")
    step(("write", bar + 0x1000, 4, word(2)))
    assert bus.memory[:128] == sim.core[:128] and bus.written[-1] == (bar + 0x1000, word(2)) and mirror.commands == 2
    pages = [0x800000 + 512, 0x805000, 0x801000]
    sim.core[0x1000000:0x1000010] = struct.pack("<QQ", *(window + p for p in pages[1:]))
    for at, page in enumerate(pages):
        sim.core[page : page + 4096] = bytes([0x40 + at]) * 4096
    for n, opcode in enumerate((1, 2)):
        at = 0x100000 + 64 * n
        sim.core[at : at + 64] = struct.pack("<BxH20xQQIII", opcode, 7 + n, window + pages[0], window + 0x1000000, 0, 0,
                                             17).ljust(64, b"\0")  # fmt: skip
    before = len(sim.reads)
    step(("write", bar + 0x1000 + 2 * 8, 4, word(2)))
    assert bus.written[-1] == (bar + 0x1000 + 2 * 8, word(2)), "DSTRD 1: doorbells 8 bytes apart"
    asked = sim.reads[before:]
    assert asked.count((0x1000000, 16)) == 2 and (pages[0], 3584) in asked and (0x801000, 9216 - 3584 - 4096) in asked
    for at, size in ((pages[0], 3584), (0x805000, 4096), (0x801000, 1536)):
        assert bus.memory[at : at + size] == sim.core[at : at + size]
    # the drive completes them: the read's data goes to the core before its entry, the write's does not
    bus.memory[0x200000:0x200010] = struct.pack("<IIHHHH", 0, 0, 1, 1, 7, 1)
    step()
    assert sim.wrote == [(0x200000, struct.pack("<IIHHHH", 0, 0, 1, 1, 7, 1))]
    bus.memory[0x805000:0x806000] = bytes([9]) * 4096
    bus.memory[0x200010:0x200020] = struct.pack("<IIHHHH", 0, 0, 2, 1, 8, 1)
    step()
    assert [at for at, _ in sim.wrote[1:]] == [pages[0], 0x805000, 0x801000, 0x200010]
    assert sim.wrote[2][1] == bytes([9]) * 4096
    # a read and a write of one data block each: contiguous, and no list
    for n, opcode in enumerate((1, 2)):
        at = 0x100000 + 64 * (2 + n)
        sim.core[at : at + 64] = struct.pack("<BBH20xQQIII", opcode, 0x40, 9 + n, window + 0x806200, 9216, 0, 0,
                                             17).ljust(64, b"\0")  # fmt: skip
    sim.core[0x806200 : 0x806200 + 9216] = bytes([0x55]) * 9216
    done = len(sim.reads)
    step(("write", bar + 0x1000 + 2 * 8, 4, word(0)))
    assert sorted(sim.reads[done:]) == [(0x100080, 64), (0x1000C0, 64), (0x806200, 9216)]
    assert bus.memory[0x806200 : 0x806200 + 9216] == bytes([0x55]) * 9216
    bus.memory[0x200020:0x200030] = struct.pack("<IIHHHH", 0, 0, 0, 1, 10, 1)
    bus.memory[0x200030:0x200040] = struct.pack("<IIHHHH", 0, 0, 0, 1, 9, 1)
    wrote = len(sim.wrote)
    step()
    assert [(at, len(data)) for at, data in sim.wrote[wrote:]] == [(0x806200, 9216), (0x200020, 16), (0x200030, 16)]
    asked = sim.reads[before:]
    # a controller reset forgets the queues
    step(("write", bar + 0x14, 4, word(0)), ("write", bar + 0x1000 + 2 * 8, 4, word(3)))
    assert len(sim.reads) == before + len(asked) and bus.written[-1] == (bar + 0x1000 + 2 * 8, word(3))
    # ... and what their completion entries were
    bus.memory[0x1000:0x1010] = struct.pack("<IIHHHH", 0, 0, 1, 0, 5, 1)
    wrote = len(sim.wrote)
    step(("write", bar + 0x14, 4, word(0x460001)))
    assert len(sim.wrote) == wrote
