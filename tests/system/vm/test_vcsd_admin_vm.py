# SPDX-License-Identifier: Apache-2.0
"""The lines of docs/vcsd/administration.md, run by a guest's shell with nvme-cli: a virtual drive is made, grows,
moves to another SSD, and its file is what it was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import BACKEND
from test_vm import pytestmark, vm

pytestmark = [pytestmark, pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive")]
PAGE = Path(__file__).resolve().parents[3] / "docs" / "vcsd" / "administration.md"


@pytest.mark.nightly
def test_lines_of_the_page(tmp_path: Path) -> None:
    (lines,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.S)
    script = tmp_path / "job.sh"
    script.write_text(f"set -ex\n{lines}echo fine\n")
    done = vm(tmp_path, "--top", "db_vcsd", "--size", "64M", "--param", "NUM_NS=4", "--run", script, timeout=900)
    assert done.returncode == 0, (done.stdout[-3000:], done.stderr[-2000:])
    out = done.stdout.decode()
    assert out.splitlines()[-1] == "fine"
    results = [int(r, 16) for r in re.findall(r"result: *(0x[0-9a-f]+)", out)]
    assert results[0] == 1 and results[2] == 2, results
    assert results[-1] >> 31 and results[-1] >> 16 & 7 == 1 and results[-1] >> 24 & 3 == 0, "it is on SSD 1 alone"
