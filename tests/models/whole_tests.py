# SPDX-License-Identifier: Apache-2.0
"""System tests that passed are not run again while all that they depend on is as it was.

What a whole drive depends on is not found out, it is nearly everything: all that simulators, firmware and the Python
package are made of (BROAD), and of the tests the file, what it imports, and the pages of docs that these read. A change
of BROAD runs all of them; one of proofs or a module's bench none. While a file is written that was there when the
process began, nothing is looked up and nothing kept: what Python has loaded may be older.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import results
from doorbell.build.cache import place, touch
from doorbell.build.toolchain import compiler_version

ROOT = Path(__file__).resolve().parents[2]
BROAD = ("python", "rtl", "sim", "fw", "facts", "regs", "examples", "sweeps", "tests/data", "tests/rtl/tb", "doorbell",
         "conftest.py", "pyproject.toml", "requirements.lock")  # fmt: skip
"""Files and folders that any of the tests may depend on."""
SHARED = ("tests/models", "tests/system/ssd", "tests/system/host", "tests/rtl/nvme", "tests/rtl/ssd", "tests/rtl/pcie")
"""Where tests find what they import, as pyproject.toml says."""
CONFTEST = "tests/system/conftest.py"
ALWAYS = ("tests/system/vm/", "tests/system/host/test_host_qemu.py")
"""Run every time: the kernel and QEMU in it are of the machine."""
PAGE = re.compile(r'/ "([\w.-]+\.md)"')
"""How a test names a page that it reads: by its path."""
ASIDE = ("DOORBELL_CACHE", "DOORBELL_BUILD_LOG", "DOORBELL_FRESH", "DOORBELL_JOBS")
"""Of the environment's DOORBELL_* what no outcome depends on."""


def files_of(root: Path, names: Iterable[str]) -> Iterator[Path]:
    """Files by name, and all that is in folders but for what Python leaves there."""
    for name in names:
        path = root / name
        inside = path.rglob("*") if path.is_dir() else [path]
        yield from (f for f in inside if f.is_file() and "__pycache__" not in f.parts)


def stamp(files: Iterable[Path]) -> list[tuple[int, int]]:
    """What changes when a file is written."""
    return [(s.st_mtime_ns, s.st_size) for s in (f.stat() for f in files)]


class Kept:
    """Which tests passed: each has a file in a folder of the cache, named by all that any of them may depend on."""

    def __init__(self, root: Path = ROOT, environment: Mapping[str, str] = os.environ) -> None:
        self.root = root
        self.fresh = bool(environment.get("DOORBELL_FRESH"))
        broad = sorted(files_of(root, BROAD))
        self.files = [*broad, *files_of(root, ("tests/models", "tests/system"))]
        self.stamp = stamp(self.files)
        self.tests: dict[Path, str] = {}
        settings = sorted(i for i in environment.items() if i[0].startswith("DOORBELL_") and i[0] not in ASIDE)
        image = [Path(file) for name, file in settings if name == "DOORBELL_FIRMWARE" and Path(file).is_file()]
        self.folder = place(
            "system",
            (settings, compiler_version(), results.environment(), results.hash_files([*broad, *image], root)),
        )

    def file(self, test: Path, name: str) -> Path | None:
        """What is there if the test `name` of the file `test` passed; None if it is run every time."""
        if test.relative_to(self.root).as_posix().startswith(ALWAYS):
            return None
        if test not in self.tests:
            folders = [test.parent, *(self.root / f for f in SHARED)]
            used = {f for first in (test, self.root / CONFTEST) for f in results.sources(first, folders)}
            named = {name for f in used for name in PAGE.findall(f.read_text())}
            pages = [f for f in (self.root / "docs").rglob("*.md") if f.name in named] if named else []
            self.tests[test] = results.hash_files([*used, *pages], self.root)
        return self.folder / hashlib.sha256(f"{test.name} {name} {self.tests[test]}".encode()).hexdigest()[:20]

    def passed(self, file: Path) -> bool:
        """True if the test with this file need not run."""
        if self.fresh:
            file.unlink(missing_ok=True)
        return file.exists() and self._same() and touch(self.folder)

    def keep(self, file: Path) -> None:
        if self._same():
            self.folder.mkdir(parents=True, exist_ok=True)
            file.touch()

    def _same(self) -> bool:
        try:
            return stamp(self.files) == self.stamp
        except FileNotFoundError:
            return False
