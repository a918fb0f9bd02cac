// SPDX-License-Identifier: Apache-2.0
// Keeps the greatest or the least value of each slot in eight bytes: of one slot of eight bytes, two of four, four of
// two, or eight of one.
//
// Why: one carry chain compares for all sizes. Between two bytes it has a bit more, which lets the carry of a
// value's lower bytes pass and stops that of another value.
// Latency: 1 cycle. Throughput: eight bytes a cycle.
module db_csd_near_aggregate_best #(
  parameter bit MAX = 1'b1  ///< 1: the greatest, 0: the least
) (
  input  logic        clk,
  input  logic [1:0]  size_log2,
  input  logic        s_first,   ///< forget what was before
  input  logic [7:0]  s_filled,  ///< bytes that belong to a value
  input  logic [63:0] s_values,
  output logic [63:0] m_best     ///< of a slot without any: what any other is better than
);
  logic [7:0]  joined;           // a byte and the next one are of one value
  logic [71:0] greater, less, sum;
  logic [7:0]  carry, wins;
  logic [63:0] best_q;
  always_comb begin
    for (int k = 0; k < 8; k++) begin
      joined[k] = ((k + 1) & ((32'd1 << size_log2) - 1)) != 0;
      greater[9*k +: 9] = {joined[k], MAX ? s_values[8*k +: 8] : best_q[8*k +: 8]};
      less[9*k +: 9]    = {1'b0, ~(MAX ? best_q[8*k +: 8] : s_values[8*k +: 8])};
    end
    sum = greater + less;
    for (int k = 0; k < 8; k++) carry[k] = sum[9*k+8] ^ joined[k];
    for (int k = 0; k < 8; k++) begin
      unique case (size_log2)
        2'd0:    wins[k] = carry[k];
        2'd1:    wins[k] = carry[k|1];
        2'd2:    wins[k] = carry[k|3];
        default: wins[k] = carry[7];
      endcase
    end
  end
  always_ff @(posedge clk) begin
    for (int k = 0; k < 8; k++) begin
      if (s_first && !s_filled[k]) best_q[8*k +: 8] <= MAX ? 8'h00 : 8'hff;
      else if (s_first || (s_filled[k] && wins[k])) best_q[8*k +: 8] <= s_values[8*k +: 8];
    end
  end
  assign m_best = best_q;
endmodule
