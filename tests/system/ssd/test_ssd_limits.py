# SPDX-License-Identifier: Apache-2.0
"""The link's limit as `doorbell.device.limits` derives it, against the bytes that the simulator counted on the wire;
and
what `doorbell bench` says of the drive: its targets, its stages, the same figures every time."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doorbell.bench import suite, traces
from doorbell.bench.drive import DriveSetup, measure
from doorbell.bench.jobs import Job, parse_bssplit
from doorbell.bench.results import link_limit
from doorbell.bench.runner import run_group
from doorbell.bench.stages import Recorder
from doorbell.device import limits
from doorbell.device.opening import sim_link
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.paths import ROOT
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
KINDS = ("MRd", "MWr", "CplD", "Cpl")


def wire_bytes(drive: Driver) -> dict[str, int]:
    """Bytes of TLPs and DLLPs that have crossed, by direction."""
    c = drive.sim.counters()
    out = {}
    for way in ("up", "down"):
        out[way] = sum(c[f"{way}.{k}.{part}"] for k in KINDS for part in ("header", "payload"))
        out[f"{way}.dllp"] = c[f"{way}.ack.bytes"] + c[f"{way}.fc.bytes"]
    return out


@pytest.mark.parametrize("link", ["gen3x4", "gen3x8"])
@pytest.mark.parametrize(("mps", "mrrs"), [(128, 128), (256, 512), (512, 256)])
@pytest.mark.parametrize("size", [512, 4096, 8192])
@pytest.mark.parametrize("opcode", [NvmOpc.READ, NvmOpc.WRITE], ids=lambda o: o.name)
def test_bytes_of_one_command(make_drive: MakeDrive, link: str, mps: int, mrrs: int, size: int, opcode: int) -> None:
    """One command at a time: every byte is foreseen."""
    if link == "gen3x4" and (mps, size) != (256, 4096):
        pytest.skip("bytes do not depend on the link's width")
    drive = make_drive(link=link, mps=mps, mrrs=mrrs, memory=32 << 20)
    drive.start(queues=1, entries=64)
    buffer = drive.buffer(size)
    count = 16
    before, bells = wire_bytes(drive), drive.sq_doorbells + drive.cq_doorbells
    for i in range(count):
        drive.run(drive.submit(1, opcode, 16 * i, size // 512 - 1, buffer))
    drive.advance(2000)  # the last doorbell arrives
    after = wire_bytes(drive)
    assert drive.sq_doorbells + drive.cq_doorbells - bells == 2 * count
    wire = limits.command(
        sim_link(drive.sim, limits.Link.parse(link, mps=mps, mrrs=mrrs)),
        limits.Workload(size, float(opcode == NvmOpc.READ), chunk=512),
    )
    for way, want in (("up", wire.up), ("down", wire.down)):
        got = (after[way] + after[f"{way}.dllp"] - before[way] - before[f"{way}.dllp"]) / count
        # DLLPs come one for several TLPs, so the last few may not have been sent yet.
        assert abs(got - want) <= 4 * limits.DLLP / count, (way, got, want)


@pytest.mark.parametrize("opcode", [NvmOpc.READ, NvmOpc.WRITE], ids=lambda o: o.name)
def test_bytes_with_a_list(make_drive: MakeDrive, opcode: int) -> None:
    """128 KiB: the PRP list is read once, and not much more of it than is needed."""
    drive = make_drive(memory=32 << 20)
    drive.start(queues=1, entries=64)
    buffer = drive.buffer(128 << 10)
    before = wire_bytes(drive)
    for i in range(4):
        drive.run(drive.submit(1, opcode, 256 * i, 255, buffer))
    after = wire_bytes(drive)
    wire = limits.command(
        sim_link(drive.sim, limits.Link()), limits.Workload(128 << 10, float(opcode == NvmOpc.READ), chunk=512)
    )
    for way, want in (("up", wire.up), ("down", wire.down)):
        got = (after[way] + after[f"{way}.dllp"] - before[way] - before[f"{way}.dllp"]) / 4
        assert want - 32 <= got <= want + 700, (way, got, want)


@pytest.mark.parametrize("rw", ["randread", "randwrite", "randrw"])
def test_nothing_beats_the_limit(make_drive: MakeDrive, rw: str) -> None:
    """At depth the drive stays below the limit, and the bytes a command needs are not fewer than derived."""
    drive = make_drive(memory=64 << 20)
    drive.start(queues=2, entries=128)
    link = sim_link(drive.sim, limits.Link())
    before, done = wire_bytes(drive), drive.completed
    result = run_group(drive, [Job(rw=rw, bs=4096, iodepth=32, numjobs=2, rwmixread=70, number_ios=300)])[0]
    after, count = wire_bytes(drive), drive.completed - done
    lim = link_limit(link, result)
    assert 0 < result.iops <= lim.iops * 1.001
    for way, least in (("up", lim.up_bytes), ("down", lim.down_bytes)):
        got = (after[way] + after[f"{way}.dllp"] - before[way] - before[f"{way}.dllp"]) / count
        assert got >= least * (0.95 if rw == "randrw" else 0.995), (way, got, least)


# Targets that are missed (docs/ssd/performance.md, "Missed targets"), and by how much at most, by how names start.
KNOWN_MISSES: dict[str, float] = {}


def missed(rows: list[suite.Target]) -> list[str]:
    """Rows that miss their target by more than is known."""
    out = []
    for row in rows:
        known = next((v for k, v in KNOWN_MISSES.items() if row.name.startswith(k)), None)
        if not row.ok and (known is None or (row.measured < known if row.at_least else row.measured > known)):
            out.append(f"{row.name}: {row.measured:g} {row.unit}, target {row.target:g}, known {known}")
    return out


def test_suite_short() -> None:
    rows = list(suite.rows("limit-short"))
    assert len(rows) == 12 and not missed(rows)


@pytest.mark.nightly
def test_a_reader_beside_writers() -> None:
    """A queue with a command now and then waits behind nobody's backlog: `--suite shares`, for a shorter time."""
    rows = [row for urgent in (False, True) for row in suite.shares(urgent, 500)]
    assert len(rows) == 4 and not missed(rows)


@pytest.mark.nightly
def test_suite_shares() -> None:
    rows = list(suite.rows("shares"))
    assert len(rows) == suite.SUITES["shares"] and not missed(rows)


@pytest.mark.nightly
def test_suite_full() -> None:
    rows = list(suite.rows("limit"))
    assert len(rows) > 70 and not missed(rows)


@pytest.mark.nightly
def test_effect_of_the_largest_share() -> None:
    """The example of docs/measuring.md, figure by figure: one queue cannot have more than QUEUE_MAX commands inside."""
    page = (ROOT / "docs" / "measuring.md").read_text()
    for queue_max, queues, depth in ((None, 1, 64), (8, 1, 64), (8, 4, 16)):
        setup = DriveSetup(params={"QUEUE_MAX": queue_max} if queue_max else {}, media_latency_ns=20_000)
        found = measure(setup, [Job(rw="randwrite", iodepth=depth, numjobs=queues)]).groups[0][0]
        row = rf"\| {queue_max or '64 .default.'} \| {queues} x {depth} \| {found.iops / 1000:.1f} \|"
        assert re.search(row, page), row


def test_same_figures_in_every_process(tmp_path: Path) -> None:
    """Same seed, same figures, to the cycle: two processes, whole JSON compared; another seed gives others."""
    files = [tmp_path / f"{i}.json" for i in range(3)]
    for file, seed in zip(files, ("7", "7", "8")):
        subprocess.run(
            [sys.executable, "-m", "doorbell", "bench", "--rw", "randrw", "--bssplit", "4k/60:512/20:16k/20",
             "--random-distribution", "zipf:1.1", "--iodepth", "16", "--numjobs", "3", "--number-ios", "100",
             "--stages", "--randseed", seed, "--json", str(file)],
            check=True, capture_output=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        )  # fmt: skip
    same, again, other = (json.loads(f.read_text()) for f in files)
    assert same == again
    assert other["doorbell"]["sim_ns"] != same["doorbell"]["sim_ns"]


@pytest.mark.parametrize(("rw", "depth"), [("randread", 1), ("randwrite", 1), ("randrw", 24)])
def test_stages_add_up(make_drive: MakeDrive, rw: str, depth: int) -> None:
    """Every command has all its stages, in order, and they add up to the latency that the host saw."""
    drive = make_drive(memory=64 << 20)
    drive.start(queues=2, entries=32)
    recorder = Recorder()
    job = Job(rw=rw, iodepth=depth, numjobs=2, number_ios=80, split=parse_bssplit("4k/50:512/25:32k/25"))
    result = run_group(drive, [job], recorder=recorder)[0]
    assert recorder.skipped == 0 and len(recorder.trips) == result.ios
    for read, side in ((True, result.read), (False, result.write)):
        stages = recorder.stages(read)
        total = sum(v for _, v in stages)
        assert sorted(total) == pytest.approx(sorted(side.clat_ns))
        assert all((v >= 0).all() for _, v in stages), [(n, v.min()) for n, v in stages]
        if len(total):
            named = dict(stages)
            assert named["fetch"].min() >= 400  # host memory's latency
            assert named["media" if read else "data"].min() >= (200 if read else 400)


def test_recording_changes_nothing(make_drive: MakeDrive) -> None:
    figures = []
    for recorder in (None, Recorder()):
        drive = make_drive(memory=64 << 20)
        drive.start(queues=2, entries=32)
        job = Job(rw="randrw", bs=4096, iodepth=16, numjobs=2, number_ios=100)
        result = run_group(drive, [job], recorder=recorder)[0]
        figures.append((result.read.clat_ns, result.write.clat_ns, drive.sim.cycle))
    assert figures[0] == figures[1]


def test_stalls_are_counted(make_drive: MakeDrive) -> None:
    """Slow media: it is the media that the read pipe waits for, most of the time."""
    drive = make_drive(memory=64 << 20, media_gbps=0.5)
    drive.start(queues=1, entries=32)
    recorder = Recorder()
    run_group(drive, [Job(rw="randread", bs=4096, iodepth=16, number_ios=50)], recorder=recorder)
    assert recorder.stalls[1] > 0.8 * recorder.cycles > 0 == recorder.stalls[5]


@pytest.mark.parametrize("name", ["iolog_v2.log", "iolog_v3.log", "blkparse.txt", "msr.csv"])
def test_traces_on_the_drive(make_drive: MakeDrive, name: str) -> None:
    """At their own times they take as long as the trace, as fast as possible less; the same bytes are moved."""
    trace = traces.read_trace(Path(__file__).resolve().parents[2] / "data" / name)
    moved = []
    for afap in (False, True):
        drive = make_drive(memory=64 << 20)
        drive.start(queues=2, entries=64)
        result = traces.replay(drive, trace, Job(iodepth=16), afap=afap)
        last = trace.accesses[-1].at_ns
        assert (result.duration_ns < last) == afap
        assert result.duration_ns < last + 50_000
        moved.append((result.read.bytes, result.write.bytes))
    assert moved[0] == moved[1] == tuple(sum(a.size for a in trace.accesses if a.write == w) for w in (False, True))


def test_clock(make_drive: MakeDrive) -> None:
    """At 50 MHz the drive's own width is the limit: a fifth of the beats."""
    rates = []
    for mhz in (50, 100, 250):
        drive = make_drive(memory=64 << 20, clock_mhz=mhz)
        drive.start(queues=1, entries=64)
        rates.append(run_group(drive, [Job(rw="randread", bs=4096, iodepth=48, number_ios=150)])[0].iops)
    assert rates[1] / rates[0] == pytest.approx(2, rel=0.02) and rates[2] > 2.3 * rates[1]
