// SPDX-License-Identifier: Apache-2.0
// Media that behave like NAND flash: how they are described, what they have counted, and a model alone, without a drive
// around it (db_nand_open), for measurements that need no RTL. docs/media.md says what each figure means.
#ifndef DB_NAND_H
#define DB_NAND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Fields are options of a profile (YAML); c_header.py reads them.
typedef struct db_nand_config {
    uint32_t channels;               ///< channels = 8: buses between controller and dies
    uint32_t ways;                   ///< ways = 4: dies on each
    uint32_t planes;                 ///< planes = 2: of a die; they program and erase together
    uint32_t pages;                  ///< pages = 256: of a block
    uint32_t page_bytes;             ///< page_bytes = 16384: of a page, without its spare bytes
    uint32_t bus_mbps;               ///< bus_mbps = 400: MB/s of a channel
    uint32_t read_ns;                ///< read_us = 50: tR, from the array to the page register
    uint32_t program_ns;             ///< program_us = 600: tPROG, of a page of all planes
    uint32_t erase_ns;               ///< erase_us = 3000: tBERS, of a block of all planes
    uint32_t suspends;               ///< suspends = 0: how often reads may suspend a program or an erase; 0: never
    uint32_t suspend_ns;             ///< suspend_us = 20: from a suspension to the first read
    uint32_t plane_reads;            ///< plane_reads = False: planes read different pages at the same time
    uint32_t controller_ns;          ///< controller_us = 1: added to each access: look-up, correction, firmware
    uint32_t buffer_units;           ///< buffer_units = 4096: of the write buffer, 4 KiB each
    uint32_t power_loss_safe;        ///< power_loss_safe = True: the buffer lasts, so a flush has nothing to do
    uint32_t over_provisioning_ppm;  ///< over_provisioning = 0.07: room for stale data, as a part of the capacity
    uint32_t cost_benefit;           ///< cost_benefit = False: collect by cost and benefit; else greedily
    uint32_t level;                  ///< level = 0: even out wear when blocks differ by so many erases; 0: never
    uint32_t endurance;              ///< endurance = 3000: erases that a block is made for
    uint32_t read_disturb;           ///< read_disturb = 100000: reads of a block until it is written anew; 0: no limit
    uint32_t bad_blocks_ppm;         ///< bad_blocks = 0.0: part of the blocks that is bad from the start
    uint32_t precondition;  ///< precondition = 'filled': empty, filled (once, in order) or steady (random writes)
    uint32_t seed;          ///< seed = 1: of bad blocks, endurance and preconditioning
} db_nand_config;

enum db_nand_precondition { DB_NAND_EMPTY, DB_NAND_FILLED, DB_NAND_STEADY };

// What has happened since the start, and how the media stands.
typedef struct db_nand_figures {
    uint64_t units;         ///< 4 KiB each, that the host sees
    uint64_t slots;         ///< and that good blocks have room for
    uint64_t reserve;       ///< of these, what collection works with
    uint64_t valid;         ///< units that hold data
    uint64_t host_reads;    ///< reads of the host, whole or in parts
    uint64_t buffer_reads;  ///< of these, answered by the write buffer
    uint64_t empty_reads;   ///< of what was never written
    uint64_t host_units;    ///< units that left the write buffer
    uint64_t buffer_hits;   ///< writes that met a unit still in it
    uint64_t merge_reads;   ///< units that were written in part and had to be read first
    uint64_t moved_units;   ///< by collection
    uint64_t padding;       ///< units of programs that hold nothing
    uint64_t senses;        ///< pages read from an array for the host
    uint64_t move_senses;   ///< and for collection
    uint64_t programs;      ///< of pages of all planes
    uint64_t erases;        ///< of blocks of all planes
    uint64_t suspensions;   ///< of programs and erases
    uint64_t collections;   ///< blocks that were collected
    uint64_t levelled;      ///< of these, to even out wear
    uint64_t refreshed;     ///< and because of read disturb
    uint64_t bad;           ///< blocks that are bad, from the start
    uint64_t retired;       ///< and that have become it
    uint64_t erase_most;    ///< of any block
    uint64_t erase_least;
    uint64_t erase_sum;       ///< of all good blocks
    uint64_t good;            ///< how many these are
    uint64_t percent_used;    ///< erases of a block on average, in percent of its endurance
    uint64_t waiting_writes;  ///< that find no room in the write buffer now
} db_nand_figures;

typedef struct db_nand db_nand;

db_nand* db_nand_open(const db_nand_config* cfg, uint64_t bytes, char* why, uint32_t why_len);
void db_nand_close(db_nand* n);

// A host that keeps `depth` accesses of `bytes` in flight, at the addresses `at`: reads, or writes. The picoseconds that it
// took; `each`, if not null: of each of them.
uint64_t db_nand_play(db_nand* n, const uint64_t* at, uint32_t count, uint32_t bytes, int write, uint32_t depth,
                      uint64_t* each);
uint64_t db_nand_flush(db_nand* n);   // the picoseconds that it took
uint64_t db_nand_settle(db_nand* n);  // the same, until nothing is under way
int db_nand_trim(db_nand* n, uint64_t at, uint64_t bytes);
void db_nand_read_figures(const db_nand* n, db_nand_figures* out);
uint64_t db_nand_check(const db_nand* n);  // rules of the mapping that do not hold: 0

#ifdef __cplusplus
}
#endif
#endif
