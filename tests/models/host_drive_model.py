# SPDX-License-Identifier: Apache-2.0
"""An NVMe drive as its host sees it: configuration space, controller registers, admin queue; for tests of db_host.

Written from PCI Express Base 4.0 (7.5, 7.8) and NVMe Base 2.0 (3.1, 3.5, 5), independent of the RTL. It asserts what a
host must not do. Everything about it can be chosen, and each fault that db_host names can be put in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

GOOD, UR, CRS = 0, 1, 2
SILENT = None
ONES = 0xFFFFFFFF
CREATE_SQ, CREATE_CQ, IDENTIFY, ABORT, SET_FEATURES, GET_LOG = 0x01, 0x05, 0x06, 0x08, 0x09, 0x02


@dataclass
class Options:
    vendor: int = 0x1234
    class_code: int = 0x010802
    header: int = 0x00
    bar_kind: int = 0b100  # low bits of BAR 0: 64-bit memory
    bar_bytes: int = 16384
    caps: tuple[tuple[int, int], ...] = ((0x40, 0x01), (0x80, 0x10), (0x50, 0x11))  # (offset, identifier) as linked
    caps_loop: bool = False
    mps: int = 1
    ext_tag: bool = True
    crs_ms: float = 0.0
    crs_by_vendor: bool = False  # the root port makes a vendor ID of 0001h of it
    mqes: int = 1023
    dstrd: int = 0
    to: int = 4
    css: int = 0x01  # CAP.CSS
    mpsmin: int = 0
    on_ms: float = 3.0
    off_ms: float = 2.0
    shut_ms: float | None = 1.5  # CC.SHN to CSTS.SHST; None: never
    start_enabled: bool = False  # firmware before us has left it on
    mdts: int = 5
    oncs: int = 0x4C
    vwc: int = 1
    sgls: int = 0
    formats: tuple[tuple[int, int], ...] = ((9, 0), (12, 0))  # (log2 of the block, metadata)
    flbas: int = 0
    nsze: int = 0x1_2345_6789
    nsid: int = 1
    queues: tuple[int, int] = (64, 64)  # submission, completion, that it gives
    # faults
    cfg_status: int | None = GOOD  # of every configuration request; SILENT: no answer
    never_on: bool = False
    never_off: bool = False
    fatal_on_enable: bool = False
    mute: frozenset[int] = frozenset()  # admin opcodes that are never completed
    status: dict[int, int] = field(default_factory=dict)  # admin opcode: status of its completion
    identify_ns_status: int = 0


class Drive:
    """Time is in milliseconds, given to `step`."""

    def __init__(
        self,
        o: Options,
        fetch: Callable[[int], list[int]],
        store: Callable[[int, bytes], None],
        complete: Callable[[int, int], None],
    ) -> None:
        """fetch(address): 16 dwords; store(address, data); complete(address, entry)."""
        self.o, self.fetch, self.store, self.complete = o, fetch, store, complete
        self.now = 0.0
        self.gone = False
        self.log: list[tuple[str, int, int]] = []  # register writes and admin commands, for tests
        self.aborted: list[tuple[int, int]] = []
        self.resets = 0
        self.extra_cqe = False  # a stale completion goes before the next one
        self.power_on(0.0)

    def power_on(self, now: float) -> None:
        self.born = now
        o = self.o
        self.cfg = [0] * 1024
        self.cfg[0] = 0x5678 << 16 | o.vendor
        self.cfg[1] = 0x0010 << 16
        self.cfg[2] = o.class_code << 8 | 1
        self.cfg[3] = o.header << 16
        self.cfg[4] = o.bar_kind
        self.cfg[13] = o.caps[0][0] if o.caps else 0
        self.pcie = 0
        for i, (at, ident) in enumerate(o.caps):
            following = o.caps[i + 1][0] if i + 1 < len(o.caps) else (o.caps[0][0] if o.caps_loop else 0)
            self.cfg[at // 4] = following << 8 | ident | 0x0002_0000
            if ident == 0x10:
                self.pcie = at // 4
                self.cfg[self.pcie + 1] = o.mps | o.ext_tag << 5 | 0x8000
                self.cfg[self.pcie + 2] = 0x2810  # after reset: relaxed ordering, no snoop on
        self.cc = 0
        self.csts = 0
        self.change_at: float | None = None  # when RDY follows EN
        self.shut_at: float | None = None  # when SHST says that it is shut down
        self.aqa = self.asq = self.acq = 0
        if o.start_enabled:
            self.cc, self.csts = 0x460001, 1
        self.clear_queues()

    def clear_queues(self) -> None:
        self.sq_head = self.sq_tail = self.cq_tail = self.cq_head = 0
        self.phase = 1
        self.cqs: dict[int, int] = {}
        self.sqs: dict[int, int] = {}
        self.doorbells: dict[tuple[int, int], int] = {}

    # ------------------------------------------------------------------ configuration space
    def config(self, write: bool, addr: int, be: int, data: int) -> tuple[int, int] | None:
        """Status and data, or nothing at all."""
        if self.gone or self.o.cfg_status is SILENT:
            return None
        if self.o.cfg_status != GOOD:
            return self.o.cfg_status, ONES
        if self.now - self.born < self.o.crs_ms:
            if not self.o.crs_by_vendor:
                return CRS, 0
            assert not write and addr == 0, "only the vendor ID may be read while the drive answers CRS"
            return GOOD, 0xFFFF0001
        at = addr // 4
        if not write:
            assert be == 0xF
            return GOOD, self.cfg[at]
        mask = sum(0xFF << 8 * i for i in range(4) if be >> i & 1)
        new = (self.cfg[at] & ~mask | data & mask) & ONES
        if at == 1:
            assert be & 0xC == 0, "Status has write-1-to-clear bits"
            self.cfg[1] = self.cfg[1] & ~0x0547 | new & 0x0547
        elif at == 4 or (at == 5 and self.o.bar_kind == 0b100):
            assert be == 0xF
            assert self.cfg[1] & 2 == 0, "a BAR is moved while it is decoded"
            keep = -self.o.bar_bytes & ONES if at == 4 else ONES
            self.cfg[at] = new & keep | (self.o.bar_kind if at == 4 else 0)
            if self.o.bar_kind & 1 or self.o.bar_bytes == 0:
                self.cfg[4] = self.o.bar_kind
        elif at == self.pcie + 2:
            assert be & 0xC == 0 and new & 0x8000 == 0, "Device Status; function level reset"
            self.cfg[at] = self.cfg[at] & ~0xFFFF | new & 0xFFFF
            assert (new >> 5 & 7) <= self.o.mps, "MPS above what the drive can"
            assert new & 0x0810 == 0, "relaxed ordering, no snoop"
            assert (new >> 8 & 1) == self.o.ext_tag
        else:
            raise AssertionError(f"configuration write to {addr:#x}")
        return GOOD, 0

    @property
    def bar(self) -> int:
        return (self.cfg[5] << 32 if self.o.bar_kind == 0b100 else 0) | self.cfg[4] & ~0xF

    # ------------------------------------------------------------------ BAR 0
    def cap(self) -> int:
        o = self.o
        return o.mqes | 1 << 16 | o.to << 24 | o.dstrd << 32 | o.css << 37 | o.mpsmin << 48

    def _hit(self, addr: int) -> int | None:
        if not self.cfg[1] & 2 or not self.bar <= addr < self.bar + self.o.bar_bytes:
            return None
        return addr - self.bar

    def mem_read(self, addr: int) -> tuple[int, int] | None:
        if self.gone:
            return GOOD, ONES  # what root ports make of it
        at = self._hit(addr)
        if at is None:
            return UR, ONES
        wide = {0x00: self.cap(), 0x28: self.asq, 0x30: self.acq}
        for base, value in wide.items():
            if at in (base, base + 4):
                return GOOD, value >> 8 * (at - base) & ONES
        return GOOD, {0x08: 0x20000, 0x14: self.cc, 0x1C: self.csts, 0x24: self.aqa}.get(at, 0)

    def mem_write(self, addr: int, data: int) -> None:
        if self.gone or (at := self._hit(addr)) is None:
            return
        self.log.append(("reg", at, data))
        if at >= 0x1000:
            self.doorbell(at - 0x1000, data)
        elif at == 0x14:
            was, self.cc = self.cc & 1, data
            if data & 1 and not was:
                assert data == 0x460001, f"CC {data:#x}"
                assert self.csts & 1 == 0, "enabled before RDY was 0"
                assert self.aqa and self.asq and self.acq
                self.change_at = self.now + self.o.on_ms
            elif was and not data & 1:
                self.csts &= ~12
                self.shut_at = None
                self.change_at = self.now + self.o.off_ms
                self.resets += 1
            elif was:
                assert data == 0x464001, f"CC {data:#x}"
                assert self.csts & 13 == 1, "shut down again, or before it was ready"
                self.csts |= 4
                self.shut_at = None if self.o.shut_ms is None else self.now + self.o.shut_ms
        elif at in (0x24, 0x28, 0x2C, 0x30, 0x34):
            assert self.cc & 1 == 0 and self.csts & 1 == 0, "admin queues are set up while it is on"
            if at == 0x24:
                self.aqa = data
            else:
                name, half = ("asq", at - 0x28) if at < 0x30 else ("acq", at - 0x30)
                value = getattr(self, name)
                setattr(self, name, value & (ONES << 32 if half == 0 else ONES) | data << 8 * half)
                assert getattr(self, name) & 0xFFF == 0
        else:
            raise AssertionError(f"write of {data:#x} to register {at:#x}")

    def doorbell(self, offset: int, data: int) -> None:
        step = 4 << self.o.dstrd
        assert offset % step == 0, f"doorbell at {offset:#x}, stride {step}"
        assert data >> 16 == 0
        n = offset // step
        qid, cq = n // 2, n % 2
        if qid == 0 and not self.csts & 1:
            return  # in flight while it was reset
        self.doorbells[qid, cq] = data
        if qid == 0 and cq:
            size = (self.aqa >> 16) + 1
            assert data < size and (data - self.cq_head) % size <= (self.cq_tail - self.cq_head) % size
            self.cq_head = data
        elif qid == 0:
            assert data < (self.aqa & 0xFFF) + 1
            self.sq_tail = data
        else:
            assert data < (self.cqs if cq else self.sqs)[qid]

    # ------------------------------------------------------------------ time
    def step(self, now: float) -> None:
        self.now = now
        if self.gone:
            return
        if self.change_at is not None and now >= self.change_at:
            self.change_at = None
            if self.cc & 1:
                if self.o.fatal_on_enable:
                    self.csts = 2
                elif not self.o.never_on:
                    self.csts = 1
                self.clear_queues()
            elif not self.o.never_off:
                self.csts = 0
        if self.shut_at is not None and now >= self.shut_at:
            self.shut_at = None
            self.csts = self.csts & ~12 | 8
        if self.cc & 1 and self.csts & 3 == 1 and self.sq_head != self.sq_tail:
            self.command()

    def command(self) -> None:
        assert self.cfg[1] & 4, "DMA without bus master"
        sqe = self.fetch(self.asq + 64 * self.sq_head)
        self.sq_head = (self.sq_head + 1) % ((self.aqa & 0xFFF) + 1)
        opc, cid, nsid = sqe[0] & 0xFF, sqe[0] >> 16, sqe[1]
        assert sqe[0] & 0xFF00 == 0, "FUSE, PSDT"
        self.log.append(("admin", opc, sqe[10]))
        if opc in self.o.mute:
            return
        status, dw0 = self.o.status.get(opc, 0), 0
        prp1 = sqe[7] << 32 | sqe[6]
        if status == 0:
            if opc == IDENTIFY:
                status = self.identify(sqe[10], nsid, prp1)
            elif opc == SET_FEATURES:
                assert sqe[10] == 7
                asked = (sqe[11] & 0xFFFF, sqe[11] >> 16)
                assert not self.sqs and not self.cqs and max(asked) < 0xFFFF
                dw0 = self.o.queues[0] - 1 | (self.o.queues[1] - 1) << 16
            elif opc == CREATE_CQ:
                qid, size = self._create(sqe, prp1, self.cqs)
                assert sqe[11] == 1, "contiguous, no interrupts"
                self.cqs[qid] = size
            elif opc == CREATE_SQ:
                qid, size = self._create(sqe, prp1, self.sqs)
                assert sqe[11] & 0xFFFF == 1 and sqe[11] >> 16 in self.cqs
                self.sqs[qid] = size
            elif opc == ABORT:
                self.aborted.append((sqe[10] & 0xFFFF, sqe[10] >> 16))
                dw0 = 1
            elif opc == GET_LOG:
                self.store(prp1, bytes((i * 7 + sqe[10]) & 0xFF for i in range(4096)))
                dw0 = 0xC0FFEE ^ sqe[12]
            else:
                status = 0x4001
        if self.extra_cqe:
            self.extra_cqe = False
            self.post(cid ^ 0x55, 0, 0xDEAD)
        self.post(cid, status, dw0)

    def post(self, cid: int, status: int, dw0: int) -> None:
        size = (self.aqa >> 16) + 1
        assert (self.cq_tail + 1 - self.cq_head) % size != 0, "admin completion queue full"
        dw3 = status << 17 | self.phase << 16 | cid
        self.complete(self.acq + 16 * self.cq_tail, dw0 | self.sq_head << 64 | dw3 << 96 | 0x77 << 32)
        self.cq_tail = (self.cq_tail + 1) % size
        self.phase ^= self.cq_tail == 0

    def _create(self, sqe: list[int], prp1: int, known: dict[int, int]) -> tuple[int, int]:
        qid, size = sqe[10] & 0xFFFF, (sqe[10] >> 16) + 1
        assert prp1 & 0xFFF == 0 and qid and qid not in known and qid <= min(self.o.queues)
        assert 2 <= size <= self.o.mqes + 1, f"queue of {size} with MQES {self.o.mqes}"
        self.log.append(("queue", qid, prp1))
        return qid, size

    def identify(self, cns: int, nsid: int, prp1: int) -> int:
        data = bytearray(4096)
        o = self.o
        if cns == 1:
            data[0:2] = o.vendor.to_bytes(2, "little")
            data[77] = o.mdts
            data[512:514] = bytes([0x66, 0x44])
            data[516:520] = (8).to_bytes(4, "little")
            data[520:522] = o.oncs.to_bytes(2, "little")
            data[525] = o.vwc | 0xE
            data[536:540] = o.sgls.to_bytes(4, "little")
        else:
            assert cns == 0
            if o.identify_ns_status:
                return o.identify_ns_status
            if nsid == o.nsid:
                data[0:8] = data[8:16] = o.nsze.to_bytes(8, "little")
                data[25] = len(o.formats) - 1
                data[26] = o.flbas
                for i, (shift, meta) in enumerate(o.formats):
                    data[128 + 4 * i : 132 + 4 * i] = (shift << 16 | meta).to_bytes(4, "little")
        self.store(prp1, bytes(data))
        return 0
