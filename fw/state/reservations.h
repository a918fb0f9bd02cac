// SPDX-License-Identifier: Apache-2.0
// Reservations of namespaces that several functions share (Base 2.0, 8.19; 2.1, 8.1.22): who has registered, who has a
// reservation, who hears of what becomes of it. Hosts are known by their identifier, feature 81h; a function whose
// identifier is 0 is a host of its own, until it is reset. Only power loss takes registrants and reservations away, all
// others but that leave `struct reservations` as it is (8.1.22.1).
#ifndef RESERVATIONS_STATE_H
#define RESERVATIONS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
#include "base/nvme.h"
#include "hw/hw.h"

struct drive;
struct function;

#define MAX_REGISTRANTS 47u  // of all namespaces together
#define NOTICES 6u           // that a function has not read yet

struct host {
    uint32_t id[4];
    bool wide;      // 128 bits, else 64
    uint8_t place;  // of a function with identifier 0: its own; else 0
};

struct registrant {
    uint64_t key;
    struct host host;
    uint8_t nsid;   // 0: this place is free
    uint8_t owner;  // place of the function that has registered it
};

struct reservation {
    uint32_t generation;
    union {
        struct {
            uint8_t type;    // RESV_TYPE_*
            uint8_t holder;  // its place among registrants, unless all of them are
        };
        uint16_t held;  // both change at once: a reset may come at any time
    };
    bool persists;  // through power loss, feature 83h
};

struct reservations {
    struct registrant of[MAX_REGISTRANTS];
    struct reservation ns[MAX_NS + 1];
};

/// Of a function: its identifier, and log page 80h.
struct reservation_view {
    struct host host;
    uint8_t count;  // notices that wait, the oldest first
    struct {
        uint16_t number;  // its low half
        uint8_t type, nsid;
    } notice[NOTICES];
    uint32_t number;  // of the last one there was, kept or lost
};

struct reservation* resv_of(const struct drive* drive, uint32_t nsid);
/// The registrant that the function's host is. NULL: it is none.
struct registrant* resv_registrant(const struct drive* drive, const struct function* fn, uint32_t nsid);
/// ... that the function is of the host of.
bool resv_is_of(const struct function* fn, const struct registrant* reg);
/// It has the reservation, alone or with all others.
bool resv_holds(const struct drive* drive, const struct registrant* reg);
bool resv_all_hold(uint32_t type);
/// There is a place for another one of the function, if there may be `most`. One is kept for each function that has registered
/// none: no other can take it, whatever it says its host is.
bool resv_has_room(const struct drive* drive, const struct function* fn, uint32_t most);
/// There is room.
void resv_add(struct drive* drive, const struct function* fn, uint32_t nsid, uint64_t key);
/// With the holder, or the last of those that are, the reservation goes.
void resv_remove(struct drive* drive, struct registrant* reg);
void resv_release(struct drive* drive, uint32_t nsid);
void resv_acquire(struct drive* drive, struct registrant* reg, uint32_t type);
/// The namespace is gone.
void resv_forget(struct drive* drive, uint32_t nsid);

/// Power was off. Or the processor has started again, maybe in the middle of a change: a reservation without a holder is
/// none.
void resv_init(struct drive* drive);

/// A controller level reset: what was registered with identifier 0 goes, and the identifier. `changed`: of which namespaces
/// somebody may now do more, or less, a bit each.
void resv_reset(struct drive* drive, struct function* fn, uint32_t changed[3]);

/// The function may not write, by the table "Command Behavior in the Presence of a Reservation" (8.1.22.1; NVM Command Set
/// 1.0, 5.5). Nor read, if resv_exclusive.
bool resv_bars(const struct drive* drive, const struct function* fn, uint32_t nsid);
bool resv_exclusive(const struct drive* drive, uint32_t nsid);

/// A notice to one function, unless it has masked it.
void resv_notify(struct function* fn, uint32_t nsid, uint32_t type);
/// ... to all functions of registrants, but those of the host of `but`.
void resv_notify_others(struct drive* drive, uint32_t nsid, uint32_t type, const struct host* but);
bool resv_same_host(const struct host* a, const struct host* b);
/// The oldest notice has been read.
void resv_notice_read(struct function* fn);

#endif
