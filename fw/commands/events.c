// SPDX-License-Identifier: Apache-2.0
#include "commands/events.h"

uint32_t asynchronous_event_request(struct request* r) {
    return event_request(&r->fn->events, cmd_id(&r->cmd)) ? PENDING : (uint32_t)ST_AER_LIMIT;
}

uint32_t abort_command(struct request* r) {
    uint32_t sqid = r->cmd.dw[10] & 0xffffu;
    // Only an Asynchronous Event Request waits here; commands inside the data path end by themselves.
    r->dw0 = !(sqid == 0 && event_abort(&r->fn->events, r->cmd.dw[10] >> 16));
    return ST_SUCCESS;
}

uint32_t keep_alive(struct request* r) {
    keep_alive_restart(&r->fn->settings);
    return ST_SUCCESS;
}
