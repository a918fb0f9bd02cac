# SPDX-License-Identifier: Apache-2.0
"""fio's options as `doorbell bench` takes them, and what it draws from them."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from doorbell.bench.jobs import (
    LEAST_THETA,
    Job,
    apply_option,
    describe,
    parse_bs,
    parse_bssplit,
    parse_distribution,
    parse_job_file,
)
from doorbell.bench.runner import Window, Zipf, rate_of, run_group
from doorbell.device.functional import FunctionalSsd
from doorbell.errors import UserError
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from doorbell.paths import ROOT


def drive() -> Driver:
    d = Driver(FunctionalSsd(media_size=8 << 20), HostMemory(64 << 20))
    d.start(queues=2, entries=64)
    return d


def test_block_sizes() -> None:
    assert parse_bs("8k") == (((8192, 1),), ((8192, 1),))
    assert parse_bs("4k,64k") == (((4096, 1),), ((65536, 1),))
    assert parse_bssplit("4k/70:64k/30") == (((4096, 70), (65536, 30)),) * 2
    assert parse_bssplit("4k/50:8k/:16k/") == (((4096, 100), (8192, 50), (16384, 50)),) * 2  # the rest, shared
    assert parse_bssplit("512/100,4k/10:8k/90") == (((512, 100),), ((4096, 10), (8192, 90)))
    assert parse_bssplit("4k/0:8k/100")[0] == ((8192, 100),)
    for bad in ("4k/70:8k/20", "4k/80:8k/30", "4k/x", "", "0/100", "4k/10:8k/90,4k/100,4k/100,4k/100"):
        with pytest.raises(ValueError):
            parse_bssplit(bad)


def test_distribution() -> None:
    assert parse_distribution("random") == 0 and parse_distribution("zipf:1.2") == 1.2
    for bad in ("pareto:0.2", "zipf:-1", "zipf:x", "zipf:nan", "random:3"):
        with pytest.raises(ValueError):
            parse_distribution(bad)


def test_job_file_options() -> None:
    job = parse_job_file(
        "[global]\nrandom_distribution=zipf:0.9\nbssplit=4k/50:16k/50\n[a]\nrw=randrw\nrwmixwrite=30\n"
        "size=1m\noffset=1m\nnumber_ios=50\nrandseed=9\nruntime=2ms\niodepth=8\nnumjobs=2\n"
    )[0]
    assert (job.zipf, job.max_bs, job.min_bs, job.mean_bs) == (0.9, 16384, 4096, 10240)
    assert (job.read_share, job.offset, job.ios(), job.randseed, job.runtime_ns) == (0.7, 1 << 20, 50, 9, 2_000_000)
    assert describe(job) == "randrw 70/30 zipf 0.9 4 KiB to 16 KiB, QD 8 x 2"


def test_size_and_runtime() -> None:
    """As in fio: what ends first ends the job, unless it is time_based."""
    job = parse_job_file("[a]\nrw=read\nbs=4k\nsize=1m\nruntime=1s\n")[0]
    assert job.ios() == 256
    assert parse_job_file("[a]\nrw=read\nbs=4k\nsize=1m\nruntime=1s\ntime_based\n")[0].ios() > 1 << 50


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("zap", "1", "the option 'zap' is not known"),
        ("bs", "0", "at least one byte"),
        ("rw", "up", "not one of"),
        ("iodepth", "0", "not in 1 to"),
        ("bssplit", "4k/70", "add up to 70"),
        ("random_distribution", "zoned:1", "not known"),
    ],
)
def test_bad_options_are_one_line(key: str, value: str, text: str) -> None:
    with pytest.raises(UserError, match=text) as e:
        apply_option(Job(), key, value, "file:3")
    assert str(e.value).startswith("file:3: ") and "\n" not in str(e.value)


def test_unknown_option_of_the_command_line() -> None:
    command = [sys.executable, str(ROOT / "doorbell"), "bench", "--runtme", "3"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and "--runtme" in done.stderr


def test_zipf_is_zipf() -> None:
    count, theta, draws = 1000, 1.2, 40_000
    zipf, rng = Zipf(count, theta, seed=3), random.Random(5)
    seen = Counter(zipf.draw(rng) for _ in range(draws))
    total = sum(k**-theta for k in range(1, count + 1))
    for rank, (_, times) in enumerate(seen.most_common(4), 1):
        want = draws * rank**-theta / total
        assert abs(times - want) < 5 * want**0.5, (rank, times, want)
    assert {(r * zipf.step + zipf.shift) % count for r in range(count)} == set(range(count))  # every block has a rank
    assert len(seen) > 300 and max(seen) < count


def test_weights_of_zipf_fit_in_64_bits() -> None:
    """Of as many blocks as may be, and the least theta: by the integral above their sum."""
    count = 1 << 24
    most = 1 + (count ** (1 - LEAST_THETA) - 1) / (1 - LEAST_THETA)
    assert 2**63 < 2**40 * most < 2**64
    assert Zipf(9, LEAST_THETA, seed=1).sums.dtype == np.uint64
    assert parse_distribution(f"zipf:{LEAST_THETA}") == LEAST_THETA
    for text in ("zipf:0.0009", "zipf:10.1", "zipf:nan"):
        with pytest.raises(ValueError, match="it must be from 0.001 to 10"):
            parse_distribution(text)


def test_what_is_drawn() -> None:
    """Sizes, directions and places of a run are those of the job."""
    d = drive()
    seen: list[tuple[bool, int, int]] = []
    submit = d.submit

    def spy(qid: int, opcode: int, slba: int, nlb: int, *args: object, **named: object) -> object:
        seen.append((opcode == 2, slba * 512, (nlb + 1) * 512))
        return submit(qid, opcode, slba, nlb, *args, **named)  # type: ignore[arg-type]

    d.submit = spy  # type: ignore[method-assign,assignment]
    job = Job(
        "j",
        "randrw",
        iodepth=16,
        rwmixread=70,
        number_ios=1500,
        size=1 << 20,
        offset=2 << 20,
        split=parse_bssplit("4k/75:16k/25,8k/100"),
    )
    result = run_group(d, [job])[0]
    assert all(2 << 20 <= at and at + size <= 3 << 20 and at % 4096 == 0 for _, at, size in seen)
    reads = [size for read, _, size in seen if read]
    assert {size for read, _, size in seen if not read} == {8192}
    assert 0.66 < len(reads) / len(seen) < 0.74 and 0.70 < reads.count(4096) / len(reads) < 0.80
    assert set(result.read.sizes) == {4096, 16384} and result.ios == 1500
    assert result.read.bytes == sum(s * n for s, n in result.read.sizes.items())
    assert len({at for _, at, _ in seen}) > 200


def test_commands_that_end_together_close_no_window() -> None:
    """An interrupt may bring the completion with which a window opens and all that are to be measured."""
    window = Window(Job(rw="read", number_ios=2), 0, 1 << 20, None)
    for done_ns in (50.0, 100.0, 100.0, 100.0, 140.0):
        window.seen += 1
        window.count(True, 4096, 0.0, done_ns)
        assert window.done is (done_ns == 140.0)
    rate, _ = rate_of([window])
    assert rate == 1 / 40


def test_sequential_wraps_inside_its_region() -> None:
    d = drive()
    seen: list[tuple[int, int]] = []
    submit = d.submit

    def spy(qid: int, opcode: int, slba: int, nlb: int, *args: object, **named: object) -> object:
        seen.append((slba * 512, (nlb + 1) * 512))
        return submit(qid, opcode, slba, nlb, *args, **named)  # type: ignore[arg-type]

    d.submit = spy  # type: ignore[method-assign,assignment]
    run_group(d, [Job("j", "read", iodepth=4, number_ios=100, size=100 << 10, split=parse_bssplit("4k/50:12k/50"))])
    at = 0
    for offset, size in seen:
        assert offset == (at if at + size <= 100 << 10 else 0)
        at = offset + size
