# SPDX-License-Identifier: Apache-2.0
"""A program as it is written for DUNE's NvmeStorage, against db_recorder with model drives: it configures the drives by
itself (UseConfigure is False there by default), polls NumBlocks without waiting, and sends I/O entries of its own.

Written from chapters 4, 6 and 8 of the manual; it knows nothing of Doorbell.
"""

from __future__ import annotations

import random
import struct

from doorbell import build
from doorbell.device.drives import ModelDrive
from doorbell.device.recorder_setup import simulator_params
from doorbell.device.recorder_sim import BLOCK, RecorderSim

MB = 1 << 20
READ, WRITE, CONFIG_WRITE = 0, 1, 10
DATA = 0x0180_0000  # where the program's data block is for a drive: stream 1


class Program:
    def __init__(self, sim: RecorderSim) -> None:
        self.sim, self.drive, self.tag, self.cid = sim, 0, 0, 0
        self.data = bytearray(16 * BLOCK)
        self.reply: list[int] = []
        self.completion: list[int] = []

    # ---- packets
    def receive(self) -> None:
        """One packet: a reply, or a request of the drive."""
        (packet,) = self.sim.wait_packets()
        p = packet.dwords
        if p[2] >> 31:
            self.reply = p
            return
        kind, words, at = p[2] >> 11 & 31, p[2] & 0x7FF, p[0] & 0xFF_FFFF
        if kind == READ:
            for start in range(0, words, 32):
                part = min(32, words - start)
                head = [(words - start) * 4 << 16 | at + 4 * start & 0xFFF, part]
                completer = 0x0100 if self.drive else 0
                offset = (at & 0xFFFF) + 4 * start
                self.sim.send([*head, 1 << 31 | completer << 8 | p[3] & 0xFF,
                               *struct.unpack_from(f"<{part}I", self.data, offset)])  # fmt: skip
        elif at >> 16 in (0x10, 0x11, 0x12):
            self.completion = p[4:]
        else:
            assert at >> 16 == 0x80 and kind == WRITE
            struct.pack_into(f"<{words}I", self.data, at & 0xFFFF, *p[4:])

    def pcie(self, request: int, address: int, data: list[int], count: int = 0) -> list[int]:
        self.tag = self.tag + 1 & 0xFF
        head = [self.drive << 28 | address, 0, 1 << 16 | request << 11 | (len(data) or count), self.tag]
        self.sim.send(head + data)
        if request == WRITE:
            return []
        self.reply = []
        while not self.reply:
            self.receive()
        assert self.reply[0] >> 12 & 15 == 0, "error"
        assert self.reply[2] & 0xFF == self.tag
        return self.reply[3:]

    def command(self, queue: int, opcode: int, address: int, d10: int = 0, d11: int = 0, d12: int = 0) -> int:
        self.cid = self.cid + 1 & 0xFF
        prps = [address, 0, address + BLOCK, 0]
        entry = [1 << 24 | self.cid << 16 | opcode, int(queue > 0), 0, 0, 0, 0, *prps, d10, d11, d12, 0, 0, 0]
        self.pcie(WRITE, 2 << 24 | queue << 16, entry)
        self.completion = []
        while not self.completion:
            self.receive()
        assert self.completion[3] & 0xFFFF == 1 << 8 | self.cid
        return self.completion[3] >> 17

    # ---- what it does
    def configure(self) -> None:
        self.pcie(CONFIG_WRITE, 4, [6])
        self.pcie(WRITE, 0x14, [0x460000])
        while self.pcie(READ, 0x1C, [], 1)[0] & 1:
            pass
        self.pcie(WRITE, 0x0C, [0xFFFFFFFF])
        self.pcie(WRITE, 0x24, [15 << 16 | 15])
        self.pcie(WRITE, 0x28, [0x0200_0000, 0])
        self.pcie(WRITE, 0x30, [0x0210_0000, 0])
        self.pcie(WRITE, 0x14, [0x460001])
        while not self.pcie(READ, 0x1C, [], 1)[0] & 1:
            pass
        for queue in (1, 2):
            assert self.command(0, 5, 0x0210_0000 | queue << 16, 15 << 16 | queue, 1) == 0
            assert self.command(0, 1, 0x0200_0000 | queue << 16, 15 << 16 | queue, queue << 16 | 1) == 0

    def capture(self, start: int, blocks: int) -> None:
        self.sim.axil_write(0x40, start)
        self.sim.axil_write(0x44, blocks)
        self.sim.axil_write(0x04, 4)
        while self.sim.axil_read(0x4C) != blocks:
            pass
        while self.sim.axil_read(0x24C) != blocks:
            pass
        self.sim.axil_write(0x04, 0)

    def fill(self, seed: int) -> bytes:
        self.data[:BLOCK] = random.Random(seed).randbytes(BLOCK)
        return bytes(self.data[:BLOCK])


def test_a_program_written_for_dune() -> None:
    drives = [ModelDrive(size=64 * MB, ready_us=1, unready_us=1) for _ in range(2)]
    with RecorderSim(build.simulator("db_recorder", simulator_params(2)), drives) as sim:
        sim.run_until(lambda: sim.up, 5_000_000)
        program = Program(sim)
        for program.drive in range(2):
            program.configure()
        each = 40
        source = random.Random(3).randbytes(2 * each * BLOCK)
        for turn in range(3):  # of one size: the last one's end must not be taken for this one's
            mine = bytearray(source)
            struct.pack_into("<I", mine, 0, turn)
            sim.capture(mine)
            program.capture(100 * turn, each)
            for i in range(2):
                stored = sim.media_read(100 * turn * BLOCK, each * BLOCK, i)
                assert stored == b"".join(mine[k * BLOCK : (k + 1) * BLOCK] for k in range(i, 2 * each, 2))
        for program.drive in range(2):  # 8 blocks of 512 bytes, as its tests do
            for k in range(3):
                data = program.fill(10 * program.drive + k)
                assert program.command(1, 1, DATA, (1000 + k) * 8, 0, 7) == 0
                assert sim.media_read((1000 + k) * BLOCK, BLOCK, program.drive) == data
                program.data[:] = bytes(len(program.data))
                assert program.command(2, 2, DATA, (1000 + k) * 8, 0, 7) == 0
                assert program.data[:BLOCK] == data and not any(program.data[BLOCK:])
            assert program.command(1, 8, 0, 1001 * 8, 0, 1 << 25 | 7) == 0
            assert sim.media_read(1001 * BLOCK, BLOCK, program.drive) == bytes(BLOCK)
            assert sim.media_read(1000 * BLOCK, BLOCK, program.drive) != bytes(BLOCK)
            assert sim.media_read(1002 * BLOCK, BLOCK, program.drive) == data
            assert program.command(1, 2, DATA, 64 * MB // 512, 0, 7) & 0x7FF == 0x80, "the drive's status"
        program.drive = 0
        assert program.command(0, 0x0C, 0) == 0x105, "asynchronous events: refused, and nothing waits"
        assert sim.read(100, each) == bytes(mine[:0]) + b"".join(
            sim.media_read((100 + k) * BLOCK, BLOCK, i) for k in range(each) for i in range(2)
        )
        assert sim.up and not sim.errors()
