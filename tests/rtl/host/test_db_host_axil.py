# SPDX-License-Identifier: Apache-2.0
"""db_host_axil and db_host_admin_passthru in db_host_control: registers, admin pass-through from both sides, raw
accesses."""

from __future__ import annotations

import re

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import RisingEdge
from host_ctl_bench import ADMIN_ANSWER, ANSWER, MS, RAW, SETTINGS, WINDOW, Bench, names, run
from host_drive_model import GET_LOG, Options

SQE, BUFFER = 0x5000, 0x4000
ADMIN, DW0, DW1 = 0x80, 0x84, 0x88
BUF_ADDR = WINDOW + 0x2000


def command(opc: int, dw10: int = 0, dw12: int = 0) -> list[int]:
    sqe = [0] * 16
    sqe[0], sqe[6], sqe[7], sqe[10], sqe[12] = opc | 0xBAD0000, BUF_ADDR & 0xFFFFFFFF, BUF_ADDR >> 32, dw10, dw12
    return sqe


def log_page(dw10: int) -> list[int]:
    data = bytes((i * 7 + dw10) & 0xFF for i in range(4096))
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, 4096, 4)]


async def up(dut, options: Options | None = None, seed: int = 1) -> Bench:
    b = Bench(dut, options or Options(), seed)
    await b.start()
    await b.until(dut.io_up)
    return b


async def by_port(b: Bench, sqe: list[int]) -> tuple[dict, int]:
    """A command through s_adm: the completion entry, and whether there was none."""
    d, rng = b.dut, b.rng
    for word in sqe:
        while rng.random() < 0.3:
            await RisingEdge(d.clk)
        d.s_adm_valid.value, d.s_adm_data.value = 1, word
        await RisingEdge(d.clk)
        while not int(d.s_adm_ready.value):
            await RisingEdge(d.clk)
        d.s_adm_valid.value = 0
    while True:
        d.m_adm_ready.value = int(rng.random() < 0.4)
        await RisingEdge(d.clk)
        if int(d.m_adm_valid.value) and int(d.m_adm_ready.value):
            d.m_adm_ready.value = 0
            answer = ADMIN_ANSWER.unpack(int(d.m_adm.value))
            return answer["cqe"], answer["timeout"]


async def by_registers(b: Bench, sqe: list[int]) -> None:
    for i, word in enumerate(sqe):
        await b.write(SQE + 4 * i, word)
    await b.write(ADMIN, 1)
    while await b.read(ADMIN) & 2:
        pass


@cocotb.test()
async def identity_and_settings(dut):
    b = await up(dut)
    assert await b.read(0x00) == 0x4442484F
    assert await b.read(0x04) == 128 | 2 << 16 | 16 << 24
    assert await b.read(0x0C) & 0x7 == 5
    assert await b.read(0x0C) >> 16 == {n: v for v, n in names("STEP").items()}["UP"]
    resets = {0x14: 1, 0x18: 10000, 0x1C: 1000, 0x20: 1, 0x24: 1, 0x28: 1250000000, 0x2C: 10000}
    widths = {0x14: 32, 0x18: 16, 0x1C: 16, 0x20: 16, 0x24: 2, 0x28: 32, 0x2C: 16}
    for addr, value in resets.items():
        assert await b.read(addr) == value
    for addr in resets:
        word = b.rng.getrandbits(32)
        await b.write(addr, word)
        assert await b.read(addr) == word & (1 << widths[addr]) - 1
    settings = SETTINGS.unpack(int(dut.settings.value))
    fields = ("nsid", "admin_ms", "abort_ms", "poll_ms", "repeat_on_reset", "cmd_timeout", "shutdown_ms")
    for addr, field in zip(resets, fields, strict=True):
        value = await b.read(addr)
        assert settings[field] == (value & 1 if addr == 0x24 else value)
    for value in (2, 1):
        await b.write(0x24, value)
        settings = SETTINGS.unpack(int(dut.settings.value))
        assert (settings["prp_only"], settings["repeat_on_reset"]) == (value >> 1, value & 1)
    for pulses, port, addr in ((5, dut.stat_cqe, 0x60), (3, dut.stat_bad, 0x6C)):
        port.value = 1
        await b.ticks(pulses)
        port.value = 0
        assert await b.read(addr) == pulses
    assert await b.read(0x200) == 0
    assert await b.read(SQE) == 0


@cocotb.test()
async def through_the_registers(dut):
    b = await up(dut)
    for k in range(6):
        await by_registers(b, command(GET_LOG, 0x30 + k, k))
        assert await b.read(ADMIN) == 0
        assert (await b.read(DW0), await b.read(DW1)) == (0xC0FFEE ^ k, 0x77)
        page = log_page(0x30 + k)
        for i in (0, 1, 511, 1023, b.rng.randrange(1024)):
            assert await b.read(BUFFER + 4 * i) == page[i]
    await by_registers(b, command(0x7F))
    assert await b.read(ADMIN) == 0x4001 << 16
    words = {i: b.rng.getrandbits(32) for i in (0, 5, 1023)}
    for i, word in words.items():
        await b.write(BUFFER + 4 * i, word)
    assert {i: b.memory[i] for i in words} == words


@cocotb.test()
async def where_nothing_is_nothing_happens(dut):
    """Behind the entry (regs/db_host.rdl: above that nothing) and behind the description, which ends at 0x8000."""
    b = await up(dut)
    for i, word in enumerate(command(GET_LOG, 0x31, 9)):
        await b.write(SQE + 4 * i, word)
    await b.write(BUFFER, 0x1234)
    for addr in (SQE + 0x40, 0x6000, 0x7FFC, *(0x8000 + a for a in (0x08, 0x14, 0x18, ADMIN, BUFFER, SQE))):
        await b.write(addr, 0xFFFFFFFF)
        assert await b.read(addr) == 0, hex(addr)
    assert (await b.read(0x14), await b.read(0x18), await b.read(BUFFER)) == (1, 10000, 0x1234)
    assert await b.read(0x8000) == 0 and int(dut.io_up.value) == 1 and b.drive.resets == 0
    await b.write(ADMIN, 1)
    while await b.read(ADMIN) & 2:
        pass
    assert (await b.read(ADMIN), await b.read(DW0)) == (0, 0xC0FFEE ^ 9)


@cocotb.test()
async def both_sides_at_once(dut):
    """Port, registers and Abort at the same time: each gets its own answer."""
    b = await up(dut)
    await b.write(0x1C, 60000)
    seen = []

    async def port() -> None:
        for k in range(20):
            cqe, lost = await by_port(b, command(GET_LOG, 1, 0x100 + k))
            assert not lost and cqe["dw0"] == 0xC0FFEE ^ (0x100 + k) and not any(cqe["status"].values())
            seen.append(k)

    async def registers() -> None:
        for k in range(4):
            await by_registers(b, command(GET_LOG, 2, 0x200 + k))
            assert await b.read(DW0) == 0xC0FFEE ^ (0x200 + k)

    async def aborts() -> None:
        for k in range(8):
            b.late(k, 1)
            end = b.cycle + 2000
            while len(b.drive.aborted) <= k:
                await RisingEdge(dut.clk)
                assert b.cycle < end, "the Abort was lost"
            b.late()
            await b.ticks(b.rng.randrange(3, 250))  # also into a command that is coming in

    tasks = [cocotb.start_soon(t()) for t in (port, registers, aborts)]
    for t in tasks:
        await t
    assert b.drive.aborted == [(1, k) for k in range(8)]
    assert len(seen) == 20 and int(dut.io_up.value) == 1 and b.drive.resets == 0


@cocotb.test()
async def while_it_is_not_up(dut):
    """A command is told to be lost: before bring-up, and when a reset comes in its way."""
    b = Bench(dut, Options())
    await b.start(link=False)
    assert (await by_port(b, command(GET_LOG)))[1] == 1
    await by_registers(b, command(GET_LOG))
    assert await b.read(ADMIN) & 4
    dut.link_up.value = 1
    await b.until(dut.io_up)
    for k in range(12):
        task = cocotb.start_soon(by_port(b, command(GET_LOG, 0, k)))
        await b.ticks(b.rng.randrange(1, 160))
        await b.write(0x08, 2)
        cqe, lost = await task
        assert lost or cqe["dw0"] == 0xC0FFEE ^ k
        await b.until(dut.io_up, 0, ms=20) if int(dut.io_up.value) else None
        await b.until(dut.io_up, ms=100)
        cqe, lost = await by_port(b, command(GET_LOG, 0, 0x700 + k))
        assert not lost and cqe["dw0"] == 0xC0FFEE ^ (0x700 + k)
        dut.stat_cqe.value = 1
        await b.ticks(1)
        dut.stat_cqe.value = 0


@cocotb.test()
async def raw_accesses(dut):
    """BAR 0 by the raw port, while CSTS is looked at each millisecond."""
    b = await up(dut)
    values = {0x08: 0x20000, 0x14: 0x460001, 0x1C: 1, 0x28: WINDOW & 0xFFFFFFFF, 0x2C: WINDOW >> 32, 0x8000: None}
    for _ in range(60):
        addr = b.rng.choice(list(values))
        dut.s_reg_valid.value, dut.s_reg.value = 1, RAW.pack(addr=addr)
        await RisingEdge(dut.clk)
        while not int(dut.s_reg_ready.value):
            await RisingEdge(dut.clk)
        dut.s_reg_valid.value = 0
        while not int(dut.m_reg_valid.value):
            await RisingEdge(dut.clk)
        answer = ANSWER.unpack(int(dut.m_reg.value))
        if values[addr] is None:
            assert answer["status"] == 1
        else:
            assert answer == {"status": 0, "rdata": values[addr]}
        await b.ticks(b.rng.randrange(MS))
    dut.s_reg_valid.value, dut.s_reg.value = 1, RAW.pack(write=1, addr=0x1008, wdata=1)  # tail of queue 1
    await RisingEdge(dut.clk)
    while not int(dut.s_reg_ready.value):
        await RisingEdge(dut.clk)
    dut.s_reg_valid.value = 0
    await b.ticks(60)
    assert b.drive.doorbells[1, 0] == 1


def test_tables_of_the_docs() -> None:
    """docs/host/theory.md lists every step and reason of db_host_control_pkg with its number."""
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", (bench.ROOT / "docs" / "host" / "theory.md").read_text(), re.M)
    assert [(int(n), name) for n, name in rows] == [*names("STEP").items(), *names("FAIL").items()]


@pytest.mark.parametrize("width,qp", [(128, 2)])
def test_db_host_axil(width: int, qp: int) -> None:
    run(__file__, width, NUM_QP=qp)
