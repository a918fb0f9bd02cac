// SPDX-License-Identifier: Apache-2.0
// Stub of AMD's pcie4c_uscale_plus as a project here configures it: 512 bits, 8 lanes. Ports alone, for checks; not for synthesis.
module pcie4c_uscale_plus_0 #(
  localparam int W     = 512,
  localparam int LANES = 8,
  localparam int RQ_W  = 137,
  localparam int RC_W  = 161,
  localparam int CQ_W  = 183,
  localparam int CC_W  = 81
) (
`include "pcie4_ports.svh"
);
endmodule
