// SPDX-License-Identifier: Apache-2.0
#include "commands/slots.h"

#include "base/config.h"
#include "hw/slots.h"

// CDW10: 3:0 what. SHARE: 15:8 bits of slots, CDW11 the function's CNTLID. EXCHANGE: 10:8 the slot, CDW11 where the bitstream is.
// LIBRARY: 12:8 log2 of a place's bytes, or 0, 31:16 hold; CDW11 where it is.
enum { STRIDE_LEAST = 7, STRIDE_MOST = 24, ALIGNED = 63 };

SMALL uint32_t slots_command(struct request* r) {
    uint32_t dw10 = r->cmd.dw[10], at = r->cmd.dw[11], slots = hw_slots(), stride = dw10 >> 8 & 31u;
    if (!slots) return ST_INVALID_OPCODE;
    r->dw0 = slots;
    switch (dw10 & 15u) {
        case SLOT_GET: return ST_SUCCESS;
        case SLOT_SHARE:
            if (at >= r->drive->hw.num_fn || (dw10 >> 8) >> (slots >> 28)) return ST_INVALID_FIELD;
            hw_slots_share(at, dw10 >> 8);
            return ST_SUCCESS;
        case SLOT_LIBRARY:
            if ((at & ALIGNED) || (stride && (stride < STRIDE_LEAST || stride > STRIDE_MOST))) return ST_INVALID_FIELD;
            hw_slots_library(at, stride | (dw10 & 0xffff0000u));
            return ST_SUCCESS;
        case SLOT_EXCHANGE:
            if (r->step) break;
            if ((at & ALIGNED) || (dw10 >> 8 & 15u) >= slots >> 28) return ST_INVALID_FIELD;
            if (hw_slots_busy()) return WAIT;
            r->at = (uint8_t)hw_slots_ended();
            hw_slots_exchange(dw10 >> 8 & 7u, at);
            r->step = 1;
            return WAIT;
        default: return ST_INVALID_FIELD;
    }
    if (hw_slots_ended() == r->at) return WAIT;
    r->dw0 = hw_slots_error();
    return r->dw0 == SLOT_OK ? (uint32_t)ST_SUCCESS : ST_BITSTREAM_REFUSED;
}
