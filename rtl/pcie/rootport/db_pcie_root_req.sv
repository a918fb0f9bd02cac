// SPDX-License-Identifier: Apache-2.0
// All requests of the control side to the drive: doorbells, and single-dword accesses to its configuration space and
// BAR 0.
//
// A doorbell is a posted write and goes first. Of the other accesses one is under way at a time, and doorbells pass it
// while it waits for its answer. Each request with an answer has a tag of its own (32 in turn), so that an answer that
// comes after its time-out is not taken for another's. A write to BAR 0 is answered at once.
// BAR 0 stands at bar_base, which is aligned to its size, so an address is bar_base | offset.
// At 512 bits RQ and RC are straddled: requests start at lane 0, one a beat; our completions have 3 or 4 dwords, so
// each lies in one quarter of a beat. tready of RC is constant 1.
// Latency: 1 cycle to RQ, 2 from RC to m_acc_valid. Throughput: a doorbell every 2 cycles, at 128 bits every 3.
module db_pcie_root_req
  import db_pcie_pkg::*;
  import db_host_control_pkg::*;
#(
    parameter int DATA_W     = 128,  // bits of a beat: 128, 256 or 512
    parameter int TIMEOUT_MS = 50,   // wait for an answer, 1..255 milliseconds
    localparam int N         = DATA_W / 32
) (
    input logic clk,
    input logic rst,
    input logic tick,                    // each millisecond

    input logic [63:0] bar_base,
    input logic [ 3:0] doorbell_stride,  // CAP.DSTRD

    input  logic        s_db_valid,
    output logic        s_db_ready,
    input  logic        s_db_cq,
    input  logic [ 3:0] s_db_qid,        // queue identifier, 0: admin
    input  logic [15:0] s_db_value,

    input  logic        s_acc_valid,
    output logic        s_acc_ready,
    input  acc_t        s_acc,
    output logic        m_acc_valid,     // the answer, one cycle
    output logic [31:0] m_acc_rdata,
    output acc_status_e m_acc_status,

    output logic [           DATA_W-1:0] m_axis_rq_tdata,
    output logic [                N-1:0] m_axis_rq_tkeep,
    output logic                         m_axis_rq_tlast,
    output logic [rq_user_w(DATA_W)-1:0] m_axis_rq_tuser,
    output logic                         m_axis_rq_tvalid,
    input  logic                         m_axis_rq_tready,

    input  logic [           DATA_W-1:0] s_axis_rc_tdata,
    input  logic [                N-1:0] s_axis_rc_tkeep,
    input  logic                         s_axis_rc_tlast,
    input  logic [rc_user_w(DATA_W)-1:0] s_axis_rc_tuser,
    input  logic                         s_axis_rc_tvalid,
    output logic                         s_axis_rc_tready
);
  if (!(DATA_W inside {128, 256, 512})) begin : g_bad_data_w
    $error("%m: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (TIMEOUT_MS < 1 || TIMEOUT_MS > 255) begin : g_bad_timeout
    $error("%m: TIMEOUT_MS must be 1..255, not %0d", TIMEOUT_MS);
  end

  localparam logic [3:0] REQ_CFG_RD0 = 4'h8;  // type 0
  localparam logic [3:0] REQ_CFG_WR0 = 4'ha;
  localparam logic [15:0] DRIVE_ID   = 16'h0100;  // bus 1, device 0, function 0
  localparam int TAG_W = 5;
  localparam int RQ_USER_W = rq_user_w(DATA_W);

  // ---- which request
  logic             free, go_db, go_acc, wait_q;
  logic [TAG_W-1:0] tag_q;
  logic             data_beat_q;  // 128 bits: the payload's beat is still to come

  assign free        = !m_axis_rq_tvalid && !data_beat_q;
  assign s_db_ready  = free;
  assign s_acc_ready = free && !s_db_valid && !wait_q && !m_acc_valid;
  assign go_db       = s_db_valid && s_db_ready;
  assign go_acc      = s_acc_valid && s_acc_ready;

  logic        is_cfg, is_wr;
  logic [23:0] offset;
  logic [31:0] payload;
  logic [ 3:0] be;
  always_comb begin
    is_cfg  = 1'b0;
    is_wr   = 1'b1;
    offset  = 24'h1000 + (24'({s_db_qid, s_db_cq, 2'b00}) << doorbell_stride);
    payload = 32'(s_db_value);
    be      = 4'hf;
    if (!s_db_valid) begin
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
    desc.tag         = 8'(tag_q);
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
        m_axis_rq_tvalid <= go_db || go_acc;
        m_axis_rq_tdata  <= desc;
        m_axis_rq_tkeep  <= '1;
        m_axis_rq_tlast  <= !is_wr;
        m_axis_rq_tuser  <= RQ_USER_W'(be);
        payload_q        <= payload;
        data_beat_q      <= is_wr && (go_db || go_acc);
      end else if (m_axis_rq_tready) begin
        m_axis_rq_tvalid      <= data_beat_q;
        m_axis_rq_tdata[31:0] <= payload_q;
        m_axis_rq_tkeep       <= 4'h1;
        m_axis_rq_tlast       <= 1'b1;
        m_axis_rq_tuser       <= '0;
        data_beat_q           <= 1'b0;
      end
      if (rst) begin
        m_axis_rq_tvalid <= 1'b0;
        data_beat_q      <= 1'b0;
      end
    end
  end else begin : g_wide
    logic [136:0] straddled;
    always_comb begin
      straddled      = rq_tuser_straddle(2'b01, 1'b0, 4'h0, 4'h0, 2'b01, is_wr ? 4'd4 : 4'd3, 4'd0);
      straddled[3:0] = be;
    end
    assign data_beat_q = 1'b0;
    always_ff @(posedge clk) begin
      if (free) begin
        m_axis_rq_tvalid <= go_db || go_acc;
        m_axis_rq_tdata  <= DATA_W'({is_wr ? payload : 32'd0, desc});
        m_axis_rq_tkeep  <= (DATA_W == 512) ? '1 : N'({is_wr, 4'hf});
        m_axis_rq_tlast  <= DATA_W != 512;
        m_axis_rq_tuser  <= (DATA_W == 512) ? RQ_USER_W'(straddled) : RQ_USER_W'(be);
      end else if (m_axis_rq_tready) begin
        m_axis_rq_tvalid <= 1'b0;
      end
      if (rst) m_axis_rq_tvalid <= 1'b0;
    end
  end

  // ---- RC
  localparam int QUARTERS = (DATA_W == 512) ? 4 : 1;
  logic [160:0] rc_user;
  logic [  3:0] starts;
  assign rc_user = 161'(s_axis_rc_tuser);
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
      d = rc_desc_t'(s_axis_rc_tdata[128*k+:96]);
      // A mismatch or a wrong address says that this is not the answer, which may still come.
      if (starts[k] && d.tag == 8'(tag_q) && !(d.error_code inside {RC_INVALID_TAG, RC_MISMATCH, RC_BAD_ADDRESS}))
      begin
        hit     = s_axis_rc_tvalid && wait_q && !hit_q;
        rc      = d;
        rc_data = s_axis_rc_tdata[128*k+96+:32];
      end
    end
  end
  assign s_axis_rc_tready = 1'b1;

  // ---- the answer
  logic [7:0] left_q;  // milliseconds
  always_ff @(posedge clk) begin
    hit_q     <= hit;
    rc_q      <= rc;
    rc_data_q <= rc_data;
    disc_q    <= rc_discontinue(DATA_W, rc_user);

    m_acc_valid  <= 1'b0;
    m_acc_rdata  <= rc_data_q;
    m_acc_status <= ACC_GOOD;
    if (go_acc) begin
      m_acc_valid <= s_acc.op == ACC_MEM_WR;
      wait_q      <= s_acc.op != ACC_MEM_WR;
      left_q      <= 8'(TIMEOUT_MS);
    end
    if (wait_q && tick) left_q <= left_q - 1'b1;
    if (wait_q && (hit_q || left_q == '0)) begin
      m_acc_valid <= 1'b1;
      wait_q      <= 1'b0;
      tag_q       <= tag_q + 1'b1;
      if (!hit_q || rc_q.error_code == RC_TIMEOUT) m_acc_status <= ACC_TIMEOUT;
      else if (rc_q.error_code == RC_BAD_STATUS && rc_q.status == CPL_CRS) m_acc_status <= ACC_RETRY;
      else if (rc_q.error_code != RC_OK || disc_q || rc_q.poisoned) m_acc_status <= ACC_REFUSED;
    end
    if (rst) begin
      m_acc_valid <= 1'b0;
      wait_q      <= 1'b0;
      hit_q       <= 1'b0;
      tag_q       <= '0;
    end
  end
endmodule
