# SPDX-License-Identifier: Apache-2.0
"""IP for block designs: the Tcl of ip/ is run by what records Vivado's commands; what it makes is compared with the
tops as slang elaborates them, and the limits of parameters with those at which the RTL stops."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from doorbell import __version__, paths
from doorbell.build.slang import parse
from doorbell.release import archive, files
from doorbell.release.ip import packaging
from doorbell.release.ip.shape import WIDTHS
from vivado import TclError
from vivado_ip import Packager, Thing

USUAL = (*(f"{top}_256" for top in files.TOPS), "db_ssd_512")
NAMES = [name if name in USUAL else pytest.param(name, marks=pytest.mark.nightly)
         for name in (f"{top}_{width}" for top in files.TOPS for width in WIDTHS)]  # fmt: skip
SPLIT = ("m_axis_rq", "s_axis_rc", "s_axis_cq", "m_axis_cc", "s_axil_host")
"""Interfaces of db_recorder that each drive has."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("archive")
    for name, data in archive.contents().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


@dataclass
class Seen:
    """What slang says of a module: a port's bits, and whether it is an output; values of parameters, also of the first
    instance inside; bits of nets. right: there was nothing against it."""

    bits: dict[str, int]
    output: dict[str, bool]
    parameters: dict[str, str]
    inside: dict[str, str]
    nets: dict[str, int]
    right: bool


def elaborated(module: str, parameters: dict[str, int], *more: Path) -> Seen:
    driver, compilation = parse(module, parameters, more)
    body = compilation.getRoot().topInstances[0].body
    driver.reportCompilation(compilation, True)
    inner = next(m.body for m in body if m.kind.name == "Instance")
    nets = [m for m in body if m.kind.name in ("Net", "Variable")]
    return Seen(
        {p.name: int(p.type.bitWidth) for p in body.portList},
        {p.name: p.direction.name == "Out" for p in body.portList},
        {p.name: str(p.value) for p in body.parameters},
        {p.name: str(p.value) for p in inner.parameters if p.kind.name == "Parameter"},
        {n.name: int(n.type.bitWidth) for n in nets},
        driver.reportDiagnostics(True),
    )


def directions(seen: Seen) -> dict[str, str]:
    return {name: "out" if output else "in" for name, output in seen.output.items()}


@dataclass
class Made:
    name: str
    seen: Seen
    packager: Packager


@pytest.fixture(scope="module", params=NAMES)
def made(request: pytest.FixtureRequest, unpacked: Path) -> Made:
    """The packager that has run."""
    name = request.param
    seen = elaborated(name, {}, unpacked / "ip" / f"{name}.v")
    packager = Packager(directions(seen), {p for p in seen.parameters if not p.endswith("_IS")})
    packager.run(unpacked / "ip" / "package.tcl", name)
    assert len(packager.saved) == 1 and packager.saved[0] is packager.core
    return Made(name, seen, packager)


def core_of(packager: Packager) -> Thing:
    assert packager.core
    return packager.core


def test_each_port_is_in_one_interface_or_is_plain(made: Made, unpacked: Path) -> None:
    mapped = Counter(
        m.properties["physical_name"]
        for bus in core_of(made.packager).all("bus_interface").values()
        for m in bus.all("port_map").values()
    )
    plain = re.search(r"db_ip_plain {([^}]*)}", (unpacked / "ip" / f"{made.name}.tcl").read_text())
    assert plain and max(mapped.values()) == 1
    assert Counter(plain[1].split()) + mapped == Counter(list(made.seen.bits))
    left = [p for p in plain[1].split() if re.match(r"[sm]_axi", p)]
    assert left == [], "a signal of an interface is connected one by one"


def test_interfaces_have_the_signals_that_their_definitions_want(made: Made) -> None:
    """AMBA's own lists: what a slave or master must have, and which way each signal goes."""
    for bus in core_of(made.packager).all("bus_interface").values():
        kind = bus.properties["bus_type_vlnv"].split(":")[2]
        signals = {s: m.properties["physical_name"] for s, m in bus.all("port_map").items()}
        assert bus.properties["abstraction_type_vlnv"] == bus.properties["bus_type_vlnv"].replace(kind, f"{kind}_rtl")
        master = bus.properties["interface_mode"] == "master"
        if kind in ("clock", "reset"):
            assert not master and len(signals) == 1
            continue
        back = {"TREADY"} if kind == "axis" else {f"{c}READY" for c in ("AW", "W", "AR")}
        for signal, port in signals.items():
            to_master = signal in back or (kind == "aximm" and signal[0] in "BR" and signal not in ("BREADY", "RREADY"))
            assert made.seen.output[port] == (master != to_master), f"{bus.name} {signal}"
            assert port == f"{bus.name}_{signal.lower()}"
        if kind == "axis":
            assert {"TVALID", "TREADY", "TDATA"} <= signals.keys()
            continue
        lite = bus.all("bus_parameter")["PROTOCOL"].properties["value"] == "AXI4LITE"
        wanted = {f"{c}{s}" for c in ("AW", "W", "B", "AR", "R") for s in ("VALID", "READY")}
        wanted |= {"AWADDR", "ARADDR", "WDATA", "WSTRB", "BRESP", "RDATA", "RRESP"}
        burst = {f"{c}{s}" for c in ("AW", "AR") for s in ("LEN", "SIZE", "BURST")} | {"WLAST", "RLAST"}
        assert wanted <= signals.keys() and (not signals.keys() & burst if lite else burst <= signals.keys())
        widths = {s: made.seen.bits[p] for s, p in signals.items()}
        assert widths["WDATA"] == widths["RDATA"] == 8 * widths["WSTRB"] and widths["AWADDR"] == widths["ARADDR"]
        assert not lite or widths["WDATA"] == 32


def test_every_interface_has_clock_and_reset(made: Made) -> None:
    buses = core_of(made.packager).all("bus_interface")
    kinds = {n: b.properties["bus_type_vlnv"].split(":")[2] for n, b in buses.items()}
    clock = {n: b.properties["value"].split(":") for n, b in buses["clk"].all("bus_parameter").items()}
    resets = {n for n, kind in kinds.items() if kind == "reset"}
    assert [n for n, kind in kinds.items() if kind == "clock"] == ["clk"]
    assert Counter(clock["ASSOCIATED_BUSIF"]) == Counter(n for n, kind in kinds.items() if kind in ("axis", "aximm"))
    assert set(clock["ASSOCIATED_RESET"]) == resets and "rst" in resets
    assert all(buses[n].all("bus_parameter")["POLARITY"].properties["value"] == "ACTIVE_HIGH" for n in resets)


def test_every_memory_interface_has_its_addresses(made: Made) -> None:
    core = core_of(made.packager)
    for bus in core.all("bus_interface").values():
        if ":aximm:" not in bus.properties["bus_type_vlnv"]:
            continue
        size = 1 << made.seen.bits[f"{bus.name}_awaddr"]
        if bus.properties["interface_mode"] == "slave":
            assert bus.properties["slave_memory_map_ref"] == bus.name
            [block] = core.all("memory_map")[bus.name].all("address_block").values()
            assert int(block.properties["range"]) == size
        else:
            space = core.all("address_space")[bus.properties["master_address_space_ref"]].properties
            fixed = bus.name == "m_cmb" or made.name.startswith("db_recorder")
            assert int(space["range"]) == size if fixed else "VALUE.MEDIA_ADDR_W'" in space["range_dependency"]
    assert "guessed" not in {n for kind in ("bus_interface", "memory_map", "address_space") for n in core.all(kind)}


def test_optional_interfaces_go_with_their_parameters(made: Made) -> None:
    core = core_of(made.packager)
    optional = {n: b.properties["enablement_dependency"] for n, b in core.all("bus_interface").items()
                if "enablement_dependency" in b.properties}  # fmt: skip
    for bus, when in optional.items():
        assert set(re.findall(r"VALUE\.(\w+)'", when)) <= made.seen.parameters.keys()
        for port in (p for p in made.seen.bits if p.rpartition("_")[0] == bus):
            given = core.all("port")[port].properties
            assert given["enablement_dependency"] == when
            assert ("driver_value" in given) == (not made.seen.output[port])
    top = made.name.rpartition("_")[0]
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
        wrapped = elaborated(name, setting, unpacked / "ip" / f"{name}.v")
        alone = elaborated(top, setting | {"DATA_W": data_w})
        assert wrapped.right and wrapped.inside == alone.parameters
        drives = setting.get("N_DRIVES", 2)
        for port, bits in alone.bits.items():
            bus, _, signal = port.rpartition("_")
            if top == "db_recorder" and bus in SPLIT:
                assert {wrapped.bits[f"{bus}_{i}_{signal}"] for i in range(8)} == {bits // drives}, port
            elif re.fullmatch(r"m_cmb_a[rw]addr", port):
                assert wrapped.bits[port] == 35 and wrapped.nets[f"{port}_inner"] == bits
            else:
                assert wrapped.bits[port] == bits, port


@pytest.mark.parametrize("name", ["db_host_256", *(pytest.param(n, marks=pytest.mark.nightly)
                                                   for n in ("db_ssd_512", "db_recorder_128"))])  # fmt: skip
def test_verilator_takes_the_wrapper_as_verilog(name: str, unpacked: Path) -> None:
    """Of 2005, as the packager wants it; the sources below are SystemVerilog by their names."""
    program, env = paths.verilator_root() / "bin" / "verilator_bin", {"VERILATOR_ROOT": str(paths.verilator_root())}
    options = [
        "--lint-only",
        "--timescale",
        "1ns/1ps",
        "-Wno-fatal",
        "-Wno-WIDTH",
        "+1364-2005ext+v",
        "--top-module",
        name,
    ]
    sources = ["-f", f"filelists/{name.rpartition('_')[0]}.f", f"ip/{name}.v"]
    done = subprocess.run([program, *options, *sources], cwd=unpacked, env=os.environ | env, capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == 0 and f"ip/{name}.v:" not in done.stderr, done.stderr[-3000:]


COMPANY: dict[str, dict[str, int]] = {
    "QUEUE_MAX": {"NUM_CMDS": 256}, "GRANULE_LOG2": {"NUM_SSD": 1, "MEDIA_ADDR_W": 64},
    "MEDIA_ADDR_W": {"NUM_SSD": 1, "GRANULE_LOG2": 18}, "NEAR_CELLS": {"NEAR": 1},
    "NEAR_HASHES": {"NEAR": 1}, "HASH_BYTES": {"NEAR": 1},
}  # fmt: skip
"""What else has to be set for the whole range of a parameter to be legal, or to be looked at."""


def errors(module: str, parameters: dict[str, int], *more: Path) -> list[str]:
    _driver, compilation = parse(module, parameters, more)
    return [str(d.args) for d in compilation.getAllDiagnostics() if d.isError()]


@pytest.mark.parametrize("top", [t if t == "db_ssd" else pytest.param(t, marks=pytest.mark.nightly)
                                 for t in files.TOPS])  # fmt: skip
def test_ranges_end_where_the_rtl_stops(top: str, unpacked: Path, tmp_path: Path) -> None:
    """Of each parameter the ends are legal and what follows them is not, as the top says when it is elaborated."""
    known = elaborated(top, {}).parameters
    said = (unpacked / "ip" / f"{top}_256.tcl").read_text()
    wrapper = (unpacked / "ip" / f"{top}_256.v").read_text()
    ends: list[dict[str, int]] = []

    def given(name: str, value: int) -> dict[str, int]:
        wanted = {"DATA_W": 256} | COMPANY.get(name, {}) | {name: value}
        return {n: v for n, v in wanted.items() if n in known}

    for name, kind, values in re.findall(r"db_ip_parameter (\w+) (range|list) {([^}]*)}", said):
        legal = [int(v) for v in values.split()]
        if kind == "range" and legal == [0, 1]:
            continue  # a bit
        if legal[0] == 0 and (kind == "list" or f"{name}_IS = " in wrapper):
            ends += [] if f"{name}_IS = " in wrapper else [given(name, 0)]
            legal = legal[1:] if kind == "list" else [1, legal[1]]
        ends += [given(name, value) for value in {legal[0], legal[-1]}]
        for value in {legal[0] - 1, 2 * legal[-1] if kind == "list" else legal[-1] + 1}:
            if 0 <= value < 2**31:
                assert errors(top, given(name, value)), f"{name}: {value} is taken"
    assert len(ends) >= (8 if top == "db_host" else 20)
    instances = [f"{top} #({', '.join(f'.{n}({v})' for n, v in end.items())}) i_{i} ();" for i, end in enumerate(ends)]
    (tmp_path / "ends.sv").write_text("module ends;\n" + "\n".join(instances) + "\nendmodule\n")
    assert errors("ends", {}, tmp_path / "ends.sv") == []


@pytest.mark.parametrize("name", NAMES)
def test_wrapper_connects_each_port_with_its_own(name: str, unpacked: Path) -> None:
    """By name; the parts of a flat port lie as its drives do, drive 0 lowest."""
    text = (unpacked / "ip" / f"{name}.v").read_text()
    top = name.rpartition("_")[0]
    header, _, inside = text.partition(f"  {top} #(")
    connected = dict(re.findall(r"^    \.(\w+)\((.+)\),?$", inside, re.MULTILINE))
    wrapped, ports = elaborated(name, {}, unpacked / "ip" / f"{name}.v"), elaborated(top, {})
    own = {p for p in wrapped.parameters if not p.endswith("_IS")}
    assert own | ports.bits.keys() | {"DATA_W"} == connected.keys()
    for one, to in connected.items():
        bus, _, signal = one.rpartition("_")
        if one == "DATA_W":
            assert to == name.rpartition("_")[2]
        elif top == "db_recorder" and bus in SPLIT:
            assert re.fullmatch(rf"{one}_all\[N_DRIVES(\*\([\d/]+\))?-1:0\]", to)
            drives = [f"{bus}_{i}_{signal}" for i in range(8)]
            if ports.output[one]:
                parts = re.findall(
                    rf"N_DRIVES > (\d)\) assign (\w+) = {one}_all\[(\d)\*\(([\d/]+)\) \+: ([\d/]+)\];", header
                )
                assert [(when, port, at) for when, port, at, *_ in parts] == [
                    (str(i), drives[i], str(i)) for i in range(8)
                ]
                assert all(step == bits for *_, step, bits in parts)
            else:
                assert f"  assign {one}_all = {{{', '.join(reversed(drives))}}};" in header
        elif to == f"{one}_inner":
            assert f"  assign {one} = {one}_inner;" in header
        else:
            assert to in (one, f"{one}_IS")


def test_metadata(made: Made, unpacked: Path) -> None:
    name, packager = made.name, made.packager
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


def test_default_that_follows_others_is_0_in_the_tool(unpacked: Path) -> None:
    """With NUM_VEC left alone the top has a vector for each queue pair, however many these are."""
    said = (unpacked / "ip" / "db_ssd_256.tcl").read_text()
    assert re.search(r"db_ip_parameter NUM_VEC range {0 256} {[^}]*; 0: NUM_FN == 1 \? NUM_QP \+ 1 : 33}", said)
    assert elaborated("db_ssd_256", {"NUM_QP": 99}, unpacked / "ip" / "db_ssd_256.v").inside["NUM_VEC"] == "100"


def test_a_name_that_is_none_is_refused_with_those_there_are(unpacked: Path) -> None:
    packager = Packager({}, set())
    with pytest.raises(TclError, match=r"there is no IP db_ssd: there are db_csd_128, .*db_vcsd_512"):
        packager.run(unpacked / "ip" / "package.tcl", "db_ssd")
    with pytest.raises(TclError, match="run this in an unpacked release"):
        packager.run(packaging.COMMON)


def test_wrapper_and_tcl_that_differ_are_refused(unpacked: Path) -> None:
    """The wrapper of one release beside the Tcl of another."""
    seen = elaborated("db_host_256", {}, unpacked / "ip" / "db_host_256.v")
    there, names = directions(seen), set(seen.parameters)
    for ports, parameters, said in (
        (there | {"new": "in"}, names, "has other ports than"),
        (there, names - {"REGS"}, "has no user_parameter REGS"),
    ):
        packager = Packager(ports, parameters)
        with pytest.raises(TclError) as failed:
            packager.run(unpacked / "ip" / "package.tcl", "db_host_256")
        assert said in f"{failed.value}{packager.wrong}" and not packager.saved
