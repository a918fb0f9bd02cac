// SPDX-License-Identifier: Apache-2.0
// The greatest or the least value of a packet: of each slot while the rows come, of all of them at the packet's end.
//
// Why: to compare across the slots a row at a time would take a tree of comparisons as wide as the row; at the end
// one, of eight bytes, has time for it. It takes each eight bytes' slots, then its own, moved by 4, 2 and 1 bytes.
// Latency: 2 cycles from the last row to what step 0 reads; the result is there with step 12.
// Throughput: a row a cycle.
module db_csd_near_aggregate_extreme #(
  parameter int DATA_W = 256,  ///< bits: 128, 256, 512
  parameter bit MAX    = 1'b1  ///< 1: the greatest, 0: the least
) (
  input  logic                clk,
  input  logic                rst,
  input  logic [1:0]          size_log2,
  input  logic                is_signed,
  input  logic                s_first,
  input  logic                s_last,
  input  logic [DATA_W/8-1:0] s_filled,
  input  logic [DATA_W-1:0]   s_values,
  input  logic [3:0]          step,      ///< 0 to 7: take the slots, 9 to 11: across them
  output logic [63:0]         m_value    ///< extended; of a packet without values nothing that means anything
);
  localparam int EIGHTS = DATA_W / 64;

  // ---- of each slot
  logic                    last_q;
  logic [EIGHTS-1:0][63:0] best, done_q;
  for (genvar g = 0; g < EIGHTS; g++) begin : g_eight
    db_csd_near_aggregate_best #(.MAX(MAX)) i_best (
      .clk, .size_log2, .s_first, .s_filled(s_filled[8*g +: 8]), .s_values(s_values[64*g +: 64]), .m_best(best[g]));
  end
  always_ff @(posedge clk) begin
    last_q <= s_last && !rst;
    if (last_q) done_q <= best;
  end

  // ---- of all slots. With fewer eights than steps some are taken again, which changes nothing.
  logic             across;
  logic [1:0]       which;
  logic [63:0]      read_q, all;
  logic [3:0][63:0] values;
  assign values = {{all[55:0], all[63:56]}, {all[47:0], all[63:48]}, {all[31:0], all[63:32]}, read_q};
  always_ff @(posedge clk) read_q <= done_q[step[$clog2(EIGHTS)-1:0]];
  always_comb begin
    which  = step[3] ? step[1:0] : 2'd0;
    across = step[3] ? (step[2:0] == 3'd0 || (!step[2] && size_log2 <= 2'd3 - which)) : 1'b1;
  end
  db_csd_near_aggregate_best #(.MAX(MAX)) i_all (
    .clk, .size_log2, .s_first(step == 4'd1), .s_filled({8{across}}), .s_values(values[which]), .m_best(all));

  // ---- extended; the highest bit of a signed one is still turned
  logic       top, fill;
  logic [7:0] beyond;
  always_comb begin
    unique case (size_log2)
      2'd0:    top = all[7];
      2'd1:    top = all[15];
      2'd2:    top = all[31];
      default: top = all[63];
    endcase
    fill = is_signed && !top;
    for (int k = 0; k < 8; k++) begin
      beyond[k] = k >= (32'd1 << size_log2);
      m_value[8*k +: 8] = beyond[k] ? {8{fill}} : all[8*k +: 8];
      if (is_signed && k == (32'd1 << size_log2) - 1) m_value[8*k+7] = fill;
    end
  end
endmodule
