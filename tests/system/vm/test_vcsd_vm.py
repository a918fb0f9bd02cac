# SPDX-License-Identifier: Apache-2.0
"""Linux on db_vcsd: a stock driver, ext4 and fio verify, and the data is on the simulated SSDs (guest/vcsd.sh)."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import BACKEND
from test_vm import GUEST, pytestmark, vm

pytestmark = [pytestmark, pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive")]


@pytest.mark.nightly
def test_linux(tmp_path: Path) -> None:
    done = vm(tmp_path, "--top", "db_vcsd", "--size", "64M", "--run", GUEST / "vcsd.sh", timeout=600)
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-2000:])
    assert done.stdout.decode().splitlines()[-1] == "fine"
