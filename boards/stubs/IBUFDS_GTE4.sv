// SPDX-License-Identifier: Apache-2.0
// Stub of the UltraScale+ primitive IBUFDS_GTE4 (UG974): buffer of a transceiver's reference clock. Ports alone, for
// checks; not for synthesis.
module IBUFDS_GTE4 #(
  parameter logic [1:0] REFCLK_HROW_CK_SEL = 2'b00
) (
  input  logic         CEB,
  input  logic         I,
  input  logic         IB,
  output logic         O,
  output logic         ODIV2
);
endmodule
