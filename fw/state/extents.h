// SPDX-License-Identifier: Apache-2.0
// Where the granules of namespaces are on SSDs (db_vcsd). The hardware has the table, and refuses a place that is taken;
// here is who gets which, and what of it outlasts power.
//
// Granules that no namespace has are nowhere. One that a namespace gets goes to its default place (slice behind slice, or
// a stripe over all) unless the administrator says otherwise or that is taken. All free places hold zeros, as pages do
// that no namespace has: deletion zeroes them.
#ifndef EXTENTS_H
#define EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "hw/extents.h"

struct drive;
struct namespace;

/// Granules whose places follow each other, and are not the default ones; those between that no namespace has are nowhere.
/// What is saved.
struct extent_run {
    uint16_t granule, count;
    uint32_t place;  // of the first; 0: nowhere
};
#define EXTENT_RUNS 32u

struct extents {
    struct hw_extents hw;
    bool elsewhere;  // what was saved is of hardware whose places are others
    uint32_t count;  // of runs
    struct extent_run runs[EXTENT_RUNS];
};

/// As many granules as the medium has.
uint32_t extents_total(const struct drive* drive);
/// The granule that a page is of; pages of so many granules.
uint32_t extents_granule(const struct drive* drive, uint64_t page);
uint64_t extents_pages(const struct drive* drive, uint32_t granules);

/// At power-on, when namespaces are known: the runs that were loaded, and default places for all else that is in use.
void extents_restore(struct drive* drive);

/// A place of its own for each granule of these pages that is nowhere: on the SSDs of `wanted`, or by default
/// (EXTENT_ANY). False: there are not so many, and extents_settle gives back what was given.
#define EXTENT_ANY 0xffffffffu
bool extents_take(struct drive* drive, uint64_t page, uint64_t pages, uint32_t wanted);
/// What no namespace has goes nowhere, the rest is put down in runs. False: there are too many to be saved; not if only
/// namespaces have gone.
bool extents_settle(struct drive* drive);

/// SSDs, a bit each, that have a part of the namespace.
uint32_t extents_ssds(const struct drive* drive, const struct namespace* ns);

/// It has whole granules.
bool extents_own(const struct drive* drive, const struct namespace* ns);
/// The first of `count` granules of the medium, one behind the other, that no namespace has but `own`, if that is not 0.
/// False: there are none.
bool extents_gap(struct drive* drive, uint32_t count, uint32_t own, uint32_t* first);
/// Granules keep their places and get other numbers.
void extents_renumber(uint32_t from, uint32_t to, uint32_t count);
/// Each has the other's place.
void extents_exchange(uint32_t a, uint32_t b, uint32_t count);

#endif
