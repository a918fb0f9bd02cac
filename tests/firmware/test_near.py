# SPDX-License-Identifier: Apache-2.0
"""Load Program, compiled for this machine by near_firmware.py: what it refuses, which words it leaves in the hardware.

Programs and words are made in these two files, from docs/csd/near-storage.md and what the operators take.
"""

from __future__ import annotations

import itertools
import random
import struct

import pytest
from doorbell.compute.near import Aggregate, ColumnType, Crypt, Csv, Filter, Grep, Hash, Predicate, operators
from doorbell.nvme.vendor import NEAR_RECORD_MOST, NearComparison, NearDigest, NearMode, NearOperator
from near_firmware import (
    AGGREGATE,
    BAD_FIELD,
    BAD_OFFSET,
    BAD_OPCODE,
    CRYPT,
    CSV,
    DATA_ERROR,
    FILTER,
    FOLD,
    GET_LOG,
    GREP,
    HASH,
    LINES,
    LOAD,
    NUMBERS,
    OK,
    OP_CTR,
    OP_XTS,
    OPERATORS,
    SLOTS,
    SOME,
    SOME_WORDS,
    Firmware,
    aggregate,
    grep,
    grep_words,
)
from near_words import random_filter, random_program, words

MORE = 1 << 4


@pytest.fixture(scope="module", params=[1, 17])
def firmware(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Firmware:
    return Firmware(tmp_path_factory.mktemp("near"), request.param)


@pytest.fixture
def fw(firmware: Firmware) -> Firmware:
    firmware.start()
    return firmware


def some_strings(rng: random.Random, flags: int, line_end: int, cells: int) -> list[bytes]:
    """At most so many pieces."""
    both = (line_end | 32) in range(ord("a"), ord("z") + 1) and flags & FOLD
    letters = [b for b in range(256) if b != line_end and not (both and b == line_end ^ 32)]
    strings: list[bytes] = []
    left = cells
    while left and len(strings) < 8 and (not strings or rng.random() < 0.8):
        size = min(rng.choice((1, 15, 16, 17, 32, 48, 49, 64, rng.randrange(1, 65))), 16 * left)
        left -= -(-size // 16)
        strings.append(bytes(rng.choices(letters, k=size)))
    return strings


def test_words_of_a_grep(fw: Firmware) -> None:
    """Any strings, of any function, in any place; all cells are written, and the first word first as 0 and last."""
    rng = random.Random(3)
    for _ in range(300):
        cells = rng.choice((1, 2, 8, 8, 8, 32))
        fw.start(cells)
        flags = rng.choice((*range(8), LINES, LINES | 1, LINES | 4, LINES | 5))
        line_end = rng.choice((10, 0, 65, 90, 91, 97, 122, 255, rng.randrange(256)))
        strings = some_strings(rng, flags, line_end, cells)
        place, which = rng.randrange(fw.functions), rng.randrange(NUMBERS)
        assert fw.load(which, grep(strings, flags, line_end), place, nsid=rng.choice((0, 1, 0xFFFFFFFF))) == OK
        expected = grep_words(strings, flags, line_end, cells)
        assert fw.program(place, which) == expected
        assert [p for p in fw.everything() if p] == [expected], "the only one"
        assert fw.trace() == [0, *range(1, 2 + 5 * cells), 0]


def test_words_of_lines(fw: Firmware) -> None:
    """Strings of all sizes, and behind them, from the next 16 bytes on, a Csv; alone, behind a Filter and a Crypt."""
    csv = Csv(3, ord(";"), 10)
    for size in range(1, 65):
        program = Grep((b"x" * size, b"yz"), lines=True, behind=csv)
        assert fw.load(0, program.program()) == OK
        own = grep_words([b"x" * size, b"yz"], LINES, 10, 8)
        assert fw.program(0, 0) == [own[0] | MORE, *own[1:], CSV | 1 << 8, ord(";") | 10 << 8 | 3 << 16]
        assert fw.load(0, Crypt(1, behind=program).program()) == OK
        assert fw.program(0, 0) == words(program, 8)
    behind_a_filter = Filter(8, (LESS_THAN_5,), behind=Grep((b"needle",), lines=True))
    assert fw.load(0, behind_a_filter.program()) == OK
    assert fw.program(0, 0) == words(behind_a_filter, 8)
    assert fw.program(0, 0)[0] >> 24 == 1


def test_words_of_chains(fw: Firmware) -> None:
    """Any operators one behind another, as far as there are slots and words for them."""
    rng, lengths = random.Random(6), set()
    some = [NearOperator.HASH, *(NearOperator(o) for o in (GREP, GREP, AGGREGATE, FILTER, FILTER, CSV))]
    for _ in range(400):
        fw.start(slots="6332111", words=128)
        program = random_program(rng, slots=some)
        lengths.add(len(operators(program)))
        assert len(program.program()) <= 1024
        assert fw.load(1, program.program(), place=fw.functions - 1) == OK, program
        assert fw.program(fw.functions - 1, 1) == words(program, 8)
    assert lengths >= {1, 2, 3, 4}


def test_slots_for_a_chain(fw: Firmware) -> None:
    """An operator that is named twice takes two slots: that have it, or can have it."""
    pair = Grep((b"a",), lines=True, behind=Grep((b"b",), without=True))
    three = Filter(8, (LESS_THAN_5,), behind=pair)
    for program, slots, exchangeable, status in (
        (pair, "11", 0, OK),
        (pair, "1", 0, BAD_FIELD),
        (pair, "6321", 0, BAD_FIELD),
        (pair, "f1", 2, OK),
        (pair, "20", 3, OK),
        (pair, "02", 2, BAD_FIELD),
        (three, "311", 0, OK),
        (three, "011", 4, OK),
        (three, "001", 6, OK),
        (three, "000", 6, BAD_FIELD),
        (three, "1111", 0, BAD_FIELD),
        (Crypt(1, behind=three), "311", 0, OK),
        (Filter(8, (LESS_THAN_5,), behind=Hash(NearDigest.CRC32C)), "3", 0, OK),
    ):
        fw.start(slots=slots, exchangeable=exchangeable)
        assert fw.load(0, program.program()) == status, (program, slots)
        assert fw.program(0, 0) == (words(program, 8) if status == OK else [])


def test_words_for_a_chain(fw: Firmware) -> None:
    """As many as the hardware has room for, and no word of what has more is behind these."""
    pair = Grep((b"a",), lines=True, behind=Grep((b"b",), behind=None))
    for cells, room, status in ((6, 64, OK), (7, 64, BAD_FIELD), (12, 128, OK), (13, 128, BAD_FIELD)):
        fw.start(cells, words=room)
        assert fw.load(0, pair.program()) == status
        assert fw.program(0, 0) == (words(pair, cells) if status == OK else [])
        assert max(fw.trace()) < room


def test_words_of_an_aggregate(fw: Firmware) -> None:
    rng = random.Random(4)
    for kind in range(8):
        size = 1 << kind % 4
        for record in (size, size + 1, 65535, rng.randrange(size, 65536)):
            for column in {0, record - size, rng.randrange(record - size + 1)}:
                assert fw.load(2, aggregate(kind, record, column)) == OK
                assert fw.program(0, 2) == [AGGREGATE | 3 << 8, kind, record, column]
                assert fw.trace() == [0, 1, 2, 3, 0]
            for column in (record - size + 1, 65535):
                fw.load(2, SOME)
                assert fw.load(2, aggregate(kind, record, column)) == BAD_FIELD and fw.program(0, 2) == []


def test_words_of_a_filter(fw: Firmware) -> None:
    """Any predicates, with and without an Aggregate behind them; what is behind the program does not count."""
    rng = random.Random(5)
    for _ in range(500):
        program = random_filter(rng)
        data = program.program() + rng.randbytes(rng.choice((0, 0, 5, 40)))
        assert fw.load(1, data, place=fw.functions - 1) == OK
        assert fw.program(fw.functions - 1, 1) == words(program, 8)


def test_no_slot_for_what_is_behind(fw: Firmware) -> None:
    """A drive may have slots for one operator of a chain and not for the other."""
    behind = {GREP: Grep((b"some",)), AGGREGATE: Aggregate(ColumnType.U16, 8)}
    for missing in (GREP, AGGREGATE, FILTER):
        fw.start(operators=OPERATORS & ~(1 << missing))
        for operator, last in behind.items():
            status = BAD_FIELD if missing in (operator, FILTER) else OK
            assert fw.load(1, Filter(8, (LESS_THAN_5,), behind=last).program()) == status
        assert fw.load(1, Filter(8, (LESS_THAN_5,)).program()) == (BAD_FIELD if missing == FILTER else OK)


def test_numbers_of_a_filter(fw: Firmware) -> None:
    """What a type can hold passes, and what it cannot is refused."""
    for kind in ColumnType:
        low = -(1 << 8 * kind.bytes - 1) if kind.signed else 0
        high = low + (1 << 8 * kind.bytes) - 1
        for value, status in ((low, OK), (high, OK), (low - 1, BAD_FIELD), (high + 1, BAD_FIELD)):
            if kind.bytes == 8 and status == BAD_FIELD:
                continue  # 64 bits have nothing else
            program = Filter(9, (Predicate(kind, 1, NearComparison.LESS, value),))
            assert fw.load(0, program.program()) == status, (kind, value)
            assert fw.program(0, 0) == (words(program, 8) if status == OK else [])


def test_hash(fw: Firmware) -> None:
    for digest in (0, 1):
        assert fw.load(1, bytes([HASH, 0, 0, 0, digest]) + bytes(11), place=fw.functions - 1) == OK
        assert fw.program(fw.functions - 1, 1) == [HASH | 1 << 8, digest]


def test_csv(fw: Firmware) -> None:
    for separator, line_end, field in ((44, 10, 0), (9, 10, 255), (0, 255, 7), (255, 0, 1)):
        data = bytes([CSV, 0, 0, 0, separator, line_end, field]) + bytes(9)
        assert fw.load(1, data, place=fw.functions - 1) == OK
        assert fw.program(fw.functions - 1, 1) == [CSV | 1 << 8, separator | line_end << 8 | field << 16]


def test_crypt(fw: Firmware) -> None:
    """Key, mode and offset are the data path's; the operators get what is behind."""
    place = fw.functions - 1
    all_slots = 64 if fw.functions > 16 else 16
    slots = all_slots // fw.functions + 1 if place else all_slots
    seen = set()
    for slot, mode, encrypt, behind in itertools.product(
        range(1, slots), NearMode, (False, True), (None, column(), Hash())
    ):
        program = Crypt(slot, mode, encrypt, -5, behind)
        assert fw.load(2, program.program(), place) == OK
        assert fw.program(place, 2) == words(program, 8)
        op, physical, low, high, encrypts = fw.crypt(place, 2)
        assert (op, low, high, encrypts) == (
            OP_XTS if mode == NearMode.XTS else OP_CTR,
            0xFFFFFFFB,
            0xFFFFFFFF,
            encrypt,
        )
        assert physical == slot if not place else all_slots - slots < physical < all_slots
        seen.add((slot, physical))
    assert len(seen) == len({physical for _, physical in seen}) == slots - 1
    assert fw.load(2, SOME, place) == OK
    assert fw.crypt(place, 2) == [0, 0], "the next program sees what is there"
    assert fw.load(2, Crypt(1).program(), place) == OK
    assert fw.load(2, Crypt(0).program(), place) == fw.load(2, Crypt(slots).program(), place) == BAD_FIELD
    assert fw.crypt(place, 2) == [0, 0]
    if place:  # the PF names those of VFs too, but not for data
        each = slots - 1
        of_pf = all_slots - each * place
        assert fw.load(1, Crypt(of_pf - 1).program(), 0) == (OK if of_pf > 1 else BAD_FIELD)
        assert fw.load(1, Crypt(of_pf).program(), 0) == BAD_FIELD
        assert fw.load(1, Crypt(all_slots - 1).program(), 0) == BAD_FIELD
    assert fw.load(1, Crypt(1).program(), place) == OK
    fw.lib.reset(place)
    assert fw.crypt(place, 1) == [0, 0]


def column() -> Aggregate:
    return Aggregate(ColumnType.U16, 8, 2)


LESS_THAN_5 = Predicate(ColumnType.U32, 4, NearComparison.LESS, 5)
SOME_FILTER = Filter(8, (LESS_THAN_5, LESS_THAN_5), behind=Aggregate(ColumnType.U16, 8, 2)).program()


def without(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + bytes([value]) + data[at + 1 :]


TWO = grep([b"Needle", b"x" * 17])
SOME_CRYPT = Crypt(1, behind=column()).program()
SOME_CSV = bytes([CSV, 0, 0, 0, 44, 10, 3]) + bytes(9)
SOME_HASH = bytes([HASH]) + bytes(15)
SOME_LINES = Grep((b"needle",), lines=True, behind=Csv(3))
LINES_CSV = SOME_LINES.program()
WRONG = {
    "operator 0": without(SOME, 0, 0),
    "operator 3": without(SOME, 0, 3),
    "operator 33": without(SOME, 0, 33),
    "bytes 1 to 3": without(SOME, 2, 1),
    "something behind a grep that counts": without(LINES_CSV, 4, 0),
    "lines, and where they are": without(SOME, 4, 8 | 2),
    **{f"flag {bit}": without(SOME, 4, 1 << bit) for bit in (4, 5, 6, 7)},
    "byte 1 of lines": without(LINES_CSV, 1, 2),
    "byte 2 of lines": without(LINES_CSV, 2, 1),
    "nothing behind lines": LINES_CSV[:-16],
    "half a csv behind lines": LINES_CSV[:-1],
    "a grep behind lines": without(LINES_CSV, 32, GREP),
    "a csv behind lines with something behind": without(LINES_CSV, 33, 1),
    "half an aggregate behind lines": LINES_CSV[:-16] + column().program()[:-1],
    "a crypt behind lines": LINES_CSV[:-16] + Crypt(1).program(),
    "SHA-256 behind lines": LINES_CSV[:-16] + Hash().program(),
    "SHA-256 behind a filter": Filter(8, (LESS_THAN_5,), behind=Hash()).program(),
    "half a csv behind lines behind a filter": Filter(8, (LESS_THAN_5,), behind=SOME_LINES).program()[:-1],
    "a grep behind a grep that counts": without(SOME + bytes(10), 1, 1) + SOME,
    "a csv behind an aggregate": without(column().program(), 1, 1) + SOME_CSV,
    "an aggregate behind a csv": without(SOME_CSV, 1, 1) + column().program(),
    "an aggregate behind CRC-32C": without(Hash(NearDigest.CRC32C).program(), 1, 1) + column().program(),
    "byte 7": without(SOME, 7, 1),
    "no strings": grep([]),
    "no strings, but a length": without(SOME, 6, 0),
    "nine strings": without(grep([b"a"] * 8), 6, 9) + b"a",
    "256 strings": without(SOME, 7, 1),
    "an empty string": grep([b"a", b"", b"b"]),
    "65 bytes": grep([b"a" * 65]),
    "255 bytes": grep([b"a" * 255]),
    "a length behind the last": without(TWO, 10, 1) + b"a",
    "a large length behind the last": without(TWO, 15, 200) + bytes(200),
    "less than a head": SOME[:15],
    "a byte": SOME[:1],
    "a head but for zeros": SOME[:12],
    "a head without strings": SOME[:16],
    "a byte less": SOME[:-1],
    "a byte of the second less": TWO[:-1],
    "line end first": grep([b"\nab"]),
    "line end last": grep([b"a", b"a" * 63 + b"\n"]),
    "line end as 16th": grep([b"a" * 15 + b"\nb"]),
    "line end 0": grep([b"a\0b"], line_end=0),
    "line end in the other case": grep([b"xyZ"], FOLD, ord("z")),
    "capital line end": grep([b"xyz"], FOLD, ord("Z")),
    "nine pieces": grep([b"a" * 64, b"b" * 64, b"c"]),
    "nine pieces of five": grep([b"a" * 17] * 4 + [b"b"]),
    "record 0": aggregate(0, 0, 0),
    "column beyond": aggregate(3, 8, 1),
    "type 8": aggregate(8, 100, 0),
    "byte 5 of an aggregate": aggregate(0x100, 100, 0),
    "byte 6 of an aggregate": aggregate(0x10000, 100, 0),
    "byte 12 of an aggregate": without(aggregate(0, 100, 0), 12, 1),
    "byte 15 of an aggregate": without(aggregate(0, 100, 0), 15, 1),
    "byte 1 of an aggregate": without(aggregate(0, 100, 0), 1, 1),
    "a short aggregate": aggregate(0, 100, 0)[:12],
    "byte 1 of a filter": without(SOME_FILTER, 1, 2),
    "byte 2 of a filter": without(SOME_FILTER, 2, 1),
    "a bitmap with something behind": without(SOME_FILTER, 4, 1),
    "flag 1 of a filter": without(Filter(8, (LESS_THAN_5,)).program(), 4, 2),
    "no predicate": without(SOME_FILTER, 5, 0),
    "five predicates": Filter(8, (LESS_THAN_5,) * 5).program(),
    "byte 6 of a filter": without(SOME_FILTER, 6, 1),
    "record 0 of a filter": Filter(0, (LESS_THAN_5,)).program(),
    "a record too long": Filter(NEAR_RECORD_MOST + 1, (LESS_THAN_5,)).program(),
    "byte 10 of a filter": without(SOME_FILTER, 10, 1),
    "byte 15 of a filter": without(SOME_FILTER, 15, 1),
    "type 8 of a predicate": without(SOME_FILTER, 16, 8),
    "comparison 6": without(SOME_FILTER, 17, 6),
    "an alternative first": without(SOME_FILTER, 18, 1),
    "alternative 2": without(SOME_FILTER, 34, 2),
    "byte 3 of a predicate": without(SOME_FILTER, 19, 1),
    "a predicate beyond its record": without(SOME_FILTER, 20, 5),
    "a predicate far beyond": without(SOME_FILTER, 21, 255),
    "byte 6 of a predicate": without(SOME_FILTER, 22, 1),
    "a bitmap of columns": without(Filter(8, (LESS_THAN_5,), columns=((0, 1),)).program(), 4, 1),
    "five columns": without(Filter(8, (LESS_THAN_5,), columns=((0, 1),)).program(), 6, 5),
    "256 columns": without(Filter(8, (LESS_THAN_5,), columns=((0, 1),)).program(), 7, 1),
    "a column without bytes": Filter(8, (LESS_THAN_5,), columns=((3, 0),)).program(),
    "a column beyond its record": Filter(8, (LESS_THAN_5,), columns=((0, 1), (7, 2))).program(),
    "a column far beyond": Filter(8, (LESS_THAN_5,), columns=((0xFFFF, 0xFFFF),)).program(),
    "columns that have a byte in common": Filter(8, (LESS_THAN_5,), columns=((0, 3), (2, 1))).program(),
    "columns that do not ascend": Filter(8, (LESS_THAN_5,), columns=((4, 2), (0, 1))).program(),
    "a column that is not counted": Filter(8, (LESS_THAN_5,), columns=((0, 1),)).program()[:-4] + b"\x05\0\1\0",
    "half the columns": Filter(8, (LESS_THAN_5,), columns=((0, 1),)).program()[:-1],
    "columns and nothing behind": Filter(8, (LESS_THAN_5,), behind=column(), columns=((0, 1),)).program()[:-16],
    "a filter without its predicates": SOME_FILTER[:16],
    "half a predicate": SOME_FILTER[:40],
    "nothing behind": SOME_FILTER[:48],
    "half an aggregate behind": SOME_FILTER[:60],
    "half a grep behind": Filter(8, (LESS_THAN_5,), behind=Grep((b"some",))).program()[:-2],
    "a filter behind": without(SOME_FILTER, 48, FILTER),
    "a grep behind": without(SOME_FILTER, 48, GREP),
    "type 8 behind": without(SOME_FILTER, 52, 8),
    "a separator that ends the line": without(SOME_CSV, 4, 10),
    **{f"byte {at} of a csv": without(SOME_CSV, at, 1) for at in (1, 3, 7, 8, 12, 15)},
    "a short csv": SOME_CSV[:15],
    "digest 2": without(SOME_HASH, 4, 2),
    **{f"byte {at} of a hash": without(SOME_HASH, at, 1) for at in (1, 3, 5, 8, 12, 15)},
    "a short hash": SOME_HASH[:15],
    **{f"byte {at} of a crypt": without(SOME_CRYPT, at, 2) for at in (1, 2, 3, 4, 5, 7)},
    "a crypt without what is behind": SOME_CRYPT[:16],
    "a crypt behind a crypt": without(SOME_CRYPT, 16, CRYPT),
    "half an aggregate behind a crypt": SOME_CRYPT[:30],
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_program(fw: Firmware, what: str) -> None:
    """Invalid Field, and that the one that was there is forgotten; no other."""
    for which in range(NUMBERS):
        assert fw.load(which, SOME) == OK
    assert fw.load(1, WRONG[what]) == BAD_FIELD
    assert [fw.program(0, which) for which in range(NUMBERS)] == [SOME_WORDS, [], SOME_WORDS, SOME_WORDS]
    assert fw.trace().count(0) == 1, "never a first word, but for the one that forgets"


def test_what_is_nearly_wrong(fw: Firmware) -> None:
    for strings, flags, line_end in (
        ([b"a" * 64, b"b" * 64], 0, 10),
        ([b"a"] * 8, 7, 10),
        ([b"a" * 17] * 4, 0, 10),
        ([b"xyZ"], 0, ord("z")),
        ([b"a[`{@"], FOLD, ord("b")),
        ([b"{"], FOLD, ord("[")),
        ([b"\n"], FOLD, ord("*")),
        ([b"a\0"], 0, 10),
        ([b"ab"], 0, 0),
    ):
        assert fw.load(3, grep(strings, flags, line_end)) == OK, strings
        assert fw.program(0, 3) == grep_words(strings, flags, line_end, 8)


def test_bytes_behind_the_program_do_not_count(fw: Firmware) -> None:
    for data in (SOME, TWO, aggregate(5, 100, 7), SOME_FILTER):
        fw.start()
        assert fw.load(0, data) == OK
        alone = fw.program(0, 0)
        for more in (1, 2, 3, 4, 1024 - len(data)):
            fw.start()
            assert fw.load(0, data + b"\n" * more) == OK and fw.program(0, 0) == alone


def test_only_the_operators_that_are_there(fw: Firmware) -> None:
    for there, other in ((SOME, aggregate(0, 1, 0)), (aggregate(0, 1, 0), SOME)):
        fw.start(operators=1 << there[0])
        assert fw.load(0, there) == OK and fw.load(0, other) == BAD_FIELD and fw.program(0, 0) == []


def test_a_command_that_is_wrong_changes_nothing(fw: Firmware) -> None:
    """Its fields, its pointers, data that cannot be read."""
    for which in range(NUMBERS):
        assert fw.load(which, SOME) == OK
    before = fw.everything()
    for which in (4, 5, 0x100, 1 << 16, 1 << 31):
        assert fw.load(which, TWO) == BAD_FIELD
    for size in (1025, 1 << 16, 1 << 31):
        assert fw.load(0, TWO, size=size) == BAD_FIELD
    assert fw.load(0, TWO, at=0x2002) == BAD_OFFSET
    assert fw.load(0, TWO, at=0x2FFC, second=0) == BAD_FIELD, "PRP2 is needed"
    assert fw.load(0, TWO, at=0x2FFC, second=0x5004) == BAD_OFFSET
    fw.number("broken").value = 1
    assert fw.load(0, TWO) == DATA_ERROR
    fw.number("broken").value = 0
    assert fw.everything() == before
    fw.start(programs=2)
    assert fw.load(1, SOME) == OK and fw.load(2, SOME) == BAD_FIELD


def test_no_bytes_forget(fw: Firmware) -> None:
    """Nothing is read, wherever the pointers are."""
    for which in range(NUMBERS):
        assert fw.load(which, SOME) == OK
    assert fw.command(LOAD, dw6=3, dw8=1, dw10=2, dw11=0) == OK
    assert fw.number("copies").value == 0
    assert [bool(fw.program(0, which)) for which in range(NUMBERS)] == [True, True, False, True]


def test_data_in_two_pages(fw: Firmware) -> None:
    """Cut at any dword; nothing beside the dwords of the program is read."""
    for first, last in itertools.product(range(4, 112, 4), range(1, 6)):
        strings = [b"a" * 33, b"b" * 64, b"c" * last]
        data = grep(strings)
        fw.start()
        assert fw.load(1, data, at=0x3000 - first, second=0x6000) == OK
        assert fw.program(0, 1) == grep_words(strings, 0, 10, 8)
        assert fw.number("read_to").value == 0x6000 + (len(data) - first + 3) // 4 * 4


def test_a_reset_forgets_those_of_its_function(fw: Firmware) -> None:
    places = range(fw.functions)
    for place in places:
        for which in range(NUMBERS):
            assert fw.load(which, SOME, place) == OK
    for place in (places[-1], 0):
        others = [p for i, p in enumerate(fw.everything()) if i // NUMBERS != place]
        fw.lib.reset(place)
        assert [fw.program(place, which) for which in range(NUMBERS)] == [[]] * NUMBERS
        assert [p for i, p in enumerate(fw.everything()) if i // NUMBERS != place] == others


@pytest.mark.parametrize("there", [True, False])
def test_commands_supported(fw: Firmware, there: bool) -> None:
    """Log page 05h says all commands of operators where there are some; else there is none of them, and nothing is
    written."""
    if not there:
        fw.start(0, 0, 0, slots="")
    assert fw.command(GET_LOG, dw6=0x4000, dw10=5 | 1023 << 16) == OK
    page = struct.unpack_from("<1024I", bytes(fw.host), 0x4000)
    assert page[LOAD] == page[SLOTS] == page[256 + 0x82] == there
    assert page[GET_LOG] == page[256 + 0x02] == 1
    assert fw.load(0, SOME) == (OK if there else BAD_OPCODE)
    assert there or fw.command(SLOTS) == BAD_OPCODE
    fw.lib.reset(0)
    assert (fw.number("changes").value != 0) == there
