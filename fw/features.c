// SPDX-License-Identifier: Apache-2.0
// Set Features and Get Features (Base 2.0, 5.15 and 5.27). No value outlives power: none is saveable.
#include "fw.h"

enum {
    F_ARBITRATION = 0x01, F_POWER = 0x02, F_TEMPERATURE = 0x04, F_ERROR_RECOVERY = 0x05, F_WRITE_CACHE = 0x06,
    F_QUEUES = 0x07, F_COALESCING = 0x08, F_VECTOR = 0x09, F_ATOMICITY = 0x0a, F_EVENTS = 0x0b, F_TIMESTAMP = 0x0e,
    F_KEEP_ALIVE = 0x0f, F_COMMAND_SETS = 0x19, F_PROGRESS = 0x80,
};

#define DEFAULT_ARBITRATION 0x07070703u  // equal weights, bursts of 8

static uint32_t arbitration, error_recovery, coalescing, atomicity, events, keep_alive_ms, progress;
static uint16_t temp_over, temp_under;
static uint32_t vector_cd[MAX_VEC / 32];  // a bit a vector: not coalesced
static uint64_t keep_alive_us;
static uint64_t clock_set, clock_at;      // timestamp in ms, and the time_us when it was set
static bool clock_by_host;

bool feature_known(uint32_t fid)
{
    switch (fid) {
    case F_ARBITRATION: case F_POWER: case F_TEMPERATURE: case F_ERROR_RECOVERY: case F_WRITE_CACHE: case F_QUEUES:
    case F_COALESCING: case F_VECTOR: case F_ATOMICITY: case F_EVENTS: case F_TIMESTAMP: case F_KEEP_ALIVE:
    case F_COMMAND_SETS: case F_PROGRESS:
        return true;
    default:
        return csd_feature(fid);
    }
}

uint32_t feature_events(void) { return events; }

uint32_t feature_temperature(bool under) { return under ? temp_under : temp_over; }

uint64_t feature_keep_alive_us(void) { return keep_alive_us; }

static uint32_t default_of(uint32_t fid, uint32_t dw11)
{
    switch (fid) {
    case F_ARBITRATION: return DEFAULT_ARBITRATION;
    case F_TEMPERATURE: return dw11 >> 20 & 3u ? 0 : CFG_TEMP_WARNING;
    case F_WRITE_CACHE: return 1;
    case F_QUEUES:      return (num_qp - 1u) | (num_qp - 1u) << 16;
    case F_VECTOR:      return dw11 & 0xffffu;
    default:            return 0;
    }
}

static void apply(void)
{
    HW->ARB = arbitration;
    HW->IC = coalescing;
}

static void write_vector(uint32_t vector, uint32_t cd)
{
    HW->ICV = vector | cd << DB_SSD_FW__ICV__CD_bp | DB_SSD_FW__ICV__GO_bm;
}

/// All but the software progress marker and the clock, which stay over a controller reset.
void features_reset(void)
{
    arbitration = DEFAULT_ARBITRATION;
    error_recovery = coalescing = atomicity = events = keep_alive_ms = 0;
    temp_over = CFG_TEMP_WARNING;
    temp_under = 0;
    keep_alive_us = 0;
    for (uint32_t i = 0; i < num_vec; i += 32) {
        if (vector_cd[i >> 5] == 0)
            continue;
        for (uint32_t v = i; v < i + 32; v++) {
            if (vector_cd[i >> 5] >> (v & 31u) & 1u)
                write_vector(v, 0);
        }
        vector_cd[i >> 5] = 0;
    }
    apply();
}

static uint32_t set_vector(uint32_t dw11)
{
    uint32_t vector = dw11 & 0xffffu, bit = 1u << (vector & 31u);
    if (vector >= num_vec)
        return ST_INVALID_FIELD;
    if (dw11 >> 16 & 1u)
        vector_cd[vector >> 5] |= bit;
    else
        vector_cd[vector >> 5] &= ~bit;
    write_vector(vector, dw11 >> 16 & 1u);
    return ST_SUCCESS;
}

static uint32_t set_temperature(uint32_t dw11)
{
    uint32_t sensor = dw11 >> 16 & 15u, side = dw11 >> 20 & 3u;
    if ((sensor != 0 && sensor != 15) || side > 1)
        return ST_INVALID_FIELD;  // there is the composite temperature alone
    if (side)
        temp_under = (uint16_t)dw11;
    else
        temp_over = (uint16_t)dw11;
    if (smart_warning() & events)
        aer_event(AER_SMART, 1);
    return ST_SUCCESS;
}

static uint32_t set_timestamp(const cmd_t *cmd)
{
    data_t d;
    uint32_t words[2];
    uint32_t status = data_open(&d, cmd, 8);
    if (status == ST_SUCCESS)
        status = data_get(&d, words, 8);
    if (status != ST_SUCCESS)
        return status;
    clock_set = (uint64_t)(words[1] & 0xffffu) << 32 | words[0];
    clock_at = hw_time();
    clock_by_host = true;
    return ST_SUCCESS;
}

static uint32_t get_timestamp(const cmd_t *cmd, uint32_t select)
{
    uint64_t now = clock_set + div_u64(hw_time() - clock_at, 1000, NULL);
    if (select)
        now = 0;
    put64(page, now);
    put16(page + 6, select || !clock_by_host ? 0 : 1u << 1);  // origin: set by the host
    return data_send(cmd, 8, 8);
}

/// Keep Alive counts in steps of its granularity, rounded up.
static uint32_t round_up_ms(uint32_t ms)
{
    uint32_t step = CFG_KEEP_ALIVE_100MS * 100u, rest;
    (void)div_u64(ms, step, &rest);
    if (rest == 0)
        return ms;
    return ms > 0xffffffffu - step ? 0xffffffffu : ms + (step - rest);
}

uint32_t features_set(const cmd_t *cmd, uint32_t *dw0)
{
    uint32_t fid = cmd->dw[10] & 0xffu, dw11 = cmd->dw[11];
    if (!feature_known(fid))
        return ST_INVALID_FIELD;
    if (cmd->dw[10] >> 31)
        return ST_NOT_SAVEABLE;
    if (csd_feature(fid))
        return csd_feature_set(fid, dw11);
    switch (fid) {
    case F_ARBITRATION:
        arbitration = dw11 & 0xffffff07u;
        apply();
        return ST_SUCCESS;
    case F_POWER:
        return dw11 & 0x1fu ? (uint32_t)ST_INVALID_FIELD : ST_SUCCESS;  // there is power state 0
    case F_TEMPERATURE:
        return set_temperature(dw11);
    case F_ERROR_RECOVERY:
        if (cmd_nsid(cmd) != 0 && cmd_nsid(cmd) != NVME_NSID_ALL && !ns_active(cmd_nsid(cmd)))
            return ns_check_active(cmd_nsid(cmd));
        if (dw11 >> 16 & 1u)
            return ST_INVALID_FIELD;  // DULBE: deallocated blocks read as zeros
        error_recovery = dw11 & 0xffffu;
        return ST_SUCCESS;
    case F_WRITE_CACHE:
        return dw11 & 1u ? ST_SUCCESS : ST_NOT_CHANGEABLE;
    case F_QUEUES:
        if ((dw11 & 0xffffu) == 0xffffu || dw11 >> 16 == 0xffffu)
            return ST_INVALID_FIELD;
        if (queues_exist())
            return ST_SEQUENCE;
        *dw0 = default_of(F_QUEUES, 0);
        return ST_SUCCESS;
    case F_COALESCING:
        coalescing = dw11 & 0xffffu;
        apply();
        return ST_SUCCESS;
    case F_VECTOR:
        return set_vector(dw11);
    case F_ATOMICITY:
        atomicity = dw11 & 1u;
        return ST_SUCCESS;
    case F_EVENTS:
        events = dw11 & (0x1fu | EVENT_NS_ATTRIBUTE);  // SMART warnings; of the notices, that a namespace changed
        if (smart_warning() & events)
            aer_event(AER_SMART, 1);
        return ST_SUCCESS;
    case F_TIMESTAMP:
        return set_timestamp(cmd);
    case F_KEEP_ALIVE:
        keep_alive_ms = round_up_ms(dw11);
        keep_alive_us = (uint64_t)keep_alive_ms * 1000u;
        keep_alive_restart();
        return ST_SUCCESS;
    case F_COMMAND_SETS:
        return dw11 & 0x1ffu ? (uint32_t)ST_IOCS_REJECTED : ST_SUCCESS;
    default:
        progress = dw11 & 0xffu;
        return ST_SUCCESS;
    }
}

static uint32_t capabilities(uint32_t fid)
{
    bool fixed = fid == F_WRITE_CACHE;
    return (fixed ? 0 : 1u << 2) | (fid == F_ERROR_RECOVERY ? 1u << 1 : 0);
}

uint32_t features_get(const cmd_t *cmd, uint32_t *dw0)
{
    uint32_t fid = cmd->dw[10] & 0xffu, select = cmd->dw[10] >> 8 & 7u, dw11 = cmd->dw[11];
    if (!feature_known(fid) || select > 3)
        return ST_INVALID_FIELD;
    if (select == 3) {
        *dw0 = capabilities(fid);
        return ST_SUCCESS;
    }
    if (fid == F_TIMESTAMP)
        return get_timestamp(cmd, select);
    if (fid == F_VECTOR && (dw11 & 0xffffu) >= num_vec)
        return ST_INVALID_FIELD;
    if (fid == F_TEMPERATURE && ((dw11 >> 16 & 15u) || (dw11 >> 20 & 3u) > 1))
        return ST_INVALID_FIELD;
    if (fid == F_ERROR_RECOVERY && cmd_nsid(cmd) != 0 && cmd_nsid(cmd) != NVME_NSID_ALL && !ns_active(cmd_nsid(cmd)))
        return ns_check_active(cmd_nsid(cmd));
    *dw0 = default_of(fid, dw11);
    if (select)
        return ST_SUCCESS;
    if (csd_feature(fid))
        *dw0 = csd_feature_get(fid);
    switch (fid) {
    case F_ARBITRATION:    *dw0 = arbitration; break;
    case F_TEMPERATURE:    *dw0 = feature_temperature(dw11 >> 20 & 3u); break;
    case F_ERROR_RECOVERY: *dw0 = error_recovery; break;
    case F_COALESCING:     *dw0 = coalescing; break;
    case F_VECTOR:         *dw0 |= (vector_cd[(dw11 & 0xffffu) >> 5] >> (dw11 & 31u) & 1u) << 16; break;
    case F_ATOMICITY:      *dw0 = atomicity; break;
    case F_EVENTS:         *dw0 = events; break;
    case F_KEEP_ALIVE:     *dw0 = keep_alive_ms; break;
    case F_PROGRESS:       *dw0 = progress; break;
    default: break;
    }
    return ST_SUCCESS;
}
