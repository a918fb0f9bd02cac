// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli, RFC 3720) of rows of data.
//
// A row's share is a sum over its bits (a matrix found at elaboration), made in a cycle of its own, so that only 32
// bits are fed back.
// Latency: 2 cycles from a row to the CRC behind it. Throughput: a row a cycle.
module db_crc32c #(
  parameter int DATA_W = 256  ///< bits of a row, at least 32
) (
  input  logic              clk,
  input  logic              s_valid,
  input  logic              s_first,  ///< of a message: the CRC begins with ones
  input  logic [DATA_W-1:0] s_data,   ///< byte k in bits 8k+7:8k
  output logic [31:0]       crc       ///< least significant bit first, not inverted
);
  if (DATA_W < 32) begin : g_bad
    $error("%m: DATA_W must be at least 32 (is %0d)", DATA_W);
  end
  localparam logic [31:0] POLY = 32'h82f6_3b78;  // least significant bit first

  // Which of `bits` bits after an all-zero CRC reach bit k of the next.
  function automatic logic [DATA_W-1:0] mask(input int k);
    logic [31:0] reg_v;
    reg_v = POLY;
    for (int i = DATA_W - 1; i >= 0; i--) begin
      mask[i] = reg_v[k];
      reg_v   = (reg_v >> 1) ^ (reg_v[0] ? POLY : 32'd0);
    end
  endfunction

  logic        valid_q, first_q;
  logic [31:0] share, share_q, old, sum, crc_q;
  assign old = first_q ? '1 : crc_q;
  for (genvar k = 0; k < 32; k++) begin : g_bit
    localparam logic [DATA_W-1:0] MASK = mask(k);
    assign share[k] = ^(s_data & MASK);
    assign sum[k]   = share_q[k] ^ ^(old & MASK[31:0]);
  end
  always_ff @(posedge clk) begin
    valid_q <= s_valid;
    first_q <= s_first;
    share_q <= share;
    if (valid_q) crc_q <= sum;
  end
  assign crc = crc_q;
endmodule
