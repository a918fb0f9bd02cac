// SPDX-License-Identifier: Apache-2.0
// Block commands in, parts out: what one NVMe command can carry. Read, Write, Write Zeroes and Verify are cut at
// max_blocks (the drive's MDTS, the rings), Trim at TRIM_BLOCKS, Flush is one part. A command that has no meaning
// (0 blocks, unknown operation) becomes a part without work and with a status, so that its answer keeps its place.
//
// Latency: 1 cycle from a command to its first part. Throughput: a part every cycle; a command of n parts takes n + 1.
module db_host_cmd
  import db_nvme_pkg::*, db_host_pkg::*;
#(
    parameter logic [31:0] TRIM_BLOCKS = 32'h0040_0000  // blocks, the longest range of one Dataset Management, 1..
) (
    input  logic         clk,
    input  logic         rst,
    input  logic [31:0]  max_blocks,     // of one part that moves data; stable while commands are taken, at least 1
    input  logic [3:0]   lba_shift,      // log2 of a block's bytes, 9..12
    input  logic [127:0] s_axis_cmd_tdata,
    input  logic         s_axis_cmd_tvalid,
    output logic         s_axis_cmd_tready,
    output logic         m_part_valid,
    input  logic         m_part_ready,
    output slot_t        m_part,         // buf512 is 0
    output logic [15:0]  m_part_tag,
    output logic         m_part_last,    // of its command
    output logic         m_part_bad,     // no work: answer m_part_status
    output status_t      m_part_status
);
  if (TRIM_BLOCKS == 0) begin : g_bad
    $error("%m: TRIM_BLOCKS must be at least 1");
  end

  block_cmd_t  cmd_in, cmd_q;
  logic        busy_q;
  logic        known, moves;
  logic [31:0] limit_q;         // blocks of a part of the held command
  logic [31:0] blocks, data;    // data: those of a Read or Write
  logic        last, fits;

  // What the held command's next part is; registered below, so that neither stream's timing passes through.
  assign known  = cmd_q.op inside {OP_READ, OP_WRITE, OP_FLUSH, OP_TRIM, OP_ZEROES, OP_VERIFY};
  assign moves  = cmd_q.op inside {OP_READ, OP_WRITE};
  assign data   = fits ? cmd_q.blocks : limit_q;
  assign blocks = (cmd_q.op == OP_FLUSH) ? 32'd1 : data;

  assign fits = cmd_q.blocks <= limit_q;
  assign last = cmd_q.op == OP_FLUSH || fits || !known;

  assign cmd_in            = block_cmd_t'(s_axis_cmd_tdata);
  assign s_axis_cmd_tready = !busy_q;

  always_ff @(posedge clk) begin
    if (!busy_q && s_axis_cmd_tvalid) begin
      cmd_q   <= cmd_in;
      limit_q <= (cmd_in.op == OP_TRIM) ? TRIM_BLOCKS : max_blocks;
      busy_q  <= 1'b1;
    end
    if (m_part_valid && m_part_ready) m_part_valid <= 1'b0;
    if (busy_q && (!m_part_valid || m_part_ready)) begin
      m_part_valid  <= 1'b1;
      m_part.op     <= cmd_q.op;
      m_part.lba    <= cmd_q.lba;
      m_part.blocks <= blocks;
      m_part.buf512 <= '0;
      m_part.len512 <= (moves && cmd_q.blocks != 0) ? 14'(data << (lba_shift - 4'd9)) : 14'd0;
      m_part_tag    <= cmd_q.tag;
      m_part_last   <= last;
      m_part_bad    <= !known || (cmd_q.blocks == 0 && cmd_q.op != OP_FLUSH);
      m_part_status <= status(1'b1, SCT_GENERIC, known ? SC_INVALID_FIELD : SC_INVALID_OPCODE);
      cmd_q.lba     <= cmd_q.lba + 64'(limit_q);  // means nothing after the last part
      cmd_q.blocks  <= cmd_q.blocks - limit_q;
      if (last) busy_q <= 1'b0;
    end
    if (rst) begin
      busy_q       <= 1'b0;
      m_part_valid <= 1'b0;
    end
  end
endmodule
