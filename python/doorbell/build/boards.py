# SPDX-License-Identifier: Apache-2.0
"""The board projects of boards/: which there are, and which RTL they add to that of rtl/."""

from __future__ import annotations

from pathlib import Path

from doorbell import paths

FOLDER = paths.ROOT / "boards"
BOARDS = {"vcu118": "db_vcu118", "u50": "db_u50"}
"""Folder of a board, and the module that is its top."""
TOPS = tuple(BOARDS.values())
CONTROLLER = "db_ssd"
"""The top of rtl/ that is on them."""
WAIVERS = FOLDER / "stubs" / "lint.vlt"


def shared() -> list[Path]:
    """What all boards have between the PCIe block, the controller and the memory."""
    return sorted((FOLDER / "rtl").glob("*.sv"))


def headers() -> list[Path]:
    return sorted((FOLDER / "rtl").glob("*.svh"))


def top_of(board: str) -> Path:
    return FOLDER / board / f"{BOARDS[board]}.sv"


def stubs() -> list[Path]:
    """Ports of the vendor's blocks, for checks."""
    return sorted((FOLDER / "stubs").glob("*.sv"))


def stub_headers() -> list[Path]:
    return sorted((FOLDER / "stubs").glob("*.svh"))


def sources(top: str) -> list[Path]:
    """What elaborates the top of a board beside rtl/; nothing if it is none."""
    found = [top_of(board) for board, module in BOARDS.items() if module == top]
    return [*shared(), *stubs(), *found] if found else []


def include_folders() -> list[Path]:
    return [FOLDER / "rtl", FOLDER / "stubs"]


def verilator_args(top: str) -> list[str]:
    """Beside those of rtl/."""
    files = sources(top)
    if not files:
        return []
    return [str(WAIVERS), *(f"+incdir+{folder}" for folder in include_folders()), *map(str, files)]
