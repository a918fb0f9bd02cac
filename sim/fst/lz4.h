// SPDX-License-Identifier: Apache-2.0
// The two functions of LZ4 that Verilator's writer of FST files calls, so that nothing has to be installed for it. A
// block as its format describes: https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace db_lz4 {

constexpr int MIN_MATCH = 4, LAST_LITERALS = 5, LAST_MATCH = 12, FARTHEST = 65535, HASH_BITS = 14;

inline uint32_t word(const uint8_t* p) {
    uint32_t w;
    std::memcpy(&w, p, 4);
    return w;
}

/// A length beyond what its half of the token holds.
inline uint8_t* more(uint8_t* out, int length) {
    for (length -= 15; length >= 255; length -= 255) *out++ = 255;
    *out++ = uint8_t(length);
    return out;
}

/// Literals, then a match (length 0: none, the block's end).
inline uint8_t* sequence(uint8_t* out, const uint8_t* literals, int count, int distance, int length) {
    const int match = length ? length - MIN_MATCH : 0;
    *out++ = uint8_t((count < 15 ? count : 15) << 4 | (match < 15 ? match : 15));
    if (count >= 15) out = more(out, count);
    if (count) std::memcpy(out, literals, size_t(count));
    out += count;
    if (!length) return out;
    *out++ = uint8_t(distance);
    *out++ = uint8_t(distance >> 8);
    return match >= 15 ? more(out, match) : out;
}

}  // namespace db_lz4

inline int LZ4_compressBound(int size) { return size + size / 255 + 16; }

/// Bytes of the block; `room` is what LZ4_compressBound says.
inline int LZ4_compress_default(const char* source, char* target, int size, int room) {
    using namespace db_lz4;
    const uint8_t* const in = reinterpret_cast<const uint8_t*>(source);
    uint8_t* out = reinterpret_cast<uint8_t*>(target);
    std::vector<int> last(size_t(1) << HASH_BITS, -1);  // place of a word with this hash
    int done = 0;
    if (room < LZ4_compressBound(size)) return 0;
    for (int at = 0; at < size - LAST_MATCH;) {
        int& place = last[word(in + at) * 2654435761u >> (32 - HASH_BITS)];
        const int from = place;
        place = at;
        if (from < 0 || at - from > FARTHEST || word(in + from) != word(in + at)) {
            ++at;
            continue;
        }
        int length = MIN_MATCH;
        while (at + length < size - LAST_LITERALS && in[from + length] == in[at + length]) ++length;
        out = sequence(out, in + done, at - done, at - from, length);
        done = at += length;
    }
    out = sequence(out, in + done, size - done, 0, 0);
    return int(out - reinterpret_cast<uint8_t*>(target));
}
