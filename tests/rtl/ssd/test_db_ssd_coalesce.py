# SPDX-License-Identifier: Apache-2.0
"""db_ssd_coalesce: no request goes without an interrupt, none waits longer than it may, none is spared too few."""

from __future__ import annotations

import os
import random
from collections import deque
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from structs import layout

NEVER = (1 << 64) - 1
IRQ = layout("db_ssd_pkg", "irq_t")
CFG = layout("db_ssd_pkg", "coalesce_cfg_t")
VEC_CFG = layout("db_ssd_pkg", "int_vec_cfg_t")


class Bench:
    """Knows, cycle by cycle, which interrupts must come; what is left can only be those whose time has come."""

    def __init__(self, dut: Any, seed: int) -> None:
        self.dut = dut
        self.num_vec = int(os.environ["NUM_VEC"])
        self.rng = random.Random(seed * 100 + self.num_vec)
        self.cycle = 0
        self.time = self.rng.getrandbits(40)
        self.thr = self.ictime = 0  # settings that hold
        self.next_settings = 0, 0  # ... from the next cycle on
        self.exempt: set[int] = set()
        self.requests: deque[tuple[int, int]] = deque()  # vector, admin
        self.held_in = False
        self.soon: deque[tuple[int, int]] = deque()  # cycle from which offered, vector
        self.waiting: dict[int, list[int]] = {}  # vector -> when each request is due
        self.started: list[int] = []  # due times of requests since the last sweep
        self.got: list[tuple[int, int]] = []  # cycle, vector
        self.taken: list[int] = []
        self.held: int | None = None
        self.passed = 0  # without a cycle
        self.icv: tuple[int, int] | None = None
        self.rate = self.ready = 1.0
        self.late_limit = 0  # cycles for a sweep; 0: not checked
        self.overdue = 0

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in ("s_irq_valid", "s_irq", "m_irq_ready", "int_vec_cfg_valid", "int_vec_cfg"):
            getattr(d, name).value = 0
        d.coalesce_cfg.value, d.time_us.value = CFG.pack(threshold=self.thr, time_100us=self.ictime), self.time
        d.rst.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = 0
        for cycle in range(self.num_vec + 1):  # what is kept of each vector is cleared
            await FallingEdge(d.clk)
            assert int(d.idle.value) == (cycle >= self.num_vec - 1)

    async def settings(self, thr: int, ictime: int) -> None:
        self.next_settings = thr, ictime
        self.dut.coalesce_cfg.value = CFG.pack(threshold=thr, time_100us=ictime)
        await self.step()

    async def set_exempt(self, vector: int, cd: int) -> None:
        (self.exempt.add if cd else self.exempt.discard)(vector)
        self.icv = vector, cd
        await self.step()

    async def step(self) -> None:
        d, rng = self.dut, self.rng
        self.held_in = self.held_in or (bool(self.requests) and rng.random() < self.rate)
        d.s_irq_valid.value = int(self.held_in)
        if self.held_in:
            vector, admin = self.requests[0]
            d.s_irq.value = IRQ.pack(vector=vector, admin=admin)
        d.m_irq_ready.value = int(rng.random() < self.ready)
        d.int_vec_cfg_valid.value = int(self.icv is not None)
        vector, exempt = self.icv or (rng.randrange(self.num_vec), rng.getrandbits(1))
        d.int_vec_cfg.value = VEC_CFG.pack(vector=vector, exempt=exempt)
        self.icv = None
        d.time_us.value = self.time
        await RisingEdge(d.clk)
        self.look()
        self.cycle += 1
        await FallingEdge(d.clk)

    def look(self) -> None:
        d = self.dut
        # when does it want to be woken
        wake = int(d.wake_us.value)
        due = [t for times in self.waiting.values() for t in times]
        if d.idle.value == 1:
            assert wake <= min(due, default=NEVER), f"wakes at {wake}, a request is due at {min(due)}"
            assert wake in (NEVER, *self.started), f"wakes at {wake}, which is nobody's time"
        self.overdue = self.overdue + 1 if due and self.time >= min(due) else 0
        assert not self.late_limit or self.overdue <= self.late_limit, "a request waits longer than it may"
        # interrupts
        taken = d.s_irq_valid.value == 1 and d.s_irq_ready.value == 1
        at_once = self.held_in and (self.requests[0][1] or not self.thr or not self.ictime)
        counted = bool(self.soon) and self.soon[0][0] <= self.cycle
        if d.m_irq_valid.value == 1:
            now = IRQ.unpack(int(d.m_irq.value))["vector"]
            assert self.held in (None, now), "changed while it waited"
            self.held = now
            if counted:
                assert now == self.soon[0][1], f"{now}, expected {self.soon[0]}"
                assert not taken or not at_once, "one request goes before another"
            if d.m_irq_ready.value == 1:
                if counted:
                    self.soon.popleft()
                elif taken and at_once:
                    assert now == self.requests[0][0]
                    self.passed += 1
                else:
                    assert now in self.waiting, f"interrupt of vector {now}, which has no request"
                    assert self.time >= min(self.started), "an interrupt before its time"
                    del self.waiting[now]
                self.got.append((self.cycle, now))
                self.held = None
        else:
            assert self.held is None, "withdrawn"
            assert not counted, "an interrupt is missing"
            assert not (taken and at_once), "taken, but no interrupt"
        if d.idle.value == 1 and wake == NEVER:
            self.started = []
        # requests
        if taken:
            vector, _ = self.requests.popleft()
            self.held_in = False
            self.taken.append(self.cycle)
            if at_once:
                assert d.m_irq_valid.value == 1 and d.m_irq_ready.value == 1
            elif vector in self.exempt:
                self.soon.append((self.cycle + 2, vector))
            else:
                times = self.waiting.setdefault(vector, [])
                when = self.time + 100 * self.ictime
                times.append(when)
                if len(times) > self.thr:
                    del self.waiting[vector]
                    self.soon.append((self.cycle + 2, vector))
                self.started.append(when)
        self.thr, self.ictime = self.next_settings

    async def settle(self, limit: int = 5000) -> None:
        calm = 0
        for _ in range(limit):
            await self.step()
            calm = calm + 1 if self.dut.idle.value == 1 and not self.requests else 0
            if calm > 4:
                assert not self.soon
                return
        raise AssertionError("does not come to rest")

    def request(self, vector: int, admin: int = 0) -> None:
        self.requests.append((vector, admin))

    def vectors(self) -> list[int]:
        return [v for _, v in self.got]


@cocotb.test()
async def off_passes_all(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    for thr, ictime in ((0, 0), (0, 255), (255, 0)):
        await b.settings(thr, ictime)
        for _ in range(60):
            b.requests.append((b.rng.randrange(b.num_vec), b.rng.getrandbits(1)))
        b.ready = b.rng.choice([0.3, 1.0])
        await b.settle()
    assert len(b.got) == 180 and int(dut.wake_us.value) == NEVER


@cocotb.test()
async def threshold(dut: Any) -> None:
    """The n-th request makes the interrupt, n = threshold + 1 (0's based), each vector for itself."""
    b = Bench(dut, 2)
    await b.start()
    for thr in (1, 2, 7, 255):
        await b.settings(thr, 255)
        for vector in {0, b.num_vec - 1}:
            b.got.clear()
            for _ in range(thr):
                b.request(vector)
            await b.settle()
            assert not b.got
            b.request(vector)
            await b.settle()
            assert b.vectors() == [vector]
            for _ in range(2 * (thr + 1)):
                b.request(vector)
            await b.settle()
            assert b.vectors() == [vector] * 3
    if b.num_vec > 1:
        await b.settings(3, 255)
        b.got.clear()
        for v in (0, 1, 0, 1, 0, 1, 1, 0):
            b.request(v)
        await b.settle()
        assert b.vectors() == [1, 0]


@cocotb.test()
async def time_limit(dut: Any) -> None:
    """Not a microsecond before the time, all of them when it comes, and asleep until then."""
    b = Bench(dut, 3)
    await b.start()
    b.late_limit = b.num_vec + 8
    for ictime in (1, 3, 255):
        await b.settings(200, ictime)
        b.got.clear()
        some = sorted(b.rng.sample(range(b.num_vec), min(5, b.num_vec)))
        first = b.time
        for v in some * 3:
            b.request(v)
        await b.settle()
        assert dut.idle.value == 1 and int(dut.wake_us.value) == first + 100 * ictime
        b.time = first + 100 * ictime - 1
        await b.settle()
        assert not b.got
        b.time += 1
        await b.settle()
        assert sorted(b.vectors()) == some and not b.waiting and int(dut.wake_us.value) == NEVER
        b.time += 1000
        await b.settle()
        assert len(b.got) == len(some)
        # the next one has its own time
        b.request(some[0])
        await b.settle()
        assert int(dut.wake_us.value) == b.time + 100 * ictime
        b.time += 100 * ictime
        await b.settle()
        assert len(b.got) == len(some) + 1


@cocotb.test()
async def exempt_and_admin(dut: Any) -> None:
    b = Bench(dut, 4)
    await b.start()
    await b.settings(10, 50)
    v = b.num_vec - 1
    await b.set_exempt(v, 1)
    for _ in range(3):
        b.request(v)
    b.request(0, admin=1)
    await b.settle()
    assert b.vectors() == [v, v, v, 0] and int(dut.wake_us.value) == NEVER
    await b.set_exempt(v, 0)
    b.request(v)
    await b.settle()
    assert len(b.got) == 4 and int(dut.wake_us.value) == b.time + 5000
    b.request(v, admin=1)  # the admin queue may share the vector: its interrupt comes at once
    await b.settle()
    assert len(b.got) == 5
    b.time += 5000
    await b.settle()
    assert len(b.got) == 6


@cocotb.test()
async def settings_change_while_requests_wait(dut: Any) -> None:
    """Turned off, or a lower threshold: what waits still comes, at its old time at the latest."""
    b = Bench(dut, 5)
    await b.start()
    b.late_limit = b.num_vec + 8
    for thr, ictime in ((0, 0), (3, 0), (0, 9), (1, 200)):
        await b.settings(20, 7)
        for _ in range(5):
            b.request(0)
        await b.settle()
        await b.settings(thr, ictime)
        b.time += 700
        await b.settle()
        assert not b.waiting
    await b.settings(20, 7)
    for _ in range(5):
        b.request(0)
    await b.settle()
    await b.settings(2, 7)
    b.request(0)
    await b.settle()
    assert not b.waiting, "more wait than the new threshold allows"
    b.time += 1000  # lets the old time go by
    await b.settle()
    await b.settings(20, 200)
    b.request(0)
    await b.settle()
    await b.settings(20, 1)  # less time than the first has left
    b.request(b.num_vec - 1)
    await b.settle()
    assert int(dut.wake_us.value) == b.time + 100
    b.time += 100
    await b.settle()
    assert not b.waiting


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    b = Bench(dut, 6)
    await b.start()
    sent = 0
    for _ in range(25):
        await b.settings(b.rng.choice([0, 1, 2, 5]), b.rng.choice([0, 1, 1, 2]))
        for _ in range(3):
            await b.set_exempt(b.rng.randrange(b.num_vec), b.rng.getrandbits(1))
        b.rate, b.ready = b.rng.choice([0.1, 0.5, 1.0]), b.rng.choice([0.3, 0.8, 1.0])
        b.late_limit = b.num_vec + 8 if b.ready == 1.0 else 0
        for _ in range(150):
            if b.rng.random() < 0.4 and len(b.requests) < 3:
                b.request(b.rng.randrange(min(b.num_vec, 6)), int(b.rng.random() < 0.1))
                sent += 1
            b.time += int(b.rng.random() < 0.5)
            await b.step()
        await b.settle()
        if b.waiting:  # asleep until the next one is due
            b.time = int(dut.wake_us.value)
            await b.settle()
            b.time += 200
            await b.settle()
        assert not b.waiting and not b.soon
    assert len(b.taken) == sent and b.passed > 50


@cocotb.test()
async def throughput(dut: Any) -> None:
    b = Bench(dut, 7)
    await b.start()
    for thr, period in ((0, 1), (100, 2)):
        await b.settings(thr, 10)
        b.taken.clear()
        for _ in range(50):
            b.request(0)
        await b.settle()
        assert [y - x for x, y in zip(b.taken, b.taken[1:])] == [period] * 49


@pytest.mark.parametrize("num_vec", [1, 33])
def test_db_ssd_coalesce(num_vec: int) -> None:
    bench.run(__file__, "db_ssd_coalesce", {"NUM_VEC": num_vec}, env={"NUM_VEC": str(num_vec)})
