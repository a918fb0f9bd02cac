// SPDX-License-Identifier: Apache-2.0
// All words of the recorder that count or hold a chunk, in one block RAM, and the arithmetic between two of them.
//
// db_rec_sequencer says in each step which word is meant; here is what becomes of it: counters, latencies, marked
// blocks, limits of a chunk, the blocks of the next read or trim. Two registers carry numbers from step to step:
// `left_q` (how many blocks) and `block_q` (from which one on).
// Latency: a step is 2 cycles, a word read in the first and written in the second.
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

  /// What a job is about.
  input  event_t                      s_event,
  input  db_host_pkg::block_status_t  status,
  input  logic [2:0]                  done_blocks,
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

  logic [31:0] left_q, block_q, word, value, sum, block_sum, us;
  logic        adjacent_q, us_done, flush_q;
  db_host_pkg::block_op_e op;
  logic [4:0]  us_bucket, runs_q;
  logic [3:0]  why_q;
  logic [14:0] status_q;
  lane_state_t lane;  // of the drive at hand
  logic [19:0] next_down;
  write_tag_t  write_tag;
  other_tag_t  other_tag;
  logic        enabled;  // the drive at hand already is
  assign lane      = lanes[VW'(step.drive)];
  assign enabled   = step.read ? control[VW'(step.drive)].read : control[VW'(step.drive)].capture;
  assign next_down = lane.next[31:12] - 1'b1;
  assign write_tag = status.tag;
  assign other_tag = status.tag;
  assign found     = '{zero: left_q == '0, divided: us_done, adjacent: adjacent_q,
                       runs_full: runs_q >= 5'(MAX_RUNS), runs_over: runs_q > 5'(MAX_RUNS)};

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
      STEP_START:                 w = step.read ? W_KEPT_RBLOCK : W_KEPT_START;
      STEP_SIZE:                  w = step.read ? W_KEPT_RNUM : W_KEPT_SIZE;
      STEP_ROOM, STEP_BASE:         w = step.read ? W_RFIRST : W_FIRST;
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
  assign sum       = word + (step.state == STEP_RUN_ADD ? 32'd1 : left_q);
  assign block_sum = step.state == STEP_BACK ? block_q - left_q : block_q + (step.state == STEP_DONE ? word : left_q);
  always_comb begin
    unique case (step.state)
      STEP_REG:       value = reg_wdata;
      STEP_LIMIT:     value = left_q;
      STEP_ROOM:      value = block_q;
      STEP_KEEP_START, STEP_KEEP_SIZE: value = word;
      STEP_PEAK:      value = us > word ? us : word;
      STEP_ERROR: value = word == '0 ? db_recorder_regs_pkg::set_error_t'{reserved_15: '0, status: status_q} : word;
      STEP_RUN_END:   value = block_sum;
      STEP_RUN_FIRST: value = block_q;
      STEP_RUN_WHY:   value = db_recorder_regs_pkg::run_why_t'{why: why_q, blocks: left_q[27:0]};
      STEP_NUM, STEP_ISSUE, STEP_BUCKET, STEP_COUNT, STEP_RUN_MORE, STEP_RUN_ADD: value = sum;
      default:      value = '0;
    endcase
  end
  assign re = !step.phase;
  always_comb begin
    unique case (step.state)
      STEP_ROOM, STEP_ZERO_PEAK, STEP_LIMIT, STEP_ZERO_ERROR, STEP_ZERO_DONE, STEP_ZERO_PROC, STEP_ISSUE, STEP_NUM,
      STEP_BUCKET, STEP_ERROR,
      STEP_COUNT, STEP_RUN_END, STEP_RUN_MORE, STEP_RUN_FIRST, STEP_RUN_WHY, STEP_RUN_ADD, STEP_WIPE: we = step.phase;
      STEP_KEEP_START, STEP_KEEP_SIZE: we = step.phase && !enabled;  // later it is the next one's
      STEP_PEAK: we = step.phase && us_done;
      STEP_REG:  we = step.phase && reg_write;
      default:   we = 1'b0;
    endcase
  end
  db_ram_sdp #(.WIDTH(32), .DEPTH(1024)) i_ram (
    .clk, .we, .waddr(addr), .wdata(value), .re, .raddr(addr), .rdata(word)
  );
  db_rec_timebase #(.CLK_MHZ(CLK_MHZ)) i_us (
    .clk, .rst, .start(job.status), .cycles(status.latency), .done(us_done), .us, .bucket(us_bucket)
  );
  assign reg_rdata = word;
  assign chunk     = '{first: block_q, stop: block_sum};
  assign issue     = '{user: 1'b0, op: op, kind: step.kind, block: 35'(block_q), blocks: left_q[13:0]};

  assign op = flush_q ? db_host_pkg::BLOCK_FLUSH : step.kind == KIND_READ ? db_host_pkg::BLOCK_READ :
              db_host_pkg::BLOCK_TRIM;

  // ---- from step to step
  logic [31:0] most;
  assign most = step.read && step.kind == KIND_READ ? 32'(READ_BLOCKS) : 32'(TRIM_BLOCKS);
  always_ff @(posedge clk) begin
    if (step.state == STEP_RUN_END) adjacent_q <= word == block_q && runs_q != '0;
    if (job.flush) {flush_q, block_q, left_q} <= {1'b1, 64'd0};
    if (job.issue) flush_q <= 1'b0;
    if (job.marked) begin
      block_q <= s_event.block;
      left_q  <= 32'd1;
      why_q   <= s_event.malformed ? WHY_FORMAT : WHY_DOWN;
    end
    if (job.lost) begin
      block_q <= lane.next;
      left_q  <= 32'(lane.lost_blocks);
      why_q   <= WHY_RESET;
    end
    if (job.status) begin
      status_q <= status.status;
      why_q    <= WHY_STATUS;
      left_q   <= write_tag.kind == KIND_WRITE ? 32'(done_blocks) : 32'(other_tag.blocks);
      block_q  <= {write_tag.block >= lane.next[11:0] ? next_down : lane.next[31:12], write_tag.block};
    end
    if (step.phase) begin
      unique case (step.state)
        STEP_START: begin
          block_q <= word;
          left_q  <= lane.total;
        end
        STEP_ROOM: left_q <= left_q > block_q ? left_q - block_q : '0;
        STEP_SIZE: if (word < left_q) left_q <= word;
        STEP_BASE: block_q <= word;
        STEP_LEFT: left_q <= word;
        STEP_DONE: begin
          block_q <= block_sum;
          left_q  <= left_q - word;
        end
        STEP_CUT:  if (left_q > most) left_q <= most;
        STEP_BACK: block_q <= block_sum;
        STEP_RUNS: runs_q <= word > 32'(MAX_RUNS) ? 5'(MAX_RUNS + 1) : word[4:0];
        default: ;
      endcase
    end
  end
endmodule
