// SPDX-License-Identifier: Apache-2.0
// What the user of a recorder has beside that of a host, as far as the caller sees it: packets, the source of the stream
// with its buffer, where blocks that are read go.
#pragma once

#include <algorithm>
#include <deque>

#include "user/user_state.h"

namespace db {

struct RecorderState : UserState {
    static constexpr u32 BLOCK = 4096, MAX_DRIVES = 16;

    const u32 drives;
    std::deque<db_rec_packet> sends, packets;
    u64 drop_bytes = 0, level_peak = 0;
    bool drop_on = false;
    // what is read: place of a drive's blocks in a row of blocks, blocks in a row, bytes that have come
    u32 place[MAX_DRIVES] = {}, places = 0;
    u64 got[MAX_DRIVES] = {};

    RecorderState(const db_host_config& c, u32 beat, u32 n) : UserState(c, beat, 16), drives(n) {
        read_from(nullptr, 0, ~0u);
    }

    void clear() {
        UserState::clear();
        sends.clear();
        packets.clear();
    }

    /// buffer: bytes that the source keeps; from `drop` of them on (0: never), or always, blocks are to be dropped.
    void source(u64 buffer, u64 drop, bool always) {
        wr.buffer = buffer;
        wr.saved = std::min(wr.saved, wr.most());
        drop_bytes = drop;
        drop_on = always;
        level_peak = 0;
    }

    /// Blocks of the drives in `mask` in turn go to `data`, from its start.
    void read_from(u8* data, u64 len, u32 mask) {
        rbuf = data;
        rbuf_len = data ? len : 0;
        rbytes = 0;
        places = 0;
        for (u32 i = 0; i < drives; ++i) {
            got[i] = 0;
            place[i] = places;
            places += mask >> i & 1;
        }
    }

    /// Bytes that wait in the source's buffer.
    u64 level() const { return wr.rate ? wr.saved / 1000 : 0; }
};

}  // namespace db
