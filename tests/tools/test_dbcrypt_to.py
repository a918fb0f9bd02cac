# SPDX-License-Identifier: Apache-2.0
"""dbcrypt --to of tools/ on a fake drive (fake_device.c): what the drive writes is in its image, what the host writes
in the file, and nothing else changes."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from fake_drive import BLOCK, LAST, UNWRITTEN, FakeDrive

pytest.importorskip("cryptography")
from test_dbcrypt import MODES, cipher, key_file  # noqa: E402

SHARED = 0x2000
DRIVE = ["--drive", "--slot", "3"]
BOTH = ["--slot", "3", "--key", "key"]


def target(drive: FakeDrive, before: bytes, name: str = "t", beside: bool = False) -> bytes:
    """What is in a target now. Bytes that the drive wrote are not those that the host wrote."""
    host = (drive.folder / name).read_bytes()
    assert len(host) == len(before)
    image = "image2" if beside else "image"
    old, new = bytes(drive._beside if beside else drive._image), bytearray((drive.folder / image).read_bytes())
    assert len(old) == len(new)
    out = bytearray(host)
    for line in (drive.folder / f"{name}.map").read_text().splitlines():
        at, place, size = (int(word) for word in line.split()[:3])
        place += drive.start
        for i in range(min(size, len(before) - at)):
            if new[place + i] != old[place + i]:
                assert host[at + i] == before[at + i], f"byte {at + i}: the drive and the host"
                out[at + i] = new[place + i]
                new[place + i] = old[place + i]
    assert new == old, "the drive wrote what is not of the target"
    return bytes(out)


def words(drive: FakeDrive, word: str) -> int:
    return sum(line[0] == word for line in drive.log())


def scene(folder: Path, size: int = 5 * BLOCK, **of_target: bool) -> tuple[FakeDrive, bytes, bytes, bytes]:
    """A key, a source `f`, a larger target `t`: the drive, the data, what is to come of them, and what was in `t`."""
    drive = FakeDrive(folder)
    key = key_file(drive, "xts")
    data, before = os.urandom(size), os.urandom(size + 3 * BLOCK)
    drive.write("f", data)
    drive.write("t", before, random.Random(1), **of_target)
    return drive, data, cipher("xts", key, data, encrypt=True) + before[size:], before


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", range(6))
def test_the_drive_writes_files_in_pieces(tmp_path: Path, seed: int, mode: str) -> None:
    """All but what is less than a block; what is behind the data stays."""
    rng = random.Random(seed)
    unit = rng.choice((512, 4096))
    drive = FakeDrive(tmp_path, lba=unit, start=rng.choice([0, 1 << 20]))
    key = key_file(drive, mode)
    size = rng.choice([2, 3, 20, 50]) * BLOCK if mode == "xts" else rng.choice([2 * unit, 12289, 70001, 150000])
    data, before = rng.randbytes(size), rng.randbytes(size + rng.choice([0, 1, 5000, 100000]))
    for name, what in rng.sample([("f", data), ("t", before)], 2):
        drive.write(name, what, rng)
    wanted = cipher(mode, key, data, encrypt=False, unit=unit) + before[size:]
    args = ["-d", "--mode", mode, "--unit", str(unit), "--to", "t"]
    done = drive.run("dbcrypt", *args, *DRIVE, "f", KEY="key", MOST=rng.choice([None, 8192]))
    assert (done.status, done.out, done.err) == (0, b"", b"")
    assert target(drive, before) == wanted
    assert words(drive, "near") == (size % unit != 0)
    stored = [line for line in drive.log() if line[0] == "store"]
    assert sum(int(line[4]) for line in stored if line[6] == "0") == size - size % unit
    assert [line[6] for line in stored].index("1c0") == 0, "first it looks whether results come to memory"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("units", [(512, 512), (512, 4096), (4096, 512), (4096, 4096)])
def test_the_drive_writes_another_namespace(tmp_path: Path, units: tuple[int, int], mode: str) -> None:
    """Of blocks of any size; the source's namespace stays as it is, and what is less than a block of either is
    the host's."""
    rng = random.Random(str(units))
    drive = FakeDrive(tmp_path, lba=units[0], start=rng.choice([0, 1 << 20]))
    key = key_file(drive, mode)
    size = 50 * BLOCK if mode == "xts" else 150_000
    data, before = rng.randbytes(size), rng.randbytes(size + 5000)
    drive.write("f", data, rng)
    drive.write("t", before, rng, beside=True)
    image = bytes(drive._image)
    wanted = cipher(mode, key, data, encrypt=False, unit=units[0]) + before[size:]
    args = ["-d", "--mode", mode, "--unit", str(units[0]), "--to", "t"]
    done = drive.run("dbcrypt", *args, *DRIVE, "f", KEY="key", LBA2=units[1])
    assert (done.status, done.out, done.err) == (0, b"", b"")
    assert target(drive, before, beside=True) == wanted
    assert (tmp_path / "image").read_bytes() == image
    stored = [line for line in drive.log() if line[0] == "store"]
    assert sum(int(line[4]) for line in stored if line[6] == "0") == size - size % max(units)
    assert [line[6] for line in stored].index("1c0") == 0


def test_a_drive_that_stores_in_its_own_namespace_alone(tmp_path: Path) -> None:
    drive, data, _, _ = scene(tmp_path)
    before = os.urandom(len(data))
    drive.write("u", before, beside=True)
    done = drive.run("dbcrypt", "-e", *BOTH, "--to", "u", "f", KEY="key", OWN=1)
    why = b"dbcrypt: f: on the CPU: the drive ended a command with status type 0h, code 02h\n"
    assert (done.status, done.out, done.err) == (0, b"", why)
    assert (tmp_path / "u").read_bytes() == cipher("xts", (tmp_path / "key").read_bytes(), data, encrypt=True)
    assert (tmp_path / "image2").read_bytes() == drive._beside


def test_twice_the_same_way_is_what_was_there(tmp_path: Path) -> None:
    """To a target and back; the times of both say that they were written."""
    drive, data, wanted, before = scene(tmp_path, 40 * BLOCK)
    os.utime(tmp_path / "t", (1, 1))
    assert drive.run("dbcrypt", "-e", *DRIVE, "--to", "t", "f", KEY="key").status == 0
    assert target(drive, before) == wanted
    assert (tmp_path / "t").stat().st_mtime > 1
    drive._image[:] = (tmp_path / "image").read_bytes()
    done = drive.run("dbcrypt", "-d", *DRIVE, "t", KEY="key")
    assert (done.status, done.out[: len(data)]) == (0, data)


@pytest.mark.parametrize("args", [["--key", "key"], ["--cpu", *BOTH]], ids=" ".join)
def test_without_a_drive_the_host_writes(tmp_path: Path, args: list[str]) -> None:
    drive, _, wanted, before = scene(tmp_path)
    done = drive.run("dbcrypt", "-e", *args, "--to", "t", "f", KEY="key")
    assert (done.status, done.out, done.err) == (0, b"", b"")
    assert (tmp_path / "t").read_bytes() == wanted == target(drive, before)
    assert drive.log() == []


CANNOT = {
    "no such command": ({"NOSTORE": 1}, b"the drive has no near-storage commands that store"),
    "another drive": ({"APART": "t"}, b"t: it does not lie on fake0, as the source does"),
    "an IOMMU": ({"BLIND": 1}, b"the drive cannot write to memory that it reads: an IOMMU, perhaps"),
    "no key": ({"KEY": None}, b"the drive ended a command with status type 2h, code 81h"),
    "shared": ({}, b"t: it shares blocks with another file"),
    "inline": ({}, b"t: the file system keeps a part of it in a form of its own (extent flags 200h)"),
    "unwritten": ({}, b"t: a part of it lies on no drive: a hole, or never written"),
    "a hole": ({}, b"t: a part of it lies on no drive: a hole, or never written"),
    "somebody": ({}, b"t: somebody has it open"),
}


@pytest.mark.parametrize("what", CANNOT)
def test_what_the_drive_cannot_do_is_done_by_the_host(tmp_path: Path, what: str) -> None:
    """One line says so; with --drive, or without the key, it is an error, and nothing is written."""
    settings, why = CANNOT[what]
    drive, _, wanted, before = scene(tmp_path)
    extents = tmp_path / "t.map"
    lines = extents.read_text().splitlines(keepends=True)
    flags = {"shared": SHARED, "inline": 0x200, "unwritten": UNWRITTEN}.get(what, 0)
    lines[1] = lines[1].removesuffix("0\n") + f"{flags:x}\n"
    extents.write_text("".join(lines[:1] + lines[2:] if what == "a hole" else lines))
    with (tmp_path / ("t" if what == "somebody" else "f")).open():
        for args in (DRIVE, ["--slot", "3"]):
            done = drive.run("dbcrypt", "-e", *args, "--to", "t", "f", **{"KEY": "key"} | settings)
            assert (done.status, done.out, done.err) == (2, b"", b"dbcrypt: f: not by the drive: " + why + b"\n")
            assert target(drive, before) == before
        done = drive.run("dbcrypt", "-e", *BOTH, "--to", "t", "f", **{"KEY": "key"} | settings)
    assert (done.status, done.out, done.err) == (0, b"", b"dbcrypt: f: on the CPU: " + why + b"\n")
    assert (tmp_path / "t").read_bytes() == wanted == target(drive, before)


@pytest.mark.parametrize("args", [DRIVE, BOTH, ["--key", "key"]], ids=" ".join)
def test_what_is_no_target(tmp_path: Path, args: list[str]) -> None:
    """Nobody writes, and one line says why."""
    drive, _, _, before = scene(tmp_path)
    drive.write("small", before[: 4 * BLOCK])
    (tmp_path / "link").symlink_to("f")
    (tmp_path / "folder").mkdir()
    every = [
        ("small", b"f: not to small: it is smaller than the source"),
        ("f", b"f: not to f: it is the source itself"),
        ("link", b"f: not to link: it is the source itself"),
        ("none", b"none: No such file or directory"),
        ("folder", b"folder: Is a directory"),
    ]
    image = bytes(drive._image)
    for name, text in every:
        done = drive.run("dbcrypt", "-e", *args, "--to", name, "f", KEY="key")
        assert (done.status, done.out, done.err) == (2, b"", b"dbcrypt: " + text + b"\n")
    assert (tmp_path / "image").read_bytes() == image
    assert (tmp_path / "small").read_bytes() == before[: 4 * BLOCK]


def test_a_target_on_blocks_of_the_source(tmp_path: Path) -> None:
    drive, _, _, before = scene(tmp_path)
    first = (tmp_path / "f.map").read_text().split()
    (tmp_path / "t.map").write_text(f"0 {int(first[1]) + BLOCK} {len(before)} {LAST:x}\n")
    done = drive.run("dbcrypt", "-e", *BOTH, "--to", "t", "f", KEY="key")
    assert (done.status, done.err) == (2, b"dbcrypt: f: not to t: it has blocks of the source\n")
    assert (tmp_path / "image").read_bytes() == drive._image


def test_holes_of_the_source_are_for_the_host(tmp_path: Path) -> None:
    """Among parts that the drive writes; without the key an error."""
    drive = FakeDrive(tmp_path)
    key = key_file(drive, "ctr")
    data = os.urandom(5 * BLOCK) + bytes(10 * BLOCK) + os.urandom(1700)
    before = os.urandom(20 * BLOCK)
    drive.write("f", data, random.Random(4), holes=True)
    drive.write("t", before, random.Random(5))
    wanted = cipher("ctr", key, data, encrypt=False) + before[len(data) :]
    args = ["dbcrypt", "-d", "--mode", "ctr", "--to", "t", "f"]
    done = drive.run(*args, *BOTH, KEY="key")
    assert (done.status, done.out, done.err) == (0, b"", b"")
    assert target(drive, before) == wanted
    assert words(drive, "store") > 2 and words(drive, "near") == 1
    drive._image[:] = (tmp_path / "image").read_bytes()
    done = drive.run(*args, *DRIVE, KEY="key")
    assert (done.status, done.err) == (2, b"dbcrypt: f: a part of it lies on no drive: a hole, or never written\n")


def test_a_command_that_fails(tmp_path: Path) -> None:
    """Behind it the host writes, all that is not stored yet; with --drive it is the end."""
    drive, _, wanted, before = scene(tmp_path, 10 * BLOCK)
    text = b"the drive ended a command with status type 2h, code 81h"
    args = ["dbcrypt", "-e", "--to", "t", "f"]
    done = drive.run(*args, *BOTH, KEY="key", FAIL="2:0x281")
    assert (done.status, done.err) == (0, b"dbcrypt: f: partly on the CPU: " + text + b"\n")
    assert target(drive, before) == wanted
    drive._image[:] = (tmp_path / "image").read_bytes()
    done = drive.run(*args, *DRIVE, KEY="key", FAIL="2:0x281")
    assert (done.status, done.err) == (2, b"dbcrypt: f: " + text + b"\n")


def test_a_target_that_changes_meanwhile(tmp_path: Path) -> None:
    drive, _, _, _ = scene(tmp_path)
    args = ["dbcrypt", "-e", *DRIVE, "--to", "t", "f"]
    done = drive.run(*args, KEY="key", TOUCH="t")
    assert (done.status, done.err) == (2, b"dbcrypt: t: it changed meanwhile, so the result may be wrong\n")
    done = drive.run(*args, KEY="key", TOUCH="f")
    assert (done.status, done.err) == (2, b"dbcrypt: f: it changed meanwhile, so the result may be wrong\n")


def test_somebody_who_opens_the_target_ends_it(tmp_path: Path) -> None:
    """The drive writes nothing more, as its blocks may be another file's soon."""
    drive, _, _, _ = scene(tmp_path, 20 * BLOCK)
    done = drive.run("dbcrypt", "-e", *DRIVE, "--to", "t", "f", KEY="key", MOST=4096, OPEN="t")
    assert (done.status, done.err) == (2, b"dbcrypt: f: not to the end of t: somebody opens it\n")
    assert words(drive, "store") == 3


def test_a_source_of_one_block(tmp_path: Path) -> None:
    """At the end of the drive, too: what is looked at before it is two blocks."""
    drive = FakeDrive(tmp_path)
    key = key_file(drive, "xts")
    before, data = os.urandom(BLOCK), os.urandom(512)
    drive.write("t", before)
    drive.write("f", data)
    del drive._image[-BLOCK + 512 :]
    (tmp_path / "image").write_bytes(drive._image)
    done = drive.run("dbcrypt", "-e", *DRIVE, "--to", "t", "f", KEY="key")
    assert (done.status, done.err) == (0, b"")
    assert target(drive, before) == cipher("xts", key, data, encrypt=True) + before[512:]


def test_options(tmp_path: Path) -> None:
    drive = FakeDrive(tmp_path)
    done = drive.run("dbcrypt", "-e", "--slot", "3", "--to", "t", "f", "g")
    assert (done.status, done.err) == (2, b"dbcrypt: --to takes one file, not also g (dbcrypt --help says more)\n")
