# SPDX-License-Identifier: Apache-2.0
"""Simulators: a top, translated by Verilator, with the runtime of sim/ in one shared library."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from doorbell import paths
from doorbell.build import coverage as counting
from doorbell.build.cache import cached, hash_files, say, tool, version
from doorbell.build.compiler import (
    COMPILE,
    FST_INCLUDE,
    LINK,
    OPTIMISE,
    RUNTIME_INCLUDE,
    SANITIZE,
    leave_out_comparisons,
    link,
)
from doorbell.build.firmware_image import firmware
from doorbell.build.registers import regs
from doorbell.build.rtl import (
    CSD,
    DEVICE,
    HOST,
    VCSD,
    RtlSources,
    check_params,
    default_of,
    find_module,
    rtl_sources,
    verilator,
)
from doorbell.build.toolchain import clang, version_of
from doorbell.errors import UserError


def is_host(top: str) -> bool:
    """True if it stands at a root port: it runs in sim/runtime/host_sim.h, all others in sim/runtime/device_sim.h."""
    return top.startswith(("db_host", "db_recorder"))


def has_ssds(top: str) -> bool:
    """True if SSDs stand beside it on a switch, which its simulator then has too."""
    return top.startswith("db_vcsd")


def computes(top: str) -> bool:
    """True if it has operators in its data path, those of rtl/compute."""
    return top.startswith(("db_csd", "db_vcsd"))


def rtl_of(top: str) -> tuple[str, ...]:
    """The folders of rtl/ that a simulator of this top is made of."""
    if is_host(top):
        return HOST
    return VCSD if has_ssds(top) else CSD if computes(top) else DEVICE


def runtime_sources(top: str) -> tuple[list[Path], list[Path]]:
    """The runtime's sources that go with a top, and the headers that these include.

    Found from what the source with the top in it includes: with `x.h` go the sources `x.cpp` and `x_*.cpp` beside it.
    """
    first = paths.ROOT / "sim" / "runtime" / ("host_top.cpp" if is_host(top) else "device_top.cpp")
    if not first.exists():
        raise UserError("sim/ has no sources: this clone is not complete")
    found = [first, *([first.parent / "switch_api.cpp"] if has_ssds(top) else [])]
    for file in found:  # which grows
        for name in re.findall(r'^#include "([\w/]+\.h)"', file.read_text(), re.MULTILINE):
            header = next((h for folder in RUNTIME_INCLUDE if (h := folder / name).exists()), None)
            if header is not None and header not in found:
                found.append(header)
                own = [header.with_suffix(".cpp"), *header.parent.glob(f"{header.stem}_*.cpp")]
                found += [f for f in own if f.exists() and f not in found]
    return sorted(f for f in found if f.suffix == ".cpp"), sorted(f for f in found if f.suffix == ".h")


def model_files(top: str, sources: RtlSources) -> list[Path]:
    """The RTL that a simulator of this top depends on: its folders, and the generated registers of its kind."""

    def belongs(file: Path) -> bool:
        kind = (is_host(file.stem), computes(file.stem))
        wanted = kind in ((is_host(top), False), (is_host(top), computes(top))) or has_ssds(top)
        return file.is_relative_to(paths.RTL) or file in sources.extra or wanted

    return [f for f in [*sources.all_files(), *sources.headers()] if belongs(f)]


def default_params(top: str, params: dict[str, int | str], file: Path | None = None) -> dict[str, int | str]:
    """Those of `params` that are not the top's defaults anyway, so that one simulator serves whoever names them and who
    does not; and the firmware's image where the top has a processor.
    """
    file = file or find_module(top)
    if file is None:
        raise UserError(f"there is no top {top} in rtl/")
    check_params(top, params, file)
    result = {name: value for name, value in params.items() if value != default_of(top, name, file)}
    if "FW_HEX" in file.read_text() and "FW_HEX" not in result:
        functions, slm = int(result.get("NUM_FN", 1)), bool(result.get("SLM", 0))
        result["FW_HEX"] = str(firmware(functions, has_ssds(top), top != "db_ssd", slm))
    return dict(sorted(result.items()))


def simulator(
    top: str = "db_ssd",
    params: dict[str, int | str] | None = None,
    coverage: str | None = None,
    trace: bool | str | None = None,
    extra: Sequence[Path] = (),
) -> Path:
    """A shared library with the Verilated `top` and the runtime of sim/, for doorbell.device.sim to load.

    params: the top's parameters where they differ from its defaults. coverage: what it counts (coverage.py; None:
    what the tests ask for). trace: able to write waveforms, VCD or ("fst") FST (None: VCD if DOORBELL_WAVE is set).
    extra: files that are not in rtl/, the top's first.
    With DOORBELL_SANITIZE=1 the runtime has sanitizers (docs/verification.md), with DOORBELL_CLOCKS_RUN=1 or where a
    waveform would show it no clock stands still (rtl/common/db_clock_gate.sv).
    """
    if coverage is None:
        coverage = counting.wanted()
    if trace is None:
        trace = bool(os.environ.get("DOORBELL_WAVE"))
    fst = trace == "fst"
    sanitize = os.environ.get("DOORBELL_SANITIZE") == "1"
    settings = default_params(top, params or {}, extra[0] if extra else None)
    host = is_host(top)
    sources = rtl_sources(regs(), rtl_of(top))
    if host:
        sources.extra = []  # no processor
    runtime, headers = runtime_sources(top)
    own = [*extra] or sources.files_of(top)
    resting = [] if trace or os.environ.get("DOORBELL_CLOCKS_RUN") == "1" else ["-DDB_CLOCKS_REST"]
    verilate = [
        "--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--no-timing", "--assert",
        "-Wno-fatal", "-Wno-lint", "-Wno-style", "--prefix", "Vtop", "--top-module", top,
        *(f"-G{k}=" + (f'"{v}"' if isinstance(v, str) else str(v)) for k, v in settings.items()),
        *counting.OPTIONS[coverage],
        *resting,
        *(["--trace-fst" if fst else "--trace"] if trace else []),
    ]  # fmt: skip
    files = [*{*model_files(top, sources), *own}, paths.RTL / "lint.vlt", *runtime, *headers,
             *(sorted(FST_INCLUDE.glob("*.h")) if fst else [])]  # fmt: skip
    digest = hash_files(files)
    key = (
        RECIPE, top, verilate, COMPILE, OPTIMISE, LINK, TOP_DEFINES, version("verilator"), version_of(clang()), digest,
        *([SANITIZE] if sanitize else []),
    )  # fmt: skip

    def make(out: Path) -> None:
        obj = out / "obj"
        say(f"translating {top} to C++ with Verilator")
        arguments = [*verilate, "--Mdir", str(obj), *sources.verilator_args(), *map(str, own)]
        # File names relative to the repository: messages are the same in every clone, and the objects too.
        arguments = [a.replace(f"{paths.ROOT}/", "", 1) for a in arguments]
        tool([*verilator(), *arguments], f"Verilator on {top}", cwd=paths.ROOT)
        settle_once(obj)
        leave_out_comparisons(obj)
        traced = bool(trace)
        defines = [*resting, f"-DVM_COVERAGE={int(bool(coverage))}", f"-DVM_TRACE={int(traced)}",
                   f"-DVM_TRACE_VCD={int(traced and not fst)}", *(["-DVM_TRACE_FST=1"] if fst else [])]  # fmt: skip

        def value(name: str) -> int | str | None:
            return settings.get(name, default_of(top, name, own[0] if extra else None))

        defines.append(f"-DDB_DATA_W={value('DATA_W')}")
        if bits := value("MEDIA_ADDR_W"):
            defines.append(f"-DDB_MEDIA_ADDR_W={bits}")
        if functions := value("NUM_FN"):
            defines.append(f"-DDB_NUM_FN={functions}")
        if cmb_log2 := value("CMB_LOG2"):
            defines.append(f"-DDB_CMB_LOG2={cmb_log2}")
        if has_ssds(top):
            defines.append(f"-DDB_NUM_SSD={value('NUM_SSD')}")
            defines.append(f"-DDB_CQ_CC_STRADDLE={settings.get('CQ_CC_STRADDLE', 0)}")
        if host:
            defines.append(f"-DDB_PORTS={value('N_DRIVES') or 1}")
        if top.startswith("db_recorder"):
            defines.append(f"-DDB_STREAM_W={value('STREAM_W')}")
            defines.append(f"-DDB_BUFFER_LOG2={value('BUFFER_LOG2')}")
        if resting and all(
            f.name.endswith(("_pkg.h", "__Syms.h", "__pch.h", f"{ROOT}.h")) for f in obj.glob("Vtop_*.h")
        ):
            defines.append(f'-DDB_ROOT_HEADER="{ROOT}.h"')  # all state is in one class (sim/runtime/stillness.h)
        link(obj, runtime, [*TOP_DEFINES, *defines], out / f"lib{top}.so", sanitize)
        if hash_files(files) != digest:  # minutes later: it may be of the new ones, and would be known as of the old
            raise UserError(f"sources have changed while the simulator of {top} was built: run the same command again")
        shutil.rmtree(obj)

    text = " ".join(f"{k}={v}" for k, v in settings.items() if k != "FW_HEX")
    traced = f"-{trace}" if fst else "-trace" if trace else ""
    kind = f"sim-{top}{'-coverage' if coverage else ''}{traced}{'-sanitize' if sanitize else ''}"
    return cached(kind, key, make, f"building the simulator of {top} {text}".rstrip()) / f"lib{top}.so"


def settle_once(obj: Path) -> None:
    """Let the model in `obj` follow its inputs when it is evaluated with clk low and they have changed.

    Verilator does it in each evaluation. The runtime changes no input before the rising edge (sim/runtime/model.h), so
    that gives what is there already, for a seventh of all time, as it does where nothing has come.
    """
    header = obj / f"{ROOT}.h"
    text = header.read_text() if header.exists() else ""
    inputs = [name for name in re.findall(r"^ +VL_IN\w*\((\w+),", text, re.MULTILINE) if name != "clk"]
    before, after = "__VicoFirstIteration = 1U;", "__VicoFirstIteration = !vlSelfRef.clk && vlSelfRef.inputs_moved();"
    place = "    // INTERNAL VARIABLES\n"
    for file in obj.glob("*.cpp"):
        code = file.read_text()
        if before in code and inputs and place in text:
            file.write_text(code.replace(before, after))
            header.write_text(text.replace(place, followed(inputs) + place))
            return
    raise UserError("Verilator's code is not as this version of Doorbell expects it: use the pinned Verilator", 3)


def followed(inputs: Sequence[str]) -> str:
    """C++ of a class with these members: what they were when `inputs_moved` was true last."""
    lines = [
        "struct {", *(f"    decltype({name}) {name}_was;" for name in inputs), "    bool any = false;", "} followed;",
        "bool inputs_moved() {",
        "    if (followed.any"
        + "".join(f"\n        && !std::memcmp(&{name}, &followed.{name}_was, sizeof {name})" for name in inputs)
        + ") return false;",
        *(f"    std::memcpy(&followed.{name}_was, &{name}, sizeof {name});" for name in inputs),
        "    return followed.any = true;", "}",
    ]  # fmt: skip
    return "".join(f"    {line}\n" for line in lines)


RECIPE = 10  # raise it when this file makes something else of the same inputs
ROOT = "Vtop___024root"
TOP_DEFINES = ["-DDB_TOP=Vtop", '-DDB_TOP_HEADER="Vtop.h"']
