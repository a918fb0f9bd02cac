// SPDX-License-Identifier: Apache-2.0
// Takes contexts and tail doorbells of submission queues, and gives turns to request entries: one thing at a time.
//
// Contexts come first, then doorbells, then the admin queue's turn, then the ready lists'. Which queues exist and which
// stand in a list is kept here, two bits a queue. The state is given to all parts of db_ssd_sq, which see in it when to
// do their share. Latency, throughput: see db_ssd_sq.
module db_ssd_sq_engine
  import db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int  NUM_Q = 33,                      ///< submission queues, the admin queue's included
  localparam int AW    = $clog2(NUM_Q)
) (
  input  logic             clk,
  input  logic             rst,
  input  logic             run,
  input  logic             s_doorbell_valid,
  output logic             s_doorbell_ready,
  input  doorbell_t        s_doorbell,
  input  logic             s_queue_ctx_valid,
  output logic             s_queue_ctx_ready,
  input  queue_ctx_t       s_queue_ctx,
  input  logic             wrr,                   ///< weighted round robin
  output sq_state_e        state,
  output logic [AW-1:0]    queue,                 ///< queue at work
  output logic [AW-1:0]    queue_next,            ///< ... in the next cycle: what RAM reads now
  output logic [NUM_Q-1:0] queue_valid,           ///< queues that exist
  output logic [NUM_Q-1:0] queue_listed,          ///< queues with entries, in a list or at work
  output queue_ctx_t       new_ctx,               ///< in ST_CTX
  output logic [15:0]      doorbell_value,        ///< in ST_DOORBELL
  output logic             doorbell_bad,          ///< ... it is no place of the queue
  output logic             admin_turn,            ///< the queue at work is the admin queue
  input  sq_ctx_t          ctx,                   ///< of the queue at work
  input  logic [15:0]      head,                  ///< ... its next entry
  input  logic             more,                  ///< in ST_GO: entries are left after this turn
  input  logic             request_free,          ///< the last request has been handed over
  input  logic             list_any,              ///< a list may be served
  input  logic             lists_empty,
  input  logic [AW-1:0]    list_queue,            ///< the queue whose turn it is
  output logic             list_push,             ///< the queue at work goes to the end of its list
  output logic             list_pop,
  input  logic             io_free,               ///< there is a slot for an I/O command
  input  logic             admin_free,            ///< there is room for an admin command
  input  logic             retiring,              ///< a command's end is being counted
  output logic             m_doorbell_err_valid,
  output doorbell_err_t    m_doorbell_err,
  output logic             idle
);
  sq_state_e        state_q;
  logic [AW-1:0]    queue_q;
  logic [NUM_Q-1:0] valid_q, listed_q;
  queue_ctx_t       ctx_q;
  logic [15:0]      value_q;
  logic             admin_turn_q, fetch_ok, admin_go, io_go;
  logic             enlist;                       // the queue at work has entries
  logic             at_once;                      // ... and is served without a turn in its list

  assign state          = state_q;
  assign queue          = queue_q;
  assign queue_valid    = valid_q;
  assign queue_listed   = listed_q;
  assign new_ctx        = ctx_q;
  assign doorbell_value = value_q;
  assign doorbell_bad   = value_q > ctx.size;
  assign admin_turn     = admin_turn_q;

  assign fetch_ok = run && request_free;
  assign admin_go = fetch_ok && listed_q[0] && admin_free;
  assign io_go    = fetch_ok && list_any && io_free;

  // What the state after ST_IDLE works on is read from RAM there.
  always_comb begin
    queue_next = queue_q;
    if (state_q == ST_INIT) queue_next = queue_q + 1'b1;
    if (state_q == ST_IDLE) begin
      if (s_queue_ctx_valid)     queue_next = s_queue_ctx.qid[AW-1:0];
      else if (s_doorbell_valid) queue_next = s_doorbell.qid[AW-1:0];
      else if (admin_go)         queue_next = '0;
      else                       queue_next = list_queue;
    end
  end

  assign s_queue_ctx_ready = state_q == ST_IDLE;
  assign s_doorbell_ready  = state_q == ST_IDLE && !s_queue_ctx_valid;

  always_comb begin
    enlist = 1'b0;
    if (state_q == ST_DOORBELL) enlist = !doorbell_bad && !listed_q[queue_q] && value_q != head;
    if (state_q == ST_GO)       enlist = more;
    at_once = state_q == ST_DOORBELL && !wrr && fetch_ok && lists_empty && !listed_q[0] &&
              (admin_turn_q ? admin_free : io_free);
  end
  assign list_push = enlist && !at_once && queue_q != '0;
  assign list_pop  = state_q == ST_IDLE && !s_queue_ctx_valid && !s_doorbell_valid && !admin_go && io_go;

  always_ff @(posedge clk) begin
    m_doorbell_err_valid <= 1'b0;
    queue_q              <= queue_next;
    unique case (state_q)
      ST_INIT: if (queue_q == AW'(NUM_Q - 1)) state_q <= ST_IDLE;
      ST_IDLE: begin
        ctx_q        <= s_queue_ctx;
        value_q      <= s_doorbell.value;
        admin_turn_q <= s_doorbell_valid ? s_doorbell.qid == '0 : admin_go;
        if (s_queue_ctx_valid) begin
          state_q <= ST_CTX;
        end else if (s_doorbell_valid) begin
          m_doorbell_err <= '{kind: 1'b0, qid: s_doorbell.qid[QID_W-1:0]};
          if (s_doorbell.fn != '0 || s_doorbell.qid >= 9'(NUM_Q) || !valid_q[s_doorbell.qid[AW-1:0]])
            m_doorbell_err_valid <= run;
          else state_q <= ST_DOORBELL;
        end else if (admin_go || io_go) begin
          state_q <= ST_AVAIL;
        end
      end
      ST_CTX: begin
        valid_q[queue_q] <= ctx_q.valid;
        state_q          <= ST_IDLE;
      end
      ST_DOORBELL: begin
        if (doorbell_bad) begin
          m_doorbell_err_valid <= run;
          m_doorbell_err.kind  <= 1'b1;
        end
        if (enlist) listed_q[queue_q] <= 1'b1;
        state_q <= (enlist && at_once) ? ST_COUNT : ST_IDLE;
      end
      ST_AVAIL: state_q <= ST_COUNT;
      ST_COUNT: state_q <= ST_GO;
      ST_GO: begin
        listed_q[queue_q] <= enlist;
        state_q           <= ST_IDLE;
      end
      default: state_q <= ST_IDLE;
    endcase
    if (rst) begin
      state_q              <= ST_INIT;
      queue_q              <= '0;
      valid_q              <= '0;
      listed_q             <= '0;
      m_doorbell_err_valid <= 1'b0;
    end
  end

  // A queue without credit has some a cycle later, so idle does not look at credit.
  assign idle = state_q == ST_IDLE && request_free && !retiring &&
                !(run && ((listed_q[0] && admin_free) || (!lists_empty && io_free))) &&
                !s_doorbell_valid && !s_queue_ctx_valid;

endmodule
