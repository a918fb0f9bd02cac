# SPDX-License-Identifier: Apache-2.0
"""db_csd as a drive: namespaces with keys of their own side by side, Compare, zeros, wrong and missing keys, resets."""

from __future__ import annotations

import random
import struct

import pytest
from csd_drive import NUM_NS, csd, ctr, get, io, put, xts
from doorbell.build import operator_folders as folders
from doorbell.compute import drive as compute
from doorbell.compute.operators import Context, Op
from doorbell.compute.operators.add import Add
from doorbell.nvme.commands import expect
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import CsdConfig, VendorOpc
from test_ssd_traffic import sustained
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
RNG = random.Random(6)
ADDENDS = [RNG.getrandbits(32) for _ in range(10)]  # by namespace
K1, K2, IV = RNG.randbytes(32), RNG.randbytes(32), RNG.randbytes(16)


def for_mode(op: int, key2: bytes = K2, iv: bytes = IV) -> tuple[bytes | None, bytes | None]:
    """What Key Load wants beside K1."""
    return (None, iv) if op == Op.AES_CTR else (key2, None)


def encrypted(make_drive: MakeDrive, op: Op = Op.AES_XTS) -> Driver:
    """A drive whose namespace 1 is encrypted, key in slot 1."""
    drive = csd(make_drive)
    compute.load_key(drive, 1, K1, *for_mode(op))
    compute.bind(drive, 1, op, 1)
    return drive


def test_compare(make_drive: MakeDrive) -> None:
    """It compares plaintext: with what was written, and with zeros where nothing was."""
    drive = encrypted(make_drive)
    data = RNG.randbytes(4096)
    put(drive, 8, data)
    expect(io(drive, NvmOpc.COMPARE, 8, 8, data)[0], Status.SUCCESS)
    for at in (0, 15, 16, 4095):
        wrong = bytearray(data)
        wrong[at] ^= 0x10
        expect(io(drive, NvmOpc.COMPARE, 8, 8, bytes(wrong))[0], Status.COMPARE_FAILED)
    expect(io(drive, NvmOpc.COMPARE, 8, 8, drive.sim.media_read(4096, 4096))[0], Status.COMPARE_FAILED)
    drive.run(drive.submit(1, NvmOpc.WRITE_ZEROES, 10, 1))
    zeroed = data[:1024] + bytes(1024) + data[2048:]
    assert get(drive, 8, 8) == zeroed
    expect(io(drive, NvmOpc.COMPARE, 8, 8, zeroed)[0], Status.SUCCESS)
    for at in (1024, 2047):
        wrong = bytearray(zeroed)
        wrong[at] = 1
        expect(io(drive, NvmOpc.COMPARE, 8, 8, bytes(wrong))[0], Status.COMPARE_FAILED)
    expect(io(drive, NvmOpc.COMPARE, 8, 1, bytes(512))[0], Status.COMPARE_FAILED)
    put(drive, 10, bytes(512))  # zeros written are not zeros on the media
    assert any(drive.sim.media_read(5120, 512)) and get(drive, 10, 1) == bytes(512)
    expect(io(drive, NvmOpc.COMPARE, 10, 1, bytes(512))[0], Status.SUCCESS)


@pytest.mark.parametrize("op", [Op.AES_CTR, Op.AES_XTS])
def test_zeros(make_drive: MakeDrive, op: Op) -> None:
    """Blocks that were never written, deallocated, or zeroed read as zeros; range lists pass untouched."""
    drive = encrypted(make_drive, op)
    assert get(drive, 100, 8) == bytes(4096)
    data = RNG.randbytes(4096)
    put(drive, 100, data)
    drive.deallocate([(101, 2), (105, 1)])
    drive.run(drive.submit(1, NvmOpc.WRITE_ZEROES, 107, 0))
    want = data[:512] + bytes(1024) + data[1536:2560] + bytes(512) + data[3072:3584] + bytes(512)
    assert get(drive, 100, 8) == want
    assert drive.sim.media_read(51200 + 512, 1024) == bytes(1024)


def test_wrong_key(make_drive: MakeDrive) -> None:
    """Garbage, and no error; with the right key again the data."""
    drive = encrypted(make_drive)
    data = RNG.randbytes(2048)
    put(drive, 0, data)
    compute.load_key(drive, 1, K2, K1)
    garbage = get(drive, 0, 4)
    assert all(a != b for a, b in zip(struct.iter_unpack("16s", garbage), struct.iter_unpack("16s", data), strict=True))
    compute.load_key(drive, 1, K1, K2)
    assert get(drive, 0, 4) == data


def locked(drive: Driver, nsid: int = 1) -> None:
    """Nothing gets in or out."""
    before = drive.sim.media_read(0, 1 << 20)
    for opcode in (NvmOpc.READ, NvmOpc.WRITE, NvmOpc.COMPARE):
        command, data = io(drive, opcode, 0, 4, nsid=nsid)
        expect(command, Status.ACCESS_DENIED)
        assert data == b"\xa5" * 2048 and command.dnr
    assert drive.sim.media_read(0, 1 << 20) == before


def test_key_is_gone(make_drive: MakeDrive) -> None:
    """After a controller reset, a function-level reset, an erasure, a Format with Secure Erase: locked, until there is
    a key again. What the namespace does is kept: nothing is written plain in between."""
    drive = encrypted(make_drive)
    data = RNG.randbytes(2048)
    put(drive, 0, data)
    for way in ("reset", "flr", "erase", "erase all"):
        if way == "reset":
            drive.start(queues=2, entries=64)
        elif way == "flr":
            drive.flr()
            drive.start(queues=2, entries=64)
        else:
            compute.erase_key(drive, 1 if way == "erase" else compute.ALL_SLOTS)
        locked(drive)
        state = compute.state(drive)
        assert not state.ctr | state.xts and state.bound[1] == (Op.AES_XTS, 1, True), way
        compute.load_key(drive, 1, K1, K2)
        assert get(drive, 0, 4) == data, way
    for ses in (1, 2):
        drive.format(0, ses=ses)
        locked(drive)
        compute.load_key(drive, 1, K1, K2)
        assert get(drive, 0, 4) == bytes(2048)
        put(drive, 0, data)


def test_features_after_reset(make_drive: MakeDrive) -> None:
    """The same with the features of the thesis: configuration stays, key and IV do not."""
    drive = csd(make_drive)
    settings = compute.features(CsdConfig.AES256, K1, IV)
    for feature, value in settings:
        drive.set_features(feature, value)
    data = RNG.randbytes(2048)
    put(drive, 0, data)
    drive.start(queues=2, entries=64)
    assert drive.get_features(0xC0) == CsdConfig.AES256
    locked(drive)
    for feature, value in settings[1:]:
        drive.set_features(feature, value)
    assert get(drive, 0, 4) == data
    # The first word of another key locks, until all of it is there: never half of each. Also with the word it had.
    for feature, value in settings[1:]:
        drive.set_features(feature, value)
        if (feature, value) != settings[-1]:
            locked(drive)
    assert get(drive, 0, 4) == data
    drive.set_features(*settings[5])
    drive.set_features(0xC0, CsdConfig.PASS)
    drive.set_features(0xC0, CsdConfig.AES256)
    locked(drive)


def test_key_commands(make_drive: MakeDrive) -> None:
    """What they refuse."""
    drive = csd(make_drive)
    for slot, keys in ((0, (K1, K2)), (16, (K1, K2)), (255, (K1, K2)), (1, (K1, K1)), (1, (K1,)), (1, (K1, K2, IV))):
        expect(compute.load_key_try(drive, slot, *keys), Status.INVALID_FIELD)
    expect(compute.load_key_try(drive, 1, K1[:16], K1[:16]), Status.INVALID_FIELD)
    assert not compute.state(drive).xts
    for nsid, value, status in ((1, 14, Status.INVALID_FIELD), (1, 3 | 16 << 8, Status.INVALID_FIELD),
                                (1, 1 << 6, Status.INVALID_FIELD), (NUM_NS + 3, 0, Status.INVALID_NS),
                                (0, 0, Status.INVALID_NS)):  # fmt: skip
        expect(drive.admin_try(VendorOpc.BIND, nsid=nsid, cdw10=value), status)
    expect(drive.admin_try(VendorOpc.KEY_ERASE, cdw10=16), Status.INVALID_FIELD)
    compute.load_key(drive, 15, K1, None, IV)  # for CTR alone
    compute.bind(drive, 1, Op.AES_XTS, 15)
    locked(drive)
    compute.bind(drive, 1, Op.AES_CTR, 15)
    put(drive, 3, bytes(512))
    assert drive.sim.media_read(1536, 512) == ctr(K1, IV, 1536, bytes(512))
    compute.follow(drive, 1)
    assert get(drive, 3, 1) == ctr(K1, IV, 1536, bytes(512))


XOR = folders.by_name("xor")
ALL_KINDS = (Op.AES_XTS, Op.AES_CTR, Op.AES_XTS, Op.ADD, XOR.code, Op.PASS)
TWICE = (Op.AES_XTS, Op.AES_CTR, Op.AES_XTS, Op.AES_CTR, Op.ADD, Op.ADD, XOR.code, XOR.code, Op.PASS)
TWO = {"NUM_NS": 2}  # the simulator that the guest of test_csd_vm.py has, too


@pytest.mark.nightly
def test_namespaces_interleaved(make_drive: MakeDrive) -> None:
    """Namespaces with all there is, each with a key or parameters of its own; as many as a soak has, whose simulator
    this is."""
    interleaved(csd(make_drive, queues=4, params={"NUM_NS": len(ALL_KINDS)}), ALL_KINDS)


@pytest.mark.nightly
def test_nine_namespaces_interleaved(make_drive: MakeDrive) -> None:
    interleaved(csd(make_drive, queues=4, params={"NUM_NS": len(TWICE)}), TWICE)


@pytest.mark.nightly
@pytest.mark.parametrize("kinds", [(Op.AES_XTS, Op.AES_CTR), (Op.AES_CTR, Op.AES_XTS), (Op.ADD, Op.AES_XTS)])
def test_128_bit(make_drive: MakeDrive, kinds: tuple[Op, ...]) -> None:
    interleaved(csd(make_drive, queues=4, data_w=128, link="gen3x4", params=TWO), kinds)


@pytest.mark.nightly
@pytest.mark.parametrize("op", [Op.AES_XTS, Op.AES_CTR, Op.ADD, Op.PASS])
def test_512_bit(make_drive: MakeDrive, op: Op) -> None:
    interleaved(csd(make_drive, queues=4, data_w=512, link="gen4x8"), (op,))


def without_key(op: int, nsid: int, data: bytes, write: bool) -> bytes:
    """What an operator that has parameters makes of data."""
    if op == Op.ADD:
        return Add().apply(data, Context(op, write=write, param=ADDENDS[nsid]))
    return XOR.model.apply(data, 0, 512, write, {"mask": ADDENDS[nsid]}) if op == XOR.code else data


def interleaved(drive: Driver, kinds: tuple[int, ...]) -> None:
    """Commands of all kinds in flight together on four queues, to a namespace for each of `kinds`: the media holds
    what the `cryptography` package says, and what is read is what was written."""
    blocks = 256
    share = (64 << 20) // 4096 // len(kinds) * 4096
    ops = dict(enumerate(kinds, 1))
    keys: dict[int, tuple[bytes, bytes, bytes]] = {}
    model = {n: bytearray(blocks * 512) for n in ops}
    for n, op in ops.items():
        if op in (Op.AES_XTS, Op.AES_CTR):
            keys[n] = (RNG.randbytes(n % 2 * 16 + 16), RNG.randbytes(n % 2 * 16 + 16), RNG.randbytes(16))
            compute.load_key(drive, n, keys[n][0], *for_mode(op, *keys[n][1:]))
            compute.bind(drive, n, op, n)
        else:
            compute.bind(drive, n, op, param=compute.addend(ADDENDS[n]))
            model[n][:] = without_key(op, n, bytes(model[n]), False)  # what has no key does not know zeros
    busy: dict[int, set[int]] = {n: set() for n in ops}
    pending = []
    done = 0
    wrote = {n: bytearray(blocks) for n in ops}
    while done < 600 or pending:
        if done < 600 and len(pending) < 48:
            nsid, size = RNG.choice(list(ops)), RNG.choice((1, 1, 2, 8, 16))
            slba = RNG.randrange(blocks - size)
            span = set(range(slba, slba + size))
            if not span & busy[nsid]:
                opcode = RNG.choice((NvmOpc.WRITE, NvmOpc.WRITE, NvmOpc.READ, NvmOpc.COMPARE))
                buffer = drive.buffer(size * 512, offset=RNG.choice((0, 512)))
                if opcode == NvmOpc.WRITE:
                    data = RNG.randbytes(size * 512)
                    model[nsid][slba * 512 : (slba + size) * 512] = data
                    wrote[nsid][slba : slba + size] = b"\1" * size
                    buffer.write(data)
                else:
                    buffer.write(model[nsid][slba * 512 : (slba + size) * 512])
                    if opcode == NvmOpc.READ:
                        buffer.fill(0x5A)
                busy[nsid] |= span
                command = drive.submit(1 + done % 4, opcode, slba, size - 1, buffer, nsid=nsid)
                pending.append((command, nsid, span, buffer))
                done += 1
                continue
        drive.wait([pending[0][0]])
        for item in [p for p in pending if p[0].done]:
            command, nsid, span, buffer = item
            command.check()
            if command.opcode == NvmOpc.READ:
                first = command.slba * 512
                assert buffer.read() == model[nsid][first : first + buffer.size], (nsid, command.slba)
            busy[nsid] -= span
            buffer.free()
            pending.remove(item)
    for n, plain in model.items():
        media = drive.sim.media_read((n - 1) * share, blocks * 512)
        if n in keys:
            k1, k2, iv = keys[n]
            want = xts(k1, k2, 0, bytes(plain)) if ops[n] == Op.AES_XTS else ctr(k1, iv, 0, bytes(plain), n)
        else:
            want = without_key(ops[n], n, bytes(plain), True)
        for b in range(blocks):
            expected = want[b * 512 : b * 512 + 512] if wrote[n][b] else bytes(512)
            assert media[b * 512 : b * 512 + 512] == expected, (n, b)


def test_reset_in_the_middle(make_drive: MakeDrive) -> None:
    """Controller resets while encrypted reads and writes are in flight: each block on the media is one of its
    ciphertexts or zeros, never plain, and the drive works afterwards."""
    drive = csd(make_drive, queues=4)
    span = 8
    written: dict[int, list[bytes]] = {}
    for round_ in range(6):
        compute.load_key(drive, 1, K1, K2)
        compute.bind(drive, 1, Op.AES_XTS, 1)
        for i in range(48):
            slba = i * span
            buffer = drive.buffer(span * 512)
            if i % 3 < 2:
                data = RNG.randbytes(span * 512)
                buffer.write(data)
                written.setdefault(slba, []).append(data)
            drive.submit(1 + i % 4, NvmOpc.WRITE if i % 3 < 2 else NvmOpc.READ, slba, span - 1, buffer)
        drive.ring()
        drive.advance(RNG.randrange(300, 4000))
        if round_ % 2:
            drive.flr()
        drive.start(queues=4, entries=64)
    for slba, versions in written.items():
        for b in range(span):
            on_media = drive.sim.media_read((slba + b) * 512, 512)
            ciphers = [xts(K1, K2, slba + b, v[b * 512 : b * 512 + 512]) for v in versions]
            pieces = [[c[i : i + 16] for c in ciphers] + [bytes(16)] for i in range(0, 512, 16)]
            assert all(on_media[16 * i : 16 * i + 16] in p for i, p in enumerate(pieces)), (slba, b)
    compute.load_key(drive, 1, K1, K2)
    data = RNG.randbytes(4096)
    put(drive, 0, data)
    assert get(drive, 0, 8) == data and drive.sim.media_read(0, 4096) == xts(K1, K2, 0, data)


def test_erased_in_flight(make_drive: MakeDrive) -> None:
    """A key erased under commands in flight: they end right or with an error, without plaintext on the media."""
    drive = csd(make_drive, queues=4)
    good = bad = 0
    for _ in range(3):
        compute.load_key(drive, 1, K1, K2)
        compute.bind(drive, 1, Op.AES_XTS, 1)
        commands = []
        for i in range(60):
            buffer = drive.buffer(4096)
            data = RNG.randbytes(4096)
            buffer.write(data)
            commands.append((drive.submit(1 + i % 4, (NvmOpc.WRITE, NvmOpc.READ)[i % 2], i // 2 * 8, 7, buffer), data))
        drive.ring()
        drive.advance(RNG.randrange(600, 1200))
        compute.erase_key(drive, 1)
        drive.wait([c for c, _ in commands])
        for command, data in commands:
            allowed = {Status.SUCCESS, Status.ACCESS_DENIED, 0x281 if command.opcode == NvmOpc.READ else 0x004}
            assert command.status in allowed, hex(command.status)
            good += command.status == 0
            bad += command.status != 0
            if command.opcode == NvmOpc.WRITE:
                media = drive.sim.media_read(command.slba * 512, 4096)
                want = xts(K1, K2, command.slba, data)
                assert command.status or media == want
                assert not any(media[i : i + 16] == data[i : i + 16] for i in range(0, 4096, 16))
    assert good and bad and good + bad == 180


def sustained_encrypted(drive: Driver, total: int) -> None:
    """sustained() of the plain drive, with AES-XTS: the media holds what it should."""
    compute.load_key(drive, 1, K1, K2)
    compute.bind(drive, 1, Op.AES_XTS, 1)
    sustained(drive, total)
    size = 128 << 10
    for first in range(0, min(total, 64 << 20), 16 * size):
        data = drive.read(first // 512, size // 512)
        assert drive.sim.media_read(first, size) == xts(K1, K2, first // 512, data)


@pytest.mark.nightly
def test_sustained_writes_encrypted(make_drive: MakeDrive) -> None:
    sustained_encrypted(csd(make_drive, queues=4), 8 << 20)


@pytest.mark.nightly
def test_sustained_writes_encrypted_4g(make_drive: MakeDrive) -> None:
    """512 bit: the fewest cycles for it."""
    sustained_encrypted(csd(make_drive, queues=4, data_w=512, link="gen4x8"), 4 << 30)
