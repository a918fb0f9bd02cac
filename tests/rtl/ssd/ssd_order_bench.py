# SPDX-License-Identifier: Apache-2.0
"""Decode on one side of db_ssd_order, two engines on the other: what commands cost, and which may be the next."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from functions import number
from structs import layout

CMD = layout("db_ssd_pkg", "cmd_t")
TAP = layout("db_ssd_pkg", "tap_cmd_t")
FN_SET = layout("db_ssd_pkg", "fn_set_t")
SEGMENT = layout("db_mem_pkg", "segment_t")
PIECE = layout("db_ssd_data_pkg", "piece_t")
READ, WRITE = 0, 1
KINDS: dict[str, tuple[int, dict[str, int]]] = {
    "read": (READ, {"read_engine": 1, "to_host": 1, "has_lba": 1, "user_data": 1}),
    "near": (READ, {"read_engine": 1, "to_host": 1, "has_lba": 1, "user_data": 1, "computes": 1}),
    "pieces": (
        READ,
        {"read_engine": 1, "to_host": 1, "has_lba": 1, "user_data": 1, "computes": 1, "memory": 1, "from_sgl": 1},
    ),
    "memory": (READ, {"read_engine": 1, "to_host": 1, "has_lba": 1, "user_data": 1, "memory": 1}),
    "verify": (READ, {"read_engine": 1, "has_lba": 1}),
    "write": (WRITE, {"write_engine": 1, "from_host": 1, "write": 1, "has_lba": 1, "user_data": 1}),
    "dsm": (WRITE, {"write_engine": 1, "from_host": 1, "ranges": 1}),
    "zeroes": (WRITE, {"write_engine": 1, "zero": 1, "has_lba": 1}),
    "flush": (WRITE, {"write_engine": 1, "flush": 1}),
}
MOVERS = [k for k, (_, desc) in KINDS.items() if desc.get("to_host") or desc.get("from_host")]
PIECE_BYTES = 64  # of a list of ranges
SGL_BLOCK, SGL_BUCKET, SGL_SEGMENT, SGL_LAST = range(4)
CYCLES_A_US = 250
STUCK = 60  # cycles, in which a command goes if its engine may have one


def cost(kind: str, nbytes: int) -> int:
    """In 512 bytes: of data, or 4 KiB for a range of 16 bytes; at least one, at most 4095. A near-storage command has
    at least 4 KiB."""
    least = 8 if kind in ("near", "pieces") else 1
    return min(4095, max(least, (nbytes // 16 * 4096 if kind == "dsm" else nbytes) // 512))


SOURCE = (0, 16 | SGL_SEGMENT << 60)
"""What decode makes of a descriptor in memory that says where data come from: a segment of one."""


def with_lists(own: int, data: int, sgls: Iterable[tuple[int, int]], data_w: int) -> int:
    """What a command costs with its SGLs that costs `own` without: with a list at least 2 KiB, and beside them what
    4 cycles of the data path move for each descriptor, at most 4095. A list that is not all in a page of a last segment
    counts as 256 descriptors and one for each 512 bytes of data, which are so many."""
    descriptors = 0
    for prp1, prp2 in sgls:
        kind, length = prp2 >> 60, prp2 & 0xFFFFFFFF
        if kind in (SGL_SEGMENT, SGL_LAST):
            one = kind == SGL_LAST and prp1 % 4096 // 8 * 8 + length // 8 * 8 <= 4096
            descriptors += length // 16 if one else 256 + data
    return min(4095, max(own, 4) + descriptors * 4 * (data_w // 8) // 512) if descriptors else own


def places(prp1: int, prp2: int, first: int, count: int) -> list[int]:
    """Where bytes of a list of ranges are in memory."""
    end = (prp1 & ~0xFFF) + 4096  # of the first page
    second = prp2 & ~0xFFF
    return [a if (a := prp1 + i) < end else second + a - end for i in range(first, first + count)]


@dataclass
class Command:
    kind: str
    fn: int  # place
    slot: int
    nbytes: int
    fields: dict[str, Any]
    context: dict[str, Any]
    came: int
    others: dict[int, int]  # bytes, in 512, of each function until then
    before: int  # commands that went until then
    gone: int = 0  # bytes of its list of ranges, in pieces
    last: bool = True  # piece
    data_w: int = 256

    @property
    def engine(self) -> int:
        return KINDS[self.kind][0]

    @property
    def cost(self) -> int:
        size = min(self.nbytes, PIECE_BYTES) if self.kind == "dsm" else self.nbytes
        own = cost(self.kind, size)
        data = own if self.kind == "dsm" else size // 512
        pointer = [(self.fields["prp1"], self.fields["prp2"])] if self.fields.get("sgl") and self.kind in MOVERS else []
        return with_lists(own, data, pointer + [SOURCE] * (self.kind == "pieces"), self.data_w)


class Order:
    """Decode on one side, two engines on the other. An engine does commands one behind the other, at `rate` cycles for
    512 bytes, a while after they came: user data in segments, of which it may drop the rest (a bad PRP)."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.num_fn, self.num_cmds = int(dut.NUM_FN.value), int(dut.NUM_CMDS.value)
        self.data_w = int(dut.DATA_W.value)
        self.sgl = bool(int(dut.SGL.value))
        self.window = self.data_w // 4 * 512
        self.free = list(range(self.num_cmds))
        self.rate, self.latency, self.room = 8, 60, 32
        self.cycle = 0
        self.inside: tuple[deque[Command], deque[Command]] = (deque(), deque())
        self.due: list[int] = [0, 0]  # when the next segment or end of a command is
        self.rest: dict[int, int] = {}  # bytes that have no segment yet, by slot
        self.walked: set[int] = set()  # slots of near-storage commands that have had their segment
        self.drops = 0.0
        self.waiting: dict[tuple[int, int], deque[Command]] = defaultdict(deque)
        self.moved: tuple[dict[int, int], dict[int, int]] = (defaultdict(int), defaultdict(int))
        self.weight = dict.fromkeys(range(self.num_fn), 1)
        self.went: list[Command] = []
        self.starved = [0, 0]
        self.beside: tuple[Command, dict[str, Any]] | None = None
        self.next: Command | None = None

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in ("us_turns", "s_fn_set", "s_cmd_valid", "s_cmd", "s_tap_cmd", "s_ctx_valid", "s_ctx_slot",
                     "m_cmd_ready", "s_seg", "s_seg_of", "s_seg_slot", "s_end", "s_end_slot"):  # fmt: skip
            getattr(d, name).value = 0
        d.rst.value = 1
        for _ in range(4):
            await FallingEdge(d.clk)
        d.rst.value = 0
        for _ in range(40):
            await self.step()

    async def share(self, fn: int, weight: int, deadline_us: int = 0) -> None:
        self.weight[fn] = weight
        share = {"place": fn, "weight": weight, "deadline": deadline_us}
        self.dut.s_fn_set.value = FN_SET.pack(share_valid=1, share=share)
        await self.step()
        self.dut.s_fn_set.value = 0

    def send(self, kind: str, fn: int, nbytes: int, sgl: tuple[int, int] | None = None) -> None:
        """At the next step; there must be a free slot, and the step before must have had none. sgl: instead of PRPs."""
        r = self.rng
        slot = self.free.pop(r.randrange(len(self.free)))
        desc = KINDS[kind][1]
        fields = {"desc": desc, "fn": number(fn), "slot": slot, "fua": r.getrandbits(1), "lba4k": r.getrandbits(1),
                  "media_addr": r.getrandbits(64), "ns_blocks": r.getrandbits(64), "bytes": nbytes,
                  "prp1": r.getrandbits(64), "prp2": r.getrandbits(64)}  # fmt: skip
        if kind == "dsm":
            fields["prp1"] &= ~3
            fields["prp2"] &= -1 if r.random() < 0.1 else ~0xFFF
        if sgl and self.sgl:
            fields["sgl"], (fields["prp1"], fields["prp2"]) = 1, sgl
        context = {"desc": desc, "fn": number(fn), "sqid": r.getrandbits(8), "cid": r.getrandbits(16),
                   "nsid": r.getrandbits(32), "slba": r.getrandbits(64), "bytes": nbytes}  # fmt: skip
        engine = KINDS[kind][0]
        self.next = Command(
            kind, fn, slot, nbytes, fields, context, self.cycle, dict(self.moved[engine]), len(self.went),
            data_w=self.data_w,
        )  # fmt: skip

    def any_sgl(self, cut: bool) -> tuple[int, int]:
        """A descriptor; cut: of a list of ranges that goes in pieces, so it points to no further ones."""
        r = self.rng
        kind = r.choice((SGL_BLOCK, SGL_BUCKET) if cut else (SGL_BLOCK, SGL_BLOCK, *range(4), SGL_LAST))
        addr = r.getrandbits(52) << 12 | r.choice((0, 4 * r.randrange(1024), 4088, 8 * r.randrange(512)))
        if r.random() < 0.1:
            addr |= -1 << 13 & (1 << 64) - 1
        length = r.choice((r.getrandbits(32), r.randrange(8192), 16 * r.randrange(257), 64 * r.randrange(65), 4096))
        return addr, length | r.getrandbits(28) << 32 | kind << 60

    def may_have(self, engine: int) -> bool:
        before = sum(self.owes(c) for c in self.inside[engine])
        return before * 512 < self.window and len(self.inside[engine]) < self.room

    def owes(self, cmd: Command) -> int:
        """What of a command's cost is still before the engine."""
        if cmd.slot not in self.rest:
            return cmd.cost
        return cmd.cost - (cmd.nbytes - self.rest[cmd.slot]) // 512 if self.rest[cmd.slot] else 0

    def segment(self, cmd: Command) -> dict[str, int] | None:
        """The next of a command with user data; None: it has had its last."""
        if cmd.kind == "near":  # that of its result says nothing of the media's data
            had = cmd.slot in self.walked
            self.walked.add(cmd.slot)
            return None if had else {"len": self.rng.choice((64, 4096)), "last": 1}
        left = self.rest.get(cmd.slot, cmd.nbytes)
        if not KINDS[cmd.kind][1].get("user_data") or not left:
            return None
        size = min(left, self.rng.choice([4096, 4096, 4 * self.rng.randint(1, 1024)]))
        self.rest[cmd.slot] = 0 if self.rng.random() < self.drops else left - size
        return {"len": size, "last": int(not self.rest[cmd.slot])}

    async def step(self) -> None:
        d = self.dut
        new, self.next = self.next, None
        d.s_cmd_valid.value = 1 << new.engine if new else 0
        if new:
            d.s_cmd.value = CMD.pack(new.fields)
        context, self.beside = self.beside, None
        d.s_ctx_valid.value = int(context is not None)
        if context:
            d.s_ctx_slot.value = context[0].slot
            d.s_tap_cmd.value = TAP.pack(ctx=context[1], lba4k=context[0].fields["lba4k"])
        d.us_turns.value = self.cycle // CYCLES_A_US % 2
        d.m_cmd_ready.value = sum((len(self.inside[e]) < self.room) << e for e in (READ, WRITE))
        due = [e for e in (READ, WRITE) if self.inside[e] and self.cycle >= self.due[e]]
        segments = {e: segment for e in due if (segment := self.segment(self.inside[e][0]))}
        ends = [e for e in due if e not in segments]
        d.s_seg.value = sum(1 << e for e in segments)
        d.s_seg_of.value = sum(SEGMENT.pack(s) << (e * SEGMENT.width) for e, s in segments.items())
        d.s_seg_slot.value = sum(self.inside[e][0].slot << (e * 8) for e in segments)
        for e, s in segments.items():
            self.due[e] = self.cycle + 1 + self.rate * s["len"] // 512
        d.s_end.value = sum(1 << e for e in ends)
        d.s_end_slot.value = sum(self.inside[e][0].slot << (e * 8) for e in ends)
        await RisingEdge(d.clk)
        for e in (READ, WRITE):
            if (int(d.m_cmd_valid.value) >> e) & 1:
                self.goes(e)
        for e in (READ, WRITE):
            wants = any(q for (engine, _), q in self.waiting.items() if engine == e)
            self.starved[e] = self.starved[e] + 1 if wants and self.may_have(e) else 0
            assert self.starved[e] < STUCK, "an engine has room, and a command waits"
        for e in ends:
            ended = self.inside[e].popleft()
            if ended.last:
                self.free.append(ended.slot)
            self.rest.pop(ended.slot, None)
            self.walked.discard(ended.slot)
            self.begin(e, 0)
        if new:
            self.waiting[new.engine, new.fn].append(new)
            self.beside = new, new.context
        await FallingEdge(d.clk)
        self.cycle += 1

    def begin(self, engine: int, latency: int) -> None:
        if self.inside[engine]:
            cmd = self.inside[engine][0]
            moves = cmd.kind in ("read", "write")
            self.due[engine] = self.cycle + 1 + latency + (0 if moves else self.rate * cmd.cost)

    def goes(self, engine: int) -> None:
        got = CMD.unpack(int(self.dut.m_cmd.value))
        fn = next(f for f in range(self.num_fn) if number(f) == got["fn"])
        assert self.waiting[engine, fn], "nothing of this function waits"
        cmd = self.waiting[engine, fn][0]
        want = CMD.unpack(CMD.pack(cmd.fields))
        piece = PIECE.unpack(int(self.dut.m_piece.value))
        context = cmd.context
        if cmd.kind == "dsm":
            size = min(PIECE_BYTES, cmd.nbytes - cmd.gone)
            self.check_place(got, want, cmd.gone, size)
            want |= {"bytes": size, "prp1": got["prp1"], "prp2": got["prp2"]}
            context = context | {"bytes": size}
            assert piece == {"place": fn, "later": int(cmd.gone > 0), "more": int(cmd.gone + size < cmd.nbytes)}
            cmd.gone += size
            cmd = replace(cmd, last=cmd.gone == cmd.nbytes)
        else:
            assert (piece["later"], piece["more"]) == (0, 0)
        if cmd.last:
            self.waiting[engine, fn].popleft()
        assert got == want, "not the first command of its function, or not as it came"
        assert int(self.dut.m_tap_begin.value) == 1 - piece["later"]
        tap = TAP.unpack(int(self.dut.m_tap_cmd.value))
        assert tap["ctx"] == TAP.unpack(TAP.pack(ctx=context))["ctx"] and tap["lba4k"] == cmd.fields["lba4k"]
        desc = KINDS[cmd.kind][1]
        assert (tap["read"], tap["write"]) == (desc.get("to_host", 0), desc.get("from_host", 0))
        assert self.may_have(engine), "more than the window, or than there is room for"
        self.inside[engine].append(cmd)
        if len(self.inside[engine]) == 1:
            self.begin(engine, self.latency)
        self.moved[engine][cmd.fn] += cmd.cost
        self.starved[engine] = 0
        self.went.append(cmd)

    @staticmethod
    def check_place(got: dict[str, Any], want: dict[str, Any], first: int, size: int) -> None:
        """The piece's part of the list is where the list's is. A bad PRP2 stays one, if the part needs it. Of a data
        block the same part is there, or is not."""
        if want["sgl"]:
            assert got["prp1"] == (want["prp1"] + first) % (1 << 64)
            assert got["prp2"] >> 32 == want["prp2"] >> 32
            there, part = (c["prp2"] & 0xFFFFFFFF for c in (want, got))
            assert min(part, size) == min(max(there - first, 0), size)
            assert part % 4 == there % 4 or there < first
            return
        assert got["prp2"] == want["prp2"]
        where = places(want["prp1"], want["prp2"], first, size)
        if want["prp2"] & 0xFFF and where[0] != want["prp1"] + first:
            assert got["prp1"] & 3, "an offset of PRP2 is not seen"
        else:
            assert places(got["prp1"], got["prp2"], 0, size) == where

    async def drain(self) -> None:
        for _ in range(200_000):
            if len(self.free) == self.num_cmds:
                break
            await self.step()
        assert len(self.free) == self.num_cmds, "commands are lost"
        for _ in range(20):
            await self.step()
        assert int(self.dut.busy.value) == 0
