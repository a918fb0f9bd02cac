// SPDX-License-Identifier: Apache-2.0
// Says when what had been posted before some moment has come so far that nothing of ours can overtake it.
//
// Why: of several functions one is reset while the others work. Its host reads "not ready" in a completion, and that
// may pass writes of the function inside the hard block. db_pcie_rq_landed says when none is left there at all: while
// others are busy that never comes. What: those that were on their way are waited for, whoever's they are, and no
// later ones; reports come in the order of the writes, so they need only be counted:
//
//   fence -> what had begun is in db_pcie_rq_mux -> it has left db_pcie_cmb_rq -> as many reports as were due then
//
// The hard block drops writes of a function that is no bus master, and reports none of them. So if nothing is reported
// for 2**PATIENCE_LOG2 us, twice that at most, and RQ does not stand still, no report is due any more. Until then a
// fence waits, for each write that was dropped, for the report of a later one.
// Latency: fenced 4 cycles after fence if nothing is on its way, else 3 after the last report.
module db_pcie_landed_fence
  import db_pcie_pkg::*;
#(
  parameter int BEATS         = 0,   ///< at most in db_pcie_rq_mux and db_pcie_cmb_rq, 0..63; 0: there is no _cmb_rq
  parameter int PATIENCE_LOG2 = 10,  ///< 1..31
  parameter int COUNT_W       = 7    ///< bits of the count, 3..16: more than 2**COUNT_W - 1 writes never are inside
) (
  input  logic        clk,
  input  logic        rst,
  input  logic [63:0] time_us,
  /// pulse; fenced, from the cycle after it on
  input  logic        fence,
  output logic        fenced,
  /// data: from the cycle after fence on, what had begun is in db_pcie_rq_mux
  input  logic        sent,
  /// posts: one is offered to db_pcie_rq_mux; its last beat is taken
  input  logic        s_post_valid,
  input  logic        s_post_end,
  /// a beat leaves db_pcie_cmb_rq; nothing is in it or in db_pcie_rq_mux
  input  logic        s_beat,
  input  logic        s_rest,
  /// pulse: a posted write goes on to RQ
  input  logic        s_write,
  /// RQ does not move
  input  logic        s_stall,
  input  rq_seq_t     s_seq
);
  if (!(BEATS inside {[0:63]}) || !(PATIENCE_LOG2 inside {[1:31]}) || !(COUNT_W inside {[3:16]})) begin : g_bad
    $error("%m: BEATS must be 0..63 (is %0d), PATIENCE_LOG2 1..31 (is %0d), COUNT_W 3..16 (is %0d)", BEATS,
           PATIENCE_LOG2, COUNT_W);
  end
  localparam int BEAT_W = BEATS == 0 ? 1 : $clog2(BEATS + 1);

  // ---- reports that are due
  logic               write_q, stall_q, tick_q, late_q, late;
  logic [1:0]         report_q, reports;
  logic [COUNT_W-1:0] due_q, due;
  assign reports = 2'(report_q[0]) + 2'(report_q[1]);

  function automatic logic [COUNT_W-1:0] less(input logic [COUNT_W-1:0] n, input logic [1:0] d);
    return n <= COUNT_W'(d) ? '0 : n - COUNT_W'(d);
  endfunction

  // Dropped writes may fill the count: it stays at its end then, and is never too low.
  always_comb begin
    due = late ? '0 : less(due_q, reports);
    if (write_q && due != '1) due = due + 1'b1;
  end

  // ---- patience: late_q, a tick has come since the last report
  logic tick;
  assign tick = time_us[PATIENCE_LOG2] != tick_q;
  assign late = late_q && tick;
  always_ff @(posedge clk) begin
    for (int i = 0; i < 2; i++) report_q[i] <= s_seq.valid[i] && s_seq.num[i] == RQ_SEQ_WRITE;
    write_q <= s_write;
    stall_q <= s_stall;
    tick_q  <= time_us[PATIENCE_LOG2];
    due_q   <= due;
    late_q  <= due_q != '0 && reports == '0 && !stall_q && late_q != tick;
    if (rst) begin
      write_q  <= 1'b0;
      report_q <= '0;
      due_q    <= '0;
      late_q   <= 1'b0;
    end
  end

  // ---- the fence
  typedef enum logic [1:0] {ST_OVER, ST_SENT, ST_PASS, ST_LAND} state_e;
  state_e             state_q;
  logic [1:0]         posts_q;  // of posts that have begun at most two stand before db_pcie_rq_mux
  logic [BEAT_W-1:0]  beats_q;
  logic [COUNT_W-1:0] left_q;
  assign fenced = state_q == ST_OVER;

  always_ff @(posedge clk) begin
    if (fence)                            posts_q <= 2'd2;
    else if (!s_post_valid)               posts_q <= '0;
    else if (s_post_end && posts_q != '0) posts_q <= posts_q - 1'b1;
    if (state_q == ST_SENT)               beats_q <= BEAT_W'(BEATS);
    else if (s_rest)                      beats_q <= '0;
    else if (s_beat && beats_q != '0)     beats_q <= beats_q - 1'b1;
    left_q <= state_q == ST_PASS ? due : late ? '0 : less(left_q, reports);
    unique case (state_q)
      ST_SENT: if (sent && (posts_q == '0 || !s_post_valid)) state_q <= ST_PASS;
      ST_PASS: if (beats_q == '0) state_q <= ST_LAND;
      ST_LAND: if (left_q == '0) state_q <= ST_OVER;
      default: ;
    endcase
    if (fence) state_q <= ST_SENT;
    if (rst) state_q <= ST_OVER;
  end

  logic unused_ok;
  assign unused_ok = &{1'b0, time_us};
endmodule
