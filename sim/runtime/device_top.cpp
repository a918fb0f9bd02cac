// SPDX-License-Identifier: Apache-2.0
// The only source of a device's simulator that depends on the top: DB_TOP, DB_TOP_HEADER, DB_DATA_W, and where wanted
// DB_STRADDLE (RQ and RC), DB_CQ_CC_STRADDLE, DB_MEDIA_ADDR_W (bits), DB_NUM_FN (PCIe functions), DB_CMB_LOG2, DB_NUM_SSD (SSDs beside the device) and
// DB_STATS_HEADER, which has a struct DbStats { void sample(const DB_TOP&, uint64_t cycle); }.
#include DB_TOP_HEADER
#include "runtime/device_sim.h"

#ifndef DB_STRADDLE
#define DB_STRADDLE (DB_DATA_W == 512)
#endif

#ifndef DB_CQ_CC_STRADDLE
#define DB_CQ_CC_STRADDLE 0
#endif

#ifndef DB_MEDIA_ADDR_W
#define DB_MEDIA_ADDR_W 40
#endif

#ifndef DB_NUM_FN
#define DB_NUM_FN 1
#endif

#ifndef DB_CMB_LOG2
#define DB_CMB_LOG2 0
#endif

#ifndef DB_NUM_SSD
#define DB_NUM_SSD 0
#endif

static_assert(DB_NUM_FN >= 1 && DB_NUM_FN <= db::MAX_FN, "DB_NUM_FN");

#ifdef DB_STATS_HEADER
#include DB_STATS_HEADER
#else
struct DbStats {
    void sample(const DB_TOP&, uint64_t) {}
};
#endif

static bool too_large(db::u64 bytes, std::string& why) {
    if (DB_MEDIA_ADDR_W >= 64 || bytes <= db::u64{1} << DB_MEDIA_ADDR_W) return false;
    why = "a capacity of " + std::to_string(bytes) + " bytes is too large: the drive's media addresses have " +
          std::to_string(DB_MEDIA_ADDR_W) + " bits (MEDIA_ADDR_W), 2^" + std::to_string(DB_MEDIA_ADDR_W) + " at most";
    return true;
}

std::unique_ptr<db_sim> db::make_device(const db_config& c, u64 media_begin, std::string& why) {
    if (too_large(media_begin + c.media_size, why)) return nullptr;
    auto sim = std::make_unique<
        DeviceSim<DB_TOP, DB_DATA_W, DB_STRADDLE, DB_CQ_CC_STRADDLE, DB_NUM_SSD, DB_CMB_LOG2, DbStats>>(c, DB_NUM_FN);
    sim->media.begin = media_begin;
    sim->context.cmb_log2 = DB_CMB_LOG2;
    if (DB_CMB_LOG2 && !sim->card.store.open(u64{DB_NUM_FN} << DB_CMB_LOG2, nullptr, "card memory", why))
        return nullptr;
    if (!sim->media.store.open(c.media_size, c.image, "the media", why)) return nullptr;
    if (too_large(sim->media.end(), why)) return nullptr;  // as long as the image is
    return sim;
}

extern "C" uint32_t db_data_w(void) { return DB_DATA_W; }
extern "C" uint32_t db_num_fn(void) { return DB_NUM_FN; }
extern "C" uint32_t db_cmb_log2(void) { return DB_CMB_LOG2; }
extern "C" uint32_t db_num_ssd(void) { return DB_NUM_SSD; }
