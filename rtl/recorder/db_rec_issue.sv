// SPDX-License-Identifier: Apache-2.0
// Reads and trims of each drive: whether the next one may be issued, of which kind, and how many have no status yet.
//
// What is wanted is a cycle old, so that nothing else's gates lie before db_rec_sequencer's: it looks at a drive in every
// other cycle at most, and sees by itself whether the lane takes a command now.
// Latency: 1 cycle; a command or status counts in the next one. At most 511 of a drive are without status.
module db_rec_issue
  import db_rec_pkg::*;
#(
  parameter int N_DRIVES = 2  ///< 1..8
) (
  input  logic                        clk,
  input  logic                        rst,
  input  drive_state_t [N_DRIVES-1:0] drives,
  input  logic         [N_DRIVES-1:0] trimming,     ///< before a capture
  input  logic         [N_DRIVES-1:0] trims,        ///< db_rec_capture_ctl wants one
  input  logic         [N_DRIVES-1:0] reads,        ///< db_rec_read_ctl wants one
  input  logic         [N_DRIVES-1:0] read_trims,   ///< PerformTrim
  input  logic         [N_DRIVES-1:0] wait_reads,   ///< db_rec_io reads: none of ours meanwhile

  input  logic         [N_DRIVES-1:0] closing,      ///< db_rec_capture_ctl wants a Flush

  output logic         [N_DRIVES-1:0] want_flush,   ///< if the lane takes a command, both
  output logic         [N_DRIVES-1:0] want,
  output kind_e        [N_DRIVES-1:0] kind,
  output logic         [N_DRIVES-1:0] none_issued,  ///< all have their status
  input  logic         [N_DRIVES-1:0] issued,       ///< pulse: one has gone to the lane
  input  logic         [N_DRIVES-1:0] status_taken, ///< pulse: the drive's status was taken
  input  kind_e                       status_kind   ///< ... of a command of this kind
);
  logic [8:0] count_q[N_DRIVES];
  always_comb for (int i = 0; i < N_DRIVES; i++) none_issued[i] = count_q[i] == '0;
  always_ff @(posedge clk) begin
    for (int i = 0; i < N_DRIVES; i++) begin
      want_flush[i] <= closing[i] && (drives[i].up || drives[i].dead) && count_q[i] == '0;
      kind[i]       <= trimming[i] ? KIND_TRIM : read_trims[i] ? KIND_READ_TRIM : KIND_READ;
      want[i]       <= drives[i].up && count_q[i] != '1 && (trimming[i] ? trims[i] : reads[i] && !wait_reads[i]);
      count_q[i] <= count_q[i] + 9'(issued[i]) - 9'(status_taken[i] && status_kind != KIND_WRITE);
      if (rst || drives[i].flush) count_q[i] <= '0;
    end
  end
endmodule
