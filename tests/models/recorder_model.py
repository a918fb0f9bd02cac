# SPDX-License-Identifier: Apache-2.0
"""Models for the tests of the recorder: the hosts at their streams, the capture source, AXI4-Lite, packets.

Everything here is written from docs/host/theory.md and the DUNE NvmeStorage manual, not from the RTL.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge

OP_READ, OP_WRITE, OP_FLUSH, OP_TRIM = 0, 1, 2, 3
BLOCK = 4096


@dataclass
class Drive:
    """One host with its drive: in-order statuses and data, as db_host gives them."""

    lba_shift: int = 9
    blocks: int = 1 << 24  # of the namespace, logical blocks
    up: bool = True
    dead: bool = False
    latency: Callable[[], int] = lambda: 50
    reported: Callable[[int], int] = lambda latency: latency  # what the host says that it was
    status_of: Callable[[int, int, int], int] = lambda op, block, count: 0  # op, first 4 KiB block, 4 KiB blocks
    mem: dict[int, bytes] = field(default_factory=dict)  # 4 KiB blocks
    cmds: list[tuple[int, int, int, int]] = field(default_factory=list)  # op, block, count, cycle
    first_wdata: list[int] = field(default_factory=list)  # cycles of all rows of write data
    waiting: deque[tuple[int, int, int, int]] = field(default_factory=deque)  # writes without all data
    rows: deque[int] = field(default_factory=deque)
    flight: deque[tuple[int, int, int, int]] = field(default_factory=deque)  # due, tag, status, latency
    due: int = 0
    out_status: deque[int] = field(default_factory=deque)
    out_data: deque[int] = field(default_factory=deque)
    regs: dict[int, int] = field(default_factory=dict)
    trimmed: list[tuple[int, int]] = field(default_factory=list)

    def forget(self) -> None:
        for q in (self.waiting, self.rows, self.flight, self.out_status, self.out_data):
            q.clear()
        self.due = 0


class Bench:
    """The core with everything around it; one coroutine moves all streams each cycle."""

    def __init__(self, dut: Any, n: int, data_w: int, stream_w: int, stall: float = 0.0, seed: int = 1) -> None:
        self.dut, self.n, self.data_w, self.stream_w, self.stall = dut, n, data_w, stream_w, stall
        self.rng = random.Random(seed)
        self.drives = [Drive() for _ in range(n)]
        self.cycle = 0
        self.source: deque[tuple[int, bool]] = deque()  # beats
        self.gaps = 0.0
        self.accepted: list[int] = []  # cycles of the stream's beats
        self.ready_low: list[int] = []  # cycles with a beat offered and not taken
        self.packets: list[list[int]] = []  # lists of dwords
        self.packet: list[int] = []
        self.send: deque[tuple[int, int, bool]] = deque()
        self.adm: list[list[int]] = [[] for _ in range(n)]
        self.adm_reply: list[deque[tuple[int, int]]] = [deque() for _ in range(n)]
        self.on_admin: Callable[[int, list[int]], tuple[int, int]] = lambda d, sqe: (0, 0)
        self.fwd: list[deque[tuple[int, int, int]]] = [deque() for _ in range(n)]
        self.reg_answer: list[tuple[int, int, int] | None] = [None] * n
        self.reg_log: list[tuple[int, int, int, int]] = []
        self.recv_ready = 1.0
        self.driven: dict[str, int] = {}
        self.send_kept = False
        self.ring_rows = 8192  # of data that is read, before a host takes no more commands
        self.packets_on = False  # the host's side is used

    async def start(self) -> None:
        d = self.dut
        for name in ("s_axis_tvalid", "s_axis_hostsend_tvalid", "s_axil_awvalid", "s_axil_wvalid", "s_axil_arvalid",
                     "s_axil_bready", "s_axil_rready", "data_drop_blocks", "m_axis_cmd_tready", "m_axis_wdata_tready",
                     "s_axis_rdata_tvalid", "s_axis_status_tvalid", "m_adm_ready", "s_adm_valid", "m_reg_ready",
                     "s_reg_valid", "s_fwd_valid", "m_axis_hostrecv_tready", "s_axil_awprot", "s_axil_arprot",
                     "buffer_busy", "buffer_blocks", "buffer_bad_last", "buffer_error", "s_axil_wstrb", "s_axis_tdata",
                     "s_axis_tlast", "s_axis_status_tdata", "s_axis_rdata_tdata"):
            getattr(d, name).value = 0
        d.phy_ready.value = (1 << self.n) - 1
        d.link_up.value = (1 << self.n) - 1
        d.window_base.value = sum((0x12_3400_0000 + (i << 40)) << (64 * i) for i in range(self.n))
        self.levels()
        cocotb.start_soon(Clock(d.clk, 4, "ns").start())
        d.rst.value = 1
        for _ in range(5):
            await RisingEdge(d.clk)
        d.rst.value = 0
        cocotb.start_soon(self.run())
        for _ in range(4):
            await RisingEdge(d.clk)

    def put(self, name: str, value: int) -> None:
        """Drive a signal, if that changes it: writing one takes much of a cycle's time."""
        if self.driven.get(name) != value:
            self.driven[name] = value
            getattr(self.dut, name).value = value

    def levels(self) -> None:
        self.put("up", sum(int(x.up) << i for i, x in enumerate(self.drives)))
        self.put("dead", sum(int(x.dead) << i for i, x in enumerate(self.drives)))
        self.put("blocks", sum(x.blocks << (64 * i) for i, x in enumerate(self.drives)))
        self.put("lba_shift", sum(x.lba_shift << (4 * i) for i, x in enumerate(self.drives)))

    def chance(self) -> bool:
        return self.stall == 0 or self.rng.random() >= self.stall

    async def run(self) -> None:
        d, n, w = self.dut, self.n, self.data_w
        offered = False
        while True:
            await ReadOnly()
            now = self.cycle
            # ---- what happens at the coming edge
            rst = int(d.drive_rst.value)
            cv, cr = int(d.m_axis_cmd_tvalid.value), int(d.m_axis_cmd_tready.value)
            dv, dr = int(d.m_axis_wdata_tvalid.value), int(d.m_axis_wdata_tready.value)
            sr, sv = int(d.s_axis_status_tready.value), int(d.s_axis_status_tvalid.value)
            rr, rv = int(d.s_axis_rdata_tready.value), int(d.s_axis_rdata_tvalid.value)
            cdata = int(d.m_axis_cmd_tdata.value) if cv & cr else 0
            wdata = int(d.m_axis_wdata_tdata.value) if dv & dr else 0
            for i, x in enumerate(self.drives):
                if rst >> i & 1:
                    x.forget()
                    continue
                if cv & cr & 1 << i:
                    self.command(x, cdata >> (128 * i) & (1 << 128) - 1)
                if dv & dr & 1 << i:
                    x.rows.append(wdata >> (w * i) & (1 << w) - 1)
                    x.first_wdata.append(now)
                if sr & sv & 1 << i:
                    x.out_status.popleft()
                if rr & rv & 1 << i:
                    x.out_data.popleft()
                self.progress(x)
            if offered:
                if int(d.s_axis_tready.value):
                    self.accepted.append(now)
                    self.source.popleft()
                else:
                    self.ready_low.append(now)
            if int(d.m_axis_hostrecv_tvalid.value) and int(d.m_axis_hostrecv_tready.value):
                beat, keep = int(d.m_axis_hostrecv_tdata.value), int(d.m_axis_hostrecv_tkeep.value)
                self.packet += [beat >> (32 * k) & 0xFFFFFFFF for k in range(4) if keep >> k & 1]
                if int(d.m_axis_hostrecv_tlast.value):
                    self.packets.append(self.packet)
                    self.packet = []
                else:
                    assert keep == 15
            if self.packets_on:
                self.host_side(rst)
            kept = offered and self.ready_low and self.ready_low[-1] == now
            status_kept = sv & ~sr & ~rst
            data_kept = rv & ~rr & ~rst
            await RisingEdge(d.clk)
            self.cycle += 1
            # ---- new values
            offered = bool(kept or (self.source and self.rng.random() >= self.gaps))
            self.put("s_axis_tvalid", int(offered))
            if offered:
                self.put("s_axis_tdata", self.source[0][0])
                self.put("s_axis_tlast", int(self.source[0][1]))
            ready = [self.chance() for _ in range(2 * n)]
            open_ = [len(x.out_data) < self.ring_rows for x in self.drives]
            self.put("m_axis_cmd_tready", sum(int(ready[i] and open_[i]) << i for i in range(n)))
            room = [len(x.rows) < 65536 * 8 // w for x in self.drives]
            self.put("m_axis_wdata_tready", sum(int(ready[n + i] and room[i]) << i for i in range(n)))
            vs = vd = ds = dd = 0
            for i, x in enumerate(self.drives):
                if x.out_status and (status_kept >> i & 1 or self.chance()):
                    vs |= 1 << i
                    ds |= x.out_status[0] << (64 * i)
                if x.out_data and (data_kept >> i & 1 or self.chance()):
                    vd |= 1 << i
                    dd |= x.out_data[0] << (w * i)
            self.put("s_axis_status_tvalid", vs)
            self.put("s_axis_status_tdata", ds)
            self.put("s_axis_rdata_tvalid", vd)
            self.put("s_axis_rdata_tdata", dd)
            self.put("m_axis_hostrecv_tready", int(self.rng.random() < self.recv_ready))
            if self.packets_on:
                self.drive_host_side()
            self.levels()

    # ---------------------------------------------------------------- packets, register accesses, admin commands

    def host_side(self, rst: int) -> None:
        """What happens at the coming edge."""
        d, n = self.dut, self.n
        if int(d.s_axis_hostsend_tvalid.value) and int(d.s_axis_hostsend_tready.value):
            self.send.popleft()
        self.send_kept = bool(int(d.s_axis_hostsend_tvalid.value)) and not int(d.s_axis_hostsend_tready.value)
        av, ar = int(d.m_adm_valid.value), int(d.m_adm_ready.value)
        bv, br = int(d.s_adm_valid.value), int(d.s_adm_ready.value)
        gv, gr = int(d.m_reg_valid.value), int(d.m_reg_ready.value)
        fv, fr = int(d.s_fwd_valid.value), int(d.s_fwd_ready.value)
        for i in range(n):
            if rst >> i & 1:
                self.adm[i].clear()
                self.adm_reply[i].clear()
                self.reg_answer[i] = None
                continue
            if av & ar & 1 << i:
                self.adm[i].append(int(d.m_adm_data.value))
                if len(self.adm[i]) == 16:
                    self.adm_reply[i].append(self.on_admin(i, self.adm[i]))
                    self.adm[i] = []
            if bv & br & 1 << i:
                self.adm_reply[i].popleft()
            if fv & fr & 1 << i:
                self.fwd[i].popleft()
            self.reg_answer[i] = None
            if gv & gr & 1 << i:
                addr = int(d.m_reg_addr.value)
                if int(d.m_reg_write.value):
                    self.drives[i].regs[addr] = int(d.m_reg_wdata.value)
                    self.reg_answer[i] = (0, 0, 0)
                else:
                    status = 0 if addr in self.drives[i].regs else 1
                    self.reg_answer[i] = (1, self.drives[i].regs.get(addr, 0), status)
                self.reg_log.append((i, int(d.m_reg_write.value), addr, int(d.m_reg_wdata.value)))

    def drive_host_side(self) -> None:
        n, w = self.n, self.data_w
        offer = bool(self.send) and (self.send_kept or self.chance())
        self.put("s_axis_hostsend_tvalid", int(offer))
        if offer:
            data, keep, last = self.send[0]
            self.put("s_axis_hostsend_tdata", data)
            self.put("s_axis_hostsend_tkeep", keep)
            self.put("s_axis_hostsend_tlast", int(last))
        self.put("m_adm_ready", sum(int(self.chance()) << i for i in range(n)))
        self.put("m_reg_ready", sum(int(self.chance()) << i for i in range(n)))
        va = sum(1 << i for i in range(n) if self.adm_reply[i])
        self.put("s_adm_valid", va)
        self.put("s_adm_cqe", sum(self.adm_reply[i][0][0] << (128 * i) for i in range(n) if va >> i & 1))
        self.put("s_adm_timeout", sum(self.adm_reply[i][0][1] << i for i in range(n) if va >> i & 1))
        answers = [a or (0, 0, 0) for a in self.reg_answer]
        self.put("s_reg_valid", sum(int(a is not None) << i for i, a in enumerate(self.reg_answer)))
        self.put("s_reg_rdata", sum(a[1] << (32 * i) for i, a in enumerate(answers)))
        self.put("s_reg_status", sum(a[2] << (2 * i) for i, a in enumerate(answers)))
        vf = sum(1 << i for i in range(n) if self.fwd[i])
        self.put("s_fwd_valid", vf)
        self.put("s_fwd_addr", sum(self.fwd[i][0][0] << (23 * i) for i in range(n) if vf >> i & 1))
        self.put("s_fwd_data", sum(self.fwd[i][0][1] << (w * i) for i in range(n) if vf >> i & 1))
        self.put("s_fwd_be", sum(self.fwd[i][0][2] << (w // 8 * i) for i in range(n) if vf >> i & 1))

    # ---------------------------------------------------------------- the hosts

    def command(self, x: Drive, word: int) -> None:
        lba, blocks, tag, op = word & (1 << 64) - 1, word >> 64 & 0xFFFFFFFF, word >> 96 & 0xFFFF, word >> 112 & 15
        assert word >> 116 == 0 and op in (OP_READ, OP_WRITE, OP_TRIM)
        scale = 12 - x.lba_shift
        assert blocks and blocks % (1 << scale) == 0 and lba % (1 << scale) == 0
        block, count = lba >> scale, blocks >> scale
        x.cmds.append((op, block, count, self.cycle))
        x.waiting.append((op, block, count, tag))

    def progress(self, x: Drive) -> None:
        per = BLOCK * 8 // self.data_w
        while x.waiting:
            op, block, count, tag = x.waiting[0]
            if op == OP_WRITE and len(x.rows) < per * count:
                break
            x.waiting.popleft()
            status = x.status_of(op, block, count)
            latency = x.latency()
            if op == OP_WRITE:
                for b in range(block, block + count):
                    data = b"".join(x.rows.popleft().to_bytes(self.data_w // 8, "little") for _ in range(per))
                    if status == 0:
                        assert b not in x.mem, f"block {b} written twice"
                        x.mem[b] = data
            if op == OP_TRIM:
                x.trimmed.append((block, count))
            x.due = max(x.due, self.cycle + latency)
            x.flight.append((x.due, tag, status, x.reported(latency) if op == OP_WRITE else 0))
            if op == OP_READ:
                for b in range(block, block + count):
                    data = bytes(BLOCK) if status else x.mem.get(b, bytes(BLOCK))
                    for k in range(0, BLOCK, self.data_w // 8):
                        x.out_data.append(int.from_bytes(data[k:k + self.data_w // 8], "little"))
        while x.flight and x.flight[0][0] <= self.cycle:
            _, tag, status, latency = x.flight.popleft()
            x.out_status.append(status << 48 | tag << 32 | latency)

    # ---------------------------------------------------------------- what tests do

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)

    async def write(self, addr: int, value: int) -> None:
        d = self.dut
        d.s_axil_awvalid.value, d.s_axil_awaddr.value = 1, addr
        d.s_axil_wvalid.value, d.s_axil_wdata.value = 1, value
        d.s_axil_wstrb.value = 15
        while True:
            await ReadOnly()
            taken = int(d.s_axil_awready.value)
            assert taken == int(d.s_axil_wready.value)
            await RisingEdge(d.clk)
            if taken:
                break
        d.s_axil_awvalid.value, d.s_axil_wvalid.value = 0, 0
        d.s_axil_bready.value = 1
        while True:
            await ReadOnly()
            taken = int(d.s_axil_bvalid.value)
            await RisingEdge(d.clk)
            if taken:
                break
        d.s_axil_bready.value = 0

    async def read(self, addr: int) -> int:
        d = self.dut
        d.s_axil_arvalid.value, d.s_axil_araddr.value = 1, addr
        while True:
            await ReadOnly()
            taken = int(d.s_axil_arready.value)
            await RisingEdge(d.clk)
            if taken:
                break
        d.s_axil_arvalid.value = 0
        d.s_axil_rready.value = 1
        while True:
            await ReadOnly()
            taken, value = int(d.s_axil_rvalid.value), int(d.s_axil_rdata.value)
            await RisingEdge(d.clk)
            if taken:
                break
        d.s_axil_rready.value = 0
        return value

    async def until(self, addr: int, mask: int, want: int, tries: int = 400, pause: int = 50) -> None:
        for _ in range(tries):
            if await self.read(addr) & mask == want:
                return
            await self.wait(pause)
        raise AssertionError(f"register {addr:#x} never has {want:#x} in {mask:#x}")

    def block(self, number: int) -> bytes:
        return random.Random(number * 7919 + 5).randbytes(BLOCK)

    def feed(self, data: bytes, last: bool = True) -> None:
        """Beats of `data` into the capture stream, tlast with the last one."""
        step = self.stream_w // 8
        for k in range(0, len(data), step):
            self.source.append((int.from_bytes(data[k:k + step], "little"), last and k + step >= len(data)))

    def host_packet(self, dwords: list[int]) -> None:
        padded = dwords + [0] * (-len(dwords) % 4)
        for k in range(0, len(padded), 4):
            keep = (1 << min(4, len(dwords) - k)) - 1
            self.send.append((sum(v << (32 * j) for j, v in enumerate(padded[k:k + 4])), keep, k + 4 >= len(padded)))

    async def drained(self) -> None:
        """All that the drives have read has left as packets."""
        while any(x.out_data for x in self.drives) or self.packet:
            await self.wait(10)
        await self.wait(10)

    async def take_packet(self, timeout: int = 3000) -> list[int]:
        for _ in range(timeout):
            if self.packets:
                return self.packets.pop(0)
            await self.wait(1)
        raise AssertionError("no packet came")
