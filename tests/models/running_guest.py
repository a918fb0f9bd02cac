# SPDX-License-Identifier: Apache-2.0
"""A Linux guest on a VF of a served drive, beside what else a test does."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

from doorbell.errors import UserError
from doorbell.qemu import root as vmroot
from doorbell.vm.functions import socket_of_vf
from doorbell.vm.guest import Guest, Vm, read_script


class Running:
    """A VM on a VF that runs a script: what it has said, and its exit status once it has one."""

    def __init__(self, drive: Path, fn: int, folder: Path, script: Path, seconds: int) -> None:
        """drive: the path of its server's sockets. seconds: SECONDS_OF_WORK, for the script."""
        self.said, self.code = bytearray(), -1
        folder.mkdir()
        log = folder / "console"
        guest = Guest(log=str(log), timeout=900, append=f"SECONDS_OF_WORK={seconds}")
        self.vm = Vm(guest, [], sink=self.said.extend, device=Path(socket_of_vf(drive, fn)))
        channels = self.vm.launch(vmroot.ensure(), folder, read_script(str(script)), "tcg", log)
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
