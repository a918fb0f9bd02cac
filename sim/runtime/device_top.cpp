// SPDX-License-Identifier: Apache-2.0
// The only source of a device's simulator that depends on the top: DB_TOP, DB_TOP_HEADER, DB_DATA_W, and where wanted
// DB_STRADDLE and DB_STATS_HEADER, which has a struct DbStats { void sample(const DB_TOP&, uint64_t cycle); }.
#include DB_TOP_HEADER
#include "runtime/device_sim.h"

#ifndef DB_STRADDLE
#define DB_STRADDLE (DB_DATA_W == 512)
#endif

#ifdef DB_STATS_HEADER
#include DB_STATS_HEADER
#else
struct DbStats {
    void sample(const DB_TOP&, uint64_t) {}
};
#endif

std::unique_ptr<db_sim> db::make_device(const db_config& c, std::string& why) {
    auto sim = std::make_unique<DeviceSim<DB_TOP, DB_DATA_W, DB_STRADDLE, DbStats>>(c);
    if (!sim->media.store.open(c.media_size, c.image, "the media", why)) return nullptr;
    sim->reset();
    return sim;
}

extern "C" uint32_t db_data_w(void) { return DB_DATA_W; }
