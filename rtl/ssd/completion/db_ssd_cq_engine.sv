// SPDX-License-Identifier: Apache-2.0
// Takes finished commands and parked ones that try again, makes their completion queue entries, requests interrupts.
//
// Two lookups: submission queue (asked for while the completion is taken), then completion queue. The entry is offered
// straight from the memories of the second lookup, which hold still until it is taken. Contexts from the firmware are
// taken between two completions, when no doorbell is on its way. Latency, throughput: see db_ssd_cq.
module db_ssd_cq_engine
  import db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_cq_pkg::*;
#(
  parameter int  NUM_FN = 1,                     ///< functions: their admin queues are the first so many
  parameter int  NUM_Q = 33,                     ///< completion queues, admin queues included
  localparam int AW    = $clog2(NUM_Q)
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             s_finished_valid,
  output logic             s_finished_ready,
  input  finished_t        s_finished,
  input  logic             s_queue_ctx_valid,
  output logic             s_queue_ctx_ready,
  input  queue_ctx_t       s_queue_ctx,
  output logic             changed,              ///< a queue is created or deleted
  output logic [AW-1:0]    new_queue,            ///< ... this one
  input  logic             doorbell_busy,        ///< a doorbell is on its way
  output logic [QID_W-1:0] sq_lookup_sqid,
  input  sq_lookup_t       sq_lookup,
  output cq_state_e        state,
  output finished_t        work,                 ///< the completion at work
  output logic             look,                 ///< look_queue is looked up
  output logic [AW-1:0]    look_queue,
  output logic [AW-1:0]    queue,                ///< completion queue of the completion at work, from ST_POST on
  input  logic [AW-1:0]    bell_queue,           ///< a doorbell's
  output logic             bell_valid,           ///< ... it exists
  /// Of the queue that was looked up.
  input  cq_ctx_t          ctx,
  input  cq_tail_t         tail,
  input  logic [15:0]      head,
  output cq_tail_t         tail_next,
  output logic             sent,                 ///< an entry is handed over: the tail moves
  output logic             park_push,            ///< work's queue is full
  output logic             park_pop,
  input  logic             park_valid,
  input  logic             park_any,             ///< parked ones are to try again; with one function they come first
  input  finished_t        parked,
  output logic             m_post_valid,
  input  logic             m_post_ready,
  output cqe_post_t        m_post,
  output logic             m_irq_valid,
  input  logic             m_irq_ready,
  output irq_t             m_irq,
  output logic             m_retired_valid,
  output retired_t         m_retired,
  input  logic             s_doorbell_valid,
  output logic             idle
);
  cq_state_e        state_q;
  finished_t        work_d, work_q;
  logic [AW-1:0]    queue_q, init_q;
  logic             known_q;                     // the queues of the completion at work exist, and it makes an entry
  logic [15:0]      sqhd_q;
  logic             look_valid;                  // look_queue exists
  logic [QID_W-1:0] host_qid_q;                  // several functions: the submission queue, as its host calls it
  logic             irq_admin_q, full, wrap;
  logic             retry, new_turn_q;           // a parked one is next; it is a new one's turn

  assign state       = state_q;
  assign work        = work_q;
  assign queue       = queue_q;

  // With several functions parked ones take turns with others: they may be one function's, which rings for ever.
  assign retry             = park_any && !(new_turn_q && s_finished_valid);
  assign s_finished_ready  = state_q == ST_IDLE && (!park_any || new_turn_q);
  assign park_pop          = state_q == ST_IDLE && retry && park_valid;
  assign park_push         = state_q == ST_PARK;
  assign work_d            = retry ? parked : s_finished;
  assign s_queue_ctx_ready = state_q == ST_IDLE && !doorbell_busy && (!park_any || NUM_FN > 1);
  assign changed           = s_queue_ctx_valid && s_queue_ctx_ready;
  assign new_queue         = s_queue_ctx.qid[AW-1:0];

  assign sq_lookup_sqid = work_d.completion.sqid;        // used in ST_IDLE
  assign look_queue     = sq_lookup.cqid[AW-1:0];
  assign look           = state_q == ST_CQ;

  assign wrap         = tail.index == ctx.size;
  assign tail_next    = wrap ? {!tail.phase, 16'd0} : {tail.phase, tail.index + 16'd1};
  assign full         = known_q && (wrap ? head == 16'd0 : head == tail.index + 16'd1);
  assign m_post_valid = state_q == ST_POST && known_q && !full;
  assign sent         = m_post_valid && m_post_ready;
  assign m_post.fn    = work_q.completion.fn;
  assign m_post.addr  = {ctx.base + 52'(tail.index[15:8]), tail.index[7:0], 4'd0};
  assign m_post.cqe   = '{status: work_q.completion.status, phase: tail.phase, cid: work_q.completion.cid,
                          sqid: 16'(NUM_FN == 1 ? work_q.completion.sqid : host_qid_q), sqhd: sqhd_q, dw1: 32'd0,
                          dw0: work_q.completion.dw0};
  assign m_irq        = '{vector: ctx.vector, admin: irq_admin_q};
  assign m_retired    = '{io: work_q.io, slot: work_q.slot, sqid: work_q.completion.sqid};

  db_ssd_queue_exists #(.NUM_Q(NUM_Q)) i_exists (
    .clk, .rst, .init(state_q == ST_INIT), .init_at(init_q), .we(changed), .waddr(new_queue), .wdata(s_queue_ctx.valid),
    .look({bell_queue, look_queue}), .exists({bell_valid, look_valid}));

  always_ff @(posedge clk) begin
    m_retired_valid <= 1'b0;
    unique case (state_q)
      ST_INIT: begin
        init_q <= init_q + 1'b1;
        if (init_q == AW'(NUM_Q - 1)) state_q <= ST_IDLE;
      end
      ST_IDLE: begin
        work_q <= work_d;
        new_turn_q <= NUM_FN > 1 && park_pop;
        if (park_pop || (s_finished_valid && s_finished_ready)) state_q <= ST_CQ;
      end
      ST_CQ: begin                                       // sq_lookup is here
        queue_q <= look_queue;
        sqhd_q  <= sq_lookup.head;
        host_qid_q <= sq_lookup.host_qid;
        known_q <= look_valid && sq_lookup.valid && !work_q.drop;
        state_q <= ST_POST;
      end
      ST_POST: begin                                     // the completion queue's context is here
        if (full) state_q <= ST_PARK;
        else if (sent || !known_q) begin
          m_irq_valid     <= known_q && ctx.ien;
          irq_admin_q     <= is_admin_queue(QID_W'(queue_q), NUM_FN);
          m_retired_valid <= 1'b1;
          state_q         <= (known_q && ctx.ien) ? ST_IRQ : ST_IDLE;
        end
      end
      ST_PARK: state_q <= ST_IDLE;
      ST_IRQ: if (m_irq_ready) begin
        m_irq_valid <= 1'b0;
        state_q     <= ST_IDLE;
      end
      default: state_q <= ST_IDLE;
    endcase
    if (rst) begin
      state_q         <= ST_INIT;
      init_q          <= '0;
      new_turn_q      <= 1'b0;
      m_irq_valid     <= 1'b0;
      m_retired_valid <= 1'b0;
    end
  end

  // Completions that are to come back leave ST_IDLE within three cycles, so idle does not look at them.
  assign idle = state_q == ST_IDLE && !doorbell_busy && !s_finished_valid && !s_doorbell_valid && !s_queue_ctx_valid;

endmodule
