// SPDX-License-Identifier: Apache-2.0
// All of the recorder that is slow, drive by drive: counters, starts and ends of captures, commands of reads and
// trims. Wiring only.
//
//   db_rec_capture_ctl --+                       +--> db_rec_counters (one RAM)
//   db_rec_read_ctl -----+-- want_* --> db_rec_sequencer -- step, job
//   db_rec_issue --------+                       +--> back to all of them: what has begun, what is done
//
// Latency: a register access waits for the job under way, some 50 cycles at most.
module db_rec_control
  import db_rec_pkg::*;
#(
  parameter int N_DRIVES    = 2,     ///< 1..8
  parameter int CLK_MHZ     = 250,
  parameter int READ_BLOCKS = 8,     ///< blocks of 4 KiB of the largest read: a power of 2, at most 8192
  parameter int TRIM_BLOCKS = 4096   ///< ... trim
) (
  input  logic                           clk,
  input  logic                           rst,
  input  logic                           wipe,         ///< clear all words, then go on
  output logic                           wiping,

  /// Words of software {extended, drive, word}; ready with the result. A write with `all` goes to every drive's.
  input  logic                           reg_valid,
  output logic                           reg_ready,
  input  logic                           reg_write,
  input  logic                           reg_latch,    ///< keep the chunk
  input  logic                           reg_all,
  input  logic            [9:0]          reg_addr,
  input  logic            [31:0]         reg_wdata,
  output logic            [31:0]         reg_rdata,

  input  logic                           trim_first,   ///< TrimFirst
  input  logic            [N_DRIVES-1:0] data_enable,  ///< DataEnable, as db_rec_enable shows it
  input  drive_control_t  [N_DRIVES-1:0] control,
  input  drive_state_t    [N_DRIVES-1:0] drives,
  output drive_progress_t [N_DRIVES-1:0] progress,

  /// db_rec_capture
  output logic            [N_DRIVES-1:0] run,          ///< takes part in the stream
  output logic                           hold,         ///< some drive of the capture is not ready: no block yet
  input  logic            [N_DRIVES-1:0] quiet,
  input  logic                           s_event_valid,
  output logic                           s_event_ready,
  input  event_t                         s_event,

  /// db_rec_read
  output logic            [N_DRIVES-1:0] read_restart,
  input  logic            [N_DRIVES-1:0] read_busy,

  /// db_rec_lane
  input  lane_state_t     [N_DRIVES-1:0] lanes,
  output logic            [N_DRIVES-1:0] load,
  output chunk_t                         chunk,
  output logic            [N_DRIVES-1:0] done_valid,
  output logic            [2:0]          done_blocks,
  output logic            [N_DRIVES-1:0] lost_ack,
  output logic            [N_DRIVES-1:0] m_issue_valid,
  input  logic            [N_DRIVES-1:0] m_issue_ready,
  output issue_t                         m_issue,
  output logic                           issue_free,   ///< of db_rec_sequencer
  output logic            [N_DRIVES-1:0] none_issued,  ///< no read or trim is without status
  input  logic            [N_DRIVES-1:0] wait_reads,   ///< of db_rec_io

  /// db_host
  input  logic            [N_DRIVES-1:0] s_status_valid,
  output logic            [N_DRIVES-1:0] s_status_ready,
  input  db_host_pkg::block_status_t [N_DRIVES-1:0] s_status
);
  logic  [N_DRIVES-1:0] want_begin_capture, want_end_trim, want_end_capture, want_begin_read, want_end_read, want_issue;
  logic  [N_DRIVES-1:0] here, capturing, captured, trimming, reading, read_done, trims, reads;
  logic  [N_DRIVES-1:0] read_enable, read_trims, rises, read_rises, pending, read_pending, closing, flushes, want_flush;
  kind_e [N_DRIVES-1:0] want_kind;
  job_t         job;
  step_t        step;
  found_t       found;
  chunk_event_t chunk_event;
  db_host_pkg::block_status_t status;
  kind_e        status_kind;
  for (genvar i = 0; i < N_DRIVES; i++) begin : g_drive
    assign read_enable[i] = control[i].read;
    assign read_trims[i]  = control[i].read_trims;
    assign rises[i]       = control[i].capture_rises;
    assign read_rises[i]  = control[i].read_rises;
    assign progress[i]    = '{trimming: trimming[i], capturing: capturing[i], closing: closing[i],
                              captured: captured[i],
                              reading: reading[i], read_done: read_done[i], pending: pending[i],
                              read_pending: read_pending[i]};
  end

  db_rec_sequencer #(.N_DRIVES(N_DRIVES)) i_sequencer (
    .clk, .rst, .wipe, .wiping, .reg_valid, .reg_ready, .reg_write, .reg_latch,
    .reg_latch_read(reg_addr[5:0] == W_RCONTROL),
    .reg_all, .reg_drive(reg_addr[8:6]), .s_event_valid, .s_event_ready,
    .s_event, .s_status_valid, .s_status_ready, .s_status, .drives, .lanes, .lost_ack, .done_valid, .done_blocks,
    .want_begin_capture, .want_end_trim, .want_end_capture, .want_begin_read, .want_end_read, .want_issue, .want_flush,
    .want_kind, .lane_ready(m_issue_ready), .here, .job, .step, .status_kind, .status, .chunk_event, .load,
    .issue_valid(m_issue_valid), .issue_free, .found
  );
  db_rec_counters #(
    .N_DRIVES(N_DRIVES), .CLK_MHZ(CLK_MHZ), .READ_BLOCKS(READ_BLOCKS), .TRIM_BLOCKS(TRIM_BLOCKS)
  ) i_counters (
    .clk, .rst, .step, .job, .found, .reg_write, .reg_all, .reg_addr, .reg_wdata, .reg_rdata, .s_event, .status,
    .lanes, .control, .chunk, .issue(m_issue)
  );
  db_rec_capture_ctl #(.N_DRIVES(N_DRIVES)) i_capture_ctl (
    .clk, .rst, .wipe, .trim_first, .enable(data_enable), .rises, .drives, .lanes, .quiet, .none_issued,
    .want_begin(want_begin_capture), .want_end_trim, .want_end(want_end_capture), .here, .job, .chunk_event, .run,
    .hold, .capturing, .captured, .pending, .closing, .flushes, .trimming, .trims
  );
  db_rec_read_ctl #(.N_DRIVES(N_DRIVES)) i_read_ctl (
    .clk, .rst, .wipe, .enable(read_enable), .rises(read_rises), .drives, .capturing, .busy(read_busy), .none_issued,
    .want_begin(want_begin_read), .want_end(want_end_read), .here, .job, .chunk_event, .restart(read_restart),
    .reading, .read_done, .pending(read_pending), .reads
  );
  db_rec_issue #(.N_DRIVES(N_DRIVES)) i_issue (
    .clk, .rst, .drives, .trimming, .trims, .reads, .read_trims, .wait_reads,
    .closing(flushes), .want_flush, .want(want_issue),
    .kind(want_kind), .none_issued, .issued(m_issue_valid), .status_taken(s_status_ready), .status_kind
  );
endmodule
