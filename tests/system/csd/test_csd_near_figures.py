# SPDX-License-Identifier: Apache-2.0
"""Rates of near-storage commands: those of docs/csd/near-storage.md, and on the drive that other tests have."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from csd_drive import NARROW, PARAMS, rates_of

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "examples"))
near_storage = importlib.import_module("near_storage")

pytestmark = pytest.mark.rtl


def test_a_row_a_cycle() -> None:
    """128 bits at 250 MHz are 4 GB/s, which the link could not carry."""
    rows = near_storage.measure((65536,), **NARROW, params=PARAMS)
    by_name = {row.what: row for row in rows}
    assert by_name["Read"].gb_per_s < 3.6
    looks = ("Grep, counts", "Aggregate", "Csv", "CRC-32C")
    for name in (*looks, "Filter and Aggregate", "Filter and Grep", "Decrypt, Filter, Aggregate"):
        assert 3.95 < by_name[name].gb_per_s <= 4.01
        assert by_name[name].to_host < 0.002
    cores = PARAMS["NEAR_HASHES"]
    hashed = by_name["SHA-256, 16 messages"].gb_per_s
    assert 0.9 < hashed / (cores * 0.25 * 64 / 65) <= 1, "64 bytes in 65 cycles each, at 250 MHz"


@pytest.mark.nightly
def test_the_page() -> None:
    page = (ROOT / "docs" / "csd" / "near-storage.md").read_text()
    told = rates_of("near-storage.md")
    found: dict[str, list[tuple[str, str]]] = {}
    digests = re.search(r"SHA-256 of 16 messages at once comes to\s+([\d.]+) GB/s", page)
    for row in near_storage.measure():
        if row.what.startswith("SHA-256"):
            assert digests
            assert digests[1] == f"{row.gb_per_s:.2f}"
            continue
        found.setdefault(row.what, []).append((f"{row.gb_per_s:.2f}", f"{100 * row.to_host:.1f}"))
    for moved in near_storage.stored():
        found.setdefault(moved.what, []).append((f"{moved.gb_per_s:.2f}", f"{100 * moved.on_link:.1f}"))
    assert found == told
