# SPDX-License-Identifier: Apache-2.0
"""The slowest paths of a placed and routed design, from the delays that nextpnr writes (SDF).

nextpnr's report names one critical path a clock. Here are as many as wanted, each into another register or memory, with
what cells and what wires take of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from doorbell.errors import UserError

Pin = tuple[str, str]


@dataclass
class Delays:
    """What an SDF file says, worst case, in ps."""

    wires: dict[Pin, tuple[Pin, int]] = field(default_factory=dict)  # input: the output that drives it, delay
    cells: dict[Pin, list[tuple[str, int]]] = field(default_factory=dict)  # output: inputs that it follows from, delay
    setups: dict[Pin, int] = field(default_factory=dict)  # inputs sampled by a clock
    starts: dict[Pin, int] = field(default_factory=dict)  # outputs of registers and memories, clock to output


_LINE = re.compile(r"\s*\((INSTANCE|IOPATH|SETUPHOLD|INTERCONNECT) (.*)\)\s*")
_TRIPLE = re.compile(r"\(-?\d*:-?\d*:(-?\d+)\)")
_CLOCKS = {"CLK", "WCK", "CLKA", "CLKB"}


def read_sdf(lines: Iterable[str]) -> Delays:
    """Of the corner with the largest delays."""
    found = Delays()
    instance = ""
    for line in lines:
        m = _LINE.fullmatch(line.rstrip("\n"))
        if m is None:
            continue
        words = m[2].replace("\\", "").split(" ")
        if m[1] == "INSTANCE":
            instance = words[0]
            continue
        delays = [int(t) for t in _TRIPLE.findall(m[2])]
        if m[1] == "SETUPHOLD":  # (SETUPHOLD (posedge DI) (posedge CLK) (setup) (hold))
            pin = (instance, words[1].rstrip(")"))
            found.setups[pin] = max(delays[0], found.setups.get(pin, 0))
        elif m[1] == "IOPATH":
            source = words[1].rstrip(")") if words[0].startswith("(") else words[0]
            sink = (instance, words[2 if words[0].startswith("(") else 1])
            if source in _CLOCKS:
                found.starts[sink] = max(*delays, found.starts.get(sink, 0))
            else:
                found.cells.setdefault(sink, []).append((source, max(delays)))
        else:
            (a, _, b), (c, _, d) = words[0].rpartition("/"), words[1].rpartition("/")
            found.wires[(c, d)] = ((a, b), max(delays))
    if not found.setups or not found.wires:
        raise UserError("nextpnr's SDF file has no setup times or no wires: is its form another in this version?")
    return found


@dataclass
class SlowPath:
    """From a clock edge to the next."""

    start: Pin
    end: Pin
    logic: int  # ps: clock to output, cells, setup
    routing: int  # ps
    levels: int  # LUTs and carry chains, reading a memory of LUTs too
    pins: list[Pin]  # outputs on the way, the first first

    @property
    def delay(self) -> int:
        return self.logic + self.routing


def slowest(delays: Delays, keep: int, group: Callable[[Pin, Pin], object]) -> list[SlowPath]:
    """The slowest path of each group of end points, the slowest first. group(start, end): what belongs together."""
    arrival: dict[Pin, tuple[int, str]] = {}  # of an output: ps, the input that comes last
    for start, delay in delays.starts.items():
        arrival[start] = (delay, "")

    def visit(out: Pin) -> None:
        waiting = [out]
        entered: set[Pin] = set()
        while waiting:
            pin = waiting[-1]
            if pin in arrival:
                waiting.pop()
                continue
            before = [delays.wires[i][0] for p, _ in delays.cells.get(pin, ()) if (i := (pin[0], p)) in delays.wires]
            missing = [b for b in before if b not in arrival]
            if missing and pin in entered:
                raise UserError(f"the placed design has a combinational loop, near {pin[0]}")
            entered.add(pin)
            if missing:
                waiting += missing
                continue
            waiting.pop()
            latest = (0, "")
            for port, delay in delays.cells.get(pin, ()):
                wire = delays.wires.get((pin[0], port))
                if wire is not None:
                    latest = max(latest, (arrival[wire[0]][0] + wire[1] + delay, port))
            arrival[pin] = latest

    ends = []
    for end, setup in delays.setups.items():
        if end in delays.wires:
            driver, wire_delay = delays.wires[end]
            visit(driver)
            ends.append((arrival[driver][0] + wire_delay + setup, end))
    result: list[SlowPath] = []
    groups: set[object] = set()
    for _, end in sorted(ends, reverse=True):
        path = _trace(delays, arrival, end)
        if path is None or (key := group(path.start, end)) in groups:
            continue
        groups.add(key)
        result.append(path)
        if len(result) == keep:
            break
    return result


def _trace(delays: Delays, arrival: dict[Pin, tuple[int, str]], end: Pin) -> SlowPath | None:
    """The path to `end`; None if it begins at a pin of the device or at a constant."""
    logic, routing, levels = delays.setups[end], 0, 0
    pins: list[Pin] = []
    at = end
    while True:
        driver, delay = delays.wires[at]
        routing += delay
        pins.append(driver)
        if driver in delays.starts:
            logic += delays.starts[driver]
            return SlowPath(driver, end, logic, routing, levels, pins[::-1])
        port = arrival[driver][1]
        if not port:
            return None
        logic += next(d for p, d in delays.cells[driver] if p == port)
        # A carry chain counts one: where it is entered, not where it goes on. Multiplexers of a slice count none.
        levels += not (port == "FCI" or port in ("FXA", "FXB", "M"))
        at = (driver[0], port)
