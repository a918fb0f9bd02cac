# SPDX-License-Identifier: Apache-2.0
"""A simulated host: a Verilated top with root ports (db_host, db_recorder), and a drive behind each, as a Python class.

    with HostSim(build.simulator("db_host"), [ModelDrive(size=1 << 30)]) as sim:
        sim.run_until(lambda: sim.up)
        sim.submit([BlockCommand("write", lba=0, blocks=8, tag=1)])
        sim.write_data(data)
        print(sim.wait_status(1))

sim/README.md, "Root ports and drives", says how hard block, links and drives behave. Time is counted in cycles of the
top's clock; the same options, seed and calls give the same cycles on any machine. A HostSim may be used by one thread
at a time.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterable, Sequence
from ctypes import byref, c_uint32
from pathlib import Path
from typing import Any

from doorbell.device.blocks import OPS, BlockCommand, BlockStatus, DataEnd, Forwarded
from doorbell.device.c_header import at_least_one, chosen, converted, with_options
from doorbell.device.drive_calls import DriveCalls
from doorbell.device.drives import ModelDrive, PortOptions, SsdDrive, port_record
from doorbell.device.handle import Handle
from doorbell.device.host_sim_interface import (
    ABI,
    NEVER,
    OPTIONS,
    SIGNALS,
    STOPS,
    CommandRecord,
    EndRecord,
    ForwardRecord,
    HostConfig,
    Library,
    PortRecord,
    StatusRecord,
)
from doorbell.device.messages import SimError
from doorbell.device.sim import ALL
from doorbell.device.sim_interface import load

MOST_TIMES = 1 << 32
"""Times that data can be given: their number has 32 bits."""


def ports_of(lib_path: str | os.PathLike[str]) -> int:
    """How many root ports, so drives, a built top has."""
    return ctypes.CDLL(str(Path(lib_path).resolve())).db_host_ports()


@with_options(OPTIONS)
class HostSim(Handle, DriveCalls):
    """One simulated host and its drives, one for each root port.

    write_gbps, read_gbps: pace of the user's streams (0: a beat a cycle). idle_skip is only for a top that has no
    timers of its own (those of db_host would stand still). With several ports, each one's window and BAR are so many
    bytes (_step) further.
    """

    coverage_name = "host-"

    def __init__(
        self, lib_path: str | os.PathLike[str], drives: Sequence[PortOptions] | None = None, **options: Any
    ) -> None:
        self._lib: Any = load(Library, lib_path)
        self._drive_lib = self._lib
        o = chosen(OPTIONS, options, "a HostSim")
        self.ports: int = self._lib.ports()
        self.drives = list(drives) if drives is not None else [ModelDrive() for _ in range(self.ports)]
        khz = round(o["clock_mhz"] * 1000)
        # bytes in 1000 cycles
        rates = {f"{way}_rate": at_least_one(o[f"{way}_gbps"] * 1e9 / khz) for way in ("write", "read")}
        for way, rate in rates.items():
            if not 0 <= rate < NEVER:
                raise SimError(f"{way.replace('rate', 'gbps')} is out of range")
        config = HostConfig(abi=ABI, **{**converted(OPTIONS, o), **rates})
        ports = (PortRecord * len(self.drives))(*(port_record(d, khz) for d in self.drives))
        why = ctypes.create_string_buffer(256)
        self._handle = self._lib.open(byref(config), ports, len(self.drives), why, len(why))
        if not self._handle:
            raise SimError(why.value.decode(errors="replace"))
        self.clock_mhz = khz / 1000
        self.data_w: int = self._lib.data_w()
        self.window, self.bar, self.seed = o["window"], o["bar"], o["seed"]
        self._keep: list[Any] = []
        self._read_buffer: Any = None
        self._statuses: list[BlockStatus] = []
        self._opened()

    def close(self) -> None:
        """End the simulation and those of its drives; image files are written out."""
        if self.closed:
            return
        bad = [port for port in range(len(self.drives)) if self._lib.media_sync(self._h, port)]
        with contextlib.ExitStack() as stack:  # all are ended, also if one's image fails
            for drive in self.drives:
                if isinstance(drive, SsdDrive) and drive.sim is not None:
                    stack.callback(drive.sim.close)
            super().close()
        self._keep.clear()
        self._read_buffer = None
        if bad:
            raise SimError(
                f"the image of drive {bad[0]} could not be written out: its disk is full, or it was truncated"
            )

    # ------------------------------------------------------------------------------------------------------------ time

    @property
    def cycle(self) -> int:
        """Cycles since the start."""
        return self._lib.cycle(self._h)

    @property
    def ns(self) -> float:
        """Simulated time since the start."""
        return self.cycle * 1000 / self.clock_mhz

    def cycles(self, us: float) -> int:
        """So many microseconds in cycles."""
        return round(us * self.clock_mhz)

    def reset(self, drives: bool = False) -> None:
        """Pull the top's reset; its links go down and come back. drives: they are reset too, as by power."""
        self._lib.reset(self._h, drives)
        self._keep.clear()
        self._statuses.clear()

    def run(self, cycles: int, *stop: str) -> str:
        """Run up to `cycles`; says what ended it: "budget", "rtl", or one of `stop`.

        stop: "status", "data" (the end of a packet of read data), "answer" (of a register or admin access), "message"
        (for an external drive), "forward", "up" (the top's `up` has changed), "idle" (nothing is to be expected).
        """
        mask = sum(bit for name, bit in STOPS.items() if name in stop)
        bits = self._lib.run(self._h, int(cycles), mask)
        return next((name for name, bit in STOPS.items() if bits & bit), ALL)

    def run_until(self, condition: Callable[[], object], cycles: int = 10_000_000, step: int = 2000) -> None:
        """Run until `condition()` holds, looked at every `step` cycles; raises SimError after `cycles`."""
        end = self.cycle + cycles
        while not condition():
            if self.cycle >= end:
                raise SimError(f"not within {cycles} cycles")
            self.run(min(step, end - self.cycle))

    # --------------------------------------------------------------------------------------------------------- signals

    def signal(self, name: str, port: int = 0) -> int:
        """An output of the top, or what is left to be done: up, dead, blocks, lba_shift, idle, cmds_left, wdata_left,
        rdata_bytes; of a port link_up, mps, mrrs; of a recorder level, level_peak (bytes in the source's buffer),
        enabled.
        """
        return self._lib.signal(self._h, port, SIGNALS[name])

    @property
    def up(self) -> bool:
        return bool(self.signal("up"))

    @property
    def dead(self) -> bool:
        return bool(self.signal("dead"))

    @property
    def idle(self) -> bool:
        """Nothing will happen unless the caller does something."""
        return bool(self.signal("idle"))

    # ------------------------------------------------------------------------------------------------- block commands

    def submit(self, commands: Iterable[BlockCommand]) -> None:
        """Queue block commands."""
        listed = [CommandRecord(c.lba, c.blocks, c.tag, OPS.index(c.op)) for c in commands]
        self._lib.cmds(self._h, (CommandRecord * len(listed))(*listed), len(listed))

    def write_data(self, data: Any, times: int = 1) -> None:
        """Queue write data, a whole number of rows (DATA_W / 8 bytes), to be given `times` times."""
        size = memoryview(data).nbytes
        if not size or size % (self.data_w // 8) or not 1 <= times < MOST_TIMES:
            raise ValueError(f"write data comes in multiples of {self.data_w // 8} bytes")
        raw = bytearray(data) if memoryview(data).readonly else data
        keep = (ctypes.c_char * size).from_buffer(raw)
        if not self.signal("wdata_left"):
            self._keep.clear()
        self._keep.append(keep)
        self._lib.wdata(self._h, ctypes.addressof(keep), size, times - 1)

    def read_buffer(self, buffer: Any) -> None:
        """Where read data goes from now on, round and round (None: nowhere). rdata_bytes counts from 0 again."""
        size = 0 if buffer is None else memoryview(buffer).nbytes
        if size % (self.data_w // 8):
            raise ValueError(f"a read buffer has a multiple of {self.data_w // 8} bytes")
        self._read_buffer = None if buffer is None else (ctypes.c_char * size).from_buffer(buffer)
        self._lib.rdata(self._h, None if buffer is None else ctypes.addressof(self._read_buffer), size)

    def statuses(self) -> list[BlockStatus]:
        """Ends of commands since the last call, in the order in which they came."""
        out, self._statuses = self._statuses, []
        buffer = (StatusRecord * 1024)()
        while n := self._lib.status(self._h, buffer, len(buffer)):
            out += [BlockStatus(s.cycle, s.tag, s.status, s.latency) for s in buffer[:n]]
        return out

    def wait_status(self, count: int = 1, cycles: int = 10_000_000) -> list[BlockStatus]:
        """Run until `count` commands have ended; raises SimError after `cycles`."""
        out: list[BlockStatus] = []
        end = self.cycle + cycles
        while len(out) < count:
            if self.cycle >= end:
                raise SimError(f"{len(out)} of {count} commands ended within {cycles} cycles")
            if self.run(end - self.cycle, "status") == "rtl":
                raise SimError("an assertion of the RTL failed; its text is on stdout")
            out += self.statuses()
        self._statuses = out[count:]
        return out[:count]

    def data_ends(self) -> list[DataEnd]:
        """Packets of read data that have ended since the last call."""
        out: list[DataEnd] = []
        buffer = (EndRecord * 256)()
        while n := self._lib.rdata_ends(self._h, buffer, len(buffer)):
            out += [DataEnd(e.cycle, e.bytes, bool(e.error)) for e in buffer[:n]]
        return out

    def forwarded(self) -> list[Forwarded]:
        """Rows of m_fwd since the last call."""
        out: list[Forwarded] = []
        buffer = (ForwardRecord * 64)()
        while n := self._lib.forwarded(self._h, buffer, len(buffer)):
            out += [Forwarded(f.cycle, f.addr, f.be, bytes(f.data[: f.bytes])) for f in buffer[:n]]
        return out

    def forward_stall(self, on: bool) -> None:
        """Take no forwarded writes while on."""
        self._lib.forward_stall(self._h, on)

    # ---------------------------------------------------------------------------------------------- registers, admin

    def _answer(self, poll: Callable[[], int], cycles: int, what: str) -> int:
        end = self.cycle + cycles
        while (result := poll()) < 0:
            if self.cycle >= end:
                raise SimError(f"{what}: no answer within {cycles} cycles")
            self._until_answer(end)
        return result

    def _until_answer(self, end: int) -> None:
        """Run until there is an answer; step by step if another one is there already and nobody takes it."""
        begin = self.cycle
        self.run(end - begin, "answer")
        if self.cycle == begin:
            self.run(1)

    def axil_read(self, addr: int, cycles: int = 100_000) -> int:
        """Read a register of the top."""
        data = c_uint32()
        if self._lib.axil(self._h, 0, addr, 0):
            raise SimError("another register access is under way")
        response = self._answer(lambda: self._lib.axil_poll(self._h, byref(data)), cycles, f"register {addr:#x}")
        if response:
            raise SimError(f"register {addr:#x}: response {response}")
        return data.value

    def axil_write(self, addr: int, value: int, cycles: int = 100_000) -> None:
        """Write a register of the top."""
        data = c_uint32()
        if self._lib.axil(self._h, 1, addr, value):
            raise SimError("another register access is under way")
        response = self._answer(lambda: self._lib.axil_poll(self._h, byref(data)), cycles, f"register {addr:#x}")
        if response:
            raise SimError(f"register {addr:#x}: response {response}")

    def admin_begin(self, sqe: bytes) -> None:
        """Pass an admin command to the port; `admin_end` has its answer."""
        if self._lib.admin(self._h, sqe.ljust(64, b"\0")):
            raise SimError("another admin command is under way")

    def admin_end(self) -> tuple[bytes, bool] | None:
        """The completion entry, and whether the command was lost instead; None: no answer yet."""
        cqe = ctypes.create_string_buffer(16)
        result = self._lib.admin_poll(self._h, cqe)
        return None if result < 0 else (cqe.raw, bool(result))

    def admin(self, sqe: bytes, cycles: int = 10_000_000) -> bytes:
        """Pass an admin command through; returns its completion entry."""
        self.admin_begin(sqe)
        end = self.cycle + cycles
        while (got := self.admin_end()) is None:
            if self.cycle >= end:
                raise SimError(f"admin command: no answer within {cycles} cycles")
            self._until_answer(end)
        if got[1]:
            raise SimError("admin command: timed out")
        return got[0]

    def reg(self, addr: int, value: int | None = None, cycles: int = 1_000_000) -> tuple[int, int]:
        """Access the drive's BAR 0 through the top: (data, status: 0 good, 1 refused, 2 retry, 3 timed out)."""
        data = c_uint32()
        if self._lib.reg(self._h, value is not None, addr, value or 0):
            raise SimError("another access of BAR 0 is under way")
        status = self._answer(lambda: self._lib.reg_poll(self._h, byref(data)), cycles, f"BAR 0 + {addr:#x}")
        return data.value, status

    # ---------------------------------------------------------------------------------------------------------- drives

    def drive_reset(self, port: int = 0) -> None:
        """Reset the drive alone, as by its power."""
        self._lib.drive_reset(self._h, port)
