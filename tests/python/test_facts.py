# SPDX-License-Identifier: Apache-2.0
"""facts/generate.py: what is made is up to date, a change shows in every language, nonsense is refused."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from doorbell import paths


def load(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("facts_generate", folder / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["facts_generate"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copy(tmp_path: Path) -> ModuleType:
    """The generator and all that it writes, in a copy that a test may spoil."""
    shutil.copytree(paths.ROOT / "facts", tmp_path / "facts")
    module = load(tmp_path / "facts")
    for file in module.TARGETS:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(paths.ROOT / file, tmp_path / file)
    return module


def test_all_is_up_to_date() -> None:
    command = [sys.executable, str(paths.ROOT / "facts" / "generate.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_change_shows_in_every_language(copy: ModuleType) -> None:
    file = copy.HERE / "nvme.yaml"
    line = "      VERIFY: 0x0c\n"
    file.write_text(file.read_text().replace(line, line + "      NEWEST: 0x7f  # of all\n"))
    assert copy.main(["--check"]) == 1
    assert copy.main([]) == 0 and copy.main(["--check"]) == 0
    for name, text in {
        "rtl/nvme/db_nvme_pkg.sv": "localparam logic [7:0] OPC_NEWEST = 8'h7f;  // of all",
        "facts/c/nvme_facts.h": "OPC_NEWEST = 0x7f,  // of all",
        "python/doorbell/nvme/constants.py": "NEWEST = 0x7F  # of all",
    }.items():
        assert text in (copy.ROOT / name).read_text(), name


def test_a_number_twice_is_refused(copy: ModuleType) -> None:
    file = copy.HERE / "nvme.yaml"
    file.write_text(file.read_text().replace("      VERIFY: 0x0c\n", "      VERIFY: 0x0c\n      AGAIN: 0x0c\n"))
    with pytest.raises(SystemExit, match="NvmOpc has a name or number twice"):
        copy.main([])


def test_lost_marks_are_refused(copy: ModuleType) -> None:
    file = copy.ROOT / "rtl/nvme/db_nvme_pkg.sv"
    file.write_text(file.read_text().replace("end of what is made", "end"))
    with pytest.raises(SystemExit, match="must stand in it once"):
        copy.main(["--check"])
