# SPDX-License-Identifier: Apache-2.0
"""The C interface of the host runtime, sim/db_host_sim.h, as ctypes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_int32, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

ABI = 3
NEVER = 0xFFFF_FFFF
LATENCIES = ("read", "write", "flush", "other", "admin")  # DB_LAT_* of sim/db_host_sim.h


class HostConfig(ctypes.Structure):
    _fields_ = [
        *((n, c_uint32) for n in (
            "abi", "clock_khz", "seed", "stall_pct", "idle_skip", "cpl_timeout_ns", "write_rate", "read_rate",
            "user_stall_pct", "pad",
        )),
        *((n, c_uint64) for n in ("window_base", "bar_base", "window_step", "bar_step")),
    ]  # fmt: skip


class LatencyRecord(ctypes.Structure):
    _fields_ = [("kind", c_uint32), ("a", c_uint32), ("b", c_uint32)]


class ModelRecord(ctypes.Structure):
    _fields_ = [
        *((n, c_uint32) for n in (
            "max_reads", "fetch_entries", "fetches", "max_cmds", "list_bytes", "lba_shift", "mdts", "mqes", "dstrd",
            "queues", "timeout_500ms", "mpsmin", "css", "oncs", "vwc", "ready_ns", "unready_ns", "abort_ok",
            "read_mbps", "write_mbps", "slow_mbps", "stall_ns", "stall_ppm",
        )),
        *((n, c_uint64) for n in ("stall_every", "slc_bytes", "write_buffer", "bytes")),
        ("latency", LatencyRecord * len(LATENCIES)), ("image", c_char_p),
    ]  # fmt: skip


LIBRARY_FUNCTIONS = ("run", "mmio_write", "mmio_read", "mmio_poll", "dma_next", "dma_complete", "set_cfg", "idle",
                     "reset")


class LibraryRecord(ctypes.Structure):
    _fields_ = [("sim", c_void_p), *((n, c_void_p) for n in LIBRARY_FUNCTIONS)]


class PortRecord(ctypes.Structure):
    _fields_ = [
        *((n, c_uint32) for n in (
            "drive", "gen", "lanes", "link_latency_ns", "ack_every", "fc_every", "tx_tlps", "tx_bytes", "cq_tlps",
            "cq_bytes", "np_credits", "drive_tx", "bdf", "mps_cap", "drive_mps_cap", "bar_bytes", "bar64", "crs_ns",
            "link_up",
        )),
        ("model", ModelRecord), ("lib", LibraryRecord),
    ]  # fmt: skip


class CommandRecord(ctypes.Structure):
    _fields_ = [("lba", c_uint64), ("blocks", c_uint32), ("tag", c_uint16), ("op", c_uint16)]


class StatusRecord(ctypes.Structure):
    _fields_ = [("cycle", c_uint64), ("latency", c_uint32), ("tag", c_uint16), ("status", c_uint16)]


class EndRecord(ctypes.Structure):
    _fields_ = [("cycle", c_uint64), ("bytes", c_uint64), ("error", c_uint32), ("pad", c_uint32)]


class ForwardRecord(ctypes.Structure):
    _fields_ = [("cycle", c_uint64), ("be", c_uint64), ("addr", c_uint32), ("bytes", c_uint32), ("data", c_uint8 * 64)]


class MessageRecord(ctypes.Structure):
    _fields_ = [("id", c_uint64), ("addr", c_uint64), ("kind", c_uint32), ("len", c_uint32), ("target", c_uint32),
                ("pad", c_uint32), ("data", c_uint8 * 1024)]  # fmt: skip


SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "open": (c_void_p, [POINTER(HostConfig), POINTER(PortRecord), c_uint32, c_char_p, c_uint32]),
    "close": (None, [c_void_p]),
    "reset": (None, [c_void_p, c_int]),
    "data_w": (c_uint32, []),
    "ports": (c_uint32, []),
    "cycle": (c_uint64, [c_void_p]),
    "run": (c_int, [c_void_p, c_uint64, c_uint32]),
    "signal": (c_uint64, [c_void_p, c_uint32, c_uint32]),
    "cmds": (c_int, [c_void_p, POINTER(CommandRecord), c_uint32]),
    "wdata": (None, [c_void_p, c_void_p, c_uint64, c_uint32]),
    "rdata": (None, [c_void_p, c_void_p, c_uint64]),
    "status": (c_int, [c_void_p, POINTER(StatusRecord), c_int]),
    "rdata_ends": (c_int, [c_void_p, POINTER(EndRecord), c_int]),
    "forwarded": (c_int, [c_void_p, POINTER(ForwardRecord), c_int]),
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
    "ext_next": (c_int, [c_void_p, c_uint32, POINTER(MessageRecord)]),
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


class Library:
    """The C functions of one shared library."""

    loaded: dict[str, Library] = {}

    def __init__(self, path: str, more: dict[str, tuple[Any, list[Any]]]) -> None:
        lib = ctypes.CDLL(path)
        for name, (result, arguments) in (SIGNATURES | more).items():
            function = getattr(lib, f"db_host_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.names: list[str] = []
        while name := lib.db_host_counter_name(len(self.names)):
            self.names.append(name.decode())
