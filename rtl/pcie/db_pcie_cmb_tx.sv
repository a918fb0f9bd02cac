// SPDX-License-Identifier: Apache-2.0
// Answers from card memory: requests to completions in the form of CC. Wiring, of what db_pcie_root_tx is made of but
// for the rows, and when a request may begin:
//
//   s_req -> _cut (completions of at most MPS) -> _cmb_rows -> m_row ... s_row -> _beats -> m_cc
//        '--------------------------> _header (what is needed of them then) -------^
//
// A request begins when all rows that came before it have been written (count_in of its time, count_done now).
// A completion with a bad row is poisoned. completer_fn is that of the request.
// Latency: 7 cycles from s_req to m_row, 3 from a completion's last row to its first beat. Throughput: a beat every cycle;
// at 256 and 512 bits a cycle is lost between packets if a payload begins at dword 4 of a row or higher.
`include "db_pcie_types.svh"
module db_pcie_cmb_tx
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int NUM_FN = 1,    ///< functions, 1..17
  parameter int DATA_W = 256,  ///< bits of a beat and a row: 128, 256 or 512
  parameter int ADDR_W = 16,   ///< bits of an address of card memory
  parameter int STEPS  = 64,   ///< rows under way at most (db_pcie_cmb_rows)
  parameter int COUNT_W = 8,   ///< bits of counts of written rows
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W)
) (
  input  logic               clk,
  input  logic               rst,
  /// longest completion; 0: 128 bytes .. 5: 4096
  input  logic [2:0]         mps,

  /// always taken: the sender goes by req_room
  input  logic               s_req_valid,
  input  window_req_t        s_req,
  input  logic [7:0]         s_req_fn,
  /// there is room for 2 more; 32 in all
  output logic               req_room,
  /// pulse: a request has been answered
  output logic               m_req_done,
  /// rows to be written, 2 cycles after s_req all of those before it; rows written
  input  logic [COUNT_W-1:0] count_in,
  input  logic [COUNT_W-1:0] count_done,

  output logic               m_row_valid,
  input  logic               m_row_ready,
  output logic [ADDR_W-1:0]  m_row_addr,
  input  logic               s_row_valid,
  input  logic [DATA_W-1:0]  s_row_data,
  input  logic               s_row_err,

  output logic               m_cc_valid,
  input  logic               m_cc_ready,
  output cc_t                m_cc,
  /// no request inside, nothing on CC
  output logic               idle
);
  localparam int ROW_LOG2 = $clog2(DATA_W / 8);

  // ---- when a request may begin
  // Marks are looked at one after the other as soon as they come, however long their requests then wait.
  logic [1:0]         req_q;
  logic               mark_valid, reached, begins;
  logic [COUNT_W-1:0] mark, behind;
  logic [5:0]         may_q;    // requests that may begin
  always_ff @(posedge clk) req_q <= rst ? '0 : {req_q[0], s_req_valid};
  db_fifo #(.WIDTH(COUNT_W), .DEPTH(32)) i_marks (
    .clk, .rst, .s_valid(req_q[1]), .s_ready(), .s_data(count_in), .m_valid(mark_valid), .m_ready(reached),
    .m_data(mark), .level());
  assign behind  = count_done - mark;
  assign reached = mark_valid && !behind[COUNT_W-1];
  always_ff @(posedge clk) begin
    if (reached != begins) may_q <= reached ? may_q + 1'b1 : may_q - 1'b1;
    if (rst) may_q <= '0;
  end

  // ---- whose request it is
  logic [7:0] fn;
  if (NUM_FN == 1) begin : g_one
    logic unused_ok;
    assign unused_ok = &{1'b0, s_req_fn};
    assign fn        = '0;
  end else begin : g_many
    db_fifo #(.WIDTH(8), .DEPTH(32)) i_fn (
      .clk, .rst, .s_valid(s_req_valid), .s_ready(), .s_data(s_req_fn), .m_valid(), .m_ready(m_req_done), .m_data(fn),
      .level());
  end

  logic                     cut_valid, cut_ready, back_valid, back_ready, back_last, back_err, back_take, empty;
  window_cpl_t              cut, cpl;
  logic [ADDR_W-1:ROW_LOG2] cut_row;
  logic [DATA_W-1:0]        back;
  cc_desc_t                 header, out_header;
  logic [255:0]             unsuccessful;
  db_pcie_root_cut #(.DATA_W(DATA_W), .WINDOW_LOG2(ADDR_W)) i_cut (
    .clk, .rst, .cfg_mps(mps), .s_req_valid, .s_req, .req_room, .req_done(m_req_done), .empty, .m_cut_valid(cut_valid),
    .m_cut_ready(cut_ready), .m_cut(cut), .m_cut_row(cut_row));
  db_pcie_cmb_rows #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .STEPS(STEPS)) i_rows (
    .clk, .rst, .s_cut_valid(cut_valid), .s_cut_ready(cut_ready), .s_cut(cut), .s_cut_row(cut_row),
    .may_begin(may_q != '0), .begins, .m_row_valid, .m_row_ready, .m_row_addr, .s_row_valid, .s_row_data, .s_row_err,
    .m_back_valid(back_valid), .m_back_ready(back_ready), .m_back_data(back), .m_back_last(back_last),
    .m_back_err(back_err));
  assign back_take = back_valid && back_ready;
  db_pcie_root_header #(.STEPS(STEPS)) i_header (
    .clk, .rst, .s_req_valid, .s_req, .s_cut_valid(cut_valid && cut_ready), .s_cut(cut), .using(back_take),
    .cpl_done(back_take && back_last), .m_cpl(cpl), .m_header(header), .m_unsuccessful(unsuccessful),
    .req_done(m_req_done));
  always_comb begin
    out_header              = header;
    out_header.poisoned     = back_err && !cpl.bad;
    out_header.completer_fn = fn;
  end
  db_pcie_root_beats #(.DATA_W(DATA_W)) i_beats (
    .clk, .rst, .s_row_valid(back_valid), .s_row_ready(back_ready), .s_row_data(back), .s_row_last(back_last),
    .s_cpl(cpl), .s_header(out_header), .s_unsuccessful(unsuccessful), .m_cc_valid, .m_cc_ready, .m_cc);
  assign idle = empty && !m_cc_valid;
endmodule
