# SPDX-License-Identifier: Apache-2.0
"""What a drive does that wants to do harm: requests outside of its window are refused or dropped, and cost nobody else.

Entries that nobody waits for are in test_db_host_cqe, test_db_host_slots and test_host_faults, what a drive says of
itself in test_db_host_nvme.
"""

from __future__ import annotations

import random

import pytest
from doorbell.device.drives import ExternalDrive, ModelDrive
from doorbell.device.host_sim import HostSim
from doorbell.device.messages import SimError
from host_helpers import FAST, Host, library

WINDOW = 64 << 20
BUFFER, FORWARD = 0x2000, 6 << 23  # in the window: plain memory of the drive; what comes out on m_fwd


@pytest.mark.parametrize("config", ["narrow", "wide"])
def test_outside_of_the_window(config: str) -> None:
    """Reads get Unsupported Request, as PG213 wants it on CC, and writes go nowhere; what lies between is as it was."""
    rng = random.Random(7)
    with HostSim(library(config), [ExternalDrive()], seed=3, stall_pct=20) as sim:
        sim.run(100)
        window = sim.window
        outside = [0, 0x1000, window - 4096, window - 4, window + WINDOW, window + WINDOW + (1 << 30), window ^ 1 << 63,
                   (1 << 64) - 4096]  # fmt: skip
        memory = bytearray(256)
        sim.host_write(window + BUFFER, bytes(memory))
        refused = 0
        for number in range(60):
            at = rng.choice(outside)
            size = rng.choice((1, 4, 64, 512)) if at != window - 4 else 4
            for _ in range(rng.randrange(3)):
                sim.host_write(at, rng.randbytes(size))
            bad = sim.host_read(at, size)
            place = 4 * rng.randrange(64)
            memory[place : place + 4] = rng.randbytes(4)
            sim.host_write(window + BUFFER + place, bytes(memory[place : place + 4]))
            sim.host_write(window + FORWARD, number.to_bytes(4, "little"))
            good = sim.host_read(window + BUFFER, 256)
            sim.run(3000)
            with pytest.raises(SimError, match="refused"):
                sim.host_read_poll(bad, size)
            refused += 1
            assert sim.host_read_poll(good, 256) == memory
        assert sim.counters()["hard.cc_refused"] == refused
        assert [int.from_bytes(f.data[:4], "little") for f in sim.forwarded()] == list(range(60))
        assert not sim.errors()


def test_a_refused_write_takes_its_data_along() -> None:
    """A Write beyond the end ends with LBA Out of Range, one of no blocks with Invalid Field; the next one has its own
    data.
    """
    h = Host("narrow", ModelDrive(**FAST), stall_pct=10).up()
    end = h.sim.signal("blocks")
    for _ in range(5):
        h.give([("write", 100, 9), ("write", end - 4, 9), ("write", 5, 0), ("write", 2**63, 40), ("write", 200, 17)])
        got = h.sim.wait_status(5, 100_000)
        assert [s.status & 0xFFF for s in got] == [0, 0x80, 2, 0x80, 0], [hex(s.status) for s in got]
        told, h.told = h.told, type(h.told)()
        data, at = bytes(told.written), 0
        for lba, blocks in ((100, 9), (end - 4, 9), (2**63, 40), (200, 17)):
            if lba in (100, 200):
                h.disk[512 * lba : 512 * (lba + blocks)] = data[at : at + 512 * blocks]
            at += 512 * blocks
        h.sim.run(1000)
        assert h.sim.media_view() == h.disk
    h.close()
