# SPDX-License-Identifier: Apache-2.0
"""A Linux guest verifies files on its VF while its neighbour's driver is unbound under I/O, and its VM killed.

The neighbour's VF is then as new for the next VM.
"""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import pytest
from conftest import BACKEND
from doorbell.errors import UserError
from doorbell.qemu import root as vmroot
from doorbell.vm.functions import socket_of_vf
from doorbell.vm.guest import Guest, Vm, read_script
from test_vm import GUEST, pytestmark

pytestmark = [
    pytestmark,
    pytest.mark.nightly,
    pytest.mark.skipif(BACKEND != "rtl", reason="needs the Verilated drive"),
]
GOOD, BAD = 1, 2  # VFs
WORK_S, AFTER_S = 60, 5
OPTIONS = ["--vfs", "2", "--size", "96m", "--data-w", "256", "--link", "gen3x8"]


class Running:
    """A VM on a VF that runs a script: what it has said, and its exit status once it has one."""

    def __init__(self, drive: Path, fn: int, folder: Path, script: str, seconds: int) -> None:
        self.said, self.code = bytearray(), -1
        folder.mkdir()
        log = folder / "console"
        guest = Guest(log=str(log), timeout=900, append=f"SECONDS_OF_WORK={seconds}")
        self.vm = Vm(guest, [], sink=self.said.extend, device=Path(socket_of_vf(drive, fn)))
        channels = self.vm.launch(vmroot.ensure(), folder, read_script(str(GUEST / script)), "tcg", log)
        self.thread = threading.Thread(target=self._follow, args=channels)
        self.thread.start()

    def _follow(self, *channels: object) -> None:
        with contextlib.suppress(UserError):  # of one that is killed
            self.code = self.vm.follow(*channels)

    def wait_for(self, words: bytes, seconds: float = 600) -> None:
        end = time.monotonic() + seconds
        while words not in self.said:
            assert self.thread.is_alive() and time.monotonic() < end, self.said
            time.sleep(0.1)


def test_guests_beside_one_that_goes(tmp_path: Path) -> None:
    path = tmp_path / "drive"
    server = Vm(Guest(stock="none"), OPTIONS)
    server.start_server(path)
    running: list[Running] = []
    try:
        good = Running(path, GOOD, tmp_path / "good", "verified.sh", WORK_S)
        running.append(good)
        good.wait_for(b"at work")
        bad = Running(path, BAD, tmp_path / "bad", "leaves.sh", 0)
        running.append(bad)
        bad.wait_for(b"at work")
        assert good.thread.is_alive(), "the neighbour was too slow to disturb anybody"
        bad.vm.kill()  # SIGKILL, with its queues full
        bad.thread.join()
        assert bad.code != 0 and b"FAILED" not in bad.said
        after = Running(path, BAD, tmp_path / "after", "verified.sh", AFTER_S)
        running.append(after)
        for one in (good, after):
            one.thread.join(900)
    finally:
        for one in running:
            one.vm.kill()
        status = server.stop_server()
    assert (good.code, after.code, status) == (0, 0, 0), (good.said, after.said)
    assert all(int(one.said.split()[-1]) >= 1 for one in (good, after))
