# SPDX-License-Identifier: Apache-2.0
"""A run of a fuzz target: libFuzzer as a program of its own, its progress, and what it found."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from doorbell import paths
from doorbell.fuzz.building import libfuzzer, program
from doorbell.fuzz.targets import Target
from doorbell.soak.run import SHARED

STATUS = re.compile(r"^#(\d+)\s+(\w+).*?\bft: (\d+) corp: (\d+)")
DONE = re.compile(r"^Done (\d+) runs")
EXECUTED = re.compile(r"^stat::number_of_executed_units:\s+(\d+)")
NOTES = ("INFO:", "#", "NOTE:", "Running:", "Executed", "***", "stat::")


@dataclass(frozen=True)
class Outcome:
    """executions: inputs that were run. features: what libFuzzer counts as reached. kept: inputs in the corpus.
    failure: the file with the input that failed, or None; why: what was said of it.
    """

    executions: int
    features: int
    kept: int
    seconds: float
    failure: Path | None
    why: str


def command_of(target: Target) -> list[str]:
    """What runs it; libFuzzer's options go behind."""
    if target.source:
        return [str(program(target))]
    libfuzzer()  # atheris is there
    return [sys.executable, "-m", f"doorbell.fuzz.{target.module}"]


def run(
    target: Target,
    *,
    seconds: float = 0,
    runs: int = 0,
    seed: int = 1,
    grow: Path | None = None,
    inputs: list[Path] | None = None,
    out: Path = Path(),
    shown: Callable[[int, float], None] = lambda executions, seconds: None,
) -> Outcome:
    """Run the target on its corpus, then on what comes of it, for so many seconds or runs, whatever is over first (0:
    no limit).

    grow: a folder for inputs that reach something new, which are taken up again the next time. inputs: run these files
    once, and nothing else. out: the folder for an input that fails.
    """
    options = [
        f"-seed={seed}",
        f"-max_len={target.longest}",
        f"-timeout={target.slow_s}",
        "-rss_limit_mb=2048",
        "-verbosity=1",
        "-print_final_stats=1",
        *target.options,
    ]
    with tempfile.TemporaryDirectory(prefix="doorbell-fuzz-", dir=SHARED if SHARED.is_dir() else None) as folder:
        found = Path(folder) / "found"
        new = Path(folder) / "new"
        for place in (found, new):
            place.mkdir()
        options.append(f"-artifact_prefix={found}/")
        if inputs is not None:
            options += map(str, inputs)
        else:
            options += [f"-max_total_time={int(seconds)}"] if seconds else []
            options += [f"-runs={runs}"] if runs else []
            if grow is not None:
                grow.mkdir(parents=True, exist_ok=True)
            options += [str(grow or new), *([str(target.corpus)] if target.corpus.is_dir() else [])]
        return _follow([*command_of(target), *options], found, out, shown)


def _follow(command: list[str], found: Path, out: Path, shown: Callable[[int, float], None]) -> Outcome:
    env = {
        **os.environ,
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1",
        "PYTHONPATH": str(paths.ROOT / "python"),
        "TMPDIR": str(found.parent),  # libFuzzer ends without a word to the target, which could not tidy up
    }
    begun, executions, features, kept = time.monotonic(), 0, 0, 0
    said: deque[str] = deque(maxlen=400)
    with subprocess.Popen(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if status := STATUS.match(line):
                    executions, features, kept = int(status[1]), int(status[3]), int(status[4])
                elif done := DONE.match(line) or EXECUTED.match(line):
                    executions = int(done[1])
                else:
                    said.append(line.rstrip())
                shown(executions, time.monotonic() - begun)
        except BaseException:
            process.terminate()
            raise
    seconds = time.monotonic() - begun
    if process.returncode == 0:
        return Outcome(executions, features, kept, seconds, None, "")
    text = [line for line in said if line.strip() and not line.startswith(NOTES)]
    telling = next(
        (
            line
            for line in text
            if re.search(r"runtime error|^firmware: |AddressSanitizer|libFuzzer: |Exception|Error\b", line)
        ),
        text[-1] if text else f"exit status {process.returncode}",
    )
    file = None
    for left in sorted(
        found.iterdir(), reverse=True
    ):  # the input last: "crash-", "timeout-"; before it a script, if any
        out.mkdir(parents=True, exist_ok=True)
        file = out / left.name
        file.write_bytes(left.read_bytes())
    stack = (line for line in text if line.lstrip().startswith("#") and "fuzzer::" not in line and "libc" not in line)
    report = "\n".join(stack)
    return Outcome(executions, features, kept, seconds, file, f"{telling}\n{report}".strip())
