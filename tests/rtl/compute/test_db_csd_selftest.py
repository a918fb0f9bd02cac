# SPDX-License-Identifier: Apache-2.0
"""db_csd_selftest and db_csd_probe around real AES: what passes, what a fault in any part of it does, and the times.

The faults are in copies of the RTL, made by replacing a text; the bench's input `fault` switches one of them on.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import aes_vectors
import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from csd_bench import Row, command_rows
from csd_keys import BUS, CMD, SLOT, WORD, idle, load
from doorbell.compute.operators import Context, Key, Op
from structs import layout

ROW = layout("db_csd_pkg", "row_ctx_t")
KEY_1619 = bytes.fromhex(aes_vectors.E_PI_256)
PLAIN_1619 = bytes(range(64))
CIPHER_1619 = aes_vectors.xts(KEY_1619, 0xFF, bytes(range(256)) * 2)[:64]
CIPHER_38A = bytes.fromhex(next(c for k, c in aes_vectors.CTR_38A.items() if len(k) == 64))
WIPE = 4 * 64 + 32  # of the key store's four slots here, after a reset
CYCLES = 949  # from its end to that of the self-test: docs/csd/performance.md
TO_HOST, TO_MEDIA = 0, 1

FAULTS = [
    # one entry of a table
    ("db_aes_sbox", "AES_SBOX[x]", "AES_SBOX[x] ^ 8'(FAULT && x == 8'h3a)"),
    ("db_aes_sbox", "AES_INVERSE[x]", "AES_INVERSE[x] ^ 8'(FAULT && x == 8'hc5)"),
    # columns are not mixed; are mixed forward where it should be back
    ("db_aes_mix", ": aes_mix(col) ^ extra", ": (FAULT ? col : aes_mix(col)) ^ extra"),
    ("db_aes_mix", "extra = back ?", "extra = back && !FAULT ?"),
    # a round constant; a bit of the round keys of the inverse cipher; a key taken for one of 128 bits
    ("db_csd_keys", "rcon_q <= 8'h01;", "rcon_q <= 8'h01 ^ 8'(FAULT);"),
    ("db_csd_keys", "<= {dec_word, dec_q};", "<= {dec_word, dec_q} ^ 128'(FAULT);"),
    ("db_csd_keys", "short_key: !long_q}", "short_key: !long_q || FAULT}"),
    # the tweak's first key is not added
    ("db_aes_iter", "? state_q ^ key : mixed", "? state_q ^ (FAULT ? 128'd0 : key) : mixed"),
    # the last bit of the last lane, in the middle of the write pipeline
    ("db_aes_pipe", ": mixed;", ": mixed ^ ((128*LANES)'(FAULT && !DEC && r == 7) << (128*LANES-1));"),
    # a bit of the counter to the media; a bit of what the result is added to on the way to the host
    ("db_csd_aes_core", "counter2_q[l] <= {iv_hi1_q", "counter2_q[l] <= {iv_hi1_q ^ 64'(FAULT && DIR)"),
    ("db_csd_aes_core", ".s_data({ctl2, aside})", ".s_data({ctl2, aside ^ DATA_W'(FAULT && !DIR)})"),
    # rows are lost
    ("db_csd_wrap", ".s_valid(s_core_valid),", ".s_valid(s_core_valid && !FAULT),"),
    # the second tweak core alone; there is one at 512 bit only
    ("db_csd_tweak", ".s_data({64'd0, req_lba})", ".s_data({64'(FAULT && c == 1), req_lba})"),
]
"""Module, text, and what replaces it. FAULT is true if the bench's input is the place in this list, from 1."""
SECOND_CORE = len(FAULTS)


class Bench:
    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.width = len(dut.s_axis_tdata) // 2
        self.memory: dict[tuple[int, int, int], int] = {}  # what went out on the key bus
        self.rows: list[list[tuple[int, int]]] = [[], []]  # into AES and out of it during the test, by direction
        self.came: list[list[tuple[int, int]]] = [[], []]  # data and user downstream

    async def power_on(self, fault: int = 0) -> None:
        dut = self.dut
        idle(dut)
        dut.fault.value = fault
        dut.s_axis_tvalid.value, dut.m_axis_tready.value = 0, 3
        dut.rst.value = dut.ctrl_rst.value = 1
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = dut.ctrl_rst.value = 0
        self.memory.clear()
        for rows in (*self.rows, *self.came):
            rows.clear()

    async def controller_reset(self) -> None:
        self.dut.ctrl_rst.value = 1
        await RisingEdge(self.dut.clk)
        self.dut.ctrl_rst.value = 0

    async def watch(self) -> None:
        dut, mask = self.dut, (1 << self.width) - 1
        while True:
            await ReadOnly()
            word = BUS.unpack(int(dut.key_bus.value))
            if word["valid"]:
                self.memory[word["kind"], word["slot"], word["stage"]] = word["data"]
            for d in (TO_HOST, TO_MEDIA):
                for i, (valid, data) in enumerate(
                    ((dut.aes_in_valid, dut.aes_in_data), (dut.aes_out_valid, dut.aes_out_data))
                ):
                    if dut.testing.value == 1 and int(valid.value) >> d & 1:
                        self.rows[d].append((i, int(data.value) >> self.width * d & mask))
                if int(dut.m_axis_tvalid.value) >> d & 1:
                    user = int(dut.m_axis_tuser.value) >> ROW.width * d & (1 << ROW.width) - 1
                    self.came[d].append((int(dut.m_axis_tdata.value) >> self.width * d & mask, user))
            await RisingEdge(dut.clk)

    async def over(self) -> int:
        """Cycles until nothing is busy."""
        cycles = 0
        await ReadOnly()
        while self.dut.busy.value == 1:
            await RisingEdge(self.dut.clk)
            await ReadOnly()
            cycles += 1
            assert cycles < 5000, "busy for ever"
        await RisingEdge(self.dut.clk)
        return cycles

    async def send(self, direction: int, row: Row) -> tuple[int, int]:
        """One row, and what comes out: its data and whether with key_err."""
        dut, had = self.dut, len(self.came[direction])
        dut.s_axis_tdata.value = row.data << self.width * direction
        dut.s_axis_tuser.value = row.user << ROW.width * direction
        dut.s_axis_tvalid.value = 1 << direction
        await RisingEdge(dut.clk)
        dut.s_axis_tvalid.value = 0
        for _ in range(60):
            await RisingEdge(dut.clk)
        assert len(self.came[direction]) == had + 1
        data, user = self.came[direction][-1]
        return data, ROW.unpack(user)["key_err"]

    def slots(self) -> list[dict[str, int]]:
        number = int(self.dut.key_slots.value)
        return [SLOT.unpack(number >> SLOT.width * i) for i in range(len(self.dut.key_slots) // SLOT.width)]


async def begin(dut: Any, fault: int = 0) -> Bench:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    b = Bench(dut)
    await b.power_on(fault)
    cocotb.start_soon(b.watch())
    return b


def row_of(b: Bench, op: Op, direction: int, slot: int, data: bytes) -> Row:
    context = Context(op, lba=5, key_slot=slot, write=direction == TO_MEDIA)
    return command_rows(context, data.ljust(512, b"\1"), b.width)[0]


async def encrypts(b: Bench, rng: random.Random) -> None:
    """With keys of a host's, in both modes and directions."""
    size = b.width // 8
    for op, slot, key in ((Op.AES_XTS, 2, Key(rng.randbytes(32), rng.randbytes(32))),
                          (Op.AES_CTR, 3, Key(rng.randbytes(32), None, rng.randbytes(16)))):  # fmt: skip
        await load(b.dut, slot, key)
        await RisingEdge(b.dut.clk)
        for direction in (TO_HOST, TO_MEDIA):
            data = rng.randbytes(512)
            if op == Op.AES_CTR:
                want = aes_vectors.ctr(key.k1, key.iv or b"", 5 * 32, data)
            else:
                want = aes_vectors.xts(key.k1 + (key.k2 or b""), 5, data, direction == TO_HOST)
            out = await b.send(direction, row_of(b, op, direction, slot, data))
            assert out == (int.from_bytes(want[:size], "little"), 0)


@cocotb.test()
async def passes(dut: Any) -> None:
    """Rows and their order, the time, what is left of the vectors' keys; what comes meanwhile waits."""
    b = await begin(dut)
    dut.s_axis_tvalid.value = 3  # rows of namespaces that pass
    dut.s_axis_tdata.value = 1 << b.width | 2
    dut.s_cmd_valid.value, dut.s_cmd.value = 1, CMD.pack(load=1, slot=1, long_key=1, ctr=1)
    dut.s_word_valid.value, dut.s_word.value = 1, WORD.pack(addr=3, data=0xDEAD)
    cycles = 0
    while dut.testing.value == 1:
        await RisingEdge(dut.clk)
        await ReadOnly()
        if dut.testing.value == 1:
            assert dut.busy.value == 1 and dut.s_axis_tready.value == 0 and dut.s_cmd_ready.value == 0
            assert not b.came[0] and not b.came[1]
        cycles += 1
        assert cycles < 5000, "tests for ever"
    assert dut.failed.value == 0
    assert cycles == WIPE + CYCLES, cycles - WIPE
    assert len(b.memory) == 4 * 64 and not any(b.memory.values()), "round keys are left"
    assert not any(s["ctr"] or s["xts"] for s in b.slots())
    assert dut.s_cmd_ready.value == 1 and dut.s_axis_tready.value == 3
    await RisingEdge(dut.clk)  # the command that waited is taken
    dut.s_axis_tvalid.value = 0
    idle(dut)
    await b.over()
    assert b.slots()[1]["ctr"] == 1
    size = b.width // 8
    xts = (PLAIN_1619, CIPHER_1619)
    for direction in (TO_HOST, TO_MEDIA):
        (plain, cipher), ctr = (xts if direction == TO_MEDIA else xts[::-1]), (aes_vectors.PLAIN_38A, CIPHER_38A)
        for way, rows in ((0, (plain, plain, ctr[0])), (1, (cipher, cipher, ctr[1]))):
            assert [r for w, r in b.rows[direction] if w == way] == [int.from_bytes(r[:size], "little") for r in rows]
    await encrypts(b, random.Random(1))


@cocotb.test()
async def resets(dut: Any) -> None:
    """A controller reset in the middle begins the test again, wherever it comes; a later one erases keys alone."""
    b = await begin(dut)
    rng = random.Random(2)
    for after in (WIPE + 10, WIPE + CYCLES // 2, *(rng.randrange(WIPE + CYCLES - 1) for _ in range(4))):
        await b.power_on()
        for _ in range(after):
            await RisingEdge(dut.clk)
        assert dut.testing.value == 1
        await b.controller_reset()
        took = await b.over()
        assert took == WIPE + CYCLES and dut.failed.value == 0
    await encrypts(b, rng)
    await b.controller_reset()
    assert await b.over() == WIPE and dut.failed.value == 0 and dut.testing.value == 0
    assert not any(s["ctr"] or s["xts"] for s in b.slots())
    await encrypts(b, rng)


@cocotb.test()
async def faults(dut: Any) -> None:
    """Each fails and locks: a load leaves no key, rows of AES are zeros and an error, others pass; until power-on."""
    b = await begin(dut)
    rng = random.Random(3)
    key = Key(rng.randbytes(32), rng.randbytes(32), rng.randbytes(16))
    data = rng.randbytes(512)
    number = int.from_bytes(data[: b.width // 8], "little")
    for fault in range(1, len(FAULTS) + 1):
        await b.power_on(fault)
        assert await b.over() == WIPE + CYCLES
        if fault == SECOND_CORE and b.width < 512:
            assert dut.failed.value == 0
            continue
        assert dut.failed.value == 1, FAULTS[fault - 1]
        dut.fault.value = 0  # it was there once: locked all the same
        for again in (False, True):
            if again:
                await b.controller_reset()
                assert await b.over() == WIPE
            assert dut.failed.value == 1 and dut.testing.value == 0
            b.memory.clear()
            await load(dut, 2, key)
            await RisingEdge(dut.clk)
            assert len(b.memory) == 64 and not any(b.memory.values())
            assert not any(s["ctr"] or s["xts"] for s in b.slots())
            if "db_csd_wrap" in FAULTS[fault - 1] and not again:
                continue  # its rows are still inside
            for direction in (TO_HOST, TO_MEDIA):
                for op in (Op.AES_CTR, Op.AES_XTS):
                    assert await b.send(direction, row_of(b, op, direction, 2, data)) == (0, 1)
                assert await b.send(direction, row_of(b, Op.PASS, direction, 2, data)) == (number, 0)
    await b.power_on()
    await b.over()
    assert dut.failed.value == 0
    await encrypts(b, rng)


@pytest.mark.parametrize("data_w", [128, bench.rare(256), bench.rare(512)])
def test_selftest(data_w: int, tmp_path: Path) -> None:
    """512 bits have all the parts that a fault may be in, 128 bits all but the second core."""
    broken: dict[str, str] = {}
    for i, (module, old, new) in enumerate(FAULTS, 1):
        folder = "crypto" if module.startswith("db_aes") else "compute"
        text = broken.get(module) or (bench.RTL / folder / f"{module}.sv").read_text()
        assert text.count(old) == 1, f"{module} no longer says: {old}"
        broken[module] = text.replace(old, new.replace("FAULT", f"(csd_selftest_tb.fault == 8'd{i})"))
    for module, text in broken.items():
        (tmp_path / f"{module}.sv").write_text(text)
    copies = tuple(tmp_path / f"{module}.sv" for module in broken)
    bench.run(
        __file__, "csd_selftest_tb", {"DATA_W": data_w}, extra_sources=("tests/rtl/tb/csd_selftest_tb.sv", *copies)
    )
