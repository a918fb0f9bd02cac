# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench`: priorities of queues, pace, latency of the media, and what is refused before anything runs.

The functional drive is measured: what the options mean is the same for the RTL.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from doorbell import build
from doorbell.bench import command, host, suite
from doorbell.bench.bringup import Arbitration, queue_priorities, start_queues
from doorbell.bench.jobs import Job, apply_option, parse_job_file, parse_priorities
from doorbell.bench.runner import run_group
from doorbell.cli import main as cli
from doorbell.device import FunctionalSsd
from doorbell.errors import UserError
from doorbell.nvme import Driver, Feature, HostMemory


def bench(*options: str) -> int:
    return cli.run(["bench", "--backend", "functional", "--media-size", "16m", *options])


def figures(tmp_path: Path, *options: str) -> dict[str, Any]:
    """The first job's, of fio's JSON."""
    file = tmp_path / "out.json"
    assert bench("--rw", "randread", "--number-ios", "200", *options, "--json", str(file)) == 0
    return json.loads(file.read_text())["jobs"][0]


def drive(**options: Any) -> Driver:
    return Driver(FunctionalSsd(media_size=16 << 20, **options), HostMemory(64 << 20))


# ---- priorities and arbitration


def test_priorities_decide() -> None:
    """Low waits for high, and urgent for nobody."""
    jobs = parse_job_file(
        "[global]\nrw=randread\nbs=4k\niodepth=32\nnumber_ios=300\n"
        "[u]\nsq_priority=urgent\niodepth=4\n[h]\nsq_priority=high\n[l]\nsq_priority=low\n"
    )
    some = drive(num_cmds=8)
    start_queues(some, 3, 32, jobs, Arbitration.parse(weights="16,4,1", burst="1"))
    assert [some.sqs[q].prio for q in (1, 2, 3)] == [0, 1, 3]
    value = some.get_features(Feature.ARBITRATION)
    assert value & 7 == 0 and (value >> 24, value >> 16 & 0xFF, value >> 8 & 0xFF) == (15, 3, 0)
    urgent, high, low = (float(r.latencies().mean()) for r in run_group(some, jobs))
    assert urgent < high < low / 4


def test_priorities_are_dealt_out() -> None:
    job = Job(numjobs=4, sq_priority=parse_priorities("high,low"))
    assert queue_priorities([job], 4) == [1, 3, 1, 3]
    assert queue_priorities([Job(), job], 5) == [2, 1, 3, 1, 3], "who names none is medium"
    assert queue_priorities([Job(numjobs=4)], 4) == [], "nobody names one"
    with pytest.raises(UserError, match="share 3 queues"):
        queue_priorities([job], 3)


def test_each_group_has_its_own_priorities(tmp_path: Path) -> None:
    file = tmp_path / "jobs.fio"
    file.write_text("[global]\nrw=randread\nnumber_ios=50\n[a]\nsq_priority=low\n[b]\nstonewall\nsq_priority=high\n")
    out = tmp_path / "out.json"
    assert bench(str(file), "--json", str(out)) == 0
    found = [j["job options"]["sq_priority"] for j in json.loads(out.read_text())["jobs"]]
    assert found == ["low", "high"]


@pytest.mark.parametrize(("options", "message"), [
    (("--sq-priority", "top"), "not one of urgent"),
    (("--weights", "1,2"), "three numbers"),
    (("--weights", "0,2,3"), "three numbers"),
    (("--arbitration-burst", "3"), "1, 2, 4"),
    (("--arbitration", "fair"), "not rr or wrr"),
    (("--arbitration", "rr", "--sq-priority", "low"), "mean nothing"),
    (("--thinktime", "soon"), "not a time"),
    (("--rate", "0"), "not above 0"),
    (("--media-latency-ns", "-1"), "not in 0"),
    (("--media-flush-latency-ns", "-1"), "not in 0"),
    (("--media-zero-gbps", "-0.5"), "not in 0 to 4000"),
    (("--fsync", "-1"), "not in 0"),
    (("--media", "nand:qlc"), "nand:cosmos, nand:tlc, nand:znand and nand:FILE.yaml"),
    (("--media", "ram"), "nand:cosmos, nand:tlc, nand:znand and nand:FILE.yaml"),
    (("--media", "nand:tlc"), "--media needs --backend rtl"),
    (("--media", "nand:tlc", "--media-latency-ns", "5"), "has times of its own"),
    (("--media", "nand:tlc", "--precondition", "old"), "none of empty, filled, steady"),
    (("--precondition", "steady"), "--precondition needs --media"),
])  # fmt: skip
def test_what_makes_no_sense(options: tuple[str, ...], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert bench("--rw", "randread", *options) == 2
    assert message in capfd.readouterr().err


def test_hosts_have_no_queues_to_give(capfd: pytest.CaptureFixture[str]) -> None:
    for options in (("--weights", "1,2,3"), ("--thinktime", "5"), ("--sq-priority", "low")):
        assert cli.run(["bench", "--top", "db_host", *options]) == 2
        assert "not for db_host" in capfd.readouterr().err


def test_hosts_do_not_trim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """They would write, and it would stand there as trims."""
    monkeypatch.setattr(host, "open_host", lambda _: pytest.fail("a simulator is opened"))
    (tmp_path / "jobs.fio").write_text("[a]\nrw=read\nfunction=0\n")
    for options in (("--rw", "randtrim"), (str(tmp_path / "jobs.fio"),)):
        assert cli.run(["bench", "--top", "db_host", *options]) == 2
        assert "not for db_host" in capfd.readouterr().err


# ---- pace


def test_rates(tmp_path: Path) -> None:
    """What is asked for is what comes, each copy by itself."""
    assert figures(tmp_path, "--rate-iops", "50000")["read"]["iops"] == pytest.approx(50_000, rel=0.02)
    three = figures(tmp_path, "--rate-iops", "50000", "--numjobs", "3")["read"]["iops"]
    assert three == pytest.approx(150_000, rel=0.02)
    assert figures(tmp_path, "--rate", "100m")["read"]["bw_bytes"] == pytest.approx(100 << 20, rel=0.02)
    free, bound = (figures(tmp_path, *o)["read"]["iops"] for o in ((), ("--rate-iops", "100000000")))
    assert free == bound, "a rate that the drive cannot reach changes nothing"


def test_thinktime(tmp_path: Path) -> None:
    """A copy rests when what it has sent is done; latencies are those of a drive at rest."""
    one = figures(tmp_path, "--iodepth", "1")["read"]
    resting = figures(tmp_path, "--iodepth", "1", "--thinktime", "20")["read"]
    assert 1e9 / resting["iops"] == pytest.approx(1e9 / one["iops"] + 20_000, rel=0.05)
    assert resting["clat_ns"]["mean"] == pytest.approx(one["clat_ns"]["mean"], rel=0.1)
    four = figures(tmp_path, "--iodepth", "4", "--thinktime", "20us", "--thinktime-blocks", "4")["read"]
    assert four["iops"] > 3 * resting["iops"]


def test_options_of_job_files() -> None:
    job = Job()
    for key, value in (("thinktime", "7"), ("thinktime_blocks", "2"), ("rate", "1m"), ("rate_iops", "500")):
        job = apply_option(job, key, value, "here")
    assert (job.thinktime_ns, job.thinktime_blocks, job.rate, job.rate_iops) == (7000, 2, 1 << 20, 500)


# ---- media


def test_latency_of_the_media(tmp_path: Path) -> None:
    base = figures(tmp_path, "--iodepth", "1")["read"]["clat_ns"]["mean"]
    slow = figures(tmp_path, "--iodepth", "1", "--media-latency-ns", "30000")["read"]["clat_ns"]["mean"]
    assert slow - base == pytest.approx(30_000, abs=100)
    both = ("--iodepth", "1", "--rw", "randwrite", "--media-latency-ns", "30000", "--media-write-latency-ns", "0")
    file = tmp_path / "w.json"
    assert bench(*both, "--number-ios", "100", "--json", str(file)) == 0
    assert json.loads(file.read_text())["jobs"][0]["write"]["clat_ns"]["mean"] < slow - 20_000


def test_flushes_take_their_time(tmp_path: Path) -> None:
    """One command in flight: of N writes and a flush, the flush adds its latency and is not counted."""

    def rate(*options: str) -> float:
        file = tmp_path / "w.json"
        write = ("--rw", "randwrite", "--iodepth", "1", "--number-ios", "100", "--json", str(file))
        assert bench(*write, *options) == 0
        found = json.loads(file.read_text())["jobs"][0]
        assert found["read"]["total_ios"] == 0 and found["write"]["total_ios"] == 100
        return 1e9 / found["write"]["iops"]

    none, some = rate(), rate("--fsync", "4")
    slow = rate("--fsync", "4", "--media-flush-latency-ns", "80000")
    assert rate("--media-flush-latency-ns", "80000") == none < some
    assert slow - some == pytest.approx(80_000 / 4, rel=0.05)


# ---- what is said and refused


def test_a_rate_that_never_was(capfd: pytest.CaptureFixture[str]) -> None:
    assert bench("--rw", "randread", "--numjobs", "4", "--number-ios", "1") == 0
    assert capfd.readouterr().err.count("ever had") == 1
    assert bench("--rw", "randread", "--number-ios", "1") == 0
    assert not capfd.readouterr().err


def test_parameters_are_checked_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is built, no file is begun."""
    monkeypatch.setenv("DOORBELL_CACHE", str(tmp_path / "cache"))
    assert cli.run(["bench", "--param", "NUM_CMD=64"]) == 2
    assert "did you mean NUM_CMDS?" in capfd.readouterr().err
    (tmp_path / "s.yaml").write_text("defaults: {rw: randread}\ngrid: {NUM_QPS: [1, 2]}\n")
    assert cli.run(["sweep", str(tmp_path / "s.yaml"), "--out", str(tmp_path / "s.csv")]) == 2
    assert "db_ssd has no parameter NUM_QPS: did you mean NUM_QP?" in capfd.readouterr().err
    assert cli.run(["serve", "--socket", str(tmp_path / "s"), "--param", "NUM_NSS=2"]) == 2
    assert "did you mean NUM_NS?" in capfd.readouterr().err
    assert sorted(f.name for f in tmp_path.iterdir()) == ["s.yaml"]


def test_the_width_that_is_shown_is_the_one_that_is_measured(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    measured: list[tuple[int, dict[str, Any]]] = []

    def no_drive(setup: Any, *_: object, **__: object) -> None:
        measured.append((setup.data_w, setup.params))
        raise UserError("no further")

    monkeypatch.setattr(command, "measure", no_drive)
    for options in (("--param", "DATA_W=512"), ("--param", "DATA_W=128", "--data-w", "128", "--param", "NUM_QP=8"), ()):
        assert cli.run(["bench", *options]) == 2
    assert measured == [(512, {}), (128, {"NUM_QP": 8}), (256, {})]
    for bad, said in ((("--param", "DATA_W=512", "--data-w", "128"), "--data-w says 128"),
                      (("--param", "DATA_W=64"), "--data-w: 64"), (("--data-w", "0"), "--data-w: 0"),
                      (("--mrrs", "0"), "--mrrs: 0")):  # fmt: skip
        capfd.readouterr()
        assert cli.run(["bench", *bad]) == 2 and said in capfd.readouterr().err
    assert len(measured) == 3


# ---- suites


@pytest.mark.parametrize(("options", "names"), [
    (("limit", "--param", "NUM_CMDS=64"), "--param is"),
    (("limit", "--link", "gen4x8", "--data-w", "512"), "--link, --data-w are"),
    (("host", "--top", "db_ssd"), "--top is"),  # also where it is the default
    (("shares", "--mps", "256", "--param", "QUEUE_MAX=8"), "--mps is"),
    (("shares", "jobs.fio"), "a job file is"),
    (("limit-short", "--rw", "read", "--speed"), "--rw, --speed are"),
])  # fmt: skip
def test_a_suite_says_what_it_does_not_take(
    options: tuple[str, ...], names: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["bench", "--suite", *options]) == 2
    said = capfd.readouterr().err
    assert f"--suite {options[0]} brings its own jobs and drives: {names} not for it" in said
    assert said.count("\n") == 1


def test_shares_takes_parameters(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """--param reaches the drive that is measured, and is checked before."""
    opened: list[dict[str, Any]] = []

    def no_drive(*args: object, **options: Any) -> None:
        opened.append(options)
        raise UserError("no further")

    monkeypatch.setattr(suite, "open_sim", no_drive)
    assert cli.run(["bench", "--suite", "shares", "--param", "QUEUE_MAX=8", "--param", "QUEUE_MIN=2"]) == 2
    assert [o["params"] for o in opened] == [{"QUEUE_MAX": 8, "QUEUE_MIN": 2}]
    assert cli.run(["bench", "--suite", "shares"]) == 2 and opened[1]["params"] == {}
    assert cli.run(["bench", "--suite", "shares", "--param", "QUEUE_MAXI=8"]) == 2 and len(opened) == 2
    assert "did you mean QUEUE_MAX?" in capfd.readouterr().err


@pytest.mark.parametrize("top", ["db_ssd", "db_csd", "db_host", "db_recorder", "db_axi_fifo"])
def test_parameters_of_tops(top: str) -> None:
    build.check_params(top, ["DATA_W"])
    with pytest.raises(UserError, match=f"{top} has no parameter"):
        build.check_params(top, ["DATAW"])
    with pytest.raises(UserError, match="it has .*DATA_W"):
        build.check_params(top, ["XYZZY_QUUX"])


def test_sweeps_have_them_too(tmp_path: Path) -> None:
    """Priorities, weights and pace are parameters of a sweep."""
    (tmp_path / "s.yaml").write_text(
        "defaults: {backend: functional, rw: randread, number_ios: 50, numjobs: 2, media_size: 16m}\n"
        "grid: {sq_priority: ['high,low', 'low'], weights: ['8,4,1'], rate_iops: [20000, 40000]}\n"
    )
    out = tmp_path / "s.csv"
    assert cli.run(["sweep", str(tmp_path / "s.yaml"), "--out", str(out), "--jobs", "1"]) == 0
    lines = out.read_text().splitlines()
    head = lines[0].split(",")
    assert len(lines) == 5 and {"sq_priority", "weights", "rate_iops"} <= set(head)
