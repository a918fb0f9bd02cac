// SPDX-License-Identifier: Apache-2.0
// A pulse each millisecond: the time of all that waits on the control side.
// Latency: the first one 2 cycles after reset.
module db_host_tick #(
  /// cycles of a millisecond, at least 4
  parameter int MS_CYCLES = 250_000
) (
  input  logic clk,
  input  logic rst,
  output logic tick
);
  if (MS_CYCLES < 4) begin : g_bad_ms
    $error("%m: MS_CYCLES must be at least 4, not %0d", MS_CYCLES);
  end

  logic [$clog2(MS_CYCLES)-1:0] cycle_q;
  always_ff @(posedge clk) begin
    tick    <= cycle_q == '0 && !rst;
    cycle_q <= (cycle_q == '0 || rst) ? ($clog2(MS_CYCLES))'(MS_CYCLES - 1) : cycle_q - 1'b1;
  end
endmodule
