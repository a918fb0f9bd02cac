# SPDX-License-Identifier: Apache-2.0
"""`doorbell vm --guests N`: several guests at once, each with a VF of one simulated drive.

One device server (`doorbell serve --vfs N`); a QEMU and a thread for each guest, which passes its output on by lines.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from doorbell.errors import UserError
from doorbell.qemu import root as vmroot
from doorbell.signals import signals_raise
from doorbell.vm.functions import socket_of_vf
from doorbell.vm.guest import FAILED, Guest, Vm, read_script

LOOK_S = 0.2  # between two looks at the device server


class Lines:
    """Output of a guest, each line with its number."""

    lock = threading.Lock()

    def __init__(self, number: int) -> None:
        self._prefix, self._text = f"{number}: ".encode(), b""

    def __call__(self, data: bytes) -> None:
        *lines, self._text = (self._text + data).split(b"\n")
        self._say(lines)

    def end(self) -> None:
        """What is left has no end of line of its own."""
        self._say([self._text] if self._text else [])
        self._text = b""

    def _say(self, lines: list[bytes]) -> None:
        with Lines.lock:
            for line in lines:
                sys.stdout.buffer.write(self._prefix + line + b"\n")
            sys.stdout.buffer.flush()


class Guests:
    """All of them, from their processes' start to their end."""

    def __init__(self, guest: Guest, scripts: Sequence[str], count: int, device_args: list[str]) -> None:
        """scripts: one for all guests, or one for each. device_args: of `doorbell serve`."""
        if not scripts:
            raise UserError("--guests wants --run SCRIPT: only a single guest has a shell", FAILED)
        if len(scripts) not in (1, count):
            raise UserError(f"--run {len(scripts)} times for {count} guests: give it once, or for each guest", FAILED)
        if guest.stock:
            raise UserError("--stock is for a single guest", FAILED)
        self._wanted = guest
        self._scripts = list(scripts) * (count if len(scripts) == 1 else 1)
        self._server = Vm(guest, [*device_args, "--vfs", str(count)])
        self._codes = dict.fromkeys(range(1, count + 1), FAILED)

    def run(self) -> int:
        """The worst of the scripts' exit statuses; FAILED if one did not end."""
        scripts = [read_script(name) for name in self._scripts]
        self._server.check()
        with signals_raise(), tempfile.TemporaryDirectory(prefix="doorbell-vm-") as scratch:
            root = vmroot.ensure(self._wanted.kernel)
            work = Path(scratch)
            accel = "kvm" if self._server.use_kvm(root, work) else "tcg"
            return self._session(root, work, scripts, accel)

    def _session(self, root: vmroot.Root, work: Path, scripts: list[bytes], accel: str) -> int:
        path = work / "device.sock"
        vms: list[Vm] = []
        threads: list[threading.Thread] = []
        try:
            self._server.start_server(path)
            for number, script in enumerate(scripts, 1):
                folder = work / str(number)
                folder.mkdir()
                log = Path(f"{self._wanted.log}-{number}") if self._wanted.log else folder / "console.log"
                lines = Lines(number)
                vm = Vm(replace(self._wanted, log=str(log)), [], sink=lines, device=Path(socket_of_vf(path, number)))
                vms.append(vm)
                channels = vm.launch(root, folder, script, accel, log)
                work_of_it = threading.Thread(target=self._follow, args=(number, vm, channels, lines, log), daemon=True)
                threads.append(work_of_it)
                work_of_it.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(LOOK_S)
                    if self._server.server_ended():
                        raise UserError("the device server ended before the guests: see its message above", FAILED)
        finally:
            for vm in vms:
                vm.kill()
            for thread in threads:
                thread.join(5)
            server_code = self._server.stop_server()
        if server_code:
            raise UserError(f"the device server ended with status {server_code}: see its message above", FAILED)
        return max(self._codes.values())

    def _follow(self, number: int, vm: Vm, channels: tuple, lines: Lines, log: Path) -> None:
        try:
            try:
                code = vm.follow(*channels)
            finally:
                lines.end()
        except (UserError, OSError) as e:
            why = e if isinstance(e, UserError) else f"its output cannot be written: {e.strerror}"
            kept = ""
            if not self._wanted.log and log.exists():
                with contextlib.suppress(OSError):
                    name = tempfile.mkstemp(prefix=f"doorbell-vm-{number}-", suffix=".log")[1]
                    kept = f"; its kernel's console is in {shutil.copy(log, name)}"
            print(f"doorbell: guest {number}: {why}{kept}", file=sys.stderr, flush=True)
        else:
            self._codes[number] = code
