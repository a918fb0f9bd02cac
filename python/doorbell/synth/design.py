# SPDX-License-Identifier: Apache-2.0
"""A design as units: read once, cut into its modules, each mapped alone."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from doorbell import build, paths
from doorbell.errors import UserError
from doorbell.synth.netlist import Unit
from doorbell.synth.yosys import RECIPE, TARGETS, run_yosys, yosys_version


def elaborate(top: str, params: dict[str, int]) -> str:
    """The whole design as RTLIL, what is in rtl/common merged into its users."""
    if build.find_module(top) is None:
        raise UserError(f"there is no top {top} in rtl/")
    sources = build.rtl_sources(build.regs())
    cpu = paths.picorv32()
    ours = [f for f in sources.all_files() if f != cpu]
    settings = [f"{k}={v}" for k, v in sorted(params.items())]
    if "FW_HEX" in (build.find_module(top) or paths.ROOT).read_text():
        settings.insert(0, 'FW_HEX=""')
    read = ["--keep-hierarchy", "--blackboxed-module", "picorv32", "--top", top]
    read += [word for setting in settings for word in ("-G", setting)]
    read += [word for folder in build.include_folders() for word in ("-I", str(folder))]
    arguments = shlex.join([*read, *map(str, [*ours, cpu])])  # in a file: yosys hands slang no name with a space
    common = " ".join(f"{f.stem}*" for f in sorted((paths.RTL / "common").glob("*.sv")) if f not in sources.packages)
    # read_slang writes the localparams of a black box into its instances too; read_verilog would refuse them.
    fixed = " ".join(f"-unset {n}" for n in sorted(set(re.findall(r"localparam\b[^=;]*?(\w+)\s*=", cpu.read_text()))))
    script = [
        "read_slang -f arguments",
        "delete =picorv32",
        f"setparam {fixed} t:picorv32",
        f'read_verilog -defer "{cpu}"',
        f"hierarchy -top {top}",
        "proc",
        "chformal -remove",
        "setattr -mod -set keep_hierarchy 1 *",
        f"setattr -mod -unset keep_hierarchy {common}",
        "flatten",
        *("opt_hier", "opt_clean") * 3,
        f"hierarchy -top {top}",  # without modules whose instances were of no use
        "setattr -unset src -unset cell_src -unset module_src *",  # where they stand counts for nothing
        "setattr -mod -unset src *",
        "write_rtlil design.il",
    ]
    anywhere = [line.replace(str(paths.ROOT), "") for line in [arguments, *script]]
    key = (RECIPE, anywhere, build.hash_files([*ours, *sources.headers(), cpu]), yosys_version())

    def make(out: Path) -> None:
        (out / "arguments").write_text(arguments)
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
