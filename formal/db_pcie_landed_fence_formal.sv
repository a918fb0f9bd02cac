// SPDX-License-Identifier: Apache-2.0
// Proof of db_pcie_landed_fence: when a fence is over, every write that was on its way to the hard block as it began, or
// inside, has been reported. Writes, reports, fences and what stands in front are free; a report comes only for a
// write, in their order. None is dropped here, and patience has no end.
module db_pcie_landed_fence_formal
  import db_pcie_pkg::*;
(
  input logic       clk,
  input logic       rst,
  input logic       fence,
  input logic       sent,
  input logic       s_post_valid,
  input logic       s_post_end,
  input logic       s_beat,
  input logic       s_rest,
  input logic       s_write,
  input logic [1:0] report
);
  logic started_q;
  initial started_q = 1'b0;
  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb if (!started_q) assume (rst);

  logic    fenced;
  rq_seq_t seq;
  assign seq.valid = report;
  assign seq.num   = {RQ_SEQ_WRITE, RQ_SEQ_WRITE};
  db_pcie_landed_fence #(.BEATS(3), .COUNT_W(4)) dut (
    .clk, .rst, .time_us('0), .fence, .fenced, .sent, .s_post_valid, .s_post_end, .s_beat, .s_rest, .s_write,
    .s_stall(1'b0), .s_seq(seq)
  );

  // ---- writes that are on their way; of these, those from before the fence
  logic [3:0] writes_q, before_q;
  logic [1:0] reports, known;
  assign reports = 2'(report[0]) + 2'(report[1]);
  assign known   = 2'(dut.report_q[0]) + 2'(dut.report_q[1]);
  always_ff @(posedge clk) begin
    writes_q <= writes_q + 4'(s_write) - 4'(reports);
    if (fence) before_q <= writes_q + 4'(s_write) - 4'(reports);
    else       before_q <= before_q <= 4'(reports) ? '0 : before_q - 4'(reports);
    if (rst) begin
      writes_q <= '0;
      before_q <= '0;
    end
  end
  always_comb begin
    assume (4'(reports) <= writes_q);
    assume (writes_q < 4'd12);
    if (rst) assume (report == '0);
  end

  always_comb if (started_q && !rst) begin
    // what a user relies on
    if (fenced) assert (before_q == '0);
    // how it comes about
    assert (!dut.late_q && !dut.late);
    assert (before_q <= writes_q);
    assert (dut.due_q + 4'(dut.write_q) == writes_q + 4'(known));
    if (2'(dut.state_q) == 2'd3) assert (before_q == '0 || before_q + 4'(known) <= dut.left_q);
  end

  logic asked_q, waited_q;  // a fence has begun; with a write on its way
  always_ff @(posedge clk) begin
    asked_q  <= !rst && (asked_q || fence);
    waited_q <= !rst && (fence ? writes_q > 4'd2 : waited_q);
  end
  always_comb cover (started_q && !rst && asked_q && waited_q && fenced && writes_q != '0);
endmodule
