// SPDX-License-Identifier: Apache-2.0
// Write pipe: Write, Compare, Dataset Management, Write Zeroes and Flush, from decoded command to completion.
// (OpenExpress: HTRW, the write half.)
//
// Commands with data from the host have their PRPs walked into read requests; db_pcie_read brings the data as one
// stream in command order, and db_ssd_write_exec takes commands and data together. The walk runs ahead of the data by
// as many bytes as db_pcie_read's ring.
// With room for every command that has a slot s_cmd_ready never falls: whatever the media or the host do, no command of
// another engine waits in decode behind one of this.
// Latency: command to its first segment 5 cycles (no PRP list needed for it). Throughput: a row a cycle.
`include "db_axi_types.svh"
module db_ssd_write_engine
  import db_mem_pkg::*, db_nvme_pkg::*, db_ssd_pkg::*, db_ssd_data_pkg::*;
#(
  parameter int DATA_W = 256,    ///< bits: 128, 256, 512
  parameter int ADDR_W = 40,     ///< bits of a media address
  parameter int NUM_CMDS = 128,  ///< command slots: power of two, 2..256
  parameter int ROOM = NUM_CMDS,  ///< commands it has room for: power of two, 2..2 * NUM_CMDS
  parameter int BURST_BYTES = 1024,  ///< of a burst of the media: power of two, 512..4096
  parameter bit SGL = 1'b0,      ///< takes SGLs
  parameter bit BUDGET = 1'b0,   ///< their lists have a limit (db_nvme_sgl_walk)
  parameter bit PIECES = 1'b0,   ///< commands may come in pieces
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T,
  localparam type axi_read_req_t  = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t  = `DB_AXI_READ_RSP_T(DATA_W)
) (
  input  logic                  clk,
  input  logic                  rst,
  input  logic                  stop,           ///< until rst: ask nothing new of host and media
  input  logic                  pause,          ///< begin no command: somebody else wants the media
  output logic                  paused,         ///< ... and what had begun has ended
  output logic                  quiet,          ///< nothing is outstanding at the media
  output logic                  idle,
  input  logic                  s_cmd_valid,
  output logic                  s_cmd_ready,
  input  cmd_t                  s_cmd,
  input  piece_t                s_piece,        ///< of s_cmd
  /// PRP list reads, to a db_pcie_read, and what it answers
  output logic                  m_req_valid,
  input  logic                  m_req_ready,
  output segment_t              m_req,
  output logic [SLOT_W-1:0]     m_req_slot,
  input  logic                  s_list_valid,
  output logic                  s_list_ready,
  input  logic [DATA_W-1:0]     s_list_data,
  input  row_info_t             s_list_info,
  /// data reads, to another db_pcie_read, and what it answers: a packet a command
  output logic                  m_seg_valid,
  input  logic                  m_seg_ready,
  output segment_t              m_seg,
  output logic [SLOT_W-1:0]     m_seg_slot,
  input  logic                  s_row_valid,
  output logic                  s_row_ready,
  input  logic [DATA_W-1:0]     s_row_data,
  input  row_info_t             s_row_info,
  input  logic [DATA_W/128-1:0] s_row_zero,     ///< Compare: 16 bytes that zeros on the media are equal to, too
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
  if (NUM_CMDS < 2 || NUM_CMDS > 256 || NUM_CMDS != 2 ** $clog2(NUM_CMDS)) begin : g_bad_cmds
    $error("%m: NUM_CMDS must be a power of two, 2..256");
  end

  // ---- to the walker (with data) and to the media side (all)
  localparam int LEVEL_W = $clog2(ROOM) + 1;
  logic               walk_valid, walk_ready, cmd_valid, cmd_ready, exec_idle, push, walk_room, exec_room;
  logic [LEVEL_W-1:0] walk_level, exec_level;
  prp_t               walk;
  logic [SLOT_W-1:0]  walk_slot;
  exec_cmd_t          cmd;
  localparam int EXEC_W = $bits(exec_cmd_t) - (PIECES ? 0 : $bits(piece_t));  // its highest bits say which piece it is
  logic [EXEC_W-1:0]  exec;
  assign s_cmd_ready = walk_room && exec_room;
  assign push        = s_cmd_valid && s_cmd_ready;
  db_fifo #(.WIDTH($bits(prp_t) + SLOT_W), .DEPTH(ROOM)) i_walk (
    .clk, .rst, .s_valid(push && s_cmd.desc.from_host), .s_ready(walk_room),
    .s_data({s_cmd.fn, s_cmd.sgl, s_cmd.prp1, s_cmd.prp2, s_cmd.bytes, s_cmd.slot}), .m_valid(walk_valid),
    .m_ready(walk_ready), .m_data({walk, walk_slot}), .level(walk_level));
  db_fifo #(.WIDTH(EXEC_W), .DEPTH(ROOM), .AROUND(1'b0)) i_exec_cmds (
    .clk, .rst, .s_valid(push), .s_ready(exec_room), .s_data(EXEC_W'(exec_cmd(s_cmd, s_piece))), .m_valid(cmd_valid),
    .m_ready(cmd_ready), .m_data(exec), .level(exec_level));
  assign cmd = $bits(exec_cmd_t)'(exec);

  // ---- walk; the result of a walk goes beside the data
  logic    status_room, status_valid, status_pop;
  status_t seg_status, prp_status;
  db_nvme_prp #(.DATA_W(DATA_W), .USER_W(SLOT_W), .SGL(SGL), .TO_HOST(1'b0), .BUDGET(BUDGET)) i_prp (
    .clk, .rst, .s_cmd_valid(walk_valid), .s_cmd_ready(walk_ready),
    .s_cmd(walk), .s_cmd_user(walk_slot),
    .m_req_valid, .m_req_ready, .m_req, .m_req_user(m_req_slot), .s_list_valid, .s_list_ready,
    .s_list_data, .s_list_info,
    .m_seg_valid, .m_seg_ready, .m_seg, .m_seg_user(m_seg_slot), .m_seg_status(seg_status));
  // A command has one, so there is always room. Pieces are more than commands, but no more than have room before the media
  // side and a few that it has begun.
  localparam int MOST     = ROOM > NUM_CMDS ? ROOM : NUM_CMDS;
  localparam int STATUSES = PIECES && MOST < 64 ? 64 : MOST;
  db_fifo #(.WIDTH($bits(status_t)), .DEPTH(STATUSES)) i_status (
    .clk, .rst, .s_valid(m_seg_valid && m_seg_ready && m_seg.last), .s_ready(status_room), .s_data(seg_status),
    .m_valid(status_valid), .m_ready(status_pop), .m_data(prp_status), .level());

  // ---- the media side, behind
  logic none_begun, exec_ready;
  assign cmd_ready = exec_ready && !pause;
  assign paused    = none_begun && pause;
  db_ssd_write_exec #(
    .DATA_W(DATA_W), .ADDR_W(ADDR_W), .BURST_BYTES(BURST_BYTES), .PIECES(PIECES)
  ) i_exec (
    .clk, .rst, .stop, .quiet, .none_begun, .idle(exec_idle),
    .s_cmd_valid(cmd_valid && !pause), .s_cmd_ready(exec_ready), .s_cmd(cmd),
    .s_row_valid, .s_row_ready, .s_row_data, .s_row_info, .s_row_zero,
    .s_prp_valid(status_valid), .s_prp_ready(status_pop), .s_prp_status(prp_status),
    .m_axi_write_req, .m_axi_write_rsp, .m_axi_read_req, .m_axi_read_rsp,
    .m_media_valid, .m_media_ready, .m_media, .s_media_done, .s_media_err,
    .item_slot, .item_aborted, .m_completion_valid, .m_completion_ready, .m_completion, .m_end, .m_end_slot,
    .media_err);

  assign idle = exec_idle && !pause && walk_level == '0 && exec_level == '0 && !m_seg_valid && !m_req_valid &&
                !s_list_valid;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && m_seg_valid && m_seg_ready && m_seg.last) assert (status_room);
`endif
endmodule
