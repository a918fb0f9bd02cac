# SPDX-License-Identifier: Apache-2.0
"""Builds the admin firmware: `python fw/build.py OUT.hex GEN_C_DIR [OPTION]...`.

OUT.hex: $readmemh image of 32-bit words; OUT.elf beside it: the same with symbols. GEN_C_DIR: folder with the generated
db_ssd_fw.h (regs/generate.py OUT makes OUT/c). The compiler is zig's clang from PyPI; the commands are those
of fw/README.md.
"""

from __future__ import annotations

import argparse
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FACTS = HERE.parent / "facts" / "c"
LAYERS = ("base", "hw", "transfer", "state", "commands", "dispatch")
"""Folders of the sources; a file includes headers of its own folder and of those before it (checked by lint)."""

FLAGS = (
    "-target", "riscv32-freestanding-none", "-mcpu=generic_rv32", "-std=c11", "-Os", "-flto",
    "-ffreestanding", "-fno-builtin", "-nostdlib", "-fno-sanitize=all", "-ffunction-sections", "-fdata-sections",
    "-gline-tables-only", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Werror",
)  # fmt: skip
MANY_FLAGS = ("-Xclang", "-Oz", "-mrelax", "-msave-restore")
"""With several functions, behind the others: smaller, and somewhat slower. zig by itself takes -Oz for -Os."""
RAM_BYTES = 65536
MANY_RAM_BYTES = 90112  # with several functions, for 128 command slots or fewer; as the tops have it
PROGRAMS_RAM_BYTES = 4096, 8192  # more with near-storage commands: with one function, several; db_csd, db_vcsd
EXTENTS_RAM_BYTES = 8192, 12288  # ... with extents: db_vcsd
SLM_RAM_BYTES = 4096, 8192  # ... with namespaces of memory and programs
STACK_BYTES = 1216  # at least; the most that it takes, 1088: `./doorbell build --only stack`
LOADED_BYTES = 65536  # the first of it, which an FPGA is loaded with; what is behind is written before it is read


def zig() -> list[str]:
    return [sys.executable, "-m", "ziglang"]


def run(command: list[str], env: dict[str, str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def build(
    out: Path,
    gen_c: Path,
    serial: int = 1,
    functions: int = 1,
    extents: bool = False,
    programs: bool = True,
    slm: bool = False,
) -> None:
    """Compile, link, and write the image as one 32-bit word a line, and the ELF file that it is made of."""
    many = functions > 1
    ram = MANY_RAM_BYTES if many else RAM_BYTES
    if many or extents or slm:  # else the image is db_ssd's, too, which has no more
        ram += programs * PROGRAMS_RAM_BYTES[many] + extents * EXTENTS_RAM_BYTES[many] + slm * SLM_RAM_BYTES[many]
    places = {"RAM_BYTES": str(ram), "RINGS_BYTES": "5K" if many else "0", "STACK_BYTES": str(STACK_BYTES)}
    sources = [HERE / "start.S", *(f for layer in LAYERS for f in sorted((HERE / layer).glob("*.c")))]
    with tempfile.TemporaryDirectory() as folder:
        elf, image = out.with_suffix(".elf"), Path(folder) / "fw.bin"
        out.parent.mkdir(parents=True, exist_ok=True)
        script = Path(folder) / "link.ld"
        script.write_text(re.sub("|".join(places), lambda m: places[m[0]], (HERE / "link.ld").read_text()))
        env = dict(os.environ)
        env.setdefault("ZIG_GLOBAL_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"doorbell-zig-{os.getuid()}"))
        env["ZIG_LOCAL_CACHE_DIR"] = str(Path(folder) / "cache")
        include = [f"-I{folder}" for folder in (HERE, HERE / "base", FACTS, gen_c)]
        run(
            [
                *zig(),
                "cc",
                *FLAGS,
                *(MANY_FLAGS if many else ()),
                f"-DSERIAL={serial}",
                f"-DFUNCTIONS={functions}",
                f"-DEXTENTS={int(extents)}",
                f"-DPROGRAMS={int(programs)}",
                f"-DSLM={int(slm)}",
                *include,
                "-T",
                str(script),
                "-Wl,--gc-sections",
                "-o",
                str(elf),
                *map(str, sources),
            ],
            env,
        )
        run([*zig(), "objcopy", "-O", "binary", str(elf), str(image)], env)
        data = image.read_bytes()
    if len(data) > LOADED_BYTES:
        raise SystemExit(f"the firmware has {len(data)} bytes, the RAM {LOADED_BYTES} that are loaded")
    data += bytes(-len(data) % 4)
    # The rest of what is loaded is in it too: a simulator does not warn, and an FPGA starts as the simulator does.
    words = [w for (w,) in struct.iter_unpack("<I", data.ljust(LOADED_BYTES, b"\0"))]
    out.write_text("".join(f"{w:08x}\n" for w in words))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("gen_c", type=Path)
    parser.add_argument("--serial", type=lambda s: int(s, 0), default=1)
    parser.add_argument("--functions", type=int, default=1, help="memory for so many")
    parser.add_argument("--extents", action="store_true", help="namespaces are on SSDs: db_vcsd")
    parser.add_argument("--no-programs", action="store_true", help="without near-storage commands: db_ssd")
    parser.add_argument("--slm", action="store_true", help="with namespaces of memory and programs: parameter SLM")
    args = parser.parse_args()
    build(args.out, args.gen_c, args.serial, args.functions, args.extents, not args.no_programs, args.slm)
