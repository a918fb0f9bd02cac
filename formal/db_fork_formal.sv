// SPDX-License-Identifier: Apache-2.0
// Proof of db_fork: every taker that wants a word gets it exactly once, the source may go on when all have it, and what is
// offered stays until it is taken. The source keeps its word and who wants it until it is taken (assumed).
module db_fork_formal #(
    parameter int unsigned N = 2
) (
    input logic         clk,
    input logic         rst,
    input logic         s_valid,
    input logic [N-1:0] s_want,
    input logic [N-1:0] m_ready
);
  logic         s_ready;
  logic [N-1:0] m_valid;

  db_fork #(.N(N)) dut (.*);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  logic [N-1:0] got_q, want_q, offered_q;  // got_q: who has the word that is on offer
  logic         wait_q;
  always_ff @(posedge clk) begin
    got_q     <= (s_valid && s_ready) ? '0 : got_q | (m_valid & m_ready);
    wait_q    <= s_valid && !s_ready && !rst;
    want_q    <= s_want;
    offered_q <= m_valid & ~m_ready;
    if (rst) got_q <= '0;
  end

  always_comb if (started_q && wait_q) assume (s_valid && s_want == want_q);
  always_comb if (started_q && !rst) begin
    assert (m_valid == (s_want & ~got_q & {N{s_valid}}));
    if (s_valid) assert (s_ready == ((s_want & ~got_q & ~m_ready) == '0));
    if (wait_q) assert ((m_valid & offered_q) == offered_q);
    // how the registers hang together
    assert ((got_q & ~s_want) == '0 || !wait_q);
    if (wait_q) assert ((dut.given_q & s_want) == got_q);
    else        assert (dut.given_q == '0 && got_q == '0);
  end
endmodule
