// SPDX-License-Identifier: Apache-2.0
// Which admin queues have entries to request: with one function a bit, with several a list, so that they take turns.
//
// A queue is in the list at most once, so a list with a place for each never overflows. Latency: 1 cycle.
module db_ssd_sq_admin #(
  parameter int NUM_FN = 1,  ///< functions, 1..17: their admin queues are 0..NUM_FN-1
  parameter int AW     = 6   ///< bits of a queue's number
) (
  input  logic          clk,
  input  logic          rst,
  input  logic          s_listed,    ///< one function: the queue has entries from now on
  input  logic          s_turn,      ///< ... a turn ends
  input  logic          s_more,      ///< ... that leaves some
  input  logic          push,        ///< several: the queue at work goes to the end of the list
  input  logic [AW-1:0] queue,
  input  logic          pop,         ///< ... the next one's turn begins
  output logic          any,
  output logic [AW-1:0] next_queue
);
  if (NUM_FN == 1) begin : g_one
    logic any_q, unused_ok;
    assign unused_ok  = &{1'b0, push, queue, pop};
    assign any        = any_q;
    assign next_queue = '0;
    always_ff @(posedge clk) begin
      if (s_listed) any_q <= 1'b1;
      if (s_turn)   any_q <= s_more;
      if (rst)      any_q <= 1'b0;
    end
  end else begin : g_many
    logic unused_ok;
    assign unused_ok = &{1'b0, s_listed, s_turn, s_more};
    db_fifo #(.WIDTH(AW), .DEPTH(2 ** $clog2(NUM_FN))) i_list (
      .clk, .rst, .s_valid(push), .s_ready(), .s_data(queue), .m_valid(any), .m_ready(pop), .m_data(next_queue),
      .level());
  end
endmodule
