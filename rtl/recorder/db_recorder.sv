// SPDX-License-Identifier: Apache-2.0
// Recorder: a data stream striped to N SSDs and back, no processor. db_recorder_core and a db_host a drive, with
// BUFFER_LG a db_rec_buffer before the stream; no logic.
//
// The capture stream, DUNE's packet streams and registers are those of db_recorder_core (docs/recorder.md); each host
// has its PCIe root port and its own registers, flattened: drive i at [i*W +: W]. drive_rst goes to the drives' reset
// pins (nvme_reset_n, inverted). Latency and throughput: see the core and the host.
module db_recorder
  import db_pcie_pkg::*;
#(
    parameter int unsigned N_DRIVES      = 2,
    parameter int unsigned STREAM_W      = 256,
    parameter int unsigned DATA_W        = 128,
    parameter int unsigned CLK_MHZ       = 250,
    parameter int unsigned DROP_BLOCKS   = 2,
    parameter bit          USE_CONFIGURE = 1'b1,
    parameter logic [31:0] TOTAL_BLOCKS  = 32'd0,
    parameter bit          TRIM_FIRST    = 1'b0,
    parameter bit          FULL_BLOCK    = 1'b1,
    parameter int unsigned RESET_US      = 100_000,
    parameter int unsigned FIFO_BLOCKS   = 4,
    parameter int unsigned WRITE_BLOCKS  = 1,
    parameter int unsigned READ_BLOCKS   = 8,
    parameter int unsigned TRIM_BLOCKS   = 4096,
    parameter int unsigned NUM_CMDS      = 128,             // of db_host
    parameter int unsigned NUM_QP        = 1,
    parameter int unsigned WR_RING_BYTES = 65536,
    parameter int unsigned RD_RING_BYTES = 65536,
    parameter bit          HOST_REGS     = 1'b0,            // the hosts' own registers; without: 0 is read
    parameter int unsigned MS_CYCLES     = CLK_MHZ * 1000,
    parameter int unsigned BUFFER_LG     = 0,               // memory on m_axi before the stream: 2^.. bytes; 0: none
    parameter longint unsigned BUFFER_BASE = 0,             // its address, a multiple of its size
    parameter int unsigned BUFFER_DROP_PCT = 0,             // blocks are dropped from this level on; 0: never
    localparam int unsigned N            = N_DRIVES,
    localparam int unsigned RQ_W         = rq_user_w(DATA_W),
    localparam int unsigned RC_W         = rc_user_w(DATA_W),
    localparam int unsigned CQ_W         = cq_user_w(DATA_W),
    localparam int unsigned CC_W         = cc_user_w(DATA_W)
) (
    input  logic                  clk,
    input  logic                  rst,

    input  logic                  s_axis_tvalid,
    output logic                  s_axis_tready,
    input  logic [STREAM_W-1:0]   s_axis_tdata,
    input  logic                  s_axis_tlast,
    output logic                  data_enabled_out,
    input  logic                  data_drop_blocks,
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

    output logic [N-1:0]          drive_rst,
    input  logic [N-1:0]          phy_ready,
    input  logic [N-1:0]          link_up,
    input  logic [N*3-1:0]        cfg_mps_cap,
    output logic [N*3-1:0]        set_mps,
    output logic [N*3-1:0]        set_mrrs,
    input  logic [N*64-1:0]       window_base,
    input  logic [N*64-1:0]       bar_base,
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

    // the hosts' own registers, if HOST_REGS
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

    // the buffer's memory, if BUFFER_LG
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
    output logic                  idle,           // nothing will change until an input does, or a tick comes
    output logic [N-1:0]          stat_doorbell,  // pulses
    output logic [N-1:0]          stat_cqe
);
  logic [N*64-1:0]       blocks, status_tdata;
  logic [N*4-1:0]        lba_shift;
  logic [N*128-1:0]      cmd_tdata, adm_cqe;
  logic [N*DATA_W-1:0]   wdata_tdata, rdata_tdata, fwd_data;
  logic [N-1:0]          cmd_tvalid, cmd_tready, wdata_tvalid, wdata_tready, rdata_tvalid, rdata_tready, status_tvalid;
  logic [N-1:0]          status_tready, adm_valid, adm_ready, ans_valid, ans_ready, adm_timeout, reg_valid, reg_ready;
  logic [N-1:0]          reg_ans_valid, fwd_valid, fwd_ready, host_idle;
  logic [N*32-1:0]       reg_rdata;
  logic [N*2-1:0]        reg_status;
  logic [N*23-1:0]       fwd_addr;
  logic [N*DATA_W/8-1:0] fwd_be;
  logic [31:0]           adm_data, reg_wdata;
  logic [23:0]           reg_addr;
  logic                  reg_write, core_idle;
  logic                  take_tvalid, take_tready, take_tlast, taking, drop, any_capturing, any_enable;
  logic                  buffer_busy, buffer_bad_last, buffer_error, buffer_idle;
  logic [STREAM_W-1:0]   take_tdata;
  logic [28:0]           buffer_blocks;
  assign idle = core_idle && &host_idle && buffer_idle;

  if (BUFFER_DROP_PCT > 99 || (BUFFER_LG != 0 && (BUFFER_LG < 13 || BUFFER_LG > 40))) begin : g_bad
    $error("%m: BUFFER_LG must be 0 or 13..40, BUFFER_DROP_PCT 0..99");
  end
  if (BUFFER_LG != 0) begin : g_buffer
    localparam longint unsigned BYTES = 64'd1 << BUFFER_LG;
    logic full;
    assign drop = data_drop_blocks || full;
    db_rec_buffer #(
        .STREAM_W(STREAM_W), .BYTES(BYTES), .BASE(BUFFER_BASE), .DROP_BYTES(BYTES * 64'(BUFFER_DROP_PCT) / 64'd100),
        .ADDR_W(40)
    ) i_buffer (
        .clk, .rst, .capturing(any_capturing), .enable(any_enable), .taking, .busy(buffer_busy), .drop(full),
        .blocks(buffer_blocks), .error(buffer_error), .bad_last(buffer_bad_last), .idle(buffer_idle), .s_axis_tvalid,
        .s_axis_tready, .s_axis_tdata, .s_axis_tlast, .data_enabled_out, .m_axis_tvalid(take_tvalid),
        .m_axis_tready(take_tready), .m_axis_tdata(take_tdata), .m_axis_tlast(take_tlast), .m_axi_awid, .m_axi_awaddr,
        .m_axi_awlen, .m_axi_awsize, .m_axi_awburst, .m_axi_awvalid, .m_axi_awready, .m_axi_wdata, .m_axi_wstrb,
        .m_axi_wlast, .m_axi_wvalid, .m_axi_wready, .m_axi_bid, .m_axi_bresp, .m_axi_bvalid, .m_axi_bready, .m_axi_arid,
        .m_axi_araddr, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst, .m_axi_arvalid, .m_axi_arready, .m_axi_rid,
        .m_axi_rdata, .m_axi_rresp, .m_axi_rlast, .m_axi_rvalid, .m_axi_rready
    );
  end else begin : g_direct
    assign take_tvalid      = s_axis_tvalid;
    assign s_axis_tready    = take_tready;
    assign take_tdata       = s_axis_tdata;
    assign take_tlast       = s_axis_tlast;
    assign data_enabled_out = taking;
    assign drop             = data_drop_blocks;
    assign {buffer_busy, buffer_blocks, buffer_bad_last, buffer_error} = '0;
    assign buffer_idle      = 1'b1;
    assign {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst, m_axi_awvalid} = '0;
    assign {m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_wvalid, m_axi_bready} = '0;
    assign {m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_arvalid, m_axi_rready} = '0;
    logic unused_ok;
    assign unused_ok = &{1'b0, any_capturing, any_enable, m_axi_awready, m_axi_wready, m_axi_bid, m_axi_bresp,
                         m_axi_bvalid, m_axi_arready, m_axi_rid, m_axi_rdata, m_axi_rresp, m_axi_rlast, m_axi_rvalid};
  end

  db_recorder_core #(
      .N_DRIVES(N_DRIVES), .STREAM_W(STREAM_W), .DATA_W(DATA_W), .CLK_MHZ(CLK_MHZ), .DROP_BLOCKS(DROP_BLOCKS),
      .USE_CONFIGURE(USE_CONFIGURE), .TOTAL_BLOCKS(TOTAL_BLOCKS), .TRIM_FIRST(TRIM_FIRST), .FULL_BLOCK(FULL_BLOCK),
      .RESET_US(RESET_US), .FIFO_BLOCKS(FIFO_BLOCKS), .WRITE_BLOCKS(WRITE_BLOCKS), .READ_BLOCKS(READ_BLOCKS),
      .TRIM_BLOCKS(TRIM_BLOCKS)
  ) i_core (
      .clk, .rst, .s_axis_tvalid(take_tvalid), .s_axis_tready(take_tready), .s_axis_tdata(take_tdata),
      .s_axis_tlast(take_tlast), .data_enabled_out(taking), .data_drop_blocks(drop), .any_capturing, .any_enable,
      .buffer_busy, .buffer_blocks, .buffer_bad_last, .buffer_error,
      .s_axis_hostsend_tvalid, .s_axis_hostsend_tready, .s_axis_hostsend_tdata, .s_axis_hostsend_tkeep,
      .s_axis_hostsend_tlast, .m_axis_hostrecv_tvalid, .m_axis_hostrecv_tready, .m_axis_hostrecv_tdata,
      .m_axis_hostrecv_tkeep, .m_axis_hostrecv_tlast, .s_axil_awvalid, .s_axil_awready, .s_axil_awaddr,
      .s_axil_awprot, .s_axil_wvalid, .s_axil_wready, .s_axil_wdata, .s_axil_wstrb, .s_axil_bvalid, .s_axil_bready,
      .s_axil_bresp, .s_axil_arvalid, .s_axil_arready, .s_axil_araddr, .s_axil_arprot, .s_axil_rvalid,
      .s_axil_rready, .s_axil_rdata, .s_axil_rresp, .drive_rst, .phy_ready, .link_up, .up, .dead, .blocks, .lba_shift,
      .window_base, .m_axis_cmd_tdata(cmd_tdata), .m_axis_cmd_tvalid(cmd_tvalid), .m_axis_cmd_tready(cmd_tready),
      .m_axis_wdata_tdata(wdata_tdata), .m_axis_wdata_tvalid(wdata_tvalid), .m_axis_wdata_tready(wdata_tready),
      .s_axis_rdata_tdata(rdata_tdata), .s_axis_rdata_tvalid(rdata_tvalid), .s_axis_rdata_tready(rdata_tready),
      .s_axis_status_tdata(status_tdata), .s_axis_status_tvalid(status_tvalid), .s_axis_status_tready(status_tready),
      .m_adm_valid(adm_valid), .m_adm_ready(adm_ready), .m_adm_data(adm_data), .s_adm_valid(ans_valid),
      .s_adm_ready(ans_ready), .s_adm_cqe(adm_cqe), .s_adm_timeout(adm_timeout), .m_reg_valid(reg_valid),
      .m_reg_ready(reg_ready), .m_reg_write(reg_write), .m_reg_addr(reg_addr), .m_reg_wdata(reg_wdata),
      .s_reg_valid(reg_ans_valid), .s_reg_rdata(reg_rdata), .s_reg_status(reg_status), .s_fwd_valid(fwd_valid),
      .s_fwd_ready(fwd_ready), .s_fwd_addr(fwd_addr), .s_fwd_data(fwd_data), .s_fwd_be(fwd_be), .idle(core_idle)
  );

  for (genvar i = 0; i < int'(N); i++) begin : g_host
    db_host #(
        .DATA_W(DATA_W), .NUM_CMDS(NUM_CMDS), .NUM_QP(NUM_QP), .WR_RING_BYTES(WR_RING_BYTES),
        .RD_RING_BYTES(RD_RING_BYTES), .CLK_MHZ(CLK_MHZ), .MS_CYCLES(MS_CYCLES), .AUTO_START(1'b1), .REGS(HOST_REGS)
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
        .s_axis_cmd_tdata(cmd_tdata[i*128+:128]), .s_axis_cmd_tvalid(cmd_tvalid[i]), .s_axis_cmd_tready(cmd_tready[i]),
        .s_axis_wdata_tdata(wdata_tdata[i*DATA_W+:DATA_W]), .s_axis_wdata_tvalid(wdata_tvalid[i]),
        .s_axis_wdata_tready(wdata_tready[i]), .m_axis_rdata_tdata(rdata_tdata[i*DATA_W+:DATA_W]),
        .m_axis_rdata_tvalid(rdata_tvalid[i]), .m_axis_rdata_tready(rdata_tready[i]), .m_axis_rdata_tlast(),
        .m_axis_rdata_tuser(), .m_axis_status_tdata(status_tdata[i*64+:64]), .m_axis_status_tvalid(status_tvalid[i]),
        .m_axis_status_tready(status_tready[i]), .s_adm_valid(adm_valid[i]), .s_adm_ready(adm_ready[i]),
        .s_adm_data(adm_data), .m_adm_valid(ans_valid[i]), .m_adm_ready(ans_ready[i]),
        .m_adm_cqe(adm_cqe[i*128+:128]), .m_adm_timeout(adm_timeout[i]), .s_reg_valid(reg_valid[i]),
        .s_reg_ready(reg_ready[i]), .s_reg_write(reg_write), .s_reg_addr(reg_addr), .s_reg_wdata(reg_wdata),
        .m_reg_valid(reg_ans_valid[i]), .m_reg_rdata(reg_rdata[i*32+:32]), .m_reg_status(reg_status[i*2+:2]),
        .m_fwd_valid(fwd_valid[i]), .m_fwd_ready(fwd_ready[i]), .m_fwd_addr(fwd_addr[i*23+:23]),
        .m_fwd_data(fwd_data[i*DATA_W+:DATA_W]), .m_fwd_be(fwd_be[i*DATA_W/8+:DATA_W/8]), .up(up[i]), .dead(dead[i]),
        .blocks(blocks[i*64+:64]), .lba_shift(lba_shift[i*4+:4]), .idle(host_idle[i]),
        .stat_doorbell(stat_doorbell[i]), .stat_cqe(stat_cqe[i])
    );
  end
endmodule
