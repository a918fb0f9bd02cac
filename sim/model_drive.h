// SPDX-License-Identifier: Apache-2.0
// A behavioural NVMe SSD, written from the specification (NVMe Base 2.0, NVM Command Set 1.0): registers, queues, PRPs,
// commands, completions, as PCIe requests on the link; with latencies, rates, stalls and faults. README.md describes it.
#pragma once

#include <deque>
#include <memory>
#include <queue>
#include <vector>

#include "drive.h"
#include "model_data.h"
#include "model_media.h"
#include "pci_function.h"

namespace db {

struct ModelFault {
    u32 kind;
    int opcode, admin;  // -1: any
    u64 lba, blocks;    // blocks 0: any
    u32 skip, count;
    u64 arg, hits;
};

enum ModelStat : u32 {
    M_FETCHES, M_SQES, M_LIST_READS, M_DATA_READS, M_DATA_WRITES, M_CQES, M_DOORBELLS, M_FAULTS, M_STALLS,
    M_MAX_INFLIGHT, M_BAD_DOORBELL, M_BAD_ACCESS, M_COUNT
};

struct ModelDrive final : Drive {
    static constexpr u32 PAGE = 4096, QUEUES = 64, CMDS = 2048, ADMIN_CMDS_LEFT = 16;
    static constexpr u32 SLOT_BITS = 11;
    static_assert(CMDS == 1u << SLOT_BITS, "a handle is slot and serial number");
    static constexpr u64 STATUS_ABORTED = 0x07, STATUS_INVALID_FIELD = 0x02, STATUS_TRANSFER = 0x04;

    enum Timer : u8 { T_MEDIA, T_DONE, T_READY, T_UNREADY, T_SHUTDOWN };
    struct Event {
        u64 at, seq;
        Timer kind;
        u32 cmd, gen;
        bool operator>(const Event& o) const { return at != o.at ? at > o.at : seq > o.seq; }
    };
    enum ReadKind : u8 { R_SQE, R_LIST, R_DATA };
    struct ReadOp {
        bool on = false, bad = false;
        ReadKind kind = R_SQE;
        u32 gen = 0, cmd = 0, len = 0, qid = 0, slot = 0;
        u64 at = 0;  // data: offset in the command; list: entry
        std::vector<u8> buf;
    };
    struct Fetch {
        u32 start, count;
        bool done;
        std::vector<u8> data;
    };
    struct Sq {
        bool on = false;
        u64 base = 0;
        u32 size = 0, head = 0, tail = 0, fetched = 0, cq = 0;
        std::deque<Fetch> fetches;
    };
    struct Cq {
        bool on = false, phase = true;
        u64 base = 0;
        u32 size = 0, head = 0, tail = 0;
        std::deque<u32> waiting;  // commands without a place
    };
    struct Cmd {
        bool on = false, admin = false, write = false, list_done = false, media_done = false, queued = false;
        bool lost = false, failed = false, keep = false;  // keep: asynchronous event request
        bool damage = false, twice = false, wrong_phase = false;
        u32 handle = 0, sq = 0, cid = 0, opc = 0, dw0 = 0, status = 0, sqe[16];
        u64 bytes = 0, issued = 0, got = 0, lba = 0, blocks = 0, late = 0, held = 0, again = 0;
        u32 pages = 0;           // entries wanted beside PRP1
        u64 list_at = 0;         // where the next part of the list is
        u32 list_out = 0;        // list reads outstanding
        std::vector<u64> page;   // of page i of the transfer: address (the first with its offset)
        std::vector<u8> buf;     // data of the host, or answer of an admin command
    };

    const db_host_port& cfg;
    const db_model_config& c;
    ModelMedia media;
    PciFunction pci;
    Smart smart;
    u64 khz, blocks;
    u32 index;
    u64 stat[M_COUNT] = {};

    u32 cc = 0, csts = 0, aqa = 0, intms = 0;
    u64 asq = 0, acq = 0;
    u32 gen = 0;  // of the controller: what is on its way for an older one is forgotten
    Sq sq[QUEUES];
    Cq cq[QUEUES];
    std::vector<Cmd> cmd;
    std::vector<u32> free_cmd;
    u32 serial = 0, inflight = 0, rr = 0, fetches_out = 0, reads_out = 0, next_tag = 0;
    ReadOp op[DrivePort::TAGS];
    std::priority_queue<Event, std::vector<Event>, std::greater<Event>> timers;
    u64 timer_seq = 0, buffered = 0;
    std::deque<u32> list_q, read_q, write_q, cqe_q;
    std::vector<ModelFault> faults;
    bool link_on = false, hung = false, fetch_due = false;  // fetch_due: some queue may have entries
    bool gone = false;  // pulled out, and the link does not show it yet

    ModelDrive(const db_host_port& p, u64 clock_khz, u64 seed, u32 i)
        : cfg(p), c(p.model), media(p.model, clock_khz, seed * 64 + i), khz(clock_khz), index(i), cmd(CMDS) {
        pci.bar_bytes = p.bar_bytes;
        pci.bar64 = p.bar64;
        pci.mps_cap = p.drive_mps_cap;
        pci.gen = p.gen;
        pci.lanes = p.lanes;
        pci.crs = ns_to_cycles(p.crs_ns, clock_khz);
        pci.device = 0xdb02;
    }
    bool open(std::string& why) {
        if (!media.open(why)) return false;
        blocks = media.size >> c.lba_shift;
        return true;
    }

    // ---------------------------------------------------------------- resets

    void reset() override {
        pci.reset(now);
        controller_reset();
        cc = csts = aqa = intms = 0;
        asq = acq = 0;
        hung = gone = false;
        media.reset();
    }

    void controller_reset() {
        ++gen;
        ++smart.resets;
        for (Sq& q : sq) q = Sq{};
        for (Cq& q : cq) q = Cq{};
        free_cmd.clear();
        for (u32 i = CMDS; i-- > 0;) {
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

    void link(bool up) override {
        link_on = up;
        for (ReadOp& o : op) o.on = false;
        reads_out = 0;
        reset();
    }

    void hang() {
        csts |= 2;
        hung = true;
    }

    // Commands go by handles, so that what is left over of one is not taken for the next in its slot.
    Cmd& of(u32 handle) { return cmd[handle & (CMDS - 1)]; }
    const Cmd& of(u32 handle) const { return cmd[handle & (CMDS - 1)]; }
    bool live(u32 handle) const { return of(handle).on && of(handle).handle == handle; }

    void at(u64 t, Timer kind, u32 i) { timers.push(Event{t, timer_seq++, kind, i, gen}); }

    // ---------------------------------------------------------------- configuration and registers

    void config(u32 handle, u32 target, u32 reg, bool write, u32 data, u8 be) override {
        if (gone) port->answer(handle, UR, nullptr);
        else if (pci.request(*port, now, handle, target, reg, write, data, be)) reset();
    }

    u64 cap() const {
        return u64(c.mqes - 1) | 1u << 16 | u64(c.timeout_500ms) << 24 | u64(c.dstrd) << 32 | u64(c.css) << 37 |
               u64(c.mpsmin) << 48 | u64(c.mpsmin) << 52;
    }

    u32 reg_read(u32 off) const {
        switch (off) {
            case 0x00: return u32(cap());
            case 0x04: return u32(cap() >> 32);
            case 0x08: return 0x20000;
            case 0x0c: case 0x10: return intms;
            case 0x14: return cc;
            case 0x1c: return csts;
            case 0x24: return aqa;
            case 0x28: return u32(asq);
            case 0x2c: return u32(asq >> 32);
            case 0x30: return u32(acq);
            case 0x34: return u32(acq >> 32);
            default: return 0;
        }
    }

    void mem_read(u32 handle, u64 addr, u32 dw, u8, u8) override {
        u32 data[1024];
        if (!gone && (!pci.hits(addr, dw * 4) || dw > 16)) {
            port->answer(handle, UR, nullptr);
            return;
        }
        for (u32 i = 0; i < dw; ++i) data[i] = gone ? ~0u : reg_read(u32(addr - pci.bar()) + i * 4);
        port->answer(handle, SC, reinterpret_cast<const u8*>(data));
    }

    void mem_write(u64 addr, const u8* data, u32 dw, u8 first_be, u8 last_be) override {
        if (gone) return;
        if (!pci.hits(addr, dw * 4)) {
            ++stat[M_BAD_ACCESS];
            return;
        }
        const u8 lbe = dw == 1 ? first_be : last_be;
        if (dw > 2 || first_be != 15 || lbe != 15) {  // registers take whole dwords, two at most
            ++stat[M_BAD_ACCESS];
            return;
        }
        for (u32 i = 0; i < dw; ++i) {
            u32 v;
            std::memcpy(&v, data + i * 4, 4);
            reg_write(u32(addr - pci.bar()) + i * 4, v);
        }
    }

    void reg_write(u32 off, u32 v) {
        auto half = [&](u64& r, u32 shift, u64 mask) {
            r = ((r & ~(u64{0xffffffff} << shift)) | (u64(v) << shift)) & mask;
        };
        if (off >= 0x1000) return doorbell(off - 0x1000, v);
        switch (off) {
            case 0x0c: intms |= v; break;
            case 0x10: intms &= ~v; break;
            case 0x14: write_cc(v); break;
            case 0x24: aqa = v & 0x0fff0fff; break;
            case 0x28: half(asq, 0, ~u64{4095}); break;
            case 0x2c: half(asq, 32, ~u64{4095}); break;
            case 0x30: half(acq, 0, ~u64{4095}); break;
            case 0x34: half(acq, 32, ~u64{4095}); break;
            default: break;
        }
    }

    void write_cc(u32 v) {
        const u32 old = cc;
        cc = v;
        if ((v & 1) && !(old & 1)) {
            // memory page size, command set: what CAP does not offer is a fatal error
            if ((v >> 7 & 15) != c.mpsmin || (v >> 4 & 7)) return hang();
            sq[0] = Sq{};
            cq[0] = Cq{};
            sq[0].on = cq[0].on = true;
            sq[0].base = asq;
            cq[0].base = acq;
            sq[0].size = (aqa & 0xfff) + 1;
            cq[0].size = (aqa >> 16) + 1;
            if (sq[0].size < 2 || cq[0].size < 2) return hang();
            if (c.ready_ns != ~0u) at(now + ns_to_cycles(c.ready_ns, khz), T_READY, 0);
        } else if (!(v & 1) && (old & 1)) {
            controller_reset();
            csts &= ~0xeu;
            if (c.unready_ns != ~0u) at(now + ns_to_cycles(c.unready_ns, khz), T_UNREADY, 0);
        }
        if ((v >> 14 & 3) && !(old >> 14 & 3)) {
            csts = (csts & ~0xcu) | 4;
            at(now + ns_to_cycles(10000, khz), T_SHUTDOWN, 0);
        }
        if (!(v >> 14 & 3)) csts &= ~0xcu;
    }

    void doorbell(u32 off, u32 v) {
        const u32 stride = 4u << c.dstrd, n = off / stride, q = n / 2;
        ++stat[M_DOORBELLS];
        const bool is_cq = n & 1;
        if (hung) return;
        if (off % stride || q >= QUEUES || !(csts & 1) || !(is_cq ? cq[q].on : sq[q].on) ||
            v >= (is_cq ? cq[q].size : sq[q].size)) {
            ++stat[M_BAD_DOORBELL];
            return;
        }
        if (is_cq) {
            Cq& k = cq[q];
            const u32 used = (k.tail + k.size - k.head) % k.size, taken = (v + k.size - k.head) % k.size;
            if (taken > used) {
                ++stat[M_BAD_DOORBELL];
                return;
            }
            k.head = v;
            while (!k.waiting.empty()) {
                cqe_q.push_back(k.waiting.front());
                k.waiting.pop_front();
            }
        } else {
            Sq& k = sq[q];
            const u32 used = (k.tail + k.size - k.head) % k.size, more = (v + k.size - k.tail) % k.size;
            if (used + more >= k.size) {  // past the head
                ++stat[M_BAD_DOORBELL];
                return;
            }
            k.tail = v;
            fetch_due = true;
        }
    }

    // ---------------------------------------------------------------- reads of host memory

    bool take_tag(u32& tag) {
        if (reads_out >= c.max_reads || !port->room(true)) return false;
        for (u32 k = 0; k < DrivePort::TAGS; ++k) {
            const u32 t = (next_tag + k) % DrivePort::TAGS;
            if (op[t].on || !port->tag_ready(t)) continue;
            tag = t;
            next_tag = t + 1;
            return true;
        }
        return false;
    }

    ReadOp& start_read(u32 tag, ReadKind kind, u64 addr, u32 len) {
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
    u32 cut(u64 addr, u64 left) const {
        const u32 m = pci.mrrs();
        return u32(std::min<u64>(left, m - (addr & (m - 1))));
    }

    void read_data(u32 tag, u32 at_dw, const u8* data, u32 dw, u32 status, bool last) override {
        ReadOp& o = op[tag];
        if (!o.on) return;
        if (status) o.bad = true;
        const bool mine = o.gen == gen;
        if (mine && !status) {
            if (o.kind == R_DATA) {
                Cmd& m = of(o.cmd);
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

    // ---------------------------------------------------------------- fetching

    bool try_fetch() {
        if (!fetch_due || hung || !(csts & 1) || fetches_out >= c.fetches) return false;
        bool any = false;
        for (u32 k = 0; k <= c.queues; ++k) {
            const u32 q = k == 0 ? 0 : (rr + k - 1) % c.queues + 1;  // the admin queue first
            Sq& s = sq[q];
            if (!s.on || s.fetched == s.tail) continue;
            any = true;
            const u32 room = c.max_cmds + (q ? 0 : ADMIN_CMDS_LEFT);
            if (inflight >= room) continue;
            u32 n = std::min({(s.tail + s.size - s.fetched) % s.size, s.size - s.fetched, c.fetch_entries,
                              room - inflight, pci.mrrs() / 64});
            const u64 addr = s.base + u64(s.fetched) * 64;
            n = std::min(n, std::max(1u, cut(addr, n * 64) / 64));
            u32 tag;
            if (!take_tag(tag)) return false;
            ReadOp& o = start_read(tag, R_SQE, addr, n * 64);
            o.qid = q;
            o.slot = s.fetched;
            s.fetches.push_back(Fetch{s.fetched, n, false, {}});
            s.fetched = (s.fetched + n) % s.size;
            inflight += n;
            stat[M_MAX_INFLIGHT] = std::max<u64>(stat[M_MAX_INFLIGHT], inflight);
            ++fetches_out;
            ++stat[M_FETCHES];
            if (q) rr = q % c.queues;
            return true;
        }
        fetch_due = any;
        return false;
    }

    void fetch_done(ReadOp& o) {
        --fetches_out;
        Sq& s = sq[o.qid];
        if (o.bad) return hang();  // nothing can be said about commands that cannot be read
        for (Fetch& f : s.fetches) {
            if (f.start != o.slot) continue;
            f.done = true;
            f.data.assign(o.buf.begin(), o.buf.begin() + f.count * 64);
        }
        while (!s.fetches.empty() && s.fetches.front().done) {
            const Fetch f = std::move(s.fetches.front());
            s.fetches.pop_front();
            for (u32 i = 0; i < f.count; ++i) {
                s.head = (s.head + 1) % s.size;
                command(o.qid, f.data.data() + i * 64);
                if (hung || !s.on) return;
            }
        }
    }

    // ---------------------------------------------------------------- a command

    static u64 wide(const u32* w) { return (u64(w[1]) << 32) | w[0]; }

    void command(u32 qid, const u8* entry) {
        const u32 i = free_cmd.back() | ++serial << SLOT_BITS;
        free_cmd.pop_back();
        Cmd& m = of(i);
        m.on = true;
        m.handle = i;
        m.write = m.list_done = m.media_done = m.queued = m.lost = m.failed = m.keep = false;
        m.damage = m.twice = m.wrong_phase = false;
        m.sq = qid;
        m.admin = qid == 0;
        std::memcpy(m.sqe, entry, 64);
        m.opc = m.sqe[0] & 0xff;
        m.cid = m.sqe[0] >> 16;
        m.dw0 = m.status = 0;
        m.bytes = m.issued = m.got = m.lba = m.blocks = m.late = m.held = 0;
        m.page.clear();
        m.buf.clear();
        ++stat[M_SQES];
        if (m.sqe[0] >> 8 & 0xc3) return finish(i, STATUS_INVALID_FIELD);  // fused, or not PRPs
        if (m.admin) admin(i);
        else io(i);
    }

    // The fault that this command meets, or none.
    const ModelFault* fault(const Cmd& m) {
        for (ModelFault& f : faults) {
            if (!f.count || (f.opcode >= 0 && u32(f.opcode) != m.opc) || (f.admin >= 0 && (f.admin != 0) != m.admin))
                continue;
            if (f.blocks && (m.lba + m.blocks <= f.lba || m.lba >= f.lba + f.blocks)) continue;
            if (f.skip) {
                --f.skip;
                continue;
            }
            if (f.count != ~0u) --f.count;
            ++f.hits;
            ++stat[M_FAULTS];
            return &f;
        }
        return nullptr;
    }

    // False: the command needs nothing more.
    bool meet_fault(u32 i) {
        Cmd& m = of(i);
        const ModelFault* f = fault(m);
        if (!f) return true;
        switch (f->kind) {
            case DB_DFAULT_STATUS: m.status = u32(f->arg); m.failed = true; return true;
            case DB_DFAULT_LOST: m.lost = true; return false;
            case DB_DFAULT_LATE: m.late = f->arg; return true;
            case DB_DFAULT_HANG: hang(); return false;
            case DB_DFAULT_DAMAGE: m.damage = true; return true;
            case DB_DFAULT_VANISH: gone = true; return false;
            case DB_DFAULT_DOUBLE: m.twice = true, m.again = f->arg; return true;
            case DB_DFAULT_PHASE: m.wrong_phase = true; return true;
            default: port->drop_link(); return false;
        }
    }

    void io(u32 i) {
        Cmd& m = of(i);
        m.lba = wide(&m.sqe[10]);
        m.blocks = (m.sqe[12] & 0xffff) + 1;
        if (m.opc == 0x00 || m.opc == 0x09) m.lba = m.blocks = 0;
        if (!meet_fault(i)) return;
        if (m.sqe[1] != 1 && !(m.opc == 0 && m.sqe[1] == ~0u)) return finish(i, 0x0b);
        if (m.opc != 0x00 && m.opc != 0x09 && (m.lba + m.blocks > blocks || m.lba + m.blocks < m.lba))
            return finish(i, 0x80);
        switch (m.opc) {
            case 0x00:
                return at_later(i, media.write(now, 0), DB_LAT_FLUSH);
            case 0x01: case 0x02:
                m.write = m.opc == 0x01;
                m.bytes = m.blocks << c.lba_shift;
                if (c.mdts && m.bytes > u64(PAGE) << c.mdts) return finish(i, STATUS_INVALID_FIELD);
                break;
            case 0x08:
                if (!(c.oncs & 8)) return finish(i, 0x01);
                return at_later(i, now, DB_LAT_OTHER);
            case 0x0c:
                if (!(c.oncs & 0x80)) return finish(i, 0x01);
                return at_later(i, media.read(now, 0, 0), DB_LAT_READ);
            case 0x09:
                if (!(c.oncs & 4)) return finish(i, 0x01);
                m.write = true;
                m.bytes = ((m.sqe[10] & 0xff) + 1) * 16;
                break;
            default:
                return finish(i, 0x01);
        }
        start_data(i);
    }

    void at_later(u32 i, u64 from, u32 kind) {
        at(std::max(from, now) + media.draw(kind), T_DONE, i);
    }

    // Addresses of the pages, then data: for reads of media beside the media's latency.
    void start_data(u32 i) {
        Cmd& m = of(i);
        const u64 prp1 = wide(&m.sqe[6]), prp2 = wide(&m.sqe[8]);
        if (prp1 & 3) return finish(i, 0x13);
        m.page.push_back(prp1);
        const u64 first = PAGE - (prp1 & (PAGE - 1));
        m.pages = m.bytes > first ? u32((m.bytes - first + PAGE - 1) / PAGE) : 0;
        if (m.write) m.buf.resize(m.bytes);
        if (m.write) m.media_done = true;
        else if (m.admin) at(now + media.draw(DB_LAT_ADMIN), T_MEDIA, i);
        else at(media.read(now, media.draw(DB_LAT_READ), m.bytes), T_MEDIA, i);
        if (m.pages == 0) {
            listed(i);
        } else if (m.pages == 1) {
            if (prp2 & (PAGE - 1)) return finish(i, 0x13);
            m.page.push_back(prp2);
            listed(i);
        } else {
            if (prp2 & 7) return finish(i, 0x13);
            m.list_at = prp2;
            list_q.push_back(i);
        }
    }

    // Reads the next part of the list: to the end of its page, of which the last entry is a pointer if it is not all.
    bool next_list() {
        const u32 i = list_q.front();
        Cmd& m = of(i);
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
        ++stat[M_LIST_READS];
        list_q.pop_front();
        return true;
    }

    void list_read(ReadOp& o) {
        Cmd& m = of(o.cmd);
        if (!live(o.cmd)) return;
        if (o.bad) return finish(o.cmd, STATUS_TRANSFER);
        const u32 n = o.len / 8;
        for (u32 k = 0; k < n && m.page.size() <= m.pages; ++k) {
            u64 v;
            std::memcpy(&v, &o.buf[k * 8], 8);
            const bool last_of_page = k == n - 1 && o.at == 0;
            if (last_of_page && m.page.size() < m.pages) {  // more than one entry is missing: a pointer
                if (v & 7) return finish(o.cmd, 0x13);
                m.list_at = v;
                list_q.push_front(o.cmd);
                return;
            }
            if (v & (PAGE - 1)) return finish(o.cmd, 0x13);
            m.page.push_back(v);
        }
        m.list_at += o.len;
        if (m.page.size() <= m.pages) list_q.push_front(o.cmd);
        else listed(o.cmd);
    }

    void listed(u32 i) {
        of(i).list_done = true;
        ready(i);
    }

    void ready(u32 i) {
        Cmd& m = of(i);
        if (!m.list_done || !m.media_done || m.queued) return;
        m.queued = true;
        if (m.failed && !m.admin) return finish(i, m.status);  // no data moves
        (m.write ? read_q : write_q).push_back(i);
    }

    // Where byte `off` of the transfer is, and how much follows in its page.
    u64 place(const Cmd& m, u64 off, u64& left) const {
        const u64 first = PAGE - (m.page[0] & (PAGE - 1));
        if (off < first) {
            left = std::min(first - off, m.bytes - off);
            return m.page[0] + off;
        }
        const u64 n = 1 + (off - first) / PAGE, in = (off - first) % PAGE;
        left = std::min<u64>(PAGE - in, m.bytes - off);
        return m.page[n] + in;
    }

    bool next_data_read() {
        const u32 i = read_q.front();
        Cmd& m = of(i);
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
        ++stat[M_DATA_READS];
        if (m.issued == m.bytes) read_q.pop_front();
        return true;
    }

    void data_read(ReadOp& o) {
        Cmd& m = of(o.cmd);
        if (!live(o.cmd)) return;
        m.got += o.len;
        if (o.bad) m.failed = true, m.status = STATUS_TRANSFER;
        // a failed one ends when nothing of it is outstanding
        if (m.failed && m.got == m.issued) return finish(o.cmd, m.status);
        if (m.got < m.bytes) return;
        if (m.admin) return finish(o.cmd, 0);
        if (m.opc == 0x09) return at_later(o.cmd, now, DB_LAT_OTHER);
        const u64 latency = media.draw(DB_LAT_WRITE), free = media.write(now, m.bytes);
        at(std::max(now + latency, free), T_DONE, o.cmd);
    }

    bool next_data_write() {
        const u32 i = write_q.front();
        Cmd& m = of(i);
        if (!live(i)) return write_q.pop_front(), true;
        if (!port->room(false)) return false;
        u64 left;
        const u64 addr = place(m, m.issued, left);
        const u32 mps = pci.mps();
        const u32 n = u32(std::min<u64>(left, mps - (addr & (mps - 1))));
        const u8* src = m.admin ? m.buf.data() : media.mem + (m.lba << c.lba_shift);
        if (m.damage && m.issued + n == m.bytes) {
            u8 wrong[PAGE];
            for (u32 k = 0; k < n; ++k) wrong[k] = u8(~src[m.issued + k]);
            port->damage_next();
            port->write(addr, wrong, n);
            m.damage = false;
        } else {
            port->write(addr, src + m.issued, n);
        }
        m.issued += n;
        ++stat[M_DATA_WRITES];
        if (m.issued == m.bytes) {
            write_q.pop_front();
            smart.units_read += m.admin ? 0 : m.bytes / 512;
            smart.reads += !m.admin;
            finish(i, 0);
        }
        return true;
    }

    // What a command does when its time has come.
    void done(u32 i) {
        Cmd& m = of(i);
        const u64 at_byte = m.lba << c.lba_shift;
        if (m.opc == 0x01 && m.bytes) {
            if (!m.failed) std::memcpy(media.mem + at_byte, m.buf.data(), m.bytes);
            smart.units_written += m.bytes / 512;
            ++smart.writes;
        } else if (m.opc == 0x08 && !m.failed) {
            std::memset(media.mem + at_byte, 0, m.blocks << c.lba_shift);
        } else if (m.opc == 0x09 && m.sqe[11] & 4) {
            for (u32 k = 0; k < m.bytes / 16; ++k) {
                u32 n;
                u64 first;
                std::memcpy(&n, &m.buf[k * 16 + 4], 4);
                std::memcpy(&first, &m.buf[k * 16 + 8], 8);
                if (first + n > blocks || first + n < first) {
                    m.failed = true;
                    m.status = 0x80;
                }
            }
            for (u32 k = 0; !m.failed && k < m.bytes / 16; ++k) {
                u32 n;
                u64 first;
                std::memcpy(&n, &m.buf[k * 16 + 4], 4);
                std::memcpy(&first, &m.buf[k * 16 + 8], 8);
                std::memset(media.mem + (first << c.lba_shift), 0, u64(n) << c.lba_shift);
            }
        } else if (m.opc == 0x00 && !m.failed) {
            media.sync();
        }
        finish(i, m.failed ? m.status : 0);
    }

    // ---------------------------------------------------------------- admin commands

    void admin(u32 i) {
        Cmd& m = of(i);
        if (!meet_fault(i)) return;
        if (m.failed) return at_later(i, now, DB_LAT_ADMIN);
        const u32 d10 = m.sqe[10], d11 = m.sqe[11], qid = d10 & 0xffff, size = (d10 >> 16) + 1;
        u32 status = 0;
        switch (m.opc) {
            case 0x00:
                if (!qid || qid >= QUEUES || !sq[qid].on) status = 0x101;
                else delete_sq(qid);
                break;
            case 0x01:
                if (!qid || qid > c.queues || sq[qid].on) status = 0x101;
                else if (size < 2 || size > c.mqes) status = 0x102;
                else if (!(d11 >> 16) || (d11 >> 16) > c.queues || !cq[d11 >> 16].on) status = 0x100;
                else if (!(d11 & 1) || (cc >> 16 & 15) != 6) status = STATUS_INVALID_FIELD;  // contiguous; 64-byte SQEs
                else if (m.sqe[6] & (PAGE - 1)) status = 0x13;
                else {
                    sq[qid] = Sq{};
                    sq[qid].on = true;
                    sq[qid].base = wide(&m.sqe[6]);
                    sq[qid].size = size;
                    sq[qid].cq = d11 >> 16;
                }
                break;
            case 0x04:
                if (!qid || qid >= QUEUES || !cq[qid].on) status = 0x101;
                else {
                    bool used = false;
                    for (const Sq& s : sq) used |= s.on && s.cq == qid && &s != sq;
                    if (used) status = 0x10c;
                    else cq[qid] = Cq{};
                }
                break;
            case 0x05:
                if (!qid || qid > c.queues || cq[qid].on) status = 0x101;
                else if (size < 2 || size > c.mqes) status = 0x102;
                else if (!(d11 & 1) || (cc >> 20 & 15) != 4) status = STATUS_INVALID_FIELD;
                else if (m.sqe[6] & (PAGE - 1)) status = 0x13;
                else {
                    cq[qid] = Cq{};
                    cq[qid].on = true;
                    cq[qid].base = wide(&m.sqe[6]);
                    cq[qid].size = size;
                }
                break;
            case 0x02: return log_page(i);
            case 0x06: return identify(i);
            case 0x08: abort_command(i); break;
            case 0x09: case 0x0a: status = feature(i); break;
            case 0x0c: m.keep = true; return;
            default: status = 0x01;
        }
        m.status = status;
        m.failed = status != 0;
        at_later(i, now, DB_LAT_ADMIN);
    }

    void give(u32 i, u64 bytes) {
        Cmd& m = of(i);
        m.bytes = bytes;
        m.buf.resize(bytes);
        start_data(i);
    }

    void identify(u32 i) {
        Cmd& m = of(i);
        m.buf.assign(PAGE, 0);
        const u32 cns = m.sqe[10] & 0xff, nsid = m.sqe[1];
        u8* p = m.buf.data();
        if (cns == 0) {
            if (nsid == 0 || (nsid > 1 && nsid != ~0u)) return finish(i, 0x0b);
            if (nsid == 1) identify_namespace(p, c, blocks);
        } else if (cns == 1) {
            identify_controller(p, c, pci.vendor, index);
        } else if (cns == 2) {
            if (nsid == 0) put(p, 0, 1, 4);
        } else if (cns == 3) {
            if (nsid != 1) return finish(i, 0x0b);
            put(p, 0, 1 | 8 << 8, 4);  // EUI-64
            put(p, 4, 0x010203 + (u64(index + 1) << 56), 8);
        } else {
            return finish(i, STATUS_INVALID_FIELD);
        }
        give(i, PAGE);
    }

    void log_page(u32 i) {
        Cmd& m = of(i);
        const u32 id = m.sqe[10] & 0xff;
        const u64 bytes = (u64(m.sqe[11] & 0xffff) << 16 | m.sqe[10] >> 16) * 4 + 4;
        if (id < 1 || id > 3) return finish(i, 0x109);
        if (bytes > 1 << 20) return finish(i, STATUS_INVALID_FIELD);
        m.buf.assign(std::max<u64>(bytes, 512), 0);
        if (id == 2) smart.log(m.buf.data(), now / (khz * 3600000));
        if (id == 3) {
            put(m.buf.data(), 0, 1, 1);
            text(m.buf.data(), 8, 8, "1.0");
        }
        give(i, bytes);
    }

    u32 feature(u32 i) {
        Cmd& m = of(i);
        const u32 id = m.sqe[10] & 0xff;
        if (id == 0x07) {
            if (m.opc == 0x09 && ((m.sqe[11] & 0xffff) == 0xffff || m.sqe[11] >> 16 == 0xffff))
                return STATUS_INVALID_FIELD;
            m.dw0 = (c.queues - 1) | (c.queues - 1) << 16;
            return 0;
        }
        // arbitration, power, LBA ranges ... are taken and forgotten
        return id >= 1 && id <= 0x0b ? 0 : STATUS_INVALID_FIELD;
    }

    void abort_command(u32 i) {
        Cmd& m = of(i);
        const u32 sqid = m.sqe[10] & 0xffff, cid = m.sqe[10] >> 16;
        m.dw0 = 1;
        if (!c.abort_ok) return;
        for (u32 k = 0; k < CMDS; ++k) {
            Cmd& v = cmd[k];
            // only one that does nothing at the moment can be taken out without loose ends
            if (!v.on || v.sq != sqid || v.cid != cid || &v == &m || !(v.lost || v.keep)) continue;
            m.dw0 = 0;
            v.lost = v.keep = false;
            finish(v.handle, STATUS_ABORTED);
            return;
        }
    }

    void delete_sq(u32 qid) {
        for (u32 k = 0; k < CMDS; ++k)
            if (cmd[k].on && cmd[k].sq == qid) release(cmd[k].handle);
        for (const Fetch& f : sq[qid].fetches) inflight -= f.count;
        sq[qid] = Sq{};
    }

    // ---------------------------------------------------------------- completions

    void release(u32 i) {
        buffered -= of(i).held;
        of(i).on = false;
        free_cmd.push_back(i & (CMDS - 1));
        --inflight;
    }

    void finish(u32 i, u64 status) {
        Cmd& m = of(i);
        if (status) m.failed = true;
        m.status = m.failed ? u32(status) : 0;
        m.queued = true;
        buffered -= m.held;
        m.held = 0;
        if (m.status >> 8 == 2) ++smart.media_errors;
        if (m.late) {
            const u64 t = now + m.late;
            m.late = 0;
            m.opc = 0x100;  // it has had its effect
            at(t, T_DONE, i);
            return;
        }
        cqe_q.push_back(i);
    }

    bool next_cqe() {
        const u32 i = cqe_q.front();
        Cmd& m = of(i);
        if (!live(i)) return cqe_q.pop_front(), true;
        if (!port->room(false)) return false;
        Cq& k = cq[sq[m.sq].cq];
        cqe_q.pop_front();
        if ((k.tail + 1) % k.size == k.head) {
            k.waiting.push_back(i);
            return true;
        }
        u32 e[4] = {m.dw0, 0, sq[m.sq].head | m.sq << 16, m.cid | u32(k.phase) << 16 | m.status << 17};
        if (m.wrong_phase) {
            m.wrong_phase = false;
            e[3] ^= 1u << 16;
            port->write(k.base + u64(k.tail) * 16, reinterpret_cast<const u8*>(e), 16);
            cqe_q.push_front(i);
            return true;
        }
        if (m.damage) port->damage_next();
        m.damage = false;
        port->write(k.base + u64(k.tail) * 16, reinterpret_cast<const u8*>(e), 16);
        if (++k.tail == k.size) {
            k.tail = 0;
            k.phase = !k.phase;
        }
        ++stat[M_CQES];
        if (m.twice) {
            m.twice = false;
            m.opc = 0x100;  // it has had its effect
            if (m.again) at(now + m.again, T_DONE, i);
            else cqe_q.push_front(i);
            return true;
        }
        release(i);
        return true;
    }

    // ---------------------------------------------------------------- a cycle

    void step() override {
        while (!timers.empty() && timers.top().at <= now) {
            const Event e = timers.top();
            timers.pop();
            if (e.gen != gen) continue;
            switch (e.kind) {
                case T_READY: if (!hung) csts |= 1; break;
                case T_UNREADY: csts &= ~1u; break;
                case T_SHUTDOWN: csts = (csts & ~0xcu) | 8; break;
                case T_MEDIA:
                    if (!live(e.cmd)) break;
                    of(e.cmd).media_done = true;
                    if (!of(e.cmd).queued) ready(e.cmd);
                    break;
                case T_DONE:
                    if (!live(e.cmd)) break;
                    if (of(e.cmd).admin || of(e.cmd).opc == 0x100) finish(e.cmd, of(e.cmd).status);
                    else done(e.cmd);
                    break;
            }
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
        stat[M_STALLS] = media.stalls;
    }

    u64 next_event() const override {
        u64 e = timers.empty() ? NEVER : timers.top().at;
        if (!link_on || hung || gone || !pci.bus_master()) return e;
        if (!write_q.empty() || !cqe_q.empty()) return now;
        if (reads_out >= c.max_reads) return e;
        if (!list_q.empty()) return now;
        if (!read_q.empty()) {
            const Cmd& m = of(read_q.front());
            if (m.issued || !c.write_buffer || !buffered || buffered + m.bytes <= c.write_buffer) return now;
        }
        if (csts & 1 && fetches_out < c.fetches)
            for (const Sq& q : sq)
                if (q.on && q.fetched != q.tail && inflight < c.max_cmds + (&q == sq ? ADMIN_CMDS_LEFT : 0)) return now;
        return e;
    }
};

}  // namespace db
