// SPDX-License-Identifier: Apache-2.0
// One table of AES: S-box, its inverse, or the inverse in GF(2^8). Combinational, one level (32 LUT6 and the
// multiplexers of their slices). A module of its own so that a tool does not melt the table into what stands around
// it.
module db_aes_sbox
  import db_aes_pkg::*;
#(
  parameter int TABLE = 0  // 0 S-box, 1 inverse S-box, 2 inverse in GF(2^8)
) (
  input  logic [7:0] x,
  output logic [7:0] y
);
  if (TABLE == 0) begin : g_sbox
    assign y = AES_SBOX[x];
  end else if (TABLE == 1) begin : g_inv_sbox
    assign y = AES_INV_SBOX[x];
  end else if (TABLE == 2) begin : g_inverse
    assign y = AES_INVERSE[x];
  end else begin : g_bad
    $error("%m: TABLE must be 0 to 2 (is %0d)", TABLE);
  end
endmodule
