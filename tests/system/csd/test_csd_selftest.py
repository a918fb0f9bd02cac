# SPDX-License-Identifier: Apache-2.0
"""A drive whose AES is broken, as a whole: from a copy of the repository with a fault in a table of AES."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from csd_drive import csd, get, io, put
from doorbell.compute import drive as compute
from doorbell.compute.operators import Op
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.vendor import VendorOpc
from doorbell.paths import ROOT
from traffic import MakeDrive

KEYS = bytes(range(64)) + bytes(16)


def story_of_broken_aes(make_drive: MakeDrive) -> None:
    """Run in the copy."""
    drive = csd(make_drive, params={"NUM_NS": 4}, media_size=8 << 20)
    data = bytes(range(256)) * 16
    put(drive, 0, data)
    keys = drive.buffer(len(KEYS))
    keys.write(KEYS)
    compute.bind(drive, 2, Op.AES_XTS, 1)
    for _ in range(2):
        state = compute.state(drive)
        assert state.aes_failed and not state.xts | state.ctr
        expect(drive.admin_try(VendorOpc.KEY_LOAD, buffer=keys, cdw10=1 << 10 | 1 << 8 | 1), Status.INTERNAL)
        for opcode in (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE):
            expect(io(drive, opcode, 0, 4, nsid=2)[0], Status.ACCESS_DENIED)
        assert get(drive, 0, 8) == data
        drive.flr()
        drive.start(queues=2, entries=64)


@pytest.mark.nightly  # it builds a simulator of its own
def test_drive_with_broken_aes(tmp_path: Path) -> None:
    """It takes no key, says so in log page ECh, locks what is bound to AES, does all else; no reset changes that."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, ignore=lambda folder, _: {"build", ".git"} if folder == str(ROOT) else set())
    table = copy / "rtl/crypto/db_aes_sbox.sv"
    text = table.read_text()
    assert text.count("y = AES_SBOX[x];") == 1
    table.write_text(text.replace("AES_SBOX[x]", "AES_SBOX[x] ^ 8'(x == 8'h3a)"))
    path = os.pathsep.join(str(copy / folder) for folder in ("python", "tests/models"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "python_functions=story_*"]
    done = subprocess.run(
        [*command, f"tests/system/csd/{Path(__file__).name}"], cwd=copy, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout[-4000:] + done.stderr[-2000:]
