// SPDX-License-Identifier: Apache-2.0
// The hardware as functions: time, sleep, commands in, completions and data out, queues, namespaces, media. It remembers
// nothing. All waits sleep; unless said otherwise they end, too, when a reset is asked for.
#ifndef HW_H
#define HW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/config.h"
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
    bool sgl;                // I/O commands may have SGLs
    bool restarted;          // the watchdog has started the processor again since power-on
    uint16_t num_vec;        // of the PF
    uint8_t num_fn, vf_vec;  // functions; vectors of each VF
    uint16_t num_cmds;       // command slots, where there are several functions
    uint32_t operators;      // bit n: there is operator n
    uint64_t media_pages;    // 4 KiB each
};
#define MAX_QP 254u
#define MAX_VEC 2048u
#define MAX_NS 64u

/// Entries that the hardware writes, 32 words each: the entry, then its function. 2048-byte aligned. With several functions
/// 16 words each, the function in place of dword 2, which is nobody's; 1024-byte aligned.
typedef volatile uint32_t hw_ring_t[16][FUNCTIONS > 1 ? 16 : 32];

void hw_init(struct hw_config* config, hw_ring_t* ring);

/// A function as the hardware knows it. Its I/O queues are 1 to num_qp for its host, and so many behind `before_first` among
/// those of all; so are its vectors, from first_vec on. There is a doorbell for no other queue.
struct hw_function {
    uint8_t place, number;  // 0 the PF, 1 the first VF; PCIe's number
    uint8_t num_qp, before_first;
    uint16_t num_vec, first_vec;
};
static inline uint32_t hw_place(uint32_t number) { return FUNCTIONS > 1 && number ? number - (FIRST_VF - 1) : 0; }
static inline uint32_t hw_number(uint32_t place) { return place ? place + (FIRST_VF - 1) : 0; }
/// Tell the hardware which queues it has.
void hw_function_queues(const struct hw_function* f);
/// What it gets of what all share: turns by `weight`, 1 to 255; command slots from `min`, which it always gets, to `max`, at
/// least 1. All `min` together are to leave a quarter of the slots free. Its commands should go to an engine within
/// `deadline_us`, up to 65535, 0 for any time. CTL_RESET takes it back, and limits too.
void hw_function_share(const struct hw_function* f, uint32_t weight, uint32_t min, uint32_t max, uint32_t deadline_us);
/// Its limits: commands and bytes a second, 0 for none; and how many it may have at once after a time without any, at least 1.
/// What the hardware cannot count becomes the most that it can: 256 million commands, 65 GB, bursts of 131071 and 256 MiB.
void hw_function_limit(const struct hw_function* f, uint32_t iops, uint32_t burst, uint64_t bytes_per_s,
                       uint64_t burst_bytes);

// ---------------------------------------------------------------- where there are several functions
/// Places of those that have something in hw_function_events, a bit each.
uint32_t hw_functions_pending(void);
enum {
    FN_CC = DB_SSD_FW__FN_EVENT__CC_bm,
    FN_EN_FELL = DB_SSD_FW__FN_EVENT__EN_FELL_bm,  // or the function is no more
    FN_FLR = DB_SSD_FW__FN_EVENT__FLR_bm,
    FN_ENABLE = DB_SSD_FW__FN_EVENT__ENABLE_bm,  // it is there
};
/// FN_CC and FN_EN_FELL stay until they are cleared.
uint32_t hw_function_events(const struct hw_function* f);
void hw_function_clear(const struct hw_function* f, uint32_t events);
/// Those at these places send nothing, until it is called again.
void hw_functions_off(uint32_t places);
/// Registers and vectors as after power-on.
void hw_function_reset(const struct hw_function* f);
/// The function-level reset that was asked for is done.
void hw_function_reset_done(const struct hw_function* f);

// ---------------------------------------------------------------- time, events, sleep
uint64_t hw_time(void);
uint32_t hw_events(void);
/// Only CC, EN_FELL, NSSR and DOORBELL_ERR stay until they are cleared.
void hw_clear(uint32_t events);
/// Sleep until one of the events is there or time_us has reached `wake`.
void hw_sleep(uint32_t events, uint64_t wake);
/// Instead of a sleep, where there is more to do: the watchdog sees that the loop turns, and TIMER comes at `wake`.
void hw_turn(uint64_t wake);
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
void hw_status(const struct hw_function* f, uint32_t rdy, uint32_t cfs, uint32_t shst);
/// Set CSTS.NSSRO, clear the others.
void hw_subsystem_reset_done(const struct hw_function* f);
uint32_t hw_cc(const struct hw_function* f);
uint32_t hw_aqa(const struct hw_function* f);
uint64_t hw_asq(const struct hw_function* f);
uint64_t hw_acq(const struct hw_function* f);

// ---------------------------------------------------------------- commands, completions, data
bool hw_command(hw_ring_t* ring, cmd_t* cmd);
/// Where there are several functions: those of the function with this number that are in the ring become nobody's.
void hw_commands_forget(hw_ring_t* ring, uint32_t function);
/// Completion of an admin command of the function with this number.
void hw_complete(uint32_t function, uint32_t cid, uint32_t status, uint32_t dw0);
/// Completion of an I/O command that was aborted.
void hw_complete_io(const struct hw_function* f, uint32_t sqid, uint32_t cid, uint32_t status);
enum { COPY_PUT = 0, COPY_ZERO = 1, COPY_GET = 2 };
/// Between RAM and one page of host memory; a read has at most 64 bytes, and fills whole rows of the data path in RAM.
/// False: it failed.
bool hw_copy(uint32_t op, uint32_t function, uint64_t host, const void* ram, uint32_t bytes);

// ---------------------------------------------------------------- queues
/// `entries` is 0's based, here and below; queue 0 is the function's admin queue.
void hw_create_cq(const struct hw_function* f, uint32_t qid, uint64_t base, uint32_t entries, uint32_t vector,
                  bool interrupts);
void hw_create_sq(const struct hw_function* f, uint32_t qid, uint64_t base, uint32_t entries, uint32_t cqid,
                  uint32_t priority);
void hw_delete_cq(const struct hw_function* f, uint32_t qid);
/// It is fetched from no more, and no entry is made for a command of it.
void hw_delete_sq(const struct hw_function* f, uint32_t qid);
/// None of its commands is under way.
bool hw_sq_idle(const struct hw_function* f, uint32_t qid);

// ---------------------------------------------------------------- commands under way
/// Abort those of queue `sqid`, or the one of it with identifier `key`, or all of the function; or look for one of namespace
/// `key`, or of the function, that is not done (its entry may wait for room). When it is idle again nothing touches the
/// host's memory for what was aborted, and no entry is made for it.
enum {
    HW_ABORT_QUEUE = 0,
    HW_ABORT_COMMAND = DB_SSD_FW__ABORT__BY_CID_bm,
    HW_ABORT_FUNCTION = DB_SSD_FW__ABORT__BY_FN_bm,
    HW_ABORT_FIND = DB_SSD_FW__ABORT__SEARCH_bm,
    HW_ABORT_FIND_FUNCTION = DB_SSD_FW__ABORT__SEARCH_bm | DB_SSD_FW__ABORT__BY_FN_bm,
};
void hw_abort(const struct hw_function* f, uint32_t how, uint32_t sqid, uint32_t key);
bool hw_abort_idle(void);
bool hw_abort_found(void);
/// Abort the command with identifier `cid` if it is among the entries that queue `sqid` still holds. `watch`: which one of
/// CFG_ABORT_LIMIT; one that was begun before is over. It ends with the last of the entries, or with the queue.
void hw_watch(const struct hw_function* f, uint32_t watch, uint32_t sqid, uint32_t cid);
void hw_unwatch(uint32_t watch);
bool hw_watching(uint32_t watch);
/// When it is over: there was one.
bool hw_caught(uint32_t watch);

// ---------------------------------------------------------------- settings, as features 01h, 08h and 09h have them
void hw_arbitration(uint32_t value);
void hw_coalescing(uint32_t value);
/// Not for the functions at these places, a bit each.
void hw_no_write_cache(uint32_t places);
void hw_vector(const struct hw_function* f, uint32_t vector, bool not_coalesced);

// ---------------------------------------------------------------- namespaces, media
/// What becomes of its commands: they pass, or end with Namespace Not Ready, Format In Progress, or Namespace Not Ready
/// and the advice to come again after the time that Identify's CRDT1 says.
enum { HW_NS_OPEN, HW_NS_CLOSED, HW_NS_FORMATTING, HW_NS_LATER };
struct hw_namespace {
    uint32_t attached;  // functions at these places have it, a bit each
    bool lba4k, read_only;
    uint32_t gate;
    uint64_t base, blocks;  // bytes of the media; blocks of its size
#if SLM
    uint32_t set;  // 0 NVM; HW_SET_MEMORY, HW_SET_PROGRAMS: `base` is an address, `blocks` counts bytes
#endif
#if FUNCTIONS > 1
    uint32_t barred;  // functions at these places may not write, as another host has a reservation
    bool exclusive;   // ... nor read
#endif
};
enum { HW_SET_MEMORY = 1, HW_SET_PROGRAMS = 2 };
void hw_namespace(uint32_t nsid, const struct hw_namespace* ns);
/// What the media does for the firmware, one thing at a time: begun while hw_media_idle, over when it is idle again. It may
/// wait for a command of the write engine, so for seconds. A reset does not end it. A word is at the start of a line of
/// 64 bytes; the rest of the line is nobody's.
/// spared: SSDs, a bit each, that may fail (db_vcsd).
void hw_media_flush_start(uint32_t spared);
/// ... of what has been zeroed.
void hw_zeroes_flush_start(void);
/// ... of the settings area alone.
void hw_settings_flush_start(void);
void hw_media_zero_start(uint64_t addr, uint64_t bytes);
void hw_media_write_start(uint64_t addr, uint32_t word);
bool hw_media_idle(void);
/// Idle, or so in a moment: most words take no longer.
bool hw_media_idle_soon(void);
/// The last flush or zeroing, the last word went well.
bool hw_media_ok(void);
bool hw_media_word_ok(void);
/// From start to end. False: it failed; of the flush: or a reset was asked for.
bool hw_media_flush(uint32_t spared);
bool hw_media_read(uint64_t addr, uint32_t* word);

// ---------------------------------------------------------------- what I/O commands leave
struct hw_io_error {
    uint32_t queue, cid, status, nsid;  // queue: its number among those of all functions
    uint64_t lba;
};
/// The next record. False: there is none.
bool hw_io_error(struct hw_io_error* error);
struct hw_doorbell_error {
    uint32_t function;  // its number
    bool value;         // a bad value; else there is no such doorbell
};
/// The first since it was last asked for.
struct hw_doorbell_error hw_doorbell_error(void);
struct hw_counters {
    uint64_t read_sectors, written_sectors, reads, writes, media_errors;
};
void hw_counters(struct hw_counters* counters);
/// A word of the media's health, as it was when MEDIA_HEALTH_STATE was asked for last.
uint32_t hw_media_health(uint32_t word);
/// MEDIA_HEALTH_STATE of now; of a media without health: as new, for ever.
uint32_t hw_media_state(void);

#endif
