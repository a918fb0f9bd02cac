// SPDX-License-Identifier: Apache-2.0
// Says when all tags that a read client had given at some time have ended; they end in the order in which they were given.
//
// Latency: fenced a cycle after the last one has retired.
module db_pcie_read_fence #(
  parameter int NUM_TAGS = 32,  ///< a power of two
  localparam int TAG_W = $clog2(NUM_TAGS)
) (
  input  logic           clk,
  input  logic           rst,
  /// the next tag that is given, and the oldest that has not retired, modulo twice their number
  input  logic [TAG_W:0] take_tag,
  input  logic [TAG_W:0] retire_tag,
  /// pulse
  input  logic           fence,
  /// from the cycle after fence on
  output logic           fenced
);
  logic [TAG_W:0] until_q;
  logic           wait_q;
  assign fenced = !wait_q;
  always_ff @(posedge clk) begin
    if (fence) until_q <= take_tag;
    wait_q <= !rst && (fence || (wait_q && retire_tag != until_q));
  end
endmodule
