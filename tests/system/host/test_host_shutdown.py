# SPDX-License-Identifier: Apache-2.0
"""An orderly shutdown of a drive by db_host: what was taken ends first, what comes later is refused, the wait has a
limit, and the drive comes up again when it is asked to.
"""

from __future__ import annotations

import pytest
from doorbell.device.drives import ModelDrive
from host_helpers import ABORTED, CONTROL, FAST, MS, NUM_RESETS, PATH_ERROR, STATUS, Host

START, SHUTDOWN = 1, 4  # of CONTROL
SHUTDOWN_MS = 0x2C
UP, DEAD, DONE, FAILED = 1, 2, 16, 32  # of STATUS


def ended(h: Host, cycles: int = 200_000) -> int:
    """Run until the shutdown has come to an end; STATUS."""
    h.sim.run_until(lambda: h.sim.axil_read(STATUS) & (DONE | FAILED), cycles, step=50)
    return h.sim.axil_read(STATUS) & (UP | DEAD | DONE | FAILED)


def count(h: Host) -> int:
    return h.sim.counters()["drive.shutdowns"]


@pytest.mark.parametrize("stall", [0, 20])
@pytest.mark.parametrize("when", [0, 900, 2500])
def test_in_the_middle_of_commands(when: int, stall: int) -> None:
    """Commands that were taken end well, all that follow are refused, each has one status; the drive holds what it
    said it holds, and rings no doorbell after CC.SHN.
    """
    h = Host("narrow", ModelDrive(**FAST), stall_pct=stall).up()
    for round_ in range(2):
        h.give(h.random(150, "read write", 30))
        h.sim.run(when)
        left = h.sim.signal("cmds_left")
        h.sim.axil_write(CONTROL, SHUTDOWN)
        assert ended(h) == DEAD | DONE and count(h) == round_ + 1
        got = h.check(300_000, anything=True)
        good = [not s.status for s in got]
        assert good == sorted(good, reverse=True), "the first ones, and no other"
        assert {s.status for s in got} <= {0, PATH_ERROR} and 150 - left <= sum(good) < 150
        h.sim.run(20 * MS)
        assert count(h) == round_ + 1 and h.sim.axil_read(NUM_RESETS) == 0
        h.sim.axil_write(CONTROL, START)
        h.up()
        h.give(h.random(40))
        h.check()
        assert h.sim.axil_read(STATUS) & 0x33 == UP
    h.close()


def test_with_nothing_to_do() -> None:
    """It takes what the drive takes: here 10 us."""
    h = Host("narrow", ModelDrive(**FAST)).up()
    begin = h.sim.cycle
    h.sim.axil_write(CONTROL, SHUTDOWN)
    assert ended(h) == DEAD | DONE
    assert h.sim.cycle - begin < h.sim.cycles(10) + 3 * MS + 200
    h.give([("write", 0, 4), ("read", 0, 4), ("flush", 0, 0)])
    assert {s.status for s in h.check(20_000, anything=True)} == {PATH_ERROR}
    h.close()


def test_drive_that_never_says_so() -> None:
    """The wait ends after SHUTDOWN_MS with an error that names the step."""
    h = Host("narrow", ModelDrive(**{**FAST, "shutdown_us": None})).up()
    h.sim.axil_write(SHUTDOWN_MS, 30)
    h.give(h.random(40))
    h.check()
    begin = h.sim.cycle
    h.sim.axil_write(CONTROL, SHUTDOWN)
    assert ended(h) == DEAD | FAILED
    assert 29 * MS <= h.sim.cycle - begin <= 32 * MS + 500
    assert h.failure() == ("shutdown", 51) and not count(h)
    h.close()


@pytest.mark.parametrize("abort_ok", [True, False])
def test_with_a_command_that_is_lost(abort_ok: bool) -> None:
    """The last one is lost: Abort, or a controller reset and again, and then the shutdown."""
    h = Host("narrow", ModelDrive(**{**FAST, "abort_ok": abort_ok})).up().quick(5000)
    h.sim.axil_write(SHUTDOWN_MS, 2000)
    h.sim.fault("lost", opcode=1, lba=5000, blocks=1)
    h.give([("write", 100, 9), ("write", 5000, 9), ("read", 300, 4)])
    h.sim.run(500)
    h.sim.axil_write(CONTROL, SHUTDOWN)
    assert ended(h, 600_000) == DEAD | DONE and count(h) == 1
    h.check(bad={1: ABORTED} if abort_ok else {})
    assert h.sim.axil_read(NUM_RESETS) == (not abort_ok)
    h.close()
