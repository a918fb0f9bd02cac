# SPDX-License-Identifier: Apache-2.0
"""Mapped netlists: what their cells cost, and how many levels of LUTs lie between their registers.

A unit is one module after technology mapping, the modules that it instantiates left as black boxes. `flatten` puts the
units of a hierarchy together again, so that a path is followed across as many modules as it passes.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from doorbell.errors import UserError

LUTRAM = {
    "RAM32X1S": 1, "RAM64X1S": 1, "RAM128X1S": 2, "RAM256X1S": 4, "RAM512X1S": 8,
    "RAM32X1D": 2, "RAM64X1D": 2, "RAM128X1D": 4, "RAM256X1D": 8,
    "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8, "RAM64X8SW": 8,
    "SRL16E": 1, "SRLC16E": 1, "SRLC32E": 1, "TRELLIS_DPR16X4": 6,
}  # fmt: skip
"""LUTs that a memory made of LUTs takes."""

BLOCK_RAM = {"RAMB36E1": 1.0, "RAMB36E2": 1.0, "RAMB18E1": 0.5, "RAMB18E2": 0.5, "DP16KD": 1.0, "PDPW16KD": 1.0}
FLIP_FLOPS = {"FDRE", "FDSE", "FDCE", "FDPE", "TRELLIS_FF"}
DSPS = {"DSP48E1", "DSP48E2", "MULT18X18D", "ALU54B"}
FREE = {"INV", "GND", "VCC", "BUFG", "MUXF7", "MUXF8", "MUXF9", "PFUMX", "L6MUX21"}
"""No LUT, no level: inverters go into a LUT or a register's input, the multiplexers join LUTs of one slice."""


@dataclass
class Unit:
    """One mapped module. Bits are numbers inside the unit, or strings for constants."""

    ports: dict[str, tuple[str, list[Any]]]  # name: (direction, bits)
    cells: list[tuple[str, str, dict[str, list[Any]]]]  # type, name, port: bits
    names: dict[int, str]  # of a bit

    @classmethod
    def from_yosys(cls, module: dict[str, Any]) -> Unit:
        """From a module of `write_json`."""
        names: dict[int, str] = {}
        for name, net in module["netnames"].items():
            if net.get("hide_name"):
                continue
            for i, bit in enumerate(net["bits"]):
                if isinstance(bit, int):
                    full = f"{name}[{i + net.get('offset', 0)}]" if len(net["bits"]) > 1 else name
                    old = names.get(bit)
                    if old is None or (old.count("."), len(old)) > (full.count("."), len(full)):
                        names[bit] = full
        cells = [
            (c["type"], name, c["connections"]) for name, c in module["cells"].items() if c["type"] != "$scopeinfo"
        ]
        ports = {n: (p["direction"], p["bits"]) for n, p in module["ports"].items()}
        return cls(ports, cells, names)

    def plain(self) -> dict[str, Any]:
        """For a JSON file."""
        return {"ports": self.ports, "cells": self.cells, "names": self.names}

    @classmethod
    def from_plain(cls, data: dict[str, Any]) -> Unit:
        return cls(
            {n: (p[0], p[1]) for n, p in data["ports"].items()},
            [(c[0], c[1], c[2]) for c in data["cells"]],
            {int(k): v for k, v in data["names"].items()},
        )


@dataclass
class Area:
    """What a module takes."""

    lut: int = 0
    ff: int = 0
    bram: float = 0.0  # BRAM36, or the 18 Kib blocks of ECP5
    uram: int = 0
    dsp: int = 0

    def __add__(self, other: Area) -> Area:
        return Area(*(a + b for a, b in zip(self.values(), other.values(), strict=True)))

    def __sub__(self, other: Area) -> Area:
        return Area(*(a - b for a, b in zip(self.values(), other.values(), strict=True)))

    def values(self) -> list[Any]:
        return [self.lut, self.ff, self.bram, self.uram, self.dsp]


def area(unit: Unit, children: set[str]) -> Area:
    """The unit's own cells, without its `children`."""
    result = Area()
    for kind, n in Counter(c[0] for c in unit.cells).items():
        if re.fullmatch(r"LUT[1-6]", kind):
            result.lut += n
        elif kind in LUTRAM:
            result.lut += n * LUTRAM[kind]
        elif kind == "CCU2C":
            result.lut += 2 * n
        elif kind in FLIP_FLOPS:
            result.ff += n
        elif kind in BLOCK_RAM:
            result.bram += n * BLOCK_RAM[kind]
        elif kind in ("URAM288", "URAM288_BASE"):
            result.uram += n
        elif kind in DSPS:
            result.dsp += n
        elif kind not in FREE and not kind.startswith("CARRY") and kind not in children:
            raise UserError(f"the netlist has a cell {kind} that doorbell.synth.netlist does not know")
    return result


# ---------------------------------------------------------------- levels


def arcs(kind: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str] | None] | None:
    """Inputs that cost a level, outputs, and inputs that cost none; None if no path goes through this cell."""
    if re.fullmatch(r"LUT[1-6]", kind):
        return _LUT
    if kind.startswith("CARRY"):
        return _CARRY
    if kind == "CCU2C":
        return _CCU2C
    if kind in FREE:
        return _FREE
    if kind in LUTRAM:
        return _SRL if kind.startswith("SRL") else _LUTRAM
    return None


_c = re.compile
_LUT = (_c(r"I\d|[A-D]"), _c(r"O|Z"), None)
_CARRY = (_c(r"S|DI|CYINIT"), _c(r"O|CO"), _c(r"CI"))
_CCU2C = (_c(r"[A-D][01]"), _c(r"S[01]|COUT"), _c(r"CIN"))
_FREE = (_c(r"-"), _c(r"O|Z"), _c(r"I\d?|S|SD|C0|D0|D1|ALUT|BLUT"))
_SRL = (_c(r"A\d?"), _c(r"Q"), None)
_LUTRAM = (_c(r"A\d?|A|DPRA\d?|DPRA|ADDR[A-H]|RAD"), _c(r"O|SPO|DPO|DO[A-H]?"), None)
_OUTPUT = {
    "Q", "Q31", "O", "Z", "DO", "SPO", "DPO", "P", "CO",
    "DOUTADOUT", "DOUTBDOUT", "DOUTPADOUTP", "DOUTPBDOUTP", "DOADO", "DOBDO", "DOPADOP", "DOPBDOP",
}  # fmt: skip


@dataclass
class Path:
    """A longest path to one endpoint."""

    levels: int
    start: str
    end: str
    unit: str  # the module in which it ends
    through: list[str]  # modules it passes, the first first
    nets: list[str]  # named nets on the way
    source: str  # type of the cell in which it begins: a flip-flop, a block RAM, or "port"


@dataclass
class Flat:
    """The cells of a whole hierarchy on common net numbers."""

    cells: list[tuple[str, int, dict[str, list[int]]]] = field(default_factory=list)  # type, instance, port: nets
    instances: list[tuple[str, str]] = field(default_factory=list)  # path, module
    names: dict[int, str] = field(default_factory=dict)
    home: dict[int, int] = field(default_factory=dict)  # instance in which a net was first seen
    count: int = 0


CONSTANT = -1


def apart(connections: dict[str, list[int]]) -> list[dict[str, list[int]]]:
    """A cell as several: a memory with read ports A to H has no path from one's address to another's data."""
    ports = [p[-1] for p in connections if re.fullmatch(r"DO[A-H]", p) and f"ADDR{p[-1]}" in connections]
    taken = {f"ADDR{port}" for port in ports}
    rest = {p: nets for p, nets in connections.items() if p not in taken}  # its outputs give it its name
    return [rest] + [{f"{name}{port}": connections[f"{name}{port}"] for name in ("ADDR", "DO")} for port in ports]


def flatten(units: dict[str, Unit], top: str, module_of: dict[str, str]) -> Flat:
    """Units by name, the name of the top one; module_of: the module's name as people know it."""
    flat = Flat()

    def add(name: str, path: str, outer: dict[str, list[int]] | None) -> None:
        unit = units[name]
        here = len(flat.instances)
        flat.instances.append((path, module_of[name]))
        local: dict[int, int] = {}
        joins: list[tuple[int, int]] = []

        def net(bit: Any) -> int:
            if not isinstance(bit, int):
                return CONSTANT
            if bit not in local:
                local[bit] = flat.count
                flat.home[flat.count] = here
                if bit in unit.names:
                    flat.names[flat.count] = f"{path}.{unit.names[bit]}" if path else unit.names[bit]
                flat.count += 1
            return local[bit]

        for port, (direction, bits) in unit.ports.items():
            for i, bit in enumerate(bits):
                nets = (outer or {}).get(port, [])
                if i >= len(nets) or not isinstance(bit, int) or nets[i] == CONSTANT:
                    continue
                if bit not in local:
                    local[bit] = nets[i]
                elif local[bit] != nets[i] and direction == "output":
                    joins.append((local[bit], nets[i]))
        for kind, cell, connections in unit.cells:
            nets_of = {port: [net(b) for b in bits] for port, bits in connections.items()}
            if kind in units:
                add(kind, f"{path}.{cell}" if path else cell, nets_of)
            else:
                flat.cells += [(kind, here, part) for part in apart(nets_of)]
        for source, sink in joins:
            flat.cells.append(("BUFG", here, {"I": [source], "O": [sink]}))

    add(top, "", None)
    return flat


def longest(flat: Flat) -> list[Path]:
    """The longest path to every register, memory or block RAM input, the longest first; one for each vector of bits."""
    driver: dict[int, int] = {}
    source: dict[int, str] = {}
    through: dict[int, tuple[list[tuple[int, int]], list[int]]] = {}
    for i, (kind, _, connections) in enumerate(flat.cells):
        rule = arcs(kind)
        if rule is None:
            for port, nets in connections.items():
                if port in _OUTPUT:
                    source.update((n, kind) for n in nets)
            continue
        slow, out, fast = rule
        inputs, outputs = [], []
        for port, nets in connections.items():
            if out.fullmatch(port):
                outputs += [n for n in nets if n != CONSTANT]
            elif slow.fullmatch(port):
                inputs += [(n, 1) for n in nets if n != CONSTANT]
            elif fast and fast.fullmatch(port):
                inputs += [(n, 0) for n in nets if n != CONSTANT]
        through[i] = (inputs, outputs)
        for n in outputs:
            driver[n] = i

    arrival: dict[int, int] = {}
    before: dict[int, int] = {}
    waiting = {i: len({n for n, _ in ins if n in driver}) for i, (ins, _) in through.items()}
    users: dict[int, list[int]] = {}
    for i, (ins, _) in through.items():
        for n in {n for n, _ in ins if n in driver}:
            users.setdefault(n, []).append(i)
    ready = [i for i, n in waiting.items() if n == 0]
    done = 0
    while ready:
        i = ready.pop()
        done += 1
        ins, outs = through[i]
        level, last = max(((arrival.get(n, 0) + w, n) for n, w in ins), default=(0, CONSTANT))
        for n in outs:
            if driver[n] != i:
                continue
            arrival[n], before[n] = level, last
            for user in users.get(n, ()):
                waiting[user] -= 1
                if waiting[user] == 0:
                    ready.append(user)
    if done != len(through):
        stuck = next(flat.instances[flat.cells[i][1]][0] for i, n in waiting.items() if n)
        raise UserError(f"the netlist has a combinational loop, near {stuck or 'the top'}")

    best: dict[tuple[int, str], tuple[int, int, str]] = {}
    for kind, instance, connections in flat.cells:
        rule = arcs(kind)
        name = _endpoint(flat, connections)
        for port, nets in connections.items():
            if port in _OUTPUT or (rule and kind not in LUTRAM):
                continue
            if rule and (rule[0].fullmatch(port) or rule[1].fullmatch(port)):
                continue
            for n in nets:
                key = (instance, name or kind)
                if n != CONSTANT and arrival.get(n, 0) >= best.get(key, (0, 0, ""))[0]:
                    best[key] = (arrival.get(n, 0), n, port)
    return sorted(
        (_path(flat, levels, net, port, instance, name, before, source)
         for (instance, name), (levels, net, port) in best.items()),
        key=lambda p: (-p.levels, p.unit, p.end),
    )  # fmt: skip


def _endpoint(flat: Flat, connections: dict[str, list[int]]) -> str:
    """The vector that the cell drives."""
    for port, nets in connections.items():
        if port in _OUTPUT or re.fullmatch(r"DO[A-H]?", port):
            for n in nets:
                if n in flat.names:
                    return _vector(flat.names[n])
    return ""


def _vector(name: str) -> str:
    return re.sub(r"\[\d+\]$", "", name)


def _path(
    flat: Flat, levels: int, net: int, port: str, instance: int, name: str, before: dict[int, int],
    source: dict[int, str],
) -> Path:  # fmt: skip
    nets, modules = [], [flat.instances[instance][1]]
    n = net
    while True:
        module = flat.instances[flat.home[n]][1]
        if module != modules[-1]:
            modules.append(module)
        if n in flat.names:
            nets.append(flat.names[n])
        following = before.get(n, CONSTANT)
        if following == CONSTANT:
            break
        n = following
    start = flat.names.get(n, "?")
    role = {"CE": " enable", "R": " reset", "S": " reset"}.get(port, "")
    return Path(
        levels, start, name + role, flat.instances[instance][1], modules[::-1], nets[::-1], source.get(n, "port")
    )
