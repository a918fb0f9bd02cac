// SPDX-License-Identifier: Apache-2.0
// Whose turn it is where there are several functions: what db_ssd_sq_arb does where there is one, below a choice of the
// function. Wiring of
//
//   db_ssd_sq_fn_lists   ready lists of each function
//   db_ssd_sq_fn_class   credit of its classes
//   db_ssd_sq_fn_share   its slots
//   db_ssd_sq_fn_turn    which function comes next
//
// A function is ready if it has a queue in a list that may be served and neither its largest share of slots nor no tokens.
// The shared lists are served while common slots are given out (shared_free). When they are not, a function below its
// guaranteed share goes on, its own lists first, one entry a turn; of the others only the own lists are served, while
// there is any common slot. The queue that should have the next turn is looked up while the engine is idle, a cycle before
// it may be taken, so a turn's outcome is in it; what changes meanwhile only makes more possible. When common slots are
// given out again it is chosen anew: where slots are what is missing, they are shared out by weight, but for those that
// queues have for themselves.
// Latency: a queue that is put into empty lists is next 4 cycles later; common slots that are given out again, 3 cycles.
// Throughput: a turn in 5 cycles.
module db_ssd_sq_fn_arb
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int  NUM_FN    = 2,    ///< functions, 2..17
  parameter int  NUM_Q     = 33,   ///< submission queues, admin queues included
  parameter int  NUM_CMDS  = 128,  ///< command slots, up to 256
  parameter int  FETCH_MAX = 8,    ///< entries of a turn at most, 1..64
  parameter int  QUEUE_MIN = 1,    ///< slots that an I/O queue has for itself
  parameter int  RESERVED  = 32,   ///< slots that are kept for queues below QUEUE_MIN
  parameter int  FN_MIN    = 2,    ///< guaranteed share of a function after reset
  parameter int  FN_MAX    = 64,   ///< ... its largest
  parameter int  GATHER    = 4,    ///< common slots that are given out at once when there were none
  localparam int AW        = $clog2(NUM_Q)
) (
  input  logic               clk,
  input  logic               rst,
  input  arb_cfg_t           arb_cfg,
  input  sq_state_e          state,
  input  logic               calm,         ///< ST_DOORBELL: its turn may begin at once
  /// Pulse: what a function may have. The next one not before pending has fallen.
  input  logic               s_share_valid,
  input  fn_share_t          s_share,
  input  logic [NUM_FN-1:0]  tokens,       ///< a function has tokens
  input  logic [NUM_FN-1:0]  many_tokens,  ///< ... for the largest turn
  /// The queue at work.
  input  logic               io,           ///< it is no admin queue
  input  logic [PLACE_W-1:0] place,        ///< whose it is
  input  logic [1:0]         list,         ///< its class
  input  logic [AW-1:0]      queue,
  input  sq_share_t          share,
  input  logic               push_own,
  input  logic               push_shared,
  input  logic [6:0]         count,        ///< ST_GO: entries it takes
  /// The next turn.
  output logic               any,
  output logic [AW-1:0]      next_queue,
  output logic               next_shared,  ///< its list is a shared one
  input  logic               pop,          ///< it begins
  /// ST_IDLE: a doorbell of this function. In the next cycle: a turn of it could begin at once, as from a shared list.
  input  logic               bell,
  input  logic [FN_W-1:0]    bell_fn,
  output logic               bell_may,
  output logic               bell_shared,
  /// ST_AVAIL, ST_DOORBELL.
  output logic [6:0]         most,         ///< entries of the turn, as far as functions and slots are concerned
  output logic [6:0]         class_most,   ///< ... as far as its class is
  input  logic [6:0]         burst,
  input  logic [8:0]         slots_free,   ///< of all slots
  output logic               some,         ///< a function is ready
  output logic               pending       ///< ... will be without anybody's doing
);
  logic               init;
  logic [PLACE_W-1:0] init_place;
  assign init       = state == ST_INIT;
  assign init_place = PLACE_W'(queue);

  // ---- new shares wait until the engine is idle
  logic      share_valid_q, share_ready;
  fn_share_t share_q;
  always_ff @(posedge clk) begin
    if (s_share_valid) share_q <= s_share;
    share_valid_q <= (s_share_valid || (share_valid_q && !share_ready)) && !rst;
  end

  // ---- the function
  logic [NUM_FN-1:0]      full, below, roomy, ready, waiting, sel_hot;
  logic [1:0][NUM_FN-1:0] listed;
  logic [9:0]             free;
  logic                   shared_free, gathering, common_free, sel_left;
  logic [PLACE_W-1:0]     sel_place;
  assign waiting = ~full & (shared_free ? listed[1]
                          : (listed[0] & (below | {NUM_FN{common_free}})) | (listed[1] & below));
  assign ready   = waiting & tokens;

  db_ssd_sq_fn_share #(
    .NUM_FN(NUM_FN), .NUM_CMDS(NUM_CMDS), .FETCH_MAX(FETCH_MAX), .QUEUE_MIN(QUEUE_MIN), .RESERVED(RESERVED),
    .FN_MIN(FN_MIN), .FN_MAX(FN_MAX), .GATHER(GATHER)
  ) i_share (
    .clk, .rst, .state, .init, .init_place, .s_share_valid(share_valid_q), .s_share_ready(share_ready),
    .s_share(share_q), .io, .place, .share, .count,
    .full, .below, .roomy, .free, .shared_free, .gathering, .common_free);

  logic               next_left_q;
  logic [PLACE_W-1:0] next_place_q;
  db_ssd_sq_fn_turn #(.NUM_FN(NUM_FN), .FETCH_MAX(FETCH_MAX)) i_turn (
    .clk, .rst, .state, .init, .init_place, .s_weight_valid(share_valid_q && share_ready),
    .s_weight_place(share_q.place), .s_weight(share_q.weight), .ready, .sel_place, .sel_hot, .sel_left, .begins(pop),
    .begin_place(next_place_q), .begin_left(next_left_q), .io, .place, .count,
    .again(push_own || push_shared));

  // ---- its queue, of each kind of list: which kind is known last
  logic [1:0][3:0]         look_valid, may;
  logic [1:0][3:0][AW-1:0] look_head;
  logic [2:0]              look_left;
  logic [1:0][1:0]         pick, next_list_q;
  logic [1:0][AW-1:0]      next_queue_q;
  logic [1:0]              next_renew_q, renew;
  logic                    settled, next_below_q, next_one_q;
  logic                    next_fall_q;    // no shared slots: from a shared list all the same
  logic [1:0]              given_out_q;    // common slots were given out 1 and 2 cycles ago
  logic                    may_shared_q, may_below_q, may_own_q;  // with shared slots; with none; ... and a common one
  always_comb begin
    for (int k = 0; k < 2; k++) begin
      may[k]   = look_valid[k] & {look_left, 1'b1};
      renew[k] = may[k] == 4'd0;
      if (renew[k]) may[k] = look_valid[k];
      pick[k] = may[k][0] ? 2'd0 : may[k][1] ? 2'd1 : may[k][2] ? 2'd2 : 2'd3;
    end
  end
  logic [NUM_FN-1:0] able, ample;
  assign able  = tokens & ~full;
  assign ample = roomy & many_tokens;
  // Bits of the selected function; a multiplexer has more levels.
  logic sel_able, sel_able_below, sel_below, sel_ample;
  assign sel_able       = (able & sel_hot) != '0;
  assign sel_able_below = (able & below & sel_hot) != '0;
  assign sel_below      = (below & sel_hot) != '0;
  assign sel_ample      = (ample & sel_hot) != '0;
  function automatic logic bells(input logic [NUM_FN-1:0] bits);
    bells = 1'b0;
    for (int f = 0; f < NUM_FN; f++) bells |= bits[f] && bell_fn == fn_number(PLACE_W'(f));
  endfunction
  // Not while a turn goes on, and not in the cycle in which one begins.
  always_ff @(posedge clk) begin
    next_place_q <= sel_place;
    next_left_q  <= sel_left;
    next_renew_q <= renew;
    next_list_q  <= pick;
    next_below_q <= sel_below;
    next_one_q   <= !sel_ample;
    for (int k = 0; k < 2; k++) begin
      next_queue_q[k] <= look_head[k][pick[k]];
    end
    // Common slots that are given out again go to whom the selection says, once it has seen who wants them; not to
    // whoever had the last of them.
    given_out_q  <= rst ? '0 : {given_out_q[0], shared_free};
    may_shared_q <= settled && shared_free && given_out_q == '1 && sel_able && look_valid[1] != 4'd0;
    may_below_q  <= settled && sel_able_below && look_valid != '0;
    may_own_q    <= settled && sel_able && look_valid[0] != 4'd0;
    next_fall_q  <= sel_below && look_valid[0] == 4'd0;
  end
  assign settled = !rst && !share_valid_q && !pop &&
                   (state inside {ST_IDLE, ST_RETIRE, ST_CTX} || (state == ST_DOORBELL && !calm));
  assign next_shared = shared_free || next_fall_q;
  assign any         = shared_free ? may_shared_q : may_below_q || (may_own_q && common_free);
  assign next_queue  = next_queue_q[next_shared];

  db_ssd_sq_fn_lists #(.NUM_FN(NUM_FN), .NUM_Q(NUM_Q)) i_lists (
    .clk, .init, .init_place, .idle(state == ST_IDLE), .push_own, .push_shared, .place, .list, .queue, .pop,
    .pop_shared(next_shared), .pop_place(next_place_q), .pop_list(next_list_q), .pop_queue(next_queue_q),
    .look_place(sel_place), .look_valid, .look_head, .some(listed));

  db_ssd_sq_fn_class i_class (
    .clk, .arb_cfg, .init, .init_place, .look_place(sel_place), .look_left, .begins(pop), .begin_place(next_place_q),
    .begin_list(next_list_q[next_shared]), .renew(next_renew_q[next_shared]), .class_most,
    .spend(state == ST_GO && io), .count);

  // ---- how much a turn may take, beside what its queue may have
  logic       own_q;             // the turn is one for the queue's own slots
  logic       bell_may_q, bell_shared_q;
  logic [6:0] most_q;
  logic [3:0] moved_q;           // something has been done so few cycles ago: what it changes does not show yet
  logic       went_q;            // a turn has just ended
  logic [9:0] free_least;
  assign free_least = free < 10'(slots_free) ? free : 10'(slots_free);
  always_ff @(posedge clk) begin
    went_q      <= state == ST_GO;
    moved_q     <= rst ? '1 : {moved_q[2:0], state != ST_IDLE};
    if (state == ST_IDLE) begin
      // A turn that begins is the doorbell's, if there is one: pop, which says so too, comes late.
      own_q         <= !shared_free && !(bell ? bells(below) : next_below_q);
      most_q        <= 7'd1;
      if (shared_free && (bell ? bells(ample) : !next_one_q))
        most_q <= free_least < 10'(burst) ? free_least[6:0] : burst;
      bell_may_q    <= bells(able) && !went_q &&
                       (shared_free || bells(below) || common_free);
      bell_shared_q <= shared_free || bells(below);
    end
  end
  assign bell_may    = bell_may_q;
  assign bell_shared = bell_shared_q;
  assign most        = own_q ? 7'(share.below) : most_q;

  assign some    = ready != '0;
  assign pending = gathering || moved_q != '0 || (waiting & ~tokens) != '0 || share_valid_q;

endmodule
