// SPDX-License-Identifier: Apache-2.0
// Life of the drive: opened, reset, and a cycle of it.
#include "drives/model_drive.h"

#include <algorithm>
#include <cstring>

namespace db {

ModelDrive::ModelDrive(const db_host_port& p, u64 clock_khz, u64 seed, u32 i)
    : c(p.model), khz(clock_khz), index(i), cmd(COMMANDS), media(p.model, clock_khz, seed * 64 + i) {
    pci.bar_bytes = p.bar_bytes;
    pci.bar64 = p.bar64;
    pci.mps_cap = p.drive_mps_cap_code;
    pci.gen = p.gen;
    pci.lanes = p.lanes;
    pci.crs = ns_to_cycles(p.crs_ns, clock_khz);
    pci.device = PciFunction::MODEL_DRIVE;
}

bool ModelDrive::open(std::string& why) {
    if (!media.open(why)) return false;
    blocks = media.store.size >> c.lba_shift;
    return true;
}

void ModelDrive::reset() {
    pci.reset(now);
    controller_reset();
    cc = csts = aqa = intms = 0;
    asq = acq = 0;
    hung = gone = false;
    media.reset();
}

void ModelDrive::controller_reset() {
    ++gen;
    ++smart.resets;
    for (ModelSq& q : sq) q = ModelSq{};
    for (ModelCq& q : cq) q = ModelCq{};
    free_cmd.clear();
    for (u32 i = COMMANDS; i-- > 0;) {
        cmd[i].on = false;
        free_cmd.push_back(i);
    }
    list_q.clear();
    read_q.clear();
    write_q.clear();
    cqe_q.clear();
    timers = {};
    inflight = fetches_out = 0;
    buffered = 0;
    hung = false;
}

void ModelDrive::link(bool up) {
    link_on = up;
    for (ReadOp& o : op) o.on = false;
    reads_out = 0;
    reset();
}

void ModelDrive::hang() {
    csts |= CSTS_CFS;
    hung = true;
}

void ModelDrive::expired(const Event& e) {
    using namespace nvme;
    switch (e.kind) {
        case T_READY:
            if (!hung) csts |= CSTS_RDY;
            break;
        case T_UNREADY: csts &= ~CSTS_RDY; break;
        case T_SHUTDOWN:
            if (media.store.sync()) {
                hang();  // what it would promise is not true
                break;
            }
            csts = (csts & ~CSTS_SHST_MASK) | CSTS_SHST_DONE;
            ++count[ModelCount::SHUTDOWNS];
            break;
        case T_MEDIA:
            if (!live(e.cmd)) break;
            of(e.cmd).media_done = true;
            if (!of(e.cmd).queued) ready(e.cmd);
            break;
        case T_DONE:
            if (!live(e.cmd)) break;
            if (of(e.cmd).admin || of(e.cmd).opc == ModelCommand::OPC_NONE) finish(e.cmd, of(e.cmd).status);
            else done(e.cmd);
            break;
    }
}

void ModelDrive::step() {
    while (!timers.empty() && timers.top().at <= now) {
        const Event e = timers.top();
        timers.pop();
        if (e.gen == gen) expired(e);
    }
    if (!link_on || hung || gone || !pci.bus_master()) return;
    // completions and lists first: they are short and others wait for them; then commands; then data
    while (!cqe_q.empty() && next_cqe()) {}
    while (!list_q.empty() && next_list()) {}
    while (try_fetch()) {}
    for (bool more = true; more;) {  // a request each way in turn: neither waits for the other to run dry
        more = !write_q.empty() && next_data_write();
        more |= !read_q.empty() && next_data_read();
    }
    count[ModelCount::STALLS] = media.stalls;
}

u64 ModelDrive::next_event() const {
    u64 e = timers.empty() ? NEVER : timers.top().at;
    if (!link_on || hung || gone || !pci.bus_master()) return e;
    if (!write_q.empty() || !cqe_q.empty()) return now;
    if (reads_out >= c.max_reads) return e;
    if (!list_q.empty()) return now;
    if (!read_q.empty()) {
        const ModelCommand& m = of(read_q.front());
        if (m.issued || !c.write_buffer || !buffered || buffered + m.bytes <= c.write_buffer) return now;
    }
    if (csts & CSTS_RDY && fetches_out < c.fetches)
        for (const ModelSq& q : sq)
            if (q.on && q.fetched != q.tail && inflight < room_for_commands(u32(&q - sq))) return now;
    return e;
}

}  // namespace db
