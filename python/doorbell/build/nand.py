# SPDX-License-Identifier: Apache-2.0
"""The NAND model of sim/nand alone, as a shared library: what measures it needs no RTL."""

from __future__ import annotations

from pathlib import Path

from doorbell import paths
from doorbell.build.cache import cached, hash_files, tool
from doorbell.build.compiler import LINK, OPTIMISE, WARN, Unit, compile_object
from doorbell.build.toolchain import GXX, compiler_version

FLAGS = ["-std=c++17", "-fPIC", OPTIMISE["runtime"], *WARN]


def nand_library() -> Path:
    """The library; built if it is missing."""
    sim = paths.ROOT / "sim"
    sources = sorted((sim / "nand").glob("*.cpp"))
    headers = sorted([*(sim / "nand").glob("*.h"), *(sim / "common").glob("*.h"), sim / "interface" / "db_nand.h"])
    key = (FLAGS, LINK, compiler_version(), hash_files([*sources, *headers]))

    def make(out: Path) -> None:
        objects = [compile_object(Unit(s, [*FLAGS, f"-I{sim}"]), out) for s in sources]
        tool([*GXX, *LINK, "-o", str(out / "libnand.so"), *map(str, objects)], "linking the NAND model")

    return cached("nand", key, make, "building the NAND model") / "libnand.so"
