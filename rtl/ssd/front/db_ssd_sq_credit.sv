// SPDX-License-Identifier: Apache-2.0
// Command slots: taken when entries are requested, given back when their commands are over; and from them the most
// entries that a turn may take: request size, arbitration burst, free slots, the class's credit, the queue's share.
//
// A queue's first QUEUE_MIN commands take slots that are kept for that (RESERVED in all), what it has beyond them takes
// from the slots that all share, and it never has more than QUEUE_MAX. When no shared slot is free, a queue below its
// guaranteed share takes one entry a turn.
// Shared slots that have all been taken are given out again when GATHER of them are free, or when none has come for
// GAP cycles: so entries of a deep backlog are requested several at once, and slots that come slowly wait for none.
// What is free when a turn begins may be more than two cycles before, when the first of the registers behind limit was
// loaded, but never less: no turn has ended since. Latency: limit is that of the turn from ST_COUNT on; share_next is
// there in the cycle of count and of ST_RETIRE.
module db_ssd_sq_credit
  import db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int NUM_FN     = 1,    ///< functions, 1..17
  parameter int NUM_CMDS   = 128,  ///< command slots, 2..256
  parameter int ADMIN_CMDS = 16,   ///< places in the firmware's ring, 1..64
  parameter int ADMIN_MAX  = 16,   ///< several functions: admin commands that each has inside at most, 1..ADMIN_CMDS
  parameter int FETCH_MAX  = 8,    ///< entries a read request, 1..64
  parameter int QUEUE_MIN  = 1,    ///< slots that an I/O queue has for itself, at least 1
  parameter int QUEUE_MAX  = 64,   ///< slots that an I/O queue has at most, QUEUE_MIN..NUM_CMDS
  parameter int RESERVED   = 32,   ///< slots that are kept for queues below QUEUE_MIN, 1..NUM_CMDS - 1
  /// shared slots that are given out at once when there were none, 1..NUM_CMDS - RESERVED
  parameter int GATHER     = 4
) (
  input  logic             clk,
  input  logic             rst,
  input  arb_cfg_t         arb_cfg,
  input  sq_state_e        state,
  input  logic             admin_turn,    ///< the queue at work is the admin queue
  input  logic [1:0]       list,          ///< its ready list
  input  logic [8:0]       class_credit,  ///< ... and that class's credit
  /// Several functions: the most entries of this turn, as far as its function and its class are concerned; shared slots
  /// are counted there.
  input  logic [6:0]       fn_most,
  input  logic [6:0]       class_most,
  input  sq_share_t        share,         ///< how the queue at work stands
  /// ST_GO, ST_RETIRE: ... with its commands counted, lists as before; else nothing
  output sq_share_t        share_next,
  input  logic [6:0]       count_next,    ///< ST_COUNT: entries that will be requested
  input  logic [6:0]       count,         ///< ST_GO: entries requested
  /// Several functions: the firmware takes a command out of its ring; one did not come that far.
  input  logic             s_taken,
  input  logic             s_lost,
  input  logic             s_retired_valid,
  input  logic [QID_W-1:0] s_retired_sqid,
  output logic             io_free,       ///< there is a slot for an I/O command
  output logic             shared_free,   ///< ... beyond what is kept for queues below their guaranteed share
  output logic             gathering,     ///< ... is false for at most GAP cycles more
  output logic             admin_free,    ///< there is room for an admin command
  output logic [6:0]       limit,         ///< the most entries of this turn
  output logic [6:0]       burst,         ///< ... of any
  output logic [8:0]       free,          ///< slots that are free
  output logic [15:0]      cmds_inflight  ///< I/O commands requested and not over
);
  localparam int SHARED = NUM_CMDS - RESERVED;
  localparam int GAP    = 512;
  if (QUEUE_MIN < 1 || QUEUE_MIN > 64 || QUEUE_MAX < QUEUE_MIN || QUEUE_MAX > NUM_CMDS) begin : g_bad_share
    $error("%m: QUEUE_MIN (%0d) must be 1..64, QUEUE_MAX (%0d) from there to NUM_CMDS", QUEUE_MIN, QUEUE_MAX);
  end
  if (RESERVED < 1 || SHARED < 1) begin : g_bad_reserved
    $error("%m: RESERVED must be 1..NUM_CMDS - 1, not %0d", RESERVED);
  end
  if (GATHER < 1 || GATHER > SHARED) begin : g_bad_gather
    $error("%m: GATHER must be 1..NUM_CMDS - RESERVED, not %0d", GATHER);
  end

  logic [8:0] free_d, free_q;
  logic [8:0] shared_d, shared_q;  // shared slots that are free
  logic       shared_free_q, shared_back;
  logic [$clog2(GAP)-1:0] gap_q;   // cycles since a shared slot came back
  logic [8:0] io_free_most, max_left;
  logic [6:0] admin_free_d, admin_free_q, burst_q, io_most_q, admin_most_q, limit_q;
  logic       issue, io_done;

  assign limit         = limit_q;
  assign burst         = burst_q;
  assign free          = free_q;
  assign cmds_inflight = 16'(NUM_CMDS) - 16'(free_q);

  localparam bit MANY = NUM_FN > 1;
  assign max_left     = 9'(MANY && admin_turn ? ADMIN_MAX : QUEUE_MAX) - share.cmds;
  assign io_free_most = free_q < shared_q ? free_q : shared_q;
  always_ff @(posedge clk) begin
    logic [6:0] most;
    burst_q      <= (arb_cfg.burst >= 3'd6 || (7'd1 << arb_cfg.burst) > 7'(FETCH_MAX)) ? 7'(FETCH_MAX)
                                                                                      : 7'd1 << arb_cfg.burst;
    io_most_q    <= (io_free_most < 9'(burst_q)) ? io_free_most[6:0] : burst_q;
    admin_most_q <= (admin_free_q < burst_q) ? admin_free_q : burst_q;
    most = admin_turn ? admin_most_q : MANY ? fn_most : shared_free_q ? io_most_q : 7'(share.below);
    if (MANY) begin                // side by side
      if (max_left < 9'(most) && (admin_turn || max_left < 9'(class_most))) most = max_left[6:0];
      else if (!admin_turn && class_most < most)                            most = class_most;
    end
    if (!MANY && !admin_turn && QUEUE_MAX < NUM_CMDS && max_left < 9'(most)) most = max_left[6:0];
    if (!MANY && !admin_turn && arb_cfg.wrr && list != 2'd0 && class_credit < 9'(most)) most = class_credit[6:0];
    limit_q <= most;
  end

  // ---- the queue's share
  // What a turn leaves is known from registers that are loaded before its count is: no adder follows another.
  logic [6:0] own_left_q;          // ST_GO: how many commands the queue is below its guaranteed share
  logic [8:0] max_left_q;          // ST_COUNT: ... its largest share
  logic       fills_q;             // ST_GO: it has that with this turn
  logic [8:0] all_left_q;          // ... how many it may have with all shared slots
  always_comb begin
    share_next = share;
    unique case (state)
      ST_GO: begin
        share_next.cmds  = share.cmds + 9'(count);
        share_next.below = own_left_q > count;
        share_next.full  = fills_q;
      end
      ST_RETIRE: begin
        share_next.cmds  = share.cmds - 9'd1;
        share_next.below = share.cmds <= 9'(QUEUE_MIN);
        share_next.full  = 1'b0;
      end
      default: begin
        share_next       = '0;
        share_next.below = 1'b1;
      end
    endcase

    shared_back = !admin_turn && state == ST_RETIRE && share.cmds > 9'(QUEUE_MIN);
    shared_d    = shared_q;
    if (!admin_turn && state == ST_GO && count > own_left_q) shared_d = shared_q - 9'(count - own_left_q);
    if (shared_back) shared_d = shared_q + 9'd1;
  end
  assign shared_free = shared_free_q;
  assign gathering   = !shared_free_q && shared_q != 9'd0;
  always_ff @(posedge clk) begin
    own_left_q    <= share.below ? 7'(QUEUE_MIN) - share.cmds[6:0] : 7'd0;
    max_left_q    <= max_left;
    fills_q       <= max_left_q == 9'(count_next);
    shared_q      <= shared_d;
    all_left_q    <= 9'(own_left_q) + shared_q;
    if (shared_free_q) shared_free_q <= !(state == ST_GO && !admin_turn && 9'(count) == all_left_q);
    else               shared_free_q <= shared_q >= 9'(GATHER) || (shared_q != 9'd0 && gap_q == '1);
    if (shared_back)      gap_q <= '0;
    else if (gap_q != '1) gap_q <= gap_q + 1'b1;
    if (rst) begin
      shared_q      <= 9'(SHARED);
      shared_free_q <= 1'b1;
    end
  end

  // ---- slots, and places in the firmware's ring
  assign issue   = state == ST_GO;
  assign io_done = s_retired_valid && !is_admin_queue(s_retired_sqid, NUM_FN);
  assign free_d  = free_q - (issue && !admin_turn ? 9'(count) : 9'd0) + 9'(io_done);
  assign admin_free_d = admin_free_q - (issue && admin_turn ? count : 7'd0) +
                        (MANY ? 7'(s_taken) + 7'(s_lost) : 7'(s_retired_valid && !io_done));
  always_ff @(posedge clk) begin
    free_q       <= free_d;
    io_free      <= free_d != 9'd0;
    admin_free_q <= admin_free_d;
    admin_free   <= admin_free_d != 7'd0;
    if (rst) begin
      free_q       <= 9'(NUM_CMDS);
      io_free      <= 1'b1;
      admin_free_q <= 7'(ADMIN_CMDS);
      admin_free   <= 1'b1;
    end
  end

endmodule
