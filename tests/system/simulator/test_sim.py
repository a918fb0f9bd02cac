# SPDX-License-Identifier: Apache-2.0
"""The simulator runtime (sim/, doorbell.device.sim) against a small device (tests/rtl/tb/sim_endpoint.sv) instead of
the drive."""

from __future__ import annotations

import mmap
import os
import random
import re
import select
import struct
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "python"))

from doorbell import build, paths  # noqa: E402
from doorbell.build import compiler, simulators  # noqa: E402
from doorbell.device.limits import Link  # noqa: E402
from doorbell.device.messages import MmioError, SimError  # noqa: E402
from doorbell.device.nand import Nand  # noqa: E402
from doorbell.device.sim import Sim  # noqa: E402

ENDPOINT = ROOT / "tests" / "rtl" / "tb" / "sim_endpoint.sv"
CARD = ENDPOINT.with_name("sim_card.sv")
BASE = 0x1_2340_0000  # above 4 GiB: headers of 4 dwords
LOW = 0x2000_0000
SIZE = 1 << 20
READ, WRITE, MSI, MEDIA_READ, MEDIA_WRITE, FLUSH, ZERO, INTX_ON, INTX_OFF = range(1, 10)
MSI_ADDR = 0xFEE0_1000
RATE = {"gen1": Fraction(2500 * 8, 10), "gen2": Fraction(5000 * 8, 10)} | {
    f"gen{g}": Fraction(8000 * 2 ** (g - 3) * 128, 130) for g in (3, 4, 5)
}  # Mbit/s a lane


def library(data_w: int, trace: bool = False, num_fn: int = 1, num_ssd: int = 0) -> Path:
    """The shared library of the endpoint and the runtime. trace: able to write VCD. num_fn: PCIe functions.
    num_ssd: SSDs beside it."""
    runtime, headers = simulators.runtime_sources("db_vcsd" if num_ssd else "endpoint")
    own = [ENDPOINT, CARD] if num_ssd else [ENDPOINT]
    top = own[-1].stem
    verilate = ["--cc", "-O3", "--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--prefix", "Vtop",
                "--top-module", top, f"-GDATA_W={data_w}", f"-GNUM_FN={num_fn}",
                *([f"-GNUM_SSD={num_ssd}"] if num_ssd else []),
                *(["--trace"] if trace else [])]  # fmt: skip
    sources = build.rtl_sources(only=("common", "nvme", "pcie", "ssd"))  # packages, and lists of ports
    packages = [p for p in sources.packages if p.stem in ENDPOINT.read_text() or p.stem == "db_mem_pkg"]
    files = [*own, *packages, *sources.headers(), *runtime, *headers, Path(simulators.__file__)]
    key = (verilate, compiler.COMPILE, compiler.OPTIMISE, build.hash_files(files), compiler.compiler_version())

    def make(out: Path) -> None:
        obj = out / "obj"
        found = [*(f"+incdir+{folder}" for folder in build.include_folders()), *map(str, packages)]
        build.tool([*build.verilator(), *verilate, "--Mdir", str(obj), *found, *map(str, own)], "Verilator")
        simulators.settle_once(obj)
        defines = [*simulators.TOP_DEFINES, f"-DDB_DATA_W={data_w}", "-DDB_STRADDLE=0", f"-DDB_NUM_FN={num_fn}"]
        defines += ["-DVM_TRACE=1", "-DVM_TRACE_VCD=1"] if trace else []
        defines += [f"-DDB_NUM_SSD={num_ssd}"] if num_ssd else []
        compiler.link(obj, runtime, defines, out / f"lib{top}.so")

    return build.cached("sim-endpoint", key, make) / f"lib{top}.so"


class Device:
    """The endpoint, and host memory at BASE (above 4 GiB) and LOW (the same memory)."""

    def __init__(self, sim: Sim) -> None:
        self.sim = sim
        self.memory = bytearray(SIZE)
        sim.map(BASE, SIZE, self.memory)
        sim.map(LOW, SIZE, self.memory)

    def start(
        self, op: int, addr: int = 0, size: int = 0, *, media: int = 0, data: int = 0, repeats: int = 0, be: int = 0
    ) -> None:
        for off, value in (
            (0x08, addr & 0xFFFFFFFF),
            (0x0C, addr >> 32),
            (0x10, size),
            (0x14, media),
            (0x1C, data),
            (0x2C, repeats),
            (0x30, be),
            (0x18, op),
        ):
            self.sim.mmio_write(off, value)

    def wait(self, limit: int = 4_000_000) -> int:
        """Until the operation is over; its cycles, to within the polling of a register."""
        start = self.sim.cycle
        while self.sim.mmio_read(0x20) >> 31:
            assert self.sim.cycle - start < limit, "the operation does not end"
        return self.sim.cycle - start

    def do(self, op: int, *args: Any, **kwargs: Any) -> int:
        self.start(op, *args, **kwargs)
        return self.wait()

    def status(self) -> tuple[int, int, int]:
        """(errors of completions, last error code, its completion status)."""
        value = self.sim.mmio_read(0x20)
        return value >> 7 & 0xFFFF, value >> 3 & 15, value & 7

    def clear(self, size: int, value: int = 0) -> None:
        """Fill the device's buffer."""
        self.memory[SIZE - size :] = bytes([value]) * size
        self.do(READ, BASE + SIZE - size, size)


Make = Callable[..., Device]


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[Device] = []

    def one(data_w: int = 256, **options: Any) -> Device:
        options.setdefault("media_size", 16 << 20)
        device = Device(Sim(library(data_w), **options))
        made.append(device)
        return device

    yield one
    for device in made:
        if not device.sim.closed:  # one that was closed had errors on purpose
            errors = device.sim.errors()
            device.sim.close()
            assert not errors


def pattern(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def delta(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    return {k: after[k] - before[k] for k in after if after[k] != before[k]}


# ----------------------------------------------------------------------------------------------------------- registers


def test_link_names() -> None:
    assert Link.parse("gen3x8") == Link(3, 8) and Link.parse("GEN5x16") == Link(5, 16)
    for bad in ("gen6x8", "gen3x3", "x8", "gen3", ""):
        with pytest.raises(ValueError, match="not a link"):
            Link.parse(bad)


@pytest.mark.parametrize("data_w", [pytest.param(128, marks=pytest.mark.nightly), 256, 512])
def test_registers(make: Make, data_w: int) -> None:
    d = make(data_w)
    sim = d.sim
    assert sim.data_w == data_w
    assert sim.mmio_read(0) == 0x0DB00001
    sim.mmio_write(4, 0x11223344)
    sim.mmio_write(5, 0xAB, 1)
    sim.mmio_write(6, 0xCDEF, 2)
    assert sim.mmio_read(4) == 0xCDEFAB44
    assert [sim.mmio_read(4 + i, 1) for i in range(4)] == [0x44, 0xAB, 0xEF, 0xCD]
    assert sim.mmio_read(6, 2) == 0xCDEF
    sim.mmio_write(8, 0x0102030405060708, 8)
    assert (sim.mmio_read(8), sim.mmio_read(12)) == (0x05060708, 0x01020304)
    if data_w > 128:
        assert sim.mmio_read(8, 8) == 0x0102030405060708
        assert sim.mmio_read(9, 5) == 0x0304050607
    sim.mmio_write(8, struct.pack("<3I", 1, 2, 3))
    assert [sim.mmio_read(8 + 4 * i) for i in range(3)] == [1, 2, 3]
    with pytest.raises(MmioError, match="unsupported"):
        sim.mmio_read(0x400)
    handles = [sim.mmio_read_start(4 * i) for i in range(4)]
    assert sim.mmio_read_poll(handles[0]) is None
    sim.run(200)
    assert [struct.unpack("<I", sim.mmio_read_poll(h) or b"")[0] for h in handles] == [0x0DB00001, 0xCDEFAB44, 1, 2]
    with pytest.raises(ValueError, match="1 to 64"):
        sim.mmio_write(2, bytes(63))


def test_register_timeout(make: Make) -> None:
    sim = make(mmio_timeout_us=10).sim
    sim.run(100)
    handle = sim.mmio_read_start(0)
    sim.reset()  # the device forgets it
    with pytest.raises(MmioError, match="in time"):
        while sim.mmio_read_poll(handle) is None:
            sim.run(1000)
    assert sim.mmio_read(0) == 0x0DB00001


# ----------------------------------------------------------------------------------------------------------------- DMA


@pytest.mark.parametrize("options", [
    {}, {"data_w": 128, "mps": 128, "mrrs": 128}, {"data_w": 512, "mps": 1024, "mrrs": 4096, "rcb": 128},
    {"completion_bytes": 64, "mrrs": 4096}, {"completion_bytes": "random", "completion_jitter_ns": 600, "mrrs": 1024},
    {"data_w": 128, "stall_pct": 40, "completion_jitter_ns": 300}, {"data_w": 512, "stall_pct": 30, "mps": 512},
    {"posted_headers": 2, "posted_credits": 32, "read_headers": 1, "max_reads": 3, "completion_buffer": 600},
    {"link": "gen1x1"}, {"link": "gen5x16", "clock_mhz": 500.0, "data_w": 512},
], ids=lambda o: "-".join(f"{k}{v}" for k, v in o.items()) or "default")  # fmt: skip
def test_dma(make: Make, options: dict[str, Any]) -> None:
    """Data at any dword, any length, both ways; nothing beside it is touched."""
    d = make(**options)
    rng = random.Random(7)
    for trial in range(12):
        size = 4 * rng.choice([1, 2, 3, 5, 16, 63, 64, 65, 130, 1024, 1025, rng.randrange(1, 4000)])
        a, b = (4 * rng.randrange(0, SIZE // 16) for _ in range(2))
        b += SIZE // 2
        data = pattern(size, trial)
        d.memory[a : a + size] = data
        guard = bytes(d.memory[b - 64 : b]), bytes(d.memory[b + size : b + size + 64])
        d.do(READ, rng.choice([BASE, LOW]) + a, size)
        d.do(WRITE, rng.choice([BASE, LOW]) + b, size)
        d.sim.run(1000)
        assert bytes(d.memory[b : b + size]) == data
        assert (bytes(d.memory[b - 64 : b]), bytes(d.memory[b + size : b + size + 64])) == guard
    assert d.status()[0] == 0


def test_read_after_write(make: Make) -> None:
    """A read that leaves while earlier writes wait for credit sees what they wrote."""
    d = make(posted_headers=1, credit_ns=4000, host_latency_ns=0)
    d.clear(1024, 0x77)
    d.start(WRITE, BASE, 1024)
    d.wait()
    assert d.sim.counters()["up.MWr.tlps"] < 4
    d.do(READ, BASE, 1024)
    d.do(WRITE, BASE + 4096, 1024)
    d.sim.run(10_000)
    assert d.memory[4096:5120] == b"\x77" * 1024


def test_byte_enables(make: Make) -> None:
    d = make()
    d.clear(64, 0xAA)
    for size, be, lead, trail in ((4, 0x06, 1, 1), (4, 0x0C, 2, 0), (16, 0x7E, 1, 1), (40, 0x18, 3, 3)):
        d.memory[:64] = bytes(64)
        d.do(WRITE, BASE + 8, size, be=be)
        d.sim.run(100)
        assert bytes(d.memory[:64]) == bytes(8 + lead) + b"\xaa" * (size - lead - trail) + bytes(56 - size + trail)


@pytest.mark.parametrize("rcb", [64, 128])
def test_completion_split(make: Make, rcb: int) -> None:
    """How many completions a read is answered with."""
    d = make(rcb=rcb, mps=256, mrrs=1024)
    for at, size in ((0, 1024), (4, 1020), (60, 512), (128, 64), (200, 824)):
        before = d.sim.counters()
        d.start(READ, BASE + at, size)
        d.sim.run(2000)
        pieces, left, a = 0, size, at
        while left:
            n = min(left, (a + 256) // rcb * rcb - a)
            pieces, left, a = pieces + 1, left - n, a + n
        got = delta(before, d.sim.counters())
        assert got["down.CplD.tlps"] == pieces
        assert got["down.CplD.payload"] == size


# -------------------------------------------------------------------------------------------------------------- timing


def wire(link: str, lanes: int, clock_mhz: float) -> Fraction:
    """Bytes a cycle."""
    return RATE[link] * lanes / 8 / Fraction(clock_mhz)


@pytest.mark.parametrize(("link", "lanes"), [("gen1", 4), ("gen2", 2), ("gen3", 4), ("gen3", 8), ("gen4", 4)])
def test_write_rate(make: Make, link: str, lanes: int) -> None:
    """Sustained writes take what their bytes take on the wire, to the cycle."""
    d = make(512, link=f"{link}x{lanes}", ack_every=3, fc_every=4)  # at 256 bits, beats would be the limit
    assert d.sim.link_bytes_per_cycle == pytest.approx(float(wire(link, lanes, 250)))
    d.start(WRITE, BASE, 16384, repeats=9)
    d.sim.run(2000)
    a, start = d.sim.counters(), d.sim.cycle
    d.sim.run(3000)
    b, cycles = d.sim.counters(), d.sim.cycle - start
    got = delta(a, b)
    assert got["up.MWr.payload"] == 256 * got["up.MWr.tlps"]
    assert got["up.MWr.header"] == 24 * got["up.MWr.tlps"]
    need = 280 * got["up.MWr.tlps"] / wire(link, lanes, 250)
    assert abs(cycles - need) <= 280 / wire(link, lanes, 250) + 1
    assert got["down.ack.bytes"] == pytest.approx(8 * got["up.MWr.tlps"] / 3, abs=8)
    assert got["down.fc.bytes"] == pytest.approx(8 * got["up.MWr.tlps"] / 4, abs=8)
    d.wait()


def test_read_rate(make: Make) -> None:
    """Reads are bound by completions and the DLLPs that share their direction."""
    d = make(link="gen3x4", data_w=256, mps=256, mrrs=512, ack_every=4, fc_every=4)
    d.start(READ, BASE, 32768)
    d.sim.run(400)
    a, start = d.sim.counters(), d.sim.cycle
    d.sim.run(1500)
    got, cycles = delta(a, d.sim.counters()), d.sim.cycle - start
    bytes_down = sum(v for k, v in got.items() if k.startswith("down.") and not k.endswith("tlps"))
    assert got["down.CplD.header"] == 20 * got["down.CplD.tlps"]
    assert cycles == pytest.approx(bytes_down / float(wire("gen3", 4, 250)), abs=25)
    d.wait()


@pytest.mark.parametrize("latency", [0, 400, 2000])
def test_read_latency(make: Make, latency: int) -> None:
    """From the request's last byte on the wire to the completion's last byte."""
    d = make(host_latency_ns=latency, link="gen3x8", ack_every=0, fc_every=0)
    d.start(READ, BASE, 64)
    sim = d.sim
    while not sim.counters()["up.MRd.tlps"]:
        sim.run(1)
    sent = sim.cycle
    while not sim.counters()["down.CplD.tlps"]:
        sim.run(1)
    assert sim.cycle - sent == -(-24 * 250 * 130 // (8000 * 128)) + latency // 4


def test_out_of_order(make: Make) -> None:
    d = make(completion_jitter_ns=2000, mrrs=128)
    data = pattern(16384)
    d.memory[:16384] = data
    d.do(READ, BASE, 16384)
    d.do(WRITE, BASE + 65536, 16384)
    d.sim.run(2000)
    assert d.memory[65536 : 65536 + 16384] == data
    spread = make(completion_jitter_ns=0, mrrs=128)
    spread.do(READ, BASE, 16384)
    assert spread.sim.cycle < d.sim.cycle


def run_mix(d: Device) -> tuple[int, dict[str, int]]:
    d.memory[:65536] = pattern(65536)
    for i in range(4):
        for op, addr in ((READ, BASE + 4 * i), (MEDIA_WRITE, 0), (MEDIA_READ, 0), (FLUSH, 0), (WRITE, BASE + 131072)):
            d.start(op, addr, 8192, media=8192 * i)
            d.sim.run(7000)
    assert d.memory[131072 : 131072 + 8192] == d.memory[12 : 12 + 8192]
    return d.sim.cycle, d.sim.counters()


MIX = {"completion_jitter_ns": 500, "completion_bytes": "random", "stall_pct": 20, "media_gbps": 5.0}


def test_deterministic(make: Make) -> None:
    assert run_mix(make(seed=5, **MIX)) == run_mix(make(seed=5, **MIX))
    assert run_mix(make(seed=5, **MIX)) != run_mix(make(seed=6, **MIX))


def test_idle_skip(make: Make) -> None:
    """Skipping time changes no figure but the cycles skipped."""
    options = {"host_latency_ns": 5000, "media_latency_ns": 3000}
    a, b = run_mix(make(idle_skip=True, **options)), run_mix(make(idle_skip=False, **options))
    assert a[1].pop("sim.skipped_cycles") > 100_000 and b[1].pop("sim.skipped_cycles") == 0
    assert a == b


def test_idle_skip_waits_for_the_core(make: Make) -> None:
    """The last answer that an idle device waits for starts its next operation."""
    d = make(media_latency_ns=2000)
    d.start(MEDIA_READ, size=1024, repeats=3)
    d.sim.run(10_000)
    assert d.sim.counters()["media.read_bursts"] == 4
    assert d.sim.mmio_read(0x20) >> 31 == 0


def test_stop_idle_and_wake(make: Make) -> None:
    d = make()
    sim = d.sim
    sim.run(100)
    start = sim.cycle
    assert sim.run(1_000_000, stop_idle=True) == "idle"
    assert sim.cycle - start < 50 and sim.idle
    sim.mmio_write(0x34, sim.time_us + 500)
    assert not sim.idle
    sim.run(100)
    assert sim.wake_us is not None
    assert sim.run(10_000_000, stop_idle=True) == "idle"
    assert sim.mmio_read(0x38) == 0, "not yet"
    sim.run(1_000_000)
    assert sim.mmio_read(0x38) == 1 and sim.wake_us is None
    assert sim.counters()["sim.skipped_cycles"] > 900_000
    assert sim.time_us == sim.cycle // 250
    sim.time_us = 1 << 40
    sim.run(2500)
    assert sim.time_us == (1 << 40) + 10


# --------------------------------------------------------------------------------------------- interrupts, doorbells


def test_msi(make: Make) -> None:
    d = make()
    for vector in (3, 5000):
        d.start(MSI, MSI_ADDR, data=vector)
        assert d.sim.run(1_000_000, until_irq=True) == "irq"
        assert d.sim.run(1000, until_irq=True) == "irq", "still to be drained"
        (irq,) = d.sim.irqs()
        assert (irq.addr, irq.data) == (MSI_ADDR, vector) and irq.cycle <= d.sim.cycle
    assert d.sim.run(1000, until_irq=True) == "budget"
    fd = os.eventfd(0, os.EFD_NONBLOCK)
    try:
        d.sim.irq_eventfd(3, fd)
        d.start(MSI, MSI_ADDR, data=3)
        assert d.sim.run(1000, until_irq=True) == "irq"
        assert select.select([fd], [], [], 0)[0] and os.eventfd_read(fd) == 1
        assert not d.sim.irqs()
        d.sim.irq_eventfd(3, -1)
        d.do(MSI, MSI_ADDR, data=3)
        assert not d.sim.irqs() and not select.select([fd], [], [], 0)[0]
        d.sim.irq_eventfd(3, None)
        d.do(MSI, MSI_ADDR, data=3)
        assert [i.data for i in d.sim.irqs()] == [3]
    finally:
        os.close(fd)


def test_intx(make: Make) -> None:
    d = make()
    d.start(INTX_ON)
    assert d.sim.run(10_000, until_irq=True) == "intx" and d.sim.intx
    d.start(INTX_OFF)
    d.sim.run(1000)
    assert not d.sim.intx
    d.sim.set_cfg(intx_disable=True)
    d.do(INTX_ON)
    assert not d.sim.intx


def test_watch(make: Make) -> None:
    d = make()
    d.start(MSI, BASE + 0x80, data=0x12345)
    assert d.sim.run(100_000, until=(BASE + 0x80, 0xFFFF, 0x2345)) == "watch"
    assert d.sim.cycle < 1000
    assert struct.unpack_from("<I", d.memory, 0x80)[0] == 0x12345
    d.start(MSI, BASE + 0x80, data=0x1)
    assert d.sim.run(1000, until=[(BASE + 0x84, 1, 1), (BASE + 0x80, 0xFF, 7)]) == "budget"


def test_doorbell_page(make: Make) -> None:
    d = make()
    page = mmap.mmap(-1, 4096)
    d.sim.doorbell_page(page)
    page[0x18:0x1C] = struct.pack("<I", 77)
    d.sim.run(100)
    assert d.sim.mmio_read(0x24) == 1 and d.sim.mmio_read(0x28) == 0x1018_0000 + 77
    page[0x18:0x1C] = struct.pack("<I", 78)
    page[0x20:0x24] = struct.pack("<I", 9)
    d.sim.run(500)
    assert d.sim.mmio_read(0x24) == 3
    page[0x20:0x24] = struct.pack("<I", 9)  # the same again is a write again
    d.sim.run(500)
    assert d.sim.mmio_read(0x24) == 4
    d.sim.doorbell_reset()
    assert page[:] == b"\xff" * 4096
    d.sim.run(1000)
    assert d.sim.mmio_read(0x24) == 4
    page[0x18:0x1C] = struct.pack("<I", 78)
    d.sim.run(500)
    assert d.sim.mmio_read(0x24) == 5
    d.sim.doorbell_page(None)


# -------------------------------------------------------------------------------------------------- faults, regions


def test_unmapped(make: Make) -> None:
    d = make()
    d.do(READ, 0x9_0000_0000, 256)
    assert d.status() == (1, 2, 1)
    d.do(WRITE, 0x9_0000_0000, 512)
    d.sim.run(100)
    counters = d.sim.counters()
    assert counters["host.write_unmapped"] == 2 and counters["host.read_unmapped"] == 1
    assert d.sim.unmap(BASE, SIZE) == 1
    d.do(READ, BASE, 64)
    assert d.status()[0] == 2
    d.sim.map(BASE, SIZE, d.memory)
    with pytest.raises(SimError, match="another region"):
        d.sim.map(BASE + SIZE - 4096, 8192, bytearray(8192))
    with pytest.raises(SimError, match="another region"):
        d.sim.map(BASE - 4096, 8192, bytearray(8192))
    with pytest.raises(SimError, match="64 bits"):
        d.sim.map((1 << 64) - 4096, 8192, None)
    d.sim.map((1 << 64) - 4096, 4096, bytearray(pattern(4096)))
    d.do(READ, (1 << 64) - 4096, 4096)
    d.do(WRITE, BASE, 4096)
    d.sim.run(200)
    assert d.memory[:4096] == pattern(4096)
    assert d.status()[0] == 2


def test_read_only_region(make: Make) -> None:
    d = make()
    rom = bytearray(pattern(4096))
    d.sim.map(0x7_0000_0000, 4096, rom, writable=False)
    d.do(WRITE, 0x7_0000_0000, 512)
    d.sim.run(100)
    assert rom == pattern(4096) and d.sim.counters()["host.write_unmapped"] == 2


def test_region_removed_while_read(make: Make) -> None:
    d = make(host_latency_ns=4000)
    d.start(READ, BASE, 256)
    d.sim.run(300)
    assert d.sim.counters()["up.MRd.tlps"] == 1
    assert d.sim.unmap(BASE) == 1
    d.wait()
    assert d.status() == (1, 2, 1)


@pytest.mark.parametrize(("kind", "status"), [("ur", (1, 2, 1)), ("ca", (1, 2, 4)), ("poison", (1, 1, 0))])
def test_fault(make: Make, kind: str, status: tuple[int, int, int]) -> None:
    d = make(mrrs=512)
    fault = d.sim.inject(kind, nth=2)
    d.do(READ, BASE, 4096)
    assert d.sim.injected(fault) == 1
    assert d.status() == status
    ranged = d.sim.inject(kind, BASE + 1000, 100, count=2)
    d.do(READ, BASE, 4096)  # hits requests 1 and 2 of 512 bytes
    assert d.sim.injected(ranged) == 2 and d.status()[0] == 3
    d.sim.inject_clear()
    d.do(READ, BASE, 4096)
    assert d.status()[0] == 3


def test_timeout(make: Make) -> None:
    d = make(cpl_timeout_us=20)
    fault = d.sim.inject("drop", nth=1)
    start = d.sim.cycle
    d.do(READ, BASE, 4096)
    assert d.sim.injected(fault) == 1 and d.status()[:2] == (1, 9)
    assert 5000 < d.sim.cycle - start < 5800
    d.do(READ, BASE, 4096)
    assert d.status()[0] == 1


def test_completion_that_comes_twice(make: Make) -> None:
    """The data are there; the second one is for a tag that is not in use (the endpoint's own code 15)."""
    d = make(mrrs=512)
    data = pattern(512)
    d.memory[:512] = data
    d.sim.inject("double")
    d.do(READ, BASE, 512)
    d.sim.run(200)
    assert d.status()[:2] == (1, 15) and d.sim.counters()["down.CplD.tlps"] == 3, "256 bytes, 256, and these again"
    d.do(WRITE, BASE + 4096, 512)
    d.sim.run(500)
    assert d.memory[4096 : 4096 + 512] == data


def test_completion_that_comes_too_late(make: Make) -> None:
    """It times out, and after as long again the completion comes."""
    d = make(cpl_timeout_us=20)
    start = d.sim.cycle
    d.sim.inject("late", nth=1)
    d.do(READ, BASE, 1024)
    assert d.status()[:2] == (1, 9) and d.sim.cycle - start < 5800
    d.sim.run(10_500 - (d.sim.cycle - start))
    assert d.status()[:2] == (2, 15)
    d.do(READ, BASE, 1024)
    assert d.status()[0] == 2


def test_iommu(make: Make) -> None:
    """What is not granted, or in the other direction, is refused, and said with address, cycle and last owner."""
    d = make()
    sim, errors = d.sim, lambda: d.sim.errors().get("error.not_granted", 0)
    d.do(WRITE, BASE, 64)
    assert not sim.errors(), "off: all may be touched"
    sim.iommu(True)
    sim.grant(BASE + 100, 4096, 7, read=True)  # two pages
    sim.grant(BASE + 8192, 1, 8, write=True)
    sim.grant(BASE + 8192, 1, 9, read=True)
    d.do(READ, BASE + 64, 8192 - 64)
    d.do(READ, BASE + 8192, 4096)
    d.do(WRITE, BASE + 8192, 256)
    assert not sim.errors() and d.status()[0] == 0
    before = bytes(d.memory[:64])
    d.do(WRITE, BASE, 64)
    sim.run(200)
    assert errors() == 1 and d.memory[:64] == before
    (stray,) = sim.strays()
    assert stray[1:] == (BASE, 64, True, 0, 7, 0) and 0 < stray.cycle <= sim.cycle
    assert sim.revoke(9) == 1 and sim.revoke(9) == 0
    d.do(READ, BASE + 8192, 64)
    assert errors() == 2 and d.status() == (1, 2, 1)
    assert sim.strays()[0].owner == 8, "it is somebody's, for writing"
    given_back = sim.cycle
    assert sim.revoke(7) == 2
    d.do(READ, BASE + 4096, 64)
    assert [(s.addr, s.write, s.owner, s.returned) for s in sim.strays()] == [(BASE + 4096, False, 7, given_back)]
    d.do(READ, BASE + 65536, 64)
    assert sim.strays()[0].owner == 0 and errors() == 4
    sim.iommu(False)
    d.do(READ, BASE + 65536, 64)
    assert errors() == 4
    sim.close()


def test_bus_master(make: Make) -> None:
    d = make()
    d.sim.set_cfg(bus_master=False)
    d.sim.run(500)
    d.do(WRITE, BASE, 256)
    d.do(READ, BASE, 64)
    assert d.status() == (1, 2, 1)
    assert d.sim.errors() == {"error.rq_bus_master": 2}
    d.sim.reset()
    assert d.sim.cfg()["bus_master"] == 0
    d.sim.close()


def test_bad_requests_are_seen(make: Make) -> None:
    d = make(mps=256, mrrs=512)
    d.sim.set_cfg(mps=1024)  # the device believes this
    d.do(WRITE, BASE, 1024)
    d.sim.run(100)
    assert not d.sim.errors()
    d.do(WRITE, BASE, 64, be=0xFF)
    d.do(MEDIA_READ, size=32, media=16 << 20)
    assert d.sim.errors() == {"error.media_range": 1}
    d.do(MEDIA_READ, size=32, media=8)
    assert d.sim.errors() == {"error.media_range": 1, "error.media_burst": 1}
    assert d.sim.mmio_read(0x3C) == 2
    d.sim.close()


def test_flr(make: Make) -> None:
    d = make()
    d.start(READ, BASE, 32768, repeats=3)
    d.sim.run(200)
    d.sim.flr()
    assert d.sim.cfg()["bus_master"] == 0
    d.sim.run(5000)
    d.sim.set_cfg(bus_master=True)
    d.memory[:256] = pattern(256)
    d.do(READ, BASE, 256)
    d.do(WRITE, BASE + 4096, 256)
    d.sim.run(100)
    assert d.memory[4096:4352] == pattern(256)


def test_two_function_level_resets_in_a_row(make: Make) -> None:
    """The function sees the end of the first one, else it would wait for that during the second."""
    d = make()
    for _ in range(3):
        d.sim.flr(5000)


def test_reads_of_registers_that_nobody_waits_for(make: Make) -> None:
    """They give their place back, answered or not."""
    d = make()
    for i in range(200):
        handle = d.sim.mmio_read_start(0)
        d.sim.run(200 * (i % 2))
        d.sim.mmio_read_forget(handle)
    assert d.sim.mmio_read(0) == 0x0DB00001


# ------------------------------------------------------------------------------------------------------------ messages

FAR = 0x5_0000_0000


def test_message_reads(make: Make) -> None:
    d = make(mrrs=512, cpl_timeout_us=10)
    data = pattern(4096)
    d.sim.map(FAR, 1 << 20, None)
    d.start(READ, FAR + 4096, 1024)
    assert d.sim.run(100_000) == "dma"
    assert d.sim.run(100_000) == "dma"
    pending = d.sim.dma_pending()
    while len(pending) < 2:
        assert d.sim.run(100_000) == "dma"
        pending += d.sim.dma_pending()
    assert [(m.address, m.size, m.data) for m in pending] == [(FAR + 4096, 512, None), (FAR + 4608, 512, None)]
    assert d.sim.run(20_000) == "budget", "no timeout while the caller owes an answer"
    for m in reversed(pending):
        d.sim.dma_complete(m.id, data[m.address - FAR - 4096 :][: m.size])
    d.wait()
    d.do(WRITE, BASE, 1024)
    d.sim.run(100)
    assert d.memory[:1024] == data[:1024] and d.status()[0] == 0
    # refused, and removed while waiting
    d.start(READ, FAR, 64)
    assert d.sim.run(100_000) == "dma"
    d.sim.dma_complete(d.sim.dma_pending()[0].id, None)
    d.wait()
    assert d.status() == (1, 2, 1)
    d.start(READ, FAR, 64)
    assert d.sim.run(100_000) == "dma"
    (m,) = d.sim.dma_pending()
    assert d.sim.unmap(FAR) == 1
    d.sim.dma_complete(m.id, bytes(64))  # too late
    d.wait()
    assert d.status()[0] == 2


def test_message_writes_keep_order(make: Make) -> None:
    """An interrupt or a write to memory does not overtake writes that the caller has not fetched; registers answer."""
    d = make()
    d.clear(1024, 0x5A)
    d.sim.map(FAR, 4096, None)
    d.do(WRITE, FAR + 64, 512)
    d.do(MSI, MSI_ADDR, data=9)
    d.do(MSI, BASE, data=0xFEED)
    d.sim.run(5000, stop_dma=False)
    assert not d.sim.irqs() and d.memory[:4] == bytes(4)
    assert d.sim.mmio_read(0) == 0x0DB00001
    writes = d.sim.dma_pending()
    assert [(m.address, m.data) for m in writes] == [(FAR + 64, b"\x5a" * 192), (FAR + 256, b"\x5a" * 256),
                                                       (FAR + 512, b"\x5a" * 64)]  # fmt: skip
    assert d.sim.run(100, until_irq=True) == "irq"
    d.sim.run(100)
    assert [i.data for i in d.sim.irqs()] == [9] and d.memory[:2] == b"\xed\xfe"
    d.do(WRITE, FAR, 64)
    answered = d.sim.counters()["host.reads_answered"]
    d.start(READ, BASE, 64)
    d.sim.run(5000, stop_dma=False)
    assert d.sim.counters()["host.reads_answered"] == answered, "a read passed a write"
    assert len(d.sim.dma_pending()) == 1
    d.wait()
    assert d.sim.counters()["host.reads_answered"] == answered + 1


# --------------------------------------------------------------------------------------------------------------- media


@pytest.mark.parametrize("options", [
    {}, {"data_w": 128, "stall_pct": 30}, {"data_w": 512, "media_gbps": 2.0, "media_channels": 4},
    {"media_latency_ns": 0, "media_interleave": True}, {"media_gbps": 3.0, "stall_pct": 30, "media_interleave": True},
], ids=str)  # fmt: skip
def test_media(make: Make, options: dict[str, Any]) -> None:
    d = make(**options)
    data = pattern(16384)
    d.memory[:16384] = data
    d.do(READ, BASE, 16384)
    d.do(MEDIA_WRITE, size=16384, media=0x12_1000)
    assert d.sim.media_read(0x12_1000, 16384) == data
    assert d.status()[0] == 0
    d.clear(16384)
    d.do(MEDIA_READ, size=16384, media=0x12_1000)
    d.do(WRITE, BASE + 65536, 16384)
    d.sim.run(500)
    assert d.memory[65536 : 65536 + 16384] == data
    d.sim.media_write(4096, b"hello")
    assert d.sim.media_read(4095, 7) == b"\0hello\0"
    with pytest.raises(ValueError, match="outside"):
        d.sim.media_read((16 << 20) - 1, 2)


@pytest.mark.parametrize(("op", "gbps", "channels"), [(MEDIA_READ, 2.0, 1), (MEDIA_READ, 4.0, 4), (MEDIA_WRITE, 2.0, 8),
                                                      (MEDIA_READ, 0, 1)])  # fmt: skip
def test_media_rate(make: Make, op: int, gbps: float, channels: int) -> None:
    d = make(media_gbps=gbps, media_channels=channels, media_latency_ns=100)
    before = d.sim.cycle
    d.do(op, size=8 * 32768)
    took = d.sim.cycle - before
    ideal = 8 * 32768 / (gbps / 0.25 if gbps else 32)
    assert ideal <= took < ideal * 1.05 + 600


def test_media_latency(make: Make) -> None:
    took = []
    for latency in (0, 1000, 9000):
        d = make(media_latency_ns=latency)
        d.start(MEDIA_READ, size=4096)
        start = d.sim.cycle
        while d.sim.counters()["media.read_beats"] < 1:
            d.sim.run(1)
        took.append(d.sim.cycle - start)
    assert [t - took[0] for t in took] == [0, 250, 2250]


FLASH = {"channels": 2, "ways": 2, "planes": 1, "pages": 8, "page_bytes": 8192, "bus_mbps": 500, "read_us": 20,
         "program_us": 200, "erase_us": 1000, "controller_us": 2, "buffer_units": 32, "endurance": 0}  # fmt: skip


def flash(**options: Any) -> Nand:
    return Nand("test", 16 << 20, {**FLASH, **options})


def test_nand_media_read_after_tr_and_transfer(make: Make) -> None:
    """To the cycle: tR, the transfer of a burst of 4 KiB, and the controller; then what is in the page's register."""
    took = {}
    for name, options in (("memory", {"media_latency_ns": 0}), ("flash", {"nand": flash()})):
        d = make(**options)
        for again in (False, True):
            before, start = d.sim.counters()["media.read_beats"], d.sim.cycle
            d.start(MEDIA_READ, size=4096)
            while d.sim.counters()["media.read_beats"] == before:
                d.sim.run(1)
            took[name, again] = d.sim.cycle - start
            d.sim.run(10_000)
    assert took["flash", False] - took["memory", False] == (20_000 + 4096 * 2 + 2_000) // 4
    assert took["flash", True] - took["memory", True] == (4096 * 2 + 2_000) // 4


def test_nand_media_hold_the_data(make: Make) -> None:
    d = make(nand=flash(power_loss_safe=False, suspends=2), stall_pct=30)
    data = pattern(65536)
    d.memory[:65536] = data
    for at in range(0, 65536, 16384):
        d.do(READ, BASE + at, 16384)
        d.do(MEDIA_WRITE, size=16384, media=0x10_0000 + at)
    d.do(FLUSH)
    assert d.sim.media_read(0x10_0000, 65536) == data
    f = d.sim.nand_figures()
    assert f is not None and f["host_units"] == 16 and f["programs"] >= 8 and not f["merge_reads"]
    d.clear(16384)
    d.do(MEDIA_READ, size=16384, media=0x10_4000)
    d.do(WRITE, BASE + 0x20000, 16384)
    d.sim.run(500)
    assert d.memory[0x20000 : 0x20000 + 16384] == data[0x4000:0x8000]
    d.do(ZERO, size=16384, media=0x10_0000)
    assert d.sim.nand_figures()["valid"] == f["valid"] - 4  # type: ignore[index]
    d.sim.reset()
    d.do(MEDIA_READ, size=16384, media=0x10_4000)


@pytest.mark.parametrize(("safe", "least"), [(True, 2_000), (False, 200_000)])
def test_nand_media_flush(make: Make, safe: bool, least: int) -> None:
    """The buffer lasts, or has to be programmed first."""
    d = make(nand=flash(power_loss_safe=safe))
    d.do(MEDIA_WRITE, size=4096, media=0)
    start = d.sim.cycle
    d.do(FLUSH)
    assert least // 4 <= d.sim.cycle - start < least // 4 + 10_000


def test_nand_media_are_the_same_when_idle_time_is_skipped(make: Make) -> None:
    found = []
    for skip in (True, False):
        d = make(nand=flash(power_loss_safe=False), idle_skip=skip)
        for i in range(24):
            d.do(MEDIA_WRITE if i % 3 else MEDIA_READ, size=16384, media=(i * 7 % 24) * 16384)
            if i % 10 == 9:
                d.do(FLUSH)
        found.append((d.sim.cycle, d.sim.nand_figures(), d.sim.media_read(0, 1 << 19)))
    assert found[0] == found[1]


def test_nand_media_that_cannot_be(make: Make) -> None:
    with pytest.raises(SimError, match="test: a capacity of 16777216 bytes is too small"):
        make(nand=flash(pages=4096))
    assert make().sim.nand_figures() is None


def media_command(make: Make, op: int, size: int = 0, **options: Any) -> int:
    """Cycles of a command of the media, and what the endpoint takes for it."""
    d = make(**options)
    start = d.sim.cycle
    d.start(op, size=size)
    assert d.sim.run(1 << 40, stop_idle=True) == "idle"
    return d.sim.cycle - start


def test_time_of_a_flush(make: Make) -> None:
    least = media_command(make, FLUSH, media_latency_ns=0)
    for options, wanted in (({}, 50), ({"media_write_latency_ns": 400}, 100), ({"media_flush_latency_ns": 0}, 0),
                            ({"media_flush_latency_ns": 1000, "media_zero_gbps": 0.1}, 250),
                            ({"media_flush_latency_ns": 30 * 10**9}, 7_500_000_000)):  # fmt: skip
        assert media_command(make, FLUSH, **options) - least == wanted, options


def test_time_of_zeroing(make: Make) -> None:
    size = 8 << 20
    least = media_command(make, ZERO, size, media_latency_ns=0)
    for options, wanted in (({}, 50), ({"media_zero_gbps": 1}, 50 + size // 4),
                            ({"media_zero_gbps": 3.3}, 50 - (-size * 2500 // 33000)),
                            ({"media_zero_gbps": 1, "media_gbps": 0.5}, 50 + size // 4),
                            ({"media_zero_gbps": size / 30e9, "media_flush_latency_ns": 5000},
                             50 - (-size * 250_000 // round(size / 30000)))):  # fmt: skip
        assert media_command(make, ZERO, size, **options) - least == wanted, options
    assert wanted / 250e6 == pytest.approx(30, rel=0.01)


def test_media_errors(make: Make) -> None:
    d = make()
    d.sim.media_error(8192 + 100, 8, count=2)
    d.do(MEDIA_READ, size=16384)
    assert d.sim.mmio_read(0x3C) == 4096 // 32  # each beat of the burst
    d.clear(16384, 1)
    d.do(MEDIA_WRITE, size=16384)
    assert d.sim.mmio_read(0x3C) == 4096 // 32 + 1
    assert d.sim.media_read(0, 16384) == b"\1" * 8192 + bytes(4096) + b"\1" * 4096
    d.do(MEDIA_WRITE, size=16384)
    assert d.sim.mmio_read(0x3C) == 4096 // 32 + 1
    assert d.sim.media_read(0, 16384) == b"\1" * 16384
    assert d.sim.counters()["media.errors_injected"] == 2


def test_zero(make: Make, tmp_path: Path) -> None:
    for image in (None, tmp_path / "z.img"):
        d = make(media_size=4 << 30, image=image)
        for at in (0, 5000, 9 << 20, (3 << 30) - 1, 3 << 30):
            d.sim.media_write(at, b"\xff" * 5000)
        d.do(ZERO, size=5 << 20, media=5500)
        assert d.sim.media_read(0, 10500) == b"\xff" * 5500 + bytes(5000)
        assert d.sim.media_read(9 << 20, 10) == b"\xff" * 10
        d.do(ZERO, size=3 << 20, media=4096, data=10)  # 3 GiB, at once
        assert d.sim.media_read(9 << 20, 10) == bytes(10)
        assert d.sim.media_read(3 << 30, 5000) == bytes(4096) + b"\xff" * 904
        assert d.sim.mmio_read(0x3C) == 0


def test_image(make: Make, tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    data = pattern(8192)
    d = make(image=image, media_size=64 << 20)
    assert image.stat().st_size == 64 << 20 and image.stat().st_blocks == 0, "sparse"
    d.memory[:8192] = data
    d.do(READ, BASE, 8192)
    d.do(MEDIA_WRITE, size=8192, media=1 << 20)
    d.do(FLUSH)
    assert d.sim.counters()["media.flushes"] == 1
    assert image.read_bytes()[1 << 20 : (1 << 20) + 8192] == data
    with pytest.raises(SimError, match="in use"):
        Sim(library(256), image=image)
    d.sim.close()
    with Sim(library(256), image=image) as sim:
        assert sim.media_size == 64 << 20
        assert sim.media_read(1 << 20, 8192) == data


def test_options_are_checked() -> None:
    for options, text in (
        ({"mps": 300}, "mps"),
        ({"mrrs": 64}, "mrrs"),
        ({"rcb": 32}, "rcb"),
        ({"clock_mhz": 0.5}, "clock"),
        ({"media_size": 100}, "4096"),
        ({"media_size": (1 << 40) + 4096}, "too large"),
        ({"image": "/nonexistent/x"}, "cannot open"),
    ):
        with pytest.raises(SimError, match=text):
            Sim(library(256), **options)  # type: ignore[arg-type]
    sim = Sim(library(256), media_size=1 << 20)
    with pytest.raises(ValueError, match="fault"):
        sim.inject("nonsense")
    sim.close()
    with pytest.raises(SimError, match="closed"):
        sim.run(1)


@pytest.mark.nightly
def test_waveforms_of_a_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """DOORBELL_WAVE, which `./doorbell test --wave` sets: simulators are built with tracing, and each simulation of a
    test writes a file from its start on."""
    built: list[str] = []
    monkeypatch.setattr(simulators, "cached", lambda kind, *_: built.append(kind) or tmp_path)
    monkeypatch.setattr(paths, "OUT", tmp_path)
    build.simulator("db_ssd")
    plain, traced = library(256), library(256, trace=True)
    with Sim(traced) as sim:
        sim.run(10)
    assert not (tmp_path / "waves").exists(), "nobody has asked"

    monkeypatch.setenv("DOORBELL_WAVE", "1")
    build.simulator("db_ssd")
    assert built == ["sim-db_ssd", "sim-db_ssd-trace"]
    capfd.readouterr()
    for cycles in (10, 200):
        with Sim(traced, idle_skip=False) as sim:
            sim.run(cycles)
    with Sim(plain) as sim:  # one that cannot
        sim.run(10)
    first, second = (tmp_path / "waves" / f"test_sim_py_test_waveforms_of_a_test{n}.vcd" for n in ("", "-2"))
    assert sorted((tmp_path / "waves").iterdir()) == sorted([first, second])
    assert capfd.readouterr().err.splitlines() == [f"waveform: {first}", f"waveform: {second}"]
    for file, cycles in ((first, 10), (second, 200)):
        head, _, changes = file.read_text().partition("$enddefinitions")
        assert " s_axis_cq_tvalid " in head and " m_axis_rq_tdata " in head
        assert 2 * cycles <= int(re.findall(r"^#(\d+)$", changes, re.MULTILINE)[-1]) <= 2 * cycles + 40


def test_the_largest_capacity(tmp_path: Path) -> None:
    """As much as the media's addresses reach, also if it is an image's length that says how much that is."""
    image = tmp_path / "large"
    image.touch()
    os.truncate(image, (1 << 40) + 4096)
    with pytest.raises(SimError, match="40 bits"):
        Sim(library(256), image=image)
    os.truncate(image, 1 << 40)
    with Sim(library(256), image=image) as sim:
        sim.media_write((1 << 40) - 4, b"last")
    with Sim(library(256), media_size=1 << 40) as sim:
        assert sim.media_size == 1 << 40
