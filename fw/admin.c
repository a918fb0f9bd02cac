// SPDX-License-Identifier: Apache-2.0
// Admin commands: dispatch, queues, Abort, Keep Alive.
#include "fw.h"

typedef struct {
    bool exists;
    uint8_t users;  // completion queue: submission queues that report to it
    uint8_t cqid;   // submission queue: where it reports to
} queue_t;

static queue_t sq[MAX_QP + 1], cq[MAX_QP + 1];
static uint64_t last_keep_alive;

void admin_reset(void)
{
    for (uint32_t i = 1; i <= num_qp; i++)
        sq[i].exists = cq[i].exists = false;
    last_keep_alive = hw_time();
}

bool queues_exist(void)
{
    for (uint32_t i = 1; i <= num_qp; i++) {
        if (sq[i].exists || cq[i].exists)
            return true;
    }
    return false;
}

// ---------------------------------------------------------------- queues
/// What Create I/O Completion Queue and Create I/O Submission Queue have in common.
static uint32_t check_queue(const cmd_t *cmd, const queue_t *queues, bool entry_size_set)
{
    uint32_t qid = cmd->dw[10] & 0xffffu, size = cmd->dw[10] >> 16;
    if (qid == 0 || qid > num_qp || queues[qid].exists)
        return ST_QUEUE_ID;
    if (size == 0 || size > CFG_MQES || !entry_size_set)
        return ST_QUEUE_SIZE;
    if (!(cmd->dw[11] & 1u))
        return ST_INVALID_FIELD;  // CAP.CQR: queues are contiguous
    if (cmd_prp1(cmd) & (PAGE - 1))
        return ST_PRP_OFFSET;
    return ST_SUCCESS;
}

static uint32_t create_cq(const cmd_t *cmd)
{
    uint32_t qid = cmd->dw[10] & 0xffffu, vector = cmd->dw[11] >> 16;
    uint32_t status = check_queue(cmd, cq, CC_IOCQES(ctrl_cc) == 4);
    if (status != ST_SUCCESS)
        return status;
    if (vector >= num_vec)
        return ST_VECTOR;
    cq[qid] = (queue_t){.exists = true};
    hw_queue(qid | DB_SSD_FW__QC_CTL__CQ_bm | DB_SSD_FW__QC_CTL__VALID_bm
                 | (cmd->dw[11] & 2u ? DB_SSD_FW__QC_CTL__IEN_bm : 0),
             cmd_prp1(cmd), cmd->dw[10] >> 16, vector);
    return ST_SUCCESS;
}

static uint32_t create_sq(const cmd_t *cmd)
{
    uint32_t qid = cmd->dw[10] & 0xffffu, cqid = cmd->dw[11] >> 16;
    uint32_t status = check_queue(cmd, sq, CC_IOSQES(ctrl_cc) == 6);
    if (status != ST_SUCCESS)
        return status;
    if (cqid == 0 || cqid > num_qp)
        return ST_QUEUE_ID;
    if (!cq[cqid].exists)
        return ST_CQ_INVALID;
    sq[qid] = (queue_t){.exists = true, .cqid = (uint8_t)cqid};
    cq[cqid].users++;
    hw_queue(qid | cqid << DB_SSD_FW__QC_CTL__CQID_bp | DB_SSD_FW__QC_CTL__VALID_bm
                 | (cmd->dw[11] >> 1 & 3u) << DB_SSD_FW__QC_CTL__PRIO_bp,
             cmd_prp1(cmd), cmd->dw[10] >> 16, 0);
    return ST_SUCCESS;
}

static uint32_t delete_sq(const cmd_t *cmd)
{
    uint32_t qid = cmd->dw[10] & 0xffffu;
    if (qid == 0 || qid > num_qp || !sq[qid].exists)
        return ST_QUEUE_ID;
    hw_queue(qid, 0, 0, 0);
    HW->QSEL = qid;
    // Its commands that have been fetched end as usual, and before this one.
    (void)hw_wait(EV(Q_IDLE), hw_time() + CFG_DELETE_WAIT_US);
    sq[qid].exists = false;
    cq[sq[qid].cqid].users--;
    return ST_SUCCESS;
}

static uint32_t delete_cq(const cmd_t *cmd)
{
    uint32_t qid = cmd->dw[10] & 0xffffu;
    if (qid == 0 || qid > num_qp || !cq[qid].exists)
        return ST_QUEUE_ID;
    if (cq[qid].users)
        return ST_QUEUE_DELETION;
    hw_queue(qid | DB_SSD_FW__QC_CTL__CQ_bm, 0, 0, 0);
    cq[qid].exists = false;
    return ST_SUCCESS;
}

// ---------------------------------------------------------------- Abort, Keep Alive
static uint32_t abort_command(const cmd_t *cmd, uint32_t *dw0)
{
    uint32_t sqid = cmd->dw[10] & 0xffffu;
    // Only an Asynchronous Event Request waits here; commands inside the data path end by themselves.
    *dw0 = !(sqid == 0 && aer_abort(cmd->dw[10] >> 16));
    return ST_SUCCESS;
}

void keep_alive_restart(void) { last_keep_alive = hw_time(); }

uint64_t admin_deadline(void)
{
    uint64_t timeout = feature_keep_alive_us();
    return timeout ? last_keep_alive + timeout : NEVER;
}

void admin_timer(void)
{
    if (hw_time() < admin_deadline())
        return;
    log_error(0, 0xffff, ST_KEEP_ALIVE_EXPIRED, 0, 0);
    ctrl_fail();
}

// ---------------------------------------------------------------- dispatch
/// Commands of a drive with operators in its data path.
static uint32_t csd_command(const cmd_t *cmd)
{
    if (csd_slots == 0)
        return ST_INVALID_OPCODE;
    switch (cmd_opcode(cmd)) {
    case ADM_KEY_LOAD:  return csd_key_load(cmd);
    case ADM_KEY_ERASE: return csd_key_erase(cmd);
    case ADM_BIND:      return csd_bind(cmd);
    default:            return ST_INVALID_OPCODE;
    }
}

void admin_execute(const cmd_t *cmd)
{
    uint32_t dw0 = 0, status;
    if (cmd->dw[0] & 0x300u) {
        status = ST_INVALID_FIELD;  // fused
    } else {
        switch (cmd_opcode(cmd)) {
        case ADM_DELETE_SQ:    status = delete_sq(cmd); break;
        case ADM_CREATE_SQ:    status = create_sq(cmd); break;
        case ADM_GET_LOG:      status = log_get(cmd); break;
        case ADM_DELETE_CQ:    status = delete_cq(cmd); break;
        case ADM_CREATE_CQ:    status = create_cq(cmd); break;
        case ADM_IDENTIFY:     status = identify(cmd); break;
        case ADM_ABORT:        status = abort_command(cmd, &dw0); break;
        case ADM_SET_FEATURES: status = features_set(cmd, &dw0); break;
        case ADM_GET_FEATURES: status = features_get(cmd, &dw0); break;
        case ADM_AER:          status = aer_command(cmd); break;
        case ADM_NS_MGMT:      status = ns_management(cmd, &dw0); break;
        case ADM_NS_ATTACH:    status = ns_attachment(cmd); break;
        case ADM_KEEP_ALIVE:   status = ST_SUCCESS; keep_alive_restart(); break;
        case ADM_FORMAT:       status = format(cmd); break;
        default:               status = csd_command(cmd); break;
        }
    }
    if (status == PENDING)
        return;
    if (status != ST_SUCCESS)
        log_error(0, cmd_id(cmd), status, cmd_nsid(cmd), 0);
    hw_complete(cmd->fn, 0, cmd_id(cmd), status, dw0);
}
