// SPDX-License-Identifier: Apache-2.0
// The recorder without its hosts: capture stream, read-out, packets from and to the host, registers. Wiring only.
//
//   s_axis -> db_rec_capture -> db_rec_lane (one a drive) -> write data and commands
//   m_axis_hostrecv <- db_rec_to_host <- db_rec_read <- read data; <- db_rec_from_host <- s_axis_hostsend
//   AXI4-Lite -> db_rec_regs -> db_rec_stats (counters, statuses, trims and reads)
//
// Ports of the drives are flattened: drive i at [i*W +: W], with the names that db_host has.
// Latency: first beat of a block to its write data 4 cycles, to its command 5. Throughput: a beat every cycle.
module db_recorder_core #(
    parameter int unsigned N_DRIVES      = 2,           // 1..8
    parameter int unsigned STREAM_W      = 256,         // capture stream, bits: 128..1024
    parameter int unsigned DATA_W        = 128,         // hosts' data, bits: 128, 256, 512
    parameter int unsigned CLK_MHZ       = 250,
    parameter int unsigned DROP_BLOCKS   = 2,           // NumBlocksDrop: even, 2..254
    parameter bit          USE_CONFIGURE = 1'b1,        // UseConfigure: drives are brought up after reset
    parameter logic [31:0] TOTAL_BLOCKS  = 32'd0,       // NvmeTotalBlocks, of 4 KiB a drive; 0: the drive's size
    parameter bit          TRIM_FIRST    = 1'b0,        // DoTrim: value of TrimFirst after reset
    parameter bit          FULL_BLOCK    = 1'b1,        // SendFullBlock: read-out in packets of 4096 bytes, else 128
    parameter int unsigned RESET_US      = 100_000,     // reset pulse of the Control register
    parameter int unsigned FIFO_BLOCKS   = 4,           // blocks of 4 KiB buffered before each host
    parameter int unsigned WRITE_BLOCKS  = 1,           // ... in the largest write, 1..4
    parameter int unsigned READ_BLOCKS   = 8,           // ... read
    parameter int unsigned TRIM_BLOCKS   = 4096         // ... trim
) (
    input  logic                          clk,
    input  logic                          rst,

    input  logic                          s_axis_tvalid,
    output logic                          s_axis_tready,
    input  logic [STREAM_W-1:0]           s_axis_tdata,
    input  logic                          s_axis_tlast,
    output logic                          data_enabled_out,
    input  logic                          data_drop_blocks,

    // db_rec_buffer; without one, inputs 0
    output logic                          any_capturing,
    output logic                          any_enable,
    input  logic                          buffer_busy,
    input  logic [28:0]                   buffer_blocks,
    input  logic                          buffer_bad_last,
    input  logic                          buffer_error,

    input  logic                          s_axis_hostsend_tvalid,
    output logic                          s_axis_hostsend_tready,
    input  logic [127:0]                  s_axis_hostsend_tdata,
    input  logic [3:0]                    s_axis_hostsend_tkeep,
    input  logic                          s_axis_hostsend_tlast,
    output logic                          m_axis_hostrecv_tvalid,
    input  logic                          m_axis_hostrecv_tready,
    output logic [127:0]                  m_axis_hostrecv_tdata,
    output logic [3:0]                    m_axis_hostrecv_tkeep,
    output logic                          m_axis_hostrecv_tlast,

    input  logic                          s_axil_awvalid,
    output logic                          s_axil_awready,
    input  logic [15:0]                   s_axil_awaddr,
    input  logic [2:0]                    s_axil_awprot,
    input  logic                          s_axil_wvalid,
    output logic                          s_axil_wready,
    input  logic [31:0]                   s_axil_wdata,
    input  logic [3:0]                    s_axil_wstrb,
    output logic                          s_axil_bvalid,
    input  logic                          s_axil_bready,
    output logic [1:0]                    s_axil_bresp,
    input  logic                          s_axil_arvalid,
    output logic                          s_axil_arready,
    input  logic [15:0]                   s_axil_araddr,
    input  logic [2:0]                    s_axil_arprot,
    output logic                          s_axil_rvalid,
    input  logic                          s_axil_rready,
    output logic [31:0]                   s_axil_rdata,
    output logic [1:0]                    s_axil_rresp,

    output logic [N_DRIVES-1:0]           drive_rst,     // resets host and drive
    input  logic [N_DRIVES-1:0]           phy_ready,
    input  logic [N_DRIVES-1:0]           link_up,
    input  logic [N_DRIVES-1:0]           up,
    input  logic [N_DRIVES-1:0]           dead,
    input  logic [N_DRIVES*64-1:0]        blocks,
    input  logic [N_DRIVES*4-1:0]         lba_shift,
    input  logic [N_DRIVES*64-1:0]        window_base,
    output logic [N_DRIVES*128-1:0]       m_axis_cmd_tdata,
    output logic [N_DRIVES-1:0]           m_axis_cmd_tvalid,
    input  logic [N_DRIVES-1:0]           m_axis_cmd_tready,
    output logic [N_DRIVES*DATA_W-1:0]    m_axis_wdata_tdata,
    output logic [N_DRIVES-1:0]           m_axis_wdata_tvalid,
    input  logic [N_DRIVES-1:0]           m_axis_wdata_tready,
    input  logic [N_DRIVES*DATA_W-1:0]    s_axis_rdata_tdata,
    input  logic [N_DRIVES-1:0]           s_axis_rdata_tvalid,
    output logic [N_DRIVES-1:0]           s_axis_rdata_tready,
    input  logic [N_DRIVES*64-1:0]        s_axis_status_tdata,
    input  logic [N_DRIVES-1:0]           s_axis_status_tvalid,
    output logic [N_DRIVES-1:0]           s_axis_status_tready,
    output logic [N_DRIVES-1:0]           m_adm_valid,
    input  logic [N_DRIVES-1:0]           m_adm_ready,
    output logic [31:0]                   m_adm_data,    // the same for all
    input  logic [N_DRIVES-1:0]           s_adm_valid,
    output logic [N_DRIVES-1:0]           s_adm_ready,
    input  logic [N_DRIVES*128-1:0]       s_adm_cqe,
    input  logic [N_DRIVES-1:0]           s_adm_timeout,
    output logic [N_DRIVES-1:0]           m_reg_valid,
    input  logic [N_DRIVES-1:0]           m_reg_ready,
    output logic                          m_reg_write,   // these three: the same for all
    output logic [23:0]                   m_reg_addr,
    output logic [31:0]                   m_reg_wdata,
    input  logic [N_DRIVES-1:0]           s_reg_valid,
    input  logic [N_DRIVES*32-1:0]        s_reg_rdata,
    input  logic [N_DRIVES*2-1:0]         s_reg_status,
    input  logic [N_DRIVES-1:0]           s_fwd_valid,
    output logic [N_DRIVES-1:0]           s_fwd_ready,
    input  logic [N_DRIVES*23-1:0]        s_fwd_addr,
    input  logic [N_DRIVES*DATA_W-1:0]    s_fwd_data,
    input  logic [N_DRIVES*DATA_W/8-1:0]  s_fwd_be,
    output logic                          idle           // nothing will change until an input does, but for timers
);
  logic                    wipe, wiping, all_rst, trim_first, stat_drop, stat_format, busy, starting;
  logic                    reg_valid, reg_ready, reg_write, reg_all;
  logic [9:0]              reg_addr;
  logic [31:0]             reg_wdata, reg_rdata;
  logic [N_DRIVES-1:0]     want_data;  // DataEnable
  logic                    closing_q;  // it was 0 with something in the buffer
  logic [N_DRIVES-1:0]     data_enable, read_enable, read_trims, run, trimming, capturing, captured, reading, read_done;
  logic [N_DRIVES-1:0]     read_start, read_busy, quiet;
  logic [N_DRIVES-1:0]     ld, fin, done_valid, lost_valid, lost_ack, seq_valid, seq_ready, hold;
  logic [N_DRIVES-1:0]     take, wr_valid, room, flush, lane_idle;
  logic [N_DRIVES*32-1:0]  total_q, next;
  logic [N_DRIVES*12-1:0]  out_blocks, lost_blocks;
  logic                    ev_valid, ev_ready, ev_format, take_lost;
  logic [2:0]              ev_drive, done_blocks;
  logic [31:0]             ev_block, ld_next, ld_end, seq_block;
  logic [13:0]             seq_blocks;
  logic [1:0]              seq_kind;
  logic [STREAM_W-1:0]     wr_data;

  assign all_rst        = rst || wipe;
  assign any_capturing  = capturing != '0;
  // When DataEnable is 0 everywhere, what is in the buffer is still recorded, and the capture ends before another begins,
  // also if DataEnable is 1 again meanwhile.
  assign any_enable     = want_data != '0 && !closing_q;
  assign data_enable    = any_enable ? want_data : buffer_busy ? capturing : '0;
  always_ff @(posedge clk) begin
    if (capturing == '0) closing_q <= 1'b0;
    else if (want_data == '0 && buffer_busy) closing_q <= 1'b1;
    if (rst) closing_q <= 1'b0;
  end
  assign flush            = drive_rst;
  assign data_enabled_out = (run != '0 && hold == '0 && !starting) || busy;
  assign idle             = !wiping && capturing == '0 && reading == '0 && read_busy == '0 && !busy && &lane_idle &&
                            !ev_valid && !m_axis_hostrecv_tvalid && s_axis_status_tvalid == '0;

  always_ff @(posedge clk)
    for (int i = 0; i < int'(N_DRIVES); i++)
      total_q[i*32+:32] <= TOTAL_BLOCKS != '0 ? TOTAL_BLOCKS :
                           32'(blocks[i*64+:35] >> 2'(4'd12 - lba_shift[i*4+:4]));

  db_rec_regs #(
      .N_DRIVES(N_DRIVES), .STREAM_W(STREAM_W), .CLK_MHZ(CLK_MHZ), .RESET_US(RESET_US),
      .USE_CONFIGURE(USE_CONFIGURE), .TRIM_FIRST(TRIM_FIRST)
  ) i_regs (
      .clk, .rst, .s_axil_awvalid, .s_axil_awready, .s_axil_awaddr, .s_axil_wvalid, .s_axil_wready, .s_axil_wdata,
      .s_axil_wstrb, .s_axil_bvalid, .s_axil_bready, .s_axil_bresp, .s_axil_arvalid, .s_axil_arready, .s_axil_araddr,
      .s_axil_rvalid, .s_axil_rready, .s_axil_rdata, .s_axil_rresp, .reg_valid, .reg_ready, .reg_write, .reg_all,
      .reg_addr, .reg_wdata, .reg_rdata, .wipe, .drive_rst, .data_enable(want_data), .read_enable, .read_trims,
      .trim_first, .up,
      .dead, .phy_ready, .link_up, .total(total_q), .trimming, .capturing, .captured, .reading, .read_done, .stat_drop,
      .stat_format, .buffer_blocks, .buffer_bad_last, .buffer_error
  );

  db_rec_stats #(
      .N_DRIVES(N_DRIVES), .CLK_MHZ(CLK_MHZ), .READ_BLOCKS(READ_BLOCKS), .TRIM_BLOCKS(TRIM_BLOCKS)
  ) i_stats (
      .clk, .rst, .wipe, .wiping, .reg_valid, .reg_ready, .reg_write, .reg_all, .reg_addr, .reg_wdata, .reg_rdata,
      .data_enable, .read_enable, .read_trims, .trim_first, .up, .dead, .flush, .total(total_q), .run, .hold(starting),
      .trimming, .capturing, .captured, .reading, .read_done, .read_start, .read_busy, .quiet, .ev_valid, .ev_ready,
      .ev_drive, .ev_format, .ev_block, .ld, .ld_next, .ld_end, .next, .fin, .out_blocks, .done_valid, .done_blocks,
      .lost_valid, .lost_blocks, .lost_ack, .m_seq_valid(seq_valid), .m_seq_ready(seq_ready), .m_seq_kind(seq_kind),
      .m_seq_block(seq_block), .m_seq_blocks(seq_blocks), .s_axis_status_tvalid, .s_axis_status_tready,
      .s_axis_status_tdata
  );

  db_rec_capture #(
      .N_DRIVES(N_DRIVES), .STREAM_W(STREAM_W), .DROP_BLOCKS(DROP_BLOCKS)
  ) i_capture (
      .clk, .rst(all_rst), .hold(hold != '0 || starting), .run, .up(up & ~flush), .room,
      .drop(data_drop_blocks), .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tlast, .take, .take_lost,
      .wr_valid, .wr_data, .quiet, .busy, .ev_valid, .ev_ready, .ev_drive, .ev_format, .ev_block, .next, .stat_drop,
      .stat_format
  );

  for (genvar i = 0; i < int'(N_DRIVES); i++) begin : g_lane
    db_rec_lane #(
        .STREAM_W(STREAM_W), .DATA_W(DATA_W), .FIFO_BLOCKS(FIFO_BLOCKS), .CMD_BLOCKS(WRITE_BLOCKS)
    ) i_lane (
        .clk, .rst(all_rst), .flush(flush[i]), .ld(ld[i]), .ld_next, .ld_end, .next(next[i*32+:32]), .fin(fin[i]),
        .take(take[i]), .take_lost, .wr_valid(wr_valid[i]), .wr_data, .room(room[i]), .done_valid(done_valid[i]),
        .done_blocks, .out_blocks(out_blocks[i*12+:12]), .lost_valid(lost_valid[i]),
        .lost_blocks(lost_blocks[i*12+:12]), .lost_ack(lost_ack[i]), .hold(hold[i]), .s_seq_valid(seq_valid[i]),
        .s_seq_ready(seq_ready[i]), .s_seq_kind(seq_kind), .s_seq_block(seq_block), .s_seq_blocks(seq_blocks),
        .lba_shift(lba_shift[i*4+:4]), .m_axis_cmd_tvalid(m_axis_cmd_tvalid[i]),
        .m_axis_cmd_tready(m_axis_cmd_tready[i]), .m_axis_cmd_tdata(m_axis_cmd_tdata[i*128+:128]),
        .m_axis_wdata_tvalid(m_axis_wdata_tvalid[i]), .m_axis_wdata_tready(m_axis_wdata_tready[i]),
        .m_axis_wdata_tdata(m_axis_wdata_tdata[i*DATA_W+:DATA_W])
    );
    assign lane_idle[i] = out_blocks[i*12+:12] == '0 && !m_axis_cmd_tvalid[i];
  end

  logic         rd_valid, rd_ready, rd_last, reply_valid, reply_ready, reply_last;
  logic [127:0] rd_data;
  logic [31:0]  reply_data;
  logic         adm_busy, adm_refused, adm_gone, adm_hi, adm_done;
  logic [3:0]   adm_drive, adm_queue;
  logic [15:0]  adm_cid;
  db_rec_read #(.N_DRIVES(N_DRIVES), .DATA_W(DATA_W), .FULL_BLOCK(FULL_BLOCK)) i_read (
      .clk, .rst(all_rst), .restart(read_start), .busy(read_busy), .flush, .s_axis_rdata_tvalid, .s_axis_rdata_tready,
      .s_axis_rdata_tdata, .m_axis_tvalid(rd_valid), .m_axis_tready(rd_ready), .m_axis_tdata(rd_data),
      .m_axis_tlast(rd_last)
  );
  db_rec_from_host #(.N_DRIVES(N_DRIVES)) i_fromhost (
      .clk, .rst(all_rst), .window_base, .flush, .s_axis_tvalid(s_axis_hostsend_tvalid),
      .s_axis_tready(s_axis_hostsend_tready), .s_axis_tdata(s_axis_hostsend_tdata),
      .s_axis_tkeep(s_axis_hostsend_tkeep), .s_axis_tlast(s_axis_hostsend_tlast), .m_reply_valid(reply_valid),
      .m_reply_ready(reply_ready), .m_reply_data(reply_data), .m_reply_last(reply_last), .adm_busy, .adm_refused,
      .adm_gone, .adm_drive, .adm_cid, .adm_queue, .adm_hi, .adm_done, .m_reg_valid, .m_reg_ready, .m_reg_write,
      .m_reg_addr, .m_reg_wdata, .s_reg_valid, .s_reg_rdata, .s_reg_status, .m_adm_valid, .m_adm_ready, .m_adm_data
  );
  db_rec_to_host #(.N_DRIVES(N_DRIVES), .DATA_W(DATA_W)) i_tohost (
      .clk, .rst(all_rst), .s_reply_valid(reply_valid), .s_reply_ready(reply_ready), .s_reply_data(reply_data),
      .s_reply_last(reply_last), .adm_busy, .adm_refused, .adm_gone, .adm_drive, .adm_cid, .adm_queue, .adm_hi,
      .adm_done, .s_adm_valid, .s_adm_ready, .s_adm_cqe, .s_adm_timeout, .s_fwd_valid, .s_fwd_ready, .s_fwd_addr,
      .s_fwd_data, .s_fwd_be, .s_axis_tvalid(rd_valid), .s_axis_tready(rd_ready), .s_axis_tdata(rd_data),
      .s_axis_tlast(rd_last), .m_axis_tvalid(m_axis_hostrecv_tvalid), .m_axis_tready(m_axis_hostrecv_tready),
      .m_axis_tdata(m_axis_hostrecv_tdata), .m_axis_tkeep(m_axis_hostrecv_tkeep), .m_axis_tlast(m_axis_hostrecv_tlast)
  );
endmodule
