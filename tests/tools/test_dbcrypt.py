# SPDX-License-Identifier: Apache-2.0
"""dbcrypt of tools/ on a fake drive (fake_device.c) and on the CPU, beside the `cryptography` package."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path

import pytest
from fake_drive import FakeDrive

pytest.importorskip("cryptography")
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: E402

MODES = ["xts", "ctr"]


def cipher(mode: str, key: bytes, data: bytes, *, encrypt: bool, unit: int = 512) -> bytes:
    """Of a file: data units from 0 on."""
    if mode == "ctr":
        return Cipher(algorithms.AES(key[:-16]), modes.CTR(key[-16:])).encryptor().update(data)
    out = b""
    for at in range(0, len(data), unit):
        c = Cipher(algorithms.AES(key), modes.XTS((at // unit).to_bytes(16, "little")))
        out += (c.encryptor() if encrypt else c.decryptor()).update(data[at : at + unit])
    return out


def key_file(drive: FakeDrive, mode: str, size: int = 32) -> bytes:
    key = os.urandom(2 * size if mode == "xts" else size + 16)
    (drive.folder / "key").write_bytes(key)
    return key


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(4))
def test_what_others_make_of_the_same_key(tmp_path: Path, seed: int, mode: str) -> None:
    """Files in pieces, one behind the other, on the drive and on the CPU; both ways."""
    rng = random.Random(seed)
    unit = rng.choice((512, 4096))
    drive = FakeDrive(tmp_path, lba=unit, start=rng.choice([0, 1 << 20]))
    key = key_file(drive, mode)
    names, data = [], []
    for i in range(3):
        size = rng.choice([0, 1, 3, 20]) * 4096 if mode == "xts" else rng.choice([0, 1, 15, 16, 17, 4096, 70001])
        data.append(rng.randbytes(size))
        drive.write(f"f{i}", data[-1], rng)
        names.append(f"f{i}")
    args = ["--mode", mode, "--unit", str(unit)]
    for encrypt in (False, True):
        wanted = b"".join(cipher(mode, key, d, encrypt=encrypt, unit=unit) for d in data)
        for where in (["--drive", "--slot", "3"], ["--key", "key"], ["--cpu", "--slot", "3", "--key", "key"]):
            done = drive.run("dbcrypt", "-e" if encrypt else "-d", *args, *where, *names, KEY="key", MOST=16384)
            assert (done.status, done.out, done.err) == (0, wanted, b"")
            assert bool(drive.commands()) == ("--drive" in where and any(data))


@pytest.mark.parametrize("mode", MODES)
def test_a_key_that_comes_in_pieces(tmp_path: Path, mode: str) -> None:
    """From a pipe: its first 32 bytes alone would be a key, too."""
    drive = FakeDrive(tmp_path)
    key = os.urandom(64 if mode == "xts" else 48)
    data = os.urandom(512)
    drive.write("f", data)
    os.mkfifo(tmp_path / "key")

    def bring() -> None:
        with open(tmp_path / "key", "wb", buffering=0) as pipe:
            pipe.write(key[:32])
            time.sleep(0.3)
            pipe.write(key[32:])

    thread = threading.Thread(target=bring)
    thread.start()
    done = drive.run("dbcrypt", "-e", "--mode", mode, "--key", "key", "f")
    thread.join()
    assert (done.status, done.out, done.err) == (0, cipher(mode, key, data, encrypt=True), b"")


@pytest.mark.parametrize("mode", MODES)
def test_a_file_at_the_begin_of_the_drive_behind_another_one(tmp_path: Path, mode: str) -> None:
    """Its blocks have their own numbers, not those that the file before it has left in the program."""
    drive = FakeDrive(tmp_path)
    key = key_file(drive, mode)
    data = {name: os.urandom(8192) for name in ("first", "behind")}
    for name, what in data.items():
        drive.write(name, what)
    assert (tmp_path / "first.map").read_text().startswith("0 0 ")
    done = drive.run("dbcrypt", "-d", "--mode", mode, "--drive", "--slot", "3", "behind", "first", KEY="key")
    wanted = b"".join(cipher(mode, key, data[name], encrypt=False) for name in ("behind", "first"))
    assert (done.status, done.out, done.err) == (0, wanted, b"")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [16, 32])
def test_keys_of_both_sizes(tmp_path: Path, size: int, mode: str) -> None:
    """On the CPU; a counter that carries through."""
    drive = FakeDrive(tmp_path)
    key = key_file(drive, mode, size)
    if mode == "ctr":
        key = key[:-16] + b"\xff" * 15 + b"\xfe"
        (tmp_path / "key").write_bytes(key)
    data = os.urandom(5120)
    drive.write("f", data)
    done = drive.run("dbcrypt", "-e", "--mode", mode, "--key", "key", "f")
    assert (done.status, done.out, done.err) == (0, cipher(mode, key, data, encrypt=True), b"")


@pytest.mark.parametrize("mode", MODES)
def test_holes_and_failures_are_for_the_cpu(tmp_path: Path, mode: str) -> None:
    """One line says so, and if the CPU has no key it is an error."""
    drive = FakeDrive(tmp_path)
    key = key_file(drive, mode)
    data = os.urandom(20480) + bytes(40960) + os.urandom(1024)
    drive.write("f", data, random.Random(4), holes=True)
    wanted = cipher(mode, key, data, encrypt=False)
    args = ["dbcrypt", "-d", "--mode", mode, "--slot", "3"]
    done = drive.run(*args, "--key", "key", "f", KEY="key")
    assert (done.status, done.out, done.err) == (0, wanted, b"")
    assert drive.commands()
    done = drive.run(*args, "f", KEY="key")
    assert done.status == 2
    assert done.err == b"dbcrypt: f: a part of it lies on no drive: a hole, or never written\n"
    done = drive.run(*args, "--key", "key", "f", KEY="key", FAIL="1:0x281")
    text = b"the drive ended a command with status type 2h, code 81h"
    assert (done.status, done.out, done.err) == (0, wanted, b"dbcrypt: f: partly on the CPU: " + text + b"\n")
    drive.write("g", data)
    done = drive.run(*args, "--drive", "g", KEY="key", FAIL="0:0x281")
    assert (done.status, done.out, done.err) == (2, b"", b"dbcrypt: g: " + text + b"\n")


def test_no_key_in_the_drive(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    key = key_file(drive, "xts")
    data = os.urandom(1024)
    drive.write("f", data)
    text = b"the drive ended a command with status type 2h, code 81h"
    done = drive.run("dbcrypt", "-d", "--slot", "3", "f")
    assert (done.status, done.out) == (2, b"")
    assert done.err == b"dbcrypt: f: " + text + b"\n"
    done = drive.run("dbcrypt", "-d", "--slot", "3", "f", NONE=1)  # one line, whatever is missing
    assert (done.status, done.out) == (2, b"")
    assert done.err == b"dbcrypt: f: not by the drive: the drive has no near-storage commands\n"
    done = drive.run("dbcrypt", "-d", "--slot", "3", "--key", "key", "f")
    assert (done.status, done.out) == (0, cipher("xts", key, data, encrypt=False))
    assert done.err == b"dbcrypt: f: partly on the CPU: " + text + b"\n"
    done = drive.run("dbcrypt", "-d", "--slot", "20", "--key", "key", "f")  # no program: refused as a whole
    assert (done.status, done.out) == (0, cipher("xts", key, data, encrypt=False))
    assert done.err == b"dbcrypt: f: on the CPU: the drive ended a command with status type 0h, code 02h\n"


def test_a_file_that_is_no_whole_data_units(tmp_path: Path) -> None:
    """Of xts an error; another unit than the drive's blocks is for the CPU."""
    drive = FakeDrive(tmp_path)
    key = key_file(drive, "xts")
    drive.write("f", os.urandom(1000))
    done = drive.run("dbcrypt", "-e", "--slot", "3", "f", KEY="key")
    assert (done.status, done.out, done.err) == (2, b"", b"dbcrypt: f: its size is no multiple of a data unit of xts\n")
    data = os.urandom(8192)
    path = drive.write("g", data)
    Path(f"{path}.map").write_text("0 0 1536 0\n1536 4096 6656 1\n")  # and no extent need be whole ones
    done = drive.run("dbcrypt", "-e", "--slot", "3", "--key", "key", "--unit", "4096", "g", KEY="key")
    assert (done.status, done.out) == (0, cipher("xts", key, data, encrypt=True, unit=4096))
    assert done.err == b"dbcrypt: g: partly on the CPU: a block of the drive is no data unit\n"
    done = drive.run("dbcrypt", "-e", "--slot", "3", "--unit", "4096", "g", KEY="key")
    assert (done.status, done.out, done.err) == (2, b"", b"dbcrypt: g: a block of the drive is no data unit\n")


def test_a_drive_that_takes_a_block_at_a_time(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    key = key_file(drive, "xts")
    data = os.urandom(3072)
    drive.write("f", data)
    done = drive.run("dbcrypt", "-d", "--slot", "3", "f", KEY="key", MOST=512)
    assert (done.status, done.out, done.err) == (0, cipher("xts", key, data, encrypt=False), b"")
    assert len(drive.commands()) == 6


def test_options(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    (tmp_path / "short").write_bytes(bytes(47))
    for args, text in (
        (["-d", "--slot", "1"], b"a file is missing"),
        (["--slot", "1", "f"], b"one of -d and -e is needed"),
        (["-d", "-e", "--slot", "1", "f"], b"one of -d and -e is needed"),
        (["-d", "f"], b"--slot, --key or both are needed"),
        (["-d", "--slot", "0", "f"], b"--slot takes a number from 1 to 63, not 0"),
        (["-d", "--slot", "1", "--mode", "ecb", "f"], b"the mode is xts or ctr, not ecb"),
        (["-d", "--slot", "1", "--unit", "1024", "f"], b"--unit takes 512 or 4096, not 1024"),
        (["-d", "--cpu", "--drive", "--slot", "1", "f"], b"--cpu and --drive exclude each other"),
        (["-d", "--drive", "--key", "short", "f"], b"--drive needs --slot"),
        (["-d", "--cpu", "--slot", "1", "f"], b"--cpu needs --key"),
        (["-d", "--key", "short", "f"], b"a key for xts has 32 or 64 bytes: short"),
        (["-d", "--mode", "ctr", "--key", "short", "f"], b"a key for ctr has 32 or 48 bytes: short"),
        (["-d", "--key", "none", "f"], b"cannot read the key: none"),
        (["-x"], b"there is no such option: -x"),
    ):
        done = drive.run("dbcrypt", *args)
        assert (done.status, done.out, done.err) == (2, b"", b"dbcrypt: " + text + b" (dbcrypt --help says more)\n")
    done = drive.run("dbcrypt", "--help")
    assert done.status == 0
    assert done.out.startswith(b"Usage: dbcrypt ")
