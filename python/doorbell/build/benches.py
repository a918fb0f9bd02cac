# SPDX-License-Identifier: Apache-2.0
"""Programs that run cocotb tests against one RTL module: Verilator's model of it, with cocotb inside.

Compiling is much of what a bench costs: it is optimised a little, and not if there is very much of it. It is all one
file, as the headers alone take the compiler a fifth of a second. Verilator's headers and runtime are compiled once for
all benches. Only the program is kept: about a megabyte a bench.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doorbell import paths
from doorbell.build import coverage as counting
from doorbell.build.cache import cached, tool, version
from doorbell.build.compiler import leave_out_comparisons
from doorbell.build.rtl import verilator
from doorbell.build.toolchain import GXX, clang, precompiled, version_of

RUNTIME = ("verilated", "verilated_dpi", "verilated_vpi", "verilated_threads")
TRACING = "verilated_vcd_c"  # more of the runtime, for waveforms
COUNTING = "verilated_cov"  # and for coverage
SETTINGS = (
    "-w", "-std=gnu++17", "-fPIC", "-pthread", "-DVERILATOR=1", "-DVM_COVERAGE=0", "-DVM_SC=0", "-DVM_TIMING=0",
    "-DVM_TRACE_FST=0", "-DVM_TRACE_SAIF=0",
)  # fmt: skip
OPTIMISED, UNOPTIMISED = "-O1", "-O0"
MOST_OPTIMISED = 1_500_000
"""Bytes of C++ that runs in every cycle: beyond it, to optimise takes longer than most benches run."""
RECIPE = 7  # raise it when this file makes something else of the same inputs
WAIVED = ("UNUSEDSIGNAL", "UNUSEDPARAM", "DECLFILENAME", "PINCONNECTEMPTY")
COMMENT = re.compile(rb'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)


@dataclass(frozen=True)
class Bench:
    """What a bench is made of. sources: in the order of compilation. folders: where further modules and headers are
    found. depends: every file that ends up in it. wave: able to write a waveform. coverage: what it counts
    (coverage.py) and leaves in coverage.dat where it runs. inside: modules below the top whose signals tests look at;
    all others Verilator may leave out.
    """

    top: str
    sources: Sequence[Path]
    folders: Sequence[Path]
    depends: Iterable[Path]
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    defines: Mapping[str, str] = field(default_factory=dict)
    wave: bool = False
    coverage: str = ""
    inside: Sequence[str] = ()


def without_comments(text: bytes) -> bytes:
    """SystemVerilog without its comments, so that to write a better one builds nothing anew."""
    return COMMENT.sub(lambda m: m[0] if m[0].startswith(b'"') else b"", text)


def flags(wave: bool, coverage: bool, level: str = UNOPTIMISED) -> list[str]:
    include = paths.verilator_root() / "include"
    trace = [f"-DVM_TRACE={int(wave)}", f"-DVM_TRACE_VCD={int(wave)}"]
    settings = [s.replace("COVERAGE=0", "COVERAGE=1") if coverage else s for s in SETTINGS]
    return [level, *settings, *trace, "-isystem", str(include), "-isystem", str(include / "vltstd")]


def parts(wave: bool, coverage: bool) -> list[str]:
    """Of Verilator's runtime: what a bench needs beside the least."""
    return [*([TRACING] if wave else []), *([COUNTING] if coverage else [])]


def runtime(wave: bool, coverage: bool = False) -> Path:
    """The folder with Verilator's runtime as objects, which all benches share."""

    def make(out: Path) -> None:
        include = paths.verilator_root() / "include"
        compiler = [*clang(), *flags(wave, coverage, OPTIMISED), "-c"]
        for name in (*RUNTIME, *parts(wave, coverage)):
            tool([*compiler, str(include / f"{name}.cpp"), "-o", str(out / f"{name}.o")], name)

    key = (RECIPE, flags(wave, coverage), version("verilator"), version_of(clang()))
    return cached("bench-runtime", key, make)


def hash_rtl(files: Iterable[Path]) -> str:
    """A digest of the names and contents of SystemVerilog files, in their order, without comments."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + without_comments(file.read_bytes()) + b"\0")
    return digest.hexdigest()


def program_key(bench: Bench) -> tuple[object, ...]:
    """All that the bench's program depends on."""
    import cocotb_tools.config as cocotb

    place = [bench.coverage, str(paths.ROOT)] if bench.coverage else []  # what it counts, it names by the whole path
    return (
        bench.top, bench.inside, sorted(bench.parameters.items()), sorted(bench.defines.items()), RECIPE,
        hash_rtl(bench.depends), flags(bench.wave, bool(bench.coverage)), WAIVED, version("verilator", "cocotb"),
        version_of(clang()), str(cocotb.libs_dir), *place,
    )  # fmt: skip


def program(bench: Bench) -> Path:
    """The folder with the bench's program, named as its top; built if it is not in the cache.

    Raises UserError with Verilator's or the compiler's output shown if it cannot be built.
    """
    import cocotb_tools.config as cocotb

    def make(out: Path) -> None:
        obj = out / "obj"
        obj.mkdir()
        seen = obj / "seen.vlt"
        seen.write_text(
            "".join(
                [
                    "`verilator_config\n",
                    *(f'public_flat_rw -module "{m}" -var "*"\n' for m in (bench.top, *bench.inside)),
                ]
            )
        )
        tool(
            [
                *verilator(), "--cc", "--exe", "--vpi", "--assert", "--prefix", "Vtop",
                "--Mdir", str(obj), "--top-module", bench.top, "--timescale", "1ns/1ps", "-Wall", "-Wno-fatal",
                "--no-timing", *(f"-Wno-{w}" for w in WAIVED), *(["--trace-vcd"] if bench.wave else []),
                *counting.OPTIONS[bench.coverage],
                *(a for f in bench.folders for a in ("-y", str(f), f"+incdir+{f}")), "+libext+.sv",
                *(f"-D{k}={v}" for k, v in bench.defines.items()),
                *(f"-G{k}={v}" for k, v in bench.parameters.items()), str(seen), *map(str, bench.sources),
            ],
            f"Verilator on {bench.top}",
        )  # fmt: skip
        leave_out_comparisons(obj)
        shared = runtime(bench.wave, bool(bench.coverage))
        made = sorted(obj.glob("Vtop*.cpp"))
        much = sum(f.stat().st_size for f in made if "Slow" not in f.name) > MOST_OPTIMISED
        level = UNOPTIMISED if much else OPTIMISED
        source = obj / "all.cpp"
        main = cocotb.share_dir / "lib" / "verilator" / "verilator.cpp"
        source.write_text("".join(f'#include "{f}"\n' for f in (*made, main)))
        wanted = flags(bench.wave, bool(bench.coverage), level)
        names = ["verilated", "verilated_dpi", "verilated_vpi", *parts(bench.wave, bool(bench.coverage))]
        read = precompiled([f"{name}.h" for name in names], wanted)
        own = obj / "all.o"
        tool([*clang(), *wanted, *read, f"-I{obj}", "-c", str(source), "-o", str(own)], f"compiling {bench.top}")
        objects = [own, *sorted(shared.glob("*.o"))]
        libraries = [f"-Wl,-rpath,{cocotb.libs_dir}", f"-L{cocotb.libs_dir}", "-lcocotbvpi_verilator"]
        tool([*GXX, "-pthread", "-o", str(out / bench.top), *map(str, objects), *libraries], f"linking {bench.top}")
        shutil.rmtree(obj)

    return cached(f"bench-{bench.top}", program_key(bench), make)
