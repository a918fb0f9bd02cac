# SPDX-License-Identifier: Apache-2.0
"""Namespaces of memory and programs of db_vcsd (docs/csd/programs.md): beside blocks that are on SSDs."""

from __future__ import annotations

import random

import pytest
from cards import PARAMS, SIZE, one_of_all
from doorbell.compute.near import Aggregate, ColumnType, Filter, Predicate
from doorbell.compute.programs import Blocks, Programs
from doorbell.nvme.constants import NvmOpc, SlmOpc
from doorbell.nvme.vendor import NearComparison
from traffic import MakeDrive

pytestmark = [pytest.mark.rtl, pytest.mark.nightly]
KIB = 1 << 10


def test_beside_blocks_on_ssds(make_drive: MakeDrive) -> None:
    """Commands of memory, copies to it, programs and Reads of blocks, all under way together; each gives its own."""
    rng = random.Random(71)
    params = PARAMS | {"SGL": 1, "CMB_LOG2": 21, "SLM": 1}
    drive = make_drive(top="db_vcsd", params=params, media_size=PARAMS["NUM_SSD"] * SIZE)
    drive.start(queues=2, entries=64)
    one_of_all(drive)
    drive.start(queues=2, entries=64, all_sets=True)
    own = Programs(drive)
    blocks, table = rng.randbytes(64 * KIB), rng.randbytes(64 * KIB)
    drive.write(0, blocks)
    own.write(0, table)
    programs = (
        Filter(16, (Predicate(ColumnType.U8, 0, NearComparison.LESS, 0x80),)), Aggregate(ColumnType.U32, 16, 4),
    )  # fmt: skip
    rsids = []
    for pind, program in enumerate(programs):
        own.load(pind, program.program())
        own.activate(pind)
        rsids.append(own.create_ranges((0, 64 * KIB), ((256 + 128 * pind) * KIB, 64 * KIB if pind == 0 else 64)))
    for _ in range(4):
        under_way, written = [], []
        for i in range(12):
            qid, at = 1 + i % 2, 512 * rng.randrange(64)
            pind = i % 2
            under_way.append((own.submit(pind, rsids[pind], 64 * KIB, qid=qid), None))
            buffer = drive.buffer(8 * KIB, scattered=True)
            under_way.append((drive.submit(qid, NvmOpc.READ, at // 512, 15, buffer), blocks[at:][: 8 * KIB]))
            buffer = drive.buffer(8 * KIB, offset=4 * rng.randrange(1024))
            under_way.append((own.move(SlmOpc.READ, at, 8 * KIB, buffer, qid=qid), table[at:][: 8 * KIB]))
            data, place = rng.randbytes(8 * KIB), (1024 + 8 * i) * KIB
            buffer = drive.buffer(8 * KIB, scattered=True)
            buffer.write(data)
            under_way.append((own.move(SlmOpc.WRITE, place, 8 * KIB, buffer, qid=qid), None))
            written.append((place, data))
            sources = [Blocks(1, rng.randrange(120), 8), Blocks(1, rng.randrange(120), 8)]
            place, list_at = (1536 + 8 * i) * KIB, drive.buffer(64)
            under_way.append((own.submit_copy(place, 8 * KIB, sources, list_at, qid=qid), None))
            written.append((place, b"".join(blocks[512 * s.slba :][: 4 * KIB] for s in sources)))
        drive.wait([command for command, _ in under_way])
        for command, want in under_way:
            command.check()
            assert want is None or (command.buffer is not None and command.buffer.read()[: len(want)] == want)
        for place, data in written:
            assert own.read(place, len(data)) == data
        for pind, program in enumerate(programs):
            result = program.result(table)
            assert own.read((256 + 128 * pind) * KIB, len(result)) == result
