// SPDX-License-Identifier: Apache-2.0
// The media of the model of a drive: where its data is, and how long reads and writes take. Integer arithmetic only:
// the same everywhere.
#pragma once

#include <string>

#include "common/random.h"
#include "common/storage.h"
#include "interface/db_host_sim.h"

namespace db {

class ModelMedia {
    static constexpr u32 FRAC = 16;  // bits behind the cycle
    const db_model_config& c;
    u64 khz;
    Rng rng;
    u64 rd_tpb, wr_tpb, slow_tpb;   // ticks a byte
    u64 rd_free = 0, wr_free = 0;   // ticks
    u64 cached = 0, cached_at = 0;  // bytes in the SLC cache, and when that was (ticks)
    u64 written = 0;

    u64 ticks(u64 mbps) const { return mbps ? (khz << FRAC) / (mbps * 1000) : 0; }

  public:
    Storage store;
    u64 stalls = 0;

    ModelMedia(const db_model_config& config, u64 clock_khz, u64 seed)
        : c(config), khz(clock_khz), rng(seed), rd_tpb(ticks(c.read_mbps)), wr_tpb(ticks(c.write_mbps)),
          slow_tpb(ticks(c.slow_mbps)) {}

    bool open(std::string& why) { return store.open(c.size, c.image, "the drive's data", why); }
    void reset() { rd_free = wr_free = 0; }

    /// One drawn latency (DB_LAT_*), cycles.
    u64 draw(u32 kind);
    /// When data of a read that takes `latency` is there.
    u64 read(u64 now, u64 latency, u64 bytes);
    /// When a write that is all there at `now` has reached the media, at the media's pace alone.
    u64 write(u64 now, u64 bytes);
};

}  // namespace db
