# SPDX-License-Identifier: Apache-2.0
"""The layers of python/doorbell: kept here, and `./doorbell lint` sees who breaks them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.cli import lint


def check(root: Path) -> subprocess.CompletedProcess[str]:
    """What lint does, on the package and settings below `root`."""
    paths.put_tools_on_path()
    command = [c.replace(str(paths.ROOT), str(root)) for c in lint.imports_command()]
    env = {**os.environ, "PYTHONPATH": str(root / "python")}
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Package and settings, free to be broken."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(paths.ROOT / "python" / "doorbell", tmp_path / "python" / "doorbell", ignore=ignore)
    shutil.copy(paths.ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def add(root: Path, file: str, text: str) -> None:
    with open(root / "python" / "doorbell" / file, "a") as f:
        f.write(text)


def test_layers_are_kept() -> None:
    done = check(paths.ROOT)
    assert done.returncode == 0, done.stdout


def test_imports_upwards(copy: Path) -> None:
    """One hidden in a function counts too."""
    add(copy, "nvme/errors.py", "\n\ndef late() -> object:\n    from doorbell.device import sim\n\n    return sim\n")
    done = check(copy)
    assert done.returncode and "doorbell.nvme.errors -> doorbell.device.sim" in " ".join(done.stdout.split())


def test_imports_in_a_circle(copy: Path) -> None:
    """Of two modules of one package; for a type only is no excuse."""
    text = "\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from doorbell.bench import runner\n"
    add(copy, "bench/jobs.py", text)
    done = check(copy)
    assert done.returncode and ".jobs -> .runner" in done.stdout


def test_every_package_has_its_layer() -> None:
    """A new package must be given a place."""
    settings = (paths.ROOT / "pyproject.toml").read_text()
    folder = paths.ROOT / "python" / "doorbell"
    names = {f.stem for f in folder.glob("*.py")} | {f.parent.name for f in folder.glob("*/__init__.py")}
    assert not [n for n in names - {"__init__", "__main__"} if f"doorbell.{n}" not in settings]
