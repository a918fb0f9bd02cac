# SPDX-License-Identifier: Apache-2.0
"""A root complex in Python for tests of the read side: takes memory reads from RQ, answers on RC.

Written from PG213's tables, independent of the RTL's package. Completions are split at the read completion boundary,
come out of order between tags, and may fail in every way that the descriptor can express. At 512 bits RC is
straddled.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

MASK32 = 0xFFFFFFFF
OK, POISONED, BAD_STATUS, BAD_LENGTH, MISMATCH, BAD_ADDRESS, INVALID_TAG, FLR, TIMEOUT = 0, 1, 2, 3, 4, 5, 6, 8, 9


def word(fn: int, addr: int) -> int:
    """What host memory holds at a dword address, as function fn sees it."""
    x = ((addr >> 2) * 0x9E3779B1 + fn * 0x85EBCA6B + (addr >> 34)) & MASK32
    return x ^ (x >> 15)


@dataclass
class RcBeat:
    data: int
    keep: int
    last: bool
    user: int


@dataclass
class Packet:
    """One completion: descriptor and payload."""

    dwords: list[int]
    discontinue: bool = False


def rc_packet(
    words: list[int],
    *,
    tag: int,
    byte_count: int,
    lower_addr: int,
    code: int = OK,
    completed: bool,
    status: int = 0,
    discontinue: bool = False,
    noise: int = 0,
) -> Packet:
    """noise fills the fields that carry nothing for us."""
    d0 = (lower_addr & 0xFFF) | code << 12 | byte_count << 16 | int(completed) << 30
    d1 = len(words) | status << 11 | int(code == POISONED) << 14 | (noise & 0xFFFF) << 16
    d2 = tag | (noise >> 16 & 0xFFFF) << 8 | (noise >> 8 & 0x7) << 28
    return Packet([d0, d1, d2, *words], discontinue)


def rc_beats(width: int, p: Packet) -> list[RcBeat]:
    """One completion as beats, not straddled (128 and 256 bits)."""
    lanes = width // 32
    beats = []
    for i in range(0, len(p.dwords), lanes):
        part = p.dwords[i : i + lanes]
        last = i + lanes >= len(p.dwords)
        user = int(i == 0) << 32 | int(last) << 34 | ((len(part) - 1) << 35 if last else 0)
        user |= int(p.discontinue and last) << 42
        data = sum(w << (32 * k) for k, w in enumerate(part))
        beats.append(RcBeat(data, (1 << len(part)) - 1, last, user))
    return beats


@dataclass
class Straddler:
    """RC of 512 bits: completions start at multiples of 4 lanes, up to four a beat."""

    gap: Callable[[], bool] = lambda: False  # leaves 4 lanes empty, or the rest of the beat
    open: list[int] = field(default_factory=list)  # what is left of the completion that goes on
    damaged: bool = False

    def beat(self, fetch: Callable[[], Packet | None]) -> RcBeat | None:
        """fetch: the next completion, if one is ready now."""
        data = user = sops = eops = lane = 0
        while lane < 16:
            if not self.open:
                if lane and self.gap():
                    lane += 4
                    continue
                p = fetch()
                if p is None:
                    break
                self.open, self.damaged = list(p.dwords), p.discontinue
                user |= 1 << (64 + sops) | (lane // 4) << (68 + 2 * sops)
                sops += 1
            part = self.open[: 16 - lane]
            self.open = self.open[16 - lane :]
            data |= sum(w << 32 * (lane + k) for k, w in enumerate(part))
            if not self.open:
                user |= 1 << (76 + eops) | (lane + len(part) - 1) << (80 + 4 * eops)
                eops += 1
                if self.damaged:
                    user |= 1 << 96
                    break
            lane = (lane + len(part) + 3) // 4 * 4
        return RcBeat(data, 0xFFFF, False, user) if data or user else None


@dataclass
class Read:
    """A memory read request as it came over RQ."""

    fn: int
    addr: int
    dwords: int
    tag: int


def parse_rq_read(width: int, data: int, keep: int, last: int, user: int) -> Read:
    """Takes a single-beat memory read apart and checks every field that has one right value.

    At 512 bits this is the form that db_pcie_rq_straddle takes: no payload, the descriptor in tuser.
    """
    if width == 512:
        assert last == 1 and keep == 0 and data == 0 and user >> 128 == 1 << 5, f"beat: keep {keep:#x} tuser {user:#x}"
        d = [(user >> (32 * i)) & MASK32 for i in range(4)]
    else:
        assert last == 1 and keep == 0xF, f"a read is one beat of 4 dwords, not keep {keep:#x} last {last}"
        assert data >> 128 == 0
        d = [(data >> (32 * i)) & MASK32 for i in range(4)]
        assert user == 15 | (0 if d[2] & 0x7FF == 1 else 15) << 4, f"tuser {user:#x}"
    return read_of(d)


def read_of(d: list[int]) -> Read:
    """The read of a descriptor."""
    assert d[0] & 3 == 0, "address type"
    assert (d[2] >> 11) & 0x1F == 0, "memory read, not poisoned"
    assert d[2] >> 24 == 0 and d[3] >> 8 == 0, "bus, completer id, TC, attributes, ECRC"
    return Read((d[2] >> 16) & 0xFF, d[1] << 32 | d[0], d[2] & 0x7FF, d[3] & 0xFF)


@dataclass
class _Pending:
    read: Read
    ready_at: int
    done_dw: int = 0
    plan: str = ""  # the error that this read will meet


@dataclass
class RcModel:
    """on_fail(read) is called for a read that will end with an error, before its last completion goes out."""

    width: int
    rng: random.Random
    on_fail: Callable[[Read], None]
    rcb: int = 64
    mps: int = 256
    latency: tuple[int, int] = (5, 60)
    in_order: bool = False
    random_split: bool = True
    error_rate: float = 0.0
    stall: float = 0.0
    late: tuple[int, int] | None = None
    """Reads that the hard block gave up get their completions after so many cycles."""
    overdue: list[_Pending] = field(default_factory=list)
    late_sent: int = 0
    """Those, and others that nobody waits for."""
    taken_for_another: int = 0
    """Late completions whose tag named another read by then: the hard block cannot tell them from its own."""
    pending: list[_Pending] = field(default_factory=list)
    beats: list[RcBeat] = field(default_factory=list)
    straddler: Straddler = field(default_factory=Straddler)
    cycle: int = 0
    plans: tuple[str, ...] = ("ur", "timeout", "flr", "length", "poison", "mismatch", "address", "discontinue")

    def request(self, cycle: int, read: Read) -> None:
        assert all(p.read.tag != read.tag for p in self.pending), f"tag {read.tag} reused"
        assert 1 <= read.dwords <= 1024 and (read.addr & 0xFFF) + 4 * read.dwords <= 4096, f"illegal read {read}"
        plan = ""
        if self.rng.random() < self.error_rate:
            plan = self.rng.choice(self.plans)
            self.on_fail(read)
        self.pending.append(_Pending(read, cycle + self.rng.randint(*self.latency), plan=plan))

    def active(self, tag: int) -> bool:
        return any(p.read.tag == tag for p in self.pending)

    def next_beat(self, cycle: int) -> RcBeat | None:
        """The beat of this cycle, if any."""
        self.cycle = cycle
        if self.beats and self.width == 512:  # was refused
            return self.beats.pop()
        if self.stall and self.rng.random() < self.stall:
            return None
        if self.width == 512:
            self.straddler.gap = lambda: not self.in_order and self.rng.random() < 0.1
            return self.straddler.beat(lambda: self._next(cycle))
        if not self.beats:
            p = self._next(cycle)
            self.beats = rc_beats(self.width, p) if p else []
        return self.beats.pop(0) if self.beats else None

    def refused(self, beat: RcBeat) -> None:
        """The beat was not taken: it comes again. Only where RC is straddled."""
        assert self.width == 512, "RC tready must always be 1"
        self.beats = [beat]

    def _next(self, cycle: int) -> Packet | None:
        if self.overdue and self.overdue[0].ready_at <= cycle:
            return self._late(self.overdue.pop(0).read)
        ready = [p for p in self.pending if p.ready_at <= cycle]
        if self.error_rate and self.rng.random() < self.error_rate / 4:
            return self._stray()
        return self._completion(ready[0] if self.in_order else self.rng.choice(ready)) if ready else None

    def _noise(self) -> int:
        return 0 if self.in_order else self.rng.getrandbits(32)

    def _garbage(self, n: int) -> list[int]:
        return [self.rng.getrandbits(32) for _ in range(n)]

    def _stray(self) -> Packet:
        self.late_sent += 1
        n = self.rng.randint(1, 32)
        return rc_packet(
            self._garbage(n),
            tag=self.rng.randrange(256),
            byte_count=4 * n,
            lower_addr=self.rng.randrange(0, 4096, 4),
            code=INVALID_TAG,
            completed=self.rng.random() < 0.5,
        )

    def _late(self, r: Read) -> Packet:
        """All data of a read that the hard block gave up: unexpected, unless its tag names another one by now."""
        self.late_sent += 1
        words = [word(r.fn, r.addr + 4 * i) for i in range(r.dwords)]
        other = [p for p in self.pending if p.read.tag == r.tag]
        if other:
            self.taken_for_another += 1
            self.pending.remove(other[0])
        code = OK if other else self.rng.choice([OK, INVALID_TAG])
        return rc_packet(words, tag=r.tag, byte_count=4 * r.dwords, lower_addr=r.addr, code=code, completed=True)

    def _completion(self, p: _Pending) -> Packet:
        r = p.read
        addr = r.addr + 4 * p.done_dw
        left = r.dwords - p.done_dw
        # Any multiple of RCB may end a completion; none is longer than MPS.
        first_cut = addr // self.rcb * self.rcb + self.rcb
        cuts = [c for c in range(first_cut, addr + 4 * left, self.rcb) if c - addr <= self.mps]
        if 4 * left <= self.mps:
            cuts.append(addr + 4 * left)
        end = self.rng.choice(cuts) if self.random_split else cuts[-1]
        n = (end - addr) // 4
        final = n == left
        # An error strikes at once, or leaves it to a later completion of the same read.
        strike = bool(p.plan) and (final or self.rng.random() < 0.5)
        common = dict(tag=r.tag, byte_count=4 * left, lower_addr=addr, noise=self._noise())
        if strike and p.plan in ("ur", "timeout", "flr", "length"):
            self.pending.remove(p)
            if self.late:
                self.overdue.append(_Pending(r, self.cycle + self.rng.randint(*self.late)))
                self.overdue.sort(key=lambda o: o.ready_at)
            code = {"ur": BAD_STATUS, "timeout": TIMEOUT, "flr": FLR, "length": BAD_LENGTH}[p.plan]
            if p.plan in ("timeout", "flr"):
                common.update(byte_count=self.rng.randrange(0x1FFF), lower_addr=self.rng.randrange(4096))
            words = self._garbage(self.rng.randrange(8)) if p.plan == "length" else []
            return rc_packet(words, code=code, completed=True, status=1 if p.plan == "ur" else 0, **common)
        if strike and p.plan in ("mismatch", "address"):
            code = MISMATCH if p.plan == "mismatch" else BAD_ADDRESS
            p.plan = ""  # the real completion still comes
            return rc_packet(self._garbage(n), code=code, completed=False, **common)
        p.done_dw += n
        if final:
            self.pending.remove(p)
        words = [word(r.fn, addr + 4 * i) for i in range(n)]
        if strike:
            poison = p.plan == "poison"
            p.plan = ""
            return rc_packet(
                self._garbage(n), code=POISONED if poison else OK, completed=final, discontinue=not poison, **common
            )
        return rc_packet(words, completed=final, **common)
