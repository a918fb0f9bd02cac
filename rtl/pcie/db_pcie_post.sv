// SPDX-License-Identifier: Apache-2.0
// Small posted writes to the host (CQEs, interrupts, admin data): each becomes one memory write TLP, in order.
//
// Nothing is stored: s_post_* must hold still until s_post_ready, which comes with the TLP's last beat. The caller
// keeps a write inside a 4 KiB page and at most MPS long.
// Latency: 1 cycle. Throughput: a beat a cycle, no gap between TLPs: 4 dwords take 2 beats with 128 bits, else 1.
// With 512 bits the packets are those of db_pcie_rq_straddle: payload alone, descriptor in tuser.
module db_pcie_post
  import db_pcie_pkg::*;
#(
    parameter int unsigned DATA_W = 256  // bits in a beat: 128, 256 or 512
) (
    input  logic                               clk,
    input  logic                               rst,

    input  logic                               s_post_valid,
    output logic                               s_post_ready,
    input  logic [7:0]                         s_post_fn,
    input  logic [63:0]                        s_post_addr,    // bytes, dword aligned
    input  logic [4:0]                         s_post_len_dw,  // 1..16
    input  logic [511:0]                       s_post_data,

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
  localparam int unsigned BEATS = (H + 16 + N - 1) / N;
  localparam int unsigned BEAT_W = (BEATS > 1) ? $clog2(BEATS) : 1;
  localparam int unsigned RQ_USER_W = rq_user_w(int'(DATA_W));

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  rq_desc_t                desc;
  logic [BEATS*DATA_W-1:0] packet;
  logic [BEAT_W-1:0]       beat_q;
  logic [4:0]              left;     // dwords from this beat on
  logic                    first, last, out_free;
  logic                    out_valid_q, out_last_q;
  logic [DATA_W-1:0]       out_data_q;
  logic [N-1:0]            out_keep_q;
  logic [RQ_USER_W-1:0]    out_user_q;

  assign desc         = rq_desc_mem(1'b1, s_post_fn, s_post_addr, 11'(s_post_len_dw), '0);
  assign packet       = (BEATS * DATA_W)'(640'({s_post_data, desc}) >> (32 * (RQ_DW - H)));
  assign left         = s_post_len_dw + 5'(H) - (5'(beat_q) << LN);
  assign first        = beat_q == '0;
  assign last         = left <= 5'(N);
  assign out_free     = !out_valid_q || m_axis_rq_tready;
  assign s_post_ready = last && out_free;

  always_ff @(posedge clk) begin
    if (out_free) begin
      if (s_post_valid) beat_q <= last ? '0 : beat_q + 1'b1;
      out_valid_q <= s_post_valid;
      out_last_q  <= last;
      out_data_q  <= packet[DATA_W*beat_q +: DATA_W];
      out_user_q  <= RQ_USER_W'(rq_user(int'(DATA_W), first, desc, left));
      for (int l = 0; l < int'(N); l++) out_keep_q[l] <= 5'(l) < left;
    end
    if (rst) begin
      beat_q      <= '0;
      out_valid_q <= 1'b0;
    end
  end

  assign m_axis_rq_tdata  = out_data_q;
  assign m_axis_rq_tkeep  = out_keep_q;
  assign m_axis_rq_tlast  = out_last_q;
  assign m_axis_rq_tuser  = out_user_q;
  assign m_axis_rq_tvalid = out_valid_q;
endmodule
