// SPDX-License-Identifier: Apache-2.0
// The state that media have after a past, computed: filled once in order, or rewritten at random for ever.
#pragma once

#include "nand/ftl.h"

namespace db {

class Precondition {
    const Geometry& g;
    Ftl& ftl;

    void fill_block(u32 die, const std::vector<u32>& units, u32 first, u32 n, u64& spread);

  public:
    Precondition(const Geometry& geometry, Ftl& f) : g(geometry), ftl(f) {}

    /// Every unit was written once, in order; stripes of a program go from die to die.
    void filled();
    /// Every unit was rewritten many times, at random, by greedy collection: with blocks in the order of their age the
    /// part that is valid falls by a constant factor from each to the next (Xiang and Kurkoski, arXiv 1110.4245).
    void steady(u64 seed);
};

}  // namespace db
