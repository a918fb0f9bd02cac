# SPDX-License-Identifier: Apache-2.0
"""NVMe host driver: brings a controller up as the specification says and runs commands on many queues.

It drives any back end with the methods of `Backend`: the Verilated drive (`doorbell.device.Sim`) or the functional one
(`doorbell.device.FunctionalSsd`). All time is the back end's: nothing here waits for a wall clock.

The driver trusts nothing. A completion with a wrong phase history, an unknown or doubled command identifier, a
submission queue that does not report to this completion queue, or a head pointer outside what was submitted raises
`ProtocolError`. A status that is not success raises `NvmeError` where the caller asked for success.

    memory = HostMemory(256 << 20)
    drive = Driver(sim, memory)
    drive.start(queues=4, entries=64)
    buffer = drive.buffer(128 << 10)
    drive.run(drive.submit(1, NvmOpc.READ, slba=0, nlb=255, buffer=buffer))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorbell.nvme.backend import Backend
from doorbell.nvme.commands import Command, NvmeError
from doorbell.nvme.constants import (
    CC_AMS_RR,
    CC_AMS_SHIFT,
    CC_AMS_WRRU,
    CC_CSS_ALL,
    CC_CSS_SHIFT,
    CC_EN,
    CC_IOCQES_SHIFT,
    CC_IOSQES_SHIFT,
    CQE_BYTES,
    CREATE_Q_PC,
    CREATE_SQ_QPRIO_SHIFT,
    CSTS_RDY,
    DSM_AD,
    NSID_ALL,
    PAGE_SIZE,
    SQE_BYTES,
    AdminOpc,
    Cns,
    Feature,
    NvmOpc,
    Reg,
)
from doorbell.nvme.errors import ProtocolError
from doorbell.nvme.memory import Buffer, HostMemory
from doorbell.nvme.queueing import Queues
from doorbell.nvme.structures import Cap, DsmRange, IdCtrl, IdNs


class Driver(Queues):
    """Drives one controller through its BAR 0. All addresses it hands out lie in `memory`."""

    def __init__(
        self,
        sim: Backend,
        memory: HostMemory | None = None,
        *,
        seed: int = 1,
        admin_timeout_us: float = 50_000,
        io_timeout_us: float = 20_000,
        ready_timeout_us: float = 20_000,
        nsid: int = 1,
    ) -> None:
        """nsid: the namespace of commands that name none, and whose size `namespace` says."""
        super().__init__(sim, memory or HostMemory(), seed, io_timeout_us, ready_timeout_us)
        self.admin_timeout_us = admin_timeout_us
        self.nsid = nsid
        self.controller: IdCtrl | None = None
        self.namespace: IdNs | None = None

    # Bring-up, reset, shutdown ----------------------------------------------------------------------------------

    def disable(self) -> list[Command]:
        """CC.EN to 0, wait for RDY to go. Returns the commands that were in flight: they will never complete."""
        self.write32(Reg.CC, self.read32(Reg.CC) & ~CC_EN)
        self.wait_csts(CSTS_RDY, 0, self.ready_timeout_us(), "waiting for CSTS.RDY = 0")
        return self._forget_queues()

    def enable(self, *, admin_entries: int = 32, wrr: bool = False, all_sets: bool = False) -> None:
        """Base 2.0, 3.5.1: admin queue, CC, wait for RDY. The controller must be disabled.

        all_sets: all command sets that it has, not NVM alone."""
        self.cap = cap = Cap.decode(self.read64(Reg.CAP))
        if not cap.css & 1:
            raise ProtocolError("the controller has no NVM command set")
        if cap.mpsmin:
            raise ProtocolError("the controller does not take 4 KiB pages")
        self.wait_csts(CSTS_RDY, 0, self.ready_timeout_us(), "before enabling")
        sq_bytes, cq_bytes = admin_entries * SQE_BYTES, admin_entries * CQE_BYTES
        asq, acq = self.memory.alloc(sq_bytes), self.memory.alloc(cq_bytes)
        self.memory.zero(acq, cq_bytes)
        self.write32(Reg.AQA, (admin_entries - 1) << 16 | (admin_entries - 1))
        self.write64(Reg.ASQ, asq)
        self.write64(Reg.ACQ, acq)
        self._fired.clear()
        self._add_cq(0, admin_entries, acq, 0, True)
        self._add_sq(0, admin_entries, asq, 0, 0)
        ams = CC_AMS_WRRU if wrr else CC_AMS_RR
        css = CC_CSS_ALL if all_sets else 0
        cc = 6 << CC_IOSQES_SHIFT | 4 << CC_IOCQES_SHIFT | ams << CC_AMS_SHIFT | css << CC_CSS_SHIFT
        self.write32(Reg.CC, cc)
        self.write32(Reg.CC, cc | CC_EN)
        self.wait_csts(CSTS_RDY, CSTS_RDY, self.ready_timeout_us(), "waiting for CSTS.RDY = 1")

    def start(
        self,
        queues: int = 1,
        entries: int = 256,
        *,
        cq_entries: int | None = None,
        shared_cqs: int | None = None,
        wrr: bool = False,
        vectors: int | None = None,
        prios: Sequence[int] | None = None,
        admin_entries: int = 32,
        all_sets: bool = False,
    ) -> None:
        """Everything from reset to usable I/O queues 1..queues.

        shared_cqs: so many completion queues for all submission queues, else one each. cq_entries: their size.
        vectors: so many MSI-X vectors for the I/O completion queues, else one each (vector 0 is the admin queue's).
        wrr: weighted round robin with an urgent class, instead of round robin. prios: classes of the submission queues
        for it, dealt out in turn: 0 urgent, 1 high, 2 medium, 3 low; all are urgent unless given. The weights of the
        classes and the arbitration burst are the feature ARBITRATION, which starts anew with the controller.
        all_sets: command sets that a drive has beside NVM, too (doorbell.compute.programs).
        """
        cqs = shared_cqs or queues
        vectors = vectors or cqs
        if self.read32(Reg.CC) & CC_EN:
            self.disable()
        self.setup_msix(vectors + 1)
        self.enable(wrr=wrr, admin_entries=admin_entries, all_sets=all_sets)
        assert self.cap is not None
        if max(entries, cq_entries or 0) > self.cap.mqes + 1:
            raise ValueError(f"the controller's queues have {self.cap.mqes + 1} entries at most")
        self.identify_all()
        granted = self.set_features(Feature.NUM_QUEUES, (queues - 1) << 16 | (queues - 1)).dw0
        if (granted & 0xFFFF) + 1 < queues or (granted >> 16) + 1 < cqs:
            raise ValueError(f"the controller has only {(granted & 0xFFFF) + 1} queue pairs, {queues} wanted")
        for q in range(cqs):
            self.create_cq(q + 1, cq_entries or entries, 1 + q % vectors)
        for q in range(queues):
            self.create_sq(q + 1, entries, 1 + q % cqs, prio=prios[q % len(prios)] if prios else 0)

    def identify_all(self) -> None:
        """Identify Controller and the driver's namespace."""
        self.controller = IdCtrl.from_buffer_copy(self.identify(Cns.CTRL))
        self.namespace = ns = IdNs.from_buffer_copy(self.identify(Cns.NS, nsid=self.nsid))
        if ns.nsze:  # else there is no such namespace, or it is not attached
            self.block_size = 1 << ns.lbaf[ns.flbas & 15 | (ns.flbas >> 1) & 0x30].ds

    @property
    def max_transfer(self) -> int:
        """MDTS in bytes (0: none)."""
        mdts = self.controller.mdts if self.controller else 0
        return PAGE_SIZE << mdts if mdts else 0

    def flr(self) -> list[Command]:
        """Function-level reset. Returns the commands that were in flight."""
        self.sim.flr()
        return self._forget_queues()

    def stop(self) -> None:
        """Delete the I/O queues, shut down, disable."""
        for q in [q for q in self.sqs if q]:
            self.delete_sq(q)
        for q in [q for q in self.cqs if q]:
            self.delete_cq(q)
        self.shutdown()
        self.disable()

    # Queues -----------------------------------------------------------------------------------------------------

    def create_cq(
        self, qid: int, entries: int, vector: int, *, ien: bool = True, memory: HostMemory | None = None
    ) -> None:
        """memory: where it lies, if not in the host's (doorbell.nvme.cmb)."""
        memory = memory or self.memory
        address = memory.alloc(entries * CQE_BYTES)
        memory.zero(address, entries * CQE_BYTES)
        try:
            self.admin(
                AdminOpc.CREATE_CQ,
                prp1=address,
                cdw10=(entries - 1) << 16 | qid,
                cdw11=vector << 16 | int(ien) << 1 | CREATE_Q_PC,
            )
        except NvmeError:
            memory.free(address)
            raise
        self._add_cq(qid, entries, address, vector, ien, memory)

    def create_sq(self, qid: int, entries: int, cqid: int, *, prio: int = 0, memory: HostMemory | None = None) -> None:
        """memory: where it lies, if not in the host's (doorbell.nvme.cmb)."""
        memory = memory or self.memory
        address = memory.alloc(entries * SQE_BYTES)
        try:
            self.admin(
                AdminOpc.CREATE_SQ,
                prp1=address,
                cdw10=(entries - 1) << 16 | qid,
                cdw11=cqid << 16 | prio << CREATE_SQ_QPRIO_SHIFT | CREATE_Q_PC,
            )
        except NvmeError:
            memory.free(address)
            raise
        self._add_sq(qid, entries, address, cqid, prio, memory)

    def delete_sq(self, qid: int) -> list[Command]:
        """Returns the commands that the deletion took: completed ones are seen by the next `poll`."""
        self.admin(AdminOpc.DELETE_SQ, cdw10=qid)
        self.poll(everything=True)
        sq = self.sqs.pop(qid)
        self._dirty.pop(qid, None)
        self.cqs[sq.cqid].sqs.discard(qid)
        sq.memory.free(sq.address)
        lost = list(sq.pending.values())
        for command in lost:
            command.aborted = True
        return lost

    def delete_cq(self, qid: int) -> None:
        self.admin(AdminOpc.DELETE_CQ, cdw10=qid)
        cq = self.cqs.pop(qid)
        cq.memory.free(cq.address)

    # Admin commands ---------------------------------------------------------------------------------------------

    def admin_try(self, opcode: int, *, buffer: Buffer | None = None, nsid: int = 0, **dwords: int) -> Command:
        """An admin command, waited for; its status is the caller's to look at."""
        for name in ("cdw10", "cdw11", "cdw12"):
            dwords.setdefault(name, 0)
        command = self.submit(0, opcode, buffer=buffer, nsid=nsid, ring=True, **dwords)  # type: ignore[arg-type]
        self.wait([command], timeout_us=self.admin_timeout_us)
        return command

    def admin(self, opcode: int, *, buffer: Buffer | None = None, nsid: int = 0, **dwords: int) -> Command:
        """An admin command that must succeed."""
        return self.admin_try(opcode, buffer=buffer, nsid=nsid, **dwords).check()

    def admin_read(self, opcode: int, size: int, *, nsid: int = 0, **dwords: int) -> bytes:
        """An admin command that must succeed and returns `size` bytes."""
        buffer = self.buffer(size)
        try:
            self.admin(opcode, buffer=buffer, nsid=nsid, **dwords)
            return buffer.read()
        finally:
            buffer.free()

    def identify(self, cns: int, *, nsid: int = 0, cntid: int = 0, csi: int = 0) -> bytes:
        return self.admin_read(AdminOpc.IDENTIFY, 4096, nsid=nsid, cdw10=cntid << 16 | cns, cdw11=csi << 24)

    def get_log(self, page: int, size: int, *, nsid: int = NSID_ALL, offset: int = 0, rae: bool = False) -> bytes:
        numd = size // 4 - 1
        return self.admin_read(
            AdminOpc.GET_LOG_PAGE,
            size,
            nsid=nsid,
            cdw10=page | int(rae) << 15 | (numd & 0xFFFF) << 16,
            cdw11=numd >> 16,
            cdw12=offset & 0xFFFFFFFF,
            cdw13=offset >> 32,
        )

    def set_features(self, feature: int, value: int, *, nsid: int = 0, cdw12: int = 0) -> Command:
        return self.admin(AdminOpc.SET_FEATURES, nsid=nsid, cdw10=feature, cdw11=value, cdw12=cdw12)

    def get_features(self, feature: int, *, select: int = 0, nsid: int = 0, cdw11: int = 0) -> int:
        return self.admin(AdminOpc.GET_FEATURES, nsid=nsid, cdw10=feature | select << 8, cdw11=cdw11).dw0

    def format(self, lbaf: int, *, nsid: int | None = None, ses: int = 0) -> None:
        """Format NVM: `lbaf` 0 is 512 bytes, 1 is 4096 (what Identify Namespace lists)."""
        self.admin(AdminOpc.FORMAT_NVM, nsid=self.nsid if nsid is None else nsid, cdw10=lbaf | ses << 9)
        self.identify_all()

    def abort(self, sqid: int, cid: int) -> bool:
        """True if the controller aborted the command."""
        return not self.admin(AdminOpc.ABORT, cdw10=cid << 16 | sqid).dw0 & 1

    # I/O, one at a time (convenience) ---------------------------------------------------------------------------

    def write(self, slba: int, data: bytes, *, qid: int = 1, **geometry: Any) -> None:
        buffer = self.buffer(len(data), **geometry)
        buffer.write(data)
        try:
            self.run(self.submit(qid, NvmOpc.WRITE, slba, len(data) // self.block_size - 1, buffer))
        finally:
            buffer.free()

    def read(self, slba: int, blocks: int, *, qid: int = 1, **geometry: Any) -> bytes:
        buffer = self.buffer(blocks * self.block_size, **geometry)
        try:
            self.run(self.submit(qid, NvmOpc.READ, slba, blocks - 1, buffer))
            return buffer.read()
        finally:
            buffer.free()

    def flush(self, *, qid: int = 1, nsid: int | None = None) -> None:
        self.run(self.submit(qid, NvmOpc.FLUSH, nsid=nsid))

    def dsm_try(
        self, ranges: Sequence[tuple[int, int]], *, qid: int = 1, attributes: int = DSM_AD, **geometry: Any
    ) -> Command:
        """Dataset Management over (slba, blocks) ranges."""
        data = b"".join(bytes(DsmRange(0, blocks, slba)) for slba, blocks in ranges)
        buffer = self.buffer(len(data), **geometry)
        buffer.write(data)
        command = self.submit(qid, NvmOpc.DSM, buffer=buffer, nbytes=len(data), cdw10=len(ranges) - 1, cdw11=attributes)
        try:
            self.wait([command])
            return command
        finally:
            buffer.free()

    def deallocate(self, ranges: Sequence[tuple[int, int]], *, qid: int = 1) -> None:
        self.dsm_try(ranges, qid=qid).check()
