// SPDX-License-Identifier: Apache-2.0
// C interface of the simulator runtime of tops that are hosts (db_host, db_recorder): root ports with a drive behind
// each. One opaque handle a simulation, one thread at a time. Python's side of it is python/doorbell/host_sim.py.
#ifndef DB_HOST_SIM_H
#define DB_HOST_SIM_H

#include <stdint.h>

#include "interface/db_sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DB_HOST_ABI 3

typedef struct db_host_sim db_host_sim;

typedef struct db_host_config {
    uint32_t abi;  // DB_HOST_ABI
    uint32_t clock_khz, seed, stall_pct, idle_skip;
    uint32_t cpl_timeout_ns;  // of the root ports' own requests
    uint32_t write_rate, read_rate;  // user's streams, bytes in 1000 cycles (0: a beat every cycle)
    uint32_t user_stall_pct;         // random pauses of the user's streams beside
    uint32_t pad;
    uint64_t window_base, bar_base;
    uint64_t window_step, bar_step;  // from one port's to the next one's
} db_host_config;

enum { DB_DRIVE_MODEL, DB_DRIVE_LIB, DB_DRIVE_EXTERNAL };
enum { DB_LAT_READ, DB_LAT_WRITE, DB_LAT_FLUSH, DB_LAT_OTHER, DB_LAT_ADMIN, DB_LATS };
enum { DB_LAT_FIXED, DB_LAT_UNIFORM, DB_LAT_LOGNORMAL };

// fixed: a ns. uniform: a..b ns. lognormal: median a, and b the median's factor at one sigma in 1/1000 (1500: x1.5).
typedef struct db_latency {
    uint32_t kind, a, b;
} db_latency;

// The model of a drive. Rates in MB/s (0: no limit), sizes in bytes.
typedef struct db_model_config {
    uint32_t max_reads;    // reads of host memory outstanding, 1..128
    uint32_t fetch_entries, fetches;  // entries a fetch at most, fetches outstanding
    uint32_t max_cmds;     // commands inside at most, 1..2048
    uint32_t list_bytes;   // of PRP list read at least, where the page holds so many
    uint32_t lba_shift, mdts, mqes, dstrd, queues, timeout_500ms, mpsmin, css, oncs, vwc;
    uint32_t ready_ns, unready_ns;  // CC.EN to CSTS.RDY, either way; 0xffffffff: never
    uint32_t abort_ok;     // 0: Abort finds nothing
    uint32_t read_mbps, write_mbps, slow_mbps;
    uint32_t stall_ns, stall_ppm;   // a pause of the media for that long; chance a write command
    uint64_t stall_every;  // and after so many bytes written (0: never)
    uint64_t slc_bytes;    // written faster than slow_mbps; empties at slow_mbps (0: all at write_mbps)
    uint64_t write_buffer; // data asked of the host and not yet on the media, at most (0: no limit)
    uint64_t size;
    db_latency latency[DB_LATS];
    const char *image;     // file, or NULL: memory
} db_model_config;

// The functions of a db_sim library, for a drive that is another simulation.
typedef struct db_lib_drive {
    db_sim *sim;
    int (*run)(db_sim *, uint64_t, uint32_t);
    int (*mmio_write)(db_sim *, uint32_t, const void *, uint32_t);
    int (*mmio_read)(db_sim *, uint32_t, uint32_t);
    int (*mmio_poll)(db_sim *, int, void *);
    int (*dma_next)(db_sim *, db_msg *);
    int (*dma_complete)(db_sim *, uint64_t, const void *, uint32_t);
    void (*set_cfg)(db_sim *, int, int, int, int, int, int);
    int (*idle)(const db_sim *);
    void (*reset)(db_sim *);
} db_lib_drive;

typedef struct db_host_port {
    uint32_t drive;  // DB_DRIVE_*
    uint32_t gen, lanes, link_latency_ns, ack_every, fc_every;
    uint32_t tx_tlps, tx_bytes;  // what the hard block holds of RQ, and of CC, before tready falls
    uint32_t cq_tlps, cq_bytes;  // credits: requests of the drive between its link and the core, posted and others each
    uint32_t np_credits;         // pcie_cq_np_req counts; 0: as if it were tied to 1
    uint32_t drive_tx;           // requests the drive holds for its link, 1..64
    uint32_t bdf;                // the drive's bus, device, function
    uint32_t mps_cap;            // largest MPS of the root port, 0 = 128 bytes ..3
    uint32_t drive_mps_cap, bar_bytes, bar64, crs_ns, link_up;
    db_model_config model;
    db_lib_drive lib;
} db_host_port;

typedef struct db_block_cmd {
    uint64_t lba;
    uint32_t blocks;
    uint16_t tag;
    uint16_t op;
} db_block_cmd;

typedef struct db_block_status {
    uint64_t cycle;
    uint32_t latency;
    uint16_t tag, status;
} db_block_status;

typedef struct db_rdata_end {  // a packet of m_axis_rdata has ended
    uint64_t cycle, bytes;
    uint32_t error, pad;
} db_rdata_end;

typedef struct db_fwd {
    uint64_t cycle, be;
    uint32_t addr, bytes;
    uint8_t data[64];
} db_fwd;

#define DB_REC_PACKET_DW 64
typedef struct db_rec_packet {  // from or to the recorder's host, header first; of longer ones the rest is missing
    uint64_t cycle;
    uint32_t dwords, pad;
    uint32_t data[4 + DB_REC_PACKET_DW];
} db_rec_packet;

typedef struct db_ext_msg {  // to the caller that is a drive
    uint64_t id, addr;       // memory: address; configuration: register
    uint32_t kind, len;      // DB_EXT_*; bytes
    uint32_t target, pad;    // configuration: bus, device, function
    uint8_t data[1024];
} db_ext_msg;

enum { DB_EXT_CFG_READ, DB_EXT_CFG_WRITE, DB_EXT_READ, DB_EXT_WRITE, DB_EXT_RESET, DB_EXT_LINK_UP, DB_EXT_LINK_DOWN };
enum { DB_HSTOP_STATUS = 1, DB_HSTOP_MSG = 2, DB_HSTOP_IDLE = 4, DB_HSTOP_ANSWER = 8, DB_HSTOP_DATA = 16,
       DB_HSTOP_UP = 32, DB_HSTOP_RTL = 64, DB_HSTOP_FWD = 128 };
// What a command that matches meets: it fails with a status; is never completed; completes `arg` cycles late; the
// controller fails (CSTS.CFS) when it is fetched; the link goes down when it is fetched; its last data write (the
// completion entry of a command without) is wrong and discontinued; the drive is gone when it is fetched, its registers
// read all ones; its completion entry comes twice, the second time `arg` cycles later; one with the wrong phase comes
// before it.
enum { DB_DFAULT_STATUS, DB_DFAULT_LOST, DB_DFAULT_LATE, DB_DFAULT_HANG, DB_DFAULT_DROP_LINK, DB_DFAULT_DAMAGE,
       DB_DFAULT_VANISH, DB_DFAULT_DOUBLE, DB_DFAULT_PHASE };
enum { DB_SIG_UP, DB_SIG_DEAD, DB_SIG_BLOCKS, DB_SIG_LBA_SHIFT, DB_SIG_IDLE, DB_SIG_CMDS_LEFT, DB_SIG_WDATA_LEFT,
       DB_SIG_RDATA_BYTES, DB_SIG_LINK_UP, DB_SIG_MPS, DB_SIG_MRRS, DB_SIG_LEVEL, DB_SIG_LEVEL_PEAK, DB_SIG_ENABLED };

db_host_sim *db_host_open(const db_host_config *cfg, const db_host_port *ports, uint32_t n, char *err, uint32_t len);
void db_host_close(db_host_sim *s);
void db_host_reset(db_host_sim *s, int drives);  // the top's reset; drives: theirs too
uint32_t db_host_data_w(void);
uint32_t db_host_ports(void);
uint64_t db_host_cycle(const db_host_sim *s);
int db_host_run(db_host_sim *s, uint64_t cycles, uint32_t stop);  // the DB_HSTOP_* that ended it, or 0
uint64_t db_host_signal(db_host_sim *s, uint32_t port, uint32_t which);

// The user's side. Buffers belong to the caller and must stay until they are used up.
int db_host_cmds(db_host_sim *s, const db_block_cmd *c, uint32_t n);
void db_host_wdata(db_host_sim *s, const void *data, uint64_t len, uint32_t repeat);  // a further buffer
void db_host_rdata(db_host_sim *s, void *data, uint64_t len);  // where read data goes; NULL: thrown away; ring
int db_host_status(db_host_sim *s, db_block_status *out, int n);
int db_host_rdata_ends(db_host_sim *s, db_rdata_end *out, int n);
int db_host_axil(db_host_sim *s, int write, uint32_t addr, uint32_t data);  // -1: one is under way
int db_host_axil_poll(db_host_sim *s, uint32_t *data);                      // -1: not yet, else the response (0: OKAY)
int db_host_admin(db_host_sim *s, const void *sqe);
int db_host_admin_poll(db_host_sim *s, void *cqe);  // -1: not yet, 0: done, 1: timed out
int db_host_reg(db_host_sim *s, int write, uint32_t addr, uint32_t data);
int db_host_reg_poll(db_host_sim *s, uint32_t *data);
int db_host_forwarded(db_host_sim *s, db_fwd *out, int n);
void db_host_forward_stall(db_host_sim *s, int on);

// The recorder's user (db_host_wdata is its stream, in whole blocks; registers of host i are at 0x10000 (1 + i)).
// buffer: what the source keeps while the stream does not move; from `drop` bytes in it on (0: never), or always while
// drop_on, data_drop_blocks is high.
void db_host_rec_source(db_host_sim *s, uint64_t buffer, uint64_t drop, int drop_on);
void db_host_rec_read(db_host_sim *s, void *data, uint64_t len, uint32_t drives);  // blocks of these, in turn; a ring
int db_host_rec_send(db_host_sim *s, const uint32_t *data, uint32_t dwords);
int db_host_rec_packets(db_host_sim *s, db_rec_packet *out, int n);  // all but blocks

// The drives.
void db_host_link(db_host_sim *s, uint32_t port, int up);
void db_host_drive_reset(db_host_sim *s, uint32_t port);
uint32_t db_host_fault(db_host_sim *s, uint32_t port, uint32_t kind, int32_t opcode, int32_t admin, uint64_t lba,
                       uint64_t blocks, uint32_t skip, uint32_t count, uint64_t arg);
uint64_t db_host_fault_hits(db_host_sim *s, uint32_t port, uint32_t id);
void db_host_fault_clear(db_host_sim *s, uint32_t port);
void db_host_hang(db_host_sim *s, uint32_t port);           // CSTS.CFS now
uint8_t *db_host_media(db_host_sim *s, uint32_t port);      // of a model
int db_host_media_sync(db_host_sim *s, uint32_t port);
int db_host_ext_next(db_host_sim *s, uint32_t port, db_ext_msg *out);
int db_host_ext_answer(db_host_sim *s, uint32_t port, uint64_t id, uint32_t status, const void *data);
int db_host_ext_read(db_host_sim *s, uint32_t port, uint64_t addr, uint32_t len);  // handle, or -1
int db_host_ext_poll(db_host_sim *s, uint32_t port, int handle, void *data);  // -1: not yet; -2: refused; or bytes
void db_host_ext_write(db_host_sim *s, uint32_t port, uint64_t addr, const void *data, uint32_t len);
void db_host_ext_sizes(db_host_sim *s, uint32_t port, uint32_t mps, uint32_t mrrs);

int db_host_counters(db_host_sim *s, uint32_t port, uint64_t *out, int n);  // how many there are
const char *db_host_counter_name(int i);
int db_host_coverage(db_host_sim *s, const char *path);
int db_host_trace(db_host_sim *s, const char *path);
void db_host_link_rate(const db_host_sim *s, uint32_t port, uint64_t *ticks_per_cycle, uint64_t *ticks_per_byte);

#ifdef __cplusplus
}
#endif
#endif
