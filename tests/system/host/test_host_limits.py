# SPDX-License-Identifier: Apache-2.0
"""The link's limit for db_host as `doorbell.device.limits` derives it, against the bytes counted on the wire."""

from __future__ import annotations

import random

import pytest
from doorbell import build
from doorbell.device import limits
from doorbell.device.blocks import BlockCommand
from doorbell.device.drives import Latency, ModelDrive
from doorbell.device.host_sim import HostSim

KINDS = ("MRd", "MWr", "CplD", "Cpl")
PARAMS = {"DATA_W": 128, "MS_CYCLES": 5000}
COUNT = 192


def moved(before: dict[str, int], after: dict[str, int], way: str) -> int:
    """Bytes of TLPs and DLLPs in one direction."""
    names = [f"{way}.{k}.{part}" for k in KINDS for part in ("header", "payload")]
    return sum(after[n] - before[n] for n in [*names, f"{way}.ack.bytes", f"{way}.fc.bytes"])


@pytest.mark.parametrize("op", ["write", "read"])
@pytest.mark.parametrize(("block", "mps", "mrrs"), [(512, 256, 512), (4096, 256, 512), (4096, 128, 512),
                                                    (8192, 256, 512), (65536, 256, 512)])  # fmt: skip
@pytest.mark.parametrize("fetch", [1, 8])
def test_bytes_and_rate(op: str, block: int, mps: int, mrrs: int, fetch: int) -> None:
    """Every byte of a run at depth is foreseen, and it is no faster than the limit.

    With several entries a fetch, bytes are known for fetches of one length; the limit is that of full ones.
    """
    drive = ModelDrive(size=64 << 20, mps_cap=mps, read=Latency(10_000), write=Latency(10_000), ready_us=1,
                       fetch_entries=fetch, write_buffer=0)  # fmt: skip
    with HostSim(build.simulator("db_host", PARAMS), [drive]) as sim:
        sim.run_until(lambda: sim.up, 2_000_000)
        sim.run(2000)
        assert (sim.signal("mps"), sim.signal("mrrs")) == (mps, mrrs)
        count = max(8, COUNT * 4096 // max(block, 4096))
        data = random.Random(1).randbytes(block * count)
        before, begin = sim.counters(), sim.cycle
        if op == "write":
            sim.write_data(data)
        sim.submit([BlockCommand(op, block // 512 * n, block // 512, n) for n in range(count)])
        ended = sim.wait_status(count)
        assert not any(s.status for s in ended)
        cycles = ended[-1].cycle - begin
        sim.run(5000)  # the last doorbell arrives
        after = sim.counters()
        assert not sim.errors()
        if op == "write":
            assert sim.media_read(0, len(data)) == data
        commands = after["drive.sqes"] - before["drive.sqes"]
        fetches = after["drive.fetches"] - before["drive.fetches"]
        work = limits.HostWorkload(
            block, float(op == "read"), part=block * count // commands, sqes_per_fetch=fetch,
            sq_doorbells=(after["down.MWr.tlps"] - before["down.MWr.tlps"]) / commands, cq_doorbells=0,
            register_reads=(after["down.MRd.tlps"] - before["down.MRd.tlps"]) / count,
        )  # fmt: skip
        link = limits.Link.parse(drive.link, mps=mps, mrrs=mrrs)
        wire = limits.host_command(link, work)
        for way, want in (("up", wire.up), ("down", wire.down)):
            got = moved(before, after, way) / count
            # DLLPs come one for several TLPs: the last few may not have been sent yet
            slack = 4 * limits.DLLP / count
            assert want - slack <= got <= want + slack + (fetch > 1) * 60 * commands / count, (way, got, want)
        best = limits.host_limit(link, work)
        got = block * count / (cycles / sim.clock_mhz * 1e-6)
        share = limits.payload_share(best)
        print(f"{op} {block}: {got / 1e9:.3f} of {best.bytes_per_s / 1e9:.3f} GB/s, payload {share:.4f} of the wire, "
              f"{commands / fetches:.2f} entries a fetch")  # fmt: skip
        assert got <= best.bytes_per_s
        assert share == pytest.approx(block / max(wire.up, wire.down))
