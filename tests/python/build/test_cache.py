# SPDX-License-Identifier: Apache-2.0
"""The cache of built things: what is removed, what never is, and by what things are known."""

from __future__ import annotations

import errno
import os
import shutil
import time
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.build import cache
from doorbell.build.cache import cached, hash_files, locked, prune, prune_now_and_then
from doorbell.cli import clean
from doorbell.errors import UserError

LONG_AGO = time.time() - 2 * 86400


def age(*entries: Path) -> None:
    for entry in entries:
        os.utime(entry, (LONG_AGO, LONG_AGO))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DOORBELL_CACHE", str(tmp_path))
    assert paths.cache() == tmp_path
    (tmp_path / "build").mkdir()
    return tmp_path / "build"


def test_what_a_killed_process_left_is_removed(store: Path) -> None:
    (store / "sim-1.tmp").mkdir()
    (store / "sim-1.tmp" / "half").write_text("x" * 1000)
    (store / "sim-1.lock").touch()
    age(store / "sim-1.tmp", store / "sim-1.lock")
    prune(store)
    assert not list(store.iterdir())


def test_what_is_being_built_stays(store: Path) -> None:
    (store / "sim-1.tmp").mkdir()
    with locked(store / "sim-1.lock"):
        age(store / "sim-1.tmp", store / "sim-1.lock")
        prune(store)
        assert {e.name for e in store.iterdir()} == {"sim-1.tmp", "sim-1.lock"}


def test_the_longest_unused_leaves_first(store: Path) -> None:
    for name, days in (("a", 3), ("b", 2), ("c", 0)):
        (store / name).mkdir()
        (store / name / "data").write_bytes(bytes(1000))
        os.utime(store / name, (time.time() - days * 86400,) * 2)
    prune(store, most=2000, small=0)
    assert {e.name for e in store.iterdir()} == {"b", "c"}
    prune(store, days=1)
    assert {e.name for e in store.iterdir()} == {"c"}


def test_results_made_one_after_the_other_are_looked_through_once(store: Path) -> None:
    old = store / "old"
    for there in (False, True):
        old.mkdir()
        os.utime(old, (0, 0))
        prune_now_and_then(store)
        assert old.exists() is there
    prune_now_and_then(store, seconds=0)
    assert not old.exists()


@pytest.mark.parametrize("command", ["prune", "clean"])
def test_who_is_killed_while_removing_leaves_nothing_that_looks_whole(
    store: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Half of an environment or of a simulator would be taken for all of it, until somebody removes it by hand."""
    made = []
    thing = cached("thing", 1, lambda folder: [made.append(1), (folder / "f").touch()])
    age(thing)

    def killed(folder: Path, *_: object, **__: object) -> None:
        next(f for f in Path(folder).rglob("*") if f.is_file()).unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(shutil, "rmtree", killed)
        prune(store, days=1) if command == "prune" else clean.main(keep_env=False, dry_run=False)
    assert (cached("thing", 1, lambda folder: [made.append(1), (folder / "f").touch()]) / "f").exists()
    assert len(made) == 2
    prune(store, days=1)
    assert [f.name for f in store.iterdir() if f.suffix != ".lock"] == [thing.name], "what the killed one left goes"


def test_what_is_taken_while_others_are_looked_at_stays(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thing = cached("thing", 1, lambda folder: (folder / "f").touch())
    age(thing)

    def slow(entry: Path) -> int:
        assert cached("thing", 1, lambda folder: None) == thing
        return 1

    monkeypatch.setattr(cache, "size", slow)
    prune(store, days=1)
    assert (thing / "f").exists()


def test_what_a_killed_compiler_left_is_removed(store: Path) -> None:
    old, new = store / "0123.77.tmp", store / "0123.78.tmp"
    for file in (old, new):
        file.touch()
    age(old)
    prune(store)
    assert list(store.iterdir()) == [new]


def test_a_full_disk_is_said(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cache, "open", full, raising=False)  # the lock's file is what is made first
    with pytest.raises(UserError, match="cannot write to the cache .*No space left"):
        cached("thing", 1, lambda folder: None)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_what_is_in_a_cache_that_cannot_be_written_is_taken(
    store: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """As in an image of a container that somebody else has made: only what is not there is an error."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    made = cached("thing", 1, lambda folder: (folder / "f").touch())
    for module, name in ((os, "utime"), (cache, "open")):
        monkeypatch.setattr(module, name, refuse, raising=False)
    assert cached("thing", 1, lambda folder: pytest.fail("it is made anew")) == made
    with pytest.raises(UserError, match="cannot write to the cache"):
        cached("thing", 2, lambda folder: None)


def test_each_build_is_in_the_log_once_and_nothing_else(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "builds.tsv"
    monkeypatch.setenv("DOORBELL_BUILD_LOG", str(log))
    for _ in range(2):
        cached("thing", 1, lambda folder: (folder / "f").touch(), "making a thing")
    cached("passed-thing", 1, lambda folder: (folder / "f").touch(), log=False)
    seconds, what = log.read_text().split("\t")
    assert float(seconds) >= 0 and what == "making a thing\n"


def test_a_digest_does_not_depend_on_where_the_clone_is(tmp_path: Path) -> None:
    """Files of the cache among those of a clone that is named before it or behind it."""
    outside = tmp_path / "m" / "b.sv"
    digests = set()
    for clone in ("a", "z"):
        files = [tmp_path / clone / name for name in ("a.sv", "c.sv")]
        for file in (*files, outside):
            file.parent.mkdir(exist_ok=True)
            file.write_text(file.name)
        digests.add(hash_files([*files, outside], tmp_path / clone))
    assert len(digests) == 1
