# SPDX-License-Identifier: Apache-2.0
"""What is taken out of Verilator's output before it is compiled; how many compilers run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from doorbell.build import compiler
from doorbell.build.compiler import jobs, leave_out_comparisons
from doorbell.errors import UserError

HEADER = """struct {name} {{
    CData/*0:0*/ __PVT__a;

    bool operator==(const {name}& rhs) const {{
        return __PVT__a == rhs.__PVT__a;
    }}
    bool operator!=(const {name}& rhs) const {{
        return !(*this == rhs);
    }}
{less}}};
"""
LESS = """
    bool operator<(const {name}& rhs) const {{
        return std::tie(__PVT__a, __PVT__b)
            <  std::tie(rhs.__PVT__a, rhs.__PVT__b);
    }}
"""


def test_structs_lose_their_order_and_nothing_else(tmp_path: Path) -> None:
    names = ("first", "second")
    file = tmp_path / "Vtop___024root.h"
    file.write_text("".join(HEADER.format(name=n, less=LESS.format(name=n)) for n in names))
    leave_out_comparisons(tmp_path)
    assert file.read_text() == "".join(HEADER.format(name=n, less="\n") for n in names)


def test_two_that_compile_the_same_at_once_do_not_meet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As processes of two containers with one cache, whose numbers are often the same."""
    both = threading.Barrier(2)

    def stand_in(command: list[str], what: str, cwd: Path | None = None) -> str:
        if "-o" in command:
            Path(command[command.index("-o") + 1]).write_text("object")
            both.wait(10)
        return "int x;"

    monkeypatch.setattr(compiler, "tool", stand_in)
    monkeypatch.setenv("DOORBELL_CACHE", str(tmp_path))
    (tmp_path / "build").mkdir()
    units = [compiler.Unit(tmp_path / name, []) for name in ("a.cpp", "b.cpp")]
    with ThreadPoolExecutor(2) as pool:
        made = set(pool.map(lambda unit: compiler.compile_object(unit, tmp_path), units))
    assert [file.read_text() for file in made] == ["object"]
    assert list((tmp_path / "build").iterdir()) == list(made)


def test_how_many_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, wanted in (("3", 3), ("1", 1)):
        monkeypatch.setenv("DOORBELL_JOBS", said)
        assert jobs() == wanted
    for said in ("", None):
        monkeypatch.setenv("DOORBELL_JOBS", said) if said is not None else monkeypatch.delenv("DOORBELL_JOBS")
        assert jobs() >= 1
    for said in ("0", "-1", "all", "1.5", "9" * 99):
        monkeypatch.setenv("DOORBELL_JOBS", said)
        with pytest.raises(UserError, match="DOORBELL_JOBS=.*must be a number from 1 to 1024"):
            jobs()
