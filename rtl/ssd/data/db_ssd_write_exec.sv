// SPDX-License-Identifier: Apache-2.0
// Media side of the write engine: takes commands in order with the host's data and does them on the media. Wiring:
// idle and quiet are what its parts say.
//
//   db_ssd_write_issue   commands to items, and the bursts of Writes
//   db_ssd_write_turn    whose turn it is: the item at the head, and the rows for whoever does it
//   db_ssd_write_data    Write: rows into a buffer, until a burst is whole
//   db_ssd_write_send    Write: whole bursts to the media
//   db_ssd_write_commit  Write: over with its last response; with FUA, after a flush of the media behind that
//   db_ssd_compare       Compare: reads the media ahead and sets it against the rows
//   db_ssd_media_order   Flush, Write Zeroes, Dataset Management: when every earlier write has its response
//   db_ssd_write_finish  completions of all
//
// stop (until rst): begins nothing new. Bursts whose data is whole still go; completions that nobody takes are lost.
// Addresses and sizes are multiples of 512 bytes.
// Latency: last row of a burst to AW 2, to its first row on W 4 cycles; last response to completion 1. Throughput: a row a
// cycle, also across commands; a burst, and a command, every other cycle.
`include "db_axi_types.svh"
module db_ssd_write_exec
  import db_mem_pkg::*, db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DATA_W        = 256,   ///< bits: 128, 256, 512
  parameter int ADDR_W        = 40,    ///< bits of a media address
  parameter int BURST_BYTES   = 1024,  ///< of a write burst: power of two, 512..4096; with blocks of 4 KiB: a block
  parameter int COMPARE_BYTES = 8192,  ///< buffer for media data of Compare
  parameter bit PIECES        = 1'b0,  ///< commands may come in pieces
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T,
  localparam type axi_read_req_t  = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t  = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic                  clk,
  input  logic                  rst,
  input  logic                  stop,
  output logic                  quiet,          ///< nothing is outstanding at the media
  output logic                  none_begun,     ///< no command is here
  output logic                  idle,
  input  logic                  s_cmd_valid,
  output logic                  s_cmd_ready,
  input  exec_cmd_t             s_cmd,
  /// data of Write, Compare, Dataset Management: a packet a command
  input  logic                  s_row_valid,
  output logic                  s_row_ready,
  input  logic [DATA_W-1:0]     s_row_data,
  input  row_info_t             s_row_info,
  input  logic [DATA_W/128-1:0] s_row_zero,     ///< Compare: 16 bytes that zeros on the media are equal to, too
  /// result of the PRP walk of the packet, there before its last row; taken the cycle after it
  input  logic                  s_prp_valid,
  output logic                  s_prp_ready,
  input  status_t               s_prp_status,
  output axi_write_req_t        m_axi_write_req,
  input  axi_write_rsp_t        m_axi_write_rsp,
  output axi_read_req_t         m_axi_read_req, ///< of Compare
  input  axi_read_rsp_t         m_axi_read_rsp,
  output logic                  m_media_valid,
  input  logic                  m_media_ready,
  output media_cmd_t            m_media,
  input  logic                  s_media_done,   ///< pulse, one for each media command
  input  logic                  s_media_err,
  /// the slot whose turn it is; has its command been aborted? In the same cycle
  output logic [SLOT_W-1:0]     item_slot,
  input  logic                  item_aborted,
  output logic                  m_completion_valid,
  input  logic                  m_completion_ready,
  output slot_completion_t      m_completion,
  output logic                  m_end,          ///< pulse: a completion was taken, or a piece of a command is over
  output logic [SLOT_W-1:0]     m_end_slot,
  output logic                  media_err       ///< pulse: a command met a media error
);
  localparam int WRITE   = 0;  // doers
  localparam int COMPARE = 1;
  localparam int MEDIA   = 2;
  localparam int DOERS   = 3;

  logic                    issue_valid, issue_ready, item_valid, burst_valid, burst_ready;
  write_item_t             issue, item;
  write_turn_t [DOERS-1:0] turn;
  status_t                 row_status;
  logic                    item_done;

  // ---- commands to items
  logic              issue_idle, compare_valid, compare_ready, media_end, addr_valid, addr_ready;
  logic [ADDR_W-1:9] addr;
  logic [2:0]        addr_blocks;
  exec_cmd_t media_cmd;
  db_ssd_write_issue #(.ADDR_W(ADDR_W), .BURST_BYTES(BURST_BYTES)) i_issue (
    .clk, .rst, .stop, .idle(issue_idle), .s_cmd_valid, .s_cmd_ready, .s_cmd,
    .m_addr_valid(addr_valid), .m_addr_ready(addr_ready), .m_addr(addr), .m_addr_blocks(addr_blocks),
    .m_compare_valid(compare_valid), .m_compare_ready(compare_ready),
    .m_item_valid(issue_valid), .m_item_ready(issue_ready), .m_item(issue), .media_cmd, .media_end);

  db_ssd_write_turn #(.DOERS(DOERS)) i_turn (
    .clk, .rst, .s_item_valid(issue_valid), .s_item_ready(issue_ready), .s_item(issue),
    .s_row_ready, .s_row_info, .s_prp_valid, .s_prp_ready, .s_prp_status,
    .m_item_valid(item_valid), .m_item(item), .turn, .item_done, .row_status);

  // ---- has the item's command been aborted? For rows it is known a cycle late; they are taken as not aborted until then.
  logic item_aborted_q, item_stays_q;
  assign item_slot = item.slot;
  always_ff @(posedge clk) begin
    item_aborted_q <= item_aborted;
    item_stays_q   <= item_valid && !item_done;
  end

  // ---- Write
  logic             drained, write_valid, write_ready, b_ready;
  status_t          fua_status;
  slot_completion_t write;
  logic             whole_valid, whole_ready, whole_void, buf_valid, buf_ready;
  logic [DATA_W-1:0] buf_row;
  axi_write_req_t   write_req;
  db_ssd_write_data #(.DATA_W(DATA_W)) i_data (
    .clk, .rst, .stop, .s_item_valid(item_valid), .s_item(item), .s_aborted(item_aborted_q && item_stays_q),
    .s_row_valid, .s_row_data, .s_row_info, .turn(turn[WRITE]), .m_burst_valid(burst_valid),
    .m_burst_ready(burst_ready), .m_whole_valid(whole_valid), .m_whole_ready(whole_ready), .m_whole_void(whole_void),
    .m_row_valid(buf_valid), .m_row_ready(buf_ready), .m_row(buf_row));

  db_ssd_write_send #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_send (
    .clk, .rst, .s_addr_valid(addr_valid), .s_addr_ready(addr_ready), .s_addr(addr), .s_addr_blocks(addr_blocks),
    .s_whole_valid(whole_valid), .s_whole_ready(whole_ready), .s_whole_void(whole_void), .s_row_valid(buf_valid),
    .s_row_ready(buf_ready), .s_row(buf_row), .m_axi_write_req(write_req), .m_axi_write_rsp);
  always_comb begin
    m_axi_write_req         = write_req;
    m_axi_write_req.b_ready = b_ready;
  end

  db_ssd_write_commit i_commit (
    .clk, .rst, .stop, .drained, .s_burst_valid(burst_valid), .s_burst_ready(burst_ready),
    .s_burst('{last: item.last, fua: item.fua, slot: item.slot, status: row_status}),
    .s_b_valid(m_axi_write_rsp.b_valid), .s_b_ready(b_ready), .s_b(m_axi_write_rsp.b),
    .media_end, .fua_status, .m_completion_valid(write_valid), .m_completion_ready(write_ready), .m_completion(write));

  // ---- Compare
  logic    compare_quiet, compare_end, compare_differs, done_ready;
  status_t compare_status;
  db_ssd_compare #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .BUF_BYTES(COMPARE_BYTES)) i_compare (
    .clk, .rst, .stop, .quiet(compare_quiet), .s_cmd_valid(compare_valid), .s_cmd_ready(compare_ready),
    .s_cmd_addr(s_cmd.media_addr[ADDR_W-1:0]), .s_cmd_bytes(s_cmd.bytes), .s_cmd_pages(s_cmd.lba4k),
    .s_cmd_fua(s_cmd.fua),
    .m_axi_read_req, .m_axi_read_rsp, .s_item_valid(item_valid), .s_item(item), .s_row_valid, .s_row_data, .s_row_zero,
    .row_status,
    .turn(turn[COMPARE]), .m_done_valid(compare_end), .m_done_ready(done_ready), .m_done_status(compare_status),
    .m_done_differs(compare_differs));

  // ---- media commands
  logic    media_quiet;
  status_t media_status;
  db_ssd_media_order #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .PIECES(PIECES)) i_media (
    .clk, .rst, .stop, .drained, .quiet(media_quiet), .s_item_valid(item_valid), .s_item(item),
    .s_cmd(media_cmd), .s_aborted(item_aborted), .s_row_valid, .s_row_data, .s_row_info,
    .prp_status(s_prp_status), .fua_status,
    .turn(turn[MEDIA]), .m_media_valid, .m_media_ready, .m_media, .s_media_done, .s_media_err,
    .m_done_valid(media_end), .m_done_ready(done_ready), .m_done_status(media_status));

  // ---- completions
  db_ssd_write_finish i_finish (
    .clk, .rst, .s_write_valid(write_valid), .s_write_ready(write_ready), .s_write(write), .s_done_ready(done_ready),
    .s_compare_valid(compare_end), .s_compare_status(compare_status), .s_compare_differs(compare_differs),
    .s_media_valid(media_end), .s_media_status(media_status),
    .s_media_more(media_cmd.piece.more), .item,
    .m_completion_valid, .m_completion_ready, .m_completion, .m_end, .m_end_slot, .media_err);

  // ---- quiet, idle
  logic most_quiet, compare_quiet_q;  // a cycle late: a Compare's item is in the queue meanwhile
  always_ff @(posedge clk) compare_quiet_q <= compare_quiet;
  assign most_quiet = drained && media_quiet;
  assign quiet      = most_quiet && compare_quiet;
  assign none_begun = most_quiet && compare_quiet_q && !item_valid && issue_idle && !m_completion_valid;
  assign idle       = none_begun && !s_cmd_valid && !s_row_valid;

endmodule
