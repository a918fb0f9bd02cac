// SPDX-License-Identifier: Apache-2.0
// Proof of db_ssd_cq: phase, tail, head and parking, with two completion queues of 2 to 4 entries that come and go.
//
// One queue, either (watch_q), and one completion, any (cid_q), are followed; as they are any, this holds for all.
// The host rings only heads of entries that it has been given, or values outside the queue, which must count for
// nothing. At most CMDS completions are inside, which is what the slots and the limit of admin commands give.
module db_ssd_cq_formal
  import db_nvme_pkg::*, db_ssd_pkg::*;
#(
    parameter bit COVER = 1'b0              // only one course of events, to show that it can happen
) (
    input logic              clk,
    input logic              rst,
    input logic              s_cpl_valid,
    input completion_t              s_cpl,
    input logic              s_cpl_io,
    input logic [SLOT_W-1:0] s_cpl_slot,
    input logic              s_db_valid,
    input logic [FN_W-1:0]   s_db_fn,
    input logic [8:0]        s_db_qid,
    input logic [15:0]       s_db_value,
    input logic              run,
    input logic              s_qc_valid,
    input queue_ctx_t             s_qc,
    input logic [15:0]       lk_head,
    input logic              m_post_ready,
    input logic              m_irq_ready
);
  localparam int PARK = 4;
  localparam logic [2:0] CMDS = 4;
  // states of the engine
  localparam logic [2:0] CQ = 2, POST = 3, PARKING = 4, IRQ = 5;

  logic              s_cpl_ready, s_db_ready, s_qc_ready;
  logic [QID_W-1:0]  lk_sqid, lk_cqid;
  logic              m_post_valid, m_irq_valid, m_irq_admin, m_done_valid, m_done_io, any_entries;
  logic [FN_W-1:0]   m_post_fn, m_irq_fn;
  logic [63:0]       m_post_addr;
  cqe_t              m_post_cqe;
  logic [15:0]       m_irq_vector;
  logic [SLOT_W-1:0] m_done_slot;
  logic [QID_W-1:0]  m_done_sqid, m_dberr_qid;
  logic              m_dberr_valid, m_dberr_kind, idle;

  db_ssd_cq #(.NUM_QP(1), .NUM_CMDS(2), .ADMIN_CMDS(2)) dut (.*);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  // constants: the queue and the completion that are followed, and where submission queue 1 reports to
  logic        watch_q, map_q;
  logic [15:0] cid_q;
  always_ff @(posedge clk) begin
    watch_q <= watch_q;
    map_q   <= map_q;
    cid_q   <= cid_q;
  end

  // submission queue lookup, 1 cycle
  logic lk_q;
  always_ff @(posedge clk) lk_q <= lk_sqid[0] && map_q;
  assign lk_cqid = {7'd0, lk_q};

  // ---- what happens
  logic accept, sent, over, at_work, qc_go, db_go, db_mine;
  logic [2:0] state;
  assign state   = dut.state_q;
  assign accept  = s_cpl_valid && s_cpl_ready;
  assign sent    = m_post_valid && m_post_ready;
  assign over    = state == POST && !dut.full && (sent || !m_post_valid);
  assign at_work = state inside {CQ, POST, PARKING};
  assign qc_go   = s_qc_valid && s_qc_ready && s_qc.qid == {7'd0, watch_q};
  assign db_go   = s_db_valid && s_db_ready;

  // ---- the watched queue as the host sees it
  logic        valid_q, phase_q;
  logic [15:0] size_q, tail_q, head_q;
  logic [51:0] base_q;
  // entries between head and tail
  function automatic logic [15:0] used(input logic [15:0] tail, input logic [15:0] head, input logic [15:0] size);
    return (head <= tail) ? tail - head : tail + size + 16'd1 - head;
  endfunction
  assign db_mine = db_go && valid_q && s_db_fn == '0 && s_db_qid == {8'd0, watch_q} && s_db_value <= size_q;
  always_ff @(posedge clk) begin
    if (sent && dut.cq_q == watch_q) begin
      tail_q  <= (tail_q == size_q) ? 16'd0 : tail_q + 16'd1;
      phase_q <= phase_q ^ (tail_q == size_q);
    end
    if (db_mine) head_q <= s_db_value;
    if (qc_go) begin
      valid_q <= s_qc.valid;
      size_q  <= s_qc.size;
      base_q  <= s_qc.base[63:12];
      tail_q  <= 16'd0;
      head_q  <= 16'd0;
      phase_q <= 1'b1;
    end
    if (rst) valid_q <= 1'b0;
  end

  // ---- the followed completion: open from acceptance until it is over; parked at place_q of the FIFO
  logic             open_q, parked_q, cq_of_q;
  logic [7:0]       sqid_q;
  logic [2:0]       place_q, count_q;
  logic             push, pop;
  assign push = dut.park_push;
  assign pop  = dut.park_pop;
  always_ff @(posedge clk) begin
    count_q <= count_q + 3'(accept) - 3'(over);
    if (accept && s_cpl.cid == cid_q) begin
      open_q  <= 1'b1;
      sqid_q  <= s_cpl.sqid;
    end
    if (over && dut.work_q.cpl.cid == cid_q) open_q <= 1'b0;
    if (pop && parked_q) begin
      place_q <= place_q - 3'd1;
      if (place_q == 3'd0) parked_q <= 1'b0;
    end
    if (push && dut.work_q.cpl.cid == cid_q) begin
      parked_q <= 1'b1;
      place_q  <= dut.park_level;
    end
    if (rst) begin
      open_q   <= 1'b0;
      parked_q <= 1'b0;
      count_q  <= '0;
    end
  end
  assign cq_of_q = sqid_q[0] && map_q;

  // ---- what the world around guarantees
  always_comb begin
    if (s_cpl_valid) begin
      assume (s_cpl.sqid <= 8'd1);
      assume (count_q < CMDS);
      if (open_q) assume (s_cpl.cid != cid_q);
    end
    if (s_qc_valid) begin
      assume (s_qc.kind == QUEUE_CQ && s_qc.qid <= 8'd1 && s_qc.size <= 16'd3);
      if (s_qc.valid) assume (s_qc.size >= 16'd1);
    end
    if (db_mine) assume (used(tail_q, s_db_value, size_q) <= used(tail_q, head_q, size_q));
  end

  logic pending1, pending2;                         // head doorbells of the queue on their way
  assign pending1 = dut.db1_q && dut.db1_known_q && dut.db1_qid_q == {7'd0, watch_q} && dut.db1_value_q <= size_q;
  assign pending2 = dut.db2_q && dut.db2_known_q && dut.db2_qid_q == {7'd0, watch_q} && dut.db2_value_q <= size_q;

  // ---- what a user relies on
  always_comb begin
    if (started_q && !rst) begin
      if (m_post_valid && dut.cq_q == watch_q) begin
        assert (valid_q);                                               // no entry for a queue that is gone
        assert (m_post_addr == {base_q, 12'd0} + 64'({tail_q, 4'd0}));  // next place
        assert (m_post_cqe.phase == phase_q);                           // parity of wraps
        assert (used(tail_q, head_q, size_q) < size_q);                 // the host has released it
      end
      if (valid_q) assert (used(tail_q, head_q, size_q) <= size_q);
      if (m_post_valid && m_post_cqe.cid == cid_q) assert (open_q);     // no entry without a completion, none twice
      // in one place, so neither lost nor doubled
      assert (open_q == (parked_q || (at_work && dut.work_q.cpl.cid == cid_q)));
      assert (!(parked_q && at_work && dut.work_q.cpl.cid == cid_q));
      // no lost wake-up: what is parked and not about to be tried again belongs to a queue that is full
      if (parked_q && cq_of_q == watch_q && place_q >= dut.back_q && !pending1 && !pending2) begin
        assert (valid_q && used(tail_q, head_q, size_q) == size_q);
      end
      assert (!(push && dut.park_level == 3'(PARK)));                      // parking never overflows
    end
  end
  // its slot is free in the cycle after the entry was taken, and then only
  logic over_q, over_io_q;
  logic [SLOT_W-1:0] over_slot_q;
  always_ff @(posedge clk) begin
    over_q      <= over && !rst;
    over_io_q   <= dut.work_q.io;
    over_slot_q <= dut.work_q.slot;
  end
  always_comb if (started_q && !rst) begin
    assert (m_done_valid == over_q);
    if (over_q) assert (m_done_io == over_io_q && m_done_slot == over_slot_q);
  end

  // it can happen: a completion that was parked is posted in a queue that has wrapped
  logic was_parked_q;
  always_ff @(posedge clk) was_parked_q <= !rst && open_q && (was_parked_q || parked_q);
  if (COVER) begin : g_cover
    logic [5:0] t_q;
    initial t_q = '0;
    always_ff @(posedge clk) t_q <= t_q + 6'd1;
    always_comb begin
      assume (rst == !started_q && watch_q && map_q && m_post_ready && m_irq_ready && run && lk_head == '0);
      assume (s_qc_valid == (t_q == 6'd4));
      assume (s_qc == queue_ctx_t'{kind: QUEUE_CQ, valid: 1'b1, qid: 8'd1, size: 16'd1, ien: 1'b1, default: 0});
      assume (s_cpl_valid == (t_q inside {[6'd5:6'd25]} && s_cpl_ready && count_q < 3'd2));
      assume (s_cpl == completion_t'{sqid: 8'd1, cid: 16'(t_q), default: 0} && s_cpl_io && s_cpl_slot == 8'(t_q));
      assume (s_db_valid == (t_q inside {6'd20, 6'd32}) && s_db_fn == '0 && s_db_qid == 9'd1);
      assume (s_db_value == 16'(t_q == 6'd20));
      cover (!rst && sent && was_parked_q && m_post_cqe.cid == cid_q && !phase_q);
    end
  end

  // ---- how it comes about
  logic [15:0] ram_head, head2, head1;              // the head after no doorbell on its way, the first, both
  logic [PARK-1:0] hit_here;
  logic [87:0] entry [PARK];
  assign ram_head = dut.i_head.mem_q[watch_q];
  assign head2    = pending2 ? dut.db2_value_q : ram_head;
  assign head1    = pending1 ? dut.db1_value_q : head2;
  for (genvar i = 0; i < PARK; i++) begin : g_entry
    assign entry[i]    = (i == 0) ? dut.park_m : dut.i_park.g_lutram.mem_q[2'(dut.i_park.rptr_q + 2'(i - 1))];
    assign hit_here[i] = 3'(i) < dut.park_level && entry[i][62:47] == cid_q;
  end
  always_comb begin
    if (started_q && !rst) begin
      assert (valid_q == dut.valid_q[watch_q]);
      if (valid_q) begin
        assert (size_q inside {[16'd1:16'd3]} && tail_q <= size_q);
        assert (dut.i_tail.mem_q[watch_q] == {phase_q, tail_q});
        assert (dut.i_ctx.mem_q[watch_q][84:33] == base_q);
        assert (dut.i_ctx.mem_q[watch_q][32:17] == size_q);
        assert (dut.i_size.mem_q[watch_q] == size_q);
        // heads, from the oldest to the newest
        assert (ram_head <= size_q);
        assert (used(tail_q, head2, size_q) <= used(tail_q, ram_head, size_q));
        assert (used(tail_q, head1, size_q) <= used(tail_q, head2, size_q));
        assert (head1 == head_q);
      end
      // doorbell pipeline
      if (dut.db1_q && dut.db1_known_q && dut.db1_qid_q == {7'd0, watch_q}) begin
        assert (valid_q);
        assert (dut.db_size_r == size_q);
      end
      if (dut.db2_q && dut.db2_known_q && dut.db2_qid_q == {7'd0, watch_q}) begin
        assert (valid_q);
        assert (dut.db2_in_q == (dut.db2_value_q <= size_q));
      end
      if (dut.db1_q && dut.db1_known_q) assert (dut.db1_qid_q <= 8'd1);
      if (dut.db2_q && dut.db2_known_q) assert (dut.db2_qid_q <= 8'd1);
      // engine
      assert (state <= IRQ);
      assert (!m_post_valid || state == POST);
      assert (m_irq_valid == (state == IRQ));
      if (at_work) assert (dut.work_q.cpl.sqid <= 8'd1);
      if (state == CQ) assert (lk_q == (dut.work_q.cpl.sqid[0] && map_q));
      if (state inside {POST, PARKING}) assert (dut.cq_q == (dut.work_q.cpl.sqid[0] && map_q));
      if (state == PARKING) assert (dut.full);
      if (state inside {POST, PARKING} && dut.cq_q == watch_q) begin
        assert (dut.known_q == valid_q);
        if (valid_q) begin
          assert (dut.tail_r == {phase_q, tail_q});
          assert (dut.ctx_r.base == base_q && dut.ctx_r.size == size_q);
          assert (dut.head_r <= size_q);
          assert (used(tail_q, ram_head, size_q) <= used(tail_q, dut.head_r, size_q));
          assert (dut.head_r == ram_head || dut.seen_q);
          if (sent) assert (dut.tail_next == ((tail_q == size_q) ? {!phase_q, 16'd0} : {phase_q, tail_q + 16'd1}));
        end
      end
      // parking
      assert (count_q <= CMDS);
      assert ({1'b0, count_q} == {1'b0, dut.park_level} + 4'(at_work));
      assert (2'(dut.i_park.wptr_q - dut.i_park.rptr_q) == 2'(dut.park_level - 3'(dut.park_valid)));
      assert (dut.park_valid == (dut.park_level != 3'd0));
      assert (dut.back_q <= dut.park_level);
      for (int i = 0; i < PARK; i++) begin
        assert (hit_here[i] == (parked_q && place_q == 3'(i)));
        if (3'(i) < dut.park_level) assert (entry[i][70:63] <= 8'd1);
        if (hit_here[i]) assert (entry[i][70:63] == sqid_q);
      end
      if (parked_q) assert (place_q < dut.park_level);
      if (open_q) assert (sqid_q <= 8'd1);
      if (at_work && dut.work_q.cpl.cid == cid_q) assert (dut.work_q.cpl.sqid == sqid_q);
      if (parked_q && cq_of_q == watch_q && place_q >= dut.back_q) begin
        assert (dut.parked_q[watch_q]);
        assert (valid_q && used(tail_q, ram_head, size_q) == size_q);
      end
    end
  end
endmodule
