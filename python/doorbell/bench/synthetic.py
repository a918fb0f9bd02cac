# SPDX-License-Identifier: Apache-2.0
"""Synthetic traces: accesses drawn by a description (workloads.py). The same seed gives the same ones on any machine.

They have no times: a replay sends each as soon as there is room. Nothing of them is recorded, and their name says so.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import accumulate, islice

from doorbell.bench.runner import Zipf, draw_of
from doorbell.bench.trace_formats import Access, Trace
from doorbell.bench.workloads import Blocks, Records, Workload
from doorbell.errors import UserError

FOOTPRINT = 256 << 20
FILLED = 0.9
"""Of the places for records so many have one at the beginning; the others take what is inserted."""


def generate(workload: Workload, count: int, seed: int, footprint: int = 0) -> Trace:
    """So many accesses inside the first `footprint` bytes."""
    rng = random.Random(seed * 1_000_003 + 17)
    what, room = workload.what, footprint or FOOTPRINT
    drawn = _blocks(what, rng, seed, room) if isinstance(what, Blocks) else _records(what, rng, seed, room)
    return Trace(f"synthetic-{workload.name}", f"synthetic (seed {seed})", list(islice(drawn, count)))


def _blocks(what: Blocks, rng: random.Random, seed: int, room: int) -> Iterator[Access]:
    """Each direction is a stream: an access goes on where the last one of it ended, or begins at a place by itself."""
    most = max(size for size, _ in (*what.read_sizes, *what.write_sizes))
    places = (room - most) // what.align + 1
    if room < most:
        raise UserError(f"--size: {room} bytes are less than one access of {most}")
    zipf = Zipf(places, what.zipf, seed) if what.zipf else None
    sizes = draw_of(what.write_sizes), draw_of(what.read_sizes)
    ends: list[int | None] = [None, None]
    while True:
        read = rng.random() < what.reads
        size = sizes[read](rng)
        at = ends[read]
        if at is None or rng.random() >= what.sequential or at + size > room:
            at = (zipf.draw(rng) if zipf else rng.randrange(places)) * what.align
        ends[read] = at + size
        yield Access(0, not read, at, size)


def _records(what: Records, rng: random.Random, seed: int, room: int) -> Iterator[Access]:
    """A store without a cache: a page is read or written for each record, the pages of a scan at once.

    Records lie where a hash of their key puts them, so that popular and new ones are anywhere; here the hash is a
    permutation. A scan goes on in the order of places, as keys do.
    """
    in_page = what.page // what.record
    places = room // what.page * in_page
    there = int(places * FILLED)
    if not there:
        raise UserError(f"--size: {room} bytes have no room for records of {what.record} bytes")
    zipf = Zipf(there, what.zipf, seed) if what.zipf else None
    step = next(s for s in iter(lambda: rng.randrange(1, places + 1), 0) if math.gcd(s, places) == 1)
    kinds, sums = list(what.shares()), list(accumulate(what.shares().values()))

    def page(record: int) -> int:
        return record * step % places // in_page

    def chosen() -> int:
        rank = zipf.rank(rng) if zipf else rng.randrange(there)
        return there - 1 - rank if what.choice == "latest" else rank

    while True:
        kind = rng.choices(kinds, cum_weights=sums)[0]
        if kind == "inserts":
            there += 1
            yield Access(0, True, page(there - 1) * what.page, what.page)
            continue
        at = page(record := chosen())
        if kind == "scans":
            first = record * step % places
            last = min(first + rng.randint(1, what.most_scanned), places) - 1
            yield Access(0, False, at * what.page, (last // in_page - at + 1) * what.page)
            continue
        if kind != "updates":
            yield Access(0, False, at * what.page, what.page)
        if kind in ("updates", "modifies"):
            yield Access(0, True, at * what.page, what.page)


def iolog(trace: Trace) -> str:
    """As fio's iolog (v2), for fio itself: the file in it has the name that says what it is."""
    lines = [f"{trace.name} {'write' if a.write else 'read'} {a.offset} {a.size}" for a in trace.accesses]
    return "\n".join(
        ["fio version 2 iolog", f"{trace.name} add", f"{trace.name} open", *lines, f"{trace.name} close", ""]
    )
