// SPDX-License-Identifier: Apache-2.0
// Microseconds since configuration, for db_ssd's time_us: nothing resets them, so power-on hours count on over link resets.
module db_board_time #(
  parameter int CLK_MHZ = 250  ///< of clk, 2..1000
) (
  input  logic        clk,
  output logic [63:0] time_us
);
  localparam int COUNT_W = $clog2(CLK_MHZ);

  if (CLK_MHZ < 2 || CLK_MHZ > 1000) begin : g_bad
    $error("%m: CLK_MHZ must be 2..1000 (is %0d)", CLK_MHZ);
  end

  logic [COUNT_W-1:0] count_q;
  logic [63:0]        time_q;
  initial begin
    count_q = '0;
    time_q  = '0;
  end
  always_ff @(posedge clk) begin
    count_q <= count_q + 1'b1;
    if (count_q == COUNT_W'(CLK_MHZ - 1)) begin
      count_q <= '0;
      time_q  <= time_q + 64'd1;
    end
  end
  assign time_us = time_q;
endmodule
