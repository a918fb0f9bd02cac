// SPDX-License-Identifier: Apache-2.0
// One drive's commands: a write for each block that leaves the FIFO, between them the reads and trims of db_rec_issue
// and the commands of db_rec_io.
//
// Behind a host that takes no command for the moment, blocks in sequence join into one write of up to CMD_BLOCKS.
// Latency: 2 cycles. Throughput: a command every cycle.
module db_rec_lane_cmd
  import db_rec_pkg::*;
  import db_host_pkg::*;
#(
  parameter int CMD_BLOCKS = 1  ///< blocks of the largest write, 1..4
) (
  input  logic        clk,
  input  logic        rst,
  input  logic        flush,         ///< forget all
  input  logic [3:0]  lba_shift,     ///< log2 of the drive's block size, 9..12
  input  logic        block_valid,   ///< a block is there
  output logic        block_ready,   ///< it may leave
  input  logic        block_begins,  ///< it leaves
  input  logic [31:0] block,
  input  logic        s_issue_valid,
  output logic        s_issue_ready,
  input  issue_t      s_issue,       ///< not KIND_WRITE
  input  logic        s_io_valid,    ///< never together with s_issue_valid; ready as s_issue
  input  issue_t      s_io,
  output logic        m_cmd_valid,
  input  logic        m_cmd_ready,
  output block_cmd_t  m_cmd
);
  if (CMD_BLOCKS < 1 || CMD_BLOCKS > 4) begin : g_bad
    $error("%m: CMD_BLOCKS must be 1..4 (is %0d)", CMD_BLOCKS);
  end

  logic       next_valid_q, cmd_valid_q, cmd_free, joins;
  issue_t     next_q, write;
  logic       loads;
  logic [1:0] shift_q, shift;  // drive blocks in ours, log2
  assign shift = next_q.user ? 2'd0 : shift_q;
  block_cmd_t cmd_q;
  write_tag_t write_tag;
  other_tag_t other_tag;
  assign write_tag = '{kind: KIND_WRITE, more: 2'(next_q.blocks - 14'd1), block: next_q.block[11:0]};
  assign other_tag = '{kind: next_q.kind, blocks: next_q.blocks};

  if (CMD_BLOCKS > 1) begin : g_join
    assign joins = next_valid_q && next_q.kind == KIND_WRITE && next_q.blocks < 14'(CMD_BLOCKS) &&
                   block == next_q.block[31:0] + 32'(next_q.blocks);
  end else begin : g_single
    assign joins = 1'b0;
  end
  assign write         = '{user: 1'b0, op: BLOCK_WRITE, kind: KIND_WRITE, block: 35'(block), blocks: 14'd1};
  assign loads         = block_begins || ((s_issue_valid || s_io_valid) && s_issue_ready);
  assign block_ready   = !next_valid_q || joins;
  assign s_issue_ready = !next_valid_q && !block_valid && !flush;
  assign cmd_free      = !cmd_valid_q || m_cmd_ready;
  assign m_cmd_valid   = cmd_valid_q;
  assign m_cmd         = cmd_q;

  always_ff @(posedge clk) begin
    shift_q <= 2'(4'd12 - lba_shift);
    if (loads) next_valid_q <= 1'b1;
    else if (cmd_free) next_valid_q <= 1'b0;
    if (loads) next_q <= block_valid ? write : s_io_valid ? s_io : s_issue;
    if (CMD_BLOCKS > 1 && block_begins && next_valid_q && !cmd_free) begin  // one more of the write that waits
      next_q        <= next_q;
      next_q.blocks <= next_q.blocks + 14'd1;
    end
    if (cmd_free) begin
      cmd_valid_q  <= next_valid_q;
      cmd_q        <= '0;
      cmd_q.op     <= next_q.op;
      cmd_q.tag    <= next_q.user ? USER_TAG : next_q.kind == KIND_WRITE ? write_tag : other_tag;
      cmd_q.blocks <= 32'(17'(next_q.blocks) << shift);
      cmd_q.lba    <= 64'(next_q.block << shift);
    end
    if (rst || flush) begin
      next_valid_q <= 1'b0;
      cmd_valid_q  <= 1'b0;
    end
  end
endmodule
