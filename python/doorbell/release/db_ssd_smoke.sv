// SPDX-License-Identifier: Apache-2.0
// A first simulation of db_ssd: a host reads the register VS over CQ, as PG213 has its descriptors, and looks at the
// answer on CC. Prints what it has read; ends with $fatal if that is not the version of an NVMe controller.
`timescale 1ns / 1ps
module db_ssd_smoke;
  localparam int          DATA_W = 256;
  localparam logic [63:0] VS     = 64'h8;         // its offset in BAR 0
  logic clk = 1'b0, rst = 1'b1;
  always #2 clk = !clk;                           // 250 MHz

  logic [DATA_W-1:0] cq_data = '0, cc_data;
  logic [87:0]       cq_user = '0;
  logic [63:0]       time_us = '0;
  logic              cq_valid = 1'b0, cq_ready, cc_valid;
  db_ssd #(.DATA_W(DATA_W)) dut (
    .clk, .rst, .por_rst(rst), .s_axis_cq_tdata(cq_data), .s_axis_cq_tkeep(8'h0f), .s_axis_cq_tlast(1'b1),
    .s_axis_cq_tuser(cq_user), .s_axis_cq_tvalid(cq_valid), .s_axis_cq_tready(cq_ready), .m_axis_cc_tdata(cc_data),
    .m_axis_cc_tvalid(cc_valid), .m_axis_cc_tready(1'b1), .m_axis_rq_tready(1'b1), .pcie_rq_seq_num0('0),
    .pcie_rq_seq_num_vld0(1'b0), .pcie_rq_seq_num1('0), .pcie_rq_seq_num_vld1(1'b0), .s_axis_rc_tdata('0),
    .s_axis_rc_tkeep('0), .s_axis_rc_tlast(1'b0), .s_axis_rc_tuser('0), .s_axis_rc_tvalid(1'b0), .cfg_max_payload(2'd1),
    .cfg_max_read_req(3'd2), .cfg_intx_disable(1'b0), .cfg_fn_enable(1'b1), .cfg_bus_master(1'b1),
    .cfg_msix_enable(1'b0), .cfg_msix_mask(1'b0), .cfg_flr(1'b0), .m_axi_awready(1'b1), .m_axi_wready(1'b1),
    .m_axi_bid(1'b0), .m_axi_bresp('0), .m_axi_bvalid(1'b0), .m_axi_arready(1'b1), .m_axi_rid(1'b0), .m_axi_rdata('0),
    .m_axi_rresp('0), .m_axi_rlast(1'b0), .m_axi_rvalid(1'b0), .m_media_cmd_ready(1'b1), .s_media_rsp_valid(1'b0),
    .s_media_rsp_err(1'b0), .media_pages(52'd16384),
    .s_media_health('0), .s_media_warning(1'b0), .time_us);

  initial begin
    repeat (200) @(posedge clk);
    rst = 1'b0;
    repeat (2000) @(posedge clk);
    @(negedge clk);
    cq_data[63:0]    = VS;
    cq_data[74:64]   = 11'd1;                     // dwords
    cq_data[103:96]  = 8'h5a;                     // tag
    cq_data[120:115] = 6'd14;                     // aperture of BAR 0: 16 KiB
    cq_user[7:0]     = 8'h0f;                     // byte enables
    cq_user[40]      = 1'b1;                      // start of packet
    cq_valid         = 1'b1;
    do @(posedge clk); while (!cq_ready);
    @(negedge clk) cq_valid = 1'b0;
    for (int i = 0; i < 10_000 && !cc_valid; i++) @(posedge clk);
    $display("db_ssd: NVMe version %0d.%0d, tag %h", cc_data[127:112], cc_data[111:104], cc_data[71:64]);
    if (!cc_valid || cc_data[71:64] != 8'h5a || cc_data[127:112] == 16'd0) $fatal(1, "no answer, or another one");
    $finish;
  end
endmodule
