# SPDX-License-Identifier: Apache-2.0
"""What the tests of db_ssd_admin share: a host and a media around it, statuses, and how to ask for what is used often.

Offsets and codes stand here and in the tests as the NVMe Base Specification 2.0 and the NVM Command Set Specification
1.0 give them; nothing is shared with the firmware's sources.
"""

from __future__ import annotations

import os
import random
import struct
from dataclasses import dataclass

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, First, RisingEdge, Timer
from structs import Layout, Port, layout

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
    """Words of the memory behind all variables; none where nobody has said where these are."""
    if "STACK_END" not in os.environ:
        return []
    end, top = (int(os.environ[name]) // 4 for name in ("STACK_END", "STACK_TOP"))
    return [dut.i_mem.g_one.i_ram.mem[i] for i in range(end, top)]


def ssd(name: str) -> Layout:
    return layout("db_ssd_pkg", name)


NAMESPACE = ssd("namespace_t")
ABORT = ssd("abort_cmd_t")
FOUND = ssd("abort_found_t")


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
        self.post = Port(dut.m_post, layout("db_pcie_block_pkg", "post_t"))
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


def u(data: bytes, at: int, n: int) -> int:
    return int.from_bytes(data[at : at + n], "little")


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
