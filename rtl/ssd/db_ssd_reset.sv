// SPDX-License-Identifier: Apache-2.0
// The resets, each in a register of its own: everything else hangs on them.
module db_ssd_reset
  import db_ssd_pkg::*;
#(
  parameter int NUM_FN = 1  ///< functions, 1..17
) (
  input  logic     clk,
  input  logic     rst,        ///< power-on
  input  control_t control,
  input  logic [NUM_FN-1:0] fn_enable,  ///< the function is there
  output logic     ctrl_rst,   ///< also controller reset: all but the processor and the BAR
  output logic [NUM_FN-1:0] flr_rst  ///< also function-level reset, or a VF is no more: its registers and MSI-X vectors
);
  logic [NUM_FN-1:0] there_q;
  always_ff @(posedge clk) begin
    ctrl_rst <= rst || control.ctrl_rst;
    there_q  <= fn_enable;
    flr_rst  <= {NUM_FN{rst}} | control.flr_rst[NUM_FN-1:0] | (NUM_FN == 1 ? '0 : there_q & ~fn_enable);
  end
endmodule
