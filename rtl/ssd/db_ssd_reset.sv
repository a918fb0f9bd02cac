// SPDX-License-Identifier: Apache-2.0
// The resets, each in a register of its own: everything else hangs on them.
//
// A subsystem reset resets the PF's registers at once (db_ssd_regs), its MSI-X vectors when CSTS.RDY is 0, as then no
// interrupt is under way: so neither comes behind what a host writes that sees RDY = 0 and goes on.
module db_ssd_reset
  import db_ssd_pkg::*;
#(
  parameter int NUM_FN = 1  ///< functions, 1..17
) (
  input  logic     clk,
  input  logic     rst,        ///< power-on
  input  control_t control,
  input  logic [NUM_FN-1:0] fn_enable,  ///< the function is there
  input  logic     subsystem_reset,     ///< pulse
  input  logic     rdy,        ///< CSTS.RDY of the PF
  output logic     ctrl_rst,   ///< also controller reset: all but the processor and the BAR
  output logic [NUM_FN-1:0] flr_rst,  ///< also function-level reset, or a VF is no more: its registers
  output logic [NUM_FN-1:0] msix_rst  ///< flr_rst, and of the PF a subsystem reset: its MSI-X vectors
);
  logic [NUM_FN-1:0] there_q, fn_rst;
  logic              subsystem_q, msix;
  assign fn_rst = {NUM_FN{rst}} | control.flr_rst[NUM_FN-1:0] | (NUM_FN == 1 ? '0 : there_q & ~fn_enable);
  assign msix   = (subsystem_q || subsystem_reset) && !rdy;
  always_ff @(posedge clk) begin
    ctrl_rst <= rst || control.ctrl_rst;
    there_q  <= fn_enable;
    flr_rst  <= fn_rst;
    msix_rst <= fn_rst | NUM_FN'(msix);
    subsystem_q <= (subsystem_q || subsystem_reset) && rdy && !rst;
  end
endmodule
