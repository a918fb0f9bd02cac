// SPDX-License-Identifier: Apache-2.0
// Reads of host memory, and the submission queue entries that they bring.
#include "drives/model_drive.h"

#include <algorithm>
#include <cstring>

namespace db {

bool ModelDrive::take_tag(u32& tag) {
    if (reads_out >= c.max_reads || !port->room(true)) return false;
    tag = port->take_tag(next_tag, [&](u32 t) { return op[t].on; });
    return tag != DrivePort::TAGS;
}

ModelDrive::ReadOp& ModelDrive::start_read(u32 tag, ReadKind kind, u64 addr, u32 len) {
    ReadOp& o = op[tag];
    o.on = true;
    o.bad = false;
    o.kind = kind;
    o.gen = gen;
    o.len = len;
    ++reads_out;
    port->read(addr, len, tag);
    return o;
}

// A read from `addr` on of at most `left` bytes: up to MRRS, cut at its multiples.
u32 ModelDrive::cut(u64 addr, u64 left) const {
    const u32 m = pci.mrrs();
    return u32(std::min<u64>(left, m - (addr & (m - 1))));
}

void ModelDrive::read_data(u32 tag, u32 at_dw, const u8* data, u32 dw, u32 status, bool last) {
    ReadOp& o = op[tag];
    if (!o.on) return;
    if (status) o.bad = true;
    const bool mine = o.gen == gen;
    if (mine && !status) {
        if (o.kind == R_DATA) {
            ModelCommand& m = of(o.cmd);
            if (live(o.cmd) && o.at + at_dw * 4 + dw * 4 <= m.buf.size())
                std::memcpy(m.buf.data() + o.at + at_dw * 4, data, dw * 4);
        } else {
            if (o.buf.size() < o.len) o.buf.resize(o.len);
            std::memcpy(o.buf.data() + at_dw * 4, data, std::min(dw * 4, o.len - at_dw * 4));
        }
    }
    if (!last) return;
    o.on = false;
    --reads_out;
    if (!mine) return;
    if (o.kind == R_SQE) fetch_done(o);
    else if (o.kind == R_LIST) list_read(o);
    else data_read(o);
}

bool ModelDrive::try_fetch() {
    if (!fetch_due || hung || !(csts & CSTS_RDY) || fetches_out >= c.fetches) return false;
    bool any = false;
    for (u32 k = 0; k <= c.queues; ++k) {
        const u32 q = k == 0 ? 0 : (rr + k - 1) % c.queues + 1;  // the admin queue first
        ModelSq& s = sq[q];
        if (!s.on || s.fetched == s.tail) continue;
        any = true;
        const u32 room = room_for_commands(q);
        if (inflight >= room) continue;
        u32 n = std::min({(s.tail + s.size - s.fetched) % s.size, s.size - s.fetched, c.fetch_entries, room - inflight,
                          pci.mrrs() / SQE_BYTES});
        const u64 addr = s.base + u64(s.fetched) * SQE_BYTES;
        n = std::min(n, std::max(1u, cut(addr, n * SQE_BYTES) / SQE_BYTES));
        u32 tag;
        if (!take_tag(tag)) return false;
        ReadOp& o = start_read(tag, R_SQE, addr, n * SQE_BYTES);
        o.qid = q;
        o.slot = s.fetched;
        s.fetches.push_back(ModelFetch{s.fetched, n, false, {}});
        s.fetched = (s.fetched + n) % s.size;
        inflight += n;
        count[ModelCount::MAX_INFLIGHT] = std::max<u64>(count[ModelCount::MAX_INFLIGHT], inflight);
        ++fetches_out;
        ++count[ModelCount::FETCHES];
        if (q) rr = q % c.queues;
        return true;
    }
    fetch_due = any;
    return false;
}

void ModelDrive::fetch_done(ReadOp& o) {
    --fetches_out;
    ModelSq& s = sq[o.qid];
    if (o.bad) return hang();  // nothing can be said about commands that cannot be read
    for (ModelFetch& f : s.fetches) {
        if (f.start != o.slot) continue;
        f.done = true;
        f.data.assign(o.buf.begin(), o.buf.begin() + f.count * SQE_BYTES);
    }
    while (!s.fetches.empty() && s.fetches.front().done) {
        const ModelFetch f = std::move(s.fetches.front());
        s.fetches.pop_front();
        for (u32 i = 0; i < f.count; ++i) {
            s.head = (s.head + 1) % s.size;
            command(o.qid, f.data.data() + i * SQE_BYTES);
            if (hung || !s.on) return;
        }
    }
}

void ModelDrive::command(u32 qid, const u8* entry) {
    const u32 i = free_cmd.back() | ++serial << SLOT_BITS;
    free_cmd.pop_back();
    ModelCommand& m = of(i);
    m.on = true;
    m.handle = i;
    m.sgl = m.write = m.list_done = m.media_done = m.queued = m.lost = m.failed = m.keep = false;
    m.damage = m.twice = m.wrong_phase = m.copied = false;
    m.again = m.copy = m.astray = m.other_cid = 0;
    m.sq = qid;
    m.admin = qid == 0;
    std::memcpy(m.sqe, entry, SQE_BYTES);
    m.opc = m.sqe[0] & 0xff;
    m.cid = m.sqe[0] >> 16;
    m.dw0 = m.status = 0;
    m.bytes = m.issued = m.got = m.lba = m.blocks = m.late = m.held = 0;
    m.page.clear();
    m.buf.clear();
    ++count[ModelCount::SQES];
    const u32 psdt = m.sqe[0] & nvme::CDW0_PSDT_MASK;
    m.sgl = psdt == nvme::CDW0_PSDT_SGL && c.sgls && !m.admin;
    if (m.sqe[0] & nvme::CDW0_FUSE_MASK || (psdt && !m.sgl)) return finish(i, STATUS_INVALID_FIELD);
    if (m.admin) admin(i);
    else io(i);
}

}  // namespace db
