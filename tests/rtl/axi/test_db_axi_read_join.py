# SPDX-License-Identifier: Apache-2.0
"""db_axi_read_join: every reader gets what it asked for, in its order; what is on offer stays."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
import rtl_bench as bench
from axi_model import AxiRead, Media, axi_struct
from cocotb.triggers import RisingEdge
from streams import start

N, ADDR_W, WIDTH = 3, 20, 128


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.media = Media(WIDTH)
        self.axi = AxiRead(dut, self.rng, self.media, lambda addr, rows: None, ADDR_W)
        self.axi.stall = self.rng.choice((0.0, 0.5))
        self.axi.ar.stall = self.rng.choice((0.0, 0.5))
        self.req, self.rsp = axi_struct("READ_REQ", ADDR_W), axi_struct("READ_RSP", WIDTH)
        self.wanted: list[deque[int]] = [deque() for _ in range(N)]  # asked for, not answered
        self.offer: list[int | None] = [None] * N
        self.eager = [self.rng.choice((0.1, 0.9)) for _ in range(N)]
        self.got = [0] * N
        self.cycle = 0

    async def step(self) -> None:
        d = self.dut
        await RisingEdge(d.clk)
        self.cycle += 1
        answers = int(d.s_axi_read_rsp.value)
        for n in range(N):
            rsp = self.rsp.unpack(answers >> n * self.rsp.width & (1 << self.rsp.width) - 1)
            addr = self.offer[n]
            if addr is not None and rsp["ar_ready"]:
                self.wanted[n].append(addr)
                self.offer[n] = None
            if rsp["r_valid"]:
                row = self.wanted[n].popleft()
                assert rsp["r"]["data"] == self.media.read(row), f"reader {n}"
                self.got[n] += 1
        self.axi.step(self.cycle)
        req = 0
        for n in range(N):
            if self.offer[n] is None and self.rng.random() < self.eager[n]:
                self.offer[n] = 16 * self.rng.randrange(1 << ADDR_W - 4)
            addr = self.offer[n]
            ar = {"addr": addr or 0, "len": 0, "fua": 0}
            req |= self.req.pack(ar_valid=int(addr is not None), ar=ar, r_ready=1) << n * self.req.width
        d.s_axi_read_req.value = req


@cocotb.test()
async def readers(dut: Any) -> None:
    for seed in range(8):
        await start(dut, s_axi_read_req=0, m_axi_read_rsp=0)
        b = Bench(dut, seed)
        for _ in range(3000):
            await b.step()
        b.eager = [0.0] * N
        for _ in range(2000):
            await b.step()
        assert not any(b.wanted), "each has all that it asked for"
        assert all(b.got), b.got


def test_join() -> None:
    bench.run(__file__, "db_axi_read_join", {"N": N, "ADDR_W": ADDR_W, "DATA_W": WIDTH, "DEPTH": 16})
