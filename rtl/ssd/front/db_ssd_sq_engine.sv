// SPDX-License-Identifier: Apache-2.0
// Takes contexts, ends of commands and tail doorbells of submission queues, and gives turns to request entries: one
// thing at a time.
//
// Commands that are over come first, then contexts, doorbells, an admin queue's turn, and the ready lists'. Which
// queues exist is kept here (db_ssd_queue_exists); where a queue stands, in RAM (db_ssd_sq_ctx). A queue that has entries
// is in its class's shared list, and in the own list too while it is below its guaranteed share of slots; with its largest
// share inside it is in none until one of its commands is over, and one with many commands inside until several are.
// The state is given to all parts of db_ssd_sq, which see in it when to do their part. Latency, throughput: db_ssd_sq.
module db_ssd_sq_engine
  import db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int  NUM_FN = 1,                      ///< functions: their admin queues are the first so many
  parameter int  NUM_Q = 33,                      ///< submission queues, admin queues included
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
  output logic             queue_valid,           ///< the queue at work exists
  output queue_ctx_t       new_ctx,               ///< in ST_CTX
  output logic [15:0]      doorbell_value,        ///< in ST_DOORBELL
  output logic             doorbell_bad,          ///< ... it is no place of the queue
  output logic             deleted,               ///< pulse: a queue is no more
  output logic             admin_turn,            ///< the queue at work is the admin queue
  input  sq_ctx_t          ctx,                   ///< of the queue at work
  input  logic [15:0]      head,                  ///< ... its next entry
  input  sq_share_t        share,                 ///< ... how it stands
  input  sq_share_t        share_next,            ///< ... with its commands counted (db_ssd_sq_credit)
  output logic             share_we,
  output sq_share_t        share_w,
  /// A command is over; two are at least 3 cycles apart.
  input  logic             s_retired_valid,
  input  logic [QID_W-1:0] s_retired_sqid,
  output logic             retiring,              ///< one is still to be counted
  input  logic             more,                  ///< in ST_GO: entries are left after this turn
  input  logic             request_free,          ///< the last request has been handed over
  input  logic             list_any,              ///< a list may be served
  input  logic             list_some,             ///< a queue is in a list that is served now
  input  logic [AW-1:0]    list_queue,            ///< the queue whose turn it is
  input  logic             list_shared,           ///< ... in a shared list
  output logic             push_own,              ///< the queue at work goes to the end of its class's own list
  output logic             push_shared,
  output logic             list_go,               ///< if list_any too, list_queue leaves its list: its turn begins
  input  logic             io_free,               ///< there is a slot for an I/O command
  input  logic             gathering,             ///< ... there will be more, a moment later
  /// ST_DOORBELL: the queue's function may have a turn at once; ... beyond the queue's guaranteed share.
  input  logic             once_may,
  input  logic             once_shared,
  output logic             calm,                  ///< ST_DOORBELL: no other queue waits for a turn
  input  logic             admin_free,            ///< there is room for an admin command
  output logic             m_doorbell_err_valid,
  output doorbell_err_t    m_doorbell_err,
  output logic             idle
);
  sq_state_e        state_q;
  logic [AW-1:0]    queue_q;
  logic             bell_valid;                   // the doorbell's queue exists
  logic             admin_any;                    // an admin queue has entries
  logic [AW-1:0]    admin_queue;                  // the one whose turn it is
  queue_ctx_t       ctx_q;
  logic [15:0]      value_q;
  logic             admin_turn_q, fetch_ok, admin_go, io_may, list_pop, done_valid, done_ready, done_take;
  logic             run_q;                        // run, a cycle later: it comes from many places
  logic             ctx_waits_q;                  // a context is offered, seen a cycle later: it comes from afar
  logic             calm_q;
  logic             from_own_q, from_shared_q;    // the turn's queue was taken from that list
  logic             from_admin_q, push_admin;     // with several functions: from the list of admin queues, to it
  logic             at_io, at_io_next;            // the queue at work is no admin queue; in the next cycle
  logic             admin_may;                    // an admin queue at work may be served
  logic             enlist;                       // the queue at work has entries
  logic             at_once;                      // ... and is served without a turn in its list
  logic             listing;                      // ... and waits for one
  logic             collect;                      // ... and waits, as it has many commands inside
  logic             delete;                       // the queue at work is deleted
  logic             begin_admin;                  // ... an admin queue, made anew: with it, its commands are forgotten
  logic [AW-1:0]    done_queue;
  sq_share_t        stand;                        // the queue at work, before it goes to a list

  localparam int DEEP    = 16;            // commands from which on a queue's entries are collected, 2^n
  localparam int BATCH_W = $clog2(DEEP) - 1;

  assign state          = state_q;
  assign queue          = queue_q;
  assign new_ctx        = ctx_q;
  assign doorbell_value = value_q;
  assign doorbell_bad   = value_q > ctx.size;
  assign admin_turn     = admin_turn_q;
  assign calm           = calm_q;

  assign fetch_ok = run_q && request_free;
  assign admin_go = fetch_ok && admin_any && admin_free;
  assign io_may   = fetch_ok && io_free;

  // At most two are over while something else goes on, and nothing is begun before they are counted: never full.
  db_fifo #(.WIDTH(AW), .DEPTH(8)) i_done (
    .clk, .rst, .s_valid(s_retired_valid), .s_ready(done_ready), .s_data(s_retired_sqid[AW-1:0]), .m_valid(done_valid),
    .m_ready(done_take), .m_data(done_queue), .level());
  assert property (@(posedge clk) disable iff (rst) !s_retired_valid || done_ready);
  assign done_take = state_q == ST_IDLE;
  assign admin_may = admin_free && (NUM_FN == 1 || !share.full);
  assign delete    = state_q == ST_CTX && !ctx_q.valid && !ctx_q.watch;
  assign begin_admin = NUM_FN > 1 && state_q == ST_CTX && ctx_q.valid && !ctx_q.watch && !at_io;
  assign retiring  = s_retired_valid || done_valid;

  // What the state after ST_IDLE works on is read from RAM there.
  always_comb begin
    queue_next = queue_q;
    at_io_next = 1'b1;                            // those in lists are
    if (state_q == ST_INIT) queue_next = queue_q + 1'b1;
    if (state_q == ST_IDLE) begin
      if (done_valid) begin
        queue_next = done_queue;
        at_io_next = !is_admin_queue(QID_W'(done_queue), NUM_FN);
      end else if (ctx_waits_q) begin
        queue_next = s_queue_ctx.qid[AW-1:0];
        at_io_next = !is_admin_queue(s_queue_ctx.qid, NUM_FN);
      end else if (s_doorbell_valid) begin
        queue_next = s_doorbell.number[AW-1:0];
        at_io_next = !is_admin_queue(s_doorbell.number, NUM_FN);
      end else if (admin_go) begin
        queue_next = admin_queue;
        at_io_next = 1'b0;
      end else begin
        queue_next = list_queue;
      end
    end
  end

  assign s_queue_ctx_ready = state_q == ST_IDLE && !done_valid && ctx_waits_q;
  assign s_doorbell_ready  = state_q == ST_IDLE && !done_valid && !ctx_waits_q;

  always_comb begin
    enlist = 1'b0;
    if (state_q == ST_DOORBELL) enlist = !doorbell_bad && !share.listed && value_q != head;
    if (state_q == ST_GO)       enlist = more;
    if (state_q == ST_RETIRE)   enlist = share.listed;
    // The entries of a queue that has many commands inside are not missed yet: they are asked for DEEP / 2 at once, as
    // commands are over. With weights, turns are what a queue has, so it misses none.
    unique case (state_q)
      ST_DOORBELL: collect = !wrr && share.cmds >= 9'(DEEP);
      ST_RETIRE:   collect = !wrr && share.cmds > 9'(DEEP) && share.cmds[BATCH_W-1:0] != BATCH_W'(1);  // one is over
      default:     collect = 1'b0;
    endcase
    at_once = state_q == ST_DOORBELL && calm_q && request_free && !collect &&
              (admin_turn_q ? admin_may : io_free && once_may && (once_shared ? !share.full : share.below));

    listing = enlist && !at_once;
    stand = (state_q inside {ST_DOORBELL, ST_CTX}) ? share : share_next;
    if (from_own_q)    stand.in_own    = 1'b0;
    if (from_shared_q || from_admin_q) stand.in_shared = 1'b0;
    push_own    = listing && at_io && stand.below && !stand.in_own;
    push_shared = listing && at_io && !collect && !stand.full && !stand.in_shared;
    push_admin  = NUM_FN > 1 && listing && !at_io && !stand.full && !stand.in_shared;

    // A queue that is deleted has nothing to request any more; its place in a list, if it has one, stays and takes nothing.
    share_we          = state_q inside {ST_INIT, ST_RETIRE, ST_DOORBELL, ST_GO} || delete || begin_admin;
    share_w           = stand;
    share_w.in_own    = stand.in_own || push_own;
    share_w.in_shared = stand.in_shared || push_shared || push_admin;
    unique case (state_q)
      ST_GO:       share_w.listed = more;
      ST_DOORBELL: share_w.listed = share.listed || enlist;
      ST_CTX:      share_w.listed = NUM_FN == 1 && share.listed && !at_io;
      default: ;
    endcase
    if (begin_admin) share_w = '{in_shared: share.in_shared, below: 1'b1, default: '0};
  end
  db_ssd_queue_exists #(.NUM_Q(NUM_Q)) i_exists (
    .clk, .rst, .init(state_q == ST_INIT), .init_at(queue_q), .we(state_q == ST_CTX && !ctx_q.watch), .waddr(queue_q),
    .wdata(ctx_q.valid), .look({s_doorbell.number[AW-1:0], queue_q}), .exists({bell_valid, queue_valid}));
  logic admin_pop;
  assign admin_pop = state_q == ST_IDLE && !ctx_waits_q && !done_valid && !s_doorbell_valid && admin_go;
  db_ssd_sq_admin #(.NUM_FN(NUM_FN), .AW(AW)) i_admin (
    .clk, .rst, .s_listed(state_q == ST_DOORBELL && enlist && admin_turn_q),
    .s_turn(state_q == ST_GO && admin_turn_q), .s_more(enlist), .push(push_admin), .queue(queue_q), .pop(admin_pop),
    .any(admin_any), .next_queue(admin_queue));
  assign list_go  = state_q == ST_IDLE && !ctx_waits_q && !done_valid && !s_doorbell_valid && !admin_go && io_may;
  assign list_pop = list_go && list_any;

  always_ff @(posedge clk) begin
    m_doorbell_err_valid <= 1'b0;
    deleted              <= delete && !rst;
    queue_q              <= queue_next;
    if (state_q == ST_IDLE) at_io <= at_io_next;
    run_q                <= run;
    ctx_waits_q          <= s_queue_ctx_valid && !s_queue_ctx_ready;
    calm_q               <= !wrr && run_q && !list_some && !admin_any;
    unique case (state_q)
      ST_INIT: if (queue_q == AW'(NUM_Q - 1)) state_q <= ST_IDLE;
      ST_IDLE: begin
        ctx_q        <= s_queue_ctx;
        value_q      <= s_doorbell.value;
        admin_turn_q <= done_valid ? is_admin_queue(QID_W'(done_queue), NUM_FN)
                      : s_doorbell_valid ? is_admin_queue(s_doorbell.number, NUM_FN) : admin_go;
        from_own_q    <= list_pop && !list_shared;
        from_shared_q <= list_pop && list_shared;
        from_admin_q  <= NUM_FN > 1 && admin_pop;
        if (done_valid) begin
          state_q <= ST_RETIRE;
        end else if (ctx_waits_q) begin
          state_q <= ST_CTX;
        end else if (s_doorbell_valid) begin
          m_doorbell_err <= '{kind: 1'b0, fn: s_doorbell.fn, qid: s_doorbell.qid[QID_W-1:0]};
          if (!s_doorbell.exists || !bell_valid)
            m_doorbell_err_valid <= run;
          else state_q <= ST_DOORBELL;
        end else if (admin_go || (io_may && list_any)) begin
          state_q <= ST_AVAIL;
        end
      end
      ST_CTX: begin
        state_q <= ST_IDLE;
      end
      ST_DOORBELL: begin
        if (doorbell_bad) begin
          m_doorbell_err_valid <= run;
          m_doorbell_err.kind  <= 1'b1;
        end
        state_q <= (enlist && at_once) ? ST_COUNT : ST_IDLE;
      end
      ST_RETIRE: state_q <= ST_IDLE;
      ST_AVAIL: state_q <= ST_COUNT;
      ST_COUNT: state_q <= ST_GO;
      ST_GO: state_q <= ST_IDLE;
      default: state_q <= ST_IDLE;
    endcase
    if (rst) begin
      state_q              <= ST_INIT;
      queue_q              <= '0;
      run_q                <= 1'b0;
      ctx_waits_q          <= 1'b0;
      from_own_q           <= 1'b0;
      from_shared_q        <= 1'b0;
      from_admin_q         <= 1'b0;
      m_doorbell_err_valid <= 1'b0;
    end
  end

  // A queue without credit has some a cycle later, so idle does not look at credit.
  assign idle = state_q == ST_IDLE && request_free && !retiring &&
                !(run && !run_q) &&
                !(run_q && (gathering || (admin_any && admin_free) || (io_free && list_some))) &&
                !s_doorbell_valid && !s_queue_ctx_valid;

endmodule
