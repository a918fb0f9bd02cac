# SPDX-License-Identifier: Apache-2.0
"""What the events of a drive tell while it runs: commands, their latency, how full queues are.

It knows nothing of the host. A command's latency is from its doorbell's arrival in the drive to the moment when its
completion entry has left. Commands that were under way when this began are not counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from typing import Any

from doorbell.device.messages import Event

STEPS = 8  # bins an octave of the histogram
SETTLE_CYCLES = 10_000  # after the begin: until what was under way then is done


class Queue:
    """A submission queue as its events show it."""

    def __init__(self) -> None:
        self.tail: int | None = None
        self.next = 0  # entry that is fetched next
        self.size = 2  # entries that it has at least
        self.rung: deque[tuple[int, int]] = deque(maxlen=4096)  # tails and when they came
        self.fetched: deque[int | None] = deque(maxlen=1024)  # when the doorbell came, of entries that are not decoded
        self.inside = 0

    def ring(self, tail: int, cycle: int) -> None:
        self.tail = tail
        self.size = max(self.size, tail + 1)
        self.rung.append((tail, cycle))

    def fetch(self, index: int, count: int) -> None:
        self.size = max(self.size, index + count)
        self.next = (index + count) % self.size
        for i in range(index, index + count):
            while self.rung and self.rung[0][0] == i:
                self.rung.popleft()
            self.fetched.append(self.rung[0][1] if self.rung else None)

    @property
    def waiting(self) -> int:
        """Entries that have been rung and not fetched."""
        return 0 if self.tail is None else (self.tail - self.next) % self.size


class Activity:
    """Adds up events; `show` has what came since it was called last, and all in all."""

    KINDS = ("doorbell", "fetch", "decode", "cqe", "irq")

    def __init__(self, cycle: int) -> None:
        self.since = cycle
        self.queues: dict[int, Queue] = defaultdict(Queue)
        self.slots: dict[int, tuple[int, int | None]] = {}  # queue, when its doorbell came
        self.commands = self.interrupts = 0
        self.latencies: Counter[int] = Counter()  # by bin, in cycles

    def take(self, events: Iterable[Event]) -> None:
        queues = self.queues
        for cycle, kind, a, b in events:
            if kind == "doorbell":
                queues[a].ring(b, cycle)
            elif kind == "fetch":
                queues[a].fetch(b & 0xFFFF, b >> 16)
            elif kind == "decode":
                queue = queues[b & 0xFFFF]
                queue.inside += 1
                self.slots[a] = b & 0xFFFF, queue.fetched.popleft() if queue.fetched else None
            elif kind == "cqe":
                qid, rung = self.slots.pop(a, (None, None))
                self.commands += 1
                if qid is not None:
                    queues[qid].inside -= 1
                    if rung is not None and cycle > self.since + SETTLE_CYCLES:
                        self.latencies[bin_of(cycle - rung)] += 1
            elif kind == "irq":
                self.interrupts += 1

    def show(self, clock_mhz: float) -> dict[str, Any]:
        """For a snapshot. latency: begin and end of each bin, in nanoseconds, and its commands."""
        ns = 1000 / clock_mhz
        return {
            "since_ns": self.since * ns, "commands": self.commands, "interrupts": self.interrupts,
            "queues": [{"queue": q, "waiting": queue.waiting, "inside": queue.inside}
                       for q, queue in sorted(self.queues.items())],
            "latency": [[begin_of(b) * ns, begin_of(b + 1) * ns, n] for b, n in sorted(self.latencies.items())],
        }  # fmt: skip


def bin_of(cycles: int) -> int:
    """STEPS bins for each doubling, and one for each value below that."""
    octave = max(0, cycles.bit_length() - STEPS.bit_length())
    return octave * STEPS + (cycles >> octave)


def begin_of(number: int) -> int:
    """The smallest value in a bin."""
    octave = max(0, number // STEPS - 1)
    return (number - octave * STEPS) << octave
