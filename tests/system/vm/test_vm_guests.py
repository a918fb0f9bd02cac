# SPDX-License-Identifier: Apache-2.0
"""`doorbell vm --guests N`: Linux guests at once, each with a VF of one drive."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import BACKEND
from doorbell.errors import UserError
from doorbell.vm.guest import Guest
from doorbell.vm.guests import Guests, Lines
from test_vm import FAILED, GUEST, pytestmark, vm  # noqa: F401 - the mark is this module's, too

JOB = """#!/bin/bash
set -e
printf 'no end of line: '
device=/dev/nvme0n1
for i in {1..20000}; do echo "guest SECRET: $i"; done | head -c 256K >/tmp/data
dd if=/tmp/data of=$device bs=4k oflag=direct status=none
dd if=$device of=/tmp/back bs=4k count=64 iflag=direct status=none
cmp /tmp/data /tmp/back
echo "namespace $(cat /sys/block/nvme0n1/nsid)"
printf done
exit CODE
"""


def jobs(tmp_path: Path, codes: list[int]) -> list[str | Path]:
    args: list[str | Path] = []
    for number, code in enumerate(codes, 1):
        file = tmp_path / f"job{number}"
        file.write_text(JOB.replace("SECRET", str(number)).replace("CODE", str(code)))
        args += ["--run", file]
    return args


@pytest.mark.nightly
@pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive")
def test_two_guests(tmp_path: Path) -> None:
    """Each has a namespace of its own and its own script; lines have numbers; the worst exit status counts."""
    done = vm(tmp_path, "--guests", "2", "--param", "SGL=1", *jobs(tmp_path, [3, 0]), timeout=580)
    lines = sorted(done.stdout.decode().splitlines())
    assert lines == ["1: done", "1: no end of line: namespace 2", "2: done", "2: no end of line: namespace 3"]
    assert done.returncode == 3, done.stderr.decode()[-2000:]


@pytest.mark.nightly
@pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive")
def test_sgls_of_vfs(tmp_path: Path) -> None:
    """Both drivers use SGLs for all they can, at the same time: fio verify, ext4, and the proof that they do."""
    script = GUEST / "sgl.sh"
    done = vm(tmp_path, "--guests", "2", "--param", "SGL=1", "--size", "160m", "--run", script, "--run", script,
              timeout=1500)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert {"1: fine", "2: fine"} <= set(done.stdout.decode().splitlines())


@pytest.mark.parametrize(("scripts", "count", "why"), [
    ([], 2, "wants --run"), (["a", "b"], 3, "2 times for 3 guests"), (["a", "b"], 1, "2 times for 1 guests"),
])  # fmt: skip
def test_scripts_for_guests(scripts: list[str], count: int, why: str) -> None:
    with pytest.raises(UserError, match=why) as e:
        Guests(Guest(), scripts, count, [])
    assert e.value.status == FAILED


def test_a_script_twice_is_for_guests(tmp_path: Path) -> None:
    done = vm(tmp_path, "--run", "a", "--run", "b")
    assert b"--run several times is for --guests" in done.stderr and done.returncode


def test_a_size_of_vfs_is_for_guests(tmp_path: Path) -> None:
    done = vm(tmp_path, "--vf-size", "8m", *jobs(tmp_path, [0]))
    assert b"--vf-size is for --guests" in done.stderr and done.returncode


def test_lines_of_a_guest(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    one, two = Lines(1), Lines(12)
    one(b"a")
    two(b"x\ny")
    one(b"b\n\n")
    two.end()
    one.end()
    assert capfdbinary.readouterr().out == b"12: x\n1: ab\n1: \n12: y\n"
