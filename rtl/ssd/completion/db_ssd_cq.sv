// SPDX-License-Identifier: Apache-2.0
// Completions: from a finished command to its completion queue entry and interrupt. (OpenExpress: CMT.) Wiring of
//
//   db_ssd_cq_engine    takes completions, makes entries, requests interrupts
//   db_ssd_cq_park      keeps those whose queue is full
//   db_ssd_cq_ctx       what is kept of each queue, in RAM
//   db_ssd_cq_doorbell  head doorbells
//   db_ssd_cq_level     which queues of the PF hold entries (INTx)
//
// A completion looks up its submission queue (which completion queue, what head), then that completion queue (base,
// size, tail, phase, head). If the queue is full the completion is parked and the engine goes on with others. A head
// doorbell of a queue that has parked ones, the creation or deletion of a completion queue, and the deletion of a
// submission queue let all that are parked try again: there is one FIFO, with room for every command there can be. The
// slot is free once the entry has been handed to PCIe; the interrupt request follows the entry, so the host never sees
// an interrupt without it. A completion whose queue, submission or completion, has been deleted is dropped, its slot is
// free: so a queue can be deleted though nobody reads its completions.
//
// Contexts are RAM. Head doorbells have a path of their own and never wait for a transfer.
// Latency: completion in to entry out 2 cycles, interrupt request and free slot 1 after the entry has been taken. The
// submission queue is looked up with the completion that comes in, and the entry is offered straight from the RAMs of
// the second lookup, which hold still until it is taken.
// Throughput: an entry every 3 cycles, every 4 where interrupts are enabled.
module db_ssd_cq
  import db_ssd_pkg::*, db_ssd_cq_pkg::*;
#(
  parameter int NUM_FN     = 1,     ///< functions, 1..17
  parameter int NUM_QP     = 32,    ///< I/O queue pairs, 1..254
  parameter int NUM_CMDS   = 128,   ///< command slots, 2..256
  parameter int ADMIN_CMDS = 16     ///< admin commands inside at most, as db_ssd_sq, 1..136
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             run,                ///< doorbell errors are reported
  /// Finished commands.
  input  logic             s_finished_valid,
  output logic             s_finished_ready,
  input  finished_t        s_finished,
  /// Head doorbells.
  input  logic             s_doorbell_valid,
  output logic             s_doorbell_ready,
  input  doorbell_t        s_doorbell,
  /// Contexts from the firmware; kind is QUEUE_CQ.
  input  logic             s_queue_ctx_valid,
  output logic             s_queue_ctx_ready,
  input  queue_ctx_t       s_queue_ctx,
  /// A submission queue's lookup; sq_lookup is there a cycle later.
  output logic [QID_W-1:0] sq_lookup_sqid,
  input  sq_lookup_t       sq_lookup,
  input  logic             sq_deleted,         ///< pulse: a submission queue is no more
  /// Entries to the host.
  output logic             m_post_valid,
  input  logic             m_post_ready,
  output cqe_post_t        m_post,
  output logic             m_irq_valid,
  input  logic             m_irq_ready,
  output irq_t             m_irq,
  /// Pulse: a command is over, its slot is free.
  output logic             m_retired_valid,
  output retired_t         m_retired,
  output logic             any_entries,        ///< some queue with interrupts enabled holds entries
  /// Pulse.
  output logic             m_doorbell_err_valid,
  output doorbell_err_t    m_doorbell_err,
  output logic             idle
);
  localparam int NUM_Q = NUM_FN + NUM_QP;
  localparam int AW    = $clog2(NUM_Q);

  if (NUM_QP < 1 || NUM_QP > 255 - NUM_FN) begin : g_bad_num_qp
    $error("%m: NUM_QP must be 1..255 - NUM_FN");
  end
  if (NUM_CMDS < 2 || NUM_CMDS > 256) begin : g_bad_num_cmds
    $error("%m: NUM_CMDS must be 2..256");
  end
  if (ADMIN_CMDS < 1 || ADMIN_CMDS > 136) begin : g_bad_admin_cmds
    $error("%m: ADMIN_CMDS must be 1..136");
  end

  cq_state_e        state;
  logic             changed, look, sent, hit, doorbell_busy, park_push, park_valid, park_pop, park_any;
  logic [AW-1:0]    new_queue, look_queue, queue, hit_queue;
  logic             bell_valid;
  cq_ctx_t          ctx;
  cq_tail_t         tail, tail_next;
  logic [15:0]      head, doorbell_size, doorbell_tail, hit_value, hit_tail;
  finished_t        work, parked;

  db_ssd_cq_engine #(.NUM_FN(NUM_FN), .NUM_Q(NUM_Q)) i_engine (
    .clk, .rst, .s_finished_valid, .s_finished_ready, .s_finished, .s_queue_ctx_valid, .s_queue_ctx_ready, .s_queue_ctx,
    .changed, .new_queue, .doorbell_busy, .sq_lookup_sqid, .sq_lookup, .state, .work, .look, .look_queue, .queue,
    .bell_queue(s_doorbell.number[AW-1:0]), .bell_valid, .ctx, .tail, .head, .tail_next, .sent, .park_push, .park_pop,
    .park_valid, .park_any, .parked,
    .m_post_valid, .m_post_ready, .m_post, .m_irq_valid, .m_irq_ready, .m_irq, .m_retired_valid, .m_retired,
    .s_doorbell_valid, .idle);

  db_ssd_cq_park #(.NUM_Q(NUM_Q), .NUM_CMDS(NUM_CMDS), .ADMIN_CMDS(ADMIN_CMDS)) i_park (
    .clk, .rst, .state, .look_queue, .queue, .changed, .new_queue, .sq_deleted, .hit, .hit_queue, .push(park_push),
    .work,
    .pop(park_pop), .valid(park_valid), .any(park_any), .parked);

  db_ssd_cq_ctx #(.NUM_Q(NUM_Q)) i_ctx (
    .clk, .changed, .new_queue, .s_queue_ctx, .look, .look_queue, .queue, .sent, .tail_next, .hit, .hit_queue,
    .hit_value,
    .ctx, .tail, .head, .doorbell_queue(s_doorbell.number[AW-1:0]), .doorbell_size, .doorbell_tail);

  db_ssd_cq_doorbell #(.NUM_Q(NUM_Q)) i_doorbell (
    .clk, .rst, .run, .s_doorbell_valid, .s_doorbell_ready, .s_doorbell, .changed, .queue_valid(bell_valid),
    .doorbell_size, .doorbell_tail, .hit, .hit_queue, .hit_value, .hit_tail, .m_doorbell_err_valid, .m_doorbell_err,
    .busy(doorbell_busy));

  db_ssd_cq_level #(.NUM_Q(NUM_Q)) i_level (
    .clk, .rst, .init(state == ST_INIT), .changed, .new_queue, .sent,
    .ien(ctx.ien && (NUM_FN == 1 || work.completion.fn == '0)), .queue, .hit, .hit_queue,
    .hit_value, .hit_tail, .any_entries);

endmodule
