# SPDX-License-Identifier: Apache-2.0
"""What a running simulation shows to `./doorbell watch`.

A run that can be watched has a file in the cache, mapped into memory, that lasts as long as the run. Whoever watches
writes there until when it wants to be told (`Board.wanted`), and the run answers with a snapshot, JSON, a few times a
second. While nobody watches, that costs a look at one number after each call of the simulator.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from doorbell import paths
from doorbell.device.live_events import Activity
from doorbell.device.messages import SimError

SIZE = 1 << 18
HEAD = struct.Struct("<dQI")  # wanted until (monotonic), number of the snapshot (odd: being written), its bytes
EVERY_S = 0.2
WANTED_S = 2.0  # how long a request lasts
STALLS = ("the link (RQ)", "read pipe: media", "media data: data writer", "segments: data writer",
          "write pipe: host's data", "write pipe: media")  # fmt: skip
_serial = itertools.count()


def folder() -> Path:
    return paths.cache() / "watch"


class Board:
    """A run's file. Its name has the process, which may have several."""

    def __init__(self, command: str, title: str) -> None:
        self.about = {"command": command, "title": title, "pid": os.getpid(), "started": time.time()}
        self._pid = os.getpid()
        folder().mkdir(parents=True, exist_ok=True)
        number = next(_serial)
        self.path, made = folder() / f"{self._pid}-{number}", folder() / f"{self._pid}.{number}.new"
        self._file = made.open("w+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # as long as the run is alive
            os.posix_fallocate(self._file.fileno(), 0, SIZE)  # now: later a full disk would be a SIGBUS
            made.rename(self.path)  # locked: who watches takes it for dead otherwise
            self._map = mmap.mmap(self._file.fileno(), SIZE)
        except OSError:
            self._file.close()
            made.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
            raise
        self._until = memoryview(self._map)[:8].cast("d")
        self._number = 0
        self._due = 0.0

    def wanted(self) -> bool:
        """Somebody watches, and it is time for a snapshot."""
        until = self._until[0]
        if not until:
            return False
        now = time.monotonic()
        if until < now:
            self._until[0] = 0.0
            return False
        return now >= self._due

    @property
    def watched(self) -> bool:
        return bool(self._until[0])

    def show(self, what: dict[str, Any]) -> None:
        """A snapshot. One that is too long is left out."""
        self._due = time.monotonic() + EVERY_S
        text = json.dumps({**self.about, "real_s": time.monotonic(), **what}).encode()  # of each another one
        if len(text) > SIZE - HEAD.size:
            return
        self._number += 2
        for number in (self._number - 1, self._number):
            struct.pack_into("<QI", self._map, 8, number, len(text))
            if number & 1:
                self._map[HEAD.size : HEAD.size + len(text)] = text

    def close(self) -> None:
        """The run is over. Not of a copy of the process, whose parent has the file."""
        if os.getpid() == self._pid and not self._file.closed:
            self._until.release()
            self._map.close()
            self.path.unlink(missing_ok=True)
            self._file.close()


def runs() -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Name and last snapshot of each run that is alive, which is asked for more; files of dead ones go."""
    for path in sorted(folder().glob("*-*")):
        with contextlib.suppress(OSError), path.open("r+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield path.name, _snapshot(file.fileno())
                continue
            path.unlink(missing_ok=True)


def _snapshot(fd: int) -> dict[str, Any] | None:
    """None: there is none yet, or it is being written each time."""
    if os.fstat(fd).st_size < SIZE:
        return None
    os.pwrite(fd, struct.pack("<d", time.monotonic() + WANTED_S), 0)
    for _ in range(5):
        _, number, length = HEAD.unpack(os.pread(fd, HEAD.size, 0))
        text = os.pread(fd, length, HEAD.size)
        if number and not number & 1 and HEAD.unpack(os.pread(fd, HEAD.size, 0))[1] == number:
            return json.loads(text)
    return None


class Watched:
    """A simulation that can be watched: `Sim.watched` is one while it is."""

    def __init__(self, sim: Any, board: Board, more: Callable[[], dict[str, Any]] | None = None) -> None:
        """more: what else there is to say, each time."""
        self.sim, self.board, self.more = sim, board, more
        self.activity: Activity | None = None

    def look(self) -> None:
        """After each call of the simulator."""
        board = self.board
        if not board.wanted():
            if self.activity and not board.watched:
                self._leave()
            return
        if self.activity is None and not self.sim.recording:
            self.sim.record(Activity.KINDS)
            self.activity = Activity(self.sim.cycle)
        board.show(self._snapshot())

    def end(self) -> None:
        """It is not watched any more."""
        if self.activity is not None and not self.sim.closed:
            self._leave()

    def _leave(self) -> None:
        self.activity = None
        self.sim.record(())

    def _snapshot(self) -> dict[str, Any]:
        sim, counters = self.sim, self.sim.counters()
        out: dict[str, Any] = {
            "ns": sim.ns, "real_s": time.monotonic(), "cycles": sim.cycle - counters["sim.skipped_cycles"],
            "link": {"name": sim.link, "bytes_per_ns": sim.link_bytes_per_cycle * sim.clock_mhz / 1000,
                     **{way: _wire(counters, way) for way in ("up", "down")}},
            "stalls": dict(zip(STALLS, sim.stalls())), "clock_mhz": sim.clock_mhz,
            "functions": [{"fn": fn, **sim.traffic(fn)._asdict()} for fn in range(sim.num_fn)],
            "ssds": _ssds(counters),
        }  # fmt: skip
        if self.activity is not None:
            try:
                self.activity.take(sim.recorded())
                out |= self.activity.show(sim.clock_mhz)
            except SimError:  # too many events since the last time
                self._leave()
        return out | (self.more() if self.more else {})


def _wire(counters: dict[str, int], way: str) -> int:
    """All bytes that have crossed the link one way."""
    kinds = ("MRd", "MWr", "CplD", "Cpl")
    return (sum(counters[f"{way}.{k}.{part}"] for k in kinds for part in ("header", "payload"))
            + counters[f"{way}.ack.bytes"] + counters[f"{way}.fc.bytes"])  # fmt: skip


def _ssds(counters: dict[str, int]) -> list[dict[str, int]]:
    """Payload to and from each SSD beside the device, if there are any."""
    out: list[dict[str, int]] = []
    while f"ssd{len(out)}.up.MWr.payload" in counters:
        name = f"ssd{len(out)}"
        out.append({"read": counters[f"{name}.up.MWr.payload"], "written": counters[f"{name}.down.CplD.payload"]})
    return out


@contextlib.contextmanager
def watchable(sim: Any, command: str, title: str, more: Callable[[], dict[str, Any]] | None = None) -> Iterator[None]:
    """The simulation can be watched as long as this lasts. Not if it is no `Sim`, or the cache cannot be written."""
    board: Board | None = None
    if hasattr(sim, "watched"):
        with contextlib.suppress(OSError):
            board = Board(command, title)
            sim.watched = Watched(sim, board, more)
    try:
        yield
    finally:
        if board is not None:
            if sim.watched is not None:
                sim.watched.end()
            sim.watched = None
            board.close()
