// SPDX-License-Identifier: Apache-2.0
// The level of INTA to messages: each edge of it is one of cfg_interrupt_int, and the next waits until the PCIe block has
// sent the message of the last (PG213, legacy interrupts).
// Latency: 1 cycle if no message is under way.
module db_board_intx (
  input  logic       clk,
  input  logic       rst,                   ///< of the PCIe block: it has forgotten what was asserted
  input  logic       level,                 ///< cfg_intx of db_ssd
  output logic [3:0] cfg_interrupt_int,
  output logic [3:0] cfg_interrupt_pending,
  input  logic       cfg_interrupt_sent     ///< pulse
);
  logic asserted_q, sending_q;
  always_ff @(posedge clk) begin
    if (sending_q) begin
      sending_q <= !cfg_interrupt_sent;
    end else if (asserted_q != level) begin
      asserted_q <= level;
      sending_q  <= 1'b1;
    end
    if (rst) begin
      asserted_q <= 1'b0;
      sending_q  <= 1'b0;
    end
  end
  assign cfg_interrupt_int     = {3'd0, asserted_q};
  assign cfg_interrupt_pending = {3'd0, level};
endmodule
