# SPDX-License-Identifier: Apache-2.0
"""db_host_control with the drive of host_drive_model.py behind its accesses and pokes (as db_pcie_root does them), and
the admin buffer behind its dword port."""

from __future__ import annotations

import logging
import random
import sys
from collections import deque
from typing import Any

import cocotb
import rtl_bench as bench
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from host_drive_model import CRS, GOOD, UR, Drive, Options
from structs import constant, enum, layout

MS = 32  # cycles of a millisecond here
HALF_MS = 4
WINDOW, BAR = 0x12_3400_0000, 0x4_5670_0000
ANSWER_MS = 50  # so long db_pcie_root waits for an answer
SQ = constant("db_host_pkg", "ADMIN_BUF_SQ")  # dword address of the admin submission queue
DWORD, ENTRY = layout("db_host_pkg", "admin_buf_t"), layout("db_host_pkg", "admin_entry_t")
DOORBELL, LATE = layout("db_host_pkg", "doorbell_t"), layout("db_host_pkg", "late_cmd_t")
FACTS, SETTINGS = layout("db_host_pkg", "drive_facts_t"), layout("db_host_pkg", "settings_t")
RAW, ACCESS = layout("db_host_control_pkg", "raw_access_t"), layout("db_pcie_block_pkg", "acc_t")
ANSWER, POKE = layout("db_pcie_block_pkg", "acc_answer_t"), layout("db_pcie_block_pkg", "poke_t")
OPS, STATUS = enum("db_pcie_block_pkg", "acc_op_e"), enum("db_pcie_block_pkg", "acc_status_e")
ADMIN_ANSWER = layout("db_host_control_pkg", "admin_answer_t")


def names(prefix: str) -> dict[int, str]:
    """The values of an enum of db_host_control_pkg, by number."""
    values = enum("db_host_control_pkg", f"{prefix.lower()}_e")
    return {number: name.removeprefix(f"{prefix}_") for name, number in values.items()}


def run(test_file: str, width: int, *, parts: tuple[str, ...] = (), **parameters: int) -> None:
    """Build and run db_host_control for one test file."""
    sys.path.insert(0, str(bench.ROOT / "python"))
    from doorbell import build

    gen = build.regs() / "rtl"
    params = {"DATA_W": width, "MS_CYCLES": MS, "HALF_MS": HALF_MS, "ATTEMPTS": 2, **parameters}
    bench.run(
        test_file,
        "db_host_control",
        params,
        extra_sources=(gen / "db_host_regs_pkg.sv", gen / "db_host_regs.sv"),
        env={"DATA_W": str(width), "NUM_QP": str(parameters.get("NUM_QP", 1))},
        parts=parts,
    )


class Bench:
    def __init__(self, dut: Any, options: Options, seed: int = 1, stall: float = 0.3) -> None:
        self.dut, self.rng, self.stall = dut, random.Random(seed), stall
        self.memory = [0] * 1088
        self.drive = Drive(options, self.fetch, self.store, self.complete)
        self.cqes: deque[tuple[int, int, int]] = deque()  # not before cycle, index, entry
        self.answer: tuple[int, int] | None = None  # of the access under way: cycle, acc_answer_t
        self.give_up_at: int | None = None
        self.cycle = 0
        self.read_dword: int | None = None  # of the admin buffer, a cycle ago
        self.requests: list[tuple[str, int, int]] = []
        self.delay = 0  # more cycles before each answer
        self.axil: AxiLiteMaster | None = None
        self.watch: list[Any] = []

    # ------------------------------------------------------------------ what the drive does to memory
    def fetch(self, addr: int) -> list[int]:
        offset = addr - WINDOW
        assert offset % 64 == 0 and 0 <= offset < 256, "admin submission queue"
        return self.memory[SQ + offset // 4 : SQ + offset // 4 + 16]

    def store(self, addr: int, data: bytes) -> None:
        assert addr == WINDOW + 0x2000 and len(data) == 4096
        self.memory[:1024] = [int.from_bytes(data[i : i + 4], "little") for i in range(0, 4096, 4)]

    def complete(self, addr: int, entry: int) -> None:
        index = (addr - WINDOW - 0x1000) // 16
        assert 0 <= index < 4
        self.cqes.append((self.cycle + self.rng.randint(1, 30), index, entry))

    # ------------------------------------------------------------------ a cycle
    async def start(self, link: bool = True, bar: int = BAR) -> None:
        d = self.dut
        for name in (
            "m_poke_ready",
            "m_acc_ready",
            "s_answer_valid",
            "s_answer",
            "s_adm_valid",
            "s_adm_data",
            "m_adm_ready",
            "s_reg_valid",
            "s_reg",
            "s_admin_buf_ready",
            "s_admin_buf_rdata",
            "s_entry_valid",
            "s_entry",
            "s_doorbell_valid",
            "s_doorbell",
            "s_late_valid",
            "s_late",
            "s_io_done",
            "s_damaged",
            "shutdown",
            "stat_cqe",
            "stat_bad",
        ):
            getattr(d, name).value = 0
        d.s_idle.value = 1
        d.link_up.value = int(link)
        d.cfg_mps_cap.value = 2
        d.window_base.value = WINDOW
        d.bar_base.value = self.bar = bar
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
        self.drive_side()
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
        self.drive.step(self.cycle / MS)
        for f in self.watch:
            f()

    def drive_side(self) -> None:
        """Pokes, and one access at a time, with its answer; none for ANSWER_MS: a time-out."""
        d, rng = self.dut, self.rng
        if int(d.m_poke_valid.value) and int(d.m_poke_ready.value):
            poke = POKE.unpack(int(d.m_poke.value))
            self.requests.append(("mem", self.bar + poke["addr"], poke["data"]))
            self.drive.mem_write(self.bar + poke["addr"], poke["data"])
        if int(d.m_acc_valid.value) and int(d.m_acc_ready.value):
            self.access(ACCESS.unpack(int(d.m_acc.value)))
        d.s_answer_valid.value, d.s_answer.value = 0, rng.getrandbits(ANSWER.width)
        if self.give_up_at is not None:
            answer = self.answer[1] if self.answer and self.answer[0] <= self.cycle else None
            if answer is None and self.give_up_at <= self.cycle:
                answer = ANSWER.pack(status="ACC_TIMEOUT")
            if answer is not None:
                d.s_answer_valid.value, d.s_answer.value = 1, answer
                self.answer = self.give_up_at = None
        # as db_pcie_root has it: both ready only while RQ is free, an access only when no poke is there
        free = rng.random() >= self.stall
        d.m_poke_ready.value = int(free)
        d.m_acc_ready.value = int(free and self.give_up_at is None and not int(d.s_answer_valid.value))

    def access(self, access: dict[str, int]) -> None:
        write = access["op"] in (OPS["ACC_CFG_WR"], OPS["ACC_MEM_WR"])
        config = access["op"] in (OPS["ACC_CFG_RD"], OPS["ACC_CFG_WR"])
        addr, data = access["addr"] + (0 if config else self.bar), access["wdata"]
        self.requests.append(("cfg" if config else "mem", addr, data if write else -1))
        self.give_up_at = self.cycle + ANSWER_MS * MS
        if config:
            assert addr < 4096
            got = self.drive.config(write, addr, access["be"], data)
        else:
            assert access["be"] == 15
            if write:
                self.drive.mem_write(addr, data)
                self.answer = self.cycle, ANSWER.pack(status="ACC_GOOD")
                return
            got = self.drive.mem_read(addr)
        if got is not None:
            status, data = got
            name = {GOOD: "ACC_GOOD", UR: "ACC_REFUSED", CRS: "ACC_RETRY"}[status]
            noise = self.rng.getrandbits(32) if status or write else data
            self.answer = self.cycle + self.rng.randint(5, 22) + self.delay, ANSWER.pack(status=name, rdata=noise)

    def lose_answer(self) -> None:
        """The answer to the access under way never comes."""
        self.answer = None

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
