// SPDX-License-Identifier: Apache-2.0
// db_pcie_bar with flat CQ and CC, as cocotbext-pcie's sources and sinks want them.
`include "db_pcie_types.svh"
module pcie_bar_tb
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int DATA_W = 256
) (
  input  logic                         clk,
  input  logic                         rst,
  output logic                         cq_np_req,
  input  logic [DATA_W-1:0]            s_axis_cq_tdata,
  input  logic [DATA_W/32-1:0]         s_axis_cq_tkeep,
  input  logic                         s_axis_cq_tlast,
  input  logic [cq_user_w(DATA_W)-1:0] s_axis_cq_tuser,
  input  logic                         s_axis_cq_tvalid,
  output logic                         s_axis_cq_tready,
  output logic [DATA_W-1:0]            m_axis_cc_tdata,
  output logic [DATA_W/32-1:0]         m_axis_cc_tkeep,
  output logic                         m_axis_cc_tlast,
  output logic [cc_user_w(DATA_W)-1:0] m_axis_cc_tuser,
  output logic                         m_axis_cc_tvalid,
  input  logic                         m_axis_cc_tready,
  output logic                         m_reg_valid,
  input  logic                         m_reg_ready,
  output reg_access_t                  m_reg,
  input  logic                         m_reg_rvalid,
  input  logic [31:0]                  m_reg_rdata
);
  typedef `DB_PCIE_CQ_T(DATA_W) cq_t;
  typedef `DB_PCIE_CC_T(DATA_W) cc_t;
  cq_t cq;
  cc_t cc;
  assign cq = '{tuser: s_axis_cq_tuser, tlast: s_axis_cq_tlast, tkeep: s_axis_cq_tkeep, tdata: s_axis_cq_tdata};
  assign {m_axis_cc_tuser, m_axis_cc_tlast, m_axis_cc_tkeep, m_axis_cc_tdata} = cc;

  db_pcie_bar #(.DATA_W(DATA_W)) i_bar (
    .clk, .rst, .cq_np_req, .s_cq_valid(s_axis_cq_tvalid), .s_cq_ready(s_axis_cq_tready), .s_cq(cq),
    .m_cc_valid(m_axis_cc_tvalid),
    .m_cc_ready(m_axis_cc_tready), .m_cc(cc), .m_reg_valid, .m_reg_ready, .m_reg, .m_reg_rvalid, .m_reg_rdata
  );
endmodule
