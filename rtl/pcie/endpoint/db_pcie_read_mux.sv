// SPDX-License-Identifier: Apache-2.0
// Read requests of all clients to memory-read packets on RQ, round robin.
//
// What: one request becomes one single-beat packet; in the cycle in which the packet first stands on m_axis_rq, its
//   context (client, ring place, length) goes to db_pcie_rc, so it is there before any completion can be.
// Latency: 1 cycle. Throughput: one request a cycle.
module db_pcie_read_mux
  import db_pcie_pkg::*;
#(
    parameter int DATA_W      = 256,  // bits of a beat: 128, 256 or 512
    parameter int NUM_CLIENTS = 4,    // read clients, at least 1
    parameter int TAG_W       = 8,    // bits of a tag in the context table, 1..8
    parameter int RING_DW_W   = 12,   // log2 of the largest client ring in dwords
    localparam int N        = DATA_W / 32,
    localparam int CLIENT_W = (NUM_CLIENTS > 1) ? $clog2(NUM_CLIENTS) : 1
) (
    input logic clk,
    input logic rst,

    input  logic [          NUM_CLIENTS-1:0] s_rd_valid,
    output logic [          NUM_CLIENTS-1:0] s_rd_ready,
    input  logic [        NUM_CLIENTS*8-1:0] s_rd_fn,
    input  logic [       NUM_CLIENTS*64-1:0] s_rd_addr,
    input  logic [       NUM_CLIENTS*11-1:0] s_rd_len_dw,
    input  logic [        NUM_CLIENTS*8-1:0] s_rd_tag,
    input  logic [NUM_CLIENTS*RING_DW_W-1:0] s_rd_ring_dw,

    output logic [           DATA_W-1:0] m_axis_rq_tdata,
    output logic [                N-1:0] m_axis_rq_tkeep,
    output logic                         m_axis_rq_tlast,
    output logic [rq_user_w(DATA_W)-1:0] m_axis_rq_tuser,
    output logic                         m_axis_rq_tvalid,
    input  logic                         m_axis_rq_tready,

    output logic                 ctx_we,
    output logic [    TAG_W-1:0] ctx_tag,
    output logic [ CLIENT_W-1:0] ctx_client,
    output logic [RING_DW_W-1:0] ctx_dw,
    output logic [         10:0] ctx_len_dw
);

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad_data_w
    $error("%m: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (NUM_CLIENTS < 1) begin : g_bad_clients
    $error("%m: NUM_CLIENTS must be at least 1, not %0d", NUM_CLIENTS);
  end

  logic                   take, gnt_valid;
  logic [NUM_CLIENTS-1:0] gnt;
  logic [   CLIENT_W-1:0] client;

  assign take       = gnt_valid && (!m_axis_rq_tvalid || m_axis_rq_tready);
  assign s_rd_ready = take ? gnt : '0;

  db_arb_rr #(
      .N(NUM_CLIENTS)
  ) u_arb (
      .clk      (clk),
      .rst      (rst),
      .req      (s_rd_valid),
      .ack      (take),
      .gnt_valid(gnt_valid),
      .gnt      (gnt),
      .gnt_idx  (client)
  );

  logic [          7:0] fn, tag;
  logic [         63:0] addr;
  logic [         10:0] len_dw;
  logic [RING_DW_W-1:0] ring_dw;

  always_comb begin
    fn      = '0;
    tag     = '0;
    addr    = '0;
    len_dw  = '0;
    ring_dw = '0;
    for (int i = 0; i < NUM_CLIENTS; i++) begin
      if (gnt[i]) begin
        fn      |= s_rd_fn[i*8+:8];
        tag     |= s_rd_tag[i*8+:8];
        addr    |= s_rd_addr[i*64+:64];
        len_dw  |= s_rd_len_dw[i*11+:11];
        ring_dw |= s_rd_ring_dw[i*RING_DW_W+:RING_DW_W];
      end
    end
  end

  rq_desc_t desc_q;

  always_ff @(posedge clk) begin
    ctx_we <= take && !rst;
    if (take) begin
      desc_q     <= rq_desc_mem(1'b0, fn, addr, len_dw, tag);
      ctx_tag    <= tag[TAG_W-1:0];
      ctx_client <= client;
      ctx_dw     <= ring_dw;
      ctx_len_dw <= len_dw;
    end
    if (rst) m_axis_rq_tvalid <= 1'b0;
    else if (take) m_axis_rq_tvalid <= 1'b1;
    else if (m_axis_rq_tready) m_axis_rq_tvalid <= 1'b0;
  end

  localparam int USER_W = rq_user_w(DATA_W);

  localparam int H = rq_head_dw(DATA_W);  // with 512 bits the descriptor is in tuser alone

  assign m_axis_rq_tdata = (H == 0) ? '0 : DATA_W'(desc_q);
  assign m_axis_rq_tkeep = N'(2 ** H - 1);
  assign m_axis_rq_tlast = 1'b1;
  assign m_axis_rq_tuser = USER_W'(rq_user(DATA_W, 1'b1, desc_q, '0));

endmodule
