// SPDX-License-Identifier: Apache-2.0
// Takes a straddled RC of 512 bits apart: one completion at a time, its payload from lane 0 on, the descriptor beside.
//
// PG213: completions start at lanes 0, 4, 8 and 12, up to four a beat, and go on in the next beat; tkeep and tlast say
// nothing. What leaves here has at most one completion a cycle, and no descriptor dwords in it, so the cost of 4.25
// beats for 256 bytes on RC becomes 4 rows here: time enough for the beats that end one completion and begin the
// next. Payload of a completion that starts in quarter q lies 4q + 3 lanes up: the realigner has four positions.
//
// Two beats are in sight: w0, where the work is, and w1, the head of the FIFO. A row that reaches into w1 moves on to
// it (w0 <- w1); a completion that ends in w0 does so only if nothing else starts there.
// Latency: 3 cycles if the completion ends in its first beat, else 2 from the second beat on. Throughput: a beat a
// cycle, if its completions do not need more rows than it has: a row for each 16 dwords of payload or part of them,
// one for a completion without. So tready falls (FIFO full) only behind runs of completions of a few dwords.
`include "db_pcie_types.svh"
module db_pcie_rc_straddle
  import db_pcie_pkg::*, db_pcie_straddle_pkg::*;
#(
  parameter int DEPTH = 8,  ///< beats of FIFO, a power of two, at least 2
  localparam type rc_t = `DB_PCIE_RC_T(512)
) (
  input  logic         clk,
  input  logic         rst,

  input  logic         s_rc_valid,
  output logic         s_rc_ready,
  input  rc_t          s_rc,

  /// no completion is begun; one is under way
  input  logic         pause,
  output logic         open,

  output logic         m_valid,
  output logic         m_sop,
  output logic         m_eop,
  /// in the last row: damaged inside the hard block
  output logic         m_disc,
  output logic [511:0] m_data,
  /// of payload, from lane 0 on
  output logic [4:0]   m_dwords,
  /// with m_sop
  output rc_desc_t     m_desc
);
  if (DEPTH < 2 || DEPTH != 2 ** $clog2(DEPTH)) begin : g_bad
    $error("%m: DEPTH must be a power of two of at least 2 (is %0d)", DEPTH);
  end

  typedef struct packed {
    logic [3:0][1:0] lane;    // of a completion's last dword in its quarter
    logic [3:0]      ends;    // quarters where a completion ends
    logic [3:0]      starts;  // and where one starts
    logic [3:0]      disc;    // and where that one is damaged
    logic [511:0]    data;
  } beat_t;

  beat_t in, w0_q, w1;
  logic  w1_valid, w1_take;

  logic [3:0] ends, last_end;
  logic [7:0] lanes;
  assign {lanes, ends} = rc_ends(s_rc.tuser);
  assign last_end      = ends & ~{1'b0, ends[3], |ends[3:2], |ends[3:1]};

  assign in.data   = s_rc.tdata;
  assign in.starts = rc_starts(s_rc.tuser);
  assign in.ends   = ends;
  assign in.lane   = lanes;
  // After a damaged completion the hard block starts none in the same beat, so it is the last that ends there.
  assign in.disc   = rc_discontinue(512, s_rc.tuser) ? last_end : '0;

  db_fifo #(.WIDTH($bits(beat_t)), .DEPTH(DEPTH)) i_fifo (
    .clk, .rst, .s_valid(s_rc_valid), .s_ready(s_rc_ready), .s_data(in), .m_valid(w1_valid), .m_ready(w1_take),
    .m_data(w1), .level()
  );

  // ---- where we are
  logic       w0_valid_q;
  logic       open_q;        // a completion goes on in w0
  logic [1:0] quarter_q;     // the quarter that it started in
  logic [3:0] starts_q;      // quarters of w0 where one starts that has not been looked at

  logic       sop;
  logic [1:0] q;
  assign sop = !open_q;

  always_comb begin
    q = quarter_q;
    if (sop) begin
      q = 2'd3;
      for (int k = 3; k >= 0; k--) if (starts_q[k]) q = 2'(k);
    end
  end

  // ---- where the row ends
  // In w0 the first end in quarter q or later is ours. In w1 it is the first of all, if within lane 4q + 2.
  logic       end0, end1, go;
  logic [1:0] e0, e1;
  logic [3:0] ends0;
  logic [4:0] n;             // dwords in the row
  assign ends0 = w0_q.ends & (4'hf << q);

  always_comb begin
    e0 = 2'd0;
    e1 = 2'd0;
    for (int k = 3; k >= 0; k--) begin
      if (ends0[k]) e0 = 2'(k);
      if (w1.ends[k]) e1 = 2'(k);
    end
    end0 = ends0 != '0;
    end1 = !end0 && w1.ends != '0 && {e1, w1.lane[e1]} <= {q, 2'd2};
    // from lane 4q + 3 of w0 to the end
    n = 5'd16;
    if (end0) n = {1'b0, e0 - q, w0_q.lane[e0]} - 5'd2;
    else if (end1) n = 5'd14 + {1'b0, e1, w1.lane[e1]} - {1'b0, q, 2'd0};
  end

  assign go      = w0_valid_q && (!sop || (starts_q != '0 && !pause)) && (end0 || w1_valid);

  assign open    = open_q || m_valid;

  logic [3:0] left;          // starts in w0 after this row
  logic       on;            // w0 is done with
  assign left    = !sop ? starts_q : starts_q & {|starts_q[2:0], |starts_q[1:0], starts_q[0], 1'b0};
  assign on      = !w0_valid_q || (go && (!end0 || left == '0)) || (sop && starts_q == '0);
  assign w1_take = on;

  always_ff @(posedge clk) begin
    if (go) begin
      open_q    <= !end0 && !end1;
      quarter_q <= q;
      starts_q  <= left;
    end
    if (on) begin
      w0_valid_q <= w1_valid;
      w0_q       <= w1;
      starts_q   <= w1.starts;
    end
    if (rst) begin
      w0_valid_q <= 1'b0;
      open_q     <= 1'b0;
    end
  end

  // ---- the row
  logic [1023:0] both;
  assign both = {w1.data, w0_q.data};

  always_ff @(posedge clk) begin
    m_valid  <= go && !rst;
    m_sop    <= sop;
    m_eop    <= end0 || end1;
    m_dwords <= n;
    m_disc   <= end0 ? w0_q.disc[e0] : (end1 && w1.disc[e1]);
    m_desc   <= w0_q.data[128*q+:96];
    m_data   <= both[128*q+96+:512];
  end
endmodule
