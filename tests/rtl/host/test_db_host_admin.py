# SPDX-License-Identifier: Apache-2.0
"""db_host_admin against a model of the queue pair: entries, doorbells, phase, stale completions, time-outs."""

from __future__ import annotations

import random
from collections import deque

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from structs import constant, layout

TICK = 20
SQ = constant("db_host_pkg", "ADMIN_BUF_SQ")  # dword address of the submission queue
DWORD, DOORBELL = layout("db_host_pkg", "admin_buf_t"), layout("db_host_pkg", "doorbell_t")
ENTRY, ANSWER = layout("db_host_pkg", "admin_entry_t"), layout("db_host_control_pkg", "admin_answer_t")
CQE = layout("db_nvme_pkg", "cqe_t")


class Engine:
    def __init__(self, dut, seed: int, stall: float) -> None:
        self.dut, self.rng, self.stall = dut, random.Random(seed), stall
        self.memory = [None] * 1088
        self.tail = self.head = 0  # as the doorbells say
        self.cq_tail, self.phase = 0, 1
        self.posted: deque[tuple[int, int, int]] = deque()
        self.answers: list[tuple[int, int]] = []  # timeout, entry
        self.cycle = 0
        self.word: tuple[int, int] | None = None
        self.command: list[int] | None = None
        self.taken = 0
        self.rings: list[int] = []

    def step(self) -> None:
        d, rng = self.dut, self.rng
        self.cycle += 1
        if int(d.s_cmd_valid.value) and int(d.s_cmd_ready.value):
            assert int(d.m_cmd_index.value) == self.taken
            self.taken += 1
        access = DWORD.unpack(int(d.m_admin_buf.value))
        if access["en"] and int(d.s_admin_buf_ready.value):
            assert access["we"]
            self.memory[access["addr"]] = access["wdata"]
        d.s_admin_buf_ready.value = int(rng.random() >= self.stall)
        if int(d.m_doorbell_valid.value) and int(d.m_doorbell_ready.value):
            doorbell = DOORBELL.unpack(int(d.m_doorbell.value))
            v = doorbell["value"]
            assert doorbell["qid"] == 0
            if doorbell["cq"]:
                assert v < 4 and (v - self.head) % 4 <= (self.cq_tail - self.head) % 4
                self.head = v
            else:
                assert v == (self.tail + 1) % 4 and self.taken == 16
                self.tail = v
                self.rings.append(self.cycle)
        d.m_doorbell_ready.value = int(rng.random() >= self.stall)
        if int(d.m_rsp_valid.value):
            rsp = ANSWER.unpack(int(d.m_rsp.value))
            self.answers.append((rsp["timeout"], CQE.pack(rsp["cqe"])))
        d.s_cmd_valid.value = 0
        if self.command is not None and self.taken < 16 and rng.random() >= self.stall:
            d.s_cmd_valid.value = 1
            d.s_cmd_data.value = self.command[self.taken]
        d.s_entry_valid.value = 0
        d.s_entry.value = rng.getrandbits(ENTRY.width)
        if self.posted and self.posted[0][0] <= self.cycle:
            _, index, entry = self.posted.popleft()
            d.s_entry_valid.value, d.s_entry.value = 1, ENTRY.pack(index=index, cqe=entry)
        d.tick.value = int(self.cycle % TICK == 0)

    async def ticks(self, n: int) -> None:
        for _ in range(n):
            await RisingEdge(self.dut.clk)
            self.step()

    async def start(self, ms: int = 1000) -> None:
        d = self.dut
        for s in (
            "tick",
            "clear",
            "s_cmd_valid",
            "s_cmd_data",
            "s_admin_buf_ready",
            "m_doorbell_ready",
            "s_entry_valid",
            "s_entry",
        ):
            getattr(d, s).value = 0
        d.timeout_ms.value = ms
        d.rst.value = 1
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        for _ in range(3):
            await RisingEdge(d.clk)
        d.rst.value = 0

    async def send(self) -> int:
        """A random command; its identifier, once the doorbell is rung."""
        self.command = [self.rng.getrandbits(32) for _ in range(16)]
        self.taken = 0
        at, before = self.tail, len(self.rings)
        while len(self.rings) == before:
            await self.ticks(1)
        entry = self.memory[SQ + 16 * at : SQ + 16 * at + 16]
        assert entry[1:] == self.command[1:] and entry[0] & 0xFFFF == self.command[0] & 0xFFFF
        self.command = None
        return entry[0] >> 16

    def post(self, cid: int, delay: int = 0, *, phase: int = 1, ahead: int = 0) -> int:
        """A completion entry; with phase 0 or a place ahead it is not new. The entry."""
        entry = CQE.pack(CQE.unpack(self.rng.getrandbits(128)) | {"cid": cid, "phase": self.phase ^ phase ^ 1})
        self.posted.append((self.cycle + delay, (self.cq_tail + ahead) % 4, entry))
        if phase and not ahead:
            self.cq_tail = (self.cq_tail + 1) % 4
            self.phase ^= self.cq_tail == 0
        return entry


@cocotb.test()
@cocotb.parametrize(stall=[0.0, 0.5])
async def commands(dut, stall):
    e = Engine(dut, 1, stall)
    await e.start()
    seen = []
    for k in range(40):
        cid = await e.send()
        seen.append(cid)
        what = e.rng.randrange(4)
        if what == 0:
            e.post(cid, phase=0)  # an old one of the last round
        elif what == 1:
            e.post(cid, ahead=1)
        elif what == 2:
            e.post(cid ^ 0x100)  # of a command that was given up
        await e.ticks(40)
        assert len(e.answers) == k, "an answer that is none was taken"
        entry = e.post(cid, e.rng.randrange(5))
        await e.ticks(40)
        assert e.answers[k:] == [(0, entry)]
        assert e.head == e.cq_tail
    assert len(set(seen)) == 40


@cocotb.test()
async def identifiers_begin_anew(dut):
    """After 256 commands; an answer to the one before is no answer then, either."""
    e = Engine(dut, 6, 0.0)
    await e.start()
    dut.cid_q.value = 250
    for k in range(250, 265):
        assert await e.send() == k % 256
        e.post((k - 1) % 256)
        await e.ticks(30)
        assert len(e.answers) == k - 250
        entry = e.post(k % 256)
        await e.ticks(30)
        assert e.answers[k - 250 :] == [(0, entry)]


@cocotb.test()
async def latency(dut):
    e = Engine(dut, 2, 0.0)
    await e.start()
    for _ in range(5):
        start = e.cycle
        cid = await e.send()
        assert e.cycle - start <= 40
        e.post(cid)
        sent = e.cycle + 1
        while not int(dut.m_rsp_valid.value):
            await e.ticks(1)
        assert e.cycle - sent == 4, f"{e.cycle - sent}"
        await e.ticks(10)


@cocotb.test()
async def timeouts(dut):
    e = Engine(dut, 3, 0.2)
    await e.start(ms=9)
    for _ in range(3):
        await e.send()
        start, n = e.cycle, len(e.answers)
        while len(e.answers) == n:
            await e.ticks(1)
        assert e.answers[-1][0] == 1 and 8 * TICK <= e.cycle - start + 40 <= 9 * TICK + 90
        dut.clear.value = 1
        await e.ticks(3)
        dut.clear.value = 0
        e.tail = e.head = e.cq_tail = 0
        e.phase = 1
        cid = await e.send()
        assert e.tail == 1
        entry = e.post(cid)
        await e.ticks(20)
        assert e.answers[-1] == (0, entry)


@cocotb.test()
async def late_answer(dut):
    """After a time-out the answer comes while the next command is under way: taken off the queue, not taken for it."""
    e = Engine(dut, 4, 0.2)
    await e.start(ms=9)
    old = await e.send()
    while not e.answers:
        await e.ticks(1)
    new = await e.send()
    e.post(old)
    await e.ticks(30)
    assert len(e.answers) == 1 and e.head == 1
    entry = e.post(new)
    await e.ticks(30)
    assert e.answers[1:] == [(0, entry)] and e.head == 2


@cocotb.test()
async def cleared_at_any_time(dut):
    e = Engine(dut, 5, 0.3)
    await e.start()
    for k in range(60):
        e.command = [e.rng.getrandbits(32) for _ in range(16)]
        e.taken = 0
        await e.ticks(e.rng.randrange(1, 90))
        e.command = None
        dut.clear.value = 1
        await e.ticks(2)
        dut.clear.value = 0
        e.tail = e.head = e.cq_tail = 0
        e.phase = 1
        await e.ticks(1)
        e.taken = 0
        cid = await e.send()
        assert e.tail == 1
        entry = e.post(cid)
        await e.ticks(30)
        assert e.answers == [(0, entry)] and e.head == 1, f"round {k}"
        e.answers.clear()


@pytest.mark.parametrize("top", ["db_host_admin"])
def test_db_host_admin(top: str) -> None:
    bench.run(__file__, top)
