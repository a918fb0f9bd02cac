# SPDX-License-Identifier: Apache-2.0
"""What simulators count of the RTL: nothing, its lines (blocks and branches), or its toggles, too, which take many
times as long."""

from __future__ import annotations

import os

OPTIONS: dict[str, tuple[str, ...]] = {
    "": (),
    "lines": ("--coverage-line",),
    "toggles": ("--coverage-line", "--coverage-toggle"),
}
"""Verilator's, by what is counted."""


def wanted() -> str:
    """What the tests ask for: `./doorbell test --coverage`, `--toggles`."""
    return os.environ.get("DOORBELL_COVERAGE", "")
