# SPDX-License-Identifier: Apache-2.0
"""db_csd_path: contexts to packets, what goes around the operators, results, and that nothing passes without its key.

There are no keys here (db_csd_aes has its own test): commands in AES come out as zeros and with an error to their end.
"""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from csd_bench import RESULT, pack_ctx, random_context
from doorbell import build
from doorbell.build import operator_folders as folders
from doorbell.compute.operators import Context, Op
from doorbell.compute.operators.crc32c import Crc32c
from doorbell.compute.operators.sha256 import Sha256
from streams import ROW, Sink, Source, reset

Word = tuple[int, ...]  # data, last, dwords, error
REDUCERS = (Crc32c(), Sha256())  # in the order of m_res
BUILT_IN = [model for model in REDUCERS if os.environ.get(model.CODE.name, "0") != "0"]


def packet(rng: random.Random, context: Context, data_w: int) -> list[Word]:
    """Rows of a command; some are zeros or nearly so, some could not be read."""
    if context.op == Op.PASS and rng.random() < 0.3:  # a list of ranges
        return [(rng.getrandbits(data_w), 1, rng.randrange(1, data_w // 32 + 1), 0)]
    n = context.block * 8 // data_w * rng.choice((1, 2))
    bad = rng.randrange(n) if rng.random() < 0.2 else n
    rows = []
    for i in range(n):
        pieces = [rng.choice((0, 1 << rng.choice((0, 127)), *[rng.getrandbits(128)] * 3)) for _ in range(data_w // 128)]
        data = sum(piece << 128 * g for g, piece in enumerate(pieces))
        rows.append((data, int(i == n - 1), data_w // 32, int(i >= bad)))
    return rows


def expected(context: Context, row: Word, data_w: int, write: bool) -> Word:
    """data, last, dwords, error, zeros. Nobody asks for the dwords of a row to the host."""
    data, last, dwords, error = row
    dwords *= write
    if context.op == Op.ADD:
        addend = context.param & 0xFFFFFFFF
        term = addend if context.write else -addend
        words = [((data >> 32 * i) + term) % (1 << 32) for i in range(data_w // 32)]
        return sum(w << 32 * i for i, w in enumerate(words)), last, dwords, error, 0
    if context.op in (Op.AES_CTR, Op.AES_XTS):
        zeros = sum((not data >> 128 * g & (1 << 128) - 1) << g for g in range(data_w // 128))
        return 0, last, dwords, 1, zeros
    return data, last, dwords, error, 0


def take_results(dut: Any, reduced: list[list[tuple[int, int]]]) -> None:
    """Tags and digests of the reducers; they are taken at once."""
    for i, seen in enumerate(reduced):
        if int(dut.m_res_valid.value) >> i & 1:
            result = RESULT.unpack(int(dut.m_res.value) >> RESULT.width * i & (1 << RESULT.width) - 1)
            seen.append((result["tag"], result["digest"]))


@cocotb.test()
async def packets(dut: Any) -> None:
    data_w = len(dut.s_row_data)
    write = os.environ["DIR"] == "1"
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for seed, feed, drain in ((1, 1.0, 1.0), (2, 0.6, 0.6), (3, 1.0, 0.3)):
        rng = random.Random(seed)
        for port in (dut.s_ctx_valid, dut.key_slots, dut.key_bus, dut.testing, dut.test_go):
            port.value = 0
        dut.m_res_ready.value = (1 << len(dut.m_res_ready)) - 1
        source = Source(dut, rng, "s_row", ROW)
        sink = Sink(dut, rng, "m_row", (*ROW, "zero"))
        source.stall, sink.stall = 1 - feed, 1 - drain
        await reset(dut)
        ops = [Op.PASS, Op.ADD, Op.AES_CTR, Op.AES_XTS, *(model.CODE for model in BUILT_IN)]
        contexts = [random_context(rng, ops, write=write) for _ in range(40)]
        rows = [packet(rng, c, data_w) for c in contexts]
        want = [expected(c, r, data_w, write) for c, p in zip(contexts, rows, strict=True) for r in p]
        source.queue.extend(r for p in rows for r in p)
        reduced: list[list[tuple[int, int]]] = [[], []]
        ctx_todo, got, sent, cycles, room = list(contexts), 0, 0, 0, 0
        while got < len(want):
            cycles += 1
            assert cycles < 60_000, "hangs"
            # contexts come when they like, but no more than 16 are ahead of the last rows taken
            give = ctx_todo and room < 16 and rng.random() < 0.5
            dut.s_ctx_valid.value = int(bool(give))
            if give:
                dut.s_ctx.value = pack_ctx(ctx_todo.pop(0))
                room += 1
            await RisingEdge(dut.clk)
            assert not (sent > got and dut.idle.value == 1), "idle with rows inside"
            take_results(dut, reduced)
            if word := source.step():
                room -= word.last
                sent += 1
            if word := sink.step():
                assert word == want[got], (seed, got)
                got += 1
        dut.s_ctx_valid.value = 0
        for _ in range(5):
            await RisingEdge(dut.clk)
            assert sink.step() is None
            take_results(dut, reduced)
        assert dut.idle.value == 1
        for seen, model in zip(reduced, REDUCERS, strict=True):
            results = [
                (c.tag, model.result(b"".join(r[0].to_bytes(data_w // 8, "little") for r in p)))
                for c, p in zip(contexts, rows, strict=True)
                if c.op == model.CODE
            ]
            while len(seen) < len(results):
                cycles += 1
                assert cycles < 60_000, "a result is missing"
                await RisingEdge(dut.clk)
                take_results(dut, reduced)
            assert sorted(seen) == sorted(results)


@pytest.mark.parametrize(
    ("data_w", "direction", "crc", "sha"), [(256, 1, 1, 2), (256, 0, 0, 0), bench.rare(128, 1, 1, 0)]
)
def test_path(data_w: int, direction: int, crc: int, sha: int) -> None:
    gen = build.regs() / "rtl"
    ops = [*sorted(gen.glob("db_csd_op*_pkg.sv")), gen / "db_csd_ops.sv", *(f.file for f in folders.find())]
    bench.run(
        __file__,
        "db_csd_path",
        {"DATA_W": data_w, "DIR": direction, "PACKETS": 16, "CRC32C": crc, "SHA_CORES": sha, "KEY_SLOTS": 2},
        extra_sources=tuple(ops),
        env={"DIR": str(direction), Op.CRC32C.name: str(crc), Op.SHA256.name: str(sha)},
    )
