// SPDX-License-Identifier: Apache-2.0
// Counts the cycles in which engines wait, one counter for each cause of stall_t, and late completions.
// Counters are 32 bit, wrap, and run from rst. Latency: 2 cycles. Doorbell's own simulator counts them itself, from 1 or 0
// here (sim/runtime/stalls.h), so that while all waits nothing changes, and it may go on to what comes next.
module db_ssd_stats
  import db_ssd_stat_pkg::*;
(
  input  logic                             clk,
  input  logic                             rst,
  input  stall_t                           stall,
  output logic [$bits(stall_t)-1:0][31:0]  count   ///< [i]: cycles in which bit i of stall was set
);
  stall_t stall_q;
  always_ff @(posedge clk) stall_q <= rst ? '0 : stall;
  for (genvar i = 0; i < $bits(stall_t); i++) begin : g_cause
`ifdef DB_CLOCKS_REST
    always_ff @(posedge clk) count[i] <= rst ? '0 : 32'(stall_q[i]);
`else
    always_ff @(posedge clk) begin
      if (stall_q[i]) count[i] <= count[i] + 32'd1;
      if (rst)        count[i] <= '0;
    end
`endif
  end
endmodule
