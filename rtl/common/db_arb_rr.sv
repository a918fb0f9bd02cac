// SPDX-License-Identifier: Apache-2.0
// Round-robin arbiter.
//
// The grant is combinational from req and a registered pointer: the first requester at or after the pointer wins.
// With ack the pointer moves past the winner, so a requester that stays is granted after at most N-1 other acks.
// Without ack nothing changes; the grant may move if a requester nearer to the pointer appears.
module db_arb_rr #(
  parameter int unsigned N = 4  ///< requesters, at least 1
) (
  input  logic                              clk,
  input  logic                              rst,
  input  logic [N-1:0]                      req,
  input  logic                              ack,        ///< the grant is used in this cycle; only with gnt_valid
  output logic                              gnt_valid,
  output logic [N-1:0]                      gnt,        ///< one hot, or zero without a request
  output logic [(N > 1 ? $clog2(N) : 1)-1:0] gnt_idx
);
  if (N < 1) begin : g_bad
    $error("%m: N must be at least 1");
  end
  localparam int unsigned IDX_W = N > 1 ? $clog2(N) : 1;

  logic [N-1:0] after_q;  // requesters at or after the pointer
  logic [N-1:0] near, pick_near, pick_any, upto;

  assign near      = req & after_q;
  assign pick_near = near & (~near + 1'b1);
  assign pick_any  = req & (~req + 1'b1);
  assign gnt_valid = |req;
  assign gnt       = (near != '0) ? pick_near : pick_any;
  assign upto      = gnt | (gnt - 1'b1);  // the winner and all below it

  always_comb begin
    gnt_idx = '0;
    for (int i = 0; i < int'(N); i++) if (gnt[i]) gnt_idx |= IDX_W'(i);
  end

  always_ff @(posedge clk) begin
    if (rst) after_q <= '1;
    else if (ack && gnt_valid) after_q <= ~upto;
  end
endmodule
