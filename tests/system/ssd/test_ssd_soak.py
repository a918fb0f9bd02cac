# SPDX-License-Identifier: Apache-2.0
"""`./doorbell soak` on db_ssd: random commands, faults, resets and power cuts; and that it notices what is wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from doorbell.cli import main as cli
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.memory import Buffer, HostMemory
from doorbell.soak.grants import GrantingDriver
from doorbell.soak.judge import Failure
from doorbell.soak.player import Player
from doorbell.soak.run import play, random_steps, replay
from doorbell.soak.steps import FAULTS, RESETS, STEPS, Step, load

pytestmark = pytest.mark.rtl
SCRIPTS = sorted((ROOT / "tests" / "data" / "soak").glob("*.json"))
CUTS = [("format", "disable"), ("write", "power")]
ALL_CUTS = [(what, kind) for what in ("format", "write", "create_queue", "delete_queue") for kind in RESETS]
WRITE: Step = {"do": "io", "op": "write", "count": 8, "data": 1}


def often(some: list[tuple[str, str]], every: list[tuple[str, str]]) -> list[object]:
    """All cases; those that are not in `some` are nightly."""
    return [case if case in some else pytest.param(*case, marks=pytest.mark.nightly) for case in every]


def soak(top: str, seed: int, commands: int, **options: Any) -> set[str]:
    """What was done. options: of the simulator."""
    outcome = play(top, seed, random_steps(top, seed), commands=commands, options=options)
    assert outcome.failure is None, f"seed {seed}, after {outcome.count} steps: {outcome.failure}"
    assert outcome.commands >= commands and outcome.ended["SUCCESS"] > commands // 2
    return set(outcome.did)


@pytest.mark.parametrize("seed", [1, pytest.param(4, marks=pytest.mark.nightly)])
def test_soak(seed: int) -> None:
    did = soak("db_ssd", seed, 2500 if seed == 1 else 4000)
    assert len({d for d in did if d.startswith("reset")}) >= 4, did


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 110))
def test_soak_of_100000(seed: int) -> None:
    did = soak("db_ssd", seed, 10_000)
    assert did >= {f"reset {kind}" for kind in RESETS}
    assert {d.split()[1] for d in did if d.startswith("cut")} == {"format", "write", "create_queue", "delete_queue"}
    assert {d.split()[0] for d in did} >= set(STEPS) - {"ns_create", "ns_delete", "attach", "detach", "key", "bind"}


@pytest.mark.parametrize("kind", FAULTS)
def test_fault_ends_one_command(player: Player, kind: str) -> None:
    """Its completion comes twice: nothing happens. All others: the command fails, nothing else."""
    player.play(WRITE)
    for part in (0, 1):
        player.play({**WRITE, "data": 2, "fault": kind, "part": part})
        player.play({"do": "io", "op": "read", "at": 8, "count": 4})
    player.play({"do": "run", "cycles": 30_000})  # what comes late is there
    player.finish()
    failed = player.judge.ended["DATA_TRANSFER_ERROR"]
    assert failed == (0 if kind == "double" else 2)


@pytest.mark.parametrize(("what", "kind"), often(CUTS, ALL_CUTS))
def test_cut_off_by_a_reset(slow: Player, what: str, kind: str) -> None:
    """Soon after the command, in the middle of it and when it has ended; with data in the blocks, and I/O under way."""
    for cycles in (200, 2500, 40_000):
        slow.play({**WRITE, "count": 48, "data": cycles})
        slow.play({"do": "wait"})
        slow.play({**WRITE, "q": 2, "at": 100})
        slow.play({"do": "cut", "what": what, "kind": kind, "cycles": cycles, "size": 512, "at": 4, "data": 2})
        slow.play({"do": "check"})
    slow.finish()


def test_abort_is_answered_as_it_is(slow: Player) -> None:
    """Commands at every stage, an identifier that is not there, a second Abort, and a queue that nobody reads."""
    for cycles in range(0, 8000, 400):
        slow.play({**WRITE, "count": 48, "data": cycles})
        slow.play({"do": "io", "op": "read", "at": 100, "count": 48})
        slow.play({"do": "run", "cycles": cycles})
        for pick in (0, -1, 0, 1):
            slow.play({"do": "abort", "pick": pick})
        slow.play({"do": "hold", "on": cycles // 400 % 2})
    slow.finish()
    ended = slow.judge.ended
    assert ended["ABORT_REQUESTED"] >= 10 and ended["SUCCESS"] >= 10, ended


def test_same_script_same_cycles() -> None:
    steps = [s for s, _ in zip(random_steps("db_ssd", 3), range(300))]
    one, other = (play("db_ssd", 3, steps) for _ in range(2))
    assert one.cycles == other.cycles and one.ended == other.ended


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda f: f.stem)
def test_mended_defect(file: Path) -> None:
    """What a soak once found."""
    found = replay(load(file)).failure
    assert found is None, str(found)


# ---- what is wrong is noticed


@pytest.fixture
def player(tmp_path: Path) -> Iterator[Player]:
    p = Player("db_ssd", tmp_path, {}, 1)
    p.drive.io_timeout_us = 2000
    yield p
    p.close()


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[Player]:
    """Its media take so long that an Abort can meet a command anywhere."""
    p = Player("db_ssd", tmp_path, {"media_latency_ns": 20_000, "media_write_latency_ns": 20_000}, 1)
    yield p
    p.close()


def fails(player: Player, *steps: Step) -> Failure:
    with pytest.raises(Failure) as caught:
        for step in steps:
            player.play(step)
        player.finish()
    return caught.value


def test_memory_in_pieces_ends_no_soak(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    """No pages in a row are left for a buffer: the run goes on when what is under way has ended."""
    plain, memory = HostMemory.alloc, player.drive.memory

    def alloc(self: HostMemory, nbytes: int) -> int:
        if self is memory and player.judge.sent:
            raise MemoryError("no pages in a row left")
        return plain(self, nbytes)

    monkeypatch.setattr(HostMemory, "alloc", alloc)
    for data in range(1, 4):
        player.play({**WRITE, "data": data, "list": 8})
        assert len(player.judge.sent) == 1
    player.finish()
    assert player.commands >= 3


def test_wrong_data_are_noticed(player: Player) -> None:
    player.play(WRITE)
    player.play({"do": "wait"})
    player.drive.sim.media_write(1000, b"\xa5")
    found = fails(player)
    assert found.kind == "data" and "block 1" in str(found)


def test_lost_write_is_noticed_after_a_power_cut(player: Player) -> None:
    player.play(WRITE)
    player.play({"do": "wait"})
    player.drive.sim.media_write(0, bytes(512))
    found = fails(player, {"do": "reset", "kind": "power"})
    assert found.kind == "data" and "block 0" in str(found)


def test_access_that_nobody_granted_is_noticed(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GrantingDriver, "_grant", lambda *_: None)
    found = fails(player, WRITE)
    assert found.kind in ("access", "status")
    with pytest.raises(Failure, match="read of .* bytes at .*nobody"):
        player.judge.look()


def test_access_in_the_wrong_direction_is_noticed(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = GrantingDriver._grant

    def turned(self: GrantingDriver, owner: int, opcode: int, buffer: Buffer, nbytes: int) -> None:
        plain(self, owner, NvmOpc.WRITE if opcode == NvmOpc.READ else opcode, buffer, nbytes)

    monkeypatch.setattr(GrantingDriver, "_grant", turned)
    player.play({"do": "io", "op": "read"})
    player.drive.advance(5000)
    with pytest.raises(Failure, match=r"write of \d+ bytes at .*READ, queue 1") as caught:
        player.judge.look()
    assert caught.value.kind == "access"


def test_access_after_the_end_is_noticed(player: Player) -> None:
    """As if the command had been over: what it was given is taken back while it is inside."""
    player.play({**WRITE, "count": 48})
    command = next(iter(player.judge.sent))
    player.drive.advance(50)
    player.drive._give_back(command)
    player.drive.advance(5000)
    with pytest.raises(Failure, match="given back by WRITE, queue 1"):
        player.judge.look()


def test_command_that_does_not_end_is_noticed(player: Player) -> None:
    player.drive.sim.set_cfg(bus_master=False)
    found = fails(player, WRITE, {"do": "wait"})
    assert found.kind == "stuck" and "WRITE, queue 1" in str(found)


def test_command_that_ends_twice_is_noticed(player: Player) -> None:
    player.play({"do": "io", "op": "flush"})
    sq, cq = player.drive.sqs[1], player.drive.cqs[1]
    player.play({"do": "wait"})
    view = player.drive.memory.at(cq.address, 32)
    view[16:32] = view[:16]
    assert sq.qid == 1
    found = fails(player, {"do": "wait"})
    assert found.kind == "protocol" and "completed before" in str(found)


@pytest.mark.parametrize(("asked", "why"), [(True, "not aborted .* 0x7"), (False, "has not ended yet")])
def test_false_answer_to_an_abort_is_noticed(
    slow: Player, monkeypatch: pytest.MonkeyPatch, asked: bool, why: str
) -> None:
    """Aborted, and denied; said to be aborted, and it goes on."""
    plain = Player._ask_abort
    monkeypatch.setattr(Player, "_ask_abort", lambda *args: not plain(*args) if asked else True)
    slow.play({**WRITE, "count": 48})
    slow.play({"do": "run", "cycles": 2000})
    with pytest.raises(Failure, match=why) as caught:
        slow.play({"do": "abort"})
    assert caught.value.kind == "abort"


def test_abort_of_a_command_that_is_not_there_is_noticed(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Player, "_ask_abort", lambda *_: True)
    assert fails(player, {"do": "abort", "pick": -1}).kind == "abort"


def test_format_that_a_reset_takes_back_is_noticed(player: Player, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has ended with success: as before is not allowed any more."""
    player.play({**WRITE})
    plain = player.drive.sim.media_write
    player.play({"do": "wait"})
    old = player.drive.sim.media_read(0, 4096)
    reset = Player.do_reset

    def restored(self: Player, step: Step) -> None:
        plain(0, old)
        reset(self, step)

    monkeypatch.setattr(Player, "do_reset", restored)
    found = fails(player, {"do": "cut", "what": "format", "cycles": 100_000, "kind": "disable"})
    assert found.kind == "data" and "block 0" in str(found)


def test_spoiled_data_that_are_taken_for_good_are_noticed(player: Player) -> None:
    player.play({**WRITE, "fault": "poison"})
    (sent,) = player.judge.sent.values()
    sent.allowed.clear()  # as if it had ended otherwise
    sent.fault = ("double", *sent.fault[1:])  # type: ignore[misc]
    assert fails(player, {"do": "wait"}).kind == "status"


def test_failure_becomes_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A drive that forgets block 5 whenever a command is aborted: the script has what is needed, no more."""
    plain = Player.do_abort

    def forgetful(self: Player, step: Step) -> None:
        plain(self, step)
        self.play({**WRITE, "at": 5, "count": 1})
        self.play({"do": "wait"})
        size = self.machine.model.spaces[1].blocks.block_size
        self.drive.sim.media_write(5 * size, bytes(size))

    monkeypatch.setattr(Player, "do_abort", forgetful)
    args = ["soak", "--top", "db_ssd", "--seed", "25", "--commands", "1000", "--out", str(tmp_path), "--runs", "60"]
    assert cli.run([*args, "--json", str(tmp_path / "r.json")]) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    script = tmp_path / "soak-db_ssd-25.json"
    assert "seed 25" in said and str(script) in said and "data: " in said
    (result,) = json.loads((tmp_path / "r.json").read_text())["results"]
    assert result["failure"]["kind"] == "data" and result["script"] == str(script)
    assert [s["do"] for s in load(script).steps] == ["abort"]
    assert cli.run(["soak", "--replay", str(script)]) == 1
    monkeypatch.undo()
    assert cli.run(["soak", "--replay", str(script)]) == 0
