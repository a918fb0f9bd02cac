# SPDX-License-Identifier: Apache-2.0
"""Reservations of a namespace that three functions share (Base 2.0, 7.2 to 7.5 and 8.19), against a model of them, and
by what each function can still read and write."""

from __future__ import annotations

import random

import pytest
from doorbell.nvme import namespaces, reservations
from doorbell.nvme.commands import Command, expect
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
    ResvRegister,
    ResvRelease,
    ResvType,
    Status,
)
from doorbell.nvme.driver import Driver
from doorbell.nvme.structures import IdNs, IdNsIndependent
from owners import bring_up_functions
from reservation_model import Reservations
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
NUM_FN = 3
MEMORY = 16 << 20
OK, CONFLICT, INVALID = Status.SUCCESS, Status.RESV_CONFLICT, Status.INVALID_FIELD
HOSTS = (0xA, 0xB, 0xC)
KEYS = (0x1111_0000_AAAA_0001, 0x2222_0000_BBBB_0002, 0x3333_0000_CCCC_0003)
TYPES = range(1, 7)
READS = (NvmOpc.READ, NvmOpc.COMPARE, NvmOpc.VERIFY)
WRITES = (NvmOpc.WRITE, NvmOpc.WRITE_ZEROES, NvmOpc.DSM, NvmOpc.FLUSH)


@pytest.fixture
def drives(make_drive: MakeDrive) -> list[Driver]:
    """PF and VFs, each with a host identifier of its own; namespace 1 is everybody's."""
    pf = make_drive(num_fn=NUM_FN, memory=MEMORY, params={"NUM_NS": NUM_FN}, media_size=32 << 20)
    found = bring_up_functions(pf, queues={0: 2, 1: 1, 2: 1}, entries=32, memory=MEMORY)
    for drive, host in zip(found, HOSTS, strict=True):
        reservations.set_host_id(drive, host)
    return found


def io(drive: Driver, opcode: int, nsid: int | None = None) -> Command:
    """A command of one block at 0; Dataset Management deallocates block 4096."""
    buffer = drive.buffer(512)
    buffer.write(bytes(4) + (1).to_bytes(4, "little") + (4096).to_bytes(8, "little") + bytes(496))
    geometry = {"cdw10": 0, "cdw11": 4} if opcode == NvmOpc.DSM else {}
    command = drive.submit(1, opcode, buffer=buffer, nbytes=16 if geometry else 512, nsid=nsid, ring=True, **geometry)
    drive.wait([command])
    buffer.free()
    return command


def allowed(drive: Driver, opcode: int) -> bool:
    command = io(drive, opcode)
    expect(command, OK, CONFLICT, *([Status.COMPARE_FAILED] if opcode == NvmOpc.COMPARE else []))
    assert command.status != CONFLICT or command.dnr
    return command.status != CONFLICT


def probe(drives: list[Driver], model: Reservations, thorough: bool = False) -> None:
    """Each function can do what the model says."""
    for drive, host in zip(drives, HOSTS, strict=True):
        for write, group in ((False, READS), (True, WRITES)):
            for opcode in group if thorough else group[:1]:
                assert allowed(drive, opcode) == model.may(host, write), f"host {host:x}, {NvmOpc(opcode).name}"


def same_report(drive: Driver, model: Reservations, controllers: dict[int, int]) -> None:
    """controllers: by host, its CNTLID; the others have none."""
    found = reservations.report(drive)
    assert (found.generation, found.rtype, found.persists) == (model.generation, model.rtype, model.persists)
    want = {(controllers.get(h, 0xFFFF), model.holds(h), h, k) for h, k in model.keys.items()}
    assert {(c.cntlid, c.holder, c.hostid, c.key) for c in found.controllers} == want
    assert len(found.controllers) == len(want)


CONTROLLERS = {host: fn for fn, host in enumerate(HOSTS)}


def test_who_may_do_what(drives: list[Driver]) -> None:
    """The specification's table: each type, the holder, a registrant, who is none; each command of both groups."""
    pf, registrant, _ = drives
    model = Reservations()
    probe(drives, model, thorough=True)
    for drive, host, key in zip(drives[:2], HOSTS, KEYS, strict=False):
        reservations.register(drive, key)
        model.register(host, ResvRegister.REGISTER, 0, key, False, 0)
    for rtype in TYPES:
        reservations.acquire(pf, KEYS[0], rtype)
        model.acquire(HOSTS[0], ResvAcquire.ACQUIRE, KEYS[0], 0, rtype, False)
        probe(drives, model, thorough=True)
        for drive in drives:
            same_report(drive, model, CONTROLLERS)
        expect(reservations.acquire_try(registrant, key=KEYS[1], rtype=rtype),
               OK if rtype >= ResvType.WRITE_EXCLUSIVE_ALL else CONFLICT)  # fmt: skip
        if rtype < ResvType.WRITE_EXCLUSIVE_ALL:  # it is no holder: nothing happens
            reservations.release(registrant, KEYS[1], rtype)
        same_report(pf, model, CONTROLLERS)
        reservations.release(pf, KEYS[0], rtype)
        model.release(HOSTS[0], ResvRelease.RELEASE, KEYS[0], rtype, False)
    probe(drives, model)


def test_flush_of_all_and_admin_commands(make_drive: MakeDrive) -> None:
    first = make_drive(num_fn=NUM_FN, memory=MEMORY, params={"NUM_NS": NUM_FN}, media_size=32 << 20)
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
    expect(namespaces.delete_try(pf, second), OK)
    assert namespaces.create_try(pf, 2048, nmic=1).check().dw0 == second
    namespaces.attachment_try(pf, second, NsAttach.ATTACH, (0,)).check()
    assert reservations.report(pf, nsid=second) == reservations.Report(0, 0, False, [])


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
    expect(reservations.register_try(pf, key=0), INVALID)
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
    for size in (4, 24, 28, 48, 8192):
        data = reservations.report_try(pf, size)[1]
        assert data == (whole + bytes(4096))[:size]
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


def step(rng: random.Random, drives: list[Driver], model: Reservations) -> str:
    """One command of one function, by the model too."""
    fn = rng.randrange(NUM_FN)
    drive, host = drives[fn], HOSTS[fn]
    own = model.keys.get(host, KEYS[fn])
    key = own if rng.random() < 0.85 else rng.choice(KEYS)
    kind = rng.choices(("register", "acquire", "release"), (4, 4, 2))[0]
    ignore = rng.random() < (0.2 if kind == "register" else 0.03)
    if kind == "register":
        action, new = rng.choice((0, 0, 0, 1, 2, 3)), rng.choice((KEYS[fn], KEYS[fn], *KEYS, 0))
        ptpl = rng.choice((0, 0, 0, 0, 1, 2, 3))
        command = reservations.register_try(drive, action, current=key, key=new, ignore=ignore, ptpl=ptpl)
        status = model.register(host, action, key, new, ignore, ptpl)
    elif kind == "acquire":
        action, rtype = rng.choice((0, 0, 1, 1, 2, 3)), rng.choice((*TYPES, *TYPES, 0, 7))
        victim = rng.choice((*model.keys.values(), *KEYS, 0))
        command = reservations.acquire_try(drive, action, key=key, rtype=rtype, preempt=victim, ignore=ignore)
        status = model.acquire(host, action, key, victim, rtype, ignore)
    else:
        action = rng.choice((0, 0, 0, 1, 2))
        rtype = model.rtype if rng.random() < 0.7 else rng.choice((*TYPES, 0))
        command = reservations.release_try(drive, action, key=key, rtype=rtype, ignore=ignore)
        status = model.release(host, action, key, rtype, ignore)
    told = f"fn {fn} {kind} action {action}: {Status(command.status).name}"
    assert command.status == status, f"{told}, not {Status(status).name}"
    return told


def heard(drives: list[Driver], model: Reservations) -> None:
    """Each function has the notices that the model has for its host, in their order."""
    for drive, host in zip(drives, HOSTS, strict=True):
        for want in [kind for h, kind in model.notices if h == host]:
            assert reservations.notification(drive).type == want
        assert reservations.notification(drive).type == 0
    model.notices.clear()


def run_at_random(drives: list[Driver], seed: int, steps: int) -> set[str]:
    rng, model, seen = random.Random(seed), Reservations(), set()
    for n in range(steps):
        told = step(rng, drives, model)
        seen.add(told.split(" ", 2)[2])
        same_report(drives[n % NUM_FN], model, CONTROLLERS)
        probe(drives, model)
        heard(drives, model)
    return seen


@pytest.mark.parametrize("slots", [128, 256])
def test_more_commands_than_there_are_slots(make_drive: MakeDrive, slots: int) -> None:
    """The ring to the firmware has a place for each slot, at the end of its memory, which is used again and again: each
    command is done once, with its own buffer and size."""
    params = {"NUM_NS": NUM_FN} | ({"NUM_CMDS": slots} if slots != 128 else {})
    pf = make_drive(num_fn=NUM_FN, memory=MEMORY, params=params, media_size=32 << 20)
    drives = bring_up_functions(pf, queues={0: 2, 1: 1, 2: 1}, entries=32, memory=MEMORY)
    for drive, host, key in zip(drives, HOSTS, KEYS, strict=True):
        reservations.set_host_id(drive, host)
        reservations.register(drive, key)
    _, want = reservations.report_try(drives[0], 128)
    rng = random.Random(slots)
    for done in range(0, 3 * slots, 24 * NUM_FN):
        running = []
        for i in range(24 * NUM_FN):
            drive, size = drives[i % NUM_FN], 4 * rng.randrange(1, 33)
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


def test_at_random(drives: list[Driver]) -> None:
    assert len(run_at_random(drives, 1, 60)) > 15


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 8))
def test_at_random_for_long(drives: list[Driver], seed: int) -> None:
    run_at_random(drives, seed, 500)
