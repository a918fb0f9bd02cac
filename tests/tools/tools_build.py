# SPDX-License-Identifier: Apache-2.0
"""The commands of tools/ for tests: with the drive of fake_device.c in place of Linux', or as a guest has them."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

from doorbell.build.cache import cached, hash_files
from doorbell.build.guest_tools import COMMANDS, FLAGS, TOOLS, compile_tools, flags_for, guest_tools, sources

FAKE = [Path(__file__).with_name(name) for name in ("fake_device.c", "fake_operators.c", "fake_operators.h")]


def tools(fake: bool) -> Path:
    """The folder that has the commands. Those with a fake drive stop at undefined behaviour."""
    if not fake:
        return guest_tools()
    flags = [*flags_for(platform.machine()), "-fsanitize=undefined", "-fsanitize-trap=undefined"]
    files = {c: on_a_fake_drive(c) for c in COMMANDS}
    key = (FLAGS, flags, hash_files([*FAKE, *TOOLS.glob("*.[ch]")]), version("ziglang"))
    return cached("tools-fake", key, lambda out: compile_tools(out, files, flags))


def on_a_fake_drive(command: str) -> list[Path]:
    """The sources of a command, with a fake drive."""
    fake = {f for f in FAKE if f.suffix == ".c"}
    return sorted(
        {f for f in sources(command) if f.name != "near_linux.c"} | fake | {TOOLS / "digest.c", TOOLS / "aes.c"}
    )


def compile_for_races(out: Path, files: dict[str, list[Path]]) -> None:
    """Commands under ThreadSanitizer, of this machine's gcc: a race ends one with status 66."""
    for command, those in files.items():
        line = [
            "gcc",
            "-O1",
            "-g1",
            "-fsanitize=thread",
            "-pthread",
            "-std=c11",
            f"-I{TOOLS}",
            "-o",
            str(out / command),
        ]
        subprocess.run([*line, *map(str, those)], check=True, capture_output=True)


def tools_for_races() -> Path:
    """The folder that has the commands, with a fake drive and ThreadSanitizer."""
    gcc = subprocess.run(["gcc", "-v"], check=True, capture_output=True).stderr
    key = (gcc, hash_files([*FAKE, *TOOLS.glob("*.[ch]")]), Path(__file__).read_text())
    return cached("tools-races", key, lambda out: compile_for_races(out, {c: on_a_fake_drive(c) for c in COMMANDS}))
