# SPDX-License-Identifier: Apache-2.0
"""`./doorbell build`."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from doorbell import paths
from doorbell.build.cache import tool
from doorbell.build.firmware_image import IMAGES, firmware, linked
from doorbell.build.firmware_stack import measure
from doorbell.build.registers import regs, regs_html
from doorbell.build.simulators import simulator
from doorbell.errors import UserError


def main(
    top: str = typer.Option("db_ssd", help="The top to build a simulator of."),
    data_w: int = typer.Option(256, help="Width of its data path in bits: 128, 256 or 512."),
    coverage: bool = typer.Option(False, "--coverage", help="Count line and toggle coverage."),
    trace: bool = typer.Option(False, "--trace", help="Able to write a VCD file."),
    only: str = typer.Option(
        "all",
        help="What to build: all, regs, firmware, simulator, or reference: docs/registers.md anew, or stack: how deep "
        "the firmware's can get, a line for each image.",
    ),
    html: Path | None = typer.Option(None, help="Also write the register reference as web pages into this folder."),
) -> None:
    """Build the registers, firmware and simulator; print where they are.

    What is up to date already is taken from the cache.
    """
    if only not in ("all", "regs", "firmware", "simulator", "reference", "stack"):
        raise UserError(f"--only {only}: must be all, regs, firmware, simulator, reference or stack")
    if data_w not in (128, 256, 512):
        raise UserError(f"--data-w {data_w}: must be 128, 256 or 512")
    if html is not None:
        print(regs_html(html))
    if only == "reference":
        if paths.INSTALLED:
            raise UserError("--only reference writes into a clone of the repository: an installed Doorbell is none")
        regs()  # says what is wrong with the folders of operators
        script = paths.ROOT / "regs" / "generate.py"
        tool([sys.executable, str(script), "--reference"], "writing docs/registers.md")
    if only in ("all", "regs"):
        print(regs())
    if only in ("all", "firmware"):
        print(firmware())
    if only == "stack":
        show_stacks()
    if only in ("all", "simulator"):
        print(simulator(top, {"DATA_W": data_w}, coverage="toggles" if coverage else None, trace=trace or None))


def show_stacks() -> None:
    """A line for each image of the firmware: bytes of the RAM, and the calls that take the most of its stack."""
    print(f"{'image':28} {'code':>6} {'variables':>9} {'stack':>6} {'deepest':>7}  by")
    for name, options in IMAGES.items():
        try:
            m = measure(linked(*options))
        except ValueError as e:
            raise UserError(f"the firmware's stack has no bound: {e}") from e
        print(f"{name:28} {m.code:6} {m.variables:9} {m.room:6} {m.deepest:7}  {' '.join(m.chain[1:])}")
        if m.deepest > m.room:
            raise UserError(f"{name}: the stack can take {m.deepest} bytes, and there are {m.room}")
