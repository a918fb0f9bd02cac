# SPDX-License-Identifier: Apache-2.0
"""`doorbell vm`: Linux in QEMU with a simulated top as its NVMe drive.

Without --run a shell on this terminal; with it, a script run as root in the guest, its output on stdout and its exit
status returned; with --speed a benchmark of the simulated drive beside QEMU's own (speed.py). Three processes:
this one, the device server (`doorbell serve`) and QEMU; they end together.
"""

from __future__ import annotations

import contextlib
import ctypes
import json as json_module
import os
import re
import selectors
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from doorbell.build.guest_tools import guest_tools
from doorbell.errors import UserError
from doorbell.qemu import root as vmroot
from doorbell.qemu.program import host_qemu
from doorbell.signals import signals_raise
from doorbell.units import parse_size

KERNEL_ARGS = (
    "console=ttyS0 loglevel=6 panic=-1 tsc=reliable no_timer_check random.trust_cpu=on ras=cec_disable"
    " nvme_core.admin_timeout=300 nvme_core.io_timeout=300"  # s: a simulated drive on a busy machine is slow, not dead
)
MSG_TIMEOUT_MS = 600_000  # QEMU's patience with one message: a simulated device answers late, not never
POWER_OFF_S = 120.0
PROBE_S = 20.0  # a guest under a working KVM is up and gone in about 2 s
FAILED = 125  # exit status when it was not the script that failed


class Kvm(str, Enum):  # noqa: UP042 - typer wants the names
    off = "off"
    auto = "auto"
    on = "on"


@dataclass(frozen=True)
class Guest:
    """What the user wants of the guest."""

    script: str | None = None
    smp: int = 1
    mem: str = "1G"
    kvm: Kvm = Kvm.off
    timeout: float | None = None
    append: str = ""
    log: str | None = None
    stock: str | None = None  # image for QEMU's own NVMe device instead of ours, or "none": to test the guest
    beside: str | None = None  # image for QEMU's own NVMe device beside ours
    kernel: vmroot.Kernel = vmroot.Kernel.stable
    drives: tuple[Path, ...] = ()  # sockets of devices beside ours
    files: tuple[Path, ...] = ()  # what the script finds in its folder


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG: even if this process is killed, no child stays


class Vm:
    """One guest, from its processes' start to their end."""

    def __init__(self, guest: Guest, device_args: list[str], quiet: bool = False,
                 sink: Callable[[bytes], None] | None = None, fds: Sequence[int] = (),
                 device: Path | None = None) -> None:  # fmt: skip
        """quiet: what QEMU says is of no interest. sink: takes the script's output. fds: of the device server, too.
        device: the socket of a server that is there already."""
        self._wanted = guest
        self._sink = sink
        self._fds = tuple(fds)
        self._device = device
        self._qemu_stderr = subprocess.DEVNULL if quiet else None
        self._device_args = device_args
        self._memory = 1 << 30
        self._server: subprocess.Popen[bytes] | None = None
        self._qemu: subprocess.Popen[bytes] | None = None

    def processor_s(self) -> tuple[float, float]:
        """Processor time that QEMU and the device server have used."""

        def used(process: subprocess.Popen[bytes] | None) -> float:
            try:
                words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split() if process else []
            except OSError:
                words = []
            return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK") if words else 0.0

        return used(self._qemu), used(self._server)

    def run(self) -> int:
        wanted = self._wanted
        self.check()
        script = read_script(wanted.script) if wanted.script else None
        if script is None and not sys.stdin.isatty():
            raise UserError("a shell needs a terminal: use --run SCRIPT without one", FAILED)
        with signals_raise(), tempfile.TemporaryDirectory(prefix="doorbell-vm-") as scratch:
            root = vmroot.ensure(wanted.kernel)
            work = Path(scratch)
            accel = "kvm" if self.use_kvm(root, work) else "tcg"
            log = Path(wanted.log) if wanted.log else work / "console.log"
            try:
                code = self._session(root, work, script, accel, log)
            except UserError:
                if not wanted.log and log.exists() and log.stat().st_size:
                    kept = tempfile.mkstemp(prefix="doorbell-vm-", suffix=".log")[1]
                    shutil.copy(log, kept)
                    print(f"doorbell: the guest kernel's console is in {kept}", file=sys.stderr)
                raise
            return code

    def check(self) -> None:
        """UserError if what is wanted of the guest does not do."""
        try:
            self._memory = parse_size(self._wanted.mem)
        except ValueError as e:
            raise UserError(str(e), FAILED) from e
        for path in self._wanted.drives:
            if not path.is_socket():
                raise UserError(f"{path} is not a socket: start ./doorbell serve --socket {path} first", FAILED)
        for file in self._wanted.files:
            if not file.is_file():
                raise UserError(f"{file} is not a file: --file wants one", FAILED)
            if file.stat().st_size >= 1 << 32:
                raise UserError(f"{file} has 4 GiB or more, which a guest's initramfs cannot hold", FAILED)
        names = [file.name for file in self._wanted.files]
        for name in names:
            if names.count(name) > 1:
                raise UserError(f"--file: two have the name {name}, and all lie in the guest's /root", FAILED)
        if self._wanted.smp < 1 or self._memory < 256 << 20:
            raise UserError("--smp is at least 1, --mem at least 256M", FAILED)

    def use_kvm(self, root: vmroot.Root, work: Path) -> bool:
        if self._wanted.kvm != Kvm.auto:
            return self._wanted.kvm == Kvm.on
        if not os.access("/dev/kvm", os.R_OK | os.W_OK):
            return False
        probe = Vm(Guest(timeout=PROBE_S, stock="none", kernel=self._wanted.kernel), [], quiet=True)
        with contextlib.suppress(UserError):
            if probe._session(root, work, b"#!/bin/sh\n", "kvm", work / "probe.log") == 0:
                return True
        print("doorbell: guests do not run under KVM here; emulating their CPUs", file=sys.stderr, flush=True)
        return False

    def _session(self, root: vmroot.Root, work: Path, script: bytes | None, accel: str, log: Path) -> int:
        try:
            if not self._wanted.stock:
                self.start_server(work / "device.sock")
            code = self._guest(root, work, script, accel, log)
        finally:
            if script is not None and self._qemu:
                self._qemu.kill()  # nothing of it is worth keeping; a shell's QEMU has the terminal to put in order
            self._stop(self._qemu, 5)
            server_code = self.stop_server()
        if self._server and server_code:
            raise UserError(f"the device server ended with status {server_code}: see its message above", FAILED)
        return code

    def stop_server(self) -> int:
        """Its exit status; it writes the image back."""
        return self._stop(self._server, 60)

    def server_ended(self) -> bool:
        return self._server is not None and self._server.poll() is not None

    def kill(self) -> None:
        """End QEMU; nothing of the guest is worth keeping."""
        if self._qemu:
            self._qemu.kill()
            self._qemu.wait()

    def start_server(self, path: Path) -> None:
        ready, child = socket.socketpair()
        with ready, child:
            self._server = subprocess.Popen(
                [sys.executable, "-m", "doorbell", "serve", "--socket", str(path), "--ready-fd", str(child.fileno()),
                 *self._device_args],
                stdin=subprocess.DEVNULL, stdout=sys.stderr, pass_fds=(child.fileno(), *self._fds),
                preexec_fn=_die_with_parent, env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
                start_new_session=True,  # Ctrl-C is ours to pass on, after the guest is gone
            )  # fmt: skip
            child.close()
            if not ready.recv(1):
                self._server.wait()
                raise UserError("the device server did not start: see its message above", FAILED)

    def _command(self, root: vmroot.Root, work: Path, script: bytes | None, accel: str, log: Path) -> list[str]:
        """QEMU, as far as a shell and a script have it in common."""
        prefix = [own] if (own := host_qemu()) else root.qemu()[0]
        initrd = work / "initramfs"
        with open(initrd, "wb") as f:
            for part in root.initramfs:
                with open(part, "rb") as archive:
                    shutil.copyfileobj(archive, f)
            vmroot.write_more(f, script, guest_tools(), self._wanted.files)
        self.check()
        return [
            *prefix, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-machine", "q35,memory-backend=m,hpet=off",
            "-object", f"memory-backend-memfd,id=m,size={self._memory},share=on",
            "-accel", "kvm" if accel == "kvm" else "tcg,thread=multi", "-cpu", "host" if accel == "kvm" else "max",
            "-smp", str(self._wanted.smp), "-kernel", str(root.kernel), "-initrd", str(initrd),
            "-append", f"{KERNEL_ARGS} {self._wanted.append}".strip(),
            "-chardev", f"file,id=console,path={_quote(log)}", "-serial", "chardev:console",
            *self._devices(work),
        ]  # fmt: skip

    @staticmethod
    def _environment(root: vmroot.Root) -> dict[str, str]:
        return os.environ | ({} if host_qemu() else root.qemu()[1])

    def _guest(self, root: vmroot.Root, work: Path, script: bytes | None, accel: str, log: Path) -> int:
        if script is not None:
            return self.follow(*self.launch(root, work, script, accel, log))
        command = self._command(root, work, script, accel, log)
        command += ["-chardev", "stdio,id=shell,mux=on,signal=off", "-serial", "chardev:shell",
                    "-mon", "chardev=shell"]  # fmt: skip
        self._qemu = subprocess.Popen(command, env=self._environment(root), preexec_fn=_die_with_parent)
        code = self._qemu.wait()
        if code:
            raise UserError(f"QEMU ended with status {code}", FAILED)
        return 0

    def launch(
        self, root: vmroot.Root, work: Path, script: bytes, accel: str, log: Path
    ) -> tuple[socket.socket, socket.socket]:
        """Start a guest that runs a script: the channels of its output and of its exit status, for `follow`."""
        command = self._command(root, work, script, accel, log)
        out, out_peer = socket.socketpair()
        status, status_peer = socket.socketpair()
        with out_peer, status_peer:
            command += ["-device", "virtio-serial-pci"]
            for name, peer in (("out", out_peer), ("status", status_peer)):
                command += ["-chardev", f"socket,id={name},fd={peer.fileno()}",
                            "-device", f"virtserialport,chardev={name},name=doorbell.{name}"]  # fmt: skip
            self._qemu = subprocess.Popen(
                command, env=self._environment(root), stdin=subprocess.DEVNULL, stdout=sys.stderr,
                stderr=self._qemu_stderr, pass_fds=(out_peer.fileno(), status_peer.fileno()),
                preexec_fn=_die_with_parent,
            )  # fmt: skip
        return out, status

    def follow(self, out: socket.socket, status: socket.socket) -> int:
        """Pass the script's output on until the guest has ended; the script's exit status."""
        with out, status:
            answer = self._pump(out, status)
        if not re.fullmatch(rb"\d+\n", answer):
            raise UserError("the guest ended before its script did", FAILED)
        return int(answer)

    def _pump(self, out: socket.socket, status: socket.socket) -> bytes:
        """Pass the script's output on until QEMU has closed both channels; answer what came on the status channel."""
        limit = self._wanted.timeout
        end = time.monotonic() + limit if limit else None
        late = f"the guest did not finish in {limit or 0:g} s"
        answer = b""
        with selectors.DefaultSelector() as wait:
            wait.register(out, selectors.EVENT_READ)
            wait.register(status, selectors.EVENT_READ)
            while wait.get_map():
                if end and time.monotonic() > end:
                    raise UserError(late, FAILED)
                for key, _ in wait.select(1.0):
                    channel = key.fileobj
                    assert isinstance(channel, socket.socket)
                    try:
                        data = channel.recv(1 << 16)
                    except ConnectionResetError:
                        data = b""
                    if not data:
                        wait.unregister(channel)
                    elif channel is status:
                        answer += data
                        end, late = time.monotonic() + POWER_OFF_S, "the guest's script is done, but it stays on"
                    elif self._sink:
                        self._sink(data)
                    else:
                        sys.stdout.buffer.write(data)
                        sys.stdout.buffer.flush()
                if self._server and self._server.poll() is not None:
                    raise UserError("the device server ended before the guest: see its message above", FAILED)
        return answer

    def _devices(self, work: Path) -> list[str]:
        ours = [] if self._wanted.stock else [self._device or work / "device.sock"]
        devices = []
        for path in (*ours, *self._wanted.drives):
            options = {"driver": "vfio-user-pci", "socket": {"type": "unix", "path": str(path)},
                       "x-msg-timeout": MSG_TIMEOUT_MS}  # fmt: skip
            devices += ["-device", json_module.dumps(options)]
        stock = self._wanted.stock or self._wanted.beside
        if stock and stock != "none":
            devices += ["-drive", f"if=none,id=d,format=raw,file={_quote(Path(stock))}",
                        "-device", "nvme,drive=d,serial=stock"]  # fmt: skip
        return devices

    @staticmethod
    def _stop(process: subprocess.Popen[bytes] | None, patience_s: float) -> int:
        """End a process if it still runs; answer its exit status (0 for one that we had to ask)."""
        if process is None:
            return 0
        if process.poll() is None:
            process.terminate()
            try:
                code = process.wait(patience_s)
                return 0 if code == -signal.SIGTERM else code
            except subprocess.TimeoutExpired:
                process.kill()
        return process.wait()


def _quote(path: Path) -> str:
    return str(path).replace(",", ",,")  # QEMU's option syntax


def read_script(name: str) -> bytes:
    try:
        if not stat.S_ISDIR(os.stat(name).st_mode):
            return Path(name).read_bytes()
        raise UserError(f"{name} is a folder: --run wants a script", FAILED)
    except OSError as e:
        raise UserError(f"cannot read {name}: {e.strerror}") from e
