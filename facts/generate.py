# SPDX-License-Identifier: Apache-2.0
"""Makes the constants of every language from facts/*.yaml: `python facts/generate.py [--check]`.

It writes the files and the parts of files that TARGETS names; they are kept in the repository, so that whoever reads or
synthesises it needs no generator. --check (lint) writes nothing and exits with 1 if a file is not as it would be.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
LICENCE = "SPDX-License-Identifier: Apache-2.0"
MADE = "Made by facts/generate.py from facts/{}.yaml: change it there."


@dataclass
class Value:
    """A constant. note: the comment behind it in the YAML file; title: a comment line before it."""

    name: str
    number: int
    text: str
    note: str = ""
    title: str = ""


@dataclass
class Enum:
    """An enumeration. prefix: of its constants but in Python; sv: SystemVerilog has it too, with `width` bits."""

    name: str
    prefix: str
    width: int
    doc: str = ""
    sv: bool = False
    sv_prefix: str = ""
    sv_enum: str = ""
    values: list[Value] = field(default_factory=list)


@dataclass
class Facts:
    source: str
    enums: list[Enum]
    constants: list[Value]

    def enum(self, name: str) -> Enum:
        return next(e for e in self.enums if e.name == name)


# ---------------------------------------------------------------- reading


def values(node: yaml.MappingNode, lines: list[str]) -> list[Value]:
    """The entries of a mapping, with the comments that stand behind and before them."""
    result = []
    for key, value in node.value:
        behind = re.search(r"#\s*(.*)$", lines[key.start_mark.line])
        before = re.match(r"\s*#\s*(.*)$", lines[key.start_mark.line - 1])
        title = before[1] if before and result else ""
        result.append(Value(key.value, int(value.value, 0), value.value, behind[1] if behind else "", title))
    return result


def read(name: str) -> Facts:
    """facts/<name>.yaml. A name or number that stands twice in an enumeration is an error."""
    text = (HERE / f"{name}.yaml").read_text()
    lines = text.splitlines()
    root = yaml.compose(text)
    parts = {key.value: value for key, value in root.value}
    enums = []
    for key, node in parts["enums"].value:
        settings: dict[str, Any] = {}
        for k, v in node.value:
            settings[k.value] = values(v, lines) if k.value == "values" else yaml.safe_load(v.value) if k.value in (
                "width", "sv") else v.value  # fmt: skip
        enum = Enum(key.value, **settings)
        for what in ([v.name for v in enum.values], [v.number for v in enum.values]):
            if len(set(what)) != len(what):
                raise SystemExit(f"facts/{name}.yaml: {enum.name} has a name or number twice")
        enums.append(enum)
    return Facts(name, enums, values(parts["constants"], lines))


# ---------------------------------------------------------------- writing


def sv_number(value: int, width: int) -> str:
    return f"{width}'d{value}" if width <= 4 else f"{width}'h{value:0{(width + 3) // 4}x}"


def sv_enum(enum: Enum) -> Iterator[str]:
    """An enumeration as localparams; statuses lose their type (SC_* are 8 bits, SCT_* stand beside)."""
    prefix, width = enum.sv_prefix or enum.prefix, 8 if enum.sv_prefix == "SC" else enum.width
    if enum.doc:
        yield f"  // {enum.doc}"
    for v in enum.values:
        note = f"  // {v.note}" if v.note else ""
        number = sv_number(v.number % (1 << width), width)
        yield f"  localparam logic [{width - 1}:0] {prefix}_{v.name} = {number};{note}"


def sv_nvme(facts: Facts) -> str:
    lines = ["  localparam logic [31:0] NSID_ALL = 32'hffff_ffff;"]
    for enum in facts.enums:
        if enum.sv:
            lines += ["", *sv_enum(enum)]
    return "\n".join(lines)


def sv_constants(facts: Facts) -> str:
    return "\n".join(
        f"  localparam logic [15:0] {v.name} = 16'h{v.number:04x};{'  // ' + v.note if v.note else ''}"
        for v in facts.constants if v.name.startswith(("BAR_", "DSM_", "FROM_", "MEDIA_FLUSH_", "STORE_"))
    )  # fmt: skip


def sv_op(facts: Facts) -> str:
    enum = facts.enum("Op")
    most = max(len(v.name) for v in enum.values)
    lines = [f"  // {enum.doc}", f"  typedef enum logic [{enum.width - 1}:0] {{"]
    for v in enum.values:
        end = "," if v is not enum.values[-1] else ""
        note = f"  // {v.note}" if v.note else ""
        lines.append(f"    {enum.prefix}_{v.name.ljust(most)} = {enum.width}'d{v.number}{end}{note}")
    return "\n".join([*lines, f"  }} {enum.sv_enum};"])


def sv_vendor(facts: Facts) -> str:
    return "\n".join([*sv_enum(facts.enum("VendorIoOpc")), *sv_enum(facts.enum("VendorStatus"))])


def sv_near(facts: Facts) -> str:
    constants = (f"  localparam int {v.name} = {v.number};{'  // ' + v.note if v.note else ''}"
                 for v in facts.constants if v.name.startswith("NEAR_"))  # fmt: skip
    return "\n".join([*sv_enum(facts.enum("NearOperator")), *sv_enum(facts.enum("SlotError")), *constants])


def c_header(facts: Facts) -> str:
    """Plain enumerations, for C and C++; what does not fit into an int is a macro."""
    guard = f"{facts.source.upper()}_FACTS_H"
    lines = [f"// {LICENCE}", f"// {MADE.format(facts.source)}", f"#ifndef {guard}", f"#define {guard}"]
    for enum in facts.enums:
        lines += ["", *([f"// {enum.doc}"] if enum.doc else []), "enum {"]
        for v in enum.values:
            lines += [f"    // {v.title}"] if v.title else []
            lines.append(f"    {enum.prefix}_{v.name} = {v.text}," + (f"  // {v.note}" if v.note else ""))
        lines.append("};")
    lines.append("")
    for v in facts.constants:
        lines += ["", f"// {v.title}"] if v.title else []
        lines.append(f"#define {v.name} {v.text}u" + (f"  // {v.note}" if v.note else ""))
    return "\n".join([*lines, "", "#endif", ""])


def python(facts: Facts, doc: str) -> str:
    lines = [f"# {LICENCE}", f'"""{doc}', "", f"{MADE.format(facts.source)}", '"""', "", "from enum import IntEnum", ""]
    for enum in facts.enums:
        lines += ["", f"class {enum.name}(IntEnum):"] + ([f'    """{enum.doc}"""', ""] if enum.doc else [])
        for v in enum.values:
            lines += [f"    # {v.title}"] if v.title else []
            text = f"0x{v.text[2:].upper()}" if v.text.startswith("0x") else v.text
            lines.append(f"    {v.name} = {text}" + (f"  # {v.note}" if v.note else ""))
        lines.append("")
    lines.append("")
    for v in facts.constants:
        lines += ["", f"# {v.title}"] if v.title else []
        text = f"0x{v.text[2:].upper()}" if v.text.startswith("0x") else v.text
        lines.append(f"{v.name} = {text}" + (f"  # {v.note}" if v.note else ""))
    return "\n".join(lines).replace("\n\n\n\n", "\n\n\n") + "\n"


BEGIN = "  // ---- made by facts/generate.py from facts/{}.yaml: change it there"
END = "  // ---- end of what is made"

TARGETS: dict[str, tuple[str, Callable[[Facts], str], bool]] = {
    "rtl/nvme/db_nvme_pkg.sv": ("nvme", sv_nvme, True),
    "rtl/ssd/db_ssd_pkg.sv": ("doorbell", sv_constants, True),
    "rtl/compute/db_csd_pkg.sv": ("doorbell", sv_op, True),
    "rtl/ssd/db_ssd_op_pkg.sv": ("doorbell", sv_vendor, True),
    "rtl/compute/near/db_csd_near_pkg.sv": ("doorbell", sv_near, True),
    "facts/c/nvme_facts.h": ("nvme", c_header, False),
    "facts/c/doorbell_facts.h": ("doorbell", c_header, False),
    "python/doorbell/nvme/constants.py": (
        "nvme", lambda f: python(f, "Constants of the NVMe Base Specification 2.0 and NVM Command Set 1.0."), False),
    "python/doorbell/nvme/vendor.py": (
        "doorbell", lambda f: python(f, "What Doorbell fixes: BAR 0, vendor commands, codes of operators."), False),
}  # fmt: skip
"""File: facts it is made of, how, and whether only the part between BEGIN and END is."""


def wanted(file: str) -> str:
    """What `file` should hold."""
    name, make, part = TARGETS[file]
    facts = read(name)
    if not part:
        return make(facts)
    text = (ROOT / file).read_text()
    begin = BEGIN.format(name)
    if text.count(begin) != 1 or text.count(END) != 1:
        raise SystemExit(f"{file}: the lines '{begin.strip()}' and '{END.strip()}' must stand in it once")
    before, after = text.split(begin)[0], text.split(END)[1]
    return f"{before}{begin}\n{make(facts)}\n{END}{after}"


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        raise SystemExit("usage: generate.py [--check]")
    stale = [f for f in TARGETS if not (ROOT / f).exists() or (ROOT / f).read_text() != wanted(f)]
    if arguments:
        for file in stale:
            print(f"{file} is not what facts/*.yaml say: run ./doorbell python facts/generate.py")
        return 1 if stale else 0
    for file in stale:
        text = wanted(file)
        (ROOT / file).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / file).write_text(text)
        print(file)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
