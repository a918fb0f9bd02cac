# SPDX-License-Identifier: Apache-2.0
"""The C interface of the device runtime as ctypes; all of it is read from sim/interface/db_sim.h."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from doorbell.device.c_header import c_header

_HEADER = c_header("db_sim.h")

ABI = _HEADER.constants["DB_SIM_ABI"]
OPTIONS = _HEADER.options("db_config")
"""Options of a Sim."""
EVENTS = tuple(_HEADER.names("db_event_kind"))
STOPS = _HEADER.names("db_stop")
FAULTS = _HEADER.names("db_fault")
BARS = _HEADER.names("db_bar")
MMIO = _HEADER.names("db_mmio")
GRANTS = _HEADER.names("db_grant")
TLPS = tuple(_HEADER.names("db_tlp"))

Config = _HEADER.structures["db_config"]
IrqRecord = _HEADER.structures["db_irq"]
MessageRecord = _HEADER.structures["db_msg"]
EventRecord = _HEADER.structures["db_event"]
WatchRecord = _HEADER.structures["db_watch"]
StrayRecord = _HEADER.structures["db_stray"]

SIGNATURES = _HEADER.signatures("db_")


class Library:
    """The C functions of one shared library."""

    def __init__(self, path: str) -> None:
        self.names: list[str] = bind(self, ctypes.CDLL(path), "db_", SIGNATURES)


_loaded: dict[tuple[Any, str], Any] = {}


def load(kind: Callable[[str], Any], path: str | os.PathLike[str]) -> Any:
    """The functions of a shared library, those of a class like Library."""
    key = kind, str(Path(path).resolve())
    if key not in _loaded:
        _loaded[key] = kind(key[1])
    return _loaded[key]


def bind(owner: Any, lib: ctypes.CDLL, prefix: str, signatures: dict[str, tuple[Any, list[Any]]]) -> list[str]:
    """Gives `owner` the functions of a library, without their prefix; returns the names of its counters."""
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, f"{prefix}{name}")
        function.restype, function.argtypes = result, arguments
        setattr(owner, name, function)
    names: list[str] = []
    while name := owner.counter_name(len(names)):
        names.append(name.decode())
    return names
