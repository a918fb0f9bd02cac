// SPDX-License-Identifier: Apache-2.0
// Answers of the root port (CC): requests from db_pcie_root_rx to completions, whose rows are asked from the host. Wiring
// only:
//
//   s_req -> _cut (completions of at most MPS) -> _rows -> m_row ... s_row_data -> _beats -> m_cc
//        '--------------------------> _header (what is needed of them then) -----------^
//
// Latency: 9 cycles from s_req to the first beat with ROW_LATENCY 4. Throughput: a beat every cycle, no gap inside a
// packet; at 256 and 512 bits a cycle is lost between packets if a payload begins at dword 4 of a row or higher, with SIDE
// if it does not begin with a row.
`include "db_pcie_types.svh"
module db_pcie_root_tx
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int DATA_W      = 128,  ///< bits of a beat and a row: 128, 256 or 512
  parameter int WINDOW_LOG2 = 26,   ///< log2 of the window's bytes
  parameter int ROW_LATENCY = 4,    ///< cycles from m_row_valid to s_row_data, at least 2
  parameter bit SIDE        = 1'b0,  ///< 512 bits: completions have the form that db_pcie_cc_straddle takes
  localparam type cc_t = `DB_PCIE_STREAM_T(DATA_W, cc_form_w(DATA_W, SIDE))
) (
  input  logic                   clk,
  input  logic                   rst,
  /// 0: 128 bytes .. 5: 4096
  input  logic [2:0]             cfg_mps,

  /// always taken: the sender goes by req_room
  input  logic                   s_req_valid,
  input  window_req_t            s_req,
  /// there is room for 2 more; 32 in all
  output logic                   req_room,
  /// pulse: a request has been answered
  output logic                   m_req_done,

  output logic                   m_row_valid,
  output logic [WINDOW_LOG2-1:0] m_row_addr,
  /// ROW_LATENCY cycles after m_row_valid
  input  logic [DATA_W-1:0]      s_row_data,

  output logic                   m_cc_valid,
  input  logic                   m_cc_ready,
  output cc_t                    m_cc,
  /// no request inside, nothing on CC
  output logic                   idle
);
  localparam int ROW_LOG2 = $clog2(DATA_W / 8);
  localparam int STEPS    = 16;  // under way at most

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  logic                          cut_valid, cut_ready, back_valid, back_ready, back_last, back_take, empty;
  window_cpl_t                   cut, cpl;
  logic [WINDOW_LOG2-1:ROW_LOG2] cut_row;
  logic [DATA_W-1:0]             back;
  cc_desc_t                      header;
  logic [255:0]                  unsuccessful;

  db_pcie_root_cut #(.DATA_W(DATA_W), .WINDOW_LOG2(WINDOW_LOG2)) i_cut (
    .clk, .rst, .cfg_mps, .s_req_valid, .s_req, .req_room, .req_done(m_req_done), .empty, .m_cut_valid(cut_valid),
    .m_cut_ready(cut_ready), .m_cut(cut), .m_cut_row(cut_row)
  );
  db_pcie_root_rows #(
    .DATA_W(DATA_W), .WINDOW_LOG2(WINDOW_LOG2), .ROW_LATENCY(ROW_LATENCY), .STEPS(STEPS), .HEAD_DW(cc_head_dw(SIDE))
  ) i_rows (
    .clk, .rst, .s_cut_valid(cut_valid), .s_cut_ready(cut_ready), .s_cut(cut), .s_cut_row(cut_row), .m_row_valid,
    .m_row_addr, .s_row_data, .m_back_valid(back_valid), .m_back_ready(back_ready), .m_back_data(back),
    .m_back_last(back_last)
  );
  assign back_take = back_valid && back_ready;
  db_pcie_root_header #(.STEPS(STEPS)) i_header (
    .clk, .rst, .s_req_valid, .s_req, .s_cut_valid(cut_valid && cut_ready), .s_cut(cut), .using(back_take),
    .cpl_done(back_take && back_last), .m_cpl(cpl), .m_header(header), .m_unsuccessful(unsuccessful),
    .req_done(m_req_done)
  );
  db_pcie_root_beats #(.DATA_W(DATA_W), .SIDE(SIDE)) i_beats (
    .clk, .rst, .s_row_valid(back_valid), .s_row_ready(back_ready), .s_row_data(back), .s_row_last(back_last),
    .s_cpl(cpl), .s_header(header), .s_unsuccessful(unsuccessful), .m_cc_valid, .m_cc_ready, .m_cc
  );
  assign idle = empty && !m_cc_valid;
endmodule
