// SPDX-License-Identifier: Apache-2.0
// The loop of a simulated device: settle the top with this cycle's inputs, sample every handshake, raise the clock, let
// the world act, set the inputs of the next cycle. Nothing in step() allocates or looks into a map, but for DMA to
// regions without memory, which is the caller's slow path.
#pragma once

#include <algorithm>

#include "media/axi_media.h"
#include "media/card_memory.h"
#include "media/configuration_port.h"
#include "pcie/endpoint.h"
#include "runtime/device.h"
#include "runtime/event_sampler.h"
#include "runtime/model.h"
#include "runtime/stalls.h"
#include "runtime/stillness.h"

namespace db {

/// NUM_SSD: SSDs beside it, whose ports the top has. CMB_LOG2: of a region of card memory, 0: none. Stats: has sample(top, cycle), called before each edge.
template <class Top, u32 DATA_W, bool STRADDLE, bool CQ_CC_STRADDLE, u32 NUM_SSD, u32 CMB_LOG2, class Stats>
class DeviceSim final : public db_sim {
    // random pauses of the media's AXI channels: AW, W, AR, R, B
    static constexpr u32 MEDIA_STALLS = 5;

    EndpointContext& x = context;
    Model<Top> model;
    Top& top = model.top;
    Endpoint<Top, DATA_W, STRADDLE, CQ_CC_STRADDLE> endpoint;
    AxiMedia<Top, DATA_W> axi;
    CardMemory<Top, DATA_W, CMB_LOG2> card_axi;
    ConfigurationPort<Top> port;
    Stats stats;
    Stalls<Top> waits;
    Stillness stillness{model.state(), model.state_bytes()};
    u64 next_poll = 0;
    bool moves = false;  // something at the ports, in the last cycle
    u32 ssds_shown = 0;  // bits: those that the top is told of

    void poll() {
        next_poll = x.cycle + POLL_CYCLES;
        host.mmio.look_at_pages();
        host.mmio.expire();
        if (model.failed()) {
            ++count.sim[SimCount::RTL_ERRORS];
            x.events |= DB_STOP_RTL;
        }
    }

    // What happens at the coming edge: if something moves, or the core is told something that may wake it.
    void sample() {
        moves = endpoint.sample();
        moves |= axi.sample();
        moves |= card_axi.sample(x.cycle);
        moves |= port.sample();
        flr_acknowledged |= top.cfg_flr_done;
        if (bool(top.cfg_intx) != intx) {
            intx = top.cfg_intx;
            if (intx) x.events |= DB_STOP_INTX;
        }
        stats.sample(top, x.cycle);
        if (events.on()) {
            sample_stats(events, top, x.cycle);
            if (events.wants(DB_EV_STALL)) sample_stalls(events, waits.now(), x.cycle);
            sample_streams<DATA_W>(events, top, x.cycle, endpoint.rq_ready(), endpoint.rc_on(), endpoint.cq_on());
            sample_media(events, top, x.cycle);
        }
    }

    // The world between two edges.
    void act() {
        if (x.cycle >= next_poll) poll();
        transmit.credits_back();
        if (transmit.waiting()) transmit.send();
        host.receive();
        if constexpr (NUM_SSD > 0) {
            host.peers->step();
            if (host.peers->present() != ssds_shown) show_ssds();
        }
        host.transmit();
        endpoint.drive();
        u32 stall = 0;
        if (x.cfg.stall_pct)
            for (u32 b = 1; b < 1u << MEDIA_STALLS; b <<= 1) stall |= x.stalled() ? b : 0;
        axi.update(x.cycle, stall);
        if constexpr (CMB_LOG2 > 0) {
            u32 pause = 0;
            if (x.cfg.stall_pct)
                for (u32 b = 1; b < 1u << MEDIA_STALLS; b <<= 1) pause |= x.stalled() ? b : 0;
            card_axi.update(x.cycle, pause);
            port.update();
        }
        endpoint.drive_ready();
        if (flr_acknowledged | flr_waiting) look_at_flrs();
    }

    // The next cycle in which the world does something to a core that is idle.
    u64 next_event() const {
        if (endpoint.rc_on() || endpoint.cq_on() || endpoint.numbers_shown() || flr_waiting) return x.cycle;
        u64 e = std::min(
            {axi.next_event(x.cycle), transmit.next_event(host.blocked()), receive.next_event(), host.next_event()});
        e = std::min(e, card_axi.next_event(x.cycle));
        if constexpr (NUM_SSD > 0) e = std::min(e, host.peers->next_event());
        return std::max(e, x.cycle);
    }

    void show_ssds() {
        if constexpr (NUM_SSD > 0) {
            ssds_shown = host.peers->present();
            top.ssd_present = ssds_shown;
            quiet = 0;
        }
    }
    void place_ssds() {
        if constexpr (NUM_SSD > 0) {
            top.window_base = host.peers->window();
            top.ssd_pages = host.peers->pages();
            top.ssd_left_alone = host.peers->left_alone();
            for (u32 i = 0; i < NUM_SSD; ++i) {
                const u32 bar[2] = {u32(host.peers->bar(i)), u32(host.peers->bar(i) >> 32)};
                put_lane(top.ssd_bar, i, 64, bar);
                const u32 id = host.peers->id(i);
                put_lane(top.ssd_id, i, 16, &id);
            }
        }
    }

    // The next step is the one into cycle `to`.
    void jump(u64 to) {
        const u64 n = to - 1 - x.cycle;
        count.sim[SimCount::SKIPPED_CYCLES] += n;
        advance_us(n);
        x.cycle += n;
    }

    // Where the core waits for the world, or for its next microsecond, and stands still: jumps to the step before that, as
    // each cycle until then would be as the last one was.
    void skip_still(u64 end) {
        const u64 us = (x.cfg.clock_khz - us_fraction + 999) / 1000;  // cycles, the last of them shows another time
        const u64 to = std::min({next_event(), x.cycle + us, end});
        if (to <= x.cycle + 1) return;
        port.skipped(to - 1 - x.cycle);
        waits.count(top, to - 1 - x.cycle);
        while (next_poll < to) next_poll += POLL_CYCLES;  // nothing fails meanwhile, and no time limit ends
        jump(to);
    }

    // Jumps to the step before the next event. True: the run is over, nothing is to be expected.
    bool skip(u64 end, u32 stop) {
        const u64 e = next_event(), wake = top.wake_us == NEVER ? NEVER : cycle_of(top.wake_us);
        if (e == NEVER && (stop & DB_STOP_IDLE) && wake > x.cycle) return true;
        const u64 to = std::min({e, wake, end});
        if (to > x.cycle + 1 && x.cfg.idle_skip) jump(to);
        return false;
    }

  public:
    DeviceSim(const db_config& c, u32 num_fn)
        : db_sim(c, num_fn), endpoint(top, context, db_sim::transmit, db_sim::receive, count.hard, count.endpoint),
          axi(top, db_sim::media, c), card_axi(top, db_sim::card, count.card, c), port(top, count.card, c.clock_khz) {}

    void reset() override {
        clear();
        endpoint.clear();
        axi.reset();
        card_axi.reset();
        port.reset();
        top.rst = 1;
        top.por_rst = !powered;
        if (host.peers) host.peers->reset(!powered);
        powered = true;
        enable_vfs(0);
        show_flrs();
        top.media_pages = media.end() / 4096;
        show_settings();
        show_time();
        place_ssds();
        for (u32 i = 0; i < RESET_CYCLES; ++i) {
            model.low();
            model.high();
            ++x.cycle;
            advance_us(1);
        }
        top.rst = 0;
        top.por_rst = 0;
        waits.clear();
        if (host.peers) host.peers->start();
        show_ssds();
        endpoint.drive_ready();
    }

    void step() override {
        model.low();
        model.dump(x.cycle * 2);
        const bool busy = !top.idle;
        sample();
        model.high();
        model.dump(x.cycle * 2 + 1);
        waits.count(top, 1);
        ++x.cycle;
        us_fraction += 1000;
        if (us_fraction >= x.cfg.clock_khz) advance_us(0);
        quiet = busy || moves ? 0 : quiet + 1;
        act();
    }

    int run(u64 cycles, u32 stop) override {
        const u64 end = x.cycle + cycles;
        // level events first: what has not been fetched yet
        x.events = (host.interrupts.waiting() & x.listening ? DB_STOP_IRQ : 0) |
                   (host.messages.any(x.listening) ? DB_STOP_DMA : 0) | (intx ? DB_STOP_INTX : 0);
        host.watches.look_at_all();
        host.mmio.look_at_pages();
        const u32 mask = stop | DB_STOP_RTL;
        if (x.events & mask) return int(x.events & mask);
        if (host.mmio.pending()) quiet = 0;
        // what draws numbers in each cycle, or looks at each, sees them all
        const bool skips_still = x.cfg.idle_skip && !x.cfg.stall_pct && !events.on();
        while (x.cycle < end) {
            if (quiet >= IDLE_CYCLES && (x.cfg.idle_skip || (stop & DB_STOP_IDLE)) && skip(end, stop))
                return DB_STOP_IDLE;
            step();
            if (x.events & mask) break;
            const bool silent = skips_still && !moves && !endpoint.counts_credits() && !host.waits_for_caller();
            if (stillness.after_cycle(silent)) skip_still(end);
        }
        return int(x.events & mask);
    }

    void show_time() override { top.time_us = time_us(); }
    void show_flrs() override { put_words(top.cfg_flr, &flr_active); }
    void show_settings() override {
        auto code = [](u32 bytes) { return u32(__builtin_ctz(bytes)) - 7; };
        top.cfg_max_payload = code(x.mps);
        top.cfg_max_read_req = code(x.mrrs);
        u32 was;
        get_words(top.cfg_bus_master, &was);
        for (u32 off = was & ~x.bus_master; off; off &= off - 1) x.bus_master_off_at[__builtin_ctz(off)] = x.cycle;
        put_words(top.cfg_bus_master, &x.bus_master);
        put_words(top.cfg_msix_enable, &x.msix_enable);
        put_words(top.cfg_msix_mask, &x.msix_mask);
        put_words(top.cfg_fn_enable, &x.enabled);
        top.cfg_intx_disable = x.intx_disable;
        quiet = 0;
    }

    u64 ssd_signal(u32 which) const override {
        if constexpr (NUM_SSD > 0) {
            switch (which) {
                case DB_SWSIG_PRESENT: return ssds_shown;
                case DB_SWSIG_UP: return top.ssd_up;
                case DB_SWSIG_DEAD: return top.ssd_dead;
                case DB_SWSIG_FOREIGN: return top.ssd_foreign;
                case DB_SWSIG_RETRIED: return top.ssd_retried;
                default: break;
            }
        }
        (void)which;
        return 0;
    }
    u64 wake_us() const override { return top.wake_us; }
    bool idle() const override {
        return top.idle && quiet >= IDLE_CYCLES && next_event() == NEVER && !host.waits_for_caller();
    }
    int stalls(u32* out, int n) const override { return waits.counts(out, n); }
    int coverage(const char* path) override { return model.coverage(path); }
    int coverage_counts(u32* out, int n) const override { return model.coverage_counts(out, n); }
    int trace(const char* path) override { return model.trace(path); }
    void trace_window(u64 first, u64 end) override { model.trace_window(first, end); }
};

}  // namespace db
