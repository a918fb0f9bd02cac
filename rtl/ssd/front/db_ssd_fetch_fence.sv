// SPDX-License-Identifier: Apache-2.0
// Says when the entries that had been asked for at some time have all been taken by decode.
//
// Requests are answered in order, a packet each: so it counts them.
// Latency: fenced two cycles after the last entry has been taken.
module db_ssd_fetch_fence #(
  parameter int MAX_PKTS = 32  ///< packets under way at most, a power of two
) (
  input  logic clk,
  input  logic rst,
  input  logic offered,        ///< a request waits to be sent
  input  logic asked,          ///< pulse: it is
  input  logic ended,          ///< pulse: the last entry of a packet is taken
  input  logic fence,          ///< pulse
  output logic fenced          ///< from the cycle after fence on: what was offered or asked for before it has ended
);
  localparam int W = $clog2(MAX_PKTS) + 2;
  logic [W-1:0] now_q, left_q;   // packets under way; those of them from before the fence
  logic         ended_q;         // decode's answer comes late in its cycle
  assign fenced = left_q == '0;
  always_ff @(posedge clk) begin
    ended_q <= ended;
    now_q   <= now_q + W'(asked) - W'(ended_q);
    if (fence)                   left_q <= now_q + W'(offered) - W'(ended_q);
    else if (ended_q && !fenced) left_q <= left_q - 1'b1;
    if (rst) begin
      ended_q <= 1'b0;
      now_q   <= '0;
      left_q  <= '0;
    end
  end
endmodule
