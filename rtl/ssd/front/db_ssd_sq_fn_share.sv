// SPDX-License-Identifier: Apache-2.0
// Command slots by function: how many each has, whether it may have more, and how many are left for all.
//
// A function that has fewer commands inside than its guaranteed share (least) always gets another slot; none has more
// than its largest share (most). What no guarantee needs is common: everybody takes from it, and of it so many are kept
// for queues below QUEUE_MIN as such queues may still come, RESERVED in all. Common slots that have all been taken are
// given out again when GATHER of them are free, or when none has come for GAP cycles, as in db_ssd_sq_credit.
// A share that is set anew counts at once for the function itself; if more is guaranteed now than is free, others get
// nothing until that much has come back. All guaranteed shares and RESERVED together must be below NUM_CMDS.
// What a function has is in RAM, what may be asked at any time are bits. A queue may change its function only while
// nothing of it is inside.
// Latency: a turn shows in full, below and roomy in the cycle after ST_GO, in shared_free and common_free 2 cycles after
// it, in free 3 cycles; the end of a command each time a cycle later.
module db_ssd_sq_fn_share
  import db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int NUM_FN    = 2,    ///< functions, 2..17
  parameter int NUM_CMDS  = 128,  ///< command slots, up to 256
  parameter int FETCH_MAX = 8,    ///< entries of a turn at most, 1..64
  parameter int QUEUE_MIN = 1,    ///< slots that an I/O queue has for itself
  parameter int RESERVED  = 32,   ///< slots that are kept for queues below QUEUE_MIN
  parameter int FN_MIN    = 2,    ///< guaranteed share of a function after reset, 0..NUM_CMDS
  parameter int FN_MAX    = 64,   ///< ... its largest, 1..NUM_CMDS
  parameter int GATHER    = 4     ///< common slots that are given out at once when there were none
) (
  input  logic               clk,
  input  logic               rst,
  input  sq_state_e          state,
  input  logic               init,          ///< after reset: init_place has nothing
  input  logic [PLACE_W-1:0] init_place,
  /// A function's shares; its weight is not for here.
  input  logic               s_share_valid,
  output logic               s_share_ready,
  input  fn_share_t          s_share,
  /// The queue at work.
  input  logic               io,            ///< it is no admin queue
  input  logic [PLACE_W-1:0] place,         ///< whose it is
  input  sq_share_t          share,
  input  logic [6:0]         count,         ///< ST_GO: entries requested
  output logic [NUM_FN-1:0]  full,          ///< a function has its largest share
  output logic [NUM_FN-1:0]  below,         ///< ... less than its guaranteed share
  output logic [NUM_FN-1:0]  roomy,         ///< ... room for the largest turn
  output logic [9:0]         free,          ///< common slots that are free, less those that are kept for queues
  output logic               shared_free,   ///< ... they are given out
  output logic               gathering,     ///< ... not, but they will be
  output logic               common_free    ///< there is a common slot
);
  localparam int PLACES = 2 ** PLACE_W;
  localparam int GAP    = 512;

  if (FN_MIN < 0 || FN_MAX < 1 || FN_MIN > FN_MAX || FN_MAX > NUM_CMDS) begin : g_bad_share
    $error("%m: FN_MIN (%0d) must be 0..FN_MAX, FN_MAX (%0d) up to NUM_CMDS", FN_MIN, FN_MAX);
  end
  if (RESERVED + NUM_FN * FN_MIN >= NUM_CMDS) begin : g_bad_reserved
    $error("%m: RESERVED (%0d) and NUM_FN * FN_MIN (%0d) must be below NUM_CMDS", RESERVED, NUM_FN * FN_MIN);
  end

  // ---- what the function at work has
  logic [8:0]         used_mem_q [PLACES];
  logic [8:0]         least_mem_q [PLACES];
  logic [8:0]         most_mem_q [PLACES];
  logic               load, set, go, over_q, set_q, add_q;
  logic [PLACE_W-1:0] at, place_q;
  logic [8:0]         used, used_q;
  logic signed [10:0] to_least_q, to_most_q, to_least_old_q;  // from what it has to its shares
  assign s_share_ready = state == ST_IDLE && !over_q && !set_q && !add_q;
  assign set  = s_share_valid && s_share_ready;
  assign load = set || state == ST_AVAIL || state == ST_DOORBELL || state == ST_RETIRE;
  assign go   = state == ST_GO && io;
  assign at   = set ? s_share.place : place;
  assign used = used_mem_q[at];
  always_ff @(posedge clk) begin
    if (load) begin
      place_q        <= at;
      used_q         <= used;
      to_least_old_q <= $signed({2'd0, least_mem_q[at]}) - $signed({2'd0, used});
      to_least_q     <= $signed({2'd0, set ? s_share.least : least_mem_q[at]}) - $signed({2'd0, used});
      to_most_q      <= $signed({2'd0, set ? s_share.most : most_mem_q[at]}) - $signed({2'd0, used});
    end
    if (init || set) begin
      least_mem_q[init ? init_place : s_share.place] <= init ? 9'(FN_MIN) : s_share.least;
      most_mem_q[init ? init_place : s_share.place]  <= init ? 9'(FN_MAX) : s_share.most;
    end
    over_q <= state == ST_RETIRE && io && !rst;
    set_q  <= set && !rst;
  end

  // ---- ... with a turn, the end of a command, new shares
  logic [8:0]         used_d;
  logic signed [10:0] change, to_least, to_most;
  logic [NUM_FN-1:0]  full_q, below_q, roomy_q;
  assign change   = go ? $signed({4'd0, count}) : over_q ? -11'sd1 : 11'sd0;
  assign used_d   = used_q + change[8:0];
  assign to_least = to_least_q - change;
  assign to_most  = to_most_q - change;
  always_ff @(posedge clk) begin
    if (init || go || over_q) used_mem_q[init ? init_place : place_q] <= init ? '0 : used_d;
    for (int f = 0; f < NUM_FN; f++) begin
      if ((go || over_q || set_q) && place_q == PLACE_W'(f)) begin
        full_q[f]  <= to_most <= 0;
        roomy_q[f] <= to_most >= 11'(FETCH_MAX);
        below_q[f] <= to_least > 0;
      end
    end
    if (rst) begin
      full_q  <= '0;
      roomy_q <= {NUM_FN{FN_MAX >= FETCH_MAX}};
      below_q <= {NUM_FN{FN_MIN > 0}};
    end
  end
  assign full  = full_q;
  assign roomy = roomy_q;
  assign below = below_q;

  // ---- what is common: all that is free but what guarantees need
  logic signed [10:0] common_q, common_d, all_q, kept_q, add_amount_q;
  logic [6:0]         least_left_q, own_left_q;  // ST_GO: what the turn takes of the guarantee, of the queue's own
  logic               own_over_q;
  function automatic logic signed [10:0] positive(input logic signed [10:0] v);
    return v > 0 ? v : '0;
  endfunction
  logic add_now;                                 // new guarantees are counted, when nothing else is
  assign add_now = add_q && state == ST_IDLE && !over_q;
  always_comb begin
    common_d = common_q;
    if (go && count > least_left_q)          common_d = all_q - $signed({4'd0, count});
    else if (over_q && to_least_q[10])       common_d = common_q + 11'sd1;
    else if (add_now)                        common_d = common_q + add_amount_q;
  end
  always_ff @(posedge clk) begin
    least_left_q <= to_least_q > 11'sd127 ? 7'd127 : positive(to_least_q)[6:0];
    all_q        <= common_q + (to_least_q > 11'sd127 ? 11'sd127 : positive(to_least_q));
    common_q     <= common_d;
    common_free  <= common_q > 0;

    if (add_now) add_q <= 1'b0;
    if (set_q) begin
      add_q        <= 1'b1;
      add_amount_q <= positive(to_least_old_q) - positive(to_least_q);
    end
    if (rst) begin
      common_q    <= 11'(NUM_CMDS - NUM_FN * FN_MIN);
      common_free <= 1'b1;
      add_q       <= 1'b0;
    end
  end

  // ---- kept for queues that have less than QUEUE_MIN
  logic [9:0] free_q;
  logic       shared_free_q;
  logic signed [10:0] free_d;
  logic [$clog2(GAP)-1:0] gap_q;
  assign free_d      = common_q - positive(kept_q);
  assign free        = free_q;
  assign shared_free = shared_free_q;
  assign gathering   = !shared_free_q && free_q != '0;
  always_ff @(posedge clk) begin
    own_left_q <= share.below ? 7'(QUEUE_MIN) - share.cmds[6:0] : '0;
    own_over_q <= state == ST_RETIRE && io && share.cmds <= 9'(QUEUE_MIN);
    if (go)                        kept_q <= kept_q - $signed({4'd0, count < own_left_q ? count : own_left_q});
    else if (over_q && own_over_q) kept_q <= kept_q + 11'sd1;

    free_q <= free_d > 0 ? free_d[9:0] : '0;
    if (shared_free_q) shared_free_q <= free_d > 0;
    else               shared_free_q <= free_d >= 11'(GATHER) || (free_d > 0 && gap_q == '1);
    gap_q <= over_q || shared_free_q ? '0 : gap_q + 1'b1;  // cycles since one came back, or since there was none
    if (rst) begin
      kept_q        <= 11'(RESERVED);
      shared_free_q <= 1'b1;
      free_q        <= 10'(NUM_CMDS - RESERVED - NUM_FN * FN_MIN);
    end
  end

endmodule
