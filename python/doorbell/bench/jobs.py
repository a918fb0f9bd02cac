# SPDX-License-Identifier: Apache-2.0
"""fio's options and job files, as far as they mean something for a drive in simulated time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from doorbell.errors import UserError
from doorbell.units import parse_rate, parse_size, parse_time_ns, size_name

RW = ("read", "write", "randread", "randwrite", "rw", "readwrite", "randrw", "trim", "randtrim")
MIXED = ("rw", "readwrite", "randrw")

# Options of fio that change nothing here (how a host does its I/O, what it prints): a job file may have them.
IGNORED = {
    "ioengine", "direct", "filename", "group_reporting", "thread", "invalidate", "norandommap",
    "randrepeat", "allrandrepeat", "refill_buffers", "scramble_buffers", "buffered", "create_on_open",
    "lat_percentiles", "clat_percentiles", "slat_percentiles", "percentile_list", "cpus_allowed",
    "cpus_allowed_policy", "ioscheduler", "description", "gtod_reduce", "disable_slat", "disable_clat", "disable_lat",
    "hipri", "registerfiles", "fixedbufs", "sync", "iodepth_batch", "iodepth_batch_complete_min", "numa_cpu_nodes",
    "random_generator", "exitall", "continue_on_error", "unified_rw_reporting", "disk_util", "userspace_reap",
}  # fmt: skip
DEFAULT_IOS = 4096
DEFAULT_BYTES = 32 << 20
Split = tuple[tuple[int, int], ...]  # (block size, weight)


def _count(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError as e:
            raise ValueError(f"'{text}' is not a number") from e
        if not low <= value <= high:
            raise ValueError(f"{value} is not in {low} to {high}")
        return value

    return parse


def _rw(text: str) -> str:
    if text not in RW:
        raise ValueError(f"'{text}' is not one of {', '.join(RW)}")
    return text


def _block(text: str) -> int:
    size = parse_size(text)
    if not size:
        raise ValueError("a block has at least one byte")
    return size


def parse_bs(text: str) -> tuple[Split, Split]:
    """bs: one size, or read,write (a third one, for trims, is not used)."""
    sizes = [_block(part) for part in text.split(",") if part.strip()]
    if not 1 <= len(sizes) <= 3:
        raise ValueError(f"'{text}' is not a block size: use for example 4k, or 4k,8k for reads and writes")
    return ((sizes[0], 1),), ((sizes[min(1, len(sizes) - 1)], 1),)


def parse_bssplit(text: str) -> tuple[Split, Split]:
    """bssplit: size/percent:size/percent, or two such lists with a comma between them for reads and writes.

    Sizes without a percentage share what is left of 100.
    """
    sides = [_split(part) for part in text.split(",") if part.strip()]
    if not 1 <= len(sides) <= 3:
        raise ValueError(f"'{text}' is not a split: use for example 4k/70:64k/30")
    return sides[0], sides[min(1, len(sides) - 1)]


def _split(text: str) -> Split:
    sizes: list[int] = []
    shares: list[float | None] = []
    for part in text.split(":"):
        size, _, share = part.partition("/")
        sizes.append(_block(size))
        shares.append(_count(0, 100)(share) if share.strip() else None)
    given, open_ = sum(s for s in shares if s is not None), shares.count(None)
    if given > 100 or (not open_ and given != 100):
        raise ValueError(f"the percentages of '{text}' add up to {given:.0f}, not 100")
    # weights in 1/open_ of a percent, so that they stay whole
    weights = [round(s * (open_ or 1)) if s is not None else 100 - int(given) for s in shares]
    return tuple((size, w) for size, w in zip(sizes, weights) if w)


LEAST_THETA = 0.001  # weights of 2^24 blocks are summed in 64 bits


def parse_distribution(text: str) -> float:
    """random_distribution: random, or zipf:theta. Returns theta; 0 is uniform."""
    name, _, value = text.partition(":")
    if name == "random" and not value:
        return 0.0
    if name != "zipf":
        raise ValueError(f"'{text}' is not known: use random or zipf:1.2")
    try:
        theta = float(value or "1.1")
    except ValueError as e:
        raise ValueError(f"'{value}' is not a number") from e
    if not LEAST_THETA <= theta <= 10:
        raise ValueError(f"theta is {theta}: it must be from {LEAST_THETA} to 10")
    return theta


@dataclass(frozen=True)
class Job:
    """One section of a job file, or the command line's job."""

    name: str = "doorbell"
    rw: str = "read"
    bs: int = 4096  # of reads and writes, unless `split` is given
    iodepth: int = 1
    numjobs: int = 1
    rwmixread: int = 50
    size: int = 0  # region from `offset`, and the amount of data unless number_ios is given; 0: the whole drive
    offset: int = 0
    number_ios: int = 0
    runtime_ns: int = 0
    randseed: int = 1
    stonewall: bool = False
    split: tuple[Split, Split] | None = None  # block sizes of reads, of writes
    zipf: float = 0.0  # 0: uniform
    time_based: bool = False  # go on until runtime_ns even when all of `size` was moved
    thinktime_ns: int = 0  # pause of a copy after `thinktime_blocks` commands, once all that it has sent are done
    thinktime_blocks: int = 1
    rate: int = 0  # bytes a second that a copy sends at most; 0: all that the drive takes
    rate_iops: int = 0  # the same in commands
    fsync: int = 0  # a copy sends a flush after so many writes; 0: none
    sq_priority: tuple[int, ...] = ()  # of the copies' queues, dealt out in turn; none: queues have no priorities
    functions: tuple[int, ...] = ()  # that the job runs on, each with all its copies; none: on all that there are

    @property
    def read_share(self) -> float:
        if self.rw in MIXED:
            return self.rwmixread / 100
        return 1.0 if self.rw in ("read", "randread") else 0.0

    @property
    def trims(self) -> bool:
        """Its commands deallocate a range each; they count as writes, which move no data."""
        return self.rw in ("trim", "randtrim")

    def sizes(self, read: bool) -> Split:
        """Block sizes with their weights."""
        return self.split[0 if read else 1] if self.split else ((self.bs, 1),)

    def used(self) -> Split:
        """Block sizes of the directions that the job has."""
        share = self.read_share
        return (self.sizes(True) if share > 0 else ()) + (self.sizes(False) if share < 1 else ())

    @property
    def max_bs(self) -> int:
        return max(size for size, _ in self.used())

    @property
    def min_bs(self) -> int:
        return min(size for size, _ in self.used())

    @property
    def mean_bs(self) -> float:
        def mean(split: Split) -> float:
            return sum(s * w for s, w in split) / sum(w for _, w in split)

        share = self.read_share
        return share * mean(self.sizes(True)) + (1 - share) * mean(self.sizes(False))

    @property
    def paced(self) -> bool:
        """It does not send all that the drive would take."""
        return bool(self.thinktime_ns or self.rate or self.rate_iops)

    def ios(self) -> int:
        """Commands to measure, for each of the numjobs."""
        if self.number_ios:
            return self.number_ios
        if self.size and not (self.time_based and self.runtime_ns):
            return max(1, int(self.size / self.mean_bs))
        if self.runtime_ns:
            return 1 << 60
        return max(int(min(DEFAULT_IOS, DEFAULT_BYTES / self.mean_bs)) // self.numjobs, 2 * self.iodepth, 16)


def _set_split(job: Job, split: tuple[Split, Split]) -> Job:
    plain = split[0] == split[1] and len(split[0]) == 1
    return replace(job, bs=split[0][0][0], split=None if plain else split)


def _field(name: str) -> Callable[[Job, Any], Job]:
    return lambda job, value: replace(job, **{name: value})


PRIORITIES = ("urgent", "high", "medium", "low")  # NVMe's classes of submission queues, by their number


def parse_priorities(text: str) -> tuple[int, ...]:
    """One class for all copies of a job, or a list with commas that is dealt out to them."""
    names = [word.strip().lower() for word in text.split(",")]
    for name in names:
        if name not in PRIORITIES:
            raise ValueError(f"'{name}' is not one of {', '.join(PRIORITIES)}")
    return tuple(PRIORITIES.index(name) for name in names)


def parse_functions(text: str) -> tuple[int, ...]:
    """Indices of functions: 0, 1-16, or a list of such with commas."""
    found: set[int] = set()
    for word in text.split(","):
        first, dash, last = (part.strip() for part in word.partition("-"))
        if not first.isdecimal() or (dash and not last.isdecimal()) or max(len(first), len(last)) > 4:
            raise ValueError(f"'{word[:40]}' is not a function or a range of them: use for example 0 or 1-16")
        numbers = range(int(first), int(last if dash else first) + 1)
        if not numbers:
            raise ValueError(f"'{word}' ends before it begins: use for example 1-16")
        found.update(numbers)
    return tuple(sorted(found))


def _think_ns(text: str) -> int:
    """Microseconds when there is no unit, as in fio."""
    return parse_time_ns(f"{text}us" if text.strip().isdecimal() else text)


def _above_0(parse: Callable[[str], int]) -> Callable[[str], int]:
    def checked(text: str) -> int:
        value = parse(text)
        if value < 1:
            raise ValueError(f"{text} is not above 0")
        return value

    return checked


Option = tuple[Callable[[Job, Any], Job], Callable[[str], Any]]
OPTIONS: dict[str, Option] = {
    "name": (_field("name"), str),
    "rw": (_field("rw"), _rw),
    "readwrite": (_field("rw"), _rw),
    "bs": (_set_split, parse_bs),
    "blocksize": (_set_split, parse_bs),
    "bssplit": (_set_split, parse_bssplit),
    "iodepth": (_field("iodepth"), _count(1, 4095)),
    "numjobs": (_field("numjobs"), _count(1, 128)),
    "rwmixread": (_field("rwmixread"), _count(0, 100)),
    "rwmixwrite": (_field("rwmixread"), lambda text: 100 - _count(0, 100)(text)),
    "size": (_field("size"), parse_size),
    "offset": (_field("offset"), parse_size),
    "number_ios": (_field("number_ios"), _count(1, 1 << 40)),
    "runtime": (_field("runtime_ns"), parse_time_ns),
    "random_distribution": (_field("zipf"), parse_distribution),
    "randseed": (_field("randseed"), _count(0, 1 << 63)),
    "stonewall": (_field("stonewall"), lambda text: text != "0"),
    "time_based": (_field("time_based"), lambda text: text != "0"),
    "thinktime": (_field("thinktime_ns"), _think_ns),
    "thinktime_blocks": (_field("thinktime_blocks"), _count(1, 1 << 30)),
    "rate": (_field("rate"), _above_0(parse_rate)),
    "rate_iops": (_field("rate_iops"), _count(1, 1 << 30)),
    "fsync": (_field("fsync"), _count(0, 1 << 30)),
    "sq_priority": (_field("sq_priority"), parse_priorities),
    "function": (_field("functions"), parse_functions),
    "wait_for_previous": (_field("stonewall"), lambda text: text != "0"),
}


def apply_option(job: Job, key: str, value: str, where: str) -> Job:
    """`job` with one option of a job file or the command line set."""
    key = key.strip().lower().replace("-", "_")
    if key in IGNORED:
        return job
    if key not in OPTIONS:
        known = ", ".join(sorted(k for k in OPTIONS if k != "name"))
        raise UserError(f"{where}: the option '{key}' is not known; bench knows {known}")
    put, parse = OPTIONS[key]
    try:
        return put(job, parse(value.strip()))
    except ValueError as e:
        raise UserError(f"{where}: {key}: {e}") from e


def parse_job_file(text: str, source: str = "job file") -> list[Job]:
    """The jobs of a fio job file: [global] sections set defaults for what follows, every other section is a job."""
    base, jobs = Job(), []
    current: Job | None = None
    in_global = False
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].split(";", 1)[0].strip()
        where = f"{source}:{number}"
        if not line:
            continue
        if line.startswith("["):
            if not line.endswith("]") or len(line) < 3:
                raise UserError(f"{where}: '{line}' is not a section: write [name]")
            if current is not None:
                jobs.append(current)
            in_global = line[1:-1].strip().lower() == "global"
            current = None if in_global else replace(base, name=line[1:-1].strip(), stonewall=base.stonewall)
            continue
        key, _, value = line.partition("=")
        if in_global:
            base = apply_option(base, key, value or "1", where)
        elif current is not None:
            current = apply_option(current, key, value or "1", where)
        else:
            raise UserError(f"{where}: '{key.strip()}' stands before the first [section]")
    if current is not None:
        jobs.append(current)
    if not jobs:
        raise UserError(f"{source}: there is no job in it: a job is a [section] other than [global]")
    return jobs


def given_jobs(job_file: Path | None, given: dict[str, str | None], base: Job) -> list[Job]:
    """The jobs of the file, or the one of the command line; options of the command line go over those of the file."""
    jobs = [base]
    if job_file is not None:
        try:
            jobs = parse_job_file(job_file.read_text(), str(job_file))
        except OSError as e:
            raise UserError(f"cannot read the job file {job_file}: {e.strerror}") from e
        except UnicodeDecodeError as e:
            raise UserError(f"{job_file} is not a job file: it is not text") from e
    for key, value in given.items():
        if value is not None:
            jobs = [apply_option(job, key, value, "--" + key.replace("_", "-")) for job in jobs]
    return jobs


def groups(jobs: Iterable[Job]) -> list[list[Job]]:
    """Jobs that run at the same time; a stonewall starts the next group."""
    out: list[list[Job]] = []
    for job in jobs:
        if job.stonewall or not out:
            out.append([])
        out[-1].append(job)
    return out


def describe(job: Job) -> str:
    """A few words for tables."""
    if job.split is None:
        size = size_name(job.bs)
    else:
        size = f"{size_name(job.min_bs)} to {size_name(job.max_bs)}"
    mix = f" {job.rwmixread}/{100 - job.rwmixread}" if job.rw in MIXED else ""
    jobs = f" x {job.numjobs}" if job.numjobs > 1 else ""
    zipf = f" zipf {job.zipf:g}" if job.zipf else ""
    prio = ", " + "/".join(PRIORITIES[p] for p in job.sq_priority) if job.sq_priority else ""
    return f"{job.rw}{mix}{zipf} {size}, QD {job.iodepth}{jobs}{prio}"
