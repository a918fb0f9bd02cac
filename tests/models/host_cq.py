# SPDX-License-Identifier: Apache-2.0
"""CQ packets as PG213 frames them (dword-aligned), beat by beat, and what the window should make of them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from structs import layout

MEM_RD, MEM_WR, IO_RD, IO_WR, FETCH_ADD, SWAP, CAS, MEM_RD_LK, MSG = 0, 1, 2, 3, 4, 5, 6, 7, 12
WINDOW = 1 << 26
REQUEST = layout("db_pcie_block_pkg", "window_req_t")
SIDE = layout("db_pcie_pkg", "cq_side_t")


@dataclass
class Tlp:
    """A request. addr: of its first dword. damaged: discontinue in the last beat."""

    kind: int
    addr: int
    dwords: int
    first_be: int = 15
    last_be: int = 15
    data: list[int] = field(default_factory=list)
    tag: int = 0
    requester: int = 0
    tc: int = 0
    attr: int = 0
    damaged: bool = False

    def descriptor(self) -> list[int]:
        return [
            self.addr & 0xFFFFFFFC,
            self.addr >> 32,
            self.dwords | self.kind << 11 | self.requester << 16,
            self.tag | 6 << 19 | self.tc << 25 | self.attr << 28,
        ]

    def be(self, i: int) -> int:
        return self.first_be if i == 0 else self.last_be if i == self.dwords - 1 else 15

    def posted(self) -> bool:
        return self.kind in (MEM_WR, MSG)

    def beats(self, width: int, rng: random.Random) -> list[tuple[int, int, int, int]]:
        """(tdata, tkeep, tlast, tuser), what the block leaves open is random."""
        n = width // 32
        words = [*self.descriptor(), *self.data]
        enables = [0] * 4 + [self.be(i) for i in range(len(self.data))]
        result = []
        for at in range(0, len(words), n):
            part = words[at : at + n]
            last = at + n >= len(words)
            data = sum(w << 32 * i for i, w in enumerate(part))
            data |= rng.getrandbits(32 * (n - len(part))) << 32 * len(part)
            byte_en = sum(e << 4 * i for i, e in enumerate(enables[at : at + n]))
            first = at == 0
            first_be = self.first_be if first else rng.getrandbits(4)
            last_be = self.last_be if first else rng.getrandbits(4)
            damaged = int(self.damaged and last)
            if width == 512:
                user = first_be | last_be << 8 | byte_en << 16 | int(first) << 80 | int(last) << 86
                user |= (len(part) - 1 if last else 0) << 88 | damaged << 96 | rng.getrandbits(86) << 97
            else:
                user = first_be | last_be << 4 | byte_en << 8 | int(first) << 40 | damaged << 41
                user |= rng.getrandbits(46) << 42
            result.append((data, (1 << len(part)) - 1, int(last), user))
        return result

    def rows_beside(self, rng: random.Random) -> list[tuple[int, int, int, int]]:
        """(tdata, tkeep, tlast, tuser) of rows of 512 bits behind db_pcie_cq_straddle; what means nothing is random."""
        result = []
        desc = sum(w << 32 * i for i, w in enumerate(self.descriptor()))
        for at in range(0, max(1, len(self.data)), 16):
            part = self.data[at : at + 16]
            last = at + 16 >= len(self.data)
            data = sum(w << 32 * i for i, w in enumerate(part))
            data |= rng.getrandbits(32 * (16 - len(part))) << 32 * len(part)
            side = SIDE.pack(damaged=int(self.damaged) if last else rng.getrandbits(1), first_be=self.first_be,
                             last_be=self.last_be, desc=rng.getrandbits(128) if at else desc)  # fmt: skip
            result.append((data, (1 << len(part)) - 1, int(last), side))
        return result

    def rows(self, width: int) -> list[tuple[int, int, int]]:
        """(address, byte enables, enabled bytes) of the rows that a write to memory touches."""
        size = width // 8
        found: dict[int, tuple[int, int]] = {}
        for i, word in enumerate(self.data):
            at = self.addr + 4 * i
            row = at // size * size
            enables, data = found.get(row, (0, 0))
            for k in range(4):
                if self.be(i) >> k & 1:
                    enables |= 1 << at - row + k
                    data |= (word >> 8 * k & 0xFF) << 8 * (at - row + k)
            found[row] = (enables, data)
        return [(row, *found[row]) for row in sorted(found)]


def enables(rng: random.Random, dwords: int) -> tuple[int, int]:
    """First and last byte enables that PCIe allows."""
    if dwords <= 1:
        return rng.choice([15, rng.randrange(16)]), 0
    if dwords == 2:
        return rng.randrange(1, 16), rng.randrange(1, 16)
    return rng.choice([15, 15, 8, 12, 14]), rng.choice([15, 15, 1, 3, 7])


def place(rng: random.Random, dwords: int, base: int, size: int = WINDOW) -> int:
    """An address in [base, base + size) at which so many dwords cross no 4 KiB boundary."""
    page = rng.randrange(size // 4096) * 4096
    return base + page + 4 * rng.randrange(1025 - dwords)


def window_request(t: Tlp, bad: bool) -> int:
    """A non-posted request as db_pcie_root_rx passes it on."""
    return REQUEST.pack(
        bad=int(bad),
        attr=t.attr,
        tc=t.tc,
        tag=t.tag,
        requester_id=t.requester,
        req_type=t.kind,
        dwords=t.dwords,
        addr_dw=t.addr >> 2,
        last_be=t.last_be,
        first_be=t.first_be,
    )
