# SPDX-License-Identifier: Apache-2.0
"""vfio-user server: puts a simulated device behind a UNIX socket, for QEMU, SPDK and other clients."""

from doorbell.device.vfio_user.loop import Loop
from doorbell.device.vfio_user.served import ServedDevice
from doorbell.device.vfio_user.server import Server, serving

__all__ = ["Loop", "ServedDevice", "Server", "serving"]
