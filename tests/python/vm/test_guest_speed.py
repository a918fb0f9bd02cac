# SPDX-License-Identifier: Apache-2.0
"""`doorbell vm --speed`: what it makes of the guest's words and the clocks; the guest itself is tests/system's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from doorbell.build import simulators
from doorbell.cli import main as cli
from doorbell.errors import UserError
from doorbell.vm import devices
from doorbell.vm import speed as guest_speed
from doorbell.vm.speed import Listener, Turn


class Clocks:
    """Stands in for the running machine: processor times that a test sets."""

    now = (0.0, 0.0)

    def processor_s(self) -> tuple[float, float]:
        return self.now


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_listener(tmp_path: Path, size: int) -> None:
    """Lines come in pieces; what is counted is what passed between begin and end."""
    progress: list[float] = []
    with open(tmp_path / "figures", "w+b") as file:
        listener, clocks = Listener(file.fileno(), progress.append, 2), Clocks()
        listener.vm = clocks  # type: ignore[assignment]

        def hear(text: str) -> None:
            for at in range(0, len(text), size):
                listener(text[at : at + size].encode())

        hear("hello\nbegin\n")  # before the server has written anything
        clocks.now = (2.5, 1.25)
        os.pwrite(file.fileno(), devices.FIGURES.pack(1000, 2_000_000_000), 0)
        hear("end\n")
        clocks.now = (99, 99)
        hear("result simulated 32 4000\nbegin\nend\nresult stock 1 10.5\nbye\n")
    assert listener.turns == [Turn("simulated", 32, 4000.0, 2.5, 1.25, 1000, 2.0), Turn("stock", 1, 10.5)]
    assert listener.said == ["hello", "bye"] and progress == [0.5, 1.0]


def test_summary() -> None:
    """Medians of rounds; the ratio is taken within a round, so that a slow round of the machine spoils neither."""
    turns = []
    for ours, stock in ((1000, 5000), (100, 400), (3000, 30000)):
        for depth in guest_speed.DEPTHS:
            turns += [Turn("simulated", depth, ours * depth, 1.0, 0.5, 82_000, 0.25), Turn("stock", depth, stock, 2.0)]
    rows = {(r["drive"], r["iodepth"]): r for r in guest_speed.summary(turns, 2)}
    assert len(rows) == 4
    row = rows["simulated", 1]
    assert (row["iops"], row["iops_min"], row["iops_max"], row["ratio"]) == (1000, 100, 3000, 0.2)
    assert row["cycles_per_io"] == 3 * 82_000 / (4100 * 2) and row["cycles_per_s"] == 328_000
    assert row["qemu_us"] == pytest.approx(3.0 / 8200 * 1e6) and row["server_us"] == pytest.approx(1.5 / 8200 * 1e6)
    assert rows["simulated", 32]["ratio"] == 0.2 * 32 and "ratio" not in rows["stock", 1]


def test_script_parses(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash and subprocess.run([bash, "-n"], input=guest_speed.SCRIPT, text=True, check=False).returncode == 0


@pytest.mark.parametrize("line", ["--speed --run x", "--speed --image x", "--json x", "--speed --size much",
                                  "--speed --rounds 0"])  # fmt: skip
def test_bad_arguments(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["vm", *line.split()]) == 2
    err = capsys.readouterr().err
    assert err.startswith("doorbell: ") and err.count("\n") == 1


def test_settle_once(tmp_path: Path) -> None:
    """The build says so if it does not find what it has to change in Verilator's code."""
    (tmp_path / "a.cpp").write_text("x();\n")
    with pytest.raises(UserError, match="pinned"):
        simulators.settle_once(tmp_path)
    (tmp_path / "b.cpp").write_text("vlSelfRef.__VicoFirstIteration = 1U;\nf();\n")
    with pytest.raises(UserError, match="pinned"):
        simulators.settle_once(tmp_path)
    header = tmp_path / "Vtop___024root.h"
    header.write_text("        VL_IN8(clk,0,0);\n        VL_INW(data,255,0,8);\n\n    // INTERNAL VARIABLES\n};\n")
    simulators.settle_once(tmp_path)
    moved = "vlSelfRef.__VicoFirstIteration = !vlSelfRef.clk && vlSelfRef.inputs_moved();"
    assert (tmp_path / "b.cpp").read_text() == f"{moved}\nf();\n"
    assert header.read_text().count("followed.data_was") == 2 and "clk_was" not in header.read_text()
