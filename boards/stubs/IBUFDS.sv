// SPDX-License-Identifier: Apache-2.0
// Stub of the UltraScale+ primitive IBUFDS (UG974): differential input buffer. Ports alone, for checks; not for synthesis.
module IBUFDS (
  input  logic         I,
  input  logic         IB,
  output logic         O
);
endmodule
