// SPDX-License-Identifier: Apache-2.0
#include "state/operators.h"

#include "state/drive.h"

#define IV_MASK 0x1e00u  // words of features CAh to CDh

static bool config_aes(const struct operators* o) {
    return o->config == CSD_CONFIG_AES128 || o->config == CSD_CONFIG_AES256;
}

static uint32_t swapped(uint32_t w) { return w << 24 | (w & 0xff00u) << 8 | (w >> 8 & 0xff00u) | w >> 24; }

static void forget_words(struct operators* o) {
    for (uint32_t i = 0; i < OPERATOR_WORDS; i++) ((volatile uint32_t*)o->words)[i] = 0;
    o->words_set = 0;
}

/// Key and IV to their slot once all of them are there. The last word is the first of the vector, as published.
static void apply_words(struct operators* o) {
    uint32_t n = o->config == CSD_CONFIG_AES256 ? 8 : 4;
    uint32_t need = IV_MASK | ((1u << n) - 1u);
    if (o->config == CSD_CONFIG_ADD) o->addend = o->words[0];
    if (!config_aes(o) || (o->words_set & need) != need) {
        hw_key_erase(SLOT_FEATURES);
        return;
    }
    hw_keys_wait();
    for (uint32_t i = 0; i < n; i++) hw_key_stage(i, swapped(o->words[n - 1 - i]));
    for (uint32_t i = 0; i < 4; i++) hw_key_stage(KEY_IV + i, swapped(o->words[OPERATOR_WORDS - 1 - i]));
    hw_key_load(SLOT_FEATURES, KEY_CTR | (n == 8 ? KEY_256 : 0));
}

static void write_binding(const struct operators* o, uint32_t nsid) {
    hw_bind(nsid, o->bound[nsid].op, o->bound[nsid].slot);
}

void operators_apply(struct drive* drive) {
    struct operators* o = &drive->operators;
    const uint32_t parameters[4] = {o->addend};
    hw_operator_parameters(parameters);
    for (uint32_t nsid = 1; nsid <= drive->hw.num_ns; nsid++) {
        if (o->bound[nsid].own) continue;
        o->bound[nsid].op = config_aes(o) ? OP_AES_CTR : o->config == CSD_CONFIG_ADD ? OP_ADD : OP_PASS;
        o->bound[nsid].slot = SLOT_FEATURES;
        write_binding(o, nsid);
    }
}

void operators_reset(struct drive* drive) {
    if (drive->hw.key_slots == 0) return;
    drive->operators.results_count = 0;
    forget_words(&drive->operators);
    operators_apply(drive);
}

// ---------------------------------------------------------------- while fetching is held
void operators_configure(struct drive* drive, uint32_t config) {
    struct operators* o = &drive->operators;
    // Half of a longer key is no key, and a word of a key is nothing to add to data that anybody may read.
    bool other_size = config_aes(o) && config != o->config && config > CSD_CONFIG_ADD;
    if (other_size || (config == CSD_CONFIG_ADD && (o->words_set & ~1u))) forget_words(o);
    o->config = config;
    if (config != CSD_CONFIG_PASS) apply_words(o);  // with 0 the key stays for when it is wanted again
    operators_apply(drive);
}

void operators_set_word(struct drive* drive, uint32_t i, uint32_t value) {
    struct operators* o = &drive->operators;
    o->words[i] = value;
    o->words_set |= 1u << i;
    apply_words(o);
    operators_apply(drive);
}

void operators_bind(struct drive* drive, uint32_t nsid, bool own, uint32_t op, uint32_t slot) {
    drive->operators.bound[nsid] = (struct binding){.own = own, .op = (uint8_t)op, .slot = (uint8_t)slot};
    if (own) write_binding(&drive->operators, nsid);
}

// ---------------------------------------------------------------- any time
void operators_erase_slot(struct operators* o, uint32_t slot) {
    if (slot == SLOT_FEATURES) forget_words(o);
    hw_key_erase(slot);
}

void operators_erase_ns(struct drive* drive, uint32_t nsid) {
    const struct binding* b = &drive->operators.bound[nsid];
    if (drive->hw.key_slots && (b->op == OP_AES_CTR || b->op == OP_AES_XTS))
        operators_erase_slot(&drive->operators, b->slot);
}

void operators_collect(struct operators* o) {
    while (hw_result(&o->results[o->results_next])) {
        o->results_next = o->results_next + 1 == CFG_RESULTS ? 0 : o->results_next + 1;
        if (o->results_count < CFG_RESULTS) o->results_count++;
    }
}

void operators_forget_ns(struct drive* drive, uint32_t nsid) {
    struct operators* o = &drive->operators;
    if (drive->hw.key_slots == 0) return;
    o->bound[nsid].own = false;
    operators_apply(drive);
    for (uint64_t until = hw_time() + CFG_WAIT_US; hw_reducing() && hw_time() < until && !(hw_events() & EV_RESET);)
        operators_collect(o);  // a reducer may be at work when its command has ended
    operators_collect(o);
    uint32_t from = (o->results_next + CFG_RESULTS - o->results_count) % CFG_RESULTS, to = from, kept = 0;
    for (uint32_t n = o->results_count; n; n--, from = (from + 1) % CFG_RESULTS) {
        if (o->results[from].nsid == nsid) continue;
        o->results[to] = o->results[from];
        to = (to + 1) % CFG_RESULTS;
        kept++;
    }
    o->results_next = to;
    o->results_count = kept;
}
