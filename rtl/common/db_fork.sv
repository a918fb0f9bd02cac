// SPDX-License-Identifier: Apache-2.0
// Gives each word of a stream to several takers, each when it is ready: none waits for another.
//
// A taker that does not want a word is passed by. The word itself is not in here: it stays at the source until all have
// it, and all look at it there.
// Latency: 0. Throughput: one word a cycle. `m_valid` does not depend on `m_ready`.
module db_fork #(
  parameter int unsigned N = 2  ///< takers, at least 1
) (
  input  logic         clk,
  input  logic         rst,

  input  logic         s_valid,
  output logic         s_ready,
  input  logic [N-1:0] s_want,   ///< the takers that get this word; stable while it is on offer
  output logic [N-1:0] m_valid,
  input  logic [N-1:0] m_ready
);
  if (N < 1) begin : g_bad
    $error("%m: N must be at least 1");
  end

  logic [N-1:0] given_q, done;  // given_q: who has the word already

  assign done    = given_q | ~s_want | m_ready;
  assign s_ready = &done;
  assign m_valid = {N{s_valid}} & s_want & ~given_q;

  always_ff @(posedge clk) begin
    if (rst) given_q <= '0;
    else     given_q <= {N{s_valid && !s_ready}} & done;
  end
endmodule
