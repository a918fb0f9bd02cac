# SPDX-License-Identifier: Apache-2.0
"""db_ssd_programs, in decode: commands of memory and program namespaces against a model of docs/csd/programs.md: what
goes to the read engine, what ends here and how, whose programs and ranges count. Commands of blocks go on between."""

from __future__ import annotations

import os
import random
from collections import deque
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge
from decode_model import sqe
from functions import number, place_of
from rtl_bench import rare, run
from streams import Sink, Source, start
from structs import layout

SQE = layout("db_ssd_pkg", "fetched_sqe_t")
CMD, CTX = layout("db_ssd_pkg", "cmd_t"), layout("db_ssd_pkg", "slot_ctx_t")
TAP = layout("db_ssd_pkg", "tap_cmd_t")
COMPLETION = layout("db_ssd_pkg", "slot_completion_t")
NAMESPACE, NS_ENTRY = layout("db_ssd_pkg", "namespace_t"), layout("db_ssd_pkg", "ns_entry_t")
SET, ARGS = layout("db_ssd_near_pkg", "programs_set_t"), layout("db_ssd_near_pkg", "near_args_t")
COPY_ARGS, PART = layout("db_ssd_near_pkg", "copy_args_t"), layout("db_ssd_near_pkg", "part_t")
DESC = layout("db_ssd_op_pkg", "op_desc_t")
NUM_FN, NUM_NS = int(os.environ.get("NUM_FN", "1")), int(os.environ.get("NUM_NS", "1"))
SIZE_LOG2 = 16
SIZE, BASE = 1 << SIZE_LOG2, (1 << 64) - (1 << SIZE_LOG2)
MEGABYTE, BLOCKS = 1 << 20, 4096
DNR = 1 << 14
INVALID_OPCODE, INVALID_FIELD, INVALID_NS, LBA_RANGE = DNR | 0x01, DNR | 0x02, DNR | 0x0B, DNR | 0x80
NO_SET, NO_INDEX, NO_PROGRAM, NOT_ACTIVE, TOO_MANY, OVERLAPS = (
    DNR | 0x100 | code for code in (0x8D, 0x8F, 0x96, 0x98, 0x83, 0x87)
)
READ, WRITE, COPY, FILL = 0x02, 0x05, 0x01, 0x04  # of a memory
NEAR, STORE = 0x82, 0x83  # of blocks
EXECUTE = 0x01  # of programs
M32 = (1 << 32) - 1
NVM, MEMORY, PROGRAMS = range(3)


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.sqe = Source(dut, self.rng, "s_sqe", SQE)
        self.slot = Source(dut, self.rng, "s_slot", ("",))
        self.completion = Sink(dut, self.rng, "m_completion", COMPLETION)
        self.sets: deque[dict[str, int]] = deque()
        self.programs = [[[False, False] for _ in range(4)] for _ in range(NUM_FN)]  # there, active
        self.ranges: list[list[list[tuple[int, int]]]] = [[[(0, 0)] * 2 for _ in range(4)] for _ in range(NUM_FN)]
        self.want: deque[tuple[int, dict[str, Any] | int, dict[str, Any]]] = deque()
        self.told: deque[tuple[int, dict[str, Any]]] = deque()
        self.seen: set[tuple[int, int]] = set()

    async def start(self) -> None:
        d = self.dut
        d.m_read_ready.value = d.m_write_ready.value = d.m_admin_ready.value = 1
        await start(d, ns_rst=0, s_abort=0, cache_off=0, ns_locked=0, s_ns_valid=0, s_programs=0, s_part=0)
        d.ns_rst.value = 1
        await RisingEdge(d.clk)
        d.ns_rst.value = 0
        for nsid in range(1, NUM_NS + 2 * NUM_FN + 1):
            of = nsid - NUM_NS - 1
            kind = NVM if of < 0 else MEMORY + of % 2
            place, base, blocks = (None, 0, BLOCKS) if of < 0 else (of // 2, BASE, SIZE)
            attached = (1 << NUM_FN) - 1 if place is None else 1 << place
            ns = NAMESPACE.pack(valid=1, attached=attached if NUM_FN > 1 else 0, set=kind, base=base, blocks=blocks)
            d.s_ns_valid.value, d.s_ns.value = 1, NS_ENTRY.pack(index=nsid - 1, ns=ns)
            await RisingEdge(d.clk)
        d.s_ns_valid.value = 0

    async def set(self, **fields: int) -> None:
        """The firmware sets programs or a range."""
        self.dut.s_programs.value = SET.pack(fields)
        await RisingEdge(self.dut.clk)
        self.dut.s_programs.value = 0
        await RisingEdge(self.dut.clk)

    async def set_range(self, place: int, of: int, which: int, at: int, size: int) -> None:
        self.ranges[place][of][which] = (at, size)
        await self.set(range_valid=1, place=place, number=of, result=which, start=at, bytes=size)

    async def set_programs(self, place: int, there: int, active: int) -> None:
        self.programs[place] = [[bool(there >> i & 1), bool(active >> i & 1)] for i in range(4)]
        await self.set(state_valid=1, state_place=place, there=there, active=active)

    # ---------------------------------------------------------------- the model
    def expect(self, fn: int, entry: int) -> tuple[dict[str, Any] | int, dict[str, Any]]:
        """The command that an entry becomes, or its status; and its context, without the queue."""
        dw = [entry >> 32 * i & M32 for i in range(16)]
        opc, nsid, psdt, place = dw[0] & 0xFF, dw[1], dw[0] >> 14 & 3, place_of(fn, NUM_FN)
        assert place is not None
        own = NUM_NS + 1 + 2 * place
        kind = {own: MEMORY, own + 1: PROGRAMS}.get(nsid, NVM)
        first, size = dw[11] << 32 | dw[10], dw[12]
        pointer = {"sgl": int(psdt > 0), "prp1": dw[7] << 32 | dw[6], "prp2": dw[9] << 32 | dw[8]}
        moves = dict.fromkeys(("known", "has_lba", "user_data", "to_host", "read_engine", "memory"), 1)
        ctx: dict[str, Any] = {"cid": dw[0] >> 16, "nsid": nsid, "fn": fn}
        if psdt == 3:
            return INVALID_FIELD, ctx
        if kind == MEMORY:
            if opc not in (READ, WRITE, COPY, FILL):
                return INVALID_OPCODE, ctx
            if opc == COPY:
                return self.expect_copy(dw, pointer, ctx)
            if first + size > SIZE:
                return LBA_RANGE, ctx
            if size == 0 or size > MEGABYTE or size % 4 or first % 4:
                return INVALID_FIELD, ctx
            desc = moves | ({} if opc == READ else {"from_pointer": 1, "fills": int(opc == FILL)})
            command = {"desc": desc, "media_addr": BASE + first, "bytes": size, "ns_blocks": SIZE, **pointer}
            return command, ctx | {"slba": first}
        if kind == PROGRAMS:
            pind, rsid = dw[2] & 0xFFFF, dw[2] >> 16
            length, phase, rest = dw[10], dw[11] & 0xFFFF, dw[11] >> 16
            if opc != EXECUTE:
                return INVALID_OPCODE, ctx
            if length == 0 or length > MEGABYTE or rest or dw[3] or dw[4]:
                return INVALID_FIELD, ctx
            if pind > 3:
                return NO_INDEX, ctx
            there, active = self.programs[place][pind]
            if not there:
                return NO_PROGRAM, ctx
            if not active:
                return NOT_ACTIVE, ctx
            if not 1 <= rsid <= 4 or not all(n for _, n in self.ranges[place][rsid - 1]):
                return NO_SET, ctx
            (source, room), (to, most) = self.ranges[place][rsid - 1]
            size = -(-length // 512) * 512
            if size > room:
                return INVALID_FIELD, ctx
            result = min(most, size)
            args = ARGS.pack(data=length, result=result, number=pind, phase=phase)
            return {
                "desc": moves | {"computes": 1}, "media_addr": BASE + source, "bytes": size, "ns_blocks": args,
                "sgl": 1, "prp1": BASE + to, "prp2": result,
            }, ctx | {"slba": dw[13] << 32 | dw[12]}  # fmt: skip
        if opc != READ:
            return INVALID_OPCODE, ctx
        if not 1 <= nsid <= NUM_NS + 2 * NUM_FN:
            return INVALID_NS, ctx
        if nsid > NUM_NS:  # another function's
            return INVALID_FIELD, ctx
        blocks = (dw[12] & 0xFFFF) + 1
        if first + blocks > BLOCKS:
            return LBA_RANGE, ctx
        desc = dict.fromkeys(("known", "has_lba", "has_fua", "user_data", "to_host", "read_engine", "counts_read"), 1)
        return {
            "desc": desc, "media_addr": first * 512, "bytes": blocks * 512, "ns_blocks": BLOCKS,
            "fua": dw[12] >> 30 & 1, **pointer,
        }, ctx | {"slba": first}  # fmt: skip

    @staticmethod
    def expect_copy(
        dw: list[int], pointer: dict[str, Any], ctx: dict[str, Any]
    ) -> tuple[dict[str, Any] | int, dict[str, Any]]:
        to, size, form, ranges = dw[11] << 32 | dw[10], dw[2], dw[12] >> 8 & 15, (dw[12] & 0xFF) + 1
        if to + size > SIZE:
            return LBA_RANGE, ctx
        if size == 0 or size % 4 or to % 4 or dw[3] or form not in (2, 4):
            return INVALID_FIELD, ctx
        if ranges > 4:
            return TOO_MANY, ctx
        desc = dict.fromkeys(("known", "has_lba", "read_engine", "memory", "from_pointer", "copies"), 1)
        args = COPY_ARGS.pack(memory=int(form == 4), last=ranges - 1, length=size)
        command = {"desc": desc, "media_addr": BASE + to, "bytes": 32 * ranges, "ns_blocks": args, **pointer}
        return command, ctx | {"slba": to}

    # ---------------------------------------------------------------- what goes through
    def add(self, place: int, entry: int) -> None:
        fn, slot = number(place), self.rng.randrange(128)
        self.sqe.queue.append({"fn": fn, "sqid": NUM_FN + place, "head": 0, "err": 0, "sqe": entry})
        self.slot.queue.append((slot,))
        self.want.append((slot, *self.expect(fn, entry)))

    async def drain(self) -> None:
        d, ends = self.dut, deque[tuple[int, int]]()
        limit = 60 * len(self.want) + 200
        while self.want or self.told or ends:
            limit -= 1
            assert limit, "hangs"
            await RisingEdge(d.clk)
            self.sqe.step()
            self.slot.step()
            assert not d.m_write_valid.value and not d.m_admin_valid.value
            if d.m_ctx_valid.value:
                slot, ctx = self.told.popleft()
                got = CTX.unpack(int(d.m_ctx.value))
                assert int(d.m_ctx_slot.value) == slot
                assert {name: got[name] for name in ctx if name != "desc"} == {
                    n: v for n, v in ctx.items() if n != "desc"
                }
                moves = "slba" in ctx and ctx["desc"].get("to_host", 0)
                assert TAP.unpack(int(d.m_tap_cmd.value))["read"] == int(moves)
            if d.m_read_valid.value:
                slot, command, ctx = self.want.popleft()
                assert isinstance(command, dict), f"a command, not status {command}"
                got, whole = CMD.unpack(int(d.m_cmd.value)), self.whole(command, slot, ctx["fn"])
                assert got == whole, {name: (got[name], whole[name]) for name in got if got[name] != whole[name]}
                self.told.append((slot, ctx | {"bytes": command["bytes"], "desc": command["desc"]}))
                kinds = ("from_pointer", "computes", "fills", "copies")
                self.seen.add((sum(command["desc"].get(name, 0) << i for i, name in enumerate(kinds)), 0))
            if self.want and isinstance(self.want[0][1], int) and d.s_slot_ready.value and d.s_slot_valid.value:
                slot, status, ctx = self.want.popleft()
                self.told.append((slot, ctx))
                ends.append((slot, int(status)))
            if (word := self.completion.step()) is not None:
                assert tuple(word) == ends.popleft()
                self.seen.add((-1, word.status))

    @staticmethod
    def whole(command: dict[str, Any], slot: int, fn: int) -> dict[str, Any]:
        return CMD.unpack(CMD.pack({**command, "slot": slot, "fn": fn}))


def random_entry(rng: random.Random) -> tuple[int, int]:
    """Of which function, and the entry: mostly one that may begin, with the edges of each check."""
    place = rng.randrange(NUM_FN)
    own = NUM_NS + 1 + 2 * place
    kind = rng.choice((NVM, MEMORY, MEMORY, PROGRAMS, PROGRAMS, PROGRAMS))
    nsid = {NVM: rng.randint(1, NUM_NS), MEMORY: own, PROGRAMS: own + 1}[kind]
    if rng.random() < 0.05:
        nsid = rng.choice((0, own ^ 1, rng.randint(1, NUM_NS + 2 * NUM_FN), NUM_NS + 2 * NUM_FN + 1, 1 << 31))
    opc = {NVM: READ, MEMORY: rng.choice((READ, WRITE, COPY, COPY, FILL)), PROGRAMS: EXECUTE}[kind]
    if rng.random() < 0.05:
        opc = rng.choice((0x00, 0x01, 0x02, 0x05, 0x10, 0x82, 0xFF))
    if nsid not in (own, own + 1):
        opc = READ  # what blocks do otherwise is test_db_ssd_decode's
    rest = rng.getrandbits(224)
    cdws = [rng.getrandbits(32) for _ in range(3)]
    if kind == NVM:
        cdws[:3] = rng.randrange(BLOCKS), rng.choice((0, 0, 0, 1)), rng.choice((0, 7, 200)) | rng.getrandbits(1) << 30
    if kind == MEMORY:
        size = rng.choice((4, 4 * rng.randint(1, SIZE // 4), SIZE, SIZE + 4, 0, MEGABYTE, MEGABYTE + 4, 2, M32))
        first = rng.choice((0, 4 * rng.randrange(SIZE // 4), max(SIZE - size, 0), max(SIZE + 4 - size, 0), 2))
        cdws = [first, rng.choice((0,) * 15 + (1, M32)), size]
    more, two = [rng.getrandbits(32) for _ in range(3)], rng.getrandbits(64)
    mptr = rng.getrandbits(64)
    if kind == MEMORY and opc == COPY:
        two, cdws[2] = cdws[2] | rng.choice((0,) * 15 + (1 << 32,)), rng.choice((2, 2, 2, 4, 4, 0, 3)) << 8
        cdws[2] |= rng.choice((0, 1, 2, 3, 3, 4, 0x40)) | rng.getrandbits(20) << 12
    if kind == PROGRAMS:
        length = rng.choice((1, 512, rng.randint(1, 8192), rng.randint(1, SIZE), 0, MEGABYTE, MEGABYTE + 1))
        cdws[0], cdws[1] = length, rng.getrandbits(16) | rng.choice((0,) * 15 + (1 << 16,))
        pind = rng.choice((0, 0, 1, 1, 2, 3, 4, 0x100))
        two = pind | rng.choice((1, 1, 2, 3, 4, 0, 5, 0x101)) << 16 | rng.choice((0,) * 15 + (1,)) << 32
        mptr = (rng.getrandbits(32) << 32) | rng.choice((0,) * 15 + (4,))
    return place, sqe(
        opc, psdt=rng.choice((0, 0, 0, 1, 2, 3)), cid=rng.getrandbits(16), nsid=nsid, prp1=rng.getrandbits(64),
        prp2=rng.getrandbits(64), cdw10=cdws[0], cdw11=cdws[1], cdw12=cdws[2], rest=rest, more=more, to=two, mptr=mptr,
    )  # fmt: skip


@cocotb.test()
async def random_commands(dut: Any) -> None:
    seen: set[tuple[int, int]] = set()
    for seed, stall in ((1, 0.0), (2, 0.4), (3, 0.7)):
        b = Bench(dut, seed)
        await b.start()
        b.sqe.stall = b.slot.stall = b.completion.stall = stall
        for _ in range(6):
            for place in range(NUM_FN):
                there = b.rng.choice((15, 7, 3, b.rng.getrandbits(4)))
                await b.set_programs(place, there, there & b.rng.choice((15, 3, b.rng.getrandbits(4))))
                for of in range(4):
                    gone = b.rng.random() < 0.2
                    size = 512 * b.rng.randint(1, 16) * (not gone)
                    await b.set_range(place, of, 0, 4 * b.rng.randrange((SIZE - size) // 4 or 1), size)
                    size = 64 * b.rng.randint(1, 128) * (b.rng.random() > 0.1)
                    await b.set_range(place, of, 1, 4 * b.rng.randrange((SIZE - size) // 4), size)
            for _ in range(150):
                b.add(*random_entry(b.rng))
            await b.drain()
        seen |= b.seen
    every = (INVALID_OPCODE, INVALID_FIELD, INVALID_NS, LBA_RANGE, NO_SET, NO_INDEX, NO_PROGRAM, NOT_ACTIVE)
    assert seen == {*((i, 0) for i in (0, 1, 2, 5, 9)), *((-1, status) for status in (*every, TOO_MANY))}


@cocotb.test()
async def data_where_an_sgl_says(dut: Any) -> None:
    """Bit 3 of CDW15 of a near-storage command: MPTR is a descriptor's address, a multiple of 8."""
    b = Bench(dut, 9)
    await b.start()
    pointer = {"sgl": 0, "prp1": 0x1000, "prp2": 0}
    names = ("known", "has_lba", "has_fua", "user_data", "to_host", "read_engine", "computes", "memory")
    desc = dict.fromkeys(names, 1)
    for opc, flags, mptr, sgl in (
        (NEAR, 4, 0x2004, 0), (NEAR, 12, 0x2008, 1), (NEAR, 12, (1 << 64) - 8, 1), (NEAR, 12, 0x2004, None),
        (NEAR, 12, 0x2002, None), (NEAR, 12, 0x2001, None), (NEAR, 8, 0x2000, None), (NEAR, 28, 0x2000, None),
        (STORE, 12, 0x2000, 1), (STORE, 12 | 5 << 8, 0x2000, 1), (STORE, 12, 0x2004, None), (STORE, 8, 0x2000, None),
    ):  # fmt: skip
        size = 512 if opc == STORE else 64
        entry = sqe(opc, nsid=1, prp1=0x1000, more=[512, size, 2 | flags | 7 << 16], to=0, mptr=mptr)
        own = desc | {"from_sgl": sgl or 0, "stores": int(opc == STORE)}
        args = ARGS.pack(data=512, result=size, number=2, phase=7)
        command = {"desc": own, "media_addr": mptr, "bytes": 512, "ns_blocks": args, **pointer}
        slot = b.rng.randrange(128)
        b.sqe.queue.append({"fn": number(0), "sqid": NUM_FN, "head": 0, "err": 0, "sqe": entry})
        b.slot.queue.append((slot,))
        ctx = {"cid": 0, "nsid": 1, "fn": number(0)}
        b.want.append((slot, INVALID_FIELD, ctx) if sgl is None else (slot, command, ctx | {"slba": 0}))
        await b.drain()


@cocotb.test()
async def ranges_of_a_copy(dut: Any) -> None:
    """They come as Reads, of blocks or of memory, with the slot of their command, and are checked as any other: what
    their list says beside that ends them. No slot is taken, and no queue's head moves."""
    b = Bench(dut, 8)
    await b.start()
    d, rng = dut, b.rng
    seen: set[tuple[bool, int]] = set()
    for _ in range(600):
        memory, more, place = rng.random() < 0.5, rng.random() < 0.5, rng.randrange(NUM_FN)
        own = NUM_NS + 1 + 2 * place
        of_kind = own if memory else rng.randint(1, NUM_NS)
        nsid = of_kind if rng.random() < 0.8 else rng.choice((0, own, own + 1, rng.randint(1, NUM_NS), 1 << 31))
        amount = 4 * rng.randint(1, 64) if memory else rng.randint(0, 9)
        first = rng.choice((0, 4 * rng.randrange(64), SIZE, BLOCKS))
        bad, overlaps = rng.choice((0, 0, 0, 0, 1, 3, 2)), int(memory and rng.random() < 0.2)
        entry = sqe(READ, psdt=1, cid=rng.getrandbits(16), nsid=nsid, prp1=rng.getrandbits(64),
                    prp2=rng.getrandbits(32), cdw10=first, cdw12=amount, to=0, mptr=0, more=[0, 0, 0])  # fmt: skip
        want, ctx = b.expect(number(place), entry)
        if nsid in (own, own + 1) and nsid != of_kind or (memory and 1 <= nsid <= NUM_NS):
            want = INVALID_NS
        elif isinstance(want, dict) and bad & 1:  # blocks are of 512 bytes
            want = INVALID_FIELD
        elif isinstance(want, dict) and overlaps:
            want = OVERLAPS
        slot = rng.randrange(128)
        d.s_part.value = PART.pack(valid=1, slot=slot, more=more, memory=memory, bad=bad, overlaps=overlaps)
        b.slot.queue.append((slot ^ 1,))  # somebody else's
        b.sqe.queue.append({"fn": number(place), "sqid": NUM_FN + place, "head": 0, "err": 0, "sqe": entry})
        got: list[Any] = []
        for _ in range(12):
            await RisingEdge(d.clk)
            b.sqe.step()
            b.slot.step()
            assert not d.s_slot_ready.value and not d.m_head_valid.value and not d.m_write_valid.value
            if d.m_read_valid.value:
                got.append(CMD.unpack(int(d.m_cmd.value)))
            if d.m_ctx_valid.value:
                assert d.m_ctx_again.value and int(d.m_ctx_slot.value) == slot
                told = CTX.unpack(int(d.m_ctx.value))
                assert told["desc"]["copies"] == more or want == INVALID_NS
                assert (told["cid"], told["sqid"], told["fn"]) == (ctx["cid"], NUM_FN + place, number(place))
            if (word := b.completion.step()) is not None:
                got.append(tuple(word))
        if isinstance(want, dict):
            desc = {**want["desc"], "copies": int(more)}
            desc.pop("counts_read", None)
            whole = b.whole({**want, "desc": desc, "ns_blocks": 0 if more else want["ns_blocks"]}, slot, number(place))
            assert got == [whole]
        else:
            assert got == [(slot, want)], f"{got}, not {want:#x}"
        seen.add((memory, want if isinstance(want, int) else 0))
        b.slot.queue.clear()
        b.slot.word = None
        d.s_slot_valid.value = 0
    d.s_part.value = 0
    statuses = (0, INVALID_FIELD, INVALID_NS, LBA_RANGE)
    assert seen >= {(memory, status) for memory in (False, True) for status in statuses} | {(True, OVERLAPS)}


@cocotb.test()
async def nothing_is_there_at_power_on(dut: Any) -> None:
    """Neither programs nor ranges; what a reset of a function leaves is the firmware's to say."""
    b = Bench(dut, 9)
    await b.start()
    run_it = sqe(EXECUTE, nsid=NUM_NS + 2, cdw10=512, cdw11=0, to=1 << 16, mptr=0)
    await b.set_programs(0, 1, 1)
    await b.set_range(0, 0, 0, 0, 4096)
    await b.set_range(0, 0, 1, 8192, 64)
    b.add(0, run_it)
    await b.drain()
    assert (2, 0) in b.seen
    b = Bench(dut, 10)
    await b.start()
    b.add(0, run_it)
    await b.drain()
    await b.set_programs(0, 1, 1)
    b.add(0, run_it)
    await b.drain()
    assert b.seen == {(-1, NO_PROGRAM), (-1, NO_SET)}


@pytest.mark.parametrize(("num_fn", "num_ns"), [rare(1, 1), rare(3, 6), (17, 20)])
def test_db_ssd_programs(num_fn: int, num_ns: int) -> None:
    params = {"NUM_FN": num_fn, "NUM_NS": num_ns, "SGL": 1, "NEAR": 1, "SLM": 1}
    run(__file__, "db_ssd_decode", params, env={"NUM_FN": str(num_fn), "NUM_NS": str(num_ns)})
