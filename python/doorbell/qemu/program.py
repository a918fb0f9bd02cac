# SPDX-License-Identifier: Apache-2.0
"""QEMU of this machine, where it will do."""

from __future__ import annotations

import re
import shutil
import subprocess

OLDEST_QEMU = (10, 1)  # the first with vfio-user-pci


def host_qemu() -> str | None:
    """QEMU on PATH, if it is new enough and has vfio-user-pci."""
    path = shutil.which("qemu-system-x86_64")
    if not path:
        return None
    version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\d+)\.(\d+)", version)
    if not found or (int(found[1]), int(found[2])) < OLDEST_QEMU:
        return None
    devices = subprocess.run([path, "-device", "help"], capture_output=True, text=True, check=False)
    return path if "vfio-user-pci" in devices.stdout + devices.stderr else None
