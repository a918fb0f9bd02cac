# SPDX-License-Identifier: Apache-2.0
"""The step "io": an entry of a submission queue and its buffer, with the mistakes and faults that the step asks for."""

from __future__ import annotations

import itertools
import random
from typing import Any

from doorbell.compute.near import Crypt, source_sgl
from doorbell.nvme.constants import DSM_AD, NvmOpc, Status
from doorbell.nvme.memory import Buffer
from doorbell.nvme.structures import DsmRange
from doorbell.nvme.vendor import FROM_MEMORY, FROM_SGL, STORE_NSID, VendorIoOpc
from doorbell.soak.generate import REGION
from doorbell.soak.grants import GrantingDriver
from doorbell.soak.judge import CANARY, Judge, Sent
from doorbell.soak.machine import Machine
from doorbell.soak.model import NO_OPCODE, Space
from doorbell.soak.near import Look, text
from doorbell.soak.near_kinds import record_of, table
from doorbell.soak.near_messages import Part, brings
from doorbell.soak.steps import Step

OPCODES = {
    "read": NvmOpc.READ, "write": NvmOpc.WRITE, "compare": NvmOpc.COMPARE, "zeroes": NvmOpc.WRITE_ZEROES,
    "verify": NvmOpc.VERIFY, "dsm": NvmOpc.DSM, "flush": NvmOpc.FLUSH, "near": VendorIoOpc.NEAR,
}  # fmt: skip
WITH_BUFFER = ("read", "write", "compare", "dsm", "near")
FUA = 1 << 30
PHASES = 1 << 16
LARGEST_ROOM = 1 << 20  # of a buffer that is too large for its command
TIMEOUTS = 12  # faults that leave a tag to rest (docs/ssd/theory.md), in one simulation


class Entries:
    """A part of Player. `commands` counts what was submitted, `timeouts` the faults that leave a tag to rest."""

    machine: Machine
    judge: Judge
    commands = 0
    timeouts = 0

    @property
    def drive(self) -> GrantingDriver:
        return self.machine.drive

    def settle(self, nsid: int | None = None) -> None:
        raise NotImplementedError

    def do_io(self, step: Step) -> None:
        try:
            self._send_io(step)
        except MemoryError:  # buffers of queues that nobody reads lie everywhere: none is left after this
            self.settle()
            self._send_io(step)

    def _send_io(self, step: Step) -> None:
        drive, model = self.drive, self.machine.model
        sq = drive.sqs.get(step["q"])
        if sq is None:
            return
        if not sq.room():
            drive.step(20)
            if (sq := drive.sqs[step["q"]]).room() <= 0:
                return
        op, opcode = step["op"], OPCODES[step["op"]]
        space = model.spaces.get(step["ns"])
        there = space if model.has(space) else None
        if there is None and step["at"] % 4:
            return  # a few are enough to see that they are refused
        size = there.blocks.block_size if there else 512
        count = max(1, min(step["count"], REGION, there.blocks.blocks if there else REGION))
        slba = step["at"] % (there.blocks.blocks - count + 1) if there else step["at"]
        ranges = self._ranges(step, slba, count, there) if op == "dsm" else []
        if op in ("dsm", "flush"):
            slba, count = 0, 1
        nbytes = 16 * len(ranges) if op == "dsm" else count * size
        look, fields = self._look(step, slba, nbytes, there) if op == "near" else (None, {})
        to_space = self._to_space(step) if look is not None and look.to is not None else None
        if look is not None:
            nbytes = max(64, min(look.room, LARGEST_ROOM))
            if look.to is not None:
                opcode = VendorIoOpc.NEAR_STORE
        data = self._data(step, slba, count, nbytes, there, ranges)
        buffer = self._buffer(step, nbytes, data)
        prps = buffer.prps(nbytes) if buffer else (0, 0)
        if buffer and drive.sgl:
            buffer.sgl(nbytes)  # its list is there when a fault is put into it
        fields |= {"cdw10": len(ranges) - 1, "cdw11": DSM_AD} if op == "dsm" else {}
        if step["fua"]:
            fields["cdw12"] = count - 1 | FUA
        opcode, slba, prps = self._spoil(step, opcode, slba, prps, fields)
        flags = fields.get("flags", 0)
        if look is not None and opcode == NO_OPCODE:
            if look.source is not None:
                look.source.free()
            look = None
        allowed = model.statuses(opcode, step["ns"], slba, count - 1, prps, ranges, flags, look)
        if not model.near:
            look = None
        pending = None
        if there is not None:
            moves = Status.SUCCESS in allowed or Status.INVALID_PRP_OFFSET in allowed  # met after some data
            does = opcode if look is None else NvmOpc.VERIFY if look.memory is None else NvmOpc.FLUSH
            pending = there.blocks.begin(does if moves else NvmOpc.FLUSH, slba, count, data, ranges if moves else ())
            if look is not None and look.to is not None and to_space is not None and moves:
                if look.late <= {Status.ACCESS_DENIED}:  # a key may still come
                    look.stores = to_space.blocks.begin_unknown(look.to, look.room // to_space.blocks.block_size)
        fault = self._fault(step, op, buffer, nbytes, look)
        command = drive.submit(
            step["q"], opcode, slba, count - 1, buffer, nsid=step["ns"], nbytes=nbytes, on_done=self.judge.end, **fields
        )
        if look is not None and look.source is not None:
            drive.grant_beside(command, look.source)
        ssds = frozenset[int]().union(*(s.ssds for s in (there, to_space) if s is not None))
        sent = Sent(there, pending, allowed, buffer, fault, nsid=step["ns"], ssds=ssds, look=look, to_space=to_space)
        self.judge.begin(command, sent)
        if look is not None and look.part is not None and brings(look.programs[0]):
            look.part.begin(model.messages[look.number][look.part.number])
        self.commands += 1
        if step["ring"]:
            drive.ring()

    def _spoil(
        self, step: Step, opcode: int, slba: int, prps: tuple[int, int], fields: dict[str, Any]
    ) -> tuple[int, int, tuple[int, int]]:
        """Puts a mistake into the entry; opcode, SLBA and PRPs then."""
        match step["bad"]:
            case "opcode":
                return NO_OPCODE, slba, prps
            case "range":
                return opcode, slba + (1 << 40), prps
            case "fused":
                fields["flags"] = 1
            case "sgl" if step["op"] in WITH_BUFFER:
                fields["flags"] = 0xC0  # PSDT 3, which means nothing
            case "prp" if prps[1]:
                prps = prps[0], prps[1] | 4
                fields["prp1"], fields["prp2"] = prps
        return opcode, slba, prps

    def _to_space(self, step: Step) -> Space | None:
        """Where a near-storage command stores."""
        space = self.machine.model.spaces.get(step["to_ns"] or step["ns"])
        return space if self.machine.model.has(space) else None

    def _look(self, step: Step, slba: int, nbytes: int, space: Space | None) -> tuple[Look, dict[str, Any]]:
        """... and its fields in the entry."""
        number = step["program"] & (0xFFFF if step["to"] < 0 else ~STORE_NSID & 0xFFFF)
        length, room = (nbytes if step[name] < 0 else step[name] & 0xFFFF_FFFF for name in ("length", "room"))
        to = None if step["to"] < 0 else step["to"] & (1 << 64) - 1
        model = self.machine.model
        program = model.programs[number] if number < len(model.programs) else None
        phase = PHASES - 1 if step["phase"] < 0 else step["phase"] % record_of(program, PHASES)
        to_nsid, to_space = step["to_ns"] or step["ns"], self._to_space(step)
        # a place that is there; from 2^32 on, one that is not
        if to is not None and to_space is not None and to < 1 << 32:
            to %= max(1, to_space.blocks.blocks - room // to_space.blocks.block_size + 1)
        look = Look(slba, length, room, phase, number, [program], part=Part(phase, length), to=to)
        if to is not None:
            look.to_nsid, look.late = to_nsid, model.stored(to_nsid, to, room)
        if isinstance(program, Crypt):
            look.slot = model.slot_for_programs(program.slot)
            look.key = model.keys.get(look.slot, 0) if look.slot is not None else 0
        if space is not None:
            look.own, look.block_size = space.slot is not None, space.blocks.block_size
        where = {} if to is None else {"cdw2": to & 0xFFFF_FFFF, "cdw3": to >> 32}
        flags = 0
        if step["memory"] and model.near:
            look.memory = (text if step["memory"] % 2 else table)(step["memory"], nbytes)
            look.own = False
            look.source, where["mptr"], flags = self._source(step, look.memory)
        if to is not None:
            flags |= step["to_ns"] << 8 & STORE_NSID
        return look, {"cdw13": length, "cdw14": room, "cdw15": number | flags | phase << 16} | where

    def _source(self, step: Step, data: bytes) -> tuple[Buffer, int, int]:
        """Data of a near-storage command in memory, and what its entry has in MPTR and in CDW15. A drive that takes it
        gets an SGL of pieces, in any order, one of three times."""
        offset = step["offset"] % 4096 & ~3
        if self.machine.model.memory is None or step["memory"] % 3:
            source = self.drive.buffer(len(data), offset=offset)
            source.write(data)
            return source, source.address, FROM_MEMORY
        rng = random.Random(step["memory"])
        cuts = sorted({0, len(data), *(4 * rng.randrange(len(data) // 4) for _ in range(rng.choice((0, 1, 5, 40))))})
        pieces = list(itertools.pairwise(cuts))
        behind = -(-(offset + len(data)) // 8) * 8 - offset  # the descriptors
        source = self.drive.buffer(behind + 16 * (1 + len(pieces)), offset=offset)
        parts, at, places = b"", 0, {}
        for piece in rng.sample(pieces, len(pieces)):
            places[piece] = source.address + at
            parts += data[slice(*piece)]
            at += piece[1] - piece[0]
        first = source.address + behind
        sgl = source_sgl(first, [(places[piece], piece[1] - piece[0]) for piece in pieces])
        source.write(parts.ljust(behind, b"\0") + sgl)
        return source, first, FROM_MEMORY | FROM_SGL

    def _ranges(self, step: Step, slba: int, count: int, space: Space | None) -> list[tuple[int, int]]:
        blocks = space.blocks.blocks if space else 1 << 16
        starts = [(slba + 3 * i * count) % blocks for i in range(max(1, min(step["parts"], 256)))]
        return [(s, min(count, blocks - s)) for s in starts]

    def _data(
        self, step: Step, slba: int, count: int, nbytes: int, space: Space | None, ranges: list[tuple[int, int]]
    ) -> bytes | None:
        match step["op"]:
            case "dsm":
                return b"".join(bytes(DsmRange(0, n, s)) for s, n in ranges)
            case "compare" if step["match"] and space is not None:
                return space.blocks.expected(slba, count)
            case "write" | "compare" if step["text"] == 2:
                return table(step["data"], nbytes)
            case "write" | "compare" if step["text"]:
                return text(step["data"], nbytes)
            case "write" | "compare":
                return random.Random(step["data"]).randbytes(nbytes)
        return None

    def _buffer(self, step: Step, nbytes: int, data: bytes | None) -> Buffer | None:
        return self.placed_buffer(step, nbytes, data) if step["op"] in WITH_BUFFER else None

    def placed_buffer(self, step: Step, nbytes: int, data: bytes | None) -> Buffer:
        """Where the step says, with canaries beside it and in it."""
        offset, first = step["offset"] % 4096 & ~3, step["list"] % 4096 & ~7
        buffer = self.drive.buffer(nbytes, offset=offset, scattered=bool(step["scattered"]), list_offset=first)
        buffer.fill(CANARY)
        if data is not None:
            buffer.write(data)
        return buffer

    def _fault(
        self, step: Step, op: str, buffer: Buffer | None, nbytes: int, look: Look | None
    ) -> tuple[str, int, bool] | None:
        kind, part = step["fault"], step["part"]
        if not kind or buffer is None:
            return None
        of_data = part >= 0
        if of_data and (op == "read" or (look is not None and look.to is None)):
            return None
        pages = buffer.pages if of_data else buffer.list_pages[-1:] if self.drive.sgl else buffer.list_pages
        if not pages:
            return None
        number = self.inject(kind, pages[max(0, min(part, len(pages) - 1, -(-(buffer.offset + nbytes) // 4096) - 1))])
        return None if number is None else (kind, number, of_data)

    def inject(self, kind: str, page: int, most: int = TIMEOUTS) -> int | None:
        """Its number in the simulator. None: no more of these; most: timeouts of all clients together."""
        if not hasattr(self.drive.sim, "inject"):
            return None
        if kind in ("drop", "late"):
            if self.timeouts >= most:
                return None
            self.timeouts += 1
        return int(self.drive.sim.inject(kind, addr=page, length=4096))

    def drop_faults(self) -> None:
        """Takes back those that were not met; those of commands in flight stay."""
        if self.met_faults():
            return  # their numbers would be lost; another time
        self.drive.sim.inject_clear()
        self.inject_again()

    def met_faults(self) -> bool:
        """Some of the commands in flight have met theirs."""
        return any(self.drive.sim.injected(s.fault[1]) for s in self.judge.sent.values() if s.fault)

    def inject_again(self) -> None:
        """The faults of commands in flight, when all have been taken back."""
        for sent in [s for s in self.judge.sent.values() if s.fault]:
            assert sent.fault is not None and sent.buffer is not None
            kind, _, of_data = sent.fault
            page = sent.buffer.pages[0] if of_data else sent.buffer.list_pages[-1 if self.drive.sgl else 0]
            sent.fault = kind, self.drive.sim.inject(kind, addr=page, length=4096), of_data
        self.judge.stale_faults = False
