# SPDX-License-Identifier: Apache-2.0
"""db_vcsd with several functions: each has a namespace, and commands of all sizes of all of them at once give each
its own data, with PRPs and with SGLs."""

from __future__ import annotations

import random
import struct

import pytest
from cards import PARAMS, card_of
from doorbell.bench.drive import CARD_FN
from doorbell.bench.functions import Functions, bring_up
from doorbell.bench.jobs import Job
from doorbell.device.opening import check_clean, open_sim
from doorbell.nvme.constants import CSTS_CFS, NvmOpc, Reg
from doorbell.nvme.errors import DeviceTimeout

pytestmark = [pytest.mark.rtl, pytest.mark.nightly]  # a simulator of their own
DSM_AD = 1 << 2
SIZES = (1, 8, 9, 16, 64, 256)  # blocks: within a page, over pages, a chunk


@pytest.mark.parametrize("functions", [2, CARD_FN])
def test_each_function_has_its_own_data(functions: int) -> None:
    params = PARAMS | {"NUM_NS": functions, "SGL": 1}
    sim = open_sim("rtl", top="db_vcsd", data_w=128, num_fn=functions, params=params, media_size=32 << 20)
    members = bring_up(sim, Functions(functions, True), [[Job(bs=4096, iodepth=32, numjobs=1)]])
    rng = random.Random(3)
    for turn in range(4):
        wrote = []
        for n, member in enumerate(members):
            drive = member.drive
            drive.sgl = (n + turn) % 2 == 1
            at = 0
            for blocks in rng.sample(SIZES, len(SIZES)):
                buffer = drive.buffer(blocks * 512, scattered=turn > 1, offset=4 * rng.randrange(1024))
                data = rng.randbytes(blocks * 512)
                buffer.write(data)
                drive.submit(1, NvmOpc.WRITE, at, blocks - 1, buffer)
                wrote.append((drive, at, data))
                at += blocks
            drive.ring()
        for member in members:
            member.drive.wait()
        for drive, at, data in wrote:
            assert drive.read(at, len(data) // 512) == data
    # Dataset Management of all counts of ranges: with more than four it goes in pieces.
    for member in members:
        drive = member.drive
        drive.sgl = False
        for ranges in (1, 4, 5, 8, 13, 16):
            drive.write(0, b"\xa5" * 512 * 16 * 40)
            buffer = drive.buffer(16 * ranges)
            buffer.write(b"".join(struct.pack("<IIQ", 0, 37, 40 * i + 1) for i in range(ranges)))
            command = drive.submit(1, NvmOpc.DSM, buffer=buffer, nbytes=16 * ranges, cdw10=ranges - 1, cdw11=DSM_AD)
            drive.wait([command])
            command.check()
            gone = {40 * i + 1 + n for i in range(ranges) for n in range(37)}
            want = b"".join(bytes(512) if n in gone else b"\xa5" * 512 for n in range(16 * 40))
            assert drive.read(0, 16 * 40) == want, ranges
            buffer.free()
    check_clean(sim)
    sim.close()


def test_many_lists_at_once() -> None:
    """Each command is up to four pieces: more of them than the write engine has room for commands."""
    params = PARAMS | {"NUM_NS": 2, "NUM_CMDS": 16}
    sim = open_sim("rtl", top="db_vcsd", data_w=128, num_fn=2, params=params, media_size=32 << 20)
    members = bring_up(sim, Functions(2, True), [[Job(bs=4096, iodepth=32, numjobs=1)]])
    commands = []
    for member in members:
        drive = member.drive
        drive.write(0, b"\xa5" * 512 * 16)
        for ranges in (16, 1, 13, 2, 16, 5, 9, 16):
            buffer = drive.buffer(16 * ranges)
            buffer.write(b"".join(struct.pack("<IIQ", 0, 1, i) for i in range(ranges)))
            fields = {"cdw10": ranges - 1, "cdw11": DSM_AD}
            commands.append((drive, drive.submit(1, NvmOpc.DSM, buffer=buffer, nbytes=16 * ranges, **fields)))
    for member in members:
        member.drive.ring()
    for drive, command in commands:
        drive.wait([command])
        command.check()
    for member in members:
        assert member.drive.read(0, 16) == bytes(512 * 16)
    check_clean(sim)
    sim.close()


def test_a_shutdown_beside_an_ssd_of_others_that_fails() -> None:
    """The PF has its namespace on SSD 0, the VF on SSD 1: a flush that fails there is no failure of the other's
    shutdown, and all SSDs are flushed all the same."""
    sim = open_sim("rtl", top="db_vcsd", data_w=128, num_fn=2, params=PARAMS | {"NUM_NS": 2}, media_size=32 << 20)
    pf, vf = (m.drive for m in bring_up(sim, Functions(2, True), [[Job(bs=4096, iodepth=32, numjobs=1)]]))
    ssds = card_of(sim).ssds
    fault = ssds.fault("status", port=0, opcode=NvmOpc.FLUSH, status=0x280, count=None)
    for drive in (pf, vf):
        drive.write(0, b"\x5a" * 4096)
    before = ssds.fault_hits(fault, port=0)
    vf.shutdown()
    assert not vf.read32(Reg.CSTS) & CSTS_CFS and ssds.fault_hits(fault, port=0) > before
    with pytest.raises(DeviceTimeout, match="waiting for shutdown"):
        pf.shutdown()
    assert pf.read32(Reg.CSTS) & CSTS_CFS
    sim.close()
