# SPDX-License-Identifier: Apache-2.0
"""The simulator's media, with a small device (tests/rtl/tb/sim_endpoint.sv)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doorbell import build, paths
from doorbell.build import simulators
from doorbell.device.messages import SimError
from doorbell.device.nand import Nand
from doorbell.device.sim import Sim
from endpoint_device import (
    BASE,
    FLUSH,
    MEDIA_READ,
    MEDIA_WRITE,
    READ,
    WRITE,
    ZERO,
    Make,
    devices_made,
    library,
    pattern,
)


@pytest.fixture
def make() -> Iterator[Make]:
    yield from devices_made()


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
