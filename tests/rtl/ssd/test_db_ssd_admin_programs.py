# SPDX-License-Identifier: Apache-2.0
"""db_ssd_admin with the firmware of parameter SLM: namespaces of memory and of programs, and what the data path is told
of them. What each command refuses is in tests/firmware/test_programs.py.
"""

from __future__ import annotations

import struct

import cocotb
from cocotb.triggers import FallingEdge
from ssd_admin_bench import (
    BAD_FIELD,
    BAD_NS,
    NAMESPACE,
    NUM_NS,
    NUM_QP,
    NUM_VEC,
    Bench,
    get_log,
    table,
    u,
)
from structs import Port, layout

LOG2 = 20
SIZE = 1 << LOG2
RAM_BYTES = 73728  # of one function with SLM
MEMORY, PROGRAMS = NUM_NS + 1, NUM_NS + 2  # NSIDs
ALL_SETS = 0x460061  # CC
CAPS = 7 << 28 | 4 << 24 | 8 << 16 | 0x7E  # of near-storage operators: words, log2, programs, cells, operators
SLOTS = 4 << 28 | 0x6321  # that have them
NO_PROGRAM, IN_USE, RANGE_SET, PROGRAM_DATA = 0x196, 0x199, 0x18C, 0x18E
GREP = struct.pack("<8B8s", 1, 0, 0, 0, 0, 10, 1, 0, b"\x06") + b"needle"


class Programs(Bench):
    """With memory, and operators for near-storage commands."""

    def __init__(self, dut, seed: int) -> None:
        super().__init__(dut, seed)
        self.namespaces += [NAMESPACE.unpack(0) for _ in range(2)]
        self.programs = Port(dut.programs, layout("db_ssd_near_pkg", "programs_set_t"))
        self.ranges: dict[tuple[int, int], tuple[int, int]] = {}  # by set, whether it is the result's
        self.states: list[tuple[int, int]] = []  # there, activated
        self.program_words: list[int] = []  # of programs

    async def start(self) -> None:
        await super().start()
        for task in (self.near(), self.watch_programs()):
            cocotb.start_soon(task)

    async def near(self) -> None:
        while True:
            await self.dut.ext.value_change
            now = self.ext.all()
            self.dut.ext_rdata.value = {0x400: CAPS, 0x500: SLOTS}.get(now["addr"], 0)
            if now["req"] and now["wr"] and now["addr"] == 0x408:
                self.program_words.append(now["wdata"])

    async def watch_programs(self) -> None:
        while True:
            await FallingEdge(self.dut.clk)
            if not int(self.dut.programs.value):
                continue
            now = self.programs.all()
            if now["range_valid"]:
                assert now["place"] == 0
                self.ranges[now["number"], now["result"]] = now["start"], now["bytes"]
            if now["state_valid"]:
                assert now["state_place"] == 0
                self.states.append((now["there"], now["active"]))

    def own(self) -> list[tuple[int, int, int, int]]:
        return [
            tuple(self.namespaces[n - 1][k] for k in ("valid", "set", "base", "blocks")) for n in (MEMORY, PROGRAMS)
        ]

    async def load(self, which: int, status: int = 0, data: bytes = GREP) -> None:
        self.write(0x30000, data)
        await self.run(
            0x85, status, nsid=PROGRAMS, prp1=0x30000, dw10=which | 0xC0 << 16, dw11=len(data), dw14=len(data)
        )

    async def create(self, first: int, result: int, status: int = 0) -> int:
        self.write(0x30000, struct.pack("<IIQ16xIIQ16x", MEMORY, 4096, first, MEMORY, 512, result))
        return (await self.run(0x89, status, nsid=PROGRAMS, prp1=0x30000, dw11=2)).dw0


@cocotb.test()
async def namespaces(dut):
    b = Programs(dut, 1)
    await b.start()
    await b.enable()
    whole = table(b)
    assert list(whole) == [1] and not any(await b.identify(0, nsid=MEMORY))
    assert u(await b.identify(1), 516, 4) == NUM_NS + 2
    await b.disable()
    await b.enable(cc=ALL_SETS)
    base = (1 << 64) - SIZE
    assert b.own() == [(1, 1, base, SIZE), (1, 2, base, SIZE)]
    assert struct.unpack_from("<4I", await b.identify(2)) == (1, MEMORY, PROGRAMS, 0)
    assert struct.unpack_from("<2Q", await b.identify(5, nsid=MEMORY, csi=3)) == (SIZE, SIZE)
    assert u(await b.identify(0x1C), 0, 8) == 0x19
    await b.identify(0, 0x12C, nsid=MEMORY)
    await b.identify(0, BAD_NS, nsid=PROGRAMS + 1)
    await b.run(0x80, BAD_FIELD, nsid=MEMORY)
    await b.disable()
    assert [n[0] for n in b.own()] == [0, 0] and table(b) == whole


@cocotb.test()
async def programs_and_ranges(dut):
    b = Programs(dut, 2)
    await b.start()
    await b.enable(cc=ALL_SETS)
    assert b.states[-1] == (0, 0) and set(b.ranges.values()) == {(0, 0)} and len(b.ranges) == 8
    b.program_words.clear()
    await b.load(3)
    assert b.states[-1] == (8, 0) and b.program_words[0] == 0 and b.program_words[-1] & 15 == 1
    await b.run(0x88, nsid=PROGRAMS, dw10=3 | 1 << 16)
    assert b.states[-1] == (8, 8)
    await b.load(3, IN_USE)
    await b.run(0xD5, IN_USE, dw10=3)
    await b.run(0x88, NO_PROGRAM, nsid=PROGRAMS, dw10=2 | 1 << 16)
    await b.load(2, PROGRAM_DATA, bytes(64))
    page = await get_log(b, 0x82, 320, nsid=PROGRAMS)
    assert page[0] == 4 and [page[64 * (1 + i)] for i in range(4)] == [0, 0, 0, 5]
    assert [await b.create(0x1000 * i, 0x8000 + 0x1000 * i) for i in range(3)] == [1, 2, 3]
    assert [b.ranges[2, i] for i in (0, 1)] == [(0x2000, 4096), (0xA000, 512)]
    await b.create(2, 0x8000, RANGE_SET)
    await b.run(0x89, nsid=PROGRAMS, dw10=1 | 2 << 16)
    assert b.ranges[1, 0] == b.ranges[1, 1] == (0, 0) and b.ranges[0, 0] == (0, 4096)
    page = await get_log(b, 0x84, 384, nsid=PROGRAMS)
    assert page[0] == 2 and struct.unpack_from("<HB13xIIQ", page, 64) == (1, 2, MEMORY, 4096, 0) and page[144] == 3
    await b.disable()
    assert b.states[-1] == (0, 0) and set(b.ranges.values()) == {(0, 0)}
    await b.enable(cc=ALL_SETS)
    assert not any((await get_log(b, 0x82, 320, nsid=PROGRAMS))[64:])


def test_db_ssd_admin_programs() -> None:
    import rtl_bench as bench
    from doorbell import build, paths

    gen = build.regs() / "rtl"
    parameters = {"NUM_QP": NUM_QP, "NUM_VEC": NUM_VEC, "NUM_NS": NUM_NS, "SGL": 1, "MEMORY_LOG2": LOG2,
                  "RAM_BYTES": RAM_BYTES}  # fmt: skip
    bench.run(
        __file__, "db_ssd_admin", parameters,
        extra_sources=(gen / "db_ssd_fw_regs_pkg.sv", gen / "db_ssd_fw_regs.sv", paths.picorv32()),
        files={"fw.hex": build.firmware(slm=True)},
    )  # fmt: skip
