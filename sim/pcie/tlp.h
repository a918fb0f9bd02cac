// SPDX-License-Identifier: Apache-2.0
// Codes of PCIe packets as the hard block's descriptors hold them (PG213), and sizes that both ends share.
#pragma once

#include "common/types.h"

namespace db {

enum Req : u32 { REQ_MRD = 0, REQ_MWR = 1, REQ_CFGRD0 = 8, REQ_CFGRD1 = 9, REQ_CFGWR0 = 10, REQ_CFGWR1 = 11 };
enum Status : u32 { SC = 0, UR = 1, CRS = 2, CA = 4 };
/// Error codes of a requester completion.
enum : u32 { RC_OK = 0, RC_POISONED = 1, RC_BAD_STATUS = 2, RC_INVALID_TAG = 6, RC_TIMEOUT = 9 };

/// Longest payload in dwords.
constexpr u32 MAX_DW = 256;
/// Dwords of the widest beat: packets have so many words of room behind their end.
constexpr u32 LANES = 16;
/// Dwords of a request's descriptor and of a completion's.
constexpr u32 REQ_DESC = 4, CPL_DESC = 3;
constexpr u32 CC_ECHO = 5;  // dwords of the request behind the descriptor of a completion with UR or CA on CC (PG213)

/// Dwords of a memory request's header on the wire.
inline u32 header_dw(u64 addr) { return addr >> 32 ? 4 : 3; }

/// Byte enables of the last dword of a request: those of the first where there is no other.
inline u8 enables_of_last(u32 dw, u8 first_be, u8 last_be) { return dw == 1 ? first_be : last_be; }
/// Bytes before the first one that is enabled in a dword (none: `none`), and behind the last one.
inline u32 bytes_before(u8 be, u32 none) { return be ? u32(__builtin_ctz(be)) : none; }
inline u32 bytes_behind(u8 be, u32 none) { return be ? u32(__builtin_clz(u32(be))) - 28 : none; }

}  // namespace db
