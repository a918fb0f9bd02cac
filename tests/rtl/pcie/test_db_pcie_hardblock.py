# SPDX-License-Identifier: Apache-2.0
"""db_pcie_endpoint: reads, writes, posts and BAR accesses through cocotbext-pcie's model of the UltraScale+ block.

The model, its root complex and their idea of PG213, RCB, MPS and MRRS were written by nobody of this project.
"""

from __future__ import annotations

import logging
import os
import random
from typing import Any

import cocotb
import pytest
import rtl_bench as bench
from cocotb.triggers import Event, RisingEdge, gather, with_timeout
from cocotbext.axi import AxiStreamBus
from cocotbext.pcie.core import RootComplex
from cocotbext.pcie.xilinx.us import UltraScalePlusPcieDevice
from structs import constant, layout

SEGMENT = layout("db_mem_pkg", "segment_t")
INFO = layout("db_mem_pkg", "row_info_t")
POST = layout("db_pcie_block_pkg", "post_t")
MOST = constant("db_pcie_block_pkg", "POST_DWORDS")
USER_W = 16
CLIENTS = 2
BAR_SIZE = 1 << 14
MEM_SIZE = 1 << 20


class HardBlock:
    def __init__(
        self, dut: Any, mps: int = 256, mrrs: int = 512, rcb: int = 64, seed: int = 1, functions: int = 1
    ) -> None:
        for name in ("cocotb.pcie", f"cocotb.{dut._name}"):  # every TLP is logged otherwise
            logging.getLogger(name).setLevel(logging.ERROR)
        self.dut = dut
        self.rng = random.Random(seed)
        self.width = len(dut.m_axis_rq_tdata)
        self.lanes = self.width // 32
        self.mrrs = mrrs
        self.rc = RootComplex()
        self.rc.max_payload_size = (mps // 128).bit_length() - 1
        self.rc.max_read_request_size = (mrrs // 128).bit_length() - 1
        self.rc.read_completion_boundary = int(rcb == 128)
        self.rc.split_on_all_rcb = self.rng.random() < 0.3
        self.dev = UltraScalePlusPcieDevice(
            pcie_generation=3,
            user_clk_frequency=250e6,
            alignment="dword",
            pf_count=1,
            max_payload_size=1024,
            rq_straddle=self.width == 512,
            rc_straddle=self.width == 512,
            rc_4tlp_straddle=self.width == 512,
            enable_client_tag=True,
            enable_extended_tag=False,
            user_clk=dut.clk,
            user_reset=dut.rst,
            rq_bus=AxiStreamBus.from_prefix(dut, "m_axis_rq"),
            rc_bus=AxiStreamBus.from_prefix(dut, "s_axis_rc"),
            cq_bus=AxiStreamBus.from_prefix(dut, "s_axis_cq"),
            cc_bus=AxiStreamBus.from_prefix(dut, "m_axis_cc"),
            cfg_max_payload=dut.cfg_max_payload,
            cfg_max_read_req=dut.cfg_max_read_req,
            cfg_fc_sel=0b100,
            pcie_rq_seq_num0=dut.pcie_rq_seq_num0,
            pcie_rq_seq_num_vld0=dut.pcie_rq_seq_num_vld0,
            pcie_rq_seq_num1=dut.pcie_rq_seq_num1,
            pcie_rq_seq_num_vld1=dut.pcie_rq_seq_num_vld1,
            pcie_cq_np_req=dut.pcie_cq_np_req,
        )
        for _ in range(1, functions):
            self.dev.make_function()
        for function in self.dev.functions:
            function.configure_bar(0, BAR_SIZE, ext=True)
        self.rc.make_port().connect(self.dev)
        d = dut
        for s in (
            "s_read_valid",
            "s_read",
            "s_read_user",
            "m_row_ready",
            "s_seg_valid",
            "s_seg",
            "s_seg_user",
            "s_row_valid",
            "s_row_data",
            "s_row_info",
            "m_done_ready",
            "s_post_valid",
            "s_post",
            "stop",
            "silent",
        ):
            getattr(d, s).value = 0
        self.port_bits = dict.fromkeys(("s_read_valid", "s_read", "s_read_user"), 0)
        self.ready_bits = 0

    async def start(self) -> None:
        await RisingEdge(self.dut.clk)
        while self.dut.rst.value == 1:
            await RisingEdge(self.dut.clk)
        await self.rc.enumerate()
        self.pcis = [self.rc.find_device(function.pcie_id) for function in self.dev.functions]
        for pci in self.pcis:
            await pci.enable_device()
            await pci.set_master()
        self.pci = self.pcis[0]
        cap = self.dev.functions[0].pcie_cap  # what the host's system software would write
        cap.max_payload_size = self.rc.max_payload_size
        cap.max_read_request_size = self.rc.max_read_request_size
        self.base, self.mem = self.rc.alloc_region(MEM_SIZE)
        self.mem[:] = self.rng.randbytes(MEM_SIZE)
        for _ in range(10):
            await RisingEdge(self.dut.clk)
        assert int(self.dut.cfg_max_read_req.value) == self.rc.max_read_request_size
        assert int(self.dut.cfg_max_payload.value) == self.rc.max_payload_size

    def _port(self, name: str, client: int, width: int, value: int) -> None:
        """Sets one client's part of a port that all have in common."""
        mask = ((1 << width) - 1) << (width * client)
        self.port_bits[name] = self.port_bits[name] & ~mask | value << (width * client)
        getattr(self.dut, name).value = self.port_bits[name]

    async def request(self, client: int, parts: list[tuple[int, int]], user: int, fn: int = 0) -> None:
        for i, (addr, length) in enumerate(parts):
            read = SEGMENT.pack(fn=fn, addr=addr, len=length, first=int(i == 0), last=int(i == len(parts) - 1))
            self._port("s_read", client, SEGMENT.width, read)
            self._port("s_read_user", client, USER_W, user)
            self._port("s_read_valid", client, 1, 1)
            while True:
                await RisingEdge(self.dut.clk)
                if int(self.dut.s_read_ready.value) >> client & 1:
                    break
            self._port("s_read_valid", client, 1, 0)

    async def packet(self, client: int) -> tuple[bytes, int, int]:
        """Takes one packet of a client's output, with random pauses: data, user, error of its last row."""
        d = self.dut
        data = b""
        while True:
            ready = self.rng.random() < 0.7
            self.ready_bits = self.ready_bits & ~(1 << client) | int(ready) << client
            d.m_row_ready.value = self.ready_bits
            await RisingEdge(d.clk)
            if not (ready and int(d.m_row_valid.value) >> client & 1):
                continue
            row = int(d.m_row_data.value) >> (self.width * client) & ((1 << self.width) - 1)
            info = INFO.unpack(int(d.m_row_info.value) >> (INFO.width * client))
            data += row.to_bytes(self.width // 8, "little")[: 4 * info["dw"]]
            if info["last"]:
                self.ready_bits &= ~(1 << client)
                d.m_row_ready.value = self.ready_bits
                user = int(d.m_row_user.value) >> (USER_W * client) & ((1 << USER_W) - 1)
                return data, user, info["err"]

    def part(self, lo: int = 0, hi: int = MEM_SIZE) -> tuple[int, int]:
        """A random piece of one page of memory: offset, bytes."""
        n = self.rng.choice([4, 64, 512, 4096, 4 * self.rng.randint(1, 1024)])
        return self.rng.randrange(lo // 4096, hi // 4096) * 4096 + self.rng.randrange(0, 4096 - n + 1, 4), n

    # ------------------------------------------------------------------ traffic
    async def reads(self, client: int, packets: int, hi: int) -> None:
        """Reads of memory below hi, which nobody changes."""
        work = []
        for _ in range(packets):
            parts = [self.part(0, hi) for _ in range(self.rng.choice([1, 1, 2, 4]))]
            work.append((parts, self.rng.getrandbits(USER_W)))

        async def issue() -> None:
            for parts, user in work:
                await self.request(client, [(self.base + o, n) for o, n in parts], user)

        task = cocotb.start_soon(issue())
        for parts, user in work:
            data, got_user, err = await self.packet(client)
            assert not err and got_user == user
            assert data == b"".join(bytes(self.mem[o : o + n]) for o, n in parts), f"read of {parts}"
        await task

    async def writes(self, packets: int, lo: int, hi: int, expected: bytearray, fn: int = 0) -> None:
        """Packets into [lo, hi) of memory, one after the other; expected keeps what memory must hold."""
        d = self.dut
        done: list[int] = []

        async def take_done() -> None:
            while len(done) < packets:
                d.m_done_ready.value = int(self.rng.random() < 0.8)
                await RisingEdge(d.clk)
                if d.m_done_valid.value == 1 and d.m_done_ready.value == 1:
                    assert d.m_done_err.value == 0
                    done.append(int(d.m_done_user.value))
            d.m_done_ready.value = 0

        task = cocotb.start_soon(take_done())
        users = []
        for _ in range(packets):
            parts = [self.part(lo, hi) for _ in range(self.rng.choice([1, 1, 2, 4]))]
            data = self.rng.randbytes(sum(n for _, n in parts))
            pos = 0
            for o, n in parts:
                expected[o : o + n] = data[pos : pos + n]
                pos += n
            user = self.rng.getrandbits(USER_W)
            users.append(user)
            rows = cocotb.start_soon(self._rows(data))
            for i, (o, n) in enumerate(parts):
                last = int(i == len(parts) - 1)
                d.s_seg.value = SEGMENT.pack(fn=fn, addr=self.base + o, len=n, first=int(i == 0), last=last)
                d.s_seg_user.value, d.s_seg_valid.value = user, 1
                while True:
                    await RisingEdge(d.clk)
                    if d.s_seg_ready.value == 1:
                        break
                d.s_seg_valid.value = 0
            await rows
        await task
        assert done == users

    async def _rows(self, data: bytes) -> None:
        d, size = self.dut, self.width // 8
        for i in range(0, len(data), size):
            d.s_row_data.value = int.from_bytes(data[i : i + size], "little")
            d.s_row_info.value = INFO.pack(last=int(i + size >= len(data)))
            d.s_row_valid.value = 1
            while True:
                await RisingEdge(d.clk)
                if d.s_row_ready.value == 1:
                    break
            d.s_row_valid.value = 0

    async def posts(self, count: int, lo: int, hi: int, expected: bytearray, fn: int = 0) -> None:
        d = self.dut
        for _ in range(count):
            n = self.rng.choice([1, MOST, self.rng.randint(1, MOST)])
            o = self.rng.randrange(lo, hi, 4096) + self.rng.randrange(0, 4096 // 64) * 64
            data = self.rng.randbytes(4 * n)
            expected[o : o + 4 * n] = data
            d.s_post.value = POST.pack(fn=fn, addr=self.base + o, dwords=n, data=int.from_bytes(data, "little"))
            d.s_post_valid.value = 1
            while True:
                await RisingEdge(d.clk)
                if d.s_post_ready.value == 1:
                    break
            d.s_post_valid.value = 0
            for _ in range(self.rng.choice([0, 0, 5, 20])):
                await RisingEdge(d.clk)

    async def bar(self, count: int) -> None:
        """Writes and reads of any offset and length up to 64 bytes, against a copy."""
        window = self.pci.bar_window[0]
        copy = bytearray(256)
        await window.write(0x1000, bytes(copy[:64]))
        for i in range(0, 256, 64):
            await window.write(0x1000 + i, bytes(64))
        for _ in range(count):
            dw_offset = self.rng.randrange(0, 48)
            offset = 4 * dw_offset + self.rng.randrange(4)
            n = self.rng.choice([1, 2, 4, 8, 4, 8, self.rng.randint(1, 60)])
            if self.rng.random() < 0.5:
                data = self.rng.randbytes(n)
                copy[offset : offset + n] = data
                await window.write(0x1000 + offset, data)
            else:
                got = await with_timeout(window.read(0x1000 + offset, n), 20, "us")
                assert got == bytes(copy[offset : offset + n]), f"BAR read of {n} at {offset}"
        assert await window.read(0x1000, 64) == bytes(copy[:64])

    async def settle(self, ns: int = 2000) -> None:
        for _ in range(ns // 4):
            await RisingEdge(self.dut.clk)


@cocotb.test()
async def all_together(dut: Any) -> None:
    """Both read clients, the writer, posts and BAR accesses at the same time."""
    tb = HardBlock(dut, mps=int(os.environ["MPS"]), mrrs=int(os.environ["MRRS"]), rcb=int(os.environ["RCB"]), seed=5)
    await tb.start()
    quarter = MEM_SIZE // 4
    expected = bytearray(tb.mem[:])
    tasks = [
        cocotb.start_soon(c)
        for c in (
            tb.reads(0, 12, 2 * quarter),
            tb.reads(1, 12, 2 * quarter),
            tb.writes(12, 2 * quarter, 3 * quarter, expected),
            tb.posts(40, 3 * quarter, 4 * quarter, expected),
            tb.bar(15),
        )
    ]
    await with_timeout(gather(*tasks), 400, "us")
    await tb.settle()
    for page in range(0, MEM_SIZE, 4096):
        assert bytes(tb.mem[page : page + 4096]) == bytes(expected[page : page + 4096]), f"host memory, page {page:#x}"
    assert dut.idle.value == 1


@cocotb.test()
async def unsupported_request(dut: Any) -> None:
    """A read of an address that nobody has fails; the data around it and the next packet are good."""
    tb = HardBlock(dut, seed=6)
    await tb.start()
    bad = 0x7FFF_0000_0000
    await tb.request(0, [(tb.base, 512), (bad, 1024), (tb.base + 4096, 64)], 1)
    await tb.request(0, [(tb.base + 64, 4096 - 64)], 2)
    data, user, err = await with_timeout(tb.packet(0), 50, "us")
    assert (len(data), user, err) == (1600, 1, 1)
    assert data[:512] == bytes(tb.mem[:512]) and data[1536:] == bytes(tb.mem[4096:4160])
    data, user, err = await with_timeout(tb.packet(0), 50, "us")
    assert (data, user, err) == (bytes(tb.mem[64:4096]), 2, 0)


@cocotb.test()
async def unsupported_bar_access(dut: Any) -> None:
    """A read that is too long for the register side ends in UR, and the next one works."""
    tb = HardBlock(dut, seed=7)
    await tb.start()
    window = tb.pci.bar_window[0]
    await window.write(0x1000, b"doorbell")
    try:
        await with_timeout(window.read(0x1000, 128), 20, "us")
    except Exception as e:  # the root complex raises a plain Exception for a completion that is not successful
        assert "nsuccessful" in str(e), e
    else:
        raise AssertionError("a read of 128 bytes succeeded")
    assert await with_timeout(window.read(0x1000, 8), 20, "us") == b"doorbell"


@cocotb.test()
async def stop_then_quiet(dut: Any) -> None:
    """stop in the middle of reads: quiet comes after the last completion, and what was read before is good."""
    tb = HardBlock(dut, seed=8)
    await tb.start()
    task = cocotb.start_soon(tb.reads(1, 10, MEM_SIZE))
    await tb.settle(1500)
    dut.stop.value = 1
    for _ in range(2000):
        await RisingEdge(dut.clk)
        if dut.quiet.value == 1:
            break
    assert dut.quiet.value == 1 and not any(tb.dev.active_request)
    await tb.settle(400)
    assert dut.quiet.value == 1 and not any(tb.dev.active_request)
    dut.stop.value = 0
    await with_timeout(task, 200, "us")


@cocotb.test()
async def stop_with_writes_inside(dut: Any) -> None:
    """The hard block holds posted writes back: quiet comes when the last one has left it."""
    tb = HardBlock(dut, seed=9)
    await tb.start()
    expected = bytearray(tb.mem[:])
    send, held = tb.dev.send, []
    gate = Event()

    async def slow(tlp: Any) -> None:
        held.append(tlp)
        await gate.wait()
        await send(tlp)

    tb.dev.send = slow
    await tb.posts(3, 0, MEM_SIZE, expected)
    await tb.settle(400)
    dut.stop.value = 1
    await tb.settle(2000)
    assert held and bytes(tb.mem[:]) != bytes(expected)
    assert dut.quiet.value == 0, "quiet, with writes in the hard block"
    gate.set()
    await tb.settle(2000)
    assert dut.quiet.value == 1 and len(held) == 3 and bytes(tb.mem[:]) == bytes(expected)


@cocotb.test()
async def answers_stand_still(dut: Any) -> None:
    """The hard block takes no completion: the host's writes arrive all the same."""
    tb = HardBlock(dut, seed=10)
    await tb.start()
    window = tb.pci.bar_window[0]
    await window.write(0x1000, bytes(64))
    tb.dev.cc_sink.pause = True
    reads = [cocotb.start_soon(window.read(0x1040 + 64 * k, 64)) for k in range(4)]
    await tb.settle(1000)
    for k in range(20):
        await window.write(0x1000 + 4 * (k % 16), k.to_bytes(4, "little"))
    await tb.settle(3000)
    regs = dut.regs
    got = [int(regs[0x400 + k].value) for k in range(16)]
    assert got == [k + 16 if k < 4 else k for k in range(16)], got
    assert not any(r.done() for r in reads)
    tb.dev.cc_sink.pause = False
    for r in reads:
        await with_timeout(r, 20, "us")


@pytest.mark.parametrize(
    ("width", "mps", "mrrs", "rcb"),
    [bench.rare(128, 128, 128, 64), bench.rare(256, 256, 512, 64), (512, 512, 4096, 128)],
)
def test_db_pcie_hardblock(width: int, mps: int, mrrs: int, rcb: int) -> None:
    bench.run(
        __file__,
        "pcie_hardblock_tb",
        {"DATA_W": width},
        extra_sources=("tests/rtl/tb/pcie_hardblock_tb.sv",),
        env={"MPS": str(mps), "MRRS": str(mrrs), "RCB": str(rcb)},
    )
