# SPDX-License-Identifier: Apache-2.0
"""The two compilers. g++ is the system's, which links, and brings the C++ library. clang is that of the package
ziglang, which the firmware is compiled with too: for what Verilator writes it takes half as long, to the same speed.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

from doorbell import paths
from doorbell.build.cache import cached, tool, version
from doorbell.errors import UserError

GXX = ("g++",)
NAME = "headers.pch"
RECIPE = 1  # raise it when `precompiled` makes something else of the same inputs


@functools.cache
def compiler_version() -> str:
    """That of g++, whose library and linker all programs have; with what it says of the machine, of its library and of
    C's: homes are shared by machines, and a library is replaced under the same g++.
    """
    if not shutil.which("g++"):
        raise UserError("g++ is missing: install it (Debian, Ubuntu: apt-get install g++ make perl)")
    said = tool([*GXX, "--version"], "g++ --version").splitlines()[0]
    macros = tool([*GXX, "-dM", "-E", "-x", "c++", "-include", "cstddef", "/dev/null"], "g++ -dM")
    return f"{said}, {hashlib.sha256(macros.encode()).hexdigest()[:12]}"


@functools.cache
def clang() -> tuple[str, ...]:
    """How clang is called, before all other arguments; it reads the headers of g++'s C++ library."""
    folder = paths.package_dir("ziglang")
    library, machine = (tool([*GXX, ask], f"g++ {ask}").strip() for ask in ("-print-libgcc-file-name", "-dumpmachine"))
    return (
        str(folder / "zig"), "clang", f"--target={machine}", f"--gcc-install-dir={Path(library).parent}",
        "-resource-dir", str(folder / "lib"),
    )  # fmt: skip


def version_of(compiler: Sequence[str]) -> str:
    """What an object by this compiler depends on, beside its text and flags."""
    return compiler_version() if tuple(compiler) == GXX else f"{version('ziglang')}, {compiler_version()}"


def precompiled(headers: Sequence[str], flags: Sequence[str]) -> list[str]:
    """Arguments for clang that put Verilator's `headers` before a source. They are read once for all sources with the
    same flags: to read verilated.h and what it includes is a third of the time that a usual source takes.
    """

    def make(out: Path) -> None:
        first = [argument for header in headers[:-1] for argument in ("-include", header)]
        last = include / headers[-1]
        times = ["-Xclang", "-fno-pch-timestamp"]  # an environment that is installed again has other ones
        tool(
            [*clang(), *flags, *times, *first, "-x", "c++-header", str(last), "-o", str(out / NAME)], f"reading {last}"
        )

    include = paths.verilator_root() / "include"
    key = (RECIPE, headers, flags, version("verilator"), version_of(clang()), clang(), str(include))
    return ["-include-pch", str(cached("headers", key, make, log=False) / NAME)]
