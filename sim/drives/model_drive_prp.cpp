// SPDX-License-Identifier: Apache-2.0
// Where a command's data is in host memory: PRPs and their lists, or an SGL of one data block.
#include "drives/model_drive.h"

#include <algorithm>
#include <cstring>

namespace db {

// Addresses of the pages, then data: for reads of media beside the media's latency.
void ModelDrive::start_data(u32 i) {
    ModelCommand& m = of(i);
    const u64 prp1 = m.prp1(), prp2 = m.prp2();
    if (m.sgl) {
        if (m.sqe[9] >> nvme::SGL_TYPE_SHIFT != nvme::SGL_DATA_BLOCK) return finish(i, STATUS_SGL_INVALID_TYPE);
        if (m.sqe[8] < m.bytes) return finish(i, STATUS_SGL_INVALID_DATA);
    } else if (prp1 & 3) return finish(i, STATUS_INVALID_PRP_OFFSET);
    m.page.push_back(prp1);
    const u64 first = PAGE - (prp1 & (PAGE - 1));
    m.pages = !m.sgl && m.bytes > first ? u32((m.bytes - first + PAGE - 1) / PAGE) : 0;
    if (m.write) m.buf.resize(m.bytes);
    if (m.write) m.media_done = true;
    else if (m.admin) at(now + media.draw(DB_LAT_ADMIN), T_MEDIA, i);
    else at(media.read(now, media.draw(DB_LAT_READ), m.bytes), T_MEDIA, i);
    if (m.pages == 0) {
        listed(i);
    } else if (m.pages == 1) {
        if (prp2 & (PAGE - 1)) return finish(i, STATUS_INVALID_PRP_OFFSET);
        m.page.push_back(prp2);
        listed(i);
    } else {
        if (prp2 & 7) return finish(i, STATUS_INVALID_PRP_OFFSET);
        m.list_at = prp2;
        list_q.push_back(i);
    }
}

// Reads the next part of the list: to the end of its page, of which the last entry is a pointer if it is not all.
bool ModelDrive::next_list() {
    const u32 i = list_q.front();
    ModelCommand& m = of(i);
    if (!live(i)) return list_q.pop_front(), true;
    u32 tag;
    if (!take_tag(tag)) return false;
    const u32 room = u32((PAGE - (m.list_at & (PAGE - 1))) / 8), want = m.pages - u32(m.page.size() - 1);
    u32 entries = std::min(want, room);
    entries = std::min(std::max(entries, c.list_bytes / 8), room);
    const u32 n = cut(m.list_at, entries * 8);
    ReadOp& o = start_read(tag, R_LIST, m.list_at, n);
    o.cmd = i;
    o.at = room - n / 8;  // entries of this page behind what is read
    ++count[ModelCount::LIST_READS];
    list_q.pop_front();
    return true;
}

void ModelDrive::list_read(ReadOp& o) {
    ModelCommand& m = of(o.cmd);
    if (!live(o.cmd)) return;
    if (o.bad) return finish(o.cmd, STATUS_DATA_TRANSFER_ERROR);
    const u32 n = o.len / 8;
    for (u32 k = 0; k < n && m.page.size() <= m.pages; ++k) {
        u64 v;
        std::memcpy(&v, &o.buf[k * 8], 8);
        const bool last_of_page = k == n - 1 && o.at == 0;
        if (last_of_page && m.page.size() < m.pages) {  // more than one entry is missing: a pointer
            if (v & 7) return finish(o.cmd, STATUS_INVALID_PRP_OFFSET);
            m.list_at = v;
            list_q.push_front(o.cmd);
            return;
        }
        if (v & (PAGE - 1)) return finish(o.cmd, STATUS_INVALID_PRP_OFFSET);
        m.page.push_back(v);
    }
    m.list_at += o.len;
    if (m.page.size() <= m.pages) list_q.push_front(o.cmd);
    else listed(o.cmd);
}

void ModelDrive::listed(u32 i) {
    of(i).list_done = true;
    ready(i);
}

// Where byte `off` of the transfer is, and how much follows in its page (of an SGL: in all).
u64 ModelDrive::place(const ModelCommand& m, u64 off, u64& left) const {
    if (m.sgl) {
        left = m.bytes - off;
        return m.page[0] + off + m.astray;
    }
    const u64 first = PAGE - (m.page[0] & (PAGE - 1));
    if (off < first) {
        left = std::min(first - off, m.bytes - off);
        return m.page[0] + off + m.astray;
    }
    const u64 n = 1 + (off - first) / PAGE, in = (off - first) % PAGE;
    left = std::min<u64>(PAGE - in, m.bytes - off);
    return m.page[n] + in + m.astray;
}

}  // namespace db
