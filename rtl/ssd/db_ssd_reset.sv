// SPDX-License-Identifier: Apache-2.0
// The resets, each in a register of its own: everything else hangs on them.
module db_ssd_reset
  import db_ssd_pkg::*;
(
  input  logic     clk,
  input  logic     rst,        ///< power-on
  input  control_t control,
  output logic     ctrl_rst,   ///< also controller reset: all but the processor and the BAR
  output logic     flr_rst     ///< also function-level reset: the host's registers and the MSI-X table
);
  always_ff @(posedge clk) begin
    ctrl_rst <= rst || control.ctrl_rst;
    flr_rst  <= rst || control.flr_rst;
  end
endmodule
