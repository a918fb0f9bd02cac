# SPDX-License-Identifier: Apache-2.0
"""`bench --top db_host`: the targets of db_host, and that what measures them measures."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from doorbell import host_bench, limits, suite
from doorbell.errors import UserError
from doorbell.host_bench import Setup
from doorbell.host_sim import HostSim
from doorbell.jobs import Job, groups
from doorbell.paths import RTL

pytestmark = pytest.mark.skipif(not (RTL / "host" / "db_host.sv").exists(), reason="needs the RTL of db_host")
FAST = Setup(read_us=20, write_us=10)


def test_suite_short() -> None:
    rows = list(suite.rows("host-short"))
    assert len(rows) == 5 and not [(r.name, r.measured) for r in rows if not r.ok]


@pytest.mark.nightly
def test_suite_full() -> None:
    rows = list(suite.rows("host"))
    assert len(rows) == 16 and not [(r.name, r.measured) for r in rows if not r.ok]


@pytest.mark.nightly
def test_faster_than_the_peers() -> None:
    for row in host_bench.peers():
        better = row["ours"] > (row["theirs"] or 0) if row["table"] == "IntelliProp" else row["ours"] < row["theirs"]
        assert better, row


def run(*more: str, json_file: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "doorbell", "bench", "--top", "db_host", *more]
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
    done = run(*more)
    assert done.returncode == 2 and text in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_jobs_side_by_side_are_refused() -> None:
    jobs = [Job(), Job()]
    with pytest.raises(UserError, match="one stream"):
        host_bench.check_options(FAST, groups(jobs))
    done = subprocess.run([sys.executable, "-m", "doorbell", "bench", "--ssd", "model"], capture_output=True, text=True)
    assert done.returncode == 2 and "db_ssd" in done.stderr
