// SPDX-License-Identifier: Apache-2.0
// db_pcie_cq_straddle and db_pcie_cc_straddle with the flat streams that models of the hard block want.
`include "db_pcie_types.svh"
module pcie_completer_straddle_tb
  import db_pcie_pkg::*, db_pcie_straddle_pkg::*;
(
  input  logic         clk,
  input  logic         rst,
  input  logic         s_axis_cq_tvalid,
  output logic         s_axis_cq_tready,
  input  logic [511:0] s_axis_cq_tdata,
  input  logic [ 15:0] s_axis_cq_tkeep,
  input  logic         s_axis_cq_tlast,
  input  logic [182:0] s_axis_cq_tuser,
  output logic         m_valid,
  input  logic         m_ready,
  output logic         m_sop,
  output logic         m_eop,
  output logic         m_disc,
  output logic [511:0] m_data,
  output logic [  4:0] m_dwords,
  output logic [127:0] m_desc,
  output logic [  3:0] m_first_be,
  output logic [  3:0] m_last_be,

  output logic         idle,
  input  logic         s_valid,
  output logic         s_ready,
  input  logic         s_last,
  input  cc_side_t     s_side,
  input  logic [511:0] s_data,
  output logic         m_axis_cc_tvalid,
  input  logic         m_axis_cc_tready,
  output logic [511:0] m_axis_cc_tdata,
  output logic [ 15:0] m_axis_cc_tkeep,
  output logic         m_axis_cc_tlast,
  output logic [ 80:0] m_axis_cc_tuser
);
  typedef `DB_PCIE_CQ_T(512) cq_t;
  typedef `DB_PCIE_CC_T(512) cc_t;
  cq_t cq;
  cc_t cc;
  assign cq = '{tdata: s_axis_cq_tdata, tkeep: s_axis_cq_tkeep, tlast: s_axis_cq_tlast, tuser: s_axis_cq_tuser};
  assign m_axis_cc_tdata = cc.tdata;
  assign m_axis_cc_tkeep = cc.tkeep;
  assign m_axis_cc_tlast = cc.tlast;
  assign m_axis_cc_tuser = cc.tuser;
  db_pcie_cq_straddle i_cq (
    .clk, .rst, .s_cq_valid(s_axis_cq_tvalid), .s_cq_ready(s_axis_cq_tready), .s_cq(cq), .m_valid, .m_ready, .m_sop,
    .m_eop, .m_disc, .m_data, .m_dwords, .m_desc, .m_first_be, .m_last_be);
  db_pcie_cc_straddle i_cc (
    .clk, .rst, .idle, .s_valid, .s_ready, .s_last, .s_side, .s_data, .m_cc_valid(m_axis_cc_tvalid),
    .m_cc_ready(m_axis_cc_tready), .m_cc(cc));
endmodule
