// SPDX-License-Identifier: Apache-2.0
// Proof of db_skid: words come out in order, none lost, doubled or changed; a word that is offered stays until taken;
// room for two. One word, any one, is followed (mark).
module db_skid_formal #(
    parameter int unsigned WIDTH = 2
) (
    input logic             clk,
    input logic             rst,
    input logic             s_valid,
    input logic [WIDTH-1:0] s_data,
    input logic             m_ready,
    input logic             mark
);
  logic s_ready, m_valid;
  logic [WIDTH-1:0] m_data;

  db_skid #(.WIDTH(WIDTH)) dut (.*);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  logic push, pop;
  assign push = s_valid && s_ready;
  assign pop  = m_valid && m_ready;

  logic [1:0]       count_q;
  logic             inside_q, ahead_q, wait_q;
  logic [WIDTH-1:0] value_q, last_data_q;
  always_ff @(posedge clk) begin
    count_q <= count_q + 2'(push) - 2'(pop);
    if (inside_q && pop) begin
      ahead_q <= 1'b0;
      if (!ahead_q) inside_q <= 1'b0;
    end
    if (!inside_q && push && mark) begin
      inside_q <= 1'b1;
      ahead_q  <= count_q != 2'(pop);
      value_q  <= s_data;
    end
    wait_q      <= m_valid && !m_ready && !rst;
    last_data_q <= m_data;
    if (rst) begin
      count_q  <= '0;
      inside_q <= 1'b0;
    end
  end

  always_comb if (started_q && !rst) begin
    assert (count_q <= 2'd2);
    assert (m_valid == (count_q != '0));
    assert (s_ready == (count_q != 2'd2));
    if (wait_q) assert (m_valid && m_data == last_data_q);
    if (inside_q) begin
      assert (2'(ahead_q) < count_q);
      assert ((ahead_q ? dut.spare_q : m_data) == value_q);
    end
  end
endmodule
