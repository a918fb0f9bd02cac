# SPDX-License-Identifier: Apache-2.0
"""AES in CTR and XTS mode: db_csd_aes. Plain Python from FIPS-197, SP 800-38A and IEEE 1619; slow."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from doorbell.compute.operators import Context, Key, Op


def _times(a: int, b: int) -> int:
    """Product in GF(2^8)."""
    result = 0
    while b:
        if b & 1:
            result ^= a
        a = (a << 1) ^ (0x11B if a & 0x80 else 0)
        b >>= 1
    return result


def _sbox() -> bytes:
    table = bytearray(256)
    for x in range(256):
        inverse = x
        for _ in range(6):  # x^254
            inverse = _times(_times(inverse, inverse), x)
        inverse = _times(inverse, inverse)
        y = 0x63
        for turn in range(5):
            y ^= ((inverse << turn) | (inverse >> (8 - turn))) & 0xFF
        table[x] = y
    return bytes(table)


SBOX = _sbox()
INV_SBOX = bytes(SBOX.index(x) for x in range(256))
_TIMES = {n: bytes(_times(n, x) for x in range(256)) for n in (1, 2, 3, 9, 11, 13, 14)}


@lru_cache(maxsize=256)
def round_keys(key: bytes) -> tuple[bytes, ...]:
    """The key schedule: 11 or 15 round keys."""
    if len(key) not in (16, 32):
        raise ValueError("an AES key here has 16 or 32 bytes")
    n = len(key) // 4
    words = [key[4 * i : 4 * i + 4] for i in range(n)]
    rcon = 1
    for i in range(n, 4 * (n + 7)):
        w = words[-1]
        if i % n == 0:
            w = bytes(SBOX[b] for b in w[1:] + w[:1])
            w = bytes([w[0] ^ rcon]) + w[1:]
            rcon = _times(rcon, 2)
        elif n == 8 and i % 8 == 4:
            w = bytes(SBOX[b] for b in w)
        words.append(bytes(a ^ b for a, b in zip(w, words[i - n], strict=True)))
    return tuple(b"".join(words[i : i + 4]) for i in range(0, len(words), 4))


def _xor(a: bytes, b: bytes) -> bytes:
    return (int.from_bytes(a, "little") ^ int.from_bytes(b, "little")).to_bytes(len(a), "little")


def _mix(state: bytes, row: tuple[int, int, int, int]) -> bytes:
    tables = [_TIMES[n] for n in row]
    out = bytearray(16)
    for c in range(0, 16, 4):
        for r in range(4):
            out[c + r] = (
                tables[0][state[c + r]] ^ tables[1][state[c + (r + 1) % 4]]
                ^ tables[2][state[c + (r + 2) % 4]] ^ tables[3][state[c + (r + 3) % 4]]
            )  # fmt: skip
    return bytes(out)


def encrypt_block(key: bytes, block: bytes) -> bytes:
    keys = round_keys(key)
    state = _xor(block, keys[0])
    for k in keys[1:]:
        state = bytes(SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16))
        if k is not keys[-1]:
            state = _mix(state, (2, 3, 1, 1))
        state = _xor(state, k)
    return state


def decrypt_block(key: bytes, block: bytes) -> bytes:
    keys = round_keys(key)
    state = _xor(block, keys[-1])
    for k in keys[-2::-1]:
        state = bytes(INV_SBOX[state[(i - 4 * (i % 4)) % 16]] for i in range(16))
        state = _xor(state, k)
        if k is not keys[0]:
            state = _mix(state, (14, 11, 13, 9))
    return state


@dataclass
class _Aes:
    """keys: what the key slots hold. zero_rule: 16 bytes of zeros on the media are read as zeros."""

    keys: dict[int, Key] = field(default_factory=dict)
    zero_rule: bool = True

    def _block(self, key: Key, context: Context, index: int, data: bytes) -> bytes:
        raise NotImplementedError

    def _usable(self, key: Key | None) -> bool:
        raise NotImplementedError

    def apply(self, data: bytes, context: Context) -> bytes:
        key = self.keys.get(context.key_slot)
        if key is None or not self._usable(key):
            return bytes(len(data))
        out = []
        for i in range(0, len(data), 16):
            block = data[i : i + 16]
            keep = self.zero_rule and not context.write and not any(block)
            out.append(block if keep else self._block(key, context, i // 16, block))
        return b"".join(out)


@dataclass
class AesCtr(_Aes):
    """The counter of byte 0 of block 0 is the IV, NSID - 1 added to its first byte; it grows by 1 every 16 bytes."""

    CODE = Op.AES_CTR

    def _usable(self, key: Key | None) -> bool:
        return key is not None and key.iv is not None

    def _block(self, key: Key, context: Context, index: int, data: bytes) -> bytes:
        assert key.iv is not None
        counter = int.from_bytes(key.iv, "big") + context.lba * (context.block // 16) + index
        counter += (context.nsid - 1) << 120
        return _xor(data, encrypt_block(key.k1, (counter % (1 << 128)).to_bytes(16, "big")))


@lru_cache(maxsize=256)
def tweaks(k2: bytes, lba: int, count: int) -> tuple[bytes, ...]:
    """The tweaks of a block of `count` x 16 bytes."""
    t = int.from_bytes(encrypt_block(k2, lba.to_bytes(16, "little")), "little")
    out = []
    for _ in range(count):
        out.append(t.to_bytes(16, "little"))
        t = ((t << 1) ^ (0x87 if t >> 127 else 0)) & ((1 << 128) - 1)
    return tuple(out)


@dataclass
class AesXts(_Aes):
    """IEEE 1619 with a block (LBA) as the data unit and its number as the tweak."""

    CODE = Op.AES_XTS

    def _usable(self, key: Key | None) -> bool:
        return key is not None and key.k2 is not None

    def _block(self, key: Key, context: Context, index: int, data: bytes) -> bytes:
        assert key.k2 is not None
        per = context.block // 16
        t = tweaks(key.k2, context.lba + index // per, per)[index % per]
        cipher = encrypt_block if context.write else decrypt_block
        return _xor(cipher(key.k1, _xor(data, t)), t)
