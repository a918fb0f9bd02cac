// SPDX-License-Identifier: Apache-2.0
// Where things are in BAR 0 of a drive.
#pragma once

#include "common/types.h"

namespace db {

constexpr u32 BAR_DOORBELLS = 0x1000;
constexpr u32 BAR_MSIX_TABLE = 0x2000;
constexpr u32 BAR_MSIX_PBA = 0x3000;
constexpr u32 BAR_BYTES = 0x4000;
/// A BAR holds the registers and a page of doorbells at least.
constexpr u32 BAR_MIN_BYTES = BAR_DOORBELLS + 0x1000;
/// Doorbells that may be there: a page of them.
constexpr u32 DOORBELL_PAGE_BYTES = 0x1000;

}  // namespace db
