# SPDX-License-Identifier: Apache-2.0
"""An SSD behind db_vcsd that a program of the host owns: it creates a queue pair in the card's window and hands it over
(docs/vcsd/hand-over.md). The card uses it as it is; data is on the SSD; taken back, the SSD is its owner's alone."""

from __future__ import annotations

import dataclasses
import platform
import random
import shutil
import subprocess
from dataclasses import dataclass

import copies
import pytest
from cards import PARAMS, SIZE, card_of, on_ssds, one_of_all
from doorbell import paths
from doorbell.device.switch_host import SsdHost
from doorbell.nvme import hand_over, namespaces, virtual_drives, virtualization
from doorbell.nvme.commands import Command, NvmeError
from doorbell.nvme.constants import CSTS_SHST_MASK, CSTS_SHST_SHIFT, Cns, NsAttach, NvmOpc, Reg, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.hand_over import SsdOwner
from doorbell.nvme.memory import HostMemory
from doorbell.nvme.vendor import SsdAction, VendorOpc
from doorbell.nvme.vendor import SsdOwner as Owner
from doorbell.nvme.virtual_drives import Ssds
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
WINDOW = 0x7E00_0000_0000  # BAR 2 of the card, as the simulator's host has placed it
OWNED = 0  # the SSD that the program has; the card brings up the other one itself


@dataclass
class Lent:
    """A card with an SSD that is lent to it, and who owns that."""

    card: Driver
    owner: SsdOwner


@pytest.fixture(scope=copies.scope("module"))
def lent(make_drive_once: MakeDrive) -> Lent:
    """One namespace over the lent SSD and one that the card has brought up itself."""
    size = PARAMS["NUM_SSD"] * SIZE
    card = make_drive_once(top="db_vcsd", params=PARAMS, media_size=size, left_alone=1 << OWNED)
    card.start(queues=2, entries=64)
    own = SsdOwner(Driver(SsdHost(card_of(card.sim), OWNED), HostMemory(1 << 20, 0x33_0000_0000)))
    own.start()
    own.lend(card, OWNED, WINDOW)
    one_of_all(card)
    return Lent(card, own)


HALF = SIZE // 512


def submit(card: Driver, opcode: NvmOpc, at: int) -> Command:
    return card.submit(1, opcode, at, 7, card.buffer(4096) if opcode in (NvmOpc.READ, NvmOpc.WRITE) else None)


def status_of(card: Driver, opcode: NvmOpc, at: int) -> int:
    c = submit(card, opcode, at)
    card.ring()
    card.wait([c], timeout_us=100_000)
    return c.status


def owner_of(card: Driver, ssd: int = OWNED) -> Owner:
    return hand_over.state(card, ssd).owner


def doorbells(card: Driver) -> int:
    return card_of(card.sim).ssds.counters(port=OWNED)["drive.doorbells"]


def filled(card: Driver, seed: int = 1, halves: int = 2) -> dict[int, bytes]:
    """Blocks on both SSDs, or on the first."""
    rng = random.Random(seed)
    data = {half * HALF + at * 8: rng.randbytes(4096) for half in range(halves) for at in range(4)}
    for at, d in data.items():
        card.write(at, d)
    return data


def holds(card: Driver, data: dict[int, bytes]) -> None:
    for at, d in data.items():
        assert card.read(at, 8) == d


def test_a_queue_pair_is_used_as_it_is(lent: Lent) -> None:
    """Data is on the SSD; the card rings its doorbells alone, and its owner's admin queue works meanwhile."""
    card, sim = lent.card, card_of(lent.card.sim)
    rang = doorbells(card)
    rng = random.Random(1)
    data = {at: rng.randbytes(4096 * n) for at, n in ((0, 1), (64, 32), (HALF - 8, 2), (4096, 3))}
    for at, d in data.items():
        card.write(at, d)
    card.flush()
    for at, d in data.items():
        assert on_ssds(card, at * 512, len(d)) == d
        assert card.read(at, len(d) // 512) == d
    assert sim.up == 3 and doorbells(card) > rang
    assert lent.owner.drive.identify(Cns.CTRL)[4:24].strip() != b""
    found = hand_over.state(card, OWNED)
    assert (found.owner, found.present, found.up) == (Owner.HANDED, True, True)


def test_a_queue_pair_that_the_card_does_not_take(lent: Lent) -> None:
    """For an SSD that the card has itself: it is gone again, so that the next one may have its number."""
    data = filled(lent.card)
    lent.owner.get_back(lent.card, OWNED)
    with pytest.raises(NvmeError):
        lent.owner.lend(lent.card, 1 - OWNED, WINDOW)
    lent.owner.lend(lent.card, OWNED, WINDOW)
    holds(lent.card, data)


@pytest.mark.parametrize(("qid", "entries"), [(3, 8), pytest.param(1, 256, marks=pytest.mark.nightly)])
def test_taken_back_and_handed_over_again(lent: Lent, qid: int, entries: int) -> None:
    """What is under way ends well; after the answer the card does not touch the SSD, and its blocks are errors at once.
    Another queue pair begins anew: its phase, its entries."""
    card, sim = lent.card, card_of(lent.card.sim)
    data = filled(card)
    sim.ssds.fault("late", port=OWNED, delay_us=100, count=None)
    commands = [submit(card, NvmOpc.READ, at) for at in data for _ in range(4)]
    card.ring()
    card.advance(2500)
    lent.owner.get_back(card, OWNED)
    card.wait(commands)
    sim.ssds.fault_clear(port=OWNED)
    assert {c.status for c in commands if c.slba >= HALF} == {Status.SUCCESS}
    mine = [c.status for c in commands if c.slba < HALF]
    assert set(mine) <= {Status.SUCCESS, Status.READ_ERROR} and Status.SUCCESS in mine
    assert owner_of(card) == Owner.NOBODY and sim.up == 2
    rang = doorbells(card)
    assert status_of(card, NvmOpc.READ, 0) == Status.READ_ERROR
    assert status_of(card, NvmOpc.WRITE, 64) == Status.WRITE_FAULT
    assert status_of(card, NvmOpc.FLUSH, 0) != Status.SUCCESS, "some of it is away"
    assert status_of(card, NvmOpc.READ, HALF) == Status.SUCCESS
    card.advance(50_000)
    assert doorbells(card) == rang
    lent.owner.lend(card, OWNED, WINDOW, qid=qid, entries=entries)
    holds(card, data)
    for turn in range(2):  # the queues wrap, the phase changes
        data = filled(card, turn)
        holds(card, data)
    assert sim.up == 3


WRONG = {
    "depth 2": {"entries": 2}, "depth 24": {"entries": 24}, "depth 512": {"entries": 512}, "queue 0": {"qid": 0},
    "blocks of 256": {"block_size": 256}, "blocks of 8192": {"block_size": 8192}, "2048 bytes": {"max_transfer": 2048},
    "unaligned": {"sq_doorbell": 0x1009}, "a register": {"cq_doorbell": 0x14}, "one doorbell": {"cq_doorbell": 0x1008},
    "too far": {"sq_doorbell": 1 << 24}, "no namespace": {"nsid": 0}, "too small": {"blocks": HALF - 1},
}  # fmt: skip


def test_what_is_refused(lent: Lent) -> None:
    """Wrong fields, an SSD that there is not, one that the card or another pair has; what is, goes on."""
    card = lent.card
    pair = lent.owner.queue_pair(1, 64)
    for ssd in (2, 7):
        assert hand_over.hand_over_try(card, ssd, pair).status == Status.INVALID_FIELD
        assert hand_over.take_back_try(card, ssd).status == Status.INVALID_FIELD
    assert card.admin_try(VendorOpc.SSD, cdw10=4).status == Status.INVALID_FIELD
    for ssd in (OWNED, 1):
        assert hand_over.hand_over_try(card, ssd, pair).status == Status.CMD_SEQ_ERROR
    assert hand_over.bring_up_try(card, OWNED).status == Status.CMD_SEQ_ERROR
    assert hand_over.bring_up_try(card, 1).status == Status.SUCCESS, "the card has it"
    holds(card, filled(card))
    lent.owner.get_back(card, OWNED)
    hand_over.take_back(card, OWNED)
    for what, wrong in WRONG.items():
        c = hand_over.hand_over_try(card, OWNED, dataclasses.replace(pair, **wrong))
        assert c.status == Status.INVALID_FIELD, what
    card_of(card.sim).ssds.link(False, port=OWNED)
    card.advance(1000)
    assert hand_over.hand_over_try(card, OWNED, pair).status == Status.CMD_SEQ_ERROR, "it is not there"
    assert owner_of(card) == Owner.NOBODY


def test_an_ssd_that_the_card_had_brought_up(lent: Lent) -> None:
    """Taken back it has been shut down in order; its owner resets it, and lends it; then the card has it again."""
    card, sim = lent.card, card_of(lent.card.sim)
    data = filled(card)
    hand_over.take_back(card, 1)
    own = SsdOwner(Driver(SsdHost(sim, 1), HostMemory(1 << 20, 0x34_0000_0000)))
    assert own.drive.read32(Reg.CSTS) & CSTS_SHST_MASK == 2 << CSTS_SHST_SHIFT
    assert status_of(card, NvmOpc.READ, HALF) == Status.READ_ERROR and status_of(card, NvmOpc.READ, 0) == Status.SUCCESS
    own.start()
    own.lend(card, 1, WINDOW, qid=2)
    holds(card, data)
    own.get_back(card, 1)
    hand_over.bring_up(card, 1)
    while sim.up != 3:
        card.advance(1000)
    assert owner_of(card, 1) == Owner.CARD
    holds(card, data)


@pytest.mark.parametrize("kind", ["lost", pytest.param("late", marks=pytest.mark.nightly),
                                  pytest.param("vanish", marks=pytest.mark.nightly),
                                  pytest.param("damage", marks=pytest.mark.nightly)])  # fmt: skip
def test_one_that_dies(lent: Lent, kind: str) -> None:
    """No Abort, no reset: its commands end with errors, and it is lost until it is taken back. What it still sends goes
    nowhere. Its owner resets it and lends it again."""
    card, sim = lent.card, card_of(lent.card.sim)
    data = filled(card)
    was = sim.ssds.counters(port=OWNED)
    sim.ssds.fault(kind, port=OWNED, lba=8, blocks=8, delay_us=3000)
    commands = [submit(card, NvmOpc.READ, at) for at in data for _ in range(3)]
    card.ring()
    card.wait(commands, timeout_us=100_000)
    assert {c.status for c in commands if c.slba >= HALF} == {Status.SUCCESS}
    assert Status.READ_ERROR in {c.status for c in commands if c.slba < HALF}
    assert owner_of(card) == Owner.LOST and sim.up == 2 and sim.dead == 1
    for opcode in (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.FLUSH, NvmOpc.WRITE_ZEROES):
        assert status_of(card, opcode, 512) != Status.SUCCESS
    card.advance(1_000_000)  # a late completion comes
    assert sim.ssds.counters(port=OWNED)["drive.doorbells"] <= was["drive.doorbells"] + 32
    sim.ssds.fault_clear(port=OWNED)
    hand_over.take_back(card, OWNED)
    if kind == "vanish":
        sim.ssds.link(False, port=OWNED)
        card.advance(1000)
        sim.ssds.link(True, port=OWNED)
        card.advance(100_000)
    lent.owner.start()
    lent.owner.lend(card, OWNED, WINDOW)
    holds(card, data)


@pytest.mark.nightly
def test_one_that_is_pulled(lent: Lent) -> None:
    """It comes back without its queues: so it stays lost until its owner has done its part."""
    card, sim = lent.card, card_of(lent.card.sim)
    data = filled(card)
    commands = [submit(card, NvmOpc.READ, at) for at in data for _ in range(3)]
    card.ring()
    sim.ssds.link(False, port=OWNED)
    card.wait(commands)
    assert {c.status for c in commands if c.slba >= HALF} == {Status.SUCCESS}
    sim.ssds.link(True, port=OWNED)
    card.advance(50_000)
    assert owner_of(card) == Owner.LOST and status_of(card, NvmOpc.READ, 0) == Status.READ_ERROR
    hand_over.take_back(card, OWNED)
    lent.owner.start()
    lent.owner.lend(card, OWNED, WINDOW)
    holds(card, data)


@pytest.mark.nightly
def test_an_owner_that_lies(lent: Lent) -> None:
    """The queue pair is not in the card: commands are late, no more."""
    card, ssd = lent.card, lent.owner.drive
    data = filled(card)
    lent.owner.get_back(card, OWNED)
    ssd.create_cq(2, 64, 1, ien=False)
    ssd.cqs[2].hold = True
    ssd.create_sq(2, 64, 2)
    hand_over.hand_over(card, OWNED, lent.owner.queue_pair(2, 64))
    assert status_of(card, NvmOpc.READ, 0) == Status.READ_ERROR and owner_of(card) == Owner.LOST
    hand_over.take_back(card, OWNED)
    lent.owner.lend(card, OWNED, WINDOW)
    holds(card, data)


@pytest.mark.nightly
def test_taken_back_while_it_does_not_answer(lent: Lent) -> None:
    """The time of what is under way runs out; a host that resets the PF meanwhile finds it taken back too."""
    card, sim = lent.card, card_of(lent.card.sim)
    data = filled(card)
    for reset in (False, True):
        sim.ssds.fault("lost", port=OWNED)
        commands = [submit(card, NvmOpc.READ, at) for at in data]
        card.ring()
        card.advance(1000)
        if reset:
            card.submit(0, VendorOpc.SSD, cdw10=SsdAction.TAKE_BACK | OWNED << 8, nsid=0, cdw11=0, cdw12=0, ring=True)
            card.advance(5000)
            card.disable()
            card.start(queues=2, entries=64)
            assert owner_of(card) in (Owner.LEAVING, Owner.NOBODY)
        lent.owner.get_back(card, OWNED)
        if not reset:
            card.wait(commands)
            assert [c.status for c in commands].count(Status.READ_ERROR) in range(1, 5)
        lent.owner.lend(card, OWNED, WINDOW)
        holds(card, data)


@pytest.mark.parametrize(
    "how", ["disable", *(pytest.param(how, marks=pytest.mark.nightly) for how in ("reset", "power"))]
)
def test_resets_of_the_card(lent: Lent, how: str) -> None:
    """A reset of the controller leaves it handed over; one of the link or of power does not: then nobody has it, and
    the card touches nothing of it."""
    card, sim = lent.card, card_of(lent.card.sim)
    data = filled(card)
    card.flush()
    if how == "disable":
        card.disable()
    else:
        rang = doorbells(card)
        sim.reset() if how == "reset" else sim.power_cycle()
    card.start(queues=2, entries=64)
    if how != "disable":
        assert owner_of(card) == Owner.NOBODY and status_of(card, NvmOpc.READ, 0) == Status.READ_ERROR
        assert doorbells(card) in (rang, 0)
        lent.owner.start()
        lent.owner.lend(card, OWNED, WINDOW)
    assert owner_of(card) == Owner.HANDED
    holds(card, data)


@pytest.mark.nightly
def test_a_vf_has_no_such_command(make_drive: MakeDrive) -> None:
    """Invalid Opcode, as all that is the PF's; and the data of a VF's namespace passes through a lent SSD."""
    params = PARAMS | {"NUM_QP": 4}
    pf = make_drive(top="db_vcsd", num_fn=2, params=params, media_size=PARAMS["NUM_SSD"] * SIZE, left_alone=1 << OWNED)
    pf.start(queues=1, entries=64)
    own = SsdOwner(Driver(SsdHost(card_of(pf.sim), OWNED), HostMemory(1 << 20, 0x33_0000_0000)))
    own.start()
    pf.sim.enable_vfs(1)  # type: ignore[attr-defined]
    virtualization.assign(pf, 1, queues=1, interrupts=2)
    virtualization.online(pf, 1)
    vf = Driver(pf.sim.function(1), HostMemory(16 << 20, 0x5_0000_0000))  # type: ignore[attr-defined]
    vf.start(queues=1, entries=32)
    for action in SsdAction:
        assert vf.admin_try(VendorOpc.SSD, cdw10=action).status == Status.INVALID_OPCODE
    assert owner_of(pf) == Owner.NOBODY
    own.lend(pf, OWNED, WINDOW)
    for nsid in namespaces.allocated(pf):
        namespaces.delete(pf, nsid)
    nsid = virtual_drives.create(pf, 2, Ssds(OWNED))
    namespaces.attachment_try(pf, nsid, NsAttach.ATTACH, (1,)).check()
    vf.nsid = nsid
    vf.identify_all()
    data = filled(vf, halves=1)
    own.get_back(pf, OWNED)
    assert status_of(vf, NvmOpc.READ, 0) == Status.READ_ERROR
    own.lend(pf, OWNED, WINDOW, qid=2)
    holds(vf, data)


NEEDS_QEMU = pytest.mark.skipif(
    platform.machine() != "x86_64" or not shutil.which("apt-get"), reason="QEMU is one of Debian's amd64 packages"
)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["model", "db_ssd", pytest.param("qemu", marks=NEEDS_QEMU)])
def test_the_example(kind: str) -> None:
    """A program that owns an SSD, which may be QEMU's stock drive: what the card wrote it reads from the SSD itself."""
    command = [str(paths.ROOT / "doorbell"), "python", str(paths.ROOT / "examples" / "hand_over.py"), kind]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "owner: lends queue pair 2; card: read it again"
