# SPDX-License-Identifier: Apache-2.0
"""db_pcie_rq_mux: packets whole, each source in order, none starved, no bubble, none new while stopped; idle."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from pcie_stream import PcieStream, StreamBeat, stream_struct

Beat = StreamBeat


async def run_mux(
    dut: Any, sources: int, packets: list[list[list[Beat]]], stall: float, seed: int, stops: bool = False
) -> tuple[list[tuple[int, list[Beat]]], list[int]]:
    """Feeds packets per source; returns (source, packet) in order of arrival, and the cycle of every beat."""
    rng = random.Random(seed)
    rq = PcieStream(dut, "m_rq", "RQ", int(dut.DATA_W.value))
    todo = [[list(p) for p in s] for s in packets]
    current: list[list[Beat]] = [[] for _ in range(sources)]
    valid = [False] * sources
    dut.rst.value, dut.stop.value, dut.s_rq_valid.value, dut.m_rq_ready.value = 1, 0, 0, 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    got: list[tuple[int, list[Beat]]] = []
    cycles: list[int] = []
    beats: list[Beat] = []
    held: Beat | None = None
    quiet = cycle = inside = 0
    stop, stopped_for, pending = 0, 0, 0  # stop: one bit a source; pending: beats inside
    while quiet < 60 or any(todo) or any(current):
        await RisingEdge(dut.clk)
        cycle += 1
        assert cycle < 20000, "stuck"
        quiet += 1
        ready = int(dut.s_rq_ready.value)
        begun = int(dut.begun.value)
        assert not ready & (ready - 1), "two sources taken at once"
        assert int(dut.idle.value) == (inside == 0 and pending == 0), "idle"
        for i in range(sources):
            if valid[i] and ready >> i & 1:
                quiet = 0
                pending += 1
                assert begun == (1 << i if inside == 0 else 0), "begun"
                begun = 0
                if inside == 0:
                    assert not stop >> i & 1, "a packet begun while its source is stopped"
                inside = 0 if current[i][0].last else 1
                current[i].pop(0)
                valid[i] = False
        assert not begun
        if int(rq.valid.value):
            quiet = 0
            b = rq.beat()
            assert held is None or held == b, "beat changed in a stall"
            held = b
            if int(rq.ready.value):
                held = None
                pending -= 1
                beats.append(b)
                cycles.append(cycle)
                if b.last:
                    got.append((beats[0].data & 0xFF, beats))
                    beats = []
        else:
            assert held is None, "tvalid fell"
        rq.ready.value = int(rng.random() >= stall)
        if stops:
            if stopped_for:
                stopped_for -= 1
            else:
                stopped_for = rng.randrange(15)
                stop = rng.choice([0, rng.randrange(1 << sources), (1 << sources) - 1])
            dut.stop.value = stop
        given = 0
        for i in range(sources):
            if not current[i] and todo[i] and rng.random() >= stall:
                current[i] = todo[i].pop(0)
            valid[i] = bool(current[i])
            if valid[i]:
                b0 = current[i][0]
                word = rq.struct.pack(tdata=b0.data, tkeep=b0.keep, tlast=b0.last, tuser=b0.user)
                given |= word << i * rq.struct.width
        dut.s_rq.value = given
        dut.s_rq_valid.value = sum(v << i for i, v in enumerate(valid))
    assert not any(todo) and not any(current) and not beats
    return got, cycles


def make_packets(dut: Any, rng: random.Random, sources: int, count: int, max_beats: int) -> list[list[list[Beat]]]:
    struct = stream_struct("RQ", int(dut.DATA_W.value))
    width, keep_w, user_w = (struct[f].width for f in ("tdata", "tkeep", "tuser"))
    out = []
    for i in range(sources):
        packets = []
        for _ in range(count):
            n = rng.randrange(1, max_beats + 1)
            packets.append(
                [
                    Beat(
                        rng.getrandbits(width - 8) << 8 | i,
                        rng.getrandbits(keep_w),
                        int(k == n - 1),
                        rng.getrandbits(user_w),
                    )
                    for k in range(n)
                ]
            )
        out.append(packets)
    return out


@cocotb.test()
async def whole_packets_in_order(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    n = len(dut.s_rq_valid)
    for seed, (stall, stops) in enumerate(((0.0, False), (0.4, False), (0.2, True))):
        packets = make_packets(dut, random.Random(seed), n, 40, 5)
        got, cycles = await run_mux(dut, n, packets, stall, seed, stops)
        for i in range(n):
            assert [p for s, p in got if s == i] == packets[i]
        if stall == 0.0:
            # all sources always had a packet: strict turns, a beat in every cycle
            assert [s for s, _ in got] == [k % n for k in range(40 * n)]
            assert cycles[-1] - cycles[0] + 1 == len(cycles)


@pytest.mark.parametrize("width, sources", [(128, 1), (256, 3), (512, 2)])
def test_db_pcie_rq_mux(width: int, sources: int) -> None:
    env = {"COCOTB_LOG_LEVEL": os.environ.get("LOG", "WARNING")}
    bench.run(__file__, "db_pcie_rq_mux", {"DATA_W": width, "N": sources}, env=env)
