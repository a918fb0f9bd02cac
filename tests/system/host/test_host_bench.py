# SPDX-License-Identifier: Apache-2.0
"""`bench --top db_host`: the targets of db_host, and that what measures them measures."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from doorbell.bench import host as host_bench
from doorbell.bench import recorder as recorder_bench
from doorbell.bench import suite
from doorbell.bench.host import Setup
from doorbell.bench.jobs import Job, groups
from doorbell.bench.recorder import RecorderSetup
from doorbell.device import limits
from doorbell.device.host_sim import HostSim
from doorbell.device.recorder_setup import simulator_params
from doorbell.device.recorder_sim import RecorderSim
from doorbell.errors import UserError

FAST = Setup(read_us=20, write_us=10)


def test_suite_short() -> None:
    rows = list(suite.rows("host-short"))
    assert len(rows) == 6 and not [(r.name, r.measured) for r in rows if not r.ok]


@pytest.mark.nightly
def test_suite_full() -> None:
    rows = list(suite.rows("host-nightly"))
    assert len(rows) == suite.SUITES["host-nightly"] and not [(r.name, r.measured) for r in rows if not r.ok]


@pytest.mark.nightly
def test_faster_than_the_peers() -> None:
    for row in (*host_bench.peers(), *recorder_bench.peers()):
        higher = row.get("higher_is_better", row["table"] == "IntelliProp")
        better = row["ours"] > (row["theirs"] or 0) if higher else row["ours"] < row["theirs"]
        assert better, row


def run(*more: str, json_file: Path | None = None, top: str = "db_host") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "doorbell", "bench", "--top", top, *more]
    if json_file:
        command += ["--json", str(json_file)]
    return subprocess.run(command, capture_output=True, text=True)


def test_same_figures_in_every_process(tmp_path: Path) -> None:
    """Same seed, same cycles: whole JSON compared; another seed gives others."""
    files = [tmp_path / f"{i}.json" for i in range(3)]
    for file, seed in zip(files, ("7", "7", "8")):
        done = run("--rw", "randrw", "--bssplit", "4k/60:512/20:16k/20", "--random-distribution", "zipf:1.1",
                   "--rwmixread", "60", "--iodepth", "24", "--number-ios", "200", "--read-us", "15", "--randseed", seed,
                   json_file=file)  # fmt: skip
        assert done.returncode == 0, done.stderr
    first, again, other = (json.loads(f.read_text()) for f in files)
    assert first == again and first["jobs"] != other["jobs"]
    job = first["jobs"][0]
    assert job["read"]["total_ios"] + job["write"]["total_ios"] == 200
    assert 0.45 < job["read"]["total_ios"] / 200 < 0.75 and 0 < job["doorbell"]["of_limit"] <= 1
    assert min(job["read"]["clat_ns"]["percentile"].values()) > 10_000 and first["doorbell"]["read_us"] == 15


def test_table() -> None:
    done = run("--rw", "write", "--bs", "4k", "--iodepth", "32", "--number-ios", "100")
    assert done.returncode == 0 and "% of link" in done.stdout and "Gen3 x4" in done.stdout, done.stderr


def test_depth_and_latency_are_what_was_asked_for() -> None:
    """One command at a time takes the drive's latency and a little more; eight of them are eight times as many."""
    job = Job(rw="randread", bs=512, number_ios=64)
    alone, eight = (host_bench.measure(FAST, [replace(job, iodepth=n)])[0] for n in (1, 8))
    assert 20_000 < min(alone.read.clat_ns) and max(alone.read.clat_ns) < 21_500
    assert eight.iops / alone.iops == pytest.approx(8, rel=0.06)
    slow = host_bench.measure(replace(FAST, write_us=40), [Job(rw="write", bs=4096, iodepth=1, number_ios=10)])[0]
    assert 40_000 < min(slow.write.clat_ns) and max(slow.write.clat_ns) < 44_000


def test_the_ring_is_seen() -> None:
    """64 KiB of ring and 100 us: 655 MB/s at most, whatever is given to the core."""
    result = host_bench.measure(replace(FAST, write_us=100), [Job(rw="write", bs=4096, iodepth=64, number_ios=64)])[0]
    assert 0.85 * 65536 / 100e-6 < result.bytes_per_s < 65536 / 100e-6


@pytest.mark.nightly
def test_our_own_drive() -> None:
    """A db_ssd behind the link: both directions, data compared."""
    for rw in ("write", "randread"):
        result = host_bench.measure(replace(FAST, ssd="db_ssd", read_us=None, write_us=None),
                                    [Job(rw=rw, bs=4096, iodepth=64, number_ios=300)])[0]  # fmt: skip
        assert result.limit and result.iops / result.limit.iops > 0.9


@pytest.mark.parametrize("rw", ["read", "write"])
def test_wrong_data_is_no_figure(monkeypatch: pytest.MonkeyPatch, rw: str) -> None:
    """What the drive holds in the end is another byte than was given, or read."""
    right = HostSim.media_read

    def wrong(self: HostSim, off: int, n: int, port: int = 0) -> bytes:
        data = bytearray(right(self, off, n, port))
        data[n // 2] ^= 1
        return bytes(data)

    monkeypatch.setattr(HostSim, "media_read", wrong)
    with pytest.raises(UserError, match="is not what"):
        host_bench.measure(FAST, [Job(rw=rw, bs=4096, iodepth=8, number_ios=20)])


def test_error_is_no_figure() -> None:
    with host_bench.open_host(FAST) as sim:
        sim.fault("status", opcode=1, skip=5)
        with pytest.raises(UserError, match="status"):
            host_bench.run_job(sim, Job(rw="write", iodepth=4, number_ios=20), host_bench.link_of(sim, FAST))


def test_mix_of_the_limit() -> None:
    """The limit of a mix lies where its bytes say: both directions carry data, so above that of writes alone."""
    link = limits.Link.parse("gen3x4")
    kinds = [limits.HostWorkload(4096, 1.0), limits.HostWorkload(4096, 0.0)]
    one, other = (limits.host_limit(link, k) for k in kinds)
    both = limits.host_mix(link, [(7, kinds[0]), (3, kinds[1])])
    assert both.up_bytes == pytest.approx(0.7 * one.up_bytes + 0.3 * other.up_bytes)
    assert both.down_bytes == pytest.approx(0.7 * one.down_bytes + 0.3 * other.down_bytes)
    assert both.bytes_per_s > 1.2 * max(one.bytes_per_s, other.bytes_per_s)


@pytest.mark.parametrize("more, text", [
    (("--numjobs", "2"), "one stream"), (("--ssd", "tape"), "tape"), (("--mrrs", "512"), "not for db_host"),
    (("--stages",), "not for db_host"), (("--read-us", "-1"), "read-us"), (("--param", "x=1"), "NUM_CMDS"),
    (("--bs", "700"), "multiple"), (("--backend", "functional"), "not for db_host"),
])  # fmt: skip
def test_bad_options_are_one_line(more: tuple[str, ...], text: str) -> None:
    host_bench.open_host(FAST).close()  # the simulator is there: to build it takes more lines
    done = run(*more)
    assert done.returncode == 2 and text in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_jobs_side_by_side_are_refused() -> None:
    jobs = [Job(), Job()]
    with pytest.raises(UserError, match="one stream"):
        host_bench.check_options(FAST, groups(jobs))
    done = subprocess.run([sys.executable, "-m", "doorbell", "bench", "--ssd", "model"], capture_output=True, text=True)
    assert done.returncode == 2 and "db_ssd" in done.stderr


# ------------------------------------------------------------------------------------------------------- db_recorder

TWO = RecorderSetup(read_us=80, write_us=10)
MB = 1 << 20


def test_recorder_reaches_its_links() -> None:
    """Two drives at their links' limit; the read-out at that of its stream; and the table says so."""
    wrote, read = recorder_bench.measure(TWO, 4 * MB, read=True)
    assert 97 <= wrote.of_links <= 101 and wrote.gb_per_s > recorder_bench.DUNE_CAPTURE and not wrote.lost
    assert 0.97 < read.gb_per_s / read.stream_gb_per_s <= 1.01 and read.stream_gb_per_s < 4
    assert wrote.cycles == pytest.approx(4096 * 0.25 / wrote.gb_per_s) and wrote.peak_us >= 10
    assert sum(wrote.histogram) == 1024 and not sum(wrote.histogram[:4]), "no write takes less than 8 us"
    assert recorder_bench.params_of(TWO) == simulator_params(2), "the simulator that record uses"


@pytest.mark.nightly
def test_recorder_rows_are_met_and_can_be_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the suite: one drive, two drives. With drives of 50 us two are still twice one, and the rings bound each."""
    monkeypatch.setattr(recorder_bench, "EACH", 2 * MB)
    rows = [suite.Target(*r) for r in recorder_bench.targets((1, 2))]
    assert len(rows) == 5 and all(r.ok for r in rows), rows
    monkeypatch.setattr(recorder_bench, "TARGET", replace(TWO, write_us=50))
    slow = [suite.Target(*r) for r in recorder_bench.targets((1, 2))]
    assert [r.ok for r in slow] == [False, False, True, False, True], slow


@pytest.mark.nightly
def test_recorder_is_the_same_each_time(tmp_path: Path) -> None:
    """Same seed, same cycles: whole JSON compared. Another latency, another figure."""
    files = [tmp_path / f"{i}.json" for i in range(3)]
    for file, us in zip(files, ("10", "10", "80")):
        done = run("--rw", "read", "--size", "2m", "--write-us", us, json_file=file, top="db_recorder")
        assert done.returncode == 0 and "% of links" in done.stdout and "Gen3 x4" in done.stdout, done.stderr
    first, again, slow = (json.loads(f.read_text()) for f in files)
    assert first == again and first["doorbell"]["drives"] == 2
    wrote, read = first["jobs"]
    assert wrote["write"]["bw_bytes"] > 6.8e9 and read["read"]["bw_bytes"] > 3.8e9
    assert 0.97 < wrote["doorbell"]["of_limit"] < 1.01 and wrote["doorbell"]["blocks_lost"] == 0
    ours = slow["jobs"][0]["doorbell"]
    assert ours["peak_write_latency_us"] >= 80 and ours["gb_per_s"] < 2 * 80 * 1024 / 80e3, "rings and FIFOs a latency"


def test_recorder_loses_what_does_not_fit() -> None:
    """A source faster than its drives: its buffer fills, then blocks are thrown away and counted; the rest is right."""
    (wrote,) = recorder_bench.measure(replace(TWO, rate=3.5, write_us=100), 8 * MB)
    assert wrote.lost > 300 and wrote.gb_per_s < 2, "a tenth of a millisecond for the rings' 128 KiB"
    (kept,) = recorder_bench.measure(replace(TWO, rate=3.5), 4 * MB)
    assert not kept.lost and kept.gb_per_s == pytest.approx(3.5, rel=0.01)


def test_recorder_of_a_source_that_is_over_at_once_has_no_rate() -> None:
    """All but what its buffer holds is thrown away, and what is stored meanwhile may be less than nothing."""
    for size in (2 * MB, 16 * MB):
        with pytest.raises(UserError, match="too few blocks were stored .* there is no rate"):
            recorder_bench.measure(replace(TWO, rate=1000), size)


@pytest.mark.parametrize("where", ["capture", "read-out"])
def test_recorder_wrong_data_is_no_figure(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """A byte on a drive is another than the stream's, or than what was read."""
    right = RecorderSim.media_view
    looked = []

    def wrong(self: RecorderSim, off: int = 0, size: int | None = None, port: int = 0) -> memoryview:
        data = bytearray(right(self, off, size, port))
        looked.append(port)
        if len(looked) > (2 if where == "read-out" else 0) and port == 1:
            data[len(data) // 2 + 100] ^= 1
        return memoryview(data)

    monkeypatch.setattr(RecorderSim, "media_view", wrong)
    with pytest.raises(UserError, match="is not what"):
        recorder_bench.measure(TWO, 2 * MB, read=True)


def test_recorder_swapped_blocks_are_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drives the other way round: each block is right, the order is not."""
    right = RecorderSim.media_view
    monkeypatch.setattr(RecorderSim, "media_view", lambda self, off, size, port: right(self, off, size, 1 - port))
    with pytest.raises(UserError, match="order"):
        recorder_bench.measure(TWO, 2 * MB)


def test_recorder_failing_drive_costs_its_blocks() -> None:
    """Blocks that a drive does not take are counted as lost, and the figure stands, as all others are there."""
    with recorder_bench.open_recorder(TWO) as sim:
        sim.fault("status", opcode=1, lba=8 * 100, blocks=8 * 7, count=None, status=0x280, port=1)
        found = recorder_bench.capture(sim, TWO, recorder_bench.stream_of(1024, 3))
        assert found.lost == 7


@pytest.mark.parametrize("more, text", [
    (("--iodepth", "4"), "--iodepth: not for"), (("--bs", "4k", "--numjobs", "2"), "--bs, --numjobs"),
    (("--rw", "randwrite"), "captures"), (("--drives", "9"), "1 to 8"), (("--rate", "-1"), "rate"),
    (("--size", "1m"), "media-size"), (("--ssd", "tape"), "tape"), (("--stages",), "not for db_recorder"),
    (("--param", "N_DRIVES=3"), "--drives"), (("jobs.fio",), "job file"),
])  # fmt: skip
def test_recorder_bad_options_are_one_line(more: tuple[str, ...], text: str) -> None:
    done = run(*more, top="db_recorder")
    assert done.returncode == 2 and text in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_recorder_options_are_for_it_alone() -> None:
    done = run("--drives", "2")
    assert done.returncode == 2 and "db_recorder" in done.stderr
