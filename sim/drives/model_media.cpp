// SPDX-License-Identifier: Apache-2.0
#include "drives/model_media.h"

#include <algorithm>

namespace db {

u64 ModelMedia::draw(u32 kind) {
    const db_latency& l = c.latency[kind];
    u64 ns = l.a;
    if (l.kind == DB_DRAW_UNIFORM && l.b > l.a) ns += rng.below(l.b - l.a + 1);
    if (l.kind == DB_DRAW_LOGNORMAL) {
        // twelve uniform numbers less their mean are close to a normal one, here in 1/256
        int z = -6 * 256;
        for (int i = 0; i < 12; ++i) z += int(rng.below(257));
        u64 up = 1 << 16;  // b^|z|, whole powers by multiplying, the rest linear
        const u64 b = (u64(l.b) << 16) / 1000;
        int left = z < 0 ? -z : z;
        for (; left >= 256; left -= 256) up = up * b >> 16;
        up += (up * (b - (1 << 16)) >> 16) * u64(left) >> 8;
        ns = z < 0 ? (ns << 16) / up : ns * up >> 16;
    }
    return ns_to_cycles(ns, khz);
}

u64 ModelMedia::read(u64 now, u64 latency, u64 bytes) {
    const u64 t = now << FRAC;
    if (rd_free < t) rd_free = t;
    rd_free += bytes * rd_tpb;
    return std::max(now + latency, rd_free >> FRAC);
}

u64 ModelMedia::write(u64 now, u64 bytes) {
    const u64 t = now << FRAC;
    if (wr_free < t) wr_free = t;
    u64 per_byte = wr_tpb;
    if (c.slc_bytes && slow_tpb) {
        const u64 gone = (wr_free - cached_at) / slow_tpb;
        cached = cached > gone ? cached - gone : 0;
        cached_at = wr_free;
        if (cached + bytes > c.slc_bytes) per_byte = std::max(slow_tpb, wr_tpb);
        cached += bytes;
    }
    wr_free += bytes * per_byte;
    const u64 before = written;
    written += bytes;
    if ((c.stall_every && before / c.stall_every != written / c.stall_every) ||
        (c.stall_ppm && rng.below(1000000) < c.stall_ppm)) {
        wr_free += ns_to_cycles(c.stall_ns, khz) << FRAC;
        ++stalls;
    }
    return wr_free >> FRAC;
}

}  // namespace db
