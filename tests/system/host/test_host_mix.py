# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of the drive at once: how near mixes come to the link, and what may pass what on its way.

The hard block goes by db_host's credits (pcie_cq_np_req): posted requests pass the others, and are never passed.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from doorbell import build
from doorbell.bench.host import MS_CYCLES
from doorbell.device import limits
from doorbell.device.blocks import BlockCommand
from doorbell.device.drives import ExternalDrive, Latency, ModelDrive
from doorbell.device.host_sim import HostSim
from host_helpers import EACH, FAST, Host, library

PARAMS = {"DATA_W": 128, "MS_CYCLES": MS_CYCLES}
WR_RING_BYTES = 262144  # writes wait in it for reads before them
BUFFER, RING, FORWARD = 0x2000, 1 << 23, 6 << 23  # in the window: the admin buffer is memory of the drive's own
LINK = limits.Link.parse("gen3x4", mps=256, mrrs=512)


def mix(
    drive: ModelDrive, reads: float, params: dict[str, int], count: int = 8000, skip: int = 500
) -> tuple[float, dict[str, int]]:
    """Share of the link's limit of 4 KiB commands, 128 in flight, `reads` of them reads; what was counted meanwhile."""
    rng = random.Random(4)
    with HostSim(build.simulator("db_host", params), [drive]) as sim:
        sim.run_until(lambda: sim.up, 2_000_000)
        sim.write_data(rng.randbytes(4096), count)
        before = sim.counters()
        kinds = ["read" if rng.random() < reads else "write" for _ in range(count)]
        sim.submit([BlockCommand(k, 8 * rng.randrange(512), 8, n) for n, k in enumerate(kinds)])
        ended = sim.wait_status(count)
        assert not any(s.status for s in ended) and not sim.errors()
        moved = {name: value - before[name] for name, value in sim.counters().items()}
        works = [
            (kinds[skip:-skip].count(kind), limits.HostWorkload(
                4096, float(kind == "read"), sqes_per_fetch=count / moved["drive.fetches"], cq_doorbells=0,
                sq_doorbells=moved["down.MWr.tlps"] / count,
            )) for kind in ("read", "write")
        ]  # fmt: skip
        rate = (count - 2 * skip) / (ended[count - skip].cycle - ended[skip].cycle) * sim.clock_mhz * 1e6
        return rate / limits.host_mix(LINK, works).iops, moved


@pytest.mark.parametrize("reads", [0.7, *(pytest.param(part, marks=pytest.mark.nightly) for part in (0.5, 0.3))])
def test_share_of_the_link(reads: float) -> None:
    """At least 97 %, and CQ never stalls; without the credits it does, for the reads that wait, and a mix that fills
    both directions loses by it.
    """
    drive = ModelDrive(size=16 << 20, ready_us=1, read=Latency(20_000), write=Latency(10_000), max_reads=128)
    params = PARAMS | ({} if reads > 0.5 else {"WR_RING_BYTES": WR_RING_BYTES})  # few writes: the simulator of others
    share, moved = mix(drive, reads, params)
    without, stalled = mix(replace(drive, np_credits=False), reads, params)
    cq = moved["stall.cq"], stalled["stall.cq"]
    print(f"{reads:.0%} reads: {share:.4f}, without credits {without:.4f}; CQ stalled {cq}")
    assert 0.97 <= share < 1.01 and moved["stall.cq"] == 0
    if reads <= 0.5:
        assert stalled["stall.cq"] > 10_000 and stalled["stall.np"] == 0 < moved["stall.np"]
    assert reads != 0.5 or without < share - 0.01


def external(**options: object) -> HostSim:
    sim = HostSim(library("narrow"), [ExternalDrive(cq_tlps=16, **options)], seed=3, stall_pct=20)
    sim.run(100)
    return sim


@pytest.mark.parametrize("credits", [True, False])
def test_what_passes_what(credits: bool) -> None:
    """Behind reads that wait: a read finds what was written before it or, as posted requests may pass, after it, never
    what was there earlier. Writes keep their order among each other, and do not wait for the reads: without the credits
    they wait until db_host has room for those that are in the hard block.
    """
    rng = random.Random(5)
    with external(np_credits=credits) as sim:
        window, number, passed = sim.window, 0, 0
        waits: list[int] = []  # cycles until the last write came, behind 60 reads
        for _ in range(40):
            waiting = [(sim.host_read(window + RING + 4096 * rng.randrange(16), 512), 512)
                       for _ in range(rng.choice([0, 4, 40, 60]))]  # fmt: skip
            at = window + BUFFER + 4 * rng.randrange(1000)
            asked: list[tuple[int, int]] = []  # (handle, the number last written before)
            first, start = number + 1, sim.cycle
            for _ in range(rng.randrange(1, 12)):
                number += 1
                sim.host_write(at, number.to_bytes(4, "little"))
                sim.host_write(window + FORWARD, number.to_bytes(4, "little"))
                if rng.random() < 0.6:
                    asked.append((sim.host_read(at, 4), number))
            answers: dict[int, bytes] = {}
            todo = [*waiting, *((h, 4) for h, _ in asked)]
            while len(answers) < len(todo):
                sim.run(20)
                for handle, size in todo:
                    if handle not in answers and (data := sim.host_read_poll(handle, size)) is not None:
                        answers[handle] = data
            for handle, least in asked:
                got = int.from_bytes(answers[handle], "little")
                assert least <= got <= number, f"read {got:#x} after {least:#x} was written"
                passed += got > least
            sim.run(500)  # what is posted has no end to wait for
            came = sim.forwarded()
            assert [int.from_bytes(f.data[:4], "little") for f in came] == list(range(first, number + 1))
            if len(waiting) == 60:
                waits.append(came[-1].cycle - start)
        print(f"credits {credits}: {passed} reads were passed; writes waited {min(waits)} to {max(waits)} cycles")
        assert not sim.errors() and passed > 10 and len(waits) > 5
        assert max(waits) < 600 if credits else min(waits) > 1000


@pytest.mark.parametrize("config", EACH)
@pytest.mark.parametrize("credits", [True, False])
def test_data(config: str, credits: bool) -> None:
    """Random reads and writes, stalls everywhere, few credits on the link, many reads out: data compared."""
    drive = ModelDrive(**{**FAST, "max_reads": 128, "cq_tlps": 4, "np_credits": credits})
    host = Host(config, drive, seed=11, stall_pct=25, user_stall_pct=10).up()
    for _ in range(3):
        host.give(host.random(120, "read write", 32))
        host.check()
    assert (host.sim.counters()["stall.np"] > 0) == credits
    host.close()
