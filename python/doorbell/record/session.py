# SPDX-License-Identifier: Apache-2.0
"""A recorder with its drives, up: models, our own drives, or QEMU's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from doorbell import build
from doorbell.device.drives import ExternalDrive, ModelDrive, PortOptions, ssd_drive
from doorbell.device.recorder_setup import LINK, simulator_params
from doorbell.device.recorder_sim import RecorderSim
from doorbell.errors import UserError
from doorbell.record.recording import make_image

UP_CYCLES = 20_000_000
QEMU_STEP = 1000  # cycles at most between two looks at QEMU's drives
STEP = 20_000


class Session:
    """A recorder with its drives, up; `advance` lets time pass for all of them."""

    def __init__(self, kind: str, images: list[Path], sizes: list[int], rate: float = 0, buffer: int = 0) -> None:
        """sizes: of the images, which are made (sparse) where they are not there. buffer: memory before the stream."""
        self._stack = contextlib.ExitStack()
        self._pump: Callable[[], None] | None = None
        self.sim: RecorderSim
        self.kind, self.count = kind, len(images)
        try:
            self._open(kind, images, sizes, rate, buffer)
            self._bring_up()
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _open(self, kind: str, images: list[Path], sizes: list[int], rate: float, buffer: int) -> None:
        for image, size in zip(images, sizes):
            make_image(image, size)
        library = build.simulator("db_recorder", simulator_params(self.count, buffer))
        drives: list[PortOptions]
        options: dict[str, Any] = {"write_gbps": rate}
        if kind == "qemu":
            from doorbell.qemu.drives import DRIVE_BARS, WINDOW_BYTES, QemuDrives
            from doorbell.qemu.mirror import NvmeMirror

            bus = self._stack.enter_context(QemuDrives(images))
            drives = [ExternalDrive(link=LINK) for _ in images]
            options |= {"window": bus.window(0)[0], "window_step": WINDOW_BYTES, "bar": DRIVE_BARS, "bar_step": 1 << 20}
            self.sim = self._stack.enter_context(RecorderSim(library, drives, **options))
            mirrors = [NvmeMirror(self.sim, bus, i) for i in range(self.count)]

            def pump() -> None:
                for mirror in mirrors:
                    mirror.step()
                bus.pump()

            self._pump = pump
            return
        if kind == "db_ssd":
            ssd = build.simulator("db_ssd")
            drives = [ssd_drive(ssd, link=LINK, image=i, media_size=s) for i, s in zip(images, sizes)]
        else:
            drives = [ModelDrive(link=LINK, image=i, size=s, ready_us=1) for i, s in zip(images, sizes)]
        self.sim = self._stack.enter_context(RecorderSim(library, drives, **options))

    def advance(self) -> None:
        """A little time, for all."""
        if self._pump:
            self.sim.run(QEMU_STEP, "message")
            self._pump()
        else:
            self.sim.run(STEP)

    def wait(self, condition: Callable[[], object], what: str, every: int = 1) -> None:
        """Until the condition holds; looked at after so many steps."""
        end = self.sim.cycle + UP_CYCLES
        while not condition():
            if self.sim.cycle > end:
                raise UserError(f"{what} takes too long", 1)
            for _ in range(every):
                self.advance()

    def shut_down(self) -> int:
        """Shut all drives down, in order: what was recorded outlives their power. How many have said that they are."""
        self.sim.start_shutdown()
        self.wait(lambda: sum(self.sim.shut_down) == self.sim.all_drives, "the shutdown of the drives")
        if failed := self.sim.shut_down[1]:
            raise UserError(f"drive {(failed & -failed).bit_length() - 1} did not shut down", 1)
        return self.sim.shut_down[0].bit_count()

    def check(self) -> None:
        """Nobody has broken a rule: PCIe, doorbells, packets to the host."""
        if broken := self.sim.errors():
            raise UserError(f"rules were broken: {broken}", 1)

    def _bring_up(self) -> None:
        self.wait(lambda: self.sim.up or self.sim.dead, "bring-up of the drives")
        if self.sim.dead:
            dead = self.sim.signal("dead")
            raise UserError(f"drive {(dead & -dead).bit_length() - 1} cannot be brought up", 1)
