# SPDX-License-Identifier: Apache-2.0
"""db_ssd_order: each command goes to its engine once, as it came, those of a function in their order. Functions that
always have commands move bytes by their weights, an engine has little more than its window, and one that has room never
waits while there are commands. A list of more ranges than a piece has goes in pieces, which together are the list.
"""

from __future__ import annotations

import random
from collections import defaultdict, deque
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
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
STUCK = 60  # cycles, in which a command goes if its engine may have one


def cost(kind: str, nbytes: int) -> int:
    """In 512 bytes: of data, or 4 KiB for a range of 16 bytes; at least one, at most 4095. A near-storage command has
    at least 4 KiB."""
    return min(4095, max(8 if kind == "near" else 1, (nbytes // 16 * 4096 if kind == "dsm" else nbytes) // 512))


def with_list(own: int, data: int, prp1: int, prp2: int, data_w: int) -> int:
    """What a command costs with its SGL that costs `own` without: with a list at least 2 KiB, and beside them what
    4 cycles of the data path move for each descriptor. One that is not all in a page of a last segment counts as 256
    descriptors and one for each 512 bytes of data, which are so many."""
    kind, length = prp2 >> 60, prp2 & 0xFFFFFFFF
    if kind not in (SGL_SEGMENT, SGL_LAST):
        return own
    one = kind == SGL_LAST and prp1 % 4096 // 8 * 8 + length // 8 * 8 <= 4096
    return max(own, 4) + (length // 16 if one else 256 + data) * 4 * (data_w // 8) // 512


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
        if not self.fields.get("sgl") or self.kind not in MOVERS:
            return own
        data = own if self.kind == "dsm" else size // 512
        return with_list(own, data, self.fields["prp1"], self.fields["prp2"], self.data_w)


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
        for name in ("s_fn_set", "s_cmd_valid", "s_cmd", "s_tap_cmd", "s_ctx_valid", "s_ctx_slot", "m_cmd_ready",
                     "s_seg", "s_seg_of", "s_seg_slot", "s_end", "s_end_slot"):  # fmt: skip
            getattr(d, name).value = 0
        d.rst.value = 1
        for _ in range(4):
            await FallingEdge(d.clk)
        d.rst.value = 0
        for _ in range(40):
            await self.step()

    async def share(self, fn: int, weight: int) -> None:
        self.weight[fn] = weight
        self.dut.s_fn_set.value = FN_SET.pack(share_valid=1, share={"place": fn, "weight": weight})
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


@cocotb.test()
async def random_commands(dut: Any) -> None:
    o = Order(dut, 1)
    await o.start()
    rounds = bench.rounds(12, 4)
    for _ in range(rounds):
        await o.drain()
        o.rate, o.latency, o.room = o.rng.choice([1, 4]), o.rng.choice([5, 300]), o.rng.choice([2, 32])
        o.drops = o.rng.choice([0, 0.1])
        fns = o.rng.sample(range(o.num_fn), o.rng.randint(1, o.num_fn))
        kinds = o.rng.sample(list(KINDS), o.rng.randint(1, len(KINDS)))
        often = o.rng.choice([2, 2, 30])
        for _ in range(250):
            if o.free:
                kind = o.rng.choice(kinds)
                ranges = o.rng.choice([1, 4, 5, 20, 256])
                size = {"dsm": 16 * ranges, "flush": 0}.get(kind, 512 << o.rng.choice([0, 3, 3, 6]))
                sgl = o.any_sgl(kind == "dsm" and ranges > 4) if o.rng.random() < 0.5 else None
                o.send(kind, o.rng.choice(fns), size, sgl)
            for _ in range(often):
                await o.step()
    await o.drain()
    assert len(o.went) > 55 * rounds


async def all_busy(
    o: Order, kind: str, sizes: dict[int, int], total: int, weights: dict[int, int],
    sgls: dict[int, tuple[int, int]] | None = None,
) -> None:  # fmt: skip
    """Functions that always have commands: what they moved since all had some, by weight, never differs by more than
    a command of each. sgls: those of functions that have some."""
    sgls = sgls if sgls and o.sgl else {}
    costs = {f: cost(kind, sizes[f]) for f in sizes}
    costs |= {f: with_list(costs[f], sizes[f] // 512, *sgl, o.data_w) for f, sgl in sgls.items()}
    for fn, weight in weights.items():
        await o.share(fn, weight)
    engine, each = KINDS[kind][0], o.num_cmds // len(sizes)
    begun = len(o.went)
    room, o.room = o.room, 0  # nothing goes before all have their commands
    for fn in sizes:
        for _ in range(each):
            o.send(kind, fn, sizes[fn], sgls.get(fn))
            await o.step()
            await o.step()
    o.room = room
    start: dict[int, int] = {}
    while len(o.went) - begun < total:
        if len(o.went) - begun < total // 4:
            start = dict(o.moved[engine])
        behind = [f for f in sizes if len(o.waiting[engine, f]) + sum(c.fn == f for c in o.inside[engine]) < each]
        if behind and o.free:
            o.send(kind, behind[0], sizes[behind[0]], sgls.get(behind[0]))
        await o.step()
        await o.step()
        assert all(o.waiting[engine, f] for f in sizes), "this test must keep all of them busy"
        part = {f: (o.moved[engine][f] - start.get(f, 0)) / o.weight[f] for f in sizes}
        for a, b in combinations(sizes, 2):
            most = costs[a] / o.weight[a] + costs[b] / o.weight[b]
            assert abs(part[a] - part[b]) <= most * 1.01 + 1, (a, b, part)
    await o.drain()


@cocotb.test()
async def equal_parts_whatever_the_size(dut: Any) -> None:
    o = Order(dut, 2)
    await o.start()
    o.rate = 2
    sizes = {f: (4096, 512, 32768)[f % 3] for f in range(min(o.num_fn, 6))}
    await all_busy(o, "read", sizes, 600, {})


@cocotb.test()
async def parts_by_weight(dut: Any) -> None:
    o = Order(dut, 3)
    await o.start()
    o.rate = 4
    weights = dict(zip(range(o.num_fn), (1, 4, 11)))
    await all_busy(o, "write", dict.fromkeys(weights, 4096), 600, weights)


@cocotb.test()
async def lists_pay_for_their_descriptors(dut: Any) -> None:
    """Blocks of 512 bytes: PRPs, lists of 128 descriptors, chains."""
    o = Order(dut, 9)
    if not o.sgl:
        return
    await o.start()
    o.rate = 2
    lists = {1: (0x1000, 128 * 16 | SGL_LAST << 60), 2: (0x1000, 16 | SGL_SEGMENT << 60)}
    await all_busy(o, "read", {0: 16384, 1: 512, 2: 512}, 250, {}, lists)


@cocotb.test()
async def parts_of_any_sizes_and_weights(dut: Any) -> None:
    """Some functions, each with its size and weight, whatever the engine's pace. Sizes by weight differ at most
    eightfold, or there are not slots enough to keep all of them busy."""
    for seed in range(20, 20 + bench.rounds(24, 4)):
        o = Order(dut, seed)
        await o.start()
        rng = random.Random(seed)
        o.rate, o.latency = rng.choice([1, 2, 4]), rng.choice([5, 40])
        fns = rng.sample(range(o.num_fn), rng.randint(2, min(o.num_fn, 6)))
        weights, sizes, steps = {}, {}, [0.0, 9.0]
        while max(steps) > 8 * min(steps):
            weights = {f: rng.choice([1, 2, 3, 7, 16, rng.randint(1, 64)]) for f in fns}
            sizes = {f: 512 * rng.choice([1, 2, 8, 8, rng.randint(1, 256)]) for f in fns}
            steps = [sizes[f] / weights[f] for f in fns]
        await all_busy(o, rng.choice(["read", "write"]), sizes, 150, weights)


@cocotb.test()
async def a_quiet_function_waits_for_one_of_each(dut: Any) -> None:
    """The others move at most a command of theirs, one that is chosen, and as much as the quiet one asks for, until it
    goes. If theirs are larger, it is next but for what is chosen."""
    o = Order(dut, 4)
    await o.start()
    o.rate = 2
    others = range(1, o.num_fn)
    each = (o.num_cmds - 1) // len(others)
    waits = []
    for size, own in ((4096, 4096), (65536, 4096), (4096, 65536)):
        for _ in range(12):
            sent = len(o.went)
            for i in range(400):
                behind = [f for f in others if len(o.waiting[READ, f]) < each - 1]
                if i == 200:
                    o.send("read", 0, own)
                elif behind and len(o.free) > 1:
                    o.send("read", o.rng.choice(behind), size)
                await o.step()
                await o.step()
            mine = [c for c in o.went[sent:] if c.fn == 0]
            while not mine:
                await o.step()
                mine = [c for c in o.went[sent:] if c.fn == 0]
            at = o.went.index(mine[0])
            for f in others:
                before = sum(c.cost for c in o.went[:at] if c.fn == f) - mine[0].others.get(f, 0)
                assert before <= 2 * cost("read", size) + mine[0].cost, (f, before)
            if size > own:
                assert at - mine[0].before <= 2
            waits.append(at - mine[0].before)
    await o.drain()
    assert max(waits) > 0


@cocotb.test()
async def a_reset_forgets_all(dut: Any) -> None:
    o = Order(dut, 5)
    await o.start()
    for _ in range(3):
        for i in range(40):
            o.send("read" if i % 2 else "write", i % o.num_fn, 4096)
            await o.step()
            await o.step()
        dut.rst.value = 1
        dut.s_cmd_valid.value, dut.s_end.value, dut.s_ctx_valid.value, dut.s_seg.value = 0, 0, 0, 0
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.rst.value = 0
        o = Order(dut, 6)
        o.dut.m_cmd_ready.value = 0
        for _ in range(40):
            await o.step()
        assert not o.went and int(dut.busy.value) == 0


@cocotb.test()
async def latency_and_throughput(dut: Any) -> None:
    """An entry every other cycle; a command every n + 5 cycles while n functions have commands."""
    o = Order(dut, 7)
    await o.start()
    o.rate, o.latency = 1, 4
    cycles: dict[int, float] = {}
    for n in {1, 2, o.num_fn}:
        for i in range(min(o.num_cmds, 60)):
            o.send("flush", i % n, 0)
            await o.step()
            await o.step()
        begin, went = o.cycle, len(o.went)
        while sum(len(q) for q in o.waiting.values()) > n:
            await o.step()
        cycles[n] = (o.cycle - begin) / max(1, len(o.went) - went)
        await o.drain()
    assert all(n + 4 < c <= n + 6.5 for n, c in cycles.items() if n > 1), cycles


@cocotb.test()
async def both_engines_in_turn(dut: Any) -> None:
    """While both engines have room, commands of n functions for each go to the one and the other, one every n + 5
    cycles together."""
    o = Order(dut, 8)
    await o.start()
    o.rate, o.latency = 1, 4
    n = min(o.num_fn, o.num_cmds // 4)
    room, o.room = o.room, 0
    for i in range(min(o.num_cmds, 60)):
        o.send("flush" if i // n % 2 else "verify", i % n, 0)
        await o.step()
        await o.step()
    o.room = room
    begin, went = o.cycle, len(o.went)
    while sum(len(q) for (e, _), q in o.waiting.items() if e == WRITE) > n:
        await o.step()
    engines = [c.engine for c in o.went[went:]]
    assert all(a != b for a, b in zip(engines, engines[1:])), "one engine twice"
    assert (o.cycle - begin) / len(engines) <= n + 6
    await o.drain()


@pytest.mark.parametrize(("num_fn", "sgl"), [(3, 1), bench.rare(17, 1), bench.rare(3, 0)])
def test_db_ssd_order(num_fn: int, sgl: int) -> None:
    bench.run(__file__, "db_ssd_order", {"NUM_FN": num_fn, "NUM_CMDS": 64, "DATA_W": 256, "SGL": sgl})


@pytest.mark.parametrize("data_w", [bench.rare(128), 512])
def test_cost_of_lists_by_width(data_w: int) -> None:
    """The window, which the other claims are made for, is another one."""
    parameters = {"NUM_FN": 3, "NUM_CMDS": 64, "DATA_W": data_w, "SGL": 1}
    bench.run(__file__, "db_ssd_order", parameters, testcase="lists_pay_for_their_descriptors")
