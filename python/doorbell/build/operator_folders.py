# SPDX-License-Identifier: Apache-2.0
"""Operators that bring themselves along: a folder each below rtl/compute/ops (docs/guide/add-an-operator.md).

Here is what their RTL and SystemRDL declare, and their models; operator_chain.py makes RTL of it.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

from doorbell import paths
from doorbell.errors import UserError

OPS = paths.RTL / "compute" / "ops"
CODES = range(6, 16)
PARAM_BYTES = 16
MAX_LATENCY = 256


@dataclass(frozen=True)
class Field:
    """A field of an operator's parameters: bits `low` to `low + width - 1` of the 16 bytes, little-endian."""

    name: str
    low: int
    width: int
    reset: int
    desc: str


@dataclass(frozen=True)
class Folder:
    """An operator. code: what a namespace is bound to. reduces: it has results. latency: cycles. file: its RTL."""

    name: str
    code: int
    reduces: bool
    latency: int
    file: Path

    @property
    def rdl(self) -> Path:
        return self.file.with_name(f"{self.name}.rdl")

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """Of its SystemRDL, from bit 0 up; none if it has no such file."""
        return read_fields(self.rdl) if self.rdl.exists() else ()

    @cached_property
    def model(self) -> ModuleType:
        """Its model.py."""
        file = self.file.with_name("model.py")
        if not file.exists():
            raise UserError(f"{shown(file.parent)}: there is no model.py (docs/guide/add-an-operator.md)")
        spec = importlib.util.spec_from_file_location(f"doorbell_operator_{self.name}", file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def pack(self, **values: int) -> bytes:
        """The 16 bytes that Bind takes; a field that is not named has its reset value."""
        known = {f.name: f for f in self.fields}
        word = sum(f.reset << f.low for f in self.fields if f.name not in values)
        for name, value in values.items():
            if name not in known:
                raise UserError(f"operator {self.name} has no parameter '{name}': use {', '.join(known) or 'none'}")
            if not 0 <= value < 1 << known[name].width:
                raise UserError(f"{self.name}:{name} is 0 to {(1 << known[name].width) - 1}, not {value}")
            word |= value << known[name].low
        return word.to_bytes(PARAM_BYTES, "little")

    def unpack(self, param: bytes) -> dict[str, int]:
        word = int.from_bytes(param, "little")
        return {f.name: word >> f.low & (1 << f.width) - 1 for f in self.fields}


def shown(file: Path) -> Path:
    """Its path as messages name it."""
    return file.relative_to(paths.ROOT) if file.is_relative_to(paths.ROOT) else file


def find() -> list[Folder]:
    """By code."""
    found: dict[int, Folder] = {}
    for folder in sorted(f for f in OPS.iterdir() if f.is_dir()):
        if not any(f.is_file() for f in folder.iterdir()):
            continue  # what Python left of one that is gone
        operator = read(folder)
        if operator.code in found:
            free = [code for code in CODES if code not in found]
            raise UserError(f"operators {found[operator.code].name} and {operator.name} have the same CODE, "
                            f"{operator.code}: choose one of {', '.join(map(str, free))}")  # fmt: skip
        found[operator.code] = operator
    return [found[code] for code in sorted(found)]


def read(folder: Path) -> Folder:
    """What a folder's RTL declares."""
    name, file = folder.name, folder / f"db_csd_op_{folder.name}.sv"
    where = shown(file)
    if not file.exists():
        raise UserError(f"{where.parent}: there is no {file.name}; folder, file and module have the operator's name")
    text = re.sub(r"//.*|(?s:/\*.*?\*/)", "", file.read_text())
    if not re.search(rf"\bmodule\s+{file.stem}\b", text):
        raise UserError(f"{where}: its module must be named {file.stem}")
    code = re.search(r"\bCODE\s*=\s*([\w']+)", text)
    number = re.fullmatch(r"4'd(\d+)", code[1]) if code else None
    if number is None or int(number[1]) not in CODES:
        raise UserError(f"{where}: CODE is {code[1] if code else 'missing'}; write 4'd6 to 4'd15")
    if not re.search(r"\bFORMAT_PRESERVING\s*=\s*1'b1", text):
        raise UserError(f"{where}: declare `parameter bit FORMAT_PRESERVING = 1'b1`: the path of db_csd takes only "
                        "operators that give one beat for each")  # fmt: skip
    latency = re.search(r"\bLATENCY\s*=\s*(\d+)", text)
    if latency is None or not 1 <= int(latency[1]) <= MAX_LATENCY:
        raise UserError(f"{where}: declare `parameter int LATENCY = N`, its cycles from beat in to beat out, "
                        f"1 to {MAX_LATENCY}")  # fmt: skip
    for other in folder.glob("*.rdl"):
        if other.stem != name:
            raise UserError(f"{where.parent}: there is {other.name} but no {name}.rdl: name it so")
    return Folder(name, int(number[1]), "m_res_valid" in text, int(latency[1]), file)


def by_name(name: str) -> Folder:
    every = {f.name: f for f in find()}
    if name not in every:
        raise UserError(f"there is no operator '{name}' below rtl/compute/ops: there is {', '.join(every) or 'none'}")
    return every[name]


def read_fields(rdl: Path) -> tuple[Field, ...]:
    """The parameters that a SystemRDL file describes: an addrmap of at most 16 bytes."""
    from peakrdl_regblock.identifier_filter import SV_KEYWORDS
    from systemrdl import RDLCompileError, RDLCompiler

    name, where = f"db_csd_op_{rdl.stem}", shown(rdl)
    compiler = RDLCompiler()
    try:
        compiler.compile_file(str(rdl))
        if name not in compiler.root.comp_defs:
            raise UserError(f"{where}: it needs an addrmap {name}")
        top = compiler.elaborate(top_def_name=name).top
    except RDLCompileError as e:  # what is wrong, and where, is on stderr already
        raise UserError(f"{where} cannot be read: mend what stands above") from e
    if top.size > PARAM_BYTES:
        raise UserError(f"{where}: {top.size} bytes of parameters; a command has room for {PARAM_BYTES}")
    fields: dict[str, Field] = {}
    for register in top.registers(unroll=True):
        for f in register.fields():
            if f.inst_name in fields:
                raise UserError(f"{where}: two fields are named {f.inst_name}; they are the operator's parameters, "
                                "whatever their register: rename one")  # fmt: skip
            if f.inst_name in SV_KEYWORDS:
                raise UserError(f"{where}: '{f.inst_name}' is a keyword of SystemVerilog: rename the field")
            fields[f.inst_name] = Field(
                f.inst_name, 8 * register.absolute_address + f.low, f.width, int(f.get_property("reset") or 0),
                str(f.get_property("desc") or ""))  # fmt: skip
    return tuple(sorted(fields.values(), key=lambda f: f.low))
