# SPDX-License-Identifier: Apache-2.0
"""Several PCIe functions in the simulator runtime, against a small device (tests/rtl/tb/sim_endpoint.sv)."""

from __future__ import annotations

import contextlib
import os
import select
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from doorbell.device.messages import MmioError, SimError
from doorbell.device.sim import Sim
from endpoint_device import BASE, LOW, MSI, MSI_ADDR, READ, SIZE, WRITE, Device, library, pattern

FIRST_VF = 4  # the hard block's number of VF 1
UR = (1, 2, 1)  # one read, ended by an error completion with the status UR


class FunctionDevice(Device):
    """The endpoint as one function sees it. sender: whose requests it sends, the hard block's number."""

    def __init__(self, sim: Sim, fn: int) -> None:
        super().__init__(sim.function(fn))  # type: ignore[arg-type]
        self.fn = fn
        self.sender = FIRST_VF + fn - 1 if fn else 0

    def start(self, op: int, *args: Any, be: int = 0, **kwargs: Any) -> None:
        super().start(op, *args, be=be | self.sender << 8, **kwargs)


Make = Callable[..., list[FunctionDevice]]


@pytest.fixture
def make() -> Iterator[Make]:
    sims: list[Sim] = []

    def one(num_fn: int = 3, *, vfs: int | None = None, **options: Any) -> list[FunctionDevice]:
        """All functions, the VFs (or the first `vfs`) enabled and with bus master."""
        sim = Sim(library(256, num_fn=num_fn), media_size=16 << 20, **options)
        sims.append(sim)
        sim.enable_vfs(num_fn - 1 if vfs is None else vfs)
        devices = [FunctionDevice(sim, fn) for fn in range(num_fn)]
        for d in devices[1:]:
            with contextlib.suppress(SimError):
                d.sim.set_cfg(bus_master=True)
        return devices

    yield one
    for sim in sims:
        if not sim.closed:  # one that was closed had errors on purpose
            errors = sim.errors()
            sim.close()
            assert not errors


@pytest.mark.parametrize("num_fn", [3, *(pytest.param(n, marks=pytest.mark.nightly) for n in (2, 17))])
def test_registers_of_each_function(make: Make, num_fn: int) -> None:
    """The descriptor has the hard block's number; who does not answer as that function is found out."""
    devices = make(num_fn)
    assert devices[0].sim.num_fn == num_fn and devices[0].sim.mmio_read(0) == 0x0DB0_0001
    for d in devices[1:]:
        assert d.sim.mmio_read(0) == 0x0DB0_0001 | 0b1100 << 16 | (FIRST_VF + d.fn - 1) << 8
        d.sim.mmio_write(4, d.fn)
        assert d.sim.mmio_read(4) == d.fn


def test_settings_of_a_function_are_its_own(make: Make) -> None:
    pf, one, two = make()
    two.sim.set_cfg(msix_enable=True, msix_mask=True)
    assert [d.sim.mmio_read(0) >> 16 & 15 for d in (one, two)] == [0b1100, 0b1111]
    pf.sim.set_cfg(msix_enable=True)
    assert [d.sim.cfg()["msix_enable"] for d in (pf, one, two)] == [1, 0, 1]
    two.sim.set_cfg(bus_master=False, msix_mask=False)
    assert two.sim.mmio_read(0) >> 16 & 15 == 0b1010 and one.sim.cfg()["bus_master"]
    for fields in ({"mps": 128}, {"mrrs": 128}, {"intx_disable": True}):
        with pytest.raises(SimError, match="has no INTx and no sizes"):
            one.sim.set_cfg(**fields)  # type: ignore[arg-type]


def test_memory_of_a_function_is_its_own(make: Make) -> None:
    """The same addresses, other bytes; and nothing where the function has none."""
    devices = make()
    for d in devices:
        d.memory[:1024] = pattern(1024, d.fn)
    for d in devices:
        d.do(READ, BASE, 1024)
        d.do(WRITE, BASE + 65536, 1024)
    devices[0].sim.run(1000)
    for d in devices:
        assert d.memory[65536 : 65536 + 1024] == pattern(1024, d.fn)
        assert not d.status()[0]
    devices[1].sim.unmap(BASE, SIZE)
    devices[1].do(READ, BASE, 64)
    assert devices[1].status() == UR, "the others have memory there"
    devices[2].do(READ, BASE, 64)
    assert devices[1].status() == UR, "no further error"


def test_iommu_of_a_function(make: Make) -> None:
    pf, one, two = make()
    one.sim.iommu(True)
    one.sim.grant(BASE, 4096, 5, read=True)
    two.do(WRITE, BASE, 64)
    one.do(READ, BASE, 64)
    assert not one.sim.errors() and not pf.status()[0]
    two.sim.grant(BASE + 4096, 4096, 5, read=True)
    one.do(READ, BASE + 4096, 64)
    assert one.sim.errors() == {"error.not_granted": 1} and one.status() == UR
    assert [(s.addr, s.fn, s.owner) for s in one.sim.strays()] == [(BASE + 4096, 1, 0)]
    assert not two.sim.strays() and not pf.sim.strays()
    one.sim.close()


def test_interrupts_of_a_function(make: Make) -> None:
    devices = make()
    pf, one, two = devices
    for d in devices:
        d.do(MSI, MSI_ADDR, data=3)
    pf.sim.run(100)
    assert [[i.data for i in d.sim.irqs()] for d in (two, pf, one)] == [[3], [3], [3]]
    fd = os.eventfd(0)
    try:
        one.sim.irq_eventfd(3, fd)
        for d in devices:
            d.do(MSI, MSI_ADDR, data=3)
        pf.sim.run(100)
        assert select.select([fd], [], [], 0)[0] and os.eventfd_read(fd) == 1
        assert not one.sim.irqs() and len(two.sim.irqs()) == len(pf.sim.irqs()) == 1
    finally:
        os.close(fd)


def test_a_run_ends_for_its_own_function_alone(make: Make) -> None:
    pf, one, two = make()
    two.do(MSI, MSI_ADDR, data=1)
    start = pf.sim.cycle
    assert one.sim.run(2000, until_irq=True) == "budget" and pf.sim.cycle == start + 2000
    assert two.sim.run(2000, until_irq=True) == "irq" and pf.sim.cycle == start + 2000
    assert pf.sim.run(100, until_irq=True) == "budget"
    assert len(two.sim.irqs()) == 1 and two.sim.run(100, until_irq=True) == "budget"
    two.start(MSI, BASE + 0x80, data=7)
    assert one.sim.run(1000, until=(BASE + 0x80, 0xFF, 7)) == "budget", "this is the other's memory"
    assert two.sim.run(1000, until=(BASE + 0x80, 0xFF, 7)) == "watch"


def test_messages_of_a_function(make: Make) -> None:
    pf, one, two = make()
    for d in (one, two):
        d.sim.map(0x7000_0000, 4096, None)
        d.start(WRITE, 0x7000_0000, 64)
        assert d.sim.run(1000) == "dma"
        d.wait()
    assert pf.sim.run(100) == "budget"
    assert [len(m.data or b"") for m in one.sim.dma_pending()] == [64] and not pf.sim.dma_pending()
    two.sim.unmap(0x7000_0000)
    assert not two.sim.dma_pending()
    one.start(READ, 0x7000_0000, 64)
    assert two.sim.run(1000) == "budget"
    assert one.sim.run(1000) == pf.sim.run(1000, everybody=True) == "dma"
    (request,) = one.sim.dma_pending()
    one.sim.dma_complete(request.id, pattern(64))
    one.wait()
    one.do(WRITE, BASE, 64)
    one.sim.run(500)
    assert one.memory[:64] == pattern(64)


def test_order_is_kept_for_each_function(make: Make) -> None:
    """What comes behind a message that its function's caller has not fetched waits, and nothing of others."""
    pf, one, two = make()
    one.sim.map(0x7000_0000, 4096, None)
    one.do(WRITE, 0x7000_0000, 64)
    two.do(MSI, MSI_ADDR, data=2)
    two.do(WRITE, BASE, 64)
    pf.sim.run(500)
    assert len(two.sim.irqs()) == 1
    one.do(MSI, MSI_ADDR, data=1)
    for _ in range(3):
        assert two.sim.run(500, until_irq=True) == "budget"
        assert not one.sim.irqs(), "it would overtake the write"
    two.do(MSI, BASE, data=0x1234)
    pf.sim.run(500)
    assert two.memory[:2] == b"\x34\x12" and not one.sim.irqs()
    assert len(one.sim.dma_pending()) == 1
    pf.sim.run(500)
    assert len(one.sim.irqs()) == 1


def test_what_comes_behind_messages_that_are_not_delivered(make: Make) -> None:
    """The caller has fetched them, and says when their owner has them: until then all that comes behind is kept."""
    pf, one, two = make()
    one.sim.map(0x7000_0000, 4096, None)

    def begin() -> None:
        one.do(WRITE, 0x7000_0000, 64)
        pf.sim.run(500)
        assert len(one.sim.dma_pending()) == 1
        one.sim.dma_hold(True)
        one.do(MSI, BASE, data=0x1234)
        one.do(MSI, MSI_ADDR, data=1)
        one.do(WRITE, 0x7000_0000, 64)
        two.do(MSI, MSI_ADDR, data=2)
        pf.sim.run(500)
        assert len(two.sim.irqs()) == 1 and one.sim.dma_kept == 3
        assert not one.sim.irqs() and not any(one.memory[:2]) and not one.sim.dma_pending()

    begin()
    one.sim.dma_hold(False)
    pf.sim.run(500)
    assert one.memory[:2] == b"\x34\x12" and len(one.sim.irqs()) == len(one.sim.dma_pending()) == 1
    one.memory[:2] = bytes(2)
    begin()
    one.sim.unmap(0x7000_0000, 4096)
    one.sim.map(0x7000_0000, 4096, None)
    one.sim.dma_hold(False)
    pf.sim.run(500)
    assert one.memory[:2] == b"\x34\x12" and len(one.sim.irqs()) == 1
    assert not one.sim.dma_pending(), "what is there now is something else"
    one.memory[:2] = bytes(2)
    begin()
    one.sim.flr()
    one.sim.dma_hold(False)
    pf.sim.run(500)
    assert not one.sim.irqs() and not any(one.memory[:2]) and not one.sim.dma_pending() and not one.sim.dma_kept


def test_doorbell_pages(make: Make) -> None:
    devices = make()
    pages = [bytearray(4096) for _ in devices]
    for d, page in zip(devices, pages):
        d.sim.doorbell_page(page)
        assert page == b"\xff" * 4096
    for d, page in zip(devices, pages):
        page[8:12] = (d.fn + 0x50).to_bytes(4, "little")
        d.sim.run(500)
        assert page == b"\xff" * 4096
        assert d.sim.mmio_read(0x24) >> 24 == d.sender, "the doorbell came to this function"
        assert d.sim.mmio_read(0x28) == 0x1008 << 16 | d.fn + 0x50
    pages[1][0] = 0
    devices[1].sim.doorbell_reset()
    devices[2].sim.run(500)
    assert devices[0].sim.counters()["sim.doorbells"] == 3
    devices[1].sim.doorbell_page(None)
    pages[1][0] = 0
    devices[2].sim.run(500)
    assert devices[0].sim.counters()["sim.doorbells"] == 3


def test_a_page_full_of_doorbells_keeps_nobody_out(make: Make) -> None:
    """Whose host rings all its doorbells without a pause fills what the simulator takes at once."""
    _, loud, other = make()
    pages = [bytearray(4096) for _ in range(2)]
    for d, page in zip((loud, other), pages):
        d.sim.doorbell_page(page)
    for turn in range(20):
        pages[0][:] = b"\1\0\0\0" * 1024
        if turn == 10:
            pages[1][8:12] = b"\2\0\0\0"
        other.sim.run(200)
    assert pages[1] == b"\xff" * 4096


def test_a_function_that_is_not_enabled_takes_no_access(make: Make) -> None:
    pf, one, two = make(vfs=1)
    assert pf.sim.cfg()["enabled"] and one.sim.cfg()["enabled"] and not two.sim.cfg()["enabled"]
    before = pf.sim.counters()["up.CplD.tlps"]
    two.sim.mmio_write(4, 77)
    with pytest.raises(MmioError, match="unsupported request"):
        two.sim.mmio_read(4)
    assert pf.sim.counters()["up.CplD.tlps"] == before and pf.sim.mmio_read(4) == 0
    for call in (two.sim.flr_begin, lambda: two.sim.set_cfg(bus_master=True)):
        with pytest.raises(SimError, match="not enabled"):
            call()
    handles = [d.sim.mmio_read_start(4) for d in (pf, two, one, two, pf)]  # answers of two kinds, mixed
    pf.sim.run(2000)
    for handle, good in zip(handles, (True, False, True, False, True)):
        with contextlib.nullcontext() if good else pytest.raises(MmioError):
            pf.sim.mmio_read_poll(handle)


def test_vfs_come_and_go(make: Make) -> None:
    pf, one, two = make()
    two.sim.set_cfg(msix_enable=True)
    pf.sim.enable_vfs(1)
    with pytest.raises(MmioError):
        two.sim.mmio_read(0)
    assert one.sim.mmio_read(0) >> 16 & 15 == 0b1100
    pf.sim.enable_vfs(2)
    assert two.sim.mmio_read(0) >> 16 & 15 == 0b1000, "its settings are as after a reset"
    for bad in (3, -1):
        with pytest.raises(SimError, match="the device has 2"):
            pf.sim.enable_vfs(bad)
    with pytest.raises(ValueError, match="the device has 3"):
        pf.sim.function(3)
    pf.sim.reset()
    assert not one.sim.cfg()["enabled"], "a reset of the device takes them away"


def test_requests_of_a_function_without_bus_master_fail_the_run(make: Make) -> None:
    pf, one, two = make()
    two.sim.set_cfg(bus_master=False)
    pf.sim.run(500)
    one.do(WRITE, BASE, 64)
    two.do(WRITE, BASE, 256)
    two.do(READ, BASE, 64)
    assert pf.status() == UR and pf.sim.errors() == {"error.rq_bus_master": 2}
    assert not any(two.memory)
    pf.sim.enable_vfs(0)
    pf.sim.run(500)
    one.sim = pf.sim  # who asks for the request does not matter
    one.do(READ, BASE, 64)
    assert pf.sim.errors() == {"error.rq_bus_master": 3}
    pf.sim.close()


@pytest.mark.parametrize("number", [1, 3, 6, 255])
def test_requests_of_a_function_that_there_is_not_fail_the_run(make: Make, number: int) -> None:
    pf, *_ = make()
    pf.sender = number
    pf.do(WRITE, BASE, 64)
    pf.do(READ, BASE, 64)
    assert pf.status() == UR and pf.sim.errors() == {"error.rq_function": 2}
    assert not any(pf.memory)
    pf.sim.close()


def test_a_reset_of_a_function_leaves_the_others_alone(make: Make) -> None:
    pf, one, two = make()
    pf.memory[:32768] = pattern(32768)
    pf.start(READ, BASE, 32768, repeats=3)
    two.sim.set_cfg(msix_enable=True)
    pf.sim.run(200)
    for d in (one, two):
        d.sim.flr_begin()
    assert not one.sim.flr_done and not two.sim.flr_done
    one.sim.flr_begin()  # it is under way: nothing happens
    assert not two.sim.cfg()["bus_master"] and not two.sim.cfg()["msix_enable"] and pf.sim.cfg()["bus_master"]
    pf.sim.run(100)
    assert one.sim.flr_done and two.sim.flr_done and pf.sim.mmio_read(0x20) >> 31, "the PF is still at work"
    pf.wait()
    pf.do(WRITE, BASE + 65536, 32768)
    pf.sim.run(1000)
    assert pf.memory[65536 : 65536 + 32768] == pattern(32768) and not pf.status()[0]


def test_resets_of_one_function_keep_their_distance(make: Make) -> None:
    """So that the function sees the end of the first; others do not wait."""
    pf, one, two = make()
    one.sim.flr()
    end = pf.sim.cycle
    one.sim.flr_begin()
    two.sim.flr_begin()
    pf.sim.run(100)
    assert two.sim.flr_done and not one.sim.flr_done
    while not one.sim.flr_done:
        pf.sim.run(1)
    assert pf.sim.cycle >= end + 256
    one.sim.flr()
    assert pf.sim.cycle >= end + 512


def test_a_reset_of_the_pf_takes_the_vfs_away(make: Make) -> None:
    pf, one, _ = make()
    one.sim.flr_begin()
    pf.sim.flr()
    assert not one.sim.cfg()["enabled"] and one.sim.flr_done
    pf.sim.enable_vfs(2)
    assert not one.sim.cfg()["bus_master"]


def test_reset_gives_up_messages_of_that_function(make: Make) -> None:
    pf, one, two = make()
    for d in (one, two):
        d.sim.map(0x7000_0000, 4096, None)
    one.start(READ, 0x7000_0000, 64)
    assert one.sim.run(1000) == "dma"
    (request,) = one.sim.dma_pending()
    two.sim.flr()
    one.sim.dma_complete(request.id, pattern(64))
    one.wait()
    assert not pf.status()[0], "its read is none of the other's"
    one.start(READ, 0x7000_0000, 64)
    assert one.sim.run(1000) == "dma"
    one.sim.flr()
    pf.sim.run(1000)
    assert pf.status() == UR


@pytest.mark.parametrize("taken_away", [False, True], ids=["reset", "taken away"])
@pytest.mark.parametrize("op", [READ, WRITE])
def test_no_message_comes_behind_a_reset(make: Make, op: int, taken_away: bool) -> None:
    """Also of what was on its way then: its owner has been told that nothing touches its memory any more."""
    pf, one, _ = make(link="gen1x1", mrrs=256)  # requests wait for the wire
    one.sim.map(0x7000_0000, 4096, None)
    one.start(op, 0x7000_0000, 2048)
    while one.sim.run(1000) != "dma":
        pass
    assert one.sim.dma_pending()
    if taken_away:
        pf.sim.enable_vfs(0)
    else:
        one.sim.flr()
    pf.sim.run(5000)
    assert not one.sim.dma_pending()
    assert pf.status()[0] == (8 if op == READ else 0), "unsupported requests"


def test_faults_meet_reads_of_their_function(make: Make) -> None:
    pf, one, two = make()
    fault = one.sim.inject("ur", count=1)
    two.do(READ, LOW, 64)
    pf.do(READ, LOW, 64)
    assert not pf.sim.injected(fault) and not pf.status()[0]
    one.do(READ, LOW, 64)
    assert pf.sim.injected(fault) == 1 and pf.status() == UR


def test_what_is_the_devices_can_be_asked_of_any_function(make: Make) -> None:
    pf, one, _ = make()
    one.sim.run(100)
    assert one.sim.cycle == pf.sim.cycle and one.sim.ns == pf.sim.ns and one.sim.counters() == pf.sim.counters()
    one.sim.time_us = 1000
    assert pf.sim.time_us == 1000
    assert pf.sim.function(0) is pf.sim
    with pytest.raises(AttributeError):
        one.sim.nothing_of_that_name()  # type: ignore[attr-defined]
