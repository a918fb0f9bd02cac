# SPDX-License-Identifier: Apache-2.0
"""The wheel: `pip install` of it gives the command `doorbell`, which works as `./doorbell` does in a clone.

It is what commands need of a clone, as a folder in site-packages, with the launcher as a module in it. The launcher
makes the environment of requirements.lock on first use, so the wheel itself depends on no package (docs/decisions.md
says why). pip calls `build_wheel` (PEP 517, named in pyproject.toml) before anything is installed: so only the
standard library is imported here. The same sources give the same bytes, with the same zlib.
"""

from __future__ import annotations

import base64
import hashlib
import time
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from doorbell import __version__, paths
from doorbell.errors import UserError
from doorbell.release.moment import time_of_sources

HOME = "doorbell_home"
"""The folder in site-packages: in it all is where it is in a clone, and the launcher's name is launcher.py."""
FOLDERS = ("examples", "facts", "fw", "python/doorbell", "regs", "rtl", "sim", "sweeps", "syn", "tools")
FILES = ("LICENSE", "requirements.lock", "tests/data/behaviour.json")
KINDS = (".S", ".c", ".cpp", ".css", ".h", ".html", ".js", ".json", ".ld", ".md", ".py", ".rdl", ".sv", ".svh", ".tcl",
         ".vlt", ".yaml", ".lock")  # fmt: skip
"""Endings of sources: what else is in the folders is no part of them."""
OLDEST_ZIP = 315_532_800  # 1980-01-01: a zip file knows no time before


def sources() -> list[str]:
    """Files that go into it, by their place in a clone."""
    found = []
    for file in (f for folder in FOLDERS for f in (paths.ROOT / folder).rglob("*")):
        place = file.relative_to(paths.ROOT)
        hidden = any(part.startswith((".", "__pycache__")) for part in place.parts)
        if file.is_file() and file.suffix in KINDS and not hidden and not place.name.startswith("test_"):
            found.append(place.as_posix())
    return sorted([*found, *FILES])


def contents(project: dict[str, Any]) -> dict[str, bytes]:
    """Name in the wheel to bytes; without the list of them."""
    made = {f"{HOME}/{name}": (paths.ROOT / name).read_bytes() for name in sources()}
    made[f"{HOME}/launcher.py"] = (paths.ROOT / "doorbell").read_bytes()
    made[f"{HOME}/__init__.py"] = b'"""Doorbell as a wheel brings it: sources, and the launcher that runs them."""\n'
    made[f"{HOME}/INSTALLED"] = f"{__version__}\n".encode()
    info = info_folder(project)
    about = (
        "Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {__version__}",
        f"Summary: {project['description']}", f"License: {project['license']}",
        f"Requires-Python: {project['requires-python']}", "Description-Content-Type: text/markdown",
    )  # fmt: skip
    made[f"{info}/METADATA"] = "\n".join([*about, "", (paths.ROOT / "README.md").read_text()]).encode()
    made[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: doorbell\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    scripts = "".join(f"{name} = {what}\n" for name, what in project["scripts"].items())
    made[f"{info}/entry_points.txt"] = f"[console_scripts]\n{scripts}".encode()
    made[f"{info}/LICENSE"] = made[f"{HOME}/LICENSE"]
    return made


def info_folder(project: dict[str, Any]) -> str:
    return f"{project['name']}-{__version__}.dist-info"


def record(made: dict[str, bytes], name: str) -> bytes:
    """The list of files with their checksums; it lists itself without one."""
    lines = []
    for file, data in sorted(made.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{file},sha256={digest},{len(data)}\n")
    return "".join([*lines, f"{name},,\n"]).encode()


def write(folder: Path) -> Path:
    """The wheel in `folder`."""
    if paths.INSTALLED:
        raise UserError("a wheel is made in a clone of the repository: an installed Doorbell is none")
    project = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]
    made = contents(project)
    listed = f"{info_folder(project)}/RECORD"
    made[listed] = record(made, listed)
    file = folder / f"{project['name']}-{__version__}-py3-none-any.whl"
    when = time.gmtime(max(time_of_sources(), OLDEST_ZIP))[:6]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        # The folder with what describes the wheel stands at the end, as its format wants it.
        for name in sorted(made, key=lambda n: (not n.startswith(HOME), n)):
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, 0o100644 << 16
            packed.writestr(entry, made[name])
    return file


# ---------------------------------------------------------------- what pip calls


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    return write(Path(wheel_directory)).name


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    raise UserError("Doorbell has no source distribution: build a wheel (pip wheel .), or take ./doorbell release")
