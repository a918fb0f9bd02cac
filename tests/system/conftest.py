# SPDX-License-Identifier: Apache-2.0
"""System tests of db_ssd: the whole Verilated drive, driven by the Python host driver.

DOORBELL_BACKEND=functional runs them against the functional model instead, in seconds and without a build. A test
that needs what only the RTL has (link timing, error counters) says so with `@pytest.mark.rtl`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from doorbell.device.opening import open_sim  # noqa: E402
from doorbell.nvme.driver import Driver  # noqa: E402
from doorbell.nvme.memory import HostMemory  # noqa: E402
from traffic import MakeDrive  # noqa: E402

HAVE_RTL = (ROOT / "rtl" / "ssd" / "db_ssd.sv").exists()
BACKEND = os.environ.get("DOORBELL_BACKEND") or ("rtl" if HAVE_RTL else "functional")
MEDIA = 64 << 20


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rtl: needs the Verilated drive")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if BACKEND == "rtl":
        return
    skip = pytest.mark.skip(reason="needs the Verilated drive (DOORBELL_BACKEND=rtl)")
    for item in items:
        if item.get_closest_marker("rtl"):
            item.add_marker(skip)


def errors(sim: Any) -> dict[str, int]:
    """Counters of things that must never happen, where they are not zero."""
    return {k: v for k, v in sim.counters().items() if k.startswith("error.") and v}


@pytest.fixture
def make_drive() -> Iterator[MakeDrive]:
    """A factory of drives, not yet up: `make_drive(data_w=..., params=..., memory=..., base=..., any option of Sim)`.

    At the end of the test no drive may have broken a rule that the simulator watches (PCIe, AXI, bus master ...).
    """
    made: list[Driver] = []

    def make(
        *,
        memory: int = 96 << 20,
        base: int = 0x12_4000_0000,
        seed: int = 1,
        params: dict[str, int] | None = None,
        **options: Any,
    ) -> Driver:
        options.setdefault("media_size", MEDIA)
        sim = open_sim(BACKEND, params=dict(params or {}), seed=seed, **options)
        drive = Driver(sim, HostMemory(memory, base, seed=seed), seed=seed)
        made.append(drive)
        return drive

    yield make
    broken = [errors(drive.sim) for drive in made if getattr(drive.sim, "_handle", True)]  # not those closed already
    for drive in made:
        drive.sim.close()
    assert not any(broken), f"the simulator counted protocol errors: {broken}"


@pytest.fixture
def drive(make_drive: MakeDrive) -> Driver:
    """A drive that is up with four queue pairs of 64 entries."""
    d = make_drive()
    d.start(queues=4, entries=64)
    return d
