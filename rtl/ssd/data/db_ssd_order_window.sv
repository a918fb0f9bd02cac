// SPDX-License-Identifier: Apache-2.0
// How much an engine has before it: what went to it and has not begun to move.
//
// It may have another command while that is below WINDOW, which is what the link and the media need to be always at
// work; what waits beyond it waits where its function's turn counts. An engine gets one command too much at most.
// A command with user data is taken off as its segments go to the reader or writer of host memory, what is left of it
// with the last one; any other when it has ended. What commands cost is in RAM, a copy for each who asks.
// Latency: open falls 2 cycles after s_gone, and rises 5 cycles after a segment or the end of a command.
module db_ssd_order_window
  import db_mem_pkg::*, db_ssd_pkg::*, db_ssd_order_pkg::*;
#(
  parameter int NUM_CMDS = 128,  ///< command slots: power of two, 2..256
  parameter int WINDOW   = 64    ///< stretches of 512 bytes, 1..4095
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_valid,     ///< pulse: a command came, it waits
  input  order_entry_t      s_entry,
  input  logic              s_gone,      ///< pulse: a command went to the engine a cycle ago
  input  logic [COST_W-1:0] s_gone_cost,
  input  logic              s_seg,       ///< pulse: a segment is taken, in the order of the commands
  input  segment_t          s_seg_of,
  input  logic [SLOT_W-1:0] s_seg_slot,
  input  logic              s_end,       ///< pulse: a command has ended
  input  logic [SLOT_W-1:0] s_end_slot,
  output logic              open
);
  localparam int CMD_W = $clog2(NUM_CMDS);
  localparam int SUM_W = COST_W + CMD_W + 1;
  if (WINDOW < 1 || WINDOW >= 2 ** COST_W) begin : g_bad_window
    $error("%m: WINDOW (%0d) must be 1..4095", WINDOW);
  end

  typedef struct packed {
    logic              by_segment;
    logic [COST_W-1:0] cost;
  } cost_t;
  cost_t              cost, ended, moves;
  logic               seg_q, seg_last_q;
  logic [CMD_W-1:0]   seg_slot_q, end_slot_q;
  logic               end_q, end2_q, seg2_q, seg2_last_q;
  logic [COST_W-1:0]  off_q;             // of the command whose segments come: taken off
  logic [8:0]         rest_q;            // ... bytes beyond
  logic [$bits(s_seg_of.len)-1:0] len_q;
  logic [COST_W+9:0]  bytes;
  logic [COST_W-1:0]  stretches_q, less_seg, less_q;
  logic [SUM_W-1:0]   inside_q;
  assign bytes    = (COST_W + 10)'(len_q) + (COST_W + 10)'(rest_q);
  assign less_seg = !seg2_q || !moves.by_segment ? '0 : seg2_last_q ? moves.cost - off_q : stretches_q;
  assign cost     = '{by_segment: s_entry.user_data, cost: s_entry.cost};
  db_ram_sdp #(.WIDTH($bits(cost_t)), .DEPTH(NUM_CMDS)) i_moves (
    .clk, .we(s_valid), .waddr(s_entry.slot[CMD_W-1:0]), .wdata(cost), .re(1'b1), .raddr(seg_slot_q), .rdata(moves));
  db_ram_sdp #(.WIDTH($bits(cost_t)), .DEPTH(NUM_CMDS)) i_ended (
    .clk, .we(s_valid), .waddr(s_entry.slot[CMD_W-1:0]), .wdata(cost), .re(1'b1), .raddr(end_slot_q), .rdata(ended));

  always_ff @(posedge clk) begin
    // segments
    seg_q      <= s_seg;
    seg_last_q <= s_seg_of.last;
    seg_slot_q <= s_seg_slot[CMD_W-1:0];
    len_q      <= s_seg_of.len;
    seg2_q      <= seg_q;
    seg2_last_q <= seg_last_q;
    stretches_q <= bytes[COST_W+8:9];
    if (seg_q) rest_q <= seg_last_q ? '0 : bytes[8:0];
    if (seg2_q) off_q <= seg2_last_q ? '0 : off_q + stretches_q;

    // ends
    end_q      <= s_end;
    end_slot_q <= s_end_slot[CMD_W-1:0];
    end2_q     <= end_q;

    less_q   <= less_seg + (!end2_q || ended.by_segment ? '0 : ended.cost);
    inside_q <= inside_q + (s_gone ? SUM_W'(s_gone_cost) : '0) - SUM_W'(less_q);
    open     <= inside_q < SUM_W'(WINDOW);
    if (rst) begin
      seg_q    <= 1'b0;
      seg2_q   <= 1'b0;
      end_q    <= 1'b0;
      end2_q   <= 1'b0;
      rest_q   <= '0;
      off_q    <= '0;
      less_q   <= '0;
      inside_q <= '0;
      open     <= 1'b0;
    end
  end
endmodule
