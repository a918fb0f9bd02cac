// SPDX-License-Identifier: Apache-2.0
// db_ssd on AMD's Alveo U50: PCIe Gen4 x8 (pcie4c_uscale_plus, 512 bits, 250 MHz), media in 8 GiB of HBM. Wiring only.
//
//   edge connector <-> pcie4c_uscale_plus_0 <-> db_board_ssd <-> db_board_lanes <-> hbm_0, ports 00 (stack 0) and 16 (stack 1)
//                      all in user_clk, 250 MHz: two ports of 256 bits take a row of 512 bits a cycle
//
// What each light says, and what to do if it does not: docs/boards.md.
module db_u50 (
  input  logic       pcie_refclk_p,
  input  logic       pcie_refclk_n,
  input  logic       pcie_reset_n,
  input  logic [7:0] pcie_rx_p,
  input  logic [7:0] pcie_rx_n,
  output logic [7:0] pcie_tx_p,
  output logic [7:0] pcie_tx_n,
  input  logic       clk_100mhz_p,
  input  logic       clk_100mhz_n,
  output logic       hbm_cattrip,     ///< to the card's satellite controller: too hot
  output logic [2:0] led              ///< 0 link, 1 controller out of reset (its memory is ready), 2 completions
);
  localparam int DATA_W = 512;
  localparam int ADDR_W = 33;
`include "db_board_wires.svh"

  // ---- PCIe
  logic sys_clk, sys_clk_gt;
  IBUFDS_GTE4 #(.REFCLK_HROW_CK_SEL(2'b00)) i_refclk (
    .I(pcie_refclk_p), .IB(pcie_refclk_n), .CEB(1'b0), .O(sys_clk_gt), .ODIV2(sys_clk));
  pcie4c_uscale_plus_0 i_pcie (
`include "db_board_pcie.svh"
  );

  // ---- the controller
  db_board_ssd #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .CLK_MHZ(250)) i_board (
    .m_axis_cc_tready(cc_tready[0]), .m_axis_rq_tready(rq_tready[0]), .running(led[1]), .active(led[2]), .*);

  // ---- the memory: lane 0 in stack 0 (the lower half of its addresses), lane 1 in stack 1
  logic [1:0][ADDR_W-2:0]    lane_awaddr, lane_araddr;
  logic [1:0][3:0]           lane_awlen, lane_arlen;
  logic [1:0][DATA_W/2-1:0]  lane_wdata, lane_rdata;
  logic [1:0][DATA_W/16-1:0] lane_wstrb;
  logic [1:0][1:0]           lane_bresp, lane_rresp;
  logic [1:0]                lane_awvalid, lane_awready, lane_wlast, lane_wvalid, lane_wready, lane_bvalid, lane_bready,
                             lane_arvalid, lane_arready, lane_rlast, lane_rvalid, lane_rready, hot, ready;
  logic                      clk_100mhz, hbm_clk;
  db_board_lanes #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_lanes (
    .clk(user_clk), .rst(memory_rst), .s_axi_awid(m_axi_awid), .s_axi_awaddr(m_axi_awaddr), .s_axi_awlen(m_axi_awlen),
    .s_axi_awvalid(m_axi_awvalid), .s_axi_awready(m_axi_awready), .s_axi_wdata(m_axi_wdata),
    .s_axi_wstrb(m_axi_wstrb), .s_axi_wlast(m_axi_wlast), .s_axi_wvalid(m_axi_wvalid), .s_axi_wready(m_axi_wready),
    .s_axi_bid(m_axi_bid), .s_axi_bresp(m_axi_bresp), .s_axi_bvalid(m_axi_bvalid), .s_axi_bready(m_axi_bready),
    .s_axi_arid(m_axi_arid), .s_axi_araddr(m_axi_araddr), .s_axi_arlen(m_axi_arlen), .s_axi_arvalid(m_axi_arvalid),
    .s_axi_arready(m_axi_arready), .s_axi_rid(m_axi_rid), .s_axi_rdata(m_axi_rdata), .s_axi_rresp(m_axi_rresp),
    .s_axi_rlast(m_axi_rlast), .s_axi_rvalid(m_axi_rvalid), .s_axi_rready(m_axi_rready), .m_axi_awaddr(lane_awaddr),
    .m_axi_awlen(lane_awlen), .m_axi_awvalid(lane_awvalid), .m_axi_awready(lane_awready), .m_axi_wdata(lane_wdata),
    .m_axi_wstrb(lane_wstrb), .m_axi_wlast(lane_wlast), .m_axi_wvalid(lane_wvalid), .m_axi_wready(lane_wready),
    .m_axi_bresp(lane_bresp), .m_axi_bvalid(lane_bvalid), .m_axi_bready(lane_bready), .m_axi_araddr(lane_araddr),
    .m_axi_arlen(lane_arlen), .m_axi_arvalid(lane_arvalid), .m_axi_arready(lane_arready), .m_axi_rdata(lane_rdata),
    .m_axi_rresp(lane_rresp), .m_axi_rlast(lane_rlast), .m_axi_rvalid(lane_rvalid), .m_axi_rready(lane_rready));
  IBUFDS i_clk (.I(clk_100mhz_p), .IB(clk_100mhz_n), .O(clk_100mhz));
  BUFG i_hbm_clk (.I(clk_100mhz), .O(hbm_clk));
  hbm_0 i_hbm (
    .HBM_REF_CLK_0(hbm_clk), .HBM_REF_CLK_1(hbm_clk), .AXI_00_ACLK(user_clk), .AXI_00_ARESET_N(!memory_rst),
    .AXI_00_ARADDR({1'b0, lane_araddr[0]}), .AXI_00_ARBURST(2'b01), .AXI_00_ARID(6'd0), .AXI_00_ARLEN(lane_arlen[0]),
    .AXI_00_ARSIZE(3'd5), .AXI_00_ARVALID(lane_arvalid[0]), .AXI_00_ARREADY(lane_arready[0]),
    .AXI_00_AWADDR({1'b0, lane_awaddr[0]}), .AXI_00_AWBURST(2'b01), .AXI_00_AWID(6'd0), .AXI_00_AWLEN(lane_awlen[0]),
    .AXI_00_AWSIZE(3'd5), .AXI_00_AWVALID(lane_awvalid[0]), .AXI_00_AWREADY(lane_awready[0]),
    .AXI_00_WDATA(lane_wdata[0]), .AXI_00_WLAST(lane_wlast[0]), .AXI_00_WSTRB(lane_wstrb[0]),
    .AXI_00_WDATA_PARITY(32'd0), .AXI_00_WVALID(lane_wvalid[0]), .AXI_00_WREADY(lane_wready[0]), .AXI_00_BID(),
    .AXI_00_BRESP(lane_bresp[0]), .AXI_00_BVALID(lane_bvalid[0]), .AXI_00_BREADY(lane_bready[0]),
    .AXI_00_RDATA_PARITY(), .AXI_00_RDATA(lane_rdata[0]), .AXI_00_RID(), .AXI_00_RLAST(lane_rlast[0]),
    .AXI_00_RRESP(lane_rresp[0]), .AXI_00_RVALID(lane_rvalid[0]), .AXI_00_RREADY(lane_rready[0]),
    .AXI_16_ACLK(user_clk), .AXI_16_ARESET_N(!memory_rst), .AXI_16_ARADDR({1'b1, lane_araddr[1]}),
    .AXI_16_ARBURST(2'b01), .AXI_16_ARID(6'd0), .AXI_16_ARLEN(lane_arlen[1]), .AXI_16_ARSIZE(3'd5),
    .AXI_16_ARVALID(lane_arvalid[1]), .AXI_16_ARREADY(lane_arready[1]), .AXI_16_AWADDR({1'b1, lane_awaddr[1]}),
    .AXI_16_AWBURST(2'b01), .AXI_16_AWID(6'd0), .AXI_16_AWLEN(lane_awlen[1]), .AXI_16_AWSIZE(3'd5),
    .AXI_16_AWVALID(lane_awvalid[1]), .AXI_16_AWREADY(lane_awready[1]), .AXI_16_WDATA(lane_wdata[1]),
    .AXI_16_WLAST(lane_wlast[1]), .AXI_16_WSTRB(lane_wstrb[1]), .AXI_16_WDATA_PARITY(32'd0),
    .AXI_16_WVALID(lane_wvalid[1]), .AXI_16_WREADY(lane_wready[1]), .AXI_16_BID(), .AXI_16_BRESP(lane_bresp[1]),
    .AXI_16_BVALID(lane_bvalid[1]), .AXI_16_BREADY(lane_bready[1]), .AXI_16_RDATA_PARITY(),
    .AXI_16_RDATA(lane_rdata[1]), .AXI_16_RID(), .AXI_16_RLAST(lane_rlast[1]), .AXI_16_RRESP(lane_rresp[1]),
    .AXI_16_RVALID(lane_rvalid[1]), .AXI_16_RREADY(lane_rready[1]), .APB_0_PWDATA(32'd0), .APB_0_PADDR(22'd0),
    .APB_0_PCLK(hbm_clk), .APB_0_PENABLE(1'b0), .APB_0_PRESET_N(1'b1), .APB_0_PSEL(1'b0), .APB_0_PWRITE(1'b0),
    .APB_0_PRDATA(), .APB_0_PREADY(), .APB_0_PSLVERR(), .apb_complete_0(ready[0]), .DRAM_0_STAT_CATTRIP(hot[0]),
    .DRAM_0_STAT_TEMP(), .APB_1_PWDATA(32'd0), .APB_1_PADDR(22'd0), .APB_1_PCLK(hbm_clk), .APB_1_PENABLE(1'b0),
    .APB_1_PRESET_N(1'b1), .APB_1_PSEL(1'b0), .APB_1_PWRITE(1'b0), .APB_1_PRDATA(), .APB_1_PREADY(), .APB_1_PSLVERR(),
    .apb_complete_1(ready[1]), .DRAM_1_STAT_CATTRIP(hot[1]), .DRAM_1_STAT_TEMP());
  assign memory_ready = ready == '1;
  assign hbm_cattrip  = hot != '0;
  assign led[0]       = link_up;
endmodule
