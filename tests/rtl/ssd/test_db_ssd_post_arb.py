# SPDX-License-Identifier: Apache-2.0
"""db_ssd_post_arb: writes go out in the order in which they were handed over, whole and once, in the same cycle."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from structs import layout

SOURCES = ("cqe", "msix", "fw")
POST = layout("db_pcie_block_pkg", "post_t")
CQE_POST = layout("db_ssd_pkg", "cqe_post_t")


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut = dut
        self.rng = random.Random(seed)
        self.offer: dict[str, tuple[int, int, int, int] | None] = dict.fromkeys(SOURCES)
        self.order: list[str] = []
        self.cycles: list[int] = []
        self.held: tuple[int, ...] | None = None
        self.cycle = 0
        self.dropped = 0

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for s in SOURCES:
            getattr(d, f"s_{s}_valid").value = 0
        for name in ("s_cqe", "s_msix", "s_fw", "m_post_ready", "drop_irqs"):
            getattr(d, name).value = 0
        d.rst.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = 0

    def new(self, source: str) -> tuple[int, int, int, int]:
        r = self.rng
        dwords = {"cqe": 4, "msix": 1, "fw": r.randint(1, 4)}[source]
        return r.getrandbits(8), r.getrandbits(62) << 2, dwords, r.getrandbits(32 * dwords)

    async def step(self, rates: dict[str, float], ready: float, drop: int = 0) -> None:
        d, rng = self.dut, self.rng
        for s in SOURCES:
            if self.offer[s] is None and rng.random() < rates[s]:
                self.offer[s] = self.new(s)
            o = self.offer[s]
            getattr(d, f"s_{s}_valid").value = int(o is not None)
            if o is not None:
                if s == "cqe":
                    d.s_cqe.value = CQE_POST.pack(fn=o[0], addr=o[1], cqe=o[3])
                else:
                    getattr(d, f"s_{s}").value = POST.pack(fn=o[0], addr=o[1], dwords=o[2], data=o[3])
        d.m_post_ready.value = int(rng.random() < ready)
        d.drop_irqs.value = drop
        await RisingEdge(d.clk)
        taken = [s for s in SOURCES if self.offer[s] is not None and getattr(d, f"s_{s}_ready").value == 1]
        now = None
        if d.m_post_valid.value == 1:
            post = POST.unpack(int(d.m_post.value))
            now = tuple(post[n] for n in ("fn", "addr", "dwords", "data"))
            assert self.held in (None, now), "changed while it waited"
            mine = [s for s, o in self.offer.items() if o == (*now[:3], now[3] & (1 << 32 * now[2]) - 1)]
            assert mine, "a write that nobody asked for"
            self.held = now
            if d.m_post_ready.value == 1:
                assert mine[0] in taken
                taken.remove(mine[0])
                self.order.append(mine[0])
                self.cycles.append(self.cycle)
                self.offer[mine[0]] = None
                self.held = None
        else:
            assert self.held is None, "withdrawn"
            assert drop or not any(self.offer.values()), "idle, but there is something"
        assert taken in ([], ["msix"]) and (drop or not taken), "taken, but not sent"
        for s in taken:
            self.dropped += 1
            self.offer[s] = None
        self.cycle += 1
        await FallingEdge(d.clk)


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    for _ in range(30):
        rates = {s: b.rng.choice([0.0, 0.1, 0.5, 1.0]) for s in SOURCES}
        ready = b.rng.choice([0.1, 0.5, 1.0])
        for _ in range(60):
            await b.step(rates, ready, int(b.rng.random() < 0.1))
    for _ in range(10):
        await b.step(dict.fromkeys(SOURCES, 0.0), 1.0)
    assert not any(b.offer.values())
    assert min(Counter(b.order).values()) > 100 and b.dropped > 30


@cocotb.test()
async def one_a_cycle(dut: Any) -> None:
    """Without a cycle in between, and entries come at least as often as the others leave room for."""
    b = Bench(dut, 2)
    await b.start()
    for _ in range(60):
        await b.step(dict.fromkeys(SOURCES, 1.0), 1.0)
    assert b.cycles == list(range(60))
    b.order.clear()
    for t in range(60):  # as often as db_pcie_msix and db_ssd_admin_copy can
        await b.step({"cqe": 1.0, "msix": float(t % 3 == 0), "fw": float(t % 5 == 0)}, 1.0)
    assert Counter(b.order[2:])["cqe"] >= 60 * (1 - 1 / 3 - 1 / 5) - 2


@cocotb.test()
async def dropping(dut: Any) -> None:
    """An interrupt that is on offer goes out, one that is not yet does not."""
    b = Bench(dut, 3)
    await b.start()
    only = {"cqe": 0.0, "msix": 1.0, "fw": 0.0}
    await b.step(only, 0.0)
    for _ in range(5):
        await b.step(only, 0.0, 1)
    assert b.held is not None and not b.dropped
    await b.step(only, 1.0, 1)
    assert b.order == ["msix"] and not b.dropped
    for _ in range(4):
        await b.step(only, 0.0, 1)
    assert b.dropped == 4 and b.order == ["msix"]


def test_db_ssd_post_arb() -> None:
    bench.run(__file__, "db_ssd_post_arb")
