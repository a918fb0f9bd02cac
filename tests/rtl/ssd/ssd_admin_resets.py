# SPDX-License-Identifier: Apache-2.0
"""Tests of db_ssd_admin, which test_db_ssd_admin.py runs: resets, shutdown, a dead processor, keys."""

from __future__ import annotations

import random
import struct

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge
from ssd_admin_bench import BAD_FIELD, INTERNAL, LONG, Bench, get_log, started, table, u


@cocotb.test()
async def resets_and_shutdown(dut):
    b = Bench(dut, 9)
    await b.start()
    # bad settings are a fatal status, until the host takes CC.EN back
    for cc, sq, cq in ((0x460081, 31, 31), (0x461001, 31, 31), (0x460011, 31, 31), (0x460071, 31, 31),
                       (0x460001, 0, 31), (0x460001, 31, 0)):  # fmt: skip
        await b.enable(cc=cc, sq=sq, cq=cq, ready=False)
        await b.until(lambda: b.csts.cfs == 1, what="CFS")
        assert b.csts.rdy == 0 and b.control.run == 0
        await b.write_cc(0)
        await b.until(lambda: b.csts.cfs == 0, what="CFS = 0")
    await b.enable(cc=0x460861)  # weighted round robin, I/O command sets
    assert b.arb_cfg.wrr == 1
    # disable waits for the data path to come to rest
    b.queues.clear()
    await b.run(5, prp1=0x1000, dw10=63 << 16 | 1, dw11=1)
    dut.quiet.value = dut.host_quiet.value = 0
    before = b.resets["ctrl"]
    await b.write_cc(0)
    await ClockCycles(dut.clk, 5000)
    assert b.csts.rdy == 1 and b.control.stop == 1 and b.control.run == 0
    assert b.resets["ctrl"] == before and dut.cpu_idle.value == 1
    # the host is told when its memory is at rest; the data path is reset when the media is, too
    dut.host_quiet.value = 1
    await b.until(lambda: b.csts.rdy == 0)
    await ClockCycles(dut.clk, 5000)
    assert b.resets["ctrl"] == before and b.control.stop == 1
    dut.quiet.value = 1
    await b.until(lambda: b.resets["ctrl"] == before + 1, what="reset")
    assert b.resets["flr"] == 0
    await b.asleep()
    assert b.control.stop == 0
    # queues are gone: the same can be made again
    await b.enable()
    await b.run(5, prp1=0x1000, dw10=63 << 16 | 1, dw11=1)
    # EN off and on before the firmware has looked, with a command in its hands and more waiting
    for _ in range(5):
        await b.send(0x06, dw10=1)
    before = b.resets["ctrl"]
    await b.write_cc(0)
    await b.write_cc(0x460001)
    await b.until(lambda: b.resets["ctrl"] == before + 1, what="reset")
    await b.until(lambda: b.csts.rdy == 0)
    await b.until(lambda: b.csts.rdy == 1)
    b.completions.clear()
    await b.run(5, prp1=0x1000, dw10=63 << 16 | 1, dw11=1)
    # normal shutdown: drains, flushes
    b.media.clear()
    dut.cmds_inflight.value = 2
    await b.write_cc(0x464001)
    await b.until(lambda: b.csts.shst == 1, 3000)
    await ClockCycles(dut.clk, 2000)
    assert b.media == [] and b.control.run == 0
    dut.cmds_inflight.value = 0
    await b.until(lambda: b.csts.shst == 2)
    assert b.media == [(0, 0, 0)] and b.csts.rdy == 1
    await b.disable()
    await b.until(lambda: b.csts.shst == 0)
    await b.enable()
    await b.identify(1)
    # abrupt shutdown does not wait for commands, but for what they have outstanding
    b.media.clear()
    dut.cmds_inflight.value = 2
    dut.quiet.value = dut.host_quiet.value = 0
    await b.write_cc(0x468001)
    await ClockCycles(dut.clk, 3000)
    assert b.csts.shst == 1 and b.control.stop == 1 and b.media == []
    dut.quiet.value = dut.host_quiet.value = 1
    await b.until(lambda: b.csts.shst == 2)
    assert b.media == [(0, 0, 0)]
    dut.cmds_inflight.value = 0
    await b.disable()
    # a shutdown of a controller that is not enabled, and one after it of one that is
    await b.write_cc(0x464000)
    b.host_regs.cc = 0x464000
    await b.until(lambda: b.csts.shst == 2)
    await b.enable()
    assert b.csts.shst == 0
    await b.write_cc(0x464001)
    await b.until(lambda: b.csts.shst == 2)
    await b.disable()
    await b.enable()
    # function-level reset
    await b.run(0x09, dw10=8, dw11=0x0101)
    fn = b.resets["flr"]
    dut.flr.value = 1
    await b.until(lambda: dut.flr.value == 0, 20000, "FLR done")
    await b.asleep()
    assert b.resets["flr"] == fn + 1 and b.csts.rdy == 0 and b.coalesce_cfg.threshold == 0
    await b.enable()
    await b.identify(1)
    # a command that hangs on a port does not hold up a reset, and the next one works
    for port in ("m_post", "m_read", "m_completion", "answer"):
        b.blocked, b.silent = port, port == "answer"
        await b.send(0x09, dw10=0x0E, prp1=0x3000)
        await b.send(0x06, dw10=1)
        await ClockCycles(dut.clk, 3000)
        assert b.completions == [] or port == "m_post"
        await b.disable()
        b.blocked, b.silent = "", False
        b.completions.clear()
        await b.enable()
        await b.run(0x09, dw10=0x0E, prp1=0x3000)
        await b.identify(1)
    # subsystem reset
    await b.subsystem_reset()
    await b.until(lambda: b.resets["nssro"] == 1, 20000, "NSSRO")
    await b.asleep()
    assert b.resets["flr"] == fn + 1 and b.csts.rdy == 0, "registers that are reset may have been written anew"
    await b.enable()
    await b.identify(1)
    # a reset of the core: counted as a power cycle, an unsafe one as it was still enabled
    smart = await get_log(b, 2, 512)
    cycles, unsafe = u(smart, 112, 16), u(smart, 144, 16)
    await b.power_cycle()
    smart = await get_log(b, 2, 512)
    assert u(smart, 112, 16) == cycles + 1 and u(smart, 144, 16) == unsafe + 1


@cocotb.test()
async def dead_processor(dut):
    """A firmware that traps or hangs is a fatal status, and nothing is fetched; any reset of the host recovers it."""
    b = await started(dut, 21)
    memory = dut.i_mem.g_one.i_ram.mem
    b.counters.set(read_sectors=4000, write_sectors=5000, read_cmds=7, write_cmds=9, media_errors=3)
    await b.write_cc(0x464001)  # what was counted is saved
    await b.until(lambda: b.csts.shst == 2)
    await b.disable()
    await b.enable()
    first = await get_log(b, 2, 512)
    seen = table(b)
    ways = ((0, "flr"), (0x6F, "late"), (0, "disable"), (0x6F, "disable"), (0x6F, "nssr"))
    for kind, how in ways if LONG else ways[:2]:
        await b.asleep()
        program = [int(memory[i].value) for i in range(0x1000)]
        for i in range(0x1000):
            memory[i].value = kind  # no instruction; or a jump to itself
        await b.send(0x06, dw10=1)
        await ClockCycles(dut.clk, 3000)
        if kind:
            assert b.csts.cfs == 0 and b.control.run == 1
            for _ in range(2):
                assert b.csts.cfs == 0
                dut.time_us.value = int(dut.time_us.value) + (1 << 19)
                await ClockCycles(dut.clk, 10)
        assert b.csts.cfs == 1 and b.csts.rdy == 1 and b.control.run == 0
        await ClockCycles(dut.clk, 3000)
        assert b.csts.cfs == 1, "nobody has asked for a reset"
        for i, word in enumerate(program):
            memory[i].value = word
        # something of the data path is under way: nothing is reset before it is over
        dut.quiet.value = dut.host_quiet.value = 0
        resets = dict(b.resets)
        await FallingEdge(dut.clk)
        if how == "flr":
            dut.flr.value = 1
        elif how == "nssr":
            await b.subsystem_reset()
        else:
            await b.write_cc(0)
        await b.until(lambda: b.control.stop == 1, what="the processor")
        await ClockCycles(dut.clk, 5000)
        assert b.csts.cfs == 0 and b.csts.rdy == 1 and b.control.stop == 1 and b.resets == resets
        if how == "late":
            dut.time_us.value = int(dut.time_us.value) + 11 * 10**6
            await ClockCycles(dut.clk, 3000)
            assert b.csts.cfs == 1 and b.csts.rdy == 1 and b.resets == resets
        dut.quiet.value = dut.host_quiet.value = 1
        await b.until(lambda: b.csts.rdy == 0, what="RDY = 0")
        assert b.csts.cfs == 0 and b.resets["ctrl"] > resets["ctrl"]
        if how == "flr":
            done = resets["flr_done"] + 1
            await b.until(lambda done=done: b.resets["flr_done"] == done, what="FLR done")
        await b.until(lambda: dut.cpu_idle.value == 1 and b.control.stop == 0, what="the reset's end")
        assert b.host_regs.cc == 0 and table(b) == seen
        b.completions.clear()
        await b.enable()
        assert (await b.identify(1))[4:24].strip()
        smart = await get_log(b, 2, 512)
        for at in (32, 48, 64, 80, 112, 144, 160):  # no power cycle, nothing counted twice
            assert u(smart, at, 16) == u(first, at, 16), at


@cocotb.test()
async def keys_leave_nothing(dut):
    """Words of a key, by features and by Key Load: in no place of the memory once they are in their slot."""
    b = Bench(dut, 15)
    b.key_slots = 16
    await b.start()
    await b.enable()
    rng = random.Random(16)
    words = {fid: rng.getrandbits(32) for fid in (*range(0xC1, 0xC5), *range(0xCA, 0xCE))}
    await b.run(0x09, dw10=0xC0, dw11=2)
    for fid, word in words.items():
        await b.run(0x09, dw10=fid, dw11=word)
    staged = {value for at, value in b.extension if at >= 0x80}
    swapped = {int.from_bytes(w.to_bytes(4, "big"), "little") for w in words.values()}
    assert swapped <= staged
    key = rng.randbytes(80)
    b.write(0x12000, key)
    await b.run(0xC1, prp1=0x12000, dw10=1 | 1 << 8 | 1 << 10)
    loaded = set(struct.unpack("<20I", key))
    assert loaded <= {value for at, value in b.extension if at >= 0x80}
    await b.asleep()
    memory = [int(w) for w in dut.i_mem.g_one.i_ram.mem.value]
    assert len(memory) == 16384 and memory[1] == 1, "the serial number"
    found = {i: w for i, w in enumerate(memory) if w in {*words.values(), *swapped, *loaded}}
    assert not found, {hex(4 * i): hex(w) for i, w in found.items()}
    # what has no key for both modes, and what takes one
    await b.run(0xC1, BAD_FIELD, prp1=0x12000, dw10=1 | 1 << 8 | 1 << 9 | 1 << 10)
    await b.run(0xC1, BAD_FIELD, prp1=0x12000, dw10=1 | 1 << 8)


@cocotb.test(skip=not LONG)
async def aes_that_failed_its_test(dut):
    """No word of a key is taken or staged, by command or feature; the log pages say why; all else works."""
    b = Bench(dut, 16)
    b.key_slots, b.aes_failed = 16, True
    await b.start()
    await b.enable()
    b.write(0x12000, b.rng.randbytes(80))
    await b.run(0xC1, INTERNAL, prp1=0x12000, dw10=1 | 1 << 8 | 1 << 10)
    await b.run(0xC1, BAD_FIELD, prp1=0x12000, dw10=1 | 1 << 8)
    for config in (0, 2):
        await b.run(0x09, dw10=0xC0, dw11=config)
        for fid in (0xC1, 0xC4, 0xCA):
            await b.run(0x09, INTERNAL, dw10=fid, dw11=0x12345678)
    assert not [at for at, _ in b.extension if at >= 0x80]
    await b.run(0x09, dw10=0xC0, dw11=1)
    await b.run(0x09, dw10=0xC1, dw11=7)  # the addend
    await b.run(0x09, INTERNAL, dw10=0xC2, dw11=7)
    assert (await b.run(0x0A, dw10=0xC1)).dw0 == 7
    page = await get_log(b, 0xEC, 512)
    assert u(page, 0, 2) == 2 and page[2] == 16 and page[9] == 1
    assert (await get_log(b, 2, 512))[0] == 1 << 2, "critical warning: an internal error"
    b.aes_failed = False
    assert (await get_log(b, 0xEC, 512))[9] == 0 and (await get_log(b, 2, 512))[0] == 0
    await b.run(0xC1, prp1=0x12000, dw10=1 | 1 << 8 | 1 << 10)
    assert [at for at, _ in b.extension if at >= 0x80]
