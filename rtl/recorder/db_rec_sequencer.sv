// SPDX-License-Identifier: Apache-2.0
// Chooses what the recorder does next of all that is slow, and goes through its steps: one job at a time.
//
// Why: a block takes each drive about 290 cycles, so counting, latencies, marked blocks, starting a chunk, and the
// commands of reads and trims need no logic of their own for each drive. At rest it looks at one drive every 2 cycles.
// Register accesses come first, then events of the stream, then what the drive at hand needs: lost blocks, a status,
// or one of the jobs that db_rec_capture_ctl, db_rec_read_ctl and db_rec_issue ask for.
// Time: a step is 2 cycles (a word is read, then written back changed; db_rec_counters does both). The status of a
// good write takes 8 cycles and the division of its latency, 20 to 40 in all.
module db_rec_sequencer
  import db_rec_pkg::*;
#(
  parameter int N_DRIVES = 2  ///< 1..8
) (
  input  logic                                       clk,
  input  logic                                       rst,
  input  logic                                       wipe,       ///< begin to clear all words
  output logic                                       wiping,

  /// Accesses to words; ready with the result. A write with `all` goes to every drive's.
  input  logic                                       reg_valid,
  output logic                                       reg_ready,
  input  logic                                       reg_write,
  input  logic                                       reg_latch,       ///< not a word: keep the chunk
  input  logic                                       reg_latch_read,  ///< ... of a read
  input  logic                                       reg_all,
  input  logic                    [2:0]              reg_drive,

  input  logic                                       s_event_valid,
  output logic                                       s_event_ready,
  input  event_t                                     s_event,

  input  logic                    [N_DRIVES-1:0]     s_status_valid,
  output logic                    [N_DRIVES-1:0]     s_status_ready,
  input  db_host_pkg::block_status_t [N_DRIVES-1:0]  s_status,

  input  drive_state_t            [N_DRIVES-1:0]     drives,
  input  lane_state_t             [N_DRIVES-1:0]     lanes,
  output logic                    [N_DRIVES-1:0]     lost_ack,
  output logic                    [N_DRIVES-1:0]     done_valid,   ///< blocks of a write have their status
  output logic                    [2:0]              done_blocks,

  /// What each drive needs.
  input  logic                    [N_DRIVES-1:0]     want_begin_capture,
  input  logic                    [N_DRIVES-1:0]     want_end_trim,
  input  logic                    [N_DRIVES-1:0]     want_end_capture,
  input  logic                    [N_DRIVES-1:0]     want_begin_read,
  input  logic                    [N_DRIVES-1:0]     want_end_read,
  input  logic                    [N_DRIVES-1:0]     want_issue,
  input  logic                    [N_DRIVES-1:0]     want_flush,
  input  kind_e                   [N_DRIVES-1:0]     want_kind,    ///< of the command to be issued
  input  logic                    [N_DRIVES-1:0]     lane_ready,   ///< the lane takes a command

  /// What is done.
  output logic                    [N_DRIVES-1:0]     here,         ///< the drive at hand
  output job_t                                       job,
  output step_t                                      step,
  output kind_e                                      status_kind,  ///< with job.status
  output db_host_pkg::block_status_t                 status,       ///< what job.status is about, from the next cycle on
  output chunk_event_t                               chunk_event,
  output logic                    [N_DRIVES-1:0]     load,         ///< the chunk to the lane
  output logic                    [N_DRIVES-1:0]     issue_valid,  ///< the command to the lane
  output logic                                       issue_free,   ///< no command is on its way to a lane
  input  found_t                                     found
);
  localparam int VW = N_DRIVES > 1 ? $clog2(N_DRIVES) : 1;
  if (N_DRIVES < 1 || N_DRIVES > 8) begin : g_bad
    $error("%m: N_DRIVES must be 1..8 (is %0d)", N_DRIVES);
  end

  step_e               state_q, state_d;
  logic                phase_q;
  logic [VW-1:0]       drive_q;
  logic [9:0]          wipe_addr_q, wipe_end_q;
  logic                first_q;                          // never wiped since rst
  logic                read_q, bad_q, marks_q, timed_q, counts_q;
  kind_e               kind_q;
  logic                last_drive;
  logic [N_DRIVES-1:0] lost_ack_q;

  write_tag_t tag;
  db_host_pkg::block_status_t now, status_q;
  assign now         = s_status[drive_q];
  assign tag         = now.tag;
  assign status      = status_q;
  assign status_kind = tag.kind;
  assign done_blocks = 3'(tag.more) + 3'd1;
  always_comb begin
    here = '0;
    here[drive_q] = 1'b1;
  end

  // ---- which job
  // At rest: a cycle to look for a job (high only in STEP_IDLE), one to go on to the next drive. Whether it is an access,
  // an event, or what the drive at hand needs is known the cycle before; the first two stay until they are done.
  logic look_q, look_reg_q, look_event_q, look_own_q;
  logic look_wipe_q;  // the same, the job is a wipe
  logic idle, own, free, begin_reg, begin_wipe;
  assign idle       = look_q || look_wipe_q;
  assign begin_wipe = look_wipe_q;
  assign begin_reg  = look_reg_q;
  assign own        = look_own_q;
  assign free       = own && !lanes[drive_q].lost && !s_status_valid[drive_q] && !drives[drive_q].flush;
  always_comb begin
    job.marked        = look_event_q;
    job.lost          = own && lanes[drive_q].lost;
    job.status        = own && !lanes[drive_q].lost && s_status_valid[drive_q] && !drives[drive_q].flush;
    job.begin_capture = free && want_begin_capture[drive_q];
    job.end_trim      = free && want_end_trim[drive_q];
    job.end_capture   = free && want_end_capture[drive_q] && !job.begin_capture;
    job.begin_read    = free && want_begin_read[drive_q] && !job.begin_capture;
    job.end_read      = free && want_end_read[drive_q];
    job.issue         = free && want_issue[drive_q] && lane_ready[drive_q] && drives[drive_q].up && !job.begin_capture;
    job.flush         = free && want_flush[drive_q] && lane_ready[drive_q] && !job.issue;
  end
  assign s_status_ready = job.status ? here : '0;
  assign s_event_ready  = job.marked;
  assign lost_ack       = lost_ack_q;  // a cycle later: db_rec_counters looks at the number then
  assign done_valid     = job.status && tag.kind == KIND_WRITE ? here : '0;
  assign wiping         = state_q == STEP_WIPE || first_q;

  // ---- the steps
  assign step      = '{state: state_q, phase: phase_q, drive: 3'(drive_q), read: read_q, kind: kind_q,
                       wipe_addr: wipe_addr_q};
  assign last_drive = !(reg_all && reg_write) || drive_q == VW'(N_DRIVES - 1);
  assign reg_ready  = state_q inside {STEP_REG, STEP_KEEP_SIZE} && phase_q && last_drive;
  assign load        = state_q == STEP_LOAD && phase_q ? here : '0;
  assign issue_free  = state_q == STEP_IDLE && !idle;
  assign issue_valid = state_q == STEP_ISSUE && phase_q ? here : '0;
  assign chunk_event = '{loaded: state_q == STEP_ZERO_PROC && phase_q,
                         all_issued: state_q == STEP_CUT && phase_q && found.zero, read: read_q};
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      STEP_IDLE:
        unique case (1'b1)  // at most one job is there
          begin_wipe, job.begin_capture: state_d = STEP_WIPE;
          begin_reg:                     state_d = reg_latch ? STEP_KEEP_START : STEP_REG;
          job.marked:                    state_d = s_event.malformed ? STEP_RUNS : STEP_NUM;
          job.lost:                      state_d = STEP_BACK;
          job.status: state_d = tag.kind != KIND_TRIM ? STEP_NUM : now.status != '0 ? STEP_ERROR : STEP_IDLE;
          job.begin_read:                state_d = STEP_START;
          job.issue:                     state_d = STEP_DONE;
          job.flush:                     state_d = STEP_ISSUE;
          default: ;
        endcase
      STEP_REG:        if (reg_ready) state_d = STEP_IDLE;
      STEP_KEEP_START: state_d = STEP_KEEP_SIZE;
      STEP_KEEP_SIZE:  state_d = last_drive ? STEP_IDLE : STEP_KEEP_START;
      STEP_WIPE:       if (wipe_addr_q == wipe_end_q) state_d = first_q ? STEP_IDLE : STEP_START;
      STEP_START:      state_d = STEP_ROOM;
      STEP_ROOM:       state_d = STEP_SIZE;
      STEP_SIZE:       state_d = STEP_LIMIT;
      STEP_LIMIT:      state_d = read_q ? STEP_ZERO_ERROR : STEP_LOAD;
      STEP_LOAD:       state_d = STEP_ZERO_PEAK;
      STEP_ZERO_PEAK:  state_d = STEP_ZERO_ERROR;
      STEP_ZERO_ERROR: state_d = STEP_ZERO_DONE;
      STEP_ZERO_DONE:  state_d = STEP_ZERO_PROC;
      STEP_ZERO_PROC:  state_d = STEP_IDLE;
      STEP_DONE:       state_d = STEP_BASE;
      STEP_BASE:       state_d = STEP_LEFT;
      STEP_LEFT:       state_d = STEP_CUT;
      STEP_CUT:        state_d = found.zero ? STEP_IDLE : STEP_ISSUE;
      STEP_ISSUE:      state_d = STEP_IDLE;
      STEP_BACK:       state_d = STEP_NUM;
      STEP_NUM:        state_d = timed_q ? STEP_PEAK : bad_q ? STEP_ERROR : counts_q ? STEP_COUNT : STEP_IDLE;
      STEP_PEAK:       state_d = found.divided ? STEP_BUCKET : STEP_PEAK;
      STEP_BUCKET:     state_d = bad_q ? STEP_ERROR : STEP_IDLE;
      STEP_ERROR:      state_d = counts_q ? STEP_COUNT : STEP_IDLE;
      STEP_COUNT:      state_d = marks_q ? STEP_RUNS : STEP_IDLE;
      STEP_RUNS:       state_d = STEP_RUN_END;
      STEP_RUN_END:    state_d = STEP_RUN_PICK;
      STEP_RUN_PICK:   state_d = found.adjacent ? (found.runs_over ? STEP_IDLE : STEP_RUN_MORE) :
                               found.runs_full ? STEP_RUN_ADD : STEP_RUN_FIRST;
      STEP_RUN_MORE:
        state_d = !found.run_long ? STEP_IDLE : found.runs_full ? STEP_RUN_ADD : STEP_RUN_FIRST;
      STEP_RUN_FIRST:  state_d = STEP_RUN_WHY;
      STEP_RUN_WHY:    state_d = STEP_RUN_ADD;
      STEP_RUN_ADD:    state_d = STEP_IDLE;
      default:       state_d = STEP_IDLE;
    endcase
  end

  always_ff @(posedge clk) begin
    lost_ack_q  <= job.lost ? here : '0;
    if (look_q) status_q <= now;
    look_q       <= state_q == STEP_IDLE && !idle && !wipe && !first_q;
    look_reg_q   <= state_q == STEP_IDLE && !idle && !wipe && !first_q && reg_valid;
    look_event_q <= state_q == STEP_IDLE && !idle && !wipe && !first_q && !reg_valid && s_event_valid;
    look_own_q   <= state_q == STEP_IDLE && !idle && !wipe && !first_q && !reg_valid && !s_event_valid;
    look_wipe_q  <= state_q == STEP_IDLE && !idle && !wipe && first_q;
    if (state_q == STEP_IDLE) phase_q <= 1'b0;
    else phase_q <= !phase_q;
    if (idle || phase_q) state_q <= state_d;

    if (idle) begin
      marks_q  <= 1'b0;
      counts_q <= 1'b0;
      bad_q    <= 1'b0;
      timed_q  <= 1'b0;
      read_q   <= 1'b0;
      if (job.marked) drive_q <= VW'(s_event.drive);
      if (job.marked || job.lost) begin
        marks_q  <= 1'b1;
        counts_q <= 1'b1;
      end
      if (job.status) begin
        bad_q    <= now.status != '0;
        counts_q <= now.status != '0 && tag.kind inside {KIND_WRITE, KIND_READ};
        marks_q  <= tag.kind == KIND_WRITE;
        timed_q  <= tag.kind == KIND_WRITE;
        read_q   <= tag.kind inside {KIND_READ, KIND_READ_TRIM};
      end
      if (begin_reg && reg_all) drive_q <= '0;
      else if (begin_reg && reg_latch) drive_q <= VW'(reg_drive);
      if (begin_reg) read_q <= reg_latch_read;
      if (begin_wipe) wipe_addr_q <= '0;
      if (job.begin_capture) wipe_addr_q <= {1'b1, 3'(drive_q), 6'd0};
      wipe_end_q <= begin_wipe ? '1 : {1'b1, 3'(drive_q), 6'h3f};
      if (job.begin_read) read_q <= 1'b1;
      if (job.flush) kind_q <= KIND_TRIM;  // its status only matters if it is an error, as of a trim
      if (job.issue) begin
        read_q <= want_kind[drive_q] != KIND_TRIM;
        kind_q <= want_kind[drive_q];
      end
    end else if (state_q == STEP_IDLE) begin
      drive_q <= drive_q == VW'(N_DRIVES - 1) ? '0 : drive_q + 1'b1;
    end else if (phase_q) begin
      if (state_q inside {STEP_REG, STEP_KEEP_SIZE} && !last_drive) drive_q <= drive_q + 1'b1;
      if (state_q == STEP_WIPE) wipe_addr_q <= wipe_addr_q + 10'd1;
    end
    if (begin_wipe) first_q <= 1'b1;
    if (state_q == STEP_WIPE && phase_q && wipe_addr_q == wipe_end_q) first_q <= 1'b0;
    if (rst) begin
      state_q     <= STEP_IDLE;
      phase_q     <= 1'b0;
      look_q       <= 1'b0;
      look_reg_q   <= 1'b0;
      look_event_q <= 1'b0;
      look_own_q   <= 1'b0;
      look_wipe_q  <= 1'b0;
      drive_q     <= '0;
      first_q     <= 1'b1;
    end
    if (wipe) begin
      state_q <= STEP_IDLE;
      first_q <= 1'b1;
    end
  end
endmodule
