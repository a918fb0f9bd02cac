// SPDX-License-Identifier: Apache-2.0
// AES SubBytes and ShiftRows of one block, forward or inverse or both by `dec`. Combinational: one level of LUTs
// (a table of 256 bytes), with both directions three: affine step, table of inverses, affine step.
module db_aes_sub
  import db_aes_pkg::*;
#(
  parameter bit ENC = 1'b1,  // can go forward
  parameter bit DEC = 1'b0   // can go back
) (
  input  logic         dec,  // direction, with ENC and DEC; else without meaning
  input  logic [127:0] x,
  output logic [127:0] y
);
  if (!ENC && !DEC) begin : g_bad
    $error("%m: one of ENC and DEC must be 1");
  end
  for (genvar c = 0; c < 4; c++) begin : g_col
    for (genvar r = 0; r < 4; r++) begin : g_row
      localparam int FWD = 8 * (4 * ((c + r) % 4) + r);       // the byte that comes to row r, column c
      localparam int BACK = 8 * (4 * ((c + 4 - r) % 4) + r);  // the same, going back
      if (ENC && DEC) begin : g_both
        logic [7:0] turned, inverse;
        assign turned = dec ? aes_inv_affine(x[BACK+:8]) : x[FWD+:8];
        db_aes_sbox #(.TABLE(2)) i_table (.x(turned), .y(inverse));
        assign y[8*(4*c+r)+:8] = dec ? inverse : aes_affine(inverse);
      end else begin : g_one
        db_aes_sbox #(.TABLE(ENC ? 0 : 1)) i_table (.x(x[(ENC?FWD : BACK)+:8]), .y(y[8*(4*c+r)+:8]));
      end
    end
  end
  logic unused;
  assign unused = dec;
endmodule
