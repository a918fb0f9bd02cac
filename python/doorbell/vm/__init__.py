# SPDX-License-Identifier: Apache-2.0
"""Linux in QEMU with a simulated top as its NVMe drive, and that drive as a vfio-user device."""

from doorbell.vm.guest import Guest, Kvm, Vm
from doorbell.vm.serve import serving_device

__all__ = [
    "Guest",
    "Kvm",
    "Vm",
    "serving_device",
]
