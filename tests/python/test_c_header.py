# SPDX-License-Identifier: Apache-2.0
"""sim/interface/*.h as Python reads it (doorbell.device.c_header) beside what the compiler makes of it."""

from __future__ import annotations

import ctypes
import inspect
import subprocess
from pathlib import Path
from typing import Any

import pytest
from doorbell import paths
from doorbell.device import drives, host_sim_interface, sim_interface, switch_sim_interface
from doorbell.device.c_header import CHeader, Option, c_header, chosen, converted
from doorbell.device.host_sim import HostSim
from doorbell.device.sim import Sim
from doorbell.device.switch_sim import SwitchSim
from doorbell.errors import UserError

HEADERS = ("db_nand.h", "db_sim.h", "db_host_sim.h", "db_switch_sim.h")


def asked(header: CHeader) -> list[tuple[str, int]]:
    """C expressions and what Python has for them: all sizes, places of fields, enumerators and constants."""
    out: list[tuple[str, int]] = []
    for name, kind in header.structures.items():
        out.append((f"sizeof({name})", ctypes.sizeof(kind)))
        for field, _ in kind._fields_:
            out.append((f"offsetof({name}, {field})", getattr(kind, field).offset))
            out.append((f"sizeof((({name}*)0)->{field})", getattr(kind, field).size))
    for values in header.enums.values():
        out += values.items()
    return out + list(header.constants.items())


@pytest.mark.parametrize("name", HEADERS)
def test_layout_is_the_compilers(tmp_path: Path, name: str) -> None:
    wanted = asked(c_header(name))
    lines = "\n".join(f'printf("%lld\\n", (long long)({expression}));' for expression, _ in wanted)
    source = tmp_path / "layout.cpp"
    head = f'#include <cstddef>\n#include <cstdio>\n#include "interface/{name}"\n'
    source.write_text(f"{head}int main() {{\n{lines}\n}}\n")
    program = tmp_path / "layout"
    subprocess.run(["g++", f"-I{paths.ROOT / 'sim'}", "-o", program, source], check=True)
    got = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    assert [(e, int(v)) for (e, _), v in zip(wanted, got, strict=True)] == wanted


@pytest.mark.parametrize("name", HEADERS)
def test_nothing_is_passed_over(name: str) -> None:
    """As many of each as the text has."""
    header, text = c_header(name), (paths.ROOT / "sim" / "interface" / name).read_text()
    included = c_header(HEADERS[HEADERS.index(name) - 1]) if name != "db_nand.h" else CHeader("")
    structs, enums = (
        text.count("typedef struct") - text.count("_sim;\n") - text.count("struct db_nand db_nand;\n"),
        text.count("\nenum "),
    )
    assert len(header.structures) == structs + len(included.structures)
    assert len(header.enums) == enums + len(included.enums)
    prefix = name.removesuffix("sim.h").removesuffix("nand.h")
    results = ("int ", "void ", "uint", "const char", "db_")
    starts = [line.replace("*", "* ") for line in text.splitlines() if line.startswith(results) and "(" in line]
    calls = sum(f" {prefix}" in line for line in starts)
    assert len(header.functions) == calls


def test_a_field_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(ValueError, match="is not one plain field"):
        CHeader("x.h")._read("typedef struct s {\n    int a, b;\n} s;\n")


def test_names_are_the_ends_of_enumerators() -> None:
    assert sim_interface.FAULTS == {"ur": 1, "ca": 2, "poison": 3, "drop": 4, "late": 5, "double": 6}
    assert sim_interface.MMIO == {"pending": -1, "ur": -2, "timeout": -3, "bad": -4, "poison": -5}
    assert list(sim_interface.STOPS)[0] == list(host_sim_interface.STOPS)[0] == "rtl"
    assert host_sim_interface.LATENCIES == ("read", "write", "flush", "other", "admin")


@pytest.mark.parametrize(("option", "field", "value", "wanted"), [
    ("cpl_timeout_us", "cpl_timeout_ns", 1.5, 1500), ("ready_us", "ready_ns", None, 0xFFFF_FFFF),
    ("clock_mhz", "clock_khz", 156.25, 156250), ("media_gbps", "media_mbps", 2.5, 2500),
    ("media_gbps", "media_mbps", 0.0004, 1), ("media_gbps", "media_mbps", 0, 0),
    ("media_zero_gbps", "media_zero_kbps", 0.0005, 500), ("media_zero_gbps", "media_zero_kbps", 0, 0),
    ("media_zero_gbps", "media_zero_kbps", 1e-9, 1), ("media_zero_gbps", "media_zero_kbps", 0.0, 0),
    ("mps", "mps", 256, 256),
    ("timeout_ms", "timeout_500ms", 700, 2), ("timeout_ms", "timeout_500ms", 10**9, 255),
    ("lba_bytes", "lba_shift", 4096, 12), ("stall_chance", "stall_ppm", 0.001, 1000),
    ("mps_cap", "mps_cap_code", 512, 2),
    ("link_latency_ns", "link_latency_ns", 7, 7), ("window", "window_base", 1 << 40, 1 << 40),
])  # fmt: skip
def test_units(option: str, field: str, value: Any, wanted: int) -> None:
    found = Option(option, None, field, "").convert(value)
    assert found == wanted and isinstance(found, int)


def test_a_size_that_is_none() -> None:
    with pytest.raises(ValueError, match="power of two"):
        Option("mps_cap", 256, "mps_cap_code", "").convert(300)


def test_options_have_their_defaults() -> None:
    options = c_header("db_sim.h").options("db_config")
    assert chosen(options, {"mps": 512}, "a Sim")["mps"] == 512
    assert chosen(options, {}, "a Sim")["msi_window"] == (0xFEE0_0000, 0x10_0000)
    assert converted(options, {"cpl_timeout_us": 2})["cpl_timeout_ns"] == 2000
    with pytest.raises(TypeError, match="has no option 'mspeed'"):
        chosen(options, {"mspeed": 1}, "a Sim")


@pytest.mark.parametrize("given", [{"host_latency_ns": 1 << 32}, {"host_latency_ns": -1}, {"cpl_timeout_us": 4.3e6},
                                   {"media_gbps": -1}, {"media_gbps": 5e6}])  # fmt: skip
def test_what_a_field_does_not_hold_is_refused(given: dict[str, Any]) -> None:
    """It would become another number."""
    with pytest.raises(UserError, match=f"{next(iter(given))}: .* is out of range"):
        converted(sim_interface.OPTIONS, given)


@pytest.mark.parametrize(("cls", "options"), [
    (Sim, sim_interface.OPTIONS), (HostSim, host_sim_interface.OPTIONS), (SwitchSim, switch_sim_interface.OPTIONS),
    (drives.PortOptions, host_sim_interface.PORT_OPTIONS), (drives.ModelDrive, host_sim_interface.MODEL_OPTIONS),
])  # fmt: skip
def test_classes_show_their_options(cls: Any, options: dict[str, Option]) -> None:
    shown = inspect.signature(cls).parameters
    for option in options.values():
        assert shown[option.name].default == option.default
        assert f"{option.name} = {option.default!r}: {option.text}" in cls.__doc__


def test_every_option_says_what_it_is() -> None:
    for header in map(c_header, HEADERS):
        for owner in header.structures:
            for option in header.options(owner).values():
                assert len(option.text) > 5, (owner, option)


def test_drive_record() -> None:
    drive = drives.ModelDrive(mps_cap=512, ready_us=None, read=drives.Latency(5, sigma=1.5))
    record = drives.port_record(drive, 250_000)
    assert (record.gen, record.lanes, record.mps_cap_code, record.bdf) == (3, 4, 2, 0x0100)
    assert record.model.ready_ns == 0xFFFF_FFFF and record.model.lba_shift == 9
    assert [(x.kind, x.a, x.b) for x in record.model.latency][:2] == [(2, 5, 1500), (0, 10_000, 0)]
