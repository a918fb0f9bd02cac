// SPDX-License-Identifier: Apache-2.0
// One drive's way through the recorder: the rows of its blocks in, its host's write data and commands out. Wiring
// only.
//
// Why: a FIFO of a few blocks evens out stream and drive and converts the width (db_rec_lane_fifo). The write command
// goes with a block's first row (db_rec_lane_cmd): cut-through, the host holds it until the data is there. What is on
// its way is counted in db_rec_lane_blocks.
// Latency: row to write data 3 cycles, to command 4. Throughput: a row a cycle in, one out.
module db_rec_lane
  import db_rec_pkg::*;
  import db_host_pkg::*;
#(
  parameter int          STREAM_W     = 256,    ///< bits of a row of the stream, 128..1024
  parameter int          DATA_W       = 128,    ///< bits of a row of the host, 128, 256 or 512
  parameter int          FIFO_BLOCKS  = 4,      ///< blocks of 4 KiB in the FIFO, 2, 4 or 8
  parameter int          CMD_BLOCKS   = 1,      ///< blocks of the largest write, 1..4
  parameter logic [31:0] TOTAL_BLOCKS = 32'd0   ///< blocks of 4 KiB that may be used; 0: the drive's size
) (
  input  logic                clk,
  input  logic                rst,
  input  host_state_t         host,
  input  drive_state_t        drive,
  output lane_state_t         lane,

  /// db_rec_control
  input  logic                load,
  input  chunk_t              chunk,
  input  logic                done_valid,    ///< blocks have their status
  input  logic [2:0]          done_blocks,
  input  logic                lost_ack,
  input  logic                s_issue_valid,
  output logic                s_issue_ready,
  input  issue_t              s_issue,       ///< not KIND_WRITE

  /// db_rec_io
  input  logic                s_io_valid,    ///< only when db_rec_control issues nothing; ready as s_issue
  input  issue_t              s_io,
  input  logic                s_io_lock,     ///< its rows come
  input  logic                s_io_row_valid,
  output logic                s_io_row_ready,
  input  logic [DATA_W-1:0]   s_io_row_data,

  /// db_rec_capture
  input  logic                take,          ///< a block begins, with its first row
  input  logic                take_lost,     ///< with take: it has no rows
  input  logic                s_row_valid,   ///< there is room
  input  logic [STREAM_W-1:0] s_row_data,

  /// db_host
  output logic                m_cmd_valid,
  input  logic                m_cmd_ready,
  output block_cmd_t          m_cmd,
  output logic                m_row_valid,
  input  logic                m_row_ready,
  output logic [DATA_W-1:0]   m_row_data
);
  logic        room, at_end, lost, hold, kill, idle, block_valid, block_ready, block_begins;
  logic [31:0] next, total, block;
  logic [11:0] out_blocks, lost_blocks;
  assign lane = '{room: room, at_end: at_end, next: next, total: total, out_blocks: out_blocks, lost: lost,
                  lost_blocks: lost_blocks, hold: hold, idle: idle};
  assign idle = out_blocks == '0 && !m_cmd_valid;

  db_rec_lane_blocks #(.TOTAL_BLOCKS(TOTAL_BLOCKS)) i_blocks (
    .clk, .rst, .flush(drive.flush), .host, .load, .chunk, .take, .take_lost, .done_valid, .done_blocks, .lost_ack,
    .next, .total, .at_end, .out_blocks, .lost, .lost_blocks, .hold, .kill
  );
  db_rec_lane_fifo #(.STREAM_W(STREAM_W), .DATA_W(DATA_W), .FIFO_BLOCKS(FIFO_BLOCKS)) i_fifo (
    .clk, .rst, .flush(drive.flush), .s_row_valid(s_row_valid && (take || !kill)), .s_row_data, .take, .next, .room,
    .block_valid, .block_ready, .block_begins, .block, .s_io_lock, .s_io_valid(s_io_row_valid),
    .s_io_ready(s_io_row_ready), .s_io_data(s_io_row_data), .m_row_valid, .m_row_ready, .m_row_data
  );
  db_rec_lane_cmd #(.CMD_BLOCKS(CMD_BLOCKS)) i_cmd (
    .clk, .rst, .flush(drive.flush), .lba_shift(host.lba_shift), .block_valid, .block_ready, .block_begins, .block,
    .s_issue_valid, .s_issue_ready, .s_issue, .s_io_valid, .s_io, .m_cmd_valid, .m_cmd_ready, .m_cmd
  );
endmodule
