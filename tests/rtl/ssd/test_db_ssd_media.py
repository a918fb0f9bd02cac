# SPDX-License-Identifier: Apache-2.0
"""db_ssd_media: a read comes back to who asked, addresses of both readers alternate, a page that is written is not
read, media commands go one at a time and are answered to who gave them."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import cocotb
import rtl_bench as bench
from axi_model import axi_struct
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from structs import layout

DATA_W, ADDR_W = 256, 40
COMMAND = layout("db_ssd_pkg", "media_cmd_t")
# Requests and responses of db_axi_types.svh, whose widths are the module's parameters.
READ_REQ, READ_RSP = axi_struct("READ_REQ", ADDR_W), axi_struct("READ_RSP", DATA_W)
WRITE_REQ, WRITE_RSP = axi_struct("WRITE_REQ", ADDR_W, DATA_W), axi_struct("WRITE_RSP")
REQ_W, RSP_W = READ_REQ.width, READ_RSP.width
CLEARED = 260  # cycles after reset until the first address goes


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.todo: list[deque[tuple[int, int]]] = [deque(), deque()]  # address, rows - 1, of each reader
        self.asked: deque[tuple[int, int, int]] = deque()  # reader, address, rows: at the media
        self.order: list[int] = []
        self.taken_at: list[int] = []
        self.rows: list[deque[int]] = [deque(), deque()]  # what each reader is to get
        self.sending: deque[tuple[int, int, int]] = deque()  # id, data, last
        self.commands: list[deque[dict[str, int]]] = [deque(), deque()]
        self.at_media: tuple[int, int] | None = None  # who, cycles until the answer
        self.done = [0, 0]
        self.cycle = 0
        self.rate = 1.0
        self.hold = False  # the media sends no rows
        self.firmware = 0  # reader 2: its request
        self.latency: list[int] = []
        self.offered: dict[int, int] = {}
        self.waits: list[int] = [0, 0]

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in (
            "s_axi_read_req",
            "m_axi_read_rsp",
            "m_axi_rid",
            "s_axi_write_req",
            "m_axi_write_rsp",
            "s_cmd_valid",
            "s_cmd",
            "m_cmd_ready",
            "m_cmd_done",
        ):
            getattr(d, name).value = 0
        d.rst.value = d.ctrl_rst.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = d.ctrl_rst.value = 0
        for _ in range(CLEARED):
            await FallingEdge(d.clk)

    async def step(self) -> None:
        d, rng = self.dut, self.rng
        row = self.sending[0] if self.sending and not self.hold and rng.random() < self.rate else None
        # a reader has room for what it has asked for; the other's room is nothing to the media
        ready = [(row is not None and row[0] == i) or rng.random() < self.rate for i in range(2)]
        requests = 0
        for i, todo in enumerate(self.todo):
            addr, rows = todo[0] if todo else (rng.getrandbits(ADDR_W), 0)
            value = READ_REQ.pack(ar_valid=int(bool(todo)), ar={"addr": addr, "len": rows}, r_ready=int(ready[i]))
            requests |= value << REQ_W * i
        d.s_axi_read_req.value = requests | self.firmware << 2 * REQ_W
        ar_ready = rng.random() < self.rate
        rid, data, last = row or (rng.getrandbits(1), 0, 0)
        d.m_axi_rid.value = rid
        d.m_axi_read_rsp.value = (
            int(ar_ready) << RSP_W - 1 | int(row is not None) << RSP_W - 2 | last << RSP_W - 3 | data
        )
        d.s_cmd_valid.value = sum(int(bool(c)) << i for i, c in enumerate(self.commands))
        d.s_cmd.value = sum(COMMAND.pack(c[0]) << COMMAND.width * i for i, c in enumerate(self.commands) if c)
        d.m_cmd_ready.value = int(rng.random() < self.rate)
        answer = self.at_media is not None and self.at_media[1] == 0
        d.m_cmd_done.value = int(answer)
        await RisingEdge(d.clk)
        self.look(ar_ready, row, answer)
        self.cycle += 1
        await FallingEdge(d.clk)

    def look(self, ar_ready: bool, row: tuple[int, int, int] | None, answer: bool) -> None:
        d = self.dut
        responses, request = int(d.s_axi_read_rsp.value), int(d.m_axi_read_req.value)
        for i in range(2):
            response = responses >> RSP_W * i
            if response >> RSP_W - 1 & 1 and self.todo[i]:
                self.asked.append((i, *self.todo[i].popleft()))
                self.order.append(i)
                self.taken_at.append(self.cycle)
            valid = response >> RSP_W - 2 & 1
            assert valid == int(row is not None and row[0] == i), "a row for nobody, or for the other"
            if valid:
                assert response & (1 << DATA_W) - 1 == self.rows[i].popleft()
        assert request & 1, "R is always taken, whatever stands on RID: no ready follows an input (AXI4, A3.1.1)"
        if row is not None:
            self.sending.popleft()
        assert not (int(d.quiet.value) and request >> REQ_W - 1), "quiet with an address on offer"
        if request >> REQ_W - 1 and ar_ready:
            who, addr, rows = self.asked.popleft()
            ar = READ_REQ.unpack(request)["ar"]
            assert (int(d.m_axi_arid.value), ar["addr"], ar["len"]) == (who, addr, rows)
            for k in range(rows + 1):
                data = self.rng.getrandbits(DATA_W)
                self.rows[who].append(data)
                self.sending.append((who, data, int(k == rows)))
        # commands
        done = int(d.s_cmd_done.value)
        assert done == (1 << self.at_media[0] if answer and self.at_media else 0), "an answer for the wrong one"
        if answer and self.at_media:
            self.done[self.at_media[0]] += 1
            self.at_media = None
        elif self.at_media:
            self.at_media = (self.at_media[0], self.at_media[1] - 1)
        taken = int(d.s_cmd_ready.value)
        if d.m_cmd_valid.value and d.m_cmd_ready.value:
            assert self.at_media is None and taken in (1, 2)
            who = taken >> 1
            assert COMMAND.unpack(int(d.m_cmd.value)) == self.commands[who].popleft()
            self.at_media = (who, self.rng.randrange(5))
        else:
            assert taken == 0

    async def settle(self) -> None:
        for _ in range(20_000):
            await self.step()
            if not any((*self.todo, *self.commands, *self.rows, self.asked, self.at_media)):
                for _ in range(4):
                    await self.step()
                assert self.dut.quiet.value == 1 and self.dut.busy.value == 0
                return
        raise AssertionError("does not end")

    def read(self, who: int) -> None:
        self.todo[who].append((self.rng.getrandbits(ADDR_W), self.rng.choice((0, 1, 7, 15))))

    def command(self, who: int) -> None:
        r = self.rng
        self.commands[who].append({"op": r.getrandbits(1), "addr": r.getrandbits(64), "bytes": r.getrandbits(64)})


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    given = [0, 0]
    for rate in (1.0, 0.5, 0.2):
        b.rate = rate
        for _ in range(60):
            b.read(b.rng.randrange(2))
            who = b.rng.randrange(2)
            b.command(who)
            given[who] += 1
            for _ in range(b.rng.randrange(6)):
                await b.step()
        await b.settle()
    assert b.done == given and len(b.order) == 180


@cocotb.test()
async def readers_alternate_at_an_address_every_other_cycle(dut: Any) -> None:
    b = Bench(dut, 2)
    await b.start()
    b.hold = True
    for _ in range(8):
        b.read(0)
        b.read(1)
    for _ in range(40):
        await b.step()
    b.hold = False
    await b.settle()
    assert all(x != y for x, y in zip(b.order, b.order[1:]))
    assert b.taken_at == list(range(b.taken_at[0], b.taken_at[0] + 32, 2))


@cocotb.test()
async def a_page_that_is_written_is_not_read(dut: Any) -> None:
    """... until the write has its response; others are. A page that is being read is not written."""
    b = Bench(dut, 4)
    await b.start()
    page = 5 << 12
    dut.s_axi_write_req.value = WRITE_REQ.pack(aw_valid=1, aw={"addr": page + 512, "len": 15}, b_ready=1)
    dut.m_axi_write_rsp.value = WRITE_RSP.pack(aw_ready=1)
    await b.step()
    assert not WRITE_REQ.unpack(int(dut.m_axi_write_req.value))["aw_valid"]
    assert WRITE_RSP.unpack(int(dut.s_axi_write_rsp.value))["aw_held"], "no row may go"
    await b.step()
    assert WRITE_REQ.unpack(int(dut.m_axi_write_req.value))["aw_valid"]
    assert not WRITE_RSP.unpack(int(dut.s_axi_write_rsp.value))["aw_held"]
    assert WRITE_RSP.unpack(int(dut.s_axi_write_rsp.value))["aw_ready"]
    await b.step()
    dut.s_axi_write_req.value = WRITE_REQ.pack(b_ready=1)
    b.todo[0].append((page + 1024, 3))
    for _ in range(50):
        await b.step()
    assert b.asked and not b.rows[0], "read while it is written"
    dut.m_axi_write_rsp.value = WRITE_RSP.pack(aw_ready=1, b_valid=1)
    await b.step()
    dut.m_axi_write_rsp.value = WRITE_RSP.pack(aw_ready=1)
    b.hold = True
    for _ in range(4):
        await b.step()
    assert b.rows[0]
    dut.s_axi_write_req.value = WRITE_REQ.pack(aw_valid=1, aw={"addr": page, "len": 15}, b_ready=1)
    for _ in range(50):
        await b.step()
        assert not WRITE_REQ.unpack(int(dut.m_axi_write_req.value))["aw_valid"], "written while it is read"
    b.hold = False
    for _ in range(10):
        await b.step()
    assert WRITE_REQ.unpack(int(dut.m_axi_write_req.value))["aw_valid"] or not b.rows[0]


@cocotb.test()
async def firmware_reads_under_the_id_of_compare(dut: Any) -> None:
    """While its r_ready says so, the rows of id 1 are its own; Compare sees none of them, the read engine its own."""
    b = Bench(dut, 5)
    await b.start()
    dut.s_axi_read_req.value = READ_REQ.pack(ar_valid=1, ar={"addr": 0x7000}, r_ready=1) << 2 * REQ_W
    dut.m_axi_read_rsp.value = READ_RSP.pack(ar_ready=1)
    await FallingEdge(dut.clk)
    request = READ_REQ.unpack(int(dut.m_axi_read_req.value))
    assert request["ar_valid"] and request["ar"]["addr"] == 0x7000 and int(dut.m_axi_arid.value) == 1
    dut.s_axi_read_req.value = READ_REQ.pack(r_ready=1) << 2 * REQ_W | READ_REQ.pack(r_ready=1)
    await FallingEdge(dut.clk)
    for rid in (1, 0):
        dut.m_axi_rid.value = rid
        dut.m_axi_read_rsp.value = READ_RSP.pack(r_valid=1, r={"data": 5})
        await RisingEdge(dut.clk)
        answers = int(dut.s_axi_read_rsp.value)
        valid = [READ_RSP.unpack(answers >> i * RSP_W & (1 << RSP_W) - 1)["r_valid"] for i in range(3)]
        assert valid == [1 - rid, 0, rid]
        assert READ_REQ.unpack(int(dut.m_axi_read_req.value))["r_ready"]
        await FallingEdge(dut.clk)


@cocotb.test()
async def write_engine_comes_first(dut: Any) -> None:
    """... when both ask; a firmware's command that is under way is not disturbed."""
    b = Bench(dut, 3)
    await b.start()
    b.command(1)
    for _ in range(2):
        await b.step()
    b.command(0)
    b.command(1)
    await b.settle()
    assert b.done == [1, 2]
    b.command(1)
    b.command(0)
    while not b.done[0] == 2:
        await b.step()
    assert b.done[1] == 2
    await b.settle()


def test_db_ssd_media() -> None:
    bench.run(__file__, "db_ssd_media", {"DATA_W": DATA_W, "ADDR_W": ADDR_W})
