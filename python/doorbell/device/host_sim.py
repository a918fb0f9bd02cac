# SPDX-License-Identifier: Apache-2.0
"""A simulated host: a Verilated top with root ports (db_host, db_recorder), and a drive behind each, as a Python class.

    with HostSim(build.simulator("db_host"), [ModelDrive(size=1 << 30)]) as sim:
        sim.run_until(lambda: sim.up)
        sim.submit([Command("write", lba=0, blocks=8, tag=1)])
        sim.write_data(data)
        print(sim.wait_status(1))

sim/README.md, "Root ports and drives", says how hard block, links and drives behave. Time is counted in cycles of the
top's clock; the same options, seed and calls give the same cycles on any machine. A HostSim may be used by one thread
at a time.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from doorbell.device.sim import ALL, Sim, SimError, parse_link

ABI = 3
NEVER = 0xFFFF_FFFF
OPS = ("read", "write", "flush", "trim", "zeroes", "verify")  # op_e of db_host_pkg
LATENCIES = ("read", "write", "flush", "other", "admin")  # DB_LAT_* of sim/db_host_sim.h
_STOPS = {64: "rtl", 2: "message", 8: "answer", 1: "status", 16: "data", 128: "forward", 32: "up", 4: "idle"}
_FAULTS = {"status": 0, "lost": 1, "late": 2, "hang": 3, "drop_link": 4, "damage": 5, "vanish": 6, "double": 7,
           "phase": 8}  # fmt: skip
_SIGNALS = ("up", "dead", "blocks", "lba_shift", "idle", "cmds_left", "wdata_left", "rdata_bytes", "link_up", "mps",
            "mrrs", "level", "level_peak", "enabled")  # fmt: skip
_MESSAGES = ("cfg_read", "cfg_write", "read", "write", "reset", "link_up", "link_down")
_serial = itertools.count()


class Command(NamedTuple):
    """A block command: op is one of OPS."""

    op: str
    lba: int = 0
    blocks: int = 1
    tag: int = 0


class Status(NamedTuple):
    """The end of a block command: status as in CQE dword 3 bits 31:17 (0: good), latency in cycles."""

    cycle: int
    tag: int
    status: int
    latency: int


class DataEnd(NamedTuple):
    """A packet of read data has ended: its bytes, and whether any of them stood in for data that could not be read."""

    cycle: int
    size: int
    error: bool


class Forwarded(NamedTuple):
    """A row that the drive wrote to the forwarded region: byte address in it, byte enables, data."""

    cycle: int
    addr: int
    enables: int
    data: bytes


class DriveMessage(NamedTuple):
    """What the host asks of an external drive: kind is one of "cfg_read", "cfg_write", "read", "write" (addr: register,
    or memory address), "reset", "link_up", "link_down". Reads and all configuration requests must be answered by id.
    """

    id: int
    kind: str
    addr: int
    size: int
    target: int
    data: bytes


@dataclass(frozen=True)
class Latency:
    """ns, fixed; or uniform from ns to `to_ns`; or about lognormal: median ns, `sigma` the factor at one sigma."""

    ns: int
    to_ns: int = 0
    sigma: float = 0.0

    def _c(self) -> _Latency:
        if self.sigma and not 1 <= self.sigma <= 16:
            raise ValueError("sigma: a factor from 1 to 16")
        if self.sigma:
            return _Latency(2, self.ns, round(self.sigma * 1000))
        return _Latency(1, self.ns, self.to_ns) if self.to_ns else _Latency(0, self.ns, 0)


@dataclass
class PortOptions:
    """What drives have in common: the link, the hard block's buffers, the function's configuration space.

    link, link_latency_ns (each way), ack_every, fc_every: TLPs a DLLP. tx_tlps, tx_bytes: what the hard block takes
    before tready falls. cq_tlps, cq_bytes: credits. mps_cap, drive_mps_cap: bytes, of the root port and the drive.
    crs_us: configuration requests are put off so long after a reset. np_credits: the hard block goes by the core's
    credits for what the drive reads (pcie_cq_np_req); False: as if they were tied high.
    """

    link: str = "gen3x4"
    link_latency_ns: int = 0
    ack_every: int = 4
    fc_every: int = 4
    tx_tlps: int = 8
    tx_bytes: int = 2048
    cq_tlps: int = 32
    cq_bytes: int = 8192
    np_credits: bool = True
    drive_tx: int = 16
    mps_cap: int = 256
    drive_mps_cap: int = 512
    bar_bytes: int = 0x4000
    bar64: bool = True
    crs_us: float = 0
    link_up: bool = True


@dataclass
class ModelDrive(PortOptions):
    """A behavioural SSD. Rates in GB/s, 0: no limit. ready_us, unready_us: None: never.

    read, write, flush, other, admin: latencies. slc_bytes are written at write_gbps, then slow_gbps is left.
    stall_every bytes, and with chance stall_chance a write, the media stands still for stall_us. write_buffer: bytes
    that are asked of the host before the media has taken them. max_reads: reads of host memory outstanding.
    """

    size: int = 1 << 30
    image: str | os.PathLike[str] | None = None
    lba_bytes: int = 512
    max_reads: int = 64
    fetch_entries: int = 8
    fetches: int = 4
    max_cmds: int = 512
    list_bytes: int = 0
    mdts: int = 5
    mqes: int = 1024
    dstrd: int = 0
    queues: int = 16
    timeout_ms: int = 10000
    mpsmin: int = 0
    css: int = 1
    oncs: int = 0x8C
    vwc: bool = True
    ready_us: float | None = 100
    unready_us: float | None = 20
    abort_ok: bool = True
    read_gbps: float = 0
    write_gbps: float = 0
    slow_gbps: float = 0
    slc_bytes: int = 0
    stall_us: float = 10_000
    stall_every: int = 0
    stall_chance: float = 0
    write_buffer: int = 4 << 20
    read: Latency = field(default_factory=lambda: Latency(20_000))
    write: Latency = field(default_factory=lambda: Latency(10_000))
    flush: Latency = field(default_factory=lambda: Latency(50_000))
    other: Latency = field(default_factory=lambda: Latency(20_000))
    admin: Latency = field(default_factory=lambda: Latency(5_000))


@dataclass
class SsdDrive(PortOptions):
    """Our own db_ssd: a simulation of it, opened for this (`ssd_drive` does). Its link is the Sim's."""

    sim: Sim | None = None


@dataclass
class ExternalDrive(PortOptions):
    """The caller is the drive: `messages`, `answer`, `host_read`, `host_write`."""


def ssd_drive(lib_path: str | os.PathLike[str], window: tuple[int, int] | None = None, **options: Any) -> SsdDrive:
    """A db_ssd behind a root port. options: those of Sim (link, media_*, seed ...) and of PortOptions."""
    mine = {k: options.pop(k) for k in list(options) if k in PortOptions.__dataclass_fields__ and k != "link"
            and k != "link_latency_ns" and k not in ("ack_every", "fc_every")}  # fmt: skip
    options = {"link": "gen3x4", "host_latency_ns": 0, "cpl_timeout_us": 1e6, "msi_window": (0xFEE0_0000, 0x10_0000),
               **options}  # fmt: skip
    sim = Sim(lib_path, **options)
    base, size = window or (HostSim.WINDOW, HostSim.WINDOW_BYTES)
    sim.map(base, size, None)
    names = ("link_latency_ns", "ack_every", "fc_every")
    return SsdDrive(sim=sim, link=options["link"], **{n: options[n] for n in names if n in options}, **mine)


class _HostConfig(ctypes.Structure):
    _fields_ = [
        *((n, c_uint32) for n in (
            "abi", "clock_khz", "seed", "stall_pct", "idle_skip", "cpl_timeout_ns", "write_rate", "read_rate",
            "user_stall_pct", "pad",
        )),
        *((n, c_uint64) for n in ("window_base", "bar_base", "window_step", "bar_step")),
    ]  # fmt: skip


class _Latency(ctypes.Structure):
    _fields_ = [("kind", c_uint32), ("a", c_uint32), ("b", c_uint32)]


class _Model(ctypes.Structure):
    _fields_ = [
        *((n, c_uint32) for n in (
            "max_reads", "fetch_entries", "fetches", "max_cmds", "list_bytes", "lba_shift", "mdts", "mqes", "dstrd",
            "queues", "timeout_500ms", "mpsmin", "css", "oncs", "vwc", "ready_ns", "unready_ns", "abort_ok",
            "read_mbps", "write_mbps", "slow_mbps", "stall_ns", "stall_ppm",
        )),
        *((n, c_uint64) for n in ("stall_every", "slc_bytes", "write_buffer", "bytes")),
        ("latency", _Latency * len(LATENCIES)), ("image", c_char_p),
    ]  # fmt: skip


_LIB_FUNCTIONS = ("run", "mmio_write", "mmio_read", "mmio_poll", "dma_next", "dma_complete", "set_cfg", "idle", "reset")


class _Lib(ctypes.Structure):
    _fields_ = [("sim", c_void_p), *((n, c_void_p) for n in _LIB_FUNCTIONS)]


class _Port(ctypes.Structure):
    _fields_ = [
        *((n, c_uint32) for n in (
            "drive", "gen", "lanes", "link_latency_ns", "ack_every", "fc_every", "tx_tlps", "tx_bytes", "cq_tlps",
            "cq_bytes", "np_credits", "drive_tx", "bdf", "mps_cap", "drive_mps_cap", "bar_bytes", "bar64", "crs_ns",
            "link_up",
        )),
        ("model", _Model), ("lib", _Lib),
    ]  # fmt: skip


class _Cmd(ctypes.Structure):
    _fields_ = [("lba", c_uint64), ("blocks", c_uint32), ("tag", c_uint16), ("op", c_uint16)]


class _Status(ctypes.Structure):
    _fields_ = [("cycle", c_uint64), ("latency", c_uint32), ("tag", c_uint16), ("status", c_uint16)]


class _End(ctypes.Structure):
    _fields_ = [("cycle", c_uint64), ("bytes", c_uint64), ("error", c_uint32), ("pad", c_uint32)]


class _Fwd(ctypes.Structure):
    _fields_ = [("cycle", c_uint64), ("be", c_uint64), ("addr", c_uint32), ("bytes", c_uint32), ("data", c_uint8 * 64)]


class _Ext(ctypes.Structure):
    _fields_ = [("id", c_uint64), ("addr", c_uint64), ("kind", c_uint32), ("len", c_uint32), ("target", c_uint32),
                ("pad", c_uint32), ("data", c_uint8 * 1024)]  # fmt: skip


_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "open": (c_void_p, [POINTER(_HostConfig), POINTER(_Port), c_uint32, c_char_p, c_uint32]),
    "close": (None, [c_void_p]),
    "reset": (None, [c_void_p, c_int]),
    "data_w": (c_uint32, []),
    "ports": (c_uint32, []),
    "cycle": (c_uint64, [c_void_p]),
    "run": (c_int, [c_void_p, c_uint64, c_uint32]),
    "signal": (c_uint64, [c_void_p, c_uint32, c_uint32]),
    "cmds": (c_int, [c_void_p, POINTER(_Cmd), c_uint32]),
    "wdata": (None, [c_void_p, c_void_p, c_uint64, c_uint32]),
    "rdata": (None, [c_void_p, c_void_p, c_uint64]),
    "status": (c_int, [c_void_p, POINTER(_Status), c_int]),
    "rdata_ends": (c_int, [c_void_p, POINTER(_End), c_int]),
    "forwarded": (c_int, [c_void_p, POINTER(_Fwd), c_int]),
    "forward_stall": (None, [c_void_p, c_int]),
    "axil": (c_int, [c_void_p, c_int, c_uint32, c_uint32]),
    "axil_poll": (c_int, [c_void_p, POINTER(c_uint32)]),
    "admin": (c_int, [c_void_p, c_char_p]),
    "admin_poll": (c_int, [c_void_p, c_void_p]),
    "reg": (c_int, [c_void_p, c_int, c_uint32, c_uint32]),
    "reg_poll": (c_int, [c_void_p, POINTER(c_uint32)]),
    "link": (None, [c_void_p, c_uint32, c_int]),
    "drive_reset": (None, [c_void_p, c_uint32]),
    "fault": (c_uint32, [c_void_p] + [c_uint32] * 2 + [c_int32] * 2 + [c_uint64] * 2 + [c_uint32] * 2 + [c_uint64]),
    "fault_hits": (c_uint64, [c_void_p, c_uint32, c_uint32]),
    "fault_clear": (None, [c_void_p, c_uint32]),
    "hang": (None, [c_void_p, c_uint32]),
    "media": (c_void_p, [c_void_p, c_uint32]),
    "media_sync": (c_int, [c_void_p, c_uint32]),
    "ext_next": (c_int, [c_void_p, c_uint32, POINTER(_Ext)]),
    "ext_answer": (c_int, [c_void_p, c_uint32, c_uint64, c_uint32, c_char_p]),
    "ext_read": (c_int, [c_void_p, c_uint32, c_uint64, c_uint32]),
    "ext_poll": (c_int, [c_void_p, c_uint32, c_int, c_void_p]),
    "ext_write": (None, [c_void_p, c_uint32, c_uint64, c_char_p, c_uint32]),
    "ext_sizes": (None, [c_void_p, c_uint32, c_uint32, c_uint32]),
    "counters": (c_int, [c_void_p, c_uint32, POINTER(c_uint64), c_int]),
    "counter_name": (c_char_p, [c_int]),
    "coverage": (c_int, [c_void_p, c_char_p]),
    "trace": (c_int, [c_void_p, c_char_p]),
    "link_rate": (None, [c_void_p, c_uint32, POINTER(c_uint64), POINTER(c_uint64)]),
}


class _Library:
    """The C functions of one shared library."""

    loaded: dict[str, _Library] = {}

    def __init__(self, path: str, more: dict[str, tuple[Any, list[Any]]]) -> None:
        lib = ctypes.CDLL(path)
        for name, (result, arguments) in (_SIGNATURES | more).items():
            function = getattr(lib, f"db_host_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.names: list[str] = []
        while name := lib.db_host_counter_name(len(self.names)):
            self.names.append(name.decode())


def ports_of(lib_path: str | os.PathLike[str]) -> int:
    """How many root ports, so drives, a built top has."""
    return ctypes.CDLL(str(Path(lib_path).resolve())).db_host_ports()


def _size_code(size: int, most: int) -> int:
    if size & (size - 1) or not 128 <= size <= most:
        raise ValueError(f"MPS of {size}: a power of two from 128 to {most}")
    return size.bit_length() - 8


def _ns(us: float | None) -> int:
    return NEVER if us is None else round(us * 1000)


class HostSim:
    """One simulated host and its drives, one for each root port.

    write_gbps, read_gbps: pace of the user's streams (0: a beat a cycle), user_stall_pct: random pauses in them;
    stall_pct: random pauses in the hard block's. cpl_timeout_us: of the host's own requests. idle_skip: jump over time
    in which nothing happens; only for a top that has no timers of its own (those of db_host would stand still).
    window, bar: where a drive sees host memory and has its BAR; with several ports each so many bytes (_step) further.
    """

    WINDOW = 0x10_0000_0000
    WINDOW_BYTES = 64 << 20
    BAR = 0xC000_0000
    signatures: dict[str, tuple[Any, list[Any]]] = {}
    """Functions of its top's library beside those of all."""

    def __init__(
        self,
        lib_path: str | os.PathLike[str],
        drives: Sequence[PortOptions] | None = None,
        *,
        clock_mhz: float = 250.0,
        seed: int = 1,
        stall_pct: int = 0,
        user_stall_pct: int = 0,
        write_gbps: float = 0,
        read_gbps: float = 0,
        cpl_timeout_us: float = 50,
        idle_skip: bool = False,
        window: int = WINDOW,
        bar: int = BAR,
        window_step: int = 0,
        bar_step: int = 0,
    ) -> None:
        self._handle: int | None = None
        path = str(Path(lib_path).resolve())
        self._lib: Any = _Library.loaded.get(path) or _Library.loaded.setdefault(
            path, _Library(path, self.signatures))  # fmt: skip
        self.ports: int = self._lib.ports()
        self.drives = list(drives) if drives is not None else [ModelDrive() for _ in range(self.ports)]
        khz = round(clock_mhz * 1000)
        rates = (round(gbps * 1e9 / khz) for gbps in (write_gbps, read_gbps))  # bytes in 1000 cycles
        config = _HostConfig(ABI, khz, seed, stall_pct, idle_skip, round(cpl_timeout_us * 1000), *rates, user_stall_pct,
                             0, window, bar, window_step, bar_step)  # fmt: skip
        ports = (_Port * len(self.drives))(*(self._port(d, khz) for d in self.drives))
        why = ctypes.create_string_buffer(256)
        self._handle = self._lib.open(byref(config), ports, len(self.drives), why, len(why))
        if not self._handle:
            raise SimError(why.value.decode(errors="replace"))
        self.clock_mhz = khz / 1000
        self.data_w: int = self._lib.data_w()
        self.window, self.bar, self.seed = window, bar, seed
        self._keep: list[Any] = []
        self._read_buffer: Any = None
        self._statuses: list[Status] = []
        self._message = _Ext()

    def _port(self, drive: PortOptions, khz: int) -> _Port:
        gen, lanes = parse_link(drive.link)
        port = _Port(
            gen=gen, lanes=lanes, link_latency_ns=drive.link_latency_ns, ack_every=drive.ack_every,
            fc_every=drive.fc_every, tx_tlps=drive.tx_tlps, tx_bytes=drive.tx_bytes, cq_tlps=drive.cq_tlps,
            cq_bytes=drive.cq_bytes, np_credits=drive.np_credits, drive_tx=drive.drive_tx, bdf=0x0100,
            mps_cap=_size_code(drive.mps_cap, 1024),
            drive_mps_cap=_size_code(drive.drive_mps_cap, 4096), bar_bytes=drive.bar_bytes, bar64=drive.bar64,
            crs_ns=_ns(drive.crs_us), link_up=drive.link_up,
        )  # fmt: skip
        if isinstance(drive, ModelDrive):
            port.drive = 0
            port.model = self._model(drive)
        elif isinstance(drive, SsdDrive):
            if drive.sim is None:
                raise ValueError("an SsdDrive needs a Sim: use ssd_drive()")
            if round(drive.sim.clock_mhz * 1000) != khz:
                raise ValueError("host and drive must have the same clock")
            port.drive = 1
            pointers = (ctypes.cast(getattr(drive.sim._lib, n), c_void_p) for n in _LIB_FUNCTIONS)
            port.lib = _Lib(drive.sim._h, *pointers)
        else:
            port.drive = 2
        return port

    @staticmethod
    def _model(d: ModelDrive) -> _Model:
        size = 0 if d.image and os.path.exists(d.image) and os.path.getsize(d.image) else d.size
        return _Model(
            max_reads=d.max_reads, fetch_entries=d.fetch_entries, fetches=d.fetches, max_cmds=d.max_cmds,
            list_bytes=d.list_bytes, lba_shift=d.lba_bytes.bit_length() - 1, mdts=d.mdts, mqes=d.mqes, dstrd=d.dstrd,
            queues=d.queues, timeout_500ms=min(255, -(-d.timeout_ms // 500)), mpsmin=d.mpsmin, css=d.css, oncs=d.oncs,
            vwc=d.vwc, ready_ns=_ns(d.ready_us), unready_ns=_ns(d.unready_us), abort_ok=d.abort_ok,
            read_mbps=round(d.read_gbps * 1000), write_mbps=round(d.write_gbps * 1000),
            slow_mbps=round(d.slow_gbps * 1000), stall_ns=_ns(d.stall_us), stall_ppm=round(d.stall_chance * 1e6),
            stall_every=d.stall_every, slc_bytes=d.slc_bytes, write_buffer=d.write_buffer, bytes=size,
            latency=(_Latency * len(LATENCIES))(*(getattr(d, n)._c() for n in LATENCIES)),
            image=os.fsencode(d.image) if d.image else None,
        )  # fmt: skip

    @property
    def _h(self) -> int:
        if self._handle is None:
            raise SimError("this simulation is closed")
        return self._handle

    @property
    def closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        """End the simulation and those of its drives; image files are written out."""
        if self._handle is None:
            return
        if os.environ.get("DOORBELL_COVERAGE") == "1":
            folder = Path(__file__).resolve().parents[3] / "build" / "coverage"
            folder.mkdir(parents=True, exist_ok=True)
            self._lib.coverage(self._h, os.fsencode(folder / f"{os.getpid()}-host-{next(_serial)}.dat"))
        self._lib.close(self._handle)
        self._handle = None
        for drive in self.drives:
            if isinstance(drive, SsdDrive) and drive.sim is not None:
                drive.sim.close()
        self._keep.clear()
        self._read_buffer = None

    def __enter__(self) -> HostSim:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

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
        mask = sum(bit for bit, name in _STOPS.items() if name in stop)
        bits = self._lib.run(self._h, int(cycles), mask)
        return next((name for bit, name in _STOPS.items() if bits & bit), ALL)

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
        return self._lib.signal(self._h, port, _SIGNALS.index(name))

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

    def submit(self, commands: Iterable[Command]) -> None:
        """Queue block commands."""
        listed = [_Cmd(c.lba, c.blocks, c.tag, OPS.index(c.op)) for c in commands]
        self._lib.cmds(self._h, (_Cmd * len(listed))(*listed), len(listed))

    def write_data(self, data: Any, times: int = 1) -> None:
        """Queue write data, a whole number of rows (DATA_W / 8 bytes), to be given `times` times."""
        size = memoryview(data).nbytes
        if not size or size % (self.data_w // 8) or times < 1:
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

    def statuses(self) -> list[Status]:
        """Ends of commands since the last call, in the order in which they came."""
        out, self._statuses = self._statuses, []
        buffer = (_Status * 1024)()
        while n := self._lib.status(self._h, buffer, len(buffer)):
            out += [Status(s.cycle, s.tag, s.status, s.latency) for s in buffer[:n]]
        return out

    def wait_status(self, count: int = 1, cycles: int = 10_000_000) -> list[Status]:
        """Run until `count` commands have ended; raises SimError after `cycles`."""
        out: list[Status] = []
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
        buffer = (_End * 256)()
        while n := self._lib.rdata_ends(self._h, buffer, len(buffer)):
            out += [DataEnd(e.cycle, e.bytes, bool(e.error)) for e in buffer[:n]]
        return out

    def forwarded(self) -> list[Forwarded]:
        """Rows of m_fwd since the last call."""
        out: list[Forwarded] = []
        buffer = (_Fwd * 64)()
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

    def link(self, up: bool, port: int = 0) -> None:
        """Take the drive's link away (surprise removal) or bring it back; the drive is reset by either."""
        self._lib.link(self._h, port, up)

    def drive_reset(self, port: int = 0) -> None:
        """Reset the drive alone, as by its power."""
        self._lib.drive_reset(self._h, port)

    def fault(
        self, kind: str, *, opcode: int | None = None, admin: bool | None = False, lba: int = 0, blocks: int = 0,
        skip: int = 0, count: int | None = 1, status: int = 0x281, delay_us: float = 0, port: int = 0,
    ) -> int:  # fmt: skip
        """Of the commands of a model drive that match (opcode, admin or I/O, touching the blocks; blocks 0: any), the
        first `skip` pass and the next `count` (None: all) meet a fault.

        kind: "status" (fails with `status`, SCT << 8 | SC), "lost" (never completes), "late" (delay_us), "hang"
        (the controller fails, CSTS.CFS), "drop_link", "damage" (the last data write, else the completion entry, is
        wrong and marked as discontinued), "vanish" (the drive is gone, registers read all ones, until its link has
        gone down), "double" (two completion entries, the second delay_us later), "phase" (one with the wrong phase
        first).
        """
        arg = status if kind == "status" else self.cycles(delay_us) if kind in ("late", "double") else 0
        which = self._lib.fault(self._h, port, _FAULTS[kind], -1 if opcode is None else opcode,
                                -1 if admin is None else admin, lba, blocks, skip, NEVER if count is None else count,
                                arg)  # fmt: skip
        if which == NEVER:
            raise SimError("only a model drive has faults")
        return which

    def fault_hits(self, fault: int, port: int = 0) -> int:
        """How many commands a fault has met."""
        return self._lib.fault_hits(self._h, port, fault)

    def fault_clear(self, port: int = 0) -> None:
        """Take all faults back."""
        self._lib.fault_clear(self._h, port)

    def hang(self, port: int = 0) -> None:
        """The controller fails now: CSTS.CFS, and no answer to any command until it is reset."""
        self._lib.hang(self._h, port)

    def media_view(self, off: int = 0, size: int | None = None, port: int = 0) -> memoryview:
        """The data of a drive, without a copy (not of an external one). Valid until `close`."""
        drive = self.drives[port]
        if isinstance(drive, SsdDrive) and drive.sim is not None:
            return drive.sim.media_view(off, size)
        if not isinstance(drive, ModelDrive):
            raise SimError("an external drive keeps its data itself")
        whole = (os.path.getsize(drive.image) if drive.image else drive.size) & ~4095
        size = whole - off if size is None else size
        if off < 0 or size < 0 or off + size > whole:
            raise ValueError("outside of the drive")
        return memoryview((c_uint8 * size).from_address(self._lib.media(self._h, port) + off)).cast("B")

    def media_read(self, off: int, n: int, port: int = 0) -> bytes:
        return bytes(self.media_view(off, n, port))

    def media_write(self, off: int, data: bytes, port: int = 0) -> None:
        self.media_view(off, len(data), port)[:] = data

    def flush(self, port: int = 0) -> None:
        """Write an image file out to its disk."""
        if self._lib.media_sync(self._h, port):
            raise SimError("the image could not be written out")

    # -------------------------------------------------------------------------------------- the caller as the drive

    def messages(self, port: int = 0) -> list[DriveMessage]:
        """What the host has asked of an external drive since the last call."""
        out = []
        while self._lib.ext_next(self._h, port, byref(self._message)):
            m = self._message
            kind = _MESSAGES[m.kind]
            data = ctypes.string_at(m.data, m.len) if kind in ("write", "cfg_write") else b""
            out.append(DriveMessage(m.id, kind, m.addr, m.len, m.target, data))
        return out

    def answer(self, id: int, data: bytes | None = b"", status: int = 0, port: int = 0) -> None:
        """End a read or configuration request (data None: refused). Nothing happens if it is gone."""
        raw = None if not data else data.ljust(4096, b"\0")
        self._lib.ext_answer(self._h, port, id, status or int(data is None), raw)

    def host_read(self, addr: int, size: int, port: int = 0) -> int:
        """The external drive starts a read of the window; returns a handle for `host_read_poll`."""
        return self._lib.ext_read(self._h, port, addr, size)

    def host_read_poll(self, handle: int, size: int, port: int = 0) -> bytes | None:
        """The data, or None while it is not there; raises SimError if it was refused."""
        data = ctypes.create_string_buffer(size)
        got = self._lib.ext_poll(self._h, port, handle, data)
        if got == -2:
            raise SimError("read of the window: refused")
        return None if got < 0 else data.raw[:got]

    def host_write(self, addr: int, data: bytes, port: int = 0) -> None:
        """The external drive writes to the window; posted."""
        self._lib.ext_write(self._h, port, addr, data, len(data))

    def sizes(self, mps: int, mrrs: int, port: int = 0) -> None:
        """What the host has set in the external drive's Device Control: its requests are cut accordingly."""
        self._lib.ext_sizes(self._h, port, mps, mrrs)

    # --------------------------------------------------------------------------------------------------------- figures

    def counters(self, port: int = 0) -> dict[str, int]:
        """All counters by name (of one port where a port has its own); those that begin with "error." must be 0.

        Of an SsdDrive link and drive counters are its Sim's, with its names.
        """
        names = self._lib.names
        values = (c_uint64 * len(names))()
        self._lib.counters(self._h, port, values, len(names))
        return dict(zip(names, values))

    def errors(self) -> dict[str, int]:
        """Broken rules of PCIe, NVMe doorbells or the runtime, where there are any; those of all ports together."""
        out: dict[str, int] = {}
        for port, drive in enumerate(self.drives):
            counted = [self.counters(port)]
            if isinstance(drive, SsdDrive) and drive.sim is not None:
                counted.append(drive.sim.counters())
            for counters in counted:
                for name, value in counters.items():
                    if name.startswith("error.") and value:
                        out[name] = out.get(name, 0) + value
        return out

    def link_bytes_per_cycle(self, port: int = 0) -> float:
        """What the wire carries in one direction in one cycle, all overhead included."""
        drive = self.drives[port]
        if isinstance(drive, SsdDrive) and drive.sim is not None:
            return drive.sim.link_bytes_per_cycle
        cycle, byte = c_uint64(), c_uint64()
        self._lib.link_rate(self._h, port, byref(cycle), byref(byte))
        return cycle.value / byte.value

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a VCD file from now on (half cycles as its time); only in a library built with trace=True."""
        if self._lib.trace(self._h, os.fsencode(path)):
            raise SimError("no trace: the library was not built with it, or the file cannot be written")
