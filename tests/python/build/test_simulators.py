# SPDX-License-Identifier: Apache-2.0
"""Simulators as the cache has them: what they are known by is what they are made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from doorbell.build import simulators
from doorbell.errors import UserError

TOP = "module db_x #(parameter int DATA_W = 128) (input logic clk);\nendmodule\n"


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiles: Callable[[], object]) -> list[list[str]]:
    """For Verilator and compiler, that `compiles` once; how Verilator was called."""
    calls = list[list[str]]()

    def translate(command: list[str], *_: object, **__: object) -> str:
        calls.append(command)
        Path(command[command.index("--Mdir") + 1]).mkdir()
        return ""

    def link(obj: Path, runtime: list[Path], defines: list[str], library: Path, sanitize: bool) -> None:
        library.touch()
        compiles()

    monkeypatch.setenv("DOORBELL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(simulators, "regs", lambda: tmp_path / "registers")
    monkeypatch.setattr(simulators, "tool", translate)
    monkeypatch.setattr(simulators, "settle_once", lambda obj: None)
    monkeypatch.setattr(simulators, "link", link)
    return calls


def test_one_of_sources_that_changed_meanwhile_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who goes back to the old sources would get the simulator of the new ones."""
    file = tmp_path / "db_x.sv"
    file.write_text(TOP)
    edits = [TOP + "// edited while it is compiled\n", TOP]
    stand_in(tmp_path, monkeypatch, lambda: file.write_text(edits.pop(0)))
    with pytest.raises(UserError, match="sources have changed"):
        simulators.simulator("db_x", extra=[file])
    file.write_text(TOP)
    assert simulators.simulator("db_x", extra=[file]).exists() and not edits


def test_clocks_rest_but_not_in_a_waveform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (file := tmp_path / "db_x.sv").write_text(TOP)
    calls = stand_in(tmp_path, monkeypatch, lambda: None)
    for trace in (False, True, "fst"):
        simulators.simulator("db_x", extra=[file], trace=trace)
    monkeypatch.setenv("DOORBELL_CLOCKS_RUN", "1")
    simulators.simulator("db_x", extra=[file], trace=False)
    assert ["-DDB_CLOCKS_REST" in call for call in calls] == [True, False, False, False]
