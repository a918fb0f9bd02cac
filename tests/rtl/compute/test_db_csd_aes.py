# SPDX-License-Identifier: Apache-2.0
"""db_csd_aes with db_csd_keys: published vectors, random commands against OpenSSL's AES, rate, latency, key errors."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from typing import Any

import aes_vectors
import cocotb
import pytest
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from csd_bench import Row, assert_full_rate, command_rows, random_context, run_rows, start, to_bytes
from csd_keys import BUS, SLOT, erase, idle, load, not_busy
from doorbell.compute.operators import Context, Key, Op
from doorbell.compute.operators.aes import AesCtr, AesXts, decrypt_block, encrypt_block

CONFIG = os.environ.get("CONFIG", "256 1 1 1 0")


def config() -> tuple[int, bool, bool, bool, bool]:
    """DATA_W, and whether DIR is write, CTR, XTS, SPLIT"""
    width, write, has_ctr, has_xts, split = map(int, CONFIG.split())
    return width, bool(write), bool(has_ctr), bool(has_xts), bool(split)


def base_latency() -> int:
    _, _, has_ctr, has_xts, split = config()
    return 17 + 2 * has_ctr + has_xts + 14 * split


async def begin(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    idle(dut)
    await start(dut)
    await not_busy(dut)


def random_key(rng: random.Random) -> Key:
    size = rng.choice((16, 32))
    iv = rng.choice((rng.randbytes(16), b"\xff" * 15 + rng.randbytes(1)))
    return Key(rng.randbytes(size), rng.randbytes(size), iv)


def software(key: Key | None, c: Context, data: bytes) -> tuple[bytes, bool]:
    """What must come out, and whether with key_err."""
    _, write, has_ctr, has_xts, _ = config()
    if c.op not in (Op.AES_CTR, Op.AES_XTS):
        return data, False
    able = key is not None and (has_ctr and key.iv if c.op == Op.AES_CTR else has_xts and key.k2)
    if key is None or not able:
        return bytes(len(data)), True
    if c.op == Op.AES_CTR:
        assert key.iv
        out = aes_vectors.ctr(key.k1, key.iv, c.lba * c.block // 16 + (c.nsid - 1 << 120), data)
    else:
        assert key.k2
        out = b"".join(
            aes_vectors.xts(key.k1 + key.k2, (c.lba + i) % (1 << 64), data[i * c.block : (i + 1) * c.block], not write)
            for i in range(len(data) // c.block)
        )
    if not write:  # zeros on the media are read as zeros
        out = b"".join(out[i : i + 16] if any(data[i : i + 16]) else bytes(16) for i in range(0, len(data), 16))
    return out, False


def ops() -> list[Op]:
    _, _, has_ctr, has_xts, _ = config()
    return [Op.AES_CTR] * has_ctr + [Op.AES_XTS] * has_xts


@cocotb.test()
async def vectors(dut: Any) -> None:
    """SP 800-38A F.5, IEEE 1619 annex B, and some of XTSVS (all of them: the test of the model)."""
    width, write, has_ctr, has_xts, _ = config()
    await begin(dut)
    rng = random.Random(3)
    todo = list(aes_vectors.ctr_38a()) * has_ctr
    if has_xts:
        todo += list(aes_vectors.ieee_1619())
        todo += rng.sample([*aes_vectors.xtsvs(128), *aes_vectors.xtsvs(256)], 16)
    for at in range(0, len(todo), 16):
        rows: list[Row] = []
        some = todo[at : at + 16]
        for slot, v in enumerate(some):
            await load(dut, slot, v.key)
            cipher = v.cipher.ljust(512, b"\x77")
            rows += command_rows(replace(v.context, key_slot=slot, write=write), v.plain if write else cipher, width)
        out, _, _ = await run_rows(dut, rows, 0.8, 0.8, at)
        data = to_bytes(out, width)
        for slot, v in enumerate(some):
            want = v.cipher if write else v.plain[: len(v.cipher)]
            assert data[512 * slot : 512 * slot + len(want)] == want, v.name


@cocotb.test()
async def commands(dut: Any) -> None:
    """Random commands of all operators, keys of both sizes, slots without a key, random stalls."""
    width, write, _, _, _ = config()
    await begin(dut)
    rng = random.Random(width)
    keys: dict[int, Key] = {}
    for slot in rng.sample(range(16), 8):
        keys[slot] = random_key(rng)
        if rng.random() < 0.2:
            keys[slot] = replace(keys[slot], iv=None)
        elif rng.random() < 0.2:
            keys[slot] = replace(keys[slot], k2=None)
        await load(dut, slot, keys[slot])
    for seed, (feed, drain) in enumerate(((0.7, 0.7), (1.0, 0.5), (0.5, 1.0), (1.0, 1.0))):
        rows: list[Row] = []
        expected: list[Row] = []
        while len(rows) < 40960 // width:
            c = random_context(rng, [Op.PASS, Op.SHA256, *ops() * 3], 18, write)
            if rng.random() < 0.6:
                c = replace(c, key_slot=rng.choice(list(keys)))
            c = replace(c, lbads=9 if rng.random() < 0.8 else c.lbads)
            data = bytearray(rng.randbytes(c.block * rng.randint(1, 2)))
            for _ in range(3):
                at = 16 * rng.randrange(len(data) // 16)
                data[at : at + 16] = bytes(16) if rng.random() < 0.7 else bytes(15) + b"\x01"
            rows += command_rows(c, bytes(data), width)
            out_data, error = software(keys.get(c.key_slot), c, bytes(data))
            expected += command_rows(c, out_data, width, error)
        out, _, _ = await run_rows(dut, rows, feed, drain, seed)
        assert out == expected


@cocotb.test()
async def rate(dut: Any) -> None:
    """One beat a cycle through commands of one block each, every one of another slot and mode; exact latencies."""
    width, write, _, has_xts, _ = config()
    await begin(dut)
    rng = random.Random(5)
    keys = {slot: random_key(rng) for slot in range(6)}
    for slot, key in keys.items():
        await load(dut, slot, key)
    keys[0], keys[1] = Key(b"k" * 32, b"l" * 32, b"i" * 16), Key(b"k" * 16, b"l" * 16, b"i" * 16)
    await load(dut, 0, keys[0])
    await load(dut, 1, keys[1])
    # latency of the first beat
    for op, slot, more in ((Op.PASS, 0, 0), (Op.AES_CTR, 0, 0), (Op.AES_XTS, 0, 17), (Op.AES_XTS, 1, 13)):
        if op == Op.PASS or op in ops():
            c = Context(op, lba=77, key_slot=slot, write=write)
            data = rng.randbytes(512)
            out, went, came = await run_rows(dut, command_rows(c, data, width))
            assert to_bytes(out, width) == software(keys[slot], c, data)[0]
            assert came[0] - went[0] == base_latency() + more, f"{op.name} slot {slot}"
            assert_full_rate(came)
    # rate
    rows: list[Row] = []
    expected = b""
    for i in range(110):
        op = Op.AES_XTS if has_xts and i < 40 else rng.choice([Op.PASS, *ops() * 2])
        c = Context(op, lba=rng.getrandbits(40), key_slot=rng.randrange(6) if i > 3 else 0, write=write)
        data = rng.randbytes(512)
        rows += command_rows(c, data, width)
        expected += software(keys[c.key_slot], c, data)[0]
    out, went, came = await run_rows(dut, rows)
    assert to_bytes(out, width) == expected
    assert_full_rate(went)
    assert_full_rate(came)


@cocotb.test()
async def keys(dut: Any) -> None:
    """What reaches the round-key memories; erase, overwrite and reset leave zeros; times."""
    if CONFIG != "256 1 1 1 0":
        return
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    memory: dict[tuple[int, int, int], int] = {}

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk)
            word = BUS.unpack(int(dut.key_bus.value))
            if word["valid"]:
                memory[word["kind"], word["slot"], word["stage"]] = word["data"]

    def slots() -> list[dict[str, int]]:
        number = int(dut.key_slots.value)
        return [SLOT.unpack(number >> SLOT.width * i) for i in range(len(dut.key_slots) // SLOT.width)]

    cocotb.start_soon(watch())
    idle(dut)
    await start(dut)
    took = await not_busy(dut)
    assert took == 16 * 64 + 32
    await RisingEdge(dut.clk)
    assert len(memory) == 16 * 64 and not any(memory.values()), "reset does not erase"
    rng = random.Random(11)
    for slot, size, key_k2, key_iv in ((3, 32, 1, 1), (3, 16, 1, 1), (15, 16, 0, 1), (0, 32, 1, 0)):
        key = Key(rng.randbytes(size), rng.randbytes(size) if key_k2 else None, rng.randbytes(16) if key_iv else None)
        took = await load(dut, slot, key)
        await RisingEdge(dut.clk)
        words = 4 * (size // 4 + 7)
        assert took == 64 + 64 + (words + 2) * (1 + key_k2) + 6 + 1 + 32, took
        expected = {}
        for kind, k in ((0, key.k1), (2, key.k2)):
            if k:
                for i, r in enumerate(aes_model_keys(k)):
                    expected[kind, slot, i if i == 0 or size == 32 else i + 4] = r
        for i, r in enumerate(aes_inverse_keys(key.k1)):
            expected[1, slot, i if i == 0 or size == 32 else i + 4] = r
        if key.iv:
            expected[3, slot, 0] = int.from_bytes(key.iv, "little")
        assert {k: v for k, v in memory.items() if k[1] == slot and v} == expected
        assert slots()[slot] == {"ctr": key_iv, "xts": key_k2, "short_key": size == 16}
    # the staging memory was wiped: a load without new words is a key of zeros
    await not_busy(dut)
    await load(dut, 9, Key(b"", None, b""))
    await RisingEdge(dut.clk)
    assert memory[0, 9, 0] == 0 and memory[3, 9, 0] == 0
    took = await erase(dut, 3)
    await RisingEdge(dut.clk)
    assert took == 64 + 64
    assert not any(v for k, v in memory.items() if k[1] == 3)
    assert any(v for k, v in memory.items() if k[1] == 15)
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    assert not any(slot["ctr"] or slot["xts"] for slot in slots())
    dut.rst.value = 0
    await RisingEdge(dut.clk)
    await not_busy(dut)
    await RisingEdge(dut.clk)
    assert not any(memory.values())


def aes_model_keys(key: bytes) -> list[int]:
    from doorbell.compute.operators.aes import round_keys

    return [int.from_bytes(r, "little") for r in round_keys(key)]


def aes_inverse_keys(key: bytes) -> list[int]:
    """Round keys of the equivalent inverse cipher, FIPS-197 figure 15."""
    from doorbell.compute.operators.aes import _mix, round_keys

    k = round_keys(key)[::-1]
    return [int.from_bytes(r if i in (0, len(k) - 1) else _mix(r, (14, 11, 13, 9)), "little") for i, r in enumerate(k)]


@cocotb.test()
async def erased_under_way(dut: Any) -> None:
    """A slot is erased while beats that use it are inside and waiting: each is right or is zeros with key_err."""
    width, write, _, _, _ = config()
    await begin(dut)
    rng = random.Random(13)
    for attempt, op in enumerate(ops() * 2):
        key = random_key(rng)
        await load(dut, 5, key)
        c = Context(op, lba=rng.getrandbits(30), key_slot=5, write=write)
        data = rng.randbytes(512 * 16)
        right = command_rows(c, software(key, c, data)[0], width)
        wrong = command_rows(c, bytes(len(data)), width, True)

        async def later(cycles: int) -> None:
            for _ in range(cycles):
                await RisingEdge(dut.clk)
            await erase(dut, 5)

        task = cocotb.start_soon(later(60 + 10 * attempt))
        out, _, _ = await run_rows(dut, command_rows(c, data, width), 0.9, 0.5 if attempt % 2 else 1.0, attempt)
        await task
        bad = [i for i, r in enumerate(out) if r == wrong[i]]
        assert bad and bad == list(range(bad[0], len(out))) and bad[0] > 0
        assert out[: bad[0]] == right[: bad[0]]


@pytest.mark.parametrize(
    "config", ["256 1 1 1 0", "128 0 0 1 1", *map(bench.rare, ("128 0 1 1 0", "512 1 0 1 0", "128 0 1 0 0"))]
)
def test_aes(config: str) -> None:
    width, write, has_ctr, has_xts, split = config.split()
    bench.run(
        __file__, "csd_aes_tb", {"DATA_W": int(width), "DIR": int(write), "CTR": int(has_ctr), "XTS": int(has_xts),
                                 "SPLIT": int(split)},
        extra_sources=("tests/rtl/tb/csd_aes_tb.sv",), env={"CONFIG": config},
    )  # fmt: skip


def test_model() -> None:
    """The reference model against all vectors."""
    ctr_model, xts_model = AesCtr(), AesXts()
    todo = [*aes_vectors.ctr_38a(), *aes_vectors.ieee_1619(), *aes_vectors.xtsvs(128), *aes_vectors.xtsvs(256)]
    assert len(todo) == 2 + 14 + 600 + 600
    for v in todo:
        model = ctr_model if v.context.op == Op.AES_CTR else xts_model
        model.keys = {0: v.key}
        n = v.published
        assert model.apply(v.plain[:n], v.context) == v.cipher[:n], v.name
        assert model.apply(v.cipher[:n], replace(v.context, write=False)) == v.plain[:n], v.name
    assert decrypt_block(b"k" * 32, encrypt_block(b"k" * 32, b"p" * 16)) == b"p" * 16
    ctr_model.keys = {}
    assert ctr_model.apply(b"x" * 16, Context(Op.AES_CTR)) == bytes(16)
