# SPDX-License-Identifier: Apache-2.0
"""What the tests of db_virt_media share: a card around it, the SSDs of virt_media_ssds.py, and who wants what."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import cocotb
from axi_model import FLUSH, MEDIA_CMD, axi_struct
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge
from structs import layout
from virt_media_ssds import (
    ADDR_W,
    AHEAD,
    BLOCK_CMD,
    CHUNK,
    DATA_W,
    EACH,
    GRANULE,
    GRANULE_LOG2,
    KIND,
    LOG2,
    NUM,
    PAGE,
    PAGES,
    ROW,
    SLOTS,
    STATUS,
    STRIPE,
    Extent,
    Ssd,
    ssd_states,
    usual,
)

READ_REQ, READ_RSP = axi_struct("READ_REQ", ADDR_W), axi_struct("READ_RSP", DATA_W)
WRITE_REQ, WRITE_RSP = axi_struct("WRITE_REQ", ADDR_W, DATA_W), axi_struct("WRITE_RSP")
EXT = layout("db_ssd_pkg", "ext_bus_t")
LOOK, RELEASE, PUT, FIND = range(4)
FULL = (1 << ROW) - 1
GOOD, BAD = 0, 2


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
        self.card_w: deque[dict[str, int]] = deque()
        self.card_at = 0
        self.card_b = 0
        self.card_answer = False
        self.card_rows_first = False  # it takes an address when it has a row, as a slave may do it
        self.card_offer: dict[str, int] | None = None  # an address that it has not taken
        self.rate = 1.0
        self.w_on = False
        self.card_on = False
        self.give = [False] * self.num
        self.still = False  # it was idle, and had no input, a cycle ago

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
        return e.spot(at)

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

        d.ssd.value = ssd_states(self.present, self.up, self.dead, [s.shift for s in self.ssds])
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
        card_ar, card_aw, card_w, card_cmd = (yes() for _ in range(4))
        card_aw &= not self.card_rows_first or bool(self.card_w)
        d.m_card_read_rsp.value = READ_RSP.pack(
            ar_ready=int(card_ar), r_valid=int(card_row is not None),
            r={"data": card_row[0], "last": card_row[1]} if card_row else 0,
        )  # fmt: skip
        d.m_card_write_rsp.value = WRITE_RSP.pack(
            aw_ready=int(card_aw), w_ready=int(card_w), b_valid=int(self.card_b > 0), b=GOOD
        )
        d.m_card_cmd_ready.value = int(card_cmd)
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
        inputs = (self.ar, self.aw, w, self.asks, forgotten, self.media, card_row, self.card_b,
                 d.s_card_rsp_valid.value, *give, *ends)  # fmt: skip
        await RisingEdge(d.clk)
        self.look_idle(any(inputs))
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
        if request["ar_valid"] and card_ar:
            first, rows = request["ar"]["addr"] // ROW, request["ar"]["len"] + 1
            self.card_rows.extend((self.card.get(first + i, 0), int(i == rows - 1)) for i in range(rows))
        if self.card_b and write["b_ready"]:
            self.card_b -= 1
        if self.card_offer is not None:
            assert write["aw_valid"] and write["aw"] == self.card_offer, "an address on offer stays"
        self.card_offer = write["aw"] if write["aw_valid"] and not card_aw else None
        if write["aw_valid"] and card_aw:
            self.card_aw.append(write["aw"]["addr"] // ROW)
        if write["w_valid"] and card_w:
            self.card_w.append(write["w"])
        while self.card_aw and self.card_w:
            row = self.card_w.popleft()
            self.card[self.card_aw[0] + self.card_at] = row["data"]
            self.card_at += 1
            if row["last"]:
                self.card_aw.popleft()
                self.card_at = 0
                self.card_b += 1
        if d.m_card_cmd_valid.value and card_cmd:
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

    def look_idle(self, asked: bool) -> None:
        """While it is idle nothing moves until somebody asks for something or answers."""
        d = self.dut
        card = READ_REQ.unpack(int(d.m_card_read_req.value)), WRITE_REQ.unpack(int(d.m_card_write_req.value))
        moves = (READ_RSP.unpack(int(d.s_axi_read_rsp.value))["r_valid"],
                 WRITE_RSP.unpack(int(d.s_axi_write_rsp.value))["b_valid"], card[0]["ar_valid"], card[1]["aw_valid"],
                 card[1]["w_valid"], *(int(getattr(d, name).value) for name in ("m_come_valid", "m_ended_valid",
                 "m_rsp_valid", "m_card_cmd_valid", "m_cmd_valid", "m_row_valid")))  # fmt: skip
        idle = d.idle.value == 1
        if self.still and not asked:
            assert idle and not any(moves), "it was idle, and something moves"
        self.still = idle and not asked

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


def where_first(b: Bench, ssd: int) -> int:
    """The first byte of the media that is on an SSD."""
    return ssd * (CHUNK if STRIPE else EACH * GRANULE)


SPAN = 160
"""Pages that tests of large commands use: on several SSDs."""
FROM = 0 if STRIPE or NUM == 1 else EACH * GRANULE // PAGE - SPAN // 2
"""The first of them."""
