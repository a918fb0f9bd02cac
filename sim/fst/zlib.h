// SPDX-License-Identifier: Apache-2.0
// The two functions of zlib that Verilator's writer of FST files calls, so that nothing has to be installed for it. What
// it gives them is small, so it is stored (RFC 1950, RFC 1951 section 3.2.4), not made shorter.
#pragma once

#include <cstdint>
#include <cstring>

using uLong = unsigned long;
using uLongf = unsigned long;
using Bytef = unsigned char;
constexpr int Z_OK = 0, Z_BUF_ERROR = -5;

namespace db_zlib {

constexpr uLong MOST = 65535;  // bytes of a stored block

inline uLong blocks(uLong size) { return size / MOST + 1; }

}  // namespace db_zlib

inline uLong compressBound(uLong size) { return 2 + 5 * db_zlib::blocks(size) + size + 4; }

inline int compress2(Bytef* out, uLongf* length, const Bytef* in, uLong size, int) {
    using namespace db_zlib;
    if (*length < compressBound(size)) return Z_BUF_ERROR;
    Bytef* at = out;
    *at++ = 0x78;
    *at++ = 0x01;
    uint32_t a = 1, b = 0;  // Adler-32
    for (uLong i = 0; i < size; ++i) {
        a = (a + in[i]) % 65521;
        b = (b + a) % 65521;
    }
    for (uLong n = blocks(size); n; --n) {
        const uLong part = n > 1 ? MOST : size;
        const Bytef head[5] = {Bytef(n == 1), Bytef(part), Bytef(part >> 8), Bytef(~part), Bytef(~part >> 8)};
        std::memcpy(at, head, sizeof head);
        if (part) std::memcpy(at + sizeof head, in, part);
        at += sizeof head + part;
        in += part;
        size -= part;
    }
    for (int shift = 24; shift >= 0; shift -= 8) *at++ = Bytef((b << 16 | a) >> shift);
    *length = uLongf(at - out);
    return Z_OK;
}
