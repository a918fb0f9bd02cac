// SPDX-License-Identifier: Apache-2.0
// Takes a straddled CQ of 512 bits apart: one request at a time, its payload from lane 0 on, the descriptor beside.
//
// PG213: requests start at lane 0, or at lane 8 if another ends at lane 7 or before in the same beat, and go on in the
// next beat; tkeep and tlast say nothing. What leaves here has at most one request a cycle and no descriptor dwords in
// it, so the 4.5 beats of 256 bytes become 4 rows. Payload of a request that starts in half h lies 8h + 4 lanes up.
//
// Two beats are in sight: w0, where the work is, and w1, the head of the FIFO. A row that reaches into w1 moves on to
// it (w0 <- w1); a request that ends in w0 does so only if nothing else starts there.
// Latency: 3 cycles if the request ends in its first beat, else 2 from the second beat on. Throughput: a beat a cycle,
// if its requests do not need more rows than it has: a row for each 16 dwords of payload or part of them, one for a
// request without. Outputs are registers.
`include "db_pcie_types.svh"
module db_pcie_cq_straddle
  import db_pcie_pkg::*, db_pcie_straddle_pkg::*;
#(
  parameter int DEPTH = 8,  ///< beats of FIFO, a power of two, at least 2
  localparam type cq_t = `DB_PCIE_CQ_T(512)
) (
  input  logic         clk,
  input  logic         rst,
  /// no request inside
  output logic         idle,

  input  logic         s_cq_valid,
  output logic         s_cq_ready,
  input  cq_t          s_cq,

  output logic         m_valid,
  input  logic         m_ready,
  output logic         m_sop,
  output logic         m_eop,
  /// in the last row: damaged inside the hard block
  output logic         m_disc,
  output logic [511:0] m_data,
  /// of payload, from lane 0 on
  output logic [4:0]   m_dwords,
  /// with m_sop
  output cq_desc_t     m_desc,
  /// with each row
  output logic [3:0]   m_first_be,
  output logic [3:0]   m_last_be
);
  if (DEPTH < 2 || DEPTH != 2 ** $clog2(DEPTH)) begin : g_bad
    $error("%m: DEPTH must be a power of two of at least 2 (is %0d)", DEPTH);
  end

  typedef struct packed {
    logic [1:0][7:0] be;      // {last, first} of the request that starts in a half
    logic [1:0][2:0] lane;    // of a request's last dword in its half
    logic [1:0]      ends;    // halves where a request ends
    logic [1:0]      starts;  // and where one starts
    logic [1:0]      disc;    // and where that one is damaged
    logic [511:0]    data;
  } beat_t;

  beat_t in, w0_q, w1;
  logic  w1_valid, w1_take;

  logic [1:0] ends;
  logic [5:0] lanes;
  assign {lanes, ends} = cq_ends(s_cq.tuser);

  assign in.data   = s_cq.tdata;
  assign in.starts = cq_starts(s_cq.tuser);
  assign in.be     = cq_start_be(s_cq.tuser);
  assign in.ends   = ends;
  assign in.lane   = lanes;
  // The damaged request is the last that ends in its beat.
  assign in.disc   = cq_discontinue(512, s_cq.tuser) ? {ends[1], ends == 2'b01} : '0;

  db_fifo #(.WIDTH($bits(beat_t)), .DEPTH(DEPTH)) i_fifo (
    .clk, .rst, .s_valid(s_cq_valid), .s_ready(s_cq_ready), .s_data(in), .m_valid(w1_valid), .m_ready(w1_take),
    .m_data(w1), .level()
  );

  // ---- where we are
  logic       w0_valid_q;
  logic       open_q;     // a request goes on in w0
  logic       half_q;     // the half that it started in
  logic [1:0] starts_q;   // halves of w0 where one starts that has not been looked at
  logic       sop, h;
  assign sop = !open_q;
  assign h   = sop ? !starts_q[0] : half_q;

  // ---- where the row ends
  // In w0 the first end in half h or later is ours. In w1 it is the first of all, if within lane 8h + 3.
  logic       end0, end1, e0, e1, go;
  logic [4:0] n;          // dwords in the row
  assign e0   = h || !w0_q.ends[0];
  assign e1   = !w1.ends[0];
  assign end0 = w0_q.ends[1] || (!h && w0_q.ends[0]);
  assign end1 = !end0 && w1.ends != '0 && {e1, w1.lane[e1]} <= {h, 3'd3};
  always_comb begin
    // from lane 8h + 4 of w0 to the end
    n = 5'd16;
    if (end0) n = {1'b0, e0 - h, w0_q.lane[e0]} - 5'd3;
    else if (end1) n = 5'd13 + {1'b0, e1, w1.lane[e1]} - {1'b0, h, 3'd0};
  end

  logic out_free;
  assign out_free = !m_valid || m_ready;
  assign go       = out_free && w0_valid_q && (!sop || starts_q != '0) && (end0 || w1_valid);

  logic [1:0] left;       // starts in w0 after this row
  logic       on;         // w0 is done with
  assign left    = !sop ? starts_q : {starts_q[1] && starts_q[0], 1'b0};
  assign on      = !w0_valid_q || (go && (!end0 || left == '0)) || (sop && starts_q == '0);
  assign w1_take = on;

  always_ff @(posedge clk) begin
    if (go) begin
      open_q   <= !end0 && !end1;
      half_q   <= h;
      starts_q <= left;
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
    if (out_free) begin
      m_valid  <= go;
      m_sop    <= sop;
      m_eop    <= end0 || end1;
      m_dwords <= n;
      m_disc   <= end0 ? w0_q.disc[e0] : (end1 && w1.disc[e1]);
      m_desc   <= h ? w0_q.data[383:256] : w0_q.data[127:0];
      m_data   <= h ? both[895:384] : both[639:128];
      if (sop) {m_last_be, m_first_be} <= w0_q.be[h];
    end
    if (rst) m_valid <= 1'b0;
  end
  assign idle = !w0_valid_q && !w1_valid && !m_valid;
endmodule
