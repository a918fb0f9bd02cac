# SPDX-License-Identifier: Apache-2.0
"""Programs of the fuzz targets in C: the firmware's own sources without fw/hw, with what stands in for it in
fuzz/firmware, under AddressSanitizer and UndefinedBehaviorSanitizer, with the libFuzzer that is in the package atheris.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from doorbell import paths
from doorbell.build import cached, hash_files, regs, tool
from doorbell.build.toolchain import compiler_version
from doorbell.errors import UserError
from doorbell.fuzz.targets import SOURCES, Target

SANITIZE = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
COMPILE = (
    "-std=gnu11",
    "-g",
    "-O1",
    "-fno-omit-frame-pointer",
    "-ffunction-sections",
    "-fdata-sections",
    *SANITIZE,
    "-fsanitize-sections=.bss.*,.scratch*,.kept,.rings*",
)
OWN = ("-Wall", "-Wextra", "-Werror")  # fmt: skip
COVERAGE = ("-fsanitize-coverage=trace-pc,trace-cmp",)
LAYERS = ("transfer", "state", "commands", "dispatch")
"""Of the firmware: hw is replaced, main.c is included in fuzz/firmware/firmware.c."""
PROCESSORS_OWN = re.compile(r"\b(memset|memcpy)\(void")


def libfuzzer() -> Path:
    """The archive of LLVM's fuzzer."""
    spec = find_spec("atheris")
    if spec is None or spec.origin is None:
        raise UserError(
            "fuzzing needs the package atheris, which has builds for Linux on x86 with Python 3.11 to 3.13 alone"
        )
    return Path(spec.origin).parents[1] / "libclang_rt.fuzzer_no_main.a"


def program(target: Target, fw: Path = paths.ROOT / "fw") -> Path:
    """The target's program, of the firmware in the folder `fw`; built if it is not in the cache."""
    headers = regs() / "c"
    own = [f for f in SOURCES.rglob("*.[ch]")]
    sources = [f for layer in LAYERS for f in sorted((fw / layer).glob("*.c")) if f.name != "main.c"]
    depends = [*own, *(paths.ROOT / "facts" / "c").glob("*.h")]
    defines = [f"-DFUNCTIONS={target.functions}", f"-DEXTENTS={int(target.extents)}"]
    key = (
        target.source, defines, COMPILE, COVERAGE, compiler_version(), libfuzzer().stat().st_size,
        hash_files(depends), hash_files(fw.rglob("*.[ch]"), fw), hash_files(headers.glob("*.h"), headers),
    )  # fmt: skip

    def make(out: Path) -> None:
        # The processor's own memset and memcpy stay out of this machine's program.
        bytes_c = out / "bytes.c"
        bytes_c.write_text(PROCESSORS_OWN.sub(r"fw_\1(void", (fw / "base" / "bytes.c").read_text()))
        include = [f"-I{d}" for d in (SOURCES / "firmware", fw, fw / "base", headers, paths.ROOT / "facts" / "c")]
        common = ["gcc", *COMPILE, *defines, *include, "-c"]
        harness = ["hardware", "devices", "script", target.source]
        work = [(f, COVERAGE) for f in [bytes_c, *sources, SOURCES / "firmware" / "firmware.c"]]
        work += [(SOURCES / "firmware" / f"{name}.c", ()) for name in harness] + [(SOURCES / "main.c", ())]
        objects = []
        for number, (file, more) in enumerate(work):
            objects.append(str(out / f"{number}.o"))
            warnings = ("-w",) if more else OWN  # those of the firmware are its own compiler's business
            tool([*common, *more, *warnings, str(file), "-o", objects[-1]], f"compiling {file.name}")
        objects.append(str(out / "coverage.o"))
        tool(["gcc", "-O2", "-c", str(SOURCES / "coverage.c"), "-o", objects[-1]], "compiling coverage.c")
        made = out / "fuzz"
        tool(
            ["g++", SANITIZE[0], "-Wl,--gc-sections", "-Wl,--wrap=__sanitizer_cov_trace_pc", "-o", str(made), *objects,
             str(libfuzzer()), "-lpthread", "-ldl"], f"linking {target.name}",
        )  # fmt: skip
        for file in [*out.glob("*.o"), bytes_c]:
            file.unlink()

    return cached(f"fuzz-{target.name}", key, make, f"building the fuzz target {target.name}") / "fuzz"
