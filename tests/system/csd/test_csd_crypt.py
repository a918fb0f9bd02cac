# SPDX-License-Identifier: Apache-2.0
"""Programs that encrypt and decrypt (Crypt, docs/csd/near-storage.md), beside the `cryptography` package."""

from __future__ import annotations

import hashlib
import itertools
import random

import pytest
from csd_drive import csd, ctr, get, put, xts
from doorbell.compute import drive as compute
from doorbell.compute import near
from doorbell.compute.near import Aggregate, ColumnType, Crypt, Filter, Grep, Hash, Predicate
from doorbell.compute.operators import Op
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import NearComparison, NearDigest, NearMode
from near_words import random_text
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
BLOCKS = 64
K1, K2, IV = bytes(range(32)), bytes(range(32, 64)), bytes(range(100, 116))
XTS, CTR = NearMode.XTS, NearMode.CTR
XTS_SLOT, CTR_SLOT = 1, 2


def keyed(drive: Driver) -> None:
    compute.load_key(drive, XTS_SLOT, K1, K2)
    compute.load_key(drive, CTR_SLOT, K1, iv=IV)


def cipher(mode: NearMode, unit: int, data: bytes) -> bytes:
    """What encryption from data unit `unit` on gives."""
    return xts(K1, K2, unit, data) if mode == XTS else ctr(K1, IV, unit * 512, data)


@pytest.mark.parametrize("mode", [XTS, CTR])
def test_decrypt_and_encrypt(make_drive: MakeDrive, mode: NearMode) -> None:
    """A file's data as they are on a drive that knows nothing of it, from any block on; zeros are data as others."""
    rng = random.Random(30)
    drive = csd(make_drive)
    keyed(drive)
    plain = rng.randbytes(7 * 512) + bytes(1024) + rng.randbytes((BLOCKS - 9) * 512)
    unit = rng.choice((0, 5, 1 << 40))
    secret = cipher(mode, unit, plain)
    zeros = bytes(512)
    put(drive, 10, secret + zeros)
    slot = XTS_SLOT if mode == XTS else CTR_SLOT
    near.load(drive, 0, Crypt(slot, mode, offset=unit - 10).program())
    near.load(drive, 1, Crypt(slot, mode, True, unit - 10).program())
    for first, blocks in ((0, BLOCKS), (0, 1), (3, 1), (7, 2), (5, 20)):
        command, got = near.run(drive, 0, 10 + first, blocks)
        expect(command, Status.SUCCESS)
        assert command.dw0 == blocks * 512
        assert got == plain[first * 512 :][: blocks * 512]
        assert near.run(drive, 1, 10 + first, blocks)[1] == cipher(
            mode, unit + first, secret[first * 512 :][: blocks * 512]
        )
    # Zeros on the media are ciphertext too, and plaintext; a namespace's operator would hand them out as they are.
    there = near.run(drive, 0, 10 + BLOCKS, 1)[1]
    assert cipher(mode, unit + BLOCKS, there) == zeros
    assert near.run(drive, 1, 10 + BLOCKS, 1)[1] == cipher(mode, unit + BLOCKS, zeros)
    # Any number of bytes of the last block.
    command, got = near.run(drive, 0, 12, 2, length=700)
    assert (command.dw0, got) == (700, plain[2 * 512 :][:700].ljust(1024, b"\0"))
    assert get(drive, 10, BLOCKS) == secret, "a Read sees what is there"


def test_something_behind(make_drive: MakeDrive) -> None:
    """Each operator looks at the plaintext: decrypt, filter, aggregate in one command."""
    rng = random.Random(31)
    drive = csd(make_drive)
    keyed(drive)
    text = random_text(rng, BLOCKS * 512)
    put(drive, 0, xts(K1, K2, 0, text))
    some = Predicate(ColumnType.U8, 3, NearComparison.LESS, 0x60)
    column = Aggregate(ColumnType.I32, 12)
    programs = [Grep((b"ab", b"B."), where=True), column, Filter(12, (some,)), Filter(12, (some,), behind=column),
                Hash(NearDigest.CRC32C)]  # fmt: skip
    for n, behind in enumerate(programs):
        program = Crypt(XTS_SLOT, behind=behind)
        near.load(drive, n % 4, program.program())
        slba, blocks = rng.randrange(20), rng.randint(1, 40)
        command, got = near.run(drive, n % 4, slba, blocks)
        expect(command, Status.SUCCESS)
        want = behind.result(text[slba * 512 :][: blocks * 512])
        assert (command.dw0, got) == (len(want), want.ljust(blocks * 512, b"\0"))
    near.load(drive, 0, Crypt(XTS_SLOT, behind=Hash()).program())
    assert near.digest(drive, 0, 0, 5000) == hashlib.sha256(text[:5000]).digest()
    near.load(drive, 0, programs[0].program())  # and the next program sees what is there
    want = programs[0].result(xts(K1, K2, 0, text)[:4096])
    assert near.run(drive, 0, 0, 8)[1][: len(want)] == want


def test_no_key_no_data(make_drive: MakeDrive) -> None:
    """No key, one for the other mode, an erased one, a namespace that has an operator of its own: an error, and nothing
    of what is there leaves."""
    rng = random.Random(32)
    drive = csd(make_drive)
    data = rng.randbytes(8 * 512)
    put(drive, 0, data)
    program = Crypt(XTS_SLOT)

    def refused() -> None:
        command, got = near.run(drive, 0, 0, 8)
        expect(command, Status.READ_ERROR)
        assert command.dw0 == 0
        assert not any(data[at : at + 16] in got for at in range(0, len(data), 16))

    near.load(drive, 0, program.program())
    refused()
    compute.load_key(drive, XTS_SLOT, K1, iv=IV)
    refused()
    compute.load_key(drive, XTS_SLOT, K1, K2)
    assert near.run(drive, 0, 0, 8)[1] != data
    compute.erase_key(drive, XTS_SLOT)
    refused()
    keyed(drive)
    compute.bind(drive, 1, Op.AES_CTR, CTR_SLOT)
    refused()
    compute.bind(drive, 1, Op.ADD, 0)
    refused()
    compute.bind(drive, 1, Op.PASS, 0)
    assert xts(K1, K2, 0, near.run(drive, 0, 0, 8)[1]) == data


def test_what_is_refused(make_drive: MakeDrive) -> None:
    drive = csd(make_drive)
    good = Crypt(3, behind=Aggregate(ColumnType.U8, 1)).program()
    near.load(drive, 0, good)

    def changed(at: int, value: int) -> bytes:
        return good[:at] + bytes([value]) + good[at + 1 :]

    wrong = [changed(1, 2), changed(2, 1), changed(3, 1), changed(4, 2), changed(5, 2), changed(6, 0), changed(6, 16),
             changed(7, 1), changed(16, 5), changed(16, 0), good[:16], good[:31]]  # fmt: skip
    for program in wrong:
        expect(near.load_try(drive, 0, program), Status.INVALID_FIELD)
        expect(near.run(drive, 0, 0, 1)[0], Status.INVALID_FIELD)


def test_owners(csd_owners: list[Driver]) -> None:
    """The same slot and program of each function are its own; a reset takes both."""
    rng = random.Random(33)
    drives = csd_owners
    keys = [(rng.randbytes(32), rng.randbytes(32)) for _ in drives]
    data = [rng.randbytes(16 * 512) for _ in drives]
    for fn, drive in enumerate(drives):
        compute.load_key(drive, 1, *keys[fn])
        put(drive, 0, xts(*keys[fn], 0, data[fn]), nsid=fn + 1)
        near.load(drive, 2, Crypt(1).program())
    under_way = []
    for fn, slba in itertools.product(range(len(drives)), range(12)):
        under_way.append((fn, slba, near.submit(drives[fn], 2, slba, 4, nsid=fn + 1)))
    for fn, slba, command in under_way:
        drives[fn].wait([command])
        buffer = command.check().buffer
        assert buffer is not None
        assert buffer.read() == data[fn][slba * 512 :][:2048]
    # The PF names slots of VFs, to erase them, but not for data.
    for slot in range(6, 16):
        expect(near.load_try(drives[0], 3, Crypt(slot).program()), Status.INVALID_FIELD)
    drives[1].disable()
    drives[1].start(queues=2, entries=64)
    expect(near.run(drives[1], 2, 0, 4, nsid=2)[0], Status.INVALID_FIELD)
    near.load(drives[1], 2, Crypt(1).program())
    assert near.run(drives[1], 2, 0, 4, nsid=2)[0].status != Status.SUCCESS
    assert near.run(drives[2], 2, 0, 4, nsid=3)[1] == data[2][:2048]
