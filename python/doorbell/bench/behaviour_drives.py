# SPDX-License-Identifier: Apache-2.0
"""What drives do, as figures: jobs, random commands, admin commands."""

from __future__ import annotations

import hashlib
import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from doorbell.bench.jobs import Job
from doorbell.bench.results import Result, percentile
from doorbell.bench.runner import run_group
from doorbell.compute import drive as compute
from doorbell.device.opening import check_clean, open_sim
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NSID_ALL, AdminOpc, Cns, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from doorbell.nvme.traffic import Traffic, media_of

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


def random_commands(
    top: str, data_w: int, link: str, count: int, operator: str | None = None, **options: Any
) -> Figures:
    """`count` commands in nine parts: all kinds, some bad; four faults of the link; errors of the media; a controller
    reset and a function-level reset with commands in flight, other queues after each; all kinds again."""
    watched = Watched(top, data_w, link, {"cpl_timeout_us": 50, **options}, queues=8, operator=operator)
    drive, sim = watched.drive, watched.sim
    media = media_of(drive)
    log: list[str] = []
    parts = iter(range(100))

    def traffic(bad: float = 0.05, *tolerate: Status) -> Logged:
        return Logged(
            drive,
            media,
            seed=next(parts),
            region=4096,
            largest=32 << 10,
            bad=bad,
            tolerate=frozenset(tolerate),
            begin=watched.begin,
            log=log,
        )

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
    for page in (*range(0x10), *range(0xC0, 0xC4), 0xEC, 0xED):
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
