// SPDX-License-Identifier: Apache-2.0
// Numbers of NVMe (Base Specification 2.0, NVM Command Set 1.0): those of facts/nvme.yaml, and those that only the model
// of a drive needs.
#pragma once

#include "common/types.h"
#include "nvme_facts.h"

namespace db::nvme {

constexpr u32 VERSION_2_0 = 0x20000;

// ---- controller registers: positions and masks of fields

constexpr u32 CAP_CQR_SHIFT = 16, CAP_TO_SHIFT = 24, CAP_DSTRD_SHIFT = 32, CAP_CSS_SHIFT = 37, CAP_MPSMIN_SHIFT = 48,
              CAP_MPSMAX_SHIFT = 52;
constexpr u32 CC_CSS_MASK = 7, CC_MPS_MASK = 15, CC_SHN_MASK = 3, CC_ENTRY_MASK = 15;
constexpr u32 CSTS_SHST_BUSY = 1 << CSTS_SHST_SHIFT, CSTS_SHST_DONE = 2 << CSTS_SHST_SHIFT;
constexpr u32 AQA_MASK = 0x0fff0fff, AQA_SIZE_MASK = 0xfff, AQA_ACQS_SHIFT = 16;

// ---- entries

constexpr u32 SQE_BYTES_LOG2 = 6, CQE_BYTES_LOG2 = 4;
static_assert(SQE_BYTES == 1 << SQE_BYTES_LOG2 && CQE_BYTES == 1 << CQE_BYTES_LOG2, "entries");
/// Command dword 0: fused operation, PRP or SGL; all 0 is a plain command with PRPs.
constexpr u32 CDW0_FUSE_MASK = 0x0300, CDW0_PSDT_MASK = 0xc000, CDW0_PSDT_SGL = 0x4000;
/// An SGL descriptor (Base 2.0, 4.1.2): bytes in dword 2 of its four, type and subtype in the last byte; 0 is a data block
/// at an address.
constexpr u32 SGL_DATA_BLOCK = 0, SGL_TYPE_SHIFT = 24;
/// SGLS of Identify Controller: SGLs of the NVM command set, at any byte.
constexpr u32 SGLS_ANY_ALIGNMENT = 1;
constexpr u32 CQE_PHASE_SHIFT = 16, CQE_STATUS_SHIFT = 17;  // in dword 3
constexpr u32 STATUS_TYPE_SHIFT = 8;
constexpr u32 DSM_RANGE_BYTES = 16;
constexpr u32 EUI64_BYTES = 8;

}  // namespace db::nvme
