# SPDX-License-Identifier: Apache-2.0
"""Controller Memory Buffer (NVMe Base 2.0, 3.1.3.11 to 3.1.3.17 and 8.5): registers, queues, lists and data in card
memory, what of a command is then left on the link, failing memory, resets, and functions that have a buffer each."""

from __future__ import annotations

import random
from typing import Any

import pytest
from doorbell.device.messages import MmioError
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.cmb import CMBMSC_CMSE, CMBMSC_CRE, map_cmb
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import CC_EN, NSSR_MAGIC, NsAttach, NvmOpc, Reg, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import Buffer, HostMemory
from in_cmb import BASE, queues_in, traffic, up
from traffic import NARROW, MakeDrive

pytestmark = pytest.mark.rtl
WIDE: dict[str, Any] = {"params": {"CMB_LOG2": 21}}
"""256 bits, for figures."""
LATENCIES = {
    ("host", "host"): (1.432, 2.112), ("host", "SQ"): (1.224, 1.904), ("host", "SQ and CQ"): (1.22, 1.904),
    ("buffer", "host"): (1.428, 1.836), ("buffer", "SQ"): (1.22, 1.628), ("buffer", "SQ and CQ"): (1.22, 1.628),
}  # fmt: skip
"""us of a read and of a write: where data is, where queues are."""
WITHOUT = (1.38, 2.032)
"""Of a drive without the buffer, all in host memory."""


def test_registers(make_drive: MakeDrive) -> None:
    """Nothing is shown before CRE; CC.EN keeps CMBMSC, a function-level and a subsystem reset clear it."""
    drive = make_drive(**NARROW)
    drive.start(queues=1)
    assert drive.read64(Reg.CAP) >> 57 & 1
    assert not drive.read32(Reg.CMBLOC) and not drive.read32(Reg.CMBSZ) and not drive.read64(Reg.CMBMSC)
    drive.write32(Reg.CMBMSC, CMBMSC_CRE)
    size = drive.read32(Reg.CMBSZ)
    assert (size >> 12) << 12 == drive.sim.cmb_size and size >> 8 & 15 == 0 and size & 0x1F == 0x1F
    assert drive.read32(Reg.CMBLOC) & 7 == 4
    for base, refused in ((BASE, 0), ((1 << 64) - 4096, 1), ((1 << 64) - drive.sim.cmb_size, 0)):
        drive.write64(Reg.CMBMSC, base | CMBMSC_CRE | CMBMSC_CMSE)
        assert drive.read32(Reg.CMBSTS) == refused
        assert drive.read64(Reg.CMBMSC) == base | CMBMSC_CRE | CMBMSC_CMSE
    map_cmb(drive, BASE)
    drive.disable()
    assert drive.read64(Reg.CMBMSC) == BASE | CMBMSC_CRE | CMBMSC_CMSE
    drive.flr()
    assert not drive.read64(Reg.CMBMSC) and not drive.read32(Reg.CMBSZ)
    map_cmb(drive, BASE)
    drive.write32(Reg.NSSR, NSSR_MAGIC)
    assert not drive.read64(Reg.CMBMSC)


def test_host_accesses(make_drive: MakeDrive) -> None:
    """Through BAR 4, with any byte enables."""
    drive = make_drive(**NARROW)
    cmb, rng = up(drive), random.Random(3)
    model = bytearray(cmb.view[:4096])
    for _ in range(60):
        at = rng.randrange(4000)
        n = rng.randrange(1, 64 - at % 4 + 1)
        if rng.random() < 0.6:
            data = rng.randbytes(n)
            cmb.store(at, data)
            model[at : at + n] = data
        else:
            n = min(n, 64 - at % 64)  # the simulated CPU's reads have one completion
            assert cmb.load(at, n) == model[at : at + n]
    cmb.settle()
    assert cmb.view[:4096] == model


def test_everything_in_it(make_drive: MakeDrive) -> None:
    """Queues, lists and data, beside commands that have some or all of it in host memory."""
    drive = make_drive(**NARROW)
    cmb = up(drive)
    queues_in(drive, cmb)
    traffic(drive, cmb, (1, 2), random.Random(1), 25)
    assert drive.sqs[2].sent > 20


@pytest.mark.nightly
@pytest.mark.parametrize("data_w", [128, 256, 512])
def test_everything_in_it_with_pauses(make_drive: MakeDrive, data_w: int) -> None:
    drive = make_drive(**{**NARROW, "data_w": data_w}, stall_pct=30, card_latency_ns=1000, completion_jitter_ns=500,
                       completion_bytes="random")  # fmt: skip
    cmb = up(drive)
    queues_in(drive, cmb)
    traffic(drive, cmb, (1, 2), random.Random(data_w), 150)


def test_lists_partly_in_it(make_drive: MakeDrive) -> None:
    """CMBLOC.CDPMLS, CDPCILS, CDMMMS: pages of one command's data lie here and there, and so do its lists."""
    drive = make_drive(**NARROW)
    cmb, rng = up(drive), random.Random(2)
    queues_in(drive, cmb)
    data = rng.randbytes(16 * 4096)
    for lists in (cmb, drive.memory):
        buffer = Buffer(lists, 16 * 4096)
        other = drive.memory if lists is cmb else cmb
        owner = [lists if i % 3 else other for i in range(16)]
        pages = [m.alloc(4096) for m in owner]
        prp1, prp2 = pages[0], buffer._make_list(pages[1:])
        for m, page, i in zip(owner, pages, range(16), strict=True):
            m.at(page, 4096)[:] = data[i * 4096 : (i + 1) * 4096]
        for opcode in (NvmOpc.WRITE, NvmOpc.READ):
            drive.run(drive.submit(2, opcode, 0, 127, prp1=prp1, prp2=prp2))
            if opcode == NvmOpc.WRITE:
                for m, page in zip(owner, pages, strict=True):
                    m.zero(page, 4096)
        cmb.settle()
        assert b"".join(bytes(m.at(page, 4096)) for m, page in zip(owner, pages, strict=True)) == data
        assert drive.read(0, 128) == data


def moved(drive: Driver, *commands: tuple[int, int, int, int, Buffer]) -> dict[str, int]:
    """Counters of these commands (queue, opcode, slba, nlb, buffer), one after the other."""
    before = drive.sim.counters()
    for c in commands:
        drive.run(drive.submit(*c))
    return {k: v - before[k] for k, v in drive.sim.counters().items()}


def test_no_data_on_the_link(make_drive: MakeDrive) -> None:
    """Queues and data in the buffer: the controller sends an interrupt alone, the host an entry and doorbells."""
    drive = make_drive(**NARROW)
    cmb = up(drive)
    queues_in(drive, cmb)
    buffer = Buffer(cmb, 65536)
    buffer.write(random.Random(1).randbytes(65536))
    for opcode in (NvmOpc.WRITE, NvmOpc.READ):
        c = moved(drive, (2, opcode, 0, 127, buffer))
        assert c["up.MRd.tlps"] == 0 and c["down.CplD.tlps"] == 0
        assert (c["up.MWr.tlps"], c["up.MWr.payload"]) == (1, 4)
        assert c["down.MWr.payload"] == 64 + 2 * 4


def test_a_peer_brings_the_data(make_drive: MakeDrive) -> None:
    """What is written through BAR 4 before the doorbell is what the command writes to the media."""
    drive = make_drive(**NARROW)
    cmb = up(drive)
    for k in range(3):
        data = random.Random(k).randbytes(8192)
        buffer = Buffer(cmb, 8192)
        for at in range(0, 8192, 64):
            cmb.store(buffer.address - cmb.base + at, data[at : at + 64])
        drive.run(drive.submit(1, NvmOpc.WRITE, 16 * k, 15, buffer))
        assert drive.read(16 * k, 16) == data


def test_memory_that_cannot_be_read(make_drive: MakeDrive) -> None:
    """A command whose data or list cannot be read ends with a transfer error; the next one works."""
    drive = make_drive(**NARROW)
    cmb = up(drive)
    buffer = Buffer(cmb, 16 * 4096)
    data = random.Random(1).randbytes(buffer.size)
    buffer.write(data)
    drive.run(drive.submit(1, NvmOpc.WRITE, 0, 127, buffer))
    for at in (buffer.address + 5 * 4096 + 100, buffer.list_pages[0]):
        drive.sim.card_error(at - cmb.base, 8)
        command = drive.submit(1, NvmOpc.WRITE, 200, 127, buffer)
        drive.wait([command])
        expect(command, Status.DATA_TRANSFER_ERROR)
        drive.run(drive.submit(1, NvmOpc.WRITE, 0, 127, buffer))
    drive.sim.card_error(16, 16)
    with pytest.raises(MmioError, match="poisoned"):
        cmb.load(16, 16)
    cmb.load(16, 16)
    assert drive.read(0, 128) == data


def test_memory_that_cannot_be_written(make_drive: MakeDrive) -> None:
    """Nobody was told that data was lost, so nothing of the region is taken for good until it is set up anew."""
    drive = make_drive(**NARROW)
    cmb = up(drive)
    buffer = Buffer(cmb, 4096)
    drive.write(0, bytes(4096))
    drive.sim.card_error(buffer.address - cmb.base + 512, 8)
    drive.run(drive.submit(1, NvmOpc.READ, 0, 7, buffer))
    with pytest.raises(MmioError, match="poisoned"):
        cmb.settle()
    command = drive.submit(1, NvmOpc.WRITE, 0, 7, buffer)
    drive.wait([command])
    expect(command, Status.DATA_TRANSFER_ERROR)
    map_cmb(drive, BASE)
    cmb.settle()
    drive.run(drive.submit(1, NvmOpc.READ, 0, 7, buffer), drive.submit(1, NvmOpc.WRITE, 0, 7, buffer))


def test_reset_under_load(make_drive: MakeDrive) -> None:
    """CC.EN cleared with commands under way: after RDY = 0 nothing changes the buffer any more, and it works again."""
    drive = make_drive(**NARROW)
    rng = random.Random(5)
    for k in range(4):
        drive.start(queues=1, entries=64)
        cmb = map_cmb(drive, BASE)
        queues_in(drive, cmb)
        buffers = [Buffer(cmb, 32768) for _ in range(20)]
        for i, b in enumerate(buffers):
            drive.submit(2, NvmOpc.READ if i % 2 else NvmOpc.WRITE, 64 * i, 63, b)
        drive.ring()
        drive.advance(rng.randrange(1, 6000))
        drive.disable() if k % 2 else drive.flr()
        if k % 2:
            cmb.settle()
            before = bytes(cmb.view)
            drive.advance(20_000)
            assert bytes(cmb.view) == before
            assert not drive.read32(Reg.CC) & CC_EN
    cmb = up(drive)
    queues_in(drive, cmb)
    traffic(drive, cmb, (2,), rng, 4)


def functions(make_drive: MakeDrive, num_fn: int, **options: Any) -> list[Driver]:
    """The PF's driver and those of all VFs, up; namespace 1 is everybody's."""
    pf = make_drive(num_fn=num_fn, memory=32 << 20, params={"NUM_NS": num_fn, "CMB_LOG2": 21, "SGL": 1}, **options)
    pf.start(queues=2, entries=64)
    pf.sim.enable_vfs(num_fn - 1)
    drives = [pf]
    for fn in range(1, num_fn):
        namespaces.attachment_try(pf, 1, NsAttach.ATTACH, (fn,)).check()
        virtualization.assign(pf, fn, queues=2, interrupts=3)
        virtualization.online(pf, fn)
        vf = Driver(pf.sim.function(fn), HostMemory(32 << 20))
        vf.start(queues=1, entries=64)
        drives.append(vf)
    pf.delete_sq(2)
    pf.delete_cq(2)
    return drives


@pytest.mark.nightly
@pytest.mark.parametrize("data_w", [256, 512])
def test_functions_have_one_each(make_drive: MakeDrive, data_w: int) -> None:
    """A VF's buffer is in its own region: another's base is an address of the host for it. A reset of one leaves the
    others'."""
    drives = functions(make_drive, 3, data_w=data_w)
    pf, vf, _ = drives
    bases = [BASE, BASE + (1 << 32), BASE + (2 << 32)]
    cmbs = [map_cmb(d, b) for d, b in zip(drives, bases, strict=True)]
    for d, cmb in zip(drives, cmbs, strict=True):
        queues_in(d, cmb)
    for i, (d, cmb) in enumerate(zip(drives, cmbs, strict=True)):
        others = [bytes(c.view) for c in cmbs if c is not cmb]
        traffic(d, cmb, (1, 2), random.Random(i), 12, first=5000 * i)
        assert [bytes(c.view) for c in cmbs if c is not cmb] == others
    # The PF's base, said by a VF: it is the VF's host memory.
    mine = bytearray(random.Random(7).randbytes(4096))
    vf.sim.map(BASE, 4096, mine)
    vf.run(vf.submit(1, NvmOpc.WRITE, 5000, 7, prp1=BASE))
    assert vf.read(5000, 8) == mine
    vf.flr()
    assert pf.read64(Reg.CMBMSC) == BASE | CMBMSC_CMSE | CMBMSC_CRE
    traffic(pf, cmbs[0], (1, 2), random.Random(9), 4)
    traffic(drives[2], cmbs[2], (1, 2), random.Random(9), 4, first=10_000)
    vf.sim.set_cfg(bus_master=True)
    assert not vf.read64(Reg.CMBMSC)


def latency(drive: Driver, memory: HostMemory, qid: int, opcode: int) -> float:
    """Microseconds from the entry's being written to the interrupt: the fifth command of 4 KiB."""
    buffer = Buffer(memory, 4096)
    for _ in range(5):
        drive.advance(5000)
        start = drive.sim.ns
        command = drive.submit(qid, opcode, 0, 7, buffer, ring=True)
        drive.sim.run(100_000, until_irq=True)
        took = drive.sim.ns - start
        drive.run(command)
    return took / 1000


@pytest.mark.nightly
def test_latency(make_drive: MakeDrive) -> None:
    """4 KiB at depth 1, us, as docs/ssd/cmb.md has it: queues and data in host memory, then one after the other in the
    buffer."""
    drive = make_drive(**WIDE)
    cmb = up(drive)
    queues_in(drive, cmb)
    drive.create_cq(3, 64, 1)
    drive.create_sq(3, 64, 3, memory=cmb)
    found = {
        (name, where): (latency(drive, memory, qid, NvmOpc.READ), latency(drive, memory, qid, NvmOpc.WRITE))
        for where, qid in (("host", 1), ("SQ", 3), ("SQ and CQ", 2))
        for name, memory in (("host", drive.memory), ("buffer", cmb))
    }
    other = make_drive()
    other.start(queues=1, entries=64)
    without = latency(other, other.memory, 1, NvmOpc.READ), latency(other, other.memory, 1, NvmOpc.WRITE)
    print(found, without)
    assert found == LATENCIES
    assert without == WITHOUT
