# SPDX-License-Identifier: Apache-2.0
"""The runtime of root ports and the model of a drive, driven through db_host_stub by a host written from the
specification. After each test no rule of PCIe, no doorbell and no access may have been wrong.
"""

from __future__ import annotations

import ctypes
import os
import random
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from doorbell.device.blocks import BlockCommand
from doorbell.device.drives import ExternalDrive, Latency, ModelDrive
from doorbell.device.messages import SimError
from stub_host import CONFIG, PAGE, StubHost

Make = Callable[..., StubHost]
FAST = {
    "ready_us": 1, "unready_us": 1, "read": Latency(2000), "write": Latency(1000), "flush": Latency(1000),
    "other": Latency(1000), "admin": Latency(200), "size": 16 << 20,
}  # fmt: skip


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[StubHost] = []

    def one(drive: dict[str, Any] | None = None, **options: Any) -> StubHost:
        made.append(StubHost(ModelDrive(**{**FAST, **(drive or {})}), **options))
        return made[-1]

    yield one
    for host in made:
        assert not host.sim.errors()
        host.sim.close()


def test_requests_without_a_time_limit(make: Make) -> None:
    host = make({"link_latency_ns": 4000}, cpl_timeout_us=0)
    assert host.cfg_read(0) == 0xDB02_1234
    assert host.sim.run(1_000_000, "idle") == "idle"


def payload(size: int, seed: int) -> bytes:
    return random.Random(seed).randbytes(size)


@pytest.mark.parametrize("data_w", [128, *(pytest.param(w, marks=pytest.mark.nightly) for w in (256, 512))])
def test_bringup_identify(make: Make, data_w: int) -> None:
    """Configuration space, registers, admin commands: fields where the specification has them."""
    host = make({"lba_bytes": 4096, "mdts": 3, "dstrd": 1, "mqes": 300, "crs_us": 20}, data_w=data_w)
    assert host.sim.reg(CONFIG)[1] == 2, "retry at first"
    host.enumerate()
    assert host.cfg_read(0) == 0xDB02_1234
    with pytest.raises(SimError):
        host.cfg_read(0, function=1)
    cap = host.get(0) | host.get(4) << 32
    assert cap & 0xFFFF == 299 and cap >> 32 & 15 == 1 and cap >> 37 & 1 and cap >> 24 & 255 == 20
    assert host.sim.reg(0x10_0000)[1] == 1, "outside of the BAR"
    host.enable()
    assert host.admin(0x06, prp1=host.DATA, dw10=1).status == 0
    controller = host.read(host.DATA, PAGE)
    assert controller[77] == 3 and controller[24:44] == b"Doorbell model drive" and controller[512:514] == b"\x66\x44"
    assert host.admin(0x06, prp1=host.DATA, dw10=0, nsid=1).status == 0
    namespace = host.read(host.DATA, PAGE)
    blocks, flbas = struct.unpack_from("<Q", namespace)[0], namespace[26]
    assert blocks == (16 << 20) // 4096 and namespace[128 + 4 * (flbas & 15) + 2] == 12
    assert host.admin(0x06, prp1=host.DATA, dw10=0, nsid=2).status == 0x0B
    assert host.admin(0x06, prp1=host.DATA, dw10=0x55).status == 0x02
    assert host.admin(0x7F).status == 0x01
    assert host.admin(0x09, dw10=7, dw11=0x001F001F).dw0 == 15 << 16 | 15
    assert host.admin(0x02, prp1=host.DATA, dw10=127 << 16 | 2).status == 0
    assert struct.unpack_from("<H", host.read(host.DATA, 512), 1)[0] == 311
    assert host.admin(0x01, prp1=0x2000, dw10=63 << 16 | 1, dw11=1 << 16 | 1).status == 0x100, "no such CQ"
    host.io_queues()
    assert host.admin(0x05, prp1=0x8000, dw10=63 << 16 | 1, dw11=1).status == 0x101
    assert host.admin(0x04, dw10=1).status == 0x10C
    assert host.admin(0x00, dw10=1).status == 0 and host.admin(0x04, dw10=1).status == 0


def scatter(host: StubHost, pages: list[int], offset: int, image: bytes) -> None:
    """Puts the data of a transfer into its pages."""
    for n, page in enumerate(pages):
        low = offset if n == 0 else 0
        start = 0 if n == 0 else n * PAGE - offset
        host.patch(page + low, image[start : start + PAGE - low])


@pytest.mark.parametrize("data_w, stall", [(128, 0), pytest.param(256, 30, marks=pytest.mark.nightly), (512, 30)])
def test_data(make: Make, data_w: int, stall: int) -> None:
    """Transfers of many shapes: offsets, two pages, lists, lists that are chained; written, read, compared."""
    host = make({"mdts": 0}, data_w=data_w, stall_pct=stall).up(mps=random.Random(data_w).randrange(2))
    rng = random.Random(data_w + stall)
    lists = 0x20000
    # (bytes, offset of the first page, entries of the list's first page: its offset then follows)
    shapes = [(512, 0, 0), (4096, 0, 0), (4096, 512, 0), (8192, 0, 0), (8192, 3584, 9), (64 << 10, 4, 512),
              (64 << 10, 0, 5), (128 << 10, 1024, 16)]  # fmt: skip
    for number, (size, offset, entries) in enumerate(shapes):
        data, lba = payload(size, number), 64 * number
        span = -(-(offset + size) // PAGE)
        pages = [host.DATA + PAGE * p for p in rng.sample(range(64), span)]  # anywhere
        rest = pages[1:]
        prp2: int | None = rest[0] if len(rest) == 1 else None
        if len(rest) > 1:
            room = min(entries, 512)
            first, more = (rest, []) if len(rest) <= room else (rest[: room - 1], rest[room - 1 :])
            prp2 = lists + PAGE - 8 * room
            table = [host.window + p for p in first] + ([host.window + lists + 0x2000] if more else [])
            host.patch(prp2, struct.pack(f"<{len(table)}Q", *table))
            host.write(lists + 0x2000, struct.pack(f"<{len(more)}Q", *(host.window + p for p in more)) or bytes(8))

        scatter(host, pages, offset, data)
        cid = host.rw(0x01, lba, size // 512, pages[0] + offset, prp2)
        assert host.wait(1, cid).status == 0, shapes[number]
        assert host.sim.media_read(lba * 512, size) == data
        scatter(host, pages, offset, bytes(size))
        cid = host.rw(0x02, lba, size // 512, pages[0] + offset, prp2)
        assert host.wait(1, cid).status == 0
        whole = b"".join(host.read(page, PAGE) for page in pages)
        assert whole[offset : offset + size] == data, shapes[number]
    counters = host.sim.counters()
    assert counters["drive.list_reads"] >= 8 and counters["up.MWr.payload"] > sum(s for s, _, _ in shapes)


def test_an_image_that_fails(tmp_path: Path) -> None:
    """Commands that meet it end with an error, and the end says that it could not be written out."""
    image = tmp_path / "image"
    host = StubHost(ModelDrive(**FAST, image=str(image))).up()

    def status(opcode: int, lba: int) -> int:
        return host.wait(1, host.rw(opcode, lba, 8, host.DATA) if opcode else host.send(1, 0, nsid=1)).status

    host.write(host.DATA, payload(4096, 1))
    assert status(0x01, 0) == status(0x01, 8192) == status(0x00, 0) == 0
    os.truncate(image, 4096)
    assert (status(0x01, 8192), status(0x02, 8192), status(0x08, 8192), status(0x00, 0)) == (0x280, 0x281, 0x280, 0x280)
    assert status(0x02, 0) == 0 and host.read(host.DATA, 4096) == payload(4096, 1)
    assert status(0x01, 0) == 0, "it is in the file, but nobody says that it lasts"
    for opcode in (0x01, 0x08):
        cid = host.send(1, opcode, nsid=1, prp1=host.DATA, dw12=7 | 1 << 30)
        assert host.wait(1, cid).status == 0x280, "FUA"
    host.set(0x14, 4 << 20 | 6 << 16 | 1 << 14 | 1)
    host.sim.run(100_000)
    assert host.get(0x1C) >> 1 & 7 == 0b011, "a shutdown that does not end, and a fatal status"
    with pytest.raises(SimError, match="could not be written out"):
        host.sim.close()
    assert host.sim.closed


def test_commands_and_statuses(make: Make) -> None:
    """Write Zeroes, Dataset Management, Verify, Flush; and what each wrong command ends with."""
    host = make({"mdts": 3}).up()
    host.sim.media_write(0, payload(64 << 10, 5))
    before = host.sim.media_read(0, 64 << 10)
    assert host.wait(1, host.rw(0x08, 2, 3, 0)).status == 0
    host.write(host.DATA, struct.pack("<IIQIIQ", 0, 4, 10, 0, 1, 20))
    assert host.wait(1, host.send(1, 0x09, nsid=1, prp1=host.DATA, dw10=1, dw11=4)).status == 0
    want = bytearray(before)
    for first, blocks in ((2, 3), (10, 4), (20, 1)):
        want[first * 512 : (first + blocks) * 512] = bytes(blocks * 512)
    assert host.sim.media_read(0, 64 << 10) == bytes(want)
    assert host.wait(1, host.rw(0x0C, 0, 64, 0)).status == 0
    assert host.wait(1, host.send(1, 0x00, nsid=1)).status == 0
    last = (16 << 20) // 512
    wrong = [
        ((0x02, last - 1, 2, host.DATA), 0x80),
        ((0x02, 1 << 62, 1, host.DATA), 0x80),
        ((0x02, 0, 65, host.DATA, 0x20000), 0x02),  # above MDTS
        ((0x01, 0, 9, host.DATA, 0x20200), 0x13),  # second page with an offset
        ((0x5A, 0, 1, host.DATA), 0x01),
    ]
    for command, status in wrong:
        assert host.wait(1, host.rw(*command)).status == status, command
    assert host.wait(1, host.send(1, 0x02, nsid=2, prp1=host.DATA)).status == 0x0B
    assert host.wait(1, host.rw(0x01, 0, 8, 32 << 20)).status == 0x04, "the host refuses the drive's reads"
    assert host.sim.media_read(0, 64 << 10) == bytes(want)


def test_faults(make: Make) -> None:
    """Status, lost (and aborted), late, hang and reset, lost link."""
    host = make().up()
    data = payload(512, 1)
    host.write(host.DATA, data)
    fault = host.sim.fault("status", opcode=1, lba=100, blocks=10, skip=1, count=2, status=0x280)
    got = [host.wait(1, host.rw(1, 99, 2, host.DATA)).status for _ in range(4)]
    assert got == [0, 0x280, 0x280, 0] and host.sim.fault_hits(fault) == 2
    assert host.wait(1, host.rw(1, 110, 1, host.DATA)).status == 0

    host.sim.fault("late", count=1, delay_us=300)
    begin = host.sim.cycle
    assert host.wait(1, host.rw(1, 0, 1, host.DATA)).status == 0
    assert host.sim.cycle - begin > host.sim.cycles(300)

    host.sim.fault("lost", count=1)
    cid = host.rw(1, 0, 1, host.DATA)
    assert host.wait(1, host.rw(1, 1, 1, host.DATA)).status == 0
    with pytest.raises(SimError):
        host.wait(1, cid, cycles=200_000)
    assert host.admin(0x08, dw10=cid << 16 | 1).dw0 == 0
    assert host.wait(1, cid).status == 0x07
    assert host.admin(0x08, dw10=cid << 16 | 1).dw0 == 1

    host.sim.fault("hang", count=1)
    cid = host.rw(1, 0, 1, host.DATA)
    with pytest.raises(SimError):
        host.wait(1, cid, cycles=200_000)
    assert host.get(0x1C) & 2
    host.enable()
    host.io_queues()
    assert host.wait(1, host.rw(2, 99, 1, host.DATA + PAGE)).status == 0
    assert host.read(host.DATA + PAGE, 512) == data

    host.sim.fault("drop_link", count=1)
    host.rw(2, 99, 1, host.DATA)
    host.sim.run(20_000)
    assert not host.sim.signal("link_up") and host.sim.reg(0)[1] == 1
    host.sim.link(True)
    host.up()
    assert host.wait(1, host.rw(2, 99, 1, host.DATA)).status == 0


def test_slow_and_dead_drives(make: Make) -> None:
    """CSTS.RDY late and never; a drive without an answer times out; one without a page size that we have fails."""
    host = make({"ready_us": 200})
    host.enumerate()
    begin = host.sim.cycle
    host.enable()
    assert host.sim.cycle - begin > host.sim.cycles(200)
    host = make({"ready_us": None})
    host.enumerate()
    with pytest.raises(SimError, match="RDY"):
        host.enable()
    host = make({"mpsmin": 1})
    host.enumerate()
    with pytest.raises(SimError, match="CFS"):
        host.enable()
    host = make({"link_up": False})
    assert host.sim.reg(CONFIG)[1] == 1


@pytest.mark.parametrize("cut", [0, 1 << 8])
def test_pipeline(make: Make, cut: int) -> None:
    """Sixty commands at once: all complete, out of order with random latencies, and entries are fetched together."""
    host = make({"read": Latency(1000, to_ns=30_000), "write": Latency(2000, sigma=2.0)}).up()
    host.sim.axil_write(0, 0x21 | cut)
    expected = {}
    for n in range(60):
        data = payload(512, n)
        host.write(host.DATA + 512 * n, data)
        expected[host.send(1, 1, nsid=1, prp1=host.DATA + 512 * n, dw10=7 * n, ring=False)] = (7 * n, data)
    host.ring(1)
    order = []
    while len(order) < 60:
        host.sim.run(200)
        order += [(c.cid, c.status) for c in host.poll(1)]
    assert sorted(c for c, _ in order) == sorted(expected) and not any(s for _, s in order)
    assert [c for c, _ in order] != sorted(expected)
    for lba, data in expected.values():
        assert host.sim.media_read(lba * 512, 512) == data
    counters = host.sim.counters()
    assert counters["drive.max_inflight"] >= 50 and counters["drive.fetches"] < counters["drive.sqes"]


def timed_writes(host: StubHost, count: int, size: int) -> list[int]:
    """Cycles that each of `count` writes takes, one after another."""
    out = []
    for n in range(count):
        begin = host.sim.cycle
        cid = host.rw(1, n * size // 512, size // 512, host.DATA, host.DATA + PAGE)
        assert host.wait(1, cid).status == 0
        out.append(host.sim.cycle - begin)
    return out


def test_media_pace(make: Make) -> None:
    """An SLC cache that is full, and stalls after so many bytes, show in the latency of the writes behind them."""
    host = make({"slc_bytes": 64 << 10, "slow_gbps": 0.01, "write_gbps": 2}).up()
    times = timed_writes(host, 12, 8192)
    assert max(times[:6]) < host.sim.cycles(100)
    assert min(times[9:]) > host.sim.cycles(600), "8 KiB at 10 MB/s: 0.8 ms"
    host = make({"stall_every": 32 << 10, "stall_us": 1000}).up()
    times = timed_writes(host, 9, 8192)
    assert [t > host.sim.cycles(1000) for t in times] == [n % 4 == 3 for n in range(9)]
    assert host.sim.counters()["drive.stalls"] == 2


def test_deterministic_and_skipping(make: Make) -> None:
    """The same seed gives the same cycles; jumping over idle time changes none of them."""

    def story(**options: Any) -> tuple[int, dict[str, int]]:
        host = make({"write": Latency(1000, to_ns=9000)}, **options).up()
        host.write(host.DATA, payload(8192, 3))
        for n in range(5):
            assert host.wait(1, host.rw(1, 16 * n, 16, host.DATA, host.DATA + PAGE)).status == 0
        return host.sim.cycle, {k: v for k, v in host.sim.counters().items() if not k.startswith("sim.")}

    first = story(seed=7)
    assert first == story(seed=7) == story(seed=7, idle_skip=False)
    assert first != story(seed=8)


def test_wire_figures(make: Make) -> None:
    """What crosses the wire for one 4 KiB write, TLP by TLP."""
    host = make().up(mps=1, mrrs=2)
    cid = host.rw(1, 0, 8, host.DATA, ring=False)
    before = host.sim.counters()
    host.ring(1)
    host.sim.run(50_000)
    after = host.sim.counters()
    moved = {k: after[k] - before[k] for k in after if k.startswith(("up.", "down."))}
    # entry 64 bytes; data in 8 reads of 512, each answered with 2 x 256; completion 16 bytes; doorbell 4
    assert moved["up.MRd.tlps"] == 9 and moved["up.MRd.header"] == 9 * 24
    assert moved["down.CplD.tlps"] == 17 and moved["down.CplD.payload"] == 4096 + 64
    assert moved["down.CplD.header"] == 17 * 20
    assert moved["up.MWr.tlps"] == 1 and moved["up.MWr.payload"] == 16 and moved["up.MWr.header"] == 24
    assert moved["down.MWr.tlps"] == 1 and moved["down.MWr.header"] == 20
    assert host.wait(1, cid).status == 0


def test_user_side(make: Make) -> None:
    """Streams at a given pace, admin pass-through, registers."""
    host = make(write_gbps=1.0, read_gbps=0.5)
    begin = host.sim.cycle
    host.write(0, payload(64 << 10, 1))
    assert abs((host.sim.cycle - begin) - 64 * 1024 / 4) < 200, "1 GB/s at 250 MHz is 4 bytes a cycle"
    begin = host.sim.cycle
    assert host.read(0, 64 << 10) == payload(64 << 10, 1)
    assert abs((host.sim.cycle - begin) - 64 * 1024 / 2) < 400
    assert [(e.size, e.error) for e in host.sim.data_ends()] == [(64 << 10, False)]
    assert host.sim.admin(bytes(range(64))) == bytes(range(16))
    host.sim.axil_write(0, 0x1234)
    assert host.sim.axil_read(0) == 0x1234
    host.sim.submit([BlockCommand("read", 0, 1, 77)])
    (status,) = host.sim.wait_status()
    assert status.tag == 77 and status.status == 0 and status.latency == 7


def test_errors_are_seen() -> None:
    """The rules that the port watches do fire: completions above MPS, a doorbell beyond its queue."""
    host = StubHost(ModelDrive(**FAST))
    with host.sim:
        host.up(mps=0)
        host.set(0x1008, 64)
        host.sim.run(2000)
        assert host.sim.errors() == {"error.drive_doorbell": 1}
        host.cfg_write(0x78, 1 << 5 | 2 << 12)  # the drive may send 256 bytes, the port takes 128
        assert host.wait(1, host.rw(2, 0, 1, host.DATA)).status == 0
        assert host.sim.errors()["error.cq_mps"] == 2


@pytest.mark.parametrize(("bit", "error"), [
    (10, "cc_count"), (11, "cc_address"), (12, "cc_rcb"), (13, "cc_mps"), (14, "cc_unexpected"),
])  # fmt: skip
def test_wrong_completions_are_seen(bit: int, error: str) -> None:
    """Each rule of CC is broken once, while the drive fetches an entry and reads 512 bytes."""
    host = StubHost(ModelDrive(**FAST))
    with host.sim as sim:
        host.up()
        host.rw(1, 0, 1, host.DATA, ring=False)
        assert not sim.errors()
        sim.axil_write(0, 0x21 | 1 << bit)
        host.ring(1)
        sim.run(20_000)
        assert sim.errors().keys() == {f"error.{error}"}


def test_external_drive() -> None:
    """The caller as the drive: answers, reads and writes of the window at any byte."""
    host = StubHost(ExternalDrive())
    sim = host.sim
    with sim:
        assert [m.kind for m in sim.messages()] == ["reset", "link_up"]
        config = {0: 0x1234_5678}

        def serve() -> None:
            for m in sim.messages():
                if m.kind == "cfg_read":
                    assert m.target == 0x0100
                    sim.answer(m.id, config.get(m.addr, 0).to_bytes(4, "little"))
                elif m.kind == "cfg_write":
                    config[m.addr] = int.from_bytes(m.data, "little")
                    sim.answer(m.id)
                elif m.kind == "read":
                    sim.answer(m.id, None if m.addr == sim.bar + 8 else (0xABCD).to_bytes(m.size, "little"))

        def reg(addr: int, value: int | None = None) -> tuple[int, int]:
            sim._lib.reg(sim._h, value is not None, addr, value or 0)
            data = ctypes.c_uint32()
            for _ in range(100):
                status = sim._lib.reg_poll(sim._h, ctypes.byref(data))
                if status >= 0:
                    return data.value, status
                sim.run(1000, "message", "answer")
                serve()
            raise AssertionError("no answer")

        assert reg(CONFIG) == (0x1234_5678, 0)
        assert reg(CONFIG | 0x10, 0xC000_0000)[1] == 0 and config[0x10] == 0xC000_0000
        assert reg(0x20) == (0xABCD, 0) and reg(8)[1] == 1
        host.write(0, payload(8192, 2))
        sim.axil_write(0, 0x21)
        sim.sizes(256, 512)
        for at, size in ((0, 4096), (3, 1), (509, 4000), (1, 6), (4095, 2)):
            handle = sim.host_read(sim.window + at, size)
            sim.run(20_000, "idle")
            assert sim.host_read_poll(handle, size) == payload(8192, 2)[at : at + size], (at, size)
        image = bytearray(payload(8192, 2))
        for at, size in ((5, 1), (100, 700), (4090, 12), (1023, 2)):
            patch = payload(size, at)
            sim.host_write(sim.window + at, patch)
            image[at : at + size] = patch
        sim.run(5000)
        assert host.read(0, 8192) == bytes(image)
        handle = sim.host_read(sim.window + (33 << 20), 64)
        sim.run(20_000, "idle")
        with pytest.raises(SimError, match="refused"):
            sim.host_read_poll(handle, 64)
        sim.drive_reset()
        sim.link(False)
        assert [m.kind for m in sim.messages()] == ["reset", "link_down"]
        assert not sim.errors()


@pytest.mark.parametrize(("ports", "data_w"), [(3, 128), pytest.param(2, 256, marks=pytest.mark.nightly)])
def test_several_ports(ports: int, data_w: int) -> None:
    """Root ports side by side: each has its own link, drive and sizes, and data goes to the right one."""
    drives = [ModelDrive(**{**FAST, "link": f"gen{2 + p}x4", "mdts": 2 + p}) for p in range(ports)]
    host = StubHost(*drives, data_w=data_w, stall_pct=20)
    with host.sim as sim:
        for port in range(ports):
            host.choose(port).up(mps=port % 2)
            assert host.admin(0x06, prp1=host.DATA, dw10=1).status == 0
            assert host.read(host.DATA, PAGE)[77] == 2 + port
            assert [sim.signal("mps", p) for p in range(port + 1)] == [128 << p % 2 for p in range(port + 1)]
            data = payload(8192, port)
            host.write(host.DATA, data)
            assert host.wait(1, host.rw(1, 8 * port, 16, host.DATA, host.DATA + PAGE)).status == 0
            assert sim.media_read(4096 * port, 8192, port=port) == data
            host.write(host.DATA, bytes(8192))
            assert host.wait(1, host.rw(2, 8 * port, 16, host.DATA, host.DATA + PAGE)).status == 0
            assert host.read(host.DATA, 8192) == data
        written = [sim.counters(p)["down.CplD.payload"] >= 8192 for p in range(ports)]
        assert all(written) and not any(any(sim.media_read(16384, 4096, port=p)) for p in range(ports))
        sim.link(False, port=0)
        assert [sim.signal("link_up", p) for p in range(ports)] == [0] + [1] * (ports - 1)
        assert host.wait(1, host.rw(2, 0, 1, host.DATA)).status == 0
        assert not sim.errors()
