# SPDX-License-Identifier: Apache-2.0
"""What is taken out of Verilator's output before it is compiled; how many compilers run."""

from __future__ import annotations

from pathlib import Path

import pytest
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
