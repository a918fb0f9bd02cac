# SPDX-License-Identifier: Apache-2.0
"""dbhash of tools/ on a fake drive (fake_device.c), beside hashlib, and CRC-32C as RFC 3720 has it."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
from pathlib import Path

import pytest
from doorbell.compute.near import crc32c
from fake_drive import FakeDrive

SIZES = (0, 1, 55, 56, 63, 64, 65, 511, 512, 4096, 8191, 8192, 8193, 30000, 70001, 200_000)


def digest(data: bytes, algorithm: str) -> str:
    return hashlib.sha256(data).hexdigest() if algorithm == "sha256" else f"{crc32c(data):08x}"


@pytest.mark.parametrize("algorithm", ["sha256", "crc32c"])
@pytest.mark.parametrize("seed", range(4))
def test_digests_are_those_of_the_data(tmp_path: Path, seed: int, algorithm: str) -> None:
    """Files in pieces, in commands that take a part, or nothing for once; on the CPU the same."""
    rng = random.Random(seed)
    drive = FakeDrive(tmp_path, lba=rng.choice([512, 4096]), start=rng.choice([0, 1 << 20]))
    wanted = b""
    names = []
    for i, size in enumerate(rng.sample(SIZES, 6)):
        data = rng.randbytes(size)
        drive.write(f"f{i}", data, rng)
        wanted += f"{digest(data, algorithm)}  f{i}\n".encode()
        names.append(f"f{i}")
    settings = {"TAKE": rng.choice([64, 1000, 16384]), "REFUSE": rng.choice([None, 2, 3]), "MOST": 65536}
    for where in ("--drive", "--cpu"):
        done = drive.run("dbhash", "-a", algorithm, where, *names, **settings)
        assert (done.status, done.out, done.err) == (0, wanted, b""), (where, settings)
        assert bool(drive.commands()) == (where == "--drive")


def test_sha256sum_reads_it(tmp_path: Path) -> None:
    """Also names that have to be escaped."""
    drive = FakeDrive(tmp_path)
    names = ["plain", "two words", "back\\slash", "new\nline", "return\r"]
    for name in names:
        drive.write(name, os.urandom(3000))
    done = drive.run("dbhash", "--drive", *names)
    assert (done.status, done.err) == (0, b"")
    check = subprocess.run(["sha256sum", "-c", "--status"], input=done.out, cwd=tmp_path)
    assert check.returncode == 0
    (tmp_path / "two words").write_bytes(b"other")
    assert subprocess.run(["sha256sum", "-c", "--status"], input=done.out, cwd=tmp_path).returncode == 1


def test_a_file_with_a_hole_is_for_the_cpu(tmp_path: Path) -> None:
    """Of SHA-256 as a whole, and one line says so; CRC-32C takes what lies on the drive from there."""
    drive = FakeDrive(tmp_path)
    data = os.urandom(20_000) + bytes(20_000) + os.urandom(5)
    drive.write("f", data, random.Random(4), holes=True)
    done = drive.run("dbhash", "f")
    assert (done.status, done.out) == (0, f"{digest(data, 'sha256')}  f\n".encode())
    assert done.err == b"dbhash: f: on the CPU: a part of it lies on no drive: a hole, or never written\n"
    assert not drive.commands()
    done = drive.run("dbhash", "--drive", "f")
    assert (done.status, done.out) == (2, b"")
    done = drive.run("dbhash", "-a", "crc32c", "f")
    assert (done.status, done.out, done.err) == (0, f"{digest(data, 'crc32c')}  f\n".encode(), b"")
    assert drive.commands()


@pytest.mark.parametrize("algorithm", ["sha256", "crc32c"])
@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_command_that_fails(tmp_path: Path, number: int, algorithm: str) -> None:
    """The CPU does it, and one line says so; with --drive it is an error."""
    drive = FakeDrive(tmp_path)
    data = os.urandom(50_000)
    drive.write("f", data)
    settings = {"FAIL": f"{number}:0x281", "MOST": 8192}
    done = drive.run("dbhash", "-j1", "-a", algorithm, "f", **settings)
    partly = b"" if algorithm == "sha256" else b"partly "
    assert (done.status, done.out) == (0, f"{digest(data, algorithm)}  f\n".encode())
    assert (
        done.err == b"dbhash: f: " + partly + b"on the CPU: the drive ended a command with status type 2h, code 81h\n"
    )
    done = drive.run("dbhash", "-j1", "-a", algorithm, "--drive", "f", **settings)
    assert (done.status, done.out) == (2, b"")


@pytest.mark.parametrize("algorithm", ["sha256", "crc32c"])
def test_results_that_make_no_sense(tmp_path: Path, algorithm: str) -> None:
    drive = FakeDrive(tmp_path)
    data = os.urandom(3000)
    drive.write("f", data)
    done = drive.run("dbhash", "-a", algorithm, "--drive", "f", LIE=1)
    assert (done.status, done.out, done.err) == (2, b"", b"dbhash: f: what the drive says makes no sense\n")


def test_a_drive_that_has_no_core(tmp_path: Path) -> None:
    """Not for ever: then the CPU does it, and one line says so."""
    drive = FakeDrive(tmp_path)
    data = os.urandom(3000)
    drive.write("f", data)
    done = drive.run("dbhash", "f", TAKE=0)
    assert (done.status, done.out) == (0, f"{digest(data, 'sha256')}  f\n".encode())
    assert done.err == b"dbhash: f: on the CPU: the drive has had no core for it for 1 s\n"
    assert len(drive.commands()) > 10
    done = drive.run("dbhash", "--drive", "f", TAKE=0)
    assert (done.status, done.out, done.err) == (2, b"", b"dbhash: f: the drive has had no core for it for 1 s\n")


@pytest.mark.parametrize("algorithm", ["sha256", "crc32c"])
def test_a_file_that_becomes_empty(tmp_path: Path, algorithm: str) -> None:
    """Between its opening and the look where it lies: a log that is turned over."""
    drive = FakeDrive(tmp_path)
    path = drive.write("f", os.urandom(3000))
    done = drive.run("dbhash", "-a", algorithm, "f", EMPTY=path)
    assert (done.status, done.out, done.err) == (0, f"{digest(b'', algorithm)}  f\n".encode(), b"")


def test_a_file_that_changes(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    path = drive.write("f", os.urandom(3000))
    done = drive.run("dbhash", "f", TOUCH=path)
    assert done.status == 2
    assert b"it changed meanwhile" in done.err


def test_options(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    for args, text in (
        ([], b"a file is missing"),
        (["-a", "md5", "f"], b"the algorithm is sha256 or crc32c, not md5"),
        (["-j", "0", "f"], b"-j takes a number from 1 to 64, not 0"),
        (["--cpu", "--drive", "f"], b"--cpu and --drive exclude each other"),
        (["-a"], b"something is missing behind -a"),
        (["-x", "f"], b"there is no such option: -x"),
    ):
        done = drive.run("dbhash", *args)
        assert (done.status, done.out, done.err) == (2, b"", b"dbhash: " + text + b" (dbhash --help says more)\n")
    done = drive.run("dbhash", "--help")
    assert done.status == 0
    assert done.out.startswith(b"Usage: dbhash ")
    done = drive.run("dbhash", "missing")
    assert (done.status, done.err) == (2, b"dbhash: missing: No such file or directory\n")
