// SPDX-License-Identifier: Apache-2.0
// Proof of db_fifo: words come out in the order in which they went in, none is lost, doubled or changed, level counts
// them. One word, any one, is followed through the FIFO (mark); as it is any word, this holds for all.
module db_fifo_formal #(
    parameter int unsigned WIDTH = 2,
    parameter int unsigned DEPTH = 4,
    parameter bit AROUND = 1'b1
) (
    input logic             clk,
    input logic             rst,
    input logic             s_valid,
    input logic [WIDTH-1:0] s_data,
    input logic             m_ready,
    input logic             mark      // the word that goes in now is the one to follow
);
  localparam int unsigned AW = $clog2(DEPTH);
  localparam logic [AW:0] ONE = 1;

  logic s_ready, m_valid;
  logic [WIDTH-1:0] m_data;
  logic [AW:0] level;

  db_fifo #(.WIDTH(WIDTH), .DEPTH(DEPTH), .AROUND(AROUND)) dut (.*);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  logic push, pop;
  assign push = s_valid && s_ready;
  assign pop  = m_valid && m_ready;

  // the word followed: how many are ahead of it, and its value
  logic             inside_q;
  logic [AW:0]      ahead_q, count_q;
  logic [WIDTH-1:0] value_q;
  always_ff @(posedge clk) begin
    count_q <= count_q + (AW + 1)'(push) - (AW + 1)'(pop);
    if (inside_q && pop) begin
      ahead_q <= ahead_q - ONE;
      if (ahead_q == '0) inside_q <= 1'b0;
    end
    if (!inside_q && push && mark) begin
      inside_q <= 1'b1;
      ahead_q  <= count_q - (AW + 1)'(pop);
      value_q  <= s_data;
    end
    if (rst) begin
      inside_q <= 1'b0;
      count_q  <= '0;
    end
  end

  // where it must be: output register, the word behind it, or RAM
  logic behind;
  logic [AW-1:0] at;
  logic [WIDTH-1:0] stored, prefetched;
  logic [AW:0] front;
  if (DEPTH > 64) begin : g_block
    assign behind     = dut.g_bram.behind_q;
    assign prefetched = dut.g_bram.i_ram.rdata_q;
    assign stored     = dut.g_bram.i_ram.mem_q[at];
  end else begin : g_dist
    assign behind     = 1'b0;
    assign prefetched = '0;
    assign stored     = dut.g_lutram.mem_q[at];
  end
  assign front = (AW + 1)'(m_valid) + (AW + 1)'(behind);
  assign at    = dut.rptr_q + AW'(ahead_q - front);

  always_comb begin
    if (started_q && !rst) begin
      // what a user relies on
      assert (level == count_q);
      assert (level <= (AW + 1)'(DEPTH));
      assert (s_ready == (level != (AW + 1)'(DEPTH)));
      if (inside_q && ahead_q == '0 && m_valid) assert (m_data == value_q);
      if (level == '0) assert (!m_valid);
      // how it comes about
      assert (dut.stored == (level != front));
      assert (dut.wptr_q - dut.rptr_q == AW'(level - front));
      assert (level >= front);
      if (AROUND && DEPTH <= 64 && level != '0) assert (m_valid);
      if (inside_q) begin
        assert (ahead_q < level);
        if (ahead_q >= front) assert (stored == value_q);
        else if (!(m_valid && ahead_q == '0)) assert (prefetched == value_q);
      end
    end
  end

  // a word that is offered stays until it is taken
  logic             wait_q;
  logic [WIDTH-1:0] last_data_q;
  always_ff @(posedge clk) begin
    wait_q      <= m_valid && !m_ready && !rst;
    last_data_q <= m_data;
  end
  always_comb if (started_q && !rst && wait_q) assert (m_valid && m_data == last_data_q);

  // a word never waits for ever behind an empty output register
  logic [1:0] empty_q;
  always_ff @(posedge clk) begin
    if (rst || m_valid || level == '0) empty_q <= '0;
    else empty_q <= empty_q + 1'b1;
  end
  always_comb if (started_q && !rst) begin
    assert (empty_q <= 2'd2);
    if (AROUND) begin
      if (empty_q == 2'd2) assert (behind);
      if (empty_q == 2'd1 && !m_valid && level != '0) assert (behind || dut.stored);
    end else begin
      if (empty_q == 2'd1) assert (m_valid || behind);
      if (empty_q == 2'd2) assert (m_valid);
    end
  end
endmodule
