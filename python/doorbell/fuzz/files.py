# SPDX-License-Identifier: Apache-2.0
"""Fuzz target: files that a user writes. Run by `running`, as a program. The first byte says which kind the rest is: a
job file, a trace, a sweep or a soak's script in YAML, sizes and times. A reader gives a result or a UserError of one
line, nothing else.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["doorbell.bench.jobs", "doorbell.bench.traces", "doorbell.sweep", "doorbell.soak.steps", "doorbell.units"]
):
    from doorbell.bench.jobs import parse_job_file
    from doorbell.bench.traces import commands, parse_trace
    from doorbell.soak import steps
    from doorbell.sweep.spec import load_spec
    from doorbell.units import parse_rate, parse_size, parse_time_ns

from doorbell.errors import UserError

FOLDER = Path(tempfile.mkdtemp(prefix="doorbell-fuzz-"))


def one(data: bytes) -> None:
    if not data:
        return
    text = data[1:].decode("utf-8", errors="surrogateescape")
    try:
        kind = data[0] % 5
        if kind == 0:
            parse_job_file(text)
        elif kind == 1:
            commands(parse_trace(text, "trace"), 4096, 1 << 20, 64)
        elif kind in (2, 3):
            file = FOLDER / "input.yaml"
            file.write_bytes(data[1:])
            (load_spec if kind == 2 else steps.load)(file)
        else:
            for parse in (parse_size, parse_time_ns, parse_rate):
                with contextlib.suppress(ValueError):  # their callers say where it stands
                    parse(text)
    except UserError as e:
        assert str(e) and "\n" not in str(e), f"an error is one line: {e!s}"


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
