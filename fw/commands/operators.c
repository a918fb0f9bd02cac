// SPDX-License-Identifier: Apache-2.0
#include "commands/operators.h"

#include "base/bytes.h"
#include "commands/draining.h"

#define ALL_SLOTS 0xffu

// ---------------------------------------------------------------- features
/// Somebody has it: the function, where there is one alone.
static bool in_use(const struct request* r, uint32_t nsid) {
    return FUNCTIONS > 1 ? ns_attached(r->drive, nsid) != 0 : ns_active(r->fn, nsid);
}

static bool by_feature(const struct request* r, uint32_t nsid) {
    return in_use(r, nsid) && !r->drive->operators.bound[nsid].own;
}

static bool is_vf(const struct request* r) { return FUNCTIONS > 1 && r->fn->hw.place; }

bool operator_key_is_own(const struct request* r, uint32_t nsid) {
    const struct binding* b = &r->drive->operators.bound[nsid];
    return !operators_keyed(b->op) || !is_vf(r) || key_slot_shown(r->drive, r->fn, b->slot);
}

uint32_t operator_feature_set(struct request* r) {
    uint32_t id = r->cmd.dw[10] & 0xffu, value = r->cmd.dw[11];
    if (id == FEATURE_CSD_CONFIG && value != CSD_CONFIG_PASS && value != CSD_CONFIG_ADD && value != CSD_CONFIG_AES128 &&
        value != CSD_CONFIG_AES256)
        return ST_INVALID_FIELD;
    // The addend is the only word that is none of a key.
    bool addend_word = r->drive->operators.config == CSD_CONFIG_ADD && id == FEATURE_CSD_WORD_FIRST;
    if (id != FEATURE_CSD_CONFIG && !addend_word && hw_keys_failed()) return ST_INTERNAL;
    if (r->step == 0) {
        change_begins(r);
        r->step = 1;
    }
    if (drain_step(r, by_feature, later_gate(r, by_feature)) == WAIT) return WAIT;
    uint32_t config = r->drive->operators.config, addend = r->drive->operators.addend;
    if (id == FEATURE_CSD_CONFIG) operators_configure(r->drive, value);
    else operators_set_word(r->drive, id - FEATURE_CSD_WORD_FIRST, value);
    bool changed = config != r->drive->operators.config || addend != r->drive->operators.addend;
    return change_ends(r, ST_SUCCESS, changed || r->drive->store.stale);  // a word of a key is not saved
}

/// Words of keys read as zeros.
uint32_t operator_feature_get(struct request* r) {
    const struct operators* o = &r->drive->operators;
    uint32_t id = r->cmd.dw[10] & 0xffu;
    if (id == FEATURE_CSD_CONFIG) r->dw0 = o->config;
    else r->dw0 = id == FEATURE_CSD_WORD_FIRST && o->config == CSD_CONFIG_ADD ? o->addend : 0;
    return ST_SUCCESS;
}

// ---------------------------------------------------------------- commands
static bool with_slot(const struct request* r, uint32_t nsid) {
    return in_use(r, nsid) &&
           r->drive->operators.bound[nsid].slot == key_slot_of(r->drive, r->fn, r->cmd.dw[10] & 0xffu);
}

/// CDW10: slot, and what its key is for as in KEY_CTL. Data: K1, K2 of 32 bytes each, IV of 16.
uint32_t key_load(struct request* r) {
    const uint32_t flags = KEY_256 | KEY_CTR | KEY_XTS;
    uint32_t dw10 = r->cmd.dw[10], slot = key_slot_of(r->drive, r->fn, dw10 & 0xffu);
    uint32_t key[KEY_WORDS];
    uint32_t mode = dw10 & (KEY_CTR | KEY_XTS);  // one: a K1 for both would encrypt counters and data alike
    if (slot == SLOT_FEATURES || slot >= r->drive->hw.key_slots || (dw10 & ~(flags | 0xffu)) ||
        (mode != KEY_CTR && mode != KEY_XTS))
        return ST_INVALID_FIELD;
    if (hw_keys_failed()) return ST_INTERNAL;
    if (r->step == 0) {
        change_begins(r);
        r->step = 1;
    }
    if (drain_step(r, with_slot, later_gate(r, with_slot)) == WAIT) return WAIT;
    uint32_t status = data_receive(r->drive->buffers, &r->cmd, key, sizeof key, sizeof key);
    if (status == ST_SUCCESS && (dw10 & KEY_XTS)) {
        uint32_t n = dw10 & KEY_256 ? 8 : 4, differ = 0;
        for (uint32_t i = 0; i < n; i++) differ |= key[i] ^ key[KEY_K2 + i];
        if (!differ) status = ST_INVALID_FIELD;  // IEEE 1619: two keys, not one
    }
    if (status == ST_SUCCESS) {
        hw_keys_wait();
        for (uint32_t i = 0; i < KEY_WORDS; i++) hw_key_stage(i, key[i]);
        hw_key_load(slot, dw10 & flags);
    }
    status = change_ends(r, status, false);
    for (uint32_t i = 0; i < KEY_WORDS; i++) ((volatile uint32_t*)key)[i] = 0;
    data_forget(r->drive->buffers);
    return status;
}

/// CDW10: slot, FFh for all that the function may name.
uint32_t key_erase(struct request* r) {
    uint32_t slot = r->cmd.dw[10], first = is_vf(r) ? 1 : 0, slots = key_slots_known(r->drive, r->fn);
    if (slot != ALL_SLOTS && (slot < first || slot >= slots)) return ST_INVALID_FIELD;
    for (uint32_t i = first; i < slots; i++) {
        if (slot == i || slot == ALL_SLOTS) operators_erase_slot(&r->drive->operators, key_slot_of(r->drive, r->fn, i));
    }
    return ST_SUCCESS;
}

/// All are those that exist, to a VF those that are attached to it.
static bool to_bind(const struct request* r, uint32_t nsid) {
    bool there = is_vf(r) ? ns_active(r->fn, nsid) : ns_exists(r->drive, nsid);
    return there && (nsid_of(r) == NSID_ALL || nsid == nsid_of(r));
}

/// What the function may not do, of several: a VF, with a namespace that others may have too, or have all wait for an
/// operator that is slower than the link; a key, from a slot that is not for its namespace.
static uint32_t check_owner(const struct request* r, uint32_t op, uint32_t slot) {
    bool keyed = operators_keyed(op);
    if (is_vf(r) && op == OP_SHA256) return ST_DENIED;
    for (uint32_t nsid = 1; FUNCTIONS > 1 && nsid <= r->drive->hw.num_ns; nsid++) {
        if (!to_bind(r, nsid)) continue;
        if (is_vf(r) && namespace_of(r, nsid)->shared) return ST_DENIED;
        if (!keyed) continue;
        if (is_vf(r) && slot == SLOT_FEATURES) return ST_INVALID_FIELD;
        if (!key_slot_serves(r->drive, slot, nsid)) return ST_INVALID_FIELD;
    }
    return ST_SUCCESS;
}

/// CDW10: operator in bits 3:0, key slot in 13:8; bit 31: as feature C0h says. CDW12 to 15: its parameters.
uint32_t bind_operator(struct request* r) {
    uint32_t dw10 = r->cmd.dw[10], op = dw10 & 15u, slot = key_slot_of(r->drive, r->fn, dw10 >> 8 & 63u);
    bool own = !(dw10 >> 31);
    if ((dw10 & 0x7fffc0f0u) || r->cmd.dw[11] ||
        (own && (!(r->drive->hw.operators >> op & 1u) || slot >= r->drive->hw.key_slots)))
        return ST_INVALID_FIELD;
    struct binding b = {.own = own, .op = (uint8_t)op, .slot = (uint8_t)slot};
    if (r->step == 0) {
        uint32_t status = check_owner(r, own ? op : (uint32_t)OP_PASS, slot);
        if (status != ST_SUCCESS) return status;
        change_begins(r);
        r->step = 1;
    }
    if (drain_step(r, to_bind, later_gate(r, to_bind)) == WAIT) return WAIT;
    bool changed = r->drive->store.stale;
    for (uint32_t i = 0; i < 4; i++) b.parameters[i] = r->cmd.dw[12 + i];
    for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
        if (to_bind(r, nsid)) changed |= operators_bind(r->drive, nsid, &b);
    }
    operators_apply(r->drive);
    return change_ends(r, ST_SUCCESS, changed);
}

// ---------------------------------------------------------------- log pages
/// What there is, which slots hold keys, what each namespace does; to a VF, its slots and its namespaces.
uint32_t operators_page(struct request* r) {
    const struct hw_config* hw = &r->drive->hw;
    const struct operators* o = &r->drive->operators;
    uint8_t* page = page_of(r);
    memset(page, 0, OPERATORS_BYTES);
    put16(page, 2);
    uint32_t slots = key_slots_known(r->drive, r->fn);
    page[2] = (uint8_t)slots;
    page[3] = hw->num_ns;
    put32(page + 4, hw->operators);
    page[8] = is_vf(r) ? 0 : (uint8_t)o->config;
    page[9] = hw_keys_failed();
    for (uint32_t i = is_vf(r) ? 1 : 0; i < slots; i++)
        page[16 + i] = (uint8_t)hw_key_slot(key_slot_of(r->drive, r->fn, i));
    for (uint32_t nsid = 1; nsid <= hw->num_ns; nsid++) {
        uint8_t* at = page + 128 + 4 * (nsid - 1);
        if (is_vf(r) && !ns_active(r->fn, nsid)) continue;
        at[0] = o->bound[nsid].op;
        at[1] = (uint8_t)key_slot_shown(r->drive, r->fn, o->bound[nsid].slot);
        at[2] = o->bound[nsid].own;
    }
    return OPERATORS_BYTES;
}

/// Results of the function's commands, newest first.
uint32_t results_page(struct request* r) {
    const struct found* f = &r->drive->operators.found[FUNCTIONS > 1 ? r->fn->hw.place : 0];
    uint8_t *page = page_of(r), *at = page + 64;
    operators_collect(r->drive);
    memset(page, 0, RESULTS_SPACE);
    put16(page, 2);
    put16(page + 2, f->count);
    for (uint32_t n = 0, i = f->next; n < f->count; n++, at += 64) {
        i = i == 0 ? CFG_RESULTS - 1 : i - 1;
        const result_t* result = &f->of[i];
        put32(at, result->number);
        put32(at + 4, result->command);
        put32(at + 8, result->nsid);
        put32(at + 12, result->bytes);
#if FUNCTIONS == 1
        put64(at + 16, result->lba);
#else
        put32(at + 16, result->lba[0]);
        put32(at + 20, result->lba[1]);
#endif
        put32(at + 24, result->status << 1);
        for (uint32_t w = 0; w < 8; w++) put32(at + 32 + 4 * w, result->digest[w]);
    }
    return RESULTS_SPACE;
}
