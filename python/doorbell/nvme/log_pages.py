# SPDX-License-Identifier: Apache-2.0
"""NVMe's log pages, from the Base Specification 2.0, section 5.16; read and written as structures.py says.

128-bit counters are 16-byte arrays: see `u128`.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_uint8, c_uint16, c_uint32, c_uint64

from doorbell.nvme.structures import Packed


class SmartLog(Packed):
    """SMART / Health Information, log page 02h."""

    _fields_ = [
        ("critical_warning", c_uint8),
        ("temperature", c_uint16),
        ("avail_spare", c_uint8),
        ("spare_thresh", c_uint8),
        ("percent_used", c_uint8),
        ("endu_grp_crit_warn_sumry", c_uint8),
        ("rsvd7", c_uint8 * 25),
        ("data_units_read", c_uint8 * 16),
        ("data_units_written", c_uint8 * 16),
        ("host_reads", c_uint8 * 16),
        ("host_writes", c_uint8 * 16),
        ("ctrl_busy_time", c_uint8 * 16),
        ("power_cycles", c_uint8 * 16),
        ("power_on_hours", c_uint8 * 16),
        ("unsafe_shutdowns", c_uint8 * 16),
        ("media_errors", c_uint8 * 16),
        ("num_err_log_entries", c_uint8 * 16),
        ("warning_temp_time", c_uint32),
        ("critical_comp_time", c_uint32),
        ("temp_sensor", c_uint16 * 8),
        ("thm_temp1_trans_count", c_uint32),
        ("thm_temp2_trans_count", c_uint32),
        ("thm_temp1_total_time", c_uint32),
        ("thm_temp2_total_time", c_uint32),
        ("rsvd232", c_uint8 * 280),
    ]


class ErrorLogEntry(Packed):
    """Error Information, log page 01h, one entry. `status_field`: the phase tag in bit 0."""

    _fields_ = [
        ("error_count", c_uint64),
        ("sqid", c_uint16),
        ("cmdid", c_uint16),
        ("status_field", c_uint16),
        ("parm_error_location", c_uint16),
        ("lba", c_uint64),
        ("nsid", c_uint32),
        ("vs", c_uint8),
        ("trtype", c_uint8),
        ("rsvd30", c_uint8 * 2),
        ("cs", c_uint64),
        ("trtype_spec_info", c_uint16),
        ("rsvd42", c_uint8 * 22),
    ]


class FwSlotLog(Packed):
    """Firmware Slot Information, log page 03h."""

    _fields_ = [("afi", c_uint8), ("rsvd1", c_uint8 * 7), ("frs", (c_char * 8) * 7), ("rsvd64", c_uint8 * 448)]


class EffectsLog(Packed):
    """Commands Supported and Effects, log page 05h."""

    _fields_ = [("acs", c_uint32 * 256), ("iocs", c_uint32 * 256), ("rsvd2048", c_uint8 * 2048)]


class ResvNotification(Packed):
    """Reservation Notification, log page 80h."""

    _fields_ = [
        ("count", c_uint64),
        ("type", c_uint8),
        ("available", c_uint8),
        ("rsvd10", c_uint8 * 2),
        ("nsid", c_uint32),
        ("rsvd16", c_uint8 * 48),
    ]


def u128(raw: ctypes.Array[c_uint8]) -> int:
    """Value of a 16-byte counter."""
    return int.from_bytes(bytes(raw), "little")
