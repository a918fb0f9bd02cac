# SPDX-License-Identifier: Apache-2.0
"""A card of 512 bits, whose CQ and CC straddle: what hosts write is on the SSDs and comes back, from any place, through
all functions at once, with pauses on all streams; and the simulator's hard block finds nothing wrong."""

from __future__ import annotations

import random

import pytest
from doorbell.bench.card import CardSetup
from doorbell.bench.drive import CARD_FN
from doorbell.bench.functions import Functions, bring_up
from doorbell.bench.jobs import Job
from doorbell.bench.ssds import SsdSetup
from doorbell.device.opening import check_clean, open_sim
from doorbell.nvme.constants import NvmOpc

pytestmark = [pytest.mark.rtl, pytest.mark.nightly]  # with 4 SSDs the simulator of test_vcsd_bench.py
PARAMS: dict[str, int | str] = {"NUM_NS": CARD_FN, "CQ_CC_STRADDLE": 1}
BLOCKS = (1, 2, 7, 8, 9, 16, 33, 64, 256)


@pytest.mark.parametrize(("ssds", "options"), [
    (4, {}),
    (4, {"stall_pct": 20, "completion_jitter_ns": 900, "completion_bytes": "random"}),
    (4, {"mps": 128}),
    (4, {"mps": 512, "stall_pct": 5}),
])  # fmt: skip
def test_data_of_all_functions(ssds: int, options: dict[str, int | str]) -> None:
    setup = CardSetup(SsdSetup(ssds))
    sim = open_sim(top="db_vcsd", link=setup.link, data_w=512, num_fn=setup.num_fn,
                   params=PARAMS | {"NUM_SSD": ssds}, **setup.ssds.options(), **options)  # fmt: skip
    members = bring_up(sim, Functions(setup.num_fn, True), [[Job(bs=4096, iodepth=32, numjobs=1)]])
    rng = random.Random(ssds)
    for _ in range(3):
        wrote = []
        for member in members:
            drive = member.drive
            at = rng.randrange(64)
            for blocks in rng.sample(BLOCKS, len(BLOCKS)):
                buffer = drive.buffer(blocks * 512, scattered=rng.random() < 0.5, offset=4 * rng.randrange(1024))
                data = rng.randbytes(blocks * 512)
                buffer.write(data)
                drive.submit(1, NvmOpc.WRITE, at, blocks - 1, buffer)
                wrote.append((drive, at, data))
                at += blocks
            drive.ring()
        for member in members:
            member.drive.wait()
        for drive, at, data in wrote:
            assert drive.read(at, len(data) // 512) == data
    check_clean(sim)
    sim.close()
