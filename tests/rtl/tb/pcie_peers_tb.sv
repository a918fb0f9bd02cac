// SPDX-License-Identifier: Apache-2.0
// db_pcie_peers at 512 bits with CQ and CC straddled: these two flat, as models of the hard block want them.
`include "db_pcie_types.svh"
module pcie_peers_tb
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int NUM_PEERS  = 4,
  parameter int DATA_W     = 512,
  localparam int DRIVE_LOG2 = 26,
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W),
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W),
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W),
  localparam type rc_t = `DB_PCIE_RC_T(DATA_W)
) (
  input  logic                                  clk,
  input  logic                                  rst,
  input  logic [2:0]                            cfg_mps,
  input  logic [63:0]                           window_base,
  input  logic [NUM_PEERS-1:0][15:0]            peer_id,
  input  logic [NUM_PEERS-1:0]                  peer_open,
  output logic                                  idle,
  output logic                                  cq_np_req,
  input  logic                                  s_axis_cq_tvalid,
  output logic                                  s_axis_cq_tready,
  input  logic [511:0]                          s_axis_cq_tdata,
  input  logic [15:0]                           s_axis_cq_tkeep,
  input  logic                                  s_axis_cq_tlast,
  input  logic [182:0]                          s_axis_cq_tuser,
  output logic                                  m_axis_cc_tvalid,
  input  logic                                  m_axis_cc_tready,
  output logic [511:0]                          m_axis_cc_tdata,
  output logic [15:0]                           m_axis_cc_tkeep,
  output logic                                  m_axis_cc_tlast,
  output logic [80:0]                           m_axis_cc_tuser,
  input  logic                                  s_rc_valid,
  input  rc_t                                   s_rc,

  /// the controller
  output logic                                  m_cq_valid,
  input  logic                                  m_cq_ready,
  output cq_t                                   m_cq,
  input  logic                                  s_cc_valid,
  output logic                                  s_cc_ready,
  input  cc_t                                   s_cc,
  output logic                                  m_rq_valid,
  input  logic                                  m_rq_ready,
  output rq_t                                   m_rq,

  /// each drive: a pulse each millisecond; where its BAR 0 is
  input  logic [NUM_PEERS-1:0]                  tick,
  input  logic [NUM_PEERS-1:0][63:0]            bar_base,
  input  logic [NUM_PEERS-1:0]                  s_poke_valid,
  output logic [NUM_PEERS-1:0]                  s_poke_ready,
  input  poke_t [NUM_PEERS-1:0]                 s_poke,
  input  logic [NUM_PEERS-1:0]                  s_acc_valid,
  output logic [NUM_PEERS-1:0]                  s_acc_ready,
  input  acc_t [NUM_PEERS-1:0]                  s_acc,
  output logic [NUM_PEERS-1:0]                  m_answer_valid,
  output acc_answer_t [NUM_PEERS-1:0]           m_answer,
  /// rows that a drive writes, always taken
  output logic [NUM_PEERS-1:0]                  m_wr_valid,
  output logic [DRIVE_LOG2-1:0]                 m_wr_addr,
  output logic [DATA_W-1:0]                     m_wr_data,
  output logic [DATA_W/8-1:0]                   m_wr_be,
  /// rows that it reads; s_row_data comes ROW_LATENCY cycles after m_row_valid
  output logic [NUM_PEERS-1:0]                  m_row_valid,
  output logic [DRIVE_LOG2-1:0]                 m_row_addr,
  input  logic [NUM_PEERS-1:0][DATA_W-1:0]      s_row_data,
  /// pulses: a request outside the windows or not supported; a write to this drive's window was damaged
  output logic                                  m_bad,
  output logic                                  m_foreign,  ///< a request to a window by another than its drive
  output logic [NUM_PEERS-1:0]                  m_damaged
);
  cq_t s_cq;
  cc_t m_cc;
  assign s_cq = '{tdata: s_axis_cq_tdata, tkeep: s_axis_cq_tkeep, tlast: s_axis_cq_tlast, tuser: s_axis_cq_tuser};
  assign {m_axis_cc_tuser, m_axis_cc_tlast, m_axis_cc_tkeep, m_axis_cc_tdata} = m_cc;
  db_pcie_peers #(.DATA_W(DATA_W), .NUM_PEERS(NUM_PEERS), .DRIVE_LOG2(DRIVE_LOG2), .STRADDLE(1'b1)) i_peers (
    .s_cq_valid(s_axis_cq_tvalid), .s_cq_ready(s_axis_cq_tready), .m_cc_valid(m_axis_cc_tvalid),
    .m_cc_ready(m_axis_cc_tready), .*);
endmodule
