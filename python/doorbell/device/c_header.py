# SPDX-License-Identifier: Apache-2.0
"""Reads the C headers of sim/interface/: structures and functions as ctypes, enumerations, options of the classes.

The headers are the only place where these are written. They hold a small part of C, which their first lines describe:
one field or enumerator a line, `///< option = default: text` behind a field that is an option.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from doorbell import paths
from doorbell.errors import UserError

FOLDER = paths.ROOT / "sim" / "interface"

_INTEGERS: dict[str, Any] = {
    "int": ctypes.c_int, "uint8_t": ctypes.c_uint8, "uint16_t": ctypes.c_uint16, "uint32_t": ctypes.c_uint32,
    "int32_t": ctypes.c_int32, "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64,
}  # fmt: skip

NEVER = 0xFFFF_FFFF
"""A time in a field of 32 bits that never comes: an option that is None."""


def _nanoseconds(us: float | None) -> int:
    return NEVER if us is None else round(us * 1000)


def _size_code(size: int) -> int:
    if size & (size - 1) or not 128 <= size <= 4096:
        raise ValueError(f"MPS of {size}: a power of two from 128 to 4096")
    return size.bit_length() - 8


def at_least_one(rate: float) -> int:
    """A rate above 0 is none without a limit, however small it is."""
    return max(1, round(rate)) if rate > 0 else round(rate)


_UNITS: list[tuple[str, str, Callable[[Any], int]]] = [
    ("_us", "_ns", _nanoseconds),
    ("_mhz", "_khz", lambda mhz: round(mhz * 1000)),
    ("_gbps", "_mbps", lambda gbps: at_least_one(gbps * 1000)),
    ("_gbps", "_kbps", lambda gbps: at_least_one(gbps * 1e6)),
    ("_ms", "_500ms", lambda ms: min(255, -(-ms // 500))),
    ("", "_ppm", lambda part: round(part * 1e6)),
    ("_chance", "_ppm", lambda chance: round(chance * 1e6)),
    ("_bytes", "_shift", lambda size: size.bit_length() - 1),
    ("", "_code", _size_code),
]
"""Ends of an option's name and of its field's, where their units differ."""


@dataclass(frozen=True)
class Option:
    """An option of a Python class, and the field it goes into."""

    name: str
    default: Any
    field: str
    text: str
    most: int | None = None
    """That the field holds, which is a number; None: it is none."""

    def convert(self, value: Any) -> Any:
        """`value` as the field has it."""
        for mine, other, how in _UNITS:
            if self.name.endswith(mine) and self.field == self.name.removesuffix(mine) + other:
                return how(value)
        return value


@dataclass
class CHeader:
    """One header, and those that it includes."""

    name: str
    constants: dict[str, int] = field(default_factory=dict)
    structures: dict[str, Any] = field(default_factory=dict)
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    functions: dict[str, tuple[Any, list[Any]]] = field(default_factory=dict)
    _options: dict[str, list[Option]] = field(default_factory=dict)

    def options(self, name: str) -> dict[str, Option]:
        """The options that a structure's fields (or an enumeration's values) stand for, by name."""
        return {o.name: o for o in self._options[name]}

    def names(self, enum: str) -> dict[str, int]:
        """An enumeration in the order of the header, by the end of its names in small letters: DB_FAULT_UR is "ur"."""
        values = self.enums[enum]
        common = os.path.commonprefix(list(values)).rpartition("_")[0]
        return {name[len(common) + 1 :].lower(): value for name, value in values.items()}

    def signatures(self, prefix: str) -> dict[str, tuple[Any, list[Any]]]:
        """Functions whose names begin with `prefix`, without it: result and arguments."""
        return {n.removeprefix(prefix): f for n, f in self.functions.items() if n.startswith(prefix)}

    # ---------------------------------------------------------------------------------------------------------- reading

    def _read(self, text: str) -> None:
        for included in re.findall(r'^#include "interface/(\w+\.h)"', text, re.MULTILINE):
            other = c_header(included)
            for mine, theirs in ((self.constants, other.constants), (self.structures, other.structures),
                                 (self.enums, other.enums), (self._options, other._options)):  # fmt: skip
                mine.update(theirs)  # type: ignore[attr-defined]
        for name, value in re.findall(r"^#define (\w+) (\d+)$", text, re.MULTILINE):
            self.constants[name] = int(value)
        item = r"^typedef struct (?P<s>\w+) \{\n(?P<fields>.*?)^\} \w+;|^enum (?P<e>\w+) \{(?P<values>.*?)\};"
        for found in re.finditer(item, text, re.MULTILINE | re.DOTALL):
            if found["s"]:
                self._structure(found["s"], found["fields"])
            else:
                self._enum(found["e"], found["values"])
        for result, name, arguments in re.findall(r"^((?:const )?\w+ \*?)(\w+)\(([^()]*)\);", text, re.MULTILINE):
            listed = [] if arguments == "void" else re.split(r",\s*", arguments)
            self.functions[name] = (self._type(result, True), [self._argument(a) for a in listed])

    def _structure(self, name: str, body: str) -> None:
        fields: list[tuple[str, Any]] = []
        self._options[name] = []
        for line in filter(None, map(str.strip, body.splitlines())):
            code, _, comment = line.partition("///<")
            if pointer := re.fullmatch(r"\w+ \(\*(\w+)\)\(.*\);", code.strip()):
                fields.append((pointer[1], ctypes.c_void_p))
                continue
            found = re.fullmatch(r"((?:const )?\w+ \*?)(\w+)(?:\[(\w+)\])?;", code.strip())
            if found is None:
                raise ValueError(f"sim/interface/{self.name}: struct {name}: '{line}' is not one plain field")
            kind = self._type(found[1])
            if found[3]:
                kind *= int(found[3]) if found[3].isdecimal() else self.constants[found[3]]
            fields.append((found[2], kind))
            most = (1 << 8 * ctypes.sizeof(kind)) - 1 if kind in _INTEGERS.values() else None
            self._option(name, found[2], comment, most)
        self.structures[name] = type(name, (ctypes.Structure,), {"_fields_": fields})

    def _enum(self, name: str, body: str) -> None:
        values: dict[str, int] = {}
        self._options[name] = []
        following = 0
        for line in re.sub(r"(///<[^\n]*)|,", lambda m: m[1] or ",\n", body).splitlines():
            code, _, comment = line.partition("///<")
            if found := re.match(r"\s*(\w+)(?: = (-?\d+))?", code):
                last = found[1]
                values[last] = int(found[2]) if found[2] else following
                following = values[last] + 1
            if comment:
                self._option(name, last, comment)
        self.enums[name] = values

    def _option(self, owner: str, of: str, comment: str, most: int | None = None) -> None:
        if found := re.match(r"\s*(\w+) = (.*?): (.*)", comment):
            try:
                default = ast.literal_eval(found[2])
            except (ValueError, SyntaxError):
                default = found[2]
            self._options[owner].append(Option(found[1], default, of, found[3], most))

    def _type(self, text: str, result: bool = False) -> Any:
        """The ctypes type of a field or result."""
        name = text.replace("const ", "").strip()
        if name == "void":
            return None
        if name == "char *":
            return ctypes.c_char_p
        if name.endswith("*"):
            return ctypes.c_void_p
        return _INTEGERS[name] if name in _INTEGERS else self.structures[name]

    def _argument(self, text: str) -> Any:
        """The ctypes type of a parameter with its name."""
        kind = re.sub(r"\w+(\[\d+\])?$", "", text.strip()).strip()
        plain = kind.replace("const ", "").removesuffix("*").strip()
        if text.strip().endswith("]"):
            return ctypes.POINTER(_INTEGERS[plain])
        if not kind.endswith("*"):
            return _INTEGERS[plain]
        if plain == "char":
            return ctypes.c_char_p
        if plain in self.structures:
            return ctypes.POINTER(self.structures[plain])
        return ctypes.POINTER(_INTEGERS[plain]) if plain in ("int", "uint32_t", "uint64_t") else ctypes.c_void_p


@functools.cache
def c_header(name: str) -> CHeader:
    """sim/interface/<name>, read."""
    header = CHeader(name)
    text = (FOLDER / name).read_text()
    header._read(re.sub(r"(\w) *\* *(?=[\w,)])", r"\1 *", text))  # a pointer's star stands at its name
    return header


# ---------------------------------------------------------------- options of a class


def chosen(options: Mapping[str, Option], given: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Every option's value: the given one or its default. A name that there is none of is a TypeError."""
    for name in given:
        if name not in options:
            raise TypeError(f"{owner} has no option '{name}': {', '.join(options)}")
    return {name: given.get(name, option.default) for name, option in options.items()}


def converted(options: Mapping[str, Option], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of options as the fields they go into have them. A UserError if one does not go into it."""
    out = {o.field: o.convert(values[o.name]) for o in options.values() if o.name in values}
    for o in options.values():
        value = out.get(o.field)
        if o.most is not None and isinstance(value, int | float) and not 0 <= value <= o.most:
            raise UserError(f"{o.name}: {values[o.name]} is out of range")
    return out


def described(options: Mapping[str, Option]) -> str:
    """A line for each option, for help()."""
    return "\n".join(f"    {o.name} = {o.default!r}: {o.text}" for o in options.values())


def with_options(options: Mapping[str, Option]) -> Callable[[Any], Any]:
    """A class whose `**options` these are: they stand in its signature and at the end of its text."""

    def decorate(cls: Any) -> Any:
        own = inspect.signature(cls.__init__)
        named = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [inspect.Parameter(o.name, inspect.Parameter.KEYWORD_ONLY, default=o.default) for o in options.values()]
        cls.__init__.__signature__ = own.replace(parameters=[*named, *more])
        cls.__doc__ = f"{inspect.cleandoc(cls.__doc__ or '')}\n\nOptions:\n\n{described(options)}\n"
        return cls

    return decorate
