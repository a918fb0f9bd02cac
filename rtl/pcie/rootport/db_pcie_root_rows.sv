// SPDX-License-Identifier: Apache-2.0
// Rows for completions: each step of a completion (db_pcie_root_steps) asks for a row, and ROW_LATENCY cycles later the row
// comes back into a small memory.
//
// Latency: 1 cycle from s_cut to m_row, ROW_LATENCY + 1 from m_row to m_back. Throughput: a row a cycle. m_row comes from
// registers through one gate.
module db_pcie_root_rows
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int DATA_W      = 128,  ///< bits of a row: 128, 256 or 512
  parameter int WINDOW_LOG2 = 26,   ///< log2 of the window's bytes
  parameter int ROW_LATENCY = 4,    ///< cycles from m_row_valid to s_row_data, at least 2
  parameter int STEPS       = 16,   ///< under way at most, a power of two
  parameter int HEAD_DW     = CC_DW,  ///< dwords of a beat before the payload (db_pcie_root_steps)
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
  localparam int STEP_W = $clog2(STEPS);

  // ---- steps
  logic                          step, step_last, pop;
  logic [WINDOW_LOG2-1:ROW_LOG2] step_row;
  logic [ROW_LATENCY-1:0]        way_q, way_last_q;
  db_pcie_root_steps #(.DATA_W(DATA_W), .ADDR_W(WINDOW_LOG2), .STEPS(STEPS), .HEAD_DW(HEAD_DW)) i_steps (
    .clk, .rst, .s_cut_valid, .s_cut_ready, .s_cut, .s_cut_row, .may_begin(1'b1), .m_step_valid(step),
    .m_step_ready(1'b1), .m_step_row(step_row), .m_step_last(step_last), .row_done(pop));
  always_ff @(posedge clk) begin
    way_q      <= {way_q[ROW_LATENCY-2:0], step};
    way_last_q <= {way_last_q[ROW_LATENCY-2:0], step_last};
    if (rst) way_q <= '0;
  end

  assign m_row_valid = step;
  assign m_row_addr  = {step_row, ROW_LOG2'(0)};

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
