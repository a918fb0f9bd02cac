# SPDX-License-Identifier: Apache-2.0
"""An NVMe host in Python on top of db_host_stub: plain host memory and single requests, so that a drive can be driven
in every way the specification allows, also such as db_host never does. Written from the specification.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

from doorbell import build
from doorbell.device.blocks import BlockCommand
from doorbell.device.drives import PortOptions
from doorbell.device.host_sim import HostSim
from doorbell.device.messages import SimError

RTL = Path(__file__).resolve().parents[1] / "rtl" / "tb"
CONFIG = 1 << 23
PAGE = 4096


class Cqe(NamedTuple):
    dw0: int
    sqhd: int
    sqid: int
    cid: int
    status: int


class Queue:
    def __init__(self, base: int, entries: int) -> None:
        self.base, self.entries, self.at, self.phase = base, entries, 0, 1


class StubHost:
    """Memory map: 0 admin SQ, 0x1000 admin CQ, 0x2000.. I/O SQ, 0x8000.. I/O CQ, from 0x20000 on for tests."""

    DATA = 0x40000

    def __init__(self, drive: PortOptions, *more: PortOptions, data_w: int = 128, **options: object) -> None:
        """more: drives at further root ports; `port` says which of them everything below is about."""
        if more:
            top, params = "db_host_multi_stub", {"DATA_W": data_w, "N_DRIVES": 1 + len(more)}
            library = build.simulator(top, params, extra=[RTL / f"{top}.sv", RTL / "db_host_stub.sv"])
        else:
            library = build.simulator("db_host_stub", {"DATA_W": data_w}, extra=[RTL / "db_host_stub.sv"])
        self.sim = HostSim(library, [drive, *more], **{"idle_skip": True, **options})
        self.port = 0
        self._start()

    def choose(self, port: int) -> StubHost:
        """Drive this root port from now on."""
        self.sim.axil_write(4, port)
        self.port = port
        self._start()
        return self

    def _start(self) -> None:
        self.window = self.sim.window
        self.cid = 0
        self.stride = 4
        self.sq: dict[int, Queue] = {}
        self.cq: dict[int, Queue] = {}
        self.found: dict[int, Cqe] = {}

    # -------------------------------------------------------------------------------------------- memory and requests

    def write(self, at: int, data: bytes) -> None:
        assert at % 512 == 0
        size = -(-len(data) // 512) * 512
        if size != len(data):  # the rest stays as it was
            data = data + self.read(at + len(data) // 512 * 512, 512)[len(data) % 512 :]
        self.sim.write_data(data)
        self.sim.submit([BlockCommand("write", at // 512, size // 512, 1)])
        self.sim.wait_status(1)

    def read(self, at: int, size: int) -> bytes:
        first, last = at // 512, -(-(at + size) // 512)
        buffer = bytearray((last - first) * 512)
        self.sim.read_buffer(buffer)
        self.sim.submit([BlockCommand("read", first, last - first, 2)])
        self.sim.wait_status(1)
        self.sim.run_until(lambda: self.sim.signal("rdata_bytes") == len(buffer), step=200)
        return bytes(buffer[at - first * 512 :][:size])

    def patch(self, at: int, data: bytes) -> None:
        """Write any bytes."""
        first, last = at // 512 * 512, -(-(at + len(data)) // 512) * 512
        whole = bytearray(self.read(first, last - first))
        whole[at - first : at - first + len(data)] = data
        self.write(first, bytes(whole))

    def cfg_read(self, reg: int, function: int = 0) -> int:
        data, status = self.sim.reg(CONFIG | function << 12 | reg)
        if status:
            raise SimError(f"configuration read: status {status}")
        return data

    def cfg_write(self, reg: int, value: int) -> None:
        _, status = self.sim.reg(CONFIG | reg, value)
        assert status == 0

    def get(self, reg: int) -> int:
        data, status = self.sim.reg(reg)
        assert status == 0, f"register {reg:#x}: status {status}"
        return data

    def set(self, reg: int, value: int) -> None:
        self.sim.reg(reg, value)

    # ------------------------------------------------------------------------------------------------------- bring-up

    def enumerate(self, mps: int = 1, mrrs: int = 2) -> None:
        """Find the function, place its BAR, switch it on; mps, mrrs as encoded."""
        while self.sim.reg(CONFIG)[1] == 2:
            self.sim.run(1000)
        assert self.cfg_read(0x08) >> 8 == 0x010802
        self.cfg_write(0x10, 0xFFFFFFFF)
        assert (~(self.cfg_read(0x10) & ~15) + 1) & 0xFFFFFFFF == self.sim.drives[self.port].bar_bytes
        self.cfg_write(0x10, self.sim.bar & 0xFFFFFFFF)
        self.cfg_write(0x14, self.sim.bar >> 32)
        at = self.cfg_read(0x34) & 0xFF
        while (head := self.cfg_read(at)) & 0xFF != 0x10:
            at = head >> 8 & 0xFF
            assert at
        self.cfg_write(at + 8, mps << 5 | mrrs << 12)
        self.sim.axil_write(0, mps | mrrs << 4)
        self.cfg_write(0x04, 0x0006)

    def enable(self, admin_entries: int = 16) -> None:
        """Reset the controller and bring up the admin queues."""
        self.set(0x14, 0)
        self.wait_ready(0)
        self.stride = 4 << (self.get(4) & 15)
        self.sq[0], self.cq[0] = Queue(0, admin_entries), Queue(0x1000, admin_entries)
        self.write(0x1000, bytes(PAGE))
        self.set(0x24, (admin_entries - 1) << 16 | (admin_entries - 1))
        for reg, queue in ((0x28, self.sq[0]), (0x30, self.cq[0])):
            self.set(reg, (self.window + queue.base) & 0xFFFFFFFF)
            self.set(reg + 4, (self.window + queue.base) >> 32)
        self.set(0x14, 4 << 20 | 6 << 16 | 1)
        self.wait_ready(1)

    def wait_ready(self, wanted: int, tries: int = 1000) -> None:
        for _ in range(tries):
            csts = self.get(0x1C)
            if csts & 2 and wanted:
                raise SimError("CSTS.CFS")
            if csts & 1 == wanted:
                return
            self.sim.run(500)
        raise SimError("CSTS.RDY")

    def io_queues(self, qid: int = 1, entries: int = 64) -> None:
        self.sq[qid] = Queue(0x2000 + (qid - 1) * 0x1000, entries)
        self.cq[qid] = Queue(0x8000 + (qid - 1) * 0x1000, entries)
        self.write(self.cq[qid].base, bytes(PAGE))
        size = (entries - 1) << 16 | qid
        assert self.admin(0x05, prp1=self.cq[qid].base, dw10=size, dw11=1).status == 0
        assert self.admin(0x01, prp1=self.sq[qid].base, dw10=size, dw11=qid << 16 | 1).status == 0

    def up(self, **enumerate_options: int) -> StubHost:
        self.enumerate(**enumerate_options)
        self.enable()
        self.io_queues()
        return self

    # -------------------------------------------------------------------------------------------------------- commands

    def send(self, qid: int, opcode: int, *, nsid: int = 0, prp1: int | None = None, prp2: int | None = None,
             ring: bool = True, **dw: int) -> int:  # fmt: skip
        """Put a command into a queue; prp1, prp2: offsets in the window. Returns its identifier."""
        self.cid = (self.cid + 1) % 0xFFFF
        entry = bytearray(64)
        addresses = [0 if p is None else self.window + p for p in (prp1, prp2)]
        struct.pack_into("<BBHI", entry, 0, opcode, 0, self.cid, nsid)
        struct.pack_into("<QQ", entry, 24, *addresses)
        for name, value in dw.items():
            struct.pack_into("<I", entry, 4 * int(name[2:]), value)
        queue = self.sq[qid]
        self.patch(queue.base + 64 * queue.at, bytes(entry))
        queue.at = (queue.at + 1) % queue.entries
        if ring:
            self.ring(qid)
        return self.cid

    def ring(self, qid: int) -> None:
        self.set(0x1000 + 2 * qid * self.stride, self.sq[qid].at)

    def poll(self, qid: int) -> list[Cqe]:
        """New completion entries; their places are given back."""
        queue, new = self.cq[qid], []
        page = self.read(queue.base, queue.entries * 16)
        while True:
            dw0, _, head, tail = struct.unpack_from("<IIII", page, queue.at * 16)
            if tail >> 16 & 1 != queue.phase:
                break
            new.append(Cqe(dw0, head & 0xFFFF, head >> 16, tail & 0xFFFF, tail >> 17))
            queue.at += 1
            if queue.at == queue.entries:
                queue.at, queue.phase = 0, queue.phase ^ 1
        if new:
            self.set(0x1000 + (2 * qid + 1) * self.stride, queue.at)
        return new

    def wait(self, qid: int, cid: int, cycles: int = 2_000_000) -> Cqe:
        end = self.sim.cycle + cycles
        while cid not in self.found:
            if self.sim.cycle > end:
                raise SimError(f"command {cid} has not completed")
            self.sim.run(500)
            for cqe in self.poll(qid):
                assert cqe.cid not in self.found and cqe.sqid == qid
                self.found[cqe.cid] = cqe
        return self.found.pop(cid)

    def admin(self, opcode: int, **fields: int) -> Cqe:
        return self.wait(0, self.send(0, opcode, **fields))

    def rw(self, opcode: int, lba: int, blocks: int, prp1: int, prp2: int | None = None, **fields: int) -> int:
        return self.send(1, opcode, nsid=1, prp1=prp1, prp2=prp2, dw10=lba & 0xFFFFFFFF, dw11=lba >> 32,
                         dw12=blocks - 1, **fields)  # fmt: skip
