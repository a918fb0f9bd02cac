// SPDX-License-Identifier: Apache-2.0
// The whole read side for tests: db_pcie_rc, db_pcie_read_mux and two clients of different shape.
// Client 0: half the ring and tags of client 1. Client ports are flattened, client 0 in the low bits.
module pcie_rd_tb
  import db_pcie_pkg::*;
#(
    parameter int DATA_W    = 256,
    parameter int NUM_TAGS  = 8,     // of client 0; client 1 has twice as many, from TAG_BASE1
    parameter int TAG_BASE1 = 32,
    parameter int RING_DW   = 1024,  // of client 0; client 1 has twice as much
    parameter int CHUNK_BYTES = 512,
    localparam int N         = DATA_W / 32,
    localparam int LANE_W    = $clog2(N),
    localparam int USER_W    = 16,
    localparam int C         = 2,
    localparam int RING_DW_W = $clog2(RING_DW) + 1,
    localparam int ROW_W     = RING_DW_W - LANE_W
) (
    input logic clk,
    input logic rst,
    input logic [2:0] cfg_mrrs,
    input logic stop,
    output logic [C-1:0] idle,

    input  logic [       C-1:0] s_req_valid,
    output logic [       C-1:0] s_req_ready,
    input  logic [     C*8-1:0] s_req_fn,
    input  logic [    C*64-1:0] s_req_addr,
    input  logic [    C*13-1:0] s_req_len,
    input  logic [       C-1:0] s_req_first,
    input  logic [       C-1:0] s_req_last,
    input  logic [       C-1:0] s_req_drop,
    input  logic [C*USER_W-1:0] s_req_user,

    output logic [       C-1:0] m_axis_tvalid,
    input  logic [       C-1:0] m_axis_tready,
    output logic [C*DATA_W-1:0] m_axis_tdata,
    output logic [       C-1:0] m_axis_tlast,
    output logic [C*(LANE_W+1)-1:0] m_axis_tdw,
    output logic [C*USER_W-1:0] m_axis_tuser,
    output logic [       C-1:0] m_axis_terr,

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

  logic [          C-1:0] rd_valid, rd_ready;
  logic [        C*8-1:0] rd_fn, rd_tag;
  logic [       C*64-1:0] rd_addr;
  logic [       C*11-1:0] rd_len_dw;
  logic [C*RING_DW_W-1:0] rd_ring_dw;
  logic                   ctx_we, ctx_client, wr_client, done_valid, done_client, done_err;
  logic [            7:0] ctx_tag, done_tag;
  logic [  RING_DW_W-1:0] ctx_dw;
  logic [           10:0] ctx_len_dw;
  logic [          N-1:0] wr_we;
  logic [    N*ROW_W-1:0] wr_row;
  logic [     DATA_W-1:0] wr_data;

  db_pcie_rc #(
      .DATA_W     (DATA_W),
      .NUM_CLIENTS(C),
      .RING_DW_W  (RING_DW_W)
  ) u_rc (
      .*
  );

  db_pcie_read_mux #(
      .DATA_W     (DATA_W),
      .NUM_CLIENTS(C),
      .RING_DW_W  (RING_DW_W)
  ) u_mux (
      .s_rd_valid  (rd_valid),
      .s_rd_ready  (rd_ready),
      .s_rd_fn     (rd_fn),
      .s_rd_addr   (rd_addr),
      .s_rd_len_dw (rd_len_dw),
      .s_rd_tag    (rd_tag),
      .s_rd_ring_dw(rd_ring_dw),
      .*
  );

  for (genvar i = 0; i < C; i++) begin : g_client
    db_pcie_read #(
        .DATA_W     (DATA_W),
        .TAG_BASE   (i * TAG_BASE1),
        .NUM_TAGS   (NUM_TAGS * (i + 1)),
        .RING_DW    (RING_DW * (i + 1)),
        .USER_W     (USER_W),
        .CHUNK_BYTES(CHUNK_BYTES),
        .MAX_PKTS   (NUM_TAGS * (i + 1)),
        .RING_DW_W  (RING_DW_W)
    ) u_rd (
        .clk          (clk),
        .rst          (rst),
        .cfg_mrrs     (cfg_mrrs),
        .stop         (stop),
        .idle         (idle[i]),
        .s_req_valid  (s_req_valid[i]),
        .s_req_ready  (s_req_ready[i]),
        .s_req_fn     (s_req_fn[i*8+:8]),
        .s_req_addr   (s_req_addr[i*64+:64]),
        .s_req_len    (s_req_len[i*13+:13]),
        .s_req_first  (s_req_first[i]),
        .s_req_last   (s_req_last[i]),
        .s_req_drop   (s_req_drop[i]),
        .s_req_user   (s_req_user[i*USER_W+:USER_W]),
        .m_rd_valid   (rd_valid[i]),
        .m_rd_ready   (rd_ready[i]),
        .m_rd_fn      (rd_fn[i*8+:8]),
        .m_rd_addr    (rd_addr[i*64+:64]),
        .m_rd_len_dw  (rd_len_dw[i*11+:11]),
        .m_rd_tag     (rd_tag[i*8+:8]),
        .m_rd_ring_dw (rd_ring_dw[i*RING_DW_W+:RING_DW_W]),
        .rc_we        (wr_client == 1'(i) ? wr_we : '0),
        .rc_row       (wr_row),
        .rc_data      (wr_data),
        .done_valid   (done_valid),
        .done_tag     (done_tag),
        .done_err     (done_err),
        .m_axis_tvalid(m_axis_tvalid[i]),
        .m_axis_tready(m_axis_tready[i]),
        .m_axis_tdata (m_axis_tdata[i*DATA_W+:DATA_W]),
        .m_axis_tlast (m_axis_tlast[i]),
        .m_axis_tdw   (m_axis_tdw[i*(LANE_W+1)+:LANE_W+1]),
        .m_axis_tuser (m_axis_tuser[i*USER_W+:USER_W]),
        .m_axis_terr  (m_axis_terr[i])
    );
  end

endmodule
