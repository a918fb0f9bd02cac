// SPDX-License-Identifier: Apache-2.0
// Merges N packet streams onto RQ: whole packets, round robin.
//
// A source that has begun a packet keeps RQ until tlast, so sources must not pause inside a packet (those of this
// library do not). stop[i]: no new packet of source i is taken; one that has begun goes on.
// Latency: 1 cycle. Throughput: a beat a cycle, no gap between packets. Outputs are registers (db_skid).
module db_pcie_rq_mux
  import db_pcie_pkg::*;
#(
    parameter int unsigned DATA_W = 256,  // bits in a beat: 128, 256 or 512
    parameter int unsigned N      = 3     // sources, at least 1
) (
    input  logic                                 clk,
    input  logic                                 rst,
    input  logic [N-1:0]                         stop,
    output logic                                 idle,          // no packet inside

    input  logic [N*DATA_W-1:0]                  s_axis_tdata,  // source i at [i*width +: width]
    input  logic [N*DATA_W/32-1:0]               s_axis_tkeep,
    input  logic [N-1:0]                         s_axis_tlast,
    input  logic [N*rq_user_w(int'(DATA_W))-1:0] s_axis_tuser,
    input  logic [N-1:0]                         s_axis_tvalid,
    output logic [N-1:0]                         s_axis_tready,

    output logic [DATA_W-1:0]                    m_axis_rq_tdata,
    output logic [DATA_W/32-1:0]                 m_axis_rq_tkeep,
    output logic                                 m_axis_rq_tlast,
    output logic [rq_user_w(int'(DATA_W))-1:0]   m_axis_rq_tuser,
    output logic                                 m_axis_rq_tvalid,
    input  logic                                 m_axis_rq_tready
);
  localparam int unsigned KEEP_W = DATA_W / 32;
  localparam int unsigned USER_W = rq_user_w(int'(DATA_W));

  if (!(DATA_W inside {128, 256, 512}) || N < 1) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d), N at least 1 (is %0d)", DATA_W, N);
  end

  logic [N-1:0] gnt, sel, owner_q;  // owner_q: the source inside a packet, one hot
  logic         open_q;             // inside a packet
  logic         any, valid, ready, last, ack;

  db_arb_rr #(
      .N(N)
  ) i_arb (
      .clk,
      .rst,
      .req      (s_axis_tvalid & ~stop),
      .ack,
      .gnt_valid(any),
      .gnt,
      .gnt_idx  ()
  );

  assign sel           = open_q ? owner_q : gnt;
  assign valid         = open_q ? |(s_axis_tvalid & owner_q) : any;
  assign last          = |(s_axis_tlast & sel);
  assign ack           = !open_q && valid && ready;
  assign s_axis_tready = ready ? sel : '0;

  assign idle          = !open_q && !m_axis_rq_tvalid;

  always_ff @(posedge clk) begin
    if (ack) owner_q <= gnt;
    if (valid && ready) open_q <= !last;
    if (rst) open_q <= 1'b0;
  end

  logic [DATA_W-1:0] data;
  logic [KEEP_W-1:0] keep;
  logic [USER_W-1:0] user;

  always_comb begin
    data = '0;
    keep = '0;
    user = '0;
    for (int i = 0; i < int'(N); i++) begin
      data |= s_axis_tdata[i*DATA_W +: DATA_W] & {DATA_W{sel[i]}};
      keep |= s_axis_tkeep[i*KEEP_W +: KEEP_W] & {KEEP_W{sel[i]}};
      user |= s_axis_tuser[i*USER_W +: USER_W] & {USER_W{sel[i]}};
    end
  end

  db_skid #(
      .WIDTH(DATA_W + KEEP_W + USER_W + 1)
  ) i_out (
      .clk,
      .rst,
      .s_valid(valid),
      .s_ready(ready),
      .s_data ({last, user, keep, data}),
      .m_valid(m_axis_rq_tvalid),
      .m_ready(m_axis_rq_tready),
      .m_data ({m_axis_rq_tlast, m_axis_rq_tuser, m_axis_rq_tkeep, m_axis_rq_tdata})
  );
endmodule
