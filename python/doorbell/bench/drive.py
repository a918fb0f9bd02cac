# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench` of a drive: which drive, and jobs or a trace measured on it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from doorbell.bench.bringup import Arbitration, host_memory, start_queues
from doorbell.bench.functions import Functions, bring_up, check_jobs, run_functions
from doorbell.bench.jobs import Job, groups
from doorbell.bench.results import Result
from doorbell.bench.runner import run_group
from doorbell.bench.speed import speed_table
from doorbell.bench.ssds import SsdSetup
from doorbell.bench.stages import Recorder
from doorbell.bench.traces import Trace, replay
from doorbell.bench.views import NO_VIEWS, Views
from doorbell.compute.drive import switch_on
from doorbell.device import limits, media_options
from doorbell.device.live import watchable
from doorbell.device.nand import Nand, difference
from doorbell.device.opening import check_clean, open_sim, sim_link
from doorbell.errors import UserError
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from doorbell.ui import progress_bar

CLOCK_MHZ = 250.0
CARD_FN = 4
"""Functions of a card that is measured, if no more are wanted: fewer than a drive's 17 make a smaller simulator."""


@dataclass(frozen=True)
class DriveSetup:
    """What is measured. media_*_latency_ns, media_zero_gbps: None is the simulator's own."""

    top: str = "db_ssd"
    backend: str = "rtl"
    link: str = "gen3x8"
    data_w: int = 256
    clock_mhz: float = CLOCK_MHZ
    mps: int = 256
    mrrs: int = 512
    media_size: int = 1 << 30
    params: dict[str, int | str] = field(default_factory=dict)
    operator: str | None = None
    media_latency_ns: int | None = None
    media_write_latency_ns: int | None = None
    arbitration: Arbitration = Arbitration()  # noqa: RUF009
    media_flush_latency_ns: int | None = None
    media_zero_gbps: float | None = None
    functions: Functions | None = None  # that work at the same time; None: one, without any VF in the drive
    sgl: bool = False  # instead of PRPs
    ssds: SsdSetup | None = None  # beside it, of a card
    nand: Nand | None = None  # what its media is; None: a memory

    @property
    def wire(self) -> limits.Link:
        return limits.Link.parse(self.link, mps=self.mps, mrrs=self.mrrs)

    @property
    def media(self) -> dict[str, int | float]:
        """What was asked for of the media's pace."""
        names = ("media_latency_ns", "media_write_latency_ns", "media_flush_latency_ns", "media_zero_gbps")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def check(self) -> None:
        """What does not go together, as one line."""
        if self.operator is not None and self.backend != "rtl":
            raise UserError("--operator needs --backend rtl")
        if self.backend != "rtl" and self.clock_mhz != CLOCK_MHZ:
            raise UserError("--clock-mhz needs --backend rtl")
        if self.functions is not None and (self.backend != "rtl" or self.operator is not None):
            raise UserError("--functions needs --backend rtl, and no --operator")
        media_options.check(self.media)
        if self.nand and self.media:
            raise UserError("--media has times of its own: leave --media-latency-ns and its like out")
        if self.nand and self.backend != "rtl":
            raise UserError("--media needs --backend rtl")
        if self.nand and self.ssds:
            raise UserError(f"--media: the data of {self.top} is on SSDs")
        if self.ssds:
            self.ssds.check()
            if self.media:
                raise UserError(f"--media-...: the data of {self.top} is on SSDs: use --read-us and --write-us")
            if self.backend != "rtl":
                raise UserError(f"{self.top} needs --backend rtl")

    def open(self, jobs: Sequence[Sequence[Job]] = (), trace: str | None = None) -> Any:
        """A simulation of it. jobs: groups that its functions will run, if it has several. trace: see open_sim."""
        clock = {"clock_mhz": self.clock_mhz} if self.backend == "rtl" else {}
        given = self.params
        if self.ssds:
            given = {"NUM_SSD": self.ssds.number, **given}
            if self.functions and self.functions.count <= CARD_FN:
                given = {"NUM_FN": CARD_FN, **given}
        wanted = self.functions.params(jobs, given) if self.functions else given
        if self.sgl:
            wanted = {"SGL": 1, **wanted}
        params = {"params": wanted} if wanted else {}
        size = self.ssds.options() if self.ssds else {"media_size": self.media_size}
        nand = {"nand": self.nand} if self.nand else {}
        num_fn = {"num_fn": int(wanted["NUM_FN"])} if "NUM_FN" in wanted and self.ssds else {}
        return open_sim(self.backend, top=self.top, link=self.link, data_w=self.data_w, mps=self.mps, mrrs=self.mrrs,
                        **size, **params, **num_fn, **clock, **self.media, **nand,
                        **({"trace": trace} if trace else {}))  # fmt: skip

    def title(self, wire: limits.Link) -> str:
        name = f"{self.top} with {self.operator}" if self.operator else self.top
        units = {"ns": "ns", "gbps": "GB/s"}
        parts = [(*k.rpartition("_")[::2], v) for k, v in self.media.items()]
        media = "".join(f", {name.replace('_', ' ')} {v} {units[unit]}" for name, unit, v in parts)
        media += f", {self.nand}" if self.nand else ""
        many = f", {self.functions}" if self.functions else ""
        many += ", SGLs" if self.sgl else ""
        many += f", {self.ssds}" if self.ssds else ""
        return (f"{name} ({self.backend}){many}, {self.data_w} bit, {self.clock_mhz:g} MHz, {wire}, MPS {self.mps}, "
                f"MRRS {self.mrrs}{media}; simulated time")  # fmt: skip

    def plain(self) -> dict[str, Any]:
        """For a JSON file."""
        return {"top": self.top, "backend": self.backend, "link": self.link, "data_w": self.data_w, "mps": self.mps,
                "mrrs": self.mrrs, **({"operator": self.operator} if self.operator else {}),
                **({"sgl": True} if self.sgl else {}), **({"ssds": self.ssds.plain()} if self.ssds else {}),
                "media_size": self.media_size, "clock_mhz": self.clock_mhz, **self.media,
                **({"media": asdict(self.nand)} if self.nand else {}),
                **({"functions": asdict(self.functions)} if self.functions else {})}  # fmt: skip


@dataclass
class Measured:
    """Results of groups of jobs; recorders: where their time went, one a group if that was asked for."""

    setup: DriveSetup
    wire: limits.Link  # as the simulator has it
    title: str
    groups: list[list[Result]] = field(default_factory=list)
    recorders: list[Recorder] = field(default_factory=list)
    begin_ns: float = 0.0  # of the jobs
    sim_ns: float = 0.0  # their end
    nand: list[dict[str, int]] = field(default_factory=list)  # what NAND media counted, a group each


def measure(setup: DriveSetup, jobs: Sequence[Job], *, stages: bool = False, views: Views = NO_VIEWS) -> Measured:
    """Run jobs on a drive of their own, those that belong together at the same time."""
    check_jobs(jobs, setup.functions)
    if setup.functions is not None:
        return _seen(views, stages, lambda *how: _measure_functions(setup, setup.functions, groups(jobs), *how))
    return _seen(views, stages, lambda *how: _measure_jobs(setup, jobs, *how))


def _seen(views: Views, stages: bool, run: Callable[[Views, bool], Measured]) -> Measured:
    """A run with its pictures. Where it takes a run to find out what a waveform is to show, it is of another one."""
    views.check_files()
    if views.needs_another_run:
        views = views.found(run(NO_VIEWS, True).recorders)
    out = run(views, stages)
    views.end(out.begin_ns, out.sim_ns, out.recorders)
    if not stages:
        out.recorders.clear()
    return out


def _measure_jobs(setup: DriveSetup, jobs: Sequence[Job], views: Views, stages: bool) -> Measured:
    """Of a drive with one function."""
    sim = setup.open(trace=views.kind)
    out = _measured(setup, sim)
    drive = Driver(sim, host_memory(jobs))
    found = groups(jobs)
    queues = max(sum(j.numjobs for j in group) for group in found)
    depth = max(j.iodepth for j in jobs)
    anew = any(j.sq_priority for j in jobs)  # each group has its own priorities
    start_queues(drive, queues, depth, found[0], setup.arbitration)
    _use_sgls(drive, setup)
    if setup.operator is not None:
        switch_on(drive, setup.operator)
    out.begin_ns = views.begin(sim)
    for number, group in enumerate(found):
        if number and anew:
            start_queues(drive, queues, depth, group, setup.arbitration)
        before = _nand_figures(setup, sim)
        with _shown(out, sim, ", ".join(j.name for j in group)) as update:
            recorder = _recorder(out, views, stages)
            out.groups.append(run_group(drive, group, progress=update, recorder=recorder))
        _count_nand(out, sim, before)
    return _end(out, views, drive)


def _measure_functions(
    setup: DriveSetup, functions: Functions, found: list[list[Job]], views: Views, stages: bool
) -> Measured:
    """The same on several functions of it."""
    if len(found) > 1 and any(j.sq_priority for group in found for j in group):
        raise UserError("with --functions, priorities are for jobs that all run together: without stonewall")
    sim = setup.open(found, views.kind)
    out = _measured(setup, sim)
    members = bring_up(sim, functions, found, setup.arbitration)
    for member in members:
        _use_sgls(member.drive, setup)
    out.begin_ns = views.begin(sim)
    for group in found:
        before = _nand_figures(setup, sim)
        with _shown(out, sim, ", ".join(j.name for j in group)) as update:
            recorder = _recorder(out, views, stages, sim.num_fn - 1)
            out.groups.append(run_functions(members, group, progress=update, recorder=recorder))
        _count_nand(out, sim, before)
    return _end(out, views, members[0].drive)


def measure_speed(setup: DriveSetup, jobs: Sequence[Job]) -> Any:
    """A table of the simulator's own speed."""
    sim = setup.open()
    drive = Driver(sim, host_memory(jobs))
    start_queues(drive, max(sum(j.numjobs for j in group) for group in groups(jobs)), max(j.iodepth for j in jobs))
    if setup.operator is not None:
        switch_on(drive, setup.operator)
    return speed_table(sim, drive, jobs)


def measure_trace(
    setup: DriveSetup, story: Trace, job: Job, *, afap: bool, speed: float, stages: bool = False,
    views: Views = NO_VIEWS,
) -> Measured:  # fmt: skip
    """Replay a trace; numjobs and iodepth of `job` are its queues and their depth."""

    def run(views: Views, stages: bool) -> Measured:
        sim = setup.open(trace=views.kind)
        out = _measured(setup, sim)
        which = f"{len(story.accesses):,} accesses ({story.left_out:,} others left out)"
        out.title = f"{story.format}, {which}; {out.title}"
        drive = Driver(sim, HostMemory(256 << 20))
        start_queues(drive, job.numjobs, job.iodepth)
        _use_sgls(drive, setup)
        out.begin_ns = views.begin(sim)
        before = _nand_figures(setup, sim)
        with _shown(out, sim, f"replaying {story.name}") as update:
            out.groups.append([replay(drive, story, job, afap=afap, speed=speed, progress=update,
                                      recorder=_recorder(out, views, stages))])  # fmt: skip
        _count_nand(out, sim, before)
        return _end(out, views, drive)

    return _seen(views, stages, run)


def _use_sgls(drive: Driver, setup: DriveSetup) -> None:
    assert drive.controller is not None
    if setup.sgl and not drive.controller.sgls & 3:
        raise UserError("--sgl: the drive has no SGLs")
    drive.sgl = setup.sgl


def _measured(setup: DriveSetup, sim: Any) -> Measured:
    wire = sim_link(sim, setup.wire)
    return Measured(setup, wire, setup.title(wire))


@contextlib.contextmanager
def _shown(out: Measured, sim: Any, what: str) -> Iterator[Callable[[float], None]]:
    """Progress on the terminal and for `./doorbell watch`; takes the share that is done."""
    live: dict[str, Any] = {"jobs": what, "done": 0.0}
    if out.setup.operator is not None:
        live["operators"] = [out.setup.operator]
    with watchable(sim, "bench", out.title, lambda: live), progress_bar(what) as bar:

        def update(share: float) -> None:
            live["done"] = share
            bar(share)

        yield update


def _nand_figures(setup: DriveSetup, sim: Any) -> dict[str, int]:
    return sim.nand_figures() if setup.nand else {}


def _count_nand(out: Measured, sim: Any, before: dict[str, int]) -> None:
    """What the media have counted since."""
    if before:
        out.nand.append(difference(sim.nand_figures(), before))


def _recorder(out: Measured, views: Views, stages: bool, before_first: int = 0) -> Recorder | None:
    if not stages and not views.perfetto:
        return None
    out.recorders.append(Recorder(before_first, everything=bool(views.perfetto)))
    return out.recorders[-1]


def _end(out: Measured, views: Views, drive: Driver) -> Measured:
    check_clean(drive.sim)
    out.sim_ns = drive.sim.ns
    if views.wave:
        drive.sim.close()  # the file is complete
    return out
