// SPDX-License-Identifier: Apache-2.0
// What the blocks of the recorder share: what passes between them, kinds of commands and their tags, places in the
// register RAM. Needs the package that is made from regs/db_recorder.rdl.
package db_rec_pkg;

  // The recorder's unit: a block of 4 KiB, whatever the drives' own block size. Block numbers are of one drive.
  localparam int BLOCK_BITS = 8 * 4096;

  // ---- a drive and its host
  /// What db_host says of its drive.
  typedef struct packed {
    logic        phy_ready;
    logic        link_up;
    logic        up;           // it takes commands
    logic        dead;         // given up, or shut down
    logic        shut_down;    // in order, as it was asked for
    logic        shutdown_failed;
    logic [63:0] window_base;  // where the drive sees the host
    logic [63:0] blocks;       // logical blocks
    logic [3:0]  lba_shift;    // log2 of a logical block's bytes, 9..12
  } host_state_t;

  /// The same as most blocks need it.
  typedef struct packed {
    logic up;
    logic dead;
    logic flush;  // in reset: all that is on its way is lost
  } drive_state_t;

  /// An access to a register of a drive's BAR 0.
  typedef struct packed {
    logic        write;
    logic [23:0] addr;
    logic [31:0] wdata;
  } drive_access_t;

  typedef struct packed {
    logic [1:0]  status;  // of db_host: 0 good, 3 timed out
    logic [31:0] rdata;
  } drive_answer_t;

  /// The end of an admin command.
  typedef struct packed {
    logic         timeout;  // there is no entry
    logic [127:0] cqe;
  } admin_answer_t;

  // ---- commands
  /// What a command is for; the first part of its tag.
  typedef enum logic [1:0] {
    KIND_WRITE, KIND_TRIM, KIND_READ, KIND_READ_TRIM  // TRIM: before a capture. READ_TRIM: PerformTrim
  } kind_e;

  /// Tag of a write: at most 4 blocks are in one, and fewer than 4096 blocks of a drive are on their way.
  typedef struct packed {
    kind_e       kind;
    logic [1:0]  more;   // blocks - 1
    logic [11:0] block;  // low bits of the first one's number
  } write_tag_t;

  /// Tag of the others.
  typedef struct packed {
    kind_e       kind;
    logic [13:0] blocks;
  } other_tag_t;

  /// A command to the drive that is no write of a capture.
  typedef struct packed {
    logic                  user;   // of db_rec_io: in the drive's blocks; else in ours
    db_host_pkg::block_op_e op;
    kind_e                 kind;
    logic [34:0]           block;
    logic [13:0]           blocks;
  } issue_t;
  localparam logic [15:0] USER_TAG = {KIND_READ_TRIM, 14'd0};  // of db_rec_io's; all others have blocks

  // ---- a capture
  /// Blocks of one drive that a capture fills; stop: the one behind the last.
  typedef struct packed {
    logic [31:0] first;
    logic [31:0] stop;
  } chunk_t;

  /// One drive's lane.
  typedef struct packed {
    logic        room;         // for a whole block
    logic        at_end;       // of the chunk; 2 cycles after it was loaded or a block was taken
    logic [31:0] next;         // the block that comes next
    logic [31:0] total;        // blocks that may be used
    logic [11:0] out_blocks;   // taken, without status
    logic        lost;         // a reset of the drive lost some
    logic [11:0] lost_blocks;  // so many: the last ones before next
    logic        hold;         // no block may begin for anybody
    logic        idle;         // nothing is on its way
  } lane_state_t;

  /// A block is lost or malformed.
  typedef struct packed {
    logic        malformed;    // else lost: its drive was down
    logic [2:0]  drive;
    logic [31:0] block;
  } event_t;

  /// What software wants of a drive.
  typedef struct packed {
    logic capture;
    logic capture_rises;       // a cycle: it has just been set
    logic read;
    logic read_rises;
    logic read_trims;          // trim in place of read; as it was when read rose
  } drive_control_t;

  /// What a drive is at.
  typedef struct packed {
    logic trimming;            // before a capture
    logic capturing;           // from the start to the last status
    logic closing;             // all blocks have their status; what is left is the Flush
    logic captured;
    logic reading;
    logic read_done;
    logic pending;             // DataEnable was set, the capture has not begun: what counts is still the last one's
    logic read_pending;        // the same of ReadControl.Enable
  } drive_progress_t;

  /// The buffer in memory, if there is one.
  typedef struct packed {
    logic        busy;         // the capture must not end yet
    logic [28:0] blocks;       // inside
    logic        bad_last;     // these two stay: db_axi_fifo
    logic        error;
  } buffer_state_t;

  // ---- packets
  /// A cycle of the packet streams; keep: a bit a dword.
  typedef struct packed {
    logic         last;
    logic [3:0]   keep;
    logic [127:0] data;
  } packet_t;

  /// A dword of a reply.
  typedef struct packed {
    logic        last;
    logic [31:0] data;
  } reply_t;

  /// How an admin command is answered that does not go to the drive; MADE_NOT: it does.
  typedef enum logic [1:0] {MADE_NOT, MADE_GOOD, MADE_ABORTED, MADE_AER_LIMIT} made_e;

  /// A drive's admin command that came as a packet, up to the packet with its completion.
  typedef struct packed {
    logic        busy;         // one is under way
    made_e       made;
    logic        gone;         // the drive was reset: there will be no answer
    logic [3:0]  qid;
    logic [15:0] cid;
    logic        prp_bit23;    // of its first PRP
  } admin_t;

  /// Dwords of the host's memory that are wanted.
  typedef struct packed {
    logic [3:0]  drive;
    logic [23:0] addr;
    logic [5:0]  dwords;
    logic [7:0]  tag;
  } fetch_t;

  /// The end of an I/O queue entry of the host.
  typedef struct packed {
    logic [3:0]  drive;
    logic [3:0]  qid;
    logic [15:0] cid;
    logic [14:0] status;
  } io_done_t;

  // ---- registers
  /// AXI4-Lite, what the master drives.
  typedef struct packed {
    logic        awvalid;
    logic [15:0] awaddr;
    logic        wvalid;
    logic [31:0] wdata;
    logic        bready;
    logic        arvalid;
    logic [15:0] araddr;
    logic        rready;
  } axil_req_t;

  /// AXI4-Lite, what the slave drives; its responses are always OKAY.
  typedef struct packed {
    logic        awready;
    logic        wready;
    logic        bvalid;
    logic        arready;
    logic        rvalid;
    logic [31:0] rdata;
  } axil_rsp_t;

  /// An access of software, decoded.
  typedef struct packed {
    logic        there;        // there is such a set
    logic        write;
    logic        main;         // main set: a write goes to all drives, a read is drive 0's
    logic        extended;     // an extended set, or the recorder's own
    logic        own;          // the recorder's own
    logic [2:0]  drive;
    logic [5:0]  word;         // of the set
    logic [31:0] wdata;
  } access_t;

  // ---- the sequencer
  typedef enum logic [4:0] {
    STEP_IDLE, STEP_REG, STEP_WIPE,
    // Enable: what software has written is kept
    STEP_KEEP_START, STEP_KEEP_SIZE,
    // a chunk begins
    STEP_START, STEP_ROOM, STEP_SIZE, STEP_LIMIT, STEP_LOAD, STEP_ZERO_PEAK, STEP_ZERO_ERROR, STEP_ZERO_DONE,
    STEP_ZERO_PROC,
    // its next trim or read
    STEP_DONE, STEP_BASE, STEP_LEFT, STEP_CUT, STEP_ISSUE,
    // a status, lost blocks
    STEP_BACK, STEP_NUM, STEP_PEAK, STEP_BUCKET, STEP_ERROR, STEP_COUNT,
    // blocks are marked
    STEP_RUNS, STEP_RUN_END, STEP_RUN_PICK, STEP_RUN_MORE, STEP_RUN_FIRST, STEP_RUN_WHY, STEP_RUN_ADD
  } step_e;

  /// Where the sequencer is.
  typedef struct packed {
    step_e       state;
    logic        phase;        // 0: a word is read, 1: it is there
    logic [2:0]  drive;        // at hand
    logic        read;         // about a chunk that is read or trimmed by PerformTrim, not about a capture
    kind_e       kind;         // of the command to be issued
    logic [9:0]  wipe_addr;    // in STEP_WIPE
  } step_t;

  /// A job begins (pulses, at most one).
  typedef struct packed {
    logic marked;              // db_rec_capture has an event
    logic lost;                // the drive's lane has lost blocks
    logic status;              // the drive's host has a status
    logic begin_capture;
    logic end_trim;            // that came before the capture
    logic end_capture;
    logic begin_read;
    logic end_read;
    logic issue;               // a read or trim
    logic flush;               // a Flush, at the end of a capture
  } job_t;

  /// What a chunk has come to (pulses).
  typedef struct packed {
    logic loaded;              // it can begin
    logic all_issued;          // no more reads or trims are needed
    logic read;                // it is one that is read, not a capture's
  } chunk_event_t;

  /// What the sequencer must know of the words that were read.
  typedef struct packed {
    logic zero;                // nothing is left
    logic divided;             // the latency in microseconds is there
    logic adjacent;            // the blocks touch the last run
    logic runs_full;           // all places for runs are taken
    logic runs_over;           // more than that came
    logic run_long;            // the last run has no room for all of the blocks (in the second cycle of STEP_RUN_MORE)
  } found_t;

  // Why a block is in the list of marked blocks: what regs/db_recorder.rdl says.
  localparam logic [3:0] WHY_DOWN   = db_recorder_regs_pkg::WHY_DOWN;    // the drive was not up: not written
  localparam logic [3:0] WHY_FORMAT = db_recorder_regs_pkg::WHY_FORMAT;  // tlast was early or late; written
  localparam logic [3:0] WHY_STATUS = db_recorder_regs_pkg::WHY_STATUS;  // the write ended with an error
  localparam logic [3:0] WHY_RESET  = db_recorder_regs_pkg::WHY_RESET;   // the drive was reset meanwhile

  // Register RAM: word address {extended, drive[2:0], word[5:0]}. A word is where its register is in the drive's set
  // (W_) or extended set (X_) of regs/db_recorder.rdl; the last ones are the sequencer's own, where there is none.
  localparam logic [5:0] W_ID       = 6'(db_recorder_regs_pkg::SET_ID_ADDR / 4);
  localparam logic [5:0] W_CONTROL  = 6'(db_recorder_regs_pkg::SET_CONTROL_ADDR / 4);
  localparam logic [5:0] W_STATUS   = 6'(db_recorder_regs_pkg::SET_STATUS_ADDR / 4);
  localparam logic [5:0] W_TOTAL    = 6'(db_recorder_regs_pkg::SET_TOTAL_BLOCKS_ADDR / 4);
  localparam logic [5:0] W_LOST     = 6'(db_recorder_regs_pkg::SET_BLOCKS_LOST_ADDR / 4);
  localparam logic [5:0] W_START    = 6'(db_recorder_regs_pkg::SET_DATA_CHUNK_START_ADDR / 4);
  localparam logic [5:0] W_SIZE     = 6'(db_recorder_regs_pkg::SET_DATA_CHUNK_SIZE_ADDR / 4);
  localparam logic [5:0] W_ERROR    = 6'(db_recorder_regs_pkg::SET_ERROR_ADDR / 4);
  localparam logic [5:0] W_NUM      = 6'(db_recorder_regs_pkg::SET_NUM_BLOCKS_ADDR / 4);
  localparam logic [5:0] W_TIME     = 6'(db_recorder_regs_pkg::SET_TIME_US_ADDR / 4);
  localparam logic [5:0] W_PEAK     = 6'(db_recorder_regs_pkg::SET_PEAK_LATENCY_US_ADDR / 4);
  localparam logic [5:0] W_RCONTROL = 6'(db_recorder_regs_pkg::SET_READ_CONTROL_ADDR / 4);
  localparam logic [5:0] W_RSTATUS  = 6'(db_recorder_regs_pkg::SET_READ_STATUS_ADDR / 4);
  localparam logic [5:0] W_RBLOCK   = 6'(db_recorder_regs_pkg::SET_READ_BLOCK_ADDR / 4);
  localparam logic [5:0] W_RNUM     = 6'(db_recorder_regs_pkg::SET_READ_NUM_BLOCKS_ADDR / 4);
  localparam logic [5:0] W_RERROR   = 6'(db_recorder_regs_pkg::SET_READ_ERROR_ADDR / 4);
  localparam logic [5:0] W_RPROC    = 6'(db_recorder_regs_pkg::SET_READ_BLOCKS_PROC_ADDR / 4);
  localparam logic [5:0] W_RDONE    = 6'(db_recorder_regs_pkg::SET_READ_BLOCKS_DONE_ADDR / 4);
  localparam logic [5:0] X_LOST     = 6'(db_recorder_regs_pkg::EXTENDED_LOST_ADDR / 4);
  localparam logic [5:0] X_BADREAD  = 6'(db_recorder_regs_pkg::EXTENDED_BAD_READS_ADDR / 4);
  localparam logic [5:0] X_RUNS     = 6'(db_recorder_regs_pkg::EXTENDED_RUNS_ADDR / 4);
  localparam logic [5:0] X_LIMIT    = 6'(db_recorder_regs_pkg::EXTENDED_CUT_ADDR / 4);
  localparam logic [5:0] X_TRIMMED  = 6'(db_recorder_regs_pkg::EXTENDED_TRIMMED_ADDR / 4);
  localparam logic [5:0] X_RUN      = 6'(db_recorder_regs_pkg::EXTENDED_RUN_ADDR / 4);
  localparam int HIST_BUCKETS = db_recorder_regs_pkg::EXTENDED_HISTOGRAM_NUM;
  localparam int MAX_RUNS     = db_recorder_regs_pkg::EXTENDED_RUN_NUM;
  localparam logic [5:0] W_RLIMIT = 6'h27, X_RUN_END = 6'h1f;
  // First block and blocks as they were at Enable (of a capture, of a read), and the first block of what is under way.
  localparam logic [5:0] W_KEPT_START = 6'h28, W_KEPT_SIZE = 6'h29, W_KEPT_RBLOCK = 6'h2a, W_KEPT_RNUM = 6'h2b;
  localparam logic [5:0] W_FIRST = 6'h2c, W_RFIRST = 6'h2d;

endpackage
