# SPDX-License-Identifier: Apache-2.0
"""What the streams of a card can carry, beside sums made by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from doorbell.bench.card import bytes_a_beat

ENTRIES = {"ssd0.up.MWr": (1, 16), "ssd0.down.CplD": (1, 64)}  # a completion entry; a submission entry that is read
DATA = {"read": "ssd0.up.MWr", "write": "ssd0.down.CplD"}


def of_a_command(what: str, mps: int, requests: int) -> Counter[str]:
    """TLPs of one 4 KiB command, with two doorbells of the host. requests: reads of the SSD, that of its entry too."""
    moved: Counter[str] = Counter()
    for name in ENTRIES:
        tlps, payload = ENTRIES[name]
        if name == DATA[what]:
            tlps, payload = tlps + 4096 // mps, payload + 4096
        moved[f"{name}.tlps"], moved[f"{name}.payload"] = tlps, payload
    moved["down.MWr.tlps"] = moved["ssd0.up.MWr.tlps"] + 2
    moved["up.CplD.tlps"] = moved["ssd0.down.CplD.tlps"]
    moved["down.MRd.tlps"] = requests
    return moved


@pytest.mark.parametrize(
    "what, data_w, mps, requests, beats",
    [
        ("read", 512, 256, 1, 16 * 5 + 1 + 2 + 1),  # 272 bytes a TLP; entry, doorbells, request
        ("read", 512, 512, 1, 8 * 9 + 1 + 2 + 1),  # 528
        ("read", 256, 256, 1, 16 * 9 + 1 + 2 + 1),
        ("write", 512, 256, 9, 16 * 5 + 2),  # 268; an entry of 76 bytes; CQ has less
        ("write", 256, 256, 9, 16 * 9 + 3),
    ],
)
def test_what_a_stream_carries(what: str, data_w: int, mps: int, requests: int, beats: int) -> None:
    found = bytes_a_beat(of_a_command(what, mps, requests), 1, data_w // 8, data_w // 8, mps)
    assert found == pytest.approx(4096 / beats)
