# SPDX-License-Identifier: Apache-2.0
"""Each fuzz target passes its corpus and a short run that is the same each time; what was mended is found again where
it is not mended; failures become files that show them again.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from doorbell.errors import UserError
from doorbell.fuzz import TARGETS, run
from doorbell.fuzz.building import libfuzzer, program
from doorbell.fuzz.rtl import STEPS, steps_of
from doorbell.fuzz.running import STATUS
from doorbell.fuzz.targets import CORPUS, target
from doorbell.soak.run import SHARED, replay
from doorbell.soak.steps import checked, load

ROOT = Path(__file__).resolve().parents[3]
RUNS = {
    "admin": 8000,
    "functions": 4000,
    "settings": 8000,
    "settings-functions": 4000,
    "vfio": 400,
    "files": 1500,
    "rtl": 20,
}
NIGHTLY = ("settings-functions",)
"""The others make the same claims of each part of it."""


def doorbell(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "doorbell", *arguments], env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.nightly) if n in NIGHTLY else n for n in TARGETS])
def test_corpus_and_a_short_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under sanitizers, with nothing that the target's model forbids. The RTL: without guidance, so nothing is built
    for this alone."""
    monkeypatch.setenv("DOORBELL_FUZZ_GUIDED", "0")
    found = run(TARGETS[name], runs=RUNS[name], seed=1, out=tmp_path)
    assert not found.why, found.why
    assert found.executions >= RUNS[name]
    assert found.kept > 10 or name == "rtl"


def test_no_folder_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """libFuzzer ends the target's process, which could not tidy up itself."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setattr("doorbell.fuzz.running.SHARED", place)
    assert run(TARGETS["files"], runs=10, seed=1, out=tmp_path).executions >= 10
    assert list(place.iterdir()) == []


def test_no_drive_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its image is in memory: it would be until the machine starts anew."""
    noted, target = tmp_path / "noted", tmp_path / "noting.py"
    target.write_text(
        "from pathlib import Path\nfrom doorbell.fuzz import rtl\n"
        "init = rtl.Drive.__init__\n"
        "def noting(self):\n"
        f"    init(self)\n    Path({str(noted)!r}).write_text(self.folder.name)\n"
        "rtl.Drive.__init__ = noting\nrtl.main()\n"
    )
    monkeypatch.setattr("doorbell.fuzz.running.command_of", lambda t: [sys.executable, str(target)])
    monkeypatch.setenv("DOORBELL_FUZZ_GUIDED", "0")
    assert not run(TARGETS["rtl"], runs=1, seed=1, out=tmp_path).why
    folder = Path(noted.read_text())
    assert folder.is_relative_to(SHARED) or not SHARED.is_dir()
    assert not folder.exists()


@pytest.mark.nightly
def test_rtl_is_guided_by_its_lines_and_toggles(tmp_path: Path) -> None:
    """Inputs reach what those of the corpus do not, and are kept for it."""
    corpus = run(TARGETS["rtl"], runs=1, seed=1, out=tmp_path)
    more = run(TARGETS["rtl"], runs=300, seed=1, out=tmp_path)
    assert not corpus.why and not more.why
    assert more.features > corpus.features > 10_000 and more.kept > corpus.kept > 10


def test_every_corpus_is_of_a_target_and_small() -> None:
    assert {f.name for f in CORPUS.iterdir()} == set(TARGETS)
    for name, t in TARGETS.items():
        files = list((CORPUS / name).iterdir())
        assert 0 < len(files) <= 80 and all(f.stat().st_size <= t.longest for f in files)


DEFECTS = {
    "functions": [("dispatch/functions.c", "hw_commands_forget(ring, fn->hw.number);", "",
                   "mended-command-of-before-a-reset", "completes a command that there is not")],
    "settings": [("state/operators.c", "b->op < 32u && ", "", "mended-operator-that-there-is-not", "shift exponent"),
                 ("state/namespaces.c", "i < nsid; i++) {\n            const struct namespace* other",
                  "0; i++) {\n            const struct namespace* other", "mended-namespaces-that-overlap",
                  "namespaces overlap")],
}  # fmt: skip


@pytest.mark.parametrize("name", ["functions", pytest.param("settings", marks=pytest.mark.nightly)])
def test_what_was_mended_is_found_where_it_is_not(name: str, tmp_path: Path) -> None:
    """The same inputs, the firmware without the repairs."""
    fw = Path(shutil.copytree(ROOT / "fw", tmp_path / "fw", ignore=shutil.ignore_patterns("__pycache__")))
    for file, text, other, _, _ in DEFECTS[name]:
        before = (fw / file).read_text()
        assert text in before, f"{file} has changed: say here what its repair is now"
        (fw / file).write_text(before.replace(text, other))
    broken = program(TARGETS[name], fw)
    for _, _, _, entry, what in DEFECTS[name]:
        env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        done = subprocess.run(
            [str(broken), f"-artifact_prefix={tmp_path}/", str(CORPUS / name / entry)], env=env, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        assert done.returncode != 0 and what in done.stderr, (entry, done.stderr[-2000:])


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["nothing"], "there is no fuzz target nothing: take one of admin, "),
        (["admin", "--replay", "/nowhere"], "there is no such file"),
        (["--replay", __file__], "--replay needs the target"),
        (["admin", "--out", "/nowhere"], "there is no such folder"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], words: str) -> None:
    done = doorbell("fuzz", *arguments)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_a_replay_says_nothing_of_what_is_mended() -> None:
    entry = CORPUS / "files" / "mended-error-of-two-lines"
    done = doorbell("fuzz", "files", "--replay", str(entry), "--json", "-")
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    assert result["target"] == "files" and result["failure"] is None


def test_a_failure_is_a_file_that_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that does not like what the corpus begins with, in place of the real one."""
    bad = tmp_path / "bad.py"
    bad.write_text(
        "import atheris, sys\n"
        "def one(data):\n    if data[:1] == b'!': raise ValueError('an exclamation mark')\n"
        "atheris.Setup(sys.argv, one)\natheris.Fuzz()\n"
    )
    monkeypatch.setattr("doorbell.fuzz.running.command_of", lambda t: [sys.executable, str(bad)])
    found = run(TARGETS["files"], runs=200_000, seed=1, out=tmp_path / "out")
    assert "an exclamation mark" in found.why
    assert found.failure is not None and found.failure.read_bytes()[:1] == b"!"
    again = run(TARGETS["files"], inputs=[found.failure], out=tmp_path / "out")
    assert "an exclamation mark" in again.why


def test_a_failure_of_the_rtl_leaves_a_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that was done since power-on; here of a drive that likes no Flush. A soak of the real one finds no fault."""
    bad = tmp_path / "bad.py"
    bad.write_text(
        "from doorbell.fuzz import rtl\n"
        "from doorbell.soak.judge import Failure\nfrom doorbell.soak.player import Player\n"
        "do_io = Player.do_io\n"
        "def changed(self, step):\n"
        "    if step['op'] == 'flush': raise Failure('status', 'no Flush')\n"
        "    do_io(self, step)\n"
        "Player.do_io = changed\nrtl.main()\n"
    )
    monkeypatch.setattr("doorbell.fuzz.running.command_of", lambda t: [sys.executable, str(bad)])
    monkeypatch.setenv("DOORBELL_FUZZ_GUIDED", "0")
    flushes = (data for data in map(random.Random(1).randbytes, [60] * 1000)
               if any(step.get("op") == "flush" for step in steps_of(data)))  # fmt: skip
    (tmp_path / "input").write_bytes(next(flushes))
    found = run(TARGETS["rtl"], inputs=[tmp_path / "input"], out=tmp_path / "out")
    assert "status: no Flush" in found.why and found.failure is not None
    (file,) = (tmp_path / "out").glob("script-*.json")
    script = load(file)
    assert json.loads(file.read_text())["failure"] == {"kind": "status", "text": "no Flush"}
    assert script.steps[-1]["op"] == "flush"
    assert len(script.steps) > 10, "what the drive was given first, too"
    assert replay(script).failure is None


def test_bytes_are_steps() -> None:
    """The same bytes are the same steps, other ones others, and they come to an end."""
    inputs = [random.Random(n).randbytes(100) for n in range(20)]
    made = [list(steps_of(data)) for data in inputs]
    assert made == [list(steps_of(data)) for data in inputs]
    assert len({str(steps) for steps in made}) == len(made)
    assert all(0 < len(steps) <= STEPS for steps in [*made, list(steps_of(b""))])
    assert {step["do"] for steps in made for step in steps} > {"io", "run"}
    for steps in made:
        for step in steps:
            checked(step, "a step")


def test_progress_of_libfuzzer_is_understood() -> None:
    line = "#44516\tDONE   ft: 3985 corp: 301/4855b lim: 48 exec/s: 2782 rss: 62Mb"
    found = STATUS.match(line)
    assert found and found.groups() == ("44516", "DONE", "3985", "301")
    covered = "#2\tINITED cov: 12 ft: 13 corp: 1/1b exec/s: 0 rss: 31Mb"
    assert (found := STATUS.match(covered)) and found[3] == "13"


def test_where_there_is_no_libfuzzer_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doorbell.fuzz.building.find_spec", lambda name: None)
    with pytest.raises(UserError, match="fuzzing needs the package atheris"):
        libfuzzer()
    assert target("vfio").module == "messages"
