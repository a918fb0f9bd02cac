// SPDX-License-Identifier: Apache-2.0
// Stand-in for db_fifo, which has a proof of its own: two words whose places are fixed, so that a harness can count what
// is inside. Order, valid and ready are those of db_fifo.
module db_fifo #(
  parameter int unsigned WIDTH = 8,
  parameter int unsigned DEPTH = 16,
  parameter bit AROUND = 1'b1
) (
  input  logic                 clk,
  input  logic                 rst,
  input  logic                 s_valid,
  output logic                 s_ready,
  input  logic [WIDTH-1:0]     s_data,
  output logic                 m_valid,
  input  logic                 m_ready,
  output logic [WIDTH-1:0]     m_data,
  output logic [$clog2(DEPTH):0] level
);
  logic [1:0]            count_q;
  logic [1:0][WIDTH-1:0] word_q;      // [0] is the first
  logic                  push, pop;
  assign s_ready = !count_q[1];
  assign m_valid = count_q != '0;
  assign m_data  = word_q[0];
  assign level   = ($clog2(DEPTH) + 1)'(count_q);
  assign push    = s_valid && s_ready;
  assign pop     = m_valid && m_ready;
  always_ff @(posedge clk) begin
    count_q <= count_q + 2'(push) - 2'(pop);
    if (pop) word_q[0] <= word_q[1];
    if (push) word_q[count_q[0] && !pop] <= s_data;
    if (rst) count_q <= '0;
  end
endmodule
