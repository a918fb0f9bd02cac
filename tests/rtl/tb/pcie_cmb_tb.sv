// SPDX-License-Identifier: Apache-2.0
// Card memory with the two ways into it: a controller's RQ (db_pcie_cmb_rq) and a host's CQ (db_pcie_cmb).
`include "db_axi_types.svh"
`include "db_pcie_types.svh"
module pcie_cmb_tb
  import db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_fn_pkg::*;
#(
  parameter int NUM_FN   = 3,
  parameter int DATA_W   = 256,
  parameter int CMB_LOG2 = 14,
  localparam int ADDR_W  = cmb_addr_w(CMB_LOG2, NUM_FN),
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W),
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W),
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W),
  localparam type axi_read_req_t  = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t  = `DB_AXI_READ_RSP_T(DATA_W),
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T
) (
  input  logic               clk,
  input  logic               rst,
  input  logic [2:0]         cfg_mps,
  input  logic               set_valid,
  input  logic [PLACE_W-1:0] set_place,
  input  cmb_window_t        set,
  input  logic [NUM_FN-1:0]  clear,
  output logic [NUM_FN-1:0]  base_invalid,
  output logic               idle,
  output logic               rq_idle,
  output logic               cq_np_req,
  input  logic               s_cq_valid,
  output logic               s_cq_ready,
  input  cq_t                s_cq,
  output logic               m_cq_valid,
  input  logic               m_cq_ready,
  output cq_t                m_cq,
  output logic               m_cc_valid,
  input  logic               m_cc_ready,
  output cc_t                m_cc,
  input  logic               s_cc_valid,
  output logic               s_cc_ready,
  input  cc_t                s_cc,
  input  rq_seq_t            s_rq_seq,
  input  logic               s_rq_valid,
  output logic               s_rq_ready,
  input  rq_t                s_rq,
  output logic               m_rq_valid,
  input  logic               m_rq_ready,
  output rq_t                m_rq,
  output logic               m_own_valid,
  input  logic               m_own_ready,
  output cc_t                m_own,
  output axi_read_req_t      m_axi_read_req,
  input  axi_read_rsp_t      m_axi_read_rsp,
  output axi_write_req_t     m_axi_write_req,
  input  axi_write_rsp_t     m_axi_write_rsp
);
  logic own_valid, own_ready, link_write;
  cq_t  own;
  db_pcie_cmb_rq #(.NUM_FN(NUM_FN), .DATA_W(DATA_W), .REGION_LOG2(CMB_LOG2)) i_rq (
    .clk, .rst, .set_valid, .set_place, .set, .clear, .base_invalid, .idle(rq_idle), .link_write, .s_rq_valid,
    .s_rq_ready, .s_rq, .m_rq_valid, .m_rq_ready, .m_rq, .m_cq_valid(own_valid), .m_cq_ready(own_ready), .m_cq(own));
  db_pcie_cmb #(.NUM_FN(NUM_FN), .DATA_W(DATA_W), .CMB_LOG2(CMB_LOG2)) i_cmb (
    .clk, .rst, .cfg_mps, .set_valid, .set_place, .clear, .idle, .cq_np_req, .s_cq_valid, .s_cq_ready, .s_cq,
    .m_cc_valid, .m_cc_ready, .m_cc, .s_rq_seq, .s_np_req(1'b0), .m_cq_valid, .m_cq_ready, .m_cq, .s_cc_valid,
    .s_cc_ready, .s_cc, .s_own_valid(own_valid), .s_own_ready(own_ready), .s_own(own), .m_own_valid, .m_own_ready,
    .m_own, .link_write, .link_stall(m_rq_valid && !m_rq_ready), .m_axi_read_req, .m_axi_read_rsp,
    .m_axi_write_req, .m_axi_write_rsp);
endmodule
