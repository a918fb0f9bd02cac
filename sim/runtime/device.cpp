// SPDX-License-Identifier: Apache-2.0
#include "runtime/device.h"

using namespace db;

db_sim::db_sim(const db_config& c, u32 num_fn)
    : context(c, num_fn), transmit(context, count.hard, up), receive(context),
      host(context, transmit, receive, down, count.hard, count.host) {
    for (Link* l : {&up, &down}) {
        l->rate(c.gen, c.lanes, c.clock_khz);
        l->latency = context.cycles(c.link_latency_ns);
        l->ack_every = c.ack_every;
        l->fc_every = c.fc_every;
    }
    up.back = &down;
    down.back = &up;
}

void db_sim::clear() {
    up.restart();
    down.restart();
    transmit.clear();
    receive.clear();
    host.clear();
    context.events = 0;
    quiet = 0;
    intx = false;
    flr_waiting = flr_active = flr_acknowledged = 0;
}

void db_sim::advance_us(u64 cycles) {
    const u64 khz = context.cfg.clock_khz;
    us_fraction += cycles * 1000;
    if (us_fraction >= khz) {
        us += us_fraction / khz;
        us_fraction %= khz;
    }
    show_time();
}

u64 db_sim::cycle_of(u64 t) const {
    if (t <= time_us()) return context.cycle;
    const unsigned __int128 wait =
        ((unsigned __int128)(t - time_us()) * context.cfg.clock_khz - us_fraction + 999) / 1000;
    return wait > NEVER - context.cycle ? NEVER : context.cycle + u64(wait);
}
