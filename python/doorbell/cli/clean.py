# SPDX-License-Identifier: Apache-2.0
"""`doorbell clean`: empties the cache, and says how much that was."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path

import typer

from doorbell import paths
from doorbell.build.cache import GONE, remove, size
from doorbell.errors import UserError
from doorbell.ui import warn

OWN = ("build", "build.pruned", "env-*", "fuzz", "last-error.txt", "mutate", "report", "watch", "zig")
"""What Doorbell makes there; a folder that is removed has another end to its name meanwhile."""


def own(entry: Path) -> bool:
    name = entry.stem.rpartition(".")[0] if entry.suffix == GONE else entry.name
    return any(fnmatchcase(name, pattern) for pattern in OWN)


def in_order(cache: Path) -> list[Path]:
    """What is in the cache, the environment that runs this last."""
    runs = Path(os.environ.get("VIRTUAL_ENV", ""))
    return sorted(cache.iterdir(), key=lambda entry: (entry == runs, entry.name))


def main(
    keep_env: bool = typer.Option(False, "--keep-env", help="Leave the Python environment: a minute to make."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what would go."),
) -> None:
    """Empty the cache: simulators, benches, firmware, the guest's root, the Python environment.

    All of it is made anew when it is needed. What others have put there stays. Do not run it beside other doorbell
    commands.
    """
    cache = paths.cache()
    there = in_order(cache) if cache.is_dir() else []
    entries = [e for e in there if own(e)]
    if others := [e.name for e in there if e not in entries]:
        warn(f"{cache} has what is not Doorbell's, which stays: {', '.join(others[:5])}{' ...' * (len(others) > 5)}")
    if keep_env:
        entries = [e for e in entries if not e.name.startswith("env-")]
    total = 0
    for entry in entries:
        try:
            total += 0 if entry.is_symlink() else size(entry)
            if not dry_run:
                remove(entry)
        except OSError as e:
            raise UserError(f"cannot remove {entry}: {e.strerror}") from e
    print(f"{'would remove' if dry_run else 'removed'} {total / 1e6:,.0f} MB from {cache}")
