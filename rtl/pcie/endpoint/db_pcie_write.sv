// SPDX-License-Identifier: Apache-2.0
// Writes to the host: segments and a data stream in, memory write TLPs on RQ out. Wiring only:
//
//   s_seg -> _split (TLPs of at most MPS) -> _place (where in the data they lie) -> _beats -> m_rq
//   s_row -> _rows (data FIFO) -----------------------------------------------------^   '-> _done -> m_done
//
// A packet of rows is the data of one command. It starts at lane 0 of a row; the command's segments cut it at any
// dword. Segments are split into TLPs of at most MPS at MPS-aligned host addresses. A TLP starts only when all its
// payload is in the data FIFO, so it never pauses on its own account. Dropped segments pass the same way and put
// nothing on RQ.
//
// How the shift works: lanes of a beat are dwords. Four dwords of header push the payload along, so a beat needs the
// end of one row and the start of the next. `win` holds the last row taken from the FIFO (prev), the last 4 dwords of
// the one before it (pp) and the head of the FIFO. Payload that starts at lane o of a row makes lane l of a
// beat win[l + o'], where o' = o, or N of the row before for o = 0 (so it is 1..N).
// With that numbering each beat takes 0 or 1 row, across TLPs and packets too, whatever the alignment. Only one
// case would have to go back a row: a last beat that holds the rest of the row where the next TLP begins
// (`tail`); such a beat takes no new row and reads its up to 3 dwords from the end of prev.
//
// Latency: 1 cycle from the last row of a TLP's payload (s_row) to its header (m_rq), 4 if the payload has fewer
// than 4 rows (the data FIFO may need as long to bring the row out); 5 from its segment.
// Throughput: one RQ beat every cycle, also between TLPs, segments and commands, while data and segments are there (one
// cycle of splitting per TLP and one per segment are hidden behind the beats of other TLPs). With 256 bits and
// MPS 256, a TLP takes 9 beats. A dropped segment takes a cycle a row.
// m_done follows the accepted last beat of a packet's last segment by one cycle; its err says that a row had err.
`include "db_pcie_types.svh"
module db_pcie_write
  import db_mem_pkg::*, db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int NUM_FN = 1,    ///< functions, 1..17
  parameter int DATA_W = 256,  ///< bits of a beat: 128, 256 or 512
  parameter int USER_W = 8,    ///< bits of s_seg_user, at least 1
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W)
) (
  input  logic              clk,
  input  logic              rst,
  output logic              idle,         ///< no row waits inside

  /// 0: 128 bytes ... 3 and above: 1024 bytes; constant in use
  input  logic [2:0]        cfg_mps,
  /// functions that send nothing: what has not begun of their TLPs is dropped
  input  logic [NUM_FN-1:0] silent,

  input  logic              s_seg_valid,
  output logic              s_seg_ready,
  input  segment_t          s_seg,
  /// comes back with the packet's report, that of its last segment
  input  logic [USER_W-1:0] s_seg_user,

  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  row_info_t         s_row_info,

  output logic              m_rq_valid,
  input  logic              m_rq_ready,
  output rq_t               m_rq,

  /// the user data of the two TLPs that come next; void, in the same cycle: what has not begun of them is dropped
  output logic [1:0][USER_W-1:0] m_user,
  input  logic [1:0]        s_user_void,
  /// pulse; fenced, from the cycle after it on: every TLP that had begun before has left
  input  logic              fence,
  output logic              fenced,

  output logic              m_done_valid,
  input  logic              m_done_ready,
  output logic [USER_W-1:0] m_done_user,
  output logic              m_done_err
);
  localparam int DATA_ROWS = 32768 / DATA_W;         // in the data FIFO, 4 KiB: a power of two, at least 2 KiB
  localparam int ROW_W     = $clog2(DATA_ROWS) + 2;  // row counters, compared modulo 2**ROW_W

  if (!(DATA_W inside {128, 256, 512}) || USER_W < 1) begin : g_bad
    $error("%m: DATA_W must be 128, 256 or 512 (is %0d), USER_W at least 1 (is %0d)", DATA_W, USER_W);
  end

  logic              cut_valid, cut_ready, tlp_valid, tlp_ready;
  write_cut_t        cut;
  write_tlp_t        tlp;
  logic [USER_W-1:0] cut_user, tlp_user, ended_user;
  logic [ROW_W-1:0]  tlp_end_row, rows_in, rows_late;
  logic              row_valid, row_ready, row_last, row_err, row_in, row_late, done_room, ended, ended_err;
  logic [DATA_W-1:0] row;

  // Its clock stands still while it rests, in simulation. Settings reach it when they change.
  logic              write_clk;
  logic [NUM_FN+2:0] settings_q;
  always_ff @(posedge clk) settings_q <= {silent, cfg_mps};
  db_clock_gate i_clk (
    .clk, .awake(rst || settings_q != {silent, cfg_mps} || fence || !fenced || s_seg_valid || s_row_valid ||
                 cut_valid || tlp_valid || row_valid || m_rq_valid || m_done_valid), .m_clk(write_clk));

  db_pcie_write_split #(.USER_W(USER_W)) i_split (
    .clk(write_clk), .rst, .cfg_mps, .s_seg_valid, .s_seg_ready, .s_seg, .s_seg_user, .m_cut_valid(cut_valid),
    .m_cut_ready(cut_ready), .m_cut(cut), .m_cut_user(cut_user)
  );
  db_pcie_write_place #(.DATA_W(DATA_W), .USER_W(USER_W), .ROW_W(ROW_W)) i_place (
    .clk(write_clk), .rst, .s_cut_valid(cut_valid), .s_cut_ready(cut_ready), .s_cut(cut), .s_cut_user(cut_user),
    .m_tlp_valid(tlp_valid), .m_tlp_ready(tlp_ready), .m_tlp(tlp), .m_tlp_end_row(tlp_end_row), .m_tlp_user(tlp_user)
  );
  db_pcie_write_rows #(.DATA_W(DATA_W), .DEPTH(DATA_ROWS), .ROW_W(ROW_W)) i_rows (
    .clk(write_clk), .rst, .s_row_valid, .s_row_ready, .s_row_data, .s_row_info, .m_row_valid(row_valid),
    .m_row_ready(row_ready), .m_row_data(row), .m_row_last(row_last), .m_row_err(row_err), .row_in, .row_late,
    .rows_in, .rows_late
  );
  db_pcie_write_beats #(.NUM_FN(NUM_FN), .DATA_W(DATA_W), .USER_W(USER_W), .ROW_W(ROW_W)) i_beats (
    .clk(write_clk), .rst, .silent, .s_tlp_valid(tlp_valid), .s_tlp_ready(tlp_ready), .s_tlp(tlp),
    .s_tlp_end_row(tlp_end_row), .s_tlp_user(tlp_user), .s_tlp_void(s_user_void[1]), .act_user(m_user[0]),
    .act_void(s_user_void[0]), .fence, .fenced, .row_in, .row_late, .rows_in, .rows_late, .s_row_valid(row_valid),
    .s_row_ready(row_ready), .s_row_data(row), .s_row_last(row_last), .s_row_err(row_err), .done_room, .m_rq_valid,
    .m_rq_ready, .m_rq, .m_done_valid(ended), .m_done_user(ended_user), .m_done_err(ended_err)
  );
  assign m_user[1] = tlp_user;
  assign idle      = !row_valid;
  // At most 5 packets end between a TLP's start and here.
  db_pcie_write_done #(.USER_W(USER_W), .DEPTH(8)) i_done (
    .clk(write_clk), .rst, .room(done_room), .s_done_valid(ended), .s_done_user(ended_user), .s_done_err(ended_err),
    .m_done_valid, .m_done_ready, .m_done_user, .m_done_err
  );

  logic seg_open_q;  // between a packet's first segment and its last
  always_ff @(posedge clk) begin
    if (rst) seg_open_q <= 1'b0;
    else if (s_seg_valid && s_seg_ready) seg_open_q <= !s_seg.last;
  end
  assert property (@(posedge clk) disable iff (rst) !(s_seg_valid && s_seg_ready) || s_seg.first == !seg_open_q);
endmodule
