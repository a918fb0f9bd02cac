# SPDX-License-Identifier: Apache-2.0
"""`python -m doorbell.cli.lint_rtl`: what the hierarchy of the RTL must keep, as slang elaborates it. For lint.

* A folder instantiates, and takes packages from, only what `MAY_USE` gives it: dependencies point one way.
* A port that every instance leaves open, a parameter that nobody sets, and a constant of a package that nobody reads
  are dead: they go, or `KEPT` says why they stay.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pyslang import driver

from doorbell import paths
from doorbell.build.registers import regs
from doorbell.build.rtl import include_folders, rtl_sources
from doorbell.build.slang import words

TOPS = ("db_ssd", "db_csd", "db_vcsd", "db_host", "db_recorder", "db_axi_fifo")
"""What a user instantiates: nobody inside need connect their ports or set their parameters."""

MAY_USE = {
    "common": (),
    "axi": ("common",),
    "crypto": ("common",),
    "pcie": ("common", "axi"),
    "nvme": ("common",),
    "ssd": ("common", "axi", "pcie", "nvme"),
    "host": ("common", "axi", "pcie", "nvme"),
    "compute": ("common", "axi", "crypto", "pcie", "nvme", "ssd"),
    "recorder": ("common", "axi", "pcie", "nvme", "host"),
    "virt": ("common", "axi", "pcie", "nvme", "ssd", "host", "compute"),
}
"""Of each folder of rtl/, those that it may use beside itself. Folders inside one don't use each other: what is above
them, in the folder itself, wires them."""

SIZE = "a size or time that a design may tune; the default is the one that was measured"
KEPT = {
    "db_tag_pool.used": "its proof reads it",
    "db_csd_wrap.s_core_ready": "a core that cannot stall leaves it open; tests/rtl/tb has one that stalls",
    "db_csd_wrap.OUT_W": "of cores that give another width than they take; tests/rtl/tb has one",
    "db_csd_aes.ZERO_RULE": "an integrator may want ciphertext for zeros too",
    "db_csd_control.RESULTS": SIZE,
    "db_csd_keys.DRAIN": SIZE,
    "db_host_pci.RETRY_MS": SIZE,
    "db_pcie_write.DATA_ROWS": SIZE,
    "db_ssd_write_engine.AHEAD": SIZE,
    "db_ssd_write_exec.COMPARE_BYTES": SIZE,
    "db_ssd_decode.MDTS_LOG2": SIZE,
    "db_pcie_pkg.REQ_*": "PG213's codes, all of them",
    "db_pcie_pkg.CPL_*": "PG213's codes, all of them",
    "db_pcie_pkg.RC_*": "PG213's codes, all of them",
}
"""module.port, module.PARAMETER or package.CONSTANT (* stands for anything) that looks dead: why it stays."""


def kept(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in KEPT)


def folder_of(file: Path) -> str:
    """The folder below rtl/ ("pcie/endpoint"); "" if it is none of ours (generated, third party)."""
    file = file.resolve()
    return str(file.parent.relative_to(paths.RTL)) if file.is_relative_to(paths.RTL) else ""


def allowed(user: str, used: str) -> bool:
    """May what lives in folder `user` use what lives in `used`?"""
    if not user or not used or user == used:
        return True
    above, below = user.split("/")[0], used.split("/")[0]
    if above == below:
        # A folder uses those inside it; those inside use the folder's packages and types, not each other.
        return used.startswith(f"{user}/") or user.startswith(f"{used}/")
    return below in MAY_USE.get(above, ())


def instances(tops: tuple[str, ...]) -> tuple[list[tuple[Any, Any]], Any]:
    """Every (instance, its parent) below `tops`, and slang's source manager."""
    sources = rtl_sources(regs())
    files = [*sources.packages, *sources.modules(), *sources.extra]
    slang = driver.Driver()
    slang.addStandardArgs()
    options = "slang --std 1800-2017 --timescale 1ns/1ps -DSYNTHESIS -Wnone "
    options += "".join(f"--top {t} " for t in tops) + words(include_folders(), files)
    if not (slang.parseCommandLine(options) and slang.processOptions() and slang.parseAllSources()):
        raise SystemExit(1)
    compilation = slang.createCompilation()

    def below(scope: Any, parent: Any) -> Iterator[tuple[Any, Any]]:
        for member in scope:
            kind = member.kind.name
            if kind == "Instance":
                yield member, parent
                yield from below(member.body, member)
            elif kind in ("GenerateBlock", "GenerateBlockArray"):
                yield from below(member, parent)
            elif kind == "InstanceArray":
                yield from below(member.elements, parent)

    found = [pair for top in compilation.getRoot().topInstances for pair in below(top.body, top)]
    return found, compilation


def upward(found: list[tuple[Any, Any]], manager: Any) -> list[str]:
    """Instances that point the wrong way."""
    result = set()
    for instance, parent in found:
        user, used = (Path(manager.getFileName(i.definition.location)) for i in (parent, instance))
        if not allowed(folder_of(user), folder_of(used)):
            result.add(
                f"{shown(user)}: instantiates {instance.definition.name} of rtl/{folder_of(used)}, "
                f"which rtl/{folder_of(user)} must not use"
            )
    return sorted(result)


def upward_packages() -> list[str]:
    """Packages that are used the wrong way, found in the text."""
    home = {f.stem: folder_of(f) for f in paths.RTL.rglob("*_pkg.sv")}
    result = []
    for file in sorted(paths.RTL.rglob("*.sv*")):
        for package in sorted(set(re.findall(r"\b(\w+_pkg)::", file.read_text()))):
            if package in home and not allowed(folder_of(file), home[package]):
                result.append(
                    f"{shown(file)}: takes {package} of rtl/{home[package]}, which rtl/{folder_of(file)} must not use"
                )
    return result


def connected(expression: Any) -> bool:
    """Does something hang on the port? (An output left open is an assignment to nothing.)"""
    if expression is None or expression.kind.name == "Invalid":
        return False
    left = getattr(expression, "left", None)
    return not (left is not None and left.kind.name == "EmptyArgument")


def dead_ports(found: list[tuple[Any, Any]], manager: Any) -> list[str]:
    """Ports of our modules that no instance connects, parameters that no instance sets (nor any test)."""
    ports: dict[tuple[str, str], bool] = defaultdict(bool)
    params: dict[tuple[str, str], bool] = defaultdict(bool)
    files: dict[str, Path] = {}
    for instance, _ in found:
        name, file = instance.definition.name, Path(manager.getFileName(instance.definition.location))
        if name in TOPS or not folder_of(file):
            continue
        files[name] = file
        for connection in instance.portConnections:
            ports[name, connection.port.name] |= connected(connection.expression)
        for parameter in instance.body.parameters:
            if not parameter.isLocalParam:
                params[name, parameter.name] |= bool(parameter.isOverridden)
    tests = "".join(f.read_text() for folder in ("tests", "rtl", "formal") for f in (paths.ROOT / folder).rglob("*.*")
                    if f.suffix in (".py", ".sv") and (folder != "rtl" or f.suffix == ".py"))  # fmt: skip
    result = [f"{shown(files[m])}: nobody connects port {p}" for (m, p), used in ports.items()
              if not used and not kept(f"{m}.{p}")]  # fmt: skip
    result += [f"{shown(files[m])}: nobody sets parameter {p}: make it a localparam" for (m, p), used in params.items()
               if not used and not kept(f"{m}.{p}") and not re.search(rf"\b{p}\b", tests)]  # fmt: skip
    return sorted(result)


def dead_constants() -> list[str]:
    """Constants of our packages, but those made from facts/, that nothing reads."""
    texts = [f.read_text() for f in [*paths.RTL.rglob("*.sv*"), *(paths.ROOT / "tests").rglob("*.py")]]
    texts += [f.read_text() for f in [*(paths.ROOT / "tests").rglob("*.sv"), *(paths.ROOT / "formal").rglob("*.sv")]]
    count: dict[str, int] = defaultdict(int)
    for word in re.findall(r"\b\w+\b", "\n".join(texts)):
        count[word] += 1
    result = []
    for file in sorted(paths.RTL.rglob("*_pkg.sv")):
        text = re.sub(r"(?s)// ---- made by facts/.*?// ---- end of what is made", "", file.read_text())
        for name in re.findall(r"^\s*localparam\b[^=;]*?\b(\w+)\s*=", text, re.M):
            if count[name] < 2 and not kept(f"{file.stem}.{name}"):
                result.append(f"{shown(file)}: nobody reads {name}")
    return result


def shown(file: Path) -> str:
    file = file.resolve()
    return str(file.relative_to(paths.RTL.parent)) if file.is_relative_to(paths.RTL.parent) else str(file)


def main() -> int:
    found, compilation = instances(TOPS)
    manager = compilation.sourceManager
    faults = [*upward(found, manager), *upward_packages(), *dead_ports(found, manager), *dead_constants()]
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
