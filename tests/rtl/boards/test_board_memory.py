# SPDX-License-Identifier: Apache-2.0
"""What a board has between controller and memory, beside cocotbext-axi's master and two of its memories: data,
commands, and resets in the middle, which must leave bursts whole and the memories in peace."""

from __future__ import annotations

import itertools
import logging
import random
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer, with_timeout
from cocotbext.axi import AxiBus, AxiMaster, AxiRam

PAGE = 4096
PAGES = 64
FLUSH, ZERO = 0, 1
CHANNELS = ("aw", "w", "ar")


class Memory:
    """Both lanes; what is offered to them stays, and bursts are those of AXI3."""

    def __init__(self, dut: Any, rng: random.Random, stall: float) -> None:
        for name in ("cocotb", f"cocotb.{dut._name}"):
            logging.getLogger(name).setLevel(logging.ERROR)
        self.dut, self.rng, self.stall = dut, rng, stall
        self.lanes = [AxiRam(AxiBus.from_prefix(dut, f"m{i}_axi"), dut.clk, dut.memory_rst, size=PAGES * PAGE // 2)
                      for i in range(2)]  # fmt: skip
        for lane in self.lanes:
            for channel in (lane.write_if.aw_channel, lane.write_if.w_channel, lane.write_if.b_channel,
                            lane.read_if.ar_channel, lane.read_if.r_channel):  # fmt: skip
                channel.set_pause_generator(self.pauses())
        self.longest = 0
        cocotb.start_soon(self.watch())

    def pauses(self) -> Any:
        return (self.rng.random() < self.stall for _ in itertools.count())

    async def watch(self) -> None:
        before: dict[str, tuple[int, ...]] = {}
        while True:
            await FallingEdge(self.dut.clk)
            for lane, channel in itertools.product((0, 1), CHANNELS):
                prefix = f"m{lane}_axi_{channel}"
                valid, ready = (getattr(self.dut, f"{prefix}{s}") for s in ("valid", "ready"))
                what = ("data", "strb", "last") if channel == "w" else ("addr", "len")
                now = tuple(int(getattr(self.dut, f"{prefix}{s}").value) for s in what) if valid.value == 1 else ()
                if prefix in before and self.dut.memory_rst.value == 0:
                    assert now == before[prefix], f"{prefix} was offered and is not any more"
                if now and channel != "w":
                    self.longest = max(self.longest, now[1] + 1)
                    assert now[0] % PAGE + 32 * (now[1] + 1) <= PAGE
                before.pop(prefix, None)
                if now and ready.value == 0:
                    before[prefix] = now

    def read(self, addr: int, size: int) -> bytes:
        """By rows of 64 bytes: the low half from lane 0."""
        rows = range(addr // 64, (addr + size) // 64)
        return b"".join(bytes(lane.read(32 * row, 32)) for row in rows for lane in self.lanes)


async def begin(dut: Any, seed: int, stall: float) -> tuple[Memory, random.Random]:
    rng = random.Random(seed)
    for name in ("link_rst", "memory_ready", "s_cmd_valid", "s_cmd_op", "s_cmd_addr", "s_cmd_bytes"):
        getattr(dut, name).value = 0
    memory = Memory(dut, rng, stall)
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    await Timer(100, "ns")
    assert dut.rst.value == 1 and dut.memory_rst.value == 1
    assert dut.por_rst.value == int(seed == 1), "once, after configuration"
    dut.memory_ready.value = 1
    await with_timeout(FallingEdge(dut.rst), 1, "us")
    assert dut.por_rst.value == 0
    return memory, rng


def master_of(dut: Any) -> AxiMaster:
    """As the controller: all its writes have id 0."""
    return AxiMaster(AxiBus.from_prefix(dut, "s_axi"), dut.clk, dut.rst)


async def command(dut: Any, op: int, addr: int = 0, size: int = 0) -> int:
    """Gives a command; returns whether its response says error."""
    dut.s_cmd_op.value, dut.s_cmd_addr.value, dut.s_cmd_bytes.value = op, addr, size
    dut.s_cmd_valid.value = 1
    while True:
        await FallingEdge(dut.clk)
        taken = dut.s_cmd_ready.value == 1
        await RisingEdge(dut.clk)
        if taken:
            break
    dut.s_cmd_valid.value = 0
    for _ in range(100_000):
        await FallingEdge(dut.clk)
        if dut.m_rsp_valid.value == 1:
            err = int(dut.m_rsp_err.value)
            await RisingEdge(dut.clk)
            return err
    raise AssertionError("no response")


@cocotb.test()
async def data_comes_back_and_zeros_do_not_touch_it(dut: Any) -> None:
    memory, rng = await begin(dut, 1, 0.3)
    master = master_of(dut)
    half = PAGES // 2 * PAGE
    mine = bytearray(half)

    async def writes() -> None:
        for _ in range(60):
            size = 512 * rng.choice((1, 2, 4, 8))
            addr = rng.randrange(half // size) * size
            data = rng.randbytes(size)
            mine[addr : addr + size] = data
            await master.write(addr, data, awid=0)
            assert bytes(await master.read(addr, size)) == data

    for lane in memory.lanes:
        lane.write(half // 2, b"\xff" * (half // 2))
    other = bytearray(b"\xff" * half)
    writing = cocotb.start_soon(writes())
    for _ in range(12):
        addr, size = 512 * rng.randrange(half // 512), 512 * rng.randint(1, 40)
        size = min(size, half - addr)
        other[addr : addr + size] = bytes(size)
        assert await command(dut, ZERO, half + addr, size) == 0
        assert memory.read(half + addr, size) == bytes(size), "answered before it was done"
    assert await command(dut, FLUSH) == 0 and await command(dut, 2, 0, 512) == 1
    await writing
    assert memory.read(0, half) == mine and memory.read(half, half) == other
    assert memory.longest == 16


@cocotb.test()
async def a_row_a_cycle(dut: Any) -> None:
    """Reads and writes of pages, without stalls: less than 1.15 cycles a row each."""
    memory, _ = await begin(dut, 2, 0.0)
    master = master_of(dut)
    cycles = 0

    async def count() -> None:
        nonlocal cycles
        while True:
            await RisingEdge(dut.clk)
            cycles += 1

    cocotb.start_soon(count())
    for what in (master.write(0, bytes(range(256)) * (PAGES * PAGE // 256), awid=0), master.read(0, PAGES * PAGE)):
        first = cycles
        await what
        assert cycles - first < 1.15 * PAGES * PAGE / 64
    assert memory.read(0, PAGES * PAGE) == bytes(range(256)) * (PAGES * PAGE // 256)


@cocotb.test()
async def resets_leave_bursts_whole(dut: Any) -> None:
    """The link goes at any time: every page is as before or as written, and what comes afterwards works."""
    memory, rng = await begin(dut, 3, 0.5)
    old, mixed = [0] * PAGES, 0
    master = master_of(dut)
    for round in range(1, 31):
        if round % 3 == 0:
            cocotb.start_soon(command(dut, ZERO, 0, PAGES * PAGE))
            new = 0
        else:
            new = round
            for page in range(PAGES):
                cocotb.start_soon(master.write(page * PAGE, bytes([new]) * PAGE, awid=0))
        cocotb.start_soon(master.read(0, 16 * PAGE))
        for _ in range(rng.randrange(20, 1500)):
            await RisingEdge(dut.clk)
        dut.link_rst.value = 1
        dut.s_cmd_valid.value = 0
        for _ in range(rng.randrange(4, 30)):
            await RisingEdge(dut.clk)
        dut.link_rst.value = 0
        await with_timeout(FallingEdge(dut.rst), 100, "us")
        assert dut.quiet.value == 1 and dut.por_rst.value == 0
        unit = 1024 if new == 0 else PAGE
        for page in range(PAGES):
            for part in range(0, PAGE, unit):
                found = set(memory.read(page * PAGE + part, unit))
                assert found in ({old[page]}, {new}), f"round {round}: page {page} is torn: {found}"
            found = set(memory.read(page * PAGE, PAGE))
            mixed += found == {old[page]}
            if found != {old[page]} and found != {new}:  # zeros come by the KiB
                memory_fill(memory, page, new)
                found = {new}
            old[page] = found.pop()
        data = rng.randbytes(PAGE)
        await with_timeout(master.write(5 * PAGE, data, awid=0), 100, "us")
        assert bytes(await with_timeout(master.read(5 * PAGE, PAGE), 100, "us")) == data
        memory_fill(memory, 5, old[5])
    assert 0 < mixed < 30 * PAGES


def memory_fill(memory: Memory, page: int, value: int) -> None:
    for lane in memory.lanes:
        lane.write(page * PAGE // 2, bytes([value]) * (PAGE // 2))


def test_board_memory() -> None:
    bench.run(__file__, "tb_board_memory", extra_sources=("tests/rtl/tb/tb_board_memory.sv",))
