# SPDX-License-Identifier: Apache-2.0
"""Which ports of an IP belong together as an interface of a block design: AXI4-Streams, AXI4, AXI4-Lite, by the names
of ports. What belongs to one drive of several gets ports and interfaces of its own."""

from __future__ import annotations

import re
from dataclasses import dataclass

from doorbell.release.ip.shape import Port, Shape

STREAM = ("tdata", "tkeep", "tlast", "tuser", "tvalid", "tready")
MEMORY = tuple(
    f"{channel}{signal}"
    for channel, signals in {
        "aw": "id addr len size burst prot user valid ready", "w": "data strb last valid ready",
        "b": "id resp valid ready", "ar": "id addr len size burst prot user valid ready",
        "r": "id data resp last valid ready",
    }.items()
    for signal in signals.split()
)  # fmt: skip
SIGNAL = re.compile(rf"(?P<bus>[sm]_\w+?)_(?P<signal>{'|'.join((*STREAM, *MEMORY))})")
TO_SENDER = ("tready", "awready", "wready", "arready", "bid", "bresp", "bvalid", "rid", "rdata", "rresp", "rlast",
             "rvalid")  # fmt: skip
"""Signals that go to the master."""
DRIVES = {"db_recorder": ("N_DRIVES", ("m_axis_rq", "s_axis_rc", "s_axis_cq", "m_axis_cc", "s_axil_host"))}
"""Tops with flat ports for several drives: how many there are, and the interfaces that each has."""
WITH = {
    "m_cmb": "CMB_LOG2", "s_axil": "REGS", "s_axil_host": "HOST_REGS", ("db_recorder", "m_axi"): "BUFFER_LOG2",
}  # fmt: skip
"""Interfaces, of a top or of any, that are not used while a parameter is 0."""


@dataclass(frozen=True)
class Pin:
    """A port of the wrapper. drive: which part of the top's port it is; None: all of it."""

    name: str
    width: str
    port: Port
    drive: int | None = None


@dataclass(frozen=True)
class Bus:
    """signals: name in the interface's definition to port. only: there if each parameter is more than its number."""

    name: str
    kind: str
    master: bool
    signals: dict[str, str]
    only: dict[str, int]


def pins_of(shape: Shape) -> list[Pin]:
    count, split = DRIVES.get(shape.top, ("", ()))
    most = next((p.legal.high for p in shape.parameters if p.name == count and p.legal), 0)
    pins = []
    for port in shape.ports:
        found = SIGNAL.fullmatch(port.name)
        if found and found["bus"] in split:
            width = port.width.removeprefix(count).removeprefix("*")
            pins += [Pin(f"{found['bus']}_{i}_{found['signal']}", width, port, i) for i in range(most)]
        else:
            pins.append(Pin(port.name, port.width, port))
    return pins


def buses_of(shape: Shape, pins: list[Pin]) -> list[Bus]:
    names = {p.name for p in shape.parameters}
    buses: dict[str, Bus] = {}
    for pin in pins:
        found = SIGNAL.fullmatch(pin.name)
        if not found:
            continue
        name, signal = found["bus"], found["signal"]
        if name not in buses:
            family = name.removesuffix(f"_{pin.drive}")
            gate = WITH.get((shape.top, family)) or WITH.get(family)
            only = {gate: 0} if gate in names else {}
            only |= {DRIVES[shape.top][0]: pin.drive} if pin.drive else {}
            buses[name] = Bus(name, "axis" if signal in STREAM else "aximm", name.startswith("m_"), {}, only)
        buses[name].signals[signal.upper()] = pin.name
    complete = [bus for bus in buses.values() if whole(bus)]
    outward = {pin.name: pin.port.output for pin in pins}
    for bus in complete:
        for signal, name in bus.signals.items():
            assert outward[name] == (bus.master != (signal.lower() in TO_SENDER)), f"{shape.top}: {name}: direction"
    return complete


def whole(bus: Bus) -> bool:
    needed = ("TVALID",) if bus.kind == "axis" else ("AWVALID", "WVALID", "BVALID", "ARVALID", "RVALID")
    return all(signal in bus.signals for signal in needed)


def plain_of(pins: list[Pin], buses: list[Bus]) -> list[str]:
    """Ports that are in no interface; clock and resets are not among them."""
    taken = {name for bus in buses for name in bus.signals.values()} | {"clk", *resets_of(pins)}
    return [pin.name for pin in pins if pin.name not in taken]


def resets_of(pins: list[Pin]) -> list[str]:
    """Active high, of clk."""
    return [pin.name for pin in pins if pin.name in ("rst", "por_rst")]
