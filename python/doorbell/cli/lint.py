# SPDX-License-Identifier: Apache-2.0
"""`doorbell lint`: Verilator, slang and Verible on the RTL, layers and format of C and C++, Ruff and import-linter on
the Python.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from doorbell import build, paths
from doorbell.build import boards
from doorbell.errors import UserError

TOPS: dict[str, list[dict[str, int]]] = {
    "db_ssd": [
        {"DATA_W": 128},
        {"DATA_W": 256, "UNCORRECTABLE": 1, "READ_BUF_BYTES": 524288},
        {"DATA_W": 512},
        {"DATA_W": 256, "NUM_FN": 17, "NUM_QP": 168, "NUM_NS": 20},
    ],
    "db_host": [{"DATA_W": 128}, {"DATA_W": 256, "NUM_QP": 4}, {"DATA_W": 512, "NUM_QP": 2, "NUM_CMDS": 256}],
    "db_recorder": [
        {"N_DRIVES": 2, "STREAM_W": 256, "DATA_W": 128},
        {"N_DRIVES": 3, "STREAM_W": 512, "BUFFER_LOG2": 20},
    ],  # fmt: skip
    "db_vcsd": [
        {"DATA_W": 256},
        {"DATA_W": 512, "NUM_SSD": 4, "STRIPE": 1, "NEAR": 1, "SGL": 1, "CMB_LOG2": 16, "SLM": 1},
        {"DATA_W": 512, "CQ_CC_STRADDLE": 1},
        {"DATA_W": 128, "NUM_SSD": 1},
    ],
    "db_csd": [
        {"DATA_W": 256},
        {"DATA_W": 256, "NUM_FN": 17, "NUM_QP": 168, "NUM_NS": 20, "NEAR": 1, "NEAR_CELLS": 32},
        {"DATA_W": 512, "NUM_NS": 4, "NEAR": 1},
        {"DATA_W": 256, "NUM_NS": 1, "NEAR": 1, "SGL": 1, "CMB_LOG2": 12, "SLM": 1},
        {"DATA_W": 128, "SHA_CORES": 0, "CRC32C": 0},
    ],
    "db_axi_fifo": [
        {"DATA_W": 128},
        {"DATA_W": 256, "BYPASS": 0, "BLOCK_BYTES": 0},
        {"DATA_W": 1024, "FAST": 1, "ADDR_W": 64},
    ],  # fmt: skip
    "db_csd_front": [{"DATA_W": 128}, {"DATA_W": 512}],
    "db_csd_pass": [{"DATA_W": 256}],
    "db_csd_add": [{"DATA_W": 256}],
    "db_csd_keys": [{"KEY_SLOTS": 16}],
    "db_csd_control": [{"KEY_SLOTS": 16}],
    "db_csd_aes": [
        {"DATA_W": 256, "DIR": 1},
        {"DATA_W": 512, "DIR": 0, "SPLIT": 1},
        {"DATA_W": 128, "DIR": 0, "CTR": 0},
        {"DATA_W": 128, "DIR": 0, "XTS": 0},
    ],  # fmt: skip
    "db_csd_crc32c": [{"DATA_W": 128}, {"DATA_W": 512}],
    "db_csd_sha256": [{"DATA_W": 128, "CORES": 1}, {"DATA_W": 512, "CORES": 4}],
}
"""Every top, and the parameters it is checked with."""

SLANG = ("db_ssd", "db_csd", "db_vcsd", "db_host", "db_recorder", *boards.TOPS)
"""What yosys has to read, which is stricter; and the boards, as Vivado is."""


FORMATTED = ("sim", "fw", "tools")
"""Folders whose C and C++ is held to .clang-format."""


def formatted() -> list[Path]:
    """The sources in them."""
    found = [f for folder in FORMATTED for f in (paths.ROOT / folder).rglob("*")]
    return sorted(f for f in found if f.suffix in (".c", ".cpp", ".h"))


def own_rtl() -> list[Path]:
    """All SystemVerilog that is ours; a list of ports (*_ports.svh) is none by itself."""
    tests = (paths.ROOT / "tests").rglob("*.sv")
    rtl = [f for f in paths.RTL.rglob("*.sv*") if not f.name.endswith("_ports.svh")]
    own_boards = [*boards.shared(), *map(boards.top_of, boards.BOARDS)]
    return sorted([*rtl, *tests, *own_boards, *paths.ROOT.glob("formal/**/*.sv")])


def verilator_command(top: str, params: dict[str, int]) -> list[str]:
    """Verilator's lint of one top with all warnings; whatever is waived is in rtl/lint.vlt."""
    sources = build.rtl_sources(build.regs())
    return [
        *build.verilator(), "--lint-only", "-Wall", "--no-timing", "-sv", str(paths.RTL / "lint.vlt"),
        *sources.verilator_args(), *boards.verilator_args(top), "--top-module", top,
        *(f"-G{k}={v}" for k, v in params.items()), *map(str, sources.files_of(top)),
    ]  # fmt: skip


def imports_command() -> list[str]:
    """The layers of this package (python/doorbell/README.md), as pyproject.toml has them for import-linter."""
    return ["lint-imports", "--no-cache", "--no-logo", "--config", str(paths.ROOT / "pyproject.toml")]


def steps() -> list[tuple[str, Callable[[], list[str]]]]:
    """What there is to run: a name, and a function that gives the command."""
    result: list[tuple[str, Callable[[], list[str]]]] = []
    for top, settings in TOPS.items():
        if build.find_module(top) is None:
            continue
        for params in settings:
            name = f"verilator {top} " + " ".join(f"{k}={v}" for k, v in params.items())
            result.append((name, lambda top=top, params=params: verilator_command(top, params)))
    for top in boards.TOPS:
        result.append((f"verilator {top}", lambda top=top: verilator_command(top, {})))
    for top in SLANG:
        result.append((f"slang {top}", lambda top=top: [sys.executable, "-P", "-m", "doorbell.build.slang", top]))
    if files := own_rtl():
        rules = f"--rules_config={paths.ROOT / '.rules.verible_lint'}"
        result.append((f"verible ({len(files)} files)", lambda: ["verible-verilog-lint", rules, *map(str, files)]))
    result.append(("hierarchy", lambda: [sys.executable, "-P", "-m", "doorbell.cli.lint_rtl"]))
    result.append(("facts", lambda: [sys.executable, str(paths.ROOT / "facts" / "generate.py"), "--check"]))
    result.append(("firmware", lambda: [sys.executable, "-P", "-m", "doorbell.cli.lint_firmware"]))
    result.append(("simulator", lambda: [sys.executable, "-P", "-m", "doorbell.cli.lint_layers"]))
    if sources := formatted():
        result.append((f"clang-format ({len(sources)} files)", lambda: [
            "clang-format", "--dry-run", "--Werror", *map(str, sources)]))  # fmt: skip
    result.append(("imports", imports_command))
    result.append(("ruff format", lambda: ["ruff", "format", "--check", "--quiet", str(paths.ROOT)]))
    result.append(("ruff", lambda: ["ruff", "check", "--quiet", "--output-format=concise", str(paths.ROOT)]))
    return result


def run(step: tuple[str, Callable[[], list[str]]]) -> tuple[str, int, str, float]:
    """Name, exit status, output and seconds of a step."""
    name, command = step
    start = time.monotonic()
    done = subprocess.run(
        command(), cwd=paths.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return name, done.returncode, done.stdout, time.monotonic() - start


def lint(out: Callable[[str], None] = print) -> list[str]:
    """Run every step, as many at once as there are cores; a line each, in their order, and the tool's own output where
    it found something. Names of the failed steps.
    """
    paths.put_tools_on_path()
    build.regs()  # what the steps share
    failed = []
    with ThreadPoolExecutor(build.jobs()) as pool:
        for name, status, said, seconds in pool.map(run, steps()):
            if status:
                failed.append(name)
                out(said.rstrip().replace(f"{paths.ROOT}/", ""))
            out(f"lint: {'FAIL' if status else 'ok  '} {name} ({seconds:.1f} s)")
            sys.stdout.flush()
    return failed


def main() -> None:
    """Check RTL and Python with Verilator, slang, Verible and Ruff; any warning is a failure."""
    if failed := lint():
        raise UserError(f"lint failed: {', '.join(failed)}", status=1)
