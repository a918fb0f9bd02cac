# SPDX-License-Identifier: Apache-2.0
"""db_csd_near with all that is below it: results and Reads in order, programs that change, errors, sizes, rates."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import cocotb
import pytest
import rtl_bench as bench
from axi_model import AxiRead, Media
from cocotb.triggers import RisingEdge
from doorbell import build
from doorbell.compute import slots
from doorbell.compute.near import Aggregate, ColumnType, Csv, Filter, Grep, Predicate, Program
from doorbell.compute.slots import bitstream
from doorbell.nvme.vendor import NearComparison, NearOperator
from near_words import program_words, random_program, random_text, words
from rtl_bench import rare, rounds
from streams import ROW, Sink, Source, packet_rows, start
from structs import layout

EXT = layout("db_ssd_pkg", "ext_bus_t")
PACKET, RESULT = (layout("db_ssd_near_pkg", n) for n in ("near_packet_t", "near_result_t"))
NEAR_REGISTERS = 0x400
SLOTS_FROM, SLOTS_GO, SLOTS_FORM, SLOTS_SHARE, SLOTS_LIBRARY = 0x508, 0x50C, 0x514, 0x518, 0x51C
CAPS, PROGRAM, WORD = (NEAR_REGISTERS + at for at in (0, 4, 8))
CELLS = int(os.environ.get("CELLS", "8"))
PLACES = int(os.environ.get("NUM_FN", "1"))
SLOTS = int(os.environ.get("SLOTS", "0x6321"), 16)
OPERATORS = [NearOperator.HASH, *(NearOperator(int(digit)) for digit in f"{SLOTS:x}" if digit != "f")]
GREPS = f"{SLOTS:x}".count(str(int(NearOperator.GREP)))


class Packet(NamedTuple):
    """A command's data on their way. program: of a near-storage command."""

    data: bytes
    near: bool
    slot: int = 0
    place: int = 0
    number: int = 0
    length: int = 0
    room: int = 0
    phase: int = 0
    err_row: int = 1 << 30


class Bench:
    """Packets in, packets and results out; the firmware's bus beside."""

    def __init__(self, dut: Any, rng: random.Random, stall: float = 0.0) -> None:
        self.dut, self.rng = dut, rng
        self.width = len(dut.s_row_data)
        self.rows, self.out = Source(dut, rng, "s_row", ROW), Sink(dut, rng, "m_row", ROW)
        self.rows.stall = self.out.stall = stall
        self.packets: list[Packet] = []
        self.got: list[tuple[bytes, int]] = []  # packets that came out, and whether their last row has an error
        self.results: list[tuple[int, ...]] = []
        self.cycle, self.went, self.came = 0, [], []  # type: int, list[int], list[int]
        self._row: list[int] = []
        self.bus: list[tuple[int, int, int | None]] = []  # (address, data, of a read None) still to be done
        self.read_data: list[int] = []

    def put(self, packet: Packet) -> None:
        self.packets.append(packet)

    async def step(self) -> None:
        await RisingEdge(self.dut.clk)
        self.cycle += 1
        if self.rows.step() is not None:
            self.went.append(self.cycle)
        if (row := self.out.step()) is not None:
            self.came.append(self.cycle)
            self._row.append(row.data)
            if row.last:
                step = self.width // 8
                self.got.append((b"".join(r.to_bytes(step, "little") for r in self._row), row.err))
                self._row = []
        if self.dut.m_result_valid.value == 1:
            self.results.append(tuple(RESULT.unpack(int(self.dut.m_result.value)).values()))
        self.dut.s_packet_valid.value = 0
        if self.packets and len(self.rows.queue) < 40 and self.rng.random() < 0.5:
            p = self.packets.pop(0)
            args = {"data": p.length, "result": p.room, "number": p.number, "phase": p.phase}
            self.dut.s_packet.value = PACKET.pack(computes=int(p.near), slot=p.slot, place=p.place, args=args)
            self.dut.s_packet_valid.value = 1
            self.rows.queue.extend(packet_rows(p.data, self.width, self.rng, p.err_row))

    async def write(self, address: int, data: int) -> None:
        """The firmware's bus: the address is there a cycle before the request."""
        for req in (0, 1):
            self.dut.s_ext.value = EXT.pack(req=req, wr=req, addr=address, wdata=data)
            await self.step()
        self.dut.s_ext.value = 0

    async def read(self, address: int) -> int:
        self.dut.s_ext.value = EXT.pack(addr=address)
        await self.step()
        self.dut.s_ext.value = EXT.pack(req=1, addr=address)
        await self.step()
        data = int(self.dut.m_ext_rdata.value)
        self.dut.s_ext.value = 0
        return data

    async def load(self, place: int, number: int, program: Program | None) -> None:
        """As the firmware does it: word 0 says that there is none while the others change."""
        head, *rest = words(program, CELLS)
        for first, part in ((0, [0]), (1, rest), (0, [head])):
            if part:
                await self.write(PROGRAM, first | number << 8 | place << 16)
            for word in part:
                await self.write(WORD, word)

    async def drain(self, count: int, cycles: int = 60_000) -> None:
        for _ in range(cycles):
            if len(self.got) >= count:
                break
            await self.step()
        for _ in range(40):
            await self.step()
        assert len(self.got) == count
        assert int(self.dut.busy.value) == 0


async def begin(dut: Any, seed: int, stall: float = 0.0) -> Bench:
    dut.power_rst.value = 1
    await start(dut, s_ext=0, s_packet_valid=0, s_packet=0, m_axi_read_rsp=0, m_icap_ready=0)
    dut.power_rst.value = 0
    b = Bench(dut, random.Random(seed), stall)
    for place in range(PLACES):
        for number in range(4):
            await b.load(place, number, None)
    return b


def wanted(p: Packet, program: Program | None, width: int) -> tuple[tuple[bytes, int], tuple[int, ...] | None]:
    """What comes out of a packet: its bytes, its error, and what the command came to."""
    err = int(p.err_row < len(p.data) * 8 // width)
    if not p.near:
        return (p.data, err), None
    found = program.result(p.data[: p.length], p.phase) if program else b""
    result = (p.slot, int(program is None), 0, int(len(found) > p.room), len(found))
    return (found[: p.room].ljust(p.room, b"\0"), err), result


def random_packets(rng: random.Random, programs: dict[tuple[int, int], Program | None], count: int) -> Iterator[Packet]:
    for slot in range(count):
        data = random_text(rng, 512 * rng.choice((1, 1, 2, 3, 8)))
        err_row = rng.randrange(16) if rng.random() < 0.1 else 1 << 30
        if rng.random() < 0.4:
            yield Packet(data, False, slot, err_row=err_row)
            continue
        place, number = rng.choice(list(programs))
        program = programs[place, number]
        phase = rng.randrange(getattr(program, "record", 9))
        length = rng.choice((len(data), len(data), rng.randint(1, len(data)), 1))
        room = rng.choice((64, len(data), 64 * rng.randint(1, len(data) // 64)))
        yield Packet(data, True, slot, place, number, length, room, phase, err_row)


@cocotb.test()
async def random_commands(dut: Any) -> None:
    """Reads and near-storage commands of all functions and programs, some of which there are not."""
    for seed, stall in [(1, 0.0), (2, 0.4), (3, 0.8)][: rounds(3, 2)]:
        b = await begin(dut, seed, stall)
        ops = await b.read(CAPS)
        assert ops == (program_words(CELLS).bit_length() - 1) << 28 | 4 << 24 | CELLS << 16 | 0b1111110
        programs: dict[tuple[int, int], Program | None] = {}
        for place in range(PLACES):
            for number in range(4):
                program = (
                    random_program(b.rng, cells=CELLS, as_it_is=True, slots=OPERATORS) if b.rng.random() < 0.9 else None
                )
                programs[place, number] = program
                await b.load(place, number, program)
        for turn in range(rounds(3, 2)):
            packets = [p._replace(slot=turn * 60 + p.slot) for p in random_packets(b.rng, programs, rounds(60, 40))]
            b.packets += packets
            before = len(b.got), len(b.results)
            await b.drain(before[0] + len(packets))
            both = [wanted(p, programs.get((p.place, p.number)) if p.near else None, b.width) for p in packets]
            for p, (want, _), (got, err) in zip(packets, both, b.got[before[0] :], strict=True):
                assert err == want[1], f"seed {seed}, slot {p.slot}: error"
                assert got == want[0], f"seed {seed}, slot {p.slot}: {p.near} {programs.get((p.place, p.number))}"
            assert b.results[before[1] :] == [r for _, r in both if r], f"seed {seed}"
            place, number = b.rng.choice(list(programs))  # another program, while nothing is under way
            programs[place, number] = random_program(b.rng, cells=CELLS, as_it_is=True, slots=OPERATORS)
            await b.load(place, number, programs[place, number])


@cocotb.test()
async def a_program_that_changes(dut: Any) -> None:
    """While commands of it are under way: each has the old one, none, or the new one."""
    b = await begin(dut, 7, 0.2)
    old = Grep((b"ab", b"A"), where=True)
    new = Aggregate(ColumnType.U16, 7, 3)
    await b.load(PLACES - 1, 3, old)
    packets = [Packet(random_text(b.rng, 512), True, i, PLACES - 1, 3, 512, 512, 5) for i in range(60)]
    b.packets += packets
    for _ in range(300):
        await b.step()
    await b.load(PLACES - 1, 3, new)
    await b.drain(len(packets))
    kinds = []
    for p, (got, _), result in zip(packets, b.got, b.results, strict=True):
        which = [wanted(p, program, b.width) for program in (old, None, new)]
        assert ((got, 0), result) in which
        kinds.append(which.index(((got, 0), result)))
    assert kinds == sorted(kinds), "an old program came back"
    assert kinds[0] == 0
    assert kinds[-1] == 2


@cocotb.test()
async def a_reset_forgets_packets_and_keeps_programs(dut: Any) -> None:
    b = await begin(dut, 8, 0.3)
    program = Grep((b"aB", b"bb"))
    await b.load(0, 1, program)
    b.packets += [Packet(random_text(b.rng, 1024), True, i, 0, 1, 1000, 64) for i in range(20)]
    for _ in range(200):
        await b.step()
    dut.s_row_valid.value = dut.s_packet_valid.value = 0
    b = Bench(dut, b.rng, 0.3)
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    packets = [Packet(random_text(b.rng, 1024), True, i, 0, 1, 1000, 64) for i in range(5)]
    b.packets += packets
    await b.drain(len(packets))
    for p, (got, _), result in zip(packets, b.got, b.results, strict=True):
        assert ((got, 0), result) == wanted(p, program, b.width)


@cocotb.test()
async def rate(dut: Any) -> None:
    """Rows of long commands go in without a gap, one behind another; a Read's rows take 2 cycles."""
    small = Predicate(ColumnType.U8, 3, NearComparison.LESS, 0x60)
    chain = Filter(12, (small,), behind=Aggregate(ColumnType.I32, 12))
    longer = Filter(12, (small,), behind=Grep((b"a",), lines=True, behind=Csv(1, ord(" "))))
    for program in (
        Grep((b"abba",)),
        Aggregate(ColumnType.I32, 12),
        Csv(1, ord(" ")),
        chain,
        longer,
        Filter(16, (small,), bitmap=True),
    ):
        b = await begin(dut, 9)
        await b.load(0, 0, program)
        packets = [Packet(random_text(b.rng, 16384), True, i, 0, 0, 16384, 64) for i in range(3)]
        b.packets += packets
        await b.drain(3)
        rows = 16384 * 8 // b.width
        gaps = b.went[-1] - b.went[2] + 1 - (3 * rows - 2)  # two rows wait while the program is loaded
        assert gaps == 2 * (2 if isinstance(program, Grep) else 1), "between commands with one program"
    b = await begin(dut, 10)
    b.packets.append(Packet(random_text(b.rng, 4096), False))
    await b.drain(1)
    assert b.came[0] - b.went[0] == 2
    assert b.came[-1] - b.came[0] + 1 == 4096 * 8 // b.width


@cocotb.test()
async def chains_of_whole_rows(dut: Any) -> None:
    """What passes a Filter ends with a row, or is nothing: whatever is behind sees its end, once."""
    b = await begin(dut, 12, 0.3)
    small = Predicate(ColumnType.U8, 0, NearComparison.LESS, 0x80)
    text = b"ab\nAb bb" * 8  # of 64 bytes; the last line of it has no end
    rest = b"\xff" * 64
    for number, behind in enumerate(
        (Grep((b"bb",), where=True), Grep((b"xx",), without=True), Aggregate(ColumnType.U8, 8))
    ):
        await b.load(0, number, Filter(64, (small,), behind=behind))
    await b.load(0, 3, Filter(64, (small,)))
    programs = [Filter(64, (small,), behind=p) for p in (Grep((b"bb",), where=True), Grep((b"xx",), without=True),
                Aggregate(ColumnType.U8, 8))] + [Filter(64, (small,))]  # fmt: skip
    packets = [
        Packet(b"".join(text if bits >> i & 1 else rest for i in range(8)), True, 4 * bits + n, 0, n, 512, 512)
        for bits in (0, 1, 0x80, 0xFF, 0x0F, 0xF0, 0x55)
        for n in range(4)
    ]
    packets = [p._replace(slot=i) for i, p in enumerate(packets)]
    b.packets += packets
    await b.drain(len(packets))
    for p, got, result in zip(packets, b.got, b.results, strict=True):
        assert (got, result) == wanted(p, programs[p.number], b.width), f"program {p.number}, {p.data[::64]!r}"


@cocotb.test()
async def programs_that_take_turns(dut: Any) -> None:
    """As many as there are slots for them follow each other without a gap; of one more, each is loaded again."""
    for count in (GREPS, GREPS + 1):
        b = await begin(dut, 11)
        programs = [Grep((bytes([0x61 + n]), b"A"), where=bool(n % 2)) for n in range(count)]
        for n, program in enumerate(programs):
            await b.load(n % PLACES, n // PLACES, program)
        packets = [Packet(random_text(b.rng, 4096), True, i, i % count % PLACES, i % count // PLACES, 4096, 2048)
                   for i in range(6 * count)]  # fmt: skip
        b.packets += packets
        await b.drain(len(packets))
        assert b.got == [wanted(p, programs[i % count], b.width)[0] for i, p in enumerate(packets)]
        rows = 4096 * 8 // b.width
        begun = b.went[2 * count * rows + 2 :: rows]  # the first row of each behind the first ones, but for what waits
        gaps = [later - sooner - rows for sooner, later in itertools.pairwise(begun)]
        words_of_one = 1 + 5 * CELLS
        if count == GREPS and GREPS > 1:
            assert max(gaps) <= 2, "no program is loaded"
        elif GREPS == 1 and count == 2:
            assert min(gaps) >= words_of_one, "each is loaded when nothing is in the slot any more"


@cocotb.test(skip="f" not in f"{SLOTS:x}")
async def exchanges(dut: Any) -> None:
    """Operators come as they are missed, or as the PF says, and shares change, while commands are under way.

    Each command has its result, or there was no operator for it.
    """
    b = await begin(dut, 13)
    media = Media(b.width)
    axi = AxiRead(dut, b.rng, media, lambda addr, rows: None, len(dut.m_axi_read_req) - 11)
    stride = 2048
    programs: dict[int, Program] = {
        1: Grep((b"ab",)),
        2: Aggregate(ColumnType.U16, 8, 2),
        3: Filter(8, (Predicate(ColumnType.U8, 1, NearComparison.LESS, 0x60),), behind=Grep((b"aB",))),
        6: Csv(1, ord(" ")),
    }
    for n, (operator, program) in enumerate(programs.items()):
        for fn in range(PLACES):
            await b.load(fn, n, program)
        for slot in range(7):
            stream = bitstream(operator, slot, b.rng.randbytes(512))
            for at in range(0, len(stream), b.width // 8):
                row = int.from_bytes(stream[at : at + b.width // 8], "little")
                media.rows[slots.place(operator, slot, stride) + at] = row
    step = b.step

    async def with_memory() -> None:
        await step()
        axi.step(b.cycle)
        dut.m_icap_ready.value = int(b.rng.random() < 0.8)

    b.step = with_memory  # type: ignore[method-assign]
    await b.write(SLOTS_FORM, 11 | 0 << 16)
    await b.write(SLOTS_LIBRARY, 0)
    counts = {"absent": 0, "there": 0}
    for _ in range(rounds(200, 12)):
        packets = [
            Packet(random_text(b.rng, 512), True, i, b.rng.randrange(PLACES), b.rng.randrange(4), 512, 512)
            for i in range(b.rng.randint(1, 30))
        ]
        before = len(b.got), len(b.results)
        b.packets += packets
        for _ in range(b.rng.randint(0, 4)):
            match b.rng.randrange(3):
                case 0:
                    share = b.rng.choice((0x7F, 0x7F, b.rng.randrange(8)))
                    await b.write(SLOTS_SHARE, share | b.rng.randrange(PLACES) << 8)
                case 1:
                    slot, operator = b.rng.choice((1, 2)), b.rng.choice(list(programs))
                    await b.write(SLOTS_FROM, slots.place(operator, slot, stride))
                    await b.write(SLOTS_GO, slot)
                case _:
                    await b.write(SLOTS_FORM, 11 | b.rng.choice((0, 0, 1)) << 16)
                    await b.write(SLOTS_LIBRARY, 0)
            for _ in range(b.rng.choice((0, 10, 400))):
                await b.step()
        for _ in range(40_000):
            if len(b.got) == before[0] + len(packets):
                break
            await b.step()
        assert len(b.got) == before[0] + len(packets), "a command waits for ever"
        for p, got, result in zip(packets, b.got[before[0] :], b.results[before[1] :], strict=True):
            if result[2]:
                counts["absent"] += 1
                continue
            counts["there"] += 1
            assert (got, result) == wanted(p, list(programs.values())[p.number], b.width)
        for _ in range(b.rng.choice((0, 0, 700, 5000))):
            await b.step()
    assert min(counts.values()) > 20, counts


@pytest.mark.parametrize(
    ("data_w", "num_fn", "filled", "cells"),
    [rare(512, 1, "6321", 8), rare(256, 1, "6321", 8), (128, 3, "2311613", 4), rare(256, 3, "2311613", 8),
     (128, 3, "ff1", 4)],
)  # fmt: skip
def test_near(data_w: int, num_fn: int, filled: str, cells: int) -> None:
    gen = build.regs() / "rtl"
    bench.run(
        __file__, "db_csd_near",
        {"DATA_W": data_w, "NUM_FN": num_fn, "CELLS": cells, "SLOTS": f"28'h{filled}", "CMB_LOG2": 16,
         "HASHES": 1, "HASH_BYTES": 1024},
        testcase="exchanges" if "f" in filled else None,
        env={"NUM_FN": str(num_fn), "SLOTS": filled, "CELLS": str(cells)},
        extra_sources=[gen / f"db_csd_{name}_regs{part}.sv" for name in ("near", "slots") for part in ("_pkg", "")],
    )  # fmt: skip
