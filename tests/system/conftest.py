# SPDX-License-Identifier: Apache-2.0
"""System tests of db_ssd: the whole Verilated drive, driven by the Python host driver.

DOORBELL_BACKEND=functional runs them against the functional model instead, in seconds and without a build. A test
that needs what only the RTL has (link timing, error counters) says so with `@pytest.mark.rtl`.

What passed is not run again while nothing that it depends on has changed (tests/models/whole_tests.py): neither the
test nor what it gets from fixtures.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import copies
import pytest
import results
import whole_tests

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from doorbell.device.opening import open_sim  # noqa: E402
from doorbell.nvme.driver import Driver  # noqa: E402
from doorbell.nvme.memory import HostMemory  # noqa: E402
from traffic import MakeDrive  # noqa: E402

HAVE_RTL = (ROOT / "rtl" / "ssd" / "db_ssd.sv").exists()
BACKEND = os.environ.get("DOORBELL_BACKEND") or ("rtl" if HAVE_RTL else "functional")
MEDIA = 64 << 20
KEPT = None if copies.NONE else whole_tests.Kept()
RUNS = pytest.StashKey[bool]()  # if it must run
PASSES = pytest.StashKey[Path | None]()  # what to write if it passes
SET_UP = {"csd_owners", "csd_works", "make_drive_once"}
"""What makes drives for several tests: each test has a copy of them."""
MADE: list[Driver] = []  # of drives_made, open


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "rtl: needs the Verilated drive")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if BACKEND == "rtl":
        return
    skip = pytest.mark.skip(reason="needs the Verilated drive (DOORBELL_BACKEND=rtl)")
    for item in items:
        if item.get_closest_marker("rtl"):
            item.add_marker(skip)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Function) -> None:
    """A test that need not run gets nothing from fixtures."""
    file = KEPT and not item.get_closest_marker("nightly") and KEPT.file(item.path, item.nodeid)
    if KEPT and file:
        item.stash[RUNS] = not KEPT.passed(file)
        if item.stash[RUNS]:
            item.stash[PASSES] = file
        else:
            item.fixturenames = []


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not pyfuncitem.stash.get(RUNS, True):
        results.kept.append(pyfuncitem.name)
        return True
    if copies.NONE or not SET_UP.intersection(pyfuncitem.fixturenames):
        return None

    def test() -> None:
        pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames})
        no_rule_broken(MADE)

    copies.in_a_copy(test)
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What passed is kept when the fixtures have found nothing wrong either."""
    report = yield
    if not report.passed or hasattr(report, "wasxfail"):
        item.stash[PASSES] = None
    elif report.when == "teardown" and KEPT and (file := item.stash.get(PASSES, None)):
        KEPT.keep(file)
    return report


def errors(sim: Any) -> dict[str, int]:
    """Counters of things that must never happen, where they are not zero."""
    return {k: v for k, v in sim.counters().items() if "error" in k.split(".")[:2] and v}


def no_rule_broken(drives: list[Driver]) -> None:
    broken = [errors(drive.sim) for drive in drives if getattr(drive.sim, "_handle", True)]  # not those closed already
    assert not any(broken), f"the simulator counted protocol errors: {broken}"


@contextlib.contextmanager
def drives_made() -> Iterator[MakeDrive]:
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
        MADE.append(drive)
        return drive

    yield make
    try:
        no_rule_broken(made)
    finally:
        for drive in made:
            MADE.remove(drive)
            drive.sim.close()


@pytest.fixture
def make_drive() -> Iterator[MakeDrive]:
    """A factory of drives, not yet up: `make_drive(data_w=..., params=..., memory=..., base=..., any option of Sim)`.

    At the end of the test no drive may have broken a rule that the simulator watches (PCIe, AXI, bus master ...).
    """
    with drives_made() as make:
        yield make


@pytest.fixture(scope=copies.scope("module"))
def make_drive_once() -> Iterator[MakeDrive]:
    """As make_drive, for drives that are set up once for all tests of a file: each test has a copy of them."""
    with drives_made() as make:
        yield make


@pytest.fixture(scope=copies.scope("session"))
def csd_owners() -> Iterator[list[Driver]]:
    """db_csd with a PF and VFs that are up, each with a namespace: csd_functions.functions."""
    from csd_functions import functions

    with drives_made() as make:
        yield functions(make)


@pytest.fixture(scope=copies.scope("session"))
def csd_works() -> Iterator[list[Any]]:
    """db_csd with a PF and VFs that are up, each with a namespace and a key of its own: csd_functions.keyed."""
    from csd_functions import keyed

    with drives_made() as make:
        yield keyed(make)


@pytest.fixture
def drive(make_drive: MakeDrive) -> Driver:
    """A drive that is up with four queue pairs of 64 entries."""
    d = make_drive()
    d.start(queues=4, entries=64)
    return d
