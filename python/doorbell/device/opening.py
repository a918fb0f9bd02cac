# SPDX-License-Identifier: Apache-2.0
"""Opens a simulated drive by name: a Verilated top, built when it is missing, or the functional model."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

from doorbell.build import has_ssds, is_host, simulator
from doorbell.device import limits
from doorbell.device.functional import FunctionalSsd
from doorbell.device.nand import READ_BUF_BYTES
from doorbell.device.sim import Sim
from doorbell.device.switch_sim import SwitchSim, pages_of
from doorbell.errors import UserError

MAX_FN = 17
"""Functions of a drive: the PF and 16 VFs."""

EXTENTS, GRANULE_LOG2 = 1024, 20
"""Parameters of db_vcsd, where nothing else is said."""


def open_sim(
    backend: str = "rtl",
    *,
    top: str = "db_ssd",
    link: str = "gen3x8",
    data_w: int = 256,
    num_fn: int = 1,
    params: dict[str, int | str] | None = None,
    trace: str | None = None,
    coverage: bool = False,
    **options: Any,
) -> Any:
    """A simulated drive: the Verilated top (built when missing) or the functional model.

    num_fn: PCIe functions, the PF and its VFs, 1 to 17. Of a top with SSDs beside it `ssds` may say what they are.
    trace: what waveforms it can write, "vcd" or "fst". coverage: it counts lines and toggles (`Sim.coverage_counts`).
    """
    if not 1 <= num_fn <= MAX_FN:
        raise UserError(f"{num_fn} functions: a drive has the PF and at most {MAX_FN - 1} VFs")
    if backend == "functional":
        if num_fn > 1:
            raise UserError("the functional model has no VFs: use --backend rtl")
        rate = limits.Link.parse(link).bytes_per_ns * 0.88
        if options.pop("nand", None):
            raise UserError("the functional model has no NAND media: use --backend rtl")
        has = params or {}
        return FunctionalSsd(
            bytes_per_ns=rate,
            num_qp=int(has.get("NUM_QP", 32)),
            uncorrectable=bool(has.get("UNCORRECTABLE", 0)),
            **options,
        )
    if backend != "rtl":
        raise UserError(f"there is no back end '{backend}': use rtl or functional")
    if is_host(top):
        raise UserError(f"{top} is no drive but drives them: only ./doorbell bench --top {top} runs it")
    wanted: dict[str, int | str] = {"DATA_W": data_w, **({"NUM_FN": num_fn} if num_fn > 1 else {}), **(params or {})}
    if has_ssds(top) and (log2 := granule_log2(options, int(wanted.get("EXTENTS", EXTENTS)))) > GRANULE_LOG2:
        wanted.setdefault("GRANULE_LOG2", log2)
    if options.get("nand"):
        wanted.setdefault("READ_BUF_BYTES", READ_BUF_BYTES)
    # Without trace or coverage the same build as every other command uses.
    library = simulator(top, wanted, "toggles" if coverage else None, trace=trace)
    if has_ssds(top):
        if options.pop("nand", None):
            raise UserError(f"the data of {top} is on SSDs: --media is not for it")
        return SwitchSim(library, link=link, **options)
    return Sim(library, link=link, settings=True, **options)


def granule_log2(options: dict[str, Any], extents: int) -> int:
    """Of db_vcsd: log2 of granules that are so large that its table has room for those of the medium."""
    drives, pages = options.get("ssds") or [], options.get("ssd_pages")
    size = options.get("media_size") or sum(4096 * (pages or pages_of(d)) for d in drives)
    log2 = GRANULE_LOG2
    while size >> log2 > extents:
        log2 += 1
    return log2


def sim_link(sim: Any, link: limits.Link) -> limits.Link:
    """`link` with the simulator's own ACK and flow-control policy."""
    known = {f.name for f in fields(limits.Link)}
    policy = {k: v for k, v in getattr(sim, "link_policy", {}).items() if k in known}
    return replace(link, **policy)


def check_clean(sim: Any) -> None:
    """A figure got by breaking a rule of PCIe or AXI is none."""
    broken = sim.errors() if hasattr(sim, "errors") else {}
    if broken:
        raise UserError(f"the drive broke rules of PCIe or AXI while it ran: {broken}")


def parse_params(given: list[str]) -> dict[str, int | str]:
    """Parameters of a top from the command line: NAME=VALUE."""
    out: dict[str, int | str] = {}
    for text in given:
        name, _, value = text.partition("=")
        if not re.fullmatch(r"[A-Z][A-Z0-9_]*", name) or not value.isdecimal():
            raise UserError(f"--param {text}: must look like NUM_CMDS=256")
        out[name] = int(value)
    return out
