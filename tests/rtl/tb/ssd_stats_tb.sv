// SPDX-License-Identifier: Apache-2.0
// db_ssd_stats below a top: a bench can set registers there, and no port of a top.
module ssd_stats_tb
  import db_ssd_stat_pkg::*;
(
  input  logic                            clk,
  input  logic                            rst,
  input  stall_t                          stall,
  output logic [$bits(stall_t)-1:0][31:0] count
);
  db_ssd_stats i_stats (.clk, .rst, .stall, .count);
endmodule
