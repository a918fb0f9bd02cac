// SPDX-License-Identifier: Apache-2.0
// Counts what the SSDs of db_vcsd do that the card's owner may want to know: they go on at 0 after 2^32 - 1.
//
// A cycle behind what is counted.
module db_virt_counters #(
  parameter int NUM_SSD = 2  ///< 1..8
) (
  input  logic               clk,
  input  logic               rst,
  input  logic               foreign,      ///< an access to a window that is not the asker's
  input  logic [NUM_SSD-1:0] retried,      ///< a command went to an SSD once more
  output logic [31:0]        num_foreign,
  output logic [31:0]        num_retried
);
  if (NUM_SSD < 1 || NUM_SSD > 8) begin : g_bad
    $error("%m: NUM_SSD must be 1..8 (is %0d)", NUM_SSD);
  end
  logic [31:0] num_foreign_q, num_retried_q;
  always_ff @(posedge clk) begin
    if (foreign) num_foreign_q <= num_foreign_q + 32'd1;
    num_retried_q <= num_retried_q + 32'($countones(retried));
    if (rst) begin
      num_foreign_q <= '0;
      num_retried_q <= '0;
    end
  end
  assign num_foreign = num_foreign_q;
  assign num_retried = num_retried_q;
endmodule
