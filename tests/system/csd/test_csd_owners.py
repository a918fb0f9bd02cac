# SPDX-License-Identifier: Apache-2.0
"""db_csd with a PF and VFs: who may name which key slot and bind which namespace. What is refused changes nothing."""

from __future__ import annotations

import struct

import pytest
from csd_drive import get, put
from csd_functions import (
    RNG,
    SHARE,
    SIZE,
    SLOTS,
    Keys,
    Work,
    at_once,
    attach,
    detach,
    locked,
    on_media,
    unharmed,
)
from doorbell.compute import drive as compute
from doorbell.compute.operators import Op
from doorbell.nvme import namespaces
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import NSID_ALL, AdminOpc, LogPage, NvmOpc, Status
from doorbell.nvme.vendor import CsdConfig, VendorFeature, VendorOpc

pytestmark = pytest.mark.rtl


def test_what_a_vf_is_told(csd_works: list[Work]) -> None:
    """Its slots and its namespaces; the PF is told of all."""
    pf, one, two = (w.drive for w in csd_works)
    whole = compute.state(pf)
    assert whole.slots == SLOTS and whole.xts == {1, SLOTS - 2 * SHARE, SLOTS - SHARE}
    assert {n: whole.bound[n][:2] for n in (1, 2, 3)} == {
        1: (Op.AES_XTS, 1),
        2: (Op.AES_XTS, SLOTS - 2 * SHARE),
        3: (Op.AES_XTS, SLOTS - SHARE),
    }
    for vf, nsid in ((one, 2), (two, 3)):
        mine = compute.state(vf)
        assert mine.slots == SHARE + 1 and mine.xts == {1} and not mine.ctr and mine.ops == whole.ops
        assert mine.bound.pop(nsid) == (Op.AES_XTS, 1, True)
        assert set(mine.bound.values()) == {(Op.PASS, 0, False)}
    compute.bind(pf, 4, Op.AES_XTS, 1)
    assert compute.state(one).bound[4] == (Op.AES_XTS, 0, True), "a key, and none of its slots"
    # The features are the PF's.
    pf.set_features(VendorFeature.CSD_CONFIG, CsdConfig.AES256)
    assert compute.state(one).config == 0 and compute.state(pf).config == CsdConfig.AES256
    offered = struct.unpack("<256I", one.get_log(LogPage.FID_EFFECTS, 1024))
    assert not any(offered[VendorFeature.CSD_CONFIG : VendorFeature.CSD_WORD_LAST + 1])
    effects = struct.unpack("<256I", one.get_log(LogPage.CMD_EFFECTS, 1024))
    of_pf = {VendorOpc.VIRTUAL_DRIVE, VendorOpc.SSD, VendorOpc.SLOTS}
    assert {opc for opc in VendorOpc if effects[opc] & 1} == {*VendorOpc} - of_pf
    assert not any(effects[opc] for opc in (AdminOpc.NS_MGMT, AdminOpc.NS_ATTACH, AdminOpc.VIRTUAL_MGMT))


def test_what_a_vf_may_not_do(csd_works: list[Work]) -> None:
    """It names slots and namespaces that are not its own, with every command there is: each is refused, and nothing
    changes for anybody."""
    works = csd_works
    pf, vf = works[0].drive, works[1].drive
    at_once(works, 2)
    compute.bind(pf, 4, Op.AES_XTS, 1)
    pf.set_features(VendorFeature.CSD_CONFIG, CsdConfig.ADD)
    pf.set_features(VendorFeature.CSD_WORD_FIRST, 77)
    before, media = compute.state(pf), pf.sim.media_read(0, 4 * SIZE)

    def nothing_has_changed() -> None:
        assert compute.state(pf) == before
        assert pf.sim.media_read(0, 4 * SIZE) == media

    k1, k2 = RNG.randbytes(32), RNG.randbytes(32)
    for slot in (0, SHARE + 1, SLOTS - SHARE, SLOTS - 1, SLOTS, 63, 255):
        expect(compute.load_key_try(vf, slot, k1, k2), Status.INVALID_FIELD)
        if slot != compute.ALL_SLOTS:
            expect(vf.admin_try(VendorOpc.KEY_ERASE, cdw10=slot), Status.INVALID_FIELD)
        if 0 < slot < 64:
            expect(vf.admin_try(VendorOpc.BIND, nsid=2, cdw10=Op.PASS | slot << 8), Status.INVALID_FIELD)
        for op in (Op.AES_XTS, Op.AES_CTR):
            expect(vf.admin_try(VendorOpc.BIND, nsid=2, cdw10=op | (slot & 63) << 8), Status.INVALID_FIELD)
    nothing_has_changed()
    for value in (Op.PASS, Op.AES_XTS | 1 << 8, compute.FOLLOW):
        for nsid, status in (
            (1, Status.INVALID_FIELD),  # the PF's
            (3, Status.INVALID_FIELD),  # of the other VF
            (5, Status.INVALID_FIELD),  # there is none: the same
            (4, Status.OPERATION_DENIED),  # shared
            (NSID_ALL, Status.OPERATION_DENIED),  # with that one
            (0, Status.INVALID_NS),
            (7, Status.INVALID_NS),
        ):
            expect(vf.admin_try(VendorOpc.BIND, nsid=nsid, cdw10=value), status)
    # What is slower than the link holds up all: the PF alone decides.
    for nsid in (2, NSID_ALL):
        expect(vf.admin_try(VendorOpc.BIND, nsid=nsid, cdw10=Op.SHA256), Status.OPERATION_DENIED)
    nothing_has_changed()
    for feature in range(VendorFeature.CSD_CONFIG, VendorFeature.CSD_WORD_LAST + 1):
        expect(vf.admin_try(AdminOpc.SET_FEATURES, cdw10=feature, cdw11=8), Status.INVALID_FIELD)
        expect(vf.admin_try(AdminOpc.GET_FEATURES, cdw10=feature), Status.INVALID_FIELD)
    for nsid, status in ((1, Status.INVALID_FIELD), (3, Status.INVALID_FIELD), (4, Status.OPERATION_DENIED)):
        for ses in (0, 1, 2):
            expect(vf.admin_try(AdminOpc.FORMAT_NVM, nsid=nsid, cdw10=ses << 9), status)
    assert pf.get_features(VendorFeature.CSD_WORD_FIRST) == 77
    nothing_has_changed()
    unharmed(*works)
    at_once(works, 2)
    # All of its slots are its own alone.
    compute.erase_key(vf)
    assert compute.state(pf).xts == before.xts - {SLOTS - 2 * SHARE}
    locked(vf, 2)
    unharmed(works[0], works[2])
    # With no shared namespace all of its namespaces are its own alone.
    detach(pf, 4, 1)
    compute.bind(vf, NSID_ALL, Op.ADD, param=compute.addend(5))
    assert compute.state(pf).bound == {**before.bound, 2: (Op.ADD, 0, True)}


def test_a_key_of_the_pf(csd_works: list[Work]) -> None:
    """A VF's namespace that the PF has bound to a slot of its own: the VF uses it, cannot erase it, and may bind its
    namespace to something else."""
    works = csd_works
    pf, vf = works[0].drive, works[1].drive
    at_once(works, 1)
    compute.bind(pf, 2, Op.AES_XTS, 1)
    data = RNG.randbytes(2048)
    put(vf, 0, data, nsid=2)
    assert on_media(pf, 2, 0, 2048) == works[0].keys.encrypt(2, 0, data)
    for ses in (1, 2):
        expect(vf.admin_try(AdminOpc.FORMAT_NVM, nsid=2, cdw10=ses << 9), Status.OPERATION_DENIED)
    compute.erase_key(vf)
    assert get(vf, 0, 4, nsid=2) == data
    vf.format(0, nsid=2)
    assert get(vf, 0, 4, nsid=2) == bytes(2048)
    unharmed(works[0], works[2])
    works[1].keys.load(vf, SHARE)
    compute.bind(vf, 2, Op.AES_XTS, SHARE)
    put(vf, 0, data, nsid=2)
    assert on_media(pf, 2, 0, 2048) == works[1].keys.encrypt(2, 0, data)
    vf.format(0, nsid=2, ses=2)  # with the key of its own it may
    locked(vf, 2)
    unharmed(works[0], works[2])


def test_a_namespace_moves(csd_works: list[Work]) -> None:
    """From a VF to another: it is locked there, whatever key its old owner has, until its new owner brings one. Back,
    too: what it had is not guessed at."""
    works = csd_works
    pf, one, two = (w.drive for w in works)
    at_once(works, 1)
    detach(pf, 2, 1)
    attach(pf, 2, 1)
    unharmed(works[1])  # the same owner
    detach(pf, 2, 1)
    attach(pf, 2, 2)
    locked(two, 2)
    assert compute.state(two).bound[2] == (Op.AES_XTS, 0, True)
    works[1].keys.load(two, 2)
    compute.bind(two, 2, Op.AES_XTS, 2)
    for work in (Work(two, 2, works[1].keys, works[1].model), works[2]):
        unharmed(work)
    one.disable()  # and its keys go
    unharmed(Work(two, 2, works[1].keys, works[1].model), works[2])
    detach(pf, 2, 2)
    attach(pf, 2, 0)
    locked(pf, 2)


@pytest.mark.nightly
def test_slots_that_the_pf_may_bind(csd_works: list[Work]) -> None:
    """Those of a VF to private namespaces that are the VF's, or nobody's yet: so a namespace is bound before its owner
    has it, and is never plain."""
    works = csd_works
    pf, one = works[0].drive, works[1].drive
    first = SLOTS - 2 * SHARE  # of the first VF
    for nsid in (1, 3, 4, NSID_ALL):
        for op in (Op.AES_XTS, Op.AES_CTR):
            expect(pf.admin_try(VendorOpc.BIND, nsid=nsid, cdw10=op | first << 8), Status.INVALID_FIELD)
    assert namespaces.create(pf, SIZE // 512) == 5
    compute.bind(pf, 5, Op.AES_XTS, first + 1)
    attach(pf, 5, 1)
    locked(one, 5)
    assert compute.state(one).bound[5] == (Op.AES_XTS, 2, True)
    keys = Keys(Op.AES_XTS)
    keys.load(one, 2)
    data = RNG.randbytes(2048)
    put(one, 3, data, nsid=5)
    assert on_media(pf, 5, 3, 2048) == keys.encrypt(5, 3, data)
    # The PF may load a key for it, and erase it.
    keys = Keys(Op.AES_XTS)
    keys.load(pf, first + 1)
    put(one, 3, data, nsid=5)
    assert on_media(pf, 5, 3, 2048) == keys.encrypt(5, 3, data)
    compute.erase_key(pf, first + 1)
    locked(one, 5)
    # A namespace that goes leaves nothing.
    keys.load(one, 2)
    namespaces.delete(pf, 5)
    assert 2 not in compute.state(one).xts and compute.state(pf).bound[5] == (Op.PASS, 0, False)


def test_a_key_changes_under_the_io_of_a_vf(csd_works: list[Work]) -> None:
    """The PF loads another key into a slot that serves a VF: commands of the VF end with the old one, or are told that
    the namespace is not ready. None is cut in two."""
    pf, vf, _ = (w.drive for w in csd_works)
    old = new = Keys(Op.AES_XTS)
    new.load(pf, 1)
    compute.bind(pf, 2, Op.AES_XTS, 1)
    done = 0
    for _ in range(6):
        old, new = new, Keys(Op.AES_XTS)
        sent = []
        for i in range(32):
            data = RNG.randbytes(16384)
            buffer = vf.buffer(len(data))
            buffer.write(data)
            sent.append((vf.submit(1 + i % 2, NvmOpc.WRITE, 32 * i, 31, buffer, nsid=2), data, buffer))
        vf.ring()
        new.load(pf, 1)
        vf.wait([c for c, _, _ in sent])
        for command, data, buffer in sent:
            buffer.free()
            if command.status == Status.NS_NOT_READY:
                continue
            command.check()
            done += 1
            media = on_media(pf, 2, command.slba, len(data))
            assert media in (old.encrypt(2, command.slba, data), new.encrypt(2, command.slba, data))
    assert done
