# SPDX-License-Identifier: Apache-2.0
"""Figures and files of `doorbell bench`: fio's JSON, the limit of a mix, the stages of a command."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from doorbell.bench.jobs import Job
from doorbell.bench.results import Result, Side, fio_bin, fio_json, link_limit
from doorbell.bench.runner import run_group
from doorbell.bench.stages import Trip, _follow
from doorbell.bench.suite import Target
from doorbell.device import limits
from doorbell.device.functional import FunctionalSsd
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from doorbell.paths import ROOT


def test_fio_bins() -> None:
    """fio's stat.c: below 128 each value is a bin, then 64 bins an octave, each named by its middle."""
    assert [fio_bin(n) for n in (0, 1, 127, 128, 129, 130, 255, 256, 259, 260)] == [
        0,
        1,
        127,
        129,
        129,
        131,
        255,
        258,
        258,
        262,
    ]
    for n in (1000, 12_345, 999_999, 10**9):
        assert abs(fio_bin(n) - n) <= n / 64
        assert fio_bin(fio_bin(n)) == fio_bin(n)


def measured() -> list[Result]:
    d = Driver(FunctionalSsd(media_size=8 << 20), HostMemory(64 << 20))
    d.start(queues=2, entries=64)
    jobs = [Job("mix", "randrw", iodepth=8, number_ios=300, rwmixread=70), Job("r", "read", number_ios=50)]
    return run_group(d, jobs)


def test_fio_json_keys() -> None:
    """What fio's manual names for the JSON output, and sums that must agree."""
    out = json.loads(json.dumps(fio_json([measured()], limits.Link(), {})))
    assert {"fio version", "timestamp", "time", "global options", "jobs", "disk_util"} <= out.keys()
    assert [j["jobname"] for j in out["jobs"]] == ["mix", "r"]
    for job in out["jobs"]:
        assert {"groupid", "error", "job options", "job_runtime", "usr_cpu", "sys_cpu", "ctx"} <= job.keys()
        for way in ("read", "write", "trim"):
            side = job[way]
            assert {
                "io_bytes",
                "io_kbytes",
                "bw_bytes",
                "bw",
                "iops",
                "runtime",
                "total_ios",
                "slat_ns",
                "clat_ns",
                "lat_ns",
                "bw_min",
                "bw_max",
                "bw_mean",
                "iops_mean",
            } <= side.keys()
            if side["total_ios"]:
                assert len(side["clat_ns"]["percentile"]) == 17, "those that fio has where nothing is said"
                assert {"1.000000", "95.000000", "99.500000", "99.990000"} < side["lat_ns"]["percentile"].keys()
                assert sum(side["clat_ns"]["bins"].values()) == side["clat_ns"]["N"] == side["total_ios"]
                assert abs(side["bw_bytes"] / side["iops"] - 4096) < 1
            else:
                assert "bins" not in side["clat_ns"]
    assert out["jobs"][0]["job options"]["rwmixread"] == "70"


def test_fio_tool_reads_it(tmp_path: Path) -> None:
    """fio's own converter of latencies, where fio is installed."""
    tool = shutil.which("fio_jsonplus_clat2csv")
    if not tool or subprocess.run(["python3", "-c", "import six"], capture_output=True).returncode:
        pytest.skip("fio_jsonplus_clat2csv is not installed (Debian: apt-get install fio python3-six)")
    file = tmp_path / "out.json"
    file.write_text(json.dumps(fio_json([measured()], limits.Link(), {})))
    for more in ([], ["--validate"]):
        done = subprocess.run([tool, file, tmp_path / "out.csv", *more], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert done.stdout.count("validated") == 2


def test_limit_of_a_mix() -> None:
    """Per command, bytes of both directions are averages; bandwidth follows the mean size."""
    link = limits.Link()
    a, b = limits.Workload(4096, 1.0), limits.Workload(16384, 0.0)
    both = limits.mix(link, [(3, a), (1, b)])
    one, two = limits.command(link, a), limits.command(link, b)
    assert both.up_bytes == pytest.approx((3 * one.up + two.up) / 4)
    assert both.down_bytes == pytest.approx((3 * one.down + two.down) / 4)
    assert both.bytes_per_s == pytest.approx(both.iops * (3 * 4096 + 16384) / 4)
    assert limits.mix(link, [(7, a)]).iops == pytest.approx(limits.limit(link, a).iops)


def test_limit_counts_what_ran() -> None:
    job = Job(rw="randrw", iodepth=8)
    result = Result(job, Side(3, 3 * 4096, sizes=Counter({4096: 3})), Side(1, 16384, sizes=Counter({16384: 1})), 1e3)
    want = limits.mix(
        limits.Link(),
        [(3, limits.Workload(4096, 1.0, sqes_per_fetch=8)), (1, limits.Workload(16384, 0.0, sqes_per_fetch=8))],
    )
    assert link_limit(limits.Link(), result).iops == pytest.approx(want.iops)
    assert result.bytes_per_s == pytest.approx((3 * 4096 + 16384) / 1e-6)


def test_stages_from_events() -> None:
    """Two commands in one fetch, the slots reused, the queue's tail wrapping: each gets its own moments."""
    trips = [Trip(1, 7 + i, 6 + i, i != 1, True, 0x1000 * (i + 1), 0x8000 * i, 10, 500) for i in range(3)]
    events = [
        (12, "doorbell", 1, 0), (15, "fetch", 1, 6 | 2 << 16), (16, "doorbell", 1, 1), (20, "fetch", 1, 0 | 1 << 16),
        (30, "decode", 3, 1 | 7 << 16), (31, "decode", 4, 1 | 8 << 16), (33, "ar", 0, 0), (34, "aw", 0, 0x8000),
        (35, "rq_read", 128, 0x2000), (40, "r", 0, 0), (41, "r", 1, 0), (44, "data", 3, 0), (46, "cqe", 3, 0),
        (47, "irq", 1, 0), (48, "decode", 3, 1 | 9 << 16), (50, "ar", 0, 0x10000), (55, "w", 0, 0), (60, "r", 0, 0),
        (70, "data", 4, 0), (71, "data", 3, 0), (72, "irq", 1, 0), (73, "cqe", 4, 0), (74, "cqe", 3, 0),
        (75, "irq", 1, 0),
    ]  # fmt: skip
    _follow(trips, events, {1: (6, 6, 8, 1)})
    assert trips[0].at == {
        "doorbell": 12,
        "arbitration": 15,
        "fetch": 30,
        "issue": 33,
        "media": 40,
        "data": 44,
        "CQE": 46,
        "MSI-X": 47,
    }
    assert trips[1].at == {
        "doorbell": 12,
        "arbitration": 15,
        "fetch": 31,
        "PRP": 35,
        "data": 55,
        "media": 70,
        "CQE": 73,
        "MSI-X": 72,
    }
    assert trips[2].at == {
        "doorbell": 16,
        "arbitration": 20,
        "fetch": 48,
        "issue": 50,
        "media": 60,
        "data": 71,
        "CQE": 74,
        "MSI-X": 75,
    }


def test_a_target_is_met_or_not() -> None:
    assert Target("a", 97, 97.0, "%", True).ok and not Target("a", 97, 96.99, "%", True).ok
    assert Target("a", 8, 8, "cycles", False).ok and not Target("a", 8, 9, "cycles", False).ok
    assert not Target("a", 97, 103, "% of link", True).ok  # nothing beats the link: then the measurement is wrong


def test_table_in_the_docs() -> None:
    """docs/measuring.md gives the limits that the code derives."""
    text = (ROOT / "docs" / "measuring.md").read_text().split("### Limits, MB/s of payload", 1)[1]
    lines = [line for line in text.splitlines() if line.startswith("| Gen")][:3]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(rows) == 3
    for name, *figures in rows:
        link = limits.Link.parse(name.replace(" ", ""))
        want = [
            limits.limit(link, limits.Workload(size, read, sqes_per_fetch=8)).bytes_per_s / 1e6
            for size in (512, 4096, 131072)
            for read in (1.0, 0.0, 0.7)
        ]
        assert [int(f.replace(",", "")) for f in figures] == [round(w) for w in want], name
