# SPDX-License-Identifier: Apache-2.0
"""Simulated devices: Verilated tops, a functional model, the drives behind a host, and what a PCIe link allows."""

from doorbell.device import limits
from doorbell.device.blocks import BlockCommand, BlockStatus
from doorbell.device.drives import ExternalDrive, Latency, ModelDrive, PortOptions, SsdDrive, ssd_drive
from doorbell.device.functional import FunctionalSsd
from doorbell.device.host_sim import HostSim
from doorbell.device.limits import Link
from doorbell.device.messages import MmioError, SimError
from doorbell.device.opening import open_sim
from doorbell.device.recorder_sim import RecorderSim
from doorbell.device.sim import Sim

__all__ = [
    "BlockCommand",
    "BlockStatus",
    "ExternalDrive",
    "FunctionalSsd",
    "HostSim",
    "Latency",
    "Link",
    "MmioError",
    "ModelDrive",
    "PortOptions",
    "RecorderSim",
    "Sim",
    "SimError",
    "SsdDrive",
    "limits",
    "open_sim",
    "ssd_drive",
]
