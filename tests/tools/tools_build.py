# SPDX-License-Identifier: Apache-2.0
"""The commands of tools/ for tests: with the drive of fake_device.c in place of Linux', or as a guest has them."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from doorbell.build.cache import cached, hash_files
from doorbell.build.guest_tools import COMMANDS, FLAGS, TOOLS, compile_tools, guest_tools, sources

FAKE = Path(__file__).with_name("fake_device.c")


def tools(fake: bool) -> Path:
    """The folder that has the commands. Those with a fake drive stop at undefined behaviour."""
    if not fake:
        return guest_tools()
    flags = ["-target", f"{platform.machine()}-linux-musl", "-static", "-O1"]
    flags += ["-fsanitize=undefined", "-fsanitize-trap=undefined"]
    files = {
        c: {f for f in sources(c) if f.name != "near_linux.c"} | {FAKE, TOOLS / "digest.c", TOOLS / "aes.c"}
        for c in COMMANDS
    }
    key = (FLAGS, flags, hash_files([FAKE, *TOOLS.glob("*.[ch]")]), version("ziglang"))
    return cached("tools-fake", key, lambda out: compile_tools(out, {c: sorted(f) for c, f in files.items()}, flags))
