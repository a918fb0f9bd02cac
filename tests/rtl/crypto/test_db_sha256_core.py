# SPDX-License-Identifier: Apache-2.0
"""db_sha256_core: the published messages of whole blocks (NIST CAVP), random ones, exact times."""

from __future__ import annotations

import hashlib
import random
import re
from pathlib import Path
from typing import Any

import cocotb
import cryptography_vectors
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge


def published() -> list[tuple[bytes, bytes]]:
    """Message and digest."""
    folder = Path(cryptography_vectors.__file__).parent / "hashes" / "SHA2"
    found = []
    for file in ("SHA256ShortMsg.rsp", "SHA256LongMsg.rsp"):
        text = (folder / file).read_text()
        for bits, message, digest in re.findall(r"Len = (\d+)\s+Msg = (\w+)\s+MD = (\w+)", text):
            if int(bits) and int(bits) % 512 == 0:
                found.append((bytes.fromhex(message), bytes.fromhex(digest)))
    return found


async def run(dut: Any, messages: list[bytes], feed: float, drain: float, seed: int) -> list[tuple[bytes, int, int]]:
    """Digest, cycle of the last word, cycle of the digest, for each message."""
    rng = random.Random(seed)
    words = [(int.from_bytes(m[i : i + 4], "little"), i + 4 == len(m), n) for n, m in enumerate(messages)
             for i in range(0, len(m), 4)]  # fmt: skip
    ends: list[int] = []
    out: list[tuple[bytes, int, int]] = []
    cycle = sent = 0
    offered = False
    while len(out) < len(messages):
        offered = offered or (sent < len(words) and rng.random() < feed)
        dut.s_valid.value = int(offered)
        if offered:
            dut.s_word.value, last, tag = words[sent]
            dut.s_last.value, dut.s_tag.value = int(last), tag
        take = rng.random() < drain
        dut.m_ready.value = int(take)
        await ReadOnly()
        moved = offered and dut.s_ready.value == 1
        if dut.m_valid.value == 1 and take:
            assert int(dut.m_tag.value) == len(out)
            out.append((int(dut.m_digest.value).to_bytes(32, "little"), ends[len(out)], cycle))
        if moved:
            if words[sent][1]:
                ends.append(cycle)
            sent, offered = sent + 1, False
        await RisingEdge(dut.clk)
        cycle += 1
        assert cycle < 200_000
    dut.s_valid.value = 0
    return out


@cocotb.test()
async def digests(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    dut.rst.value, dut.s_valid.value, dut.m_ready.value = 1, 0, 0
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    vectors = published()
    assert len(vectors) >= 2
    assert [d for d, _, _ in await run(dut, [m for m, _ in vectors], 1.0, 1.0, 0)] == [d for _, d in vectors]
    rng = random.Random(4)
    messages = [rng.randbytes(64 * rng.randint(1, 9)) for _ in range(20)]
    for feed, drain in ((0.6, 0.01), (1.0, 0.002), (0.2, 1.0)):
        out = await run(dut, messages, feed, drain, 5)
        assert [d for d, _, _ in out] == [hashlib.sha256(m).digest() for m in messages]
    out = await run(dut, messages, 1.0, 1.0, 6)
    assert {came - end for _, end, came in out} == {117}
    for (_, _, a), (_, _, b), m in zip(out, out[1:], messages[1:], strict=False):
        assert b - a == 65 * (len(m) // 64 + 1)


def test_core() -> None:
    bench.run(__file__, "db_sha256_core")
