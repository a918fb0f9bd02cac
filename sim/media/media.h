// SPDX-License-Identifier: Apache-2.0
// The media of a simulated device, without its bus: bytes, errors that the caller wants, counters.
#pragma once

#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include "common/counters.h"
#include "common/storage.h"
#include "nand/nand.h"

namespace db {

#define DB_MEDIA_COUNTERS(X)              \
    X(BAD_BURST, "error.media_burst")     \
    X(BAD_LAST, "error.media_wlast")      \
    X(UNSTABLE, "error.media_stable")     \
    X(OUT_OF_RANGE, "error.media_range")  \
    X(BAD_COMMAND, "error.media_cmd")     \
    X(READ_BEATS, "media.read_beats")     \
    X(WRITE_BEATS, "media.write_beats")   \
    X(READ_BURSTS, "media.read_bursts")   \
    X(WRITE_BURSTS, "media.write_bursts") \
    X(FLUSHES, "media.flushes")           \
    X(ZEROES, "media.zeroes")             \
    X(ERRORS_INJECTED, "media.errors_injected")
DB_COUNTERS(MediaCount, DB_MEDIA_COUNTERS)

struct MediaError {
    u64 addr, len;
    long long count;  // bursts that will meet it; below 0: all
};

struct Media {
    Storage store;
    u64 begin = 0;  // the address of its first byte: what is before it is not there
    std::vector<MediaError> errors;
    std::map<u64, u64> unreadable;  // stretches whose reads fail until they are written: from, to
    Counters<MediaCount> count;
    std::unique_ptr<Nand> nand;  // when accesses are answered; null: after fixed times

    /// Does an injected error meet this burst? A hit uses up one of its count.
    bool meets_error(u64 addr, u64 bytes) {
        bool hit = false;
        for (MediaError& e : errors) {
            if (e.count != 0 && addr < e.addr + e.len && e.addr < addr + bytes) {
                if (e.count > 0) --e.count;
                hit = true;
            }
        }
        count[MediaCount::ERRORS_INJECTED] += hit;
        return hit;
    }

    u64 end() const { return begin + store.size; }
    bool inside(u64 from, u64 bytes) const { return from >= begin && from <= end() && bytes <= end() - from; }

    // As of a Storage, by address; what is not inside fails.
    bool load(u8* to, u64 at, u64 bytes) { return inside(at, bytes) && store.load(to, at - begin, bytes); }
    bool save(u64 at, const u8* from, u64 bytes) { return inside(at, bytes) && store.store(at - begin, from, bytes); }
    bool zero(u64 at, u64 bytes) { return inside(at, bytes) && store.zero(at - begin, bytes); }

    /// Reads of these bytes fail until they are written. False: outside.
    bool mark(u64 from, u64 bytes) {
        if (!inside(from, bytes)) return false;
        written(from, bytes);
        if (bytes) unreadable[from] = from + bytes;
        return true;
    }

    /// These bytes can be read again.
    void written(u64 from, u64 bytes) {
        const u64 to = from + bytes;
        auto at = unreadable.lower_bound(from);
        if (at != unreadable.begin() && std::prev(at)->second > from) --at;
        while (at != unreadable.end() && at->first < to) {
            const auto [first, last] = *at;
            at = unreadable.erase(at);
            if (first < from) unreadable[first] = from;
            if (last > to) unreadable[to] = last;
        }
    }

    bool readable(u64 from, u64 bytes) const {
        const auto behind = unreadable.lower_bound(from + bytes);
        return behind == unreadable.begin() || std::prev(behind)->second <= from;
    }
};

}  // namespace db
