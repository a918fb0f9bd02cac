# SPDX-License-Identifier: Apache-2.0
"""What is taken out of Verilator's output before it is compiled."""

from __future__ import annotations

from pathlib import Path

from doorbell.build.compiler import leave_out_comparisons

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
