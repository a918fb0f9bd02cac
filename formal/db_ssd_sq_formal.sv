// SPDX-License-Identifier: Apache-2.0
// Proof of db_ssd_sq: heads, tails, ready lists and slots, with the admin queue and one I/O queue of 2 to 4 entries
// that come and go, 2 slots, 2 admin commands.
//
// One queue, either (watch_q), is followed; as it is either, this holds for both. The host only adds entries to a
// queue, as many as there is room for, or writes values outside the queue, which must count for nothing.
module db_ssd_sq_formal
  import db_ssd_pkg::*;
#(
    parameter bit COVER = 1'b0              // only one course of events, to show that it can happen
) (
    input logic             clk,
    input logic             rst,
    input logic             run,
    input logic             s_db_valid,
    input logic [FN_W-1:0]  s_db_fn,
    input logic [8:0]       s_db_qid,
    input logic [15:0]      s_db_value,
    input logic             s_qc_valid,
    input queue_ctx_t            s_qc,
    input logic [2:0]       arb_burst,
    input logic [7:0]       arb_lpw,
    input logic [7:0]       arb_mpw,
    input logic [7:0]       arb_hpw,
    input logic             arb_wrr,
    input logic             m_req_ready,
    input logic             s_head_valid,
    input logic [QID_W-1:0] s_head_sqid,
    input logic [15:0]      s_head,
    input logic [QID_W-1:0] lk_sqid,
    input logic             s_done_valid,
    input logic [QID_W-1:0] s_done_sqid,
    input logic [QID_W-1:0] q_sel
);
  localparam logic [15:0] CMDS = 2, ADMIN = 2;
  // states of the engine
  localparam logic [3:0] INIT = 0, IDLE = 1, QC = 2, DB = 3, F_AVAIL = 4, F_MIN = 5, F_GO = 6;

  logic                   s_db_ready, s_qc_ready, m_req_valid, q_inflight, m_dberr_valid, m_dberr_kind, idle;
  logic [63:0]            m_req_addr;
  logic [12:0]            m_req_len;
  logic [FN_W+QID_W+31:0] m_req_user;
  logic [QID_W-1:0]       lk_cqid, m_dberr_qid;
  logic [15:0]            lk_head, cmds_inflight;

  db_ssd_sq #(.NUM_QP(1), .NUM_CMDS(int'(CMDS)), .ADMIN_CMDS(int'(ADMIN)), .FETCH_MAX(2)) dut (.*);

  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  logic watch_q;                          // the queue that is followed
  always_ff @(posedge clk) watch_q <= watch_q;

  // ---- what happens
  logic [3:0]  state;
  logic        mine, fetching, fetch, db_mine, qc_mine, db_waits;
  logic [15:0] n;
  assign state    = dut.state_q;
  assign mine     = dut.q_q == watch_q;
  assign fetching = state inside {F_AVAIL, F_MIN, F_GO};
  assign fetch    = dut.req_push;         // into the request register
  assign n        = 16'(dut.req_w[60:54]);

  // ---- the queue as the host and the requests have it
  logic        valid_q;
  logic [15:0] size_q, tail_q, head_q;
  logic [51:0] base_q;
  // entries from the head up to a tail
  function automatic logic [15:0] left(input logic [15:0] tail, input logic [15:0] head, input logic [15:0] size);
    return (head <= tail) ? tail - head : tail + size + 16'd1 - head;
  endfunction
  assign db_mine  = s_db_valid && s_db_ready && valid_q && s_db_fn == '0 && s_db_qid == {8'd0, watch_q} &&
                    s_db_value <= size_q;
  assign qc_mine  = state == QC && dut.qc_q.qid == {7'd0, watch_q};
  always_ff @(posedge clk) begin
    if (fetch && mine) head_q <= (head_q + n > size_q) ? 16'd0 : head_q + n;
    if (db_mine) tail_q <= s_db_value;
    if (qc_mine) begin
      valid_q <= dut.qc_q.valid;
      size_q  <= dut.qc_q.size;
      base_q  <= dut.qc_q.base[63:12];
      tail_q  <= 16'd0;
      head_q  <= 16'd0;
    end
    if (rst) valid_q <= 1'b0;
  end

  // ---- commands that were requested and are not over: I/O, admin, of the queue
  logic [15:0] io_q, admin_q, own_q;
  logic        done_own, last_done_q, last_sqid_q;
  assign done_own = s_done_valid && s_done_sqid == {7'd0, watch_q};
  always_ff @(posedge clk) begin
    io_q    <= io_q + ((fetch && dut.q_q) ? n : 16'd0) - 16'(s_done_valid && s_done_sqid != '0);
    admin_q <= admin_q + ((fetch && !dut.q_q) ? n : 16'd0) - 16'(s_done_valid && s_done_sqid == '0);
    own_q   <= own_q + ((fetch && mine) ? n : 16'd0) - 16'(done_own);
    last_done_q <= s_done_valid && !rst;
    last_sqid_q <= s_done_sqid[0];
    if (rst) begin
      io_q    <= '0;
      admin_q <= '0;
      own_q   <= '0;
    end
  end

  // ---- what the world around guarantees
  always_comb begin
    if (s_qc_valid) begin
      assume (s_qc.kind == QUEUE_SQ && s_qc.qid <= 8'd1 && s_qc.size <= 16'd3);
      if (s_qc.valid) assume (s_qc.size >= 16'd1);
    end
    if (db_mine) assume (left(s_db_value, head_q, size_q) >= left(tail_q, head_q, size_q));
    if (s_done_valid) begin
      assume (s_done_sqid <= 8'd1 && (s_done_sqid[0] ? io_q : admin_q) != '0);
      assume (!(last_done_q && last_sqid_q == s_done_sqid[0]));
      if (done_own) assume (own_q != '0);
    end
    if (s_head_valid) assume (s_head_sqid <= 8'd1);
    assume (lk_sqid <= 8'd1 && q_sel <= 8'd1);
  end

  // ---- what a user relies on
  always_comb begin
    if (started_q && !rst) begin
      if (fetch && mine) begin
        assert (valid_q);
        assert (n != '0 && n <= left(tail_q, head_q, size_q));                  // head never passes tail
        assert (dut.req_w[31:16] == head_q);                                    // each entry once, none left out
        assert (32'(head_q) + 32'(n) <= 32'(size_q) + 32'd1);                   // no request wraps
        assert (dut.req_w[124:61] == {base_q, 12'd0} + 64'({head_q, 6'd0}));
        assert (dut.req_w[53:48] == '0 && dut.req_w[39:32] == {7'd0, watch_q} && dut.req_w[15:0] == size_q);
      end
      assert (!(fetch && !dut.req_ready));                                      // no request is lost
      if (fetch && dut.q_q)  assert (io_q + n <= CMDS);                         // a slot for each
      if (fetch && !dut.q_q) assert (admin_q + n <= ADMIN);
      assert (cmds_inflight == io_q);
      // no queue with entries is forgotten
      if (valid_q && tail_q != head_q) assert (dut.listed_q[watch_q] || db_waits);
      // a listed queue is in one list, or at work
      assert (3'(dut.list_valid[0]) + 3'(dut.list_valid[1]) + 3'(dut.list_valid[2]) + 3'(dut.list_valid[3]) ==
              3'(dut.listed_q[1] && !(fetching && dut.q_q)));
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
      assume (rst == !started_q && watch_q && run && m_req_ready && !arb_wrr && arb_burst == 3'd7 && arb_hpw == '0);
      assume (arb_mpw == '0 && arb_lpw == '0 && !s_head_valid && s_head == '0 && lk_sqid == '0 && q_sel == '0);
      assume (s_qc_valid == (t_q == 6'd4));
      assume (s_qc == queue_ctx_t'{kind: QUEUE_SQ, valid: 1'b1, qid: 8'd1, size: 16'd2, cqid: 8'd1, default: 0});
      assume (s_db_valid == (t_q inside {6'd8, 6'd20}) && s_db_fn == '0 && s_db_qid == 9'd1);
      assume (s_db_value == ((t_q == 6'd8) ? 16'd2 : 16'd1));
      assume (s_done_valid == (t_q inside {6'd18, 6'd20}) && s_done_sqid == 8'd1);
      cover (!rst && wrapped_q && fetch && mine && io_q + n == CMDS);
    end
  end

  // ---- how it comes about
  logic [15:0] ram_tail;
  logic [31:0] ram_pos;
  logic [69:0] ram_ctx;
  assign ram_tail = dut.i_tail.mem_q[watch_q];
  assign ram_pos  = dut.i_pos.mem_q[watch_q];
  assign ram_ctx  = dut.i_ctx.mem_q[watch_q];
  // a doorbell of the queue has been taken and is not yet in RAM
  assign db_waits = state == DB && mine && dut.value_q <= size_q;
  logic [8:0] may_take;                   // slots left for the queue at work
  assign may_take = dut.q_q ? dut.free_q : 9'(dut.admin_free_q);
  for (genvar i = 0; i < 4; i++) begin : g_list
    always_comb if (started_q && !rst) begin
      assert (dut.g_list[i].i_list.level_q == 3'(dut.list_valid[i]));
      assert (!dut.g_list[i].i_list.stored);
      if (dut.list_valid[i]) assert (dut.list_head[i]);
    end
  end
  always_comb begin
    if (started_q && !rst) begin
      assert (state <= F_GO);
      assert (valid_q == dut.valid_q[watch_q]);
      if (state == INIT) assert (dut.valid_q == '0 && dut.listed_q == '0 && io_q == '0 && admin_q == '0);
      if (valid_q) begin
        assert (size_q inside {[16'd1:16'd3]} && tail_q <= size_q && head_q <= size_q);
        assert (ram_ctx[69:18] == base_q && ram_ctx[17:2] == size_q);
        assert (ram_pos[31:16] == head_q);
        assert (ram_tail <= size_q);
        if (db_waits) begin
          assert (dut.value_q == tail_q);
          assert (left(ram_tail, head_q, size_q) <= left(tail_q, head_q, size_q));
          assert (dut.listed_q[watch_q] || ram_tail == head_q);
        end else assert (ram_tail == tail_q);
      end
      if (state == DB) begin
        assert (dut.admin_turn_q == !dut.q_q);
        if (mine) assert (valid_q);
      end
      if (state == QC) begin
        assert (dut.qc_q.qid == {7'd0, dut.q_q} && dut.qc_q.size <= 16'd3);
        assert (!dut.qc_q.valid || dut.qc_q.size != '0);
      end
      // what was read from RAM
      if (state inside {QC, DB, F_AVAIL, F_MIN, F_GO}) begin
        assert (dut.ctx_rdata == dut.i_ctx.mem_q[dut.q_q]);
        assert (dut.pos_rdata == dut.i_pos.mem_q[dut.q_q]);
        if (state == F_AVAIL) assert (dut.tail_r == dut.i_tail.mem_q[dut.q_q]);
      end
      // a turn
      if (fetching) begin
        assert (dut.listed_q[dut.q_q]);
        assert (dut.admin_turn_q == !dut.q_q);
        assert (!m_req_valid);
        assert (dut.q_q ? dut.free_q != '0 : dut.admin_free_q != '0);
        if (mine && valid_q && state inside {F_MIN, F_GO}) begin
          assert (dut.avail_q == ((tail_q >= head_q) ? tail_q - head_q : size_q - head_q + 16'd1));
          assert (dut.page_q == 7'd64 - {1'b0, head_q[5:0]});
          assert (dut.wrap_q == (tail_q < head_q) && dut.tail_0_q == (tail_q == '0));
        end
        if (state != F_AVAIL) assert (dut.valid_now_q == dut.valid_q[dut.q_q]);
        if (state == F_MIN) assert (dut.limit_q <= 7'd2 && 9'(dut.limit_q) <= may_take);
        if (state == F_GO) begin
          assert (dut.n_q <= 7'd2 && 9'(dut.n_q) <= may_take);
          if (!dut.valid_q[dut.q_q]) assert (dut.n_q == '0);
          if (mine && valid_q) assert (dut.all_q ? 16'(dut.n_q) == dut.avail_q : 16'(dut.n_q) < dut.avail_q);
        end
      end
      // limits
      assert (dut.burst_q <= 7'd2);
      if (state inside {DB, F_AVAIL}) begin
        assert (dut.io_most_q <= 7'd2 && 9'(dut.io_most_q) <= dut.free_q);
        assert (dut.admin_most_q <= 7'd2 && dut.admin_most_q <= dut.admin_free_q);
      end
      // slots
      assert (io_q <= CMDS && admin_q <= ADMIN);
      assert (own_q == (watch_q ? io_q : admin_q));
      assert (16'(dut.free_q) == CMDS - io_q && 16'(dut.admin_free_q) == ADMIN - admin_q);
      // commands of the queue, as the firmware is told
      assert (dut.done1_q == last_done_q);
      if (last_done_q) begin
        assert (dut.done1_sqid_q == last_sqid_q);
        assert (dut.done_r == dut.i_done.mem_q[last_sqid_q]);
      end
      if (state != INIT || dut.q_q > watch_q) begin
        assert (ram_pos[15:0] == dut.i_done.mem_q[watch_q] + 16'(last_done_q && last_sqid_q == watch_q) + own_q);
      end
      if (state == INIT) assert (!last_done_q);
    end
  end
endmodule
