// SPDX-License-Identifier: Apache-2.0
// Operators in the data path (db_csd; docs/csd/integration.md), where there are any: their keys, bindings and results.
#ifndef HW_OPERATORS_H
#define HW_OPERATORS_H

#include <stdbool.h>
#include <stdint.h>

#include "db_csd.h"

// A key: K1 and K2 of 8 words each, then the initial vector.
enum { KEY_K2 = 8, KEY_IV = 16, KEY_WORDS = 20 };
enum { KEY_256 = DB_CSD__KEY_CTL__K256_bm, KEY_CTR = DB_CSD__KEY_CTL__CTR_bm, KEY_XTS = DB_CSD__KEY_CTL__XTS_bm };

/// What a reducer has found.
struct hw_result {
    uint32_t number, command, nsid, bytes, status;
    uint64_t lba;
    uint32_t digest[8];
};

/// Wait until words can be staged, and read what a slot holds.
void hw_keys_wait(void);
/// The self-test of AES has failed: no key can be loaded until power-on.
bool hw_keys_failed(void);
void hw_key_stage(uint32_t at, uint32_t word);
/// What has been staged, to its slot. Flags: KEY_256, KEY_CTR, KEY_XTS.
void hw_key_load(uint32_t slot, uint32_t flags);
void hw_key_erase(uint32_t slot);
/// What it holds, as log page ECh has it.
uint32_t hw_key_slot(uint32_t slot);

/// What the next binding's operator gets; the table of the hardware keeps it.
void hw_operator_parameters(const uint32_t* four);
void hw_bind(uint32_t nsid, uint32_t op, uint32_t slot);
/// What a program of near-storage commands does before all else: OP_PASS, or AES; the first two parameters are added to the
/// number of a block, the third is 1 to encrypt.
void hw_bind_program(uint32_t place, uint32_t which, uint32_t op, uint32_t slot);

/// The submission queue of its command: the hardware's number, until another is set.
static inline uint32_t hw_result_queue(const struct hw_result* r) {
    return (r->command & DB_CSD__RES_CMD__SQID_bm) >> DB_CSD__RES_CMD__SQID_bp;
}
static inline void hw_result_set_queue(struct hw_result* r, uint32_t queue) {
    r->command = (r->command & ~DB_CSD__RES_CMD__SQID_bm) | queue << DB_CSD__RES_CMD__SQID_bp;
}

/// A reducer is at work.
bool hw_reducing(void);
#define HW_RESULTS 64u  // that wait, at most
/// Take the next result. False: there is none.
bool hw_result(struct hw_result* result);

#endif
