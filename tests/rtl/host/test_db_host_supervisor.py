# SPDX-License-Identifier: Apache-2.0
"""db_host_supervisor in db_host_control: each way out of trouble, and what the registers tell of it."""

from __future__ import annotations

import cocotb
import pytest
from cocotb.triggers import ReadOnly, RisingEdge
from host_ctl_bench import ADMIN_ANSWER, MS, Bench, run
from host_drive_model import ABORT, GET_LOG, SILENT, Options
from host_supervisor_steps import (
    ABORT_MS,
    ADMIN_MS,
    CONTROL,
    NUM_ABORTS,
    NUM_RESETS,
    POLL_MS,
    config_writes,
    io_done,
    up,
)


@cocotb.test()
async def abort_helps(dut):
    b = await up(dut)
    for cid, qid in ((0x1234, 2), (7, 1)):
        b.late(cid, qid)
        while not b.drive.aborted:
            await b.ticks(1)
        assert b.drive.aborted == [(qid, cid)]
        await b.ticks(100)
        b.late()
        b.drive.aborted.clear()
        await b.ticks(1200 * MS)
        assert int(dut.io_up.value) == 1 and b.drive.resets == 0 and not b.drive.aborted
    assert await b.read(NUM_ABORTS) == 2
    assert await b.read(NUM_RESETS) == 0
    assert (await b.failure())[1] == "NONE"


@cocotb.test()
@cocotb.parametrize(after=range(1, 26, 3))
async def abort_is_of_the_command_that_was_late(dut, after):
    """It ends while its Abort is on its way, and another one is the oldest: that is left alone, until it is late, too.
    Then it has an Abort of its own, and the time of its own for it to help."""
    b = await up(dut, seed=after)
    await b.write(ABORT_MS, 60)
    b.late(0x111, 1)
    await b.ticks(after)
    b.late(0x222, 2)
    dut.s_late_valid.value = 0
    await b.ticks(2 + after % 2)
    b.late(0x222, 2)
    start = b.cycle
    while len(b.drive.aborted) < 2:
        await b.ticks(1)
        assert b.cycle - start < 15 * MS
    assert b.drive.aborted == [(1, 0x111), (2, 0x222)]
    await b.until(dut.io_up, 0)
    assert 59 * MS <= b.cycle - start <= 61 * MS + 200, f"after {(b.cycle - start) / MS} ms"
    assert await b.failure() == ("ABORT", "LATE", 0)


@cocotb.test()
@cocotb.parametrize(mute=[False, True])
async def abort_does_not_help(dut, mute):
    """Still late: controller reset, without touching the configuration, and up again."""
    b = await up(dut, Options(mute=frozenset({ABORT}) if mute else frozenset()), seed=5)
    await b.write(ABORT_MS, 20)
    asked = len(b.requests)
    start = b.cycle
    b.late(3, 1)
    await b.until(dut.io_up, 0)
    assert 19 * MS <= b.cycle - start <= 21 * MS + 100, f"after {(b.cycle - start) / MS} ms"
    assert b.drive.cc & 1, "io_up must fall before the controller is disabled"
    b.late()
    await b.until(dut.io_up, ms=100)
    assert b.drive.resets == 1 and int(dut.io_dead.value) == 0
    b.requests[:asked] = []
    assert config_writes(b) == 0
    assert await b.failure() == ("ABORT", "LATE", 0)
    assert [await b.read(NUM_ABORTS), await b.read(NUM_RESETS)] == [1, 1]
    # the admin queue works again
    b.late(9, 2)
    if not mute:
        await b.ticks(300)
        assert b.drive.aborted[-1] == (2, 9)


@cocotb.test()
async def gives_up(dut):
    """Resets with no I/O command done in between come to an end; with some, they do not."""
    b = await up(dut)
    await b.write(ABORT_MS, 3)
    for round_ in range(5):
        await io_done(b)
        b.late(round_, 1)
        await b.until(dut.io_up, 0)
        b.late()
        await b.until(dut.io_up, ms=200)
    assert b.drive.resets == 5 and int(dut.io_dead.value) == 0
    b.late(1, 1)  # one reset is left since the last bring-up
    await b.until(dut.io_up, 0)
    await b.until(dut.io_dead, ms=300)
    assert int(dut.io_up.value) == 0
    assert (await b.failure())[:2] == ("ABORT", "LATE")
    b.late()
    log = len(b.requests)
    await b.ticks(50 * MS)
    assert len(b.requests) == log, "a drive that was given up is left alone"
    await b.write(CONTROL, 1)
    await b.until(dut.io_up)
    assert int(dut.io_dead.value) == 0


@cocotb.test()
async def resets_that_were_asked_for_give_no_more_tries(dut):
    """However many there were, 15 and more, since an I/O command was done: the next trouble is the end."""
    b = await up(dut)
    for _ in range(15):
        await b.write(CONTROL, 2)
        await b.until(dut.io_up, 0)
        await b.until(dut.io_up, ms=100)
    assert b.drive.resets == 15
    b.drive.csts |= 2
    await b.until(dut.io_dead, ms=10)
    assert b.drive.resets == 15


@cocotb.test()
@cocotb.parametrize(what=["fatal", "not ready", "asked"])
async def controller_reset(dut, what):
    b = await up(dut, seed=8)
    await io_done(b)
    asked = len(b.requests)
    if what == "fatal":
        b.drive.csts |= 2
    elif what == "not ready":
        b.drive.cc = b.drive.csts = 0
    else:
        await b.write(CONTROL, 2)
    start = b.cycle
    await b.until(dut.io_up, 0)
    assert b.cycle - start < 3 * MS + 100, "CSTS is looked at each millisecond"
    await b.until(dut.io_up, ms=100)
    assert int(dut.io_dead.value) == 0
    b.requests[:asked] = []
    assert config_writes(b) == 0
    assert (await b.failure())[:2] == ("UP", {"fatal": "FATAL", "not ready": "NOT_READY", "asked": "ASKED"}[what])


@cocotb.test()
async def damaged(dut):
    """A damaged write: io_up falls at once, also while CSTS is being read; in bring-up nothing read is believed."""
    b = await up(dut, seed=9)
    for wait in (0, 1, 2, 3, 5, 9, 20, 60):
        await io_done(b)
        await RisingEdge(dut.tick)
        for _ in range(wait):
            await RisingEdge(dut.clk)
        dut.s_damaged.value = 1
        await RisingEdge(dut.clk)
        dut.s_damaged.value = 0
        await RisingEdge(dut.clk)
        await ReadOnly()
        assert int(dut.io_up.value) == 0
        await b.until(dut.io_up, ms=100)
        assert (await b.failure())[:2] == ("UP", "DAMAGED")
    resets = b.drive.resets
    await io_done(b)
    await b.write(CONTROL, 2)
    await b.until(dut.io_up, 0)
    for ready in (0, 1):
        while b.drive.csts & 1 != ready:
            await RisingEdge(dut.clk)
    dut.s_damaged.value = 1
    await RisingEdge(dut.clk)
    dut.s_damaged.value = 0
    await b.until(dut.io_up, ms=100)
    assert b.drive.resets == resets + 2 and (await b.failure())[1] == "DAMAGED"


@cocotb.test()
async def lost_configuration(dut):
    """The drive went through a reset of its own: configuration space is set up anew."""
    b = await up(dut)
    await io_done(b)
    b.drive.power_on(b.cycle / MS)
    await b.until(dut.io_up, 0)
    await b.until(dut.io_up, ms=300)
    assert b.drive.cfg[1] & 6 == 6 and b.drive.cqs
    assert (await b.failure())[:2] == ("UP", "REFUSED")
    assert int(dut.io_dead.value) == 0


@cocotb.test()
async def removed(dut):
    b = await up(dut)
    await io_done(b)
    b.drive.gone = True
    await b.until(dut.io_dead, ms=10)
    assert int(dut.io_up.value) == 0
    assert (await b.failure())[:2] == ("UP", "REMOVED")
    await b.ticks(20 * MS)
    dut.link_up.value = 0
    await b.ticks(20 * MS)
    b.drive.gone = False
    b.drive.power_on(b.cycle / MS)
    dut.link_up.value = 1
    assert int(dut.io_dead.value) == 1
    await b.until(dut.io_up)
    assert int(dut.io_dead.value) == 0
    assert (await b.failure())[:2] == ("UP", "LINK")


@cocotb.test()
@cocotb.parametrize(after=[50, 400, 900, 1500, 2200, 3000, 3400, 6000])
async def link_down(dut, after):
    """At any moment, also while an access or an admin command is under way."""
    b = Bench(dut, Options(), seed=after)
    b.delay = 30
    await b.start()
    await b.ticks(after)
    was_up = int(dut.io_up.value)
    dut.link_up.value = 0
    b.drive.gone = True
    b.lose_answer()
    await b.ticks(3)
    assert int(dut.io_up.value) == 0 and int(dut.io_dead.value) == 1
    assert (await b.failure())[1] == "LINK"
    await b.ticks(80 * MS if after % 3 else 20)
    assert int(dut.io_up.value) == 0
    b.drive.gone = False
    b.cqes.clear()
    b.drive.power_on(b.cycle / MS)
    dut.link_up.value = 1
    await b.until(dut.io_up, ms=500)
    assert int(dut.io_dead.value) == 0 and was_up in (0, 1)
    assert b.drive.cqs and b.drive.cfg[1] & 6 == 6


@cocotb.test()
async def no_answer_to_the_poll(dut):
    b = await up(dut)
    await io_done(b)
    b.delay = 10**9
    await b.until(dut.io_up, 0, ms=120)
    b.delay = 0
    await b.until(dut.io_up, ms=300)
    assert (await b.failure())[:2] == ("UP", "NO_ANSWER")


@cocotb.test()
async def dead_after_reset(dut):
    """The drive does not come back from a reset: what it fails at is told."""
    b = await up(dut)
    await io_done(b)
    b.drive.o = Options(never_on=True)
    await b.write(CONTROL, 2)
    await b.until(dut.io_up, 0)
    await b.until(dut.io_dead, ms=200)
    assert (await b.failure())[:2] == ("WAIT_ON", "NOT_READY")
    b.drive.o = Options(cfg_status=SILENT)
    await b.write(CONTROL, 1)
    await b.ticks(400 * MS)
    assert int(dut.io_dead.value) == 1
    assert (await b.failure())[:2] == ("VENDOR", "NO_ANSWER")


@cocotb.test()
async def admin_timeout(dut):
    """A user's command that is never answered: told, and the controller is reset."""
    b = await up(dut, Options(mute=frozenset({GET_LOG})))
    await io_done(b)
    await b.write(ADMIN_MS, 15)
    dut.m_adm_ready.value = 1
    for i in range(16):
        dut.s_adm_valid.value, dut.s_adm_data.value = 1, GET_LOG if i == 0 else 0
        await b.ticks(1)
        while not int(dut.s_adm_ready.value):
            await b.ticks(1)
    dut.s_adm_valid.value = 0
    await b.until(dut.m_adm_valid, ms=30)
    assert ADMIN_ANSWER.unpack(int(dut.m_adm.value))["timeout"] == 1
    await b.until(dut.io_up, 0, ms=1)
    await b.until(dut.io_up, ms=100)
    assert (await b.failure())[:2] == ("UP", "ADMIN_TIMEOUT")


@cocotb.test()
async def no_poll(dut):
    b = await up(dut)
    await b.write(POLL_MS, 0)
    await b.ticks(5 * MS)
    asked = len(b.requests)
    await b.ticks(100 * MS)
    assert len(b.requests) == asked
    assert int(dut.busy.value) == 0
    await b.write(POLL_MS, 5)  # and again, in the same bring-up
    await b.ticks(12 * MS)
    assert 2 <= len(b.requests) - asked <= 3


@pytest.mark.parametrize("width,qp", [(128, 2)])
def test_db_host_supervisor(width: int, qp: int) -> None:
    run(__file__, width, parts=("host_supervisor_shutdown",), NUM_QP=qp)
