# SPDX-License-Identifier: Apache-2.0
"""db_host_slots against a drive that knows doorbells alone. Second tries are in host_slots_retries.py."""

from __future__ import annotations

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import ReadOnly, RisingEdge
from host_slots_bench import (
    ABORTED,
    CID_W,
    CTX,
    DOORBELL,
    FLUSH,
    LATE,
    PATH_ERROR,
    READ,
    RING,
    WRITE,
    Bench,
    cqe_word,
    expected,
    part_word,
    traffic,
)
from structs import constant


@cocotb.test()
async def traffic_in_order(dut):
    """Out-of-order completions; statuses and data in order, rings never overrun, every slot used."""
    b = Bench(dut, 3, slow=True)
    await b.start()
    parts = traffic(b.rng, 600)
    b.parts.extend(parts)
    total = sum(p[2] for p in parts if p[0] == WRITE)
    dut.io_up.value = 1
    want = len({p[3] for p in parts})
    while len(b.statuses) < want:
        b.complete_pct = 4 if b.cycle % 4000 < 2000 else 60
        if b.fill < total and b.chance(80):
            room = RING - ((b.fill - int(dut.wr_freed.value)) & 0xFFFFFFFF)
            b.fill += min(room, b.rng.randint(0, 8), total - b.fill)
        await b.step()
        assert b.cycle < 60000
    for _ in range(20):
        await b.step()
    statuses, outs = expected(parts, b.results)
    assert b.statuses == statuses
    assert [o[1:] for o in b.outs] == outs
    place = 0
    for buf, length, _last, _err in b.outs:
        assert buf == place % RING
        place += length
    assert b.ended == len(parts)


@cocotb.test()
async def entries_come_again(dut):
    """An entry that comes again when its slot has been given to another command, up to 15 rounds later: counted, and
    that command goes on. Each round has the next generation.
    """
    b = Bench(dut, 9, slow=False)
    await b.start()
    b.parts.extend((FLUSH, 1 + i, 0, i & 0xFFFF, 1) for i in range(max(300, 4 * b.slots)))
    parts = list(b.parts)
    dut.io_up.value = 1
    b.repeat, b.complete_pct = True, 40
    while len(b.statuses) < len(parts):
        await b.step()
        assert b.cycle < 60000
    b.repeat = False
    for _ in range(20):
        await b.step()
    assert b.statuses == expected(parts, b.results)[0]
    assert b.bad == b.repeats > 40
    assert all((new - old) % 16 == 1 for gens in b.gens.values() for old, new in zip(gens, gens[1:]))


@cocotb.test()
async def entries_of_nobody(dut):
    """An entry of a command that is not outstanding (a free slot, one that there is not, another generation, an
    identifier that is none of ours): counted, and no command ends with it.
    """
    b = Bench(dut, 10, slow=False)
    await b.start()
    dut.io_up.value = 1
    b.complete_pct = 0
    parts = [(FLUSH, 1 + i, 0, i, 1) for i in range(min(3, b.limit))]
    b.parts.extend(parts)
    while len(b.fetched) < len(parts):
        await b.step()
    gen, oldest, free = b.gens[b.base][-1], b.base, (b.base + len(parts)) % b.slots
    wrong = [(gen, free), (gen + 1, oldest), (gen - 1, oldest), (gen | 1 << constant("db_host_pkg", "GEN_W"), oldest)]
    if b.slots < 1 << CID_W:
        wrong.append((gen, oldest | b.slots))
    for n, (other, slot) in enumerate(wrong):
        dut.s_cqe_valid.value, dut.s_cqe.value = 1, cqe_word(other, slot)
        for _ in range(10):
            await b.step()
        assert b.bad == n + 1 and not b.statuses, (other, slot)
    b.complete_pct = 100
    for _ in range(60):
        await b.step()
    assert b.statuses == expected(parts, b.results)[0] and b.bad == len(wrong)


@cocotb.test()
async def resets_repeat(dut):
    """The drive is reset in the middle, again and again: all is done, in order."""
    b = Bench(dut, 4, slow=True)
    await b.start()
    parts = traffic(b.rng, 200)
    b.parts.extend(parts)
    b.fill = 0
    total = sum(p[2] for p in parts if p[0] == WRITE)
    want = len({p[3] for p in parts})
    resets = 0
    while len(b.statuses) < want:
        phase = b.cycle % 1500
        if phase < 40 and resets < 8:
            if dut.io_up.value:
                resets += 1
            dut.io_up.value = 0
            b.forget()
            b.complete_pct = 0
        elif phase < 200 and resets < 8:
            b.forget()
        else:
            dut.io_up.value = 1
            b.complete_pct = 8
        room = RING - ((b.fill - int(dut.wr_freed.value)) & 0xFFFFFFFF)
        b.fill += min(room, 4, total - b.fill)
        await b.step()
        assert b.cycle < 100000
    assert resets >= 2
    statuses, outs = expected(parts, b.results)
    assert b.statuses == statuses
    assert [o[1:] for o in b.outs] == outs


@cocotb.test()
async def resets_report_and_death(dut):
    """Without repeat, what a reset took is reported; a dead drive ends all, and what comes after it too."""
    b = Bench(dut, 5, slow=False)
    await b.start()
    dut.repeat_on_reset.value = 0
    dut.io_up.value = 1
    b.complete_pct = 0
    n = b.limit + 5
    b.parts.extend((FLUSH, i, 0, i, 1) for i in range(n))
    for _ in range(300 + 4 * n):
        await b.step()
    assert not b.statuses and b.max_flight == b.limit
    dut.io_up.value = 0
    b.forget()
    for _ in range(60 + 4 * n):
        await b.step()
    assert b.statuses == [(i, ABORTED) for i in range(b.limit)] and not b.ended
    b.complete_pct = 100
    dut.io_up.value = 1
    for _ in range(600):
        await b.step()
    assert b.statuses[b.limit :] == [(i, b.results[i]) for i in range(b.limit, n)]
    b.statuses.clear()
    b.complete_pct = 50
    b.parts.extend((FLUSH, 100 + i, 0, i, 1) for i in range(40))
    for _ in range(1200):
        await b.step()
    assert b.statuses == [(i, b.results[100 + i]) for i in range(40)]
    ended, b.complete_pct = b.ended, 0
    b.parts.extend((READ, 200 + i, 8, i, 1) for i in range(3))
    for _ in range(60):
        await b.step()
    dut.io_up.value, dut.io_dead.value = 0, 1
    b.forget()
    b.parts.extend((READ, 300 + i, 8, 10 + i, 1) for i in range(30))
    b.status_pct = 10  # parts come faster than their ends leave
    for _ in range(1200):
        await b.step()
    assert b.statuses[40:] == [(t, PATH_ERROR) for t in (0, 1, 2, *range(10, 40))]
    assert all(o[3] for o in b.outs[-33:])
    assert b.ended == ended == n - b.limit + 40


@cocotb.test()
async def late(dut):
    """The oldest command is called late after cmd_timeout, and no longer once it is done."""
    b = Bench(dut, 6, slow=False)
    await b.start()
    dut.cmd_timeout.value = 500
    dut.io_up.value = 1
    b.complete_pct = 100
    b.parts.extend((FLUSH, i, 0, i, 1) for i in range(20))
    b.hold = {7}
    late_at = 0
    for _ in range(1500):
        if await b.step() and not late_at:
            late_at = b.cycle
            oldest = LATE.unpack(int(dut.m_late.value))
            gen, slot = divmod(oldest["cid"], 1 << CID_W)
            assert b.fetched[slot][1] == 7 and gen == b.gens[slot][-1]
            assert oldest["qid"] - 1 == 7 % b.qps
    assert len(b.statuses) == 7 and late_at
    b.hold = set()
    for _ in range(200):
        now_late = await b.step()
    assert len(b.statuses) == 20 and not now_late


@cocotb.test()
async def time_and_units_begin_anew(dut):
    """2^32 cycles (17 s) and 2^32 units of each ring (2 TiB) are over in the middle of traffic: data has its place,
    latencies are right, and what is lost is late neither sooner nor later than at any other time.
    """
    b = Bench(dut, 11, slow=False)
    await b.start()
    dut.io_up.value = 1
    for _ in range(4 * b.cmds):  # the first sweep
        await b.step()
    begin, end = (1 << 32) - 2 * RING, 1 << 32
    b.fill = b.freed = b.reads = begin
    dut.i_retire.wr_freed.value = begin
    dut.i_alloc.wr_alloc_q.value = dut.i_alloc.rd_alloc_q.value = begin % (1 << len(dut.i_alloc.wr_alloc_q))
    dut.i_match.now_q.value = end - 400
    parts = [p for p in traffic(b.rng, 200) if p[4]]
    b.parts.extend(parts)
    b.hold = {parts[-1][1]}
    total = begin + sum(p[2] for p in parts if p[0] == WRITE)
    while len(b.statuses) < len(parts) - 1:
        room = RING - ((b.fill - int(dut.wr_freed.value)) & 0xFFFFFFFF)
        b.fill += min(room, 8, total - b.fill)
        await b.step()
        assert b.cycle < 30000
    results = b.results | {parts[-1][1]: 0}
    statuses, outs = expected(parts, results)
    assert b.statuses == statuses[:-1]
    outs = outs[: len(b.outs)]
    assert [o[1:] for o in b.outs] == outs
    place = begin
    for buf, length, _last, _err in b.outs:
        assert buf == place % RING
        place += length
    assert int(dut.i_match.now_q.value) < 1 << 31 and place > end and total > end > begin
    assert int(dut.wr_freed.value) == (total - (parts[-1][2] if parts[-1][0] == WRITE else 0)) % end
    assert all(0 < latency < 3000 for latency in b.latencies)
    # One that is lost a little before the end of the time.
    b.hold = set()
    for _ in range(200):
        await b.step()
    dut.cmd_timeout.value = 500
    dut.i_match.now_q.value = end - 250
    b.hold = {1 << 20}
    b.parts.append((FLUSH, 1 << 20, 0, 7, 1))
    since, late = b.cycle, False
    while not late:
        late = await b.step()
        assert b.cycle - since < 560
    assert b.cycle - since > 500 and int(dut.i_match.now_q.value) < 1000


@cocotb.test()
async def speed(dut):
    """An idle engine: part to doorbell 3 cycles, completion to status 5; 3 cycles a part."""
    b = Bench(dut, 7, slow=False)
    await b.start()
    dut.io_up.value = 1
    dut.m_doorbell_ready.value = dut.m_axis_status_tready.value = dut.m_out_ready.value = 1
    for _ in range(600):
        await RisingEdge(dut.clk)
    dut.s_part.value, dut.s_part_valid.value = part_word(FLUSH, 5, 0, 9, 1), 1
    n = 0
    while not dut.m_doorbell_valid.value:
        await RisingEdge(dut.clk)
        n += 1
        if dut.s_part_ready.value:
            await RisingEdge(dut.clk)
            n += 1
            dut.s_part_valid.value = 0
        await ReadOnly()
    assert n == 3 if b.qps == 1 else n <= 3 + b.qps, n
    await RisingEdge(dut.clk)
    slot = b.base
    dut.s_ctx_re.value, dut.s_ctx_slot.value = 1, slot
    for _ in range(5):
        await RisingEdge(dut.clk)
    dut.s_cqe_valid.value, dut.s_cqe.value = 1, cqe_word(CTX.unpack(int(dut.m_ctx.value))["gen"], slot)
    await RisingEdge(dut.clk)
    dut.s_cqe_valid.value = 0
    n = 1
    await ReadOnly()
    while not dut.m_axis_status_tvalid.value:
        await RisingEdge(dut.clk)
        await ReadOnly()
        n += 1
        assert n < 30
    assert n == 5, n


@cocotb.test()
async def heads_gather(dut):
    """Entries are acknowledged at once when eight (or a quarter of a small queue) are there, one after 4096 cycles."""
    b = Bench(dut, 8, slow=False)
    await b.start()
    if b.qps > 1:  # pairs are looked at by turns
        return
    dut.io_up.value = dut.m_doorbell_ready.value = 1
    for _ in range(600):
        await RisingEdge(dut.clk)
    batch, head = 8 if b.sq_size >= 32 else b.sq_size // 4, 0
    alone = (1, 4090, 4104) if batch > 1 else (1, 0, 4)
    for more, least, most in ((batch, 0, 4), alone, (batch, 0, 4)):
        head = (head + more) % b.sq_size
        dut.cq_head.value = head
        n = 0
        await ReadOnly()
        while not dut.m_doorbell_valid.value:
            await RisingEdge(dut.clk)
            await ReadOnly()
            n += 1
            assert n <= most
        assert least <= n, (n, more)
        assert DOORBELL.unpack(int(dut.m_doorbell.value)) == {"cq": 1, "qid": 1, "value": head}
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)


@pytest.mark.parametrize(
    "qps, cmds, sq_size, retry",
    [
        (1, 16, 32, 0),
        (1, 16, 32, 1),
        bench.rare(1, 16, 8, 1),
        bench.rare(1, 32, 4, 0),
        bench.rare(1, 32, 4, 1),
        bench.rare(2, 8, 8, 0),
        (4, 32, 16, 0),
        bench.rare(1, 256, 512, 1),
    ],
)
def test_slots(qps: int, cmds: int, sq_size: int, retry: int):
    bench.run(
        __file__,
        "db_host_slots",
        {"NUM_CMDS": cmds, "NUM_QP": qps, "RETRY": retry, "WR_RING_BYTES": RING * 512, "RD_RING_BYTES": RING * 512},
        env={"NUM_QP": str(qps), "NUM_CMDS": str(cmds), "SQ_SIZE": str(sq_size), "RETRY": str(retry)},
        inside=("db_host_retire", "db_host_slot_alloc", "db_host_slot_match", "db_host_slot_retry"),
        parts=("host_slots_retries",),
    )
