// SPDX-License-Identifier: Apache-2.0
// The recorder without its hosts: capture stream, read-out, packets from and to the host, registers. Wiring only.
//
//   s_axis -> db_rec_capture -> db_rec_lane (one a drive) -> write data and commands
//   m_packet <- db_rec_to_host <- db_rec_read <- read data; <- db_rec_from_host <- s_packet
//   AXI4-Lite -> db_rec_axil -> db_rec_regs (control and status), db_rec_control (counters, statuses, trims and reads)
//
// Streams of the hosts: element i is drive i's.
// Latency: first row of a block to its write data 4 cycles, to its command 5. Throughput: a row every cycle.
module db_recorder_core
  import db_rec_pkg::*, db_host_pkg::*;
#(
  parameter int          N_DRIVES      = 2,        ///< 1..8
  parameter int          STREAM_W      = 256,      ///< capture stream, bits: 128..1024
  parameter int          DATA_W        = 128,      ///< rows of the hosts, bits: 128, 256, 512
  parameter int          CLK_MHZ       = 250,
  parameter int          DROP_BLOCKS   = 2,        ///< NumBlocksDrop: even, 2..254
  parameter bit          USE_CONFIGURE = 1'b1,     ///< UseConfigure: drives are brought up after reset
  parameter logic [31:0] TOTAL_BLOCKS  = 32'd0,    ///< NvmeTotalBlocks, of 4 KiB a drive; 0: the drive's size
  parameter bit          TRIM_FIRST    = 1'b0,     ///< DoTrim: value of TrimFirst after reset
  parameter bit          FULL_BLOCK    = 1'b1,     ///< SendFullBlock: read-out in packets of 4096 bytes, else 128
  parameter int          RESET_US      = 100_000,  ///< reset pulse of the Control register
  parameter int          FIFO_BLOCKS   = 4,        ///< blocks of 4 KiB buffered before each host
  parameter int          WRITE_BLOCKS  = 1,        ///< ... in the largest write, 1..4
  parameter int          READ_BLOCKS   = 8,        ///< ... read
  parameter int          TRIM_BLOCKS   = 4096      ///< ... trim
) (
  input  logic                                       clk,
  input  logic                                       rst,

  input  logic                                       s_axis_tvalid,
  output logic                                       s_axis_tready,
  input  logic           [STREAM_W-1:0]              s_axis_tdata,
  input  logic                                       s_axis_tlast,
  output logic                                       data_enabled_out,
  input  logic                                       data_drop_blocks,

  /// The buffer in memory; without one, its state is 0.
  output logic                                       any_capturing,
  output logic                                       any_enable,       ///< software wants blocks
  input  buffer_state_t                              buffer,

  input  logic                                       s_packet_valid,
  output logic                                       s_packet_ready,
  input  packet_t                                    s_packet,
  output logic                                       m_packet_valid,
  input  logic                                       m_packet_ready,
  output packet_t                                    m_packet,

  input  axil_req_t                                  axil_req,
  output axil_rsp_t                                  axil_rsp,

  output logic           [N_DRIVES-1:0]              drive_rst,        ///< resets host and drive
  output logic           [N_DRIVES-1:0]              shutdown,         ///< pulse: the host shuts its drive down
  input  host_state_t    [N_DRIVES-1:0]              hosts,

  output logic           [N_DRIVES-1:0]              m_cmd_valid,
  input  logic           [N_DRIVES-1:0]              m_cmd_ready,
  output block_cmd_t     [N_DRIVES-1:0]              m_cmd,
  output logic           [N_DRIVES-1:0]              m_row_valid,      ///< write data
  input  logic           [N_DRIVES-1:0]              m_row_ready,
  output logic           [N_DRIVES-1:0][DATA_W-1:0]  m_row_data,
  input  logic           [N_DRIVES-1:0]              s_row_valid,      ///< read data
  output logic           [N_DRIVES-1:0]              s_row_ready,
  input  logic           [N_DRIVES-1:0][DATA_W-1:0]  s_row_data,
  input  logic           [N_DRIVES-1:0]              s_status_valid,
  output logic           [N_DRIVES-1:0]              s_status_ready,
  input  block_status_t  [N_DRIVES-1:0]              s_status,

  /// Admin commands (16 dwords each) and register accesses; both are for the drive whose valid is high.
  output logic           [N_DRIVES-1:0]              m_admin_valid,
  input  logic           [N_DRIVES-1:0]              m_admin_ready,
  output logic           [31:0]                      m_admin_data,
  input  logic           [N_DRIVES-1:0]              s_admin_valid,
  output logic           [N_DRIVES-1:0]              s_admin_ready,
  input  admin_answer_t  [N_DRIVES-1:0]              s_admin,
  output logic           [N_DRIVES-1:0]              m_reg_valid,
  input  logic           [N_DRIVES-1:0]              m_reg_ready,
  output drive_access_t                              m_reg,
  input  logic           [N_DRIVES-1:0]              s_reg_valid,
  input  drive_answer_t  [N_DRIVES-1:0]              s_reg,

  /// Rows that a drive writes to the host's side.
  input  logic           [N_DRIVES-1:0]                s_forward_valid,
  output logic           [N_DRIVES-1:0]                s_forward_ready,
  input  logic           [N_DRIVES-1:0][22:0]          s_forward_addr,
  input  logic           [N_DRIVES-1:0][DATA_W-1:0]    s_forward_data,
  input  logic           [N_DRIVES-1:0][DATA_W/8-1:0]  s_forward_be,

  output logic                                       idle  ///< but for timers, nothing changes until an input does
);
  // ---- db_rec_io and what it meets
  logic   [N_DRIVES-1:0] none_issued, user_status, control_valid, control_ready, io_status_ready, io_issue_valid;
  logic   [N_DRIVES-1:0] io_row_lock, io_row_ready, io_reads, read_owed, wait_reads;
  logic                  issue_free, any_packet, io_row_valid, io_packet_done, io_busy, data_open, data_valid;
  logic                  data_error;
  logic                  fetch_valid, fetch_ready, done_io_valid, done_io_ready;
  logic                  entry_in_valid, entry_valid, entry_ready;
  logic   [31:0]         entry_in_data, entry_data, data;
  logic   [8:0]          entry_level;
  logic   [23:0]         io_read_addr;
  logic   [DATA_W-1:0]   io_row_data;
  issue_t                io_issue;
  fetch_t                fetch;
  io_done_t              done_io;

  // ---- registers
  logic                           pending, read_pending, reg_latch;
  logic                           live, reg_valid, reg_ready, reg_write, reg_all, wipe, wiping, all_rst, trim_first;
  access_t                        access;
  logic            [31:0]         live_rdata, reg_wdata, reg_rdata;
  logic            [9:0]          reg_addr;
  drive_state_t    [N_DRIVES-1:0] drives;
  logic            [N_DRIVES-1:0] initialise;
  drive_control_t  [N_DRIVES-1:0] control;
  drive_progress_t [N_DRIVES-1:0] progress;
  lane_state_t     [N_DRIVES-1:0] lanes;
  logic                           stat_drop, stat_format;
  db_rec_axil #(.N_DRIVES(N_DRIVES)) i_axil (
    .clk, .rst, .axil_req, .axil_rsp, .live, .access, .live_rdata, .live_pending(pending),
    .live_read_pending(read_pending),
    .reg_valid, .reg_ready, .reg_write, .reg_latch, .reg_all,
    .reg_addr, .reg_wdata, .reg_rdata
  );
  db_rec_regs #(
    .N_DRIVES(N_DRIVES), .STREAM_W(STREAM_W), .CLK_MHZ(CLK_MHZ), .RESET_US(RESET_US),
    .USE_CONFIGURE(USE_CONFIGURE), .TRIM_FIRST(TRIM_FIRST)
  ) i_regs (
    .clk, .rst, .live, .access, .rdata(live_rdata), .pending, .read_pending, .wipe, .all_rst, .initialise, .drive_rst,
    .shutdown, .control, .trim_first, .hosts,
    .lanes, .progress, .stat_drop, .stat_format, .buffer
  );

  // ---- what is slow
  logic   [N_DRIVES-1:0] data_enable, run, quiet, read_restart, read_busy, load, done_valid, lost_ack, issue_valid;
  logic   [N_DRIVES-1:0] issue_ready;
  logic   [2:0]          done_blocks;
  logic                  starting, in_block, event_valid, event_ready;
  chunk_t                chunk;
  issue_t                issue;
  event_t                mark;
  db_rec_enable #(.N_DRIVES(N_DRIVES)) i_enable (
    .clk, .rst, .control, .progress, .lanes, .buffer_busy(buffer.busy), .any_capturing, .any_enable, .data_enable,
    .run, .starting, .in_block, .data_enabled_out, .wiping, .read_busy, .event_valid, .packet_valid(any_packet),
    .status_valid(s_status_valid), .idle
  );
  db_rec_control #(
    .N_DRIVES(N_DRIVES), .CLK_MHZ(CLK_MHZ), .READ_BLOCKS(READ_BLOCKS), .TRIM_BLOCKS(TRIM_BLOCKS)
  ) i_control (
    .clk, .rst, .wipe, .wiping, .reg_valid, .reg_ready, .reg_write, .reg_latch, .reg_all, .reg_addr, .reg_wdata,
    .reg_rdata, .trim_first, .data_enable, .control, .drives, .progress, .run, .hold(starting), .quiet,
    .s_event_valid(event_valid), .s_event_ready(event_ready), .s_event(mark), .read_restart, .read_busy, .lanes,
    .load, .chunk, .done_valid, .done_blocks, .lost_ack, .m_issue_valid(issue_valid), .m_issue_ready(issue_ready),
    .m_issue(issue), .issue_free, .none_issued, .wait_reads, .s_status_valid(control_valid),
    .s_status_ready(control_ready), .s_status
  );

  // ---- the stream
  logic                [N_DRIVES-1:0] take, row_valid;
  logic                               take_lost;
  logic                [STREAM_W-1:0] row_data;
  db_rec_capture #(.N_DRIVES(N_DRIVES), .STREAM_W(STREAM_W), .DROP_BLOCKS(DROP_BLOCKS)) i_capture (
    .clk, .rst(all_rst), .starting, .run, .drives, .lanes, .drop(data_drop_blocks), .s_axis_tvalid, .s_axis_tready,
    .s_axis_tdata, .s_axis_tlast, .take, .take_lost, .m_row_valid(row_valid), .m_row_data(row_data), .quiet,
    .in_block, .m_event_valid(event_valid), .m_event_ready(event_ready), .m_event(mark), .stat_drop, .stat_format
  );
  for (genvar i = 0; i < N_DRIVES; i++) begin : g_lane
    assign control_valid[i] = s_status_valid[i] && s_status[i].tag != USER_TAG;
    assign user_status[i]   = s_status_valid[i] && s_status[i].tag == USER_TAG;
    assign drives[i] = '{up: hosts[i].up, dead: hosts[i].dead, flush: drive_rst[i]};
    db_rec_lane #(
      .STREAM_W(STREAM_W), .DATA_W(DATA_W), .FIFO_BLOCKS(FIFO_BLOCKS), .CMD_BLOCKS(WRITE_BLOCKS),
      .TOTAL_BLOCKS(TOTAL_BLOCKS)
    ) i_lane (
      .clk, .rst(all_rst), .host(hosts[i]), .drive(drives[i]), .lane(lanes[i]), .load(load[i]), .chunk,
      .done_valid(done_valid[i]), .done_blocks, .lost_ack(lost_ack[i]), .s_issue_valid(issue_valid[i]),
      .s_issue_ready(issue_ready[i]), .s_issue(issue), .s_io_valid(io_issue_valid[i]), .s_io(io_issue),
      .s_io_lock(io_row_lock[i]),
      .s_io_row_valid(io_row_valid && io_row_lock[i]), .s_io_row_ready(io_row_ready[i]), .s_io_row_data(io_row_data),
      .take(take[i]), .take_lost, .s_row_valid(row_valid[i]),
      .s_row_data(row_data), .m_cmd_valid(m_cmd_valid[i]), .m_cmd_ready(m_cmd_ready[i]), .m_cmd(m_cmd[i]),
      .m_row_valid(m_row_valid[i]), .m_row_ready(m_row_ready[i]), .m_row_data(m_row_data[i])
    );
  end

  // ---- I/O entries of the host
  assign s_status_ready = control_ready | io_status_ready;
  assign any_packet     = m_packet_valid || io_busy;
  db_fifo #(.WIDTH(32), .DEPTH(256), .AROUND(1'b0)) i_entries (
    .clk, .rst(all_rst), .s_valid(entry_in_valid), .s_ready(), .s_data(entry_in_data), .m_valid(entry_valid),
    .m_ready(entry_ready), .m_data(entry_data), .level(entry_level)
  );
  db_rec_io #(.N_DRIVES(N_DRIVES), .DATA_W(DATA_W)) i_io (
    .clk, .rst(all_rst), .hosts, .drives, .s_entry_valid(entry_valid), .s_entry_ready(entry_ready),
    .s_entry_data(entry_data), .m_fetch_valid(fetch_valid), .m_fetch_ready(fetch_ready), .m_fetch(fetch), .data_open,
    .s_data_valid(data_valid), .s_data(data), .s_data_error(data_error), .issue_free,
    .m_issue_valid(io_issue_valid), .m_issue_ready(issue_ready), .m_issue(io_issue), .m_row_lock(io_row_lock),
    .m_row_valid(io_row_valid), .m_row_ready(io_row_ready), .m_row_data(io_row_data), .wait_reads, .reads(io_reads),
    .read_addr(io_read_addr), .reads_clear(none_issued & ~read_busy & ~read_owed),
    .packet_done(io_packet_done),
    .s_status_valid(user_status), .s_status_ready(io_status_ready), .s_status, .m_done_valid(done_io_valid),
    .m_done_ready(done_io_ready), .m_done(done_io), .busy(io_busy)
  );

  // ---- packets
  logic    block_valid, block_ready, reply_valid, reply_ready;
  packet_t block;
  reply_t  reply;
  admin_t [N_DRIVES-1:0] admin;
  logic   [N_DRIVES-1:0] admin_done;
  db_rec_read #(.N_DRIVES(N_DRIVES), .DATA_W(DATA_W), .FULL_BLOCK(FULL_BLOCK), .READ_BLOCKS(READ_BLOCKS)) i_read (
    .clk, .rst(all_rst), .restart(read_restart), .busy(read_busy), .issued(issue_valid), .issue, .owed(read_owed),
    .user(io_reads), .user_addr(io_read_addr),
    .user_done(io_packet_done), .drives, .s_row_valid, .s_row_ready, .s_row_data,
    .m_packet_valid(block_valid), .m_packet_ready(block_ready), .m_packet(block)
  );
  db_rec_from_host #(.N_DRIVES(N_DRIVES)) i_from_host (
    .clk, .rst(all_rst), .hosts, .drives, .s_packet_valid, .s_packet_ready, .s_packet, .m_reply_valid(reply_valid),
    .m_reply_ready(reply_ready), .m_reply(reply), .admin, .admin_done, .initialise,
    .m_entry_valid(entry_in_valid), .m_entry_data(entry_in_data), .entry_room(entry_level <= 9'd240), .data_open,
    .data_tag(fetch.tag), .m_data_valid(data_valid), .m_data(data), .m_data_error(data_error), .m_reg_valid,
    .m_reg_ready, .m_reg,
    .s_reg_valid, .s_reg, .m_admin_valid, .m_admin_ready, .m_admin_data
  );
  db_rec_to_host #(.N_DRIVES(N_DRIVES), .DATA_W(DATA_W)) i_to_host (
    .clk, .rst(all_rst), .wipe(wipe && !rst), .s_reply_valid(reply_valid), .s_reply_ready(reply_ready),
    .s_reply(reply), .admin, .admin_done, .s_done_valid(done_io_valid), .s_done_ready(done_io_ready), .s_done(done_io),
    .s_fetch_valid(fetch_valid), .s_fetch_ready(fetch_ready), .s_fetch(fetch), .s_admin_valid, .s_admin_ready,
    .s_admin, .s_forward_valid, .s_forward_ready, .s_forward_addr,
    .s_forward_data, .s_forward_be, .s_block_valid(block_valid), .s_block_ready(block_ready), .s_block(block),
    .m_packet_valid, .m_packet_ready, .m_packet
  );
endmodule
