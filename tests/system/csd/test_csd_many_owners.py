# SPDX-License-Identifier: Apache-2.0
"""db_csd with a PF and 16 VFs at work at once, each with a namespace, and a key that it has loaded itself."""

from __future__ import annotations

import pytest
from csd_functions import Work, at_once, keyed, locked, unharmed
from doorbell.compute import drive as compute
from doorbell.compute.operators import Op
from traffic import MakeDrive

pytestmark = [pytest.mark.rtl, pytest.mark.nightly]  # its drive has 17 functions
NUM_FN = 17
PF_SLOTS = 16  # of 32; a VF has one


def test_seventeen_keys(make_drive: MakeDrive) -> None:
    """The media holds what the `cryptography` package makes of each one's data. Keys go with their function."""
    works = keyed(make_drive, (Op.AES_XTS, Op.AES_CTR) * 8 + (Op.AES_XTS,))
    pf = works[0].drive
    assert len({work.keys.key1 for work in works}) == NUM_FN
    at_once(works, 4)
    for work in works:
        work.check(pf)
    gone: list[Work] = [works[1], works[8], works[16]]
    left = [work for work in works if work not in gone]
    before = compute.state(pf)
    for work in gone:
        work.drive.flr()
        work.drive.start(queues=2, entries=64)
    at_once(left, 2)
    after = compute.state(pf)
    slots = {PF_SLOTS - 1 + (work.nsid - 1) for work in gone}
    assert (before.xts | before.ctr) - (after.xts | after.ctr) == slots and after.bound == before.bound
    for work in gone:
        locked(work.drive, work.nsid)
        work.keys.load(work.drive, 1)
    unharmed(*works)
    for work in works:
        work.check(pf)
