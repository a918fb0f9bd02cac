// SPDX-License-Identifier: Apache-2.0
// db_board_intx and db_board_time in one, as both are small.
module tb_board_small #(
  parameter int CLK_MHZ = 250
) (
  input  logic        clk,
  input  logic        rst,
  input  logic        level,
  output logic [3:0]  cfg_interrupt_int,
  output logic [3:0]  cfg_interrupt_pending,
  input  logic        cfg_interrupt_sent,
  output logic [63:0] time_us
);
  db_board_intx i_intx (.*);
  db_board_time #(.CLK_MHZ(CLK_MHZ)) i_time (.clk, .time_us);
endmodule
