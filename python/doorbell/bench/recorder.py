# SPDX-License-Identifier: Apache-2.0
"""`./doorbell bench --top db_recorder`: a stream captured by N drives at once and read out again, in simulated time.

The source always has data (or brings --rate), the reader takes all. Rates are of the steady state, the ends left out.
A figure counts only if the drives hold the stream block by block, but for blocks that the recorder says are lost, and
what is read out is what they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from doorbell import build
from doorbell.bench.host import DUNE, FETCH, PART, Setup, drive_of, link_of, total
from doorbell.bench.jobs import Job
from doorbell.bench.results import Result, Side, fio_json
from doorbell.device import limits
from doorbell.device.recorder_setup import MAX_DRIVES, STREAM_W, simulator_params, traffic, write_limit
from doorbell.device.recorder_sim import BLOCK, RecorderSim
from doorbell.errors import UserError

WORDS = BLOCK // 8
SIZE = 16 << 20
LEAST = 1 << 20  # bytes of each drive: a quarter of it fills what is between the source and the drive
MEANT = ("rw", "size", "randseed")  # fio's options that a recorder has a use for
BUFFER = 1 << 20  # bytes that a source with a rate of its own can keep; from half of it on blocks are thrown away
STEP = 200  # cycles between two looks
QUIET_NS = 1e9  # nothing has moved for so long
STREAM_MAX = 1024
LEAST_SEEN = 32  # blocks in the part of a capture whose rate is measured


@dataclass(frozen=True)
class RecorderSetup(Setup):
    """rate: GB/s that the source brings; 0: all that is taken."""

    top: str = "db_recorder"
    drives: int = 2
    rate: float = 0

    def __str__(self) -> str:
        wire = limits.Link.parse(self.link)
        count = f"{self.drives} x {self.ssd}" if self.drives > 1 else self.ssd
        rate = f", source {self.rate:g} GB/s" if self.rate else ""
        return f"{self.top} + {count}, {wire} each, {self.data_w} bit, {self.clock_mhz:g} MHz{rate}"


@dataclass(frozen=True)
class Measured:
    """A capture, or a read-out: of the steady state but for peak_us and lost, which are of all of it."""

    read: bool
    blocks: int
    cycles: float  # of each
    clock_mhz: float
    link: limits.Limit  # of all links together
    stream_gb_per_s: float  # the recorder's own stream
    all_cycles: int  # from the first register write to the end of everything
    peak_us: int = 0  # longest write
    lost: int = 0
    histogram: tuple[int, ...] = ()  # docs/recorder/registers.md

    @property
    def name(self) -> str:
        return "read-out" if self.read else "capture"

    @property
    def gb_per_s(self) -> float:
        return BLOCK * self.clock_mhz / self.cycles / 1e3

    @property
    def ns(self) -> float:
        """In which the blocks moved."""
        return self.blocks * self.cycles * 1e3 / self.clock_mhz

    @property
    def of_links(self) -> float:
        """Per cent."""
        return 100 * self.gb_per_s * 1e9 / self.link.bytes_per_s


def params_of(s: RecorderSetup) -> dict[str, int | str]:
    """As `./doorbell record` has them, so that it is the same simulator; a wider data path has a wider stream."""
    out = simulator_params(s.drives)
    if s.data_w != 128:
        out |= {"DATA_W": s.data_w, "STREAM_W": min(STREAM_MAX, STREAM_W[s.drives] * s.data_w // 128)}
    if s.clock_mhz != 250:
        out["CLK_MHZ"] = round(s.clock_mhz)
    return {**out, **s.params}


def open_recorder(s: RecorderSetup, seed: int = 1) -> RecorderSim:
    """The recorder with its drives, up."""
    library = build.simulator(s.top, params_of(s))
    sim = RecorderSim(library, [drive_of(s) for _ in range(s.drives)], clock_mhz=s.clock_mhz, write_gbps=s.rate,
                      seed=seed)  # fmt: skip
    sim.run_until(lambda: sim.up or sim.dead, 20_000_000)
    if not sim.up:
        sim.close()
        raise UserError("the drives were not brought up")
    sim.run(2000)
    return sim


# ------------------------------------------------------------------------------------------------------------ running


def stream_of(blocks: int, seed: int) -> np.ndarray:
    """A row of 8-byte words a block: random, but for the first, its number."""
    data = np.frombuffer(bytearray(np.random.default_rng(seed).bytes(blocks * BLOCK)), "<u8").reshape(blocks, WORDS)
    data[:, 0] = np.arange(blocks)
    return data


def _until(sim: RecorderSim, moved: Callable[[], int], least: int, what: str) -> int:
    """Run until so much has moved; the cycle."""
    last, since = moved(), sim.cycle
    while last < least:
        sim.run(STEP)
        now = moved()
        if now != last:
            last, since = now, sim.cycle
        elif sim.cycle - since > sim.cycles(QUIET_NS):
            raise UserError(f"{what}: nothing has moved for a second of simulated time")
    return sim.cycle


def _check_capture(sim: RecorderSim, data: np.ndarray, lost: int) -> None:
    """All of the stream is on the drives in turn and in order, but for what is said to be lost."""
    n = sim.ports
    done = [sim.get("NumBlocks", i) for i in range(n)]
    held = np.zeros((max(done) * n, WORDS), "<u8")
    there = np.zeros(max(done) * n, bool)
    for i in range(n):
        held[i::n][: done[i]] = np.frombuffer(sim.media_view(0, done[i] * BLOCK, i), "<u8").reshape(-1, WORDS)
        there[i::n][: done[i]] = True
        for run in sim.runs(i):
            there[i::n][run.first : run.first + run.count] = False
    if int(there.sum()) + lost != len(data):
        raise UserError(f"{len(data)} blocks were given; {there.sum()} are on the drives, {lost} are said to be lost")
    found = held[there]
    numbers = found[:, 0]
    if len(numbers) and (numbers.max() >= len(data) or (numbers[1:] <= numbers[:-1]).any()):
        raise UserError("the order of the blocks on the drives is not what it was in the stream")
    if not np.array_equal(found, data[numbers.astype(np.int64)]):
        raise UserError("what a drive holds is not what the stream brought")


def capture(sim: RecorderSim, s: RecorderSetup, data: np.ndarray) -> Measured:
    n, count = s.drives, len(data)
    if s.rate:
        sim.source(BUFFER, BUFFER // 2)
    before, begin = traffic(sim), sim.cycle
    sim.start_capture(0, count // n)
    sim.capture(data)
    seen = []
    for share in (0.25, 0.9):
        at = _until(sim, lambda: data.nbytes - sim.signal("wdata_left"), round(share * data.nbytes), "capture")
        taken = (data.nbytes - sim.signal("wdata_left")) / BLOCK
        seen.append((at, taken - (sim.get("BlocksLost") if s.rate else 0)))
    _until(sim, lambda: data.nbytes - sim.signal("wdata_left"), data.nbytes, "capture")
    sim.set("Control", 0)  # where blocks were thrown away the chunk is not full
    sim.run_until(lambda: sim.captured, sim.cycles(QUIET_NS), STEP)
    lost = sum(sim.get("Lost", i) for i in range(n)) + sim.get("BlocksLost")
    _check_capture(sim, data, lost)
    (start, first), (end, last) = seen
    if last - first < LEAST_SEEN:
        raise UserError(f"too few blocks were stored while the source brought them ({lost} of {count} are lost): "
                        "there is no rate; use --rate less or --size more")  # fmt: skip
    one = write_limit(before, traffic(sim), max(1, count - lost), link_of(sim, s))
    width = sim.get("Shape", field="width")
    return Measured(
        False, round(last - first), (end - start) / (last - first), s.clock_mhz, times(one, n),
        width / 8 * s.clock_mhz / 1e3, sim.cycle - begin, max(sim.get("PeakLatencyUs", i) for i in range(n)), lost,
        tuple(map(sum, zip(*(sim.histogram(i) for i in range(n)), strict=True))),
    )  # fmt: skip


def read_out(sim: RecorderSim, s: RecorderSetup) -> Measured:
    """What a capture before has left there."""
    n = s.drives
    rows = min(sim.get("NumBlocks", i) for i in range(n))
    got = np.zeros((rows * n, WORDS), "<u8")
    rung, begin = total(sim, "down.MWr.tlps"), sim.cycle
    sim.start_read(0, rows, memoryview(got).cast("B"))
    seen = []
    for share in (0.1, 0.9):
        at = _until(sim, lambda: sim.signal("rdata_bytes"), round(share * got.nbytes), "read-out")
        seen.append((at, sim.signal("rdata_bytes") / BLOCK))
    sim.run_until(lambda: sim.read_done, sim.cycles(QUIET_NS), STEP)
    sim.set("ReadControl", 0)
    if any(sim.get("ReadError", i) or sim.get("BadReads", i) for i in range(n)):
        raise UserError("a drive could not read")
    for i in range(n):
        if not np.array_equal(got[i::n], np.frombuffer(sim.media_view(0, rows * BLOCK, i), "<u8").reshape(-1, WORDS)):
            raise UserError(f"what was read is not what drive {i} holds")
    (start, first), (end, last) = seen
    each = int(s.params.get("READ_BLOCKS", 8))  # blocks of a command
    doorbells = (total(sim, "down.MWr.tlps") - rung) / (n * -(-rows // each))
    one = limits.host_limit(link_of(sim, s), limits.HostWorkload(
        each * BLOCK, 1.0, part=PART, sqes_per_fetch=FETCH, sq_doorbells=doorbells, cq_doorbells=0))  # fmt: skip
    beats = BLOCK // 16 + 1  # of m_axis_hostrecv: the header is one
    one = replace(one, iops=one.iops * each, up_bytes=one.up_bytes / each, down_bytes=one.down_bytes / each)
    return Measured(True, round(last - first), (end - start) / (last - first), s.clock_mhz, times(one, n),
                    BLOCK / beats * s.clock_mhz / 1e3, sim.cycle - begin)  # fmt: skip


def times(one: limits.Limit, n: int) -> limits.Limit:
    return replace(one, iops=one.iops * n, bytes_per_s=one.bytes_per_s * n)


def measure(s: RecorderSetup, size: int = SIZE, read: bool = False, seed: int = 1) -> list[Measured]:
    """A capture of so many bytes (or a few more: all drives get as much), and then its read-out."""
    rows = -(-size // (s.drives * BLOCK))
    data = stream_of(rows * s.drives, seed)
    with open_recorder(s, seed) as sim:
        out = [capture(sim, s, data)]
        if read:
            out.append(read_out(sim, s))
        if broken := sim.errors():
            raise UserError(f"rules of PCIe, NVMe or streams were broken: {broken}")
    return out


# --------------------------------------------------------------------------------------------------- command line


def check_options(s: RecorderSetup, given: dict[str, str | None], job: Job) -> None:
    """What a recorder cannot do, as one line."""
    if useless := [f"--{k.replace('_', '-')}" for k, v in given.items() if v is not None and k not in MEANT]:
        raise UserError(f"{', '.join(useless)}: not for {s.top}, which records a stream in blocks of 4 KiB: "
                        f"give {', '.join('--' + k for k in MEANT)}, --drives, --rate")  # fmt: skip
    if job.rw not in ("write", "read"):
        raise UserError(f"--rw {job.rw}: {s.top} captures (write), or captures and reads out (read)")
    if s.ssd not in ("model", "db_ssd"):
        raise UserError(f"--ssd: there is no drive '{s.ssd}': use model or db_ssd")
    if not 1 <= s.drives <= MAX_DRIVES:
        raise UserError(f"--drives {s.drives}: 1 to {MAX_DRIVES}")
    if not 0 <= s.rate <= 1000:
        raise UserError(f"--rate {s.rate:g}: GB/s, 0 to 1000")
    for name, us in (("read-us", s.read_us), ("write-us", s.write_us)):
        if us is not None and not 0 <= us <= 1_000_000:
            raise UserError(f"--{name}: {us:g} is not in 0 to 1000000")
    if "N_DRIVES" in s.params:
        raise UserError("--param N_DRIVES: use --drives")
    size = job.size or SIZE
    if not LEAST <= size / s.drives <= s.media_size:
        raise UserError(f"--size {size}: of {s.drives} drives from {LEAST * s.drives} to {s.media_size * s.drives} "
                        "(--media-size is the size of a drive)")  # fmt: skip


def results_json(s: RecorderSetup, job: Job, found: list[Measured]) -> dict[str, Any]:
    """fio's, a job each for capture and read-out; what a recorder has beyond it under "doorbell"."""
    results = []
    for m in found:
        side = Side(m.blocks, m.blocks * BLOCK)
        both = (side, Side()) if m.read else (Side(), side)
        named = replace(job, name=m.name, rw="read" if m.read else "write", size=job.size or SIZE)
        results.append(Result(named, *both, duration_ns=m.ns, irqs=0, limit=m.link))
    out = fio_json([[r] for r in results], limits.Link.parse(s.link, mps=s.mps), asdict(s))
    for m, one in zip(found, out["jobs"]):
        for name in ("iodepth", "numjobs"):
            del one["job options"][name]  # the recorder's own
        one["doorbell"]["link_use"] /= s.drives
        one["doorbell"] |= {
            "gb_per_s": m.gb_per_s, "cycles_per_block": m.cycles, "percent_of_links": m.of_links,
            "links_gb_per_s": m.link.bytes_per_s / 1e9, "stream_gb_per_s": m.stream_gb_per_s,
            "all_cycles": m.all_cycles,
        }  # fmt: skip
        if not m.read:
            one["doorbell"] |= {"peak_write_latency_us": m.peak_us, "blocks_lost": m.lost,
                                "histogram": list(m.histogram)}  # fmt: skip
    return out


def table(s: RecorderSetup, found: list[Measured]) -> Any:
    from rich.table import Table

    out = Table(title=f"{s}, MPS {s.mps}; simulated time", title_justify="left")
    out.add_column("what")
    for name in ("GB/s", "cycles a block", "links GB/s", "% of links", "stream GB/s", "peak write us", "blocks lost"):
        out.add_column(name, justify="right")
    for m in found:
        out.add_row(m.name, f"{m.gb_per_s:.2f}", f"{m.cycles:.1f}", f"{m.link.bytes_per_s / 1e9:.2f}",
                    f"{m.of_links:.1f}", f"{m.stream_gb_per_s:.2f}", "-" if m.read else str(m.peak_us),
                    "-" if m.read else str(m.lost))  # fmt: skip
    return out


# ---------------------------------------------------------------------------------------------------------- the suite

DUNE_CAPTURE, DUNE_CAPTURE_LOW, DUNE_READ = 4.79, 4.36, 0.47
"""GB/s with two drives on Gen3 x4, 250 MHz, as published: captured, from and to, and read out."""
TARGET = RecorderSetup(read_us=80, write_us=10)
EACH = 4 << 20  # bytes of a drive


def scaling(counts: tuple[int, ...]) -> Iterator[tuple[RecorderSetup, list[Measured]]]:
    """Captures and read-outs by 1, 2, 4 ... drives."""
    for n in counts:
        s = replace(TARGET, drives=n)
        yield s, measure(s, n * EACH, read=True)


def targets(counts: tuple[int, ...] = (1, 2, 4)) -> Iterator[tuple[str, float, float, str, bool]]:
    """(what, target, measured, unit, at least?). The first count is one drive."""
    alone = 0.0
    for s, (wrote, read) in scaling(counts):
        yield f"{s}: capture, {s.write_us:g} us", 97, wrote.of_links, "% of link", True
        if s.drives == 1:
            alone = wrote.gb_per_s
            continue
        off = 100 * abs(wrote.gb_per_s / (s.drives * alone) - 1)
        yield f"{s.drives} drives: capture, how far from {s.drives} times one", 2, off, "%", False
        if s.drives == 2:
            yield "2 drives: capture, beside the most that DUNE published", DUNE_CAPTURE, wrote.gb_per_s, "GB/s", True
            yield f"2 drives: read-out, {s.read_us:g} us, beside DUNE's", DUNE_READ, read.gb_per_s, "GB/s", True


def over_drives(counts: tuple[int, ...]) -> Iterator[dict[str, Any]]:
    """For the report."""
    for s, found in scaling(counts):
        for m in found:
            yield {"drives": s.drives, "what": m.name, "gb_s": m.gb_per_s, "cycles": m.cycles,
                   "links_gb_s": m.link.bytes_per_s / 1e9, "of_links": m.of_links, "stream_gb_s": m.stream_gb_per_s,
                   "peak_us": m.peak_us, "lost": m.lost}  # fmt: skip


DUNE_PUBLISHED = {"capture": (DUNE_CAPTURE_LOW, DUNE_CAPTURE), "read-out": (DUNE_READ,)}


def peers() -> Iterator[dict[str, Any]]:
    """DUNE's published rates of two drives, and cycles a block of its core with one, measured on a like bench."""
    name = "DUNE, recorder"
    wrote, read = measure(TARGET, 2 * EACH, read=True)
    for m in (wrote, read):
        theirs = DUNE_PUBLISHED[m.name]
        limit = min(m.link.bytes_per_s / 1e9, m.stream_gb_per_s)
        yield {"table": name, "what": f"2 drives, {m.name}, GB/s", "theirs": theirs[-1], "theirs_low": theirs[0],
               "ours": m.gb_per_s, "limit": limit, "kiops": m.gb_per_s / BLOCK * 1e6, "higher_is_better": True,
               "rw": "read" if m.read else "write", "bs": BLOCK}  # fmt: skip
    for us in sorted({us for _, us in DUNE}):
        s = replace(TARGET, drives=1, read_us=us, write_us=us)
        for m in measure(s, EACH, read=("read", us) in DUNE):
            rw = "read" if m.read else "write"
            if (rw, us) in DUNE:
                yield {"table": name, "what": f"1 drive of {us} us, {m.name}, cycles a block", "theirs": DUNE[rw, us],
                       "ours": m.cycles, "limit": s.clock_mhz * 1e6 / m.link.iops,
                       "kiops": m.gb_per_s / BLOCK * 1e6, "higher_is_better": False, "rw": rw, "bs": BLOCK}  # fmt: skip
