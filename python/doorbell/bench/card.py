# SPDX-License-Identifier: Apache-2.0
"""A card (db_vcsd) beside the same SSD driven directly: throughput, added latency by stage, functions times SSDs.

The SSD is a `db_ssd` on a link of its own. Directly a host drives it over that link; behind a
card the same host drives a function of the card, and the card drives the SSD.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from doorbell.bench.bringup import host_memory, start_queues
from doorbell.bench.drive import CARD_FN, DriveSetup
from doorbell.bench.functions import Functions, Member, bring_up, run_functions
from doorbell.bench.jobs import Job
from doorbell.bench.results import Result
from doorbell.bench.runner import run_group
from doorbell.bench.ssds import SsdSetup
from doorbell.compute import drive as compute
from doorbell.compute.operators import Op
from doorbell.device.opening import check_clean, open_sim
from doorbell.device.switch_sim import OPTIONS as SWITCH
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.driver import Driver

SIZES = (1024, 4096, 16384, 65536)
OURS_US = 2.0  # db_ssd, made for memory, asks its media for 16 KiB ahead: a slower one would not fill the link
STAGES = {
    NvmOpc.READ: ("to the SSD's doorbell", "SSD", "to the last data", "to the CQE", "to the host"),
    NvmOpc.WRITE: ("to the SSD's doorbell", "SSD", "to the CQE", "to the host"),
}
"""Of a command that is alone; the SSD's: from its doorbell to its completion entry, both at the card's pins."""

WIDE: dict[str, int | str] = {"NUM_CMDS": 256, "CQ_CC_STRADDLE": 1}
"""Parameters of a card of several SSDs: commands inside for all of them, and the streams as full as the link."""
IN_FLIGHT, DEPTH = 256, 64
"""Of `grid`: as many commands as such a card holds, in queues of which it works on so many at a time (QUEUE_MAX)."""


@dataclass(frozen=True)
class CardSetup:
    """A card with its SSDs."""

    ssds: SsdSetup = SsdSetup(1, "db_ssd", read_us=OURS_US, write_us=OURS_US)  # noqa: RUF009
    link: str = "gen4x8"
    data_w: int = 512
    num_fn: int = CARD_FN
    params: dict[str, int | str] = field(default_factory=dict)

    def open(self) -> Any:
        """A simulation of it."""
        many = {"NUM_NS": self.num_fn} if self.num_fn > 1 else {}
        params = {"NUM_SSD": self.ssds.number, **many, **self.params}
        return open_sim(top="db_vcsd", link=self.link, data_w=self.data_w, num_fn=self.num_fn, params=params,
                        **self.ssds.options())  # fmt: skip

    @property
    def step(self) -> int:
        """Bytes at whose multiples a TLP begins on the card's CQ and CC: a beat, or half of one where they straddle."""
        straddled = int(self.params.get("CQ_CC_STRADDLE", 0))
        return self.data_w // 8 // (2 if straddled else 1)

    def __str__(self) -> str:
        return f"{self.link}, {self.data_w} bit, {self.ssds}"


class Card:
    """One that is up."""

    def __init__(self, setup: CardSetup, functions: int, jobs: Sequence[Job], private: bool = True) -> None:
        """functions: that are there. jobs: the largest that will run. private: each has an equal part of all, else they
        share the namespace that a new card has."""
        self.setup = setup
        self.sim = setup.open()
        self.members: list[Member] = bring_up(self.sim, Functions(functions, private), [list(jobs)])
        self.busy = 0.0
        """How much of the time the busier direction of the card's link carried something, in the last `run`, in %."""
        self.of_streams = 0.0
        """Throughput of the last `run`, in % of what the fuller one of the card's streams CQ and CC can carry."""

    def run(self, count: int, *jobs: Job) -> list[Result]:
        """Jobs on the first `count` functions."""
        before, tlps, start = self._bytes(), self.sim.counters(), self.sim.cycle
        found = run_functions(self.members[:count], jobs)
        each = (self.sim.cycle - start) * self.sim.link_bytes_per_cycle
        self.busy = max(100 * (now - was) / each for now, was in zip(self._bytes(), before))
        moved = {name: value - tlps[name] for name, value in self.sim.counters().items()}
        most = bytes_a_beat(moved, self.setup.ssds.number, self.setup.data_w // 8, self.setup.step,
                            self.sim.link_policy["mps"])  # fmt: skip
        self.of_streams = 100 * sum(r.bytes_per_s for r in found) / (most * self.sim.clock_mhz * 1e6)
        check_clean(self.sim)
        return found

    def _bytes(self) -> list[int]:
        """That have crossed the card's link, up and down."""
        counters = self.sim.counters()
        out = []
        for way in ("up", "down"):
            tlps = [name.split(".")[1] for name in counters if name.startswith(f"{way}.") and name.endswith(".tlps")]
            out.append(sum(8 * counters[f"{way}.{k}.tlps"] + counters[f"{way}.{k}.header"]
                           + counters[f"{way}.{k}.payload"] for k in tlps)
                       + counters[f"{way}.ack.bytes"] + counters[f"{way}.fc.bytes"])  # fmt: skip
        return out

    def close(self) -> None:
        self.sim.close()


def bytes_a_beat(moved: dict[str, int], ssds: int, beat: int, step: int, mps: int) -> float:
    """User data a beat (of so many bytes) of the card's CQ or CC, whichever had more beats.

    moved: the simulator's counters of TLPs, of what has been moved; sizes of data are whole multiples of `mps`. A TLP
    begins at a multiple of `step` bytes (PG213) with a descriptor of 16 bytes on CQ, of 12 on CC. A TLP of an
    SSD is full of data or has one entry (completion, submission; where several come at once, the limit is some 0.3 %
    too high); the others are accesses to registers, a step each.
    """

    def stream(way: str, kind: str, card_way: str, descriptor: int, entry: int) -> tuple[int, int]:
        payload, tlps = (sum(moved[f"ssd{i}.{way}.{kind}.{what}"] for i in range(ssds)) for what in ("payload", "tlps"))
        full = max(0, payload - entry * tlps) // (mps - entry)
        steps = full * -(-(descriptor + mps) // step) + (tlps - full) * -(-(descriptor + entry) // step)
        return full * mps, steps + moved[f"{card_way}.{kind}.tlps"] - tlps

    (written, cq), (read, cc) = stream("up", "MWr", "down", 16, 16), stream("down", "CplD", "up", 12, 64)
    return (written + read) / max(cq + moved["down.MRd.tlps"], cc) * beat / step


def bare(setup: CardSetup, jobs: Sequence[Job]) -> tuple[Any, Driver]:
    """The SSD of a card, driven directly."""
    ssd = setup.ssds
    assert ssd.kind == "db_ssd", "a model has no host that drives it"
    sim = DriveSetup(link=ssd.link, media_size=ssd.bytes, media_latency_ns=ssd.ns[0],
                     media_write_latency_ns=ssd.ns[1]).open()  # fmt: skip
    drive = Driver(sim, host_memory(jobs))
    start_queues(drive, max(j.numjobs for j in jobs), max(j.iodepth for j in jobs), [jobs[0]])
    return sim, drive


def depth_of(size: int) -> int:
    """Commands in flight that keep the SSD's link full."""
    return max(16, min(128, (1 << 20) // size))


def beside_bare(
    setup: CardSetup,
    sizes: Sequence[int] = SIZES,
    rws: Sequence[str] = ("randread", "randwrite"),
    ios: int = 0,
    depth: int = 0,
    encrypted: bool = False,
) -> Iterator[dict[str, Any]]:
    """Rows: one function's throughput, and its latency alone, beside those of the bare SSD. A VF's if there are any.

    ios: commands to measure; depth: in flight [enough]. All are in the card's first SSD. encrypted: by the card
    (XTS), not bare.
    """
    fn = 1 if setup.num_fn > 1 else 0
    region = setup.ssds.bytes // 4  # an SSD has that of the first namespaces, however many there are

    def full(rw: str, size: int) -> Job:
        many = ios or max(48, min(256, (2 << 20) // size))
        return Job(rw=rw, bs=size, iodepth=depth or depth_of(size), number_ios=many, functions=(fn,), size=region)

    def alone(rw: str, size: int) -> Job:
        return Job(rw=rw, bs=size, iodepth=1, number_ios=8, functions=(fn,), size=region)

    largest = [full("randread", size) for size in sizes]
    sim, drive = bare(setup, largest)
    direct = {(rw, size): [run_group(drive, [job(rw, size)])[0] for job in (full, alone)]
              for rw in rws for size in sizes}  # fmt: skip
    check_clean(sim)
    sim.close()
    card = Card(setup, fn + 1, largest, private=fn > 0)
    if encrypted:
        ours_drive = card.members[fn].drive
        compute.load_key(ours_drive, 1, bytes(range(32)), bytes(range(32, 64)))
        compute.bind(ours_drive, ours_drive.nsid, Op.AES_XTS, 1)
    for (rw, size), (most, single) in direct.items():
        ours = card.run(fn + 1, full(rw, size))[0]
        busy = card.busy
        lone = card.run(fn + 1, alone(rw, size))[0]
        us = [float(r.latencies().mean()) / 1000 for r in (single, lone)]
        yield {"rw": rw, "bs": size, "iodepth": depth or depth_of(size), "bare_mb_s": round(most.bytes_per_s / 1e6, 1),
               "card_mb_s": round(ours.bytes_per_s / 1e6, 1),
               "of_bare_pct": round(100 * ours.bytes_per_s / most.bytes_per_s, 2), "link_busy_pct": round(busy, 1),
               "bare_us": round(us[0], 2), "card_us": round(us[1], 2), "added_us": round(us[1] - us[0], 2)}  # fmt: skip
    card.close()


def by_stage(setup: CardSetup, size: int = 4096, count: int = 8) -> Iterator[dict[str, Any]]:
    """Rows: where the time of a command goes that is alone, in us; the mean of so many. Of a card with one SSD."""
    card = Card(setup, 1, [Job(iodepth=1, bs=size)], private=False)
    drive, sim = card.members[0].drive, card.sim
    bar, step = SWITCH["ssd_bar"].default, SWITCH["ssd_step"].default
    for opcode in (NvmOpc.READ, NvmOpc.WRITE):
        sums = [0.0] * len(STAGES[opcode])
        for i in range(count):
            buffer = drive.buffer(size)
            drive.advance(2000)
            sim.record(("rq_write", "rq_last", "cq", "cqe"))
            blocks = size // drive.block_size
            command = drive.submit(1, opcode, (37 * i + 5) * blocks, blocks - 1, buffer)
            drive.run(command)
            events = sim.recorded()
            sim.record(())
            ours = [e for e in events if e.kind == "rq_write" and not bar <= e.b < bar + setup.ssds.number * step]
            rings = [e.cycle for e in events if e.kind == "rq_write" and bar <= e.b < bar + setup.ssds.number * step]
            cqe = max(e.cycle for e in ours if e.a == 4)
            last = max(e.cycle for e in events if e.kind == "cq" and e.cycle < cqe)
            data = [max(e.cycle for e in ours if e.a > 4)] if opcode == NvmOpc.READ else []
            begun, done = (ns * sim.clock_mhz / 1000 for ns in (command.started_ns, command.done_ns))
            cuts = [begun, rings[0], last, *data, cqe, done]
            sums = [s + b - a for s, a, b in zip(sums, cuts, cuts[1:])]
            buffer.free()
        yield {"rw": "read" if opcode == NvmOpc.READ else "write", "bs": size,
               "us": {name: round(s / count / sim.clock_mhz, 3) for name, s in zip(STAGES[opcode], sums)}}  # fmt: skip
    check_clean(sim)
    card.close()


def grid(
    counts: Sequence[int] = (1, 2, 3, 4),
    ssds: Sequence[int] = (1, 2, 4),
    size: int = 4096,
    ios: int = 1024,
    rws: Sequence[str] = ("randread", "randwrite"),
    params: dict[str, int | str] = WIDE,
) -> Iterator[dict[str, Any]]:
    """Rows: functions times SSDs, each function with an equal part of all blocks, IN_FLIGHT commands in all, in queues
    of up to DEPTH. of_one_pct: beside as many times one function on one SSD."""
    one: dict[str, float] = {}
    for number in ssds:
        for count in counts:
            each = -(-IN_FLIGHT // count)
            queues = -(-each // DEPTH)
            most = Job(numjobs=queues, iodepth=-(-each // queues), bs=size)
            card = Card(CardSetup(SsdSetup(number), params=dict(params)), count, [most])
            for rw in rws:
                found = card.run(count, replace(most, rw=rw, number_ios=-(-ios // count // queues)))
                rates = [r.bytes_per_s / 1e6 for r in found]
                one.setdefault(rw, sum(rates))
                yield {"rw": rw, "bs": size, "functions": count, "ssds": number, "mb_s": round(sum(rates), 1),
                       "of_one_pct": round(100 * sum(rates) / one[rw] / number, 2),
                       "link_busy_pct": round(card.busy, 1), "of_streams_pct": round(card.of_streams, 1),
                       "least_fair_pct": round(100 * count * min(rates) / sum(rates), 1)}  # fmt: skip
            card.close()
