# SPDX-License-Identifier: Apache-2.0
"""The command line: its help, its arguments, its exit status, and that every error is one line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.cli import main as cli
from doorbell.cli import testing
from doorbell.errors import UserError
from test_launcher import cache as cache  # the fixture


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in cli.COMMANDS)


def raiser(error: BaseException):
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (UserError("no such\n top"), 2, "doorbell: no such top\n"),
        (UserError("lint failed", status=1), 1, "doorbell: lint failed\n"),
        (KeyboardInterrupt(), 130, ""),
        (KeyError("x"), 1, "doorbell: internal error: KeyError: 'x' (details: {cache}/last-error.txt)\n"),
    ],
)
def test_errors_are_one_line(
    error: BaseException, status: int, text: str, cache: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.delenv("DOORBELL_DEBUG", raising=False)
    monkeypatch.setattr(cli, "load", lambda name: raiser(error))
    assert cli.run(["lint"]) == status
    assert capsys.readouterr().err == text.format(cache=cache)


SAYS = """
import sys
from doorbell.cli import main
main.load = lambda name: lambda: print("x" * int(sys.argv[1]))
sys.exit(main.run(["lint"]))
"""


@pytest.mark.parametrize("much", [10, 100_000])
def test_a_full_disk_behind_stdout_is_one_line(much: int) -> None:
    """Whether it shows at the end or while the command says what it has to say."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", SAYS, str(much)], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("doorbell: no space left on the device"), done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "nosuch",
        "lint --nosuch",
        "build --data-w x",
        "build --data-w 100",
        "vm --timeout -1",
        "vm --timeout nan",
        "synth --paths -1",
        "fuzz files --minutes inf",
    ],
)
def test_wrong_usage_is_one_line(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(line.split()) == 2
    err = capsys.readouterr().err
    assert err.startswith("doorbell: ") and err.count("\n") == 1


def test_what_is_no_number_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Of an option without a least value, which would refuse it."""
    assert cli.run("record x --rate nan".split()) == 2
    assert capsys.readouterr().err == "doorbell: rate nan: must be a number\n"


RESULTS = (
    ["bench", "--backend", "functional", "--json"], ["soak", "--json"], ["fuzz", "files", "--json"],
    ["mutate", "db_fifo", "--json"], ["compare", "--json"], ["compare", "--record"], ["synth", "--json"],
    ["vm", "--speed", "--json"],
)  # fmt: skip


@pytest.mark.parametrize("line", RESULTS, ids=" ".join)
def test_where_results_cannot_go_is_said_before_they_are_there(
    line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hours of a run would be lost with them: the table comes after the file."""
    monkeypatch.setattr("doorbell.vm.speed.measure", lambda *_: pytest.fail("a guest is started"))
    for file, why in ((tmp_path / "no" / "x.json", "there is no folder"), (tmp_path, "it is a folder")):
        began = time.monotonic()
        assert cli.run([*line, str(file)]) == 2
        assert why in capsys.readouterr().err and time.monotonic() - began < 30
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("line", ["fuzz files --out {}", "soak --top db_ssd --out {}"])
def test_where_a_failure_cannot_go_is_said_before_it_is_found(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As of the super-user, whom nothing keeps from it."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path or not mode & os.W_OK)
    for run in ("doorbell.fuzz.command.run", "doorbell.soak.command.play"):
        monkeypatch.setattr(run, lambda *_, **__: pytest.fail("it runs"))
    assert cli.run(line.format(tmp_path).split()) == 2
    assert "no file can be made there" in capsys.readouterr().err


def test_missing_module(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(cli.COMMANDS, "later", cli.Subcommand("doorbell.nosuch", "Later.", ""))
    assert cli.run(["later"]) == 2
    assert "not part of this version" in capsys.readouterr().err


def test_exit_status_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    import typer

    monkeypatch.setattr(cli, "load", lambda name: raiser(typer.Exit(7)))
    assert cli.run(["vm"]) == 7
    monkeypatch.setattr(cli, "load", lambda name: lambda: 9)
    assert cli.run(["vm"]) == 9
    monkeypatch.setattr(cli, "load", lambda name: lambda: sys.exit(4))
    assert cli.run(["vm"]) == 4


def test_pytest_arguments() -> None:
    plain = testing.pytest_args("", False, 2, [])
    assert "not nightly" in plain and "-k" not in plain
    full = testing.pytest_args("fifo", True, 1, ["tests/rtl", "-x"])
    assert "not nightly" not in full and full[-4:] == ["-k", "fifo", "tests/rtl", "-x"]


@pytest.mark.parametrize(("option", "fresh"), [("", ""), ("--fresh", "1"), ("--statuses", "1"), ("--nightly", "1")])
def test_what_has_to_run_all_tests_does(
    option: str, fresh: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a test that is not run again nobody knows which statuses it has seen."""
    given: list[str] = []

    def popen(command: list[str], cwd: Path, env: dict[str, str]) -> subprocess.Popen[bytes]:
        given.append(env.get("DOORBELL_FRESH", ""))
        return real(["true"])

    real = subprocess.Popen
    monkeypatch.delenv("DOORBELL_FRESH", raising=False)
    monkeypatch.setattr(paths, "OUT", tmp_path)
    monkeypatch.setattr(testing.subprocess, "Popen", popen)
    monkeypatch.setattr(testing.signal, "signal", lambda *_: None)
    assert cli.run(["test", "--no-lint", *filter(None, [option])]) == 0
    assert given == [fresh]


def test_waves_of_all_tests_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    """They would fill the disk."""
    assert cli.run(["test", "--wave", "--no-lint", "-x"]) == 2
    assert "choose some, with -k" in capfd.readouterr().err
