// SPDX-License-Identifier: Apache-2.0
// Submission queues: contexts, tail doorbells, arbitration, requests for entries. (OpenExpress: FET and CTX.)
//
// Every queue that has entries stands once in the ready list of its class; the head of a list is served, and goes to
// the list's end if it has more. That is round robin at a cost that does not grow with queues: contexts, tails and
// heads are RAM, and only two bits a queue are registers. Classes: admin, then urgent, then high, medium and low by
// weight (CC.AMS = 1); without weights all I/O queues are in one class (Base 2.0, 3.4.4).
// I/O entries are requested only when a command slot is free for each, so that what has been requested can always be
// taken in, and an admin command never stands behind an I/O command that cannot go on. Admin entries are limited too:
// the firmware's queue takes them all, so they never stand before an I/O command, and so does db_ssd_cq when it must
// keep their completions.
//
// A doorbell that finds all lists empty is served at once, without a turn in its list.
// Latency: doorbell to request 4 cycles. Throughput: a doorbell 2 cycles, a request of up to FETCH_MAX entries 4, or 5
// if one queue has them all.
module db_ssd_sq
  import db_ssd_pkg::*;
#(
  parameter int NUM_QP     = 32,  // I/O queue pairs, 1..254
  parameter int NUM_CMDS   = 128, // command slots, 2..256
  parameter int ADMIN_CMDS = 16,  // admin commands inside at most, 1..64
  parameter int FETCH_MAX  = 8    // entries a read request, 1..64
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              run,          // entries may be requested
  // tail doorbells
  input  logic              s_db_valid,
  output logic              s_db_ready,
  input  logic [FN_W-1:0]   s_db_fn,
  input  logic [8:0]        s_db_qid,
  input  logic [15:0]       s_db_value,
  // queue contexts from the firmware; kind is QUEUE_SQ
  input  logic              s_qc_valid,
  output logic              s_qc_ready,
  input  queue_ctx_t             s_qc,
  // arbitration: burst 2^n entries (7: no limit), weights - 1
  input  logic [2:0]        arb_burst,
  input  logic [7:0]        arb_lpw,
  input  logic [7:0]        arb_mpw,
  input  logic [7:0]        arb_hpw,
  input  logic              arb_wrr,
  // read requests for entries, one packet each; user {fn, sqid, index of the first entry, queue size - 1}
  output logic              m_req_valid,
  input  logic              m_req_ready,
  output logic [63:0]       m_req_addr,
  output logic [12:0]       m_req_len,
  output logic [FN_W+QID_W+31:0] m_req_user,
  // an entry of queue sqid has been taken in: its queue's head is now `head`
  input  logic              s_head_valid,
  input  logic [QID_W-1:0]  s_head_sqid,
  input  logic [15:0]       s_head,
  // completion engine: where does a queue report to, and what is its head (1 cycle)
  input  logic [QID_W-1:0]  lk_sqid,
  output logic [QID_W-1:0]  lk_cqid,
  output logic [15:0]       lk_head,
  // a completion of queue sqid has been posted
  input  logic              s_done_valid,
  input  logic [QID_W-1:0]  s_done_sqid,
  // for the firmware: does queue q_sel hold commands (2 cycles after q_sel); I/O commands inside
  input  logic [QID_W-1:0]  q_sel,
  output logic              q_inflight,
  output logic [15:0]       cmds_inflight,
  // doorbell errors: kind 0 no such queue, 1 value not in the queue
  output logic              m_dberr_valid,
  output logic              m_dberr_kind,
  output logic [QID_W-1:0]  m_dberr_qid,
  output logic              idle
);
  localparam int NUM_Q = NUM_QP + 1;
  localparam int AW    = $clog2(NUM_Q);
  localparam int LIST  = 2 ** $clog2(NUM_Q + 1);

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

  typedef struct packed {
    logic [51:0]      base;
    logic [15:0]      size;   // entries - 1
    logic [1:0]       class_; // list that serves it: 0 urgent, 1 high, 2 medium, 3 low
  } ctx_t;
  typedef struct packed {
    logic [15:0] head;        // next entry to request
    logic [15:0] issued;      // commands requested, modulo 2^16
  } pos_t;

  typedef enum logic [3:0] {ST_INIT, ST_IDLE, ST_QC, ST_DB, ST_F_AVAIL, ST_F_MIN, ST_F_GO} state_e;
  state_e state_q;
  queue_ctx_t  qc_q;                             // context write at work

  // ---- contexts
  logic [AW-1:0]  q_q, q_d;                 // queue at work, and in the next cycle
  logic           ctx_we, tail_we, pos_we;
  ctx_t           ctx_w, ctx_r;
  logic [15:0]    tail_w, tail_r;
  pos_t           pos_w, pos_r, pos_sel_r;
  logic [15:0]    done_w, done_r, done_sel_r;
  logic [NUM_Q-1:0] valid_q, listed_q;
  logic [$bits(ctx_t)-1:0] ctx_rdata;
  logic [$bits(pos_t)-1:0] pos_rdata, pos_sel_rdata;
  assign ctx_r     = ctx_t'(ctx_rdata);
  assign pos_r     = pos_t'(pos_rdata);
  assign pos_sel_r = pos_t'(pos_sel_rdata);

  db_ram_sdp #(.WIDTH($bits(ctx_t)), .DEPTH(NUM_Q)) i_ctx (
    .clk, .we(ctx_we), .waddr(q_q), .wdata(ctx_w), .re(1'b1), .raddr(q_d), .rdata(ctx_rdata));
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_tail (
    .clk, .we(tail_we), .waddr(q_q), .wdata(tail_w), .re(1'b1), .raddr(q_d), .rdata(tail_r));
  db_ram_sdp #(.WIDTH($bits(pos_t)), .DEPTH(NUM_Q)) i_pos (
    .clk, .we(pos_we), .waddr(q_q), .wdata(pos_w), .re(1'b1), .raddr(q_d), .rdata(pos_rdata));
  db_ram_sdp #(.WIDTH($bits(pos_t)), .DEPTH(NUM_Q)) i_pos_sel (
    .clk, .we(pos_we), .waddr(q_q), .wdata(pos_w), .re(1'b1), .raddr(q_sel[AW-1:0]), .rdata(pos_sel_rdata));
  // the completion engine's view: where a queue reports to (context), how far its entries have been taken in
  db_ram_sdp #(.WIDTH(QID_W), .DEPTH(NUM_Q)) i_cqid (
    .clk, .we(ctx_we), .waddr(q_q), .wdata(qc_q.cqid), .re(1'b1), .raddr(lk_sqid[AW-1:0]), .rdata(lk_cqid));
  logic          head_we;
  logic [AW-1:0] head_waddr;
  assign head_we    = s_head_valid || (state_q == ST_QC && qc_q.valid) || state_q == ST_INIT;
  assign head_waddr = s_head_valid ? s_head_sqid[AW-1:0] : q_q;
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_head (
    .clk, .we(head_we), .waddr(head_waddr), .wdata(s_head_valid ? s_head : 16'd0),
    .re(1'b1), .raddr(lk_sqid[AW-1:0]), .rdata(lk_head));

  // ---- completed commands of each queue: read, then write one more; two of one queue are never 1 cycle apart
  logic          done1_q;
  logic [AW-1:0] done1_sqid_q;
  logic          done_we;
  logic [AW-1:0] done_waddr;
  assign done_we    = done1_q || state_q == ST_INIT;
  assign done_waddr = done1_q ? done1_sqid_q : q_q;
  assign done_w     = done1_q ? done_r + 16'd1 : 16'd0;
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_done (
    .clk, .we(done_we), .waddr(done_waddr), .wdata(done_w),
    .re(1'b1), .raddr(s_done_sqid[AW-1:0]), .rdata(done_r));
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_done_sel (
    .clk, .we(done_we), .waddr(done_waddr), .wdata(done_w),
    .re(1'b1), .raddr(q_sel[AW-1:0]), .rdata(done_sel_r));
  always_ff @(posedge clk) begin
    done1_q      <= s_done_valid && !rst;
    done1_sqid_q <= s_done_sqid[AW-1:0];
    q_inflight   <= pos_sel_r.issued != done_sel_r || listed_q[q_sel[AW-1:0]] || state_q != ST_IDLE;
  end

  // ---- ready lists
  logic [3:0]         list_push, list_pop, list_valid;
  logic [4*AW-1:0]    list_head;
  for (genvar i = 0; i < 4; i++) begin : g_list
    db_fifo #(.WIDTH(AW), .DEPTH(LIST)) i_list (
      .clk, .rst, .s_valid(list_push[i]), .s_ready(), .s_data(q_q),
      .m_valid(list_valid[i]), .m_ready(list_pop[i]), .m_data(list_head[i*AW +: AW]), .level());
  end

  // ---- who is next: urgent first, then the weighted classes as long as they have credit
  logic [8:0] credit_q [3];                 // high, medium, low
  logic [3:0] may;
  logic [1:0] pick;
  logic       any, reload;
  always_comb begin
    may[0] = list_valid[0];
    for (int i = 0; i < 3; i++) may[i+1] = list_valid[i+1] && (!arb_wrr || credit_q[i] != 9'd0);
    reload = list_valid[3:1] != 3'd0 && may[3:1] == 3'd0;
    any    = may != 4'd0;
    pick   = may[0] ? 2'd0 : may[1] ? 2'd1 : may[2] ? 2'd2 : 2'd3;
  end

  // ---- the engine
  logic [15:0] value_q;
  logic        bad;                         // doorbell value outside the queue
  logic        admin_turn_q;                // the queue at work is the admin queue
  logic [15:0] tail_now, to_end, avail_q;
  logic [6:0]  page_q, n_d, n_q, limit_q;
  logic        wrap_q, tail_0_q;            // what is available ends with the queue's memory; the tail is 0
  logic        all_d, all_q;                // this turn takes all that is available
  logic        valid_now_q;                 // the queue at work exists
  logic        at_once;                     // a doorbell's queue is served without a turn
  logic [8:0]  free_q;
  logic [6:0]  admin_free_q;
  logic        admin_go, io_go, fetch_ok;
  logic        req_ready;
  logic [15:0] next_head;

  assign bad      = value_q > ctx_r.size;
  assign fetch_ok = run && req_ready;
  assign admin_go = fetch_ok && listed_q[0] && admin_free_q != 7'd0;
  assign io_go    = fetch_ok && any && free_q != 9'd0;

  // What the state after ST_IDLE works on is read from RAM there.
  always_comb begin
    q_d = q_q;
    if (state_q == ST_INIT) q_d = q_q + 1'b1;
    if (state_q == ST_IDLE) begin
      if (s_qc_valid)      q_d = s_qc.qid[AW-1:0];
      else if (s_db_valid) q_d = s_db_qid[AW-1:0];
      else if (admin_go)   q_d = '0;
      else                 q_d = list_head[pick*AW +: AW];
    end
  end

  assign s_qc_ready = state_q == ST_IDLE;
  assign s_db_ready = state_q == ST_IDLE && !s_qc_valid;

  always_comb begin
    next_head = pos_r.head + 16'(n_q);
    if (wrap_q && all_q) next_head = 16'd0;
  end

  assign ctx_we  = state_q == ST_QC && qc_q.valid;
  assign ctx_w   = '{base: qc_q.base[63:12], size: qc_q.size, class_: arb_wrr ? qc_q.prio : 2'd1};
  assign tail_we = state_q == ST_INIT || (state_q == ST_QC && qc_q.valid) || (state_q == ST_DB && !bad);
  assign tail_w  = state_q == ST_DB ? value_q : 16'd0;
  always_comb begin
    pos_we = 1'b0;
    pos_w  = '0;
    unique case (state_q)
      ST_INIT: pos_we = 1'b1;
      ST_QC:   begin pos_we = qc_q.valid; pos_w.issued = pos_r.issued; end
      ST_F_GO: begin pos_we = n_q != 7'd0; pos_w = '{head: next_head, issued: pos_r.issued + 16'(n_q)}; end
      default: ;
    endcase
  end

  logic       enlist;                       // the queue at work goes to the end of its list
  always_comb begin
    enlist = 1'b0;
    if (state_q == ST_DB)   enlist = !bad && !listed_q[q_q] && value_q != pos_r.head;
    if (state_q == ST_F_GO) enlist = valid_now_q && !(all_q && (!wrap_q || tail_0_q));
    at_once = state_q == ST_DB && !arb_wrr && fetch_ok && list_valid == 4'd0 && !listed_q[0] &&
              (admin_turn_q ? admin_free_q != 7'd0 : free_q != 9'd0);
  end
  always_comb begin
    list_push = 4'd0;
    list_pop  = 4'd0;
    if (enlist && !at_once && q_q != '0) list_push[ctx_r.class_] = 1'b1;
    if (state_q == ST_IDLE && !s_qc_valid && !s_db_valid && !admin_go && io_go) list_pop[pick] = 1'b1;
  end

  // ---- how many: up to the tail, to the end of the queue's memory, to that of its page, to the limit
  always_comb begin
    tail_now = (state_q == ST_DB) ? value_q : tail_r;
    to_end   = ctx_r.size - pos_r.head + 16'd1;
    all_d    = avail_q <= 16'(limit_q) && avail_q <= 16'(page_q);
    n_d      = all_d ? avail_q[6:0] : (page_q < limit_q) ? page_q : limit_q;
  end
  always_ff @(posedge clk) begin
    if (state_q == ST_DB || state_q == ST_F_AVAIL) begin
      avail_q     <= (tail_now >= pos_r.head) ? tail_now - pos_r.head : to_end;
      wrap_q      <= tail_now < pos_r.head;
      tail_0_q    <= tail_now == 16'd0;
      page_q      <= 7'd64 - {1'b0, pos_r.head[5:0]};
      valid_now_q <= valid_q[q_q];
    end
    n_q   <= valid_now_q ? n_d : 7'd0;
    all_q <= all_d;
  end

  always_ff @(posedge clk) begin
    m_dberr_valid <= 1'b0;
    q_q           <= q_d;
    unique case (state_q)
      ST_INIT: if (q_q == AW'(NUM_Q - 1)) state_q <= ST_IDLE;
      ST_IDLE: begin
        qc_q         <= s_qc;
        value_q      <= s_db_value;
        admin_turn_q <= s_db_valid ? s_db_qid == '0 : admin_go;
        if (s_qc_valid) begin
          state_q <= ST_QC;
        end else if (s_db_valid) begin
          m_dberr_qid  <= s_db_qid[QID_W-1:0];
          m_dberr_kind <= 1'b0;
          if (s_db_fn != '0 || s_db_qid >= 9'(NUM_Q) || !valid_q[s_db_qid[AW-1:0]]) m_dberr_valid <= run;
          else state_q <= ST_DB;
        end else if (admin_go || io_go) begin
          state_q <= ST_F_AVAIL;
        end
      end
      ST_QC: begin
        valid_q[q_q]  <= qc_q.valid;
        state_q       <= ST_IDLE;
      end
      ST_DB: begin
        if (bad) begin
          m_dberr_valid <= run;
          m_dberr_kind  <= 1'b1;
        end
        if (enlist) listed_q[q_q] <= 1'b1;
        state_q <= (enlist && at_once) ? ST_F_MIN : ST_IDLE;
      end
      ST_F_AVAIL: state_q <= ST_F_MIN;
      ST_F_MIN: state_q <= ST_F_GO;
      ST_F_GO: begin
        listed_q[q_q] <= enlist;
        state_q       <= ST_IDLE;
      end
      default: state_q <= ST_IDLE;
    endcase
    if (rst) begin
      state_q       <= ST_INIT;
      q_q           <= '0;
      valid_q       <= '0;
      listed_q      <= '0;
      m_dberr_valid <= 1'b0;
    end
  end

  // ---- the most entries this turn may take: request size, burst, slots, class credit. What is free now may be more
  // than two cycles ago, when the first of these registers was loaded, but never less: no turn has ended since.
  logic [6:0] burst_q, io_most_q, admin_most_q;
  always_ff @(posedge clk) begin
    logic [6:0] m;
    burst_q      <= (arb_burst >= 3'd6 || (7'd1 << arb_burst) > 7'(FETCH_MAX)) ? 7'(FETCH_MAX) : 7'd1 << arb_burst;
    io_most_q    <= (free_q < 9'(burst_q)) ? free_q[6:0] : burst_q;
    admin_most_q <= (admin_free_q < burst_q) ? admin_free_q : burst_q;
    m = admin_turn_q ? admin_most_q : io_most_q;
    if (!admin_turn_q && arb_wrr && ctx_r.class_ != 2'd0) begin
      if (credit_q[ctx_r.class_ - 2'd1] < 9'(m)) m = credit_q[ctx_r.class_ - 2'd1][6:0];
    end
    limit_q <= m;
  end

  always_ff @(posedge clk) begin
    if (reload && state_q == ST_IDLE) begin
      credit_q[0] <= 9'(arb_hpw) + 9'd1;
      credit_q[1] <= 9'(arb_mpw) + 9'd1;
      credit_q[2] <= 9'(arb_lpw) + 9'd1;
    end else if (state_q == ST_F_GO && !admin_turn_q && ctx_r.class_ != 2'd0) begin
      credit_q[ctx_r.class_ - 2'd1] <= credit_q[ctx_r.class_ - 2'd1] - 9'(n_q);
    end
    if (rst) for (int i = 0; i < 3; i++) credit_q[i] <= 9'd0;
  end

  // ---- command slots: taken when entries are requested, given back with the completion
  logic issue, io_done;
  assign issue   = state_q == ST_F_GO;
  assign io_done = s_done_valid && s_done_sqid != '0;
  always_ff @(posedge clk) begin
    free_q       <= free_q - (issue && !admin_turn_q ? 9'(n_q) : 9'd0) + 9'(io_done);
    admin_free_q <= admin_free_q - (issue && admin_turn_q ? n_q : 7'd0) + 7'(s_done_valid && !io_done);
    if (rst) begin
      free_q       <= 9'(NUM_CMDS);
      admin_free_q <= 7'(ADMIN_CMDS);
    end
  end
  assign cmds_inflight = 16'(NUM_CMDS) - 16'(free_q);

  // ---- read requests
  localparam int REQ_W = 64 + 13 + FN_W + QID_W + 32;
  logic [REQ_W-1:0] req_w;
  logic             req_push;
  assign req_push = state_q == ST_F_GO && n_q != 7'd0;
  assign req_w = {{ctx_r.base, 12'd0} + {42'd0, pos_r.head, 6'd0}, 13'(n_q) << 6,
                  FN_W'(0), QID_W'(q_q), pos_r.head, ctx_r.size};
  // A turn begins only when this register is empty.
  assign req_ready = !m_req_valid;
  always_ff @(posedge clk) begin
    if (m_req_ready) m_req_valid <= 1'b0;
    if (req_push) m_req_valid <= 1'b1;
    if (state_q == ST_F_GO) {m_req_addr, m_req_len, m_req_user} <= req_w;
    if (rst) m_req_valid <= 1'b0;
  end

  // A queue without credit has some a cycle later, so idle does not look at credit.
  assign idle = state_q == ST_IDLE && !m_req_valid && !done1_q &&
                !(run && ((listed_q[0] && admin_free_q != 7'd0) || (list_valid != 4'd0 && free_q != 9'd0))) &&
                !s_db_valid && !s_qc_valid;

endmodule
