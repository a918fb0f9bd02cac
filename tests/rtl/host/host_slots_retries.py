# SPDX-License-Identifier: Apache-2.0
"""Tests of db_host_slots, which test_db_host_slots.py runs: what the drive says it cannot take now is
sent once more."""

from __future__ import annotations

import os

import cocotb
from host_slots_bench import (
    CID_W,
    DNR,
    FLUSH,
    GEN_W,
    LATE,
    MAP,
    NOT_NOW,
    PATH_ERROR,
    RING,
    WRITE,
    Bench,
    cqe_word,
    expected,
    traffic,
)


def tried(statuses: list[int]) -> bool:
    """So a command may have been tried, by what the drive said: twice if the first was "not now", else once."""
    return len(statuses) == (2 if statuses[0] in NOT_NOW else 1)


def fill(b: Bench, total: int) -> None:
    """As much data as there is room for."""
    b.fill += min(RING - ((b.fill - int(b.dut.wr_freed.value)) & 0xFFFFFFFF), b.rng.randint(0, 8), total - b.fill)


async def retries(dut, seed: int, choices: list[int]) -> Bench | None:
    """A drive that says "not now", up; None: RETRY is 0."""
    if not int(os.environ["RETRY"]):
        return None
    b = Bench(dut, seed, slow=True)
    await b.start()
    b.choices = choices
    dut.io_up.value = 1
    return b


@cocotb.test()
async def second_tries(dut):
    """What was "not now" is sent once more and in its turn, all else once; the second status counts, whatever it is."""
    b = await retries(dut, 12, [0, 0, 0x281, *NOT_NOW, 0x82 | DNR, 0x21 | DNR, 0x182, 0x84, 0x08])
    if b is None:
        return
    parts = traffic(b.rng, 500)
    b.parts.extend(parts)
    total, want, again = sum(p[2] for p in parts if p[0] == WRITE), len({p[3] for p in parts}), 0
    while len(b.statuses) < want:
        b.complete_pct = 4 if b.cycle % 4000 < 2000 else 60
        fill(b, total)
        await b.step()
        again += int(dut.stat_retry.value)
        assert b.cycle < 200_000
    statuses, outs = expected(parts, b.results)
    assert b.statuses == statuses and [o[1:] for o in b.outs] == outs
    assert len(b.tries) == len(parts) and all(map(tried, b.tries.values()))
    assert again == sum(len(s) - 1 for s in b.tries.values()) > 200 and b.bad == 0
    assert {tuple(map(bool, s)) for s in b.tries.values()} >= {(True, True), (True, False), (False,), (True,)}


@cocotb.test()
async def second_tries_and_resets(dut):
    """The drive is reset meanwhile: all is repeated, and ends once; what had its second try has no third."""
    b = await retries(dut, 13, [0, *NOT_NOW])
    if b is None:
        return
    parts = traffic(b.rng, 250)
    b.parts.extend(parts)
    total, want, resets, under_way = sum(p[2] for p in parts if p[0] == WRITE), len({p[3] for p in parts}), 0, 0
    down = 0
    while len(b.statuses) < want:
        down = max(0, down - 1)
        if not down and b.chance(0.6):
            down, resets = 60, resets + 1
            under_way += MAP.unpack(int(dut.map.value))["second"]
        if down:
            b.forget()
        dut.io_up.value, b.complete_pct = int(not down), 0 if down else 20
        fill(b, total)
        await b.step()
        assert b.cycle < 400_000
    assert resets > 10 and under_way > 5
    statuses, outs = expected(parts, b.results)
    assert b.statuses == statuses and [o[1:] for o in b.outs] == outs


@cocotb.test()
async def second_try_of_a_drive_that_goes(dut):
    """It is under way when the drive goes for good: a path error, and so all behind it; before it had its place, the
    drive's own status.
    """
    b = await retries(dut, 14, [0x82])
    if b is None:
        return
    b.slow = False
    for second in (True, False):
        b.statuses.clear()
        dut.io_dead.value, dut.io_up.value = 0, 1
        b.complete_pct, b.hold = 0, {2, 3}
        b.parts.extend((FLUSH, 1 + i, 0, i, 1) for i in range(3))
        while len(b.fetched) < 3 or b.ctx_read is not None:
            await b.step()
        b.complete_pct = 100
        while not MAP.unpack(int(dut.map.value))["second"] if second else len(b.fetched) == 3:
            await b.step()
        b.complete_pct = 0
        for _ in range(8 if second else 0):
            await b.step()
        dut.io_up.value, dut.io_dead.value = 0, 1
        b.forget()
        for _ in range(100):
            await b.step()
        assert len(b.statuses) == 3 and b.statuses[1:] == [(1, PATH_ERROR), (2, PATH_ERROR)]
        assert b.statuses[0][1] in ((PATH_ERROR,) if second else (PATH_ERROR, 0x82))
        dut.io_dead.value = 0
        for _ in range(20):
            await b.step()


@cocotb.test()
async def first_try_ends_again(dut):
    """The first try's entry comes a second time, while the second one is under way: it is nobody's. So is an entry of a
    second try that there is not.
    """
    b = await retries(dut, 15, [0x82])
    if b is None:
        return
    b.complete_pct = 0
    b.parts.extend((FLUSH, 1 + i, 0, i, 1) for i in range(3))
    while len(b.fetched) < 3:
        await b.step()
    slots = [(b.base + i) % b.slots for i in range(3)]
    gens = [b.gens[s][-1] for s in slots]
    for slot, gen in zip(slots, gens):
        dut.s_cqe_valid.value, dut.s_cqe.value = 1, cqe_word(gen | 1 << GEN_W, slot)
        for _ in range(10):
            await b.step()
    assert b.bad == 3 and not b.statuses
    b.hold = {2, 3}
    b.complete_pct = 100
    while not MAP.unpack(int(dut.map.value))["second"]:
        await b.step()
    b.hold = {1, 2, 3}
    for n in range(3):
        dut.s_cqe_valid.value, dut.s_cqe.value = 1, cqe_word(gens[0], slots[0], 0)
        for _ in range(10):
            await b.step()
        assert b.bad == 4 + n and not b.statuses
    dut.s_cqe_valid.value, dut.s_cqe.value = 1, cqe_word(gens[1] | 1 << GEN_W, slots[1])
    for _ in range(10):
        await b.step()
    assert b.bad == 7 and not b.statuses
    b.choices, b.hold = [0], set()
    for _ in range(100):
        await b.step()
    assert b.statuses == [(0, 0), (1, 0), (2, 0)] and b.bad == 7


@cocotb.test()
async def second_try_is_late(dut):
    """Its time begins with its own entry, and it has an identifier of its own; what was late is not tried again."""
    b = await retries(dut, 16, [0x82])
    if b is None:
        return
    b.slow = False
    dut.cmd_timeout.value = 500
    b.hold = {1}
    b.parts.append((FLUSH, 1, 0, 7, 1))
    while not b.fetched:
        await b.step()
    for _ in range(400):
        assert not await b.step()
    b.hold, b.complete_pct = set(), 100
    while b.fetched:
        await b.step()
    b.hold, since = {1}, b.cycle
    while not await b.step():
        assert b.cycle - since < 600
    assert b.cycle - since > 500
    slot = next(iter(b.fetched))
    assert LATE.unpack(int(dut.m_late.value)) == {"cid": (1 << GEN_W | b.gens[slot][-1]) << CID_W | slot, "qid": 1}
    b.choices, b.hold = [0x07], set()
    for _ in range(30):
        await b.step()
    assert b.statuses == [(7, 0x07)]
    b.hold = {2}
    b.parts.append((FLUSH, 2, 0, 8, 1))
    while not await b.step():
        assert b.cycle < 5000
    b.hold = set()
    for _ in range(30):
        await b.step()
    assert b.statuses[1:] == [(8, 0x07)] and b.tries[2] == [0x07], "it had been late, and was aborted"
