// SPDX-License-Identifier: Apache-2.0
// Which drives are read, or trimmed by PerformTrim: from ReadControl.Enable to the last status and the last row.
//
// A drive begins when software wants it, its host is up and it does not capture. It is done when all commands are
// issued or Enable was cleared, and all of them have their status. db_rec_sequencer does what is asked for here.
// Latency: 1 cycle from a pulse of the sequencer to the flags.
module db_rec_read_ctl
  import db_rec_pkg::*;
#(
  parameter int N_DRIVES = 2  ///< 1..8
) (
  input  logic                        clk,
  input  logic                        rst,
  input  logic                        wipe,
  input  logic         [N_DRIVES-1:0] enable,       ///< ReadControl.Enable
  input  logic         [N_DRIVES-1:0] rises,        ///< software has just set it
  input  drive_state_t [N_DRIVES-1:0] drives,
  input  logic         [N_DRIVES-1:0] capturing,
  input  logic         [N_DRIVES-1:0] busy,         ///< of db_rec_read: the drive's rows are on their way out
  input  logic         [N_DRIVES-1:0] none_issued,  ///< of db_rec_issue: no command is without status

  output logic         [N_DRIVES-1:0] want_begin,
  output logic         [N_DRIVES-1:0] want_end,
  input  logic         [N_DRIVES-1:0] here,
  input  job_t                        job,
  input  chunk_event_t                chunk_event,

  output logic         [N_DRIVES-1:0] restart,      ///< pulse: to db_rec_read
  output logic         [N_DRIVES-1:0] reading,
  output logic         [N_DRIVES-1:0] read_done,
  output logic         [N_DRIVES-1:0] pending,      ///< from its setting to the read's begin
  output logic         [N_DRIVES-1:0] reads         ///< more commands are to be issued
);
  logic [N_DRIVES-1:0] reading_q, issued_q, started_q, done_q, pending_q;
  assign pending   = pending_q;
  assign reading   = reading_q;
  assign read_done = done_q;
  assign restart   = job.begin_read ? here : '0;
  assign reads     = reading_q & ~issued_q & enable & ~capturing;
  assign want_end  = reading_q & issued_q & none_issued & ~busy;
  always_comb begin
    for (int i = 0; i < N_DRIVES; i++)
      want_begin[i] = enable[i] && !started_q[i] && !reading_q[i] && !capturing[i] && drives[i].up;
  end

  always_ff @(posedge clk) begin
    for (int i = 0; i < N_DRIVES; i++) begin
      if (enable[i] && !started_q[i] && !reading_q[i]) done_q[i] <= 1'b0;
      if (!enable[i]) started_q[i] <= 1'b0;
      if (reading_q[i] && !enable[i]) issued_q[i] <= 1'b1;
      if (here[i]) begin
        if (job.begin_read) started_q[i] <= 1'b1;
        if (chunk_event.loaded && chunk_event.read) begin
          reading_q[i] <= 1'b1;
          pending_q[i] <= 1'b0;
          issued_q[i]  <= 1'b0;
        end
        if (chunk_event.all_issued && chunk_event.read) issued_q[i] <= 1'b1;
        if (job.end_read) begin
          reading_q[i] <= 1'b0;
          done_q[i]    <= 1'b1;
        end
      end
      if (rises[i]) pending_q[i] <= 1'b1;
      if (rst || drives[i].flush) reading_q[i] <= 1'b0;
      if (rst || wipe) begin
        pending_q[i] <= 1'b0;
        started_q[i] <= 1'b0;
        done_q[i]    <= 1'b0;
      end
    end
  end
endmodule
