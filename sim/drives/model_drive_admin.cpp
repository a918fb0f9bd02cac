// SPDX-License-Identifier: Apache-2.0
// Admin commands.
#include "drives/model_drive.h"

#include <algorithm>
#include <cstring>

namespace db {

using namespace nvme;

void ModelDrive::admin(u32 i) {
    ModelCommand& m = of(i);
    if (!meet_fault(i)) return;
    if (m.failed) return at_later(i, now, DB_LAT_ADMIN);
    const u32 qid = m.sqe[10] & 0xffff;
    u32 status = STATUS_SUCCESS;
    switch (m.opc) {
        case ADMIN_OPC_DELETE_SQ: status = delete_sq(qid); break;
        case ADMIN_OPC_CREATE_SQ: status = create_sq(m); break;
        case ADMIN_OPC_DELETE_CQ: status = delete_cq(qid); break;
        case ADMIN_OPC_CREATE_CQ: status = create_cq(m); break;
        case ADMIN_OPC_GET_LOG_PAGE: return log_page(i);
        case ADMIN_OPC_IDENTIFY: return identify(i);
        case ADMIN_OPC_ABORT: abort_command(i); break;
        case ADMIN_OPC_SET_FEATURES:
        case ADMIN_OPC_GET_FEATURES: status = feature(i); break;
        case ADMIN_OPC_ASYNC_EVENT: m.keep = true; return;
        default: status = STATUS_INVALID_OPCODE;
    }
    m.status = status;
    m.failed = status != STATUS_SUCCESS;
    at_later(i, now, DB_LAT_ADMIN);
}

// ---- queues

u32 ModelDrive::create_sq(const ModelCommand& m) {
    const u32 qid = m.sqe[10] & 0xffff, size = (m.sqe[10] >> 16) + 1, d11 = m.sqe[11], cqid = d11 >> 16;
    if (!qid || qid > c.queues || sq[qid].on) return STATUS_QID_INVALID;
    if (size < 2 || size > c.mqes) return STATUS_QUEUE_SIZE;
    if (!cqid || cqid > c.queues || !cq[cqid].on) return STATUS_CQ_INVALID;
    if (!(d11 & CREATE_Q_PC) || (cc >> CC_IOSQES_SHIFT & CC_ENTRY_MASK) != SQE_BYTES_LOG2) return STATUS_INVALID_FIELD;
    if (m.prp1() & (PAGE - 1)) return STATUS_INVALID_PRP_OFFSET;
    sq[qid] = ModelSq{};
    sq[qid].on = true;
    sq[qid].base = m.prp1();
    sq[qid].size = size;
    sq[qid].cq = cqid;
    return STATUS_SUCCESS;
}

u32 ModelDrive::create_cq(const ModelCommand& m) {
    const u32 qid = m.sqe[10] & 0xffff, size = (m.sqe[10] >> 16) + 1, d11 = m.sqe[11];
    if (!qid || qid > c.queues || cq[qid].on) return STATUS_QID_INVALID;
    if (size < 2 || size > c.mqes) return STATUS_QUEUE_SIZE;
    if (!(d11 & CREATE_Q_PC) || (cc >> CC_IOCQES_SHIFT & CC_ENTRY_MASK) != CQE_BYTES_LOG2) return STATUS_INVALID_FIELD;
    if (m.prp1() & (PAGE - 1)) return STATUS_INVALID_PRP_OFFSET;
    cq[qid] = ModelCq{};
    cq[qid].on = true;
    cq[qid].base = m.prp1();
    cq[qid].size = size;
    return STATUS_SUCCESS;
}

u32 ModelDrive::delete_sq(u32 qid) {
    if (!qid || qid >= QUEUES || !sq[qid].on) return STATUS_QID_INVALID;
    for (const ModelCommand& m : cmd)
        if (m.on && m.sq == qid) release(m.handle);
    for (const ModelFetch& f : sq[qid].fetches) inflight -= f.count;
    sq[qid] = ModelSq{};
    return STATUS_SUCCESS;
}

u32 ModelDrive::delete_cq(u32 qid) {
    if (!qid || qid >= QUEUES || !cq[qid].on) return STATUS_QID_INVALID;
    for (u32 k = 1; k < QUEUES; ++k)
        if (sq[k].on && sq[k].cq == qid) return STATUS_INVALID_QUEUE_DELETION;
    cq[qid] = ModelCq{};
    return STATUS_SUCCESS;
}

// ---- what a command gives back

void ModelDrive::give(u32 i, u64 bytes) {
    ModelCommand& m = of(i);
    m.bytes = bytes;
    m.buf.resize(bytes);
    start_data(i);
}

void ModelDrive::identify(u32 i) {
    ModelCommand& m = of(i);
    m.buf.assign(PAGE, 0);
    const u32 cns = m.sqe[10] & 0xff, nsid = m.nsid();
    u8* p = m.buf.data();
    if (cns == CNS_NS) {
        if (nsid == 0 || (nsid > 1 && nsid != NSID_ALL)) return finish(i, STATUS_INVALID_NS);
        if (nsid == 1) identify_namespace(p, c, blocks);
    } else if (cns == CNS_CTRL) {
        identify_controller(p, c, pci.vendor, index);
    } else if (cns == CNS_NS_ACTIVE_LIST) {
        if (nsid == 0) put(p, 0, 1, 4);
    } else if (cns == CNS_NS_DESC_LIST) {
        if (nsid != 1) return finish(i, STATUS_INVALID_NS);
        put(p, 0, NIDT_EUI64 | EUI64_BYTES << 8, 4);
        put(p, 4, 0x010203 + (u64(index + 1) << 56), 8);
    } else {
        return finish(i, STATUS_INVALID_FIELD);
    }
    give(i, PAGE);
}

void ModelDrive::log_page(u32 i) {
    ModelCommand& m = of(i);
    const u32 id = m.sqe[10] & 0xff;
    const u64 bytes = (u64(m.sqe[11] & 0xffff) << 16 | m.sqe[10] >> 16) * 4 + 4;
    if (id < LOG_ERROR || id > LOG_FW_SLOT) return finish(i, STATUS_INVALID_LOG_PAGE);
    if (bytes > 1 << 20) return finish(i, STATUS_INVALID_FIELD);
    m.buf.assign(std::max<u64>(bytes, 512), 0);
    if (id == LOG_SMART) smart.log(m.buf.data(), now / (khz * 3600000));
    if (id == LOG_FW_SLOT) {
        put(m.buf.data(), 0, 1, 1);
        text(m.buf.data(), 8, 8, "1.0");
    }
    give(i, bytes);
}

u32 ModelDrive::feature(u32 i) {
    ModelCommand& m = of(i);
    const u32 id = m.sqe[10] & 0xff;
    if (id == FEATURE_NUM_QUEUES) {
        if (m.opc == ADMIN_OPC_SET_FEATURES && ((m.sqe[11] & 0xffff) == 0xffff || m.sqe[11] >> 16 == 0xffff))
            return STATUS_INVALID_FIELD;
        m.dw0 = (c.queues - 1) | (c.queues - 1) << 16;
        return STATUS_SUCCESS;
    }
    // arbitration, power, LBA ranges ... are taken and forgotten
    return id >= FEATURE_ARBITRATION && id <= FEATURE_ASYNC_EVENT ? STATUS_SUCCESS : STATUS_INVALID_FIELD;
}

void ModelDrive::abort_command(u32 i) {
    ModelCommand& m = of(i);
    const u32 sqid = m.sqe[10] & 0xffff, cid = m.sqe[10] >> 16;
    m.dw0 = 1;
    if (!c.abort_ok) return;
    for (u32 k = 0; k < COMMANDS; ++k) {
        ModelCommand& v = cmd[k];
        // only one that does nothing at the moment can be taken out without loose ends
        if (!v.on || v.sq != sqid || v.cid != cid || &v == &m || !(v.lost || v.keep)) continue;
        m.dw0 = 0;
        v.lost = v.keep = false;
        finish(v.handle, STATUS_ABORT_REQUESTED);
        return;
    }
}

}  // namespace db
