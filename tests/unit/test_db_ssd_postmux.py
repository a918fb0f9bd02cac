# SPDX-License-Identifier: Apache-2.0
"""db_ssd_postmux: writes go out in the order in which they were handed over, whole and once, one a cycle."""

from __future__ import annotations

import random
from collections import Counter, deque
from typing import Any

import bench
import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge

SOURCES = ("cqe", "msix", "fw")


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut = dut
        self.rng = random.Random(seed)
        self.offer: dict[str, tuple[int, int, int, int] | None] = dict.fromkeys(SOURCES)
        self.inside: deque[tuple[int, int, int, int]] = deque()
        self.order: list[str] = []
        self.out_cycles: list[int] = []
        self.in_cycles: list[int] = []
        self.held: tuple[int, ...] | None = None
        self.cycle = 0

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for s in SOURCES:
            getattr(d, f"s_{s}_valid").value = 0
        for name in ("s_cqe", "s_cqe_fn", "s_cqe_addr", "s_msix_fn", "s_msix_addr", "s_msix_data", "s_fw_fn",
                     "s_fw_addr", "s_fw_len_dw", "s_fw_data", "m_post_ready"):
            getattr(d, name).value = 0
        d.rst.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = 0

    def new(self, source: str) -> tuple[int, int, int, int]:
        r = self.rng
        dwords = {"cqe": 4, "msix": 1, "fw": r.randint(1, 16)}[source]
        return r.getrandbits(8), r.getrandbits(62) << 2, dwords, r.getrandbits(32 * dwords)

    async def step(self, rates: dict[str, float], ready: float) -> None:
        d, rng = self.dut, self.rng
        for s in SOURCES:
            if self.offer[s] is None and rng.random() < rates[s]:
                self.offer[s] = self.new(s)
            o = self.offer[s]
            getattr(d, f"s_{s}_valid").value = int(o is not None)
            if o is not None:
                getattr(d, f"s_{s}_fn").value, getattr(d, f"s_{s}_addr").value = o[:2]
                getattr(d, {"cqe": "s_cqe", "msix": "s_msix_data", "fw": "s_fw_data"}[s]).value = o[3]
                if s == "fw":
                    d.s_fw_len_dw.value = o[2]
        d.m_post_ready.value = int(rng.random() < ready)
        await RisingEdge(d.clk)
        if d.m_post_valid.value == 1:
            got = tuple(int(getattr(d, f"m_post_{n}").value) for n in ("fn", "addr", "len_dw", "data"))
            assert self.held in (None, got), "changed while it waited"
            self.held = got
            if d.m_post_ready.value == 1:
                assert self.inside, "a write that nobody asked for"
                want = self.inside.popleft()
                assert (*got[:3], got[3] & (1 << 32 * want[2]) - 1) == want
                self.out_cycles.append(self.cycle)
                self.held = None
        else:
            assert self.held is None, "withdrawn"
        taken = [s for s in SOURCES if self.offer[s] is not None and getattr(d, f"s_{s}_ready").value == 1]
        assert len(taken) <= 1
        for s in taken:
            self.inside.append(self.offer[s])  # type: ignore[arg-type]
            self.order.append(s)
            self.in_cycles.append(self.cycle)
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
            await b.step(rates, ready)
    for _ in range(10):
        await b.step(dict.fromkeys(SOURCES, 0.0), 1.0)
    assert not b.inside and not any(b.offer.values())
    assert min(Counter(b.order).values()) > 100


@cocotb.test()
async def one_a_cycle_and_fair(dut: Any) -> None:
    b = Bench(dut, 2)
    await b.start()
    for _ in range(60):
        await b.step(dict.fromkeys(SOURCES, 1.0), 1.0)
    assert b.out_cycles == list(range(1, 60)) and b.in_cycles == list(range(60))   # latency 1
    assert all(set(b.order[i:i + 3]) == set(SOURCES) for i in range(0, 60, 3))


def test_db_ssd_postmux() -> None:
    bench.run(__file__, "db_ssd_postmux")
