// SPDX-License-Identifier: Apache-2.0
// Namespaces of the drive, and which of them are attached to a function.
//
// A namespace is a run of 4 KiB pages of the media, the first gap that is large enough. Pages that no namespace has
// hold zeros: they are zeroed when their namespace is deleted; those that never had one, when they are first given out.
#ifndef NAMESPACES_STATE_H
#define NAMESPACES_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "hw/hw.h"

struct drive;
struct function;

struct namespace {
    uint64_t base, pages;  // of the media
    uint16_t generation;   // how many had been created when this one was; 0: it was there from the first
    uint8_t spare;         // 512-byte blocks of the last page that are not part of it
    bool exists, lba4k;
    bool shared;         // it may be attached to several controllers
    uint8_t gate;        // HW_NS_*: what becomes of its commands
    uint8_t protection;  // NS_WRITABLE ...
};

/// What feature 84h sets: nobody may change the blocks of a namespace; until the host allows it, or power goes.
enum { NS_WRITABLE, NS_PROTECTED, NS_PROTECTED_UNTIL_POWER_CYCLE };

struct namespaces {
    struct namespace of[MAX_NS + 1];
    uint64_t total;       // pages of the media, without those of the settings
    uint32_t count;       // so many have been saved, or the hardware has room for
    uint64_t unused;      // from this page on nothing has ever been a namespace's
    uint16_t generation;  // of the last one created
};

/// A function's view of a namespace.
struct attachment {
#if FUNCTIONS == 1
    bool attached;
    bool changed;             // for the Changed Namespace List
    uint16_t error_recovery;  // feature 05h
#else
    uint8_t attached : 1, changed : 1, masked : 4;  // feature 82h, Reservation Notification Mask
#endif
};

/// At power-on: those that were saved. Else namespace 1 covers the whole media, in blocks of 512 bytes; where there are
/// operators, which may differ by namespace, all there is room for share it in equal parts. All are attached to the PF.
void namespaces_init(struct drive* drive);

bool ns_exists(const struct drive* drive, uint32_t nsid);
/// It is attached to this function.
bool ns_active(const struct function* fn, uint32_t nsid);
/// To so many.
uint32_t ns_attached(const struct drive* drive, uint32_t nsid);
/// SSDs, a bit each, that have no part of those that are attached to this function (db_vcsd; else 0).
uint32_t ns_foreign_ssds(const struct drive* drive, const struct function* fn);
/// Success, or what a command ends with that wants a namespace to exist, or to be active (Base 2.0, 3.2.1.5); or that has
/// not `found` it otherwise.
uint32_t ns_check(const struct drive* drive, uint32_t nsid, bool found);
uint32_t ns_check_exists(const struct drive* drive, uint32_t nsid);
uint32_t ns_check_active(const struct drive* drive, const struct function* fn, uint32_t nsid);
/// Nobody may change its blocks.
bool ns_read_only(const struct drive* drive, uint32_t nsid);
/// All are on the media, and none on another.
bool ns_fit(const struct drive* drive);
uint64_t ns_blocks(const struct namespace* ns);
uint64_t ns_bytes(const struct namespace* ns);
uint64_t ns_free_bytes(const struct drive* drive);
/// The first page of the first gap of so many. False: there is none.
bool ns_find_gap(const struct drive* drive, uint64_t pages, uint64_t* first);

/// Tell the hardware what there is.
void ns_show(const struct drive* drive, uint32_t nsid);
/// What becomes of the commands of a namespace: HW_NS_*.
void ns_gate(struct drive* drive, uint32_t nsid, uint32_t gate);
void namespaces_open(struct drive* drive);

// ---------------------------------------------------------------- while it is closed, and no command of it under way
/// NS_WRITABLE ... Hosts that have it hear of it if that changes what Identify says.
void ns_protect(struct drive* drive, uint32_t nsid, uint32_t protection);
/// Its blocks are zeros, and of this size from now on.
void ns_formatted(struct drive* drive, uint32_t nsid, bool lba4k);
/// Its blocks are zeros, and nobody's from now on.
void ns_deleted(struct drive* drive, uint32_t nsid);
/// It has other pages, or more.
void ns_resized(struct drive* drive, uint32_t nsid);
/// Show it to the function, or no more.
void ns_attach(struct drive* drive, struct function* fn, uint32_t nsid, bool attached);

/// The function's host hears of a change, if it wants to.
void ns_changed(struct function* fn, uint32_t nsid);
/// The host knows of all changes.
void ns_changed_read(const struct drive* drive, struct function* fn);

#endif
