# SPDX-License-Identifier: Apache-2.0
"""What a result of a message may say (doorbell/soak/near_messages.py), and what a Crypt makes of blocks."""

from __future__ import annotations

import hashlib
import struct

import pytest
from csd_drive import ctr, xts
from doorbell.compute.near import Crypt, Filter, Grep, Hash, Hashed, HashStep, message_phase, operators
from doorbell.nvme.model import Mismatch
from doorbell.nvme.vendor import NearDigest, NearMode
from doorbell.soak.near_crypt import CTR_KEY, crypted, ctr_key_bytes, fits, key_bytes, leaked
from doorbell.soak.near_kinds import FIELDS, KINDS, of_kind, table
from doorbell.soak.near_messages import Message, Part, State, brings

BEGIN, END, ASK, ON = HashStep.BEGIN, HashStep.END, HashStep.ASK, HashStep(0)
DATA = bytes(range(256)) * 4


def said(message: Message, steps: HashStep, found: Hashed, length: int = 256, skip: int = 0) -> bool:
    part = Part(message_phase(steps, 0, skip), length)
    part.begin(message)
    try:
        return part.result(found.result(), DATA[:length])
    finally:
        part.end()


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def test_a_message_from_begin_to_digest() -> None:
    message = Message()
    said(message, ASK, Hashed(0, False, None))
    said(message, ON, Hashed(0, False, None))  # it was not begun
    said(message, BEGIN, Hashed(192, False, None))  # a core had no more room
    said(message, END, Hashed(320, False, None))
    said(message, END, Hashed(320 + 100 - 64, True, None), length=100, skip=1)
    assert not said(message, ASK, Hashed(356, True, None))
    assert said(message, ASK, Hashed(356, True, sha256(DATA[:192] + DATA[:128] + DATA[64:100])))
    said(message, END, Hashed(356, True, None))  # it has ended
    said(message, BEGIN, Hashed(0, False, None))  # no core was free
    said(message, ON, Hashed(64, False, None))  # so it has begun, or not
    assert message.state is not None and message.state.begun


@pytest.mark.parametrize(("before", "steps", "found"), [
    (State(), ON, Hashed(64, False, None)),  # it was not begun
    (State(256, True, True), ON, Hashed(320, True, None)),  # it has ended
    (State(begun=True), ON, Hashed(257, False, None)),  # more than there is
    (State(begun=True), ON, Hashed(100, False, None)),  # no whole block
    (State(begun=True), END, Hashed(100, False, None)),
    (State(begun=True), END, Hashed(256, False, None)),  # all was taken
    (State(begun=True), END, Hashed(192, True, None)),  # not all was
    (State(128, False, True), ON, Hashed(64, False, None)),  # fewer than there were
    (State(128, False, True), BEGIN, Hashed(320, False, None)),  # of what it was before
    (State(128, False, True), ASK, Hashed(192, False, None)),
    (State(128, False, True), ASK, Hashed(128, True, None)),
    (State(128, False, True), ASK, Hashed(128, False, bytes(32))),  # a digest before its end
    (State(0, True, True), ASK, Hashed(0, True, bytes(32))),  # another digest
])  # fmt: skip
def test_what_a_message_cannot_be(before: State, steps: HashStep, found: Hashed) -> None:
    message = Message(before)
    with pytest.raises(Mismatch):
        said(message, steps, found)
    assert message.state is None


def test_parts_that_are_under_way_together() -> None:
    """And a command that fails, and one whose program is loaded anew: nobody knows the message then."""
    message, parts = Message(State(64, False, True)), [Part(message_phase(ON), 64) for _ in range(2)]
    for part in parts:
        part.begin(message)
    for part in parts:
        part.result(Hashed(12345, True, None).result(), DATA)
        part.end()
    assert message.state is None
    said(message, ON, Hashed(999, False, None))
    assert message.state is None
    said(message, BEGIN, Hashed(64, False, None))
    assert message.state is not None and message.state.taken == 64
    failed = Part(message_phase(ON), 64)
    failed.begin(message)
    failed.end()
    assert message.state is None
    old, new, part = Message(State(begun=True)), Message(), Part(message_phase(ON), 64)
    part.begin(old)
    part.begin(new)
    part.result(Hashed(64, False, None).result(), DATA)
    part.end()
    assert old.state is None and new.state is None


@pytest.mark.parametrize("offset", [0, 7, -3, (1 << 64) - 1, 1 << 40])
@pytest.mark.parametrize("size", [512, 4096])
def test_crypts(offset: int, size: int) -> None:
    data, lba = DATA[:512] * (3 * size // 512), 2
    units = [(lba + n + offset) % (1 << 64) for n in range(3)]
    blocks = [data[n * size : (n + 1) * size] for n in range(3)]
    cipher = b"".join(xts(*key_bytes(5), unit, block, size) for unit, block in zip(units, blocks))
    assert crypted(Crypt(1, NearMode.XTS, True, offset), 5, lba, size, data) == cipher
    assert crypted(Crypt(1, NearMode.XTS, False, offset), 5, lba, size, cipher) == data
    for key in (5 | CTR_KEY, 6 | CTR_KEY):
        stream = b"".join(ctr(*ctr_key_bytes(key), unit * size, block) for unit, block in zip(units, blocks))
        assert crypted(Crypt(1, NearMode.CTR, True, offset), key, lba, size, data) == stream
        assert crypted(Crypt(1, NearMode.CTR, False, offset), key, lba, size, stream) == data


def test_keys_fit_their_mode_and_what_leaks_is_found() -> None:
    for mode, key in ((NearMode.XTS, 3), (NearMode.CTR, 3 | CTR_KEY)):
        assert fits(Crypt(1, mode), key) and not fits(Crypt(1, mode), key ^ CTR_KEY) and not fits(Crypt(1, mode), 0)
    assert leaked(bytes(16) + DATA, b"x" + DATA[32:48]) == 48
    assert leaked(bytes(16) + DATA, bytes(100) + DATA[33:48]) is None


def test_programs_of_each_kind() -> None:
    """All sorts of each, and the same ones for ever: scripts have their numbers."""
    for kind in KINDS:
        assert [of_kind(kind, n).program() for n in range(20)] == [of_kind(kind, n).program() for n in range(20)]
    crypts = [p for n in range(400) if isinstance(p := of_kind("crypt", n), Crypt)]
    assert {(p.mode, p.encrypt) for p in crypts} == {(m, e) for m in NearMode for e in (False, True)}
    assert {p.slot for p in crypts} == {1, 2, 3, 4, 5, 6}
    behind = {type(p.behind).__name__ for p in crypts}
    assert behind == {"NoneType", "Grep", "Aggregate", "Filter", "Csv", "Hash"}
    assert any(map(brings, crypts)) and not brings(Hash(NearDigest.CRC32C)) and not brings(None)
    for kinds, digest in (
        (KINDS[:5], "0025243d6d447f57"),
        (KINDS[5:6], "5bb9c37ab75eada7"),
        (KINDS[6:], "68b30a84e4524bfd"),
    ):
        programs = b"".join(of_kind(kind, n).program() for kind in kinds for n in range(200))
        assert hashlib.sha256(programs).hexdigest()[:16] == digest, "numbers in scripts mean other programs now"
    lined = [of_kind("lines", n) for n in range(200)]
    assert {(type(p).__name__, type(p.behind).__name__) for p in lined if isinstance(p, Grep | Filter)} == {
        ("Grep", "NoneType"), ("Grep", "Csv"), ("Filter", "Grep"),
    }  # fmt: skip
    chains = {tuple(type(o).__name__ for o in operators(of_kind("chain", n))) for n in range(400)}
    assert chains >= {("Grep", "Grep", "Csv"), ("Grep", "Filter", "Aggregate"), ("Filter", "Grep", "Grep", "Csv"),
                      ("Filter", "Grep", "Grep", "Hash"), ("Grep", "Filter", "Grep")}  # fmt: skip
    lines = table(3, 5000)
    assert len(lines) == 5000 and all(field in lines for field in FIELDS)


def test_a_result_that_is_like_one_that_was_stored_is_no_leak() -> None:
    stored = struct.pack("<QQ", 1, 0).ljust(512, b"\0")
    found = struct.pack("<QQQQ", 0, 1, 0xFFF, 1).ljust(512, b"\0")
    assert leaked(stored, found[8:]) is None and leaked(stored + DATA, found + DATA[32:48]) == 512 + 32
