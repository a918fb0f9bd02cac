# SPDX-License-Identifier: Apache-2.0
"""Functions of an endpoint as the hard block numbers them: 0 the PF, then its VFs in a row (PG213, "SRIOV Config Tab").

A test says which function it means by its place in vectors with a bit for each: 0 the PF, 1 VF 0, 2 VF 1, ...
"""

from __future__ import annotations

FIRST_VF = 4


def number(place: int) -> int:
    """The number that the function at a place has in all that travels."""
    return FIRST_VF + place - 1 if place else 0


def place_of(fn: int, num_fn: int) -> int | None:
    """The place of the function with a number, if there is one."""
    return next((p for p in range(num_fn) if number(p) == fn), None)
