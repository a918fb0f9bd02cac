# SPDX-License-Identifier: Apache-2.0
"""The step "memory": commands of the function's memory namespace (docs/csd/programs.md), and what they leave there.

All of them are in a window of the memory. The model has it as blocks of 4 bytes, which is what a command moves at
least; what a command that failed or was taken leaves in its cells nobody knows, as it may be zeros, too.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from doorbell.compute.programs import Blocks as Source
from doorbell.compute.programs import Stretch
from doorbell.nvme.constants import NvmOpc, SlmOpc, Status
from doorbell.nvme.memory import Buffer
from doorbell.nvme.model import Pending
from doorbell.soak.generate import MEMORY_CELLS, REGION
from doorbell.soak.grants import GrantingDriver
from doorbell.soak.judge import Judge, Sent
from doorbell.soak.machine import Machine
from doorbell.soak.model import CELL, Space
from doorbell.soak.near import text
from doorbell.soak.steps import Step, whole

OPCODES = {"write": SlmOpc.WRITE, "read": SlmOpc.READ, "fill": SlmOpc.FILL, "copy": SlmOpc.COPY}
RANGES = 4
AT_ONCE = 1024  # cells of a Read of the whole window


@dataclass
class Sources:
    """Of a Memory Copy: what its list says; where the data come from, and how many blocks of that; how it may end."""

    listed: list[Source] | list[Stretch]
    space: Space | None
    places: list[tuple[int, int]]
    nbytes: int
    allowed: set[int]

    def begin(self) -> list[Pending]:
        return [self.space.blocks.begin(NvmOpc.VERIFY, at, n) for at, n in self.places] if self.space else []


class Memories:
    """A part of Player. Every command is one that may be; what is beyond the memory says so."""

    machine: Machine
    judge: Judge
    commands: int

    @property
    def drive(self) -> GrantingDriver:
        return self.machine.drive

    def inject(self, kind: str, page: int) -> int | None:
        raise NotImplementedError

    def placed_buffer(self, step: Step, nbytes: int, data: bytes | None) -> Buffer:
        raise NotImplementedError

    def do_memory(self, step: Step) -> None:
        memory = self.machine.model.memory
        sq = self.drive.sqs.get(step["q"])
        if memory is None or sq is None:
            return
        if not sq.room():
            self.drive.step(20)
            if self.drive.sqs[step["q"]].room() <= 0:
                return
        at = step["at"] % MEMORY_CELLS
        cells = max(1, min(step["size"], MEMORY_CELLS - at))
        sources = self._sources(step, at, cells, memory) if step["op"] == "copy" else None
        if sources is not None:
            cells = sources.nbytes // CELL
            if not cells:
                return
        self._send_memory(step, memory, at, cells, sources)

    def _send_memory(self, step: Step, memory: Space, at: int, cells: int, sources: Sources | None) -> None:
        op = step["op"]
        allowed: set[int] = sources.allowed if sources else {Status.SUCCESS}
        first = self.machine.memory_at + at * CELL
        if step["bad"] == "range":
            first, allowed = first + (1 << 40), {Status.LBA_RANGE}
        fields: dict[str, Any] = {"cdw10": first & 0xFFFFFFFF, "cdw11": first >> 32, "cdw12": cells * CELL}
        nbytes, data = cells * CELL, None
        if op == "write":
            data = text(step["data"], nbytes) if step["data"] % 2 else random.Random(step["data"]).randbytes(nbytes)
        if sources is not None:
            listed = sources.listed
            fields |= {"cdw2": nbytes, "cdw12": listed[0].FORMAT << 8 | len(listed) - 1}
            data = b"".join(source.pack() for source in listed)
            nbytes = len(data)
        buffer = self.placed_buffer(step, nbytes, data) if op != "fill" else None
        if buffer and self.drive.sgl:
            buffer.sgl(nbytes)  # its list is there when a fault is put into it
        does = Status.SUCCESS in allowed or (sources is not None and step["bad"] != "range")
        pending = self._begin_memory(op if does else "", memory, at, cells, data)
        reads = sources.begin() if sources else []
        fault = self._memory_fault(step, buffer) if op in ("write", "copy") else None
        command = self.drive.submit(
            step["q"], OPCODES[op], buffer=buffer, nsid=memory.nsid, nbytes=nbytes, on_done=self.judge.end, **fields
        )
        source = sources.space if sources else None
        sent = Sent(
            memory, pending, allowed, buffer, fault, nsid=step["ns"] if sources else memory.nsid, source=source,
            reads=reads, ssds=source.ssds if source else frozenset(),
        )  # fmt: skip
        self.judge.begin(command, sent)
        self.commands += 1
        if step["ring"]:
            self.drive.ring()

    @staticmethod
    def _begin_memory(op: str, memory: Space, at: int, cells: int, data: bytes | None) -> Pending:
        match op:
            case "write":
                return memory.blocks.begin(NvmOpc.WRITE, at, cells, data)
            case "read":
                return memory.blocks.begin(NvmOpc.READ, at, cells)
            case "fill":
                return memory.blocks.begin(NvmOpc.WRITE_ZEROES, at, cells)
            case "copy":
                return memory.blocks.begin_unknown(at, cells)
            case _:
                return memory.blocks.begin(NvmOpc.FLUSH)

    def _sources(self, step: Step, at: int, cells: int, memory: Space) -> Sources:
        """One or more stretches of the same size, all of blocks or all of the memory, which fit into the window."""
        parts, start = max(1, min(step["parts"], RANGES)), step["start"]
        if step["ns"] == 0:
            each = max(1, min(cells, MEMORY_CELLS // 2, (MEMORY_CELLS - at) // parts))
            firsts = [(start + 3 * i * each) % (MEMORY_CELLS - each + 1) for i in range(parts)]
            if parts * each > MEMORY_CELLS - at:
                return Sources([], None, [], 0, set())
            over = any(f < at + parts * each and at < f + each for f in firsts)
            listed = [Stretch(memory.nsid, self.machine.memory_at + f * CELL, each * CELL) for f in firsts]
            allowed: set[int] = {Status.OVERLAPPING_IO_RANGE} if over else {Status.SUCCESS}
            return Sources(listed, memory, [(f, each) for f in firsts], parts * each * CELL, allowed)
        model = self.machine.model
        space = model.spaces.get(step["ns"])
        there = space if model.has(space) else None
        size, blocks = (there.blocks.block_size, there.blocks.blocks) if there else (512, 1 << 16)
        count = max(1, min(cells * CELL // size, REGION, blocks))
        count = min(count, (MEMORY_CELLS - at) * CELL // size // parts)
        if not count:
            return Sources([], None, [], 0, set())
        starts = [(start + 5 * i * count) % (min(blocks, REGION) - count + 1) if count < min(blocks, REGION) else 0
                  for i in range(parts)]  # fmt: skip
        allowed = set()
        for first in starts:
            allowed |= model.statuses(NvmOpc.READ, step["ns"], first, count - 1, (0, 0), ())
        places = [(first, count) for first in starts]
        listed_blocks = [Source(step["ns"], first, count) for first in starts]
        return Sources(listed_blocks, there, places, parts * count * size, allowed)

    def _memory_fault(self, step: Step, buffer: Buffer | None) -> tuple[str, int, bool] | None:
        if not step["fault"] or buffer is None:
            return None
        number = self.inject(step["fault"], buffer.pages[0])
        return None if number is None else (step["fault"], number, True)

    def check_memory(self) -> None:
        """All of the window is read."""
        if self.machine.model.memory is None:
            return
        queues = sorted(q for q in self.drive.sqs if q)
        for i, at in enumerate(range(0, MEMORY_CELLS, AT_ONCE)):
            step = {"do": "memory", "q": queues[i % len(queues)], "op": "read", "at": at, "size": AT_ONCE}
            self.do_memory(whole(step))
