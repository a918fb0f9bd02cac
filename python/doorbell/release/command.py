# SPDX-License-Identifier: Apache-2.0
"""`doorbell release`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import typer

from doorbell import __version__, paths
from doorbell.release import archive


def main(
    out: Path = typer.Option(paths.OUT / "release", "--out", help="Folder for archive, wheel and their checksums."),
    as_json: bool = typer.Option(False, "--json", help="Say what was made as JSON."),
) -> None:
    """Make the archive of a release (RTL with all that is generated, file lists, FuseSoC cores, firmware images, docs,
    SBOM, checksums) and a wheel for pip. The same sources give the same bytes."""
    file, wheel = archive.write(out)
    if as_json:
        print(json.dumps({"version": __version__, **described(file), "wheel": described(wheel)}))
        return
    for made in (file, wheel):
        about = described(made)
        print(f"{made}  {about['bytes'] / 1e6:.1f} MB\nsha256 {about['sha256']}")


def described(file: Path) -> dict[str, str | int]:
    data = file.read_bytes()
    return {"file": str(file), "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
