// SPDX-License-Identifier: Apache-2.0
// Ready lists of all functions: for each function two lists ("own" and "shared", see db_ssd_sq_arb) of each class.
//
// Linked lists in RAM: a queue is in a list of a kind at most once, so one link a queue and kind is enough for all lists
// of that kind, and what a function more costs is heads and tails. Queues are put in while the engine works on them and
// taken out while it is idle, so one thing happens a cycle.
// Latency: a queue that is put in shows a cycle later, and so does the one behind a queue that is taken out.
module db_ssd_sq_fn_lists
  import db_pcie_fn_pkg::*;
#(
  parameter int  NUM_FN = 2,             ///< functions, 2..17
  parameter int  NUM_Q  = 33,            ///< submission queues, admin queues included
  localparam int AW     = $clog2(NUM_Q)
) (
  input  logic                    clk,
  input  logic                    init,        ///< after reset: all lists of init_place are emptied
  input  logic [PLACE_W-1:0]      init_place,
  input  logic                    idle,        ///< the engine is: a queue may be taken out, else one put in
  /// The queue at work goes to the end of its lists.
  input  logic                    push_own,
  input  logic                    push_shared,
  input  logic [PLACE_W-1:0]      place,       ///< whose it is
  input  logic [1:0]              list,        ///< its class
  input  logic [AW-1:0]           queue,
  /// The head of a list leaves it.
  input  logic                    pop,
  input  logic                    pop_shared,  ///< which kind of list
  input  logic [PLACE_W-1:0]      pop_place,
  input  logic [1:0][1:0]         pop_list,    ///< of each kind, which class it would be
  input  logic [1:0][AW-1:0]      pop_queue,   ///< ... and the head
  /// Lists of a function, in the same cycle: [0] own, [1] shared.
  input  logic [PLACE_W-1:0]      look_place,
  output logic [1:0][3:0]         look_valid,
  output logic [1:0][3:0][AW-1:0] look_head,
  output logic [1:0][NUM_FN-1:0]  some         ///< a function has a queue in one of these lists
);
  localparam int PLACES = 2 ** PLACE_W;

  // Which list something would happen to is known from the engine's state; that it does happen, late. So the head of an
  // empty list, and the link behind a tail, which mean nothing, are written whether it does or not.
  logic [PLACE_W-1:0] at_place;
  logic [1:0]         push, take;
  assign at_place = idle ? pop_place : place;
  assign push     = {push_shared, push_own};
  assign take     = {pop && pop_shared, pop && !pop_shared};

  logic [1:0][3:0] valid_at, valid_d;      // which lists of the function hold something
  for (genvar k = 0; k < 2; k++) begin : g_kind
    logic [3:0]        valid_q [PLACES];
    logic [3:0]        valid_look_q [PLACES];
    logic [AW-1:0]     tail_q [PLACES * 4];
    logic [AW-1:0]     next_q [2 ** AW];
    logic [1:0]        at_list;
    logic [AW-1:0]     tail, head_w;
    logic              valid_we, first;
    logic              last;               // the function's only queue in lists of this kind
    logic [NUM_FN-1:0] some_q;

    assign at_list     = idle ? pop_list[k] : list;
    assign valid_at[k] = valid_q[at_place];
    assign tail        = tail_q[{at_place, at_list}];
    assign first       = !valid_at[k][at_list];
    assign head_w      = idle ? next_q[pop_queue[k]] : queue;
    always_comb begin
      last = pop_queue[k] == tail;
      for (int c = 0; c < 4; c++) if (valid_at[k][c] && at_list != 2'(c)) last = 1'b0;
      valid_d[k]          = valid_at[k];
      valid_d[k][at_list] = !idle || pop_queue[k] != tail;
      if (init) valid_d[k] = '0;
    end
    assign valid_we = init || push[k] || take[k];

    always_ff @(posedge clk) begin
      if (valid_we) valid_q[init ? init_place : at_place]      <= valid_d[k];
      if (valid_we) valid_look_q[init ? init_place : at_place] <= valid_d[k];
      if (push[k]) tail_q[{place, list}] <= queue;
      if (!idle && !first) next_q[tail] <= queue;
      for (int f = 0; f < NUM_FN; f++) begin
        some_q[f] <= !init && ((some_q[f] && !(take[k] && last && at_place == PLACE_W'(f))) ||
                               (push[k] && at_place == PLACE_W'(f)));
      end
    end
    assign some[k]       = some_q;
    assign look_valid[k] = valid_look_q[look_place];

    for (genvar c = 0; c < 4; c++) begin : g_class
      logic [AW-1:0] head_q [PLACES];
      always_ff @(posedge clk) begin
        if (at_list == 2'(c) && (idle ? take[k] : first)) head_q[at_place] <= head_w;
      end
      assign look_head[k][c] = head_q[look_place];
    end
  end

endmodule
