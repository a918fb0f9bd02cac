# SPDX-License-Identifier: Apache-2.0
"""A card beside the bare SSD, and functions times SSDs: figures are those of docs/vcsd/performance.md, whose tables
are read here."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from doorbell import paths
from doorbell.bench import card_suite
from doorbell.bench.card import Card, CardSetup, by_stage
from doorbell.bench.jobs import Job
from doorbell.bench.ssds import SsdSetup
from doorbell.cli.main import run
from doorbell.units import size_name

pytestmark = pytest.mark.rtl
PAGE = paths.ROOT / "docs" / "vcsd" / "performance.md"


def documented(head: str) -> list[list[str]]:
    """Cells of the rows of the table whose first line begins so."""
    text = PAGE.read_text()
    table = text[text.index(head) :].split("\n\n")[0]
    return [[cell.strip().replace(",", "") for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]


def doorbell(*args: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(paths.ROOT / "python")}
    return subprocess.run([sys.executable, "-m", "doorbell", *args], env=env, capture_output=True, text=True,
                          timeout=560, check=False)  # fmt: skip


def test_beside_the_bare_ssd() -> None:
    """4 KiB, one function: what the SSD gives alone, and hardly later."""
    rows = list(card_suite.measure("vcsd-short"))
    assert [r["rw"] for r in rows] == ["randread", "randwrite"]
    for row in rows:
        assert row["of_bare_pct"] >= card_suite.OF_BARE
        assert 0 < row["added_us"] < 4, "a narrow card"
        assert row["bare_mb_s"] < 3_700, "an SSD on Gen3 x4"


@pytest.mark.nightly
def test_figures() -> None:
    """All of the suite, beside the page: within 1 % and 20 ns."""
    rows = list(card_suite.measure("vcsd"))
    for table, head in (("bare", "| command | in flight | bare"), ("encrypted", "| encrypted command | in flight |")):
        bare = {f"{r['rw']} {size_name(r['bs'])}": r for r in rows if r["table"] == table}
        pages = documented(head)
        assert {p[0] for p in pages} == set(bare)
        for what, _, direct, through, percent, _, _, added in pages:
            row = bare[what]
            assert row["bare_mb_s"] == pytest.approx(float(direct), rel=0.01)
            assert row["card_mb_s"] == pytest.approx(float(through), rel=0.01)
            assert row["of_bare_pct"] == pytest.approx(float(percent), abs=0.5)
            assert row["added_us"] == pytest.approx(float(added), abs=0.02)
            assert row["of_bare_pct"] >= card_suite.OF_BARE
    stages = {(r["rw"], name): us for r in rows if r["table"] == "stages" for name, us in r["us"].items()}
    for name, *times in documented("| stage of a 4 KiB command"):
        for rw, us in zip(("read", "write"), times):
            assert us == "-" or stages[rw, name] == pytest.approx(float(us), abs=0.02)
    grid = {(r["rw"], r["functions"], r["ssds"]): r for r in rows if r["table"] == "grid"}
    for rw, functions, ssds, rate, percent, busy, streams in documented("| command | functions | SSDs |"):
        row = grid.pop((rw, int(functions), int(ssds)))
        assert row["mb_s"] == pytest.approx(float(rate), rel=0.01)
        assert row["of_one_pct"] == pytest.approx(float(percent), abs=1)
        assert row["link_busy_pct"] == pytest.approx(float(busy), abs=1)
        if int(ssds) < 4:
            assert streams == "-" and row["of_one_pct"] >= card_suite.OF_ONE
        else:
            assert row["of_streams_pct"] == pytest.approx(float(streams), abs=1)
            assert max(row["link_busy_pct"], row["of_streams_pct"]) >= card_suite.OF_LIMIT
    assert not grid, "the page has all"
    packets = {(r["rw"], r["functions"]): r for r in rows if r["table"] == "packets"}
    for rw, functions, rate, busy, streams in documented("| command, not straddled | functions |"):
        row = packets.pop((rw, int(functions)))
        assert row["mb_s"] == pytest.approx(float(rate), rel=0.01)
        assert row["link_busy_pct"] == pytest.approx(float(busy), abs=1)
        assert row["of_streams_pct"] == pytest.approx(float(streams), abs=1)
        assert row["of_streams_pct"] >= card_suite.OF_LIMIT
    assert not packets


@pytest.mark.nightly
def test_stages_add_up() -> None:
    """Of a command that is alone: together they are its latency, and the SSD's own is the greatest of them."""
    for row in by_stage(CardSetup(SsdSetup(1))):
        times = row["us"]
        own = 20 if row["rw"] == "read" else 10
        assert own < times["SSD"] < own + 3
        assert all(0 < us < 2 for name, us in times.items() if name != "SSD")


@pytest.mark.nightly
def test_the_price_of_straddling() -> None:
    def alone(straddled: int) -> dict[str, float]:
        setup = CardSetup(SsdSetup(1), num_fn=1, params={"CQ_CC_STRADDLE": straddled})
        return {row["rw"]: sum(row["us"].values()) for row in by_stage(setup, count=40)}

    told = re.search(r"takes (0\.\d\d) us longer if it reads, (0\.\d\d) us if it writes", PAGE.read_text())
    assert told
    plain, straddled = alone(0), alone(1)
    for rw, us in zip(("read", "write"), told.groups(), strict=True):
        assert straddled[rw] - plain[rw] == pytest.approx(float(us), abs=0.015)


@pytest.mark.nightly
def test_functions_of_a_card_from_the_command_line(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = doorbell("bench", "--top", "db_vcsd", "--functions", "2", "--backends", "2", "--data-w", "512",
                    "--link", "gen4x8", "--namespaces", "private", "--media-size", "32m", "--rw", "randwrite",
                    "--bs", "4k", "--iodepth", "32", "--number-ios", "200", "--json", str(out))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 SSDs (model) on gen3x4" in done.stdout
    found = json.loads(out.read_text())
    assert len(found["jobs"]) == 2
    assert sum(job["write"]["bw_bytes"] for job in found["jobs"]) > 6e9, "two SSDs of 3.5 GB/s"


@pytest.mark.parametrize(("options", "why"), [
    (["--backends", "2"], "--backends is not for db_ssd"),
    (["--top", "db_vcsd", "--backends", "3"], "a card has 1, 2, 4 or 8"),
    (["--top", "db_vcsd", "--backends", "2", "--param", "NUM_SSD=4"], "--backends says 2"),
    (["--top", "db_vcsd", "--stages"], "--stages is not for db_vcsd"),
    (["--top", "db_vcsd", "--media-latency-ns", "100"], "use --read-us and --write-us"),
    (["--top", "db_vcsd", "--ssd", "qemu"], "must be model or db_ssd"),
])  # fmt: skip
def test_what_does_not_go_together(options: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", *options]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and why in said


@pytest.mark.nightly
def test_demo() -> None:
    """It shows that data is on the SSDs, and by whose links it came."""
    done = doorbell("demo", "--top", "db_vcsd", "--mib", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert "2 NVMe SSDs, which the card drives: block 0 is on SSD 0, block 2,097,151 on SSD 1" in done.stderr
    assert "SSD 0 1 MiB to it, 1 MiB back" in done.stderr and "SSD 1 1 MiB to it, 1 MiB back" in done.stderr
    assert json.loads(done.stdout)["verify"]["compared"] == 2 << 20


@pytest.mark.nightly
def test_one_function_does_not_slow_the_other() -> None:
    """Two functions on an SSD each: each has its SSD's rate, at once."""
    card = Card(CardSetup(SsdSetup(2)), 2, [Job(iodepth=64)])
    found = card.run(2, Job(rw="randwrite", iodepth=64, number_ios=512))
    card.close()
    assert all(r.bytes_per_s > 0.95 * 3.53e9 for r in found)
