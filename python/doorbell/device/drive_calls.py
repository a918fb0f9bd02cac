# SPDX-License-Identifier: Apache-2.0
"""What a test or a command does with the drives at the far ends of links: faults, data, messages, counters.

They hang on the root ports of a `HostSim`, or beside the device of a `SwitchSim`; `port` is the drive's number there.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from ctypes import byref, c_uint8, c_uint64
from typing import Any

from doorbell.device.blocks import DriveMessage
from doorbell.device.drives import ModelDrive, PortOptions, SsdDrive
from doorbell.device.host_sim_interface import FAULTS, MESSAGES, NEVER, MessageRecord
from doorbell.device.messages import SimError


class DriveCalls:
    """The calls. `_drive_lib` has the C functions, without their prefix; `_h` is the simulation."""

    drives: Sequence[PortOptions]
    _drive_lib: Any
    _h: int

    def cycles(self, us: float) -> int:
        """So many microseconds in cycles."""
        raise NotImplementedError

    def link(self, up: bool, port: int = 0) -> None:
        """Take the drive's link away (surprise removal) or bring it back; the drive is reset by either."""
        self._drive_lib.link(self._h, port, up)

    def fault(
        self, kind: str, *, opcode: int | None = None, admin: bool | None = False, lba: int = 0, blocks: int = 0,
        skip: int = 0, count: int | None = 1, status: int = 0x281, delay_us: float = 0, by: int = 0,
        port: int = 0,
    ) -> int:  # fmt: skip
        """Of the commands of a model drive that match (opcode, admin or I/O, touching the blocks; blocks 0: any), the
        first `skip` pass and the next `count` (None: all) meet a fault.

        kind: "status" (fails with `status`, SCT << 8 | SC), "lost" (never completes), "late" (delay_us), "hang"
        (the controller fails, CSTS.CFS), "drop_link", "damage" (the last data write, else the completion entry, is
        wrong and marked as discontinued), "vanish" (the drive is gone, registers read all ones, until its link has
        gone down), "double" (two completion entries, the second delay_us later), "phase" (one with the wrong phase
        first), "cid" (one for another command first: its identifier xor `by`), "copy" (a copy of the entry first, `by`
        bytes behind its place), "astray" (data from or to places `by` bytes behind the right ones).
        """
        args = {"status": status, "late": self.cycles(delay_us), "double": self.cycles(delay_us)}
        arg = args.get(kind, by % (1 << 64))
        which = self._drive_lib.fault(self._h, port, FAULTS[kind], -1 if opcode is None else opcode,
                                -1 if admin is None else admin, lba, blocks, skip, NEVER if count is None else count,
                                arg)  # fmt: skip
        if which == NEVER:
            raise SimError("only a model drive has faults")
        return which

    def fault_hits(self, fault: int, port: int = 0) -> int:
        """How many commands a fault has met."""
        return self._drive_lib.fault_hits(self._h, port, fault)

    def fault_clear(self, port: int = 0) -> None:
        """Take all faults back."""
        self._drive_lib.fault_clear(self._h, port)

    def hang(self, port: int = 0) -> None:
        """The controller fails now: CSTS.CFS, and no answer to any command until it is reset."""
        self._drive_lib.hang(self._h, port)

    def media_view(self, off: int = 0, size: int | None = None, port: int = 0) -> memoryview:
        """The data of a drive, without a copy (not of an external one). Valid until `close`."""
        drive = self.drives[port]
        if isinstance(drive, SsdDrive) and drive.sim is not None:
            return drive.sim.media_view(off, size)
        if not isinstance(drive, ModelDrive):
            raise SimError("an external drive keeps its data itself")
        whole = (os.path.getsize(drive.image) if drive.image else drive.size) & ~4095
        size = whole - off if size is None else size
        if off < 0 or size < 0 or off + size > whole:
            raise ValueError("outside of the drive")
        return memoryview((c_uint8 * size).from_address(self._drive_lib.media(self._h, port) + off)).cast("B")

    def media_read(self, off: int, n: int, port: int = 0) -> bytes:
        return bytes(self.media_view(off, n, port))

    def media_write(self, off: int, data: bytes, port: int = 0) -> None:
        self.media_view(off, len(data), port)[:] = data

    def flush(self, port: int = 0) -> None:
        """Write an image file out to its disk."""
        if self._drive_lib.media_sync(self._h, port):
            raise SimError("the image could not be written out")

    # -------------------------------------------------------------------------------------- the caller as the drive

    def messages(self, port: int = 0) -> list[DriveMessage]:
        """What the host has asked of an external drive since the last call."""
        out = []
        m = MessageRecord()
        while self._drive_lib.ext_next(self._h, port, byref(m)):
            kind = MESSAGES[m.kind]
            data = ctypes.string_at(m.data, m.len) if kind in ("write", "cfg_write") else b""
            out.append(DriveMessage(m.id, kind, m.addr, m.len, m.target, data))
        return out

    def answer(self, id: int, data: bytes | None = b"", status: int = 0, port: int = 0) -> None:
        """End a read or configuration request (data None: refused). Nothing happens if it is gone."""
        raw = None if not data else data.ljust(4096, b"\0")
        self._drive_lib.ext_answer(self._h, port, id, status or int(data is None), raw)

    def host_read(self, addr: int, size: int, port: int = 0) -> int:
        """The external drive starts a read of the window; returns a handle for `host_read_poll`."""
        return self._drive_lib.ext_read(self._h, port, addr, size)

    def host_read_poll(self, handle: int, size: int, port: int = 0) -> bytes | None:
        """The data, or None while it is not there; raises SimError if it was refused."""
        data = ctypes.create_string_buffer(size)
        got = self._drive_lib.ext_poll(self._h, port, handle, data)
        if got == -2:
            raise SimError("read of the window: refused")
        return None if got < 0 else data.raw[:got]

    def host_write(self, addr: int, data: bytes, port: int = 0) -> None:
        """The external drive writes to the window; posted."""
        self._drive_lib.ext_write(self._h, port, addr, data, len(data))

    def sizes(self, mps: int, mrrs: int, port: int = 0) -> None:
        """What the host has set in the external drive's Device Control: its requests are cut accordingly."""
        for name, size, most in (("mps", mps, 1024), ("mrrs", mrrs, 4096)):
            if size & (size - 1) or not 128 <= size <= most:
                raise ValueError(f"{name}: a power of two from 128 to {most}")
        self._drive_lib.ext_sizes(self._h, port, mps, mrrs)

    # --------------------------------------------------------------------------------------------------------- figures

    def counters(self, port: int = 0) -> dict[str, int]:
        """All counters by name (of one port where a port has its own); those that begin with "error." must be 0.

        Of an SsdDrive link and drive counters are its Sim's, with its names.
        """
        names = self._drive_lib.names
        values = (c_uint64 * len(names))()
        self._drive_lib.counters(self._h, port, values, len(names))
        return dict(zip(names, values))

    def errors(self) -> dict[str, int]:
        """Broken rules of PCIe, NVMe doorbells or the runtime, where there are any; those of all ports together."""
        out: dict[str, int] = {}
        for port, drive in enumerate(self.drives):
            counted = [self.counters(port)]
            if isinstance(drive, SsdDrive) and drive.sim is not None:
                counted.append(drive.sim.counters())
            for counters in counted:
                for name, value in counters.items():
                    if name.startswith("error.") and value:
                        out[name] = out.get(name, 0) + value
        return out

    def link_bytes_per_cycle(self, port: int = 0) -> float:
        """What the wire carries in one direction in one cycle, all overhead included."""
        drive = self.drives[port]
        if isinstance(drive, SsdDrive) and drive.sim is not None:
            return drive.sim.link_bytes_per_cycle
        cycle, byte = c_uint64(), c_uint64()
        self._drive_lib.link_rate(self._h, port, byref(cycle), byref(byte))
        return cycle.value / byte.value
