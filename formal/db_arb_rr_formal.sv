// SPDX-License-Identifier: Apache-2.0
// Proof of db_arb_rr: a grant whenever there is a request, to one requester that asks for it; a requester that keeps
// asking is served after at most N-1 grants to others.
module db_arb_rr_formal #(
    parameter int unsigned N = 4
) (
    input logic         clk,
    input logic         rst,
    input logic [N-1:0] req,
    input logic         ack
);
  localparam int unsigned W = $clog2(N) + 2;
  logic gnt_valid;
  logic [N-1:0] gnt;
  logic [$clog2(N)-1:0] gnt_idx;

  db_arb_rr #(.N(N)) dut (.*);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb begin
    if (!started_q) assume (rst);
    if (ack) assume (gnt_valid);
  end

  always_comb if (started_q) begin
    assert (gnt_valid == (req != '0));
    assert ((gnt & ~req) == '0);
    assert ((gnt & (gnt - 1'b1)) == '0);
    if (gnt_valid) assert (gnt == N'(1) << gnt_idx);
  end

  // any one requester
  logic [$clog2(N)-1:0] who_q;
  always_ff @(posedge clk) who_q <= who_q;
  always_comb assume (32'(who_q) < N);

  logic [W-1:0] passed_q;  // grants to others since it began to ask
  always_ff @(posedge clk) begin
    if (rst || !req[who_q] || (ack && gnt[who_q])) passed_q <= '0;
    else if (ack) passed_q <= passed_q + 1'b1;
  end

  // requesters that come before it, seen from the pointer
  logic [W-1:0] pointer, nearer;
  always_comb begin
    pointer = '0;
    for (int i = 0; i < int'(N); i++) if (!dut.after_q[i]) pointer = pointer + 1'b1;
    if (pointer == W'(N)) pointer = '0;
    nearer = (W'(who_q) >= pointer) ? W'(who_q) - pointer : W'(who_q) + W'(N) - pointer;
  end

  always_comb if (started_q && !rst) begin
    assert (passed_q <= W'(N - 1));
    if (passed_q == W'(N - 1) && req[who_q]) assert (gnt[who_q]);
    assert ((~dut.after_q & (dut.after_q << 1)) == '0);  // ones at the top, zeros below
    assert (passed_q + nearer <= W'(N - 1));
  end
endmodule
