// SPDX-License-Identifier: Apache-2.0
// Short posted writes to the host (CQEs, interrupts, the firmware's): each becomes one memory write TLP, in order.
//
// Nothing is stored: s_post must hold still until s_post_ready, which comes with the TLP's last beat. The caller keeps a
// write inside a 4 KiB page. Outputs and s_post_ready come from registers (db_skid), so that a caller may be
// combinational.
// Latency: 1 cycle. Throughput: a beat a cycle, no gap between TLPs: 4 dwords take 2 beats with 128 bits, else 1.
// With several functions a cycle more for each TLP: it is looked whether its function may send, until its first beat goes.
// With 512 bits the packets are those of db_pcie_rq_straddle: payload alone, descriptor in tuser.
`include "db_pcie_types.svh"
module db_pcie_post
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int NUM_FN = 1,    ///< functions, 1..17
  parameter int DATA_W = 256,  ///< bits of a beat: 128, 256 or 512
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W)
) (
  input  logic  clk,
  input  logic  rst,

  /// functions that send nothing: their writes are taken and dropped
  input  logic [NUM_FN-1:0] silent,

  input  logic  s_post_valid,
  output logic  s_post_ready,
  input  post_t s_post,

  output logic  m_rq_valid,
  input  logic  m_rq_ready,
  output rq_t   m_rq
);
  localparam int N         = DATA_W / 32;
  localparam int LANE_W    = $clog2(N);
  localparam int H         = rq_head_dw(DATA_W);  // dwords of descriptor in the first beat
  localparam int BEATS     = (H + POST_DWORDS + N - 1) / N;
  localparam int BEAT_W    = (BEATS > 1) ? $clog2(BEATS) : 1;
  localparam int RQ_USER_W = rq_user_w(DATA_W);

  if (!(DATA_W inside {128, 256, 512})) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d)", DATA_W);
  end

  rq_desc_t                desc;
  logic [BEATS*DATA_W-1:0] packet;
  logic [BEAT_W-1:0]       beat_q;
  logic [4:0]              left;     // dwords from this beat on
  logic                    first, last, out_ready;
  rq_t                     beat;

  assign desc         = rq_desc_mem(1'b1, s_post.fn, s_post.addr, 11'(s_post.dwords), '0);
  assign packet       = (BEATS * DATA_W)'({s_post.data, desc} >> (32 * (RQ_DW - H)));
  assign left         = 5'(s_post.dwords) + 5'(H) - (5'(beat_q) << LANE_W);
  assign first        = beat_q == '0;
  assign last         = BEATS == 1 || left <= 5'(N);
  logic mute, begun;                     // of a function that sends nothing; that is known
  assign s_post_ready = begun && (mute || (last && out_ready));
  logic silent_now;
  db_pcie_mute #(.NUM_FN(NUM_FN)) i_mute (.clk, .silent, .fn(s_post.fn), .mute(silent_now));
  if (NUM_FN == 1) begin : g_one
    assign mute  = silent_now;
    assign begun = 1'b1;
  end else begin : g_many
    always_ff @(posedge clk) begin
      if (first && !(begun && out_ready && !mute)) mute <= silent_now;
      begun <= begun ? !s_post_ready : s_post_valid;
      if (rst) begin
        mute  <= 1'b0;
        begun <= 1'b0;
      end
    end
  end

  assign beat.tdata = packet[DATA_W*beat_q +: DATA_W];
  assign beat.tlast = last;
  assign beat.tuser = RQ_USER_W'(rq_user(DATA_W, first, desc, left));
  always_comb for (int l = 0; l < N; l++) beat.tkeep[l] = 5'(l) < left;

  always_ff @(posedge clk) begin
    if (s_post_valid && begun && out_ready && !mute) beat_q <= last ? '0 : beat_q + 1'b1;
    if (rst) beat_q <= '0;
  end

  db_skid #(.WIDTH($bits(rq_t))) i_out (
    .clk, .rst, .s_valid(s_post_valid && begun && !mute), .s_ready(out_ready), .s_data(beat), .m_valid(m_rq_valid),
    .m_ready(m_rq_ready),
    .m_data(m_rq)
  );
endmodule
