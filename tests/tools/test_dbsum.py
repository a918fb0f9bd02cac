# SPDX-License-Identifier: Apache-2.0
"""dbsum of tools/ on a fake drive (fake_device.c), beside Python."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from fake_drive import FakeDrive

TYPES = {f"{sign}{bits}": (bits // 8, sign == "i") for sign in "ui" for bits in (8, 16, 32, 64)}


def column(data: bytes, kind: str, record: int, at: int) -> tuple[int, int, int | None, int | None]:
    size, signed = TYPES[kind]
    places = range(at, len(data) - size + 1, record)
    values = [int.from_bytes(data[i : i + size], "little", signed=signed) for i in places]
    return len(values), sum(values), min(values, default=None), max(values, default=None)


@pytest.mark.parametrize("seed", range(8))
def test_sums_are_as_python_says(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    drive = FakeDrive(tmp_path, lba=rng.choice([512, 4096]))
    names = []
    for i in range(2):
        size = rng.choice([0, 1, 7, 512, 4097, 30000, 70001])
        drive.write(f"f{i}", rng.randbytes(size) + bytes(rng.choice([0, 0, 9000])), rng, holes=True)
        names.append(f"f{i}")
    for _ in range(20):
        kind = rng.choice(list(TYPES))
        size = TYPES[kind][0]
        record = rng.choice([size, size + 1, rng.randint(size, 40), rng.randint(size, 65535)])
        at = rng.randint(0, record - size)
        args = ["--type", kind, "--record", str(record), "--column", str(at), *names]
        cpu = rng.random() < 0.3
        most = rng.choice([1, 3, 5, 64, 999]) if cpu and record < 100 else rng.choice([512, 4096, None])
        done = drive.run("dbsum", *args, "--json", *(["--cpu"] if cpu else []), MOST=most)
        assert (done.status, done.err) == (0, b"")
        for name, line in zip(names, done.out.splitlines(), strict=True):
            want = column((tmp_path / name).read_bytes(), kind, record, at)
            assert json.loads(line) == {"file": name, **dict(zip(("count", "sum", "min", "max"), want))}, args


def test_sum_of_more_than_64_bits_is_exact(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"\xff" * 80000)
    drive.write("g", (b"\0" * 7 + b"\x80") * 10000)
    most, least = 2**64 - 1, -(2**63)
    for settings in ({}, {"MOST": 512}):
        done = drive.run("dbsum", "--type", "u64", "f", **settings)
        assert done.out.decode() == f"count=10000 sum={10000 * most} min={most} max={most}\n"
        done = drive.run("dbsum", "--type", "i64", "f", "g", **settings)
        want = f"f: count=10000 sum=-10000 min=-1 max=-1\ng: count=10000 sum={10000 * least} min={least} max={least}\n"
        assert done.out.decode() == want


def test_no_value_has_no_least(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write('a "name"', b"abc")
    assert drive.run("dbsum", "--type", "u64", 'a "name"').out == b"count=0 sum=0 min=none max=none\n"
    line = drive.run("dbsum", "--type", "u64", "--json", 'a "name"').out
    assert json.loads(line) == {"file": 'a "name"', "count": 0, "sum": 0, "min": None, "max": None}
