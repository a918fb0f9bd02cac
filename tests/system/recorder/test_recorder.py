# SPDX-License-Identifier: Apache-2.0
"""db_recorder with its hosts and model drives: rates, drives that fail or stall, trims, packets, registers."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from doorbell import build
from doorbell.device.drives import Latency, ModelDrive
from doorbell.device.recorder_setup import simulator_params, traffic, write_limit
from doorbell.device.recorder_sim import BLOCK, RecorderSim

MB = 1 << 20


def opened(count: int = 2, drive: dict[str, Any] | None = None, regs: int = 1, **options: Any) -> RecorderSim:
    """A recorder that is up. regs: its hosts have registers."""
    settings = {"size": 64 * MB, "ready_us": 1, "unready_us": 1, **(drive or {})}
    library = build.simulator("db_recorder", {**simulator_params(count), "HOST_REGS": regs})
    sim = RecorderSim(library, [ModelDrive(**settings) for _ in range(count)], **options)
    sim.run_until(lambda: sim.up or sim.dead, 5_000_000)
    assert sim.up
    return sim


def numbered(blocks: int, seed: int = 1) -> bytearray:
    """Blocks of random bytes that begin with their number."""
    data = bytearray(random.Random(seed).randbytes(blocks * BLOCK))
    for i in range(blocks):
        struct.pack_into("<Q", data, i * BLOCK, i)
    return data


def block(data: Any, number: int) -> Any:
    return data[number * BLOCK : (number + 1) * BLOCK]


def on_drives(sim: RecorderSim, start: int, blocks: int) -> bytes:
    """What the drives hold, put together in turn."""
    media = [sim.media_view(start * BLOCK, blocks * BLOCK, i) for i in range(sim.ports)]
    return b"".join(block(media[k % sim.ports], k // sim.ports) for k in range(blocks * sim.ports))


def test_what_the_simulator_would_write_or_read_beyond() -> None:
    """Buffers are whole blocks, and of how often one is given 32 bits are kept."""
    with opened() as sim:
        for bad in (bytearray(BLOCK + 8), bytearray()):
            with pytest.raises(ValueError, match="blocks of 4096"):
                sim.start_read(0, 1, bad)
        for data, times in ((bytearray(BLOCK + 8), 1), (bytearray(BLOCK), 1 << 32)):
            with pytest.raises(ValueError, match="blocks of 4096"):
                sim.capture(data, times)


def finish(sim: RecorderSim, cycles: int = 5_000_000) -> None:
    sim.run_until(lambda: sim.captured, cycles)


def pace(count: int) -> tuple[float, float]:
    """Cycles a block of the stream, with drives that are faster than their links; and what one link allows."""
    with opened(count, {"write": Latency(5000)}) as sim:
        each = 400
        data = numbered(64 * count)
        before = traffic(sim)
        sim.start_capture(0, each)
        sim.capture(data, times=-(-each // 64))
        left = [each * count * BLOCK * share // 100 for share in (75, 10)]
        seen = []
        for mark in left:
            sim.run_until(lambda mark=mark: sim.signal("wdata_left") - 48 * count * BLOCK <= mark, step=50)
            seen.append((sim.cycle, sim.signal("wdata_left")))
        finish(sim)
        assert [sim.get("NumBlocks", i) for i in range(count)] == [each] * count
        assert not sim.errors() and not any(sim.get("Lost", i) for i in range(count))
        allowed = 250e6 / write_limit(before, traffic(sim), each * count).iops
        return (seen[1][0] - seen[0][0]) / ((seen[0][1] - seen[1][1]) / BLOCK), allowed


@pytest.mark.parametrize("count", [2, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 4, 8))])
def test_rate_grows_with_drives(count: int) -> None:
    """Each drive is at its link's limit, however many there are."""
    cycles, allowed = pace(count)
    assert 0.99 < allowed / count / cycles <= 1.002


def test_capture_and_read_out() -> None:
    """With random pauses everywhere: blocks lie where they should, come back in order, and registers say so."""
    with opened(2, stall_pct=20, user_stall_pct=20) as sim:
        data = numbered(120)
        sim.start_capture(1000, 60)
        sim.capture(data)
        finish(sim)
        assert on_drives(sim, 1000, 60) == data
        assert sim.read(1000, 60) == data
        assert sim.read(1010, 20, [1]) == b"".join(block(data, i) for i in range(21, 61, 2))
        assert sim.read(1005, 30) == data[10 * BLOCK : 70 * BLOCK]
        for i in range(2):
            assert sim.get("NumBlocks", i) == 60 and sim.get("ReadBlocksDone", i) == 30 and not sim.get("Error", i)
            assert sum(sim.get("Histogram", i, k) for k in range(24)) == 60
        assert sim.get("TotalBlocks") == 64 * MB // BLOCK and sim.get("Shape") == 256 << 16 | 2
        assert not sim.errors()


@pytest.mark.parametrize("how", ["link", "reset", "status"])
def test_failing_drive(how: str) -> None:
    """A drive that fails costs its own blocks, which are listed; it takes part again when it is back."""
    with opened(2) as sim:
        each = 600
        data = numbered(2 * each)
        sim.media_write(0, bytes(each * BLOCK), 1)
        if how == "status":
            sim.fault("status", opcode=1, lba=8 * 200, blocks=8 * 30, count=None, status=0x280, port=1)
        sim.start_capture(0, each)
        sim.capture(data)
        sim.run_until(lambda: sim.get("NumBlocks", 1) >= 100, step=200)
        if how == "link":
            sim.link(False, 1)
            sim.run(20_000)
            sim.link(True, 1)
        elif how == "reset":
            sim.set("Control", {"Reset": 1, "DataEnable": 1}, 1)
        finish(sim)
        runs = sim.runs(1)
        marked = {b for run in runs for b in range(run.first, run.first + run.count)}
        assert [sim.get("NumBlocks", i) for i in range(2)] == [each, each]
        assert not sim.get("Lost", 0) and not sim.runs(0) and sim.get("Lost", 1) == len(marked) > 0
        assert {run.why for run in runs} <= {"link": {"drive down", "error status"}, "status": {"error status"},
                                             "reset": {"drive reset", "drive down"}}[how]  # fmt: skip
        if how == "status":
            assert marked == set(range(200, 230)) and sim.get("Error", 1) & 0x7FF == 0x280
        else:
            assert max(marked) < each - 1, "it records again"
        got = on_drives(sim, 0, each)
        for k in range(2 * each):
            assert block(got, k) == block(data, k) or (k % 2 and k // 2 in marked), k
        assert sim.up and not sim.errors()
        more = numbered(80, seed=2)
        sim.start_capture(2000, 40)
        sim.capture(more)
        finish(sim)
        assert on_drives(sim, 2000, 40) == more and not sim.get("Lost", 1)


@pytest.mark.parametrize("stall_us", [1500, pytest.param(10_000, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("drop", [False, True])
def test_stall(stall_us: int, drop: bool) -> None:
    """A drive stands still: the buffer of docs/recorder/performance.md holds the stream meanwhile; a smaller one makes
    the recorder throw whole blocks away, counted, and the rest is in order.
    """
    rate, inside = 3.5, 2 * (4 * BLOCK + 65536)
    want = int(stall_us * rate * 1000) - inside
    size = want // 2 + MB  # of a drive, then it stalls; there is no second time
    drive = {"write_gbps": 2.2, "stall_us": stall_us, "stall_every": size, "write": Latency(5000),
             "write_buffer": 65536}  # fmt: skip
    with opened(2, drive=drive, write_gbps=rate) as sim:
        total = (2 * size + want + MB // 2) // (2 * BLOCK)
        data = numbered(2 * total)
        sim.source(MB, MB // 2) if drop else sim.source(2 * want)
        sim.start_capture(0, 3 * total)
        sim.capture(data)
        sim.run_until(lambda: not sim.signal("wdata_left"), 10_000_000)
        sim.set("Control", 0)
        finish(sim)
        done = [sim.get("NumBlocks", i) for i in range(2)]
        got = on_drives(sim, 0, max(done))[: sum(done) * BLOCK]
        numbers = [struct.unpack_from("<Q", got, at)[0] for at in range(0, len(got), BLOCK)]
        lost = sim.get("BlocksLost")
        assert numbers == sorted(set(numbers)) and len(numbers) + lost == 2 * total
        assert all(block(got, k) == block(data, n) for k, n in enumerate(numbers))
        assert max(sim.get("PeakLatencyUs", i) for i in range(2)) in range(stall_us, stall_us + stall_us // 10 + 60)
        assert not sim.counters()["user.source_full"] and not sim.errors()
        if drop:
            gaps = [b - a - 1 for a, b in zip(numbers, numbers[1:])]
            assert lost and not any(g % 2 for g in gaps)
            assert lost * BLOCK == pytest.approx(want - MB // 2, rel=0.15)
        else:
            assert not lost and sim.signal("level_peak") == pytest.approx(want, rel=0.1)


def test_trim_first() -> None:
    """With TrimFirst the chunk is empty before the first block is written, and nothing beside it is."""
    with opened(2) as sim:
        old = b"\xa5" * BLOCK
        for i in range(2):
            sim.media_write(0, old * 200, i)
        sim.set("TrimFirst", 1)
        sim.start_capture(50, 100)
        data = numbered(60)
        sim.capture(data)
        sim.run_until(lambda: not sim.signal("wdata_left"))
        sim.set("Control", 0)
        finish(sim)
        assert on_drives(sim, 50, 30) == data
        for i in range(2):
            assert sim.get("Trimmed", i) == 100 and sim.get("NumBlocks", i) == 30
            assert sim.media_read(80 * BLOCK, 70 * BLOCK, i) == bytes(70 * BLOCK)
            assert sim.media_read(0, 50 * BLOCK, i) == old * 50 == sim.media_read(150 * BLOCK, 50 * BLOCK, i)
        assert not sim.errors()


@pytest.mark.parametrize("regs", [1, pytest.param(0, marks=pytest.mark.nightly)])
def test_registers_during_capture(regs: int) -> None:
    """Accesses of all kinds while the stream runs do not disturb it, and what they say fits together."""
    with opened(2, regs=regs) as sim:
        each, old = 300, b"\xa5" * BLOCK
        data = numbered(2 * each)
        for i in range(2):
            sim.media_write(3000 * BLOCK, old * 60, i)
        sim.start_capture(0, each)
        sim.capture(data)
        rng, last, accesses = random.Random(4), [0, 0], 0
        while not sim.captured:
            for i in range(2):
                done = sim.get("NumBlocks", i)
                assert last[i] <= done <= each
                last[i] = done
            assert sim.get("DataChunkSize", rng.randrange(2)) == each and sim.get("ID") >> 24 == 0x56
            drive = rng.randrange(2)
            assert sim.host_get(drive, 0) == (0x4442484F if regs else 0)  # answered, although the hosts have none
            sim.host_set(1 - drive, 4, 3)
            # the next capture's; and a trim, which waits until this one is complete and is then what it was here
            sim.set("DataChunkStart", 5000 + accesses, drive)
            sim.set("ReadBlock", 3000, drive)
            sim.set("ReadNumBlocks", 50, drive)
            sim.set("ReadControl", {"Enable": 1, "PerformTrim": 1}, drive)
            sim.set("ReadNumBlocks", 10_000, drive)
            sim.set("ReadBlock", 0, drive)
            sim.set("ReadControl", {"Enable": 1}, drive)
            accesses += 1
        assert accesses > 20 and sim.get("Status", field="Completed")
        sim.run_until(lambda: all(sim.get("ReadStatus", i, field="Complete") for i in range(2)))
        assert on_drives(sim, 0, each) == data
        for i in range(2):
            assert sim.get("ReadBlocksDone", i) == 50, "one trim, of what was asked for when Enable was set"
            assert sim.media_read(3000 * BLOCK, 60 * BLOCK, i) == bytes(50 * BLOCK) + old * 10
        assert not sim.errors()


def test_packets() -> None:
    """Raw accesses from the host: a drive's CAP; Identify through the admin queue, its data to the host's stream; and
    both while a capture runs.
    """
    with opened(2) as sim:
        data = numbered(400)
        sim.start_capture(0, 200)
        sim.capture(data)
        sim.run(2000)
        for drive in (1, 0):
            sim.send([drive << 28, 0, 7 << 16 | 2, 0x42])
            (reply,) = sim.wait_packets()
            head, cap = reply.dwords[:3], reply.dwords[3:]
            assert head == [8 << 16, 7 << 16 | 2, 0x8000_0042]
            assert cap[0] & 0xFFFF == 1023 and cap[1] >> 5 & 1, "MQES, CSS of the model"
            assert len(cap) == 2
            sqe = [0x1234_0006, 0, 0, 0, 0, 0, 0x0100_0000, 0, 0, 0, 1, 0, 0, 0, 0, 0]
            sim.send([drive << 28 | 2 << 24, 0, 1 << 11 | 16, 0, *sqe])
            *rows, entry = sim.wait_packets(257)
            page = bytearray(4096)
            for row in rows:
                assert row.dwords[0] >> 24 == drive << 4 | 1 and row.dwords[2] == 0x800 + len(row.dwords) - 4
                at = row.dwords[0] & 0xFF_FFFF
                page[at : at + 4 * len(row.dwords) - 16] = struct.pack(f"<{len(row.dwords) - 4}I", *row.dwords[4:])
            assert page[24:44] == b"Doorbell model drive"
            assert entry.dwords[0] >> 20 == drive << 8 | 0x21 and entry.dwords[2] == 0x804
            assert entry.dwords[7] & 0xFFFF == 0x1234 and not entry.dwords[7] >> 17
        finish(sim)
        assert on_drives(sim, 0, 200) == data
        sim.send([1 << 28 | 2 << 24 | 1 << 16, 0, 1 << 11 | 16, 0, *sqe])  # an I/O queue: refused
        (entry,) = sim.wait_packets()
        assert entry.dwords[7] >> 17 == 1 and entry.dwords[7] & 0xFFFF == 0x1234
        sim.send([0, 0, 1, 9])
        (reply,) = sim.wait_packets()
        assert reply.dwords[2] == 0x8000_0009
        assert not sim.errors()


@pytest.mark.nightly
@pytest.mark.parametrize(("pauses", "stop"), [(0, False), (10, True)])
def test_buffer_in_memory(pauses: int, stop: bool) -> None:
    """A drive stands still for longer than all buffers on the chip last. With a buffer in memory the source, which has
    none, is never held up and nothing is lost; also what is inside when software ends the capture is recorded.
    """
    stall_us, rate, inside = 600, 3.5, 2 * (4 * BLOCK + 65536)
    want = int(stall_us * rate * 1000) - inside
    size = want // 4  # of a drive, then it stalls
    drive = {"write_gbps": 2.2, "stall_us": stall_us, "stall_every": size, "write": Latency(5000),
             "write_buffer": 65536, "size": 64 * MB}  # fmt: skip
    settings = {"ready_us": 1, "unready_us": 1, **drive}
    library = build.simulator("db_recorder", simulator_params(2, buffer=4 * MB))
    total = (2 * size + want) // (2 * BLOCK)
    data, deepest = numbered(2 * total), 0
    with RecorderSim(library, [ModelDrive(**settings) for _ in range(2)], write_gbps=rate,
                     user_stall_pct=pauses) as sim:  # fmt: skip
        sim.run_until(lambda: sim.up, 5_000_000)
        sim.source(0)
        sim.start_capture(0, 3 * total if stop else total)
        sim.capture(data)
        while sim.signal("wdata_left"):
            sim.run(5000)
            deepest = max(deepest, sim.get("Buffer", field="blocks") * BLOCK)
        counters = sim.counters()
        if stop:
            assert sim.get("Buffer", field="blocks") > 64, "there is much to save"
            sim.set("Control", 0)
        finish(sim)
        assert on_drives(sim, 0, total) == data
        assert [sim.get("NumBlocks", i) for i in range(2)] == [total, total]
        assert sim.get("Buffer") == 0 and not sim.get("BlocksLost") and not any(sim.get("Lost", i) for i in range(2))
        assert not sim.errors() and min(sim.get("PeakLatencyUs", i) for i in range(2)) >= stall_us
        if not pauses:
            assert deepest == pytest.approx(want, rel=0.1) and counters["stall.wdata"] == 0
        # What a full chunk leaves in the buffer is not in the next capture, which begins with what comes then.
        sim.set("Control", 0)
        sim.start_capture(4000, 20)
        more = numbered(1500, seed=3)
        sim.capture(more)
        finish(sim)
        sim.set("Control", 0)
        sim.run(20_000)
        sim.start_capture(5000, 10)
        finish(sim)
        media = on_drives(sim, 5000, 10)
        first = struct.unpack_from("<Q", media)[0]
        assert first > 40 and media == more[first * BLOCK : (first + 20) * BLOCK]


def test_stopped_and_started_with_a_full_buffer() -> None:
    """DataEnable 0 and at once 1 again: the first capture has all that was accepted, the next begins behind it."""
    stall_us, rate, size = 600, 3.5, MB
    drive = {"write_gbps": 2.2, "stall_us": stall_us, "stall_every": size, "write": Latency(5000),
             "write_buffer": 65536, "size": 64 * MB, "ready_us": 1, "unready_us": 1}  # fmt: skip
    library = build.simulator("db_recorder", simulator_params(2, buffer=4 * MB))
    total = size // BLOCK + 150
    data = numbered(2 * total)
    with RecorderSim(library, [ModelDrive(**drive) for _ in range(2)], write_gbps=rate) as sim:
        sim.run_until(lambda: sim.up, 5_000_000)
        sim.source(0)
        sim.start_capture(0, 4 * total)
        sim.capture(data)
        while sim.signal("wdata_left"):
            sim.run(5000)
        assert sim.get("Buffer", field="blocks") > 64
        sim.set("Control", 0)
        sim.start_capture(8000, 20)
        more = numbered(3000, seed=3)
        sim.capture(more)
        finish(sim)
        assert on_drives(sim, 0, total) == data
        media = on_drives(sim, 8000, 20)
        first = struct.unpack_from("<Q", media)[0]
        assert media == more[first * BLOCK : (first + 40) * BLOCK]
        assert not sim.errors()


@pytest.mark.nightly
def test_buffer_drops() -> None:
    """Above BUFFER_DROP_PCT whole blocks are lost, two at a time, counted; the source is not held up."""
    rate, stall_us, size = 3.5, 600, MB
    drive = {"write_gbps": 2.2, "stall_us": stall_us, "stall_every": size, "write": Latency(5000),
             "write_buffer": 65536, "size": 64 * MB, "ready_us": 1, "unready_us": 1}  # fmt: skip
    library = build.simulator("db_recorder", {**simulator_params(2, buffer=MB), "BUFFER_DROP_PCT": 50})
    total = 2 * size // BLOCK + 400
    data, deepest = numbered(total), 0
    with RecorderSim(library, [ModelDrive(**drive) for _ in range(2)], write_gbps=rate) as sim:
        sim.run_until(lambda: sim.up, 5_000_000)
        sim.source(0)
        sim.start_capture(0, total)
        sim.capture(data)
        while sim.signal("wdata_left"):
            sim.run(5000)
            deepest = max(deepest, sim.get("Buffer", field="blocks") * BLOCK)
        assert sim.counters()["stall.wdata"] == 0
        sim.set("Control", 0)
        finish(sim)
        done, lost = [sim.get("NumBlocks", i) for i in range(2)], sim.get("BlocksLost")
        got = on_drives(sim, 0, max(done))[: sum(done) * BLOCK]
        numbers = [struct.unpack_from("<Q", got, at)[0] for at in range(0, len(got), BLOCK)]
        assert numbers == sorted(set(numbers)) and len(numbers) + lost == total and not sim.errors()
        assert all(block(got, k) == block(data, n) for k, n in enumerate(numbers))
        gaps = [b - a - 1 for a, b in zip(numbers, numbers[1:])]
        assert lost > 100 and sum(gaps) <= lost and not any(g % 2 for g in gaps)
        assert MB // 2 - 2 * BLOCK <= deepest < MB // 2 + 16 * BLOCK
