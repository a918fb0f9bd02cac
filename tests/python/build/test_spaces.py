# SPDX-License-Identifier: Apache-2.0
"""A clone, and a cache, in a folder whose name has a space: what hands files to slang by lines of words."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.build.slang import parse
from doorbell.cli import lint_rtl
from doorbell.synth.design import elaborate

TOP = "db_pcie_rq_mux"


def test_rtl_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOORBELL_CACHE", str(tmp_path / "a cache"))
    clone = tmp_path / "a clone"
    shutil.copytree(paths.RTL, clone / "rtl")
    monkeypatch.setattr(paths, "RTL", clone / "rtl")
    found, _ = lint_rtl.instances((TOP,))
    assert found
    _, compilation = parse(TOP)
    assert compilation is not None and [top.name for top in compilation.getRoot().topInstances] == [TOP]
    pytest.importorskip("pyosys")
    assert TOP in elaborate(TOP, {"DATA_W": 128})
