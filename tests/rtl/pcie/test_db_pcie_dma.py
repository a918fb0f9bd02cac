# SPDX-License-Identifier: Apache-2.0
"""db_pcie_dma as a whole: five read clients, data writer and poster at once, and the way to rest that a reset needs.

The parts have benches of their own; here counts that none disturbs another, and stop, quiet and idle.
"""

from __future__ import annotations

from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from pcie_dma_bench import CLIENTS, CONFIG, USER_W, WR_USER_W, Bench, client_configs


@cocotb.test()
async def all_at_once(dut: Any) -> None:
    b = Bench(dut, 1)
    await b.start()
    for _ in range(2500):
        await b.step()
    await b.drain()
    assert all(c.done > 1 for c in b.clients) and min(b.sent.values()) > 20, (b.sent, [c.done for c in b.clients])


@cocotb.test()
async def with_errors(dut: Any) -> None:
    """A failed read of one client is nobody else's; no tag and no ring is lost."""
    b = Bench(dut, 2, error_rate=0.1)
    await b.start()
    for _ in range(2000):
        await b.step()
    await b.drain()


@cocotb.test()
async def link_is_full(dut: Any) -> None:
    """With everybody busy RQ has a beat in nearly every cycle."""
    b = Bench(dut, 3)
    b.rq_stall = 0.0
    await b.start()
    for _ in range(1500):
        await b.step()
    beats = sum(1 for c in b.rq_cycles if c >= 500)
    # straddled, reads pair up two a beat and still come one a cycle
    assert beats > (850 if b.width == 512 else 950), beats
    await b.drain()


async def come_to_rest(b: Bench) -> None:
    """Raises stop, waits for quiet, and checks what it promises while all sources go on pressing."""
    d = b.dut
    assert d.quiet.value == 0
    b.stop = True
    before = b.sent["read"]
    for _ in range(3000):
        await b.step()
        if d.quiet.value == 1:
            break
    else:
        raise AssertionError("never quiet")
    inside = 6 if b.width == 512 else 3  # that stand in the multiplexers and the packer
    assert b.sent["read"] - before <= inside, "requests after stop, beyond those that stood inside"
    assert not b.model.pending and not b.model.beats, "quiet with reads outstanding"
    assert b.rq_at_rest(), "quiet inside a packet"
    assert 1 not in b.unreported, "quiet, and a completion may pass what was written"
    sent = dict(b.sent)
    for _ in range(100):
        await b.step()
        assert d.quiet.value == 1 and d.m_rq_valid.value == 0
    assert b.sent == sent


@cocotb.test()
async def stop_and_go_on(dut: Any) -> None:
    b = Bench(dut, 4)
    await b.start()
    for _ in range(8):
        b.rq_stall = b.rng.choice([0.0, 0.3, 0.8])
        b.reports = b.rng.choice([0.02, 0.3, 1.0])
        for _ in range(b.rng.randrange(20, 250)):
            await b.step()
        await come_to_rest(b)
        b.stop = False
        for _ in range(3):
            await b.step()
        assert dut.quiet.value == 0
    await b.drain()


@cocotb.test()
async def writes_stand_still(dut: Any) -> None:
    """The hard block has taken writes and cannot send them: quiet waits, whatever it says of reads."""
    b = Bench(dut, 6)
    await b.start()
    for _ in range(100):
        await b.step()
    b.reports = 0.0
    for _ in range(30):
        await b.step()
    b.stop = True
    for _ in range(1500):
        await b.step()
        while 0 in b.unreported:  # reads leave
            b.unreported.remove(0)
        assert dut.quiet.value == 0
    assert b.unreported and not b.model.pending and b.rq_at_rest()
    dut.hold.value = 1  # not a bus master: what is inside is thrown away, and nobody says so
    for _ in range(5):
        await b.step()
    assert dut.quiet.value == 1
    dut.hold.value = 0
    b.reports = 1.0  # or it is reported after all: that counts for nothing else
    for _ in range(100):
        await b.step()
    assert dut.quiet.value == 1 and not b.unreported
    b.stop, b.reports = False, 0.3
    await b.drain()


@cocotb.test()
async def stop_and_reset(dut: Any) -> None:
    """After quiet a reset loses what was inside, and nothing of it ever shows up again."""
    b = Bench(dut, 5)
    await b.start()
    for _ in range(5):
        for _ in range(b.rng.randrange(50, 300)):
            await b.step()
        await come_to_rest(b)
        await b.reset()
    for _ in range(500):
        await b.step()
    await b.drain()
    await come_to_rest(b)  # also from idle


@pytest.mark.parametrize("width", bench.WIDTHS[::2])
def test_db_pcie_dma(width: int) -> None:
    bench.run(
        __file__,
        "db_pcie_dma",
        {
            "DATA_W": width,
            "NUM_CLIENTS": CLIENTS,
            "READ_USER_W": USER_W,
            "WRITE_USER_W": WR_USER_W,
            "CLIENTS": f"{CLIENTS * CONFIG.width}'h{client_configs():x}",
        },
        env={"WIDTH": str(width)},
    )
