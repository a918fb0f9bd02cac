# SPDX-License-Identifier: Apache-2.0
"""db_ssd_decode against a model of I/O command checks written from NVMe Base 2.0 and NVM Command Set 1.0,
of near-storage commands from docs/csd/near-storage.md."""

from __future__ import annotations

import os
import random
from collections import deque

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from functions import number, place_of
from rtl_bench import rare, run
from structs import layout

FLUSH, WRITE, READ, COMPARE, WRITE_ZEROES, DSM, VERIFY = 0x00, 0x01, 0x02, 0x05, 0x08, 0x09, 0x0C
WRITE_UNCOR = 0x04
OPS = (READ, VERIFY, WRITE, COMPARE, DSM, WRITE_ZEROES, FLUSH)
OPS += (WRITE_UNCOR,) if os.environ.get("UNCORRECTABLE") == "1" else ()
NEAR, STORE = 0x82, 0x83
NEARS = (NEAR, STORE)
MEMORY = 4  # CDW15
OPS += NEARS if os.environ.get("NEAR") == "1" else ()
RESERVATIONS = (0x0D, 0x0E, 0x11, 0x15) if int(os.environ.get("NUM_FN", "1")) > 1 else ()
READ_ENGINE = (READ, VERIFY, *NEARS)
READ_GROUP = (READ, VERIFY, COMPARE, *NEARS)  # of Base 2.0, "Command Behavior in the Presence of a Reservation"
USER_DATA = (READ, WRITE, COMPARE, *NEARS)
WITH_FUA = (READ, WRITE, COMPARE, WRITE_ZEROES, VERIFY, *NEARS)  # those whose CDW12 has it
DNR = 1 << 14
INVALID_OPCODE, INVALID_FIELD, INVALID_NS, LBA_RANGE = DNR | 0x01, DNR | 0x02, DNR | 0x0B, DNR | 0x80
ACCESS_DENIED = DNR | 0x286
WRITE_PROTECTED = DNR | 0x20
CONFLICT = DNR | 0x83
ABORT_REQUESTED = 0x07
M32, M64 = (1 << 32) - 1, (1 << 64) - 1
MDTS = 1 << 20
PORTS = ("read", "write", "completion", "admin")
NUM_FN = int(os.environ.get("NUM_FN", "1"))
IO = NUM_FN  # the first I/O queue
SGL = os.environ.get("SGL") == "1"
SEGMENTS = (2, 3)  # types of SGL descriptors: segment, last segment
BAD_COUNT = DNR | 0x0E
LONG_LIST = (BAD_COUNT if NUM_FN > 1 else 0) if SGL else INVALID_FIELD


def sqe(
    opc=0,
    fuse=0,
    psdt=0,
    cid=0,
    nsid=1,
    prp1=0,
    prp2=0,
    cdw10=0,
    cdw11=0,
    cdw12=0,
    rest=0,
    more=None,
    to=None,
    mptr=None,
) -> int:
    """A submission queue entry as a 512-bit number. rest: bits for the dwords that decode has no use for, and for 13 to
    15, unless more has these; to: a block, for dwords 2 and 3; mptr: for 4 and 5."""
    dw0 = opc | fuse << 8 | psdt << 14 | cid << 16
    prps = (prp1 & M32, prp1 >> 32, prp2 & M32, prp2 >> 32)
    spare = [rest >> 32 * i & M32 for i in range(7)]
    if to is not None:
        spare[:2] = to & M32, to >> 32
    if mptr is not None:
        spare[2:4] = mptr & M32, mptr >> 32
    words = [dw0, nsid, *spare[:4], *prps, cdw10, cdw11, cdw12, *(more or spare[4:])]
    return sum(w << 32 * i for i, w in enumerate(words))


class Model:
    """What becomes of an I/O entry. ns: per namespace (active, base in bytes, blocks, 4096-byte blocks). attached: with
    several functions, to which it is, by place."""

    def __init__(self, ns: list[tuple[bool, int, int, bool]], attached: list[int], cache_off: int) -> None:
        self.ns, self.attached, self.cache_off = ns, attached, cache_off

    def expect(self, fn: int, sqid: int, entry: int, aborted: bool = False) -> tuple[str, dict, dict]:
        """(port, fields there without the slot, slot context)."""
        dw = [entry >> 32 * i & M32 for i in range(16)]
        opc, psdt, nsid = dw[0] & 0xFF, dw[0] >> 14 & 3, dw[1]
        slba, blocks = dw[11] << 32 | dw[10], (dw[12] & 0xFFFF) + 1
        has_lba = opc in (READ, WRITE, COMPARE, WRITE_ZEROES, VERIFY) or (opc in (WRITE_UNCOR, *NEARS) and opc in OPS)
        in_range = 1 <= nsid <= len(self.ns)
        active, base, size, lba4k = self.ns[nsid - 1] if in_range else (False, 0, 0, False)
        place = (place_of(fn, NUM_FN) or 0) if NUM_FN > 1 else 0
        if in_range and NUM_FN > 1:
            active = bool(self.attached[nsid - 1] >> place & 1)
        deallocates = opc == DSM and bool(dw[11] >> 2 & 1)
        block = 4096 if lba4k else 512
        count = blocks * block if has_lba else 16 * ((dw[10] & 0xFF) + 1) if opc == DSM else 0
        memory = opc in NEARS and opc in OPS and bool(dw[15] & MEMORY)
        context = dict(
            desc=DESC.unpack(DESC.pack(descriptor(opc, memory))),
            fn=fn,
            sqid=sqid,
            cid=dw[0] >> 16,
            nsid=nsid,
            slba=slba if has_lba else 0,
            bytes=count,
        )

        def verdict() -> int:
            if aborted:
                return ABORT_REQUESTED
            if dw[0] >> 8 & 3 or psdt == 3 or (psdt and not SGL):
                return INVALID_FIELD  # no fused operations; SGLs where there are any
            if opc not in (*OPS, *RESERVATIONS):
                return INVALID_OPCODE
            if nsid == M32:
                if opc != FLUSH:
                    return INVALID_FIELD
                both = zip(self.attached, self.barred, strict=True)
                return CONFLICT if any(a & b for a, b in both if a >> place & b >> place & 1) else 0
            if not in_range:
                return INVALID_NS
            if not active:
                return INVALID_FIELD
            may_read = not self.exclusive[nsid - 1] and opc in READ_GROUP
            if self.barred[nsid - 1] >> place & 1 and not may_read and opc not in RESERVATIONS:
                return CONFLICT
            if has_lba and slba + blocks > size:
                return LBA_RANGE
            if opc in USER_DATA and count > MDTS:
                return INVALID_FIELD
            length, room = dw[13], dw[14]
            if opc in NEARS and not (1 <= length <= count and 64 <= room <= count and room % 64 == 0):
                return INVALID_FIELD
            if opc in NEARS and (dw[15] >> 3 & (0x1F if opc == STORE else 0x1FFF) or (dw[15] & MEMORY and dw[4] & 3)):
                return INVALID_FIELD
            if opc == STORE and room % 512:
                return INVALID_FIELD
            if opc == WRITE and dw[12] >> 20 & 15:
                return INVALID_FIELD
            if (opc in (WRITE, WRITE_ZEROES, WRITE_UNCOR) or deallocates) and self.read_only >> (nsid - 1) & 1:
                return WRITE_PROTECTED
            if opc in USER_DATA and self.locked >> (nsid - 1) & 1:
                return ACCESS_DENIED
            if NUM_FN > 1 and deallocates and psdt and dw[9] >> 28 in SEGMENTS and dw[10] & 0xFF > 3:
                return BAD_COUNT  # more ranges than go in a piece, and not in one block
            return 0

        status = verdict()
        if not status and opc in RESERVATIONS:
            return "admin", dict(io=1, sqid=sqid, fn=fn, entry=entry), context
        if status or (opc == DSM and not deallocates):
            return "completion", dict(status=status), context
        fua = int(opc in WITH_FUA and (dw[12] >> 30 & 1 or self.cache_off >> place & 1))
        command = dict(
            desc=context["desc"],
            fn=fn,
            fua=fua,
            lba4k=int(lba4k),
            media_addr=dw[5] << 32 | dw[4] if memory else base + (slba * block if has_lba else 0) & M64,
            ns_blocks=ARGS.pack(data=dw[13], result=dw[14], number=dw[15] & 3, phase=dw[15] >> 16)
            if opc in NEARS
            else size,
            bytes=count,
            sgl=int(psdt > 0),
            prp1=dw[7] << 32 | dw[6],
            prp2=dw[9] << 32 | dw[8],
        )
        if opc == STORE:
            command["store"] = dw[15] >> 8 & 0xFF, dw[3] << 32 | dw[2]
        return "read" if opc in READ_ENGINE else "write", command, context


SQE = layout("db_ssd_pkg", "fetched_sqe_t")
CMD = layout("db_ssd_pkg", "cmd_t")
COMPLETION = layout("db_ssd_pkg", "slot_completion_t")
CTX = layout("db_ssd_pkg", "slot_ctx_t")
TAP = layout("db_ssd_pkg", "tap_cmd_t")
ADMIN = layout("db_ssd_pkg", "admin_sqe_t")
NAMESPACE = layout("db_ssd_pkg", "namespace_t")
NS_ENTRY = layout("db_ssd_pkg", "ns_entry_t")
DESC = layout("db_ssd_op_pkg", "op_desc_t")
ARGS = layout("db_ssd_near_pkg", "near_args_t")
WHERE = layout("db_ssd_near_pkg", "near_store_t")
PART = layout("db_ssd_near_pkg", "part_t")


def descriptor(opc: int, memory: bool = False) -> dict[str, int]:
    """What an opcode means, from NVM Command Set 1.0, 3.2 and Base 2.0, 5.16.1.3 (Data Units Read, Written)."""
    if opc in RESERVATIONS:
        return {"known": 1, "firmware": 1}
    if opc not in OPS:
        return {}
    fields = {
        "known": True, "has_lba": opc not in (DSM, FLUSH), "any_namespace": opc == FLUSH,
        "has_fua": opc in WITH_FUA, "has_directive": opc == WRITE, "user_data": opc in USER_DATA,
        "modifies": opc in (WRITE, WRITE_ZEROES, WRITE_UNCOR, DSM),
        "to_host": opc in (READ, *NEARS), "computes": opc in NEARS, "stores": opc == STORE,
        "memory": memory,
        "from_host": opc in (WRITE, COMPARE, DSM), "read_engine": opc in READ_ENGINE,
        "write_engine": opc not in READ_ENGINE, "write": opc == WRITE, "compare": opc == COMPARE, "ranges": opc == DSM,
        "zero": opc == WRITE_ZEROES, "flush": opc == FLUSH, "uncorrectable": opc == WRITE_UNCOR,
        "counts_read": opc in (READ, COMPARE, VERIFY, *NEARS) and not memory, "counts_write": opc == WRITE}  # fmt: skip
    return {name: int(value) for name, value in fields.items()}


OPC = {
    str(DESC.unpack(DESC.pack(descriptor(opc, m)))): opc + 0x100 * m for opc in OPS for m in {False, opc in NEARS}
}  # by descriptor, to name what was seen


def random_entry(rng: random.Random, ns) -> int:
    """Mostly legal, with the edges of every check."""
    opc = rng.choice([*OPS, *OPS, *(3 * NEARS if NEAR in OPS else ()), *RESERVATIONS, rng.getrandbits(8)])
    odd = rng.choice((0, len(ns) + 1, M32, 1 << 31, 257))
    nsid = rng.choice((*range(1, len(ns) + 1), *range(1, len(ns) + 1), 1, odd))
    _, _, size, lba4k = ns[nsid - 1] if 1 <= nsid <= len(ns) else ns[0]
    most = MDTS // (4096 if lba4k else 512)
    nlb = rng.choice((0, 7, rng.randrange(most), most - 1, most, 65535))
    slba = rng.choice(
        (
            0,
            rng.randrange(max(size - nlb, 1)),
            max(size - nlb - 1, 0),
            max(size - nlb, 0),
            M64 - nlb,
            M64,
            (1 << 64) - nlb - 1 & M64,
            size,
            rng.getrandbits(64),
        )
    )
    cdw10, cdw11 = slba & M32, slba >> 32
    if opc == DSM:
        cdw10, cdw11 = rng.choice((3, 4, rng.getrandbits(8))), rng.getrandbits(3)
    block = 4096 if lba4k else 512
    size = (nlb + 1) * block
    near = [
        rng.choice((size, size, rng.randint(1, size), 1, 0, size + 1, M32)),
        rng.choice((size, size, block, 64, 64 * rng.randint(1, size // 64), 0, 32, size + 64, 1 << 31)),
        rng.getrandbits(3) | rng.getrandbits(16) << 16 | (rng.randrange(4, 1 << 16) if rng.random() < 0.1 else 0),
    ]
    if opc in NEARS and rng.random() < 0.6:  # mostly whole blocks
        near[:2] = size, block * rng.randint(1, nlb + 1)
    if opc == STORE and rng.random() < 0.5:  # in a namespace, whichever: nobody looks yet
        near[2] |= rng.getrandbits(8) << 8
    rare = lambda bits: rng.getrandbits(bits) if rng.random() < 0.04 else 0  # noqa: E731
    return sqe(
        opc,
        rare(2),
        rng.getrandbits(2) if SGL and opc == DSM else rare(2),
        rng.getrandbits(16),
        nsid,
        rng.getrandbits(64),
        rng.getrandbits(60) | rng.choice((0, 1, 2, 3, rng.getrandbits(4))) << 60,
        cdw10,
        cdw11,
        nlb | rng.getrandbits(2) << 30 | rare(4) << 20,
        rng.getrandbits(224),
        near if opc in NEARS else None,
        rng.getrandbits(64) if opc == STORE else None,
        rng.getrandbits(62) << 2 if opc in NEARS and rng.random() < 0.8 else None,
    )  # fmt: skip


class Bench:
    def __init__(self, dut, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.slots = deque(range(256))
        self.busy: dict[int, dict] = {}  # slot: what is to come out
        self.seen: set = set()
        self.latency: list[int] = []
        self.given: deque[int] = deque()  # slots handed over whose context has not been written yet
        self.slot_valid = False
        self.left: dict[str, int] = {}
        self.aborts = 0.0  # how many entries are marked as aborted
        self.cache_off = 0  # of which functions, by place
        self.unseen = 0  # with several functions: I/O entries that could not be read

    async def begin(self, ns, locked: int = 0, read_only: int = 0) -> None:
        d, n = self.dut, len(self.dut.ns_locked)
        attached = [self.rng.getrandbits(NUM_FN) | 1 if i == 0 else self.rng.getrandbits(NUM_FN) for i in range(n)]
        if all(active for active, *_ in ns):
            attached = [(1 << NUM_FN) - 1] * n
        self.model = Model(ns, attached, self.cache_off)
        some = NUM_FN > 1 and not all(active for active, *_ in ns)
        self.model.barred = barred = [self.rng.getrandbits(NUM_FN) & self.rng.getrandbits(NUM_FN) * some for _ in ns]
        self.model.exclusive = exclusive = [self.rng.getrandbits(1) * some for _ in ns]
        d.cache_off.value = self.cache_off
        assert len(ns) == n
        d.rst.value = d.ns_rst.value = 1
        for p in (
            "s_ns_valid",
            "s_part",
            "s_sqe_valid",
            "s_slot_valid",
            "m_admin_ready",
            "m_read_ready",
            "m_write_ready",
            "m_completion_ready",
        ):
            getattr(d, p).value = 0
        d.ns_locked.value = self.model.locked = locked
        self.model.read_only = read_only
        for _ in range(3):
            await RisingEdge(d.clk)
        d.rst.value = d.ns_rst.value = 0
        for i, (active, base, blocks, lba4k) in enumerate(ns):
            entry = NAMESPACE.pack(
                valid=int(active),
                attached=attached[i] if NUM_FN > 1 else 0,
                barred=barred[i],
                exclusive=exclusive[i],
                lba4k=int(lba4k),
                base=base,
                blocks=blocks,
                read_only=read_only >> i & 1,
            )
            d.s_ns_valid.value = 1
            d.s_ns.value = NS_ENTRY.pack(index=i, ns=entry)
            await RisingEdge(d.clk)
        # One beyond the table changes nothing.
        d.s_ns.value = NS_ENTRY.pack(index=n, ns=(1 << NAMESPACE.width) - 1)
        await RisingEdge(d.clk)
        d.s_ns_valid.value = 0

    async def run(self, entries, stall: float, stuck: tuple[str, ...] = (), limit: int = 25_000) -> int:
        """entries: (fn, sqid, head, err, data). stuck: outputs that are never ready. Ends when all (not stuck) is out,
        or at `limit` cycles; returns the cycles from the first entry taken to the last output."""
        d, rng = self.dut, self.rng
        todo = deque(entries)
        want: dict[str, deque] = {p: deque() for p in (*PORTS, "head", "fetch_err")}
        ports = [(p, getattr(d, f"m_{p}_valid"), getattr(d, f"m_{p}_ready")) for p in PORTS]
        ready = dict.fromkeys(PORTS, False)
        valid, cycle, start, end, quiet = False, 0, 0, 0, 0
        aborted = False
        command, taken = None, 0  # what an engine took in the cycle before: (port, fields), and when
        waiting: deque[tuple] = deque()  # I/O entries taken, not yet in a slot
        while cycle < limit and quiet < 10:
            await RisingEdge(d.clk)
            cycle += 1
            if valid and d.s_sqe_ready.value:
                fn, sqid, head, err, entry = todo.popleft()
                valid = False
                start = start or cycle
                want["head"].append((sqid, head))
                if err:
                    want["fetch_err"].append((fn, int(NUM_FN > 1 and sqid < NUM_FN)))
                if sqid < NUM_FN:
                    if not err:
                        want["admin"].append(dict(io=0, fn=fn, sqid=sqid, entry=entry))
                elif not err or NUM_FN > 1:  # others go on, so that it gives back what it holds: it ends unseen
                    waiting.append((cycle, err, *self.model.expect(fn, sqid, entry, bool(aborted or err))))
            # A slot is handed over one cycle before its context is written.
            tap = TAP.unpack(int(d.m_tap_cmd.value))
            if d.m_ctx_valid.value:
                slot = int(d.m_ctx_slot.value)
                at, unseen, port, fields, context = waiting.popleft()
                assert int(d.m_ctx_void.value) == unseen
                self.unseen += unseen
                assert slot == self.given.popleft() and slot not in self.busy
                assert CTX.unpack(int(d.m_ctx.value)) == context
                desc = context["desc"]
                expected = (int(port == "read" and desc["to_host"]), int(port == "write" and desc["from_host"]))
                assert (tap["read"], tap["write"]) == expected, f"tap: {tap}"
                assert not any(expected) or (tap["ctx"], tap["lba4k"]) == (context, fields["lba4k"])
                if port == "admin":
                    want[port].append(fields | {"slot": slot})
                    self.slots.append(slot)
                elif port == "completion":
                    self.busy[slot] = fields
                    want[port].append((at, slot, fields))
                else:  # the engine has taken it a cycle ago
                    assert command == (port, {"slot": slot, **fields}), f"{command}, not {port} {slot} {fields}"
                    command = None
                    self.slots.append(slot)
                    self.latency.append(taken - at)
                    self.seen.add((port, OPC[str(fields["desc"])], None))
            else:
                assert not tap["read"] and not tap["write"]
            assert command is None, f"without a context: {command}"
            if self.slot_valid and d.s_slot_ready.value:
                self.given.append(self.slots.popleft())
                self.slot_valid = False
            if d.m_head_valid.value:
                assert (int(d.m_head_sqid.value), int(d.m_head.value)) == want["head"].popleft()
            if d.m_fetch_err.value:
                assert (int(d.m_fetch_err_fn.value), int(d.m_admin_lost.value)) == want["fetch_err"].popleft()
                self.seen.add("fetch_err")
            else:
                assert not d.m_admin_lost.value
            for p, v, _ in ports:
                if not (ready[p] and v.value):
                    continue
                end = cycle
                if p in ("read", "write"):
                    assert command is None
                    command, taken = (p, CMD.unpack(int(d.m_cmd.value))), cycle
                    if command[1]["desc"]["stores"]:
                        where = WHERE.unpack(int(d.m_store.value))
                        command[1]["store"] = where["nsid"], where["slba"]
                    continue
                if p == "admin":
                    admin = int(d.m_admin.value)
                    got = ADMIN.unpack(admin)
                    got["entry"] = admin >> ADMIN["sqe"].offset & (1 << ADMIN["sqe"].width) - 1
                    expected = want[p].popleft()
                    assert {name: got[name] for name in expected} == expected
                    self.seen.add("reservation" if got["io"] else "admin")
                    continue
                at, slot, fields = want[p].popleft()
                got = COMPLETION.unpack(int(d.m_completion.value))
                got["status"] = COMPLETION["status"].encode(got["status"])
                assert got == {"slot": slot, **fields}, f"{p}: {got}"
                del self.busy[slot]
                self.slots.append(slot)
                self.latency.append(cycle - at)
                self.seen.add((p, None, fields["status"]))
            # next inputs
            if not valid and todo and rng.random() >= stall:
                valid = True
                fn, sqid, head, err, entry = todo[0]
                d.s_sqe.value = SQE.pack(fn=fn, sqid=sqid, head=head, err=err, sqe=entry)
                aborted = rng.random() < self.aborts
                d.s_abort.value = int(aborted)
            if not self.slot_valid and self.slots and rng.random() >= stall:
                self.slot_valid = True
                d.s_slot.value = self.slots[0]
            d.s_sqe_valid.value, d.s_slot_valid.value = int(valid), int(self.slot_valid)
            for p, _, r in ports:
                ready[p] = p not in stuck and rng.random() >= stall
                r.value = int(ready[p])
            done = not todo and not valid and not waiting and not any(q for p, q in want.items() if p not in stuck)
            quiet = quiet + 1 if done else 0
        assert quiet >= 10 or stuck, f"hangs: {[(p, len(q)) for p, q in want.items()]}, {len(todo)} not taken"
        self.left = {p: len(q) for p, q in want.items()} | {"todo": len(todo)}
        return end - start


def namespaces(rng: random.Random, n: int, alive: float = 0.8):
    ns = [
        (
            rng.random() < alive,
            rng.getrandbits(28) << 12,
            rng.choice((4096, 1 << 21, rng.randint(1, 1 << 40), M64)),
            bool(rng.getrandbits(1)),
        )
        for _ in range(n)
    ]
    return [(True, *ns[0][1:]), *ns[1:]]


def clock(dut) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())


async def fresh(dut, seed: int, alive: float = 0.8, locked: int = 0, read_only: int = 0) -> Bench:
    b = Bench(dut, seed)
    n = len(dut.ns_locked)
    b.cache_off = b.rng.getrandbits(NUM_FN) if alive < 1 else 0
    await b.begin(namespaces(b.rng, n, alive), locked & (1 << n) - 1, read_only & (1 << n) - 1)
    return b


def queue_entry(rng, ns):
    kind = rng.random()
    return (
        rng.getrandbits(8) if NUM_FN == 1 else number(rng.randrange(NUM_FN)),
        rng.randrange(NUM_FN) if kind < 0.1 else rng.randint(NUM_FN, 255),
        rng.getrandbits(16),
        int(rng.random() < 0.03),
        random_entry(rng, ns),
    )


@cocotb.test()
async def random_entries(dut):
    clock(dut)
    seen: set = set()
    for seed, stall in ((1, 0.0), (2, 0.3), (3, 0.8)):
        b = await fresh(dut, seed, locked=(0, 0b1101, 0b1)[seed - 1], read_only=(0b10, 0b1, 0b1110)[seed - 1])
        b.aborts = 0.03
        await b.run([queue_entry(b.rng, b.model.ns) for _ in range(700)], stall)
        assert len(b.slots) == 256 - len(b.given) and not b.busy, "a slot is lost"
        seen |= b.seen
    paths = {
        *(("read" if opc in READ_ENGINE else "write", opc, None) for opc in OPS),
        *(("read", 0x100 + opc, None) for opc in NEARS if opc in OPS),
        "admin",
        "fetch_err",
        *((("completion", None, CONFLICT), "reservation") if NUM_FN > 1 else ()),
        *(
            ("completion", None, s)
            for s in (0, INVALID_OPCODE, INVALID_FIELD, INVALID_NS, LBA_RANGE, ACCESS_DENIED, ABORT_REQUESTED)
        ),
        ("completion", None, WRITE_PROTECTED),
        *([("completion", None, BAD_COUNT)] if SGL and NUM_FN > 1 else []),
    }
    assert (b.unseen > 0) == (NUM_FN > 1)
    assert seen == paths, f"not reached: {paths - seen}, unknown: {seen - paths}"


@cocotb.test(skip=NEAR not in OPS)
async def results_are_stored(dut):
    """The Write of a result, in the slot of its command: it is checked as any Write of so many bytes, in whichever
    namespace, takes no slot and moves no queue's head, and its end says how long the result was."""
    clock(dut)
    seen: set[int] = set()
    d = dut
    for seed in range(4):
        b = await fresh(dut, 20 + seed, locked=(0, 0b101, 0, 0b1)[seed], read_only=(0, 0b10, 0b1, 0)[seed])
        rng, ns = b.rng, b.model.ns
        d.m_read_ready.value = d.m_write_ready.value = d.m_completion_ready.value = 1
        for _ in range(150):
            nsid = rng.choice((*range(1, len(ns) + 1), *range(1, len(ns) + 1), len(ns) + 1, 255))
            _, _, size, lba4k = ns[nsid - 1] if nsid <= len(ns) else ns[0]
            nlb = rng.choice((0, 7, 2047, rng.randrange(2048), 8 * rng.randint(1, 256) - 1))
            blocks = -(-(nlb + 1) * 512 // 4096) if lba4k else nlb + 1
            slba = rng.choice((0, max(size - blocks, 0), max(size - blocks, 0) + 1, M64, rng.randrange(size)))
            place, fua, aborted = rng.randrange(NUM_FN), rng.getrandbits(1), int(rng.random() < 0.1)
            common = dict(
                cid=rng.getrandbits(16), nsid=nsid, psdt=rng.randrange(2) if SGL else 0, prp1=rng.getrandbits(64),
                prp2=rng.getrandbits(60), cdw10=slba & M32, cdw11=slba >> 32,
            )  # fmt: skip
            fn, slot = number(place) if NUM_FN > 1 else rng.getrandbits(8), rng.randrange(256)
            as_write = sqe(WRITE, cdw12=blocks - 1 | fua << 30, **common)
            port, fields, context = b.model.expect(fn, IO + place, as_write, bool(aborted))
            status = fields.get("status", 0)
            if lba4k and (nlb + 1) % 8 and status in (0, WRITE_PROTECTED, ACCESS_DENIED):  # no whole block
                port, fields = "completion", dict(status=INVALID_FIELD)
            context = {**context, "desc": {**context["desc"], "computes": 1}, "bytes": (nlb + 1) * 512}
            d.s_sqe.value = SQE.pack(fn=fn, sqid=IO + place, sqe=sqe(WRITE, cdw12=nlb | fua << 30, **common))
            d.s_part.value = PART.pack(valid=1, slot=slot, stores=1, memory=0, more=0, bad=0, overlaps=0)
            d.s_sqe_valid.value, d.s_abort.value, d.s_slot_valid.value = 1, aborted, rng.getrandbits(1)
            command, end, told = None, None, None
            for _ in range(8):
                await RisingEdge(d.clk)
                if d.s_sqe_valid.value and d.s_sqe_ready.value:
                    d.s_sqe_valid.value = 0
                    d.s_part.value = 0
                assert not d.s_slot_ready.value and not d.m_head_valid.value and not d.m_read_valid.value
                if d.m_write_valid.value:
                    command = CMD.unpack(int(d.m_cmd.value))
                if d.m_ctx_valid.value:
                    told = CTX.unpack(int(d.m_ctx.value)), TAP.unpack(int(d.m_tap_cmd.value))
                    assert d.m_ctx_again.value and d.m_ctx_stored.value and int(d.m_ctx_slot.value) == slot
                if d.m_completion_valid.value and end is None:
                    end = COMPLETION.unpack(int(d.m_completion.value))
            assert told is not None
            if port == "write":
                assert (command, end) == ({"slot": slot, **fields, "bytes": context["bytes"]}, None)
                assert told[0] == context and told[1]["ctx"] == context
                assert (told[1]["read"], told[1]["write"], told[1]["lba4k"]) == (0, 1, lba4k)
            else:
                assert command is None and end is not None and end["slot"] == slot
                assert COMPLETION["status"].encode(end["status"]) == fields["status"]
                assert (told[1]["read"], told[1]["write"]) == (0, 0)
            seen.add(fields.get("status", 0))
    also = {CONFLICT} if NUM_FN > 1 else set()
    assert seen == {0, INVALID_FIELD, INVALID_NS, LBA_RANGE, ABORT_REQUESTED, WRITE_PROTECTED, ACCESS_DENIED} | also


@cocotb.test()
async def edges(dut):
    """Each check at its last legal and its first illegal value, alone."""
    clock(dut)
    for lba4k in (False, True):
        b = Bench(dut, 9)
        n = len(dut.ns_locked)
        await b.begin([(True, 0x1000, 10_000, lba4k)] * n)
        most = MDTS // (4096 if lba4k else 512)
        cases = [
            (sqe(READ, cdw12=most - 1), 0),
            (sqe(READ, cdw12=most), INVALID_FIELD),
            (sqe(VERIFY, cdw12=most), 0),
            (sqe(WRITE_ZEROES, cdw12=most), 0),
            (sqe(WRITE, cdw10=9999), 0),
            (sqe(WRITE, cdw10=9999, cdw12=1), LBA_RANGE),
            (sqe(READ, cdw10=10_000), LBA_RANGE),
            (sqe(WRITE_ZEROES, cdw12=9999), 0),
            (sqe(WRITE_ZEROES, cdw12=10_000), LBA_RANGE),
            (sqe(READ, cdw10=M32, cdw11=M32), LBA_RANGE),
            (sqe(READ, cdw10=M32, cdw11=M32, cdw12=65535), LBA_RANGE),
            (sqe(READ, cdw11=1), LBA_RANGE),
            (sqe(WRITE, cdw12=1 << 20), INVALID_FIELD),
            (sqe(READ, cdw12=1 << 20), 0),
            (sqe(FLUSH, nsid=M32), 0),
            (sqe(READ, nsid=M32), INVALID_FIELD),
            (sqe(FLUSH, nsid=0), INVALID_NS),
            (sqe(READ, nsid=n + 1), INVALID_NS),
            (sqe(READ, nsid=0x10001), INVALID_NS),
            (sqe(0x03), INVALID_OPCODE),
            (sqe(0x80, nsid=0), INVALID_OPCODE),
            (sqe(READ, fuse=1, nsid=0), INVALID_FIELD),
            (sqe(READ, psdt=1), 0 if SGL else INVALID_FIELD),
            (sqe(FLUSH, psdt=2), 0 if SGL else INVALID_FIELD),
            (sqe(WRITE, psdt=3), INVALID_FIELD),
            (sqe(DSM, cdw10=255, cdw11=4), 0),
            (sqe(DSM, cdw10=255, cdw11=4, prp2=3 << 60), 0),
            (sqe(DSM, psdt=1, cdw10=255, cdw11=4), 0 if SGL else INVALID_FIELD),
            (sqe(DSM, psdt=1, cdw10=3, cdw11=4, prp2=3 << 60), 0 if SGL else INVALID_FIELD),
            (sqe(DSM, psdt=1, cdw10=4, cdw11=4, prp2=3 << 60), LONG_LIST),
            (sqe(DSM, psdt=2, cdw10=4, cdw11=4, prp2=2 << 60), LONG_LIST),
            (sqe(DSM, psdt=2, cdw10=4, cdw11=3, prp2=2 << 60), 0 if SGL else INVALID_FIELD),
            (sqe(WRITE_UNCOR, cdw12=9999), 0 if WRITE_UNCOR in OPS else INVALID_OPCODE),
            (sqe(WRITE_UNCOR, cdw12=10_000), LBA_RANGE if WRITE_UNCOR in OPS else INVALID_OPCODE),
            (sqe(WRITE_UNCOR, nsid=M32), INVALID_FIELD if WRITE_UNCOR in OPS else INVALID_OPCODE),
        ]
        size = 2 * MDTS // most
        near_cases = [
            ([size, size, 3], 0), ([1, 64, 3 | 0xFFFF << 16], 0), ([0, 64, 0], INVALID_FIELD),
            ([size + 1, 64, 0], INVALID_FIELD), ([size, 0, 0], INVALID_FIELD), ([size, size + 64, 0], INVALID_FIELD),
            ([size, 96, 0], INVALID_FIELD), ([size, 64, 8], INVALID_FIELD), ([size, 64, 1 << 15], INVALID_FIELD),
        ]  # fmt: skip
        memory_cases = [(4, 0), (M64 & ~3, 0), (1, INVALID_FIELD), (2, INVALID_FIELD)]
        cases += [(sqe(NEAR, cdw12=1, more=[size, 64, MEMORY], mptr=mptr), end if NEAR in OPS else INVALID_OPCODE)
                  for mptr, end in memory_cases]  # fmt: skip
        cases += [(sqe(NEAR, cdw12=1, more=[size, 64, 0], mptr=1), 0 if NEAR in OPS else INVALID_OPCODE)]
        cases += [(sqe(NEAR, cdw12=1, more=more), end if NEAR in OPS else INVALID_OPCODE) for more, end in near_cases]
        block = size // 2
        store_cases = [
            ([1, size, 0], 0, 0), ([size, 512, 0xFF << 8], M64, 0), ([1, 512, 4 << 3], 0, INVALID_FIELD),
            ([1, 512, 16 << 3], 0, INVALID_FIELD), ([1, block - 64, 0], 0, INVALID_FIELD),
            ([1, 256, 0], 0, INVALID_FIELD), ([0, block, 0], 0, INVALID_FIELD),
        ]  # fmt: skip
        cases += [(sqe(STORE, cdw12=1, more=more, to=to), end if STORE in OPS else INVALID_OPCODE)
                  for more, to, end in store_cases]  # fmt: skip
        for entry, status in cases:  # the table is the second opinion on the model
            port, fields, _ = b.model.expect(0, IO, entry)
            assert fields.get("status", 0) == status, f"model: {port} {fields} for {entry:x}"
        await b.run([(0, IO, i, 0, e) for i, (e, _) in enumerate(cases)], 0.0)


@cocotb.test(skip=NUM_FN > 1)
async def no_namespace_is_there_after_reset(dut):
    """Until the firmware has written it. With several functions it is the firmware that lets no queue be before."""
    clock(dut)
    b = await fresh(dut, 7, 1.0)
    n = len(b.model.ns)
    entries = [(0, IO, i, 0, sqe(READ, nsid=i + 1, cid=i)) for i in range(n)]
    await b.run(entries, 0.0)
    assert b.seen == {("read", READ, None)}
    dut.ns_rst.value = 1
    await RisingEdge(dut.clk)
    dut.ns_rst.value = 0
    b.model.ns = [(False, *rest) for _, *rest in b.model.ns]
    await b.run(entries, 0.0)
    assert ("completion", None, INVALID_FIELD) in b.seen


@cocotb.test()
async def speed(dut):
    """An entry every other cycle, a cycle from entry to an engine and three to a completion."""
    clock(dut)
    b = await fresh(dut, 5, 1.0)
    entries = [(0, IO + i % 4, i, 0, sqe((READ, WRITE, READ, FLUSH)[i % 4], cid=i)) for i in range(200)]
    assert await b.run(entries, 0.0) <= 2 * 200 + 3
    assert max(b.latency) == 1
    b.latency.clear()
    assert await b.run([(0, IO, i, 0, sqe(READ, nsid=0)) for i in range(50)], 0.0) <= 2 * 50 + 3
    assert max(b.latency) == 3


@cocotb.test()
async def outputs_do_not_block_each_other(dut):
    """With one output stuck, the others go on until that one's second entry; then all waits, and nothing is lost.
    Engines are never stuck: they have room for all commands (their tests show it)."""
    clock(dut)
    for stuck in ("completion", "admin"):
        entry = {
            "read": (IO, sqe(READ)),
            "write": (IO, sqe(WRITE)),
            "completion": (IO, sqe(READ, nsid=0)),
            "admin": (NUM_FN - 1, sqe(6)),
        }
        b = await fresh(dut, 6)
        others = [p for p in entry if p != stuck]
        order = [stuck] + others * 10
        await b.run([(0, entry[p][0], 0, 0, entry[p][1]) for p in order], 0.0, (stuck,), 300)
        assert b.left["todo"] == 0 and b.left[stuck] == 1, f"{stuck} holds up others: {b.left}"
        assert all(b.left[p] == 0 for p in others), b.left


@pytest.mark.parametrize(
    ("num_fn", "num_ns", "uncorrectable", "sgl", "near"),
    [
        rare(1, 1, 0, 1, 0),
        rare(1, 5, 0, 0, 1),
        (1, 3, 1, 1, 1),
        rare(3, 5, 0, 0, 0),
        rare(17, 20, 0, 0, 1),
        (17, 20, 0, 1, 1),
    ],
)
def test_db_ssd_decode(num_fn, num_ns, uncorrectable, sgl, near):
    run(
        __file__,
        "db_ssd_decode",
        {"NUM_FN": num_fn, "NUM_NS": num_ns, "UNCORRECTABLE": uncorrectable, "SGL": sgl, "NEAR": near},
        env={"NUM_FN": str(num_fn), "UNCORRECTABLE": str(uncorrectable), "SGL": str(sgl), "NEAR": str(near)},
    )
