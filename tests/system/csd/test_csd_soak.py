# SPDX-License-Identifier: Apache-2.0
"""`./doorbell soak` on db_csd: besides all that db_ssd meets, namespaces, keys and programs of near-storage
commands that come and go under I/O."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from csd_drive import NARROW
from csd_functions import NUM_FN
from doorbell.compute.near import Grep, load
from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import Status
from doorbell.soak.judge import Failure
from doorbell.soak.near import MISTAKES, TOO_LARGE, WRONG, program_of, text
from doorbell.soak.player import Player
from doorbell.soak.run import play, random_steps
from doorbell.soak.steps import FAULTS, RESETS, Step
from test_ssd_soak import often, soak

pytestmark = pytest.mark.rtl
OWN = {"key", "bind", "ns_create", "ns_delete", "attach", "detach", "program"}


@pytest.fixture
def player(tmp_path: Path) -> Iterator[Player]:
    p = Player("db_csd", tmp_path, NARROW, 1)
    p.drive.io_timeout_us = p.drive.admin_timeout_us = 20_000
    yield p
    p.close()


def test_soak() -> None:
    assert soak("db_csd", 1, 1200, **NARROW) >= OWN - {"detach", "ns_delete"}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 105))
def test_soak_of_25000(seed: int) -> None:
    assert soak("db_csd", seed, 5000) >= OWN


@pytest.mark.parametrize(
    ("seed", "commands"), [(9, 80), *(pytest.param(s, 5000, marks=pytest.mark.nightly) for s in (6, 7))]
)
def test_soak_of_functions(seed: int, commands: int) -> None:
    """Keys and programs of each; the simulator of test_csd_functions.py."""
    outcome = play(
        "db_csd", seed, random_steps("db_csd", seed, NUM_FN), NARROW, functions=NUM_FN, commands=commands
    )  # fmt: skip
    assert outcome.failure is None, f"seed {seed}, after {outcome.count} steps: {outcome.failure}"
    assert set(outcome.did) >= {"key", "bind", "program"} and outcome.ended[KNOWN]


CUTS = [("key", "power")]
ALL_CUTS = [(what, kind) for what in ("ns_create", "ns_delete", "key", "program") for kind in RESETS]


@pytest.mark.parametrize(("what", "kind"), often(CUTS, ALL_CUTS))
def test_cut_off_by_a_reset(player: Player, what: str, kind: str) -> None:
    """At several stages, beside a namespace under load; a second reset changes nothing."""
    load = {"do": "key", "slot": 1, "key": 1}
    player.play(load)
    player.play({"do": "bind", "ns": 1, "slot": 1})
    for cycles in (2000, 20_000):
        player.play({"do": "ns_delete", "ns": 2})
        player.play({"do": "ns_delete", "ns": 3})
        player.play(load)
        if what == "ns_delete":
            player.play({"do": "ns_create", "blocks": 777})
            player.play({"do": "attach", "ns": 2})
            player.play({"do": "io", "op": "write", "ns": 2, "count": 48, "data": cycles})
        player.play({"do": "io", "op": "write", "count": 48, "data": cycles})
        player.play({"do": "cut", "what": what, "kind": kind, "cycles": cycles, "ns": 2, "blocks": 777, "key": 2})
        assert what != "program" or status_of(player, near(ns=4)) == Status.INVALID_FIELD
        player.play({"do": "reset", "kind": "power"})
        player.play(load)
        player.play({"do": "check"})
    player.finish()


def test_namespace_that_is_lost_after_a_reset_is_noticed(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    player.play({"do": "ns_delete", "ns": 2})
    plain = namespaces.allocated
    monkeypatch.setattr(namespaces, "allocated", lambda *args: [n for n in plain(*args) if n != 2])
    with pytest.raises(Failure, match="Create Namespace: not done"):
        player.play({"do": "cut", "what": "ns_create", "cycles": 100_000})


# ---- near-storage commands


def near(**fields: Any) -> Step:
    return {"do": "io", "op": "near", "count": 8, "program": 1, **fields}


def status_of(player: Player, step: Step) -> int:
    """How a command ends; the judge has looked at it."""
    player.play(step)
    (command,) = player.judge.sent
    player.play({"do": "wait"})
    return command.status


def ready(player: Player) -> Player:
    """Lines in the first blocks of namespace 1, and program 1."""
    player.play({"do": "io", "op": "write", "count": 48, "data": 3, "text": 1})
    player.play({"do": "program", "number": 1, "data": LINES})
    player.play({"do": "wait"})
    return player


TEXT = text(3, 48 * 512)
LINES = next(n for n in range(100) if isinstance(p := program_of(n), Grep) and len(p.result(TEXT[:1000])) > 64)
KNOWN = "near: result known"


def test_results_are_those_of_the_model(player: Player) -> None:
    """What a result is looked up for: whole blocks and bytes of them, results that fit and do not, a program that
    changes under its commands, data that may be one of two."""
    ready(player)
    assert status_of(player, near(offset=1028, scattered=1)) == Status.SUCCESS
    assert status_of(player, near(length=1000, room=64)) == TOO_LARGE
    assert status_of(player, near(length=77, room=512)) == Status.SUCCESS
    assert player.ended[KNOWN] == 3
    for data in range(20, 24):
        player.play(near(at=8))
        player.play({"do": "io", "op": "write", "q": 2, "at": 8, "count": 1, "data": data, "text": 1})
        player.play(near(at=0, count=16))
        player.play({"do": "program", "number": 1, "data": data})
    player.finish()
    assert player.ended[KNOWN] + player.ended["INVALID_FIELD"] >= 9


def test_what_is_no_program_is_refused_and_the_old_one_gone(player: Player) -> None:
    for bad in (*WRONG, *MISTAKES):
        ready(player)
        player.play({"do": "program", "number": 1, "data": 5, "bad": bad, "offset": 4092})
        assert status_of(player, near()) == (Status.SUCCESS if bad in MISTAKES else Status.INVALID_FIELD), bad
    ready(player)
    player.play({"do": "program", "number": 1, "data": 0})
    assert status_of(player, near()) == Status.INVALID_FIELD
    for kind in FAULTS:
        ready(player)
        player.play({"do": "program", "number": 1, "data": 5, "fault": kind})
        assert status_of(player, near()) == Status.SUCCESS, kind
        taken = program_of(5) if kind in ("double", "late") else program_of(LINES)  # "late": no second timeout
        assert player.machine.model.programs[1] == taken, kind
    player.finish()


def test_a_wrong_result_is_noticed(player: Player) -> None:
    ready(player)
    player.drive.sim.media_write(700, bytes([program_of(LINES).line_end]) * 50)  # type: ignore[union-attr]
    with pytest.raises(Failure, match="gives .* bytes, from") as caught:
        player.play(near())
        player.play({"do": "wait"})
    assert caught.value.kind == "data"


@pytest.mark.parametrize(("change", "why"), [
    ({"dw0": -16}, "not all is zero behind"),
    pytest.param({"dw0": 1 << 20}, "ended with 0x0", marks=pytest.mark.nightly),
    pytest.param({"status15": 0x281}, "not", marks=pytest.mark.nightly),
])  # fmt: skip
def test_an_end_that_is_not_true_is_noticed(player: Player, change: dict[str, int], why: str) -> None:
    ready(player)
    player.play(near())
    (command,) = player.judge.sent
    plain = command.on_done
    assert plain is not None

    def other(command: Command) -> None:
        command.status15 = change.get("status15", command.status15)
        command.dw0 += change.get("dw0", 0)
        plain(command)

    command.on_done = other
    with pytest.raises(Failure, match=why):
        player.play({"do": "wait"})


def test_a_program_that_outlasts_a_reset_is_noticed(player: Player) -> None:
    """As if the reset had left it: it is loaded again behind the judge's back."""
    ready(player)
    player.play({"do": "reset", "kind": "disable"})
    load(player.drive, 1, program_of(LINES).program())
    with pytest.raises(Failure, match="ended with .*, not INVALID_FIELD") as caught:
        player.play(near())
        player.play({"do": "wait"})
    assert caught.value.kind == "status"
