# SPDX-License-Identifier: Apache-2.0
"""Namespace Management and Attachment on the whole drive, beside a model of the table: what exists, what is attached,
where it is on the media, what is in it. The functional drive has no such commands: skipped there."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import (
    EFFECTS_CSUPP,
    EFFECTS_NIC,
    NSID_ALL,
    OACS_NS_MGMT,
    OAES_NS_ATTR,
    AdminOpc,
    AerNotice,
    AerType,
    Cns,
    Feature,
    LogPage,
    NsAttach,
    NsMgmt,
    NvmOpc,
    Status,
)
from doorbell.nvme.driver import Driver
from doorbell.nvme.log_pages import EffectsLog, ErrorLogEntry
from doorbell.nvme.structures import CtrlList, IdNs
from namespace_model import MEDIA, NUM_NS, PAGES, Space, Table, compare, fill, get, io, put, submit
from traffic import NARROW, MakeDrive

WITH_DATA = (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE)
ALL = (*WITH_DATA, NvmOpc.WRITE_ZEROES, NvmOpc.VERIFY, NvmOpc.DSM, NvmOpc.FLUSH)


@pytest.fixture
def drive(make_drive: MakeDrive) -> Driver:
    """Room for four namespaces; the same simulator as the guest's of test_vm_namespaces.py."""
    d = make_drive(**NARROW, seed=3, media_size=MEDIA)
    d.start(queues=4, entries=64)
    if not namespaces.supported(d):
        pytest.skip("this back end has no Namespace Management (OACS bit 3)")
    return d


def empty(drive: Driver) -> Driver:
    namespaces.delete(drive)
    return drive


# ------------------------------------------------------------------------------------------------------------ tests


def test_capabilities(drive: Driver) -> None:
    c = drive.controller
    assert c is not None and c.oacs & OACS_NS_MGMT and c.oaes & OAES_NS_ATTR
    assert c.nn == c.mnan == NUM_NS and c.cntlid == 0
    assert namespaces.controllers(drive) == [0] and namespaces.controllers(drive, first=1) == []
    common = IdNs.from_buffer_copy(drive.identify(Cns.NS, nsid=NSID_ALL))
    assert common.nsze == 0 and [common.lbaf[i].ds for i in range(3)] == [9, 12, 0] and common.nlbaf == 1
    effects = EffectsLog.from_buffer_copy(drive.get_log(LogPage.CMD_EFFECTS, 4096))
    for opcode in (AdminOpc.NS_MGMT, AdminOpc.NS_ATTACH):
        assert effects.acs[opcode] & (EFFECTS_CSUPP | EFFECTS_NIC) == EFFECTS_CSUPP | EFFECTS_NIC
    Table().check(drive)


@pytest.mark.parametrize("steps", [90, pytest.param(300, marks=pytest.mark.nightly)])
def test_any_order(drive: Driver, steps: int) -> None:
    """Random creates, attaches, detaches, deletes, formats, and resets of the controller, checked after each step: the
    lists, where each namespace is, its data, and that no byte of a deleted one is left on the media."""
    rng, table, seen = random.Random(11), Table(), set()
    counts: dict[str, int] = {}
    for step in range(steps):
        what = rng.choice(("create", "create", "create", "attach", "attach", "detach", "delete", "format", "fill",
                           "reset" if step % 3 == 0 else "fill"))  # fmt: skip
        nsid = rng.randrange(1, NUM_NS + 1)
        s = table.spaces.get(nsid)
        if what == "create":
            size = rng.choice((512, 4096))
            pages = rng.choice((1, 2, 100, PAGES // 4, PAGES // 3, PAGES // 2, max(table.free(), 1)))
            blocks = pages * 4096 // size - (rng.randrange(8) if size == 512 else 0)
            status, new = table.create(blocks, size)
            command = namespaces.create_try(drive, blocks, size)
            expect(command, status)
            assert command.dw0 == new
            counts[Status(status).name] = counts.get(Status(status).name, 0) + 1
            if new:
                space = table.spaces[new]
                assert not any(drive.sim.media_read(space.first * 4096, min(space.pages, 256) * 4096))
        elif what in ("attach", "detach"):
            on = what == "attach"
            command = namespaces.attachment_try(drive, nsid, NsAttach.ATTACH if on else NsAttach.DETACH)
            if s is None:
                expect(command, Status.INVALID_FIELD)
            elif s.attached == on:
                expect(command, Status.NS_ALREADY_ATTACHED if on else Status.NS_NOT_ATTACHED)
            else:
                command.check()
                s.attached = on
                counts[what] = counts.get(what, 0) + 1
        elif what == "delete":
            command = namespaces.delete_try(drive, nsid)
            expect(command, Status.SUCCESS if s else Status.INVALID_FIELD)
            if s:
                del table.spaces[nsid]
                for page in s.content:
                    assert drive.sim.media_read((s.first + page) * 4096, 4096) == bytes(4096)
                assert s.ids not in seen, "identifiers are not used again"
                seen.add(s.ids)
                counts[what] = counts.get(what, 0) + 1
        elif what == "format":
            size = rng.choice((512, 4096))
            command = drive.admin_try(AdminOpc.FORMAT_NVM, nsid=nsid, cdw10=namespaces.FORMATS[size])
            expect(command, Status.SUCCESS if s and s.attached else Status.INVALID_FIELD)
            if s and s.attached:
                s.size, s.blocks = size, s.pages * 4096 // size
                s.content.clear()
        elif what == "fill" and s and s.attached:
            fill(drive, s, nsid, rng)
        elif what == "reset":
            kind = rng.choice(("controller", "function", "power"))
            if kind == "function":
                drive.flr()
            elif kind == "power":
                drive.sim.reset()
            counts[kind] = counts.get(kind, 0) + 1
            drive.start(queues=2, entries=64)
        table.check(drive)
        for n, space in table.spaces.items():
            if space.attached:
                compare(drive, space, n, rng)
            else:
                expect(io(drive, NvmOpc.READ, n)[0], Status.INVALID_FIELD)
    assert min(counts.get(k, 0) for k in ("SUCCESS", "NS_INSUFFICIENT_CAP", "NSID_UNAVAILABLE")) >= 2, counts
    assert min(counts[k] for k in ("attach", "detach", "delete")) > 2, counts
    assert counts["power"], counts


def test_full_and_fragmented(drive: Driver) -> None:
    """The last page of the media can be had; gaps are used first fit, and are not joined."""
    empty(drive)
    quarter = PAGES // 4
    assert [namespaces.create(drive, quarter, 4096) for _ in range(4)] == [1, 2, 3, 4]
    assert namespaces.capacity(drive) == (MEDIA, 0)
    expect(namespaces.create_try(drive, 1), Status.NSID_UNAVAILABLE)
    namespaces.attach(drive, 4)
    data = random.Random(2).randbytes(4096)
    put(drive, 4, quarter - 1, data, 4096)
    assert drive.sim.media_read(MEDIA - 4096, 4096) == data
    namespaces.delete(drive, 1)
    namespaces.delete(drive, 3)
    assert namespaces.capacity(drive) == (MEDIA, MEDIA // 2)
    expect(namespaces.create_try(drive, quarter + 1, 4096), Status.NS_INSUFFICIENT_CAP)
    entry = ErrorLogEntry.from_buffer_copy(drive.get_log(LogPage.ERROR, 64))
    assert entry.cs == (quarter + 1) * 4096, "what it would take"
    expect(namespaces.create_try(drive, quarter * 8 + 1), Status.NS_INSUFFICIENT_CAP)
    expect(namespaces.create_try(drive, (1 << 64) - 1), Status.NS_INSUFFICIENT_CAP)
    assert namespaces.create(drive, 1) == 1  # a page of the first gap
    assert namespaces.create(drive, quarter * 8) == 3  # all of the second, as the first has a page less
    expect(namespaces.create_try(drive, quarter, 4096), Status.NSID_UNAVAILABLE)
    namespaces.delete(drive, 1)
    expect(namespaces.create_try(drive, quarter + 1, 4096), Status.NS_INSUFFICIENT_CAP)
    namespaces.delete(drive, 2)
    assert namespaces.create(drive, 2 * quarter, 4096) == 1  # two gaps that met
    namespaces.attach(drive, 1)
    put(drive, 1, 2 * quarter - 1, data, 4096)
    assert drive.sim.media_read(MEDIA // 2 - 4096, 4096) == data
    assert get(drive, 4, quarter - 1, 4096, 4096) == data

    # NSIDs in another order than the places: 2 at a quarter, 1 right behind it, in pages
    empty(drive)
    for pages in (quarter, quarter):
        namespaces.create(drive, pages, 4096)
    namespaces.delete(drive, 1)
    assert namespaces.create(drive, quarter + 1, 4096) == 1
    expect(namespaces.create_try(drive, quarter + 1, 4096), Status.NS_INSUFFICIENT_CAP)
    places = {1: 2 * quarter, 2: quarter, 3: 0, 4: 3 * quarter + 1}
    for nsid in (3, 4):
        assert namespaces.create(drive, quarter - 1, 4096) == nsid
    for nsid, first in places.items():
        namespaces.attach(drive, nsid)
        put(drive, nsid, 0, data[:4095] + bytes([nsid]), 4096)
        assert drive.sim.media_read(first * 4096, 4096) == data[:4095] + bytes([nsid])


def test_statuses(drive: Driver) -> None:
    """What is refused, and that it changes nothing."""
    table = Table()
    expect(namespaces.create_try(drive, 8), Status.NS_INSUFFICIENT_CAP)
    for nsid, status in ((0, Status.INVALID_NS), (NUM_NS + 1, Status.INVALID_NS), (0xFFFFFFFE, Status.INVALID_NS),
                         (2, Status.INVALID_FIELD)):  # fmt: skip
        expect(namespaces.delete_try(drive, nsid), status)
        for select in NsAttach:
            expect(namespaces.attachment_try(drive, nsid, select), status)
    expect(namespaces.attachment_try(drive, NSID_ALL, NsAttach.DETACH), Status.INVALID_FIELD)
    for controllers in ((), (1,), (0, 0), (0, 1), (0xFFFF,), tuple(range(2047))):
        for select in NsAttach:
            expect(namespaces.attachment_try(drive, 1, select, controllers), Status.CTRL_LIST_INVALID)
    expect(namespaces.attachment_try(drive, 1, NsAttach.ATTACH), Status.NS_ALREADY_ATTACHED)
    for opcode in (AdminOpc.NS_MGMT, AdminOpc.NS_ATTACH):
        for select in range(2, 16):
            expect(drive.admin_try(opcode, nsid=1, cdw10=select), Status.INVALID_FIELD)
        expect(drive.admin_try(opcode, nsid=1, flags=0x40, prp1=drive.memory.base), Status.INVALID_FIELD)
    table.check(drive)

    namespaces.delete(drive, 1)
    table.spaces.clear()
    create = namespaces.create_try
    for command, status in (
        (create(drive, 0), Status.INVALID_FIELD), (create(drive, 8, capacity=9), Status.INVALID_FIELD),
        (create(drive, 8, capacity=7), Status.THIN_PROV_NOT_SUP), (create(drive, 8, flbas=2), Status.INVALID_FORMAT),
        (create(drive, 8, flbas=0x20), Status.INVALID_FORMAT), (create(drive, 8, dps=1), Status.INVALID_FIELD),
        (create(drive, 8, nmic=1), Status.INVALID_FIELD), (create(drive, 8, nsid=1), Status.INVALID_FIELD),
        (create(drive, 8, csi=2), Status.IOCS_NOT_SUPPORTED), (create(drive, PAGES + 1, 4096),
                                                               Status.NS_INSUFFICIENT_CAP),
    ):  # fmt: skip
        expect(command, status)
        assert command.dnr and command.dw0 == 0
    table.check(drive)
    assert namespaces.create(drive, 8) == 1
    expect(namespaces.attachment_try(drive, 1, NsAttach.DETACH), Status.NS_NOT_ATTACHED)
    namespaces.attach(drive, 1)
    for _ in range(NUM_NS - 1):
        namespaces.create(drive, 8)
    expect(create(drive, 8), Status.NSID_UNAVAILABLE)
    for cns, status in (
        (Cns.NS_PRESENT, Status.INVALID_NS), (Cns.CSI_NS_PRESENT, Status.INVALID_NS),
        (Cns.CTRL_NS_LIST, Status.INVALID_FIELD),
    ):  # fmt: skip
        expect(drive.admin_try(AdminOpc.IDENTIFY, nsid=NSID_ALL, cdw10=cns, prp1=drive.memory.base), status)


def test_a_number_that_is_used_again(drive: Driver) -> None:
    """What a host has set for the namespace that was deleted is not that of the new one."""
    empty(drive)
    for value in (7, 5):
        assert namespaces.create(drive, 64) == 1
        namespaces.attach(drive, 1)
        assert drive.get_features(Feature.ERR_RECOVERY, nsid=1) == 0
        drive.set_features(Feature.ERR_RECOVERY, value, nsid=1)
        namespaces.detach(drive, 1)
        namespaces.attach(drive, 1)
        assert drive.get_features(Feature.ERR_RECOVERY, nsid=1) == value
        namespaces.delete(drive, 1)


@pytest.mark.parametrize("gone", ["detached", "deleted"])
def test_io_where_there_is_none(drive: Driver, gone: str) -> None:
    """Every command ends, on every queue, with Invalid Field as the NSID is valid but inactive; others work."""
    empty(drive)
    namespaces.create(drive, 64)
    namespaces.create(drive, 64)
    namespaces.attach(drive, 1)
    namespaces.attach(drive, 2)
    data = random.Random(4).randbytes(4096)
    put(drive, 1, 0, data)
    put(drive, 2, 0, data)
    (namespaces.detach if gone == "detached" else namespaces.delete)(drive, 1)
    commands = [submit(drive, opcode, 1, qid=q) for opcode in ALL for q in range(1, 5)]
    drive.wait(commands)
    for command in commands:
        expect(command, Status.INVALID_FIELD)
        assert command.dnr
    for opcode in ALL:
        expect(io(drive, opcode, NUM_NS + 1)[0], Status.INVALID_NS)
        io(drive, opcode, 2, 32)[0].check()
    assert get(drive, 2, 0, 4096) == data
    expect(drive.admin_try(AdminOpc.FORMAT_NVM, nsid=1), Status.INVALID_FIELD)
    expect(drive.admin_try(AdminOpc.SET_FEATURES, nsid=1, cdw10=Feature.ERR_RECOVERY, cdw11=1), Status.INVALID_FIELD)
    if gone == "detached":
        namespaces.attach(drive, 1)
        assert get(drive, 1, 0, 4096) == data, "detaching keeps the data"


@pytest.mark.parametrize("sizes", [(512, 4096), (4096, 512), (512, 512)])
def test_nothing_of_the_old_owner(drive: Driver, sizes: tuple[int, int]) -> None:
    """Deleted, and created again with another block size, on the same place and beside it: zeros, on the media too."""
    empty(drive)
    mib = 1 << 20
    old, new = sizes
    namespaces.create(drive, mib // old, old)
    namespaces.create(drive, mib // old, old)
    namespaces.attach(drive, 1)
    namespaces.attach(drive, 2)
    secret = random.Random(5).randbytes(64 << 10)
    for at in (0, mib - len(secret)):
        put(drive, 1, at // old, secret, old)
        put(drive, 2, at // old, secret, old)
    namespaces.delete(drive, 1)
    assert not any(drive.sim.media_read(0, mib)) and drive.sim.media_read(mib, len(secret)) == secret
    assert namespaces.create(drive, mib // new, new) == 1
    namespaces.attach(drive, 1)
    for at in (0, mib // 2, mib - len(secret)):
        assert get(drive, 1, at // new, len(secret), new) == bytes(len(secret))
    assert get(drive, 2, (mib - len(secret)) // old, len(secret), old) == secret
    namespaces.delete(drive)
    assert not any(drive.sim.media_read(0, 2 * mib))


@pytest.mark.parametrize("size", [512, 4096])
def test_bounds(drive: Driver, size: int) -> None:
    """Nothing is read or written beyond the last block, also where that is not the end of a page."""
    empty(drive)
    blocks = 21
    namespaces.create(drive, 4096 // size, size)
    assert namespaces.create(drive, blocks, size) == 2
    namespaces.create(drive, 4096 // size, size)
    for nsid in (1, 2, 3):
        namespaces.attach(drive, nsid)
    for nsid in (1, 3):
        put(drive, nsid, 0, b"\x77" * 4096, size)
    data = random.Random(6).randbytes(blocks * size)
    put(drive, 2, 0, data, size)
    assert get(drive, 2, 0, blocks * size, size) == data
    for opcode in (*WITH_DATA, NvmOpc.WRITE_ZEROES, NvmOpc.VERIFY, NvmOpc.DSM):
        expect(io(drive, opcode, 2, blocks, size=size)[0], Status.LBA_RANGE)
    expect(io(drive, NvmOpc.WRITE, 2, blocks - 1, bytes(2 * size), size=size)[0], Status.LBA_RANGE)
    assert drive.sim.media_read(4096, len(data)) == data
    for nsid in (1, 3):
        assert get(drive, nsid, 0, 4096, size) == b"\x77" * 4096


def test_notices(drive: Driver) -> None:
    """Namespace Attribute Changed, when it is asked for, once until the log has been read; the log says which."""
    event = drive.submit(0, AdminOpc.ASYNC_EVENT, nsid=0, ring=True)

    def quiet() -> None:
        drive.advance(20_000)
        drive.poll(everything=True)
        assert not event.done

    namespaces.detach(drive, 1)
    quiet()
    assert namespaces.changed(drive, rae=True) == [1] == namespaces.changed(drive) and namespaces.changed(drive) == []
    drive.set_features(Feature.ASYNC_EVENT, OAES_NS_ATTR)
    namespaces.delete(drive, 1)  # it was not attached
    for _ in range(3):
        namespaces.create(drive, 80)
    quiet()
    steps: tuple[tuple[int, Callable[[], None]], ...] = (
        (2, lambda: namespaces.attach(drive, 2)), (2, lambda: drive.format(1, nsid=2)),
        (2, lambda: namespaces.detach(drive, 2)), (3, lambda: namespaces.attach(drive, 3)),
        (3, lambda: namespaces.delete(drive, 3)),
    )  # fmt: skip
    for nsid, act in steps:
        act()
        drive.wait([event])
        assert event.check().dw0 == AerType.NOTICE | AerNotice.NS_CHANGED << 8 | LogPage.CHANGED_NS << 16
        event = drive.submit(0, AdminOpc.ASYNC_EVENT, nsid=0, ring=True)
        namespaces.attach(drive, 1)  # masked
        namespaces.detach(drive, 1)
        quiet()
        assert namespaces.changed(drive, rae=True) == sorted({1, nsid}) == namespaces.changed(drive)
        quiet()
        assert namespaces.changed(drive) == []


@pytest.mark.nightly
def test_deleted_under_io(drive: Driver) -> None:
    """All namespaces busy on all queues; one is detached or deleted again and again. Its commands end well or with
    Namespace Not Ready, then Invalid Field, those of the others well and not later, and what was written is there."""
    rng = random.Random(7)
    empty(drive)
    sizes = {1: 512, 2: 4096, 3: 512, 4: 4096}
    span, unit = 1 << 20, 16 << 10
    for nsid, size in sizes.items():
        assert namespaces.create(drive, span // size, size) == nsid
        namespaces.attach(drive, nsid)
    model = {nsid: bytearray(span) for nsid in sizes}
    ended = {Status.SUCCESS: 0, Status.NS_NOT_READY: 0, Status.INVALID_FIELD: 0}
    this_one = drive.buffer(4096)
    this_one.write(bytes(CtrlList(num=1)))
    for round_ in range(6):
        commands: list[tuple[Command, int, int, bytes]] = []
        victim = rng.randrange(1, 5)
        free = {nsid: list(range(0, span, unit)) for nsid in sizes}
        for nsid in sizes:
            rng.shuffle(free[nsid])
        for i in range(240):
            nsid = 1 + i % 4
            at = free[nsid].pop()
            data = rng.randbytes(unit)
            opcode = rng.choice((NvmOpc.WRITE, NvmOpc.READ))
            sent = data if opcode == NvmOpc.WRITE else unit
            command = submit(drive, opcode, nsid, at // sizes[nsid], sent, sizes[nsid], qid=1 + i // 4 % 4)
            commands.append((command, nsid, at, data))
        drive.ring()
        drive.advance(rng.randrange(8000))
        assert drive.in_flight() > 100, "too late"
        if round_ % 2:
            command = drive.submit(0, AdminOpc.NS_MGMT, nsid=victim, cdw10=NsMgmt.DELETE, ring=True)
        else:
            command = drive.submit(
                0, AdminOpc.NS_ATTACH, nsid=victim, cdw10=NsAttach.DETACH, buffer=this_one, ring=True
            )
        drive.wait([command])
        command.check()
        late = submit(drive, NvmOpc.WRITE, victim, 0, b"\xee" * 4096, sizes[victim], qid=3)
        drive.wait([*(c for c, *_ in commands), late])
        expect(late, Status.INVALID_FIELD)
        for command, nsid, at, data in commands:
            expect(command, *(ended if nsid == victim else (Status.SUCCESS,)))
            ended[Status(command.status)] += 1
            assert command.buffer is not None
            if command.opcode == NvmOpc.WRITE and command.status == Status.SUCCESS:
                model[nsid][at : at + unit] = data
            elif command.status == Status.SUCCESS:
                assert command.buffer.read() == model[nsid][at : at + unit], (nsid, at)
            command.buffer.free()
        if round_ % 2:
            assert not any(drive.sim.media_read((victim - 1) * span, span))
            model[victim] = bytearray(span)
            assert namespaces.create(drive, span // sizes[victim], sizes[victim]) == victim
        namespaces.attach(drive, victim)
        for nsid, size in sizes.items():
            assert get(drive, nsid, 0, span, size) == model[nsid], (round_, nsid)
    assert ended[Status.SUCCESS] > 1000 and ended[Status.NS_NOT_READY] > 20, ended


def test_reset_in_the_middle(drive: Driver) -> None:
    """A controller reset or FLR at any moment of a command: it has happened or it has not, and all works afterwards."""
    rng = random.Random(8)
    empty(drive)
    data = rng.randbytes(4096)
    namespaces.create(drive, 8)
    namespaces.attach(drive, 1)
    put(drive, 1, 0, data)
    kept = 0
    for round_ in range(6):
        assert namespaces.create(drive, 4096, 4096) == 2
        namespaces.attach(drive, 2)
        put(drive, 2, 4095, data, 4096)
        before = Table({1: Space(0, 1, 512, 8, True), 2: Space(1, 4096, 4096, 4096, True)})
        drive.submit(0, AdminOpc.NS_MGMT, nsid=2, cdw10=1, ring=True)
        drive.advance(rng.randrange(100, 16_000))
        if round_ % 2:
            drive.flr()
        drive.start(queues=4, entries=64)
        there = 2 in namespaces.allocated(drive)
        kept += there
        if there:
            before.check(drive)
            assert get(drive, 2, 4095, 4096, 4096) in (data, bytes(4096))
            namespaces.delete(drive, 2)
        del before.spaces[2]
        before.check(drive)
        assert not any(drive.sim.media_read(4096, 4096 * 4096))
        assert get(drive, 1, 0, 4096) == data
    assert 0 < kept < 10, kept
