// SPDX-License-Identifier: Apache-2.0
// What a host has set by Set Features. What a value means is in commands/features.c.
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "hw/hw.h"

/// Features that are one value.
enum {
    V_ARBITRATION,
    V_COALESCING,
    V_ATOMICITY,
    V_EVENTS,
    V_KEEP_ALIVE,
    V_HOST_BEHAVIOR,
    V_PROGRESS,
    V_WRITE_CACHE,
    VALUES,  // new ones go before it: their places are on media
};

#define VECTORS (FUNCTIONS > 1 ? 64 : MAX_VEC)  // that a function can have

struct settings {
    uint32_t value[VALUES];
    uint32_t saved, saved_value[VALUES];  // what a reset brings back: a bit a value, where the host has chosen it
    uint16_t temp_over, temp_under;
    uint32_t vector_cd[VECTORS / 32];  // a bit a vector: not coalesced
    uint64_t keep_alive_us;            // 0: off
    uint64_t keep_alive_from;          // the last sign of life
    uint64_t clock_set, clock_at;      // timestamp in ms, and the time_us when it was set
#if FUNCTIONS == 1
    bool clock_by_host;
#endif
};

#define CLOCK_BY_HOST ((uint64_t)1 << 63)  // in clock_set, whose value has 48 bits: where there are several functions

static inline bool clock_by_host(const struct settings* s) {
#if FUNCTIONS == 1
    return s->clock_by_host;
#else
    return s->clock_set & CLOCK_BY_HOST;
#endif
}
static inline void set_clock_by_host(struct settings* s) {
#if FUNCTIONS == 1
    s->clock_by_host = true;
#else
    s->clock_set |= CLOCK_BY_HOST;
#endif
}

static inline void keep_alive_restart(struct settings* s) { s->keep_alive_from = hw_time(); }

/// When Keep Alive runs out.
static inline uint64_t keep_alive_deadline(const struct settings* s) {
    return s->keep_alive_us ? s->keep_alive_from + s->keep_alive_us : NEVER;
}

/// Critical Warning of the SMART log; media: of hw_media_state.
enum { WARNS_SPARE = 1u << 0, WARNS_TEMPERATURE = 1u << 1, WARNS_RELIABILITY = 1u << 2, WARNS_READ_ONLY = 1u << 3 };
uint8_t smart_warning(const struct settings* s, uint32_t media);

#endif
