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

/// Key and IV to their slot once all of them are there, and then they are nowhere else. The last word is the first of
/// the vector, as published.
static void load_words(struct operators* o) {
    uint32_t n = o->config == CSD_CONFIG_AES256 ? 8 : 4;
    uint32_t need = IV_MASK | ((1u << n) - 1u);
    if (!config_aes(o) || (o->words_set & need) != need) return;
    hw_keys_wait();
    for (uint32_t i = 0; i < n; i++) hw_key_stage(i, swapped(o->words[n - 1 - i]));
    for (uint32_t i = 0; i < 4; i++) hw_key_stage(KEY_IV + i, swapped(o->words[OPERATOR_WORDS - 1 - i]));
    hw_key_load(SLOT_FEATURES, KEY_CTR | (n == 8 ? KEY_256 : 0));
    o->loaded = (uint8_t)o->config;
    forget_words(o);
}

static void erase_loaded(struct operators* o) {
    hw_key_erase(SLOT_FEATURES);
    o->loaded = 0;
}

static void write_binding(const struct operators* o, uint32_t nsid) {
    hw_bind(nsid, o->bound[nsid].op, o->bound[nsid].slot);
}

static void write_own(const struct operators* o, uint32_t nsid) {
    hw_operator_parameters(o->bound[nsid].parameters);
    write_binding(o, nsid);
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

void operators_restore(struct drive* drive) {
    struct operators* o = &drive->operators;
    if (drive->hw.key_slots == 0) return;
    for (uint32_t nsid = 1; nsid <= drive->hw.num_ns; nsid++) {
        struct binding* b = &o->bound[nsid];
        // No key for XTS ever comes to the slot of the features.
        const struct binding lock = {.own = true, .op = OP_AES_XTS, .slot = SLOT_FEATURES};
        bool missing = b->own && (!(drive->hw.operators >> b->op & 1u) || b->slot >= drive->hw.key_slots);
        if (drive->store.found == STORE_DAMAGED || missing) *b = lock;
        if (b->own) write_own(o, nsid);
    }
}

void operators_reset(struct drive* drive) {
    if (drive->hw.key_slots == 0) return;
    drive->operators.results_count = 0;
    drive->operators.loaded = 0;
    forget_words(&drive->operators);
    operators_apply(drive);
}

// ---------------------------------------------------------------- while the namespaces are closed that it is about, and drained
void operators_configure(struct drive* drive, uint32_t config) {
    struct operators* o = &drive->operators;
    o->config = config;
    // With 0 the key stays for when it is wanted again. Else what there is of another size is half a key or a longer
    // one, and a word of a key is nothing to add to data that anybody may read.
    if (config != CSD_CONFIG_PASS && config != o->loaded) erase_loaded(o);
    if (config == CSD_CONFIG_ADD) forget_words(o);
    load_words(o);
    operators_apply(drive);
}

void operators_set_word(struct drive* drive, uint32_t i, uint32_t value) {
    struct operators* o = &drive->operators;
    if (o->config == CSD_CONFIG_ADD && i == 0) {
        o->addend = value;
    } else {
        // The first word of a new key ends the old one: never half of each.
        if (o->loaded) erase_loaded(o);
        ((volatile uint32_t*)o->words)[i] = value;
        o->words_set |= 1u << i;
        load_words(o);
    }
    operators_apply(drive);
}

bool operators_bind(struct drive* drive, uint32_t nsid, const struct binding* binding) {
    const struct binding* now = &drive->operators.bound[nsid];
    bool same = now->own == binding->own && (!now->own || (now->op == binding->op && now->slot == binding->slot));
    for (uint32_t i = 0; i < 4 && binding->own; i++) same = same && now->parameters[i] == binding->parameters[i];
    drive->operators.bound[nsid] = *binding;
    if (binding->own) write_own(&drive->operators, nsid);
    return !same;
}

// ---------------------------------------------------------------- any time
void operators_erase_slot(struct operators* o, uint32_t slot) {
    if (slot == SLOT_FEATURES) {
        forget_words(o);
        o->loaded = 0;
    }
    hw_key_erase(slot);
}

void operators_erase_ns(struct drive* drive, uint32_t nsid) {
    const struct binding* b = &drive->operators.bound[nsid];
    if (drive->hw.key_slots && (b->op == OP_AES_CTR || b->op == OP_AES_XTS))
        operators_erase_slot(&drive->operators, b->slot);
}

void operators_collect(struct operators* o) {
    for (uint32_t n = 0; n < HW_RESULTS && hw_result(&o->results[o->results_next]); n++) {
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
