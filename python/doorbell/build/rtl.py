# SPDX-License-Identifier: Apache-2.0
"""Which RTL there is, and in which order tools must read it: the only list of RTL files."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from doorbell import paths
from doorbell.build import operator_folders
from doorbell.errors import UserError

PACKAGES = (
    "common/db_mem_pkg.sv", "nvme/db_nvme_pkg.sv", "pcie/db_pcie_fn_pkg.sv", "pcie/db_pcie_pkg.sv",
    "pcie/db_pcie_block_pkg.sv", "pcie/db_pcie_straddle_pkg.sv",
    "ssd/db_ssd_op_pkg.sv", "ssd/db_ssd_pkg.sv", "ssd/db_ssd_near_pkg.sv", "ssd/db_ssd_stat_pkg.sv",
    "ssd/front/db_ssd_sq_pkg.sv",
    "ssd/completion/db_ssd_cq_pkg.sv",
    "ssd/data/db_ssd_data_pkg.sv", "ssd/data/db_ssd_order_pkg.sv", "ssd/admin/db_ssd_admin_pkg.sv",
    "host/db_host_pkg.sv",
    "host/control/db_host_control_pkg.sv", "crypto/db_aes_pkg.sv", "compute/db_csd_pkg.sv",
    "compute/near/db_csd_near_pkg.sv", "compute/near/hash/db_csd_near_hash_pkg.sv",
    "compute/near/csv/db_csd_near_csv_pkg.sv",
    "recorder/db_rec_pkg.sv",
    "virt/db_virt_pkg.sv",
    "common/db_mutant_pkg.sv",  # of the copies that ./doorbell mutate makes
)  # fmt: skip
"""Our packages in the order in which they depend on each other."""

FOLDERS = (
    "common", "axi", "crypto", "pcie", "pcie/endpoint", "pcie/rootport", "pcie/peer", "pcie/cmb", "nvme",
    "ssd", "ssd/front", "ssd/data", "ssd/completion", "ssd/admin",
    "host", "host/command", "host/data", "host/control", "compute", "compute/near", "compute/near/column",
    "compute/near/select", "compute/near/grep", "compute/near/aggregate", "compute/near/filter", "compute/near/hash",
    "compute/near/csv", "compute/near/pool",
    "recorder", "virt",
)  # fmt: skip
"""Folders of rtl/ with one module a file, lowest layer first."""

INCLUDES = ("axi", "pcie", "ssd", "host")
"""Folders of rtl/ with headers (.svh): types and port lists that depend on a module's parameters."""


def below(*layers: str) -> tuple[str, ...]:
    """Those of FOLDERS that are one of `layers` or inside one."""
    return tuple(f for f in FOLDERS if any(f == layer or f.startswith(f"{layer}/") for layer in layers))


DEVICE = ("pcie", "pcie/rootport", *below("common", "axi", "pcie/endpoint", "pcie/cmb", "nvme", "ssd"))
CSD = (*DEVICE, *below("crypto", "compute"))
HOST = ("pcie", *below("common", "axi", "pcie/rootport", "nvme", "host", "recorder"))
VCSD = (*DEVICE, *below("crypto", "compute", "pcie/peer", "host", "virt"))
"""The folders that a simulator of a device, one that computes, or of a host, is made of: a change
elsewhere builds nothing anew."""


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
        folders += [f.file.parent for f in operator_folders.find()]
    if generated and generated.is_dir():
        packages = [*sorted(generated.glob("*_pkg.sv")), *packages]  # they need none of ours
        folders.append(generated)
    return RtlSources(packages, folders, [paths.picorv32()])


def include_folders() -> list[Path]:
    """Where the RTL's headers are."""
    return [paths.RTL / folder for folder in INCLUDES]


def find_module(name: str) -> Path | None:
    """The file of one of our modules."""
    folders = [*(paths.RTL / folder for folder in FOLDERS), *(f.file.parent for f in operator_folders.find())]
    return next((f for folder in folders if (f := folder / f"{name}.sv").exists()), None)


def parameters(top: str, file: Path | None = None) -> list[str]:
    """The names of a module's parameters, as its RTL declares them; none where it has no list of them."""
    file = file or find_module(top)
    text = re.sub(r"//.*|(?s:/\*.*?\*/)", "", file.read_text()) if file else ""
    start = rf"\bmodule\s+{top}\b(?:\s*import[^;]*;)*\s*#\s*"
    header = re.search(start + r"\((.*?)\)\s*\(", text.partition("endmodule")[0], re.DOTALL)
    declared = re.sub(r"\blocalparam\b[^,]*", "", header[1]) if header else ""
    return re.findall(r"\b([A-Z][A-Z0-9_]*)\s*=(?!=)", declared)


def default_of(top: str, name: str, file: Path | None = None) -> int | None:
    """What a whole-number parameter of a module is if nobody sets it; None: it has none such."""
    file = file or find_module(top)
    found = re.search(rf"\bparameter\s+int\s+{name}\s*=\s*(\d+)\b", file.read_text()) if file else None
    return int(found[1]) if found else None


def check_params(top: str, params: Iterable[str], file: Path | None = None) -> None:
    """Refuse parameters that the top does not have: the tools would say so late, and worse."""
    known = parameters(top, file)
    for name in params:
        if known and name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(known))}"
            raise UserError(f"{top} has no parameter {name}: {hint}")


def verilator() -> list[str]:
    """The start of a Verilator command (the program itself, without the Perl wrapper)."""
    os.environ["VERILATOR_ROOT"] = str(paths.verilator_root())
    return [str(paths.verilator_root() / "bin" / "verilator_bin")]
