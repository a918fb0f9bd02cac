# SPDX-License-Identifier: Apache-2.0
"""No test is skipped silently: each is counted and named at the end of a run, with its reason. Those whose reason is on
the list here may be; with DOORBELL_STRICT=1, as `.ci/run` has it, any other one makes the run fail."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

LISTED = {
    r"bytes do not depend on the link's width": "one of a grid of cases says the same as another one",
    r"CAP\.NSSRS is 0": "a drive without subsystem resets has none to test",
    r"has no Namespace Management": "of the functional drive, which is none of the tops",
    r"the functional drive|speed of the Verilated drive|needs the Verilated": "only with DOORBELL_BACKEND=functional",
    r"Debian's amd64 packages": "another processor, another system: no guest and no QEMU to run",
    r"no user namespaces here": "a container that forbids them has no file system that could be full",
    r"cannot be fetched by apt-get|needs both headers|no C compiler": "headers by others: no network, no apt-get",
    r"fio_jsonplus_clat2csv is not installed": "fio's own program, if the machine has it",
    r"this Python has no tkinter": "Vivado's Tcl is run by the interpreter that tkinter has, if the machine has it",
    r"no Chromium on this machine": "the page of ./doorbell watch is looked at where there is a browser",
    r"too much other work on this machine": "a bound on the wall clock says nothing then",
    r"is not on record": "a figure of syn/area.json that only a nightly run measures",
}
"""Why a test with such a reason may be skipped, by what matches the reason."""


@dataclass(frozen=True)
class Skip:
    test: str
    reason: str

    def listed(self) -> bool:
        return any(re.search(pattern, self.reason) for pattern in LISTED)


def lines(skips: list[Skip]) -> list[str]:
    """What a run says of them: a line for each reason."""
    said = []
    for (reason, listed), count in sorted(Counter((s.reason, s.listed()) for s in skips).items()):
        tests = [s.test for s in skips if s.reason == reason]
        more = f" and {count - 1} more" if count > 1 else ""
        mark = "" if listed else " (NOT LISTED in tests/models/skips.py)"
        said.append(f"skipped: {count}, {reason}{mark}: {tests[0]}{more}")
    return said
