# SPDX-License-Identifier: Apache-2.0
"""Admin commands of the user, from the port and from the registers, and raw register accesses, while I/O runs."""

from __future__ import annotations

import struct

import pytest
from doorbell.device.blocks import BlockCommand
from doorbell.device.drives import ModelDrive
from doorbell.device.host_sim import HostSim
from doorbell.device.messages import SimError
from host_helpers import EACH, FAST, MS, NUM_RESETS, Host

ADMIN, DW0, BUFFER, ENTRY = 0x80, 0x84, 0x4000, 0x5000
GET_LOG, IDENTIFY, SET_FEATURES, GET_FEATURES = 0x02, 0x06, 0x09, 0x0A
ADMIN_BUF = 0x2000


def entry(sim: HostSim, opcode: int, nsid: int = 0, dw10: int = 0, dw11: int = 0) -> bytes:
    """An admin command with its data in the admin buffer; its identifier is for the hardware to choose."""
    return struct.pack("<II8xQQQ6I", opcode | 0xABCD << 16, nsid, 0, sim.window + ADMIN_BUF, 0, dw10, dw11, 0, 0, 0, 0)


def buffer(sim: HostSim, size: int) -> bytes:
    return b"".join(sim.axil_read(BUFFER + at).to_bytes(4, "little") for at in range(0, size, 4))


def by_registers(sim: HostSim, command: bytes, cycles: int = 50_000) -> tuple[int, bool, int]:
    """Status, lost, dword 0."""
    for n, word in enumerate(struct.unpack("<16I", command)):
        sim.axil_write(ENTRY + 4 * n, word)
    sim.axil_write(ADMIN, 1)
    end = sim.cycle + cycles
    while (got := sim.axil_read(ADMIN)) & 2:
        assert sim.cycle < end, "no answer"
        sim.run(50)
    return got >> 16, bool(got & 4), sim.axil_read(DW0)


@pytest.mark.parametrize("config", EACH)
def test_while_io_runs(config: str) -> None:
    """SMART log, Identify, Features, by both ways, again and again between and during reads and writes."""
    host = Host(config, ModelDrive(**FAST), stall_pct=20).up()
    sim = host.sim
    reads = writes = 0
    for n in range(4):
        before = sim.counters()["drive.sqes"]
        host.give(host.random(40, "read write"))
        sim.run(300 * n)
        cqe = sim.admin(entry(sim, IDENTIFY, dw10=1))
        assert struct.unpack_from("<H", cqe, 14)[0] >> 1 == 0
        assert buffer(sim, 64)[24:44] == b"Doorbell model drive"
        assert by_registers(sim, entry(sim, GET_FEATURES, dw10=7))[:2] == (0, False)
        assert sim.axil_read(DW0) == 15 << 16 | 15
        status = struct.unpack_from("<H", sim.admin(entry(sim, SET_FEATURES, dw10=0x7F)), 14)[0] >> 1
        assert status & 0x7FF == 0x02, "an error is handed on as it is"
        assert by_registers(sim, entry(sim, 0x7F))[0] & 0x7FF == 0x01
        assert by_registers(sim, entry(sim, IDENTIFY, nsid=1))[0] == 0
        assert struct.unpack_from("<Q", buffer(sim, 8))[0] == sim.signal("blocks")
        commands = host.told.commands
        host.check()
        parts = sim.counters()["drive.sqes"] - before - 5
        assert parts >= len(commands)
        reads += sum(-(-c.blocks // sim.axil_read(0x48)) for c in commands if c.op == "read")
        writes += sum(-(-c.blocks // sim.axil_read(0x48)) for c in commands if c.op == "write")
        assert by_registers(sim, entry(sim, GET_LOG, nsid=0xFFFFFFFF, dw10=2 | 127 << 16))[0] == 0
        log = buffer(sim, 512)
        assert struct.unpack_from("<Q", log, 64)[0] == reads and struct.unpack_from("<Q", log, 80)[0] == writes
    assert sim.axil_read(NUM_RESETS) == 0
    host.close()


def test_both_at_once() -> None:
    """The port's command and the registers' one: both are answered, each with its own answer."""
    host = Host("narrow", stall_pct=10).up()
    sim = host.sim
    for wait in (0, 1, 5, 17, 40, 90, 200):
        for n, word in enumerate(struct.unpack("<16I", entry(sim, GET_FEATURES, dw10=7))):
            sim.axil_write(ENTRY + 4 * n, word)
        sim.admin_begin(entry(sim, 0x7E))
        sim.run(wait)
        sim.axil_write(ADMIN, 1)
        sim.run(10_000)
        got = sim.axil_read(ADMIN)
        assert got & 6 == 0 and got >> 16 == 0 and sim.axil_read(DW0) == 15 << 16 | 15
        answer = sim.admin_end()
        assert answer and not answer[1] and struct.unpack_from("<H", answer[0], 14)[0] >> 1 & 0x7FF == 0x01
    host.close()


def test_buffer_window() -> None:
    """The admin buffer is memory for the registers, dword by dword, also while the drive writes there."""
    host = Host("narrow").up()
    sim = host.sim
    words = {at: host.rng.getrandbits(32) for at in (0, 4, 8, 12, 100, 2048, 4092)}
    for at, word in words.items():
        sim.axil_write(BUFFER + at, word)
    assert {at: sim.axil_read(BUFFER + at) for at in words} == words
    assert sim.axil_read(ENTRY) == 0, "write only"
    sim.admin(entry(sim, GET_LOG, nsid=0xFFFFFFFF, dw10=3 | 127 << 16))
    assert sim.axil_read(BUFFER + 2048) == words[2048], "the log has 512 bytes"
    assert sim.axil_read(BUFFER + 100) == 0
    host.close()


def test_raw_registers() -> None:
    """Any register of the drive, while I/O runs; one that is not there is refused."""
    host = Host("narrow", ModelDrive(**{**FAST, "mqes": 300, "dstrd": 1}), stall_pct=20).up()
    sim = host.sim
    host.give(host.random(60))
    assert sim.reg(0x00)[0] & 0xFFFF == 299 and sim.reg(0x04) == (1 << 5 | 1, 0)
    assert sim.reg(0x08) == (0x20000, 0)
    assert sim.reg(0x0C, 0x55)[1] == 0 and sim.reg(0x0C) == (0x55, 0)
    assert sim.reg(0x10, 0x11)[1] == 0 and sim.reg(0x0C) == (0x44, 0)
    assert sim.reg(0x20_0000)[1] == 1
    host.check()
    sim.link(False)
    sim.run(100)
    assert sim.reg(0x08)[1] == 1
    host.close()


def test_not_up() -> None:
    """While there is no drive an admin command is answered at once as lost, from both sides, and again later works."""
    host = Host("narrow", ModelDrive(**{**FAST, "link_up": False}))
    sim = host.sim
    for _ in range(2):
        with pytest.raises(SimError, match="timed out"):
            sim.admin(entry(sim, IDENTIFY, dw10=1), 2000)
        assert by_registers(sim, entry(sim, IDENTIFY, dw10=1), 2000)[1]
    sim.link(True)
    host.up()
    assert by_registers(sim, entry(sim, IDENTIFY, dw10=1))[:2] == (0, False)
    sim.admin(entry(sim, IDENTIFY, dw10=1))
    host.give(host.random(10))
    host.check()
    host.close()


def test_reset_takes_admin_command() -> None:
    """A controller reset while the user's admin commands are under way: each is answered as lost, none hangs."""
    host = Host("narrow", ModelDrive(**FAST), stall_pct=10).up()
    sim = host.sim
    sim.fault("lost", opcode=GET_LOG, admin=True)
    sim.submit([BlockCommand("write", 0, 1, 5)])
    for n, word in enumerate(struct.unpack("<16I", entry(sim, GET_LOG, dw10=2 | 127 << 16))):
        sim.axil_write(ENTRY + 4 * n, word)
    sim.axil_write(ADMIN, 1)
    sim.admin_begin(entry(sim, IDENTIFY, dw10=1))
    sim.run(20 * MS)
    assert sim.axil_read(ADMIN) & 2
    sim.axil_write(0x08, 2)
    sim.run(4 * MS)
    assert sim.axil_read(ADMIN) & 6 == 4
    sim.write_data(bytes(512))
    assert [s.status for s in sim.wait_status(1, 60_000)] == [0]
    host.disk[:512] = bytes(512)
    sim.run(20_000)
    assert sim.admin_end(), "the port's command, which waited behind it"
    host.give(host.random(20))
    host.check()
    host.close()
