// SPDX-License-Identifier: Apache-2.0
// One drive's way through the recorder: the rows of its blocks in, its host's write data and commands out.
//
// Why: a FIFO of a few blocks in one block RAM evens out stream and drive and converts the width; each row carries its
// block number, so the write command can go with the first row (cut-through: the host holds it until the data is
// there). Behind a host that takes no command for the moment, blocks in sequence join into one write of up to
// CMD_BLOCKS. Reads and trims of the sequencer use the same command register.
// Latency: row to write data 3 cycles, to command 4. Throughput: a row a cycle in, DATA_W bits a cycle out.
module db_rec_lane
  import db_rec_pkg::*;
  import db_host_pkg::*;
#(
    parameter int unsigned STREAM_W    = 256,  // bits of the capture stream, 128..1024
    parameter int unsigned DATA_W      = 128,  // bits of the host's data, 128, 256 or 512
    parameter int unsigned FIFO_BLOCKS = 4,    // blocks of 4 KiB in the FIFO, 2, 4 or 8
    parameter int unsigned CMD_BLOCKS  = 1     // blocks of the largest write, 1..4
) (
    input  logic                clk,
    input  logic                rst,
    input  logic                flush,         // the drive is in reset: forget all that is on its way

    // the chunk: block numbers of this drive
    input  logic                ld,
    input  logic [31:0]         ld_next,
    input  logic [31:0]         ld_end,
    output logic [31:0]         next,          // the block that comes next
    output logic                fin,           // that is the end; valid 2 cycles after ld and take

    // db_rec_capture
    input  logic                take,          // a block begins, with its first row
    input  logic                take_lost,     // with take: it has no rows
    input  logic                wr_valid,
    input  logic [STREAM_W-1:0] wr_data,
    output logic                room,          // for a whole block

    // blocks on their way: taken, no status yet
    input  logic                done_valid,
    input  logic [2:0]          done_blocks,
    output logic [11:0]         out_blocks,
    output logic                lost_valid,    // a flush lost some: the last ones before `next`
    output logic [11:0]         lost_blocks,
    input  logic                lost_ack,
    output logic                hold,          // begin no block for anybody

    // commands without data to the drive
    input  logic                s_seq_valid,
    output logic                s_seq_ready,
    input  logic [1:0]          s_seq_kind,    // not K_WRITE
    input  logic [31:0]         s_seq_block,
    input  logic [13:0]         s_seq_blocks,

    // db_host
    input  logic [3:0]          lba_shift,     // log2 of the drive's block size, 9..12
    output logic                m_axis_cmd_tvalid,
    input  logic                m_axis_cmd_tready,
    output logic [127:0]        m_axis_cmd_tdata,
    output logic                m_axis_wdata_tvalid,
    input  logic                m_axis_wdata_tready,
    output logic [DATA_W-1:0]   m_axis_wdata_tdata
);
  localparam int unsigned FW = STREAM_W > DATA_W ? STREAM_W : DATA_W;  // a FIFO row
  localparam int unsigned UP = FW / STREAM_W;                          // stream rows in it
  localparam int unsigned DOWN = FW / DATA_W;                          // host rows in it
  localparam int unsigned ROWS = BLOCK_BITS / FW;                      // of a block
  localparam int unsigned DEPTH = FIFO_BLOCKS * ROWS;
  localparam int unsigned AW = $clog2(DEPTH);
  localparam int unsigned SUB_W = DOWN > 1 ? $clog2(DOWN) : 1;

  if (!(STREAM_W inside {128, 256, 512, 1024}) || !(DATA_W inside {128, 256, 512})) begin : g_bad_w
    $error("%m: STREAM_W must be 128, 256, 512 or 1024, DATA_W 128, 256 or 512");
  end
  if (!(FIFO_BLOCKS inside {2, 4, 8}) || CMD_BLOCKS < 1 || CMD_BLOCKS > 4) begin : g_bad
    $error("%m: FIFO_BLOCKS must be 2, 4 or 8, CMD_BLOCKS 1..4");
  end

  // ------------------------------------------------------------------ the chunk
  logic [31:0] next_q, end_q;
  logic        fin_q;
  assign next = next_q;
  assign fin  = fin_q;
  always_ff @(posedge clk) begin
    fin_q <= next_q == end_q;
    if (ld) begin
      next_q <= ld_next;
      end_q  <= ld_end;
    end else if (take) begin
      next_q <= next_q + 32'd1;
    end
  end

  // ------------------------------------------------------------------ blocks on their way
  // A flush loses them. For 4 cycles `hold` keeps new ones off, then the number is there to be fetched.
  logic [11:0] out_q, lost_q;
  logic        lost_valid_q, kill_q, new_block;
  logic [3:0]  flush_q;
  assign out_blocks  = out_q;
  assign lost_blocks = lost_q;
  assign lost_valid  = lost_valid_q;
  assign new_block   = take && !take_lost;
  assign hold        = (flush && !flush_q[3]) || lost_valid_q;
  always_ff @(posedge clk) begin
    flush_q <= {flush_q[2:0], flush};
    out_q   <= flush ? '0 : out_q + 12'(new_block) - (done_valid ? 12'(done_blocks) : 12'd0);
    if (lost_ack) begin
      lost_q       <= '0;
      lost_valid_q <= 1'b0;
    end else if (flush) begin
      lost_q       <= lost_q + 12'(new_block) + (flush_q[0] ? 12'd0 : out_q);
      lost_valid_q <= lost_valid_q || (flush_q[3] && lost_q != '0);
    end
    // rows of a block that began before the flush are passed over
    if (flush) kill_q <= 1'b1;
    else if (take) kill_q <= 1'b0;
    if (rst) begin
      out_q        <= '0;
      lost_q       <= '0;
      lost_valid_q <= 1'b0;
      flush_q      <= '0;
      kill_q       <= 1'b0;
    end
  end

  // ------------------------------------------------------------------ FIFO
  logic          live, push, pop;
  logic [FW-1:0] push_data;
  logic [31:0]   push_block;  // of a block's first row; else anything
  assign live = wr_valid && (take || !kill_q);
  if (UP > 1) begin : g_up
    logic [$clog2(UP)-1:0] part_q;
    logic [FW-1:0]         row_q;
    logic [31:0]           block_q;
    logic                  push_q;
    assign push       = push_q;
    assign push_data  = row_q;
    assign push_block = block_q;
    always_ff @(posedge clk) begin
      push_q <= live && part_q == '1;
      if (take) block_q <= next_q;
      if (live) begin
        for (int i = 0; i < int'(UP); i++) if (32'(part_q) == i) row_q[i*STREAM_W+:STREAM_W] <= wr_data;
        part_q <= part_q + 1'b1;
      end
      if (rst || flush) begin
        part_q <= '0;
        push_q <= 1'b0;
      end
    end
  end else begin : g_same
    assign push       = live;
    assign push_data  = wr_data;
    assign push_block = next_q;
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

  // ------------------------------------------------------------------ out: data
  logic                    out_valid_q, out_free, first_q, go, row_done;
  logic [DATA_W-1:0]       out_data_q;
  logic [SUB_W-1:0]        sub_q;
  logic [$clog2(ROWS)-1:0] rows_q;   // rows of the block that have left
  logic                    acc_room;

  assign out_free = !out_valid_q || m_axis_wdata_tready;
  assign go       = row_valid_q && out_free && (!first_q || acc_room);
  assign row_done = go && sub_q == SUB_W'(DOWN - 1);
  assign pop      = used_q != '0 && (!row_valid_q || row_done);
  assign m_axis_wdata_tvalid = out_valid_q;
  assign m_axis_wdata_tdata  = out_data_q;

  always_ff @(posedge clk) begin
    if (pop) row_valid_q <= 1'b1;
    else if (row_done) row_valid_q <= 1'b0;
    if (go) begin
      out_data_q <= row[32'(sub_q)*DATA_W+:DATA_W];
      sub_q      <= row_done ? '0 : sub_q + 1'b1;
    end
    if (row_done) rows_q <= rows_q + 1'b1;
    if (go) first_q <= row_done && rows_q == '1;
    if (out_free) out_valid_q <= go;
    if (rst || flush) begin
      row_valid_q <= 1'b0;
      out_valid_q <= 1'b0;
      sub_q       <= '0;
      rows_q      <= '0;
      first_q     <= 1'b1;  // of a block
    end
  end

  // ------------------------------------------------------------------ out: commands
  logic        acc_valid_q, cmd_valid_q, cmd_free, begins, acc_joins;
  kind_e       acc_kind_q;
  logic [31:0] acc_block_q;
  logic [13:0] acc_blocks_q;
  logic [1:0]  shift_q;  // drive blocks in ours, log2
  block_cmd_t  cmd_q;

  if (CMD_BLOCKS > 1) begin : g_join
    assign acc_joins = acc_valid_q && acc_kind_q == K_WRITE && acc_blocks_q < 14'(CMD_BLOCKS) &&
                       row[FW+:32] == acc_block_q + 32'(acc_blocks_q);
  end else begin : g_single
    assign acc_joins = 1'b0;
  end
  assign acc_room    = !acc_valid_q || acc_joins;
  assign begins      = go && first_q;
  assign s_seq_ready = !acc_valid_q && !(row_valid_q && first_q) && !flush;
  assign cmd_free    = !cmd_valid_q || m_axis_cmd_tready;
  assign m_axis_cmd_tvalid = cmd_valid_q;
  assign m_axis_cmd_tdata  = cmd_q;

  always_ff @(posedge clk) begin
    shift_q <= 2'(4'd12 - lba_shift);
    if (begins) begin
      acc_valid_q <= 1'b1;
      if (acc_valid_q && !cmd_free) begin
        acc_blocks_q <= acc_blocks_q + 14'd1;
      end else begin
        acc_kind_q   <= K_WRITE;
        acc_block_q  <= row[FW+:32];
        acc_blocks_q <= 14'd1;
      end
    end else if (s_seq_valid && s_seq_ready) begin
      acc_valid_q  <= 1'b1;
      acc_kind_q   <= kind_e'(s_seq_kind);
      acc_block_q  <= s_seq_block;
      acc_blocks_q <= s_seq_blocks;
    end else if (cmd_free) begin
      acc_valid_q <= 1'b0;
    end
    if (cmd_free) begin
      cmd_valid_q  <= acc_valid_q;
      cmd_q        <= '0;
      cmd_q.op     <= acc_kind_q == K_WRITE ? BLOCK_WRITE : acc_kind_q == K_READ ? BLOCK_READ : BLOCK_TRIM;
      cmd_q.tag    <= {acc_kind_q, acc_kind_q != K_WRITE ? acc_blocks_q :
                                   {2'(acc_blocks_q - 14'd1), acc_block_q[11:0]}};
      cmd_q.blocks <= 32'(17'(acc_blocks_q) << shift_q);
      cmd_q.lba    <= 64'(35'(acc_block_q) << shift_q);
    end
    if (rst || flush) begin
      acc_valid_q <= 1'b0;
      cmd_valid_q <= 1'b0;
    end
  end
endmodule
