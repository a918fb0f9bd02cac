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
from doorbell.compute import drive as compute
from doorbell.compute.near import Crypt, Grep, HashStep, load, message_phase
from doorbell.compute.programs import Programs
from doorbell.nvme import namespaces
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.vendor import NearMode
from doorbell.soak.judge import Failure
from doorbell.soak.model import CHANGING
from doorbell.soak.near import MISTAKES, TOO_LARGE, WRONG, program_of, text
from doorbell.soak.near_crypt import key_bytes
from doorbell.soak.near_kinds import of_kind
from doorbell.soak.near_messages import brings
from doorbell.soak.player import Player
from doorbell.soak.run import Outcome, play, random_steps
from doorbell.soak.steps import FAULTS, RESETS, Step
from test_ssd_soak import often

pytestmark = pytest.mark.rtl
OWN = {"memory", "execute", "key", "bind", "ns_create", "ns_delete", "attach", "detach", "program"}


@pytest.fixture
def player(tmp_path: Path) -> Iterator[Player]:
    p = Player("db_csd", tmp_path, NARROW, 1)
    p.drive.io_timeout_us = p.drive.admin_timeout_us = 20_000
    yield p
    p.close()


def soak(seed: int, commands: int, **options: Any) -> Outcome:
    """All kinds of programs, and of each some results that the model knew."""
    outcome = play("db_csd", seed, random_steps("db_csd", seed), commands=commands, options=options)
    assert outcome.failure is None, f"seed {seed}, after {outcome.count} steps: {outcome.failure}"
    assert outcome.commands >= commands and outcome.ended["SUCCESS"] > commands // 2
    assert all(
        outcome.ended[known] for known in (KNOWN, OF_CRYPT, NO_KEY, MESSAGE, DIGEST, COPY, EXECUTED, STORED, ELSEWHERE)
    ), outcome.ended
    return outcome


def test_soak() -> None:
    assert set(soak(1, 1200, **NARROW).did) >= OWN - {"detach", "ns_delete"}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 105))
def test_soak_of_25000(seed: int) -> None:
    assert set(soak(seed, 5000).did) >= OWN


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


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [6, 7])
def test_soak_of_functions_with_memory(seed: int) -> None:
    """Memory and programs of each: what one copies and executes, and what comes of it, is no other's."""
    options = {"memory": True}
    outcome = play(
        "db_csd", seed, random_steps("db_csd", seed, NUM_FN, options), options, functions=NUM_FN, commands=5000
    )
    assert outcome.failure is None, f"seed {seed}, after {outcome.count} steps: {outcome.failure}"
    assert set(outcome.did) >= {"memory", "execute"} and all(outcome.ended[known] for known in (COPY, EXECUTED))


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


# ---- memory


def memory(**fields: Any) -> Step:
    return {"do": "memory", **fields}


@pytest.mark.parametrize("how", ["write", "fill", "copy"])
def test_memory_that_has_others_bytes_is_found(player: Player, how: str) -> None:
    """What a command left there is known to the byte: one that another one changes shows with the next Read."""
    player.play({"do": "io", "op": "write", "count": 8, "data": 3})
    player.play(memory(op="write", size=2000, data=4))
    player.play({"do": "wait"})
    player.play(memory(op=how, at=100, size=512, data=5, ns=1))
    player.play({"do": "check"})
    assert player.ended[COPY] == (how == "copy")
    Programs(player.drive).write(player.machine.memory_at + 4 * 200, b"\xee" * 4)
    player.play(memory(op="read", at=190, size=20))
    with pytest.raises(Failure, match="block 200: byte 0 is eeeeeeee"):
        player.play({"do": "wait"})


def test_a_result_in_memory_that_is_none_is_found(player: Player) -> None:
    """Execute Program: its result is the model's, to the byte, and the program rests when another one comes."""
    player.play(memory(op="write", size=1024, data=5))
    player.play({"do": "program", "number": 1, "data": LINES})
    player.play({"do": "execute", "number": 1, "size": 1024, "to": 10})
    player.play({"do": "check"})
    assert player.ended[EXECUTED] == 1 and player.active == {1}
    player.play({"do": "program", "number": 1, "data": LINES + 1})
    assert not player.active
    for _ in range(6):
        player.play({"do": "execute", "number": 1, "size": 1024, "to": 10})
    player.play({"do": "wait"})
    Programs(player.drive).write(player.machine.memory_at + 4 * (4096 + 12), b"\xee" * 4)
    with pytest.raises(Failure, match="block 4108: byte 0 is eeeeeeee"):
        player.play({"do": "check"})


def test_memory_after_a_cut(player: Player) -> None:
    """A reset of the controller leaves what had ended; of what it took nobody says what it has done."""
    player.play({"do": "io", "op": "write", "count": 48, "data": 3})
    player.play(memory(op="write", size=4000, data=4))
    player.play({"do": "wait"})
    for cycles in (100, 400, 1500):
        for at in (0, 900, 1800):
            player.play(memory(op="copy", at=at, size=700, ns=1, parts=2))
            player.play(memory(op="copy", at=at, size=400, ns=0, start=4000, q=2))
            player.play(memory(op="fill", at=at, size=400, q=3))
        player.play({"do": "run", "cycles": cycles})
        player.play({"do": "reset", "kind": "disable"})
        player.play({"do": "check"})
    assert not any(c.under == CHANGING for c in player.machine.model.memory.blocks._changes(3999, None))
    for kind in ("flr", "power"):
        player.play({"do": "reset", "kind": kind})
        player.play({"do": "check"})


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
KNOWN, OF_CRYPT, NO_KEY = "near: result known", "near: result of a Crypt known", "near: no key, nothing left"
MESSAGE, DIGEST = "near: message known", "near: digest known"
COPY, EXECUTED = "memory: copy known", "memory: result known"
STORED, ELSEWHERE = "near: stored", "near: stored elsewhere"
BEGIN, END, ASK = HashStep.BEGIN, HashStep.END, HashStep.ASK


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


@pytest.mark.parametrize(("fits", "to_ns"), [(True, 0), (False, 0), (True, 2)])
def test_a_wrong_store_is_noticed(player: Player, fits: bool, to_ns: int) -> None:
    """Blocks that have not what the buffer has; blocks that have changed although the result was too large."""
    ready(player)
    player.play(near(to=40, to_ns=to_ns, room=4096 if fits else 512))
    player.play({"do": "wait"})
    assert player.judge.ended[(ELSEWHERE if to_ns else STORED) if fits else "RESULT_TOO_LARGE"] == 1
    player.play({"do": "check"})
    drive, nsid = player.drive, to_ns or 1
    buffer = drive.buffer(512)
    drive.run(drive.submit(1, NvmOpc.READ, 40, 0, buffer, nsid=nsid))
    buffer.write(bytes([buffer.read()[0] ^ 1]) + buffer.read()[1:])
    drive.run(drive.submit(1, NvmOpc.WRITE, 40, 0, buffer, nsid=nsid))
    buffer.free()
    with pytest.raises(Failure, match="block 40") as caught:
        player.play({"do": "check"})
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


# ---- keys of programs, and messages


def crypt(mode: NearMode, slot: int, *, encrypt: bool = False, behind: bool = False, message: bool = False) -> int:
    """Number of such a program."""
    for n in range(100_000):
        p = of_kind("crypt", n)
        if isinstance(p, Crypt) and (p.mode, p.slot, p.encrypt) == (mode, slot, encrypt):
            if brings(p) == message and (p.behind is not None) == (behind or message):
                return n
    raise AssertionError("no such program")


def load_crypt(player: Player, data: int) -> None:
    player.play({"do": "program", "number": 1, "of": "crypt", "data": data})


@pytest.mark.parametrize("mode", [NearMode.XTS, NearMode.CTR])
def test_a_crypt_has_the_key_that_is_in_its_slot(player: Player, mode: NearMode) -> None:
    """Both ways, alone and with an operator behind; the key is changed, erased, there again, gone with a reset; blocks
    of 512 and of 4096 bytes."""
    ready(player)
    slot = 2 if mode == NearMode.XTS else 4
    key: Step = {"do": "key", "slot": slot, "mode": "ctr" if mode == NearMode.CTR else ""}
    for size in (512, 4096):
        player.play({"do": "format", "size": size})
        player.play({"do": "io", "op": "write", "count": 48, "data": 3, "text": 1})
        for encrypt in (False, True):
            for behind in (False, True):
                load_crypt(player, crypt(mode, slot, encrypt=encrypt, behind=behind))
                for number in (7, 8):
                    player.play({**key, "key": number})
                    assert status_of(player, near(at=3, length=1000, room=512)) in (Status.SUCCESS, TOO_LARGE)
                player.play({**key, "key": 0})
                assert status_of(player, near()) == Status.READ_ERROR
    assert player.ended[OF_CRYPT] == 16 and player.ended[NO_KEY] == 8
    player.play({**key, "key": 7})
    player.play({"do": "reset", "kind": "disable"})
    load_crypt(player, crypt(mode, slot))
    assert status_of(player, near()) == Status.READ_ERROR, "a reset has taken the key"
    player.play({**key, "key": 7, "mode": "" if mode == NearMode.CTR else "ctr"})
    assert status_of(player, near()) == Status.READ_ERROR, "it is one for the other mode"
    player.play({**key, "key": 7})
    player.play({"do": "key", "slot": 1, "key": 1})
    player.play({"do": "bind", "ns": 1, "slot": 1})
    assert status_of(player, near()) == Status.READ_ERROR, "the namespace has an operator of its own"
    player.finish()


def test_a_crypt_with_another_key_is_noticed(player: Player) -> None:
    ready(player)
    player.play({"do": "key", "slot": 2, "key": 7})
    load_crypt(player, crypt(NearMode.XTS, 2))
    compute.load_key(player.drive, 2, *key_bytes(8))
    with pytest.raises(Failure, match="gives .* bytes, from"):
        status_of(player, near())


def test_data_that_leave_without_a_key_are_noticed(player: Player) -> None:
    """As if the program had encrypted nothing, and failed then."""
    ready(player)
    load_crypt(player, crypt(NearMode.XTS, 2))
    player.play(near())
    ((command, sent),) = player.judge.sent.items()
    plain = command.on_done
    assert plain is not None and sent.buffer is not None

    def other(command: Command) -> None:
        assert sent.buffer is not None
        sent.buffer.write(bytes(100) + TEXT[512:1024])
        plain(command)

    command.on_done = other
    with pytest.raises(Failure, match="has no key, and byte .* is in the buffer"):
        player.play({"do": "wait"})


def bring(player: Player, steps: HashStep, at: int = 0, message: int = 2, **fields: Any) -> None:
    status = status_of(player, near(at=at, phase=message_phase(steps, message), **fields))
    assert status == Status.SUCCESS


def message(player: Player, of: str = "sha256", data: int = 1) -> None:
    player.play({"do": "program", "number": 1, "of": of, "data": data})


def test_messages_are_those_of_the_model(player: Player) -> None:
    """In one part and in several; of what is decrypted; a skipped begin; forgotten by each thing that forgets it, also
    when it has ended."""
    ready(player)
    player.play({"do": "key", "slot": 2, "key": 7})
    some = [("sha256", 1), ("crypt", crypt(NearMode.XTS, 2, message=True))]
    for of, data in some:
        message(player, of, data)
        bring(player, BEGIN)
        bring(player, HashStep(0), 16)
        bring(player, END, 8, length=77)
        player.play({"do": "run", "cycles": 40_000})
        bring(player, ASK)
    assert player.ended[DIGEST] == 2 and player.ended[MESSAGE] == 6
    forgetful: list[Step] = [
        {"do": "program", "number": 1, "of": "sha256", "data": 2}, {"do": "reset", "kind": "disable"},
        {"do": "reset", "kind": "flr"}, {"do": "program", "number": 1, "data": 0},
        {"do": "program", "number": 1, "data": 5, "bad": "slot"},
    ]  # fmt: skip
    for ended in (HashStep(0), END):
        for step in forgetful:
            message(player)
            bring(player, BEGIN | ended)
            player.play(step)
            if step["do"] != "program" or step["data"] != 2:
                message(player)
            asked = player.ended[MESSAGE]
            bring(player, ASK)
            bring(player, END, length=100)
            assert player.ended[MESSAGE] == asked + 2
            (state,) = {m.state.taken for m in player.machine.model.messages[1] if m.state}
            assert state == 0
    player.finish()


def test_a_message_whose_parts_are_under_way_together_is_unknown_until_it_begins_alone(player: Player) -> None:
    ready(player)
    message(player)
    for q in (1, 2):
        player.play(near(q=q, phase=message_phase(BEGIN, 2)))
    player.play({"do": "wait"})
    bring(player, HashStep(0))
    assert player.machine.model.messages[1][2].state is None
    assert not player.ended[MESSAGE]
    bring(player, BEGIN | END, length=77)
    player.play({"do": "run", "cycles": 30_000})
    bring(player, ASK)
    assert (player.ended[MESSAGE], player.ended[DIGEST]) == (1, 1)
    player.finish()


def test_a_message_that_is_lost_is_noticed(player: Player) -> None:
    """As if the drive had forgotten it: its program is loaded again behind the judge's back."""
    ready(player)
    message(player)
    bring(player, BEGIN)
    load(player.drive, 1, of_kind("sha256", 1).program())
    with pytest.raises(Failure, match="a message of 4096 bytes, ended: False, says 0"):
        bring(player, ASK)


def test_a_message_that_outlasts_its_program_is_noticed(player: Player) -> None:
    ready(player)
    message(player)
    bring(player, BEGIN)
    player.program_changes(1, of_kind("sha256", 1))  # and it is not
    with pytest.raises(Failure, match="a message of 0 bytes, ended: False, says 4096"):
        bring(player, ASK)


def test_a_wrong_digest_is_noticed(player: Player) -> None:
    ready(player)
    message(player)
    bring(player, BEGIN)
    player.drive.sim.media_write(8 * 512 + 5, b"\0")  # type: ignore[union-attr]
    bring(player, END, 8)
    player.play({"do": "run", "cycles": 20_000})
    with pytest.raises(Failure, match="the digest of 8192 bytes is"):
        bring(player, ASK)
