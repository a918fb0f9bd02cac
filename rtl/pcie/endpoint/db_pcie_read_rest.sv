// SPDX-License-Identifier: Apache-2.0
// Tags of a read client that must rest: their requests ended, but completions of them may still come (timed out, ended by
// a function-level reset, completions of a wrong length). If such a tag named another request at once, a late completion
// of the same shape would pass for one of that request, and its data would be wrong with nobody the wiser.
//
// What: a memory of the epoch in which each tag went to rest. An entry counts for REST_EPOCHS (db_pcie_read_clock), and
//   is struck out when its tag is given to a request. Epochs wrap: an entry of a tag that was not used since then can
//   make the tag rest again for a while, which costs nothing but that tag, and only while others rest.
// Latency: none from tag to resting; a tag rests from the cycle after s_lost_valid on.
module db_pcie_read_rest
  import db_pcie_block_pkg::*;
#(
  parameter int NUM_TAGS = 32,  ///< a power of two
  localparam int TAG_W = $clog2(NUM_TAGS)
) (
  input  logic             clk,
  input  rest_now_t        now,

  /// this tag must rest from now on
  input  logic             s_lost_valid,
  input  logic [TAG_W-1:0] s_lost,

  /// the next tag to give
  input  logic [TAG_W-1:0] tag,
  /// pulse: it is given
  input  logic             take,
  output logic             resting
);
  logic [EPOCH_W:0]   mem_q[NUM_TAGS];  // {rests, since}
  logic               rests;
  logic [EPOCH_W-1:0] since, past;

  assign {rests, since} = mem_q[tag];
  assign past           = now.epoch - since;
  // What is lost is written a cycle later, and rests meanwhile all the same: who ends a tag comes late.
  logic             lost_q;
  logic [TAG_W-1:0] lost_tag_q;
  assign resting        = (now.any && rests && past < EPOCH_W'(REST_EPOCHS)) || (lost_q && lost_tag_q == tag);

  always_ff @(posedge clk) begin
    lost_q     <= s_lost_valid;
    lost_tag_q <= s_lost;
    if (lost_q || take) mem_q[lost_q ? lost_tag_q : tag] <= {lost_q, now.epoch};
  end
endmodule
