# SPDX-License-Identifier: Apache-2.0
"""The recorder's drives are shut down in order: what was recorded is there, one that does not answer costs itself."""

from __future__ import annotations

import random
from typing import Any

from doorbell import build
from doorbell.device.drives import ModelDrive
from doorbell.device.recorder_setup import simulator_params
from doorbell.device.recorder_sim import BLOCK, RecorderSim

SHUTDOWN_MS = 0x2C  # of db_host
MS = 5000  # cycles of a host's millisecond here


def opened(*drives: dict[str, Any]) -> RecorderSim:
    settings = {"size": 16 << 20, "ready_us": 1, "unready_us": 1}
    library = build.simulator("db_recorder", simulator_params(2))
    sim = RecorderSim(library, [ModelDrive(**{**settings, **d}) for d in drives])
    sim.run_until(lambda: sim.up, 5_000_000)
    return sim


def record(sim: RecorderSim, blocks: int, seed: int, drives: list[int] | None = None) -> bytes:
    data = random.Random(seed).randbytes(blocks * BLOCK)
    each = blocks // (len(drives) if drives else 2)
    sim.start_capture(0, each, drives)
    sim.capture(bytearray(data))
    sim.run_until(lambda: all(sim.get("Status", i, field="Completed") for i in drives or range(2)), 2_000_000)
    return data


def count(sim: RecorderSim) -> list[int]:
    return [sim.counters(i)["drive.shutdowns"] for i in range(2)]


def test_all_drives() -> None:
    """Both are down and hold the capture; then their blocks are marked, until a reset brings them up."""
    with opened({}, {}) as sim:
        data = record(sim, 100, 1)
        sim.start_shutdown()
        sim.run_until(lambda: sim.shut_down == (3, 0), 100_000)
        assert count(sim) == [1, 1] and not sim.signal("up")
        assert b"".join(sim.media_read(k // 2 * BLOCK, BLOCK, k % 2) for k in range(100)) == data
        record(sim, 20, 2)
        assert [sim.get("Lost", i) for i in range(2)] == [10, 10] and sim.media_read(0, BLOCK) == data[:BLOCK]
        sim.set("Control", {"Reset": 1})
        sim.run_until(lambda: sim.up, 5_000_000)
        assert sim.shut_down == (0, 0)
        again = record(sim, 20, 3)
        assert sim.media_read(0, BLOCK, 1) == again[BLOCK : 2 * BLOCK] and not sim.get("Lost", 1)
        assert not sim.errors()


def test_one_of_two() -> None:
    """Drive 1 is shut down while drive 0 records on."""
    with opened({}, {}) as sim:
        data = random.Random(4).randbytes(300 * BLOCK)
        sim.start_capture(0, 300, [0])
        sim.capture(bytearray(data))
        sim.run(5000)
        sim.start_shutdown([1])
        sim.run_until(lambda: sim.shut_down[0], 20_000)
        assert sim.shut_down == (2, 0) and sim.get("Status", 0, field="DataEnabled") and sim.signal("up") == 1
        sim.run_until(lambda: sim.get("Status", 0, field="Completed"), 1_000_000)
        assert sim.media_read(0, 300 * BLOCK) == data and not sim.get("Lost", 0) and count(sim) == [0, 1]
        assert not sim.errors()


def test_drive_that_never_says_so() -> None:
    """It gets its error bit after SHUTDOWN_MS; the other one was down long before."""
    with opened({}, {"shutdown_us": None}) as sim:
        data = record(sim, 40, 5)
        for i in range(2):
            sim.host_set(i, SHUTDOWN_MS, 20)
        begin = sim.cycle
        sim.start_shutdown()
        sim.run_until(lambda: sim.shut_down[0], 20_000)
        assert sim.shut_down == (1, 0) and sim.cycle - begin < 4 * MS
        sim.run_until(lambda: sim.shut_down[1], 21 * MS)
        assert sim.shut_down == (1, 2) and sim.cycle - begin > 18 * MS and count(sim) == [1, 0]
        assert sim.media_read(0, BLOCK, 1) == data[BLOCK : 2 * BLOCK] and not sim.errors()
