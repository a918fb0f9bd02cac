# SPDX-License-Identifier: Apache-2.0
"""What hosts and recorders do, as figures."""

from __future__ import annotations

from typing import Any

from doorbell.bench import host as host_bench
from doorbell.bench import recorder as recorder_bench
from doorbell.bench import suite
from doorbell.bench.behaviour_drives import Figures, digest, lines, of_result
from doorbell.bench.jobs import Job
from doorbell.bench.runner import noise
from doorbell.device.blocks import BlockCommand
from doorbell.device.host_sim import HostSim
from doorbell.errors import UserError


def of_host(sim: HostSim, begin: int = 0) -> Figures:
    if broken := sim.errors():
        raise UserError(f"rules of PCIe or NVMe were broken: {broken}")
    out: Figures = {"cycles": sim.cycle - begin}
    for p in range(sim.ports):
        out |= {f"drive {p}: {k}": v for k, v in sim.counters(p).items()}
    return out


def bench_host(setup: host_bench.Setup, jobs: dict[str, Job]) -> Figures:
    """Jobs of a host, each after its own bring-up; all data is checked by the bench."""
    out: Figures = {}
    for name, job in jobs.items():
        with host_bench.open_host(setup) as sim:
            out[f"{name}: bring-up"] = sim.cycle
            out |= of_result(name, host_bench.run_job(sim, job, host_bench.link_of(sim, setup)))
            out |= {f"{name}: {k}": v for k, v in of_host(sim).items()}
            if setup.ssd == "model":
                out[f"{name}: media"] = digest(sim.media_view())
    return out


HOST_JOBS = {
    "write 4k": Job(rw="write", bs=4096, iodepth=32, number_ios=200),
    "read 4k": Job(rw="read", bs=4096, iodepth=128, number_ios=300),
    "randrw 16k": Job(rw="randrw", bs=16384, iodepth=16, rwmixread=70, number_ios=80),
}
CMD_TIMEOUT, ABORT_MS, POLL_MS = 0x28, 0x1C, 0x20  # registers of db_host
DRIVE_FAULTS: tuple[dict[str, Any], ...] = (
    {"kind": "status", "status": 0x281, "skip": 5}, {"kind": "late", "delay_us": 30, "skip": 12},
    {"kind": "double", "skip": 20, "count": 4}, {"kind": "phase", "skip": 30, "count": 4},
    {"kind": "lost", "skip": 40}, {"kind": "damage", "skip": 50}, {"kind": "hang", "skip": 60},
)  # fmt: skip


def host_faults(setup: host_bench.Setup) -> Figures:
    """Reads and writes while the drive fails in every way that a host survives: each command's end, and all data."""
    out: Figures = {}
    with host_bench.open_host(setup) as sim:
        for addr, value in ((CMD_TIMEOUT, 20_000), (ABORT_MS, 1), (POLL_MS, 1)):
            sim.axil_write(addr, value)
        begin, tag, log = sim.cycle, 0, []
        room = bytearray(1 << 20)
        sim.read_buffer(room)
        for fault in DRIVE_FAULTS:
            number = sim.fault(**fault)
            commands = [
                BlockCommand(("read", "write")[n % 3 == 0], (n * 37) % 4096, 1 + n % 16, tag + n) for n in range(80)
            ]
            tag += len(commands)
            sim.write_data(noise(tag, 512 * sum(c.blocks for c in commands if c.op == "write")))
            sim.submit(commands)
            log += [f"{s.cycle - begin}/{s.tag}={s.status:x}" for s in sim.wait_status(len(commands))]
            sim.run_until(lambda: sim.up or sim.dead, 5_000_000)
            sim.run(5000)
            out[f"{fault['kind']}: hits"] = sim.fault_hits(number)
            sim.fault_clear()
        ends = [f"{e.cycle - begin} {e.size} {e.error}" for e in sim.data_ends()]
        out |= of_host(sim, begin) | lines("command", log)
        out |= {
            "data read": digest(room),
            "ends of data": digest(" ".join(ends).encode()),
            "media": digest(sim.media_view()),
        }
    return out


def bench_recorder(setup: recorder_bench.RecorderSetup, size: int) -> Figures:
    """A capture and its read-out; the bench compares the drives with the stream."""
    rows = size // (setup.drives * recorder_bench.BLOCK)
    data = recorder_bench.stream_of(rows * setup.drives, 1)
    out: Figures = {}
    with recorder_bench.open_recorder(setup) as sim:
        out["bring-up"] = begin = sim.cycle
        found = [recorder_bench.capture(sim, setup, data)]
        if not setup.rate:
            found.append(recorder_bench.read_out(sim, setup))
        for m in found:
            out |= {
                f"{m.name}: cycles a block": m.cycles,
                f"{m.name}: all cycles": m.all_cycles,
                f"{m.name}: blocks": m.blocks,
                f"{m.name}: peak us": m.peak_us,
                f"{m.name}: lost": m.lost,
                f"{m.name}: histogram": " ".join(map(str, m.histogram)),
            }
        out |= of_host(sim, begin)
        out["media"] = digest(*(sim.media_view(0, rows * recorder_bench.BLOCK, i) for i in range(setup.drives)))
    return out


def of_suite(name: str) -> Figures:
    return {row.name: row.measured for row in suite.rows(name)}
