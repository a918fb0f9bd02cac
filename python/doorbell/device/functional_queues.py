# SPDX-License-Identifier: Apache-2.0
"""The functional drive's controller: registers, queues, arbitration, completions, interrupts."""

from __future__ import annotations

import contextlib
import struct
from collections import deque
from collections.abc import Callable
from typing import Any

from doorbell.device.functional_machine import NS_PER_CYCLE, CommandFailed, FunctionalMachine
from doorbell.device.messages import Irq
from doorbell.nvme.constants import (
    CC_AMS_WRRU,
    CSTS_CFS,
    CSTS_NSSRO,
    NSSR_MAGIC,
    STATUS_DNR,
    Feature,
    NvmOpc,
    Reg,
)
from doorbell.nvme.structures import Sqe
from doorbell.nvme.vendor import BAR_MSIX_PBA, BAR_MSIX_TABLE


class FunctionalSq:
    def __init__(self, base: int, entries: int, cqid: int, prio: int) -> None:
        self.base, self.entries, self.cqid, self.prio = base, entries, cqid, prio
        self.head = self.tail = 0
        self.cids: set[int] = set()


class FunctionalCq:
    def __init__(self, base: int, entries: int, vector: int, ien: bool) -> None:
        self.base, self.entries, self.vector, self.ien = base, entries, vector, ien
        self.head = self.tail = 0
        self.phase = 1
        self.waiting: deque[tuple[int, int, int, int]] = deque()
        self.sqs = 0
        self.since: int = 0  # completions since the last interrupt


class FunctionalQueues(FunctionalMachine):
    """Fetches commands by the rules of the specification; `_run_io` and `_run_admin` do them."""

    def __init__(
        self,
        media_size: int | None,
        image: str | None,
        seed: int,
        num_qp: int,
        num_cmds: int,
        jitter_ns: int,
        latency_ns: int,
        write_latency_ns: int,
        bytes_per_ns: float,
        flush_latency_ns: int,
        zero_gbps: float,
    ) -> None:
        super().__init__(media_size, image, seed)
        self.num_qp, self.num_cmds = num_qp, num_cmds
        self.jitter, self.rate = jitter_ns // 4, bytes_per_ns * NS_PER_CYCLE
        self.latency = {"read": latency_ns // 4, "write": write_latency_ns // 4, "flush": flush_latency_ns // 4}
        self.zero_rate = zero_gbps * NS_PER_CYCLE
        self.cfg: dict[str, Any] = {}
        self.on_queue: Callable[[int], None] = lambda _: None
        """Told of a queue that begins: the number of its doorbell."""
        self._msix = bytearray(16 * (num_qp + 1))
        self._lba4k = False
        self._reset()

    def _run_io(self, qid: int, sq: FunctionalSq, sqe: Sqe) -> None:
        raise NotImplementedError

    def _run_admin(self, e: Sqe) -> None:
        raise NotImplementedError

    def mmio_write(self, off: int, data: int, size: int = 4) -> None:
        self._at(60, lambda: self._write(off, data, size), epoch=False)

    def mmio_read(self, off: int, size: int = 4) -> int:
        self.run(150)
        return sum(self._read(off + i) << 8 * i for i in range(0, size, 4))

    def set_cfg(self, **cfg: Any) -> None:
        self.cfg.update(cfg)
        for vector in range(self.num_qp + 1):
            if self._pending >> vector & 1:
                self._fire(vector)

    def flr(self) -> None:
        self._reset()
        self.run(100)

    @property
    def _block(self) -> int:
        return 4096 if self._lba4k else 512

    # Registers --------------------------------------------------------------------------------------------------

    def _reset(self) -> None:
        self._epoch = self._epoch + 1
        self._cc = self._csts = self._aqa = self._asq = self._acq = self._intm = 0
        self._msix[:] = (b"\0" * 12 + b"\1\0\0\0") * (self.num_qp + 1)
        self._clear_queues()

    def _clear_queues(self) -> None:
        self._sqs: dict[int, FunctionalSq] = {}
        self._cqs: dict[int, FunctionalCq] = {}
        self._inflight = 0
        self._pending = 0
        self._kicked = False
        self._busy_until = {"read": 0.0, "write": 0.0}
        self._features: dict[int, int] = {
            Feature.ARBITRATION: 7,
            Feature.NUM_QUEUES: 0,
            Feature.VOLATILE_WC: 1,
            Feature.TEMP_THRESH: 0x157,
        }
        self._no_coalesce: set[int] = set()
        self._aers: list[int] = []
        self._credits = [0, 0, 0]
        self._turn = 0

    def _read(self, off: int) -> int:
        if BAR_MSIX_TABLE <= off < BAR_MSIX_TABLE + len(self._msix):
            return int(struct.unpack_from("<I", self._msix, off - BAR_MSIX_TABLE)[0])
        cap = 4095 | 1 << 16 | 1 << 17 | 20 << 24 | 1 << 36 | 1 << 37
        values = {
            Reg.CAP: cap & 0xFFFFFFFF,
            Reg.CAP + 4: cap >> 32,
            Reg.VS: 0x20000,
            Reg.INTMS: self._intm,
            Reg.INTMC: self._intm,
            Reg.CC: self._cc,
            Reg.CSTS: self._csts,
            Reg.AQA: self._aqa,
            Reg.ASQ: self._asq & 0xFFFFFFFF,
            Reg.ASQ + 4: self._asq >> 32,
            Reg.ACQ: self._acq & 0xFFFFFFFF,
            Reg.ACQ + 4: self._acq >> 32,
            BAR_MSIX_PBA: self._pending & 0xFFFFFFFF,
            BAR_MSIX_PBA + 4: self._pending >> 32,
        }
        return values.get(off, 0)

    def _write(self, off: int, data: int, size: int) -> None:
        if off % 4 or size not in (4, 8):  # the registers are dwords
            return
        if size == 8:
            self._write(off, data & 0xFFFFFFFF, 4)
            self._write(off + 4, data >> 32, 4)
        elif BAR_MSIX_TABLE <= off < BAR_MSIX_TABLE + len(self._msix):
            struct.pack_into("<I", self._msix, off - BAR_MSIX_TABLE, data)
            vector = (off - BAR_MSIX_TABLE) // 16
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
                try:
                    self._flush_media()
                except CommandFailed:
                    self._csts |= CSTS_CFS  # what it would promise is not true
                    return
                self._csts = self._csts & ~0xC | 8

            self._csts = self._csts & ~0xC | 4
            self._at(500, complete)

    def _start(self) -> None:
        self._cqs[0] = FunctionalCq(self._acq, (self._aqa >> 16 & 0xFFF) + 1, 0, True)
        self._sqs[0] = FunctionalSq(self._asq, (self._aqa & 0xFFF) + 1, 0, 0)
        for doorbell in range(2):
            self.on_queue(doorbell)
        self._csts |= 1

    def _doorbell(self, qid: int, is_cq: bool, value: int) -> None:
        queue = (self._cqs if is_cq else self._sqs).get(qid)
        if queue is None or value >= queue.entries:
            return
        if isinstance(queue, FunctionalCq):
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
            except CommandFailed:
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

    def _issue(self, qid: int, sq: FunctionalSq, sqe: Sqe) -> None:
        if qid == 0:
            self._at(200, lambda: self._run_admin(sqe))
            return
        self._inflight += 1
        size, takes = ((sqe.cdw12 & 0xFFFF) + 1) * self._block, 0.0
        if sqe.opcode in (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE):
            takes = size / self.rate
        elif sqe.opcode == NvmOpc.WRITE_ZEROES and self.zero_rate:
            takes = size / self.zero_rate
        way = "read" if sqe.opcode == NvmOpc.READ else "write"
        busy = max(self._busy_until[way], self.cycle) + takes
        self._busy_until[way] = busy
        latency = self.latency["flush" if sqe.opcode == NvmOpc.FLUSH else way]
        delay = busy - self.cycle + latency + self._rng.randrange(self.jitter + 1)
        self._at(delay, lambda: self._run_io(qid, sq, sqe))

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

    def _post(self, cq: FunctionalCq, qid: int, cid: int, status: int, dw0: int) -> None:
        sq = self._sqs.get(qid)
        head = sq.head if sq else 0
        entry = struct.pack("<IIHHHH", dw0, 0, head, qid, cid, status << 1 | cq.phase)
        with contextlib.suppress(CommandFailed):  # posted: nobody hears that it did not arrive
            self._put(cq.base + 16 * cq.tail, entry)
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

    def _coalesced(self, cq: FunctionalCq) -> None:
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
