# SPDX-License-Identifier: Apache-2.0
"""A function's namespaces of memory and of programs (docs/csd/programs.md), as a host uses them.

    drive.start(all_sets=True)
    own = Programs(drive)
    own.load(0, near.Grep((b"error",)).program())
    own.activate(0)
    rsid = own.create_ranges((0, 1 << 16), (1 << 20, 4096))
    own.write(0, text)                              # or own.copy(0, [Blocks(nsid=1, slba=0, blocks=128)])
    length = own.execute(0, rsid, len(text)).check().dw0
    result = own.read(1 << 20, length)

Programs are those of doorbell.compute.near.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from doorbell.nvme.commands import Command
from doorbell.nvme.constants import AdminOpc, Cns, Csi, ProgramSelect, ProgramsOpc, RangeSetSelect, SlmOpc
from doorbell.nvme.driver import Driver
from doorbell.nvme.errors import ProtocolError
from doorbell.nvme.memory import Buffer
from doorbell.nvme.vendor import ProgramType

RANGE = struct.Struct("<IIQ16x")
"""A memory range: NSID, bytes, first byte."""
COPY_BLOCKS = struct.Struct("<I4xQH14x")
"""A source range of Memory Copy, format 2h: SNSID, SLBA, NLB zero based."""
COPY_MEMORY = struct.Struct("<I4xQI12x")
"""..., format 4h: SNSID, first byte, bytes."""
PID = 1
"""PIT: the program has an identifier."""


@dataclass(frozen=True)
class Blocks:
    """A source of Memory Copy: `blocks` logical blocks, at least 1."""

    nsid: int
    slba: int
    blocks: int

    FORMAT: ClassVar[int] = 2

    def pack(self) -> bytes:
        return COPY_BLOCKS.pack(self.nsid, self.slba, self.blocks - 1)


@dataclass(frozen=True)
class Stretch:
    """A source of Memory Copy: bytes of a memory, in multiples of 4."""

    nsid: int
    first: int
    size: int

    FORMAT: ClassVar[int] = 4

    def pack(self) -> bytes:
        return COPY_MEMORY.pack(self.nsid, self.first, self.size)


class Programs:
    """Of one function, whose controller is enabled for all command sets.

    `memory`, `programs`: NSIDs. `size`: bytes of the memory. Raises `ProtocolError` if there are no such namespaces.
    """

    def __init__(self, drive: Driver) -> None:
        self.drive = drive
        self.memory, self.programs = (self._nsid(csi) for csi in (Csi.SLM, Csi.PROGRAMS))
        self.size = int.from_bytes(drive.identify(Cns.CSI_NS, nsid=self.memory, csi=Csi.SLM)[:8], "little")

    def _nsid(self, csi: Csi) -> int:
        buffer = self.drive.buffer(4096)
        try:
            command = self.drive.admin_try(
                AdminOpc.IDENTIFY, buffer=buffer, cdw10=Cns.CSI_NS_ACTIVE_LIST, cdw11=csi << 24
            )
            nsid = int.from_bytes(buffer.read()[:4], "little")
        finally:
            buffer.free()
        if command.status or not nsid:
            raise ProtocolError(
                f"there is no namespace of command set {csi:d}: build with SLM=1, start with all_sets=True"
            )
        return nsid

    # ---------------------------------------------------------------- admin commands
    def load_try(self, pind: int, program: bytes, pid: int | None = None, **dwords: int) -> Command:
        """Load Program; the status is the caller's to look at. dwords: instead of those that it would have."""
        buffer = self.drive.buffer(max(4, -(-len(program) // 4) * 4))
        buffer.write(program.ljust(buffer.size, b"\0"))
        has = {
            "cdw10": pind | ProgramType.NEAR << 16 | (PID << 25 if pid is not None else 0), "cdw11": len(program),
            "cdw12": (pid or 0) & 0xFFFFFFFF, "cdw13": (pid or 0) >> 32, "cdw14": len(program),
        }  # fmt: skip
        try:
            return self.drive.admin_try(AdminOpc.PROGRAM_LOAD, buffer=buffer, nsid=self.programs, **{**has, **dwords})
        finally:
            buffer.free()

    def load(self, pind: int, program: bytes, pid: int | None = None) -> None:
        self.load_try(pind, program, pid).check()

    def unload_try(self, pind: int) -> Command:
        return self.drive.admin_try(AdminOpc.PROGRAM_LOAD, nsid=self.programs, cdw10=pind | 1 << 24)

    def activate_try(self, pind: int, select: int = ProgramSelect.ACTIVATE) -> Command:
        return self.drive.admin_try(AdminOpc.PROGRAM_ACTIVATION, nsid=self.programs, cdw10=pind | select << 16)

    def activate(self, pind: int) -> None:
        self.activate_try(pind).check()

    def deactivate(self, pind: int) -> None:
        self.activate_try(pind, ProgramSelect.DEACTIVATE).check()

    def create_ranges_try(self, *ranges: tuple[int, int], nsid: int | None = None) -> Command:
        """ranges: first byte and bytes of each: what a program looks at, where its result goes."""
        buffer = self.drive.buffer(max(4, RANGE.size * len(ranges)))
        at = self.memory if nsid is None else nsid
        buffer.write(b"".join(RANGE.pack(at, size, first) for first, size in ranges).ljust(buffer.size, b"\0"))
        try:
            return self.drive.admin_try(
                AdminOpc.MEMORY_RANGE_SET, buffer=buffer, nsid=self.programs, cdw10=RangeSetSelect.CREATE,
                cdw11=len(ranges),
            )  # fmt: skip
        finally:
            buffer.free()

    def create_ranges(self, data: tuple[int, int], result: tuple[int, int]) -> int:
        """The set's RSID."""
        return self.create_ranges_try(data, result).check().dw0 & 0xFFFF

    def delete_ranges_try(self, rsid: int) -> Command:
        return self.drive.admin_try(
            AdminOpc.MEMORY_RANGE_SET, nsid=self.programs, cdw10=RangeSetSelect.DELETE | rsid << 16
        )

    # ---------------------------------------------------------------- I/O commands
    def move(self, opcode: SlmOpc, at: int, size: int, buffer: Buffer, *, qid: int = 1, **fields: Any) -> Command:
        """Memory Read or Memory Write of `size` bytes from byte `at` on: submitted."""
        told = {"nsid": self.memory, "cdw10": at & 0xFFFFFFFF, "cdw11": at >> 32, "cdw12": size}
        return self.drive.submit(qid, opcode, buffer=buffer, nbytes=size, **{**told, **fields})

    def _move_all(self, opcode: SlmOpc, at: int, buffer: Buffer) -> None:
        try:
            command = self.move(opcode, at, buffer.size, buffer)
            self.drive.wait([command])
            command.check()
        finally:
            buffer.free()

    def write(self, at: int, data: bytes, **geometry: Any) -> None:
        """Bytes in multiples of 4, at most MDTS; geometry: of the buffer."""
        buffer = self.drive.buffer(len(data), **geometry)
        buffer.write(data)
        self._move_all(SlmOpc.WRITE, at, buffer)

    def read(self, at: int, size: int, **geometry: Any) -> bytes:
        """Likewise."""
        buffer = self.drive.buffer(-(-size // 4) * 4, **geometry)
        found = b""

        def look(command: Command) -> None:
            nonlocal found
            found = buffer.read()[:size]

        command = self.move(SlmOpc.READ, at, buffer.size, buffer)
        command.on_done = look
        self.drive.wait([command])
        buffer.free()
        command.check()
        return found

    def submit_fill(self, at: int, size: int, *, qid: int = 1, **fields: Any) -> Command:
        """Memory Fill: zeros."""
        told = {"nsid": self.memory, "cdw10": at & 0xFFFFFFFF, "cdw11": at >> 32, "cdw12": size}
        return self.drive.submit(qid, SlmOpc.FILL, **{**told, **fields})

    def fill(self, at: int, size: int) -> None:
        command = self.submit_fill(at, size)
        self.drive.wait([command])
        command.check()

    def submit_copy(
        self, at: int, size: int, sources: Sequence[Blocks] | Sequence[Stretch], buffer: Buffer, *, qid: int = 1,
        **fields: Any,
    ) -> Command:  # fmt: skip
        """Memory Copy of `size` bytes to byte `at`: the sources, one behind the other; buffer: for their list."""
        buffer.write(b"".join(source.pack() for source in sources))
        told = {
            "nsid": self.memory, "cdw2": size, "cdw10": at & 0xFFFFFFFF, "cdw11": at >> 32,
            "cdw12": sources[0].FORMAT << 8 | len(sources) - 1,
        }  # fmt: skip
        return self.drive.submit(
            qid, SlmOpc.COPY, buffer=buffer, nbytes=COPY_BLOCKS.size * len(sources), **{**told, **fields}
        )

    def copy_try(
        self, at: int, size: int, sources: Sequence[Blocks] | Sequence[Stretch], **fields: Any
    ) -> Command:  # fmt: skip
        buffer = self.drive.buffer(COPY_BLOCKS.size * len(sources))
        command = self.submit_copy(at, size, sources, buffer, **fields)
        self.drive.wait([command])
        buffer.free()
        return command

    def copy(self, at: int, sources: Sequence[Blocks] | Sequence[Stretch]) -> None:
        """Their bytes, as long as they are together; blocks of the drive's `block_size`."""
        size = sum(s.blocks * self.drive.block_size if isinstance(s, Blocks) else s.size for s in sources)
        self.copy_try(at, size, sources).check()

    def submit(
        self, pind: int, rsid: int, length: int, *, phase: int = 0, block: int = 0, qid: int = 1, **fields: Any
    ) -> Command:
        """Execute Program. block: number of the first data unit, for a Crypt."""
        told = {"nsid": self.programs, "cdw2": pind | rsid << 16, "cdw10": length, "cdw11": phase}
        told |= {"cdw12": block & 0xFFFFFFFF, "cdw13": block >> 32}
        return self.drive.submit(qid, ProgramsOpc.EXECUTE, **{**told, **fields})

    def execute(self, pind: int, rsid: int, length: int, **options: Any) -> Command:
        """... waited for; the status is the caller's to look at, and dw0 has the bytes of the result."""
        command = self.submit(pind, rsid, length, **options)
        self.drive.wait([command])
        return command
