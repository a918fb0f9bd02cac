# SPDX-License-Identifier: Apache-2.0
"""db_host_control with the drive of host_drive_model.py behind RQ and RC, and the admin buffer behind its dword
port."""

from __future__ import annotations

import logging
import os
import random
import sys
from collections import deque
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from host_drive_model import CRS, UR, Drive, Options
from pcie_rc_model import BAD_STATUS, Packet, RcBeat, Straddler, rc_beats, rc_packet
from pcie_rq_model import RqUnpacker
from structs import constant, enum, layout

MS = 32  # cycles of a millisecond here
HALF_MS = 4
WINDOW, BAR = 0x12_3400_0000, 0x4_5670_0000
MASK32 = 0xFFFFFFFF
SQ = constant("db_host_pkg", "ADMIN_BUF_SQ")  # dword address of the admin submission queue
DWORD, ENTRY = layout("db_host_pkg", "admin_buf_t"), layout("db_host_pkg", "admin_entry_t")
DOORBELL, LATE = layout("db_host_pkg", "doorbell_t"), layout("db_host_pkg", "late_cmd_t")
FACTS, SETTINGS = layout("db_host_pkg", "drive_facts_t"), layout("db_host_pkg", "settings_t")
RAW, RAW_ANSWER = layout("db_host_control_pkg", "raw_access_t"), layout("db_host_control_pkg", "acc_answer_t")
ADMIN_ANSWER = layout("db_host_control_pkg", "admin_answer_t")


def names(prefix: str) -> dict[int, str]:
    """The values of an enum of db_host_control_pkg, by number."""
    values = enum("db_host_control_pkg", f"{prefix.lower()}_e")
    return {number: name.removeprefix(f"{prefix}_") for name, number in values.items()}


def run(test_file: str, width: int, **parameters: int) -> None:
    """Build and run db_host_control for one test file."""
    sys.path.insert(0, str(bench.ROOT / "python"))
    from doorbell import build

    gen = build.regs() / "rtl"
    params = {"DATA_W": width, "MS_CYCLES": MS, "HALF_MS": HALF_MS, "ATTEMPTS": 2, **parameters}
    bench.run(
        test_file, "db_host_control", params,
        extra_sources=(gen / "db_host_regs_pkg.sv", gen / "db_host_regs.sv"),
        env={"DATA_W": str(width), "NUM_QP": str(parameters.get("NUM_QP", 1))},
    )


class RqPort:
    """Takes RQ apart into packets of dwords, at any width."""

    def __init__(self, dut: Any, width: int) -> None:
        self.dut, self.width = dut, width
        self.unpacker = RqUnpacker()
        self.part: list[int] = []
        self.be = 0
        self.held: tuple[int, ...] | None = None

    def look(self, ready: bool, cycle: int) -> list[tuple[list[int], int]]:
        """Packets that ended: dwords and first byte enables."""
        d = self.dut
        if not int(d.m_axis_rq_tvalid.value):
            assert self.held is None, "RQ withdrawn"
            return []
        beat = (int(d.m_axis_rq_tdata.value), int(d.m_axis_rq_tkeep.value), int(d.m_axis_rq_tlast.value),
                int(d.m_axis_rq_tuser.value))
        assert self.held in (None, beat), "RQ changed in a stall"
        self.held = None if ready else beat
        if not ready:
            return []
        data, keep, last, user = beat
        if self.width == 512:
            done = self.unpacker.beat(cycle, data, keep, last, user)
            assert all(p.last_be == 0 for p in done)
            return [(p.dwords, p.first_be) for p in done]
        lanes = keep.bit_length()
        assert keep == (1 << lanes) - 1 and lanes
        if not self.part:
            assert user & ~0xF == 0, "last byte enables of one dword are 0"
            self.be = user
        self.part += [data >> 32 * i & MASK32 for i in range(lanes)]
        if not last:
            return []
        part, self.part = self.part, []
        return [(part, self.be)]


class Bench:
    def __init__(self, dut: Any, options: Options, seed: int = 1, stall: float = 0.3) -> None:
        self.dut, self.rng, self.stall = dut, random.Random(seed), stall
        self.width = int(os.environ["DATA_W"])
        self.rq = RqPort(dut, self.width)
        self.memory = [0] * 1088
        self.drive = Drive(options, self.fetch, self.store, self.complete)
        self.cqes: deque[tuple[int, int, int]] = deque()  # not before cycle, index, entry
        self.answers: list[tuple[int, Packet]] = []
        self.beats: list[RcBeat] = []
        self.straddler = Straddler()
        self.cycle = 0
        self.read_dword: int | None = None  # of the admin buffer, a cycle ago
        self.requests: list[tuple[str, int, int]] = []
        self.delay_rc = 0  # more cycles before each answer
        self.tags: list[int] = []
        self.axil: AxiLiteMaster | None = None
        self.watch: list[Any] = []

    # ------------------------------------------------------------------ what the drive does to memory
    def fetch(self, addr: int) -> list[int]:
        offset = addr - WINDOW
        assert offset % 64 == 0 and 0 <= offset < 256, "admin submission queue"
        return self.memory[SQ + offset // 4 : SQ + offset // 4 + 16]

    def store(self, addr: int, data: bytes) -> None:
        assert addr == WINDOW + 0x2000 and len(data) == 4096
        self.memory[:1024] = [int.from_bytes(data[i:i + 4], "little") for i in range(0, 4096, 4)]

    def complete(self, addr: int, entry: int) -> None:
        index = (addr - WINDOW - 0x1000) // 16
        assert 0 <= index < 4
        self.cqes.append((self.cycle + self.rng.randint(1, 30), index, entry))

    # ------------------------------------------------------------------ a cycle
    async def start(self, link: bool = True, bar: int = BAR) -> None:
        d = self.dut
        for name in ("s_axis_rc_tvalid", "s_axis_rc_tdata", "s_axis_rc_tkeep", "s_axis_rc_tlast", "s_axis_rc_tuser",
                     "m_axis_rq_tready", "s_adm_valid", "s_adm_data", "m_adm_ready", "s_reg_valid", "s_reg",
                     "s_admin_buf_ready", "s_admin_buf_rdata", "s_entry_valid", "s_entry", "s_doorbell_valid",
                     "s_doorbell", "s_late_valid", "s_late", "s_io_done", "s_damaged", "stat_cqe", "stat_bad"):
            getattr(d, name).value = 0
        d.s_idle.value = 1
        d.link_up.value = int(link)
        d.cfg_mps_cap.value = 2
        d.window_base.value = WINDOW
        d.bar_base.value = bar
        d.rst.value = 1
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        logging.getLogger(f"cocotb.{d._name}.s_axil").setLevel(logging.WARNING)
        self.axil = AxiLiteMaster(AxiLiteBus.from_prefix(d, "s_axil"), d.clk, d.rst)
        for _ in range(4):
            await RisingEdge(d.clk)
        d.rst.value = 0
        cocotb.start_soon(self.loop())

    async def loop(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.step()

    def step(self) -> None:
        d, rng = self.dut, self.rng
        self.cycle += 1
        ready = bool(int(d.m_axis_rq_tready.value))
        for dwords, be in self.rq.look(ready, self.cycle):
            self.request(dwords, be)
        d.m_axis_rq_tready.value = int(rng.random() >= self.stall)
        # admin buffer
        value = None
        access = DWORD.unpack(int(d.m_admin_buf.value))
        if access["en"] and int(d.s_admin_buf_ready.value):
            if access["we"]:
                self.memory[access["addr"]] = access["wdata"]
            else:
                value = self.memory[access["addr"]]
        # rdata: 2 cycles after ready, noise at other times
        late, self.read_dword = self.read_dword, value
        d.s_admin_buf_rdata.value = rng.getrandbits(32) if late is None else late
        d.s_admin_buf_ready.value = int(rng.random() >= self.stall)
        # completions
        d.s_entry_valid.value = 0
        d.s_entry.value = rng.getrandbits(ENTRY.width)
        if self.cqes and self.cqes[0][0] <= self.cycle:
            _, index, entry = self.cqes.popleft()
            d.s_entry_valid.value, d.s_entry.value = 1, ENTRY.pack(index=index, cqe=entry)
        # RC
        beat = self.next_beat()
        d.s_axis_rc_tvalid.value = int(beat is not None)
        if beat:
            d.s_axis_rc_tdata.value, d.s_axis_rc_tkeep.value = beat.data, beat.keep
            d.s_axis_rc_tlast.value, d.s_axis_rc_tuser.value = int(beat.last), beat.user
        self.drive.step(self.cycle / MS)
        for f in self.watch:
            f()

    def next_beat(self) -> RcBeat | None:
        if self.beats:
            return self.beats.pop(0)
        if self.rng.random() < self.stall:
            return None

        def fetch() -> Packet | None:
            due = [a for a in self.answers if a[0] <= self.cycle]
            if not due:
                return None
            self.answers.remove(due[0])
            return due[0][1]

        if self.width == 512:
            self.straddler.gap = lambda: self.rng.random() < 0.5
            return self.straddler.beat(fetch)
        p = fetch()
        self.beats = rc_beats(self.width, p) if p else []
        return self.beats.pop(0) if self.beats else None

    def request(self, dw: list[int], be: int) -> None:
        kind, count, tag = dw[2] >> 11 & 15, dw[2] & 0x7FF, dw[3] & 0xFF
        addr = dw[1] << 32 | dw[0]
        assert count == 1 and dw[2] & 0x8000 == 0
        assert dw[2] >> 16 == 0 and dw[3] >> 24 == 0, "requester, TC, attributes, ECRC"
        write = kind in (1, 10)
        assert len(dw) == 4 + write
        config = kind in (8, 10)
        assert kind in (0, 1, 8, 10)
        assert dw[3] >> 8 & 0xFFFF == (0x0100 if config else 0)
        self.requests.append(("cfg" if config else "mem", addr, dw[4] if write else -1))
        if config:
            assert addr < 4096
            answer = self.drive.config(write, addr, be, dw[4] if write else 0)
        elif write:
            assert be == 15
            self.drive.mem_write(addr, dw[4])
            return
        else:
            answer = self.drive.mem_read(addr)
        if answer is None:
            return
        status, data = answer
        words = [data] if status == 0 and not write else []
        code = 0 if status == 0 else BAD_STATUS
        packet = rc_packet(words, tag=tag, byte_count=4, lower_addr=addr & 0xFFF, code=code, completed=True,
                           status={0: 0, UR: 1, CRS: 2}[status], noise=self.rng.getrandbits(32))
        self.answers.append((self.cycle + self.rng.randint(3, 20) + self.delay_rc, packet))

    # ------------------------------------------------------------------ for tests
    async def ticks(self, n: int) -> None:
        for _ in range(n):
            await RisingEdge(self.dut.clk)

    def facts(self) -> dict[str, int]:
        """What bring-up has found out about the drive."""
        return FACTS.unpack(int(self.dut.facts.value))

    def late(self, cid: int = 0, qid: int = 0) -> None:
        """This command is late; none without a queue."""
        self.dut.s_late_valid.value, self.dut.s_late.value = int(bool(qid)), LATE.pack(cid=cid, qid=qid)

    async def until(self, signal: Any, value: int = 1, ms: float = 3000) -> None:
        """Wait until the signal has this value."""
        end = self.cycle + int(ms * MS)
        while int(signal.value) != value:
            await RisingEdge(self.dut.clk)
            assert self.cycle < end, f"{signal._name} did not become {value} in {ms} ms"

    async def read(self, addr: int) -> int:
        return int.from_bytes((await self.axil.read(addr, 4)).data, "little")

    async def write(self, addr: int, value: int) -> None:
        await self.axil.write(addr, value.to_bytes(4, "little"))

    async def failure(self) -> tuple[str, str, int]:
        """Step, reason and admin status as the registers tell them."""
        f = await self.read(0x10)
        return names("STEP")[f >> 8 & 63], names("FAIL")[f & 31], f >> 16


async def settle() -> None:
    await ReadOnly()
