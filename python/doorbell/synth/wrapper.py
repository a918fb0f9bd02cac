# SPDX-License-Identifier: Apache-2.0
"""A top behind three pins, so that it can be placed whole: clock, serial in, serial out.

Inputs of the top are the bits of a shift register, so each is a register and none is constant. Each output has one;
those are mixed into a second shift register whose end is the pin, so nothing of the top is of no use. No path of the
wrapper has more than one LUT, and no path of the top leaves it except into a register.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from doorbell.errors import UserError


@dataclass(frozen=True)
class Port:
    name: str
    width: int
    output: bool


_WIRE = re.compile(r"^  wire (.*?)(input|output|inout) (\d+) (?:.* )?\\(\S+)$", re.M)


def ports(module: str) -> list[Port]:
    """Of a module in RTLIL."""
    found = {}
    for m in _WIRE.finditer(module):
        width = re.search(r"width (\d+)", m[0])
        if m[2] == "inout":
            raise UserError(f"port {m[4]} is an inout: the wrapper has none")
        found[int(m[3])] = Port(m[4], int(width[1]) if width else 1, m[2] == "output")
    return [found[n] for n in sorted(found)]


def wrapper(top: str, of: list[Port], clock: str = "clk") -> str:
    """Verilog of a module `unit` that has `top` inside as i_top."""
    if Port(clock, 1, False) not in of:
        raise UserError(f"{top} has no clock {clock}")
    inputs = [p for p in of if not p.output and p.name != clock]
    outputs = [p for p in of if p.output]
    if not inputs or not outputs:
        raise UserError(f"{top} has no {'outputs' if inputs else 'inputs'}: nothing of it would be left")

    def joined(which: list[Port], vector: str) -> list[str]:
        low, lines = 0, []
        for p in which:
            lines.append(f"    .{p.name}({vector}[{low + p.width - 1}:{low}])")
            low += p.width
        return lines

    ins, outs = sum(p.width for p in inputs), sum(p.width for p in outputs)
    registers = ", ".join(f"out_{p.name}_q" for p in reversed(outputs))  # by port: an end of a path has its name
    return (
        "module unit (input clk, input serial_in, output reg serial_out);\n"
        f"  reg [{ins - 1}:0] in_q;\n  reg [{outs - 1}:0] mix_q;\n  wire [{outs - 1}:0] out;\n"
        + "".join(f"  reg [{p.width - 1}:0] out_{p.name}_q;\n" for p in outputs)
        + "  always @(posedge clk) begin\n"
        f"    in_q <= {{in_q, serial_in}};\n    {{{registers}}} <= out;\n"
        f"    mix_q <= {{mix_q, serial_in}} ^ {{{registers}}};\n    serial_out <= mix_q[{outs - 1}];\n  end\n"
        f"  {top} i_top (\n"
        + ",\n".join([f"    .{clock}(clk)", *joined(inputs, "in_q"), *joined(outputs, "out")])
        + "\n  );\nendmodule\n"
    )
