// SPDX-License-Identifier: Apache-2.0
// Small posted writes to the host (CQEs, interrupts, admin data): each becomes one memory write TLP, in order.
//
// Nothing is stored: s_post_* must hold still until s_post_ready, which comes with the TLP's last beat. The caller
// keeps a write inside a 4 KiB page and at most MPS long. Outputs and s_post_ready come from registers (db_skid), so
// that a caller may be combinational.
// Latency: 1 cycle. Throughput: a beat a cycle, no gap between TLPs: 4 dwords take 2 beats with 128 bits, else 1.
// With 512 bits the packets are those of db_pcie_rq_straddle: payload alone, descriptor in tuser.
module db_pcie_post
  import db_pcie_pkg::*;
#(
    parameter int unsigned DATA_W = 256,  // bits in a beat: 128, 256 or 512
    parameter int unsigned MAX_DW = 16    // dwords of the longest write: 1..16
) (
    input  logic                               clk,
    input  logic                               rst,

    input  logic                               s_post_valid,
    output logic                               s_post_ready,
    input  logic [7:0]                         s_post_fn,
    input  logic [63:0]                        s_post_addr,    // bytes, dword aligned
    input  logic [$clog2(MAX_DW):0]            s_post_len_dw,  // 1..MAX_DW
    input  logic [32*MAX_DW-1:0]               s_post_data,

    output logic [DATA_W-1:0]                  m_axis_rq_tdata,
    output logic [DATA_W/32-1:0]               m_axis_rq_tkeep,
    output logic                               m_axis_rq_tlast,
    output logic [rq_user_w(int'(DATA_W))-1:0] m_axis_rq_tuser,
    output logic                               m_axis_rq_tvalid,
    input  logic                               m_axis_rq_tready
);
  localparam int unsigned N = DATA_W / 32;
  localparam int unsigned LN = $clog2(N);
  localparam int unsigned H = rq_head_dw(int'(DATA_W));  // dwords of descriptor in the first beat
  localparam int unsigned BEATS = (H + MAX_DW + N - 1) / N;
  localparam int unsigned BEAT_W = (BEATS > 1) ? $clog2(BEATS) : 1;
  localparam int unsigned RQ_USER_W = rq_user_w(int'(DATA_W));

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end
  if (MAX_DW < 1 || MAX_DW > 16) begin : g_bad_max
    $error("%m: MAX_DW must be 1..16 (is %0d)", MAX_DW);
  end

  rq_desc_t                desc;
  logic [BEATS*DATA_W-1:0] packet;
  logic [BEAT_W-1:0]       beat_q;
  logic [4:0]              left;     // dwords from this beat on
  logic                    first, last, out_ready;
  logic [N-1:0]            keep;

  assign desc         = rq_desc_mem(1'b1, s_post_fn, s_post_addr, 11'(s_post_len_dw), '0);
  assign packet       = (BEATS * DATA_W)'(640'({s_post_data, desc}) >> (32 * (RQ_DW - H)));
  assign left         = 5'(s_post_len_dw) + 5'(H) - (5'(beat_q) << LN);
  assign first        = beat_q == '0;
  assign last         = BEATS == 1 || left <= 5'(N);
  assign s_post_ready = last && out_ready;
  always_comb for (int l = 0; l < int'(N); l++) keep[l] = 5'(l) < left;

  always_ff @(posedge clk) begin
    if (s_post_valid && out_ready) beat_q <= last ? '0 : beat_q + 1'b1;
    if (rst) beat_q <= '0;
  end

  db_skid #(
      .WIDTH(DATA_W + int'(N) + RQ_USER_W + 1)
  ) i_out (
      .clk,
      .rst,
      .s_valid(s_post_valid),
      .s_ready(out_ready),
      .s_data ({last, keep, RQ_USER_W'(rq_user(int'(DATA_W), first, desc, left)), packet[DATA_W*beat_q +: DATA_W]}),
      .m_valid(m_axis_rq_tvalid),
      .m_ready(m_axis_rq_tready),
      .m_data ({m_axis_rq_tlast, m_axis_rq_tkeep, m_axis_rq_tuser, m_axis_rq_tdata})
  );
endmodule
