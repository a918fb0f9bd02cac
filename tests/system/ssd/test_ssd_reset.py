# SPDX-License-Identifier: Apache-2.0
"""Resets and shutdowns in the middle of I/O: nothing is lost, doubled or touched afterwards, and all works again."""

from __future__ import annotations

import random

import pytest
from doorbell.nvme.constants import CC_EN, CSTS_NSSRO, CSTS_RDY, CSTS_SHST_MASK, NSSR_MAGIC, NvmOpc, Reg
from doorbell.nvme.driver import Driver
from traffic import MakeDrive, Traffic, media_of, unread


def quiet(drive: Driver, cycles: int = 25_000) -> None:
    """The controller must leave host memory and the host alone."""
    drive.take_irqs()
    before = drive.memory.snapshot()
    counts = {k: v for k, v in drive.sim.counters().items() if k.startswith("up.M") and k.endswith(".tlps")}
    drive.advance(cycles)
    assert drive.memory.snapshot() == before, "host memory changed after the reset was done"
    after = drive.sim.counters()
    assert {k: after[k] for k in counts} == counts, "requests were sent after the reset was done"
    assert list(drive.sim.irqs()) == []


def reset_rounds(make_drive: MakeDrive, rounds: int, kinds: tuple[str, ...], seed: int, queues: int = 3) -> None:
    drive = make_drive(seed=seed, memory=48 << 20)
    rng = random.Random(seed)
    drive.start(queues=queues, entries=64)
    media = media_of(drive)
    for round_ in range(rounds):
        traffic = Traffic(drive, media, seed=seed + round_, region=2048, largest=rng.choice((8, 64, 256)) << 10)
        traffic.start(rng.randint(1, 60), 30)
        # Some that have just been rung, at any stage when the reset comes.
        for _ in range(rng.randint(0, 20)):
            q = rng.randint(1, queues)
            if drive.sqs[q].room():
                traffic.send(q)
        drive.ring()
        drive.advance(rng.choice((0, 1, 5, 30, 100, 300, 1000, 3000)))
        kind = kinds[round_ % len(kinds)]
        if kind == "disable":
            lost = drive.disable()
        elif kind == "flr":
            lost = drive.flr()
        else:
            drive.shutdown(abrupt=kind == "abrupt")
            lost = []
            drive.poll(everything=True)
            lost += drive.disable()
        traffic.lose(lost)
        assert not traffic.sent
        quiet(drive, 2_500 if round_ % 5 else 25_000)
        if kind == "flr":
            assert drive.read32(Reg.CC) == 0 and drive.read32(Reg.CSTS) & CSTS_RDY == 0
        drive.start(queues=queues, entries=64)
    traffic = Traffic(drive, media, seed=seed - 1, region=2048, largest=64 << 10)
    traffic.run(100, 16)
    traffic.read_all()
    drive.stop()


@pytest.mark.parametrize("kind", ["disable", "flr", "normal", "abrupt"])
def test_reset_under_io(make_drive: MakeDrive, kind: str) -> None:
    reset_rounds(make_drive, 5, (kind,), seed=len(kind))


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(10))
def test_1000_resets(make_drive: MakeDrive, part: int) -> None:
    kinds = ("disable", "flr", "disable", "abrupt", "normal")
    reset_rounds(make_drive, 100, kinds, seed=1000 * part + 7, queues=1 + part)


@pytest.mark.rtl
def test_writes_in_the_pcie_block_when_disabled(make_drive: MakeDrive) -> None:
    """Completions pass writes that wait for credits in the PCIe block. RDY falls only when the last one has left it."""
    drive = make_drive(posted_headers=1, credit_ns=4000)
    drive.start(queues=1, entries=16)
    for i in range(4):
        drive.submit(1, NvmOpc.READ, slba=8 * i, nlb=7, buffer=drive.buffer(4096))
    drive.ring()
    before = drive.sim.counters()["up.MWr.tlps"]
    drive.advance(1000)
    waiting = 16 - (drive.sim.counters()["up.MWr.tlps"] - before)
    assert waiting > 4, "no writes wait: the test shows nothing"
    drive.disable()
    quiet(drive)


def test_disable_with_full_completion_queue(make_drive: MakeDrive) -> None:
    drive = make_drive()
    commands = unread(drive, cycles=20_000)
    lost = drive.disable()
    assert len(lost) == len(commands)
    quiet(drive)
    drive.start(queues=2, entries=64)
    drive.write(0, bytes(512))


def test_disable_with_masked_vector(make_drive: MakeDrive) -> None:
    """An interrupt that was pending when the controller was reset does not come later."""
    drive = make_drive()
    drive.start(queues=1, entries=16)
    drive.mask_vector(1, True)
    drive.submit(1, NvmOpc.FLUSH, ring=True)
    drive.advance(20_000)
    drive.disable()
    drive.mask_vector(1, False)
    drive.advance(2_500)
    drive.take_irqs()  # whether the pending bit outlives the reset is left open; that the drive works is not
    drive.start(queues=1, entries=16)
    drive.flush()


def test_disable_at_once_after_enable(make_drive: MakeDrive) -> None:
    drive = make_drive()
    for pause in (0, 10, 100, 1000, 10_000):
        drive.enable()
        drive.write32(Reg.CC, drive.read32(Reg.CC) & ~CC_EN)
        drive.advance(pause)
        drive.disable()
    drive.start()
    drive.write(0, bytes(512))


def test_shutdown_ends_what_is_in_flight(make_drive: MakeDrive) -> None:
    """After a normal shutdown the data of completed writes is on the media, and the drive starts again."""
    drive = make_drive()
    drive.start(queues=2, entries=16)
    data = random.Random(4).randbytes(64 << 10)
    drive.write(64, data)
    drive.shutdown()
    assert drive.sim.media_read(64 * 512, len(data)) == data
    drive.disable()
    quiet(drive)
    drive.start(queues=2, entries=16)
    assert drive.read64(Reg.CAP) and drive.read32(Reg.CSTS) & CSTS_SHST_MASK == 0
    assert drive.read(64, 128) == data


def test_subsystem_reset(make_drive: MakeDrive) -> None:
    drive = make_drive()
    drive.start(queues=1, entries=16)
    if not drive.cap.nssrs:  # type: ignore[union-attr]
        pytest.skip("CAP.NSSRS is 0")
    drive.write32(Reg.NSSR, NSSR_MAGIC)
    drive.wait_csts(CSTS_RDY, 0, 1_000_000, "after subsystem reset")
    drive._forget_queues()
    assert drive.read32(Reg.CSTS) & CSTS_NSSRO
    drive.write32(Reg.CSTS, CSTS_NSSRO)
    drive.start(queues=1, entries=16)
    drive.write(0, bytes(512))


def test_function_level_resets_in_a_row(drive: Driver) -> None:
    """The second finds a controller that has seen the end of the first."""
    for _ in range(3):
        drive.flr()
    assert drive.read32(Reg.CSTS) == 0
    drive.start(queues=2, entries=16)
    drive.write(0, b"f" * 512)
    assert drive.read(0, 1) == b"f" * 512
