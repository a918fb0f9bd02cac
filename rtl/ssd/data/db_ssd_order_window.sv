// SPDX-License-Identifier: Apache-2.0
// How much an engine has inside: what went to it and has not ended.
//
// It may have another command while that is below WINDOW, which is what the link and the media need to be always at
// work; what waits beyond it waits where its function's turn counts. An engine gets one command too much at most.
// Latency: open falls 3 cycles after s_go, and rises 3 cycles after the end of a command.
module db_ssd_order_window
  import db_ssd_pkg::*, db_ssd_order_pkg::*;
#(
  parameter int NUM_CMDS = 128,  ///< command slots: power of two, 2..256
  parameter int WINDOW   = 64    ///< stretches of 512 bytes, 1..4095
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_valid,     ///< pulse: a command came, it waits
  input  order_entry_t      s_entry,
  input  logic              s_go,        ///< pulse: the command of a slot goes to the engine
  input  logic [SLOT_W-1:0] s_go_slot,
  input  logic              s_end,       ///< pulse: it has ended
  input  logic [SLOT_W-1:0] s_end_slot,
  output logic              open
);
  localparam int CMD_W = $clog2(NUM_CMDS);
  localparam int SUM_W = COST_W + CMD_W + 1;
  if (WINDOW < 1 || WINDOW >= 2 ** COST_W) begin : g_bad_window
    $error("%m: WINDOW (%0d) must be 1..4095", WINDOW);
  end

  logic [COST_W-1:0] cost_mem_q [NUM_CMDS];
  logic [COST_W-1:0] more_q, less_q;
  logic [SUM_W-1:0]  inside_q;
  always_ff @(posedge clk) begin
    if (s_valid) cost_mem_q[s_entry.slot[CMD_W-1:0]] <= s_entry.cost;
    more_q   <= s_go ? cost_mem_q[s_go_slot[CMD_W-1:0]] : '0;
    less_q   <= s_end ? cost_mem_q[s_end_slot[CMD_W-1:0]] : '0;
    inside_q <= inside_q + SUM_W'(more_q) - SUM_W'(less_q);
    open     <= inside_q < SUM_W'(WINDOW);
    if (rst) begin
      more_q   <= '0;
      less_q   <= '0;
      inside_q <= '0;
      open     <= 1'b0;
    end
  end
endmodule
