# SPDX-License-Identifier: Apache-2.0
"""What the report measures."""

from __future__ import annotations

from dataclasses import dataclass, field

from doorbell.sweep import point
from doorbell.sweep.point import Point

RW = ("read", "randread", "write", "randwrite")
LINKS = (("gen3x4", 128), ("gen3x8", 256), ("gen4x8", 512))
MIXES = (("read", "randread", 100), ("write", "randwrite", 0), ("70/30 mix", "randrw", 70))
CLOCKS = (50, 100, 150, 200, 250)
SHARES: dict[str, Point] = {
    "weights 1:1:1": {"fn_weights": "1,1,1"},
    "weights 4:2:1": {"fn_weights": "4,2,1"},
    "8 slots for the VFs": {"fn_slots": "1-2=min:1,max:8"},
    "500 MB/s for the VFs": {"fn_limit": "1-2=bw:500000000"},
}
"""What the PF gives itself and two VFs that all want more than they get."""


@dataclass
class Plan:
    """What is measured, by section of the page."""

    blocks: list[Point]
    queues: list[Point]
    links: list[Point]
    clocks: list[Point]
    stages: list[Point] = field(default_factory=list)
    shares: list[Point] = field(default_factory=list)

    def points(self) -> list[Point]:
        return [*self.blocks, *self.queues, *self.links, *self.clocks, *self.shares]


def make_plan(quick: bool, backend: str) -> Plan:
    """quick: a few points with few commands, to see that it works. On the functional model there is only one link."""
    sizes = (512, 4096, 16384) if quick else tuple(512 << i for i in range(9))
    depths = (1, 4) if quick else (1, 2, 4, 8, 16, 32)
    links = LINKS if backend == "rtl" and not quick else LINKS[1:2]
    clocks = CLOCKS if backend == "rtl" and not quick else CLOCKS[-1:]

    def count(bs: int) -> int:
        """Commands to measure a job: steady figures where commands are short, no more than needed where long."""
        return 20 if quick else max(16, min(200, (512 << 10) // bs))

    base: Point = {"backend": backend}
    blocks = [
        {**base, "rw": rw, "bs": bs, "numjobs": 10, "iodepth": 8, "number_ios": count(bs)} for rw in RW for bs in sizes
    ]
    queues = [
        {**base, "rw": rw, "bs": 4096, "numjobs": n, "iodepth": 8, "number_ios": max(20, (20 if quick else 1280) // n)}
        for rw in ("randread", "randwrite") for n in depths
    ]  # fmt: skip
    wire = [
        {**base, "link": link, "data_w": width, "rw": rw, "rwmixread": mix, "bs": bs, "numjobs": 4, "iodepth": 32,
         "number_ios": 20 if quick else 300 if bs <= 4096 else 40}
        for link, width in links for bs in ((4096,) if quick else (512, 4096, 32768)) for _, rw, mix in MIXES
    ]  # fmt: skip
    beats = [
        {**base, "rw": rw, "bs": 4096, "numjobs": 4, "iodepth": 32, "clock_mhz": mhz,
         "number_ios": 20 if quick else 250}
        for rw in ("randread", "randwrite") for mhz in clocks
    ]  # fmt: skip
    alone = [{**base, "rw": rw, "bs": 4096, "iodepth": 1, "number_ios": 20 if quick else 100}
             for rw in ("randread", "randwrite")]  # fmt: skip
    parts: list[Point] = [
        {**base, **given, "rw": rw, "bs": 4096, "numjobs": 1, "iodepth": 64, "functions": 3,
         "number_ios": 20 if quick else 600}
        for rw in ("randread", "randwrite") for given in SHARES.values()
    ]  # fmt: skip
    if backend != "rtl":
        for p in beats:
            p.pop("clock_mhz")
    plan = Plan(*(
        [point.clean(p, "report") for p in group] for group in (blocks, queues, wire, beats)
    ))  # fmt: skip
    plan.shares = [point.clean(p, "report") for p in parts] if backend == "rtl" else []
    plan.stages = [point.clean(p, "report") for p in alone] if backend == "rtl" else []
    return plan
