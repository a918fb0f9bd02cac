// SPDX-License-Identifier: Apache-2.0
// The level-triggered interrupt INTA: asserted while a queue with interrupts enabled holds entries, unless MSI-X is in
// use, the host has disabled it in the command register or has masked vector 0 (Base 2.0, 3.1.3.3). Latency: 1 cycle.
module db_ssd_intx
  import db_ssd_pkg::*;
(
  input  logic      clk,
  input  logic      rst,
  input  logic      any_entries,
  input  link_cfg_t link_cfg,
  input  logic      masked,        ///< INTMS, bit 0
  output logic      intx
);
  always_ff @(posedge clk) begin
    intx <= any_entries && !link_cfg.msix_enable[0] && !link_cfg.intx_disable && !masked;
    if (rst) intx <= 1'b0;
  end
endmodule
