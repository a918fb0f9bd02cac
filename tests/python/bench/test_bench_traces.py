# SPDX-License-Identifier: Apache-2.0
"""Traces: each format as its description says, and replay with and without their own times."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from doorbell.bench.jobs import Job
from doorbell.bench.results import fio_json
from doorbell.bench.trace_formats import Access, Trace
from doorbell.bench.traces import UNSORTED, commands, parse_trace, read_trace, replay
from doorbell.device import limits
from doorbell.device.functional import FunctionalSsd
from doorbell.errors import UserError
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory

DATA = Path(__file__).resolve().parents[2] / "data"


def test_iolog_v2() -> None:
    trace = read_trace(DATA / "iolog_v2.log")
    assert trace.format == "fio iolog v2" and trace.left_out == 2  # a sync, a trim
    assert trace.accesses == [
        Access(0, False, 0, 4096),
        Access(0, True, 8192, 4096),
        Access(200_000, False, 65536, 131072),
        Access(500_000, True, 1048576, 512),
    ]  # waits add up


def test_iolog_v3() -> None:
    trace = read_trace(DATA / "iolog_v3.log")
    assert trace.format == "fio iolog v3" and trace.left_out == 1
    assert trace.accesses == [  # microseconds, from the first access
        Access(0, False, 4096, 4096),
        Access(15_000, False, 8192, 8192),
        Access(30_000, True, 12288, 4096),
        Access(100_000, False, 536870912, 4096),
    ]


def test_blkparse() -> None:
    trace = read_trace(DATA / "blkparse.txt")
    assert trace.format == "blkparse" and trace.left_out == 2  # a flush, a discard
    assert trace.accesses == [
        Access(0, False, 2048 * 512, 4096),
        Access(12_000, True, 4096 * 512, 8192),
        Access(90_500, False, 1000000 * 512, 131072),
        Access(150_250, True, 2056 * 512, 512),
    ]


def test_blkparse_without_queue_events() -> None:
    lines = [line for line in (DATA / "blkparse.txt").read_text().splitlines() if "  D " in line]
    assert [a.at_ns for a in parse_trace("\n".join(lines), "t").accesses] == [0, 9_600]


def test_msr() -> None:
    trace = read_trace(DATA / "msr.csv")
    assert trace.format == "MSR-Cambridge CSV" and len(trace.accesses) == 5
    assert trace.accesses[0] == Access(0, False, 7014609920, 24576)
    assert [a.at_ns for a in trace.accesses] == [0, 20_000, 30_000, 150_000, 560_000]  # sorted, 100 ns each
    assert [a.write for a in trace.accesses] == [False, False, True, True, False]
    header = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n" + (DATA / "msr.csv").read_text()
    assert parse_trace(header, "t").accesses == trace.accesses


PRODUCTION = """BeginHeader
              DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,         FileObject, FileName
             DiskWrite,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,         FileObject, FileName
           DiskReadInit,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr
EndHeader
OS Version: 6.0.6001, Trace Size: 4096KB, Events Lost: 0
           DiskReadInit,      71230,   svc, host.exe (1112),       2040, 0xfffffa800a71e620
             DiskWrite,      71900,            System (   4),        136, 0xfffffa800a4b2c10, 0x0123456000, 0x00001000,         300,        1, 0x060a00,         280, 3, Original, 0xfffffa8009e11e30, "D:\\log, old.dat"
              DiskRead,      72000,   svc, host.exe (1112),       2040, 0xfffffa800a71e620, 0x00a0000200, 0x00002000,         800,        1, 0x060043,         780, 3, Original, 0xfffffa8009e11e30, "D:\\a.dat"
             DiskFlush,      72100,            System (   4),        136, 0xfffffa800a4b2c10,                                     10,        1, 0x060a00,         9, 3
              DiskRead,      73000,            System (   4),        136, 0xfffffa800a71e620, 0x0000000000, 0x00000200,         100,        0, 0x060043,          90, 3, Original, 0xfffffa8009e11e30, "C:\\b"
"""  # noqa: E501


def test_microsoft_production_server() -> None:
    """An event is that of the end; names with commas; two disks."""
    trace = parse_trace(PRODUCTION, "t", "1")
    assert trace.format == "Microsoft Production Server" and trace.left_out == 2  # a flush, and the other disk's read
    assert trace.accesses == [Access(0, False, 0xA0000200, 8192), Access(400_000, True, 0x123456000, 4096)]
    assert parse_trace(PRODUCTION, "t", "0").accesses == [Access(0, False, 0, 512)]
    with pytest.raises(UserError, match=r"several disks.*1 \(2\), 0 \(1\): choose one with --trace-disk"):
        parse_trace(PRODUCTION, "t")


def test_fiu() -> None:
    """Sectors; a process may have blanks in its name, homes have a digest for each sector."""
    text = (
        "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b711d91a065a2b6458eca924523\n"
        "89968195800000 4 R 7 sh 100 16 W 6 0 56f11b711d91a065a2b6458eca924523 0a0b\n"
    )
    trace = parse_trace(text, "t")
    assert trace.format == "FIU"
    assert trace.accesses == [Access(0, False, 283193184 * 512, 4096), Access(7_538, True, 51_200, 8192)]
    with pytest.raises(UserError, match="t:3: this is no line of a FIU"):
        parse_trace(text + "89968195792462 20782 gzip\n", "t")


def test_systor() -> None:
    """Times have more digits than a float."""
    text = (
        "Timestamp,Response,IOType,LUN,Offset,Size\n1456135200.013118000,0.000806,R,0,899056122368,131072\n"
        "1456135200.013119001,,,0,0,0\n1456135200.013119002,0.001,W,0,4096,512\n"
    )
    trace = parse_trace(text, "t")
    assert trace.format == "SYSTOR '17 CSV" and trace.left_out == 1
    assert trace.accesses == [Access(0, False, 899056122368, 131072), Access(1_002, True, 4096, 512)]
    assert parse_trace(text.partition("\n")[2], "t").accesses == trace.accesses


def test_spc() -> None:
    text = "0,20941264,8192,W,0.551706,Alpha/NT\n0,20939840,8192,r,0.554041\n1,3435888,15872,W,1.250720,0x123,5.99,a\n"
    trace = parse_trace(text, "t", "0")
    assert trace.format == "SPC" and trace.left_out == 1
    assert trace.accesses == [Access(0, True, 20941264 * 512, 8192), Access(2_335_000, False, 20939840 * 512, 8192)]


def test_packed_and_only_the_beginning(tmp_path: Path) -> None:
    """A trace of months is not read to its end for its first accesses; their order is that of their times."""
    count = 3 * UNSORTED
    lines = [f"{1_000 + 10 * i + (15 if i == 2 else 0)},h,0,Read,{4096 * i},4096,1" for i in range(count)]
    file = tmp_path / "long.csv.gz"
    file.write_bytes(gzip.compress("\n".join([*lines, "and nonsense"]).encode()))
    assert [a.offset // 4096 for a in read_trace(file, most=5).accesses] == [0, 1, 3, 2, 4]
    with pytest.raises(UserError, match=f":{count + 1}: this is no line"):
        read_trace(file)
    whole = file.read_bytes()
    for damaged in (whole[:100], whole[:50] + bytes(50) + whole[100:], b"no gzip"):
        file.write_bytes(damaged)
        with pytest.raises(UserError, match="cannot read the trace"):
            read_trace(file)
    (tmp_path / "b").write_bytes(b"\x07\xff\xfe\x00")
    with pytest.raises(UserError, match="not a trace in text"):
        read_trace(tmp_path / "b")


def test_a_disk_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"has no disk '2': it has h.0 \(1\)"):
        parse_trace("1,h,0,Read,0,4096,1\n", "t", "2")
    with pytest.raises(UserError, match="none with a name"):
        parse_trace("fio version 2 iolog\nf read 0 512\n", "t", "2")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        ("hello world\n", "first line"),
        ("fio version 1 iolog\n", "version 1"),
        ("fio version 3 iolog\n0 f read x 4096\n", "t:2: this is no line"),
        ("fio version 3 iolog\n0 f add\n0 f wait 10 0\n", "t:3"),
        ("fio version 2 iolog\nf add\n", "no read and no write"),
        ("1,a,0,Read,0,4096,1\n2,b,0,Read,0,4096,1\n", "several disks"),
        ("1,a,0,Trim,0,4096,1\n", "t:1"),
        ("1,a,0,Read,0,4096,1\n2,a,0,Read,-512,4096,1\n", "t:2"),
        ("1,a,0,Read,0,-4096,1\n", "t:1"),
        ("1,a,0,Read,0,99999999999999,1\n", "t:1"),
        (
            "8,0 1 1 0.000000000 1 Q R 0 + 8 [a]\n8,16 1 1 0.000000001 1 Q R 0 + 8 [a]\n",
            "several disks.*8,0 .1., 8,16 .1.",
        ),
        ("8,0 1 1 0.000000000 1 Q R 0 + 8 [a]\nnonsense\n", "t:2"),
    ],
)
def test_bad_traces_are_one_line(text: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as e:
        parse_trace(text, "t")
    assert "\n" not in str(e.value)


def test_commands_fit_the_drive() -> None:
    trace = Trace(
        "t",
        "x",
        [
            Access(0, True, 700, 100),
            Access(1, False, 1000, 3000),
            Access(2, False, 8192, 20000),
            Access(3, False, 100 * 65536 + 65024, 1024),
            Access(4, True, 0, 0),
        ],
    )
    assert commands(trace, 512, 65536, 8192) == [
        Access(0, True, 512, 512),
        Access(1, False, 512, 3584),
        Access(2, False, 8192, 8192),
        Access(2, False, 16384, 8192),
        Access(2, False, 24576, 4096),
        Access(3, False, 65024, 512),
        Access(3, False, 0, 512),
        Access(4, True, 0, 512),
    ]


def run(name: str, **options: object) -> tuple[object, Driver, list[float]]:
    d = Driver(FunctionalSsd(media_size=64 << 20), HostMemory(64 << 20))
    d.start(queues=2, entries=64)
    start = d.sim.ns
    times: list[float] = []
    submit = d.submit

    def spy(*args: object, **named: object) -> object:
        times.append(d.sim.ns - start)
        return submit(*args, **named)  # type: ignore[arg-type]

    d.submit = spy  # type: ignore[method-assign,assignment]
    return replay(d, read_trace(DATA / name), Job(iodepth=16), **options), d, times  # type: ignore[arg-type]


def test_replay_keeps_the_times() -> None:
    result, _, times = run("iolog_v3.log", afap=False)
    assert result.ios == 4 and result.read.sizes == {4096: 2, 8192: 1} and result.write.sizes == {4096: 1}  # type: ignore[attr-defined]
    for want, got in zip((0, 15_000, 30_000, 100_000), times):
        assert want <= got < want + 1_000, (want, got)


def test_replay_faster() -> None:
    _, _, times = run("iolog_v3.log", afap=False, speed=10.0)
    assert 10_000 <= times[-1] < 11_000


def test_replay_as_fast_as_possible() -> None:
    result, _, times = run("iolog_v3.log", afap=True)
    assert times == [0] * 4 and max(result.read.slat_ns) == 0  # type: ignore[attr-defined]


def test_as_fast_as_possible_nothing_waits_for_room() -> None:
    """An access begins when there is some: the whole replay before it is no part of its latency."""
    d = Driver(FunctionalSsd(media_size=64 << 20), HostMemory(64 << 20))
    d.start(queues=1, entries=4)
    trace = Trace("t", "x", [Access(0, False, 4096 * i, 4096) for i in range(20)])
    result = replay(d, trace, Job(iodepth=1), afap=True)
    assert result.read.slat_ns == [0] * 20
    side = fio_json([[result]], limits.Link(), {})["jobs"][0]["read"]
    assert side["lat_ns"]["mean"] == side["clat_ns"]["mean"] > 0


def test_replay_waits_for_room() -> None:
    """One in flight a queue: later accesses wait, and that wait is told."""
    d = Driver(FunctionalSsd(media_size=64 << 20), HostMemory(64 << 20))
    d.start(queues=1, entries=4)
    trace = Trace("t", "x", [Access(0, False, 4096 * i, 4096) for i in range(20)])
    result = replay(d, trace, Job(iodepth=1), afap=False)
    assert result.ios == 20
    assert result.read.slat_ns[0] == 0 and sorted(result.read.slat_ns) == result.read.slat_ns
    assert result.read.slat_ns[-1] >= sum(result.read.clat_ns[:-1]) * 0.99
