// SPDX-License-Identifier: Apache-2.0
// All requests of the host to the drive: posted writes of a dword to BAR 0 (pokes: doorbells), and single-dword accesses
// to its configuration space and BAR 0.
//
// A poke goes first. Of the accesses one is under way at a time, and pokes pass it while it waits for its answer. Each
// request with an answer has a tag of its own (2**TAG_W in turn), so that an answer that comes after its time-out is not taken
// for another's. A write to BAR 0 is answered at once.
// BAR 0 stands at bar_base, which is aligned to its size, so an address is bar_base | offset.
// At 512 bits RQ and RC are straddled: requests start at lane 0, one a beat; our completions have 3 or 4 dwords, so
// each lies in one quarter of a beat. s_rc_ready is constant 1.
// Latency: 1 cycle to RQ, 2 from RC to m_answer. Throughput: a poke every 2 cycles, at 128 bits every 3.
`include "db_pcie_types.svh"
module db_pcie_root_req
  import db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_straddle_pkg::*;
#(
  parameter int DATA_W     = 128,  ///< bits of a beat: 128, 256 or 512
  parameter int TIMEOUT_MS = 50,   ///< wait for an answer, 1..255 milliseconds
  parameter int TAG_W      = 5,    ///< log2 of its tags, 1..5
  parameter int TAG_BASE   = 0,    ///< the first of them, a multiple of their number
  parameter bit SIDE       = 1'b0, ///< 512 bits: packets are those that db_pcie_rq_straddle takes
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W),
  localparam type rc_t = `DB_PCIE_RC_T(DATA_W)
) (
  input  logic        clk,
  input  logic        rst,
  /// pulse each millisecond
  input  logic        tick,
  input  logic [63:0] bar_base,

  input  logic        s_poke_valid,
  output logic        s_poke_ready,
  input  poke_t       s_poke,

  input  logic        s_acc_valid,
  output logic        s_acc_ready,
  input  acc_t        s_acc,
  /// there for one cycle
  output logic        m_answer_valid,
  output acc_answer_t m_answer,

  output logic        m_rq_valid,
  input  logic        m_rq_ready,
  output rq_t         m_rq,
  input  logic        s_rc_valid,
  output logic        s_rc_ready,
  input  rc_t         s_rc
);
  localparam int N = DATA_W / 32;

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad_data_w
    $error("%m: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (TIMEOUT_MS < 1 || TIMEOUT_MS > 255) begin : g_bad_timeout
    $error("%m: TIMEOUT_MS must be 1..255, not %0d", TIMEOUT_MS);
  end

  if (!(TAG_W inside {[1:5]}) || TAG_BASE % (1 << TAG_W) != 0 || TAG_BASE > 255) begin : g_bad_tags
    $error("%m: TAG_W must be 1..5 (is %0d), TAG_BASE a multiple of its tags below 256 (is %0d)", TAG_W, TAG_BASE);
  end

  localparam logic [15:0] DRIVE_ID   = 16'h0100;  // bus 1, device 0, function 0
  localparam int RQ_USER_W = rq_user_w(DATA_W);

  // ---- which request
  logic             free, go_poke, go_acc, wait_q;
  logic [TAG_W-1:0] tag_q;
  logic [7:0]       tag;
  assign tag = 8'(TAG_BASE) | 8'(tag_q);
  logic             data_beat_q;  // 128 bits: the payload's beat is still to come

  assign free         = !m_rq_valid && !data_beat_q;
  assign s_poke_ready = free;
  assign s_acc_ready  = free && !s_poke_valid && !wait_q && !m_answer_valid;
  assign go_poke      = s_poke_valid && s_poke_ready;
  assign go_acc       = s_acc_valid && s_acc_ready;

  logic        is_cfg, is_wr;
  logic [23:0] offset;
  logic [31:0] payload;
  logic [ 3:0] be;
  always_comb begin
    is_cfg  = 1'b0;
    is_wr   = 1'b1;
    offset  = s_poke.addr;
    payload = s_poke.data;
    be      = 4'hf;
    if (!s_poke_valid) begin
      is_cfg  = s_acc.op inside {ACC_CFG_RD, ACC_CFG_WR};
      is_wr   = s_acc.op inside {ACC_CFG_WR, ACC_MEM_WR};
      offset  = s_acc.addr;
      payload = s_acc.wdata;
      be      = s_acc.be;
    end
  end

  rq_desc_t desc;
  always_comb begin
    desc             = '0;
    desc.dword_count = 11'd1;
    desc.tag         = tag;
    if (is_cfg) begin
      desc.req_type     = is_wr ? REQ_CFG_WR0 : REQ_CFG_RD0;
      desc.completer_id = DRIVE_ID;
      desc.addr_dw      = 62'(offset[11:2]);
    end else begin
      desc.req_type     = is_wr ? REQ_MEM_WR : REQ_MEM_RD;
      desc.addr_dw      = bar_base[63:2] | 62'(offset[23:2]);
    end
  end

  // ---- RQ
  if (DATA_W == 128) begin : g_128
    logic [31:0] payload_q;
    always_ff @(posedge clk) begin
      if (free) begin
        m_rq_valid <= go_poke || go_acc;
        m_rq.tdata  <= desc;
        m_rq.tkeep  <= '1;
        m_rq.tlast  <= !is_wr;
        m_rq.tuser  <= RQ_USER_W'(be);
        payload_q        <= payload;
        data_beat_q      <= is_wr && (go_poke || go_acc);
      end else if (m_rq_ready) begin
        m_rq_valid      <= data_beat_q;
        m_rq.tdata[31:0] <= payload_q;
        m_rq.tkeep       <= 4'h1;
        m_rq.tlast       <= 1'b1;
        m_rq.tuser       <= '0;
        data_beat_q           <= 1'b0;
      end
      if (rst) begin
        m_rq_valid <= 1'b0;
        data_beat_q      <= 1'b0;
      end
    end
  end else begin : g_wide
    logic [136:0] user;
    rq_side_t     side;
    assign side = '{sop: 1'b1, dwords: 5'(is_wr), desc: desc};
    always_comb begin
      user      = rq_tuser_straddle(2'b01, 1'b0, 2'b00, 4'h0, 4'h0, 2'b01, is_wr ? 4'd4 : 4'd3, 4'd0);
      user[3:0] = be;
      if (SIDE) user = 137'(side);
      if (DATA_W != 512) user = 137'(be);
    end
    assign data_beat_q = 1'b0;
    always_ff @(posedge clk) begin
      if (free) begin
        m_rq_valid <= go_poke || go_acc;
        m_rq.tdata  <= (DATA_W == 512 && SIDE) ? DATA_W'(payload) : DATA_W'({is_wr ? payload : 32'd0, desc});
        m_rq.tkeep  <= (DATA_W == 512) ? '1 : N'({is_wr, 4'hf});
        m_rq.tlast  <= DATA_W != 512 || SIDE;
        m_rq.tuser  <= RQ_USER_W'(user);
      end else if (m_rq_ready) begin
        m_rq_valid <= 1'b0;
      end
      if (rst) m_rq_valid <= 1'b0;
    end
  end

  // ---- RC
  localparam int QUARTERS = (DATA_W == 512) ? 4 : 1;
  logic [160:0] rc_user;
  logic [  3:0] starts;
  assign rc_user = 161'(s_rc.tuser);
  assign starts  = (DATA_W == 512) ? rc_starts(rc_user) : {3'd0, rc_user[32]};

  logic        hit, hit_q, disc_q;
  rc_desc_t    rc, rc_q;
  logic [31:0] rc_data, rc_data_q;
  always_comb begin
    rc_desc_t d;
    hit     = 1'b0;
    rc      = '0;
    rc_data = '0;
    for (int k = 0; k < QUARTERS; k++) begin
      d = rc_desc_t'(s_rc.tdata[128*k+:96]);
      // A mismatch or a wrong address says that this is not the answer, which may still come.
      if (starts[k] && d.tag == tag && !(d.error_code inside {RC_INVALID_TAG, RC_MISMATCH, RC_BAD_ADDRESS}))
      begin
        hit     = s_rc_valid && wait_q && !hit_q;
        rc      = d;
        rc_data = s_rc.tdata[128*k+96+:32];
      end
    end
  end
  assign s_rc_ready = 1'b1;

  // ---- the answer
  logic [7:0] left_q;  // milliseconds
  always_ff @(posedge clk) begin
    hit_q     <= hit;
    rc_q      <= rc;
    rc_data_q <= rc_data;
    disc_q    <= rc_discontinue(DATA_W, rc_user);

    m_answer_valid  <= 1'b0;
    m_answer.rdata  <= rc_data_q;
    m_answer.status <= ACC_GOOD;
    if (go_acc) begin
      m_answer_valid <= s_acc.op == ACC_MEM_WR;
      wait_q      <= s_acc.op != ACC_MEM_WR;
      left_q      <= 8'(TIMEOUT_MS);
    end
    if (wait_q && tick) left_q <= left_q - 1'b1;
    if (wait_q && (hit_q || left_q == '0)) begin
      m_answer_valid <= 1'b1;
      wait_q      <= 1'b0;
      tag_q       <= tag_q + 1'b1;
      if (!hit_q || rc_q.error_code == RC_TIMEOUT) m_answer.status <= ACC_TIMEOUT;
      else if (rc_q.error_code == RC_BAD_STATUS && rc_q.status == CPL_CRS) m_answer.status <= ACC_RETRY;
      else if (rc_q.error_code != RC_OK || disc_q || rc_q.poisoned) m_answer.status <= ACC_REFUSED;
    end
    if (rst) begin
      m_answer_valid <= 1'b0;
      wait_q      <= 1'b0;
      hit_q       <= 1'b0;
      tag_q       <= '0;
    end
  end
endmodule
