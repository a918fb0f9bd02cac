# SPDX-License-Identifier: Apache-2.0
"""Packed structs of the RTL's packages as Python sees them: `layout("db_ssd_pkg", "cmd_t")` knows every field's place.

The layout comes from the packages themselves (elaborated by pyslang), so no test counts bits, and a field that moves,
grows or gets another name is seen here at once:

    CMD = layout("db_ssd_pkg", "cmd_t")
    dut.s_cmd.value = CMD.pack(desc={"to_host": 1}, bytes=4096)   # what is not named is 0
    got = CMD.unpack(int(dut.m_cmd.value))                               # {"fn": 0, "slot": 3, ...}
    CMD.width; CMD["prp1"].offset; CMD["prp1"].width                     # bits

Nested structs are given as dicts (or as the plain number), packed arrays of structs as lists (element 0 is the lowest).
Enumerations are given by name or number and come back as numbers; `enum("db_ssd_pkg", "media_op_e")` has their names.
`constant("db_pcie_block_pkg", "POST_DWORDS")` is a localparam,
`macro("axi/db_axi_types.svh", "`DB_AXI_READ_REQ_T(40)")` a struct whose widths a module gives.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyslang
from doorbell import build, paths

Value = int | str | Mapping[str, Any] | Sequence[Any]


@dataclass(frozen=True)
class Field:
    """A field of a struct. offset, width: bits; members: of a struct (or of each element of an array of them)."""

    name: str
    offset: int
    width: int
    members: Layout | None = None
    count: int = 0  # elements of an array of structs; 0: not one
    names: Mapping[str, int] | None = None  # of an enumeration

    def encode(self, value: Value) -> int:
        """The field's bits as a number; raises ValueError if the value does not fit."""
        if type(value) is int and 0 <= value < 1 << self.width:  # what nearly all are
            return value
        if isinstance(value, str):
            if self.names is None or value not in self.names:
                raise ValueError(f"{self.name}: there is no {value!r} in {sorted(self.names or ())}")
            value = self.names[value]
        elif self.members and self.count and isinstance(value, Sequence):
            if len(value) > self.count:
                raise ValueError(f"{self.name}: {len(value)} elements, there is room for {self.count}")
            value = sum(self.members.number(v) << (i * self.members.width) for i, v in enumerate(value))
        elif self.members and isinstance(value, Mapping):
            value = self.members.pack(value)
        number = int(value)  # type: ignore[arg-type]
        if not 0 <= number < 1 << self.width:
            raise ValueError(f"{self.name}: {number:#x} does not fit into {self.width} bits")
        return number

    def decode(self, number: int) -> Any:
        number = (number >> self.offset) & ((1 << self.width) - 1)
        if not self.members:
            return number
        if not self.count:
            return self.members.unpack(number)
        return [self.members.unpack(number >> (i * self.members.width)) for i in range(self.count)]


@dataclass(frozen=True)
class Layout:
    """A packed struct: its fields by name, first declared (most significant) first."""

    name: str
    width: int
    fields: Mapping[str, Field]

    def __getitem__(self, name: str) -> Field:
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def number(self, value: Value) -> int:
        return self.pack(value) if isinstance(value, Mapping) else int(value)  # type: ignore[arg-type]

    def pack(self, values: Mapping[str, Value] | None = None, /, **named: Value) -> int:
        """The struct as a number; fields that are not named are 0. Raises KeyError on a name that it does not have."""
        number = 0
        for name, value in {**(values or {}), **named}.items():
            field = self.fields.get(name)
            if field is None:
                raise KeyError(f"{self.name} has no field {name!r}; it has {', '.join(self.fields)}")
            number |= field.encode(value) << field.offset
        return number

    def unpack(self, number: int) -> dict[str, Any]:
        return {name: field.decode(number) for name, field in self.fields.items()}


@functools.cache
def _compilation(extra: tuple[Path, ...]) -> tuple[pyslang.ast.Compilation, list[Any]]:
    compilation = pyslang.ast.Compilation()
    trees = [pyslang.syntax.SyntaxTree.fromFile(str(f)) for f in (*build.rtl_sources(build.regs()).packages, *extra)]
    for tree in trees:
        compilation.addSyntaxTree(tree)
    return compilation, trees


@functools.cache
def _member(package: str, name: str, extra: tuple[Path, ...] = ()) -> Any:
    found = _compilation(extra)[0].getPackage(package)
    if found is None:
        raise KeyError(f"there is no package {package}")
    member = found.find(name)
    if member is None:
        raise KeyError(f"{package} has no {name}")
    return member


def _layout(name: str, struct: Any) -> Layout:
    fields = {}
    for symbol in struct.fields if hasattr(struct, "fields") else [s for s in struct if s.kind.name == "Field"]:
        kind = symbol.type.canonicalType
        members, count, names = None, 0, None
        element = kind
        if kind.kind.name == "PackedArrayType" and kind.elementType.canonicalType.kind.name == "PackedStructType":
            element = kind.elementType.canonicalType
            count = kind.bitWidth // element.bitWidth
        if element.kind.name == "PackedStructType":
            members = _layout(f"{name}.{symbol.name}", element)
        elif kind.kind.name == "EnumType":
            names = _names(kind)
        fields[symbol.name] = Field(symbol.name, symbol.bitOffset, kind.bitWidth, members, count, names)
    return Layout(name, struct.bitWidth, fields)


def _names(kind: Any) -> dict[str, int]:
    return {value.name: _number(str(value.value.value)) for value in kind if hasattr(value, "value")}


def _number(text: str) -> int:
    """7, 4'd3, 8'h1f: a SystemVerilog number."""
    if "'" not in text:
        return int(text)
    base, digits = text.split("'")[1][0], text.split("'")[1][1:]
    return int(digits.replace("_", ""), {"d": 10, "h": 16, "b": 2, "o": 8}[base])


@functools.cache
def layout(package: str, name: str) -> Layout:
    """The packed struct `name` of an RTL package (ours or a generated one)."""
    kind = _member(package, name).targetType.type.canonicalType
    if kind.kind.name != "PackedStructType":
        raise KeyError(f"{package}::{name} is no packed struct")
    return _layout(name, kind)


@functools.cache
def macro(header: str, text: str) -> Layout:
    """The packed struct that a macro of a header of the RTL is: macro("axi/db_axi_types.svh", "`DB_AXI_R_T(256)")."""
    source = (paths.RTL / header).read_text() + f"\npackage db_macro_pkg;\n  typedef {text} t;\nendpackage\n"
    compilation = pyslang.ast.Compilation()
    tree = pyslang.syntax.SyntaxTree.fromText(source)
    compilation.addSyntaxTree(tree)
    package = compilation.getPackage("db_macro_pkg")
    if package is None:
        raise KeyError(f"{header}: {text} is no type")
    return _layout(text, package.find("t").targetType.type.canonicalType)


@functools.cache
def enum(package: str, name: str) -> dict[str, int]:
    """The names and values of the enumeration `name`."""
    return _names(_member(package, name).targetType.type.canonicalType)


@functools.cache
def constant(package: str, name: str) -> int:
    """The value of a localparam of a package."""
    return _number(str(_member(package, name).value.value))


class Port:
    """A port that is a packed struct: its fields are attributes, to be read (of an output) or set (of an input)."""

    def __init__(self, handle, kind: Layout) -> None:
        self.__dict__.update(_handle=handle, _layout=kind, _given={})

    def __getattr__(self, name: str) -> int:
        if name in self._given:
            return self._given[name]
        field = self._layout[name]
        return int(self._handle.value) >> field.offset & (1 << field.width) - 1

    def __setattr__(self, name: str, value: int) -> None:
        self.set(**{name: value})

    def set(self, **fields: int) -> None:
        self._given.update(fields)
        self._handle.value = self._layout.pack(self._given)

    def all(self) -> dict[str, int]:
        """Every field of an output; a struct inside as a number."""
        number = int(self._handle.value)
        return {name: number >> f.offset & (1 << f.width) - 1 for name, f in self._layout.fields.items()}
