// SPDX-License-Identifier: Apache-2.0
// Submission queues: from tail doorbells to requests for entries. (OpenExpress: FET and CTX.) Wiring of
//
//   db_ssd_sq_engine   takes doorbells and contexts, gives turns: the state that all others follow
//   db_ssd_sq_ctx      what is kept of each queue, in RAM
//   db_ssd_sq_arb      whose turn it is: ready lists and the weights of the classes
//   db_ssd_sq_credit   command slots, and how many entries a turn may take
//   db_ssd_sq_fetch    how many it does take, and the request
//
// With several functions db_ssd_sq_fn_arb is there instead of db_ssd_sq_arb, and
//
//   db_ssd_sq_fn_bucket  limits of commands and bytes a second
//
// Every queue that has entries stands in a ready list of its class; the head of a list is served, and goes to the
// list's end if it has more. That is round robin at a cost that does not grow with queues: what is kept of them is RAM,
// only a bit a queue is a register. Classes: admin, then urgent, then high, medium and low by weight (CC.AMS = 1);
// without weights all I/O queues are in one class (Base 2.0, 3.4.4).
// I/O entries are requested only when a command slot is free for each, so that what has been requested can always be
// taken in, and an admin command never stands behind an I/O command that cannot go on. Admin entries are limited too:
// the firmware's queue takes them all, so they never stand before an I/O command, and so does db_ssd_cq when it must
// keep their completions.
// Shares: QUEUE_MIN commands of a queue always find a slot and go before what its class has beyond (as long as no more
// than RESERVED queues use that at once); no queue has more than QUEUE_MAX. So neither a queue with a deep backlog nor a
// completion queue that nobody reads keeps another queue's command outside.
//
// Functions: they take turns by weight, each has a guaranteed and a largest share of slots and may have limits; within a
// function it is as above. One that is limited, or has its largest share, is not in the round (db_ssd_sq_fn_arb).
//
// A doorbell that finds all lists empty is served at once, without a turn in its list.
// Latency: doorbell to request 4 cycles. Throughput: a doorbell 2 cycles, a request of up to FETCH_MAX entries 4, or 5
// if one queue has them all; with several functions 5.
module db_ssd_sq
  import db_mem_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int NUM_FN     = 1,   ///< functions, 1..17
  parameter int NUM_QP     = 32,  ///< I/O queue pairs, 1..254
  parameter int NUM_CMDS   = 128, ///< command slots, 2..256
  parameter int ADMIN_CMDS = 16,  ///< admin commands inside at most; several functions: before the firmware takes them
  parameter int ADMIN_MAX  = 16,  ///< ... that each function has inside at most, 1..ADMIN_CMDS
  parameter int FETCH_MAX  = 8,   ///< entries a read request, 1..64
  parameter int QUEUE_MIN  = 1,   ///< slots that an I/O queue has for itself, 1..64
  /// slots that an I/O queue has at most, from QUEUE_MIN to NUM_CMDS
  parameter int QUEUE_MAX  = NUM_CMDS > 64 ? 64 : NUM_CMDS,
  /// slots that are given out at once when queues with more than QUEUE_MIN commands have had all, 1..half of NUM_CMDS
  parameter int GATHER     = NUM_CMDS / 32 > 0 ? NUM_CMDS / 32 : 1
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             run,              ///< entries may be requested, doorbell errors are reported
  /// Tail doorbells.
  input  logic             s_doorbell_valid,
  output logic             s_doorbell_ready,
  input  doorbell_t        s_doorbell,
  /// Contexts from the firmware; kind is QUEUE_SQ.
  input  logic             s_queue_ctx_valid,
  output logic             s_queue_ctx_ready,
  input  queue_ctx_t       s_queue_ctx,
  input  arb_cfg_t         arb_cfg,
  /// Several functions: what one of them may have, and a limit. From NUM_Q cycles after reset on, 16 apart.
  input  fn_set_t          s_fn_set,
  /// ... and what counts in limits: a command's data has become known.
  input  logic             us_turns,          ///< changes each microsecond
  input  logic             s_fn_moved_valid,
  input  fn_moved_t        s_fn_moved,
  /// Read requests for entries, one packet each.
  output logic             m_fetch_valid,
  input  logic             m_fetch_ready,
  output segment_t         m_fetch,
  output fetch_user_t      m_fetch_user,
  /// An entry has been taken in: its queue's head is now s_head.
  input  logic             s_head_valid,
  input  logic [QID_W-1:0] s_head_sqid,
  input  logic [15:0]      s_head,
  /// Where a queue reports to, and its head: a cycle after sq_lookup_sqid.
  input  logic [QID_W-1:0] sq_lookup_sqid,
  output sq_lookup_t       sq_lookup,
  /// Several functions: the firmware takes a command out of its ring; one did not come that far.
  input  logic             s_admin_taken,
  input  logic             s_admin_lost,
  /// A command is over.
  input  logic             s_retired_valid,
  input  logic [QID_W-1:0] s_retired_sqid,
  output logic             deleted,           ///< pulse: a queue is no more; its commands' completions are dropped
  /// Pulse: a context that was taken is carried out; m_watch: entries of its queue up to m_tail are still to come.
  output logic             m_ctx_valid,
  output queue_ctx_t       m_ctx,
  output logic             m_watch,
  output logic [15:0]      m_tail,
  input  logic [QID_W-1:0] sq_select,         ///< the firmware asks for a queue
  output logic             sq_inflight,       ///< 2 cycles later: it holds commands or entries, or may
  output logic [15:0]      cmds_inflight,    ///< I/O commands requested and not over
  /// Pulse.
  output logic             m_doorbell_err_valid,
  output doorbell_err_t    m_doorbell_err,
  output logic             idle
);
  localparam int NUM_Q    = NUM_FN + NUM_QP;
  localparam int QUARTER  = NUM_CMDS > 4 ? NUM_CMDS / 4 : 1;
  localparam int RESERVED = NUM_QP * QUEUE_MIN < QUARTER ? NUM_QP * QUEUE_MIN : QUARTER;
  localparam int AW       = $clog2(NUM_Q);
  // Several functions, until s_fn_share says otherwise: slots that each always gets, and that it has at most.
  localparam int FN_MIN   = NUM_CMDS / 4 / NUM_FN > 0 ? NUM_CMDS / 4 / NUM_FN : 1;
  localparam int FN_MAX   = NUM_CMDS / 2;

  if (NUM_FN < 1 || NUM_FN > MAX_FN) begin : g_bad_num_fn
    $error("%m: NUM_FN must be 1..17");
  end
  if (NUM_QP < 1 || NUM_QP > 255 - NUM_FN) begin : g_bad_num_qp
    $error("%m: NUM_QP must be 1..255 - NUM_FN");
  end
  if (NUM_CMDS < 2 || NUM_CMDS > 256) begin : g_bad_num_cmds
    $error("%m: NUM_CMDS must be 2..256");
  end
  if (ADMIN_CMDS < 1 || ADMIN_CMDS > 64) begin : g_bad_admin_cmds
    $error("%m: ADMIN_CMDS must be 1..64");
  end
  if (FETCH_MAX < 1 || FETCH_MAX > 64) begin : g_bad_fetch_max
    $error("%m: FETCH_MAX must be 1..64");
  end

  sq_state_e        state;
  logic [AW-1:0]    queue, queue_next, list_queue;
  logic             queue_valid;
  queue_ctx_t       new_ctx;
  logic [15:0]      doorbell_value, tail, next_head;
  logic             doorbell_bad, admin_turn, more, request_free, list_any, list_some, list_go,
                    list_pushing;
  logic             push_own, push_shared, io_free, shared_free, gathering, admin_free, retiring, share_we;
  logic             list_shared, once_may, once_shared, calm, pending;
  logic [6:0]       count_next, count, limit, burst, fn_most, class_most;
  logic [8:0]       class_credit, slots_free;
  logic [15:0]      head;
  sq_ctx_t          ctx;
  logic [PLACE_W-1:0] place;
  sq_share_t        share, share_next, share_w;

  db_ssd_sq_engine #(.NUM_FN(NUM_FN), .NUM_Q(NUM_Q)) i_engine (
    .clk, .rst, .run, .s_doorbell_valid, .s_doorbell_ready, .s_doorbell, .s_queue_ctx_valid, .s_queue_ctx_ready,
    .s_queue_ctx, .wrr(arb_cfg.wrr), .state, .queue, .queue_next, .queue_valid, .new_ctx, .doorbell_value,
    .doorbell_bad, .deleted, .admin_turn, .ctx, .head, .share, .share_next, .share_we, .share_w, .s_retired_valid,
    .s_retired_sqid, .retiring, .more, .request_free(request_free && !list_pushing), .list_any, .list_some, .list_queue,
    .list_shared, .push_own, .push_shared, .list_go, .io_free, .gathering(pending), .once_may, .once_shared, .calm,
    .admin_free, .m_doorbell_err_valid,
    .m_doorbell_err, .idle);

  db_ssd_sq_ctx #(.NUM_FN(NUM_FN), .NUM_Q(NUM_Q)) i_ctx (
    .clk, .state, .queue, .queue_next, .new_ctx, .wrr(arb_cfg.wrr), .doorbell_value, .doorbell_bad, .count,
    .next_head, .share_we, .share_w, .ctx, .place, .tail, .head, .share, .s_head_valid, .s_head_sqid, .s_head,
    .sq_lookup_sqid,
    .sq_lookup, .retiring, .sq_select, .sq_inflight);

  if (NUM_FN == 1) begin : g_one
    db_ssd_sq_arb #(.NUM_Q(NUM_Q)) i_arb (
      .clk, .rst, .arb_cfg, .state, .shared_free, .push_own, .push_shared, .go(list_go), .list(ctx.list), .queue,
      .any(list_any), .some(list_some), .pushing(list_pushing), .next_queue(list_queue), .spend(!admin_turn), .count,
      .class_credit);
    logic unused_ok;
    assign unused_ok   = &{1'b0, s_fn_set, us_turns, s_fn_moved_valid, s_fn_moved, calm, burst, slots_free};
    assign list_shared = shared_free;
    assign once_may    = 1'b1;
    assign once_shared = shared_free;
    assign pending     = gathering;
    assign fn_most     = '0;
    assign class_most  = '0;
  end else begin : g_many
    logic unused_ok;
    logic [NUM_FN-1:0] tokens, many_tokens;
    assign unused_ok    = &{1'b0, shared_free, gathering};
    logic us_turns_q, tick;
    always_ff @(posedge clk) us_turns_q <= us_turns;
    assign tick = us_turns != us_turns_q;
    db_ssd_sq_fn_bucket #(.NUM_FN(NUM_FN), .MANY(FETCH_MAX)) i_bucket (
      .clk, .rst, .tick, .s_limit_valid(s_fn_set.limit_valid), .s_limit(s_fn_set.limit),
      .s_cmds_valid(state == ST_GO && !admin_turn), .s_cmds_place(place), .s_cmds(count),
      .s_moved_valid(s_fn_moved_valid), .s_moved_place(fn_place(s_fn_moved.fn)), .s_moved(s_fn_moved.bytes),
      .some(tokens), .many(many_tokens));
    assign list_pushing = 1'b0;
    assign class_credit = '0;
    db_ssd_sq_fn_arb #(
      .NUM_FN(NUM_FN), .NUM_Q(NUM_Q), .NUM_CMDS(NUM_CMDS), .FETCH_MAX(FETCH_MAX), .QUEUE_MIN(QUEUE_MIN),
      .RESERVED(RESERVED), .FN_MIN(FN_MIN), .FN_MAX(FN_MAX), .GATHER(GATHER)
    ) i_arb (
      .clk, .rst, .arb_cfg, .state, .calm, .s_share_valid(s_fn_set.share_valid), .s_share(s_fn_set.share),
      .tokens, .many_tokens, .io(!admin_turn), .place, .list(ctx.list), .queue, .share,
      .push_own, .push_shared, .count,
      .any(list_any), .next_queue(list_queue), .next_shared(list_shared), .pop(list_go && list_any),
      .bell(s_doorbell_valid), .bell_fn(s_doorbell.fn), .bell_may(once_may), .bell_shared(once_shared), .most(fn_most),
      .class_most, .burst, .slots_free, .some(list_some), .pending);
  end

  db_ssd_sq_credit #(
    .NUM_FN(NUM_FN), .NUM_CMDS(NUM_CMDS), .ADMIN_CMDS(ADMIN_CMDS), .ADMIN_MAX(ADMIN_MAX), .FETCH_MAX(FETCH_MAX),
    .QUEUE_MIN(QUEUE_MIN), .QUEUE_MAX(QUEUE_MAX), .RESERVED(RESERVED), .GATHER(GATHER)
  ) i_credit (
    .clk, .rst, .arb_cfg, .state, .admin_turn, .list(ctx.list), .class_credit, .fn_most, .class_most, .share,
    .share_next,
    .count_next, .count, .s_taken(s_admin_taken), .s_lost(s_admin_lost), .s_retired_valid, .s_retired_sqid,
    .io_free, .shared_free, .gathering, .admin_free,
    .limit, .burst, .free(slots_free), .cmds_inflight);

  assign m_ctx_valid = state == ST_CTX;
  assign m_ctx       = new_ctx;
  assign m_watch     = new_ctx.watch && !new_ctx.valid && queue_valid && share.listed;
  assign m_tail      = tail;

  db_ssd_sq_fetch #(.AW(AW)) i_fetch (
    .clk, .rst, .state, .queue, .exists(queue_valid), .ctx, .fn(fn_number(place)), .head, .tail, .doorbell_value,
    .limit,
    .count_next,
    .count, .next_head, .more, .free(request_free), .m_fetch_valid, .m_fetch_ready, .m_fetch, .m_fetch_user);

endmodule
