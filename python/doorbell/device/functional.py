# SPDX-License-Identifier: Apache-2.0
"""Functional drive: the controller of `db_ssd` in plain Python behind the interface of `doorbell.device.sim.Sim`.

No RTL, no link, rough timing. It exists so that driver, tests, demo and bench can run without a build, and so that
tests have a second implementation: a test that fails on both is wrong itself. Written from the specification.
"""

from __future__ import annotations

import heapq
import mmap
import random
import struct
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from doorbell.nvme.constants import (
    CC_AMS_WRRU,
    CSTS_CFS,
    CSTS_NSSRO,
    DSM_AD,
    NSID_ALL,
    NSSR_MAGIC,
    OACS_FORMAT,
    ONCS_COMPARE,
    ONCS_DSM,
    ONCS_VERIFY,
    ONCS_WRITE_ZEROES,
    STATUS_DNR,
    AdminOpc,
    Cns,
    Feature,
    LogPage,
    Nidt,
    NvmOpc,
    Reg,
    Status,
)
from doorbell.nvme.structures import DsmRange, EffectsLog, ErrorLogEntry, FwSlotLog, IdCtrl, IdNs, SmartLog, Sqe

PAGE = 4096
NS_PER_CYCLE = 4


class Irq(NamedTuple):
    cycle: int
    addr: int
    data: int


class _Bad(Exception):
    def __init__(self, status: int) -> None:
        self.status = status


class _Sq:
    def __init__(self, base: int, entries: int, cqid: int, prio: int) -> None:
        self.base, self.entries, self.cqid, self.prio = base, entries, cqid, prio
        self.head = self.tail = 0
        self.cids: set[int] = set()


class _Cq:
    def __init__(self, base: int, entries: int, vector: int, ien: bool) -> None:
        self.base, self.entries, self.vector, self.ien = base, entries, vector, ien
        self.head = self.tail = 0
        self.phase = 1
        self.waiting: deque[tuple[int, int, int, int]] = deque()
        self.sqs = 0
        self.since: int = 0  # completions since the last interrupt


class FunctionalSsd:
    """Subset of `doorbell.device.sim.Sim`: map, mmio_*, run, irqs, counters, inject, set_cfg, flr, media_*, cycle,
    ns."""

    functional = True

    link_policy = {"ack_every": 4, "fc_every": 4}

    def __init__(self, *, media_size: int = 1 << 30, image: str | None = None, seed: int = 1, num_qp: int = 32,
                 num_cmds: int = 128, jitter_ns: int = 2000, latency_ns: int = 1500, bytes_per_ns: float = 7.0,
                 **_: Any) -> None:
        self.cycle = 0
        self.num_qp, self.num_cmds = num_qp, num_cmds
        self.jitter, self.latency, self.rate = jitter_ns // 4, latency_ns // 4, bytes_per_ns * NS_PER_CYCLE
        self._rng = random.Random(seed)
        self._file = None
        if image:
            self._file = open(image, "r+b")  # noqa: SIM115
            media_size = self._file.seek(0, 2)
        self._media = mmap.mmap(self._file.fileno() if self._file else -1, media_size)
        self.media_size = media_size
        self._maps: list[tuple[int, int, memoryview]] = []
        self._heap: list[tuple[int, int, Callable[[], None]]] = []
        self._seq = 0
        self._irqs: list[Irq] = []
        self._faults: list[dict[str, Any]] = []
        self._media_faults: list[list[int]] = []
        self.cfg: dict[str, Any] = {}
        self._msix = bytearray(16 * (num_qp + 1))
        self._counts = {"reads": 0, "writes": 0, "read_sectors": 0, "write_sectors": 0}
        self._errors: deque[bytes] = deque(maxlen=16)
        self._error_count = 0
        self._lba4k = False
        self._reset()

    # The interface of Sim ---------------------------------------------------------------------------------------

    @property
    def ns(self) -> int:
        return self.cycle * NS_PER_CYCLE

    def map(self, base: int, size: int, buffer: Any) -> None:
        self._maps.append((base, size, memoryview(buffer)))

    def unmap(self, base: int) -> None:
        self._maps = [m for m in self._maps if m[0] != base]

    def mmio_write(self, off: int, data: int, size: int = 4) -> None:
        self._at(60, lambda: self._write(off, data, size), epoch=False)

    def mmio_read(self, off: int, size: int = 4) -> int:
        self.run(150)
        return sum(self._read(off + i) << 8 * i for i in range(0, size, 4))

    def run(self, cycles: int, until_irq: bool = False) -> int:
        start, end = self.cycle, self.cycle + int(cycles)
        while self._heap and self._heap[0][0] <= end:
            if until_irq and self._irqs:
                return self.cycle - start
            self.cycle, _, action = heapq.heappop(self._heap)
            action()
        if not (until_irq and self._irqs):
            self.cycle = end
        return self.cycle - start

    def irqs(self) -> list[Irq]:
        out, self._irqs = self._irqs, []
        return out

    def counters(self) -> dict[str, int]:
        return dict(self._counts)

    def set_cfg(self, **cfg: Any) -> None:
        self.cfg.update(cfg)
        for vector in range(self.num_qp + 1):
            if self._pending >> vector & 1:
                self._fire(vector)

    def inject(self, kind: str, addr: int = 0, length: int = 0, nth: int = 0, count: int = 1) -> None:
        """The nth and next count - 1 reads of host memory in a range (length 0: any) end with a fault."""
        self._faults.append({"kind": kind, "addr": addr, "length": length, "nth": nth, "left": count})

    def inject_clear(self) -> None:
        self._faults.clear()

    def media_error(self, off: int, length: int, count: int = 1) -> None:
        """The next `count` accesses of the media in a range fail (-1: all)."""
        self._media_faults.append([off, length, count])

    def flr(self) -> None:
        self._reset()
        self.run(100)

    def media_read(self, addr: int, size: int) -> bytes:
        return self._media[addr : addr + size]

    def media_write(self, addr: int, data: bytes) -> None:
        self._media[addr : addr + len(data)] = bytes(data)

    def close(self) -> None:
        self._media.flush()
        if self._file:
            self._file.close()
            self._file = None

    # Time -------------------------------------------------------------------------------------------------------

    def _at(self, cycles: float, action: Callable[[], None], *, epoch: bool = True) -> None:
        """Do `action` later; a reset takes back those with epoch."""
        self._seq += 1
        if epoch:
            made = self._epoch

            def guarded() -> None:
                if made == self._epoch:
                    action()

            heapq.heappush(self._heap, (self.cycle + int(cycles), self._seq, guarded))
        else:
            heapq.heappush(self._heap, (self.cycle + int(cycles), self._seq, action))

    # Host memory ------------------------------------------------------------------------------------------------

    def _mem(self, addr: int, size: int) -> memoryview:
        for base, length, view in self._maps:
            if base <= addr and addr + size <= base + length:
                return view[addr - base : addr - base + size]
        raise _Bad(Status.DATA_TRANSFER_ERROR)

    def _load(self, addr: int, size: int) -> bytes:
        """A read by the device, which may meet an injected fault."""
        for fault in self._faults:
            if fault["left"] > 0 and (not fault["length"] or
                                      (addr < fault["addr"] + fault["length"] and fault["addr"] < addr + size)):
                if fault["nth"] > 0:
                    fault["nth"] -= 1
                    continue
                fault["left"] -= 1
                raise _Bad(Status.DATA_TRANSFER_ERROR)
        return bytes(self._mem(addr, size))

    def _prp(self, prp1: int, prp2: int, size: int) -> list[tuple[int, int]]:
        if prp1 & 3:
            raise _Bad(Status.INVALID_PRP_OFFSET)
        first = min(size, PAGE - prp1 % PAGE)
        out = [(prp1, first)]
        left = size - first
        if not left:
            return out
        if left <= PAGE:
            if prp2 % PAGE:
                raise _Bad(Status.INVALID_PRP_OFFSET)
            return [*out, (prp2, left)]
        if prp2 & 7:
            raise _Bad(Status.INVALID_PRP_OFFSET)
        at = prp2
        while left:
            here = self._load(at, min(8 * -(-left // PAGE), PAGE - at % PAGE))
            entries = struct.unpack(f"<{len(here) // 8}Q", here)
            chained = len(entries) < -(-left // PAGE)
            for entry in entries[:-1] if chained else entries:
                if entry % PAGE:
                    raise _Bad(Status.INVALID_PRP_OFFSET)
                out.append((entry, min(left, PAGE)))
                left -= out[-1][1]
            at = entries[-1]
            if chained and at % 8:
                raise _Bad(Status.INVALID_PRP_OFFSET)
        return out

    def _gather(self, prp1: int, prp2: int, size: int) -> bytes:
        return b"".join(self._load(a, n) for a, n in self._prp(prp1, prp2, size))

    def _scatter(self, prp1: int, prp2: int, data: bytes) -> None:
        at = 0
        for addr, size in self._prp(prp1, prp2, len(data)):
            self._mem(addr, size)[:] = data[at : at + size]
            at += size

    def _media_ok(self, at: int, size: int, status: int) -> None:
        for fault in self._media_faults:
            if fault[2] and at < fault[0] + fault[1] and fault[0] < at + size:
                fault[2] -= 1
                raise _Bad(status)

    # Registers --------------------------------------------------------------------------------------------------

    def _reset(self) -> None:
        self._epoch = getattr(self, "_epoch", 0) + 1
        self._cc = self._csts = self._aqa = self._asq = self._acq = self._intm = 0
        self._msix[:] = (b"\0" * 12 + b"\1\0\0\0") * (self.num_qp + 1)
        self._clear_queues()

    def _clear_queues(self) -> None:
        self._sqs: dict[int, _Sq] = {}
        self._cqs: dict[int, _Cq] = {}
        self._inflight = 0
        self._pending = 0
        self._kicked = False
        self._busy_until = {"read": 0.0, "write": 0.0}
        self._features: dict[int, int] = {Feature.ARBITRATION: 7, Feature.NUM_QUEUES: 0, Feature.VOLATILE_WC: 1,
                                          Feature.TEMP_THRESH: 0x157}
        self._no_coalesce: set[int] = set()
        self._aers: list[int] = []
        self._credits = [0, 0, 0]
        self._turn = 0

    def _read(self, off: int) -> int:
        if 0x2000 <= off < 0x2000 + len(self._msix):
            return int(struct.unpack_from("<I", self._msix, off - 0x2000)[0])
        cap = 4095 | 1 << 16 | 1 << 17 | 20 << 24 | 1 << 36 | 1 << 37
        values = {Reg.CAP: cap & 0xFFFFFFFF, Reg.CAP + 4: cap >> 32, Reg.VS: 0x20000, Reg.INTMS: self._intm,
                  Reg.INTMC: self._intm, Reg.CC: self._cc, Reg.CSTS: self._csts, Reg.AQA: self._aqa,
                  Reg.ASQ: self._asq & 0xFFFFFFFF, Reg.ASQ + 4: self._asq >> 32, Reg.ACQ: self._acq & 0xFFFFFFFF,
                  Reg.ACQ + 4: self._acq >> 32, 0x3000: self._pending & 0xFFFFFFFF, 0x3004: self._pending >> 32}
        return values.get(off, 0)

    def _write(self, off: int, data: int, size: int) -> None:
        if size == 8:
            self._write(off, data & 0xFFFFFFFF, 4)
            self._write(off + 4, data >> 32, 4)
        elif 0x2000 <= off < 0x2000 + len(self._msix):
            struct.pack_into("<I", self._msix, off - 0x2000, data)
            vector = (off - 0x2000) // 16
            if self._pending >> vector & 1:
                self._fire(vector)
        elif off >= Reg.DBS:
            self._doorbell((off - Reg.DBS) // 8, bool(off & 4), data & 0xFFFF)
        elif off == Reg.CC:
            self._write_cc(data)
        elif off == Reg.AQA:
            self._aqa = data
        elif off in (Reg.ASQ, Reg.ACQ):
            name = "_asq" if off == Reg.ASQ else "_acq"
            setattr(self, name, getattr(self, name) & ~0xFFFFFFFF | data & 0xFFFFF000)
        elif off in (Reg.ASQ + 4, Reg.ACQ + 4):
            name = "_asq" if off == Reg.ASQ + 4 else "_acq"
            setattr(self, name, getattr(self, name) & 0xFFFFFFFF | data << 32)
        elif off == Reg.INTMS:
            self._intm |= data
        elif off == Reg.INTMC:
            self._intm &= ~data
        elif off == Reg.NSSR and data == NSSR_MAGIC:
            self._reset()
            self._csts = CSTS_NSSRO

    def _write_cc(self, data: int) -> None:
        old, self._cc = self._cc, data
        if data & 1 and not old & 1:
            self._at(500, self._start)
        elif old & 1 and not data & 1:
            self._epoch += 1
            self._clear_queues()

            def stopped() -> None:
                self._csts = 0

            self._at(500, stopped)
        if data >> 14 & 3 and not old >> 14 & 3:
            def complete() -> None:
                self._media.flush()
                self._csts = self._csts & ~0xC | 8

            self._csts = self._csts & ~0xC | 4
            self._at(500, complete)

    def _start(self) -> None:
        self._cqs[0] = _Cq(self._acq, (self._aqa >> 16 & 0xFFF) + 1, 0, True)
        self._sqs[0] = _Sq(self._asq, (self._aqa & 0xFFF) + 1, 0, 0)
        self._csts |= 1

    def _doorbell(self, qid: int, is_cq: bool, value: int) -> None:
        queue = (self._cqs if is_cq else self._sqs).get(qid)
        if queue is None or value >= queue.entries:
            return
        if isinstance(queue, _Cq):
            queue.head = value
            while queue.waiting and (queue.tail + 1) % queue.entries != queue.head:
                self._post(queue, *queue.waiting.popleft())
        else:
            queue.tail = value
            self._kick()

    # Fetching and arbitration -----------------------------------------------------------------------------------

    def _kick(self) -> None:
        if not self._kicked:
            self._kicked = True
            self._at(5, self._fetch)

    def _fetch(self) -> None:
        self._kicked = False
        ready = [q for q, s in self._sqs.items() if s.head != s.tail and (q == 0 or self._inflight < self.num_cmds)]
        if not ready:
            return
        qid = self._pick(sorted(ready))
        sq = self._sqs[qid]
        burst = 1 << min(self._features[Feature.ARBITRATION] & 7, 6)
        for _ in range(burst):
            if sq.head == sq.tail or (qid and self._inflight >= self.num_cmds):
                break
            try:
                raw = self._load(sq.base + 64 * sq.head, 64)
            except _Bad:
                self._csts |= CSTS_CFS
                return
            sq.head = (sq.head + 1) % sq.entries
            self._issue(qid, sq, Sqe.from_buffer_copy(raw))
        self._kick()

    def _pick(self, ready: list[int]) -> int:
        if 0 in ready:
            return 0
        if self._cc >> 11 & 7 == CC_AMS_WRRU:
            urgent = [q for q in ready if self._sqs[q].prio == 0]
            if urgent:
                ready = urgent
            else:
                classes = [[q for q in ready if self._sqs[q].prio == p] for p in (1, 2, 3)]
                if not any(c and left for c, left in zip(classes, self._credits, strict=True)):
                    arb = self._features[Feature.ARBITRATION]
                    self._credits = [(arb >> s & 0xFF) + 1 for s in (24, 16, 8)]
                for i, members in enumerate(classes):
                    if members and self._credits[i]:
                        self._credits[i] -= 1
                        ready = members
                        break
        after = [q for q in ready if q > self._turn]
        self._turn = min(after or ready)
        return self._turn

    def _issue(self, qid: int, sq: _Sq, sqe: Sqe) -> None:
        if qid == 0:
            self._at(200, lambda: self._run_admin(sqe))
            return
        self._inflight += 1
        size = 0
        if sqe.opcode in (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE):
            size = ((sqe.cdw12 & 0xFFFF) + 1) * self._block
        way = "read" if sqe.opcode == NvmOpc.READ else "write"
        busy = max(self._busy_until[way], self.cycle) + size / self.rate
        self._busy_until[way] = busy
        delay = busy - self.cycle + self.latency + self._rng.randrange(self.jitter + 1)
        self._at(delay, lambda: self._run_io(qid, sq, sqe))

    # I/O commands -----------------------------------------------------------------------------------------------

    @property
    def _block(self) -> int:
        return 4096 if self._lba4k else 512

    def _run_io(self, qid: int, sq: _Sq, sqe: Sqe) -> None:
        try:
            self._io(sqe)
            status = Status.SUCCESS
        except _Bad as bad:
            status = bad.status
            self._log_error(qid, sqe.cid, status, sqe.nsid, sqe.cdw10 | sqe.cdw11 << 32)
        self._inflight -= 1
        self._complete(qid, sqe.cid, status)
        self._kick()

    def _io(self, e: Sqe) -> None:
        if e.opcode not in (NvmOpc.FLUSH, NvmOpc.WRITE, NvmOpc.READ, NvmOpc.COMPARE, NvmOpc.WRITE_ZEROES, NvmOpc.DSM,
                            NvmOpc.VERIFY):
            raise _Bad(Status.INVALID_OPCODE)
        data = e.opcode in (NvmOpc.WRITE, NvmOpc.READ, NvmOpc.COMPARE, NvmOpc.DSM)
        if e.flags & 3 or (data and e.flags >> 6):
            raise _Bad(Status.INVALID_FIELD)
        if e.nsid != 1 and not (e.opcode == NvmOpc.FLUSH and e.nsid == NSID_ALL):
            raise _Bad(Status.INVALID_NS)
        if e.opcode == NvmOpc.FLUSH:
            self._media.flush()
            return
        blocks = self.media_size // self._block
        if e.opcode == NvmOpc.DSM:
            count = (e.cdw10 & 0xFF) + 1
            raw = self._gather(e.prp1, e.prp2, 16 * count)
            ranges = [DsmRange.from_buffer_copy(raw, 16 * i) for i in range(count)]
            if any(r.slba + r.nlb > blocks for r in ranges):
                raise _Bad(Status.LBA_RANGE)
            if e.cdw11 & DSM_AD:
                for r in ranges:
                    self._zero(r.slba * self._block, r.nlb * self._block)
            return
        slba, count = e.cdw10 | e.cdw11 << 32, (e.cdw12 & 0xFFFF) + 1
        if slba + count > blocks:
            raise _Bad(Status.LBA_RANGE)
        at, size = slba * self._block, count * self._block
        if e.opcode == NvmOpc.WRITE_ZEROES:
            self._media_ok(at, size, Status.WRITE_FAULT)
            self._zero(at, size)
            return
        if e.opcode == NvmOpc.VERIFY:
            self._media_ok(at, size, Status.READ_ERROR)
            return
        if size > 1 << 20:
            raise _Bad(Status.INVALID_FIELD)
        self._media_ok(at, size, Status.WRITE_FAULT if e.opcode == NvmOpc.WRITE else Status.READ_ERROR)
        if e.opcode == NvmOpc.READ:
            self._scatter(e.prp1, e.prp2, self._media[at : at + size])
            self._counts["reads"] += 1
            self._counts["read_sectors"] += size // 512
            return
        sent = self._gather(e.prp1, e.prp2, size)
        if e.opcode == NvmOpc.COMPARE:
            self._counts["reads"] += 1
            if sent != self._media[at : at + size]:
                raise _Bad(Status.COMPARE_FAILED)
        else:
            self._media[at : at + size] = sent
            self._counts["writes"] += 1
            self._counts["write_sectors"] += size // 512

    def _zero(self, at: int, size: int) -> None:
        while size:
            here = min(size, 1 << 20)
            self._media[at : at + here] = bytes(here)
            at += here
            size -= here

    # Completions and interrupts ---------------------------------------------------------------------------------

    def _complete(self, qid: int, cid: int, status: int, dw0: int = 0) -> None:
        sq = self._sqs.get(qid)
        if sq is None:
            return
        cq = self._cqs[sq.cqid]
        entry = (qid, cid, status | (STATUS_DNR if 0 < status < 0x200 and status != 4 else 0), dw0)
        if cq.waiting or (cq.tail + 1) % cq.entries == cq.head:
            cq.waiting.append(entry)
        else:
            self._post(cq, *entry)

    def _post(self, cq: _Cq, qid: int, cid: int, status: int, dw0: int) -> None:
        sq = self._sqs.get(qid)
        head = sq.head if sq else 0
        entry = struct.pack("<IIHHHH", dw0, 0, head, qid, cid, status << 1 | cq.phase)
        self._mem(cq.base + 16 * cq.tail, 16)[:] = entry
        cq.tail += 1
        if cq.tail == cq.entries:
            cq.tail = 0
            cq.phase ^= 1
        if not cq.ien:
            return
        coalesce = self._features.get(Feature.IRQ_COALESCE, 0)
        if not coalesce >> 8 or cq.vector == 0 or cq.vector in self._no_coalesce:
            self._at(10, lambda: self._fire(cq.vector))
            return
        cq.since += 1
        if cq.since > coalesce & 0xFF:
            cq.since = 0
            self._at(10, lambda: self._fire(cq.vector))
        elif cq.since == 1:
            self._at((coalesce >> 8) * 25_000, lambda: self._coalesced(cq))

    def _coalesced(self, cq: _Cq) -> None:
        if cq.since:
            cq.since = 0
            self._fire(cq.vector)

    def _fire(self, vector: int) -> None:
        addr, high, data, control = struct.unpack_from("<IIII", self._msix, 16 * vector)
        if control & 1 or self.cfg.get("msix_mask"):
            self._pending |= 1 << vector
            return
        self._pending &= ~(1 << vector)
        self._irqs.append(Irq(self.cycle, addr | high << 32, data))

    # Admin commands ---------------------------------------------------------------------------------------------

    def _run_admin(self, e: Sqe) -> None:
        try:
            dw0 = self._admin(e)
            if dw0 is None:
                return
            self._complete(0, e.cid, Status.SUCCESS, dw0)
        except _Bad as bad:
            self._log_error(0, e.cid, bad.status, e.nsid, 0)
            self._complete(0, e.cid, bad.status)

    def _admin(self, e: Sqe) -> int | None:
        opcode = e.opcode
        if opcode == AdminOpc.IDENTIFY:
            self._scatter(e.prp1, e.prp2, self._identify(e.cdw10 & 0xFF, e.nsid).ljust(4096, b"\0"))
        elif opcode == AdminOpc.CREATE_CQ:
            self._create_cq(e)
        elif opcode == AdminOpc.CREATE_SQ:
            self._create_sq(e)
        elif opcode == AdminOpc.DELETE_SQ:
            sq = self._sqs.get(e.cdw10 & 0xFFFF)
            if sq is None or not e.cdw10 & 0xFFFF:
                raise _Bad(Status.QID_INVALID)
            self._cqs[sq.cqid].sqs -= 1
            del self._sqs[e.cdw10 & 0xFFFF]
        elif opcode == AdminOpc.DELETE_CQ:
            cq = self._cqs.get(e.cdw10 & 0xFFFF)
            if cq is None or not e.cdw10 & 0xFFFF:
                raise _Bad(Status.QID_INVALID)
            if cq.sqs:
                raise _Bad(Status.INVALID_QUEUE_DELETION)
            del self._cqs[e.cdw10 & 0xFFFF]
        elif opcode == AdminOpc.SET_FEATURES:
            return self._set_feature(e.cdw10 & 0xFF, e.cdw11)
        elif opcode == AdminOpc.GET_FEATURES:
            feature = e.cdw10 & 0xFF
            if feature == Feature.NUM_QUEUES:
                return self.num_qp - 1 | (self.num_qp - 1) << 16
            if feature in (*self._features, 5, 8, 9, 10, 11, 0xF, 2):
                return self._features.get(feature, 0)
            raise _Bad(Status.INVALID_FIELD)
        elif opcode == AdminOpc.GET_LOG_PAGE:
            size = 4 * ((e.cdw10 >> 16 | (e.cdw11 & 0xFFFF) << 16) + 1)
            at = e.cdw12 | e.cdw13 << 32
            self._scatter(e.prp1, e.prp2, self._log(e.cdw10 & 0xFF)[at : at + size].ljust(size, b"\0"))
        elif opcode == AdminOpc.ASYNC_EVENT:
            if len(self._aers) >= 4:
                raise _Bad(Status.AER_LIMIT)
            self._aers.append(e.cid)
            return None
        elif opcode == AdminOpc.ABORT:
            return 1
        elif opcode == AdminOpc.KEEP_ALIVE:
            pass
        elif opcode == AdminOpc.FORMAT_NVM:
            if e.nsid not in (1, NSID_ALL):
                raise _Bad(Status.INVALID_NS)
            if e.cdw10 & 0xF > 1:
                raise _Bad(Status.INVALID_FORMAT)
            self._lba4k = bool(e.cdw10 & 1)
            self._zero(0, self.media_size)
        else:
            raise _Bad(Status.INVALID_OPCODE)
        return 0

    def _create_cq(self, e: Sqe) -> None:
        qid, entries = e.cdw10 & 0xFFFF, (e.cdw10 >> 16) + 1
        if not 1 <= qid <= self.num_qp or qid in self._cqs:
            raise _Bad(Status.QID_INVALID)
        if not 2 <= entries <= 4096:
            raise _Bad(Status.QUEUE_SIZE)
        if e.prp1 % PAGE:
            raise _Bad(Status.INVALID_PRP_OFFSET)
        if not e.cdw11 & 1:
            raise _Bad(Status.INVALID_FIELD)
        if e.cdw11 >> 16 > self.num_qp:
            raise _Bad(Status.INVALID_VECTOR)
        self._cqs[qid] = _Cq(e.prp1, entries, e.cdw11 >> 16, bool(e.cdw11 & 2))

    def _create_sq(self, e: Sqe) -> None:
        qid, entries, cqid = e.cdw10 & 0xFFFF, (e.cdw10 >> 16) + 1, e.cdw11 >> 16
        if not 1 <= qid <= self.num_qp or qid in self._sqs:
            raise _Bad(Status.QID_INVALID)
        if not 2 <= entries <= 4096:
            raise _Bad(Status.QUEUE_SIZE)
        if not 1 <= cqid <= self.num_qp:
            raise _Bad(Status.QID_INVALID)
        if cqid not in self._cqs:
            raise _Bad(Status.CQ_INVALID)
        if e.prp1 % PAGE:
            raise _Bad(Status.INVALID_PRP_OFFSET)
        if not e.cdw11 & 1:
            raise _Bad(Status.INVALID_FIELD)
        self._sqs[qid] = _Sq(e.prp1, entries, cqid, e.cdw11 >> 1 & 3)
        self._cqs[cqid].sqs += 1

    def _set_feature(self, feature: int, value: int) -> int:
        if feature == Feature.NUM_QUEUES:
            if value & 0xFFFF == 0xFFFF or value >> 16 == 0xFFFF:
                raise _Bad(Status.INVALID_FIELD)
            if len(self._cqs) > 1:
                raise _Bad(Status.CMD_SEQ_ERROR)
            return self.num_qp - 1 | (self.num_qp - 1) << 16
        if feature == Feature.IRQ_CONFIG:
            (self._no_coalesce.add if value >> 16 & 1 else self._no_coalesce.discard)(value & 0xFFFF)
        elif feature not in (1, 2, 4, 5, 6, 8, 10, 11, 15):
            raise _Bad(Status.INVALID_FIELD)
        self._features[feature] = value
        return 0

    def _identify(self, cns: int, nsid: int) -> bytes:
        if cns == Cns.CTRL:
            c = IdCtrl(sn=b"DB00000001".ljust(20), mn=b"Doorbell functional model".ljust(40), fr=b"0.1".ljust(8),
                            mdts=8, ver=0x20000, oacs=OACS_FORMAT, acl=3, aerl=3, frmw=3, elpe=15, sqes=0x66,
                            cqes=0x44, nn=1, cntrltype=1, vwc=1, lpa=2,
                            oncs=ONCS_COMPARE | ONCS_DSM | ONCS_WRITE_ZEROES | ONCS_VERIFY)
            return bytes(c)
        if cns == Cns.NS:
            if nsid not in (1, NSID_ALL):
                raise _Bad(Status.INVALID_NS)
            blocks = self.media_size // self._block
            n = IdNs(nsze=blocks, ncap=blocks, nuse=blocks, nlbaf=1, flbas=int(self._lba4k), dlfeat=1)
            n.lbaf[0].ds, n.lbaf[1].ds = 9, 12
            return bytes(n)
        if cns == Cns.NS_ACTIVE_LIST:
            return struct.pack("<I", 1 if nsid < 1 else 0)
        if cns == Cns.NS_DESC_LIST:
            return bytes([Nidt.NGUID, 16, 0, 0]) + bytes(range(16)) + bytes([Nidt.CSI, 1, 0, 0, 0])
        if cns in (Cns.CSI_CTRL, Cns.CSI_NS):
            return b""
        raise _Bad(Status.INVALID_FIELD)

    def _log(self, page: int) -> bytes:
        if page == LogPage.ERROR:
            return b"".join(self._errors).ljust(1024, b"\0")
        if page == LogPage.SMART:
            log = SmartLog(temperature=313, avail_spare=100, spare_thresh=10)
            for name, value in (("data_units_read", -(-self._counts["read_sectors"] // 1000)),
                                ("data_units_written", -(-self._counts["write_sectors"] // 1000)),
                                ("host_reads", self._counts["reads"]), ("host_writes", self._counts["writes"]),
                                ("num_err_log_entries", self._error_count)):
                getattr(log, name)[:] = value.to_bytes(16, "little")
            return bytes(log)
        if page == LogPage.FW_SLOT:
            return bytes(FwSlotLog(afi=1)).ljust(512, b"\0")
        if page == LogPage.CMD_EFFECTS:
            return bytes(EffectsLog())
        raise _Bad(Status.INVALID_LOG_PAGE)

    def _log_error(self, sqid: int, cid: int, status: int, nsid: int, lba: int) -> None:
        self._error_count += 1
        self._errors.appendleft(bytes(ErrorLogEntry(
            error_count=self._error_count, sqid=sqid, cmdid=cid, status_field=status << 1, lba=lba, nsid=nsid)))
