# SPDX-License-Identifier: Apache-2.0
"""Functional drive: the controller of `db_ssd` in plain Python behind the interface of `doorbell.device.Sim`.

No RTL, no link, rough timing. It exists so that driver, tests, demo and bench can run without a build, and so that
tests have a second implementation: a test that fails on both is wrong itself. Written from the specification.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import Any

from doorbell.device.functional_machine import PAGE, CommandFailed
from doorbell.device.functional_queues import FunctionalCq, FunctionalQueues, FunctionalSq
from doorbell.nvme.constants import (
    DSM_AD,
    NSID_ALL,
    OACS_FORMAT,
    ONCS_COMPARE,
    ONCS_DSM,
    ONCS_WRITE_UNCOR,
    ONCS_WRITE_ZEROES,
    RW_FUA,
    AdminOpc,
    Cns,
    Feature,
    LogPage,
    Nidt,
    NvmOpc,
    Status,
)
from doorbell.nvme.log_pages import EffectsLog, ErrorLogEntry, FwSlotLog, SmartLog
from doorbell.nvme.structures import DsmRange, IdCtrl, IdCtrlNvm, IdNs, Sqe

MDTS_BYTES = 1 << 20  # of a command's data, at most


class FunctionalSsd(FunctionalQueues):
    """Subset of `doorbell.device.Sim`, with what the commands do.

    media_*: of the media, as of `Sim`, beside what the controller takes (`latency_ns`). Deallocate, Format take none.
    uncorrectable: has Write Uncorrectable (the RTL's parameter UNCORRECTABLE).
    """

    top = "functional"

    def __init__(
        self,
        *,
        media_size: int | None = None,
        image: str | None = None,
        seed: int = 1,
        num_qp: int = 32,
        num_cmds: int = 128,
        jitter_ns: int = 2000,
        latency_ns: int = 1500,
        bytes_per_ns: float = 7.0,
        media_latency_ns: int = 0,
        media_write_latency_ns: int | None = None,
        media_flush_latency_ns: int | None = None,
        media_zero_gbps: float = 0,
        uncorrectable: bool = False,
        **_: Any,
    ) -> None:
        write_ns = media_latency_ns if media_write_latency_ns is None else media_write_latency_ns
        flush_ns = write_ns if media_flush_latency_ns is None else media_flush_latency_ns
        super().__init__(
            media_size,
            image,
            seed,
            num_qp,
            num_cmds,
            jitter_ns,
            latency_ns + media_latency_ns,
            latency_ns + write_ns,
            bytes_per_ns,
            latency_ns + flush_ns,
            media_zero_gbps,
        )
        self._errors: deque[bytes] = deque(maxlen=16)
        self._error_count = 0
        self._uncorrectable = uncorrectable

    # I/O commands -----------------------------------------------------------------------------------------------

    def _run_io(self, qid: int, sq: FunctionalSq, sqe: Sqe) -> None:
        if self._sqs.get(qid) is sq:  # else its queue has been deleted, and with that it has ended
            try:
                self._io(sqe)
                status = Status.SUCCESS
            except CommandFailed as bad:
                status = bad.status
                self._log_error(qid, sqe.cid, status, sqe.nsid, sqe.cdw10 | sqe.cdw11 << 32)
            self._complete(qid, sqe.cid, status)
        self._inflight -= 1
        self._kick()

    def _io(self, e: Sqe) -> None:
        if e.opcode not in (
            NvmOpc.FLUSH,
            NvmOpc.WRITE,
            NvmOpc.READ,
            NvmOpc.COMPARE,
            NvmOpc.WRITE_ZEROES,
            NvmOpc.DSM,
            NvmOpc.VERIFY,
        ) and not (e.opcode == NvmOpc.WRITE_UNCOR and self._uncorrectable):
            raise CommandFailed(Status.INVALID_OPCODE)
        data = e.opcode in (NvmOpc.WRITE, NvmOpc.READ, NvmOpc.COMPARE, NvmOpc.DSM)
        if e.flags & 3 or (data and e.flags >> 6):
            raise CommandFailed(Status.INVALID_FIELD)
        if e.nsid != 1 and not (e.opcode == NvmOpc.FLUSH and e.nsid == NSID_ALL):
            raise CommandFailed(Status.INVALID_NS)
        if e.opcode == NvmOpc.FLUSH:
            self._flush_media()
            return
        blocks = self.media_size // self._block
        if e.opcode == NvmOpc.DSM:
            count = (e.cdw10 & 0xFF) + 1
            raw = self._gather(e.prp1, e.prp2, 16 * count)
            ranges = [DsmRange.from_buffer_copy(raw, 16 * i) for i in range(count)]
            if any(r.slba + r.nlb > blocks for r in ranges):
                raise CommandFailed(Status.LBA_RANGE)
            if e.cdw11 & DSM_AD:
                for r in ranges:
                    self._zero(r.slba * self._block, r.nlb * self._block)
            return
        slba, count = e.cdw10 | e.cdw11 << 32, (e.cdw12 & 0xFFFF) + 1
        if slba + count > blocks:
            raise CommandFailed(Status.LBA_RANGE)
        at, size = slba * self._block, count * self._block
        fua = bool(e.cdw12 & RW_FUA)
        durable = fua or not self._features[Feature.VOLATILE_WC] & 1
        if e.opcode == NvmOpc.WRITE_ZEROES:
            self._media_ok(at, size, Status.WRITE_FAULT)
            self._zero(at, size)
            if durable:
                self._flush_media()
            return
        if e.opcode == NvmOpc.WRITE_UNCOR:
            self._media_ok(at, size, Status.WRITE_FAULT)
            self._unreadable.update(self._sectors(at, size))
            return
        if size > MDTS_BYTES:
            raise CommandFailed(Status.INVALID_FIELD)
        if fua and e.opcode != NvmOpc.WRITE:
            self._flush_media(Status.READ_ERROR)
        if e.opcode == NvmOpc.VERIFY:
            self._media_ok(at, size, Status.READ_ERROR)
            self._media_readable(at, size)
            return
        self._media_ok(at, size, Status.WRITE_FAULT if e.opcode == NvmOpc.WRITE else Status.READ_ERROR)
        if e.opcode != NvmOpc.WRITE:
            self._media_readable(at, size)
        if e.opcode == NvmOpc.READ:
            self._scatter(e.prp1, e.prp2, self._fetch_media(at, size))
            self._counts["reads"] += 1
            self._counts["read_sectors"] += size // 512
            return
        sent = self._gather(e.prp1, e.prp2, size)
        if e.opcode == NvmOpc.COMPARE:
            self._counts["reads"] += 1
            if sent != self._fetch_media(at, size):
                raise CommandFailed(Status.COMPARE_FAILED)
        else:
            self._store(at, sent)
            if durable:
                self._flush_media()
            self._counts["writes"] += 1
            self._counts["write_sectors"] += size // 512

    # Admin commands ---------------------------------------------------------------------------------------------

    def _run_admin(self, e: Sqe) -> None:
        try:
            dw0 = self._admin(e)
            if dw0 is None:
                return
            self._complete(0, e.cid, Status.SUCCESS, dw0)
        except CommandFailed as bad:
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
                raise CommandFailed(Status.QID_INVALID)
            cq = self._cqs[sq.cqid]
            cq.sqs -= 1
            cq.waiting = deque(entry for entry in cq.waiting if entry[0] != e.cdw10 & 0xFFFF)
            del self._sqs[e.cdw10 & 0xFFFF]
        elif opcode == AdminOpc.DELETE_CQ:
            cq = self._cqs.get(e.cdw10 & 0xFFFF)
            if cq is None or not e.cdw10 & 0xFFFF:
                raise CommandFailed(Status.QID_INVALID)
            if cq.sqs:
                raise CommandFailed(Status.INVALID_QUEUE_DELETION)
            del self._cqs[e.cdw10 & 0xFFFF]
        elif opcode == AdminOpc.SET_FEATURES:
            return self._set_feature(e.cdw10 & 0xFF, e.cdw11)
        elif opcode == AdminOpc.GET_FEATURES:
            feature = e.cdw10 & 0xFF
            if feature == Feature.NUM_QUEUES:
                return self.num_qp - 1 | (self.num_qp - 1) << 16
            if feature in (*self._features, 5, 8, 9, 10, 11, 0xF, 2):
                return self._features.get(feature, 0)
            raise CommandFailed(Status.INVALID_FIELD)
        elif opcode == AdminOpc.GET_LOG_PAGE:
            size = 4 * ((e.cdw10 >> 16 | (e.cdw11 & 0xFFFF) << 16) + 1)
            if size > MDTS_BYTES:
                raise CommandFailed(Status.INVALID_FIELD)
            at = e.cdw12 | e.cdw13 << 32
            self._scatter(e.prp1, e.prp2, self._log(e.cdw10 & 0xFF)[at : at + size].ljust(size, b"\0"))
        elif opcode == AdminOpc.ASYNC_EVENT:
            if len(self._aers) >= 4:
                raise CommandFailed(Status.AER_LIMIT)
            self._aers.append(e.cid)
            return None
        elif opcode == AdminOpc.ABORT:
            return 1
        elif opcode == AdminOpc.KEEP_ALIVE:
            pass
        elif opcode == AdminOpc.FORMAT_NVM:
            if e.nsid not in (1, NSID_ALL):
                raise CommandFailed(Status.INVALID_NS)
            if e.cdw10 & 0xF > 1:
                raise CommandFailed(Status.INVALID_FORMAT)
            self._lba4k = bool(e.cdw10 & 1)
            self._zero(0, self.media_size)
        else:
            raise CommandFailed(Status.INVALID_OPCODE)
        return 0

    def _create_cq(self, e: Sqe) -> None:
        qid, entries = e.cdw10 & 0xFFFF, (e.cdw10 >> 16) + 1
        if not 1 <= qid <= self.num_qp or qid in self._cqs:
            raise CommandFailed(Status.QID_INVALID)
        if not 2 <= entries <= 4096:
            raise CommandFailed(Status.QUEUE_SIZE)
        if e.prp1 % PAGE:
            raise CommandFailed(Status.INVALID_PRP_OFFSET)
        if not e.cdw11 & 1:
            raise CommandFailed(Status.INVALID_FIELD)
        if e.cdw11 >> 16 > self.num_qp:
            raise CommandFailed(Status.INVALID_VECTOR)
        self._cqs[qid] = FunctionalCq(e.prp1, entries, e.cdw11 >> 16, bool(e.cdw11 & 2))
        self.on_queue(2 * qid + 1)

    def _create_sq(self, e: Sqe) -> None:
        qid, entries, cqid = e.cdw10 & 0xFFFF, (e.cdw10 >> 16) + 1, e.cdw11 >> 16
        if not 1 <= qid <= self.num_qp or qid in self._sqs:
            raise CommandFailed(Status.QID_INVALID)
        if not 2 <= entries <= 4096:
            raise CommandFailed(Status.QUEUE_SIZE)
        if not 1 <= cqid <= self.num_qp:
            raise CommandFailed(Status.QID_INVALID)
        if cqid not in self._cqs:
            raise CommandFailed(Status.CQ_INVALID)
        if e.prp1 % PAGE:
            raise CommandFailed(Status.INVALID_PRP_OFFSET)
        if not e.cdw11 & 1:
            raise CommandFailed(Status.INVALID_FIELD)
        self._sqs[qid] = FunctionalSq(e.prp1, entries, cqid, e.cdw11 >> 1 & 3)
        self._cqs[cqid].sqs += 1
        self.on_queue(2 * qid)

    def _set_feature(self, feature: int, value: int) -> int:
        if feature == Feature.NUM_QUEUES:
            if value & 0xFFFF == 0xFFFF or value >> 16 == 0xFFFF:
                raise CommandFailed(Status.INVALID_FIELD)
            if len(self._cqs) > 1:
                raise CommandFailed(Status.CMD_SEQ_ERROR)
            return self.num_qp - 1 | (self.num_qp - 1) << 16
        if feature == Feature.IRQ_CONFIG:
            (self._no_coalesce.add if value >> 16 & 1 else self._no_coalesce.discard)(value & 0xFFFF)
        elif feature not in (1, 2, 4, 5, 6, 8, 10, 11, 15):
            raise CommandFailed(Status.INVALID_FIELD)
        if feature == Feature.VOLATILE_WC and not value & 1:
            self._flush_media()
        self._features[feature] = value
        return 0

    def _identify(self, cns: int, nsid: int) -> bytes:
        if cns == Cns.CTRL:
            c = IdCtrl(
                sn=b"DB00000001".ljust(20),
                mn=b"Doorbell functional model".ljust(40),
                fr=b"0.1".ljust(8),
                mdts=8,
                ver=0x20000,
                oacs=OACS_FORMAT,
                acl=3,
                aerl=3,
                frmw=3,
                elpe=15,
                sqes=0x66,
                cqes=0x44,
                nn=1,
                cntrltype=1,
                vwc=1,
                lpa=2,
                oncs=ONCS_COMPARE | ONCS_DSM | ONCS_WRITE_ZEROES | (ONCS_WRITE_UNCOR if self._uncorrectable else 0),
            )
            return bytes(c)
        if cns == Cns.NS:
            if nsid not in (1, NSID_ALL):
                raise CommandFailed(Status.INVALID_NS)
            blocks = self.media_size // self._block
            n = IdNs(nsze=blocks, ncap=blocks, nuse=blocks, nlbaf=1, flbas=int(self._lba4k), dlfeat=1)
            n.lbaf[0].ds, n.lbaf[1].ds = 9, 12
            return bytes(n)
        if cns == Cns.NS_ACTIVE_LIST:
            return struct.pack("<I", 1 if nsid < 1 else 0)
        if cns == Cns.NS_DESC_LIST:
            return bytes([Nidt.NGUID, 16, 0, 0]) + bytes(range(16)) + bytes([Nidt.CSI, 1, 0, 0, 0])
        if cns == Cns.CSI_CTRL:
            return bytes(IdCtrlNvm(vsl=8))
        if cns == Cns.CSI_NS:
            return b""
        raise CommandFailed(Status.INVALID_FIELD)

    def _log(self, page: int) -> bytes:
        if page == LogPage.ERROR:
            return b"".join(self._errors).ljust(1024, b"\0")
        if page == LogPage.SMART:
            log = SmartLog(temperature=313, avail_spare=100, spare_thresh=10)
            for name, value in (
                ("data_units_read", -(-self._counts["read_sectors"] // 1000)),
                ("data_units_written", -(-self._counts["write_sectors"] // 1000)),
                ("host_reads", self._counts["reads"]),
                ("host_writes", self._counts["writes"]),
                ("num_err_log_entries", self._error_count),
            ):
                getattr(log, name)[:] = value.to_bytes(16, "little")
            return bytes(log)
        if page == LogPage.FW_SLOT:
            return bytes(FwSlotLog(afi=1)).ljust(512, b"\0")
        if page == LogPage.CMD_EFFECTS:
            return bytes(EffectsLog())
        raise CommandFailed(Status.INVALID_LOG_PAGE)

    def _log_error(self, sqid: int, cid: int, status: int, nsid: int, lba: int) -> None:
        self._error_count += 1
        self._errors.appendleft(
            bytes(
                ErrorLogEntry(
                    error_count=self._error_count, sqid=sqid, cmdid=cid, status_field=status << 1, lba=lba, nsid=nsid
                )
            )
        )
