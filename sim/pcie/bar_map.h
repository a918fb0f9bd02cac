// SPDX-License-Identifier: Apache-2.0
// Where things are in BAR 0 of a drive: BAR_* of facts/doorbell.yaml, and what follows from them.
#pragma once

#include "common/types.h"
#include "doorbell_facts.h"

namespace db {

/// Doorbells that may be there: a page of them.
constexpr u32 DOORBELL_PAGE_BYTES = 0x1000;
/// A BAR holds the registers and the doorbells at least.
constexpr u32 BAR_MIN_BYTES = BAR_DOORBELLS + DOORBELL_PAGE_BYTES;

}  // namespace db
