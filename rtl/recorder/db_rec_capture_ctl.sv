// SPDX-License-Identifier: Apache-2.0
// Which drives capture: from DataEnable over the trim that may come first to the last status.
//
// A drive begins when software wants it and its host is up or given up. While one that is wanted has not begun, or
// trims first, no block starts (`hold`). It stops at the end of its chunk or when DataEnable is cleared. When no block of
// it is on its way, it closes: a Flush makes what was written durable, and with its status the drive has captured. A
// drive that is in reset or on its way up is waited for. db_rec_sequencer does what is asked for here and says when it is done.
// Latency: 1 cycle from a pulse of the sequencer to the flags.
module db_rec_capture_ctl
  import db_rec_pkg::*;
#(
  parameter int N_DRIVES = 2  ///< 1..8
) (
  input  logic                        clk,
  input  logic                        rst,
  input  logic                        wipe,
  input  logic                        trim_first,   ///< TrimFirst
  input  logic         [N_DRIVES-1:0] enable,       ///< DataEnable
  input  logic         [N_DRIVES-1:0] rises,        ///< software has just set it
  input  drive_state_t [N_DRIVES-1:0] drives,
  input  lane_state_t  [N_DRIVES-1:0] lanes,
  input  logic         [N_DRIVES-1:0] quiet,        ///< of db_rec_capture: no block will begin
  input  logic         [N_DRIVES-1:0] none_issued,  ///< of db_rec_issue: no trim is without status

  output logic         [N_DRIVES-1:0] want_begin,
  output logic         [N_DRIVES-1:0] want_end_trim,
  output logic         [N_DRIVES-1:0] want_end,
  input  logic         [N_DRIVES-1:0] here,
  input  job_t                        job,
  input  chunk_event_t                chunk_event,

  output logic         [N_DRIVES-1:0] run,          ///< takes part in the stream
  output logic                        hold,         ///< some drive of the capture is not ready: no block yet
  output logic         [N_DRIVES-1:0] capturing,
  output logic         [N_DRIVES-1:0] captured,
  output logic         [N_DRIVES-1:0] pending,      ///< from its setting to the capture's begin
  output logic         [N_DRIVES-1:0] trimming,
  output logic         [N_DRIVES-1:0] closing,
  output logic         [N_DRIVES-1:0] flushes,      ///< a Flush is to be issued
  output logic         [N_DRIVES-1:0] trims         ///< more trims are to be issued
);
  logic [N_DRIVES-1:0] capturing_q, captured_q, trimming_q, started_q, loading_q, stop_q, issued_q, want_begin_q;
  logic [N_DRIVES-1:0] pending_q, closing_q, flushed_q, trim_q;  // trim_q: TrimFirst when it was enabled
  assign pending    = pending_q;
  assign closing    = closing_q;
  assign flushes    = closing_q & ~flushed_q;
  assign capturing  = capturing_q;
  assign captured   = captured_q;
  assign trimming   = trimming_q;
  assign trims      = trimming_q & ~issued_q;
  assign want_begin = want_begin_q;
  assign hold       = ((enable & ~started_q & ~capturing_q) | loading_q | trimming_q) != '0;
  logic [N_DRIVES-1:0] closes;
  always_comb begin
    for (int i = 0; i < N_DRIVES; i++) begin
      run[i]           = capturing_q[i] && !trimming_q[i] && !stop_q[i] && !lanes[i].at_end;
      want_end_trim[i] = trimming_q[i] && (!drives[i].up || (issued_q[i] && none_issued[i]));
      closes[i]        = capturing_q[i] && !trimming_q[i] && (lanes[i].at_end || stop_q[i]) && quiet[i] &&
                         lanes[i].out_blocks == '0;
      want_end[i]      = closing_q[i] && flushed_q[i] && none_issued[i] && !drives[i].flush;
    end
  end

  always_ff @(posedge clk) begin
    for (int i = 0; i < N_DRIVES; i++) begin
      want_begin_q[i] <= enable[i] && !started_q[i] && !capturing_q[i] && (drives[i].up || drives[i].dead);
      if (closes[i]) closing_q[i] <= 1'b1;
      if (!closing_q[i] || drives[i].flush) flushed_q[i] <= 1'b0;
      if (!enable[i]) started_q[i] <= 1'b0;
      if (!capturing_q[i]) stop_q[i] <= 1'b0;
      else if (!enable[i]) stop_q[i] <= 1'b1;
      if (enable[i] && !started_q[i] && !capturing_q[i]) captured_q[i] <= 1'b0;
      if (here[i]) begin
        if (job.begin_capture) begin
          started_q[i] <= 1'b1;
          loading_q[i] <= 1'b1;
        end
        if (chunk_event.loaded && !chunk_event.read) begin
          capturing_q[i] <= 1'b1;
          pending_q[i]   <= 1'b0;
          loading_q[i]   <= 1'b0;
          trimming_q[i]  <= trim_q[i];
          issued_q[i]    <= 1'b0;
        end
        if (chunk_event.all_issued && !chunk_event.read) issued_q[i] <= 1'b1;
        if (job.end_trim) trimming_q[i] <= 1'b0;
        if (job.flush) flushed_q[i] <= 1'b1;
        if (job.end_capture) begin
          capturing_q[i] <= 1'b0;
          closing_q[i]   <= 1'b0;
          captured_q[i]  <= 1'b1;
        end
      end
      if (rises[i]) begin
        pending_q[i] <= 1'b1;
        trim_q[i]    <= trim_first;
      end
      if (rst || drives[i].flush) trimming_q[i] <= 1'b0;
      if (rst || wipe) begin
        pending_q[i]   <= 1'b0;
        closing_q[i]   <= 1'b0;
        capturing_q[i] <= 1'b0;
        trimming_q[i]  <= 1'b0;
        started_q[i]   <= 1'b0;
        loading_q[i]   <= 1'b0;
        captured_q[i]  <= 1'b0;
      end
    end
  end
endmodule
