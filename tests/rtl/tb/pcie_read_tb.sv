// SPDX-License-Identifier: Apache-2.0
// The whole read side for tests: db_pcie_rc, db_pcie_read_mux and two clients of different shape.
// Client 0: half the ring and tags of client 1.
`include "db_pcie_types.svh"
module pcie_read_tb
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int DATA_W      = 256,
  parameter int NUM_TAGS    = 8,     ///< of client 0; client 1 has twice as many, from TAG_BASE1
  parameter int TAG_BASE1   = 32,
  parameter int RING_DW     = 1024,  ///< of client 0; client 1 has twice as much
  parameter int CHUNK_BYTES = 512,
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W),
  localparam type rc_t = `DB_PCIE_RC_T(DATA_W),
  localparam int USER_W = 16,
  localparam int C      = 2
) (
  input  logic                       clk,
  input  logic                       rst,
  input  logic                       link_rst,
  input  logic [2:0]                 cfg_mrrs,
  input  logic [63:0]                time_us,
  output logic                       late,
  input  logic                       stop,
  output logic      [C-1:0]          idle,

  input  logic      [C-1:0]          s_read_valid,
  output logic      [C-1:0]          s_read_ready,
  input  segment_t  [C-1:0]          s_read,
  input  logic [C-1:0][USER_W-1:0]   s_read_user,

  output logic      [C-1:0]          m_row_valid,
  input  logic      [C-1:0]          m_row_ready,
  output logic [C-1:0][DATA_W-1:0]   m_row_data,
  output row_info_t [C-1:0]          m_row_info,
  output logic [C-1:0][USER_W-1:0]   m_row_user,

  output logic                       m_rq_valid,
  input  logic                       m_rq_ready,
  output rq_t                        m_rq,
  input  logic                       s_rc_valid,
  output logic                       s_rc_ready,
  input  rc_t                        s_rc
);
  localparam int N      = DATA_W / 32;
  localparam int RING_W = $clog2(RING_DW) + 1;
  localparam int ROW_W  = RING_W - $clog2(N);

  logic      [C-1:0]       tlp_valid, tlp_ready;
  read_tlp_t [C-1:0]       tlp;
  logic                    ctx_valid, ring_client, done_valid;
  read_ctx_t               ctx;
  read_done_t              done;
  rest_now_t               now;
  logic [N-1:0]            ring_we;
  logic [N-1:0][ROW_W-1:0] ring_row;
  logic [DATA_W-1:0]       ring_data;

  db_pcie_rc #(.DATA_W(DATA_W), .NUM_CLIENTS(C), .RING_W(RING_W)) i_rc (
    .clk, .rst, .s_rc_valid, .s_rc_ready, .s_rc, .s_ctx_valid(ctx_valid), .s_ctx(ctx), .m_ring_client(ring_client),
    .m_ring_we(ring_we), .m_ring_row(ring_row), .m_ring_data(ring_data), .m_done_valid(done_valid), .m_done(done),
    .m_late(late)
  );
  db_pcie_read_clock #(.EPOCH_LOG2(0)) i_clock (.clk, .rst(link_rst), .time_us, .lost(done_valid && done.lost), .now);
  db_pcie_read_mux #(.DATA_W(DATA_W), .NUM_CLIENTS(C)) i_mux (
    .clk, .rst, .s_read_valid(tlp_valid), .s_read_ready(tlp_ready), .s_read(tlp), .m_rq_valid, .m_rq_ready, .m_rq,
    .m_ctx_valid(ctx_valid), .m_ctx(ctx)
  );
  for (genvar i = 0; i < C; i++) begin : g_client
    db_pcie_read #(
      .DATA_W(DATA_W), .TAG_BASE(i * TAG_BASE1), .NUM_TAGS(NUM_TAGS * (i + 1)), .RING_DW(RING_DW * (i + 1)),
      .USER_W(USER_W), .CHUNK_BYTES(CHUNK_BYTES), .MAX_PKTS(NUM_TAGS * (i + 1)), .RING_W(RING_W)
    ) i_read (
      .clk, .rst, .cfg_mrrs, .stop, .idle(idle[i]), .waiting(), .now, .fence(1'b0), .fenced(),
      .s_read_owner('0), .m_owner(), .s_owner_void(1'b0),
      .s_read_valid(s_read_valid[i]), .s_read_ready(s_read_ready[i]), .s_read(s_read[i]), .s_read_user(s_read_user[i]),
      .m_read_valid(tlp_valid[i]), .m_read_ready(tlp_ready[i]), .m_read(tlp[i]),
      .s_ring_we(ring_client == 1'(i) ? ring_we : '0), .s_ring_row(ring_row), .s_ring_data(ring_data),
      .s_done_valid(done_valid), .s_done(done),
      .m_row_valid(m_row_valid[i]), .m_row_ready(m_row_ready[i]), .m_row_data(m_row_data[i]),
      .m_row_info(m_row_info[i]), .m_row_user(m_row_user[i])
    );
  end
endmodule
