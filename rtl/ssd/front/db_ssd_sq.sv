// SPDX-License-Identifier: Apache-2.0
// Submission queues: from tail doorbells to requests for entries. (OpenExpress: FET and CTX.) Wiring of
//
//   db_ssd_sq_engine   takes doorbells and contexts, gives turns: the state that all others follow
//   db_ssd_sq_ctx      what is kept of each queue, in RAM
//   db_ssd_sq_arb      whose turn it is: ready lists and the weights of the classes
//   db_ssd_sq_credit   command slots, and how many entries a turn may take
//   db_ssd_sq_fetch    how many it does take, and the request
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
// A doorbell that finds all lists empty is served at once, without a turn in its list.
// Latency: doorbell to request 4 cycles. Throughput: a doorbell 2 cycles, a request of up to FETCH_MAX entries 4, or 5
// if one queue has them all.
module db_ssd_sq
  import db_mem_pkg::*, db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int NUM_QP     = 32,  ///< I/O queue pairs, 1..254
  parameter int NUM_CMDS   = 128, ///< command slots, 2..256
  parameter int ADMIN_CMDS = 16,  ///< admin commands inside at most, 1..64
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
  localparam int NUM_Q    = NUM_QP + 1;
  localparam int QUARTER  = NUM_CMDS > 4 ? NUM_CMDS / 4 : 1;
  localparam int RESERVED = NUM_QP * QUEUE_MIN < QUARTER ? NUM_QP * QUEUE_MIN : QUARTER;
  localparam int AW       = $clog2(NUM_Q);

  if (NUM_QP < 1 || NUM_QP > 254) begin : g_bad_num_qp
    $error("%m: NUM_QP must be 1..254");
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
  logic [NUM_Q-1:0] queue_valid;
  queue_ctx_t       new_ctx;
  logic [15:0]      doorbell_value, tail, next_head;
  logic             doorbell_bad, admin_turn, more, request_free, list_any, list_some, list_pop,
                    list_pushing;
  logic             push_own, push_shared, io_free, shared_free, gathering, admin_free, retiring, share_we;
  logic [6:0]       count_next, count, limit;
  logic [8:0]       class_credit;
  logic [15:0]      head;
  sq_ctx_t          ctx;
  sq_share_t        share, share_next, share_w;

  db_ssd_sq_engine #(.NUM_Q(NUM_Q)) i_engine (
    .clk, .rst, .run, .s_doorbell_valid, .s_doorbell_ready, .s_doorbell, .s_queue_ctx_valid, .s_queue_ctx_ready,
    .s_queue_ctx, .wrr(arb_cfg.wrr), .state, .queue, .queue_next, .queue_valid, .new_ctx, .doorbell_value,
    .doorbell_bad, .deleted, .admin_turn, .ctx, .head, .share, .share_next, .share_we, .share_w, .s_retired_valid,
    .s_retired_sqid, .retiring, .more, .request_free(request_free && !list_pushing), .list_any, .list_some, .list_queue,
    .push_own, .push_shared, .list_pop, .io_free, .shared_free, .gathering, .admin_free, .m_doorbell_err_valid,
    .m_doorbell_err, .idle);

  db_ssd_sq_ctx #(.NUM_Q(NUM_Q)) i_ctx (
    .clk, .state, .queue, .queue_next, .new_ctx, .wrr(arb_cfg.wrr), .doorbell_value, .doorbell_bad, .count,
    .next_head, .share_we, .share_w, .ctx, .tail, .head, .share, .s_head_valid, .s_head_sqid, .s_head, .sq_lookup_sqid,
    .sq_lookup, .retiring, .sq_select, .sq_inflight);

  db_ssd_sq_arb #(.NUM_Q(NUM_Q)) i_arb (
    .clk, .rst, .arb_cfg, .state, .shared_free, .push_own, .push_shared, .pop(list_pop), .list(ctx.list), .queue,
    .any(list_any), .some(list_some), .pushing(list_pushing), .next_queue(list_queue), .spend(!admin_turn), .count,
    .class_credit);

  db_ssd_sq_credit #(
    .NUM_CMDS(NUM_CMDS), .ADMIN_CMDS(ADMIN_CMDS), .FETCH_MAX(FETCH_MAX), .QUEUE_MIN(QUEUE_MIN), .QUEUE_MAX(QUEUE_MAX),
    .RESERVED(RESERVED), .GATHER(GATHER)
  ) i_credit (
    .clk, .rst, .arb_cfg, .state, .admin_turn, .list(ctx.list), .class_credit, .share, .share_next,
    .count_next, .count, .s_retired_valid, .s_retired_sqid, .io_free, .shared_free, .gathering, .admin_free,
    .limit, .cmds_inflight);

  assign m_ctx_valid = state == ST_CTX;
  assign m_ctx       = new_ctx;
  assign m_watch     = new_ctx.watch && !new_ctx.valid && queue_valid[queue] && share.listed;
  assign m_tail      = tail;

  db_ssd_sq_fetch #(.AW(AW)) i_fetch (
    .clk, .rst, .state, .queue, .exists(queue_valid[queue]), .ctx, .head, .tail, .doorbell_value, .limit, .count_next,
    .count, .next_head, .more, .free(request_free), .m_fetch_valid, .m_fetch_ready, .m_fetch, .m_fetch_user);

endmodule
