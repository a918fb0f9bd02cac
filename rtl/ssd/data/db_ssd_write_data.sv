// SPDX-License-Identifier: Apache-2.0
// Rows of the host into the write buffer. A burst goes to the media when all of it is there, so a block of it is written
// or it is not, whatever ends the host's data.
//
// A burst of which a row could not be read from the host is void: the media gets it with no strobe. So is one whose command has
// been aborted by its last row.
// stop: takes no more rows; bursts that are whole still go.
// Latency: a burst's last row to m_burst_valid none, to m_whole_valid 1 cycle. Throughput: a row a cycle.
module db_ssd_write_data
  import db_mem_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DATA_W    = 256,   ///< bits: 128, 256, 512
  parameter int BUF_BYTES = 16384  ///< of rows that wait for the media: at least two pages of 4 KiB
) (
  input  logic              clk,
  input  logic              rst,
  input  logic              stop,
  input  logic              s_item_valid,
  input  write_item_t       s_item,
  input  logic              s_aborted,      ///< the item's command has been, a cycle ago
  input  logic              s_row_valid,
  input  logic [DATA_W-1:0] s_row_data,
  input  row_info_t         s_row_info,
  output write_turn_t       turn,
  output logic              m_burst_valid,  ///< pulse: a burst is whole; its response is to be waited for
  input  logic              m_burst_ready,  ///< there is room for one more such
  output logic              m_whole_valid,  ///< a whole burst, in order
  input  logic              m_whole_ready,
  output logic              m_whole_void,   ///< nothing of it is to be written
  output logic              m_row_valid,    ///< rows of all bursts
  input  logic              m_row_ready,
  output logic [DATA_W-1:0] m_row
);
  localparam int ROWS   = BUF_BYTES * 8 / DATA_W;
  localparam int BLOCKS = BUF_BYTES / 512;  // and so many bursts, at most

  if (BUF_BYTES < 8192 || BUF_BYTES != 2 ** $clog2(BUF_BYTES)) begin : g_bad_buf
    $error("%m: BUF_BYTES must be a power of two, at least 8192");
  end

  logic       mine, take, row_room, whole_room;
  logic [7:0] row_q;
  logic       last_row_q;  // known a row ahead, as no burst has one row only

  assign mine = s_item_valid && s_item.write && row_room && whole_room && m_burst_ready && !stop;
  assign take = mine && s_row_valid;

  assign m_burst_valid   = take && last_row_q;
  assign turn.row_ready  = mine;
  assign turn.item_done  = m_burst_valid;
  assign turn.packet_end = m_burst_valid && s_item.last;

  always_ff @(posedge clk) begin
    if (take) begin
      row_q      <= last_row_q ? '0 : row_q + 1'b1;
      last_row_q <= !last_row_q && row_q + 8'd1 == last_row(s_item.blocks, DATA_W);
    end
    if (rst) begin
      row_q      <= '0;
      last_row_q <= 1'b0;
    end
  end

  db_fifo #(.WIDTH(DATA_W), .DEPTH(ROWS), .AROUND(1'b0)) i_rows (
    .clk, .rst, .s_valid(take), .s_ready(row_room), .s_data(s_row_data), .m_valid(m_row_valid), .m_ready(m_row_ready),
    .m_data(m_row), .level());
  // A row's err is that of every later row of its packet too.
  db_fifo #(.WIDTH(1), .DEPTH(BLOCKS)) i_whole (
    .clk, .rst, .s_valid(m_burst_valid), .s_ready(whole_room), .s_data(s_row_info.err || s_aborted),
    .m_valid(m_whole_valid), .m_ready(m_whole_ready), .m_data(m_whole_void), .level());

endmodule
