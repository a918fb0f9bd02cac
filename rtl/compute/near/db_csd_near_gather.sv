// SPDX-License-Identifier: Apache-2.0
// Makes rows of words.
//
// Latency: 1 cycle from a row's last word. Throughput: a word a cycle, a cycle less a row.
module db_csd_near_gather
  import db_csd_near_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits of a row: 128, 256, 512
  parameter int WORD_W = 128   ///< bits of a word: a power of two, 16..DATA_W
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              s_valid,
  output logic              s_ready,
  input  logic [WORD_W-1:0] s_data,
  input  logic [6:0]        s_bytes,  ///< of the word that count: all of them, but for a last one
  input  logic              s_last,
  output logic              m_valid,
  input  logic              m_ready,
  output logic [DATA_W-1:0] m_data,   ///< 0 in what does not count
  output near_row_t         m_row     ///< phase: 0
);
  localparam int WORDS  = DATA_W / WORD_W;
  localparam int WORD_B = WORD_W / 8;
  localparam int AT_W   = WORDS > 1 ? $clog2(WORDS) : 1;
  if (WORD_W < 16 || WORD_W > DATA_W || WORD_W != 1 << $clog2(WORD_W)) begin : g_bad
    $error("%m: WORD_W must be a power of two, 16..DATA_W (is %0d)", WORD_W);
  end

  logic              first_q, last_q;
  logic [AT_W-1:0]   at_q;
  logic [6:0]        bytes_q;
  logic [DATA_W-1:0] row_q;
  logic [WORD_W-1:0] word;
  always_comb begin
    for (int i = 0; i < WORD_B; i++) word[8*i +: 8] = 7'(i) < s_bytes ? s_data[8*i +: 8] : '0;
  end
  assign s_ready = !m_valid;
  always_ff @(posedge clk) begin
    if (m_valid && m_ready) begin
      m_valid <= 1'b0;
      first_q <= last_q;
    end
    if (s_valid && s_ready) begin
      for (int i = 0; i < WORDS; i++) begin
        if (AT_W'(i) == at_q) row_q[WORD_W*i +: WORD_W] <= word;
        else if (at_q == '0) row_q[WORD_W*i +: WORD_W] <= '0;
      end
      bytes_q <= (at_q == '0 ? '0 : bytes_q) + s_bytes;
      m_valid <= s_last || at_q == AT_W'(WORDS - 1);
      last_q  <= s_last;
      at_q    <= s_last || at_q == AT_W'(WORDS - 1) ? '0 : at_q + 1'b1;
    end
    if (rst) begin
      m_valid <= 1'b0;
      first_q <= 1'b1;
      at_q    <= '0;
    end
  end
  assign m_data = row_q;
  assign m_row  = '{first: first_q, last: last_q, bytes: bytes_q, phase: '0, owner: '0};
endmodule
