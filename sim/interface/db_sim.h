// SPDX-License-Identifier: Apache-2.0
// C interface of the Doorbell simulator runtime: one opaque handle a simulated device, no globals. A handle may be
// used by one thread at a time. Python's side of it is python/doorbell/sim.py; what each part does is in README.md.
#ifndef DB_SIM_H
#define DB_SIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DB_SIM_ABI 3

typedef struct db_sim db_sim;

// Times are nanoseconds, sizes bytes, unless the name says otherwise. A limit of 0 means "no limit".
typedef struct db_config {
    uint32_t abi;             // DB_SIM_ABI
    uint32_t gen, lanes;      // 1..5, 1..16
    uint32_t mps, mrrs, rcb;  // 128..1024, 128..4096, 64 or 128
    uint32_t clock_khz;
    uint32_t link_latency_ns;  // added to each TLP in each direction
    uint32_t ack_every, fc_every;  // one ACK, one UpdateFC DLLP per so many TLPs (0: none)
    uint32_t tx_tlps, tx_bytes;    // what the hard block buffers before RQ tready falls
    uint32_t read_queue;             // reads that may wait in the hard block for credits
    uint32_t posted_headers, posted_credits, read_headers;          // root complex credits: posted headers, posted data (16 bytes), non-posted headers
    uint32_t credit_ns;            // from a TLP being taken to its credit being back
    uint32_t max_reads, completion_buffer;  // reads outstanding, and completion buffer of the hard block
    uint32_t host_latency_ns, completion_jitter_ns;
    uint32_t completion_bytes;  // longest completion; 0: MPS; 1: random cuts at RCB
    uint32_t cpl_timeout_ns, mmio_timeout_ns;
    uint32_t stall_pct;  // chance of a random pause on each ready and valid, a cycle
    uint32_t mmio_queue;// requests the hard block holds for the core
    uint32_t seed;
    uint32_t media_latency_ns, media_write_latency_ns;
    uint32_t media_mbps;  // MB/s of all channels together; 0: one beat a cycle
    uint32_t media_channels;
    uint32_t media_interleave;  // 1: beats of the two read ids alternate
    uint32_t idle_skip;
    uint64_t media_size;
    uint64_t msi_base, msi_bytes;
    uint64_t bar0;
    const char *image;  // file that holds the media, or NULL
} db_config;

typedef struct db_irq {
    uint64_t addr, cycle;
    uint32_t data, pad;
} db_irq;

typedef struct db_msg {
    uint64_t id, addr;
    uint32_t len, write;
    uint8_t data[4096];
} db_msg;

typedef struct db_watch {
    uint64_t addr;  // dword aligned
    uint32_t mask, value;
} db_watch;

// What is recorded: see stats.h. a and b: doorbell queue, tail; fetch queue, index + count << 16; decode slot, queue +
// cid << 16; data and CQE slot; IRQ vector; RQ dwords, address; AR, R id; AR, AW address. RQ, RC, R, W: the first
// beat of a packet or burst.
typedef struct db_event {
    uint64_t cycle, b;
    uint32_t kind, a;
} db_event;

enum { DB_EV_DOORBELL, DB_EV_FETCH, DB_EV_DECODE, DB_EV_DATA, DB_EV_CQE, DB_EV_IRQ, DB_EV_RQ_READ, DB_EV_RQ_WRITE,
       DB_EV_RQ_LAST, DB_EV_RC, DB_EV_RC_LAST, DB_EV_CQ, DB_EV_AR, DB_EV_R, DB_EV_R_LAST,
       DB_EV_AW, DB_EV_W, DB_EV_W_LAST, DB_EV_B };
enum { DB_STOP_IRQ = 1, DB_STOP_DMA = 2, DB_STOP_IDLE = 4, DB_STOP_MMIO = 8, DB_STOP_WATCH = 16, DB_STOP_INTX = 32,
       DB_STOP_RTL = 64 };
enum { DB_FAULT_UR = 1, DB_FAULT_CA = 2, DB_FAULT_POISON = 3, DB_FAULT_DROP = 4 };
enum { DB_MMIO_PENDING = -1, DB_MMIO_UR = -2, DB_MMIO_TIMEOUT = -3, DB_MMIO_BAD = -4 };

db_sim *db_open(const db_config *cfg, char *err, uint32_t err_len);
void db_close(db_sim *s);
void db_reset(db_sim *s);
uint32_t db_data_w(void);

uint64_t db_cycle(const db_sim *s);
uint64_t db_time_us(const db_sim *s);
void db_set_time_us(db_sim *s, uint64_t us);
uint64_t db_wake_us(const db_sim *s);
int db_intx(const db_sim *s);
int db_idle(const db_sim *s);  // nothing will happen before wake_us unless the caller does something

// Runs up to `cycles`; returns the DB_STOP_* bits that ended it early, or 0.
int db_run(db_sim *s, uint64_t cycles, uint32_t stop);

int db_map(db_sim *s, uint64_t base, uint64_t size, void *ptr, int writable);  // 0, or -1 if it overlaps a region
int db_unmap(db_sim *s, uint64_t base, uint64_t size);           // regions removed (those wholly inside)
void db_set_watches(db_sim *s, const db_watch *w, uint32_t n);   // up to 64

int db_mmio_write(db_sim *s, uint32_t off, const void *data, uint32_t len);  // 0, or -1: queue full, run some cycles
int db_mmio_read(db_sim *s, uint32_t off, uint32_t len);                     // handle, or -1: queue full
int db_mmio_poll(db_sim *s, int handle, void *data);  // length and the handle is free, or a DB_MMIO_* code
void db_doorbell_page(db_sim *s, void *page);
void db_doorbell_reset(db_sim *s);

int db_irqs(db_sim *s, db_irq *out, int n);
void db_irq_eventfd(db_sim *s, uint32_t data, int fd);  // -1: to the queue, -2: to nobody
int db_dma_next(db_sim *s, db_msg *out);                // 1 if there was one
int db_dma_complete(db_sim *s, uint64_t id, const void *data, uint32_t len);  // data NULL: UR

uint32_t db_inject(db_sim *s, uint32_t kind, uint64_t addr, uint64_t len, int64_t nth, uint32_t count);
uint64_t db_injected(const db_sim *s, uint32_t id);
void db_inject_clear(db_sim *s);

void db_set_cfg(db_sim *s, int bus_master, int msix_enable, int msix_mask, int intx_disable, int mps, int mrrs);
void db_get_cfg(const db_sim *s, int out[6]);
int db_flr(db_sim *s, uint64_t max_cycles);  // 0 when acknowledged, -1 when not within max_cycles

uint8_t *db_media(db_sim *s);
int db_media_error(db_sim *s, uint64_t off, uint64_t len, int64_t count);
void db_media_error_clear(db_sim *s);
int db_media_sync(db_sim *s);

int db_counters(const db_sim *s, uint64_t *out, int n);  // how many there are
const char *db_counter_name(int i);
void db_events_open(db_sim *s, uint32_t kinds, uint32_t capacity);  // record kinds (bits 1 << DB_EV_*); 0: stop
int db_events(db_sim *s, db_event *out, int n);                     // take the oldest, up to n
uint64_t db_events_lost(const db_sim *s);                           // found no room
int db_stalls(const db_sim *s, uint32_t *out, int n);               // stat_stall of the top; how many there are
int db_coverage(db_sim *s, const char *path);  // -1: not built with it
int db_trace(db_sim *s, const char *path);     // VCD from now on; time counts half cycles; -1: not built with it
void db_link_rate(const db_sim *s, uint64_t *ticks_per_cycle, uint64_t *ticks_per_byte);

#ifdef __cplusplus
}
#endif
#endif
