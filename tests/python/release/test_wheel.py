# SPDX-License-Identifier: Apache-2.0
"""The wheel: the same bytes each time, all of a clone that commands need, and the same command once installed."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from doorbell import __version__, paths
from doorbell.release import wheel
from doorbell.release.command import main as release
from doorbell.release.moment import time_of_sources

NAME = f"doorbell-{__version__}-py3-none-any.whl"


def run(*command: str | Path, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """In an environment that has nothing of the one that runs the tests."""
    kept = {k: os.environ[k] for k in ("HOME", "DOORBELL_CACHE", "XDG_CACHE_HOME") if k in os.environ}
    env = kept | {"PATH": "/usr/local/bin:/usr/bin:/bin"} | more
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with nothing but the wheel."""
    place = tmp_path_factory.mktemp("wheel")
    made = wheel.write(place)
    venv.create(place / "env", with_pip=True)
    done = run(place / "env/bin/python", "-m", "pip", "install", "--no-index", made, cwd=place)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "env"


@pytest.fixture
def doorbell(installed: Path, tmp_path: Path) -> object:
    """Runs the installed command, in an empty folder."""
    return lambda *words: run(installed / "bin/doorbell", *words, cwd=tmp_path)


def home(installed: Path) -> Path:
    return next(installed.glob(f"lib/python*/site-packages/{wheel.HOME}"))


def test_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        made.append(wheel.write(tmp_path / name).read_bytes())
    assert made[0] == made[1]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(time_of_sources() + 86_400))
    assert wheel.write(tmp_path).read_bytes() != made[0]


def test_pip_builds_what_release_does(tmp_path: Path) -> None:
    """From the clone itself, with no package at hand: in an environment of its own that stays empty."""
    venv.create(tmp_path / "env", with_pip=True)
    done = run(
        tmp_path / "env/bin/python", "-m", "pip", "wheel", "--no-index", "-w", tmp_path, paths.ROOT, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "ours").mkdir()
    assert (tmp_path / NAME).read_bytes() == wheel.write(tmp_path / "ours").read_bytes()


def test_release_makes_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release(tmp_path / "out", as_json=True)
    said = json.loads(capsys.readouterr().out)["wheel"]
    digest = hashlib.sha256((tmp_path / "out" / NAME).read_bytes()).hexdigest()
    assert said["file"] == str(tmp_path / "out" / NAME) and said["sha256"] == digest
    assert (tmp_path / "out" / f"{NAME}.sha256").read_text() == f"{digest}  {NAME}\n"


def test_record_lists_every_file(tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel.write(tmp_path)) as packed:
        rows = list(csv.reader(packed.read(f"doorbell-{__version__}.dist-info/RECORD").decode().splitlines()))
        assert sorted(row[0] for row in rows) == sorted(packed.namelist())
        for name, digest, size in rows[:-1]:
            data = packed.read(name)
            said = base64.urlsafe_b64decode(digest.removeprefix("sha256=") + "=")
            assert said == hashlib.sha256(data).digest() and int(size) == len(data)


def test_it_has_what_git_has() -> None:
    """No source is left out because its kind is new, and nothing that is no source gets in. An export has no git."""
    if not (paths.ROOT / ".git").exists():
        return

    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", "ls-files", *words], cwd=paths.ROOT, capture_output=True, text=True, check=True)
        return done.stdout.splitlines()

    listed, added = git("--", *wheel.FOLDERS, *wheel.FILES), git("-o", "--exclude-standard")
    wanted = {name for name in listed if not Path(name).name.startswith("test_") and (paths.ROOT / name).exists()}
    assert len(wanted) > 700 and set(wheel.sources()) - set(added) == wanted


def test_builds_the_same_as_a_clone(installed: Path, doorbell: object, tmp_path: Path) -> None:
    """Registers, firmware and simulator by their content: what one has built, the other finds in the cache."""
    here = run(sys.executable, paths.ROOT / "doorbell", "build", cwd=tmp_path)
    there = doorbell("build")  # type: ignore[operator]
    assert there.returncode == 0, there.stderr
    assert len(here.stdout.splitlines()) == 3 and there.stdout == here.stdout


def test_measures_the_same_as_a_clone(doorbell: object, tmp_path: Path) -> None:
    words = ("bench", "--rw", "randread", "--bs", "4k", "--iodepth", "8", "--number-ios", "40", "--json", "-")
    here = run(sys.executable, paths.ROOT / "doorbell", *words, cwd=tmp_path)
    there = doorbell(*words)  # type: ignore[operator]
    assert there.returncode == 0, there.stderr
    jobs = [json.loads(done.stdout)["jobs"] for done in (here, there)]
    assert jobs[0] == jobs[1] and jobs[0][0]["read"]["total_ios"] == 40


@pytest.mark.nightly
def test_demo(doorbell: object) -> None:
    done = doorbell("demo")  # type: ignore[operator]
    assert done.returncode == 0 and "compared" in done.stdout, done.stderr


def test_what_needs_a_clone_says_so_in_a_line(doorbell: object) -> None:
    alone = [[name] for name in ("test", "lint", "docs", "release", "fuzz", "mutate")]
    for words in (*alone, ["test", "-k", "x"], ["build", "--only", "reference"], ["synth", "--record"]):
        done = doorbell(*words)  # type: ignore[operator]
        assert done.returncode == 2 and done.stdout == "", words
        assert done.stderr.count("\n") == 1 and "clone of the repository" in done.stderr, words
    shown = doorbell("--help").stdout  # type: ignore[operator]
    assert " bench " in shown and " lint " not in shown and "./doorbell" not in shown


def test_errors_name_the_command_as_it_is_called(doorbell: object) -> None:
    done = doorbell("bench", "--nonsense")  # type: ignore[operator]
    assert done.returncode == 2 and "see doorbell bench --help" in done.stderr


def test_commands_write_nothing_into_it(installed: Path, doorbell: object, tmp_path: Path) -> None:
    def files() -> set[Path]:
        return {f for f in home(installed).rglob("*") if "__pycache__" not in f.parts}

    before = files()
    done = doorbell("report", "--quick", "--backend", "functional")  # type: ignore[operator]
    assert done.returncode == 0, done.stderr
    assert files() == before and (tmp_path / "doorbell-out" / "report.html").exists()


def test_it_runs_its_own_sources(installed: Path, doorbell: object) -> None:
    """Not those of the clone that made it, nor those of the folder where it runs."""
    script = "from pathlib import Path; from doorbell import paths; print(paths.INSTALLED, paths.ROOT, paths.OUT)"
    done = doorbell("python", "-c", script)  # type: ignore[operator]
    assert done.stdout.split() == ["True", str(home(installed).resolve()), "doorbell-out"]
