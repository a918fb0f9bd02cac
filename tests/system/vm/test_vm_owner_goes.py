# SPDX-License-Identifier: Apache-2.0
"""A Linux guest verifies files on its VF while its neighbour's driver is unbound under I/O, and its VM killed.

The neighbour's VF is then as new for the next VM.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import BACKEND
from doorbell.vm.guest import Guest, Vm
from running_guest import Running
from test_vm import GUEST, pytestmark

pytestmark = [
    pytestmark,
    pytest.mark.nightly,
    pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive"),
]
GOOD, BAD = 1, 2  # VFs
WORK_S, AFTER_S = 60, 5
OPTIONS = ["--vfs", "2", "--size", "96m", "--data-w", "256", "--link", "gen3x8", "--param", "SGL=1"]


def test_guests_beside_one_that_goes(tmp_path: Path) -> None:
    path = tmp_path / "drive"
    server = Vm(Guest(stock="none"), OPTIONS)
    server.start_server(path)
    running: list[Running] = []
    try:
        good = Running(path, GOOD, tmp_path / "good", GUEST / "verified.sh", WORK_S)
        running.append(good)
        good.wait_for(b"at work")
        bad = Running(path, BAD, tmp_path / "bad", GUEST / "leaves.sh", 0)
        running.append(bad)
        bad.wait_for(b"at work")
        assert good.thread.is_alive(), "the neighbour was too slow to disturb anybody"
        bad.vm.kill()  # SIGKILL, with its queues full
        bad.thread.join()
        assert bad.code != 0 and b"FAILED" not in bad.said
        after = Running(path, BAD, tmp_path / "after", GUEST / "verified.sh", AFTER_S)
        running.append(after)
        for one in (good, after):
            one.thread.join(900)
    finally:
        for one in running:
            one.vm.kill()
        status = server.stop_server()
    assert (good.code, after.code, status) == (0, 0, 0), (good.said, after.said)
    assert all(int(one.said.split()[-1]) >= 1 for one in (good, after))
