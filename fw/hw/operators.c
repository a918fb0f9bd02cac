// SPDX-License-Identifier: Apache-2.0
#include "hw/operators.h"

#include "hw/registers.h"

// ---------------------------------------------------------------- keys
void hw_keys_wait(void) { while (CSD->KEY_STATUS & DB_CSD__KEY_STATUS__BUSY_bm); }

bool hw_keys_failed(void) {
    hw_keys_wait();
    return CSD->KEY_STATUS & DB_CSD__KEY_STATUS__FAILED_bm;
}

void hw_key_stage(uint32_t at, uint32_t word) {
    volatile uint32_t* staging = (volatile uint32_t*)(uintptr_t)(FW_EXTENSION + offsetof(db_csd_t, KEY_WORD));
    staging[at] = word;
}

static void key_command(uint32_t control) {
    hw_keys_wait();
    CSD->KEY_CTL = control | DB_CSD__KEY_CTL__GO_bm;
    hw_keys_wait();
}

void hw_key_load(uint32_t slot, uint32_t flags) { key_command(slot | flags | DB_CSD__KEY_CTL__LOAD_bm); }

void hw_key_erase(uint32_t slot) { key_command(slot); }

uint32_t hw_key_slot(uint32_t slot) {
    CSD->KEY_CTL = slot;
    return CSD->KEY_SLOT;
}

// ---------------------------------------------------------------- bindings
void hw_operator_parameters(const uint32_t* four) {
    for (uint32_t i = 0; i < 4; i++) CSD->PARAM[i] = four[i];
}

void hw_bind(uint32_t nsid, uint32_t op, uint32_t slot) {
    CSD->BIND = (nsid - 1) | op << DB_CSD__BIND__OP_bp | slot << DB_CSD__BIND__SLOT_bp | DB_CSD__BIND__GO_bm;
}

void hw_bind_program(uint32_t place, uint32_t which, uint32_t op, uint32_t slot) {
    CSD->BIND = place << 2 | which | op << DB_CSD__BIND__OP_bp | DB_CSD__BIND__OF_PROGRAM_bm |
                slot << DB_CSD__BIND__SLOT_bp | DB_CSD__BIND__GO_bm;
}

// ---------------------------------------------------------------- results
bool hw_reducing(void) { return CSD->KEY_STATUS & DB_CSD__KEY_STATUS__REDUCING_bm; }

bool hw_result(struct hw_result* r) {
    uint32_t first = CSD->RES;  // from here to RES_NEXT it stays
    if (!(first & DB_CSD__RES__VALID_bm)) return false;
    uint32_t end = CSD->RES_STATUS;
    r->number = (first & DB_CSD__RES__TAG_bm) | (end & DB_CSD__RES_STATUS__HIGH_bm);
    r->status = end & DB_CSD__RES_STATUS__STATUS_bm;
    r->command = CSD->RES_CMD;
    r->nsid = CSD->RES_NSID;
    r->bytes = CSD->RES_BYTES;
    r->lba = (uint64_t)CSD->RES_LBA_HI << 32 | CSD->RES_LBA_LO;
    for (uint32_t i = 0; i < 8; i++) r->digest[i] = CSD->RES_DIGEST[i];
    CSD->RES_NEXT = DB_CSD__RES_NEXT__GO_bm;
    return true;
}
