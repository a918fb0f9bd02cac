# SPDX-License-Identifier: Apache-2.0
"""Near-storage commands of db_vcsd: their data are on SSDs, and the host gets answers alone."""

from __future__ import annotations

import dataclasses
import hashlib
import random

import copies
import pytest
from cards import PARAMS, SIZE, card_of, one_of_all
from csd_drive import xts
from doorbell.compute import drive as compute
from doorbell.compute import near, slots
from doorbell.compute.near import Aggregate, ColumnType, Crypt, Filter, Grep, Hash, Predicate
from doorbell.compute.operators import Op
from doorbell.nvme.commands import Command, expect
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import NearComparison, NearOperator, SlotError, VendorStatus
from near_words import random_program, random_text
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
BLOCKS = 1024


@pytest.fixture(scope=copies.scope("module"))
def card(make_drive_once: MakeDrive) -> Driver:
    drive = make_drive_once(top="db_vcsd", params=PARAMS, media_size=PARAMS["NUM_SSD"] * SIZE)
    drive.start(queues=2, entries=64)
    one_of_all(drive)
    return drive


def border(card: Driver) -> int:
    """The first block on the second SSD."""
    return card_of(card.sim).ssd_pages * 4096 // 512


def check(command: Command, want: bytes) -> None:
    assert command.buffer is not None
    expect(command.check(), Status.SUCCESS)
    assert command.dw0 == len(want)
    got = command.buffer.read()
    assert got == want.ljust(len(got), b"\0")


def test_data_on_two_ssds(card: Driver) -> None:
    """Blocks on both sides of where one SSD ends and the other begins, four programs, many under way; what crosses the
    link to the host are results."""
    rng = random.Random(3)
    first = border(card) - BLOCKS // 2
    data = random_text(rng, BLOCKS * 512)
    card.write(first, data)
    programs = [Grep((b"ab", b"B."), where=True), Aggregate(ColumnType.I16, 6, 2), *(random_program(rng) for _ in "ab")]
    for number, program in enumerate(programs):
        near.load(card, number, program.program())
    under_way = []
    for i in range(60):
        blocks = rng.choice((1, 8, 64, 256))
        at = rng.randrange(BLOCKS - blocks + 1)
        program = programs[i % 4]
        phase = rng.randrange(getattr(program, "record", 1))
        length = min(512 * blocks, near.longest(program))
        command = near.submit(card, i % 4, first + at, blocks, length=length, phase=phase, qid=1 + i % 2)
        under_way.append((command, program.result(data[at * 512 :][:length], phase)))
    card.wait([c for c, _ in under_way])
    for command, want in under_way:
        check(command, want)
    assert all(card_of(card.sim).ssds.counters(port=i)["drive.sqes"] > 8 for i in range(2)), "both had work"


def test_slots_of_a_card(card: Driver) -> None:
    """Command D4h says what is in them, that it stays, takes a function's share; two Greps in a chain have no room."""
    assert slots.get(card).operators == (
        NearOperator.GREP,
        NearOperator.AGGREGATE,
        NearOperator.FILTER,
        NearOperator.CSV,
    )
    assert slots.exchange_try(card, 1, 0).dw0 == SlotError.FIXED
    lines = Grep((b"ab",), lines=True)
    near.load(card, 0, lines.program())
    expect(near.load_try(card, 1, dataclasses.replace(lines, behind=lines).program()), Status.INVALID_FIELD)
    slots.share(card, 0b1110)
    expect(near.run(card, 0, 0, 1)[0], 0x100 | VendorStatus.OPERATOR_NOT_LOADED)
    slots.share(card, 0b1111)
    near.run(card, 0, 0, 1)[0].check()


def test_keys_and_messages_of_programs(card: Driver) -> None:
    """Four programs of which each does something else with the same blocks, on two SSDs: a command takes its own."""
    rng = random.Random(5)
    key1, key2 = bytes(range(32)), bytes(range(32, 64))
    first = border(card) - 16
    data = random_text(rng, 32 * 512)
    secret = xts(key1, key2, 7, data)
    card.write(first, secret)
    compute.load_key(card, 1, key1, key2)
    grep = Grep((b"ab", b"B."), where=True)
    programs = [Crypt(1, offset=7 - first), Crypt(1, offset=7 - first, behind=grep), grep, Hash()]
    for number, program in enumerate(programs):
        near.load(card, number, program.program())
    wanted = [data, grep.result(data), grep.result(secret)]
    under_way = [(near.submit(card, i % 3, first, 32, qid=1 + i % 2), wanted[i % 3]) for i in range(12)]
    card.wait([c for c, _ in under_way])
    for command, want in under_way:
        check(command, want)
    assert near.digest(card, 3, first, 16000) == hashlib.sha256(secret[:16000]).digest()


def test_stored_on_two_ssds(card: Driver) -> None:
    """Results that go to the second SSD, and to the first, from blocks on both; many under way."""
    rng = random.Random(6)
    first = border(card) - BLOCKS // 2
    data = random_text(rng, BLOCKS * 512)
    card.write(first, data)
    programs = [Grep((b"ab", b"B."), where=True), Filter(4, (Predicate(ColumnType.U8, 1, NearComparison.LESS, 0x60),))]
    for number, program in enumerate(programs):
        near.load(card, number, program.program())
    for base in (border(card) + BLOCKS, border(card) - 16 - 32 * 19 - BLOCKS, 64):  # on the second SSD; on the first
        under_way = []
        for i in range(20):
            at = rng.randrange(BLOCKS - 32)
            want = programs[i % 2].result(data[at * 512 : (at + 32) * 512])
            command = near.submit(card, i % 2, first + at, 32, to=base + 32 * i, qid=1 + i // 2 % 2)
            under_way.append((command, want, base + 32 * i))
        card.wait([c for c, *_ in under_way])
        for command, want, at in under_way:
            check(command, want)
            assert card.read(at, 32) == want.ljust(32 * 512, b"\0")
    across = border(card) - 16  # among what is looked at
    want = programs[1].result(data)
    command = near.submit(card, 1, first, BLOCKS, to=across - BLOCKS // 2)
    card.wait([command])
    check(command, want)
    assert card.read(across - BLOCKS // 2, BLOCKS) == want.ljust(BLOCKS * 512, b"\0")


def test_data_in_memory(card: Driver) -> None:
    """Commands whose data lie in memory wait for no SSD, and keep their place among those whose data are on two."""
    rng = random.Random(7)
    first = border(card) - 64
    blocks = random_text(rng, 128 * 512)
    card.write(first, blocks)
    programs = [Grep((b"ab", b"B."), where=True), Aggregate(ColumnType.I16, 6, 2)]
    for number, program in enumerate(programs):
        near.load(card, number, program.program())
    held = card.buffer(128 * 512, offset=52)
    data = random_text(rng, held.size)
    held.write(data)
    under_way = []
    for i in range(60):
        at, memory = rng.randrange(128 - 8), rng.random() < 0.5
        source = held.address + 512 * at if memory else None
        to = 4096 + 8 * i if i % 5 == 0 else None
        want = programs[i % 2].result((data if memory else blocks)[at * 512 : (at + 8) * 512])
        under_way.append((near.submit(card, i % 2, first + at, 8, source=source, to=to, qid=1 + i % 2), want, to))
    card.wait([c for c, *_ in under_way])
    for command, want, to in under_way:
        check(command, want)
        assert to is None or card.read(to, 8) == want.ljust(4096, b"\0")


def test_encrypted(card: Driver) -> None:
    rng = random.Random(4)
    compute.load_key(card, 1, bytes(range(32)), bytes(range(32, 64)))
    compute.bind(card, 1, Op.AES_XTS, 1)
    data = random_text(rng, 64 * 512)
    card.write(0, data)
    program = Grep((b"a", b"B"), where=True, without=True)
    near.load(card, 2, program.program())
    command = near.submit(card, 2, 0, 64)
    card.wait([command])
    check(command, program.result(data))
    compute.erase_key(card, 1)
    locked = near.submit(card, 2, 0, 64)
    card.wait([locked])
    expect(locked, Status.ACCESS_DENIED)


def test_an_ssd_that_fails(card: Driver) -> None:
    """It costs the commands that have blocks on it, and no others."""
    rng = random.Random(5)
    data = random_text(rng, 64 * 512)
    both = (0, border(card) + 1000)
    for at in both:
        card.write(at, data)
    program = Grep((b"ab",))
    near.load(card, 0, program.program())
    ssds = card_of(card.sim).ssds
    ssds.fault("status", opcode=NvmOpc.READ, count=None, port=1)
    commands = [near.submit(card, 0, at, 64, qid=1 + i % 2) for i, at in enumerate(both * 4)]
    card.wait(commands)
    for i, command in enumerate(commands):
        if i % 2:
            assert command.status != Status.SUCCESS
            assert command.dw0 == 0
        else:
            check(command, program.result(data))
