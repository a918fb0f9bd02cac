# SPDX-License-Identifier: Apache-2.0
"""db_host_slots against a drive that knows doorbells alone.

The drive side of the bench sees tail doorbells and works out from docs/host/theory.md which slot each new place of a
queue belongs to; it looks the slot's context up as db_host_window_rows does, completes in random order, and sees resets
and the loss of the drive. The user's side knows the parts it gave, in order.
"""

from __future__ import annotations

import os
import random
from collections import deque

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from structs import constant, enum, layout

OPS = enum("db_host_pkg", "block_op_e")
READ, WRITE, FLUSH = OPS["BLOCK_READ"], OPS["BLOCK_WRITE"], OPS["BLOCK_FLUSH"]
PART, CTX, MAP = (layout("db_host_pkg", name) for name in ("part_t", "entry_ctx_t", "slot_map_t"))
DOORBELL, LATE, OUT = (layout("db_host_pkg", name) for name in ("doorbell_t", "late_cmd_t", "out_cmd_t"))
STATUS, CQE = layout("db_host_pkg", "block_status_t"), layout("db_nvme_pkg", "cqe_t")
CID_W = constant("db_host_pkg", "CID_W")
GEN_W = constant("db_host_pkg", "GEN_W")
OFTEN = [0, 0, 0, 0x281, 0x80]  # statuses of a drive
NOT_NOW = [0x05, 0x07, 0x21, 0x22, 0x82]  # docs/host/theory.md, "A second try"
DNR = 0x4000
RING = 64  # units of 512 bytes, both rings
PATH_ERROR, ABORTED = (
    constant("db_nvme_pkg", "SCT_PATH") << 8 | constant("db_host_pkg", f"SC_{name}")
    for name in ("PATH_ERROR", "HOST_ABORTED")
)


def part_word(op: int, lba: int, len512: int, tag: int, last: int) -> int:
    """part_t of one block."""
    return PART.pack(slot={"op": op, "lba": lba, "blocks": 1, "len512": len512}, tag=tag, last=last)


def cqe_word(gen: int, slot: int, status: int = 0) -> int:
    """cqe_t. gen: above it the bit that tells a second try."""
    return CQE.pack(cid=gen << CID_W | slot, status=status)


class Bench:
    def __init__(self, dut, seed: int, *, slow: bool):
        self.dut, self.rng, self.slow = dut, random.Random(seed), slow
        self.qps, self.cmds = int(os.environ["NUM_QP"]), int(os.environ["NUM_CMDS"])
        self.sq_size = int(os.environ["SQ_SIZE"])
        self.slots = min(self.cmds, self.sq_size * self.qps)
        self.limit = self.cmds if self.sq_size * self.qps > self.cmds else (self.sq_size - 1) * self.qps
        self.parts: deque = deque()  # to be given
        self.given: deque = deque()  # (op, lba, len512, tag, last), not retired
        self.statuses: list[tuple[int, int]] = []
        self.latencies: list[int] = []
        self.outs: list[tuple[int, int, int, int]] = []
        self.in_drive: dict[int, tuple] = {}  # cid -> (seq)
        self.tails = [0] * self.qps
        self.heads = [0] * self.qps
        self.cq_db = [0] * self.qps
        self.seq_base = self.seq = 0  # of the drive's view
        self.to_fetch: deque = deque()  # (queue pair, place)
        self.fetched: dict[int, tuple[int, int]] = {}  # slot -> (op, lba)
        self.second: set[int] = set()  # slots of fetched, whose second entry it was
        self.tries: dict[int, list[int]] = {}  # lba -> statuses the drive gave since it was up
        self.choices = OFTEN
        self.gens: dict[int, list[int]] = {}  # of a slot: generations so far
        self.repeats = 0  # entries that came again, of a command that is over
        self.bad = 0
        self.results: dict[int, int] = {}  # lba -> status the drive gave last
        self.max_flight = 0
        self.fill = self.freed = self.reads = 0  # units: written, read out, given a place for what is read
        self.complete_pct = 30
        self.repeat = False
        self.status_pct = 70 if slow else 100
        self.hold: set[int] = set()  # LBAs the drive loses
        self.cycle = 0
        self.ctx_slot = 0
        self.ctx_read: int | None = None  # slot whose context comes in this cycle

    async def start(self):
        d = self.dut
        Clock(d.clk, 4, unit="ns").start()
        for s in (
            "io_up",
            "io_dead",
            "s_part_valid",
            "s_part",
            "s_cqe_valid",
            "s_ctx_re",
            "m_doorbell_ready",
            "m_axis_status_tready",
            "m_out_ready",
            "wr_fill",
            "rd_freed",
            "cq_head",
            "cmd_timeout",
        ):
            getattr(d, s).value = 0
        d.repeat_on_reset.value, d.sq_size.value = 1, self.sq_size
        d.rst.value = 1
        for _ in range(3):
            await RisingEdge(d.clk)
        d.rst.value = 0

    @property
    def base(self) -> int:
        """Slot of place 0 of queue pair 0."""
        return MAP.unpack(int(self.dut.map.value))["base"]

    def ctx_slot_busy(self) -> int:
        """The slot whose context is being read, or -1."""
        return self.ctx_slot if self.dut.s_ctx_re.value else -1 if self.ctx_read is None else self.ctx_read

    def chance(self, pct: int) -> bool:
        return self.rng.random() * 100 < pct

    async def step(self):
        """One cycle: outputs are read, then inputs of the next cycle set."""
        d, rng = self.dut, self.rng
        await ReadOnly()
        took = d.s_part_valid.value and d.s_part_ready.value
        # the last doorbell may fall into a reset
        if d.m_doorbell_valid.value and d.m_doorbell_ready.value and d.io_up.value:
            doorbell = DOORBELL.unpack(int(d.m_doorbell.value))
            q, value = doorbell["qid"] - 1, doorbell["value"]
            if doorbell["cq"]:
                assert (value - self.cq_db[q]) % self.sq_size <= (self.heads[q] - self.cq_db[q]) % self.sq_size
                self.cq_db[q] = value
            else:
                n = (value - self.tails[q]) % self.sq_size
                assert 0 < n < self.sq_size
                self.to_fetch.extend((q, (self.tails[q] + i) % self.sq_size) for i in range(n))
                self.tails[q] = value
                flight = len(self.fetched) + len(self.to_fetch)
                self.max_flight = max(self.max_flight, flight)
                assert flight <= self.limit
        st = d.m_axis_status_tvalid.value and d.m_axis_status_tready.value
        if st:
            w = STATUS.unpack(int(d.m_axis_status_tdata.value))
            self.statuses.append((w["tag"], w["status"]))
            self.latencies.append(w["latency"])
        if d.m_out_valid.value and d.m_out_ready.value:
            self.outs.append(tuple(OUT.unpack(int(d.m_out.value))[f] for f in ("buf512", "len512", "last", "error")))
            self.freed += self.outs[-1][1]
        if self.ctx_read is not None:
            ctx = CTX.unpack(int(d.m_ctx.value))
            self.fetched[self.ctx_read] = tuple(ctx["slot"][f] for f in ("op", "lba", "buf512", "len512"))
            gens = self.gens.setdefault(self.ctx_read, [])
            if not gens or gens[-1] != ctx["gen"]:  # fetched again after a reset: the same
                gens.append(ctx["gen"])
        self.ctx_read = self.ctx_slot if d.s_ctx_re.value else None
        late = bool(d.m_late_valid.value)
        self.bad += int(d.stat_bad.value)
        await RisingEdge(d.clk)
        self.cycle += 1
        if took:
            self.given.append(self.parts.popleft())
            self.reads += self.given[-1][2] if self.given[-1][0] == READ else 0
            assert self.reads - self.freed <= RING, "more is read than the ring has room for"
            d.s_part_valid.value = 0
        if self.parts and (took or not d.s_part_valid.value) and (not self.slow or self.chance(50)):
            op, lba, len512, tag, last = self.parts[0]
            d.s_part.value, d.s_part_valid.value = part_word(op, lba, len512, tag, last), 1
        d.m_doorbell_ready.value = int(not self.slow or self.chance(60))
        d.m_axis_status_tready.value = int(self.chance(self.status_pct))
        d.m_out_ready.value = int(not self.slow or self.chance(70))
        d.wr_fill.value, d.rd_freed.value = self.fill % (1 << 32), self.freed % (1 << 32)
        d.cq_head.value = sum(h << 16 * q for q, h in enumerate(self.heads))
        d.s_ctx_re.value = 0
        if self.to_fetch:
            self.ctx_slot = self.fetch(*self.to_fetch.popleft())
            d.s_ctx_re.value, d.s_ctx_slot.value = 1, self.ctx_slot
        d.s_cqe_valid.value = 0
        ready = [c for c, f in self.fetched.items() if f[1] not in self.hold]
        slot = rng.choice(ready) if ready else 0
        q = (slot - self.base) % self.slots % self.qps
        full = (self.heads[q] + 1 - self.cq_db[q]) % self.sq_size == 0
        if ready and not full and self.chance(self.complete_pct):
            _op, lba, _buf, _len = self.fetched.pop(slot)
            status = rng.choice(self.choices)
            self.results[lba] = status
            self.tries.setdefault(lba, []).append(status)
            gen = self.gens[slot][-1] | (slot in self.second) << GEN_W
            d.s_cqe_valid.value, d.s_cqe.value = 1, cqe_word(gen, slot, status)
            self.heads[q] = (self.heads[q] + 1) % self.sq_size
        elif self.repeat and d.io_up.value:
            # an entry of one of the last 15 that had this slot comes again, while the slot's next command is in flight
            again = [s for s in self.fetched if len(self.gens[s]) > 1]
            if again and self.chance(20):
                slot = rng.choice(again)
                gen = rng.choice([g for g in self.gens[slot][-15:-1] if g != self.gens[slot][-1]])
                d.s_cqe_valid.value, d.s_cqe.value = 1, cqe_word(gen, slot, 0x2FF)
                self.repeats += 1
        return late

    def fetch(self, q: int, place: int) -> int:
        """The slot whose command is at a place: as db_host_window_rows works it out."""
        where = MAP.unpack(int(self.dut.map.value))
        slot = (where["base"] + place * self.qps + q) % self.slots
        self.second.discard(slot)
        if where["second"] and place == where["place"]:
            slot = where["oldest"]
            self.second.add(slot)
        assert slot not in self.fetched and slot != self.ctx_slot_busy()
        return slot

    def forget(self):
        """The drive is reset: queues are empty."""
        self.fetched.clear()
        self.second.clear()
        self.tries.clear()
        self.to_fetch.clear()
        self.ctx_read = None
        self.dut.s_ctx_re.value = 0
        self.tails, self.heads, self.cq_db = [0] * self.qps, [0] * self.qps, [0] * self.qps


def traffic(rng: random.Random, n: int) -> list[tuple]:
    """n commands of 1 to 3 parts: (op, lba, len512, tag, last); LBAs are unique."""
    out, lba = [], 1
    for tag in range(n):
        op = rng.choice([READ, READ, WRITE, WRITE, FLUSH])
        k = 1 if op == FLUSH else rng.choice([1, 1, 1, 2, 3])
        for i in range(k):
            len512 = 0 if op == FLUSH else rng.choice([1, 8, 8, 8, 16, RING // 2])
            out.append((op, lba, len512, tag & 0xFFFF, int(i == k - 1)))
            lba += 1
    return out


def expected(parts: list[tuple], results: dict[int, int]) -> tuple[list, list]:
    """Statuses (tag, status of the first part that failed), and outs without places."""
    statuses, outs, worst = [], [], 0
    for op, lba, len512, tag, last in parts:
        worst = worst or results[lba]
        if op == READ:
            outs.append((len512, last, int(results[lba] != 0)))
        if last:
            statuses.append((tag, worst))
            worst = 0
    return statuses, outs


@cocotb.test()
async def traffic_in_order(dut):
    """Out-of-order completions; statuses and data in order, rings never overrun, every slot used."""
    b = Bench(dut, 3, slow=True)
    await b.start()
    parts = traffic(b.rng, 600)
    b.parts.extend(parts)
    total = sum(p[2] for p in parts if p[0] == WRITE)
    dut.io_up.value = 1
    want = len({p[3] for p in parts})
    while len(b.statuses) < want:
        b.complete_pct = 4 if b.cycle % 4000 < 2000 else 60
        if b.fill < total and b.chance(80):
            room = RING - ((b.fill - int(dut.wr_freed.value)) & 0xFFFFFFFF)
            b.fill += min(room, b.rng.randint(0, 8), total - b.fill)
        await b.step()
        assert b.cycle < 60000
    for _ in range(20):
        await b.step()
    statuses, outs = expected(parts, b.results)
    assert b.statuses == statuses
    assert [o[1:] for o in b.outs] == outs
    place = 0
    for buf, length, _last, _err in b.outs:
        assert buf == place % RING
        place += length


def tried(statuses: list[int]) -> bool:
    """So a command may have been tried, by what the drive said: twice if the first was "not now", else once."""
    return len(statuses) == (2 if statuses[0] in NOT_NOW else 1)


def fill(b: Bench, total: int) -> None:
    """As much data as there is room for."""
    b.fill += min(RING - ((b.fill - int(b.dut.wr_freed.value)) & 0xFFFFFFFF), b.rng.randint(0, 8), total - b.fill)


async def retries(dut, seed: int, choices: list[int]) -> Bench | None:
    """A drive that says "not now", up; None: RETRY is 0."""
    if not int(os.environ["RETRY"]):
        return None
    b = Bench(dut, seed, slow=True)
    await b.start()
    b.choices = choices
    dut.io_up.value = 1
    return b


@cocotb.test()
async def second_tries(dut):
    """What was "not now" is sent once more and in its turn, all else once; the second status counts, whatever it is."""
    b = await retries(dut, 12, [0, 0, 0x281, *NOT_NOW, 0x82 | DNR, 0x21 | DNR, 0x182, 0x84, 0x08])
    if b is None:
        return
    parts = traffic(b.rng, 500)
    b.parts.extend(parts)
    total, want, again = sum(p[2] for p in parts if p[0] == WRITE), len({p[3] for p in parts}), 0
    while len(b.statuses) < want:
        b.complete_pct = 4 if b.cycle % 4000 < 2000 else 60
        fill(b, total)
        await b.step()
        again += int(dut.stat_retry.value)
        assert b.cycle < 200_000
    statuses, outs = expected(parts, b.results)
    assert b.statuses == statuses and [o[1:] for o in b.outs] == outs
    assert len(b.tries) == len(parts) and all(map(tried, b.tries.values()))
    assert again == sum(len(s) - 1 for s in b.tries.values()) > 200 and b.bad == 0
    assert {tuple(map(bool, s)) for s in b.tries.values()} >= {(True, True), (True, False), (False,), (True,)}


@cocotb.test()
async def second_tries_and_resets(dut):
    """The drive is reset meanwhile: all is repeated, and ends once; what had its second try has no third."""
    b = await retries(dut, 13, [0, *NOT_NOW])
    if b is None:
        return
    parts = traffic(b.rng, 250)
    b.parts.extend(parts)
    total, want, resets, under_way = sum(p[2] for p in parts if p[0] == WRITE), len({p[3] for p in parts}), 0, 0
    down = 0
    while len(b.statuses) < want:
        down = max(0, down - 1)
        if not down and b.chance(0.6):
            down, resets = 60, resets + 1
            under_way += MAP.unpack(int(dut.map.value))["second"]
        if down:
            b.forget()
        dut.io_up.value, b.complete_pct = int(not down), 0 if down else 20
        fill(b, total)
        await b.step()
        assert b.cycle < 400_000
    assert resets > 10 and under_way > 5
    statuses, outs = expected(parts, b.results)
    assert b.statuses == statuses and [o[1:] for o in b.outs] == outs


@cocotb.test()
async def second_try_of_a_drive_that_goes(dut):
    """It is under way when the drive goes for good: a path error, and so all behind it; before it had its place, the
    drive's own status.
    """
    b = await retries(dut, 14, [0x82])
    if b is None:
        return
    b.slow = False
    for second in (True, False):
        b.statuses.clear()
        dut.io_dead.value, dut.io_up.value = 0, 1
        b.complete_pct, b.hold = 0, {2, 3}
        b.parts.extend((FLUSH, 1 + i, 0, i, 1) for i in range(3))
        while len(b.fetched) < 3 or b.ctx_read is not None:
            await b.step()
        b.complete_pct = 100
        while not MAP.unpack(int(dut.map.value))["second"] if second else len(b.fetched) == 3:
            await b.step()
        b.complete_pct = 0
        for _ in range(8 if second else 0):
            await b.step()
        dut.io_up.value, dut.io_dead.value = 0, 1
        b.forget()
        for _ in range(100):
            await b.step()
        assert len(b.statuses) == 3 and b.statuses[1:] == [(1, PATH_ERROR), (2, PATH_ERROR)]
        assert b.statuses[0][1] in ((PATH_ERROR,) if second else (PATH_ERROR, 0x82))
        dut.io_dead.value = 0
        for _ in range(20):
            await b.step()


@cocotb.test()
async def first_try_ends_again(dut):
    """The first try's entry comes a second time, while the second one is under way: it is nobody's. So is an entry of a
    second try that there is not.
    """
    b = await retries(dut, 15, [0x82])
    if b is None:
        return
    b.complete_pct = 0
    b.parts.extend((FLUSH, 1 + i, 0, i, 1) for i in range(3))
    while len(b.fetched) < 3:
        await b.step()
    slots = [(b.base + i) % b.slots for i in range(3)]
    gens = [b.gens[s][-1] for s in slots]
    for slot, gen in zip(slots, gens):
        dut.s_cqe_valid.value, dut.s_cqe.value = 1, cqe_word(gen | 1 << GEN_W, slot)
        for _ in range(10):
            await b.step()
    assert b.bad == 3 and not b.statuses
    b.hold = {2, 3}
    b.complete_pct = 100
    while not MAP.unpack(int(dut.map.value))["second"]:
        await b.step()
    b.hold = {1, 2, 3}
    for n in range(3):
        dut.s_cqe_valid.value, dut.s_cqe.value = 1, cqe_word(gens[0], slots[0], 0)
        for _ in range(10):
            await b.step()
        assert b.bad == 4 + n and not b.statuses
    dut.s_cqe_valid.value, dut.s_cqe.value = 1, cqe_word(gens[1] | 1 << GEN_W, slots[1])
    for _ in range(10):
        await b.step()
    assert b.bad == 7 and not b.statuses
    b.choices, b.hold = [0], set()
    for _ in range(100):
        await b.step()
    assert b.statuses == [(0, 0), (1, 0), (2, 0)] and b.bad == 7


@cocotb.test()
async def second_try_is_late(dut):
    """Its time begins with its own entry, and it has an identifier of its own; what was late is not tried again."""
    b = await retries(dut, 16, [0x82])
    if b is None:
        return
    b.slow = False
    dut.cmd_timeout.value = 500
    b.hold = {1}
    b.parts.append((FLUSH, 1, 0, 7, 1))
    while not b.fetched:
        await b.step()
    for _ in range(400):
        assert not await b.step()
    b.hold, b.complete_pct = set(), 100
    while b.fetched:
        await b.step()
    b.hold, since = {1}, b.cycle
    while not await b.step():
        assert b.cycle - since < 600
    assert b.cycle - since > 500
    slot = next(iter(b.fetched))
    assert LATE.unpack(int(dut.m_late.value)) == {"cid": (1 << GEN_W | b.gens[slot][-1]) << CID_W | slot, "qid": 1}
    b.choices, b.hold = [0x07], set()
    for _ in range(30):
        await b.step()
    assert b.statuses == [(7, 0x07)]
    b.hold = {2}
    b.parts.append((FLUSH, 2, 0, 8, 1))
    while not await b.step():
        assert b.cycle < 5000
    b.hold = set()
    for _ in range(30):
        await b.step()
    assert b.statuses[1:] == [(8, 0x07)] and b.tries[2] == [0x07], "it had been late, and was aborted"


@cocotb.test()
async def entries_come_again(dut):
    """An entry that comes again when its slot has been given to another command, up to 15 rounds later: counted, and
    that command goes on. Each round has the next generation.
    """
    b = Bench(dut, 9, slow=False)
    await b.start()
    b.parts.extend((FLUSH, 1 + i, 0, i & 0xFFFF, 1) for i in range(max(300, 4 * b.slots)))
    parts = list(b.parts)
    dut.io_up.value = 1
    b.repeat, b.complete_pct = True, 40
    while len(b.statuses) < len(parts):
        await b.step()
        assert b.cycle < 60000
    b.repeat = False
    for _ in range(20):
        await b.step()
    assert b.statuses == expected(parts, b.results)[0]
    assert b.bad == b.repeats > 40
    assert all((new - old) % 16 == 1 for gens in b.gens.values() for old, new in zip(gens, gens[1:]))


@cocotb.test()
async def entries_of_nobody(dut):
    """An entry of a command that is not outstanding (a free slot, one that there is not, another generation, an
    identifier that is none of ours): counted, and no command ends with it.
    """
    b = Bench(dut, 10, slow=False)
    await b.start()
    dut.io_up.value = 1
    b.complete_pct = 0
    parts = [(FLUSH, 1 + i, 0, i, 1) for i in range(min(3, b.limit))]
    b.parts.extend(parts)
    while len(b.fetched) < len(parts):
        await b.step()
    gen, oldest, free = b.gens[b.base][-1], b.base, (b.base + len(parts)) % b.slots
    wrong = [(gen, free), (gen + 1, oldest), (gen - 1, oldest), (gen | 1 << constant("db_host_pkg", "GEN_W"), oldest)]
    if b.slots < 1 << CID_W:
        wrong.append((gen, oldest | b.slots))
    for n, (other, slot) in enumerate(wrong):
        dut.s_cqe_valid.value, dut.s_cqe.value = 1, cqe_word(other, slot)
        for _ in range(10):
            await b.step()
        assert b.bad == n + 1 and not b.statuses, (other, slot)
    b.complete_pct = 100
    for _ in range(60):
        await b.step()
    assert b.statuses == expected(parts, b.results)[0] and b.bad == len(wrong)


@cocotb.test()
async def resets_repeat(dut):
    """The drive is reset in the middle, again and again: all is done, in order."""
    b = Bench(dut, 4, slow=True)
    await b.start()
    parts = traffic(b.rng, 200)
    b.parts.extend(parts)
    b.fill = 0
    total = sum(p[2] for p in parts if p[0] == WRITE)
    want = len({p[3] for p in parts})
    resets = 0
    while len(b.statuses) < want:
        phase = b.cycle % 1500
        if phase < 40 and resets < 8:
            if dut.io_up.value:
                resets += 1
            dut.io_up.value = 0
            b.forget()
            b.complete_pct = 0
        elif phase < 200 and resets < 8:
            b.forget()
        else:
            dut.io_up.value = 1
            b.complete_pct = 8
        room = RING - ((b.fill - int(dut.wr_freed.value)) & 0xFFFFFFFF)
        b.fill += min(room, 4, total - b.fill)
        await b.step()
        assert b.cycle < 100000
    assert resets >= 2
    statuses, outs = expected(parts, b.results)
    assert b.statuses == statuses
    assert [o[1:] for o in b.outs] == outs


@cocotb.test()
async def resets_report_and_death(dut):
    """Without repeat, what a reset took is reported; a dead drive ends all, and what comes after it too."""
    b = Bench(dut, 5, slow=False)
    await b.start()
    dut.repeat_on_reset.value = 0
    dut.io_up.value = 1
    b.complete_pct = 0
    n = b.limit + 5
    b.parts.extend((FLUSH, i, 0, i, 1) for i in range(n))
    for _ in range(300 + 4 * n):
        await b.step()
    assert not b.statuses and b.max_flight == b.limit
    dut.io_up.value = 0
    b.forget()
    for _ in range(60 + 4 * n):
        await b.step()
    assert b.statuses == [(i, ABORTED) for i in range(b.limit)]
    b.complete_pct = 100
    dut.io_up.value = 1
    for _ in range(600):
        await b.step()
    assert b.statuses[b.limit :] == [(i, b.results[i]) for i in range(b.limit, n)]
    b.statuses.clear()
    b.complete_pct = 50
    b.parts.extend((FLUSH, 100 + i, 0, i, 1) for i in range(40))
    for _ in range(1200):
        await b.step()
    assert b.statuses == [(i, b.results[100 + i]) for i in range(40)]
    b.complete_pct = 0
    b.parts.extend((READ, 200 + i, 8, i, 1) for i in range(3))
    for _ in range(60):
        await b.step()
    dut.io_up.value, dut.io_dead.value = 0, 1
    b.forget()
    b.parts.extend((READ, 300 + i, 8, 10 + i, 1) for i in range(30))
    b.status_pct = 10  # parts come faster than their ends leave
    for _ in range(1200):
        await b.step()
    assert b.statuses[40:] == [(t, PATH_ERROR) for t in (0, 1, 2, *range(10, 40))]
    assert all(o[3] for o in b.outs[-33:])


@cocotb.test()
async def late(dut):
    """The oldest command is called late after cmd_timeout, and no longer once it is done."""
    b = Bench(dut, 6, slow=False)
    await b.start()
    dut.cmd_timeout.value = 500
    dut.io_up.value = 1
    b.complete_pct = 100
    b.parts.extend((FLUSH, i, 0, i, 1) for i in range(20))
    b.hold = {7}
    late_at = 0
    for _ in range(1500):
        if await b.step() and not late_at:
            late_at = b.cycle
            oldest = LATE.unpack(int(dut.m_late.value))
            gen, slot = divmod(oldest["cid"], 1 << CID_W)
            assert b.fetched[slot][1] == 7 and gen == b.gens[slot][-1]
            assert oldest["qid"] - 1 == 7 % b.qps
    assert len(b.statuses) == 7 and late_at
    b.hold = set()
    for _ in range(200):
        now_late = await b.step()
    assert len(b.statuses) == 20 and not now_late


@cocotb.test()
async def time_and_units_begin_anew(dut):
    """2^32 cycles (17 s) and 2^32 units of each ring (2 TiB) are over in the middle of traffic: data has its place,
    latencies are right, and what is lost is late neither sooner nor later than at any other time.
    """
    b = Bench(dut, 11, slow=False)
    await b.start()
    dut.io_up.value = 1
    for _ in range(4 * b.cmds):  # the first sweep
        await b.step()
    begin, end = (1 << 32) - 2 * RING, 1 << 32
    b.fill = b.freed = b.reads = begin
    dut.i_retire.wr_freed.value = begin
    dut.i_alloc.wr_alloc_q.value = dut.i_alloc.rd_alloc_q.value = begin % (1 << len(dut.i_alloc.wr_alloc_q))
    dut.i_match.now_q.value = end - 400
    parts = [p for p in traffic(b.rng, 200) if p[4]]
    b.parts.extend(parts)
    b.hold = {parts[-1][1]}
    total = begin + sum(p[2] for p in parts if p[0] == WRITE)
    while len(b.statuses) < len(parts) - 1:
        room = RING - ((b.fill - int(dut.wr_freed.value)) & 0xFFFFFFFF)
        b.fill += min(room, 8, total - b.fill)
        await b.step()
        assert b.cycle < 30000
    results = b.results | {parts[-1][1]: 0}
    statuses, outs = expected(parts, results)
    assert b.statuses == statuses[:-1]
    outs = outs[: len(b.outs)]
    assert [o[1:] for o in b.outs] == outs
    place = begin
    for buf, length, _last, _err in b.outs:
        assert buf == place % RING
        place += length
    assert int(dut.i_match.now_q.value) < 1 << 31 and place > end and total > end > begin
    assert int(dut.wr_freed.value) == (total - (parts[-1][2] if parts[-1][0] == WRITE else 0)) % end
    assert all(0 < latency < 3000 for latency in b.latencies)
    # One that is lost a little before the end of the time.
    b.hold = set()
    for _ in range(200):
        await b.step()
    dut.cmd_timeout.value = 500
    dut.i_match.now_q.value = end - 250
    b.hold = {1 << 20}
    b.parts.append((FLUSH, 1 << 20, 0, 7, 1))
    since, late = b.cycle, False
    while not late:
        late = await b.step()
        assert b.cycle - since < 560
    assert b.cycle - since > 500 and int(dut.i_match.now_q.value) < 1000


@cocotb.test()
async def speed(dut):
    """An idle engine: part to doorbell 3 cycles, completion to status 5; 3 cycles a part."""
    b = Bench(dut, 7, slow=False)
    await b.start()
    dut.io_up.value = 1
    dut.m_doorbell_ready.value = dut.m_axis_status_tready.value = dut.m_out_ready.value = 1
    for _ in range(600):
        await RisingEdge(dut.clk)
    dut.s_part.value, dut.s_part_valid.value = part_word(FLUSH, 5, 0, 9, 1), 1
    n = 0
    while not dut.m_doorbell_valid.value:
        await RisingEdge(dut.clk)
        n += 1
        if dut.s_part_ready.value:
            await RisingEdge(dut.clk)
            n += 1
            dut.s_part_valid.value = 0
        await ReadOnly()
    assert n == 3 if b.qps == 1 else n <= 3 + b.qps, n
    await RisingEdge(dut.clk)
    slot = b.base
    dut.s_ctx_re.value, dut.s_ctx_slot.value = 1, slot
    for _ in range(5):
        await RisingEdge(dut.clk)
    dut.s_cqe_valid.value, dut.s_cqe.value = 1, cqe_word(CTX.unpack(int(dut.m_ctx.value))["gen"], slot)
    await RisingEdge(dut.clk)
    dut.s_cqe_valid.value = 0
    n = 1
    await ReadOnly()
    while not dut.m_axis_status_tvalid.value:
        await RisingEdge(dut.clk)
        await ReadOnly()
        n += 1
        assert n < 30
    assert n == 5, n


@cocotb.test()
async def heads_gather(dut):
    """Entries are acknowledged at once when eight (or a quarter of a small queue) are there, one after 4096 cycles."""
    b = Bench(dut, 8, slow=False)
    await b.start()
    if b.qps > 1:  # pairs are looked at by turns
        return
    dut.io_up.value = dut.m_doorbell_ready.value = 1
    for _ in range(600):
        await RisingEdge(dut.clk)
    batch, head = 8 if b.sq_size >= 32 else b.sq_size // 4, 0
    alone = (1, 4090, 4104) if batch > 1 else (1, 0, 4)
    for more, least, most in ((batch, 0, 4), alone, (batch, 0, 4)):
        head = (head + more) % b.sq_size
        dut.cq_head.value = head
        n = 0
        await ReadOnly()
        while not dut.m_doorbell_valid.value:
            await RisingEdge(dut.clk)
            await ReadOnly()
            n += 1
            assert n <= most
        assert least <= n, (n, more)
        assert DOORBELL.unpack(int(dut.m_doorbell.value)) == {"cq": 1, "qid": 1, "value": head}
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)


@pytest.mark.parametrize(
    "qps, cmds, sq_size, retry",
    [
        (1, 16, 32, 0),
        (1, 16, 32, 1),
        bench.rare(1, 16, 8, 1),
        bench.rare(1, 32, 4, 0),
        bench.rare(1, 32, 4, 1),
        bench.rare(2, 8, 8, 0),
        (4, 32, 16, 0),
        bench.rare(1, 256, 512, 1),
    ],
)
def test_slots(qps: int, cmds: int, sq_size: int, retry: int):
    bench.run(
        __file__,
        "db_host_slots",
        {"NUM_CMDS": cmds, "NUM_QP": qps, "RETRY": retry, "WR_RING_BYTES": RING * 512, "RD_RING_BYTES": RING * 512},
        env={"NUM_QP": str(qps), "NUM_CMDS": str(cmds), "SQ_SIZE": str(sq_size), "RETRY": str(retry)},
        inside=("db_host_retire", "db_host_slot_alloc", "db_host_slot_match", "db_host_slot_retry"),
    )
