# SPDX-License-Identifier: Apache-2.0
"""QEMU's own NVMe drives for a host core, peer to peer: no guest, no operating system.

QEMU runs with `-accel qtest`, so no processor turns. It holds its stock `nvme` devices and one vfio-user function of
ours whose BAR is a window of host memory for each drive. A drive's DMA goes to that window, which is memory shared
between QEMU and this process; configuration accesses go over qtest's I/O ports, register accesses of a drive as
server-initiated DMA to its BAR. `mirror.py` puts between this memory and a core that makes what it answers on the
fly.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import select
import socket
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from doorbell.device.vfio_user import wire as vu
from doorbell.errors import UserError
from doorbell.qemu import root as vmroot
from doorbell.qemu.program import host_qemu

WINDOW_BYTES = 64 << 20
"""What a drive may see of host memory."""

OUR_SLOT, FIRST_DRIVE_SLOT = 2, 4
OUR_BAR = 0x40_0000_0000
"""Where the windows stand in QEMU's memory map: above all RAM, aligned to their size."""
DRIVE_BARS = 0x20_0000_0000
"""Where a host may place BARs of drives: drive i at + i MiB."""

MSG_TIMEOUT_MS = 600_000
START_S = 60.0
COMMAND, BAR0 = 0x04, 0x10


class QemuDrives:
    """QEMU with a stock NVMe drive for each image. Not thread-safe; use as a context manager."""

    def __init__(
        self, images: list[Path], *, device_options: str = "", window: int = OUR_BAR, serial: int = 0, span: int = 0
    ) -> None:
        """images: raw files, one a drive, locked by QEMU. device_options: more for each `-device nvme`. window: where
        the windows are in QEMU's memory map, a multiple of their size. serial: number of the first drive in its name.
        span: bytes from there on that all drives see, in the place of a window each.
        """
        for image in images:
            if not image.is_file():
                raise UserError(f"{image} is not a file: make it first (truncate -s 1G {image})")
        self._base, self._serial, self._span = window, serial, span
        self._dir = tempfile.TemporaryDirectory(prefix="doorbell-p2p-")
        self.count = len(images)
        self._bar_bytes = 1 << max(26, ((span or WINDOW_BYTES * self.count) - 1).bit_length())
        self._fd = os.memfd_create("windows", os.MFD_CLOEXEC)
        os.ftruncate(self._fd, self._bar_bytes)
        self.memory = mmap.mmap(self._fd, self._bar_bytes)
        self._views: list[memoryview] = []
        self._config = self._blank_config()
        self._replies: dict[int, bytes | None] = {}
        self._id = 0
        self._qtest_in = b""
        self._connection: vu.Connection | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._qtest: socket.socket | None = None
        self._listeners = [self._listen("vfio"), self._listen("qtest")]
        try:
            self._start(images, device_options)
            self._place_windows()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> QemuDrives:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End QEMU (it writes its images out) and free everything."""
        if self._process:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        for s in (self._qtest, *self._listeners):
            if s:
                s.close()
        if self._connection:
            self._connection.close()
        self._connection = self._qtest = None
        self._listeners = []
        for view in self._views:
            view.release()
        self.memory.close()
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1
        self._dir.cleanup()

    # ------------------------------------------------------------ what a host core needs

    def window(self, drive: int) -> tuple[int, memoryview]:
        """Address of a drive's window on the bus, and its memory (until `close`)."""
        at = 0 if self._span else drive * WINDOW_BYTES
        with memoryview(self.memory) as whole:
            view = whole[at : at + (self._span or WINDOW_BYTES)]
        self._views.append(view)
        return self._base + at, view

    def config_read(self, drive: int, offset: int) -> int:
        """A dword of a drive's configuration space (the first 256 bytes; all ones beyond)."""
        return self._cf8_read(FIRST_DRIVE_SLOT + drive, offset) if offset < 256 else 0xFFFFFFFF

    def config_write(self, drive: int, offset: int, value: int, byte_enables: int = 15) -> None:
        """Write the enabled bytes of a dword."""
        if offset >= 256:
            return
        if byte_enables == 15:
            self._cf8_write(FIRST_DRIVE_SLOT + drive, offset, value)
            return
        for i in range(4):
            if byte_enables >> i & 1:
                self._ask(f"outl 0xcf8 {self._cf8(FIRST_DRIVE_SLOT + drive, offset):#x}")
                self._ask(f"outb {0xCFC + i:#x} {value >> 8 * i & 0xFF:#x}")

    def memory_read(self, address: int, size: int) -> int:
        """Start a read of a drive's registers by bus address: the number for `memory_answer`."""
        number = self._send_dma(vu.DMA_READ, struct.pack("<QQ", address, size))
        self._replies[number] = None
        return number

    def memory_answer(self, number: int) -> bytes | None:
        """What a read has found, once `pump` has brought it: b"" if nothing answers, None while it has not come."""
        if self._replies[number] is None:
            return None
        return self._replies.pop(number)

    @property
    def process_id(self) -> int:
        """Of QEMU; 0: it has ended."""
        return self._process.pid if self._process and self._process.poll() is None else 0

    def memory_write(self, address: int, data: bytes) -> None:
        """Write a drive's registers; posted."""
        self._send_dma(vu.DMA_WRITE, struct.pack("<QQ", address, len(data)) + data)
        self.pump()

    def pump(self) -> None:
        """Serve what QEMU asks, without waiting."""
        connection = self._connected()
        try:
            while message := connection.receive():
                self._serve(message)
            connection.flush()
        except vu.Gone as e:
            raise UserError(f"QEMU ended ({e}): see its message above") from e

    # ------------------------------------------------------------ start

    def _listen(self, name: str) -> socket.socket:
        """A socket for QEMU to connect to."""
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.bind(str(Path(self._dir.name) / name))
        s.listen(1)
        return s

    def _start(self, images: list[Path], device_options: str) -> None:
        """Run QEMU and wait until both its connections are there."""
        prefix, env = ([own], {}) if (own := host_qemu()) else vmroot.ensure().qemu()
        ours = {"driver": "vfio-user-pci", "socket": {"type": "unix", "path": f"{self._dir.name}/vfio"},
                "addr": f"{OUR_SLOT:#x}", "x-msg-timeout": MSG_TIMEOUT_MS}  # fmt: skip
        command = [
            *prefix, "-nodefaults", "-no-user-config", "-display", "none", "-machine", "q35,memory-backend=m",
            "-accel", "qtest", "-qtest", f"unix:{self._dir.name}/qtest", "-qtest-log", "/dev/null",
            "-object", "memory-backend-memfd,id=m,size=64M,share=on", "-m", "64M",
            "-device", json.dumps(ours),
        ]  # fmt: skip
        for i, image in enumerate(images):
            path = str(image.resolve()).replace(",", ",,")
            command += [
                "-drive", f"if=none,id=d{i},format=raw,discard=unmap,file={path}",
                "-device",
                f"nvme,drive=d{i},serial=stock{self._serial + i},addr={FIRST_DRIVE_SLOT + i:#x}{device_options}",
            ]  # fmt: skip
        libc = ctypes.CDLL(None)
        self._process = subprocess.Popen(
            command, env=os.environ | env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            preexec_fn=lambda: libc.prctl(1, 15),  # it dies with us
        )  # fmt: skip
        end = time.monotonic() + START_S
        vfio, qtest = self._listeners
        while not (self._connection and self._qtest):
            if self._process.poll() is not None or time.monotonic() > end:
                raise UserError("QEMU did not start: see its message above")
            wait = [vfio, qtest] + ([self._connection.sock] if self._connection else [])
            ready, _, _ = select.select(wait, [], [], 0.2)
            if vfio in ready and not self._connection:
                self._connection = vu.Connection(vfio.accept()[0])
            if qtest in ready:
                self._qtest = qtest.accept()[0]
                self._qtest.setblocking(False)
            if self._connection:
                self.pump()

    def _place_windows(self) -> None:
        """What firmware would do for our function, and memory space of the bridge is always on."""
        self._cf8_write(OUR_SLOT, BAR0, self._base & 0xFFFFFFFF)
        self._cf8_write(OUR_SLOT, BAR0 + 4, self._base >> 32)
        self._cf8_write(OUR_SLOT, COMMAND, 6)

    # ------------------------------------------------------------ qtest

    @staticmethod
    def _cf8(slot: int, offset: int) -> int:
        """What goes into I/O port CF8h for a configuration register of a slot on bus 0."""
        return 0x80000000 | slot << 11 | offset & 0xFC

    def _cf8_read(self, slot: int, offset: int) -> int:
        """Read a dword of a slot's configuration space."""
        self._ask(f"outl 0xcf8 {self._cf8(slot, offset):#x}")
        return int(self._ask("inl 0xcfc"), 16)

    def _cf8_write(self, slot: int, offset: int, value: int) -> None:
        """Write a dword of a slot's configuration space."""
        self._ask(f"outl 0xcf8 {self._cf8(slot, offset):#x}")
        self._ask(f"outl 0xcfc {value:#x}")

    def _ask(self, line: str) -> str:
        """One qtest command; meanwhile QEMU may ask our function."""
        assert self._qtest
        try:
            self._qtest.sendall(line.encode() + b"\n")
            self._pump_until(lambda: b"\n" in self._qtest_in)
        except ConnectionError as e:
            raise UserError(f"QEMU ended ({e.strerror}): see its message above") from e
        answer, self._qtest_in = self._qtest_in.split(b"\n", 1)
        word, _, rest = answer.decode().partition(" ")
        if word != "OK":
            raise UserError(f"QEMU refused '{line}': {answer.decode()}")
        return rest

    # ------------------------------------------------------------ vfio-user, the few commands of a function with a BAR

    def _connected(self) -> vu.Connection:
        """QEMU's end of vfio-user."""
        if not self._connection:
            raise UserError("QEMU is not connected")
        return self._connection

    def _pump_until(self, done: Callable[[], bool]) -> None:
        """Serve QEMU, and take in what qtest says, until `done`."""
        assert self._qtest
        connection = self._connected()
        while not done():
            self.pump()
            if done():
                return
            ready, _, _ = select.select([connection.sock, self._qtest], [], [], 30.0)
            if not ready:
                raise UserError("QEMU does not answer")
            if self._qtest in ready:
                with contextlib.suppress(BlockingIOError):
                    self._qtest_in += self._qtest.recv(65536)

    def _send_dma(self, command: int, body: bytes) -> int:
        """DMA of our function to a bus address: the number of the message."""
        self._id = self._id % 0xFFFE + 1
        while self._id in self._replies:
            self._id = self._id % 0xFFFE + 1
        self._connected().send(self._id, command, vu.TYPE_COMMAND, 0, body)
        try:
            self._connected().flush()
        except vu.Gone as e:
            raise UserError(f"QEMU ended ({e}): see its message above") from e
        return self._id

    def _serve(self, message: vu.Message) -> None:
        """A message of QEMU: the answer to a read of ours, or a request that is answered here."""
        vu.close_fds(message.fds)  # QEMU's RAM: nothing of it is used
        if message.flags & vu.TYPE_MASK == vu.TYPE_REPLY:
            if message.id in self._replies:
                bad = message.flags & vu.ERROR
                self._replies[message.id] = b"" if bad else message.body[16:]
            return
        body, fds = self._answer(message)
        if not message.flags & vu.NO_REPLY:
            self._connected().send(message.id, message.command, vu.TYPE_REPLY, 0, body, fds)
            self._connected().flush()

    def _answer(self, message: vu.Message) -> tuple[bytes, list[int]]:
        """Body and file descriptors of the reply: a function with BAR 0, mapped, and configuration space."""
        body = message.body
        if message.command == vu.VERSION:
            capabilities = {"max_msg_fds": 16, "max_data_xfer_size": 1 << 20, "pgsizes": 4096, "write_multiple": True}
            return struct.pack("<HH", 0, 0) + json.dumps({"capabilities": capabilities}).encode() + b"\0", []
        if message.command == vu.GET_INFO:
            return struct.pack("<4I", 16, vu.INFO_RESET | vu.INFO_PCI, vu.NUM_REGIONS, vu.NUM_IRQS), []
        if message.command == vu.GET_REGION_INFO:
            (index,) = struct.unpack_from("<I", body, 8)
            size = {vu.BAR0_REGION: self._bar_bytes, vu.CONFIG_REGION: 4096}.get(index, 0)
            flags = vu.REGION_READABLE | vu.REGION_WRITABLE if size else 0
            fds = []
            if index == vu.BAR0_REGION:
                flags |= vu.REGION_MMAP
                fds = [self._fd]
            return struct.pack("<IIIIQQ", 32, flags, index, 0, size, 0), fds
        if message.command == vu.GET_IRQ_INFO:
            (index,) = struct.unpack_from("<I", body, 8)
            return struct.pack("<IIII", 16, vu.IRQ_EVENTFD, index, int(index == vu.ERR)), []  # without ERR QEMU warns
        if message.command in (vu.REGION_READ, vu.REGION_WRITE):
            return self._region(message), []
        if message.command == vu.DMA_UNMAP:
            return body[:24], []
        return b"", []  # DMA_MAP, SET_IRQS, DEVICE_RESET: nothing to do

    def _region(self, message: vu.Message) -> bytes:
        """An access of QEMU to our configuration space or, where it does not map it, our BAR."""
        offset, region, count = struct.unpack_from("<QII", message.body)
        target = self._config if region == vu.CONFIG_REGION else self.memory
        if message.command == vu.REGION_READ:
            return message.body[:16] + bytes(target[offset : offset + count])
        data = message.body[16 : 16 + count]
        if region == vu.CONFIG_REGION:  # the client keeps BARs itself; of the rest only the command register is ours
            if offset <= COMMAND < offset + count:
                self._config[COMMAND] = data[COMMAND - offset]
        else:
            self.memory[offset : offset + count] = data
        return message.body[:16]

    def _blank_config(self) -> bytearray:
        """Type 0 header of a memory controller with one 64-bit BAR; no capabilities."""
        config = bytearray(4096)
        struct.pack_into("<HH", config, 0, 0x1234, 0xDB02)
        config[8:12] = bytes((0, 0x00, 0x80, 0x05))  # memory controller, other
        struct.pack_into("<II", config, BAR0, 0xC, 0)  # 64 bit, prefetchable
        return config
