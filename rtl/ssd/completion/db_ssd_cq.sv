// SPDX-License-Identifier: Apache-2.0
// Completions: from a finished command to its completion queue entry and interrupt. (OpenExpress: CMT.)
//
// A completion looks up its submission queue (which completion queue, what head), then that completion queue (base,
// size, tail, phase, head). If the queue is full the completion is parked and the engine goes on with others. A head
// doorbell of a queue that has parked ones, and the creation or deletion of a completion queue, lets all that are
// parked try again: there is one FIFO, with room for every command there can be. The slot is free once the entry has
// been handed to PCIe; the interrupt request follows the entry, so the host never sees an interrupt without it. A
// completion whose queue has been deleted is dropped, its slot is free.
//
// Contexts are RAM; a bit a queue in registers says that it holds entries (INTx). Head doorbells have a path of their
// own and never wait for a transfer.
// Latency: completion in to entry out 2 cycles, interrupt request and free slot 1 after the entry has been taken. The
// submission queue is looked up with the completion that comes in, and the entry is offered straight from the RAMs of
// the second lookup, which hold still until it is taken.
// Throughput: an entry every 3 cycles, every 4 where interrupts are enabled.
module db_ssd_cq
  import db_nvme_pkg::*, db_ssd_pkg::*;
#(
  parameter int NUM_QP     = 32,    // I/O queue pairs, 1..254
  parameter int NUM_CMDS   = 128,   // command slots, 2..256
  parameter int ADMIN_CMDS = 16     // admin commands inside at most, as db_ssd_sq, 1..64
) (
  input  logic              clk,
  input  logic              rst,
  // completions of I/O commands (by slot, looked up by the caller) and of admin commands
  input  logic              s_cpl_valid,
  output logic              s_cpl_ready,
  input  completion_t              s_cpl,
  input  logic              s_cpl_io,       // has a slot
  input  logic [SLOT_W-1:0] s_cpl_slot,
  // CQ head doorbells
  input  logic              s_db_valid,
  output logic              s_db_ready,
  input  logic [FN_W-1:0]   s_db_fn,
  input  logic [8:0]        s_db_qid,
  input  logic [15:0]       s_db_value,
  input  logic              run,            // doorbell errors are reported
  // queue contexts from the firmware; kind is QUEUE_CQ
  input  logic              s_qc_valid,
  output logic              s_qc_ready,
  input  queue_ctx_t             s_qc,
  // submission queue lookup (1 cycle)
  output logic [QID_W-1:0]  lk_sqid,
  input  logic [QID_W-1:0]  lk_cqid,
  input  logic [15:0]       lk_head,
  // entries to the host
  output logic              m_post_valid,
  input  logic              m_post_ready,
  output logic [FN_W-1:0]   m_post_fn,
  output logic [63:0]       m_post_addr,
  output cqe_t              m_post_cqe,
  // interrupt requests
  output logic              m_irq_valid,
  input  logic              m_irq_ready,
  output logic [FN_W-1:0]   m_irq_fn,
  output logic [15:0]       m_irq_vector,
  output logic              m_irq_admin,    // of the admin queue: not to be coalesced
  // the command is over: its slot is free
  output logic              m_done_valid,
  output logic              m_done_io,
  output logic [SLOT_W-1:0] m_done_slot,
  output logic [QID_W-1:0]  m_done_sqid,
  output logic              any_entries,    // some queue with interrupts enabled holds entries
  output logic              m_dberr_valid,
  output logic              m_dberr_kind,   // 0 no such queue, 1 value not in the queue
  output logic [QID_W-1:0]  m_dberr_qid,
  output logic              idle
);
  localparam int NUM_Q = NUM_QP + 1;
  localparam int AW    = $clog2(NUM_Q);

  if (NUM_QP < 1 || NUM_QP > 254) begin : g_bad_num_qp
    $error("%m: NUM_QP must be 1..254");
  end
  if (NUM_CMDS < 2 || NUM_CMDS > 256) begin : g_bad_num_cmds
    $error("%m: NUM_CMDS must be 2..256");
  end
  if (ADMIN_CMDS < 1 || ADMIN_CMDS > 64) begin : g_bad_admin_cmds
    $error("%m: ADMIN_CMDS must be 1..64");
  end

  typedef struct packed {
    logic [51:0] base;
    logic [15:0] size;
    logic [15:0] vector;
    logic        ien;
  } ctx_t;
  typedef struct packed {
    logic        io;
    logic [SLOT_W-1:0] slot;
    completion_t        cpl;
  } work_t;
  typedef enum logic [2:0] {ST_INIT, ST_IDLE, ST_CQ, ST_POST, ST_PARK, ST_IRQ} state_e;
  state_e state_q;

  // engine
  logic             full, seen_q, known_q;            // known_q: the queue of the completion at work exists
  logic             sent;                             // an entry is handed over
  logic [15:0]      sqhd_q;
  // head doorbells on their way: 1 = RAM is read, 2 = checked
  logic             db1_q, db2_q, db2_ok, db1_known_q;
  logic [QID_W-1:0] db1_qid_q, db2_qid_q;
  logic [AW-1:0]    db2_idx;                          // db2_qid_q as an index
  logic [15:0]      db1_value_q, db2_value_q, db2_tail_q;
  logic             db2_known_q, db2_in_q, hit;       // hit: a head is written
  logic [NUM_Q-1:0] valid_q, entries_q, ien_q, parked_q;

  // ---- work: new completions, and parked ones that come back
  work_t work_d, work_q, park_m;
  logic  park_push, park_pop, park_valid;
  localparam int PARK = 2 ** $clog2(NUM_CMDS + ADMIN_CMDS);  // holds every command there can be
  logic [$clog2(PARK):0] park_level, back_q;          // back_q: parked ones to try again
  db_fifo #(.WIDTH($bits(work_t)), .DEPTH(PARK)) i_park (
    .clk, .rst, .s_valid(park_push), .s_ready(), .s_data(work_q),
    .m_valid(park_valid), .m_ready(park_pop), .m_data(park_m), .level(park_level));
  assign s_cpl_ready = state_q == ST_IDLE && back_q == '0;
  assign park_pop    = state_q == ST_IDLE && back_q != '0 && park_valid;
  assign park_push   = state_q == ST_PARK;
  assign work_d      = (back_q != '0) ? park_m : '{io: s_cpl_io, slot: s_cpl_slot, cpl: s_cpl};

  // ---- CQ contexts. Writers: firmware (create), engine (tail), doorbell pipe (head)
  logic [AW-1:0] cq_q, init_q;                        // queue of the completion at work
  logic          qc_go;
  logic [AW-1:0] qc_qid;
  ctx_t          ctx_r;
  logic [15:0]   db_size_r, db_tail_r, head_r;
  logic [16:0]   tail_r, tail_next;                   // {phase, tail}
  logic          look;                                // the completion queue is looked up
  logic [$bits(ctx_t)-1:0] ctx_rdata;
  assign ctx_r      = ctx_t'(ctx_rdata);
  assign s_qc_ready = state_q == ST_IDLE && !db1_q && !db2_q && back_q == '0;
  assign qc_go      = s_qc_valid && s_qc_ready;
  assign qc_qid     = s_qc.qid[AW-1:0];

  logic [AW-1:0] lk_cq;
  assign lk_sqid = work_d.cpl.sqid;                   // used in ST_IDLE
  assign lk_cq   = lk_cqid[AW-1:0];
  assign look    = state_q == ST_CQ;
  db_ram_sdp #(.WIDTH($bits(ctx_t)), .DEPTH(NUM_Q)) i_ctx (
    .clk, .we(qc_go), .waddr(qc_qid), .wdata({s_qc.base[63:12], s_qc.size, s_qc.vector, s_qc.ien}),
    .re(look), .raddr(lk_cq), .rdata(ctx_rdata));
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_size (
    .clk, .we(qc_go), .waddr(qc_qid), .wdata(s_qc.size), .re(1'b1), .raddr(s_db_qid[AW-1:0]), .rdata(db_size_r));
  logic          tail_we, head_we;
  logic [AW-1:0] tail_waddr, head_waddr;
  logic [16:0]   tail_wdata;
  logic [15:0]   head_wdata;
  assign sent       = m_post_valid && m_post_ready;
  assign tail_we    = qc_go || sent;
  assign tail_waddr = qc_go ? qc_qid : cq_q;
  assign tail_wdata = qc_go ? 17'h10000 : tail_next;
  assign head_we    = qc_go || hit;
  assign head_waddr = qc_go ? qc_qid : db2_idx;
  assign head_wdata = qc_go ? 16'd0 : db2_value_q;
  db_ram_sdp #(.WIDTH(17), .DEPTH(NUM_Q)) i_tail (
    .clk, .we(tail_we), .waddr(tail_waddr), .wdata(tail_wdata), .re(look), .raddr(lk_cq), .rdata(tail_r));
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_tail_db (
    .clk, .we(tail_we), .waddr(tail_waddr), .wdata(tail_wdata[15:0]),
    .re(1'b1), .raddr(s_db_qid[AW-1:0]), .rdata(db_tail_r));
  db_ram_sdp #(.WIDTH(16), .DEPTH(NUM_Q)) i_head (
    .clk, .we(head_we), .waddr(head_waddr), .wdata(head_wdata), .re(look), .raddr(lk_cq), .rdata(head_r));

  // ---- the engine: IDLE takes and looks up the submission queue, CQ the completion queue, POST hands over
  logic wrap;
  assign wrap         = tail_r[15:0] == ctx_r.size;
  assign tail_next    = wrap ? {!tail_r[16], 16'd0} : {tail_r[16], tail_r[15:0] + 16'd1};
  assign full         = known_q && (wrap ? head_r == 16'd0 : head_r == tail_r[15:0] + 16'd1);
  assign m_post_valid = state_q == ST_POST && known_q && !full;
  assign m_post_fn    = work_q.cpl.fn;
  assign m_post_addr  = {ctx_r.base + 52'(tail_r[15:8]), tail_r[7:0], 4'd0};
  assign m_post_cqe   = '{status: work_q.cpl.status, phase: tail_r[16], cid: work_q.cpl.cid,
                          sqid: 16'(work_q.cpl.sqid), sqhd: sqhd_q, dw1: 32'd0, dw0: work_q.cpl.dw0};
  assign m_irq_fn     = work_q.cpl.fn;
  assign m_irq_vector = ctx_r.vector;
  assign m_done_io    = work_q.io;
  assign m_done_slot  = work_q.slot;
  assign m_done_sqid  = work_q.cpl.sqid;
  always_ff @(posedge clk) begin
    m_done_valid <= 1'b0;
    unique case (state_q)
      ST_INIT: begin
        init_q <= init_q + 1'b1;
        if (init_q == AW'(NUM_Q - 1)) state_q <= ST_IDLE;
      end
      ST_IDLE: begin
        work_q <= work_d;
        if (park_pop || (s_cpl_valid && s_cpl_ready)) state_q <= ST_CQ;
      end
      ST_CQ: begin                                    // lk_cqid, lk_head are here
        cq_q    <= lk_cq;
        sqhd_q  <= lk_head;
        known_q <= valid_q[lk_cq];
        state_q <= ST_POST;
      end
      ST_POST: begin                                  // CQ context is here
        if (full) state_q <= ST_PARK;
        else if (sent || !known_q) begin
          m_irq_valid  <= known_q && ctx_r.ien;
          m_irq_admin  <= cq_q == '0;
          m_done_valid <= 1'b1;
          state_q      <= (known_q && ctx_r.ien) ? ST_IRQ : ST_IDLE;
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
      state_q      <= ST_INIT;
      init_q       <= '0;
      m_irq_valid  <= 1'b0;
      m_done_valid <= 1'b0;
    end
  end

  // ---- bring parked completions back after a head doorbell of a queue that has some, also one that came while the
  // engine found the queue full; and when a queue is created or deleted. A queue's bit in parked_q falls when all are
  // brought back, and rises again with the first that finds the queue full.
  logic hit_work;                                     // the head of the queue of the completion at work is written
  assign hit_work = hit && db2_idx == (state_q == ST_CQ ? lk_cq : cq_q);
  always_ff @(posedge clk) begin
    seen_q <= hit_work || (seen_q && state_q != ST_CQ);
    if ((hit && parked_q[db2_idx]) || (park_push && (seen_q || hit_work)) || qc_go) begin
      back_q <= park_level + ($bits(park_level))'(park_push) - ($bits(park_level))'(park_pop);
    end else if (park_pop) back_q <= back_q - 1'b1;
    if (hit)       parked_q[db2_idx] <= 1'b0;
    if (park_push) parked_q[cq_q]      <= 1'b1;
    if (qc_go)     parked_q[qc_qid]    <= 1'b0;
    if (rst) begin
      back_q   <= '0;
      parked_q <= '0;
    end
  end

  // ---- head doorbells: RAM, check, write
  assign s_db_ready = !qc_go;
  assign db2_idx    = db2_qid_q[AW-1:0];
  assign db2_ok     = db2_known_q && db2_in_q;
  assign hit        = db2_q && db2_ok;
  always_ff @(posedge clk) begin
    db1_q       <= s_db_valid && s_db_ready;
    db1_known_q <= s_db_fn == '0 && s_db_qid < 9'(NUM_Q) && valid_q[s_db_qid[AW-1:0]];
    db1_qid_q   <= s_db_qid[QID_W-1:0];
    db1_value_q <= s_db_value;
    db2_q       <= db1_q;
    db2_known_q <= db1_known_q;
    db2_in_q    <= db1_value_q <= db_size_r;
    db2_qid_q   <= db1_qid_q;
    db2_value_q <= db1_value_q;
    db2_tail_q  <= db_tail_r;
    m_dberr_valid <= run && db2_q && !db2_ok;
    m_dberr_kind  <= db2_known_q;
    m_dberr_qid   <= db2_qid_q;
    if (rst) begin
      db1_q <= 1'b0;
      db2_q <= 1'b0;
      m_dberr_valid <= 1'b0;
    end
  end

  // ---- which queues hold entries: for the level-triggered INTx. A tail that moves while a doorbell is on its way
  // (db_tail_r is two cycles old when it is used) keeps the bit set.
  logic          moved1_q, moved2_q;
  logic [AW-1:0] moved1_qid_q, moved2_qid_q;
  logic          emptied;
  assign emptied    = hit && db2_value_q == db2_tail_q &&
                      !(sent && cq_q == db2_idx) && !(moved1_q && moved1_qid_q == db2_idx) &&
                      !(moved2_q && moved2_qid_q == db2_idx);
  always_ff @(posedge clk) begin
    moved1_q     <= sent;
    moved1_qid_q <= cq_q;
    moved2_q     <= moved1_q;
    moved2_qid_q <= moved1_qid_q;
    if (emptied) entries_q[db2_idx] <= 1'b0;
    if (sent)    entries_q[cq_q]      <= 1'b1;
    if (qc_go) begin
      valid_q[qc_qid]   <= s_qc.valid;
      ien_q[qc_qid]     <= s_qc.ien && s_qc.valid;
      entries_q[qc_qid] <= 1'b0;
    end
    any_entries <= (entries_q & ien_q) != '0;
    if (rst) begin
      valid_q     <= '0;
      ien_q       <= '0;
      entries_q   <= '0;
      any_entries <= 1'b0;
      moved1_q    <= 1'b0;
      moved2_q    <= 1'b0;
    end
  end

  // Completions that are to come back leave ST_IDLE within three cycles, so idle does not look at them.
  assign idle = state_q == ST_IDLE && !db1_q && !db2_q && !s_cpl_valid && !s_db_valid && !s_qc_valid;

endmodule
