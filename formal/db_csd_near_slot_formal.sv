// SPDX-License-Identifier: Apache-2.0
// Proof of db_csd_near_slot: one whose operator is being exchanged, or that has none, drives nothing, and gives and takes
// nothing; and one with an operator has that one's outputs and no other's.
//
// Operators are any: what they give, and when, is free, in reset, too (db_csd_near_slot_stubs.sv). Assumed is what
// db_csd_near_exchange gives: what is in a slot changes to nothing, or from it. What a slot gave last may wait in its
// register for one more cycle; that nothing waits when it is exchanged shows the proof of db_csd_near_rename.
module db_csd_near_slot_formal
  import db_csd_near_pkg::*;
#(
  parameter bit COVER = 1'b0,          // only that it can happen
  localparam int DATA_W = 16,
  localparam int WORD_W = $bits(near_word_t),
  localparam int ROW_W  = DATA_W + $bits(near_row_t)
) (
  input logic                   clk,
  input logic                   rst,
  input logic                   in_use,
  input logic [3:0]             operator,
  input logic                   s_param_valid,
  input near_param_t            s_param,
  input logic                   s_row_valid,
  input logic [DATA_W-1:0]      s_row_data,
  input near_row_t              s_row,
  input logic                   m_word_ready,
  input logic                   m_row_ready
);
  logic              s_row_ready, m_word_valid, m_row_valid;
  near_word_t        m_word;
  logic [DATA_W-1:0] m_row_data;
  near_row_t         m_row;
  db_csd_near_slot #(.DATA_W(DATA_W), .CELLS(1), .OPERATOR(NEAR_EXCHANGED)) dut (.*);

  logic       started_q, rst_q;
  logic [3:0] operator_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) begin
    started_q  <= 1'b1;
    rst_q      <= rst;
    operator_q <= operator;
  end
  always_comb begin
    if (!started_q) assume (rst);
    assume (operator == NEAR_NONE || NEAR_IN_SLOTS[operator]);
    if (started_q && operator != operator_q) assume (operator == NEAR_NONE || operator_q == NEAR_NONE);
  end

  localparam logic [3:0][3:0] KINDS = {NEAR_FILTER, NEAR_CSV, NEAR_AGGREGATE, NEAR_GREP};
  logic gives_rows;
  assign gives_rows = operator == NEAR_GREP || operator == NEAR_FILTER;
  always_comb if (started_q && !COVER) begin
    if (operator == NEAR_NONE) begin
      assert (!s_row_ready && !m_word_valid && m_word == '0);
      if (operator_q == NEAR_NONE) assert (!m_row_valid);
    end else begin
      // of the operators one alone sees rows and words of a program, and is not in reset
      for (int k = 0; k < 4; k++) begin
        assert (dut.off[k] == (rst || operator != KINDS[k]));
        assert (dut.row_valid[k] == (s_row_valid && operator == KINDS[k]));
        assert (dut.param_valid[k] == (s_param_valid && operator == KINDS[k]));
        if (operator == KINDS[k]) begin
          assert (s_row_ready == dut.row_ready[k] && m_word_valid == dut.word_valid[k] && m_word == dut.word[k]);
        end
      end
    end
    // rows are those of the operator that is there; of others come none
    if (operator == NEAR_GREP || operator == NEAR_FILTER) begin
      assert (dut.g_rows.i_whole.s_valid == dut.gives_valid[operator == NEAR_FILTER]);
      assert (dut.g_rows.i_whole.s_data == dut.gives_data[operator == NEAR_FILTER]);
      assert (dut.g_rows.i_whole.s_row == dut.gives[operator == NEAR_FILTER]);
    end
    if (!gives_rows && operator == operator_q) assert (!m_row_valid);
  end

  // ---- how it comes about
  always_comb if (started_q && !COVER) begin
    if (operator_q == NEAR_NONE || (operator_q != NEAR_GREP && operator_q != NEAR_FILTER)) begin
      assert (!dut.g_rows.i_whole.held_q);
    end
  end
  always_comb if (COVER) cover (started_q && !rst_q && m_row_valid && operator == NEAR_FILTER && m_row.last);
endmodule
