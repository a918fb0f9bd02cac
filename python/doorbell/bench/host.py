# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench --top db_host`: fio's options at the other end of the link, where Doorbell drives SSDs.

The user's streams are never what limits: data to write is always there, data read is always taken. What is measured
is db_host, the link and the drive, which is the model (sim/README.md) or a db_ssd. A figure counts only if all data
was right: what was written is looked up on the drive, what was read is compared. `--suite host` holds the targets.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from doorbell import build
from doorbell.bench.jobs import Job
from doorbell.bench.results import Result, Side
from doorbell.bench.runner import Window, Zipf, noise, rate_of, region
from doorbell.device import limits
from doorbell.device.blocks import BlockCommand
from doorbell.device.drives import Latency, ModelDrive, PortOptions, ssd_drive
from doorbell.device.host_sim import HostSim, ports_of
from doorbell.errors import UserError
from doorbell.units import size_name

TOPS = ("db_host", "db_recorder")
MS_CYCLES = 5000  # of a millisecond: bring-up waits some of them, and nothing else that is measured depends on them
PATTERN = 1 << 18  # bytes after which data repeats
LOOK = 1 << 20  # bytes of read data that are compared
PART = 128 << 10  # the longest NVMe command of the link's limit: the drives' MDTS
FETCH = 8  # submission entries that a drive may fetch at once


@dataclass(frozen=True)
class Setup:
    """What is measured: top, drive, link. read_us, write_us: of the drive; None: its own."""

    top: str = "db_host"
    ssd: str = "model"
    link: str = "gen3x4"
    data_w: int = 128
    clock_mhz: float = 250.0
    mps: int = 256
    read_us: float | None = None
    write_us: float | None = None
    media_size: int = 64 << 20
    params: dict[str, int | str] = field(default_factory=dict)

    def __str__(self) -> str:
        wire = limits.Link.parse(self.link)
        return f"{self.top} + {self.ssd}, {wire}, {self.data_w} bit, {self.clock_mhz:g} MHz"


def params_of(s: Setup) -> dict[str, int | str]:
    return {"DATA_W": s.data_w, "MS_CYCLES": MS_CYCLES, **s.params}


def drive_of(s: Setup) -> PortOptions:
    ns = {k: round(us * 1000) for k, us in (("read", s.read_us), ("write", s.write_us)) if us is not None}
    port = {"link": s.link, "mps_cap": s.mps, "drive_mps_cap": max(512, s.mps)}
    if s.ssd == "model":
        late = {k: Latency(v) for k, v in ns.items()}
        return ModelDrive(size=s.media_size, ready_us=1, unready_us=1, **late, **port)
    if s.ssd == "db_ssd":
        names = {"read": "media_latency_ns", "write": "media_write_latency_ns"}
        late = {names[k]: v for k, v in ns.items()}
        return ssd_drive(
            build.simulator("db_ssd", {"DATA_W": s.data_w}),
            clock_mhz=s.clock_mhz,
            media_size=s.media_size,
            **late,
            **port,
        )
    raise UserError(f"--ssd: there is no drive '{s.ssd}': use model or db_ssd")


def open_host(s: Setup) -> HostSim:
    """The host with its drives, up."""
    library = build.simulator(s.top, params_of(s))
    sim = HostSim(library, [drive_of(s) for _ in range(ports_of(library))], clock_mhz=s.clock_mhz)
    sim.run_until(lambda: sim.up or sim.dead, 5_000_000)
    if not sim.up:
        raise UserError("the drive was not brought up")
    sim.run(2000)
    return sim


# ------------------------------------------------------------------------------------------------------------ running


def total(sim: HostSim, name: str, user: bool = False) -> int:
    """A counter of all ports together (user: of those that the ports share)."""
    return sum(sim.counters(p)[name] for p in range(1 if user else sim.ports))


def link_of(sim: HostSim, s: Setup) -> limits.Link:
    return limits.Link.parse(s.link, mps=sim.signal("mps"), mrrs=sim.signal("mrrs"))


def limit_of(link: limits.Link, kinds: Counter[tuple[bool, int]], depth: int, doorbells: float,
             ports: int = 1) -> limits.Limit:  # fmt: skip
    """What the link allows for a workload: entries fetched eight at a time where so many are in flight, no command
    shorter than the drive's MDTS makes it, doorbells as often as they were rung, no interrupts.
    """
    works = [(float(count), limits.HostWorkload(
        size, float(read), part=PART, sqes_per_fetch=min(FETCH, depth * -(-size // PART)), sq_doorbells=doorbells,
        cq_doorbells=0)) for (read, size), count in sorted(kinds.items())]  # fmt: skip
    one = limits.host_mix(link, works)
    return replace(one, iops=one.iops * ports, bytes_per_s=one.bytes_per_s * ports)


class _Check:
    """Whether the data was right: of the last write to each place, and of the last megabyte that was read. Of writes
    to one place that were under way together any may be the last: NVMe promises no order.

    Of one drive: over several a top spreads the data in its own way.
    """

    def __init__(self, sim: HostSim, job: Job) -> None:
        self.sim, self.reads, self.row = sim, job.read_share > 0, sim.data_w // 8
        self.pattern = noise(job.randseed, PATTERN)
        self.given = 0  # bytes of write data that commands have taken
        # 512 bytes of the drive: which bytes of the write data they may hold, and whose (number of the command)
        self.writes: dict[int, list[tuple[int, int]]] = {}
        self.commands = self.ended = 0
        self.tail: deque[tuple[int, int]] = deque()
        self.tail_bytes = 0
        self.look = bytearray(LOOK)
        self.fixed = job.read_share == 1  # what is read does not change
        self.one = sim.ports == 1
        if job.read_share < 1:
            sim.write_data(self.pattern, 1 << 31)
        if self.fixed and self.one:
            view = sim.media_view()
            for at in range(0, len(view), PATTERN):
                # so that no two places hold the same
                piece = bytearray(self.pattern[: min(PATTERN, len(view) - at)])
                for block in range(0, len(piece), 512):
                    piece[block : block + 8] = (at + block).to_bytes(8, "little")
                view[at : at + len(piece)] = piece
            sim.read_buffer(self.look)

    def took(self, read: bool, size: int, at: int) -> None:
        if not read:
            for off in range(0, size, 512):
                place = self.writes.setdefault(at + off, [])
                place[:] = [w for w in place if w[1] >= self.ended]  # the others were over before this one was given
                place.append(((self.given + off) % PATTERN, self.commands))
            self.given += size
        elif self.fixed and size <= LOOK:
            self.tail.append((at, size))
            self.tail_bytes += size
            while self.tail_bytes - self.tail[0][1] >= LOOK:
                self.tail_bytes -= self.tail.popleft()[1]
        self.commands += 1

    def finish(self) -> None:
        if not self.one:
            return
        for at, place in self.writes.items():
            found = self.sim.media_read(at, 512)
            if not any(found == self.pattern[start : start + 512] for start, _ in place):
                raise UserError(f"data written at byte {at} is not what was given")
        end = self.sim.signal("rdata_bytes")
        for at, size in reversed(self.tail):
            if self.tail_bytes > LOOK and (at, size) == self.tail[0]:
                break
            end -= size
            if self._got(end, size) != self.sim.media_read(at, size):
                raise UserError(f"data read at byte {at} is not what the drive holds")

    def _got(self, end: int, size: int) -> bytes:
        begin = end % LOOK
        return bytes((self.look + self.look)[begin : begin + size])


def run_job(sim: HostSim, job: Job, link: limits.Link, progress: Callable[[float], None] | None = None) -> Result:
    """Run a job: always `iodepth` block commands given to the top. Latency is from a command's being given to its
    status; measuring begins when twice iodepth have ended, as for a drive (runner.py).
    """
    block = 1 << sim.signal("lba_shift")
    capacity = sim.signal("blocks") * block
    if job.numjobs != 1:
        raise UserError(f"job {job.name}: the top has one stream of commands: give iodepth instead of numjobs")
    for size, _ in job.used():
        if size % block:
            raise UserError(f"job {job.name}: bs {size} is not a multiple of the drive's block of {block}")
    zipf = Zipf(region(job, capacity)[1], job.zipf, job.randseed) if job.zipf else None
    window, check = Window(job, 0, capacity, zipf), _Check(sim, job)
    given: deque[tuple[int, bool, int, float]] = deque()
    number = 0

    def fill() -> None:
        nonlocal number
        new = []
        while len(given) < job.iodepth:
            read, size, at = window.draw()
            check.took(read, size, at)
            new.append(BlockCommand("read" if read else "write", at // block, size // block, number & 0xFFFF))
            given.append((number & 0xFFFF, read, size, sim.ns))
            number += 1
        sim.submit(new)

    def ended() -> int:
        if sim.run(sim.cycles(1_000_000), "status") == "rtl":
            raise UserError("an assertion of the RTL failed; its text is on stdout")
        found = sim.statuses()
        if not found:
            raise UserError("no command has ended within a second of simulated time")
        for s in found:
            tag, read, size, start = given.popleft()
            if s.tag != tag or s.status:
                raise UserError(f"command {tag} ended as {s.tag} with status {s.status:#x}")
            window.seen += 1
            check.ended += 1  # they end in order
            window.count(read, size, start, s.cycle * 1000 / sim.clock_mhz)
        return len(found)

    rung, parts = total(sim, "down.MWr.tlps"), total(sim, "user.stat_doorbells", True)
    fill()
    while not window.done:
        ended()
        fill()
        if progress:
            progress(window.share_done(sim.ns))
    rung = total(sim, "down.MWr.tlps") - rung
    parts = total(sim, "user.stat_doorbells", True) - parts
    while given:
        ended()
    if job.read_share:
        sim.run(5000)  # the last data leaves
    check.finish()
    result = Result(job, Side(), Side(), doorbells=(rung / parts, 0), irqs=0)
    result.read.join(window.read)
    result.write.join(window.write)
    rate, result.window = rate_of([window])
    result.duration_ns = result.ios / rate
    result.limit = limit_of(link, result.window, job.iodepth, rung / parts, sim.ports)
    if broken := sim.errors():
        raise UserError(f"rules of PCIe or NVMe were broken: {broken}")
    return result


def measure(s: Setup, jobs: Iterable[Job], progress: Callable[[float], None] | None = None) -> list[Result]:
    """Jobs one after another, each on a host of its own."""
    out = []
    for job in jobs:
        with open_host(s) as sim:
            out.append(run_job(sim, job, link_of(sim, s), progress))
    return out


def last_beat_to_doorbell(s: Setup, size: int = 4096, times: int = 6) -> int:
    """Cycles from the last beat of a block to be written to its doorbell on the wire, most of some that are alone."""
    cycles = []
    with open_host(s) as sim:
        data = noise(1, size)
        for n in range(times):
            sim.run(10_000 + 37 * n)  # what the one before has left to say is said
            rung, row = total(sim, "down.MWr.tlps"), total(sim, "user.wdata_beats", True)
            sim.submit([BlockCommand("write", n * size // 512, size // 512, n)])
            sim.write_data(data)
            last = 0
            while total(sim, "down.MWr.tlps") == rung:
                sim.run(1)
                if not last and total(sim, "user.wdata_beats", True) - row == size // (s.data_w // 8):
                    last = sim.cycle
            cycles.append(sim.cycle - last)
            if not last:
                raise UserError("a doorbell was rung before the data was there")
            sim.wait_status(1)
        if broken := sim.errors():
            raise UserError(f"rules of PCIe or NVMe were broken: {broken}")
    return max(cycles)


# --------------------------------------------------------------------------------------------------- command line


def check_options(s: Setup, groups: Iterable[Sequence[Job]]) -> None:
    """What a host cannot do, as one line."""
    if s.ssd not in ("model", "db_ssd"):
        raise UserError(f"--ssd: there is no drive '{s.ssd}': use model or db_ssd")
    for group in groups:
        if len(group) > 1 or any(j.numjobs != 1 for j in group):
            raise UserError(f"{s.top} has one stream of commands: iodepth instead of numjobs, jobs with stonewall")
        if any(j.paced or j.sq_priority or j.fsync for j in group):
            raise UserError(f"thinktime, rate, rate_iops, fsync and sq_priority are not for {s.top}: it has one stream")
        if any(j.trims or j.functions for j in group):
            raise UserError(f"trim, randtrim and function are not for {s.top}: it reads and writes one drive")
    for name, us in (("read-us", s.read_us), ("write-us", s.write_us)):
        if us is not None and not 0 <= us <= 1_000_000:
            raise UserError(f"--{name}: {us:g} is not in 0 to 1000000")


# ---------------------------------------------------------------------------------------------------------- the suite

INTELLIPROP = {512: (179, 177), 4096: (732, 1172), 16384: (741, 1154), 65536: (747, 1258), 131072: None}
"""Block: MB/s of sequential writes and reads as published; Gen2 x4, 125 MHz, QD 256. Their SSD was the limit from 4 KiB
on. The paper has no figure of 128 KiB.
"""
DUNE = {("write", 0): 383, ("write", 10): 410, ("write", 20): 702, ("read", 0): 388, ("read", 80): 20352}
"""(direction, completion latency in us): cycles a 4 KiB block of pl-nvme, simulated here with 128 bit; a drive."""

LARGE: dict[str, int | str] = {"NUM_CMDS": 256, "WR_RING_BYTES": 262144, "RD_RING_BYTES": 1048576}
"""Gen3 x8 moves 72 KB in 10 us and 576 KB in 80 us, and parts wait for each other: the defaults are made for x4."""
MIXED: dict[str, int | str] = {"NUM_CMDS": 256, "WR_RING_BYTES": 2 << 20, "RD_RING_BYTES": 2 << 20}
"""A ring gives space back in the order of the commands: writes keep theirs while slower reads before them last."""
TARGET = Setup(read_us=80, write_us=10)


def one_job(s: Setup, rw: str, bs: int, depth: int, ios: int) -> Result:
    return measure(s, [Job(rw=rw, bs=bs, iodepth=depth, number_ios=ios)])[0]


def shares(s: Setup, sizes: Iterable[int], read_depth: int = 128) -> Iterator[tuple[str, float]]:
    """(what, per cent of the link's limit) of writes at QD 32 and 10 us, of reads at 80 us."""
    for rw, depth, us in (("write", 32, s.write_us), ("read", read_depth, s.read_us)):
        for bs in sizes:
            # long blocks become many NVMe commands each; fewer of them fill the drive as well
            qd = depth if bs <= 16384 else 32
            r = one_job(s, rw, bs, qd, 512 if bs <= 4096 else 256 if bs <= 16384 else 64)
            assert r.limit is not None
            yield f"{s}: {rw} {size_name(bs)}, QD {qd}, {us:g} us", 100 * r.iops / r.limit.iops


def mixes(s: Setup, kinds: Iterable[tuple[int, int, int]]) -> Iterator[tuple[str, float]]:
    """(what, per cent of the link's limit) of random commands, 70 % reads, for (block, depth, how many)."""
    for bs, qd, ios in kinds:
        r = measure(s, [Job(rw="randrw", rwmixread=70, bs=bs, iodepth=qd, number_ios=ios)])[0]
        assert r.limit is not None
        yield (
            f"{s}: randrw 70/30 {size_name(bs)}, QD {qd}, {s.read_us:g} and {s.write_us:g} us",
            100 * r.iops / r.limit.iops,
        )


def intelliprop(setup: Setup, sizes: Iterable[int] = tuple(INTELLIPROP)) -> Iterator[dict[str, Any]]:
    """Their table, with ours, and other sizes."""
    for bs in sizes:
        theirs = INTELLIPROP.get(bs)
        for i, rw in enumerate(("write", "read")):
            qd = 256 if bs <= 16384 else 64
            r = one_job(setup, rw, bs, qd, 512 if bs <= 4096 else 128)
            assert r.limit is not None
            yield {"table": "IntelliProp", "what": f"{size_name(bs)} {rw}, MB/s", "theirs": theirs and theirs[i],
                   "ours": r.bytes_per_s / 1e6, "limit": r.limit.bytes_per_s / 1e6, "kiops": r.iops / 1e3,
                   "bs": bs, "rw": rw}  # fmt: skip


def dune(setup: Setup) -> Iterator[dict[str, Any]]:
    """Cycles a block of one drive."""
    for (rw, us), theirs in DUNE.items():
        s = replace(setup, read_us=us, write_us=us)
        r = one_job(s, rw, 4096, 128, 384)
        assert r.limit is not None
        yield {"table": "DUNE", "what": f"4 KiB {rw}, drive {us} us, cycles a block", "theirs": theirs,
               "ours": s.clock_mhz * 1e6 / r.iops, "limit": s.clock_mhz * 1e6 / r.limit.iops, "kiops": r.iops / 1e3,
               "bs": 4096, "rw": rw}  # fmt: skip


def targets(short: bool) -> Iterator[tuple[str, float, float, str, bool]]:
    """(what, target, measured, unit, at least?)"""
    for what, share in shares(TARGET, (4096,) if short else (4096, 16384, 131072)):
        yield what, 97, share, "% of link", True
    if not short:
        wide = replace(TARGET, link="gen3x8", data_w=256, params=LARGE)
        for what, share in shares(wide, (4096, 16384, 131072), 256):
            yield what, 97, share, "% of link", True
    if short:
        for what, share in mixes(replace(TARGET, read_us=20), [(4096, 128, 1500)]):  # what the default rings can hold
            yield what, 97, share, "% of link", True
    else:
        for s in (TARGET, wide):
            kinds = [(4096, 256, 4000), (16384, 128, 1500), (131072, 64, 400)]
            for what, share in mixes(replace(s, params=MIXED), kinds):
                yield what, 97, share, "% of link", True
    slow = replace(TARGET, link="gen2x4", clock_mhz=125, read_us=20)
    for rw in ("write", "read"):
        r = one_job(slow, rw, 512, 128, 1000)
        us = slow.read_us if rw == "read" else slow.write_us
        yield f"{slow}: {rw} 512 B, QD 128, {us:g} us", 1500, r.iops / 1e3, "kIOPS", True
    for s in (TARGET,) if short else (TARGET, wide):
        cycles = last_beat_to_doorbell(s)
        yield f"{s}: last beat of a 4 KiB block to its doorbell on the link", 16, cycles, "cycles", False


AS_INTELLIPROP = replace(TARGET, link="gen2x4", clock_mhz=125, params=LARGE)


def peers() -> Iterator[dict[str, Any]]:
    yield from intelliprop(AS_INTELLIPROP)
    yield from dune(replace(TARGET, params=LARGE))


def peer_tables(rows: list[dict[str, Any]]) -> list[Any]:
    """Tables that say what they may be compared for; rows of recorder_bench.peers too."""
    from rich.table import Table

    titles = {
        "IntelliProp": "IntelliProp as published (Gen2 x4, 125 MHz, QD 256, sequential),\n"
                       "bound by its SSD from 4 KiB on; db_host bound by the link",
        "DUNE": "DUNE's pl-nvme, simulated on a bench of the same kind: one drive, 128 bit,\n"
                "Gen3 x4",
        "DUNE, recorder": "DUNE: two drives on Gen3 x4 as published (hardware, real drives), one drive as\n"
                          "above; db_recorder as `./doorbell record` has it, its drives bound by their links",
    }  # fmt: skip
    out = []
    for name, title in titles.items():
        table = Table(title=title, title_justify="left")
        table.add_column("what")
        top = "db_recorder" if name == "DUNE, recorder" else "db_host"
        for head in (name.split(",")[0], top, "limit", "k blocks/s" if top == "db_recorder" else "k commands/s"):
            table.add_column(head, justify="right")
        for r in rows:
            if r["table"] == name:
                theirs = "-" if r["theirs"] is None else f"{r['theirs']:,}"
                if low := r.get("theirs_low"):
                    theirs = f"{low:g} to {theirs}" if low != r["theirs"] else theirs
                digits = 0 if name == "IntelliProp" else 2 if r.get("higher_is_better") else 1
                table.add_row(
                    r["what"], theirs, f"{r['ours']:,.{digits}f}", f"{r['limit']:,.{digits}f}", f"{r['kiops']:,.0f}"
                )
        out.append(table)
    return out
