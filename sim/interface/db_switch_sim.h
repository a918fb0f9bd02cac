// SPDX-License-Identifier: Apache-2.0
// C interface of the SSDs that stand beside a simulated device on its switch (db_vcsd). The device is one of db_sim.h,
// and has all of its functions; db_switch_open opens it with its SSDs. These are the drives of db_host_sim.h: a model, a
// db_ssd, or the caller. Its form is that of db_sim.h: Python reads it too.
#ifndef DB_SWITCH_SIM_H
#define DB_SWITCH_SIM_H

#include <stdint.h>

#include "interface/db_host_sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DB_SWITCH_ABI 3

typedef struct db_switch_config {
    uint32_t abi;            ///< DB_SWITCH_ABI
    uint32_t ssd_mrrs_code;  ///< ssd_mrrs = 512: largest read request of the SSDs, 128 to 4096
    uint32_t cq_tlps;        ///< cq_tlps = 32: credits of the device: writes before its core, and as many reads, to 64
    uint32_t cq_bytes;       ///< cq_bytes = 8192: and bytes of writes
    uint64_t window_base;    ///< window = 0x7E0000000000: where its BAR 2 is, 64 MiB for each SSD
    uint64_t ssd_bar;        ///< ssd_bar = 0x7F0000000000: where BAR 0 of the first SSD is
    uint64_t ssd_step;       ///< ssd_step = 65536: from one SSD's to the next one's
    uint64_t left_alone;     ///< left_alone = 0: bits: SSDs that the device does not bring up (its ssd_left_alone)
    uint64_t ssd_pages;  ///< ssd_pages = None: pages of 4 KiB that each SSD has for the device (None: what all have)
} db_switch_config;

enum db_switch_signal {
    DB_SWSIG_PRESENT,  ///< bits: told the device
    DB_SWSIG_UP,       ///< its ssd_up
    DB_SWSIG_DEAD,     ///< its ssd_dead
    DB_SWSIG_FOREIGN,  ///< its ssd_foreign, a count
    DB_SWSIG_RETRIED   ///< its ssd_retried, a count
};

db_sim* db_switch_open(const db_config* cfg, const db_switch_config* sw, const db_host_port* ssds, uint32_t n,
                       char* err, uint32_t len);
void db_switch_power_cycle(db_sim* s);  // of the device and the SSDs; what is on media stays
uint64_t db_switch_signal(const db_sim* s, uint32_t which);

// The host as the owner of an SSD: its registers (4 or 8 bytes; -1: not now; one read of each SSD at once), and memory of
// the host that the SSDs reach.
int db_switch_mmio_write(db_sim* s, uint32_t port, uint32_t off, const void* data, uint32_t len);
int db_switch_mmio_read(db_sim* s, uint32_t port, uint32_t off, uint32_t len);
int db_switch_mmio_poll(db_sim* s, uint32_t port, void* data);  // bytes of the answer, DB_MMIO_*
int db_switch_map(db_sim* s, uint64_t base, uint64_t size, void* ptr);

// The SSDs: as the functions of db_host_sim.h of the same names.
void db_switch_link(db_sim* s, uint32_t port, int up);  // taken away, or brought back and set up by the host
uint32_t db_switch_fault(db_sim* s, uint32_t port, uint32_t kind, int32_t opcode, int32_t admin, uint64_t lba,
                         uint64_t blocks, uint32_t skip, uint32_t count, uint64_t arg);
uint64_t db_switch_fault_hits(db_sim* s, uint32_t port, uint32_t id);
void db_switch_fault_clear(db_sim* s, uint32_t port);
void db_switch_hang(db_sim* s, uint32_t port);
uint8_t* db_switch_media(db_sim* s, uint32_t port);
int db_switch_media_sync(db_sim* s, uint32_t port);
const char* db_switch_trouble(db_sim* s, uint32_t port);  // as db_trouble, of a model's image
int db_switch_ext_next(db_sim* s, uint32_t port, db_ext_msg* out);
int db_switch_ext_answer(db_sim* s, uint32_t port, uint64_t id, uint32_t status, const void* data);
int db_switch_ext_read(db_sim* s, uint32_t port, uint64_t addr, uint32_t len);
int db_switch_ext_poll(db_sim* s, uint32_t port, int handle, void* data);
void db_switch_ext_write(db_sim* s, uint32_t port, uint64_t addr, const void* data, uint32_t len);
void db_switch_ext_sizes(db_sim* s, uint32_t port, uint32_t mps, uint32_t mrrs);

int db_switch_counters(const db_sim* s, uint32_t port, uint64_t* out, int n);
const char* db_switch_counter_name(int i);
void db_switch_link_rate(const db_sim* s, uint32_t port, uint64_t* ticks_per_cycle, uint64_t* ticks_per_byte);

#ifdef __cplusplus
}
#endif
#endif
