# SPDX-License-Identifier: Apache-2.0
"""db_ssd_admin with its real firmware: a host drives registers and entries, and checks completions and data.

Offsets and codes stand here as the NVMe Base Specification 2.0 and the NVM Command Set Specification 1.0 give them;
nothing is shared with the firmware's sources.
"""

from __future__ import annotations

import os
import random
import struct
from dataclasses import dataclass

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, First, RisingEdge, Timer
from structs import Layout, layout

LONG = os.environ.get("LONG") == "1"  # what whole drives are tested for, too
NUM_QP = 6
NUM_VEC = 7
NUM_NS = 2
PAGES = 0x1234  # of media
AREA = 32  # and those of the settings behind them
SECTORS = PAGES * 8
PAINT = 0x5A_C3_1E_87  # of the stack, until it is used
NSID_ALL = 0xFFFFFFFF
DNR = 0x4000

# status without DNR
OK, BAD_OPCODE, BAD_FIELD, DATA_ERROR, INTERNAL, ABORTED, BAD_NS = 0, 1, 2, 4, 6, 7, 0x0B
SEQUENCE, BAD_OFFSET = 0x0C, 0x13
CQ_INVALID, QUEUE_ID, QUEUE_SIZE, AER_LIMIT, BAD_VECTOR = 0x100, 0x101, 0x102, 0x105, 0x108
BAD_LOG, BAD_FORMAT, DELETION, NOT_SAVEABLE, NOT_CHANGEABLE = 0x109, 0x10A, 0x10C, 0x10D, 0x10E
REJECTED, WRITE_FAULT, NOT_PER_NS = 0x12B, 0x280, 0x10F
NO_ROOM, NO_NSID, ATTACHED, NOT_ATTACHED, THIN, BAD_LIST, BAD_SET = 0x115, 0x116, 0x118, 0x11A, 0x11B, 0x11C, 0x129


@dataclass
class Completion:
    fn: int
    sqid: int
    cid: int
    status: int
    dw0: int
    io: int = 0


@dataclass
class QueueContext:
    kind: int
    valid: int
    qid: int
    base: int
    size: int
    cqid: int
    prio: int
    vector: int
    ien: int
    fn: int = 0
    host_qid: int = 0
    watch: int = 0


def stack_of(dut) -> list:
    """Words of the memory behind all variables."""
    end, top = (int(os.environ[name]) // 4 for name in ("STACK_END", "STACK_TOP"))
    return [dut.i_mem.g_one.i_ram.mem[i] for i in range(end, top)]


def ssd(name: str) -> Layout:
    return layout("db_ssd_pkg", name)


NAMESPACE = ssd("namespace_t")
ABORT = ssd("abort_cmd_t")
FOUND = ssd("abort_found_t")


class Port:
    """A port that is a packed struct: its fields are attributes, to be read (of an output) or set (of an input)."""

    def __init__(self, handle, kind: Layout) -> None:
        self.__dict__.update(_handle=handle, _layout=kind, _given={})

    def __getattr__(self, name: str) -> int:
        if name in self._given:
            return self._given[name]
        field = self._layout[name]
        return int(self._handle.value) >> field.offset & (1 << field.width) - 1

    def __setattr__(self, name: str, value: int) -> None:
        self.set(**{name: value})

    def set(self, **fields: int) -> None:
        self._given.update(fields)
        self._handle.value = self._layout.pack(self._given)

    def all(self) -> dict[str, int]:
        """Every field of an output; a struct inside as a number."""
        number = int(self._handle.value)
        return {name: number >> f.offset & (1 << f.width) - 1 for name, f in self._layout.fields.items()}


class Bench:
    """Everything around the module: a host's memory, ports with random stalls, a media."""

    def __init__(self, dut, seed: int = 1) -> None:
        self.dut = dut
        self.rng = random.Random(seed)
        self.memory: dict[int, bytearray] = {}
        self.completions: list[Completion] = []
        self.queues: list[QueueContext] = []
        self.media: list[tuple[int, int, int]] = []  # commands, but for the flushes of what follows
        self.store: dict[int, int] = {}  # words of the settings on the media
        self.store_written = False  # and not flushed
        self.key_slots = 0  # of operators; 0: there are none
        self.aes_failed = False  # its self-test
        self.extension: list[tuple[int, int]] = []  # what was written to their registers
        self.bad_reads: set[int] = set()  # pages that answer with an error
        self.read_ranges: list[tuple[int, int]] = []  # address, bytes
        self.vectors: list[tuple[int, int]] = []  # writes of "coalescing disabled"
        self.namespaces = [NAMESPACE.unpack(0) for _ in range(NUM_NS)]  # decode's table
        self.cid = 0x100
        self.blocked = ""  # a port that takes nothing
        self.silent = False  # reads are not answered
        self.media_error = False
        self.media_cycles = 30
        self.resets = {"ctrl": 0, "flr": 0, "nssro": 0, "flr_done": 0}
        # outputs
        self.csts = Port(dut.csts, ssd("csts_t"))
        self.control = Port(dut.control, ssd("control_t"))
        self.completion = Port(dut.m_completion, ssd("completion_t"))
        self.post = Port(dut.m_post, layout("db_pcie_pkg", "post_t"))
        self.read_request = Port(dut.m_read, layout("db_mem_pkg", "segment_t"))
        self.queue_ctx = Port(dut.m_queue_ctx, ssd("queue_ctx_t"))
        self.media_cmd = Port(dut.m_media, ssd("media_cmd_t"))
        self.ext = Port(dut.ext, ssd("ext_bus_t"))
        self.store_cmd = Port(dut.m_store, ssd("store_cmd_t"))
        self.arb_cfg = Port(dut.arb_cfg, ssd("arb_cfg_t"))
        self.coalesce_cfg = Port(dut.coalesce_cfg, ssd("coalesce_cfg_t"))
        self.int_vec_cfg = Port(dut.int_vec_cfg, ssd("int_vec_cfg_t"))
        self.ns_entry = Port(dut.ns_entry, ssd("ns_entry_t"))
        # inputs
        self.host_regs = Port(dut.host_regs, ssd("host_regs_t"))
        self.sqe = Port(dut.s_sqe, ssd("admin_sqe_t"))
        self.row_info = Port(dut.s_row_info, layout("db_mem_pkg", "row_info_t"))
        self.err = Port(dut.s_err, ssd("error_log_t"))
        self.doorbell_err = Port(dut.s_doorbell_err, ssd("doorbell_err_t"))
        self.counters = Port(dut.counters, ssd("smart_counters_t"))

    # ---- memory
    def at(self, address: int) -> bytearray:
        return self.memory.setdefault(address >> 12, bytearray(b"\xee" * 4096))

    def read(self, address: int, n: int) -> bytes:
        out = b""
        while n:
            k = min(n, 4096 - (address & 4095))
            out += self.at(address)[address & 4095 : (address & 4095) + k]
            address, n = address + k, n - k
        return out

    def write(self, address: int, data: bytes) -> None:
        for i, b in enumerate(data):
            self.at(address + i)[(address + i) & 4095] = b

    # ---- ports
    async def start(self) -> None:
        d = self.dut
        for name in ("flr", "s_sqe_valid", "m_completion_ready", "m_post_ready", "m_read_ready", "s_row_valid",
                     "s_row_data", "m_queue_ctx_ready", "sq_inflight", "cmds_inflight", "cmds_unread", "m_media_ready",
                     "s_media_done", "s_media_err", "m_store_ready", "s_store_done", "s_store_err", "s_store_data",
                     "s_err_valid", "s_doorbell_err_valid", "time_us", "abort_busy", "abort_found",
                     "abort_watching", "abort_caught",
                     "ext_rdata"):  # fmt: skip
            getattr(d, name).value = 0
        for port in (self.host_regs, self.sqe, self.row_info, self.err, self.doorbell_err, self.counters):
            port.set()
        d.quiet.value = d.host_quiet.value = d.fn_enable.value = 1
        d.media_pages.value = PAGES + AREA
        d.rst.value = d.por_rst.value = 1
        stack = stack_of(d)
        if all(int(word.value) != PAINT for word in stack):  # the first test of all
            for word in stack:
                word.value = PAINT
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        await ClockCycles(d.clk, 5)
        d.rst.value = d.por_rst.value = 0
        for port in (self.posts, self.reads, self.take_completions, self.queue_contexts, self.medias, self.words,
                     self.operators, self.watch_resets, self.watch_vectors, self.watch_namespaces):  # fmt: skip
            cocotb.start_soon(port())

    async def stall(self) -> None:
        n = self.rng.choice((0, 0, 1, 3, 9))
        if n:
            await ClockCycles(self.dut.clk, n)

    async def accept(self, name: str):
        """Wait for valid, let it stand, take it; what it carries must not change meanwhile."""
        valid, ready = getattr(self.dut, f"{name}_valid"), getattr(self.dut, f"{name}_ready")
        if not valid.value:
            await RisingEdge(valid)
        await self.stall()
        await FallingEdge(self.dut.clk)
        while self.blocked == name and valid.value:
            await FallingEdge(self.dut.clk)
        if not valid.value:
            return False  # a reset took it
        ready.value = 1
        await RisingEdge(self.dut.clk)
        await Timer(1, "ns")
        ready.value = 0
        return True

    async def posts(self) -> None:
        d = self.dut
        while True:
            if not d.m_post_valid.value:
                await RisingEdge(d.m_post_valid)
            await FallingEdge(d.clk)
            taken = cocotb.start_soon(self.taken_post())
            offered = self.post.all()
            if await self.accept("m_post"):
                assert await taken == offered, "a write changed while it waited"
                address, n = offered["addr"], offered["dwords"] * 4
                assert address % 4 == 0 and 4 <= n <= 16 and (address & 4095) + n <= 4096
                assert offered["fn"] == 0
                self.write(address, offered["data"].to_bytes(16, "little")[:n])

    async def taken_post(self) -> dict[str, int]:
        """What is on offer in the cycle in which it is taken."""
        d = self.dut
        while True:
            await RisingEdge(d.clk)
            if d.m_post_valid.value and d.m_post_ready.value:
                return self.post.all()

    async def reads(self) -> None:
        d = self.dut
        while True:
            if not d.m_read_valid.value:
                await RisingEdge(d.m_read_valid)
            await FallingEdge(d.clk)
            asked = self.read_request.all()
            if not await self.accept("m_read"):
                continue
            address = asked["addr"]
            assert 4 <= asked["len"] <= 64 and (address & 4095) + asked["len"] <= 4096 and asked["len"] % 4 == 0
            assert address % 4 == 0
            assert asked == {"fn": 0, "addr": address, "len": asked["len"], "first": 1, "last": 1, "drop": 0}
            self.read_ranges.append((address, asked["len"]))
            if self.silent:
                continue
            width = len(d.s_row_data) // 8
            rows = -(-asked["len"] // width)
            bad = self.rng.randrange(rows)  # row from which an answer that fails is marked
            for row in range(rows):
                await self.stall()
                await FallingEdge(d.clk)
                n = min(width, asked["len"] - row * width)
                d.s_row_data.value = int.from_bytes(self.read(address + row * width, n), "little")
                self.row_info.set(err=int(address >> 12 in self.bad_reads and row >= bad), dw=n // 4,
                                  last=int(row == rows - 1))  # fmt: skip
                d.s_row_valid.value = 1
                while not d.s_row_ready.value:
                    await FallingEdge(d.clk)
                await FallingEdge(d.clk)
                d.s_row_valid.value = 0

    async def take_completions(self) -> None:
        while True:
            if not self.dut.m_completion_valid.value:
                await RisingEdge(self.dut.m_completion_valid)
            await FallingEdge(self.dut.clk)
            completion = Completion(**self.completion.all())
            if await self.accept("m_completion"):
                self.completions.append(completion)

    async def queue_contexts(self) -> None:
        while True:
            if not self.dut.m_queue_ctx_valid.value:
                await RisingEdge(self.dut.m_queue_ctx_valid)
            await FallingEdge(self.dut.clk)
            context = QueueContext(**self.queue_ctx.all())
            if await self.accept("m_queue_ctx"):
                self.queues.append(context)

    async def medias(self) -> None:
        d = self.dut
        while True:
            if not d.m_media_valid.value:
                await RisingEdge(d.m_media_valid)
            await FallingEdge(d.clk)
            command = (self.media_cmd.op, self.media_cmd.addr, self.media_cmd.bytes)
            if not await self.accept("m_media"):
                continue
            if command == (0, 0, 0) and self.store_written:
                self.store_written = False
            else:
                self.media.append(command)
            await ClockCycles(d.clk, self.media_cycles)
            await FallingEdge(d.clk)
            d.s_media_done.value, d.s_media_err.value = 1, int(self.media_error)
            await FallingEdge(d.clk)
            d.s_media_done.value = 0

    async def words(self) -> None:
        """Accesses of the firmware to words on the media."""
        d = self.dut
        while True:
            if not d.m_store_valid.value:
                await RisingEdge(d.m_store_valid)
            await FallingEdge(d.clk)
            asked = self.store_cmd.all()
            if not await self.accept("m_store"):
                continue
            assert asked["addr"] % 64 == 0 and PAGES << 12 <= asked["addr"] < PAGES + AREA << 12
            if asked["write"]:
                self.store[asked["addr"]] = asked["data"]
                self.store_written = True
            await self.stall()
            await FallingEdge(d.clk)
            d.s_store_done.value, d.s_store_data.value = 1, self.store.get(asked["addr"], 0xEEEEEEEE)
            await FallingEdge(d.clk)
            d.s_store_done.value = 0

    async def operators(self) -> None:
        """Registers of operators, as far as the firmware waits for them: KEY_STATUS.slots, CAPS."""
        d = self.dut
        while self.key_slots:
            await d.ext.value_change
            now = self.ext.all()
            status = self.key_slots << 8 | self.aes_failed << 2
            d.ext_rdata.value = {0x08: status, 0x1C: 0x3F}.get(now["addr"], 0)
            if now["req"] and now["wr"]:
                self.extension.append((now["addr"], now["wdata"]))

    async def watch_resets(self) -> None:
        d = self.dut
        while True:
            await First(d.control.value_change, d.csts.value_change, RisingEdge(d.flr_done))
            await FallingEdge(d.clk)
            self.resets["ctrl"] += self.control.ctrl_rst
            self.resets["flr"] += self.control.flr_rst
            self.resets["nssro"] += self.csts.nssro
            self.resets["flr_done"] += int(d.flr_done.value)
            if self.control.flr_rst:
                self.host_regs.set(cc=0, aqa=0, asq=0, acq=0)
            if d.flr_done.value:
                d.flr.value = 0

    async def subsystem_reset(self) -> None:
        await FallingEdge(self.dut.clk)
        self.host_regs.set(cc=0, aqa=0, asq=0, acq=0, subsystem_reset=1)  # db_ssd_regs has reset them
        await FallingEdge(self.dut.clk)
        self.host_regs.set(subsystem_reset=0)

    async def watch_vectors(self) -> None:
        while True:
            await RisingEdge(self.dut.int_vec_cfg_valid)
            await FallingEdge(self.dut.clk)
            self.vectors.append((self.int_vec_cfg.vector, self.int_vec_cfg.exempt))

    async def watch_namespaces(self) -> None:
        while True:
            await RisingEdge(self.dut.ns_valid)
            await FallingEdge(self.dut.clk)
            self.namespaces[self.ns_entry.index] = NAMESPACE.unpack(self.ns_entry.ns)

    # ---- host
    async def until(self, condition, cycles: int = 400_000, what: str = "condition") -> None:
        for _ in range(0, cycles, 20):
            if condition():
                return
            await ClockCycles(self.dut.clk, 20)
        raise AssertionError(f"{what}: not within {cycles} cycles")

    async def write_cc(self, cc: int) -> None:
        await FallingEdge(self.dut.clk)
        self.host_regs.set(cc=cc, cc_written=1)
        await FallingEdge(self.dut.clk)
        self.host_regs.set(cc=cc if cc & 1 else 0, cc_written=0)  # what db_ssd_regs does

    async def enable(self, *, sq: int = 31, cq: int = 63, cc: int = 0x460001, ready: bool = True) -> None:
        self.host_regs.set(aqa=cq << 16 | sq, asq=0x1_2345_6000, acq=0xABCD_0000_7000)
        await self.write_cc(cc)
        if ready:
            await self.until(lambda: self.csts.rdy == 1, what="RDY")

    async def disable(self) -> None:
        await self.write_cc(0)
        await self.until(lambda: self.csts.rdy == 0, what="RDY = 0")
        await self.until(lambda: self.control.stop == 0, what="the reset's end")

    async def send(self, opcode: int, *, nsid: int = 0, prp1: int = 0x10000, prp2: int = 0, flags: int = 0,
                   **dw: int) -> int:  # fmt: skip
        """Hand over an entry; its command identifier."""
        self.cid += 1
        words = [0] * 16
        words[0] = opcode | flags << 8 | self.cid << 16
        words[1] = nsid
        words[6], words[7] = prp1 & 0xFFFFFFFF, prp1 >> 32
        words[8], words[9] = prp2 & 0xFFFFFFFF, prp2 >> 32
        for name, value in dw.items():
            words[int(name.removeprefix("dw"))] = value
        await FallingEdge(self.dut.clk)
        self.sqe.set(sqe=int.from_bytes(struct.pack("<16I", *words), "little"))
        self.dut.s_sqe_valid.value = 1
        while not self.dut.s_sqe_ready.value:
            await FallingEdge(self.dut.clk)
        await FallingEdge(self.dut.clk)
        self.dut.s_sqe_valid.value = 0
        return self.cid

    async def result(self, cid: int, cycles: int = 200_000) -> Completion:
        await self.until(lambda: any(c.cid == cid for c in self.completions), cycles, f"completion of {cid:#x}")
        found = next(c for c in self.completions if c.cid == cid)
        assert found.sqid == 0 and found.fn == 0
        self.completions.remove(found)
        return found

    async def run(self, opcode: int, status: int = OK, **fields: int) -> Completion:
        """A command from start to end, and the status that it must have."""
        c = await self.result(await self.send(opcode, **fields))
        assert c.status & ~DNR == status, f"opcode {opcode:#x} {fields}: status {c.status:#x}, not {status:#x}"
        if status not in (OK, ABORTED, DATA_ERROR, WRITE_FAULT):
            assert c.status & DNR
        return c

    async def identify(self, cns: int, status: int = OK, nsid: int = 0, csi: int = 0, prp1: int = 0x10000,
                       prp2: int = 0) -> bytes:  # fmt: skip
        self.write(0x10000, b"\xee" * 4096)
        await self.run(0x06, status, nsid=nsid, dw10=cns, dw11=csi << 24, prp1=prp1, prp2=prp2)
        first = 4096 - (prp1 & 4095)
        return self.read(prp1, first) + self.read(prp2, 4096 - first)

    async def power_cycle(self, power: bool = True) -> None:
        """The core's reset, as at power-on, which is over before the reset is; or that of the link. Enabled again."""
        await FallingEdge(self.dut.clk)
        self.dut.rst.value = 1
        self.dut.por_rst.value = int(power)
        self.host_regs.cc = 0
        await ClockCycles(self.dut.clk, 4)
        self.dut.por_rst.value = 0
        await ClockCycles(self.dut.clk, 4)
        await FallingEdge(self.dut.clk)
        self.dut.rst.value = 0
        self.completions.clear()
        self.namespaces = [NAMESPACE.unpack(0) for _ in range(NUM_NS)]  # decode's table is reset with it
        await self.enable()

    async def asleep(self) -> None:
        await self.until(lambda: self.dut.cpu_idle.value == 1, what="sleep")


async def started(dut, seed: int = 1) -> Bench:
    b = Bench(dut, seed)
    await b.start()
    await b.enable()
    return b


@cocotb.test()
async def bring_up(dut):
    """Enable, Identify, queues: the thinnest path; and the processor sleeps before, between and after."""
    b = Bench(dut)
    start = cocotb.utils.get_sim_time("ns")
    await b.start()
    await b.asleep()
    dut._log.info(f"power-on: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    start = cocotb.utils.get_sim_time("ns")
    assert table(b) == {1: (0, SECTORS, 0)}
    assert b.csts.rdy == 0 and b.control.run == 0 and int(dut.wake_us.value) == (1 << 64) - 1
    await b.enable()
    dut._log.info(f"first enable: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    assert b.control.run == 1 and b.arb_cfg.wrr == 0
    cq, sq = b.queues
    assert (cq.kind, cq.valid, cq.qid, cq.base, cq.size, cq.vector, cq.ien) == (1, 1, 0, 0xABCD_0000_7000, 63, 0, 1)
    assert (sq.kind, sq.valid, sq.qid, sq.base, sq.size, sq.cqid) == (0, 1, 0, 0x1_2345_6000, 31, 0)
    await b.asleep()
    start = cocotb.utils.get_sim_time("ns")
    data = await b.identify(1)
    dut._log.info(f"Identify Controller: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    await b.asleep()
    start = cocotb.utils.get_sim_time("ns")
    await b.send(0x0A, dw10=7)
    await RisingEdge(dut.m_completion_valid)
    dut._log.info(f"Get Features: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    await b.asleep()
    dut._log.info(f"to sleep: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    b.completions.clear()
    start = cocotb.utils.get_sim_time("ns")
    await b.disable()
    dut._log.info(f"disable: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    start = cocotb.utils.get_sim_time("ns")
    await b.enable()
    dut._log.info(f"enable: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    b.queues[:] = b.queues[2:]
    assert data[24:64] == b"Doorbell SSD".ljust(40)
    await b.asleep()
    await b.run(0x05, prp1=0x55_0000_1000, dw10=255 << 16 | 1, dw11=3 << 16 | 3)
    await b.run(0x01, prp1=0x66_0000_2000, dw10=127 << 16 | 2, dw11=1 << 16 | 2 << 1 | 1)
    cq, sq = b.queues[2:]
    assert (cq.kind, cq.valid, cq.qid, cq.base, cq.size, cq.vector, cq.ien) == (1, 1, 1, 0x55_0000_1000, 255, 3, 1)
    assert (sq.kind, sq.valid, sq.qid, sq.base, sq.size, sq.cqid, sq.prio) == (0, 1, 2, 0x66_0000_2000, 127, 1, 2)
    await b.asleep()


def u(data: bytes, at: int, n: int) -> int:
    return int.from_bytes(data[at : at + n], "little")


@cocotb.test(skip=not LONG)
async def identify_structures(dut):
    b = await started(dut, 2)
    c = await b.identify(1)
    assert u(c, 0, 2) == 0x1234 and c[4:24] == b"DB00000001".ljust(20) and c[64:72] == b"0.1.0".ljust(8)
    assert c[77] == 8, "MDTS: 1 MiB"
    assert u(c, 80, 4) == 0x20000 and c[111] == 1, "VER, CNTRLTYPE"
    assert u(c, 78, 2) == 0 and u(c, 92, 4) == 1 << 8, "CNTLID, OAES: namespace attributes"
    assert u(c, 256, 2) == 0b1010, "OACS: Format, namespace management"
    assert c[258] == 3 and c[259] == 3 and c[262] == 31 and c[263] == 0, "ACL, AERL, ELPE, NPSS"
    assert c[260] == 3, "FRMW: one slot, read only"
    assert c[261] == 0b100110, "LPA"
    assert u(c, 266, 2) == 343 and u(c, 268, 2) == 358
    assert u(c, 280, 16) == PAGES * 4096 and u(c, 296, 16) == 0, "TNVMCAP, UNVMCAP"
    assert u(c, 320, 2) == 10, "KAS"
    assert c[512] == 0x66 and c[513] == 0x44 and u(c, 516, 4) == u(c, 540, 4) == NUM_NS, "NN, MNAN"
    oncs = u(c, 520, 2)
    assert oncs == 0b11011101, "Compare, DSM, Write Zeroes, Select, Timestamp, Verify"
    assert c[524] == 0 and c[525] == 7, "FNA, VWC"
    assert u(c, 526, 2) == 0 and u(c, 528, 2) == 0, "AWUN, AWUPF"
    assert u(c, 536, 4) == 1 << 18 | 1 << 16 | 2, "SGLS: dwords, bit buckets, longer than the data"
    nqn = c[768:1024].rstrip(b"\0").decode()
    assert nqn == "nqn.2014-08.org.nvmexpress:uuid:d00bbe11-0000-4000-8000-000000000001"
    assert u(c, 2048, 2) == 25, "PSD0.MP"
    assert not any(c[1024:2048]) and not any(c[2080:])

    n = await b.identify(0, nsid=1)
    assert u(n, 0, 8) == u(n, 8, 8) == u(n, 16, 8) == SECTORS
    assert n[25] == 1 and n[26] == 0 and n[24] == 0 and n[27] == 0 and n[28] == 0 and n[29] == 0
    assert u(n, 48, 16) == PAGES * 4096, "NVMCAP"
    assert n[33] == 9, "DLFEAT: zeros, Write Zeroes may deallocate"
    assert u(n, 128, 4) & 0xFFFFFF == 9 << 16 and u(n, 132, 4) & 0xFFFFFF == 12 << 16
    assert not any(n[136:])
    eui, nguid = n[120:128], n[104:120]
    assert any(eui) and any(nguid) and nguid[8:11] == eui[:3]
    assert not any(await b.identify(0, nsid=2)), "not active"
    common = await b.identify(0, nsid=NSID_ALL)
    assert u(common, 0, 8) == 0 and common[128:136] == n[128:136]
    await b.identify(0, BAD_NS, nsid=0)
    await b.identify(0, BAD_NS, nsid=3)

    assert await b.identify(0x11, nsid=1) == n and not any(await b.identify(0x11, nsid=2))
    await b.identify(0x11, BAD_NS, nsid=3)
    await b.identify(0x11, BAD_FIELD, nsid=NSID_ALL)
    for cns in (2, 7, 0x10, 0x1A):
        assert (await b.identify(cns, nsid=0)) == b"\1".ljust(4096, b"\0")
        assert not any(await b.identify(cns, nsid=1))
        await b.identify(cns, BAD_NS, nsid=0xFFFFFFFE)
    d = await b.identify(3, nsid=1)
    at, found = 0, {}
    while d[at]:
        found[d[at]] = d[at + 4 : at + 4 + d[at + 1]]
        at += 4 + d[at + 1]
    assert found[1] == eui and found[2] == nguid and len(found[3]) == 16 and found[4] == b"\0"
    assert not any(d[at:])
    await b.identify(3, BAD_NS, nsid=2)
    await b.identify(3, BAD_NS, nsid=NSID_ALL)
    assert not any(await b.identify(5, nsid=1))
    limits = await b.identify(6)
    assert limits[0] == 0 and limits[1] == 16 and limits[2:4] == bytes(2), "VSL, WZSL, WUSL, DMRL"
    assert u(limits, 4, 4) == 1 << 18 and u(limits, 8, 8) == 1 << 26 and not any(limits[16:]), "DMRSL, DMSL"
    assert (await b.identify(8, nsid=1))[14] == 1
    for cns in (5, 0x1B):
        await b.identify(cns, BAD_NS, nsid=9)
    ours = struct.pack("<HH", 1, 0).ljust(4096, b"\0")
    assert await b.identify(0x12, nsid=1) == await b.identify(0x13) == ours, "controller 0"
    assert not any(await b.identify(0x12 | 1 << 16, nsid=1)) and not any(await b.identify(0x13 | 1 << 16))
    for status, nsid in ((BAD_NS, 0), (BAD_NS, 3), (BAD_FIELD, 2), (BAD_FIELD, NSID_ALL)):
        await b.identify(0x12, status, nsid=nsid)
    assert u(await b.identify(0x1C), 0, 8) == 1
    for cns in (5, 6, 7, 0x1A, 0x1B):
        await b.identify(cns, BAD_FIELD, nsid=1, csi=2)
    for cns in (4, 9, 0x14, 0x15, 0x16, 0x17, 0x18, 0x1D, 0xFF):
        await b.identify(cns, BAD_FIELD, nsid=1)

    # every dword offset is legal in PRP1; PRP2 then takes the rest
    for prp1 in (0x20FFC, 0x20800, 0x20004):
        assert await b.identify(1, prp1=prp1, prp2=0x7_0000_3000) == c
    await b.identify(1, BAD_OFFSET, prp1=0x20002)
    await b.identify(1, BAD_OFFSET, prp1=0x20004, prp2=0x30004)
    for psdt in (0x40, 0x80, 0xC0):  # SGLs are not for admin commands (Base 2.0, 3.3.3.1), whatever SGLS says
        await b.run(0x06, BAD_FIELD, dw10=1, flags=psdt)
    await b.run(0x06, BAD_FIELD, dw10=1, flags=1)  # fused


@cocotb.test()
async def queue_commands(dut):
    b = await started(dut, 3)
    create_sq, delete_sq, create_cq, delete_cq = 1, 0, 5, 4
    good_cq = dict(prp1=0x1000, dw10=63 << 16 | 1, dw11=1)
    for status, change in (
        (QUEUE_ID, {"dw10": 63 << 16}), (QUEUE_ID, {"dw10": 63 << 16 | NUM_QP + 1}),
        (QUEUE_ID, {"dw10": 63 << 16 | 0x101}), (QUEUE_SIZE, {"dw10": 1}), (QUEUE_SIZE, {"dw10": 4096 << 16 | 1}),
        (BAD_FIELD, {"dw11": 0}), (BAD_OFFSET, {"prp1": 0x1800}), (BAD_VECTOR, {"dw11": NUM_VEC << 16 | 1}),
    ):  # fmt: skip
        await b.run(create_cq, status, **{**good_cq, **change})
    await b.run(create_cq, **{**good_cq, "dw10": 4095 << 16 | 1, "dw11": (NUM_VEC - 1) << 16 | 3})
    await b.run(create_cq, QUEUE_ID, **good_cq)
    good_sq = dict(prp1=0x2000, dw10=1 << 16 | NUM_QP, dw11=1 << 16 | 1)
    for status, change in (
        (QUEUE_ID, {"dw10": 63 << 16}), (QUEUE_ID, {"dw10": 63 << 16 | NUM_QP + 1}), (QUEUE_SIZE, {"dw10": 1}),
        (QUEUE_SIZE, {"dw10": 4096 << 16 | 1}), (BAD_FIELD, {"dw11": 1 << 16}), (BAD_OFFSET, {"prp1": 4}),
        (QUEUE_ID, {"dw11": 1}), (QUEUE_ID, {"dw11": NUM_QP + 1 << 16 | 1}), (CQ_INVALID, {"dw11": 2 << 16 | 1}),
    ):  # fmt: skip
        await b.run(create_sq, status, **{**good_sq, **change})
    await b.run(create_sq, **good_sq)
    await b.run(create_sq, QUEUE_ID, **good_sq)
    await b.run(create_sq, **{**good_sq, "dw10": 1 << 16 | 2})
    assert len(b.queues) == 2 + 3
    await b.run(delete_cq, DELETION, dw10=1)
    for opcode in (delete_cq, delete_sq):
        for qid in (0, 3, NUM_QP + 1, 0xFFFF):
            await b.run(opcode, QUEUE_ID, dw10=qid)
    # a queue's commands are aborted first; it is answered when that is over
    dut.abort_busy.value = 1
    cid = await b.send(delete_sq, dw10=NUM_QP)
    await ClockCycles(dut.clk, 3000)
    last = b.queues[-1]
    assert not b.completions and (last.kind, last.valid, last.qid) == (0, 0, NUM_QP)
    asked = ABORT.unpack(int(dut.m_abort.value))
    assert (asked["find"], asked["by_cid"], asked["sqid"]) == (0, 0, NUM_QP)
    await b.run(delete_sq, QUEUE_ID, dw10=NUM_QP)  # a queue is deleted once, and other commands go on
    dut.abort_busy.value = 0
    assert (await b.result(cid)).status == OK
    # its number is free when engines have nothing of it any more
    dut.sq_inflight.value = 1
    cid = await b.send(create_sq, **{**good_sq, "dw10": 1 << 16 | NUM_QP})
    await ClockCycles(dut.clk, 3000)
    assert not b.completions and dut.sq_select.value == NUM_QP
    dut.sq_inflight.value = 0
    dut.time_us.value = int(dut.time_us.value) + 200
    assert (await b.result(cid)).status == OK
    await b.run(delete_sq, dw10=NUM_QP)
    await b.run(delete_cq, DELETION, dw10=1)
    await b.run(delete_sq, dw10=2)
    await b.run(delete_cq, dw10=1)
    last = b.queues[-1]
    assert (last.kind, last.valid, last.qid) == (1, 0, 1)
    await b.run(create_cq, **good_cq)
    # without entry sizes in CC there are no I/O queues
    await b.disable()
    await b.enable(cc=1)
    await b.run(create_cq, QUEUE_SIZE, **good_cq)


@cocotb.test()
async def features(dut):
    b = await started(dut, 4)

    async def get(fid: int, status: int = OK, sel: int = 0, **fields: int) -> int:
        return (await b.run(0x0A, status, dw10=fid | sel << 8, **fields)).dw0

    async def put(fid: int, value: int, status: int = OK, sv: int = 0, **fields: int) -> int:
        return (await b.run(0x09, status, dw10=fid | sv << 31, dw11=value, **fields)).dw0

    supported = (1, 2, 4, 5, 6, 7, 8, 9, 0xA, 0xB, 0xE, 0xF, 0x16, 0x19, 0x80)
    saveable = (1, 6, 8, 0xA, 0xB, 0x80)
    for fid in (*range(0x1A), 0x7E, 0x7F, 0x80, 0x81, 0x82, 0xC0, 0xFF):
        if fid not in supported:
            await get(fid, BAD_FIELD)
            await put(fid, 0, BAD_FIELD)
            continue
        for sel in range(3):
            await get(fid, sel=sel, nsid=int(fid == 5))
        cap = await get(fid, sel=3)
        assert cap & 1 == (fid in saveable) and cap >> 2 & 1 and (cap >> 1 & 1) == (fid == 5)
        await get(fid, BAD_FIELD, sel=4)
        if fid not in saveable:
            await put(fid, 1, NOT_SAVEABLE, sv=1)
    assert await get(1) == await get(1, sel=1)
    await put(1, 0x11223305)
    assert await get(1) == 0x11223305 and await get(1, sel=1) != 0x11223305 and await get(1, sel=2) != 0x11223305
    assert (b.arb_cfg.burst, b.arb_cfg.weight_low) == (5, 0x33)
    assert (b.arb_cfg.weight_medium, b.arb_cfg.weight_high) == (0x22, 0x11)
    await put(2, 1, BAD_FIELD)
    await put(2, 0)
    assert await get(4) == 343 and await get(4, dw11=1 << 20) == 0
    await put(4, 350)
    await put(4, 1 << 20 | 250)
    assert await get(4) == 350 and await get(4, dw11=1 << 20) == 250 and await get(4, sel=1) == 343
    await put(4, 2 << 20 | 250, BAD_FIELD)
    await put(4, 1 << 16 | 250, BAD_FIELD)
    await get(4, BAD_FIELD, dw11=1 << 16)
    await put(5, 7, nsid=1)
    assert await get(5, nsid=1) == 7
    await put(5, 9, nsid=NSID_ALL)
    assert await get(5, nsid=1) == 9
    for nsid in (0, NSID_ALL):  # which of them?
        await get(5, BAD_NS, nsid=nsid)
    await put(5, 7, BAD_NS)
    for fid in (1, 4, 8, 0xB):  # the controller's
        await put(fid, 0, NOT_PER_NS, nsid=1)
        await put(fid, 0, BAD_NS, nsid=77)
        await get(fid, nsid=1)
    await put(5, 1 << 16, BAD_FIELD, nsid=1)
    await put(5, 7, BAD_FIELD, nsid=2)  # inactive
    await put(5, 7, BAD_NS, nsid=3)
    await get(5, BAD_NS, nsid=77)
    assert await get(6) == 1
    b.media.clear()
    await put(6, 1)
    assert not b.media and dut.cache_off.value == 0
    await put(6, 0)
    assert b.media == [(0, 0, 0)] and dut.cache_off.value == 1 and await get(6) == 0, "what was written is durable"
    b.media_error = True
    await put(6, 0, WRITE_FAULT)
    b.media_error = False
    queues = (NUM_QP - 1) << 16 | NUM_QP - 1
    assert await put(7, 0x00FF00FF) == queues and await get(7) == queues
    await put(7, 0xFFFF, BAD_FIELD)
    await put(7, 0xFFFF0000, BAD_FIELD)
    await put(8, 0x0A07)
    assert await get(8) == 0x0A07 and b.coalesce_cfg.threshold == 7 and b.coalesce_cfg.time_100us == 10
    for vector in range(NUM_VEC):
        assert await get(9, dw11=vector) == vector
    await put(9, 1 << 16 | 3)
    assert await get(9, dw11=3) == 1 << 16 | 3 and await get(9, dw11=2) == 2 and b.vectors == [(3, 1)]
    await put(9, 1 << 16 | NUM_VEC, BAD_FIELD)
    await get(9, BAD_FIELD, dw11=NUM_VEC)
    await put(0xA, 1)
    assert await get(0xA) == 1
    await put(0xB, 0xFFFFFFFF)
    assert await get(0xB) == 0x11F
    b.write(0x50FFC, struct.pack("<I", 0x89ABCDEF))
    b.write(0x61000, struct.pack("<I", 0xFFFF0123))
    await put(0xE, 0, prp1=0x50FFC, prp2=0x61000)  # across two pages
    dut.time_us.value = 5_000_500
    await ClockCycles(dut.clk, 2)
    await get(0xE, prp1=0x70000)
    assert b.read(0x70000, 8) == (0x012389ABCDEF + 5000).to_bytes(6, "little") + b"\2\0"
    assert b.read(0x70008, 4) == b"\xee" * 4
    b.bad_reads.add(0x50)
    await put(0xE, 0, DATA_ERROR, prp1=0x50FFC, prp2=0x61000)
    # Host Behavior Support: a page of which a byte says that the host knows of retry delays
    b.write(0x50F00, bytes([1]) + bytes(511))
    b.write(0x61000, bytes(4096))
    await put(0x16, 0, prp1=0x50F00, prp2=0x61000, status=DATA_ERROR)  # page 50h is bad, still
    b.bad_reads.clear()
    await put(0x16, 0, prp1=0x50F00, prp2=0, status=BAD_FIELD)
    await put(0x16, 0, prp1=0x50F00, prp2=0x61000)
    await get(0x16, prp1=0x70000)
    assert b.read(0x70000, 512) == bytes([1]) + bytes(511) and b.read(0x70200, 4) == b"\xee" * 4
    for i in (0, 1, 2):
        b.write(0x50F00, bytes(i) + bytes([2 - (i > 0)]) + bytes(3))
        await put(0x16, 0, prp1=0x50F00, prp2=0x61000, status=BAD_FIELD)
    # what the host has not given is not touched: PRP2 that is needed and 0, SGLs, lines around PRPs
    await put(0xE, 0, BAD_FIELD, prp1=0x50FFC)
    await put(0xE, 0, BAD_FIELD, flags=0x40)
    await put(0x80, 0x54, BAD_FIELD, flags=0x80)
    await b.run(6, BAD_FIELD, dw10=1, prp1=0x10800)
    await b.run(2, BAD_FIELD, nsid=NSID_ALL, dw10=5 | 0x3FF << 16, prp1=0x10004)
    assert 0 not in b.memory
    b.read_ranges.clear()
    await put(0xE, 0, prp1=0x70FC4)
    assert b.read_ranges == [(0x70FC4, 8)]
    await put(0x19, 0)
    await put(0x19, 1, REJECTED)
    await put(0x80, 0x55)
    await b.run(5, prp1=0x1000, dw10=63 << 16 | 1, dw11=1)
    await put(7, 0x00010001, SEQUENCE)
    # a controller reset brings the defaults back, except what is not volatile
    await b.disable()
    await b.enable()
    assert await get(1) == await get(1, sel=1) and await get(8) == 0 and await get(9, dw11=3) == 3
    assert b.vectors[-1] == (3, 0) and b.coalesce_cfg.threshold == 0
    assert await get(0xB) == 0 and await get(4) == 343 and await get(0x80) == 0x55


async def get_log(b: Bench, lid: int, size: int, status: int = OK, *, nsid: int = NSID_ALL, offset: int = 0,
                  rae: int = 0, dw14: int = 0, pages: list[int] | None = None, list_at: int = 0) -> bytes:  # fmt: skip
    """Get Log Page into pages[0] (any offset), then the pages that follow, by list if there are more than two."""
    pages = pages or [0x10000]
    b.write(pages[0], b"\xdd" * (4096 - (pages[0] & 4095)))
    prp2 = 0
    if len(pages) == 2:
        prp2 = pages[1]
    elif len(pages) > 2:
        prp2 = list_at
        b.write(list_at, b"".join(struct.pack("<Q", p) for p in pages[1:]))
    numd = size // 4 - 1
    await b.run(2, status, nsid=nsid, dw10=lid | rae << 15 | (numd & 0xFFFF) << 16, dw11=numd >> 16,
                dw12=offset & 0xFFFFFFFF, dw13=offset >> 32, dw14=dw14, prp1=pages[0], prp2=prp2)  # fmt: skip
    out = b""
    for p in pages:
        out += b.read(p, 4096 - (p & 4095))
    if len(out) > size:
        assert out[size : size + 4] in (b"\xee" * 4, b"\xdd" * 4), "written behind the data"
    return out[:size]


@cocotb.test(skip=not LONG)
async def log_pages(dut):
    b = await started(dut, 5)
    effects = await get_log(b, 5, 4096)
    admin = {op for op in range(256) if effects[4 * op] & 1}
    io = {op for op in range(256) if effects[1024 + 4 * op] & 1}
    assert admin == {0, 1, 2, 4, 5, 6, 8, 9, 0xA, 0xC, 0xD, 0x15, 0x18, 0x80} and io == {0, 1, 2, 5, 8, 9, 0xC}
    assert u(effects, 4 * 0x80, 4) & 0x70007 == 0x20007, "Format: changes data and capabilities, alone"
    assert u(effects, 4 * 0xD, 4) & 8 and u(effects, 4 * 0x15, 4) & 8, "they change which namespaces there are"
    assert all(effects[1024 + 4 * op] & 2 for op in (1, 8, 9)) and not any(effects[2048:])
    pages = await get_log(b, 0, 1024)
    assert {i for i in range(256) if pages[4 * i] & 1} == {0, 1, 2, 3, 4, 5, 0x12, 0x13}
    features = await get_log(b, 0x12, 1024)
    there = {*range(1, 3), *range(4, 12), 14, 15, 0x16, 0x19, 0x80, 0x84}
    assert {i for i in range(256) if features[4 * i] & 1} == there
    firmware = await get_log(b, 3, 512)
    assert firmware[0] == 1 and firmware[8:16] == b"0.1.0   " and not any(firmware[16:])

    b.counters.set(read_sectors=1_000_001, write_sectors=(5 << 32) * 1000, read_cmds=0x1_2345_6789, write_cmds=77,
                   media_errors=3)  # fmt: skip
    dut.time_us.value = 7 * 3600 * 10**6 + 1
    await ClockCycles(dut.clk, 2)
    smart = await get_log(b, 2, 512)
    assert smart[0] == 0 and u(smart, 1, 2) == 313 and smart[3] == 100 and smart[4] < 100 and smart[5] == 0
    assert u(smart, 32, 16) == 1001 and u(smart, 48, 16) == 5 << 32
    assert u(smart, 64, 16) == 0x1_2345_6789 and u(smart, 80, 16) == 77 and u(smart, 160, 16) == 3
    assert u(smart, 128, 16) == 7 and u(smart, 112, 16) >= 1
    assert u(smart, 176, 16) == 0, "no errors yet"

    # errors: an admin command's, then an I/O command's from the hardware
    await b.run(0xFF, BAD_OPCODE, nsid=5)
    failed = b.cid
    await FallingEdge(dut.clk)
    b.err.set(sqid=4, cid=0xBEEF, status=0x4281, nsid=1, lba=0x1122334455667788)
    dut.s_err_valid.value = 1
    await RisingEdge(dut.s_err_ready)
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.s_err_valid.value = 0
    log = await get_log(b, 1, 32 * 64)
    assert u(log, 0, 8) == 2 and u(log, 8, 2) == 4 and u(log, 10, 2) == 0xBEEF and u(log, 12, 2) == 0x4281 << 1
    assert u(log, 16, 8) == 0x1122334455667788 and u(log, 24, 4) == 1
    assert u(log, 64, 8) == 1 and u(log, 72, 2) == 0 and u(log, 74, 2) == failed and u(log, 76, 2) == 0x4001 << 1
    assert not any(log[128:])
    assert u(await get_log(b, 2, 512), 176, 16) == 2

    # any length and place: a second page, lists, a list that goes on elsewhere, the end of the log page
    assert await get_log(b, 5, 4) == effects[:4]
    assert await get_log(b, 5, 100, offset=512) == effects[512:612]
    assert await get_log(b, 5, 4096, pages=[0x10FFC, 0x20000]) == effects
    assert await get_log(b, 5, 4096, offset=1024) == effects[1024:] + bytes(1024)
    assert await get_log(b, 5, 8192, pages=[0x10010, 0x20000, 0x9_0003_0000], list_at=0x40018) == effects + bytes(4096)
    chain = struct.pack("<QQ", 0x20000, 0x50000)
    b.write(0x40FF0, chain)
    b.write(0x50000, struct.pack("<QQ", 0x30000, 0x60000))
    prp = dict(nsid=NSID_ALL, prp1=0x10800, prp2=0x40FF0, dw10=5 | 0x0BFF << 16)  # 12 KiB: 0.5, 1, 1, 0.5 pages
    b.write(0x50008, struct.pack("<Q", 0x60000))
    await b.run(2, **prp)
    assert b.read(0x10800, 2048) + b.read(0x20000, 2048) == effects
    assert not any(b.read(0x20800, 2048) + b.read(0x30000, 4096) + b.read(0x60000, 2048))
    b.write(0x50000, struct.pack("<Q", 0x30010))
    await b.run(2, BAD_OFFSET, **prp)
    b.write(0x50000, struct.pack("<Q", 0x30000))
    b.bad_reads.add(0x50)
    await b.run(2, DATA_ERROR, **prp)
    await b.run(2, BAD_OFFSET, **{**prp, "prp2": 0x40FF4})

    for lid in (6, 7, 8, 9, 0xA, 0xD, 0x70, 0x80, 0xC0, 0xFF):
        await get_log(b, lid, 64, BAD_LOG)
    await get_log(b, 2, 512, BAD_FIELD, offset=516)
    await get_log(b, 2, 512, BAD_FIELD, offset=1 << 40)
    await get_log(b, 2, 512, BAD_FIELD, offset=2)
    await get_log(b, 2, 512, BAD_FIELD, nsid=1)
    await get_log(b, 2, 512, BAD_NS, nsid=9)
    await get_log(b, 2, 512, BAD_FIELD, dw14=1 << 23)
    await get_log(b, 5, 2048, BAD_FIELD, dw14=1 << 24)
    await get_log(b, 1, (1 << 20) + 4, BAD_FIELD)
    assert await get_log(b, 2, 512, nsid=0) != b""
    # a storm of errors of I/O commands: admin commands are served all the same
    d_err = dut.s_err_valid
    await FallingEdge(dut.clk)
    b.err.set(sqid=2, cid=1, status=0x4281, nsid=1, lba=5)
    d_err.value = 1  # and never again 0: the next one is there at once
    await ClockCycles(dut.clk, 5_000)
    assert u(await get_log(b, 2, 512), 1, 2) == 313
    await FallingEdge(dut.clk)
    d_err.value = 0
    # more errors than the log holds: the newest 32
    for _ in range(30):
        await b.run(0x7F, BAD_OPCODE)
    log = await get_log(b, 1, 32 * 64)
    newest = u(log, 0, 8)
    assert [u(log, 64 * i, 8) for i in range(32)] == [newest - i for i in range(32)]


@cocotb.test()
async def events_and_abort(dut):
    b = await started(dut, 6)
    aer = [await b.send(0x0C) for _ in range(4)]
    await b.run(0x0C, AER_LIMIT)
    assert not b.completions

    async def doorbell(kind: int, qid: int) -> None:
        await FallingEdge(dut.clk)
        b.doorbell_err.set(kind=kind, qid=qid)
        dut.s_doorbell_err_valid.value = 1
        await FallingEdge(dut.clk)
        dut.s_doorbell_err_valid.value = 0

    await doorbell(1, 9)
    await b.until(lambda: len(b.completions) == 1)
    event = b.completions.pop()
    assert event.status == OK and event.cid in aer and event.dw0 == 0x010100, "error, invalid doorbell value, log 1"
    aer.remove(event.cid)
    await doorbell(0, 200)  # masked until the log has been read
    await b.asleep()
    await get_log(b, 1, 64, rae=1)
    await doorbell(0, 200)
    await b.asleep()
    assert not b.completions
    await get_log(b, 1, 64)
    await doorbell(0, 200)
    await b.until(lambda: len(b.completions) == 1)
    event = b.completions.pop()
    assert event.dw0 == 0x010000
    aer.remove(event.cid)

    # temperature: a threshold below it warns, if the host wants to know
    await b.run(0x09, dw10=4, dw11=300)
    assert (await get_log(b, 2, 512))[0] == 2
    await b.asleep()
    assert not b.completions
    await b.run(0x09, dw10=0xB, dw11=2)
    await b.until(lambda: len(b.completions) == 1)
    event = b.completions.pop()
    assert event.dw0 == 0x020101
    aer.remove(event.cid)
    assert len(aer) == 1

    # Abort: an event request that waits can be; anything else is said not to have been
    assert (await b.run(0x08, dw10=0x7777 << 16)).dw0 == 1
    assert (await b.run(0x08, dw10=aer[0] << 16 | 1)).dw0 == 1
    assert (await b.run(0x08, dw10=aer[0] << 16)).dw0 == 0
    assert (await b.result(aer[0])).status & ~DNR == ABORTED

    # an event with no request waits for one
    await get_log(b, 1, 64)
    await doorbell(1, 1)
    await b.asleep()
    event = await b.result(await b.send(0x0C))
    assert event.dw0 == 0x010100
    # a reset forgets requests
    await b.send(0x0C)
    await b.asleep()
    await b.disable()
    await b.enable()
    for _ in range(4):
        await b.send(0x0C)
    await b.run(0x0C, AER_LIMIT)
    assert not b.completions


@cocotb.test()
async def keep_alive(dut):
    b = await started(dut, 7)
    await b.run(0x18)
    dut.time_us.value = 1_000_000
    await b.run(0x09, dw10=0x0F, dw11=1500)
    assert (await b.run(0x0A, dw10=0x0F)).dw0 == 2000, "rounded up to a second"
    await b.asleep()
    assert int(dut.wake_us.value) == 3_000_000
    dut.time_us.value = 2_900_000
    await b.run(0x18)
    await b.asleep()
    assert int(dut.wake_us.value) == 4_900_000 and b.csts.cfs == 0
    dut.time_us.value = 4_899_999
    await ClockCycles(dut.clk, 3000)
    assert b.csts.cfs == 0 and dut.cpu_idle.value == 1
    dut.time_us.value = 4_900_000
    await b.until(lambda: b.csts.cfs == 1, 5000, "CFS after Keep Alive ran out")
    assert b.control.run == 0
    await b.asleep()
    assert int(dut.wake_us.value) == (1 << 64) - 1
    await b.disable()
    assert b.csts.cfs == 0
    await b.enable()
    assert (await b.run(0x0A, dw10=0x0F)).dw0 == 0
    assert u(await get_log(b, 1, 64), 12, 2) >> 1 & 0xFF == 0x19, "Keep Alive Timeout Expired"


@cocotb.test()
async def time_goes_on_behind_32_bits(dut):
    """After 71 minutes the lower word of the time begins anew: what is due before and after comes when it is due."""
    b = await started(dut, 23)
    low_ends = 1 << 32
    dut.time_us.value = low_ends - 2_500_000
    await b.run(0x09, dw10=0x0F, dw11=2000)
    await b.asleep()
    assert int(dut.wake_us.value) == low_ends - 500_000
    dut.time_us.value = low_ends - 500_001
    await b.run(0x18)
    await b.asleep()
    assert int(dut.wake_us.value) == low_ends + 1_499_999 and b.csts.cfs == 0
    for time in (low_ends - 1, low_ends, low_ends + 1_499_998):
        dut.time_us.value = time
        await ClockCycles(dut.clk, 3000)
        assert b.csts.cfs == 0 and dut.cpu_idle.value == 1
    dut.time_us.value = low_ends + 1_499_999
    await b.until(lambda: b.csts.cfs == 1, 5000, "CFS after Keep Alive ran out")
    await b.disable()
    await b.enable()


@cocotb.test()
async def format_nvm(dut):
    b = await started(dut, 8)
    for status, fields in (
        (BAD_NS, {"nsid": 0, "dw10": 0}), (BAD_FIELD, {"nsid": 2, "dw10": 0}), (BAD_NS, {"nsid": 3, "dw10": 0}),
        (BAD_FORMAT, {"nsid": 1, "dw10": 2}), (BAD_FORMAT, {"nsid": 1, "dw10": 1 << 12}),
        (BAD_FORMAT, {"nsid": 1, "dw10": 1 << 5}), (BAD_FIELD, {"nsid": 1, "dw10": 2 << 9}),
    ):  # fmt: skip
        await b.run(0x80, status, **fields)
    assert b.media == []
    dut.abort_found.value = FOUND.pack(found=1)  # the namespace has commands under way
    cid = await b.send(0x80, nsid=1, dw10=1 | 1 << 9)
    await ClockCycles(dut.clk, 15_000)
    asked = ABORT.unpack(int(dut.m_abort.value))
    assert (asked["find"], asked["key"]) == (1, 1) and gates(b) == [2] + [0] * (NUM_NS - 1)
    await b.identify(1)  # other commands go on
    dut.time_us.value = int(dut.time_us.value) + 200
    await ClockCycles(dut.clk, 15_000)
    assert b.media == [] and b.control.run == 1
    dut.abort_found.value = 0
    dut.time_us.value = int(dut.time_us.value) + 200
    assert (await b.result(cid)).status == OK
    assert b.media == zeroes(0, PAGES * 4096) and not any(gates(b))
    assert table(b) == {1: (0, PAGES, 1)}
    n = await b.identify(0, nsid=1)
    assert u(n, 0, 8) == PAGES and n[26] == 1
    await b.disable()
    await b.enable()
    assert table(b)[1][2] == 1, "a reset does not change the format"
    b.media_error = True
    await b.run(0x80, WRITE_FAULT, nsid=NSID_ALL, dw10=0)
    assert table(b)[1][2] == 1 and b.control.run == 1
    b.media_error = False
    await b.run(0x80, nsid=NSID_ALL, dw10=0)
    assert table(b)[1][2] == 0
    # a reset while the media is at it
    b.media_cycles = 20_000
    before = len(b.media)
    await b.send(0x80, nsid=1, dw10=1)
    await b.until(lambda: len(b.media) > before, 5000, "media command")
    await b.disable()
    await b.enable()
    assert b.completions == []
    assert u(await b.identify(0, nsid=1), 0, 8) in (SECTORS, PAGES)


async def create(b: Bench, nsze: int, status: int = OK, *, flbas: int = 0, ncap: int | None = None, nsid: int = 0,
                 dw11: int = 0, **fields: int) -> int:  # fmt: skip
    """Namespace Management, create; `b100` say: byte 100 of the data. The NSID."""
    data = bytearray(4096)
    struct.pack_into("<QQ", data, 0, nsze, nsze if ncap is None else ncap)
    data[26] = flbas
    for name, value in fields.items():
        data[int(name.removeprefix("b"))] = value
    b.write(0x20E10, bytes(data[:0x1F0]))  # across two pages
    b.write(0x99000, bytes(data[0x1F0:]))
    return (await b.run(0x0D, status, nsid=nsid, dw10=0, dw11=dw11, prp1=0x20E10, prp2=0x99000)).dw0


async def attach(b: Bench, nsid: int, status: int = OK, *, detach: int = 0, ids: tuple[int, ...] = (0,)) -> None:
    b.write(0x20000, struct.pack(f"<H{len(ids)}H", len(ids), *ids).ljust(4096, b"\0"))
    await b.run(0x15, status, nsid=nsid, dw10=detach, prp1=0x20000)


def gates(b: Bench) -> list[int]:
    """What becomes of commands for each namespace: 0 they pass."""
    return [b.namespaces[n]["gate"] for n in range(NUM_NS)]


def zeroes(base: int, size: int) -> list[tuple[int, int, int]]:
    """What the media is told: zeros, 16 MiB at a time, and a flush."""
    step = 16 << 20
    return [*((1, at, min(step, base + size - at)) for at in range(base, base + size, step)), (0, 0, 0)]


def table(b: Bench) -> dict[int, tuple[int, int, int]]:
    """What the data path sees: NSID to (base, blocks, 4096-byte blocks)."""
    return {n: (e["base"], e["blocks"], e["lba4k"]) for n, e in enumerate(b.namespaces, 1) if e["valid"]}


@cocotb.test(skip=not LONG)
async def namespaces(dut):
    """Create, attach, detach, delete: what the data path is told, what the media zeroes, every status."""
    b = await started(dut, 12)
    whole = {1: (0, SECTORS, 0)}
    await create(b, 8, NO_ROOM)
    await b.run(0x0D, BAD_FIELD, nsid=1, dw10=2)
    for nsid, status in ((0, BAD_NS), (3, BAD_NS), (2, BAD_FIELD)):
        await b.run(0x0D, status, nsid=nsid, dw10=1)
    assert table(b) == whole and b.media == []

    # deletion lets the commands inside end, then zeroes, then the namespace is gone
    dut.abort_busy.value = 1
    cid = await b.send(0x0D, nsid=1, dw10=1)
    await ClockCycles(dut.clk, 15_000)
    assert b.media == [] and b.control.run == 1 and table(b) == whole and gates(b)[0] == 1
    dut.abort_busy.value = 0
    assert (await b.result(cid)).status == OK and b.control.run == 1
    assert b.media == zeroes(0, PAGES * 4096) and table(b) == {}
    assert u(await b.identify(1), 296, 16) == PAGES * 4096, "UNVMCAP"
    assert not any(await b.identify(0x10)) and not any(await b.identify(0, nsid=1))
    await b.run(0x0D, BAD_FIELD, nsid=1, dw10=1)
    await b.run(0x0D, nsid=NSID_ALL, dw10=1)  # none left
    b.media.clear()

    for status, wrong in (
        (BAD_FIELD, {"nsze": 0}), (BAD_FIELD, {"ncap": 9}), (THIN, {"ncap": 7}), (THIN, {"ncap": 0}),
        (BAD_FORMAT, {"flbas": 2}), (BAD_FORMAT, {"flbas": 0x20}), (BAD_FORMAT, {"flbas": 0x40}),
        (BAD_FIELD, {"b29": 1}), (BAD_FIELD, {"b30": 1}), (BAD_FIELD, {"b92": 1}), (BAD_FIELD, {"b95": 1}),
        (BAD_FIELD, {"b100": 1}), (BAD_FIELD, {"b102": 1}), (BAD_FIELD, {"nsid": 1}), (BAD_FIELD, {"nsid": NSID_ALL}),
        (BAD_SET, {"dw11": 2 << 24}), (NO_ROOM, {"nsze": SECTORS + 1}), (NO_ROOM, {"nsze": (1 << 64) - 1}),
        (NO_ROOM, {"nsze": PAGES + 1, "flbas": 1}), (NO_ROOM, {"nsze": (1 << 64) - 1, "flbas": 1}),
    ):  # fmt: skip
        await create(b, **{"nsze": 8, "status": status, **wrong})
    b.bad_reads.add(0x20)
    await create(b, 8, DATA_ERROR)
    b.bad_reads.clear()
    await b.run(0x0D, BAD_OFFSET, prp1=0x20002)
    await create(b, PAGES + 1, NO_ROOM, flbas=1)
    log = await get_log(b, 1, 128)
    assert u(log, 32, 8) == (PAGES + 1) * 4096, "bytes that it would take"
    assert u(log, 96, 8) == 0, "of the entry before"
    assert table(b) == {} and b.media == []

    # 9 blocks take two pages; the rest as one namespace of 4096-byte blocks
    assert await create(b, 9) == 1
    assert await create(b, PAGES - 2, flbas=1) == 2
    assert b.media == [], "what is free is zero already"
    await create(b, 1, NO_NSID)
    assert table(b) == {} and b.completions == []
    assert u(await b.identify(1), 296, 16) == 0
    assert (await b.identify(0x10))[:12] == struct.pack("<III", 1, 2, 0) and not any(await b.identify(2))
    n = await b.identify(0x11, nsid=1)
    assert u(n, 0, 8) == u(n, 8, 8) == u(n, 16, 8) == 9 and u(n, 48, 16) == 8192 and n[26] == 0
    n = await b.identify(0x11, nsid=2)
    assert u(n, 0, 8) == PAGES - 2 and u(n, 48, 16) == (PAGES - 2) * 4096 and n[26] == 1
    assert not any(await b.identify(0, nsid=2)) and not any(await b.identify(0x12, nsid=2))
    await b.identify(3, BAD_NS, nsid=2)

    for nsid, status in ((0, BAD_NS), (3, BAD_NS), (NSID_ALL, BAD_FIELD)):
        await attach(b, nsid, status)
    for ids in ((), (1,), (0, 0), (0, 1), (1, 0), (0xFFFF,)):
        for detach in (0, 1):
            await attach(b, 1, BAD_LIST, ids=ids, detach=detach)
    await b.run(0x15, BAD_FIELD, nsid=1, dw10=2, prp1=0x20000)
    await attach(b, 2, NOT_ATTACHED, detach=1)
    await attach(b, 2)
    await attach(b, 2, ATTACHED)
    await attach(b, 1)
    both = {1: (0, 9, 0), 2: (8192, PAGES - 2, 1)}
    assert table(b) == both and (await b.identify(2))[:12] == struct.pack("<III", 1, 2, 0)
    assert u(await b.identify(0x12, nsid=2), 0, 4) == 1
    d = await b.identify(3, nsid=2)
    assert d[:2] == b"\2\x10" and d[20:22] == b"\3\x10" and d[40:45] == b"\4\1\0\0\0" and not any(d[44:])
    assert d[4:20] == (await b.identify(0, nsid=2))[104:120]

    # a controller reset changes none of it; a reset of the core makes it as it was
    await b.disable()
    await b.enable()
    assert table(b) == both

    # detaching waits for commands inside
    dut.abort_busy.value = 1
    b.write(0x20000, struct.pack("<HH", 1, 0))
    cid = await b.send(0x15, nsid=1, dw10=1, prp1=0x20000)
    await ClockCycles(dut.clk, 15_000)
    assert b.control.run == 1 and table(b) == both and gates(b)[0] == 1
    dut.abort_busy.value = 0
    assert (await b.result(cid)).status == OK
    assert table(b) == {2: both[2]} and b.control.run == 1 and b.media == []
    await b.run(0x80, BAD_FIELD, nsid=1, dw10=0)
    await b.run(0x80, nsid=NSID_ALL, dw10=0)  # those that are attached
    assert b.media == zeroes(8192, (PAGES - 2) * 4096) and table(b) == {2: (8192, SECTORS - 16, 0)}
    await attach(b, 1)
    size = table(b)[1]
    assert size[1] % 8
    await b.run(0x80, nsid=1, dw10=0)  # the size stays, also where it is no whole number of pages
    assert table(b)[1] == size

    # media that cannot zero it: it stays, and goes later
    b.media_error = True
    await b.run(0x0D, WRITE_FAULT, nsid=2, dw10=1)
    assert table(b) == {1: size, 2: (8192, SECTORS - 16, 0)} and b.control.run == 1
    b.media_error = False
    # a reset while the media is at it: as before, and the command has no completion
    b.media_cycles = 20_000
    before = len(b.media)
    await b.send(0x0D, nsid=2, dw10=1)
    await b.until(lambda: len(b.media) > before, 5000, "media command")
    await b.disable()
    await b.enable()
    b.media_cycles = 100
    assert b.completions == [] and (await b.identify(0x10))[:8] == struct.pack("<II", 1, 2)
    ids = (await b.identify(0x11, nsid=1))[104:128], await b.identify(3, nsid=1)
    b.media.clear()
    await b.run(0x0D, nsid=NSID_ALL, dw10=1)
    assert b.media == zeroes(0, 8192) + zeroes(8192, (PAGES - 2) * 4096) and table(b) == {}

    # first fit, and identifiers that no namespace of this number has had
    assert [await create(b, 8), await create(b, 16)] == [1, 2]
    await b.run(0x0D, nsid=1, dw10=1)
    await create(b, SECTORS - 16, NO_ROOM)  # in one piece
    assert await create(b, 9) == 1
    await attach(b, 1)
    await attach(b, 2)
    assert table(b) == {1: (3 * 4096, 9, 0), 2: (4096, 16, 0)}
    assert (await b.identify(0, nsid=1))[104:128] != ids[0] and await b.identify(3, nsid=1) != ids[1]
    assert not any((await b.identify(0, nsid=1))[120:128]), "no EUI-64"
    ids = (await b.identify(0, nsid=1))[104:128]
    await b.power_cycle()
    assert table(b) == {1: (3 * 4096, 9, 0), 2: (4096, 16, 0)} and (await b.identify(0, nsid=1))[104:128] == ids
    b.store.clear()  # another media
    await b.power_cycle()
    assert table(b) == whole


@cocotb.test(skip=not LONG)
async def without_power(dut):
    """What was set comes back: namespaces, formats, attachment, features, counters. What was not saved does not."""
    b = await started(dut, 14)

    async def feature(fid: int, value: int, sv: int = 0) -> None:
        await b.run(0x09, dw10=fid | sv << 31, dw11=value)

    async def features() -> list[int]:
        return [(await b.run(0x0A, dw10=fid | sel << 8)).dw0 for sel in (0, 2) for fid in (1, 8, 0xB, 4, 0x80)]

    default = await features()
    b.counters.set(read_sectors=3_000_000, write_sectors=1000, read_cmds=70, write_cmds=5, media_errors=2)
    dut.time_us.value = 5 * 3600 * 10**6
    await feature(1, 0x11223305, 1)
    await feature(8, 0x0A07, 1)
    await feature(8, 0x0B08)
    await feature(0xB, 0x11F)
    await feature(4, 350)
    await feature(0x80, 0x77)  # is kept whether that is asked for or not
    assert await features() == [0x11223305, 0x0B08, 0x11F, 350, 0x77, 0x11223305, 0x0A07, default[7], 343, 0x77]
    await b.run(0x80, nsid=1, dw10=1)
    await b.run(0x0D, nsid=1, dw10=1)
    assert [await create(b, 9), await create(b, 5, flbas=1)] == [1, 2]
    await attach(b, 2)
    seen = table(b)
    assert seen == {2: (8192, 5, 1)}
    await b.disable()
    await b.enable()
    want = [0x11223305, 0x0A07, default[2], 343, 0x77]
    assert await features() == want * 2
    smart = await get_log(b, 2, 512)
    for _ in range(2):
        await b.power_cycle()
        assert table(b) == seen and await features() == want * 2
        assert (b.arb_cfg.burst, b.coalesce_cfg.threshold, b.coalesce_cfg.time_100us) == (5, 7, 10)
        assert (await b.identify(0x10))[:8] == struct.pack("<II", 1, 2) and u(await b.identify(0x11, nsid=1), 0, 8) == 9
    b.counters.set(read_sectors=0, write_sectors=0, read_cmds=0, write_cmds=0, media_errors=0)
    dut.time_us.value = 0
    await b.power_cycle()
    later = await get_log(b, 2, 512)
    for at in (32, 48, 64, 80, 160):  # those of three power-ons
        assert 0 <= 3 * u(smart, at, 16) - u(later, at, 16) <= 2, at
    assert u(later, 128, 16) == u(smart, 128, 16) == 5, "hours"
    assert u(later, 112, 16) == u(smart, 112, 16) + 3 and u(later, 144, 16) == u(smart, 144, 16) + 3
    # nor is a link reset, and it is no power cycle: the hardware counts on
    b.counters.set(read_sectors=500_000, write_sectors=9, read_cmds=3, write_cmds=1, media_errors=1)
    before = await get_log(b, 2, 512)
    await b.power_cycle(power=False)
    assert table(b) == seen and await features() == want * 2
    after = await get_log(b, 2, 512)
    assert [u(after, at, 16) for at in (112, 144)] == [u(before, at, 16) for at in (112, 144)]
    b.counters.set(read_sectors=0, write_sectors=0, read_cmds=0, write_cmds=0, media_errors=0)
    await b.power_cycle()
    later = await get_log(b, 2, 512)
    assert u(later, 112, 16) == u(before, 112, 16) + 1
    # a shutdown is none that is unsafe
    await b.write_cc(0x464001)
    await b.until(lambda: b.csts.shst == 2)
    await b.power_cycle()
    assert u(await get_log(b, 2, 512), 144, 16) == u(later, 144, 16)
    # the newest copy is broken: what was saved before it. Both: that is said
    await attach(b, 1)
    newest = max((PAGES << 12, PAGES + AREA // 2 << 12), key=lambda at: b.store[at + 64])
    b.store[newest + 64 * 6] ^= 1
    await b.power_cycle()
    assert table(b) == seen and (await get_log(b, 2, 512))[0] == 0
    for at in (PAGES << 12, PAGES + AREA // 2 << 12):
        b.store[at + 64 * 6] ^= 4
    await b.power_cycle()
    assert table(b) == {1: (0, SECTORS, 0)} and (await get_log(b, 2, 512))[0] == 4


@cocotb.test(skip=not LONG)
async def namespace_notices(dut):
    """Changed Namespace List and its event, if the host wants it."""
    b = await started(dut, 13)
    assert not any(await get_log(b, 4, 4096))
    aer = [await b.send(0x0C) for _ in range(3)]
    await attach(b, 1, detach=1)
    await b.asleep()
    assert not b.completions, "not asked for"
    assert await get_log(b, 4, 8) == struct.pack("<II", 1, 0) and not any(await get_log(b, 4, 4096))
    await b.run(0x09, dw10=0xB, dw11=1 << 8)
    await b.run(0x0D, nsid=1, dw10=1)  # not attached: nobody sees a difference
    assert [await create(b, 8), await create(b, 8)] == [1, 2]
    await b.asleep()
    assert not b.completions and not any(await get_log(b, 4, 4096))
    await attach(b, 2)
    await b.until(lambda: len(b.completions) == 1)
    event = b.completions.pop()
    assert event.status == OK and event.cid in aer and event.dw0 == 0x040002, "notice, attributes, log 4"
    await attach(b, 1)  # masked until the log has been read, but in it
    await b.asleep()
    assert not b.completions and await get_log(b, 4, 12, rae=1) == struct.pack("<III", 1, 2, 0)
    await attach(b, 1, detach=1)
    await b.asleep()
    assert not b.completions and await get_log(b, 4, 4096) == struct.pack("<III", 1, 2, 0).ljust(4096, b"\0")
    for what in ("format", "delete"):
        if what == "format":
            await b.run(0x80, nsid=2, dw10=0)  # as it was: no change
            await b.asleep()
            assert not b.completions and not any(await get_log(b, 4, 64))
            cid = await b.send(0x80, nsid=2, dw10=1)
        else:
            cid = await b.send(0x0D, nsid=2, dw10=1)
        assert (await b.result(cid)).status == OK
        await b.until(lambda: len(b.completions) == 1, what=what)
        assert b.completions.pop().dw0 == 0x040002
        assert (await get_log(b, 4, 64)) == struct.pack("<I", 2).ljust(64, b"\0")
    # with no request it waits; a reset forgets it and the list
    await attach(b, 1)
    await b.asleep()
    assert not b.completions
    assert (await b.result(await b.send(0x0C))).dw0 == 0x040002
    await b.disable()
    await b.enable()
    assert not any(await get_log(b, 4, 4096))
    await get_log(b, 4, 64, BAD_NS, nsid=1)
    # one that waits is taken back when the log is read first
    await b.run(0x09, dw10=0xB, dw11=1 << 8)
    await attach(b, 1, detach=1)
    assert u(await get_log(b, 4, 4), 0, 4) == 1
    await b.send(0x0C)
    await b.asleep()
    assert not b.completions


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


@cocotb.test()
async def many_at_once(dut):
    """Bursts of random commands, good and bad: each completes once, in order, and the ring never loses one."""
    b = await started(dut, 10)
    rng = random.Random(11)
    for _ in range(4):
        sent = []
        for _ in range(25):
            opcode = rng.choice((0x02, 0x06, 0x08, 0x09, 0x0A, 0x18, 0x7F, rng.randrange(256)))
            if opcode in (0x0C, 0x0D, 0x80):
                continue
            sent.append(await b.send(
                opcode, nsid=rng.choice((0, 1, 2, NSID_ALL)), prp1=rng.randrange(1 << 20) & ~3,
                prp2=rng.randrange(1 << 8) << 12,
                dw10=rng.choice((rng.getrandbits(32), rng.randrange(16), 0x3FF << 16 | rng.randrange(6))),
                dw11=rng.choice((0, 0, rng.getrandbits(8))),
            ))  # fmt: skip
        expected = len(sent)
        await b.until(lambda n=expected: len(b.completions) == n, 600_000, "all completions")
        assert [c.cid for c in b.completions] == sent
        b.completions.clear()
        await b.asleep()
    assert b.csts.cfs == 0


@cocotb.test()
async def the_stack_is_as_deep_as_it_can_be_or_less(dut):
    """What of it was written since the first of these tests began, beside the bound (tests/firmware/test_stack.py)."""
    b = await started(dut, 22)
    await b.asleep()
    stack, bound = stack_of(dut), int(os.environ["STACK_BOUND"])
    used = 4 * (len(stack) - next(i for i, word in enumerate(stack) if int(word.value) != PAINT))
    dut._log.info(f"stack: {used} bytes of {bound}")
    assert 200 < used <= bound


@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_db_ssd_admin(long: bool) -> None:
    import rtl_bench as bench
    from doorbell import build, paths
    from doorbell.build.firmware_stack import measure
    from doorbell.build.riscv import load

    gen = build.regs() / "rtl"
    places, deepest = load(build.linked()).values, measure(build.linked()).deepest
    stack = {"STACK_END": places["bss_end"], "STACK_TOP": places["stack_top"], "STACK_BOUND": deepest}
    bench.run(
        __file__, "db_ssd_admin", {"NUM_QP": NUM_QP, "NUM_VEC": NUM_VEC, "NUM_NS": NUM_NS, "SGL": 1},
        extra_sources=(gen / "db_ssd_fw_regs_pkg.sv", gen / "db_ssd_fw_regs.sv", paths.picorv32()),
        files={"fw.hex": build.firmware()}, inside=("db_ssd_admin_ram",),
        env={"LONG": str(int(long)), **{name: str(value) for name, value in stack.items()}},
    )  # fmt: skip
