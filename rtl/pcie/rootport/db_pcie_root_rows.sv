// SPDX-License-Identifier: Apache-2.0
// Rows for completions: each completion is a run of steps, one a cycle, and each step asks for the next row.
//
// ROW_LATENCY cycles later the row comes back into a small memory: as many steps are under way as it has places, so
// nothing is ever lost. A payload that begins in the upper part of a row (dword 4 and more of it; 256 and 512 bits only)
// takes one step more, as db_pcie_root_beats makes no beat of its first row.
// Latency: 1 cycle from s_cut to m_row, ROW_LATENCY + 1 from m_row to m_back. Throughput: a row a cycle. m_row comes from
// registers through one gate.
module db_pcie_root_rows
  import db_pcie_pkg::*;
#(
  parameter int DATA_W      = 128,  ///< bits of a row: 128, 256 or 512
  parameter int WINDOW_LOG2 = 26,   ///< log2 of the window's bytes
  parameter int ROW_LATENCY = 4,    ///< cycles from m_row_valid to s_row_data, at least 2
  parameter int STEPS       = 16,   ///< under way at most, a power of two
  localparam int ROW_LOG2 = $clog2(DATA_W / 8)
) (
  input  logic                          clk,
  input  logic                          rst,

  input  logic                          s_cut_valid,
  output logic                          s_cut_ready,
  input  window_cpl_t                   s_cut,
  input  logic [WINDOW_LOG2-1:ROW_LOG2] s_cut_row,

  output logic                          m_row_valid,
  output logic [WINDOW_LOG2-1:0]        m_row_addr,
  /// ROW_LATENCY cycles after m_row_valid
  input  logic [DATA_W-1:0]             s_row_data,

  output logic                          m_back_valid,
  input  logic                          m_back_ready,
  output logic [DATA_W-1:0]             m_back_data,
  /// of the completion
  output logic                          m_back_last
);
  localparam int N      = DATA_W / 32;
  localparam int LANE_W = $clog2(N);
  localparam int STEP_W = $clog2(STEPS);
  localparam int UR_DW  = 8;  // dwords of an unsuccessful completion

  // ---- steps
  logic                          act_q;
  logic [WINDOW_LOG2-1:ROW_LOG2] row_q;
  logic [8:0]                    left_q;    // steps after this one
  logic [STEP_W:0]               under_q;   // steps under way
  logic [ROW_LATENCY-1:0]        way_q, way_last_q;
  logic                          pop, ahead, step, step_last, take;

  assign ahead       = N > 4 && s_cut.addr[LANE_W-1:0] >= LANE_W'(4) && !s_cut.bad;
  assign step        = act_q && !under_q[STEP_W];
  assign step_last   = left_q == '0;
  assign s_cut_ready = !act_q || (step && step_last);
  assign take        = s_cut_valid && s_cut_ready;

  always_ff @(posedge clk) begin
    if (step) begin
      row_q[11:ROW_LOG2] <= row_q[11:ROW_LOG2] + 1'b1;
      left_q             <= left_q - 1'b1;
      if (step_last) act_q <= 1'b0;
    end
    if (take) begin
      act_q  <= 1'b1;
      row_q  <= s_cut_row;
      left_q <= s_cut.bad ? 9'(UR_DW / N > 1 ? 1 : 0)
                          : 9'((11'(s_cut.size) + (ahead ? 11'(CC_DW + N) : 11'(CC_DW))) >> LANE_W);
    end
    way_q      <= {way_q[ROW_LATENCY-2:0], step};
    way_last_q <= {way_last_q[ROW_LATENCY-2:0], step_last};
    if (step != pop) under_q <= step ? under_q + 1'b1 : under_q - 1'b1;
    if (rst) begin
      act_q   <= 1'b0;
      way_q   <= '0;
      under_q <= '0;
    end
  end

  assign m_row_valid = step;
  assign m_row_addr  = {row_q, ROW_LOG2'(0)};

  // ---- rows that came back
  logic [DATA_W:0] back_mem_q[2*STEPS];  // twice the places, so that the pointers tell full from empty
  logic [STEP_W:0] back_in_q, back_at_q;

  assign {m_back_last, m_back_data} = back_mem_q[back_at_q];
  assign m_back_valid               = back_in_q != back_at_q;
  assign pop                        = m_back_valid && m_back_ready;

  always_ff @(posedge clk) begin
    if (way_q[ROW_LATENCY-1]) begin
      back_mem_q[back_in_q] <= {way_last_q[ROW_LATENCY-1], s_row_data};
      back_in_q             <= back_in_q + 1'b1;
    end
    if (pop) back_at_q <= back_at_q + 1'b1;
    if (rst) begin
      back_in_q <= '0;
      back_at_q <= '0;
    end
  end
endmodule
