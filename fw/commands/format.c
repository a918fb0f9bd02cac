// SPDX-License-Identifier: Apache-2.0
#include "commands/format.h"

#include "commands/draining.h"

enum { BEGIN, DRAIN, NEXT, ZERO };

/// NSID FFFFFFFFh: all that are attached.
static bool chosen(const struct request* r, uint32_t nsid) {
    return ns_active(r->fn, nsid) && (nsid_of(r) == NSID_ALL || nsid == nsid_of(r));
}

static uint32_t finish(struct request* r, uint32_t status) {
    open_namespaces(r);
    uint32_t kept = saved(r);  // also of those that are done if one could not be
    change_ends(r);
    return status == ST_SUCCESS ? kept : status;
}

uint32_t format(struct request* r) {
    uint32_t dw10 = r->cmd.dw[10], status;
    uint32_t lbaf = (dw10 & 15u) | (dw10 >> 12 & 3u) << 4;
    uint32_t erase = dw10 >> 9 & 7u;
    switch (r->step) {
        case BEGIN:
            if (lbaf > 1 || (dw10 >> 5 & 7u)) return ST_INVALID_FORMAT;  // no such format, or protection information
            if (erase > (r->drive->hw.key_slots ? 2u : 1u)) return ST_INVALID_FIELD;
            change_begins(r);
            r->step = DRAIN;  // fall through
        case DRAIN:
            if (drain_step(r, chosen, HW_NS_FORMATTING) == WAIT) return WAIT;
            r->step = NEXT;
    }
    for (;;) {
        if (r->step == NEXT) {
            do {
                r->at++;
            } while (r->at <= r->drive->hw.num_ns && !chosen(r, r->at));
            if (r->at > r->drive->hw.num_ns) return finish(r, ST_SUCCESS);
            if (erase) operators_erase_ns(r->drive, r->at);
            r->from = namespace_of(r, r->at)->base << 12;
            r->left = namespace_of(r, r->at)->pages << 12;
            r->step = ZERO;
        }
        status = zero_step(r);
        if (status == WAIT) return WAIT;
        if (status != ST_SUCCESS) return finish(r, status);
        ns_formatted(r->drive, r->fn, r->at, lbaf == 1);
        r->step = NEXT;
    }
}
