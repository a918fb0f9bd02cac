// SPDX-License-Identifier: Apache-2.0
// Writes to the host: segments and a data stream in, memory write TLPs on RQ out.
//
// A packet on s_axis is the data of one command. It starts at lane 0 of a row; the command's segments cut it at any
// dword. Segments are split into TLPs of at most MPS at MPS-aligned host addresses. A TLP starts only when all its
// payload is in the data FIFO, so it never pauses on its own account. Dropped segments pass the same way and put
// nothing on RQ.
//
// How the shift works: lanes of a beat are dwords. Four dwords of header push the payload along, so a beat needs the
// end of one row and the start of the next. `win` holds the last row taken from the FIFO (prev), the last 4 dwords of
// the one before it (pp) and the head of the FIFO (cur). Payload that starts at lane o of a row makes lane l of a
// beat win[l + o'], where o' = o, or N of the row before for o = 0 (so it is 1..N).
// With that numbering each beat takes 0 or 1 row, across TLPs and packets too, whatever the alignment. Only one
// case would have to go back a row: a last beat that holds the rest of the row where the next TLP begins
// (`tail`); such a beat takes no new row and reads its up to 3 dwords from the end of prev.
//
// Latency: 1 cycle from the last row of a TLP's payload (s_axis) to its header (m_axis_rq), 4 if the payload has fewer
// than 4 rows (the data FIFO may need as long to bring the row out); 5 from its segment.
// Throughput: one RQ beat every cycle, also between TLPs, segments and commands, while data and segments are there (one
// cycle of splitting per TLP and one per segment are hidden behind the beats of other TLPs). With 256 bits and
// MPS 256, a TLP takes 9 beats. A dropped segment takes a cycle a row.
// m_done follows the accepted last beat of a packet's last segment by one cycle; its err says that a row had terr.
module db_pcie_write
  import db_pcie_pkg::*;
#(
    parameter int unsigned DATA_W    = 256,            // bits in a beat: 128, 256 or 512
    parameter int unsigned USER_W    = 8,              // bits of s_seg_user, at least 1
    parameter int unsigned DATA_ROWS = 32768 / DATA_W  // rows in the data FIFO; power of two, at least 2 KiB
) (
    input  logic                              clk,
    input  logic                              rst,

    input  logic [2:0]                        cfg_mps,      // 0: 128 bytes ... 3 and above: 1024 bytes; constant in use

    input  logic                              s_seg_valid,
    output logic                              s_seg_ready,
    input  logic [7:0]                        s_seg_fn,
    input  logic [63:0]                       s_seg_addr,   // bytes, dword aligned
    input  logic [12:0]                       s_seg_len,    // bytes: 4..4096, inside one 4 KiB page
    input  logic                              s_seg_first,
    input  logic                              s_seg_last,
    input  logic                              s_seg_drop,
    input  logic [USER_W-1:0]                 s_seg_user,

    input  logic                              s_axis_tvalid,
    output logic                              s_axis_tready,
    input  logic [DATA_W-1:0]                 s_axis_tdata,
    input  logic                              s_axis_tlast,
    input  logic                              s_axis_terr,

    output logic [DATA_W-1:0]                 m_axis_rq_tdata,
    output logic [DATA_W/32-1:0]              m_axis_rq_tkeep,
    output logic                              m_axis_rq_tlast,
    output logic [rq_user_w(int'(DATA_W))-1:0] m_axis_rq_tuser,
    output logic                              m_axis_rq_tvalid,
    input  logic                              m_axis_rq_tready,

    output logic                              m_done_valid,
    input  logic                              m_done_ready,
    output logic [USER_W-1:0]                 m_done_user,
    output logic                              m_done_err
);
  localparam int unsigned N = DATA_W / 32;
  localparam int unsigned LN = $clog2(N);
  localparam int unsigned H = rq_head_dw(int'(DATA_W));  // dwords of descriptor in the first beat
  localparam int unsigned RQ_USER_W = rq_user_w(int'(DATA_W));
  localparam int unsigned ROW_W = $clog2(DATA_ROWS) + 2;  // row counters, compared modulo 2**ROW_W
  localparam int unsigned DONE_DEPTH = 8;

  if (!(DATA_W inside {128, 256, 512}) || USER_W < 1 || DATA_ROWS != (1 << $clog2(DATA_ROWS)) ||
      DATA_ROWS * DATA_W < 16384) begin : g_bad
    $error("%m: DATA_W 128/256/512 (is %0d), USER_W >= 1 (is %0d), DATA_ROWS power of two of 2 KiB or more (is %0d)",
           DATA_W, USER_W, DATA_ROWS);
  end

  // ------------------------------------------------------------------ split segments into TLPs
  typedef struct packed {
    logic [7:0]        fn;
    logic [61:0]       addr_dw;
    logic              drop;
    logic              last;      // of the packet
    logic [USER_W-1:0] user;
  } head_t;

  typedef struct packed {
    head_t             h;
    logic [8:0]        len_dw;    // payload, 1..256
    logic [ROW_W-1:0]  end_row;   // all payload is inside when this many rows have come in
    logic              brief;     // fewer than 4 of them are not taken for the TLP before
    logic [6:0]        beats_m1;
    logic [LN-1:0]     start_m1;  // o' - 1
    logic [LN-1:0]     last_lane;
    logic              tail;      // see above
    logic              take_last; // the last beat takes a row
  } tlp_t;

  head_t       seg_q, cut_q;
  logic        seg_valid_q, cut_valid_q;
  logic [10:0] seg_left_q;        // dwords
  logic [8:0]  cut_len_q;
  logic        cut_free;
  logic [8:0]  room_q;            // dwords up to the next MPS boundary
  logic [7:0]  mps_m1_q;          // MPS in dwords - 1
  logic [8:0]  cut_len;
  logic        cut_all;

  assign cut_all     = seg_left_q <= {2'b00, room_q};
  assign cut_len     = cut_all ? seg_left_q[8:0] : room_q;
  assign s_seg_ready = !seg_valid_q;

  always_ff @(posedge clk) begin
    unique case (cfg_mps)
      3'd0:    mps_m1_q <= 8'd31;
      3'd1:    mps_m1_q <= 8'd63;
      3'd2:    mps_m1_q <= 8'd127;
      default: mps_m1_q <= 8'd255;
    endcase
    if (s_seg_ready) begin
      seg_valid_q   <= s_seg_valid;
      seg_q.fn      <= s_seg_fn;
      seg_q.addr_dw <= s_seg_addr[63:2];
      seg_q.drop    <= s_seg_drop;
      seg_q.last    <= s_seg_last;
      seg_q.user    <= s_seg_user;
      seg_left_q    <= s_seg_len[12:2];
      room_q        <= {1'b0, ~s_seg_addr[9:2] & mps_m1_q} + 1'b1;
    end else if (cut_free) begin
      seg_valid_q        <= !cut_all;
      seg_q.addr_dw[9:0] <= seg_q.addr_dw[9:0] + {1'b0, room_q};  // stays inside its page
      seg_left_q         <= seg_left_q - {2'b00, room_q};
      room_q             <= {1'b0, mps_m1_q} + 1'b1;
    end
    if (cut_free) begin
      cut_valid_q <= seg_valid_q;
      cut_q       <= seg_q;
      cut_q.last  <= seg_q.last && cut_all;
      cut_len_q   <= cut_len;
    end
    if (rst) begin
      seg_valid_q <= 1'b0;
      cut_valid_q <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ where in the data stream each TLP lies
  logic [LN-1:0]    start_m1_q;
  logic [ROW_W-1:0] row_q;
  logic [9:0]       pos_end;      // o' - 1 + length
  logic [9-LN:0]    rows;         // rows from the one where it starts (o') to the one where the next starts
  logic [LN-1:0]    next_m1;
  logic [8:0]       len_m1;
  tlp_t             new_tlp, tlp;
  logic             new_ready, tlp_valid, tlp_ready;

  assign pos_end  = 10'(start_m1_q) + 10'(cut_len_q);
  assign rows     = pos_end[9:LN];
  assign next_m1  = pos_end[LN-1:0];
  assign len_m1   = cut_len_q + 9'(H) - 1'b1;
  assign cut_free = !cut_valid_q || new_ready;

  always_comb begin
    new_tlp.h         = cut_q;
    new_tlp.len_dw    = cut_len_q;
    new_tlp.end_row   = row_q + ROW_W'(rows);
    new_tlp.brief     = 10'(rows) < 10'd4;
    new_tlp.start_m1  = start_m1_q;
    new_tlp.last_lane = len_m1[LN-1:0];
    if (cut_q.drop) begin
      new_tlp.beats_m1  = (rows == '0) ? '0 : 7'(rows - 1'b1);
      new_tlp.tail      = 1'b0;
      new_tlp.take_last = rows != '0;
    end else begin
      new_tlp.beats_m1  = 7'(len_m1 >> LN);
      new_tlp.tail      = 6'(next_m1) + 6'(H) > 6'(start_m1_q) + 6'(N);
      new_tlp.take_last = 6'(start_m1_q) >= 6'(next_m1) + 6'(H);
    end
  end

  always_ff @(posedge clk) begin
    if (cut_valid_q && new_ready) begin
      start_m1_q <= cut_q.last ? '1 : next_m1;
      row_q      <= new_tlp.end_row;
    end
    if (rst) begin
      start_m1_q <= '1;
      row_q      <= '0;
    end
  end

  db_skid #(
      .WIDTH($bits(tlp_t))
  ) i_tlps (
      .clk,
      .rst,
      .s_valid(cut_valid_q),
      .s_ready(new_ready),
      .s_data (new_tlp),
      .m_valid(tlp_valid),
      .m_ready(tlp_ready),
      .m_data (tlp)
  );

  // ------------------------------------------------------------------ data FIFO
  // A row that comes in at t is at the head of the FIFO at t + 3 at the latest, if the rows before it have been taken
  // by then. A TLP takes a row in each of its first beats, so one of 4 rows or more may start in the very cycle in which
  // its last row comes in; for a shorter one rows count 3 cycles later.
  logic              err_q;       // an earlier row of the packet that comes in had terr
  logic              row_err, row_in;
  logic [2:0]        row_in_q;                 // 1 to 3 cycles ago
  logic [ROW_W-1:0]  rows_in_q, rows_late_q;   // rows that came in before this cycle, 3 cycles ago
  logic              cur_valid, cur_last, cur_err, take;
  logic [DATA_W-1:0] cur;

  assign row_err = err_q || s_axis_terr;
  assign row_in  = s_axis_tvalid && s_axis_tready;

  db_fifo #(
      .WIDTH(DATA_W + 2),
      .DEPTH(DATA_ROWS)
  ) i_data (
      .clk,
      .rst,
      .s_valid(s_axis_tvalid),
      .s_ready(s_axis_tready),
      .s_data ({row_err, s_axis_tlast, s_axis_tdata}),
      .m_valid(cur_valid),
      .m_ready(take),
      .m_data ({cur_err, cur_last, cur}),
      .level  ()
  );

  always_ff @(posedge clk) begin
    row_in_q    <= {row_in_q[1:0], row_in};
    rows_in_q   <= rows_in_q + ROW_W'(row_in);
    rows_late_q <= rows_late_q + ROW_W'(row_in_q[2]);
    if (row_in) err_q <= row_err && !s_axis_tlast;
    if (rst) begin
      row_in_q    <= '0;
      rows_in_q   <= '0;
      rows_late_q <= '0;
      err_q       <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ one beat a cycle
  // The TLP at work waits here for its payload. lack: rows that it still misses, 0 when all are there.
  tlp_t       act_q;
  logic       act_valid_q, act_first_q, act_last_q;
  logic       act_tail_q, act_take_q;  // this beat is a tail; this beat takes a row
  logic [6:0] act_left_q;              // beats after this one
  logic       step, out_ready, done_room_q, row_counts, next_counts, may_go;
  logic       act_void;                // this beat ends a packet and puts nothing on RQ: it waits until RQ is empty
  logic [ROW_W-1:0] lack_q, lack_next;
  logic       lack_0_q, lack_1_q;      // at most 0, exactly 1
  logic [$clog2(DONE_DEPTH):0] done_level;

  assign row_counts  = act_q.brief ? row_in_q[2] : row_in;
  assign next_counts = tlp.brief ? row_in_q[2] : row_in;
  assign lack_next   = tlp.end_row - (tlp.brief ? rows_late_q : rows_in_q) - ROW_W'(next_counts);
  assign may_go      = !act_first_q || (done_room_q && (lack_0_q || (lack_1_q && row_counts)));
  assign act_void    = act_q.h.drop && act_q.h.last && act_last_q;
  assign step        = act_valid_q && out_ready && may_go && !(act_void && m_axis_rq_tvalid);
  assign take        = step && act_take_q;
  assign tlp_ready   = !act_valid_q || (act_last_q && step);

  always_ff @(posedge clk) begin
    done_room_q <= done_level <= 4'(DONE_DEPTH - 5);  // at most 5 packets end between here and the FIFO
    if (row_counts && !lack_0_q) begin
      lack_q   <= lack_q - 1'b1;
      lack_0_q <= lack_1_q;
      lack_1_q <= lack_q == ROW_W'(2);
    end
    if (step) begin
      act_first_q <= 1'b0;
      act_left_q  <= act_left_q - 1'b1;
      act_last_q  <= act_left_q == 7'd1;
      act_tail_q  <= act_q.tail && act_left_q == 7'd1;
      act_take_q  <= (act_left_q == 7'd1) ? act_q.take_last : !(act_q.tail && act_left_q == 7'd2);
    end
    if (tlp_ready) begin
      act_valid_q <= tlp_valid;
      act_q       <= tlp;
      act_first_q <= 1'b1;
      act_left_q  <= tlp.beats_m1;
      act_last_q  <= tlp.beats_m1 == '0;
      act_tail_q  <= 1'b0;
      act_take_q  <= (tlp.beats_m1 == '0) ? tlp.take_last : !(tlp.tail && tlp.beats_m1 == 7'd1);
      lack_q      <= lack_next;
      lack_0_q    <= lack_next[ROW_W-1] || lack_next == '0;
      lack_1_q    <= lack_next == ROW_W'(1);
    end
    if (rst) act_valid_q <= 1'b0;
  end

  // ------------------------------------------------------------------ shift and output register
  logic [DATA_W-1:0]      prev_q;
  logic [127:0]           pp_q;
  logic                   prev_err_q, prev_last_q;
  logic [2*DATA_W+127:0]  win;
  logic [DATA_W-1:0]      shifted, beat;
  logic [95:0]            tail;
  rq_desc_t               desc;

  assign win     = {cur, prev_q, pp_q};
  assign shifted = DATA_W'(win[2*DATA_W+127:160-32*H] >> {act_q.start_m1, 5'd0});
  assign desc    = rq_desc_mem(1'b1, act_q.h.fn, {act_q.h.addr_dw, 2'b00}, 11'(act_q.len_dw), '0);
  assign tail    = prev_q[DATA_W-1-:96] >> {act_q.start_m1[1:0], 5'd0};

  always_comb begin
    beat = shifted;
    if (act_tail_q) beat[95:0] = tail;
    if (H != 0 && act_first_q) beat[127:0] = desc;
  end

  logic [N-1:0]         keep;
  logic                 end_err, end_last;        // of the row that this beat ends with
  logic                 out_done, out_err;        // in RQ's register: the last beat of a packet
  logic [USER_W-1:0]    out_user;

  assign end_err  = act_take_q ? cur_err : prev_err_q;
  assign end_last = act_take_q ? cur_last : prev_last_q;
  always_comb for (int l = 0; l < int'(N); l++) keep[l] = !act_last_q || LN'(l) <= act_q.last_lane;

  always_ff @(posedge clk) begin
    if (take) begin
      pp_q        <= prev_q[DATA_W-1-:128];
      prev_q      <= cur;
      prev_err_q  <= cur_err;
      prev_last_q <= cur_last;
    end
  end

  // RQ's ready ends here, in registers.
  db_skid #(
      .WIDTH(DATA_W + int'(N) + RQ_USER_W + USER_W + 3)
  ) i_out (
      .clk,
      .rst,
      .s_valid(step && !act_q.h.drop),
      .s_ready(out_ready),
      .s_data ({act_last_q && act_q.h.last, end_err, act_q.h.user, act_last_q,
                RQ_USER_W'(rq_user(int'(DATA_W), act_first_q, desc, act_last_q ? 5'(act_q.last_lane) + 1'b1 : 5'(N))),
                keep, beat}),
      .m_valid(m_axis_rq_tvalid),
      .m_ready(m_axis_rq_tready),
      .m_data ({out_done, out_err, out_user, m_axis_rq_tlast, m_axis_rq_tuser, m_axis_rq_tkeep, m_axis_rq_tdata})
  );

  // ------------------------------------------------------------------ reports
  // late: the report of the cycle before. It goes out at once, or into the FIFO if it is not taken.
  logic              late_valid_q, late_err_q, kept_valid, kept_err;
  logic [USER_W-1:0] late_user_q, kept_user;

  assign m_done_valid = kept_valid || late_valid_q;
  assign m_done_user  = kept_valid ? kept_user : late_user_q;
  assign m_done_err   = kept_valid ? kept_err : late_err_q;

  always_ff @(posedge clk) begin
    late_valid_q <= !rst && (m_axis_rq_tvalid ? m_axis_rq_tready && out_done : step && act_void);
    late_user_q  <= m_axis_rq_tvalid ? out_user : act_q.h.user;
    late_err_q   <= m_axis_rq_tvalid ? out_err : end_err;
  end

  db_fifo #(
      .WIDTH(USER_W + 1),
      .DEPTH(DONE_DEPTH)
  ) i_done (
      .clk,
      .rst,
      .s_valid(late_valid_q && (kept_valid || !m_done_ready)),
      .s_ready(),  // room was checked before the TLP started
      .s_data ({late_err_q, late_user_q}),
      .m_valid(kept_valid),
      .m_ready(m_done_ready),
      .m_data ({kept_err, kept_user}),
      .level  (done_level)
  );

  // ------------------------------------------------------------------ what must hold
  logic seg_open_q;  // between a packet's first segment and its last
  always_ff @(posedge clk) begin
    if (rst) seg_open_q <= 1'b0;
    else if (s_seg_valid && s_seg_ready) seg_open_q <= !s_seg_last;
  end
  assert property (@(posedge clk) disable iff (rst) !(s_seg_valid && s_seg_ready) || s_seg_first == !seg_open_q);
  assert property (@(posedge clk) disable iff (rst) !take || cur_valid);
  assert property (@(posedge clk) disable iff (rst) !(step && act_last_q && act_q.h.last) || end_last);
endmodule
