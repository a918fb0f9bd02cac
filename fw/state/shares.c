// SPDX-License-Identifier: Apache-2.0
#include "state/shares.h"

#include "base/bytes.h"
#include "hw/near.h"
#include "state/drive.h"
#include "state/function.h"

#define LEAST_BURST 8u             // a turn: entries that are fetched at once
#define LEAST_BURST_BYTES 131072u  // the largest command that is common

/// The hardware keeps a quarter for queues that have nothing, and one for whoever comes.
uint32_t shares_least_total(const struct drive* drive) {
    uint32_t all = drive->hw.num_cmds, kept = all / 4u ? all / 4u : 1u;
    return all - kept - 1u;
}

struct share shares_default(const struct drive* drive) {
    uint32_t quarter = drive->hw.num_cmds / 4u, least = 0;
    while ((least + 1u) * drive->hw.num_fn <= quarter) least++;
    return (struct share){
        .weight = 1, .least = (uint16_t)(least ? least : 1), .most = (uint16_t)(drive->hw.num_cmds / 2u)};
}

struct share shares_saved(const struct drive* drive, uint32_t place) {
    return drive->shares->saved >> place & 1u ? drive->shares->kept[place] : shares_default(drive);
}

bool shares_valid(const struct drive* drive, const struct share* s) {
    return s->weight && s->most && s->least <= s->most && s->most <= drive->hw.num_cmds &&
           (!s->deadline_us || hw_near_operators());
}

bool shares_fit(const struct drive* drive, uint32_t place, const struct share* s, bool after_reset) {
    uint32_t sum = s->least;
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        if (i == place) continue;
        sum += after_reset ? shares_saved(drive, i).least : drive->shares->now[i].least;
    }
    return sum <= shares_least_total(drive);
}

/// A millisecond's worth where nobody has chosen.
static uint64_t burst_of(uint64_t rate, uint32_t chosen, uint32_t least) {
    if (chosen) return chosen;
    uint64_t burst = div_u64(rate, 1000, NULL);
    return burst < least ? least : burst;
}

void shares_set(struct drive* drive, uint32_t place, const struct share* s) {
    struct share* now = &drive->shares->now[place];
    const struct hw_function* f = &drive->functions[place].hw;
    hw_function_share(f, s->weight, s->least, s->most, s->deadline_us);
    if (s->iops != now->iops || s->burst != now->burst || s->bytes_per_s != now->bytes_per_s ||
        s->burst_bytes != now->burst_bytes)  // else its buckets stay as full as they are
        hw_function_limit(f, s->iops, (uint32_t)burst_of(s->iops, s->burst, LEAST_BURST), s->bytes_per_s,
                          burst_of(s->bytes_per_s, s->burst_bytes, LEAST_BURST_BYTES));
    *now = *s;
}

void shares_reset(struct drive* drive) {
    bool fit = true;
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        struct share s = shares_saved(drive, i);
        fit = fit && shares_valid(drive, &s) && shares_fit(drive, i, &s, true);
    }
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        struct share s = fit ? shares_saved(drive, i) : shares_default(drive);
        shares_set(drive, i, &s);
    }
}
