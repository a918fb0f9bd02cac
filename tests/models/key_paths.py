# SPDX-License-Identifier: Apache-2.0
"""Where the data of a key memory can go, by the structure of the netlist: values and clock cycles play no part.

What is read from a key memory is followed through every cell and register, in module after module, until it has been
through a round of AES. Whatever else it would reach is found: a port that leads out, another module's input, a memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proofs import YOSYS


@dataclass(frozen=True)
class Rule:
    """For one module. memories: whose read data are followed, by the start of the name of a memory, or `instance.port`
    of a module that holds one. ports: outputs that may show what is followed. into: inputs of instances that may take
    it, as `module.port`; nothing comes out of these again. through: modules that it comes out of as it went in.
    """

    memories: Sequence[str]
    ports: Sequence[str] = ()
    into: Sequence[str] = ()
    through: Sequence[str] = ()


def netlist(files: Sequence[Path], top: str, parameters: Mapping[str, int], out: Path) -> dict[str, Any]:
    """The modules of a design as yosys elaborates them, hierarchy and memories kept."""
    settings = " ".join(f"-G {k}={v}" for k, v in parameters.items())
    names = " ".join(f.name for f in files)
    for f in files:
        (out / f.name).write_text(f.read_text())
    read = f"read_slang -j 1 --keep-hierarchy --top {top} {settings} {names}"
    (out / "script.ys").write_text("\n".join((read, "proc", "opt_clean", "write_json all.json")))
    done = subprocess.run(
        [sys.executable, str(YOSYS), "-ql", "yosys.log", "script.ys"],
        cwd=out, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    modules: dict[str, Any] = json.loads((out / "all.json").read_text())["modules"]
    return modules


def plain(name: str) -> str:
    """The name in the RTL of a module that parameters have made another of."""
    return name.split("$")[0].lstrip("\\")


def leaks(module: Mapping[str, Any], rule: Rule, modules: Mapping[str, Any]) -> list[str]:
    """What the data of the module's key memories reaches against the rule; raises if it has no such memory."""
    cells = module["cells"]
    reached: set[Any] = set()  # bits; and words of memories: name and address, None for any
    found: set[str] = set()
    bad: set[str] = set()

    def bits(cell: Mapping[str, Any], direction: str) -> set[int]:
        ports = [p for p, d in cell["port_directions"].items() if d == direction]
        return {b for p in ports for b in cell["connections"][p] if isinstance(b, int)}

    def word(cell: Mapping[str, Any]) -> tuple[str, str | None]:
        """An array of registers is a memory with constant addresses."""
        address = cell["connections"]["ADDR"]
        return cell["parameters"]["MEMID"], None if any(isinstance(b, int) for b in address) else "".join(address)

    for name, cell in cells.items():
        for memory in rule.memories:
            instance, _, port = memory.partition(".")
            if cell["type"].startswith("$memrd") and memory in cell["parameters"]["MEMID"]:
                reached |= bits(cell, "output")
                found.add(memory)
            elif port and instance == name.split(".")[-1].lstrip("\\"):
                reached |= set(cell["connections"][port])
                found.add(memory)
    assert found == set(rule.memories), f"no memory {set(rule.memories) - found}"

    before = -1
    while before != len(reached):
        before = len(reached)
        for cell in cells.values():
            kind = cell["type"]
            if kind.startswith("$memrd"):
                memory, at = word(cell)
                if any(isinstance(w, tuple) and w[0] == memory and (at is None or w[1] in (at, None)) for w in reached):
                    reached |= bits(cell, "output")
            if reached.isdisjoint(bits(cell, "input")):
                continue
            if kind.startswith("$memwr"):
                reached.add(word(cell))
            elif kind not in modules or plain(kind) in rule.through:
                reached |= bits(cell, "output")
            else:
                for port, to in cell["connections"].items():
                    into = f"{plain(kind)}.{port}"
                    is_input = cell["port_directions"][port] == "input"
                    if is_input and into not in rule.into and not reached.isdisjoint(to):
                        bad.add(f"input {into}")
    for port, p in module["ports"].items():
        if p["direction"] != "input" and port not in rule.ports and not reached.isdisjoint(p["bits"]):
            bad.add(f"port {port}")
    return sorted(bad)
