# SPDX-License-Identifier: Apache-2.0
"""db_csd with a PF and VFs: each has its namespaces with operators and keys of its own, and the media holds what the
`cryptography` package makes of its data. Keys and results go with their function."""

from __future__ import annotations

import hashlib
import struct

import pytest
from csd_drive import put
from csd_functions import NUM_FN, QUEUES, RNG, SHARE, SLOTS, Keys, Work, at_once, functions, key, locked, unharmed
from doorbell.compute import drive as compute
from doorbell.compute.operators import Op
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NvmOpc, Reg
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import CsdConfig
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
MIXED = (Op.AES_XTS, Op.AES_CTR, Op.AES_XTS)  # by function
DSM_AD = 1 << 2
RESULTS = 4  # of each function in the log page


@pytest.mark.nightly
def test_keys_of_the_pf(csd_works: list[Work]) -> None:
    """The PF binds the namespaces of all, each with a key of its own in the PF's slots."""
    drives = pf, *_ = [w.drive for w in csd_works]
    works = [Work(d, fn + 1, Keys(op)) for fn, (d, op) in enumerate(zip(drives, MIXED))]
    for slot, work in enumerate(works, 1):
        work.keys.load(pf, slot)
        compute.bind(pf, work.nsid, work.keys.op, slot)
    at_once(works)
    for work in works:
        work.check(pf)


def test_keys_of_each(csd_works: list[Work]) -> None:
    """Slot 1 of each is another one. A VF that loads a key into its second one again and again disturbs nobody."""
    works = csd_works
    key(works[1], Op.AES_CTR)
    at_once(works)
    for work in works:
        work.check(works[0].drive)
    _, one, two = works
    for _ in range(3):
        for _ in range(24):
            two.send()
        two.drive.ring()
        compute.load_key(one.drive, 2, RNG.randbytes(32), RNG.randbytes(32))
        compute.erase_key(one.drive, 2)
        two.collect()
    unharmed(*works)


@pytest.mark.nightly
def test_keys_go_with_their_function(csd_works: list[Work]) -> None:
    """A reset of a VF erases its keys, its namespace stays bound, and is locked until the key is there again. Others
    lose nothing."""
    works = csd_works
    pf, vf = works[0].drive, works[1].drive
    at_once(works, 2)
    before = compute.state(pf)
    for how in ("flr", "disable", "offline"):
        if how == "flr":
            vf.flr()
        elif how == "disable":
            vf.disable()
        else:
            virtualization.offline(pf, 1)
            vf._forget_queues()
            vf.write32(Reg.CC, 0)
            virtualization.assign(pf, 1, queues=QUEUES, interrupts=QUEUES + 1)
            virtualization.online(pf, 1)
        vf.start(queues=QUEUES, entries=64)
        after = compute.state(pf)
        assert after.bound == before.bound and after.xts == before.xts - {SLOTS - 2 * SHARE}, how
        locked(vf, 2)
        unharmed(works[0], works[2])
        works[1].keys.load(vf, 1)
        unharmed(*works)


def test_a_reset_of_the_pf_erases_all(csd_works: list[Work]) -> None:
    """Its own keys, that of the features, and those of its VFs, as all of them are reset."""
    works = csd_works
    pf = works[0].drive
    at_once(works, 1)
    for feature, value in compute.features(CsdConfig.AES256, RNG.randbytes(32), RNG.randbytes(16)):
        pf.set_features(feature, value)
    assert compute.state(pf).ctr == {0} and len(compute.state(pf).xts) == NUM_FN
    pf.disable()
    for work in works[1:]:
        work.drive._forget_queues()
        work.drive.write32(Reg.CC, 0)
    pf.start(queues=QUEUES, entries=64)
    state = compute.state(pf)
    assert not state.ctr | state.xts and state.config == CsdConfig.AES256
    locked(pf, 1)
    for fn, work in enumerate(works):
        if fn:
            virtualization.assign(pf, fn, queues=QUEUES, interrupts=QUEUES + 1)
            virtualization.online(pf, fn)
            work.drive.start(queues=QUEUES, entries=64)
            locked(work.drive, fn + 1)
        work.keys.load(work.drive, 1)
    unharmed(*works)


@pytest.mark.nightly
def test_power_cycle(csd_works: list[Work]) -> None:
    """Bindings come back, keys do not; each function brings its own."""
    works = csd_works
    pf = works[0].drive
    at_once(works, 1)
    before = compute.state(pf).bound
    pf.sim.reset()
    for fn, work in enumerate(works):
        if fn:
            work.drive._forget_queues()
            virtualization.assign(pf, fn, queues=QUEUES, interrupts=QUEUES + 1)
            virtualization.online(pf, fn)
        work.drive.start(queues=QUEUES, entries=64)
        if not fn:
            pf.sim.enable_vfs(NUM_FN - 1)
        locked(work.drive, work.nsid)
    assert compute.state(pf).bound == before and not compute.state(pf).xts
    for work in works:
        work.keys.load(work.drive, 1)
    unharmed(*works)


def crc32c(data: bytes) -> bytes:
    """Bit by bit, as RFC 3720 has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return (crc ^ 0xFFFFFFFF).to_bytes(4, "little")


def crcs(drive: Driver, nsid: int, blocks: int, first: int = 0) -> list[tuple[int, bytes]]:
    """Writes of a block each; their numbers and checksums, newest first."""
    out = []
    for lba in range(first, first + blocks):
        data = RNG.randbytes(512)
        put(drive, lba, data, nsid=nsid)
        out.insert(0, (lba, crc32c(data)))
    return out


def test_results(csd_works: list[Work]) -> None:
    """Each function is told what was found in its own commands, with its own queues and numbers, and nobody pushes out
    the results of another that have been seen."""
    pf, one, two = (w.drive for w in csd_works)
    for nsid in (1, 2, 3, 4):
        compute.bind(pf, nsid, Op.CRC32C)
    want = {}
    for drive, nsid in ((one, 2), (two, 4), (pf, 1)):
        want[drive] = crcs(drive, nsid, RESULTS - 1)
    for drive, nsid in ((one, 2), (two, 4), (pf, 1)):
        found = compute.results(drive)
        assert [(r.lba, r.digest) for r in found] == want[drive]
        assert {(r.nsid, r.qid, r.op, r.write) for r in found} == {(nsid, 1, Op.CRC32C, True)}
        assert [r.number for r in found] == list(reversed(range(RESULTS - 1))), "it counts its own"
    crcs(two, 3, 40)
    assert [(r.lba, r.digest) for r in compute.results(one)] == want[one]
    found = compute.results(two)
    assert len(found) == RESULTS and {r.nsid for r in found} == {3}
    # A namespace that goes takes its results with it, those of others stay.
    namespaces.delete(pf, 3)
    assert compute.results(two) == [] and [(r.lba, r.digest) for r in compute.results(one)] == want[one]


@pytest.mark.nightly
def test_results_of_a_vf_that_is_reset(csd_works: list[Work]) -> None:
    """Who has the function next is not told what was found before, also not what came late; others miss nothing."""
    pf, one, two = (w.drive for w in csd_works)
    for nsid in (1, 2, 3):
        compute.bind(pf, nsid, Op.SHA256)
    for cycles in (300, 3000):
        buffer = one.buffer(16384)
        buffer.write(RNG.randbytes(16384))
        for i in range(24):
            one.submit(1 + i % 2, NvmOpc.WRITE if i % 3 else NvmOpc.READ, 32 * i, 31, buffer, nsid=2)
        one.ring()
        pf.advance(cycles)
        one.flr()
        one.start(queues=QUEUES, entries=64)
        assert compute.results(one) == []
        pf.advance(50_000)
        assert compute.results(one) == []
        for drive, nsid in ((two, 3), (pf, 1), (one, 2)):
            data = RNG.randbytes(4096)
            put(drive, 8, data, nsid=nsid)
            drive.advance(5_000)
            newest = compute.results(drive)[0]
            assert (newest.lba, newest.nsid, newest.digest) == (8, nsid, hashlib.sha256(data).digest())


def beside(one: Driver, two: Driver, count: int = 32) -> float:
    """GB/s of Writes of 16 KiB of `two`, while `one` has as many under way, 16 each."""
    buffers = {drive: drive.buffer(16384) for drive in (one, two)}
    pending: dict[Driver, list[Command]] = {one: [], two: []}
    done = 0
    begun = two.sim.cycle
    while done < count:
        for drive, nsid in ((one, 2), (two, 3)):
            pending[drive] = [c for c in pending[drive] if not c.done]
            for i in range(16 - len(pending[drive])):
                pending[drive].append(drive.submit(1 + i % 2, NvmOpc.WRITE, 32 * i, 31, buffers[drive], nsid=nsid))
            drive.ring()
        two.advance(400)
        for drive in (one, two):
            drive.poll(everything=True)
        done += sum(c.done for c in pending[two])
    ns = (two.sim.cycle - begun) * 4
    for drive in (one, two):
        drive.wait(pending[drive])
        buffers[drive].free()
    return done * 16384 / ns


@pytest.mark.nightly
def test_why_sha256_is_the_pfs(csd_works: list[Work]) -> None:
    """What one function does with SHA-256, all wait for; other operators cost their neighbours nothing."""
    pf, one, two = (w.drive for w in csd_works)
    for nsid in (2, 3):
        compute.bind(pf, nsid, Op.PASS)
    plain = beside(one, two)
    compute.bind(pf, 2, Op.CRC32C)
    assert beside(one, two) > 0.95 * plain
    compute.bind(pf, 2, Op.SHA256)
    slow = beside(one, two)
    print(f"beside SHA-256 {slow:.2f} GB/s, beside none {plain:.2f}")
    assert slow < plain / 4


@pytest.mark.nightly
def test_lists_beside_full_queues(make_drive: MakeDrive) -> None:
    """All slots have a command whose data takes long, and one's list of ranges is more packets than it has slots: each
    Write is encrypted with its own key all the same."""
    drives = functions(make_drive, 2, {"NUM_CMDS": 16}, data_w=256, link="gen3x8", host_latency_ns=3000)
    works = [Work(d, fn + 1, Keys(Op.AES_XTS)) for fn, d in enumerate(drives)]
    for work in works:
        key(work, Op.AES_XTS)
    ranges = b"".join(struct.pack("<IIQ", 0, 1, 1024 + i) for i in range(16))
    for turn in range(3):
        for fn, work in enumerate(works):
            for i in range(7 + fn):
                slba, data = 16 * turn + 2 * i, RNG.randbytes(512)
                work.model[512 * slba : 512 * slba + 512] = data
                work.wrote.add(slba)
                buffer = work.drive.buffer(512)
                buffer.write(data)
                command = work.drive.submit(1 + i % QUEUES, NvmOpc.WRITE, slba, 0, buffer, nsid=work.nsid)
                work.pending.append((command, {slba}, buffer))
        buffer = drives[0].buffer(len(ranges))
        buffer.write(ranges)
        fields = {"nsid": 1, "cdw10": len(ranges) // 16 - 1, "cdw11": DSM_AD}
        command = drives[0].submit(2, NvmOpc.DSM, buffer=buffer, nbytes=len(ranges), **fields)
        works[0].pending.append((command, set(), buffer))
        for work in works:
            work.drive.ring()
        for work in works:
            work.collect()
    for work in works:
        work.check(drives[0])
