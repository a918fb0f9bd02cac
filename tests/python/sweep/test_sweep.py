# SPDX-License-Identifier: Apache-2.0
"""Sweeps: the spec's grid, the results' file, going on after a kill, and a real Dask cluster on this machine."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doorbell import paths, sweep
from doorbell.cli import main as cli
from doorbell.errors import UserError
from doorbell.sweep import point
from doorbell.sweep.command import table
from doorbell.sweep.store import forget

ROOT = Path(__file__).resolve().parents[3]
ENV = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
DOORBELL = [sys.executable, "-P", "-m", "doorbell"]


def spec_file(folder: Path, ios: int = 20, points: int = 4) -> Path:
    """A sweep of the functional model: quick, no build."""
    file = folder / "small.yaml"
    depths = list(range(1, points // 2 + 1))
    file.write_text(
        f"name: small\ndefaults: {{backend: functional, number_ios: {ios}}}\n"
        f"grid:\n  rw: [randread, randwrite]\n  iodepth: {depths}\n"
    )
    return file


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as f:
        return list(csv.DictReader(f))


# ---------------------------------------------------------------------------------------------------------- the spec


def test_grid_is_crossed_with_workloads() -> None:
    spec = sweep.parse_spec(
        {
            "defaults": {"numjobs": 2},
            "grid": {"link, data_w": [["gen3x4", 128], ["gen3x8", 256]], "bs": ["512", "4k"], "NUM_CMDS": 64},
            "workloads": [{"name": "r", "rw": "randread"}, {"name": "w", "rw": "randwrite", "numjobs": 4}],
        },
        "x",
    )
    assert len(spec.points) == 2 * 2 * 2
    assert {(p["link"], p["data_w"]) for p in spec.points} == {("gen3x4", 128), ("gen3x8", 256)}
    assert {p["bs"] for p in spec.points} == {512, 4096}, "sizes are stored as bytes"
    assert {p["numjobs"] for p in spec.points if p["name"] == "w"} == {4}, "a workload decides over the defaults"
    assert all(p["NUM_CMDS"] == 64 for p in spec.points)


def test_a_list_of_grids_is_their_union_and_no_point_comes_twice() -> None:
    spec = sweep.parse_spec({"grid": [{"bs": [512, 1024]}, {"bs": ["1k", "2k"]}]}, "x")
    assert [p["bs"] for p in spec.points] == [512, 1024, 2048]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "see docs/sweep.md"),
        ({}, "nothing to measure"),
        ({"gird": {}}, "'gird' is not one of"),
        ({"grid": {"bs": []}}, "bs: the list is empty"),
        ({"grid": {"bs": ["4q"]}}, "'4q' is not a size"),
        ({"grid": {"blocks": [1]}}, "'blocks' is not known"),
        ({"grid": {"link": "gen9x8"}}, "'gen9x8' is not a link"),
        ({"grid": {"data_w": 64}}, "64 is not one of 128, 256, 512"),
        ({"grid": {"link, data_w": [["gen3x8"]]}}, "is not a list of 2 values"),
        ({"grid": {"bs": 512}, "workloads": [{"bs": 512}]}, "'bs' is in the grid and in a workload"),
        ({"grid": {"bs": [{"a": 1}]}}, "is not a number or a word"),
        ({"workloads": {"rw": "read"}}, "must be a list"),
    ],
)
def test_what_is_wrong_with_a_spec_is_said_in_one_line(data: Any, words: str) -> None:
    with pytest.raises(UserError, match=re.escape(words)) as e:
        sweep.parse_spec(data, "x.yaml")
    assert str(e.value).startswith("x.yaml: ")


def test_the_specs_of_the_repository_are_good() -> None:
    files = sorted((ROOT / "sweeps").glob("*.yaml"))
    assert files
    for file in files:
        assert sweep.load_spec(file).points


def test_the_sources_are_all_that_a_simulator_is_built_of() -> None:
    """A row of another simulator is not taken for one of this."""
    there = set(point.source_files())
    for folder, suffixes in (
        ("sim", (".cpp", ".h", ".yaml")),
        ("rtl", (".sv", ".svh", ".rdl")),
        ("fw", (".c", ".h", ".S", ".ld", ".py")),
        ("regs", (".rdl", ".py")),
    ):
        files = {f for f in (paths.ROOT / folder).rglob("*") if f.suffix in suffixes and "test" not in f.name}
        assert files and files <= there, sorted(files - there)[:5]


def test_another_firmware_is_another_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was measured with one is not shown as if it were another's."""
    found = {point.digest()}
    for text in ("00000000\n", "00000001\n"):
        (tmp_path / "fw.hex").write_text(text)
        monkeypatch.setenv("DOORBELL_FIRMWARE", str(tmp_path / "fw.hex"))
        found.add(point.digest())
    assert len(found) == 3


def test_the_key_depends_on_parameters_and_sources_alone() -> None:
    a, b = {"bs": 512, "rw": "read"}, {"rw": "read", "bs": 512}
    assert point.key_of(a) == point.key_of(b)
    assert point.key_of(a) != point.key_of({**a, "bs": 1024})
    assert point.key_of(a) != point.key_of(a, "other sources")


# ---------------------------------------------------------------------------------------------------------- the file


def row(key: str, bs: int) -> dict[str, Any]:
    return {"key": key, "sources": "s", "bs": bs, **dict.fromkeys(point.FIGURES, 1.5)}


COLUMNS = ["key", "sources", "bs", *point.FIGURES]


@pytest.mark.parametrize("lost", [1, 5, 30])
def test_a_half_written_line_is_dropped_and_the_rest_kept(tmp_path: Path, lost: int) -> None:
    file = tmp_path / "r.csv"
    store = sweep.Store(file, COLUMNS)
    for i in range(3):
        store.append(row(f"k{i}", i))
    store.close()
    content = file.read_bytes()
    file.write_bytes(content[:-lost])
    store = sweep.Store(file, COLUMNS)
    assert [r["key"] for r in store.rows] == ["k0", "k1"]
    store.append(row("k9", 9))
    store.close()
    assert [r["key"] for r in rows_of(file)] == ["k0", "k1", "k9"]
    assert all(len(line.split(",")) == len(COLUMNS) for line in file.read_text().splitlines())


def test_a_damaged_line_in_the_middle_is_dropped(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    store = sweep.Store(file, COLUMNS)
    for i in range(3):
        store.append(row(f"k{i}", i))
    store.close()
    lines = file.read_text().splitlines()
    lines[2] = lines[2][:10]
    file.write_text("\n".join(lines) + "\n")
    store = sweep.Store(file, COLUMNS)
    store.close()
    assert [r["key"] for r in rows_of(file)] == ["k0", "k2"]


def test_new_columns_are_added_and_old_rows_stay(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    store = sweep.Store(file, COLUMNS)
    store.append(row("a", 1))
    store.close()
    store = sweep.Store(file, ["key", "sources", "link", *point.FIGURES])
    store.append({**row("b", 2), "link": "gen3x8"})
    store.sort({"b": 0})
    store.close()
    assert [(r["key"], r["bs"], r["link"]) for r in rows_of(file)] == [("b", "2", "gen3x8"), ("a", "1", "")]


def test_a_file_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    for content in (b"name,age\nx,3\n", b"\xff\xfe\n", b"one line without its end", b"\0"):
        file.write_bytes(content)
        with pytest.raises(UserError, match="not a sweep's results"):
            sweep.Store(file, COLUMNS)
        assert file.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"ke", b"key,sources,bs,mb_s"])
def test_a_header_that_was_half_written_is_made_anew(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "r.csv"
    file.write_bytes(content)
    sweep.Store(file, COLUMNS).close()
    assert file.read_text() == ",".join(COLUMNS) + "\n"


def test_two_sweeps_do_not_write_one_file(tmp_path: Path) -> None:
    store = sweep.Store(tmp_path / "r.csv", COLUMNS)
    with pytest.raises(UserError, match="another sweep or report is writing"):
        sweep.Store(tmp_path / "r.csv", COLUMNS)
    store.close()
    sweep.Store(tmp_path / "r.csv", COLUMNS).close()


def test_a_report_takes_no_file_from_under_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What that one measures from then on would be lost, and the next report would measure it again beside it."""
    monkeypatch.setenv("DOORBELL_CACHE", str(tmp_path))
    file = tmp_path / "report" / "sources.csv"
    store = sweep.Store(file, COLUMNS)
    line = ["report", "--restart", "--quick", "--out", str(tmp_path / "page.html")]
    monkeypatch.setattr("doorbell.report.command.measure_all", lambda *_: pytest.fail("it measures"))
    assert cli.run(line) == 2
    assert "another sweep or report is writing" in capsys.readouterr().err and file.exists()
    store.close()
    forget(file)
    forget(file)
    assert not file.exists()


def test_restart_takes_no_file_from_under_a_sweep(tmp_path: Path) -> None:
    """The rows of the first would go to FILE.old, and at its end it would put its file in the place of the second's."""
    spec, file = spec_file(tmp_path), tmp_path / "r.csv"
    store = sweep.Store(file, COLUMNS)
    store.append(row("a", 1))
    done = call(spec, "--out", file, "--restart")
    assert done.returncode == 2 and "another sweep or report is writing" in done.stderr
    store.close()
    assert [r["key"] for r in rows_of(file)] == ["a"] and not file.with_name("r.csv.old").exists()
    done = call(spec, "--out", file, "--restart", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["measured"] == 4, done.stderr
    assert len(rows_of(file)) == 4 and [r["key"] for r in rows_of(file.with_name("r.csv.old"))] == ["a"]


# ----------------------------------------------------------------------------------------------------------- running


def call(*arguments: Any, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [*DOORBELL, "sweep", *map(str, arguments)]
    return subprocess.run(command, env=ENV, capture_output=True, text=True, timeout=100, **more)


def test_the_same_sweep_gives_the_same_file_and_measures_nothing_twice(tmp_path: Path) -> None:
    spec = spec_file(tmp_path)
    first = call(spec, "--out", tmp_path / "a.csv", "--jobs", 2, "--json")
    assert first.returncode == 0, first.stderr
    shown = json.loads(first.stdout)
    assert (shown["measured"], shown["reused"], len(shown["rows"])) == (4, 0, 4)
    content = (tmp_path / "a.csv").read_bytes()
    again = json.loads(call(spec, "--out", tmp_path / "a.csv", "--json").stdout)
    assert (again["measured"], again["reused"]) == (0, 4)
    assert again["rows"] == shown["rows"]
    assert (tmp_path / "a.csv").read_bytes() == content
    # Rows lost: only they are measured, and the file is what it was.
    lines = content.decode().splitlines(keepends=True)
    (tmp_path / "a.csv").write_text("".join(lines[:2] + lines[3:])[:-7])
    assert json.loads(call(spec, "--out", tmp_path / "a.csv", "--json").stdout)["measured"] == 2
    assert (tmp_path / "a.csv").read_bytes() == content


def wait_for_rows(file: Path, count: int, process: subprocess.Popen[str], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if file.exists() and file.read_bytes().count(b"\n") > count:
            return
        if process.poll() is not None:
            said = process.stderr.read() if process.stderr else ""
            raise AssertionError(f"it ended before it could be disturbed: {said}")
        time.sleep(0.02)
    raise AssertionError(f"no {count} rows after {seconds} s")


def workers_of(pid: int) -> set[int]:
    """The sweep's worker processes (not multiprocessing's own helper)."""
    found = {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    return {child for child in found if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()}


def test_a_killed_sweep_goes_on_and_leaves_no_process_behind(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, ios=1500, points=12)
    file = tmp_path / "a.csv"
    process = subprocess.Popen([*DOORBELL, "sweep", str(spec), "--out", str(file), "--jobs", "2"], env=ENV,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)  # fmt: skip
    wait_for_rows(file, 2, process)
    workers = workers_of(process.pid)
    process.kill()
    process.wait()
    had = len(rows_of(file))
    assert 2 <= had < 12
    end = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < end:
        time.sleep(0.05)
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    shown = json.loads(call(spec, "--out", file, "--json").stdout)
    assert shown["measured"] == 12 - had
    assert len({r["key"] for r in rows_of(file)}) == len(rows_of(file)) == 12


def test_a_killed_worker_process_is_one_clear_line(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, ios=1500, points=12)
    file = tmp_path / "a.csv"
    process = subprocess.Popen([*DOORBELL, "sweep", str(spec), "--out", str(file), "--jobs", "1"], env=ENV,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)  # fmt: skip
    wait_for_rows(file, 1, process)
    for pid in workers_of(process.pid):
        os.kill(pid, signal.SIGKILL)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert said.strip().splitlines()[-1].startswith("doorbell: a worker process was killed"), said


def test_points_that_fail_are_told_and_the_others_kept(tmp_path: Path) -> None:
    spec = tmp_path / "s.yaml"
    spec.write_text("defaults: {backend: functional, number_ios: 20}\ngrid: {bs: [512, 700, 4096]}\n")
    done = call(spec, "--out", tmp_path / "a.csv", "--jobs", 1)
    assert done.returncode == 1
    assert "1 of 3 points failed" in done.stderr and "700" in done.stderr
    assert [r["bs"] for r in rows_of(tmp_path / "a.csv")] == ["512", "4096"]


def test_wrong_use_is_one_line(tmp_path: Path) -> None:
    spec = spec_file(tmp_path)
    for arguments, words in (
        ([], "name the sweep's file"),
        ([tmp_path / "none.yaml"], "No such file"),
        ([spec, "--out", tmp_path / "x.txt"], "must end in .csv"),
        ([spec, "--out", "/proc/x/a.csv"], "cannot write"),
    ):
        done = call(*arguments)
        assert done.returncode == 2 and words in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr


def test_worker_with_other_sources_measures_nothing() -> None:
    figures, why = point.task({"backend": "functional"}, "0" * 12)
    assert figures is None and "other sources" in why


def test_sources_that_change_while_a_point_is_measured_give_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its simulator may be built of the new ones, and the row would stand there as one of the old."""
    what, before = {"backend": "functional", "number_ios": 20}, point.sources()
    assert point.task(what, before)[1] == ""
    monkeypatch.setattr(point, "digest", lambda: "other")
    assert point.task(what, before) == (None, point.CHANGED)


# -------------------------------------------------------------------------------------------------------------- Dask


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.fixture
def cluster() -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """A `dask scheduler` and two `dask worker`, as a user starts them; the address and the two workers."""
    pytest.importorskip("distributed")
    address = f"tcp://127.0.0.1:{free_port()}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-P", "-m", "dask"]
    host, port = "127.0.0.1", address.rsplit(":", 1)[1]
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}  # the scheduler does without Doorbell
    scheduler = [*dask, "scheduler", "--host", host, "--port", port, "--no-dashboard"]
    started = [subprocess.Popen(scheduler, env=plain, **quiet)]
    worker = [*dask, "worker", address, "--host", host, "--nthreads", "1", "--no-dashboard", "--no-nanny"]
    workers = [subprocess.Popen(worker, env=ENV, text=True, **quiet) for _ in range(2)]
    started += workers
    try:
        yield address, workers
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_dask_cluster_that_loses_a_worker_half_way_loses_no_point(
    tmp_path: Path, cluster: tuple[str, list[subprocess.Popen[str]]]
) -> None:
    address, workers = cluster
    spec = spec_file(tmp_path, ios=1500, points=16)
    file = tmp_path / "dask.csv"
    import distributed

    with distributed.Client(address, timeout="30s", set_as_default=False) as client:
        client.wait_for_workers(2, timeout=30)
    command = [*DOORBELL, "sweep", str(spec), "--out", str(file), "--scheduler", address, "--json"]
    process = subprocess.Popen(command, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_rows(file, 4, process)
    workers[0].kill()
    out, said = process.communicate(timeout=100)
    assert process.returncode == 0, said
    shown = json.loads(out)
    assert shown["measured"] == 16 and not shown["failed"]
    assert len({r["key"] for r in rows_of(file)}) == len(rows_of(file)) == 16
    # What the cluster measured is what this process measures.
    last = {k: v for k, v in shown["rows"][-1].items() if k not in point.FIGURES}
    assert point.measure(last) == {k: shown["rows"][-1][k] for k in point.FIGURES}


def test_no_scheduler_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    done = call(spec_file(tmp_path), "--out", tmp_path / "a.csv", "--scheduler", f"tcp://127.0.0.1:{free_port()}")
    assert done.returncode == 2
    assert "no Dask scheduler answers" in done.stderr and len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_functions_of_a_point() -> None:
    """All functions do the job of the point; the drive has all of them, so that one simulator serves all counts."""
    found = point.clean({"functions": "4", "rw": "randread", "numjobs": 2}, "x")
    assert found["functions"] == 4
    assert dict(point.setup_of(found)[1:])["NUM_FN"] == 17
    for bad in ({"functions": 18}, {"functions": 2, "backend": "functional"}, {"functions": 2, "function": "0"}):
        with pytest.raises(UserError):
            point.clean(bad, "x")


def test_what_functions_of_a_point_have() -> None:
    """Weights, slots and limits are the options of the bench; mistakes are found before anything is built."""
    given = {
        "functions": 3,
        "fn_weights": "4,2,1",
        "fn_slots": "0=min:8,max:64 1-2=max:8",
        "fn_limit": "2=bw:500000000",
    }
    found = point.clean(given, "x")
    assert found == given
    functions = point.functions_of(found)
    assert functions is not None and functions.weights == {0: 4, 1: 2, 2: 1}
    pf, one, two = functions.shares
    assert (pf.slots_min, pf.slots_max, one.slots_max, two.slots_max) == (8, 64, 8, 8)
    assert (one.bytes_per_s, two.bytes_per_s) == (None, 500_000_000)
    assert point.setup_of(found) == point.setup_of({"functions": 3}), "one simulator for all"
    assert point.key_of(found) != point.key_of({**found, "fn_weights": "4,2,2"})
    for bad, said in (
        ({"fn_weights": "2,1"}, "fn_weights is for several functions"),
        ({"functions": 2, "fn_weights": "3,2,1"}, "3 values for 2 functions"),
        ({"functions": 2, "fn_slots": "2=max:4"}, "there is no function 2"),
        ({"functions": 2, "fn_limit": "1=ios:4"}, "'ios' is not one of"),
        ({"functions": 2, "fn_limit": "1=iops:4", "NUM_FN": 1}, ""),
    ):
        with pytest.raises(UserError, match=said):
            point.setup_of(point.clean(bad, "x"))


def test_columns_by_function(tmp_path: Path) -> None:
    """They are there where a point has several, and stay when another sweep writes the file."""
    file = tmp_path / "r.csv"
    points: list[point.Point] = [{"bs": 512}, {"bs": 512, "functions": 2}]
    store = sweep.Store(file, sweep.columns_of(points))
    several = dict(zip(point.FN_FIGURES, ("4000.0 2000.0", "1.0 2.0", 98.5), strict=True))
    for p, more in zip(points, ({}, several), strict=True):
        figures = dict.fromkeys(point.FIGURES, 1.5)
        store.append({"key": point.key_of(p), "sources": "s", **p, **figures, **more})
    store.close()
    store = sweep.Store(file, sweep.columns_of([{"bs": 512, "rw": "read"}]))
    assert store.columns[-3:] == [*point.FN_FIGURES] and "rw" in store.columns
    summary = sweep.run(points, store)
    store.close()
    assert [{k: r[k] for k in point.FN_FIGURES if k in r} for r in summary.rows] == [{}, several]
    shown = table(points, summary.rows, "both")
    assert [list(c.cells)[1] for c in shown.columns[-2:]] == ["4,000 2,000", "98.5"]
    assert sweep.columns_of([{"bs": 512}])[-1] == point.FIGURES[-1]
