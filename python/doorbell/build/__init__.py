# SPDX-License-Identifier: Apache-2.0
"""Builds, cached by the content of what goes into them: generated registers, firmware, simulators.

A result's folder is named by a hash of all its inputs, the tools' versions and the flags. It is made under another
name and renamed when complete, under a lock, so that processes that want the same thing at once build it once, and
one that is killed leaves nothing that looks finished.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import typer

from doorbell import paths
from doorbell.errors import UserError
from doorbell.compute.operators import folders as operators

KEEP_DAYS = 14
"""A cached result that nobody asked for in so many days is removed."""

PACKAGES = (
    "common/db_mem_pkg.sv", "nvme/db_nvme_pkg.sv", "pcie/db_pcie_pkg.sv",
    "ssd/db_ssd_op_pkg.sv", "ssd/db_ssd_pkg.sv", "ssd/front/db_ssd_sq_pkg.sv",
    "ssd/completion/db_ssd_cq_pkg.sv", "host/db_host_pkg.sv",
    "host/control/db_host_control_pkg.sv", "compute/db_csd_pkg.sv", "crypto/db_aes_pkg.sv", "recorder/db_rec_pkg.sv",
)  # fmt: skip
"""Our packages in the order in which they depend on each other."""

FOLDERS = (
    "common", "axi", "crypto", "pcie", "pcie/endpoint", "pcie/rootport", "nvme",
    "ssd", "ssd/front", "ssd/data", "ssd/completion", "ssd/admin",
    "host", "host/command", "host/data", "host/control", "compute", "recorder",
)  # fmt: skip
"""Folders of rtl/ with one module a file, lowest layer first."""


INCLUDES = ("axi", "pcie", "ssd")
"""Folders of rtl/ with headers (.svh): types and port lists that depend on a module's parameters."""


def below(*layers: str) -> tuple[str, ...]:
    """Those of FOLDERS that are one of `layers` or inside one."""
    return tuple(f for f in FOLDERS if any(f == layer or f.startswith(f"{layer}/") for layer in layers))


DEVICE = ("pcie", *below("common", "axi", "pcie/endpoint", "nvme", "ssd"))
CSD = (*DEVICE, *below("crypto", "compute"))
HOST = ("pcie", *below("common", "axi", "pcie/rootport", "nvme", "host", "recorder"))
"""The folders that a simulator of a device, one that computes, or of a host, is made of: a change
elsewhere builds nothing anew."""

_held: set[int] = set()  # descriptors of the locks this process holds; child processes get them too


# ---------------------------------------------------------------- the cache


def say(text: str) -> None:
    """A line of progress."""
    print(f"doorbell: {text}", file=sys.stderr, flush=True)


def hash_files(files: Iterable[Path], base: Path = paths.ROOT) -> str:
    """A digest of the files' names (relative to `base` where inside it) and contents."""
    digest = hashlib.sha256()
    for file in sorted(files):
        name = file.relative_to(base) if file.is_relative_to(base) else file.name
        digest.update(f"{name}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`. Programs started meanwhile inherit it and keep it if this process is killed."""
    with open(path, "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _held.add(file.fileno())
        try:
            yield
        finally:
            _held.discard(file.fileno())


def cached(kind: str, key: object, make: Callable[[Path], None], note: str = "") -> Path:
    """The folder of the result `kind` with this key; `make(folder)` fills it if it is not there yet.

    key: anything whose repr holds all that the result depends on. note: a line shown before it is made.
    """
    store = paths.cache() / "build"
    name = f"{kind}-{hashlib.sha256(repr(key).encode()).hexdigest()[:20]}"
    final = store / name
    if _touch(final):
        return final
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise UserError(f"cannot write to the cache {store} ({e.strerror}): set DOORBELL_CACHE to a folder") from e
    with locked(store / f"{name}.lock"):
        if _touch(final):
            return final
        if note:
            say(note)
        temporary = store / f"{name}.tmp"
        shutil.rmtree(temporary, ignore_errors=True)  # left by one that was killed
        temporary.mkdir()
        try:
            make(temporary)
            temporary.rename(final)
        except OSError as e:
            raise UserError(f"cannot build {kind} in {store}: {e}") from e
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    prune(store)
    return final


def _touch(folder: Path) -> bool:
    """True if it is there; marks it as used today."""
    try:
        os.utime(folder)
        return True
    except FileNotFoundError:
        return False


def prune(store: Path, days: float = KEEP_DAYS) -> None:
    """Remove results that have not been used for so many days."""
    limit = time.time() - days * 86400
    for entry in store.iterdir():
        with contextlib.suppress(OSError):
            if entry.stat().st_mtime >= limit or entry.suffix == ".lock":
                continue
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()


def tool(command: list[str], what: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Run a program and return its output; if it fails show that output and raise."""
    try:
        done = subprocess.run(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", pass_fds=tuple(_held),
        )  # fmt: skip
    except FileNotFoundError as e:
        raise UserError(f"{command[0]} is missing: install it (Debian, Ubuntu: apt-get install g++ make perl)") from e
    if done.returncode:
        print(done.stdout.rstrip(), file=sys.stderr)
        raise UserError(f"{what} failed ({Path(command[0]).name}, exit status {done.returncode}); its output is above")
    return done.stdout


def version(*packages: str) -> str:
    return " ".join(f"{p}=={importlib.metadata.version(p)}" for p in packages)


# ---------------------------------------------------------------- the RTL


@dataclass
class RtlSources:
    """The RTL in the order in which a tool must read it."""

    packages: list[Path]
    folders: list[Path]
    extra: list[Path] = field(default_factory=list)

    def modules(self) -> list[Path]:
        """Every file with a module in it."""
        found = [f for folder in self.folders for f in sorted(folder.glob("*.sv")) if f not in self.packages]
        return [*found, *self.extra]

    def all_files(self) -> list[Path]:
        return [*self.packages, *self.modules()]

    def headers(self) -> list[Path]:
        """Every file that others include; tools get their folders, not the files."""
        return sorted(f for folder in include_folders() if folder in self.folders for f in folder.glob("*.svh"))

    def verilator_args(self) -> list[str]:
        """Arguments before the top's own file: packages, third-party files, folders of modules and of headers."""
        library = [a for folder in self.folders for a in ("-y", str(folder))]
        library += [f"+incdir+{folder}" for folder in include_folders()]
        return [*library, "+libext+.sv", "--timescale", "1ns/1ps", *map(str, self.packages), *map(str, self.extra)]

    def files_of(self, top: str) -> list[Path]:
        return [f for f in self.modules() if f.stem == top][:1]


def rtl_sources(gen: Path | None = None, only: tuple[str, ...] = FOLDERS) -> RtlSources:
    """All RTL: ours, the register blocks generated in `gen` (what `regs()` returns), and the admin processor.

    The only list of RTL files there is; lint, simulators, unit tests, proofs and synthesis all take it from here.
    only: of our folders, those that are wanted.
    """
    generated = gen / "rtl" if gen else None
    packages = [paths.RTL / p for p in PACKAGES if str(Path(p).parent) in only and (paths.RTL / p).exists()]
    folders = [paths.RTL / f for f in FOLDERS if f in only and (paths.RTL / f).is_dir()]
    if "compute" in only:
        folders += [f.file.parent for f in operators.find()]
    if generated and generated.is_dir():
        packages = [*sorted(generated.glob("*_pkg.sv")), *packages]  # they need none of ours
        folders.append(generated)
    return RtlSources(packages, folders, [paths.picorv32()])


def include_folders() -> list[Path]:
    """Where the RTL's headers are."""
    return [paths.RTL / folder for folder in INCLUDES]


def find_module(name: str) -> Path | None:
    """The file of one of our modules."""
    folders = [*(paths.RTL / folder for folder in FOLDERS), *(f.file.parent for f in operators.find())]
    return next((f for folder in folders if (f := folder / f"{name}.sv").exists()), None)


def verilator() -> list[str]:
    """The start of a Verilator command (the program itself, without the Perl wrapper)."""
    os.environ["VERILATOR_ROOT"] = str(paths.verilator_root())
    return [str(paths.verilator_root() / "bin" / "verilator_bin")]


# ---------------------------------------------------------------- registers


def regs() -> Path:
    """What is generated from regs/*.rdl: rtl/*.sv, c/*.h, md/*.md, json/*.json in the returned folder."""
    folder = paths.ROOT / "regs"
    script = folder / "generate.py"
    sources = [*folder.glob("*.rdl"), folder / "register_map.py", script]
    if not script.exists():
        raise UserError("regs/generate.py is missing: this clone is not complete")
    ops = [(f.name, f.code, f.reduces, f.latency) for f in operators.find()]
    sources += [f.rdl for f in operators.find() if f.rdl.exists()]
    tools = version("peakrdl", "systemrdl-compiler", "peakrdl-regblock", "peakrdl-cheader", "peakrdl-markdown")
    key = (hash_files(sources), ops, operators.VERSION, tools)

    def make(out: Path) -> None:
        tool([sys.executable, str(script), str(out)], "generating the registers")
        operators.generate(out / "rtl")

    return cached("regs", key, make, "generating the registers")


def regs_html(out: Path) -> Path:
    """Write the register reference as a web page into `out`."""
    rdl = sorted((paths.ROOT / "regs").glob("*.rdl"))
    for file in rdl:
        command = [sys.executable, "-m", "peakrdl", "html", str(file), "-o", str(out / file.stem)]
        tool(command, "making the register reference")
    return out


# ---------------------------------------------------------------- firmware


def firmware() -> Path:
    """The admin processor's program as 32-bit hexadecimal words for $readmemh."""
    folder = paths.ROOT / "fw"
    sources = [f for f in folder.iterdir() if f.suffix in (".c", ".S", ".h", ".ld", ".py")]
    if folder / "build.py" not in sources:
        raise UserError("fw/build.py is missing: this clone is not complete")
    headers = regs() / "c"
    used = {name for file in sources for name in re.findall(r'#include "(\w+\.h)"', file.read_text())}
    included = [h for h in headers.glob("*.h") if h.name in used]
    key = (hash_files(sources), hash_files(included, headers), version("ziglang"))

    def make(out: Path) -> None:
        env = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(paths.cache() / "zig")}
        command = [sys.executable, str(folder / "build.py"), str(out / "fw.hex"), str(headers)]
        tool(command, "building the firmware", env=env)

    return cached("fw", key, make, "building the firmware") / "fw.hex"


# ---------------------------------------------------------------- the simulator


def is_host(top: str) -> bool:
    """True if it stands at a root port: it runs in sim/host_runtime.cpp, all others in sim/runtime.cpp."""
    return top.startswith(("db_host", "db_recorder"))


def computes(top: str) -> bool:
    """True if it has operators in its data path, those of rtl/compute."""
    return top.startswith("db_csd")


def runtime_sources(top: str) -> tuple[Path, list[Path]]:
    """The runtime's source that goes with a top, and the headers that it includes, directly or not."""
    folder = paths.ROOT / "sim"
    source = folder / ("host_runtime.cpp" if is_host(top) else "runtime.cpp")
    if not source.exists():
        raise UserError("sim/ has no sources: this clone is not complete")
    headers: list[Path] = []
    todo = [source]
    while todo:
        for name in re.findall(r'^#include "(\w+\.h)"', todo.pop().read_text(), re.MULTILINE):
            if (file := folder / name).exists() and file not in headers:
                headers.append(file)
                todo.append(file)
    return source, sorted(headers)


def model_files(top: str, sources: RtlSources) -> list[Path]:
    """The RTL that a simulator of this top depends on: its folders, and the generated registers of its kind."""

    def belongs(file: Path) -> bool:
        kind = (is_host(file.stem), computes(file.stem))
        wanted = kind in ((is_host(top), False), (is_host(top), computes(top)))
        return file.is_relative_to(paths.RTL) or file in sources.extra or wanted

    return [f for f in [*sources.all_files(), *sources.headers()] if belongs(f)]


def default_params(top: str, params: dict[str, int | str], file: Path | None = None) -> dict[str, int | str]:
    """`params`, and the firmware's image where the top has a processor."""
    file = file or find_module(top)
    if file is None:
        raise UserError(f"there is no top {top} in rtl/")
    result = dict(params)
    if "FW_HEX" in file.read_text() and "FW_HEX" not in result:
        result["FW_HEX"] = str(firmware())
    return dict(sorted(result.items()))


@functools.cache
def compiler_version() -> str:
    if not shutil.which("g++"):
        raise UserError("g++ is missing: install it (Debian, Ubuntu: apt-get install g++ make perl)")
    return tool(["g++", "--version"], "g++ --version").splitlines()[0]


def jobs() -> int:
    """How many compilers run at once: DOORBELL_JOBS, or all cores this process may use."""
    return int(os.environ.get("DOORBELL_JOBS") or len(os.sched_getaffinity(0)))


def simulator(
    top: str = "db_ssd",
    params: dict[str, int | str] | None = None,
    coverage: bool | None = None,
    trace: bool = False,
    extra: Sequence[Path] = (),
) -> Path:
    """A shared library with the Verilated `top` and the runtime of sim/, for doorbell.device.sim to load.

    params: the top's parameters where they differ from its defaults. coverage: count line and toggle coverage (None:
    if DOORBELL_COVERAGE=1). trace: able to write VCD. extra: files that are not in rtl/, the top's first.
    """
    if coverage is None:
        coverage = os.environ.get("DOORBELL_COVERAGE") == "1"
    settings = default_params(top, params or {}, extra[0] if extra else None)
    host = is_host(top)
    sources = rtl_sources(regs(), HOST if host else CSD if computes(top) else DEVICE)
    if host:
        sources.extra = []  # no processor
    runtime, headers = runtime_sources(top)
    own = [*extra] or sources.files_of(top)
    verilate = [
        "--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--no-timing", "--assert",
        "-Wno-fatal", "-Wno-lint", "-Wno-style", "--prefix", "Vtop", "--top-module", top,
        *(f"-G{k}=" + (f'"{v}"' if isinstance(v, str) else str(v)) for k, v in settings.items()),
        *(["--coverage-line", "--coverage-toggle"] if coverage else []),
        *(["--trace"] if trace else []),
    ]  # fmt: skip
    key = (
        RECIPE, top, verilate, COMPILE, OPTIMISE, LINK, TOP_DEFINES, version("verilator"), compiler_version(),
        hash_files([*{*model_files(top, sources), *own}, paths.RTL / "lint.vlt", runtime, *headers]),
    )  # fmt: skip

    def make(out: Path) -> None:
        obj = out / "obj"
        say(f"translating {top} to C++ with Verilator")
        arguments = [*verilate, "--Mdir", str(obj), *sources.verilator_args(), *map(str, own)]
        # File names relative to the repository: messages are the same in every clone, and the objects too.
        arguments = [a.replace(f"{paths.ROOT}/", "", 1) for a in arguments]
        tool([*verilator(), *arguments], f"Verilator on {top}", cwd=paths.ROOT)
        settle_once(obj)
        defines = [f"-DVM_COVERAGE={int(coverage)}", f"-DVM_TRACE={int(trace)}", f"-DVM_TRACE_VCD={int(trace)}"]
        defines.append(f"-DDB_DATA_W={settings.get('DATA_W', 128 if host else 256)}")
        if host:
            defines.append(f"-DDB_PORTS={settings.get('N_DRIVES', 2 if top.startswith('db_recorder') else 1)}")
        if top.startswith("db_recorder"):
            defines.append(f"-DDB_STREAM_W={settings.get('STREAM_W', 256)}")
            defines.append(f"-DDB_BUFFER_LG={settings.get('BUFFER_LG', 0)}")
        link(obj, [runtime], [*TOP_DEFINES, *defines], out / f"lib{top}.so")
        shutil.rmtree(obj)

    text = " ".join(f"{k}={v}" for k, v in settings.items() if k != "FW_HEX")
    kind = f"sim-{top}{'-coverage' if coverage else ''}{'-trace' if trace else ''}"
    return cached(kind, key, make, f"building the simulator of {top} {text}".rstrip()) / f"lib{top}.so"


def settle_once(obj: Path) -> None:
    """Let the model in `obj` follow its inputs when it is evaluated with clk low, not again at the rising edge.

    Verilator does both. The runtime changes no input in between (`step` in sim/runtime.cpp), so the second time gives
    what is there already, for a seventh of all time.
    """
    before, after = "__VicoFirstIteration = 1U;", "__VicoFirstIteration = !vlSelfRef.clk;"
    for file in obj.glob("*.cpp"):
        text = file.read_text()
        if before in text:
            file.write_text(text.replace(before, after))
            return
    raise UserError("Verilator's code is not as this version of Doorbell expects it: use the pinned Verilator", 3)


RECIPE = 3  # raise it when this file makes something else of the same inputs
TOP_DEFINES = ["-DDB_TOP=Vtop", '-DDB_TOP_HEADER="Vtop.h"']
COMPILE = [
    "-std=c++17", "-fPIC", "-fno-semantic-interposition", "-pthread",
    "-DVERILATOR=1", "-DVM_SC=0", "-DVM_TIMING=0",
]  # fmt: skip
LINK = ["-shared", "-pthread", "-Wl,-Bsymbolic", "-Wl,-O1", "-Wl,--no-undefined"]
OPTIMISE = {"fast": "-O3", "slow": "-O1", "runtime": "-O3"}
WARN = ["-Wall", "-Wextra", "-Werror"]


def link(obj: Path, runtime: list[Path], defines: list[str], library: Path) -> None:
    """Compile Verilator's output in `obj`, its library and our runtime with all cores; link them to `library`."""
    include = paths.verilator_root() / "include"
    system = ["-isystem", str(include), "-isystem", str(include / "vltstd")]
    common = [*COMPILE, *defines, "-I.", *system]
    work: list[tuple[Path, list[str]]] = []
    for file in sorted(obj.glob("*.cpp")):
        kind = "slow" if "__Slow" in file.name or "__Syms" in file.name else "fast"
        work.append((file, [OPTIMISE[kind], "-w", "-fvisibility=hidden", *common]))
    for name in library_files(obj):
        work.append((include / f"{name}.cpp", [OPTIMISE["runtime"], "-w", "-fvisibility=hidden", *common]))
    for file in runtime:
        work.append((file, [OPTIMISE["runtime"], *WARN, *common, f"-I{paths.ROOT / 'sim'}"]))
    work.sort(key=lambda item: -item[0].stat().st_size)  # the longest first, so that the cores end together
    done = 0

    def one(item: tuple[Path, list[str]]) -> Path:
        nonlocal done
        result = compile_object(*item, cwd=obj)
        done += 1
        if done % 10 == 0 or done == len(work):
            say(f"compiled {done} of {len(work)} files")
        return result

    with ThreadPoolExecutor(jobs()) as pool:
        objects = list(pool.map(one, work))
    exports = obj / "exports"
    exports.write_text("{ global: db_*; local: *; };\n")  # the C interfaces of sim/db_sim.h and sim/db_host_sim.h
    tool(["g++", *LINK, f"-Wl,--version-script={exports}", "-o", str(library), *map(str, objects)], "linking")


def library_files(obj: Path) -> list[str]:
    """The parts of Verilator's own library that this model needs, from the list that Verilator writes."""
    listing = next(obj.glob("*_classes.mk")).read_text().replace("\\\n", " ")
    names: list[str] = []
    for line in listing.splitlines():
        if line.startswith(("VM_GLOBAL_FAST", "VM_GLOBAL_SLOW")):
            names += line.split("=", 1)[1].split()
    return names


def compile_object(source: Path, flags: list[str], cwd: Path) -> Path:
    """Compile one C++ file; an object made from the same preprocessed text with the same flags is taken instead."""
    store = paths.cache() / "build"
    text = tool(["g++", "-E", "-P", *flags, str(source)], f"compiling {source.name}", cwd=cwd)
    stable = [f for f in flags if f.startswith(("-O", "-f", "-g", "-m", "-s", "-w", "-W"))]  # the text holds the rest
    digest = hashlib.sha256(f"{compiler_version()}\0{stable}\0{text}".encode()).hexdigest()
    final = store / f"{digest[:24]}.o"
    if _touch(final):
        return final
    temporary = store / f"{digest[:24]}.{os.getpid()}.tmp"
    try:
        tool(["g++", "-c", *flags, str(source), "-o", str(temporary)], f"compiling {source.name}", cwd=cwd)
        temporary.rename(final)
    finally:
        temporary.unlink(missing_ok=True)
    return final


# ---------------------------------------------------------------- the command


def main(
    top: str = typer.Option("db_ssd", help="The top to build a simulator of."),
    data_w: int = typer.Option(256, help="Width of its data path in bits: 128, 256 or 512."),
    coverage: bool = typer.Option(False, "--coverage", help="Count line and toggle coverage."),
    trace: bool = typer.Option(False, "--trace", help="Able to write a VCD file."),
    only: str = typer.Option("all", help="What to build: all, regs, firmware, simulator, or reference: "
                                         "docs/registers.md anew."),
    html: Path | None = typer.Option(None, help="Also write the register reference as web pages into this folder."),
) -> None:
    """Build the registers, firmware and simulator; print where they are.

    What is up to date already is taken from the cache.
    """
    if only not in ("all", "regs", "firmware", "simulator", "reference"):
        raise UserError(f"--only {only}: must be all, regs, firmware, simulator or reference")
    if data_w not in (128, 256, 512):
        raise UserError(f"--data-w {data_w}: must be 128, 256 or 512")
    if html is not None:
        print(regs_html(html))
    if only == "reference":
        regs()  # says what is wrong with the folders of operators
        script = paths.ROOT / "regs" / "generate.py"
        tool([sys.executable, str(script), "--reference"], "writing docs/registers.md")
    if only in ("all", "regs"):
        print(regs())
    if only in ("all", "firmware"):
        print(firmware())
    if only in ("all", "simulator"):
        print(simulator(top, {"DATA_W": data_w}, coverage=coverage or None, trace=trace))
