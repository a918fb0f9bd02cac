# SPDX-License-Identifier: Apache-2.0
"""Linux and a drive whose namespaces come and go: guest/namespaces.sh."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import BACKEND
from doorbell.device.sim import SETTINGS
from test_vm import GUEST, pytestmark, vm

pytestmark = [pytestmark, pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive")]


@pytest.mark.nightly
def test_linux(tmp_path: Path) -> None:
    """nvme-cli's commands, and that Linux rescans by itself; the simulator of test_ssd_namespaces.py."""
    image = tmp_path / "drive.img"
    done = vm(tmp_path, "--top", "db_ssd", "--data-w", "128", "--link", "gen3x4", "--param", "NUM_NS=4", "--smp", "2",
              "--image", image, "--size", "64M", "--run", GUEST / "namespaces.sh", timeout=900)  # fmt: skip
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    lines = done.stdout.decode().splitlines()
    assert lines[-1] == "fine", lines
    notices = [int(line.split(": ")[1]) for line in lines if line.startswith("notices: ")]
    assert notices and notices[0] >= 4, "Linux was told of changes"
    assert not any(image.read_bytes()[:-SETTINGS]), "all namespaces were deleted"
