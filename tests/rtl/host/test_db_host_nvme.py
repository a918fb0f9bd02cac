# SPDX-License-Identifier: Apache-2.0
"""db_host_nvme in db_host_control: what it does to a drive's registers and queues; each failure, its step and
reason."""

from __future__ import annotations

import os

import cocotb
import pytest
from host_ctl_bench import BAR, DOORBELL, SETTINGS, WINDOW, Bench, run
from host_drive_model import CREATE_CQ, CREATE_SQ, IDENTIFY, SET_FEATURES, Options
from rtl_bench import rare

NUM_QP = int(os.environ.get("NUM_QP", "1"))
ENTRIES = 256 // NUM_QP

GOOD = {
    "plain": Options(),
    "stride1": Options(dstrd=1, mqes=63, sgls=1),
    "stride2": Options(dstrd=2, mqes=99, mdts=3, flbas=1, formats=((9, 0), (12, 0)), sgls=0x1F0002),
    "stride3": Options(dstrd=3, mqes=1, mdts=0, start_enabled=True, vwc=0, oncs=0x80, sgls=0xFFFC),
    "slow": Options(to=6, on_ms=23.0, off_ms=20.0, start_enabled=True, mdts=1, sgls=3),
    "odd": Options(flbas=0x21, formats=((9, 8),) * 17 + ((12, 0),), nsze=1, mdts=255),
    "largest": Options(mqes=65535, to=255, nsze=(1 << 64) - 1, mdts=20, dstrd=13, bar_bytes=1 << 20),
    "more queues": Options(queues=(NUM_QP, NUM_QP + 9)),
}


@cocotb.test()
@cocotb.parametrize(name=list(GOOD))
async def bring_up(dut, name):
    o = GOOD[name]
    b = Bench(dut, o, seed=len(name))
    await b.start()
    await b.until(dut.io_up)
    d = b.drive
    assert int(dut.io_dead.value) == 0
    size = next(2**k for k in range(16, 0, -1) if 2**k <= min(ENTRIES, o.mqes + 1))
    shift = o.formats[(o.flbas & 15) | (o.flbas >> 5 & 3) << 4][0]
    largest = min(1 << 20, 4096 << o.mdts if 0 < o.mdts < 20 else 1 << 20)
    sgl = int(o.sgls & 3 in (1, 2))  # bits above say what else such an SGL may be; 3 is reserved
    assert d.cqs == d.sqs == {q + 1: size for q in range(NUM_QP)}
    queues = [e for e in d.log if e[0] == "queue"]
    assert queues == [
        ("queue", q + 1, WINDOW + base + 0x10000 * q) for q in range(NUM_QP) for base in (0x200000, 0x100000)
    ]
    assert (d.asq, d.acq, d.aqa, d.cc) == (WINDOW, WINDOW + 0x1000, 0x30003, 0x460001)
    assert d.resets == int(o.start_enabled)
    assert b.facts() == {
        "sq_size": size,
        "lba_shift": shift,
        "blocks": o.nsze,
        "max_blocks": largest >> shift,
        "vwc": o.vwc,
        "sgl": sgl,
        "oncs": o.oncs,
        "doorbell_stride": o.dstrd,
    }
    assert SETTINGS.unpack(int(dut.settings.value))["nsid"] == 1
    await b.ticks(60)
    assert d.cq_head == d.cq_tail, "the last completion was not taken off the queue"
    assert [await b.read(0x40), await b.read(0x44), await b.read(0x48)] == [
        o.nsze & 0xFFFFFFFF,
        o.nsze >> 32,
        largest >> shift,
    ]
    assert await b.read(0x4C) == shift | o.vwc << 4 | sgl << 5 | o.dstrd << 8 | 1 << 12 | o.oncs << 16
    assert await b.read(0x50) == size
    assert (await b.failure())[:2] == ("OFF", "NONE")
    # doorbells: of I/O queues, where the drive looks for them
    for cq in (0, 1):
        for q in range(1, NUM_QP + 1):
            dut.s_doorbell_valid.value = 1
            dut.s_doorbell.value = DOORBELL.pack(cq=cq, qid=q, value=(3 * q + cq) % size)
            await b.ticks(1)
            while not int(dut.s_doorbell_ready.value):
                await b.ticks(1)
            dut.s_doorbell_valid.value = 0
            await b.ticks(30)
            assert d.doorbells[q, cq] == (3 * q + cq) % size


BAD = {
    "CSS": (Options(css=0x40), "CAP_HI", "COMMAND_SET"),
    "page size": (Options(mpsmin=1), "CAP_HI", "PAGE_SIZE"),
    "never off": (Options(start_enabled=True, never_off=True), "WAIT_OFF", "NOT_READY"),
    "never on": (Options(never_on=True), "WAIT_ON", "NOT_READY"),
    "too slow": (Options(to=2, on_ms=14), "WAIT_ON", "NOT_READY"),
    "never on, the longest CAP.TO": (Options(to=255, never_on=True), "WAIT_ON", "NOT_READY"),
    "fatal": (Options(fatal_on_enable=True), "WAIT_ON", "FATAL"),
    "mute": (Options(mute=frozenset({IDENTIFY})), "ID_CTRL", "ADMIN_TIMEOUT"),
    "mute cq": (Options(mute=frozenset({CREATE_CQ})), "CREATE_CQ", "ADMIN_TIMEOUT"),
    "identify": (Options(status={IDENTIFY: 0x4002}), "ID_CTRL", "ADMIN_STATUS"),
    "namespace status": (Options(identify_ns_status=0x400B), "ID_NS", "ADMIN_STATUS"),
    "features": (Options(status={SET_FEATURES: 0x0006}), "QUEUES", "ADMIN_STATUS"),
    "cq": (Options(status={CREATE_CQ: 0x0101}), "CREATE_CQ", "ADMIN_STATUS"),
    "sq": (Options(status={CREATE_SQ: 0x0102}), "CREATE_SQ", "ADMIN_STATUS"),
    "no namespace": (Options(nsid=2), "NSZE_HI", "NO_NAMESPACE"),
    "empty namespace": (Options(nsze=0), "NSZE_HI", "NO_NAMESPACE"),
    "metadata": (Options(formats=((9, 8),)), "LBAF", "METADATA"),
    "8 KiB blocks": (Options(formats=((13, 0),)), "LBAF", "LBA_SIZE"),
    "a format that is not there": (Options(flbas=0x6F), "LBAF", "LBA_SIZE"),
    "blocks of 2^255": (Options(formats=((255, 0),)), "LBAF", "LBA_SIZE"),
    "256-byte blocks": (Options(formats=((8, 0),)), "LBAF", "LBA_SIZE"),
}
STATUS = {"identify": 0x4002, "namespace status": 0x400B, "features": 6, "cq": 0x101, "sq": 0x102}


@cocotb.test()
@cocotb.parametrize(name=list(BAD))
async def failures(dut, name):
    o, step, reason = BAD[name]
    b = Bench(dut, o, seed=len(name), stall=0.1)
    await b.start()
    await b.write(0x18, 40)  # ADMIN_MS
    await b.until(dut.io_dead)
    assert int(dut.io_up.value) == 0
    assert await b.failure() == (step, reason, STATUS.get(name, 0))
    assert b.facts()["lba_shift"] in range(9, 13) and b.facts()["max_blocks"] >= 1, "what commands are cut by"
    if reason == "NOT_READY":
        ms = (max(o.to, 0) + 1) * 4
        assert 2 * (ms - 5) * 32 < b.cycle < 2 * (ms + 8) * 32 + 4000, f"waited {b.cycle / 32} ms"
    # It was tried twice; whoever repairs the drive can start it again.
    assert await b.read(0x68) == 1
    b.drive.o = Options()
    b.drive.power_on(b.cycle / 32)
    await b.write(0x08, 1)
    await b.until(dut.io_up)
    assert int(dut.io_dead.value) == 0
    assert b.drive.bar == BAR


@cocotb.test()
@cocotb.parametrize(reads=[0, 1, 2, 5])
async def removed(dut, reads):
    """The drive is taken away during bring-up: from then on its registers are all ones. It is given up, and a new one
    is brought up when it is asked for."""
    b = Bench(dut, Options())
    drive, plain, left = b.drive, b.drive.mem_read, [reads]

    def mem_read(addr):
        drive.gone = left[0] == 0
        left[0] -= not drive.gone
        return plain(addr)

    drive.mem_read = mem_read
    await b.start()
    await b.until(dut.io_dead)
    step, reason, _ = await b.failure()
    assert reason == "REMOVED" and step == {0: "CAP_LO", 1: "CAP_HI", 2: "WAIT_OFF", 5: "WAIT_ON"}[reads]
    del drive.mem_read
    drive.gone = False
    drive.power_on(b.cycle / 32)
    await b.write(0x08, 1)
    await b.until(dut.io_up)


@cocotb.test(skip=NUM_QP == 1)
@cocotb.parametrize(kind=[0, 1])
async def few_queues(dut, kind):
    """Fewer queues than asked for, of one kind or the other."""
    b = Bench(dut, Options(queues=(NUM_QP - 1, 64) if kind else (64, NUM_QP - 1)))
    await b.start()
    await b.until(dut.io_dead)
    assert await b.failure() == ("QUEUES", "FEW_QUEUES", 0)


@cocotb.test()
async def second_namespace(dut):
    b = Bench(dut, Options(nsid=7, nsze=1234))
    await b.start(link=False)
    await b.write(0x14, 7)
    dut.link_up.value = 1
    await b.until(dut.io_up)
    assert b.facts()["blocks"] == 1234 and SETTINGS.unpack(int(dut.settings.value))["nsid"] == 7


@cocotb.test()
async def stale_completion(dut):
    """A completion of another command comes first: it is taken off the queue and the right one waited for."""
    b = Bench(dut, Options())
    b.drive.extra_cqe = True
    await b.start()
    await b.until(dut.io_up)
    await b.ticks(60)
    assert b.drive.cq_head == b.drive.cq_tail


@pytest.mark.parametrize("width,qp", [(128, 2), rare(256, 4), rare(512, 1)])
def test_db_host_nvme(width: int, qp: int) -> None:
    run(__file__, width, NUM_QP=qp)
