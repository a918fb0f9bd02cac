# SPDX-License-Identifier: Apache-2.0
"""dbsum --csv of tools/ on a fake drive (fake_device.c), beside Python's decimal and awk."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from decimal import Decimal, getcontext
from pathlib import Path

import pytest
from fake_drive import FakeDrive
from near_words import random_csv

getcontext().prec = 60
NUMBER = re.compile(r"[ \t]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[ \t]*")


def said(data: bytes, field: int, header: int, separator: str) -> dict[str, object]:
    values, other = [], 0
    lines = data.decode("latin-1").split("\n")[header:]
    for line in lines:
        fields = re.split(f"[{re.escape(separator)}\r]", line)
        text = fields[field - 1] if field <= len(fields) else ""
        number = Decimal(text.strip(" \t")) if NUMBER.fullmatch(text) else None
        if number is not None and number == round(number, 15) and abs(number) < 10**18:
            values.append(number)
        else:
            other += text != ""
    return {
        "count": len(values), "sum": sum(values), "min": min(values, default=None), "max": max(values, default=None),
        "other": other,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_sums_are_as_decimal_says(tmp_path: Path, seed: int) -> None:
    """Lines across commands and extents, longer than commands, without an end; headers; holes; by drive and CPU."""
    rng = random.Random(seed)
    drive = FakeDrive(tmp_path, lba=rng.choice([512, 4096]))
    for _ in range(12):
        separator = rng.choice(",;\t")
        data = random_csv(rng, rng.choice([0, 1, 7, 512, 4097, 30000, 70001]), separator.encode())
        data += rng.choice([b"", b"\n", b"5", b"1.5e1\n", b"x" * 9000 + b"\n7", bytes(9000) + b"\n3\n"])
        drive.write("f", data, rng, holes=True)
        field, header = rng.choice([1, 1, 2, 3, 256]), rng.choice([0, 0, 1, 2, 30])
        cpu = rng.random() < 0.3
        most = rng.choice([1, 3, 64, 999]) if cpu and len(data) < 5000 else rng.choice([512, 4096, None])
        args = [
            "--csv",
            "--field",
            str(field),
            "--header",
            str(header),
            "--separator",
            {"\t": "\\t"}.get(separator, separator),
        ]
        done = drive.run("dbsum", *args, "--json", "f", *(["--cpu"] if cpu else []), MOST=most)
        assert done.status == 0
        assert all(b"partly on the CPU" in line for line in done.err.splitlines())
        got = json.loads(done.out, parse_float=Decimal)
        assert {k: got[k] for k in ("count", "sum", "min", "max", "other")} == said(data, field, header, separator), (
            args
        )


def test_the_drive_adds(tmp_path: Path) -> None:
    """Of plain numbers only the lines across commands are for the CPU; what is odd is told, or refused."""
    drive = FakeDrive(tmp_path)
    data = b"name,price\n" + b"".join(b"n%d,%d.%02d\n" % (n, n * 37 % 1000 - 500, n % 100) for n in range(20000))
    drive.write("f", data)
    done = drive.run("dbsum", "--csv", "--field", "2", "--header", "1", "--drive", "f", MOST=4096)
    want = said(data, 2, 1, ",")
    assert (want["sum"], want["min"]) == (-10000, -500)
    assert (done.status, done.err) == (0, b"")
    assert done.out.decode() == f"count=20000 sum=-10000 min=-500 max={want['max']} other=0\n"
    assert len(drive.commands()) == -(-len(data) // 4096)
    drive.write("g", data + b"n,1e2\n")
    done = drive.run("dbsum", "--csv", "--field", "2", "--header", "1", "g")
    assert done.out.startswith(b"count=20001 ")
    assert done.err == b"dbsum: g: partly on the CPU: 1 fields are no numbers for the drive\n"
    done = drive.run("dbsum", "--csv", "--field", "2", "--header", "1", "--drive", "g")
    assert (done.status, done.out) == (2, b"")
    assert done.err == b"dbsum: g: not by the drive: 1 fields are no numbers for the drive\n"


@pytest.mark.skipif(not shutil.which("awk"), reason="awk is not there")
def test_awk_says_the_same(tmp_path: Path) -> None:
    rng = random.Random(3)
    drive = FakeDrive(tmp_path)
    data = b"".join(b"%d;%d\n" % (rng.randrange(1000), rng.randrange(-(10**6), 10**6)) for _ in range(5000))
    drive.write("f", data)
    script = "{n++; s += $2; if (n == 1 || $2 < a) a = $2; if (n == 1 || $2 > b) b = $2} END {print n, s, a, b}"
    n, total, low, high = subprocess.check_output(["awk", "-F;", script], input=data, text=False).decode().split()
    done = drive.run("dbsum", "--csv", "--separator", ";", "--field", "2", "--drive", "f", MOST=512)
    assert done.out.decode() == f"count={n} sum={total} min={low} max={high} other=0\n"


@pytest.mark.parametrize("lie", [{"LIE": 1}, {"FAIL": "0:0x281"}])
def test_a_drive_that_lies_or_fails(tmp_path: Path, lie: dict[str, object]) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"1\n" * 2048)
    done = drive.run("dbsum", "--csv", "--field", "1", "--drive", "f", **lie)
    assert (done.status, done.out) == (2, b"")


def test_a_sum_that_is_too_large(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    drive.write("f", b"1e22\n" * 20)
    done = drive.run("dbsum", "--csv", "--field", "1", "f")
    assert (done.status, done.out) == (2, b"")
    assert done.err.splitlines()[-1] == b"dbsum: f: the sum is beyond 10^23: look at parts of it"


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--csv", "f"], "--field is missing"),
        (["--csv", "--field", "0", "f"], "--field takes a number from 1 to 256, not 0"),
        (["--csv", "--field", "257", "f"], "--field takes a number from 1 to 256, not 257"),
        (["--csv", "--field", "1", "--separator", "", "f"], "--separator takes a byte or \\t, not "),
        (["--csv", "--field", "1", "--separator", "::", "f"], "--separator takes a byte or \\t, not ::"),
        (["--csv", "--field", "1", "--header", "-1", "f"], "--header takes a number from 0 to 1000000, not -1"),
        (["--csv", "--field", "1", "--type", "u8", "f"], "--csv excludes --type, --record, --column, --where and --or"),
        (["--field", "1", "--type", "u8", "f"], "--field, --separator and --header are of --csv, which is missing"),
        (["--csv", "--field", "1"], "a file is missing"),
    ],
)
def test_options_that_are_wrong(tmp_path: Path, args: list[str], says: str) -> None:
    done = FakeDrive(tmp_path).run("dbsum", *args)
    assert (done.status, done.out) == (2, b"")
    assert done.err.decode().startswith(f"dbsum: {says}")
