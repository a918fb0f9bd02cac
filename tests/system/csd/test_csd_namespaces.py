# SPDX-License-Identifier: Apache-2.0
"""Namespaces of db_csd that come and go: what becomes of their keys, bindings and results."""

from __future__ import annotations

import random

import pytest
from csd_drive import NUM_NS, csd, ctr, get, io, put, xts
from doorbell.compute import drive as compute
from doorbell.compute.operators import Op
from doorbell.nvme import namespaces
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import AdminOpc, Feature, NsMgmt, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import CsdConfig, VendorOpc
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
RNG = random.Random(9)
K1, K2, K3, K4, IV = (RNG.randbytes(n) for n in (32, 32, 32, 32, 16))
MEDIA = 10 << 20  # little, as deletions zero it; no whole number of pages for each
SHARE = MEDIA // 4096 // NUM_NS * 4096
DEFAULT = (Op.PASS, 0, False)


def keyed_drive(make_drive: MakeDrive) -> Driver:
    """XTS in namespaces 1 and 2 with the key of slot 1, in 3 with that of slot 2."""
    drive = csd(make_drive, media_size=MEDIA)
    compute.load_key(drive, 1, K1, K2)
    compute.load_key(drive, 2, K3, K4)
    for nsid, slot in ((1, 1), (2, 1), (3, 2)):
        compute.bind(drive, nsid, Op.AES_XTS, slot)
    return drive


def locked(drive: Driver, nsid: int) -> None:
    for opcode in (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE):
        expect(io(drive, opcode, 0, 4, nsid=nsid)[0], Status.ACCESS_DENIED)


def test_key_goes_with_its_namespace(make_drive: MakeDrive) -> None:
    """The key is erased, also for the other namespace that it was the key of: that one is locked until the key is there
    again. A new namespace of the number does what feature C0h says, and reads as zeros."""
    drive = keyed_drive(make_drive)
    data = RNG.randbytes(2048)
    for nsid in (1, 2, 3):
        put(drive, 0, data, nsid=nsid)
    assert drive.sim.media_read(0, 2048) == drive.sim.media_read(SHARE, 2048) == xts(K1, K2, 0, data)
    namespaces.delete(drive, 1)
    state = compute.state(drive)
    assert state.xts == {2} and state.bound[1] == DEFAULT and state.bound[2] == (Op.AES_XTS, 1, True)
    assert not any(drive.sim.media_read(0, 1 << 20))
    locked(drive, 2)
    assert get(drive, 0, 4, nsid=3) == data
    expect(io(drive, NvmOpc.READ, 0, 4, nsid=1)[0], Status.INVALID_FIELD)
    expect(drive.admin_try(VendorOpc.BIND, nsid=1, cdw10=3), Status.INVALID_FIELD)

    assert namespaces.create(drive, SHARE // 512) == 1
    namespaces.attach(drive, 1)
    assert get(drive, 0, 4) == bytes(2048)
    put(drive, 0, data)
    assert drive.sim.media_read(0, 2048) == data, "plain"
    locked(drive, 2)
    compute.load_key(drive, 1, K1, K2)
    assert get(drive, 0, 4, nsid=2) == data and compute.state(drive).bound[1] == DEFAULT
    assert get(drive, 0, 4) == data

    namespaces.delete(drive)
    state = compute.state(drive)
    assert not state.xts | state.ctr and set(state.bound.values()) == {DEFAULT}
    assert not any(drive.sim.media_read(0, 3 * SHARE))


def test_detached(make_drive: MakeDrive) -> None:
    """Detaching keeps key and binding; what exists can be bound before it is attached, so nothing is written plain."""
    drive = keyed_drive(make_drive)
    data = RNG.randbytes(2048)
    put(drive, 0, data, nsid=3)
    namespaces.detach(drive, 3)
    assert compute.state(drive).bound[3] == (Op.AES_XTS, 2, True)
    namespaces.attach(drive, 3)
    assert get(drive, 0, 4, nsid=3) == data
    namespaces.delete(drive, 4)
    assert compute.state(drive).xts == {1, 2}, "it had none"
    assert namespaces.create(drive, 64) == 4
    compute.bind(drive, 4, Op.AES_XTS, 2)
    namespaces.attach(drive, 4)
    put(drive, 0, data, nsid=4)
    assert drive.sim.media_read(3 * SHARE, 2048) == xts(K3, K4, 0, data)
    # all: those that exist
    namespaces.delete(drive, 6)
    compute.bind(drive, 0xFFFFFFFF, Op.AES_XTS, 1)
    bound = compute.state(drive).bound
    assert bound.pop(6) == DEFAULT and set(bound.values()) == {(Op.AES_XTS, 1, True)}


@pytest.mark.nightly
def test_power_cycle(make_drive: MakeDrive) -> None:
    """What namespaces do comes back with its parameters, keys do not: what needs one is locked, never plain. Also what
    feature C0h says, and a namespace of one's own."""
    drive = keyed_drive(make_drive)
    namespaces.delete(drive, 6)
    assert namespaces.create(drive, 100) == 6
    namespaces.attach(drive, 6)
    compute.bind(drive, 4, Op.ADD, param=compute.addend(7))
    for feature, value in compute.features(CsdConfig.AES256, K1, IV):
        drive.set_features(feature, value)
    data = RNG.randbytes(2048)
    for nsid in range(1, 7):
        put(drive, 0, data, nsid=nsid)
    before = compute.state(drive).bound
    media = drive.sim.media_read(0, MEDIA)
    for _ in range(2):
        drive.sim.reset()
        drive.start(queues=2, entries=64)
        state = compute.state(drive)
        assert state.bound == before and not state.ctr | state.xts and state.config == CsdConfig.AES256
        for nsid in (1, 2, 3, 5, 6):
            locked(drive, nsid)
        assert get(drive, 0, 4, nsid=4) == data
    assert drive.sim.media_read(0, MEDIA) == media
    compute.load_key(drive, 1, K1, K2)
    for feature, value in compute.features(CsdConfig.AES256, K1, IV)[1:]:
        drive.set_features(feature, value)
    for nsid in (1, 2, 4, 5, 6):
        assert get(drive, 0, 4, nsid=nsid) == data, nsid
    locked(drive, 3)


def test_feature_c0h(make_drive: MakeDrive) -> None:
    """A new namespace follows it at once. Its key, too, goes with a namespace that uses it; locked, not plain."""
    drive = keyed_drive(make_drive)
    for feature, value in compute.features(CsdConfig.AES256, K1, IV):
        drive.set_features(feature, value)
    data = RNG.randbytes(2048)
    put(drive, 0, data, nsid=4)
    on_media = drive.sim.media_read(3 * SHARE, 2048)
    namespaces.delete(drive, 1)
    assert compute.state(drive).ctr == {0}
    assert namespaces.create(drive, SHARE // 512) == 1
    namespaces.attach(drive, 1)
    put(drive, 0, data)
    assert drive.sim.media_read(0, 2048) == ctr(K1, IV, 0, data)
    assert on_media == ctr(K1, IV, 0, data, nsid=4), "one key, and a key stream for each namespace"
    namespaces.delete(drive, 1)
    assert not compute.state(drive).ctr
    locked(drive, 4)


def test_media_that_fails(make_drive: MakeDrive) -> None:
    """A deletion that cannot zero the media: the key is gone, the namespace is not, and it is locked."""
    drive = keyed_drive(make_drive)
    data = RNG.randbytes(2048)
    put(drive, 0, data)
    drive.sim.media_error(SHARE - 4096, 512)
    expect(namespaces.delete_try(drive, 1), Status.WRITE_FAULT)
    assert 1 in namespaces.active(drive) and compute.state(drive).bound[1] == (Op.AES_XTS, 1, True)
    locked(drive, 1)
    namespaces.delete(drive, 1)
    assert 1 not in namespaces.allocated(drive) and not any(drive.sim.media_read(0, 1 << 20))


@pytest.mark.nightly
def test_results_go_too(make_drive: MakeDrive) -> None:
    """What reducers have found in a deleted namespace is in no log page; the results of others are."""
    drive = keyed_drive(make_drive)
    for nsid in (4, 5):
        compute.bind(drive, nsid, Op.CRC32C)
    for i in range(40):
        put(drive, i, RNG.randbytes(512), nsid=4 + i % 3 % 2)
    before = compute.results(drive)
    assert len(before) == 32 and {r.nsid for r in before} == {4, 5}
    put(drive, 40, RNG.randbytes(512), nsid=5)  # still in the hardware
    namespaces.delete(drive, 5)
    assert compute.results(drive) == [r for r in before[:31] if r.nsid == 4]
    put(drive, 41, bytes(512), nsid=4)
    assert [r.lba for r in compute.results(drive)][:2] == [41, 39]


@pytest.mark.nightly
def test_results_to_come_go_too(make_drive: MakeDrive) -> None:
    """A digest takes longer than a small namespace's deletion: it is not the next owner's either."""
    drive = keyed_drive(make_drive)
    namespaces.delete(drive, 5)
    for _ in range(3):
        assert namespaces.create(drive, 8) == 5
        namespaces.attach(drive, 5)
        compute.bind(drive, 5, Op.SHA256)
        put(drive, 0, RNG.randbytes(4096), nsid=5)
        namespaces.delete(drive, 5)
        drive.advance(20_000)
        assert compute.results(drive) == []


@pytest.mark.nightly
def test_pages_nobody_had(make_drive: MakeDrive) -> None:
    """The rest of the division into equal parts may hold anything at power-on: zeros once it is given out."""
    drive = keyed_drive(make_drive)
    rest = MEDIA - NUM_NS * SHARE
    assert rest and namespaces.capacity(drive) == (MEDIA, rest)
    old = RNG.randbytes(rest)
    drive.sim.media_write(NUM_NS * SHARE, old)
    last = NUM_NS
    namespaces.delete(drive, last - 1)
    assert namespaces.create(drive, SHARE // 4096, 4096) == last - 1  # its old place
    namespaces.delete(drive, last)
    assert namespaces.create(drive, SHARE // 4096 + 1, 4096) == last
    assert drive.sim.media_read(NUM_NS * SHARE, rest) == bytes(4096) + old[4096:]
    namespaces.attach(drive, last)
    drive.block_size = 4096
    assert get(drive, SHARE // 4096, 1, nsid=last) == bytes(4096)
    namespaces.delete(drive, last - 1)
    namespaces.delete(drive, last)
    assert namespaces.create(drive, (2 * SHARE + rest) // 4096, 4096) == last - 1
    assert not any(drive.sim.media_read((last - 2) * SHARE, 2 * SHARE + rest))


def test_a_buffer_that_changes_under_a_creation(make_drive: MakeDrive) -> None:
    """Blocks that nobody has had, the last ones of the media here, are zeroed first, then the buffer is read once more:
    what it says then holds, and others' changes go on whatever that is."""
    drive = csd(make_drive, media_size=1 << 20, media_zero_gbps=0.05)
    namespaces.delete(drive, NUM_NS)
    _, free = namespaces.capacity(drive)
    blocks = free // 512
    buffer = drive.buffer(4096)
    buffer.write(blocks.to_bytes(8, "little") * 2 + bytes(4080))
    command = drive.submit(0, AdminOpc.NS_MGMT, nsid=0, cdw10=NsMgmt.CREATE, buffer=buffer, ring=True)
    drive.advance(15_000)
    assert not command.done
    buffer.write(bytes(4096))
    drive.wait([command])
    expect(command, Status.INVALID_FIELD)
    drive.set_features(Feature.ARBITRATION | 1 << 31, 3 << 8)
    assert namespaces.create(drive, blocks) == NUM_NS
    namespaces.attach(drive, NUM_NS)
    assert not any(get(drive, 0, blocks, nsid=NUM_NS))
