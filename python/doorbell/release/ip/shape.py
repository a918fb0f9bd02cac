# SPDX-License-Identifier: Apache-2.0
"""Ports and parameters of a top with its DATA_W chosen, in words that a tool without SystemVerilog understands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from doorbell.build import described, find_module
from doorbell.build.slang import parse
from doorbell.release.ip.legal import Legal, read

WIDTHS = (128, 256, 512)
"""Of DATA_W: an IP each."""
NAME = re.compile(r"\b[A-Za-z_]\w*")
DIMENSION = re.compile(r"\[([^\[\]]*):\s*0\s*\]")
PLAIN = {
    "cmb_addr_w(CMB_LOG2,NUM_FN)": ("((CMB_LOG2 == 0 ? 12 : CMB_LOG2) + $clog2(NUM_FN))", 35),
}
"""Widths by a function of the RTL: the same in Verilog, and what it is at most, which the port then has."""


@dataclass(frozen=True)
class Parameter:
    """kind: integer, string, or bits. default: as Verilog writes it. asks: what it is by others if it is 0."""

    name: str
    kind: str
    default: str
    text: str
    bits: int = 32
    legal: Legal | None = None
    asks: str = ""


@dataclass(frozen=True)
class Port:
    """width: an expression of parameters, or a number; empty: a single bit. inner: the width of the top's own port, if
    it is not that."""

    name: str
    output: bool
    width: str
    inner: str = ""


@dataclass(frozen=True)
class Shape:
    top: str
    data_w: int
    parameters: tuple[Parameter, ...]
    ports: tuple[Port, ...]

    @property
    def name(self) -> str:
        return f"{self.top}_{self.data_w}"


def shape_of(top: str, data_w: int) -> Shape:
    # slang's objects live as long as what they come from
    driver, compilation = parse(top, {"DATA_W": data_w})
    body = compilation.getRoot().topInstances[0].body
    parameters = tuple(parameters_of(top, data_w, body))
    names = {p.name for p in parameters}
    local = {p.name: local_of(p, names) for p in body.parameters if p.isLocalParam}
    ports = tuple(Port(p.name, p.direction.name == "Out", *width_of(p, names, local, data_w)) for p in body.portList)
    del driver
    return Shape(top, data_w, parameters, ports)


def text_of(syntax: Any) -> str:
    """Without comments, in one line."""
    return " ".join(re.sub(r"//[^\n]*", " ", str(syntax)).split())


def parameters_of(top: str, data_w: int, body: Any) -> Iterator[Parameter]:
    known: dict[str, Legal] = {}
    last: Legal | None = None
    comments = comments_of(top)
    for parameter in body.parameters:
        name = parameter.name
        if parameter.isLocalParam:
            continue
        text, kind = comments[name], text_of(parameter.declaredType.typeSyntax)
        value = text_of(parameter.declaredType.initializerSyntax)
        if text.startswith("of db_") and (there := comments_of(text.removeprefix("of ").split()[0]).get(name)):
            text = there
        legal = bit(text, data_w) if kind == "bit" else read(text, data_w, known)
        legal = last if text.endswith(": the same") else legal
        last = known[name] = legal or Legal(0, 2**31 - 1)
        if name == "DATA_W":
            continue
        if value.startswith('"'):
            yield Parameter(name, "string", value, text)
        elif kind == "int" and NAME.search(value):
            yield Parameter(name, "integer", "0", text, 32, legal and legal.and_zero(), value)
        elif kind in ("int", "bit"):
            yield Parameter(name, "integer", str(int(parameter.value.value)), text, 32, legal)
        else:
            bits = int(parameter.type.bitWidth)
            yield Parameter(name, "bits", f"{bits}'h{int(parameter.value.value):x}", text, bits)


def bit(text: str, data_w: int) -> Legal:
    alone = re.search(r"with (\d+) bits alone", text)
    return Legal(0, 0 if alone and int(alone[1]) != data_w else 1)


def comments_of(top: str) -> dict[str, str]:
    """A parameter's own comment, or the one it stands under."""
    file = find_module(top)
    module = described.read(file) if file else None
    return {p.name: p.text or p.group for p in module.parameters} if module else {}


def width_of(port: Any, free: set[str], local: dict[str, str], data_w: int) -> tuple[str, str]:
    """Of a port, and of the top's own if they differ."""
    declared = text_of(port.internalSymbol.declaredType.typeSyntax)
    dimensions = DIMENSION.findall(declared)
    names = set(NAME.findall(" ".join(dimensions)))
    while names & local.keys():
        dimensions = [re.sub(NAME, lambda m: local.get(m[0], m[0]), d) for d in dimensions]
        names = set(NAME.findall(" ".join(dimensions)))
    bits = int(port.type.bitWidth)
    if not names & free:
        return (str(bits) if "[" in declared else ""), ""
    factors = [factor(d) for d in dimensions]
    if len(factors) == 1 and factors[0].replace(" ", "") in PLAIN:
        inner, most = PLAIN[factors[0].replace(" ", "")]
        return str(most), inner
    whole = "*".join(f if re.fullmatch(r"[\w*/]+", f) else f"({f})" for f in factors)
    whole = re.sub(r"\bDATA_W\b", str(data_w), whole)
    assert set(NAME.findall(whole)) <= free, f"{port.name}: no plain words for {declared}"
    return whole, ""


def local_of(parameter: Any, free: set[str]) -> str:
    """What a localparam of the top is: in words, if it depends on what may be set."""
    words = text_of(parameter.declaredType.initializerSyntax)
    return words if set(NAME.findall(words)) & free else str(int(parameter.value.value))


def factor(left: str) -> str:
    """How many bits [left:0] has."""
    if left.strip().isdigit():
        return str(int(left) + 1)
    return left.strip().removesuffix("-1").strip() if left.strip().endswith("-1") else f"{left} + 1"
