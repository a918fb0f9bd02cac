// SPDX-License-Identifier: Apache-2.0
// The media of a simulated device, without its bus: bytes, errors that the caller wants, counters.
#pragma once

#include <vector>

#include "common/counters.h"
#include "common/storage.h"

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
    std::vector<MediaError> errors;
    Counters<MediaCount> count;

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
};

}  // namespace db
