# SPDX-License-Identifier: Apache-2.0
"""docs/registers.md is what regs/*.rdl generate."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "regs"))
import generate  # noqa: E402


def test_reference_is_up_to_date(tmp_path: Path) -> None:
    generate.generate(tmp_path)
    assert (ROOT / "docs" / "registers.md").read_text() == generate.reference(tmp_path), (
        "docs/registers.md is old: run `./doorbell build --only reference`"
    )
