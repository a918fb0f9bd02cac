// SPDX-License-Identifier: Apache-2.0
// Beats of completions (CC) from rows: a beat takes its lanes from a row and the one before.
//
// A completion whose payload begins in the upper part of a row (dword 4 and more of it; 256 and 512 bits only) has a
// first row without a beat. With SIDE beats are payload alone, for db_pcie_cc_straddle: then it is so from dword 1 on.
// Latency: 1 cycle. Throughput: a beat every cycle but for those rows, none lost between packets.
`include "db_pcie_types.svh"
module db_pcie_root_beats
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int DATA_W = 128,   ///< bits of a beat and a row: 128, 256 or 512
  parameter bit SIDE   = 1'b0,  ///< 512 bits: the header stands beside the payload (cc_side_t)
  localparam type cc_t = `DB_PCIE_STREAM_T(DATA_W, cc_form_w(DATA_W, SIDE))
) (
  input  logic              clk,
  input  logic              rst,

  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  logic              s_row_last,

  /// of the completion at work (db_pcie_root_header)
  input  window_cpl_t       s_cpl,
  input  cc_desc_t          s_header,
  input  logic [255:0]      s_unsuccessful,

  output logic              m_cc_valid,
  input  logic              m_cc_ready,
  output cc_t               m_cc
);
  localparam int N         = DATA_W / 32;
  localparam int LANE_W    = $clog2(N);
  localparam int HEAD_DW   = cc_head_dw(SIDE);
  localparam int UR_DW     = HEAD_DW + 5;  // dwords of an unsuccessful completion
  localparam int CC_USER_W = cc_form_w(DATA_W, SIDE);

  // Lane l of a beat is dword 1 + l + turn of {this row, the one before}; turned by whole fours, then by the rest.
  logic [N-1:1][31:0] prev_q;
  logic [LANE_W-1:0]  turn, last_lane;
  logic [31:0]        both   [2*N];
  logic [31:0]        coarse [N+3];
  logic [DATA_W-1:0]  beat, out;
  logic               first_q, ahead_q, ahead, pop;

  // One of four, in another order for each lane: else yosys finds parts that two lanes have in common, and takes a LUT
  // and a half a bit (at 256 bits less with one order). An index that is a sum would cost it two.
  function automatic logic [31:0] turned(input int l, input logic [1:0] t, input logic [31:0] c0, input logic [31:0] c1,
                                         input logic [31:0] c2, input logic [31:0] c3);
    if (N == 8 || l % 4 == 0) return t[1] ? (t[0] ? c3 : c2) : t[0] ? c1 : c0;
    if (l % 4 == 2) return t[1] ^ t[0] ? (t[1] ? c2 : c1) : t[1] ? c3 : c0;
    return t[0] ? (t[1] ? c3 : c1) : t[1] ? c2 : c0;
  endfunction

  assign turn      = s_cpl.addr[LANE_W-1:0] - LANE_W'(HEAD_DW + 1);
  assign ahead     = N > 4 && first_q && !ahead_q && s_cpl.addr[LANE_W-1:0] >= LANE_W'(HEAD_DW + 1) && !s_cpl.bad;
  assign last_lane = s_cpl.bad ? LANE_W'(UR_DW - 1) : s_cpl.size[LANE_W-1:0] + LANE_W'(HEAD_DW);

  always_comb begin
    both[0] = '0;
    for (int l = 1; l < N; l++) both[l] = prev_q[l];
    for (int l = 0; l < N; l++) both[N+l] = s_row_data[32*l +: 32];
    for (int j = 0; j < N + 3; j++) begin
      coarse[j] = '0;
      for (int c = 0; c < N / 4; c++) begin
        if (int'(turn) >> 2 == c && 1 + j + 4*c < 2*N) coarse[j] = both[1 + j + 4*c];
      end
    end
    for (int l = 0; l < N; l++) begin
      beat[32*l +: 32] = turned(l, turn[1:0], coarse[l], coarse[l+1], coarse[l+2], coarse[l+3]);
    end
  end

  cc_side_t side;
  assign side = '{sop: first_q, dwords: s_row_last ? 5'(last_lane) + 5'd1 : 5'(N), desc: s_header};
  if (SIDE) begin : g_out_side
    always_comb begin
      out = beat;
      if (s_cpl.bad) out[159:0] = s_unsuccessful[255:96];
    end
  end else if (N == 4) begin : g_out_narrow
    always_comb begin
      out = beat;
      if (s_cpl.bad) out = first_q ? s_unsuccessful[127:0] : s_unsuccessful[255:128];
      if (first_q) out[95:0] = s_header;
    end
  end else begin : g_out_wide
    always_comb begin
      out = beat;
      if (s_cpl.bad) out[255:96] = s_unsuccessful[255:96];
      if (first_q) out[95:0] = s_header;
    end
  end

  logic valid_q;
  cc_t  out_q;

  assign s_row_ready = !valid_q || m_cc_ready;
  assign pop         = s_row_valid && s_row_ready;

  always_ff @(posedge clk) begin
    if (s_row_ready) begin
      valid_q     <= pop && !ahead;
      out_q.tlast <= s_row_last;
      out_q.tdata <= out;
      out_q.tuser <= SIDE ? CC_USER_W'(side)
                          : CC_USER_W'(cc_tuser(DATA_W, first_q, s_row_last, 4'(last_lane)));
      for (int l = 0; l < N; l++) out_q.tkeep[l] <= SIDE || !s_row_last || LANE_W'(l) <= last_lane;
    end
    if (pop) begin
      for (int l = 1; l < N; l++) prev_q[l] <= s_row_data[32*l +: 32];
      ahead_q <= ahead;
      if (!ahead) first_q <= s_row_last;
    end
    if (rst) begin
      valid_q <= 1'b0;
      first_q <= 1'b1;
      ahead_q <= 1'b0;
    end
  end

  assign m_cc_valid = valid_q;
  assign m_cc       = out_q;
endmodule
