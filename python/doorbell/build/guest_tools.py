# SPDX-License-Identifier: Apache-2.0
"""The commands of tools/ for a guest: static, so that they run with whatever C library it has."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from doorbell import paths
from doorbell.build.cache import cached, hash_files, tool

TOOLS = paths.ROOT / "tools"
COMMANDS = {
    "dbgrep": ("grep*.c",), "dbsum": ("sum*.c", "csv.c", "records.c"), "dbfilter": ("filter.c", "records.c"),
    "dbhash": ("hash.c", "digest.c"), "dbcrypt": ("crypt.c", "aes.c"),
}  # fmt: skip
"""What there is, and its files beside near*.c."""
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Werror", "-pthread", f"-I{TOOLS}"]


def compile_tools(out: Path, files: dict[str, list[Path]], flags: list[str]) -> None:
    """Each command of `files` into the folder `out`, with zig's clang and musl."""
    env = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(paths.cache() / "zig")}
    with tempfile.TemporaryDirectory() as folder:
        env["ZIG_LOCAL_CACHE_DIR"] = folder
        for command, sources in files.items():
            line = [sys.executable, "-m", "ziglang", "cc", *FLAGS, *flags, "-o", str(out / command)]
            tool([*line, *map(str, sources)], f"building {command}", env=env)


def sources(command: str) -> list[Path]:
    return sorted(f for pattern in ("near*.c", *COMMANDS[command]) for f in TOOLS.glob(pattern))


def flags_for(machine: str) -> list[str]:
    """Static, for any Linux of such a machine. With the same flags the C library is compiled once."""
    return ["-target", f"{machine}-linux-musl", "-static", "-O2", "-s"]


def guest_tools() -> Path:
    """The folder that has the commands, for x86-64; built if it is missing."""
    flags = flags_for("x86_64")
    files = {command: sources(command) for command in COMMANDS}
    key = (FLAGS, flags, hash_files(TOOLS.glob("*.[ch]")), version("ziglang"))
    return cached("guest-tools", key, lambda out: compile_tools(out, files, flags))
