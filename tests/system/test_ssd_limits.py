# SPDX-License-Identifier: Apache-2.0
"""The link's limit as `doorbell.limits` derives it, against the bytes that the simulator counted on the wire."""

from __future__ import annotations

import pytest
from doorbell import bench, limits
from doorbell.nvme import Driver
from doorbell.nvme_spec import NvmOpc
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
KINDS = ("MRd", "MWr", "CplD", "Cpl")


def wire_bytes(drive: Driver) -> dict[str, int]:
    """Bytes of TLPs and DLLPs that have crossed, by direction."""
    c = drive.sim.counters()
    out = {}
    for way in ("up", "down"):
        out[way] = sum(c[f"{way}.{k}.{part}"] for k in KINDS for part in ("header", "payload"))
        out[f"{way}.dllp"] = c[f"{way}.ack.bytes"] + c[f"{way}.fc.bytes"]
    return out


@pytest.mark.parametrize("link", ["gen3x4", "gen3x8"])
@pytest.mark.parametrize(("mps", "mrrs"), [(128, 128), (256, 512), (512, 256)])
@pytest.mark.parametrize("size", [512, 4096, 8192])
@pytest.mark.parametrize("opcode", [NvmOpc.READ, NvmOpc.WRITE], ids=lambda o: o.name)
def test_bytes_of_one_command(make_drive: MakeDrive, link: str, mps: int, mrrs: int, size: int, opcode: int) -> None:
    """One command at a time: every byte is foreseen."""
    if link == "gen3x4" and (mps, size) != (256, 4096):
        pytest.skip("bytes do not depend on the link's width")
    drive = make_drive(link=link, mps=mps, mrrs=mrrs, memory=32 << 20)
    drive.start(queues=1, entries=64)
    buffer = drive.buffer(size)
    count = 16
    before, bells = wire_bytes(drive), drive.sq_doorbells + drive.cq_doorbells
    for i in range(count):
        drive.run(drive.submit(1, opcode, 16 * i, size // 512 - 1, buffer))
    drive.advance(2000)  # the last doorbell arrives
    after = wire_bytes(drive)
    assert drive.sq_doorbells + drive.cq_doorbells - bells == 2 * count
    wire = limits.command(bench.sim_link(drive.sim, limits.Link.parse(link, mps=mps, mrrs=mrrs)),
                          limits.Workload(size, float(opcode == NvmOpc.READ), chunk=512))
    for way, want in (("up", wire.up), ("down", wire.down)):
        got = (after[way] + after[f"{way}.dllp"] - before[way] - before[f"{way}.dllp"]) / count
        # DLLPs come one for several TLPs, so the last few may not have been sent yet.
        assert abs(got - want) <= 4 * limits.DLLP / count, (way, got, want)


@pytest.mark.parametrize("opcode", [NvmOpc.READ, NvmOpc.WRITE], ids=lambda o: o.name)
def test_bytes_with_a_list(make_drive: MakeDrive, opcode: int) -> None:
    """128 KiB: the PRP list is read once, and not much more of it than is needed."""
    drive = make_drive(memory=32 << 20)
    drive.start(queues=1, entries=64)
    buffer = drive.buffer(128 << 10)
    before = wire_bytes(drive)
    for i in range(4):
        drive.run(drive.submit(1, opcode, 256 * i, 255, buffer))
    after = wire_bytes(drive)
    wire = limits.command(bench.sim_link(drive.sim, limits.Link()),
                          limits.Workload(128 << 10, float(opcode == NvmOpc.READ), chunk=512))
    for way, want in (("up", wire.up), ("down", wire.down)):
        got = (after[way] + after[f"{way}.dllp"] - before[way] - before[f"{way}.dllp"]) / 4
        assert want - 32 <= got <= want + 700, (way, got, want)


@pytest.mark.parametrize("rw", ["randread", "randwrite", "randrw"])
def test_nothing_beats_the_limit(make_drive: MakeDrive, rw: str) -> None:
    """At depth the drive stays below the limit, and the bytes a command needs are not fewer than derived."""
    drive = make_drive(memory=64 << 20)
    drive.start(queues=2, entries=128)
    link = bench.sim_link(drive.sim, limits.Link())
    before, done = wire_bytes(drive), drive.completed
    result = bench.run_group(drive, [bench.Job(rw=rw, bs=4096, iodepth=32, numjobs=2, rwmixread=70, number_ios=300)])[0]
    after, count = wire_bytes(drive), drive.completed - done
    lim = bench.link_limit(link, result)
    assert 0 < result.iops <= lim.iops * 1.001
    for way, least in (("up", lim.up_bytes), ("down", lim.down_bytes)):
        got = (after[way] + after[f"{way}.dllp"] - before[way] - before[f"{way}.dllp"]) / count
        assert got >= least * (0.95 if rw == "randrw" else 0.995), (way, got, least)
