# SPDX-License-Identifier: Apache-2.0
"""Virtualization Management, and who may do what, by the words of Base 2.0 (5.17.2.13, 5.17.2.14, 5.28, 8.26)."""

from __future__ import annotations

import struct

import copies
import pytest
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import (
    CC_EN,
    CC_SHN_NORMAL,
    CC_SHN_SHIFT,
    CSTS_CFS,
    CSTS_RDY,
    NSID_ALL,
    NSSR_MAGIC,
    OACS_FORMAT,
    OACS_NS_MGMT,
    OACS_VIRTUAL_MGMT,
    AdminOpc,
    Cns,
    Feature,
    NsAttach,
    NvmOpc,
    Reg,
    Status,
    VirtMgmt,
    VirtResource,
)
from doorbell.nvme.driver import Driver
from doorbell.nvme.errors import ProtocolError
from doorbell.nvme.memory import HostMemory
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
NUM_FN = 3
MEMORY = 16 << 20
VQ, VI = VirtResource.VQ, VirtResource.VI
MULTIPLE, SRIOV = 2, 4  # CMIC
SHARED = 1  # NMIC


@pytest.fixture(scope=copies.scope("module"))
def pf(make_drive_once: MakeDrive) -> Driver:
    drive = make_drive_once(num_fn=NUM_FN, memory=MEMORY, params={"NUM_NS": NUM_FN, "SGL": 1}, media_size=64 << 20)
    drive.start(queues=2, entries=32)
    drive.sim.enable_vfs(NUM_FN - 1)
    return drive


def driver(pf: Driver, fn: int) -> Driver:
    return Driver(pf.sim.function(fn), HostMemory(MEMORY, 0x5_0000_0000), ready_timeout_us=5000)


def vf_up(pf: Driver, fn: int, queues: int = 1, vf: Driver | None = None) -> Driver:
    virtualization.assign(pf, fn, queues=queues, interrupts=queues + 1)
    virtualization.online(pf, fn)
    vf = vf or driver(pf, fn)
    vf.start(queues=queues, entries=32)
    return vf


def gone(vf: Driver) -> None:
    """Its host finds it reset."""
    vf.wait_csts(CSTS_RDY, 0, 5000, "after it went offline")
    vf._forget_queues()
    vf.write32(Reg.CC, 0)


def assign_try(pf: Driver, fn: int, resource: int, count: int, *statuses: int) -> None:
    command = virtualization.manage_try(pf, VirtMgmt.ASSIGN, fn, resource=resource, count=count)
    expect(command, *(statuses or (Status.SUCCESS,)))
    if not statuses:
        assert command.dw0 == count


def test_resources(pf: Driver) -> None:
    caps = virtualization.capabilities(pf)
    assert caps.cntlid == 0 and caps.crt == 3
    assert caps.vq.assigned == caps.vi.assigned == 0 and caps.vq.granularity == caps.vi.granularity == 1
    assert caps.vq.private >= 2 and caps.vi.private >= 2, "the PF has an admin queue and one for I/O"
    assert [(s.scid, s.pcid, s.scs, s.vfn, s.nvq, s.nvi) for s in virtualization.secondaries(pf)] == [
        (1, 0, 0, 1, 0, 0),
        (2, 0, 0, 2, 0, 0),
    ]
    assert [s.scid for s in virtualization.secondaries(pf, first=2)] == [2]

    # What is more than one may have, or than is left, is refused and changes nothing.
    most = caps.vq.secondary_max
    assign_try(pf, 1, VQ, most + 1, Status.INVALID_NUM_RESOURCES)
    assign_try(pf, 1, VI, caps.vi.secondary_max + 1, Status.INVALID_NUM_RESOURCES)
    assign_try(pf, 1, VQ, most)
    left = caps.vq.total - most
    assign_try(pf, 2, VQ, left + 1, Status.INVALID_NUM_RESOURCES)
    assign_try(pf, 2, VQ, left)
    assert virtualization.capabilities(pf).vq.assigned == caps.vq.total
    assign_try(pf, 1, VQ, 0)
    assert [s.nvq for s in virtualization.secondaries(pf)] == [0, left]


def test_what_cannot_be_asked_for(pf: Driver) -> None:
    def ends(status: int, action: int, cntlid: int, **more: int) -> None:
        expect(virtualization.manage_try(pf, action, cntlid, **more), status)

    for action in {*range(16)} - {1, 7, 8, 9}:
        ends(Status.INVALID_FIELD, action, 1)
    for cntlid in (0, NUM_FN, 0xFFFF):
        for action in (VirtMgmt.ASSIGN, VirtMgmt.ONLINE, VirtMgmt.OFFLINE):
            ends(Status.INVALID_CTRL_ID, action, cntlid)
    ends(Status.INVALID_CTRL_ID, VirtMgmt.PRIMARY_ALLOCATE, 1, count=1)
    for resource in range(2, 8):
        ends(Status.INVALID_RESOURCE_ID, VirtMgmt.ASSIGN, 1, resource=resource, count=1)
    # Online needs an admin queue, one for I/O, and an interrupt.
    ends(Status.INVALID_SECONDARY_STATE, VirtMgmt.ONLINE, 1)
    assign_try(pf, 1, VQ, 1)
    assign_try(pf, 1, VI, 1)
    ends(Status.INVALID_SECONDARY_STATE, VirtMgmt.ONLINE, 1)
    assign_try(pf, 1, VQ, 2)
    assign_try(pf, 1, VI, 0)
    ends(Status.INVALID_SECONDARY_STATE, VirtMgmt.ONLINE, 1)
    assign_try(pf, 1, VI, 1)
    ends(Status.SUCCESS, VirtMgmt.ONLINE, 1)
    assert [s.scs for s in virtualization.secondaries(pf)] == [1, 0]
    assign_try(pf, 1, VQ, 3, Status.INVALID_SECONDARY_STATE)


def test_an_offline_controller_cannot_be_enabled(pf: Driver) -> None:
    vf = driver(pf, 1)
    with pytest.raises(ProtocolError, match="fatal"):
        vf.start(queues=1, entries=32)
    assert vf.read32(Reg.CSTS) & (CSTS_RDY | CSTS_CFS) == CSTS_CFS
    vf.write32(Reg.CC, 0)
    vf_up(pf, 1, queues=2, vf=vf)
    assert vf.controller is not None and vf.controller.cntlid == 1


def test_an_offline_controller_shows_fatal_status(pf: Driver) -> None:
    """Whether its host enables it or not, and whatever took it offline (Base 2.0, 8.26.3)."""

    def shows(vf: Driver, value: int) -> bool:
        vf.wait_csts(CSTS_CFS | CSTS_RDY, value, 5000, "CSTS.CFS goes by the state")
        return True

    vf, other = driver(pf, 1), driver(pf, 2)
    assert vf.read32(Reg.CSTS) == CSTS_CFS
    for queues in (2, 1):
        virtualization.assign(pf, 1, queues=queues, interrupts=queues + 1)
        assert shows(vf, CSTS_CFS)
        virtualization.online(pf, 1)
        assert vf.read32(Reg.CSTS) == 0
        virtualization.online(pf, 1)  # it is
        virtualization.offline(pf, 1)
        assert vf.read32(Reg.CSTS) == CSTS_CFS
    vf_up(pf, 1, vf=vf)
    virtualization.online(pf, 1)
    assert shows(vf, CSTS_RDY)
    virtualization.offline(pf, 1)
    assert shows(vf, CSTS_CFS)
    vf._forget_queues()
    vf.write32(Reg.CC, 0)
    assert shows(vf, CSTS_CFS)
    vf.sim.flr()
    pf.advance(50_000)
    assert shows(vf, CSTS_CFS) and shows(other, CSTS_CFS)
    vf_up(pf, 1, vf=vf)
    pf.sim.enable_vfs(0)
    pf.advance(50_000)
    pf.sim.enable_vfs(NUM_FN - 1)
    assert shows(vf, CSTS_CFS)
    pf.stop()
    pf.start(queues=2, entries=32)
    vf._forget_queues()
    vf_up(pf, 1, vf=vf)
    assert shows(vf, CSTS_RDY)
    pf.stop()
    assert shows(vf, CSTS_CFS)


def test_it_has_what_it_was_given(pf: Driver) -> None:
    vf = vf_up(pf, 1, queues=2)
    assert vf.get_features(Feature.NUM_QUEUES) == 1 | 1 << 16
    expect(vf.admin_try(AdminOpc.CREATE_CQ, buffer=vf.buffer(4096), cdw10=31 << 16 | 3, cdw11=1), Status.QID_INVALID)
    vf.delete_sq(2)
    vf.delete_cq(2)
    buffer = vf.buffer(4096)
    expect(
        vf.admin_try(AdminOpc.CREATE_CQ, buffer=buffer, cdw10=31 << 16 | 2, cdw11=3 << 16 | 3), Status.INVALID_VECTOR
    )


def test_offline_takes_all_away(pf: Driver) -> None:
    vf = vf_up(pf, 1)
    virtualization.offline(pf, 1)
    assert vf.read32(Reg.CSTS) & CSTS_RDY == 0
    gone(vf)
    assert [(s.scs, s.nvq, s.nvi) for s in virtualization.secondaries(pf)] == [(0, 0, 0)] * 2
    virtualization.offline(pf, 1)  # twice is no error
    vf_up(pf, 1, queues=2, vf=vf)


def test_a_reset_of_the_primary_takes_its_vfs_offline(pf: Driver) -> None:
    vf = vf_up(pf, 1)
    expect(virtualization.manage_try(pf, VirtMgmt.PRIMARY_ALLOCATE, 0, resource=VQ, count=2), Status.SUCCESS)
    assert virtualization.capabilities(pf).vq.primary == 0, "what it has now (VQRFAP)"
    before = pf.get_features(Feature.NUM_QUEUES) & 0xFFFF
    pf.disable()
    gone(vf)
    pf.start(queues=2, entries=32)
    assert pf.get_features(Feature.NUM_QUEUES) & 0xFFFF == before + 2, "it takes what it was promised at its reset"
    assert virtualization.capabilities(pf).vq.primary == 2
    assert all(offline_without_anything(pf))
    vf_up(pf, 1, queues=2, vf=vf)
    assert virtualization.capabilities(pf).vq.assigned == 3


def test_the_primary_has_the_queues_that_there_are(pf: Driver) -> None:
    """Flexible resources count an admin queue of each VF, which is no I/O queue of the PF's."""
    caps = virtualization.capabilities(pf)
    had, there = caps.vq.private - 1, 32
    most = there - had
    assert had < there < had + caps.vq.total
    for count in (caps.vq.total, most + 1):
        command = virtualization.manage_try(pf, VirtMgmt.PRIMARY_ALLOCATE, 0, resource=VQ, count=count)
        expect(command, Status.INVALID_NUM_RESOURCES)
    assert virtualization.capabilities(pf).vq.primary == 0
    expect(virtualization.manage_try(pf, VirtMgmt.PRIMARY_ALLOCATE, 0, resource=VQ, count=most), Status.SUCCESS)
    pf.stop()
    pf.start(queues=there, entries=16)
    assert pf.get_features(Feature.NUM_QUEUES) == (there - 1) * 0x10001
    for qid in range(1, there + 1):
        pf.write(qid, bytes([qid]) * 512, qid=qid)
    assert [pf.read(qid, 1)[0] for qid in range(1, there + 1)] == [*range(1, there + 1)]
    assign_try(pf, 1, VQ, caps.vq.total - most + 1, Status.INVALID_NUM_RESOURCES)


@pytest.mark.parametrize("enabled", [False, True], ids=["no driver", "driver"])
def test_a_vf_that_is_no_more_is_offline(pf: Driver, enabled: bool) -> None:
    """VF Enable cleared: offline, without resources; as long as it is, no VF comes online."""
    most = virtualization.capabilities(pf).vq.secondary_max
    virtualization.assign(pf, 1, queues=most - 1, interrupts=3)
    virtualization.online(pf, 1)
    vf = driver(pf, 1)
    if enabled:
        vf.start(queues=2, entries=32)
    pf.sim.enable_vfs(0)
    vf._forget_queues()
    pf.advance(50_000)
    assert all(offline_without_anything(pf))
    virtualization.assign(pf, 2, queues=most - 1, interrupts=2)  # all are free again
    online = virtualization.manage_try(pf, VirtMgmt.ONLINE, 2)
    expect(online, Status.INVALID_SECONDARY_STATE)
    pf.sim.enable_vfs(NUM_FN - 1)
    virtualization.online(pf, 2)
    virtualization.offline(pf, 2)
    vf_up(pf, 1, vf=vf)


def offline_without_anything(pf: Driver) -> list[bool]:
    return [(s.scs, s.nvq, s.nvi) == (0, 0, 0) for s in virtualization.secondaries(pf)]


def test_who_may_do_what(pf: Driver) -> None:
    vf = vf_up(pf, 1)
    assert pf.controller is not None and vf.controller is not None
    assert pf.controller.oacs == OACS_FORMAT | OACS_NS_MGMT | OACS_VIRTUAL_MGMT and vf.controller.oacs == OACS_FORMAT
    assert (pf.controller.cmic, vf.controller.cmic) == (MULTIPLE, MULTIPLE | SRIOV)
    assert bytes(pf.controller.subnqn) == bytes(vf.controller.subnqn) and pf.controller.sn == vf.controller.sn
    for opcode in (AdminOpc.NS_MGMT, AdminOpc.NS_ATTACH, AdminOpc.VIRTUAL_MGMT):
        expect(vf.admin_try(opcode, buffer=vf.buffer(4096), nsid=1), Status.INVALID_OPCODE)
    for cns in (Cns.PRIMARY_CTRL_CAP, Cns.SCNDRY_CTRL_LIST):
        expect(vf.admin_try(AdminOpc.IDENTIFY, buffer=vf.buffer(4096), cdw10=cns), Status.INVALID_FIELD)
    # It has no subsystem reset: its CAP says so, and writing the word does nothing.
    assert pf.read64(Reg.CAP) >> 36 & 1 and not vf.read64(Reg.CAP) >> 36 & 1
    assert pf.read64(Reg.CAP) & ~(1 << 36) == vf.read64(Reg.CAP)
    vf.write32(Reg.NSSR, NSSR_MAGIC)
    pf.advance(2_000_000)
    assert pf.read32(Reg.CSTS) == vf.read32(Reg.CSTS) == CSTS_RDY and pf.read32(Reg.CC) & CC_EN


def test_namespaces_private_and_shared(pf: Driver) -> None:
    one, two = vf_up(pf, 1), vf_up(pf, 2)
    namespaces.delete(pf)
    private = namespaces.create(pf, 8192)
    shared = namespaces.create_try(pf, 8192, nmic=SHARED).check().dw0
    expect(namespaces.create_try(pf, 64, nmic=2), Status.INVALID_FIELD)

    def attach(nsid: int, fn: int, *statuses: int) -> None:
        expect(namespaces.attachment_try(pf, nsid, NsAttach.ATTACH, (fn,)), *(statuses or (Status.SUCCESS,)))

    expect(namespaces.attachment_try(pf, private, NsAttach.ATTACH, (1, 2)), Status.NS_IS_PRIVATE)
    attach(private, 1)
    attach(private, 1, Status.NS_ALREADY_ATTACHED)
    attach(private, 2, Status.NS_IS_PRIVATE)
    attach(private, NUM_FN, Status.CTRL_LIST_INVALID)
    expect(namespaces.attachment_try(pf, shared, NsAttach.ATTACH, (1, NUM_FN)), Status.CTRL_LIST_INVALID)
    namespaces.attachment_try(pf, shared, NsAttach.ATTACH, (1, 2)).check()
    assert namespaces.controllers(pf, shared) == [1, 2] and namespaces.controllers(pf, private) == [1]
    assert namespaces.controllers(pf) == [0, 1, 2]
    assert (namespaces.active(pf), namespaces.active(one), namespaces.active(two)) == ([], [private, shared], [shared])

    def move(drive: Driver, opcode: int, nsid: int, data: bytes | None = None) -> bytes:
        buffer = drive.buffer(4096)
        if data:
            buffer.write(data)
        drive.run(drive.submit(1, opcode, 0, 7, buffer, nsid=nsid))
        return buffer.read()

    move(one, NvmOpc.WRITE, shared, b"seen by both" * 341 + b"1234")
    assert move(two, NvmOpc.READ, shared)[:12] == b"seen by both"
    for drive, nsid in ((pf, private), (pf, shared), (two, private)):
        command = drive.submit(1, NvmOpc.READ, 0, 7, drive.buffer(4096), nsid=nsid)
        drive.wait([command])
        expect(command, Status.INVALID_FIELD)  # inactive
    # What others have too a VF does not format; its own it may.
    expect(two.admin_try(AdminOpc.FORMAT_NVM, nsid=shared, cdw10=0), Status.OPERATION_DENIED)
    expect(one.admin_try(AdminOpc.FORMAT_NVM, nsid=private, cdw10=0), Status.SUCCESS)
    assert move(two, NvmOpc.READ, shared)[:12] == b"seen by both"


def test_a_vf_hears_of_no_namespace_but_its_own(pf: Driver) -> None:
    """Nor how large another is, or whose. Without Namespace Management there is no answer for all (NVM Command Set 1.0,
    4.1.5.1)."""
    vf = vf_up(pf, 1)
    namespaces.delete(pf)
    foreign, own, shared = (namespaces.create_try(pf, 8192 << n, nmic=n == 2).check().dw0 for n in range(3))
    for nsid, controllers in ((foreign, (2,)), (own, (1,)), (shared, (1, 2))):
        namespaces.attachment_try(pf, nsid, NsAttach.ATTACH, controllers).check()

    def identify(drive: Driver, cns: int, nsid: int) -> tuple[int, bytes]:
        buffer = drive.buffer(4096)
        command = drive.admin_try(AdminOpc.IDENTIFY, buffer=buffer, nsid=nsid, cdw10=cns)
        data = buffer.read()
        buffer.free()
        return command.status, data

    for cns in (Cns.NS_PRESENT_LIST, Cns.CSI_NS_PRESENT_LIST, Cns.NS_ACTIVE_LIST):
        assert identify(vf, cns, 0) == (Status.SUCCESS, struct.pack("<II", own, shared).ljust(4096, b"\0"))
        assert identify(vf, cns, own) == (Status.SUCCESS, struct.pack("<I", shared).ljust(4096, b"\0"))
    assert namespaces.allocated(pf) == [foreign, own, shared]
    assert identify(vf, Cns.NS_PRESENT, foreign) == identify(vf, Cns.NS, foreign) == (Status.SUCCESS, bytes(4096))
    assert identify(vf, Cns.CTRL_NS_LIST, foreign)[0] == Status.INVALID_FIELD
    assert namespaces.of(pf, foreign, attached=False).nsze == 8192 and namespaces.controllers(pf, foreign) == [2]
    for nsid, controllers in ((own, [1]), (shared, [1, 2])):
        assert identify(vf, Cns.NS_PRESENT, nsid) == identify(vf, Cns.NS, nsid)
        assert namespaces.of(vf, nsid).nsze == namespaces.of(pf, nsid, attached=False).nsze > 8192
        assert namespaces.controllers(vf, nsid) == controllers
    for cns in (Cns.NS, Cns.CSI_NS, Cns.CSI_INDEPENDENT_NS):
        assert identify(vf, cns, NSID_ALL)[0] == Status.INVALID_NS
        assert identify(pf, cns, NSID_ALL)[0] == Status.SUCCESS


def test_a_vf_that_stays_enabled_does_not_hold_the_pf(pf: Driver) -> None:
    """The host of a VF need not notice that the PF is reset: its VF waits in CSTS.CFS, the PF comes up again."""
    vf = vf_up(pf, 1)
    for _ in range(2):
        pf.disable()
        vf.wait_csts(CSTS_RDY, 0, 5000, "of a VF whose PF is reset")
        assert vf.read32(Reg.CC) & CC_EN
        pf.start(queues=2, entries=32)
    gone(vf)
    vf_up(pf, 1, vf=vf)


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["shutdown", "keep alive"])
def test_a_vf_that_goes_in_the_middle_of_its_format(make_drive: MakeDrive, how: str) -> None:
    """What it changes is free again for others, whether its host shuts it down or is not heard of any more."""
    pages, format_us = 64, 600
    pf = make_drive(num_fn=NUM_FN, memory=MEMORY, params={"NUM_NS": NUM_FN, "SGL": 1}, media_size=2 << 20,
                    media_zero_gbps=pages * 4096 / (format_us * 1000))  # fmt: skip
    pf.start(queues=1, entries=16)
    pf.sim.enable_vfs(1)
    namespaces.delete(pf)
    nsid = namespaces.create(pf, pages * 8)
    namespaces.attachment_try(pf, nsid, NsAttach.ATTACH, (1,)).check()
    vf = vf_up(pf, 1)
    if how == "keep alive":
        vf.set_features(Feature.KATO, 1000)  # ms
    vf.submit(0, AdminOpc.FORMAT_NVM, nsid=nsid, ring=True, cdw10=0)
    vf.advance(25_000)
    controllers = pf.buffer(4096)
    controllers.write(struct.pack("<HH", 1, 1))
    waits = pf.submit(0, AdminOpc.NS_ATTACH, buffer=controllers, ring=True, nsid=nsid, cdw10=NsAttach.DETACH)
    pf.advance(25_000)
    assert not waits.done
    if how == "shutdown":
        vf.write32(Reg.CC, vf.read32(Reg.CC) | CC_SHN_NORMAL << CC_SHN_SHIFT)
    else:
        pf.sim.time_us += 1_100_000
        vf.wait_csts(CSTS_CFS, CSTS_CFS, format_us // 2, "without Keep Alive")
    pf.wait([waits])
    expect(waits, Status.SUCCESS)
    other = namespaces.create(pf, 8)
    assert other in namespaces.allocated(pf)
    vf.disable()
    vf.enable()
    assert namespaces.active(vf) == []
