# SPDX-License-Identifier: Apache-2.0
"""The tests' own tools: the reference model, the driver's checks, job files, the link limit. No RTL needed."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from doorbell.bench.jobs import Job, groups, parse_job_file
from doorbell.bench.results import fio_json, percentile
from doorbell.bench.runner import run_group
from doorbell.cli import main as cli
from doorbell.device import limits
from doorbell.device.functional import FunctionalSsd
from doorbell.errors import UserError
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import AdminOpc, LogPage, NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.errors import ProtocolError
from doorbell.nvme.memory import Buffer, HostMemory
from doorbell.nvme.model import Limits, Media, Mismatch, allowed_statuses
from traffic import Traffic, media_of

A, B = b"a" * 512, b"b" * 512


def functional(**options: Any) -> Driver:
    return Driver(FunctionalSsd(media_size=16 << 20, **options), HostMemory(32 << 20))


def test_model_orders_writes() -> None:
    media = Media(100, 512)
    first = media.begin(NvmOpc.WRITE, 5, 1, A)
    assert {bytes(v) for v in media.allowed(5)} == {bytes(512), A}
    media.end(first)
    assert media.known(5)
    second = media.begin(NvmOpc.WRITE, 5, 1, B)
    third = media.begin(NvmOpc.WRITE, 5, 1, A)
    media.end(third)
    media.end(second)  # overlapped: either may have come last
    assert {bytes(v) for v in media.allowed(5)} == {A, B}
    media.end(media.begin(NvmOpc.WRITE_ZEROES, 0, 10))
    assert [bytes(v) for v in media.allowed(5)] == [bytes(512)]


def test_model_reads_see_what_was_there_meanwhile() -> None:
    media = Media(100, 512)
    read = media.begin(NvmOpc.READ, 5, 1)
    media.end(media.begin(NvmOpc.WRITE, 5, 1, A))
    media.end(media.begin(NvmOpc.WRITE, 5, 1, B))
    late = media.begin(NvmOpc.READ, 5, 1)
    for value in (bytes(512), A, B):
        media.check(5, 1, value, since=read.begin)
    with pytest.raises(Mismatch):
        media.end(late, data=A)


def test_model_failed_write_removes_nothing() -> None:
    media = Media(100, 512)
    media.end(media.begin(NvmOpc.WRITE, 5, 1, A))
    media.lost(media.begin(NvmOpc.WRITE, 5, 1, B))
    assert {bytes(v) for v in media.allowed(5)} == {A, B}
    media.end(media.begin(NvmOpc.READ, 5, 1), data=B)
    with pytest.raises(Mismatch):
        media.end(media.begin(NvmOpc.READ, 5, 1), data=bytes(512))


def test_model_blocks_are_whole() -> None:
    """Overlapping writes leave one of them, not a mixture."""
    media = Media(100, 512)
    first, second = media.begin(NvmOpc.WRITE, 5, 1, A), media.begin(NvmOpc.WRITE, 5, 1, B)
    media.end(first)
    media.end(second)
    media.check(5, 1, A)
    media.check(5, 1, B)
    with pytest.raises(Mismatch):
        media.check(5, 1, A[:32] + B[32:])


def test_model_compare() -> None:
    media = Media(100, 512)
    media.end(media.begin(NvmOpc.WRITE, 5, 1, A))
    media.end(media.begin(NvmOpc.COMPARE, 5, 1, A))
    media.end(media.begin(NvmOpc.COMPARE, 5, 1, B), Status.COMPARE_FAILED)
    with pytest.raises(Mismatch):
        media.end(media.begin(NvmOpc.COMPARE, 5, 1, B))
    with pytest.raises(Mismatch):
        media.end(media.begin(NvmOpc.COMPARE, 5, 1, A), Status.COMPARE_FAILED)


def test_model_statuses() -> None:
    drive = Limits(1000, 512)
    assert allowed_statuses(drive, NvmOpc.READ, slba=999) == {Status.SUCCESS}
    assert allowed_statuses(drive, NvmOpc.READ, slba=999, nlb=1) == {Status.LBA_RANGE}
    assert allowed_statuses(drive, NvmOpc.READ, slba=1000, nsid=4) == {Status.LBA_RANGE, Status.INVALID_NS}
    assert allowed_statuses(drive, 0x99) == {Status.INVALID_OPCODE}
    assert allowed_statuses(drive, NvmOpc.READ, nlb=15, prp1=0x1000, prp2=0x2004) == {Status.INVALID_PRP_OFFSET}


class Saboteur(FunctionalSsd):
    """A drive with one fault."""

    fault = ""

    def _post(self, cq: Any, qid: int, cid: int, status: int, dw0: int) -> None:
        if qid and self.fault == "double":
            super()._post(cq, qid, cid, status, dw0)
        if qid and self.fault == "cid":
            cid ^= 0x100
        if qid and self.fault == "sqid":
            qid ^= 2
        if qid and self.fault == "sqhd":
            self._sqs[qid].head = (self._sqs[qid].head + 9) % self._sqs[qid].entries
        super()._post(cq, qid, cid, status, dw0)

    def _fire(self, vector: int) -> None:
        if not (vector and self.fault == "irq"):
            super()._fire(vector)

    def _zero(self, at: int, size: int) -> None:
        super()._zero(at, size - 512 if self.fault == "zero" and size > 512 else size)

    def _scatter(self, prp1: int, prp2: int, data: bytes) -> None:
        if self.fault == "stray":
            self._put(prp1 + len(data), b"oops")
        super()._scatter(prp1, prp2, data)


@pytest.mark.parametrize("fault", ["double", "cid", "sqid", "sqhd", "irq"])
def test_driver_notices(fault: str) -> None:
    drive = Driver(Saboteur(media_size=16 << 20), HostMemory(32 << 20), io_timeout_us=200)
    drive.start(queues=3, entries=16)
    drive.sim.fault = fault  # type: ignore[attr-defined]
    with pytest.raises(ProtocolError):
        for _ in range(4):
            drive.write(0, bytes(512))


@pytest.mark.parametrize("fault", ["zero", "stray"])
def test_traffic_notices(fault: str) -> None:
    drive = Driver(Saboteur(media_size=16 << 20), HostMemory(32 << 20))
    drive.start(queues=3, entries=16)
    drive.sim.fault = fault  # type: ignore[attr-defined]
    with pytest.raises((Mismatch, ProtocolError)):
        traffic = Traffic(drive, media_of(drive), region=256, largest=8192, bad=0)
        traffic.run(400, 4)
        traffic.read_all()


def walk(memory: HostMemory, prp1: int, prp2: int, size: int) -> list[tuple[int, int]]:
    """Pages of a transfer, read from its PRPs the simple way."""
    out = [(prp1, min(size, 4096 - prp1 % 4096))]
    left = size - out[0][1]
    if left and left <= 4096:
        return [*out, (prp2, left)]
    at = prp2
    while left:
        (entry,) = struct.unpack("<Q", memory.at(at, 8))
        if at % 4096 == 4088 and left > 4096:
            at = entry
            continue
        out.append((entry, min(left, 4096)))
        left -= out[-1][1]
        at += 8
    return out


@pytest.mark.parametrize("list_offset", [0, 8, 2048, 4080, 4088])
@pytest.mark.parametrize("size", [512, 4096, 4100, 8192, 12288, 1 << 20, 3 << 20])
def test_prp_lists(size: int, list_offset: int) -> None:
    memory = HostMemory(16 << 20)
    buffer = Buffer(memory, size, offset=100, scattered=True, list_offset=list_offset)
    pieces = walk(memory, *buffer.prps(), size)
    assert [(a - memory.base, n) for a, n in pieces] == [(memory_offset(memory, p), len(p)) for p in buffer.pieces()]


def memory_offset(memory: HostMemory, view: memoryview) -> int:
    import numpy as np

    start = np.frombuffer(memory.view, np.uint8).__array_interface__["data"][0]
    return np.frombuffer(view, np.uint8).__array_interface__["data"][0] - start


def test_job_files() -> None:
    jobs = parse_job_file(
        "; a comment\n[global]\nbs=4k\niodepth=32\nioengine=libaio\n\n[one]\nrw=randread # here too\nsize=1m\n"
        "[two]\nstonewall\nrw=randrw\nrwmixread=70\nruntime=2ms\n[three]\nbs=128KiB\nnumjobs=4\n"
    )
    assert [j.name for j in jobs] == ["one", "two", "three"]
    assert jobs[0].rw == "randread" and jobs[0].size == 1 << 20 and jobs[0].ios() == 256
    assert jobs[1].runtime_ns == 2_000_000 and jobs[1].read_share == 0.7
    assert jobs[2].bs == 131072 and jobs[2].iodepth == 32
    assert [[j.name for j in g] for g in groups(jobs)] == [["one"], ["two", "three"]]
    for bad in ("[a]\nzap=1", "rw=read", "[a]\nbs=0x", "[a]\nrw=backwards", "[global]\nbs=4k", "[a\nrw=read", ""):
        with pytest.raises(UserError):
            parse_job_file(bad)


def test_bench_json_is_like_fio() -> None:
    drive = functional()
    drive.start(queues=2, entries=64)
    job = Job("j", "randrw", 4096, iodepth=16, numjobs=2, rwmixread=70, number_ios=300)
    results = run_group(drive, [job])
    out = json.loads(json.dumps(fio_json([results], limits.Link(), {})))["jobs"][0]
    assert out["read"]["total_ios"] + out["write"]["total_ios"] == 600
    assert 0.6 < out["read"]["total_ios"] / 600 < 0.8
    lat = out["read"]["clat_ns"]
    assert lat["min"] <= lat["percentile"]["50.000000"] <= lat["percentile"]["99.000000"] <= lat["max"]
    assert out["read"]["iops"] > 0 and abs(out["read"]["bw"] * 1024 / out["read"]["iops"] / 4096 - 1) < 0.01


def test_functional_log_page_of_any_length() -> None:
    """One that is longer than any command's data is not made."""
    drive = functional()
    drive.start(queues=1, entries=16)
    log = {"cdw10": LogPage.SMART | 0xFFFF << 16, "cdw11": 0x10}
    expect(drive.admin_try(AdminOpc.GET_LOG_PAGE, buffer=drive.buffer(4096), **log), Status.INVALID_FIELD)


def test_functional_commands_of_a_deleted_queue() -> None:
    """When the queue is gone nothing of it touches the host's memory any more, nor is it answered in the next queue."""
    drive = functional(latency_ns=100_000, jitter_ns=0)
    drive.start(queues=1, entries=16)
    buffer = drive.buffer(4096)
    buffer.fill(7)
    drive.submit(1, NvmOpc.READ, 0, 7, buffer, ring=True)
    drive.sim.run(1000)
    assert len(drive.delete_sq(1)) == 1
    drive.create_sq(1, 16, 1)
    drive.sim.run(100_000)
    assert buffer.read() == b"\7" * 4096 and not drive.poll()


def test_percentile_is_nearest_rank() -> None:
    import numpy as np

    values = np.arange(1, 101, dtype=float)
    assert [percentile(values, p) for p in (1, 50, 99, 99.9, 100)] == [1, 50, 99, 100, 100]


def test_link_limit_by_hand() -> None:
    """4 KiB reads, MPS 256, one ACK a TLP: 16 x (8 + 16 + 256) + completion 40 + interrupt 24 + fetch 24, DLLPs."""
    link = limits.Link.parse("gen3x8", mps=256, mrrs=512, ack_every=1, fc_every=0)
    wire = limits.command(link, limits.Workload(4096))
    # down: entry 20 + 64, two doorbells of 24; ACKs go the other way: 3 up, 19 down
    assert wire.up == 16 * 280 + 40 + 24 + 24 + 3 * 8
    assert wire.down == 84 + 2 * 24 + 19 * 8
    assert abs(link.bytes_per_ns - 8 * 128 / 130) < 1e-9
    assert limits.limit(link, limits.Workload(4096)).bound == "up"
    assert limits.prp_list_bytes(8192) == 0 and limits.prp_list_bytes(8192, 4) == 16
    assert limits.split(0xFF0, 32, 256) == 2


@pytest.mark.parametrize("name", ["gen6x8", "gen3x3", "x8", ""])
def test_link_names(name: str) -> None:
    with pytest.raises(ValueError):
        limits.Link.parse(name)


def test_bench_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    arguments = [
        "bench",
        "--backend",
        "functional",
        "--rw",
        "randrw",
        "--rwmixread",
        "70",
        "--iodepth",
        "8",
        "--number-ios",
        "64",
        "--json",
    ]
    assert cli.run([*arguments, str(out)]) == 0
    assert "% of link" in capsys.readouterr().out
    first = out.read_text()
    assert cli.run([*arguments, str(out)]) == 0 and out.read_text() == first, "the same seed, the same figures"
    capsys.readouterr()
    assert cli.run([*arguments, "-"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"][0]["read"]["total_ios"] > 30
    for wrong in (
        ["--bs", "3x"],
        ["--frobnicate"],
        ["--link", "gen9x9"],
        ["--bs", "100"],
        ["--bs", "4m"],
        ["--mps", "100"],
        [str(tmp_path / "none.fio")],
    ):
        assert cli.run(["bench", "--backend", "functional", *wrong]) != 0
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1 and captured.err.startswith("doorbell: "), captured.err


def test_a_demo_that_broke_a_rule_is_none(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(FunctionalSsd, "errors", lambda _: {"error.mps": 3}, raising=False)
    assert cli.run(["demo", "--backend", "functional", "--mib", "1", "--json"]) == 2
    said = capsys.readouterr()
    assert "broke rules of PCIe or AXI" in said.err and "error.mps" in said.err and not said.out


def test_demo_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["demo", "--backend", "functional", "--mib", "2", "--json"]) == 0
    out = json.loads(capsys.readouterr().out)
    assert out["doorbell"]["verify"]["compared"] == 2 << 20 and len(out["jobs"]) == 6
