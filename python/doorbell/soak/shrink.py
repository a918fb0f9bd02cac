# SPDX-License-Identifier: Apache-2.0
"""Makes a failing list of steps short: delta debugging, with a bounded number of runs and of seconds.

First the shortest tail that still fails, as most failures need only what came last; then parts of it are left out,
large ones first; then single fields go back to their defaults. "Still fails" is: with the same kind of failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from doorbell.soak.steps import STEPS, Step

Fails = Callable[[list[Step]], bool]


class _Spent(Exception):
    """All runs have been used."""


class Shrinker:
    """`result` is the shortest list so far, `runs` how many were tried."""

    def __init__(self, steps: list[Step], fails: Fails, *, runs: int = 200, seconds: float = 600,
                 shown: Callable[[int, int], None] = lambda done, total: None) -> None:  # fmt: skip
        self.result = list(steps)
        self._shown = shown
        self.runs = 0
        self._fails, self._most, self._until = fails, runs, time.monotonic() + seconds

    def shrink(self) -> list[Step]:
        try:
            self._tail()
            self._parts()
            self._fields()
        except _Spent:
            pass
        return self.result

    def _try(self, steps: list[Step]) -> bool:
        if self.runs >= self._most or time.monotonic() > self._until:
            raise _Spent
        self.runs += 1
        self._shown(self.runs, self._most)
        if not self._fails(steps):
            return False
        self.result = steps
        return True

    def _tail(self) -> None:
        length = 8
        while length < len(self.result):
            if self._try(self.result[-length:]):
                return
            length *= 4

    def _parts(self) -> None:
        size = max(1, len(self.result) // 2)
        while True:
            at, left_out = 0, False
            while at < len(self.result):
                if self._try(self.result[:at] + self.result[at + size :]):
                    left_out = True
                else:
                    at += size
            if size == 1 and not left_out:
                return
            size = max(1, size // 2)

    def _fields(self) -> None:
        for at in range(len(self.result)):
            for name in [
                n for n in self.result[at] if n != "do" and not isinstance(STEPS[self.result[at]["do"]][n], tuple)
            ]:
                step = {k: v for k, v in self.result[at].items() if k != name}
                self._try([*self.result[:at], step, *self.result[at + 1 :]])
