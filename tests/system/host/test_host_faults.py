# SPDX-License-Identifier: Apache-2.0
"""Every failure of a drive that db_host promises to survive: after it each command has one status, in order, within a
known number of cycles; nobody else's data is harmed, and no data is wrong without a word.
"""

from __future__ import annotations

from typing import Any

import pytest
from doorbell.device.drives import ModelDrive
from doorbell.device.messages import SimError
from host_helpers import (
    ABORTED,
    ADMIN_MS,
    CONTROL,
    EACH,
    FAST,
    HOST_ABORTED,
    MS,
    NUM_ABORTS,
    NUM_BAD,
    NUM_RESETS,
    PATH_ERROR,
    Host,
)  # fmt: skip

READ, WRITE = 2, 1
TIMEOUT = 20_000
BRING_UP = 40_000  # cycles of a bring-up of the fast drive, and to spare


def host(config: str = "narrow", **drive: Any) -> Host:
    return Host(config, ModelDrive(**{**FAST, **drive}), stall_pct=10).up().quick(TIMEOUT)


def mixed(h: Host, count: int = 60) -> list[tuple[str, int, int]]:
    """Reads and writes, and what `fault` can aim at: number 20 is a read of 9 blocks at 4000, 21 a write at 5000."""
    out = [c for c in h.random(count, "read write", 20) if c[1] + c[2] < 4000]
    return [*out[:20], ("read", 4000, 9), ("write", 5000, 9), *out[20:]]


@pytest.mark.parametrize("config", EACH)
def test_error_status(config: str) -> None:
    h = host(config)
    h.sim.fault("status", lba=4003, blocks=1, status=0x281)
    h.sim.fault("status", lba=5000, blocks=1, status=0x280)
    h.give(mixed(h))
    h.check(bad={20: 0x281, 21: 0x280})
    h.give(mixed(h))
    h.check()
    assert h.sim.axil_read(NUM_RESETS) == 0
    h.close()


def test_error_status_of_a_part() -> None:
    """A command that was split ends with the first error of its parts; its other parts are done."""
    h = host(mdts=1)
    h.sim.fault("status", lba=4020, blocks=1, status=0x281)
    h.sim.fault("status", lba=5000, blocks=1, status=0x280)
    h.give([("read", 4000, 48), ("write", 5000, 48), ("read", 6000, 48)])
    h.check(bad={0: 0x281, 1: 0x280})
    h.close()


@pytest.mark.parametrize("op", [READ, WRITE])
def test_lost_and_aborted(op: int) -> None:
    """A command that never completes is aborted, and ends with what Abort makes of it; no reset."""
    h = host()
    h.sim.fault("lost", opcode=op, lba=4000 if op == READ else 5000, blocks=9)
    h.give(mixed(h))
    h.check(TIMEOUT + BRING_UP, bad={20 if op == READ else 21: ABORTED})
    assert h.sim.axil_read(NUM_ABORTS) == 1 and h.sim.axil_read(NUM_RESETS) == 0
    h.close()


@pytest.mark.parametrize("config", EACH)
@pytest.mark.parametrize("op", [READ, WRITE])
def test_lost_and_repeated(config: str, op: int) -> None:
    """Abort does not help: controller reset, and all that has not ended is done again."""
    h = host(config, abort_ok=False)
    h.sim.fault("lost", opcode=op, lba=4000, blocks=2000)
    h.give(mixed(h))
    h.check(TIMEOUT + 21 * MS + BRING_UP + 60_000)
    assert h.sim.axil_read(NUM_RESETS) == 1 and h.failure() == ("late", 49)
    h.give(mixed(h))
    h.check()
    h.close()


def test_lost_and_reported() -> None:
    """The same, and what has not ended is reported, not repeated; what had ended keeps its status."""
    h = host(abort_ok=False).quick(TIMEOUT, repeat=False)
    h.sim.fault("lost", opcode=READ, lba=4000, blocks=9)
    h.give(mixed(h))
    got = h.check(TIMEOUT + 21 * MS + BRING_UP, anything=True)
    assert {s.status for s in got} <= {0, HOST_ABORTED} and got[20].status == HOST_ABORTED
    assert not any(s.status for s in got[:20])
    h.up()
    h.give(mixed(h))
    h.check()
    h.close()


def test_lost_each_time() -> None:
    """A command that no reset cures does not keep everybody waiting: after some tries the drive is given up."""
    h = host(abort_ok=False)
    h.sim.fault("lost", opcode=READ, lba=4000, blocks=9, count=None)
    h.give(mixed(h))
    got = h.check(4 * (TIMEOUT + 21 * MS + BRING_UP), anything=True)
    assert h.sim.dead and got[20].status == PATH_ERROR and not any(s.status for s in got[:20])
    h.give(mixed(h))
    assert {s.status for s in h.check(20_000, anything=True)} == {PATH_ERROR}
    h.sim.fault_clear()
    h.sim.axil_write(CONTROL, 1)
    h.up()
    h.give(mixed(h))
    h.check()
    h.close()


@pytest.mark.parametrize("us", [90, 400])
def test_late(us: int) -> None:
    """An entry that comes while Abort is being waited for counts; one that comes later than that meets a reset."""
    h = host().quick(TIMEOUT, abort_ms=80)
    h.sim.fault("late", opcode=READ, lba=4000, blocks=9, delay_us=us)
    h.give(mixed(h))
    h.check(TIMEOUT + 81 * MS + BRING_UP + 60_000)
    assert h.sim.axil_read(NUM_ABORTS) == 1 and h.sim.axil_read(NUM_RESETS) == (us > 100)
    h.sim.run(h.sim.cycles(us))
    h.give(mixed(h))
    h.check()
    h.close()


@pytest.mark.parametrize("repeat", [True, False])
def test_fatal(repeat: bool) -> None:
    """CSTS.CFS is seen by the poll."""
    h = host().quick(TIMEOUT, repeat=repeat)
    h.sim.fault("hang", opcode=READ, lba=4000, blocks=9)
    h.give(mixed(h))
    got = h.check(20 * MS + BRING_UP + 60_000, anything=not repeat)
    assert {s.status for s in got} <= {0, HOST_ABORTED}
    assert h.failure() == ("fatal", 48) and h.sim.axil_read(NUM_RESETS) == 1
    h.up()
    h.give(mixed(h))
    h.check()
    h.close()


@pytest.mark.parametrize("config", EACH)
@pytest.mark.parametrize("kind", ["double", "phase"])
def test_wrong_entries(config: str, kind: str) -> None:
    """An entry that comes twice, or first with the wrong phase: counted, and nothing else happens.

    On this slow link the slot is free when the second entry comes. One that comes sooner says nothing new and is not
    counted, as that of a command that has ended but waits behind others.
    """
    h = host(config, link="gen1x1")
    fault = h.sim.fault(kind, count=5)
    for n in range(5):
        h.give([(("read", "write")[n % 2], 100 * n, 7)])
        h.check()
    assert h.sim.fault_hits(fault) == 5 == h.sim.axil_read(NUM_BAD)
    h.close()
    h = host(config)
    fault = h.sim.fault(kind, count=20)
    h.give(mixed(h))
    h.check()
    assert h.sim.fault_hits(fault) == 20 and h.sim.axil_read(NUM_BAD) <= 20 and not h.sim.axil_read(NUM_RESETS)
    h.close()


@pytest.mark.parametrize("config", EACH)
def test_entry_again_when_its_slot_is_another_commands(config: str) -> None:
    """The second entry of a command comes when its slot has been used again, some rounds later: it is counted, and the
    command that has the slot then goes on. Reads would end before their data is there.
    """
    h = host(config)
    fault = h.sim.fault("double", skip=20, count=40, delay_us=40)
    for op in ("read", "write", "read write"):
        h.give([(h.rng.choice(op.split()), 4 * n, 3) for n in h.rng.sample(range(4000), 1500)])
        h.check()
    assert h.sim.fault_hits(fault) == 40 == h.sim.axil_read(NUM_BAD) and not h.sim.axil_read(NUM_RESETS)
    h.close()


@pytest.mark.parametrize("config", EACH)
@pytest.mark.parametrize("repeat", [True, False])
@pytest.mark.parametrize("op", [READ, WRITE])
def test_damaged_write(config: str, repeat: bool, op: int) -> None:
    """Rows of a write that was discontinued may be in the ring, and its completion entry comes right behind it."""
    h = host(config).quick(TIMEOUT, repeat=repeat)
    fault = h.sim.fault("damage", opcode=op, lba=4000, blocks=2000)
    h.give(mixed(h))
    got = h.check(BRING_UP + 60_000, anything=not repeat)
    assert h.sim.fault_hits(fault) == 1
    assert h.failure()[0] == "damaged" and h.sim.axil_read(NUM_RESETS) == 1
    if not repeat:
        assert got[20 if op == READ else 21].status == HOST_ABORTED and {s.status for s in got} <= {0, HOST_ABORTED}
    h.up()
    h.give(mixed(h))
    h.check()
    h.close()


@pytest.mark.parametrize("skip", [0, 1])
def test_damaged_identify(skip: int) -> None:
    """Facts that were damaged are not believed: bring-up starts anew."""
    h = Host("narrow", ModelDrive(**{**FAST, "lba_bytes": 4096}))
    h.sim.fault("damage", opcode=6, admin=True, skip=skip)
    h.up()
    assert h.failure() == ("damaged", 27 if skip == 0 else 31) and h.lba_bytes == 4096
    h.give(h.random(20))
    h.check()
    h.close()


def test_damaged_for_ever() -> None:
    h = host()
    h.sim.fault("damage", opcode=READ, lba=4000, blocks=9, count=None)
    h.give(mixed(h))
    got = h.check(6 * BRING_UP + 60_000, anything=True)
    assert h.sim.dead and got[20].status == PATH_ERROR and not any(s.status for s in got[:20])
    h.close()


@pytest.mark.parametrize("config", EACH)
@pytest.mark.parametrize("by_drive", [True, False])
def test_link_down_and_up(config: str, by_drive: bool) -> None:
    h = host(config)
    h.give(mixed(h))
    if by_drive:
        h.sim.fault("drop_link", opcode=READ, lba=4000, blocks=9)
    else:
        h.sim.run(1500)
        h.sim.link(False)
    got = h.check(60_000, anything=True)
    assert h.sim.dead and {s.status for s in got} <= {0, PATH_ERROR} and got[-1].status == PATH_ERROR
    h.give(mixed(h))
    assert {s.status for s in h.check(20_000, anything=True)} == {PATH_ERROR}
    h.sim.link(True)
    h.give(mixed(h))
    h.check(60_000 + BRING_UP, anything=True)  # those that are given before it is up again may still fail
    h.up()
    h.give(mixed(h))
    h.check()
    assert h.failure()[0] == "link"
    h.close()


def test_link_flaps() -> None:
    """Again and again, at any moment, also of bring-up."""
    h = host()
    for cycles in (0, 1, 700, 1500, 3000, 4500, 6000, 7777, 9000):
        h.give(mixed(h, 40))
        h.sim.run(1 + cycles // 2)
        h.sim.link(False)
        h.sim.run(20)
        h.sim.link(True)
        h.sim.run(cycles)
        h.sim.link(False)
        h.sim.run(cycles // 7)
        h.sim.link(True)
        h.check(60_000 + BRING_UP, anything=True)
    h.up()
    h.give(mixed(h))
    h.check()
    h.close()


@pytest.mark.parametrize("config", ["narrow", "wide"])
def test_surprise_removal(config: str) -> None:
    """Registers read all ones while the link still seems to be up: given up at once, back when the link comes back."""
    h = host(config)
    h.sim.fault("vanish", opcode=READ, lba=4000, blocks=9)
    h.give(mixed(h))
    got = h.check(10 * MS + 60_000, anything=True)
    assert h.sim.dead and h.failure() == ("removed", 48) and got[20].status == PATH_ERROR
    h.give(mixed(h))
    assert {s.status for s in h.check(20_000, anything=True)} == {PATH_ERROR}
    h.sim.link(False)
    h.sim.run(1000)
    h.sim.link(True)
    h.sim.run_until(lambda: h.sim.up, BRING_UP)
    h.give(mixed(h))
    h.check()
    h.close()


@pytest.mark.parametrize(("options", "reason"), [
    ({"ready_us": None}, ("not ready", 26)), ({"crs_us": 1e6}, ("retry", 1)), ({"mpsmin": 1}, ("10", 17)),
    ({"bar_bytes": 0x4000, "css": 0}, ("9", 17)),
])  # fmt: skip
def test_never_up(options: dict[str, Any], reason: tuple[str, int]) -> None:
    """Three tries, then it is given up, with the reason; commands get their answer all the same, data and all."""
    h = Host("narrow", ModelDrive(**{**FAST, **options}))
    h.give([("write", 0, 8), ("read", 5, 9), ("flush", 0, 0), ("trim", 1, 9000), ("write", 3, 1), ("zeroes", 1, 1)])
    got = h.sim.wait_status(6, 4 * 1002 * MS)
    assert [s.status for s in got] == [PATH_ERROR] * 6 and [s.tag for s in got] == [c.tag for c in h.told.commands]
    h.sim.run(2000)
    assert [(e.size, e.error) for e in h.sim.data_ends()] == [(9 * 512, True)]
    assert h.sim.dead and h.failure() == reason and h.sim.axil_read(NUM_RESETS) == 2
    assert not h.sim.signal("wdata_left")
    h.close()


@pytest.mark.parametrize("options", [{"ready_us": 400, "unready_us": 300}, {"crs_us": 500}])
def test_slow_start(options: dict[str, Any]) -> None:
    """A drive that takes its time, within what it promises, is waited for."""
    h = Host("narrow", ModelDrive(**{**FAST, **options}))
    h.sim.run(1000)
    h.sim.axil_write(CONTROL, 2)  # and nothing is to be reset yet
    h.up()
    assert h.sim.cycle > h.sim.cycles(400) and h.failure()[0] == "0"
    h.sim.axil_write(CONTROL, 2)
    h.give(h.random(20))
    h.check(400_000)
    assert h.failure() == ("asked", 48)
    h.close()


def test_admin_command_lost() -> None:
    """An admin command without an answer: it is reported, the controller reset, I/O repeated."""
    h = host()
    h.sim.axil_write(ADMIN_MS, 20)
    h.sim.fault("lost", opcode=0x0A, admin=True)
    h.give(mixed(h))
    with pytest.raises(SimError, match="timed out"):
        h.sim.admin(bytes([0x0A]), 20 * MS + BRING_UP)
    h.check(BRING_UP + 60_000)
    assert h.failure() == ("admin timeout", 48) and h.sim.axil_read(NUM_RESETS) == 1
    h.close()


@pytest.mark.parametrize("config", EACH)
def test_reset_in_the_middle(config: str) -> None:
    """The top's reset at any moment: everything that was under way is forgotten, and all is well after it."""
    h = host(config)
    for cycles in (1, 400, 1700, 2503, 4001):
        h.give(mixed(h))
        h.sim.run(cycles)
        h.sim.reset()
        h.told = type(h.told)()
        h.sim.statuses(), h.sim.data_ends()
        h.sim.read_buffer(h.read_room)
        h.read_at = 0
        h.up()
        h.disk[:] = h.sim.media_view()
        h.give(mixed(h))
        h.check()
    h.close()


def test_dead_with_small_queues() -> None:
    """A drive with queues smaller than the slots dies; commands still end one by one, however slow the user is."""
    h = Host("narrow", ModelDrive(**{**FAST, "mqes": 4}), user_stall_pct=95).up().quick(TIMEOUT)
    h.give(mixed(h, 20))
    h.check()
    h.sim.link(False)
    h.give([("flush", 0, 0)] * 100)
    assert {s.status for s in h.check(60_000, anything=True)} == {PATH_ERROR}
    h.close()
