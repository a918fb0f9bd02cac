// SPDX-License-Identifier: Apache-2.0
// I/O commands: what they ask for, and their effect on the media.
#include "drives/model_drive.h"

#include <algorithm>
#include <cstring>

namespace db {

using namespace nvme;

void ModelDrive::io(u32 i) {
    ModelCommand& m = of(i);
    m.lba = m.wide(10);
    m.blocks = (m.sqe[12] & 0xffff) + 1;
    const bool has_blocks = m.opc != OPC_FLUSH && m.opc != OPC_DSM;
    if (!has_blocks) m.lba = m.blocks = 0;
    if (!meet_fault(i)) return;
    if (m.nsid() != 1 && !(m.opc == OPC_FLUSH && m.nsid() == NSID_ALL)) return finish(i, STATUS_INVALID_NS);
    if (has_blocks && (m.lba + m.blocks > blocks || m.lba + m.blocks < m.lba)) return finish(i, STATUS_LBA_RANGE);
    switch (m.opc) {
        case OPC_FLUSH: return at_later(i, media.write(now, 0), DB_LAT_FLUSH);
        case OPC_WRITE:
        case OPC_READ:
            m.write = m.opc == OPC_WRITE;
            m.bytes = m.blocks << c.lba_shift;
            if (c.mdts && m.bytes > u64(PAGE) << c.mdts) return finish(i, STATUS_INVALID_FIELD);
            break;
        case OPC_WRITE_ZEROES:
            if (!(c.oncs & ONCS_WRITE_ZEROES)) return finish(i, STATUS_INVALID_OPCODE);
            return at_later(i, now, DB_LAT_OTHER);
        case OPC_VERIFY:
            if (!(c.oncs & ONCS_VERIFY)) return finish(i, STATUS_INVALID_OPCODE);
            return at_later(i, media.read(now, 0, 0), DB_LAT_READ);
        case OPC_DSM:
            if (!(c.oncs & ONCS_DSM)) return finish(i, STATUS_INVALID_OPCODE);
            m.write = true;
            m.bytes = ((m.sqe[10] & 0xff) + 1) * DSM_RANGE_BYTES;
            break;
        default: return finish(i, STATUS_INVALID_OPCODE);
    }
    start_data(i);
}

void ModelDrive::at_later(u32 i, u64 from, u32 kind) { at(std::max(from, now) + media.draw(kind), T_DONE, i); }

// What the file behind the media could not do is an error of the media.
void ModelDrive::check_media(ModelCommand& m, bool good) {
    if (good) return;
    m.failed = true;
    m.status = STATUS_WRITE_FAULT;
}

// What was written is durable where it has to be; false: it could not be made so.
bool ModelDrive::durable(const ModelCommand& m) { return (c.vwc && !(m.sqe[12] & RW_FUA)) || media.store.sync() == 0; }

// What a command does when its time has come.
void ModelDrive::done(u32 i) {
    ModelCommand& m = of(i);
    const u64 at_byte = m.lba << c.lba_shift;
    if (m.opc == OPC_WRITE && m.bytes) {
        if (!m.failed) check_media(m, media.store.store(at_byte, m.buf.data(), m.bytes) && durable(m));
        smart.units_written += m.bytes / 512;
        ++smart.writes;
    } else if (m.opc == OPC_WRITE_ZEROES && !m.failed) {
        check_media(m, media.store.zero(at_byte, m.blocks << c.lba_shift) && durable(m));
    } else if (m.opc == OPC_DSM && m.sqe[11] & DSM_AD) {
        deallocate(m);
    } else if (m.opc == OPC_FLUSH && !m.failed) {
        check_media(m, media.store.sync() == 0);
    }
    finish(i, m.failed ? m.status : u32{STATUS_SUCCESS});
}

// Nothing of a command of which one range is out of bounds.
void ModelDrive::deallocate(ModelCommand& m) {
    struct Range {
        u64 first;
        u32 n;
    };
    auto range = [&](u32 k) {
        Range r;
        std::memcpy(&r.n, &m.buf[k * DSM_RANGE_BYTES + 4], 4);
        std::memcpy(&r.first, &m.buf[k * DSM_RANGE_BYTES + 8], 8);
        return r;
    };
    const u32 ranges = u32(m.bytes / DSM_RANGE_BYTES);
    for (u32 k = 0; k < ranges; ++k) {
        const Range r = range(k);
        if (r.first + r.n <= blocks && r.first + r.n >= r.first) continue;
        m.failed = true;
        m.status = STATUS_LBA_RANGE;
    }
    for (u32 k = 0; !m.failed && k < ranges; ++k) {
        const Range r = range(k);
        check_media(m, media.store.zero(r.first << c.lba_shift, u64(r.n) << c.lba_shift));
    }
}

}  // namespace db
