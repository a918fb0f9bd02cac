# SPDX-License-Identifier: Apache-2.0
"""The archive of a release, the same bytes from the same sources with the same zlib: files in order of their names,
without owners, with the time of the last commit."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path

from doorbell import __version__, paths
from doorbell.build import IMAGES, boards, firmware
from doorbell.errors import UserError
from doorbell.release import core, files, sbom, wheel
from doorbell.release.ip import packaging
from doorbell.release.moment import time_of_sources

PAGES = ("README.md", "CHANGELOG.md", "LICENSE")
DOCS = (".md", ".svg", ".png")


def contents() -> dict[str, bytes]:
    """Name in the archive to bytes."""
    made: dict[str, bytes] = {}
    for top in files.TOPS:
        of = files.of(top)
        made |= {files.place(f): f.read_bytes() for f in (*of.sources, *of.headers)}
        made[f"filelists/{top}.f"] = files.filelist(of).encode()
        made[f"{top}.core"] = core.core(top, __version__, of).encode()
        made |= {name: text.encode() for name, text in packaging.contents(top, __version__, of).items()}
    for board, top in boards.BOARDS.items():
        made[f"{top}.core"] = core.board_core(board, __version__).encode()
    made["ip/package.tcl"] = packaging.COMMON.read_bytes()
    for bench in core.SMOKE.values():
        made[bench] = (paths.ROOT / "python" / "doorbell" / "release" / Path(bench).name).read_bytes()
    for file in board_files():
        made[file.relative_to(paths.ROOT).as_posix()] = file.read_bytes()
    for name, options in IMAGES.items():
        made[f"firmware/{name}"] = firmware(*options).read_bytes()
    docs = [f for f in (paths.ROOT / "docs").rglob("*") if f.suffix in DOCS]
    for page in (*(paths.ROOT / page for page in PAGES), *docs):
        made[page.relative_to(paths.ROOT).as_posix()] = page.read_bytes()
    made["USE.md"] = (paths.ROOT / "python" / "doorbell" / "release" / "USE.md").read_bytes()
    made["VERSION"] = f"{__version__}\n".encode()
    made["sbom.cdx.json"] = sbom.sbom(__version__).encode()
    sums = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(made.items())]
    made["SHA256SUMS"] = "".join(sums).encode()
    return made


def board_files() -> list[Path]:
    """Board projects: tops, constraints, Tcl, and the stubs with which anybody can check them."""
    return [
        f for kind in ("*.sv", "*.svh", "*.vlt", "*.xdc", "*.tcl", "*.md") for f in sorted(boards.FOLDER.rglob(kind))
    ]


def pack(made: dict[str, bytes], folder: str, seconds: int) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in sorted(made.items()):
            info = tarfile.TarInfo(f"{folder}/{name}")
            info.size, info.mtime, info.mode = len(data), seconds, 0o644
            tar.addfile(info, io.BytesIO(data))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", mtime=seconds, compresslevel=9) as out:
        out.write(raw.getvalue())
    return packed.getvalue()


def write(folder: Path) -> tuple[Path, Path]:
    """The archive and the wheel in `folder`, and the checksum of each beside it."""
    name = f"doorbell-{__version__}"
    data = pack(contents(), name, time_of_sources())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{name}.tar.gz"
        file.write_bytes(data)
        made = file, wheel.write(folder)
        for one in made:
            digest = hashlib.sha256(one.read_bytes()).hexdigest()
            (folder / f"{one.name}.sha256").write_text(f"{digest}  {one.name}\n")
    except OSError as e:
        raise UserError(f"cannot write to {folder}: {e.strerror}; choose another --out") from e
    return made
