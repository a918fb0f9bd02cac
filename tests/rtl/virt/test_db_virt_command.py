# SPDX-License-Identifier: Apache-2.0
"""db_virt_command: where a flush and a stretch of zeroes go, and what of them is an error, whoever is slow or fails."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from doorbell.nvme.vendor import MEDIA_FLUSH_SPARED, MEDIA_FLUSH_ZEROED
from rtl_bench import rounds
from streams import start
from virt_media_ssds import BLOCK_CMD, GRANULE, GRANULE_LOG2, NUM, OP, Extent, looked_up, ssd_states, usual

FLUSH, ZERO = 0, 1
ALL = (1 << NUM) - 1
MOST = 16  # commands under way
Command = tuple[int, int, int]
"""SSD, first block, blocks."""


class Bench:
    """SSDs, the card's memory and the map around it; each takes and ends things in `rate` of the cycles."""

    def __init__(self, dut: Any, seed: int, rate: float = 1.0) -> None:
        self.dut, self.rng, self.rate = dut, random.Random(seed), rate
        self.table: list[Extent | None] = usual()
        self.shift = [9] * NUM
        self.present = self.up = ALL
        self.dead = 0
        self.fence = 0
        self.op = FLUSH
        self.fails = 0
        self.card_fails = False
        self.held = False  # no command ends
        self.cycle, self.sent_at = 0, 0
        self.forget()

    def forget(self) -> None:
        self.sent: list[tuple[int, Command]] = []  # operation, and what was asked for
        self.answers: list[int] = []
        self.open = [0] * NUM
        self.zeroed = 0  # SSDs, since the last flush
        self.lost = False  # one of them has been away
        self.cards, self.card_open = 0, False
        self.ready = dict.fromkeys(("s_look_ready", "m_card_ready", "m_cmd_ready"), False)
        self.asked: tuple[int, int, int] | None = None
        self.offered = False

    def yes(self) -> bool:
        return self.rng.random() < self.rate

    async def step(self) -> None:
        await RisingEdge(self.dut.clk)
        d, looked = self.dut, None
        self.cycle += 1
        if self.offered and d.s_cmd_ready.value:
            self.asked = None
        if d.m_look_valid.value and self.ready["s_look_ready"]:
            looked = int(d.m_look.value)
        if d.m_card_valid.value and self.ready["m_card_ready"]:
            self.cards, self.card_open = self.cards + 1, True
        if d.m_cmd_valid.value and self.ready["m_cmd_ready"]:
            c, ssd = BLOCK_CMD.unpack(int(d.m_cmd.value)), int(d.m_cmd_ssd.value)
            self.sent.append((c["op"], (ssd, c["lba"], c["blocks"])))
            self.sent_at = self.cycle
            self.open[ssd] += 1
            assert sum(self.open) <= MOST
        if d.m_rsp_valid.value:
            assert not sum(self.open) and not self.card_open, "it is over before they are"
            self.answers.append(int(d.m_rsp_err.value))
        self.drive(looked)

    def drive(self, looked: int | None) -> None:
        """The next cycle."""
        d, rng = self.dut, self.rng
        for name in self.ready:
            self.ready[name] = self.yes()
            getattr(d, name).value = int(self.ready[name])
        d.ssd.value = ssd_states(self.present, self.up, self.dead, self.shift, rng.randrange(16))
        d.fence.value = self.fence
        d.s_extent.value = looked_up(self.table, looked, rng)
        ends = 0
        for i in range(NUM):
            if self.open[i] and not self.held and self.yes():
                self.open[i] -= 1
                ends |= 1 << i
        self.lost |= bool(self.zeroed & ~self.present)
        if self.op == ZERO:
            self.zeroed |= ends & ~self.fails
        d.s_end_valid.value = ends
        d.s_end_err.value = ends & self.fails | rng.getrandbits(NUM) & ~ends
        card = self.card_open and self.yes()
        self.card_open = self.card_open and not card
        d.s_card_rsp_valid.value = int(card)
        d.s_card_rsp_err.value = int(self.card_fails if card else rng.getrandbits(1))
        self.offered = self.asked is not None
        d.s_cmd_valid.value = int(self.offered)
        if self.asked:
            d.s_op.value, d.s_addr.value, d.s_bytes.value = self.asked

    def wanted(self, op: int, addr: int, size: int) -> tuple[list[tuple[int, Command]], bool]:
        """Commands in any order, and whether there is an error; flushes are told by their SSD alone."""
        flush, zeroes = OP["BLOCK_FLUSH"], OP["BLOCK_ZEROES"]
        if op == FLUSH:
            zeroed, spared = addr & MEDIA_FLUSH_ZEROED, addr & MEDIA_FLUSH_SPARED
            asked = 0 if size else self.zeroed if zeroed else ALL
            there = [(flush, (i, 0, 1)) for i in range(NUM) if (self.present & asked) >> i & 1]
            counts = self.fails & ~spared
            lost = zeroed and not size and self.lost
            return there, bool(self.card_fails or lost or any(counts >> ssd & 1 for _, (ssd, _, _) in there))
        if op != ZERO:
            return [], True
        found, err = [], False
        for g in range(addr // GRANULE, -(-(addr + size) // GRANULE)):
            extent = self.table[g] if g < len(self.table) else None
            if extent is None:
                err = True
                continue
            runs = extent.runs(max(0, addr - g * GRANULE), min(GRANULE, addr + size - g * GRANULE))
            for ssd, (byte, count) in runs.items():
                block = 1 << self.shift[ssd]
                if not self.present >> ssd & 1 or byte % block or count % block:
                    err = True
                else:
                    found.append((zeroes, (ssd, byte // block, count // block)))
                    err |= bool(self.fails >> ssd & 1)
        return found, err

    async def begin(self, op: int, addr: int = 0, size: int = 0) -> None:
        self.sent, self.answers, self.cards = [], [], 0
        self.asked, self.op = (op, addr, size), op
        while self.asked:
            await self.step()

    async def end(self, op: int, addr: int = 0, size: int = 0) -> None:
        for _ in range(200_000):
            if self.answers:
                break
            await self.step()
        commands, err = self.wanted(op, addr, size)
        assert sorted(self.sent) == sorted(commands)
        assert self.answers == [err]
        assert self.cards == (op == FLUSH)
        if (op == FLUSH and not size) or (op == ZERO and err):
            self.zeroed, self.lost = 0, False

    async def run(self, op: int, addr: int = 0, size: int = 0) -> None:
        await self.begin(op, addr, size)
        await self.end(op, addr, size)


async def begin(dut: Any, seed: int, rate: float = 1.0) -> Bench:
    b = Bench(dut, seed, rate)
    ports = "ssd s_cmd_valid s_op s_addr s_bytes s_look_ready s_extent m_card_ready s_card_rsp_valid s_card_rsp_err"
    await start(dut, **dict.fromkeys((*ports.split(), "fence", "m_cmd_ready", "s_end_valid", "s_end_err"), 0))
    return b


def random_state(b: Bench) -> None:
    """Most have nothing wrong."""
    rng = b.rng
    b.fails = rng.choice((0, 0, 1 << rng.randrange(NUM), ALL))
    b.card_fails = rng.random() < 0.2
    b.present = rng.choice((ALL, ALL, ALL & ~(1 << rng.randrange(NUM)), 0))
    b.dead = rng.choice((0, 0, 1 << rng.randrange(NUM)))
    b.up = ALL & ~b.dead
    b.shift = [rng.choice((9, 9, 12)) for _ in range(NUM)]
    b.table = [None if rng.random() < 0.15 else e for e in usual()]
    if rng.random() < 0.5:
        for g in range(0, len(b.table), 3):
            b.table[g] = Extent(rng.randrange(1 << 16), rng.randrange(NUM), 0)


def random_stretch(b: Bench) -> tuple[int, int]:
    rng, unit = b.rng, b.rng.choice((512, 512, 4096, GRANULE))
    end = (len(b.table) + 1) * GRANULE // unit
    first = rng.randrange(end)
    count = rng.choice((1, rng.randint(1, end - first), min(end - first, 3 * GRANULE // unit)))
    return first * unit, count * unit


@cocotb.test()
async def random_commands(dut: Any) -> None:
    for seed, rate in ((1, 1.0), (2, 0.5), (3, 0.1)):
        b = await begin(dut, seed, rate)
        for _ in range(rounds(60, 25)):
            random_state(b)
            op = b.rng.choice((FLUSH, ZERO, ZERO, ZERO, 2, 3))
            spared = b.rng.choice((0, b.rng.getrandbits(NUM)))
            flushes = (spared, 0), (0, 4096), (MEDIA_FLUSH_ZEROED | spared, 0)
            where = b.rng.choice(flushes) if op == FLUSH else random_stretch(b)
            await b.run(op, *where)


@cocotb.test()
async def each_that_fails_is_an_error_of_its_command_alone(dut: Any) -> None:
    """Card memory, and each SSD, in a flush and in zeroes; the next command knows nothing of it."""
    b = await begin(dut, 4, 0.5)
    whole = 0, 2 * GRANULE
    for ssd in range(NUM):
        b.fails = 1 << ssd
        for op, where in ((FLUSH, (0, 0)), (ZERO, whole)):
            await b.run(op, *where)
            assert b.answers == [1]
        b.fails = 0
        await b.run(FLUSH)
        assert b.answers == [0]
    b.card_fails = True
    for size in (0, 4096):
        await b.run(FLUSH, 0, size)
        assert b.answers == [1]
    await b.run(ZERO, *whole)
    assert b.answers == [0], "card memory has no part in it"


@cocotb.test()
async def who_is_on_his_way_up_is_waited_for(dut: Any) -> None:
    """However long it takes; or until he is known to be dead, or is taken away."""
    for seed, (how, op) in enumerate((h, o) for h in ("up", "dead", "gone") for o in (FLUSH, ZERO)):
        b = await begin(dut, 20 + seed, 0.7)
        b.up = ALL & ~4
        where = (0, 0) if op == FLUSH else (0, 3 * GRANULE)
        await b.begin(op, *where)
        for _ in range(400):
            await b.step()
        assert not b.answers and all(ssd != 2 for _, (ssd, _, _) in b.sent)
        match how:
            case "up":
                b.up = ALL
            case "dead":
                b.dead, b.fails = 4, 4
            case _:
                b.present = ALL & ~4
        await b.end(op, *where)


@cocotb.test()
async def what_was_zeroed_is_flushed_alone(dut: Any) -> None:
    """MEDIA_FLUSH_ZEROED: SSDs that have zeroed nothing are not asked, so one that is dead is nobody else's error. One
    that has zeroed something and has been away since is."""
    b = await begin(dut, 9, 0.7)
    b.table = [Extent(g, g % 2) for g in range(4)]
    b.dead, b.fails, b.up = 4, 4, ALL & ~4
    await b.run(ZERO, 0, 2 * GRANULE)
    await b.run(FLUSH, MEDIA_FLUSH_ZEROED)
    assert {ssd for _, (ssd, _, _) in b.sent} == {0, 1} and b.answers == [0]
    await b.run(FLUSH, MEDIA_FLUSH_ZEROED)
    assert not b.sent and b.answers == [0]
    await b.run(FLUSH)
    assert b.answers == [1]
    for back in (False, True):
        await b.run(ZERO, 0, GRANULE)
        b.present &= ~1
        for _ in range(9):
            await b.step()
        b.present |= int(back)
        await b.run(FLUSH, MEDIA_FLUSH_ZEROED)
        assert len(b.sent) == int(back) and b.answers == [1]
        b.present = ALL
    await b.run(FLUSH, MEDIA_FLUSH_ZEROED)
    assert b.answers == [0]


@cocotb.test()
async def those_that_are_spared_may_fail(dut: Any) -> None:
    """They are asked all the same. Others' failing is an error, and so is theirs in zeroes and in the next flush."""
    b = await begin(dut, 10, 0.7)
    for ssd in range(NUM):
        b.fails = 1 << ssd
        for spared in (ALL, 1 << ssd, ALL & ~(1 << ssd), 0):
            await b.run(FLUSH, spared)
            assert len(b.sent) == NUM and b.answers == [int(not spared >> ssd & 1)]
        await b.run(FLUSH, ALL)
        await b.run(ZERO, 0, NUM * GRANULE)
        assert b.answers == [1]
        await b.run(FLUSH)
        assert b.answers == [1]
    b.card_fails = True
    await b.run(FLUSH, ALL)
    assert b.answers == [1], "of the card's memory there is no other"


@cocotb.test()
async def zeroes_come_behind_writes_of_before_a_reset(dut: Any) -> None:
    """An SSD that still has such ones is given none; a flush does not wait for them, nor what is on others."""
    b = await begin(dut, 8, 0.7)
    b.fence = 4
    await b.run(FLUSH)
    where = 0, 3 * GRANULE
    await b.begin(ZERO, *where)
    for _ in range(400):
        await b.step()
    assert not b.answers and b.sent and all(ssd != 2 for _, (ssd, _, _) in b.sent)
    b.fence = 0
    await b.end(ZERO, *where)


@cocotb.test()
async def no_more_than_there_is_room_for(dut: Any) -> None:
    """SSDs that end nothing."""
    b = await begin(dut, 5)
    b.held = True
    where = 0, len(b.table) * GRANULE
    await b.begin(ZERO, *where)
    for _ in range(600):
        await b.step()
    assert sum(b.open) == MOST
    b.held = False
    await b.end(ZERO, *where)
    assert b.answers == [0]


@cocotb.test()
async def latency(dut: Any) -> None:
    """2 cycles a granule and 6 for each of its SSDs, whatever size a part has."""
    b = await begin(dut, 6)
    for granules in (1, 2, 3):
        await b.begin(ZERO, 0, granules * GRANULE)
        first = b.cycle
        await b.end(ZERO, 0, granules * GRANULE)
        assert b.sent_at - first == granules * (2 + 6 * NUM)


@cocotb.test()
async def a_reset_at_any_time(dut: Any) -> None:
    b = await begin(dut, 7, 0.5)
    for cycles in range(1, 120, 7):
        for op, where in ((FLUSH, (0, 0)), (ZERO, (0, 4 * GRANULE))):
            await b.begin(op, *where)
            for _ in range(cycles):
                await b.step()
            dut.rst.value = 1
            await b.step()
            b.forget()
            b.drive(None)
            await b.step()
            dut.rst.value = 0
            b.forget()
            b.drive(None)
            random_state(b)
            await b.run(ZERO, *random_stretch(b))


def test_db_virt_command() -> None:
    bench.run(
        __file__, "db_virt_command", {"NUM_SSD": NUM, "GRANULE_LOG2": GRANULE_LOG2}, env={"NUM_SSD": str(NUM)}
    )  # fmt: skip
