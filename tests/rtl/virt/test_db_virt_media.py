# SPDX-License-Identifier: Apache-2.0
"""db_virt_media: what is written to the virtual media is on the SSD and at the blocks where a map written from the
documentation (docs/vcsd/theory.md) says, and is read back from there, whatever the SSDs' order and delays; errors
come to the burst they belong to; the settings area is the card's own. Where granules are the bench says as the firmware
would, by registers (docs/registers.md). A command that reads is told ahead, and may read when all of it is there: an
SSD that takes its time keeps back its own commands and no other, for ever if it likes; what was asked for before a
reset reaches nobody."""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from axi_model import FLUSH, MEDIA_CMD, UNCORRECTABLE, ZERO, axi_struct
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from doorbell import build
from structs import enum, layout

DATA_W, ADDR_W, SLOTS = 256, 40, 32
ROW = DATA_W // 8
PAGE, CHUNK = 4096, 128 << 10
NUM = int(os.environ.get("NUM_SSD", "4"))
STRIPE = os.environ.get("STRIPE", "1") == "1"
LOG2 = NUM.bit_length() - 1
GRANULE_LOG2 = 17 + max(LOG2, 1)
GRANULE = 1 << GRANULE_LOG2
EACH = 3  # granules of each SSD
PAGES = EACH * GRANULE // PAGE + 5  # pages of each SSD: the last ones are not used
READ_REQ, READ_RSP = axi_struct("READ_REQ", ADDR_W), axi_struct("READ_RSP", DATA_W)
WRITE_REQ, WRITE_RSP = axi_struct("WRITE_REQ", ADDR_W, DATA_W), axi_struct("WRITE_RSP")
BLOCK_CMD, STATUS = layout("db_host_pkg", "block_cmd_t"), layout("db_host_pkg", "block_status_t")
SSD_STATE = layout("db_virt_pkg", "ssd_state_t")
AHEAD = layout("db_ssd_pkg", "ahead_t")
KIND = enum("db_ssd_pkg", "ahead_kind_e")
EXT = layout("db_ssd_pkg", "ext_bus_t")
OP = enum("db_host_pkg", "block_op_e")
LOOK, RELEASE, PUT, FIND = range(4)
FULL = (1 << ROW) - 1
GOOD, BAD = 0, 2


@dataclass(frozen=True)
class Extent:
    """Where a granule of the medium is: in part `part` of granule `place` of 2**log2 SSDs from `ssd` on."""

    place: int
    ssd: int
    part: int = 0
    log2: int = 0

    def word(self) -> int:
        return self.place | self.ssd << 16 | self.part << 20 | self.log2 << 24

    def eighths(self) -> set[tuple[int, int, int]]:
        """SSD, granule of it, eighth of that: what it takes."""
        size = 8 >> self.log2
        ssds = range(self.ssd, self.ssd + (1 << self.log2))
        return {(s, self.place, e) for s in ssds for e in range(self.part * size, (self.part + 1) * size)}


def usual() -> list[Extent | None]:
    """Slice behind slice, or a stripe over all."""
    if STRIPE:
        return [Extent(g // NUM, 0, g % NUM, LOG2) for g in range(NUM * EACH)]
    return [Extent(g % EACH, g // EACH) for g in range(NUM * EACH)]


@dataclass
class Wanted:
    """A command that is told ahead."""

    addr: int
    size: int  # of a flush's namespace
    kind: str = "READ"  # COMPARE, WRITE, FLUSH, ZERO
    rows: list[int] = field(default_factory=list)
    full: bool = True  # a Write's data has come
    fua: bool = False
    err: int = 0


@dataclass
class Ssd:
    """db_host_engine with its drive: commands in order, each row and each status when it likes."""

    rng: random.Random
    shift: int = 9
    data: dict[int, int] = field(default_factory=dict)  # by row
    commands: deque[dict[str, Any]] = field(default_factory=deque)
    rows: deque[tuple[int, int]] = field(default_factory=deque)  # out, with err
    statuses: deque[tuple[int, int]] = field(default_factory=deque)
    incoming: deque[int] = field(default_factory=deque)
    fails: set[int] = field(default_factory=set)  # blocks
    ops: list[str] = field(default_factory=list)
    wait: int = 0
    largest: int = 0  # blocks of a Read
    stuck: bool = False  # it answers nothing

    def work(self) -> None:
        if self.stuck:
            return
        if self.wait:
            self.wait -= 1
            return
        if not self.commands:
            return
        c = self.commands[0]
        name = next(k for k, v in OP.items() if v == c["op"])
        first, rows = (c["lba"] << self.shift) // ROW, (c["blocks"] << self.shift) // ROW
        if name == "BLOCK_WRITE" and len(self.incoming) < rows:
            return
        self.commands.popleft()
        self.ops.append(name)
        self.largest = max(self.largest, c["blocks"] if name == "BLOCK_READ" else 0)
        self.wait = self.rng.randrange(12)
        failed = any(b in self.fails for b in range(c["lba"], c["lba"] + c["blocks"]))
        if name == "BLOCK_READ":
            self.rows.extend((0 if failed else self.data.get(first + i, 0), failed) for i in range(rows))
        if name == "BLOCK_WRITE":
            got = [self.incoming.popleft() for _ in range(rows)]
            if not failed:
                self.data.update((first + i, row) for i, row in enumerate(got))
        if name == "BLOCK_ZEROES":
            for i in range(rows):
                self.data.pop(first + i, None)
        self.statuses.append((c["tag"], 0x281 if failed else 0))


class Bench:
    def __init__(self, dut: Any, seed: int) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.num = NUM
        self.table: list[Extent | None] = []
        self.ssds = [Ssd(random.Random(seed + i)) for i in range(self.num)]
        self.present = self.up = (1 << self.num) - 1
        self.dead = 0
        self.card: dict[int, int] = {}
        self.ar: deque[tuple[int, int, int]] = deque()  # address, rows, id
        self.expect: deque[tuple[int, list[int], int]] = deque()  # id, rows, response
        self.asks: deque[int] = deque()  # slots
        self.wanted: dict[int, Wanted] = {}
        self.order: list[int] = []  # of the slots that may go
        self.later: deque[Wanted] = deque()  # Writes and flushes that have no slot yet
        self.ending: dict[int, Wanted] = {}  # Writes that went, flushes
        self.forget = False
        self.aborted: set[int] = set()  # slots
        self.got: list[int] = []
        self.aw: deque[tuple[int, int]] = deque()
        self.w: deque[tuple[int, int, int]] = deque()  # data, strobes, last
        self.responses: deque[int] = deque()
        self.media: deque[dict[str, int]] = deque()
        self.answers: deque[int] = deque()
        self.card_rows: deque[tuple[int, int]] = deque()
        self.card_aw: deque[int] = deque()
        self.card_at = 0
        self.card_b = 0
        self.card_answer = False
        self.rate = 1.0
        self.w_on = False
        self.card_on = False
        self.give = [False] * self.num

    async def start(self, table: list[Extent | None] | None = None) -> None:
        d = self.dut
        cocotb.start_soon(Clock(d.clk, 4, unit="ns").start())
        for name in ("s_ahead_valid", "s_ahead", "s_ahead_rst"):
            getattr(d, name).value = 0
        for name in ("s_axi_read_req", "s_axi_arid", "s_axi_write_req", "s_cmd_valid", "s_cmd", "m_card_read_rsp",
                     "m_card_write_rsp", "m_card_cmd_ready", "s_card_rsp_valid", "s_card_rsp_err", "m_cmd_ready",
                     "m_row_ready", "s_row_valid", "s_row_data", "s_row_err", "s_status_valid",
                     "s_status", "s_ext", "s_aborted"):  # fmt: skip
            getattr(d, name).value = 0
        d.ssd_pages.value = PAGES
        d.rst.value = 1
        for _ in range(4):
            await FallingEdge(d.clk)
        d.rst.value = 0
        self.table = usual() if table is None else table
        while await self.register(0x10C) & 1:
            pass
        assert await self.register(0x100) == GRANULE_LOG2 | LOG2 << 8 | int(STRIPE) << 12 | EACH << 16
        for g, e in enumerate(self.table):
            assert await self.put(g, e)

    # ---- the firmware
    async def bus(self, addr: int, data: int | None = None) -> int:
        d = self.dut
        fields = {"addr": addr, "wdata": data or 0, "wr": int(data is not None)}
        for req in (0, 1):
            d.s_ext.value = EXT.pack(fields | {"req": req})
            await RisingEdge(d.clk)
            value = int(d.m_ext_rdata.value)
            await FallingEdge(d.clk)
        d.s_ext.value = 0
        return value

    async def register(self, addr: int) -> int:
        return await self.bus(addr)

    async def ask(self, granule: int, op: int) -> bool:
        """True: not refused."""
        await self.bus(0x108, granule | op << 16 | 1 << 31)
        while (status := await self.register(0x10C)) & 1:
            pass
        return not status & 2

    async def put(self, granule: int, e: Extent | None) -> bool:
        if e is None:
            return await self.ask(granule, RELEASE)
        await self.bus(0x104, e.word())
        return await self.ask(granule, PUT)

    async def look(self, granule: int) -> Extent | None:
        assert await self.ask(granule, LOOK)
        return self.extent_of(await self.register(0x110))

    @staticmethod
    def extent_of(word: int) -> Extent | None:
        return Extent(word & 0xFFFF, word >> 16 & 7, word >> 20 & 7, word >> 24 & 3) if word >> 31 else None

    def where(self, addr: int) -> tuple[int | None, int]:
        """SSD and byte on it of an address; None: the card. SSD -1: nowhere."""
        if addr >= NUM * PAGES * PAGE:
            return None, addr
        granule, at = divmod(addr, GRANULE)
        e = self.table[granule] if granule < len(self.table) else None
        if e is None:
            return -1, 0
        chunk, rest = divmod(at, CHUNK)
        ssds = 1 << e.log2
        inside = e.part * (GRANULE // ssds) + chunk // ssds * CHUNK + rest
        return e.ssd + chunk % ssds, e.place * GRANULE + inside

    # ---- what is asked
    def answer(self, ssd: int, at: int, size: int) -> int:
        """To an access of that place."""
        if ssd < 0:
            return BAD
        s = self.ssds[ssd]
        blocks = range(at >> s.shift, (at + size - 1 >> s.shift) + 1)
        unfit = (at | size) & (1 << s.shift) - 1
        return BAD if not self.present >> ssd & 1 or unfit or s.fails.intersection(blocks) else GOOD

    def read(self, addr: int, size: int, rid: int = 0) -> None:
        ssd, at = self.where(addr)
        self.ar.append((addr, size // ROW, rid))
        if ssd is None:
            rows, resp = [self.card.get(at // ROW + i, 0) for i in range(size // ROW)], GOOD
        else:
            rows = [self.ssds[ssd].data.get(at // ROW + i, 0) if ssd >= 0 else 0 for i in range(size // ROW)]
            resp = self.answer(ssd, at, size)
        self.expect.append((rid, rows if resp == GOOD else [0] * len(rows), resp))

    def want(self, addr: int, size: int, compare: bool = False) -> int:
        """A command that reads; it does so when it may. Its slot."""
        return self.ask_for(Wanted(addr, size, "COMPARE" if compare else "READ"))

    def ask_for(self, w: Wanted) -> int:
        slot = next(s for s in range(SLOTS) if s not in self.wanted and s not in self.ending)
        (self.ending if w.kind in ("FLUSH", "ZERO") else self.wanted)[slot] = w
        self.asks.append(slot)
        return slot

    def asked(self, slot: int) -> Wanted:
        return self.wanted[slot] if slot in self.wanted else self.ending[slot]

    def let(self, slot: int) -> None:
        """It reads or writes now, a page at a time."""
        w = self.wanted.pop(slot)
        self.order.append(slot)
        if w.kind == "WRITE":
            self.ending[slot] = w
        at = w.addr
        while at < w.addr + w.size:
            n = min(PAGE - at % PAGE, w.addr + w.size - at)
            if w.kind == "WRITE":
                self.burst(at, w.rows[(at - w.addr) // ROW : (at - w.addr + n) // ROW], w.full)
            else:
                self.read(at, n, int(w.kind == "COMPARE"))
            at += n

    def burst(self, at: int, rows: list[int], full: bool) -> None:
        """It is answered when its rows have been taken, whatever becomes of it."""
        self.aw.append((at, len(rows)))
        self.w.extend((r, FULL if full else 0, int(i == len(rows) - 1)) for i, r in enumerate(rows))
        self.responses.append(GOOD)

    def ended(self, slot: int, err: int) -> None:
        w = self.ending.pop(slot)
        assert err == w.err, (w.kind, w.addr, w.size)

    def reset(self) -> None:
        """The controller's, when it has had all that it had begun to read, and written what it had begun to."""
        assert not any((self.ar, self.expect, self.aw, self.w, self.responses))
        self.forget = True
        for waits in (self.asks, self.later, self.wanted, self.ending):
            waits.clear()

    def write(self, addr: int, size: int, full: bool = True, fua: bool = False) -> list[int]:
        """A Write, when it has a slot and may; of the card's memory at once. The rows that will be there."""
        rows = [self.rng.getrandbits(DATA_W) for _ in range(size // ROW)]
        if self.where(addr)[0] is None:
            self.burst(addr, rows, full)
            return rows
        pages = range(addr // PAGE, (addr + size - 1) // PAGE + 1)
        ends = [(max(addr, p * PAGE), min(addr + size, (p + 1) * PAGE)) for p in pages]
        bad = full and any(self.answer(*self.where(at), end - at) == BAD for at, end in ends)
        self.later.append(Wanted(addr, size, "WRITE", rows, full, fua, int(bad)))
        return rows

    def flush(self, addr: int = 0, size: int = 0, err: int = 0) -> None:
        """Of the namespace that lies there; of all."""
        self.later.append(Wanted(addr, size, "FLUSH", err=err))

    def zero(self, addr: int, size: int, fua: bool = False, err: int = 0) -> None:
        self.later.append(Wanted(addr, size, "ZERO", fua=fua, err=err))

    def command(self, op: int, addr: int, size: int, error: int) -> None:
        self.media.append({"op": op, "addr": addr, "bytes": size})
        self.answers.append(error)

    # ---- a cycle
    async def step(self) -> None:
        d, rng, n = self.dut, self.rng, range(self.num)

        def yes() -> bool:
            return rng.random() < self.rate

        states = [
            SSD_STATE.pack(present=self.present >> i & 1, up=self.up >> i & 1, dead=self.dead >> i & 1,
                           lba_shift=s.shift if (self.up | self.dead) >> i & 1 else 0)
            for i, s in enumerate(self.ssds)
        ]  # fmt: skip
        d.ssd.value = sum(s << i * SSD_STATE.width for i, s in enumerate(states))
        ar = self.ar[0] if self.ar else (0, 1, 0)
        r_ready = yes()
        d.s_axi_read_req.value = READ_REQ.pack(
            ar_valid=int(bool(self.ar)), ar={"addr": ar[0], "len": ar[1] - 1}, r_ready=int(r_ready)
        )
        d.s_axi_arid.value = ar[2]
        aw = self.aw[0] if self.aw else (0, 1)
        self.w_on = bool(self.w) and (self.w_on or yes())  # a valid stays
        w = self.w[0] if self.w_on else None
        b_ready = yes()
        d.s_axi_write_req.value = WRITE_REQ.pack(
            aw_valid=int(bool(self.aw)), aw={"addr": aw[0], "len": aw[1] - 1}, b_ready=int(b_ready),
            w_valid=int(w is not None), w={"data": w[0], "strb": w[1], "last": w[2]} if w else 0,
        )  # fmt: skip
        while self.later and len(self.wanted) + len(self.ending) < SLOTS:
            self.ask_for(self.later.popleft())
        d.s_ahead_valid.value = int(bool(self.asks) and not self.forget)
        if self.asks:
            asked = self.asked(self.asks[0])
            d.s_ahead.value = AHEAD.pack(slot=self.asks[0], kind=KIND[f"AHEAD_{asked.kind}"], fua=int(asked.fua),
                                         addr=asked.addr, bytes=asked.size)  # fmt: skip
        d.s_ahead_rst.value = int(self.forget)
        forgotten, self.forget = self.forget, False
        d.s_cmd_valid.value = int(bool(self.media))
        d.s_cmd.value = MEDIA_CMD.pack(self.media[0]) if self.media else 0
        self.card_on = bool(self.card_rows) and (self.card_on or yes())
        card_row = self.card_rows[0] if self.card_on else None
        d.m_card_read_rsp.value = READ_RSP.pack(
            ar_ready=1, r_valid=int(card_row is not None),
            r={"data": card_row[0], "last": card_row[1]} if card_row else 0,
        )  # fmt: skip
        d.m_card_write_rsp.value = WRITE_RSP.pack(aw_ready=1, w_ready=1, b_valid=int(self.card_b > 0), b=GOOD)
        d.m_card_cmd_ready.value = 1
        d.s_card_rsp_valid.value = int(self.card_answer)
        self.card_answer = False
        take = [yes() for _ in n]
        into = [yes() for _ in n]
        give = self.give = [bool(s.rows) and (g or yes()) for s, g in zip(self.ssds, self.give)]
        ends = [bool(s.statuses) and yes() for s in self.ssds]
        d.m_cmd_ready.value = sum(t << i for i, t in enumerate(take))
        d.m_row_ready.value = sum(t << i for i, t in enumerate(into))
        d.s_row_valid.value = sum(g << i for i, g in enumerate(give))
        d.s_row_data.value = sum(s.rows[0][0] << i * DATA_W for i, s in enumerate(self.ssds) if give[i])
        d.s_row_err.value = sum(s.rows[0][1] << i for i, s in enumerate(self.ssds) if give[i])
        d.s_status_valid.value = sum(e << i for i, e in enumerate(ends))
        d.s_status.value = sum(
            STATUS.pack(tag=s.statuses[0][0], status=s.statuses[0][1]) << i * STATUS.width
            for i, s in enumerate(self.ssds)
            if ends[i]
        )
        d.s_aborted.value = int(int(d.m_ask_slot.value) in self.aborted)
        await RisingEdge(d.clk)
        rsp, wsp = READ_RSP.unpack(int(d.s_axi_read_rsp.value)), WRITE_RSP.unpack(int(d.s_axi_write_rsp.value))
        if self.ar and rsp["ar_ready"]:
            self.ar.popleft()
        if rsp["r_valid"] and r_ready:
            self.take_row(rsp["r"], int(d.s_axi_rid.value))
        if self.asks and d.s_ahead_ready.value and not forgotten:
            self.asks.popleft()
        if self.aw and wsp["aw_ready"]:
            self.aw.popleft()
        if w is not None and wsp["w_ready"]:
            self.w.popleft()
            self.w_on = False
        if wsp["b_valid"] and b_ready:
            assert wsp["b"] == self.responses.popleft()
        if d.m_come_valid.value and not forgotten:
            self.let(int(d.m_come_slot.value))
        if d.m_ended_valid.value and not forgotten:
            self.ended(int(d.m_ended_slot.value), int(d.m_ended_err.value))
        if self.media and d.s_cmd_ready.value:
            self.media.popleft()
        if d.m_rsp_valid.value:
            assert int(d.m_rsp_err.value) == self.answers.popleft()
        # the card's memory
        request, write = READ_REQ.unpack(int(d.m_card_read_req.value)), WRITE_REQ.unpack(int(d.m_card_write_req.value))
        if card_row is not None and request["r_ready"]:
            self.card_rows.popleft()
            self.card_on = False
        if request["ar_valid"]:
            first, rows = request["ar"]["addr"] // ROW, request["ar"]["len"] + 1
            self.card_rows.extend((self.card.get(first + i, 0), int(i == rows - 1)) for i in range(rows))
        if self.card_b and write["b_ready"]:
            self.card_b -= 1
        if write["aw_valid"]:
            self.card_aw.append(write["aw"]["addr"] // ROW)
        if write["w_valid"]:
            self.card[self.card_aw[0] + self.card_at] = write["w"]["data"]
            self.card_at += 1
            if write["w"]["last"]:
                self.card_aw.popleft()
                self.card_at = 0
                self.card_b += 1
        if d.m_card_cmd_valid.value:
            assert MEDIA_CMD.unpack(int(d.m_card_cmd.value))["op"] == FLUSH
            self.card_answer = True
        # the SSDs
        valid, rows_in = int(d.m_cmd_valid.value), int(d.m_row_valid.value)
        row_ready = int(d.s_row_ready.value)
        commands = int(d.m_cmd.value)
        for i, s in enumerate(self.ssds):
            if ends[i]:
                s.statuses.popleft()
            if give[i] and row_ready >> i & 1:
                s.rows.popleft()
                self.give[i] = False
            if valid >> i & 1 and take[i]:
                s.commands.append(BLOCK_CMD.unpack(commands >> i * BLOCK_CMD.width & (1 << BLOCK_CMD.width) - 1))
            if rows_in >> i & 1 and into[i]:
                s.incoming.append(int(d.m_row_data.value))
            s.work()
        await FallingEdge(d.clk)

    def take_row(self, r: dict[str, int], rid: int) -> None:
        who, rows, resp = self.expect[0]
        assert (rid, r["resp"]) == (who, resp)
        assert r["data"] == rows[len(self.got)], "another row"
        self.got.append(r["data"])
        assert bool(r["last"]) == (len(self.got) == len(rows))
        if r["last"]:
            self.expect.popleft()
            self.got = []

    def busy(self) -> bool:
        if any((*s.commands, *s.rows, *s.statuses) for s in self.ssds if not s.stuck):
            return True
        return any((self.ar, self.expect, self.wanted, self.aw, self.w, self.responses, self.media, self.answers,
                    self.later, self.ending))  # fmt: skip

    async def settle(self, cycles: int = 40_000) -> None:
        for _ in range(cycles):
            await self.step()
            if not self.busy():
                for _ in range(20):
                    await self.step()
                assert self.dut.idle.value == 1
                assert not any((*s.commands, *s.rows, *s.statuses, *s.incoming) for s in self.ssds)
                return
        left = {
            "ahead": self.wanted,
            "ends": self.ending,
            "AR": self.ar,
            "R": self.expect,
            "AW": self.aw,
            "W": self.w,
            "B": self.responses,
        }
        raise AssertionError(f"does not end: {[f'{len(q)} {name}' for name, q in left.items()]} {self.media}")

    def page(self) -> int:
        return self.rng.choice(self.pages()) * PAGE

    def pages(self) -> list[int]:
        """Those that are somewhere, and the card's."""
        used = [p for p in range(NUM * PAGES) if self.where(p * PAGE)[0] != -1]
        return [*used, *range(NUM * PAGES, NUM * PAGES + 32)]


@cocotb.test()
async def what_is_written_is_read(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    for rate in (1.0, 0.3):
        b.rate = rate
        pages = [*b.rng.sample([p for p in b.pages() if p < NUM * PAGES], 26), *range(NUM * PAGES, NUM * PAGES + 4)]
        content: dict[int, list[int]] = {}
        for p in pages:
            size = b.rng.choice((512, 1024, PAGE))
            at = p * PAGE + b.rng.randrange(PAGE // size) * size
            full = b.rng.random() < 0.8
            before = dict(content)
            content[at] = b.write(at, size, full)
            if not full:
                content = before
        await b.settle()
        for at, rows in content.items():
            ssd, place = b.where(at)
            store = b.card if ssd is None else b.ssds[ssd].data
            assert [store[place // ROW + i] for i in range(len(rows))] == rows, "it is not where it should be"
        for p in b.rng.sample(pages, 30):
            size = b.rng.choice((512, 1024, PAGE))
            at = p * PAGE + b.rng.randrange(PAGE // size) * size
            if p >= b.num * PAGES:
                b.read(at, size, 1)  # the settings area: the firmware's
            else:
                while len(b.wanted) + len(b.ending) == SLOTS:
                    await b.step()
                b.want(at, size, b.rng.random() < 0.2)
        await b.settle()


@cocotb.test()
async def errors_are_those_of_their_burst(dut: Any) -> None:
    b = Bench(dut, 2)
    await b.start()
    for s in b.ssds:
        s.fails.update(b.rng.sample(range(PAGES * 8), PAGES))
    if b.num > 1:
        b.present = b.up = b.present & ~2  # the second is not there
    b.rate = 0.7
    for p in b.rng.sample(range(NUM * PAGES + 32), 60):
        b.write(p * PAGE, 1024, b.rng.random() < 0.9)
        await b.settle()
        if p < b.num * PAGES:
            b.want(p * PAGE, 1024)
        else:
            b.read(p * PAGE, 1024)
    await b.settle()


@cocotb.test()
async def large_blocks_take_what_fits_alone(dut: Any) -> None:
    """Of an SSD with blocks of 4 KiB: bursts that are less are refused, and nothing is written."""
    b = Bench(dut, 3)
    await b.start()
    for s in b.ssds:
        s.shift = 12
    for p in b.rng.sample(range(NUM * EACH * GRANULE // PAGE), 20):
        for at, size in ((0, PAGE), (1024, 1024), (0, 512)):
            b.write(p * PAGE + at, size)
            await b.settle()
            b.want(p * PAGE + at, size)
            b.want(p * PAGE, PAGE)
            await b.settle()


@cocotb.test()
async def who_is_on_his_way_up_is_waited_for(dut: Any) -> None:
    b = Bench(dut, 4)
    await b.start()
    b.up = 0
    b.want(0, PAGE)
    b.write(PAGE, PAGE)
    for _ in range(300):
        await b.step()
    assert len(b.wanted) == 2 and not b.aw and not any(s.ops for s in b.ssds)
    b.up = b.present
    await b.settle()
    if b.num > 1:  # one of them alone: the others' commands pass, also what was put aside goes when its time has come
        b.up &= ~1
        late = [b.want(where_first(b, 0) + i * PAGE, PAGE) for i in range(6)]
        b.order.clear()
        others = [b.want(where_first(b, 1) + i * PAGE, PAGE) for i in range(6)]
        for _ in range(3000):
            await b.step()
        assert sorted(b.order) == others and sorted(b.wanted) == late
        b.up = b.present
        await b.settle()


@cocotb.test()
async def flush_and_zero(dut: Any) -> None:
    b = Bench(dut, 5)
    await b.start()
    await flushes_and_zeroes(b, usual(), 12)
    b.command(UNCORRECTABLE, 0, 512, 1)
    await b.settle()
    if NUM > 1:
        b.present = b.up = 1
        b.command(FLUSH, 0, 0, 0)
        b.command(ZERO, 0, NUM * EACH * GRANULE, 1)
        await b.settle()


async def flushes_and_zeroes(b: Bench, table: list[Extent | None], turns: int) -> None:
    """Stretches of the medium are zeros, whatever they have of granules and chunks; nothing else is. Of the firmware,
    which has all zeroed that is somewhere, and of hosts, of whom several have theirs zeroed at once."""
    end = len(table) * GRANULE // 512
    for s in b.ssds:
        s.data.clear()
        for row in range(0, PAGES * PAGE // ROW, 512 // ROW):
            s.data[row] = row + 1  # of each block
    b.command(FLUSH, 0, 0, 0)
    await b.settle()
    assert all(s.ops.count("BLOCK_FLUSH") == 1 for s in b.ssds)
    for _ in range(turns):
        first = b.rng.randrange(end)
        blocks = b.rng.choice([1, b.rng.randrange(1, end - first + 1), min(end - first, GRANULE // 512)])
        want = [dict(s.data) for s in b.ssds]
        nowhere = False
        for block in range(first, first + blocks):
            ssd, at = b.where(block * 512)
            assert ssd is not None
            nowhere |= ssd < 0
            if ssd >= 0:
                want[ssd].pop(at // ROW, None)
        if b.rng.random() < 0.5:
            b.command(ZERO, first * 512, blocks * 512, int(nowhere))
            await b.settle()
        else:
            cuts = sorted({0, blocks, *(b.rng.randrange(blocks) for _ in range(b.rng.randrange(4)))})
            for x, y in zip(cuts, cuts[1:]):
                part = [b.where(block * 512)[0] for block in range(first + x, first + y)]
                b.zero((first + x) * 512, (y - x) * 512, b.rng.random() < 0.5, int(-1 in part))
            await b.settle()
        if not nowhere:
            assert want == [s.data for s in b.ssds], "another stretch"
        assert all(s.data.items() >= w.items() for s, w in zip(b.ssds, want)), "more than the stretch"
        for s, w in zip(b.ssds, want):
            s.data = dict(w)


def shuffled(rng: random.Random) -> list[Extent | None]:
    """Granules anywhere, on one SSD or on several, some nowhere."""
    table: list[Extent | None] = [None] * (NUM * EACH)
    taken: set[tuple[int, int, int]] = set()
    for g in rng.sample(range(len(table)), len(table)):
        log2 = rng.randrange(LOG2 + 1)
        for _ in range(20):
            e = Extent(rng.randrange(EACH), rng.randrange(NUM >> log2) << log2, rng.randrange(1 << log2), log2)
            if not taken & e.eighths():
                table[g] = e
                taken |= e.eighths()
                break
    return table


@cocotb.test()
async def granules_anywhere(dut: Any) -> None:
    for seed in (1,) if NUM > 1 else (1, 2):
        b = Bench(dut, 8 + seed)
        table = shuffled(b.rng)
        await b.start(table)
        for p in b.rng.sample(range(NUM * EACH * GRANULE // PAGE), 50):
            b.write(p * PAGE, 1024)
        await b.settle()
        for p in b.rng.sample(range(NUM * EACH * GRANULE // PAGE), 50):
            while len(b.wanted) + len(b.ending) == SLOTS:
                await b.step()
            b.want(p * PAGE, 1024)
        await b.settle()
        await flushes_and_zeroes(b, table, 6)


@cocotb.test()
async def no_two_granules_are_at_one_place(dut: Any) -> None:
    """The hardware refuses what is taken and what is no place, and finds the first that is free; random requests
    against a list of eighths."""
    b = Bench(dut, 11)
    rng = b.rng
    await b.start([None] * (NUM * EACH))
    there: dict[int, Extent] = {}
    refused = 0
    for _ in range(500):
        g, op = rng.randrange(NUM * EACH + 1), rng.choice([LOOK, RELEASE, PUT, PUT, FIND, FIND])
        log2 = rng.randrange(4)
        e = Extent(rng.randrange(EACH + 1), rng.randrange(8), rng.randrange(8), log2)
        if rng.random() < 0.8:
            log2 = rng.randrange(LOG2 + 1)
            e = Extent(rng.randrange(EACH), rng.randrange(NUM >> log2) << log2, rng.randrange(1 << log2), log2)
        shape = e.ssd < NUM and log2 <= LOG2 and e.ssd % (1 << log2) == 0 and e.part < 1 << log2
        await b.bus(0x104, e.word())
        good = await b.ask(g, op)
        if g == NUM * EACH:
            assert not good
            continue
        if op != LOOK:
            there.pop(g, None)
        taken = {x for o in there.values() for x in o.eighths()}
        if op == PUT:
            assert good == (shape and e.place < EACH and not taken & e.eighths())
            if good:
                there[g] = e
        if op == FIND:
            free = [
                f for place in range(EACH) for part in range(1 << log2)
                if not taken & (f := Extent(place, e.ssd, part, log2)).eighths()
            ]  # fmt: skip
            assert good == (shape and bool(free))
            if good:
                there[g] = free[0]
                assert b.extent_of(await b.register(0x110)) == free[0]
        refused += not good
        h = rng.randrange(NUM * EACH)
        assert await b.look(h) == there.get(h)
    assert refused > 50


def where_first(b: Bench, ssd: int) -> int:
    """The first byte of the media that is on an SSD."""
    return ssd * (CHUNK if STRIPE else EACH * GRANULE)


SPAN = 160
"""Pages that tests of large commands use: on several SSDs."""
FROM = 0 if STRIPE or NUM == 1 else EACH * GRANULE // PAGE - SPAN // 2
"""The first of them."""


@cocotb.test()
async def reads_of_any_size(dut: Any) -> None:
    """Also over several SSDs, and larger than a ring; Compares between them."""
    b = Bench(dut, 8)
    await b.start()
    for p in range(FROM, FROM + SPAN):
        b.write(p * PAGE, PAGE)
    await b.settle(200_000)
    last = (FROM + SPAN) * 8
    for rate in (1.0, 0.4):
        b.rate = rate
        for size in (*(b.rng.choice((8, 17, 64, 130, 300)) for _ in range(bench.rounds(8, 2))), 600):
            while len(b.wanted) + len(b.ending) == SLOTS:
                await b.step()
            b.want(b.rng.randrange(FROM * 8, last - size) * 512, size * 512, b.rng.random() < 0.2)
        await b.settle(200_000)
    assert max(s.largest for s in b.ssds) > PAGE // 512, "a page is not an SSD's command"


@cocotb.test()
async def an_ssd_that_answers_nothing_is_waited_for_by_its_own(dut: Any) -> None:
    b = Bench(dut, 9)
    await b.start()
    if b.num == 1:
        return
    for ssd in (0, 1):
        for i in range(8):
            b.write(where_first(b, ssd) + i * PAGE, PAGE)
    await b.settle()
    b.ssds[1].stuck = True
    mine = [b.want(where_first(b, 1) + i * PAGE, PAGE, i == 3) for i in range(8)]
    b.order.clear()
    for i in range(40):
        while sum(s not in mine for s in b.wanted) > 3:
            await b.step()
        b.want(where_first(b, 0) + i % 8 * PAGE, PAGE, i % 9 == 5)
    while any(s not in mine for s in b.wanted) or b.expect:
        await b.step()
    assert len(b.order) == 40 and set(b.wanted) == set(mine)
    # a reset now: it is not waited for, and what it has reaches nobody when it wakes up
    b.reset()
    await b.step()
    b.order.clear()
    after = [b.want(where_first(b, 1) + 7 * PAGE, PAGE), b.want(where_first(b, 0), PAGE)]
    for _ in range(500):
        await b.step()
    assert b.order == after[1:]
    b.reset()
    b.want(where_first(b, 1) + 5 * PAGE, PAGE)
    for _ in range(50):
        await b.step()
    b.ssds[1].stuck = False
    await b.settle()


@cocotb.test()
async def an_ssd_that_takes_nothing_holds_up_its_own_writes(dut: Any) -> None:
    """And flushes: of the other, more is written than the rings have room for, with FUA, and it ends."""
    b = Bench(dut, 11)
    await b.start()
    if b.num == 1:
        return
    b.ssds[1].stuck = True
    for _ in range(20):
        b.write(where_first(b, 1), PAGE)
    b.flush(where_first(b, 1) // GRANULE * GRANULE, 512)
    for _ in range(2000):
        await b.step()
    stuck = len(b.wanted) + len(b.ending)
    assert (stuck, len(b.wanted)) == (21, 4), "it is given what its ring has room for"
    for i in range(40):
        while b.later or len(b.wanted) + len(b.ending) > stuck + 3:
            await b.step()
        b.write(where_first(b, 0) + i % 8 * PAGE, PAGE, fua=i % 5 == 0)
    for _ in range(60_000):
        if not b.later and len(b.wanted) + len(b.ending) == stuck and not b.responses:
            break
        await b.step()
    assert len(b.wanted) + len(b.ending) == stuck, "they wait for the other SSD"
    assert b.ssds[0].ops.count("BLOCK_FLUSH") >= 8
    b.ssds[1].stuck = False
    await b.settle()


@cocotb.test()
async def zeroes_of_hosts_wait_for_their_own_ssd(dut: Any) -> None:
    """With FUA a flush follows, of the SSDs that had part of it. An SSD that answers nothing keeps back what is on it
    alone; one that is not there is an error, one that is being brought up is waited for; what has been aborted ends."""
    b = Bench(dut, 14)
    await b.start()
    for s in b.ssds:
        s.data = {row: row + 1 for row in range(0, PAGES * PAGE // ROW, 16)}
    home = [where_first(b, i) for i in range(b.num)]
    for i in range(b.num):
        b.zero(home[i] + PAGE, 3 * PAGE, fua=i == 0)
    await b.settle()
    assert [s.ops for s in b.ssds] == [["BLOCK_ZEROES", "BLOCK_FLUSH"]] + [["BLOCK_ZEROES"]] * (b.num - 1)
    b.up &= ~1
    b.zero(home[0], PAGE)
    for _ in range(500):
        await b.step()
    assert len(b.ending) == 1 and b.ssds[0].commands == deque()
    b.aborted.update(b.ending)  # it ends, and is no error of the media
    await b.settle()
    b.aborted.clear()
    b.up = b.present
    assert b.ssds[0].ops == ["BLOCK_ZEROES", "BLOCK_FLUSH"] and b.ssds[0].data
    if b.num == 1:
        return
    b.ssds[1].stuck = True
    for _ in range(12):
        b.zero(home[1], 2 * PAGE)
    for i in range(30):
        b.zero(home[0] + i % 4 * PAGE, PAGE, fua=i % 3 == 0)
        b.write(home[0] + 8 * PAGE, PAGE)
        while b.later or len(b.wanted) + len(b.ending) > 12 + 3:
            await b.step()
    while len(b.wanted) + len(b.ending) > 12 or b.responses:
        await b.step()
    assert all(w.addr == home[1] for w in b.ending.values())
    # a reset now: what the SSD has is done before what comes after it
    b.reset()
    await b.step()
    rows = b.write(home[1], PAGE)
    for _ in range(200):
        await b.step()
    b.ssds[1].stuck = False
    await b.settle()
    ssd, at = b.where(home[1])
    assert ssd == 1 and [b.ssds[1].data[at // ROW + i] for i in range(PAGE // ROW)] == rows
    b.present = b.up = 1
    b.zero(home[1], PAGE, err=1)
    await b.settle()


@cocotb.test()
async def flushes_reach_the_ssds_of_their_namespace(dut: Any) -> None:
    """Whatever its granules lie on, nothing of the others; if one of them is not there, it fails."""
    for seed in range(bench.rounds(4, 1)):
        b = Bench(dut, 12 + seed)
        table = shuffled(b.rng)
        await b.start(table)
        for _ in range(12):
            first = b.rng.randrange(len(table))
            end = b.rng.randint(first + 1, len(table))
            for s in b.ssds:
                s.ops.clear()
            wanted = {s for e in table[first:end] if e for s, _, _ in e.eighths()}
            away = b.rng.randrange(2 * b.num)  # often nobody
            b.present = b.up = (1 << b.num) - 1 & ~(1 << away)
            b.flush(first * GRANULE, (end - first) * GRANULE, int(away in wanted))
            await b.settle()
            assert {i for i, s in enumerate(b.ssds) if s.ops} == wanted - {away}, (first, end)
            assert all(s.ops in ([], ["BLOCK_FLUSH"]) for s in b.ssds)
        b.present = b.up = (1 << b.num) - 1
        b.flush()
        await b.settle()
        assert all(s.ops[-1:] == ["BLOCK_FLUSH"] for s in b.ssds)


@cocotb.test()
async def resets_at_any_time(dut: Any) -> None:
    b = Bench(dut, 10)
    await b.start()
    for p in range(FROM, FROM + SPAN):
        b.write(p * PAGE, PAGE)
    await b.settle(200_000)
    b.rate = 0.6
    for _ in range(bench.rounds(16, 4)):
        for _ in range(b.rng.randrange(1, 12)):
            size = b.rng.choice((8, 8, 8, 64, 300))
            b.want(b.rng.randrange(FROM * 8, (FROM + SPAN) * 8 - size) * 512, size * 512, b.rng.random() < 0.1)
        for _ in range(b.rng.randrange(6)):
            b.write((FROM + SPAN + b.rng.randrange(8)) * PAGE, PAGE)  # where nothing is read
        for _ in range(b.rng.randrange(4)):
            b.zero((FROM + SPAN) * PAGE, b.rng.randrange(1, 32) * PAGE, b.rng.random() < 0.5)
        if b.num > 1:
            b.ssds[b.rng.randrange(b.num)].stuck = b.rng.random() < 0.3
        for _ in range(b.rng.randrange(400)):
            await b.step()
        while b.ar or b.expect or b.aw or b.w or b.responses:  # the controller ends what it has begun
            await b.step()
        b.reset()
        for _ in range(b.rng.randrange(1, 3)):
            await b.step()
    for s in b.ssds:
        s.stuck = False
    await b.settle()


@cocotb.test()
async def latencies(dut: Any) -> None:
    """rtl/virt/README.md: 3 cycles from an address to the SSD's command and, of a Write, to its first row; 9 from a
    command that will read to the SSD's; 15 until a Write may go; an address every 3 cycles."""
    b = Bench(dut, 7)
    await b.start()
    for _ in range(4):
        await b.step()
    d = dut

    async def until(condition: Callable[[], bool]) -> int:
        for n in range(40):
            if condition():
                return n
            await b.step()
        raise AssertionError("never")

    b.write(0, 1024)
    assert await until(lambda: bool(b.aw)) == 15
    assert await until(lambda: bool(int(d.m_cmd_valid.value) & 1)) == 3
    await b.settle()
    b.write(0, 1024)
    await until(lambda: bool(b.aw))
    assert await until(lambda: bool(int(d.m_row_valid.value) & 1)) == 3
    await b.settle()
    b.want(0, 1024)
    assert await until(lambda: bool(int(d.m_cmd_valid.value) & 1)) == 9
    await b.settle()
    b.want(0, 4 * PAGE)
    while not b.ar:
        await b.step()
    at = [0]
    while len(at) < 5:
        left = len(b.ar)
        await b.step()
        at[0] += 1
        at.extend([at[0]] * (left - len(b.ar)))
    assert [y - x for x, y in zip(at[1:], at[2:])] == [3, 3, 3]
    await b.settle()


@cocotb.test()
async def bursts_follow_each_other(dut: Any) -> None:
    """Rows leave an SSD that has them without a pause: 8 commands of 4 KiB take a cycle a row, and few more each."""
    b = Bench(dut, 6)
    await b.start()
    for i in range(16):
        b.want(i * PAGE, PAGE)
    while len(b.order) - len(b.expect) < 4:
        await b.step()
    start = 0
    while len(b.order) - len(b.expect) < 12:
        await b.step()
        start += 1
    assert start <= 8 * (PAGE // ROW) + 8
    await b.settle()


@pytest.mark.parametrize(("num", "stripe"), [(4, 1), bench.rare(1, 0), bench.rare(2, 0)])
def test_db_virt_media(num: int, stripe: int) -> None:
    registers = build.regs() / "rtl"
    bench.run(
        __file__,
        "db_virt_media",
        {
            "DATA_W": DATA_W,
            "ADDR_W": ADDR_W,
            "NUM_SSD": num,
            "STRIPE": stripe,
            "EXTENTS": 64,
            "GRANULE_LOG2": 17 + max(num.bit_length() - 1, 1),
            "NUM_CMDS": SLOTS,
            "RD_RING_BYTES": 65536,
            "WR_RING_BYTES": 65536,
        },
        extra_sources=(registers / "db_vcsd_regs_pkg.sv", registers / "db_vcsd_regs.sv"),
        env={"NUM_SSD": str(num), "STRIPE": str(stripe)},
    )
