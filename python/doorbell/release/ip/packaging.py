# SPDX-License-Identifier: Apache-2.0
"""The files of ip/ in the archive of a release: for each top and width a wrapper and Tcl that says what it has, and one
Tcl file that packages them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from doorbell.release.core import DESCRIPTION, FIRMWARE
from doorbell.release.files import Files, place
from doorbell.release.ip.interfaces import Bus, buses_of, pins_of, plain_of, resets_of
from doorbell.release.ip.shape import WIDTHS, Parameter, Shape, shape_of
from doorbell.release.ip.wrapper import wrapper

COMMON = Path(__file__).with_name("package.tcl")


def contents(top: str, version: str, files: Files) -> dict[str, str]:
    """Name in the archive to text, of a top with each width."""
    made = {}
    for data_w in WIDTHS:
        shape = shape_of(top, data_w)
        made[f"ip/{shape.name}.v"] = wrapper(shape)
        made[f"ip/{shape.name}.tcl"] = "\n".join(described(shape, version, files)) + "\n"
    return made


def described(shape: Shape, version: str, files: Files) -> Iterator[str]:
    pins = pins_of(shape)
    buses = buses_of(shape, pins)
    major, minor, patch = re.match(r"(\d+)\.(\d+)\.(\d+)", version).groups()  # type: ignore[union-attr]
    yield "# SPDX-License-Identifier: Apache-2.0"
    yield f"# What {shape.name}.v has, for package.tcl. Made by `doorbell release`."
    yield f"db_ip_begin {shape.name} {shape.top} {major}.{minor} {patch} {{{DESCRIPTION[shape.top]}}}"
    yield f"db_ip_sources {{{' '.join(place(h) for h in files.headers)}}} {{{FIRMWARE.get(shape.top, '')}}}"
    for parameter in shape.parameters:
        yield ranged(parameter)
    for name in resets_of(pins):
        yield f"db_ip_reset {name}"
    yield f"db_ip_clock clk {{{' '.join(resets_of(pins))}}}"
    for bus in buses:
        yield from connected(bus, {p.name: p.width for p in pins})
    yield "db_ip_plain {"
    yield from (f"    {name}" for name in plain_of(pins, buses))
    yield "}"
    yield "db_ip_end"


def ranged(parameter: Parameter) -> str:
    legal, text = parameter.legal, parameter.text
    if parameter.asks:
        text = f"{text}; 0: {parameter.asks}"
    if not legal:
        kind, values = "any", ""
    elif legal.values:
        kind, values = "list", " ".join(map(str, legal.values))
    else:
        kind, values = "range", f"{legal.low} {legal.high}"
    return f"db_ip_parameter {parameter.name} {kind} {{{values}}} {{{text}}}"


def connected(bus: Bus, widths: dict[str, str]) -> Iterator[str]:
    protocol = bus.kind if bus.kind == "axis" else "axi4" if "AWLEN" in bus.signals else "axi4lite"
    yield f"db_ip_bus {bus.name} {protocol} {'master' if bus.master else 'slave'} {{"
    yield from (f"    {signal} {name}" for signal, name in bus.signals.items())
    yield "}"
    if protocol != "axis":
        yield f"db_ip_addresses {bus.name} {{{widths[bus.signals['AWADDR']]}}}"
    if bus.only:
        yield f"db_ip_only {bus.name} {{{' '.join(f'{name} {above}' for name, above in bus.only.items())}}}"
