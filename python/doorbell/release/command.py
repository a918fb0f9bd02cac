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
    out: Path = typer.Option(paths.OUT / "release", "--out", help="Folder for the archive and its checksum."),
    as_json: bool = typer.Option(False, "--json", help="Say what was made as JSON."),
) -> None:
    """Make the archive of a release: RTL with all that is generated, file lists, FuseSoC cores, firmware images, docs,
    SBOM, checksums. The same sources give the same bytes."""
    file = archive.write(out)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if as_json:
        print(json.dumps({"version": __version__, "file": str(file), "sha256": digest, "bytes": file.stat().st_size}))
    else:
        print(f"{file}  {file.stat().st_size / 1e6:.1f} MB\nsha256 {digest}")
