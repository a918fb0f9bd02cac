// SPDX-License-Identifier: Apache-2.0
// The root port's side of PCIe: the four streams of the hard block (PG213) in front, and behind them what a host speaks:
// accesses to the drive, rows that the drive writes, rows that it reads. Wiring only; rtl/pcie/README.md has the picture.
//
// The drive sees a window of the host's memory at window_base. A write of the drive becomes row writes; for a read the
// host is asked for rows, which it must give ROW_LATENCY cycles later.
// An adapter to another vendor's block is a module with these ports.
// Latency and throughput: of db_pcie_root_req, db_pcie_root_rx, db_pcie_root_tx, db_pcie_root_credit.
`include "db_pcie_types.svh"
module db_pcie_root
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int         DATA_W      = 128,    ///< bits of a beat and of a row: 128, 256 or 512
  parameter int         WINDOW_LOG2 = 26,     ///< log2 of the window's bytes, at least 15
  parameter logic [7:0] READABLE    = 8'h3f,  ///< eighths of the window, lowest first, that answer reads
  parameter int         ROW_LATENCY = 4,      ///< cycles from m_row_valid to s_row_data, at least 2
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W),
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W),
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W),
  localparam type rc_t = `DB_PCIE_RC_T(DATA_W)
) (
  input  logic                   clk,
  input  logic                   rst,
  /// pulse each millisecond
  input  logic                   tick,
  input  logic                   link_up,
  /// 0: 128 bytes .. 5: 4096
  input  logic [2:0]             cfg_mps,
  /// a multiple of the window's size
  input  logic [63:0]            window_base,
  /// where the drive's BAR 0 is, a multiple of its size
  input  logic [63:0]            bar_base,
  /// no answer to a read of the drive is under way
  output logic                   idle,

  output logic                   m_rq_valid,
  input  logic                   m_rq_ready,
  output rq_t                    m_rq,
  input  logic                   s_rc_valid,
  output logic                   s_rc_ready,
  input  rc_t                    s_rc,
  input  logic                   s_cq_valid,
  output logic                   s_cq_ready,
  input  cq_t                    s_cq,
  /// credits for what the drive reads (db_pcie_root_credit)
  output logic [1:0]             pcie_cq_np_req,
  output logic                   m_cc_valid,
  input  logic                   m_cc_ready,
  output cc_t                    m_cc,

  /// posted writes to BAR 0; they go before accesses
  input  logic                   s_poke_valid,
  output logic                   s_poke_ready,
  input  poke_t                  s_poke,
  /// accesses to the drive; the answer is there for one cycle
  input  logic                   s_acc_valid,
  output logic                   s_acc_ready,
  input  acc_t                   s_acc,
  output logic                   m_answer_valid,
  output acc_answer_t            m_answer,

  /// rows that the drive writes, always taken; up to 3 follow after stall rose, the one of that cycle included
  output logic                   m_wr_valid,
  output logic [WINDOW_LOG2-1:0] m_wr_addr,
  output logic [DATA_W-1:0]      m_wr_data,
  output logic [DATA_W/8-1:0]    m_wr_be,
  input  logic                   stall,

  /// rows that the drive reads; s_row_data comes ROW_LATENCY cycles after m_row_valid
  output logic                   m_row_valid,
  output logic [WINDOW_LOG2-1:0] m_row_addr,
  input  logic [DATA_W-1:0]      s_row_data,

  /// pulse: a request outside the window or not supported
  output logic                   m_bad,
  /// pulse: a write to the window was damaged
  output logic                   m_damaged
);
  logic        req_valid, req_room, req_drop, req_done;
  window_req_t req;

  db_pcie_root_req #(.DATA_W(DATA_W)) i_req (
    .clk, .rst, .tick, .bar_base, .s_poke_valid, .s_poke_ready, .s_poke, .s_acc_valid, .s_acc_ready, .s_acc,
    .m_answer_valid, .m_answer, .m_rq_valid, .m_rq_ready, .m_rq, .s_rc_valid, .s_rc_ready, .s_rc
  );
  db_pcie_root_rx #(.DATA_W(DATA_W), .WINDOW_LOG2(WINDOW_LOG2), .READABLE(READABLE)) i_rx (
    .clk, .rst, .window_base, .s_cq_valid, .s_cq_ready, .s_cq,
    .s_own(1'b1), .m_wr_valid, .m_wr_addr, .m_wr_data, .m_wr_be, .stall,
    .m_req_valid(req_valid), .m_req(req), .req_room, .m_req_drop(req_drop), .m_bad, .m_damaged
  );
  db_pcie_root_credit i_credit (.clk, .rst, .link_up, .s_done(req_done), .s_drop(req_drop), .pcie_cq_np_req);
  db_pcie_root_tx #(.DATA_W(DATA_W), .WINDOW_LOG2(WINDOW_LOG2), .ROW_LATENCY(ROW_LATENCY)) i_tx (
    .clk, .rst, .cfg_mps, .s_req_valid(req_valid), .s_req(req), .req_room, .m_req_done(req_done), .m_row_valid,
    .m_row_addr, .s_row_data, .m_cc_valid, .m_cc_ready, .m_cc, .idle
  );
endmodule
