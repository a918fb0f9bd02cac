# SPDX-License-Identifier: Apache-2.0
"""What db_host promises in cycles. Same seed, same cycles: figures are exact, and each is held to its target too."""

from __future__ import annotations

import pytest
from doorbell import build
from doorbell.device import limits
from doorbell.device.blocks import BlockCommand
from doorbell.device.drives import Latency, ModelDrive
from doorbell.device.host_sim import HostSim

PARAMS = {"DATA_W": 128, "MS_CYCLES": 5000}  # as in test_host_limits.py: the same build
LAST_BEAT, COMMAND = 5, 6  # cycles to the doorbell


def ready(drive: ModelDrive, **options: object) -> HostSim:
    sim = HostSim(build.simulator("db_host", PARAMS), [drive], **options)
    sim.run_until(lambda: sim.up, 2_000_000)
    sim.run(2000)
    return sim


def steady(op: str, block: int, count: int, skip: int, drive: ModelDrive, **options: object
           ) -> tuple[float, float, int]:  # fmt: skip
    """Cycles a command between the ends of commands `skip` and `count - skip`, the link's own, and most in flight."""
    with ready(drive, **options) as sim:
        before = sim.counters()
        if op == "write":
            sim.write_data(bytes(range(256)) * (block // 256), count)
        sim.submit([BlockCommand(op, n * block // 512 % 16384, block // 512, n) for n in range(count)])
        ended = sim.wait_status(count)
        assert not any(s.status for s in ended) and not sim.errors()
        after = sim.counters()
        moved = {name: after[name] - before[name] for name in after}
        commands = moved["drive.sqes"]
        work = limits.HostWorkload(
            block, float(op == "read"), part=block, sqes_per_fetch=commands / moved["drive.fetches"],
            sq_doorbells=moved["down.MWr.tlps"] / commands, cq_doorbells=0,
        )  # fmt: skip
        limit = limits.host_limit(limits.Link.parse(drive.link, mps=256, mrrs=512), work)
        cycles = (ended[count - skip].cycle - ended[skip].cycle) / (count - 2 * skip)
        return cycles, sim.clock_mhz * 1e6 / limit.iops, after["drive.max_inflight"]


@pytest.mark.parametrize("before", [True, False])
def test_last_beat_to_doorbell(before: bool) -> None:
    """From the cycle in which the last beat of a block is taken to the doorbell's first beat on RQ: at most 16.

    The command comes before the data, or after it (then from the command).
    """
    for lba in (0, 8, 16):
        with ready(ModelDrive(ready_us=1)) as sim:
            tails = sim.counters()["down.MWr.tlps"]
            command, data = [BlockCommand("write", lba, 8, 1)], bytes(4096)
            if before:
                sim.submit(command)
                sim.run(100)
                sim.write_data(data)
            else:
                sim.write_data(data)
                sim.run(1000)
                sim.submit(command)
            while sim.signal("wdata_left") or sim.signal("cmds_left"):
                sim.run(1)
            taken = sim.cycle
            while sim.counters()["down.MWr.tlps"] == tails:
                sim.run(1)
                assert sim.cycle < taken + 100
            # a posted write is two beats at 128 bits and is counted with its second
            latency = sim.cycle - 1 - taken
            print(f"doorbell {latency} cycles after the last beat" if before else f"{latency} after the command")
            assert latency == (LAST_BEAT if before else COMMAND) and latency <= 16


@pytest.mark.parametrize(("op", "us", "cycles"), [("write", 10, 289.98077), ("read", 80, 288.95353)])
def test_4k_at_depth(op: str, us: int, cycles: float) -> None:
    """97 % of what the link allows: writes that complete after 10 us, reads after 80 us, 4 KiB, Gen3 x4, 250 MHz."""
    drive = ModelDrive(size=16 << 20, ready_us=1, read=Latency(us * 1000), write=Latency(us * 1000))
    took, least, flight = steady(op, 4096, 1024, 200, drive)
    print(f"{op} 4 KiB at {us} us: {took:.3f} cycles, link {least:.3f}, {least / took:.4f}; {flight} in flight")
    assert least / took >= 0.97
    assert took == pytest.approx(cycles, abs=0.001)


@pytest.mark.parametrize(("op", "cycles"), [("write", 41.043), ("read", 38.751)])
def test_512_at_125_mhz(op: str, cycles: float) -> None:
    """At least 1.5 million commands of 512 bytes a second: at most 83 cycles each."""
    drive = ModelDrive(size=16 << 20, link="gen2x4", ready_us=1, read=Latency(20_000), write=Latency(10_000))
    took, least, _ = steady(op, 512, 3000, 500, drive, clock_mhz=125)
    print(f"{op} 512: {took:.3f} cycles, {125 / took:.3f} M/s; link {least:.3f}")
    assert 125 / took >= 1.5
    assert took == pytest.approx(cycles, abs=0.001)
