# SPDX-License-Identifier: Apache-2.0
"""Data through the whole db_host: random commands of all kinds against a model of the disk, byte by byte."""

from __future__ import annotations

import pytest
from doorbell.device.blocks import BlockCommand
from doorbell.device.drives import Latency, ModelDrive
from host_helpers import CONFIG, EACH, FAST, FORMAT, MAX_BLOCKS, Host

BRING_UP_COMMANDS = 5  # Identify twice, Set Features, a completion and a submission queue

# config, bytes of a block, MDTS, MQES, DSTRD, stalls of the hard block and of the user in percent, MPS
SHAPES = [
    ("narrow", 512, 5, 1024, 0, 0, 0, 256),
    ("narrow", 4096, 1, 31, 1, 30, 30, 128),
    ("narrow", 512, 0, 8, 3, 10, 60, 512),
    pytest.param("small", 512, 1, 7, 2, 30, 30, 256, marks=pytest.mark.nightly),
    pytest.param("small", 4096, 0, 64, 0, 0, 50, 128, marks=pytest.mark.nightly),
    pytest.param("small", 512, 5, 3, 1, 60, 0, 512, marks=pytest.mark.nightly),
    ("wide", 512, 1, 31, 1, 30, 30, 256),
    ("wide", 4096, 5, 8, 3, 0, 0, 512),
    ("wide", 512, 0, 1024, 0, 20, 20, 128),
]  # fmt: skip


@pytest.mark.parametrize(("config", "lba", "mdts", "mqes", "dstrd", "stall", "user", "mps"), SHAPES)
def test_random(config: str, lba: int, mdts: int, mqes: int, dstrd: int, stall: int, user: int, mps: int) -> None:
    drive = ModelDrive(**{**FAST, "lba_bytes": lba, "mdts": mdts, "mqes": mqes, "dstrd": dstrd, "mps_cap": mps,
                          "bar_bytes": 0x10000, "list_bytes": 64 if mdts else 0, "link_latency_ns": 100})  # fmt: skip
    host = Host(config, drive, seed=lba + mqes + stall, stall_pct=stall, user_stall_pct=user).up()
    most = host.sim.axil_read(MAX_BLOCKS) * lba
    assert most <= (4096 << mdts if mdts else 1 << 20)
    for _ in range(5):
        host.give(host.random(100, longest=(160 << 10) // lba))
        host.check(2_000_000)
    host.give(host.random(20, "read"))
    host.check(2_000_000)
    host.close()


@pytest.mark.parametrize("config", EACH)
@pytest.mark.parametrize("prp_only", [False, True])
def test_data_blocks(config: str, prp_only: bool) -> None:
    """A drive that takes SGLs reads no list, even where data goes over a ring's end; with PRPs it reads lists again."""
    host = Host(config, ModelDrive(**FAST, sgls=True), seed=7, stall_pct=20).up()
    assert host.sim.axil_read(FORMAT) >> 5 & 1
    host.sim.axil_write(CONFIG, host.sim.axil_read(CONFIG) | 2 * prp_only)
    most = host.sim.axil_read(MAX_BLOCKS)
    for op in ("write", "read"):
        host.give([(op, n * (most - 1), most - 1) for n in range(24)])  # over each ring's end
        host.check(2_000_000)
    host.give(host.random(150, longest=320))
    host.check(2_000_000)
    assert (host.sim.counters()["drive.list_reads"] > 0) == (prp_only and most > 8)
    host.close()


@pytest.mark.parametrize("config", EACH)
def test_three_times_mdts_at_depth(config: str) -> None:
    """Only long commands, more of them than fit anywhere, written and read back."""
    host = Host(config, ModelDrive(**{**FAST, "mdts": 2})).up()
    long = 3 * host.sim.axil_read(MAX_BLOCKS)
    host.give([("write", n * long + n, long) for n in range(24)])
    host.check()
    host.give([("read", n * long + n, long) for n in range(24)])
    host.check()
    host.close()


@pytest.mark.parametrize("config", EACH)
def test_all_slots_in_flight(config: str) -> None:
    """As many commands in the drive as there are slots, of writes and of reads; all come out in order."""
    host = Host(config, ModelDrive(**{**FAST, "read": Latency(80_000), "write": Latency(80_000)})).up()
    slots = host.sim.axil_read(4) & 0xFFFF
    for op in ("write", "read"):
        host.give([(op, 3 * n, 1) for n in range(2 * slots)])
        host.check()
        assert host.sim.counters()["drive.max_inflight"] == slots
    host.close()


def test_bad_commands_keep_their_place() -> None:
    """No blocks, an operation that is none, and blocks beyond the end: an answer each, in order; no data for them."""
    host = Host("narrow").up()
    end = host.sim.signal("blocks")
    host.give([("read", 0, 5), ("verify", 9, 0), ("read", 100, 3), ("zeroes", end - 1, 2), ("trim", end - 3, 4),
               ("read", end - 1, 1), ("trim", 77, 0), ("write", 50, 4), ("flush", 0, 0)])  # fmt: skip
    told, host.told = host.told, type(host.told)()
    got = host.sim.wait_status(len(told.commands))
    assert [s.tag for s in got] == [c.tag for c in told.commands]
    assert [s.status & 0x7FF for s in got] == [0, 0x02, 0, 0x80, 0x80, 0, 0x02, 0, 0]
    host.sim.run(2000)
    assert [e.size for e in host.sim.data_ends()] == [5 * 512, 3 * 512, 512]
    host.disk[50 * 512 : 54 * 512] = told.written
    assert host.sim.media_view() == host.disk
    host.close()


def test_data_before_and_after_its_command() -> None:
    """Data may be there long before its command; a command waits for all of its data, and those behind it wait too."""
    host = Host("narrow", stall_pct=20).up()
    first, second = host.rng.randbytes(4096), host.rng.randbytes(8192)
    host.sim.write_data(first + second[:4096])
    host.sim.run(3000)
    host.told.commands += [
        BlockCommand("write", 10, 8, 1),
        BlockCommand("write", 40, 16, 2),
        BlockCommand("read", 200, 8, 3),
    ]
    host.told.written += first + second
    host.sim.submit(host.told.commands)
    host.sim.run(20_000)
    assert host.sim.counters()["drive.sqes"] == host.sim.counters()["drive.cqes"] == BRING_UP_COMMANDS + 1
    host.sim.write_data(second[4096:])
    host.check()
    host.close()
