# SPDX-License-Identifier: Apache-2.0
"""NVMe host driver: brings a controller up as the specification says and runs commands on many queues.

It drives any back end with the methods of `Backend`: the Verilated drive (`doorbell.device.sim.Sim`) or the
functional one
(`doorbell.device.functional.FunctionalSsd`). All time is the back end's: nothing here waits for a wall clock.

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

import mmap
import random
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from doorbell.nvme.constants import (
    CC_AMS_RR,
    CC_AMS_SHIFT,
    CC_AMS_WRRU,
    CC_EN,
    CC_IOCQES_SHIFT,
    CC_IOSQES_SHIFT,
    CC_SHN_ABRUPT,
    CC_SHN_NORMAL,
    CC_SHN_SHIFT,
    CQE_BYTES,
    CREATE_Q_PC,
    CREATE_SQ_QPRIO_SHIFT,
    CSTS_CFS,
    CSTS_RDY,
    CSTS_SHST_MASK,
    CSTS_SHST_SHIFT,
    DSM_AD,
    NSID_ALL,
    PAGE_SIZE,
    SQE_BYTES,
    STATUS_CODE_MASK,
    STATUS_DNR,
    AdminOpc,
    Cns,
    Feature,
    NvmOpc,
    Reg,
    Status,
)
from doorbell.nvme.structures import Cap, DsmRange, IdCtrl, IdNs, doorbell_offset, status_name

_SQE = struct.Struct("<IIIIQQQIIIIII")  # dword 0, nsid, cdw2, cdw3, mptr, prp1, prp2, cdw10..15
_CQE = struct.Struct("<IIHHHH")

MSIX_TABLE = 0x2000  # of Doorbell's drives; a drive behind real configuration space says it in its capability
MSI_ADDRESS = 0xFEE0_0000  # x86's window for message-signalled interrupts
CHUNK_CYCLES = 25_000  # longest run between two looks at queues without interrupts


class Backend(Protocol):
    """What the driver needs of a simulated PCIe device."""

    @property
    def ns(self) -> float: ...
    def map(self, base: int, size: int, buffer: Any) -> Any: ...
    def mmio_write(self, off: int, data: int, size: int = 4) -> Any: ...
    def mmio_read(self, off: int, size: int = 4) -> int: ...
    def run(self, cycles: int, until_irq: bool = False) -> Any: ...
    def irqs(self) -> Iterable[Any]: ...
    def set_cfg(self, **fields: Any) -> Any: ...
    def flr(self) -> Any: ...


class NvmeError(Exception):
    """A command ended with a status other than success."""

    def __init__(self, command: Command) -> None:
        self.command = command
        self.status = command.status
        name = opcode_name(command.opcode, command.qid == 0)
        super().__init__(f"{name} (queue {command.qid}, cid {command.cid:#06x}) ended with "
                         f"{status_name(command.status15)}")


class ProtocolError(AssertionError):
    """The controller broke the protocol."""


class DeviceTimeout(TimeoutError):
    """The controller did not answer in time."""


class QueueFull(Exception):
    """No room in the submission queue."""


def opcode_name(opcode: int, admin: bool = False) -> str:
    """Readable name of an opcode."""
    kind = AdminOpc if admin else NvmOpc
    return kind(opcode).name if opcode in kind._value2member_map_ else f"opcode {opcode:#04x}"


# ------------------------------------------------------------------------------------------------------ host memory


class HostMemory:
    """Host memory that the device can reach: one anonymous mapping at a physical address, given out in pages."""

    def __init__(self, size: int = 256 << 20, base: int = 0x12_4000_0000, seed: int = 1) -> None:
        if size % PAGE_SIZE or base % PAGE_SIZE:
            raise ValueError("host memory is made of whole pages")
        self.size = size
        self.base = base
        self.map = mmap.mmap(-1, size)
        self.view = memoryview(self.map)
        self._used = bytearray(size // PAGE_SIZE)
        self._sizes: dict[int, int] = {}
        self._next = 0
        self._rng = random.Random(seed)

    def alloc(self, nbytes: int) -> int:
        """Contiguous pages for `nbytes`; returns their physical address. They keep what was in them."""
        pages = max(1, -(-nbytes // PAGE_SIZE))
        want = bytes(pages)
        # Runs from the lower half, single pages from the upper, so that the one does not break up the other.
        at = self._used.find(want, self._next, len(self._used) // 2)
        if at < 0:
            at = self._used.find(want)
        if at < 0:
            raise MemoryError(f"no {pages} pages in a row left in {self.size >> 20} MiB of host memory")
        self._take(at, pages)
        self._next = at + pages
        return self.base + at * PAGE_SIZE

    def alloc_pages(self, count: int, scattered: bool = True) -> list[int]:
        """Addresses of `count` pages, in no order and not together when `scattered`."""
        if not scattered:
            first = self.alloc(count * PAGE_SIZE)
            at = (first - self.base) // PAGE_SIZE
            del self._sizes[at]
            self._sizes.update((at + i, 1) for i in range(count))
            return [first + i * PAGE_SIZE for i in range(count)]
        out = []
        for _ in range(count):
            at = self._used.find(0, self._rng.randrange(len(self._used) // 2, len(self._used)))
            if at < 0:
                at = self._used.find(0)
            if at < 0:
                raise MemoryError(f"no page left in {self.size >> 20} MiB of host memory")
            self._take(at, 1)
            out.append(self.base + at * PAGE_SIZE)
        return out

    def free(self, *addresses: int) -> None:
        """Give back what `alloc` or `alloc_pages` returned."""
        for address in addresses:
            at = (address - self.base) // PAGE_SIZE
            pages = self._sizes.pop(at)
            self._used[at : at + pages] = bytes(pages)

    def _take(self, at: int, pages: int) -> None:
        self._used[at : at + pages] = b"\1" * pages
        self._sizes[at] = pages

    def at(self, address: int, nbytes: int) -> memoryview:
        """View of `nbytes` at a physical address."""
        off = address - self.base
        if not 0 <= off <= self.size - nbytes:
            raise IndexError(f"{address:#x} is not host memory")
        return self.view[off : off + nbytes]

    def zero(self, address: int, nbytes: int) -> None:
        self.at(address, nbytes)[:] = bytes(nbytes)

    def snapshot(self) -> bytes:
        """All of it, to see later that nothing changed."""
        return bytes(self.view)


class Buffer:
    """Data buffer of a command, with its PRP entries and lists.

    offset: of the first byte in its page. scattered: pages in no order. list_offset: of the first PRP entry in its
    page (a multiple of 8); a list that reaches the end of its page is chained. misalign_list: see `prps`.
    """

    def __init__(self, memory: HostMemory, size: int, *, offset: int = 0, scattered: bool = False,
                 list_offset: int = 0) -> None:
        if size < 1 or not 0 <= offset < PAGE_SIZE or list_offset % 8 or not 0 <= list_offset < PAGE_SIZE:
            raise ValueError("bad buffer geometry")
        self.memory = memory
        self.size = size
        self.offset = offset
        self.list_offset = list_offset
        count = -(-(offset + size) // PAGE_SIZE)
        self.contiguous = not scattered
        if scattered:
            self._owned = memory.alloc_pages(count)
            self.pages = list(self._owned)
        else:
            first = memory.alloc(count * PAGE_SIZE)
            self._owned = [first]
            self.pages = [first + i * PAGE_SIZE for i in range(count)]
        self.address = self.pages[0] + offset
        self._lists: dict[int, tuple[int, int]] = {}

    def prps(self, nbytes: int | None = None) -> tuple[int, int]:
        """PRP1 and PRP2 for the first `nbytes` (Base 2.0, 4.1.1). Lists are made once and kept."""
        nbytes = self.size if nbytes is None else nbytes
        count = -(-(self.offset + nbytes) // PAGE_SIZE)
        if count <= 1:
            return self.address, 0
        if count == 2:
            return self.address, self.pages[1]
        if count > len(self.pages):
            raise ValueError("the buffer is smaller than the command")
        made = self._lists.get(count)
        if made is None:
            made = self._lists[count] = (self.address, self._make_list(self.pages[1:count]))
        return made

    def _make_list(self, entries: list[int]) -> int:
        page = self.memory.alloc(PAGE_SIZE)
        self._owned.append(page)
        first = at = page + self.list_offset
        left = list(entries)
        while left:
            room = (page + PAGE_SIZE - at) // 8
            if len(left) <= room:
                here, left = left, []
            else:
                here, left = left[: room - 1], left[room - 1 :]
                page = self.memory.alloc(PAGE_SIZE)
                self._owned.append(page)
                here.append(page)  # the last entry of a page points to the next list
            struct.pack_into(f"<{len(here)}Q", self.memory.view, at - self.memory.base, *here)
            at = page
        return first

    def pieces(self, nbytes: int | None = None) -> Iterable[memoryview]:
        """Views of the data in order, one a page (one for all when contiguous)."""
        left = self.size if nbytes is None else nbytes
        if self.contiguous:
            yield self.memory.at(self.address, left)
            return
        offset = self.offset
        for page in self.pages:
            here = min(left, PAGE_SIZE - offset)
            if here <= 0:
                return
            yield self.memory.at(page + offset, here)
            left -= here
            offset = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        at = 0
        for piece in self.pieces(len(data)):
            piece[:] = data[at : at + len(piece)]
            at += len(piece)

    def read(self, nbytes: int | None = None) -> bytes:
        return b"".join(self.pieces(nbytes))

    def margins(self) -> Iterable[memoryview]:
        """Views of what its pages hold before and after the data: nobody may write there."""
        yield self.memory.at(self.pages[0], self.offset)
        end = (self.offset + self.size - 1) % PAGE_SIZE + 1
        yield self.memory.at(self.pages[-1] + end, PAGE_SIZE - end)

    def fill(self, byte: int) -> None:
        """Fill data and margins."""
        for page in self.pages:
            self.memory.at(page, PAGE_SIZE)[:] = bytes([byte]) * PAGE_SIZE

    def check_margins(self, byte: int) -> None:
        """Raise `ProtocolError` if something was written beside the data since `fill(byte)`."""
        for margin in self.margins():
            if bytes(margin) != bytes([byte]) * len(margin):
                raise ProtocolError(f"the device wrote outside the buffer of {self.size} bytes at {self.address:#x}")

    def free(self) -> None:
        self.memory.free(*self._owned)
        self._owned.clear()
        self._lists.clear()


# ----------------------------------------------------------------------------------------------------------- queues


class Command:
    """A submitted command: `done` when its completion was seen, `aborted` when a reset or queue deletion took it."""

    __slots__ = ("qid", "cid", "opcode", "slba", "nlb", "buffer", "position", "started_ns", "done_ns", "status15",
                 "dw0", "done", "aborted", "user", "on_done")

    def __init__(self, qid: int, cid: int, opcode: int, slba: int, nlb: int, buffer: Buffer | None, position: int,
                 user: Any, on_done: Callable[[Command], None] | None) -> None:
        self.qid, self.cid, self.opcode, self.slba, self.nlb = qid, cid, opcode, slba, nlb
        self.buffer = buffer
        self.position = position  # count of entries submitted before it
        self.user = user
        self.on_done = on_done
        self.started_ns = self.done_ns = 0.0
        self.status15 = 0
        self.dw0 = 0
        self.done = self.aborted = False

    @property
    def status(self) -> int:
        """Status code type << 8 | status code."""
        return self.status15 & STATUS_CODE_MASK

    @property
    def dnr(self) -> bool:
        return bool(self.status15 & STATUS_DNR)

    @property
    def latency_ns(self) -> float:
        return self.done_ns - self.started_ns

    def check(self) -> Command:
        """Raise `NvmeError` unless it succeeded."""
        if self.aborted:
            raise ProtocolError(f"{opcode_name(self.opcode, self.qid == 0)} was aborted by a reset")
        if self.status15 & STATUS_CODE_MASK:
            raise NvmeError(self)
        return self


class SubmissionQueue:
    __slots__ = ("qid", "entries", "address", "offset", "cqid", "prio", "tail", "head", "taken", "sent", "next_cid",
                 "pending", "doorbell", "unrung")

    def __init__(self, qid: int, entries: int, address: int, offset: int, cqid: int, prio: int, doorbell: int,
                 cid: int) -> None:
        self.qid, self.entries, self.address, self.offset = qid, entries, address, offset
        self.cqid, self.prio, self.doorbell = cqid, prio, doorbell
        self.tail = self.head = 0
        self.sent = 0  # entries written since creation
        self.taken = 0  # entries that the controller says it has consumed
        self.next_cid = cid
        self.pending: dict[int, Command] = {}
        self.unrung: list[Command] = []

    def room(self) -> int:
        """Entries that can be written before the queue is full."""
        return self.entries - 1 - (self.sent - self.taken)


class CompletionQueue:
    __slots__ = ("qid", "entries", "address", "offset", "vector", "ien", "head", "phase", "doorbell", "sqs", "hold")

    def __init__(self, qid: int, entries: int, address: int, offset: int, vector: int, ien: bool,
                 doorbell: int) -> None:
        self.qid, self.entries, self.address, self.offset = qid, entries, address, offset
        self.vector, self.ien, self.doorbell = vector, ien, doorbell
        self.head = 0
        self.phase = 1
        self.sqs: set[int] = set()
        self.hold = False  # completions are left where they are (a host that does not look)


# ----------------------------------------------------------------------------------------------------------- driver


class Driver:
    """Drives one controller through its BAR 0. All addresses it hands out lie in `memory`."""

    def __init__(self, sim: Backend, memory: HostMemory | None = None, *, seed: int = 1,
                 admin_timeout_us: float = 50_000, io_timeout_us: float = 20_000,
                 ready_timeout_us: float = 20_000) -> None:
        self.sim = sim
        self.memory = memory or HostMemory()
        sim.map(self.memory.base, self.memory.size, self.memory.map)
        self.rng = random.Random(seed)
        self.admin_timeout_us = admin_timeout_us
        self.io_timeout_us = io_timeout_us
        self.most_ready_us = ready_timeout_us  # CAP.TO is for real hosts: half a minute would be 10^10 cycles here
        self.sqs: dict[int, SubmissionQueue] = {}
        self.cqs: dict[int, CompletionQueue] = {}
        self._dirty: dict[int, SubmissionQueue] = {}
        self._fired: set[int] = set()
        self.masked: set[int] = set()
        self.cap: Cap | None = None
        self.controller: IdCtrl | None = None
        self.namespace: IdNs | None = None
        self.block_size = 512
        self.completed = 0
        self.interrupts = 0
        self.sq_doorbells = 0
        self.cq_doorbells = 0

    # Registers --------------------------------------------------------------------------------------------------

    def read32(self, offset: int) -> int:
        return self.sim.mmio_read(offset, 4)

    def write32(self, offset: int, value: int) -> None:
        self.sim.mmio_write(offset, value, 4)

    def read64(self, offset: int) -> int:
        return self.sim.mmio_read(offset, 8)

    def write64(self, offset: int, value: int) -> None:
        self.sim.mmio_write(offset, value, 8)

    def advance(self, cycles: int, *, until_irq: bool = False) -> None:
        """Run the device's clock. Raises if an assertion of the RTL failed."""
        if self.sim.run(cycles, until_irq=until_irq) == "rtl":
            raise ProtocolError(f"an assertion of the RTL failed at {self.sim.ns:.0f} ns (its text is on stdout)")

    def cycles(self, us: float) -> int:
        """Clock cycles in so many microseconds (250 MHz nominal)."""
        return int(us * 250)

    # Bring-up, reset, shutdown ----------------------------------------------------------------------------------

    def wait_csts(self, mask: int, value: int, timeout_us: float, what: str) -> int:
        """Poll CSTS, with growing pauses, until `CSTS & mask == value`."""
        limit = self.sim.ns + timeout_us * 1000
        pause = 250
        while True:
            csts = self.read32(Reg.CSTS)
            if csts & mask == value:
                return csts
            if csts == 0xFFFFFFFF:
                raise DeviceTimeout(f"{what}: the controller is gone (CSTS reads all ones)")
            if csts & CSTS_CFS and not mask & CSTS_CFS and value & CSTS_RDY:
                raise ProtocolError(f"{what}: controller fatal status (CSTS {csts:#x})")
            if self.sim.ns > limit:
                raise DeviceTimeout(f"{what}: CSTS is still {csts:#x} after {timeout_us / 1000:.0f} ms")
            self.advance(pause)
            pause = min(pause * 2, 25_000)

    def ready_timeout_us(self) -> float:
        """CAP.TO, or what this driver's user has patience for."""
        cap = self.cap or Cap.decode(self.read64(Reg.CAP))
        return min(max(cap.to, 1) * 500_000.0, self.most_ready_us)

    def disable(self) -> list[Command]:
        """CC.EN to 0, wait for RDY to go. Returns the commands that were in flight: they will never complete."""
        self.write32(Reg.CC, self.read32(Reg.CC) & ~CC_EN)
        self.wait_csts(CSTS_RDY, 0, self.ready_timeout_us(), "waiting for CSTS.RDY = 0")
        return self._forget_queues()

    def enable(self, *, admin_entries: int = 32, wrr: bool = False) -> None:
        """Base 2.0, 3.5.1: admin queue, CC, wait for RDY. The controller must be disabled."""
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
        cc = 6 << CC_IOSQES_SHIFT | 4 << CC_IOCQES_SHIFT | ams << CC_AMS_SHIFT
        self.write32(Reg.CC, cc)
        self.write32(Reg.CC, cc | CC_EN)
        self.wait_csts(CSTS_RDY, CSTS_RDY, self.ready_timeout_us(), "waiting for CSTS.RDY = 1")

    def setup_msix(self, vectors: int) -> None:
        """Enable bus master and MSI-X; give vector v the message MSI_ADDRESS, v and unmask it."""
        self.sim.set_cfg(bus_master=True, msix_enable=True, msix_mask=False)
        for v in range(vectors):
            self.write_vector(v)
        self.masked.clear()

    def write_vector(self, vector: int, *, masked: bool = False) -> None:
        entry = MSIX_TABLE + 16 * vector
        self.write32(entry, MSI_ADDRESS)
        self.write32(entry + 4, 0)
        self.write32(entry + 8, vector)
        self.write32(entry + 12, int(masked))

    def mask_vector(self, vector: int, masked: bool) -> None:
        self.write32(MSIX_TABLE + 16 * vector + 12, int(masked))
        (self.masked.add if masked else self.masked.discard)(vector)

    def start(self, queues: int = 1, entries: int = 256, *, cq_entries: int | None = None,
              shared_cqs: int | None = None, wrr: bool = False, vectors: int | None = None,
              prios: Sequence[int] | None = None, admin_entries: int = 32) -> None:
        """Everything from reset to usable I/O queues 1..queues.

        shared_cqs: so many completion queues for all submission queues, else one each. cq_entries: their size.
        vectors: so many MSI-X vectors for the I/O completion queues, else one each (vector 0 is the admin queue's).
        """
        cqs = shared_cqs or queues
        vectors = vectors or cqs
        if self.read32(Reg.CC) & CC_EN:
            self.disable()
        self.setup_msix(vectors + 1)
        self.enable(wrr=wrr, admin_entries=admin_entries)
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
        """Identify Controller and Namespace 1."""
        self.controller = IdCtrl.from_buffer_copy(self.identify(Cns.CTRL))
        self.namespace = ns = IdNs.from_buffer_copy(self.identify(Cns.NS, nsid=1))
        if ns.nsze:  # else there is no such namespace, or it is not attached
            self.block_size = 1 << ns.lbaf[ns.flbas & 15 | (ns.flbas >> 1) & 0x30].ds

    @property
    def max_transfer(self) -> int:
        """MDTS in bytes (0: none)."""
        mdts = self.controller.mdts if self.controller else 0
        return PAGE_SIZE << mdts if mdts else 0

    def shutdown(self, *, abrupt: bool = False) -> None:
        """CC.SHN, then wait for CSTS.SHST = complete (Base 2.0, 3.6.1). Queues stay until `disable`."""
        cc = self.read32(Reg.CC) & ~(3 << CC_SHN_SHIFT)
        self.write32(Reg.CC, cc | (CC_SHN_ABRUPT if abrupt else CC_SHN_NORMAL) << CC_SHN_SHIFT)
        self.wait_csts(CSTS_SHST_MASK, 2 << CSTS_SHST_SHIFT, self.most_ready_us, "waiting for shutdown")

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

    def _forget_queues(self) -> list[Command]:
        lost = []
        for sq in self.sqs.values():
            lost += sq.pending.values()
            self.memory.free(sq.address)
        for cq in self.cqs.values():
            self.memory.free(cq.address)
        self.sqs.clear()
        self.cqs.clear()
        self._dirty.clear()
        self._fired.clear()
        for command in lost:
            command.aborted = True
        return lost

    # Queues -----------------------------------------------------------------------------------------------------

    def _add_cq(self, qid: int, entries: int, address: int, vector: int, ien: bool) -> None:
        dstrd = self.cap.dstrd if self.cap else 0
        self.cqs[qid] = CompletionQueue(qid, entries, address, address - self.memory.base, vector, ien,
                                        doorbell_offset(qid, True, dstrd))

    def _add_sq(self, qid: int, entries: int, address: int, cqid: int, prio: int) -> None:
        dstrd = self.cap.dstrd if self.cap else 0
        self.sqs[qid] = SubmissionQueue(qid, entries, address, address - self.memory.base, cqid, prio,
                                        doorbell_offset(qid, False, dstrd), self.rng.randrange(0xFFFF))
        self.cqs[cqid].sqs.add(qid)

    def create_cq(self, qid: int, entries: int, vector: int, *, ien: bool = True) -> None:
        address = self.memory.alloc(entries * CQE_BYTES)
        self.memory.zero(address, entries * CQE_BYTES)
        try:
            self.admin(AdminOpc.CREATE_CQ, prp1=address, cdw10=(entries - 1) << 16 | qid,
                       cdw11=vector << 16 | int(ien) << 1 | CREATE_Q_PC)
        except NvmeError:
            self.memory.free(address)
            raise
        self._add_cq(qid, entries, address, vector, ien)

    def create_sq(self, qid: int, entries: int, cqid: int, *, prio: int = 0) -> None:
        address = self.memory.alloc(entries * SQE_BYTES)
        try:
            self.admin(AdminOpc.CREATE_SQ, prp1=address, cdw10=(entries - 1) << 16 | qid,
                       cdw11=cqid << 16 | prio << CREATE_SQ_QPRIO_SHIFT | CREATE_Q_PC)
        except NvmeError:
            self.memory.free(address)
            raise
        self._add_sq(qid, entries, address, cqid, prio)

    def delete_sq(self, qid: int) -> list[Command]:
        """Returns the commands that the deletion took: completed ones are seen by the next `poll`."""
        self.admin(AdminOpc.DELETE_SQ, cdw10=qid)
        self.poll(everything=True)
        sq = self.sqs.pop(qid)
        self._dirty.pop(qid, None)
        self.cqs[sq.cqid].sqs.discard(qid)
        self.memory.free(sq.address)
        lost = list(sq.pending.values())
        for command in lost:
            command.aborted = True
        return lost

    def delete_cq(self, qid: int) -> None:
        self.admin(AdminOpc.DELETE_CQ, cdw10=qid)
        self.memory.free(self.cqs.pop(qid).address)

    # Submission -------------------------------------------------------------------------------------------------

    def buffer(self, size: int, **geometry: Any) -> Buffer:
        """A data buffer in host memory: see `Buffer`."""
        return Buffer(self.memory, size, **geometry)

    def submit(
        self, qid: int, opcode: int, slba: int = 0, nlb: int = 0, buffer: Buffer | None = None, *, nsid: int = 1,
        nbytes: int | None = None, flags: int = 0, prp1: int | None = None, prp2: int | None = None, mptr: int = 0,
        cdw2: int = 0, cdw3: int = 0, cdw10: int | None = None, cdw11: int | None = None, cdw12: int | None = None,
        cdw13: int = 0, cdw14: int = 0, cdw15: int = 0, cid: int | None = None, ring: bool = False, user: Any = None,
        on_done: Callable[[Command], None] | None = None,
    ) -> Command:
        """Write an entry into submission queue `qid`. `nlb` is zero based, as in the command.

        The doorbell is written by `ring` (or here with ring=True), so that many entries cost one write.
        cdw10, 11, 12 come from slba and nlb unless given; PRPs from the buffer unless given. `user` is the caller's;
        `on_done` is called with the command when `poll` has found its completion.
        """
        sq = self.sqs[qid]
        if sq.sent - sq.taken >= sq.entries - 1:
            raise QueueFull(f"submission queue {qid} is full")
        pending = sq.pending
        if cid is None:
            cid = sq.next_cid
            while cid in pending or cid == 0xFFFF:
                cid = (cid + 1) & 0xFFFF
            sq.next_cid = (cid + 1) & 0xFFFF
        if buffer is not None and prp1 is None:
            if nbytes is None:
                nbytes = min(buffer.size, (nlb + 1) * self.block_size) if qid else buffer.size
            prp1, auto2 = buffer.prps(nbytes)
            prp2 = auto2 if prp2 is None else prp2
        _SQE.pack_into(
            self.memory.view, sq.offset + sq.tail * 64, opcode | flags << 8 | cid << 16, nsid, cdw2, cdw3, mptr,
            prp1 or 0, prp2 or 0, slba & 0xFFFFFFFF if cdw10 is None else cdw10, slba >> 32 if cdw11 is None else cdw11,
            nlb if cdw12 is None else cdw12, cdw13, cdw14, cdw15,
        )
        command = Command(qid, cid, opcode, slba, nlb, buffer, sq.sent, user, on_done)
        pending[cid] = command
        sq.sent += 1
        sq.tail = sq.tail + 1 if sq.tail + 1 < sq.entries else 0
        sq.unrung.append(command)
        self._dirty[qid] = sq
        if ring:
            self.ring()
        return command

    def ring(self) -> None:
        """Write the tail doorbell of every queue with new entries."""
        if not self._dirty:
            return
        for sq in self._dirty.values():
            now = self.sim.ns
            for command in sq.unrung:
                command.started_ns = now
            sq.unrung.clear()
            self.sim.mmio_write(sq.doorbell, sq.tail, 4)
            self.sq_doorbells += 1
        self._dirty.clear()

    # Completion -------------------------------------------------------------------------------------------------

    def take_irqs(self) -> int:
        """Note the interrupts that arrived since the last look; returns how many."""
        count = 0
        for irq in self.sim.irqs():
            self._fired.add(self.irq_vector(irq))
            count += 1
        self.interrupts += count
        return count

    @staticmethod
    def irq_vector(irq: Any) -> int:
        """Vector of an interrupt as the back end reports it."""
        return irq if isinstance(irq, int) else irq.data

    def poll(self, *, everything: bool = False) -> list[Command]:
        """Completions of the queues whose vector fired (all queues: `everything`); frees their entries."""
        self.take_irqs()
        fired = self._fired
        done: list[Command] = []
        for cq in self.cqs.values():
            if everything or cq.vector in fired or not cq.ien:
                if not cq.hold:
                    self._drain(cq, done)
        fired.clear()
        for command in done:
            if command.on_done is not None:
                command.on_done(command)
        return done

    def _drain(self, cq: CompletionQueue, done: list[Command]) -> None:
        view, at = self.memory.view, cq.offset + cq.head * 16
        head, phase, start = cq.head, cq.phase, len(done)
        now = self.sim.ns
        while True:
            dw0, _, sqhd, sqid, cid, status = _CQE.unpack_from(view, at)
            if status & 1 != phase:
                break
            done.append(self._complete(cq, head, dw0, sqhd, sqid, cid, status >> 1, now))
            head += 1
            at += 16
            if head == cq.entries:
                head, at, phase = 0, cq.offset, phase ^ 1
            if len(done) - start > cq.entries:
                raise ProtocolError(f"completion queue {cq.qid} holds more entries than it has")
        if len(done) > start:
            cq.head, cq.phase = head, phase
            self.sim.mmio_write(cq.doorbell, head, 4)
            self.cq_doorbells += 1

    def _complete(self, cq: CompletionQueue, head: int, dw0: int, sqhd: int, sqid: int, cid: int, status15: int,
                  now: float) -> Command:
        where = f"completion queue {cq.qid} entry {head}"
        if sqid not in cq.sqs:
            raise ProtocolError(f"{where}: submission queue {sqid} does not report here")
        sq = self.sqs[sqid]
        command = sq.pending.pop(cid, None)
        if command is None:
            raise ProtocolError(f"{where}: command {cid:#06x} of queue {sqid} is unknown or was completed before")
        if sqhd >= sq.entries:
            raise ProtocolError(f"{where}: SQHD {sqhd} in a queue of {sq.entries}")
        taken = sq.taken + (sqhd - sq.head) % sq.entries
        if taken > sq.sent:
            raise ProtocolError(f"{where}: SQHD {sqhd} is beyond the tail {sq.tail} of queue {sqid}")
        if command.position >= taken:
            raise ProtocolError(f"{where}: SQHD {sqhd} says that command {cid:#06x} was not fetched yet")
        sq.head, sq.taken = sqhd, taken
        command.status15, command.dw0 = status15, dw0
        command.done = True
        command.done_ns = now
        self.completed += 1
        return command

    def step(self, max_us: float | None = None) -> list[Command]:
        """Ring, run until an interrupt or for `max_us` at most, and return what completed."""
        self.ring()
        done = self.poll()
        if not done:
            self.advance(CHUNK_CYCLES if max_us is None else self.cycles(max_us), until_irq=True)
            done = self.poll()
        return done

    def wait(self, commands: Iterable[Command] | None = None, *, timeout_us: float | None = None) -> list[Command]:
        """Run until these commands (all in flight: None) are done. Returns all that completed meanwhile."""
        self.ring()
        waiting = [c for q in self.sqs.values() if q.qid for c in q.pending.values()] if commands is None \
            else list(commands)
        done: list[Command] = []
        timeout_us = timeout_us or self.io_timeout_us
        limit = self.sim.ns + timeout_us * 1000
        while True:
            waiting = [c for c in waiting if not c.done and not c.aborted]
            if not waiting:
                return done
            if self.sim.ns >= limit:
                late = self.poll(everything=True)
                quiet = [c for c in late if self._must_interrupt(c)]
                if quiet:
                    raise ProtocolError(f"{len(quiet)} completions without an interrupt, first of queue {quiet[0].qid}")
                if late:
                    done += late
                    continue
                csts = self.read32(Reg.CSTS)
                c = waiting[0]
                raise DeviceTimeout(
                    f"{len(waiting)} commands did not complete in {timeout_us:.0f} us (first: "
                    f"{opcode_name(c.opcode, c.qid == 0)}, queue {c.qid}, cid {c.cid:#06x}; CSTS {csts:#x})")
            left = int((limit - self.sim.ns) / 4) + 1
            done += self.step(min(left, CHUNK_CYCLES) / 250)

    def _must_interrupt(self, command: Command) -> bool:
        cq = self.cqs[self.sqs[command.qid].cqid]
        return cq.ien and cq.vector not in self.masked

    def run(self, *commands: Command, timeout_us: float | None = None) -> Command:
        """Wait for commands and check that they succeeded; returns the last."""
        self.wait(commands, timeout_us=timeout_us)
        for command in commands:
            command.check()
        return commands[-1]

    def in_flight(self) -> int:
        return sum(len(q.pending) for q in self.sqs.values() if q.qid)

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
        return self.admin_read(AdminOpc.GET_LOG_PAGE, size, nsid=nsid,
                               cdw10=page | int(rae) << 15 | (numd & 0xFFFF) << 16, cdw11=numd >> 16,
                               cdw12=offset & 0xFFFFFFFF, cdw13=offset >> 32)

    def set_features(self, feature: int, value: int, *, nsid: int = 0, cdw12: int = 0) -> Command:
        return self.admin(AdminOpc.SET_FEATURES, nsid=nsid, cdw10=feature, cdw11=value, cdw12=cdw12)

    def get_features(self, feature: int, *, select: int = 0, nsid: int = 0, cdw11: int = 0) -> int:
        return self.admin(AdminOpc.GET_FEATURES, nsid=nsid, cdw10=feature | select << 8, cdw11=cdw11).dw0

    def format(self, lbaf: int, *, nsid: int = 1, ses: int = 0) -> None:
        """Format NVM: `lbaf` 0 is 512 bytes, 1 is 4096 (what Identify Namespace lists)."""
        self.admin(AdminOpc.FORMAT_NVM, nsid=nsid, cdw10=lbaf | ses << 9)
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

    def flush(self, *, qid: int = 1, nsid: int = 1) -> None:
        self.run(self.submit(qid, NvmOpc.FLUSH, nsid=nsid))

    def dsm_try(self, ranges: Sequence[tuple[int, int]], *, qid: int = 1, attributes: int = DSM_AD,
                **geometry: Any) -> Command:
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


def expect(command: Command, *statuses: int) -> None:
    """Raise unless `command` ended with one of `statuses`."""
    if command.aborted or command.status not in statuses:
        names = " or ".join(Status(s).name for s in statuses)
        got = "a reset" if command.aborted else status_name(command.status15)
        raise ProtocolError(f"{opcode_name(command.opcode, command.qid == 0)} at {command.slba} (nlb {command.nlb}) "
                            f"ended with {got}, not {names}")
