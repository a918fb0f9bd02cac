# SPDX-License-Identifier: Apache-2.0
"""Vivado for those who have none: runs a project's Tcl or XDC in a Tcl interpreter, takes only commands and options
that UG835 documents, and records what was asked for. It makes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pytest

try:
    import tkinter
    from tkinter import TclError
except ImportError:  # Debian has it in a package of its own
    tkinter = None  # type: ignore[assignment]
    TclError = Exception  # type: ignore[assignment,misc]

FIND = "-regexp -nocase -quiet -verbose"
COMMANDS: dict[str, tuple[str, str, int, int]] = {
    "create_project": ("-force -in_memory -ip -quiet -verbose", "-part", 0, 2),
    "current_project": ("-quiet -verbose", "", 0, 1),
    "current_design": ("-quiet -verbose", "", 0, 1),
    "current_fileset": ("-constrset -simset -quiet -verbose", "", 0, 1),
    "read_verilog": ("-sv -quiet -verbose", "-library", 1, 1),
    "read_mem": ("-quiet -verbose", "", 1, 1),
    "read_xdc": ("-unmanaged -no_add -quiet -verbose", "-cells -ref -mode", 1, 1),
    "get_board_parts": (f"{FIND} -latest_file_version -latest_hw_revision", "-filter", 0, 1),
    "add_files": ("-norecurse -scan_for_includes -quiet -verbose", "-fileset -of_objects -copy_to", 0, 1),
    "get_filesets": (FIND, "-filter", 0, 1),
    "get_files": (f"{FIND} -all", "-filter -of_objects", 0, 1),
    "create_ip": ("-force -quiet -verbose", "-vlnv -vendor -library -name -version -module_name -dir", 0, 0),
    "get_ips": (f"{FIND} -all -exclude_bd_ips", "-filter", 0, 1),
    "generate_target": ("-force -quiet -verbose", "", 2, 2),
    "update_compile_order": ("-quiet -verbose", "-fileset", 0, 0),
    "launch_runs": ("-force -scripts_only -quiet -verbose", "-jobs -dir -to_step -next_step -host", 1, 1),
    "wait_on_run": ("-quiet -verbose", "-timeout", 1, 1),
    "get_runs": (FIND, "-filter", 0, 1),
    "get_property": ("-min -max -quiet -verbose", "", 2, 2),
    "get_ports": (f"{FIND} -prop_thru_buffers -scoped_to_current_instance", "-filter -of_objects", 0, 1),
    "get_cells": (f"{FIND} -hierarchical", "-filter -of_objects -hsc", 0, 1),
    "get_pins": (f"{FIND} -hierarchical -leaf", "-filter -of_objects -hsc", 0, 1),
    "get_pblocks": (FIND, "-filter -of_objects", 0, 1),
    "create_clock": ("-add -quiet -verbose", "-period -name -waveform", 0, 1),
    "set_false_path": ("-setup -hold -rise -fall -reset_path -quiet", "-from -to -through", 0, 0),
    "set_input_delay": ("-rise -fall -max -min -add_delay -clock_fall -quiet", "-clock -reference_pin", 2, 2),
    "set_operating_conditions": ("-quiet -verbose", "-design_power_budget -ambient_temp -airflow -process", 0, 0),
    "create_pblock": ("-quiet -verbose", "", 1, 1),
    "resize_pblock": ("-locs -quiet -verbose", "-add -remove -from -to -replace", 1, 1),
    "add_cells_to_pblock": ("-top -add_primitives -clear_locs -quiet -verbose", "", 1, 2),
}
"""Name: options that stand alone, options with a value, fewest and most words beside them."""


@dataclass
class Call:
    name: str
    options: dict[str, str]
    words: list[str]


@dataclass
class Vivado:
    """ports: of the top, each bit by its name; cells: instances by their path."""

    ports: set[str] = field(default_factory=set)
    cells: set[str] = field(default_factory=set)
    boards: tuple[str, ...] = ()
    calls: list[Call] = field(default_factory=list)
    properties: dict[str, dict[str, str]] = field(default_factory=dict)
    ips: dict[str, str] = field(default_factory=dict)
    wrong: str = ""
    known: ClassVar[dict[str, tuple[str, str, int, int]]] = COMMANDS

    def __post_init__(self) -> None:
        if tkinter is None:
            pytest.skip("this Python has no tkinter (Debian: apt-get install python3-tk)")
        self.tcl = tkinter.Tcl()
        self.tcl.eval("namespace eval ipx {}; namespace eval ipgui {}")
        for name in self.known:
            self.tcl.createcommand(name, self.noting(self.command(name)))
        self.tcl.createcommand("set_property", self.noting(self.set_property))

    def noting(self, command: Callable[..., str]) -> Callable[..., str]:
        """Tcl passes on that a command failed, not what it said."""

        def call(*words: str) -> str:
            try:
                return command(*words)
            except AssertionError as e:
                self.wrong = str(e)
                raise

        return call

    def run(self, file: Path, *arguments: str) -> None:
        self.tcl.setvar("argv", " ".join(arguments))
        self.tcl.call("source", str(file))

    def named(self, name: str) -> list[Call]:
        return [call for call in self.calls if call.name == name]

    def command(self, name: str) -> Callable[..., str]:
        alone, valued, fewest, most = self.known[name]

        def call(*words: str) -> str:
            left, options, rest = list(words), {}, []
            while left:
                word = left.pop(0)
                if word in alone.split():
                    options[word] = ""
                elif word in valued.split():
                    assert left, f"{name} {word} wants a value"
                    options[word] = left.pop(0)
                else:
                    assert not re.match(r"-[a-z]", word), f"{name} has no option {word}"
                    rest.append(word)
            assert fewest <= len(rest) <= most, f"{name} {rest}"
            self.calls.append(Call(name, options, rest))
            return self.answer(name, options, rest)

        return call

    def answer(self, name: str, options: dict[str, str], words: list[str]) -> str:
        def tcl(*items: str) -> str:
            return str(self.tcl.call("list", *items)) if not items else self.tcl.eval("list " + " ".join(
                "{" + item + "}" for item in items))  # fmt: skip

        if name == "create_ip":
            assert {"-name", "-module_name"} <= options.keys()
            self.ips[options["-module_name"]] = options["-name"]
        if name == "get_ips":
            assert not words or words[0] in self.ips, f"there is no IP {words}"
            return tcl(*(words or self.ips))
        if name == "get_board_parts":
            pattern = re.escape(words[0]).replace(r"\*", ".*")
            return tcl(*(b for b in self.boards if re.fullmatch(pattern, b)))
        if name in ("get_ports", "get_cells"):
            known = self.ports if name == "get_ports" else self.cells
            found = []
            for word in self.tcl.splitlist(words[0]):
                pattern = re.escape(word).replace(r"\*", ".*")
                some = sorted(p for p in known if re.fullmatch(pattern, p))
                assert some, f"{name}: nothing is called {word}"
                found += some
            return tcl(*found)
        if name == "get_property":
            return "100%" if words[0] == "PROGRESS" else ""
        if name == "create_pblock":
            self.properties[words[0]] = {}
        if name in ("current_project", "current_design", "current_fileset"):
            return name
        return words[0] if words else ""

    def set_property(self, *words: str) -> str:
        if words[0] == "-dict":
            pairs, objects = self.tcl.splitlist(words[1]), words[2:]
            assert len(pairs) % 2 == 0, f"set_property: a value is missing in {words[1]}"
            given = dict(zip(pairs[::2], pairs[1::2], strict=True))
        else:
            assert len(words) == 3, f"set_property {words}"
            given, objects = {words[0]: str(words[1])}, words[2:]
        assert len(objects) == 1 and objects[0], f"set_property of nothing: {words}"
        for thing in self.tcl.splitlist(objects[0]):
            self.properties.setdefault(thing, {}).update({k: str(v) for k, v in given.items()})
        return ""
