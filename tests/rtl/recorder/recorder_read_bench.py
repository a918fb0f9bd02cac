# SPDX-License-Identifier: Apache-2.0
"""What the tests of db_recorder_core's read-out share: a recorder that is ready, a read-out to its end, and the packets
of the host as the DUNE NvmeStorage manual has them."""

from __future__ import annotations

import os
from typing import Any

from recorder_model import BLOCK, Bench

N = int(os.environ.get("REC_N", "2"))
DATA = int(os.environ.get("REC_DATA", "128"))
FULL = int(os.environ.get("REC_FULL", "1"))
TURNS = int(os.environ.get("REC_TURNS", "60"))  # resets under entries
BYTES = BLOCK if FULL else 128


async def ready(dut: Any, **more: Any) -> Bench:
    b = Bench(dut, N, DATA, 256, **more)
    b.packets_on = True
    await b.start()
    return b


async def read_out(b: Bench, start: int, count: int, control: int = 1) -> None:
    await b.write(0x88, start)
    await b.write(0x8C, count)
    await b.write(0x80, control)
    for i in range(N):
        await b.until(0x184 + 0x100 * i, 3, 2, tries=1500)


def blocks_of(b: Bench, count: int, before: int = 0) -> list[bytes]:
    """The data of the packets in order of their drives, headers checked (manual, 6.4 and 8). before: bytes of each
    drive that its sequence numbers count already."""
    data = [b""] * N
    for p in b.packets:
        address, zero, request, tag = p[:4]
        drive = address >> 28
        assert address >> 20 & 0xFF == 0x1F, "stream 1 (host), block data"
        assert address & 0xFFFFF == before + len(data[drive]) & 0xFFFFF, "sequence"
        assert zero == 0 and tag == 0
        assert request == 1 << 11 | BYTES // 4
        assert len(p) == 4 + BYTES // 4
        data[drive] += b"".join(v.to_bytes(4, "little") for v in p[4:])
    assert all(len(d) == count * BLOCK for d in data)
    return data


def request(drive: int, stream: int, address: int, kind: int, count: int, tag: int, data: list[int]) -> list[int]:
    return [drive << 28 | stream << 24 | address, 0, 1 << 16 | kind << 11 | count, tag, *data]


def reply(address: int, count: int, tag: int, data: list[int], status: int = 0, error: int = 2) -> list[int]:
    error = error if status else 0  # PG213, error code of a completion: 2, ended in UR; 9, timed out
    return [4 * count << 16 | error << 12 | address & 0xFFF, 1 << 16 | status << 11 | count, 0x80000000 | tag, *data]
