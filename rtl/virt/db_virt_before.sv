// SPDX-License-Identifier: Apache-2.0
// How much of a granule's first bytes an SSD of it has: what lies before byte `at` of the granule is so many bytes there.
// So what a stretch has of a granule is one run of blocks on each SSD, striped or not.
// Combinational.
module db_virt_before
  import db_virt_pkg::*;
#(
  parameter int GRANULE_LOG2 = 20,  ///< db_virt_map
  localparam int G           = GRANULE_LOG2
) (
  input  logic [1:0]       log2,     ///< the granule is on 2**log2 SSDs
  input  logic [SSD_W-1:0] member,   ///< of these
  input  logic [G:0]       at,
  output logic [G:0]       bytes
);
  logic [G-STRIPE_LOG2:0] chunk, turn;
  logic [SSD_W-1:0]       whose;
  assign chunk = at[G:STRIPE_LOG2];
  assign whose = SSD_W'(chunk) & ~(SSD_W'('1) << log2);
  assign turn  = chunk >> log2;
  always_comb begin
    bytes = {turn, STRIPE_LOG2'(0)};
    if (whose == member) bytes = {turn, at[STRIPE_LOG2-1:0]};
    else if (whose > member) bytes = {(G+1-STRIPE_LOG2)'(turn + 1'b1), STRIPE_LOG2'(0)};
  end
endmodule
