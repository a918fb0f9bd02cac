// SPDX-License-Identifier: Apache-2.0
// Whether every posted write that went to the hard block has come so far that nothing of ours can overtake it.
//
// Why: our completions may pass our posted writes inside the hard block. A host that reads "not ready" could find data
// written after that. PG213 reports a request's sequence number (pcie_rq_seq_num0, 1) when no completion can pass it
// any more. What: posted writes carry the number 1, everything else 0 (rq_user, rq_tuser_straddle), and the reports
// with 1 are counted against the writes. More than 2**COUNT_W - 1 writes never are in the hard block.
// A function that is not a bus master sends nothing: the hard block may throw requests away without a report, so with
// `forget` none is waited for. A report too many is nobody's.
// Latency: 2 cycles from a report to landed, and from s_write to its fall: RQ is not idle in the first of them.
module db_pcie_rq_landed
  import db_pcie_pkg::*;
#(
  parameter int COUNT_W = 7  ///< bits of the count, 3..16
) (
  input  logic    clk,
  input  logic    rst,
  /// pulse: a posted write is on its way to RQ
  input  logic    s_write,
  /// what the hard block reports
  input  rq_seq_t s_seq,
  /// nothing is on its way to RQ, and nothing that went there will be reported
  input  logic    forget,
  output logic    landed
);
  if (!(COUNT_W inside {[3:16]})) begin : g_bad
    $error("%m: COUNT_W must be 3..16 (is %0d)", COUNT_W);
  end

  logic [1:0]                report_q;
  logic                      write_q;
  logic [COUNT_W-1:0]        inside_q, inside_d;
  logic signed [COUNT_W-1:0] change;  // -2..1

  always_comb begin
    unique case ({report_q[0] && report_q[1], report_q[0] ^ report_q[1], write_q})
      3'b000, 3'b011: change = 0;
      3'b001:         change = 1;
      3'b010, 3'b101: change = -1;
      default:        change = -2;
    endcase
    inside_d = inside_q + change;
    if (forget || inside_q == '0) inside_d = COUNT_W'(write_q);
    else if (inside_q == 1 && report_q == 2'b11) inside_d = COUNT_W'(write_q);
  end

  always_ff @(posedge clk) begin
    for (int i = 0; i < 2; i++) report_q[i] <= s_seq.valid[i] && s_seq.num[i] == RQ_SEQ_WRITE;
    write_q  <= s_write;
    inside_q <= inside_d;
    landed   <= inside_d == '0;
    if (rst) begin
      write_q  <= 1'b0;
      inside_q <= '0;
      landed   <= 1'b1;
    end
  end
endmodule
