// SPDX-License-Identifier: Apache-2.0
#include "commands/events.h"

#include "commands/draining.h"
#include "hw/io_commands.h"

uint32_t asynchronous_event_request(struct request* r) {
    return event_request(&r->fn->events, cmd_id(&r->cmd)) ? PENDING : (uint32_t)ST_AER_LIMIT;
}

/// Of admin commands only an Asynchronous Event Request can be told to end. An I/O command is sought in the slots; if it
/// is in none its queue may still hold it: what that has is watched, and as it may have come before that began, the slots
/// are looked at once more. A queue may stand still, as nobody reads its completions: then it is watched for CFG_WATCH_US.
uint32_t abort_command(struct request* r) {
    enum { BEGIN, SLOTS, WATCH, AGAIN, QUEUE };
    uint32_t sqid = r->cmd.dw[10] & 0xffffu, cid = r->cmd.dw[10] >> 16;
    r->dw0 = 1;
    if (sqid == 0) {
        r->dw0 = !event_abort(&r->fn->events, cid);
        return ST_SUCCESS;
    }
    if (sqid > r->fn->hw.num_qp) return ST_SUCCESS;
    const struct queue* sq = &sqs_of(r->drive, r->fn)[sqid];
    bool gone = !sq->exists || sq->deleting;
    if (r->step == BEGIN) {
        if (r->fn->aborts == CFG_ABORT_LIMIT) return ST_ABORT_LIMIT;
        r->fn->aborts++;
        r->step = SLOTS;
    }
    while (r->step != QUEUE) {
        if (gone && !r->looking) {
            r->step = QUEUE;
        } else if (r->step == WATCH) {
            if (r->drive->watching == (1u << CFG_ABORT_LIMIT) - 1) return WAIT;  // other functions have all
            while (r->drive->watching >> r->watch & 1) r->watch++;
            r->drive->watching |= (uint8_t)(1u << r->watch);
            r->watching = true;
            r->from = hw_time() + CFG_WATCH_US;
            hw_watch(&r->fn->hw, r->watch, sqid, cid);
            r->step = AGAIN;
        } else {
            if (slots_step(r, HW_ABORT_COMMAND, sqid, cid) == WAIT) return WAIT;
            r->step = r->found || r->step == AGAIN ? QUEUE : WATCH;
        }
    }
    if (r->watching && hw_watching(r->watch)) {
        if (!r->found && hw_time() < r->from) return WAIT;
        hw_unwatch(r->watch);
    }
    if (FUNCTIONS > 1 && r->found) hw_io_forget(r->drive->io, &r->fn->hw, sqid, cid);
    if (r->found) hw_complete_io(&r->fn->hw, sqid, cid, ST_ABORT_REQUESTED);
    r->dw0 = !(r->found || (r->watching && hw_caught(r->watch)));
    if (r->watching) r->drive->watching &= (uint8_t)~(1u << r->watch);
    r->fn->aborts--;
    return ST_SUCCESS;
}

uint32_t keep_alive(struct request* r) {
    keep_alive_restart(&r->fn->settings);
    return ST_SUCCESS;
}
