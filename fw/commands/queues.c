// SPDX-License-Identifier: Apache-2.0
#include "commands/queues.h"

#include "commands/draining.h"
#include "hw/io_commands.h"

/// What Create I/O Completion Queue and Create I/O Submission Queue have in common. Entry sizes are what CC says now: a host may
/// set them once Identify has told it which there are (3.1.3.5).
static uint32_t check_queue(const struct request* r, const struct queue* queues, bool entry_size_set) {
    uint32_t qid = r->cmd.dw[10] & 0xffffu, entries = r->cmd.dw[10] >> 16;
    if (qid == 0 || qid > r->fn->hw.num_qp || queues[qid].exists) return ST_QUEUE_ID;
    if (entries == 0 || entries > CFG_MQES || !entry_size_set) return ST_QUEUE_SIZE;
    if (!(r->cmd.dw[11] & 1u)) return ST_INVALID_FIELD;  // CAP.CQR: queues are contiguous
    if (cmd_prp1(&r->cmd) & (PAGE_SIZE - 1)) return ST_PRP_OFFSET;
    return ST_SUCCESS;
}

uint32_t create_cq(struct request* r) {
    struct queue* cq = cqs_of(r->drive, r->fn);
    uint32_t qid = r->cmd.dw[10] & 0xffffu, vector = r->cmd.dw[11] >> 16;
    uint32_t status = check_queue(r, cq, cc_iocqes(hw_cc(&r->fn->hw)) == 4);
    if (status != ST_SUCCESS) return status;
    if (vector >= r->fn->hw.num_vec) return ST_VECTOR;
    cq[qid] = (struct queue){.exists = true};
    hw_create_cq(&r->fn->hw, qid, cmd_prp1(&r->cmd), r->cmd.dw[10] >> 16, vector, r->cmd.dw[11] & 2u);
    return ST_SUCCESS;
}

uint32_t create_sq(struct request* r) {
    struct queue *sq = sqs_of(r->drive, r->fn), *cq = cqs_of(r->drive, r->fn);
    uint32_t qid = r->cmd.dw[10] & 0xffffu, cqid = r->cmd.dw[11] >> 16;
    uint32_t status = check_queue(r, sq, cc_iosqes(hw_cc(&r->fn->hw)) == 6);
    if (status != ST_SUCCESS) return status;
    if (cqid == 0 || cqid > r->fn->hw.num_qp) return ST_QUEUE_ID;
    if (!cq[cqid].exists) return ST_CQ_INVALID;
    if (!hw_sq_idle(&r->fn->hw, qid))
        return WAIT;  // engines still have commands of a queue of that number, which was deleted
    sq[qid] = NEW_SQ(cqid);
    cq[cqid].users++;
    hw_create_sq(&r->fn->hw, qid, cmd_prp1(&r->cmd), r->cmd.dw[10] >> 16, cqid, r->cmd.dw[11] >> 1 & 3u);
    return ST_SUCCESS;
}

uint32_t delete_sq(struct request* r) {
    struct queue* sq = sqs_of(r->drive, r->fn);
    uint32_t qid = r->cmd.dw[10] & 0xffffu;
    if (r->step == 0) {
        if (qid == 0 || qid > r->fn->hw.num_qp || !sq[qid].exists || sq[qid].deleting) return ST_QUEUE_ID;
        hw_delete_sq(&r->fn->hw, qid);
        sq[qid].deleting = true;
        r->step = 1;
    }
    if (slots_step(r, HW_ABORT_QUEUE, qid, 0) == WAIT) return WAIT;
    if (FUNCTIONS > 1) hw_io_forget(r->drive->io, &r->fn->hw, qid, IO_ANY);
    cqs_of(r->drive, r->fn)[sq[qid].cqid].users--;
    sq[qid].exists = sq[qid].deleting = false;
    return ST_SUCCESS;
}

uint32_t delete_cq(struct request* r) {
    struct queue* cq = cqs_of(r->drive, r->fn);
    uint32_t qid = r->cmd.dw[10] & 0xffffu;
    if (qid == 0 || qid > r->fn->hw.num_qp || !cq[qid].exists) return ST_QUEUE_ID;
    if (cq[qid].users) return ST_QUEUE_DELETION;
    hw_delete_cq(&r->fn->hw, qid);
    cq[qid].exists = false;
    return ST_SUCCESS;
}
