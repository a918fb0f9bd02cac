# SPDX-License-Identifier: Apache-2.0
"""Which statuses of NVMe a host has seen in the tests that have run, beside what docs/coverage.md says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from doorbell import paths
from doorbell.nvme import statuses
from doorbell.nvme.constants import Status
from doorbell.nvme.vendor import VendorStatus

PAGE = paths.ROOT / "docs" / "coverage.md"
ROW = re.compile(r"^\| `(\w+)` \| ([0-9a-f]{3})h \| (.*) \|$", re.MULTILINE)


def names() -> dict[int, str]:
    """Every status by {type, code}."""
    return {0x100 | v: v.name for v in VendorStatus} | {int(v): v.name for v in Status}


def promised(text: str) -> tuple[dict[int, str], dict[int, str]]:
    """What a page says: statuses that some test sees, and which; those that none does, and why not."""
    seen, _, never = text.partition("## Statuses that no test sees")
    found = [{int(value, 16): said for _, value, said in ROW.findall(part)} for part in (seen, never)]
    return found[0], found[1]


def report(folder: Path, out: Callable[[str], None] = print) -> bool:
    """Print a line for each status that was seen; then those that are to be, and were not. False: one was seen that the
    page says nobody sees."""
    by_status: dict[int, list[statuses.Seen]] = {}
    for seen in statuses.read(folder):
        by_status.setdefault(seen.status, []).append(seen)
    every = names()
    out(f"{'status':26} {'':5} {'commands':>8}  tops; first of the tests")
    for value, group in sorted(by_status.items()):
        commands = len({(s.kind, s.opcode) for s in group})
        tops = " ".join(sorted({s.top for s in group}))
        test = min(s.test for s in group).rpartition("::")[2]
        out(f"{every.get(value, 'not of NVMe'):26} {value:03x}h {commands:>9}  {tops}; {test}")
    ours = {value for value, group in by_status.items() if any(s.top != "functional" for s in group)}
    expected, never = promised(PAGE.read_text()) if PAGE.is_file() else ({}, {})
    missing = [every[value] for value in sorted(expected.keys() - ours)]
    out(f"statuses: {len(ours)} of the RTL were seen, {len(expected)} are to be seen by all tests")
    if missing:
        out(f"not in these tests: {', '.join(missing)}")
    new = [every.get(value, f"{value:03x}h") for value in sorted(ours - expected.keys())]
    if new:
        out(f"seen, and docs/coverage.md does not say so: {', '.join(new)}")
    return not ours & never.keys()
