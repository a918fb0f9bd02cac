# SPDX-License-Identifier: Apache-2.0
"""db_csd with published vectors and the `cryptography` package, through the whole drive: what a host writes is
ciphertext on the media and comes back plain."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable

import aes_vectors
import pytest
from csd_drive import NUM_NS, csd, ctr, xts
from doorbell.compute import drive as compute
from doorbell.compute.operators import Op
from doorbell.nvme.commands import NvmeError, expect
from doorbell.nvme.constants import NvmOpc, Status
from doorbell.nvme.driver import Driver
from doorbell.nvme.vendor import CsdConfig
from traffic import MakeDrive

pytestmark = pytest.mark.rtl
PLAIN = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710"
)
IV = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
CTR_VECTORS = [  # SP 800-38A, F.5.1 and F.5.5
    (CsdConfig.AES128, "2b7e151628aed2a6abf7158809cf4f3c",
     "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff"
     "5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee"),
    (CsdConfig.AES256, "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
     "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5"
     "2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6"),
]  # fmt: skip
RNG = random.Random(5)


def set_all(drive: Driver, settings: list[tuple[int, int]]) -> None:
    for feature, value in settings:
        drive.set_features(feature, value)


@pytest.mark.parametrize(("config", "key", "cipher"), CTR_VECTORS, ids=["aes128", "aes256"])
def test_features_of_the_thesis(make_drive: MakeDrive, config: int, key: str, cipher: str) -> None:
    """Configuration first, then key and IV word by word, as in its figures 3.54 to 3.58; bytes in natural order."""
    drive = csd(make_drive)
    assert drive.controller.mn.decode().strip() == "Doorbell CSD"
    settings = compute.features(config, bytes.fromhex(key), IV)
    assert settings[1][1] == int(key[-8:], 16) and settings[-1] == (0xCD, 0xF0F1F2F3)  # table 3.1
    set_all(drive, settings[:-1])
    write = drive.submit(1, NvmOpc.WRITE, 0, 0, drive.buffer(512))
    drive.wait([write])
    expect(write, Status.ACCESS_DENIED)  # a word is missing: no key
    set_all(drive, settings[-1:])
    data = PLAIN + RNG.randbytes(512 - 64)
    drive.write(0, data)
    on_media = drive.sim.media_read(0, 512)
    assert on_media[:64] == bytes.fromhex(cipher)
    assert on_media == ctr(bytes.fromhex(key), IV, 0, data)
    assert drive.read(0, 1) == data
    assert drive.get_features(0xC0) == config
    assert all(drive.get_features(f) == 0 for f in (*range(0xC1, 0xC9), *range(0xCA, 0xCE)))
    drive.set_features(0xC0, CsdConfig.PASS)
    assert drive.read(0, 1) == on_media
    drive.set_features(0xC0, config)
    assert drive.read(0, 1) == data


def test_adder(make_drive: MakeDrive) -> None:
    """The thesis' first prototype: feature C1h is added to each word."""
    drive = csd(make_drive)
    set_all(drive, compute.features(CsdConfig.ADD, addend=7))
    words = [RNG.randrange(1 << 32) for _ in range(1024)]
    drive.write(8, struct.pack("<1024I", *words))
    assert drive.sim.media_read(4096, 4096) == struct.pack("<1024I", *((w + 7) % (1 << 32) for w in words))
    assert drive.read(8, 8) == struct.pack("<1024I", *words)
    assert drive.get_features(0xC1) == 7


def test_feature_values(make_drive: MakeDrive) -> None:
    drive = csd(make_drive)
    for feature, value in ((0xC0, 3), (0xC0, 9), (0xC9, 0), (0xCE, 0), (0xBF, 0)):
        with pytest.raises(NvmeError) as error:
            drive.set_features(feature, value)
        assert error.value.status == Status.INVALID_FIELD
    # A key's word does not become what is added to data.
    set_all(drive, [*compute.features(CsdConfig.AES128, bytes(range(16)), IV), (0xC0, CsdConfig.ADD)])
    assert drive.get_features(0xC1) == 0
    drive.write(0, bytes(512))
    assert drive.sim.media_read(0, 512) == bytes(512)
    # Nor does one that came alone, before anybody said what it is for.
    for config in (CsdConfig.PASS, CsdConfig.AES256):
        set_all(drive, [(0xC0, config), (0xC1, 0x5EC2E7), (0xC0, CsdConfig.ADD)])
        assert drive.get_features(0xC1) == 0
        drive.write(0, bytes(512))
        assert drive.sim.media_read(0, 512) == bytes(512)


@pytest.mark.parametrize("bits", [128, 256])
def test_xts(make_drive: MakeDrive, bits: int) -> None:
    drive = csd(make_drive)
    n = bits // 8
    k1, k2 = RNG.randbytes(n), RNG.randbytes(n)
    compute.load_key(drive, 3, k1, k2)
    compute.bind(drive, 1, Op.AES_XTS, 3)
    for lba, blocks in ((0, 1), (5, 3), (1000, 255), (drive.namespace.nsze - 8, 8)):
        data = RNG.randbytes(512 * blocks)
        drive.write(lba, data)
        assert drive.sim.media_read(lba * 512, len(data)) == xts(k1, k2, lba, data), (lba, blocks)
        assert drive.read(lba, blocks) == data
    state = compute.state(drive)
    assert state.bound[1] == (Op.AES_XTS, 3, True) and state.xts == {3} and not state.ctr


def published(vectors: Iterable[aes_vectors.Vector], every: int = 1) -> list[aes_vectors.Vector]:
    """Those that a namespace of 64 MiB can hold, with keys that it takes."""
    fit = [v for v in vectors if v.context.lba < 1 << 17 and v.key.k1 != v.key.k2]
    return fit[::every]


@pytest.mark.parametrize(("name", "every"), [
    ("38A", 1), ("1619", 1), ("XTSVS 128", 30), ("XTSVS 256", 30),
    pytest.param("XTSVS 128", 1, marks=pytest.mark.nightly), pytest.param("XTSVS 256", 1, marks=pytest.mark.nightly),
])  # fmt: skip
def test_published(make_drive: MakeDrive, name: str, every: int) -> None:
    """SP 800-38A, IEEE 1619 vectors 4 to 11 and NIST's XTSVS as blocks of a drive: the media holds the ciphertext."""
    sets = {"38A": aes_vectors.ctr_38a(), "1619": aes_vectors.ieee_1619(), "XTSVS 128": aes_vectors.xtsvs(128),
            "XTSVS 256": aes_vectors.xtsvs(256)}  # fmt: skip
    vectors = published(sets[name], every)
    assert len(vectors) >= {"38A": 2, "1619": 8}.get(name, 300 // every)
    drive = csd(make_drive, media_size=NUM_NS * 64 << 20)
    for v in vectors:
        compute.load_key(drive, 2, v.key.k1, v.key.k2, v.key.iv)
        compute.bind(drive, 1, v.context.op, 2)
        drive.write(v.context.lba, v.plain)
        assert drive.sim.media_read(512 * v.context.lba, 512)[: v.published] == v.cipher[: v.published], v.name
        assert drive.read(v.context.lba, 1) == v.plain, v.name
