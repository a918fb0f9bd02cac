# SPDX-License-Identifier: Apache-2.0
"""What may stand behind a root port of a simulated host: a model of a drive, a db_ssd, or the caller."""

from __future__ import annotations

import ctypes
import os
from ctypes import c_void_p
from dataclasses import dataclass, field, make_dataclass
from typing import Any

from doorbell.device.c_header import converted, described
from doorbell.device.host_sim_interface import (
    DRAWS,
    DRIVES,
    LATENCIES,
    LATENCY_OPTIONS,
    LIBRARY_FUNCTIONS,
    MODEL_OPTIONS,
    OPTIONS,
    PORT_OPTIONS,
    LatencyRecord,
    LibraryRecord,
    ModelRecord,
    PortRecord,
)
from doorbell.device.limits import Link
from doorbell.device.sim import Sim

WINDOW: int = OPTIONS["window"].default
WINDOW_BYTES = 64 << 20
BAR: int = OPTIONS["bar"].default
"""Where a drive sees host memory, and has its BAR, unless the host says otherwise."""
BDF = 0x0100  # bus, device, function of a drive


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
            return LatencyRecord(DRAWS["lognormal"], self.ns, round(self.sigma * 1000))
        return LatencyRecord(DRAWS["uniform" if self.to_ns else "fixed"], self.ns, self.to_ns)


_port_fields = [(o.name, Any, o.default) for o in PORT_OPTIONS.values()]


class PortOptions(make_dataclass("PortFields", _port_fields)):  # type: ignore[misc]
    """What drives have in common: the link, the hard block's buffers, the configuration space."""


def _model_fields() -> list[tuple[str, Any, Any]]:
    plain = [(o.name, Any, o.default) for o in MODEL_OPTIONS.values()]
    return plain + [(o.name, Any, field(default_factory=lambda ns=o.default: Latency(ns)))
                    for o in LATENCY_OPTIONS.values()]  # fmt: skip


class ModelDrive(make_dataclass("ModelFields", _model_fields(), bases=(PortOptions,))):  # type: ignore[misc]
    """A behavioural SSD. Rates in GB/s, 0: no limit. Each latency is a Latency, by itself so many ns."""


PortOptions.__doc__ = f"{PortOptions.__doc__}\n\n{described(PORT_OPTIONS)}\n"
ModelDrive.__doc__ = f"{ModelDrive.__doc__}\n\n{described(MODEL_OPTIONS)}\n{described(LATENCY_OPTIONS)}\n"


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
    sim = Sim(lib_path, settings=True, **options)
    base, size = window or (WINDOW, WINDOW_BYTES)
    sim.map(base, size, None)
    names = ("link_latency_ns", "ack_every", "fc_every")
    return SsdDrive(sim=sim, link=options["link"], **{n: options[n] for n in names if n in options}, **mine)


def port_record(drive: PortOptions, khz: int) -> Any:
    """A drive as the C interface has it; `khz` is the clock of the host."""
    link = Link.parse(drive.link)
    values = {**converted(PORT_OPTIONS, vars(drive)), "gen": link.gen, "lanes": link.lanes, "bdf": BDF}
    port = PortRecord(**values)
    if isinstance(drive, ModelDrive):
        port.drive = DRIVES["model"]
        port.model = model_record(drive)
    elif isinstance(drive, SsdDrive):
        if drive.sim is None:
            raise ValueError("an SsdDrive needs a Sim: use ssd_drive()")
        if round(drive.sim.clock_mhz * 1000) != khz:
            raise ValueError("host and drive must have the same clock")
        port.drive = DRIVES["lib"]
        pointers = (ctypes.cast(getattr(drive.sim._lib, n), c_void_p) for n in LIBRARY_FUNCTIONS)
        port.lib = LibraryRecord(drive.sim._h, *pointers)
    else:
        port.drive = DRIVES["external"]
    return port


def model_record(d: ModelDrive) -> Any:
    """The model's own part of it."""
    there = d.image and os.path.exists(d.image) and os.path.getsize(d.image)
    special = {
        "size": 0 if there else d.size, "image": os.fsencode(d.image) if d.image else None,
        "latency": (LatencyRecord * len(LATENCIES))(*(getattr(d, n).record() for n in LATENCIES)),
    }  # fmt: skip
    return ModelRecord(**{**converted(MODEL_OPTIONS, vars(d)), **special})
