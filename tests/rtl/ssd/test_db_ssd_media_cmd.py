# SPDX-License-Identifier: Apache-2.0
"""db_ssd_media_cmd: Flush, Write Zeroes, Write Uncorrectable and the ranges of Dataset Management against a model of
what the media is asked."""

from __future__ import annotations

import os
import random
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from axi_model import FLUSH, UNCORRECTABLE, ZERO, MediaPort
from cocotb.triggers import RisingEdge
from streams import ROW as ROW_PARTS
from streams import Source, packet_rows, start
from structs import layout

CMD = layout("db_ssd_data_pkg", "exec_cmd_t")
WHOLE = layout("db_ssd_pkg", "cmd_t")
READ, VERIFY, WRITE, COMPARE, DSM, WZERO, WFLUSH, WUNCOR, NEAR, LOAD, STORE, FILL, LIST = range(13)
DESC = {
    READ: ("to_host", "read_engine"), VERIFY: ("read_engine",), WRITE: ("from_host", "write_engine", "write"),
    COMPARE: ("from_host", "write_engine", "compare"), DSM: ("from_host", "write_engine", "ranges"),
    WZERO: ("write_engine", "zero"), WFLUSH: ("write_engine", "flush"),
    WUNCOR: ("write_engine", "uncorrectable"), NEAR: ("to_host", "read_engine", "computes"),
    LOAD: ("to_host", "read_engine"), STORE: ("to_host", "read_engine", "from_pointer"),  # Memory Read, Memory Write
    FILL: ("to_host", "read_engine", "from_pointer", "fills"), LIST: ("read_engine", "from_pointer", "copies"),
}  # fmt: skip
"""What the engines read of a command's descriptor."""
DNR = 1 << 14
TRANSFER_ERROR, WRITE_FAULT, READ_ERROR, MISMATCH, LBA_RANGE = 0x004, 0x280, 0x281, 0x285, DNR | 0x80

WIDTH = int(os.environ.get("DATA_W", "0"))
ROW = WIDTH // 8


@dataclass
class Command:
    op: int
    addr: int = 0  # on the media; of the namespace for Dataset Management
    size: int = 0
    fua: bool = False
    lba4k: bool = False
    blocks: int = 0  # of the namespace
    ranges: list[tuple[int, int, int]] = field(default_factory=list)  # attributes, length, first block
    err_row: int = 1 << 30  # row of the range list from which on it could not be read
    slot: int = 0
    fn: int = 0
    prp1: int = 0
    prp2: int = 0

    def packed(self, whole: bool = False) -> int:
        """As db_ssd_write_exec takes it (exec_cmd_t); whole: with the host's side, as the engines do (cmd_t)."""
        host = {"fn": self.fn, "prp1": self.prp1, "prp2": self.prp2} if whole else {}
        return (WHOLE if whole else CMD).pack(
            desc=dict.fromkeys(DESC[self.op], 1),
            slot=self.slot,
            fua=self.fua,
            lba4k=self.lba4k,
            media_addr=self.addr,
            ns_blocks=self.blocks,
            bytes=self.size,
            **host,
        )

    def list_rows(self, rng: random.Random, width: int) -> list[tuple[int, int, int, int]]:
        """The range list as rows: data, last, dwords, error. What lies behind its end is noise."""
        data = b"".join(
            a.to_bytes(4, "little") + n.to_bytes(4, "little") + s.to_bytes(8, "little") for a, n, s in self.ranges
        )
        return packet_rows(data, width, rng, self.err_row)


def media_ops(cmd: Command, width: int) -> Generator[tuple[int, int, int], int, int]:
    """What a command asks of the media: yields (op, address, bytes), is sent the error, returns the status."""
    if cmd.op == WFLUSH or cmd.op == WRITE:
        return WRITE_FAULT if (yield FLUSH, -1, -1) else 0
    if cmd.op == WZERO:
        if (yield ZERO, cmd.addr, cmd.size):
            return WRITE_FAULT
        return WRITE_FAULT if cmd.fua and (yield FLUSH, -1, -1) else 0
    if cmd.op == WUNCOR:
        return WRITE_FAULT if (yield UNCORRECTABLE, cmd.addr, cmd.size) else 0
    assert cmd.op == DSM
    per_row = width // 128
    block = 4096 if cmd.lba4k else 512
    for i, (_, length, first) in enumerate(cmd.ranges):
        if i // per_row >= cmd.err_row:
            return TRANSFER_ERROR
        if length == 0:
            continue
        if first + length > cmd.blocks:
            return LBA_RANGE
        if (yield ZERO, cmd.addr + first * block, length * block):
            return WRITE_FAULT
    return 0


def random_range(rng: random.Random, blocks: int, bad: float = 0.05) -> tuple[int, int, int]:
    """One range of a namespace of so many blocks."""
    kind = rng.random()
    if kind < bad:
        first, length = rng.choice(
            (
                (blocks, 1),
                (blocks - 1, 2),
                (2**64 - 1, 1),
                (2**64 - 1, 2**32 - 1),
                (0, blocks + 1),
                (2**64 - 8, 8),
                (2**63, 5),
            )
        )
    elif kind < bad + 0.15:
        first, length = rng.choice((0, blocks - 1, blocks, 2**64 - 1)), 0
    elif kind < bad + 0.3:
        first, length = rng.choice(((0, blocks), (blocks - 1, 1), (0, 1)))
    else:
        length = rng.randint(1, min(blocks, rng.choice((4, 64))))
        first = rng.randint(0, blocks - length)
    return rng.getrandbits(32), length, first


class Bench:
    def __init__(self, dut: Any, seed: int, stall: float) -> None:
        self.dut = dut
        self.rng = rng = random.Random(seed)
        self.port = MediaPort(dut, rng, None, self.media, self.media_done)
        self.rows = Source(dut, rng, "s_row", ROW_PARTS)
        self.rows.stall = self.port.cmd.stall = stall
        self.cycle = 0
        self.ops: Generator[tuple[int, int, int], int, int] | None = None
        self.want: tuple[int, int, int] | None = None
        self.status: int | None = None
        self.sent = 0  # media commands

    async def start(self) -> None:
        await start(self.dut, s_start=0, stop=0)

    def advance(self, error: int | None) -> None:
        assert self.ops is not None
        try:
            self.want = self.ops.send(error)  # type: ignore[arg-type]
        except StopIteration as end:
            self.want, self.status = None, end.value

    def media(self, op: int, addr: int, size: int) -> None:
        assert self.want, f"media command {op, addr, size} that nothing asks for"
        want = self.want
        assert op == want[0] and (op == FLUSH or (addr, size) == want[1:]), f"{op, addr, size}, expected {want}"
        self.sent += 1

    def media_done(self, error: int) -> None:
        self.advance(error)

    async def step(self) -> None:
        await RisingEdge(self.dut.clk)
        self.cycle += 1
        self.rows.step()
        self.port.step(self.cycle)

    async def begin(self, cmd: Command) -> None:
        self.ops, self.want, self.status = media_ops(cmd, WIDTH), None, None
        self.advance(None)
        if cmd.op == DSM:
            self.rows.queue.extend(cmd.list_rows(self.rng, WIDTH))
        self.dut.s_cmd.value = cmd.packed()
        self.dut.s_start.value = 1
        await self.step()
        self.dut.s_start.value = 0

    async def do(self, cmd: Command) -> int:
        await self.begin(cmd)
        limit = self.cycle + 20_000
        while True:
            await self.step()
            if int(self.dut.m_done.value):
                break
            assert self.cycle < limit, f"{cmd} hangs"
        assert self.status is not None, f"done before the media is: {self.want}"
        assert not self.rows.queue and self.rows.word is None, "rows left"
        for _ in range(self.rng.choice((1, 1, 2, 9))):
            assert int(self.dut.m_status.value) == self.status, f"{int(self.dut.m_status.value):#x}, {cmd}"
            await self.step()
            assert not int(self.dut.m_done.value), "done twice"
        return self.status


def random_command(rng: random.Random) -> Command:
    lba4k = rng.random() < 0.5
    c = Command(
        rng.choice((DSM, DSM, WZERO, WFLUSH, WUNCOR)),
        rng.randrange(1 << 27) << 12,
        lba4k=lba4k,
        slot=rng.getrandbits(8),
        prp1=rng.getrandbits(64),
        prp2=rng.getrandbits(64),
    )
    c.blocks = rng.choice((1, 8, 1000, 1 << 20, (1 << 39) // (4096 if lba4k else 512)))
    c.addr &= (1 << 39) - 1
    if c.op == DSM:
        count = rng.choice((1, 2, 3, 4, 5, 7, 8, 16, rng.randint(1, 40)))
        c.ranges = [random_range(rng, c.blocks, rng.choice((0, 0, 0.2))) for _ in range(count)]
        c.size = 16 * count
        if rng.random() < 0.15:
            c.err_row = rng.randrange(-(-c.size // ROW))
    c.fua = c.op != WUNCOR and rng.random() < 0.3  # it has no such bit
    if c.op in (WZERO, WUNCOR):
        c.size = 512 * rng.choice((1, 8, 65536, rng.randint(1, 8 * 65536)))
    return c


@cocotb.test()
async def random_commands(dut: Any) -> None:
    seen = set()
    for seed, stall in ((1, 0.0), (2, 0.5)):
        b = Bench(dut, seed, stall)
        await b.start()
        for i in range(300):
            b.port.latency = (0, 3) if i % 2 else (1, 20)
            b.port.bad = 0.05 if i % 3 else 0.0
            cmd = random_command(b.rng)
            seen.add((cmd.op, await b.do(cmd)))
    assert seen == {
        (WFLUSH, 0),
        (WFLUSH, WRITE_FAULT),
        (WZERO, 0),
        (WZERO, WRITE_FAULT),
        (WUNCOR, 0),
        (WUNCOR, WRITE_FAULT),
        (DSM, 0),
        (DSM, WRITE_FAULT),
        (DSM, LBA_RANGE),
        (DSM, TRANSFER_ERROR),
    }, "the random mix misses a status"


@cocotb.test()
async def longest_list(dut: Any) -> None:
    """256 ranges, each done; and with a bad one last, in the middle and first."""
    b = Bench(dut, 3, 0.0)
    await b.start()
    b.port.latency = (0, 0)
    for bad in (None, 255, 100, 0):
        cmd = Command(DSM, 1 << 20, 4096, blocks=4096, ranges=[(0, 3, 16 * i) for i in range(256)])
        if bad is not None:
            cmd.ranges[bad] = (0, 5, 4094)
        sent = b.sent
        assert await b.do(cmd) == (0 if bad is None else LBA_RANGE)
        assert b.sent - sent == (256 if bad is None else bad)


@cocotb.test()
async def stop_is_obeyed(dut: Any) -> None:
    """After stop no new media command and no completion for what was not done; a reset makes it new."""
    for seed in range(30):
        b = Bench(dut, seed, 0.2)
        await b.start()
        b.port.latency = (0, 6)
        cmd = random_command(b.rng)
        await b.begin(cmd)
        for _ in range(b.rng.randint(0, 60)):
            if int(dut.m_done.value):
                break
            await b.step()
        dut.stop.value = 1
        await b.step()
        done = int(dut.m_done.value)
        for _ in range(60):
            await b.step()
            assert b.port.cmd.new is None, "media command after stop"
            done += int(dut.m_done.value)
        assert not b.port.open and done <= 1
        if done:
            assert b.status is not None and int(dut.m_status.value) == b.status
        b = Bench(dut, seed, 0.2)
        await b.start()
        await b.do(random_command(b.rng))


@pytest.mark.parametrize("data_w", bench.WIDTHS)
def test_db_ssd_media_cmd(data_w: int) -> None:
    bench.run(__file__, "db_ssd_media_cmd", {"DATA_W": data_w}, env={"DATA_W": str(data_w)})
