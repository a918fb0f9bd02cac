# SPDX-License-Identifier: Apache-2.0
"""What compiled things are known by."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from doorbell.build.toolchain import compiler_version

GXX = """#!/bin/sh
case $1 in --version) echo "g++ (Debian 12.2.0-14) 12.2.0";; *) echo "#define {macro} 1";; esac
"""


def test_another_machine_or_library_is_another_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its version is the same on each machine of a home that they share, and with each C library."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = []
    for macro in ("__x86_64__", "__aarch64__", "__x86_64__"):
        (tmp_path / "g++").write_text(GXX.format(macro=macro))
        (tmp_path / "g++").chmod(0o755)
        found.append(compiler_version.__wrapped__())
    assert found[0] == found[2] != found[1]
