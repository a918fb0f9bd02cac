# SPDX-License-Identifier: Apache-2.0
"""db_ssd_copy: a Memory Copy's ranges come to decode one after the other, each once, in the slot of their command,
with where its data go and whether its length is right. However many wait, nobody waits for this block.

The model says what docs/csd/programs.md does: sources one behind the other, from the destination on, as long
together as the command says.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.triggers import RisingEdge, Timer
from streams import start
from structs import layout

NUM_CMDS, SIZE_LOG2 = 16, 16
SIZE = 1 << SIZE_LOG2
BASE = (1 << 64) - SIZE
CMD, AGAIN = layout("db_ssd_pkg", "cmd_t"), layout("db_ssd_near_pkg", "near_again_t")
ARGS, RANGE = layout("db_ssd_near_pkg", "copy_args_t"), layout("db_ssd_near_pkg", "copy_range_t")
FETCHED, SQE = layout("db_ssd_pkg", "fetched_sqe_t"), layout("db_nvme_pkg", "sqe_t")
ENTRY = layout("db_ssd_near_pkg", "part_t")
LATENCY, PERIOD = 6, 8
READ = 0x02
M64 = (1 << 64) - 1


@dataclass
class Copy:
    slot: int
    owner: dict[str, int]
    memory: bool
    to: int
    length: int
    ranges: list[tuple[int, int, int]]  # NSID, start, amount
    lba4k: bool
    done: int = 0
    moved: int = 0
    cycles: list[int] = field(default_factory=list)

    def bytes_of(self, amount: int, lba4k: bool) -> int:
        return amount if self.memory else ((amount & 0xFFFF) + 1) << (12 if lba4k else 9)

    def expect(self) -> tuple[dict[str, int], dict[str, int]]:
        """The entry that is next, and what is beside it."""
        nsid, start, amount = self.ranges[self.done]
        more = self.done + 1 < len(self.ranges)
        left = self.length - self.moved & 0xFFFFFFFF
        sizes = [self.bytes_of(amount, lba4k) for lba4k in (False, True)]
        bad = [size >= left if more else size != left for size in sizes]
        over = self.memory and start < self.to + self.length and self.to < start + amount
        sqe = {
            "opc": READ, "psdt": 1, "cid": self.owner["cid"], "nsid": nsid, "prp1": BASE + self.to + self.moved & M64,
            "prp2": left & 0xFFFFFFFF, "cdw10": start & 0xFFFFFFFF, "cdw11": start >> 32,
            "cdw12": amount if self.memory else amount & 0xFFFF,
        }  # fmt: skip
        beside = {
            "valid": 1,
            "slot": self.slot,
            "more": int(more),
            "memory": int(self.memory),
            "bad": bad[0] + 2 * bad[1],
        }
        return sqe, beside | ({"overlaps": int(over)} if start < SIZE else {})


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.inside: dict[int, Copy] = {}
        self.again: deque[Copy] = deque()  # to come again
        self.waits: deque[Copy] = deque()  # have come again
        self.lists: deque[dict[str, int]] = deque()
        self.passed: Copy | None = None  # decode has its entry
        self.gap, self.cycle, self.entries, self.told = 0, 0, 0, -1
        self.ready = self.again_rate = 1.0
        self.taken: list[int] = []
        self.begun = 0

    async def start(self) -> None:
        await start(
            self.dut, s_cmd_valid=0, s_cmd=0, s_range=0, s_again_valid=0, s_again=0, m_sqe_ready=0, s_passed=0,
            s_passed_bytes=0,
        )  # fmt: skip

    def make(self, good: bool = False) -> Copy:
        r = self.rng
        memory, lba4k, count = r.random() < 0.5, r.random() < 0.3, r.randint(1, 4)
        amounts = [
            4 * r.randint(1, 500) if memory else r.getrandbits(32 if r.random() < 0.1 else 3) for _ in range(count)
        ]
        starts = [4 * r.randrange(SIZE // 4) if memory and r.random() < 0.9 else r.getrandbits(64) for _ in amounts]
        owner = {"fn": r.getrandbits(8), "sqid": r.getrandbits(8), "cid": r.getrandbits(16), "nsid": r.getrandbits(32)}
        slot = r.choice([s for s in range(NUM_CMDS) if s not in self.inside])
        copy = Copy(slot, owner, memory, 4 * r.randrange(SIZE // 4), 0,
                    [(r.getrandbits(32), s, a) for s, a in zip(starts, amounts, strict=True)], lba4k)  # fmt: skip
        total = sum(copy.bytes_of(a, lba4k) for a in amounts) & 0xFFFFFFFF
        copy.length = (
            total if good or r.random() < 0.7 else r.choice((4, total + 4, max(total - 4, 4), 4 * r.randint(1, 3000)))
        )
        copy.to = min(copy.to, max(SIZE - copy.length, 0) & ~3)
        return copy

    async def begin(self, copy: Copy) -> None:
        """Its command, then its list, in any number of cycles; then it comes again."""
        d = self.dut
        args = ARGS.pack(memory=int(copy.memory), last=len(copy.ranges) - 1, length=copy.length)
        d.s_cmd.value = CMD.pack(
            slot=copy.slot, media_addr=BASE + copy.to, ns_blocks=args, bytes=self.rng.getrandbits(32)
        )
        d.s_cmd_valid.value = 1
        self.told = self.cycle + 1
        await self.step(begins=True)
        d.s_cmd_valid.value = 0
        await Timer(1, "ns")
        assert d.m_moves.value and int(d.m_moves_bytes.value) == min(copy.length, (1 << 22) - 1)
        self.inside[copy.slot] = copy
        for i, (nsid, first, amount) in enumerate(copy.ranges):
            d.s_range.value = RANGE.pack(valid=1, slot=copy.slot, index=i, nsid=nsid, start=first, amount=amount)
            await self.step()
            d.s_range.value = 0
        self.again.append(copy)

    async def step(self, begins: bool = False) -> None:
        d, r = self.dut, self.rng
        ready = int(r.random() < self.ready)
        d.m_sqe_ready.value = ready
        offered = bool(self.again) and r.random() < self.again_rate
        d.s_again_valid.value = int(offered)
        if offered:
            copy = self.again.popleft()
            d.s_again.value = AGAIN.pack({**copy.owner, "copies": 1, "slot": copy.slot})
            self.waits.append(copy)
        # Decode has an entry for two cycles, or more; no command goes to an engine in the cycle of its context.
        d.s_passed.value = 0
        if self.passed and not begins and self.gap == 0:
            copy = self.passed
            _, _, amount = copy.ranges[copy.done]
            size = copy.bytes_of(amount, copy.lba4k) & 0xFFFFFFFF
            d.s_passed.value, d.s_passed_bytes.value = 1, size
            refused = self.refused(copy)
            copy.done, copy.moved = copy.done + 1, copy.moved + size
            self.passed = None
            if refused or copy.done == len(copy.ranges):
                del self.inside[copy.slot]
            else:
                self.again.append(copy)
        self.gap = max(self.gap - 1, 0)
        await Timer(1, "ns")
        assert not d.m_moves.value or self.cycle == self.told, "counted twice"
        await RisingEdge(d.clk)
        self.cycle += 1
        assert d.s_again_ready.value
        if offered and len(self.waits) == 1:
            self.begun = self.cycle
        if d.m_sqe_valid.value and ready:
            copy = self.waits.popleft()
            sqe, beside = copy.expect()
            got, told = FETCHED.unpack(int(d.m_sqe.value)), ENTRY.unpack(int(d.m_part.value))
            assert (got["fn"], got["sqid"], got["err"]) == (copy.owner["fn"], copy.owner["sqid"], 0)
            assert SQE.pack(got["sqe"]) == SQE.pack(sqe), f"{got['sqe']}, not {sqe}"
            assert {name: told[name] for name in beside} == beside
            assert int(d.m_slot.value) == copy.slot
            self.passed, self.gap = copy, r.choice((1, 1, 2, 5))
            self.entries += 1
            self.taken.append(self.cycle)
        assert d.m_sqe_valid.value or not d.m_part.value & 1 << ENTRY["valid"].offset

    @staticmethod
    def refused(copy: Copy) -> bool:
        _, beside = copy.expect()
        return bool(beside["bad"] >> int(copy.lba4k) & 1 or beside.get("overlaps"))

    async def drain(self) -> None:
        limit = self.cycle + 4000
        while self.inside:
            assert self.cycle < limit, f"hangs: {self.inside}"
            await self.step()
        for _ in range(4):
            await self.step()
        assert not self.dut.busy.value and not self.dut.m_sqe_valid.value


@cocotb.test()
async def random_copies(dut: Any) -> None:
    for seed, rate in ((1, 1.0), (2, 0.3), (3, 0.7)):
        b = Bench(dut, seed)
        await b.start()
        for _ in range(150):
            b.ready = b.again_rate = b.rng.choice((rate, 1.0))
            if len(b.inside) < NUM_CMDS:
                await b.begin(b.make())
            for _ in range(b.rng.choice((0, 0, 5, 40))):
                await b.step()
        await b.drain()
        assert b.entries > 200


@cocotb.test()
async def latency_and_rate(dut: Any) -> None:
    b = Bench(dut, 4)
    await b.start()
    b.again_rate = 0.0
    for _ in range(NUM_CMDS):
        await b.begin(b.make(good=True))
    b.again_rate = 1.0
    b.rng.choice = lambda options: options[0]  # type: ignore[method-assign]
    first = b.cycle + 1
    await b.drain()
    assert b.taken[0] - first == LATENCY
    assert {y - x for x, y in zip(b.taken, b.taken[1:])} == {PERIOD}


@cocotb.test()
async def all_at_once_and_decode_takes_none(dut: Any) -> None:
    """Each slot's command comes again in one cycle after another: all are taken, and a reset forgets them."""
    b = Bench(dut, 5)
    await b.start()
    b.ready = 0.0
    for _ in range(NUM_CMDS):
        await b.begin(b.make())
    for _ in range(40):
        await b.step()
    assert not b.again and len(b.waits) == NUM_CMDS and dut.busy.value
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    for _ in range(20):
        await RisingEdge(dut.clk)
        assert not dut.m_sqe_valid.value and not dut.busy.value
    b = Bench(dut, 6)
    await b.start()
    await b.begin(b.make(good=True))
    await b.drain()


def test_db_ssd_copy() -> None:
    bench.run(__file__, "db_ssd_copy", {"NUM_CMDS": NUM_CMDS, "SIZE_LOG2": SIZE_LOG2})
