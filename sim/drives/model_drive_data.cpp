// SPDX-License-Identifier: Apache-2.0
// Data to and from the host.
#include "drives/model_drive.h"

#include <algorithm>
#include <cstring>

namespace db {

void ModelDrive::ready(u32 i) {
    ModelCommand& m = of(i);
    if (!m.list_done || !m.media_done || m.queued) return;
    m.queued = true;
    if (m.failed && !m.admin) return finish(i, m.status);  // no data moves
    (m.write ? read_q : write_q).push_back(i);
}

bool ModelDrive::next_data_read() {
    const u32 i = read_q.front();
    ModelCommand& m = of(i);
    if (!live(i) || m.failed) return read_q.pop_front(), true;
    if (!m.issued && !m.admin && c.write_buffer && buffered && buffered + m.bytes > c.write_buffer) return false;
    u32 tag;
    if (!take_tag(tag)) return false;
    if (!m.issued) buffered += m.held = m.bytes;
    u64 left;
    const u64 addr = place(m, m.issued, left);
    const u32 n = cut(addr, left);
    ReadOp& o = start_read(tag, R_DATA, addr, n);
    o.cmd = i;
    o.at = m.issued;
    m.issued += n;
    ++count[ModelCount::DATA_READS];
    if (m.issued == m.bytes) read_q.pop_front();
    return true;
}

void ModelDrive::data_read(ReadOp& o) {
    ModelCommand& m = of(o.cmd);
    if (!live(o.cmd)) return;
    m.got += o.len;
    if (o.bad) m.failed = true, m.status = STATUS_DATA_TRANSFER_ERROR;
    // a failed one ends when nothing of it is outstanding
    if (m.failed && m.got == m.issued) return finish(o.cmd, m.status);
    if (m.got < m.bytes) return;
    if (m.admin) return finish(o.cmd, STATUS_SUCCESS);
    if (m.opc == OPC_DSM) return at_later(o.cmd, now, DB_LAT_OTHER);
    const u64 latency = media.draw(DB_LAT_WRITE), free = media.write(now, m.bytes);
    at(std::max(now + latency, free), T_DONE, o.cmd);
}

// What a Read sends up to byte `end`: a page of the media is read at once, in however many packets it goes, so no block in
// it is ever in parts of two Writes, nor are several that are written together.
bool ModelDrive::take_pages(ModelCommand& m, u64 end) {
    if (end <= m.got) return true;
    const u64 at_byte = m.lba << c.lba_shift, from = m.got;
    const u64 to = std::min(m.bytes, ((at_byte + end + PAGE - 1) & ~u64{PAGE - 1}) - at_byte);
    if (m.buf.size() < m.bytes) m.buf.resize(m.bytes);
    m.got = to;
    return media.store.load(m.buf.data() + from, at_byte + from, to - from);
}

bool ModelDrive::next_data_write() {
    const u32 i = write_q.front();
    ModelCommand& m = of(i);
    if (!live(i)) return write_q.pop_front(), true;
    if (!port->room(false)) return false;
    u64 left;
    const u64 addr = place(m, m.issued, left);
    const u32 mps = pci.mps();
    const u32 n = u32(std::min<u64>(left, mps - (addr & (mps - 1))));
    u8 data[PAGE];
    if (!m.admin && !take_pages(m, m.issued + n)) {
        write_q.pop_front();
        finish(i, STATUS_READ_ERROR);
        return true;
    }
    std::memcpy(data, m.buf.data() + m.issued, n);
    if (m.damage && m.issued + n == m.bytes) {
        for (u32 k = 0; k < n; ++k) data[k] = u8(~data[k]);
        port->damage_next();
        m.damage = false;
    }
    port->write(addr, data, n);
    m.issued += n;
    ++count[ModelCount::DATA_WRITES];
    if (m.issued == m.bytes) {
        write_q.pop_front();
        smart.units_read += m.admin ? 0 : m.bytes / 512;
        smart.reads += !m.admin;
        finish(i, STATUS_SUCCESS);
    }
    return true;
}

}  // namespace db
