// SPDX-License-Identifier: Apache-2.0
// Gates the clock of a block that rests most of the time, in Doorbell's simulator alone (DB_CLOCKS_REST): from `AFTER`
// cycles behind the last one in which the block was awake it has no edge, so that what rests costs no time to simulate.
// Elsewhere, in synthesis, proofs and benches, m_clk is clk.
//
// It may change nothing: whoever is behind it does nothing with a clock that it would not do without one. So it is
// awake in resets, with whatever comes in, and while anything is inside that moves by itself.
// Latency: none: a cycle in which it is awake has its edge. Throughput: -
module db_clock_gate #(
  parameter int AFTER = 64  ///< cycles that the block may go on behind the last one with awake: 1..1024
) (
  input  logic clk,    ///< one that does not rest itself
  input  logic awake,  ///< in this cycle, from registers: something comes in, or is inside
  output logic m_clk
);
  if (AFTER < 1 || AFTER > 1024) begin : g_bad
    $error("%m: AFTER must be 1..1024 (is %0d)", AFTER);
  end
`ifdef DB_CLOCKS_REST
  localparam bit RUNS = 1'b0;  // in Doorbell's own simulator, whose inputs are there at the falling edge
`else
  localparam bit RUNS = 1'b1;
`endif
  if (RUNS) begin : g_runs
    logic unused_ok;
    assign unused_ok = &{1'b0, awake};
    assign m_clk     = clk;
  end else begin : g_gated
    logic                       runs_q;
    logic [$clog2(AFTER+1)-1:0] left_q;
    always_ff @(posedge clk) begin
      if (awake)             left_q <= ($bits(left_q))'(AFTER);
      else if (left_q != '0) left_q <= left_q - 1'b1;
    end
    always_ff @(negedge clk) runs_q <= awake || left_q != '0;
    assign m_clk = clk && runs_q;
  end
endmodule
