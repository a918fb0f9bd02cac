# SPDX-License-Identifier: Apache-2.0
"""Faults of the link and of the media: the command that meets one ends with an error, all it held is freed."""

from __future__ import annotations

import pytest
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import CSTS_CFS, DSM_AD, NvmOpc, Reg, Status
from doorbell.nvme.driver import Driver
from traffic import MakeDrive, Traffic, media_of

KINDS = ("ur", "ca", "poison", "drop")
TRANSFER = (Status.DATA_TRANSFER_ERROR,)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opcode", [NvmOpc.WRITE, NvmOpc.COMPARE, NvmOpc.DSM], ids=lambda o: o.name)
def test_data_fault(make_drive: MakeDrive, kind: str, opcode: int) -> None:
    drive = make_drive(cpl_timeout_us=50)
    drive.start(queues=2, entries=32)
    drive.write(0, b"\x11" * 32768)
    size = 4096 if opcode == NvmOpc.DSM else 16384
    fields = {"cdw10": 3, "cdw11": DSM_AD} if opcode == NvmOpc.DSM else {}
    for nth in (0, 3) if opcode != NvmOpc.DSM else (0,):
        buffer = drive.buffer(size)
        buffer.write((b"\x11" if opcode == NvmOpc.COMPARE else b"\0") * size)
        drive.sim.inject(kind, addr=buffer.address, length=size, nth=nth, count=1)
        command = drive.submit(1, opcode, 0, size // 512 - 1, buffer, nbytes=64 if fields else None, **fields)
        drive.wait([command])
        expect(command, *TRANSFER)
        # The same again without the fault.
        command = drive.submit(1, opcode, 0, size // 512 - 1, buffer, nbytes=64 if fields else None, **fields)
        drive.run(command)
        drive.write(0, b"\x11" * 32768)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("opcode", [NvmOpc.WRITE, NvmOpc.READ], ids=lambda o: o.name)
def test_list_fault(make_drive: MakeDrive, kind: str, opcode: int) -> None:
    drive = make_drive(cpl_timeout_us=50)
    drive.start(queues=2, entries=32)
    for list_offset in (0, 4080):
        buffer = drive.buffer(64 << 10, scattered=True, list_offset=list_offset)
        at = buffer.prps()[1]
        drive.sim.inject(kind, addr=at, length=8, count=1)
        command = drive.submit(1, opcode, 0, 127, buffer)
        drive.wait([command])
        expect(command, *TRANSFER)
        drive.run(drive.submit(1, opcode, 0, 127, buffer))


@pytest.mark.parametrize("kind", KINDS)
def test_entry_fault(make_drive: MakeDrive, kind: str) -> None:
    """A submission entry that cannot be read: it is read again, or the controller says fatal; then a reset cures it."""
    drive = make_drive(cpl_timeout_us=50)
    drive.start(queues=2, entries=16)
    drive.write(0, b"e" * 512)
    sq = drive.sqs[1]
    drive.sim.inject(kind, addr=sq.address, length=sq.entries * 64, count=1)
    command = drive.submit(1, NvmOpc.FLUSH, ring=True)
    for _ in range(40):
        drive.step(50)
        if command.done or drive.read32(Reg.CSTS) & CSTS_CFS:
            break
    else:
        pytest.fail("neither a completion nor CSTS.CFS")
    if not command.done:
        drive.disable()
        drive.start(queues=2, entries=16)
    assert drive.read(0, 1) == b"e" * 512


@pytest.mark.parametrize("kind", KINDS)
def test_faults_in_traffic(make_drive: MakeDrive, kind: str) -> None:
    """Many faults among many commands: every command ends, and only those with a fault fail."""
    drive = make_drive(cpl_timeout_us=50)
    drive.start(queues=4, entries=32)
    media = media_of(drive)
    rings = [(q.address, q.address + q.entries * 64) for q in drive.sqs.values()]
    lo, hi = max(b for _, b in rings), drive.memory.base + drive.memory.size
    traffic = Traffic(
        drive, media, seed=21, region=4096, largest=64 << 10, bad=0, tolerate=frozenset({Status.DATA_TRANSFER_ERROR})
    )
    for i in range(10):
        drive.sim.inject(kind, addr=lo, length=hi - lo, nth=40 * i + 5, count=1 + i % 3)
    traffic.run(300, 16)
    failed = traffic.counts.get("DATA_TRANSFER_ERROR", 0)
    assert 1 <= failed <= 60, traffic.counts
    clean = Traffic(drive, media, seed=22, region=4096, largest=64 << 10)
    drive.sim.inject_clear()
    clean.run(200, 16)
    clean.read_all()


def test_media_read_error(drive: Driver) -> None:
    drive.write(0, b"m" * 65536)
    drive.sim.media_error(8192, 512, count=-1)
    buffer = drive.buffer(4096)
    for opcode, status in (
        (NvmOpc.READ, Status.READ_ERROR),
        (NvmOpc.VERIFY, Status.READ_ERROR),
        (NvmOpc.COMPARE, Status.READ_ERROR),
    ):
        buffer.write(b"m" * 4096)
        command = drive.submit(1, opcode, 16, 7, buffer)
        drive.wait([command])
        expect(command, status)
        command = drive.submit(1, opcode, 64, 7, buffer)
        drive.wait([command])
        expect(command, Status.SUCCESS)


def test_media_write_error(drive: Driver) -> None:
    buffer = drive.buffer(8192)
    for opcode in (NvmOpc.WRITE, NvmOpc.WRITE_ZEROES):
        drive.sim.media_error(1 << 20, 512, count=1)  # one response
        command = drive.submit(1, opcode, 2048, 15, buffer)
        drive.wait([command])
        expect(command, Status.WRITE_FAULT)
    drive.run(drive.submit(1, NvmOpc.WRITE, 2048, 15, buffer))


def test_reset_during_timeouts(make_drive: MakeDrive) -> None:
    """Reads that the host never answers do not keep a reset from completing."""
    drive = make_drive(cpl_timeout_us=200)
    drive.start(queues=2, entries=32)
    buffer = drive.buffer(16384)
    drive.sim.inject("drop", addr=buffer.address, length=16384, count=1000)
    for i in range(20):
        drive.submit(1 + i % 2, NvmOpc.WRITE, 32 * i, 31, buffer)
    drive.ring()
    drive.advance(1000)
    drive.disable()
    drive.sim.inject_clear()
    drive.start(queues=2, entries=32)
    fresh = drive.buffer(4096)
    drive.advance(drive.cycles(400_000))  # all tags of write data timed out: they rest
    drive.run(drive.submit(1, NvmOpc.WRITE, 0, 7, fresh))


@pytest.mark.rtl
def test_bus_master_off_and_on(make_drive: MakeDrive) -> None:
    """With Bus Master off no request leaves; after it is on again and a reset, the drive works."""
    drive = make_drive()
    drive.start(queues=1, entries=16)
    drive.sim.set_cfg(bus_master=False)
    drive.submit(1, NvmOpc.FLUSH, ring=True)
    drive.advance(5000)
    assert list(drive.sim.irqs()) == []
    drive.sim.set_cfg(bus_master=True)
    drive.disable()
    drive.start(queues=1, entries=16)
    drive.flush()
