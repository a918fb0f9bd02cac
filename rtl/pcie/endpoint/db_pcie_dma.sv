// SPDX-License-Identifier: Apache-2.0
// All traffic that a controller starts itself: RQ and RC on one side, read clients, one data writer and one poster of
// short writes on the other.
//
// Every read client has its own tags and its own ring, so SQEs, PRP lists and write data never queue behind each
// other; write data, posts and read requests share RQ a packet at a time.
// stop: no read request is sent from now on; when the last outstanding one has ended, RQ takes no packet any more,
// and then quiet says that nothing is on its way. A reset is safe then.
// hold: the function must not be a bus master now. Nothing new is sent, but for the read request on its way to RQ.
// Latency and throughput: of db_pcie_read, db_pcie_write, db_pcie_post, plus 1 cycle of db_pcie_rq_mux
// and, at 512 bits, 1 or 2 of db_pcie_rq_straddle.
module db_pcie_dma
  import db_pcie_pkg::*;
#(
  parameter int DATA_W      = 256,   // bits: 128, 256, 512
  parameter int NUM_CLIENTS = 5,     // read clients, 1..8
  parameter int USER_W      = 48,    // bits of user data with each read packet
  parameter int WR_USER_W   = 24,    // bits of user data with each written packet
  parameter int POST_DW     = 16,    // dwords of the longest short write, 1..16
  // of client i, 16 bits each, client 0 lowest: log2 of tags, log2 of ring dwords, bytes of the longest request.
  // Tags are given out from 0, client after client: at most 128 in all.
  parameter logic [16*NUM_CLIENTS-1:0] TAGS_LG    = {NUM_CLIENTS{16'd3}},
  parameter logic [16*NUM_CLIENTS-1:0] RING_DW_LG = {NUM_CLIENTS{16'd10}},
  parameter logic [16*NUM_CLIENTS-1:0] CHUNK      = {NUM_CLIENTS{16'd512}},
  localparam int N = DATA_W / 32,
  localparam int LANE_W = $clog2(N)
) (
  input  logic                             clk,
  input  logic                             rst,
  input  logic [2:0]                       cfg_mps,
  input  logic [2:0]                       cfg_mrrs,
  input  logic                             stop,
  input  logic                             hold,
  output logic                             quiet,
  output logic                             idle,           // nothing waits inside
  // PCIe
  output logic [DATA_W-1:0]                m_axis_rq_tdata,
  output logic [N-1:0]                     m_axis_rq_tkeep,
  output logic                             m_axis_rq_tlast,
  output logic [rq_user_w(DATA_W)-1:0]     m_axis_rq_tuser,
  output logic                             m_axis_rq_tvalid,
  input  logic                             m_axis_rq_tready,
  input  logic [DATA_W-1:0]                s_axis_rc_tdata,
  input  logic [N-1:0]                     s_axis_rc_tkeep,
  input  logic                             s_axis_rc_tlast,
  input  logic [rc_user_w(DATA_W)-1:0]     s_axis_rc_tuser,
  input  logic                             s_axis_rc_tvalid,
  output logic                             s_axis_rc_tready,
  // read clients: as db_pcie_read, client 0 lowest
  input  logic [NUM_CLIENTS-1:0]           s_req_valid,
  output logic [NUM_CLIENTS-1:0]           s_req_ready,
  input  logic [NUM_CLIENTS*8-1:0]         s_req_fn,
  input  logic [NUM_CLIENTS*64-1:0]        s_req_addr,
  input  logic [NUM_CLIENTS*13-1:0]        s_req_len,
  input  logic [NUM_CLIENTS-1:0]           s_req_first,
  input  logic [NUM_CLIENTS-1:0]           s_req_last,
  input  logic [NUM_CLIENTS-1:0]           s_req_drop,
  input  logic [NUM_CLIENTS*USER_W-1:0]    s_req_user,
  output logic [NUM_CLIENTS-1:0]           m_axis_tvalid,
  input  logic [NUM_CLIENTS-1:0]           m_axis_tready,
  output logic [NUM_CLIENTS*DATA_W-1:0]    m_axis_tdata,
  output logic [NUM_CLIENTS-1:0]           m_axis_tlast,
  output logic [NUM_CLIENTS*(LANE_W+1)-1:0] m_axis_tdw,
  output logic [NUM_CLIENTS*USER_W-1:0]    m_axis_tuser,
  output logic [NUM_CLIENTS-1:0]           m_axis_terr,
  output logic [NUM_CLIENTS-1:0]           rd_idle,        // client has no request outstanding
  // data writer: as db_pcie_write
  input  logic                             s_seg_valid,
  output logic                             s_seg_ready,
  input  logic [7:0]                       s_seg_fn,
  input  logic [63:0]                      s_seg_addr,
  input  logic [12:0]                      s_seg_len,
  input  logic                             s_seg_first,
  input  logic                             s_seg_last,
  input  logic                             s_seg_drop,
  input  logic [WR_USER_W-1:0]             s_seg_user,
  input  logic                             s_axis_tvalid,
  output logic                             s_axis_tready,
  input  logic [DATA_W-1:0]                s_axis_tdata,
  input  logic                             s_axis_tlast,
  input  logic                             s_axis_terr,
  output logic                             m_done_valid,
  input  logic                             m_done_ready,
  output logic [WR_USER_W-1:0]             m_done_user,
  output logic                             m_done_err,
  // poster of short writes: as db_pcie_post
  input  logic                             s_post_valid,
  output logic                             s_post_ready,
  input  logic [7:0]                       s_post_fn,
  input  logic [63:0]                      s_post_addr,
  input  logic [$clog2(POST_DW):0]         s_post_len_dw,
  input  logic [32*POST_DW-1:0]            s_post_data
);
  localparam int TAG_W    = 7;
  localparam int USER_RQ  = rq_user_w(DATA_W);
  localparam int CLIENT_W = (NUM_CLIENTS > 1) ? $clog2(NUM_CLIENTS) : 1;

  function automatic int tags(input int i);
    return 1 << TAGS_LG[16*i +: 16];
  endfunction
  // First tag of client i: after those of the clients before it.
  function automatic int tag_base(input int i);
    int base;
    base = 0;
    for (int k = 0; k < i; k++) base += tags(k);
    return base;
  endfunction
  function automatic int ring_lg();
    int m;
    m = 0;
    for (int k = 0; k < NUM_CLIENTS; k++) if (int'(RING_DW_LG[16*k +: 16]) > m) m = int'(RING_DW_LG[16*k +: 16]);
    return m;
  endfunction
  localparam int RING_DW_W = ring_lg();
  localparam int ROW_W     = RING_DW_W - LANE_W;

  if (tag_base(NUM_CLIENTS) > (1 << TAG_W)) begin : g_bad_tags
    $error("%m: the clients' tags must be at most 128 in all, are %0d", tag_base(NUM_CLIENTS));
  end

  // ---- reads
  logic [NUM_CLIENTS-1:0]           rd_valid, rd_ready, rd_idle_w;
  logic [NUM_CLIENTS*8-1:0]         rd_fn, rd_tag;
  logic [NUM_CLIENTS*64-1:0]        rd_addr;
  logic [NUM_CLIENTS*11-1:0]        rd_len_dw;
  logic [NUM_CLIENTS*RING_DW_W-1:0] rd_ring_dw;
  logic [N-1:0]                     rc_we;
  logic [N*ROW_W-1:0]               rc_row;
  logic [DATA_W-1:0]                rc_data;
  logic [CLIENT_W-1:0]              rc_client, done_client, ctx_client;
  logic                             done_valid, done_err, ctx_we;
  logic [TAG_W-1:0]                 done_tag, ctx_tag;
  logic [RING_DW_W-1:0]             ctx_dw;
  logic [10:0]                      ctx_len_dw;

  for (genvar i = 0; i < NUM_CLIENTS; i++) begin : g_client
    logic mine;
    assign mine = rc_client == CLIENT_W'(i);
    db_pcie_read #(
      .DATA_W(DATA_W), .TAG_BASE(tag_base(i)), .NUM_TAGS(tags(i)), .RING_DW(1 << RING_DW_LG[16*i +: 16]),
      .USER_W(USER_W), .CHUNK_BYTES(int'(CHUNK[16*i +: 16])), .RING_DW_W(RING_DW_W)
    ) i_rd (
      .clk, .rst, .cfg_mrrs, .stop(stop || hold), .idle(rd_idle_w[i]),
      .s_req_valid(s_req_valid[i]), .s_req_ready(s_req_ready[i]), .s_req_fn(s_req_fn[8*i +: 8]),
      .s_req_addr(s_req_addr[64*i +: 64]), .s_req_len(s_req_len[13*i +: 13]), .s_req_first(s_req_first[i]),
      .s_req_last(s_req_last[i]), .s_req_drop(s_req_drop[i]), .s_req_user(s_req_user[USER_W*i +: USER_W]),
      .m_rd_valid(rd_valid[i]), .m_rd_ready(rd_ready[i]), .m_rd_fn(rd_fn[8*i +: 8]),
      .m_rd_addr(rd_addr[64*i +: 64]), .m_rd_len_dw(rd_len_dw[11*i +: 11]), .m_rd_tag(rd_tag[8*i +: 8]),
      .m_rd_ring_dw(rd_ring_dw[RING_DW_W*i +: RING_DW_W]),
      .rc_we(mine ? rc_we : '0), .rc_row, .rc_data,
      .done_valid(done_valid && done_client == CLIENT_W'(i)), .done_tag(8'(done_tag)), .done_err,
      .m_axis_tvalid(m_axis_tvalid[i]), .m_axis_tready(m_axis_tready[i]),
      .m_axis_tdata(m_axis_tdata[DATA_W*i +: DATA_W]), .m_axis_tlast(m_axis_tlast[i]),
      .m_axis_tdw(m_axis_tdw[(LANE_W+1)*i +: LANE_W+1]), .m_axis_tuser(m_axis_tuser[USER_W*i +: USER_W]),
      .m_axis_terr(m_axis_terr[i]));
  end
  assign rd_idle = rd_idle_w;

  // ---- RQ: 0 data, 1 posts, 2 read requests
  logic [3*DATA_W-1:0]  src_tdata;
  logic [3*N-1:0]       src_tkeep;
  logic [2:0]           src_tlast, src_tvalid, src_tready;
  logic [3*USER_RQ-1:0] src_tuser;

  db_pcie_read_mux #(.DATA_W(DATA_W), .NUM_CLIENTS(NUM_CLIENTS), .TAG_W(TAG_W), .RING_DW_W(RING_DW_W)) i_rdmux (
    .clk, .rst, .s_rd_valid(rd_valid), .s_rd_ready(rd_ready), .s_rd_fn(rd_fn), .s_rd_addr(rd_addr),
    .s_rd_len_dw(rd_len_dw), .s_rd_tag(rd_tag), .s_rd_ring_dw(rd_ring_dw),
    .m_axis_rq_tdata(src_tdata[2*DATA_W +: DATA_W]), .m_axis_rq_tkeep(src_tkeep[2*N +: N]),
    .m_axis_rq_tlast(src_tlast[2]), .m_axis_rq_tuser(src_tuser[2*USER_RQ +: USER_RQ]),
    .m_axis_rq_tvalid(src_tvalid[2]), .m_axis_rq_tready(src_tready[2]),
    .ctx_we, .ctx_tag, .ctx_client, .ctx_dw, .ctx_len_dw);

  db_pcie_rc #(.DATA_W(DATA_W), .NUM_CLIENTS(NUM_CLIENTS), .TAG_W(TAG_W), .RING_DW_W(RING_DW_W)) i_rc (
    .clk, .rst, .s_axis_rc_tdata, .s_axis_rc_tkeep, .s_axis_rc_tlast, .s_axis_rc_tuser, .s_axis_rc_tvalid,
    .s_axis_rc_tready, .ctx_we, .ctx_tag, .ctx_client, .ctx_dw, .ctx_len_dw,
    .wr_we(rc_we), .wr_row(rc_row), .wr_data(rc_data), .wr_client(rc_client),
    .done_valid, .done_client, .done_tag, .done_err);

  db_pcie_write #(.DATA_W(DATA_W), .USER_W(WR_USER_W)) i_wr (
    .clk, .rst, .cfg_mps, .s_seg_valid, .s_seg_ready, .s_seg_fn, .s_seg_addr, .s_seg_len, .s_seg_first, .s_seg_last,
    .s_seg_drop, .s_seg_user, .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tlast, .s_axis_terr,
    .m_axis_rq_tdata(src_tdata[0 +: DATA_W]), .m_axis_rq_tkeep(src_tkeep[0 +: N]), .m_axis_rq_tlast(src_tlast[0]),
    .m_axis_rq_tuser(src_tuser[0 +: USER_RQ]), .m_axis_rq_tvalid(src_tvalid[0]), .m_axis_rq_tready(src_tready[0]),
    .m_done_valid, .m_done_ready, .m_done_user, .m_done_err);

  db_pcie_post #(.DATA_W(DATA_W), .MAX_DW(POST_DW)) i_post (
    .clk, .rst, .s_post_valid, .s_post_ready, .s_post_fn, .s_post_addr, .s_post_len_dw, .s_post_data,
    .m_axis_rq_tdata(src_tdata[DATA_W +: DATA_W]), .m_axis_rq_tkeep(src_tkeep[N +: N]),
    .m_axis_rq_tlast(src_tlast[1]), .m_axis_rq_tuser(src_tuser[USER_RQ +: USER_RQ]),
    .m_axis_rq_tvalid(src_tvalid[1]), .m_axis_rq_tready(src_tready[1]));

  logic               rq_stop_q, rq_idle, mux_idle;
  logic [2:0]         mux_stop_q;
  logic [DATA_W-1:0]  mux_tdata;
  logic [N-1:0]       mux_tkeep;
  logic [USER_RQ-1:0] mux_tuser;
  logic               mux_tlast, mux_tvalid, mux_tready;

  db_pcie_rq_mux #(.DATA_W(DATA_W), .N(3)) i_mux (
    .clk, .rst, .stop(mux_stop_q), .idle(mux_idle),
    .s_axis_tdata(src_tdata), .s_axis_tkeep(src_tkeep), .s_axis_tlast(src_tlast),
    .s_axis_tuser(src_tuser), .s_axis_tvalid(src_tvalid), .s_axis_tready(src_tready),
    .m_axis_rq_tdata(mux_tdata), .m_axis_rq_tkeep(mux_tkeep), .m_axis_rq_tlast(mux_tlast),
    .m_axis_rq_tuser(mux_tuser), .m_axis_rq_tvalid(mux_tvalid), .m_axis_rq_tready(mux_tready));

  if (DATA_W == 512) begin : g_straddle
    logic straddle_idle;
    db_pcie_rq_straddle i_straddle (
      .clk, .rst, .idle(straddle_idle),
      .s_valid(mux_tvalid), .s_ready(mux_tready), .s_data(mux_tdata), .s_last(mux_tlast), .s_user(mux_tuser),
      .m_axis_rq_tdata, .m_axis_rq_tkeep, .m_axis_rq_tlast, .m_axis_rq_tuser, .m_axis_rq_tvalid, .m_axis_rq_tready);
    assign rq_idle = mux_idle && straddle_idle;
    logic unused_ok;
    assign unused_ok = &{1'b0, mux_tkeep};
  end else begin : g_plain
    assign {m_axis_rq_tdata, m_axis_rq_tkeep, m_axis_rq_tlast} = {mux_tdata, mux_tkeep, mux_tlast};
    assign {m_axis_rq_tuser, m_axis_rq_tvalid} = {mux_tuser, mux_tvalid};
    assign mux_tready = m_axis_rq_tready;
    assign rq_idle    = mux_idle;
  end

  // Read requests already handed over must leave before RQ is closed, or their tags would never end.
  always_ff @(posedge clk) begin
    rq_stop_q  <= stop && (rd_idle_w == '1);
    mux_stop_q <= {stop && (rd_idle_w == '1), {2{hold || (stop && rd_idle_w == '1)}}};
    quiet      <= rq_stop_q && rd_idle_w == '1 && rq_idle;
    if (rst) begin
      rq_stop_q  <= 1'b0;
      mux_stop_q <= '0;
      quiet      <= 1'b0;
    end
  end

  assign idle = rd_idle_w == '1 && rq_idle && src_tvalid == '0 && m_axis_tvalid == '0 && s_req_valid == '0 &&
                !s_seg_valid && !s_axis_tvalid && !m_done_valid;

endmodule
