// SPDX-License-Identifier: Apache-2.0
// By what time tags rest, for the db_pcie_read_rest of all clients: epochs of 2**EPOCH_LOG2 microseconds, and whether a
// tag may rest at all.
//
// A tag rests for the epoch in which it ended and for two more, so for 2 to 3 times 2**EPOCH_LOG2 us. The default, 262 to
// 393 ms, is more than 5 times the longest time-out that a PCIe device has unless it is told otherwise (50 ms): what
// holds a completion back for so long has failed itself. It costs little, as only tags rest that timed out. Epochs
// come from a clock outside, so that they pass while ours stands still.
// rst must not be that of a controller: late completions come whether it was reset or not.
// Latency: 1 cycle.
module db_pcie_read_clock
  import db_pcie_block_pkg::*;
#(
  parameter int EPOCH_LOG2 = 17  ///< log2 of microseconds, 0..59
) (
  input  logic        clk,
  input  logic        rst,      ///< power-on, or a link that was down
  input  logic [63:0] time_us,  ///< free running
  /// pulse: a tag begins to rest
  input  logic        lost,
  output rest_now_t   now
);
  if (!(EPOCH_LOG2 inside {[0:59]})) begin : g_bad
    $error("%m: EPOCH_LOG2 must be 0..59, not %0d", EPOCH_LOG2);
  end

  logic [EPOCH_W-1:0] last_q, past;  // the epoch in which a tag went to rest last; epochs since
  assign past = now.epoch - last_q;

  always_ff @(posedge clk) begin
    now.epoch <= time_us[EPOCH_LOG2 +: EPOCH_W];
    if (lost) begin
      now.any <= 1'b1;
      last_q  <= now.epoch;
    end else if (past >= EPOCH_W'(REST_EPOCHS)) begin
      now.any <= 1'b0;
    end
    if (rst) now.any <= 1'b0;
  end
endmodule
