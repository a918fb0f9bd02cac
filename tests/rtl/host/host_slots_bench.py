# SPDX-License-Identifier: Apache-2.0
"""A drive that knows doorbells alone, around db_host_slots, and the user of it.

The drive side sees tail doorbells and works out from docs/host/theory.md which slot each new place of a queue belongs
to; it looks the slot's context up as db_host_window_rows does, completes in random order, and sees resets
and the loss of the drive. The user's side knows the parts it gave, in order.
"""

from __future__ import annotations

import os
import random
from collections import deque

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
        self.bad = self.ended = 0  # completions of nobody; slots that have ended as the drive says
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
        self.ended += int(d.stat_retire.value)
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
