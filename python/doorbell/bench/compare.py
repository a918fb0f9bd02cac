# SPDX-License-Identifier: Apache-2.0
"""`./doorbell compare`: does everything still behave as recorded, to the cycle?

A fixed list of workloads runs in the simulators. Their figures (cycles, bytes, latencies, counters, digests of all that
happens at the ports of a drive, the end of every random command) are set beside a recording, tests/data/behaviour.json:
one that differs or is gone is a failure, one that the recording does not have is only listed.

    ./doorbell compare                      # after a change that must not show
    ./doorbell compare --record tests/data/behaviour.json --only 'bench-csd-*'    # after one that may, with the reason

Workloads on a drive begin at a fixed cycle after bring-up: how long the firmware takes shows in "bring-up" and in the
workloads admin-*, and hardly elsewhere.
"""

from __future__ import annotations

import hashlib
import json as json_module
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import typer

from doorbell import paths
from doorbell.bench import host as host_bench
from doorbell.bench import recorder as recorder_bench
from doorbell.bench import suite
from doorbell.bench.jobs import Job
from doorbell.bench.results import Result, percentile
from doorbell.bench.runner import noise, run_group
from doorbell.build import say
from doorbell.compute import drive as compute
from doorbell.device.blocks import BlockCommand
from doorbell.device.host_sim import HostSim
from doorbell.device.opening import check_clean, open_sim
from doorbell.errors import UserError
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NSID_ALL, AdminOpc, Cns, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from doorbell.nvme.traffic import Traffic, media_of
from doorbell.ui import print_table, progress_bar, write_json

FILE = paths.ROOT / "tests" / "data" / "behaviour.json"
SETTLED = 1 << 20  # workloads on a drive begin at a multiple of so many cycles
MEDIA = 64 << 20
LINE = 50  # commands in a figure

Figure = int | float | str
Figures = dict[str, Figure]


def digest(*parts: bytes | memoryview) -> str:
    out = hashlib.sha256()
    for part in parts:
        out.update(part)
    return out.hexdigest()[:32]


def lines(name: str, items: list[str]) -> Figures:
    """A long list as figures of LINE items each, so that a difference has a place."""
    return {f"{name} {i:04d}": " ".join(items[i : i + LINE]) for i in range(0, len(items), LINE)}


# -------------------------------------------------------------------------------------------------------------- drives


@dataclass
class Watched:
    """A drive that is up, and all that happens on it from `begin` on, a multiple of SETTLED cycles: the firmware's own
    time is in the figures of bring-up alone.
    """

    top: str
    data_w: int
    link: str
    options: dict[str, Any] = field(default_factory=dict)
    queues: int = 4
    operator: str | None = None

    def __post_init__(self) -> None:
        self.sim = open_sim(top=self.top, data_w=self.data_w, link=self.link, media_size=MEDIA, **self.options)
        self.drive = Driver(self.sim, HostMemory(96 << 20))
        self.cycles = 0
        self.found: Counter[str] = Counter()  # counters and stalls
        self.events: dict[str, tuple[int, Any]] = {}
        self.bring_ups: Figures = {}
        self.start(self.queues)

    def start(self, queues: int, **how: Any) -> None:
        """Bring it up (again)."""
        since = self.sim.cycle
        self.drive.start(queues=queues, entries=64, **how)
        if self.operator:
            compute.switch_on(self.drive, self.operator)
        self.bring_ups[f"bring-up {len(self.bring_ups)}"] = self.sim.cycle - since
        while self.sim.cycle % SETTLED:
            self.drive.advance(SETTLED - self.sim.cycle % SETTLED)
        self.begin, self.before = self.sim.cycle, self.counted()
        self.sim.record()

    def counted(self) -> Counter[str]:
        out = {f"counter {k}": v for k, v in self.sim.counters().items()}
        return Counter(out | {f"stall {i:02d}": v for i, v in enumerate(self.sim.stalls())})

    def collect(self) -> None:
        """Take what was recorded: often enough, the recording holds a million events."""
        for e in self.sim.recorded():
            count, sha = self.events.get(e.kind) or (0, hashlib.sha256())
            sha.update(struct.pack("<QIQ", e.cycle - self.begin, e.a, e.b))
            self.events[e.kind] = count + 1, sha

    def pause(self) -> None:
        """What comes now, until `start`, is not looked at."""
        self.collect()
        self.sim.record(())
        self.cycles += self.sim.cycle - self.begin
        for name, value in self.counted().items():
            self.found[name] += value - self.before[name]

    def figures(self) -> Figures:
        self.pause()
        check_clean(self.sim)
        return {
            **self.bring_ups, **self.found, "cycles": self.cycles, "media": digest(self.sim.media_view()),
            "commands": self.drive.completed, "interrupts": self.drive.interrupts,
            **{f"events {kind}": f"{count} {sha.hexdigest()[:32]}" for kind, (count, sha) in self.events.items()},
        }  # fmt: skip

    def close(self) -> None:
        self.sim.close()


def of_result(name: str, r: Result) -> Figures:
    """What the bench says of a job."""
    out: Figures = {"ios": r.ios, "bytes": r.read.bytes + r.write.bytes, "ns": r.duration_ns, "iops": r.iops}
    for side, v in (("read", r.read.clat_ns), ("write", r.write.clat_ns)):
        if v:
            ordered = np.sort(np.array(v))
            out |= {f"{side} p{p:g} ns": percentile(ordered, p) for p in (50, 99, 99.9, 100)}
            out[f"{side} latencies"] = digest(np.array(v).tobytes())
    return {f"{name}: {k}": v for k, v in out.items()}


def bench_drive(top: str, data_w: int, link: str, jobs: dict[str, Job], operator: str | None = None) -> Figures:
    watched = Watched(top, data_w, link, operator=operator)
    out: Figures = {}
    for name, job in jobs.items():
        out |= of_result(name, run_group(watched.drive, [job], progress=lambda _: watched.collect())[0])
        watched.collect()
    out |= watched.figures()  # before the log is read: reading is work of the firmware
    if operator is not None and (results := compute.results(watched.drive)):
        out["results"] = digest(*(repr((r.number, r.op, r.write, r.lba, r.nbytes, r.digest)).encode() for r in results))
    watched.close()
    return out


SSD_JOBS = {
    "randread 4k": Job(rw="randread", bs=4096, iodepth=32, numjobs=4, number_ios=200),
    "randwrite 4k": Job(rw="randwrite", bs=4096, iodepth=32, numjobs=4, number_ios=200),
    "rw 64k": Job(rw="rw", bs=65536, iodepth=8, numjobs=2, rwmixread=70, number_ios=40),
    "randread 512": Job(rw="randread", bs=512, iodepth=32, numjobs=4, number_ios=300),
    "randrw 4k, QD 1": Job(rw="randrw", bs=4096, iodepth=1, number_ios=40),
}
CSD_JOBS = {
    "randwrite 4k": Job(rw="randwrite", bs=4096, iodepth=16, numjobs=2, size=2 << 20, number_ios=80),
    "randread 4k": Job(rw="randread", bs=4096, iodepth=16, numjobs=2, size=2 << 20, number_ios=80),
    "randrw 16k": Job(rw="randrw", bs=16384, iodepth=4, numjobs=2, size=2 << 20, number_ios=20),
}
OPERATORS = ("pass", "add", "aes-ctr", "aes-xts", "sha256", "crc32c", "xor:mask=0x11223344", "count:value=0x0a")


# ----------------------------------------------------------------------------------------------------- random commands


@dataclass
class Logged(Traffic):
    """Traffic that keeps, in order of completion: cycle/queue.command/opcode=status, and a digest of what was read."""

    begin: int = 0
    log: list[str] = field(default_factory=list)

    def check(self, command: Command) -> None:
        sent = self.sent[command]
        data = ""
        if command.opcode == NvmOpc.READ and sent.buffer is not None:
            data = "#" + digest(sent.buffer.read())[:8]
        cycle = round(command.done_ns * self.drive.sim.clock_mhz / 1000) - self.begin
        self.log.append(f"{cycle}/{command.qid}.{command.cid:x}/{command.opcode:02x}={command.status15:x}{data}")
        super().check(command)

    def lose(self, commands: list[Command]) -> None:
        self.log += [f"lost/{c.qid}.{c.cid:x}" for c in commands]
        super().lose(commands)


def random_commands(top: str, data_w: int, link: str, count: int, operator: str | None = None,
                    **options: Any) -> Figures:
    """`count` commands in nine parts: all kinds, some bad; four faults of the link; errors of the media; a controller
    reset and a function-level reset with commands in flight, other queues after each; all kinds again."""
    watched = Watched(top, data_w, link, {"cpl_timeout_us": 50, **options}, queues=8, operator=operator)
    drive, sim = watched.drive, watched.sim
    media = media_of(drive)
    log: list[str] = []
    parts = iter(range(100))

    def traffic(bad: float = 0.05, *tolerate: Status) -> Logged:
        return Logged(drive, media, seed=next(parts), region=4096, largest=32 << 10, bad=bad,
                      tolerate=frozenset(tolerate), begin=watched.begin, log=log)

    def some(t: Traffic, percent: int) -> None:
        t.run(count * percent // 100, 16)
        watched.collect()

    def leave(percent: int, cycles: int) -> Logged:
        t = traffic(0)
        t.start(count * percent // 100, 16)
        drive.ring()
        drive.advance(cycles)
        watched.pause()
        return t

    some(traffic(), 24)
    for i, kind in enumerate(("ur", "ca", "poison", "drop")):
        rings = max(q.address + q.entries * 64 for q in drive.sqs.values())
        for nth in (7, 40, 90):
            sim.inject(kind, addr=rings, length=drive.memory.base + drive.memory.size - rings, nth=nth, count=1 + i % 2)
        some(traffic(0, Status.DATA_TRANSFER_ERROR), 8)
        sim.inject_clear()
    for at in range(8):
        sim.media_error(at * (256 << 10), 64 << 10, count=2)
    some(traffic(0, Status.READ_ERROR, Status.WRITE_FAULT), 10)
    sim.media_error_clear()
    leave(8, 300).lose(drive.disable())
    watched.start(12, shared_cqs=3, vectors=2, cq_entries=256)
    some(traffic(), 10)
    leave(6, 77).lose(drive.flr())
    watched.start(4, wrr=True, prios=(0, 1, 2, 3))
    last = traffic()
    some(last, 10)
    last.read_all()
    out = watched.figures()
    watched.close()
    return out | lines("command", log) | {"command": digest(" ".join(log).encode())}


# ------------------------------------------------------------------------------------------------------ admin commands

FEATURES = range(0x20)
AER = 0x0C  # ends only when there is something to say
ONCS = slice(520, 522)  # of Identify Controller: a figure of its own, so that a new command shows here alone


def admin_commands(top: str) -> Figures:
    """What the firmware says: every Identify, log page and feature, and each opcode with nothing in its fields."""
    watched = Watched(top, 256, "gen3x8", queues=2)
    drive = watched.drive
    buffer = drive.buffer(4096)
    out: Figures = {}

    def ask(opcode: int, size: int = 4096, **fields: Any) -> tuple[str, bytes]:
        buffer.write(bytes(4096))
        command = drive.admin_try(opcode, buffer=buffer, **fields)
        return f"{command.status15:x} {command.dw0:x}", buffer.read(size)

    for cns in range(0x20):
        said, data = ask(AdminOpc.IDENTIFY, nsid=1, cdw10=cns)
        if cns == Cns.CTRL:
            out["identify 01, ONCS"] = data[ONCS].hex()
            data = data[: ONCS.start] + data[ONCS.stop :]
        out[f"identify {cns:02x}"] = f"{said} {digest(data)}"
    for page in (*range(0x10), *range(0xC0, 0xC4)):
        said, data = ask(AdminOpc.GET_LOG_PAGE, nsid=NSID_ALL, cdw10=page | 1023 << 16)
        if page == 5:  # commands: an entry each, of what there is
            entries = struct.unpack("<512I", data[:2048])
            out |= {f"log 05 {'admin' if i < 256 else 'I/O'} {i % 256:02x}": v for i, v in enumerate(entries) if v}
        else:
            out[f"log {page:02x}"] = f"{said} {digest(data)}"
    for name, opcode, cdw11 in (("get", AdminOpc.GET_FEATURES, 0), ("set", AdminOpc.SET_FEATURES, 1)):
        for select in range(4 if name == "get" else 1):
            said = [ask(opcode, nsid=1, cdw10=f | select << 8, cdw11=cdw11)[0].replace(" ", "/") for f in FEATURES]
            out[f"{name} features, select {select}"] = " ".join(said)
    said = []
    for opcode in range(256):
        if opcode != AER:
            said.append(f"{opcode:02x}={drive.admin_try(opcode).status15:x}")
    watched.pause()
    out |= lines("opcode", said) | watched.bring_ups | {"cycles": watched.cycles}
    check_clean(watched.sim)
    watched.close()
    return out


# --------------------------------------------------------------------------------------------------------------- hosts


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
            commands = [BlockCommand(("read", "write")[n % 3 == 0], (n * 37) % 4096, 1 + n % 16, tag + n)
                        for n in range(80)]
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
        out |= {"data read": digest(room), "ends of data": digest(" ".join(ends).encode()),
                "media": digest(sim.media_view())}
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
            out |= {f"{m.name}: cycles a block": m.cycles, f"{m.name}: all cycles": m.all_cycles,
                    f"{m.name}: blocks": m.blocks, f"{m.name}: peak us": m.peak_us, f"{m.name}: lost": m.lost,
                    f"{m.name}: histogram": " ".join(map(str, m.histogram))}
        out |= of_host(sim, begin)
        out["media"] = digest(*(sim.media_view(0, rows * recorder_bench.BLOCK, i) for i in range(setup.drives)))
    return out


def of_suite(name: str) -> Figures:
    return {row.name: row.measured for row in suite.rows(name)}


# ----------------------------------------------------------------------------------------------------------- workloads

HOST = host_bench.TARGET
RECORDER = recorder_bench.TARGET
STALLS = {"stall_pct": 20, "completion_jitter_ns": 900, "completion_bytes": "random"}

WORKLOADS: dict[str, Callable[[], Figures]] = {
    "bench-ssd-256": partial(bench_drive, "db_ssd", 256, "gen3x8", SSD_JOBS),
    "random-ssd-256": partial(random_commands, "db_ssd", 256, "gen3x8", 1000),
    "bench-csd-aes-xts": partial(bench_drive, "db_csd", 256, "gen3x8", CSD_JOBS, "aes-xts"),
    "random-csd-256": partial(random_commands, "db_csd", 256, "gen3x8", 300, "aes-xts"),
    "admin-ssd": partial(admin_commands, "db_ssd"),
    "admin-csd": partial(admin_commands, "db_csd"),
    "bench-host-128": partial(bench_host, HOST, HOST_JOBS),
    "faults-host-128": partial(host_faults, HOST),
    **{f"bench-csd-{op.partition(':')[0]}": partial(bench_drive, "db_csd", 256, "gen3x8", CSD_JOBS, op)
       for op in OPERATORS if op != "aes-xts"},
    "bench-ssd-128": partial(bench_drive, "db_ssd", 128, "gen3x4", SSD_JOBS),
    "bench-ssd-512": partial(bench_drive, "db_ssd", 512, "gen4x8", SSD_JOBS),
    "random-ssd-128": partial(random_commands, "db_ssd", 128, "gen3x4", 400, **STALLS),
    "random-ssd-512": partial(random_commands, "db_ssd", 512, "gen4x8", 400, **STALLS),
    "random-csd-512": partial(random_commands, "db_csd", 512, "gen4x8", 300, "aes-xts", **STALLS),
    "bench-host-ssd": partial(bench_host, host_bench.Setup(ssd="db_ssd"), HOST_JOBS),
    "bench-recorder": partial(bench_recorder, RECORDER, 4 << 20),
    "bench-recorder-loses": partial(bench_recorder, recorder_bench.replace(RECORDER, rate=7.5, write_us=100), 16 << 20),
    "suite-host": partial(of_suite, "host"),
    "suite-limit": partial(of_suite, "limit"),
}  # fmt: skip
QUICK = tuple(WORKLOADS)[:8]


def chosen(only: str | None, quick: bool) -> list[str]:
    names = [n for n in (QUICK if quick else WORKLOADS) if only is None or fnmatchcase(n, only)]
    if not names:
        raise UserError(f"--only {only}: no workload has such a name: {', '.join(QUICK if quick else WORKLOADS)}")
    return names


def measure(names: Iterable[str]) -> Iterator[tuple[str, Figures, float]]:
    """Workload, figures, seconds. A workload that fails has the reason as its only figure."""
    names = list(names)
    with progress_bar("compare") as update:
        for i, name in enumerate(names):
            say(f"{name} ({i + 1} of {len(names)})")
            start = time.monotonic()
            try:
                figures = WORKLOADS[name]()
            except Exception as e:  # what went wrong is what is different
                figures = {"failed": f"{type(e).__name__}: {e}"}
            update((i + 1) / len(names))
            yield name, figures, time.monotonic() - start


# ---------------------------------------------------------------------------------------------------------- comparison


VERDICTS = ("failed", "different", "missing", "new", "same")


@dataclass(frozen=True)
class Row:
    workload: str
    what: str
    recorded: Figure | None
    now: Figure | None

    @property
    def verdict(self) -> str:
        if self.recorded is None:
            return "failed" if self.what == "failed" else "new"
        return "same" if self.recorded == self.now else "missing" if self.now is None else "different"

    @property
    def ok(self) -> bool:
        return self.verdict in ("same", "new")

    def shown(self) -> tuple[str, str]:
        """Of two lists only the first items that differ."""
        a, b = ("-" if v is None else str(v) for v in (self.recorded, self.now))
        one, other = a.split(), b.split()
        if self.verdict == "different" and min(len(one), len(other)) > 2:
            at = next((i for i, (x, y) in enumerate(zip(one, other)) if x != y), min(len(one), len(other)))
            a, b = (f"[{at}] {' '.join(v[at : at + 1])}" for v in (one, other))
        return a, b


def rows_of(workload: str, recorded: Figures, now: Figures) -> list[Row]:
    return [Row(workload, what, recorded.get(what), now.get(what)) for what in sorted({*recorded, *now})]


def read(file: Path) -> dict[str, Figures]:
    try:
        found = json_module.loads(file.read_text())["workloads"]
    except OSError as e:
        raise UserError(f"cannot read {file}: {e.strerror}: record it with ./doorbell compare --record {file}") from e
    except (ValueError, KeyError, TypeError) as e:
        raise UserError(f"{file} is no recording of ./doorbell compare") from e
    return found


def record(file: Path, names: Iterable[str], all_of_it: bool) -> None:
    """Write what is measured now; the other workloads of the file stay unless all are recorded."""
    workloads = {} if all_of_it or not file.exists() else read(file)
    for name, figures, _ in measure(names):
        if "failed" in figures:
            raise UserError(f"{name}: {figures['failed']}: nothing was recorded")
        workloads[name] = figures
    try:
        file.write_text(json_module.dumps({"workloads": workloads}, indent=1, sort_keys=True) + "\n")
    except OSError as e:
        raise UserError(f"cannot write {file}: {e.strerror}") from e
    print(f"{sum(map(len, workloads.values()))} figures of {len(workloads)} workloads are in {file}")


def compare(file: Path, names: list[str]) -> tuple[list[Row], dict[str, float]]:
    """All figures, beside the recorded ones; seconds of each workload."""
    recorded = read(file)
    rows: list[Row] = []
    seconds = {}
    for name, figures, seconds[name] in measure(names):
        rows += rows_of(name, recorded.get(name, {}), figures)
    return rows, seconds


def tables(rows: list[Row], seconds: dict[str, float], most: int) -> list[Any]:
    from rich.table import Table

    short = Table(title="Behaviour", title_justify="left")
    long = Table(title="Not as recorded", title_justify="left")
    for name in ("workload", "figures", "same", "different", "missing", "new", "seconds"):
        short.add_column(name, justify="left" if name == "workload" else "right")
    for name in ("workload", "what", "recorded", "now", ""):
        long.add_column(name, overflow="fold")
    left = most
    for name, took in seconds.items():
        mine = sorted((r for r in rows if r.workload == name), key=lambda r: VERDICTS.index(r.verdict))
        count = {v: sum(r.verdict == v for r in mine) for v in VERDICTS}
        bad = count["different"] + count["failed"]
        short.add_row(name, str(len(mine)), str(count["same"]), str(bad), str(count["missing"]), str(count["new"]),
                      f"{took:.1f}")
        for row in mine[:1] if count["failed"] else mine:
            if row.verdict != "same" and left:
                left -= 1
                long.add_row(name, row.what, *row.shown(), row.verdict)
    return [long, short] if long.row_count else [short]


def main(
    file: Path | None = typer.Argument(None, metavar="[FILE]", help="The recording, else tests/data/behaviour.json."),
    record_to: Path | None = typer.Option(None, "--record", metavar="FILE", help="Record today's behaviour instead."),
    only: str | None = typer.Option(None, help="Only workloads of such a name: 'random-*'."),
    quick: bool = typer.Option(False, "--quick", help="The first eight: half a minute when simulators are built."),
    names: bool = typer.Option(False, "--list", help="Only list the workloads."),
    most: int = typer.Option(60, "--most", help="Show so many differences; --json has all."),
    json: Path | None = typer.Option(None, help="Write all figures and verdicts as JSON to this file (-: stdout)."),
) -> None:
    """Compare what the simulators do with a recording, to the cycle; exit status 1 if a figure differs or is gone.

    For changes that must not change behaviour. The full list takes 13 simulators, and three minutes with them built.
    """
    wanted = chosen(only, quick)
    if names:
        print("\n".join(wanted))
        return
    if record_to is not None:
        if file is not None or json is not None:
            raise UserError("--record takes no recording to compare with and no --json")
        record(record_to, wanted, wanted == list(WORKLOADS))
        return
    rows, seconds = compare(file or FILE, wanted)
    bad = [r for r in rows if not r.ok]
    if json is not None:
        write_json(json, {
            "same": not bad, "seconds": seconds,
            "rows": [{"workload": r.workload, "what": r.what, "recorded": r.recorded, "now": r.now,
                      "verdict": r.verdict} for r in rows]})  # fmt: skip
    if str(json) != "-":
        print_table(*tables(rows, seconds, most))
        same = sum(r.verdict == "same" for r in rows)
        print(f"{same} figures as recorded, {len(bad)} not, {len(rows) - same - len(bad)} new")
    raise typer.Exit(1 if bad else 0)
