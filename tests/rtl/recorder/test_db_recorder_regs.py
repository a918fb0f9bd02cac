# SPDX-License-Identifier: Apache-2.0
"""The register map of db_recorder: the tables of the DUNE NvmeStorage manual (chapter 6), typed in, make the tests."""

from __future__ import annotations

import os
import re
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from recorder_model import Bench

# Item, address, what it does (rw: keeps what is written; ro: does not; ctl: see the bit tables), value after reset.
MANUAL = """
ID register     | 0x0000 | ro  | 0x56010002
Control         | 0x0004 | ctl | 0x00000002
Status          | 0x0008 | ro  | 0xC0000002
TotalBlocks     | 0x000C | ro  | TotalBlocks
BlocksLost      | 0x0010 | ro  | 0
DataChunkStart  | 0x0040 | rw  | 0
DataChunkSize   | 0x0044 | rw  | 0
Error           | 0x0048 | ro  | 0
NumBlocks       | 0x004C | ro  | 0
TimeUs          | 0x0050 | ro  | 0
PeakLatencyUs   | 0x0054 | ro  | 0
ReadControl     | 0x0080 | ctl | 0
ReadStatus      | 0x0084 | ro  | 0
ReadBlock       | 0x0088 | rw  | 0
ReadNumBlocks   | 0x008C | rw  | 0
ReadError       | 0x0090 | ro  | 0
ReadBlocksProc  | 0x0094 | ro  | 0
ReadBlocksDone  | 0x0098 | ro  | 0
"""
CONTROL = {"Reset": 0, "Initialise": 1, "DataEnable": 2}
STATUS = {"Reset": 0, "Initialised": 1, "DataEnabled": 2, "Completed": 3, "PciePhyReady": 30, "PcieLinkUp": 31}
READ_CONTROL = {"Enable": 0, "PerformTrim": 1}
READ_STATUS = {"Enabled": 0, "Complete": 1}

N = int(os.environ.get("REC_N", "2"))
TOTAL = int(os.environ.get("REC_TOTAL", "0"))
CONFIGURE = int(os.environ.get("REC_CONFIGURE", "1"))


def table() -> list[tuple[str, int, str, int]]:
    rows = []
    for line in MANUAL.strip().splitlines():
        name, address, kind, value = (f.strip() for f in line.split("|"))
        rows.append((name, int(address, 0), kind, total(0) if value == "TotalBlocks" else int(value, 0)))
    return rows


def total(drive: int) -> int:
    return TOTAL or 5000 + drive


async def ready(dut: Any, up: bool = True) -> Bench:
    b = Bench(dut, N, 128, 256)
    for i, x in enumerate(b.drives):
        x.lba_shift = (11, 9, 12, 10)[i % 4]
        x.blocks = (5000 + i << (12 - x.lba_shift)) + (1 << (12 - x.lba_shift)) - 1
        x.up = up
    await b.start()
    return b


def base(drive: int) -> int:
    return 0x100 * (drive + 1)


@cocotb.test()
async def after_reset(dut: Any) -> None:
    """Every address of every set, and of those that are not there: the table's value, or zero."""
    b = await ready(dut)
    if not CONFIGURE:
        await b.write(4, 2)
    await b.wait(30)
    want = {address: value for _, address, _, value in table()}
    assert len(want) == 18
    for drive in (-1, *range(N), N):
        for address in range(0, 0x100, 4):
            value = want.get(address, 0) if drive < N else 0
            if address == 0x0C and drive < N:
                value = total(max(drive, 0))
            got = await b.read((base(drive) if drive >= 0 else 0) + address)
            assert got == value, f"drive {drive} {address:#x}: {got:#x}, not {value:#x}"
    assert await b.read(0x1800) == 256 << 16 | N and await b.read(0x1804) == (1 << N) - 1


@cocotb.test()
async def writes(dut: Any) -> None:
    """rw registers keep a value in their drive alone, or in all through the main set; ro ones take none."""
    b = await ready(dut)
    rows = [r for r in table() if r[2] in ("rw", "ro")]
    state = {(d, a): 0 for d in range(N) for _, a, k, _ in rows if k == "rw"}
    for step in range(40):
        drive = b.rng.randrange(-1, N)
        _, address, kind, _ = b.rng.choice(rows)
        value = b.rng.getrandbits(32)
        await b.write((base(drive) if drive >= 0 else 0) + address, value)
        if kind == "rw":
            state.update({(d, address): value for d in range(N) if drive in (-1, d)})
        if step % 8 == 7:
            for (d, a), v in state.items():
                assert await b.read(base(d) + a) == v
            for _, a, kind, v in rows:
                assert await b.read(a) == (state[0, a] if kind == "rw" else v)


@cocotb.test()
async def reset_bit(dut: Any) -> None:
    """Reset: a pulse of its length to all drives, everything as after reset, Initialised again when they are up."""
    b = await ready(dut)
    await b.write(0x44, 77)
    await b.write(0x1810, 1)
    await b.write(4, 2)
    await b.wait(20)
    assert int(dut.drive_rst.value) == 0
    at = b.cycle
    await b.write(4, 1 << CONTROL["Reset"])
    for x in b.drives:
        x.up = False
    await b.wait(3)
    assert int(dut.drive_rst.value) == (1 << N) - 1
    assert await b.read(8) & 3 == 1 << STATUS["Reset"]
    assert await b.read(4) == 1
    while int(dut.drive_rst.value) == (1 << N) - 1 and b.cycle < at + 2000:
        await b.wait(1)
    if CONFIGURE:
        assert 500 <= b.cycle - at <= 500 + 260, "2 us, and at most a tick"
        assert await b.read(8) & 3 == 0
    else:
        assert b.cycle >= at + 2000, "held until Initialise"
        await b.write(4, 1 << CONTROL["Initialise"])
        await b.wait(5)
        assert int(dut.drive_rst.value) == 0 and await b.read(8) & 3 == 0
    for x in b.drives:
        x.up = True
    await b.until(8, 3, 1 << STATUS["Initialised"])
    assert await b.read(4) & 2 and await b.read(0x44) == 0 and await b.read(0x1810) == 0
    assert await b.read(0x108 + 0x100 * (N - 1)) & 3 == 2


@cocotb.test()
async def one_reset(dut: Any) -> None:
    """A drive's own Reset leaves the others and the numbers alone."""
    b = await ready(dut)
    await b.write(4, 2)
    await b.write(0x44, 77)
    await b.write(base(N - 1) + 4, 1)
    await b.wait(4)
    assert int(dut.drive_rst.value) == 1 << (N - 1)
    assert await b.read(base(N - 1) + 8) & 1 == 1
    if N > 1:
        assert await b.read(8) & 1 == 0
    await b.until(base(N - 1) + 8, 1, 0)
    assert await b.read(base(N - 1) + 0x44) == 77


@cocotb.test()
async def initialise_by_cc(dut: Any) -> None:
    """Without UseConfigure a drive is brought up when software sets its CC.EN by packet, as a drive of its own would
    be; before, its registers are refused, with an error that software sees.
    """
    b = await ready(dut)
    if CONFIGURE:
        return
    b.packets_on = True
    b.host_packet([1 << 28 | 0x1C, 0, 1 << 16 | 1, 5])
    assert await b.take_packet() == [4 << 16 | 2 << 12 | 0x1C, 1 << 16 | 1 << 11 | 1, 0x80000005, 0]
    for enable, held in ((0, 0), (1, 2)):
        b.host_packet([1 << 28 | 0x14, 0, 1 << 16 | 1 << 11 | 1, 0, 0x460000 | enable])
        await b.wait(50)
        assert int(dut.drive_rst.value) == (1 << N) - 1 - held
    assert await b.read(base(1) + 4) & 2 and not await b.read(base(0) + 4) & 1


@cocotb.test()
async def status_bits(dut: Any) -> None:
    b = await ready(dut)
    await b.write(4, 2)
    for name, bit in (("phy_ready", STATUS["PciePhyReady"]), ("link_up", STATUS["PcieLinkUp"])):
        for drive in range(N):
            for d in range(N):
                setattr(b.drives[d], name, d == drive)
            await b.wait(2)
            for d in range(N):
                assert (await b.read(base(d) + 8) >> bit & 1) == (d == drive)
    await b.write(0x44, 1)
    await b.write(4, 1 << CONTROL["DataEnable"])
    await b.until(8, 0xC, 1 << STATUS["DataEnabled"])
    for k in range(N):
        b.feed(b.block(k))
    await b.until(8, 0xC, 1 << STATUS["Completed"])
    assert await b.read(4) == 6
    await b.write(4, 0)
    assert await b.read(4) == 2
    await b.write(0x8C, 1)
    await b.write(0x80, 1 << READ_CONTROL["Enable"] | 1 << READ_CONTROL["PerformTrim"])
    assert await b.read(0x80) == 3
    await b.until(0x84, 3, 1 << READ_STATUS["Complete"])


@cocotb.test()
async def the_time_of_a_long_capture_begins_anew(dut: Any) -> None:
    """TimeUs after 2^32 us, which are 71 minutes."""
    b = await ready(dut)
    await b.write(4, 2)
    await b.write(0x44, 1000)
    await b.write(4, 1 << CONTROL["DataEnable"])
    await b.until(0x50, 0xFF, 1, tries=8000, pause=10)
    dut.i_regs.time_q.value = (1 << 32) - 2
    await b.wait(1)
    assert await b.read(0x50) >> 4 == (1 << 28) - 1
    await b.wait(5 * 250)
    assert 2 <= await b.read(0x50) <= 5
    await b.write(4, 0)


def test_the_table_is_the_documents() -> None:
    """docs/recorder/registers.md names every register with its address."""
    text = (bench.ROOT / "docs" / "recorder" / "registers.md").read_text()
    for name, address, _, _ in table():
        assert re.search(rf"\| 0x{address:03X} \| {re.escape(name.removesuffix(' register'))} \|", text), name


@pytest.mark.parametrize(("n", "total", "configure"), [(2, 0, 1), bench.rare(8, 104857600, 0)])
def test_db_recorder_regs(n: int, total: int, configure: int) -> None:
    bench.run(
        __file__,
        "db_recorder_core",
        {
            "N_DRIVES": n,
            "TOTAL_BLOCKS": total,
            "USE_CONFIGURE": f"1'b{configure}",
            "RESET_US": 2,
        },
        env={"REC_N": str(n), "REC_TOTAL": str(total), "REC_CONFIGURE": str(configure)},
        inside=("db_rec_regs",),
    )
