// SPDX-License-Identifier: Apache-2.0
// Proof of db_ssd_sq: heads, tails, ready lists, slots and shares, with the admin queue and NUM_QP I/O queues of 2 to 4
// entries that come and go.
//
// One queue, any (watch_q), is followed as the host has it; as it is any, this holds for all. Commands are counted for
// each queue. The host only adds entries to a queue, as many as there is room for, or writes values outside the queue,
// which must count for nothing. A command of a queue that has some may be over in any cycle, two at least 3 apart.
module db_ssd_sq_formal
  import db_mem_pkg::*, db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter int NUM_QP    = 1,
  parameter int NUM_CMDS  = 3,
  parameter int QUEUE_MIN = 1,
  parameter int QUEUE_MAX = 2,
  parameter int GATHER    = 2,
  parameter bit COVER     = 1'b0          // only one course of events, to show that it can happen
) (
  input logic             clk,
  input logic             rst,
  input logic             run,
  input logic             s_doorbell_valid,
  input doorbell_t        s_doorbell,
  input logic             s_queue_ctx_valid,
  input queue_ctx_t       s_queue_ctx,
  input arb_cfg_t         arb_cfg,
  input fn_set_t          s_fn_set,
  input logic             us_turns,
  input logic             s_fn_moved_valid,
  input fn_moved_t        s_fn_moved,
  input logic             m_fetch_ready,
  input logic             s_head_valid,
  input logic [QID_W-1:0] s_head_sqid,
  input logic [15:0]      s_head,
  input logic [QID_W-1:0] sq_lookup_sqid,
  input logic             s_admin_taken,
  input logic             s_admin_lost,
  input logic             s_retired_valid,
  input logic [QID_W-1:0] s_retired_sqid,
  input logic [QID_W-1:0] sq_select
);
  localparam int NUM_Q = NUM_QP + 1, AW = $clog2(NUM_Q), ADMIN = 2;
  localparam int QUARTER = NUM_CMDS > 4 ? NUM_CMDS / 4 : 1;        // slots that are kept are no more than these
  localparam int RESERVED = NUM_QP * QUEUE_MIN < QUARTER ? NUM_QP * QUEUE_MIN : QUARTER;
  localparam int LIST = NUM_Q > 2 ? 2 ** $clog2(NUM_Q - 1) : 2;  // places in a ready list
  localparam int DONE = 2;  // commands that are over, at most

  logic             s_doorbell_ready, s_queue_ctx_ready, m_fetch_valid, deleted, sq_inflight, m_doorbell_err_valid,
                    idle, m_ctx_valid, m_watch;
  queue_ctx_t       m_ctx;
  logic [15:0]      m_tail;
  segment_t         m_fetch;
  fetch_user_t      m_fetch_user;
  sq_lookup_t       sq_lookup;
  doorbell_err_t    m_doorbell_err;
  logic [15:0]      cmds_inflight;

  db_ssd_sq #(.NUM_QP(NUM_QP), .NUM_CMDS(NUM_CMDS), .ADMIN_CMDS(ADMIN), .FETCH_MAX(2), .QUEUE_MIN(QUEUE_MIN),
              .QUEUE_MAX(QUEUE_MAX), .GATHER(GATHER)) dut (.*);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  logic [AW-1:0] watch_q;                 // the queue that is followed
  always_ff @(posedge clk) watch_q <= watch_q;
  always_comb assume (int'(watch_q) < NUM_Q);

  // ---- what happens
  sq_state_e     state;
  logic [AW-1:0] queue;                   // at work
  logic          mine, fetching, fetch, db_mine, qc_mine, db_waits;
  logic [15:0]   n;
  assign state    = dut.i_engine.state_q;
  assign queue    = dut.i_engine.queue_q;
  assign mine     = queue == watch_q;
  assign fetching = state inside {ST_AVAIL, ST_COUNT, ST_GO};
  assign fetch    = dut.i_fetch.push;     // into the request register
  assign n        = 16'(dut.i_fetch.request.len[12:6]);

  // ---- the queue as the host and the requests have it
  logic             valid_q;
  logic [15:0]      size_q, tail_q, head_q;
  logic [51:0]      base_q;
  logic [QID_W-1:0] cqid_q;
  // entries from the head up to a tail
  function automatic logic [15:0] left(input logic [15:0] tail, input logic [15:0] head, input logic [15:0] size);
    return (head <= tail) ? tail - head : tail + size + 16'd1 - head;
  endfunction
  assign db_mine  = s_doorbell_valid && s_doorbell_ready && valid_q && s_doorbell.exists &&
                    s_doorbell.number == 8'(watch_q) && s_doorbell.value <= size_q;
  assign qc_mine  = state == ST_CTX && !dut.i_engine.ctx_q.watch && dut.i_engine.ctx_q.qid == 8'(watch_q);
  always_ff @(posedge clk) begin
    if (fetch && mine) head_q <= (head_q + n > size_q) ? 16'd0 : head_q + n;
    if (db_mine) tail_q <= s_doorbell.value;
    if (qc_mine) begin
      valid_q <= dut.i_engine.ctx_q.valid;
      size_q  <= dut.i_engine.ctx_q.size;
      base_q  <= dut.i_engine.ctx_q.base[63:12];
      cqid_q  <= dut.i_engine.ctx_q.cqid;
      tail_q  <= 16'd0;
      head_q  <= 16'd0;
    end
    if (rst) valid_q <= 1'b0;
  end

  // ---- commands that were requested and are not over, of each queue and of all I/O queues
  logic [NUM_Q-1:0][5:0] cmds_q;
  logic [5:0]            io;
  logic [1:0]            since_q;         // cycles since the last was over, 2 if more
  always_comb begin
    io = '0;
    for (int q = 1; q < NUM_Q; q++) io += cmds_q[q];
  end
  always_ff @(posedge clk) begin
    for (int q = 0; q < NUM_Q; q++) begin
      cmds_q[q] <= cmds_q[q] + ((fetch && queue == AW'(q)) ? 6'(n) : 6'd0) -
                   6'(s_retired_valid && s_retired_sqid == 8'(q));
    end
    since_q <= s_retired_valid ? 2'd0 : (since_q == 2'd2) ? 2'd2 : since_q + 2'd1;
    if (rst) begin
      cmds_q  <= '0;
      since_q <= 2'd2;
    end
  end

  // ---- what the world around guarantees
  always_comb begin
    if (dut.i_engine.ctx_waits_q) assume (s_queue_ctx_valid);  // what is offered stays until it is taken
    if (s_queue_ctx_valid) begin
      assume (s_queue_ctx.kind == QUEUE_SQ && int'(s_queue_ctx.qid) < NUM_Q && s_queue_ctx.size <= 16'd3);
      if (s_queue_ctx.valid && !s_queue_ctx.watch) assume (s_queue_ctx.size >= 16'd1);
      // the firmware creates no I/O queue that exists
      if (s_queue_ctx.valid && !s_queue_ctx.watch && s_queue_ctx_ready && s_queue_ctx.qid != '0)
        assume (!dut.i_engine.i_exists.g_few.valid_q[s_queue_ctx.qid[AW-1:0]]);
    end
    // db_ssd_bar says which queue it is; with one function that is the one that the host has written
    assume (s_doorbell.exists == (s_doorbell.fn == '0 && s_doorbell.qid < 9'(NUM_Q)));
    assume (s_doorbell.number == s_doorbell.qid[QID_W-1:0]);
    if (db_mine) assume (left(s_doorbell.value, head_q, size_q) >= left(tail_q, head_q, size_q));
    if (s_retired_valid) begin
      assume (int'(s_retired_sqid) < NUM_Q && since_q == 2'd2);
      for (int q = 0; q < NUM_Q; q++) if (s_retired_sqid == 8'(q)) assume (cmds_q[q] != '0);
    end
    if (s_head_valid) assume (int'(s_head_sqid) < NUM_Q);
    assume (int'(sq_lookup_sqid) < NUM_Q && int'(sq_select) < NUM_Q);
  end

  // ---- where the queues stand: RAM, ready lists, commands that are over and not yet counted
  sq_share_t            share     [NUM_Q];
  logic [NUM_Q-1:0]     known;                // their RAM has been cleared
  logic [NUM_Q-1:0][5:0] uncounted;
  logic [NUM_Q-1:0][4:0] in_own, in_shared;   // places in lists
  logic [1:0][3:0][LIST-1:0][AW-1:0] place;   // [own, shared][class]
  logic [1:0][3:0][LIST-1:0]         taken;
  logic [3:0]                        over_level;
  logic [DONE-1:0][AW-1:0]           over;
  for (genvar k = 0; k < 2; k++) begin : g_kind
    for (genvar c = 0; c < 4; c++) begin : g_list
      for (genvar i = 0; i < LIST; i++) begin : g_place
        localparam int LW = $clog2(LIST);
        assign taken[k][c][i] = ($clog2(LIST) + 1)'(i) < dut.g_one.i_arb.g_kind[k].g_list[c].i_list.level_q;
        assign place[k][c][i] = (i == 0) ? dut.g_one.i_arb.g_kind[k].g_list[c].i_list.m_data_q :
            dut.g_one.i_arb.g_kind[k].g_list[c].i_list.g_lutram.mem_q[
                LW'(dut.g_one.i_arb.g_kind[k].g_list[c].i_list.rptr_q + LW'(i - 1))];
      end
      always_comb if (started_q && !rst) begin
        assert (int'(dut.g_one.i_arb.g_kind[k].g_list[c].i_list.level_q) <= NUM_QP);  // a list never overflows
        assert (dut.g_one.i_arb.list_valid[k][c] == taken[k][c][0]);
        assert ($clog2(LIST)'(dut.g_one.i_arb.g_kind[k].g_list[c].i_list.wptr_q -
                              dut.g_one.i_arb.g_kind[k].g_list[c].i_list.rptr_q) ==
                $clog2(LIST)'(dut.g_one.i_arb.g_kind[k].g_list[c].i_list.level_q -
                              ($clog2(LIST) + 1)'(dut.g_one.i_arb.list_valid[k][c])));
        for (int i = 0; i < LIST; i++) begin
          if (taken[k][c][i]) assert (place[k][c][i] != '0 && int'(place[k][c][i]) < NUM_Q);
        end
      end
    end
  end
  assign over_level = dut.i_engine.i_done.level_q;
  for (genvar i = 0; i < DONE; i++) begin : g_over
    assign over[i] = (i == 0) ? dut.i_engine.i_done.m_data_q :
                                dut.i_engine.i_done.g_lutram.mem_q[3'(dut.i_engine.i_done.rptr_q + 3'(i - 1))];
  end
  for (genvar q = 0; q < NUM_Q; q++) begin : g_share
    assign share[q] = sq_share_t'(dut.i_ctx.g_lut.i_share.mem_q[q]);
    assign known[q] = state != ST_INIT || int'(queue) > q;
    always_comb begin
      in_own[q]    = '0;
      in_shared[q] = '0;
      for (int c = 0; c < 4; c++) begin
        for (int i = 0; i < LIST; i++) begin
          in_own[q]    += 5'(taken[0][c][i] && place[0][c][i] == AW'(q));
          in_shared[q] += 5'(taken[1][c][i] && place[1][c][i] == AW'(q));
        end
      end
      uncounted[q] = 6'(state == ST_RETIRE && queue == AW'(q));
      for (int i = 0; i < DONE; i++) uncounted[q] += 6'(4'(i) < over_level && over[i] == AW'(q));
    end
  end
  sq_share_t  stands;                       // the queue at work
  assign stands = share[queue];
  logic [8:0] io_counted, beyond;           // commands of I/O queues as counted; ... beyond guaranteed shares
  always_comb begin
    io_counted = '0;
    beyond     = '0;
    for (int q = 1; q < NUM_Q; q++) begin
      io_counted += share[q].cmds;
      if (share[q].cmds > 9'(QUEUE_MIN)) beyond += share[q].cmds - 9'(QUEUE_MIN);
    end
  end

  // cycles in which a shared slot was free, none has come and none could be given out
  localparam int GAP = 512;
  logic [8:0] shared_before_q;
  logic [9:0] held_q;
  always_ff @(posedge clk) begin
    shared_before_q <= dut.i_credit.shared_q;
    held_q <= (rst || dut.shared_free || dut.i_credit.shared_q == '0 || dut.i_credit.shared_d > dut.i_credit.shared_q)
              ? '0 : held_q + 1'b1;
  end

  // the queue whose turn it is may have an entry: by its list, its share, its class's credit
  logic takes, takes_q;
  assign takes = queue == '0 || ((!arb_cfg.wrr || dut.ctx.list == '0 || dut.class_credit != '0) &&
                 ((dut.i_engine.from_own_q && stands.below) || (dut.i_engine.from_shared_q && !stands.full)));
  always_ff @(posedge clk) takes_q <= !rst && ((state == ST_AVAIL && takes) || (state == ST_COUNT && takes_q));

  // a doorbell of the queue has been taken and is not yet in RAM
  assign db_waits = state == ST_DOORBELL && mine && dut.i_engine.value_q <= size_q;

  // ---- what a user relies on
  always_comb begin
    if (started_q && !rst) begin
      if (fetch && mine) begin
        assert (valid_q);
        assert (n != '0 && n <= left(tail_q, head_q, size_q));                  // head never passes tail
        // each entry once, none left out
        assert (dut.i_fetch.request_user.index == head_q);
        assert (32'(head_q) + 32'(n) <= 32'(size_q) + 32'd1);                   // no request wraps
        assert (dut.i_fetch.request.addr == {base_q, 12'd0} + 64'({head_q, 6'd0}));
        assert (dut.i_fetch.request.len[5:0] == '0 && dut.i_fetch.request_user.sqid == 8'(watch_q));
        assert (dut.i_fetch.request_user.size == size_q);
      end
      assert (!(fetch && !dut.i_fetch.free));                                   // no request is lost
      if (fetch && queue != '0) assert (io + 6'(n) <= 6'(NUM_CMDS));            // a slot for each
      if (fetch && queue == '0) assert (cmds_q[0] + 6'(n) <= 6'(ADMIN));
      assert (cmds_inflight == 16'(io));
      for (int q = 1; q < NUM_Q; q++) begin
        assert (cmds_q[q] <= 6'(QUEUE_MAX));                                    // never more than its largest share
        // with a slot kept for each queue below its guaranteed share, such a queue finds one
        if (RESERVED == NUM_QP * QUEUE_MIN && cmds_q[q] < 6'(QUEUE_MIN)) assert (io < 6'(NUM_CMDS));
      end
      // shared slots: free, or used by what a queue has beyond its guaranteed share
      if (state != ST_INIT) assert (dut.i_credit.shared_q + beyond == 9'(NUM_CMDS - RESERVED));
      if (!(state inside {ST_INIT, ST_IDLE})) assert (dut.i_engine.at_io == (queue != '0));
      assert (dut.i_credit.shared_q <= 9'(NUM_CMDS - RESERVED));
      // ... and given out as soon as there are enough, and within a time
      assert (!dut.shared_free || dut.i_credit.shared_q != '0);
      assert (dut.shared_free || dut.i_credit.shared_q < 9'(GATHER) || dut.i_credit.shared_q > shared_before_q);
      assert (held_q <= 10'(GAP));
      // what is to be watched: entries up to the tail that the host has written
      if (m_ctx_valid && m_ctx.watch && watch_q != '0 && m_ctx.qid == 8'(watch_q)) begin
        assert (m_watch == (!m_ctx.valid && valid_q && tail_q != head_q));
        assert (!m_watch || m_tail == tail_q);
      end
      // no queue with entries is forgotten
      if (valid_q && tail_q != head_q && !db_waits) begin
        assert (share[watch_q].listed);
        if (watch_q != '0 && !(fetching && mine) && uncounted[watch_q] == '0) begin
          if (cmds_q[watch_q] < 6'(QUEUE_MIN)) assert (in_own[watch_q] == 5'd1);
          if (cmds_q[watch_q] < 6'(QUEUE_MAX)) assert (in_shared[watch_q] == 5'd1);
        end
        // what may be served now is in a list that is served now
        if (watch_q != '0 && state == ST_IDLE && uncounted[watch_q] == '0 &&
            cmds_q[watch_q] < 6'(dut.i_credit.shared_free ? QUEUE_MAX : QUEUE_MIN)) assert (dut.i_engine.list_some);
      end
      // a turn that the queue may use brings it forward
      if (state == ST_GO && takes_q && mine && valid_q && tail_q != head_q) assert (fetch);
      for (int q = 0; q < NUM_Q; q++) begin
        assert (in_own[q] <= 5'd1 && in_shared[q] <= 5'd1);                     // in a list once at most
        // a command that is over is counted once
        if (known[q]) assert (share[q].cmds == 9'(cmds_q[q]) + 9'(uncounted[q]));
      end
    end
  end

  // Where the queue reports to; that it is deleted is known before it is said; and what the firmware is told of a
  // queue that it deletes.
  logic             looked_q, look_valid_q, gone_q, asked_q, asked_2_q, holds_q;
  logic [QID_W-1:0] look_cqid_q;
  always_ff @(posedge clk) begin
    looked_q     <= sq_lookup_sqid == 8'(watch_q) && known[watch_q] && !rst;
    look_valid_q <= valid_q;
    look_cqid_q  <= cqid_q;
    gone_q       <= qc_mine && !dut.i_engine.ctx_q.valid && !rst;
    asked_q      <= sq_select == 8'(watch_q) && known[watch_q] && !valid_q && !rst;
    asked_2_q    <= asked_q && !rst;
    holds_q      <= cmds_q[watch_q] != '0 || (fetching && mine) || share[watch_q].listed;
  end
  always_comb if (started_q && !rst) begin
    if (looked_q) begin
      assert (sq_lookup.valid == look_valid_q);
      if (look_valid_q) assert (sq_lookup.cqid == look_cqid_q);
    end
    if (gone_q) assert (deleted && !valid_q);
    if (asked_2_q && holds_q) assert (sq_inflight);
  end

  // it can happen: a request after a wrap, which takes the last slot of the queue
  logic wrapped_q;
  always_ff @(posedge clk) wrapped_q <= !rst && valid_q && (wrapped_q || (fetch && mine && head_q + n > size_q));
  if (COVER) begin : g_cover
    logic [5:0] t_q;
    initial t_q = '0;
    always_ff @(posedge clk) t_q <= t_q + 6'd1;
    always_comb begin
      assume (rst == !started_q && watch_q == AW'(1) && run && m_fetch_ready && !arb_cfg.wrr && arb_cfg.burst == 3'd7 &&
              arb_cfg.weight_high == '0);
      assume (arb_cfg.weight_medium == '0 && arb_cfg.weight_low == '0 && !s_head_valid && s_head == '0 &&
              sq_lookup_sqid == '0 && sq_select == '0);
      assume (s_queue_ctx_valid == (t_q inside {6'd4, 6'd5}));
      assume (s_queue_ctx == queue_ctx_t'{kind: QUEUE_SQ, valid: 1'b1, qid: 8'd1, size: 16'd2, cqid: 8'd1, default: 0});
      assume (s_doorbell_valid == (t_q inside {6'd8, 6'd22}) && s_doorbell.fn == '0 && s_doorbell.qid == 9'd1);
      assume (s_doorbell.value == ((t_q == 6'd8) ? 16'd2 : 16'd1));
      assume (s_retired_valid == (t_q inside {6'd18, 6'd24}) && s_retired_sqid == 8'd1);
      cover (!rst && wrapped_q && fetch && mine && cmds_q[1] + 6'(n) == 6'(QUEUE_MAX));
    end
  end

  // ---- how it comes about
  logic [15:0] ram_tail;
  logic [69:0] ram_ctx;
  assign ram_tail = dut.i_ctx.g_lut.i_tail.mem_q[watch_q];
  assign ram_ctx  = dut.i_ctx.g_lut.i_ctx.mem_q[watch_q];
  logic [8:0] may_take, own_left;         // slots left for the queue at work; ... of its guaranteed share
  assign may_take = (queue != '0) ? dut.i_credit.free_q : 9'(dut.i_credit.admin_free_q);
  assign own_left = (stands.cmds < 9'(QUEUE_MIN)) ? 9'(QUEUE_MIN) - stands.cmds : '0;
  for (genvar q = 0; q < NUM_Q; q++) begin : g_stands
    always_comb if (started_q && !rst) begin
      if (known[q]) begin
        assert (dut.i_ctx.i_share_sel.mem_q[q] == dut.i_ctx.g_lut.i_share.mem_q[q]);
        if (q == 0) begin
          assert (share[q].listed == dut.i_engine.admin_any);
          assert (!share[q].in_own && !share[q].in_shared && in_own[q] == '0 && in_shared[q] == '0);
        end else begin
          assert (share[q].cmds <= 9'(QUEUE_MAX));
          assert (share[q].below == (share[q].cmds < 9'(QUEUE_MIN)));
          assert (share[q].full == (share[q].cmds == 9'(QUEUE_MAX)));
          assert (in_own[q] == 5'(share[q].in_own && !(fetching && queue == AW'(q) && dut.i_engine.from_own_q)));
          assert (in_shared[q] ==
                  5'(share[q].in_shared && !(fetching && queue == AW'(q) && dut.i_engine.from_shared_q)));
          if (share[q].listed && !(fetching && queue == AW'(q))) begin
            assert (share[q].in_own || !share[q].below);
            assert (share[q].in_shared || share[q].full);
          end
        end
      end else assert (in_own[q] == '0 && in_shared[q] == '0);
    end
  end
  always_comb begin
    if (started_q && !rst) begin
      assert (state <= ST_GO);
      if (state != ST_IDLE) assert (int'(queue) < NUM_Q);
      assert (valid_q == dut.i_engine.i_exists.g_few.valid_q[watch_q]);
      if (state == ST_INIT) begin
        assert (dut.i_engine.i_exists.g_few.valid_q == '0 && !dut.i_engine.admin_any && cmds_q == '0 &&
                over_level == '0);
        assert (9'(dut.i_credit.shared_q) == 9'(NUM_CMDS - RESERVED) && dut.g_one.i_arb.list_valid == '0);
      end
      if (watch_q != '0 && !valid_q && state != ST_INIT) assert (!share[watch_q].listed);
      if (valid_q) begin
        assert (size_q inside {[16'd1:16'd3]} && tail_q <= size_q && head_q <= size_q);
        assert (ram_ctx[69:18] == base_q && ram_ctx[17:2] == size_q);
        assert (dut.i_ctx.g_lut.i_pos.mem_q[watch_q] == head_q);
        assert (ram_tail <= size_q);
        if (watch_q != '0 && share[watch_q].listed) assert (ram_tail != head_q);
        if (db_waits) begin
          assert (dut.i_engine.value_q == tail_q);
          assert (left(ram_tail, head_q, size_q) <= left(tail_q, head_q, size_q));
          assert (share[watch_q].listed || ram_tail == head_q);
        end else assert (ram_tail == tail_q);
      end
      if (known[watch_q]) begin
        assert (dut.i_ctx.g_one.i_cqid.mem_q[watch_q][QID_W] == valid_q);
        if (valid_q) assert (dut.i_ctx.g_one.i_cqid.mem_q[watch_q][QID_W-1:0] == cqid_q);
      end
      if (state == ST_DOORBELL && mine) assert (valid_q);
      if (state == ST_CTX) begin
        assert (dut.i_engine.ctx_q.qid == 8'(queue) && dut.i_engine.ctx_q.size <= 16'd3);
        if (dut.i_engine.ctx_q.valid && !dut.i_engine.ctx_q.watch) begin
          assert (dut.i_engine.ctx_q.size != '0);
          assert (queue == '0 || !dut.i_engine.i_exists.g_few.valid_q[queue]);
        end
      end
      if (state inside {ST_RETIRE, ST_DOORBELL} || fetching) assert (dut.i_engine.admin_turn_q == (queue == '0));
      // what was read from RAM
      if (state inside {ST_CTX, ST_RETIRE, ST_DOORBELL} || fetching) begin
        assert (dut.i_ctx.ctx_rdata == dut.i_ctx.g_lut.i_ctx.mem_q[queue]);
        assert (dut.i_ctx.head == dut.i_ctx.g_lut.i_pos.mem_q[queue]);
        if (state inside {ST_AVAIL, ST_CTX}) assert (dut.i_ctx.tail == dut.i_ctx.g_lut.i_tail.mem_q[queue]);
        if (state == ST_COUNT) begin
          assert (dut.share.cmds == stands.cmds && dut.share.below == stands.below && dut.share.full == stands.full);
        end else assert (dut.share == stands);
      end
      // commands that are over wait for a turn's end at most
      assert (dut.i_engine.done_valid == (over_level != '0));
      assert (3'(dut.i_engine.i_done.wptr_q - dut.i_engine.i_done.rptr_q) ==
              3'(over_level - 4'(dut.i_engine.done_valid)));
      assert (since_q <= 2'd2 && over_level <= 4'(DONE));
      for (int i = 0; i < DONE; i++) if (4'(i) < over_level) assert (int'(over[i]) < NUM_Q);
      if (over_level == 4'd2) assert (state == ST_IDLE && since_q == 2'd0);
      if (over_level == 4'd1 && state inside {ST_CTX, ST_DOORBELL, ST_AVAIL}) assert (since_q == 2'd0);
      if (over_level == 4'd1 && state inside {ST_RETIRE, ST_COUNT}) assert (since_q <= 2'd1);
      // a turn
      assert (!(dut.i_engine.from_own_q && dut.i_engine.from_shared_q) && !dut.i_engine.from_admin_q);
      if (dut.i_engine.from_own_q || dut.i_engine.from_shared_q) assert (fetching || state == ST_IDLE);
      if (fetching) begin
        if (dut.i_engine.from_own_q) assert (queue != '0 && stands.in_own);
        if (dut.i_engine.from_shared_q) assert (queue != '0 && stands.in_shared);
        assert (!m_fetch_valid);
        assert (may_take != '0);
        if (mine && valid_q && state inside {ST_COUNT, ST_GO}) begin
          assert (dut.i_fetch.avail_q == ((tail_q >= head_q) ? tail_q - head_q : size_q - head_q + 16'd1));
          assert (dut.i_fetch.page_q == 7'd64 - {1'b0, head_q[5:0]});
          assert (dut.i_fetch.wrap_q == (tail_q < head_q) && dut.i_fetch.tail_0_q == (tail_q == '0));
        end
        if (state != ST_AVAIL) assert (dut.i_fetch.exists_q == dut.i_engine.i_exists.g_few.valid_q[queue]);
        if (state == ST_AVAIL && queue == '0) assert (dut.i_credit.admin_most_q != '0);
        if (state == ST_AVAIL && queue != '0) begin
          assert (dut.i_engine.from_own_q != dut.i_engine.from_shared_q);
          if (dut.i_engine.from_shared_q) assert (dut.i_credit.shared_free_q);
          if (dut.i_engine.from_shared_q) assert (dut.i_credit.io_most_q != '0);
        end
        if (state == ST_COUNT) begin
          if (takes_q) assert (dut.i_credit.limit_q != '0);
          if (queue != '0) assert (9'(dut.i_credit.own_left_q) == own_left);
          if (queue != '0) assert (dut.i_credit.max_left_q == 9'(QUEUE_MAX) - stands.cmds);
          assert (dut.i_credit.limit_q <= 7'd2 && 9'(dut.i_credit.limit_q) <= may_take);
          if (queue != '0) begin
            assert (9'(dut.i_credit.limit_q) + stands.cmds <= 9'(QUEUE_MAX));
            assert (9'(dut.i_credit.limit_q) <= own_left + dut.i_credit.shared_q);
            if (!dut.shared_free) assert (9'(dut.i_credit.limit_q) <= own_left);
          end
        end
        if (state == ST_GO) begin
          if (takes_q && mine && valid_q && tail_q != head_q) assert (dut.i_fetch.n_q != '0);
          assert (dut.i_fetch.n_q <= 7'd2 && 9'(dut.i_fetch.n_q) <= may_take);
          if (queue != '0) begin
            assert (9'(dut.i_credit.own_left_q) == own_left);
            assert (dut.i_credit.all_left_q == own_left + dut.i_credit.shared_q);
            assert (dut.i_credit.fills_q == (9'(dut.i_fetch.n_q) + stands.cmds == 9'(QUEUE_MAX)));
            assert (9'(dut.i_fetch.n_q) + stands.cmds <= 9'(QUEUE_MAX));
            assert (9'(dut.i_fetch.n_q) <= own_left + dut.i_credit.shared_q);
            if (!dut.shared_free) assert (9'(dut.i_fetch.n_q) <= own_left);
          end
          if (!dut.i_engine.i_exists.g_few.valid_q[queue]) assert (dut.i_fetch.n_q == '0);
          if (mine && valid_q && dut.i_fetch.all_q)  assert (16'(dut.i_fetch.n_q) == dut.i_fetch.avail_q);
          if (mine && valid_q && !dut.i_fetch.all_q) assert (16'(dut.i_fetch.n_q) < dut.i_fetch.avail_q);
        end
      end
      // limits
      assert (dut.i_credit.burst_q inside {7'd1, 7'd2});
      assert (dut.shared_free || held_q <= 10'(dut.i_credit.gap_q));
      if (state inside {ST_DOORBELL, ST_AVAIL}) begin
        assert (dut.i_credit.io_most_q <= 7'd2 && 9'(dut.i_credit.io_most_q) <= dut.i_credit.free_q);
        assert (9'(dut.i_credit.io_most_q) <= dut.i_credit.shared_q);
        assert (dut.i_credit.admin_most_q <= 7'd2 && dut.i_credit.admin_most_q <= dut.i_credit.admin_free_q);
        // ... also with the commands that are not counted yet
        if (dut.i_credit.io_most_q != '0) assert (9'(dut.i_credit.io_most_q) + io_counted <= 9'(NUM_CMDS));
      end
      // slots
      assert (io <= 6'(NUM_CMDS) && cmds_q[0] <= 6'(ADMIN));
      assert (6'(dut.i_credit.free_q) == 6'(NUM_CMDS) - io && dut.i_credit.free_q <= 9'(NUM_CMDS));
      assert (6'(dut.i_credit.admin_free_q) == 6'(ADMIN) - cmds_q[0] && dut.i_credit.admin_free_q <= 7'(ADMIN));
    end
  end
endmodule
