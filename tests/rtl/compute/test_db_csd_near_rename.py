# SPDX-License-Identifier: Apache-2.0
"""db_csd_near_rename: each command gets slots that have its operators and hold its program, and none loses its slot."""

from __future__ import annotations

import os
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from doorbell.nvme.vendor import NearOperator
from rtl_bench import rare
from streams import start
from structs import layout

SLOTS = int(os.environ.get("SLOTS", "4"))
WORDS_LOG2 = 6
PACKET, OWNER, PARAM = layout("db_ssd_near_pkg", "near_packet_t"), *(
    layout("db_csd_near_pkg", f"near_{n}_t") for n in ("owner", "param")
)  # fmt: skip
CHAIN = layout("db_csd_near_pkg", "near_chain_t")
GREP, AGGREGATE, FILTER = (int(o) for o in (NearOperator.GREP, NearOperator.AGGREGATE, NearOperator.FILTER))
CRYPT, CSV = int(NearOperator.CRYPT), int(NearOperator.CSV)
Owner = tuple[int, int]  # place, number


def program(rng: random.Random, *operators: int) -> list[int]:
    """Each operator's head, and up to 20 words; all of a program are in the memory."""
    out: list[int] = []
    most = min(20, (1 << WORDS_LOG2) // len(operators) - 1)
    for n, operator in enumerate(operators):
        count = rng.randint(1, most)
        more = n + 1 < len(operators)
        out += [operator | more << 4 | count << 8, *(rng.getrandbits(32) for _ in range(count))]
    return out


def stages(words: list[int]) -> list[tuple[int, list[int]]]:
    """Operators of a program, each with its words."""
    out, at = [], 0
    while True:
        count = words[at] >> 8 & 255
        out.append((words[at] & 15, words[at + 1 : at + 1 + count]))
        if not words[at] >> 4 & 1:
            return out
        at += 1 + count


@dataclass
class Slot:
    """What a slot has been told, and which commands are inside."""

    words: dict[int, int] = field(default_factory=dict)
    inside: int = 0


class Bench:
    def __init__(self, dut: Any, seed: int, operators: list[int]) -> None:
        self.dut, self.rng, self.operators = dut, random.Random(seed), operators
        self.programs: dict[Owner, list[int]] = {}
        self.before: dict[Owner, list[int]] = {}  # programs that were there until lately
        self.slots = [Slot() for _ in operators]
        self.queue: deque[tuple[int, Owner]] = deque()  # slot number, whose program; (-1, ...): a Read
        self.out: deque[tuple[int, list[int]]] = deque()  # that are out: when done, slots in the order of their rows
        self.cycle = 0
        self.given: list[tuple[int, int, list[int]]] = []  # command, slots as bits, and in order; none: one is absent
        self.sent = 0
        self.latency: list[int] = []
        self.began = 0
        self.missed = 0
        self.allowed = (1 << SLOTS) - 1
        self.moving = False  # shares change under commands: which one counts for each is not looked at
        self.off = 0
        self.stay = (0, 60)
        self._address: tuple[Owner, int] | None = None

    async def step(self) -> None:
        d, rng = self.dut, self.rng
        await RisingEdge(d.clk)
        self.cycle += 1
        valid = int(d.m_param_valid.value)
        if valid:
            param = PARAM.unpack(int(d.m_param.value))
            for s in range(SLOTS):
                if valid >> s & 1:
                    assert self.slots[s].inside == 0, "a word for a slot in which a command is"
                    assert not self.off >> s & 1 or self.settling, "for one that is off"
                    self.slots[s].words[param["addr"]] = param["data"]
        for operator in range(16):
            self.missed |= int(d.m_missed.value) & 1 << operator
        if d.s_packet_valid.value == 1 and d.s_packet_ready.value == 1:
            self.queue.popleft()
            self.began = self.cycle
        if d.m_packet_valid.value == 1 and d.m_packet_ready.value == 1:
            self.take()
        # the memory of programs: the word is there a cycle after its address
        owner = OWNER.unpack(int(d.owner.value))
        addr = int(d.addr.value)
        words = self.programs.get((owner["place"], owner["number"]), [0])
        d.word.value = words[addr] if addr < len(words) else rng.getrandbits(32)
        done = 0
        for entry in list(self.out):
            if entry[0] <= self.cycle and not any(done >> s & 1 for s in entry[1]):
                self.out.remove(entry)
                for s in entry[1]:
                    self.slots[s].inside -= 1
                    done |= 1 << s
        d.s_done.value = done
        route = int(d.route.value)
        for _, slots in self.out:
            ways = dict(zip(slots, [1 << s for s in slots[1:]] + [0], strict=True))
            for s in range(SLOTS):
                to = route >> SLOTS * s & (1 << SLOTS) - 1
                if s in ways:
                    assert to == ways[s], f"{slots} of a command, and rows of {s} to {to:b}"
                else:
                    assert not any(to >> t & 1 for t in slots), f"{slots} of a command, and rows of {s} to {to:b}"
        d.s_packet_valid.value = int(bool(self.queue))
        if self.queue:
            number, (place, which) = self.queue[0]
            args = {"number": which}
            d.s_packet.value = PACKET.pack(computes=int(number >= 0), slot=max(number, 0), place=place, args=args)
        d.m_packet_ready.value = int(rng.random() < self.ready)
        d.written.value = 0
        d.operators.value = sum(o << 4 * s for s, o in enumerate(self.operators))
        d.allowed.value, d.off.value = self.allowed, self.off

    ready = 1.0
    settling = True

    def take(self) -> None:
        """A packet leaves: its slots must be what its program needs."""
        d = self.dut
        packet, chain = PACKET.unpack(int(d.m_packet.value)), CHAIN.unpack(int(d.m_chain.value))
        self.sent += 1
        if not packet["computes"]:
            return
        self.latency.append(self.cycle - self.began)
        args = packet["args"]
        owner = (packet["place"], args["number"])
        all_fits = [self.check(p, chain) for p in (self.programs.get(owner, [0]), self.before.get(owner, [0]))]
        fits = [f for f in all_fits if f is not None]
        assert fits, f"command {packet['slot']}: {chain}"
        self.given.append((packet["slot"], chain["slots"], fits[0]))
        for s in fits[0]:
            self.slots[s].inside += 1
        if fits[0]:
            # in their order, as results are
            after = max([entry[0] for entry in self.out], default=self.cycle)
            self.out.append((max(self.cycle + self.rng.randint(*self.stay), after), fits[0]))

    def check(self, words: list[int], chain: dict[str, int]) -> list[int] | None:
        """Slots of a program's operators, in their order: none of what is no program or a Crypt, or if one is absent.
        None: the chain is not the program's."""
        of = stages(words)
        if of[0][0] in (0, CRYPT):
            right = bool(chain["none"]) == (of[0][0] == 0) and chain["first"] == chain["last"] == chain["slots"] == 0
            return [] if right else None
        if chain["none"]:
            return None
        have = [o for s, o in enumerate(self.operators) if self.allowed >> s & 1]
        suffices = all(have.count(o) >= sum(o == other for other, _ in of) for o, _ in of)
        if chain["absent"]:
            return [] if self.moving or not suffices else None
        slots, bits = [], chain["first"]
        for operator, wanted in of:
            if bits.bit_count() != 1 or bits >> SLOTS:
                return None
            s = bits.bit_length() - 1
            told = [self.slots[s].words.get(n + 1) for n in range(len(wanted))]
            if self.operators[s] != operator or told != wanted or not (self.moving or self.allowed >> s & 1):
                return None
            slots.append(s)
            bits = int(self.dut.route.value) >> SLOTS * s & (1 << SLOTS) - 1
        whole = bits == 0 and 1 << slots[-1] == chain["last"] and sum(1 << s for s in set(slots)) == chain["slots"]
        return slots if whole and len(set(slots)) == len(slots) else None

    async def send(self, commands: list[tuple[int, Owner]], cycles: int = 20_000) -> None:
        until = self.sent + len(commands)
        self.queue.extend(commands)
        for _ in range(cycles):
            if self.sent == until:
                return
            await self.step()
        raise AssertionError("a command waits for ever")


async def begin(dut: Any, seed: int, operators: list[int]) -> Bench:
    b = Bench(dut, seed, operators)
    await start(
        dut, s_packet_valid=0, m_packet_ready=0, operators=sum(o << 4 * s for s, o in enumerate(operators)), off=0,
        allowed=(1 << SLOTS) - 1, s_done=0, wanted=0, word=0, written=0, written_owner=0,
    )  # fmt: skip
    return b


def some_operators(rng: random.Random) -> list[int]:
    return [rng.choice((GREP, AGGREGATE, FILTER, CSV)) for _ in range(SLOTS)]


@cocotb.test()
async def random_commands(dut: Any) -> None:
    """Programs of many owners, chains, Reads between; what has no slot goes on without one."""
    for seed in range(6):
        rng = random.Random(seed)
        b = await begin(dut, seed, some_operators(rng))
        b.ready = rng.choice((1.0, 0.3))
        b.stay = rng.choice(((0, 5), (0, 60), (20, 200)))
        owners = [(place, number) for place in range(3) for number in range(4)]
        for owner in owners:
            before = rng.choices((GREP, FILTER), k=rng.choice((0, 0, 1, 1, 2, 3, SLOTS - 1)))
            operators = [*before, rng.choice((GREP, AGGREGATE, FILTER, CSV))]
            b.programs[owner] = program(rng, *(operators if rng.random() < 0.85 else [rng.choice((CRYPT, 0))]))
        few = rng.sample(owners, 3)
        commands = [
            (-1, owners[0]) if rng.random() < 0.2 else (i, rng.choice(few if rng.random() < 0.6 else owners))
            for i in range(250)
        ]
        await b.send(commands)
        assert [g[0] for g in b.given] == [n for n, _ in commands if n >= 0], "in their order"


@cocotb.test()
async def programs_that_are_written(dut: Any) -> None:
    """At any moment: a command has the one before or the one after, whole."""
    for seed in range(6):
        rng = random.Random(100 + seed)
        b = await begin(dut, seed, [GREP, FILTER, AGGREGATE, GREP, FILTER, GREP, GREP][:SLOTS])
        b.stay = (0, 30)
        owners = [(0, 0), (0, 1), (1, 0)]
        for owner in owners:
            b.programs[owner] = program(rng, FILTER, GREP)
        for turn in range(120):
            b.queue.extend(((turn * 4 + i) % 256, rng.choice(owners)) for i in range(rng.randint(1, 4)))
            for _ in range(rng.randint(1, 80)):
                await b.step()
            owner = rng.choice(owners)
            # as the firmware does: there is none while its words change
            for words in ([0], program(rng, *rng.choice(((GREP,), (FILTER,), (FILTER, GREP), (GREP, FILTER, GREP))))):
                b.before[owner] = b.programs[owner]
                b.programs[owner] = words
                b.dut.written.value = 1
                b.dut.written_owner.value = OWNER.pack(place=owner[0], number=owner[1])
                await b.step()
                for _ in range(12):
                    await b.step()
        await b.send([])
        while b.queue:
            await b.step()


@cocotb.test()
async def shares(dut: Any) -> None:
    """A function's slots change: the next commands have slots of these alone, or none."""
    rng = random.Random(3)
    b = await begin(dut, 3, [GREP] * SLOTS)
    b.programs = {(0, n): program(rng, GREP) for n in range(4)}
    for _ in range(60):
        b.allowed = rng.randrange(1 << SLOTS)
        for _ in range(3):
            await b.step()
        before = len(b.given)
        await b.send([(n, (0, rng.randrange(4))) for n in range(4)])
        for _, slots, _ in b.given[before:]:
            assert slots & ~b.allowed == 0 and bool(slots) == bool(b.allowed)
        b.missed = 0


@cocotb.test()
async def shares_under_chains(dut: Any) -> None:
    """They change while a chain's commands are inside: no slot gets rows of two."""
    rng = random.Random(4)
    b = await begin(dut, 4, [(FILTER, GREP)[s % 2] for s in range(SLOTS)])
    b.stay, b.moving = (50, 150), True
    b.programs = {(0, n): program(rng, FILTER, GREP) for n in range(2)}
    for _ in range(150):
        b.queue.extend((0, (0, rng.randrange(2))) for _ in range(2))
        b.allowed = rng.randrange(1 << SLOTS)
        for _ in range(rng.randint(20, 80)):
            await b.step()
    b.allowed = (1 << SLOTS) - 1
    while b.queue:
        await b.step()


@cocotb.test()
async def time(dut: Any) -> None:
    """Cycles until a slot is known: with the program loaded, and a Read."""
    b = await begin(dut, 5, [GREP, FILTER, AGGREGATE, GREP, GREP, GREP, GREP][:SLOTS])
    b.stay = (0, 0)
    b.programs = {
        (0, 0): program(b.rng, GREP),
        (0, 1): program(b.rng, FILTER, GREP),
        (0, 2): program(b.rng, FILTER, GREP, AGGREGATE),
    }
    for owner, cycles in (((0, 0), 6), ((0, 1), 9), ((0, 2), 12))[:SLOTS]:
        await b.send([(0, owner)])
        for _ in range(20):
            await b.step()
        b.latency.clear()
        await b.send([(0, owner)])
        assert b.latency == [cycles]
        for _ in range(20):
            await b.step()


@pytest.mark.parametrize("slots", [4, rare(2), 7])
def test_rename(slots: int) -> None:
    bench.run(
        __file__, "db_csd_near_rename", {"SLOTS": slots, "WORDS_LOG2": WORDS_LOG2}, env={"SLOTS": str(slots)}
    )  # fmt: skip
