# SPDX-License-Identifier: Apache-2.0
"""A simulated recorder: db_recorder with a drive behind each of its root ports, as a Python class.

    with RecorderSim(build.simulator("db_recorder"), [ModelDrive(), ModelDrive()]) as sim:
        sim.run_until(lambda: sim.up)
        sim.start_capture(start=0, blocks=256)      # of each drive
        sim.capture(data)                           # 512 blocks, dealt out to two drives
        sim.run_until(lambda: sim.captured)
        print(sim.read(start=0, blocks=256) == data)

Registers and fields go by the names of regs/db_recorder.rdl, which are those of docs/recorder/registers.md.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Mapping, Sequence
from ctypes import byref, c_uint32
from typing import Any, NamedTuple

from doorbell.device.host_sim import MOST_TIMES, HostSim
from doorbell.device.host_sim_interface import PACKET_WORDS, PacketRecord
from doorbell.device.messages import SimError
from doorbell.device.registers import Register, register_map

BLOCK = 4096


class Packet(NamedTuple):
    """A packet to the host that is not a block: all its dwords, and the cycle of its last."""

    cycle: int
    dwords: list[int]


class Run(NamedTuple):
    """Marked blocks of a drive: they were lost (or malformed), and why."""

    drive: int
    first: int
    count: int
    why: str


def _not_here(*_: object, **__: object) -> Any:
    raise SimError("a recorder has no block commands: capture, read, send")


class RecorderSim(HostSim):
    """One simulated recorder and its drives. Options as of HostSim, whose streams of commands and data it has not.

    write_gbps: what the source of the stream brings while the recorder's data_enabled_out is high (0: all it takes).
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self._given = 0  # bytes for the stream so far
        self._kept: deque[tuple[int, Any]] = deque()
        super().__init__(*args, **options)

    submit = read_buffer = statuses = wait_status = data_ends = forwarded = admin = reg = write_data = _not_here

    def close(self) -> None:
        super().close()
        self._kept.clear()

    # --------------------------------------------------------------------------------------------------------- signals

    @property
    def all_drives(self) -> int:
        return (1 << self.ports) - 1

    @property
    def up(self) -> bool:
        """All drives are."""
        return self.signal("up") == self.all_drives

    @property
    def dead(self) -> bool:
        """Any drive was given up."""
        return bool(self.signal("dead"))

    # ------------------------------------------------------------------------------------------------------- registers

    def _register(self, name: str, drive: int | None = None, index: int = 0) -> tuple[Register, int]:
        """A register by name, and its address. drive: None is the main set, or of an extended set drive 0's."""
        registers = register_map("db_recorder")
        if f"Own.{name}" in registers:
            where, at = registers[f"Own.{name}"], ()
        elif f"Extended.{name}" in registers:
            where = registers[f"Extended.{name}"]
            at = (drive or 0, index)[: len(where.arrays)]
        elif drive is None:
            where, at = registers[f"Main.{name}"], ()
        else:
            where, at = registers[f"Drive.{name}"], (drive,)
        return where, where.address(*at)

    def get(self, name: str, drive: int | None = None, index: int = 0, field: str | None = None) -> int:
        """Read a register by name: of the main set, or of a drive's own. index: word of a histogram or list."""
        register, address = self._register(name, drive, index)
        word = self.axil_read(address)
        return word if field is None else register.get(word, field)

    def set(self, name: str, value: int | Mapping[str, int], drive: int | None = None) -> None:
        """Write a register by name; of the main set: those of all drives. value: a word, or fields (others are 0)."""
        register, address = self._register(name, drive)
        self.axil_write(address, value if isinstance(value, int) else register.word(**value))

    def host_get(self, drive: int, addr: int) -> int:
        """Read a register of a drive's db_host."""
        return self.axil_read(0x10000 * (1 + drive) + addr)

    def host_set(self, drive: int, addr: int, value: int) -> None:
        self.axil_write(0x10000 * (1 + drive) + addr, value)

    def histogram(self, drive: int) -> list[int]:
        """Blocks of the last capture by latency: below 1 us, from 1 us on, from 2 us on, from 4 us on ..."""
        register, _ = self._register("Histogram")
        return [self.get("Histogram", drive, k) for k in range(register.arrays[1][0])]

    def runs(self, drive: int) -> list[Run]:
        """Marked blocks of the last capture, as listed."""
        out = []
        why, _ = self._register("Run.Why")
        for k in range(min(why.arrays[1][0], self.get("Runs", drive))):
            word = self.get("Run.Why", drive, k)
            reason = why.fields["why"].names.get(why.get(word, "why"), "unknown")
            out.append(Run(drive, self.get("Run.First", drive, k), why.get(word, "blocks"), reason))
        return out

    # --------------------------------------------------------------------------------------------------------- capture

    def source(self, buffer: int = 0, drop_above: int = 0, drop: bool = False) -> None:
        """buffer: bytes that the source keeps while the recorder takes none (beyond that it stands still).
        data_drop_blocks is high while more than `drop_above` bytes are in there (0: never), or always with `drop`.
        """
        self._lib.rec_source(self._h, buffer, drop_above, drop)

    def start_capture(self, start: int, blocks: int, drives: Sequence[int] | None = None) -> None:
        """Let all drives, or some, record: blocks of each, from its block `start` on."""
        for drive in [None] if drives is None else drives:
            self.set("Control", 0, drive)
            self.set("DataChunkStart", start, drive)
            self.set("DataChunkSize", blocks, drive)
        for drive in [None] if drives is None else drives:
            self.set("Control", {"DataEnable": 1}, drive)

    def capture(self, data: Any, times: int = 1) -> None:
        """More for the stream, whole blocks, `times` times over. Not copied unless it must be."""
        size = memoryview(data).nbytes
        if not size or size % BLOCK or not 1 <= times < MOST_TIMES:
            raise ValueError(f"the stream is blocks of {BLOCK} bytes")
        used = self._given - self.signal("wdata_left")
        while self._kept and self._kept[0][0] <= used:
            self._kept.popleft()
        raw = bytearray(data) if memoryview(data).readonly else data
        keep = (ctypes.c_char * size).from_buffer(raw)
        self._given += size * times
        self._kept.append((self._given, keep))
        self._lib.wdata(self._h, ctypes.addressof(keep), size, times - 1)

    @property
    def captured(self) -> bool:
        """Status.Completed of all drives."""
        return all(self.get("Status", i, field="Completed") for i in range(self.ports))

    # -------------------------------------------------------------------------------------------------------- read-out

    def start_read(self, start: int, blocks: int, buffer: Any, drives: Sequence[int] | None = None) -> None:
        """Read blocks of all drives, or of some; put together in turn they go to `buffer`. `read_done` says when."""
        size = memoryview(buffer).nbytes
        if not size or size % BLOCK:
            raise ValueError(f"what is read is blocks of {BLOCK} bytes")
        self._read_buffer = (ctypes.c_char * size).from_buffer(buffer)
        mask = self.all_drives if drives is None else sum(1 << i for i in drives)
        self._lib.rec_read(self._h, ctypes.addressof(self._read_buffer), size, mask)
        self._read_left = blocks * BLOCK * mask.bit_count()
        self._read_drives = [i for i in range(self.ports) if mask >> i & 1]
        for drive in [None] if drives is None else drives:
            self.set("ReadControl", 0, drive)
            self.set("ReadBlock", start, drive)
            self.set("ReadNumBlocks", blocks, drive)
            self.set("ReadControl", {"Enable": 1}, drive)

    @property
    def read_done(self) -> bool:
        """All that was asked for is here."""
        return self.signal("rdata_bytes") >= self._read_left and all(
            self.get("ReadStatus", i, field="Complete") for i in self._read_drives)  # fmt: skip

    def read(self, start: int, blocks: int, drives: Sequence[int] | None = None, cycles: int = 10_000_000) -> bytes:
        """Blocks of all drives (or some), put together in turn."""
        buffer = bytearray(blocks * BLOCK * (self.ports if drives is None else len(drives)))
        self.start_read(start, blocks, buffer, drives)
        self.run_until(lambda: self.read_done, cycles)
        self.set("ReadControl", 0)
        return bytes(buffer)

    # -------------------------------------------------------------------------------------------------------- shutdown

    def start_shutdown(self, drives: Sequence[int] | None = None) -> None:
        """Ask for an orderly shutdown of all drives, or of some; `shut_down` says when. Captures should be over."""
        self.set("Shutdown", {"ask": self.all_drives if drives is None else sum(1 << i for i in drives)})

    @property
    def shut_down(self) -> tuple[int, int]:
        """Bit i: drive i is shut down; drive i could not be."""
        return self.get("Shutdown", field="down"), self.get("Shutdown", field="failed")

    # --------------------------------------------------------------------------------------------------------- packets

    def send(self, dwords: Sequence[int]) -> None:
        """A packet on s_axis_hostsend, header first."""
        if self._lib.rec_send(self._h, (c_uint32 * len(dwords))(*dwords), len(dwords)):
            raise ValueError(f"a packet has 1 to {PACKET_WORDS} dwords")

    def packets(self) -> list[Packet]:
        """Packets of m_axis_hostrecv since the last call, but for blocks."""
        out, packet = [], PacketRecord()
        while self._lib.rec_packets(self._h, byref(packet), 1):
            out.append(Packet(packet.cycle, list(packet.data[: min(packet.dwords, PACKET_WORDS)])))
        return out

    def wait_packets(self, count: int = 1, cycles: int = 1_000_000) -> list[Packet]:
        """Run until so many have come."""
        out: list[Packet] = []
        end = self.cycle + cycles
        while len(out) < count:
            if self.cycle >= end:
                raise SimError(f"{len(out)} of {count} packets within {cycles} cycles")
            self.run(end - self.cycle, "forward")
            out += self.packets()
        return out
