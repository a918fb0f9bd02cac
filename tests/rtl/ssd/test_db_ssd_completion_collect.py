# SPDX-License-Identifier: Apache-2.0
"""db_ssd_completion_collect: each completion once, with what its slot holds; counters and error log as Base 2.0,
5.16.1 wants."""

from __future__ import annotations

import dataclasses
import os
import random
from collections import Counter, deque
from dataclasses import dataclass
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from structs import layout

READ, WRITE, COMPARE, VERIFY, NEAR, STORE = 0x02, 0x01, 0x05, 0x0C, 0x82, 0x83
COPY = 0x101  # of a memory: its list, then two ranges
PARTS = {STORE: 2, COPY: 3}
INVALID_FIELD, TOO_LARGE, NOT_LOADED = 0x4002, 0x1C0, 0x1C1
OTHERS = (0x00, 0x08, 0x09, 0x7F)
DECODE, RD, WR, ADMIN = range(4)
LATENCY, PERIOD = 1, 2


CTX = layout("db_ssd_pkg", "slot_ctx_t")
SLOT = layout("db_ssd_pkg", "slot_completion_t")
COMPLETION = layout("db_ssd_pkg", "completion_t")
FINISHED = layout("db_ssd_pkg", "finished_t")
ERROR = layout("db_ssd_pkg", "error_log_t")
AGAIN = layout("db_ssd_near_pkg", "near_again_t")
RESULT = layout("db_ssd_near_pkg", "near_result_t")
SMART = layout("db_ssd_pkg", "smart_counters_t")
COUNTERS = {"rd": "read_cmds", "wr": "write_cmds", "rd_sectors": "read_sectors", "wr_sectors": "write_sectors"}


@dataclass(frozen=True)
class Command:
    fn: int
    sqid: int
    cid: int
    opcode: int
    nsid: int
    slba: int
    bytes: int
    part: int = 1  # of a STORE: 2, what it writes; of a COPY: 2 and 3, its ranges

    def bits(self) -> int:
        desc = {
            "counts_read": self.opcode in (READ, COMPARE, VERIFY, NEAR) or self.opcode == STORE and self.part == 1,
            "counts_write": self.opcode == WRITE or self.opcode == STORE and self.part == 2,
            "computes": self.opcode in (NEAR, STORE), "stores": self.opcode == STORE and self.part == 1,
            "copies": self.opcode == COPY and self.part < PARTS[COPY],
        }  # fmt: skip
        return CTX.pack(
            desc=desc, fn=self.fn, sqid=self.sqid, cid=self.cid, nsid=self.nsid, slba=self.slba, bytes=self.bytes
        )


@dataclass(frozen=True)
class Done:
    """A completion as it comes in: of a slot's command, or the firmware's (command None)."""

    source: int
    slot: int
    status: int
    command: Command | None
    full: tuple[int, int, int, int, int]  # fn, sqid, cid, status, dw0: what must come out

    def bits(self) -> int:
        if self.command is None:
            fn, sqid, cid, status, dw0 = self.full
            return COMPLETION.pack(fn=fn, sqid=sqid, cid=cid, status=status, dw0=dw0)
        if self.source == ADMIN:  # of a slot: it says what else there is
            return COMPLETION.pack(io=1, sqid=self.slot, status=self.status)
        return SLOT.pack(slot=self.slot, status=self.status)


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut = dut
        self.num_cmds = int(os.environ["NUM_CMDS"])
        self.rng = random.Random(seed * 1000 + self.num_cmds)
        self.cycle = 0
        self.queues: list[deque[Done]] = [deque() for _ in range(4)]
        self.offered = [False] * 4
        self.inside: deque[tuple[int, Done]] = deque()
        self.ctx: deque[tuple[int, Command]] = deque()
        self.later: deque[tuple[int, Done]] = deque()  # second parts, and from when on they may end
        self.near: deque[tuple[int, ...]] = deque()
        self.free = list(range(self.num_cmds))
        self.order: list[int] = []
        self.outs: list[int] = []
        self.held: tuple[int, ...] | None = None
        self.failed: list[tuple[int, ...]] = []
        self.logged: list[tuple[int, ...]] = []
        self.err_held: tuple[int, ...] | None = None
        self.want = Counter(rd=0, wr=0, rd_sectors=0, wr_sectors=0)
        self.media_errors = 0
        self.rate = self.ready = self.err_ready = self.again_ready = 1.0
        self.agains = 0

    async def start(self) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in (
            "s_ctx_valid",
            "s_ctx_slot",
            "s_ctx",
            "s_near_valid",
            "s_near",
            "s_slot_valid",
            "s_slot",
            "s_admin_valid",
            "s_admin",
            "m_finished_ready",
            "m_error_ready",
            "m_again_ready",
            "done_aborted",
            "media_err",
        ):
            getattr(d, name).value = 0
        d.rst.value = d.rst_counters.value = 1
        for _ in range(3):
            await FallingEdge(d.clk)
        d.rst.value = d.rst_counters.value = 0

    def random_command(self, opcode: int) -> Command:
        r = self.rng
        nbytes = r.choice([512, 4096, 512 * r.randint(1, 65536), 4096 * r.randint(1, 65536)]) & 0xFFFFFFFF
        return Command(
            r.getrandbits(8), r.getrandbits(8), r.getrandbits(16), opcode, r.getrandbits(32), r.getrandbits(64), nbytes
        )

    async def add(
        self, source: int, opcode: int | None = None, status: int | None = None, by_slot: bool = False
    ) -> None:
        """Writes a slot's context if there is one, and lets its completion come from a source afterwards. by_slot: of
        the firmware's, one that has a slot."""
        r = self.rng
        if status is None:
            status = r.choice([0, 0, 0, r.getrandbits(15)])
        if source == ADMIN and not by_slot:
            full = (r.getrandbits(8), r.getrandbits(8), r.getrandbits(16), status, r.getrandbits(32))
            self.queues[ADMIN].append(Done(ADMIN, 0, status, None, full))
            return
        for _ in range(1000):
            if self.free:
                break
            await self.step()
        slot = self.free.pop(r.randrange(len(self.free)))
        if opcode is None:
            opcode = r.choice((READ, WRITE, COMPARE, VERIFY, NEAR, NEAR, STORE, STORE, COPY, *OTHERS))
        c = self.random_command(opcode)
        self.ctx.append((slot, c))
        while self.ctx:
            await self.step()
        dw0, end = 0, status
        if opcode in (NEAR, STORE):  # what operators say counts where nothing else went wrong
            none, absent, too_large = r.random() < 0.2, r.random() < 0.2, r.random() < 0.3
            found = r.getrandbits(21)
            self.near.append((slot, int(none), int(absent), int(too_large), found))
            while self.near:
                await self.step()
            if status == 0:
                end = INVALID_FIELD if none else NOT_LOADED if absent else TOO_LARGE if too_large else 0
                dw0 = 0 if none or absent else found
        self.queues[source].append(Done(source, slot, status, c, (c.fn, c.sqid, c.cid, end, dw0)))

    async def step(self) -> None:
        d, rng = self.dut, self.rng
        d.s_ctx_valid.value = int(bool(self.ctx))
        if self.ctx:
            slot, c = self.ctx.popleft()
            d.s_ctx_slot.value, d.s_ctx.value = slot, c.bits()
        d.s_near_valid.value = int(bool(self.near))
        if self.near:
            d.s_near.value = RESULT.pack(dict(zip(RESULT, self.near.popleft(), strict=True)))
        while self.later and self.cycle >= self.later[0][0]:
            self.queues[self.later[0][1].source].append(self.later.popleft()[1])
        slots = 0
        for i in range(4):
            self.offered[i] = bool(self.queues[i]) and (self.offered[i] or rng.random() < self.rate)
            if i < ADMIN:
                bits = self.queues[i][0].bits() if self.offered[i] else rng.getrandbits(SLOT.width)
                slots |= bits << SLOT.width * i
        d.s_slot_valid.value = sum(int(self.offered[i]) << i for i in range(3))
        d.s_slot.value = slots
        d.s_admin_valid.value = int(self.offered[ADMIN])
        d.s_admin.value = self.queues[ADMIN][0].bits() if self.offered[ADMIN] else rng.getrandbits(COMPLETION.width)
        media_err = rng.getrandbits(2) & rng.getrandbits(2)
        self.media_errors += media_err.bit_count()
        d.media_err.value = media_err
        d.m_finished_ready.value = int(rng.random() < self.ready)
        d.m_error_ready.value = int(rng.random() < self.err_ready)
        d.m_again_ready.value = int(rng.random() < self.again_ready)
        await RisingEdge(d.clk)
        self.look()
        self.cycle += 1
        await FallingEdge(d.clk)

    def look(self) -> None:
        d = self.dut
        # out
        self.look_again()
        if d.m_finished_valid.value == 1:
            finished = FINISHED.unpack(int(d.m_finished.value))
            end = finished["completion"]
            got = end["fn"], end["sqid"], end["cid"], COMPLETION["status"].encode(end["status"]), end["dw0"]
            assert self.inside, "a completion that nobody gave"
            taken, done = self.inside[0]
            assert got == done.full and finished["io"] == int(done.command is not None)
            assert done.command is None or finished["slot"] == done.slot
            assert not self.comes_again(done), "it has not stored"
            if self.held is None:
                assert self.cycle - taken == LATENCY
                self.account(done)
            self.held = got
            if d.m_finished_ready.value == 1:
                self.inside.popleft()
                if done.command is not None:
                    self.free.append(done.slot)
                self.outs.append(self.cycle)
                self.held = None
        else:
            assert self.held is None, "withdrawn"
        # errors
        if d.m_error_valid.value == 1:
            error = ERROR.unpack(int(d.m_error.value))
            now = tuple(error[n] for n in ("sqid", "cid", "status", "nsid", "lba"))
            assert self.err_held in (None, now), "an error changed while it waited"
            if self.err_held is None:
                self.logged.append(now)
            self.err_held = None if d.m_error_ready.value == 1 else now
        else:
            assert self.err_held is None, "an error was withdrawn"
        # in
        ready = int(d.s_slot_ready.value) | int(d.s_admin_ready.value) << 3
        taken_now = [i for i in range(4) if self.offered[i] and ready >> i & 1]
        assert len(taken_now) <= 1
        for i in taken_now:
            self.inside.append((self.cycle, self.queues[i].popleft()))
            self.offered[i] = False
            self.order.append(i)

    @staticmethod
    def comes_again(done: Done) -> bool:
        return done.command is not None and (
            done.command.part < PARTS.get(done.command.opcode, 1) and done.full[3] == 0
        )

    def look_again(self) -> None:
        """What stores, or copies, and of which a part has ended well goes out apart; the next part ends later."""
        d = self.dut
        if d.m_again_valid.value != 1:
            return
        assert d.m_finished_valid.value == 0
        taken, done = self.inside[0]
        c = done.command
        assert c is not None and self.comes_again(done)
        got = AGAIN.unpack(int(d.m_again.value))
        assert got == {
            "copies": int(c.opcode == COPY),
            "slot": done.slot,
            "fn": c.fn,
            "sqid": c.sqid,
            "cid": c.cid,
            "nsid": c.nsid,
        }
        first = self.cycle == taken + LATENCY
        assert d.done_valid.value == int(first) and d.done_again.value == 1
        if first:
            self.account(done)
        if d.m_again_ready.value == 1:
            self.inside.popleft()
            self.agains += 1
            r = self.rng
            second = dataclasses.replace(c, part=c.part + 1, slba=r.getrandbits(64), bytes=512 * r.randint(1, 2048))
            self.ctx.append((done.slot, second))
            status = r.choice([0, 0, r.getrandbits(15)])
            full = (*done.full[:3], status, 0 if status else done.full[4])
            source = RD if c.opcode == COPY else WR
            self.later.append((self.cycle + 3, Done(source, done.slot, status, second, full)))

    def account(self, done: Done) -> None:
        c = done.command
        if c is None:
            return
        if status := done.full[3]:
            self.failed.append((c.sqid, c.cid, status, c.nsid, c.slba))
        elif c.opcode in (READ, COMPARE, VERIFY, NEAR) or c.opcode == STORE and c.part == 1:
            self.want.update(rd=1, rd_sectors=c.bytes // 512)
        elif c.opcode in (WRITE, STORE):
            self.want.update(wr=1, wr_sectors=c.bytes // 512)

    async def settle(self) -> None:
        for _ in range(5000):
            await self.step()
            if not any(self.queues) and not self.inside and not self.later:
                for _ in range(5):
                    await self.step()
                return
        raise AssertionError("does not end")

    def check_counters(self) -> None:
        got = SMART.unpack(int(self.dut.smart.value))
        assert {k: got[name] for k, name in COUNTERS.items()} == dict(self.want)
        assert got["media_errors"] == self.media_errors


@cocotb.test()
async def random_traffic(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    for _ in range(12):
        b.rate, b.ready = b.rng.choice([0.2, 1.0]), b.rng.choice([0.2, 0.7, 1.0])
        b.again_ready = b.rng.choice([0.2, 1.0])
        for _ in range(40):
            await b.add(b.rng.randrange(4), by_slot=b.rng.random() < 0.5)
        await b.settle()
        b.check_counters()
    assert b.logged == b.failed and b.failed  # the firmware was never slow
    assert b.agains > 10
    assert len(b.free) == b.num_cmds and set(b.order) == {DECODE, RD, WR, ADMIN}


@cocotb.test()
async def slow_error_log(dut: Any) -> None:
    """What the firmware has not taken stays as it is, later errors are not logged, none is invented."""
    b = Bench(dut, 2)
    await b.start()
    b.err_ready = 0.0
    for k in range(4):
        await b.add(RD, READ, 0x4080 + k)
        await b.settle()
    assert b.logged == b.failed[:1] and len(b.failed) == 4
    b.err_ready = 1.0
    await b.step()
    await b.add(WR, WRITE, 0x281)
    await b.settle()
    assert b.logged == [b.failed[0], b.failed[4]]
    b.err_ready = 0.1
    for _ in range(60):
        await b.add(b.rng.randrange(3), READ, 1 + b.rng.getrandbits(14))
    await b.settle()
    left = iter(b.failed)
    assert all(e in left for e in b.logged) and len(b.logged) > 5
    await b.add(ADMIN, status=0x4002)  # the firmware logs its own
    await b.settle()
    assert len(b.failed) == 65


@cocotb.test()
async def every_opcode_is_counted_right(dut: Any) -> None:
    b = Bench(dut, 3)
    await b.start()
    for opcode in (READ, WRITE, COMPARE, VERIFY, *OTHERS):
        for status in (0, 0x285, 0x4002):
            await b.add(b.rng.randrange(3), opcode, status)
            await b.settle()
            b.check_counters()
    assert b.want["rd"] == 3 and b.want["wr"] == 1
    dut.media_err.value = 0
    dut.rst.value = 1  # a controller reset leaves the counters alone
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    await b.settle()
    b.check_counters()
    dut.rst_counters.value = 1
    await FallingEdge(dut.clk)
    dut.rst_counters.value = 0
    b.want = Counter(rd=0, wr=0, rd_sectors=0, wr_sectors=0)
    b.media_errors = 0
    await b.settle()
    b.check_counters()


@cocotb.test()
async def slots_are_looked_up(dut: Any) -> None:
    """A slot used again at once shows its new command; its neighbours are as they were."""
    b = Bench(dut, 4)
    await b.start()
    for _ in range(3 * b.num_cmds):
        await b.add(b.rng.randrange(3))
        if b.rng.random() < 0.3:
            await b.settle()
    await b.settle()
    b.check_counters()


@cocotb.test()
async def fair_and_fast(dut: Any) -> None:
    b = Bench(dut, 5)
    await b.start()
    b.rate = 0.0
    each = min(8, b.num_cmds // 4)
    for _ in range(each):
        for source in range(4):
            await b.add(source, READ if source < ADMIN else None)
    b.rate = 1.0
    await b.settle()
    assert all(set(b.order[i : i + 4]) == {DECODE, RD, WR, ADMIN} for i in range(0, 4 * each, 4)), b.order
    assert all(y - x == PERIOD for x, y in zip(b.outs, b.outs[1:]))


@pytest.mark.parametrize("num_cmds", [4, 128])
def test_db_ssd_completion_collect(num_cmds: int) -> None:
    bench.run(
        __file__, "db_ssd_completion_collect", {"NUM_CMDS": num_cmds, "NUM_FN": 3, "NEAR": 1},
        env={"NUM_CMDS": str(num_cmds)},
    )  # fmt: skip
