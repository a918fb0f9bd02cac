# SPDX-License-Identifier: Apache-2.0
"""A second opinion on db_ssd_decode: what becomes of an I/O entry, from NVMe Base 2.0, NVM Command Set 1.0 and, of
near-storage commands, docs/csd/near-storage.md; and entries at random, with the edges of every check."""

from __future__ import annotations

import os
import random

from functions import number, place_of
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
            if opc in (*USER_DATA, VERIFY) and count > MDTS:  # VSL is MDTS
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


def queue_entry(rng, ns):
    kind = rng.random()
    return (
        rng.getrandbits(8) if NUM_FN == 1 else number(rng.randrange(NUM_FN)),
        rng.randrange(NUM_FN) if kind < 0.1 else rng.randint(NUM_FN, 255),
        rng.getrandbits(16),
        int(rng.random() < 0.03),
        random_entry(rng, ns),
    )
