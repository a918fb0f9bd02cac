// SPDX-License-Identifier: Apache-2.0
#include "commands/features.h"

#include "base/bytes.h"
#include "commands/draining.h"
#include "commands/operators.h"
#include "commands/reservations.h"
#include "commands/virtualization.h"

#define DEFAULT_ARBITRATION 0x07070703u  // equal weights, bursts of 8
#define HOST_BEHAVIOR_BYTES 512u

/// A row of the table of features. What has neither `get` nor `set` of its own is a value that is kept.
struct feature {
    uint8_t id;
    uint8_t more : 4;   // it and so many after it
    uint8_t value : 4;  // V_*: where it is kept; VALUES: nowhere
    uint8_t flags;
    uint8_t mask;                        // bits that a host may set
    uint32_t initial;                    // after reset
    uint32_t (*set)(struct request* r);  // CDW11 into the settings; a status
    uint32_t (*get)(struct request* r);  // dw0 from the settings; a status
};

enum {
    OF_NAMESPACE = 1u << 0,  // each active namespace has its own; all others are the controller's
    OF_OPERATORS = 1u << 1,  // only where there are operators in the data path, and the PF's
    BY_SEL = 1u << 2,        // Get Features' handler looks at SEL itself
    SAVEABLE = 1u << 3,      // its value can outlast resets and power
    PERSISTENT = 1u << 4,    // and does so whether the host asks for it or not
    OF_PRIMARY = 1u << 5,    // only the PF has it, where there are VFs
    OF_SEVERAL = 1u << 6,    // only where there are several functions
    OF_ALL = 1u << 7,        // changes what namespaces' data pass through, or what functions share
};

static uint32_t select_of(const struct request* r) { return r->cmd.dw[10] >> 8 & 7u; }

static uint32_t* value_of(const struct request* r, uint32_t value) { return &r->fn->settings.value[value]; }

/// What a reset sets it to: what was saved, else the default.
static uint32_t value_after_reset(const struct settings* s, const struct feature* f) {
    return f->value != VALUES && s->saved >> f->value & 1u ? s->saved_value[f->value] : f->initial;
}

// ---------------------------------------------------------------- arbitration, power, error recovery, write cache
static uint32_t set_arbitration(struct request* r) {
    *value_of(r, V_ARBITRATION) = r->cmd.dw[11] & 0xffffff07u;
    if (FUNCTIONS == 1 || r->fn->hw.place == 0)
        hw_arbitration(*value_of(r, V_ARBITRATION));  // among all queues there are
    return ST_SUCCESS;
}

static uint32_t set_power(struct request* r) {
    return r->cmd.dw[11] & 0x1fu ? (uint32_t)ST_INVALID_FIELD : ST_SUCCESS;  // there is power state 0
}

static uint32_t set_error_recovery(struct request* r) {
    if (r->cmd.dw[11] >> 16 & 1u) return ST_INVALID_FIELD;  // DULBE: deallocated blocks read as zeros
    for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
        if (nsid == nsid_of(r) || (nsid_of(r) == NSID_ALL && ns_active(r->fn, nsid)))
            *error_recovery(r->fn, nsid) = (uint16_t)r->cmd.dw[11];
    }
    return ST_SUCCESS;
}

static uint32_t get_error_recovery(struct request* r) {
    r->dw0 = *error_recovery(r->fn, nsid_of(r));
    return ST_SUCCESS;
}

static bool to_protect(const struct request* r, uint32_t nsid) {
    return nsid == nsid_of(r) || (nsid_of(r) == NSID_ALL && ns_active(r->fn, nsid));
}

/// Writes that were taken before are over when it holds.
static uint32_t set_write_protection(struct request* r) {
    uint32_t protection = r->cmd.dw[11] & 7u;
    if (r->step == 0) {
        if (protection > NS_PROTECTED_UNTIL_POWER_CYCLE) return ST_INVALID_FIELD;  // not permanently
        for (uint32_t nsid = 1; FUNCTIONS > 1 && r->fn->hw.place && nsid <= r->drive->hw.num_ns; nsid++) {
            if (to_protect(r, nsid) && ns_attached(r->drive, nsid) > 1) return ST_DENIED;  // others have it too
        }
        for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
            uint32_t now = namespace_of(r, nsid)->protection;
            if (to_protect(r, nsid) && now == NS_PROTECTED_UNTIL_POWER_CYCLE && protection != now)
                return ST_NOT_CHANGEABLE;
        }
        change_begins(r);
        r->step = 1;
    }
    if (drain_step(r, to_protect, later_gate(r, to_protect)) == WAIT) return WAIT;
    for (uint32_t nsid = 1; nsid <= r->drive->hw.num_ns; nsid++) {
        if (to_protect(r, nsid)) ns_protect(r->drive, nsid, protection);
    }
    return change_ends(r, ST_SUCCESS, true);
}

static uint32_t get_write_protection(struct request* r) {
    r->dw0 = namespace_of(r, nsid_of(r))->protection;
    return ST_SUCCESS;
}

static void show_write_cache(const struct drive* drive) {
    uint32_t off = 0;
    for (uint32_t i = 0; i < drive->hw.num_fn; i++)
        off |= (uint32_t)!drive->functions[i].settings.value[V_WRITE_CACHE] << i;
    hw_no_write_cache(off);
}

/// Off: what was written before is made durable too.
static uint32_t set_write_cache(struct request* r) {
    bool on = r->cmd.dw[11] & 1u;
    if (r->step == 0) {
        *value_of(r, V_WRITE_CACHE) = on;
        show_write_cache(r->drive);
        if (on) return ST_SUCCESS;
        change_begins(r);
        r->step = 1;
    }
    uint32_t status = zero_step(r);  // nothing to zero: a flush
    return status == WAIT ? status : change_ends(r, status, false);
}

static uint32_t set_command_sets(struct request* r) {
    return r->cmd.dw[11] & 0x1ffu ? (uint32_t)ST_IOCS_REJECTED : ST_SUCCESS;
}

/// Data: a byte each of what the host can deal with. With advanced command retry a command for a namespace whose
/// key changes is told to come again later; what else there is belongs to what this drive has not got.
static uint32_t set_host_behavior(struct request* r) {
    uint32_t word;
    uint32_t status = data_receive(r->drive->buffers, &r->cmd, &word, sizeof word, HOST_BEHAVIOR_BYTES);
    if (status != ST_SUCCESS) return status;
    if (word & 0x00fffffeu) return ST_INVALID_FIELD;  // ACRE 0 or 1, ETDAS, LBAFEE 0
    *value_of(r, V_HOST_BEHAVIOR) = word & 1u;
    return ST_SUCCESS;
}

static uint32_t get_host_behavior(struct request* r) {
    put32(page_of(r), select_of(r) ? 0 : *value_of(r, V_HOST_BEHAVIOR));
    return data_send(r->drive->buffers, &r->cmd, 4, HOST_BEHAVIOR_BYTES);
}

// ---------------------------------------------------------------- temperature, events
/// Of several the gravest: 0 reliability, 2 spare below its threshold, 1 temperature.
void features_warn(struct function* fn) {
    uint32_t on = smart_warning(&fn->settings, hw_media_state()) & fn->settings.value[V_EVENTS];
    bool grave = on & (WARNS_RELIABILITY | WARNS_READ_ONLY);
    if (on) event_report(&fn->events, AER_TYPE_SMART, grave ? 0 : on & WARNS_SPARE ? 2 : 1);
}

static uint32_t set_temperature(struct request* r) {
    uint32_t dw11 = r->cmd.dw[11], sensor = dw11 >> 16 & 15u, side = dw11 >> 20 & 3u;
    if ((sensor != 0 && sensor != 15) || side > 1) return ST_INVALID_FIELD;  // there is the composite temperature alone
    if (side) r->fn->settings.temp_under = (uint16_t)dw11;
    else r->fn->settings.temp_over = (uint16_t)dw11;
    features_warn(r->fn);
    return ST_SUCCESS;
}

static uint32_t get_temperature(struct request* r) {
    const struct settings* s = &r->fn->settings;
    uint32_t side = r->cmd.dw[11] >> 20 & 3u;
    bool initial = select_of(r) != 0;
    if ((r->cmd.dw[11] >> 16 & 15u) || side > 1) return ST_INVALID_FIELD;
    if (side) r->dw0 = initial ? 0 : s->temp_under;
    else r->dw0 = initial ? CFG_TEMP_WARNING : s->temp_over;
    return ST_SUCCESS;
}

static uint32_t set_events(struct request* r) {
    *value_of(r, V_EVENTS) = r->cmd.dw[11] & (0x1fu | OAES_NS_ATTR);  // SMART; that a namespace changed
    features_warn(r->fn);
    return ST_SUCCESS;
}

// ---------------------------------------------------------------- queues, interrupts
static uint32_t get_queues(struct request* r) {
    r->dw0 = (r->fn->hw.num_qp - 1u) | (r->fn->hw.num_qp - 1u) << 16;
    return ST_SUCCESS;
}

static uint32_t set_queues(struct request* r) {
    if ((r->cmd.dw[11] & 0xffffu) == 0xffffu || r->cmd.dw[11] >> 16 == 0xffffu) return ST_INVALID_FIELD;
    if (queues_exist(sqs_of(r->drive, r->fn), cqs_of(r->drive, r->fn), r->fn->hw.num_qp)) return ST_SEQUENCE;
    return get_queues(r);
}

static uint32_t set_coalescing(struct request* r) {
    *value_of(r, V_COALESCING) = r->cmd.dw[11] & 0xffffu;
    if (FUNCTIONS == 1 || r->fn->hw.place == 0) hw_coalescing(*value_of(r, V_COALESCING));
    return ST_SUCCESS;
}

static uint32_t set_vector(struct request* r) {
    uint32_t vector = r->cmd.dw[11] & 0xffffu, bit = 1u << (vector & 31u);
    bool off = r->cmd.dw[11] >> 16 & 1u;
    if (vector >= r->fn->hw.num_vec) return ST_INVALID_FIELD;
    if (off) r->fn->settings.vector_cd[vector >> 5] |= bit;
    else r->fn->settings.vector_cd[vector >> 5] &= ~bit;
    hw_vector(&r->fn->hw, vector, off);
    return ST_SUCCESS;
}

static uint32_t get_vector(struct request* r) {
    uint32_t vector = r->cmd.dw[11] & 0xffffu;
    r->dw0 = vector;
    if (vector >= r->fn->hw.num_vec) return ST_INVALID_FIELD;
    if (!select_of(r)) r->dw0 |= (r->fn->settings.vector_cd[vector >> 5] >> (vector & 31u) & 1u) << 16;
    return ST_SUCCESS;
}

// ---------------------------------------------------------------- clock, Keep Alive
static uint32_t set_timestamp(struct request* r) {
    struct settings* s = &r->fn->settings;
    uint32_t words[2];
    uint32_t status = data_receive(r->drive->buffers, &r->cmd, words, 8, 8);
    if (status != ST_SUCCESS) return status;
    s->clock_set = (uint64_t)(words[1] & 0xffffu) << 32 | words[0];
    s->clock_at = hw_time();
    set_clock_by_host(s);
    return ST_SUCCESS;
}

static uint32_t get_timestamp(struct request* r) {
    const struct settings* s = &r->fn->settings;
    bool initial = select_of(r) != 0;
    uint64_t now = s->clock_set + div_u64(hw_time() - s->clock_at, 1000, NULL);
    put64(page_of(r), initial ? 0 : now);
    put16(page_of(r) + 6, initial || !clock_by_host(s) ? 0 : 1u << 1);  // origin: set by the host
    return data_send(r->drive->buffers, &r->cmd, 8, 8);
}

/// Keep Alive counts in steps of its granularity, rounded up.
static uint32_t round_up_ms(uint32_t ms) {
    uint32_t step = CFG_KEEP_ALIVE_100MS * 100u, rest;
    (void)div_u64(ms, step, &rest);
    if (rest == 0) return ms;
    return ms > 0xffffffffu - step ? 0xffffffffu : ms + (step - rest);
}

static uint32_t set_keep_alive(struct request* r) {
    struct settings* s = &r->fn->settings;
    s->value[V_KEEP_ALIVE] = round_up_ms(r->cmd.dw[11]);
    s->keep_alive_us = (uint64_t)s->value[V_KEEP_ALIVE] * 1000u;
    keep_alive_restart(s);
    return ST_SUCCESS;
}

// ---------------------------------------------------------------- the table
static const struct feature features[] = {
    {FEATURE_NUM_QUEUES, .value = VALUES, .set = set_queues, .get = get_queues, .flags = BY_SEL},
    {FEATURE_ASYNC_EVENT, .value = V_EVENTS, .set = set_events, .flags = SAVEABLE},
    {FEATURE_VOLATILE_WC, .value = V_WRITE_CACHE, .initial = 1, .set = set_write_cache, .flags = SAVEABLE | OF_ALL},
    {FEATURE_TEMP_THRESH, .value = VALUES, .set = set_temperature, .get = get_temperature, .flags = BY_SEL},
    {FEATURE_ARBITRATION, .value = V_ARBITRATION, .initial = DEFAULT_ARBITRATION, .set = set_arbitration,
     .flags = SAVEABLE},
    {FEATURE_POWER_MGMT, .value = VALUES, .set = set_power},
    {FEATURE_ERR_RECOVERY, .value = VALUES, .set = set_error_recovery, .get = get_error_recovery,
     .flags = OF_NAMESPACE},
    {FEATURE_IRQ_COALESCE, .value = V_COALESCING, .set = set_coalescing, .flags = SAVEABLE},
    {FEATURE_IRQ_CONFIG, .value = VALUES, .set = set_vector, .get = get_vector, .flags = BY_SEL},
    {FEATURE_WRITE_ATOMIC, .value = V_ATOMICITY, .mask = 1, .flags = SAVEABLE},
    {FEATURE_TIMESTAMP, .value = VALUES, .set = set_timestamp, .get = get_timestamp, .flags = BY_SEL},
    {FEATURE_KATO, .value = V_KEEP_ALIVE, .set = set_keep_alive},
    {FEATURE_HOST_BEHAVIOR, .value = V_HOST_BEHAVIOR, .set = set_host_behavior, .get = get_host_behavior,
     .flags = BY_SEL},
    {FEATURE_IOCS_PROFILE, .value = VALUES, .set = set_command_sets},
    {FEATURE_SW_PROGRESS, .value = V_PROGRESS, .mask = 0xff, .flags = SAVEABLE | PERSISTENT},
    {FEATURE_WRITE_PROTECT, .value = VALUES, .set = set_write_protection, .get = get_write_protection,
     .flags = OF_NAMESPACE | OF_ALL},
    {FEATURE_CSD_CONFIG, FEATURE_CSD_WORD_GAP - 1 - FEATURE_CSD_CONFIG, .value = VALUES, .set = operator_feature_set,
     .get = operator_feature_get, .flags = OF_OPERATORS | OF_ALL},
    {FEATURE_CSD_WORD_IV, FEATURE_CSD_WORD_LAST - FEATURE_CSD_WORD_IV, .value = VALUES, .set = operator_feature_set,
     .get = operator_feature_get, .flags = OF_OPERATORS | OF_ALL},
#if FUNCTIONS > 1
    {FEATURE_FUNCTION_SHARE, .value = VALUES, .set = function_share_set, .get = function_share_get,
     .flags = OF_PRIMARY | BY_SEL | SAVEABLE | OF_ALL},
    {FEATURE_HOST_ID, .value = VALUES, .set = host_id_set, .get = host_id_get, .flags = OF_SEVERAL | BY_SEL | OF_ALL},
    {FEATURE_RESV_MASK, .value = VALUES, .set = notice_mask_set, .get = notice_mask_get,
     .flags = OF_SEVERAL | OF_NAMESPACE},
    {FEATURE_RESV_PERSIST, .value = VALUES, .set = persistence_set, .get = persistence_get,
     .flags = OF_SEVERAL | OF_NAMESPACE | BY_SEL | SAVEABLE | PERSISTENT},
#endif
};
#define FEATURES (sizeof features / sizeof features[0])

static bool is_there(const struct request* r, const struct feature* f) {
    if (FUNCTIONS > 1 && (f->flags & OF_SEVERAL)) return r->drive->hw.num_fn > 1;
    if (FUNCTIONS > 1 && (f->flags & OF_PRIMARY)) return r->fn->hw.place == 0 && r->drive->hw.num_fn > 1;
    return !(f->flags & OF_OPERATORS) || (r->drive->hw.key_slots && (FUNCTIONS == 1 || r->fn->hw.place == 0));
}

static const struct feature* find(const struct request* r) {
    uint32_t id = r->cmd.dw[10] & 0xffu;
    for (const struct feature* f = features; f < features + FEATURES; f++) {
        if (id - f->id <= f->more) return is_there(r, f) ? f : NULL;
    }
    return NULL;
}

/// A feature of namespaces is set in one or in all, and read from one. One of the controller is set with no NSID or all.
static uint32_t check_scope(const struct request* r, const struct feature* f, bool set) {
    uint32_t nsid = nsid_of(r);
    if (f->flags & OF_NAMESPACE) {
        if (nsid == NSID_ALL) return set ? (uint32_t)ST_SUCCESS : ST_INVALID_NS;
        return ns_check_active(r->drive, r->fn, nsid);
    }
    if (!set || nsid == 0 || nsid == NSID_ALL) return ST_SUCCESS;
    return nsid > last_nsid(r->drive) ? ST_INVALID_NS : ST_NOT_NS_SPECIFIC;
}

// ---------------------------------------------------------------- commands
void features_reset(struct drive* drive, struct function* fn) {
    struct settings* s = &fn->settings;
    for (const struct feature* f = features; f < features + FEATURES; f++) {
        if (f->value != VALUES) s->value[f->value] = value_after_reset(s, f);
    }
    for (uint32_t nsid = 1; nsid <= drive->hw.num_ns; nsid++) *error_recovery(fn, nsid) = 0;
    s->temp_over = CFG_TEMP_WARNING;
    s->temp_under = 0;
    s->keep_alive_us = 0;
    for (uint32_t i = 0; i < fn->hw.num_vec; i += 32) {
        if (s->vector_cd[i >> 5] == 0) continue;
        for (uint32_t v = i; v < i + 32; v++) {
            if (s->vector_cd[i >> 5] >> (v & 31u) & 1u) hw_vector(&fn->hw, v, false);
        }
        s->vector_cd[i >> 5] = 0;
    }
    if (FUNCTIONS == 1 || fn->hw.place == 0) {
        hw_arbitration(s->value[V_ARBITRATION]);
        hw_coalescing(s->value[V_COALESCING]);
    }
    if (FUNCTIONS > 1 && fn->hw.place == 0) shares_reset(drive);
    show_write_cache(drive);
}

bool features_change(const struct request* r) {
    const struct feature* f = find(r);
    return f && (r->cmd.dw[10] >> 31 || (f->flags & (OF_ALL | PERSISTENT)));
}

/// The dispatcher forgets CDW11, which may be a word of a key.
uint32_t features_set(struct request* r) {
    const struct feature* f = find(r);
    if (!f) return ST_INVALID_FIELD;
    bool save = r->cmd.dw[10] >> 31;
    if (save && !(f->flags & SAVEABLE)) return ST_NOT_SAVEABLE;
    uint32_t status = check_scope(r, f, true);
    if (status != ST_SUCCESS) return status;
    if (f->set) status = f->set(r);
    else *value_of(r, f->value) = r->cmd.dw[11] & f->mask;
    if (status != ST_SUCCESS || !(save || f->flags & PERSISTENT)) return status;
    if (FUNCTIONS == 1 || f->value != VALUES) {  // else `set` has kept it
        r->fn->settings.saved |= 1u << f->value;
        r->fn->settings.saved_value[f->value] = *value_of(r, f->value);
    }
    return end_saved(r, ST_SUCCESS);
}

uint32_t features_get(struct request* r) {
    enum { CURRENT, DEFAULT, SAVED, CAPABILITIES };
    const struct feature* f = find(r);
    uint32_t select = select_of(r);
    if (!f || select > CAPABILITIES) return ST_INVALID_FIELD;
    if (select == CAPABILITIES) {
        r->dw0 = 1u << 2 | (f->flags & OF_NAMESPACE ? 1u << 1 : 0) | (f->flags & SAVEABLE ? 1u : 0);  // changeable, all
        return ST_SUCCESS;
    }
    uint32_t status = check_scope(r, f, false);
    if (status != ST_SUCCESS) return status;
    if (f->get && (select == CURRENT || (f->flags & BY_SEL))) return f->get(r);
    if (select == SAVED) r->dw0 = value_after_reset(&r->fn->settings, f);
    else r->dw0 = select == CURRENT && f->value != VALUES ? *value_of(r, f->value) : f->initial;
    return ST_SUCCESS;
}

/// Supported, and whom a feature concerns: a namespace or the controller.
uint32_t features_page(struct request* r) {
    const uint32_t scope_namespace = 1u << 20, scope_controller = 1u << 21;

    memset(page_of(r), 0, 1024);
    for (const struct feature* f = features; f < features + FEATURES; f++) {
        for (uint32_t id = f->id; id <= (uint32_t)f->id + f->more && is_there(r, f); id++)
            put32(page_of(r) + 4 * id, 1u | (f->flags & OF_NAMESPACE ? scope_namespace : scope_controller));
    }
    return 1024;
}
