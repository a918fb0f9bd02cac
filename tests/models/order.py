# SPDX-License-Identifier: Apache-2.0
"""The order of tests for two workers, so that both have work until the end.

xdist gives each of them half of the tests in their order, and who has done its own takes from the end of the other's.
So each half begins with what takes long, then has its share of the benches, and ends with what is quick.
"""

from __future__ import annotations

from typing import Any

LONG = (
    ("tests/formal/test_formal_ssd.py", "tests/system/csd", "tests/system/vm", "tests/system/recorder",
     "tests/system/test_compare.py"),
    ("tests/system/ssd", "tests/system/host", "tests/system/simulator", "tests/system/vcsd"),
)  # fmt: skip
"""What takes long, and builds simulators that nothing else needs: each of two workers begins with one half."""
BENCHES = ("tests/rtl", "rtl/")


def dealt(named: list[tuple[str, Any]]) -> list[Any]:
    """Those tests in this order, from their names."""
    halves: list[list[Any]] = [[item for name, item in named if name.startswith(long)] for long in LONG]
    rest = [(name, item) for name, item in named if not any(name.startswith(long) for long in LONG)]
    benches = [(name, item) for name, item in rest if name.startswith(BENCHES)]
    files = {f: i % 2 for i, f in enumerate(dict.fromkeys(name.split("::")[0] for name, _ in benches))}
    for name, item in benches:
        halves[files[name.split("::")[0]]].append(item)
    for name, item in rest:
        if not name.startswith(BENCHES):
            min(halves, key=len).append(item)
    return halves[0] + halves[1]
