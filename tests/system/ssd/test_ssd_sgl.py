# SPDX-License-Identifier: Apache-2.0
"""SGLs of I/O commands: lists of all kinds against a model of host memory and blocks, every fault with its status,
resets in the middle, and speed beside PRPs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from doorbell.bench.jobs import Job
from doorbell.bench.results import link_limit
from doorbell.bench.runner import run_group
from doorbell.device import limits
from doorbell.device.opening import sim_link
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import DSM_AD, AdminOpc, Cns, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer
from doorbell.nvme.sgl import PSDT_SGL, SGLS_BIT_BUCKET, SGLS_DWORDS, SGLS_LONGER, Descriptor, Kind, Sgl
from doorbell.nvme.structures import DsmRange
from traffic import NARROW, MakeDrive

pytestmark = pytest.mark.rtl
SGL = {"SGL": 1}
BOTH = (PSDT_SGL, 2 * PSDT_SGL)  # PSDT 1 and 2 differ in the metadata pointer alone, and there is no metadata


@pytest.fixture
def drive(make_drive: MakeDrive) -> Driver:
    """One that takes SGLs, up with four queue pairs of 64 entries."""
    d = make_drive(**NARROW)
    d.start(queues=4, entries=64)
    return d


@dataclass
class Listed:
    """A random list of `size` bytes in an arena of host memory of its own; `parts` are its segments."""

    address: int
    room: int
    parts: list[list[Descriptor]]
    alone: bool  # its one descriptor stands in the command
    sgl: Sgl | None = None
    before: bytes = b""
    data: bytes = b""
    command: Command | None = None
    slba: int = 0
    flags: int = PSDT_SGL
    every: list[Descriptor] = field(default_factory=list)

    def words(self) -> tuple[int, int]:
        return self.every[0].words if self.alone or self.sgl is None else self.sgl.pointer.words

    def scatter(self, data: bytes) -> bytes:
        """The arena when `data` has been read by this list."""
        out, at = bytearray(self.before), 0
        for address, length, kind, _ in self.every:
            here = data[at : at + length]
            if kind == Kind.BLOCK:
                out[address - self.address : address - self.address + len(here)] = here
            at += length
        return bytes(out)

    def gather(self, size: int) -> bytes:
        """What a write by this list takes from the arena: bit buckets are nothing."""
        blocks = [d for d in self.every if d.kind == Kind.BLOCK]
        return b"".join(self.before[d.address - self.address :][: d.length] for d in blocks)[:size]


def make(drive: Driver, rng: random.Random, size: int, to_host: bool) -> Listed:
    """Blocks at any dwords that do not overlap, empty ones, bit buckets, in segments of any length at any qword."""
    lengths, left = [], size
    typical = rng.choice((16, 100, 1000, 20_000))
    while left > 0:
        n = 4 * rng.choice((rng.randint(1, typical), 1, 128, 1024, rng.randint(1, 8)))
        lengths.append(min(n, left) if rng.random() < 0.9 else n)
        left -= lengths[-1]
    every, cursor, arena = [], 0, sum(lengths) + 8 * len(lengths) + 8192
    base = drive.memory.alloc(arena)
    for n in lengths:
        cursor += 4 * rng.choice((0, 0, 1, rng.randint(0, 2)))
        every.append(Descriptor(base + cursor, n))
        cursor += n
    if rng.random() < 0.5:
        rng.shuffle(every)
    if to_host and rng.random() < 0.6:
        every = [Descriptor(rng.getrandbits(64), d.length, Kind.BIT_BUCKET) if rng.random() < 0.2 else d for d in every]
    if not to_host and rng.random() < 0.4:  # what is not read may have any length
        every.insert(rng.randrange(len(every)), Descriptor(0, rng.getrandbits(32), Kind.BIT_BUCKET))
    if rng.random() < 0.4:
        every.insert(rng.randrange(len(every)), Descriptor(base + 4, 0))
    found = Listed(base, arena, [], len(every) == 1, every=list(every), flags=rng.choice(BOTH))
    if not found.alone:
        while every:
            n = rng.choice((1, rng.randint(1, 20), len(every), 255, 256))
            found.parts.append(every[:n])
            del every[:n]
        last = rng.choice((Kind.LAST_SEGMENT, Kind.LAST_SEGMENT, Kind.SEGMENT))
        found.sgl = Sgl(drive.memory, found.parts, offset=8 * rng.choice((0, rng.randrange(512), 511)), last=last)
    drive.memory.at(base, arena)[:] = rng.randbytes(arena)
    found.before = bytes(drive.memory.at(base, arena))
    return found


def free(drive: Driver, found: Sequence[Listed]) -> None:
    for f in found:
        drive.memory.free(f.address)
        if f.sgl:
            f.sgl.free()


@pytest.mark.parametrize(("data_w", "link"), [
    (128, "gen3x4"), *(pytest.param(*wide, marks=pytest.mark.nightly) for wide in ((256, "gen3x8"), (512, "gen4x8"))),
])  # fmt: skip
def test_random_lists(make_drive: MakeDrive, data_w: int, link: str) -> None:
    """Reads, Writes and Compares with random lists, many at once and with PRPs between them: every byte of the arenas
    and of the blocks is as the model says."""
    drive = make_drive(**(NARROW if data_w == 128 else {"data_w": data_w, "link": link, "params": SGL}))
    drive.start(queues=4, entries=64)
    rng = random.Random(data_w)
    region = 4096
    model = bytearray(rng.randbytes(region * 512))
    for at in range(0, region, 2048):
        drive.write(at, bytes(model[at * 512 : (at + 2048) * 512]))
    for turn in range(12 if data_w == 256 else 24):
        opcode = (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.READ, NvmOpc.COMPARE)[turn % 4]
        share, sent = region // 24, []
        for i in range(24):
            blocks = rng.choice((1, 8, rng.randint(1, 40), rng.randint(1, share)))
            f = make(drive, rng, blocks * 512, opcode == NvmOpc.READ)
            f.slba = share * i + rng.randrange(share - blocks + 1)
            at = slice(f.slba * 512, (f.slba + blocks) * 512)
            f.data = bytes(model[at])
            same = opcode == NvmOpc.COMPARE and rng.random() < 0.7
            if same:  # what is there
                done = 0
                for d in (d for d in f.every if d.kind == Kind.BLOCK):
                    here = f.data[done : done + d.length]
                    drive.memory.at(d.address, len(here))[:] = here
                    done += d.length
                f.before = bytes(drive.memory.at(f.address, f.room))
            if opcode == NvmOpc.WRITE:
                model[at] = f.gather(blocks * 512)
            prp1, prp2 = f.words()
            f.command = drive.submit(
                1 + i % 4, opcode, f.slba, blocks - 1, prp1=prp1, prp2=prp2, flags=f.flags, user=same
            )
            sent.append(f)
            if rng.random() < 0.2:
                drive.submit(1 + i % 4, NvmOpc.VERIFY, f.slba, blocks - 1)
        buffer = drive.buffer(64 << 10, scattered=True)
        beside = drive.submit(1, NvmOpc.READ, region, 127, buffer)
        drive.wait()
        expect(beside, Status.SUCCESS)
        for f in sent:
            assert f.command is not None
            if opcode == NvmOpc.COMPARE and not f.command.user:
                expect(f.command, Status.COMPARE_FAILED)
            else:
                expect(f.command, Status.SUCCESS)
            want = f.scatter(f.data) if opcode == NvmOpc.READ else f.before
            assert bytes(drive.memory.at(f.address, f.room)) == want
        free(drive, sent)
        buffer.free()
    for at in range(0, region, 2048):
        assert drive.read(at, 2048) == bytes(model[at * 512 : (at + 2048) * 512])


def test_identify_and_refusals(make_drive: MakeDrive) -> None:
    """SGLS says what works; PSDT 3 and admin commands with SGLs are refused, and all SGLs by a drive that has none."""
    for has in (1, 0):
        drive = make_drive(**(NARROW if has else {}))
        drive.start(queues=2, entries=16)
        assert drive.controller is not None
        assert drive.controller.sgls == (SGLS_DWORDS | SGLS_BIT_BUCKET | SGLS_LONGER if has else 0)
        buffer = drive.buffer(4096)
        for psdt in (1, 2, 3):
            for opcode in (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE, NvmOpc.DSM):
                fields = {"cdw10": 0, "cdw11": DSM_AD} if opcode == NvmOpc.DSM else {}
                prp1, prp2 = Descriptor(buffer.address, 4096).words
                buffer.write(drive.read(8, 8) if opcode != NvmOpc.DSM else bytes(DsmRange(0, 1, 8)) + bytes(4080))
                command = drive.submit(1, opcode, 8, 7, prp1=prp1, prp2=prp2, flags=psdt << 6, **fields)
                drive.wait([command])
                good = has and psdt < 3
                expect(command, Status.SUCCESS if good else Status.INVALID_FIELD)
                assert good or command.dnr
            prp1, prp2 = Descriptor(buffer.address, 4096).words
            refused = drive.admin_try(AdminOpc.IDENTIFY, prp1=prp1, prp2=prp2, flags=psdt << 6, cdw10=Cns.CTRL)
            expect(refused, Status.INVALID_FIELD)
        drive.sim.close()


def test_ranges_by_list(drive: Driver) -> None:
    """Dataset Management takes its ranges from dwords that lie apart."""
    drive.write(0, b"r" * 512 * 64)
    ranges = [(3, 2), (10, 1), (40, 5)]
    raw = b"".join(bytes(DsmRange(0, n, s)) for s, n in ranges)
    buffer = drive.buffer(4096)
    pieces = []
    for i in range(0, len(raw), 12):
        at = buffer.address + 4 * 16 * i // 12 + 4
        drive.memory.at(at, len(raw[i : i + 12]))[:] = raw[i : i + 12]
        pieces.append(Descriptor(at, len(raw[i : i + 12])))
    prp1, prp2 = Sgl(drive.memory, [pieces[:1], pieces[1:]]).pointer.words
    drive.run(drive.submit(1, NvmOpc.DSM, prp1=prp1, prp2=prp2, flags=PSDT_SGL, cdw10=2, cdw11=DSM_AD))
    data = drive.read(0, 64)
    gone = {b for s, n in ranges for b in range(s, s + n)}
    assert all(data[512 * b : 512 * b + 512] == (bytes(512) if b in gone else b"r" * 512) for b in range(64))


SIZE = 8192
B, K = Descriptor, Kind


def faulty(drive: Driver, buffer: Buffer) -> dict[str, tuple[Descriptor, Status, int]]:
    """What the command holds, its status, and how many bytes move before the fault is met."""
    a = buffer.address

    def to(parts: list[list[Descriptor]], **how: object) -> Descriptor:
        return Sgl(drive.memory, parts, **how).pointer  # type: ignore[arg-type]

    good = to([[B(a, SIZE)]])
    half = B(a, 4096)
    rest = B(a + 4096, 4096)
    return {
        "no such type": (B(a, SIZE, 4), Status.SGL_INVALID_TYPE, 0),
        "vendor's type": (B(a, SIZE, 15), Status.SGL_INVALID_TYPE, 0),
        "offset": (B(a, SIZE, K.BLOCK, 1), Status.SGL_INVALID_TYPE, 0),
        "type in a list": (to([[half, B(a, SIZE, 5)]]), Status.SGL_INVALID_TYPE, 4096),
        "subtype of a pointer": (good._replace(subtype=1), Status.SGL_INVALID_TYPE, 0),
        "pointer in the middle": (to([[half, good, rest]]), Status.SGL_INVALID_COUNT, 4096),
        "pointer in the last segment": (to([[half, good]]), Status.SGL_INVALID_LAST, 4096),
        "segment without length": (good._replace(length=0), Status.SGL_INVALID_LAST, 0),
        "part of a descriptor": (good._replace(length=24), Status.SGL_INVALID_LAST, 0),
        "segment at a dword": (good._replace(address=good.address + 4), Status.SGL_INVALID_LAST, 0),
        "two segments": (to([[half], [rest]])._replace(kind=K.SEGMENT), Status.SUCCESS, SIZE),
        "bad second pointer": (to([[half, good._replace(address=1)]], last=K.SEGMENT), Status.SGL_INVALID_LAST, 4096),
        "short block": (half, Status.SGL_INVALID_DATA, 4096),
        "short list": (to([[half, B(a + 4096, 4092)]]), Status.SGL_INVALID_DATA, SIZE - 4),
        "short list that might go on": (to([[half]], last=K.SEGMENT), Status.SGL_INVALID_DATA, 4096),
        "nothing": (B(a, 0), Status.SGL_INVALID_DATA, 0),
        "address of a byte": (B(a + 1, SIZE), Status.SGL_INVALID_GRANULARITY, 0),
        "length of a byte": (to([[half, B(a + 4096, 4097)]]), Status.SGL_INVALID_GRANULARITY, 4096),
        "too many empty ones": (to([[*[B(a, 0)] * 33, half, rest]]), Status.SGL_INVALID_COUNT, 0),
        "as many as may be": (to([[*[B(a, 0)] * 31, half, rest]]), Status.SUCCESS, SIZE),
        "more than needed": (B(a, 1 << 20), Status.SUCCESS, SIZE),
        "more, and faults in it": (to([[half, rest, B(1, 1, 9)]]), Status.SUCCESS, SIZE),
    }


@pytest.mark.parametrize("opcode", [NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE], ids=lambda o: o.name)
def test_every_fault(drive: Driver, opcode: int) -> None:
    """Its status, with DNR; what the list says before the fault may have moved, nothing else; commands around it end
    well."""
    rng = random.Random(opcode)
    data = rng.randbytes(SIZE)
    buffer = drive.buffer(SIZE + 8192, offset=0)
    other = drive.buffer(SIZE, scattered=True)
    for name, (pointer, status, moved) in faulty(drive, buffer).items():
        drive.write(0, data)
        drive.write(16, data)
        buffer.fill(0x5A)
        if opcode == NvmOpc.COMPARE:
            buffer.write(data)
        before = bytes(drive.memory.at(buffer.address, SIZE + 8192))
        prp1, prp2 = pointer.words
        around = [drive.submit(1, NvmOpc.READ, 16, 15, other)]
        command = drive.submit(1, opcode, 0, 15, prp1=prp1, prp2=prp2, flags=PSDT_SGL)
        around.append(drive.submit(1, NvmOpc.READ, 16, 15, other))
        drive.wait([command, *around])
        for c in around:
            expect(c, Status.SUCCESS)
        assert other.read() == data
        assert (command.status, command.dnr) == (status, status != Status.SUCCESS), (name, command.status)
        after = bytes(drive.memory.at(buffer.address, SIZE + 8192))
        if opcode == NvmOpc.READ:
            assert after[:moved] in (data[:moved], before[:moved]), name
            assert after[moved:] == before[moved:], name
        else:
            assert after == before
        blocks = drive.read(0, 16)
        if opcode == NvmOpc.WRITE:
            for at in range(0, SIZE, 512):
                allowed = [data[at : at + 512]] * (status != Status.SUCCESS)
                allowed += [before[at : at + 512]] * (at < moved)
                assert blocks[at : at + 512] in allowed, (name, at)
        else:
            assert blocks == data


def test_endless_list(drive: Driver) -> None:
    """A segment that holds nothing but a pointer to itself ends the command."""
    sgl = Sgl(drive.memory, [[Descriptor(0, 0)]])
    address = sgl.segments[0][0]
    loop = Descriptor(address, 16, Kind.SEGMENT)
    drive.memory.at(address, 16)[:] = b"".join(w.to_bytes(8, "little") for w in loop.words)
    command = drive.submit(1, NvmOpc.READ, 0, 7, prp1=loop.words[0], prp2=loop.words[1], flags=PSDT_SGL)
    drive.wait([command])
    expect(command, Status.SGL_INVALID_COUNT)
    assert drive.read(0, 8) == bytes(4096)


@pytest.mark.parametrize("kind", ["ur", "ca", "poison", "drop"])
@pytest.mark.parametrize("opcode", [NvmOpc.READ, NvmOpc.WRITE], ids=lambda o: o.name)
def test_segment_fault(make_drive: MakeDrive, kind: str, opcode: int) -> None:
    """A segment that cannot be read, the first one, a later one, or the second page of one: Data Transfer Error."""
    drive = make_drive(cpl_timeout_us=50, **NARROW)
    drive.start(queues=2, entries=32)
    buffer = drive.buffer(64 << 10, scattered=True)
    every = buffer.blocks()
    for parts, offset in (([every], 0), ([every[:3], every[3:]], 8), ([every], 4000)):
        sgl = Sgl(drive.memory, parts, offset=offset)
        prp1, prp2 = sgl.pointer.words
        for address, length in sgl.segments:
            drive.sim.inject(kind, addr=address + length - 16, length=16, count=1)
            command = drive.submit(1, opcode, 0, 127, prp1=prp1, prp2=prp2, flags=PSDT_SGL)
            drive.wait([command])
            expect(command, Status.DATA_TRANSFER_ERROR)
            drive.run(drive.submit(1, opcode, 0, 127, prp1=prp1, prp2=prp2, flags=PSDT_SGL))
        sgl.free()


@pytest.mark.parametrize(
    "how", [*(pytest.param(how, marks=pytest.mark.nightly) for how in ("disable", "flr", "delete")), "abort"]
)
def test_reset_in_the_middle(make_drive: MakeDrive, how: str) -> None:
    """At any moment of many lists that chain: afterwards nothing of the host's memory is touched, and the next lists
    are walked as the first."""
    drive = make_drive(host_latency_ns=700, **NARROW)
    rng = random.Random(how)
    drive.start(queues=2, entries=64)
    for cycles in (150, 400, 700, 1100, 1700, 2600, 4000):
        sent = [make(drive, rng, rng.choice((4096, 20_480, 65_536)), True) for _ in range(24)]
        for i, f in enumerate(sent):
            prp1, prp2 = f.words()
            opcode = NvmOpc.WRITE if i % 3 == 2 and not any(d.kind for d in f.every) else NvmOpc.READ
            size = sum(d.length for d in f.every) // 512 * 512
            f.command = drive.submit(1 + i % 2, opcode, 128 * i, size // 512 - 1, prp1=prp1, prp2=prp2, flags=f.flags)
        drive.ring()
        drive.advance(cycles)
        if how == "disable":
            drive.disable()
        elif how == "flr":
            drive.flr()
        elif how == "delete":
            drive.delete_sq(1)
            drive.wait()
        else:
            for f in sent:
                assert f.command is not None
                if not f.command.done:
                    drive.abort(f.command.qid, f.command.cid)
            drive.wait()
        before = drive.memory.snapshot()
        drive.advance(20_000)
        if how != "abort":
            assert drive.memory.snapshot() == before
        free(drive, sent)
        if how == "delete":
            drive.create_sq(1, 64, 1)
        elif how != "abort":
            drive.start(queues=2, entries=64)
        f = make(drive, rng, 16384, True)
        prp1, prp2 = f.words()
        drive.write(0, rng.randbytes(16384))
        drive.run(drive.submit(1, NvmOpc.READ, 0, 31, prp1=prp1, prp2=prp2, flags=PSDT_SGL))
        assert bytes(drive.memory.at(f.address, f.room)) == f.scatter(drive.read(0, 32))
        free(drive, [f])


@pytest.mark.nightly
@pytest.mark.parametrize(("link", "data_w"), [("gen3x8", 256), pytest.param("gen4x8", 512, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("scattered", [False, True], ids=["block", "list"])
def test_as_fast_as_prps(
    make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch, link: str, data_w: int, scattered: bool
) -> None:
    """4 KiB and 128 KiB with one data block, and with a list of pages: 97 % of the link, and what PRPs reach. A list of
    two descriptors is 32 bytes that two PRPs have in the command: 1.2 % of what crosses the link for a write of 4 KiB.
    """
    rates: dict[tuple[bool, str, int], float] = {}
    for sgl in (False, True):
        drive = make_drive(link=link, data_w=data_w, memory=64 << 20, params=SGL)
        drive.start(queues=4, entries=64)
        drive.sgl = sgl
        offset = 2048 if scattered else 0  # so that 4 KiB are two pieces
        monkeypatch.setattr(
            drive, "buffer", lambda n, d=drive, o=offset: Buffer(d.memory, n, offset=o, scattered=scattered)
        )
        wire = sim_link(drive.sim, limits.Link.parse(link))
        for rw in ("randread", "randwrite"):
            for size, count in ((4096, 1200 if data_w == 256 else 3000), (128 << 10, 80 if data_w == 256 else 200)):
                depth = 32 if size == 4096 else 16
                result = run_group(drive, [Job(rw=rw, bs=size, iodepth=depth, numjobs=4, number_ios=count // 4)])[0]
                rates[sgl, rw, size] = result.iops
                share = 100 * result.iops / link_limit(wire, result).iops
                print(f"{link} {rw} {size} {'SGL' if sgl else 'PRP'} {'list' if scattered else 'block'}: {share:.1f} %")
                assert share >= 97
        drive.sim.close()
    for (sgl, rw, size), rate in rates.items():
        least = 0.985 if scattered and size == 4096 else 0.99
        assert not sgl or rate >= least * rates[False, rw, size], (rw, size, rate, rates[False, rw, size])
