// SPDX-License-Identifier: Apache-2.0
// AES MixColumns (forward, inverse or both by `dec`) and AddRoundKey of one block. Combinational.
//
// Going back it is the equivalent inverse cipher of FIPS-197, 5.3.5: the key is added last, so round keys must have
// gone through InvMixColumns themselves.
module db_aes_mix
  import db_aes_pkg::*;
#(
  parameter bit ENC = 1'b1,  // can go forward
  parameter bit DEC = 1'b0   // can go back
) (
  input  logic         dec,   // direction, with ENC and DEC; else without meaning
  input  logic         last,  // last round: no MixColumns
  input  logic [127:0] x,
  input  logic [127:0] key,
  output logic [127:0] y
);
  logic back;
  assign back = DEC && (!ENC || dec);
  for (genvar c = 0; c < 4; c++) begin : g_col
    logic [31:0] col, extra;
    assign col   = x[32*c+:32];
    assign extra = back ? aes_mix_extra(col) : 32'd0;
    assign y[32*c+:32] = last ? col ^ key[32*c+:32] : aes_mix(col) ^ extra ^ key[32*c+:32];
  end
endmodule
