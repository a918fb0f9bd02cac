// SPDX-License-Identifier: Apache-2.0
// Which function's turn it is: they go round, and in a round each has entries in proportion to its weight.
//
// A round gives a function FETCH_MAX entries for each unit of its weight. The functions that are ready take turns, one
// behind the other, as long as they have some left; when none of those that are ready has, a new round begins. A turn is
// never cut short for it: what it takes too much is missing in the function's next round. So over any time in which they
// are ready, functions get what their weights say to within a turn, and one that is not ready costs nobody a cycle.
// A function that was not ready begins the next round with its weight, as all others: nothing is saved up.
// Latency: sel_place follows ready by 2 cycles.
module db_ssd_sq_fn_turn
  import db_pcie_fn_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int NUM_FN    = 2,  ///< functions, 2..17
  parameter int FETCH_MAX = 8   ///< entries of a turn at most, 1..64
) (
  input  logic               clk,
  input  logic               rst,
  input  sq_state_e          state,
  input  logic               init,          ///< after reset: init_place has weight 1
  input  logic [PLACE_W-1:0] init_place,
  /// Pulse: a function's weight, 1..255.
  input  logic               s_weight_valid,
  input  logic [PLACE_W-1:0] s_weight_place,
  input  logic [7:0]         s_weight,
  input  logic [NUM_FN-1:0]  ready,         ///< functions that may have a turn
  output logic [PLACE_W-1:0] sel_place,     ///< the one that should have the next
  output logic [NUM_FN-1:0]  sel_hot,       ///< ... the same, a bit each
  output logic               sel_left,      ///< ... out of this round
  /// A turn begins.
  input  logic               begins,
  input  logic [PLACE_W-1:0] begin_place,
  input  logic               begin_left,    ///< sel_left, when it was selected
  /// The turn, from ST_AVAIL (or ST_DOORBELL) to ST_GO.
  input  logic               io,            ///< it is no admin queue's
  input  logic [PLACE_W-1:0] place,
  input  logic [6:0]         count,         ///< ST_GO: entries it takes
  input  logic               again          ///< ... and its queue is in a list again, which ready does not say yet
);
  localparam int PLACES = 2 ** PLACE_W;
  localparam int W      = 8 + $clog2(FETCH_MAX + 1) + 2;   // credit, with sign

  if (NUM_FN < 2 || NUM_FN > MAX_FN) begin : g_bad_num_fn
    $error("%m: NUM_FN must be 2..17");
  end

  // ---- what is left of the round
  logic [NUM_FN-1:0]  left_q;                // a function may have another turn in this round
  logic [NUM_FN-1:0]  fresh_q;               // it had none in it
  logic signed [W-1:0] credit_mem_q [PLACES]; // what its last turn left; not if it is fresh, then what it lacks
  logic [7:0]          weight_mem_q [PLACES];
  logic signed [W-1:0] stored_q, base_q, after;
  logic [7:0]          weight_q;
  logic                was_fresh_q, was_left_q, renew, left_now_q;
  logic [PLACES-1:0]   left_all, fresh_all;
  assign left_all  = PLACES'(left_q);
  assign fresh_all = PLACES'(fresh_q);

  // A turn of a function that has nothing left begins a new round: those that are ready had nothing left either.
  assign renew = (begins && !begin_left) || (state == ST_COUNT && io && !was_left_q);
  assign after = base_q - W'(count);
  always_ff @(posedge clk) begin
    if (state == ST_AVAIL || state == ST_DOORBELL) begin
      stored_q    <= credit_mem_q[place];
      weight_q    <= weight_mem_q[place];
      was_fresh_q <= fresh_all[place];
      was_left_q  <= left_all[place];
    end
    base_q <= !(was_fresh_q || !was_left_q) ? stored_q
            : W'(weight_q) * W'(FETCH_MAX) + (stored_q[W-1] ? stored_q : '0);

    if (renew) begin
      left_q  <= '1;
      fresh_q <= '1;
    end
    if (state == ST_GO && io) begin
      for (int f = 0; f < NUM_FN; f++) begin
        if (place == PLACE_W'(f)) begin
          left_q[f]  <= !after[W-1] && after != '0;
          fresh_q[f] <= 1'b0;
        end
      end
      left_now_q <= !after[W-1] && after != '0;
    end
    if (init || (state == ST_GO && io)) credit_mem_q[init ? init_place : place] <= init ? '0 : after;
    if (init || s_weight_valid)
      weight_mem_q[init ? init_place : s_weight_place] <= init ? 8'd1 : s_weight;
    if (rst) begin
      left_q     <= '1;
      fresh_q    <= '1;
      left_now_q <= 1'b0;
    end
  end

  // ---- who comes next: the next one behind the last, if possible one that has some left
  logic [PLACE_W-1:0] now_q;               // had the last turn
  logic               now_ready_q, now_again_q;
  logic [NUM_FN-1:0]  others, others_left, set_q, behind, now_hot_q, other_hot_q;
  logic               set_left_q;
  logic [PLACE_W-1:0] other_q;
  logic               other_any_q, other_left_q;
  always_comb begin
    for (int f = 0; f < NUM_FN; f++) begin
      others[f] = ready[f] && !now_hot_q[f];
      behind[f] = set_q[f] && PLACE_W'(f) > now_q;
    end
    others_left = others & left_q;
  end
  function automatic logic [PLACE_W-1:0] first(input logic [NUM_FN-1:0] which);
    first = '0;
    for (int f = NUM_FN - 1; f >= 0; f--) if (which[f]) first = PLACE_W'(f);
  endfunction
  function automatic logic [NUM_FN-1:0] hot(input logic [PLACE_W-1:0] one);
    for (int f = 0; f < NUM_FN; f++) hot[f] = one == PLACE_W'(f);
  endfunction
  function automatic logic [NUM_FN-1:0] first_hot(input logic [NUM_FN-1:0] which);
    return which & (~which + 1'b1);
  endfunction
  always_ff @(posedge clk) begin
    if (state == ST_COUNT && io) begin
      now_q     <= place;
      now_hot_q <= hot(place);
    end
    if (begins) begin
      now_q     <= begin_place;
      now_hot_q <= hot(begin_place);
    end
    now_ready_q  <= (ready & now_hot_q) != '0;
    now_again_q  <= state == ST_GO && again;
    set_q        <= (others_left != '0) ? others_left : others;
    set_left_q   <= others_left != '0;
    other_q      <= (behind != '0) ? first(behind) : first(set_q);
    other_hot_q  <= first_hot((behind != '0) ? behind : set_q);
    other_any_q  <= set_q != '0;
    other_left_q <= set_left_q;
    if (rst) begin
      now_q     <= '0;
      now_hot_q <= NUM_FN'(1);
    end
  end

  logic to_other;
  assign to_other  = other_any_q && (other_left_q || !left_now_q || !(now_ready_q || now_again_q));
  assign sel_place = to_other ? other_q : now_q;
  assign sel_hot   = to_other ? other_hot_q : now_hot_q;
  assign sel_left  = to_other ? other_left_q : left_now_q;

endmodule
