// SPDX-License-Identifier: Apache-2.0
// The media's bus: an AXI4 slave with latency, bandwidth and channels, and the command port (flush, zero,
// uncorrectable), which has times of its own. Channels interleave every 4 KiB, each with its share of the bandwidth; a
// burst, which never crosses 4 KiB, belongs to one of them. Answers of one id stay in order. If the media has a NAND
// model, that says when reads, writes and flushes are answered, and latency, bandwidth and channels are not used.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "common/ring.h"
#include "interface/db_sim.h"
#include "media/media.h"
#include "media/nand_health.h"
#include "media/nand_port.h"

namespace db {

template <class Top, u32 DATA_W>
class AxiMedia {
    static constexpr u32 BYTES = DATA_W / 8;
    static constexpr u32 READS = 2048;  // bursts: of 512 bytes, 1 MiB
    static constexpr u32 DEPTH = 64;    // and writes
    static constexpr u32 EARLY = 64;    // write beats taken ahead of their address
    static constexpr u32 FRAC = 20;     // bits behind the cycle in a time
    static constexpr u64 PAGE = 4096;   // no burst crosses one
    static constexpr u64 SECTOR = 512;  // a stretch that cannot be read is whole sectors

    enum Op { FLUSH, ZERO, UNCORRECTABLE };  // of the command port: media_op_e of rtl/ssd/db_ssd_pkg.sv

    struct Burst {
        u64 addr, t0;  // t0: time of the first beat (reads) or of the response (writes)
        u32 beats, done;
        u8 resp;
        bool err_range;
        bool fua = false;             // reads: what is not durable of it is made so first
        u32 waits = 0;                // reads: answers of the NAND model that are still to come
        u32 holes = 0;                // a bit a sector of the page: a byte of it has not come
        std::vector<u8> before = {};  // reads: all bytes, as they were when a command changed some of them
    };

    Top& top;
    Media& media;
    Counters<MediaCount>& count;
    u64 rd_lat = 0, wr_lat = 0, flush_lat = 0, beat_ticks = 0;
    u64 zero_kbps = 0, clock_khz = 0;
    u32 channels = 1;
    bool interleave = false;
    std::vector<u64> ch_free;

    Ring<Burst, READS> rd[2];
    Ring<Burst, DEPTH> wr[2];
    Ring<u8, DEPTH * 2> wr_order;  // ids in address order, for bursts whose data is still to come
    u32 rd_n = 0, wr_n = 0;        // bursts inside
    u32 fill[2] = {0, 0};          // per id: index of the burst that takes data next
    u32 early_n = 0;
    u8 early[EARLY][BYTES];
    u64 early_strb[EARLY];
    bool early_last[EARLY];
    u8 staged[PAGE];  // data of the burst that takes it now
    u32 last_id = 0, last_bid = 0;
    bool cmd_busy = false, cmd_err = false;
    u64 cmd_at = 0;
    NandPort nand;
    NandHealth<Top> health;
    // what of the outputs stood there unanswered in the last cycle
    struct {
        bool aw, w, ar, cmd;
        u64 aw_addr, ar_addr, cmd_addr;
        u32 aw_len, ar_len;
        u32 w_data[DATA_W / 32];
    } held = {};
    // what happens at the coming edge
    bool ar_fired = false, r_done = false, b_done = false, cmd_fired = false;
    Burst ar = {};
    u32 ar_id = 0, ar_size = 0, ar_type = 0;
    bool dirty = false;  // something has been written since the last flush
    u32 cmd_op = 0;
    u64 cmd_addr = 0, cmd_bytes = 0;

    u64 occupy(u64 now, u64 addr, u32 beats) {  // start of the burst on its channel
        u64& f = ch_free[channels == 1 ? 0 : (addr >> 12) % channels];
        const u64 t = now << FRAC;
        if (f < t) f = t;
        const u64 start = f;
        f += beats * beat_ticks;
        return start;
    }

    bool good_burst(u64 addr, u32 beats, u32 sz, u32 type) {
        const u32 bytes = beats * BYTES;
        if ((addr & (BYTES - 1)) || (addr >> 12) != ((addr + bytes - 1) >> 12) || (1u << sz) != BYTES || type != 1) {
            ++count[MediaCount::BAD_BURST];
            return false;
        }
        if (!media.inside(addr, bytes)) {
            ++count[MediaCount::OUT_OF_RANGE];
            return false;
        }
        return true;
    }

    // A row of the burst that takes data now. It reaches the media with the whole burst, so that a block is written or
    // not, whatever ends this process.
    void store(Burst& b, const u8* data, u64 strb, bool last) {
        if (b.resp == 0) {
            u8* row = staged + b.done * BYTES;
            const u64 at = b.addr + u64(b.done) * BYTES;
            if (strb == ones(BYTES)) {
                std::memcpy(row, data, BYTES);
            } else {
                if (!media.load(row, at, BYTES)) b.resp = 2;
                for (u32 i = 0; i < BYTES; ++i)
                    if (strb >> i & 1) row[i] = data[i];
                b.holes |= 1u << (at % PAGE / SECTOR);
            }
        }
        ++b.done;
        ++count[MediaCount::WRITE_BEATS];
        if (last != (b.done == b.beats)) ++count[MediaCount::BAD_LAST];
        if (b.done == b.beats && b.resp == 0) commit(b);
    }

    void commit(Burst& b) {
        dirty = true;
        const u64 end = b.addr + u64(b.beats) * BYTES;
        if (!media.save(b.addr, staged, end - b.addr)) {
            b.resp = 2;
            return;
        }
        if (media.unreadable.empty()) return;
        // A sector that has been written whole can be read again.
        for (u64 sector = b.addr / SECTOR; (sector + 1) * SECTOR <= end; ++sector)
            if (!(b.holes >> (sector * SECTOR % PAGE / SECTOR) & 1)) media.written(sector * SECTOR, SECTOR);
    }

    void take_w(u64 now, const u8* data, u64 strb, bool last) {
        const u32 id = wr_order.front();
        Burst& b = wr[id].at(fill[id]);
        store(b, data, strb, last);
        if (b.done == b.beats) {
            const u64 start = occupy(now, b.addr, b.beats);
            b.t0 = start + b.beats * beat_ticks + (wr_lat << FRAC);
            if (nand.there() && b.resp == 0) {
                b.t0 = NEVER;
                nand.write(now, id, fill[id], b.addr, b.beats * BYTES);
            }
            ++fill[id];
            wr_order.pop();
        }
    }

    void drive_r(u64 now, bool stall) {
        if (r_done) {
            Ring<Burst, READS>& q = rd[last_id];
            Burst& b = q.front();
            if (++b.done == b.beats) {
                q.pop();
                --rd_n;
            }
        }
        if (rd_n && !stall) {
            const u64 t = (now << FRAC) | ((1u << FRAC) - 1);
            for (u32 k = 0; k < 2; ++k) {
                const u32 id = last_id ^ k ^ (interleave ? 1 : 0);
                Ring<Burst, READS>& q = rd[id];
                if (q.empty()) continue;
                Burst& b = q.front();
                if (b.t0 + b.done * beat_ticks > t) continue;
                last_id = id;
                const u64 a = b.addr + u64(b.done) * BYTES;
                u8 resp = b.resp;
                if (resp == 0) {
                    u8* row = reinterpret_cast<u8*>(&top.m_axi_rdata);
                    bool good = true;
                    if (b.before.empty()) good = media.load(row, a, BYTES);
                    else std::memcpy(row, b.before.data() + b.done * BYTES, BYTES);
                    if (b.err_range || !good) resp = 2;
                }
                top.m_axi_rvalid = 1;
                top.m_axi_rid = id;
                top.m_axi_rresp = resp;
                top.m_axi_rlast = b.done + 1 == b.beats;
                ++count[MediaCount::READ_BEATS];
                return;
            }
        }
        top.m_axi_rvalid = 0;
    }

    void drive_b(u64 now, bool stall) {
        if (b_done) --wr_n;
        if (wr_n && !stall) {
            const u64 t = (now << FRAC) | ((1u << FRAC) - 1);
            for (u32 k = 1; k <= 2; ++k) {
                const u32 id = (last_bid + k) & 1;
                Ring<Burst, DEPTH>& q = wr[id];
                if (q.head == fill[id] || q.front().t0 > t) continue;
                last_bid = id;
                top.m_axi_bvalid = 1;
                top.m_axi_bid = id;
                top.m_axi_bresp = q.front().resp;
                q.pop();
                return;
            }
        }
        top.m_axi_bvalid = 0;
    }

    void sample_aw() {
        if (top.m_axi_awvalid) {
            const u64 a = top.m_axi_awaddr;
            const u32 len = top.m_axi_awlen;
            if (held.aw && (a != held.aw_addr || len != held.aw_len)) ++count[MediaCount::UNSTABLE];
            held.aw = !top.m_axi_awready;
            if (held.aw) {
                held.aw_addr = a;
                held.aw_len = len;
            } else {
                const u32 id = top.m_axi_awid & 1;
                const bool good = good_burst(a, len + 1, top.m_axi_awsize, top.m_axi_awburst);
                u8 resp = good ? 0 : 3;
                if (good && media.meets_error(a, (len + 1) * BYTES)) resp = 2;
                wr[id].push(Burst{a, NEVER, len + 1, 0, resp, false});
                wr_order.push(u8(id));
                ++wr_n;
                ++count[MediaCount::WRITE_BURSTS];
            }
        } else if (held.aw) {
            ++count[MediaCount::UNSTABLE];
            held.aw = false;
        }
    }

    void sample_ar() {
        if (top.m_axi_arvalid) {
            const u64 a = top.m_axi_araddr;
            const u32 len = top.m_axi_arlen;
            if (held.ar && (a != held.ar_addr || len != held.ar_len)) ++count[MediaCount::UNSTABLE];
            held.ar = !top.m_axi_arready;
            if (held.ar) {
                held.ar_addr = a;
                held.ar_len = len;
            } else {
                // read here, used after the edge
                ar_fired = true;
                ar = {a, 0, len + 1, 0, 0, false, top.m_axi_aruser != 0};
                ar_id = top.m_axi_arid & 1;
                ar_size = top.m_axi_arsize;
                ar_type = top.m_axi_arburst;
            }
        } else if (held.ar) {
            ++count[MediaCount::UNSTABLE];
            held.ar = false;
        }
    }

    void sample_w() {
        if (top.m_axi_wvalid) {
            if (held.w && std::memcmp(held.w_data, &top.m_axi_wdata, BYTES)) ++count[MediaCount::UNSTABLE];
            held.w = !top.m_axi_wready;
            if (held.w) {
                std::memcpy(held.w_data, &top.m_axi_wdata, BYTES);
            } else {
                std::memcpy(early[early_n], &top.m_axi_wdata, BYTES);
                early_strb[early_n] = top.m_axi_wstrb;
                early_last[early_n] = top.m_axi_wlast;
                ++early_n;
            }
        } else if (held.w) {
            ++count[MediaCount::UNSTABLE];
            held.w = false;
        }
    }

    void sample_command() {
        if (top.m_media_cmd_valid) {
            const u64 a = top.m_media_cmd_addr;
            if (held.cmd && a != held.cmd_addr) ++count[MediaCount::UNSTABLE];
            held.cmd = !top.m_media_cmd_ready;
            held.cmd_addr = a;
            if (!held.cmd) {
                cmd_fired = true;
                cmd_op = top.m_media_cmd_op;
                cmd_addr = a;
                cmd_bytes = top.m_media_cmd_bytes;
            }
        }
    }

    u64 zero_cycles(u64 bytes) const {
        if (!zero_kbps) return 0;
        return u64(((unsigned __int128)bytes * clock_khz + zero_kbps - 1) / zero_kbps);
    }

    void take_answers(u64 now) {
        nand.take(now, [&](NandPort::Asked what, u32 id, u32 index) {
            switch (what) {
                case NandPort::READ:
                    if (--rd[id].at(index).waits == 0) rd[id].at(index).t0 = now << FRAC;
                    break;
                case NandPort::WRITE: wr[id].at(index).t0 = now << FRAC; break;
                default: cmd_at = now;
            }
        });
    }

    void ask_read(u64 now) {
        const u32 index = rd[ar_id].tail;
        ar.t0 = NEVER;
        ar.waits = ar.fua ? 2 : 1;
        nand.read(now, ar_id, index, ar.addr, ar.beats * BYTES);
        if (ar.fua) nand.flush(now, NandPort::READ, ar_id, index);
    }

    // The data that came ahead of its address.
    void take_early(u64 now) {
        u32 k = 0;
        while (k < early_n && !wr_order.empty()) {
            take_w(now, early[k], early_strb[k], early_last[k]);
            ++k;
        }
        if (k && k < early_n) {
            for (u32 i = k; i < early_n; ++i) {
                std::memcpy(early[i - k], early[i], BYTES);
                early_strb[i - k] = early_strb[i];
                early_last[i - k] = early_last[i];
            }
        }
        early_n -= k;
    }

    void take_ar(u64 now) {
        ar_fired = false;
        if (!good_burst(ar.addr, ar.beats, ar_size, ar_type)) ar.resp = 3;
        else ar.err_range = media.meets_error(ar.addr, ar.beats * BYTES) || !media.readable(ar.addr, ar.beats * BYTES);
        ar.t0 = occupy(now, ar.addr, ar.beats) + (rd_lat << FRAC) + beat_ticks;
        if (ar.fua && dirty) {
            if (!flush()) ar.err_range = true;
            ar.t0 += flush_lat << FRAC;
        }
        if (nand.there() && ar.resp == 0) ask_read(now);
        rd[ar_id].push(ar);
        ++rd_n;
        ++count[MediaCount::READ_BURSTS];
    }

    /// Everything written so far is made durable; false: it could not be.
    bool flush() {
        ++count[MediaCount::FLUSHES];
        dirty = media.store.sync() != 0;
        return !dirty;
    }

    /// A burst under way answers as before a command that changes these bytes.
    void keep_for_reads(u64 addr, u64 bytes) {
        for (auto& queue : rd) {
            for (u32 i = queue.head; i != queue.tail; ++i) {
                Burst& b = queue.at(i);
                const u64 size = u64(b.beats) * BYTES;
                if (b.resp || !b.before.empty() || b.addr >= addr + bytes || addr >= b.addr + size) continue;
                b.before.resize(size);
                if (!media.load(b.before.data(), b.addr, size)) b.resp = 2;
            }
        }
    }

    void take_command(u64 now) {
        cmd_fired = false;
        // one at a time, after the B of every write
        if (cmd_busy || wr_n || early_n) ++count[MediaCount::BAD_COMMAND];
        cmd_busy = true;
        cmd_at = now + wr_lat;
        switch (cmd_op) {
            case FLUSH:
                cmd_err = !flush();
                cmd_at = now + flush_lat;
                if (nand.there()) {
                    cmd_at = NEVER;
                    nand.flush(now, NandPort::COMMAND, 0, 0);
                }
                break;
            case ZERO:
                keep_for_reads(cmd_addr, cmd_bytes);
                dirty = true;
                count[MediaCount::OUT_OF_RANGE] += cmd_addr < media.begin;
                cmd_err = !media.zero(cmd_addr, cmd_bytes) || media.meets_error(cmd_addr, cmd_bytes);
                media.written(cmd_addr, cmd_bytes);
                if (nand.there() && !cmd_err) nand.trim(now, cmd_addr, cmd_bytes);
                cmd_at += zero_cycles(cmd_bytes);
                ++count[MediaCount::ZEROES];
                break;
            case UNCORRECTABLE:
                cmd_err = !media.mark(cmd_addr, cmd_bytes) || media.meets_error(cmd_addr, cmd_bytes);
                break;
            default: ++count[MediaCount::BAD_COMMAND];
        }
    }

  public:
    AxiMedia(Top& t, Media& m, const db_config& c)
        : top(t), media(m), count(m.count), nand(m, c.clock_khz), health(t, m) {
        rd_lat = ns_to_cycles(c.media_latency_ns, c.clock_khz);
        wr_lat = ns_to_cycles(c.media_write_latency_ns, c.clock_khz);
        flush_lat = ns_to_cycles(c.media_flush_latency_ns, c.clock_khz);
        zero_kbps = c.media_zero_kbps;
        clock_khz = c.clock_khz;
        channels = c.media_channels ? c.media_channels : 1;
        interleave = c.media_interleave != 0;
        ch_free.assign(channels, 0);
        // beat_ticks: cycles of 2^-FRAC that one channel needs for a beat
        if (c.media_mbps) beat_ticks = (u64(BYTES) * c.clock_khz * channels << FRAC) / (u64(c.media_mbps) * 1000);
    }

    void reset() {
        for (int i = 0; i < 2; ++i) rd[i].clear(), wr[i].clear(), fill[i] = 0;
        wr_order.clear();
        rd_n = wr_n = early_n = 0;
        cmd_busy = false;
        nand.forget();
        health.reset();
        held = {};
        top.m_axi_rvalid = 0;
        top.m_axi_bvalid = 0;
        top.s_media_rsp_valid = 0;
        top.m_axi_awready = top.m_axi_wready = top.m_axi_arready = top.m_media_cmd_ready = 0;
    }

    /// Outputs of the core in the cycle that ends now, before the clock edge. True if something moves.
    bool sample() {
        sample_aw();
        sample_ar();
        sample_w();
        sample_command();
        health.sample();
        r_done = top.m_axi_rvalid && top.m_axi_rready;
        b_done = top.m_axi_bvalid && top.m_axi_bready;
        return top.m_axi_rvalid | top.m_axi_bvalid | top.s_media_rsp_valid | top.m_axi_awvalid | top.m_axi_wvalid |
               top.m_axi_arvalid | top.m_media_cmd_valid | top.s_media_warning;
    }

    /// After the clock edge; `now` is the cycle that begins. stall: bits to hold AW, W, AR, R, B back in this cycle.
    void update(u64 now, u32 stall) {
        if (now >= nand.next()) take_answers(now);
        if (early_n) take_early(now);
        if (ar_fired) take_ar(now);
        top.m_axi_awready = wr_n < DEPTH && !(stall & 1);
        top.m_axi_wready = early_n < EARLY - 1 && !(stall & 2);
        top.m_axi_arready = rd_n < READS && !(stall & 4);
        if (beat_ticks && early_n == 0 && !wr_order.empty()) {
            // a channel takes data up to 16 KiB ahead of what it has written
            const u64 a = wr[wr_order.front()].at(fill[wr_order.front()]).addr;
            const u64 f = ch_free[channels == 1 ? 0 : (a >> 12) % channels];
            if (f > ((now << FRAC) + (16384 / BYTES) * beat_ticks)) top.m_axi_wready = 0;
        }
        if (r_done || (!top.m_axi_rvalid && rd_n)) drive_r(now, stall & 8);
        if (b_done || (!top.m_axi_bvalid && wr_n)) drive_b(now, stall & 16);
        r_done = b_done = false;
        if (cmd_fired) take_command(now);
        if (top.s_media_rsp_valid) top.s_media_rsp_valid = 0;
        if (cmd_busy && now >= cmd_at) {
            top.s_media_rsp_valid = 1;
            top.s_media_rsp_err = cmd_err;
            cmd_busy = false;
        }
        top.m_media_cmd_ready = !cmd_busy;
        health.update();
    }

    /// First cycle in which something will happen without the core doing anything; `now` if that is at once.
    u64 next_event(u64 now) const {
        if (top.m_axi_rvalid || top.m_axi_bvalid || top.s_media_rsp_valid || top.s_media_warning || early_n) return now;
        u64 e = NEVER;
        for (int i = 0; i < 2; ++i) {
            if (rd[i].head != rd[i].tail) {
                const Burst& b = rd[i].front();
                if (b.t0 != NEVER) e = std::min(e, (b.t0 + b.done * beat_ticks) >> FRAC);
            }
            if (wr[i].head != fill[i] && wr[i].front().t0 != NEVER) e = std::min(e, wr[i].front().t0 >> FRAC);
        }
        if (cmd_busy) e = std::min(e, cmd_at);
        e = std::min(e, nand.next());
        return e < now ? now : e;
    }
};

}  // namespace db
