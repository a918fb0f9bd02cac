# SPDX-License-Identifier: Apache-2.0
"""What a trace is like: mix, sizes, sequential accesses, skew. So a synthetic one can be set beside a real one, and a
description be made of a real one (docs/workloads.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from doorbell.bench.trace_formats import Access, Trace

PAGE = 4096
HOT = 0.1
MOST_SIZES = 8


@dataclass
class Direction:
    """Of the reads, or of the writes. sequential: those that begin where the one before them ended."""

    accesses: int = 0
    bytes: int = 0
    sequential: int = 0
    sizes: Counter[int] = field(default_factory=Counter)
    end: int = -1

    def add(self, access: Access) -> None:
        self.accesses += 1
        self.bytes += access.size
        self.sizes[access.size] += 1
        self.sequential += access.offset == self.end
        self.end = access.offset + access.size


@dataclass
class Statistics:
    """pages: how often each page of 4 KiB is touched. aligned: accesses that begin and end with a page."""

    read: Direction = field(default_factory=Direction)
    write: Direction = field(default_factory=Direction)
    pages: Counter[int] = field(default_factory=Counter)
    aligned: int = 0
    last_ns: float = 0.0

    @property
    def accesses(self) -> int:
        return self.read.accesses + self.write.accesses

    @property
    def sequential(self) -> float:
        """Share of 1 of those that have one before them in their direction."""
        with_one = sum(max(0, d.accesses - 1) for d in (self.read, self.write))
        return (self.read.sequential + self.write.sequential) / with_one if with_one else 0.0

    @property
    def hot(self) -> float:
        """Share of touches that go to the tenth of touched pages that is touched most."""
        few = max(1, round(HOT * len(self.pages)))
        return sum(n for _, n in self.pages.most_common(few)) / self.pages.total()


def statistics(accesses: Iterable[Access]) -> Statistics:
    out = Statistics()
    for access in accesses:
        (out.write if access.write else out.read).add(access)
        first, last = access.offset // PAGE, (access.offset + max(access.size, 1) - 1) // PAGE
        out.pages.update(range(first, last + 1))
        out.aligned += access.offset % PAGE == 0 and access.size % PAGE == 0
        out.last_ns = max(out.last_ns, access.at_ns)
    return out


def split_text(sizes: Counter[int]) -> str:
    """fio's bssplit of the sizes that are most frequent; what is left of 100 goes to the last of them."""
    few = sorted(sizes.most_common(MOST_SIZES))
    total = sum(n for _, n in few)
    shares = [round(100 * n / total) for _, n in few]
    if shares:
        most = shares.index(max(shares))
        shares[most] += 100 - sum(shares)
    names = (f"{size >> 10}k" if size % 1024 == 0 else str(size) for size, _ in few)
    return ":".join(f"{name}/{share}" for name, share in zip(names, shares) if share)


def plain(found: Statistics) -> dict[str, Any]:
    """For a JSON file."""
    return {
        "accesses": found.accesses,
        "reads": found.read.accesses / found.accesses,
        "read_sizes": {str(k): v for k, v in sorted(found.read.sizes.items())},
        "write_sizes": {str(k): v for k, v in sorted(found.write.sizes.items())},
        "mean_bytes": (found.read.bytes + found.write.bytes) / found.accesses,
        "sequential": found.sequential,
        "aligned": found.aligned / found.accesses,
        "footprint_bytes": len(found.pages) * PAGE,
        "hot_tenth": found.hot,
        "duration_ns": found.last_ns,
    }


def table(trace: Trace, found: Statistics) -> Any:
    from rich.table import Table

    title = f"{trace.name}: {trace.format}, {found.accesses:,} accesses, {trace.left_out:,} others left out"
    out = Table(title=title, title_justify="left")
    for name in ("", "reads", "writes", "all"):
        out.add_column(name, justify="right" if name else "left")
    both = (found.read, found.write)
    total = sum(d.bytes for d in both)
    share = [f"{100 * d.accesses / found.accesses:.1f} %" for d in both]
    out.add_row("accesses", *share, f"{found.accesses:,}")
    out.add_row("bytes", *(f"{d.bytes:,}" for d in both), f"{total:,}")
    mean = [f"{d.bytes / d.accesses / 1024:.1f} KiB" if d.accesses else "-" for d in both]
    out.add_row("mean size", *mean, f"{total / found.accesses / 1024:.1f} KiB")
    out.add_row("most frequent sizes", *(split_text(d.sizes) or "-" for d in both), "")
    out.add_row(
        "sequential",
        *(f"{100 * d.sequential / max(1, d.accesses - 1):.1f} %" for d in both),
        f"{100 * found.sequential:.1f} %",
    )
    out.add_row("whole pages of 4 KiB", "", "", f"{100 * found.aligned / found.accesses:.1f} %")
    out.add_row("touched", "", "", f"{len(found.pages) * PAGE / (1 << 20):,.1f} MiB")
    out.add_row("touches of the hottest tenth", "", "", f"{100 * found.hot:.1f} %")
    if found.last_ns:
        out.add_row("time", "", "", f"{found.last_ns / 1e9:,.3f} s")
    return out
