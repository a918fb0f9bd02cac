# SPDX-License-Identifier: Apache-2.0
"""A drive with slots of near-storage operators (docs/csd/slots.md) as its benches need it: functions with a program for
each operator, what is in slots, who may use which, and commands whose results are compared with the model's."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from doorbell.bench.functions import Functions, Member, bring_up, step
from doorbell.bench.jobs import Job
from doorbell.compute import near, slots
from doorbell.compute.near import Aggregate, ColumnType, Csv, Filter, Grep, Predicate
from doorbell.device.opening import check_clean, open_sim
from doorbell.errors import UserError
from doorbell.nvme.commands import Command
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import NearComparison, NearOperator, VendorStatus

NOT_LOADED = 0x100 | VendorStatus.OPERATOR_NOT_LOADED
BLOCK = 4096  # bytes that a command looks at
BLOCKS = 16  # of data, of a function
ROOM = {NearOperator.FILTER: BLOCK}  # bytes of a result buffer
LEAST_ROOM = 64
MEDIA_BYTES = 16 << 20
QUEUE = 255  # commands of a function under way; what comes while they are waits in the host


@dataclass(frozen=True)
class PoolSetup:
    """A drive and the functions that ask. stride: bytes of a place in the PF's card memory for a bitstream."""

    num_fn: int
    asking: tuple[int, ...]
    params: Mapping[str, int | str] = field(hash=False)
    stride: int
    link: str = "gen3x4"
    data_w: int = 128

    def open(self) -> Any:
        return open_sim(top="db_csd", link=self.link, data_w=self.data_w, num_fn=self.num_fn, params=dict(self.params),
                        media_size=MEDIA_BYTES)  # fmt: skip

    @property
    def slots(self) -> int:
        """How many there are."""
        return len(f"{int(self.params['NEAR_SLOTS']):x}")

    def __str__(self) -> str:
        return f"{self.slots} slots, {self.link}, {self.data_w} bit"


FULL = PoolSetup(
    5, (1, 2, 3, 4), {"NUM_NS": 5, "NEAR": 1, "NEAR_HASHES": 2, "CMB_LOG2": 21, "NEAR_SLOTS": 0xFFFF}, 32 << 10
)
"""Four VFs ask, the PF is the manager; four slots that can be exchanged."""
SHORT = PoolSetup(
    2,
    (0, 1),
    {
        "NUM_NS": 5,
        "NEAR": 1,
        "NEAR_CELLS": 3,
        "NEAR_HASHES": 1,
        "SGL": 1,
        "CMB_LOG2": 16,
        "NEAR_SLOTS": 0xFF1,
        "SHA_CORES": 0,
    },
    1 << 11,
)
"""Of the tests: the simulator of tests/system/csd/test_csd_slots.py. A Grep that stays, and two slots."""


def lines(fn: int) -> bytes:
    """A function's data: lines of 16 bytes with two numbers, for all operators."""
    rng = random.Random(fn)
    text = "".join(f"{rng.randrange(10**7):07},{rng.randrange(-(10**5), 10**5):+07}\n" for _ in range(BLOCK))
    return text.encode()[: BLOCK * BLOCKS]


def program(operator: int, fn: int) -> near.Program:
    """Another one for each function."""
    digit = b"%d" % fn
    if operator == NearOperator.GREP:
        return Grep((digit * 3, b"," + digit, b"99" + digit))
    if operator == NearOperator.AGGREGATE:
        return Aggregate(ColumnType.U8, 16, fn)
    if operator == NearOperator.FILTER:
        less = Predicate(ColumnType.U8, fn, NearComparison.LESS, ord("5"))
        return Filter(16, (less, Predicate(ColumnType.U8, 0, NearComparison.EQUAL, ord("7"))), columns=((0, 1),))
    assert operator == NearOperator.CSV
    return Csv(field=fn % 2)


OPERATORS = (NearOperator.GREP, NearOperator.AGGREGATE, NearOperator.FILTER, NearOperator.CSV)
"""The programs of a function, by number."""


class Pool:
    """A drive that is up, each function that asks with its data and its programs, one for each of OPERATORS."""

    def __init__(self, setup: PoolSetup) -> None:
        self.setup = setup
        self.sim = setup.open()
        job = Job(rw="randread", bs=BLOCK, iodepth=QUEUE)
        self.members: list[Member] = bring_up(self.sim, Functions(setup.num_fn, private=True), [[job]])
        self.pf = self.members[0].drive
        self.data = {fn: lines(fn) for fn in setup.asking}
        for fn in setup.asking:
            drive = self.drive(fn)
            for at in range(0, len(self.data[fn]), BLOCK):
                drive.write(at // drive.block_size, self.data[fn][at : at + BLOCK])
            for number, operator in enumerate(OPERATORS):
                near.load(drive, number, program(operator, fn).program())
        self.wanted = cache(self._wanted)

    def drive(self, fn: int) -> Driver:
        return self.members[fn].drive

    def _wanted(self, fn: int, operator: int, block: int) -> bytes:
        found = program(operator, fn).result(self.data[fn][block * BLOCK :][:BLOCK])
        return found.ljust(ROOM.get(operator, LEAST_ROOM), b"\0")

    def send(self, fn: int, operator: int, block: int) -> Command:
        """One that looks at 4 KiB of a function's data; not yet rung for."""
        drive = self.drive(fn)
        blocks, room = BLOCK // drive.block_size, ROOM.get(operator, LEAST_ROOM)
        return near.submit(drive, OPERATORS.index(operator), block * blocks, blocks, room=room)

    def take(self, fn: int, operator: int, block: int, command: Command) -> bool:
        """It has ended: its buffer is free. False: its operator is not there. A wrong result is an error."""
        assert command.buffer is not None
        want = self.wanted(fn, operator, block)
        got = command.buffer.read()[: len(want)]
        command.buffer.free()
        if command.status == NOT_LOADED:
            return False
        if command.check() and got != want:
            raise UserError(f"function {fn}: a near-storage command gave a wrong result of block {block}")
        return True

    def ask(self, fn: int, operator: int, block: int = 0) -> Command | None:
        """One command, waited for; None if its operator is not loaded."""
        command = self.send(fn, operator, block)
        self.drive(fn).wait([command])
        return command if self.take(fn, operator, block, command) else None

    def alone_ns(self, fn: int, operator: int, count: int = 4) -> float:
        """How long a command of the function takes with nothing beside it, its program loaded: the longest of some."""
        self.ask(fn, operator)
        taken = []
        for block in range(count):
            self.pf.advance(1000)
            if (command := self.ask(fn, operator, block)) is None:
                raise UserError(f"function {fn}: the operator of its program is in none of its slots")
            taken.append(command.latency_ns)
        return max(taken)

    def step(self, until_ns: float | None) -> list[Command]:
        """All functions' doorbells; then up to an interrupt of any, or that time."""
        for member in self.members:
            member.drive.ring()
        return step(self.members, until_ns)

    # ---- slots

    def bitstream(self, operator: int, slot: int, size: int | None = None) -> bytes:
        """One of so many bytes; of a place's, unless said."""
        words = random.Random(8 * operator + slot).randbytes((size or self.setup.stride) - slots.HEADER_BYTES)
        return slots.bitstream(operator, slot, words)

    def store(self, at: int, data: bytes) -> None:
        """Into the PF's card memory, past the link: it is there before anything is measured."""
        self.sim.card_view()[at : at + len(data)] = data

    def exchangeable(self, slot: int) -> bool:
        return int(self.setup.params["NEAR_SLOTS"]) >> 4 * slot & 15 == 15

    def fill(self, wanted: Mapping[int, int]) -> None:
        """Operators into slots, by number of the slot, with short bitstreams. There is no library any more."""
        slots.library(self.pf, 0, 0)
        for slot, operator in wanted.items():
            if self.exchangeable(slot):
                self.store(0, self.bitstream(operator, slot, 1024))
                slots.exchange(self.pf, slot, 0)

    def share(self, of: Mapping[int, int]) -> None:
        """Which slots a function may use, a bit each."""
        for fn, mask in of.items():
            slots.share(self.pf, mask, cntlid=fn)

    def library(self, operators: tuple[int, ...], hold_cycles: int = 0) -> None:
        """Bitstreams of these for all slots whose operator can be exchanged."""
        for operator in operators:
            for slot in range(self.setup.slots):
                if self.exchangeable(slot):
                    at = slots.place(operator, slot, self.setup.stride)
                    self.store(at, self.bitstream(operator, slot))
        slots.library(self.pf, 0, self.setup.stride, hold_cycles)

    def close(self) -> None:
        check_clean(self.sim)
        self.sim.close()
