# SPDX-License-Identifier: Apache-2.0
"""db_virt_zero: rounds of stretches that hosts want zeroed, many at once, whoever is slow, away or aborted."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.triggers import FallingEdge, RisingEdge
from rtl_bench import rounds
from streams import start
from structs import layout
from virt_media_ssds import AHEAD, GRANULE, GRANULE_LOG2, KIND, NUM, Extent, looked_up, shuffled, ssd_states, usual

ALONE = layout("db_virt_pkg", "alone_t")
ALL = (1 << NUM) - 1
SLOTS = 16


@dataclass
class Round:
    """What one is to be: m_begin_*, and the Write Zeroes behind it."""

    err: int
    more: int
    flush: int
    puts: list[tuple[int, int, int]]  # SSD, block, blocks


@dataclass
class Job:
    addr: int
    size: int
    fua: bool
    at: int = 0  # bytes that have been zeroed, or passed
    ssds: int = 0
    left: int = 0  # Write Zeroes that are to come


class Bench:
    """Map, lanes and tally around it, which take things in `rate` of the cycles."""

    def __init__(self, dut: Any, seed: int, rate: float = 1.0) -> None:
        self.dut, self.rng, self.rate = dut, random.Random(seed), rate
        self.table: list[Extent | None] = usual()
        self.shift = [9] * NUM
        self.present = self.up = ALL
        self.aborted: set[int] = set()
        self.queue: deque[int] = deque()
        self.jobs: dict[int, Job] = {}
        self.again: list[int] = []  # rounds that are over
        self.puts: list[tuple[int, tuple[int, int, int]]] = []  # slot, and what is to come
        self.rounds = 0
        self.looked: int | None = None
        self.inside: set[int] = set()

    def yes(self) -> bool:
        return self.rng.random() < self.rate

    def on_way(self, ssd: int) -> bool:
        return bool(self.present >> ssd & 1 and not self.up >> ssd & 1)

    def wanted(self, slot: int) -> Round | None:
        """The next one of this slot; None: it waits for an SSD."""
        job, err, waits, puts = self.jobs[slot], False, False, []
        first = job.addr + job.at
        g, end = first // GRANULE, job.addr + job.size
        extent = self.table[g] if g < len(self.table) else None
        runs = extent.runs(first - g * GRANULE, min(GRANULE, end - g * GRANULE)) if extent else {}
        for ssd, (byte, count) in sorted(runs.items()):
            block = 1 << self.shift[ssd]
            if not self.present >> ssd & 1:
                err = True
            elif self.on_way(ssd):
                waits = True
            elif byte % block or count % block:
                err = True
            puts.append((ssd, byte // block, count // block))
        err = err or extent is None
        fails = err or slot in self.aborted
        if waits and not fails:
            return None
        last = end <= (g + 1) * GRANULE
        asked = job.ssds | sum(1 << ssd for ssd, _, _ in puts)
        flush = asked if last and job.fua and not fails else 0
        return Round(int(err), int(not fails and not last), flush, [] if fails else puts)

    async def step(self) -> None:
        d, rng = self.dut, self.rng
        ready = {name: self.yes() for name in ("s_look_ready", "m_begin_ready", "m_put_ready")}
        for name, value in ready.items():
            getattr(d, name).value = int(value)
        d.ssd.value = ssd_states(self.present, self.up, 0, self.shift, rng.randrange(16))
        d.s_extent.value = looked_up(self.table, self.looked, rng)
        again = self.again.pop(rng.randrange(len(self.again))) if self.again and self.yes() else None
        d.s_again_valid.value = int(again is not None)
        d.s_again_slot.value = again or 0
        offers = bool(self.queue)
        d.s_zero_valid.value = int(offers)
        if offers:
            job = self.jobs[self.queue[0]]
            d.s_zero.value = AHEAD.pack(
                slot=self.queue[0], kind=KIND["AHEAD_ZERO"], fua=int(job.fua), addr=job.addr, bytes=job.size
            )
        await FallingEdge(d.clk)
        d.s_aborted.value = int(int(d.m_ask_slot.value) in self.aborted)
        await RisingEdge(d.clk)
        if offers and d.s_zero_ready.value:
            self.inside.add(self.queue.popleft())
        self.looked = int(d.m_look.value) if d.m_look_valid.value and ready["s_look_ready"] else None
        if d.m_begin_valid.value and ready["m_begin_ready"]:
            self.began()
        put = int(d.m_put_valid.value)
        assert put.bit_count() <= 1
        if put and ready["m_put_ready"]:
            self.put(put.bit_length() - 1)

    def began(self) -> None:
        d = self.dut
        slot = int(d.m_begin_slot.value)
        assert slot in self.inside and not self.puts and not self.jobs[slot].left
        job, wanted = self.jobs[slot], self.wanted(slot)
        assert wanted is not None, "it was to wait"
        told = tuple(int(getattr(d, f"m_begin_{name}").value) for name in ("err", "more", "flush", "count"))
        assert told == (wanted.err, wanted.more, wanted.flush, len(wanted.puts))
        self.rounds += 1
        self.puts = [(slot, p) for p in wanted.puts]
        job.left = len(wanted.puts)
        job.ssds |= sum(1 << ssd for ssd, _, _ in wanted.puts)
        job.at += GRANULE - (job.addr + job.at) % GRANULE
        if not wanted.more:
            self.inside.remove(slot)
        if not job.left:
            self.over(slot)

    def put(self, ssd: int) -> None:
        slot, wanted = self.puts.pop(0)
        got = ALONE.unpack(int(self.dut.m_put.value))
        assert (got["slot"], got["zero"], ssd, got["lba"], got["blocks"]) == (slot, 1, *wanted)
        self.jobs[slot].left -= 1
        if not self.jobs[slot].left:
            self.over(slot)

    def over(self, slot: int) -> None:
        """A round's Write Zeroes are there; the tally says when they have ended."""
        if slot in self.inside:
            self.again.append(slot)
        else:
            del self.jobs[slot]
            self.aborted.discard(slot)

    def ask(self, addr: int, size: int, fua: bool = False) -> int:
        slot = next(s for s in range(SLOTS) if s not in self.jobs)
        self.jobs[slot] = Job(addr, size, fua)
        self.queue.append(slot)
        return slot

    async def settle(self) -> None:
        for _ in range(100_000):
            if not self.jobs:
                break
            await self.step()
        assert not self.jobs
        for _ in range(20):
            await self.step()
        assert self.dut.idle.value == 1 and self.rounds


async def begin(dut: Any, seed: int, rate: float = 1.0) -> Bench:
    ports = (
        "ssd s_zero_valid s_zero s_look_ready s_extent s_aborted m_begin_ready m_put_ready s_again_valid s_again_slot"
    )
    await start(dut, **dict.fromkeys(ports.split(), 0))
    return Bench(dut, seed, rate)


def stretches(b: Bench, count: int) -> Iterator[tuple[int, int, bool]]:
    for _ in range(count):
        unit = b.rng.choice((512, 512, 4096, GRANULE))
        end = (len(b.table) + 1) * GRANULE // unit
        first = b.rng.randrange(end)
        size = b.rng.choice((1, b.rng.randint(1, end - first), min(end - first, 3 * GRANULE // unit)))
        yield first * unit, size * unit, b.rng.random() < 0.5


@cocotb.test()
async def many_at_once(dut: Any) -> None:
    """Commands of hosts, some aborted; SSDs that are there or not, with large blocks; holes in the map."""
    for seed, rate in ((1, 1.0), (2, 0.5), (3, 0.1)):
        b = await begin(dut, seed, rate)
        for _ in range(rounds(30, 12)):
            b.present = b.rng.choice((ALL, ALL, ALL & ~(1 << b.rng.randrange(NUM))))
            b.up = b.present
            b.shift = [b.rng.choice((9, 9, 12)) for _ in range(NUM)]
            b.table = [None if b.rng.random() < 0.1 else e for e in b.rng.choice((usual(), shuffled(b.rng)))]
            for stretch in stretches(b, b.rng.randint(1, SLOTS)):
                slot = b.ask(*stretch)
                if b.rng.random() < 0.2:
                    b.aborted.add(slot)
            await b.settle()


@cocotb.test()
async def who_is_on_his_way_up_holds_up_his_own(dut: Any) -> None:
    """Commands of other SSDs pass by; an abort ends one that waits, and so does its SSD, when it comes or goes."""
    for seed, how in enumerate(("up", "gone", "aborted")):
        b = await begin(dut, 10 + seed, 0.6)
        b.table = [Extent(g % 3, g // 3) for g in range(3 * NUM)]  # each granule on one SSD
        b.up = ALL & ~2
        waits = [b.ask((3 + n) * GRANULE, GRANULE, n == 0) for n in range(3)]
        others = 0
        for _ in range(2500):
            if len(b.jobs) < len(waits) + 3:
                others += 1
                b.ask(3 * b.rng.choice((0, 2, 3)) * GRANULE, 3 * GRANULE)
            await b.step()
        assert set(waits) <= set(b.jobs) and others > 30
        match how:
            case "up":
                b.up = ALL
            case "gone":
                b.present = ALL & ~2
            case _:
                b.aborted |= set(waits)
        await b.settle()


@cocotb.test()
async def latency(dut: Any) -> None:
    """A round takes 5 cycles and 5 for each SSD."""
    b = await begin(dut, 20)
    b.ask(0, GRANULE)
    cycles = 0
    while b.jobs:
        await b.step()
        cycles += 1
    assert cycles == 5 + 5 * NUM


@cocotb.test()
async def a_reset_at_any_time(dut: Any) -> None:
    for cycles in range(1, 90, 6):
        b = await begin(dut, 30 + cycles, 0.5)
        for stretch in stretches(b, 6):
            b.ask(*stretch)
        for _ in range(cycles):
            await b.step()


def test_db_virt_zero() -> None:
    bench.run(
        __file__, "db_virt_zero", {"NUM_SSD": NUM, "GRANULE_LOG2": GRANULE_LOG2, "NUM_CMDS": SLOTS},
        env={"NUM_SSD": str(NUM)},
    )  # fmt: skip
