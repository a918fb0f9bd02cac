# SPDX-License-Identifier: Apache-2.0
"""What a host asks for without end, or leaves behind when it goes: the drive lives, each other function has its turn at
what there is one of (the media for changes, looks at the slots, the processor), and no block changes later."""

from __future__ import annotations

from pathlib import Path

import pytest
from doorbell.nvme import namespaces, reservations, virtualization
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import (
    CC_EN,
    CC_SHN_SHIFT,
    CSTS_CFS,
    CSTS_RDY,
    NSID_ALL,
    AdminOpc,
    Feature,
    NsAttach,
    NsMgmt,
    NvmOpc,
    Reg,
    ResvPtpl,
    Status,
)
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from reservation_hosts import MEMORY, Cluster
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
SAVE = 1 << 31
HALF_SECOND = 1 << 19  # us, as the watchdog counts
SLOW = {"media_latency_ns": 8000}
ZEROES = {"media_zero_gbps": 4}
US = 250  # cycles


def shut_down(drive: Driver) -> None:
    drive.write32(Reg.CC, drive.read32(Reg.CC) | 1 << CC_SHN_SHIFT)


def shutdown_status(drive: Driver) -> int:
    return drive.read32(Reg.CSTS) >> 2 & 3


def until_done(drives: list[Driver], commands: list[Command], us: int) -> None:
    """They end within this time, to which others than they may add."""
    for _ in range(us // 20):
        drives[0].advance(20 * US)
        for drive in drives:
            drive.poll(everything=True)
        if all(c.done for c in commands):
            return
    raise AssertionError(f"after {us} us not done: {[c for c in commands if not c.done]}")


def owners(make_drive: MakeDrive, **options: int | str) -> list[Driver]:
    """The PF, and two VFs that have a namespace of 8 MiB each."""
    pf = make_drive(num_fn=3, memory=MEMORY, params={"NUM_NS": 3, "SGL": 1}, media_size=32 << 20, **options)
    pf.start(queues=1, entries=16)
    namespaces.delete(pf, 1)
    pf.sim.enable_vfs(2)
    drives = [pf]
    for fn in (1, 2):
        nsid = namespaces.create(pf, 16384)
        namespaces.attachment_try(pf, nsid, NsAttach.ATTACH, (fn,)).check()
        virtualization.assign(pf, fn, queues=1, interrupts=2)
        virtualization.online(pf, fn)
        vf = Driver(pf.sim.function(fn), HostMemory(MEMORY, 0x12_4000_0000, seed=2 + fn), seed=2 + fn)
        vf.start(queues=1, entries=16)
        drives.append(vf)
    return drives


# ---------------------------------------------------------------- the processor
@pytest.mark.parametrize("what", ["errors", "admin"])
@pytest.mark.parametrize("functions", [1, 3])
def test_a_processor_with_much_to_do_is_not_dead(make_drive: MakeDrive, functions: int, what: str) -> None:
    """The watchdog ends a processor that hangs, and none that has another command, or error, all the time."""
    if functions == 1:
        pf = flooder = make_drive()
        pf.start(queues=1, entries=128)
    else:
        pf, flooder, _ = Cluster(make_drive, 3).drives
    live: list[Command] = []
    ended = 0
    for step in range(1200):
        flooder.poll(everything=True)
        ended += sum(c.done for c in live)
        live = [c for c in live if not c.done]
        while len(live) < (16 if what == "errors" else 4):
            if what == "errors":
                live.append(flooder.submit(1, NvmOpc.READ, 1 << 40, 0, None, prp1=0x1000))
            else:
                live.append(flooder.submit(0, AdminOpc.GET_FEATURES, nsid=0, cdw10=int(Feature.NUM_QUEUES)))
        flooder.ring()
        flooder.advance(US)
        if step in (250, 650, 1100):
            pf.sim.time_us += HALF_SECOND
            flooder.advance(5)
        assert not pf.read32(Reg.CSTS) & CSTS_CFS, f"dead after {step} us"
    assert ended > 25


@pytest.mark.parametrize("what", ["saves", "aborts"])
def test_who_comes_again_at_once_waits_for_the_others(make_drive: MakeDrive, what: str) -> None:
    """A VF keeps as many commands under way as it may, each of which needs what there is one of. The PF, and another VF
    that shuts down or is reset, have their turn between two of them."""
    options = SLOW if what == "saves" else {}
    pf, flooder, other = Cluster(make_drive, 3, **options).drives

    def one(n: int) -> Command:
        if what == "saves":
            return flooder.submit(0, AdminOpc.SET_FEATURES, nsid=0, cdw10=Feature.ARBITRATION | SAVE, cdw11=n % 7 << 8)
        return flooder.submit(0, AdminOpc.ABORT, nsid=0, cdw10=1 | (0x4000 + n % 1000) << 16)

    live: list[Command] = []
    sent = before = after = 0
    mine: Command | None = None
    for step in range(1500):
        flooder.poll(everything=True)
        ended = sum(c.done for c in live)
        live = [c for c in live if not c.done]
        before, after = (before, after + ended) if mine else (before + ended, after)
        while len(live) < (8 if what == "saves" else 4):
            live.append(one(sent))
            sent += 1
        flooder.ring()
        flooder.advance((40 if what == "saves" else 2) * US)
        if mine:
            pf.poll(everything=True)
            gone = shutdown_status(other) == 2 if what == "saves" else not other.read32(Reg.CSTS) & CSTS_RDY
            if mine.done and gone:
                break
        elif step >= 30 and before:
            if what == "saves":
                mine = pf.submit(0, AdminOpc.SET_FEATURES, nsid=0, cdw10=Feature.ARBITRATION | SAVE, ring=True)
                shut_down(other)
            else:
                mine = pf.submit(0, AdminOpc.DELETE_SQ, nsid=0, cdw10=1, ring=True)
                other.write32(Reg.CC, other.read32(Reg.CC) & ~CC_EN)
    assert mine and mine.done and mine.status == Status.SUCCESS and gone
    assert after <= (4 if what == "saves" else 60), f"{after} of the flood's own ended meanwhile"


# ---------------------------------------------------------------- what a function leaves behind
@pytest.mark.parametrize("how", ["its own reset", "a shutdown of the PF"])
def test_blocks_that_are_being_zeroed_are_nobodys(make_drive: MakeDrive, how: str) -> None:
    """Format of a VF that is reset, deletion by a PF that is shut down: the media zeroes on. Nobody writes there before
    it has done so, or what was written would be zeroed after its command had ended."""
    pf, vf, _ = owners(make_drive, **ZEROES)
    if how == "its own reset":
        vf.submit(0, AdminOpc.FORMAT_NVM, nsid=vf.nsid, cdw10=0, ring=True)
    else:
        pf.submit(0, AdminOpc.NS_MGMT, nsid=vf.nsid, cdw10=NsMgmt.DELETE, ring=True)
    vf.advance(400 * US)
    begun = vf.sim.ns
    if how == "its own reset":
        vf.disable()
        vf.start(queues=1, entries=16)
    else:
        shut_down(pf)
        vf.advance(20 * US)
    data = bytes(range(256)) * 2
    while True:
        command = vf.submit(1, NvmOpc.WRITE, 1000, 0, buffer := vf.buffer(512), ring=True)
        buffer.write(data)
        vf.wait([command])
        if command.status == Status.SUCCESS:
            break
        assert command.status in (Status.FORMAT_IN_PROGRESS, Status.NS_NOT_READY) and not command.dnr
        vf.advance(50 * US)
        assert vf.sim.ns - begun < 20e6
    assert vf.sim.ns - begun > 1.5e6, "8 MiB take 2 ms"
    vf.advance(2000 * US)
    assert vf.read(1000, 1) == data


def test_what_was_formatted_before_a_reset_outlasts_power(make_drive: MakeDrive, tmp_path: Path) -> None:
    """Format of two namespaces by a VF that is reset when the first one is done. It goes on with what it finds, and
    that is so when power comes back."""
    image = str(tmp_path / "media")
    pf, vf, _ = owners(make_drive, image=image, **ZEROES)
    both = [vf.nsid, namespaces.create(pf, 16384)]
    namespaces.attachment_try(pf, both[1], NsAttach.ATTACH, (1,)).check()
    vf.submit(0, AdminOpc.FORMAT_NVM, nsid=NSID_ALL, cdw10=1, ring=True)
    vf.advance(3000 * US)
    vf.disable()
    vf.start(queues=1, entries=16)
    found = [namespaces.of(vf, nsid).flbas for nsid in both]
    assert found == [1, 0], "8 MiB take 2 ms"
    vf.advance(5000 * US)
    pf.sim.close()
    pf = make_drive(num_fn=3, memory=MEMORY, params={"NUM_NS": 3, "SGL": 1}, media_size=32 << 20, image=image)
    pf.start(queues=1, entries=16)
    assert [namespaces.of(pf, nsid, attached=False).flbas for nsid in both] == found


def test_a_shutdown_while_its_reservation_is_saved(make_drive: MakeDrive) -> None:
    """The change is saved to its end, the shutdown ends after it, and others' changes go on."""
    pf, vf, other = Cluster(make_drive, 3, **SLOW).drives
    buffer = vf.buffer(16)
    buffer.write(bytes(8) + (0x55).to_bytes(8, "little"))
    register = vf.submit(1, NvmOpc.RESV_REGISTER, buffer=buffer, nbytes=16, cdw10=ResvPtpl.SET << 30, cdw11=0, cdw12=0,
                         ring=True)  # fmt: skip
    vf.advance(400 * US)
    assert not register.done
    shut_down(vf)
    mine = pf.submit(0, AdminOpc.SET_FEATURES, nsid=0, cdw10=Feature.ARBITRATION | SAVE, ring=True)
    until_done([pf], [mine], 40_000)
    for _ in range(400):
        if shutdown_status(vf) == 2:
            break
        pf.advance(100 * US)
    assert shutdown_status(vf) == 2
    reservations.register(other, 0x77)


# ---------------------------------------------------------------- who waits for whom
def test_settings_that_concern_nobody_else_wait_for_no_format(make_drive: MakeDrive) -> None:
    pf, one, two = owners(make_drive, **ZEROES)
    format_ = one.submit(0, AdminOpc.FORMAT_NVM, nsid=one.nsid, cdw10=0, ring=True)
    one.advance(200 * US)
    its = two.submit(0, AdminOpc.SET_FEATURES, nsid=0, cdw10=Feature.TEMP_THRESH, cdw11=350, ring=True)
    mine = pf.submit(0, AdminOpc.SET_FEATURES, nsid=0, cdw10=Feature.KATO, cdw11=350_000, ring=True)
    saved = pf.submit(0, AdminOpc.SET_FEATURES, nsid=0, cdw10=Feature.ARBITRATION | SAVE, ring=True)
    until_done([pf, two], [its, mine], 400)
    one.poll(everything=True)
    assert not format_.done and not saved.done, "what is saved waits for it"
    until_done([pf, one], [format_, saved], 20_000)


def test_an_enable_waits_for_nobodys_save(make_drive: MakeDrive) -> None:
    """A VF's save stands behind its own Write Zeroes; another VF is enabled, and the PF is answered meanwhile."""
    pf, one, two = owners(make_drive, **ZEROES)
    two.disable()
    zeroes = one.submit(1, NvmOpc.WRITE_ZEROES, 0, 16383, ring=True)
    one.advance(8 * US)
    saved = one.submit(0, AdminOpc.SET_FEATURES, nsid=0, cdw10=Feature.ARBITRATION | SAVE, cdw11=5 << 8, ring=True)
    one.advance(80 * US)
    two.start(queues=1, entries=16)
    pf.identify(1)
    one.poll(everything=True)
    assert not zeroes.done and not saved.done
    one.wait([zeroes, saved])
