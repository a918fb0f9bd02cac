# SPDX-License-Identifier: Apache-2.0
"""The parts of a soak without a drive: steps and their files, the generator, the model of blocks, shrinking."""

from __future__ import annotations

import json
import time
from collections import Counter
from itertools import islice, repeat
from pathlib import Path
from typing import Any

import pytest
from doorbell.cli import main as cli
from doorbell.device.switch_sim import NUMBERS
from doorbell.errors import UserError
from doorbell.nvme.commands import Command
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.model import Mismatch
from doorbell.soak import run
from doorbell.soak.command import _say_left_out
from doorbell.soak.generate import Generator, Shape
from doorbell.soak.generate_crowd import CrowdGenerator
from doorbell.soak.judge import Judge, Sent
from doorbell.soak.model import Blocks, Drive, Space
from doorbell.soak.near import program_of
from doorbell.soak.near_kinds import CTR_SLOTS, KINDS
from doorbell.soak.player import Player
from doorbell.soak.run import random_steps
from doorbell.soak.shrink import Shrinker
from doorbell.soak.steps import RESETS, SSD_FAULTS, STEPS, Script, Step, checked, load

A, B = b"a" * 512, b"b" * 512
MIXED = A[:256] + B[256:]
ALL = Shape(spaces=6, keys=True, manage=True, ssds=2, near=True, memory=True)


# ---- steps


def test_generator_knows_all_steps_and_makes_good_ones() -> None:
    one, several = list(islice(Generator(1, ALL), 40_000)), list(islice(CrowdGenerator(1, 5, ALL), 20_000))
    steps = [*one, *several]
    assert {s["do"] for s in steps} == set(STEPS)
    assert {s["do"] for s in one} == set(STEPS) - {"offline", "online", "vfs"}
    assert {s.get("fn", 0) for s in several} == set(range(5))
    for step in steps:
        checked(step, "here")
    assert {s.get("of", "") for s in one if s["do"] == "program"} == set(KINDS)
    assert {s["slot"] for s in one if s.get("mode") == "ctr"} == set(CTR_SLOTS)
    kinds = {s["kind"] for s in steps if s["do"] == "reset"}
    assert kinds == set(STEPS["reset"]["kind"])
    assert {s["kind"] for s in one if s["do"] == "reset"} == set(RESETS)


def test_same_seed_same_steps() -> None:
    one, other = (list(islice(Generator(5, Shape()), 500)) for _ in range(2))
    assert one == other != list(islice(Generator(6, Shape()), 500))


def test_script_is_read_as_it_was_saved(tmp_path: Path) -> None:
    steps = list(islice(Generator(2, ALL), 50))
    file = tmp_path / "s.json"
    Script("db_csd", 3, steps, {"mps": 128}, {"kind": "data"}).save(file)
    found = load(file)
    assert (found.top, found.seed, found.steps, found.options) == ("db_csd", 3, steps, {"mps": 128})
    file.write_text("steps:\n- {do: io, op: write}\n- {do: wait}\n")  # by hand, in YAML
    assert load(file).steps == [{"do": "io", "op": "write"}, {"do": "wait"}]


@pytest.mark.parametrize(("text", "why"), [
    ("{", "neither JSON nor YAML"), ("[]", "'steps', a list"), ('{"steps": 3}', "'steps', a list"),
    ('{"steps": [{"do": "dance"}]}', "step 1: 'do' must be one of io"), ('{"steps": ["io"]}', "step 1"),
    ('{"steps": [{"do": "wait"}, {"do": "io", "queue": 1}]}', "step 2: io has no 'queue'"),
    ('{"steps": [{"do": "io", "op": "erase"}]}', "op is one of read"),
    ('{"steps": [{"do": "run", "cycles": "many"}]}', "cycles is a whole number"),
    ('{"steps": [{"do": "run", "cycles": true}]}', "cycles is a whole number"),
    ('{"top": 1, "steps": []}', "'top' is a name"),
    ('{"functions": 18, "steps": []}', "functions is a number from 1 to 17"),
    ('{"top": "db_host", "steps": []}', "soak knows db_ssd, db_csd"),
])  # fmt: skip
def test_bad_script_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, why: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    assert cli.run(["soak", "--replay", str(file)]) == 2
    said = capsys.readouterr().err
    assert why in said and said.count("\n") == 1


@pytest.mark.parametrize(("options", "why"), [
    (["--top", "db_disk"], "soak knows"), (["--minutes", "-1"], "minutes"), (["--commands", "many"], "commands"),
    (["--functions", "18"], "from 1 to 17"), (["--ssds", "2"], "need --top db_vcsd"),
    (["--top", "db_csd", "--ssds", "2"], "are for db_vcsd"), (["--top", "db_vcsd", "--ssds", "3"], "1, 2, 4 or 8 SSDs"),
    (["--top", "db_vcsd", "--ssd", "qemu"], "must be model or db_ssd"),
    (["--memory"], "--memory needs --top"), (["--top", "db_ssd", "--memory"], "a function of db_ssd has none"),
    (["--replay", "/nowhere.json"], "cannot read /nowhere.json"), (["--out", "/nowhere"], "no such folder"),
    (["--full-load", "1000", "--commands", "5"], "--full-load takes --top"),
    (["--full-load", "1000", "--functions", "2"], "--full-load takes --top"),
    (["--full-load", "1000"], "at least 100,000 cycles"),
])  # fmt: skip
def test_bad_options_are_one_line(capsys: pytest.CaptureFixture[str], options: list[str], why: str) -> None:
    assert cli.run(["soak", *options]) == 2
    said = capsys.readouterr().err
    assert why in said and said.count("\n") == 1


@pytest.mark.parametrize("number", NUMBERS)
def test_steps_of_any_number_of_ssds(number: int) -> None:
    """All of them are in trouble some time; none that is not there is."""
    steps = list(islice(random_steps("db_vcsd", 3, options={"ssds": number}), 20_000))
    assert {s["ssd"] for s in steps if "ssd" in s} == set(range(number))
    assert {s["ns"] for s in steps if s["do"] == "io"} == set(range(1, max(4, 2 * number) + 1))
    places = {s["on"] for s in steps if s["do"] in ("ns_create", "grow")}
    assert {0, number + 1} <= places <= set(range(number + 2))  # wherever, over all of them
    assert {s["kind"] for s in steps if s["do"] == "ssd_fault"} >= {"late", "status", "lost"}


def test_what_only_models_do_is_left_out_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    steps = islice(random_steps("db_vcsd", 3, options={"ssd": "db_ssd"}), 20_000)
    assert {s["kind"] for s in steps if s["do"] == "ssd_fault"} == {"status"}
    _say_left_out({"ssd": "db_ssd"}, quiet=False)
    said = capsys.readouterr().out
    assert said.count("\n") == 1 and all(kind in said for kind in SSD_FAULTS if kind != "status")
    _say_left_out({"ssds": 4}, quiet=False)
    assert not capsys.readouterr().out


# ---- the model


def write(blocks: Blocks, data: bytes) -> None:
    blocks.end(blocks.begin(NvmOpc.WRITE, 0, 1, data))


def may_be(blocks: Blocks, data: bytes) -> bool:
    try:
        blocks.end(blocks.begin(NvmOpc.READ, 0, 1), Status.SUCCESS, data)
    except Mismatch:
        return False
    return True


def test_acknowledged_is_new() -> None:
    blocks = Blocks(8, 512)
    write(blocks, A)
    write(blocks, B)
    assert may_be(blocks, B) and not may_be(blocks, A)


def test_what_was_taken_is_old_or_new_and_whole() -> None:
    blocks = Blocks(8, 512)
    write(blocks, A)
    blocks.taken(blocks.begin(NvmOpc.WRITE, 0, 1, B))
    assert may_be(blocks, A) and may_be(blocks, B)
    assert not may_be(blocks, MIXED) and not may_be(blocks, bytes(512))
    write(blocks, A)
    assert not may_be(blocks, B), "a later write was acknowledged"


def test_what_overlaps_does_not_mix() -> None:
    blocks = Blocks(8, 512)
    write(blocks, A)
    pending = blocks.begin(NvmOpc.WRITE, 0, 1, B)
    assert may_be(blocks, A) and may_be(blocks, B) and not may_be(blocks, MIXED), "a read beside the write"
    blocks.end(pending)
    one, other = blocks.begin(NvmOpc.WRITE, 0, 1, A), blocks.begin(NvmOpc.WRITE, 0, 1, B)
    blocks.end(one)
    blocks.end(other)
    assert may_be(blocks, A) and may_be(blocks, B) and not may_be(blocks, MIXED), "two writes at once"


def test_data_come_back_under_their_key_alone() -> None:
    blocks = Blocks(8, 512, key=1)
    write(blocks, A)
    blocks.set_key(2)
    assert not may_be(blocks, A), "read with the wrong key as if there were none"
    assert may_be(blocks, B), "garbage"
    blocks.set_key(1)
    assert may_be(blocks, A) and not may_be(blocks, B)


def test_locked_and_missing_namespaces() -> None:
    drive = Drive({1: Space(1, Blocks(8, 512), slot=3), 2: Space(2, Blocks(8, 512), set())})
    read: Any = (0, 0, (4096, 0), ())
    assert drive.statuses(NvmOpc.READ, 1, *read) == {Status.ACCESS_DENIED}
    assert drive.statuses(NvmOpc.VERIFY, 1, *read) == {Status.SUCCESS}
    drive.keys[3] = 1
    assert drive.statuses(NvmOpc.READ, 1, *read) == {Status.SUCCESS}
    assert drive.statuses(NvmOpc.READ, 2, *read) == {Status.INVALID_FIELD}
    assert Status.INVALID_NS in drive.statuses(NvmOpc.READ, 5, *read)


def test_key_slots_of_functions() -> None:
    """As docs/csd/integration.md has them."""
    pf, one, two = (Drive(fn=fn, functions=3) for fn in range(3))
    assert [one.slot_of(n) for n in range(1, 7)] == [6, 7, 8, 9, 10, None]
    assert [two.slot_of(n) for n in (1, 5, 6)] == [11, 15, None] and pf.slot_of(15) == 15
    assert [pf.owner_of(slot) for slot in (0, 5, 6, 10, 11, 15)] == [0, 0, 1, 1, 2, 2]
    assert Drive(fn=16, functions=17).slot_of(1) == 31 and Drive(fn=1, functions=17).slot_of(2) is None


def test_keys_and_programs_go_with_their_function() -> None:
    spaces = {n: Space(n, Blocks(8, 512), {n - 1}, slot=slot) for n, slot in enumerate((1, 6, 11), 1)}
    keys = {1: 1, 6: 2, 11: 3}
    pf, one = (Drive(spaces, keys, fn=fn, functions=3, near=True) for fn in range(2))
    pf.programs[2] = one.programs[2] = program_of(1)
    pf.rekey()
    one.forget()
    assert keys == {1: 1, 11: 3} and [s.blocks.key for s in spaces.values()] == [1, 0, 3]
    assert one.programs[2] is None and pf.programs[2] == program_of(1)
    pf.forget()
    assert not keys


def test_a_namespace_with_the_key_of_its_old_owner_is_locked() -> None:
    space = Space(1, Blocks(8, 512), {1}, slot=6)
    drive = Drive({1: space}, {6: 1, 11: 1}, functions=3)
    space.fns = set()
    drive.attached(space)
    assert space.slot == 6 and not drive.locked(space)
    space.fns = {2}
    drive.attached(space)
    assert drive.locked(space) and not Drive({1: space}, fn=2, functions=3).formats(space, erase=True)


# ---- the judge: SSDs behind a card


@pytest.fixture
def judge() -> Judge:
    """A namespace on each of two SSDs; `sent_to` sends a command."""
    return Judge()


def sent_to(judge: Judge, ssd: int) -> Command:
    command = Command(1, 1, NvmOpc.READ, 0, 0, None, 0, None, None)
    space = Space(ssd + 1, Blocks(8, 512), ssds=frozenset({ssd}))
    sent = Sent(space, space.blocks.begin(NvmOpc.READ, 0, 1, A), {Status.SUCCESS}, None, ssds=space.ssds)
    judge.begin(command, sent)
    return command


def may_end(judge: Judge, command: Command, status: int) -> bool:
    return status in judge._allowed(command, judge.sent[command])


def test_an_ssd_costs_its_own_commands(judge: Judge) -> None:
    before = [sent_to(judge, ssd) for ssd in range(2)]
    judge.ssd_fails(1)
    during = [sent_to(judge, ssd) for ssd in range(2)]
    judge.ssds_mended()
    after = sent_to(judge, 1)
    error = Status.READ_ERROR
    assert [may_end(judge, c, error) for c in before] == [may_end(judge, c, error) for c in during] == [False, True]
    assert not may_end(judge, after, error)


def test_data_of_an_ssd_that_lies_are_not_judged_until_it_is_mended(judge: Judge) -> None:
    judge.ssd_fails(1, lies=True)
    misled = [judge.sent[sent_to(judge, ssd)].misled for ssd in range(2)]
    judge.ssds_mended()
    assert misled == [False, True] and not judge.sent[sent_to(judge, 1)].misled


# ---- runs


class Slow:
    """A player whose simulator has to be built."""

    def __init__(self, *_: object) -> None:
        self.commands, self.ended, self.cycles = 0, Counter[str](), 0
        time.sleep(0.5)

    def play(self, step: Step) -> None:
        self.commands += 1
        time.sleep(0.01)

    def finish(self) -> None: ...

    def close(self) -> None: ...


def test_minutes_are_those_of_the_run_and_not_of_what_is_built_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a change of the RTL a short run was over before it had sent anything, and had found nothing wrong."""
    monkeypatch.setattr(run, "player_of", Slow)
    outcome = run.play("db_ssd", 1, repeat({"do": "wait"}), seconds=0.3)
    assert outcome.commands > 3 and 0.3 <= outcome.seconds < 0.5


def test_what_nobody_thought_of_is_a_failure_with_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """As any other: its seed is told, and it becomes a script. What the user did wrong is none."""

    def play(_: Slow, step: Step) -> None:
        if step["cycles"] == 2:
            raise errors[0]

    errors: list[Exception] = [KeyError(7)]
    monkeypatch.setattr(run, "player_of", Slow)
    monkeypatch.setattr(Slow, "play", play)
    steps = [{"do": "run", "cycles": n} for n in range(5)]
    outcome = run.play("db_ssd", 1, steps)
    assert outcome.failure is not None and outcome.failure.kind == "KeyError" and outcome.steps == steps[:3]
    assert str(outcome.failure).startswith("7 (in play, test_soak.py:")
    errors[0] = UserError("no compiler")
    with pytest.raises(UserError, match="no compiler"):
        run.play("db_ssd", 1, steps)


def test_a_step_that_a_drive_does_not_know_does_nothing() -> None:
    """Scripts name what may be missing; those of a card, or of several functions, run on a drive with one, too."""
    player = object.__new__(Player)
    player.judge, player.steps = Judge(), 0
    for do in ("offline", "ssd_fault"):
        player.play({"do": do})
    assert player.steps == 2


# ---- shrinking


def test_shrinks_to_what_is_needed() -> None:
    steps: list[Step] = [{"do": "run", "cycles": i} for i in range(300)]

    def fails(some: list[Step]) -> bool:
        return [s for s in some if s.get("cycles") in (200, 250, 290)] == [steps[200], steps[250], steps[290]]

    shrinker = Shrinker(steps, fails, runs=200)
    assert shrinker.shrink() == [steps[200], steps[250], steps[290]]
    assert shrinker.runs <= 200


def test_fields_go_back_to_their_defaults() -> None:
    steps: list[Step] = [{"do": "io", "op": "write", "at": 7, "offset": 12, "count": 3}]
    assert Shrinker(steps, lambda some: bool(some) and some[0].get("count") == 3).shrink() == [
        {"do": "io", "op": "write", "count": 3}
    ]


def test_shrinking_ends_after_its_runs() -> None:
    steps: list[Step] = [{"do": "wait"}] * 1000
    shrinker = Shrinker(steps, lambda some: len(some) > 700, runs=10)
    assert 700 < len(shrinker.shrink()) <= 1000 and shrinker.runs == 10


def test_a_script_of_a_failure_says_what_it_was(tmp_path: Path) -> None:
    file = tmp_path / "f.json"
    Script("db_ssd", 1, [], failure={"kind": "stuck", "what": "it"}).save(file)
    assert json.loads(file.read_text())["failure"] == {"kind": "stuck", "what": "it"}
    with pytest.raises(UserError, match="cannot write"):
        Script("db_ssd", 1, []).save(tmp_path / "no" / "f.json")
