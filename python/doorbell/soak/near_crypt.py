# SPDX-License-Identifier: Apache-2.0
"""What a Crypt makes of blocks, by docs/csd/near-storage.md and the `cryptography` package; and the keys of a soak."""

from __future__ import annotations

import random

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from doorbell.compute.near import Crypt
from doorbell.nvme.vendor import NearMode

CTR_KEY = 1 << 20
"""Of a key's number: it is one for CTR. Without it, for XTS."""
PIECE = 16
NUMBERS = 1 << 64


def key_bytes(number: int) -> tuple[bytes, bytes]:
    """Both keys of XTS."""
    rng = random.Random(number)
    return rng.randbytes(32), rng.randbytes(32)


def ctr_key_bytes(number: int) -> tuple[bytes, bytes]:
    """Key and IV of CTR; some counters have a carry out of their lower half."""
    rng = random.Random(number)
    iv = rng.randbytes(16)
    return rng.randbytes(32), iv if number % 2 else iv[:6] + b"\xff" * 9 + iv[15:]


def fits(program: Crypt, key: int) -> bool:
    """The key, 0 if there is none, is one for its mode."""
    return key > 0 and bool(key & CTR_KEY) == (program.mode == NearMode.CTR)


def crypted(program: Crypt, key: int, slba: int, block_size: int, data: bytes) -> bytes:
    """Whole blocks from `slba` on, decrypted or encrypted."""
    first = (slba + program.offset) % NUMBERS
    if key & CTR_KEY:
        key1, iv = ctr_key_bytes(key)
        return b"".join(
            _ctr(key1, iv, (first + n) % NUMBERS * (block_size // PIECE), data[n * block_size : (n + 1) * block_size])
            for n in range(-(-len(data) // block_size))
        )
    both = b"".join(key_bytes(key))
    out = b""
    for n in range(-(-len(data) // block_size)):
        tweak = ((first + n) % NUMBERS).to_bytes(16, "little")
        cipher = Cipher(algorithms.AES(both), modes.XTS(tweak))
        unit = cipher.encryptor() if program.encrypt else cipher.decryptor()
        out += unit.update(data[n * block_size : (n + 1) * block_size]) + unit.finalize()
    return out


def _ctr(key: bytes, iv: bytes, pieces: int, data: bytes) -> bytes:
    counter = (int.from_bytes(iv, "big") + pieces) % (1 << 128)
    return Cipher(algorithms.AES(key), modes.CTR(counter.to_bytes(16, "big"))).encryptor().update(data)


def leaked(data: bytes, got: bytes) -> int | None:
    """Where in `data` 16 bytes are that stand in `got`, too.

    Zeros say nothing, nor do two numbers as Grep and Aggregate give and an earlier stored result has: of 8 bytes
    each, and at most 4 of these are not 0.
    """
    for at in range(0, len(data), PIECE):
        piece = data[at : at + PIECE]
        if sum(map(bool, piece)) > 8 and piece in got:
            return at
    return None
