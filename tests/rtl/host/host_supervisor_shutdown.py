# SPDX-License-Identifier: Apache-2.0
"""Tests of db_host_supervisor, which test_db_host_supervisor.py runs: shutdowns, by pin or by register,
whatever is going on meanwhile."""

from __future__ import annotations

import cocotb
from cocotb.triggers import RisingEdge
from host_ctl_bench import ADMIN_ANSWER, MS, WINDOW, Bench
from host_drive_model import GET_LOG, Options
from host_supervisor_steps import ABORT_MS, CONTROL, NUM_RESETS, SHUTDOWN_MS, STATUS, io_done, up


def shut_down_at(b: Bench) -> list[int]:
    """What was written to CC since the log was cleared."""
    return [data for kind, at, data in b.drive.log if kind == "reg" and at == 0x14]


async def ended(b: Bench, ms: float = 100) -> tuple[bool, bool]:
    """The shutdown has come to an end: done, failed, as the ports and STATUS say alike."""
    end = b.cycle + int(ms * MS)
    while not (int(b.dut.shut_down.value) or int(b.dut.shutdown_failed.value)):
        await RisingEdge(b.dut.clk)
        assert b.cycle < end, f"no end of the shutdown in {ms} ms"
    status = await b.read(STATUS)
    done, failed = int(b.dut.shut_down.value), int(b.dut.shutdown_failed.value)
    assert (status >> 4 & 1, status >> 5 & 1) == (done, failed)
    assert int(b.dut.io_up.value) == 0 and status & 1 == 0
    return bool(done), bool(failed)


async def ask(b: Bench, pin: bool = False) -> None:
    if pin:
        b.dut.shutdown.value = 1
        await b.ticks(1)
        b.dut.shutdown.value = 0
    else:
        await b.write(CONTROL, 4)


@cocotb.test()
@cocotb.parametrize(pin=[False, True])
async def shutdown(dut, pin):
    """No new command at once, CC.SHN when the last one has ended, the end when the drive says so; then quiet, until
    CONTROL.start.
    """
    b = await up(dut, seed=3)
    for round_ in range(3):
        dut.s_idle.value = 0
        await ask(b, pin)
        await b.until(dut.io_open, 0, ms=1)
        await b.ticks((5 + 20 * round_) * MS)
        assert int(dut.io_up.value) == 1 and not shut_down_at(b), "commands are inside"
        dut.s_idle.value = 1
        begin = b.cycle
        await b.until(dut.io_up, 0, ms=2)
        assert int(dut.io_dead.value) == 0
        assert await ended(b) == (True, False)
        assert b.cycle - begin < 5 * MS, "the drive takes 1.5 ms"
        assert shut_down_at(b) == [0x464001] and b.drive.csts == 9 and int(dut.io_dead.value) == 1
        assert (await b.failure())[1] == "NONE" and await b.read(NUM_RESETS) == 0
        asked = len(b.requests)
        await ask(b, pin)  # it is
        await b.ticks(20 * MS)
        assert len(b.requests) == asked and int(dut.busy.value) == 0
        assert await ended(b) == (True, False)
        await b.write(CONTROL, 1)
        await b.until(dut.io_up)
        assert not int(dut.shut_down.value) and not int(dut.io_dead.value) and int(dut.io_open.value)
        b.drive.log.clear()


@cocotb.test()
async def shutdown_pin_is_held(dut):
    """A level that stays asks once; it asks again of a drive that comes up."""
    b = await up(dut, seed=4)
    dut.shutdown.value = 1
    assert await ended(b) == (True, False)
    await b.ticks(30 * MS)
    assert await ended(b) == (True, False) and len(shut_down_at(b)) == 1
    b.drive.log.clear()
    dut.link_up.value = 0
    await b.ticks(3)
    b.drive.power_on(b.cycle / MS)
    dut.link_up.value = 1
    await b.ticks(3)
    assert not int(dut.shut_down.value)
    assert await ended(b) == (True, False)
    assert shut_down_at(b)[-1] == 0x464001 and b.drive.csts == 9


@cocotb.test()
@cocotb.parametrize(how=["never", "silent", "gone", "late"])
async def shutdown_without_an_answer(dut, how):
    """It takes SHUTDOWN_MS at most; a drive that needs nearly as long is waited for."""
    b = await up(dut, Options(shut_ms={"late": 17.0}.get(how)), seed=6)
    await b.write(SHUTDOWN_MS, 20)
    await ask(b)
    await b.until(dut.io_up, 0, ms=2)
    begin = b.cycle
    if how == "silent":
        b.delay = 10**9
    b.drive.gone = how == "gone"
    assert await ended(b) == ((True, False) if how == "late" else (False, True))
    took = (b.cycle - begin) / MS
    assert (17 if how == "late" else 19) <= took <= 22, f"{took} ms"
    assert await b.failure() == (("SHUTDOWN", "SHUTDOWN", 0) if how != "late" else ("OFF", "NONE", 0))
    assert int(dut.io_dead.value) == 1
    b.delay, b.drive.gone = 0, False
    b.drive.o = Options()
    await b.ticks(60 * MS)
    asked = len(b.requests)
    await b.ticks(20 * MS)
    assert len(b.requests) == asked, "a drive that is given up is left alone"
    await b.write(CONTROL, 1)
    await b.until(dut.io_up, ms=300)
    assert not int(dut.shutdown_failed.value)


@cocotb.test()
async def shutdown_with_commands_that_do_not_end(dut):
    """What never ends keeps the drive from its shutdown for SHUTDOWN_MS, not longer."""
    b = await up(dut, seed=7)
    await b.write(SHUTDOWN_MS, 12)
    dut.s_idle.value = 0
    await ask(b)
    begin = b.cycle
    await b.until(dut.io_up, 0, ms=20)
    assert 10 <= (b.cycle - begin) / MS <= 13
    assert await ended(b) == (True, False)
    assert shut_down_at(b) == [0x464001]


@cocotb.test()
@cocotb.parametrize(what=["fatal", "late", "damaged"])
async def shutdown_after_trouble(dut, what):
    """What goes wrong while commands end is mended first: they are repeated, and the drive is shut down then."""
    b = await up(dut, seed=8)
    await io_done(b)
    await b.write(ABORT_MS, 5)
    dut.s_idle.value = 0
    await ask(b)
    await b.ticks(3 * MS)
    if what == "fatal":
        b.drive.csts |= 2
    elif what == "late":
        b.late(3, 1)
    else:
        dut.s_damaged.value = 1
        await b.ticks(1)
        dut.s_damaged.value = 0
    await b.until(dut.io_up, 0, ms=10)
    b.late()
    await b.until(dut.io_up, ms=100)
    assert b.drive.resets == 1 and int(dut.io_open.value) == 0, "no new command in between"
    await b.ticks(10 * MS)
    assert int(dut.io_up.value) == 1
    dut.s_idle.value = 1
    assert await ended(b) == (True, False)
    assert shut_down_at(b)[-1] == 0x464001 and (await b.failure())[1] == what.upper()


@cocotb.test()
async def shutdown_of_no_drive(dut):
    """Without a link, and of one that was given up: told at once. In bring-up: when it is done."""
    b = Bench(dut, Options(), seed=2)
    await b.start(link=False)
    await ask(b)
    assert await ended(b, 1) == (False, True)
    dut.link_up.value = 1
    await b.ticks(200)
    assert not int(dut.shutdown_failed.value), "this is another bring-up"
    await ask(b, pin=True)
    assert await ended(b) == (True, False)
    b.drive.o = Options(never_on=True)
    await b.write(CONTROL, 1)
    await b.ticks(200)
    await ask(b)
    assert await ended(b, 400) == (False, True), "it does not come up"
    assert (await b.failure())[1] == "NOT_READY"
    await ask(b)
    assert await ended(b, 1) == (False, True)


@cocotb.test()
@cocotb.parametrize(told=[False, True])
async def link_down_in_a_shutdown(dut, told):
    b = await up(dut, Options(shut_ms=None), seed=9)
    dut.s_idle.value = int(told)
    await ask(b)
    if told:
        await b.until(dut.io_up, 0, ms=2)
    await b.ticks(3 * MS)
    dut.link_up.value = 0
    b.lose_answer()
    assert await ended(b, 1) == (False, True)
    assert (await b.failure())[1] == "LINK" and int(dut.io_dead.value) == 1
    b.drive.power_on(b.cycle / MS)
    dut.s_idle.value = dut.link_up.value = 1
    await b.until(dut.io_up, ms=300)
    await b.ticks(10 * MS)
    assert int(dut.io_up.value) == 1 and int(dut.io_open.value) == 1, "the shutdown is forgotten"


@cocotb.test()
async def start_takes_a_shutdown_back(dut):
    b = await up(dut, seed=10)
    dut.s_idle.value = 0
    await ask(b)
    await b.ticks(2 * MS)
    await b.write(CONTROL, 1)
    await b.until(dut.io_up, 0, ms=1)
    dut.s_idle.value = 1
    await b.until(dut.io_up)
    await b.ticks(20 * MS)
    assert int(dut.io_up.value) == 1 and int(dut.io_open.value) == 1 and 0x464001 not in shut_down_at(b)


@cocotb.test()
@cocotb.parametrize(mute=[False, True])
async def admin_command_in_a_shutdown(dut, mute):
    """One that is under way ends first; a new one is refused."""
    b = await up(dut, Options(mute=frozenset({GET_LOG}) if mute else frozenset()), seed=11)
    await b.write(SHUTDOWN_MS, 15)
    dut.m_adm_ready.value = 1
    answers = []
    b.watch.append(lambda: answers.append(int(dut.m_adm.value)) if int(dut.m_adm_valid.value) else None)

    async def send(opcode: int) -> None:
        buffer = WINDOW + 0x2000
        words = {0: opcode, 6: buffer & 0xFFFFFFFF, 7: buffer >> 32}
        for i in range(16):
            dut.s_adm_valid.value, dut.s_adm_data.value = 1, words.get(i, 0)
            await b.ticks(1)
            while not int(dut.s_adm_ready.value):
                await b.ticks(1)
        dut.s_adm_valid.value = 0

    await send(GET_LOG)
    await ask(b, pin=True)
    begin = b.cycle
    assert await ended(b) == (True, False)
    assert [ADMIN_ANSWER.unpack(a)["timeout"] for a in answers] == [int(mute)]
    assert (b.cycle - begin > 14 * MS) == mute
    await send(GET_LOG)
    await b.ticks(10)
    assert ADMIN_ANSWER.unpack(answers[1])["timeout"] == 1 and len(answers) == 2
