# SPDX-License-Identifier: Apache-2.0
"""The NAND model alone (sim/nand) against what is known of flash: published formulas, and times that add up."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doorbell.device.nand import Nand, difference, parse_media, profiles, write_amplification
from doorbell.device.nand_model import NandModel
from doorbell.errors import UserError

UNIT = 4096
SMALL: dict[str, Any] = {
    "channels": 1, "ways": 1, "planes": 1, "pages": 64, "page_bytes": 8192, "bus_mbps": 400, "buffer_units": 64,
    "endurance": 0, "read_disturb": 0,
}  # fmt: skip


def model(units: int = 1 << 16, **options: Any) -> NandModel:
    return NandModel(Nand("test", units * UNIT, {**SMALL, **options}))


def anywhere(units: int, count: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, units, count) * UNIT


def published(slots: int, units: int) -> float:
    """Write amplification of greedy collection under uniform random writes: Xiang and Kurkoski, "An Improved Analytic
    Expression for Write Amplification in NAND Flash" (arXiv 1110.4245), a / (a + W(-a exp(-a))), a = slots / units."""
    a = slots / units
    x, w = -a * math.exp(-a), -0.5
    for _ in range(100):  # Newton, of w exp(w) = x, the branch above -1
        w -= (w * math.exp(w) - x) / (math.exp(w) * (w + 1))
    return a / (a + w)


def test_the_formula_is_the_published_one() -> None:
    assert published(130, 100) == pytest.approx(2.36, abs=0.01), "the paper's abstract: 2.36 at 0.3, simulated 2.35"


@pytest.mark.parametrize("over", [0.07, 0.15, 0.28, 0.5, 1.0])
def test_write_amplification_is_that_of_the_formula(over: float) -> None:
    units = 1 << 17
    with model(units, over_provisioning=over) as m:
        m.play(anywhere(units, 2 * units), write=True, depth=32)
        before = m.figures()
        m.play(anywhere(units, units, 2), write=True, depth=32)
        now = m.figures()
        found = write_amplification(difference(now, before))
        assert found == pytest.approx(published(now["slots"], units), rel=0.03)
        assert not m.check()


@pytest.mark.parametrize("over", [0.1, 0.4])
def test_a_computed_past_is_the_steady_state(over: float) -> None:
    """From the first write on it is as after many."""
    units, found = 1 << 16, []
    with model(units, over_provisioning=over, precondition="steady") as m:
        assert m.figures()["valid"] == units
        for seed in range(3):
            before = m.figures()
            m.play(anywhere(units, units // 2, seed), write=True, depth=32)
            found.append(write_amplification(difference(m.figures(), before)))
    with model(units, over_provisioning=over) as m:
        m.play(anywhere(units, 3 * units), write=True, depth=32)
        before = m.figures()
        m.play(anywhere(units, units, 7), write=True, depth=32)
        late = write_amplification(difference(m.figures(), before))
    assert found == pytest.approx([late] * 3, rel=0.03)


def test_a_read_takes_tr_and_its_transfer() -> None:
    with model(read_us=50, controller_us=2, bus_mbps=500) as m:
        _, each = m.play([0, 100 * UNIT, 7 * UNIT], write=False)
        assert list(each) == [50_000 + 4096 * 2 + 2_000] * 3
        _, each = m.play([7 * UNIT, 8 * UNIT], 512, write=False)
        assert list(each) == [512 * 2 + 2_000, 50_000 + 512 * 2 + 2_000], "the first is in the register"


@pytest.mark.parametrize(("channels", "bus"), [(1, 400), (4, 400), (8, 200)])
def test_reads_reach_what_the_channels_carry(channels: int, bus: int) -> None:
    with model(channels=channels, ways=16, pages=16, read_us=30, bus_mbps=bus) as m:
        took, _ = m.play(anywhere(1 << 16, 20_000), write=False, depth=64 * channels)
        assert 0.95 < 20_000 * UNIT / took / (channels * bus / 1000) <= 1


def test_writes_reach_what_the_dies_program() -> None:
    """Few dies: tPROG and the transfer of a page are the limit. Many: the channel is."""
    count = 16_000
    for ways, limit in ((2, 2 * 8192 / (500_000 + 8192 * 2.5)), (64, 0.4)):
        with model(ways=ways, pages=16, buffer_units=1024, program_us=500, precondition="empty") as m:
            took, _ = m.play(np.arange(count) * UNIT, write=True, depth=64)
            took += m.settle()
            assert 0.95 < count * UNIT / took / limit <= 1


def test_reads_suspend_programs_and_erases() -> None:
    seen = {}
    for suspends in (0, 8):
        with model(suspends=suspends, suspend_us=10, read_us=50, program_us=2000, controller_us=0) as m:
            m.play(np.arange(20) * UNIT, write=True, depth=4)
            _, each = m.play([5000 * UNIT], write=False)
            seen[suspends] = float(each[0])
            assert bool(m.figures()["suspensions"]) == bool(suspends)
    least = 10_000 + 50_000 + 4096 * 2.5
    assert least <= seen[8] <= least + 8192 * 2.5, "a page that is on its way to the die comes first"
    assert seen[0] > 1_000_000


def test_programs_are_not_suspended_for_ever() -> None:
    with model(suspends=4, suspend_us=5, program_us=500, read_us=20) as m:
        m.play(np.arange(64) * UNIT, write=True, depth=4)
        for _ in range(40):
            m.play(anywhere(1 << 16, 50), write=False, depth=16)
        assert m.figures()["programs"] > 10


def test_flush_and_the_buffer() -> None:
    for safe in (True, False):
        with model(power_loss_safe=safe, program_us=600, controller_us=1, buffer_units=64) as m:
            _, each = m.play([0, UNIT, 2 * UNIT], write=True)
            assert list(each) == [1000] * 3, "a write is in the buffer"
            assert list(m.play([UNIT], write=False)[1]) == [1000], "and read from there"
            took, programs = m.flush(), m.figures()["programs"]
            assert (took, programs) == (1000, 0) if safe else (took > 600_000 and programs == 2)
            assert not m.check()


def test_a_full_buffer_makes_writes_wait() -> None:
    with model(program_us=600, precondition="empty") as m:
        _, each = m.play(np.arange(1000) * UNIT, write=True, depth=1)
    assert each[0] == 1000 and each[-100:].mean() > 100_000


def test_what_was_never_written_costs_no_flash() -> None:
    with model(precondition="empty", controller_us=3) as m:
        assert list(m.play([0, UNIT], write=False)[1]) == [3000, 3000]
        assert m.figures()["senses"] == 0 and m.figures()["empty_reads"] == 2


def test_parts_of_a_unit_are_read_first() -> None:
    with model() as m:
        m.play(np.arange(40) * UNIT, 512, write=True)
        m.settle()
        assert m.figures()["merge_reads"] == m.figures()["host_units"] > 30
    with model() as m:  # four writes that are a unit together
        m.play(np.arange(160) * 1024, 1024, write=True)
        assert not m.figures()["merge_reads"]


def test_trim_makes_room() -> None:
    units = 1 << 16
    factors = []
    for trimmed in (0, units // 2):
        with model(units, over_provisioning=0.1) as m:
            m.trim(0, trimmed * UNIT)
            assert m.figures()["valid"] == units - trimmed
            m.play(trimmed * UNIT + anywhere(units - trimmed, 2 * units), write=True, depth=32)
            factors.append(write_amplification(m.figures()))
            assert not m.check()
    assert factors[1] < 1.4 < 3 < factors[0]


@pytest.mark.parametrize("options", [
    {"cost_benefit": True}, {"level": 5}, {"bad_blocks": 0.02}, {"read_disturb": 20}, {"endurance": 6},
    {"planes": 4, "plane_reads": True, "suspends": 3}, {"channels": 3, "ways": 5, "pages": 8, "page_bytes": 16384},
    {"power_loss_safe": False, "precondition": "steady"},
])  # fmt: skip
def test_the_mapping_holds_whatever_happens(options: dict[str, Any]) -> None:
    units = 1 << 15
    with model(units, **{"over_provisioning": 0.2, "buffer_units": 128, "pages": 16, **options}) as m:
        for seed in range(6):
            m.play(anywhere(units // (1 + seed % 2), units // 2, seed), write=True, depth=16)
            m.play(anywhere(units, 500, seed), 1024, write=False, depth=8)
            m.trim(seed * 1000 * UNIT, 300 * UNIT)
            m.flush()
        m.settle()
        f = m.figures()
        assert not m.check() and f["valid"] <= units and not f["waiting_writes"]
        assert not m.settle(), "nothing is left to do"


def test_bad_blocks_and_wear() -> None:
    units = 1 << 15
    with model(units, bad_blocks=0.02) as m, model(units, bad_blocks=0.02, seed=9) as other:
        assert 2 < m.figures()["bad"] < 20 and m.figures()["slots"] != other.figures()["slots"]
    with model(units, endurance=5, over_provisioning=0.3) as m:
        m.play(anywhere(units, 8 * units), write=True, depth=32)
        assert m.figures()["retired"] > 10 and m.figures()["percent_used"] > 80


def test_levelling_evens_out_wear() -> None:
    """A tenth of the drive gets all writes."""
    spread = []
    for level in (0, 8):
        with model(1 << 15, level=level, over_provisioning=0.2, pages=16) as m:
            m.play(anywhere((1 << 15) // 10, 12 << 15), write=True, depth=32)
            spread.append(m.figures()["erase_most"] - m.figures()["erase_least"])
            assert bool(m.figures()["levelled"]) == bool(level)
    assert spread[1] <= 12 < spread[0]


def test_read_disturb_rewrites_a_block() -> None:
    with model(read_disturb=100) as m:
        m.play(np.tile([0, 1000 * UNIT], 250), write=False)
        m.settle()
        f = m.figures()
        assert f["refreshed"] == 4 and f["moved_units"] == 4 * 128 and f["erases"] == 4


def test_the_same_again() -> None:
    def run(seed: int) -> tuple[Any, ...]:
        with model(1 << 14, precondition="steady", seed=seed, bad_blocks=0.01, pages=16) as m:
            took, each = m.play(anywhere(1 << 14, 20_000), write=True, depth=16)
            return took, each.sum(), tuple(m.figures().values())

    assert run(1) == run(1) != run(2)


@pytest.mark.parametrize("name", profiles())
def test_profiles(name: str) -> None:
    """What they say adds up: a read at QD 1, and the past takes seconds at most."""
    nand = parse_media(f"nand:{name}")
    o = nand.options
    with NandModel(nand) as m:
        _, each = m.play(anywhere(nand.capacity // UNIT, 200), write=False)
        least = o["read_us"] * 1000 + UNIT * 1000 / o["bus_mbps"] + o["controller_us"] * 1000
        assert np.median(each) == pytest.approx(least, rel=1e-3)


@pytest.mark.parametrize(("text", "message"), [
    ("capacity: 1g\nchanels: 3\n", "there is no 'chanels'"), ("channels: 3\n", "has no capacity"),
    ("capacity: 1g\nchannels: many\n", "not a number"), ("capacity: 1g\nplane_reads: 3\n", "neither true nor false"),
    ("capacity: 1g\nprecondition: old\n", "none of empty, filled, steady"), ("- 1\n", "not a list of"),
    ("capacity: 1g\nchannels: 1.5\n", "not a whole number"), ("a: [\n", "cannot be read"),
    ("capacity: 1g\nover_provisioning: 7000\n", "too large"), ("capacity: 1g\nread_us: -1\n", "not a number"),
])  # fmt: skip
def test_profiles_with_mistakes(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(UserError, match=message):
        parse_media(f"nand:{file}")


def test_descriptions_that_cannot_be() -> None:
    with pytest.raises(UserError, match=r"nand:cosmos, nand:tlc, nand:znand and nand:FILE.yaml"):
        parse_media("nand:qlc")
    with pytest.raises(UserError, match="too small"):
        model(100)
    with pytest.raises(UserError, match="channels: 65 is not in 1 to 64"):
        model(channels=65)
    with pytest.raises(UserError, match="buffer_units"):
        model(buffer_units=1)
