// SPDX-License-Identifier: Apache-2.0
// Rows of an operator such that one without a byte is the only one of its packet: behind others it is left out, and the one
// before it is the last.
//
// Latency: until the next row is there; of a last row 1 cycle. Throughput: a row a cycle.
module db_csd_near_whole
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256  ///< bits: 128, 256, 512
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_valid,
  output logic              s_ready,
  input  logic [DATA_W-1:0] s_data,
  input  near_row_t         s_row,
  output logic              m_valid,
  input  logic              m_ready,
  output logic [DATA_W-1:0] m_data,
  output near_row_t         m_row
);
  logic      held_q, ends;  // ends: what comes has no byte, so what is held is the last
  near_row_t row_q;
  assign ends    = s_valid && s_row.last && s_row.bytes == '0 && !row_q.last;
  assign m_valid = held_q && (row_q.last || s_valid);
  assign s_ready = !held_q || (m_valid && m_ready);
  always_comb begin
    m_row      = row_q;
    m_row.last = row_q.last || ends;
  end
  always_ff @(posedge clk) begin
    if (s_ready) begin
      held_q <= s_valid && !(held_q && ends);
      row_q  <= s_row;
      m_data <= s_data;
    end
    if (rst) held_q <= 1'b0;
  end
endmodule
