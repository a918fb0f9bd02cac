# SPDX-License-Identifier: Apache-2.0
"""Bring-up: registers, Identify, queue creation and deletion, features, logs, as the host driver meets them."""

from __future__ import annotations

import random

import pytest
from doorbell.nvme.commands import NvmeError, expect
from doorbell.nvme.constants import (
    CREATE_Q_PC,
    CSTS_CFS,
    CSTS_RDY,
    OACS_FORMAT,
    ONCS_COMPARE,
    ONCS_DSM,
    ONCS_VERIFY,
    ONCS_WRITE_ZEROES,
    AdminOpc,
    Cns,
    Feature,
    LogPage,
    NvmOpc,
    Reg,
    Status,
)
from doorbell.nvme.driver import Driver
from doorbell.nvme.log_pages import ErrorLogEntry, SmartLog, u128
from doorbell.nvme.memory import HostMemory
from doorbell.nvme.structures import Cap, IdCtrlNvm
from doorbell.vm import devices
from traffic import MakeDrive


def test_registers_after_reset(make_drive: MakeDrive) -> None:
    drive = make_drive()
    cap = Cap.decode(drive.read64(Reg.CAP))
    assert cap.mqes == 4095 and cap.css & 1 and cap.mpsmin == 0 and cap.dstrd == 0 and cap.to > 0
    assert cap.ams & 1, "weighted round robin with urgent"
    # The two halves read alone are the same register.
    assert drive.read64(Reg.CAP) == drive.read32(Reg.CAP) | drive.read32(Reg.CAP + 4) << 32
    assert drive.read32(Reg.VS) >> 16 >= 1
    assert drive.read32(Reg.CC) == 0
    assert drive.read32(Reg.CSTS) & (CSTS_RDY | CSTS_CFS) == 0


def test_admin_queue_registers_keep_any_address(make_drive: MakeDrive) -> None:
    drive = make_drive()
    rng = random.Random(3)
    for reg in (Reg.ASQ, Reg.ACQ):
        value = rng.getrandbits(64) & ~0xFFF
        drive.write64(reg, value)
        assert drive.read64(reg) == value
        low, high = rng.getrandbits(32) & ~0xFFF, rng.getrandbits(32)
        drive.write32(reg, low)
        drive.write32(reg + 4, high)
        assert drive.read64(reg) == low | high << 32
    drive.write32(Reg.AQA, 0x001F003F)
    assert drive.read32(Reg.AQA) == 0x001F003F


def test_identify(drive: Driver) -> None:
    c, n = drive.controller, drive.namespace
    assert c is not None and n is not None
    assert c.sqes == 0x66 and c.cqes == 0x44 and c.nn == 1 and c.cntrltype in (0, 1)
    assert c.mn.strip() and c.sn.strip() and c.fr.strip()
    assert drive.max_transfer == 1 << 20
    want = ONCS_COMPARE | ONCS_DSM | ONCS_WRITE_ZEROES
    assert c.oncs & want == want and c.oacs & OACS_FORMAT and c.vwc & 1
    # A Verify may be as large as a Read: VSL is a limit while that bit is 0, and advice while it is 1.
    assert not c.oncs & ONCS_VERIFY
    assert IdCtrlNvm.from_buffer_copy(drive.identify(Cns.CSI_CTRL)).vsl == c.mdts
    assert c.ver == drive.read32(Reg.VS)
    assert n.nsze == n.ncap == drive.sim.media_size // 512
    assert [n.lbaf[i].ds for i in range(n.nlbaf + 1)] == [9, 12] and n.lbaf[0].ms == 0
    active = drive.identify(Cns.NS_ACTIVE_LIST)
    assert active[:8] == b"\1\0\0\0\0\0\0\0"
    assert drive.identify(Cns.NS_ACTIVE_LIST, nsid=1)[:4] == bytes(4)
    nidt, nidl = drive.identify(Cns.NS_DESC_LIST, nsid=1)[:2]
    assert nidt in (1, 2, 3, 4) and nidl in (8, 16, 1)


def test_queue_creation_errors(make_drive: MakeDrive) -> None:
    drive = make_drive()
    drive.start(queues=2, entries=16)
    page = drive.memory.alloc(1 << 16)
    q, contiguous = 5, CREATE_Q_PC

    def cq(qid: int, entries: int, prp: int = page, vector: int = 1, flags: int = contiguous | 2) -> int:
        return drive.admin_try(
            AdminOpc.CREATE_CQ, prp1=prp, cdw10=(entries - 1) << 16 | qid, cdw11=vector << 16 | flags
        ).status

    def sq(qid: int, entries: int, cqid: int = 1, prp: int = page, flags: int = contiguous) -> int:
        return drive.admin_try(
            AdminOpc.CREATE_SQ, prp1=prp, cdw10=(entries - 1) << 16 | qid, cdw11=cqid << 16 | flags
        ).status

    assert cq(0, 16) == Status.QID_INVALID
    assert cq(1, 16) == Status.QID_INVALID  # exists
    assert cq(4000, 16) == Status.QID_INVALID
    assert cq(q, 1) == Status.QUEUE_SIZE
    assert cq(q, 4097) == Status.QUEUE_SIZE
    assert cq(q, 16, prp=page + 8) in (Status.INVALID_FIELD, Status.INVALID_PRP_OFFSET)
    assert cq(q, 16, vector=2000) == Status.INVALID_VECTOR
    assert cq(q, 16, flags=2) == Status.INVALID_FIELD  # not contiguous, CAP.CQR = 1
    assert sq(0, 16) == Status.QID_INVALID
    assert sq(1, 16) == Status.QID_INVALID
    assert sq(q, 1) == Status.QUEUE_SIZE
    assert sq(q, 16, cqid=0) in (Status.CQ_INVALID, Status.QID_INVALID)
    assert sq(q, 16, cqid=9) == Status.CQ_INVALID
    assert sq(q, 16, prp=page + 16) in (Status.INVALID_FIELD, Status.INVALID_PRP_OFFSET)
    assert sq(q, 16, flags=0) == Status.INVALID_FIELD
    assert drive.admin_try(AdminOpc.DELETE_CQ, cdw10=1).status == Status.INVALID_QUEUE_DELETION
    assert drive.admin_try(AdminOpc.DELETE_SQ, cdw10=0).status == Status.QID_INVALID
    assert drive.admin_try(AdminOpc.DELETE_SQ, cdw10=q).status == Status.QID_INVALID
    assert drive.admin_try(AdminOpc.DELETE_CQ, cdw10=q).status == Status.QID_INVALID
    assert drive.admin_try(0x7D).status == Status.INVALID_OPCODE
    drive.write(0, b"x" * 512, qid=2)  # none of it hurt the queues that are there


def test_queues_come_and_go(make_drive: MakeDrive) -> None:
    drive = make_drive()
    drive.start(queues=3, entries=16)
    for round_ in range(3):
        drive.write(round_, bytes([round_ + 1]) * 512, qid=2)
        assert drive.delete_sq(2) == []
        drive.delete_cq(2)
        drive.create_cq(2, 8 << round_, 2)
        drive.create_sq(2, 16 >> round_, 2)
        assert drive.read(round_, 1, qid=2) == bytes([round_ + 1]) * 512
    drive.stop()


def test_features(drive: Driver) -> None:
    granted = drive.get_features(Feature.NUM_QUEUES)
    assert granted & 0xFFFF >= 3 and granted >> 16 >= 3
    with pytest.raises(NvmeError) as late:  # queues exist already
        drive.set_features(Feature.NUM_QUEUES, 0x00030003)
    assert late.value.status == Status.CMD_SEQ_ERROR
    for feature, value in ((Feature.ARBITRATION, 0x04030205), (Feature.IRQ_COALESCE, 0x0203), (Feature.ASYNC_EVENT, 0)):
        old = drive.get_features(feature)
        drive.set_features(feature, value)
        assert drive.get_features(feature) == value
        drive.set_features(feature, old)
    drive.get_features(Feature.ERR_RECOVERY, nsid=1)
    for feature in (
        Feature.POWER_MGMT,
        Feature.TEMP_THRESH,
        Feature.VOLATILE_WC,
        Feature.WRITE_ATOMIC,
    ):
        drive.get_features(feature)
    with pytest.raises(NvmeError) as bad:
        drive.get_features(0x7F)
    assert bad.value.status == Status.INVALID_FIELD


def test_logs_count(drive: Driver) -> None:
    def smart() -> SmartLog:
        return SmartLog.from_buffer_copy(drive.get_log(LogPage.SMART, 512))

    before = smart()
    for i in range(4):
        drive.write(i * 2048, bytes(1 << 20))
        drive.read(i * 2048, 2048)
    after = smart()
    assert u128(after.host_writes) - u128(before.host_writes) == 4
    assert u128(after.host_reads) - u128(before.host_reads) == 4
    assert u128(after.data_units_read) - u128(before.data_units_read) in (8, 9)
    assert u128(after.data_units_written) - u128(before.data_units_written) in (8, 9)
    command = drive.submit(1, NvmOpc.READ, slba=drive.namespace.nsze, buffer=drive.buffer(512))  # type: ignore[union-attr]
    drive.wait([command])
    expect(command, Status.LBA_RANGE)
    entry = ErrorLogEntry.from_buffer_copy(drive.get_log(LogPage.ERROR, 64))
    assert entry.error_count >= 1 and entry.sqid == 1 and entry.cmdid == command.cid
    assert entry.status_field >> 1 & 0x7FF == Status.LBA_RANGE
    with pytest.raises(NvmeError) as bad:
        drive.get_log(0x7F, 64)
    assert bad.value.status == Status.INVALID_LOG_PAGE


def test_async_event_stays_until_reset(drive: Driver) -> None:
    waiting = drive.submit(0, AdminOpc.ASYNC_EVENT, nsid=0, ring=True)
    drive.write(0, bytes(512))
    drive.identify(Cns.CTRL)
    assert not waiting.done
    assert waiting in drive.disable()


@pytest.mark.parametrize("base", [0x8000_0000, 0x1_0000_0000, 0x7FFF_FF00_0000_0000, 0xFFFF_FFFF_F000_0000])
def test_any_host_address(make_drive: MakeDrive, base: int) -> None:
    """All 64 address bits reach memory, for entries, lists, data and completions."""
    drive = make_drive(base=base, memory=16 << 20)
    drive.start(queues=2, entries=16)
    data = random.Random(base).randbytes(96 << 10)
    drive.write(3, data, offset=1536, scattered=True, list_offset=4080)
    assert drive.read(3, 192, offset=4092, scattered=True, list_offset=64) == data


def test_host_memory_gives_no_page_twice() -> None:
    memory = HostMemory(1 << 20, seed=2)
    run = memory.alloc(7 * 4096)
    pages = memory.alloc_pages(100) + [run + 4096 * i for i in range(7)]
    assert len(set(pages)) == len(pages)
    with pytest.raises(MemoryError):
        memory.alloc(200 * 4096)


@pytest.mark.rtl
def test_served_device_knows_that_it_worked(make_drive: MakeDrive) -> None:
    """What begins and ends within one run is work, else the server would sleep between commands; at rest it is idle."""
    sim = make_drive().sim
    device = devices.SimDevice(sim)

    def until_idle() -> int:
        return next(i for i in range(100_000) if (device.run(200), device.idle)[1])

    until_idle()
    before = sim.cycle
    device.write(Reg.AQA, (0x001F003F).to_bytes(4, "little"))
    device.run(200)
    assert sim.cycle - before < 200 and not device.idle
    assert until_idle() == 0


def test_what_features_and_events_refuse(drive: Driver) -> None:
    """Statuses that hosts seldom meet: to save what is not saved, of a namespace what it has not, other command sets,
    and one event request more than there can be."""
    save = 1 << 31
    for status, command in {
        Status.FEATURE_NOT_SAVEABLE: {"cdw10": Feature.KATO | save},
        Status.FEATURE_NOT_PER_NS: {"cdw10": Feature.ARBITRATION, "nsid": 1},
        Status.IOCS_COMBINATION_REJECTED: {"cdw10": Feature.IOCS_PROFILE, "cdw11": 1},
    }.items():
        expect(drive.admin_try(AdminOpc.SET_FEATURES, **command), status)
    limit = drive.admin_read(AdminOpc.IDENTIFY, 4096, cdw10=Cns.CTRL)[259] + 1
    waiting = [drive.submit(0, AdminOpc.ASYNC_EVENT, nsid=0, ring=True) for _ in range(limit)]
    expect(drive.admin_try(AdminOpc.ASYNC_EVENT), Status.AER_LIMIT)
    assert limit > 1 and not any(command.done for command in waiting)
