// SPDX-License-Identifier: Apache-2.0
// Data path of the controller: the order of commands, read engine and write engine, from decoded commands to
// completions. Wiring alone.
//
// Rows cross a tap on both ways, where operators may stand: tap_read on the way from the media to the host, tap_write
// from the host to the media and to Compare. A packet is a command's data, and packets come in the order of the
// commands. What an operator gives back must have the same rows in the same order. Latency and throughput: those of
// db_ssd_read_engine and db_ssd_write_engine, with several functions behind db_ssd_order.
`include "db_axi_types.svh"
module db_ssd_data
  import db_mem_pkg::*, db_pcie_fn_pkg::*, db_ssd_pkg::*, db_ssd_near_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DATA_W = 256,    ///< bits: 128, 256, 512
  parameter int ADDR_W = 40,     ///< bits of a media address
  parameter int NUM_FN   = 1,    ///< functions, 1..17
  parameter int NUM_CMDS = 128,  ///< command slots: power of two, 2..256
  parameter bit SGL      = 1'b0, ///< takes SGLs
  parameter bit NEAR     = 1'b0, ///< has near-storage commands
  parameter bit SLM      = 1'b0, ///< ... and commands of memory and programs
  parameter int BURST_BYTES = 1024,  ///< of a burst of the media
  parameter int READ_BUF_BYTES = 16384,  ///< data of Reads that the media owes at a time: power of two, 8192..1048576
  parameter bit AHEAD = 1'b0,    ///< the media is told ahead (db_ssd_ahead)
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T,
  localparam type axi_read_req_t  = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t  = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic                  clk,
  input  logic                  rst,
  input  logic                  stop,                ///< until rst: ask nothing new of host and media
  input  logic                  write_pause,         ///< begin no command of the write engine
  output data_state_t           state,
  output logic [1:0]            media_err,           ///< pulse, of each engine: a command met a media error
  input  logic                  s_read_cmd_valid,
  output logic                  s_read_cmd_ready,
  input  logic                  s_write_cmd_valid,
  output logic                  s_write_cmd_ready,
  input  cmd_t                  s_cmd,               ///< of either
  /// what operators must know of a command: with its context; then, when it goes to its engine
  input  tap_cmd_t              s_tap_cmd,
  input  logic                  s_ctx_valid,
  input  logic [SLOT_W-1:0]     s_ctx_slot,
  output tap_cmd_t              m_tap_cmd,
  output logic                  m_tap_begin,         ///< pulse: a command begins, with or without a packet
  output logic [SLOT_W-1:0]     m_tap_begin_slot,
  input  fn_set_t               s_fn_set,            ///< several functions: what one may have
  input  logic                  us_turns,            ///< changes each microsecond
  /// PRP lists of the read engine: requests to a db_pcie_read, and what it answers
  output logic                  m_read_prp_valid,
  input  logic                  m_read_prp_ready,
  output segment_t              m_read_prp,
  output logic [SLOT_W-1:0]     m_read_prp_slot,
  input  logic                  s_read_list_valid,
  output logic                  s_read_list_ready,
  input  logic [DATA_W-1:0]     s_read_list_data,
  input  row_info_t             s_read_list_info,
  /// near-storage commands: PRP lists of data that lie in memory, and these data, likewise
  output logic                  m_list_valid,
  input  logic                  m_list_ready,
  output segment_t              m_list,
  output logic [SLOT_W-1:0]     m_list_slot,
  input  logic                  s_near_list_valid,
  output logic                  s_near_list_ready,
  input  logic [DATA_W-1:0]     s_near_list_data,
  input  row_info_t             s_near_list_info,
  output logic                  m_fetch_valid,
  input  logic                  m_fetch_ready,
  output segment_t              m_fetch,
  output logic [SLOT_W-1:0]     m_fetch_slot,
  input  logic                  s_fetch_valid,
  output logic                  s_fetch_ready,
  input  logic [DATA_W-1:0]     s_fetch_data,
  input  row_info_t             s_fetch_info,
  /// PRP lists of the write engine
  output logic                  m_write_prp_valid,
  input  logic                  m_write_prp_ready,
  output segment_t              m_write_prp,
  output logic [SLOT_W-1:0]     m_write_prp_slot,
  input  logic                  s_write_list_valid,
  output logic                  s_write_list_ready,
  input  logic [DATA_W-1:0]     s_write_list_data,
  input  row_info_t             s_write_list_info,
  /// the host's data that the write engine wants, to a db_pcie_read; it comes by s_tap_write
  output logic                  m_write_seg_valid,
  input  logic                  m_write_seg_ready,
  output segment_t              m_write_seg,
  output logic [SLOT_W-1:0]     m_write_seg_slot,
  input  logic                  s_tap_write_valid,
  output logic                  s_tap_write_ready,
  input  logic [DATA_W-1:0]     s_tap_write_data,
  input  row_info_t             s_tap_write_info,
  input  logic [DATA_W/128-1:0] s_tap_write_zero,    ///< Compare: 16 bytes that zeros on the media are equal to, too
  /// where the read engine's data goes, to a db_pcie_write; it leaves by m_tap_read
  output logic                  m_read_seg_valid,
  input  logic                  m_read_seg_ready,
  output segment_t              m_read_seg,
  output segment_user_t         m_read_seg_user,
  output logic                  m_tap_read_valid,
  input  logic                  m_tap_read_ready,
  output logic [DATA_W-1:0]     m_tap_read_data,
  output row_info_t             m_tap_read_info,
  input  logic                  s_read_done_valid,   ///< that db_pcie_write has sent a Read's data
  output logic                  s_read_done_ready,
  input  segment_user_t         s_read_done_user,
  input  logic                  s_read_done_err,
  output logic                  m_packet_valid,      ///< pulse: the next packet of m_tap_read
  output near_packet_t          m_packet,
  output copy_range_t           m_copy_range,        ///< SLM: of the list of a Memory Copy
  /// media: [0] Read and Verify, [1] Compare
  output axi_read_req_t  [1:0]  m_axi_read_req,
  input  axi_read_rsp_t  [1:0]  m_axi_read_rsp,
  output axi_write_req_t        m_axi_write_req,
  input  axi_write_rsp_t        m_axi_write_rsp,
  output logic                  m_media_valid,
  input  logic                  m_media_ready,
  output media_cmd_t            m_media,
  input  logic                  s_media_done,        ///< pulse, one for each media command
  input  logic                  s_media_err,
  /// the slot whose turn it is; has its command been aborted? In the same cycle
  output logic [SLOT_W-1:0]     item_slot,
  input  logic                  item_aborted,
  output logic                  m_read_completion_valid,
  input  logic                  m_read_completion_ready,
  output slot_completion_t      m_read_completion,
  output logic                  m_write_completion_valid,
  input  logic                  m_write_completion_ready,
  output slot_completion_t      m_write_completion,
  /// AHEAD: a command that will need the media; it need not wait for it; what it came to (db_ssd_ahead)
  output logic                  m_ahead_valid,
  input  logic                  m_ahead_ready,
  output ahead_t                m_ahead,
  input  logic                  s_come_valid,
  input  logic [SLOT_W-1:0]     s_come_slot,
  input  logic                  s_ended_valid,
  input  logic [SLOT_W-1:0]     s_ended_slot,
  input  logic                  s_ended_err
);
  if (READ_BUF_BYTES < 8192 || READ_BUF_BYTES > 1048576 || READ_BUF_BYTES != 2 ** $clog2(READ_BUF_BYTES)) begin : g_bad
    $error("%m: READ_BUF_BYTES must be a power of two, 8192..1048576 (is %0d)", READ_BUF_BYTES);
  end

  // Several functions: commands that an engine has room for. What waits, waits in db_ssd_order.
  // A media that is far away needs more at once. What is written then waits in db_ssd_ahead with what is read, so the write
  // engine has room for all: a command for each slot, and those pieces of Dataset Management that are more than that,
  // of which the window lets one be inside for each two slots.
  localparam int ROOM   = NUM_FN == 1 || NUM_CMDS < 32 || AHEAD ? NUM_CMDS : 32;
  localparam int WRITE_ROOM = NUM_FN > 1 && AHEAD ? 2 * NUM_CMDS : ROOM;
  localparam int WINDOW = !AHEAD ? DATA_W / 4 : NUM_CMDS < 128 ? 8 * PIECE_RANGES * NUM_CMDS / 2 : 2048;
  localparam int READS  = READ_BUF_BYTES / 512;
  localparam int READ_ROOM   = READ_BUF_BYTES > 16384 ? NUM_CMDS : ROOM;
  localparam int READ_WINDOW = AHEAD ? 2048 : READS > WINDOW ? READS : WINDOW;

  logic [1:0] cmd_valid, cmd_ready, segs, ended, waiting;  // [0] read engine, [1] write engine
  logic       read_idle, write_idle;
  cmd_t       cmd;
  piece_t     piece;
  logic       write_end;                                   // of a command or a piece
  logic [1:0][SLOT_W-1:0] end_slot;
  assign segs  = {m_write_seg_valid && m_write_seg_ready, m_read_seg_valid && m_read_seg_ready};
  assign ended = {write_end,
                  m_read_completion_valid && m_read_completion_ready};
  logic [1:0]        turn_valid, turn_ready;               // from the order
  cmd_t              turn;
  piece_t            turn_piece;
  tap_cmd_t          turn_tap;
  logic              turn_begin, ahead_busy;
  logic [SLOT_W-1:0] turn_begin_slot;
  logic              media_valid, media_ready, media_done, media_err_in;
  media_cmd_t        media;
  logic              write_done_valid, write_done_ready, write_err;  // of the write engine
  slot_completion_t  write_done;
  db_ssd_order #(.NUM_FN(NUM_FN), .NUM_CMDS(NUM_CMDS), .DATA_W(DATA_W), .WINDOW(WINDOW),
                 .READ_WINDOW(READ_WINDOW), .SGL(SGL), .AHEAD(AHEAD), .NEAR(NEAR)) i_order (
    .clk, .rst, .s_fn_set, .us_turns, .s_cmd_valid({s_write_cmd_valid, s_read_cmd_valid}),
    .s_cmd_ready({s_write_cmd_ready, s_read_cmd_ready}), .s_cmd, .s_tap_cmd, .s_ctx_valid, .s_ctx_slot,
    .m_cmd_valid(turn_valid), .m_cmd_ready(turn_ready), .m_cmd(turn), .m_piece(turn_piece), .m_tap_cmd(turn_tap),
    .m_tap_begin(turn_begin), .m_tap_begin_slot(turn_begin_slot), .s_seg(segs),
    .s_seg_of({m_write_seg, m_read_seg}), .s_seg_slot({m_write_seg_slot, m_read_seg_user.slot}), .s_end(ended),
    .s_end_slot(end_slot), .busy(waiting));
  assign end_slot[0]      = m_read_completion.slot;
  assign state.read_idle  = read_idle && !waiting[0] && !ahead_busy;
  assign state.write_idle = write_idle && !waiting[1];
  if (AHEAD) begin : g_ahead
    db_ssd_ahead #(.ADDR_W(ADDR_W), .NUM_CMDS(NUM_CMDS)) i_ahead (
      .clk, .rst, .stop, .busy(ahead_busy), .s_cmd_valid(turn_valid), .s_cmd_ready(turn_ready), .s_cmd(turn),
      .s_piece(turn_piece), .s_tap_cmd(turn_tap), .s_tap_begin(turn_begin), .s_tap_begin_slot(turn_begin_slot),
      .m_cmd_valid(cmd_valid), .m_cmd_ready(cmd_ready), .m_cmd(cmd), .m_piece(piece), .m_tap_cmd, .m_tap_begin,
      .m_tap_begin_slot, .m_ahead_valid, .m_ahead_ready, .m_ahead, .s_come_valid, .s_come_slot, .s_ended_valid,
      .s_ended_slot, .s_ended_err, .s_media_valid(media_valid), .s_media_ready(media_ready), .s_media(media),
      .s_media_slot(item_slot), .m_media_done(media_done), .s_completion_valid(write_done_valid),
      .s_completion_ready(write_done_ready), .s_completion(write_done), .s_media_err(write_err),
      .m_completion_valid(m_write_completion_valid), .m_completion_ready(m_write_completion_ready),
      .m_completion(m_write_completion), .m_media_err(media_err[1]));
    logic unused_ok;
    assign {m_media_valid, m_media, media_err_in} = '0;
    assign unused_ok = &{1'b0, m_media_ready, s_media_done, s_media_err};
  end else begin : g_at_once
    logic unused_ok;
    assign {m_media_valid, m_media, media_done, media_err_in} = {media_valid, media, s_media_done, s_media_err};
    assign media_ready = m_media_ready;
    assign ahead_busy = 1'b0;
    assign {cmd_valid, cmd, piece} = {turn_valid, turn, turn_piece};
    assign turn_ready = cmd_ready;
    assign {m_tap_cmd, m_tap_begin, m_tap_begin_slot} = {turn_tap, turn_begin, turn_begin_slot};
    assign {m_write_completion_valid, m_write_completion, media_err[1]} = {write_done_valid, write_done, write_err};
    assign write_done_ready = m_write_completion_ready;
    assign {m_ahead_valid, m_ahead} = '0;
    assign unused_ok = &{1'b0, m_ahead_ready, s_come_valid, s_come_slot, s_ended_valid, s_ended_slot, s_ended_err};
  end

  // ---- the engines; their clocks stand still while they rest, in simulation
  logic read_clk, write_clk;
  db_clock_gate i_read_clk (
    .clk, .awake(rst || stop || !read_idle || cmd_valid[0] || s_read_list_valid || s_near_list_valid || s_fetch_valid ||
                 s_read_done_valid || m_axi_read_rsp[0].r_valid), .m_clk(read_clk));
  db_clock_gate i_write_clk (
    .clk, .awake(rst || stop || write_pause || !write_idle || cmd_valid[1] || s_write_list_valid || s_tap_write_valid ||
                 media_done || m_axi_read_rsp[1].r_valid || m_axi_write_rsp.b_valid), .m_clk(write_clk));

  db_ssd_read_engine #(
    .DATA_W(DATA_W), .ADDR_W(ADDR_W), .NUM_CMDS(NUM_CMDS), .ROOM(READ_ROOM), .BURST_BYTES(BURST_BYTES),
    .BUF_BYTES(READ_BUF_BYTES), .SGL(SGL), .BUDGET(NUM_FN > 1), .NEAR(NEAR), .SLM(SLM)
  ) i_read (
    .clk(read_clk), .rst, .stop, .quiet(state.read_quiet), .idle(read_idle),
    .s_cmd_valid(cmd_valid[0]), .s_cmd_ready(cmd_ready[0]), .s_cmd(cmd),
    .m_req_valid(m_read_prp_valid), .m_req_ready(m_read_prp_ready), .m_req(m_read_prp), .m_req_slot(m_read_prp_slot),
    .s_list_valid(s_read_list_valid), .s_list_ready(s_read_list_ready), .s_list_data(s_read_list_data),
    .s_list_info(s_read_list_info), .m_list_valid, .m_list_ready, .m_list, .m_list_slot, .s_near_list_valid,
    .s_near_list_ready, .s_near_list_data, .s_near_list_info, .m_fetch_valid, .m_fetch_ready, .m_fetch,
    .m_fetch_slot, .s_fetch_valid,
    .s_fetch_ready, .s_fetch_data, .s_fetch_info,
    .m_axi_read_req(m_axi_read_req[0]), .m_axi_read_rsp(m_axi_read_rsp[0]),
    .m_seg_valid(m_read_seg_valid), .m_seg_ready(m_read_seg_ready), .m_seg(m_read_seg), .m_seg_user(m_read_seg_user),
    .m_row_valid(m_tap_read_valid), .m_row_ready(m_tap_read_ready), .m_row_data(m_tap_read_data),
    .m_row_info(m_tap_read_info), .s_done_valid(s_read_done_valid), .s_done_ready(s_read_done_ready),
    .s_done_user(s_read_done_user), .s_done_err(s_read_done_err), .m_completion_valid(m_read_completion_valid),
    .m_completion_ready(m_read_completion_ready), .m_completion(m_read_completion), .m_packet_valid, .m_packet,
    .m_copy_range, .media_err(media_err[0]));

  db_ssd_write_engine #(
    .DATA_W(DATA_W), .ADDR_W(ADDR_W), .NUM_CMDS(NUM_CMDS), .ROOM(WRITE_ROOM), .BURST_BYTES(BURST_BYTES), .SGL(SGL),
    .BUDGET(NUM_FN > 1), .PIECES(NUM_FN > 1)
  ) i_write (
    .clk(write_clk), .rst, .stop, .pause(write_pause), .paused(state.write_paused),
    .quiet(state.write_quiet), .idle(write_idle),
    .s_cmd_valid(cmd_valid[1]), .s_cmd_ready(cmd_ready[1]), .s_cmd(cmd), .s_piece(piece),
    .m_req_valid(m_write_prp_valid), .m_req_ready(m_write_prp_ready), .m_req(m_write_prp),
    .m_req_slot(m_write_prp_slot),
    .s_list_valid(s_write_list_valid), .s_list_ready(s_write_list_ready), .s_list_data(s_write_list_data),
    .s_list_info(s_write_list_info),
    .m_seg_valid(m_write_seg_valid), .m_seg_ready(m_write_seg_ready), .m_seg(m_write_seg),
    .m_seg_slot(m_write_seg_slot),
    .s_row_valid(s_tap_write_valid), .s_row_ready(s_tap_write_ready), .s_row_data(s_tap_write_data),
    .s_row_info(s_tap_write_info), .s_row_zero(s_tap_write_zero), .m_axi_write_req, .m_axi_write_rsp,
    .m_axi_read_req(m_axi_read_req[1]), .m_axi_read_rsp(m_axi_read_rsp[1]),
    .m_media_valid(media_valid), .m_media_ready(media_ready), .m_media(media), .s_media_done(media_done),
    .s_media_err(media_err_in), .item_slot, .item_aborted,
    .m_completion_valid(write_done_valid), .m_completion_ready(write_done_ready), .m_completion(write_done),
    .m_end(write_end), .m_end_slot(end_slot[1]), .media_err(write_err));

endmodule
