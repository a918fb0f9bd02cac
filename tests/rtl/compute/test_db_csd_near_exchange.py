# SPDX-License-Identifier: Apache-2.0
"""db_csd_near_exchange: only a bitstream that is whole and fits changes anything; it goes out word by word, once."""

from __future__ import annotations

import os
import random
import struct
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from axi_model import AxiRead, Media
from cocotb.triggers import RisingEdge
from doorbell.compute.slots import bitstream
from doorbell.nvme.vendor import NearOperator, SlotError
from rtl_bench import rare
from streams import start

WIDTH = int(os.environ.get("DATA_W", "256"))
ROW = WIDTH // 8
REGION_LOG2, ADDR_W, SHELL, SLOTS = 16, 18, 0xD00B, 3
SLOT_ADDR_W = 33
EXCHANGEABLE = 0b110
GREP, AGGREGATE, FILTER = NearOperator.GREP, NearOperator.AGGREGATE, NearOperator.FILTER


class Bench:
    """Memory, slots that are busy or not, and the configuration port."""

    def __init__(self, dut: Any, seed: int, stall: float = 0.0) -> None:
        self.dut, self.rng = dut, random.Random(seed)
        self.media = Media(WIDTH)
        self.axi = AxiRead(dut, self.rng, self.media, lambda addr, rows: self.asked.append(addr), ADDR_W)
        self.axi.latency = (1, 40)
        self.axi.stall = stall
        self.asked: list[int] = []
        self.words: list[int] = []
        self.inside = [0] * SLOTS  # cycles until a command leaves the slot, while nothing new may begin
        self.cycle = 0
        self.icap = 1.0  # how often the port takes a word
        self.decoupled: list[int] = []  # what is in the slots, in each cycle in which the port gets a word

    def put(self, addr: int, data: bytes) -> None:
        for at in range(0, len(data), ROW):
            self.media.rows[(addr + at)] = int.from_bytes(data[at : at + ROW], "little")

    async def step(self) -> None:
        d = self.dut
        await RisingEdge(d.clk)
        self.cycle += 1
        self.axi.step(self.cycle)
        if d.m_icap_valid.value == 1 and d.m_icap_ready.value == 1:
            self.words.append(int(d.m_icap_data.value))
            self.decoupled.append(int(d.operators.value))
        d.m_icap_ready.value = int(self.rng.random() < self.icap)
        off = int(d.off.value)
        for s in range(SLOTS):
            if off >> s & 1 and self.inside[s]:
                self.inside[s] -= 1
        d.idle.value = sum((n == 0) << s for s, n in enumerate(self.inside))
        d.s_go.value = 0

    def operators(self) -> list[int]:
        return [int(self.dut.operators.value) >> 4 * s & 15 for s in range(SLOTS)]

    async def exchange(self, slot: int, addr: int, cycles: int = 40_000, missed: int = 0) -> SlotError:
        d = self.dut
        d.s_slot.value, d.s_addr.value, d.s_may.value, d.s_go.value = slot, addr, EXCHANGEABLE >> slot & 1, 1
        d.s_operator.value = missed
        self.words, self.asked, self.decoupled = [], [], []
        for _ in range(3):
            await self.step()
        for _ in range(cycles):
            if d.busy.value == 0:
                break
            await self.step()
        assert d.busy.value == 0
        assert int(d.off.value) == 0
        return SlotError(int(d.m_error.value))


async def begin(dut: Any, seed: int = 1, stall: float = 0.0) -> Bench:
    await start(dut, s_go=0, s_slot=0, s_addr=0, s_may=0, s_operator=0, idle=7, m_icap_ready=0)
    return Bench(dut, seed, stall)


def words_of(data: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(data) // 4}I", data))


@cocotb.test()
async def bitstreams(dut: Any) -> None:
    """Sizes, places, slow memory, a slow port, slots in which commands are: the words go out as they are."""
    b = await begin(dut)
    now = [int(GREP), 0, 0]
    assert b.operators() == now
    for turn in range(30):
        b.axi.stall, b.icap = b.rng.choice((0.0, 0.5)), b.rng.choice((1.0, 0.8, 0.1))
        slot, operator = b.rng.choice((1, 2)), b.rng.choice((GREP, AGGREGATE, FILTER))
        words = b.rng.randbytes(64 * b.rng.choice((1, 1, 2, 3, 17, 40)))
        at = 64 * b.rng.randrange((1 << REGION_LOG2) // 64 - len(words) // 64 - 1)
        b.put(at, bitstream(operator, slot, words, shell=SHELL))
        b.inside = [b.rng.choice((0, 1, 50)) for _ in range(SLOTS)]
        waits = b.inside[slot]
        assert await b.exchange(slot, at) == SlotError.OK, turn
        assert b.words == words_of(words)
        assert all(now_in >> 4 * slot & 15 == 0 for now_in in b.decoupled), "its slot is decoupled meanwhile"
        for other in set(range(SLOTS)) - {slot}:
            assert all(now_in >> 4 * other & 15 == now[other] for now_in in b.decoupled), "no other is"
        now[slot] = int(operator)
        assert b.operators() == now
        assert not waits or b.inside[slot] == 0, "those inside have left"


def spoiled(rng: random.Random, how: SlotError, slot: int) -> bytes:
    """A file that is not loaded for this reason."""
    words = rng.randbytes(256)
    good = bytearray(bitstream(GREP, slot, words, shell=SHELL))
    match how:
        case SlotError.NOT_ONE:
            at = rng.choice((0, 3, 4, 8, 10, 11))
            good[at] ^= 1 << rng.randrange(6 if at == 8 else 8)
        case SlotError.FOREIGN:
            return bitstream(GREP, slot, words, shell=SHELL ^ 1 << rng.randrange(16))
        case SlotError.OTHER:
            return bitstream(GREP, slot ^ rng.randint(1, 7), words, shell=SHELL)
        case SlotError.UNKNOWN:
            unknown = rng.choice((0, NearOperator.HASH, NearOperator.CRYPT, 9, 15))
            return bitstream(unknown, slot, words, shell=SHELL)
        case _:
            good[rng.randrange(12, len(good))] ^= 1 << rng.randrange(8)
    return bytes(good)


@cocotb.test()
async def what_is_refused(dut: Any) -> None:
    """Nothing goes out of a file that is none, is damaged, or for something else; what is in the slot stays."""
    b = await begin(dut, 2)
    b.put(0, bitstream(FILTER, 1, b.rng.randbytes(64), shell=SHELL))
    assert await b.exchange(1, 0) == SlotError.OK
    for how in (SlotError.NOT_ONE, SlotError.FOREIGN, SlotError.OTHER, SlotError.UNKNOWN, SlotError.DAMAGED) * 12:
        slot = b.rng.choice((1, 2))
        at = 64 * b.rng.randrange(100)
        b.put(at, spoiled(b.rng, how, slot))
        assert await b.exchange(slot, at) == how
        assert b.words == []
        assert b.operators() == [GREP, FILTER, 0]
    # Longer than the region: no byte behind it is read.
    whole = 1 << REGION_LOG2
    b.put(whole - 128, bitstream(GREP, 1, bytes(128), shell=SHELL))
    assert await b.exchange(1, whole - 128) == SlotError.NOT_ONE
    assert max(b.asked) < whole
    for slot in (0, 3, 7):
        assert await b.exchange(slot, 0) == SlotError.FIXED
        assert b.asked == []
    assert b.operators() == [GREP, FILTER, 0]


@cocotb.test()
async def beyond_the_region(dut: Any) -> None:
    """Of no address that is not in it anything is read, nor of what is there modulo its size."""
    b = await begin(dut, 5)
    whole = 1 << REGION_LOG2
    b.put(0, bitstream(FILTER, 1, b.rng.randbytes(64), shell=SHELL))
    b.put(whole - 128, bitstream(FILTER, 2, b.rng.randbytes(64), shell=SHELL))
    for at in (0, whole - 128):
        for log2 in range(REGION_LOG2, SLOT_ADDR_W):
            assert await b.exchange(1 + at // 128 % 2, at + (1 << log2)) == SlotError.NOT_ONE
            assert b.asked == [] and b.words == []
    assert b.operators() == [GREP, 0, 0]
    assert await b.exchange(2, whole - 128) == SlotError.OK, "it ends where the region does"


@cocotb.test()
async def not_what_was_missed(dut: Any) -> None:
    """A library's place has the operator that belongs there, or it is refused."""
    b = await begin(dut, 6)
    for turn in range(20):
        slot, operator = b.rng.choice((1, 2)), b.rng.choice((GREP, AGGREGATE, FILTER))
        missed = b.rng.choice((0, GREP, AGGREGATE, FILTER, NearOperator.CSV))
        before = b.operators()
        b.put(0, bitstream(operator, slot, b.rng.randbytes(64), shell=SHELL))
        good = missed in (0, operator)
        assert await b.exchange(slot, 0, missed=missed) == (SlotError.OK if good else SlotError.OTHER), turn
        assert (b.words != []) == good
        if good:
            before[slot] = operator
        assert b.operators() == before


@cocotb.test()
async def memory_that_fails_or_changes(dut: Any) -> None:
    """Before anything has gone out the slot keeps what it has; later it is empty, and can be loaded again."""
    b = await begin(dut, 3)
    words = b.rng.randbytes(1024)
    good = bitstream(AGGREGATE, 1, words, shell=SHELL)
    rows = len(good) // ROW
    for bad in range(rows):
        b.put(0, good)
        assert await b.exchange(1, 0) == SlotError.OK
        b.media.bad = {bad * ROW}
        assert await b.exchange(1, 0) == SlotError.MEMORY
        assert b.words == []
        assert b.operators() == [GREP, AGGREGATE, 0]
        b.media.bad = set()
    for bad in range(0, len(good), 24):
        b.put(0, good)
        before = await b.exchange(1, 0)
        assert before == SlotError.OK
        b.dut.s_slot.value, b.dut.s_addr.value, b.dut.s_may.value, b.dut.s_go.value = 1, 0, 1, 1
        b.words = []
        while int(b.dut.off.value) == 0:  # the first reading has ended
            await b.step()
        b.put(0, good[:bad] + bytes([good[bad] ^ 1]) + good[bad + 1 :])
        while b.dut.busy.value == 1:
            await b.step()
        assert SlotError(int(b.dut.m_error.value)) == SlotError.CHANGED
        assert b.operators() == [GREP, 0, 0]


@cocotb.test()
async def time(dut: Any) -> None:
    """A reading at a row a cycle, then a word each time that the port takes one."""
    b = await begin(dut, 4)
    b.axi.latency = (10, 10)
    words = b.rng.randbytes(16384)
    b.put(0, bitstream(GREP, 2, words, shell=SHELL))
    before = b.cycle
    assert await b.exchange(2, 0) == SlotError.OK
    rows = 16384 // ROW
    assert 4096 + rows <= b.cycle - before <= 4096 + rows + rows // 16 + 80


@pytest.mark.parametrize("data_w", [256, rare(128), 512])
def test_exchange(data_w: int) -> None:
    bench.run(
        __file__, "db_csd_near_exchange",
        {"DATA_W": data_w, "ADDR_W": ADDR_W, "SLOTS": SLOTS, "SHELL": SHELL, "REGION_LOG2": REGION_LOG2, "BUILT_IN": 1},
        env={"DATA_W": str(data_w)},
    )  # fmt: skip
