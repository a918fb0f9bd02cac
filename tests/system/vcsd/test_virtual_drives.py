# SPDX-License-Identifier: Apache-2.0
"""Virtual drives of db_vcsd as an administrator makes, grows, moves and deletes them (docs/vcsd/administration.md).

What is written is on the SSDs that were asked for, nobody else's data changes, and it is so after a power cycle."""

from __future__ import annotations

import random
from collections.abc import Iterable

import copies
import pytest
from cards import CHUNK, PARAMS, SIZE, card_of
from doorbell.nvme import namespaces, virtual_drives
from doorbell.nvme.constants import AdminOpc, Feature, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import VendorOpc, VirtualDrive
from doorbell.nvme.virtual_drives import Place, Ssds
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
GRANULE = 1 << 20
EACH = SIZE // GRANULE
BOTH = Ssds(0, 2)


@pytest.fixture(scope=copies.scope("module"))
def empty(make_drive_once: MakeDrive) -> Driver:
    """A card that is up, without a namespace."""
    drive = make_drive_once(top="db_vcsd", params=PARAMS, media_size=PARAMS["NUM_SSD"] * SIZE)
    drive.start(queues=2, entries=64)
    for nsid in namespaces.allocated(drive):
        namespaces.delete(drive, nsid)
    return drive


def stretches(places: Iterable[Place | None]) -> list[tuple[int, int, int]]:
    """SSD, byte on it and bytes, of a drive from its begin to its end."""
    out = []
    for p in places:
        assert p is not None
        part = GRANULE // p.ssds.count
        if p.ssds.count == 1:
            out.append((p.ssds.first, p.granule * GRANULE, GRANULE))
            continue
        for chunk in range(GRANULE // CHUNK):
            at = p.granule * GRANULE + p.part * part + chunk // p.ssds.count * CHUNK
            out.append((p.ssds.first + chunk % p.ssds.count, at, CHUNK))
    return out


def on_ssds(drive: Driver, nsid: int) -> bytes:
    ssds = card_of(drive.sim).ssds
    found = stretches(virtual_drives.where(drive, nsid))
    return b"".join(bytes(ssds.media_read(at, size, port=ssd)) for ssd, at, size in found)


def read(drive: Driver, nsid: int, slba: int, blocks: int) -> bytes:
    buffer = drive.buffer(blocks * 512)
    try:
        drive.run(drive.submit(1, NvmOpc.READ, slba, blocks - 1, buffer, nsid=nsid))
        return buffer.read()
    finally:
        buffer.free()


def write(drive: Driver, nsid: int, slba: int, data: bytes) -> None:
    buffer = drive.buffer(len(data))
    try:
        buffer.write(data)
        drive.run(drive.submit(1, NvmOpc.WRITE, slba, len(data) // 512 - 1, buffer, nsid=nsid))
    finally:
        buffer.free()


def attached(drive: Driver, nsid: int) -> int:
    namespaces.attach(drive, nsid)
    return nsid


def fill(drive: Driver, nsid: int, seed: int, granules: int) -> dict[int, bytes]:
    """Some of its blocks, at both ends and in between: by byte of the drive."""
    rng = random.Random(seed)
    ends = [0, granules * GRANULE - 4096]
    at = sorted({*ends, *(rng.randrange(granules * GRANULE // 4096) * 4096 for _ in range(10))})
    data = {a: rng.randbytes(4096) for a in at}
    for a, d in data.items():
        write(drive, nsid, a // 512, d)
    return data


def check(drive: Driver, nsid: int, data: dict[int, bytes]) -> None:
    drive.flush(nsid=nsid)
    raw = on_ssds(drive, nsid)
    for a, d in data.items():
        assert read(drive, nsid, a // 512, 8) == d
        assert raw[a : a + 4096] == d, "it is not where the drive says"


def disjoint(drive: Driver) -> None:
    """No byte of an SSD is of two virtual drives."""
    taken: set[tuple[int, int]] = set()
    for nsid in namespaces.allocated(drive):
        for ssd, at, size in stretches(virtual_drives.where(drive, nsid)):
            here = {(ssd, c) for c in range(at // CHUNK, (at + size) // CHUNK)}
            assert not taken & here
            taken |= here


def test_what_there_is(empty: Driver) -> None:
    pool = virtual_drives.pool(empty)
    assert (pool.granule, pool.ssds, pool.each) == (GRANULE, 2, EACH)


@pytest.mark.nightly
def test_drives_are_where_they_were_asked_for(empty: Driver) -> None:
    """On one SSD, on the other, striped; each holds zeros at first and its own data later, after power too."""
    card = empty
    one = attached(card, virtual_drives.create(card, 3, Ssds(1)))
    two = attached(card, virtual_drives.create(card, 2, BOTH))
    three = attached(card, virtual_drives.create(card, 4, Ssds(0), block_size=512))
    assert {p.ssds for p in virtual_drives.where(card, one) if p} == {Ssds(1)}
    assert {p.ssds for p in virtual_drives.where(card, two) if p} == {BOTH}
    assert {p.ssds for p in virtual_drives.where(card, three) if p} == {Ssds(0)}
    sizes = {one: 3, two: 2, three: 4}
    disjoint(card)
    for nsid, n in sizes.items():
        assert namespaces.of(card, nsid).nsze == n * GRANULE // 512
        assert read(card, nsid, 0, 64) == bytes(64 * 512)
    data = {nsid: fill(card, nsid, nsid, n) for nsid, n in sizes.items()}
    before = {nsid: virtual_drives.where(card, nsid) for nsid in sizes}
    for nsid in sizes:
        check(card, nsid, data[nsid])
    card_of(card.sim).power_cycle()
    card.start(queues=2, entries=64)
    for nsid in sizes:
        assert virtual_drives.where(card, nsid) == before[nsid]
        check(card, nsid, data[nsid])
    # freed: the places are to be had again, and hold zeros
    namespaces.delete(card, two)
    again = attached(card, virtual_drives.create(card, 2, BOTH))
    assert virtual_drives.where(card, again) == before[two]
    assert on_ssds(card, again) == bytes(2 * GRANULE)


@pytest.mark.nightly
def test_a_drive_grows(empty: Driver) -> None:
    """Beside another one that is in its way: it gets other numbers, its data stays, and the new end holds zeros. Its
    host is told. A power cut in between shows the one size or the other."""
    card = empty
    first = attached(card, virtual_drives.create(card, 2, Ssds(0)))
    second = attached(card, virtual_drives.create(card, 2, BOTH))
    data = {n: fill(card, n, 10 + n, 2) for n in (first, second)}
    card.admin_try(AdminOpc.SET_FEATURES, cdw10=Feature.ASYNC_EVENT, cdw11=1 << 8).check()
    was = virtual_drives.where(card, first)
    namespaces.changed(card)
    virtual_drives.grow(card, first, 3, Ssds(1))
    assert namespaces.changed(card) == [first]
    now = virtual_drives.where(card, first)
    assert now[:2] == was and [p.ssds for p in now[2:] if p] == [Ssds(1)] * 3
    assert namespaces.of(card, first).nsze == 5 * GRANULE // 512
    disjoint(card)
    for n in (first, second):
        check(card, n, data[n])
    assert read(card, first, 2 * GRANULE // 512, 64) == bytes(64 * 512)
    data[first] |= {4 * GRANULE: random.Random(1).randbytes(4096)}
    write(card, first, 4 * GRANULE // 512, data[first][4 * GRANULE])
    card_of(card.sim).power_cycle()
    card.start(queues=2, entries=64)
    for n in (first, second):
        check(card, n, data[n])
    last = 5 * GRANULE // 512
    buffer = card.buffer(4096)
    beyond = card.submit(1, NvmOpc.READ, last - 7, 7, buffer, nsid=first)
    card.ring()
    card.wait([beyond])
    assert beyond.status == Status.LBA_RANGE


@pytest.mark.nightly
def test_a_drive_moves(empty: Driver) -> None:
    """The host makes a drive of the same size elsewhere, copies, has the two exchanged, and deletes the other."""
    card = empty
    old = attached(card, virtual_drives.create(card, 2, Ssds(0)))
    data = fill(card, old, 20, 2)
    new = attached(card, virtual_drives.create(card, 2, BOTH))
    for at in range(0, 2 * GRANULE, CHUNK):
        write(card, new, at // 512, read(card, old, at // 512, CHUNK // 512))
    virtual_drives.exchange(card, old, new)
    assert {p.ssds for p in virtual_drives.where(card, old) if p} == {BOTH}
    assert {p.ssds for p in virtual_drives.where(card, new) if p} == {Ssds(0)}
    check(card, old, data)
    namespaces.delete(card, new)
    check(card, old, data)
    card_of(card.sim).power_cycle()
    card.start(queues=2, entries=64)
    check(card, old, data)


def test_commands_under_way_end_first(empty: Driver) -> None:
    """... of the namespace that changes: those that come later are refused until it is over, and none is lost or in the
    wrong place; its neighbour goes on."""
    card = empty
    one = attached(card, virtual_drives.create(card, 1, Ssds(0)))
    two = attached(card, virtual_drives.create(card, 1, Ssds(1)))
    by = attached(card, virtual_drives.create(card, 1, BOTH))
    pattern = {n: random.Random(n).randbytes(4096) for n in (one, two, by)}
    for n, d in pattern.items():
        for at in range(0, 64, 8):
            write(card, n, at, d)
    buffers = [(n, card.buffer(4096)) for _ in range(30) for n in (one, two, by)]
    commands = [card.submit(1 + i % 2, NvmOpc.READ, i % 8 * 8, 7, b, nsid=n) for i, (n, b) in enumerate(buffers)]
    card.ring()
    virtual_drives.exchange(card, one, two)
    card.wait(commands)
    for (n, b), c in zip(buffers, commands, strict=True):
        if n == by:
            assert c.status == Status.SUCCESS and b.read() == pattern[by]
        elif c.status == Status.SUCCESS:
            assert b.read() == pattern[n], "taken before the exchange"
        else:
            assert c.status == Status.NS_NOT_READY
    assert read(card, one, 0, 8) == pattern[two] and read(card, two, 0, 8) == pattern[one]


@pytest.mark.nightly
def test_what_is_written_after_an_exchange_outlasts_power(empty: Driver) -> None:
    """A host writes as soon as it may, and power goes at once: what has been acknowledged and flushed is there."""
    card = empty
    one = attached(card, virtual_drives.create(card, 1, Ssds(0)))
    two = attached(card, virtual_drives.create(card, 1, Ssds(1)))
    before, after = random.Random(1).randbytes(4096), random.Random(2).randbytes(4096)
    write(card, one, 0, before)
    write(card, one, 8, before)
    buffer = card.buffer(4096)
    buffer.write(after)
    exchange = card.submit(
        0, VendorOpc.VIRTUAL_DRIVE, buffer=None, nsid=one, ring=True, cdw10=VirtualDrive.EXCHANGE, cdw11=0, cdw12=two
    )
    refused = False
    while True:
        c = card.submit(1, NvmOpc.WRITE, 0, 7, buffer, nsid=one)
        card.ring()
        card.wait([c])
        refused |= c.status == Status.NS_NOT_READY
        if refused and c.status == Status.SUCCESS:
            break
        assert not exchange.done or refused, "it was never closed"
    card.flush(nsid=one)
    card_of(card.sim).power_cycle()
    card.start(queues=2, entries=64)
    assert read(card, one, 0, 8) == after and read(card, one, 8, 8) == bytes(4096), "another namespace's places"


@pytest.mark.nightly
def test_plain_namespaces_beside_virtual_drives(empty: Driver) -> None:
    """create-ns gets default places, and others where those are taken; both are told apart by nobody."""
    card = empty
    virtual = attached(card, virtual_drives.create(card, 2, Ssds(1)))
    assert [p.granule for p in virtual_drives.where(card, virtual) if p] == [0, 1]
    plain = attached(card, namespaces.create(card, (2 * EACH - 2) * GRANULE // 512))
    disjoint(card)
    places = virtual_drives.where(card, plain)
    assert len(places) == 2 * EACH - 2 and None not in places
    # the medium is used up: nothing more can be made, of either kind, and nothing changes
    assert virtual_drives.create_try(card, 1).status == Status.NS_INSUFFICIENT_CAP
    assert virtual_drives.grow_try(card, virtual, 1).status == Status.NS_INSUFFICIENT_CAP
    assert namespaces.create_try(card, 8).status == Status.NS_INSUFFICIENT_CAP
    assert virtual_drives.where(card, plain) == places
    data = {n: fill(card, n, n, 2) for n in (virtual, plain)}
    for n, d in data.items():
        for at, block in d.items():
            assert read(card, n, at // 512, 8) == block
    namespaces.delete(card, plain)
    check(card, virtual, data[virtual])


def test_what_is_refused(empty: Driver) -> None:
    card = empty
    field, capacity = Status.INVALID_FIELD, Status.NS_INSUFFICIENT_CAP
    nsid = virtual_drives.create(card, 2, Ssds(0))
    other = virtual_drives.create(card, 3, Ssds(0))
    small = virtual_drives.create(card, 2, Ssds(0), block_size=4096)
    kept = [virtual_drives.where(card, n) for n in (nsid, other, small)]

    def raw(what: int, n: int = 0, cdw10: int = 0, cdw11: int = 0, cdw12: int = 0) -> int:
        return card.admin_try(VendorOpc.VIRTUAL_DRIVE, nsid=n, cdw10=what | cdw10, cdw11=cdw11, cdw12=cdw12).status

    create, grow, exchange = VirtualDrive.CREATE, VirtualDrive.GROW, VirtualDrive.EXCHANGE
    assert raw(4) == field
    assert raw(create) == field, "of nothing"
    assert raw(create, nsid, cdw12=1) == field, "the controller chooses the NSID"
    assert raw(create, cdw10=2 << 8, cdw12=1) == field, "there is no third SSD"
    assert raw(create, cdw10=1 << 8 | 1 << 12, cdw12=1) == field, "a stripe from the second on"
    assert raw(create, cdw10=2 << 12, cdw12=1) == field, "over four"
    assert raw(create, cdw11=4, cdw12=1) == field
    assert raw(create, cdw12=EACH - 6) == capacity, "of the first SSD"
    assert raw(create, cdw12=0xFFFFFFFF) == capacity
    assert raw(grow, 0, cdw12=1) == Status.INVALID_NS
    assert raw(grow, 4, cdw12=1) == field, "no such namespace"
    assert raw(grow, nsid) == field
    assert raw(grow, nsid, cdw12=EACH) == capacity
    assert raw(exchange, nsid, cdw12=nsid) == field
    assert raw(exchange, nsid, cdw12=other) == field, "another size"
    assert raw(exchange, nsid, cdw12=small) == field, "other blocks"
    assert raw(exchange, nsid, cdw12=99) == Status.INVALID_NS
    assert virtual_drives.where_try(card, nsid, 2).status == field
    assert [virtual_drives.where(card, n) for n in (nsid, other, small)] == kept
    # a namespace that has no whole granules
    plain = namespaces.create(card, 100)
    assert raw(grow, plain, cdw12=1) == field
    assert raw(create, cdw12=1) == Status.NSID_UNAVAILABLE


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_random_changes(empty: Driver, seed: int) -> None:
    """Against a list of what each drive holds: create, grow, move, delete, power, in any order."""
    card, rng = empty, random.Random(seed)
    held: dict[int, tuple[int, dict[int, bytes]]] = {}  # granules, data
    for turn in range(40):
        what = rng.choice(["create", "create", "grow", "exchange", "delete", "power"])
        nsid = rng.choice([*held, 0])
        ssds = rng.choice([None, Ssds(0), Ssds(1), BOTH])
        if what == "create" and len(held) < 4:
            n = rng.randrange(1, 8)
            c = virtual_drives.create_try(card, n, ssds)
            if c.status == 0:
                attached(card, c.dw0)
                assert read(card, c.dw0, 0, 8) == bytes(4096), "another one's data"
                held[c.dw0] = n, fill(card, c.dw0, 100 * seed + turn, n)
        elif what == "grow" and nsid:
            n = rng.randrange(1, 6)
            if virtual_drives.grow_try(card, nsid, n, ssds).status == 0:
                was, data = held[nsid]
                more = {was * GRANULE: rng.randbytes(4096)}
                assert read(card, nsid, was * GRANULE // 512, 8) == bytes(4096)
                write(card, nsid, was * GRANULE // 512, more[was * GRANULE])
                held[nsid] = was + n, data | more
        elif what == "exchange" and nsid:
            for b in held:
                if b != nsid and held[b][0] == held[nsid][0]:
                    virtual_drives.exchange(card, nsid, b)
                    held[nsid], held[b] = held[b], held[nsid]
                    break
        elif what == "delete" and nsid:
            namespaces.delete(card, nsid)
            del held[nsid]
        elif what == "power":
            card_of(card.sim).power_cycle()
            card.start(queues=2, entries=64)
        disjoint(card)
        assert sorted(held) == namespaces.allocated(card)
        for n, (_, data) in held.items():
            check(card, n, data)
