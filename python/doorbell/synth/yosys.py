# SPDX-License-Identifier: Apache-2.0
"""Runs yosys."""

from __future__ import annotations

import gzip
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

from doorbell import build, paths
from doorbell.build.cache import locks
from doorbell.errors import UserError

TARGETS = {
    "xcup": "synth_xilinx -family xcup -noiopad -noclkbuf -top unit",
    "xc7": "synth_xilinx -family xc7 -noiopad -noclkbuf -top unit",
    "ecp5": "synth_ecp5 -top unit",
}
"""What yosys does to a unit."""

RECIPE = 1  # raise it when this file makes something else of the same inputs


def yosys_version() -> str:
    try:
        return build.version("pyosys")
    except PackageNotFoundError as e:
        raise UserError("the Python package pyosys is not installed: run this through ./doorbell") from e


def run_yosys(script: list[str], folder: Path, what: str) -> None:
    """Run a yosys script in `folder`; its output goes to yosys.log there."""
    file = folder / "script.ys"
    file.write_text("\n".join(script) + "\n")
    log = folder / "yosys.log"
    with log.open("w") as out:
        done = subprocess.run(
            [sys.executable, str(paths.ROOT / "syn" / "run_yosys.py"), file.name], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=out, stderr=subprocess.STDOUT, pass_fds=locks(),
        )  # fmt: skip
    if done.returncode:
        lines = [t for t in log.read_text(errors="replace").splitlines() if t.strip()]
        errors = [t for t in lines if "ERROR" in t or "error:" in t] or lines[-8:]
        print("\n".join(errors[:20]), file=sys.stderr)
        raise UserError(f"{what} failed (yosys, exit status {done.returncode}); what it said is above")
    with gzip.open(folder / "yosys.log.gz", "wb", 1) as packed:
        packed.write(log.read_bytes())
    log.unlink()
