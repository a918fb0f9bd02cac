# SPDX-License-Identifier: Apache-2.0
"""Linux and a drive that encrypts: guest/csd.sh, and what its image holds afterwards."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import BACKEND
from csd_drive import PARAMS, PLAIN, xts
from doorbell.device.sim import SETTINGS
from test_vm import GUEST, pytestmark, vm

pytestmark = [pytestmark, pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive")]


@pytest.mark.nightly
def test_linux(tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    done = vm(tmp_path, "--top", "db_csd", "--data-w", "256", "--link", "gen3x8", "--image", image, "--size", "64M",
              "--run", GUEST / "csd.sh", timeout=600)  # fmt: skip
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    lines = done.stdout.decode().splitlines()
    assert lines[-1] == "fine" and "SP 800-38A: both ciphertexts as published" in lines
    data = image.read_bytes()
    assert b"a sentence that must not be found" not in data and b"\x53\xef" != data[1080:1082]  # no ext4 to be seen
    assert sum(any(data[i : i + 4096]) for i in range(0, len(data), 4096)) > 512


def fio_blocks(data: bytes) -> int:
    """How many blocks of 4 KiB begin with fio's header: its magic number and the block's length."""
    starts = range(0, len(data), 4096)
    return sum(data[i : i + 2] == b"\xca\xac" and data[i + 4 : i + 8] == b"\0\x10\0\0" for i in starts)


@pytest.mark.nightly
def test_linux_beside(tmp_path: Path) -> None:
    """An encrypted namespace beside a plain one, both under fio verify, with a reset in the middle."""
    image = tmp_path / "drive.img"
    done = vm(tmp_path, "--top", "db_csd", "--data-w", "128", "--link", "gen3x4", "--param", "NUM_NS=2", "--smp", "2",
              "--image", image, "--size", "64M", "--run", GUEST / "csd_beside.sh", timeout=1200)  # fmt: skip
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    assert done.stdout.decode().splitlines()[-1] == "fine", done.stdout
    data = image.read_bytes()
    half = (len(data) - SETTINGS) // 2
    assert fio_blocks(data[:half]) == 0 and fio_blocks(data[half:]) >= 2048
    used = [data[i : i + 4096] for i in range(0, 3 << 20, 4096)]
    assert all(any(block) for block in used)


@pytest.mark.nightly
def test_two_guests_with_a_key_each(tmp_path: Path) -> None:
    """Each loads a key of its own into slot 1 of its VF and binds its namespace to it. The image holds what the
    `cryptography` package makes of their data with the keys that they tell."""
    image = tmp_path / "drive.img"
    done = vm(tmp_path, "--guests", "2", "--top", "db_csd", "--data-w", "256", "--image", image, "--size", "64M",
              "--run", GUEST / "csd_key.sh", timeout=1200)  # fmt: skip
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    told = dict(re.findall(r"^[12]: (\d+) ([0-9a-f]{128})$", done.stdout.decode(), re.M))
    assert len(told) == len(set(told.values())) == 2, done.stdout
    data = image.read_bytes()
    assert b"must not be found" not in data
    for nsid, key in told.items():
        lines = b"".join(b"namespace %s must not be found: %d\n" % (nsid.encode(), i) for i in range(1, 20001))
        keys = bytes.fromhex(key)
        assert xts(keys[:32], keys[32:], 0, lines[: 256 << 10]) in data, nsid


def fine(tmp_path: Path, params: dict[str, int], size: str, script: str) -> None:
    """A guest of a drive with these parameters runs the script, and all was fine."""
    words = [word for name, value in params.items() for word in ("--param", f"{name}={value}")]
    done = vm(tmp_path, "--top", "db_csd", "--data-w", "128", "--link", "gen3x4", *words, "--size", size,
              "--run", GUEST / script, timeout=1200)  # fmt: skip
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    assert done.stdout.decode().splitlines()[-1] == "fine", done.stdout


@pytest.mark.nightly
def test_tools(tmp_path: Path) -> None:
    """The tools in Linux on files of an ext4, by the drive: what grep, awk, sha256sum and the CPU say."""
    fine(tmp_path, PLAIN, "384M", "near.sh")


@pytest.mark.nightly
def test_tools_to_another_namespace(tmp_path: Path) -> None:
    """`dbcrypt --to` from a file on one namespace to a file on another, and to its block device, by the drive."""
    fine(tmp_path, PLAIN, "128M", "near_elsewhere.sh")


@pytest.mark.nightly
def test_programs(tmp_path: Path) -> None:
    """Namespaces of memory and programs by Linux's passthrough: a program finds in the memory what grep finds."""
    fine(tmp_path, PARAMS, "64M", "programs.sh")
