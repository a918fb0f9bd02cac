# SPDX-License-Identifier: Apache-2.0
"""Linux on db_vcsd: stock drivers, ext4 and fio verify (guest/vcsd.sh), and the data is on SSDs that the card drives
itself: simulated ones, or QEMU's stock NVMe drives with image files."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import BACKEND
from test_served_card import processes_of
from test_vm import FAILED, GUEST, command, environment, left_over, pytestmark, vm

pytestmark = [pytestmark, pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive"), pytest.mark.nightly]

SECONDS_BESIDE = 120
"""Of a guest's time, so that fio is at work for most of the time that the tools take."""
QEMU = ["--top", "db_vcsd", "--guests", "2", "--ssd", "qemu", "--size", "128m"]


def test_linux(tmp_path: Path) -> None:
    done = vm(tmp_path, "--top", "db_vcsd", "--size", "64M", "--run", GUEST / "vcsd.sh", timeout=1200)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    assert done.stdout.decode().splitlines()[-1] == "fine"


@pytest.mark.parametrize("form", ["slices", "stripe"])
def test_two_guests(tmp_path: Path, form: str) -> None:
    """A VF each; both QEMU drives have some of it."""
    images = [tmp_path / "a", tmp_path / "b"]
    how = ["--stripe"] if form == "stripe" else ["--vf-size", "64m"]
    done = vm(tmp_path, *QEMU, *how, "--images", *images, "--run", GUEST / "vcsd.sh", timeout=1200)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    assert {"1: fine", "2: fine"} <= set(done.stdout.decode().splitlines())
    assert all(image.stat().st_blocks > 4096 for image in images), "less than 2 MiB"


SYNCED = """#!/bin/bash
set -e
mkfs.ext4 -q /dev/nvme0n1
mount /dev/nvme0n1 /mnt
for i in {1..3000}; do echo "guest SECRET: $i"; done > /mnt/kept
sync /mnt/kept /mnt
echo "synced $(sha256sum < /mnt/kept)"
while :; do head -c 100000 /dev/urandom > /mnt/other; sync /mnt/other; done
"""
AGAIN = """#!/bin/bash
set -e
mount /dev/nvme0n1 /mnt
echo "found $(sha256sum < /mnt/kept)"
umount /mnt
fsck.ext4 -fn /dev/nvme0n1 > /dev/null
"""


def scripts(tmp_path: Path, text: str) -> list[str | Path]:
    """One for each guest, with its number."""
    out: list[str | Path] = []
    for number in (1, 2):
        file = tmp_path / f"job{number}"
        file.write_text(text.replace("SECRET", str(number)))
        out += ["--run", file]
    return out


@pytest.mark.parametrize("number", [1, 2])
def test_tools_on_files_beside_fio(tmp_path: Path, number: int) -> None:
    """In this guest the five tools say of files on its ext4 what grep, awk, sha256sum and the CPU say, while fio
    verifies in the other one."""
    jobs: list[str | Path] = []
    for guest in (1, 2):
        jobs += ["--run", GUEST / ("near.sh" if guest == number else "verified.sh")]
    work = ["--append", f"SECONDS_OF_WORK={SECONDS_BESIDE}"]
    done = vm(tmp_path, *QEMU, "--param", "NEAR=1", *work, *jobs, timeout=3600)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    lines = done.stdout.decode().splitlines()
    names = ("grep", "sum", "csv", "filter", "hash", "crypt", "to", "by hand", "xfs", "partitions")
    tools = [f"{number}: {name}: fine" for name in names]
    assert [line for line in lines if line.endswith("fine")] == [*tools, f"{number}: fine"]
    beside = f"{3 - number}: "
    said = [line for line in lines if line.startswith(beside)]
    assert said[0] == f"{beside}at work" and int(said[-1].removeprefix(f"{beside}verified ")) >= 1
    first = [line for line in lines if line in (said[0], tools[0], tools[-1])]
    assert first.index(said[0]) < first.index(tools[-1]), "fio began when the tools were done"


def meanwhile(
    tmp_path: Path, args: list[str | Path], lines: int, then: Callable[[], None]
) -> tuple[int, list[str], str]:
    """`vm` runs; `then` is called once its guests have said so many lines. Exit status, lines, stderr."""
    process = subprocess.Popen(command(*args), env=environment(tmp_path), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert process.stdout and process.stderr
    said: list[str] = []
    errors = threading.Thread(target=lambda out=process.stderr: said.append(out.read()))
    errors.start()
    limit = threading.Timer(400, process.terminate)
    limit.start()
    heard: list[str] = []
    for line in process.stdout:
        heard.append(line.rstrip("\n"))
        if len(heard) == lines:
            then()
    status = process.wait()
    limit.cancel()
    errors.join()
    return status, heard, said[0]


def server_of(tmp_path: Path) -> int:
    """The process of `doorbell serve`: its socket is below tmp_path."""
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"serve" in words and any(str(tmp_path).encode() in w for w in words):
            return int(entry.parent.name)
    raise AssertionError("no server")


def test_power_is_cut(tmp_path: Path) -> None:
    """All that is not a guest is killed; a new card with the same files has the namespaces, and what was synced."""
    images = [tmp_path / "a", tmp_path / "b"]

    def cut() -> None:
        for pid in [server_of(tmp_path), *processes_of(images[0]), *processes_of(images[1])]:
            os.kill(pid, signal.SIGKILL)

    args = [*QEMU, "--vf-size", "48m", "--images", *images]
    status, lines, said = meanwhile(tmp_path, [*args, *scripts(tmp_path, SYNCED)], 2, cut)
    assert status == FAILED and "the device server ended before the guests" in said
    end = time.monotonic() + 30
    while left_over(tmp_path) and time.monotonic() < end:
        time.sleep(0.1)
    kept = sorted(line.replace("synced", "found") for line in lines)
    assert len(kept) == 2 and len({line[3:] for line in kept}) == 2
    done = vm(tmp_path, *args, *scripts(tmp_path, AGAIN), timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    assert sorted(line for line in done.stdout.decode().splitlines() if "found" in line) == kept


LOAD = """#!/bin/bash
fio --name=load --filename=/dev/nvme0n1 --size=32m --bs=16k --rw=randrw --ioengine=libaio --iodepth=8 --direct=1 \
    --verify=crc32c --verify_fatal=1 --output=/dev/null &
sleep 2
echo "loaded"
wait %1
echo "fio ended with $?"
dd if=/dev/nvme0n1 of=/dev/null bs=64k count=16 iflag=direct status=none
"""


def test_a_drive_is_pulled(tmp_path: Path) -> None:
    """The QEMU of the second SSD ends under load: its guest has errors, the other's fio verifies to its end."""
    images = [tmp_path / "a", tmp_path / "b"]

    def pull() -> None:
        for pid in processes_of(images[1]):
            os.kill(pid, signal.SIGKILL)

    args = [*QEMU, "--vf-size", "64m", "--images", *images, *scripts(tmp_path, LOAD)]
    status, lines, said = meanwhile(tmp_path, args, 2, pull)
    assert "SSD 1 is taken away" in said, said
    assert "1: fio ended with 0" in lines
    assert any(line.startswith("2: fio ended with ") and not line.endswith(" 0") for line in lines), lines
    assert status == 1, "that of the second guest's dd"
