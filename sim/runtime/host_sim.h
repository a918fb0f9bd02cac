// SPDX-License-Identifier: Apache-2.0
// The loop of a simulated host: root ports with links and drives around one Verilated top, its user's side, and what
// turns its clock.
#pragma once

#include <algorithm>

#include "pcie/root_port.h"
#include "runtime/host.h"
#include "runtime/model.h"

namespace db {

template <class Top, u32 DATA_W, u32 PORTS, class User>
class HostSim final : public db_host_sim {
    using Port = RootPort<Top, DATA_W, PORTS>;
    Model<Top> model;
    Top& top = model.top;
    User user_side;
    Port* root_port[PORTS];  // those of `ports`
    u64 next_poll = 0;

    void poll() {
        next_poll = cycle + POLL_CYCLES;
        if (model.failed()) {
            ++count[SimCount::RTL_ERRORS];
            events |= DB_HSTOP_RTL;
        }
    }

    void step() {
        model.low();
        model.dump(cycle * 2);
        bool busy = !top.idle;
        for (u32 i = 0; i < PORTS; ++i)
            if (!in_reset(i)) busy |= root_port[i]->sample();
        busy |= user_side.sample(cycle);
        model.high();
        model.dump(cycle * 2 + 1);
        ++cycle;
        quiet = busy ? 0 : quiet + 1;
        if (cycle >= next_poll) poll();
        for (Port* p : root_port) p->update(cycle);
        if constexpr (User::RECORDER)
            if (top.drive_rst != user_side.rst_was) reset_pins();
        user_side.update();
        events |= user_side.events;
        user_side.events = 0;
    }

    // A recorder's drive_rst resets a host, its hard block and the drive: no link, and what was begun is forgotten.
    void reset_pins() {
        const u32 now = u32(top.drive_rst), phy = ~now & u32(ones(PORTS));
        for (u32 i = 0; i < PORTS; ++i) {
            const bool in = now >> i & 1;
            if (in == in_reset(i)) continue;
            ports[i]->set_link(!in && port_cfg[i].link_up);
            if (in) ports[i]->clear();
        }
        put_lane(top.phy_ready, 0, PORTS, &phy);
        user_side.rst_was = now;
    }
    bool in_reset(u32 i) const {
        if constexpr (User::RECORDER) return user_side.rst_was >> i & 1;
        (void)i;
        return false;
    }

    u64 next_event() const {
        u64 e = user_side.next_event(cycle);
        for (const Port* p : root_port) e = std::min(e, std::max(p->next_event(), cycle));
        return e;
    }

    // Jumps to the step before the next event. True: the run is over, nothing is to be expected.
    bool skip(u64 end, u32 stop) {
        const u64 e = next_event();
        if (e == NEVER && (stop & DB_HSTOP_IDLE)) return true;
        const u64 to = std::min(e, end);
        if (to > cycle + 1 && cfg.idle_skip) {
            const u64 n = to - 1 - cycle;
            count[SimCount::SKIPPED_CYCLES] += n;
            cycle += n;
            user_side.skipped(n);
        }
        return false;
    }

  public:
    HostSim(const db_host_config& c, const db_host_port* p) : db_host_sim(c, p, PORTS), user_side(top, c) {
        for (u32 i = 0; i < PORTS; ++i) {
            auto port = std::make_unique<Port>(top, i, port_cfg[i], cfg);
            root_port[i] = port.get();
            ports.push_back(std::move(port));
        }
    }

    UserState& user() override { return user_side; }
    const UserState& user() const override { return user_side; }
    RecorderState* recorder() override {
        if constexpr (User::RECORDER) return &user_side;
        return nullptr;
    }

    void reset(bool with_drives) override {
        for (u32 i = 0; i < PORTS; ++i) {
            ports[i]->clear();
            const u64 window = cfg.window_base + i * cfg.window_step, bar = cfg.bar_base + i * cfg.bar_step;
            const u32 w[2] = {u32(window), u32(window >> 32)}, b[2] = {u32(bar), u32(bar >> 32)};
            put_lane(top.window_base, i, 64, w);
            put_lane(top.bar_base, i, 64, b);
            put_lane(top.cfg_mps_cap, i, 3, &port_cfg[i].mps_cap_code);
            put_bit(top.link_up, i, false);
            // the hard block is reset with the core: the drive sees its link go and come back
            const bool was = ports[i]->is_up;
            ports[i]->cycle = drives[i]->now = cycle;
            if (was) ports[i]->set_link(false);
            if (with_drives) drives[i]->reset();
        }
        user_side.clear();
        top.rst = 1;
        for (u32 i = 0; i < RESET_CYCLES; ++i) {
            model.low();
            model.high();
            ++cycle;
        }
        top.rst = 0;
        for (u32 i = 0; i < PORTS; ++i) {
            drives[i]->now = cycle;
            ports[i]->set_link(port_cfg[i].link_up);
            ports[i]->update(cycle);
        }
        user_side.update();
        quiet = events = 0;
    }

    int run(u64 cycles, u32 stop) override {
        const u64 end = cycle + cycles;
        const User& u = user_side;
        events = (u.statuses.empty() ? 0 : DB_HSTOP_STATUS) | (u.ends.empty() ? 0 : DB_HSTOP_DATA) |
                 (u.fwd.empty() ? 0 : DB_HSTOP_FORWARD) | (u.answered() ? DB_HSTOP_ANSWER : 0) |
                 (messages() ? DB_HSTOP_MESSAGE : 0);
        const u32 mask = stop | DB_HSTOP_RTL;
        if (events & mask) return int(events & mask);
        while (cycle < end) {
            if (quiet >= IDLE_CYCLES && (cfg.idle_skip || (stop & DB_HSTOP_IDLE)) && skip(end, stop))
                return DB_HSTOP_IDLE;
            step();
            if ((stop & DB_HSTOP_MESSAGE) && messages()) events |= DB_HSTOP_MESSAGE;
            if (events & mask) break;
        }
        return int(events & mask);
    }

    u64 signal(u32 which) const override {
        switch (which) {
            case DB_SIG_UP: return top.up;
            case DB_SIG_DEAD: return top.dead;
            default: break;
        }
        if constexpr (User::RECORDER) {
            if (which == DB_SIG_ENABLED) return top.data_enabled_out;
        } else {
            if (which == DB_SIG_BLOCKS) return top.blocks;
            if (which == DB_SIG_LBA_SHIFT) return top.lba_shift;
        }
        return 0;
    }
    bool idle() const override { return top.idle && quiet >= IDLE_CYCLES && next_event() == NEVER; }
    int coverage(const char* path) override { return model.coverage(path); }
    int trace(const char* path) override { return model.trace(path); }
};

}  // namespace db
