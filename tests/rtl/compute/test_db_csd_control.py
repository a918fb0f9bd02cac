# SPDX-License-Identifier: Apache-2.0
"""db_csd_control: keys go through, results are read in order, nothing of a key can be read."""

from __future__ import annotations

import random
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from csd_keys import CMD, SLOT, WORD
from doorbell import build
from structs import layout

BINDING, RESULT = layout("db_csd_pkg", "binding_t"), layout("db_csd_pkg", "result_t")
WHOSE = layout("db_csd_pkg", "res_cmd_t")
Result = tuple[int, int, dict[str, int]]
KEY_CTL, KEY_STATUS, KEY_SLOT, RES, RES_NEXT, BIND = 4, 8, 12, 16, 20, 24
RES_DIGEST, RES_CMD, RES_STATUS, KEY_WORD = 32, 64, 0x54, 128


async def begin(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, "ns").start())
    for s in (dut.s_req, dut.s_wr, dut.s_addr, dut.s_wdata, dut.m_cmd_ready, dut.busy, dut.test_failed,
              dut.key_slots, dut.reducing, dut.s_res_valid, dut.s_res, dut.s_res_cmd, dut.res_status):  # fmt: skip
        s.value = 0
    dut.res_ended.value = 1
    dut.rst.value = 1
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


async def write(dut: Any, addr: int, data: int) -> list[tuple[int, ...]]:
    """Key words that came out of it."""
    dut.s_req.value, dut.s_wr.value, dut.s_addr.value, dut.s_wdata.value = 1, 1, addr, data
    await ReadOnly()
    words = [tuple(WORD.unpack(int(dut.m_word.value)).values())] if dut.m_word_valid.value == 1 else []
    await RisingEdge(dut.clk)
    dut.s_req.value = 0
    return words


async def read(dut: Any, addr: int) -> int:
    dut.s_req.value, dut.s_wr.value, dut.s_addr.value = 1, 0, addr
    await ReadOnly()
    assert dut.m_word_valid.value == 0
    value = int(dut.s_rdata.value)
    await RisingEdge(dut.clk)
    dut.s_req.value = 0
    return value


@cocotb.test()
async def keys(dut: Any) -> None:
    await begin(dut)
    rng = random.Random(1)
    secrets = [rng.getrandbits(32) | 1 for _ in range(20)]
    for i, word in enumerate(secrets):
        assert await write(dut, KEY_WORD + 4 * i, word) == [(i, word)]
    everything = [await read(dut, a) for a in range(0, 256, 4)]
    assert everything[0x1C // 4] == 0x3F
    assert not set(secrets) & set(everything), "a key can be read"
    assert everything[KEY_WORD // 4 :] == [0] * 32
    assert everything[KEY_STATUS // 4] == 16 << 8
    dut.test_failed.value = 1
    assert await read(dut, KEY_STATUS) == 16 << 8 | 4
    dut.test_failed.value = 0
    for slot, bits in ((3, 0b1111), (15, 0b0001), (0, 0b1010)):
        dut.key_slots.value = SLOT.pack(ctr=1) << (SLOT.width * slot)
        await write(dut, KEY_CTL, 1 << 31 | bits << 8 | slot)
        assert await read(dut, KEY_STATUS) == 16 << 8 | 1
        for _ in range(rng.randrange(3)):
            await RisingEdge(dut.clk)
        await ReadOnly()
        cmd = CMD.unpack(int(dut.m_cmd.value))
        assert dut.m_cmd_valid.value == 1 and cmd["slot"] == slot
        assert [cmd[n] for n in ("long_key", "ctr", "xts", "load")] == [bits >> i & 1 for i in range(4)]
        await RisingEdge(dut.clk)
        dut.m_cmd_ready.value = 1
        await RisingEdge(dut.clk)
        dut.m_cmd_ready.value, dut.busy.value = 0, 1
        assert await read(dut, KEY_STATUS) == 16 << 8 | 1
        dut.busy.value = 0
        assert await read(dut, KEY_STATUS) == 16 << 8
        assert dut.m_cmd_valid.value == 0
        assert await read(dut, KEY_SLOT) == 1
    dut.reducing.value = 1
    assert await read(dut, KEY_STATUS) == 16 << 8 | 2
    # a slot that there is not, while all others have keys
    dut.key_slots.value = (1 << len(dut.key_slots)) - 1
    await write(dut, KEY_CTL, 15)
    assert await read(dut, KEY_SLOT) == 3
    await write(dut, KEY_CTL, 1 << 31 | 16)
    for _ in range(4):
        await RisingEdge(dut.clk)
        assert dut.m_cmd_valid.value == 0
    assert await read(dut, KEY_SLOT) == 0


@cocotb.test()
async def bindings(dut: Any) -> None:
    await begin(dut)
    rng = random.Random(3)
    for _ in range(20):
        index, op, slot, of_program = (rng.randrange(n) for n in (256, 16, 64, 2))
        bound = index | op << 8 | of_program << 12 | slot << 16
        await write(dut, BIND, bound)
        await ReadOnly()
        assert dut.m_bind_valid.value == 0
        await RisingEdge(dut.clk)
        words = [rng.getrandbits(32) for _ in range(4)]
        for i, word in enumerate(words):
            await write(dut, 0x60 + 4 * i, word)
        await write(dut, BIND, 1 << 31 | bound)
        await ReadOnly()
        assert dut.m_bind_valid.value == 1
        param = sum(w << 32 * i for i, w in enumerate(words))
        wanted = {"of_program": of_program, "index": index, "op": op, "slot": slot, "param": param}
        assert BINDING.unpack(int(dut.m_bind.value)) == wanted
        await RisingEdge(dut.clk)
        await ReadOnly()
        assert dut.m_bind_valid.value == 0
        await RisingEdge(dut.clk)


@cocotb.test()
async def results(dut: Any) -> None:
    """In order, each with its command; when all places are taken a new one drops the oldest, and nobody waits."""
    await begin(dut)
    rng = random.Random(2)
    given: list[Result] = []
    for _ in range(170):
        whose = {f.name: rng.getrandbits(f.width) for f in WHOSE.fields.values()}
        given.append((rng.getrandbits(16), rng.getrandbits(256), whose))

    async def feed(todo: list[Result]) -> None:
        for tag, digest, command in todo:
            dut.s_res_valid.value = 1
            dut.s_res.value, dut.s_res_cmd.value = RESULT.pack(tag=tag, digest=digest), WHOSE.pack(command)
            for _ in range(3):
                await ReadOnly()
                moved = dut.s_res_ready.value == 1
                await RisingEdge(dut.clk)
                if moved:
                    break
            else:
                raise AssertionError("a result had to wait")
        dut.s_res_valid.value = 0

    async def take(want: list[Result]) -> None:
        for tag, digest, command in want:
            assert await read(dut, RES) == 1 << 31 | tag
            assert sum([await read(dut, RES_DIGEST + 4 * i) << 32 * i for i in range(8)]) == digest
            c = command
            assert (
                await read(dut, RES_CMD)
                == c["cid"] | c["sqid"] << 16 | c["op"] << 24 | c["dir"] << 28 | c["compare"] << 29
            )
            rest = [await read(dut, RES_CMD + 4 * i) for i in range(1, 5)]
            assert rest == [c["nsid"], c["lba"] & 0xFFFFFFFF, c["lba"] >> 32, c["bytes"]]
            await write(dut, RES_NEXT, 1)
            await RisingEdge(dut.clk)
        assert not await read(dut, RES) >> 31

    assert not await read(dut, RES) >> 31
    await feed(given[:40])
    await RisingEdge(dut.clk)
    await take(given[:40])
    await feed(given[40:])
    await RisingEdge(dut.clk)
    await take(given[-64:])
    # while one is being read it stays: what finds no place meanwhile is dropped itself
    await feed(given[:64])
    await RisingEdge(dut.clk)
    assert await read(dut, RES) == 1 << 31 | given[0][0]
    await feed(given[64:70])
    assert sum([await read(dut, RES_DIGEST + 4 * i) << 32 * i for i in range(8)]) == given[0][1]
    await write(dut, RES_NEXT, 1)
    await RisingEdge(dut.clk)
    await feed(given[70:72])
    await RisingEdge(dut.clk)
    await take([*given[2:64], *given[70:72]])


@cocotb.test()
async def ends(dut: Any) -> None:
    """A result shows when its command has ended, with its status; numbers go on where tags begin again."""
    await begin(dut)
    tags = [*range(65530, 65536), 3, 0, 2, 1, 65535, 4]  # they overtake each other
    dut.s_res_valid.value = 1
    for tag in (20000, 40000, *tags):
        dut.s_res.value = RESULT.pack(tag=tag, digest=tag)
        await RisingEdge(dut.clk)
    dut.s_res_valid.value = 0
    for number in (20000, 40000, *(t if t > 1000 else t + 65536 for t in tags)):
        dut.res_ended.value, status = 0, number & 0x7FFF
        for _ in range(2):
            assert not await read(dut, RES) >> 31
        dut.res_ended.value, dut.res_status.value = 1, status
        assert await read(dut, RES) == 1 << 31 | number & 0xFFFF
        assert await read(dut, RES_STATUS) == (number & 0xFFFF0000) | status
        assert int(dut.res_tag.value) == number & 0xFFFF
        await write(dut, RES_NEXT, 1)
        await RisingEdge(dut.clk)
    assert not await read(dut, RES) >> 31


@cocotb.test()
async def numbers_begin_anew(dut: Any) -> None:
    """After 2^32 results the next number is 0; those that were overtaken keep theirs."""
    await begin(dut)
    dut.number_q.value = (1 << 32) - 100
    tags = [65530, 65535, 0, 65533, 2, 65534, 1]
    dut.s_res_valid.value = 1
    for tag in tags:
        dut.s_res.value = RESULT.pack(tag=tag, digest=tag)
        await RisingEdge(dut.clk)
    dut.s_res_valid.value = 0
    for tag in tags:
        assert await read(dut, RES) == 1 << 31 | tag
        assert await read(dut, RES_STATUS) == (0xFFFF0000 if tag > 1000 else 0)
        await write(dut, RES_NEXT, 1)
        await RisingEdge(dut.clk)
    assert not await read(dut, RES) >> 31


def test_ctl() -> None:
    gen = build.regs() / "rtl"
    bench.run(__file__, "db_csd_control", extra_sources=(gen / "db_csd_regs_pkg.sv", gen / "db_csd_regs.sv"))
