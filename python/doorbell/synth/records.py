# SPDX-License-Identifier: Apache-2.0
"""What was measured before: syn/area.json, the tables of docs/area.md, and by how much a module may grow."""

from __future__ import annotations

import json
import re
from typing import Any

from doorbell import paths
from doorbell.errors import UserError
from doorbell.synth.measuring import Result

TOLERANCE = 0.02

SLACK = {"lut": 8, "ff": 2, "bram": 0.0, "uram": 0, "dsp": 0}
"""By how much a module may grow before the check fails: the larger of a share and a number of cells."""

RECORDS = paths.ROOT / "syn" / "area.json"

DOCUMENT = paths.ROOT / "docs" / "area.md"


def record_key(top: str, target: str, params: dict[str, int]) -> str:
    return " ".join([top, target, *(f"{k}={v}" for k, v in sorted(params.items()))])


def read_records() -> dict[str, Any]:
    """syn/area.json: for each top, target and parameters what `Result.plain` gives; under "clocks" MHz of modules,
    under "placed" what `Placed.plain` gives of tops placed and routed as a whole."""
    if not RECORDS.exists():
        return {}
    result: dict[str, Any] = json.loads(RECORDS.read_text())
    return result


def write_records(records: dict[str, Any]) -> None:
    text = json.dumps(dict(sorted(records.items())), indent=1)
    # A module a line.
    text = re.sub(r"\{\n\s+(\"instances\"[^{}]*?)\n\s+\}", lambda m: "{" + re.sub(r"\s*\n\s*", " ", m[1]) + "}", text)
    RECORDS.parent.mkdir(exist_ok=True)
    paths.write_whole(RECORDS, text + "\n")


def growth(result: Result, recorded: dict[str, Any], depth: bool = True) -> list[str]:
    """What is larger than on record by more than the tolerance, a line each."""
    found = []
    for module in result.modules.values():
        old = recorded["modules"].get(module.name)
        if old is None:
            found.append(f"{module.name}: new, not on record")
            continue
        for what, slack in SLACK.items():
            now = getattr(module.own, what)
            if now > old[what] + max(slack, TOLERANCE * old[what]):
                found.append(f"{module.name}: {now:g} {what}, on record {old[what]:g}")
        if depth and module.levels > max(old["levels"], DEPTH_BUDGET):
            found.append(f"{module.name}: {module.levels} levels, on record {old['levels']}")
    return found


HEADS = ("LUT", "FF", "BRAM", "URAM", "DSP", "levels")


def rows(plain: dict[str, Any]) -> list[tuple[str, ...]]:
    """The table of one record: a module a line, the largest first, then the sums."""
    modules = sorted(plain["modules"].items(), key=lambda m: (-m[1]["lut"], m[0]))
    lines = [(name, str(m["instances"]), *figures(m)) for name, m in modules]
    lines.append(("all", "", *figures(plain["total"])))
    if plain["total"] != plain["without_cpu"]:
        lines.append(("without the processor and its memory", "", *figures(plain["without_cpu"])))
    return lines


def figures(m: dict[str, Any]) -> tuple[str, ...]:
    return (f"{m['lut']:,}", f"{m['ff']:,}", f"{m['bram']:g}", str(m["uram"]), str(m["dsp"]), str(m["levels"]))


def path_line(p: dict[str, Any]) -> str:
    via = [m for i, m in enumerate(p["through"]) if i == 0 or m != p["through"][i - 1]]
    return f"{p['levels']} levels: {p['start']} to {p['end']}, through {', '.join(dict.fromkeys(via))}"


def placed_lines(p: dict[str, Any]) -> list[str]:
    """A top placed and routed, for people."""
    used = ", ".join(f"{now:,} of {there:,} {what}" for what, (now, there) in p["used"].items())
    mine = p["wrapper"]
    lines = [
        f"{p['mhz']:g} MHz on {p['device']} as a whole",
        f"{used}; of these the wrapper at most {mine['lut']:,} LUT and {mine['ff']:,} FF",
    ]
    return lines + [slow_line(path) for path in p["paths"]]


def slow_line(p: dict[str, Any], quote: str = "") -> str:
    def q(text: str) -> str:
        return f"{quote}{text}{quote}"

    return (
        f"{p['ns']:g} ns, {p['logic_ns']:g} logic and {p['routing_ns']:g} routing, {p['levels']} levels: "
        f"{q(p['start'])} ({q(p['start_module'])}) to {q(p['end'])} ({q(p['end_module'])}), through "
        + ", ".join(q(m) for m in dict.fromkeys(p["through"]))
    )


PLACED_HEADS = ["MHz", "ns", "of it routing", "levels", "LUT", "FF", "EBR"]


def placed_tables(placed: dict[str, Any]) -> list[str]:
    text = ["", "### Clock on ECP5, whole top", ""]
    text += ["| top | " + " | ".join(PLACED_HEADS) + " |", "|---|" + "---:|" * len(PLACED_HEADS)]
    for key, p in placed.items():
        slow = p["paths"][0]
        path = [f"{p['mhz']:g}", f"{slow['ns']:g}", f"{slow['routing_ns']:g}", str(slow["levels"])]
        text.append(f"| {key} | " + " | ".join([*path, *(f"{n:,}" for n, _ in p["used"].values())]) + " |")
    for key, p in placed.items():
        text += ["", f"`{command_line(key)} --clock {key.split()[0]}` on {p['device']}:", ""]
        text += [f"- {slow_line(path, '`')}" for path in p["paths"]]
    return text


def markdown_tables(records: dict[str, Any]) -> str:
    """The part of docs/area.md that the command makes."""
    keys = sorted(k for k in records if k not in ("clocks", "placed"))
    text = ["### Sums", "", "| top and target | LUT | FF | BRAM | URAM | DSP | levels |", "|---|" + "---:|" * 6]
    for key in keys:
        text.append(f"| {key} | " + " | ".join(figures(records[key]["total"])) + " |")
        if records[key]["total"] != records[key]["without_cpu"]:
            text.append("| ... without the processor | " + " | ".join(figures(records[key]["without_cpu"])) + " |")
    if clocks := records.get("clocks"):
        text += ["", "### Clock on ECP5, module alone", "", "| top and module | MHz |", "|---|---:|"]
        text += [f"| {k} | {v:g} |" for k, v in clocks.items()]
    if placed := records.get("placed"):
        text += placed_tables(placed)
    for key in keys:
        text += ["", f"### {key}", "", f"`{command_line(key)}`", ""]
        text.append("| module | instances | " + " | ".join(HEADS) + " |")
        text.append("|---|" + "---:|" * 7)
        text += ["| " + " | ".join([f"`{r[0]}`" if r[0].startswith("db_") else r[0], *r[1:]]) + " |"
                 for r in rows(records[key])]  # fmt: skip
        over = [p for p in records[key]["paths"] if p["levels"] > DEPTH_BUDGET]
        if over:
            text += ["", f"Longest paths (budget {DEPTH_BUDGET}):", ""]
            text += [
                f"- {p['levels']} levels: `{p['start']}` to `{p['end']}`, through "
                + ", ".join(f"`{m}`" for m in dict.fromkeys(p["through"]))
                for p in over
            ]
    return "\n".join(text) + "\n"


def command_line(key: str) -> str:
    top, target, *params = key.split()
    words = [f"--data-w {p[7:]}" if p.startswith("DATA_W=") else f"--param {p}" for p in params]
    return " ".join(["./doorbell synth --top", top, "--target", target, *words])


BEGIN, END = "<!-- made by ./doorbell synth --record: begin -->", "<!-- end -->"


def write_document(records: dict[str, Any]) -> None:
    """Put the tables into docs/area.md, between the marks."""
    text = DOCUMENT.read_text() if DOCUMENT.exists() else f"# Area and depth\n\n{BEGIN}\n{END}\n"
    if BEGIN not in text or END not in text:
        raise UserError(f"{DOCUMENT.name} has lost the marks between which the tables go: {BEGIN} and {END}")
    before, after = text.split(BEGIN)[0], text.split(END)[-1]
    paths.write_whole(DOCUMENT, f"{before}{BEGIN}\n{markdown_tables(records)}{END}{after}")


DEPTH_BUDGET = 8

LIMITS = {"lut": 20_000, "ff": 25_000, "bram": 60.0}
"""Targets of db_ssd at 256 bit, 32 queue pairs, 128 commands, without the processor."""
