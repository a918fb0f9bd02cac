# SPDX-License-Identifier: Apache-2.0
"""Brings a recording back."""

from __future__ import annotations

from typing import Any, BinaryIO

from doorbell.device.recorder_sim import BLOCK
from doorbell.errors import UserError
from doorbell.record.capture import SLICE
from doorbell.record.recording import Recording
from doorbell.record.session import Session


def play(session: Session, recording: Recording, file: BinaryIO, update: Any) -> dict[str, Any]:
    """Bring a recording back; says how it went."""
    sim, n = session.sim, session.count
    per_turn = max(1, SLICE // (n * BLOCK))
    left, at, cycles = recording.bytes, recording.start, 0
    buffer = bytearray(per_turn * n * BLOCK)
    view = memoryview(buffer)
    while left:
        blocks = min(per_turn, -(-left // (n * BLOCK)))
        begin = sim.cycle
        sim.start_read(at, blocks, buffer)
        expected = blocks * n * BLOCK
        session.wait(lambda expected=expected: sim.signal("rdata_bytes") >= expected and sim.read_done, "read-out")
        bad = sum(sim.get("BadReads", i) for i in range(n))
        if bad or any(sim.get("ReadError", i) for i in range(n)):
            raise UserError(f"a drive could not read {bad} blocks from its block {at} on", 1)
        cycles += sim.cycle - begin
        sim.set("ReadControl", 0)
        size = min(left, expected)
        file.write(view[:size])
        left -= size
        at += blocks
        update(1 - left / recording.bytes)
    file.flush()
    us = cycles / sim.clock_mhz
    return {"bytes": recording.bytes, "drives": n, "ssd": session.kind, "simulated_us": round(us, 1),
            "simulated_gb_per_s": round(recording.bytes / us / 1000, 3) if us else 0.0,
            "complete": recording.complete, "blocks_lost": sum(r.count for r in recording.lost)}  # fmt: skip
