# SPDX-License-Identifier: Apache-2.0
"""db_csd with a PF and VFs, for the tests of it: a driver each, namespaces, keys, and what the media is to hold."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from csd_drive import PLAIN, csd, ctr, get, io, xts
from doorbell.compute import drive as compute
from doorbell.compute.operators import Op
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import NsAttach, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer, HostMemory
from traffic import MakeDrive

RNG = random.Random(31)
NUM_FN = 3
MEMORY = 16 << 20
QUEUES = 2
SIZE = 1 << 20  # of a namespace
BLOCKS = 256  # that are used of each
SHARED = 1  # NMIC
SLOTS = 16
SHARE = SLOTS // NUM_FN  # slots of a VF


def functions(
    make_drive: MakeDrive,
    num_fn: int = NUM_FN,
    more: dict[str, int] | None = None,
    all_sets: bool = False,
    **options: Any,
) -> list[Driver]:
    """PF and VFs, up; every other VF's has SGLs. The first namespaces are private, of the function with the index
    NSID - 1; VFs 1 and 2 share the one behind them."""
    params = PLAIN | {"NUM_NS": num_fn + 3} | ({"NUM_QP": 3 * num_fn} if num_fn > NUM_FN else {}) | (more or {})
    media = (num_fn + 7) * SIZE
    size = {"memory": MEMORY, "media_size": media}
    pf = csd(make_drive, queues=QUEUES, all_sets=all_sets, num_fn=num_fn, params=params, **size, **options)
    pf.sim.enable_vfs(num_fn - 1)
    namespaces.delete(pf)
    for fn in range(num_fn):
        assert namespaces.create(pf, SIZE // 512) == fn + 1
        namespaces.attachment_try(pf, fn + 1, NsAttach.ATTACH, (fn,)).check()
    shared = namespaces.create_try(pf, SIZE // 512, nmic=SHARED).check().dw0
    namespaces.attachment_try(pf, shared, NsAttach.ATTACH, (1, 2)[: num_fn - 1]).check()
    drives = [pf]
    for fn in range(1, num_fn):
        virtualization.assign(pf, fn, queues=QUEUES, interrupts=QUEUES + 1)
        virtualization.online(pf, fn)
        vf = Driver(pf.sim.function(fn), HostMemory(MEMORY, 0x12_4000_0000, seed=fn), seed=fn)
        vf.start(queues=QUEUES, entries=64, all_sets=all_sets)
        vf.sgl = fn % 2 == 1
        drives.append(vf)
    return drives


@dataclass
class Keys:
    """A namespace's key, and what the media holds with it."""

    op: int
    key1: bytes = field(default_factory=lambda: RNG.randbytes(32))
    key2: bytes = field(default_factory=lambda: RNG.randbytes(32))
    iv: bytes = field(default_factory=lambda: RNG.randbytes(16))

    def load(self, drive: Driver, slot: int) -> None:
        if self.op == Op.AES_XTS:
            compute.load_key(drive, slot, self.key1, self.key2)
        else:
            compute.load_key(drive, slot, self.key1, iv=self.iv)

    def encrypt(self, nsid: int, slba: int, data: bytes) -> bytes:
        if self.op == Op.AES_XTS:
            return xts(self.key1, self.key2, slba, data)
        return ctr(self.key1, self.iv, slba * 512, data, nsid)


def on_media(pf: Driver, nsid: int, slba: int, size: int) -> bytes:
    return pf.sim.media_read((nsid - 1) * SIZE + slba * 512, size)


@dataclass
class Work:
    """Random Reads, Writes and Compares of a function in its namespace."""

    drive: Driver
    nsid: int
    keys: Keys
    model: bytearray = field(default_factory=lambda: bytearray(BLOCKS * 512))
    wrote: set[int] = field(default_factory=set)
    pending: list[tuple[Command, set[int], Buffer]] = field(default_factory=list)

    def send(self) -> None:
        size = RNG.choice((1, 2, 8, 16))
        slba = RNG.randrange(BLOCKS - size)
        span = set(range(slba, slba + size))
        if any(span & busy for _, busy, _ in self.pending):
            return
        opcode = RNG.choice((NvmOpc.WRITE, NvmOpc.WRITE, NvmOpc.READ, NvmOpc.COMPARE))
        buffer = self.drive.buffer(size * 512)
        if opcode == NvmOpc.WRITE:
            self.model[slba * 512 : (slba + size) * 512] = RNG.randbytes(size * 512)
            self.wrote |= span
        if opcode != NvmOpc.READ:
            buffer.write(self.model[slba * 512 : (slba + size) * 512])
        command = self.drive.submit(1 + len(self.pending) % QUEUES, opcode, slba, size - 1, buffer, nsid=self.nsid)
        self.pending.append((command, span, buffer))

    def collect(self) -> None:
        self.drive.wait([p[0] for p in self.pending])
        for command, _, buffer in self.pending:
            command.check()
            if command.opcode == NvmOpc.READ:
                assert buffer.read() == self.model[command.slba * 512 :][: buffer.size], (self.nsid, command.slba)
            buffer.free()
        self.pending.clear()

    def check(self, pf: Driver) -> None:
        """The media holds ciphertext by this key, and zeros where nothing was written."""
        want = self.keys.encrypt(self.nsid, 0, bytes(self.model))
        media = on_media(pf, self.nsid, 0, len(self.model))
        for b in range(BLOCKS):
            block = slice(512 * b, 512 * b + 512)
            assert media[block] == (want[block] if b in self.wrote else bytes(512)), (self.nsid, b)


def at_once(works: list[Work], rounds: int = 6) -> None:
    for _ in range(rounds):
        for _ in range(24):
            for work in works:
                work.send()
        for work in works:
            work.drive.ring()
        for work in works:
            work.collect()


def key(work: Work, op: Op) -> None:
    """A new one for its operator in slot 1 of its function, which binds its namespace to it."""
    work.keys = Keys(op)
    work.keys.load(work.drive, 1)
    compute.bind(work.drive, work.nsid, op, 1)


def keyed(make_drive: MakeDrive, ops: tuple[Op, ...] = (Op.AES_XTS,) * NUM_FN) -> list[Work]:
    """A function an operator, with a key of its own in its slot 1 and its namespace bound to it, all by itself."""
    works = [Work(d, fn + 1, Keys(op)) for fn, (d, op) in enumerate(zip(functions(make_drive, len(ops)), ops))]
    for work, op in zip(works, ops):
        key(work, op)
    return works


def unharmed(*works: Work) -> None:
    """What they have written is there, and reads as it was."""
    for work in works:
        for first in range(0, BLOCKS, 64):
            assert get(work.drive, first, 64, nsid=work.nsid) == work.model[512 * first : 512 * (first + 64)]


def locked(drive: Driver, nsid: int) -> None:
    for opcode in (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE):
        expect(io(drive, opcode, 0, 4, nsid=nsid)[0], Status.ACCESS_DENIED)


def attach(pf: Driver, nsid: int, fn: int) -> None:
    namespaces.attachment_try(pf, nsid, NsAttach.ATTACH, (fn,)).check()


def detach(pf: Driver, nsid: int, fn: int) -> None:
    namespaces.attachment_try(pf, nsid, NsAttach.DETACH, (fn,)).check()
