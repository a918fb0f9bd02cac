// SPDX-License-Identifier: Apache-2.0
// Counters of one part of the simulator. A part lists each counter once, with its identifier and the name under which
// the caller sees it; enum, storage and names come from that list.
#pragma once

#include "common/types.h"

namespace db {

#define DB_COUNTER_ID(id, name) id,
#define DB_COUNTER_NAME(id, name) name,

/// Makes `enum class Enum` and its names from LIST, a macro of entries X(IDENTIFIER, "name").
#define DB_COUNTERS(Enum, LIST)                                     \
    enum class Enum : u32 { LIST(DB_COUNTER_ID) COUNT };            \
    inline const char* counter_name(Enum e) {                       \
        static const char* const names[] = {LIST(DB_COUNTER_NAME)}; \
        return names[u32(e)];                                       \
    }

template <class E>
struct Counters {
    static constexpr u32 COUNT = u32(E::COUNT);
    u64 value[COUNT] = {};

    u64& operator[](E e) { return value[u32(e)]; }
    u64 operator[](E e) const { return value[u32(e)]; }
};

/// Calls visit(name, value) for each counter; without `counters` the values are 0.
template <class E, class Visit>
void each_counter(const Counters<E>* counters, Visit& visit) {
    for (u32 i = 0; i < Counters<E>::COUNT; ++i) visit(counter_name(E(i)), counters ? counters->value[i] : 0);
}

}  // namespace db
