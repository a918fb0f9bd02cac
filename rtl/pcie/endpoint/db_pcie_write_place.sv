// SPDX-License-Identifier: Apache-2.0
// Where in the stream of data each write TLP lies, and how its beats are made from rows (db_pcie_write has the picture).
//
// Latency: 1 cycle. Throughput: a TLP a cycle. Outputs are registers (db_skid).
module db_pcie_write_place
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int DATA_W = 256,  ///< bits of a beat: 128, 256 or 512
  parameter int USER_W = 8,    ///< bits of s_cut_user
  parameter int ROW_W  = 9     ///< bits of row counters
) (
  input  logic              clk,
  input  logic              rst,

  input  logic              s_cut_valid,
  output logic              s_cut_ready,
  input  write_cut_t        s_cut,
  input  logic [USER_W-1:0] s_cut_user,

  output logic              m_tlp_valid,
  input  logic              m_tlp_ready,
  output write_tlp_t        m_tlp,
  /// all payload is inside when this many rows have come in
  output logic [ROW_W-1:0]  m_tlp_end_row,
  output logic [USER_W-1:0] m_tlp_user
);
  localparam int N      = DATA_W / 32;
  localparam int LANE_W = $clog2(N);
  localparam int H      = rq_head_dw(DATA_W);  // dwords of descriptor in the first beat

  logic [LANE_W-1:0]  start_m1_q;   // o' - 1
  logic [ROW_W-1:0]   row_q, end_row;
  logic [9:0]         pos_end;      // o' - 1 + length
  logic [9-LANE_W:0]  rows;         // rows from the one where it starts (o') to the one where the next starts
  logic [LANE_W-1:0]  next_m1;
  logic [8:0]         len_m1;
  write_tlp_t         tlp;

  assign pos_end = 10'(start_m1_q) + 10'(s_cut.dwords);
  assign rows    = pos_end[9:LANE_W];
  assign next_m1 = pos_end[LANE_W-1:0];
  assign len_m1  = s_cut.dwords + 9'(H) - 1'b1;
  assign end_row = row_q + ROW_W'(rows);

  always_comb begin
    tlp.cut       = s_cut;
    tlp.brief     = 10'(rows) < 10'd4;
    tlp.start_m1  = 4'(start_m1_q);
    tlp.last_lane = 4'(len_m1[LANE_W-1:0]);
    if (s_cut.drop) begin
      tlp.beats_m1  = (rows == '0) ? '0 : 7'(rows - 1'b1);
      tlp.tail      = 1'b0;
      tlp.take_last = rows != '0;
    end else begin
      tlp.beats_m1  = 7'(len_m1 >> LANE_W);
      tlp.tail      = 6'(next_m1) + 6'(H) > 6'(start_m1_q) + 6'(N);
      tlp.take_last = 6'(start_m1_q) >= 6'(next_m1) + 6'(H);
    end
  end

  always_ff @(posedge clk) begin
    if (s_cut_valid && s_cut_ready) begin
      start_m1_q <= s_cut.last ? '1 : next_m1;
      row_q      <= end_row;
    end
    if (rst) begin
      start_m1_q <= '1;
      row_q      <= '0;
    end
  end

  db_skid #(.WIDTH($bits(write_tlp_t) + ROW_W + USER_W)) i_out (
    .clk, .rst, .s_valid(s_cut_valid), .s_ready(s_cut_ready), .s_data({s_cut_user, end_row, tlp}),
    .m_valid(m_tlp_valid), .m_ready(m_tlp_ready), .m_data({m_tlp_user, m_tlp_end_row, m_tlp})
  );
endmodule
