# SPDX-License-Identifier: Apache-2.0
"""Records a stream."""

from __future__ import annotations

import select
import time
from typing import Any, BinaryIO

from doorbell.device.recorder_setup import traffic, write_limit
from doorbell.device.recorder_sim import BLOCK
from doorbell.errors import UserError
from doorbell.record.recording import Recording
from doorbell.record.session import Session

SLICE = 4 << 20
"""Bytes of the stream that are handed over at once, and about as many are read back at once."""

STATE_S = 0.5
"""How often what has been acknowledged is written down."""

QUIET_S = 300.0  # nothing has moved for so long


class _Feed:
    """The input in slices of whole blocks, the last filled up with zeros to a whole row of blocks."""

    def __init__(self, file: BinaryIO, drives: int) -> None:
        self._file, self._row = file, drives * BLOCK
        self._slice = max(1, SLICE // self._row) * self._row
        self.bytes = 0
        self.over = False

    def _read(self, to: memoryview) -> int:
        """What there is, at least a byte; 0: the end. A pipe may be one that does not wait, if others have it too."""
        while (n := self._file.readinto(to)) is None:  # type: ignore[attr-defined]
            select.select([self._file], [], [])
        return int(n)

    def next(self) -> bytearray | None:
        data = bytearray(self._slice)
        got, view = 0, memoryview(data)
        while got < len(data) and (n := self._read(view[got:])):
            got += n
        view.release()
        self.over = got < len(data)
        self.bytes += got
        if self.over:
            del data[-(-got // self._row) * self._row :]
        return data or None


def capture(session: Session, file: BinaryIO, length: int | None, recording: Recording, update: Any) -> dict[str, Any]:
    """Record all of the input; says how it went."""
    sim, n = session.sim, session.count
    room = min(sim.get("TotalBlocks", i) for i in range(n))
    fits = room * n * BLOCK
    full = False
    feed = _Feed(file, n)
    waiting = feed.next()
    given = 0

    def acknowledged() -> None:
        """How much of the stream is done without a gap, and what of it is not on the drives."""
        done = [sim.get("NumBlocks", i) for i in range(n)]
        rows = min(done)
        first = next((i for i in range(n) if done[i] == rows), 0)
        recording.blocks = max(done)
        recording.bytes = min((rows * n + first) * BLOCK, feed.bytes)
        recording.lost = [run for i in range(n) for run in sim.runs(i)]
        recording.save()

    recording.save()
    sim.start_capture(recording.start, room)
    noted = moved = time.monotonic()
    begin, before = sim.cycle, traffic(sim)
    while True:
        while waiting and sim.signal("wdata_left") < 2 * SLICE:
            full = given + len(waiting) > fits
            if full:
                del waiting[fits - given :]
            given += len(waiting)
            if waiting:
                sim.capture(waiting)
            asked = time.monotonic()
            waiting = None if feed.over or full else feed.next()
            moved += time.monotonic() - asked  # the source's time, not the drives'
        session.advance()
        now = time.monotonic()
        if now - noted >= STATE_S:
            noted = now
            then = recording.bytes
            acknowledged()
            moved = now if recording.bytes != then else moved
            if now - moved > QUIET_S:
                raise UserError("the drives take no more data", 1)
            update(min(1.0, recording.bytes / length) if length else 0)
        if not waiting and not sim.signal("wdata_left"):
            break
    sim.set("Control", 0)  # the chunk ends here
    session.wait(lambda: sim.captured, "the end of the recording")
    cycles = sim.cycle - begin
    acknowledged()
    recording.complete = not full
    recording.save()
    if full:
        raise UserError(f"the images are too small: they are full after {fits} bytes, which are kept", 1)
    us = sim.get("TimeUs")
    limit = n * write_limit(before, traffic(sim), max(1, given // BLOCK)).bytes_per_s / 1e9
    speed = given / us / 1000 if us else 0.0
    return {
        "bytes": feed.bytes, "drives": n, "ssd": session.kind, "cycles": cycles, "simulated_us": us,
        "simulated_gb_per_s": round(speed, 3), "limit_gb_per_s": round(limit, 3),
        "percent_of_limit": round(100 * speed / limit, 1),
        "peak_write_latency_us": max(sim.get("PeakLatencyUs", i) for i in range(n)),
        "blocks_lost": sum(sim.get("Lost", i) for i in range(n)) + sim.get("BlocksLost"),
        "errors": [sim.get("Error", i) for i in range(n)],
    }  # fmt: skip
