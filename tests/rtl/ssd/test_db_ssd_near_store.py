# SPDX-License-Identifier: Apache-2.0
"""db_ssd_near_store: each command that comes again is a Write of its result for decode, once, in order and in its slot.
However many wait, nobody waits for this block.

The model says what docs/csd/near-storage.md does: as many bytes as the result buffer, from the data pointer, to the
blocks that dwords 2 and 3 name, in the namespace that CDW15 names, or the command's own.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.triggers import RisingEdge, Timer
from streams import start
from structs import layout

NUM_CMDS = 16
CMD, AGAIN = layout("db_ssd_pkg", "cmd_t"), layout("db_ssd_near_pkg", "near_again_t")
ARGS, WHERE = layout("db_ssd_near_pkg", "near_args_t"), layout("db_ssd_near_pkg", "near_store_t")
FETCHED, SQE, PART = (
    layout("db_ssd_pkg", "fetched_sqe_t"),
    layout("db_nvme_pkg", "sqe_t"),
    layout("db_ssd_near_pkg", "part_t"),
)
WRITE = 0x01
LATENCY, PERIOD = 4, 4


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.inside: dict[int, dict[str, int]] = {}  # of which the first part is under way, by slot
        self.again: deque[int] = deque()  # slots that come again
        self.waits: deque[tuple[int, int]] = deque()  # ... have come, in that cycle
        self.cycle = self.entries = 0
        self.ready = self.again_rate = 1.0
        self.spans: list[int] = []

    async def start(self) -> None:
        await start(self.dut, s_cmd_valid=0, s_cmd=0, s_store=0, s_again_valid=0, s_again=0, m_sqe_ready=0)

    async def begin(self) -> None:
        """A command that stores goes to the read engine."""
        d, r = self.dut, self.rng
        slot = r.choice([s for s in range(NUM_CMDS) if s not in self.inside])
        c = self.inside[slot] = {
            "fn": r.getrandbits(8), "sqid": r.getrandbits(8), "cid": r.getrandbits(16), "nsid": r.getrandbits(32),
            "fua": r.getrandbits(1), "sgl": r.getrandbits(1), "prp1": r.getrandbits(64), "prp2": r.getrandbits(64),
            "slba": r.getrandbits(64), "to": r.choice((0, r.getrandbits(8))),
            "bytes": 512 * r.choice((1, 2048, r.randint(1, 2048))),
        }  # fmt: skip
        args = ARGS.pack(data=r.getrandbits(21), result=c["bytes"], number=r.getrandbits(2), phase=r.getrandbits(16))
        same = {n: c[n] for n in ("fn", "fua", "sgl", "prp1", "prp2")}
        d.s_cmd.value = CMD.pack(
            slot=slot, ns_blocks=args, media_addr=r.getrandbits(64), bytes=r.getrandbits(32), **same
        )
        d.s_store.value = WHERE.pack(nsid=c["to"], slba=c["slba"])
        d.s_cmd_valid.value = 1
        await self.step()
        d.s_cmd_valid.value = 0
        d.s_cmd.value, d.s_store.value = r.getrandbits(CMD.width), r.getrandbits(WHERE.width)

    async def step(self) -> None:
        d, r = self.dut, self.rng
        d.m_sqe_ready.value = int(r.random() < self.ready)
        offered = bool(self.again) and r.random() < self.again_rate
        d.s_again_valid.value = int(offered)
        if offered:
            slot = self.again.popleft()
            owner = {n: self.inside[slot][n] for n in ("fn", "sqid", "cid", "nsid")}
            d.s_again.value = AGAIN.pack(slot=slot, copies=0, **owner)
            self.waits.append((slot, self.cycle))
        await Timer(1, "ns")
        assert not offered or d.s_again_ready.value, "somebody waits"
        assert not d.m_sqe_valid.value or d.busy.value
        if d.m_sqe_valid.value and d.m_sqe_ready.value:
            self.look()
        assert d.busy.value or not [1 for _, at in self.waits if at < self.cycle - 1]
        await RisingEdge(d.clk)
        self.cycle += 1

    def look(self) -> None:
        d = self.dut
        slot, at = self.waits.popleft()
        c = self.inside.pop(slot)
        got = FETCHED.unpack(int(d.m_sqe.value))
        entry = SQE.unpack(int(d.m_sqe.value) >> FETCHED["sqe"].offset & (1 << SQE.width) - 1)
        assert {n: got[n] for n in ("fn", "sqid", "err")} == {"fn": c["fn"], "sqid": c["sqid"], "err": 0}
        want = {
            "opc": WRITE, "psdt": c["sgl"], "cid": c["cid"], "nsid": c["to"] or c["nsid"], "prp1": c["prp1"],
            "prp2": c["prp2"], "cdw10": c["slba"] & 0xFFFFFFFF, "cdw11": c["slba"] >> 32,
            "cdw12": c["bytes"] // 512 - 1 | c["fua"] << 30,
        }  # fmt: skip
        assert {n: v for n, v in entry.items() if v} == {n: v for n, v in want.items() if v}
        part = PART.unpack(int(d.m_part.value))
        assert (part["valid"], part["stores"], part["slot"], int(d.m_slot.value)) == (1, 1, slot, slot)
        assert not part["more"] and not part["memory"] and not part["overlaps"]
        self.spans.append(self.cycle - at)
        self.entries += 1


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    for _ in range(300):
        b.ready, b.again_rate = b.rng.choice((1.0, 1.0, 0.2)), b.rng.choice((0.1, 1.0))
        for _ in range(10):
            known = {*b.again, *(slot for slot, _ in b.waits)}
            ends = [s for s in b.inside if s not in known]
            if ends and b.rng.random() < 0.5:
                b.again.append(b.rng.choice(ends))
            if len(b.inside) < NUM_CMDS and b.rng.random() < 0.7:
                await b.begin()
            else:
                await b.step()
    assert b.entries > 500


@cocotb.test()
async def latency_and_rate(dut: Any) -> None:
    """4 cycles to the entry, one every 4; all that can come are taken at once, while decode takes none, too."""
    b = Bench(dut, 2)
    await b.start()
    for _ in range(20):
        await b.begin()
        b.again.extend(b.inside)
        while b.inside:
            await b.step()
    assert set(b.spans) == {LATENCY}
    while len(b.inside) < NUM_CMDS:
        await b.begin()
    b.ready = 0.0
    b.again.extend(b.inside)
    while b.again:
        await b.step()
    b.ready, begin = 1.0, b.cycle
    while b.inside:
        await b.step()
    assert b.cycle - begin <= PERIOD * NUM_CMDS


@cocotb.test()
async def a_reset_forgets_what_came(dut: Any) -> None:
    b = Bench(dut, 4)
    await b.start()
    for _ in range(3):
        await b.begin()
    b.ready = 0.0
    b.again.extend(b.inside)
    while not dut.m_sqe_valid.value:
        await b.step()
    dut.s_again_valid.value = 0
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    for _ in range(6):
        await RisingEdge(dut.clk)
        assert not dut.m_sqe_valid.value and not dut.busy.value


def test_db_ssd_near_store() -> None:
    bench.run(__file__, "db_ssd_near_store", {"NUM_CMDS": NUM_CMDS})
