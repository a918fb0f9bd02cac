# SPDX-License-Identifier: Apache-2.0
"""db_ssd_ahead: what moves user data is told to the media and goes in the order that the media says; all
else passes in the same cycle; operators are told of each when it goes. A Write ends when engine and media have both
said it, a Flush or Write Zeroes when the media has. Of a Dataset Management the media is told range by range, when the
engine has the whole list; a reset forgets, stop keeps back."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
import rtl_bench as bench
from axi_model import MEDIA_CMD, ZERO
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from structs import enum, layout

SLOTS = 16
CMD, TAP, AHEAD = (layout("db_ssd_pkg", n) for n in ("cmd_t", "tap_cmd_t", "ahead_t"))
COMPLETION, PIECE = layout("db_ssd_pkg", "slot_completion_t"), layout("db_ssd_data_pkg", "piece_t")
KIND = enum("db_ssd_pkg", "ahead_kind_e")
WRITE_FAULT, SIZE_LIMIT = 0x280, 0x183
MOST = 16  # ranges, as Identify's DMRL says
DESC = {"read": {"read_engine": 1, "to_host": 1}, "verify": {"read_engine": 1}, "zero": {"write_engine": 1, "zero": 1},
        "compare": {"write_engine": 1, "compare": 1, "from_host": 1},
        "write": {"write_engine": 1, "write": 1, "from_host": 1}, "flush": {"write_engine": 1, "flush": 1},
        "dsm": {"write_engine": 1, "ranges": 1, "from_host": 1},
        "memory": {"read_engine": 1, "to_host": 1, "computes": 1, "memory": 1}}  # fmt: skip
WAITS = ("read", "verify", "compare", "write")
ALONE = ("flush", "zero")


def near_program(cmd: dict[str, Any]) -> int:
    """Of near_args_t, which is where another command has the blocks of its namespace."""
    return int(cmd["ns_blocks"]) >> 16 & 3


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.kinds = list(DESC)
        self.free = list(range(SLOTS))
        self.told: deque[int] = deque()  # slots whose ask is to come
        self.asked: list[int] = []
        self.let: deque[int] = deque()  # may go, in this order
        self.cmds: dict[int, tuple[str, dict[str, Any], dict[str, Any]]] = {}
        self.tap: tuple[str, int] | None = None  # of the command of the cycle before
        self.passes = False  # ... of the one before that, which passes
        self.passed: dict[str, int] | None = None  # what it is
        self.coming: int | None = None  # slot of the command of the cycle before, if it passes
        self.gone = 0
        self.engine: list[tuple[int, int]] = []  # Writes that the engine is to end, with its status
        self.media: list[int] = []  # Writes and Flushes that the media is to end
        self.words: dict[int, list[int]] = {}  # what has been said of each that has not ended
        self.ranges: dict[int, list[tuple[int, int]]] = {}  # of a Dataset Management: what is left to be told
        self.lists: deque[tuple[int, list[tuple[int, int]]]] = deque()  # that the engine is to give
        self.giving = False
        self.refused = self.by_memory = 0
        self.done: tuple[int, int] | None = None  # the engine's completion that is offered
        self.ended = 0

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in ("stop", "s_cmd_valid", "s_cmd", "s_piece", "s_tap_cmd", "s_tap_begin", "s_tap_begin_slot",
                     "m_ahead_ready", "s_come_valid", "s_come_slot", "s_ended_valid", "s_ended_slot", "s_ended_err",
                     "s_completion_valid", "s_completion", "s_media_err", "m_completion_ready", "s_media_valid",
                     "s_media", "s_media_slot"):  # fmt: skip
            getattr(d, name).value = 0
        d.m_cmd_ready.value = 3
        await self.reset()

    async def reset(self) -> None:
        self.dut.s_cmd_valid.value = 0
        self.dut.s_tap_begin.value = 0
        self.dut.s_come_valid.value = 0
        self.dut.s_ended_valid.value = 0
        self.dut.s_completion_valid.value = 0
        self.dut.s_media_valid.value = 0
        self.dut.rst.value = 1
        for _ in range(3):
            await FallingEdge(self.dut.clk)
        self.dut.rst.value = 0
        self.free = list(range(SLOTS))
        self.done = None
        self.giving = False
        for q in (self.told, self.asked, self.let, self.cmds, self.engine, self.media, self.words, self.ranges,
                  self.lists):  # fmt: skip
            q.clear()
        self.tap = self.coming = self.passed = None
        self.passes = False

    async def step(self, rate: float = 0.5, come: bool = True) -> None:
        d, rng = self.dut, self.rng
        # a command, seldom two in two cycles as decode is slower; its message to operators a cycle later
        d.s_tap_begin.value = int(self.tap is not None)
        d.s_cmd_valid.value = 0
        slot, coming, self.coming = -1, self.coming, None
        if self.tap:
            name, at = self.tap
            d.s_tap_begin_slot.value = at
            d.s_tap_cmd.value = TAP.pack(read=int("to_host" in DESC[name]), write=int("from_host" in DESC[name]),
                                         lba4k=self.cmds[at][1]["lba4k"],
                                         near_program=near_program(self.cmds[at][1]), ctx=self.cmds[at][2])  # fmt: skip
        tapped, self.tap = self.tap, None
        if self.free and not tapped and rng.random() < rate:
            name = rng.choice(self.kinds)
            slot = self.free.pop(rng.randrange(len(self.free)))
            same = {"desc": DESC[name], "fn": 0, "bytes": rng.randrange(1, 2048) * 512}
            cmd = same | {"slot": slot, "fua": rng.getrandbits(1), "lba4k": rng.getrandbits(1),
                          "media_addr": rng.getrandbits(40), "ns_blocks": rng.getrandbits(40), "sgl": 0,
                          "prp1": rng.getrandbits(64), "prp2": rng.getrandbits(64)}  # fmt: skip
            ctx = same | {"sqid": rng.getrandbits(8), "cid": rng.getrandbits(16), "nsid": rng.getrandbits(32),
                          "slba": rng.getrandbits(64)}  # fmt: skip
            self.cmds[slot] = (name, cmd, ctx)
            self.tap = (name, slot)
            if name in WAITS or name in ALONE:
                self.told.append(slot)
            elif name == "memory":  # it passes, and ends elsewhere
                self.coming = slot
            else:
                self.coming = slot
                count = rng.choice((0, 1, 2, 5, MOST, MOST + 1, MOST + 2))
                self.ranges[slot] = [(rng.getrandbits(30) << 9, rng.randrange(1, 1 << 20) << 9) for _ in range(count)]
                self.lists.append((slot, list(self.ranges[slot])))
            d.s_cmd_valid.value = 1 if "read_engine" in DESC[name] else 2
            d.s_cmd.value = CMD.pack(**cmd)
        d.m_ahead_ready.value = int(rng.random() < 0.7)
        d.s_come_valid.value = 0
        if come and self.asked and rng.random() < 0.4:
            at = self.asked.pop(rng.randrange(len(self.asked)))
            d.s_come_valid.value = 1
            d.s_come_slot.value = at
            self.let.append(at)
        d.s_ended_valid.value = 0
        if self.media and rng.random() < 0.3:
            at, err = self.media.pop(rng.randrange(len(self.media))), int(rng.random() < 0.3)
            d.s_ended_valid.value, d.s_ended_slot.value, d.s_ended_err.value = 1, at, err
            if err or not self.ranges.get(at):
                self.words.setdefault(at, []).append(WRITE_FAULT if err else 0)
        if self.done is None and self.engine and rng.random() < 0.3:
            self.done = self.engine.pop(rng.randrange(len(self.engine)))
        d.s_completion_valid.value = int(self.done is not None)
        if self.done:
            d.s_completion.value = COMPLETION.pack(slot=self.done[0], status={"sc": self.done[1]})
        d.m_completion_ready.value = int(rng.random() < 0.7)
        given = None
        if self.lists and not self.giving and self.lists[0][0] not in (slot, coming):
            at, left = self.lists[0]
            if not left:
                self.lists.popleft()
                self.engine.append((at, rng.choice((0, 0, 0, 0x80))))
            else:
                given = left[0]
        d.s_media_valid.value = int(given is not None)
        if given:
            d.s_media.value = MEDIA_CMD.pack(op=ZERO, addr=given[0], bytes=given[1])
            d.s_media_slot.value = self.lists[0][0]
        await RisingEdge(d.clk)
        if self.giving and d.m_media_done.value:
            self.giving = False
        if given and d.s_media_ready.value:
            self.lists[0][1].pop(0)
            self.giving = True
        if d.m_completion_valid.value and d.m_completion_ready.value:
            self.end(COMPLETION.unpack(int(d.m_completion.value)))
        if self.done and d.s_completion_ready.value:
            self.words.setdefault(self.done[0], []).insert(0, self.done[1])  # it goes before the media's
            self.done = None
        if d.m_ahead_valid.value and d.m_ahead_ready.value:
            ask = AHEAD.unpack(int(d.m_ahead.value))
            at = ask["slot"]
            name, cmd, _ = self.cmds[at]
            where = cmd["media_addr"], cmd["bytes"]
            if name == "flush":
                where = cmd["media_addr"], cmd["ns_blocks"] << (12 if cmd["lba4k"] else 9)
            if name == "dsm":
                assert self.words.get(at) == [0] and at not in self.media, "before the engine has all, or twice"
                where = self.ranges[at].pop(0)
            else:
                assert at == self.told.popleft()
            assert (ask["addr"], ask["bytes"]) == where
            kind = {"compare": "COMPARE", "write": "WRITE", "flush": "FLUSH", "zero": "ZERO", "dsm": "ZERO"}
            assert ask["kind"] == KIND[f"AHEAD_{kind.get(name, 'READ')}"]
            assert name not in ("write", "zero") or ask["fua"] == cmd["fua"]
            (self.media if name in ALONE or name == "dsm" else self.asked).append(at)
        went = int(d.m_cmd_valid.value)
        begins = bool(d.m_tap_begin.value)
        if coming is not None:
            name, cmd, _ = self.cmds[coming]
            assert went == (1 if "read_engine" in DESC[name] else 2) and int(d.m_cmd.value) == CMD.pack(**cmd)
            if name == "memory":
                del self.cmds[coming]
                self.free.append(coming)
                self.by_memory += 1
        elif went:
            at = self.let.popleft()
            name, cmd, ctx = self.cmds[at]
            if name == "write":  # the media sees to FUA
                cmd = cmd | {"fua": 0}
                self.engine.append((at, rng.choice((0, 0, 4))))
                self.media.append(at)
            else:
                del self.cmds[at]
                self.free.append(at)
            assert went == (1 if "read_engine" in DESC[name] else 2) and int(d.m_cmd.value) == CMD.pack(**cmd)
            assert begins and int(d.m_tap_begin_slot.value) == at
            assert int(d.m_tap_cmd.value) == TAP.pack(read=int(name == "read"), write=int("from_host" in DESC[name]),
                                                      lba4k=cmd["lba4k"], near_program=near_program(cmd),
                                                      ctx=ctx)  # fmt: skip
            self.gone += 1
            begins = False
        assert begins == self.passes, "operators are told of it when it goes, once"
        if self.passed:
            tap = TAP.unpack(int(d.m_tap_cmd.value))
            assert (tap["read"], tap["write"]) == (int("to_host" in self.passed), int("from_host" in self.passed))
        self.passed = DESC[tapped[0]] if tapped and tapped[0] not in WAITS and tapped[0] not in ALONE else None
        self.passes = bool(tapped and tapped[0] not in WAITS)
        await FallingEdge(d.clk)

    def end(self, completion: dict[str, Any]) -> None:
        at = completion["slot"]
        words, name = self.words.pop(at), self.cmds[at][0]
        status = completion["status"]["sct"] << 8 | completion["status"]["sc"]
        if name == "dsm":
            left = self.ranges.pop(at)
            if len(left) > MOST and not words[0]:
                assert status == SIZE_LIMIT
                words = [SIZE_LIMIT]
                self.refused += 1
            assert not left or any(words), "ranges are left"
        else:
            assert len(words) == (2 if name == "write" else 1), "it is not over"
        assert status == next((w for w in words if w), 0)
        del self.cmds[at]
        self.free.append(at)
        self.ended += 1


@cocotb.test()
async def commands_go_when_the_media_says_so(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    for i in range(3000):
        await b.step(0.9 if i % 400 < 300 else 0.1)
    for _ in range(1500):
        await b.step(0)
    assert not b.cmds and b.gone > 200 and b.ended > 100 and b.refused > 3 and b.by_memory > 50 and not dut.busy.value


@cocotb.test()
async def a_reset_forgets_and_stop_keeps_back(dut: Any) -> None:
    b = Bench(dut, 2)
    await b.start()
    for _ in range(20):
        for _ in range(b.rng.randrange(60)):
            await b.step(0.8)
        dut.stop.value = 1
        gone = b.gone
        for _ in range(20):
            await b.step(0)
        assert b.gone == gone
        await b.reset()
        dut.stop.value = 0
        assert not dut.busy.value


@cocotb.test()
async def latencies(dut: Any) -> None:
    """2 cycles to m_ahead, from s_come 3 to the engine, 3 from an end to its completion."""
    b = Bench(dut, 3)
    b.kinds = list(WAITS)
    await b.start()
    while not b.told:
        await b.step(1, come=False)
    assert not dut.m_ahead_valid.value
    await b.step(0, come=False)
    assert dut.m_ahead_valid.value
    while b.told or b.tap:
        await b.step(0, come=False)
    while not b.let:
        await b.step(0)
    n, gone = 1, b.gone
    while b.gone == gone:
        await b.step(0, come=False)
        n += 1
    assert n - 1 == 3
    while b.cmds or b.tap:
        await b.step(0)
    dut.s_completion_valid.value, dut.m_completion_ready.value = 1, 1
    dut.s_completion.value = COMPLETION.pack(slot=5, status={"sc": 2})  # a Compare's: it waits for nothing
    dut.s_cmd_valid.value, dut.s_cmd.value = 0, 0
    await FallingEdge(dut.clk)
    dut.s_completion_valid.value = 0
    n = 1
    while not dut.m_completion_valid.value:
        assert dut.busy.value
        await FallingEdge(dut.clk)
        n += 1
    assert n == 3 and COMPLETION.unpack(int(dut.m_completion.value))["slot"] == 5


@cocotb.test()
async def what_passes_waits_for_its_engine(dut: Any) -> None:
    """Once, however long that takes, and nothing comes before it."""
    b = Bench(dut, 5)
    await b.start()
    cmd = {"desc": DESC["dsm"], "slot": 3, "bytes": 80}
    for wait in (0, 1, 7):
        assert dut.s_cmd_ready.value == 3 and not dut.busy.value
        dut.s_cmd_valid.value = 2
        dut.s_cmd.value = CMD.pack(**cmd)
        await FallingEdge(dut.clk)
        dut.s_cmd_valid.value = 0
        dut.s_cmd.value = 0
        dut.m_cmd_ready.value = 1
        for _ in range(wait):
            await FallingEdge(dut.clk)
            assert dut.m_cmd_valid.value == 2 and dut.s_cmd_ready.value == 0 and dut.busy.value
        dut.m_cmd_ready.value = 3
        await RisingEdge(dut.clk)
        assert dut.m_cmd_valid.value == 2 and int(dut.m_cmd.value) == CMD.pack(**cmd)
        await FallingEdge(dut.clk)
        for _ in range(5):
            assert dut.m_cmd_valid.value == 0
            await FallingEdge(dut.clk)


@cocotb.test()
async def an_engine_without_room_gives_its_ranges(dut: Any) -> None:
    """While a command waits for the write engine, which has no more room: else neither would ever go on."""
    b = Bench(dut, 6)
    await b.start()

    async def come(slot: int) -> None:
        dut.s_cmd_valid.value = 2
        dut.s_cmd.value = CMD.pack(desc=DESC["dsm"], slot=slot, bytes=16)
        await FallingEdge(dut.clk)
        dut.s_cmd_valid.value = 0
        await FallingEdge(dut.clk)

    async def give(slot: int, addr: int) -> None:
        dut.s_media_valid.value = 1
        dut.s_media.value = MEDIA_CMD.pack(op=ZERO, addr=addr, bytes=512)
        dut.s_media_slot.value = slot
        for _ in range(10):
            await RisingEdge(dut.clk)
            taken = bool(dut.s_media_ready.value)
            await FallingEdge(dut.clk)
            if taken:
                break
        else:
            raise AssertionError("a range is not taken")
        dut.s_media_valid.value = 0
        assert dut.m_media_done.value

    async def told(slot: int, addr: int) -> None:
        dut.s_completion_valid.value = 1
        dut.s_completion.value = COMPLETION.pack(slot=slot)
        dut.m_ahead_ready.value = 1
        await FallingEdge(dut.clk)
        dut.s_completion_valid.value = 0
        for _ in range(20):
            await RisingEdge(dut.clk)
            if dut.m_ahead_valid.value:
                break
            await FallingEdge(dut.clk)
        ask = AHEAD.unpack(int(dut.m_ahead.value))
        assert (ask["slot"], ask["addr"], ask["bytes"]) == (slot, addr, 512)
        await FallingEdge(dut.clk)

    await come(2)
    dut.m_cmd_ready.value = 1
    await come(3)
    assert dut.m_cmd_valid.value == 2
    await give(2, 0x1000)
    await told(2, 0x1000)
    dut.m_cmd_ready.value = 3
    await FallingEdge(dut.clk)
    await give(3, 0x2000)
    await told(3, 0x2000)


@cocotb.test()
async def each_piece_has_its_packet(dut: Any) -> None:
    """Operators are told once that a Dataset Management in pieces begins, and of each piece that a packet comes."""
    b = Bench(dut, 4)
    await b.start()
    for later in (0, 1):
        dut.s_cmd_valid.value = 2
        dut.s_cmd.value = CMD.pack(desc=DESC["dsm"], slot=3, bytes=80)
        dut.s_piece.value = PIECE.pack(later=later, more=1 - later)
        dut.s_tap_cmd.value = TAP.pack(write=1, ctx={"desc": DESC["dsm"]})
        dut.s_tap_begin.value = 1 - later
        await FallingEdge(dut.clk)
        for name in ("s_cmd_valid", "s_piece", "s_tap_cmd", "s_tap_begin"):
            getattr(dut, name).value = 0
        assert TAP.unpack(int(dut.m_tap_cmd.value))["write"] == 1, later
        assert int(dut.m_tap_begin.value) == 1 - later
        await FallingEdge(dut.clk)
        assert TAP.unpack(int(dut.m_tap_cmd.value))["write"] == 0


def test_db_ssd_ahead() -> None:
    bench.run(__file__, "db_ssd_ahead", {"NUM_CMDS": SLOTS})
