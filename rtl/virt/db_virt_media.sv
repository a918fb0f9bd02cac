// SPDX-License-Identifier: Apache-2.0
// The virtual media: what a controller takes for its medium is NUM_SSD drives and, for the settings area at its end, the
// card's own memory. Wiring:
//
//   commands that will come -> db_virt_ahead -.                .-> those that may; how Writes and Flushes ended
//   writes   -> db_virt_write   --------------+-> db_virt_issue -> SSDs
//   commands -> db_virt_command --------------'                '-> the port's answer: of the firmware
//   reads    -> db_virt_read: rows of SSDs, in the order of the bursts
//   each of the four looks in db_virt_extents, which the firmware fills, where a granule is
//
// Latency and throughput: of these, and of the SSDs.
`include "db_axi_types.svh"
module db_virt_media
  import db_host_pkg::*, db_virt_pkg::*, db_ssd_pkg::media_cmd_t, db_ssd_pkg::ahead_t, db_ssd_pkg::SLOT_W,
         db_ssd_pkg::ext_bus_t;
#(
  parameter int DATA_W  = 256,   ///< bits of a row: 128, 256, 512
  parameter int ADDR_W  = 40,    ///< bits of a media address
  parameter int NUM_SSD = 2,     ///< 1, 2, 4, 8
  parameter bit STRIPE  = 1'b0,  ///< db_virt_extents
  parameter int EXTENTS = 1024,  ///< db_virt_extents
  parameter int GRANULE_LOG2 = 20,  ///< db_virt_extents
  parameter int NUM_CMDS = 128,  ///< commands at once: power of two, 2..256
  parameter int RD_RING_BYTES = 524288,  ///< each SSD's buffer of data that is read
  parameter int WR_RING_BYTES = 262144,  ///< ... that is written
  localparam type axi_read_req_t  = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t  = `DB_AXI_READ_RSP_T(DATA_W),
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T
) (
  input  logic                           clk,
  input  logic                           rst,
  input  logic [51:0]                    ssd_pages,
  input  ssd_state_t [NUM_SSD-1:0]       ssd,
  output logic                           idle,
  output logic [NUM_SSD-1:0]             quiet,  ///< nothing of this SSD is under way
  /// the firmware: db_virt_extents
  input  ext_bus_t                       s_ext,
  output logic [31:0]                    m_ext_rdata,
  /// the controller's media
  input  axi_read_req_t                  s_axi_read_req,
  output axi_read_rsp_t                  s_axi_read_rsp,
  input  logic                           s_axi_arid,
  output logic                           s_axi_rid,
  input  axi_write_req_t                 s_axi_write_req,
  output axi_write_rsp_t                 s_axi_write_rsp,
  input  logic                           s_cmd_valid,
  output logic                           s_cmd_ready,
  input  media_cmd_t                     s_cmd,
  output logic                           m_rsp_valid,
  output logic                           m_rsp_err,
  /// commands that will come (db_ssd_ahead); those that may, and those that have ended: pulses; is one aborted?
  input  logic                           s_ahead_valid,
  output logic                           s_ahead_ready,
  input  ahead_t                         s_ahead,
  input  logic                           s_ahead_rst,
  output logic                           m_come_valid,
  output logic [SLOT_W-1:0]              m_come_slot,
  output logic [SLOT_W-1:0]              m_ask_slot,
  input  logic                           s_aborted,
  output logic                           m_ended_valid,
  output logic [SLOT_W-1:0]              m_ended_slot,
  output logic                           m_ended_err,
  /// the card's own memory
  output axi_read_req_t                  m_card_read_req,
  input  axi_read_rsp_t                  m_card_read_rsp,
  output axi_write_req_t                 m_card_write_req,
  input  axi_write_rsp_t                 m_card_write_rsp,
  output logic                           m_card_cmd_valid,
  input  logic                           m_card_cmd_ready,
  output media_cmd_t                     m_card_cmd,
  input  logic                           s_card_rsp_valid,
  input  logic                           s_card_rsp_err,
  /// db_host_engine of each SSD
  output logic [NUM_SSD-1:0]             m_cmd_valid,
  input  logic [NUM_SSD-1:0]             m_cmd_ready,
  output block_cmd_t [NUM_SSD-1:0]       m_cmd,
  output logic [NUM_SSD-1:0]             m_row_valid,
  input  logic [NUM_SSD-1:0]             m_row_ready,
  output logic [DATA_W-1:0]              m_row_data,
  input  logic [NUM_SSD-1:0]             s_row_valid,
  output logic [NUM_SSD-1:0]             s_row_ready,
  input  logic [NUM_SSD-1:0][DATA_W-1:0] s_row_data,
  input  logic [NUM_SSD-1:0]             s_row_err,
  input  logic [NUM_SSD-1:0]             s_status_valid,
  input  block_status_t [NUM_SSD-1:0]    s_status
);
  localparam int WRITE = 0, MEDIA = 1;
  logic [1:0]               cmd_valid, cmd_ready;
  logic [1:0][SSD_W-1:0]    cmd_ssd;
  block_cmd_t [1:0]         cmd;
  logic [NUM_SSD-1:0]       read_end, write_end, media_end, end_err, read_valid, read_ready, row_valid, row_ready;
  block_cmd_t [NUM_SSD-1:0] read;
  logic [NUM_SSD-1:0]       ahead_quiet, fence, alone_valid, alone_ready, burst, none_burst;
  alone_t [NUM_SSD-1:0]     alone;
  logic [NUM_SSD-1:0][SLOT_W-1:0] end_slot;
  logic [3:0]               burst_len;
  let_t                     read_let, write_let;
  logic                     read_let_valid, write_let_valid, none_valid, none_err;
  logic [SLOT_W-1:0]        read_let_slot, write_let_slot, none_slot;
  logic                     ahead_idle, read_idle, write_idle, command_idle, issue_idle;

  localparam int LOOK_W = ADDR_W - GRANULE_LOG2;
  logic [LOOKERS-1:0]             look_valid;
  logic [LOOKERS-1:0][LOOK_W-1:0] look;
  extent_t [LOOKERS-1:0]          extent;
  logic                           look_ready, command_look_valid, zero_look_valid;
  logic [LOOK_W-1:0]              command_look, zero_look;
  assign look_valid[LOOK_COMMAND] = command_look_valid || zero_look_valid;
  assign look[LOOK_COMMAND]       = command_look_valid ? command_look : zero_look;
  db_virt_extents #(
    .NUM_SSD(NUM_SSD), .STRIPE(STRIPE), .EXTENTS(EXTENTS), .GRANULE_LOG2(GRANULE_LOG2), .LOOK_W(LOOK_W)
  ) i_extents (
    .clk, .rst, .ssd_pages, .s_ext, .m_ext_rdata, .s_look_valid(look_valid), .s_look_ready(look_ready), .s_look(look),
    .m_extent(extent));

  db_virt_ahead #(
    .DATA_W(DATA_W), .ADDR_W(ADDR_W), .NUM_SSD(NUM_SSD), .GRANULE_LOG2(GRANULE_LOG2), .RD_RING_BYTES(RD_RING_BYTES),
    .WR_RING_BYTES(WR_RING_BYTES), .NUM_CMDS(NUM_CMDS)
  ) i_ahead (
    .clk, .rst, .forget(s_ahead_rst), .ssd_pages, .ssd, .idle(ahead_idle), .quiet(ahead_quiet), .m_fence(fence),
    .m_look_valid(look_valid[LOOK_AHEAD]), .m_look(look[LOOK_AHEAD]), .s_extent(extent[LOOK_AHEAD]),
    .s_ahead_valid, .s_ahead_ready, .s_ahead,
    .m_read_let_valid(read_let_valid), .m_read_let_slot(read_let_slot), .m_read_let(read_let),
    .m_write_let_valid(write_let_valid), .m_write_let_slot(write_let_slot), .m_write_let(write_let), .m_ended_valid,
    .m_ended_slot, .m_ended_err, .m_cmd_valid(read_valid), .m_cmd_ready(read_ready), .m_cmd(read),
    .s_read_end(read_end), .m_alone_valid(alone_valid), .m_alone_ready(alone_ready), .m_alone(alone),
    .m_zero_look_valid(zero_look_valid), .s_zero_look_ready(look_ready && !command_look_valid),
    .m_zero_look(zero_look), .s_zero_extent(extent[LOOK_COMMAND]), .m_ask_slot, .s_aborted,
    .s_burst_valid(burst), .s_void_valid(none_burst), .s_burst_len(burst_len), .s_end_valid(write_end),
    .s_end_slot(end_slot), .s_end_err(end_err), .s_none_valid(none_valid), .s_none_slot(none_slot),
    .s_none_err(none_err), .s_row_valid, .s_row_ready, .m_row_valid(row_valid), .m_row_ready(row_ready));
  assign m_come_valid = read_let_valid || write_let_valid;
  assign m_come_slot  = read_let_valid ? read_let_slot : write_let_slot;
  db_virt_read #(
    .DATA_W(DATA_W), .ADDR_W(ADDR_W), .NUM_SSD(NUM_SSD), .GRANULE_LOG2(GRANULE_LOG2), .NUM_CMDS(NUM_CMDS)
  ) i_read (
    .clk, .rst, .ssd_pages, .idle(read_idle), .m_look_valid(look_valid[LOOK_READ]), .m_look(look[LOOK_READ]),
    .s_extent(extent[LOOK_READ]), .s_axi_read_req, .s_axi_read_rsp, .s_axi_arid, .s_axi_rid,
    .m_card_read_req, .m_card_read_rsp, .s_let_valid(read_let_valid), .s_let(read_let), .forget(s_ahead_rst),
    .s_row_valid(row_valid), .s_row_ready(row_ready), .s_row_data, .s_row_err);
  db_virt_write #(
    .DATA_W(DATA_W), .ADDR_W(ADDR_W), .NUM_SSD(NUM_SSD), .GRANULE_LOG2(GRANULE_LOG2), .NUM_CMDS(NUM_CMDS)
  ) i_write (
    .clk, .rst, .ssd_pages, .ssd, .idle(write_idle), .m_look_valid(look_valid[LOOK_WRITE]), .m_look(look[LOOK_WRITE]),
    .s_extent(extent[LOOK_WRITE]), .s_axi_write_req, .s_axi_write_rsp, .m_card_write_req,
    .m_card_write_rsp, .s_let_valid(write_let_valid), .s_let_slot(write_let_slot), .s_let(write_let),
    .forget(s_ahead_rst), .m_burst_valid(burst), .m_void_valid(none_burst), .m_burst_len(burst_len),
    .m_none_valid(none_valid), .m_none_slot(none_slot), .m_none_err(none_err), .m_cmd_valid(cmd_valid[WRITE]),
    .m_cmd_ready(cmd_ready[WRITE]), .m_cmd_ssd(cmd_ssd[WRITE]), .m_cmd(cmd[WRITE]), .m_row_valid, .m_row_ready,
    .m_row_data);
  db_virt_command #(.ADDR_W(ADDR_W), .NUM_SSD(NUM_SSD), .GRANULE_LOG2(GRANULE_LOG2)) i_command (
    .clk, .rst, .ssd, .fence, .idle(command_idle), .m_look_valid(command_look_valid), .s_look_ready(look_ready),
    .m_look(command_look), .s_extent(extent[LOOK_COMMAND]), .s_cmd_valid, .s_cmd_ready, .s_op(s_cmd.op),
    .s_addr(s_cmd.addr[ADDR_W-1:0]), .s_bytes(s_cmd.bytes), .m_rsp_valid, .m_rsp_err, .m_card_valid(m_card_cmd_valid),
    .m_card_ready(m_card_cmd_ready), .s_card_rsp_valid, .s_card_rsp_err, .m_cmd_valid(cmd_valid[MEDIA]),
    .m_cmd_ready(cmd_ready[MEDIA]), .m_cmd_ssd(cmd_ssd[MEDIA]), .m_cmd(cmd[MEDIA]),
    .s_end_valid(media_end), .s_end_err(end_err));
  assign m_card_cmd = '{op: db_ssd_pkg::MEDIA_FLUSH, addr: '0, bytes: '0};

  // room for all that is let go, flushes of all commands, and one of the port
  db_virt_issue #(.NUM_SSD(NUM_SSD), .DEPTH(2 ** $clog2(BURSTS_OUT + NUM_CMDS + 1))) i_issue (
    .clk, .rst, .idle(issue_idle), .s_cmd_valid(cmd_valid), .s_cmd_ready(cmd_ready), .s_cmd_ssd(cmd_ssd), .s_cmd(cmd),
    .s_read_valid(read_valid), .s_read_ready(read_ready), .s_read(read), .m_read_end(read_end),
    .m_cmd_valid, .m_cmd_ready, .m_cmd, .s_status_valid, .s_status, .m_write_end(write_end),
    .m_end_slot(end_slot), .s_alone_valid(alone_valid), .s_alone_ready(alone_ready), .s_alone(alone),
    .m_media_end(media_end),
    .m_end_err(end_err));
  always_ff @(posedge clk) quiet <= ahead_quiet & ~m_cmd_valid;
  assign idle = ahead_idle && read_idle && write_idle && command_idle && issue_idle;
endmodule
