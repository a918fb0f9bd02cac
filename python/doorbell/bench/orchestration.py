# SPDX-License-Identifier: Apache-2.0
"""Operators on data in the drive, 4 KiB at a time, one after the other: who has the steps done, and how long it takes.

hardware: one near-storage command. guest: software of the function reads the data to card memory, and then has the
operator look at them, a command each. host: the hypervisor does that for the function. data: they go to the function's
memory, where a processor looks at them in no time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from doorbell.bench.pool import BLOCK, BLOCKS, Pool
from doorbell.bench.software import Software
from doorbell.compute import near
from doorbell.compute.drive import load_key
from doorbell.compute.near import Aggregate, ColumnType, Crypt, Csv, Filter, Grep, Hash, Predicate
from doorbell.errors import UserError
from doorbell.nvme.cmb import map_cmb
from doorbell.nvme.constants import NvmOpc
from doorbell.nvme.memory import Buffer
from doorbell.nvme.vendor import NearComparison, NearDigest, NearOperator

CARD_BASE = 0x40_0000_0000
NUMBER = 0  # of the program
KEY_SLOT = 1
LESS = Predicate(ColumnType.U8, 3, NearComparison.LESS, ord("5"))
COLUMN = Aggregate(ColumnType.U8, 16, 1)
PLAIN: dict[str, tuple[near.Program, int]] = {
    "Grep": (Grep((b"111", b",+9", b"990")), 64),
    "Aggregate": (COLUMN, 64),
    "Bitmap": (Filter(16, (LESS,), bitmap=True), 64),
    "Filter": (Filter(16, (LESS,)), BLOCK),
    "Csv": (Csv(field=1), 64),
    "Hash (CRC-32C)": (Hash(NearDigest.CRC32C), 64),
}
"""Each with the bytes of its result buffer."""
ENCRYPT = Crypt(KEY_SLOT, encrypt=True)
WAYS = ("hardware", "guest", "host", "data")


class Bench:
    """One function's data, plain in its first blocks; what is encrypted of them lies behind these."""

    def __init__(self, pool: Pool) -> None:
        self.pool, self.fn = pool, pool.setup.asking[-1]
        self.drive = pool.drive(self.fn)
        self.blocks = BLOCK // self.drive.block_size
        self.card = Buffer(map_cmb(self.drive, CARD_BASE), BLOCK)
        self.memory = self.drive.buffer(BLOCK)

    def _read(self, block: int, buffer: Buffer) -> None:
        self.drive.run(self.drive.submit(1, NvmOpc.READ, block * self.blocks, self.blocks - 1, buffer))

    def _operate(self, block: int, room: int) -> bytes:
        command, got = near.run(self.drive, NUMBER, block * self.blocks, self.blocks, room=room)
        command.check()
        return got

    def one(self, way: str, block: int, room: int, software: Software) -> bytes:
        """A block; what comes of it, or of `data` the block."""
        if way == "data":
            self._read(block, self.memory)
            software.interrupt()
            return self.memory.read()
        if way == "host":
            software.vm_exit()  # the function's software asks its hypervisor
        if way != "hardware":
            self._read(block, self.card)
            software.interrupt()
        got = self._operate(block, room)
        software.interrupt()
        if way == "host":
            software.vm_exit()  # and is told
            software.interrupt()
        return got

    def run(
        self, name: str, program: near.Program, room: int, want: Callable[[int], bytes | None], first: int, count: int
    ) -> dict[str, Any]:
        """A row. want: what comes of a block; first: where the data begin."""
        near.load(self.drive, NUMBER, program.program())
        self._operate(first, room)  # from here on a slot has the program
        row: dict[str, Any] = {"operator": name}
        for way in WAYS:
            sent = self.pool.sim.counters()["up.MWr.payload"]
            software = Software(self.drive)
            results = [self.one(way, first + block, room, software) for block in range(count)]
            us = software.us / count
            sent = self.pool.sim.counters()["up.MWr.payload"] - sent
            for block, got in enumerate(results):
                wanted = want(block)
                if way != "data" and wanted is not None and got != wanted.ljust(len(got), b"\0"):
                    raise UserError(f"{name}: a wrong result of block {block}")
            row[f"{way}_us"] = round(us, 3)
            row[f"{way}_own_us"] = round(software.own_us / count, 3)
            row[f"{way}_bytes"] = round(sent / count)
        for way in WAYS[1:]:
            row[f"speedup_{way}"] = round(row[f"{way}_us"] / row["hardware_us"], 2)
        return row


def measure(pool: Pool, plain: Sequence[str] = tuple(PLAIN), count: int = BLOCKS) -> Iterator[dict[str, Any]]:
    """Rows: an operator each, so many blocks. What comes of Encrypt is what is decrypted."""
    wanted = dict(enumerate((NearOperator.GREP, NearOperator.AGGREGATE, NearOperator.FILTER, NearOperator.CSV)))
    pool.fill({slot: operator for slot, operator in wanted.items() if slot < pool.setup.slots})
    pool.share({pool.setup.asking[-1]: (1 << pool.setup.slots) - 1})
    bench = Bench(pool)
    data = [pool.data[bench.fn][block * BLOCK :][:BLOCK] for block in range(count)]
    for name in plain:
        program, room = PLAIN[name]
        yield bench.run(name, program, room, lambda block, program=program: program.result(data[block]), 0, count)
    load_key(bench.drive, KEY_SLOT, bytes(range(32)), bytes(range(32, 64)))
    yield bench.run("Encrypt", ENCRYPT, BLOCK, lambda block: None, 0, count)
    for block in range(count):
        bench.drive.write((BLOCKS + block) * bench.blocks, bench._operate(block, BLOCK))
    back = -BLOCKS * bench.blocks
    yield bench.run("Decrypt", Crypt(KEY_SLOT, offset=back), BLOCK, lambda block: data[block], BLOCKS, count)
    chain = Filter(16, (LESS,), behind=COLUMN)
    yield bench.run("Decrypt, Filter, Aggregate", Crypt(KEY_SLOT, offset=back, behind=chain), 64,
                    lambda block: chain.result(data[block]), BLOCKS, count)  # fmt: skip
