// SPDX-License-Identifier: Apache-2.0
// Whose turn it is: a ready list for each class of submission queues (urgent, high, medium, low), and the credit of the
// weighted classes (Base 2.0, 3.4.4.2).
//
// The first list that may be served comes first: urgent always, the others while their class has credit; when no class
// that has queues has credit left, all get their weight anew. Without weights only the list "high" is in use.
// A queue is in one list at most, so a list with a place for each never overflows.
// Latency: a queue that is put into an empty list is next 1 cycle later.
module db_ssd_sq_arb
  import db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int  NUM_Q = 33,         ///< submission queues, the admin queue's included
  localparam int AW    = $clog2(NUM_Q)
) (
  input  logic          clk,
  input  logic          rst,
  input  arb_cfg_t      arb_cfg,
  input  sq_state_e     state,
  input  logic          push,        ///< the queue at work goes to the end of its list
  input  logic          pop,         ///< next_queue leaves its list: its turn begins
  input  logic [1:0]    list,        ///< that of the queue at work
  input  logic [AW-1:0] queue,       ///< the queue at work
  output logic          any,         ///< there is a queue to serve
  output logic          empty,       ///< no queue is in a list
  output logic [AW-1:0] next_queue,
  input  logic          spend,       ///< ST_GO: the entries cost credit
  input  logic [6:0]    count,       ///< ... so many
  output logic [8:0]    class_credit ///< of the queue at work, if it is not urgent
);
  localparam int LIST = 2 ** $clog2(NUM_Q + 1);

  // ---- ready lists
  logic [3:0]      list_push, list_pop, list_valid;
  logic [4*AW-1:0] list_head;
  for (genvar i = 0; i < 4; i++) begin : g_list
    db_fifo #(.WIDTH(AW), .DEPTH(LIST)) i_list (
      .clk, .rst, .s_valid(list_push[i]), .s_ready(), .s_data(queue),
      .m_valid(list_valid[i]), .m_ready(list_pop[i]), .m_data(list_head[i*AW +: AW]), .level());
  end

  // ---- who is next
  logic [8:0] credit_q [3];                 // high, medium, low
  logic [3:0] may;
  logic [1:0] pick;
  logic       reload;
  always_comb begin
    may[0] = list_valid[0];
    for (int i = 0; i < 3; i++) may[i+1] = list_valid[i+1] && (!arb_cfg.wrr || credit_q[i] != 9'd0);
    reload = list_valid[3:1] != 3'd0 && may[3:1] == 3'd0;
    any    = may != 4'd0;
    pick   = may[0] ? 2'd0 : may[1] ? 2'd1 : may[2] ? 2'd2 : 2'd3;
  end
  assign empty      = list_valid == 4'd0;
  assign next_queue = list_head[pick*AW +: AW];
  always_comb begin
    list_push = 4'd0;
    list_pop  = 4'd0;
    if (push) list_push[list] = 1'b1;
    if (pop)  list_pop[pick]  = 1'b1;
  end

  // ---- credit
  assign class_credit = credit_q[list - 2'd1];
  always_ff @(posedge clk) begin
    if (reload && state == ST_IDLE) begin
      credit_q[0] <= 9'(arb_cfg.weight_high) + 9'd1;
      credit_q[1] <= 9'(arb_cfg.weight_medium) + 9'd1;
      credit_q[2] <= 9'(arb_cfg.weight_low) + 9'd1;
    end else if (state == ST_GO && spend && list != 2'd0) begin
      credit_q[list - 2'd1] <= credit_q[list - 2'd1] - 9'(count);
    end
    if (rst) for (int i = 0; i < 3; i++) credit_q[i] <= 9'd0;
  end

endmodule
