// SPDX-License-Identifier: Apache-2.0
// The end of a command: its completion entry.
#include "drives/model_drive.h"

#include <algorithm>
#include <cstring>

namespace db {

void ModelDrive::release(u32 i) {
    buffered -= of(i).held;
    of(i).on = false;
    free_cmd.push_back(i & (COMMANDS - 1));
    --inflight;
}

void ModelDrive::finish(u32 i, u32 status) {
    ModelCommand& m = of(i);
    if (status) m.failed = true;
    m.status = m.failed ? status : u32{STATUS_SUCCESS};
    m.queued = true;
    buffered -= m.held;
    m.held = 0;
    if (m.status >> nvme::STATUS_TYPE_SHIFT == SCT_MEDIA) ++smart.media_errors;
    if (m.late) {
        const u64 t = now + m.late;
        m.late = 0;
        m.opc = ModelCommand::OPC_NONE;  // it has had its effect
        at(t, T_DONE, i);
        return;
    }
    cqe_q.push_back(i);
}

bool ModelDrive::next_cqe() {
    const u32 i = cqe_q.front();
    ModelCommand& m = of(i);
    if (!live(i)) return cqe_q.pop_front(), true;
    if (!port->room(false)) return false;
    ModelCq& k = cq[sq[m.sq].cq];
    cqe_q.pop_front();
    if (k.full()) {
        k.waiting.push_back(i);
        return true;
    }
    u32 e[4] = {m.dw0, 0, sq[m.sq].head | m.sq << 16,
                m.cid | u32(k.phase) << nvme::CQE_PHASE_SHIFT | m.status << nvme::CQE_STATUS_SHIFT};
    auto write_entry = [&] {
        port->write(k.base + u64(k.tail) * CQE_BYTES, reinterpret_cast<const u8*>(e), CQE_BYTES);
    };
    if (m.wrong_phase) {
        m.wrong_phase = false;
        e[3] ^= 1u << nvme::CQE_PHASE_SHIFT;
        write_entry();
        cqe_q.push_front(i);
        return true;
    }
    if (m.copied) {
        m.copied = false;
        port->write(k.base + u64(k.tail) * CQE_BYTES + m.copy, reinterpret_cast<const u8*>(e), CQE_BYTES);
        cqe_q.push_front(i);
        return true;
    }
    const u32 other_cid = m.other_cid;
    m.other_cid = 0;
    e[3] ^= other_cid;
    if (m.damage) port->damage_next();
    m.damage = false;
    write_entry();
    if (++k.tail == k.size) {
        k.tail = 0;
        k.phase = !k.phase;
    }
    ++count[ModelCount::CQES];
    if (other_cid) {
        cqe_q.push_front(i);
        return true;
    }
    if (m.twice) {
        m.twice = false;
        m.opc = ModelCommand::OPC_NONE;  // it has had its effect
        if (m.again) at(now + m.again, T_DONE, i);
        else cqe_q.push_front(i);
        return true;
    }
    release(i);
    return true;
}

}  // namespace db
