# SPDX-License-Identifier: Apache-2.0
"""db_ssd_store: a word goes to the media and comes back, only while the write engine rests; the engine's own channels
pass unchanged, and what it begins under an access waits for its end."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import rtl_bench as bench
from axi_model import axi_struct
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from structs import layout

DATA_W, ADDR_W = 256, 40
CMD = layout("db_ssd_pkg", "store_cmd_t")
READ, READ_RSP, R = axi_struct("READ_REQ", ADDR_W), axi_struct("READ_RSP", DATA_W), axi_struct("R", DATA_W)
WRITE, WRITE_RSP = axi_struct("WRITE_REQ", ADDR_W, DATA_W), axi_struct("WRITE_RSP")
ADDR, W = axi_struct("ADDR", ADDR_W), axi_struct("W", DATA_W)
BUSY = {"aw_valid": 1, "b_ready": 1, "w_valid": 1}
REST = WRITE.pack(w=W.pack(strb=(1 << 32) - 1))  # of the engine


async def start(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    for s in (dut.engine_idle, dut.s_valid, dut.s_cmd, dut.s_axi_write_req, dut.m_axi_read_rsp,
              dut.m_axi_write_rsp):  # fmt: skip
        s.value = 0
    dut.s_axi_write_req.value = REST
    dut.rst.value = 1
    for _ in range(3):
        await FallingEdge(dut.clk)
    dut.rst.value = 0
    await FallingEdge(dut.clk)


async def access(dut: Any, rng: random.Random, media: dict[int, int], write: bool, addr: int, word: int) -> bool:
    """One access with a media that takes its time; whether it failed. The engine begins something in the middle."""
    dut.s_cmd.value = CMD.pack(write=int(write), addr=addr, data=word)
    dut.s_valid.value = 1
    bad, begins = rng.random() < 0.2, rng.randrange(1, 6)
    engine = WRITE.pack(**BUSY, aw=ADDR.pack(addr=0xABC000, len=3), w=W.pack(last=0, strb=(1 << 32) - 1, data=5))
    seen, done = set(), set()  # channels on which a request stood, was taken
    held = rng.randrange(20) if rng.random() < 0.3 else 0  # so long the address is not on offer to the media
    row_first = rng.random() < 0.3  # the media takes the address when the row stands there
    for cycle in range(200):
        if cycle == begins:
            dut.s_axi_write_req.value = engine
            dut.engine_idle.value = 0
        ready = [int(rng.random() < 0.5) for _ in range(3)]
        whole = done >= ({"aw", "w"} if write else {"ar"})
        answer = whole and rng.random() < 0.3
        if cycle < held or (row_first and "w" not in seen):
            ready[0] = 0
        resp = rng.choice((2, 3)) if bad else rng.choice((0, 1)) & 0
        data = media.get(addr, 0) | rng.getrandbits(DATA_W - 32) << 32
        dut.m_axi_write_rsp.value = WRITE_RSP.pack(
            aw_held=int(cycle < held), aw_ready=ready[0], w_ready=ready[1], b_valid=int(bool(answer and write)), b=resp
        )
        dut.m_axi_read_rsp.value = READ_RSP.pack(ar_ready=ready[2], r_valid=int(bool(answer and not write)),
                                                 r=R.pack(last=1, resp=resp, data=data))  # fmt: skip
        await FallingEdge(dut.clk)
        # what stood there in the cycle that is over, by what we know of it
        if dut.s_done.value:
            assert answer and bool(dut.s_err.value) == bad
            assert write or int(dut.s_data.value) == media.get(addr, 0)
            break
        dut.s_valid.value = 0
        to_write, asks = WRITE.unpack(int(dut.m_axi_write_req.value)), READ.unpack(int(dut.m_axi_read_req.value))
        back = WRITE_RSP.unpack(int(dut.s_axi_write_rsp.value))
        assert (back["aw_ready"], back["w_ready"], back["b_valid"]) == (0, 0, 0), "the engine waits"
        offers = {"aw": to_write["aw_valid"], "w": to_write["w_valid"], "ar": asks["ar_valid"]}
        for name, here in offers.items():
            if here:
                assert name not in done and (name == "ar") != write
                seen.add(name)
            elif name in seen:
                done.add(name)
        if offers["aw"]:
            assert to_write["aw"] == {"fua": 0, "addr": addr, "len": 0}
        if offers["ar"]:
            assert asks["ar"] == {"fua": 0, "addr": addr, "len": 0}
        if offers["w"]:
            assert cycle >= held, "a row before its address"
            out = to_write["w"]
            assert (out["strb"], out["last"], out["data"] & 0xFFFFFFFF) == ((1 << 32) - 1, 1, word), (
                "all strobes or none"
            )
    else:
        raise AssertionError("no end")
    if write and not bad:
        media[addr] = word
    dut.s_valid.value = 0
    await FallingEdge(dut.clk)
    if begins <= cycle:
        assert int(dut.m_axi_write_req.value) == engine, "the engine's turn, unchanged"
    dut.s_axi_write_req.value = REST
    dut.m_axi_write_rsp.value = dut.m_axi_read_rsp.value = 0
    return bad


@cocotb.test()
async def words(dut: Any) -> None:
    await start(dut)
    rng, media = random.Random(1), {}
    failed = 0
    for _ in range(300):
        dut.engine_idle.value = 1
        await FallingEdge(dut.clk)  # it is seen a cycle later
        addr = 64 * rng.randrange(8)
        failed += await access(dut, rng, media, rng.random() < 0.5, addr, rng.getrandbits(32))
    assert 20 < failed < 120 and len(media) == 8


@cocotb.test()
async def waits_for_the_engine(dut: Any) -> None:
    await start(dut)
    rng = random.Random(2)
    dut.s_cmd.value = CMD.pack(write=1, addr=64, data=1)
    dut.s_valid.value = 1
    for _ in range(50):
        own = WRITE.pack(aw_valid=rng.getrandbits(1), aw=ADDR.pack(addr=rng.getrandbits(39), len=7), b_ready=1,
                         w_valid=rng.getrandbits(1),
                         w=W.pack(last=1, strb=rng.getrandbits(32), data=rng.getrandbits(256)))  # fmt: skip
        back = WRITE_RSP.pack(aw_ready=rng.getrandbits(1), w_ready=rng.getrandbits(1), b_valid=rng.getrandbits(1), b=2)
        dut.s_axi_write_req.value, dut.m_axi_write_rsp.value = own, back
        await FallingEdge(dut.clk)
        assert dut.s_ready.value == 0 and dut.busy.value == 1 and dut.s_done.value == 0
        assert int(dut.m_axi_write_req.value) == own
        asks = READ.unpack(int(dut.m_axi_read_req.value))
        assert not asks["ar_valid"] and not asks["r_ready"]
        assert int(dut.s_axi_write_rsp.value) == back


def test_db_ssd_store() -> None:
    bench.run(__file__, "db_ssd_store", {"DATA_W": DATA_W, "ADDR_W": ADDR_W})
