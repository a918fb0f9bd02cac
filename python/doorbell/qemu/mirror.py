# SPDX-License-Identifier: Apache-2.0
"""Between a host core, whose window of host memory is made on the fly, and a drive that wants memory there.

QEMU gives a device fast access to another function's BAR only where that is memory. So the mirror keeps the window's
memory true: before a submission doorbell reaches the drive, it reads the new entries, their PRP lists and the data of
writes from the core and puts them into memory; when the drive has put a completion entry there, it hands the data of
reads and then the entry to the core. It reads what any drive reads, through the core's CQ and CC, and checks nothing:
what the core gets wrong stays wrong. NVMe Base 2.0: 3.1.3 (registers), 3.3.3 (entries), 4.1.1 (PRPs), 4.1.2 (SGLs: the
core's are one data block).
"""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from doorbell.device.blocks import DriveMessage
from doorbell.device.drive_calls import DriveCalls
from doorbell.device.messages import SimError
from doorbell.qemu.drives import QemuDrives

PAGE = 4096
DOORBELLS = 0x1000
CAP, AQA, ASQ, ACQ = 0x00, 0x24, 0x28, 0x30
DELETE_SQ, IDENTIFY, CREATE_SQ, CREATE_CQ, GET_LOG = 0x00, 0x06, 0x01, 0x05, 0x02
GET_FEATURES, SET_FEATURES, FW_DOWNLOAD = 0x0A, 0x09, 0x11
DSM = 0x09
PSDT_SGL = 0x40  # bits 7:6 of byte 1
RESET_S = 5.0


@dataclass
class _Command:
    """A submission entry on its way to the drive, or in it."""

    queue: _Queue
    place: int
    entry: bytes = b""
    length: int = 0
    pages: list[int] = field(default_factory=list)  # addresses of its data, page by page
    missing: int = 0  # reads of the core that have not come back
    to_drive: bool = False


@dataclass
class _Queue:
    """A submission queue and its completion queue (they have the same identifier, as the core makes them)."""

    qid: int
    sq_base: int = 0
    sq_size: int = 0
    cq_base: int = 0
    cq_size: int = 0
    tail: int = 0  # up to where entries have been asked for
    sent: int = 0  # up to where the drive knows
    head: int = 0
    phase: int = 1
    waiting: deque[_Command] = field(default_factory=deque)
    inside: dict[int, _Command] = field(default_factory=dict)  # by command identifier


class NvmeMirror:
    """One drive. `step` does what can be done now and says whether anything was."""

    def __init__(self, sim: DriveCalls, bus: QemuDrives, drive: int, *, port: int | None = None, bar: int = 0) -> None:
        """sim: has an `ExternalDrive` at `port` (None: `drive`), whose window is `bus.window(drive)`. bar: where the
        drive has its BAR 0, if the core does not set that itself."""
        self._sim, self._bus, self._drive = sim, bus, drive
        self._port = drive if port is None else port
        self._base, self._memory = bus.window(drive)
        self._bar = [bar & 0xFFFFFFFF, bar >> 32]
        self._stride = 4
        self._registers: dict[int, int] = {}
        self._queues: dict[int, _Queue] = {}
        self._lba_shift = 9
        self._reads: deque[tuple[int, int, Callable[[bytes], None]]] = deque()  # of the window: handle, bytes, then
        self._asked: deque[tuple[int, DriveMessage]] = deque()  # registers: number of the read, the core's message
        self.commands = 0

    # ------------------------------------------------------------ the loop

    def step(self) -> bool:
        """Do what can be done now: requests of the core, reads that came back, queues. True if there was anything."""
        busy = False
        for message in self._sim.messages(self._port):
            self._request(message)
            busy = True
        while self._reads:
            handle, size, then = self._reads[0]
            try:
                data = self._sim.host_read_poll(handle, size, self._port)
            except SimError:  # refused: a reset is under way. Its command is lost, and the core will miss it
                self._reads.popleft()
                continue
            if data is None:
                break
            self._reads.popleft()
            then(data)
            busy = True
        busy |= self._answer_registers()
        for queue in self._queues.values():
            busy |= self._submit(queue) | self._complete(queue)
        return busy

    def _ask(self, address: int, size: int, then: Callable[[bytes], None]) -> None:
        """Read the core's window; `then` gets the data, in the order of asking."""
        self._reads.append((self._sim.host_read(address, size, self._port), size, then))

    # ------------------------------------------------------------ requests of the core

    def _request(self, message: DriveMessage) -> None:
        """A configuration or register access of the core: hand it to the drive, and its answer back."""
        addr = message.addr
        if message.kind == "cfg_read":
            here = not message.target & 0xFF  # function 0 of device 0
            value = self._bus.config_read(self._drive, addr & ~3) if here else 0xFFFFFFFF
            self._sim.answer(message.id, struct.pack("<I", value), 0 if here else 1, self._port)
        elif message.kind == "cfg_write":
            enables = (1 << message.size) - 1 << addr % 4
            value = int.from_bytes(message.data, "little") << 8 * (addr % 4)
            self._bus.config_write(self._drive, addr & ~3, value, enables)
            if addr in (0x10, 0x14):
                self._bar[(addr - 0x10) // 4] = value & (~15 if addr == 0x10 else 0xFFFFFFFF)
            self._sim.answer(message.id, b"", 0, self._port)
        elif message.kind == "read":
            self._asked.append((self._bus.memory_read(addr, message.size), message))
        elif message.kind == "write":
            self._register_write(addr, message.data)
        elif message.kind in ("reset", "link_down"):
            self._enable(0)

    def _answer_registers(self) -> bool:
        """Register reads that the drive has answered go back to the core, in their order."""
        busy = False
        while self._asked and (data := self._bus.memory_answer(self._asked[0][0])) is not None:
            _, message = self._asked.popleft()
            if data and message.addr - self._bar_address == CAP + 4:
                self._stride = 4 << (data[0] & 15)
            self._sim.answer(message.id, data or None, 0 if data else 1, self._port)
            busy = True
        return busy

    @property
    def _bar_address(self) -> int:
        """Where the core has put the drive's BAR 0."""
        return self._bar[0] | self._bar[1] << 32

    def _register_write(self, address: int, data: bytes) -> None:
        """To the drive at once, but for doorbells of submission queues: first their entries are asked for."""
        offset = address - self._bar_address
        if offset < DOORBELLS:
            for i in range(0, len(data), 4):
                self._registers[offset + i] = struct.unpack_from("<I", data, i)[0]
            if offset == 0x14:
                self._enable(self._registers[0x14] & 1)
            self._bus.memory_write(address, data)
            return
        number, (value,) = (offset - DOORBELLS) // self._stride, struct.unpack("<I", data)
        queue = self._queues.get(number // 2)
        if number % 2 or not queue or not queue.sq_size:
            self._bus.memory_write(address, data)
            return
        while queue.tail != value % queue.sq_size:
            command = _Command(queue, queue.tail, missing=1)
            queue.waiting.append(command)
            self._ask(queue.sq_base + 64 * queue.tail, 64, lambda entry, c=command: self._entry(c, entry))
            queue.tail = (queue.tail + 1) % queue.sq_size

    def _enable(self, on: int) -> None:
        """CC.EN is written: all queues are gone, and the admin queue is there if it is on."""
        self._let_end()
        self._queues.clear()
        self._reads.clear()
        if on:
            sizes = self._registers.get(AQA, 0)
            get = self._registers.get
            self._queues[0] = _Queue(
                0, get(ASQ, 0) & ~0xFFF | get(ASQ + 4, 0) << 32, (sizes & 0xFFF) + 1,
                get(ACQ, 0) & ~0xFFF | get(ACQ + 4, 0) << 32, (sizes >> 16 & 0xFFF) + 1)  # fmt: skip
            self._empty(self._queues[0])

    def _let_end(self) -> None:
        """The drive ends its I/O first, RESET_S at most, and that goes to the core as ever. (A reset of QEMU's drive
        cancels what it does to its image, and QEMU's main loop can wait for that for good.)
        """
        end = time.monotonic() + RESET_S
        while any(q.inside for q in self._queues.values() if q.qid) and time.monotonic() < end:
            self._bus.pump()
            if not any([self._complete(q) for q in self._queues.values()]):
                time.sleep(0.0002)

    def _empty(self, queue: _Queue) -> None:
        """No completion entry of a queue that was there before is taken for a new one."""
        at = queue.cq_base - self._base
        self._memory[at : at + 16 * queue.cq_size] = bytes(16 * queue.cq_size)

    # ------------------------------------------------------------ from the core to the drive

    def _entry(self, command: _Command, entry: bytes) -> None:
        """A submission entry has come: into memory, and ask for its list or its data."""
        command.entry = entry
        command.missing = 0
        at = command.queue.sq_base - self._base + 64 * command.place
        self._memory[at : at + 64] = entry
        opcode = entry[0]
        prp1, prp2 = struct.unpack_from("<QQ", entry, 24)
        command.length = self._data_bytes(command.queue.qid, entry)
        if not command.length:
            return
        command.to_drive = opcode & 3 == 1
        count = (prp1 % PAGE + command.length + PAGE - 1) // PAGE
        command.pages = [prp1]
        if entry[1] & 0xC0 == PSDT_SGL:
            command.pages += [(prp1 // PAGE + i) * PAGE for i in range(1, count)]
        elif count == 2:
            command.pages.append(prp2)
        elif count > 2:
            command.missing += 1
            self._ask(prp2, 8 * (count - 1), lambda data: self._list(command, prp2, data))
            return
        self._fetch_data(command)

    def _list(self, command: _Command, prp2: int, data: bytes) -> None:
        """A PRP list has come (the core's are never chained): into memory, and ask for the data."""
        self._memory[prp2 - self._base : prp2 - self._base + len(data)] = data
        command.pages += struct.unpack(f"<{len(data) // 8}Q", data)
        command.missing -= 1
        self._fetch_data(command)

    def _pieces(self, command: _Command) -> list[tuple[int, int]]:
        """(address, bytes) of the command's data, in its order; neighbouring pages in one."""
        out: list[tuple[int, int]] = []
        left = command.length
        for page in command.pages:
            size = min(PAGE - page % PAGE, left)
            if out and out[-1][0] + out[-1][1] == page:
                out[-1] = (out[-1][0], out[-1][1] + size)
            else:
                out.append((page, size))
            left -= size
        return out

    def _fetch_data(self, command: _Command) -> None:
        """Ask the core for all that the command moves to the drive."""
        if not command.to_drive:
            return
        for address, size in self._pieces(command):
            command.missing += 1
            self._ask(address, size, lambda data, a=address: self._data(command, a, data))

    def _data(self, command: _Command, address: int, data: bytes) -> None:
        """A piece of data has come: into memory."""
        at = address - self._base
        self._memory[at : at + len(data)] = data
        command.missing -= 1

    def _submit(self, queue: _Queue) -> bool:
        """Tell the drive of entries that are whole, in order."""
        sent = queue.sent
        while queue.waiting and not queue.waiting[0].missing:
            command = queue.waiting.popleft()
            queue.inside[struct.unpack_from("<H", command.entry, 2)[0]] = command
            self._note(queue, command.entry)
            sent = (command.place + 1) % queue.sq_size
            self.commands += 1
        if sent == queue.sent:
            return False
        queue.sent = sent
        address = self._bar_address + DOORBELLS + 2 * queue.qid * self._stride
        self._bus.memory_write(address, struct.pack("<I", sent))
        return True

    def _note(self, queue: _Queue, entry: bytes) -> None:
        """Queues, from the admin commands that make and delete them."""
        if queue.qid or entry[0] not in (CREATE_SQ, CREATE_CQ, DELETE_SQ):
            return
        (prp1,) = struct.unpack_from("<Q", entry, 24)
        qid, size = struct.unpack_from("<HH", entry, 40)
        if entry[0] == DELETE_SQ:  # what has not been handed to the drive never is
            self._queues = {n: q for n, q in self._queues.items() if n != qid}
            return
        made = self._queues.get(qid) or _Queue(qid)
        if entry[0] == CREATE_SQ:
            made.sq_base, made.sq_size, made.tail, made.sent = prp1, size + 1, 0, 0
        else:
            made.cq_base, made.cq_size, made.head, made.phase = prp1, size + 1, 0, 1
            self._empty(made)
        # a new dictionary: the caller walks the old one
        self._queues = {**self._queues, qid: made}

    def _data_bytes(self, qid: int, entry: bytes) -> int:
        """Bytes that a command moves."""
        opcode = entry[0]
        cdw10, cdw11, cdw12 = struct.unpack_from("<3I", entry, 40)
        if not opcode & 3:
            return 0
        if qid:
            if opcode == DSM:
                return 16 * ((cdw10 & 0xFF) + 1)
            return 0 if opcode & 3 == 0 or opcode in (0x08, 0x0C) else ((cdw12 & 0xFFFF) + 1) << self._lba_shift
        if opcode == IDENTIFY:
            return PAGE
        if opcode == GET_LOG:
            return ((cdw10 >> 16 | (cdw11 & 0xFFFF) << 16) + 1) * 4
        if opcode == FW_DOWNLOAD:
            return (cdw10 + 1) * 4
        if opcode in (GET_FEATURES, SET_FEATURES):
            return {0x03: PAGE, 0x0C: 256, 0x0E: 8, 0x16: 512, 0x81: 16}.get(cdw10 & 0xFF, 0)
        return 0 if opcode in (CREATE_CQ, CREATE_SQ) else PAGE

    # ------------------------------------------------------------ from the drive to the core

    def _complete(self, queue: _Queue) -> bool:
        """Hand new completion entries of the drive to the core, behind the data that they speak of."""
        busy = False
        while queue.cq_size:
            at = queue.cq_base - self._base + 16 * queue.head
            entry = bytes(self._memory[at : at + 16])
            cid, status = struct.unpack_from("<HH", entry, 12)
            if status & 1 != queue.phase:
                break
            command = queue.inside.pop(cid, None)
            if command and command.length and not command.to_drive and not status >> 1:
                self._hand_over(queue, command)
            self._sim.host_write(queue.cq_base + 16 * queue.head, entry, self._port)
            queue.head += 1
            if queue.head == queue.cq_size:
                queue.head, queue.phase = 0, 1 - queue.phase
            busy = True
        return busy

    def _hand_over(self, queue: _Queue, command: _Command) -> None:
        """Data that the drive has put into memory goes to the core; of Identify we keep the size of a block."""
        for address, size in self._pieces(command):
            at = address - self._base
            self._sim.host_write(address, bytes(self._memory[at : at + size]), self._port)
        if queue.qid == 0 and command.entry[0] == IDENTIFY and command.entry[40] == 0:
            at = command.pages[0] - self._base
            flbas = self._memory[at + 26] & 15
            self._lba_shift = self._memory[at + 128 + 4 * flbas + 2] or 9
