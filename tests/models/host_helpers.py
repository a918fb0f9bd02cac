# SPDX-License-Identifier: Apache-2.0
"""db_host under test: a few shapes of it, a model of its disk, random commands, and what every end must look like."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from doorbell import build
from doorbell.device.blocks import BlockCommand, BlockStatus
from doorbell.device.drives import Latency, ModelDrive, PortOptions
from doorbell.device.host_sim import HostSim

MS = 250  # cycles of the host's millisecond in these tests
CONFIGS: dict[str, dict[str, int | str]] = {
    "narrow": {"MS_CYCLES": MS},
    "small": {"DATA_W": 256, "NUM_CMDS": 8, "NUM_QP": 2, "WR_RING_BYTES": 16384, "RD_RING_BYTES": 8192,
              "MS_CYCLES": MS},
    "wide": {"DATA_W": 512, "NUM_CMDS": 256, "NUM_QP": 4, "WR_RING_BYTES": 1 << 20, "RD_RING_BYTES": 1 << 21,
             "MS_CYCLES": MS},
}  # fmt: skip
EACH = ["narrow", *(pytest.param(config, marks=pytest.mark.nightly) for config in ("small", "wide"))]
"""For tests of what no width changes."""
FAST: dict[str, Any] = {
    "ready_us": 1, "unready_us": 1, "read": Latency(1000, to_ns=4000), "write": Latency(500, to_ns=3000),
    "flush": Latency(1000), "other": Latency(1000), "admin": Latency(200), "size": 8 << 20, "timeout_ms": 500,
}  # fmt: skip
CONTROL, STATUS, FAIL, ADMIN_MS, ABORT_MS, POLL_MS = 0x08, 0x0C, 0x10, 0x18, 0x1C, 0x20
CONFIG, CMD_TIMEOUT, MAX_BLOCKS, FORMAT, NUM_ABORTS, NUM_RESETS, NUM_BAD = 0x24, 0x28, 0x48, 0x4C, 0x64, 0x68, 0x6C
PATH_ERROR, HOST_ABORTED, ABORTED = 0x370, 0x371, 0x007
REASONS = {1: "no answer", 3: "retry", 11: "not ready", 12: "fatal", 13: "admin timeout", 19: "removed", 20: "late",
           21: "link", 22: "asked", 23: "damaged", 24: "shutdown"}  # fmt: skip


def library(config: str) -> Path:
    """The simulator of one of CONFIGS."""
    return build.simulator("db_host", CONFIGS[config])


@dataclass
class Told:
    """Commands that were given and not yet looked at."""

    commands: list[BlockCommand] = field(default_factory=list)
    written: bytearray = field(default_factory=bytearray)


class Host:
    """db_host and one drive. `disk` is what the drive should hold: written with each command that ends well."""

    def __init__(self, config: str = "narrow", drive: PortOptions | None = None, *, seed: int = 1,
                 library_path: Path | None = None, **options: Any) -> None:  # fmt: skip
        self.drive = drive or ModelDrive(**FAST)
        self.rng = random.Random(seed)
        self.sim = HostSim(library_path or library(config), [self.drive], seed=seed, **options)
        self.lba_bytes = getattr(self.drive, "lba_bytes", 512)
        self.tag = self.rng.randrange(1 << 16)
        self.told = Told()
        self.disk = bytearray()
        self.read_room = bytearray(8 << 20)
        self.sim.read_buffer(self.read_room)
        self.read_at = 0

    def up(self, cycles: int = 2_000_000) -> Host:
        """Run until the drive does I/O."""
        self.sim.run_until(lambda: self.sim.up, cycles, step=500)
        self.lba_bytes = 1 << self.sim.signal("lba_shift")
        if not self.disk:
            self.disk = bytearray(self.rng.randbytes(self.sim.signal("blocks") * self.lba_bytes))
            self.sim.media_write(0, bytes(self.disk))
        return self

    def quick(self, timeout: int = 20_000, abort_ms: int = 20, repeat: bool = True, poll_ms: int = 4) -> Host:
        """Short times for the failures."""
        for addr, value in ((CMD_TIMEOUT, timeout), (ABORT_MS, abort_ms), (CONFIG, int(repeat)), (POLL_MS, poll_ms)):
            self.sim.axil_write(addr, value)
        return self

    def give(self, commands: Iterable[tuple[str, int, int]], data: Sequence[bytes] | None = None) -> Told:
        """Submit (op, lba, blocks) with tags of their own; data for the writes is random, or `data` in their order."""
        told, queued = self.told, bytearray()
        fresh = []
        for op, lba, blocks in commands:
            self.tag = (self.tag + 1) % 65536
            fresh.append(BlockCommand(op, lba, blocks, self.tag))
            if op == "write":
                size = blocks * self.lba_bytes
                queued += data.pop(0) if isinstance(data, list) else self.rng.randbytes(size)
        told.commands += fresh
        told.written += queued
        if queued:
            self.sim.write_data(bytes(queued))
        self.sim.submit(fresh)
        return told

    def check(
        self, cycles: int = 1_000_000, bad: dict[int, int] | None = None, anything: bool = False
    ) -> list[BlockStatus]:
        """All that was given ends in order and within `cycles`: well, or as `bad` has it by number of the command
        (anything: as it likes). What was read is what `disk` has, or zeros with an error; then disk and drive agree.
        """
        told, self.told = self.told, Told()
        got = self.sim.wait_status(len(told.commands), cycles)
        assert [s.tag for s in got] == [c.tag for c in told.commands]
        if not anything:
            wrong = {n: hex(s.status) for n, s in enumerate(got) if s.status != (bad or {}).get(n, 0)}
            assert not wrong, wrong
        reads = [(c, s) for c, s in zip(told.commands, got) if c.op == "read" and c.blocks]
        size = sum(c.blocks for c, _ in reads) * self.lba_bytes
        self.sim.run_until(lambda: self.sim.signal("rdata_bytes") - self.read_at >= size, cycles, step=200)
        at, unsure = 0, []
        for c, s in zip(told.commands, got):
            here = slice(c.lba * self.lba_bytes, (c.lba + c.blocks) * self.lba_bytes)
            if c.op == "write":
                data = told.written[at : at + c.blocks * self.lba_bytes]
                at += len(data)
                if not s.status:
                    self.disk[here] = data
                else:
                    unsure.append(here)
            elif c.op in ("trim", "zeroes"):
                if not s.status:
                    self.disk[here] = bytes(here.stop - here.start)
                else:
                    unsure.append(here)
        self.reads(reads)
        self.sim.run(400)
        assert not self.sim.statuses(), "a second status"
        assert self.sim.signal("rdata_bytes") == self.read_at, "data that nobody asked for"
        for here in unsure:  # old, new or, of a longer one, part of each: but nothing else is touched
            self.disk[here] = self.sim.media_read(here.start, here.stop - here.start)
        assert self.sim.media_view() == self.disk, "the drive does not hold what was written"
        return got

    def reads(self, reads: list[tuple[BlockCommand, BlockStatus]]) -> None:
        """Data of reads that have ended, packet by packet."""
        ends = self.sim.data_ends()
        assert [e.size for e in ends] == [c.blocks * self.lba_bytes for c, _ in reads]
        assert [e.error for e in ends] == [bool(s.status) for _, s in reads]
        room = len(self.read_room)
        for c, s in reads:
            size, at = c.blocks * self.lba_bytes, self.read_at % room
            data = (self.read_room[at:] + self.read_room[: max(0, at + size - room)])[:size]
            want = self.disk[c.lba * self.lba_bytes : c.lba * self.lba_bytes + size]
            if s.status:  # each part is zeros or what was there
                assert not any(a not in (0, b) for a, b in zip(data, want)), "data of a read that failed"
            else:
                assert data == want, f"read of {c.blocks} blocks at {c.lba}"
            self.read_at += size

    def random(self, count: int, ops: str = "read write flush trim zeroes verify", longest: int = 0
               ) -> list[tuple[str, int, int]]:  # fmt: skip
        """Commands that do not touch each other's blocks."""
        blocks, most = self.sim.signal("blocks"), self.sim.axil_read(MAX_BLOCKS)
        longest = longest or 3 * most
        sizes = [1, 1, 2, 3, 7, 8, 9, most - 1, most, most + 1, 2 * most, 3 * most]
        out, at = [], self.rng.randrange(64)
        for _ in range(count):
            n = min(max(1, self.rng.choice(sizes)), longest)
            if at + n > blocks:
                break
            out.append((self.rng.choice(ops.split()), at, n))
            at += n + self.rng.choice((0, 0, 1, 5, self.rng.randrange(100)))
        self.rng.shuffle(out)
        return out

    def failure(self) -> tuple[str, int]:
        """Reason and step of the last one."""
        fail = self.sim.axil_read(FAIL)
        return REASONS.get(fail & 31, str(fail & 31)), fail >> 8 & 63

    def close(self) -> None:
        errors = self.sim.errors()
        self.sim.close()
        assert not errors, errors
