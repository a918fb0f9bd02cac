# SPDX-License-Identifier: Apache-2.0
"""The layers of the simulator runtime: an include that goes upwards makes lint fail."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.cli import lint, lint_layers
from doorbell.cli.lint_layers import SIM, SIM_OUTSIDE, check_includes

RUNTIME = paths.ROOT / "sim"


def test_runtime_is_in_layers() -> None:
    assert check_includes(RUNTIME, SIM, SIM_OUTSIDE) == []


@pytest.mark.parametrize(("file", "header", "problem"), [
    ("pcie/transmit.cpp", "host/mmio.h", "pcie may not include host/mmio.h: host is not below it"),
    ("host/mmio.cpp", "runtime/device.h", "host may not include runtime/device.h"),
    ("host/mmio.cpp", "drives/model_drive.h", "host may not include drives/model_drive.h"),
    ("common/ring.h", "interface/db_sim.h", "common may not include interface/db_sim.h"),
    ("host/mmio.cpp", "nvme_facts.h", "nvme_facts.h is not for host"),
    ("host/mmio.cpp", "host/nothing.h", "there is no host/nothing.h"),
])  # fmt: skip
def test_what_breaks_a_layer_is_found(tmp_path: Path, file: str, header: str, problem: str) -> None:
    copy = Path(shutil.copytree(RUNTIME, tmp_path / "sim"))
    lines = (copy / file).read_text().count("\n")
    with (copy / file).open("a") as f:
        f.write(f'#include "{header}"\n')
    found = check_includes(copy, SIM, SIM_OUTSIDE)
    assert len(found) == 1 and found[0].startswith(f"{file}:{lines + 1}: {problem}"), found


def test_a_file_without_a_layer_is_found(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(RUNTIME, tmp_path / "sim"))
    (copy / "more.h").write_text("")
    assert [wrong.split(":")[0] for wrong in check_includes(copy, SIM, SIM_OUTSIDE)] == ["more.h"]


def test_a_table_with_a_circle_is_found() -> None:
    circle = "the table has a circle: common, pcie, nand, media, host, drives, user, switch, runtime"
    assert check_includes(RUNTIME, SIM | {"common": ("host",)}) == [circle]


def test_upward_include_makes_lint_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = Path(shutil.copytree(RUNTIME, tmp_path / "sim"))
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    lint_layers.main()
    with (copy / "common" / "ring.h").open("a") as f:
        f.write('#include "pcie/link.h"\n')
    with pytest.raises(SystemExit) as end:
        lint_layers.main()
    assert end.value.code == 1
    assert "simulator" in [name for name, _ in lint.steps()]
