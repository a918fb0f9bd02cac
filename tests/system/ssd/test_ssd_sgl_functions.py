# SPDX-License-Identifier: Apache-2.0
"""SGLs of several functions at work at once: lists of all kinds beside PRPs against a model, what a list may take,
faults that cost their function alone, ranges that are cut, and commands that the firmware ends."""

from __future__ import annotations

import random
from collections.abc import Callable

import copies
import pytest
from doorbell.nvme import reservations
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import DSM_AD, AdminOpc, Cns, NvmOpc, ResvRegister, ResvType, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.sgl import (
    BUDGET_PIECE,
    PSDT_SGL,
    SGLS_BIT_BUCKET,
    SGLS_DWORDS,
    SGLS_LONGER,
    Descriptor,
    Kind,
    Sgl,
    budget,
)
from doorbell.nvme.structures import DsmRange
from owners import bring_up_functions
from test_ssd_sgl import Listed, faulty, free, make
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
NUM_FN = 3
REGION = 4096  # blocks of each function
MEMORY = 32 << 20
RESERVATION_DESCRIPTORS = 32  # that the firmware reads of a list: docs/virtualization.md


@pytest.fixture(scope=copies.scope("module"))
def drives(make_drive_once: MakeDrive) -> list[Driver]:
    """PF and VFs, with memory at other addresses than everybody else's; namespace 1 is everybody's."""
    pf = make_drive_once(num_fn=NUM_FN, memory=MEMORY, params={"NUM_NS": NUM_FN, "SGL": 1})  # as of test_ssd_functions
    return bring_up_functions(pf, queues=dict.fromkeys(range(NUM_FN), 2), memory=MEMORY)


def submit(
    drive: Driver, opcode: int, pointer: Descriptor, slba: int = 0, nlb: int = 0, qid: int = 1, **fields: int
) -> Command:
    prp1, prp2 = pointer.words
    return drive.submit(qid, opcode, slba, nlb, prp1=prp1, prp2=prp2, flags=PSDT_SGL, **fields)


def run(drive: Driver, opcode: int, pointer: Descriptor, slba: int = 0, nlb: int = 0, **fields: int) -> Command:
    command = submit(drive, opcode, pointer, slba, nlb, **fields)
    drive.wait([command])
    return command


def spent(f: Listed, size: int, to_host: bool) -> bool:
    """Its list takes more than a command of `size` bytes has units for."""
    return f.sgl is not None and not f.alone and f.sgl.units(size, to_host) > budget(size)


def test_identify(drives: list[Driver]) -> None:
    """All functions say the same; admin commands have PRPs in all of them."""
    for drive in drives:
        assert drive.controller is not None
        assert drive.controller.sgls == SGLS_DWORDS | SGLS_BIT_BUCKET | SGLS_LONGER
        prp1, prp2 = Descriptor(drive.buffer(4096).address, 4096).words
        refused = drive.admin_try(AdminOpc.IDENTIFY, prp1=prp1, prp2=prp2, flags=PSDT_SGL, cdw10=Cns.CTRL)
        expect(refused, Status.INVALID_FIELD)


def test_random_lists(drives: list[Driver]) -> None:
    """Reads, Writes and Compares of all functions at once, with lists and with PRPs: every byte of all memories and
    blocks is as the model says, and a list that takes too much ends its command with Invalid Number of SGL
    Descriptors."""
    rng = random.Random(11)
    models = [bytearray(rng.randbytes(REGION * 512)) for _ in drives]
    for fn, (drive, model) in enumerate(zip(drives, models)):
        for at in range(0, REGION, 1024):
            drive.write(fn * REGION + at, bytes(model[at * 512 : (at + 1024) * 512]))
    refused = 0
    for turn in range(10):
        sent: list[tuple[Driver, bytearray, Listed, NvmOpc, int]] = []
        for fn, (drive, model) in enumerate(zip(drives, models)):
            opcode = (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.READ, NvmOpc.COMPARE)[(turn + fn) % 4]
            share = REGION // 16
            for i in range(16):
                blocks = rng.choice((1, 8, rng.randint(1, 40), rng.randint(1, share)))
                size = 512 * blocks
                f = make(drive, rng, size, opcode == NvmOpc.READ)
                f.slba = share * i + rng.randrange(share - blocks + 1)
                f.data = bytes(model[f.slba * 512 : f.slba * 512 + size])
                if opcode == NvmOpc.COMPARE:
                    done = 0
                    for d in (d for d in f.every if d.kind == Kind.BLOCK):
                        here = f.data[done : done + d.length]
                        drive.memory.at(d.address, len(here))[:] = here
                        done += d.length
                    f.before = bytes(drive.memory.at(f.address, f.room))
                prp1, prp2 = f.words()
                slba = fn * REGION + f.slba
                f.command = drive.submit(1 + i % 2, opcode, slba, blocks - 1, prp1=prp1, prp2=prp2, flags=f.flags)
                sent.append((drive, model, f, opcode, size))
        buffers = [drive.buffer(64 << 10, scattered=True) for drive in drives]
        beside = [drive.submit(1, NvmOpc.READ, 3 * REGION, 127, b) for drive, b in zip(drives, buffers)]
        for drive in drives:
            drive.ring()
        for drive in drives:
            drive.wait()
        for command in beside:
            expect(command, Status.SUCCESS)
        for drive, model, f, opcode, size in sent:
            assert f.command is not None
            too_much = spent(f, size, opcode == NvmOpc.READ)
            refused += too_much
            expect(f.command, Status.SGL_INVALID_COUNT if too_much else Status.SUCCESS)
            assert not too_much or f.command.dnr
            after = bytes(drive.memory.at(f.address, f.room))
            at = slice(f.slba * 512, f.slba * 512 + size)
            if opcode == NvmOpc.READ and too_much:  # what the list says before may have moved
                want = f.scatter(f.data)
                assert all(a in (w, b) for a, w, b in zip(after, want, f.before))
            else:
                assert after == (f.scatter(f.data) if opcode == NvmOpc.READ else f.before)
            if opcode == NvmOpc.WRITE:
                new = f.gather(size)
                fn = drives.index(drive)
                got = drive.read(fn * REGION + f.slba, size // 512)
                for b in range(0, size, 512):
                    allowed = [new[b : b + 512]] + [f.data[b : b + 512]] * too_much
                    assert got[b : b + 512] in allowed
                model[at] = got
            free(drive, [f])
        for b in buffers:
            b.free()
    assert 10 < refused < 300, f"{refused} of 480 lists take too much: the mix misses one or the other"
    for fn, (drive, model) in enumerate(zip(drives, models)):
        for at in range(0, REGION, 1024):
            assert drive.read(fn * REGION + at, 1024) == bytes(model[at * 512 : (at + 1024) * 512])


def test_as_much_as_a_list_may_take(drives: list[Driver]) -> None:
    """A page of descriptors always, a piece more for each 32 KiB: exactly so many, and one more."""
    for fn, drive in enumerate(drives):
        target = drive.buffer(64 << 10, offset=0)
        a = target.address
        for size in (4096, 65536):
            dwords = [Descriptor(a + 4 * i, 4) for i in range(255)]
            page = Sgl(drive.memory, [[*dwords, Descriptor(a + 1020, size - 1020)]])
            expect(run(drive, NvmOpc.READ, page.pointer, fn * REGION, size // 512 - 1), Status.SUCCESS)
            room = budget(size) - 2 * BUDGET_PIECE  # of a list that crosses a page
            for count in (room, room + 1):
                list_ = [*(Descriptor(a + 4 * i, 4) for i in range(count - 1)), Descriptor(a + 4 * count - 4, size)]
                crossing = Sgl(drive.memory, [list_], offset=4096 - 32)
                status = Status.SUCCESS if count == room else Status.SGL_INVALID_COUNT
                command = run(drive, NvmOpc.READ, crossing.pointer, fn * REGION, size // 512 - 1)
                expect(command, status)
                crossing.free()
            most = budget(size) // (BUDGET_PIECE + 1)
            for count in (most, most + 1):
                chain = Sgl(drive.memory, [*[[]] * (count - 1), [Descriptor(a, size)]])
                status = Status.SUCCESS if count == most else Status.SGL_INVALID_COUNT
                expect(run(drive, NvmOpc.READ, chain.pointer, fn * REGION, size // 512 - 1), status)
                chain.free()
            page.free()
        target.free()


def test_faults_cost_their_function(drives: list[Driver]) -> None:
    """One function sends every fault there is, again and again; what the others read and write is right."""
    rng = random.Random(3)
    bad, *others = drives
    buffer = bad.buffer(16 << 10, offset=0)
    data = rng.randbytes(8192)
    for n, drive in enumerate(others, 1):
        drive.sgl = True
        drive.write(n * REGION, data)
    for opcode in (NvmOpc.READ, NvmOpc.WRITE):
        for name, (pointer, status, _) in faulty(bad, buffer).items():
            beside = []
            for n, drive in enumerate(others, 1):
                b = drive.buffer(8192, scattered=True, offset=4 * rng.randrange(1024))
                beside.append((drive, b, drive.submit(1, NvmOpc.READ, n * REGION, 15, b, ring=True)))
            command = run(bad, opcode, pointer, 0, 15)
            assert (command.status, command.dnr) == (status, status != Status.SUCCESS), (name, command.status)
            for drive, b, c in beside:
                drive.wait([c])
                expect(c, Status.SUCCESS)
                assert b.read() == data
                b.free()
    for drive in others:
        drive.sgl = False


def deallocated(drive: Driver, first: int, make_pointer: Callable[[bytes], Descriptor], count: int) -> Command:
    """Dataset Management of `count` ranges of a block, every other one from `first` on, in 2 * count blocks of ones."""
    blocks = 2 * count
    for at in range(0, blocks, 256):
        n = min(256, blocks - at)
        drive.write(first + at, b"\x01" * 512 * n)
    raw = b"".join(bytes(DsmRange(0, 1, first + 2 * i)) for i in range(count))
    command = run(drive, NvmOpc.DSM, make_pointer(raw), cdw10=count - 1, cdw11=DSM_AD)
    got = b"".join(drive.read(first + at, min(256, blocks - at)) for at in range(0, blocks, 256))
    gone = bytes(got[512 * b] == 0 for b in range(blocks))
    done = sum(gone)
    assert gone == bytes(not b % 2 and b < 2 * done for b in range(blocks)), "ranges from the first on"
    assert all(got[512 * b : 512 * b + 512] in (bytes(512), b"\x01" * 512) for b in range(blocks))
    command.user = done
    return command


@pytest.mark.parametrize("count", [1, 4, 5, 37, 256])
def test_ranges_in_a_block(drives: list[Driver], count: int) -> None:
    """They go in pieces of four. A block at any dword, also across a page; longer than the list if the host likes; one
    that is too short, or has no whole dwords, ends as it does uncut."""
    drive = drives[1]
    rng = random.Random(count)
    for offset in (0, 4, 4096 - 16, 4092, 4 * rng.randrange(1024)):
        buffer = drive.buffer(8192, offset=offset)

        def block(raw: bytes, length: int | None = None, kind: int = Kind.BLOCK, b: object = buffer) -> Descriptor:
            b.write(raw)  # type: ignore[attr-defined]
            return Descriptor(b.address, len(raw) if length is None else length, kind)  # type: ignore[attr-defined]

        done = deallocated(drive, REGION, block, count)
        expect(done, Status.SUCCESS)
        assert done.user == count
        expect(deallocated(drive, REGION, lambda raw, f=block: f(raw, 1 << 20), count), Status.SUCCESS)
        short = 4 * rng.randrange(4 * count)
        cut = deallocated(drive, REGION, lambda raw, f=block, n=short: f(raw, n), count)
        expect(cut, Status.SGL_INVALID_DATA)
        assert cut.dnr and cut.user <= short // 16
        odd = deallocated(drive, REGION, lambda raw, f=block: f(raw, 16 * count + 1), count)
        expect(odd, Status.SGL_INVALID_GRANULARITY)
        assert odd.user == 0
        wrong = deallocated(drive, REGION, lambda raw, f=block: f(raw, kind=5), count)
        expect(wrong, Status.SGL_INVALID_TYPE)
        assert wrong.user == 0
        buffer.free()


def test_ranges_in_a_list(drives: list[Driver]) -> None:
    """Four ranges may lie anywhere. More must lie in one block, or nothing happens; if it is advice alone, nobody
    looks."""
    drive = drives[2]
    buffer = drive.buffer(8192)

    def scattered(raw: bytes) -> Descriptor:
        pieces = []
        for i in range(0, len(raw), 12):
            here = raw[i : i + 12]
            at = buffer.address + 16 * i // 12 + 4
            drive.memory.at(at, len(here))[:] = here
            pieces.append(Descriptor(at, len(here)))
        return Sgl(drive.memory, [pieces[:1], pieces[1:]]).pointer

    for count in (1, 4, 5, 100):
        command = deallocated(drive, 2 * REGION, scattered, count)
        expect(command, Status.SUCCESS if count <= 4 else Status.SGL_INVALID_COUNT)
        assert command.user == (count if count <= 4 else 0) and command.dnr == (count > 4)
    advice = run(drive, NvmOpc.DSM, scattered(bytes(16 * 100)), cdw10=99, cdw11=0)
    expect(advice, Status.SUCCESS)
    # What a driver with SGLs does: such a list of ranges has PRPs.
    drive.sgl = True
    apart = drive.buffer(1600, offset=3000, scattered=True)
    apart.write(b"".join(bytes(DsmRange(0, 1, 2 * REGION + i)) for i in range(100)))
    drive.run(drive.submit(1, NvmOpc.DSM, buffer=apart, nbytes=1600, cdw10=99, cdw11=DSM_AD))
    assert drive.read(2 * REGION, 100) == bytes(51200)
    drive.sgl = False


@pytest.mark.parametrize("chained", [False, True], ids=["last segment", "chain"])
def test_reservations(drives: list[Driver], chained: bool) -> None:
    """Register, Acquire, Report and Release with keys and reports that lie in dwords apart, at the end of pages, across
    them, and in bit buckets."""
    rng = random.Random(chained)
    for fn, drive in enumerate(drives):
        reservations.set_host_id(drive, 0xA0 + fn)
    keys = [0x1122_3344_5566_7788 * (1 + fn) & (1 << 64) - 1 for fn in range(NUM_FN)]

    def pointer(drive: Driver, raw: bytes, to_host: bool = False) -> tuple[Descriptor, list[Descriptor]]:
        """A list of what is written there, or read from there."""
        every, at = [], 0
        while at < len(raw):
            n = min(4 * rng.choice((1, 2, 5, 16)), len(raw) - at)
            where = drive.memory.alloc(8192) + 4096 - 4 * rng.choice((1, 3, 20))
            every.append(Descriptor(where, n))
            drive.memory.at(where, n)[:] = raw[at : at + n]
            at += n
        every.insert(rng.randrange(len(every)), Descriptor(0, 0))
        if not to_host:
            every.insert(rng.randrange(len(every)), Descriptor(1, 333, Kind.BIT_BUCKET))
        parts = [every[i : i + 2] for i in range(0, len(every), 2)] if chained else [every]
        return Sgl(drive.memory, parts, offset=8 * rng.choice((0, 511, 100))).pointer, every

    def keyed(fn: int, opcode: int, cdw10: int, *words: int) -> Command:
        raw = b"".join(w.to_bytes(8, "little") for w in words)
        return run(drives[fn], opcode, pointer(drives[fn], raw)[0], cdw10=cdw10, cdw11=0, cdw12=0)

    for fn in range(NUM_FN):
        expect(keyed(fn, NvmOpc.RESV_REGISTER, ResvRegister.REGISTER, 0, keys[fn]), Status.SUCCESS)
    acquire = ResvType.WRITE_EXCLUSIVE << 8
    expect(keyed(1, NvmOpc.RESV_ACQUIRE, acquire, keys[2], 0), Status.RESV_CONFLICT)
    expect(keyed(1, NvmOpc.RESV_ACQUIRE, acquire, keys[1], 0), Status.SUCCESS)
    report = reservations.report(drives[0])  # with PRPs
    assert [(c.cntlid, c.key, c.holder) for c in report.controllers] == [(n, keys[n], n == 1) for n in range(NUM_FN)]
    size = 24 + 24 * NUM_FN
    drive = drives[2]
    plain = drive.buffer(4096)
    expect(drive.run(drive.submit(1, NvmOpc.RESV_REPORT, buffer=plain, cdw10=size // 4 - 1, cdw11=0)), Status.SUCCESS)
    want = plain.read()[:size]
    found, every = pointer(drive, bytes(size), to_host=True)
    expect(run(drive, NvmOpc.RESV_REPORT, found, cdw10=size // 4 - 1, cdw11=0), Status.SUCCESS)
    assert b"".join(bytes(drive.memory.at(d.address, d.length)) for d in every if d.length) == want
    plain.fill(0x5A)
    swallowed = Sgl(drive.memory, [[Descriptor(0, 24, Kind.BIT_BUCKET), Descriptor(plain.address, 8)],
                                   [Descriptor(7, 4096, Kind.BIT_BUCKET)]])  # fmt: skip
    expect(run(drive, NvmOpc.RESV_REPORT, swallowed.pointer, cdw10=size // 4 - 1, cdw11=0), Status.SUCCESS)
    assert plain.read()[:12] == want[24:32] + b"\x5a" * 4
    expect(keyed(1, NvmOpc.RESV_RELEASE, acquire, keys[1]), Status.SUCCESS)
    for fn in range(NUM_FN):
        expect(keyed(fn, NvmOpc.RESV_REGISTER, ResvRegister.UNREGISTER, keys[fn], 0), Status.SUCCESS)
    assert not reservations.report(drives[0]).controllers


def test_faults_of_reservations(drives: list[Driver]) -> None:
    """Every fault of a list has the status that it has with other commands, and nothing is registered; so has one with
    more descriptors than the firmware reads. A VF's costs the others nothing."""
    drive = drives[1]
    buffer = drive.buffer(4096, offset=0)
    a = buffer.address
    buffer.write(bytes(8) + (0xABC).to_bytes(8, "little"))
    B, K = Descriptor, Kind

    def to(parts: list[list[Descriptor]], **how: object) -> Descriptor:
        return Sgl(drive.memory, parts, **how).pointer  # type: ignore[arg-type]

    good, half, rest = to([[B(a, 16)]]), B(a, 8), B(a + 8, 8)
    empty = [B(a, 0)] * (RESERVATION_DESCRIPTORS - 2)
    cases = {
        "no such type": (B(a, 16, 4), Status.SGL_INVALID_TYPE),
        "offset": (B(a, 16, K.BLOCK, 1), Status.SGL_INVALID_TYPE),
        "type in a list": (to([[half, B(a, 16, 5)]]), Status.SGL_INVALID_TYPE),
        "pointer in the middle": (to([[half, good, rest]]), Status.SGL_INVALID_COUNT),
        "pointer in the last segment": (to([[half, good]]), Status.SGL_INVALID_LAST),
        "segment without length": (good._replace(length=0), Status.SGL_INVALID_LAST),
        "part of a descriptor": (good._replace(length=24), Status.SGL_INVALID_LAST),
        "segment at a dword": (good._replace(address=good.address + 4), Status.SGL_INVALID_LAST),
        "short block": (half, Status.SGL_INVALID_DATA),
        "short list": (to([[half, B(a + 8, 4)]]), Status.SGL_INVALID_DATA),
        "bit bucket": (B(a, 16, K.BIT_BUCKET), Status.SGL_INVALID_DATA),
        "address of a byte": (B(a + 1, 16), Status.SGL_INVALID_GRANULARITY),
        "length of a byte": (to([[half, B(a + 8, 9)]]), Status.SGL_INVALID_GRANULARITY),
        "too many": (to([[*empty, B(a, 0), half, rest]]), Status.SGL_INVALID_COUNT),
        "nothing there": (B(1 << 50, 16, K.LAST_SEGMENT), Status.DATA_TRANSFER_ERROR),
        "as many as may be": (to([[*empty, half, rest]]), Status.SUCCESS),
    }
    for name, (pointer, status) in cases.items():
        command = run(drive, NvmOpc.RESV_REGISTER, pointer, cdw10=ResvRegister.REGISTER, cdw11=0, cdw12=0)
        assert command.status == status, (name, command.status)
        assert command.dnr == (status not in (Status.SUCCESS, Status.DATA_TRANSFER_ERROR)), name
        assert len(reservations.report(drives[0]).controllers) == (status == Status.SUCCESS), name
        expect(run(drives[2], NvmOpc.READ, Descriptor(drives[2].memory.base, 512)), Status.SUCCESS)
    psdt3 = drive.submit(1, NvmOpc.RESV_REGISTER, buffer=buffer, flags=3 * PSDT_SGL, cdw10=0, cdw11=0, cdw12=0)
    drive.wait([psdt3])
    expect(psdt3, Status.INVALID_FIELD)
