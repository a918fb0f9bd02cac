// SPDX-License-Identifier: Apache-2.0
// The hardware as functions: time, sleep, commands in, completions and data out, queues, namespaces, media. It remembers
// nothing. All waits sleep; unless said otherwise they end, too, when a reset is asked for.
#ifndef HW_H
#define HW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/nvme.h"
#include "db_ssd_fw.h"

#define NEVER (~(uint64_t)0)

// Events: hw_events says which there are.
#define EV(name) DB_SSD_FW__EVENT__##name##_bm
#define EV_RESET (EV(EN_FELL) | EV(NSSR) | EV(FLR))

/// What this instance of the hardware has.
struct hw_config {
    uint8_t num_qp, num_ns;  // I/O queue pairs, namespaces
    uint8_t key_slots;       // 0: there are no operators in its data path
    bool uncorrectable;      // Write Uncorrectable: its media can do it
    bool restarted;          // the watchdog has started the processor again since power-on
    uint16_t num_vec;
    uint32_t operators;    // bit n: there is operator n
    uint64_t media_pages;  // 4 KiB each
};
#define MAX_QP 254u
#define MAX_VEC 2048u
#define MAX_NS 64u

/// Entries that the hardware writes, 32 words each: the entry, then its function. 2048-byte aligned.
typedef volatile uint32_t hw_ring_t[16][32];

void hw_init(struct hw_config* config, hw_ring_t* ring);

// ---------------------------------------------------------------- time, events, sleep
uint64_t hw_time(void);
uint32_t hw_events(void);
/// Only CC, EN_FELL, NSSR and DOORBELL_ERR stay until they are cleared.
void hw_clear(uint32_t events);
/// Sleep until one of the events is there or time_us has reached `wake`.
void hw_sleep(uint32_t events, uint64_t wake);
/// Wait for one of `events`. False: a reset was asked for meanwhile, or the time is over.
bool hw_wait(uint32_t events, uint64_t until);
/// The same, whatever else is asked for.
bool hw_wait_only(uint32_t events, uint64_t until);

// ---------------------------------------------------------------- the controller
enum {
    CTL_RUN = DB_SSD_FW__CTL__RUN_bm,         // fetch commands
    CTL_STOP = DB_SSD_FW__CTL__STOP_bm,       // start no new DMA
    CTL_WRR = DB_SSD_FW__CTL__WRR_bm,         // weighted round robin
    CTL_RESET = DB_SSD_FW__CTL__CTRL_RST_bm,  // pulses
    CTL_FUNCTION_RESET = DB_SSD_FW__CTL__FLR_RST_bm,
    CTL_FLR_DONE = DB_SSD_FW__CTL__FLR_DONE_bm,
};
void hw_control(uint32_t control);
/// CSTS.RDY, CFS and SHST.
void hw_status(uint32_t rdy, uint32_t cfs, uint32_t shst);
/// Set CSTS.NSSRO, clear the others.
void hw_subsystem_reset_done(void);
uint32_t hw_cc(void);
uint32_t hw_aqa(void);
uint64_t hw_asq(void);
uint64_t hw_acq(void);

// ---------------------------------------------------------------- commands, completions, data
bool hw_command(hw_ring_t* ring, cmd_t* cmd);
/// Completion of an admin command.
void hw_complete(uint32_t function, uint32_t cid, uint32_t status, uint32_t dw0);
/// Completion of an I/O command that was aborted.
void hw_complete_io(uint32_t function, uint32_t sqid, uint32_t cid, uint32_t status);
enum { COPY_PUT = 0, COPY_ZERO = 1, COPY_GET = 2 };
/// Between RAM and one page of host memory; a read has at most 64 bytes, and fills whole rows of the data path in RAM.
/// False: it failed.
bool hw_copy(uint32_t op, uint32_t function, uint64_t host, const void* ram, uint32_t bytes);

// ---------------------------------------------------------------- queues
/// `entries` is 0's based, here and below.
void hw_create_cq(uint32_t qid, uint64_t base, uint32_t entries, uint32_t vector, bool interrupts);
void hw_create_sq(uint32_t qid, uint64_t base, uint32_t entries, uint32_t cqid, uint32_t priority);
void hw_delete_cq(uint32_t qid);
/// It is fetched from no more, and no entry is made for a command of it.
void hw_delete_sq(uint32_t qid);
/// None of its commands is under way.
bool hw_sq_idle(uint32_t qid);

// ---------------------------------------------------------------- commands under way
/// Abort those of queue `sqid`, or the one of it with identifier `key`; or look for one of namespace `key`. When it is
/// idle again nothing touches the host's memory for what was aborted, and no entry is made for it.
enum {
    HW_ABORT_QUEUE = 0,
    HW_ABORT_COMMAND = DB_SSD_FW__ABORT__BY_CID_bm,
    HW_ABORT_FIND = DB_SSD_FW__ABORT__SEARCH_bm,
};
void hw_abort(uint32_t how, uint32_t sqid, uint32_t key);
bool hw_abort_idle(void);
bool hw_abort_found(void);
/// Abort the command with identifier `cid` if it is among the entries that queue `sqid` still holds. `watch`: which one of
/// CFG_ABORT_LIMIT; one that was begun before is over. It ends with the last of the entries, or with the queue.
void hw_watch(uint32_t watch, uint32_t sqid, uint32_t cid);
void hw_unwatch(uint32_t watch);
bool hw_watching(uint32_t watch);
/// When it is over: there was one.
bool hw_caught(uint32_t watch);

// ---------------------------------------------------------------- settings, as features 01h, 08h and 09h have them
void hw_arbitration(uint32_t value);
void hw_coalescing(uint32_t value);
void hw_write_cache(bool on);
void hw_vector(uint32_t vector, bool not_coalesced);

// ---------------------------------------------------------------- namespaces, media
/// What becomes of its commands: they pass, or end with Namespace Not Ready, Format In Progress, or Namespace Not Ready
/// and the advice to come again after the time that Identify's CRDT1 says.
enum { HW_NS_OPEN, HW_NS_CLOSED, HW_NS_FORMATTING, HW_NS_LATER };
struct hw_namespace {
    bool valid, lba4k, read_only;
    uint32_t gate;
    uint64_t base, blocks;  // bytes of the media; blocks of its size
};
void hw_namespace(uint32_t nsid, const struct hw_namespace* ns);
/// What the media does for the firmware, one thing at a time: begun while hw_media_idle, over when it is idle again. It may
/// wait for a command of the write engine, so for seconds. A reset does not end it. A word is at the start of a line of
/// 64 bytes; the rest of the line is nobody's.
void hw_media_flush_start(void);
void hw_media_zero_start(uint64_t addr, uint64_t bytes);
void hw_media_write_start(uint64_t addr, uint32_t word);
bool hw_media_idle(void);
/// Idle, or so in a moment: most words take no longer.
bool hw_media_idle_soon(void);
/// The last flush or zeroing, the last word went well.
bool hw_media_ok(void);
bool hw_media_word_ok(void);
/// From start to end. False: it failed; of the flush: or a reset was asked for.
bool hw_media_flush(void);
bool hw_media_read(uint64_t addr, uint32_t* word);

// ---------------------------------------------------------------- what I/O commands leave
struct hw_io_error {
    uint32_t sqid, cid, status, nsid;
    uint64_t lba;
};
/// The next record. False: there is none.
bool hw_io_error(struct hw_io_error* error);
struct hw_doorbell_error {
    uint32_t qid;
    bool value;  // a bad value; else there is no such doorbell
};
/// The first since it was last asked for.
struct hw_doorbell_error hw_doorbell_error(void);
struct hw_counters {
    uint64_t read_sectors, written_sectors, reads, writes, media_errors;
};
void hw_counters(struct hw_counters* counters);

#endif
