# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench --functions`: who runs which job, which drive it takes, what is refused, how shares are counted."""

from __future__ import annotations

import pytest
from doorbell.bench.function_results import function_json, of_fair
from doorbell.bench.functions import Functions, check_jobs, jobs_of, queue_pairs, with_fn0
from doorbell.bench.jobs import Job, apply_option, parse_functions, parse_job_file
from doorbell.bench.results import Result, Side
from doorbell.bench.shares import parse_shares
from doorbell.cli import main as cli
from doorbell.device.limits import Link
from doorbell.errors import UserError


def test_words_for_functions() -> None:
    assert parse_functions("0") == (0,) and parse_functions("1-3") == (1, 2, 3)
    assert parse_functions("5, 0-1,1") == (0, 1, 5)
    for text in ("", "a", "1-", "-1", "1-b", "1,,2"):
        with pytest.raises(ValueError, match="not a function"):
            parse_functions(text)
    with pytest.raises(ValueError, match="'3-1' ends before it begins"):
        parse_functions("0,3-1")  # it would be for all functions if it named none
    with pytest.raises(ValueError, match="is not a function"):
        parse_functions("1-99999999999")


def test_jobs_by_function() -> None:
    jobs = parse_job_file("[global]\nrw=randread\n[all]\n[one]\nfunction=0\n[two]\nfunction=1-2\n")
    assert [[j.name for j in jobs_of(jobs, fn)] for fn in range(4)] == [
        ["all", "one"], ["all", "two"], ["all", "two"], ["all"]]  # fmt: skip
    check_jobs(jobs, Functions(3))
    with pytest.raises(UserError, match="there is no function 2"):
        check_jobs(jobs, Functions(2))
    with pytest.raises(UserError, match="--functions"):
        check_jobs(jobs, None)


def test_another_job_for_function_0() -> None:
    quiet, noisy = with_fn0([Job(rw="randread", iodepth=128)], "iodepth=1 bs=8k", 17)
    assert (quiet.iodepth, quiet.bs, quiet.rw, quiet.functions) == (1, 8192, "randread", (0,))
    assert (noisy.iodepth, noisy.functions) == (128, tuple(range(1, 17)))
    for jobs, options, count in (([Job()], "iodepth=1", 1), ([Job(), Job()], "iodepth=1", 2), ([Job()], "depth=1", 2)):
        with pytest.raises(UserError):
            with_fn0(jobs, options, count)


def test_queue_pairs_grow_as_needed() -> None:
    assert queue_pairs([1] * 17, 17) == 32
    assert queue_pairs([3] * 17, 17) == 64
    assert queue_pairs([8] * 17, 17) == 192
    assert queue_pairs([1], 17) == 32
    with pytest.raises(UserError, match="at most 8"):
        queue_pairs([1, 9], 2)
    jobs = [[Job(numjobs=2), Job(numjobs=4, functions=(0,))]]
    assert Functions(3).params(jobs, {}) == {"NUM_FN": 17, "NUM_NS": 17, "NUM_QP": 32}
    assert Functions(3).params(jobs, {"NUM_FN": 4, "NUM_QP": 64}) == {"NUM_FN": 4, "NUM_NS": 4, "NUM_QP": 64}
    assert Functions(1).params(jobs, {"NUM_FN": 1}) == {"NUM_FN": 1}
    with pytest.raises(UserError, match="NUM_FN is 2"):
        Functions(3).params(jobs, {"NUM_FN": 2})


@pytest.mark.parametrize(("options", "message"), [
    (("--functions", "18"), "1 to 17"),
    (("--functions", "0"), "1 to 17"),
    (("--fn0", "iodepth=1"), "need --functions"),
    (("--namespaces", "private"), "need --functions"),
    (("--functions", "2", "--namespaces", "own"), "shared or private"),
    (("--functions", "2", "--backend", "functional"), "needs --backend rtl"),
    (("--functions", "2", "--speed"), "not for a trace"),
    (("--functions", "2", "--top", "db_host"), "not for a trace"),
    (("--functions", "2", "--numjobs", "9"), "at most 8"),
    (("--fn-weights", "2,1"), "need --functions"),
    (("--fn-slots", "0=min:1"), "need --functions"),
    (("--fn-limit", "0=iops:1"), "need --functions"),
    (("--functions", "1", "--param", "NUM_FN=1", "--fn-weights", "2"), "need a drive with VFs"),
    (("--functions", "2", "--fn-weights", "4,2,1"), "3 values for 2 functions"),
    (("--fn-deadlines", "20"), "need --functions"),
    (("--functions", "2", "--fn-deadlines", "0,65536"), "'65536' is not a number from 0 to 65535"),
    (("--functions", "2", "--fn-weights", "4,0"), "'0' is not a number from 1 to 255"),
    (("--functions", "2", "--fn-limit", "iops:5"), "say which function, as in --fn-limit 2=iops:20000,bw:500m"),
    (("--functions", "2", "--fn-limit", "x=iops:5"), "'x' is no function: use 0 or PF, 2 or VF2, 1-16"),
    (("--functions", "2", "--fn-limit", "VF2=iops:5"), "there is no function 2: they are 0 to 1"),
    (("--functions", "2", "--fn-limit", "1=rate:5"), "'rate' is not one of iops, bw, iops-burst, bw-burst"),
    (("--functions", "2", "--fn-limit", "1=iops:0"), "'0' is not a number from 1 to"),
    (("--functions", "2", "--fn-limit", "1=bw:fast"), "'fast' is not a size"),
    (("--functions", "2", "--fn-limit", "1=bw:0"), "'0' is not in 1 to"),
    (("--functions", "2", "--fn-limit", "1=bw-burst:1m"), "bw-burst needs bw"),
    (("--functions", "2", "--fn-slots", "1=min:1000"), "'1000' is not a number from 0 to 256"),
    (("--functions", "2", "--fn-slots", "1=8"), "'8' is not one of min, max"),
])  # fmt: skip
def test_what_makes_no_sense(options: tuple[str, ...], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["bench", "--rw", "randread", *options]) == 2
    assert message in capfd.readouterr().err


def test_words_for_shares() -> None:
    shares = parse_shares(
        "4,2", ["PF=min:8, max:64", "1-2=min:0"], ["VF2=iops:20000,bw:500m", "1=iops:9,iops-burst:3"], 4
    )
    assert {s.function: s.given for s in shares} == {
        0: {"weight": 4, "slots_min": 8, "slots_max": 64},
        1: {"weight": 2, "slots_min": 0, "iops": 9, "iops_burst": 3},
        2: {"slots_min": 0, "iops": 20000, "bytes_per_s": 500 << 20},
    }
    assert parse_shares(None, [], [], 17) == ()
    assert [s.function for s in parse_shares(None, ["vf1-vf3=max:2"], [], 5)] == [1, 2, 3]
    assert parse_shares(None, [], ["1=bw:2g/s,bw-burst:256k"], 2)[0].given == {
        "bytes_per_s": 2 << 30,
        "bytes_burst": 1 << 18,
    }
    many = Functions(4, shares=shares)
    assert many.weights == {0: 4, 1: 2} and "function 2: slots min 0, iops 20,000, bytes per s 524,288,000" in str(many)


def result(fn: int, ios: int, size: int = 4096) -> Result:
    side = Side()
    for i in range(ios):
        side.add(size, 1000.0 + i)
    return Result(Job(bs=size), side, Side(), duration_ns=1e6, function=fn)


def test_shares_of_fair() -> None:
    link = Link.parse("gen3x8")
    weighted = of_fair([result(0, 40), result(1, 20), result(2, 30)], link, {0: 4, 1: 2})
    assert weighted == {
        0: pytest.approx(40 * 7 / 4 / 90),
        1: pytest.approx(20 * 7 / 2 / 90),
        2: pytest.approx(30 * 7 / 90),
    }
    fair = of_fair([result(0, 10), result(1, 10), result(1, 20)], link)
    assert fair[0] == pytest.approx(0.5) and fair[1] == pytest.approx(1.5)
    found = function_json([result(0, 10), result(1, 30)], link)
    assert [row["function"] for row in found["functions"]] == [0, 1]
    assert found["functions"][1]["iops"] == pytest.approx(30e3) and found["sum"]["iops"] == pytest.approx(40e3)
    assert found["sum"]["bw_bytes"] == pytest.approx(40e3 * 4096)
    assert found["functions"][0]["of_fair"] == pytest.approx(0.5)


def test_deallocation_is_a_job() -> None:
    job = apply_option(Job(), "rw", "randtrim", "here")
    assert job.trims and job.read_share == 0 and not Job(rw="randwrite").trims
