// SPDX-License-Identifier: Apache-2.0
// Makes the beats of write TLPs from rows of data: one beat a cycle (db_pcie_write has the picture).
//
// The TLP at work waits here for its payload. A dropped one takes its rows and puts nothing on RQ; at a packet's end it
// waits until RQ is empty, so that ends come in order. So does one that has become void before it began.
// Latency: 1 cycle from a TLP's last row, or from s_tlp. Throughput: a beat every cycle, across TLPs and packets.
`include "db_pcie_types.svh"
module db_pcie_write_beats
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int NUM_FN = 1,    ///< functions, 1..17
  parameter int DATA_W = 256,  ///< bits of a beat: 128, 256 or 512
  parameter int USER_W = 8,    ///< bits of s_tlp_user
  parameter int ROW_W  = 9,    ///< bits of row counters
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W)
) (
  input  logic              clk,
  input  logic              rst,

  input  logic              s_tlp_valid,
  output logic              s_tlp_ready,
  input  write_tlp_t        s_tlp,
  input  logic [ROW_W-1:0]  s_tlp_end_row,
  input  logic [USER_W-1:0] s_tlp_user,
  /// functions that send nothing: their TLPs are void
  input  logic [NUM_FN-1:0] silent,
  /// the TLP that comes, the one at work: void, seen a cycle later: it puts nothing on RQ if it has not begun
  input  logic              s_tlp_void,
  output logic [USER_W-1:0] act_user,
  input  logic              act_void,
  /// pulse; fenced, from the cycle after it on: every TLP that had begun before has left
  input  logic              fence,
  output logic              fenced,

  /// of db_pcie_write_rows
  input  logic              row_in,
  input  logic              row_late,
  input  logic [ROW_W-1:0]  rows_in,
  input  logic [ROW_W-1:0]  rows_late,
  input  logic              s_row_valid,
  output logic              s_row_ready,
  input  logic [DATA_W-1:0] s_row_data,
  input  logic              s_row_last,
  input  logic              s_row_err,

  /// the end of another TLP's packet can be reported
  input  logic              done_room,

  output logic              m_rq_valid,
  input  logic              m_rq_ready,
  output rq_t               m_rq,

  /// pulse: a packet's last beat was taken, or would have been
  output logic              m_done_valid,
  output logic [USER_W-1:0] m_done_user,
  output logic              m_done_err
);
  localparam int N         = DATA_W / 32;
  localparam int LANE_W    = $clog2(N);
  localparam int H         = rq_head_dw(DATA_W);  // dwords of descriptor in the first beat
  localparam int RQ_USER_W = rq_user_w(DATA_W);

  // ---- the TLP at work
  // lack: rows that it still misses, 0 when all are there.
  write_tlp_t        act_q;
  logic [USER_W-1:0] act_user_q;
  logic              act_valid_q, act_first_q, act_last_q;
  logic              act_tail_q, act_take_q;  // this beat is a tail; this beat takes a row
  logic [6:0]        act_left_q;              // beats after this one
  logic              step, out_ready, row_counts, next_counts, may_go, take;
  logic              void_q;                  // it has not begun, and is void
  logic              act_drop, drop_q;        // it puts nothing on RQ; the same, from its second beat on
  logic              act_silent;              // this beat ends a packet and puts nothing on RQ
  logic [ROW_W-1:0]  lack_q, lack_next;
  logic              lack_0_q, lack_1_q;      // at most 0, exactly 1

  assign row_counts  = act_q.brief ? row_late : row_in;
  assign next_counts = s_tlp.brief ? row_late : row_in;
  assign lack_next   = s_tlp_end_row - (s_tlp.brief ? rows_late : rows_in) - ROW_W'(next_counts);
  assign may_go      = !act_first_q || (done_room && (lack_0_q || (lack_1_q && row_counts)));
  assign act_user    = act_user_q;
  assign act_drop    = act_first_q ? act_q.cut.drop || void_q : drop_q;
  assign act_silent  = act_drop && act_q.cut.last && act_last_q;
  assign step        = act_valid_q && out_ready && may_go && !(act_silent && m_rq_valid);
  assign take        = step && act_take_q;
  assign s_row_ready = take;
  assign s_tlp_ready = !act_valid_q || (act_last_q && step);

  logic next_mute, act_mute;             // the function of the TLP that comes, of that at work, sends nothing
  db_pcie_mute #(.NUM_FN(NUM_FN), .ASKERS(2)) i_mute (
    .clk, .silent, .fn({s_tlp.cut.fn, act_q.cut.fn}), .mute({next_mute, act_mute}));

  always_ff @(posedge clk) begin
    if (row_counts && !lack_0_q) begin
      lack_q   <= lack_q - 1'b1;
      lack_0_q <= lack_1_q;
      lack_1_q <= lack_q == ROW_W'(2);
    end
    void_q <= s_tlp_ready ? s_tlp_void || next_mute : act_void || act_mute;
    if (step) begin
      drop_q      <= act_drop;
      act_first_q <= 1'b0;
      act_left_q  <= act_left_q - 1'b1;
      act_last_q  <= act_left_q == 7'd1;
      act_tail_q  <= act_q.tail && act_left_q == 7'd1;
      act_take_q  <= (act_left_q == 7'd1) ? act_q.take_last : !(act_q.tail && act_left_q == 7'd2);
    end
    if (s_tlp_ready) begin
      act_valid_q <= s_tlp_valid;
      act_q       <= s_tlp;
      act_user_q  <= s_tlp_user;
      act_first_q <= 1'b1;
      act_left_q  <= s_tlp.beats_m1;
      act_last_q  <= s_tlp.beats_m1 == '0;
      act_tail_q  <= 1'b0;
      act_take_q  <= (s_tlp.beats_m1 == '0) ? s_tlp.take_last : !(s_tlp.tail && s_tlp.beats_m1 == 7'd1);
      lack_q      <= lack_next;
      lack_0_q    <= lack_next[ROW_W-1] || lack_next == '0;
      lack_1_q    <= lack_next == ROW_W'(1);
    end
    if (rst) act_valid_q <= 1'b0;
  end

  // ---- shift
  logic [DATA_W-1:0]     prev_q;
  logic [127:0]          pp_q;
  logic                  prev_err_q, prev_last_q;
  logic [2*DATA_W+127:0] win;
  logic [DATA_W-1:0]     shifted;
  logic [95:0]           tail;
  logic [4:0]            dwords;  // of payload in the beat, for db_pcie_rq_straddle
  rq_desc_t              desc;
  rq_t                   beat;

  assign win     = {s_row_data, prev_q, pp_q};
  assign shifted = DATA_W'(win[2*DATA_W+127:160-32*H] >> {act_q.start_m1[LANE_W-1:0], 5'd0});
  assign desc    = rq_desc_mem(1'b1, act_q.cut.fn, {act_q.cut.addr_dw, 2'b00}, 11'(act_q.cut.dwords), '0);
  assign tail    = prev_q[DATA_W-1-:96] >> {act_q.start_m1[1:0], 5'd0};

  assign dwords  = act_last_q ? 5'(act_q.last_lane[LANE_W-1:0]) + 1'b1 : 5'(N);

  always_comb begin
    beat.tdata = shifted;
    if (act_tail_q) beat.tdata[95:0] = tail;
    if (H != 0 && act_first_q) beat.tdata[127:0] = desc;
    for (int l = 0; l < N; l++) beat.tkeep[l] = !act_last_q || LANE_W'(l) <= act_q.last_lane[LANE_W-1:0];
    beat.tlast = act_last_q;
    beat.tuser = RQ_USER_W'(rq_user(DATA_W, act_first_q, desc, dwords));
  end

  always_ff @(posedge clk) begin
    if (take) begin
      pp_q        <= prev_q[DATA_W-1-:128];
      prev_q      <= s_row_data;
      prev_err_q  <= s_row_err;
      prev_last_q <= s_row_last;
    end
  end

  // ---- RQ's ready ends here, in registers
  logic              end_err, end_last;  // of the row that this beat ends with
  logic              out_done, out_err;  // in RQ's register: the last beat of a packet
  logic [USER_W-1:0] out_user;

  assign end_err  = act_take_q ? s_row_err : prev_err_q;
  assign end_last = act_take_q ? s_row_last : prev_last_q;

  db_skid #(.WIDTH($bits(rq_t) + USER_W + 2)) i_out (
    .clk, .rst, .s_valid(step && !act_drop), .s_ready(out_ready),
    .s_data({act_last_q && act_q.cut.last, end_err, act_user_q, beat}), .m_valid(m_rq_valid), .m_ready(m_rq_ready),
    .m_data({out_done, out_err, out_user, m_rq})
  );

  assign m_done_valid = m_rq_valid ? m_rq_ready && out_done : step && act_silent;
  assign m_done_user  = m_rq_valid ? out_user : act_user_q;
  assign m_done_err   = m_rq_valid ? out_err : end_err;

  // ---- fence: of TLPs that have begun, at most one is at work here and two end in i_out.
  logic [1:0] fence_q;
  assign fenced = fence_q == '0;
  always_ff @(posedge clk) begin
    if (fence)                                                  fence_q <= 2'd3;
    else if (!m_rq_valid && (!act_valid_q || act_first_q))      fence_q <= '0;
    else if (m_rq_valid && m_rq_ready && m_rq.tlast && !fenced) fence_q <= fence_q - 1'b1;
    if (rst) fence_q <= '0;
  end

  assert property (@(posedge clk) disable iff (rst) !take || s_row_valid);
  assert property (@(posedge clk) disable iff (rst) !(step && act_last_q && act_q.cut.last) || end_last);
endmodule
