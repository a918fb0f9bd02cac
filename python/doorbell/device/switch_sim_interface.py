# SPDX-License-Identifier: Apache-2.0
"""The C interface of a device's SSDs as ctypes; all of it is read from sim/interface/db_switch_sim.h."""

from __future__ import annotations

import ctypes

from doorbell.device.c_header import c_header
from doorbell.device.sim_interface import Library, bind

_HEADER = c_header("db_switch_sim.h")

ABI = _HEADER.constants["DB_SWITCH_ABI"]
OPTIONS = _HEADER.options("db_switch_config")
"""Options of a SwitchSim, beside those of a Sim."""
SIGNALS = _HEADER.names("db_switch_signal")
SwitchConfig = _HEADER.structures["db_switch_config"]
SIGNATURES = _HEADER.signatures("db_switch_")


class SwitchLibrary(Library):
    """The C functions of one shared library: the device's, and as `ssds` those of its SSDs."""

    class Ssds:
        names: list[str]

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.ssds = self.Ssds()
        self.ssds.names = bind(self.ssds, ctypes.CDLL(path), "db_switch_", SIGNATURES)
