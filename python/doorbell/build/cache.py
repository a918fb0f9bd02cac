# SPDX-License-Identifier: Apache-2.0
"""Results in the user's cache, by the content of what goes into them.

A result's folder is named by a hash of all its inputs, the tools' versions and the flags. It is made under another
name and renamed when complete, under a lock, so that processes that want the same thing at once build it once, and
one that is killed leaves nothing that looks finished.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from doorbell import paths
from doorbell.errors import UserError

KEEP_DAYS = 14
"""A cached result that nobody asked for in so many days is removed."""

KEEP_BYTES = 2 << 30
"""So much of cached results is kept, more than twice what all tests make; of more, the longest unused leaves."""

SMALL_BYTES = 1 << 16
"""A smaller result leaves by its age alone: that a test has passed takes no room, and minutes to find out again."""

GONE = ".gone"
"""How the name of a folder ends that is being removed."""

_held: set[int] = set()  # descriptors of the locks this process holds; child processes get them too


def say(text: str) -> None:
    """A line of progress."""
    print(f"doorbell: {text}", file=sys.stderr, flush=True)


def hash_files(files: Iterable[Path], base: Path = paths.ROOT) -> str:
    """A digest of the files' names (relative to `base` where inside it) and contents, wherever `base` is."""
    digest = hashlib.sha256()
    named = [(str(file.relative_to(base)) if file.is_relative_to(base) else file.name, file) for file in files]
    for name, file in sorted(named):
        digest.update(f"{name}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`. Programs started meanwhile inherit it and keep it if this process is killed."""
    with contextlib.ExitStack() as opened:
        while True:
            file = opened.enter_context(open(path, "a"))
            os.utime(file.fileno())  # in use: not to be removed
            fcntl.flock(file, fcntl.LOCK_EX)
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                break  # nobody removed it meanwhile
        _held.add(file.fileno())
        try:
            yield
        finally:
            _held.discard(file.fileno())


def locks() -> tuple[int, ...]:
    """Of this process: a program that it starts for a build gets them (pass_fds), and may outlive it."""
    return tuple(_held)


def place(kind: str, key: object) -> Path:
    """Where the result `kind` with this key is, or would be."""
    return paths.cache() / "build" / f"{kind}-{hashlib.sha256(repr(key).encode()).hexdigest()[:20]}"


def cached(kind: str, key: object, make: Callable[[Path], None], note: str = "", log: bool = True) -> Path:
    """The folder of the result `kind` with this key; `make(folder)` fills it if it is not there yet.

    key: anything whose repr holds all that the result depends on. note: a line shown before it is made. log: it counts
    as a build.
    """
    final = place(kind, key)
    store, name = final.parent, final.name
    if touch(final):
        return final
    with contextlib.ExitStack() as opened:
        try:
            store.mkdir(parents=True, exist_ok=True)
            opened.enter_context(locked(store / f"{name}.lock"))
        except OSError as e:
            raise UserError(f"cannot write to the cache {store} ({e.strerror}): set DOORBELL_CACHE to a folder") from e
        if touch(final):
            return final
        if note:
            say(note)
        temporary = store / f"{name}.tmp"
        shutil.rmtree(temporary, ignore_errors=True)  # left by one that was killed
        began = time.monotonic()
        try:
            temporary.mkdir()
            make(temporary)
            temporary.rename(final)
            if log:
                log_build(time.monotonic() - began, note or kind)
        except OSError as e:
            raise UserError(f"cannot build {kind} in {store}: {e}") from e
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    prune_now_and_then(store)
    return final


def log_build(seconds: float, what: str) -> None:
    """A line in the file that DOORBELL_BUILD_LOG names, if it names one: how long something took to build."""
    if log := os.environ.get("DOORBELL_BUILD_LOG"):
        with open(log, "a") as file:
            file.write(f"{seconds:.1f}\t{what}\n")


def touch(folder: Path) -> bool:
    """True if it is there; marks it as used today, unless the cache is another user's or cannot be written."""
    try:
        os.utime(folder)
        return True
    except OSError:
        return os.path.exists(folder)


def prune(store: Path, days: float = KEEP_DAYS, most: int = KEEP_BYTES, small: int = SMALL_BYTES) -> None:
    """Remove results that have not been used for so many days; then the longest unused until `most` bytes are left.

    small: those of fewer bytes stay meanwhile.
    What was used within the last hour stays: somebody may be about to open it. So do the lock and the unfinished
    folder of something that is being built; those that a killed process left go.
    """
    now = time.time()
    found = []
    for entry in store.iterdir():
        with contextlib.suppress(OSError):
            if entry.suffix == ".lock":
                remove_left_over(entry, now)
            elif entry.suffix == GONE:
                shutil.rmtree(entry)
            elif entry.suffix != ".tmp":
                found.append((entry.stat().st_mtime, size(entry), entry))
            elif entry.is_file() and entry.stat().st_mtime < now - 3600:
                entry.unlink()  # of a compiler that was killed
    left = sum(bytes_ for _, bytes_, _ in found)
    for used, bytes_, entry in sorted(found):
        if used >= now - days * 86400 and (left <= most or used >= now - 3600 or bytes_ < small):
            continue
        with contextlib.suppress(OSError):
            if entry.stat().st_mtime == used:  # nobody took it meanwhile: to look at all of them takes a while
                remove(entry)
                left -= bytes_


def remove(entry: Path) -> None:
    """Remove a file or a folder of the cache. Who is killed in the middle of it leaves nothing that looks whole."""
    if entry.is_dir() and not entry.is_symlink():
        gone = entry.with_name(f"{entry.name}.{os.getpid()}{GONE}")
        entry.rename(gone)
        shutil.rmtree(gone)
    else:
        entry.unlink()


def prune_now_and_then(store: Path, seconds: float = 600) -> None:
    """Prune, unless that was done a moment ago: it looks at every file, and tests make hundreds of results."""
    done = store.with_suffix(".pruned")
    with contextlib.suppress(OSError):
        if done.exists() and 0 <= time.time() - done.stat().st_mtime < seconds:
            return
        done.touch()
        prune(store)


def remove_left_over(lock: Path, now: float) -> None:
    """Remove a lock that was not used within the last hour and that nobody holds, and what was being made under it."""
    if lock.stat().st_mtime >= now - 3600:
        return
    with open(lock) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises OSError if somebody holds it
        shutil.rmtree(lock.with_suffix(".tmp"), ignore_errors=True)
        lock.unlink()


def size(entry: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    if not entry.is_dir():
        return entry.stat().st_size
    return sum(f.stat().st_size for f in entry.rglob("*") if f.is_file())


def tool(command: list[str], what: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a program and return its output; if it fails show that output and raise."""
    try:
        done = subprocess.run(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", pass_fds=locks(),
        )  # fmt: skip
    except FileNotFoundError as e:
        raise UserError(f"{command[0]} is missing: install it (Debian, Ubuntu: apt-get install g++ make perl)") from e
    if done.returncode:
        print(done.stdout.rstrip(), file=sys.stderr)
        raise UserError(f"{what} failed ({Path(command[0]).name}, exit status {done.returncode}); its output is above")
    return done.stdout


def version(*packages: str) -> str:
    return " ".join(f"{p}=={importlib.metadata.version(p)}" for p in packages)
