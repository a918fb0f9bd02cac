# SPDX-License-Identifier: Apache-2.0
"""NVMe as a host sees it: numbers, structures, the driver, and models of what a drive may answer."""

from doorbell.nvme.backend import Backend
from doorbell.nvme.commands import Command, NvmeError, expect, opcode_name
from doorbell.nvme.constants import (
    NSID_ALL,
    PAGE_SIZE,
    AdminOpc,
    Cns,
    Feature,
    LogPage,
    NvmOpc,
    Reg,
    Status,
)
from doorbell.nvme.driver import Driver
from doorbell.nvme.errors import DeviceTimeout, ProtocolError, QueueFull
from doorbell.nvme.memory import Buffer, HostMemory
from doorbell.nvme.structures import IdCtrl, IdNs, status_name

__all__ = [
    "NSID_ALL",
    "PAGE_SIZE",
    "AdminOpc",
    "Backend",
    "Buffer",
    "Cns",
    "Command",
    "DeviceTimeout",
    "Driver",
    "Feature",
    "HostMemory",
    "IdCtrl",
    "IdNs",
    "LogPage",
    "NvmOpc",
    "NvmeError",
    "ProtocolError",
    "QueueFull",
    "Reg",
    "Status",
    "expect",
    "opcode_name",
    "status_name",
]
