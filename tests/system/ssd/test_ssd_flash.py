# SPDX-License-Identifier: Apache-2.0
"""Random reads of a drive with media of flash: the table of docs/media.md, and what the model alone does as often."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from doorbell import paths
from doorbell.bench.drive import DriveSetup, measure
from doorbell.bench.jobs import Job
from doorbell.bench.results import Result
from doorbell.device.nand import READ_BUF_BYTES, parse_media
from doorbell.device.nand_model import NandModel

pytestmark = pytest.mark.rtl
JOB = Job(rw="randread", bs=4096, iodepth=64, numjobs=2, number_ios=1000)
SMALL = 16 << 10
"""The parameter's default."""
NIGHTLY = pytest.mark.nightly
TABLE = re.compile(r"^\| `nand:(\w+)` \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", re.MULTILINE)
TEXT = (paths.ROOT / "docs" / "media.md").read_text()
TOLD = {name: [float(n) for n in figures] for name, *figures in TABLE.findall(TEXT)}


def measured(profile: str, params: dict[str, int | str], job: Job = JOB) -> Result:
    nand = parse_media(f"nand:{profile}")
    return measure(DriveSetup(nand=nand, media_size=nand.capacity, params=params), [job]).groups[0][0]


def alone(profile: str, depth: int = 128) -> float:
    """The same of the model without a drive."""
    nand, rng = parse_media(f"nand:{profile}"), random.Random(1)
    at = [rng.randrange(nand.capacity // 4096) * 4096 for _ in range(4000)]
    with NandModel(nand) as model:
        took_ns, _ = model.play(at, write=False, depth=depth)
    return len(at) / took_ns * 1e6


def test_all_profiles_are_told() -> None:
    assert sorted(TOLD) == ["cosmos", "tlc", "znand"]


@pytest.mark.parametrize("profile", ["znand", "tlc", pytest.param("cosmos", marks=NIGHTLY)])
def test_reads_reach_the_dies(profile: str) -> None:
    """What is told to 1 %, and more than half of what the dies do for as many reads that need not keep an order."""
    found, free = measured(profile, {}), alone(profile)
    rate = found.iops / 1000
    small, told, of_model = TOLD[profile]
    assert rate == pytest.approx(told, rel=0.01) and free == pytest.approx(of_model, rel=0.01)
    assert rate > 0.5 * free and rate > 3.5 * small


@pytest.mark.parametrize("profile", [pytest.param(p, marks=NIGHTLY) for p in TOLD])
def test_reads_of_the_default_buffer(profile: str) -> None:
    """And no more than 16 KiB at a time, each for as long as a read takes alone."""
    rate = measured(profile, {"READ_BUF_BYTES": SMALL}).iops / 1000
    assert rate == pytest.approx(TOLD[profile][0], rel=0.01)
    assert rate < SMALL / 4096 * alone(profile, 1) * 1.15


def test_media_of_flash_choose_the_buffer() -> None:
    short = replace(JOB, number_ios=100)
    chosen = measured("znand", {}, short)
    assert chosen.duration_ns == measured("znand", {"READ_BUF_BYTES": READ_BUF_BYTES}, short).duration_ns
