# SPDX-License-Identifier: Apache-2.0
"""QEMU's own NVMe drives as the SSDs beside a simulated device (`SwitchSim`): each is a QEMU process of its own.

A process that ends takes its drive away, as if somebody had pulled it: the device is told, and the others go on.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from doorbell.device.drives import WINDOW_BYTES, ExternalDrive
from doorbell.device.image_lock import lock_image
from doorbell.device.messages import SimError
from doorbell.device.switch_sim import SwitchSim
from doorbell.errors import UserError
from doorbell.qemu.drives import BAR0, COMMAND, DRIVE_BARS, OUR_BAR, QemuDrives
from doorbell.qemu.mirror import NvmeMirror

BAR_STEP = 1 << 20
MPS, MRRS = 128, 512  # of the drives: what every host allows
LOCK_S = 10.0  # a QEMU whose master was killed has the image until it has written it out
MEMORY_SPACE_AND_MASTER = 6

SWITCH_OPTIONS: dict[str, Any] = {"window": OUR_BAR, "ssd_bar": DRIVE_BARS, "ssd_step": BAR_STEP}
"""Of the SwitchSim: addresses that a QEMU can map."""


class QemuSsds:
    """A stock drive for each image. Use as a context manager: `drives` and SWITCH_OPTIONS make the SwitchSim, then
    `attach` it."""

    def __init__(self, images: Sequence[Path], host_bytes: int = 0, **link: Any) -> None:
        """host_bytes: of host memory that a drive reaches too, from `host_memory` on: for queues of who owns it.
        link: options of PortOptions."""
        self.host_memory = OUR_BAR + len(images) * WINDOW_BYTES
        self.drives = [ExternalDrive(**link) for _ in images]
        self._buses: list[QemuDrives | None] = []
        self._mirrors: list[NvmeMirror] = []
        self._sim: SwitchSim
        try:
            for i, image in enumerate(images):
                own = {"span": self.host_memory + host_bytes - OUR_BAR} if host_bytes else {}
                at = OUR_BAR if host_bytes else OUR_BAR + i * WINDOW_BYTES
                self._buses.append(QemuDrives([image], window=at, serial=i, **own))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> QemuSsds:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all QEMUs: they write their images out."""
        for bus in self._buses:
            if bus:
                bus.close()
        self._buses = []

    @property
    def process_ids(self) -> list[int]:
        """Of each QEMU; 0: it has ended."""
        return [bus.process_id if bus else 0 for bus in self._buses]

    def attach(self, sim: SwitchSim) -> None:
        """Be the SSDs of this device, and give each what a host gives: its BAR, memory space, bus master."""
        self._sim = sim
        for i, bus in enumerate(self._buses):
            assert bus
            bar = DRIVE_BARS + i * BAR_STEP
            bus.config_write(0, BAR0, bar & 0xFFFFFFFF)
            bus.config_write(0, BAR0 + 4, bar >> 32)
            bus.config_write(0, COMMAND, MEMORY_SPACE_AND_MASTER)
            sim.ssds.sizes(MPS, MRRS, port=i)
            self._mirrors.append(NvmeMirror(sim.ssds, bus, 0, port=i, bar=bar))
        sim.pump = self._pump

    def _pump(self) -> None:
        for i, (bus, mirror) in enumerate(zip(self._buses, self._mirrors)):
            if not bus:
                continue
            try:
                mirror.step()
                bus.pump()
            except UserError as e:
                self._lose(i, str(e))

    def _lose(self, drive: int, why: str) -> None:
        bus, self._buses[drive] = self._buses[drive], None
        print(f"doorbell: SSD {drive} is taken away: {why}", file=sys.stderr, flush=True)
        self._sim.ssds.link(False, drive)
        if bus:
            with contextlib.suppress(UserError, OSError):
                bus.close()


def wait_until_free(fd: int, image: Path) -> None:
    """Lock a file; wait for who has it, but not for ever: then a UserError says so."""
    end = time.monotonic() + LOCK_S
    while True:
        try:
            return lock_image(fd, str(image))
        except SimError as e:
            if time.monotonic() > end:
                raise UserError(str(e)) from e
        time.sleep(0.1)
