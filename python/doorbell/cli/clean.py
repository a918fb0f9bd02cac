# SPDX-License-Identifier: Apache-2.0
"""`doorbell clean`: empties the cache, and says how much that was."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from doorbell import paths
from doorbell.build.cache import remove, size
from doorbell.errors import UserError


def in_order(cache: Path) -> list[Path]:
    """What is in the cache, the environment that runs this last."""
    own = Path(os.environ.get("VIRTUAL_ENV", ""))
    return sorted(cache.iterdir(), key=lambda entry: (entry == own, entry.name))


def main(
    keep_env: bool = typer.Option(False, "--keep-env", help="Leave the Python environment: a minute to make."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what would go."),
) -> None:
    """Empty the cache: simulators, benches, firmware, the guest's root, the Python environment.

    All of it is made anew when it is needed. Do not run it beside other doorbell commands.
    """
    cache = paths.cache()
    entries = in_order(cache) if cache.is_dir() else []
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
