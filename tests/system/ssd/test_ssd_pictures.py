# SPDX-License-Identifier: Apache-2.0
"""`bench --perfetto`: the trace is read with Perfetto's own schema, and says what bench, counters and stalls say.
`--wave`: both formats, read by others' software, say the same."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pywellen
from doorbell.bench.drive import DriveSetup, measure
from doorbell.bench.jobs import Job, parse_bssplit
from doorbell.bench.results import Result
from doorbell.bench.runner import run_group
from doorbell.bench.stages import STALLS, Recorder
from doorbell.bench.timeline import Span, draw
from doorbell.bench.views import Views, Window
from doorbell.errors import UserError
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
ALL = Span(0, float("inf"))
CYCLE_NS = 4


@dataclass
class Slice:
    """As a reader of the file finds it."""

    track: str
    name: str
    begin: int
    flows: list[int]
    last: bool
    notes: dict[str, Any]
    end: int = 0
    inner: list[Slice] = field(default_factory=list)


def read(file: Path) -> tuple[list[Slice], list[Slice]]:
    """Slices and instants of a trace that keeps the rules of Perfetto's track events."""
    trace = Trace.FromString(file.read_bytes())
    names: dict[int, str] = {}
    counters: set[int] = set()
    open_: dict[int, list[Slice]] = defaultdict(list)
    slices, instants, before = [], [], 0
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id
        assert packet.timestamp >= before
        before = packet.timestamp
        if packet.HasField("track_descriptor"):
            d = packet.track_descriptor
            assert d.uuid not in names and (not d.parent_uuid or d.parent_uuid in names)
            names[d.uuid] = f"{names[d.parent_uuid]}/{d.name}" if d.parent_uuid else d.name
            if d.HasField("counter"):
                counters.add(d.uuid)
            continue
        e = packet.track_event
        assert (e.type == e.TYPE_COUNTER) == (e.track_uuid in counters)
        stack = open_[e.track_uuid]
        if e.type == e.TYPE_SLICE_END:
            done = stack.pop()
            done.end = packet.timestamp
            assert done.end > done.begin
            continue
        flows = [*e.flow_ids, *e.terminating_flow_ids]
        notes = {a.name: getattr(a, a.WhichOneof("value")) for a in e.debug_annotations}
        new = Slice(names[e.track_uuid], e.name, packet.timestamp, flows, bool(e.terminating_flow_ids), notes)
        if e.type == e.TYPE_SLICE_BEGIN:
            (stack[-1].inner if stack else slices).append(new)
            stack.append(new)
        elif e.type == e.TYPE_INSTANT:
            instants.append(new)
    assert not any(open_.values())
    return slices, instants


def measured(make_drive: MakeDrive, file: Path, rw: str, depth: int) -> tuple[Recorder, Result, Counter[str]]:
    """A run and its trace, and what the counters have counted in it."""
    drive = make_drive(memory=64 << 20)
    drive.start(queues=2, entries=32)
    drive.advance(5000)  # what bring-up has sent is gone
    recorder = Recorder(everything=True)
    before = drive.sim.counters()
    job = Job(rw=rw, iodepth=depth, numjobs=2, number_ios=60, split=parse_bssplit("4k/50:512/25:16k/25"))
    result = run_group(drive, [job], recorder=recorder)[0]
    counted = Counter({name: value - before[name] for name, value in drive.sim.counters().items()})
    draw([recorder], ALL).write(file)
    return recorder, result, counted


@pytest.mark.parametrize(("rw", "depth"), [("randread", 1), ("randwrite", 6), ("randrw", 16)])
def test_trace_says_what_bench_and_counters_say(make_drive: MakeDrive, tmp_path: Path, rw: str, depth: int) -> None:
    file = tmp_path / "run.pftrace"
    recorder, result, counted = measured(make_drive, file, rw, depth)
    slices, instants = read(file)
    by_track: dict[str, list[Slice]] = defaultdict(list)
    for s in slices:
        by_track[s.track].append(s)

    commands = [s for q in (1, 2) for s in by_track[f"Queues/SQ {q}"]]
    for name, side in (("Read", result.read), ("Write", result.write)):
        mine = [s for s in commands if s.name.startswith(name) and s.notes["measured"]]
        assert sorted(s.end - s.begin for s in mine) == pytest.approx(sorted(side.clat_ns))
    for s in commands:
        assert s.inner[0].begin == s.begin and s.inner[-1].end == s.end
        assert all(a.end == b.begin for a, b in zip(s.inner, s.inner[1:]))

    for way, track in (("up", "Link/to the host"), ("down", "Link/from the host")):
        tlps = sorted(by_track[track], key=lambda s: s.begin)
        assert all(a.end <= b.begin for a, b in zip(tlps, tlps[1:]))  # one at a time
        for kind in ("MRd", "MWr", "CplD", "Cpl"):
            of_kind = [s for s in tlps if s.name.split()[0] == kind]
            assert len(of_kind) == counted[f"{way}.{kind}.tlps"]
            wanted = counted[f"{way}.{kind}.header"] + counted[f"{way}.{kind}.payload"]
            assert sum(s.notes["bytes"] for s in of_kind) == wanted
        # the wire carries so many bytes a nanosecond, and no slice is off by more than the rounding of its ends
        rate = 250 / 1000 * recorder.link_ticks[0] / recorder.link_ticks[1]
        assert all(abs(s.end - s.begin - s.notes["bytes"] / rate) <= 1 for s in tlps)
    entries = Counter(s.name for s in by_track["Link/to the host"] if "CQ" in s.name or "MSI" in s.name)
    assert entries["MWr CQ 1"] + entries["MWr CQ 2"] == len(commands)

    for cause, cycles in zip(STALLS, recorder.stalls):
        found = sum(s.end - s.begin for s in by_track[f"Stalls: who waits for what/{cause}"])
        assert found // CYCLE_NS == pytest.approx(cycles, abs=2), cause  # one may be under way at an end

    steps: dict[int, list[tuple[int, str, bool]]] = defaultdict(list)
    for s in [*slices, *instants]:
        for flow in s.flows:
            steps[flow].append((s.begin, s.track.removeprefix("Engines/"), s.last))
    assert len(steps) == len(commands)
    for way in steps.values():
        tracks = [track for _, track, _ in sorted(way, key=lambda x: (x[0], x[2]))]
        assert tracks[0] == "doorbells" and tracks[1] == "fetch" and tracks[-1] == "interrupts" and len(tracks) == 5
        assert [last for *_, last in sorted(way)] == [False] * 4 + [True]


def test_window_leaves_out_what_is_outside(make_drive: MakeDrive, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.pftrace", tmp_path / "part.pftrace"
    recorder, _, _ = measured(make_drive, whole, "randread", 4)
    span = Span(recorder.begin_ns + 20_000, recorder.begin_ns + 30_000)
    draw([recorder], span).write(part)
    everything, some = read(whole)[0], read(part)[0]
    wanted = [s for s in everything if s.end >= span.first and s.begin < span.end]
    assert Counter((s.track, s.name, s.begin, s.end) for s in some) == Counter(
        (s.track, s.name, s.begin, s.end) for s in wanted
    )
    assert 0 < len(some) < len(everything)


def changes(file: Path) -> dict[str, list[tuple[int, Any]]]:
    """Of each signal of a waveform, with a reader that others wrote."""
    wave = pywellen.Waveform(str(file))
    return {v.full_name: list(v.tv) for v in wave.all_vars()}


@pytest.mark.nightly  # builds two simulators that write
def test_waveforms_have_the_same_in_both_formats(tmp_path: Path) -> None:
    """FST and VCD of the slowest command: every change of every signal, in just this window; and no figure moves."""
    jobs = [Job(rw="randrw", iodepth=4, numjobs=2, number_ios=40)]
    plain = measure(DriveSetup(), jobs, stages=True)
    [recorder] = plain.recorders
    slowest = max((t for t in recorder.trips), key=lambda t: (t.done - t.started, -t.started))
    waves = []
    for file in (tmp_path / "run.fst", tmp_path / "run.vcd"):
        found = measure(DriveSetup(), jobs, views=Views(wave=file, window=Window.parse("slowest")))
        assert found.groups[0][0].latencies().tolist() == plain.groups[0][0].latencies().tolist()
        waves.append(changes(file))
    fst, vcd = waves
    clock = [at for at, _ in fst["top.clk"]]
    assert abs(clock[0] / 2 - slowest.started) <= 51 and abs(clock[-1] / 2 - slowest.done) <= 51
    both = fst.keys() & vcd.keys()  # names of arrays of structs are written in two ways
    assert len(both) > 0.9 * max(len(fst), len(vcd))
    assert not [name for name in both if fst[name] != vcd[name]]
    assert (tmp_path / "run.fst").stat().st_size < (tmp_path / "run.vcd").stat().st_size / 5


def test_window_of_the_command_line() -> None:
    assert Window.parse("50us") == Window(0, 50_000)
    assert Window.parse("1ms:50us") == Window(1_000_000, 50_000)
    assert Window.parse("cid=0x10,sq=2") == Window(command="cid", cid=16, queue=2)
    for bad in ("", "0", "soon", "1:2:3", "cid=", "cid=x", "5us:0us", "slowest:1us"):
        with pytest.raises(UserError, match="--window"):
            Window.parse(bad)
    for options, why in (
        ({"window": Window()}, "needs one of them"),
        ({"wave": Path("run.txt")}, ".fst or .vcd"),
        ({"perfetto": Path("nowhere/run.pftrace")}, "cannot write nowhere/run.pftrace: No such"),
        ({"wave": Path("/proc/run.fst")}, "cannot write /proc/run.fst"),
    ):
        with pytest.raises(UserError, match=re.escape(why)):
            Views(**options).check_files()
