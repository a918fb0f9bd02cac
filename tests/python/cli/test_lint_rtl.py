# SPDX-License-Identifier: Apache-2.0
"""Lint of the RTL's hierarchy: what it refuses is shown once each, in a copy of rtl/; today nothing is wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.cli import lint_rtl


@pytest.fixture
def rtl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of rtl/ that lint reads instead."""
    copy = tmp_path / "rtl"
    shutil.copytree(paths.RTL, copy)
    monkeypatch.setattr(paths, "RTL", copy)
    return copy


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1, f"{old} stands {text.count(old)} times in {file.name}"
    file.write_text(text.replace(old, new))


def test_nothing_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint_rtl.main() == 0, capsys.readouterr().out


def test_upward_instance(rtl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A FIFO that instantiates a block of the controller."""
    (rtl / "common" / "db_upward.sv").write_text("module db_upward; endmodule\n")
    shutil.move(rtl / "common" / "db_upward.sv", rtl / "ssd" / "db_upward.sv")
    change(rtl / "common" / "db_skid.sv", "endmodule", "  db_upward i_upward ();\nendmodule")
    assert lint_rtl.main() == 1
    assert "rtl/common/db_skid.sv: instantiates db_upward of rtl/ssd" in capsys.readouterr().out


def test_sideways_instance(rtl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Folders inside one don't use each other: the endpoint knows nothing of the root port."""
    (rtl / "pcie" / "rootport" / "db_sideways.sv").write_text("module db_sideways; endmodule\n")
    change(rtl / "pcie" / "endpoint" / "db_pcie_bar.sv", "endmodule", "  db_sideways i_sideways ();\nendmodule")
    assert lint_rtl.main() == 1
    assert "rtl/pcie/endpoint/db_pcie_bar.sv: instantiates db_sideways of rtl/pcie/rootport" in capsys.readouterr().out


def test_upward_package(rtl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(rtl / "nvme" / "db_nvme_prp.sv", "endmodule", "  localparam int X = db_ssd_pkg::FN_W;\nendmodule")
    assert lint_rtl.main() == 1
    assert "rtl/nvme/db_nvme_prp.sv: takes db_ssd_pkg of rtl/ssd" in capsys.readouterr().out


def test_dead_port_parameter_and_constant(rtl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sets, reads = ("_".join(("NOBODY", word, "IT")) for word in ("SETS", "READS"))  # this file counts as a user
    file = rtl / "pcie" / "endpoint" / "db_pcie_post.sv"
    text = file.read_text()
    head, ports = text.split(") (", 1) if ") (" in text else text.split("(\n", 1)
    joint = ") (" if ") (" in text else "(\n"
    file.write_text(f"{head}{joint}\n  output logic nobody_wants_it,\n{ports}")
    change(rtl / "common" / "db_arb_rr.sv", "parameter int", f"parameter int {sets} = 1,\n  parameter int")
    package = rtl / "ssd" / "db_ssd_pkg.sv"
    package.write_text(package.read_text().replace("endpackage", f"  localparam int {reads} = 1;\nendpackage"))
    assert lint_rtl.main() == 1
    out = capsys.readouterr().out
    assert "rtl/pcie/endpoint/db_pcie_post.sv: nobody connects port nobody_wants_it" in out
    assert f"rtl/common/db_arb_rr.sv: nobody sets parameter {sets}" in out
    assert f"rtl/ssd/db_ssd_pkg.sv: nobody reads {reads}" in out
