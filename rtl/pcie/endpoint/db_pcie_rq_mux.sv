// SPDX-License-Identifier: Apache-2.0
// Merges N packet streams onto RQ, or onto CC: whole packets, round robin.
//
// A source that has begun a packet keeps RQ until tlast, so sources must not pause inside a packet (those of this
// library do not).
// Latency: 1 cycle. Throughput: a beat a cycle, no gap between packets. Outputs are registers (db_skid).
`include "db_pcie_types.svh"
module db_pcie_rq_mux
  import db_pcie_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits of a beat: 128, 256 or 512
  parameter int N      = 3,    ///< sources, at least 1
  parameter int USER_W = rq_user_w(DATA_W),  ///< bits of tuser
  localparam type rq_t = `DB_PCIE_STREAM_T(DATA_W, USER_W)
) (
  input  logic         clk,
  input  logic         rst,
  /// no new packet of source i is taken; one that has begun goes on
  input  logic [N-1:0] stop,
  /// no packet inside
  output logic         idle,
  /// pulse: a packet of source i begins
  output logic [N-1:0] begun,

  input  logic [N-1:0] s_rq_valid,
  output logic [N-1:0] s_rq_ready,
  input  rq_t  [N-1:0] s_rq,

  output logic         m_rq_valid,
  input  logic         m_rq_ready,
  output rq_t          m_rq
);
  if (!(DATA_W inside {128, 256, 512}) || N < 1) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d), N at least 1 (is %0d)", DATA_W, N);
  end

  logic [N-1:0] gnt, sel, owner_q;  // owner_q: the source inside a packet, one hot
  logic         open_q;             // inside a packet
  logic         any, valid, ready, ack;
  rq_t          beat;

  db_arb_rr #(.N(N)) i_arb (
    .clk, .rst, .req(s_rq_valid & ~stop), .ack, .gnt_valid(any), .gnt, .gnt_idx()
  );

  assign sel        = open_q ? owner_q : gnt;
  assign valid      = open_q ? |(s_rq_valid & owner_q) : any;
  assign ack        = !open_q && valid && ready;
  assign s_rq_ready = ready ? sel : '0;
  assign begun      = ack ? gnt : '0;
  assign idle       = !open_q && !m_rq_valid;

  always_ff @(posedge clk) begin
    if (ack) owner_q <= gnt;
    if (valid && ready) open_q <= !beat.tlast;
    if (rst) open_q <= 1'b0;
  end

  always_comb begin
    beat = '0;
    for (int i = 0; i < N; i++) beat |= s_rq[i] & {$bits(rq_t){sel[i]}};
  end

  db_skid #(.WIDTH($bits(rq_t))) i_out (
    .clk, .rst, .s_valid(valid), .s_ready(ready), .s_data(beat), .m_valid(m_rq_valid), .m_ready(m_rq_ready),
    .m_data(m_rq)
  );
endmodule
