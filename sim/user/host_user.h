// SPDX-License-Identifier: Apache-2.0
// The user's side of db_host: block commands, write and read data, statuses, registers, admin pass-through, raw
// register access, forwarded writes. No input depends on an output of the same cycle.
#pragma once

#include <cstring>

#include "common/ports.h"
#include "user/axil_access.h"

namespace db {

template <class Top, u32 DATA_W>
struct HostUser final : UserState {
    static constexpr bool RECORDER = false;
    static constexpr u32 ROW = DATA_W / 8;

    Top& top;
    u64 packet_bytes = 0;
    bool packet_error = false, up_was = false;
    bool cmd_on = false, w_on = false, rready = false, sready = false, fready = false;
    struct {
        bool on;
        u32 data[DATA_W / 32];
        u8 side;
    } r_held = {};
    struct {
        bool on;
        u64 data;
    } s_held = {};

    HostUser(Top& t, const db_host_config& c) : UserState(c, ROW, ROW), top(t) {}

    void clear() {
        UserState::clear();
        packet_bytes = 0;
        packet_error = false;
        cmd_on = w_on = rready = sready = fready = false;
        r_held = {};
        s_held = {};
        top.s_axis_cmd_tvalid = top.s_axis_wdata_tvalid = 0;
        top.m_axis_rdata_tready = top.m_axis_status_tready = 0;
        update_axil(top, axil);
        top.s_adm_valid = top.m_adm_ready = top.s_reg_valid = top.m_fwd_ready = 0;
        up_was = false;
    }

    // Before the edge. True if something moves.
    bool sample(u64 cycle) {
        bool busy = false;
        if (cmd_on) {
            busy = true;
            if (top.s_axis_cmd_tready) {
                cmds.pop_front();
                cmd_on = false;
                ++count[UserCount::CMDS];
            } else {
                ++count[UserCount::CMD_STALL];
            }
        }
        if (w_on) {
            if (top.s_axis_wdata_tready) {
                busy = true;
                w_on = false;
                used(ROW);
            } else {
                ++count[UserCount::WDATA_STALL];
            }
        }
        if (top.m_axis_rdata_tvalid) {
            busy = true;
            rdata(cycle);
        } else {
            if (r_held.on) ++count[UserCount::RDATA_UNSTABLE];
            r_held.on = false;
        }
        busy |= sample_status(cycle);
        busy |= sample_axil(top, axil, events);
        busy |= sample_side(cycle);
        if (top.stat_doorbell) ++count[UserCount::STAT_DOORBELLS];
        if (top.stat_cqe) ++count[UserCount::STAT_CQES];
        const bool is_up = top.up;
        if (is_up != up_was) events |= DB_HSTOP_UP;
        up_was = is_up;
        return busy;
    }

    bool sample_status(u64 cycle) {
        if (!top.m_axis_status_tvalid) {
            if (s_held.on) ++count[UserCount::STATUS_UNSTABLE];
            s_held.on = false;
            return false;
        }
        u32 w[2];
        get_words(top.m_axis_status_tdata, w);
        const u64 v = (u64(w[1]) << 32) | w[0];
        if (s_held.on && s_held.data != v) ++count[UserCount::STATUS_UNSTABLE];
        s_held.on = !sready;
        s_held.data = v;
        if (sready) {
            statuses.push_back(db_block_status{cycle, w[0], u16(w[1]), u16(w[1] >> 16 & 0x7fff)});
            ++count[UserCount::STATUSES];
            events |= DB_HSTOP_STATUS;
        }
        return true;
    }

    void rdata(u64 cycle) {
        u32 data[DATA_W / 32];
        get_words(top.m_axis_rdata_tdata, data);
        const u8 side = u8(top.m_axis_rdata_tlast | top.m_axis_rdata_tuser << 1);
        if (r_held.on && (std::memcmp(r_held.data, data, ROW) || r_held.side != side))
            ++count[UserCount::RDATA_UNSTABLE];
        r_held.on = !rready;
        std::memcpy(r_held.data, data, ROW);
        r_held.side = side;
        if (!rready) {
            ++count[UserCount::RDATA_STALL];
            return;
        }
        ++count[UserCount::RDATA_BEATS];
        rd.took();
        if (rbuf_len) std::memcpy(rbuf + rbytes % rbuf_len, data, ROW);
        rbytes += ROW;
        packet_bytes += ROW;
        packet_error |= side >> 1 & 1;
        if (side & 1) {
            ends.push_back(db_rdata_end{cycle, packet_bytes, packet_error, 0});
            packet_bytes = 0;
            packet_error = false;
            events |= DB_HSTOP_DATA;
        }
    }

    bool sample_side(u64 cycle) {
        bool busy = sample_admin();
        busy |= sample_reg();
        if (top.m_fwd_valid) {
            busy = true;
            if (fready) forwarded(cycle);
        }
        return busy;
    }

    bool sample_admin() {
        bool busy = false;
        if (adm.state == Access::ASKED) {
            if (top.s_adm_valid && top.s_adm_ready) {
                ++adm.sent;
                busy = true;
            }
            if (top.m_adm_valid && top.m_adm_ready && adm.sent == SQE_DW) {
                get_words(top.m_adm_cqe, adm.cqe);
                adm.timeout = top.m_adm_timeout;
                adm.state = Access::ANSWERED;
                events |= DB_HSTOP_ANSWER;
                busy = true;
            }
            busy |= adm.sent < SQE_DW;
        }
        return busy;
    }

    bool sample_reg() {
        bool busy = false;
        if (reg.state == Access::ASKED) {
            if (top.s_reg_valid && top.s_reg_ready) reg.a_done = busy = true;
            if (top.m_reg_valid && reg.a_done) {
                reg.data = top.m_reg_rdata;
                reg.resp = top.m_reg_status;
                reg.state = Access::ANSWERED;
                events |= DB_HSTOP_ANSWER;
                busy = true;
            }
            busy |= !reg.a_done;
        }
        return busy;
    }

    void forwarded(u64 cycle) {
        db_fwd f{};
        u32 data[16] = {}, be[2] = {};
        get_words(top.m_fwd_data, data);
        get_words(top.m_fwd_be, be);
        f.cycle = cycle;
        f.addr = top.m_fwd_addr;
        f.be = be[0] | (ROW == 64 ? u64(be[1]) << 32 : 0);
        f.bytes = ROW;
        std::memcpy(f.data, data, ROW);
        fwd.push_back(f);
        ++count[UserCount::FORWARDED];
        events |= DB_HSTOP_FORWARD;
    }

    // Between two edges.
    void update() {
        wr.tick();
        rd.tick();
        if (!cmd_on && !cmds.empty()) {
            const db_block_cmd& c = cmds.front();
            const u32 w[4] = {u32(c.lba), u32(c.lba >> 32), c.blocks, u32(c.tag) | u32(c.op & 15) << 16};
            put_words(top.s_axis_cmd_tdata, w);
            cmd_on = true;
        }
        top.s_axis_cmd_tvalid = cmd_on;
        if (!w_on && !wbufs.empty() && wr.ready(rng)) {
            const Buffer& b = wbufs.front();
            u32 w[DATA_W / 32];
            std::memcpy(w, b.p + b.at, ROW);
            put_words(top.s_axis_wdata_tdata, w);
            w_on = true;
        }
        top.s_axis_wdata_tvalid = w_on;
        rready = rd.ready(rng);
        sready = !(rd.pause && rng.below(100) < rd.pause);
        fready = !fwd_stall;
        top.m_axis_rdata_tready = rready;
        top.m_axis_status_tready = sready;
        top.m_fwd_ready = fready;
        update_axil(top, axil);
        top.s_adm_valid = adm.state == Access::ASKED && adm.sent < SQE_DW;
        if (top.s_adm_valid) top.s_adm_data = adm.sqe[adm.sent];
        top.m_adm_ready = 1;
        top.s_reg_valid = reg.state == Access::ASKED && !reg.a_done;
        if (top.s_reg_valid) {
            top.s_reg_write = reg.write;
            top.s_reg_addr = reg.addr;
            top.s_reg_wdata = reg.data;
        }
    }

    // The next cycle in which it would do something to a top that is idle.
    u64 next_event(u64 cycle) const {
        if (cmd_on || !cmds.empty() || axil.state == Access::ASKED || top.s_adm_valid || top.s_reg_valid) return cycle;
        if (w_on || wbufs.empty()) return NEVER;  // a beat that waits for room wakes nobody
        return cycle + wr.wait();
    }
};

}  // namespace db
