# SPDX-License-Identifier: Apache-2.0
"""A top with its DATA_W chosen, as a module of plain Verilog: the packager reads its ports and parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doorbell.release.ip.interfaces import DRIVES, Pin, pins_of
from doorbell.release.ip.shape import NAME, Parameter, Port, Shape


def wrapper(shape: Shape) -> str:
    pins = pins_of(shape)
    asked = {p.name for p in shape.parameters if p.asks}
    split: dict[Port, list[Pin]] = {}
    for pin in pins:
        if pin.drive is not None:
            split.setdefault(pin.port, []).append(pin)
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// {shape.top} with a DATA_W of {shape.data_w}, in Verilog that Vivado's IP packager reads: wiring alone.",
        "// Made by `doorbell release`. While one of the parameters *_IS below is 0, it is what the others ask for.",
        f"module {shape.name} #(",
        *(declared(p, p == shape.parameters[-1]) for p in shape.parameters),
        ") (",
        ",\n".join(f"  {'output' if p.port.output else 'input '} wire {dimension(p.width)}{p.name}" for p in pins),
        ");",
        *(f"  localparam integer {p.name}_IS = {p.name} != 0 ? {p.name} : ({words(p.asks, asked)});"
          for p in shape.parameters if p.asks),
    ]  # fmt: skip
    for port in shape.ports:
        if port in split:
            lines += drives(shape, port, split[port])
        elif port.inner:
            lines += [f"  wire {dimension(port.inner)}{port.name}_inner;", f"  assign {port.name} = {port.name}_inner;"]
    count = DRIVES[shape.top][0] if split else ""
    connected = [
        f"    .{port.name}({port.name}_all[{times(count, split[port][0].width)}-1:0])" if port in split
        else f"    .{port.name}({port.name}{'_inner' if port.inner else ''})"
        for port in shape.ports
    ]  # fmt: skip
    given = [f"    .{p.name}({p.name}{'_IS' if p.asks else ''})" for p in shape.parameters]
    lines += [
        f"  {shape.top} #(",
        ",\n".join([f"    .DATA_W({shape.data_w})", *given]),
        "  ) i_top (",
        ",\n".join(connected),
        "  );",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"


def declared(parameter: Parameter, last: bool) -> str:
    kind = {"integer": "integer ", "bits": f"[{parameter.bits - 1}:0] ", "string": ""}[parameter.kind]
    return f"  parameter {kind}{parameter.name} = {parameter.default}{'' if last else ','}  // {parameter.text}"


def words(expression: str, asked: set[str]) -> str:
    """As the top's own default says it, of parameters as they are here."""
    return re.sub(NAME, lambda m: f"{m[0]}_IS" if m[0] in asked else m[0], expression)


def dimension(width: str) -> str:
    if not width:
        return ""
    return f"[{int(width) - 1}:0] " if width.isdigit() else f"[{width}-1:0] "


def times(count: str, width: str) -> str:
    return f"{count}*({width})" if width else count


def drives(shape: Shape, port: Port, pins: list[Pin]) -> Iterator[str]:
    """The top's flat port, made of those of the drives; a drive that is not there is left out, its outputs are 0."""
    width, count = pins[0].width or "1", DRIVES[shape.top][0]
    yield f"  wire [{len(pins)}*({width})-1:0] {port.name}_all;"
    if not port.output:
        yield f"  assign {port.name}_all = {{{', '.join(pin.name for pin in reversed(pins))}}};"
        return
    for pin in pins:
        part = f"{port.name}_all[{pin.drive}*({width}) +: {width}]"
        yield f"  generate if ({count} > {pin.drive}) assign {pin.name} = {part};"
        yield f"  else assign {pin.name} = 0; endgenerate"
