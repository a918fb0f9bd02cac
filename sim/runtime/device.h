// SPDX-License-Identifier: Apache-2.0
// One simulated device and the world around it, as far as that does not depend on the Verilated top: what the C
// interface works on. The top and the loop that turns its clock are in device_sim.h.
#pragma once

#include <memory>
#include <string>

#include "host/root_complex.h"
#include "interface/db_switch_sim.h"
#include "media/card_memory.h"
#include "media/media.h"
#include "pcie/endpoint.h"
#include "runtime/event_log.h"
#include "runtime/sim_counters.h"

namespace db {

struct DeviceCounters {
    HardBlockCounters hard;
    Counters<EndpointCount> endpoint;
    Counters<HostCount> host;
    Counters<CardCount> card;
    Counters<SimCount> sim;
};

/// Cycles between two resets of a function, and from a VF's end to its begin, so that it sees both. A host waits for 100
/// ms.
constexpr u64 APART = 256;

}  // namespace db

struct db_sim {
    db::EndpointContext context;
    db::DeviceCounters count;
    db::Link up, down;
    db::Transmit transmit;
    db::Receive receive;
    db::RootComplex host;
    std::unique_ptr<db::Peers> peers;  // host.peers, if there are any
    db::Media media, card;
    db::EventLog events;
    db::LinkEvents up_events{events, DB_EV_UP}, down_events{events, DB_EV_DOWN};
    bool powered = false;                            // it has been reset once
    db::u64 us = 0, us_fraction = 0, us_offset = 0;  // time_us; fraction: in 1 / clock_khz
    db::u32 quiet = 0;                               // cycles in which nothing has moved
    bool intx = false;
    // function-level resets, a bit for each function: those that are to begin, are under way, are acknowledged
    db::u32 flr_waiting = 0, flr_active = 0, flr_acknowledged = 0;
    db::u64 flr_ended[db::MAX_FN] = {};  // cycle; 0: there was none
    db::u64 vfs_ended = 0;               // cycle in which VFs went; 0: they did not
    std::string said;                    // what db_trouble has given

    /// Is there something for the user? It is `said` then.
    bool say(std::string& trouble) {
        if (trouble.empty()) return false;
        said.swap(trouble);
        trouble.clear();
        return true;
    }

    db_sim(const db_config& c, db::u32 num_fn);
    virtual ~db_sim() = default;
    db_sim(const db_sim&) = delete;
    db_sim& operator=(const db_sim&) = delete;

    /// All that is on its way is gone.
    void clear();
    db::u64 time_us() const { return us + us_offset; }
    void advance_us(db::u64 cycles);
    /// The cycle in which time_us is `t`.
    db::u64 cycle_of(db::u64 t) const;

    // ---- functions (device_functions.cpp)

    /// VFs 1 to n are there, the others are not; what goes is reset.
    void enable_vfs(db::u32 n);
    /// It begins at once, or when the function's last reset is long enough ago.
    void begin_flr(db::u32 fn);
    /// Those that end here were acknowledged, or nobody waits for them any more.
    void end_flrs(db::u32 which);
    /// What is acknowledged ends, what waits begins when its time has come.
    void look_at_flrs();

    virtual void reset() = 0;
    virtual int run(db::u64 cycles, db::u32 stop) = 0;
    virtual void step() = 0;
    virtual void show_time() = 0;
    virtual void show_settings() = 0;
    virtual void show_flrs() = 0;
    /// DB_SWSIG_* of a top that has SSDs beside it.
    virtual db::u64 ssd_signal(db::u32 which) const = 0;
    virtual db::u64 wake_us() const = 0;
    /// Nothing will happen before wake_us unless the caller does something.
    virtual bool idle() const = 0;
    virtual int stalls(db::u32* out, int n) const = 0;
    virtual int coverage(const char* path) = 0;
    virtual int coverage_counts(uint32_t* out, int n) const = 0;
    virtual int trace(const char* path) = 0;
    virtual void trace_window(db::u64 first, db::u64 end) = 0;
};

namespace db {

/// What is wrong with a configuration, or "".
std::string fault_in(const db_config& c);
/// Around the top that this library was built with, not reset yet; null and `why` if the media cannot be opened.
/// media_begin: the address of its first byte.
std::unique_ptr<db_sim> make_device(const db_config& c, u64 media_begin, std::string& why);

}  // namespace db
