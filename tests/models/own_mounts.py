# SPDX-License-Identifier: Apache-2.0
"""File systems of a test's own: a small one can be full without anybody else's being so."""

from __future__ import annotations

import subprocess

import pytest


def own_mounts() -> list[str]:
    """What a command line begins with that may mount file systems, which nobody else sees."""
    begin = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*begin, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no user namespaces here, so no file system of a test's own that could be full")
    return begin
