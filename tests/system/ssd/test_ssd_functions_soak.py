# SPDX-License-Identifier: Apache-2.0
"""`./doorbell soak --functions`: the PF and its VFs at work at once, while any of them is reset, goes and comes back;
and that it notices what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from doorbell.cli import main as cli
from doorbell.soak.crowd import Crowd
from doorbell.soak.grants import GrantingDriver
from doorbell.soak.judge import Failure
from doorbell.soak.machine import SPACE_BYTES
from doorbell.soak.player import Player
from doorbell.soak.run import play, random_steps
from doorbell.soak.steps import RESETS, VF_RESETS, Step, load

pytestmark = pytest.mark.rtl
FUNCTIONS = 3  # the simulator of test_ssd_functions.py
OFTEN = ("flr",)  # the others are nightly
WRITE: Step = {"do": "io", "op": "write", "count": 8, "data": 1}


def soak(functions: int, seed: int, commands: int) -> set[str]:
    """What was done."""
    outcome = play("db_ssd", seed, random_steps("db_ssd", seed, functions), functions=functions, commands=commands)
    assert outcome.failure is None, f"seed {seed}, after {outcome.count} steps: {outcome.failure}"
    assert outcome.commands >= commands and outcome.ended["SUCCESS"] > commands // 2
    return set(outcome.did)


def test_soak() -> None:
    did = soak(FUNCTIONS, 13, 500)
    assert did >= {"online", "requeue", "reset flr", "reset vf_enable"}


@pytest.mark.nightly
@pytest.mark.parametrize(("functions", "seed"), [(FUNCTIONS, 2), (17, 1), (17, 2)])
def test_soak_of_10000(functions: int, seed: int) -> None:
    did = soak(functions, seed, 10_000)
    assert did >= {"offline", "online", "attach", "detach", "hold", "abort", "requeue", "format"}
    assert {d.split()[1] for d in did if d.startswith("reset")} >= set(VF_RESETS)


@pytest.fixture
def crowd(tmp_path: Path) -> Iterator[Crowd]:
    c = Crowd("db_ssd", tmp_path, {}, 1, FUNCTIONS)
    yield c
    c.close()


def test_every_other_vf_has_sgls(crowd: Crowd) -> None:
    assert [m.drive.sgl for m in crowd.members] == [False, True, False]
    crowd.play({"do": "reset", "kind": "power", "fn": 0})
    for fn in range(FUNCTIONS):
        crowd.play({"do": "online", "fn": fn})
    assert [m.drive.sgl for m in crowd.members] == [False, True, False]


def write(fn: int, **fields: int) -> Step:
    return {**WRITE, "fn": fn, "ns": fn + 1, **fields}


def at_work(crowd: Crowd, data: int) -> None:
    for fn in range(FUNCTIONS):
        for at in (0, 8, 100):
            crowd.play(write(fn, at=at, data=data + fn))
    crowd.play({"do": "run", "cycles": 300})


@pytest.mark.parametrize("kind", [k if k in OFTEN else pytest.param(k, marks=pytest.mark.nightly) for k in VF_RESETS])
def test_a_reset_of_a_vf_ends_its_commands_alone(crowd: Crowd, kind: str) -> None:
    at_work(crowd, 10)
    sent = [len(m.judge.sent) for m in crowd.members]
    assert all(sent), "nothing is under way"
    crowd.play({"do": "reset", "kind": kind, "fn": 1})
    assert [m.up for m in crowd.members] == [True, True, kind != "vf_enable"]
    crowd.finish()
    taken = [m.judge.ended["taken"] for m in crowd.members]
    assert taken[0] == 0 and (kind == "vf_enable" or taken[2] == 0)
    assert not crowd.ended["DATA_TRANSFER_ERROR"]


@pytest.mark.parametrize("kind", ["disable", *(pytest.param(k, marks=pytest.mark.nightly) for k in RESETS[1:])])
def test_a_reset_of_the_pf_ends_all(crowd: Crowd, kind: str) -> None:
    at_work(crowd, 10)
    crowd.play({"do": "reset", "kind": kind})
    assert [m.up for m in crowd.members] == [True, False, False]
    crowd.play(write(0, data=99))
    crowd.finish()
    assert all(m.up for m in crowd.members)


@pytest.mark.nightly
def test_vfs_stay_away_while_others_work(crowd: Crowd) -> None:
    at_work(crowd, 10)
    crowd.play({"do": "offline", "fn": 2})
    before = crowd.commands
    crowd.play(write(2, data=50))
    assert crowd.commands == before, "nobody uses it"
    at_work(crowd, 20)
    crowd.play({"do": "vfs", "count": 0})
    assert [m.up for m in crowd.members] == [True, False, False]
    crowd.play(write(0, data=60))
    crowd.finish()


@pytest.mark.nightly
def test_a_namespace_moves_with_its_data(crowd: Crowd) -> None:
    crowd.play(write(1, data=7))
    crowd.play({"do": "attach", "ns": 2, "to": 2})  # private: refused
    crowd.play({"do": "detach", "ns": 2, "to": 1})
    crowd.play({"do": "io", "op": "read", "ns": 2, "count": 8, "fn": 1})
    crowd.play({"do": "attach", "ns": 2, "to": 2})
    crowd.play({"do": "io", "op": "read", "ns": 2, "count": 8, "fn": 2})
    crowd.play({"do": "wait", "fn": 1})
    crowd.finish()
    assert crowd.members[1].judge.ended["INVALID_FIELD"] == 1


# ---- what is wrong is noticed


def fails(crowd: Crowd, *steps: Step) -> Failure:
    with pytest.raises(Failure) as caught:
        for step in steps:
            crowd.play(step)
        crowd.finish()
    return caught.value


def test_data_in_anothers_namespace_are_noticed(crowd: Crowd) -> None:
    """As if a write of function 2 had gone to block 3 of function 1's namespace."""
    at_work(crowd, 10)
    crowd.play({"do": "wait", "fn": 1})
    crowd.pf.drive.sim.media_write(1 * SPACE_BYTES + 3 * 512, b"\x5a" * 512)
    found = fails(crowd)
    assert found.kind == "data" and "function 1: " in str(found) and "block 3" in str(found)


@pytest.mark.nightly
def test_a_namespace_that_all_write(crowd: Crowd) -> None:
    """Each finds what the others have written; who is reset takes only its own commands along."""
    shared = {"ns": FUNCTIONS, "count": 8}
    for round_ in range(4):
        for fn in range(FUNCTIONS):
            crowd.play(write(fn, **shared, at=16 * fn, data=10 * round_ + fn))  # a part each
            crowd.play(write(fn, **shared, at=100 + 4 * fn, data=50 + 10 * round_ + fn))  # and one that they fight for
        crowd.play({"do": "run", "cycles": (10, 200, 800, 2000)[round_]})
        crowd.play({"do": "reset", "kind": ("disable", "flr", "abrupt", "offline")[round_], "fn": 1})
        for fn in range(FUNCTIONS):
            crowd.play({"do": "check", "fn": fn})
    crowd.play({"do": "format", "ns": FUNCTIONS, "size": 4096, "fn": 1})  # others have it: denied
    crowd.play({"do": "detach", "ns": FUNCTIONS, "to": 2})
    crowd.play({"do": "detach", "ns": FUNCTIONS, "to": 0})
    crowd.play({"do": "format", "ns": FUNCTIONS, "size": 4096, "fn": 1})
    crowd.play({"do": "attach", "ns": FUNCTIONS, "to": 2})
    crowd.play(write(2, **shared, at=16))
    crowd.finish()
    assert crowd.members[1].judge.ended["SUCCESS"] > 100


@pytest.mark.parametrize(
    "change", ["format", *(pytest.param(how, marks=pytest.mark.nightly) for how in ("detach", "ns_delete"))]
)
def test_a_namespace_changes_under_its_commands(crowd: Crowd, change: str) -> None:
    """Each ends as it may, before or after; the other namespaces' go on, and what is there afterwards is right."""
    shared = {"ns": FUNCTIONS, "count": 24}  # so much that the media is not done before the firmware is
    for round_ in range(6):
        for at in range(28):  # more than the drive has slots: some are fetched when the change has begun
            for fn in range(FUNCTIONS):
                for q in (1, 2):
                    crowd.play(write(fn, **shared, q=q, at=4 * at, data=1 + at + 100 * fn, ring=0))
        crowd.play(write(1, at=8, data=round_))  # its own
        crowd.play({"do": "run", "cycles": (1, 100, 300, 600, 1200, 5000)[round_]})
        under_way = sum(s.nsid == FUNCTIONS for m in crowd.members for s in m.judge.sent.values())
        assert under_way > 100, "too few are under way"
        crowd.play({"do": change, "ns": FUNCTIONS, "busy": 1, "to": 1} if change == "detach" else
                   {"do": change, "ns": FUNCTIONS, "busy": 1})  # fmt: skip
        for fn in range(FUNCTIONS):
            crowd.play({"do": "io", "op": "read", "ns": FUNCTIONS, "count": 48, "fn": fn})
        if change == "ns_delete":
            crowd.play({"do": "ns_create", "blocks": 1000, "shared": 1})
        for fn in (1,) if change == "detach" else range(FUNCTIONS) if change == "ns_delete" else ():
            crowd.play({"do": "attach", "ns": FUNCTIONS, "to": fn})
        for fn in range(FUNCTIONS):
            crowd.play({"do": "check", "fn": fn})
    crowd.finish()
    met = "FORMAT_IN_PROGRESS" if change == "format" else "NS_NOT_READY"
    assert crowd.ended["SUCCESS"] > 500 and crowd.ended[met] > 20, crowd.ended
    assert not crowd.ended["DATA_TRANSFER_ERROR"]


@pytest.mark.nightly
def test_spoilt_data_of_a_shared_namespace_are_noticed(crowd: Crowd) -> None:
    """As if function 1's write had been lost: function 2 finds it."""
    crowd.play(write(1, ns=FUNCTIONS))
    crowd.play({"do": "wait", "fn": 1})
    crowd.pf.drive.sim.media_write((FUNCTIONS - 1) * SPACE_BYTES + 3 * 512, bytes(512))
    found = fails(crowd, {"do": "io", "op": "read", "ns": FUNCTIONS, "count": 8, "fn": 2}, {"do": "wait", "fn": 2})
    assert found.kind == "data" and "function 2: " in str(found) and "block 3" in str(found)


@pytest.mark.nightly
def test_memory_that_another_function_was_granted_is_noticed(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    """The grant of function 1's buffer is function 2's: addresses are alike, domains are not."""
    plain, one, two = GrantingDriver._grant, crowd.members[1].drive, crowd.members[2].drive

    def misplaced(self: GrantingDriver, *what: object) -> None:
        plain(two if self is one else self, *what)  # type: ignore[arg-type]

    monkeypatch.setattr(GrantingDriver, "_grant", misplaced)
    crowd.play(write(1))
    crowd.pf.drive.advance(5000)
    with pytest.raises(Failure, match="read of .* bytes at .*nobody") as caught:
        crowd.look()
    assert caught.value.kind == "access"


def test_access_after_a_vf_went_offline_is_noticed(crowd: Crowd, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the answer came too early: its host takes back what it gave, and the VF goes on."""
    crowd.play(write(1, count=48))
    monkeypatch.setattr(type(crowd.members[1].machine), "offline", lambda self: None)
    crowd.play({"do": "offline", "fn": 1})
    crowd.play({"do": "run", "cycles": 5000})
    with pytest.raises(Failure, match="of .* bytes at .*given back by") as caught:
        crowd.look()
    assert caught.value.kind == "access"


@pytest.mark.nightly
def test_failure_becomes_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A drive that spoils function 1's block 5 whenever function 2 aborts a command."""
    plain = Player.do_abort

    def forgetful(self: Player, step: Step) -> None:
        plain(self, step)
        self.crowd.play(write(1, at=5, count=1))  # type: ignore[attr-defined]
        self.crowd.play({"do": "wait", "fn": 1})  # type: ignore[attr-defined]
        self.drive.sim.media_write(SPACE_BYTES + 5 * 512, bytes(512))

    monkeypatch.setattr(Player, "do_abort", forgetful)
    monkeypatch.setattr("doorbell.soak.command.random_steps", lambda *_: iter(
        [write(0), write(2, data=3), {"do": "abort", "fn": 2}, {"do": "check", "fn": 1}]))  # fmt: skip
    args = ["soak", "--functions", str(FUNCTIONS), "--seed", "25", "--out", str(tmp_path), "--runs", "6"]
    assert cli.run(args) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    script = tmp_path / f"soak-db_ssd-functions{FUNCTIONS}-25.json"
    assert "function 1: " in said and str(script) in said
    assert [s["do"] for s in load(script).steps] == ["abort"] and load(script).functions == FUNCTIONS
    monkeypatch.undo()
    assert cli.run(["soak", "--replay", str(script)]) == 0


def test_a_shutdown_waits_for_no_reader(crowd: Crowd) -> None:
    """A normal shutdown ends the commands that were taken; that their entries wait for room must not hold it up."""
    vf = crowd.members[1]
    crowd.play({"do": "reset", "kind": "disable", "cq_entries": 2, "queues": 1, "fn": 1})
    vf.drive.most_ready_us = 5000
    for at in range(4):
        crowd.play(write(1, at=8 * at))
    crowd.play({"do": "reset", "kind": "shutdown", "fn": 1})
    crowd.finish()
