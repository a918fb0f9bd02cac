# SPDX-License-Identifier: Apache-2.0
"""db_ssd_abort against a model: which commands an abort ends, that each ends once, and in what order it waits.

The model knows the commands in the slots; commands begin and end while aborts run, at the rates that decode and the
engines have at most: one every other cycle each.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from functions import number
from rtl_bench import rare, run
from structs import layout

CTX = layout("db_ssd_pkg", "slot_ctx_t")
CMD = layout("db_ssd_pkg", "abort_cmd_t")
QUEUES, NAMESPACES, ALL = 4, 3, 0xFFFFFFFF
NUM_FN = int(os.environ.get("NUM_FN", "1"))


@dataclass
class Inside:
    sqid: int
    cid: int
    nsid: int
    fn: int = 0
    void: bool = False  # its host waits for nothing from the start
    aborted: bool = False
    again: int = -1  # the cycle in which its first part ended, its next not yet begun


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.num = len(dut.i_owner.mem_q)
        self.inside: dict[int, Inside] = {}
        self.freed: dict[int, int] = {}  # by slot: the cycle in which its last command ended
        self.cids = 0
        self.began = self.ended = -2  # cycles of the last
        self.cycle = 0
        self.dropped = self.agains = self.moved = 0
        self.decode_free, self.fetch_fenced, self.fenced = 1, 1, 1

    async def start(self) -> None:
        dut = self.dut
        cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
        for name in (
            "s_ctx_valid", "s_ctx_slot", "s_ctx", "s_ctx_void", "s_ctx_again", "s_done_valid", "s_done_slot",
            "s_done_again", "s_slot", "s_start", "s_cmd", "fetch_fenced", "decode_free", "fenced",
        ):  # fmt: skip
            getattr(dut, name).value = 0
        dut.rst.value = 1
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.rst.value = 0
        while dut.busy.value:
            await FallingEdge(dut.clk)

    async def step(self, begins: float = 0.0, ends: float = 0.0) -> None:
        """A cycle in which a command may begin and one may end. Inputs change at the falling edge."""
        dut, rng = self.dut, self.rng
        dut.fetch_fenced.value, dut.fenced.value, dut.decode_free.value = (
            self.fetch_fenced,
            self.fenced,
            self.decode_free,
        )
        dut.s_ctx_valid.value = dut.s_done_valid.value = 0
        starts = None
        free = [s for s in range(self.num) if s not in self.inside and self.cycle >= self.freed.get(s, -9) + 4]
        if self.cycle >= self.began + 2 and rng.random() < begins and free:
            slot = rng.choice(free)
            self.cids += 1
            nsid = rng.choice((*range(1, NAMESPACES + 1), ALL))
            fn = number(rng.randrange(NUM_FN))
            starts = slot, Inside(rng.randint(1, QUEUES), self.cids % 0x10000, nsid, fn)
            starts[1].aborted = starts[1].void = NUM_FN > 1 and rng.random() < 0.05
            dut.s_ctx_valid.value, dut.s_ctx_slot.value = 1, slot
            dut.s_ctx_void.value = int(starts[1].aborted)
            dut.s_ctx.value = CTX.pack(sqid=starts[1].sqid, cid=starts[1].cid, nsid=nsid, fn=fn)
            self.began = self.cycle
        waits = [s for s, c in self.inside.items() if 0 <= c.again <= self.cycle - 3]
        moves = None  # its next part is of another namespace: that counts from now on
        dut.s_ctx_again.value = 0
        if self.cycle >= self.began + 2 and waits and rng.random() < begins:
            slot = rng.choice(waits)
            moves, nsid = self.inside[slot], rng.randint(1, NAMESPACES)
            dut.s_ctx_valid.value, dut.s_ctx_slot.value, dut.s_ctx_again.value, dut.s_ctx_void.value = 1, slot, 1, 0
            dut.s_ctx.value = CTX.pack(sqid=moves.sqid, cid=moves.cid, nsid=nsid, fn=moves.fn)
            self.began = self.cycle
        stops, again = None, False
        # A command ends three cycles after it began, at the earliest.
        old = [s for s, c in self.inside.items() if self.cycle >= getattr(c, "since", 0) + 3 and c.again < 0]
        if self.cycle >= self.ended + 2 and old and rng.random() < ends:
            stops = rng.choice(old)
            dut.s_done_valid.value, dut.s_done_slot.value = 1, stops
            again = not self.inside[stops].aborted and rng.random() < 0.2  # a part of it has ended, it goes on
            dut.s_done_again.value = int(again)
            self.ended = self.cycle
        await cocotb.triggers.Timer(1, "ns")
        if stops is not None:
            command = self.inside[stops]
            assert bool(dut.done_aborted.value) == command.aborted, (stops, command)
            if again:
                command.since = command.again = self.cycle  # type: ignore[attr-defined]
                self.agains += 1
            else:
                del self.inside[stops]
                self.freed[stops] = self.cycle
            self.dropped += command.aborted
        # What is aborted in this cycle is so from the next one on.
        if dut.ends.value:
            slot = int(dut.slot_q.value)
            assert slot != stops and not self.inside[slot].aborted
            self.inside[slot].aborted = True
        if moves is not None:
            moves.nsid, moves.since, moves.again = nsid, self.cycle, -1  # type: ignore[attr-defined]
            self.moved += 1
        if starts is not None:
            starts[1].since = self.cycle  # type: ignore[attr-defined]
            self.inside[starts[0]] = starts[1]
        await FallingEdge(dut.clk)
        self.cycle += 1

    async def check_askers(self) -> None:
        slots = [s for s, c in self.inside.items() if self.cycle >= getattr(c, "since", 0) + 2][:6]
        self.dut.s_slot.value = sum(s << 8 * i for i, s in enumerate(slots))
        await cocotb.triggers.Timer(1, "ns")
        told = int(self.dut.aborted.value)
        assert [bool(told >> i & 1) for i in range(len(slots))] == [self.inside[s].aborted for s in slots]


@cocotb.test()
async def ends_what_it_should_and_that_once(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    rng = b.rng
    for round_ in range(40):
        for _ in range(rng.randrange(4 * b.num)):
            await b.step(0.4, 0.2)
        how = ("queue", "command", "find", "function", "find function")[round_ % (3 if NUM_FN == 1 else 5)]
        sqid = rng.randint(1, QUEUES)
        mine = [c for c in b.inside.values() if c.sqid == sqid and not c.aborted]
        if how == "command" and not mine:
            continue
        victim = rng.choice(mine) if mine else None
        nsid, fn = rng.randint(1, NAMESPACES), number(rng.randrange(NUM_FN))
        keys = {"command": victim.cid if victim else 0, "find": nsid, "function": fn, "find function": fn}
        dut.s_cmd.value = CMD.pack(
            find="find" in how, by_fn="function" in how, by_cid=how == "command", sqid=sqid, key=keys.get(how, 0)
        )
        if how == "function":
            mine = [c for c in b.inside.values() if c.fn == fn and not c.aborted]
        before = [c for c in b.inside.values()]
        already = [c for c in before if c.aborted]
        dut.s_start.value = 1
        await b.step()
        dut.s_start.value = 0
        # Of commands that end or begin meanwhile it may find either.
        load = (0.3, 0.3) if round_ % 2 else (0.0, 0.0)
        while dut.busy.value:
            await b.step(*load)
        still = [c for c in before if c in b.inside.values()]
        if "find" in how:
            there = [c for c in still if (c.nsid in (nsid, ALL) if how == "find" else c.fn == fn)]
            assert bool(dut.found.value) >= bool(there) and not any(c.aborted and c not in already for c in still)
            if load == (0.0, 0.0):
                assert bool(dut.found.value) == bool(there)
        else:

            def ends(c: Inside, how: str = how, sqid: int = sqid, victim: Inside | None = victim, fn: int = fn) -> bool:
                return {"queue": c.sqid == sqid, "command": c is victim, "function": c.fn == fn}[how]

            wanted = [c for c in still if ends(c)]
            assert all(c.aborted for c in wanted), "one was missed"
            assert all(c.aborted == (c in wanted or c in already) for c in still), "one too many"
            for c in b.inside.values():
                if c.aborted and c not in before and not c.void:
                    assert how != "command" and ends(c)
            if load == (0.0, 0.0) and mine:
                assert dut.found.value
        await b.check_askers()
    for _ in range(8 * b.num):
        for c in b.inside.values():
            c.again = -1  # its next part is of the same namespace
        await b.step(0.0, 0.9)
    assert b.moved > b.num // 2 and not b.inside and b.dropped > b.num and b.agains > b.num


@cocotb.test()
async def waits_in_order(dut: Any) -> None:
    """Entries that were asked for pass decode, then the slots are looked at, then what had been sent comes home."""
    b = Bench(dut, 2)
    await b.start()
    while len(b.inside) < min(b.num, 8):
        await b.step(1.0)
    dut.s_cmd.value = CMD.pack(sqid=1)
    b.fetch_fenced = b.fenced = b.decode_free = 0
    dut.s_start.value = 1
    await b.step()
    dut.s_start.value = 0
    assert dut.fetch_fence.value
    for _ in range(3 * b.num):
        await b.step()
        assert not any(c.aborted for c in b.inside.values()) and dut.busy.value
    b.fetch_fenced = 1
    for _ in range(3 * b.num):
        await b.step()
        assert not any(c.aborted for c in b.inside.values()), "decode has not taken the entry yet"
    # The entry that decode has takes its slot now: it is one of those that end.
    free = next(s for s in range(b.num) if s not in b.inside) if len(b.inside) < b.num else None
    b.decode_free = 1
    await b.step()
    if free is not None:
        dut.s_ctx_valid.value, dut.s_ctx_slot.value = 1, free
        dut.s_ctx.value = CTX.pack(sqid=1, cid=0xFFFF, nsid=1)
        late = Inside(1, 0xFFFF, 1)
        late.since = b.cycle  # type: ignore[attr-defined]
        b.inside[free] = late
        await FallingEdge(dut.clk)
        b.cycle += 1
    fences = 0
    for _ in range(3 * b.num + 20):
        await b.step()
        fences += int(dut.fence.value)
        assert dut.busy.value, "what had been sent is not home"
    assert fences == 1 and all(c.aborted == (c.sqid == 1) for c in b.inside.values())
    b.fenced = 1
    for _ in range(3):
        await b.step()
    assert not dut.busy.value


@pytest.mark.parametrize(
    ("num_fn", "num_cmds"),
    [
        rare(1, 2),
        (1, 128),
        rare(1, 256),
        rare(3, 64),
        (17, 256),
    ],
)
def test_db_ssd_abort(num_fn: int, num_cmds: int) -> None:
    values = {"NUM_FN": num_fn, "NUM_CMDS": num_cmds}
    run(__file__, "db_ssd_abort", values, inside=("db_ram_sdp",), env={"NUM_FN": str(num_fn)})
