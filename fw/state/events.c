// SPDX-License-Identifier: Apache-2.0
#include "state/events.h"

#include "base/bytes.h"
#include "hw/hw.h"

void events_reset(struct events* events) {
    event_t function = events->function;
    memset(events, 0, sizeof *events);
    events->function = function;
}

/// Bring events that wait and requests that wait together.
static void answer(struct events* e) {
    static const uint8_t page_of[AER_TYPES] = {
        LOG_ERROR,
        LOG_SMART,
        LOG_CHANGED_NS,
#if FUNCTIONS > 1
        LOG_RESERVATION,
#endif
    };
    for (uint32_t type = 0; type < AER_TYPES && e->waiting; type++) {
        if (e->info[type] == 0 || e->masked[type]) continue;
        uint32_t said = FUNCTIONS > 1 && type == EVENT_RESERVATION ? (uint32_t)AER_TYPE_IO_COMMAND_SET : type;
        uint32_t dw0 = said | (e->info[type] - 1) << 8 | (uint32_t)page_of[type] << 16;
        e->info[type] = 0;
        e->masked[type] = true;
        e->waiting--;
        hw_complete(e->function, e->cid[e->waiting], ST_SUCCESS, dw0);
    }
}

void event_report(struct events* e, uint32_t type, uint32_t info) {
    if (e->masked[type]) return;  // until its log page has been read
    e->info[type] = (event_t)(info + 1);
    answer(e);
}

void event_unmask(struct events* e, uint32_t type) {
    e->masked[type] = false;
    // One that still waits would say nothing new.
    if (type == AER_TYPE_NOTICE || (FUNCTIONS > 1 && type == EVENT_RESERVATION)) e->info[type] = 0;
}

bool event_request(struct events* e, uint32_t cid) {
    if (e->waiting == CFG_AER_LIMIT) return false;
    e->cid[e->waiting++] = (uint16_t)cid;
    answer(e);
    return true;
}

bool event_abort(struct events* e, uint32_t cid) {
    for (uint32_t i = 0; i < e->waiting; i++) {
        if (e->cid[i] != cid) continue;
        e->waiting--;
        e->cid[i] = e->cid[e->waiting];
        hw_complete(e->function, cid, ST_ABORT_REQUESTED, 0);
        return true;
    }
    return false;
}
