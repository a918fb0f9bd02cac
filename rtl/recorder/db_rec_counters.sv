// SPDX-License-Identifier: Apache-2.0
// All words of the recorder that count or hold a chunk, in one block RAM, and the arithmetic between two of them.
//
// db_rec_sequencer says in each step which word is meant; here is what becomes of it: counters, latencies, marked
// blocks, limits of a chunk, the blocks of the next read or trim. Two registers carry numbers from step to step:
// `left_q` (how many blocks) and `block_q` (from which one on). One adder does all of it, so a step adds or compares once.
// Latency: a step is 2 cycles, a word read in the first and written in the second. What a job is about is looked at a
// cycle after `job`: in its first step's first cycle.
module db_rec_counters
  import db_rec_pkg::*;
#(
  parameter int N_DRIVES    = 2,     ///< 1..8
  parameter int CLK_MHZ     = 250,
  parameter int READ_BLOCKS = 8,     ///< blocks of 4 KiB of the largest read: a power of 2, at most 8192
  parameter int TRIM_BLOCKS = 4096   ///< ... trim
) (
  input  logic                        clk,
  input  logic                        rst,
  input  step_t                       step,
  input  job_t                        job,
  output found_t                      found,

  /// Words of software: {extended, drive, word}.
  input  logic                        reg_write,
  input  logic                        reg_all,
  input  logic [9:0]                  reg_addr,
  input  logic [31:0]                 reg_wdata,
  output logic [31:0]                 reg_rdata,

  /// What a job is about, a cycle after it; status: until the next one's.
  input  event_t                      s_event,
  input  db_host_pkg::block_status_t  status,
  input  lane_state_t [N_DRIVES-1:0]  lanes,
  input  drive_control_t [N_DRIVES-1:0] control,

  output chunk_t                      chunk,   ///< with `load`
  output issue_t                      issue    ///< with `issue_valid`
);
  localparam int VW       = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  localparam int READ_LOG2 = $clog2(READ_BLOCKS);
  localparam int TRIM_LOG2 = $clog2(TRIM_BLOCKS);
  if (READ_BLOCKS != (1 << READ_LOG2) || TRIM_BLOCKS != (1 << TRIM_LOG2) || READ_LOG2 > 13 || TRIM_LOG2 > 13)
  begin : g_bad
    $error("%m: READ_BLOCKS and TRIM_BLOCKS must be powers of 2 up to 8192");
  end

  logic [31:0] left_q, block_q, word, value, result, us;
  logic        adjacent_q, us_done, flush_q, carry;
  db_host_pkg::block_op_e op;
  logic [4:0]  us_bucket, runs_q;
  logic [3:0]  why_q;
  lane_state_t lane;  // of the drive at hand
  write_tag_t  write_tag;
  other_tag_t  other_tag;
  job_t        job_q;     // a job's first word is there two cycles after it
  logic        before_q;  // the block lies in the 4096 before those of the lane's next one
  logic        enabled;   // the drive at hand already is
  assign lane      = lanes[VW'(step.drive)];
  assign enabled   = step.read ? control[VW'(step.drive)].read : control[VW'(step.drive)].capture;
  assign write_tag = status.tag;
  assign other_tag = status.tag;
  assign found     = '{zero: left_q == '0, divided: us_done, adjacent: adjacent_q,
                       runs_full: runs_q >= 5'(MAX_RUNS), runs_over: runs_q > 5'(MAX_RUNS),
                       run_long: result[28] != word[28]};  // it would reach its reason

  // ---- the RAM
  logic [9:0] addr;
  logic       re, we, extended;
  logic [5:0] w;
  always_comb begin
    extended = 1'b0;
    w        = '0;
    unique case (step.state)
      STEP_KEEP_START:  // from one word to another
        w = step.phase ? (step.read ? W_KEPT_RBLOCK : W_KEPT_START) : step.read ? W_RBLOCK : W_START;
      STEP_KEEP_SIZE: w = step.phase ? (step.read ? W_KEPT_RNUM : W_KEPT_SIZE) : step.read ? W_RNUM : W_SIZE;
      STEP_START:
        w = step.phase ? (step.read ? W_RFIRST : W_FIRST) : step.read ? W_KEPT_RBLOCK : W_KEPT_START;
      STEP_SIZE:                  w = step.read ? W_KEPT_RNUM : W_KEPT_SIZE;
      STEP_BASE:                    w = step.read ? W_RFIRST : W_FIRST;
      STEP_LIMIT, STEP_LEFT:        {extended, w} = step.read ? {1'b0, W_RLIMIT} : {1'b1, X_LIMIT};
      STEP_ZERO_ERROR, STEP_ERROR:  w = step.read ? W_RERROR : W_ERROR;
      STEP_ZERO_DONE, STEP_NUM:     w = step.read ? W_RDONE : W_NUM;
      STEP_ZERO_PROC, STEP_DONE, STEP_ISSUE: {extended, w} = step.read ? {1'b0, W_RPROC} : {1'b1, X_TRIMMED};
      STEP_PEAK, STEP_ZERO_PEAK:    w = W_PEAK;
      STEP_BUCKET: {extended, w} = {2'b10, us_bucket > 5'(HIST_BUCKETS - 1) ? 5'(HIST_BUCKETS - 1) : us_bucket};
      STEP_COUNT:                 {extended, w} = {1'b1, step.read ? X_BADREAD : X_LOST};
      STEP_RUNS, STEP_RUN_ADD:      {extended, w} = {1'b1, X_RUNS};
      STEP_RUN_END:               {extended, w} = {1'b1, X_RUN_END};
      STEP_RUN_MORE:              {extended, w} = {2'b11, 4'(runs_q - 5'd1), 1'b1};
      STEP_RUN_FIRST:             {extended, w} = {2'b11, runs_q[3:0], 1'b0};
      STEP_RUN_WHY:               {extended, w} = {2'b11, runs_q[3:0], 1'b1};
      default: ;
    endcase
    addr = {extended, step.drive, w};
    if (step.state == STEP_REG) addr = {reg_addr[9], reg_all && reg_write ? step.drive : reg_addr[8:6], reg_addr[5:0]};
    if (step.state == STEP_WIPE) addr = step.wipe_addr;
  end

  // ---- the only adder: a word or block_q, and left_q or the latency
  // What a step does is settled in its first cycle, one bit a source, so that a register's next value is an OR.
  typedef struct packed {
    logic word, block;     // the one: of both at most one, else 0
    logic left, us;        // the other: the same
    logic invert, carry;   // the other is inverted; 1 is added
  } add_t;
  typedef struct packed {
    logic [N_DRIVES-1:0] total;              // left_q: a drive's blocks
    logic word, result, negated, room, most; // ... a word; the sum; inverted; not below 0; at most so many
    logic smaller;                           // ... only if it gets smaller
    logic block;                             // block_q: the sum
    logic error;                             // ... with the low bits of the status' tag
  } set_t;
  typedef enum logic [1:0] {VALUE_RESULT, VALUE_REG, VALUE_US, VALUE_STATUS} value_e;
  add_t        add_d, add_q;
  set_t        set_d, set_q;
  value_e      value_d, value_q;
  logic        why_d, why_use_q;
  logic [31:0] one, other;
  always_comb begin
    add_d   = '0;
    set_d   = '0;
    value_d = VALUE_RESULT;
    why_d   = 1'b0;
    unique case (step.state)
      STEP_REG:             value_d = VALUE_REG;
      STEP_KEEP_START, STEP_KEEP_SIZE: add_d.word = 1'b1;
      STEP_START: begin
        add_d.word  = 1'b1;
        set_d.block = 1'b1;
        for (int i = 0; i < N_DRIVES; i++) set_d.total[i] = step.drive == 3'(i);
      end
      STEP_ROOM: begin                               // block_q - left_q - 1
        {add_d.block, add_d.left, add_d.invert}   = '1;
        {set_d.result, set_d.negated, set_d.room} = '1;
      end
      STEP_SIZE: begin                               // word - left_q - 1
        {add_d.word, add_d.left, add_d.invert} = '1;
        {set_d.word, set_d.smaller}            = '1;
      end
      STEP_LIMIT:           add_d.left = 1'b1;
      STEP_LOAD, STEP_RUN_END: {add_d.block, add_d.left} = '1;
      STEP_DONE:            set_d.word = 1'b1;
      STEP_BASE: begin
        {add_d.word, add_d.left} = '1;
        set_d.block              = 1'b1;
      end
      STEP_LEFT: begin
        {add_d.word, add_d.left, add_d.invert, add_d.carry} = '1;
        set_d.result                                        = 1'b1;
      end
      STEP_CUT:             set_d.most = 1'b1;
      STEP_BACK: begin
        {add_d.block, add_d.left, add_d.invert, add_d.carry} = '1;
        set_d.block                                          = 1'b1;
      end
      STEP_NUM, STEP_ISSUE, STEP_BUCKET, STEP_COUNT, STEP_RUN_MORE: {add_d.word, add_d.left} = '1;
      STEP_PEAK: begin                               // word - us - 1
        {add_d.word, add_d.us, add_d.invert} = '1;
        value_d                              = VALUE_US;
      end
      STEP_ERROR: begin                              // block_q, or 1 less
        {add_d.block, add_d.invert} = {1'b1, before_q};
        {set_d.block, set_d.error}  = '1;
        value_d                     = VALUE_STATUS;
      end
      STEP_RUN_FIRST:       add_d.block = 1'b1;
      STEP_RUN_WHY:         {add_d.left, why_d} = '1;
      STEP_RUN_ADD:         {add_d.word, add_d.carry} = '1;
      default: ;
    endcase
  end
  always_ff @(posedge clk) begin
    add_q     <= add_d;
    set_q     <= step.phase ? set_t'('0) : set_d;
    value_q   <= value_d;
    why_use_q <= why_d;
  end
  assign one   = (add_q.word ? word : '0) | (add_q.block ? block_q : '0);
  assign other = (add_q.left ? left_q : '0) | (add_q.us ? us : '0);
  logic unused;
  assign {carry, result, unused} = {1'b0, one, 1'b1} + {1'b0, other ^ {32{add_q.invert}}, add_q.carry};

  always_comb begin
    unique case (value_q)
      VALUE_REG:    value = reg_wdata;
      VALUE_US:     value = us;
      VALUE_STATUS: value = db_recorder_regs_pkg::set_error_t'{reserved_15: '0, status: status.status};
      default:      value = result;
    endcase
    if (why_use_q) value[31:28] = why_q;
  end
  assign re = !step.phase;
  always_comb begin
    unique case (step.state)
      STEP_START, STEP_ZERO_PEAK, STEP_LIMIT, STEP_ZERO_ERROR, STEP_ZERO_DONE, STEP_ZERO_PROC, STEP_ISSUE, STEP_NUM,
      STEP_BUCKET, STEP_COUNT, STEP_RUN_END, STEP_RUN_FIRST, STEP_RUN_WHY, STEP_WIPE: we = step.phase;
      STEP_RUN_MORE: we = step.phase && !found.run_long;
      STEP_RUN_ADD:  we = step.phase && !carry;           // it stays at its most
      STEP_KEEP_START, STEP_KEEP_SIZE: we = step.phase && !enabled;  // later it is the next one's
      STEP_PEAK:  we = step.phase && us_done && !carry;   // it is not below what is there
      STEP_ERROR: we = step.phase && word == '0;          // the first one stays
      STEP_REG:  we = step.phase && reg_write;
      default:   we = 1'b0;
    endcase
  end
  db_ram_sdp #(.WIDTH(32), .DEPTH(1024)) i_ram (
    .clk, .we, .waddr(addr), .wdata(value), .re, .raddr(addr), .rdata(word)
  );
  db_rec_timebase #(.CLK_MHZ(CLK_MHZ)) i_us (
    .clk, .rst, .start(job_q.status), .cycles(status.latency), .done(us_done), .us, .bucket(us_bucket)
  );
  assign reg_rdata = word;
  assign chunk     = '{first: block_q, stop: result};
  assign issue     = '{user: 1'b0, op: op, kind: step.kind, block: 35'(block_q), blocks: left_q[13:0]};

  assign op = flush_q ? db_host_pkg::BLOCK_FLUSH : step.kind == KIND_READ ? db_host_pkg::BLOCK_READ :
              db_host_pkg::BLOCK_TRIM;

  // ---- from step to step
  logic [N_DRIVES-1:0] from_q;   // ... it is about what this lane says of its blocks
  logic [31:0]         left_d, block_d;
  logic                left_set, block_set, above;
  always_comb begin
    left_d  = 32'(job_q.marked) | (job_q.lost ? 32'(lane.lost_blocks) : '0) |
              (set_q.result ? result ^ {32{set_q.negated}} : '0) | (set_q.word ? word : '0);
    block_d = (job_q.marked ? s_event.block : '0) | (set_q.block ? result : '0);
    if (job_q.status) begin
      left_d |= write_tag.kind == KIND_WRITE ? 32'(write_tag.more) + 32'd1 : 32'(other_tag.blocks);
    end
    for (int i = 0; i < N_DRIVES; i++) begin
      left_d  |= set_q.total[i] ? lanes[i].total : '0;
      block_d |= from_q[i] ? lanes[i].next : '0;
    end
    // at least as many as a command may have
    above = step.read && step.kind == KIND_READ ? left_q[31:READ_LOG2] != '0 : left_q[31:TRIM_LOG2] != '0;
    if (set_q.most) left_d |= step.read && step.kind == KIND_READ ? 32'(READ_BLOCKS) : 32'(TRIM_BLOCKS);
    left_set  = job_q.flush || job_q.marked || job_q.lost || job_q.status || set_q.total != '0 || set_q.result ||
                (set_q.word && !(set_q.smaller && carry)) || (set_q.most && above);
    block_set = job_q.flush || job_q.marked || from_q != '0 || set_q.block;
  end
  always_ff @(posedge clk) begin
    job_q <= job;
    for (int i = 0; i < N_DRIVES; i++) from_q[i] <= (job.lost || job.status) && step.drive == 3'(i);
    if (left_set) left_q <= left_d;
    if (set_q.room && carry) left_q <= '0;
    if (block_set) block_q <= block_d;
    if (job_q.status) block_q[11:0] <= '0;  // the rest in STEP_ERROR
    if (set_q.error) block_q[11:0] <= write_tag.block;
    if (job_q.flush) flush_q <= 1'b1;
    if (job_q.issue) flush_q <= 1'b0;
    if (job_q.status) before_q <= write_tag.block >= lane.next[11:0];
    if (job_q.marked) why_q <= s_event.malformed ? WHY_FORMAT : WHY_DOWN;
    if (job_q.lost) why_q <= WHY_RESET;
    if (job_q.status) why_q <= WHY_STATUS;
    if (step.state == STEP_RUN_END) adjacent_q <= word == block_q && runs_q != '0;
    if (step.state == STEP_RUNS && step.phase) runs_q <= word > 32'(MAX_RUNS) ? 5'(MAX_RUNS + 1) : word[4:0];
  end
endmodule
