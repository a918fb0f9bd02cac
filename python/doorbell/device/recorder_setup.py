# SPDX-License-Identifier: Apache-2.0
"""How commands set a simulated recorder up, and what the links of its drives allow."""

from __future__ import annotations

from doorbell.device import limits
from doorbell.device.drives import SsdDrive
from doorbell.device.recorder_sim import BLOCK, RecorderSim

MAX_DRIVES = 8

PARAMS = {"MS_CYCLES": 5000, "RESET_US": 20, "RD_RING_BYTES": 524288, "HOST_REGS": 1}
"""A millisecond of the hosts' time limits is 20 us, and a reset pulse short: both are only waited for. The read rings
hold what drives of 80 us need at full rate, and the hosts' own registers are there; the top's defaults are without, for
area."""

LINK = "gen3x4"

STREAM_W = {1: 256, 2: 256, 3: 512, 4: 512, 5: 1024, 6: 1024, 7: 1024, 8: 1024}
"""Width of the capture stream: more than so many links take."""


def simulator_params(drives: int, buffer: int = 0) -> dict[str, int | str]:
    """buffer: bytes of memory before the stream, a power of two."""
    memory = {"BUFFER_LOG2": buffer.bit_length() - 1} if buffer else {}
    return {**PARAMS, "N_DRIVES": drives, "STREAM_W": STREAM_W[drives], **memory}


def traffic(sim: RecorderSim) -> tuple[int, int]:
    """Reads that the drives have sent so far, and doorbells that they have got."""
    reads = 0
    for port, drive in enumerate(sim.drives):
        own = drive.sim if isinstance(drive, SsdDrive) else None
        reads += (own.counters() if own else sim.counters(port))["up.MRd.tlps"]
    return reads, sim.counters()["user.stat_doorbells"]


def write_limit(before: tuple[int, int], after: tuple[int, int], blocks: int,
                link: limits.Link | None = None) -> limits.Limit:  # fmt: skip
    """What the link of one drive allows a capture, with as many entries a fetch and doorbells a write as there were."""
    link = link or limits.Link.parse(LINK)
    fetches = after[0] - before[0] - blocks * (BLOCK // link.mrrs)
    doorbells = (after[1] - before[1]) / 2 / blocks
    work = limits.HostWorkload(BLOCK, read=0, sqes_per_fetch=max(1.0, blocks / max(1, fetches)), sq_doorbells=doorbells,
                               cq_doorbells=doorbells)  # fmt: skip
    return limits.host_limit(link, work)
