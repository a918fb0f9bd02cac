# SPDX-License-Identifier: Apache-2.0
"""A PF and its VFs at work side by side: a driver each, in memory of its own at the same addresses, blocks of their own
in one namespace. Nothing of one reaches another, whatever happens to it."""

from __future__ import annotations

import pytest
from doorbell.device.messages import MmioError, SimError
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.constants import CSTS_RDY, AdminOpc, Feature, NsAttach, NvmOpc, Reg, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from traffic import MakeDrive, Traffic, media_of

pytestmark = pytest.mark.rtl
REGION = 2048  # blocks of each function
MEMORY = 24 << 20
QUEUES = 2


def bring_up(drive: Driver) -> None:
    drive.start(queues=QUEUES, entries=64)


def functions(
    make_drive: MakeDrive, num_fn: int, *, seed: int = 1, vf_base: int = 0x12_4000_0000, **options: int
) -> list[Driver]:
    """The PF's driver and those of all VFs, up; namespace 1 is everybody's. Every other VF's has SGLs."""
    params = {"NUM_NS": num_fn, "SGL": 1}  # as of test_served_functions
    pf = make_drive(num_fn=num_fn, memory=MEMORY, seed=seed, params=params, **options)
    bring_up(pf)
    pf.sim.enable_vfs(num_fn - 1)
    drives = [pf]
    for fn in range(1, num_fn):
        namespaces.attachment_try(pf, 1, NsAttach.ATTACH, (fn,)).check()
        virtualization.assign(pf, fn, queues=QUEUES, interrupts=QUEUES + 1)
        virtualization.online(pf, fn)
        vf = Driver(pf.sim.function(fn), HostMemory(MEMORY, vf_base, seed=seed + fn), seed=seed + fn)
        bring_up(vf)
        vf.sgl = fn % 2 == 1
        drives.append(vf)
    return drives


def traffics(drives: list[Driver], seed: int = 1) -> list[Traffic]:
    return [
        Traffic(d, media_of(d), seed=seed + i, first=i * REGION, region=REGION, largest=64 << 10, bad=0)
        for i, d in enumerate(drives)
    ]


def finish(*all_of_it: Traffic) -> None:
    for t in all_of_it:
        t.run(40, 16)
        assert not t.sent and t.counts["SUCCESS"]
        t.read_all()


def leaves(gone: Driver, its: Traffic, *others: Traffic) -> None:
    """What it had sent is lost, and nothing touches its memory any more while others work."""
    its.lose(gone._forget_queues())
    gone.take_irqs()
    before = gone.memory.snapshot()
    for t in others:
        t.start(20, 16)
    assert gone.memory.snapshot() == before, "it is not quiet after its reset"


@pytest.mark.parametrize("num_fn", [pytest.param(2, marks=pytest.mark.nightly), 3])
def test_functions_work_at_once(make_drive: MakeDrive, num_fn: int) -> None:
    """Their memory is at the same addresses, so that what goes to a wrong one shows."""
    drives = functions(make_drive, num_fn)
    ts = traffics(drives)
    for _ in range(25):
        for t in ts:
            t.start(6, 12)
    finish(*ts)
    for d in reversed(drives):  # the PF last: its reset takes its VFs offline
        d.stop()


def test_a_vf_is_reset_while_others_work(make_drive: MakeDrive) -> None:
    pf, one, two = drives = functions(make_drive, 3, seed=5)
    ts = traffics(drives, seed=5)
    for round_ in range(6):
        for t in ts:
            t.start(20, 16)
        one.ring()
        one.advance((0, 3, 40, 300, 1000, 2500)[round_])
        one.poll(everything=True)
        one.sim.flr_begin()
        while not one.sim.flr_done:
            ts[0].start(2, 8)
            ts[2].start(2, 8)
        leaves(one, ts[1], ts[0], ts[2])
        assert not one.sim.irqs()
        assert one.read32(Reg.CC) == 0
        bring_up(one)
    finish(*ts)


@pytest.mark.parametrize("kind", ["disable", "flr"])
def test_writes_in_the_pcie_block_when_a_vf_is_reset(make_drive: MakeDrive, kind: str) -> None:
    """Completions pass writes that wait for credits in the PCIe block. The reset of a VF is over, for its host, only
    when its last write has left."""
    _, vf = functions(make_drive, 2, posted_headers=1, credit_ns=10_000, tx_tlps=28, tx_bytes=32 << 10)
    buffer = vf.buffer(4096)
    buffer.write(bytes([0xA5]) * 4096)
    before = vf.sim.counters()["up.MWr.tlps"]
    vf.submit(1, NvmOpc.READ, slba=0, nlb=7, buffer=buffer, ring=True)
    vf.advance(2000)
    assert vf.sim.counters()["up.MWr.tlps"] - before < 4, "no writes wait: the test shows nothing"
    begun = vf.sim.cycle
    vf.disable() if kind == "disable" else vf.flr()
    memory = vf.memory.snapshot()
    took_us = (vf.sim.cycle - begun) / 250
    vf.advance(100_000)
    assert vf.memory.snapshot() == memory, "it is written to after its reset"
    assert took_us < 250


@pytest.mark.nightly
def test_vfs_go_and_come_while_the_pf_works(make_drive: MakeDrive) -> None:
    pf, one, two = drives = functions(make_drive, 3, seed=9)
    ts = traffics(drives, seed=9)
    for _ in range(3):
        for t in ts:
            t.start(20, 16)
        two.poll(everything=True)
        pf.sim.enable_vfs(1)
        with pytest.raises(MmioError, match="unsupported"):
            two.read32(Reg.CSTS)
        ts[0].start(20, 16)
        ts[1].start(20, 16)
        leaves(two, ts[2], ts[0])
        pf.sim.enable_vfs(2)
        virtualization.assign(pf, 2, queues=QUEUES, interrupts=QUEUES + 1)
        virtualization.online(pf, 2)
        bring_up(two)
    finish(*ts)


@pytest.mark.parametrize("number", [pytest.param(0, marks=pytest.mark.nightly), 1])
def test_a_function_is_reset_again_and_again(make_drive: MakeDrive, number: int) -> None:
    """Whatever the firmware has done meanwhile: nothing, looked once, gone to sleep."""
    drives = functions(make_drive, 3)
    for pause_ns in (500, 2_000, 10_000, 50_000) * 3:
        drives[number].flr()
        drives[0].advance(pause_ns)
    if number == 0:
        bring_up(drives[0])
    assert drives[0].read32(Reg.CSTS) & CSTS_RDY


def test_a_reset_of_the_pf_ends_all(make_drive: MakeDrive) -> None:
    pf, one, two = drives = functions(make_drive, 3, seed=11)
    ts = traffics(drives, seed=11)
    for t in ts:
        t.start(20, 16)
    for d in drives:
        d.poll(everything=True)
    lost = pf.flr()
    assert not one.sim.cfg()["enabled"]
    for t, commands in zip(ts, (lost, one._forget_queues(), two._forget_queues())):
        t.lose(commands)
        assert not t.sent
    bring_up(pf)
    pf.sim.enable_vfs(2)
    for fn, d in enumerate((one, two), 1):
        virtualization.assign(pf, fn, queues=QUEUES, interrupts=QUEUES + 1)
        virtualization.online(pf, fn)
        d.take_irqs()
        bring_up(d)
    for t in ts:
        t.start(40, 16)
    finish(*ts)


def test_memory_of_one_function_is_nothing_to_another(make_drive: MakeDrive) -> None:
    """A command of the VF that names an address of the PF's ends with an error, and nothing is moved."""
    pf, vf, _ = functions(make_drive, 3, vf_base=0x55_0000_0000)
    secret = pf.buffer(4096)
    secret.write(b"secret! " * 512)
    before = pf.memory.snapshot()
    mine = vf.buffer(4096)
    mine.fill(0x11)
    vf.run(vf.submit(1, NvmOpc.WRITE, 8, 7, mine))
    for opcode in (NvmOpc.WRITE, NvmOpc.READ):
        command = vf.submit(1, opcode, 8, 7, prp1=secret.address)
        vf.wait([command])
        if opcode == NvmOpc.WRITE:
            assert command.status == Status.DATA_TRANSFER_ERROR
    assert vf.read(8, 8) == b"\x11" * 4096 and pf.memory.snapshot() == before
    counters = pf.sim.counters()
    assert counters["host.read_unmapped"] and counters["host.write_unmapped"], "refused, not given to the PF"


def test_an_iommu_refuses_the_memory_of_the_function(make_drive: MakeDrive) -> None:
    """The same for addresses that it has, too, but was not granted: said with its index."""
    pf, vf, _ = functions(make_drive, 3)
    buffer = vf.buffer(4096)
    for d in (pf, vf):
        d.sim.iommu(True)
        d.sim.grant(d.memory.base, d.memory.size, 1, read=True, write=True)
    vf.run(vf.submit(1, NvmOpc.WRITE, 8, 7, buffer))
    vf.sim.revoke(1)
    for queue in (*vf.sqs.values(), *vf.cqs.values()):  # but its queues
        vf.sim.grant(queue.address, queue.entries * 64, 2, read=True, write=True)
    command = vf.submit(1, NvmOpc.WRITE, 8, 7, buffer)
    vf.wait([command])
    assert command.status == Status.DATA_TRANSFER_ERROR
    pf.write(0, bytes(4096))
    assert {s.fn for s in vf.sim.strays()} == {1} and not pf.sim.strays()
    assert pf.sim.errors().keys() == {"error.not_granted"}
    pf.sim.close()


def test_the_host_cannot_set_what_is_the_pfs(make_drive: MakeDrive) -> None:
    _, vf, _ = functions(make_drive, 3)
    with pytest.raises(SimError):
        vf.sim.set_cfg(mps=256)


def test_a_save_gathers_its_words_once(make_drive: MakeDrive) -> None:
    """Media that are idle at once let the firmware write all words in one go; others send it back to its loop behind
    each. That it gathers all of them anew there, too, would take 14 times as long, not 6."""
    took = []
    for latency in (100, 4000):
        params = {"NUM_NS": 3, "SGL": 1}
        drive = make_drive(num_fn=3, memory=MEMORY, params=params, media_size=8 << 20, media_latency_ns=latency)
        bring_up(drive)
        begun = drive.sim.cycle
        save = drive.submit(0, AdminOpc.SET_FEATURES, nsid=0, cdw10=Feature.ARBITRATION | 1 << 31, ring=True)
        drive.wait([save])
        assert save.status == Status.SUCCESS
        took.append(drive.sim.cycle - begun)
    assert took[1] < 8 * took[0]
