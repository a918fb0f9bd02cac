# SPDX-License-Identifier: Apache-2.0
"""Models for the tests of the recorder: the hosts at their streams, the capture source, AXI4-Lite, packets.

What happens is written from the host's documentation and the DUNE NvmeStorage manual, not from the RTL; only the places
of bits come from its packages.
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
from structs import Layout, Value, enum, layout

_OP = enum("db_host_pkg", "block_op_e")
OP_READ, OP_WRITE, OP_FLUSH, OP_TRIM, OP_ZEROES = (
    _OP[f"BLOCK_{name}"] for name in ("READ", "WRITE", "FLUSH", "TRIM", "ZEROES")
)
USER_TAG = 0xC000
BLOCK = 4096
CMD, STATUS = layout("db_host_pkg", "block_cmd_t"), layout("db_host_pkg", "block_status_t")
HOST, PACKET = layout("db_rec_pkg", "host_state_t"), layout("db_rec_pkg", "packet_t")
AXIL_REQ, AXIL_RSP = layout("db_rec_pkg", "axil_req_t"), layout("db_rec_pkg", "axil_rsp_t")
ACCESS, ANSWER = layout("db_rec_pkg", "drive_access_t"), layout("db_rec_pkg", "drive_answer_t")
ADMIN = layout("db_rec_pkg", "admin_answer_t")


def each(struct: Layout, fields: list[dict[str, Value]]) -> int:
    """An array of structs, drive 0's first."""
    return sum(struct.pack(f) << (struct.width * i) for i, f in enumerate(fields))


def element(struct: Layout, number: int, i: int) -> dict[str, Any]:
    """Drive i's struct of an array."""
    return struct.unpack(number >> (struct.width * i))


@dataclass
class Drive:
    """One host with its drive: in-order statuses and data, as db_host gives them."""

    lba_shift: int = 9
    blocks: int = 1 << 24  # of the namespace, logical blocks
    phy_ready: bool = True
    link_up: bool = True
    up: bool = True
    dead: bool = False
    shut_down: bool = False
    shutdown_failed: bool = False
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
    mute: set[int] = field(default_factory=set)  # registers whose read the drive does not answer in time
    trimmed: list[tuple[int, int]] = field(default_factory=list)
    flush_latency: int = 20
    flushes: list[int] = field(default_factory=list)  # cycles
    user: list[tuple[int, int, int]] = field(default_factory=list)  # commands of db_rec_io: op, LBA, blocks

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
        self.said: list[tuple[int, ...]] = []
        self.send_kept = False
        self.ring_rows = 8192  # of data that is read, before a host takes no more commands
        self.packets_on = False  # the host's side is used
        self.silent: set[int] = set()  # drives that do not answer admin commands for now
        self.takes: dict[int, int] = {}  # so many dwords of one a drive takes, and then no more

    async def start(self) -> None:
        d = self.dut
        for name in (
            "s_axis_tvalid",
            "s_axis_tdata",
            "s_axis_tlast",
            "data_drop_blocks",
            "buffer",
            "axil_req",
            "s_packet_valid",
            "m_packet_ready",
            "m_cmd_ready",
            "m_row_ready",
            "s_row_valid",
            "s_row_data",
            "s_status_valid",
            "s_status",
            "m_admin_ready",
            "s_admin_valid",
            "m_reg_ready",
            "s_reg_valid",
            "s_forward_valid",
        ):
            getattr(d, name).value = 0
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
        """What the hosts say of their drives."""
        names = ("phy_ready", "link_up", "up", "dead", "shut_down", "shutdown_failed", "blocks", "lba_shift")
        now = [tuple(getattr(x, name) for name in names) for x in self.drives]
        if now != self.said:
            self.said = now
            self.dut.hosts.value = each(
                HOST,
                [
                    {"window_base": 0x12_3400_0000 + (i << 40), **dict(zip(names, map(int, x), strict=True))}
                    for i, x in enumerate(now)
                ],
            )

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
            cv, cr = int(d.m_cmd_valid.value), int(d.m_cmd_ready.value)
            dv, dr = int(d.m_row_valid.value), int(d.m_row_ready.value)
            sr, sv = int(d.s_status_ready.value), int(d.s_status_valid.value)
            rr, rv = int(d.s_row_ready.value), int(d.s_row_valid.value)
            cdata = int(d.m_cmd.value) if cv & cr else 0
            wdata = int(d.m_row_data.value) if dv & dr else 0
            for i, x in enumerate(self.drives):
                if rst >> i & 1:
                    x.forget()
                    continue
                if cv & cr & 1 << i:
                    self.command(x, element(CMD, cdata, i))
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
            if int(d.m_packet_valid.value) and int(d.m_packet_ready.value):
                word = PACKET.unpack(int(d.m_packet.value))
                beat, keep = word["data"], word["keep"]
                self.packet += [beat >> (32 * k) & 0xFFFFFFFF for k in range(4) if keep >> k & 1]
                if word["last"]:
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
            self.put("m_cmd_ready", sum(int(ready[i] and open_[i]) << i for i in range(n)))
            room = [len(x.rows) < 65536 * 8 // w for x in self.drives]
            self.put("m_row_ready", sum(int(ready[n + i] and room[i]) << i for i in range(n)))
            vs = vd = ds = dd = 0
            for i, x in enumerate(self.drives):
                if x.out_status and (status_kept >> i & 1 or self.chance()):
                    vs |= 1 << i
                    ds |= x.out_status[0] << (STATUS.width * i)
                if x.out_data and (data_kept >> i & 1 or self.chance()):
                    vd |= 1 << i
                    dd |= x.out_data[0] << (w * i)
            self.put("s_status_valid", vs)
            self.put("s_status", ds)
            self.put("s_row_valid", vd)
            self.put("s_row_data", dd)
            self.put("m_packet_ready", int(self.rng.random() < self.recv_ready))
            if self.packets_on:
                self.drive_host_side()
            self.levels()

    # ---------------------------------------------------------------- packets, register accesses, admin commands

    def host_side(self, rst: int) -> None:
        """What happens at the coming edge."""
        d, n = self.dut, self.n
        if int(d.s_packet_valid.value) and int(d.s_packet_ready.value):
            self.send.popleft()
        self.send_kept = bool(int(d.s_packet_valid.value)) and not int(d.s_packet_ready.value)
        av, ar = int(d.m_admin_valid.value), int(d.m_admin_ready.value)
        bv, br = int(d.s_admin_valid.value), int(d.s_admin_ready.value)
        gv, gr = int(d.m_reg_valid.value), int(d.m_reg_ready.value)
        fv, fr = int(d.s_forward_valid.value), int(d.s_forward_ready.value)
        for i in range(n):
            if rst >> i & 1:
                self.adm[i].clear()
                self.adm_reply[i].clear()
                self.reg_answer[i] = None
                continue
            if av & ar & 1 << i:
                self.adm[i].append(int(d.m_admin_data.value))
                if len(self.adm[i]) == 16:
                    self.adm_reply[i].append(self.on_admin(i, self.adm[i]))
                    self.adm[i] = []
            if bv & br & 1 << i:
                self.adm_reply[i].popleft()
            if fv & fr & 1 << i:
                self.fwd[i].popleft()
            self.reg_answer[i] = None
            if gv & gr & 1 << i:
                access = ACCESS.unpack(int(d.m_reg.value))
                addr = access["addr"]
                if access["write"]:
                    self.drives[i].regs[addr] = access["wdata"]
                    self.reg_answer[i] = (0, 0, 0)
                else:
                    status = 3 if addr in self.drives[i].mute else 0 if addr in self.drives[i].regs else 1
                    self.reg_answer[i] = (1, self.drives[i].regs.get(addr, 0), status)
                self.reg_log.append((i, access["write"], addr, access["wdata"]))

    def drive_host_side(self) -> None:
        n, w = self.n, self.data_w
        offer = bool(self.send) and (self.send_kept or self.chance())
        self.put("s_packet_valid", int(offer))
        if offer:
            data, keep, last = self.send[0]
            self.put("s_packet", PACKET.pack(data=data, keep=keep, last=int(last)))
        takes = [len(self.adm[i]) < self.takes.get(i, 16) and self.chance() for i in range(n)]
        self.put("m_admin_ready", sum(int(t) << i for i, t in enumerate(takes)))
        self.put("m_reg_ready", sum(int(self.chance()) << i for i in range(n)))
        va = sum(1 << i for i in range(n) if self.adm_reply[i] and i not in self.silent)
        self.put("s_admin_valid", va)
        replies = [self.adm_reply[i][0] if va >> i & 1 else (0, 0) for i in range(n)]
        self.put("s_admin", each(ADMIN, [{"cqe": cqe, "timeout": timeout} for cqe, timeout in replies]))
        answers = [a or (0, 0, 0) for a in self.reg_answer]
        self.put("s_reg_valid", sum(int(a is not None) << i for i, a in enumerate(self.reg_answer)))
        self.put("s_reg", each(ANSWER, [{"rdata": rdata, "status": status} for _, rdata, status in answers]))
        vf = sum(1 << i for i in range(n) if self.fwd[i])
        self.put("s_forward_valid", vf)
        self.put("s_forward_addr", sum(self.fwd[i][0][0] << (23 * i) for i in range(n) if vf >> i & 1))
        self.put("s_forward_data", sum(self.fwd[i][0][1] << (w * i) for i in range(n) if vf >> i & 1))
        self.put("s_forward_be", sum(self.fwd[i][0][2] << (w // 8 * i) for i in range(n) if vf >> i & 1))

    # ---------------------------------------------------------------- the hosts

    def command(self, x: Drive, cmd: dict[str, Any]) -> None:
        lba, blocks, tag, op = cmd["lba"], cmd["blocks"], cmd["tag"], cmd["op"]
        if tag == USER_TAG:  # db_rec_io's: in the drive's blocks, from anywhere
            assert cmd["rsvd"] == 0 and (blocks or op == OP_FLUSH)
            x.user.append((op, lba, blocks))
            x.waiting.append((op, lba, blocks, tag))
            return
        if op == OP_FLUSH:
            x.flushes.append(self.cycle)
            x.waiting.append((op, 0, 0, tag))
            return
        assert cmd["rsvd"] == 0 and op in (OP_READ, OP_WRITE, OP_TRIM)
        scale = 12 - x.lba_shift
        assert blocks and blocks % (1 << scale) == 0 and lba % (1 << scale) == 0
        block, count = lba >> scale, blocks >> scale
        x.cmds.append((op, block, count, self.cycle))
        x.waiting.append((op, block, count, tag))

    def user_command(self, x: Drive, op: int, at: int, size: int) -> bool:
        """One that the host has sent as an entry; False: its data is not there yet. Bytes `at` on, of the drive."""
        step = self.data_w // 8
        if op == OP_WRITE and len(x.rows) < size // step:
            return False
        _, _, _, tag = x.waiting.popleft()
        status = x.status_of(op, at // BLOCK, size)
        data = bytearray(size) if op not in (OP_FLUSH, OP_READ) else bytearray()
        if op == OP_WRITE:
            data = bytearray(b"".join(x.rows.popleft().to_bytes(step, "little") for _ in range(size // step)))
        for k in range(0, len(data) if not status else 0, 512):
            block, offset = (at + k) // BLOCK, (at + k) % BLOCK
            old = x.mem.get(block, bytes(BLOCK))
            x.mem[block] = old[:offset] + bytes(data[k : k + 512]) + old[offset + 512 :]
        if op == OP_READ:
            for k in range(at, at + size, step):
                row = x.mem.get(k // BLOCK, bytes(BLOCK))[k % BLOCK :][:step]
                x.out_data.append(int.from_bytes(row if not status else bytes(step), "little"))
        x.due = max(x.due, self.cycle + x.latency())
        x.flight.append((x.due, tag, status, 0))
        return True

    def progress(self, x: Drive) -> None:
        per = BLOCK * 8 // self.data_w
        while x.waiting:
            op, block, count, tag = x.waiting[0]
            if tag == USER_TAG:
                if not self.user_command(x, op, block << x.lba_shift, count << x.lba_shift):
                    break
                continue
            if op == OP_WRITE and len(x.rows) < per * count:
                break
            x.waiting.popleft()
            status = x.status_of(op, block, count)
            latency = x.flush_latency if op == OP_FLUSH else x.latency()
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
                        x.out_data.append(int.from_bytes(data[k : k + self.data_w // 8], "little"))
        while x.flight and x.flight[0][0] <= self.cycle:
            _, tag, status, latency = x.flight.popleft()
            x.out_status.append(STATUS.pack(status=status, tag=tag, latency=latency))

    # ---------------------------------------------------------------- what tests do

    async def wait(self, cycles: int) -> None:
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)

    async def write(self, addr: int, value: int) -> None:
        await self.axil("awready", awvalid=1, awaddr=addr, wvalid=1, wdata=value)
        await self.axil("bvalid", bready=1)

    async def read(self, addr: int) -> int:
        await self.axil("arready", arvalid=1, araddr=addr)
        return int((await self.axil("rvalid", rready=1))["rdata"])

    async def axil(self, until: str, **request: int) -> dict[str, Any]:
        """Drive AXI4-Lite up to the cycle in which `until` is high; what the slave says in it."""
        self.dut.axil_req.value = AXIL_REQ.pack(request)
        while True:
            await ReadOnly()
            response = AXIL_RSP.unpack(int(self.dut.axil_rsp.value))
            assert response["awready"] == response["wready"]
            await RisingEdge(self.dut.clk)
            if response[until]:
                self.dut.axil_req.value = 0
                return response

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
            self.source.append((int.from_bytes(data[k : k + step], "little"), last and k + step >= len(data)))

    def host_packet(self, dwords: list[int]) -> None:
        padded = dwords + [0] * (-len(dwords) % 4)
        for k in range(0, len(padded), 4):
            keep = (1 << min(4, len(dwords) - k)) - 1
            self.send.append((sum(v << (32 * j) for j, v in enumerate(padded[k : k + 4])), keep, k + 4 >= len(padded)))

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
