// SPDX-License-Identifier: Apache-2.0
// Read requests of all clients to memory-read packets on RQ, round robin.
//
// One request becomes one single-beat packet; in the cycle in which the packet first stands on m_rq, its context (client,
// ring place, length) goes to db_pcie_rc, so it is there before any completion can be.
// Latency: 1 cycle. Throughput: one request a cycle.
`include "db_pcie_types.svh"
module db_pcie_read_mux
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int DATA_W      = 256,  ///< bits of a beat: 128, 256 or 512
  parameter int NUM_CLIENTS = 4,    ///< read clients, 1..8
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W)
) (
  input  logic                        clk,
  input  logic                        rst,

  input  logic      [NUM_CLIENTS-1:0] s_read_valid,
  output logic      [NUM_CLIENTS-1:0] s_read_ready,
  input  read_tlp_t [NUM_CLIENTS-1:0] s_read,

  output logic                        m_rq_valid,
  input  logic                        m_rq_ready,
  output rq_t                         m_rq,

  /// always taken
  output logic                        m_ctx_valid,
  output read_ctx_t                   m_ctx
);
  localparam int CLIENT_W  = (NUM_CLIENTS > 1) ? $clog2(NUM_CLIENTS) : 1;
  localparam int RQ_USER_W = rq_user_w(DATA_W);
  localparam int H         = rq_head_dw(DATA_W);  // with 512 bits the descriptor is in tuser alone

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad_data_w
    $error("%m: DATA_W must be 128, 256 or 512, not %0d", DATA_W);
  end
  if (NUM_CLIENTS < 1 || NUM_CLIENTS > MAX_CLIENTS) begin : g_bad_clients
    $error("%m: NUM_CLIENTS must be 1..%0d, not %0d", MAX_CLIENTS, NUM_CLIENTS);
  end

  logic                   take, gnt_valid;
  logic [NUM_CLIENTS-1:0] gnt;
  logic [CLIENT_W-1:0]    client;
  read_tlp_t              read;
  rq_desc_t               desc_q;

  assign take         = gnt_valid && (!m_rq_valid || m_rq_ready);
  assign s_read_ready = take ? gnt : '0;

  db_arb_rr #(.N(NUM_CLIENTS)) i_arb (
    .clk, .rst, .req(s_read_valid), .ack(take), .gnt_valid, .gnt, .gnt_idx(client)
  );

  always_comb begin
    read = '0;
    for (int i = 0; i < NUM_CLIENTS; i++) if (gnt[i]) read |= s_read[i];
  end

  always_ff @(posedge clk) begin
    m_ctx_valid <= take && !rst;
    if (take) begin
      desc_q <= rq_desc_mem(1'b0, read.fn, read.addr, read.dwords, read.tag);
      m_ctx  <= '{client: 3'(client), tag: read.tag, dwords: read.dwords, ring_dw: read.ring_dw};
    end
    if (rst) m_rq_valid <= 1'b0;
    else if (take) m_rq_valid <= 1'b1;
    else if (m_rq_ready) m_rq_valid <= 1'b0;
  end

  assign m_rq.tdata = (H == 0) ? '0 : DATA_W'(desc_q);
  assign m_rq.tkeep = (DATA_W/32)'(2 ** H - 1);
  assign m_rq.tlast = 1'b1;
  assign m_rq.tuser = RQ_USER_W'(rq_user(DATA_W, 1'b1, desc_q, '0));
endmodule
