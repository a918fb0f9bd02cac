// SPDX-License-Identifier: Apache-2.0
// Counts cycles in which engines wait, one counter a cause. Which cause has which index: where db_ssd connects it.
// Counters are 32 bit, wrap, and run from rst. Latency: 2 cycles.
module db_ssd_stats #(
  parameter int NUM = 6    // causes, at least 1
) (
  input  logic              clk,
  input  logic              rst,
  input  logic [NUM-1:0]    wait_,
  output logic [NUM*32-1:0] count
);
  if (NUM < 1) begin : g_bad_num
    $error("%m: NUM must be at least 1");
  end
  logic [NUM-1:0] wait_q;
  always_ff @(posedge clk) wait_q <= rst ? '0 : wait_;
  for (genvar i = 0; i < NUM; i++) begin : g_cause
    always_ff @(posedge clk) begin
      if (wait_q[i]) count[32*i +: 32] <= count[32*i +: 32] + 32'd1;
      if (rst)      count[32*i +: 32] <= '0;
    end
  end
endmodule
