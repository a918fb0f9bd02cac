// SPDX-License-Identifier: Apache-2.0
// Cycles to microseconds, and their power of two: latency by shifts and subtractions, no multiplier.
//
// bucket: 0 below 1 us, k from 2^(k-1) us on, modulo 32. Doubles CLK_MHZ until it is more than the value (k steps), then
// divides on the way back (k steps). Latency: 2 k + 2 cycles, so 10 for 10 us. One value at a time; results stay.
module db_rec_timebase #(
  parameter int unsigned CLK_MHZ = 250  // cycles in a microsecond, 1..1023
) (
  input  logic        clk,
  input  logic        rst,
  input  logic        start,
  input  logic [31:0] cycles,
  output logic        done,      // from then on until the next start
  output logic [31:0] us,
  output logic [4:0]  bucket
);
  if (CLK_MHZ < 1 || CLK_MHZ > 1023) begin : g_bad
    $error("%m: CLK_MHZ must be 1..1023 (is %0d)", CLK_MHZ);
  end
  logic [31:0] rest_q, us_q;
  logic [32:0] unit_q;  // CLK_MHZ x 2^left_q
  logic [5:0]  left_q, bucket_q;
  logic        up_q, done_q, fits;
  logic [32:0] less;

  assign less   = {1'b0, rest_q} - unit_q;
  assign fits   = !less[32];
  assign done   = done_q;
  assign us     = us_q;
  assign bucket = bucket_q[4:0];

  always_ff @(posedge clk) begin
    if (up_q && fits) begin
      unit_q <= unit_q << 1;
      left_q <= left_q + 6'd1;
    end else if (!done_q) begin
      if (up_q) bucket_q <= left_q;
      else if (fits) rest_q <= less[31:0];
      if (!up_q) us_q <= {us_q[30:0], fits};
      unit_q <= unit_q >> 1;
      left_q <= left_q - 6'd1;
      up_q   <= 1'b0;
      done_q <= left_q == 6'd0;
    end
    if (start) begin
      rest_q <= cycles;
      us_q   <= '0;
      unit_q <= 33'(CLK_MHZ);
      left_q <= '0;
      up_q   <= 1'b1;
      done_q <= 1'b0;
    end
    if (rst) begin
      up_q   <= 1'b0;
      done_q <= 1'b1;
    end
  end
endmodule
