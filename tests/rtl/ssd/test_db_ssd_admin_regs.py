# SPDX-License-Identifier: Apache-2.0
"""db_ssd_admin_regs: what is by function, as regs/db_ssd_fw.rdl says; with one function it is a constant. All else is
tested with the firmware (test_db_ssd_admin.py)."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, ReadOnly
from structs import constant, layout

CC, CSTS, CTL, SQ_PTR = 0x20, 0x38, 0x3C, 0x44
FN_SELECT, FN_PENDING, FN_OFF, FN_QUEUES, FN_EVENT = 0x120, 0x124, 0x128, 0x12C, 0x140
FN_SHARE, FN_LIMIT_RATE, FN_LIMIT_BURST, FN_LIMIT = 0x188, 0x18C, 0x190, 0x194
FN_DEADLINE = 0x1C8
MAX_FN = constant("db_pcie_fn_pkg", "MAX_FN")
NUM_FN = int(os.environ.get("NUM_FN", "1"))
ACCESS, FN_EVENTS, HOST_REGS, LOOK, CONTROL, CSTS_BITS = (
    layout("db_ssd_admin_pkg" if name.startswith("f") else "db_ssd_pkg", name)
    for name in ("fw_access_t", "fn_event_t", "host_regs_t", "vf_look_t", "control_t", "csts_t")
)
QUEUES, SET = layout("db_ssd_pkg", "fn_queues_t"), layout("db_ssd_pkg", "fn_set_t")
INPUTS = ("ctrl_rst s_req s has dead host_regs vf_look_answer vf_look_data time_us events event_set fn_events ring_wr "
          "io_wr copy_err media_err store_err store_data err doorbell_err_valid doorbell_err counters media_health "
          "abort_found abort_watching abort_caught").split()  # fmt: skip


async def begin(dut: Any) -> random.Random:
    for name in INPUTS:
        getattr(dut, name).value = 0
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    dut.rst.value = 1
    await ClockCycles(dut.clk, 3)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    return random.Random(1)


async def write(dut: Any, addr: int, data: int) -> None:
    """What it sets shows when this is over."""
    dut.s_req.value, dut.s.value = 1, ACCESS.pack(wr=1, addr=addr, wdata=data)
    await ReadOnly()
    assert not dut.s_wait.value
    await FallingEdge(dut.clk)
    dut.s_req.value = 0


async def read(dut: Any, addr: int) -> int:
    dut.s_req.value, dut.s.value = 1, ACCESS.pack(addr=addr)
    await ReadOnly()
    assert not dut.s_wait.value
    data = int(dut.s_rdata.value)
    await FallingEdge(dut.clk)
    dut.s_req.value = 0
    return data


@cocotb.test()
async def events(dut: Any) -> None:
    """CC and EN that fell stay until they are cleared; a reset and whether a function is there are what they are."""
    rng = await begin(dut)
    sticky, level = [0] * MAX_FN, [0] * MAX_FN
    for _ in range(300):
        now = [{name: int(rng.random() < 0.2) for name in FN_EVENTS} for _ in range(NUM_FN)]
        dut.fn_events.value = sum(FN_EVENTS.pack(e) << FN_EVENTS.width * i for i, e in enumerate(now))
        await FallingEdge(dut.clk)
        for i, e in enumerate(now if NUM_FN > 1 else ()):
            sticky[i] |= e["cc"] | e["en_fell"] << 1
            level[i] = e["flr"] << 2 | e["enable"] << 3
        now = [e | {"cc": 0, "en_fell": 0} for e in now]  # pulses
        dut.fn_events.value = sum(FN_EVENTS.pack(e) << FN_EVENTS.width * i for i, e in enumerate(now))
        assert [await read(dut, FN_EVENT + 4 * i) for i in range(MAX_FN)] == [a | b for a, b in zip(sticky, level)]
        assert await read(dut, FN_PENDING) == sum(bool(a or b & 4) << i for i, (a, b) in enumerate(zip(sticky, level)))
        place, bits = rng.randrange(NUM_FN), rng.randrange(16)
        await write(dut, FN_EVENT + 4 * place, bits)
        sticky[place] &= ~bits


@cocotb.test()
async def status(dut: Any) -> None:
    """CSTS of each; a VF is offline until the firmware says otherwise, and all are when the processor is dead."""
    rng = await begin(dut)
    want = [{"rdy": 0, "cfs": int(i > 0), "shst": 0} for i in range(NUM_FN)]

    def seen() -> list[dict[str, int]]:
        n = CSTS_BITS.width
        return [CSTS_BITS.unpack(int(dut.csts.value) >> n * i & (1 << n) - 1) for i in range(NUM_FN)]

    await ClockCycles(dut.clk, 3)
    await FallingEdge(dut.clk)
    for _ in range(100):
        dead, place = rng.random() < 0.3, rng.randrange(NUM_FN)
        assert seen() == [{**c, "nssro": 0} for c in want]
        dut.dead.value = int(dead)
        await ReadOnly()
        assert seen() == [{**c, "cfs": c["cfs"] | dead, "nssro": 0} for c in want]
        await FallingEdge(dut.clk)
        dut.dead.value = 0
        await write(dut, FN_SELECT, place)
        bits = rng.randrange(32)
        await write(dut, CSTS, bits)
        assert [c["nssro"] for c in seen()] == [bits >> 4] * NUM_FN, "of the subsystem: a pulse for all"
        want[place] = {"rdy": bits & 1, "cfs": bits >> 1 & 1, "shst": bits >> 2 & 3}
        await FallingEdge(dut.clk)


@cocotb.test()
async def registers_of_hosts(dut: Any) -> None:
    """CC to ACQ are those of the selected function; of a VF they are looked up, and the access stays until then."""
    rng = await begin(dut)
    for _ in range(60):
        place, word = rng.randrange(NUM_FN), rng.randrange(6)
        words = [rng.getrandbits(32) for _ in range(6)]
        dut.host_regs.value = HOST_REGS.pack(
            cc=words[0], aqa=words[1], asq=words[2] | words[3] << 32, acq=words[4] | words[5] << 32
        )
        await write(dut, FN_SELECT, place)
        assert not dut.vf_look_valid.value
        if place == 0:
            assert await read(dut, CC + 4 * word) == words[word]
            continue
        dut.s_req.value, dut.s.value = 1, ACCESS.pack(addr=CC + 4 * word)
        for _ in range(rng.randrange(5)):
            await FallingEdge(dut.clk)
            assert dut.s_wait.value and dut.vf_look_valid.value
            assert LOOK.unpack(int(dut.vf_look.value)) == {"place": place, "word": word}
        dut.vf_look_answer.value, dut.vf_look_data.value = 1, words[5 - word] ^ 0xA5
        assert await read(dut, CC + 4 * word) == words[5 - word] ^ 0xA5
        dut.vf_look_answer.value = 0
        for other in (CSTS, CTL, SQ_PTR, FN_EVENT, 0x1C, 0x60, 0xA0):  # read does not wait
            await read(dut, other)


@cocotb.test()
async def resets(dut: Any) -> None:
    """Resets are of the selected function, for a cycle; who sends nothing stays so."""
    rng = await begin(dut)
    off = 0
    for _ in range(60):
        place, kind = rng.randrange(NUM_FN), rng.randrange(4)
        await write(dut, FN_SELECT, place)
        if kind == 3:
            off = rng.getrandbits(MAX_FN)
            await write(dut, FN_OFF, off)
        else:
            await write(dut, CTL, 1 << 8 + kind)
        for first in (True, False):
            control = CONTROL.unpack(int(dut.control.value))
            assert control["ctrl_rst"] == (first and kind == 0)
            assert control["flr_rst"] == (first and kind == 1) << place
            assert int(dut.flr_done.value) == (first and kind == 2) << place
            assert control["off"] == off & (1 << NUM_FN) - 1
            await FallingEdge(dut.clk)


@cocotb.test()
async def shares(dut: Any) -> None:
    """What functions get, with a pulse; a command taken out of the ring is one, too. One function: nothing of it."""
    rng = await begin(dut)
    many, rd_ptr = NUM_FN > 1, 0
    for _ in range(60):
        values = {a: rng.getrandbits(31)
                  for a in (FN_QUEUES, FN_SHARE, FN_LIMIT_RATE, FN_LIMIT_BURST, FN_LIMIT, FN_DEADLINE)}  # fmt: skip
        go = rng.choice((FN_QUEUES, FN_SHARE, FN_LIMIT, 0))
        for addr, value in values.items():
            if addr != go:
                await write(dut, addr, value)
        await ClockCycles(dut.clk, 1)
        await FallingEdge(dut.clk)
        if go:
            await write(dut, go, values[go] | 1 << 31)
        queues, share, limit = (values[a] if many else 0 for a in (FN_QUEUES, FN_SHARE, FN_LIMIT))
        rate, burst = (values[a] & 0xFFF_FFFF if many else 0 for a in (FN_LIMIT_RATE, FN_LIMIT_BURST))
        assert int(dut.fn_queues_valid.value) == (many and go == FN_QUEUES)
        assert QUEUES.unpack(int(dut.fn_queues.value)) == {
            "place": queues & 31, "before_first": queues >> 8 & 255, "count": queues >> 16 & 255,
        }  # fmt: skip
        assert SET.unpack(int(dut.fn_set.value)) == {
            "share_valid": many and go == FN_SHARE,
            "share": {"place": share & 31, "weight": share >> 5 & 255, "least": share >> 13 & 511,
                      "most": share >> 22 & 511, "deadline": values[FN_DEADLINE] & 0xFFFF if many else 0},
            "limit_valid": many and go == FN_LIMIT,
            "limit": {"place": limit & 31, "bytes": limit >> 8 & 1, "rate": rate, "burst": burst},
        }  # fmt: skip
        await FallingEdge(dut.clk)
        assert not int(dut.fn_queues_valid.value)
        taken = rng.randrange(2)
        rd_ptr = (rd_ptr + taken) % 32
        await write(dut, SQ_PTR, rd_ptr << 8)
        assert int(dut.admin_taken.value) == (many and taken)
        await FallingEdge(dut.clk)
        assert not dut.admin_taken.value


@pytest.mark.parametrize("num_fn", [1, 3])
def test_db_ssd_admin_regs(num_fn: int) -> None:
    import rtl_bench as bench
    from doorbell import build

    gen = build.regs() / "rtl"
    sources = (gen / "db_ssd_fw_regs_pkg.sv", gen / "db_ssd_fw_regs.sv")
    bench.run(__file__, "db_ssd_admin_regs", {"NUM_FN": num_fn}, extra_sources=sources, env={"NUM_FN": str(num_fn)})
