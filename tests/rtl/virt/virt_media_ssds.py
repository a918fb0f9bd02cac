# SPDX-License-Identifier: Apache-2.0
"""The SSDs behind a virtual medium: how large they are, where a map written from docs/vcsd/theory.md has each granule,
and what db_host_engine with its drive does."""

from __future__ import annotations

import os
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from structs import enum, layout

DATA_W, ADDR_W, SLOTS = 256, 40, 32
ROW = DATA_W // 8
PAGE, CHUNK = 4096, 128 << 10
NUM = int(os.environ.get("NUM_SSD", "4"))
STRIPE = os.environ.get("STRIPE", "1") == "1"
LOG2 = NUM.bit_length() - 1
GRANULE_LOG2 = 17 + max(LOG2, 1)
GRANULE = 1 << GRANULE_LOG2
EACH = 3  # granules of each SSD
PAGES = EACH * GRANULE // PAGE + 5  # pages of each SSD: the last ones are not used
BLOCK_CMD, STATUS = layout("db_host_pkg", "block_cmd_t"), layout("db_host_pkg", "block_status_t")
SSD_STATE, EXTENT = layout("db_virt_pkg", "ssd_state_t"), layout("db_virt_pkg", "extent_t")
AHEAD = layout("db_ssd_pkg", "ahead_t")
KIND = enum("db_ssd_pkg", "ahead_kind_e")
OP = enum("db_host_pkg", "block_op_e")


@dataclass(frozen=True)
class Extent:
    """Where a granule of the medium is: in part `part` of granule `place` of 2**log2 SSDs from `ssd` on."""

    place: int
    ssd: int
    part: int = 0
    log2: int = 0

    def packed(self) -> int:
        """As the RTL has it."""
        return EXTENT.pack(valid=1, log2=self.log2, part=self.part, ssd=self.ssd, place=self.place)

    def word(self) -> int:
        return self.place | self.ssd << 16 | self.part << 20 | self.log2 << 24

    def spot(self, at: int) -> tuple[int, int]:
        """SSD, and byte on it, of a byte of the granule."""
        chunk, rest = divmod(at, CHUNK)
        ssds = 1 << self.log2
        inside = self.part * (GRANULE // ssds) + chunk // ssds * CHUNK + rest
        return self.ssd + chunk % ssds, self.place * GRANULE + inside

    def runs(self, first: int, end: int) -> dict[int, tuple[int, int]]:
        """What SSDs have of these bytes of the granule, in blocks of 512: the first byte, and how many."""
        found: dict[int, tuple[int, int]] = {}
        for at in range(first, end, 512):
            ssd, byte = self.spot(at)
            begin, size = found.get(ssd, (byte, 0))
            assert byte == begin + size, "one run on each SSD"
            found[ssd] = begin, size + 512
        return found

    def eighths(self) -> set[tuple[int, int, int]]:
        """SSD, granule of it, eighth of that: what it takes."""
        size = 8 >> self.log2
        ssds = range(self.ssd, self.ssd + (1 << self.log2))
        return {(s, self.place, e) for s in ssds for e in range(self.part * size, (self.part + 1) * size)}


def looked_up(table: list[Extent | None], granule: int | None, rng: random.Random) -> int:
    """What db_virt_extents says of it; noise, if none was asked for."""
    if granule is None:
        return rng.getrandbits(EXTENT.width)
    extent = table[granule] if granule < len(table) else None
    return extent.packed() if extent else 0


def ssd_states(present: int, up: int, dead: int, shifts: list[int], unknown: int = 0) -> int:
    """unknown: what lba_shift says of one that is neither up nor dead."""
    states = 0
    for i, shift in enumerate(shifts):
        known = (up | dead) >> i & 1
        flags = {"present": present >> i & 1, "up": up >> i & 1, "dead": dead >> i & 1}
        states |= SSD_STATE.pack(lba_shift=shift if known else unknown, **flags) << i * SSD_STATE.width
    return states


def usual() -> list[Extent | None]:
    """Slice behind slice, or a stripe over all."""
    if STRIPE:
        return [Extent(g // NUM, 0, g % NUM, LOG2) for g in range(NUM * EACH)]
    return [Extent(g % EACH, g // EACH) for g in range(NUM * EACH)]


@dataclass
class Ssd:
    """db_host_engine with its drive: commands in order, each row and each status when it likes."""

    rng: random.Random
    shift: int = 9
    data: dict[int, int] = field(default_factory=dict)  # by row
    commands: deque[dict[str, Any]] = field(default_factory=deque)
    rows: deque[tuple[int, int]] = field(default_factory=deque)  # out, with err
    statuses: deque[tuple[int, int]] = field(default_factory=deque)
    incoming: deque[int] = field(default_factory=deque)
    fails: set[int] = field(default_factory=set)  # blocks
    ops: list[str] = field(default_factory=list)
    wait: int = 0
    largest: int = 0  # blocks of a Read
    stuck: bool = False  # it answers nothing

    def work(self) -> None:
        if self.stuck:
            return
        if self.wait:
            self.wait -= 1
            return
        if not self.commands:
            return
        c = self.commands[0]
        name = next(k for k, v in OP.items() if v == c["op"])
        first, rows = (c["lba"] << self.shift) // ROW, (c["blocks"] << self.shift) // ROW
        if name == "BLOCK_WRITE" and len(self.incoming) < rows:
            return
        self.commands.popleft()
        self.ops.append(name)
        self.largest = max(self.largest, c["blocks"] if name == "BLOCK_READ" else 0)
        self.wait = self.rng.randrange(12)
        failed = any(b in self.fails for b in range(c["lba"], c["lba"] + c["blocks"]))
        if name == "BLOCK_READ":
            self.rows.extend((0 if failed else self.data.get(first + i, 0), failed) for i in range(rows))
        if name == "BLOCK_WRITE":
            got = [self.incoming.popleft() for _ in range(rows)]
            if not failed:
                self.data.update((first + i, row) for i, row in enumerate(got))
        if name == "BLOCK_ZEROES":
            for i in range(rows):
                self.data.pop(first + i, None)
        self.statuses.append((c["tag"], 0x281 if failed else 0))


def shuffled(rng: random.Random) -> list[Extent | None]:
    """Granules anywhere, on one SSD or on several, some nowhere."""
    table: list[Extent | None] = [None] * (NUM * EACH)
    taken: set[tuple[int, int, int]] = set()
    for g in rng.sample(range(len(table)), len(table)):
        log2 = rng.randrange(LOG2 + 1)
        for _ in range(20):
            e = Extent(rng.randrange(EACH), rng.randrange(NUM >> log2) << log2, rng.randrange(1 << log2), log2)
            if not taken & e.eighths():
                table[g] = e
                taken |= e.eighths()
                break
    return table
