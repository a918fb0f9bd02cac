// SPDX-License-Identifier: Apache-2.0
// The way of RQ to rest: which sources db_pcie_rq_mux takes nothing new from, and when nothing can come any more.
//
// With stop, read requests already handed over must leave before RQ is closed, or their tags would never end. Then
// everything is held, and what was posted must have left the hard block, or a completion could pass it that says "not
// ready". From quiet on, as long as stop stays, RQ stays empty.
// With PEERS RQ is not ours alone: others' packets pass after ours have come to rest.
// Latency: 1 cycle.
module db_pcie_quiet #(
  parameter bit PEERS = 1'b0  ///< RQ has packets of others too
) (
  input  logic clk,
  input  logic rst,
  input  logic stop,
  /// not a bus master now: nothing is posted
  input  logic hold,
  /// no read is outstanding or on its way to RQ; with stop it stays so
  input  logic reads_ended,
  /// nothing is in db_pcie_rq_mux or behind it
  input  logic rq_idle,
  /// what was posted has left the hard block (db_pcie_rq_landed)
  input  logic landed,
  output logic hold_reads,
  output logic hold_writes,
  output logic quiet
);
  always_ff @(posedge clk) begin
    hold_reads  <= stop && reads_ended;
    hold_writes <= hold || (stop && reads_ended);
    quiet       <= stop && hold_reads && reads_ended && ((rq_idle && landed) || (PEERS && quiet));
    if (rst) begin
      hold_reads  <= 1'b0;
      hold_writes <= 1'b0;
      quiet       <= 1'b0;
    end
  end
endmodule
