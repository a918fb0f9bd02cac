# SPDX-License-Identifier: Apache-2.0
"""Linux and a drive that encrypts: guest/csd.sh, and what its image holds afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import BACKEND
from test_vm import GUEST, pytestmark, vm

pytestmark = [pytestmark, pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive")]


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
