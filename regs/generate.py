# SPDX-License-Identifier: Apache-2.0
"""Generates everything that comes from the SystemRDL files: `python regs/generate.py OUTDIR`.

OUTDIR/rtl/*.sv   register blocks, each a package and a module (list the packages first); of db_recorder the package
OUTDIR/c/*.h      C headers for firmware and drivers
OUTDIR/md/*.md    reference pages
OUTDIR/json/*     db_recorder's registers for Python
`./doorbell build --only reference` writes docs/registers.md anew (a test says when that is due).
The commands are those of regs/README.md. Nothing is written if the result would be the same.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import register_map

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
from doorbell.build import operator_chain  # noqa: E402

BUSES = {
    "db_nvme": ["passthrough"],
    "db_ssd_fw": ["passthrough"],
    "db_csd": ["passthrough"],
    "db_csd_near": ["passthrough"],
    "db_csd_slots": ["passthrough"],
    "db_vcsd": ["passthrough"],
    "db_vcsd_ssds": ["passthrough"],
    "db_host": ["axi4-lite-flat", "--rt-read-fanin", "--rt-read-response"],
}
"""The SystemRDL files whose RTL is generated, and its bus."""
BY_HAND = ("db_nvme_cmb", "db_recorder")
"""Those whose RTL is written by hand, with a generated package: register_map.py."""
BLOCKS = (*BUSES, *BY_HAND)

# The generated modules drive a struct from several always blocks, field by field, which is what Verilator warns of.
WAIVER = "// verilator lint_off MULTIDRIVEN\n// verilator lint_off UNUSEDSIGNAL\n"


def commands(block: str, out: Path) -> list[list[str]]:
    """The peakrdl commands for one SystemRDL file."""
    rdl = str(HERE / f"{block}.rdl")
    module = f"{block}_regs"
    header = ["c-header", rdl, "-o", str(out / "c" / f"{block}.h"), "--type-style", "lexical"]
    if block in BY_HAND:
        return [header]
    return [
        [
            "regblock",
            rdl,
            "-o",
            str(out / "rtl"),
            "--cpuif",
            *BUSES[block],
            "--default-reset",
            "rst",
            "--module-name",
            module,
            "--package-name",
            f"{module}_pkg",
        ],
        header,
        ["markdown", rdl, "-o", str(out / "md" / f"{block}.md")],
    ]


def generate(out: Path) -> None:
    """Generate into `out` unless what is there comes from the same sources."""
    digest = hashlib.sha256()
    for f in [*(HERE / f"{b}.rdl" for b in BLOCKS), Path(__file__), Path(register_map.__file__)]:
        digest.update(f.read_bytes())
    stamp = out / "regs.stamp"
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    for folder in ("rtl", "c", "md"):
        (out / folder).mkdir(parents=True, exist_ok=True)
    for block in BLOCKS:
        for command in commands(block, out):
            run = subprocess.run(
                [sys.executable, "-c", "from peakrdl.main import main; main()", *command],
                capture_output=True,
                text=True,
                check=False,
            )
            if run.returncode != 0:
                raise SystemExit(f"peakrdl {' '.join(command)}\n{run.stdout}{run.stderr}")
        if block in BY_HAND:
            register_map.write(HERE / f"{block}.rdl", block, out)
            continue
        for part in (f"{block}_regs_pkg.sv", f"{block}_regs.sv"):
            f = out / "rtl" / part
            f.write_text(WAIVER + f.read_text())
    stamp.write_text(digest.hexdigest())


def reference(out: Path) -> str:
    """docs/registers.md: the pages generated into `out`, without what names the machine."""
    pages = []
    for block in BLOCKS:
        page = (out / "md" / f"{block}.md").read_text()
        page = re.sub(r"(?s)^<!---.*?-->\n", "", page)
        page = re.sub(
            r"- (Absolute Address|Base Offset|Size): (0x\w+)\n- Base Offset: 0x\w+\n- Size: (0x\w+)",
            r"Offset \2, \3 bytes.",
            page,
        )
        pages.append(re.sub(r"</?p>", "", page).strip())
    return (
        "# Registers\n\nGenerated from `regs/*.rdl` by `./doorbell build --only reference`. First what a host sees "
        "in BAR 0, then what the\nfirmware sees, then the registers of the compute data path, the virtual drive, "
        "the host accelerator and the recorder.\n\n" + "\n\n".join([*pages, operator_chain.reference()]) + "\n"
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--reference"]:
        with tempfile.TemporaryDirectory() as folder:
            generate(Path(folder))
            (HERE.parent / "docs" / "registers.md").write_text(reference(Path(folder)))
        raise SystemExit(0)
    if len(sys.argv) != 2:
        raise SystemExit("usage: generate.py OUTDIR | --reference")
    generate(Path(sys.argv[1]).resolve())
