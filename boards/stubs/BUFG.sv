// SPDX-License-Identifier: Apache-2.0
// Stub of the UltraScale+ primitive BUFG (UG974): global clock buffer. Ports alone, for checks; not for synthesis.
module BUFG (
  input  logic         I,
  output logic         O
);
endmodule
