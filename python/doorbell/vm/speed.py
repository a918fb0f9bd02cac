# SPDX-License-Identifier: Apache-2.0
"""`doorbell vm --speed`: 4 KiB random reads in a guest, from a simulated top and from QEMU's own NVMe drive.

Both drives are in the same guest and take turns, so they have the same processor, driver, fio and load of the machine.
These are the only figures of Doorbell in wall-clock time: they say how fast the simulator is, not how fast the RTL is.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from doorbell.errors import UserError
from doorbell.ui import check_result, print_table, progress_bar, write_json
from doorbell.units import parse_size
from doorbell.vm.devices import FIGURES
from doorbell.vm.guest import FAILED, Guest, Vm

DEPTHS = (1, 32)
DRIVES = ("simulated", "stock")

SCRIPT = """#!/bin/bash
set -eu -o pipefail
for model in /sys/class/nvme/nvme*/model; do
  name=$(cd "${model%/*}" && echo nvme*n1)
  grep -q QEMU "$model" && stock=/dev/$name || simulated=/dev/$name
done
for drive in "$simulated" "$stock"; do
  [ -b "$drive" ] || { echo "none $drive is no block device"; exit 1; }   # fio would make a file of that name
done
mkfifo /tmp/say   # fio's children cannot open the channel that is our stdout
cat </tmp/say &
exec >/tmp/say
for round in $(seq ROUNDS); do
  for depth in DEPTHS; do
    for name in simulated stock; do
      ios=$(fio --name=read --filename="${!name}" --readonly --rw=randread --bs=4k --iodepth="$depth" \
        --ioengine=libaio --direct=1 --norandommap --time_based --runtime=SECONDS_EACH --output-format=terse \
        --terse-version=3 --exec_prerun="echo begin >/tmp/say; true" \
        --exec_postrun="echo end >/tmp/say; true" | grep '^3;' | cut -d';' -f8)
      echo "result $name $depth $ios"
    done
  done
done
exec >&-
wait
"""


@dataclass(frozen=True)
class Setting:
    """What is measured."""

    top: str
    data_w: int
    link: str
    backend: str
    size: str
    rounds: int
    seconds: int


@dataclass
class Turn:
    """One measurement. *_s: processor time of QEMU and of the device server meanwhile; cycles that it computed."""

    drive: str
    depth: int
    iops: float = 0.0
    qemu_s: float = 0.0
    server_s: float = 0.0
    cycles: int = 0
    model_s: float = 0.0


class Listener:
    """Reads the script's output as it comes, and the clocks when a measurement begins and ends."""

    def __init__(self, figures_fd: int, progress: Any, turns: int) -> None:
        self.vm: Vm | None = None
        self.turns: list[Turn] = []
        self.said: list[str] = []  # what is no result
        self._fd, self._progress, self._expected = figures_fd, progress, turns
        self._text = b""
        self._begin: list[float] = []
        self._used: list[float] = []

    def __call__(self, data: bytes) -> None:
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            self._line(line.decode(errors="replace"))

    def _line(self, line: str) -> None:
        match line.split():
            case ["begin"]:
                self._begin = self._clocks()
            case ["end"]:
                self._used = [b - a for a, b in zip(self._begin, self._clocks(), strict=True)]
            case ["result", drive, depth, iops]:
                qemu, server, cycles, model = self._used
                self.turns.append(Turn(drive, int(depth), float(iops), qemu, server, int(cycles), model))
                self._progress(len(self.turns) / self._expected)
            case _:
                self.said.append(line)

    def _clocks(self) -> list[float]:
        assert self.vm
        raw = os.pread(self._fd, FIGURES.size, 0)
        cycles, ns = FIGURES.unpack(raw) if raw else (0, 0)
        return [*self.vm.processor_s(), cycles, ns / 1e9]


def measure(guest: Guest, what: Setting) -> list[Turn]:
    """Boot a guest with both drives and let them take turns."""
    script = SCRIPT.replace("ROUNDS", str(what.rounds)).replace("SECONDS_EACH", str(what.seconds))
    script = script.replace("DEPTHS", " ".join(map(str, DEPTHS)))
    turns = what.rounds * len(DEPTHS) * len(DRIVES)
    with tempfile.TemporaryDirectory(prefix="doorbell-speed-") as folder, progress_bar("guest") as progress:
        job, stock, figures = (Path(folder) / name for name in ("job", "stock", "figures"))
        job.write_text(script)
        with open(stock, "wb") as file:
            file.truncate(parse_size(what.size))
        with open(figures, "w+b") as file:
            listener = Listener(file.fileno(), progress, turns)
            device = ["--top", what.top, "--data-w", str(what.data_w), "--link", what.link, "--backend", what.backend,
                      "--size", what.size, "--figures-fd", str(file.fileno())]  # fmt: skip
            vm = Vm(replace(guest, script=str(job), beside=str(stock)), device, sink=listener, fds=[file.fileno()])
            listener.vm = vm
            status = vm.run()
    if status or len(listener.turns) != turns:
        last = listener.said[-1] if listener.said else "nothing"
        raise UserError(f"the guest's script ended with status {status}; its last words: {last}", FAILED)
    return listener.turns


def summary(turns: list[Turn], seconds: float) -> list[dict[str, Any]]:
    """A row for each drive and depth: medians over the rounds; ratio: of what was measured in the same round."""
    rows = []
    for depth in DEPTHS:
        of = {drive: [t for t in turns if (t.drive, t.depth) == (drive, depth)] for drive in DRIVES}
        for drive in DRIVES:
            mine = of[drive]
            ios = sum(t.iops for t in mine) * seconds
            row = {"drive": drive, "iodepth": depth, "iops": statistics.median(t.iops for t in mine),
                   "iops_min": min(t.iops for t in mine), "iops_max": max(t.iops for t in mine),
                   "qemu_us": sum(t.qemu_s for t in mine) / ios * 1e6,
                   "server_us": sum(t.server_s for t in mine) / ios * 1e6}  # fmt: skip
            if drive == "simulated":
                pairs = zip(mine, of["stock"], strict=True)
                row["ratio"] = statistics.median(a.iops / b.iops for a, b in pairs)
                model_s, cycles = sum(t.model_s for t in mine), sum(t.cycles for t in mine)
                row |= {"cycles_per_io": cycles / ios, "cycles_per_s": cycles / model_s if model_s else 0.0,
                        "server_share": sum(t.server_s for t in mine) / (seconds * len(mine)),
                        "model_share": model_s / (seconds * len(mine))}  # fmt: skip
            rows.append(row)
    return rows


def show(rows: list[dict[str, Any]], title: str) -> Any:
    from rich.table import Table

    out = Table(title=title, title_justify="left")
    for name in ("4 KiB random read", "IOPS", "from", "to", "% of stock", "QEMU us/IO", "server us/IO", "kcycles/s",
                 "cycles/IO"):  # fmt: skip
        out.add_column(name, justify="left" if name == "4 KiB random read" else "right")
    for row in rows:
        ours = row["drive"] == "simulated"
        out.add_row(
            f"QD {row['iodepth']}, {row['drive']}", *(f"{row[k]:,.0f}" for k in ("iops", "iops_min", "iops_max")),
            f"{100 * row['ratio']:.1f}" if ours else "", f"{row['qemu_us']:,.0f}",
            f"{row['server_us']:,.0f}" if ours else "", f"{row['cycles_per_s'] / 1e3:,.0f}" if ours else "",
            f"{row['cycles_per_io']:,.0f}" if ours else "",
        )  # fmt: skip
    return out


def main(guest: Guest, what: Setting, json: Path | None) -> None:
    """Measure, print a table, write the figures."""
    check_result(json)
    try:
        parse_size(what.size)
    except ValueError as e:
        raise UserError(str(e)) from e
    turns = measure(guest, what)
    rows = summary(turns, what.seconds)
    if json is not None:
        setting = asdict(what) | {"smp": guest.smp, "mem": guest.mem, "kvm": guest.kvm.value}
        write_json(json, {"setting": setting, "summary": rows, "turns": [asdict(t) for t in turns]})
    if str(json) != "-":
        print_table(
            show(
                rows,
                f"{what.top}, {what.data_w} bit, {what.link}, and QEMU's NVMe drive in one guest; "
                "real time, depends on the machine",
            )
        )
