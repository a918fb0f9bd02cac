// SPDX-License-Identifier: Apache-2.0
// Which functions send nothing, where there are several: the firmware has turned them off, the host does not let them be bus
// masters or resets them, or they are not there. Latency: 1 cycle.
module db_ssd_silent
  import db_ssd_pkg::*;
#(
  parameter int NUM_FN = 1  ///< functions, 1..17
) (
  input  logic              clk,
  input  control_t          control,
  input  link_cfg_t         link_cfg,
  output logic [NUM_FN-1:0] silent
);
  logic unused_ok;
  assign unused_ok = &{1'b0, control, link_cfg};
  always_ff @(posedge clk) begin
    silent <= control.off[NUM_FN-1:0] | ~link_cfg.bus_master[NUM_FN-1:0] | ~link_cfg.enable[NUM_FN-1:0] |
              link_cfg.flr[NUM_FN-1:0];
  end
endmodule
