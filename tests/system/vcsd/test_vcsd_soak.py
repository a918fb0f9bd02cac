# SPDX-License-Identifier: Apache-2.0
"""`./doorbell soak` on db_vcsd: SSDs behind the card are slow, fail, lie, go away and come back. It costs their own
namespaces; what the judge would say if it cost others is tested too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doorbell.nvme.commands import Command
from doorbell.soak.card_player import CardPlayer
from doorbell.soak.judge import Failure
from doorbell.soak.run import play, random_steps
from doorbell.soak.steps import RESETS, SSD_FAULTS, Step

pytestmark = pytest.mark.rtl
ONE, OTHER = 1, 3  # namespaces on SSD 0 and on SSD 1
OFTEN = ("disable", "power")  # resets
COMMANDS = 2  # of each namespace, of each kind


@pytest.fixture
def player(tmp_path: Path) -> Iterator[CardPlayer]:
    p = CardPlayer("db_vcsd", tmp_path, {}, 1)
    yield p
    p.close()


def soak(seed: int, commands: int, **options: Any) -> set[str]:
    """What was done. options: of a script."""
    steps = random_steps("db_vcsd", seed, options=options)
    outcome = play("db_vcsd", seed, steps, options, commands=commands)
    assert outcome.failure is None, f"seed {seed}, after {outcome.count} steps: {outcome.failure}"
    return set(outcome.did)


def io(ns: int, op: str, at: int, **fields: Any) -> Step:
    return {"do": "io", "q": ns, "ns": ns, "op": op, "at": at, "count": 8, "ring": 0, **fields}


def made_anew(player: CardPlayer) -> None:
    """One granule on each SSD for ONE and OTHER."""
    for ns in (ONE, OTHER):
        player.play({"do": "ns_delete", "ns": ns})
    for ns, on in ((ONE, 1), (OTHER, 2)):
        player.play({"do": "ns_create", "blocks": 2048, "on": on})
        player.play({"do": "attach", "ns": ns})
    filled(player)


def on_both(player: CardPlayer, data: int) -> None:
    """Commands of all kinds on both SSDs, none of which flushes."""
    for i in range(COMMANDS):
        for ns in (ONE, OTHER):
            for op in ("read", "write", "compare", "zeroes", "verify"):
                at = 8 * i + {"write": 64, "zeroes": 128}.get(op, 0)
                player.play(io(ns, op, at, data=data + i, match=1))


def filled(player: CardPlayer) -> None:
    for ns in (ONE, OTHER):
        player.play(io(ns, "write", 0, count=48, data=ns))
    player.play({"do": "wait"})


def test_soak() -> None:
    did = soak(2, 700)
    assert did >= {"ssd_fault", "ssd_mended"}


@pytest.mark.nightly
@pytest.mark.parametrize(("ssds", "seed"), [(4, 25), (1, 24), (8, 24)])
def test_soak_of_so_many_ssds(ssds: int, seed: int) -> None:
    did = soak(seed, 200, ssds=ssds)
    assert did >= {"ssd_fault", "ssd_mended", "exchange"}


def test_our_own_ssds(tmp_path: Path) -> None:
    """db_ssd behind the card, cycle by cycle: what only models do does nothing; errors of its media cost its own
    namespaces, and what it has acknowledged it has when its power comes back.
    """
    player = CardPlayer("db_vcsd", tmp_path, {"ssd": "db_ssd"}, 1)
    try:
        filled(player)
        player.play({"do": "ssd_fault", "ssd": 1, "kind": "lost"})
        assert not player.judge.bad_ssds
        player.play({"do": "ssd_fault", "ssd": 1, "kind": "status", "count": 4})
        on_both(player, 0)
        player.play({"do": "wait"})
        assert player.ended["READ_ERROR"] + player.ended["WRITE_FAULT"] > 0
        player.play({"do": "ssd_power", "ssd": 1})
        on_both(player, 100)
        player.finish()
    finally:
        player.close()


@pytest.mark.nightly
def test_soak_of_our_own_ssds() -> None:
    did = soak(20, 200, ssd="db_ssd")
    assert did >= {"media_error", "ssd_fault", "ssd_power", "ssd_mended", "reset power"}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 104))
def test_soak_of_16000(seed: int) -> None:
    did = soak(seed, 4000)
    assert did >= {"ssd_fault", "ssd_mended", "key", "ns_create"} and did & {"ssd_away", "ssd_power"}, did
    assert len({d for d in did if d.startswith(("reset", "cut"))}) >= 6, did


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [5, 6, 7])
def test_soak_of_functions(seed: int) -> None:
    """The PF and a VF; the simulator of test_vcsd_functions.py."""
    outcome = play("db_vcsd", seed, random_steps("db_vcsd", seed, 2), {}, functions=2, commands=1000)
    assert outcome.failure is None, f"seed {seed}, after {outcome.count} steps: {outcome.failure}"


@pytest.mark.nightly
@pytest.mark.parametrize("functions", [1, 2])
def test_soak_with_memory(functions: int) -> None:
    """Copies from SSDs in trouble, programs on what they gave."""
    options = {"memory": True}
    steps = random_steps("db_vcsd", 3, functions, options)
    outcome = play("db_vcsd", 3, steps, options, functions=functions, commands=1500)
    assert outcome.failure is None, f"after {outcome.count} steps: {outcome.failure}"
    assert set(outcome.did) >= {"memory", "execute"}


LONG = ("hang", "vanish")  # the card waits long before it gives up


@pytest.mark.parametrize(
    "kinds", [[k for k in SSD_FAULTS if k not in LONG], pytest.param(LONG, marks=pytest.mark.nightly)], ids=["", "long"]
)
def test_a_fault_costs_its_own_namespaces(player: CardPlayer, kinds: list[str]) -> None:
    """The judge sees to it that commands on the other SSD end as ever, with right data."""
    filled(player)
    for i, kind in enumerate(kinds):
        failed = player.ended["READ_ERROR"]
        us = 50 if kind == "double" else 2000
        player.play({"do": "ssd_fault", "ssd": 1, "kind": kind, "op": "read", "us": us})
        on_both(player, 100 * i)
        player.play({"do": "wait"})
        player.play({"do": "ssd_mended"})
        assert player.ended["READ_ERROR"] > failed or kind not in ("status", "lost"), kind
    player.finish()


@pytest.mark.parametrize("kind", [k if k in OFTEN else pytest.param(k, marks=pytest.mark.nightly) for k in RESETS])
def test_an_ssd_is_away_while_the_card_is_reset(player: CardPlayer, kind: str) -> None:
    filled(player)
    on_both(player, 200)
    player.play({"do": "ssd_away", "ssd": 1})
    player.play({"do": "run", "cycles": 500})
    player.play({"do": "reset", "kind": kind})
    on_both(player, 300)
    player.play({"do": "wait"})
    if kind != "power":
        assert player.machine.sim.up == 1
        player.play({"do": "ssd_back", "ssd": 1})
    player.finish()
    assert player.machine.sim.up == 3


@pytest.mark.parametrize("cycles", [1, pytest.param(100_000, marks=pytest.mark.nightly)])
def test_power_of_an_ssd_goes_and_comes(player: CardPlayer, cycles: int) -> None:
    """What it has acknowledged it has; the other one notices nothing."""
    filled(player)
    for turn in range(2):
        on_both(player, 10 * turn)
        player.play({"do": "run", "cycles": 700 * turn})
        player.play({"do": "ssd_power", "ssd": turn % 2, "cycles": cycles})
        on_both(player, 100 + 10 * turn)
        player.play({"do": "check"})
    player.finish()


def test_namespaces_are_made_on_chosen_ssds(player: CardPlayer) -> None:
    spaces = player.machine.model.spaces
    assert {n: set(s.ssds) for n, s in spaces.items()} == {1: {0}, 2: {0, 1}, 3: {1}}
    player.play({"do": "ns_create", "on": 2})
    assert spaces[4].ssds == {1}
    player.play({"do": "ns_delete", "ns": 1})
    player.play({"do": "ns_create", "on": 3})
    assert spaces[1].ssds == {0, 1}


def test_virtual_drives_grow_and_change_places(player: CardPlayer) -> None:
    """Their data go with them, and stay so over a power cut."""
    made_anew(player)
    spaces = player.machine.model.spaces
    player.play({"do": "grow", "ns": ONE, "on": 2})
    player.play({"do": "grow", "ns": OTHER, "on": 1})
    filled(player)
    assert spaces[ONE].ssds == spaces[OTHER].ssds == {0, 1}
    before = {ns: spaces[ns].blocks for ns in (ONE, OTHER)}
    player.play({"do": "exchange", "ns": ONE, "other": OTHER})
    assert spaces[ONE].blocks is before[OTHER] and spaces[OTHER].blocks is before[ONE]
    player.play({"do": "exchange", "ns": ONE, "other": 2})  # blocks of another size: refused
    player.play({"do": "check"})
    player.play({"do": "reset", "kind": "power"})
    player.finish()


# ---- what is wrong is noticed


@pytest.mark.nightly
def test_data_that_do_not_change_places_are_noticed(player: CardPlayer, monkeypatch: pytest.MonkeyPatch) -> None:
    made_anew(player)
    done = Command(0, 0, 0, 0, 0, None, 0, None, None)
    monkeypatch.setattr("doorbell.nvme.virtual_drives.exchange_try", lambda *_: done)
    with pytest.raises(Failure, match="block 0") as caught:
        player.play({"do": "exchange", "ns": ONE, "other": OTHER})
        player.finish()
    assert caught.value.kind == "data"


def test_an_error_on_an_ssd_that_is_well_is_noticed(player: CardPlayer) -> None:
    player.machine.sim.ssds.fault("status", port=0)
    player.play({"do": "ssd_fault", "ssd": 1, "kind": "status", "op": "read"})
    with pytest.raises(Failure, match="ended with .*, not SUCCESS") as caught:
        player.play(io(ONE, "read", 0))
        player.play({"do": "wait"})
    assert caught.value.kind == "status"


def test_lost_data_are_noticed_after_an_ssd_was_away(player: CardPlayer) -> None:
    filled(player)
    player.play({"do": "ssd_away", "ssd": 1})
    player.machine.sim.ssds.media_write(0, bytes(512), port=1)
    with pytest.raises(Failure, match="block 0") as caught:
        player.finish()
    assert caught.value.kind == "data"


def test_an_ssd_that_stays_away_is_noticed(player: CardPlayer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorbell.soak.card.UP_CYCLES", 1_000_000)
    player.play({"do": "ssd_away", "ssd": 1})
    monkeypatch.setattr(player.machine.sim.ssds, "link", lambda *_, **__: None)
    with pytest.raises(Failure, match="are there, without faults") as caught:
        player.play({"do": "ssd_mended"})
    assert caught.value.kind == "ssd"
