// SPDX-License-Identifier: Apache-2.0
// Says whether submission queue entries may be requested: the firmware lets the controller run, does not stop it, and
// the host lets it be a bus master. An entry that could not be read has no identifier to answer to: nothing is fetched
// any more and CSTS.CFS tells the host, until the next controller reset. What a stop, or the end of bus mastering (so a
// function-level reset), has cut off is no error.
module db_ssd_fetch_gate
  import db_ssd_pkg::*;
(
  input  logic     clk,
  input  logic     rst,          ///< controller reset
  input  control_t control,
  input  logic     bus_master,
  input  logic     s_fetch_err,  ///< pulse: an entry could not be read
  input  csts_t    s_csts,       ///< the firmware's
  output csts_t    m_csts,       ///< the host's
  output logic     run
);
  logic fatal_q;
  always_ff @(posedge clk) fatal_q <= !rst && (fatal_q || (s_fetch_err && bus_master && !control.stop));
  assign run = control.run && !control.stop && bus_master && !fatal_q;
  always_comb begin
    m_csts      = s_csts;
    m_csts.cfs |= fatal_q;
  end
endmodule
