# SPDX-License-Identifier: Apache-2.0
"""db_virt_media: what is written to the virtual media is on the SSD and at the blocks where a map written from the
documentation (docs/vcsd/theory.md) says, and is read back from there, whatever the SSDs' order and delays; errors
come to the burst they belong to; the settings area is the card's own. Where granules are the bench says as the firmware
would, by registers (docs/registers.md). A command that reads is told ahead, and may read when all of it is there: an
SSD that takes its time keeps back its own commands and no other, for ever if it likes; what was asked for before a
reset reaches nobody."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from axi_model import FLUSH, UNCORRECTABLE, ZERO
from doorbell import build
from virt_media_bench import FIND, LOOK, PUT, RELEASE, Bench, where_first
from virt_media_ssds import ADDR_W, DATA_W, EACH, GRANULE, LOG2, NUM, PAGE, PAGES, ROW, SLOTS, Extent, shuffled, usual


@cocotb.test()
async def what_is_written_is_read(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    for rate in (1.0, 0.3):
        b.rate = rate
        pages = [*b.rng.sample([p for p in b.pages() if p < NUM * PAGES], 26), *range(NUM * PAGES, NUM * PAGES + 4)]
        content: dict[int, list[int]] = {}
        for p in pages:
            size = b.rng.choice((512, 1024, PAGE))
            at = p * PAGE + b.rng.randrange(PAGE // size) * size
            full = b.rng.random() < 0.8
            before = dict(content)
            content[at] = b.write(at, size, full)
            if not full:
                content = before
        await b.settle()
        for at, rows in content.items():
            ssd, place = b.where(at)
            store = b.card if ssd is None else b.ssds[ssd].data
            assert [store[place // ROW + i] for i in range(len(rows))] == rows, "it is not where it should be"
        for p in b.rng.sample(pages, 30):
            size = b.rng.choice((512, 1024, PAGE))
            at = p * PAGE + b.rng.randrange(PAGE // size) * size
            if p >= b.num * PAGES:
                b.read(at, size, 1)  # the settings area: the firmware's
            else:
                while len(b.wanted) + len(b.ending) == SLOTS:
                    await b.step()
                b.want(at, size, b.rng.random() < 0.2)
        await b.settle()


@cocotb.test()
async def the_card_takes_an_address_when_it_has_a_row(dut: Any) -> None:
    """Its memory may wait for W before it takes AW (AXI4, A3.3.1): no row waits for an address that is on offer."""
    b = Bench(dut, 12)
    await b.start()
    b.card_rows_first = True
    for rate in (1.0, 0.4):
        b.rate = rate
        sizes = {(NUM * PAGES + i) * PAGE: b.rng.choice((ROW, 512, PAGE)) for i in range(8)}
        content = {at: b.write(at, size) for at, size in sizes.items()}
        await b.settle()
        for at, rows in content.items():
            assert [b.card[at // ROW + i] for i in range(len(rows))] == rows


@cocotb.test()
async def errors_are_those_of_their_burst(dut: Any) -> None:
    b = Bench(dut, 2)
    await b.start()
    for s in b.ssds:
        s.fails.update(b.rng.sample(range(PAGES * 8), PAGES))
    if b.num > 1:
        b.present = b.up = b.present & ~2  # the second is not there
    b.rate = 0.7
    for p in b.rng.sample(range(NUM * PAGES + 32), 60):
        b.write(p * PAGE, 1024, b.rng.random() < 0.9)
        await b.settle()
        if p < b.num * PAGES:
            b.want(p * PAGE, 1024)
        else:
            b.read(p * PAGE, 1024)
    await b.settle()


@cocotb.test()
async def large_blocks_take_what_fits_alone(dut: Any) -> None:
    """Of an SSD with blocks of 4 KiB: bursts that are less are refused, and nothing is written."""
    b = Bench(dut, 3)
    await b.start()
    for s in b.ssds:
        s.shift = 12
    for p in b.rng.sample(range(NUM * EACH * GRANULE // PAGE), 20):
        for at, size in ((0, PAGE), (1024, 1024), (0, 512)):
            b.write(p * PAGE + at, size)
            await b.settle()
            b.want(p * PAGE + at, size)
            b.want(p * PAGE, PAGE)
            await b.settle()


@cocotb.test()
async def who_is_on_his_way_up_is_waited_for(dut: Any) -> None:
    b = Bench(dut, 4)
    await b.start()
    b.up = 0
    b.want(0, PAGE)
    b.write(PAGE, PAGE)
    for _ in range(300):
        await b.step()
    assert len(b.wanted) == 2 and not b.aw and not any(s.ops for s in b.ssds)
    b.up = b.present
    await b.settle()
    if b.num > 1:  # one of them alone: the others' commands pass, also what was put aside goes when its time has come
        b.up &= ~1
        late = [b.want(where_first(b, 0) + i * PAGE, PAGE) for i in range(6)]
        b.order.clear()
        others = [b.want(where_first(b, 1) + i * PAGE, PAGE) for i in range(6)]
        for _ in range(3000):
            await b.step()
        assert sorted(b.order) == others and sorted(b.wanted) == late
        b.up = b.present
        await b.settle()


@cocotb.test()
async def flush_and_zero(dut: Any) -> None:
    b = Bench(dut, 5)
    await b.start()
    await flushes_and_zeroes(b, usual(), 12)
    b.command(UNCORRECTABLE, 0, 512, 1)
    await b.settle()
    if NUM > 1:
        b.present = b.up = 1
        b.command(FLUSH, 0, 0, 0)
        b.command(ZERO, 0, NUM * EACH * GRANULE, 1)
        await b.settle()


async def flushes_and_zeroes(b: Bench, table: list[Extent | None], turns: int) -> None:
    """Stretches of the medium are zeros, whatever they have of granules and chunks; nothing else is. Of the firmware,
    which has all zeroed that is somewhere, and of hosts, of whom several have theirs zeroed at once."""
    end = len(table) * GRANULE // 512
    for s in b.ssds:
        s.data.clear()
        for row in range(0, PAGES * PAGE // ROW, 512 // ROW):
            s.data[row] = row + 1  # of each block
    b.command(FLUSH, 0, 0, 0)
    await b.settle()
    assert all(s.ops.count("BLOCK_FLUSH") == 1 for s in b.ssds)
    for _ in range(turns):
        first = b.rng.randrange(end)
        blocks = b.rng.choice([1, b.rng.randrange(1, end - first + 1), min(end - first, GRANULE // 512)])
        want = [dict(s.data) for s in b.ssds]
        nowhere = False
        for block in range(first, first + blocks):
            ssd, at = b.where(block * 512)
            assert ssd is not None
            nowhere |= ssd < 0
            if ssd >= 0:
                want[ssd].pop(at // ROW, None)
        if b.rng.random() < 0.5:
            b.command(ZERO, first * 512, blocks * 512, int(nowhere))
            await b.settle()
        else:
            cuts = sorted({0, blocks, *(b.rng.randrange(blocks) for _ in range(b.rng.randrange(4)))})
            for x, y in zip(cuts, cuts[1:]):
                part = [b.where(block * 512)[0] for block in range(first + x, first + y)]
                b.zero((first + x) * 512, (y - x) * 512, b.rng.random() < 0.5, int(-1 in part))
            await b.settle()
        if not nowhere:
            assert want == [s.data for s in b.ssds], "another stretch"
        assert all(s.data.items() >= w.items() for s, w in zip(b.ssds, want)), "more than the stretch"
        for s, w in zip(b.ssds, want):
            s.data = dict(w)


@cocotb.test()
async def granules_anywhere(dut: Any) -> None:
    for seed in (1,) if NUM > 1 else (1, 2):
        b = Bench(dut, 8 + seed)
        table = shuffled(b.rng)
        await b.start(table)
        for p in b.rng.sample(range(NUM * EACH * GRANULE // PAGE), 50):
            b.write(p * PAGE, 1024)
        await b.settle()
        for p in b.rng.sample(range(NUM * EACH * GRANULE // PAGE), 50):
            while len(b.wanted) + len(b.ending) == SLOTS:
                await b.step()
            b.want(p * PAGE, 1024)
        await b.settle()
        await flushes_and_zeroes(b, table, 6)


@cocotb.test()
async def no_two_granules_are_at_one_place(dut: Any) -> None:
    """The hardware refuses what is taken and what is no place, and finds the first that is free; random requests
    against a list of eighths."""
    b = Bench(dut, 11)
    rng = b.rng
    await b.start([None] * (NUM * EACH))
    there: dict[int, Extent] = {}
    refused = 0
    for _ in range(500):
        g, op = rng.randrange(NUM * EACH + 1), rng.choice([LOOK, RELEASE, PUT, PUT, FIND, FIND])
        log2 = rng.randrange(4)
        e = Extent(rng.randrange(EACH + 1), rng.randrange(8), rng.randrange(8), log2)
        if rng.random() < 0.8:
            log2 = rng.randrange(LOG2 + 1)
            e = Extent(rng.randrange(EACH), rng.randrange(NUM >> log2) << log2, rng.randrange(1 << log2), log2)
        shape = e.ssd < NUM and log2 <= LOG2 and e.ssd % (1 << log2) == 0 and e.part < 1 << log2
        await b.bus(0x104, e.word())
        good = await b.ask(g, op)
        if g == NUM * EACH:
            assert not good
            continue
        if op != LOOK:
            there.pop(g, None)
        taken = {x for o in there.values() for x in o.eighths()}
        if op == PUT:
            assert good == (shape and e.place < EACH and not taken & e.eighths())
            if good:
                there[g] = e
        if op == FIND:
            free = [
                f for place in range(EACH) for part in range(1 << log2)
                if not taken & (f := Extent(place, e.ssd, part, log2)).eighths()
            ]  # fmt: skip
            assert good == (shape and bool(free))
            if good:
                there[g] = free[0]
                assert b.extent_of(await b.register(0x110)) == free[0]
        refused += not good
        h = rng.randrange(NUM * EACH)
        assert await b.look(h) == there.get(h)
    assert refused > 50


@cocotb.test()
async def latencies(dut: Any) -> None:
    """rtl/virt/README.md: 3 cycles from an address to the SSD's command and, of a Write, to its first row; 12 from a
    command that will read to the SSD's; 19 until a Write may go; an address every 3 cycles."""
    b = Bench(dut, 7)
    await b.start()
    for _ in range(4):
        await b.step()
    d = dut

    async def until(condition: Callable[[], bool]) -> int:
        for n in range(40):
            if condition():
                return n
            await b.step()
        raise AssertionError("never")

    b.write(0, 1024)
    assert await until(lambda: bool(b.aw)) == 19
    assert await until(lambda: bool(int(d.m_cmd_valid.value) & 1)) == 3
    await b.settle()
    b.write(0, 1024)
    await until(lambda: bool(b.aw))
    assert await until(lambda: bool(int(d.m_row_valid.value) & 1)) == 3
    await b.settle()
    b.want(0, 1024)
    assert await until(lambda: bool(int(d.m_cmd_valid.value) & 1)) == 12
    await b.settle()
    b.want(0, 4 * PAGE)
    while not b.ar:
        await b.step()
    at = [0]
    while len(at) < 5:
        left = len(b.ar)
        await b.step()
        at[0] += 1
        at.extend([at[0]] * (left - len(b.ar)))
    assert [y - x for x, y in zip(at[1:], at[2:])] == [3, 3, 3]
    await b.settle()


@cocotb.test()
async def bursts_follow_each_other(dut: Any) -> None:
    """Rows leave an SSD that has them without a pause: 8 commands of 4 KiB take a cycle a row, and few more each."""
    b = Bench(dut, 6)
    await b.start()
    for i in range(16):
        b.want(i * PAGE, PAGE)
    while len(b.order) - len(b.expect) < 4:
        await b.step()
    start = 0
    while len(b.order) - len(b.expect) < 12:
        await b.step()
        start += 1
    assert start <= 8 * (PAGE // ROW) + 8
    await b.settle()


@pytest.mark.parametrize(("num", "stripe"), [(4, 1), bench.rare(1, 0), bench.rare(2, 0)])
def test_db_virt_media(num: int, stripe: int) -> None:
    registers = build.regs() / "rtl"
    bench.run(
        __file__,
        "db_virt_media",
        {
            "DATA_W": DATA_W,
            "ADDR_W": ADDR_W,
            "NUM_SSD": num,
            "STRIPE": stripe,
            "EXTENTS": 64,
            "GRANULE_LOG2": 17 + max(num.bit_length() - 1, 1),
            "NUM_CMDS": SLOTS,
            "RD_RING_BYTES": 65536,
            "WR_RING_BYTES": 65536,
        },
        extra_sources=(registers / "db_vcsd_regs_pkg.sv", registers / "db_vcsd_regs.sv"),
        env={"NUM_SSD": str(num), "STRIPE": str(stripe)},
        parts=("virt_media_slow",),
    )
