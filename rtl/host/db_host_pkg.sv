// SPDX-License-Identifier: Apache-2.0
// What the blocks of the host share: the window of host memory that the drive sees, block commands, command contexts.
// docs/host/theory.md is the prose to it.
package db_host_pkg;
  import db_nvme_pkg::*;

  // ---- the window
  // The drive sees one window of 64 MiB, at an address given from outside. Nothing in it need be memory: each region
  // answers reads and takes writes in its own way.
  localparam int WIN_W = 26;  // log2 of its bytes

  typedef enum logic [2:0] {
    REGION_QUEUES  = 3'd0,  ///< submission and completion queues, admin data buffer
    REGION_WR_DATA = 3'd1,  ///< ring of data to be written
    REGION_WR_PRP  = 3'd2,  ///< PRP lists of it: the list of a command that starts in page p is at 4096 p
    REGION_RD_DATA = 3'd3,  ///< ring of data that is read
    REGION_RD_PRP  = 3'd4,  ///< PRP lists of it
    REGION_RANGES  = 3'd5,  ///< Dataset Management: the range of command slot s is at 64 s
    REGION_FORWARD = 3'd6,  ///< writes go out to m_fwd_*, reads are unsupported
    REGION_NONE    = 3'd7
  } region_e;
  localparam int REGION_W = WIN_W - 3;  // log2 of a region's bytes: 8 MiB

  // Offsets in REGION_QUEUES.
  localparam logic [REGION_W-1:0] ADMIN_SQ  = 23'h00_0000;  // 4 entries
  localparam logic [REGION_W-1:0] ADMIN_CQ  = 23'h00_1000;
  localparam logic [REGION_W-1:0] ADMIN_BUF = 23'h00_2000;  // 4 KiB
  localparam logic [REGION_W-1:0] IO_SQ     = 23'h10_0000;  // I/O queue pair q (0 is the first): + 64 KiB x q
  localparam logic [REGION_W-1:0] IO_CQ     = 23'h20_0000;  // the same
  localparam int ADMIN_SQ_ENTRIES = 4;

  // ---- block commands
  typedef enum logic [3:0] {
    BLOCK_READ, BLOCK_WRITE, BLOCK_FLUSH, BLOCK_TRIM, BLOCK_ZEROES, BLOCK_VERIFY
  } block_op_e;

  /// s_axis_cmd_tdata, 128 bits
  typedef struct packed {
    logic [11:0] rsvd;
    block_op_e   op;
    logic [15:0] tag;     ///< comes back with the status
    logic [31:0] blocks;  ///< logical blocks, at least 1; Flush: ignored
    logic [63:0] lba;     ///< first one
  } block_cmd_t;

  /// m_axis_status_tdata, 64 bits
  typedef struct packed {
    logic        rsvd;
    logic [14:0] status;   ///< db_nvme_pkg::status_t, as in CQE dword 3, bits 31:17; 0 is success
    logic [15:0] tag;
    logic [31:0] latency;  ///< cycles, from the command's (last part's) doorbell to its completion entry
  } block_status_t;

  // Statuses that the host makes itself: of SCT_PATH.
  localparam logic [7:0] SC_PATH_ERROR   = 8'h70;  // the drive is gone or could not be brought up
  localparam logic [7:0] SC_HOST_ABORTED = 8'h71;  // timed out, not repeated

  // ---- what a command slot holds
  // Enough to make the submission entry whenever the drive reads it.
  localparam int CID_W = 8;  // up to 256 slots
  localparam int GEN_W = 4;  // a command's identifier is {second try, generation of its slot, slot}
  typedef struct packed {
    block_op_e   op;
    logic [63:0] lba;
    logic [31:0] blocks;  ///< at least 1
    logic [13:0] buf512;  ///< where its data starts in the ring, units of 512 bytes
    logic [13:0] len512;  ///< bytes of data, units of 512; 0 for commands without
  } slot_t;

  /// Where a slot is in the life of the drive's queues (db_host_slot_state).
  typedef enum logic [2:0] {
    SLOTS_WAIT,    ///< no queues: parts wait, or end when the drive is dead
    SLOTS_SWEEP,   ///< marks every slot as not done
    SLOTS_RUN,
    SLOTS_DRAIN    ///< what is left ends with a status
  } slot_state_e;

  // ---- between the blocks
  /// A part of a block command: what one NVMe command carries.
  typedef struct packed {
    slot_t       slot;     ///< buf512 is 0: its place in the ring is not known yet
    logic [15:0] tag;      ///< of its block command
    logic        last;     ///< of its block command
    logic        bad;      ///< no work: the answer is status
    status_t     status;
  } part_t;

  /// What a submission entry is made from.
  typedef struct packed {
    logic [GEN_W-1:0] gen;
    slot_t            slot;
  } entry_ctx_t;

  /// Which slot a place in a submission queue belongs to.
  typedef struct packed {
    logic             second;  ///< one place is of another slot: of the oldest, which is tried a second time
    logic [8:0]       place;   ///< this one
    logic [CID_W-1:0] oldest;
    logic [CID_W-1:0] base;    ///< slot of place 0 of the first queue pair
    logic [CID_W-1:0] mask;    ///< slots in use - 1
  } slot_map_t;

  /// How a command ended.
  typedef struct packed {
    logic        not_now;  ///< its status says so
    logic        second;   ///< of the second try
    logic        odd;      ///< the round through the slots that it belongs to
    status_t     status;
    logic [31:0] latency;  ///< cycles since its doorbell
  } slot_done_t;

  /// The drive could not at the moment, and says nothing against the same command a moment later: Do Not Retry is 0, and
  /// the code is of its state (docs/host/theory.md, "A second try").
  function automatic logic says_not_now(input status_t s);
    return !s.dnr && s.sct == SCT_GENERIC &&
           s.sc inside {SC_POWER_LOSS, SC_ABORT_REQUESTED, SC_CMD_INTERRUPTED, SC_TRANSIENT_TRANSPORT, SC_NS_NOT_READY};
  endfunction

  /// A part of a Read whose data may go out.
  typedef struct packed {
    logic [13:0] buf512;   ///< its place in the ring and its length, units of 512 bytes
    logic [13:0] len512;
    logic        last;     ///< of its block command
    logic        error;    ///< zeros instead, marked in tuser
  } out_cmd_t;

  /// A doorbell to be rung.
  typedef struct packed {
    logic        cq;       ///< head of a completion queue, else tail of a submission queue
    logic [3:0]  qid;      ///< queue identifier: 0 admin, 1 the first I/O queue pair
    logic [15:0] value;
  } doorbell_t;

  /// The oldest command, when it is too old.
  typedef struct packed {
    logic [15:0] cid;
    logic [3:0]  qid;      ///< queue identifier
  } late_cmd_t;

  /// An entry that the drive has written to the admin completion queue.
  typedef struct packed {
    logic [1:0] index;     ///< its place in the queue
    cqe_t       cqe;
  } admin_entry_t;

  /// One dword access to the admin buffer and submission queue (db_host_admin_buf).
  typedef struct packed {
    logic        en;
    logic        we;
    logic [10:0] addr;     ///< dword: 0..1023 the buffer, from ADMIN_BUF_SQ on the submission queue
    logic [31:0] wdata;
  } admin_buf_t;
  localparam logic [10:0] ADMIN_BUF_SQ = 11'd1024;

  /// What software may set (regs/db_host.rdl).
  typedef struct packed {
    logic [31:0] nsid;
    logic [15:0] admin_ms;         ///< longest wait for an admin command
    logic [15:0] abort_ms;         ///< longest wait for a late command after its Abort
    logic [15:0] poll_ms;          ///< time between looks at CSTS; 0: never
    logic [15:0] shutdown_ms;      ///< longest wait for commands to end before a shutdown, and then for the drive
    logic        repeat_on_reset;  ///< submit again what a reset took, else report it
    logic        prp_only;         ///< no SGLs, whatever the drive takes
    logic [31:0] cmd_timeout;      ///< cycles until a command is late; 0: never
  } settings_t;

  /// What bring-up has found out about the drive: good while io_up.
  typedef struct packed {
    logic [63:0] blocks;           ///< of the namespace
    logic [31:0] max_blocks;       ///< of a command that moves data
    logic [3:0]  lba_shift;        ///< log2 of a block's bytes
    logic [15:0] sq_size;          ///< entries of each I/O queue: a power of 2
    logic [3:0]  doorbell_stride;  ///< CAP.DSTRD
    logic [15:0] oncs;             ///< optional commands
    logic        vwc;              ///< there is a volatile write cache
    logic        sgl;              ///< it takes SGLs (SGLS of Identify Controller)
  } drive_facts_t;

  /// What is under way on the control side; nothing is if all are 0.
  typedef struct packed {
    logic supervisor;              ///< not up, and something is done about it; or a command is late
    logic request;                 ///< an access to the drive, or a doorbell
    logic admin;                   ///< an admin command is coming in
    logic user;                    ///< the user has one, or its answer
  } control_busy_t;

  /// Who has the drive (db_host_owner).
  typedef enum logic [2:0] {
    OWNER_CARD    = 3'd0,  ///< we: the control side brings it up, and keeps it up
    OWNER_LEAVING = 3'd1,  ///< we, or we have a queue pair of it, but not for long: what is under way ends
    OWNER_NOBODY  = 3'd2,  ///< not we: nothing of it is touched
    OWNER_HANDED  = 3'd3,  ///< somebody, who has handed over a queue pair
    OWNER_LOST    = 3'd4   ///< the same, and it has failed
  } owner_e;

  /// A queue pair that is handed over. Its queues lie where the first I/O queue pair's are in the window.
  typedef struct packed {
    logic [23:0] sq_doorbell;      ///< offset in BAR 0
    logic [23:0] cq_doorbell;
    logic [31:0] nsid;
    logic [3:0]  sq_log2;          ///< log2 of the entries of each queue, 2..log2 of twice the slots
    logic [3:0]  lba_shift;        ///< log2 of a block's bytes, 9..12
    logic [4:0]  transfer_log2;    ///< log2 of the largest data command's bytes, 12 or more
  } handed_t;

  // Cycles from m_row_valid of db_pcie_root to its row, and the eighths of the window that answer its reads.
  localparam int ROW_LATENCY = 4;
  localparam logic [7:0] READABLE_REGIONS = 8'h3f;  // all but REGION_FORWARD, REGION_NONE

endpackage
