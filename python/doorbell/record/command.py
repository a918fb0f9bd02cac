# SPDX-License-Identifier: Apache-2.0
"""`./doorbell record` and `./doorbell replay`: a real stream through the simulated recorder to N drives, and back."""

from __future__ import annotations

import json as json_module
import os
import sys
import time
from pathlib import Path
from typing import Any

import typer

from doorbell.device.recorder_setup import MAX_DRIVES
from doorbell.device.recorder_sim import BLOCK
from doorbell.device.sim import SETTINGS
from doorbell.errors import UserError
from doorbell.record.capture import capture
from doorbell.record.playback import play
from doorbell.record.recording import Recording, buffer_size, keep_apart, opened, parse_images, plan_sizes
from doorbell.record.session import Session
from doorbell.signals import signals_raise
from doorbell.ui import progress_bar

KINDS = ("model", "db_ssd", "qemu")


def main(
    input: str = typer.Argument(..., metavar="INPUT", help="What to record; - is stdin."),  # noqa: A002
    drives: int = typer.Option(2, help="How many drives: 1 to 8."),
    ssd: str = typer.Option("model", help="model (of a drive), db_ssd (ours), or qemu (QEMU's stock NVMe drives)."),
    images: list[Path] | None = typer.Option(  # noqa: B008
        None, metavar="FILE ...", help="A file for each drive, made if missing (recording-0.img ...)."
    ),
    rate: float = typer.Option(0, help="What the source brings, GB/s of simulated time; 0: all that is taken."),
    size: str | None = typer.Option(None, help="Of images that are made (as needed; 1G each for stdin)."),
    buffer: str | None = typer.Option(None, help="Memory before the stream, a power of two (64M); none without."),
    json: bool = typer.Option(False, "--json", help="Print the figures as JSON."),
) -> None:
    """Record a file to striped drives through the simulated db_recorder; './doorbell replay' brings it back."""
    if not 1 <= drives <= MAX_DRIVES:
        raise UserError(f"--drives {drives}: 1 to {MAX_DRIVES}")
    if ssd not in KINDS:
        raise UserError(f"--ssd {ssd}: must be {', '.join(KINDS)}")
    if rate < 0:
        raise UserError(f"--rate {rate}: GB/s, 0 or more")
    memory = buffer_size(buffer)
    paths = parse_images(images, drives)
    keep_apart(input, paths)
    with opened(input, "rb") as file, signals_raise():
        length = os.fstat(file.fileno()).st_size if os.path.isfile(input) else None
        sizes = plan_sizes(paths, length, size, SETTINGS if ssd == "db_ssd" else 0)
        recording = Recording(0, ssd, [str(p.resolve()) for p in paths])
        start = time.monotonic()
        with Session(ssd, paths, sizes, rate, memory) as session, progress_bar(f"recording {input}") as update:
            result = capture(session, file, length, recording, update)
            result["shut_down"] = session.shut_down()
            session.check()
    result |= {"seconds": round(time.monotonic() - start, 2), "images": recording.images}
    show(result, json, [
        f"{result['bytes']:,} bytes on {drives} drives ({ssd}) in {result['seconds']:.1f} s",
        f"simulated {result['simulated_gb_per_s']} GB/s, {result['percent_of_limit']} % of the links' "
        f"{result['limit_gb_per_s']} GB/s; longest write {result['peak_write_latency_us']} us",
        f"blocks lost: {result['blocks_lost']}",
    ])  # fmt: skip
    if result["blocks_lost"]:
        raise UserError(f"{result['blocks_lost']} blocks of the stream are not on the drives", 1)
    if any(result["errors"]):
        raise UserError("a drive ended its Flush with an error: what was recorded need not last", 1)


def show(result: dict[str, Any], as_json: bool, lines: list[str], to: Any = None) -> None:
    print(json_module.dumps(result, indent=1) if as_json else "\n".join(lines), file=to or sys.stdout)


def replay(
    output: str = typer.Argument(..., metavar="OUTPUT", help="Where it goes; - is stdout."),
    images: list[Path] | None = typer.Option(  # noqa: B008
        None, metavar="FILE ...", help="The images, or the first (recording-0.img)."
    ),
    ssd: str | None = typer.Option(None, help="model, db_ssd or qemu (as recorded)."),
    json: bool = typer.Option(False, "--json", help="Print the figures as JSON (on stderr when OUTPUT is -)."),
) -> None:
    """Bring back what './doorbell record' has recorded, read from the drives through the simulated db_recorder."""
    named = images or []
    recording = Recording.load(named[0] if named else Path("recording-0.img"))
    if len(named) > 1 and len(named) != len(recording.images):
        raise UserError(f"this was recorded on {len(recording.images)} drives, not {len(named)}")
    paths = named if len(named) > 1 else [Path(i) for i in recording.images]
    if ssd is not None and ssd not in KINDS:
        raise UserError(f"--ssd {ssd}: must be {', '.join(KINDS)}")
    keep_apart(output, paths)
    for path in paths:
        if not path.is_file():
            raise UserError(f"{path} is missing: it belongs to the recording")
        end = (recording.start + recording.blocks) * BLOCK + SETTINGS
        if ssd == "db_ssd" and path.stat().st_size // BLOCK * BLOCK < end:
            raise UserError(f"{path} has no room for what db_ssd keeps there: replay it with --ssd {recording.ssd}")
    with opened(output, "wb") as file, signals_raise():
        start = time.monotonic()
        sizes = [p.stat().st_size for p in paths]
        with Session(ssd or recording.ssd, paths, sizes) as session, progress_bar(f"replaying to {output}") as update:
            result = play(session, recording, file, update)
            result["shut_down"] = session.shut_down()
            session.check()
    result["seconds"] = round(time.monotonic() - start, 2)
    notes = [
        f"{result['bytes']:,} bytes from {result['drives']} drives ({result['ssd']}) in {result['seconds']:.1f} s, "
        f"simulated {result['simulated_gb_per_s']} GB/s"
    ]
    if not recording.complete:
        notes.append("the recording was cut short: this is what was acknowledged by then")
    if recording.lost:
        notes.append(f"{result['blocks_lost']} blocks are not the stream's: {', '.join(map(str, recording.lost[:4]))}")
    show(result, json, notes, sys.stderr if output == "-" else None)
