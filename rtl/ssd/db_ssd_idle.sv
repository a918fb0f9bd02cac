// SPDX-License-Identifier: Apache-2.0
// Says when the controller rests, to those who would stop its clock or reset it.
//
// quiet: nothing is outstanding at the host or at the media, so the data path may be reset. idle: nothing moves either,
// for CALM cycles, and the processor sleeps: until an input changes or time_us reaches wake_us, nothing will. Busy
// flags come from everywhere, so they are seen a cycle late; a request of the host and the processor are seen at once.
module db_ssd_idle
  import db_ssd_stat_pkg::*;
(
  input  logic        clk,
  input  logic        rst,
  input  busy_t       busy,
  input  quiet_t      blocks_quiet,
  input  logic [63:0] coalesce_wake_us,  ///< when interrupts that wait are due
  input  logic [63:0] fw_wake_us,        ///< when the firmware wants to go on
  output logic        quiet,             ///< a cycle behind blocks_quiet
  output logic        idle,
  output logic [63:0] wake_us
);
  localparam logic [4:0] CALM = 5'd30;
  busy_t      others;        // flags that come late have a register of their own
  logic       any_q, others_q, writes_q, operates_q;
  logic [4:0] calm_q;
  always_comb begin
    others              = busy;
    others.write_engine = 1'b0;
    others.operators    = 1'b0;
  end
  assign any_q = others_q || writes_q || operates_q;
  always_ff @(posedge clk) begin
    quiet  <= blocks_quiet == '1;
    others_q <= others != '0;
    writes_q <= busy.write_engine;
    operates_q <= busy.operators;
    calm_q <= any_q ? '0 : (calm_q == CALM ? calm_q : calm_q + 1'b1);
    if (rst) begin
      quiet  <= 1'b0;
      others_q <= 1'b1;
      calm_q <= '0;
    end
  end
  assign idle    = calm_q == CALM && !any_q && !busy.link_request && !busy.cpu;
  assign wake_us = (coalesce_wake_us < fw_wake_us) ? coalesce_wake_us : fw_wake_us;
endmodule
