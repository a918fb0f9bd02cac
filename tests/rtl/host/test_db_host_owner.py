# SPDX-License-Identifier: Apache-2.0
"""db_host_owner alone, against docs/vcsd/hand-over.md: who has the drive, what commands see of it, and that nothing
that happens at a bad moment makes it another's."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from structs import enum, layout

HANDED, FACTS = layout("db_host_pkg", "handed_t"), layout("db_host_pkg", "drive_facts_t")
SETTINGS = layout("db_host_pkg", "settings_t")
OWNERS = {value: name.removeprefix("OWNER_") for name, value in enum("db_host_pkg", "owner_e").items()}
PART_LOG2 = 15
PULSES = ("s_hand_valid", "take_back", "bring_up", "late", "damaged")
CALM, MS = 64, 10
LEAVING_MS = 40  # longer than it takes to be calm


class Bench:
    def __init__(self, dut: Any) -> None:
        self.dut = dut

    async def start(self, left_alone: int) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        for name in (*PULSES, "tick", "s_up", "s_dead", "s_open", "s_shut", "s_drained", "s_quiet", "doorbell_cq"):
            getattr(d, name).value = 0
        d.s_hand.value = 0
        d.s_facts.value = FACTS.pack(sq_size=64, lba_shift=9, max_blocks=32, sgl=1)
        d.settings.value = SETTINGS.pack(nsid=7, shutdown_ms=LEAVING_MS)
        d.link_up.value = 1
        d.left_alone.value = left_alone
        d.rst.value = 1
        await self.cycles(3)
        d.rst.value = 0
        await self.cycles(3)

    async def cycles(self, n: int = 1) -> None:
        for _ in range(n):
            await FallingEdge(self.dut.clk)

    async def pulse(self, name: str) -> None:
        getattr(self.dut, name).value = 1
        await self.cycles()
        getattr(self.dut, name).value = 0

    def get(self, name: str) -> int:
        return int(getattr(self.dut, name).value)

    @property
    def owner(self) -> str:
        return OWNERS[self.get("owner")]

    @property
    def seen(self) -> tuple[int, int, int]:
        return self.get("io_up"), self.get("io_dead"), self.get("io_open")

    async def hand(self, **fields: int) -> None:
        pair = {"sq_doorbell": 0x1008, "cq_doorbell": 0x100C, "nsid": 1, "sq_log2": 6, "lba_shift": 12,
                "transfer_log2": 31}  # fmt: skip
        self.dut.s_hand.value = HANDED.pack(**(pair | fields))
        await self.pulse("s_hand_valid")
        self.dut.s_hand.value = HANDED.pack(**{name: (1 << HANDED[name].width) - 1 for name in pair})
        await self.cycles(12)


UP, CLOSED, DEAD = (1, 0, 1), (1, 0, 0), (0, 1, 0)


@cocotb.test()
async def ours_passes_through(dut: Any) -> None:
    b = Bench(dut)
    await b.start(0)
    rng = random.Random(1)
    for _ in range(50):
        up, dead, opened = (rng.getrandbits(1) for _ in range(3))
        dut.s_up.value, dut.s_dead.value, dut.s_open.value, dut.link_up.value = up, dead, opened, up
        await b.pulse(rng.choice(("s_hand_valid", "bring_up", "late", "damaged", "tick")))
        assert b.seen == (up, dead, opened) and b.get("m_link_up") == up and b.get("open")
        assert b.owner == "CARD" and not b.get("handed") and b.get("nsid") == 7
        facts = FACTS.unpack(b.get("facts"))
        assert facts["max_blocks"] == 32 and facts["sgl"] == 1


@cocotb.test()
async def what_is_handed_over_holds(dut: Any) -> None:
    """From the next pair on; and the facts that fell out of it."""
    b = Bench(dut)
    await b.start(1)
    dut.s_quiet.value = dut.s_drained.value = 1
    assert (b.owner, b.seen, b.get("open"), b.get("m_link_up")) == ("NOBODY", DEAD, 0, 0)
    for shift, transfer, entries in ((9, 12, 2), (12, 12, 8), (9, 31, 5), (12, PART_LOG2, 3), (10, 14, 6)):
        await b.hand(lba_shift=shift, transfer_log2=transfer, sq_log2=entries, nsid=shift * 99)
        assert (b.owner, b.seen, b.get("open"), b.get("m_link_up")) == ("HANDED", UP, 1, 0)
        facts = FACTS.unpack(b.get("facts"))
        assert facts["sq_size"] == 1 << entries and facts["lba_shift"] == shift
        assert facts["max_blocks"] << shift == 1 << min(transfer, PART_LOG2) and b.get("nsid") == shift * 99
        assert facts["sgl"] == 0, "whether it takes SGLs was not handed over"
        assert b.get("doorbell") == 0x1008
        dut.doorbell_cq.value = 1
        await b.cycles()
        assert b.get("doorbell") == 0x100C
        dut.doorbell_cq.value = 0
        await b.pulse("take_back")
        await b.cycles(3 * CALM)
        assert b.owner == "NOBODY"
    await b.pulse("bring_up")
    await b.cycles()
    assert b.owner == "CARD" and b.get("m_link_up") and b.get("nsid") == 7


@cocotb.test()
async def taken_back_in_order(dut: Any) -> None:
    """No new commands; those under way end, or their time does; then all is quiet, and not before is it nobody's."""
    b = Bench(dut)
    await b.start(1)
    for how in ("drained", "time", "late", "damaged", "link"):
        dut.s_quiet.value = dut.s_drained.value = 0
        dut.link_up.value = 1
        await b.hand()
        await b.pulse("take_back")
        await b.cycles(4 * CALM)
        assert (b.owner, b.seen, b.get("open")) == ("LEAVING", CLOSED, 1)
        if how == "drained":
            dut.s_drained.value = 1
            await b.cycles(CALM // 2)
            dut.s_drained.value = 0  # another part of a command
            await b.cycles(CALM)
            assert b.seen == CLOSED
            dut.s_drained.value = 1
            await b.cycles(CALM + 2)
        elif how == "time":
            for k in range(LEAVING_MS):
                assert b.seen == CLOSED, k
                await b.cycles(MS)
                await b.pulse("tick")
            await b.cycles(3)
        elif how == "link":
            dut.link_up.value = 0
            await b.cycles(2)
        else:
            await b.pulse(how)
            await b.cycles(2)
        assert (b.owner, b.seen, b.get("open")) == ("LEAVING", DEAD, 0), how
        await b.hand()
        await b.pulse("bring_up")
        await b.cycles(4 * CALM)
        assert b.owner == "LEAVING", "not quiet yet"
        dut.s_quiet.value = 1
        await b.cycles(CALM // 2)
        assert b.owner == "LEAVING"
        await b.cycles(CALM)
        assert (b.owner, b.seen) == ("NOBODY", DEAD)


@cocotb.test()
async def ours_is_shut_down_first(dut: Any) -> None:
    b = Bench(dut)
    await b.start(0)
    dut.s_up.value = dut.s_open.value = 1
    await b.cycles(2)
    dut.take_back.value = 1
    await b.cycles()
    dut.take_back.value = 0
    assert b.get("m_shutdown") == 1, "one pulse"
    for _ in range(300):
        await b.cycles()
        assert (b.get("m_shutdown"), b.owner, b.get("m_link_up"), b.seen) == (0, "LEAVING", 1, UP), (
            "it is shutting down"
        )
    dut.s_shut.value = 1
    await b.cycles(3)
    assert (b.owner, b.seen, b.get("m_link_up")) == ("LEAVING", DEAD, 0)
    dut.s_quiet.value = 1
    await b.cycles(2 * CALM)
    assert b.owner == "NOBODY"


@cocotb.test()
async def lost_until_taken_back(dut: Any) -> None:
    b = Bench(dut)
    await b.start(1)
    dut.s_quiet.value = 1
    for what in ("late", "damaged", "link"):
        await b.hand()
        if what == "link":
            dut.link_up.value = 0
            await b.cycles(2)
            dut.link_up.value = 1
        else:
            await b.pulse(what)
        await b.cycles(3 * CALM)
        assert (b.owner, b.seen, b.get("open")) == ("LOST", DEAD, 0), what
        await b.hand()
        await b.pulse("bring_up")
        await b.cycles(3 * CALM)
        assert b.owner == "LOST", "only taking it back ends that"
        await b.pulse("take_back")
        await b.cycles(2 * CALM)
        assert b.owner == "NOBODY"
    dut.link_up.value = 0
    await b.hand()
    assert b.owner == "NOBODY", "it is not there"


@cocotb.test()
async def whatever_happens(dut: Any) -> None:
    """Random pulses: each change of owner is one of those that there are, for a reason that there is."""
    b = Bench(dut)
    may = {
        "CARD": {"LEAVING": {"take_back"}}, "LEAVING": {"NOBODY": {""}},
        "NOBODY": {"HANDED": {"s_hand_valid"}, "CARD": {"bring_up"}},
        "HANDED": {"LEAVING": {"take_back"}, "LOST": {"late", "damaged", "link"}}, "LOST": {"LEAVING": {"take_back"}},
    }  # fmt: skip
    await b.start(0)
    rng, was, seen = random.Random(7), b.owner, set()
    dut.s_hand.value = HANDED.pack(
        sq_doorbell=0x1000, cq_doorbell=0x1004, nsid=1, sq_log2=4, lba_shift=9, transfer_log2=12
    )
    recent: list[set[str]] = [set(), set()]
    link = 1
    for _ in range(bench.rounds(200_000, 30_000)):
        happens = {name for name in PULSES if rng.random() < (0.01 if name not in ("late", "damaged") else 0.002)}
        for name in PULSES:
            getattr(dut, name).value = int(name in happens)
        link = int(rng.random() >= 0.002) if link else int(rng.random() < 0.05)
        dut.link_up.value = link
        dut.s_shut.value = int(rng.random() < 0.05)
        dut.s_drained.value = dut.s_quiet.value = int(rng.random() < 0.98)
        dut.tick.value = int(rng.random() < 0.05)
        recent = [recent[1], happens | ({"link"} if not link else set())]
        await b.cycles()
        now = b.owner
        if now != was:
            causes = may[was].get(now)
            assert causes is not None, f"{was} to {now}"
            assert "" in causes or causes & (recent[0] | recent[1]), (was, now, recent)
            seen.add((was, now))
        assert b.get("open") == int(now in ("CARD", "HANDED") or (now == "LEAVING" and not b.get("io_dead")))
        if now in ("NOBODY", "LOST"):
            assert b.seen == DEAD
        was = now
    assert len(seen) == sum(len(to) for to in may.values())


def test_db_host_owner() -> None:
    bench.run(__file__, "db_host_owner", {"PART_LOG2": PART_LOG2})
