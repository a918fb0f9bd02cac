// SPDX-License-Identifier: Apache-2.0
// Configuration space and registers: what the host reads and writes in the BAR.
#include "drives/model_drive.h"

#include <algorithm>
#include <cstring>

#include "pcie/bar_map.h"

namespace db {

using namespace nvme;

void ModelDrive::config(u32 handle, u32 target, u32 reg, bool write, u32 data, u8 be) {
    if (gone) port->answer(handle, UR, nullptr);
    else if (pci.request(*port, now, handle, target, reg, write, data, be)) reset();
}

u64 ModelDrive::cap() const {
    return u64(c.mqes - 1) | 1u << CAP_CQR_SHIFT | u64(c.timeout_500ms) << CAP_TO_SHIFT |
           u64(c.dstrd) << CAP_DSTRD_SHIFT | u64(c.css) << CAP_CSS_SHIFT | u64(c.mpsmin) << CAP_MPSMIN_SHIFT |
           u64(c.mpsmin) << CAP_MPSMAX_SHIFT;
}

u32 ModelDrive::reg_read(u32 off) const {
    switch (off) {
        case NVME_REG_CAP: return u32(cap());
        case NVME_REG_CAP + 4: return u32(cap() >> 32);
        case NVME_REG_VS: return VERSION_2_0;
        case NVME_REG_INTMS:
        case NVME_REG_INTMC: return intms;
        case NVME_REG_CC: return cc;
        case NVME_REG_CSTS: return csts;
        case NVME_REG_AQA: return aqa;
        case NVME_REG_ASQ: return u32(asq);
        case NVME_REG_ASQ + 4: return u32(asq >> 32);
        case NVME_REG_ACQ: return u32(acq);
        case NVME_REG_ACQ + 4: return u32(acq >> 32);
        default: return 0;
    }
}

void ModelDrive::mem_read(u32 handle, u64 addr, u32 dw, u8, u8) {
    u32 data[1024];
    if (!gone && (!pci.hits(addr, dw * 4) || dw > 16)) {
        port->answer(handle, UR, nullptr);
        return;
    }
    for (u32 i = 0; i < dw; ++i) data[i] = gone ? ~0u : reg_read(u32(addr - pci.bar()) + i * 4);
    port->answer(handle, SC, reinterpret_cast<const u8*>(data));
}

void ModelDrive::mem_write(u64 addr, const u8* data, u32 dw, u8 first_be, u8 last_be) {
    if (gone) return;
    if (!pci.hits(addr, dw * 4)) {
        ++count[ModelCount::BAD_ACCESS];
        return;
    }
    const u8 lbe = enables_of_last(dw, first_be, last_be);
    if (dw > 2 || first_be != 15 || lbe != 15) {  // registers take whole dwords, two at most
        ++count[ModelCount::BAD_ACCESS];
        return;
    }
    for (u32 i = 0; i < dw; ++i) {
        u32 v;
        std::memcpy(&v, data + i * 4, 4);
        reg_write(u32(addr - pci.bar()) + i * 4, v);
    }
}

void ModelDrive::reg_write(u32 off, u32 v) {
    auto half = [&](u64& r, u32 shift, u64 mask) {
        r = ((r & ~(u64{0xffffffff} << shift)) | (u64(v) << shift)) & mask;
    };
    if (off >= BAR_DOORBELLS) return doorbell(off - BAR_DOORBELLS, v);
    switch (off) {
        case NVME_REG_INTMS: intms |= v; break;
        case NVME_REG_INTMC: intms &= ~v; break;
        case NVME_REG_CC: write_cc(v); break;
        case NVME_REG_AQA: aqa = v & AQA_MASK; break;
        case NVME_REG_ASQ: half(asq, 0, ~u64{PAGE - 1}); break;
        case NVME_REG_ASQ + 4: half(asq, 32, ~u64{PAGE - 1}); break;
        case NVME_REG_ACQ: half(acq, 0, ~u64{PAGE - 1}); break;
        case NVME_REG_ACQ + 4: half(acq, 32, ~u64{PAGE - 1}); break;
        default: break;
    }
}

// False: it cannot be.
bool ModelDrive::enable() {
    // memory page size, command set: what CAP does not offer is a fatal error
    if ((cc >> CC_MPS_SHIFT & CC_MPS_MASK) != c.mpsmin || (cc >> CC_CSS_SHIFT & CC_CSS_MASK)) return hang(), false;
    sq[0] = ModelSq{};
    cq[0] = ModelCq{};
    sq[0].on = cq[0].on = true;
    sq[0].base = asq;
    cq[0].base = acq;
    sq[0].size = (aqa & AQA_SIZE_MASK) + 1;
    cq[0].size = (aqa >> AQA_ACQS_SHIFT) + 1;
    if (sq[0].size < 2 || cq[0].size < 2) return hang(), false;
    if (c.ready_ns != ~0u) at(now + ns_to_cycles(c.ready_ns, khz), T_READY, 0);
    return true;
}

void ModelDrive::write_cc(u32 v) {
    const u32 old = cc;
    cc = v;
    if ((v & CC_EN) && !(old & CC_EN)) {
        if (!enable()) return;
    } else if (!(v & CC_EN) && (old & CC_EN)) {
        controller_reset();
        csts &= ~(CSTS_CFS | CSTS_SHST_MASK);
        if (c.unready_ns != ~0u) at(now + ns_to_cycles(c.unready_ns, khz), T_UNREADY, 0);
    }
    const bool shutdown = v >> CC_SHN_SHIFT & CC_SHN_MASK, was = old >> CC_SHN_SHIFT & CC_SHN_MASK;
    if (shutdown && !was) {
        csts = (csts & ~CSTS_SHST_MASK) | CSTS_SHST_BUSY;
        if (c.shutdown_ns != ~0u) at(now + ns_to_cycles(c.shutdown_ns, khz), T_SHUTDOWN, 0);
    }
    if (!shutdown) csts &= ~CSTS_SHST_MASK;
}

// ---- doorbells

void ModelDrive::doorbell(u32 off, u32 v) {
    const u32 stride = 4u << c.dstrd, n = off / stride, q = n / 2;
    ++count[ModelCount::DOORBELLS];
    const bool is_cq = n & 1;
    if (hung) return;
    if (off % stride || q >= QUEUES || !(csts & CSTS_RDY) || !(is_cq ? cq[q].on : sq[q].on) ||
        v >= (is_cq ? cq[q].size : sq[q].size)) {
        ++count[ModelCount::BAD_DOORBELL];
        return;
    }
    if (is_cq) cq_doorbell(cq[q], v);
    else sq_doorbell(sq[q], v);
}

void ModelDrive::cq_doorbell(ModelCq& k, u32 v) {
    const u32 taken = (v + k.size - k.head) % k.size;
    if (taken > k.used()) {
        ++count[ModelCount::BAD_DOORBELL];
        return;
    }
    k.head = v;
    while (!k.waiting.empty()) {
        cqe_q.push_back(k.waiting.front());
        k.waiting.pop_front();
    }
}

void ModelDrive::sq_doorbell(ModelSq& k, u32 v) {
    const u32 more = (v + k.size - k.tail) % k.size;
    if (k.used() + more >= k.size || csts & CSTS_SHST_MASK) {  // past the head, or after CC.SHN
        ++count[ModelCount::BAD_DOORBELL];
        return;
    }
    k.tail = v;
    fetch_due = true;
}

}  // namespace db
