# SPDX-License-Identifier: Apache-2.0
"""IP for block designs: the Tcl of ip/ is run by what records Vivado's commands; what it makes is compared with the tops as
slang elaborates them, and the limits of parameters with those at which the RTL stops."""

from __future__ import annotations

import re
import tkinter
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from doorbell import __version__
from doorbell.build.slang import parse
from doorbell.release import archive, files
from doorbell.release.ip import legal
from doorbell.release.ip.shape import WIDTHS
from vivado_ip import Packager, Thing

NAMES = [f"{top}_{width}" for top in files.TOPS for width in WIDTHS]
SPLIT = ("m_axis_rq", "s_axis_rc", "s_axis_cq", "m_axis_cc", "s_axil_host")
"""Interfaces of db_recorder that each drive has."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    for name, data in archive.contents().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def elaborated(module: str, parameters: dict[str, int], *more: Path) -> tuple[dict[str, Any], Any]:
    """Ports by name; the body, whose objects live as long as what it comes with."""
    driver, compilation = parse(module, parameters, more)
    body = compilation.getRoot().topInstances[0].body
    return {p.name: p for p in body.portList}, (body, driver, compilation)


@pytest.fixture(scope="module", params=NAMES)
def made(request: pytest.FixtureRequest, unpacked: Path) -> tuple[str, dict[str, Any], Any, Packager]:
    """Its name, the wrapper's ports and body, and the packager that has run."""
    name = request.param
    ports, kept = elaborated(name, {}, unpacked / "ip" / f"{name}.v")
    directions = {n: p.direction.name.lower() for n, p in ports.items()}
    packager = Packager(directions, {p.name for p in kept[0].parameters if not p.isLocalParam})
    packager.run(unpacked / "ip" / "package.tcl", name)
    assert len(packager.saved) == 1 and packager.saved[0] is packager.core
    return name, ports, kept, packager


def core_of(packager: Packager) -> Thing:
    assert packager.core
    return packager.core


def test_each_port_is_in_one_interface_or_is_plain(made: Any, unpacked: Path) -> None:
    name, ports, _, packager = made
    mapped = Counter(
        m.properties["physical_name"]
        for bus in core_of(packager).all("bus_interface").values()
        for m in bus.all("port_map").values()
    )
    plain = re.search(r"db_ip_plain {([^}]*)}", (unpacked / "ip" / f"{name}.tcl").read_text())
    assert plain and max(mapped.values()) == 1
    assert Counter(plain[1].split()) + mapped == Counter(list(ports))
    left = [p for p in plain[1].split() if re.match(r"[sm]_axi", p)]
    assert left == [], "a signal of an interface is connected one by one"


def test_interfaces_have_the_signals_that_their_definitions_want(made: Any) -> None:
    """AMBA's own lists: what a slave or master must have, and which way each signal goes."""
    _, ports, _, packager = made
    for bus in core_of(packager).all("bus_interface").values():
        kind = bus.properties["bus_type_vlnv"].split(":")[2]
        signals = {s: ports[m.properties["physical_name"]] for s, m in bus.all("port_map").items()}
        assert bus.properties["abstraction_type_vlnv"] == bus.properties["bus_type_vlnv"].replace(kind, f"{kind}_rtl")
        master = bus.properties["interface_mode"] == "master"
        if kind in ("clock", "reset"):
            assert not master and len(signals) == 1
            continue
        back = {"TREADY"} if kind == "axis" else {f"{c}READY" for c in ("AW", "W", "AR")}
        for signal, port in signals.items():
            to_master = signal in back or (kind == "aximm" and signal[0] in "BR" and signal not in ("BREADY", "RREADY"))
            assert (port.direction.name == "Out") == (master != to_master), f"{bus.name} {signal}"
            assert port.name == f"{bus.name}_{signal.lower()}"
        if kind == "axis":
            assert {"TVALID", "TREADY", "TDATA"} <= signals.keys()
            continue
        lite = bus.all("bus_parameter")["PROTOCOL"].properties["value"] == "AXI4LITE"
        wanted = {f"{c}{s}" for c in ("AW", "W", "B", "AR", "R") for s in ("VALID", "READY")}
        wanted |= {"AWADDR", "ARADDR", "WDATA", "WSTRB", "BRESP", "RDATA", "RRESP"}
        burst = {f"{c}{s}" for c in ("AW", "AR") for s in ("LEN", "SIZE", "BURST")} | {"WLAST", "RLAST"}
        assert wanted <= signals.keys() and (not signals.keys() & burst if lite else burst <= signals.keys())
        widths = {s: int(p.type.bitWidth) for s, p in signals.items()}
        assert widths["WDATA"] == widths["RDATA"] == 8 * widths["WSTRB"] and widths["AWADDR"] == widths["ARADDR"]
        assert not lite or widths["WDATA"] == 32


def test_every_interface_has_clock_and_reset(made: Any) -> None:
    _, _, _, packager = made
    buses = core_of(packager).all("bus_interface")
    kinds = {n: b.properties["bus_type_vlnv"].split(":")[2] for n, b in buses.items()}
    clock = {n: b.properties["value"].split(":") for n, b in buses["clk"].all("bus_parameter").items()}
    resets = {n for n, kind in kinds.items() if kind == "reset"}
    assert [n for n, kind in kinds.items() if kind == "clock"] == ["clk"]
    assert Counter(clock["ASSOCIATED_BUSIF"]) == Counter(n for n, kind in kinds.items() if kind in ("axis", "aximm"))
    assert set(clock["ASSOCIATED_RESET"]) == resets and "rst" in resets
    assert all(buses[n].all("bus_parameter")["POLARITY"].properties["value"] == "ACTIVE_HIGH" for n in resets)


def test_every_memory_interface_has_its_addresses(made: Any) -> None:
    name, ports, _, packager = made
    core = core_of(packager)
    for bus in core.all("bus_interface").values():
        if ":aximm:" not in bus.properties["bus_type_vlnv"]:
            continue
        size = 1 << int(ports[f"{bus.name}_awaddr"].type.bitWidth)
        if bus.properties["interface_mode"] == "slave":
            assert bus.properties["slave_memory_map_ref"] == bus.name
            [block] = core.all("memory_map")[bus.name].all("address_block").values()
            assert int(block.properties["range"]) == size
        else:
            space = core.all("address_space")[bus.properties["master_address_space_ref"]].properties
            fixed = bus.name == "m_cmb" or name.startswith("db_recorder")
            assert int(space["range"]) == size if fixed else "VALUE.MEDIA_ADDR_W'" in space["range_dependency"]
    assert "guessed" not in {n for kind in ("bus_interface", "memory_map", "address_space") for n in core.all(kind)}


def test_optional_interfaces_go_with_their_parameters(made: Any) -> None:
    name, ports, kept, packager = made
    core = core_of(packager)
    parameters = {p.name for p in kept[0].parameters}
    optional = {n: b.properties["enablement_dependency"] for n, b in core.all("bus_interface").items()
                if "enablement_dependency" in b.properties}  # fmt: skip
    for bus, when in optional.items():
        assert set(re.findall(r"VALUE\.(\w+)'", when)) <= parameters
        for port in (p for p in ports.values() if p.name.startswith(f"{bus}_") and re.fullmatch(r"[a-z]+",
                     p.name.removeprefix(f"{bus}_"))):  # fmt: skip
            given = core.all("port")[port.name].properties
            assert given["enablement_dependency"] == when
            assert ("driver_value" in given) == (port.direction.name == "In")
    top = name.rpartition("_")[0]
    if top == "db_recorder":
        assert set(optional) == {f"{s}_{i}" for s in SPLIT for i in range(8)} - {
            f"{s}_0" for s in SPLIT if s != "s_axil_host"} | {"m_axi"}  # fmt: skip
        assert all(f"N_DRIVES')) > {n[-1]})" in when for n, when in optional.items() if n[-1] in "1234567")
    else:
        assert set(optional) == ({"s_axil"} if top == "db_host" else {"m_cmb"})


SETTINGS: dict[str, list[dict[str, int]]] = {
    "db_ssd": [{}, {"NUM_FN": 17, "NUM_QP": 64, "CMB_LOG2": 16, "MEDIA_ADDR_W": 31}, {"CMB_LOG2": 30}],
    "db_csd": [{}, {"NUM_FN": 4, "CMB_LOG2": 12, "NUM_CMDS": 256}],
    "db_vcsd": [{}, {"NUM_SSD": 8, "NUM_FN": 3, "CMB_LOG2": 20}],
    "db_host": [{}, {"REGS": 0, "CLK_MHZ": 125}],
    "db_recorder": [{}, {"N_DRIVES": 1, "STREAM_W": 1024}, {"N_DRIVES": 8, "HOST_REGS": 1, "BUFFER_LOG2": 20}],
}


@pytest.mark.parametrize("name", NAMES)
def test_wrapper_is_the_top(name: str, unpacked: Path) -> None:
    """It elaborates; the top inside has the parameters that it would have alone; ports are as wide, whatever is set."""
    top, data_w = name.rpartition("_")[0], int(name.rpartition("_")[2])
    for setting in SETTINGS[top]:
        ports, (body, driver, compilation) = elaborated(name, setting, unpacked / "ip" / f"{name}.v")
        driver.reportCompilation(compilation, True)
        assert driver.reportDiagnostics(True), name
        alone, (alone_body, *_kept) = elaborated(top, setting | {"DATA_W": data_w})
        inside = next(m for m in body if m.kind.name == "Instance").body
        for ours, theirs in zip(inside.parameters, alone_body.parameters, strict=True):
            assert str(ours.value) == str(theirs.value), f"{ours.name} is {ours.value}, not {theirs.value}"
        drives = setting.get("N_DRIVES", 2)
        for port in alone.values():
            bits = int(port.type.bitWidth)
            bus = port.name.rpartition("_")
            if top == "db_recorder" and bus[0] in SPLIT:
                widths = {int(ports[f"{bus[0]}_{i}_{bus[2]}"].type.bitWidth) for i in range(8)}
                assert widths == {bits // drives}, port.name
            elif re.fullmatch(r"m_cmb_a[rw]addr", port.name):
                assert int(ports[port.name].type.bitWidth) == 35 >= bits
                wire = next(m for m in body if m.name == f"{port.name}_inner")
                assert int(wire.type.bitWidth) == bits
            else:
                assert int(ports[port.name].type.bitWidth) == bits, port.name


def test_metadata(made: Any, unpacked: Path) -> None:
    name, _, _, packager = made
    [asked] = packager.named("ipx::package_project")
    given = core_of(packager).properties
    vlnv = (asked.options["-vendor"], asked.options["-library"], given["name"])
    assert vlnv == ("doorbell", "nvme", name)
    assert f"{given['version']}.{given['core_revision']}" == ".".join(__version__.split(".")[:3])
    assert Path(asked.options["-root_dir"]) == unpacked / "build" / "ip" / name
    added = [Path(f) for c in packager.named("add_files") for f in packager.tcl.splitlist(c.words[0])]
    assert all(f.is_file() for f in added) and unpacked / "ip" / f"{name}.v" in added
    wanted = [line for line in (unpacked / "filelists" / f"{name.rpartition('_')[0]}.f").read_text().splitlines()]
    assert {unpacked / f for f in wanted if not f.startswith("+")} <= set(added)
    used = {h for f in added if f.suffix in (".sv", ".svh") for h in re.findall(r'`include "(\S+)"', f.read_text())}
    assert used == {f.name for f in added if f.suffix == ".svh"}
    assert (unpacked / "build" / "ip_projects" / name / "fw.hex" in added) == (
        name.split("_")[1] in ("ssd", "csd", "vcsd")
    )
