// SPDX-License-Identifier: Apache-2.0
// Credits for non-posted requests (pcie_cq_np_req of PG213): the hard block delivers no more of them than this lets it,
// and goes on with posted ones, so that the drive's writes do not wait behind its reads.
//
// A credit is a place in db_pcie_root_tx. It is given with a pulse and free again when the request that used it has been
// answered, or was thrown away. There are never more than CREDITS out, so the hard block's counter, which saturates at
// 32, loses none. Pulses have the value 1: what 2 and 3 add while a request is delivered, PG213 leaves open. Without a
// link the count starts anew: whether the hard block has forgotten its credits or not, it gets enough, and if it then
// has too many, CQ waits (req_room of db_pcie_root_tx).
// Latency: 2 cycles from s_done to the pulse, 1 from s_drop. Throughput: a credit a cycle.
module db_pcie_root_credit #(
  parameter int CREDITS = 28  ///< 4..28, a multiple of 4
) (
  input  logic       clk,
  input  logic       rst,
  input  logic       link_up,
  /// pulse: an answered request has left its place
  input  logic       s_done,
  /// pulse: a request came that takes no place
  input  logic       s_drop,
  /// of the hard block
  output logic [1:0] pcie_cq_np_req
);
  if (!(CREDITS inside {4, 8, 12, 16, 20, 24, 28})) begin : g_bad
    $error("%m: CREDITS must be a multiple of 4 from 4 to 28 (is %0d)", CREDITS);
  end

  logic [4:0] out_q;  // credits that are out, or requests that used them and have their places
  logic       give, give_q, done;

  assign give = out_q[4:2] != 3'(CREDITS / 4) && !s_drop;  // one that was dropped gives its credit again instead
  assign done = s_done && out_q != '0;  // 0: of a request from before the link went

  always_ff @(posedge clk) begin
    give_q <= give || s_drop;
    if (give != done) out_q <= give ? out_q + 5'd1 : out_q - 5'd1;
    if (rst || !link_up) begin
      give_q <= 1'b0;
      out_q  <= '0;
    end
  end

  assign pcie_cq_np_req = {1'b0, give_q};
endmodule
