// SPDX-License-Identifier: Apache-2.0
// One drive's blocks: which comes next, how many are on their way, what a reset of the drive lost.
//
// Latency: total 2 cycles; at_end 2 cycles after load and take; after a flush (the drive is in reset) the number of
// lost blocks is there when `hold` has kept new ones off for 5 cycles.
module db_rec_lane_blocks
  import db_rec_pkg::*;
#(
  parameter logic [31:0] TOTAL_BLOCKS = 32'd0  ///< blocks of 4 KiB that may be used; 0: the drive's size
) (
  input  logic        clk,
  input  logic        rst,
  input  logic        flush,
  input  host_state_t host,
  input  logic        load,
  input  chunk_t      chunk,
  input  logic        take,         ///< a block begins
  input  logic        take_lost,    ///< with take: it has no rows
  input  logic        done_valid,   ///< blocks have their status
  input  logic [2:0]  done_blocks,
  input  logic        lost_ack,     ///< the number of lost blocks was seen
  output logic [31:0] next,
  output logic [31:0] total,
  output logic        at_end,
  output logic [11:0] out_blocks,
  output logic        lost,
  output logic [11:0] lost_blocks,
  output logic        hold,         ///< begin no block for anybody
  output logic        kill          ///< rows of a block that began before the flush are passed over
);
  logic [31:0] next_q, stop_q, total_q;
  logic        at_end_q;
  // host.blocks >> shift; neighbours choose in another order, else yosys finds parts that they have in common, and takes
  // a LUT and a half a bit.
  logic [1:0]  shift;
  logic [31:0] in_ours;
  logic        over_q;  // more than 32 bits can say
  assign shift = 2'(4'd12 - host.lba_shift);
  always_comb begin
    for (int i = 0; i < 32; i++) begin
      if (i % 2 == 0) in_ours[i] = shift[1] ? (shift[0] ? host.blocks[i+3] : host.blocks[i+2])
                                            : (shift[0] ? host.blocks[i+1] : host.blocks[i]);
      else            in_ours[i] = shift[0] ? (shift[1] ? host.blocks[i+3] : host.blocks[i+1])
                                            : (shift[1] ? host.blocks[i+2] : host.blocks[i]);
    end
  end
  assign next   = next_q;
  assign total  = total_q;
  assign at_end = at_end_q;
  always_ff @(posedge clk) begin
    over_q   <= host.blocks[63:35] != '0 || (host.blocks[34:32] >> shift) != '0;
    total_q  <= TOTAL_BLOCKS != '0 ? TOTAL_BLOCKS : in_ours;
    if (TOTAL_BLOCKS == '0 && over_q) total_q <= '1;
    at_end_q <= next_q == stop_q;
    if (load) begin
      next_q <= chunk.first;
      stop_q <= chunk.stop;
    end else if (take) begin
      next_q <= next_q + 32'd1;
    end
  end

  logic [11:0] out_q, lost_blocks_q;
  logic        lost_q, kill_q, new_block;
  logic [4:0]  flush_q;
  assign out_blocks  = out_q;
  assign lost_blocks = lost_blocks_q;
  assign lost        = lost_q;
  assign kill        = kill_q;
  assign new_block   = take && !take_lost;
  assign hold        = (flush && !flush_q[4]) || lost_q;  // from the first cycle on: next must stand still
  always_ff @(posedge clk) begin
    flush_q <= {flush_q[3:0], flush};
    out_q   <= flush ? '0 : out_q + 12'(new_block) - (done_valid ? 12'(done_blocks) : 12'd0);
    // A block that begins as the others are acknowledged, or in the flush's last cycle, is counted the next time.
    // out_q: 0 from the flush's second cycle on.
    if (lost_ack) lost_blocks_q <= 12'(flush && new_block);
    else if (flush) lost_blocks_q <= lost_blocks_q + 12'(new_block) + out_q;
    lost_q <= !lost_ack && (lost_q || (flush_q[3] && lost_blocks_q != '0));
    if (flush) kill_q <= 1'b1;
    else if (take) kill_q <= 1'b0;
    if (rst) begin
      out_q         <= '0;
      lost_blocks_q <= '0;
      lost_q        <= 1'b0;
      flush_q       <= '0;
      kill_q        <= 1'b0;
    end
  end
endmodule
