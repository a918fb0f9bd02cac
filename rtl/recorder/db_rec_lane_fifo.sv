// SPDX-License-Identifier: Apache-2.0
// One drive's rows: a FIFO of a few blocks in one block RAM, from the stream's width to the host's.
//
// Each row carries its block's number in spare bits of the RAM, so the write command can go with the first one.
// Latency: row in to row out 3 cycles. Throughput: a row a cycle in, one out.
module db_rec_lane_fifo
  import db_rec_pkg::*;
#(
  parameter int STREAM_W    = 256,  ///< bits of a row of the stream, 128..1024
  parameter int DATA_W      = 128,  ///< bits of a row of the host, 128, 256 or 512
  parameter int FIFO_BLOCKS = 4     ///< blocks of 4 KiB, 2, 4 or 8
) (
  input  logic                clk,
  input  logic                rst,
  input  logic                flush,         ///< forget all
  input  logic                s_row_valid,   ///< a row comes, and there is room for it
  input  logic [STREAM_W-1:0] s_row_data,
  input  logic                take,          ///< with a block's first row
  input  logic [31:0]         next,          ///< its number
  output logic                room,          ///< for a whole block
  output logic                block_valid,   ///< the next row to leave is a block's first
  input  logic                block_ready,   ///< ... and may leave
  output logic                block_begins,  ///< ... and leaves
  output logic [31:0]         block,
  input  logic                s_io_lock,     ///< rows of db_rec_io come between two blocks
  input  logic                s_io_valid,
  output logic                s_io_ready,
  input  logic [DATA_W-1:0]   s_io_data,
  output logic                m_row_valid,
  input  logic                m_row_ready,
  output logic [DATA_W-1:0]   m_row_data
);
  localparam int FW    = STREAM_W > DATA_W ? STREAM_W : DATA_W;  // bits of a row of the RAM
  localparam int UP    = FW / STREAM_W;                          // rows of the stream in it
  localparam int DOWN  = FW / DATA_W;                            // rows of the host in it
  localparam int ROWS  = BLOCK_BITS / FW;                        // of a block
  localparam int DEPTH = FIFO_BLOCKS * ROWS;
  localparam int AW    = $clog2(DEPTH);
  localparam int SUB_W = DOWN > 1 ? $clog2(DOWN) : 1;

  if (!(STREAM_W inside {128, 256, 512, 1024}) || !(DATA_W inside {128, 256, 512})) begin : g_bad_w
    $error("%m: STREAM_W must be 128, 256, 512 or 1024, DATA_W 128, 256 or 512");
  end
  if (!(FIFO_BLOCKS inside {2, 4, 8})) begin : g_bad
    $error("%m: FIFO_BLOCKS must be 2, 4 or 8 (is %0d)", FIFO_BLOCKS);
  end

  // ---- in
  logic          push, pop;
  logic [FW-1:0] push_data;
  logic [31:0]   push_block;  // of a block's first row; else anything
  if (UP > 1) begin : g_up
    logic [$clog2(UP)-1:0] part_q;
    logic [FW-1:0]         row_q;
    logic [31:0]           block_q;
    logic                  push_q;
    assign push       = push_q;
    assign push_data  = row_q;
    assign push_block = block_q;
    always_ff @(posedge clk) begin
      push_q <= s_row_valid && part_q == '1;
      if (take) block_q <= next;
      if (s_row_valid) begin
        for (int i = 0; i < UP; i++) if (32'(part_q) == i) row_q[i*STREAM_W+:STREAM_W] <= s_row_data;
        part_q <= part_q + 1'b1;
      end
      if (rst || flush) begin
        part_q <= '0;
        push_q <= 1'b0;
      end
    end
  end else begin : g_same
    assign push       = s_row_valid;
    assign push_data  = s_row_data;
    assign push_block = next;
    logic unused;
    assign unused = take;
  end

  logic [AW-1:0]    wptr_q, rptr_q;
  logic [AW:0]      used_q;
  logic             room_q, row_valid_q;
  logic [FW+32-1:0] row;
  assign room = room_q;
  db_ram_sdp #(.WIDTH(FW + 32), .DEPTH(DEPTH)) i_ram (
    .clk, .we(push), .waddr(wptr_q), .wdata({push_block, push_data}), .re(pop), .raddr(rptr_q), .rdata(row)
  );
  always_ff @(posedge clk) begin
    if (push) wptr_q <= wptr_q + 1'b1;
    if (pop) rptr_q <= rptr_q + 1'b1;
    used_q <= used_q + (AW + 1)'(push) - (AW + 1)'(pop);
    room_q <= used_q <= (AW + 1)'(DEPTH - ROWS - 4);  // 4: rows still on their way
    if (rst || flush) begin
      wptr_q <= '0;
      rptr_q <= '0;
      used_q <= '0;
      room_q <= 1'b0;
    end
  end

  // ---- out
  logic                    out_valid_q, out_free, first_q, go, row_done, io_go;
  logic [DATA_W-1:0]       out_data_q;
  logic [SUB_W-1:0]        sub_q;
  logic [$clog2(ROWS)-1:0] rows_q;   // rows of the block that have left
  assign out_free     = !out_valid_q || m_row_ready;
  assign go           = row_valid_q && out_free && (!first_q || (block_ready && !s_io_lock));
  assign s_io_ready   = out_free && first_q;
  assign io_go        = s_io_valid && s_io_ready;
  assign row_done     = go && sub_q == SUB_W'(DOWN - 1);
  assign pop          = used_q != '0 && (!row_valid_q || row_done);
  assign block_valid  = row_valid_q && first_q;
  assign block_begins = go && first_q;
  assign block        = row[FW+:32];
  assign m_row_valid  = out_valid_q;
  assign m_row_data   = out_data_q;
  always_ff @(posedge clk) begin
    if (pop) row_valid_q <= 1'b1;
    else if (row_done) row_valid_q <= 1'b0;
    if (io_go) out_data_q <= s_io_data;
    if (go) begin
      out_data_q <= row[32'(sub_q)*DATA_W+:DATA_W];
      sub_q      <= row_done ? '0 : sub_q + 1'b1;
    end
    if (row_done) rows_q <= rows_q + 1'b1;
    if (go) first_q <= row_done && rows_q == '1;
    if (out_free) out_valid_q <= go || io_go;
    if (rst || flush) begin
      row_valid_q <= 1'b0;
      out_valid_q <= 1'b0;
      sub_q       <= '0;
      rows_q      <= '0;
      first_q     <= 1'b1;  // of a block
    end
  end
endmodule
