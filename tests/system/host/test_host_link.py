# SPDX-License-Identifier: Apache-2.0
"""Link to link: db_host drives our own db_ssd, both Verilated, cycle by cycle."""

from __future__ import annotations

import pytest
from doorbell import build
from doorbell.device.drives import SsdDrive, ssd_drive
from host_helpers import CONTROL, NUM_RESETS, PATH_ERROR, Host
from test_host_admin import buffer, by_registers, entry

MEDIA = 8 << 20
UP = 3_000_000  # cycles of a bring-up: the drive's firmware starts


def drive(**options: object) -> SsdDrive:
    return ssd_drive(build.simulator("db_ssd", {"DATA_W": 256}), media_size=MEDIA, **options)


@pytest.mark.parametrize(("config", "options"), [
    ("narrow", {"link": "gen3x4"}), pytest.param("wide", {"link": "gen3x8"}, marks=pytest.mark.nightly),
])  # fmt: skip
def test_data(config: str, options: dict[str, object]) -> None:
    """Bring-up, all operations at random, admin commands meanwhile; the drive's media against the model."""
    host = Host(config, drive(link_latency_ns=100, **options), stall_pct=10, user_stall_pct=10).up(UP)
    assert host.sim.signal("blocks") == MEDIA // host.lba_bytes
    ops = "read write flush trim zeroes" + " verify" * bool(host.sim.axil_read(0x4C) >> 16 & 0x80)
    for _ in range(3):
        host.give(host.random(60, ops, 64))
        assert by_registers(host.sim, entry(host.sim, 0x06, dw10=1), 400_000)[0] == 0
        assert any(buffer(host.sim, 64))
        host.check()
    host.give(host.random(60, "read", 64))
    host.check()
    host.close()


def test_controller_reset() -> None:
    """A controller reset in the middle of reads and writes: all of them are done again."""
    host = Host("narrow", drive()).up(UP)
    for cycles in (500, 2500):
        host.give(host.random(60, "read write", 48))
        host.sim.run(cycles)
        host.sim.axil_write(CONTROL, 2)
        host.check(UP)
    assert host.sim.axil_read(NUM_RESETS) == 2
    host.close()


def test_link_drop() -> None:
    """The link goes in the middle of it and comes back: what was under way ends with an error, then all is well."""
    host = Host("narrow", drive()).up(UP)
    for cycles in (300, 2000, 6000):
        host.give(host.random(60, "read write", 48))
        host.sim.run(cycles)
        host.sim.link(False)
        assert {s.status for s in host.check(100_000, anything=True)} <= {0, PATH_ERROR}
        host.sim.link(True)
        host.sim.run_until(lambda: host.sim.up, UP)
        host.give(host.random(60, "read write", 48))
        host.check()
    host.close()
