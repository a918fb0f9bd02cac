# SPDX-License-Identifier: Apache-2.0
"""For registers whose RTL is written by hand: what it, Python and the reference need of their SystemRDL file.

`write(rdl, block, out)` makes
OUT/rtl/<block>_regs_pkg.sv   addresses, which words are readable, writable or external, fields as packed structs,
                              values after reset, names of values
OUT/json/<block>.json         the same for Python: doorbell.device.registers
OUT/md/<block>.md             the reference page; arrays stay arrays
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from systemrdl import RDLCompiler
from systemrdl.node import AddressableNode, AddrmapNode, FieldNode, RegfileNode, RegNode

WORD = 4
"""Bytes of a register: all have 32 bits."""


def elaborate(rdl: Path) -> AddrmapNode:
    """The address map of a SystemRDL file. Raises SystemExit where a register has another width."""
    compiler = RDLCompiler()
    compiler.compile_file(str(rdl))
    top = compiler.elaborate().top
    for node in top.descendants(unroll=False):
        if isinstance(node, RegNode) and node.get_property("regwidth") != 8 * WORD:
            raise SystemExit(f"{rdl.name}: {node.get_path()} has not {8 * WORD} bits")
    return top


def children(node: AddressableNode) -> Iterator[RegfileNode | RegNode]:
    for child in node.children(unroll=False):
        if not isinstance(child, RegfileNode | RegNode):
            raise SystemExit(f"{child.get_path()}: only registers and register files are known here")
        if child.is_array and len(child.array_dimensions) != 1:
            raise SystemExit(f"{child.get_path()}: an array of more than one dimension")
        yield child


def regfiles(node: AddressableNode) -> Iterator[RegfileNode]:
    """One of each type of register file, inner ones first."""
    seen: set[str] = set()
    for child in children(node):
        if isinstance(child, RegfileNode):
            for found in (*regfiles(child), child):
                if found.type_name not in seen:
                    seen.add(found.type_name)
                    yield found


def dims(node: AddressableNode) -> list[tuple[int, int]]:
    """Elements and stride of the node, if it is an array."""
    return [(node.array_dimensions[0], node.array_stride)] if node.is_array else []


def names_of(field: FieldNode) -> dict[int, tuple[str, str, str]]:
    """The field's named values: identifier, name, description."""
    encode = field.get_property("encode")
    if encode is None:
        return {}
    return {m.value: (m.name, m.rdl_name or m.name, m.rdl_desc or "") for m in encode}


# ---------------------------------------------------------------- SystemVerilog


def snake(name: str) -> str:
    """DataChunkStart: data_chunk_start."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def is_word(reg: RegNode) -> bool:
    """One field is all of it."""
    return [f.width for f in reg.fields()] == [8 * WORD]


def struct(reg: RegNode) -> list[str]:
    """The members of a packed struct, highest bits first; bits without a field are called reserved_<lowest bit>."""
    lines: list[str] = []
    end = 8 * WORD
    for field in [*sorted(reg.fields(), key=lambda f: -f.low), None]:
        high = field.high if field else -1
        if high + 1 < end:
            lines.append(f"logic [{end - high - 2}:0] reserved_{high + 1};")
        if field:
            lines.append(f"logic [{field.width - 1}:0] {snake(field.inst_name)};" if field.width > 1 else
                         f"logic {snake(field.inst_name)};")  # fmt: skip
            end = field.low
    return lines


def reset_value(reg: RegNode) -> int | None:
    """The register after reset, if all of its fields say what they are."""
    value = 0
    for field in reg.fields():
        if field.get_property("reset") is None:
            return None
        value |= field.get_property("reset") << field.low
    return value


def words(node: AddressableNode, wanted: Any, base: int = 0) -> int:
    """A bit a word: those of registers that are wanted."""
    mask = 0
    for child in children(node):
        for k in range(child.array_dimensions[0] if child.is_array else 1):
            at = base + child.raw_address_offset + (k * child.array_stride if child.is_array else 0)
            if isinstance(child, RegfileNode):
                mask |= words(child, wanted, at)
            elif wanted(child):
                mask |= 1 << at // WORD
    return mask


def package(top: AddrmapNode, name: str, source: str) -> str:
    lines = [
        f"// Made from regs/{source} by regs/register_map.py.",
        "// Addresses in bytes: of the address map's parts, and inside a part. A mask has a bit a word.",
        f"package {name};",
    ]

    def place(prefix: str, child: AddressableNode) -> str:
        """Where it is; for an array also how many and how far apart."""
        key = f"{prefix}{snake(child.inst_name).upper()}"
        lines.append(f"  localparam int unsigned {key}_ADDR = 'h{child.raw_address_offset:x};")
        for number, stride in dims(child):
            lines.append(f"  localparam int unsigned {key}_NUM = {number};")
            lines.append(f"  localparam int unsigned {key}_STRIDE = 'h{stride:x};")
        return key

    for child in children(top):
        place("", child)
    for part in regfiles(top):
        prefix = f"{snake(part.type_name).upper()}_"
        lines += ["", f"  // {part.get_property('name')}"]
        width = 1 << (part.size // WORD - 1).bit_length()  # so that no index of its address bits is beyond it
        for mask, wanted in (
            ("READABLE", lambda r: r.has_sw_readable), ("WRITABLE", lambda r: r.has_sw_writable),
            ("EXTERNAL", lambda r: r.external),
        ):  # fmt: skip
            lines.append(f"  localparam logic [{width - 1}:0] {prefix}{mask} = {width}'h{words(part, wanted):x};")
        for child in children(part):
            key = place(prefix, child)
            if isinstance(child, RegfileNode):
                continue
            if not is_word(child):
                lines += ["  typedef struct packed {", *(f"    {m}" for m in struct(child)), f"  }} {key.lower()}_t;"]
            if (value := reset_value(child)) is not None:
                kind = "logic [31:0]" if is_word(child) else f"{key.lower()}_t"
                lines.append(f"  localparam {kind} {key}_INIT = 32'h{value:x};")
            for field in child.fields():
                for value, (identifier, _, _) in names_of(field).items():
                    enum = f"{snake(field.inst_name)}_{identifier}".upper()
                    lines.append(f"  localparam logic [{field.width - 1}:0] {enum} = {field.width}'d{value};")
    return "\n".join([*lines, "", "endpackage", ""])


# ---------------------------------------------------------------- Python


def plain(top: AddrmapNode) -> dict[str, Any]:
    """All registers by path, with arrays' elements and strides from the outside in."""
    registers: dict[str, Any] = {}

    def visit(node: AddressableNode, path: str, at: int, outer: list[tuple[int, int]]) -> None:
        for child in children(node):
            name, offset, arrays = path + child.inst_name, at + child.raw_address_offset, outer + dims(child)
            if isinstance(child, RegfileNode):
                visit(child, name + ".", offset, arrays)
                continue
            registers[name] = {
                "offset": offset, "arrays": arrays,
                "fields": {
                    f.inst_name: {
                        "low": f.low, "width": f.width, "sw": f.get_property("sw").name,
                        "onwrite": (w := f.get_property("onwrite")) and w.name, "reset": f.get_property("reset"),
                        "names": {value: name for value, (_, name, _) in names_of(f).items()},
                    }
                    for f in child.fields()
                },
            }  # fmt: skip

    visit(top, "", 0, [])
    return {"block": top.inst_name, "bytes": top.size, "registers": registers}


# ---------------------------------------------------------------- the reference


def access(field: FieldNode) -> str:
    onwrite = field.get_property("onwrite")
    return field.get_property("sw").name + (f", {onwrite.name}" if onwrite else "")


def page(top: AddrmapNode) -> str:
    """Markdown: a table of the parts, and one of each type of part, a row a field."""

    def where(node: AddressableNode) -> str:
        return f"0x{node.raw_address_offset:03x}" + "".join(f" + 0x{stride:x} i" for _, stride in dims(node))

    def called(node: AddressableNode) -> str:
        return node.inst_name + "".join(f"[{number}]" for number, _ in dims(node))

    def text(words_: str | None) -> str:
        return " ".join((words_ or "").split())

    lines = [f"## {top.inst_name} address map", "", text(top.get_property("desc")), "",
             "|Offset|Identifier|Registers|", "|---|---|---|"]  # fmt: skip
    lines += [f"|{where(c)}|{called(c)}|{c.type_name}: {c.get_property('name')}|" for c in children(top)]
    for part in regfiles(top):
        lines += ["", f"### {part.type_name}", "", f"{text(part.get_property('name'))}.", ""]
        if part.get_property("desc"):
            lines += [text(part.get_property("desc")), ""]
        lines += ["|Offset|Register|Bits|Field|Access|Reset|What|", "|---|---|---|---|---|---|---|"]
        for child in children(part):
            if isinstance(child, RegfileNode):
                lines.append(f"|{where(child)}|{called(child)}|||||{child.type_name}: {child.get_property('name')}|")
                continue
            head = f"|{where(child)}|{called(child)}|"
            fields = list(child.fields())
            if not is_word(child):
                lines.append(f"{head}|||||{text(child.get_property('name'))}|")
                head = "|||"
            for f in fields:
                bits = f"{f.high}:{f.low}" if f.width > 1 else f"{f.low}"
                reset = "" if f.get_property("reset") is None else f"0x{f.get_property('reset'):x}"
                what = text(f.get_property("desc"))
                values = "; ".join(f"{v} {name}: {text(desc)}" for v, (_, name, desc) in names_of(f).items())
                what += f": {values}" if values else ""
                if is_word(child):
                    what = f"{text(child.get_property('name'))} ({what})"
                lines.append(f"{head}{bits}|{f.inst_name}|{access(f)}|{reset}|{what}|")
                head = "|||"
    return "\n".join(lines) + "\n"


def write(rdl: Path, block: str, out: Path) -> None:
    """All of these for one SystemRDL file."""
    top = elaborate(rdl)
    for folder in ("rtl", "json", "md"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    name = f"{block}_regs_pkg"
    (out / "rtl" / f"{name}.sv").write_text(package(top, name, rdl.name))
    (out / "json" / f"{block}.json").write_text(json.dumps(plain(top), indent=1) + "\n")
    (out / "md" / f"{block}.md").write_text(page(top))
