# SPDX-License-Identifier: Apache-2.0
"""tests/models/order.py: what takes long is at the beginning of both halves, nothing is lost."""

from __future__ import annotations

import order


def test_each_half_begins_with_what_takes_long() -> None:
    names = [
        *(f"tests/python/test_a.py::test_{i}" for i in range(40)),
        *(f"tests/rtl/ssd/test_{f}.py::test_{i}" for f in "abcd" for i in range(3)),
        *(f"tests/system/csd/test_a.py::test_{i}" for i in range(7)),
        *(f"tests/system/ssd/test_a.py::test_{i}" for i in range(11)),
    ]
    found = order.dealt([(name, name) for name in names])
    assert sorted(found) == sorted(names)
    for half in (found[: len(found) // 2], found[len(found) // 2 :]):
        kinds = [name.split("/")[1] for name in half]
        assert list(dict.fromkeys(kinds)) == ["system", "rtl", "python"] and kinds.count("rtl") == 6
    assert len({name.split("/")[2] for name in found[:7]}) == 1, "those of one folder are one worker's"
