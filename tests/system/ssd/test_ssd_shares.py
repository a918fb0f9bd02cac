# SPDX-License-Identifier: Apache-2.0
"""What each function may have of what all share, as the PF sets it: values, statuses, what outlasts what.

What becomes of traffic is in test_ssd_shares_traffic.py. Values and statuses are those of docs/virtualization.md, the
limits of slots those of the hardware (db_ssd_sq_fn_share).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import copies
import pytest
from doorbell.nvme import virtualization
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import NSID_ALL, AdminOpc, Feature, FeatureSelect, LogPage, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.memory import HostMemory
from doorbell.nvme.structures import FunctionShare
from doorbell.nvme.vendor import VendorFeature
from doorbell.nvme.virtualization import set_share, set_share_try, share, share_try
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
NUM_FN = 3
SLOTS = 128
MEMORY = 16 << 20
FEATURE = VendorFeature.FUNCTION_SHARE
PLAIN = {"weight": 1, "slots_min": SLOTS // 4 // NUM_FN, "slots_max": SLOTS // 2}
MIN_TOTAL = SLOTS - SLOTS // 4 - 1
SELECTS = (FeatureSelect.CURRENT, FeatureSelect.DEFAULT, FeatureSelect.SAVED)


def opened(make_drive: MakeDrive, num_fn: int = NUM_FN, **more: Any) -> Driver:
    """The PF of a drive, up, with its VFs enabled."""
    functions = {"num_fn": num_fn, "params": {"NUM_NS": num_fn, "SGL": 1}} if num_fn > 1 else {}
    drive = make_drive(memory=MEMORY, media_size=64 << 20, **functions, **more)
    drive.start(queues=2, entries=32)
    if num_fn > 1:
        drive.sim.enable_vfs(num_fn - 1)
    return drive


@pytest.fixture(scope=copies.scope("module"))
def pf(make_drive_once: MakeDrive) -> Driver:
    return opened(make_drive_once)


def vf_up(pf: Driver, fn: int) -> Driver:
    virtualization.assign(pf, fn, queues=1, interrupts=2)
    virtualization.online(pf, fn)
    vf = Driver(pf.sim.function(fn), HostMemory(MEMORY, 0x5_0000_0000), ready_timeout_us=5000)
    vf.start(queues=1, entries=32)
    return vf


def settable(found: FunctionShare) -> dict[str, int]:
    """What is not 0 of what a host sets."""
    names = [str(field[0]) for field in FunctionShare._fields_]
    names = [name for name in names[: names.index("slots")] if not name.startswith("rsvd")]
    return {name: value for name in names if (value := getattr(found, name))}


def wanted(**changes: int) -> FunctionShare:
    return FunctionShare(**{**PLAIN, **changes})


def everything(pf: Driver, count: int = NUM_FN) -> list[dict[str, int]]:
    return [settable(share(pf, fn)) for fn in range(count)]


def test_defaults_and_what_it_says_of_itself(pf: Driver) -> None:
    for fn in range(NUM_FN):
        for select in SELECTS:
            found = share(pf, fn, select)
            assert settable(found) == PLAIN
            assert (found.slots, found.slots_min_total) == (SLOTS, MIN_TOTAL)
    assert pf.get_features(FEATURE, select=FeatureSelect.SUPPORTED) == 1 | 1 << 2, "saveable, changeable"
    page = pf.get_log(LogPage.FID_EFFECTS, 1024)
    assert int.from_bytes(page[4 * FEATURE :][:4], "little") == 1 | 1 << 21, "of the controller"


def test_what_is_set_is_read(pf: Driver) -> None:
    """Each function has its own, also one that is offline or not enabled; extremes are as good as any."""
    values: list[dict[str, int]] = [
        {"weight": 255, "slots_min": 0, "slots_max": SLOTS},
        {"weight": 7, "slots_min": 60, "slots_max": 60, "iops": 20_000, "iops_burst": 32},
        {"weight": 1, "slots_min": 1, "slots_max": 1, "iops": 0xFFFFFFFF, "iops_burst": 0xFFFFFFFF,
         "bytes_per_s": (1 << 64) - 1, "bytes_burst": 0xFFFFFFFF},
    ]  # fmt: skip
    for fn, value in enumerate(values):
        set_share_try(pf, fn, FunctionShare(slots=999, **value)).check()  # what the drive says is not looked at
        assert share(pf, fn).slots == SLOTS
    assert everything(pf) == [{k: v for k, v in value.items() if v} for value in values]
    assert settable(set_share(pf, 1, iops=0)) == {"weight": 7, "slots_min": 60, "slots_max": 60, "iops_burst": 32}
    assert settable(share(pf, 1)) == {"weight": 7, "slots_min": 60, "slots_max": 60}, (
        "a burst without a rate is nothing"
    )
    for fn in range(NUM_FN):
        assert all(settable(share(pf, fn, select)) == PLAIN for select in SELECTS[1:])


def test_what_cannot_be_set(pf: Driver) -> None:
    """It changes nothing."""
    bad = [{"weight": 0}, {"slots_max": 0, "slots_min": 0}, {"slots_max": SLOTS + 1}, {"slots_min": 65},
           {"rsvd1": 1}, {"rsvd6": 1}, {"rsvd30": 1}, {"deadline_us": 20}, {"slots_max": 0xFFFF}]  # fmt: skip
    for changes in bad:
        expect(set_share_try(pf, 1, wanted(**changes)), Status.INVALID_FIELD)
    for cntlid in (NUM_FN, 17, 0xFFFF, 1 << 16):
        expect(set_share_try(pf, cntlid, wanted()), Status.INVALID_CTRL_ID)
        expect(share_try(pf, cntlid)[0], Status.INVALID_CTRL_ID)
    for nsid, status in ((1, Status.FEATURE_NOT_PER_NS), (NSID_ALL, Status.SUCCESS)):
        buffer = pf.buffer(64)
        buffer.write(bytes(wanted()))
        expect(pf.admin_try(AdminOpc.SET_FEATURES, buffer=buffer, nsid=nsid, cdw10=FEATURE, cdw11=1), status)
    assert everything(pf) == [PLAIN] * NUM_FN


def test_guarantees_fit_into_the_slots(pf: Driver) -> None:
    others = 2 * PLAIN["slots_min"]
    most = MIN_TOTAL - others
    expect(set_share_try(pf, 1, wanted(slots_min=most + 1, slots_max=SLOTS)), Status.INVALID_NUM_RESOURCES)
    expect(set_share_try(pf, 1, wanted(slots_min=most, slots_max=SLOTS)), Status.SUCCESS)
    expect(set_share_try(pf, 2, wanted(slots_min=11)), Status.INVALID_NUM_RESOURCES)
    set_share(pf, 1, slots_min=most - 1)
    expect(set_share_try(pf, 2, wanted(slots_min=11)), Status.SUCCESS)
    # What is saved fits beside what a reset gives the others, too.
    set_share(pf, 0, slots_min=0)
    set_share(pf, 2, slots_min=0)
    expect(set_share_try(pf, 1, wanted(slots_min=MIN_TOTAL, slots_max=SLOTS), save=True), Status.INVALID_NUM_RESOURCES)
    expect(set_share_try(pf, 1, wanted(slots_min=MIN_TOTAL, slots_max=SLOTS)), Status.SUCCESS)
    expect(set_share_try(pf, 0, wanted(slots_min=1)), Status.INVALID_NUM_RESOURCES)


def test_a_vf_has_no_such_feature(pf: Driver) -> None:
    vf = vf_up(pf, 1)
    for cntlid in (0, 1, 2):
        expect(set_share_try(vf, cntlid, wanted(weight=9)), Status.INVALID_FIELD)
        expect(share_try(vf, cntlid)[0], Status.INVALID_FIELD)
    page = vf.get_log(LogPage.FID_EFFECTS, 1024)
    assert int.from_bytes(page[4 * FEATURE :][:4], "little") == 0
    assert everything(pf) == [PLAIN] * NUM_FN


def test_no_such_feature_without_vfs(make_drive: MakeDrive) -> None:
    drive = opened(make_drive, 1)
    expect(set_share_try(drive, 0, wanted()), Status.INVALID_FIELD)
    expect(share_try(drive, 0)[0], Status.INVALID_FIELD)


@pytest.mark.nightly
def test_what_it_outlasts(pf: Driver) -> None:
    """A VF's end and its return; the PF's resets bring back what was saved, and power does."""
    mine, saved = {"weight": 9, "iops": 12345}, {"weight": 3, "slots_min": 4, "bytes_per_s": 5 << 30, "bytes_burst": 77}
    vf = vf_up(pf, 1)
    set_share(pf, 1, **mine)
    set_share(pf, 2, save=True, **saved)
    set_share(pf, 0, save=True, weight=200)
    set_share(pf, 0, weight=100)
    now = [PLAIN | {"weight": 100}, PLAIN | mine, PLAIN | saved]
    after = [PLAIN | {"weight": 200}, PLAIN, PLAIN | saved]
    assert [settable(share(pf, fn, FeatureSelect.SAVED)) for fn in range(NUM_FN)] == after
    vf.disable()
    vf.flr()
    virtualization.offline(pf, 1)
    virtualization.assign(pf, 1, queues=1, interrupts=2)
    virtualization.online(pf, 1)
    assert everything(pf) == now
    for reset in (pf.disable, pf.flr, pf.sim.reset):
        set_share(pf, 1, **mine)
        reset()
        pf.start(queues=2, entries=32)
        assert everything(pf) == after, reset
        assert [settable(share(pf, fn, FeatureSelect.SAVED)) for fn in range(NUM_FN)] == after
        assert settable(share(pf, 2, FeatureSelect.DEFAULT)) == PLAIN
    set_share(pf, 0, save=True, **PLAIN)
    pf.sim.reset()
    pf.start(queues=2, entries=32)
    assert everything(pf) == [PLAIN, *after[1:]]


@pytest.mark.nightly
def test_an_image_for_one_function(make_drive: MakeDrive, tmp_path: Path) -> None:
    """What a drive with VFs has saved is read by one without: it takes what is its own, and keeps nothing else."""
    image = str(tmp_path / "image")
    pf = opened(make_drive, image=image)
    set_share(pf, 0, save=True, weight=5, iops=1000)
    pf.admin(AdminOpc.SET_FEATURES, cdw10=Feature.SW_PROGRESS, cdw11=77)
    pf.sim.close()
    one = opened(make_drive, 1, image=image)
    assert one.get_features(Feature.SW_PROGRESS) == 77
    one.write(0, bytes(4096))
    one.sim.close()
    pf = opened(make_drive, image=image)
    assert everything(pf) == [PLAIN] * NUM_FN and pf.get_features(Feature.SW_PROGRESS) == 77


@pytest.mark.nightly
def test_an_image_for_more_and_fewer_functions(make_drive: MakeDrive, tmp_path: Path) -> None:
    """What a drive has saved is read by one of more functions, of fewer, of one: each takes what is its own."""
    image = str(tmp_path / "image")

    def reopened(count: int) -> Driver:
        return opened(make_drive, count, image=image)

    def plain(count: int) -> dict[str, int]:
        return PLAIN | {"slots_min": SLOTS // 4 // count}

    pf = reopened(2)
    set_share(pf, 0, save=True, weight=5, iops=1000)
    set_share(pf, 1, save=True, slots_max=30, bytes_per_s=1 << 40)
    pf.admin(AdminOpc.SET_FEATURES, cdw10=Feature.SW_PROGRESS, cdw11=77)
    now = everything(pf, 2)
    pf.sim.close()

    pf = reopened(3)
    assert everything(pf) == [*now, plain(3)]
    set_share(pf, 2, save=True, weight=8)
    pf.sim.close()

    pf = reopened(2)
    assert everything(pf, 2) == now and pf.get_features(Feature.SW_PROGRESS) == 77
    pf.sim.close()

    one = reopened(1)
    assert one.get_features(Feature.SW_PROGRESS) == 77
    one.write(0, bytes(4096))
    one.sim.close()
    pf = reopened(2)
    assert everything(pf, 2) == [plain(2)] * 2, "a drive of one function has saved, and keeps what is its own"
    assert pf.get_features(Feature.SW_PROGRESS) == 77
