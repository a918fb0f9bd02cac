# SPDX-License-Identifier: Apache-2.0
"""Slots of near-storage operators as hosts see them (docs/csd/slots.md): loaded, refused, missed, shared."""

from __future__ import annotations

import random
from collections.abc import Callable

import copies
import pytest
from csd_drive import NUM_NS, csd, put
from csd_functions import functions
from doorbell.compute import near, slots
from doorbell.compute.near import Aggregate, ColumnType, Filter, Grep, Predicate
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import NearComparison, NearOperator, SlotError, VendorOpc, VendorStatus
from near_words import random_text
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
NUM_FN = 2
PARAMS = {"CMB_LOG2": 16, "NEAR_CELLS": 3, "NEAR_HASHES": 1, "NEAR_SLOTS": 0xFF1, "SHA_CORES": 0}
"""A Grep that stays, and two that can be exchanged; of what is in no slot, little, as it costs time to build."""
NOT_LOADED, REFUSED = (0x100 | s for s in (VendorStatus.OPERATOR_NOT_LOADED, VendorStatus.BITSTREAM_REFUSED))
GREP, AGGREGATE, FILTER = NearOperator.GREP, NearOperator.AGGREGATE, NearOperator.FILTER
PROGRAMS: dict[int, near.Program] = {
    GREP: Grep((b"ab", b"bA")),
    AGGREGATE: Aggregate(ColumnType.U16, 8, 2),
    FILTER: Filter(8, (Predicate(ColumnType.U8, 1, NearComparison.LESS, 0x60),), behind=Grep((b"aB",))),
}
WORDS = 1024  # bytes of a bitstream's words
STRIDE = 2048
BLOCKS = 16
MEMORY = NUM_FN << 16  # bytes of the card's, of all functions


def store(drive: Driver, at: int, data: bytes) -> None:
    """Into the PF's card memory, past the link."""
    drive.sim.card_view()[at : at + len(data)] = data


def bitstream(operator: int, slot: int, seed: int = 1) -> bytes:
    return slots.bitstream(operator, slot, random.Random(seed).randbytes(WORDS))


@pytest.fixture(scope=copies.scope("module"))
def up(make_drive_once: MakeDrive) -> tuple[list[Driver], list[bytes]]:
    """PF and VF with text on their namespaces and all programs loaded, each under its operator's number."""
    drives = functions(make_drive_once, NUM_FN, PARAMS)
    rng, data = random.Random(4), []
    for fn, drive in enumerate(drives):
        data.append(random_text(rng, BLOCKS * 512))
        put(drive, 0, data[-1], nsid=fn + 1)
        for number, program in PROGRAMS.items():
            near.load(drive, number, program.program())
    return drives, data


def ask(drive: Driver, fn: int, operator: int, data: bytes) -> Command:
    """One command; a result must be the right one."""
    command, got = near.run(drive, operator, 0, BLOCKS, nsid=fn + 1)
    expect_one(command, operator, got, data)
    return command


def expect_one(command: Command, operator: int, got: bytes, data: bytes) -> None:
    if command.status != NOT_LOADED:
        expect(command, Status.SUCCESS)
        want = PROGRAMS[operator].result(data)
        assert got == want.ljust(len(got), b"\0")
    else:
        assert command.dw0 == 0 and command.dnr == 0


def test_exchange(up: tuple[list[Driver], list[bytes]]) -> None:
    """What is in no slot ends with a status of its own; a bitstream brings it; what is refused says why."""
    (pf, vf), data = up
    assert slots.get(pf).operators == (GREP, 0, 0)
    for fn, drive in enumerate((pf, vf)):
        assert ask(drive, fn, GREP, data[fn]).status == Status.SUCCESS
        assert ask(drive, fn, AGGREGATE, data[fn]).status == NOT_LOADED
        assert ask(drive, fn, FILTER, data[fn]).status == NOT_LOADED
    words = pf.sim.counters()["card.port_words"]
    for slot, operator in ((1, AGGREGATE), (2, FILTER)):
        store(pf, 4096, bitstream(operator, slot))
        slots.exchange(pf, slot, 4096)
        words += WORDS // 4
        assert pf.sim.counters()["card.port_words"] == words
    assert slots.get(pf).operators == (GREP, AGGREGATE, FILTER)
    for operator in PROGRAMS:
        for fn, drive in enumerate((pf, vf)):
            assert ask(drive, fn, operator, data[fn]).status == Status.SUCCESS

    def refused(slot: int, stream: bytes, error: SlotError, at: int = 0) -> None:
        store(pf, at, stream)
        command = slots.exchange_try(pf, slot, at)
        assert (command.status, command.dw0) == (REFUSED, error)

    good = bitstream(GREP, 1)
    refused(1, b"\0" * 64, SlotError.NOT_ONE)
    refused(1, slots.bitstream(GREP, 1, bytes(64), shell=1), SlotError.FOREIGN)
    refused(2, good, SlotError.OTHER)
    refused(1, bitstream(NearOperator.HASH, 1), SlotError.UNKNOWN)
    refused(1, good[:-1] + bytes([good[-1] ^ 1]), SlotError.DAMAGED)
    refused(1, good[: 1 << 10], SlotError.NOT_ONE, at=(1 << 16) - (1 << 10))
    refused(0, bitstream(AGGREGATE, 0), SlotError.FIXED)
    store(pf, 0, good)
    for beyond in (1 << 16, 1 << 17, 1 << 31):
        command = slots.exchange_try(pf, 1, beyond)
        assert (command.status, command.dw0) == (REFUSED, SlotError.NOT_ONE), "it is not what lies at 0"
    pf.sim.card_error(512, 1)
    refused(1, good, SlotError.MEMORY)
    pf.sim.card_error_clear()
    for cdw10, cdw11 in (
        (4, 0),
        (1 | 3 << 8, 0),
        (1 | 1 << 8, 32),
        (2 | 8 << 8, 0),
        (2, NUM_FN),
        (3 | 6 << 8, 0),
        (3, 1),
    ):
        assert pf.admin_try(VendorOpc.SLOTS, cdw10=cdw10, cdw11=cdw11).status == Status.INVALID_FIELD
    assert vf.admin_try(VendorOpc.SLOTS).status == Status.INVALID_OPCODE
    assert slots.get(pf).operators == (GREP, AGGREGATE, FILTER)
    assert pf.sim.counters()["card.port_words"] == words


def test_shares(up: tuple[list[Driver], list[bytes]]) -> None:
    """A function finds operators in its slots alone, from the next command on."""
    (pf, vf), data = up
    store(pf, 0, bitstream(GREP, 2))
    slots.exchange(pf, 2, 0)
    for mine, there in ((0b110, True), (0b010, False), (0b001, True), (0, False), (0b111, True)):
        slots.share(pf, mine, cntlid=1)
        assert (ask(vf, 1, GREP, data[1]).status == Status.SUCCESS) == there
        assert ask(pf, 0, GREP, data[0]).status == Status.SUCCESS


def test_exchange_under_load(up: tuple[list[Driver], list[bytes]]) -> None:
    """Each command has its result or is told to come again, while operators come and go under them."""
    (pf, vf), data = up
    rng = random.Random(6)
    under_way: list[tuple[Driver, int, int, Command]] = []
    done = {Status.SUCCESS: 0, NOT_LOADED: 0}
    for _ in range(12):
        exchanges = []
        for slot in (1, 2):
            operator = rng.choice((GREP, AGGREGATE, FILTER))
            store(pf, 4096 * slot, bitstream(operator, slot, rng.randrange(99)))
            exchanges.append(
                (slot, operator, pf.submit(0, VendorOpc.SLOTS, ring=True, cdw10=1 | slot << 8, cdw11=4096 * slot))
            )
        for _ in range(10):
            fn, operator = rng.randrange(NUM_FN), rng.choice(list(PROGRAMS))
            drive = (pf, vf)[fn]
            under_way.append((drive, fn, operator, near.submit(drive, operator, 0, BLOCKS, nsid=fn + 1)))
        pf.ring()
        vf.ring()
        pf.wait([c for _, _, c in exchanges])
        for slot, operator, command in exchanges:
            command.check()
            assert slots.get(pf).operators[slot] == operator
        for drive, fn, operator, command in under_way:
            drive.wait([command])
            assert command.buffer is not None
            expect_one(command, operator, command.buffer.read(), data[fn])
            done[Status(command.status) if command.status == 0 else NOT_LOADED] += 1
            command.buffer.free()
        under_way.clear()
    assert min(done.values()) > 5, done


def until(what: Callable[[], bool], turns: int = 200) -> int:
    for turn in range(turns):
        if what():
            return turn
    raise AssertionError("it never comes")


def test_library(up: tuple[list[Driver], list[bytes]]) -> None:
    """What is missed comes out of the library: into an empty slot, then in place of what was used least recently, and
    not before that has had its time."""
    (pf, vf), data = up
    for operator in PROGRAMS:
        for slot in (1, 2):
            store(pf, slots.place(operator, slot, STRIDE), bitstream(operator, slot))
    slots.library(pf, 0, STRIDE)
    assert ask(vf, 1, AGGREGATE, data[1]).status == NOT_LOADED
    until(lambda: ask(vf, 1, AGGREGATE, data[1]).status == Status.SUCCESS)
    until(lambda: ask(vf, 1, FILTER, data[1]).status == Status.SUCCESS)
    assert sorted(slots.get(pf).operators[1:]) == [AGGREGATE, FILTER]
    # What is in a slot is not missed by a function that may not use that one.
    slots.share(pf, 0b110, cntlid=1)
    for _ in range(5):
        assert ask(vf, 1, GREP, data[1]).status == NOT_LOADED
    slots.share(pf, 0b111, cntlid=1)
    assert sorted(slots.get(pf).operators[1:]) == [AGGREGATE, FILTER]
    # One that is damaged is tried once.
    slots.library(pf, 0, 0)
    store(pf, 0, bytes(STRIDE))
    for slot in (1, 2):
        store(pf, 4096 * slot, bitstream(FILTER, slot))
        slots.exchange(pf, slot, 4096 * slot)
    store(pf, slots.place(AGGREGATE, 1, STRIDE), bytes(STRIDE))
    store(pf, slots.place(AGGREGATE, 2, STRIDE), bytes(STRIDE))
    slots.library(pf, 0, STRIDE)
    read = pf.sim.counters()["card.read_beats"]
    for _ in range(10):
        assert ask(vf, 1, AGGREGATE, data[1]).status == NOT_LOADED
    once = pf.sim.counters()["card.read_beats"] - read
    assert 0 < once <= 64 // 16
    # What was loaded stays for its time.
    hold = 4096 * 40
    for slot in (1, 2):
        store(pf, slots.place(AGGREGATE, slot, STRIDE), bitstream(AGGREGATE, slot))
        store(pf, slots.place(FILTER, slot, STRIDE), bitstream(FILTER, slot))
    slots.library(pf, 0, STRIDE, hold)
    asked: list[int] = []

    def loaded() -> bool:
        asked.append(pf.sim.cycle)
        return ask(vf, 1, AGGREGATE, data[1]).status == Status.SUCCESS

    until(loaded)
    slot = slots.get(pf).operators.index(AGGREGATE)
    other = bitstream(AGGREGATE, 3 - slot)
    store(pf, 32768, other)
    slots.exchange(pf, 3 - slot, 32768)
    until(lambda: ask(vf, 1, FILTER, data[1]).status == Status.SUCCESS, 2000)
    # The older of the two is the one that goes. It came behind the last command that missed it.
    assert pf.sim.cycle - asked[-2] >= hold - 4096
    assert pf.sim.cycle - asked[-1] <= hold + 65536


@pytest.mark.parametrize(("at", "stride"), [(7 << 14, 1 << 14), (0, 2048)])
def test_library_of_others(up: tuple[list[Driver], list[bytes]], at: int, stride: int) -> None:
    """What is missed does not bring another operator: neither one that lies at its place, nor one at its address
    without the bits beyond the memory."""
    (pf, vf), data = up
    for slot in (1, 2):
        store(pf, 4096 * slot, bitstream(GREP, slot))
        slots.exchange(pf, slot, 4096 * slot)
    for slot in (1, 2):
        store(pf, (at + slots.place(FILTER, slot, stride)) % MEMORY, bitstream(AGGREGATE, slot))
    words = pf.sim.counters()["card.port_words"]
    slots.library(pf, at, stride)
    for _ in range(10):
        assert ask(vf, 1, FILTER, data[1]).status == NOT_LOADED
    assert slots.get(pf).operators == (GREP, GREP, GREP)
    assert pf.sim.counters()["card.port_words"] == words


def test_reset_of_the_controller(up: tuple[list[Driver], list[bytes]]) -> None:
    """An exchange that has begun goes on to its end, and what is in slots stays."""
    (pf, _vf), data = up
    words = bytes(16384)
    store(pf, 0, slots.bitstream(AGGREGATE, 1, words))
    pf.submit(0, VendorOpc.SLOTS, ring=True, cdw10=1 | 1 << 8)
    while pf.sim.counters()["card.port_words"] < 100:
        pf.advance(500)
    pf.disable()
    pf.start(queues=2, entries=64)
    until(lambda: slots.get(pf).operators == (GREP, AGGREGATE, 0))
    assert pf.sim.counters()["card.port_words"] == len(words) // 4
    near.load(pf, 0, PROGRAMS[AGGREGATE].program())
    command, got = near.run(pf, 0, 0, BLOCKS, nsid=1)
    expect(command, Status.SUCCESS)
    assert got == PROGRAMS[AGGREGATE].result(data[0]).ljust(len(got), b"\0")


def test_slots_that_stay(make_drive: MakeDrive) -> None:
    """A drive whose operators stay says so."""
    drive = csd(make_drive)
    assert slots.get(drive).operators == (GREP, GREP, AGGREGATE, FILTER, NearOperator.CSV)
    command = slots.exchange_try(drive, 1, 0)
    expect(command, REFUSED)
    assert command.dw0 == SlotError.FIXED
    expect(slots.exchange_try(drive, 5, 0), Status.INVALID_FIELD)


@pytest.mark.nightly  # its simulator is its own; tests/firmware/test_near.py: test_commands_supported
def test_no_operators_no_slots(make_drive: MakeDrive) -> None:
    """A drive without operators has no such command."""
    drive = csd(make_drive, params={"NUM_NS": NUM_NS})
    expect(slots.exchange_try(drive, 1, 0), Status.INVALID_OPCODE)
