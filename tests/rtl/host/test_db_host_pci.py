# SPDX-License-Identifier: Apache-2.0
"""db_host_pci in db_host_control: configuration space of many shapes; each failure with its step and reason."""

from __future__ import annotations

import cocotb
import pytest
from host_ctl_bench import BAR, MS, Bench, run
from host_drive_model import CRS, SILENT, UR, Options

LOW_BAR = 0x8765_0000
GOOD = {
    "plain": (Options(), BAR),
    "32-bit BAR": (Options(bar_kind=0), LOW_BAR),
    "64-bit BAR, low": (Options(bar_bytes=65536), LOW_BAR),
    "prefetchable": (Options(bar_kind=0b1000), LOW_BAR),
    "big BAR": (Options(bar_bytes=1 << 20), 0x7F_1230_0000),
    "one capability": (Options(caps=((0xFC, 0x10),)), BAR),
    "last of many": (Options(caps=((0x70, 0x05), (0x44, 0x09), (0xE0, 0x01), (0x48, 0x11), (0xA4, 0x10))), BAR),
    "downwards": (Options(caps=((0xC0, 0x10), (0x50, 0x11), (0x40, 0x01))), BAR),
    "MPS 128": (Options(mps=0), BAR),
    "MPS 4096, no extended tags": (Options(mps=5, ext_tag=False), BAR),
    "multi-function": (Options(header=0x80), BAR),
    "CRS": (Options(crs_ms=17), BAR),
    "CRS to the last": (Options(crs_ms=985, crs_by_vendor=True), BAR),
    "CRS by vendor ID": (Options(crs_ms=30, crs_by_vendor=True), BAR),
}


@cocotb.test()
@cocotb.parametrize(name=list(GOOD))
async def place(dut, name):
    o, bar = GOOD[name]
    b = Bench(dut, o, seed=len(name))
    await b.start(bar=bar)
    await b.until(dut.io_up)
    d = b.drive
    assert d.bar == bar
    assert d.cfg[1] & 0x547 == 0x406
    mps = min(2, o.mps)
    assert d.cfg[d.pcie + 2] == o.ext_tag << 8 | mps << 5 | 2 << 12
    assert (int(dut.set_mps.value), int(dut.set_mrrs.value)) == (mps, 2)
    assert b.cycle >= o.crs_ms * MS
    if o.crs_ms:
        asked = sum(1 for kind, addr, _ in b.requests if kind == "cfg" and addr == 0)
        assert asked <= o.crs_ms + 3, "asked more than once a millisecond"


BAD = {
    "no answer": (Options(cfg_status=SILENT), BAR, "VENDOR", "NO_ANSWER"),
    "refused": (Options(cfg_status=UR), BAR, "VENDOR", "REFUSED"),
    "all ones": (Options(vendor=0xFFFF), BAR, "VENDOR", "NO_ANSWER"),
    "CRS for ever": (Options(cfg_status=CRS), BAR, "VENDOR", "RETRY"),
    "CRS into the second try": (Options(crs_ms=1500, crs_by_vendor=True), BAR, "", ""),
    "network card": (Options(class_code=0x020000), BAR, "CLASS", "CLASS"),
    "AHCI": (Options(class_code=0x010601), BAR, "CLASS", "CLASS"),
    "bridge": (Options(header=1), BAR, "HEADER", "HEADER"),
    "bridge, multi-function": (Options(header=0x81), BAR, "HEADER", "HEADER"),
    "I/O BAR": (Options(bar_kind=1), BAR, "BAR_SIZE", "BAR"),
    "no BAR": (Options(bar_kind=0, bar_bytes=0), LOW_BAR, "BAR_SIZE", "BAR"),
    "32-bit BAR above": (Options(bar_kind=0), BAR, "BAR_SIZE", "BAR_PLACE"),
    "BAR not aligned": (Options(bar_bytes=1 << 20), BAR + 0x8000, "BAR_CHECK", "BAR_PLACE"),
    "no list": (Options(caps=()), BAR, "CAP_FIRST", "NO_PCIE_CAP"),
    "not in the list": (Options(caps=((0x40, 1), (0x60, 5))), BAR, "CAP_NEXT", "NO_PCIE_CAP"),
    "ring": (Options(caps=((0x40, 1), (0x60, 5)), caps_loop=True), BAR, "CAP_NEXT", "NO_PCIE_CAP"),
}


@cocotb.test()
@cocotb.parametrize(name=list(BAD))
async def failures(dut, name):
    o, bar, step, reason = BAD[name]
    b = Bench(dut, o, seed=len(name), stall=0.1)
    await b.start(bar=bar)
    if not step:  # the second try finds it
        await b.until(dut.io_up)
        assert await b.failure() == ("VENDOR", "RETRY", 0)
        return
    await b.until(dut.io_dead, ms=5000)
    assert int(dut.io_up.value) == 0
    assert await b.failure() == (step, reason, 0)
    if reason == "RETRY":
        assert 2000 * MS < b.cycle < 2100 * MS, f"{b.cycle / MS} ms for two tries"
    if reason == "NO_ANSWER" and o.cfg_status is SILENT:
        assert 2 * 49 * MS < b.cycle < 2 * 52 * MS
    assert all(kind == "cfg" for kind, _, _ in b.requests), "memory was accessed"


@pytest.mark.parametrize("width,qp", [(128, 2)])
def test_db_host_pci(width: int, qp: int) -> None:
    run(__file__, width, NUM_QP=qp)
