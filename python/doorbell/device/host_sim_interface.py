# SPDX-License-Identifier: Apache-2.0
"""The C interface of the host runtime as ctypes; all of it is read from sim/interface/db_host_sim.h."""

from __future__ import annotations

import ctypes

from doorbell.device.c_header import NEVER, c_header
from doorbell.device.sim_interface import bind

__all__ = ["NEVER"]  # all ones stands for "no limit" and "none" in functions too

_HEADER = c_header("db_host_sim.h")

ABI = _HEADER.constants["DB_HOST_ABI"]
PACKET_WORDS = _HEADER.constants["DB_REC_WORDS"]
OPTIONS = _HEADER.options("db_host_config")
"""Options of a HostSim."""
PORT_OPTIONS = _HEADER.options("db_host_port")
MODEL_OPTIONS = _HEADER.options("db_model_config")
"""Options of any drive, and of a model's beside."""
LATENCY_OPTIONS = _HEADER.options("db_lat")
LATENCIES = tuple(_HEADER.names("db_lat"))
DRAWS = _HEADER.names("db_draw")
DRIVES = _HEADER.names("db_drive")
STOPS = _HEADER.names("db_host_stop")
FAULTS = _HEADER.names("db_drive_fault")
SIGNALS = _HEADER.names("db_signal")
MESSAGES = tuple(_HEADER.names("db_ext"))

HostConfig = _HEADER.structures["db_host_config"]
LatencyRecord = _HEADER.structures["db_latency"]
ModelRecord = _HEADER.structures["db_model_config"]
LibraryRecord = _HEADER.structures["db_lib_drive"]
PortRecord = _HEADER.structures["db_host_port"]
CommandRecord = _HEADER.structures["db_block_cmd"]
StatusRecord = _HEADER.structures["db_block_status"]
EndRecord = _HEADER.structures["db_rdata_end"]
ForwardRecord = _HEADER.structures["db_fwd"]
PacketRecord = _HEADER.structures["db_rec_packet"]
MessageRecord = _HEADER.structures["db_ext_msg"]

LIBRARY_FUNCTIONS = tuple(name for name, _ in LibraryRecord._fields_[1:])
"""Of a db_sim library, that a drive which is another simulation is made of."""

SIGNATURES = _HEADER.signatures("db_host_")


class Library:
    """The C functions of one shared library."""

    def __init__(self, path: str) -> None:
        self.names: list[str] = bind(self, ctypes.CDLL(path), "db_host_", SIGNATURES)
