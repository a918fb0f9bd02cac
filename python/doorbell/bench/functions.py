# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench --functions N`: jobs on N PCIe functions of one drive at the same time.

Each function has a driver, host memory and queues of its own, and a part of the drive's blocks: of one namespace that
all share, or a namespace for itself. Rates are taken over the time in which all functions are busy and measure, so
that they add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from doorbell.bench.bringup import HOST_BASE, Arbitration, host_memory, start_queues
from doorbell.bench.jobs import Job, apply_option
from doorbell.bench.results import Result
from doorbell.bench.runner import Crew, Part, Runner, Start, bells_of, capacity_of, each, joined, keep_busy
from doorbell.bench.shares import Share, apply, describe_shares
from doorbell.bench.stages import Recorder
from doorbell.device.opening import MAX_FN
from doorbell.errors import UserError
from doorbell.nvme import namespaces, virtualization
from doorbell.nvme.commands import Command, NvmeError
from doorbell.nvme.constants import NsAttach
from doorbell.nvme.driver import Driver
from doorbell.nvme.queueing import CHUNK_CYCLES

VF_QUEUES = 8  # of a VF, at most
PF_QUEUES = 32
VF_VECTORS = 7  # of a VF's MSI-X vectors, for I/O queues
HOST_STEP = 0x10_0000_0000  # from the host memory of a function to the next one's, to tell them apart
COPIES = 128  # at most, of a job
WARM = 256  # completions of all runners until the drive's slots are shared out as they will be: twice the slots


@dataclass(frozen=True)
class Functions:
    """How many functions of the drive work, whose the blocks are (private: a namespace for each), what each has."""

    count: int
    private: bool = False
    shares: tuple[Share, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_FN:
            raise UserError(f"--functions {self.count}: a drive has 1 to {MAX_FN}")

    def __str__(self) -> str:
        blocks = "a namespace each" if self.private else "parts of one namespace"
        return f"{self.count} functions, {blocks}{describe_shares(self.shares)}"

    @property
    def weights(self) -> dict[int, int]:
        return {share.function: share.weight for share in self.shares if share.weight is not None}

    def params(self, groups: Sequence[Sequence[Job]], given: dict[str, int | str]) -> dict[str, int | str]:
        """Parameters of the drive. Functions that do no work are there too, so that one simulator serves all counts."""
        num_fn = int(given.get("NUM_FN", MAX_FN))
        if num_fn < self.count:
            raise UserError(f"--functions {self.count}: NUM_FN is {num_fn}")
        if num_fn == 1 and self.shares:
            raise UserError(
                "--fn-weights, --fn-slots, --fn-limit and --fn-deadlines need a drive with VFs: NUM_FN is 1"
            )
        if num_fn == 1:
            return given
        return {"NUM_FN": num_fn, "NUM_NS": num_fn, "NUM_QP": queue_pairs(queues_of(groups, self.count), num_fn),
                **given}  # fmt: skip


def queue_pairs(wanted: Sequence[int], num_fn: int) -> int:
    """NUM_QP of a drive whose functions shall have so many queue pairs each. One of a few values, as each is a
    simulator of its own."""
    for fn, count in enumerate(wanted):
        most = VF_QUEUES if fn else PF_QUEUES
        if count > most:
            raise UserError(f"function {fn} would have {count} queues: it has at most {most}, so use fewer numjobs")
    vfs = num_fn - 1
    for pairs in (32, 64, 128, 192, 255 - num_fn):
        own = min(PF_QUEUES, max(pairs // 4, pairs - VF_VECTORS * vfs))  # the PF's: fw/state/resources.c
        if max(wanted[0], 1) <= own and sum(max(n, 1) for n in wanted[1:]) <= pairs - own:
            return pairs
    raise UserError(f"{sum(wanted)} queues are more than a drive with {num_fn} functions has: use fewer numjobs")


def jobs_of(jobs: Sequence[Job], fn: int) -> list[Job]:
    return [j for j in jobs if not j.functions or fn in j.functions]


def queues_of(groups: Sequence[Sequence[Job]], count: int) -> list[int]:
    """Queue pairs of each of so many functions: one for each copy of a job that runs at the same time."""
    return [max(1, *(sum(j.numjobs for j in jobs_of(group, fn)) for group in groups)) for fn in range(count)]


def check_jobs(jobs: Sequence[Job], functions: Functions | None) -> None:
    """Jobs name functions that work."""
    for job in jobs:
        if job.functions and functions is None:
            raise UserError(f"job {job.name} is for some functions: say with --functions how many there are")
        if functions is not None and any(fn >= functions.count for fn in job.functions):
            raise UserError(f"job {job.name}: there is no function {max(job.functions)}: they are 0 to "
                            f"{functions.count - 1}")  # fmt: skip


@dataclass
class Member:
    """A function that works: its driver, and its part of the blocks."""

    drive: Driver
    part: Part


def bring_up(
    sim: Any,
    functions: Functions,
    groups: Sequence[Sequence[Job]],
    arbitration: Arbitration = Arbitration(),  # noqa: B008
) -> list[Member]:
    """The PF and then the VFs, with queues for what each has to do in any of the groups of jobs."""
    loads = [[jobs_of(group, fn) for group in groups] for fn in range(functions.count)]
    queues = queues_of(groups, functions.count)
    memories = [host_memory([j for some in load for j in some], HOST_BASE + fn * HOST_STEP)
                for fn, load in enumerate(loads)]  # fmt: skip

    def start(drive: Driver, fn: int) -> Driver:
        depth = max((j.iodepth for some in loads[fn] for j in some), default=1)
        start_queues(drive, queues[fn], depth, loads[fn][0], arbitration, most_vectors=VF_VECTORS if fn else None)
        have = len(drive.sqs) - 1
        if have < queues[fn]:
            raise UserError(f"function {fn} has {have} queue pairs, not {queues[fn]}: use a larger NUM_QP")
        return drive

    pf = start(Driver(sim, memories[0]), 0)
    drives = [pf]
    own = _divide(pf, functions.count) if functions.private else [1] * functions.count
    if functions.count > 1:
        sim.enable_vfs(functions.count - 1)
    for fn in range(1, functions.count):
        try:
            namespaces.attachment_try(pf, own[fn], NsAttach.ATTACH, (fn,)).check()
            virtualization.assign(pf, fn, queues=queues[fn], interrupts=1 + min(queues[fn], VF_VECTORS))
            virtualization.online(pf, fn)
        except NvmeError as e:
            raise UserError(f"function {fn} does not come up: {e}") from e
        drives.append(start(Driver(sim.function(fn), memories[fn], nsid=own[fn]), fn))
    if functions.shares:
        apply(pf, functions.shares, functions.count)
    if functions.private:
        return [Member(d, Part(0, capacity_of(d))) for d in drives]
    size = capacity_of(pf) // functions.count & ~0xFFFFF or capacity_of(pf) // functions.count & ~0xFFF
    return [Member(d, Part(fn * size, size)) for fn, d in enumerate(drives)]


def _divide(pf: Driver, count: int) -> list[int]:
    """A namespace for each function, equal parts of the drive; the PF has its own. Their NSIDs."""
    namespaces.delete(pf)
    blocks = (namespaces.capacity(pf)[1] // count & ~0xFFFFF) // 512
    made = [namespaces.create(pf, blocks) for _ in range(count)]
    namespaces.attach(pf, made[0])
    pf.nsid = made[0]
    pf.identify_all()
    return made


def step(members: Sequence[Member], until_ns: float | None) -> list[Command]:
    """Run until an interrupt of any function, or up to that time; what completed."""
    sim = members[0].drive.sim
    cycles = CHUNK_CYCLES
    if until_ns is not None:
        cycles = min(cycles, max(1, -int(-(until_ns - sim.ns) * sim.clock_mhz // 1000)))
    return [c for fn in sim.run_any(cycles, range(len(members))) for c in members[fn].drive.poll()]


def run_functions(
    members: Sequence[Member],
    jobs: Sequence[Job],
    *,
    progress: Callable[[float], None] | None = None,
    recorder: Recorder | None = None,
) -> list[Result]:
    """Run jobs on all functions at the same time; a result for each job of each function. recorder: of function 0."""
    crews = {fn: Crew(m.drive, some, None if fn else recorder, part=m.part, first_index=fn * COPIES)
             for fn, m in enumerate(members) if (some := jobs_of(jobs, fn))}  # fmt: skip
    if recorder:
        recorder.start(members[0].drive)
    runners = [r for crew in crews.values() for r in crew.runners]
    start = Start(runners)
    for r in runners:
        r.start, r.warm = start, min(r.warm, max(2, WARM // len(runners)))
    drives = [members[fn].drive for fn in crews]
    before = bells_of(drives)
    keep_busy(list(crews.values()), lambda until_ns: step(members, until_ns), progress)
    doorbells, irqs = each(bells_of(drives), before)
    for crew in crews.values():
        crew.end(len(crews))
    if recorder:
        recorder.stop()
    opened, closed = max(r.opened_ns for r in runners), max(r.closed_ns for r in runners)
    results = []
    for fn, crew in crews.items():
        for job in crew.jobs:
            mine = [r for r in crew.runners if r.job is job]
            result = joined(job, mine, doorbells, irqs)
            result.window = _window(mine, opened, closed)
            result.duration_ns = result.ios * (closed - opened) / max(1, result.window.total())
            result.function = fn
            results.append(result)
    return results


def _window(runners: Sequence[Runner], opened: float, closed: float) -> Counter[tuple[bool, int]]:
    return Counter((read, size) for r in runners for at, read, size in r.log if opened < at <= closed)


def together(results: Sequence[Result]) -> Result:
    """What all functions reached with a job that all have."""
    first = results[0]
    out = joined(first.job, [], first.doorbells, first.irqs)
    for r in results:
        out.read.join(r.read)
        out.write.join(r.write)
        out.window += r.window
    out.duration_ns = out.ios * 1e9 / sum(r.iops for r in results)
    return out


def with_fn0(jobs: Sequence[Job], options: str, count: int) -> list[Job]:
    """Function 0 has a job with other options (`rw=randread iodepth=1`), the others have `jobs`."""
    if len(jobs) > 1 or jobs[0].functions:
        raise UserError("--fn0 is for one job; a job file says function=0 and function=1-16")
    if count < 2:
        raise UserError("--fn0: there are no other functions: use --functions 2 or more")
    job = replace(jobs[0], name="fn0")
    for word in options.split():
        key, _, value = word.partition("=")
        job = apply_option(job, key, value, "--fn0")
    return [replace(job, functions=(0,)), replace(jobs[0], functions=tuple(range(1, count)))]
