# SPDX-License-Identifier: Apache-2.0
"""Full load for as long as one likes: every Read is compared, and at the end the drive is as it was at the begin.

Reads and Writes of 4 KiB, seven to three, keep all command slots busy. A Read gives what the last Write of its place
has left. What must not drift: the rate of the last tenth of the time, and the cycles that a burst takes which needs all
slots and tags. What must agree: the counters of the host, of the simulator and of the drive's SMART log.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from doorbell.device.opening import open_sim
from doorbell.errors import UserError
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import LogPage, NvmOpc
from doorbell.nvme.driver import Driver
from doorbell.nvme.log_pages import SmartLog, u128
from doorbell.nvme.memory import Buffer, HostMemory
from doorbell.nvme.model import Mismatch
from doorbell.soak.judge import Failure, judged

BYTES = 4096
PLACES = 4096
QUEUES, ENTRIES = 4, 64
DEPTH = 32  # commands of a queue under way: together those of all slots
MIX = (True,) * 7 + (False,) * 3  # Reads
TENTHS = 10
CANARY = 0xC3
CQE_BYTES, SQE_BYTES, MSI_BYTES = 16, 64, 4
QUIET_CYCLES = 100_000  # until an idle drive says so


@dataclass
class Endured:
    """cycles: of the load, from its warm begin on. moved: bytes in each tenth of them. probes: cycles of a burst of
    Writes and of one of Reads, before and after."""

    cycles: int = 0
    reads: int = 0
    writes: int = 0
    moved: list[int] = field(default_factory=lambda: [0] * TENTHS)
    probes: list[tuple[int, int]] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        return [moved * TENTHS / self.cycles for moved in self.moved]

    @property
    def drift(self) -> float:
        """Of the rate, from the first tenth to the last."""
        return self.rates[-1] / self.rates[0] - 1

    def check(self, bound: float) -> None:
        """Raises Failure if anything has changed by more."""
        if abs(self.drift) > bound:
            raise Failure("drift", f"bytes a cycle in tenths of the time: {', '.join(f'{r:.3f}' for r in self.rates)}")
        if self.slower > bound:
            raise Failure("leak", f"bursts of Writes and Reads took {self.probes} cycles: before, and behind")

    @property
    def slower(self) -> float:
        """By which the later bursts took longer."""
        before, after = self.probes
        return max(b / a for a, b in zip(before, after)) - 1


class FullLoad:
    """On a drive with QUEUES queues of ENTRIES."""

    def __init__(self, drive: Driver, seed: int = 1) -> None:
        assert drive.namespace is not None
        self.drive, self.rng = drive, random.Random(seed)
        self.blocks = BYTES // drive.block_size
        self.noise = self.rng.randbytes(1 << 16)
        self.versions = [0] * PLACES
        self.busy: set[int] = set()
        self.mix: list[bool] = []
        self.places: dict[Command, tuple[int, int]] = {}  # with the version that is read or written
        self.out = Endured()
        self.first = self.begin = 0

    def data(self, place: int, version: int) -> bytes:
        """Zeros where nothing was written."""
        if not version:
            return bytes(BYTES)
        at = (place * 2_654_435_761 + version * 40_503) % (len(self.noise) - BYTES)
        return place.to_bytes(8, "little") + version.to_bytes(8, "little") + self.noise[at : at + BYTES - 16]

    def run(self, cycles: int, shown: Callable[[int], None] = lambda cycles: None) -> Endured:
        """Raises Failure."""
        with judged():
            self.out.cycles = cycles
            log, counters = self._log(), self.drive.sim.counters()
            self._probe()
            self._load(cycles, shown)
            self._probe()
            self._agrees(log, counters)
        return self.out

    # ---- the load

    def _load(self, cycles: int, shown: Callable[[int], None]) -> None:
        drive, sim = self.drive, self.drive.sim
        warm, done = 2 * QUEUES * DEPTH, 0
        free = {q: [drive.buffer(BYTES) for _ in range(DEPTH)] for q in range(1, QUEUES + 1)}
        for q, buffers in free.items():
            while buffers:
                self._send(q, buffers.pop())
        idle_since = sim.ns
        while not self.begin or sim.cycle < self.begin + cycles:
            completed = drive.step()
            now = sim.cycle
            if completed:
                idle_since = sim.ns
            elif sim.ns - idle_since > drive.io_timeout_us * 1000:
                drive.wait()  # says which command is late
            for command in completed:
                self._ended(command)
                done += 1
                if self.begin and now < self.begin + cycles:
                    self.out.moved[(now - self.begin) * TENTHS // cycles] += BYTES
                assert command.buffer is not None
                self._send(command.qid, command.buffer)
            if not self.begin and done >= warm:
                self.begin = now
            shown(min(now - self.begin, cycles) if self.begin else 0)
        drive.wait()
        for command in list(self.places):
            self._ended(command)
            assert command.buffer is not None
            command.buffer.free()

    def _send(self, q: int, buffer: Buffer) -> None:
        if not self.mix:
            self.mix = list(MIX)
            self.rng.shuffle(self.mix)
        place = self.rng.randrange(PLACES)
        while place in self.busy:
            place = self.rng.randrange(PLACES)
        self._start(q, self.mix.pop(), place, buffer)

    def _start(self, q: int, reads: bool, place: int, buffer: Buffer) -> Command:
        self.busy.add(place)
        version = self.versions[place] + (not reads)
        if reads:
            buffer.fill(CANARY)
        else:
            buffer.write(self.data(place, version))
        opcode = NvmOpc.READ if reads else NvmOpc.WRITE
        command = self.drive.submit(q, opcode, place * self.blocks, self.blocks - 1, buffer)
        self.places[command] = place, version
        return command

    def _ended(self, command: Command) -> None:
        command.check()
        place, version = self.places.pop(command)
        assert command.buffer is not None
        if command.opcode == NvmOpc.READ:
            self.out.reads += 1
            if command.buffer.read() != self.data(place, version):
                raise Mismatch(f"place {place}, written {version} times: a Read gives other data")
        else:
            self.out.writes += 1
            self.versions[place] = version
        self.busy.discard(place)

    # ---- before and behind

    def _probe(self) -> None:
        """A burst of more commands than the drive has slots for, on an idle drive: of Writes, then of Reads."""
        drive, took = self.drive, []
        self._quiet()
        for reads in (False, True):
            commands = [
                self._start(q, reads, q * ENTRIES + i, drive.buffer(BYTES))
                for i in range(ENTRIES - 1)
                for q in range(1, QUEUES + 1)
            ]
            begin = drive.sim.cycle
            drive.wait(commands)
            took.append(drive.sim.cycle - begin)
            for command in commands:
                self._ended(command)
                assert command.buffer is not None
                command.buffer.free()
            self._quiet()
        self.out.probes.append((took[0], took[1]))

    def _quiet(self) -> None:
        """Nothing is under way: all that has slots and tags has given them back."""
        for _ in range(QUIET_CYCLES // 100):
            if self.drive.sim.idle:
                return
            self.drive.advance(100)
        raise Failure("leak", f"no command is under way, and the drive is not idle after {QUIET_CYCLES} cycles")

    def _log(self) -> SmartLog:
        return SmartLog.from_buffer_copy(self.drive.get_log(LogPage.SMART, 512))

    def _agrees(self, log: SmartLog, before: dict[str, int]) -> None:
        """What all have counted since."""
        out, after, sim = self.out, self._log(), self.drive.sim
        now = sim.counters()
        self._same("SMART, Reads", u128(after.host_reads) - u128(log.host_reads), out.reads)
        self._same("SMART, Writes", u128(after.host_writes) - u128(log.host_writes), out.writes)
        for name, units, commands in (
            ("read", u128(after.data_units_read) - u128(log.data_units_read), out.reads),
            ("written", u128(after.data_units_written) - u128(log.data_units_written), out.writes),
        ):
            wanted = commands * BYTES / 512 / 1000
            if abs(units - wanted) > 1:  # both logs round up
                raise Failure("counters", f"SMART, units {name}: {units}, not {wanted:.1f}")
        wide = sim.data_w // 8
        self._same("bytes of the media read", (now["media.read_beats"] - before["media.read_beats"]) * wide,
                   out.reads * BYTES)  # fmt: skip
        self._same("bytes of the media written", (now["media.write_beats"] - before["media.write_beats"]) * wide,
                   out.writes * BYTES)  # fmt: skip
        if found := sim.errors():
            raise Failure("rules", ", ".join(f"{k}: {v}" for k, v in found.items()))

    def _same(self, what: str, found: int, wanted: int) -> None:
        if found != wanted:
            raise Failure("counters", f"{what}: {found}, not {wanted}")


TOPS = ("db_ssd", "db_csd")
BOUND = 0.01
"""By which the last tenth may differ from the first one, and the later bursts may take longer. Reads and Writes come in
another order in each tenth: of fewer cycles than STEADY a tenth says less."""
STEADY = 10_000_000
LEAST = 100_000
"""In a tenth of fewer cycles hardly anything ends, and there is no rate to compare."""


def endure(top: str, cycles: int, seed: int, shown: Callable[[int], None] = lambda cycles: None) -> Endured:
    """On a narrow drive of its own: the one that is simulated fastest. Raises Failure."""
    if top not in TOPS:
        raise UserError(f"--full-load is for {' and '.join(TOPS)}, not for {top}")
    if cycles < LEAST:
        raise UserError(f"--full-load {cycles}: at least {LEAST:,} cycles, or the first tenth of them says nothing")
    with open_sim(top=top, data_w=128, link="gen3x4", media_size=2 * PLACES * BYTES, seed=seed) as sim:
        drive = Driver(sim, HostMemory(seed=seed), seed=seed)
        drive.start(queues=QUEUES, entries=ENTRIES)
        out = FullLoad(drive, seed).run(cycles, shown)
    out.check(BOUND if cycles >= STEADY else 5 * BOUND)
    return out
