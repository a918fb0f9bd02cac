# SPDX-License-Identifier: Apache-2.0
"""Vivado's IP packager for those who have none: of the `ipx` commands of UG835 those that ip/package.tcl uses, on
objects that have only the properties they have there. Ports and parameters are what the test says the wrapper has."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from vivado import COMMANDS, FIND, Vivado

DEPENDENT = "enablement_dependency"
PROPERTIES: dict[str, set[str]] = {
    "component": {"name", "version", "core_revision", "display_name", "description", "vendor_display_name",
                  "supported_families"},
    "bus_interface": {"abstraction_type_vlnv", "bus_type_vlnv", "interface_mode", "master_address_space_ref",
                      "slave_memory_map_ref", DEPENDENT},
    "port_map": {"physical_name"},
    "bus_parameter": {"value"},
    "port": {"driver_value", DEPENDENT},
    "user_parameter": {"value_validation_type", "value_validation_list", "value_validation_range_minimum",
                       "value_validation_range_maximum"},
    "guiparamspec": {"tooltip"},
    "memory_map": set(),
    "address_block": {"base_address", "range", "width", "usage"},
    "address_space": {"range", "range_dependency", "range_resolve_type"},
}  # fmt: skip
PACKAGER: dict[str, tuple[str, str, int, int]] = {
    "close_project": ("-delete -quiet -verbose", "", 0, 0),
    "ipx::package_project": ("-import_files -generated_files -force -quiet -verbose",
                             "-root_dir -vendor -library -taxonomy -module -set_current", 0, 0),
    "ipx::current_core": ("-quiet -verbose", "", 0, 1),
    "ipx::remove_bus_interface": ("-quiet -verbose", "", 2, 2),
    "ipx::remove_memory_map": ("-quiet -verbose", "", 2, 2),
    "ipx::remove_address_space": ("-quiet -verbose", "", 2, 2),
    "ipx::associate_bus_interfaces": ("-clear -remove -quiet -verbose", "-busif -clock -reset", 1, 1),
    "ipx::create_xgui_files": ("-quiet -verbose", "-logo_file", 0, 1),
    "ipx::update_checksums": ("-quiet -verbose", "", 0, 1),
    "ipx::check_integrity": ("-quiet -verbose", "-kernel", 0, 1),
    "ipx::save_core": ("-quiet -verbose", "", 0, 1),
    "ipgui::get_guiparamspec": ("-quiet -verbose", "-name -component", 0, 0),
}  # fmt: skip
PACKAGER |= {f"ipx::get_{kind}s": (FIND, "-filter -of_objects", 0, 1) for kind in PROPERTIES}
PACKAGER |= {f"ipx::add_{kind}": ("-quiet -verbose", "", 2, 2) for kind in PROPERTIES}


@dataclass
class Thing:
    """An object of the packager. below: what belongs to it, by kind and name."""

    kind: str
    name: str
    properties: dict[str, str] = field(default_factory=dict)
    below: dict[tuple[str, str], Thing] = field(default_factory=dict)

    def all(self, kind: str) -> dict[str, Thing]:
        return {name: thing for (k, name), thing in self.below.items() if k == kind}


class Packager(Vivado):
    """ports_there: name to direction; parameters_there: names."""

    known = COMMANDS | PACKAGER

    def __init__(self, ports_there: dict[str, str], parameters_there: set[str]) -> None:
        self.ports_there, self.parameters_there = ports_there, parameters_there
        self.core: Thing | None = None
        self.things: dict[str, Thing] = {}
        self.saved: list[Thing] = []
        super().__init__()

    def answer(self, name: str, options: dict[str, str], words: list[str]) -> str:
        if name == "ipx::package_project":
            return self.package(options)
        if name == "get_property" and words[1] in self.things:
            return self.property_of(self.things[words[1]], words[0].lower())
        verb, _, kind = name.removeprefix("ipx::").partition("_")
        if name == "ipgui::get_guiparamspec":
            return self.handle(self.under(options["-component"], "guiparamspec", options["-name"]))
        if not name.startswith("ipx::"):
            return super().answer(name, options, words)
        assert self.core, f"{name}: there is no component"
        if name == "ipx::current_core":
            return self.handle(self.core)
        if verb == "add":
            return self.handle(self.add(kind, words[0], self.things[words[1]]))
        if verb == "get":
            return self.get(kind.removesuffix("s"), self.things[options["-of_objects"]], words)
        if verb == "remove":
            assert self.things[words[1]].below.pop((kind, words[0]), None), f"{name}: there is no {words[0]}"
        if name == "ipx::associate_bus_interfaces":
            self.associate(options)
        if name == "ipx::save_core":
            self.saved.append(self.core)
        return ""

    def package(self, options: dict[str, str]) -> str:
        assert {"-root_dir", "-vendor", "-library", "-taxonomy"} <= options.keys()
        self.core = Thing("component", self.properties["sources_1"]["top"])
        for name in self.ports_there:
            self.add("port", name, self.core)
        for name in self.parameters_there:
            self.add("user_parameter", name, self.core)
            self.add("guiparamspec", name, self.core)
        # What Vivado guesses from names, one of each kind: it has to be gone in the end.
        self.add("bus_interface", "guessed", self.core)
        self.add("memory_map", "guessed", self.core)
        self.add("address_space", "guessed", self.core)
        return ""

    def handle(self, thing: Thing) -> str:
        name = f"{thing.kind}_{id(thing)}"
        self.things[name] = thing
        return name

    def under(self, owner: str, kind: str, name: str) -> Thing:
        found = self.things[owner].below.get((kind, name))
        assert found, f"{self.things[owner].name} has no {kind} {name}"
        return found

    def add(self, kind: str, name: str, owner: Thing) -> Thing:
        assert (kind, name) not in owner.below, f"{owner.name} has a {kind} {name} already"
        return owner.below.setdefault((kind, name), Thing(kind, name))

    def get(self, kind: str, owner: Thing, words: list[str]) -> str:
        if words:
            return self.handle(self.under(self.handle(owner), kind, words[0]))
        return " ".join(self.handle(thing) for thing in owner.all(kind).values())

    def associate(self, options: dict[str, str]) -> None:
        """Notes the interface at the clock, as the packager does."""
        assert self.core
        core = self.handle(self.core)
        self.under(core, "bus_interface", options["-busif"])
        clock = self.under(core, "bus_interface", options["-clock"])
        noted = clock.below.setdefault(
            ("bus_parameter", "ASSOCIATED_BUSIF"), Thing("bus_parameter", "ASSOCIATED_BUSIF")
        )
        before = noted.properties.get("value")
        noted.properties["value"] = f"{before}:{options['-busif']}" if before else options["-busif"]

    def property_of(self, thing: Thing, name: str) -> str:
        known = {"name": thing.name, "direction": self.ports_there.get(thing.name, "") if thing.kind == "port" else ""}
        return thing.properties.get(name) or known[name]

    def set_property(self, *words: str) -> str:
        thing = self.things.get(words[-1])
        if thing is None:
            return super().set_property(*words)
        pairs: Any = self.tcl.splitlist(words[1]) if words[0] == "-dict" else words[:2]
        for name, value in zip(pairs[::2], pairs[1::2], strict=True):
            assert name in PROPERTIES[thing.kind], f"a {thing.kind} has no property {name}"
            thing.properties[name] = str(value)
        return ""
