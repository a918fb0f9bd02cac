# SPDX-License-Identifier: Apache-2.0
"""Published vectors of AES in CTR and XTS mode, as commands of whole blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cryptography_vectors
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from doorbell.compute.operators import Context, Key, Op

PLAIN_38A = bytes.fromhex(
    "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51"
    "30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710"
)
IV_38A = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
CTR_38A = {
    "2b7e151628aed2a6abf7158809cf4f3c":
        "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff"
        "5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee",
    "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4":
        "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5"
        "2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6",
}  # fmt: skip
"""SP 800-38A, F.5.1/2 and F.5.5/6 (F.5.3/4 are of 192-bit keys)."""

E_PI_128 = "2718281828459045235360287471352631415926535897932384626433832795"
E_PI_256 = (
    "2718281828459045235360287471352662497757247093699959574966967627"
    "3141592653589793238462643383279502884197169399375105820974944592"
)
IEEE_1619 = [
    (1, "00" * 32, 0, "00" * 32, "917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e"),
    (2, "11" * 16 + "22" * 16, 0x3333333333, "44" * 32,
     "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0"),
    (3, "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0" + "22" * 16, 0x3333333333, "44" * 32,
     "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89"),
    (4, E_PI_128, 0x00, "", "27a7479befa1d476489f308cd4cfa6e2a96e4bbe3208ff25287dd3819616e89c"),
    (5, E_PI_128, 0x01, "", "264d3ca8512194fec312c8c9891f279fefdd608d0c027b60483a3fa811d65ee5"),
    (6, E_PI_128, 0x02, "", "fa762a3680b76007928ed4a4f49a9456031b704782e65e16cecb54ed7d017b5e"),
    (7, E_PI_128, 0xFD, "", "d55f684f81f4426e9fde92a5ff02df2ac896af63962888a97910c1379e20b0a3"),
    (8, E_PI_128, 0xFE, "", "72efc1ebfe1ee25975a6eb3aa8589dda2b261f1c85bdab442a9e5b2dd1d7c395"),
    (9, E_PI_128, 0xFF, "", "3260ae8dad1f4a32c5cafe3ab0eb95549d461a67ceb9e5aa2d3afb62dece0553"),
    (10, E_PI_256, 0xFF, "", "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b"),
    (11, E_PI_256, 0xFFFF, "", "77a31251618a15e6b92d1d66dffe7b50b50bad552305ba0217a610688eff7e11"),
    (12, E_PI_256, 0xFFFFFF, "", "e387aaa58ba483afa7e8eb469778317ecf4cf573aa9d4eac23f2cdf914e4e200"),
    (13, E_PI_256, 0xFFFFFFFF, "", "bf53d2dade78e822a4d949a9bc6766b01b06a8ef70d26748c6a7fc36d80ae4c5"),
    (14, E_PI_256, 0xFFFFFFFFFF, "", "64497e5a831e4a932c09be3e5393376daa599548b816031d224bbf50a818ed23"),
]  # fmt: skip
"""IEEE 1619, annex B: number, keys, data unit, plaintext, the first 32 bytes of the ciphertext. Vectors 4 to 9 are a
chain: the plaintext of one is the ciphertext of the data unit before; 10 to 14 encrypt 0 to 255 twice. 15 to 19 are no
multiple of 16 bytes."""


@dataclass
class Vector:
    """One command."""

    name: str
    key: Key
    context: Context
    plain: bytes
    cipher: bytes
    published: int  # so many first bytes of the ciphertext are as published, the rest by a software AES


def xts(key: bytes, unit: int, data: bytes, decrypt: bool = False) -> bytes:
    """The software AES (OpenSSL's)."""
    cipher = Cipher(algorithms.AES(key), modes.XTS(unit.to_bytes(16, "little")))
    engine = cipher.decryptor() if decrypt else cipher.encryptor()
    return engine.update(data) + engine.finalize()


def ctr(key: bytes, iv: bytes, first: int, data: bytes) -> bytes:
    """CTR from the first-th counter."""
    counter = (int.from_bytes(iv, "big") + first) % (1 << 128)
    return Cipher(algorithms.AES(key), modes.CTR(counter.to_bytes(16, "big"))).encryptor().update(data)


def _halves(key: bytes, iv: bytes | None = None) -> Key:
    return Key(key[: len(key) // 2], key[len(key) // 2 :], iv)


def ctr_38a() -> Iterator[Vector]:
    for key, cipher in CTR_38A.items():
        k, c = bytes.fromhex(key), bytes.fromhex(cipher)
        plain = PLAIN_38A.ljust(512, b"\x5a")
        whole = ctr(k, IV_38A, 0, plain)
        assert whole.startswith(c)
        yield Vector(f"38A {8 * len(k)}", Key(k, None, IV_38A), Context(Op.AES_CTR), plain, c + whole[64:], 64)


def ieee_1619() -> Iterator[Vector]:
    chain = {0: bytes(range(256)) * 2}
    for unit in range(256):
        chain[unit + 1] = xts(bytes.fromhex(E_PI_128), unit, chain[unit])
    for number, key, unit, plain, start in IEEE_1619:
        k = bytes.fromhex(key)
        p = bytes.fromhex(plain).ljust(512, b"\x5a") if plain else chain[unit] if key == E_PI_128 else chain[0]
        published = bytes.fromhex(start)
        # vector 1 has equal keys, which the software refuses: only what is published
        rest = xts(k, unit, p)[32:] if number > 1 else b""
        assert number == 1 or xts(k, unit, p)[:32] == published
        yield Vector(f"1619 {number}", _halves(k), Context(Op.AES_XTS, lba=unit), p, published + rest, 32)


def xtsvs(bits: int) -> Iterator[Vector]:
    """NIST XTSVS (XTSGenAES) with a data unit number and whole multiples of 16 bytes, at the start of a block."""
    folder = Path(cryptography_vectors.__file__).parent / "ciphers" / "AES" / "XTS" / "tweak-dataunitseqno"
    text = (folder / f"XTSGenAES{bits}.rsp").read_text()
    pattern = (
        r"COUNT = (\d+)\s+DataUnitLen = (\d+)\s+Key = (\w+)\s+DataUnitSeqNumber = (\d+)\s+"
        r"(\w\w) = (\w+)\s+(\w\w) = (\w+)"
    )
    for count, size, key, unit, first, a, _, b in re.findall(pattern, text):
        if int(size) % 128:
            continue
        k, n = bytes.fromhex(key), int(unit)
        plain, cipher = (bytes.fromhex(x) for x in ((a, b) if first == "PT" else (b, a)))
        assert len(plain) * 8 == int(size)
        padded = plain.ljust(512, b"\xa5")
        yield Vector(f"XTSVS {bits} {first} {count}", _halves(k), Context(Op.AES_XTS, lba=n), padded,
                     cipher + xts(k, n, padded)[len(cipher) :], len(cipher))  # fmt: skip
