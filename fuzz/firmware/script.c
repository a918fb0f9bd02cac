// SPDX-License-Identifier: Apache-2.0
// What a script's bytes mean. Its head says which hardware there is; then come events, each when the firmware sleeps:
//
//   0 to 3  an admin command: function, opcode, NSID, PRPs, and those of dwords 10 to 15 that a byte has bits for
//   4       bytes in host memory: page, offset, how many, they themselves
//   5       registers: CC, AQA, function-level and subsystem reset
//   6       what the data path has to say: an error, a bad doorbell, an I/O command for the firmware
//   7       time passes; what the media and the slots do from now on; so many of the next events come at once
#include <string.h>

#include "firmware.h"
#include "hardware.h"

static const uint8_t opcodes[] = {
    ADMIN_OPC_DELETE_SQ, ADMIN_OPC_CREATE_SQ, ADMIN_OPC_GET_LOG_PAGE, ADMIN_OPC_DELETE_CQ,    ADMIN_OPC_CREATE_CQ,
    ADMIN_OPC_IDENTIFY,  ADMIN_OPC_ABORT,     ADMIN_OPC_SET_FEATURES, ADMIN_OPC_GET_FEATURES, ADMIN_OPC_ASYNC_EVENT,
    ADMIN_OPC_NS_MGMT,   ADMIN_OPC_NS_ATTACH, ADMIN_OPC_KEEP_ALIVE,   ADMIN_OPC_VIRTUAL_MGMT, ADMIN_OPC_FORMAT_NVM,
    ADMIN_OPC_KEY_LOAD,  ADMIN_OPC_KEY_ERASE, ADMIN_OPC_BIND,         ADMIN_OPC_LOAD_PROGRAM, ADMIN_OPC_VIRTUAL_DRIVE,
    ADMIN_OPC_SSD,
};

static uint32_t place_of(uint32_t byte) { return byte % model.config.num_fn; }

/// A small number mostly, or any.
static uint32_t number(struct script* s) {
    uint32_t byte = take8(s);
    return byte == 0xff ? take32(s) : byte == 0xfe ? 0xffffffffu : byte;
}

/// Within host memory mostly.
static uint64_t address(struct script* s) {
    uint32_t byte = take8(s);
    if (byte >= 0xf8) return (uint64_t)take32(s) << (byte & 7u) * 4u;
    return (byte & 15u) * 4096u + (byte >> 4 & 7u) * 0x204u;
}

static void command(struct script* s, uint32_t place) {
    uint32_t dw[16] = {0}, opcode = take8(s);
    dw[0] = opcode >= 0xc0 ? take32(s) & 0xffffu : opcodes[opcode % sizeof opcodes];
    dw[1] = number(s);
    uint64_t prp1 = address(s), prp2 = address(s);
    dw[6] = (uint32_t)prp1;
    dw[7] = (uint32_t)(prp1 >> 32);
    dw[8] = (uint32_t)prp2;
    dw[9] = (uint32_t)(prp2 >> 32);
    uint32_t which = take8(s);
    for (uint32_t i = 0; i < 6; i++) {
        if (which >> i & 1u) dw[10 + i] = which & 0x40u ? take32(s) : take8(s) | take8(s) << 16;
    }
    if (which & 0x80u) dw[11] = take8(s) | take8(s) << 16 | 1u;
    submit(place, dw);
}

static void host_bytes(struct script* s) {
    uint32_t at = (take8(s) & 15u) * 4096u + take8(s) * 16u, count = take8(s);
    for (uint32_t i = 0; i < count && at + i < HOST_BYTES; i++) model.host[at + i] = (uint8_t)take8(s);
}

static void registers(struct script* s) {
    uint32_t what = take8(s), place = place_of(take8(s));
    struct model_function* f = &model.functions[place];
    switch (what & 7u) {
        case 0: f->wants = 0x460001u; break;  // once RDY is 0
        case 1: write_cc(place, 0); break;
        case 2: write_cc(place, 0x464001u); break;  // a normal shutdown
        case 3: write_cc(place, 0x468001u); break;  // an abrupt one
        case 4: ask_flr(place); break;
        case 5: model.events |= EV(NSSR); break;
        case 6: f->aqa = take32(s); break;
        default: write_cc(place, take32(s)); break;
    }
    if (what & 5u && (what & 7u) == 5u) {
        for (uint32_t i = 0; i < FUNCTIONS; i++) model.functions[i].ready = false;
    }
    if (!f->aqa && !(what & 0x80u)) f->aqa = 0x001f001fu;
}

static void data_path(struct script* s, uint32_t place) {
    uint32_t what = take8(s);
    struct hw_io_error* e = &model.error;
    *e = (struct hw_io_error){.queue = what & 0x40u ? take8(s) : place,
                              .cid = take8(s),
                              .status = number(s) & 0x7fffu,
                              .nsid = number(s),
                              .lba = number(s)};
    model.has_error = what & 1u;
    model.has_doorbell_error = what & 2u;
#if FUNCTIONS > 1
    if (!(what & 4u) || model.io_count == model.config.num_cmds || model.functions[place].cc == 0) return;
    uint32_t slot = 0;
    while (slot < 255u && model.io_slot[slot]) slot++;
    if (model.io_slot[slot]) return;
    static const uint8_t kinds[] = {OPC_RESV_REGISTER, OPC_RESV_REPORT, OPC_RESV_ACQUIRE, OPC_RESV_RELEASE};
    struct hw_io_command* c = &model.io[model.io_count++];
    *c = (struct hw_io_command){.slot = (uint8_t)slot, .queue = (uint8_t)(take8(s))};
    uint64_t prp1 = address(s), prp2 = address(s);
    c->cmd.dw[0] = kinds[what >> 3 & 3u] | (what & 0x80u ? 0x4000u : 0) | e->cid << 16;
    c->cmd.dw[1] = 1u + e->nsid % model.config.num_ns;  // the hardware has checked it
    c->cmd.dw[6] = (uint32_t)prp1;
    c->cmd.dw[7] = (uint32_t)(prp1 >> 32);
    c->cmd.dw[8] = what & 0x80u ? take32(s) : (uint32_t)prp2;
    c->cmd.dw[9] = what & 0x80u ? take32(s) : (uint32_t)(prp2 >> 32);
    c->cmd.dw[10] = take8(s) | take8(s) << 8 | take8(s) << 24;
    c->cmd.dw[11] = e->lba & 1u;
    c->cmd.function = hw_number(place);
    model.io_slot[slot] = true;
#endif
}

static void event(struct script* s) {
    uint32_t byte = take8(s), place = place_of(byte >> 3);
    switch (byte & 7u) {
        case 4: host_bytes(s); break;
        case 5: registers(s); break;
        case 6: data_path(s, place); break;
        case 7: {
            uint32_t how = take8(s);
            model.time += (uint64_t)take8(s) << 16;
            model.burst = how >> 4;
            model.media_fails = how & 1u;
            model.abort_found = how & 2u;
            if (model.media_busy) model.media_busy += how >> 2 & 3u;
            break;
        }
        default: command(s, place);
    }
}

bool next_event(void) {
    struct script* s = &model.script;
    if (!s->left) return false;
    model.burst = 0;
    event(s);
    while (model.burst && s->left) {
        uint32_t left = model.burst - 1u;
        event(s);
        model.burst = left;
    }
    return true;
}

/// A part of what the hardware may have, as the tops are built.
static void choose_hardware(struct script* s) {
    uint32_t how = take8(s), sizes = take8(s);
    model.config = (struct hw_config){
        .num_qp = (uint8_t)(FUNCTIONS > 1 ? 32u + (sizes & 31u) : 1u + (sizes & 63u)),
        .num_ns = (uint8_t)(EXTENTS ? 1u + sizes % 48u : 1u + sizes % 64u),
        .key_slots = (uint8_t)(how & 1u ? FUNCTIONS > 1 ? 64 : 16 : 0),
        .uncorrectable = how & 2u,
        .sgl = how & 4u,
        .restarted = how & 8u,
        .num_vec = (uint16_t)(FUNCTIONS > 1 ? 33 : 65),
        .num_fn = FUNCTIONS,
        .vf_vec = 8,
        .num_cmds = 128,
        .operators = how & 1u ? 0x3fu : 0,
        .media_pages = (how & 16u && !EXTENTS ? 64u : 0x2000u) + (how >> 5 & 7u) * 0x100u,
    };
}

void run_firmware(void) {
    choose_hardware(&model.script);
    model.word_ok = true;
    firmware_power_on(0xa5);
    if (setjmp(model.end) == 0) firmware_main();
}
