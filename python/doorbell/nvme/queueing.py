# SPDX-License-Identifier: Apache-2.0
"""Submission and completion on the queues of a controller: entries, doorbells, interrupts, and waiting for commands.

What comes back is checked entry by entry; driver.py says how. Queues are made and deleted there, too.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Iterable
from typing import Any

from doorbell.nvme import statuses
from doorbell.nvme.backend import Backend
from doorbell.nvme.commands import Command, opcode_name
from doorbell.nvme.constants import STATUS_CODE_MASK, NvmOpc, Reg
from doorbell.nvme.controller import Controller
from doorbell.nvme.errors import DeviceTimeout, ProtocolError, QueueFull
from doorbell.nvme.memory import Buffer, HostMemory
from doorbell.nvme.queues import CompletionQueue, SubmissionQueue
from doorbell.nvme.sgl import PSDT_SGL, RANGES_BYTES
from doorbell.nvme.structures import doorbell_offset

_SQE = struct.Struct("<IIIIQQQIIIIII")  # dword 0, nsid, cdw2, cdw3, mptr, prp1, prp2, cdw10..15
_CQE = struct.Struct("<IIHHHH")
CHUNK_CYCLES = 25_000  # longest run between two looks at queues without interrupts


class Queues(Controller):
    """A controller with queues in host memory. `sqs` and `cqs` hold those that exist, by identifier."""

    def __init__(
        self, sim: Backend, memory: HostMemory, seed: int, io_timeout_us: float, ready_timeout_us: float
    ) -> None:
        super().__init__(sim, ready_timeout_us)
        self.memory = memory
        sim.map(memory.base, memory.size, memory.map)
        self.rng = random.Random(seed)
        self.io_timeout_us = io_timeout_us
        self.sqs: dict[int, SubmissionQueue] = {}
        self.cqs: dict[int, CompletionQueue] = {}
        self._dirty: dict[int, SubmissionQueue] = {}
        self._fired: set[int] = set()
        self.nsid = 1  # of commands that name none
        self.block_size = 512
        self.sgl = False  # I/O commands get SGLs instead of PRPs
        self.completed = 0
        self.interrupts = 0
        self.sq_doorbells = 0
        self.cq_doorbells = 0
        self._seen = statuses.opened()

    def _add_cq(
        self, qid: int, entries: int, address: int, vector: int, ien: bool, memory: HostMemory | None = None
    ) -> None:
        dstrd = self.cap.dstrd if self.cap else 0
        self.cqs[qid] = CompletionQueue(
            qid, entries, memory or self.memory, address, vector, ien, doorbell_offset(qid, True, dstrd)
        )

    def _add_sq(
        self, qid: int, entries: int, address: int, cqid: int, prio: int, memory: HostMemory | None = None
    ) -> None:
        dstrd = self.cap.dstrd if self.cap else 0
        self.sqs[qid] = SubmissionQueue(
            qid,
            entries,
            memory or self.memory,
            address,
            cqid,
            prio,
            doorbell_offset(qid, False, dstrd),
            self.rng.randrange(0xFFFF),
        )
        self.cqs[cqid].sqs.add(qid)

    def _forget_queues(self) -> list[Command]:
        lost = []
        for sq in self.sqs.values():
            lost += sq.pending.values()
            sq.memory.free(sq.address)
        for cq in self.cqs.values():
            cq.memory.free(cq.address)
        self.sqs.clear()
        self.cqs.clear()
        self._dirty.clear()
        self._fired.clear()
        for command in lost:
            command.aborted = True
        return lost

    # Submission -------------------------------------------------------------------------------------------------

    def buffer(self, size: int, **geometry: Any) -> Buffer:
        """A data buffer in host memory: see `Buffer`."""
        return Buffer(self.memory, size, **geometry)

    def submit(
        self,
        qid: int,
        opcode: int,
        slba: int = 0,
        nlb: int = 0,
        buffer: Buffer | None = None,
        *,
        nsid: int | None = None,
        nbytes: int | None = None,
        flags: int = 0,
        prp1: int | None = None,
        prp2: int | None = None,
        mptr: int = 0,
        cdw2: int = 0,
        cdw3: int = 0,
        cdw10: int | None = None,
        cdw11: int | None = None,
        cdw12: int | None = None,
        cdw13: int = 0,
        cdw14: int = 0,
        cdw15: int = 0,
        cid: int | None = None,
        ring: bool = False,
        user: Any = None,
        on_done: Callable[[Command], None] | None = None,
    ) -> Command:
        """Write an entry into submission queue `qid`. `nlb` is zero based, as in the command.

        The doorbell is written by `ring` (or here with ring=True), so that many entries cost one write.
        cdw10, 11, 12 come from slba and nlb unless given; PRPs (with `self.sgl` an SGL) from the buffer unless given.
        `user` is the caller's; `on_done` is called with the command when `poll` has found its completion.
        """
        sq = self.sqs[qid]
        if sq.sent - sq.taken >= sq.entries - 1:
            raise QueueFull(f"submission queue {qid} is full")
        pending = sq.pending
        if cid is None:
            cid = sq.next_cid
            while cid in pending or cid == 0xFFFF:
                cid = (cid + 1) & 0xFFFF
            sq.next_cid = (cid + 1) & 0xFFFF
        if buffer is not None and prp1 is None:
            if nbytes is None:
                nbytes = min(buffer.size, (nlb + 1) * self.block_size) if qid else buffer.size
            cut = opcode == NvmOpc.DSM and nbytes > RANGES_BYTES and len(buffer.blocks(nbytes)) > 1
            if self.sgl and qid and not cut:
                flags |= PSDT_SGL
                prp1, auto2 = buffer.sgl(nbytes)
            else:
                prp1, auto2 = buffer.prps(nbytes)
            prp2 = auto2 if prp2 is None else prp2
        entry = _SQE.pack(
            opcode | flags << 8 | cid << 16,
            self.nsid if nsid is None else nsid,
            cdw2,
            cdw3,
            mptr,
            prp1 or 0,
            prp2 or 0,
            slba & 0xFFFFFFFF if cdw10 is None else cdw10,
            slba >> 32 if cdw11 is None else cdw11,
            nlb if cdw12 is None else cdw12,
            cdw13,
            cdw14,
            cdw15,
        )
        sq.memory.store(sq.offset + sq.tail * 64, entry)
        command = Command(qid, cid, opcode, slba, nlb, buffer, sq.sent, user, on_done)
        pending[cid] = command
        sq.sent += 1
        sq.tail = sq.tail + 1 if sq.tail + 1 < sq.entries else 0
        sq.unrung.append(command)
        self._dirty[qid] = sq
        if ring:
            self.ring()
        return command

    def ring(self) -> None:
        """Write the tail doorbell of every queue with new entries."""
        if not self._dirty:
            return
        for sq in self._dirty.values():
            now = self.sim.ns
            for command in sq.unrung:
                command.started_ns = now
            sq.unrung.clear()
            self.sim.mmio_write(sq.doorbell, sq.tail, 4)
            self.sq_doorbells += 1
        self._dirty.clear()

    # Completion -------------------------------------------------------------------------------------------------

    def take_irqs(self) -> int:
        """Note the interrupts that arrived since the last look; returns how many."""
        count = 0
        for irq in self.sim.irqs():
            self._fired.add(self.irq_vector(irq))
            count += 1
        self.interrupts += count
        return count

    @staticmethod
    def irq_vector(irq: Any) -> int:
        """Vector of an interrupt as the back end reports it."""
        return irq if isinstance(irq, int) else irq.data

    def poll(self, *, everything: bool = False) -> list[Command]:
        """Completions of the queues whose vector fired (all queues: `everything`); frees their entries."""
        self.take_irqs()
        fired = self._fired
        done: list[Command] = []
        for cq in self.cqs.values():
            if everything or cq.vector in fired or not cq.ien:
                if not cq.hold:
                    self._drain(cq, done)
        fired.clear()
        for command in done:
            if command.on_done is not None:
                command.on_done(command)
        return done

    def _drain(self, cq: CompletionQueue, done: list[Command]) -> None:
        memory, at = cq.memory, cq.offset + cq.head * 16
        head, phase, start = cq.head, cq.phase, len(done)
        now = self.sim.ns
        while True:
            dw0, _, sqhd, sqid, cid, status = _CQE.unpack(memory.load(at, 16))
            if status & 1 != phase:
                break
            done.append(self._complete(cq, head, dw0, sqhd, sqid, cid, status >> 1, now))
            head += 1
            at += 16
            if head == cq.entries:
                head, at, phase = 0, cq.offset, phase ^ 1
            if len(done) - start > cq.entries:
                raise ProtocolError(f"completion queue {cq.qid} holds more entries than it has")
        if len(done) > start:
            cq.head, cq.phase = head, phase
            self.sim.mmio_write(cq.doorbell, head, 4)
            self.cq_doorbells += 1

    def unread(self, cq: CompletionQueue) -> list[tuple[int, int, int]]:
        """What is in a completion queue and has not been taken (it is on `hold`): of each entry the queue, the
        command's identifier, and type and code of its status."""
        found: list[tuple[int, int, int]] = []
        head, phase = cq.head, cq.phase
        while len(found) < cq.entries:
            _, _, _, sqid, cid, status = _CQE.unpack(cq.memory.load(cq.offset + head * 16, 16))
            if status & 1 != phase:
                break
            found.append((sqid, cid, status >> 1 & STATUS_CODE_MASK))
            head += 1
            if head == cq.entries:
                head, phase = 0, phase ^ 1
        return found

    def _complete(
        self, cq: CompletionQueue, head: int, dw0: int, sqhd: int, sqid: int, cid: int, status15: int, now: float
    ) -> Command:
        where = f"completion queue {cq.qid} entry {head}"
        if sqid not in cq.sqs:
            raise ProtocolError(f"{where}: submission queue {sqid} does not report here")
        sq = self.sqs[sqid]
        command = sq.pending.pop(cid, None)
        if command is None:
            raise ProtocolError(f"{where}: command {cid:#06x} of queue {sqid} is unknown or was completed before")
        if sqhd >= sq.entries:
            raise ProtocolError(f"{where}: SQHD {sqhd} in a queue of {sq.entries}")
        taken = sq.taken + (sqhd - sq.head) % sq.entries
        if taken > sq.sent:
            raise ProtocolError(f"{where}: SQHD {sqhd} is beyond the tail {sq.tail} of queue {sqid}")
        if command.position >= taken:
            raise ProtocolError(f"{where}: SQHD {sqhd} says that command {cid:#06x} was not fetched yet")
        sq.head, sq.taken = sqhd, taken
        command.status15, command.dw0 = status15, dw0
        command.done = True
        command.done_ns = now
        self.completed += 1
        if self._seen is not None:
            top = getattr(self.sim, "top", type(self.sim).__name__)
            self._seen.note(top, sqid == 0, command.opcode, status15 & STATUS_CODE_MASK)
        return command

    def step(self, max_us: float | None = None, *, until_ns: float | None = None) -> list[Command]:
        """Ring, run until an interrupt, for `max_us` or up to the time `until_ns` at most; return what completed."""
        self.ring()
        done = self.poll()
        if not done:
            cycles = CHUNK_CYCLES if max_us is None else self.cycles(max_us)
            if until_ns is not None:
                mhz = getattr(self.sim, "clock_mhz", 250)
                cycles = min(cycles, max(1, math.ceil((until_ns - self.sim.ns) * mhz / 1000)))
            self.advance(cycles, until_irq=True)
            done = self.poll()
        return done

    def wait(self, commands: Iterable[Command] | None = None, *, timeout_us: float | None = None) -> list[Command]:
        """Run until these commands (all in flight: None) are done. Returns all that completed meanwhile."""
        self.ring()
        waiting = (
            [c for q in self.sqs.values() if q.qid for c in q.pending.values()] if commands is None else list(commands)
        )
        done: list[Command] = []
        timeout_us = timeout_us or self.io_timeout_us
        limit = self.sim.ns + timeout_us * 1000
        while True:
            waiting = [c for c in waiting if not c.done and not c.aborted]
            if not waiting:
                return done
            if self.sim.ns >= limit:
                late = self.poll(everything=True)
                quiet = [c for c in late if self._must_interrupt(c)]
                if quiet:
                    raise ProtocolError(f"{len(quiet)} completions without an interrupt, first of queue {quiet[0].qid}")
                if late:
                    done += late
                    continue
                csts = self.read32(Reg.CSTS)
                c = waiting[0]
                raise DeviceTimeout(
                    f"{len(waiting)} commands did not complete in {timeout_us:.0f} us (first: "
                    f"{opcode_name(c.opcode, c.qid == 0)}, queue {c.qid}, cid {c.cid:#06x}; CSTS {csts:#x})"
                )
            left = int((limit - self.sim.ns) / 4) + 1
            done += self.step(min(left, CHUNK_CYCLES) / 250)

    def _must_interrupt(self, command: Command) -> bool:
        cq = self.cqs[self.sqs[command.qid].cqid]
        return cq.ien and cq.vector not in self.masked

    def run(self, *commands: Command, timeout_us: float | None = None) -> Command:
        """Wait for commands and check that they succeeded; returns the last."""
        self.wait(commands, timeout_us=timeout_us)
        for command in commands:
            command.check()
        return commands[-1]

    def in_flight(self) -> int:
        return sum(len(q.pending) for q in self.sqs.values() if q.qid)
