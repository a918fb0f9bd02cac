// SPDX-License-Identifier: Apache-2.0
// Proof of db_ssd_cq: phase, tail, head and parking, with two completion queues of 2 to 4 entries that come and go.
//
// One queue, either (watch_q), and one completion, any (cid_q), are followed; as they are any, this holds for all.
// The host rings only heads of entries that it has been given, or values outside the queue, which must count for
// nothing. At most CMDS completions are inside, which is what the slots and the limit of admin commands give.
module db_ssd_cq_formal
  import db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_cq_pkg::*;
#(
  parameter bit COVER = 1'b0              // only one course of events, to show that it can happen
) (
  input logic        clk,
  input logic        rst,
  input logic        s_finished_valid,
  input finished_t   s_finished,
  input logic        s_doorbell_valid,
  input doorbell_t   s_doorbell,
  input logic        run,
  input logic        s_queue_ctx_valid,
  input queue_ctx_t  s_queue_ctx,
  input logic [15:0] sqhd,
  input logic [1:0]  sq_create,           // submission queues
  input logic [1:0]  sq_delete,
  input logic        m_post_ready,
  input logic        m_irq_ready
);
  localparam int PARK = 4;
  localparam logic [2:0] CMDS = 4;

  logic              s_finished_ready, s_doorbell_ready, s_queue_ctx_ready;
  logic [QID_W-1:0]  sq_lookup_sqid;
  logic              sq_deleted;
  sq_lookup_t        sq_lookup;
  logic              m_post_valid, m_irq_valid, m_retired_valid, any_entries, m_doorbell_err_valid, idle;
  cqe_post_t         m_post;
  irq_t              m_irq;
  retired_t          m_retired;
  doorbell_err_t     m_doorbell_err;

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

  // submission queues: they come and go, and the pulse follows the change; lookup, 1 cycle
  logic [1:0] sq_valid_q;
  logic       maps_q, exists_q;
  always_ff @(posedge clk) begin
    maps_q     <= sq_lookup_sqid[0] && map_q;
    exists_q   <= sq_valid_q[sq_lookup_sqid[0]];
    sq_valid_q <= (sq_valid_q | sq_create) & ~sq_delete;
    sq_deleted <= sq_delete != '0 && !rst;
    if (rst) sq_valid_q <= '0;
  end
  assign sq_lookup = '{valid: exists_q, cqid: {7'd0, maps_q}, head: sqhd, host_qid: '0};

  // ... what it said of the completion at work, which was not aborted
  logic existed_q;
  always_ff @(posedge clk) if (dut.i_engine.state_q == ST_CQ) existed_q <= exists_q && !dut.i_engine.work_q.drop;

  // ---- what happens
  logic accept, sent, over, at_work, qc_go, db_go, db_mine;
  cq_state_e  state;
  finished_t  work;
  logic       queue;                                // of the completion at work
  assign state   = dut.i_engine.state_q;
  assign work    = dut.i_engine.work_q;
  assign queue   = dut.i_engine.queue_q;
  assign accept  = s_finished_valid && s_finished_ready;
  assign sent    = m_post_valid && m_post_ready;
  assign over    = state == ST_POST && !dut.i_engine.full && (sent || !m_post_valid);
  assign at_work = state inside {ST_CQ, ST_POST, ST_PARK};
  assign qc_go   = s_queue_ctx_valid && s_queue_ctx_ready && s_queue_ctx.qid == {7'd0, watch_q};
  assign db_go   = s_doorbell_valid && s_doorbell_ready;

  // ---- the watched queue as the host sees it
  logic        valid_q, phase_q;
  logic [15:0] size_q, tail_q, head_q;
  logic [51:0] base_q;
  // entries between head and tail
  function automatic logic [15:0] used(input logic [15:0] tail, input logic [15:0] head, input logic [15:0] size);
    return (head <= tail) ? tail - head : tail + size + 16'd1 - head;
  endfunction
  assign db_mine = db_go && valid_q && s_doorbell.exists && s_doorbell.number == {7'd0, watch_q} &&
      s_doorbell.value <= size_q;
  always_ff @(posedge clk) begin
    if (sent && queue == watch_q) begin
      tail_q  <= (tail_q == size_q) ? 16'd0 : tail_q + 16'd1;
      phase_q <= phase_q ^ (tail_q == size_q);
    end
    if (db_mine) head_q <= s_doorbell.value;
    if (qc_go) begin
      valid_q <= s_queue_ctx.valid;
      size_q  <= s_queue_ctx.size;
      base_q  <= s_queue_ctx.base[63:12];
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
    if (accept && s_finished.completion.cid == cid_q) begin
      open_q  <= 1'b1;
      sqid_q  <= s_finished.completion.sqid;
    end
    if (over && work.completion.cid == cid_q) open_q <= 1'b0;
    if (pop && parked_q) begin
      place_q <= place_q - 3'd1;
      if (place_q == 3'd0) parked_q <= 1'b0;
    end
    if (push && work.completion.cid == cid_q) begin
      parked_q <= 1'b1;
      place_q  <= dut.i_park.level;
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
    if (s_finished_valid) begin
      assume (s_finished.completion.sqid <= 8'd1);
      assume (count_q < CMDS);
      if (open_q) assume (s_finished.completion.cid != cid_q);
    end
    if (s_queue_ctx_valid) begin
      assume (s_queue_ctx.kind == QUEUE_CQ && s_queue_ctx.qid <= 8'd1 && s_queue_ctx.size <= 16'd3);
      if (s_queue_ctx.valid) assume (s_queue_ctx.size >= 16'd1);
    end
    // db_ssd_bar says which queue it is; with one function that is the one that the host has written
    assume (s_doorbell.exists == (s_doorbell.fn == '0 && s_doorbell.qid <= 9'd1));
    assume (s_doorbell.number == s_doorbell.qid[QID_W-1:0]);
    if (db_mine) assume (used(tail_q, s_doorbell.value, size_q) <= used(tail_q, head_q, size_q));
  end

  logic pending1, pending2;                         // head doorbells of the queue on their way
  assign pending1 = dut.i_doorbell.read_q && dut.i_doorbell.read_known_q &&
      dut.i_doorbell.read_queue_q == {7'd0, watch_q} && dut.i_doorbell.read_value_q <= size_q;
  assign pending2 = dut.i_doorbell.check_q && dut.i_doorbell.check_known_q &&
      dut.i_doorbell.check_queue_q == {7'd0, watch_q} && dut.i_doorbell.check_value_q <= size_q;

  logic gone_waits;                                 // a submission queue's deletion is still to bring all back
  assign gone_waits = sq_deleted || dut.i_park.deleted_q || dut.i_park.late_q != '0;

  // ---- what a user relies on
  always_comb begin
    if (started_q && !rst) begin
      if (m_post_valid && queue == watch_q) begin
        assert (valid_q);                                               // no entry for a queue that is gone
        assert (m_post.addr == {base_q, 12'd0} + 64'({tail_q, 4'd0}));  // next place
        assert (m_post.cqe.phase == phase_q);                           // parity of wraps
        assert (used(tail_q, head_q, size_q) < size_q);                 // the host has released it
      end
      if (valid_q) assert (used(tail_q, head_q, size_q) <= size_q);
      if (m_post_valid && m_post.cqe.cid == cid_q) assert (open_q);     // no entry without a completion, none twice
      // in one place, so neither lost nor doubled
      assert (open_q == (parked_q || (at_work && work.completion.cid == cid_q)));
      assert (!(parked_q && at_work && work.completion.cid == cid_q));
      // no lost wake-up: what is parked and not about to be tried again belongs to a queue that is full, and to a
      // submission queue that exists
      if (parked_q && cq_of_q == watch_q && place_q >= dut.i_park.back_q && !pending1 && !pending2) begin
        assert (valid_q && used(tail_q, head_q, size_q) == size_q);
      end
      if (parked_q && place_q >= dut.i_park.back_q && !gone_waits) assert (sq_valid_q[sqid_q[0]]);
      // no entry of a command that was aborted, or of a submission queue that was gone when the completion was taken: it
      // is dropped, 2 cycles later
      if (m_post_valid) assert (existed_q);
      if (state == ST_POST && !existed_q) assert (over);
      assert (!(push && dut.i_park.level == 3'(PARK)));                      // parking never overflows
    end
  end
  // its slot is free in the cycle after the entry was taken, and then only
  logic over_q, over_io_q;
  logic [SLOT_W-1:0] over_slot_q;
  always_ff @(posedge clk) begin
    over_q      <= over && !rst;
    over_io_q   <= work.io;
    over_slot_q <= work.slot;
  end
  always_comb if (started_q && !rst) begin
    assert (m_retired_valid == over_q);
    if (over_q) assert (m_retired.io == over_io_q && m_retired.slot == over_slot_q);
  end

  // it can happen: a completion that was parked is posted in a queue that has wrapped
  logic was_parked_q;
  always_ff @(posedge clk) was_parked_q <= !rst && open_q && (was_parked_q || parked_q);
  if (COVER) begin : g_cover
    logic [5:0] t_q;
    initial t_q = '0;
    always_ff @(posedge clk) t_q <= t_q + 6'd1;
    always_comb begin
      assume (rst == !started_q && watch_q && map_q && m_post_ready && m_irq_ready && run && sqhd == '0);
      assume (s_queue_ctx_valid == (t_q == 6'd4) && sq_create == 2'(t_q == 6'd4) << 1 && sq_delete == '0);
      assume (s_queue_ctx == queue_ctx_t'{kind: QUEUE_CQ, valid: 1'b1, qid: 8'd1, size: 16'd1, ien: 1'b1, default: 0});
      assume (s_finished_valid == (t_q inside {[6'd5:6'd25]} && s_finished_ready && count_q < 3'd2));
      assume (s_finished.completion == completion_t'{sqid: 8'd1, cid: 16'(t_q), default: 0} && s_finished.io);
      assume (s_finished.slot == 8'(t_q));
      assume (s_doorbell_valid == (t_q inside {6'd20, 6'd32}) && s_doorbell.fn == '0 && s_doorbell.qid == 9'd1);
      assume (s_doorbell.value == 16'(t_q == 6'd20));
      cover (!rst && sent && was_parked_q && m_post.cqe.cid == cid_q && !phase_q);
    end
  end

  // ---- how it comes about
  logic [15:0] ram_head, head2, head1;              // the head after no doorbell on its way, the first, both
  logic [PARK-1:0] hit_here;
  logic [87:0] entry [PARK];
  assign ram_head = dut.i_ctx.i_head.mem_q[watch_q];
  assign head2    = pending2 ? dut.i_doorbell.check_value_q : ram_head;
  assign head1    = pending1 ? dut.i_doorbell.read_value_q : head2;
  for (genvar i = 0; i < PARK; i++) begin : g_entry
    assign entry[i]    = (i == 0) ? dut.i_park.parked_data
                      : dut.i_park.i_park.g_lutram.mem_q[2'(dut.i_park.i_park.rptr_q + 2'(i - 1))];
    assign hit_here[i] = 3'(i) < dut.i_park.level && entry[i][62:47] == cid_q;
  end
  always_comb begin
    if (started_q && !rst) begin
      assert (valid_q == dut.i_engine.i_exists.g_few.valid_q[watch_q]);
      if (valid_q) begin
        assert (size_q inside {[16'd1:16'd3]} && tail_q <= size_q);
        assert (dut.i_ctx.g_lut.i_tail.mem_q[watch_q] == {phase_q, tail_q});
        assert (dut.i_ctx.g_lut.i_ctx.mem_q[watch_q][84:33] == base_q);
        assert (dut.i_ctx.g_lut.i_ctx.mem_q[watch_q][32:17] == size_q);
        assert (dut.i_ctx.g_lut.i_size.mem_q[watch_q] == size_q);
        // heads, from the oldest to the newest
        assert (ram_head <= size_q);
        assert (used(tail_q, head2, size_q) <= used(tail_q, ram_head, size_q));
        assert (used(tail_q, head1, size_q) <= used(tail_q, head2, size_q));
        assert (head1 == head_q);
      end
      // doorbell pipeline
      if (dut.i_doorbell.read_q && dut.i_doorbell.read_known_q && dut.i_doorbell.read_queue_q == {7'd0, watch_q}) begin
        assert (valid_q);
        assert (dut.i_ctx.doorbell_size == size_q);
      end
      if (dut.i_doorbell.check_q && dut.i_doorbell.check_known_q &&
          dut.i_doorbell.check_queue_q == {7'd0, watch_q}) begin
        assert (valid_q);
        assert (dut.i_doorbell.check_in_q == (dut.i_doorbell.check_value_q <= size_q));
      end
      if (dut.i_doorbell.read_q && dut.i_doorbell.read_known_q) assert (dut.i_doorbell.read_queue_q <= 8'd1);
      if (dut.i_doorbell.check_q && dut.i_doorbell.check_known_q) assert (dut.i_doorbell.check_queue_q <= 8'd1);
      // engine
      assert (state <= ST_IRQ);
      assert (!m_post_valid || state == ST_POST);
      assert (m_irq_valid == (state == ST_IRQ));
      if (at_work) assert (work.completion.sqid <= 8'd1);
      if (state == ST_CQ) assert (maps_q == (work.completion.sqid[0] && map_q));
      if (state inside {ST_POST, ST_PARK}) assert (queue == (work.completion.sqid[0] && map_q));
      if (state == ST_PARK) assert (dut.i_engine.full);
      if (state inside {ST_POST, ST_PARK} && dut.i_engine.known_q) assert (existed_q);
      // a lookup just before the deletion: what it says is used while the deletion is still remembered
      if (state == ST_CQ && exists_q && !sq_valid_q[work.completion.sqid[0]]) assert (sq_deleted);
      if (state inside {ST_POST, ST_PARK} && dut.i_engine.full && !sq_valid_q[work.completion.sqid[0]]) begin
        assert (sq_deleted || dut.i_park.late_q[0] || (state == ST_PARK && dut.i_park.late_q[1]));
      end
      if (state inside {ST_POST, ST_PARK} && queue == watch_q) begin
        assert (dut.i_engine.known_q == (valid_q && existed_q));
        if (valid_q) begin
          assert (dut.i_ctx.tail == {phase_q, tail_q});
          assert (dut.i_ctx.ctx.base == base_q && dut.i_ctx.ctx.size == size_q);
          assert (dut.i_ctx.head <= size_q);
          assert (used(tail_q, ram_head, size_q) <= used(tail_q, dut.i_ctx.head, size_q));
          assert (dut.i_ctx.head == ram_head || dut.i_park.seen_q);
          if (sent) begin
            assert (dut.i_engine.tail_next == ((tail_q == size_q) ? {!phase_q, 16'd0} : {phase_q, tail_q + 16'd1}));
          end
        end
      end
      // parking
      assert (count_q <= CMDS);
      assert ({1'b0, count_q} == {1'b0, dut.i_park.level} + 4'(at_work));
      assert (2'(dut.i_park.i_park.wptr_q - dut.i_park.i_park.rptr_q) == 2'(dut.i_park.level - 3'(dut.park_valid)));
      assert (dut.park_valid == (dut.i_park.level != 3'd0));
      assert (dut.i_park.back_q <= dut.i_park.level);
      assert (dut.i_park.any_q == (dut.i_park.back_q != '0));
      for (int i = 0; i < PARK; i++) begin
        assert (hit_here[i] == (parked_q && place_q == 3'(i)));
        if (3'(i) < dut.i_park.level) assert (entry[i][70:63] <= 8'd1);
        if (hit_here[i]) assert (entry[i][70:63] == sqid_q);
      end
      if (parked_q) assert (place_q < dut.i_park.level);
      if (open_q) assert (sqid_q <= 8'd1);
      if (at_work && work.completion.cid == cid_q) assert (work.completion.sqid == sqid_q);
      if (parked_q && cq_of_q == watch_q && place_q >= dut.i_park.back_q) begin
        assert (dut.i_park.parked_q[watch_q]);
        assert (valid_q && used(tail_q, ram_head, size_q) == size_q);
      end
    end
  end
endmodule
