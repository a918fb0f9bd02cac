// SPDX-License-Identifier: Apache-2.0
// C interface of the runtime around a simulated device: one opaque handle a device, no globals. A handle may be used by
// one thread at a time. What each part does is in README.md.
//
// `fn` is a PCIe function of the device: 0 is the physical one (PF), 1 to db_num_fn() - 1 are the virtual ones (VFs).
//
// Python reads this file and db_host_sim.h too (python/doorbell/device/c_header.py) and makes ctypes of them:
// structures, enumerations, functions, and the options of its classes. So they hold plain C, one field or enumerator a
// line. A field that is an option says so: `///< option = default: what it is`; where the option has another unit than
// the field (..._us and ..._ns), Python converts.
#ifndef DB_SIM_H
#define DB_SIM_H

#include <stdint.h>

#include "interface/db_nand.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DB_SIM_ABI 10

typedef struct db_sim db_sim;

// Times are nanoseconds, sizes bytes, unless the name says otherwise. A limit of 0 means "no limit".
typedef struct db_config {
    uint32_t abi;                     ///< DB_SIM_ABI
    uint32_t gen;                     ///< link = gen3x8: the PCIe link: generation 1 to 5
    uint32_t lanes;                   ///< and 1 to 16 lanes
    uint32_t mps;                     ///< mps = 256: largest payload, 128 to 1024
    uint32_t mrrs;                    ///< mrrs = 512: largest read request, 128 to 4096
    uint32_t rcb;                     ///< rcb = 64: read completion boundary, 64 or 128
    uint32_t clock_khz;               ///< clock_mhz = 250.0: the device's clock
    uint32_t link_latency_ns;         ///< link_latency_ns = 0: added to each TLP in each direction
    uint32_t ack_every;               ///< ack_every = 4: one ACK DLLP for so many TLPs (0: none)
    uint32_t fc_every;                ///< fc_every = 4: one UpdateFC DLLP for so many requests (0: none)
    uint32_t tx_tlps;                 ///< tx_tlps = 8: writes that the hard block holds before RQ's tready falls
    uint32_t tx_bytes;                ///< tx_bytes = 2048: and their bytes
    uint32_t read_queue;              ///< read_queue = 16: reads that may wait in the hard block for credits
    uint32_t posted_headers;          ///< posted_headers = 64: root complex credits
    uint32_t posted_credits;          ///< posted_credits = 1024: of posted data, 16 bytes each
    uint32_t read_headers;            ///< read_headers = 64: of non-posted headers
    uint32_t credit_ns;               ///< credit_ns = 100: from a TLP being taken to its credit being back
    uint32_t max_reads;               ///< max_reads = 256: reads outstanding
    uint32_t completion_buffer;       ///< completion_buffer = 65536: bytes of reads outstanding
    uint32_t host_latency_ns;         ///< host_latency_ns = 400: from a read's arrival to its first completion
    uint32_t completion_jitter_ns;    ///< completion_jitter_ns = 0: random part of it, up to this; completions then mix
    uint32_t completion_bytes;        ///< completion_bytes = None: longest one; 0: MPS; 1 ("random"): cuts at RCB
    uint32_t cpl_timeout_ns;          ///< cpl_timeout_us = 50: the device's reads are given up after this
    uint32_t mmio_timeout_ns;         ///< mmio_timeout_us = 1000: and the host's
    uint32_t stall_pct;               ///< stall_pct = 0: chance of a random pause on each ready and valid, a cycle
    uint32_t mmio_queue;              ///< mmio_queue = 32: requests the hard block holds for the core
    uint32_t seed;                    ///< seed = 1: of all random numbers
    uint32_t media_latency_ns;        ///< media_latency_ns = 200: of a read of media, to its first beat
    uint32_t media_write_latency_ns;  ///< media_write_latency_ns = None: of a write, from its last beat to B
    uint32_t media_mbps;              ///< media_gbps = 0: of all channels together; 0: one beat a cycle
    uint32_t media_zero_kbps;         ///< media_zero_gbps = 0: of zeroing, beside the latency of a write; 0: no limit
    uint32_t media_channels;          ///< media_channels = 8: that share media_gbps
    uint32_t media_interleave;        ///< media_interleave = False: beats of the two read ids alternate
    uint32_t idle_skip;               ///< idle_skip = True: jump over time in which nothing happens
    uint64_t media_flush_latency_ns;  ///< media_flush_latency_ns = None: of a flush; None: as of a write
    uint64_t media_size;              ///< media_size = None: bytes (None: the image's, or 1 GiB)
    uint64_t msi_base;                ///< msi_window = (0xFEE00000, 0x100000): writes there are interrupts: base, size
    uint64_t msi_bytes;
    uint64_t bar0;             ///< bar0 = 0xC0000000: the PF's address
    uint64_t vf_bar0;          ///< vf_bar0 = 0xC0100000: the first VF's; those of the others follow, 16 KiB each
    uint64_t bar4;             ///< bar4 = 0x400000000000: of card memory: the PF's address; those of the VFs follow
    uint64_t card_latency_ns;  ///< card_latency_ns = 100: of card memory, reads and writes
    const char* image;         ///< image = None: file that holds the media, or NULL
} db_config;

typedef struct db_irq {
    uint64_t addr;
    uint64_t cycle;
    uint32_t data;
    uint32_t fn;
} db_irq;

// An access to host memory that only the caller can reach.
typedef struct db_msg {
    uint64_t id;
    uint64_t addr;
    uint32_t len;
    uint32_t write;
    uint32_t fn;
    uint32_t pad;
    uint8_t data[4096];
} db_msg;

typedef struct db_watch {
    uint64_t addr;  ///< dword aligned
    uint32_t mask;
    uint32_t value;
    uint32_t fn;
    uint32_t pad;
} db_watch;

typedef struct db_event {
    uint64_t cycle;
    uint64_t b;
    uint32_t kind;  ///< DB_EV_*
    uint32_t a;
} db_event;

// An access that the IOMMU has refused.
typedef struct db_stray {
    uint64_t cycle;
    uint64_t addr;
    uint64_t owner;     ///< who had the page last, or has it for something else; 0: nobody ever
    uint64_t returned;  ///< cycle in which it was given back; 0: it was not
    uint32_t bytes;
    uint32_t rights;  ///< DB_GRANT_*: what it would have needed
    uint32_t fn;
    uint32_t pad;
} db_stray;

// What is recorded, and what a and b are. RQ, RC, R, W: the first beat of a packet or burst.
enum db_event_kind {
    DB_EV_DOORBELL,  ///< queue, tail
    DB_EV_FETCH,     ///< queue, index + count << 16
    DB_EV_DECODE,    ///< slot, queue + cid << 16
    DB_EV_DATA,      ///< slot
    DB_EV_CQE,       ///< slot
    DB_EV_IRQ,       ///< vector
    DB_EV_RQ_READ,   ///< dwords, address
    DB_EV_RQ_WRITE,  ///< dwords, address
    DB_EV_RQ_LAST,
    DB_EV_RC,
    DB_EV_RC_LAST,
    DB_EV_CQ,
    DB_EV_AR,      ///< id, address
    DB_EV_R,       ///< id
    DB_EV_R_LAST,  ///< id
    DB_EV_AW,      ///< 0, address
    DB_EV_W,
    DB_EV_W_LAST,
    DB_EV_B,
    DB_EV_STALL,  ///< why somebody waits from now on: bits of stat_stall
    DB_EV_UP,     ///< a TLP on the link to the host: db_tlp + bytes << 8, its end in ticks of db_link_rate
    DB_EV_DOWN    ///< and from the host
};

enum db_tlp { DB_TLP_MRD, DB_TLP_MWR, DB_TLP_CPLD, DB_TLP_CPL };

// What ends a run; of several the first in this list has the say.
enum db_stop {
    DB_STOP_RTL = 64,    ///< an assertion of the RTL failed, or it finished
    DB_STOP_MMIO = 8,    ///< a read of a register is answered
    DB_STOP_DMA = 2,     ///< messages wait
    DB_STOP_WATCH = 16,  ///< a dword of host memory has its value
    DB_STOP_IRQ = 1,     ///< interrupts wait
    DB_STOP_INTX = 32,   ///< INTA is raised
    DB_STOP_IDLE = 4     ///< nothing is to be expected
};

// What a read of the device ends with; DROP: nothing, it times out. LATE: it times out, and its completion comes after as
// long again. DOUBLE: its last completion comes twice.
enum db_fault {
    DB_FAULT_UR = 1,
    DB_FAULT_CA = 2,
    DB_FAULT_POISON = 3,
    DB_FAULT_DROP = 4,
    DB_FAULT_LATE = 5,
    DB_FAULT_DOUBLE = 6
};

// What the device may do with a page of host memory.
enum db_grant { DB_GRANT_READ = 1, DB_GRANT_WRITE = 2 };

// An offset in BAR 4 instead of BAR 0, for the functions below.
enum db_bar { DB_BAR_4 = 2147483648 };

enum db_mmio { DB_MMIO_PENDING = -1, DB_MMIO_UR = -2, DB_MMIO_TIMEOUT = -3, DB_MMIO_BAD = -4, DB_MMIO_POISON = -5 };

db_sim* db_open(const db_config* cfg, char* err, uint32_t err_len);
void db_close(db_sim* s);
void db_reset(db_sim* s);
uint32_t db_data_w(void);
uint32_t db_num_fn(void);
uint32_t db_cmb_log2(void);  // log2 of the bytes of a function's region of card memory, BAR 4; 0: it has none
uint32_t db_num_ssd(void);   // SSDs beside it; above 0: db_switch_sim.h

uint64_t db_cycle(const db_sim* s);
uint64_t db_time_us(const db_sim* s);
void db_set_time_us(db_sim* s, uint64_t us);
uint64_t db_wake_us(const db_sim* s);
int db_intx(const db_sim* s);
int db_idle(const db_sim* s);  // nothing will happen before wake_us unless the caller does something

// Runs up to `cycles`; returns the DB_STOP_* bits that ended it early, or 0. Messages and interrupts end it if they are of
// one of these `functions` (bits; all, unless said).
int db_run(db_sim* s, uint64_t cycles, uint32_t stop);
void db_listen(db_sim* s, uint32_t functions);

// Memory of the host as a function sees it. Functions have nothing in common here, unless the caller maps it for both.
int db_map(db_sim* s, uint32_t fn, uint64_t base, uint64_t size, void* ptr, int writable);  // 0; -1: overlaps a region
int db_unmap(db_sim* s, uint32_t fn, uint64_t base, uint64_t size);  // regions removed (those wholly inside)

// The IOMMU of a function. On, only what is granted may be touched; both ways forget all its grants and refusals. `owner`
// is the caller's.
void db_iommu(db_sim* s, uint32_t fn, int on);
void db_grant(db_sim* s, uint32_t fn, uint64_t addr, uint64_t bytes, uint64_t owner, uint32_t rights);
int db_revoke(db_sim* s, uint32_t fn, uint64_t owner);          // pages that it had
int db_strays(db_sim* s, uint32_t fn, db_stray* out, int n);    // the first 64 refusals are kept
void db_set_watches(db_sim* s, const db_watch* w, uint32_t n);  // up to 64

// Registers, BAR 0 of a function. One that is not enabled answers reads with UR.
int db_mmio_write(db_sim* s, uint32_t fn, uint32_t off, const void* data, uint32_t len);  // 0; -1: full, run a bit
int db_mmio_read(db_sim* s, uint32_t fn, uint32_t off, uint32_t len);                     // handle, or -1: queue full
int db_mmio_poll(db_sim* s, int handle, void* data);  // length and the handle is free, or a DB_MMIO_* code
void db_mmio_forget(db_sim* s, int handle);           // nobody will poll it: free when it is answered
void db_doorbell_page(db_sim* s, uint32_t fn, void* page);
void db_doorbell_reset(db_sim* s, uint32_t fn);

int db_irqs(db_sim* s, uint32_t fn, db_irq* out, int n);
uint32_t db_irqs_wait(const db_sim* s);                                       // bits: functions that have some
void db_irq_eventfd(db_sim* s, uint32_t fn, uint32_t data, int fd);           // -1: to the queue, -2: to nobody
int db_dma_next(db_sim* s, uint32_t fn, db_msg* out);                         // 1 if there was one
int db_dma_complete(db_sim* s, uint64_t id, const void* data, uint32_t len);  // data NULL: UR
// On: what was fetched is not delivered yet, so writes and interrupts of the function are kept until it is.
void db_dma_hold(db_sim* s, uint32_t fn, int on);
uint32_t db_dma_kept(const db_sim* s, uint32_t fn);  // how many

// fn -1: reads of all functions.
uint32_t db_inject(db_sim* s, int fn, uint32_t kind, uint64_t addr, uint64_t len, int64_t nth, uint32_t count);
uint64_t db_injected(const db_sim* s, uint32_t id);
void db_inject_clear(db_sim* s);

// Configuration. A field that is negative (a size: 0) stays as it is; a VF has the first three alone. -1: there is no
// such function, or it is not enabled. What db_get_cfg says begins with these six; the last is whether it is enabled.
int db_set_cfg(db_sim* s, uint32_t fn, int bus_master, int msix_enable, int msix_mask, int intx_disable, int mps,
               int mrrs);
int db_get_cfg(const db_sim* s, uint32_t fn, int out[7]);
// VF Enable and NumVFs of the PF: VFs 1 to n are there; -1: too many. Runs a little if some were there just before.
int db_enable_vfs(db_sim* s, uint32_t n);

// Function-level reset. Those of several functions may be under way; that of the PF takes the VFs away. The function's
// bus master and MSI-X are off from its begin on.
int db_flr_begin(db_sim* s, uint32_t fn);                 // 0 (also if it is under way); -1: not enabled
int db_flr_poll(const db_sim* s, uint32_t fn);            // 0: it is under way
int db_flr(db_sim* s, uint32_t fn, uint64_t max_cycles);  // runs until it is done: 0; -1: not within max_cycles

uint8_t* db_media(db_sim* s);
int db_media_error(db_sim* s, uint64_t off, uint64_t len, int64_t count);
void db_media_error_clear(db_sim* s);
int db_media_sync(db_sim* s);

// The media is NAND flash from now on: before anything has touched it. 0; -1: `why` says what is wrong.
int db_media_nand(db_sim* s, const db_nand_config* cfg, char* why, uint32_t why_len);
int db_media_figures(const db_sim* s, db_nand_figures* out);  // 0; -1: it is no NAND flash

uint8_t* db_card(db_sim* s);  // card memory: a region a function, one behind the other
int db_card_error(db_sim* s, uint64_t off, uint64_t len, int64_t count);
void db_card_error_clear(db_sim* s);
const char* db_trouble(db_sim* s);  // a line for the user, once: what of the image or of host memory fails, or NULL

int db_counters(const db_sim* s, uint64_t* out, int n);  // how many there are
const char* db_counter_name(int i);
void db_events_open(db_sim* s, uint32_t kinds, uint32_t capacity);  // record kinds (bits 1 << DB_EV_*); 0: stop
int db_events(db_sim* s, db_event* out, int n);                     // take the oldest, up to n
uint64_t db_events_lost(const db_sim* s);                           // found no room
int db_stalls(const db_sim* s, uint32_t* out, int n);               // stat_stall of the top; how many there are
// Bytes that a function has written to host memory and read there, its interrupts; 0, or -1: there is no such function.
int db_traffic(const db_sim* s, uint32_t fn, uint64_t out[3]);
int db_coverage(db_sim* s, const char* path);  // -1: not built with it
// How often each line and toggle of the RTL was met, up to n; how many there are, or -1: not built with it.
int db_coverage_counts(const db_sim* s, uint32_t* out, int n);
int db_trace(db_sim* s, const char* path);  // a waveform from now on; time counts half cycles; -1: not built with it
void db_trace_window(db_sim* s, uint64_t first, uint64_t end);  // only these cycles of it; 0, ~0: all
void db_link_rate(const db_sim* s, uint64_t* ticks_per_cycle, uint64_t* ticks_per_byte);

#ifdef __cplusplus
}
#endif
#endif
