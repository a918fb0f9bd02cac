// SPDX-License-Identifier: Apache-2.0
// Recorder: a data stream striped to N SSDs and back, no processor. db_recorder_core, a db_host a drive and the
// stream's way in (db_rec_input, with BUFFER_LOG2 a buffer in memory); wiring only.
//
// Flat ports: what belongs to drive i is at [i*W +: W], its PCIe root port and, with HOST_REGS, its host's own
// registers. docs/recorder/integration.md says what to connect. Latency and throughput: see the core and the host.
module db_recorder
  import db_pcie_pkg::*, db_host_pkg::*, db_rec_pkg::*;
#(
  parameter int          N_DRIVES      = 2,             ///< 1..8
  parameter int          STREAM_W      = 256,           ///< capture stream, bits: 128, 256, 512, 1024
  parameter int          DATA_W        = 128,           ///< root ports, bits: 128, 256, 512
  parameter int          CLK_MHZ       = 250,           ///< 1..1023
  parameter int          DROP_BLOCKS   = 2,             ///< NumBlocksDrop: even, 2..254
  parameter bit          USE_CONFIGURE = 1'b1,          ///< UseConfigure: drives are brought up after reset
  parameter logic [31:0] TOTAL_BLOCKS  = 32'd0,         ///< NvmeTotalBlocks, of 4 KiB a drive; 0: the drive's size
  parameter bit          TRIM_FIRST    = 1'b0,          ///< DoTrim: value of TrimFirst after reset
  parameter bit          FULL_BLOCK    = 1'b1,          ///< SendFullBlock: packets of 4096 bytes, else 128
  parameter int          RESET_US      = 100_000,       ///< reset pulse of the Control register, 1..1000000
  parameter int          FIFO_BLOCKS   = 4,             ///< blocks of 4 KiB buffered before each host: 2, 4, 8
  parameter int          WRITE_BLOCKS  = 1,             ///< ... in the largest write, 1..4
  parameter int          READ_BLOCKS   = 8,             ///< ... read: a power of 2, 1..8192
  parameter int          TRIM_BLOCKS   = 4096,          ///< ... trim: a power of 2, 1..8192
  parameter int          NUM_CMDS      = 128,           ///< of db_host
  parameter int          NUM_QP        = 1,             ///< of db_host
  parameter int          WR_RING_BYTES = 65536,         ///< of db_host
  parameter int          RD_RING_BYTES = 65536,         ///< of db_host
  parameter bit          HOST_REGS     = 1'b0,          ///< the hosts' own registers; without: 0 is read
  parameter int          MS_CYCLES     = CLK_MHZ * 1000,  ///< of db_host
  parameter logic [15:0] SHUTDOWN_MS   = 16'd10000,     ///< of db_host
  parameter int          BUFFER_LOG2   = 0,             ///< memory on m_axi: log2 of bytes, 13..40; 0: none
  parameter longint unsigned BUFFER_BASE = 0,           ///< its address, a multiple of its size
  parameter int          BUFFER_DROP_PCT = 0,           ///< blocks are dropped from this level on, 0..99; 0: never
  localparam int         N             = N_DRIVES,
  localparam int         RQ_W          = rq_user_w(DATA_W),
  localparam int         RC_W          = rc_user_w(DATA_W),
  localparam int         CQ_W          = cq_user_w(DATA_W),
  localparam int         CC_W          = cc_user_w(DATA_W)
) (
  input  logic                  clk,
  input  logic                  rst,

  input  logic                  s_axis_tvalid,
  output logic                  s_axis_tready,
  input  logic [STREAM_W-1:0]   s_axis_tdata,
  input  logic                  s_axis_tlast,
  output logic                  data_enabled_out, ///< blocks are taken
  input  logic                  data_drop_blocks, ///< throw DROP_BLOCKS away at the end of a block
  /// Packets of 128 bits a cycle, tkeep a bit a dword.
  input  logic                  s_axis_hostsend_tvalid,
  output logic                  s_axis_hostsend_tready,
  input  logic [127:0]          s_axis_hostsend_tdata,
  input  logic [3:0]            s_axis_hostsend_tkeep,
  input  logic                  s_axis_hostsend_tlast,
  output logic                  m_axis_hostrecv_tvalid,
  input  logic                  m_axis_hostrecv_tready,
  output logic [127:0]          m_axis_hostrecv_tdata,
  output logic [3:0]            m_axis_hostrecv_tkeep,
  output logic                  m_axis_hostrecv_tlast,

  input  logic                  s_axil_awvalid,
  output logic                  s_axil_awready,
  input  logic [15:0]           s_axil_awaddr,
  input  logic [2:0]            s_axil_awprot,
  input  logic                  s_axil_wvalid,
  output logic                  s_axil_wready,
  input  logic [31:0]           s_axil_wdata,
  input  logic [3:0]            s_axil_wstrb,
  output logic                  s_axil_bvalid,
  input  logic                  s_axil_bready,
  output logic [1:0]            s_axil_bresp,
  input  logic                  s_axil_arvalid,
  output logic                  s_axil_arready,
  input  logic [15:0]           s_axil_araddr,
  input  logic [2:0]            s_axil_arprot,
  output logic                  s_axil_rvalid,
  input  logic                  s_axil_rready,
  output logic [31:0]           s_axil_rdata,
  output logic [1:0]            s_axil_rresp,

  output logic [N-1:0]          drive_rst,        ///< to reset pins of drives (nvme_reset_n, inverted) and hard blocks
  input  logic [N-1:0]          phy_ready,
  input  logic [N-1:0]          link_up,
  input  logic [N*3-1:0]        cfg_mps_cap,
  output logic [N*3-1:0]        set_mps,
  output logic [N*3-1:0]        set_mrrs,
  input  logic [N*64-1:0]       window_base,      ///< where each drive sees its host: 64 MiB
  input  logic [N*64-1:0]       bar_base,         ///< where each drive's BAR 0 goes
  output logic [N*DATA_W-1:0]   m_axis_rq_tdata,
  output logic [N*DATA_W/32-1:0] m_axis_rq_tkeep,
  output logic [N-1:0]          m_axis_rq_tlast,
  output logic [N*RQ_W-1:0]     m_axis_rq_tuser,
  output logic [N-1:0]          m_axis_rq_tvalid,
  input  logic [N-1:0]          m_axis_rq_tready,
  input  logic [N*DATA_W-1:0]   s_axis_rc_tdata,
  input  logic [N*DATA_W/32-1:0] s_axis_rc_tkeep,
  input  logic [N-1:0]          s_axis_rc_tlast,
  input  logic [N*RC_W-1:0]     s_axis_rc_tuser,
  input  logic [N-1:0]          s_axis_rc_tvalid,
  output logic [N-1:0]          s_axis_rc_tready,
  input  logic [N*DATA_W-1:0]   s_axis_cq_tdata,
  input  logic [N*DATA_W/32-1:0] s_axis_cq_tkeep,
  input  logic [N-1:0]          s_axis_cq_tlast,
  input  logic [N*CQ_W-1:0]     s_axis_cq_tuser,
  input  logic [N-1:0]          s_axis_cq_tvalid,
  output logic [N-1:0]          s_axis_cq_tready,
  output logic [N*2-1:0]        pcie_cq_np_req,
  output logic [N*DATA_W-1:0]   m_axis_cc_tdata,
  output logic [N*DATA_W/32-1:0] m_axis_cc_tkeep,
  output logic [N-1:0]          m_axis_cc_tlast,
  output logic [N*CC_W-1:0]     m_axis_cc_tuser,
  output logic [N-1:0]          m_axis_cc_tvalid,
  input  logic [N-1:0]          m_axis_cc_tready,

  /// The hosts' own registers, if HOST_REGS.
  input  logic [N-1:0]          s_axil_host_awvalid,
  output logic [N-1:0]          s_axil_host_awready,
  input  logic [N*16-1:0]       s_axil_host_awaddr,
  input  logic [N-1:0]          s_axil_host_wvalid,
  output logic [N-1:0]          s_axil_host_wready,
  input  logic [N*32-1:0]       s_axil_host_wdata,
  input  logic [N*4-1:0]        s_axil_host_wstrb,
  output logic [N-1:0]          s_axil_host_bvalid,
  input  logic [N-1:0]          s_axil_host_bready,
  output logic [N*2-1:0]        s_axil_host_bresp,
  input  logic [N-1:0]          s_axil_host_arvalid,
  output logic [N-1:0]          s_axil_host_arready,
  input  logic [N*16-1:0]       s_axil_host_araddr,
  output logic [N-1:0]          s_axil_host_rvalid,
  input  logic [N-1:0]          s_axil_host_rready,
  output logic [N*32-1:0]       s_axil_host_rdata,
  output logic [N*2-1:0]        s_axil_host_rresp,

  /// The buffer's memory, if BUFFER_LOG2.
  output logic                  m_axi_awid,
  output logic [39:0]           m_axi_awaddr,
  output logic [7:0]            m_axi_awlen,
  output logic [2:0]            m_axi_awsize,
  output logic [1:0]            m_axi_awburst,
  output logic                  m_axi_awvalid,
  input  logic                  m_axi_awready,
  output logic [STREAM_W-1:0]   m_axi_wdata,
  output logic [STREAM_W/8-1:0] m_axi_wstrb,
  output logic                  m_axi_wlast,
  output logic                  m_axi_wvalid,
  input  logic                  m_axi_wready,
  input  logic                  m_axi_bid,
  input  logic [1:0]            m_axi_bresp,
  input  logic                  m_axi_bvalid,
  output logic                  m_axi_bready,
  output logic                  m_axi_arid,
  output logic [39:0]           m_axi_araddr,
  output logic [7:0]            m_axi_arlen,
  output logic [2:0]            m_axi_arsize,
  output logic [1:0]            m_axi_arburst,
  output logic                  m_axi_arvalid,
  input  logic                  m_axi_arready,
  input  logic                  m_axi_rid,
  input  logic [STREAM_W-1:0]   m_axi_rdata,
  input  logic [1:0]            m_axi_rresp,
  input  logic                  m_axi_rlast,
  input  logic                  m_axi_rvalid,
  output logic                  m_axi_rready,

  output logic [N-1:0]          up,
  output logic [N-1:0]          dead,
  output logic                  idle,             ///< nothing will change until an input does, or a tick comes
  output logic [N-1:0]          stat_doorbell,    ///< pulse: a submission doorbell has left
  output logic [N-1:0]          stat_cqe          ///< pulse: a completion entry has come
);
  logic                              core_idle, input_idle;
  logic          [N-1:0]             host_idle;
  assign idle = core_idle && &host_idle && input_idle;

  // ---- the stream
  logic                              take_tvalid, take_tready, take_tlast, taking, drop, any_capturing, any_enable;
  logic          [STREAM_W-1:0]      take_tdata;
  buffer_state_t                     buffer;
  db_rec_input #(
    .STREAM_W(STREAM_W), .BUFFER_LOG2(BUFFER_LOG2), .BUFFER_BASE(BUFFER_BASE), .BUFFER_DROP_PCT(BUFFER_DROP_PCT)
  ) i_input (
    .clk, .rst, .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tlast, .data_enabled_out, .data_drop_blocks,
    .m_axis_tvalid(take_tvalid), .m_axis_tready(take_tready), .m_axis_tdata(take_tdata), .m_axis_tlast(take_tlast),
    .taking, .drop, .any_capturing, .any_enable, .buffer, .idle(input_idle),
    .m_axi_awid, .m_axi_awaddr, .m_axi_awlen, .m_axi_awsize, .m_axi_awburst, .m_axi_awvalid, .m_axi_awready,
    .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready, .m_axi_bid, .m_axi_bresp,
    .m_axi_bvalid, .m_axi_bready, .m_axi_arid, .m_axi_araddr, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst,
    .m_axi_arvalid, .m_axi_arready, .m_axi_rid, .m_axi_rdata, .m_axi_rresp, .m_axi_rlast, .m_axi_rvalid,
    .m_axi_rready
  );

  // ---- flat ports and structs
  packet_t   s_packet, m_packet;
  axil_req_t axil_req;
  axil_rsp_t axil_rsp;
  assign s_packet = '{last: s_axis_hostsend_tlast, keep: s_axis_hostsend_tkeep, data: s_axis_hostsend_tdata};
  assign {m_axis_hostrecv_tlast, m_axis_hostrecv_tkeep, m_axis_hostrecv_tdata} = m_packet;
  assign axil_req = '{awvalid: s_axil_awvalid, awaddr: s_axil_awaddr, wvalid: s_axil_wvalid, wdata: s_axil_wdata,
                      bready: s_axil_bready, arvalid: s_axil_arvalid, araddr: s_axil_araddr, rready: s_axil_rready};
  assign {s_axil_awready, s_axil_wready, s_axil_bvalid, s_axil_arready, s_axil_rvalid, s_axil_rdata} = axil_rsp;
  assign {s_axil_bresp, s_axil_rresp} = '0;

  // ---- the core
  host_state_t   [N-1:0]               hosts;
  logic          [N-1:0]               shutdown, shut_down, shutdown_failed;
  logic          [N-1:0]               cmd_valid, cmd_ready, wdata_valid, wdata_ready, rdata_valid, rdata_ready;
  logic          [N-1:0]               status_valid, status_ready, admin_valid, admin_ready, cqe_valid, cqe_ready;
  logic          [N-1:0]               reg_valid, reg_ready, answer_valid, forward_valid, forward_ready;
  block_cmd_t    [N-1:0]               cmd;
  block_status_t [N-1:0]               status;
  admin_answer_t [N-1:0]               cqe;
  drive_answer_t [N-1:0]               answer;
  drive_access_t                       drive_access;
  logic          [31:0]                admin_data;
  logic          [N-1:0][DATA_W-1:0]   wdata, rdata, forward_data;
  logic          [N-1:0][22:0]         forward_addr;
  logic          [N-1:0][DATA_W/8-1:0] forward_be;
  db_recorder_core #(
    .N_DRIVES(N_DRIVES), .STREAM_W(STREAM_W), .DATA_W(DATA_W), .CLK_MHZ(CLK_MHZ), .DROP_BLOCKS(DROP_BLOCKS),
    .USE_CONFIGURE(USE_CONFIGURE), .TOTAL_BLOCKS(TOTAL_BLOCKS), .TRIM_FIRST(TRIM_FIRST), .FULL_BLOCK(FULL_BLOCK),
    .RESET_US(RESET_US), .FIFO_BLOCKS(FIFO_BLOCKS), .WRITE_BLOCKS(WRITE_BLOCKS), .READ_BLOCKS(READ_BLOCKS),
    .TRIM_BLOCKS(TRIM_BLOCKS)
  ) i_core (
    .clk, .rst, .s_axis_tvalid(take_tvalid), .s_axis_tready(take_tready), .s_axis_tdata(take_tdata),
    .s_axis_tlast(take_tlast), .data_enabled_out(taking), .data_drop_blocks(drop), .any_capturing, .any_enable,
    .buffer, .s_packet_valid(s_axis_hostsend_tvalid), .s_packet_ready(s_axis_hostsend_tready), .s_packet,
    .m_packet_valid(m_axis_hostrecv_tvalid), .m_packet_ready(m_axis_hostrecv_tready), .m_packet, .axil_req,
    .axil_rsp, .drive_rst, .shutdown, .hosts, .m_cmd_valid(cmd_valid), .m_cmd_ready(cmd_ready), .m_cmd(cmd),
    .m_row_valid(wdata_valid), .m_row_ready(wdata_ready), .m_row_data(wdata), .s_row_valid(rdata_valid),
    .s_row_ready(rdata_ready), .s_row_data(rdata), .s_status_valid(status_valid), .s_status_ready(status_ready),
    .s_status(status), .m_admin_valid(admin_valid), .m_admin_ready(admin_ready), .m_admin_data(admin_data),
    .s_admin_valid(cqe_valid), .s_admin_ready(cqe_ready), .s_admin(cqe), .m_reg_valid(reg_valid),
    .m_reg_ready(reg_ready), .m_reg(drive_access), .s_reg_valid(answer_valid), .s_reg(answer),
    .s_forward_valid(forward_valid), .s_forward_ready(forward_ready), .s_forward_addr(forward_addr),
    .s_forward_data(forward_data), .s_forward_be(forward_be), .idle(core_idle)
  );

  // ---- the hosts
  for (genvar i = 0; i < N; i++) begin : g_host
    assign hosts[i].phy_ready   = phy_ready[i];
    assign hosts[i].link_up     = link_up[i];
    assign hosts[i].up          = up[i];
    assign hosts[i].dead        = dead[i];
    assign hosts[i].shut_down       = shut_down[i];
    assign hosts[i].shutdown_failed = shutdown_failed[i];
    assign hosts[i].window_base = window_base[i*64+:64];
    db_host #(
      .DATA_W(DATA_W), .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP), .WR_RING_BYTES(WR_RING_BYTES),
      .RD_RING_BYTES(RD_RING_BYTES), .CLK_MHZ(CLK_MHZ), .MS_CYCLES(MS_CYCLES), .AUTO_START(1'b1), .REGS(HOST_REGS),
      .SHUTDOWN_MS(SHUTDOWN_MS)
    ) i_host (
      .clk, .rst(rst || drive_rst[i]), .link_up(link_up[i]), .cfg_mps_cap(cfg_mps_cap[i*3+:3]),
      .set_mps(set_mps[i*3+:3]), .set_mrrs(set_mrrs[i*3+:3]), .window_base(window_base[i*64+:64]),
      .bar_base(bar_base[i*64+:64]),
      .m_axis_rq_tdata(m_axis_rq_tdata[i*DATA_W+:DATA_W]), .m_axis_rq_tkeep(m_axis_rq_tkeep[i*DATA_W/32+:DATA_W/32]),
      .m_axis_rq_tlast(m_axis_rq_tlast[i]), .m_axis_rq_tuser(m_axis_rq_tuser[i*RQ_W+:RQ_W]),
      .m_axis_rq_tvalid(m_axis_rq_tvalid[i]), .m_axis_rq_tready(m_axis_rq_tready[i]),
      .s_axis_rc_tdata(s_axis_rc_tdata[i*DATA_W+:DATA_W]), .s_axis_rc_tkeep(s_axis_rc_tkeep[i*DATA_W/32+:DATA_W/32]),
      .s_axis_rc_tlast(s_axis_rc_tlast[i]), .s_axis_rc_tuser(s_axis_rc_tuser[i*RC_W+:RC_W]),
      .s_axis_rc_tvalid(s_axis_rc_tvalid[i]), .s_axis_rc_tready(s_axis_rc_tready[i]),
      .s_axis_cq_tdata(s_axis_cq_tdata[i*DATA_W+:DATA_W]), .s_axis_cq_tkeep(s_axis_cq_tkeep[i*DATA_W/32+:DATA_W/32]),
      .s_axis_cq_tlast(s_axis_cq_tlast[i]), .s_axis_cq_tuser(s_axis_cq_tuser[i*CQ_W+:CQ_W]),
      .s_axis_cq_tvalid(s_axis_cq_tvalid[i]), .s_axis_cq_tready(s_axis_cq_tready[i]),
      .pcie_cq_np_req(pcie_cq_np_req[i*2+:2]),
      .m_axis_cc_tdata(m_axis_cc_tdata[i*DATA_W+:DATA_W]), .m_axis_cc_tkeep(m_axis_cc_tkeep[i*DATA_W/32+:DATA_W/32]),
      .m_axis_cc_tlast(m_axis_cc_tlast[i]), .m_axis_cc_tuser(m_axis_cc_tuser[i*CC_W+:CC_W]),
      .m_axis_cc_tvalid(m_axis_cc_tvalid[i]), .m_axis_cc_tready(m_axis_cc_tready[i]),
      .s_axil_awvalid(s_axil_host_awvalid[i]), .s_axil_awready(s_axil_host_awready[i]),
      .s_axil_awaddr(s_axil_host_awaddr[i*16+:16]), .s_axil_awprot(3'd0), .s_axil_wvalid(s_axil_host_wvalid[i]),
      .s_axil_wready(s_axil_host_wready[i]), .s_axil_wdata(s_axil_host_wdata[i*32+:32]),
      .s_axil_wstrb(s_axil_host_wstrb[i*4+:4]), .s_axil_bvalid(s_axil_host_bvalid[i]),
      .s_axil_bready(s_axil_host_bready[i]), .s_axil_bresp(s_axil_host_bresp[i*2+:2]),
      .s_axil_arvalid(s_axil_host_arvalid[i]), .s_axil_arready(s_axil_host_arready[i]),
      .s_axil_araddr(s_axil_host_araddr[i*16+:16]), .s_axil_arprot(3'd0), .s_axil_rvalid(s_axil_host_rvalid[i]),
      .s_axil_rready(s_axil_host_rready[i]), .s_axil_rdata(s_axil_host_rdata[i*32+:32]),
      .s_axil_rresp(s_axil_host_rresp[i*2+:2]),
      .s_axis_cmd_tdata(cmd[i]), .s_axis_cmd_tvalid(cmd_valid[i]), .s_axis_cmd_tready(cmd_ready[i]),
      .s_axis_wdata_tdata(wdata[i]), .s_axis_wdata_tvalid(wdata_valid[i]),
      .s_axis_wdata_tready(wdata_ready[i]), .m_axis_rdata_tdata(rdata[i]),
      .m_axis_rdata_tvalid(rdata_valid[i]), .m_axis_rdata_tready(rdata_ready[i]), .m_axis_rdata_tlast(),
      .m_axis_rdata_tuser(), .m_axis_status_tdata(status[i]), .m_axis_status_tvalid(status_valid[i]),
      .m_axis_status_tready(status_ready[i]), .s_adm_valid(admin_valid[i]), .s_adm_ready(admin_ready[i]),
      .s_adm_data(admin_data), .m_adm_valid(cqe_valid[i]), .m_adm_ready(cqe_ready[i]),
      .m_adm_cqe(cqe[i].cqe), .m_adm_timeout(cqe[i].timeout), .s_reg_valid(reg_valid[i]),
      .s_reg_ready(reg_ready[i]), .s_reg_write(drive_access.write), .s_reg_addr(drive_access.addr),
      .s_reg_wdata(drive_access.wdata),
      .m_reg_valid(answer_valid[i]), .m_reg_rdata(answer[i].rdata), .m_reg_status(answer[i].status),
      .m_fwd_valid(forward_valid[i]), .m_fwd_ready(forward_ready[i]), .m_fwd_addr(forward_addr[i]),
      .m_fwd_data(forward_data[i]), .m_fwd_be(forward_be[i]), .up(up[i]), .dead(dead[i]),
      .shutdown(shutdown[i]), .shut_down(shut_down[i]), .shutdown_failed(shutdown_failed[i]),
      .blocks(hosts[i].blocks), .lba_shift(hosts[i].lba_shift), .idle(host_idle[i]),
      .stat_doorbell(stat_doorbell[i]), .stat_cqe(stat_cqe[i])
    );
  end
endmodule
