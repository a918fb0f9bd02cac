# SPDX-License-Identifier: Apache-2.0
"""What can be fuzzed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from doorbell import paths
from doorbell.errors import UserError

SOURCES = paths.ROOT / "fuzz"
CORPUS = SOURCES / "corpus"


@dataclass(frozen=True)
class Target:
    """source: its C source in fuzz/firmware, around the firmware for so many functions, with extents or not; "": it is
    Python, `module` of this package. longest: bytes of an input. slow_s: an input that takes longer has hung it.
    options: of libFuzzer, its own.
    """

    name: str
    what: str
    source: str = ""
    functions: int = 1
    extents: bool = False
    module: str = ""
    longest: int = 600
    slow_s: int = 20
    options: tuple[str, ...] = ()

    @property
    def corpus(self) -> Path:
        """Inputs that are kept: what reached something new, and each failure that was mended."""
        return CORPUS / self.name


TARGETS = {
    t.name: t
    for t in (
        Target("admin", "admin commands, registers and resets, against the firmware of one function", "commands"),
        Target(
            "functions", "the same of 17 functions, with reservations and places on SSDs", "commands", 17, extents=True
        ),
        Target("settings", "the settings area at power-on, then admin commands", "settings", longest=1500),
        Target(
            "settings-functions", "the same of 17 functions with places on SSDs", "settings", 17, True, longest=1500
        ),
        Target("vfio", "messages of a client, against the vfio-user server with a drive behind it", module="messages"),
        Target(
            "rtl",
            "commands, queues, resets and faults, against the whole RTL of db_csd",
            module="rtl",
            longest=800,
            slow_s=900,
            options=("-len_control=0",),  # inputs are slow here: not first all those of a byte
        ),
        Target("files", "job files, traces, sweeps, scripts of a soak", module="files"),
    )
}


def target(name: str) -> Target:
    """Raises UserError if there is none of this name."""
    if name not in TARGETS:
        raise UserError(f"there is no fuzz target {name}: take one of {', '.join(TARGETS)}")
    return TARGETS[name]
