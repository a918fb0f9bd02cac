# SPDX-License-Identifier: Apache-2.0
"""db_ssd_near_store: what decode gives passes as it is; a command that comes again is a Write of its result, with the
context that its completion needs, and never in a cycle of decode's.

The model says what docs/csd/near-storage.md does: as many bytes as the result buffer, from the data pointer, to the
blocks that dwords 2 and 3 name.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from structs import layout

NUM_CMDS = 16
CMD = layout("db_ssd_pkg", "cmd_t")
CTX = layout("db_ssd_pkg", "slot_ctx_t")
TAP = layout("db_ssd_pkg", "tap_cmd_t")
DESC = layout("db_ssd_op_pkg", "op_desc_t")
ARGS = layout("db_ssd_near_pkg", "near_args_t")
WHERE = layout("db_ssd_near_pkg", "near_store_t")
AGAIN = layout("db_ssd_near_pkg", "near_again_t")
M64 = (1 << 64) - 1
WRITES = {"known", "modifies", "has_lba", "has_fua", "has_directive", "user_data", "from_host", "write_engine", "write",
          "counts_write"}  # fmt: skip
STORES = {"known", "modifies", "has_lba", "has_fua", "user_data", "to_host", "read_engine", "computes", "stores",
          "counts_read"}  # fmt: skip
READS = {"known", "has_lba", "has_fua", "user_data", "to_host", "read_engine", "counts_read"}
LATENCY, PERIOD = 2, 4


def desc(names: set[str]) -> dict[str, int]:
    return DESC.unpack(DESC.pack(dict.fromkeys(names, 1)))


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.free = list(range(NUM_CMDS))
        self.inside: dict[int, dict[str, int]] = {}  # stores of which the first part is under way
        self.again: deque[int] = deque()  # slots that come again
        self.told: dict[str, Any] | None = None  # what decode says in the cycle behind its command
        self.wrote: tuple[int, dict[str, int]] | None = None  # the Write of the cycle before
        self.last = -2  # cycle of the last command to the engines
        self.begun: int | None = None
        self.cycle = self.writes = self.passed = 0
        self.spans: list[int] = []
        self.decode_rate = self.again_rate = self.ready = 1.0

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in ("s_read_valid", "s_write_valid", "s_cmd", "s_store", "s_ctx_valid", "s_ctx_slot", "s_ctx",
                     "s_tap_cmd", "s_again_valid", "s_again", "m_write_ready"):  # fmt: skip
            getattr(d, name).value = 0
        d.rst.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = 0

    def random_store(self) -> dict[str, int]:
        r = self.rng
        return {
            "fn": r.getrandbits(8), "sqid": r.getrandbits(8), "cid": r.getrandbits(16), "nsid": r.getrandbits(32),
            "fua": r.getrandbits(1), "lba4k": r.getrandbits(1), "sgl": r.getrandbits(1), "prp1": r.getrandbits(64),
            "prp2": r.getrandbits(64), "base": r.getrandbits(64), "slba": r.getrandbits(64),
            "bytes": 512 * r.randint(1, 2048),
        }  # fmt: skip

    async def step(self) -> None:
        """A cycle. Decode gives a command in every second one at most, and none while it is held."""
        d, r = self.dut, self.rng
        d.s_read_valid.value = d.s_write_valid.value = 0
        d.s_ctx_valid.value = 0
        if self.told is not None:
            d.s_ctx_valid.value, d.s_ctx_slot.value = 1, self.told["slot"]
            d.s_ctx.value, d.s_tap_cmd.value = self.told["ctx"], self.told["tap"]
        d.m_write_ready.value = ready = int(r.random() < self.ready)
        offered = bool(self.again) and (int(d.s_again_valid.value) or r.random() < self.again_rate)
        d.s_again_valid.value = int(offered)
        if offered:
            slot = self.again[0]
            d.s_again.value = AGAIN.pack(slot=slot, **{n: self.inside[slot][n] for n in ("fn", "sqid", "cid", "nsid")})
        await Timer(1, "ns")
        gives = None
        if not d.hold.value and self.told is None and r.random() < self.decode_rate:
            gives = self.give()
        await Timer(1, "ns")
        self.look(gives, ready)
        await RisingEdge(d.clk)
        if offered and d.s_again_ready.value:
            self.again.popleft()
            self.begun = self.cycle
        self.told = gives
        self.cycle += 1
        await FallingEdge(d.clk)

    def give(self) -> dict[str, Any]:
        d, r = self.dut, self.rng
        kind = r.choice(("read", "write", "ends", "store", "store"))
        slot = self.free.pop(0) if kind == "store" and self.free else r.randrange(NUM_CMDS)
        if kind == "store" and slot in self.inside:
            kind = "ends"
        bits = r.getrandbits(CMD.width)
        if kind == "store":
            c = self.inside[slot] = self.random_store()
            self.free = [s for s in self.free if s != slot]
            args = ARGS.pack(data=r.getrandbits(21), result=c["bytes"], number=r.getrandbits(2))
            same = {n: c[n] for n in ("fn", "fua", "lba4k", "sgl", "prp1", "prp2")}
            bits = CMD.pack(
                desc=desc(STORES), slot=slot, ns_blocks=args, media_addr=r.getrandbits(64), bytes=r.getrandbits(32),
                **same,
            )  # fmt: skip
            d.s_store.value = WHERE.pack(base=c["base"], slba=c["slba"])
        else:
            names = READS if kind == "read" else WRITES
            bits = CMD.pack({**CMD.unpack(bits), "desc": desc(names), "slot": slot})
            d.s_store.value = r.getrandbits(WHERE.width)
        d.s_cmd.value = bits
        d.s_read_valid.value = int(kind in ("read", "store"))
        d.s_write_valid.value = int(kind == "write")
        return {"kind": kind, "slot": slot, "cmd": bits, "ctx": r.getrandbits(CTX.width),
                "tap": r.getrandbits(TAP.width)}  # fmt: skip

    def look(self, gives: dict[str, Any] | None, ready: int) -> None:
        d = self.dut
        writes = bool(d.m_write_valid.value)
        second = writes and not (gives and gives["kind"] == "write")
        if gives or second:
            assert self.cycle >= self.last + 2 or not (gives is None or gives["kind"] != "ends"), "too close"
        if gives:
            assert int(d.m_cmd.value) == gives["cmd"] and writes == (gives["kind"] == "write")
            self.last, self.passed = self.cycle, self.passed + 1
        # contexts: decode's a cycle behind its command, those of Writes behind them
        if self.told:
            assert d.m_ctx_valid.value and int(d.m_ctx_slot.value) == self.told["slot"]
            assert (int(d.m_ctx.value), int(d.m_tap_cmd.value)) == (self.told["ctx"], self.told["tap"])
        elif self.wrote:
            slot, c = self.wrote
            assert d.m_ctx_valid.value and int(d.m_ctx_slot.value) == slot
            ctx = CTX.unpack(int(d.m_ctx.value))
            want = {n: c[n] for n in ("fn", "sqid", "cid", "nsid", "slba", "bytes")}
            assert {n: ctx[n] for n in want} == want
            assert ctx["desc"] == desc(WRITES | {"computes"})  # its entry says how long the result was
            tap = TAP.unpack(int(d.m_tap_cmd.value))
            assert (tap["read"], tap["write"], tap["lba4k"], tap["ctx"]) == (0, 1, c["lba4k"], ctx)
        else:
            assert not d.m_ctx_valid.value
        self.wrote = None
        if not second:
            return
        assert ready and self.begun is not None
        got = CMD.unpack(int(d.m_cmd.value))
        c = self.inside.pop(got["slot"])
        shift = 12 if c["lba4k"] else 9
        assert got["desc"] == desc(WRITES)
        assert got["media_addr"] == c["base"] + (c["slba"] << shift) & M64
        want = {n: c[n] for n in ("fn", "fua", "lba4k", "sgl", "prp1", "prp2", "bytes")}
        assert {n: got[n] for n in want} == want
        self.spans.append(self.cycle - self.begun)
        self.begun, self.wrote = None, (got["slot"], c)
        self.last, self.writes = self.cycle, self.writes + 1
        self.free.append(got["slot"])


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    for _ in range(300):
        b.decode_rate, b.again_rate = b.rng.choice((0.1, 0.5, 1.0)), b.rng.choice((0.1, 1.0))
        b.ready = b.rng.choice((1.0, 1.0, 0.3))
        for _ in range(20):
            waits = [s for s in b.inside if s not in b.again]
            if waits and b.begun is None and b.rng.random() < 0.3:
                b.again.append(b.rng.choice(waits))
            await b.step()
    assert b.writes > 300 and b.passed > 1000


@cocotb.test()
async def latency_and_rate(dut: Any) -> None:
    """2 cycles to the Write, one every 4; decode gives commands between them."""
    b = Bench(dut, 2)
    await b.start()
    while len(b.inside) < NUM_CMDS:
        await b.step()
    b.decode_rate = 0.0
    for _ in range(4):
        await b.step()
    b.again.extend(b.inside)
    begin = b.cycle
    while b.inside:
        await b.step()
    assert set(b.spans) == {LATENCY}
    assert b.cycle - begin == PERIOD * (NUM_CMDS - 1) + LATENCY + 1


@cocotb.test()
async def decode_is_not_held_for_good(dut: Any) -> None:
    """However many come again, decode's commands pass: one in the cycle that is free between two Writes."""
    b = Bench(dut, 3)
    await b.start()
    passed = b.passed
    for _ in range(400):
        if b.inside and not b.again and b.begun is None:
            b.again.append(next(iter(b.inside)))
        await b.step()
    assert b.writes > 40 and b.passed - passed > 60


@cocotb.test()
async def a_reset_forgets_what_came(dut: Any) -> None:
    b = Bench(dut, 4)
    await b.start()
    while not b.inside:
        await b.step()
    b.decode_rate = 0.0
    for _ in range(3):
        await b.step()
    b.again.append(next(iter(b.inside)))
    while b.begun is None:
        await b.step()
    dut.s_again_valid.value = 0
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    for _ in range(6):
        await FallingEdge(dut.clk)
        assert not dut.m_write_valid.value and not dut.m_ctx_valid.value and not dut.hold.value


def test_db_ssd_near_store() -> None:
    bench.run(__file__, "db_ssd_near_store", {"NUM_CMDS": NUM_CMDS})
