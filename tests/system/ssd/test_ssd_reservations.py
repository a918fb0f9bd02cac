# SPDX-License-Identifier: Apache-2.0
"""Reservations of a namespace that three functions share (Base 2.1, 7.5 to 7.8 and 8.1.22; 7.2 to 7.5 and 8.19 of 2.0),
against a model of them, and by what each function can still read and write; and one that 17 functions share."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import copies
import pytest
from doorbell.nvme import namespaces, reservations
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import (
    ONCS_RESERVATIONS,
    STATUS_DNR,
    AdminOpc,
    Cns,
    Feature,
    LogPage,
    NsAttach,
    NvmOpc,
    ResvAcquire,
    ResvNotice,
    ResvPtpl,
    ResvRegister,
    ResvType,
    Status,
)
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer
from doorbell.nvme.structures import IdNs, IdNsIndependent, ResvController, ResvStatus
from owners import bring_up_functions
from reservation_hosts import MEMORY, TYPES, Cluster, allowed, io
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
NUM_FN = 3
OK, CONFLICT, INVALID = Status.SUCCESS, Status.RESV_CONFLICT, Status.INVALID_FIELD


@pytest.fixture(scope=copies.scope("module"))
def cluster(make_drive_once: MakeDrive) -> Cluster:
    """PF and VFs, each with a host identifier of its own; namespace 1 is everybody's."""
    return Cluster(make_drive_once, NUM_FN)


@pytest.fixture
def drives(cluster: Cluster) -> list[Driver]:
    return cluster.drives


HOSTS = (0xA, 0xB, 0xC)
KEYS = (0x1111_0000_AAAA_0001, 0x2222_0000_BBBB_0002, 0x3333_0000_CCCC_0003)


def test_who_may_do_what(cluster: Cluster) -> None:
    """The specification's figures (8.1.22.1): each type; the holder, a registrant, who is none; each command."""
    (holder, registrant, _), keys = range(NUM_FN), cluster.keys
    cluster.probe(thorough=True)
    for fn in (holder, registrant):
        cluster.register(fn, key=keys[fn])
    for rtype in TYPES:
        cluster.acquire(holder, key=keys[holder], rtype=rtype)
        cluster.probe(thorough=True)
        for fn in range(NUM_FN):
            cluster.same_report(fn)
        status = cluster.acquire(registrant, key=keys[registrant], rtype=rtype)
        assert status == (OK if rtype >= ResvType.WRITE_EXCLUSIVE_ALL else CONFLICT)
        if rtype < ResvType.WRITE_EXCLUSIVE_ALL:  # it is no holder: nothing happens
            assert cluster.release(registrant, key=keys[registrant], rtype=rtype) == OK
        cluster.same_report()
        assert cluster.release(holder, key=keys[holder], rtype=rtype) == OK
    cluster.probe()


def test_replacing_a_key_that_is_not_there(cluster: Cluster) -> None:
    """8.1.22.3: with IEKEY it is "without regard to its registration status". 8.1.22.4: nobody leaves so."""
    key, other = cluster.keys[:2]
    assert cluster.register(1, ResvRegister.REPLACE, current=key, key=key) == CONFLICT
    assert cluster.register(1, ResvRegister.UNREGISTER, current=key, ignore=True) == CONFLICT
    assert cluster.register(1, ResvRegister.REPLACE, current=other, key=key, ignore=True) == OK
    cluster.same_report()
    assert cluster.register(1, ResvRegister.REPLACE, current=other, key=other, ignore=True) == OK
    assert cluster.register(1, ResvRegister.REGISTER, key=key, ignore=True) == CONFLICT, "it looks at no IEKEY"
    cluster.same_report()
    assert cluster.register(1, ResvRegister.UNREGISTER, current=key, ignore=True) == OK
    cluster.same_report()


def test_key_zero(cluster: Cluster) -> None:
    """No section bars a key (8.1.22.3). As PRKEY 0 it means the holder's own, or all where all hold (8.1.22.7)."""
    _, other, third = cluster.keys
    assert cluster.register(0, key=0) == OK
    assert cluster.register(1, key=other) == OK
    assert cluster.acquire(0, key=0, rtype=ResvType.EXCLUSIVE_ACCESS) == OK
    cluster.same_report()
    cluster.probe()
    assert cluster.acquire(1, ResvAcquire.PREEMPT, key=other, preempt=0, rtype=ResvType.EXCLUSIVE_ACCESS_ALL) == OK
    assert cluster.model.keys == {cluster.hosts[1]: other}
    assert cluster.register(2, key=third) == OK
    assert cluster.acquire(2, ResvAcquire.PREEMPT, key=third, preempt=0, rtype=ResvType.WRITE_EXCLUSIVE) == OK
    assert cluster.model.keys == {cluster.hosts[2]: third}
    cluster.same_report()
    cluster.probe()
    cluster.heard()


def test_preempting_a_key_that_nobody_has(cluster: Cluster) -> None:
    """8.1.22.7: an error where all registrants hold, and there alone; 0 is no key to preempt where one holds."""
    key, other, third = cluster.keys
    cluster.register(0, key=key)
    cluster.register(1, key=other)
    for rtype in (0, *TYPES):
        if rtype:
            cluster.acquire(0, key=key, rtype=rtype)
        all_hold = rtype >= ResvType.WRITE_EXCLUSIVE_ALL
        for action in (ResvAcquire.PREEMPT, ResvAcquire.PREEMPT_ABORT):
            assert cluster.acquire(1, action, key=other, preempt=third, rtype=1) == (CONFLICT if all_hold else OK)
            if not all_hold:
                assert cluster.acquire(1, action, key=other, preempt=0, rtype=1) == (INVALID if rtype else OK)
        cluster.same_report()
        cluster.release(0, key=key, rtype=rtype)
    cluster.heard()


@pytest.mark.parametrize("was", TYPES)
def test_who_hears_of_another_type(cluster: Cluster, was: int) -> None:
    """8.1.22.7: hosts that remain registrants hear that the type has changed, whichever it was.

    8.1.22.4, 8.1.22.6: of an end without another reservation they hear if it was of some types.
    """
    keys = cluster.keys
    for fn in range(NUM_FN):
        cluster.register(fn, key=keys[fn])
    new = ResvType.EXCLUSIVE_ACCESS if was != ResvType.EXCLUSIVE_ACCESS else ResvType.WRITE_EXCLUSIVE
    cluster.acquire(0, key=keys[0], rtype=was)
    victim = 0 if was >= ResvType.WRITE_EXCLUSIVE_ALL else keys[0]
    cluster.acquire(1, ResvAcquire.PREEMPT, key=keys[1], preempt=victim, rtype=new)
    if was < ResvType.WRITE_EXCLUSIVE_ALL:
        assert (cluster.hosts[2], ResvNotice.RESERVATION_RELEASED) in cluster.model.notices
    cluster.heard()
    cluster.acquire(1, ResvAcquire.PREEMPT, key=keys[1], preempt=keys[1], rtype=was)  # of itself
    cluster.register(0, key=keys[0])
    cluster.heard()
    cluster.acquire(1, ResvAcquire.PREEMPT, key=keys[1], preempt=keys[1], rtype=was)  # the same type: nothing to hear
    cluster.heard()
    cluster.release(1, key=keys[1], rtype=was)
    cluster.heard()
    cluster.acquire(1, key=keys[1], rtype=was)
    cluster.register(1, ResvRegister.UNREGISTER, current=keys[1])
    cluster.heard()
    cluster.same_report()


def test_flush_of_all_and_admin_commands(make_drive: MakeDrive) -> None:
    first = make_drive(num_fn=NUM_FN, memory=MEMORY, params={"NUM_NS": NUM_FN, "SGL": 1}, media_size=32 << 20)
    first.start(queues=1, entries=32)
    namespaces.delete_try(first).check()
    for nsid in (1, 2):
        assert namespaces.create_try(first, 8192, nmic=1).check().dw0 == nsid
        namespaces.attachment_try(first, nsid, NsAttach.ATTACH, (0,)).check()
    drives = bring_up_functions(first, queues={0: 2, 1: 1, 2: 1}, entries=32, memory=MEMORY)
    for drive, host in zip(drives, HOSTS, strict=True):
        reservations.set_host_id(drive, host)
    pf, vf, other = drives
    second = 2
    namespaces.attachment_try(pf, second, NsAttach.ATTACH, (1,)).check()
    reservations.register(vf, KEYS[1], nsid=second)
    reservations.acquire(vf, KEYS[1], ResvType.WRITE_EXCLUSIVE, nsid=second)
    for drive, status in ((pf, CONFLICT), (vf, OK), (other, OK)):
        expect(io(drive, NvmOpc.FLUSH, nsid=0xFFFF_FFFF), status)
        expect(io(drive, NvmOpc.FLUSH, nsid=1), OK)
    # The PF manages namespaces, but does not write what another host has reserved.
    expect(pf.admin_try(AdminOpc.FORMAT_NVM, nsid=second), CONFLICT)
    expect(pf.admin_try(AdminOpc.FORMAT_NVM, nsid=0xFFFF_FFFF), CONFLICT)
    expect(namespaces.attachment_try(pf, second, NsAttach.DETACH, (0,)), CONFLICT)
    expect(namespaces.delete_try(pf, second), CONFLICT)
    reservations.clear(vf, KEYS[1], nsid=second)
    expect(pf.admin_try(AdminOpc.FORMAT_NVM, nsid=second), OK)
    reservations.register(vf, KEYS[1], nsid=second)
    reservations.acquire(vf, KEYS[1], ResvType.EXCLUSIVE_ACCESS_ALL, nsid=second)
    reservations.register(pf, KEYS[0], nsid=second)
    for drive in (pf, vf):
        drive.set_features(Feature.RESV_MASK, 1 << ResvNotice.RESERVATION_PREEMPTED, nsid=second)
        drive.set_features(Feature.ERR_RECOVERY, 5, nsid=second)
    expect(namespaces.delete_try(pf, second), OK)
    # One that has its number has nothing of it.
    assert namespaces.create_try(pf, 2048, nmic=1).check().dw0 == second
    namespaces.attachment_try(pf, second, NsAttach.ATTACH, (0, 1)).check()
    assert reservations.report(pf, nsid=second) == reservations.Report(0, 0, False, [])
    for drive in (pf, vf):
        assert drive.get_features(Feature.RESV_MASK, nsid=second) == 0
        assert drive.get_features(Feature.ERR_RECOVERY, nsid=second) == 0


def test_what_identify_says(drives: list[Driver], make_drive: MakeDrive) -> None:
    for drive in drives:
        assert drive.controller is not None and drive.namespace is not None
        assert drive.controller.oncs & ONCS_RESERVATIONS and drive.controller.ctratt & 1
        assert drive.namespace.rescap == 0xFF
        assert IdNsIndependent.from_buffer_copy(drive.identify(Cns.CSI_INDEPENDENT_NS, nsid=1)).rescap == 0xFF
        effects = drive.get_log(LogPage.CMD_EFFECTS, 4096)
        for opcode in (NvmOpc.RESV_REGISTER, NvmOpc.RESV_REPORT, NvmOpc.RESV_ACQUIRE, NvmOpc.RESV_RELEASE):
            assert effects[1024 + 4 * opcode] & 1
        assert drive.get_log(LogPage.SUPPORTED, 1024)[4 * LogPage.RESERVATION] & 1
    one = make_drive(memory=MEMORY)
    one.start(queues=1, entries=32)
    assert one.controller is not None and not one.controller.oncs & ONCS_RESERVATIONS and not one.controller.ctratt
    assert IdNs.from_buffer_copy(one.identify(Cns.NS, nsid=1)).rescap == 0
    for opcode in (NvmOpc.RESV_REGISTER, NvmOpc.RESV_REPORT, NvmOpc.RESV_ACQUIRE, NvmOpc.RESV_RELEASE):
        expect(io(one, opcode), Status.INVALID_OPCODE)
    for feature in (Feature.HOST_ID, Feature.RESV_MASK, Feature.RESV_PERSIST):
        expect(one.admin_try(AdminOpc.GET_FEATURES, nsid=1, cdw10=feature), INVALID)


def test_commands_that_are_wrong(drives: list[Driver]) -> None:
    pf = drives[0]
    for action in range(3, 8):
        expect(reservations.register_try(pf, action, key=1), INVALID)
        expect(reservations.acquire_try(pf, action, key=1, rtype=1), INVALID)
    for action in range(2, 8):
        expect(reservations.release_try(pf, action, key=1, rtype=1), INVALID)
    expect(reservations.register_try(pf, key=1, ptpl=1), INVALID)
    reservations.register(pf, KEYS[0])
    for rtype in (0, 7, 255):
        expect(reservations.acquire_try(pf, key=KEYS[0], rtype=rtype), INVALID)
    expect(reservations.acquire_try(pf, key=KEYS[0], rtype=1, ignore=True), INVALID)
    expect(reservations.release_try(pf, key=KEYS[0], rtype=1, ignore=True), INVALID)
    expect(reservations.acquire_try(pf, key=KEYS[1], rtype=1), CONFLICT)
    expect(reservations.register_try(pf, key=1, nsid=0), Status.INVALID_NS)
    expect(reservations.register_try(pf, key=1, nsid=0xFFFF_FFFF), INVALID)
    expect(reservations.register_try(pf, key=1, nsid=2), INVALID)  # it is not there
    # A report that is cut, and one longer than what there is.
    whole = reservations.report_try(pf, 4096)[1]
    assert whole[:4] == (1).to_bytes(4, "little") and whole[5] == 1
    for size in (4, 24, 28, 48, 8192):  # 7.8: "no additional data is transferred"
        data = reservations.report_try(pf, size)[1]
        assert data == (whole[:48] + b"\xee" * 8192)[:size]
    # The error log has them, with the queue and the namespace.
    expect(reservations.acquire_try(pf, key=1, rtype=1, qid=2), CONFLICT)
    entry = pf.get_log(LogPage.ERROR, 64)
    assert entry[8] == 2 and int.from_bytes(entry[12:14], "little") >> 1 == STATUS_DNR | CONFLICT and entry[24] == 1


def test_host_identifiers(drives: list[Driver]) -> None:
    """64 or 128 bits, alike for all; functions of one host are one registrant; 0 is a host of its own until a reset."""
    pf, vf, other = drives
    assert [reservations.host_id(d) for d in drives] == list(HOSTS)
    expect(reservations.set_host_id_try(pf, 1 << 100, wide=True), Status.HOSTID_FORMAT)
    expect(reservations.report_try(pf, wide=True)[0], Status.HOSTID_FORMAT)
    # Two functions of one host.
    reservations.set_host_id(vf, HOSTS[0])
    reservations.register(pf, KEYS[0])
    reservations.acquire(vf, KEYS[0], ResvType.EXCLUSIVE_ACCESS)
    assert {(c.cntlid, c.holder, c.key) for c in reservations.report(other).controllers} == {
        (0, True, KEYS[0]),
        (1, True, KEYS[0]),
    }
    assert [allowed(d, NvmOpc.READ) for d in drives] == [True, True, False]
    reservations.set_host_id(vf, HOSTS[1])
    assert [allowed(d, NvmOpc.READ) for d in drives] == [True, False, False]
    reservations.unregister(pf, KEYS[0])
    # Identifier 0: two of them are two hosts.
    for drive in drives:
        reservations.set_host_id(drive, 0)
    reservations.register(vf, KEYS[1])
    reservations.register(other, KEYS[2])
    reservations.acquire(vf, KEYS[1], ResvType.WRITE_EXCLUSIVE)
    assert [allowed(d, NvmOpc.WRITE) for d in drives] == [False, True, False]
    vf.disable()
    vf.start(queues=1, entries=32, vectors=1)
    assert [(c.cntlid, c.holder, c.key) for c in reservations.report(pf).controllers] == [(2, False, KEYS[2])]
    assert [allowed(d, NvmOpc.WRITE) for d in drives] == [True, True, True]
    reservations.unregister(other, KEYS[2])
    # 128 bits.
    for drive, host in zip(drives, HOSTS, strict=True):
        reservations.set_host_id(drive, host << 100 | 7, wide=True)
    assert reservations.host_id(vf, wide=True) == HOSTS[1] << 100 | 7
    expect(reservations.set_host_id_try(pf, 5), Status.HOSTID_FORMAT)
    reservations.register(vf, KEYS[1])
    found = reservations.report(pf, wide=True)
    assert found.controllers == [reservations.Registered(1, False, HOSTS[1] << 100 | 7, KEYS[1])]
    expect(reservations.report_try(pf)[0], Status.HOSTID_FORMAT)


def test_notices(drives: list[Driver]) -> None:
    """Feature 82h, log page 80h and its event."""
    pf, vf, other = drives
    for drive, key in zip(drives, KEYS, strict=True):
        reservations.register(drive, key)
    assert reservations.notification(vf).count == 0
    event = vf.submit(0, AdminOpc.ASYNC_EVENT, nsid=0, ring=True)
    reservations.acquire(pf, KEYS[0], ResvType.WRITE_EXCLUSIVE_REGISTRANTS)
    other.set_features(Feature.RESV_MASK, 1 << ResvNotice.RESERVATION_RELEASED, nsid=1)
    assert other.get_features(Feature.RESV_MASK, nsid=1) == 1 << ResvNotice.RESERVATION_RELEASED
    reservations.release(pf, KEYS[0], ResvType.WRITE_EXCLUSIVE_REGISTRANTS)
    vf.wait([event])
    assert event.dw0 == 6 | 0 << 8 | LogPage.RESERVATION << 16
    expect(reservations.acquire_try(pf, ResvAcquire.PREEMPT, key=KEYS[0], rtype=1, preempt=KEYS[1]), OK)
    for keep in (True, False):
        page = reservations.notification(vf, keep=keep)
        assert (page.count, page.type, page.available, page.nsid) == (1, ResvNotice.RESERVATION_RELEASED, 1, 1)
    page = reservations.notification(vf)
    assert (page.count, page.type, page.available) == (2, ResvNotice.REGISTRATION_PREEMPTED, 0)
    assert bytes(reservations.notification(vf)) == bytes(64)
    assert reservations.notification(other).type == 0, "it has masked that"
    reservations.clear(pf, KEYS[0])
    page = reservations.notification(other)
    assert (page.count, page.type, page.nsid) == (1, ResvNotice.RESERVATION_PREEMPTED, 1)
    # What has been read brings no event any more.
    event = other.submit(0, AdminOpc.ASYNC_EVENT, nsid=0, ring=True)
    other.sim.run(20_000)
    assert other.poll() == [] and not event.done


def run_at_random(cluster: Cluster, seed: int, steps: int, links: int, powers: int) -> Counter[str]:
    """links, powers: resets of the link and power cycles, of each thousand steps."""
    rng, seen = random.Random(seed), Counter[str]()
    for n in range(steps):
        what = rng.randrange(1000)
        if what < links + powers:
            how = "link" if what < links else "power"
            seen[f"{how}, {'kept' if cluster.model.persists else 'not kept'}"] += bool(cluster.model.keys)
            (cluster.link_reset if what < links else cluster.power_cycle)()
            cluster.same_report(named=False)
            cluster.name()
        else:
            seen[cluster.at_random(rng)] += 1
        cluster.same_report(n % cluster.num_fn)
        cluster.probe()
        cluster.heard()
    return seen


@pytest.mark.nightly
@pytest.mark.parametrize("slots", [128, pytest.param(256, marks=pytest.mark.nightly)])
def test_more_commands_than_there_are_slots(make_drive: MakeDrive, slots: int) -> None:
    """The ring to the firmware has a place for each slot, at the end of its memory, which is used again and again: each
    command is done once, with its own buffer and size."""
    params = {"NUM_NS": NUM_FN, "SGL": 1} | ({"NUM_CMDS": slots} if slots != 128 else {})
    pf = make_drive(num_fn=NUM_FN, memory=MEMORY, params=params, media_size=32 << 20)
    drives = bring_up_functions(pf, queues={0: 2, 1: 1, 2: 1}, entries=32, memory=MEMORY)
    for drive, host, key in zip(drives, HOSTS, KEYS, strict=True):
        reservations.set_host_id(drive, host)
        reservations.register(drive, key)
    _, want = reservations.report_try(drives[0], 128)
    rng = random.Random(slots)
    for done in range(0, 2 * slots, 24 * NUM_FN):
        running = []
        for i in range(24 * NUM_FN):
            drive, size = drives[i % NUM_FN], 4 * rng.randrange(1, 25)  # of 96 bytes, behind which nothing is sent
            buffer = drive.buffer(128)
            buffer.write(b"\xee" * 128)
            command = drive.submit(1, NvmOpc.RESV_REPORT, buffer=buffer, nbytes=size, cdw10=size // 4 - 1, cdw11=0,
                                   cdw12=0, ring=i >= 23 * NUM_FN)  # fmt: skip
            running.append((drive, command, buffer, size))
        for drive, command, buffer, size in running:
            drive.wait([command])
            command.check()
            assert buffer.read() == want[:size] + b"\xee" * (128 - size), f"{done} commands before"
            buffer.free()


def test_at_random(cluster: Cluster) -> None:
    assert len(run_at_random(cluster, 1, 60, links=20, powers=0)) > 15


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 8))
def test_at_random_for_long(make_drive: MakeDrive, tmp_path: Path, seed: int) -> None:
    seen = run_at_random(Cluster(make_drive, NUM_FN, tmp_path / "image"), seed, 500, links=20, powers=60)
    assert min(seen[f"{how}, {what}"] for how in ("link", "power") for what in ("kept", "not kept")) > 0, seen


# ---------------------------------------------------------------- 17 functions
MANY = 17


@pytest.fixture
def many(make_drive: MakeDrive, tmp_path: Path) -> Cluster:
    return Cluster(make_drive, MANY, tmp_path / "image")


@pytest.mark.nightly
def test_seventeen_hosts(many: Cluster) -> None:
    """All register, one holds; a report has a row for each, across pages; each takes it from the one before; power."""
    for fn in range(MANY):
        assert many.register(fn, key=many.keys[fn], ptpl=ResvPtpl.SET if fn == 0 else ResvPtpl.NO_CHANGE) == OK
    assert many.acquire(0, key=many.keys[0], rtype=ResvType.EXCLUSIVE_ACCESS) == OK
    for fn in range(1, MANY):
        assert many.acquire(fn, key=many.keys[fn], rtype=ResvType.EXCLUSIVE_ACCESS) == CONFLICT
    many.probe()
    for fn in range(MANY):
        many.same_report(fn)
    rows_across_pages(many)
    for fn in range(1, MANY):
        rtype = 1 + fn % 4
        assert many.acquire(fn, ResvAcquire.PREEMPT, key=many.keys[fn], preempt=many.keys[fn - 1], rtype=rtype) == OK
        many.same_report(fn)
        many.heard()
    many.probe()
    assert len(many.model.keys) == 1
    for fn in range(MANY - 1):
        assert many.register(fn, key=many.keys[0]) == OK  # one key for all
    assert many.acquire(0, ResvAcquire.PREEMPT, key=many.keys[0], preempt=many.keys[-1],
                        rtype=ResvType.WRITE_EXCLUSIVE_ALL) == OK  # fmt: skip
    many.probe()
    many.power_cycle()
    many.same_report(named=False)
    assert [allowed(d, NvmOpc.WRITE) for d in many.drives] == [False] * MANY
    many.name()
    many.same_report(MANY - 1)
    many.probe()
    assert many.acquire(0, ResvAcquire.PREEMPT_ABORT, key=many.keys[0], preempt=many.keys[0], rtype=1) == OK, "all go"
    many.same_report()
    many.probe()
    many.heard()


def rows_across_pages(many: Cluster) -> None:
    """The buffer begins 100 bytes before a page's end, its second half is elsewhere; a row that is cut."""
    drive, rows = many.drives[5], 24 + 24 * MANY
    whole = reservations.report_try(drive, 4096)[1][:rows]
    found = [ResvController.from_buffer_copy(whole, 24 + 24 * i) for i in range(MANY)]
    assert sorted(row.cntlid for row in found) == list(range(MANY))
    assert ResvStatus.from_buffer_copy(whole).regctl == MANY
    for size in (rows, 24 + 24 * 8 + 12):
        buffer = Buffer(drive.memory, 4096, offset=3996, scattered=True)
        buffer.write(b"\xee" * 4096)
        command = drive.submit(1, NvmOpc.RESV_REPORT, buffer=buffer, nbytes=size, cdw10=size // 4 - 1, cdw11=0, cdw12=0,
                               ring=True)  # fmt: skip
        drive.wait([command])
        command.check()
        assert buffer.read() == (whole[:size]).ljust(4096, b"\xee")
        buffer.free()


@pytest.mark.nightly
def test_seventeen_at_random(many: Cluster) -> None:
    run_at_random(many, 17, 60, links=20, powers=40)
