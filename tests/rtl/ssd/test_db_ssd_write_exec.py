# SPDX-License-Identifier: Apache-2.0
"""db_ssd_write_exec: what reaches the media, in what order, and how each command ends, against a model of the
commands."""

from __future__ import annotations

from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from axi_model import stretches
from test_db_ssd_media_cmd import (
    COMPARE,
    LBA_RANGE,
    MISMATCH,
    READ_ERROR,
    TRANSFER_ERROR,
    WFLUSH,
    WRITE,
    WRITE_FAULT,
    WZERO,
)
from write_exec_bench import MEDIA_BYTES, NEVER, OFFSET_INVALID, OP_NAMES, Bench, Job, random_job, spoil


@cocotb.test()
async def a_slave_takes_an_address_when_it_has_a_row(dut: Any) -> None:
    """It may wait for W before it takes AW (AXI4, A3.3.1): no row waits for an address that is on offer to be taken."""
    b = Bench(dut, 7)
    await b.start()
    b.write.rows_first = True
    await b.random(60)
    await b.drain()
    assert sum(len(job.bursts) for job in b.jobs) > 20


@cocotb.test()
async def random_commands(dut: Any) -> None:
    seen: set[tuple[str, int]] = set()
    for seed, stall, latency, bad in (
        (1, 0.0, (0, 3), 0.0),
        (2, 0.3, (1, 40), 0.1),
        (3, 0.6, (0, 10), 0.05),
        (4, 0.0, (30, 120), 0.05),
        (5, 0.2, (0, 0), 0.1),
    ):
        b = Bench(dut, seed)
        await b.start()
        b.stalls(stall)
        b.write.latency = b.read.latency = b.port.latency = latency
        b.write.bad, b.port.bad = bad, 3 * bad
        await b.random(40 * b.width // 256 + 40)
        await b.drain()
        seen |= b.statuses
    want = {(name, 0) for name in OP_NAMES.values()}
    want |= {
        ("write", TRANSFER_ERROR),
        ("write", OFFSET_INVALID),
        ("write", WRITE_FAULT),
        ("flush", WRITE_FAULT),
        ("compare", MISMATCH),
        ("compare", READ_ERROR),
        ("compare", TRANSFER_ERROR),
        ("dsm", LBA_RANGE),
        ("dsm", TRANSFER_ERROR),
        ("zero", WRITE_FAULT),
        ("dsm", WRITE_FAULT),
    }
    assert seen >= want, f"the random mix misses {want - seen}"


@cocotb.test()
async def a_row_a_cycle(dut: Any) -> None:
    """Writes of any size one behind the other, no bubble on W."""
    for sectors in (1, 5, 32):
        b = Bench(dut, 20 + sectors)
        await b.start()
        b.write.latency = (15, 15)
        rows = 0
        for i in range(max(3, 64 // sectors)):
            data = [b.rng.getrandbits(b.width) for _ in range(512 * sectors // (b.width // 8))]
            job = Job(WRITE, 512 * sectors * i, 512 * sectors, slot=i)
            job.rows = [(d, int(k == len(data) - 1), b.width // 32, 0) for k, d in enumerate(data)]
            rows += len(data)
            b.add(job)
            b.packets[-1] = (job, 0, True)
            b.prp.queue.append((0,))
        await b.drain()
        assert len(b.w_cycles) == rows
        bubbles = b.w_cycles[-1] - b.w_cycles[0] + 1 - rows
        assert bubbles == 0, f"{sectors} sectors: {bubbles} bubbles"


@cocotb.test()
async def fua_waits_for_its_flush(dut: Any) -> None:
    """A long flush: the Write with FUA ends after it, a Write without before; nothing behind it is written early."""
    b = Bench(dut, 30)
    await b.start()
    b.write.latency, b.port.latency = (5, 5), (200, 200)
    jobs = [random_job(b.rng, b.media, b.width, i, WRITE, False) for i in range(4)]
    for i, job in enumerate(jobs):
        job.fua = i == 1
        b.add(job)
    await b.drain()
    assert jobs[0].done < jobs[1].done and jobs[1].done > jobs[0].done + 190
    assert min(jobs[1].done, *(x.answered for j in jobs[2:] for x in j.bursts)) == jobs[1].done


@cocotb.test()
async def an_aborted_command_is_no_media_error(dut: Any) -> None:
    """A media command that is passed over has not failed, as the one before it has."""
    b = Bench(dut, 33)
    await b.start()
    b.port.bad = 1.0
    b.add(Job(WZERO, 0, 512, slot=1))
    await b.drain()
    assert b.statuses == {("zero", WRITE_FAULT)}
    dut.item_aborted.value = 1
    b.open[2] = Job(WFLUSH, slot=2, media_status=0)  # of which nothing is asked
    b.cmd.queue.append(b.open[2].packed())
    await b.drain()
    dut.item_aborted.value = 0


@cocotb.test()
async def latency(dut: Any) -> None:
    b = Bench(dut, 31)
    await b.start()
    b.write.latency = (10, 10)
    job = random_job(b.rng, b.media, b.width, 5, WRITE, False)
    job.fua, job.err_row = False, NEVER
    spoil(job, NEVER)
    b.add(job)
    marks: dict[str, int] = {}
    first = stretches(job.addr, job.size, job.burst(b.burst_bytes), b.width // 8)[0][1]
    while b.open:
        await b.step()
        if job.fed == first:
            marks.setdefault("whole", b.cycle)
        for name, seen in (
            ("aw", b.write.aw.valid),
            ("w", b.write.w.valid),
            ("completion", b.completion.valid),
        ):
            if seen.get():
                marks.setdefault(name, b.cycle)
    assert marks["aw"] - marks["whole"] == 2, marks
    assert marks["w"] - marks["aw"] == 2, marks
    assert job.done - job.bursts[-1].answered <= 2
    await b.drain()


@cocotb.test()
async def stop_at_any_time(dut: Any) -> None:
    """What is whole goes, nothing new is issued, quiet comes and stays; a reset makes it new. The host's data ends at
    any row; completions may not be taken any more."""
    for seed in range(40, 50):
        b = Bench(dut, seed)
        await b.start()
        b.stalls(b.rng.choice((0.0, 0.3)))
        b.write.latency = b.read.latency = b.port.latency = b.rng.choice(((0, 5), (1, 60), (60, 200)))
        n = b.rng.choice((3, 6, 12))
        long = b.rng.random() < 0.5
        await b.random(n, True, 40 if long else 10)
        for _ in range(b.rng.randint(0, 200)):
            await b.step()
        dut.stop.value = 1
        b.stopped = b.cycle
        b.take_completions = b.rng.random() < 0.5
        b.more = b.rng.choice((0, 1, b.rng.randint(0, 30), b.rng.randint(0, 600)))
        b.stream.stall = 0.0
        for _ in range(8000):
            await b.step()
            if int(dut.quiet.value):
                break
        assert int(dut.quiet.value), f"seed {seed}: never quiet"
        for _ in range(30):
            await b.step()
            assert int(dut.quiet.value), "quiet and then not"
        assert not b.write.open and not b.write.whole
        b.check_media()
        b = Bench(dut, seed)
        await b.start()
        await b.random(4)
        await b.drain()


@cocotb.test()
async def stop_inside_a_compare(dut: Any) -> None:
    """A Compare that still wants media data when stop comes does not end, and nothing behind it begins."""
    for seed, more in ((90, NEVER), (91, 0), (92, 40)):
        b = Bench(dut, seed)
        await b.start()
        b.read.latency = (60, 60)
        compare = Job(COMPARE, MEDIA_BYTES, 16384, slot=1)
        data = [b.media.initial(a) for a in range(compare.addr, compare.addr + compare.size, b.width // 8)]
        compare.rows = [(d, int(i == len(data) - 1), b.width // 32, 0) for i, d in enumerate(data)]
        b.add(compare)
        for slot in range(2, 6):
            b.add(random_job(b.rng, b.media, b.width, slot, WRITE))
        while not compare.fed:
            await b.step()
        for _ in range(100):
            await b.step()
        assert 0 < compare.fed < len(data)
        dut.stop.value = 1
        b.stopped = b.cycle
        b.more = more
        for _ in range(4000):
            await b.step()
            if int(dut.quiet.value):
                break
        assert int(dut.quiet.value), "never quiet"
        assert not any(j.bursts for j in b.jobs), "writes what came behind it"
        assert 1 in b.open, "completion of a Compare that was not done"
        b.check_media()


@pytest.mark.parametrize(("data_w", "burst"), [
    bench.rare(128, 4096), bench.rare(256, 1024), (512, 512),
])  # fmt: skip
def test_db_ssd_write_exec(data_w: int, burst: int) -> None:
    parameters = {"DATA_W": data_w, "BURST_BYTES": burst}
    bench.run(__file__, "db_ssd_write_exec", parameters, env={k: str(v) for k, v in parameters.items()})
