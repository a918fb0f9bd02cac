# SPDX-License-Identifier: Apache-2.0
"""db_vcsd where TLPs have other sizes: the card and its SSDs have one MPS and one MRRS, which the host sets."""

from __future__ import annotations

import pytest
from cards import PARAMS, SIZE, one_of_all
from doorbell.nvme import namespaces
from test_vcsd_drive import data_is_on_the_ssds
from traffic import MakeDrive

pytestmark = pytest.mark.rtl


@pytest.mark.parametrize(("mps", "mrrs"), [(128, 128), (512, 512), (512, 4096)])
def test_data_is_on_the_ssds(make_drive: MakeDrive, mps: int, mrrs: int) -> None:
    """Both ways, and deletion, for which the card asks its SSDs to zero."""
    card = make_drive(top="db_vcsd", params=PARAMS, media_size=PARAMS["NUM_SSD"] * SIZE, mps=mps, mrrs=mrrs)
    card.start(queues=2, entries=64)
    one_of_all(card)
    data_is_on_the_ssds(card, stripe=False)
    namespaces.delete(card, 1)
