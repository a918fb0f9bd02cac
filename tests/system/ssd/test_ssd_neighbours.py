# SPDX-License-Identifier: Apache-2.0
"""One function of a drive does what it should not, without end; two others work beside it. They lose no command, read
what they wrote, and have at least 90 % of a third of the link: what would be theirs beside a third one that behaves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from doorbell.device import limits
from doorbell.device.opening import sim_link
from doorbell.nvme.constants import AdminOpc, NvmOpc, Reg
from doorbell.nvme.driver import Driver
from doorbell.nvme.sgl import PSDT_SGL, Descriptor, Kind, Sgl
from doorbell.nvme.structures import DsmRange, doorbell_offset
from owners import PLACES, SIZE, Owner, Street, bring_up_functions
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
BAD, GOOD = 1, (0, 2)
MEMORY = 24 << 20
DEPTH = 32  # on each of two queues
WINDOW = 200_000  # cycles
PART = PLACES * SIZE // 512  # blocks of each function


class Scene:
    """The drive, its two good owners at work, and the driver of the bad one."""

    def __init__(self, make_drive: MakeDrive, bad_queues: int = 4, **options: object) -> None:
        pf = make_drive(num_fn=3, memory=MEMORY, params={"NUM_NS": 3, "SGL": 1}, **options)  # as of test_ssd_functions
        self.sim = pf.sim
        drives = bring_up_functions(pf, queues={0: 2, 1: bad_queues, 2: 2}, hostile=BAD)
        self.bad = drives[BAD]
        self.street = Street(self.sim, {fn: Owner(drives[fn], DEPTH, fn + 1, fn * PART) for fn in GOOD})
        link = sim_link(self.sim, limits.Link.parse("gen3x8"))
        works = [(1, limits.Workload(SIZE, read, irqs=0.5, sq_doorbells=0.5, cq_doorbells=0.5)) for read in (0.0, 1.0)]
        self.fair = limits.mix(link, works).iops / 3

    def play(self, act: Callable[[Driver], None], *, settle: int = 50_000) -> None:
        """`act` again and again. After `settle` cycles the good ones have their share. They lose nothing, ever."""
        sim, owners = self.sim, self.street.owners
        self.bad.sim.street = self.street
        self.street.start()
        end = sim.cycle + settle
        while sim.cycle < end:
            act(self.bad)
        start, before = sim.ns, {fn: o.done for fn, o in owners.items()}
        end = sim.cycle + WINDOW
        while sim.cycle < end:
            act(self.bad)
        got = {fn: (o.done - before[fn]) / (sim.ns - start) * 1e9 / self.fair for fn, o in owners.items()}
        print({fn: f"{100 * part:.1f} %, slowest {owners[fn].slowest_ns / 1000:.1f} us" for fn, part in got.items()})
        self.street.finish()
        assert min(got.values()) >= 0.9, f"parts of the fair share: {got}"


@pytest.fixture
def scene(make_drive: MakeDrive) -> Scene:
    return Scene(make_drive)


def keep_full(bad: Driver, opcode: int, cycles: int = 2000, **fields: int) -> None:
    """All its queues full of commands of one kind."""
    for qid, sq in bad.sqs.items():
        while qid and sq.room():
            bad.submit(qid, opcode, **fields)
    bad.ring()
    bad.advance(cycles, until_irq=True)
    bad.poll()


@pytest.mark.parametrize(
    "queues",
    [
        2,
        pytest.param(4, marks=pytest.mark.nightly),
    ],
)
def test_one_that_behaves(make_drive: MakeDrive, queues: int) -> None:
    """The measure of all others: three do the same, each has its third, whatever the number of their queues."""
    scene = Scene(make_drive, queues)
    other = Owner(scene.bad, 2 * DEPTH // queues, 77, PART)

    def act(bad: Driver) -> None:
        other.fill()
        bad.advance(2000, until_irq=True)
        other.serve()

    scene.play(act)


def test_completions_that_nobody_reads(scene: Scene) -> None:
    """And doorbells of their queues that say nothing new."""
    scene.bad.start(queues=4, entries=64, cq_entries=4)
    buffer = scene.bad.buffer(SIZE)
    for cq in scene.bad.cqs.values():
        cq.hold = bool(cq.qid)

    def act(bad: Driver) -> None:
        for qid, sq in bad.sqs.items():
            while qid and sq.room():
                bad.submit(qid, NvmOpc.READ, 0, 7, buffer)
        bad.ring()
        for cq in bad.cqs.values():
            if cq.qid:
                bad.sim.mmio_write(cq.doorbell, cq.head, 4)
        bad.advance(500)

    scene.play(act)


@pytest.mark.nightly
def test_resets_without_end(scene: Scene) -> None:
    count = itertools.count()

    def act(bad: Driver) -> None:
        if next(count) % 4 == 3:
            bad.start(queues=2, entries=64)
            keep_full(bad, NvmOpc.READ, 500, nlb=7, prp1=bad.memory.base)
        bad.sim.flr_begin()
        while not bad.sim.flr_done:
            bad.advance(200)
        bad._forget_queues()
        bad.take_irqs()

    scene.play(act)


def doorbells(bad: Driver, good: bool) -> Iterator[tuple[int, int, int]]:
    """Offset, value, bytes, without end."""
    for n in itertools.count():
        if good:  # of its queues, as they are
            sq, cq = bad.sqs[1 + n % 4], bad.cqs[1 + n % 4]
            yield (sq.doorbell, sq.tail, 4) if n % 8 < 4 else (cq.doorbell, cq.head, 4)
        else:
            qid = n * 7 % 400
            yield (doorbell_offset(qid, bool(n & 1), 0), n * 77 & 0xFFFF_FFFF, 4)
            if not n % 16:
                yield (doorbell_offset(1, False, 0), 0x7FFF, 2 if n & 16 else 4)


@pytest.mark.nightly
@pytest.mark.parametrize("good", [pytest.param(True, marks=pytest.mark.nightly), False], ids=["good", "bad"])
def test_doorbells_without_end(scene: Scene, good: bool) -> None:
    stream = doorbells(scene.bad, good)

    def act(bad: Driver) -> None:
        for offset, value, size in itertools.islice(stream, 32):
            bad.sim.mmio_write(offset, value, size)
        bad.advance(100)
        bad.take_irqs()  # what its commands are now, it does not know itself

    scene.play(act)


@pytest.mark.nightly
@pytest.mark.parametrize("what", [
    pytest.param("range", marks=pytest.mark.nightly),
    pytest.param("opcode", marks=pytest.mark.nightly),
    pytest.param("prp"),
])  # fmt: skip
def test_commands_that_fail_without_end(scene: Scene, what: str) -> None:
    opcode, fields = {
        "range": (NvmOpc.READ, {"slba": 1 << 40, "prp1": scene.bad.memory.base}),
        "opcode": (0x7E, {}),
        "prp": (NvmOpc.READ, {"nlb": 255, "prp1": scene.bad.memory.base, "prp2": scene.bad.memory.base + 4}),
    }[what]
    scene.play(lambda bad: keep_full(bad, opcode, **fields))


@pytest.mark.parametrize(
    "opcode", [NvmOpc.READ, pytest.param(NvmOpc.WRITE, marks=pytest.mark.nightly)], ids=["read", "write"]
)
def test_addresses_of_others(scene: Scene, opcode: int) -> None:
    """Data and PRP lists in memory of the others: it reads and changes nothing there."""
    victim = scene.street.owners[0].drive
    secret = victim.buffer(SIZE)
    secret.write(b"secret! " * (SIZE // 8))
    places = itertools.cycle([secret.address, *(b.address for b in scene.street.owners[0].free[:8])])

    def act(bad: Driver) -> None:
        for qid, sq in bad.sqs.items():
            while qid and sq.room():
                bad.submit(qid, opcode, PART, 31, prp1=next(places), prp2=next(places))
        bad.ring()
        bad.advance(2000, until_irq=True)
        assert all(c.status for c in bad.poll() if opcode == NvmOpc.WRITE)

    scene.play(act)
    scene.bad.advance(100_000)
    scene.bad.poll()
    assert secret.read() == b"secret! " * (SIZE // 8)
    assert scene.bad.read(PART, 32) == bytes(32 * 512), "nothing was written"


@pytest.mark.parametrize("ranges", [pytest.param(1, marks=pytest.mark.nightly), 256])
def test_deallocation_of_everything(scene: Scene, ranges: int) -> None:
    """Of its own part, again and again."""
    buffer = scene.bad.buffer(SIZE)
    buffer.write(bytes(DsmRange(0, PART, PART)) * 256)
    fields = {"prp1": buffer.address, "cdw10": ranges - 1, "cdw11": 4, "cdw12": 0}
    scene.play(lambda bad: keep_full(bad, NvmOpc.DSM, **fields))


@pytest.mark.nightly
def test_queues_that_come_and_go(scene: Scene) -> None:
    buffer = scene.bad.buffer(SIZE)

    def act(bad: Driver) -> None:
        for qid in (1, 2):
            for _ in range(40):
                bad.submit(qid, NvmOpc.READ, 0, 7, buffer)
            bad.ring()
            bad.delete_sq(qid)
            bad.delete_cq(qid)
            bad.create_cq(qid, 64, qid)
            bad.create_sq(qid, 64, qid)

    scene.play(act)


@pytest.mark.nightly
def test_admin_commands_without_end(scene: Scene) -> None:
    """Its own admin queue always full; the others' admin commands are answered all the same."""
    owner = scene.street.owners[2].drive

    def act(bad: Driver) -> None:
        while bad.sqs[0].room():
            bad.submit(0, AdminOpc.GET_FEATURES, cdw10=7, cdw11=0, cdw12=0)
        bad.ring()
        bad.advance(2000, until_irq=True)
        bad.poll()

    scene.play(act)
    for _ in range(3):
        act(scene.bad)
        assert owner.get_features(7) >= 0


def test_a_driver_that_is_gone(scene: Scene) -> None:
    """In the middle of much work its bus master is off, and nobody says a word any more."""
    bad = scene.bad
    buffer = bad.buffer(128 << 10)
    gone = False

    def act(bad: Driver) -> None:
        nonlocal gone
        if not gone:
            for qid, sq in bad.sqs.items():
                while qid and sq.room():
                    bad.submit(qid, (NvmOpc.READ, NvmOpc.WRITE)[sq.sent & 1], PART, 255, buffer)
            bad.ring()
            bad.advance(20_000)
            bad.sim.set_cfg(bus_master=False)
            gone = True
        bad.advance(2000)

    scene.play(act, settle=300_000)  # what the engines had of it is dropped, at their pace
    assert bad.read32(Reg.CSTS) & 1


# ---- SGLs: what a reader has beside a function that does its worst with lists

READS = 300_000  # cycles that are measured


def lists_of(bad: Driver, kind: str) -> tuple[int, int, Descriptor]:
    """Opcode, blocks and data pointer of a command that takes the walker as long as it can."""
    a = bad.buffer(128 << 10, offset=0).address
    B, K = Descriptor, Kind
    dword = lambda n: [B(a + 8 * i % 65536, 4) for i in range(n)]  # noqa: E731

    def to(*parts: list[Descriptor], offset: int = 0, last: Kind = K.LAST_SEGMENT) -> Descriptor:
        return Sgl(bad.memory, parts, offset=offset, last=last).pointer

    match kind:
        case "ordinary reads":
            return NvmOpc.READ, 8, B(a, 4096)
        case "ordinary writes":
            return NvmOpc.WRITE, 8, B(a, 4096)
        case "single dwords":
            return NvmOpc.READ, 1, to(dword(128))
        case "single dwords, written":
            return NvmOpc.WRITE, 1, to(dword(128))
        case "dwords on both sides of a page":
            return NvmOpc.READ, 4, to([B(a + 4096 * (i % 16 + 1) - 4, 8) for i in range(256)])
        case "dwords of large commands":
            return NvmOpc.READ, 256, to([*dword(255), B(a, 128 << 10)])
        case "dwords across a page":
            return NvmOpc.READ, 1, to(dword(128), offset=4096 - 16)
        case "nothing, often":
            return NvmOpc.READ, 1, to([*([*[B(a, 0)] * 31, B(a, 4)] * 8)][:255])
        case "one descriptor each":
            return NvmOpc.READ, 1, to([B(a, 512)])
        case "chains of one":
            return NvmOpc.READ, 1, to([], [], [], [B(a, 512)])
        case "chains that are too long":
            return NvmOpc.READ, 1, to(*[[] for _ in range(10)], [B(a, 512)])
        case "chains of large commands":
            return NvmOpc.READ, 256, to(*[[] for _ in range(18)], [B(a, 128 << 10)])
        case "chains, written":
            return NvmOpc.WRITE, 1, to([], [], [], [B(a, 512)])
    raise AssertionError(kind)


def beside(make_drive: MakeDrive, kind: str, written: bool, **options: object) -> float:
    """Commands of 4 KiB a second of one function at QD 32, beside one that keeps four queues full of `kind`."""
    pf = make_drive(num_fn=3, memory=MEMORY, params={"NUM_NS": 3, "SGL": 1}, **options)
    drives = bring_up_functions(pf, queues={0: 1, 1: 4, 2: 1}, hostile=BAD)
    bad = drives[BAD]
    owner = Owner(pf, DEPTH, 1, 0, read_share=0.0 if written else 1.0)
    street = Street(pf.sim, {0: owner})
    opcode, blocks, pointer = lists_of(bad, kind)
    prp1, prp2 = pointer.words

    def act(cycles: int) -> None:
        end = pf.sim.cycle + cycles
        while pf.sim.cycle < end:
            keep_full(bad, opcode, slba=PART, nlb=blocks - 1, prp1=prp1, prp2=prp2, flags=PSDT_SGL)

    bad.sim.street = street  # type: ignore[attr-defined]
    street.start()
    act(60_000)
    start, before, its = pf.sim.ns, owner.done, sum(sq.sent for sq in bad.sqs.values())
    act(READS)
    rate = (owner.done - before) / (pf.sim.ns - start) * 1e9
    its = sum(sq.sent for sq in bad.sqs.values()) - its
    its_rate = its / (pf.sim.ns - start) * 1e9
    print(f"{kind}: {rate:,.0f} IOPS, slowest {owner.slowest_ns / 1000:.1f} us; its own {its_rate:,.0f}")
    street.finish()
    pf.sim.close()
    return rate


KINDS = (
    "single dwords", "single dwords, written", "dwords on both sides of a page", "dwords of large commands",
    "dwords across a page", "nothing, often", "one descriptor each", "chains of one", "chains that are too long",
    "chains of large commands", "chains, written",
)  # fmt: skip
TELLING = {("single dwords", False), ("single dwords", True), ("dwords on both sides of a page", False),
           ("chains of one", False)}  # fmt: skip
"""With every test: those with which the others keep least, and chains. True: beside a writer."""


def keeps(make_drive: MakeDrive, kind: str, written: bool, **options: object) -> None:
    """The other function has at least 90 % of what it has beside ordinary commands."""
    ordinary = beside(make_drive, "ordinary writes" if "written" in kind else "ordinary reads", written, **options)
    worst = beside(make_drive, kind, written, **options)
    print(f"{kind}: {100 * worst / ordinary:.1f} %")
    assert worst >= 0.9 * ordinary


@pytest.mark.parametrize(("kind", "written"), [
    pytest.param(kind, written, marks=[] if (kind, written) in TELLING else pytest.mark.nightly)
    for kind in KINDS for written in (False, True)
])  # fmt: skip
def test_lists_at_their_worst(make_drive: MakeDrive, kind: str, written: bool) -> None:
    keeps(make_drive, kind, written)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_lists_at_their_worst_on_the_widest_link(make_drive: MakeDrive, kind: str) -> None:
    """In the time of a descriptor it moves most."""
    keeps(make_drive, kind, written=False, data_w=512, link="gen4x8")


@pytest.mark.nightly
@pytest.mark.parametrize("kind", [kind for kind in KINDS if "chain" in kind or "written" in kind])
def test_lists_at_their_worst_in_a_slow_host(make_drive: MakeDrive, kind: str) -> None:
    """Its memory is 1.2 us away, so a piece of a list takes longer than its units say."""
    keeps(make_drive, kind, written=False, host_latency_ns=1200)
