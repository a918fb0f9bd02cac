// SPDX-License-Identifier: Apache-2.0
// Completions from card memory, in the form of CC, joined with those of the link to one RC, packet by packet, in turn: for 128
// and 256 bits. Latency: 2 cycles of the link, 1 of card memory. Throughput: a beat a cycle.
`include "db_pcie_types.svh"
module db_pcie_cmb_rc
  import db_pcie_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits of a beat: 128 or 256
  localparam type rc_t = `DB_PCIE_RC_T(DATA_W),
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W)
) (
  input  logic clk,
  input  logic rst,
  input  logic s_rc_valid,
  output logic s_rc_ready,
  input  rc_t  s_rc,
  input  logic s_cmb_valid,
  output logic s_cmb_ready,
  input  cc_t  s_cmb,
  /// always taken
  output logic m_rc_valid,
  output rc_t  m_rc
);
  logic [1:0] valid, ready;
  rc_t  [1:0] packets;
  logic       mid_q;
  db_skid #(.WIDTH($bits(rc_t))) i_in (
    .clk, .rst, .s_valid(s_rc_valid), .s_ready(s_rc_ready), .s_data(s_rc), .m_valid(valid[0]), .m_ready(ready[0]),
    .m_data(packets[0]));
  always_comb begin
    packets[1]       = '0;
    packets[1].tlast = s_cmb.tlast;
    packets[1].tkeep = s_cmb.tkeep;
    packets[1].tdata = s_cmb.tdata;
    if (!mid_q) packets[1].tdata[95:0] = rc_desc_of(cc_desc_t'(s_cmb.tdata[95:0]));
  end
  assign valid[1]    = s_cmb_valid;
  assign s_cmb_ready = ready[1];
  always_ff @(posedge clk) begin
    if (s_cmb_valid && s_cmb_ready) mid_q <= !s_cmb.tlast;
    if (rst) mid_q <= 1'b0;
  end
  db_pcie_rq_mux #(.DATA_W(DATA_W), .N(2), .USER_W(rc_user_w(DATA_W))) i_mux (
    .clk, .rst, .stop(2'b00), .idle(), .begun(), .s_rq_valid(valid), .s_rq_ready(ready), .s_rq(packets),
    .m_rq_valid(m_rc_valid), .m_rq_ready(1'b1), .m_rq(m_rc));

  logic unused_ok;
  assign unused_ok = &{1'b0, s_cmb.tuser};
endmodule
