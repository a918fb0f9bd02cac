// SPDX-License-Identifier: Apache-2.0
#include "commands/events.h"

#include "commands/draining.h"

uint32_t asynchronous_event_request(struct request* r) {
    return event_request(&r->fn->events, cmd_id(&r->cmd)) ? PENDING : (uint32_t)ST_AER_LIMIT;
}

uint32_t abort_command(struct request* r) {
    uint32_t sqid = r->cmd.dw[10] & 0xffffu, cid = r->cmd.dw[10] >> 16;
    r->dw0 = 1;
    if (sqid == 0) {
        // Of admin commands only an Asynchronous Event Request can be told to end.
        r->dw0 = !event_abort(&r->fn->events, cid);
        return ST_SUCCESS;
    }
    const struct queue* sq = &r->fn->queues.sq[sqid];
    if (sqid > r->drive->hw.num_qp || !sq->exists || sq->deleting) return ST_SUCCESS;
    if (slots_step(r, HW_ABORT_COMMAND, sqid, cid) == WAIT) return WAIT;
    if (r->found) {
        hw_complete_io(r->cmd.function, sqid, cid, ST_ABORT_REQUESTED);
        r->dw0 = 0;
    }
    return ST_SUCCESS;
}

uint32_t keep_alive(struct request* r) {
    keep_alive_restart(&r->fn->settings);
    return ST_SUCCESS;
}
