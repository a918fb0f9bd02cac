// SPDX-License-Identifier: Apache-2.0
// Whose turn it is: two ready lists for each class of submission queues (urgent, high, medium, low), and the credit of
// the weighted classes (Base 2.0, 3.4.4.2).
//
// Every queue with entries that has not its largest share of slots is in the second list ("shared"), which is served
// while a slot is free that all share. When none is, the first list ("own") is served, where those are that are below
// their guaranteed share. A queue that was served from one list may still be in the other: its turn takes nothing then.
// The first class that may be served comes first: urgent always, the others while they have credit; when no class that
// could be served has credit left, all get their weight anew. Without weights only the class "high" is in use.
// A queue is in a list at most once, so a list with a place for each never overflows.
// Latency: a queue that is put into an empty list is next 1 cycle later, 2 with more than 64 I/O
// queues.
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
  input  logic          shared_free, ///< the shared lists are served, else the own lists
  input  logic          push_own,    ///< the queue at work goes to the end of its class's list
  input  logic          push_shared,
  input  logic          go,          ///< next_queue leaves its list, if there is any: its turn begins
  input  logic [1:0]    list,        ///< class of the queue at work
  input  logic [AW-1:0] queue,       ///< the queue at work
  output logic          any,         ///< there is a queue to serve
  output logic          some,        ///< a queue is in a list that is served now
  output logic          pushing,     ///< a queue is on its way into its list: begin no turn, it may be urgent
  output logic [AW-1:0] next_queue,
  input  logic          spend,       ///< ST_GO: the entries cost credit
  input  logic [6:0]    count,       ///< ... so many
  output logic [8:0]    class_credit ///< of the queue at work, if it is not urgent
);
  localparam int LIST = NUM_Q > 2 ? 2 ** $clog2(NUM_Q - 1) : 2;   // admin queues are in none

  // ---- ready lists: [0] own, [1] shared
  logic [1:0][3:0]         list_push, push, list_pop, pop_now, list_valid;
  logic [AW-1:0]           push_queue;
  logic [1:0][3:0][AW-1:0] list_head;
  for (genvar k = 0; k < 2; k++) begin : g_kind
    for (genvar i = 0; i < 4; i++) begin : g_list
      db_fifo #(.WIDTH(AW), .DEPTH(LIST)) i_list (
        .clk, .rst, .s_valid(push[k][i]), .s_ready(), .s_data(push_queue),
        .m_valid(list_valid[k][i]), .m_ready(pop_now[k][i]), .m_data(list_head[k][i]), .level());
    end
  end

  // Lists in block RAM change a cycle later. The next turn is more than a cycle away from one that begins.
  if (LIST > 64) begin : g_later
    always_ff @(posedge clk) begin
      push       <= rst ? '0 : list_push;
      pop_now    <= rst ? '0 : list_pop;
      pushing    <= (push_own || push_shared) && !rst;
      push_queue <= queue;
    end
  end else begin : g_now
    assign push       = list_push;
    assign pop_now    = list_pop;
    assign pushing    = 1'b0;
    assign push_queue = queue;
  end

  // ---- who is next
  logic [8:0] credit_q [3], credit_d [3];   // high, medium, low
  logic [2:0] left_q;                       // ... some is left, or it does not count
  logic [1:0][3:0]    may, first;           // of each kind of list, side by side: which kind is known last
  logic [1:0][1:0]    pick;
  logic [1:0][AW-1:0] head;
  logic               reload;
  always_comb begin
    for (int k = 0; k < 2; k++) begin
      may[k]  = list_valid[k] & {left_q, 1'b1};
      first[k] = may[k] & {may[k][2:0] == 3'd0, may[k][1:0] == 2'd0, !may[k][0], 1'b1};
      pick[k] = may[k][0] ? 2'd0 : may[k][1] ? 2'd1 : may[k][2] ? 2'd2 : 2'd3;
      head[k] = list_head[k][pick[k]];
    end
    reload = list_valid[shared_free][3:1] != 3'd0 && may[shared_free][3:1] == 3'd0;
  end
  assign some       = list_valid[shared_free] != 4'd0;
  assign any        = may[shared_free] != 4'd0;
  assign next_queue = head[shared_free];
  always_comb begin
    list_push = '0;
    list_pop  = '0;
    list_push[0][list] = push_own;
    list_push[1][list] = push_shared;
    // Whether there is any is in `first` already, so nothing waits for it.
    if (go) list_pop[shared_free] = first[shared_free];
  end

  // ---- credit
  assign class_credit = credit_q[list - 2'd1];
  always_comb begin
    credit_d = credit_q;
    if (reload && state == ST_IDLE) begin
      credit_d[0] = 9'(arb_cfg.weight_high) + 9'd1;
      credit_d[1] = 9'(arb_cfg.weight_medium) + 9'd1;
      credit_d[2] = 9'(arb_cfg.weight_low) + 9'd1;
    end else if (state == ST_GO && spend && list != 2'd0) begin
      credit_d[list - 2'd1] = credit_q[list - 2'd1] - 9'(count);
    end
  end
  always_ff @(posedge clk) begin
    credit_q <= credit_d;
    for (int i = 0; i < 3; i++) left_q[i] <= credit_d[i] != 9'd0 || !arb_cfg.wrr;
    if (rst) begin
      for (int i = 0; i < 3; i++) credit_q[i] <= 9'd0;
      left_q <= '0;
    end
  end

endmodule
