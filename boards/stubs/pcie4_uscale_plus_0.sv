// SPDX-License-Identifier: Apache-2.0
// Stub of AMD's pcie4_uscale_plus as a project here configures it: 256 bits, 8 lanes. Ports alone, for checks; not for synthesis.
module pcie4_uscale_plus_0 #(
  localparam int W     = 256,
  localparam int LANES = 8,
  localparam int RQ_W  = 62,
  localparam int RC_W  = 75,
  localparam int CQ_W  = 88,
  localparam int CC_W  = 33
) (
`include "pcie4_ports.svh"
);
endmodule
