// SPDX-License-Identifier: Apache-2.0
#include "commands/operators.h"

#include "base/bytes.h"
#include "commands/draining.h"

#define ALL_SLOTS 0xffu

// ---------------------------------------------------------------- features
/// What a host is told meanwhile that can be told to come again.
static uint32_t gate(const struct request* r) {
    return r->fn->settings.value[V_HOST_BEHAVIOR] & 1u ? HW_NS_LATER : HW_NS_CLOSED;
}

static bool by_feature(const struct request* r, uint32_t nsid) {
    return ns_active(r->fn, nsid) && !r->drive->operators.bound[nsid].own;
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
    if (drain_step(r, by_feature, gate(r)) == WAIT) return WAIT;
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
    return ns_active(r->fn, nsid) && r->drive->operators.bound[nsid].slot == (r->cmd.dw[10] & 0xffu);
}

/// CDW10: slot, and what its key is for as in KEY_CTL. Data: K1, K2 of 32 bytes each, IV of 16.
uint32_t key_load(struct request* r) {
    const uint32_t flags = KEY_256 | KEY_CTR | KEY_XTS;
    uint32_t dw10 = r->cmd.dw[10], slot = dw10 & 0xffu;
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
    if (drain_step(r, with_slot, gate(r)) == WAIT) return WAIT;
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

/// CDW10: slot, FFh for all.
uint32_t key_erase(struct request* r) {
    uint32_t slot = r->cmd.dw[10], slots = r->drive->hw.key_slots;
    if (slot != ALL_SLOTS && slot >= slots) return ST_INVALID_FIELD;
    for (uint32_t i = 0; i < slots; i++) {
        if (slot == i || slot == ALL_SLOTS) operators_erase_slot(&r->drive->operators, i);
    }
    return ST_SUCCESS;
}

static bool to_bind(const struct request* r, uint32_t nsid) {
    return ns_exists(r->drive, nsid) && (nsid_of(r) == NSID_ALL || nsid == nsid_of(r));
}

/// CDW10: operator in bits 3:0, key slot in 13:8; bit 31: as feature C0h says. CDW12 to 15: its parameters.
uint32_t bind_operator(struct request* r) {
    uint32_t dw10 = r->cmd.dw[10], op = dw10 & 15u, slot = dw10 >> 8 & 63u;
    bool own = !(dw10 >> 31);
    if ((dw10 & 0x7fffc0f0u) || r->cmd.dw[11] ||
        (own && (!(r->drive->hw.operators >> op & 1u) || slot >= r->drive->hw.key_slots)))
        return ST_INVALID_FIELD;
    if (r->step == 0) {
        change_begins(r);
        r->step = 1;
    }
    if (drain_step(r, to_bind, gate(r)) == WAIT) return WAIT;
    bool changed = r->drive->store.stale;
    struct binding b = {.own = own, .op = (uint8_t)op, .slot = (uint8_t)slot};
    for (uint32_t i = 0; i < 4; i++) b.parameters[i] = r->cmd.dw[12 + i];
    for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
        if (to_bind(r, nsid)) changed |= operators_bind(r->drive, nsid, &b);
    }
    operators_apply(r->drive);
    return change_ends(r, ST_SUCCESS, changed);
}

// ---------------------------------------------------------------- log pages
/// What there is, which slots hold keys, what each namespace does.
uint32_t operators_page(struct request* r) {
    const struct hw_config* hw = &r->drive->hw;
    const struct operators* o = &r->drive->operators;
    uint8_t* page = page_of(r);
    memset(page, 0, OPERATORS_BYTES);
    put16(page, 2);
    page[2] = hw->key_slots;
    page[3] = hw->num_ns;
    put32(page + 4, hw->operators);
    page[8] = (uint8_t)o->config;
    page[9] = hw_keys_failed();
    for (uint32_t i = 0; i < hw->key_slots; i++) page[16 + i] = (uint8_t)hw_key_slot(i);
    for (uint32_t nsid = 1; nsid <= hw->num_ns; nsid++) {
        uint8_t* at = page + 128 + 4 * (nsid - 1);
        at[0] = o->bound[nsid].op;
        at[1] = o->bound[nsid].slot;
        at[2] = o->bound[nsid].own;
    }
    return OPERATORS_BYTES;
}

/// Results of the reducers, newest first.
uint32_t results_page(struct request* r) {
    struct operators* o = &r->drive->operators;
    uint8_t *page = page_of(r), *at = page + 64;
    operators_collect(o);
    memset(page, 0, RESULTS_BYTES);
    put16(page, 2);
    put16(page + 2, o->results_count);
    for (uint32_t n = 0, i = o->results_next; n < o->results_count; n++, at += 64) {
        i = i == 0 ? CFG_RESULTS - 1 : i - 1;
        const struct hw_result* result = &o->results[i];
        put32(at, result->number);
        put32(at + 4, result->command);
        put32(at + 8, result->nsid);
        put32(at + 12, result->bytes);
        put64(at + 16, result->lba);
        put32(at + 24, result->status << 1);
        for (uint32_t w = 0; w < 8; w++) put32(at + 32 + 4 * w, result->digest[w]);
    }
    return RESULTS_BYTES;
}
