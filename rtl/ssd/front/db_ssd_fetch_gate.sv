// SPDX-License-Identifier: Apache-2.0
// Says whether submission queue entries may be requested: the firmware lets the controller run, does not stop it, and
// the host lets it be a bus master. An entry that could not be read has no identifier to answer to: nothing is fetched
// any more and CSTS.CFS tells the host, until the next controller reset. What a stop, or the end of bus mastering (so a
// function-level reset), has cut off is no error.
// With several functions each has its own CSTS.CFS, until it is turned off, and none holds up the others; so one that was no
// bus master when its entries were to be read has it too.
module db_ssd_fetch_gate
  import db_pcie_fn_pkg::*, db_ssd_pkg::*;
#(
  parameter int NUM_FN = 1  ///< functions, 1..17
) (
  input  logic               clk,
  input  logic               rst,            ///< controller reset
  input  control_t           control,
  input  logic [NUM_FN-1:0]  bus_master,
  input  logic               s_fetch_err,    ///< pulse: an entry could not be read
  input  logic [FN_W-1:0]    s_fetch_err_fn, ///< ... of this function
  input  csts_t [NUM_FN-1:0] s_csts,         ///< the firmware's
  output csts_t [NUM_FN-1:0] m_csts,         ///< the host's
  output logic               run
);
  logic [NUM_FN-1:0] fatal_q;
  for (genvar i = 0; i < NUM_FN; i++) begin : g_fn
    logic mine;
    assign mine = NUM_FN == 1 || s_fetch_err_fn == fn_number(PLACE_W'(i));
    always_ff @(posedge clk) begin
      fatal_q[i] <= !rst && !control.off[i] &&
                    (fatal_q[i] || (s_fetch_err && mine && (NUM_FN > 1 || bus_master[i]) && !control.stop));
    end
  end
  assign run = control.run && !control.stop && (NUM_FN > 1 || (bus_master[0] && !fatal_q[0]));
  always_comb begin
    m_csts = s_csts;
    for (int i = 0; i < NUM_FN; i++) m_csts[i].cfs |= fatal_q[i];
  end
  logic unused_ok;
  assign unused_ok = &{1'b0, s_fetch_err_fn, control};
endmodule
