# SPDX-License-Identifier: Apache-2.0
"""What may stand behind a root port of a simulated host: a model of a drive, a db_ssd, or the caller."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_void_p
from dataclasses import dataclass, field
from typing import Any

from doorbell.device.host_sim_interface import (
    LATENCIES,
    LIBRARY_FUNCTIONS,
    NEVER,
    LatencyRecord,
    LibraryRecord,
    ModelRecord,
    PortRecord,
)
from doorbell.device.limits import Link
from doorbell.device.sim import Sim

WINDOW = 0x10_0000_0000
WINDOW_BYTES = 64 << 20
BAR = 0xC000_0000
"""Where a drive sees host memory, and has its BAR, unless the host says otherwise."""


@dataclass(frozen=True)
class Latency:
    """ns, fixed; or uniform from ns to `to_ns`; or about lognormal: median ns, `sigma` the factor at one sigma."""

    ns: int
    to_ns: int = 0
    sigma: float = 0.0

    def record(self) -> LatencyRecord:
        if self.sigma and not 1 <= self.sigma <= 16:
            raise ValueError("sigma: a factor from 1 to 16")
        if self.sigma:
            return LatencyRecord(2, self.ns, round(self.sigma * 1000))
        return LatencyRecord(1, self.ns, self.to_ns) if self.to_ns else LatencyRecord(0, self.ns, 0)


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
    base, size = window or (WINDOW, WINDOW_BYTES)
    sim.map(base, size, None)
    names = ("link_latency_ns", "ack_every", "fc_every")
    return SsdDrive(sim=sim, link=options["link"], **{n: options[n] for n in names if n in options}, **mine)


def _size_code(size: int, most: int) -> int:
    if size & (size - 1) or not 128 <= size <= most:
        raise ValueError(f"MPS of {size}: a power of two from 128 to {most}")
    return size.bit_length() - 8


def _ns(us: float | None) -> int:
    return NEVER if us is None else round(us * 1000)


def port_record(drive: PortOptions, khz: int) -> PortRecord:
    """A drive as the C interface has it; `khz` is the clock of the host."""
    link = Link.parse(drive.link)
    port = PortRecord(
        gen=link.gen, lanes=link.lanes, link_latency_ns=drive.link_latency_ns, ack_every=drive.ack_every,
        fc_every=drive.fc_every, tx_tlps=drive.tx_tlps, tx_bytes=drive.tx_bytes, cq_tlps=drive.cq_tlps,
        cq_bytes=drive.cq_bytes, np_credits=drive.np_credits, drive_tx=drive.drive_tx, bdf=0x0100,
        mps_cap=_size_code(drive.mps_cap, 1024),
        drive_mps_cap=_size_code(drive.drive_mps_cap, 4096), bar_bytes=drive.bar_bytes, bar64=drive.bar64,
        crs_ns=_ns(drive.crs_us), link_up=drive.link_up,
    )  # fmt: skip
    if isinstance(drive, ModelDrive):
        port.drive = 0
        port.model = model_record(drive)
    elif isinstance(drive, SsdDrive):
        if drive.sim is None:
            raise ValueError("an SsdDrive needs a Sim: use ssd_drive()")
        if round(drive.sim.clock_mhz * 1000) != khz:
            raise ValueError("host and drive must have the same clock")
        port.drive = 1
        pointers = (ctypes.cast(getattr(drive.sim._lib, n), c_void_p) for n in LIBRARY_FUNCTIONS)
        port.lib = LibraryRecord(drive.sim._h, *pointers)
    else:
        port.drive = 2
    return port


def model_record(d: ModelDrive) -> ModelRecord:
    """The model's own part of it."""
    size = 0 if d.image and os.path.exists(d.image) and os.path.getsize(d.image) else d.size
    return ModelRecord(
        max_reads=d.max_reads, fetch_entries=d.fetch_entries, fetches=d.fetches, max_cmds=d.max_cmds,
        list_bytes=d.list_bytes, lba_shift=d.lba_bytes.bit_length() - 1, mdts=d.mdts, mqes=d.mqes, dstrd=d.dstrd,
        queues=d.queues, timeout_500ms=min(255, -(-d.timeout_ms // 500)), mpsmin=d.mpsmin, css=d.css, oncs=d.oncs,
        vwc=d.vwc, ready_ns=_ns(d.ready_us), unready_ns=_ns(d.unready_us), abort_ok=d.abort_ok,
        read_mbps=round(d.read_gbps * 1000), write_mbps=round(d.write_gbps * 1000),
        slow_mbps=round(d.slow_gbps * 1000), stall_ns=_ns(d.stall_us), stall_ppm=round(d.stall_chance * 1e6),
        stall_every=d.stall_every, slc_bytes=d.slc_bytes, write_buffer=d.write_buffer, bytes=size,
        latency=(LatencyRecord * len(LATENCIES))(*(getattr(d, n).record() for n in LATENCIES)),
        image=os.fsencode(d.image) if d.image else None,
    )  # fmt: skip
