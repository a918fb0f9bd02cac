// SPDX-License-Identifier: Apache-2.0
// Rows of card memory for completions, a row for each step of them (db_pcie_root_steps). As db_pcie_root_rows, but rows take
// the time they take, and a completion leaves when all of it has come: so none holds CC or RC while memory is slow, and its
// header can say that a row was bad.
//
// Latency: 2 cycles from s_cut to m_row, 2 from a completion's last row to m_back. Throughput: a row a cycle. m_row is a
// register.
module db_pcie_cmb_rows
  import db_pcie_block_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits of a row: 128, 256 or 512
  parameter int ADDR_W = 16,   ///< bits of an address of card memory
  parameter int STEPS  = 64,   ///< under way at most, a power of two: the rows of a completion, and two
  localparam int ROW_LOG2 = $clog2(DATA_W / 8)
) (
  input  logic                     clk,
  input  logic                     rst,

  input  logic                     s_cut_valid,
  output logic                     s_cut_ready,
  input  window_cpl_t              s_cut,
  input  logic [ADDR_W-1:ROW_LOG2] s_cut_row,
  /// the next request may begin: all that was written before it is in memory; pulse: it does
  input  logic                     may_begin,
  output logic                     begins,

  output logic                     m_row_valid,
  input  logic                     m_row_ready,
  output logic [ADDR_W-1:0]        m_row_addr,
  /// in the order of m_row
  input  logic                     s_row_valid,
  input  logic [DATA_W-1:0]        s_row_data,
  input  logic                     s_row_err,

  output logic                     m_back_valid,
  input  logic                     m_back_ready,
  output logic [DATA_W-1:0]        m_back_data,
  output logic                     m_back_last,  ///< of the completion
  output logic                     m_back_err    ///< a row of the completion is bad
);

  // ---- steps
  logic                     want, ask_ready, step, step_last, pop;
  logic [ADDR_W-1:ROW_LOG2] step_row, ask_row;
  db_pcie_root_steps #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .STEPS(STEPS)) i_steps (
    .clk, .rst, .s_cut_valid, .s_cut_ready, .s_cut, .s_cut_row, .may_begin, .m_step_valid(want),
    .m_step_ready(ask_ready), .m_step_row(step_row), .m_step_last(step_last), .row_done(pop));
  db_skid #(.WIDTH(ADDR_W - ROW_LOG2)) i_ask (
    .clk, .rst, .s_valid(want), .s_ready(ask_ready), .s_data(step_row), .m_valid(m_row_valid), .m_ready(m_row_ready),
    .m_data(ask_row));
  assign step       = want && ask_ready;
  assign begins     = s_cut_valid && s_cut_ready && s_cut.first;
  assign m_row_addr = {ask_row, ROW_LOG2'(0)};

  // ---- rows that come back, and which of them are a completion's last
  logic row_last, row_err, err_q, back_valid;
  db_fifo #(.WIDTH(1), .DEPTH(STEPS)) i_ends (
    .clk, .rst, .s_valid(step), .s_ready(), .s_data(step_last), .m_valid(), .m_ready(s_row_valid), .m_data(row_last),
    .level());
  db_fifo #(.WIDTH(DATA_W + 1), .DEPTH(STEPS)) i_back (
    .clk, .rst, .s_valid(s_row_valid), .s_ready(), .s_data({row_last, s_row_data}), .m_valid(back_valid),
    .m_ready(m_back_ready && m_back_valid), .m_data({m_back_last, m_back_data}), .level());
  // A word for each completion that is here as a whole.
  logic whole;
  assign row_err = err_q || s_row_err;
  db_fifo #(.WIDTH(1), .DEPTH(STEPS)) i_whole (
    .clk, .rst, .s_valid(s_row_valid && row_last), .s_ready(), .s_data(row_err), .m_valid(whole),
    .m_ready(pop && m_back_last), .m_data(m_back_err), .level());
  assign m_back_valid = back_valid && whole;
  assign pop          = m_back_valid && m_back_ready;
  always_ff @(posedge clk) begin
    if (s_row_valid) err_q <= row_err && !row_last;
    if (rst) err_q <= 1'b0;
  end
endmodule
