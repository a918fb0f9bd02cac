# SPDX-License-Identifier: Apache-2.0
"""The time that files of a release have: that of the sources, not that of the clock on the wall."""

from __future__ import annotations

import os
import shutil
import subprocess

from doorbell import paths
from doorbell.errors import UserError


def time_of_sources() -> int:
    """Seconds since 1970: SOURCE_DATE_EPOCH, or that of the last commit; without either 0."""
    if said := os.environ.get("SOURCE_DATE_EPOCH"):
        if not said.isdecimal():
            raise UserError(f"SOURCE_DATE_EPOCH={said}: must be whole seconds since 1970")
        return int(said)
    git = shutil.which("git")
    if git is None or not (paths.ROOT / ".git").exists():
        return 0
    found = subprocess.run([git, "log", "-1", "--format=%ct"], cwd=paths.ROOT, capture_output=True, text=True).stdout
    return int(found.strip() or 0)
