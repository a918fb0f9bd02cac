// SPDX-License-Identifier: Apache-2.0
// C interface of the runtime around a simulated host (db_host, db_recorder): root ports with a drive behind each. One
// opaque handle a simulation, one thread at a time. Its form is that of db_sim.h: Python reads it too.
#ifndef DB_HOST_SIM_H
#define DB_HOST_SIM_H

#include <stdint.h>

#include "interface/db_sim.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DB_HOST_ABI 6
#define DB_LATENCIES 5
#define DB_REC_PACKET_DW 64
#define DB_REC_WORDS 68

typedef struct db_host_sim db_host_sim;

typedef struct db_host_config {
    uint32_t abi;             ///< DB_HOST_ABI
    uint32_t clock_khz;       ///< clock_mhz = 250.0: the top's clock
    uint32_t seed;            ///< seed = 1: of all random numbers
    uint32_t stall_pct;       ///< stall_pct = 0: chance of a random pause on each of the hard block's ready and valid
    uint32_t idle_skip;       ///< idle_skip = False: jump over time in which nothing happens: for tops without timers
    uint32_t cpl_timeout_ns;  ///< cpl_timeout_us = 50: of the root ports' own requests (0: none)
    uint32_t write_rate;      ///< write_gbps = 0: of the user's stream; bytes in 1000 cycles (0: a beat every cycle)
    uint32_t read_rate;       ///< read_gbps = 0: the same
    uint32_t user_stall_pct;  ///< user_stall_pct = 0: random pauses of the user's streams beside
    uint32_t pad;
    uint64_t window_base;  ///< window = 0x1000000000: where a drive sees host memory
    uint64_t bar_base;     ///< bar = 0xC0000000: and has its BAR
    uint64_t window_step;  ///< window_step = 0: from one port's to the next one's
    uint64_t bar_step;     ///< bar_step = 0: the same
} db_host_config;

enum db_drive { DB_DRIVE_MODEL, DB_DRIVE_LIB, DB_DRIVE_EXTERNAL };

// Of a model's commands, in ns.
enum db_lat {
    DB_LAT_READ,   ///< read = 20000: of Read and Verify
    DB_LAT_WRITE,  ///< write = 10000: of Write
    DB_LAT_FLUSH,  ///< flush = 50000: of Flush
    DB_LAT_OTHER,  ///< other = 20000: of other I/O commands
    DB_LAT_ADMIN   ///< admin = 5000: of admin commands
};

// How a latency is drawn.
enum db_draw {
    DB_DRAW_FIXED,     ///< a ns
    DB_DRAW_UNIFORM,   ///< a to b ns
    DB_DRAW_LOGNORMAL  ///< median a; b: the median's factor at one sigma in 1/1000 (1500: x1.5)
};

typedef struct db_latency {
    uint32_t kind;  ///< DB_DRAW_*
    uint32_t a;
    uint32_t b;
} db_latency;

// The model of a drive. Times all ones (None): never.
typedef struct db_model_config {
    uint32_t max_reads;      ///< max_reads = 64: reads of host memory outstanding, 1 to 128
    uint32_t fetch_entries;  ///< fetch_entries = 8: entries a fetch at most
    uint32_t fetches;        ///< fetches = 4: fetches outstanding
    uint32_t max_cmds;       ///< max_cmds = 512: commands inside at most, 1 to 2000
    uint32_t list_bytes;     ///< list_bytes = 0: of PRP list read at least, where the page holds so many
    uint32_t lba_shift;      ///< lba_bytes = 512: of a block, 512 to 4096
    uint32_t mdts;           ///< mdts = 5: longest transfer, 4 KiB << mdts (0: no limit)
    uint32_t mqes;           ///< mqes = 1024: entries of a queue at most
    uint32_t dstrd;          ///< dstrd = 0: doorbell stride, 4 bytes << dstrd
    uint32_t queues;         ///< queues = 16: queue pairs
    uint32_t timeout_500ms;  ///< timeout_ms = 10000: CAP.TO
    uint32_t mpsmin;         ///< mpsmin = 0: CAP.MPSMIN and MPSMAX
    uint32_t css;            ///< css = 1: CAP.CSS
    uint32_t oncs;           ///< oncs = 0x8C: optional commands
    uint32_t vwc;            ///< vwc = True: it has a volatile write cache
    uint32_t sgls;           ///< sgls = False: it takes SGLs: one data block a command
    uint32_t ready_ns;       ///< ready_us = 100: CC.EN to CSTS.RDY
    uint32_t unready_ns;     ///< unready_us = 20: the other way
    uint32_t shutdown_ns;    ///< shutdown_us = 10: CC.SHN to CSTS.SHST = complete
    uint32_t abort_ok;       ///< abort_ok = True: False: Abort finds nothing
    uint32_t read_mbps;      ///< read_gbps = 0: of the media (0: no limit)
    uint32_t write_mbps;     ///< write_gbps = 0: of the media, or of its SLC cache
    uint32_t slow_mbps;      ///< slow_gbps = 0: what is left when the cache is full
    uint32_t stall_ns;       ///< stall_us = 10000: a pause of the media
    uint32_t stall_ppm;      ///< stall_chance = 0: of one at a write command
    uint64_t stall_every;    ///< stall_every = 0: and one after so many bytes written
    uint64_t slc_bytes;      ///< slc_bytes = 0: of the cache, which empties at slow_gbps (0: no cache)
    uint64_t write_buffer;   ///< write_buffer = 4194304: bytes asked of the host and not yet on the media, at most
    uint64_t size;           ///< size = 1073741824: of the drive
    db_latency latency[DB_LATENCIES];  ///< DB_LAT_*
    const char* image;                 ///< image = None: file, or NULL: memory
} db_model_config;

// The functions of a db_sim library, for a drive that is another simulation. Its PF is the drive.
typedef struct db_lib_drive {
    db_sim* sim;
    int (*run)(db_sim*, uint64_t, uint32_t);
    int (*mmio_write)(db_sim*, uint32_t, uint32_t, const void*, uint32_t);
    int (*mmio_read)(db_sim*, uint32_t, uint32_t, uint32_t);
    int (*mmio_poll)(db_sim*, int, void*);
    int (*dma_next)(db_sim*, uint32_t, db_msg*);
    int (*dma_complete)(db_sim*, uint64_t, const void*, uint32_t);
    int (*set_cfg)(db_sim*, uint32_t, int, int, int, int, int, int);
    int (*idle)(const db_sim*);
    void (*reset)(db_sim*);
} db_lib_drive;

typedef struct db_host_port {
    uint32_t drive;               ///< DB_DRIVE_*
    uint32_t gen;                 ///< link = gen3x4: the PCIe link: generation 1 to 5
    uint32_t lanes;               ///< and 1 to 16 lanes
    uint32_t link_latency_ns;     ///< link_latency_ns = 0: each way
    uint32_t ack_every;           ///< ack_every = 4: one ACK DLLP for so many TLPs (0: none)
    uint32_t fc_every;            ///< fc_every = 4: one UpdateFC DLLP for so many requests (0: none)
    uint32_t tx_tlps;             ///< tx_tlps = 8: what the hard block holds of RQ, and of CC, before tready falls
    uint32_t tx_bytes;            ///< tx_bytes = 2048: the same
    uint32_t cq_tlps;             ///< cq_tlps = 32: credits: requests before the core, posted and others each
    uint32_t cq_bytes;            ///< cq_bytes = 8192: the same
    uint32_t np_credits;          ///< np_credits = True: pcie_cq_np_req counts; False: as if it were tied to 1
    uint32_t drive_tx;            ///< drive_tx = 16: requests the drive holds for its link, 1 to 32
    uint32_t bdf;                 ///< the drive's bus, device, function
    uint32_t mps_cap_code;        ///< mps_cap = 256: largest MPS of the root port, 0 = 128 bytes to 3
    uint32_t drive_mps_cap_code;  ///< drive_mps_cap = 512: and of the drive
    uint32_t bar_bytes;           ///< bar_bytes = 16384: of BAR 0
    uint32_t bar64;               ///< bar64 = True: it has 64 bits
    uint32_t crs_ns;              ///< crs_us = 0: configuration requests are put off so long after a reset
    uint32_t link_up;             ///< link_up = True: from the start
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
    uint16_t tag;
    uint16_t status;
} db_block_status;

// A packet of m_axis_rdata has ended.
typedef struct db_rdata_end {
    uint64_t cycle;
    uint64_t bytes;
    uint32_t error;
    uint32_t pad;
} db_rdata_end;

typedef struct db_fwd {
    uint64_t cycle;
    uint64_t be;
    uint32_t addr;
    uint32_t bytes;
    uint8_t data[64];
} db_fwd;

// From or to the recorder's host, header (4 dwords) first; of longer ones the rest is missing.
typedef struct db_rec_packet {
    uint64_t cycle;
    uint32_t dwords;
    uint32_t pad;
    uint32_t data[DB_REC_WORDS];
} db_rec_packet;

// To the caller that is a drive.
typedef struct db_ext_msg {
    uint64_t id;
    uint64_t addr;    ///< memory: address; configuration: register
    uint32_t kind;    ///< DB_EXT_*
    uint32_t len;     ///< bytes
    uint32_t target;  ///< configuration: bus, device, function
    uint32_t pad;
    uint8_t data[1024];
} db_ext_msg;

enum db_ext {
    DB_EXT_CFG_READ,
    DB_EXT_CFG_WRITE,
    DB_EXT_READ,
    DB_EXT_WRITE,
    DB_EXT_RESET,
    DB_EXT_LINK_UP,
    DB_EXT_LINK_DOWN
};

// What ends a run; of several the first in this list has the say.
enum db_host_stop {
    DB_HSTOP_RTL = 64,
    DB_HSTOP_MESSAGE = 2,  ///< for an external drive
    DB_HSTOP_ANSWER = 8,   ///< of a register or admin access
    DB_HSTOP_STATUS = 1,
    DB_HSTOP_DATA = 16,  ///< the end of a packet of read data
    DB_HSTOP_FORWARD = 128,
    DB_HSTOP_UP = 32,  ///< the top's `up` has changed
    DB_HSTOP_IDLE = 4  ///< nothing is to be expected
};

// What a command that matches meets.
enum db_drive_fault {
    DB_DFAULT_STATUS,     ///< it fails with a status
    DB_DFAULT_LOST,       ///< it is never completed
    DB_DFAULT_LATE,       ///< it completes `arg` cycles late
    DB_DFAULT_HANG,       ///< the controller fails (CSTS.CFS) when it is fetched
    DB_DFAULT_DROP_LINK,  ///< the link goes down when it is fetched
    DB_DFAULT_DAMAGE,     ///< its last data write (else its completion entry) is wrong and discontinued
    DB_DFAULT_VANISH,     ///< the drive is gone when it is fetched, its registers read all ones
    DB_DFAULT_DOUBLE,     ///< its completion entry comes twice, the second time `arg` cycles later
    DB_DFAULT_PHASE,      ///< one with the wrong phase comes before it
    DB_DFAULT_CID,        ///< one comes before it whose command identifier is another: ours xor `arg`
    DB_DFAULT_COPY,       ///< it is written twice, first `arg` bytes behind its place (modulo 2^64)
    DB_DFAULT_ASTRAY      ///< its data is taken from or written to places `arg` bytes behind the right ones
};

enum db_signal {
    DB_SIG_UP,
    DB_SIG_DEAD,
    DB_SIG_BLOCKS,
    DB_SIG_LBA_SHIFT,
    DB_SIG_IDLE,
    DB_SIG_CMDS_LEFT,
    DB_SIG_WDATA_LEFT,
    DB_SIG_RDATA_BYTES,
    DB_SIG_LINK_UP,
    DB_SIG_MPS,
    DB_SIG_MRRS,
    DB_SIG_LEVEL,
    DB_SIG_LEVEL_PEAK,
    DB_SIG_ENABLED
};

db_host_sim* db_host_open(const db_host_config* cfg, const db_host_port* ports, uint32_t n, char* err, uint32_t len);
void db_host_close(db_host_sim* s);
void db_host_reset(db_host_sim* s, int drives);  // the top's reset; drives: theirs too
uint32_t db_host_data_w(void);
uint32_t db_host_ports(void);
uint64_t db_host_cycle(const db_host_sim* s);
int db_host_run(db_host_sim* s, uint64_t cycles, uint32_t stop);  // the DB_HSTOP_* that ended it, or 0
uint64_t db_host_signal(db_host_sim* s, uint32_t port, uint32_t which);

// The user's side. Buffers belong to the caller and must stay until they are used up.
int db_host_cmds(db_host_sim* s, const db_block_cmd* c, uint32_t n);
void db_host_wdata(db_host_sim* s, const void* data, uint64_t len, uint32_t repeat);  // a further buffer
void db_host_rdata(db_host_sim* s, void* data, uint64_t len);  // where read data goes; NULL: thrown away; ring
int db_host_status(db_host_sim* s, db_block_status* out, int n);
int db_host_rdata_ends(db_host_sim* s, db_rdata_end* out, int n);
int db_host_axil(db_host_sim* s, int write, uint32_t addr, uint32_t data);  // -1: one is under way
int db_host_axil_poll(db_host_sim* s, uint32_t* data);                      // -1: not yet, else the response (0: OKAY)
int db_host_admin(db_host_sim* s, const void* sqe);
int db_host_admin_poll(db_host_sim* s, void* cqe);  // -1: not yet, 0: done, 1: timed out
int db_host_reg(db_host_sim* s, int write, uint32_t addr, uint32_t data);
int db_host_reg_poll(db_host_sim* s, uint32_t* data);
int db_host_forwarded(db_host_sim* s, db_fwd* out, int n);
void db_host_forward_stall(db_host_sim* s, int on);

// The recorder's user (db_host_wdata is its stream, in whole blocks; registers of host i are at 0x10000 (1 + i)).
// buffer: what the source keeps while the stream does not move; from `drop` bytes in it on (0: never), or always while
// drop_on, data_drop_blocks is high.
void db_host_rec_source(db_host_sim* s, uint64_t buffer, uint64_t drop, int drop_on);
void db_host_rec_read(db_host_sim* s, void* data, uint64_t len, uint32_t drives);  // blocks of these, in turn; a ring
int db_host_rec_send(db_host_sim* s, const uint32_t* data, uint32_t dwords);
int db_host_rec_packets(db_host_sim* s, db_rec_packet* out, int n);  // all but blocks

// The drives.
void db_host_link(db_host_sim* s, uint32_t port, int up);
void db_host_drive_reset(db_host_sim* s, uint32_t port);
uint32_t db_host_fault(db_host_sim* s, uint32_t port, uint32_t kind, int32_t opcode, int32_t admin, uint64_t lba,
                       uint64_t blocks, uint32_t skip, uint32_t count, uint64_t arg);
uint64_t db_host_fault_hits(db_host_sim* s, uint32_t port, uint32_t id);
void db_host_fault_clear(db_host_sim* s, uint32_t port);
void db_host_hang(db_host_sim* s, uint32_t port);       // CSTS.CFS now
uint8_t* db_host_media(db_host_sim* s, uint32_t port);  // of a model
int db_host_media_sync(db_host_sim* s, uint32_t port);
int db_host_ext_next(db_host_sim* s, uint32_t port, db_ext_msg* out);
int db_host_ext_answer(db_host_sim* s, uint32_t port, uint64_t id, uint32_t status, const void* data);
int db_host_ext_read(db_host_sim* s, uint32_t port, uint64_t addr, uint32_t len);  // handle, or -1
int db_host_ext_poll(db_host_sim* s, uint32_t port, int handle, void* data);       // -1: not yet; -2: refused; or bytes
void db_host_ext_write(db_host_sim* s, uint32_t port, uint64_t addr, const void* data, uint32_t len);
void db_host_ext_sizes(db_host_sim* s, uint32_t port, uint32_t mps, uint32_t mrrs);

int db_host_counters(db_host_sim* s, uint32_t port, uint64_t* out, int n);  // how many there are
const char* db_host_counter_name(int i);
int db_host_coverage(db_host_sim* s, const char* path);
int db_host_trace(db_host_sim* s, const char* path);
void db_host_link_rate(const db_host_sim* s, uint32_t port, uint64_t* ticks_per_cycle, uint64_t* ticks_per_byte);

#ifdef __cplusplus
}
#endif
#endif
