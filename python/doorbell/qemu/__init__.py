# SPDX-License-Identifier: Apache-2.0
"""QEMU's own NVMe drives for a host core, and what a guest boots from."""

from doorbell.qemu.drives import QemuDrives
from doorbell.qemu.mirror import NvmeMirror
from doorbell.qemu.program import host_qemu

__all__ = [
    "NvmeMirror",
    "QemuDrives",
    "host_qemu",
]
