// SPDX-License-Identifier: Apache-2.0
// Completions to steps: each is a run of them, one a cycle, and each step asks for the next row. As many are under way as
// there are places for rows (STEPS), so none is ever lost.
//
// A payload that begins beyond the first lanes of a row (at dword HEAD_DW + 1 and more of it; at 128 bits in no case) takes
// one step more, as db_pcie_root_beats makes no beat of its first row.
// Latency: 1 cycle. Throughput: a step a cycle.
module db_pcie_root_steps
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int DATA_W  = 128,    ///< bits of a row: 128, 256 or 512
  parameter int ADDR_W  = 26,     ///< bits of an address
  parameter int STEPS   = 16,     ///< under way at most, a power of two
  parameter int HEAD_DW = CC_DW,  ///< dwords of a beat before the payload: CC_DW or 0
  localparam int ROW_LOG2 = $clog2(DATA_W / 8)
) (
  input  logic                     clk,
  input  logic                     rst,

  input  logic                     s_cut_valid,
  output logic                     s_cut_ready,
  input  window_cpl_t              s_cut,
  input  logic [ADDR_W-1:ROW_LOG2] s_cut_row,
  /// a request's first completion may begin
  input  logic                     may_begin,

  output logic                     m_step_valid,
  input  logic                     m_step_ready,
  output logic [ADDR_W-1:ROW_LOG2] m_step_row,
  output logic                     m_step_last,
  /// pulse: the row of a step has left its place
  input  logic                     row_done
);
  localparam int N      = DATA_W / 32;
  localparam int LANE_W = $clog2(N);
  localparam int STEP_W = $clog2(STEPS);
  localparam int UR_DW  = 8;  // dwords of an unsuccessful completion

  logic                     act_q, ahead, step, take;
  logic [ADDR_W-1:ROW_LOG2] row_q;
  logic [8:0]               left_q;   // steps after this one
  logic [STEP_W:0]          under_q;  // steps under way

  assign ahead        = N > 4 && s_cut.addr[LANE_W-1:0] >= LANE_W'(HEAD_DW + 1) && !s_cut.bad;
  assign m_step_valid = act_q && !under_q[STEP_W];
  assign step         = m_step_valid && m_step_ready;
  assign m_step_last  = left_q == '0;
  assign m_step_row   = row_q;
  assign s_cut_ready  = (!act_q || (step && m_step_last)) && (!s_cut.first || may_begin);
  assign take         = s_cut_valid && s_cut_ready;

  always_ff @(posedge clk) begin
    if (step) begin
      row_q[11:ROW_LOG2] <= row_q[11:ROW_LOG2] + 1'b1;
      left_q             <= left_q - 1'b1;
      if (m_step_last) act_q <= 1'b0;
    end
    if (take) begin
      act_q  <= 1'b1;
      row_q  <= s_cut_row;
      left_q <= s_cut.bad ? 9'(UR_DW / N > 1 ? 1 : 0)
                          : 9'((11'(s_cut.size) + (ahead ? 11'(HEAD_DW + N) : 11'(HEAD_DW))) >> LANE_W);
    end
    if (step != row_done) under_q <= step ? under_q + 1'b1 : under_q - 1'b1;
    if (rst) begin
      act_q   <= 1'b0;
      under_q <= '0;
    end
  end
endmodule
