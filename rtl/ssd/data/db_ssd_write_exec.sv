// SPDX-License-Identifier: Apache-2.0
// Media side of the write engine: takes commands in order with the host's data and does them on the media. Wiring:
// idle and quiet are what its parts say.
//
//   db_ssd_write_issue   commands to items; addresses of write bursts, a few bursts ahead of their data
//   db_ssd_write_turn    whose turn it is: the item at the head, and the rows for whoever does it
//   db_ssd_write_data    Write: rows to the W channel
//   db_ssd_write_commit  Write: over with its last response; with FUA, after a flush of the media behind that
//   db_ssd_compare       Compare: reads the media ahead and sets it against the rows
//   db_ssd_media_order   Flush, Write Zeroes, Dataset Management: when every earlier write has its response
//   db_ssd_write_finish  completions of all
//
// stop (until rst): issues nothing new. A burst whose address is out is filled with rows of no strobe if its data does
// not come, and its command fails; Compare's rows are thrown away, and completions that nobody takes are lost.
// Addresses and sizes are multiples of 512 bytes.
// Latency: first row to W and last response to completion 1 cycle. Throughput: a row a cycle, also across commands; a
// burst, and a command, every other cycle.
`include "db_axi_types.svh"
module db_ssd_write_exec
  import db_mem_pkg::*, db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DATA_W        = 256,   ///< bits: 128, 256, 512
  parameter int ADDR_W        = 40,    ///< bits of a media address
  parameter int BURST_BYTES   = 1024,  ///< of a write burst: power of two, 512..4096, at most 256 rows
  parameter int COMPARE_BYTES = 4096,  ///< buffer for media data of Compare
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T,
  localparam type axi_read_req_t  = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t  = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic                  clk,
  input  logic                  rst,
  input  logic                  stop,
  input  logic                  no_more_rows,   ///< with stop: the host's data that was asked for has all come
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
  output logic                  media_err       ///< pulse: a command met a media error
);
  if (BURST_BYTES < 512 || BURST_BYTES > 4096 || BURST_BYTES * 8 / DATA_W > 256) begin : g_bad_burst
    $error("%m: BURST_BYTES must be 512..4096 and at most 256 rows");
  end

  localparam int WRITE   = 0;  // doers
  localparam int COMPARE = 1;
  localparam int MEDIA   = 2;
  localparam int DOERS   = 3;

  logic                    issue_valid, issue_ready, item_valid, burst_valid, burst_ready, fill;
  write_item_t             issue, item;
  write_turn_t [DOERS-1:0] turn;
  status_t                 row_status;
  logic                    item_done;

  // ---- commands to items
  logic issue_idle, issue_data_done, compare_valid, compare_ready, media_end;
  exec_cmd_t media_cmd;
  db_ssd_write_issue #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .BURST_BYTES(BURST_BYTES)) i_issue (
    .clk, .rst, .stop, .idle(issue_idle), .data_done(issue_data_done), .s_cmd_valid, .s_cmd_ready, .s_cmd,
    .m_aw_valid(m_axi_write_req.aw_valid), .m_aw_ready(m_axi_write_rsp.aw_ready), .m_aw(m_axi_write_req.aw),
    .m_compare_valid(compare_valid), .m_compare_ready(compare_ready),
    .m_item_valid(issue_valid), .m_item_ready(issue_ready), .m_item(issue),
    .media_cmd, .media_end, .burst_end(burst_valid));

  db_ssd_write_turn #(.DOERS(DOERS)) i_turn (
    .clk, .rst, .stop, .no_more_rows, .s_item_valid(issue_valid), .s_item_ready(issue_ready), .s_item(issue),
    .s_row_valid, .s_row_ready, .s_row_info, .s_prp_valid, .s_prp_ready, .s_prp_status,
    .m_item_valid(item_valid), .m_item(item), .turn, .item_done, .fill, .row_status);

  // ---- has the item's command been aborted? For rows it is known a cycle late; they are taken as not aborted until then.
  logic item_aborted_q, item_stays_q;
  assign item_slot = item.slot;
  always_ff @(posedge clk) begin
    item_aborted_q <= item_aborted;
    item_stays_q   <= item_valid && !item_done;
  end

  // ---- Write
  logic             drained, write_valid, write_ready;
  status_t          fua_status;
  slot_completion_t write;
  db_ssd_write_data #(.DATA_W(DATA_W)) i_data (
    .clk, .rst, .fill, .s_item_valid(item_valid), .s_item(item), .s_aborted(item_aborted_q && item_stays_q),
    .s_row_valid, .s_row_data, .s_row_info, .turn(turn[WRITE]), .m_burst_valid(burst_valid),
    .m_burst_ready(burst_ready),
    .m_w_valid(m_axi_write_req.w_valid), .m_w_ready(m_axi_write_rsp.w_ready), .m_w(m_axi_write_req.w));

  db_ssd_write_commit i_commit (
    .clk, .rst, .stop, .drained, .s_burst_valid(burst_valid), .s_burst_ready(burst_ready),
    .s_burst('{last: item.last, fua: item.fua, slot: item.slot, status: row_status}),
    .s_b_valid(m_axi_write_rsp.b_valid), .s_b_ready(m_axi_write_req.b_ready), .s_b(m_axi_write_rsp.b),
    .media_end, .fua_status, .m_completion_valid(write_valid), .m_completion_ready(write_ready), .m_completion(write));

  // ---- Compare
  logic    compare_quiet, compare_end, done_ready;
  status_t compare_status;
  db_ssd_compare #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .BUF_BYTES(COMPARE_BYTES)) i_compare (
    .clk, .rst, .stop, .fill, .quiet(compare_quiet), .s_cmd_valid(compare_valid), .s_cmd_ready(compare_ready),
    .s_cmd_addr(s_cmd.media_addr[ADDR_W-1:0]), .s_cmd_bytes(s_cmd.bytes), .m_axi_read_req, .m_axi_read_rsp,
    .s_item_valid(item_valid), .s_item(item), .s_row_valid, .s_row_data, .s_row_info, .s_row_zero, .row_status,
    .turn(turn[COMPARE]), .m_done_valid(compare_end), .m_done_ready(done_ready), .m_done_status(compare_status));

  // ---- media commands
  logic    media_quiet, bursts_done;
  status_t media_status;
  assign bursts_done = drained && !m_axi_write_req.w_valid && !m_axi_write_req.aw_valid;
  db_ssd_media_order #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_media (
    .clk, .rst, .stop, .drained(bursts_done), .quiet(media_quiet), .s_item_valid(item_valid), .s_item(item),
    .s_cmd(media_cmd), .s_aborted(item_aborted), .s_row_valid, .s_row_data, .s_row_info,
    .prp_status(s_prp_status), .fua_status,
    .turn(turn[MEDIA]), .m_media_valid, .m_media_ready, .m_media, .s_media_done, .s_media_err,
    .m_done_valid(media_end), .m_done_ready(done_ready), .m_done_status(media_status));

  // ---- completions
  db_ssd_write_finish i_finish (
    .clk, .rst, .s_write_valid(write_valid), .s_write_ready(write_ready), .s_write(write), .s_done_ready(done_ready),
    .s_compare_valid(compare_end), .s_compare_status(compare_status),
    .s_media_valid(media_end), .s_media_status(media_status), .item,
    .m_completion_valid, .m_completion_ready, .m_completion, .media_err);

  // ---- quiet, idle
  logic most_quiet, compare_quiet_q;  // a cycle late: a Compare's item is in the queue meanwhile
  always_ff @(posedge clk) compare_quiet_q <= compare_quiet;
  assign most_quiet = bursts_done && issue_data_done && media_quiet;
  assign quiet      = most_quiet && compare_quiet;
  assign none_begun = most_quiet && compare_quiet_q && !item_valid && issue_idle && !m_completion_valid;
  assign idle       = none_begun && !s_cmd_valid && !s_row_valid;

endmodule
