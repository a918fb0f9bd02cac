# SPDX-License-Identifier: Apache-2.0
"""The C interface of the device runtime, sim/db_sim.h, as ctypes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int64, c_uint8, c_uint32, c_uint64, c_void_p
from typing import Any

ABI = 3
EVENTS = ("doorbell", "fetch", "decode", "data", "cqe", "irq", "rq_read", "rq_write", "rq_last", "rc", "rc_last", "cq",
          "ar", "r", "r_last", "aw", "w", "w_last", "b")  # as DB_EV_* in sim/db_sim.h


class Config(ctypes.Structure):
    _fields_ = [
        *((n, c_uint32) for n in (
            "abi", "gen", "lanes", "mps", "mrrs", "rcb", "clock_khz", "link_latency_ns", "ack_every", "fc_every",
            "tx_tlps", "tx_bytes", "np_queue", "ph", "pd", "nph", "credit_ns", "max_reads", "cpld_bytes",
            "host_latency_ns", "jitter_ns", "cpl_bytes", "cpl_timeout_ns", "mmio_timeout_ns", "stall_pct", "cq_tlps",
            "seed", "media_read_ns", "media_write_ns", "media_mbps", "media_channels", "media_interleave", "idle_skip",
        )),
        *((n, c_uint64) for n in ("media_bytes", "msi_base", "msi_bytes", "bar0")),
        ("image", c_char_p),
    ]  # fmt: skip


class IrqRecord(ctypes.Structure):
    _fields_ = [("addr", c_uint64), ("cycle", c_uint64), ("data", c_uint32), ("pad", c_uint32)]


class MessageRecord(ctypes.Structure):
    _fields_ = [("id", c_uint64), ("addr", c_uint64), ("len", c_uint32), ("write", c_uint32), ("data", c_uint8 * 4096)]


class EventRecord(ctypes.Structure):
    _fields_ = [("cycle", c_uint64), ("b", c_uint64), ("kind", c_uint32), ("a", c_uint32)]


class WatchRecord(ctypes.Structure):
    _fields_ = [("addr", c_uint64), ("mask", c_uint32), ("value", c_uint32)]


SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "open": (c_void_p, [POINTER(Config), c_char_p, c_uint32]),
    "close": (None, [c_void_p]),
    "reset": (None, [c_void_p]),
    "data_w": (c_uint32, []),
    "cycle": (c_uint64, [c_void_p]),
    "time_us": (c_uint64, [c_void_p]),
    "set_time_us": (None, [c_void_p, c_uint64]),
    "wake_us": (c_uint64, [c_void_p]),
    "intx": (c_int, [c_void_p]),
    "idle": (c_int, [c_void_p]),
    "run": (c_int, [c_void_p, c_uint64, c_uint32]),
    "map": (c_int, [c_void_p, c_uint64, c_uint64, c_void_p, c_int]),
    "unmap": (c_int, [c_void_p, c_uint64, c_uint64]),
    "set_watches": (None, [c_void_p, POINTER(WatchRecord), c_uint32]),
    "mmio_write": (c_int, [c_void_p, c_uint32, c_char_p, c_uint32]),
    "mmio_read": (c_int, [c_void_p, c_uint32, c_uint32]),
    "mmio_poll": (c_int, [c_void_p, c_int, c_void_p]),
    "doorbell_page": (None, [c_void_p, c_void_p]),
    "doorbell_reset": (None, [c_void_p]),
    "irqs": (c_int, [c_void_p, POINTER(IrqRecord), c_int]),
    "irq_eventfd": (None, [c_void_p, c_uint32, c_int]),
    "dma_next": (c_int, [c_void_p, POINTER(MessageRecord)]),
    "dma_complete": (c_int, [c_void_p, c_uint64, c_char_p, c_uint32]),
    "inject": (c_uint32, [c_void_p, c_uint32, c_uint64, c_uint64, c_int64, c_uint32]),
    "injected": (c_uint64, [c_void_p, c_uint32]),
    "inject_clear": (None, [c_void_p]),
    "set_cfg": (None, [c_void_p] + [c_int] * 6),
    "get_cfg": (None, [c_void_p, POINTER(c_int)]),
    "flr": (c_int, [c_void_p, c_uint64]),
    "media": (c_void_p, [c_void_p]),
    "media_error": (c_int, [c_void_p, c_uint64, c_uint64, c_int64]),
    "media_error_clear": (None, [c_void_p]),
    "media_sync": (c_int, [c_void_p]),
    "counters": (c_int, [c_void_p, POINTER(c_uint64), c_int]),
    "counter_name": (c_char_p, [c_int]),
    "link_rate": (None, [c_void_p, POINTER(c_uint64), POINTER(c_uint64)]),
    "events_open": (None, [c_void_p, c_uint32, c_uint32]),
    "events": (c_int, [c_void_p, POINTER(EventRecord), c_int]),
    "events_lost": (c_uint64, [c_void_p]),
    "stalls": (c_int, [c_void_p, POINTER(c_uint32), c_int]),
    "coverage": (c_int, [c_void_p, c_char_p]),
    "trace": (c_int, [c_void_p, c_char_p]),
}


class Library:
    """The C functions of one shared library."""

    loaded: dict[str, Library] = {}

    def __init__(self, path: str) -> None:
        lib = ctypes.CDLL(path)
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(lib, f"db_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.names: list[str] = []
        while name := lib.db_counter_name(len(self.names)):
            self.names.append(name.decode())
