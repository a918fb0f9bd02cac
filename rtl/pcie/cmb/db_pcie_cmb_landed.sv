// SPDX-License-Identifier: Apache-2.0
// Holds an answer from card memory until what was posted before it on RQ has landed (PG213 says so by sequence numbers): who
// reads an entry in card memory finds the data that was written to the host for it.
//
// A packet waits for those writes that were on their way when it came. If none is reported for 2**PATIENCE_LOG2 cycles in
// which RQ does not stand still, the hard block has dropped them (a function that is no bus master any more), and none is
// waited for.
// Latency: 2 cycles. Throughput: a packet's beats at one a cycle, 2 more between packets.
module db_pcie_cmb_landed
  import db_pcie_pkg::*;
#(
  parameter int COUNT_W       = 8,   ///< bits of the count
  parameter int PATIENCE_LOG2 = 16   ///< 2..20
) (
  input  logic    clk,
  input  logic    rst,
  /// pulse: a posted write is on its way
  input  logic    s_write,
  input  rq_seq_t s_seq,
  /// RQ does not move
  input  logic    s_stall,
  /// a packet stands there; its last beat is taken
  input  logic    s_valid,
  input  logic    s_end,
  output logic    open
);
  logic                     write_q, stall_q, wait_q, late;
  logic [1:0]               report_q;
  logic [COUNT_W-1:0]       under_q, left_q;  // on their way; of those, to be waited for
  logic [PATIENCE_LOG2-1:0] patience_q;
  logic [1:0]               reports;
  assign reports = 2'(report_q[0]) + 2'(report_q[1]);
  assign late    = patience_q == '1;

  function automatic logic [COUNT_W-1:0] less(input logic [COUNT_W-1:0] n, input logic [1:0] d);
    return n <= COUNT_W'(d) ? '0 : n - COUNT_W'(d);
  endfunction

  always_ff @(posedge clk) begin
    for (int i = 0; i < 2; i++) report_q[i] <= s_seq.valid[i] && s_seq.num[i] == RQ_SEQ_WRITE;
    write_q    <= s_write;
    stall_q    <= s_stall;
    under_q    <= late ? COUNT_W'(write_q) : less(under_q, reports) + COUNT_W'(write_q);
    patience_q <= (under_q == '0 || reports != '0 || stall_q || late) ? '0 : patience_q + 1'b1;
    if (!s_valid || s_end) begin
      wait_q <= 1'b0;
      open   <= 1'b0;
    end else if (!wait_q) begin
      wait_q <= 1'b1;
      left_q <= less(under_q, reports) + COUNT_W'(write_q);
    end else begin
      left_q <= late ? '0 : less(left_q, reports);
      open   <= left_q == '0;
    end
    if (rst) begin
      write_q    <= 1'b0;
      report_q   <= '0;
      under_q    <= '0;
      patience_q <= '0;
      wait_q     <= 1'b0;
      open       <= 1'b0;
    end
  end
endmodule
