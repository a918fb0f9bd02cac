# SPDX-License-Identifier: Apache-2.0
"""sim/fst: what stands in for LZ4 and zlib makes what their formats describe."""

from __future__ import annotations

import ctypes
import random
import zlib
from collections.abc import Iterator

import pytest
from doorbell.build.cache import tool
from doorbell.build.compiler import FST_INCLUDE, WARN

SOURCE = """
#include <lz4.h>
#include <zlib.h>
extern "C" int lz4_bound(int n) { return LZ4_compressBound(n); }
extern "C" int lz4(const char* s, char* t, int n, int room) { return LZ4_compress_default(s, t, n, room); }
extern "C" unsigned long zlib_bound(unsigned long n) { return compressBound(n); }
extern "C" int zlib(unsigned char* t, unsigned long* n, const unsigned char* s, unsigned long m) {
    return compress2(t, n, s, m, 9);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("fst")
    (folder / "both.cpp").write_text(SOURCE)
    flags = ["-std=c++17", "-O2", *WARN, "-fsanitize=undefined", "-fno-sanitize-recover=undefined", "-shared", "-fPIC"]
    tool(["g++", *flags, f"-I{FST_INCLUDE}", str(folder / "both.cpp"), "-o", str(folder / "both.so")], "compiling")
    lib = ctypes.CDLL(str(folder / "both.so"))
    lib.zlib_bound.restype = ctypes.c_ulong
    lib.zlib_bound.argtypes = [ctypes.c_ulong]
    return lib


def texts() -> Iterator[bytes]:
    """All lengths around the limits of the formats, and what is easy, hard or impossible to make shorter."""
    rng = random.Random(1)
    for size in (*range(40), 255, 269, 270, 271, 300, 5000, 65534, 65535, 65536, 65551, 200_000):
        yield bytes(size)
        yield rng.randbytes(size)
        yield bytes(rng.choices(b"ab", k=size))
        yield (rng.randbytes(size // 7 + 1) * 8)[:size]
        yield (rng.randbytes(1 + size // 2) * 2)[:size]  # a match that may be too far away


def unpack_lz4(block: bytes) -> bytes:
    """By its description: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md."""
    out, at = bytearray(), 0

    def length(first: int) -> int:
        nonlocal at
        total = first
        while first == 15 and (total - 15) % 255 == 0:
            more = block[at]
            at += 1
            total += more
            if more != 255:
                break
        return total

    while True:
        token = block[at]
        at += 1
        literals = length(token >> 4)
        out += block[at : at + literals]
        at += literals
        if at == len(block):
            assert literals >= 5 or not out[: -literals or None]  # the last five bytes are literals
            return bytes(out)
        distance = int.from_bytes(block[at : at + 2], "little")
        at += 2
        assert 0 < distance <= len(out)
        for _ in range(length(token & 15) + 4):
            out.append(out[-distance])


def test_lz4_blocks(library: ctypes.CDLL) -> None:
    for text in texts():
        room = library.lz4_bound(len(text))
        block = ctypes.create_string_buffer(room)
        size = library.lz4(text, block, len(text), room)
        assert 0 < size <= room and unpack_lz4(block.raw[:size]) == text
    many = b"a change of a signal " * 1000
    block = ctypes.create_string_buffer(library.lz4_bound(len(many)))
    assert library.lz4(many, block, len(many), len(block)) < len(many) / 50
    assert library.lz4(many, block, len(many), 10) == 0  # too little room


def test_zlib_streams(library: ctypes.CDLL) -> None:
    for text in texts():
        size = ctypes.c_ulong(library.zlib_bound(len(text)))
        stream = ctypes.create_string_buffer(size.value)
        assert library.zlib(stream, ctypes.byref(size), text, ctypes.c_ulong(len(text))) == 0
        assert zlib.decompress(stream.raw[: size.value]) == text
