// SPDX-License-Identifier: Apache-2.0
// Proof of db_ssd_sq: heads, tails, ready lists and slots, with the admin queue and one I/O queue of 2 to 4 entries
// that come and go, 2 slots, 2 admin commands.
//
// One queue, either (watch_q), is followed; as it is either, this holds for both. The host only adds entries to a
// queue, as many as there is room for, or writes values outside the queue, which must count for nothing.
module db_ssd_sq_formal
  import db_mem_pkg::*, db_ssd_pkg::*, db_ssd_sq_pkg::*;
#(
  parameter bit COVER = 1'b0              // only one course of events, to show that it can happen
) (
  input logic             clk,
  input logic             rst,
  input logic             run,
  input logic             s_doorbell_valid,
  input doorbell_t        s_doorbell,
  input logic             s_queue_ctx_valid,
  input queue_ctx_t       s_queue_ctx,
  input arb_cfg_t         arb_cfg,
  input logic             m_fetch_ready,
  input logic             s_head_valid,
  input logic [QID_W-1:0] s_head_sqid,
  input logic [15:0]      s_head,
  input logic [QID_W-1:0] sq_lookup_sqid,
  input logic             s_retired_valid,
  input logic [QID_W-1:0] s_retired_sqid,
  input logic [QID_W-1:0] sq_select
);
  localparam logic [15:0] CMDS = 2, ADMIN = 2;

  logic             s_doorbell_ready, s_queue_ctx_ready, m_fetch_valid, sq_inflight, m_doorbell_err_valid, idle;
  segment_t         m_fetch;
  fetch_user_t      m_fetch_user;
  sq_lookup_t       sq_lookup;
  doorbell_err_t    m_doorbell_err;
  logic [15:0]      cmds_inflight;

  db_ssd_sq #(.NUM_QP(1), .NUM_CMDS(int'(CMDS)), .ADMIN_CMDS(int'(ADMIN)), .FETCH_MAX(2)) dut (.*);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  logic watch_q;                          // the queue that is followed
  always_ff @(posedge clk) watch_q <= watch_q;

  // ---- what happens
  sq_state_e   state;
  logic [3:0]  listed;                    // lists with a queue in them
  logic        mine, fetching, fetch, db_mine, qc_mine, db_waits;
  logic [15:0] n;
  assign state    = dut.i_engine.state_q;
  assign listed   = dut.i_arb.list_valid;
  assign mine     = dut.i_engine.queue_q == watch_q;
  assign fetching = state inside {ST_AVAIL, ST_COUNT, ST_GO};
  assign fetch    = dut.i_fetch.push;         // into the request register
  assign n        = 16'(dut.i_fetch.request.len[12:6]);

  // ---- the queue as the host and the requests have it
  logic        valid_q;
  logic [15:0] size_q, tail_q, head_q;
  logic [51:0] base_q;
  // entries from the head up to a tail
  function automatic logic [15:0] left(input logic [15:0] tail, input logic [15:0] head, input logic [15:0] size);
    return (head <= tail) ? tail - head : tail + size + 16'd1 - head;
  endfunction
  assign db_mine  = s_doorbell_valid && s_doorbell_ready && valid_q && s_doorbell.fn == '0 &&
                    s_doorbell.qid == {8'd0, watch_q} &&
                    s_doorbell.value <= size_q;
  assign qc_mine  = state == ST_CTX && dut.i_engine.ctx_q.qid == {7'd0, watch_q};
  always_ff @(posedge clk) begin
    if (fetch && mine) head_q <= (head_q + n > size_q) ? 16'd0 : head_q + n;
    if (db_mine) tail_q <= s_doorbell.value;
    if (qc_mine) begin
      valid_q <= dut.i_engine.ctx_q.valid;
      size_q  <= dut.i_engine.ctx_q.size;
      base_q  <= dut.i_engine.ctx_q.base[63:12];
      tail_q  <= 16'd0;
      head_q  <= 16'd0;
    end
    if (rst) valid_q <= 1'b0;
  end

  // ---- commands that were requested and are not over: I/O, admin, of the queue
  logic [15:0] io_q, admin_q, own_q;
  logic        done_own, last_done_q, last_sqid_q;
  assign done_own = s_retired_valid && s_retired_sqid == {7'd0, watch_q};
  always_ff @(posedge clk) begin
    io_q    <= io_q + ((fetch && dut.i_engine.queue_q) ? n : 16'd0) - 16'(s_retired_valid && s_retired_sqid != '0);
    admin_q <= admin_q + ((fetch && !dut.i_engine.queue_q) ? n : 16'd0) - 16'(s_retired_valid && s_retired_sqid == '0);
    own_q   <= own_q + ((fetch && mine) ? n : 16'd0) - 16'(done_own);
    last_done_q <= s_retired_valid && !rst;
    last_sqid_q <= s_retired_sqid[0];
    if (rst) begin
      io_q    <= '0;
      admin_q <= '0;
      own_q   <= '0;
    end
  end

  // ---- what the world around guarantees
  always_comb begin
    if (s_queue_ctx_valid) begin
      assume (s_queue_ctx.kind == QUEUE_SQ && s_queue_ctx.qid <= 8'd1 && s_queue_ctx.size <= 16'd3);
      if (s_queue_ctx.valid) assume (s_queue_ctx.size >= 16'd1);
    end
    if (db_mine) assume (left(s_doorbell.value, head_q, size_q) >= left(tail_q, head_q, size_q));
    if (s_retired_valid) begin
      assume (s_retired_sqid <= 8'd1 && (s_retired_sqid[0] ? io_q : admin_q) != '0);
      assume (!(last_done_q && last_sqid_q == s_retired_sqid[0]));
      if (done_own) assume (own_q != '0);
    end
    if (s_head_valid) assume (s_head_sqid <= 8'd1);
    assume (sq_lookup_sqid <= 8'd1 && sq_select <= 8'd1);
  end

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
        assert (dut.i_fetch.request.len[5:0] == '0 && dut.i_fetch.request_user.sqid == {7'd0, watch_q});
        assert (dut.i_fetch.request_user.size == size_q);
      end
      assert (!(fetch && !dut.i_fetch.free));                                      // no request is lost
      if (fetch && dut.i_engine.queue_q)  assert (io_q + n <= CMDS);                         // a slot for each
      if (fetch && !dut.i_engine.queue_q) assert (admin_q + n <= ADMIN);
      assert (cmds_inflight == io_q);
      // no queue with entries is forgotten
      if (valid_q && tail_q != head_q) assert (dut.i_engine.listed_q[watch_q] || db_waits);
      // a listed queue is in one list, or at work
      assert (3'(listed[0]) + 3'(listed[1]) + 3'(listed[2]) + 3'(listed[3]) ==
              3'(dut.i_engine.listed_q[1] && !(fetching && dut.i_engine.queue_q)));
    end
  end

  // it can happen: a request after a wrap, which takes the last slot
  logic wrapped_q;
  always_ff @(posedge clk) wrapped_q <= !rst && valid_q && (wrapped_q || (fetch && mine && head_q + n > size_q));
  if (COVER) begin : g_cover
    logic [5:0] t_q;
    initial t_q = '0;
    always_ff @(posedge clk) t_q <= t_q + 6'd1;
    always_comb begin
      assume (rst == !started_q && watch_q && run && m_fetch_ready && !arb_cfg.wrr && arb_cfg.burst == 3'd7 &&
              arb_cfg.weight_high == '0);
      assume (arb_cfg.weight_medium == '0 && arb_cfg.weight_low == '0 && !s_head_valid && s_head == '0 &&
              sq_lookup_sqid == '0 && sq_select == '0);
      assume (s_queue_ctx_valid == (t_q == 6'd4));
      assume (s_queue_ctx == queue_ctx_t'{kind: QUEUE_SQ, valid: 1'b1, qid: 8'd1, size: 16'd2, cqid: 8'd1, default: 0});
      assume (s_doorbell_valid == (t_q inside {6'd8, 6'd20}) && s_doorbell.fn == '0 && s_doorbell.qid == 9'd1);
      assume (s_doorbell.value == ((t_q == 6'd8) ? 16'd2 : 16'd1));
      assume (s_retired_valid == (t_q inside {6'd18, 6'd20}) && s_retired_sqid == 8'd1);
      cover (!rst && wrapped_q && fetch && mine && io_q + n == CMDS);
    end
  end

  // ---- how it comes about
  logic [15:0] ram_tail;
  logic [31:0] ram_pos;
  logic [69:0] ram_ctx;
  assign ram_tail = dut.i_ctx.i_tail.mem_q[watch_q];
  assign ram_pos  = dut.i_ctx.i_pos.mem_q[watch_q];
  assign ram_ctx  = dut.i_ctx.i_ctx.mem_q[watch_q];
  // a doorbell of the queue has been taken and is not yet in RAM
  assign db_waits = state == ST_DOORBELL && mine && dut.i_engine.value_q <= size_q;
  logic [8:0] may_take;                   // slots left for the queue at work
  assign may_take = dut.i_engine.queue_q ? dut.i_credit.free_q : 9'(dut.i_credit.admin_free_q);
  for (genvar i = 0; i < 4; i++) begin : g_list
    always_comb if (started_q && !rst) begin
      assert (dut.i_arb.g_list[i].i_list.level_q == 3'(dut.i_arb.list_valid[i]));
      assert (!dut.i_arb.g_list[i].i_list.stored);
      if (dut.i_arb.list_valid[i]) assert (dut.i_arb.list_head[i]);
    end
  end
  always_comb begin
    if (started_q && !rst) begin
      assert (state <= ST_GO);
      assert (valid_q == dut.i_engine.valid_q[watch_q]);
      if (state == ST_INIT) assert (dut.i_engine.valid_q == '0 && dut.i_engine.listed_q == '0 && io_q == '0 &&
                                    admin_q == '0);
      if (valid_q) begin
        assert (size_q inside {[16'd1:16'd3]} && tail_q <= size_q && head_q <= size_q);
        assert (ram_ctx[69:18] == base_q && ram_ctx[17:2] == size_q);
        assert (ram_pos[31:16] == head_q);
        assert (ram_tail <= size_q);
        if (db_waits) begin
          assert (dut.i_engine.value_q == tail_q);
          assert (left(ram_tail, head_q, size_q) <= left(tail_q, head_q, size_q));
          assert (dut.i_engine.listed_q[watch_q] || ram_tail == head_q);
        end else assert (ram_tail == tail_q);
      end
      if (state == ST_DOORBELL) begin
        assert (dut.i_engine.admin_turn_q == !dut.i_engine.queue_q);
        if (mine) assert (valid_q);
      end
      if (state == ST_CTX) begin
        assert (dut.i_engine.ctx_q.qid == {7'd0, dut.i_engine.queue_q} && dut.i_engine.ctx_q.size <= 16'd3);
        assert (!dut.i_engine.ctx_q.valid || dut.i_engine.ctx_q.size != '0);
      end
      // what was read from RAM
      if (state inside {ST_CTX, ST_DOORBELL, ST_AVAIL, ST_COUNT, ST_GO}) begin
        assert (dut.i_ctx.ctx_rdata == dut.i_ctx.i_ctx.mem_q[dut.i_engine.queue_q]);
        assert (dut.i_ctx.pos_rdata == dut.i_ctx.i_pos.mem_q[dut.i_engine.queue_q]);
        if (state == ST_AVAIL) assert (dut.i_ctx.tail == dut.i_ctx.i_tail.mem_q[dut.i_engine.queue_q]);
      end
      // a turn
      if (fetching) begin
        assert (dut.i_engine.listed_q[dut.i_engine.queue_q]);
        assert (dut.i_engine.admin_turn_q == !dut.i_engine.queue_q);
        assert (!m_fetch_valid);
        assert (dut.i_engine.queue_q ? dut.i_credit.free_q != '0 : dut.i_credit.admin_free_q != '0);
        if (mine && valid_q && state inside {ST_COUNT, ST_GO}) begin
          assert (dut.i_fetch.avail_q == ((tail_q >= head_q) ? tail_q - head_q : size_q - head_q + 16'd1));
          assert (dut.i_fetch.page_q == 7'd64 - {1'b0, head_q[5:0]});
          assert (dut.i_fetch.wrap_q == (tail_q < head_q) && dut.i_fetch.tail_0_q == (tail_q == '0));
        end
        if (state != ST_AVAIL) assert (dut.i_fetch.exists_q == dut.i_engine.valid_q[dut.i_engine.queue_q]);
        if (state == ST_COUNT) assert (dut.i_credit.limit_q <= 7'd2 && 9'(dut.i_credit.limit_q) <= may_take);
        if (state == ST_GO) begin
          assert (dut.i_fetch.n_q <= 7'd2 && 9'(dut.i_fetch.n_q) <= may_take);
          if (!dut.i_engine.valid_q[dut.i_engine.queue_q]) assert (dut.i_fetch.n_q == '0);
          if (mine && valid_q && dut.i_fetch.all_q)  assert (16'(dut.i_fetch.n_q) == dut.i_fetch.avail_q);
          if (mine && valid_q && !dut.i_fetch.all_q) assert (16'(dut.i_fetch.n_q) < dut.i_fetch.avail_q);
        end
      end
      // limits
      assert (dut.i_credit.burst_q <= 7'd2);
      if (state inside {ST_DOORBELL, ST_AVAIL}) begin
        assert (dut.i_credit.io_most_q <= 7'd2 && 9'(dut.i_credit.io_most_q) <= dut.i_credit.free_q);
        assert (dut.i_credit.admin_most_q <= 7'd2 && dut.i_credit.admin_most_q <= dut.i_credit.admin_free_q);
      end
      // slots
      assert (io_q <= CMDS && admin_q <= ADMIN);
      assert (own_q == (watch_q ? io_q : admin_q));
      assert (16'(dut.i_credit.free_q) == CMDS - io_q && 16'(dut.i_credit.admin_free_q) == ADMIN - admin_q);
      // commands of the queue, as the firmware is told
      assert (dut.i_ctx.done_q == last_done_q);
      if (last_done_q) begin
        assert (dut.i_ctx.done_sqid_q == last_sqid_q);
        assert (dut.i_ctx.done_r == dut.i_ctx.i_done.mem_q[last_sqid_q]);
      end
      if (state != ST_INIT || dut.i_engine.queue_q > watch_q) begin
        assert (ram_pos[15:0] == dut.i_ctx.i_done.mem_q[watch_q] + 16'(last_done_q && last_sqid_q == watch_q) + own_q);
      end
      if (state == ST_INIT) assert (!last_done_q);
    end
  end
endmodule
