// SPDX-License-Identifier: Apache-2.0
// The sum of a packet's values from those of its bytes: the highest bytes' first; then, again and again, 256 times
// what there is and the next ones'.
//
// Signed values have come with their highest bit turned: each 128 too much in its highest byte. So the sum begins with
// -128 for each.
// Latency: the result is there with step 9. Throughput: a packet in 9 steps.
module db_csd_near_aggregate_total #(
  parameter int SUM_W = 82  ///< bits: 2^17 values of 8 bytes, and the sign
) (
  input  logic              clk,
  input  logic [1:0]        size_log2,
  input  logic              is_signed,
  input  logic [3:0]        step,     ///< 0 to 7: read s_sums
  input  logic [7:0][24:0]  s_sums,   ///< by the byte of the slots
  input  logic [20:0]       s_count,  ///< read in step 0
  output logic [20:0]       m_count,
  output logic [SUM_W-1:0]  m_sum     ///< two's complement
);
  // ---- which byte: the highest ones of all slots first. left: steps to go; weigh: nothing to step 0's
  logic [2:0] left, lane;
  logic       weigh;
  assign left = ~step[2:0];
  always_comb begin
    unique case (size_log2)
      2'd1:    lane = {left[1:0], left[2]};
      2'd2:    lane = {left[0], left[2:1]};
      default: lane = left;
    endcase
    unique case (size_log2)
      2'd0:    weigh = 1'b0;
      2'd1:    weigh = step[2:0] == 3'd4;
      2'd2:    weigh = !step[0];
      default: weigh = 1'b1;
    endcase
  end

  logic             weigh_q;
  logic [24:0]      lane_q;
  logic [20:0]      count_q;
  logic [SUM_W-1:0] begin_q, sum_q;
  always_ff @(posedge clk) begin
    weigh_q <= weigh;
    lane_q  <= s_sums[lane];
    begin_q <= step == 4'd0 && is_signed ? -SUM_W'({s_count, 7'd0}) : '0;
    if (step == 4'd0) begin
      count_q <= s_count;
      sum_q   <= '0;
    end else if (step <= 4'd8) begin
      sum_q <= SUM_W'(lane_q) + ((weigh_q ? sum_q << 8 : sum_q) | begin_q);
    end
  end
  assign m_count = count_q;
  assign m_sum   = sum_q;
endmodule
