// SPDX-License-Identifier: Apache-2.0
// Is the oldest command too old? It is late first, as far as anyone can see: those behind it cannot be retired before
// it. Late it stays until it is done: its age has 32 bits and begins anew (after 17 s at 250 MHz), and commands that
// are given meanwhile must not make its Abort be forgotten.
//
// Latency: 1 cycle from the cycle in which it is too old; a slot is looked at once it has been the oldest for 15.
module db_host_timeouts
  import db_host_pkg::*;
#(
  /// slots: 8..256, a power of 2
  parameter int NUM_CMDS = 128,
  localparam int SLOT_LOG2 = $clog2(NUM_CMDS)
) (
  input  logic                 clk,
  input  logic                 rst,
  /// cycles until a command is late; 0: never
  input  logic [31:0]          cmd_timeout,
  input  slot_state_e          state,
  input  logic                 take,
  /// the oldest slot is tried again: its time starts anew; that is under way
  input  logic                 again,
  input  logic                 second,
  input  logic                 retire,
  input  logic                 is_done,
  input  logic                 empty,
  input  logic [SLOT_LOG2-1:0] retire_slot,
  input  logic [GEN_W-1:0]     retire_gen,
  input  logic [1:0]           retire_qp,
  /// age is that of the oldest slot, if there was no completion in the cycle before
  input  logic                 s_cqe_valid,
  input  logic [31:0]          age,
  /// held until the command is done; falls between two late commands
  output logic                 m_late_valid,
  output late_cmd_t            m_late
);
  logic [3:0] settled_q;  // cycles for which the oldest slot and its time have been looked at
  logic       oldest_q;   // age is the oldest slot's
  always_ff @(posedge clk) begin
    oldest_q <= !s_cqe_valid;
    if (retire || take || again || empty || state != SLOTS_RUN) settled_q <= '0;
    else if (settled_q != 4'hf) settled_q <= settled_q + 4'd1;
    if (retire || empty || state != SLOTS_RUN || is_done || cmd_timeout == '0) m_late_valid <= 1'b0;
    else if (settled_q == 4'hf && oldest_q && age > cmd_timeout) m_late_valid <= 1'b1;
    m_late <= '{cid: 16'({second, retire_gen, CID_W'(retire_slot)}), qid: 4'(retire_qp) + 4'd1};
    if (rst) m_late_valid <= 1'b0;
  end
endmodule
