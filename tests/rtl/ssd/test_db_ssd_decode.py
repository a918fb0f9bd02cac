# SPDX-License-Identifier: Apache-2.0
"""db_ssd_decode against a model of I/O command checks written from NVMe Base 2.0 and NVM Command Set 1.0,
of near-storage commands from docs/csd/near-storage.md."""

from __future__ import annotations

import cocotb
import pytest
from cocotb.triggers import RisingEdge
from decode_bench import Bench, clock, fresh
from decode_model import (
    ABORT_REQUESTED,
    ACCESS_DENIED,
    BAD_COUNT,
    CMD,
    COMPLETION,
    CONFLICT,
    CTX,
    DSM,
    FLUSH,
    INVALID_FIELD,
    INVALID_NS,
    INVALID_OPCODE,
    IO,
    LBA_RANGE,
    LONG_LIST,
    M32,
    M64,
    MDTS,
    MEMORY,
    NEAR,
    NEARS,
    NUM_FN,
    OPS,
    PART,
    READ,
    READ_ENGINE,
    SGL,
    SQE,
    STORE,
    TAP,
    VERIFY,
    WRITE,
    WRITE_PROTECTED,
    WRITE_UNCOR,
    WRITE_ZEROES,
    queue_entry,
    sqe,
)
from functions import number
from rtl_bench import rare, run


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
            (sqe(VERIFY, cdw12=most - 1), 0),
            (sqe(VERIFY, cdw12=most), INVALID_FIELD),
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
