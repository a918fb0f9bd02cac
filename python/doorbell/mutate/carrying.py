# SPDX-License-Identifier: Apache-2.0
"""All mutants of a draw in one text of the RTL, with a choice in each of their places: the environment says which of
them runs. So a bench, or a top, is built once for all of them.

What a tool has to know before anything runs cannot be chosen like this; it is judged in a copy of its own, as is what
proofs read.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from doorbell import build, paths
from doorbell.errors import UserError
from doorbell.mutate.changes import Mutant

VARIABLE = "DOORBELL_MUTANT"
"""Of the environment: the number of the mutant that runs, from 1; without it, or with 0, none does."""
NAME = "db_mutant_pkg"
PACKAGE = f"""// Made by ./doorbell mutate: the number in the environment's {VARIABLE}.
package {NAME};
  function automatic int unsigned chosen();
    int file, char;
    string name;
    bit mine;
    chosen = 0;
    name = "";
    mine = 1'b0;
    file = $fopen("/proc/self/environ", "r");
    if (file == 0) return 0;
    forever begin
      char = $fgetc(file);
      if (char < 0) break;
      if (char == 0) begin
        name = "";
        mine = 1'b0;
      end else if (mine) chosen = chosen * 10 + (char - 48);
      else if (char == 61) mine = name == "{VARIABLE}";
      else name = {{name, string'(byte'(char))}};
    end
    $fclose(file);
  endfunction
  int unsigned number = chosen();
endpackage
"""
TOPS: tuple[tuple[str, Mapping[str, int]], ...] = (
    ("db_ssd", {"DATA_W": 256, "NUM_FN": 17, "NUM_QP": 168, "NUM_NS": 20}),
    ("db_ssd", {"DATA_W": 512}),
    ("db_csd", {"DATA_W": 256, "NEAR": 1, "SGL": 1, "CMB_LOG2": 21, "SLM": 1}),
    ("db_vcsd", {"DATA_W": 512, "NUM_SSD": 4, "STRIPE": 1, "NEAR": 1, "SGL": 1, "CMB_LOG2": 16, "SLM": 1}),
    ("db_host", {"DATA_W": 256}),
    ("db_recorder", {"N_DRIVES": 3, "STREAM_W": 512}),
)
"""Which Verilator reads to see what can be carried: most of the modules are in one of them."""


def carried(text: str, mutants: Mapping[int, Mutant]) -> str:
    """The text of a file with these mutants, by number; each has a size, and lines stay where they are."""
    raw = text.encode()

    def between(start: int, end: int, inside: Sequence[tuple[int, Mutant]]) -> bytes:
        parts, at = [], start
        while inside:
            (number, mutant), behind = inside[0], inside[0][1].start + inside[0][1].size
            within = [item for item in inside[1:] if item[1].start < behind]
            other = mutant.apply(text).encode()
            other = other[mutant.start : behind + len(other) - len(raw)]
            parts += [raw[at : mutant.start], f"(({NAME}::number == {number}) ? (".encode(), _line(other), b") : ("]
            parts += [between(mutant.start, behind, within), b"))"]
            at, inside = behind, inside[1 + len(within) :]
        return b"".join([*parts, raw[at:end]])

    outer_first = sorted(mutants.items(), key=lambda item: (item[1].start, -item[1].size))
    return between(0, len(raw), outer_first).decode()


def _line(code: bytes) -> bytes:
    """In one line, without comments."""
    return re.sub(rb"\s*(//[^\n]*)?\n\s*", b" ", code)


def carry(copy: Path, mutants: Mapping[int, Mutant]) -> set[int]:
    """Write all of these that can be carried into the copy of the repository; their numbers. Verilator says which can:
    all in a line that it does not take are left out."""
    (copy / "rtl" / "common" / f"{NAME}.sv").write_text(PACKAGE)
    originals = {m.file: (copy / m.file).read_text() for m in mutants.values()}
    left = {number: m for number, m in mutants.items() if m.size}
    while True:
        for file, text in originals.items():
            (copy / file).write_text(carried(text, {n: m for n, m in left.items() if m.file == file}))
        bad = _lines_with_errors(copy)
        refused = {n for n, m in left.items() if any((m.file, line) in bad for line in _lines(m, originals[m.file]))}
        if not refused:
            if bad:
                file, line = min(bad)
                raise UserError(f"{file}:{line}: Verilator does not take it, and no mutant is there: mend that first")
            return set(left)
        left = {n: m for n, m in left.items() if n not in refused}


def _lines(mutant: Mutant, text: str) -> range:
    raw = text.encode()
    first = raw.count(b"\n", 0, mutant.start) + 1
    return range(first, first + raw.count(b"\n", mutant.start, mutant.start + mutant.size) + 1)


def _lines_with_errors(copy: Path) -> set[tuple[str, int]]:
    """(file, line) of what Verilator finds wrong in the tops."""

    def read(top: str, parameters: Mapping[str, int]) -> str:
        sources = build.rtl_sources(build.regs())
        package = paths.RTL / "common" / f"{NAME}.sv"
        command = [
            *build.verilator(), "--lint-only", "--no-timing", "-sv", "-Wno-fatal", "-Wno-lint", "-Wno-style",
            str(package), *sources.verilator_args(), "--top-module", top,
            *(f"-G{k}={v}" for k, v in parameters.items()), *map(str, sources.files_of(top)),
        ]  # fmt: skip
        here = [part.replace(str(paths.RTL), str(copy / "rtl")) for part in command]
        return subprocess.run(here, capture_output=True, text=True, check=False).stderr

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda top: read(*top), TOPS)
    found = re.findall(rf"^%Error[^ ]*: {re.escape(str(copy))}/(\S+?):(\d+):", "\n".join(said), re.M)
    return {(file, int(line)) for file, line in found}
