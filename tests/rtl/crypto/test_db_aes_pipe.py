# SPDX-License-Identifier: Apache-2.0
"""db_aes_pipe and db_aes_iter behind the key store: FIPS-197, random blocks, another key and direction every cycle."""

from __future__ import annotations

import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from csd_keys import SLOT, idle, load, not_busy
from doorbell.compute.operators import Key

FIPS_197 = [
    ("2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"),
    ("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a"),
    ("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "00112233445566778899aabbccddeeff",
     "8ea2b7ca516745bfeafc49904b496089"),
]  # fmt: skip
"""Key, plaintext, ciphertext: appendices B, C.1 and C.3."""


def reference(key: bytes, data: bytes, decrypt: bool) -> bytes:
    cipher = Cipher(algorithms.AES(key), modes.ECB())  # noqa: S305
    engine = cipher.decryptor() if decrypt else cipher.encryptor()
    return engine.update(data)


async def begin(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    idle(dut)
    dut.s_valid.value = dut.s_iter_valid.value = dut.m_iter_ready.value = dut.s_dec.value = 0
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    await not_busy(dut)


@cocotb.test()
async def blocks(dut: Any) -> None:
    await begin(dut)
    enc, dec, split = (os.environ[n] == "1" for n in ("ENC", "DEC", "SPLIT"))
    lanes, slots = len(dut.s_data) // 128, len(dut.key_slots) // SLOT.width
    latency = 29 if split else 15
    rng = random.Random(lanes)
    keys = [bytes.fromhex(k) for k, _, _ in FIPS_197][:slots]
    keys += [rng.randbytes(rng.choice((16, 32))) for _ in range(min(slots, 12) - len(keys))]
    place = rng.sample(range(slots), len(keys))
    place[-1] = slots - 1 if slots - 1 not in place else place[-1]
    for slot, key in zip(place, keys, strict=True):
        await load(dut, slot, Key(key, key))
    # what goes in, and what must come out `latency` later
    work: list[tuple[int, bool, bytes, bytes]] = []
    for i, (_, plain, ciph) in enumerate(FIPS_197[: len(keys)]):
        p, c = bytes.fromhex(plain) * lanes, bytes.fromhex(ciph) * lanes
        work += [(i, False, p, c)] * enc + [(i, True, c, p)] * dec
    for _ in range(300):
        i, data = rng.randrange(len(keys)), rng.randbytes(16 * lanes)
        back = rng.random() < 0.5 if enc and dec else dec
        work.append((i, back, data, reference(keys[i], data, back)))
    due: dict[int, bytes] = {}
    cycle = done = 0
    while work or due:
        go = bool(work) and (cycle < 200 or rng.random() < 0.6)
        dut.s_valid.value = int(go)
        if go:
            i, back, data, result = work.pop(0)
            dut.s_slot.value, dut.s_dec.value, dut.s_data.value = place[i], int(back), int.from_bytes(data, "little")
            due[cycle + latency] = result
        await ReadOnly()
        assert dut.m_valid.value == int(cycle in due)
        if cycle in due:
            assert int(dut.m_data.value).to_bytes(16 * lanes, "little") == due.pop(cycle)
            done += 1
        await RisingEdge(dut.clk)
        cycle += 1
    assert done > 300


@cocotb.test()
async def one_at_a_time(dut: Any) -> None:
    """db_aes_iter: results, latency and interval for both key sizes."""
    await begin(dut)
    rng = random.Random(7)
    slots = len(dut.key_slots) // SLOT.width
    for size, latency, interval in ((16, 12, 11), (32, 16, 15)):
        key = rng.randbytes(size)
        slot = rng.randrange(slots)
        await load(dut, slot, Key(rng.randbytes(size), key))
        for stall in (0.0, 0.7):
            blocks = [rng.randbytes(16) for _ in range(20)]
            sent: list[int] = []
            came: list[int] = []
            cycle = 0
            while len(came) < len(blocks):
                dut.s_iter_valid.value = int(len(sent) < len(blocks))
                if len(sent) < len(blocks):
                    dut.s_iter_slot.value, dut.s_iter_data.value = slot, int.from_bytes(blocks[len(sent)], "little")
                take = rng.random() >= stall
                dut.m_iter_ready.value = int(take)
                await ReadOnly()
                if dut.m_iter_valid.value == 1 and take:
                    out = int(dut.m_iter_data.value).to_bytes(16, "little")
                    assert out == reference(key, blocks[len(came)], False)
                    came.append(cycle)
                if len(sent) < len(blocks) and dut.s_iter_ready.value == 1:
                    sent.append(cycle)
                await RisingEdge(dut.clk)
                cycle += 1
                assert cycle < 5000
            dut.s_iter_valid.value = 0
            if not stall:
                assert came[0] - sent[0] == latency
                assert {b - a for a, b in zip(came, came[1:], strict=False)} == {interval}


@pytest.mark.parametrize(
    ("lanes", "enc", "dec", "slots", "split"),
    [(2, 1, 0, 16, 0), bench.rare(1, 0, 1, 2, 0), bench.rare(1, 1, 1, 5, 0), (1, 1, 1, 64, 1)],
)
def test_pipe(lanes: int, enc: int, dec: int, slots: int, split: int) -> None:
    bench.run(
        __file__, "csd_pipe_tb", {"LANES": lanes, "ENC": enc, "DEC": dec, "KEY_SLOTS": slots, "SPLIT": split},
        extra_sources=("tests/rtl/tb/csd_pipe_tb.sv",),
        env={"ENC": str(enc), "DEC": str(dec), "SPLIT": str(split)},
    )  # fmt: skip
