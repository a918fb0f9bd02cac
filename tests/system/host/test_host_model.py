# SPDX-License-Identifier: Apache-2.0
"""db_host and the model of a drive: drives of many kinds are brought up and hold data; what a drive does badly is
met. Wire-level figures are in test_host_limits.py.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from doorbell import build
from doorbell.device.blocks import BlockCommand
from doorbell.device.drives import Latency, ModelDrive
from doorbell.device.host_sim import HostSim

PARAMS = {"DATA_W": 128, "MS_CYCLES": 5000}
FAST = {"size": 32 << 20, "ready_us": 5, "unready_us": 5, "read": Latency(8000), "write": Latency(4000)}


def open_host(drive: dict[str, Any], **options: Any) -> HostSim:
    return HostSim(build.simulator("db_host", PARAMS), [ModelDrive(**{**FAST, **drive})], **options)


def there_and_back(sim: HostSim, seed: int = 1) -> None:
    """Commands of many sizes, written and read back, all in flight at once."""
    rng = random.Random(seed)
    size = 1 << sim.signal("lba_shift")
    commands, at = [], rng.randrange(100)
    start = at
    for tag in range(24):
        blocks = rng.randrange(1, 1 + (64 << 10) // size)
        commands.append(BlockCommand("write", at, blocks, tag))
        at += blocks
    data = rng.randbytes((at - start) * size)
    sim.write_data(data)
    sim.submit(commands)
    assert [(s.tag, s.status) for s in sim.wait_status(24)] == [(tag, 0) for tag in range(24)]
    assert sim.media_read(start * size, len(data)) == data
    buffer = bytearray(len(data))
    sim.read_buffer(buffer)
    sim.submit([c._replace(op="read") for c in commands])
    assert [(s.tag, s.status) for s in sim.wait_status(24)] == [(tag, 0) for tag in range(24)]
    sim.run_until(lambda: sim.signal("rdata_bytes") == len(buffer))
    assert bytes(buffer) == data


@pytest.mark.parametrize("drive", [
    {},
    {"lba_bytes": 4096, "mdts": 0},
    {"mdts": 1, "dstrd": 2, "mqes": 16},
    {"crs_us": 30, "drive_mps_cap": 128, "mqes": 65536, "queues": 1},
    {"read": Latency(3000, sigma=2.0), "write": Latency(1000, to_ns=20_000), "fetch_entries": 3, "list_bytes": 512},
    {"link": "gen1x1", "max_reads": 2, "max_cmds": 3},
], ids=lambda d: "-".join(d) or "plain")  # fmt: skip
@pytest.mark.parametrize("stall", [0, 25])
def test_drives_of_many_kinds(drive: dict[str, Any], stall: int) -> None:
    with open_host(drive, stall_pct=stall, user_stall_pct=stall) as sim:
        sim.run_until(lambda: sim.up or sim.dead, 5_000_000)
        assert sim.up and sim.signal("blocks") == (32 << 20) // drive.get("lba_bytes", 512)
        there_and_back(sim, seed=len(drive) + stall)
        assert not sim.errors()


def test_error_status_leaves_others_alone() -> None:
    """A command that fails comes back with its tag and status; the data of its neighbours is right."""
    with open_host({}) as sim:
        sim.run_until(lambda: sim.up, 5_000_000)
        data = random.Random(2).randbytes(20 * 4096)
        sim.fault("status", opcode=1, lba=64, blocks=8, count=1, status=0x280)
        sim.write_data(data)
        sim.submit([BlockCommand("write", 8 * n, 8, n) for n in range(20)])
        ended = sim.wait_status(20)
        assert [s.tag for s in ended] == list(range(20))
        assert [s.status & 0x7FF for s in ended] == [0x280 if n == 8 else 0 for n in range(20)]
        want = bytearray(data)
        want[8 * 4096 : 9 * 4096] = bytes(4096)
        assert sim.media_read(0, len(data)) == bytes(want)
        assert not sim.errors()


def test_no_link_then_link() -> None:
    """Without a link nothing is up; when it comes the drive is brought up; when it goes, commands end all the same."""
    with open_host({"link_up": False}) as sim:
        sim.run(50_000)
        assert not sim.up
        sim.link(True)
        sim.run_until(lambda: sim.up, 5_000_000)
        there_and_back(sim)
        sim.fault("lost", count=None)
        sim.submit([BlockCommand("read", 0, 8, tag) for tag in range(4)])
        sim.run(5000)
        sim.link(False)
        ended = sim.wait_status(4, cycles=20_000_000)
        assert [s.tag for s in ended] == [0, 1, 2, 3] and all(s.status for s in ended)
        assert not sim.errors()
