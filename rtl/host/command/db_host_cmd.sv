// SPDX-License-Identifier: Apache-2.0
// Block commands in, parts out: what one NVMe command can carry. Read, Write, Write Zeroes and Verify are cut at
// max_blocks (the drive's MDTS, the rings), Trim at TRIM_BLOCKS, Flush is one part. A command that has no meaning
// (0 blocks, unknown operation) becomes a part without work and with a status, so that its answer keeps its place.
//
// Latency: 1 cycle from a command to its first part. Throughput: a part every cycle; a command of n parts takes n + 1.
module db_host_cmd
  import db_nvme_pkg::*, db_host_pkg::*;
#(
  /// blocks, the longest range of one Dataset Management, 1..
  parameter logic [31:0] TRIM_BLOCKS = 32'h0040_0000
) (
  input  logic         clk,
  input  logic         rst,
  /// no command is taken before one of these is high: the drive's facts are not known
  input  logic         io_open,
  input  logic         io_dead,
  /// of one part that moves data; stable while commands are taken, at least 1
  input  logic [31:0]  max_blocks,
  /// log2 of a block's bytes, 9..12
  input  logic [3:0]   lba_shift,
  /// block_cmd_t
  input  logic [127:0] s_axis_cmd_tdata,
  input  logic         s_axis_cmd_tvalid,
  output logic         s_axis_cmd_tready,
  output logic         m_part_valid,
  input  logic         m_part_ready,
  output part_t        m_part
);
  if (TRIM_BLOCKS == 0) begin : g_bad
    $error("%m: TRIM_BLOCKS must be at least 1");
  end

  block_cmd_t  cmd_in;
  // The held command. Both numbers are 0 while there is none: so one adder each takes them in and goes on in them.
  block_op_e   op_q;
  logic [15:0] tag_q;
  logic [63:0] lba_q;
  logic [31:0] blocks_q;
  logic        adds;
  logic        busy_q, open;
  logic        known, moves;
  logic [31:0] limit_q;         // blocks of a part of the held command
  logic [31:0] blocks, data;    // data: those of a Read or Write
  logic        last, fits;

  // What the held command's next part is; registered below, so that neither stream's timing passes through.
  assign known  = op_q inside {BLOCK_READ, BLOCK_WRITE, BLOCK_FLUSH, BLOCK_TRIM, BLOCK_ZEROES, BLOCK_VERIFY};
  assign moves  = op_q inside {BLOCK_READ, BLOCK_WRITE};
  assign data   = fits ? blocks_q : limit_q;
  assign blocks = (op_q == BLOCK_FLUSH) ? 32'd1 : data;

  assign fits = blocks_q <= limit_q;
  assign last = op_q == BLOCK_FLUSH || fits || !known;

  assign open              = io_open || io_dead;
  assign cmd_in            = block_cmd_t'(s_axis_cmd_tdata);
  assign s_axis_cmd_tready = !busy_q && open;
  assign adds              = busy_q ? !m_part_valid || m_part_ready : s_axis_cmd_tvalid && open;

  always_ff @(posedge clk) begin
    if (s_axis_cmd_tready && s_axis_cmd_tvalid) begin
      op_q    <= cmd_in.op;
      tag_q   <= cmd_in.tag;
      limit_q <= (cmd_in.op == BLOCK_TRIM) ? TRIM_BLOCKS : max_blocks;
      busy_q  <= 1'b1;
    end
    if (m_part_valid && m_part_ready) m_part_valid <= 1'b0;
    if (busy_q && (!m_part_valid || m_part_ready)) begin
      m_part_valid       <= 1'b1;
      m_part.slot.op     <= op_q;
      m_part.slot.lba    <= lba_q;
      m_part.slot.blocks <= blocks;
      m_part.slot.buf512 <= '0;
      m_part.slot.len512 <= (moves && blocks_q != 0) ? 14'(data << (lba_shift - 4'd9)) : 14'd0;
      m_part.tag         <= tag_q;
      m_part.last        <= last;
      m_part.bad         <= !known || (blocks_q == 0 && op_q != BLOCK_FLUSH);
      m_part.status      <= status(1'b1, SCT_GENERIC, known ? SC_INVALID_FIELD : SC_INVALID_OPCODE);
      if (last) busy_q <= 1'b0;
    end
    if (adds) begin
      lba_q    <= lba_q + (busy_q ? 64'(limit_q) : cmd_in.lba);
      blocks_q <= 32'({blocks_q, 1'b1} + {busy_q ? ~limit_q : cmd_in.blocks, busy_q} >> 1);
    end
    if (rst || (adds && busy_q && last)) begin
      lba_q    <= '0;
      blocks_q <= '0;
    end
    if (rst) begin
      busy_q       <= 1'b0;
      m_part_valid <= 1'b0;
    end
  end
endmodule
