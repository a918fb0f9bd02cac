// SPDX-License-Identifier: Apache-2.0
// Cycles in which the engines of a top wait. A top has such counters, or none.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/event_log.h"

namespace db {

template <class T, class = void>
struct HasStats : std::false_type {};
template <class T>
struct HasStats<T, std::void_t<decltype(std::declval<T&>().stat_doorbell_valid)>> : std::true_type {};

/// Word i of a port, whatever type Verilator gave it.
template <class P>
inline u32 port_word(const P& port, u32 i) {
    u32 w;
    std::memcpy(&w, reinterpret_cast<const char*>(&port) + 4 * i, 4);
    return w;
}

#ifdef DB_CLOCKS_REST
constexpr bool STALLS_ARE_FLAGS = true;
#else
constexpr bool STALLS_ARE_FLAGS = false;
#endif

/// Cycles in which an engine of the top waited, for each cause of stat_stall. The top counts them; where clocks rest it only
/// says which causes there are (db_ssd_stats), so that it may stand still, and they are counted here.
template <class Top>
class Stalls {
    static constexpr u32 causes() {
        if constexpr (HasStats<Top>::value) return sizeof(Top::stat_stall) / 4;
        return 0;
    }
    static_assert(causes() <= EventLog::MAX_STALLS, "MAX_STALLS");
    u32 counted[EventLog::MAX_STALLS] = {}, bits = 0;

  public:
    void clear() {
        std::fill_n(counted, EventLog::MAX_STALLS, 0);
        bits = 0;
    }

    /// After an edge, or so many that are all the same.
    void count(const Top& top, u64 edges) {
        if constexpr (HasStats<Top>::value) {
            bits = 0;
            for (u32 i = 0; i < causes(); ++i) {
                const u32 word = port_word(top.stat_stall, i);
                if (STALLS_ARE_FLAGS ? word != 0 : word != counted[i]) bits |= 1u << i;
                counted[i] = STALLS_ARE_FLAGS ? counted[i] + word * u32(edges) : word;
            }
        }
        (void)top, (void)edges;
    }

    /// The causes that the last edge has counted, a bit each.
    u32 now() const { return bits; }

    /// How many causes there are.
    int counts(u32* out, int n) const {
        for (int i = 0; i < int(causes()) && i < n; ++i) out[i] = counted[i];
        return int(causes());
    }
};

}  // namespace db
