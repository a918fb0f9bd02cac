// SPDX-License-Identifier: Apache-2.0
#include "state/operators.h"

#include "state/drive.h"
#include "state/function.h"

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

/// No key for XTS ever comes to the slot of the features.
static const struct binding locked = {.own = true, .op = OP_AES_XTS, .slot = SLOT_FEATURES};

/// Its key would be in a slot that is another function's.
static bool misplaced(const struct drive* drive, uint32_t nsid) {
    const struct binding* b = &drive->operators.bound[nsid];
    return FUNCTIONS > 1 && b->own && operators_keyed(b->op) && !key_slot_serves(drive, b->slot, nsid);
}

void operators_attached(struct drive* drive, uint32_t nsid) {
    if (drive->hw.key_slots == 0 || !misplaced(drive, nsid)) return;
    drive->operators.bound[nsid] = locked;
    write_own(&drive->operators, nsid);
}

void operators_restore(struct drive* drive) {
    struct operators* o = &drive->operators;
    if (drive->hw.key_slots == 0) return;
    for (uint32_t nsid = 1; nsid <= drive->hw.num_ns; nsid++) {
        struct binding* b = &o->bound[nsid];
        bool there = b->op < 32u && (drive->hw.operators >> b->op & 1u);
        bool missing = b->own && (!there || b->slot >= drive->hw.key_slots);
        if (drive->store.found == STORE_DAMAGED || missing || misplaced(drive, nsid)) *b = locked;
        if (b->own) write_own(o, nsid);
    }
}

/// A VF's, or one that is no VF's.
static bool is_of(const struct drive* drive, const struct function* fn, uint32_t slot) {
    if (fn->hw.place) return key_slot_shown(drive, fn, slot) != 0;
    for (uint32_t i = 1; i < drive->hw.num_fn; i++) {
        if (key_slot_shown(drive, &drive->functions[i], slot)) return false;
    }
    return true;
}

void operators_reset(struct drive* drive, const struct function* fn) {
    if (drive->hw.key_slots == 0) return;
    if (FUNCTIONS > 1) {
        operators_collect(drive);
        for (uint32_t slot = 0; slot < drive->hw.key_slots; slot++) {
            if (is_of(drive, fn, slot)) hw_key_erase(slot);
        }
    }
    drive->operators.found[FUNCTIONS > 1 ? fn->hw.place : 0].count = 0;
    if (FUNCTIONS > 1) drive->operators.found[fn->hw.place].number = 0;
    if (FUNCTIONS > 1 && fn->hw.place) return;
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
    if (drive->hw.key_slots && operators_keyed(b->op)) operators_erase_slot(&drive->operators, b->slot);
}

static void came(struct found* f) {
    f->next = f->next + 1 == CFG_RESULTS ? 0 : (result_count_t)(f->next + 1);
    if (f->count < CFG_RESULTS) f->count++;
}

#if FUNCTIONS > 1
/// To the function whose command it was, by the number that its queue has for the function. No function: it is gone.
static void sort(struct drive* drive, const struct hw_result* result) {
    uint32_t queue = hw_result_queue(result);
    for (uint32_t i = 0; i < drive->hw.num_fn; i++) {
        const struct hw_function* f = &drive->functions[i].hw;
        if (queue <= f->before_first || queue > (uint32_t)f->before_first + f->num_qp) continue;
        struct found* found = &drive->operators.found[i];
        struct hw_result its = *result;
        hw_result_set_queue(&its, queue - f->before_first);
        found->of[found->next] = (result_t){.number = found->number++,
                                            .command = its.command,
                                            .bytes = its.bytes,
                                            .lba = {(uint32_t)its.lba, (uint32_t)(its.lba >> 32)},
                                            .status = (uint16_t)its.status,
                                            .nsid = (uint8_t)its.nsid};
        for (uint32_t w = 0; w < 8; w++) found->of[found->next].digest[w] = its.digest[w];
        came(found);
    }
}
#endif

void operators_collect(struct drive* drive) {
    struct found* f = drive->operators.found;
    for (uint32_t n = 0; n < HW_RESULTS; n++) {
#if FUNCTIONS == 1
        if (!hw_result(&f->of[f->next])) return;
        came(f);
#else
        struct hw_result result;
        (void)f;
        if (!hw_result(&result)) return;
        sort(drive, &result);
#endif
    }
}

/// Those of a namespace.
static void forget_found(struct found* f, uint32_t nsid) {
    uint32_t from = (f->next + CFG_RESULTS - f->count) % CFG_RESULTS, to = from, kept = 0;
    for (uint32_t n = f->count; n; n--, from = (from + 1) % CFG_RESULTS) {
        if (f->of[from].nsid == nsid) continue;
        f->of[to] = f->of[from];
        to = (to + 1) % CFG_RESULTS;
        kept++;
    }
    f->next = (result_count_t)to;
    f->count = (result_count_t)kept;
}

void operators_forget_ns(struct drive* drive, uint32_t nsid) {
    struct operators* o = &drive->operators;
    if (drive->hw.key_slots == 0) return;
    o->bound[nsid].own = false;
    operators_apply(drive);
    for (uint64_t until = hw_time() + CFG_REDUCING_US; hw_reducing() && hw_time() < until && !(hw_events() & EV_RESET);)
        operators_collect(drive);  // a reducer may be at work when its command has ended
    operators_collect(drive);
    for (uint32_t i = 0; i < (FUNCTIONS > 1 ? drive->hw.num_fn : 1u); i++) forget_found(&o->found[i], nsid);
}
bool operators_keyed(uint32_t op) { return op == OP_AES_CTR || op == OP_AES_XTS; }
