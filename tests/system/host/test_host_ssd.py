# SPDX-License-Identifier: Apache-2.0
"""db_host and db_ssd, both Verilated, link to link: our host drives our drive."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

import pytest
from doorbell import build
from doorbell.device.blocks import BlockCommand
from doorbell.device.drives import ssd_drive
from doorbell.device.host_sim import HostSim

PARAMS = {"DATA_W": 128, "MS_CYCLES": 5000}


@pytest.fixture(scope="module", params=[0, pytest.param(1, marks=pytest.mark.nightly)], ids=["PRPs", "SGLs"])
def sim(request: pytest.FixtureRequest) -> Iterator[HostSim]:
    params = {"DATA_W": 256} | ({"SGL": 1} if request.param else {})
    drive = ssd_drive(build.simulator("db_ssd", params), media_size=32 << 20)
    with HostSim(build.simulator("db_host", PARAMS), [drive]) as sim:
        sim.run_until(lambda: sim.up, 5_000_000)
        assert sim.axil_read(0x4C) >> 5 & 1 == request.param
        yield sim
        assert not sim.errors()


def test_bring_up(sim: HostSim) -> None:
    """What the host has found is what the drive is; both ends agree on sizes."""
    assert sim.signal("blocks") << sim.signal("lba_shift") == 32 << 20
    ssd = sim.drives[0].sim
    assert (ssd.cfg()["mps"], ssd.cfg()["mrrs"]) == (sim.signal("mps"), sim.signal("mrrs")) == (256, 512)
    cap, status = sim.reg(0)
    assert status == 0 and cap & 0xFFFF >= 63
    sqe = struct.pack("<BBHI", 0x0A, 0, 0, 0) + bytes(32) + struct.pack("<I", 7)
    assert struct.unpack_from("<I", sim.admin(sqe))[0] != 0, "Get Features, number of queues"


def test_write_read(sim: HostSim) -> None:
    """Commands of many sizes, all at once: data in the media, and back."""
    rng = random.Random(3)
    commands, at = [], 0
    for tag in range(40):
        blocks = rng.choice((1, 2, 7, 8, 16, 64, 256))
        commands.append(BlockCommand("write", at, blocks, tag))
        at += blocks
    data = rng.randbytes(at * 512)
    sim.write_data(data)
    sim.submit(commands)
    ended = sim.wait_status(len(commands))
    assert [(s.tag, s.status) for s in ended] == [(tag, 0) for tag in range(40)]
    assert sim.media_read(0, len(data)) == data
    buffer = bytearray(len(data))
    sim.read_buffer(buffer)
    sim.submit([c._replace(op="read") for c in commands])
    assert not any(s.status for s in sim.wait_status(len(commands)))
    sim.run_until(lambda: sim.signal("rdata_bytes") == len(buffer))
    assert bytes(buffer) == data
    assert [e.size for e in sim.data_ends()] == [512 * c.blocks for c in commands]


def test_other_commands(sim: HostSim) -> None:
    """Write Zeroes, trim, verify, flush; a command beyond the end is refused."""
    sim.media_write(0, random.Random(4).randbytes(64 << 10))
    want = bytearray(sim.media_read(0, 64 << 10))
    want[2 * 512 : 5 * 512] = bytes(3 * 512)
    sim.submit(
        [
            BlockCommand("zeroes", 2, 3, 1),
            BlockCommand("trim", 64, 8, 2),
            BlockCommand("verify", 0, 32, 3),
            BlockCommand("flush"),
        ]
    )
    assert not any(s.status for s in sim.wait_status(4))
    assert sim.media_read(0, 32 << 10) == bytes(want[: 32 << 10])
    sim.submit([BlockCommand("verify", (32 << 20) // 512, 1, 9)])
    (status,) = sim.wait_status()
    assert (status.tag, status.status & 0x7FF) == (9, 0x80)


def test_shutdown(sim: HostSim) -> None:
    """The last thing that is done to it: the drive's firmware flushes its media and says that it is shut down."""
    sim.axil_write(0x08, 4)
    sim.run_until(lambda: sim.axil_read(0x0C) & 0x30, 2_000_000, step=500)
    assert sim.axil_read(0x0C) & 0x33 == 0x12 and sim.reg(0x1C)[0] >> 2 & 3 == 2
