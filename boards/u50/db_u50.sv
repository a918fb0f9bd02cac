// SPDX-License-Identifier: Apache-2.0
// db_ssd on AMD's Alveo U50: PCIe Gen4 x8 (pcie4c_uscale_plus, 512 bits, 250 MHz), media in 8 GiB of HBM. Wiring only.
//
//   edge connector <-> pcie4c_uscale_plus_0 <-> db_board_ssd <-> db_board_lanes <-> hbm_0, ports 00 (stack 0) and 16 (stack 1)
//                      all in user_clk, 250 MHz: two ports of 256 bits take a row of 512 bits a cycle
//
// What each light says, and what to do if it does not: docs/boards.md.
`include "db_board_axi.svh"
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
  typedef `DB_AXI_WRITE_REQ_T(ADDR_W - 1, DATA_W / 2) lane_write_req_t;
  typedef `DB_AXI_WRITE_RSP_T lane_write_rsp_t;
  typedef `DB_AXI_READ_REQ_T(ADDR_W - 1) lane_read_req_t;
  typedef `DB_AXI_READ_RSP_T(DATA_W / 2) lane_read_rsp_t;
  lane_write_req_t [1:0] lane_write_req;
  lane_write_rsp_t [1:0] lane_write_rsp;
  lane_read_req_t [1:0]  lane_read_req;
  lane_read_rsp_t [1:0]  lane_read_rsp;
  logic [1:0]            hot, ready;
  logic                  clk_100mhz, hbm_clk;
  db_board_lanes #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_lanes (
    .clk(user_clk), .rst(memory_rst), .s_write_req(m_write_req), .s_write_rsp(m_write_rsp), .s_read_req(m_read_req),
    .s_read_rsp(m_read_rsp), .m_write_req(lane_write_req), .m_write_rsp(lane_write_rsp), .m_read_req(lane_read_req),
    .m_read_rsp(lane_read_rsp));
  IBUFDS i_clk (.I(clk_100mhz_p), .IB(clk_100mhz_n), .O(clk_100mhz));
  BUFG i_hbm_clk (.I(clk_100mhz), .O(hbm_clk));
  hbm_0 i_hbm (
    .HBM_REF_CLK_0(hbm_clk), .HBM_REF_CLK_1(hbm_clk), .AXI_00_ACLK(user_clk), .AXI_00_ARESET_N(!memory_rst),
    .AXI_00_ARADDR({1'b0, lane_read_req[0].ar.addr}), .AXI_00_ARBURST(2'b01), .AXI_00_ARID(6'd0),
    .AXI_00_ARLEN(lane_read_req[0].ar.len[3:0]), .AXI_00_ARSIZE(3'd5), .AXI_00_ARVALID(lane_read_req[0].ar_valid),
    .AXI_00_ARREADY(lane_read_rsp[0].ar_ready), .AXI_00_AWADDR({1'b0, lane_write_req[0].aw.addr}),
    .AXI_00_AWBURST(2'b01), .AXI_00_AWID(6'd0), .AXI_00_AWLEN(lane_write_req[0].aw.len[3:0]), .AXI_00_AWSIZE(3'd5),
    .AXI_00_AWVALID(lane_write_req[0].aw_valid), .AXI_00_AWREADY(lane_write_rsp[0].aw_ready),
    .AXI_00_WDATA(lane_write_req[0].w.data), .AXI_00_WLAST(lane_write_req[0].w.last),
    .AXI_00_WSTRB(lane_write_req[0].w.strb), .AXI_00_WDATA_PARITY(32'd0), .AXI_00_WVALID(lane_write_req[0].w_valid),
    .AXI_00_WREADY(lane_write_rsp[0].w_ready), .AXI_00_BID(), .AXI_00_BRESP(lane_write_rsp[0].b),
    .AXI_00_BVALID(lane_write_rsp[0].b_valid), .AXI_00_BREADY(lane_write_req[0].b_ready), .AXI_00_RDATA_PARITY(),
    .AXI_00_RDATA(lane_read_rsp[0].r.data), .AXI_00_RID(), .AXI_00_RLAST(lane_read_rsp[0].r.last),
    .AXI_00_RRESP(lane_read_rsp[0].r.resp), .AXI_00_RVALID(lane_read_rsp[0].r_valid),
    .AXI_00_RREADY(lane_read_req[0].r_ready), .AXI_16_ACLK(user_clk), .AXI_16_ARESET_N(!memory_rst),
    .AXI_16_ARADDR({1'b1, lane_read_req[1].ar.addr}), .AXI_16_ARBURST(2'b01), .AXI_16_ARID(6'd0),
    .AXI_16_ARLEN(lane_read_req[1].ar.len[3:0]), .AXI_16_ARSIZE(3'd5), .AXI_16_ARVALID(lane_read_req[1].ar_valid),
    .AXI_16_ARREADY(lane_read_rsp[1].ar_ready), .AXI_16_AWADDR({1'b1, lane_write_req[1].aw.addr}),
    .AXI_16_AWBURST(2'b01), .AXI_16_AWID(6'd0), .AXI_16_AWLEN(lane_write_req[1].aw.len[3:0]), .AXI_16_AWSIZE(3'd5),
    .AXI_16_AWVALID(lane_write_req[1].aw_valid), .AXI_16_AWREADY(lane_write_rsp[1].aw_ready),
    .AXI_16_WDATA(lane_write_req[1].w.data), .AXI_16_WLAST(lane_write_req[1].w.last),
    .AXI_16_WSTRB(lane_write_req[1].w.strb), .AXI_16_WDATA_PARITY(32'd0), .AXI_16_WVALID(lane_write_req[1].w_valid),
    .AXI_16_WREADY(lane_write_rsp[1].w_ready), .AXI_16_BID(), .AXI_16_BRESP(lane_write_rsp[1].b),
    .AXI_16_BVALID(lane_write_rsp[1].b_valid), .AXI_16_BREADY(lane_write_req[1].b_ready), .AXI_16_RDATA_PARITY(),
    .AXI_16_RDATA(lane_read_rsp[1].r.data), .AXI_16_RID(), .AXI_16_RLAST(lane_read_rsp[1].r.last),
    .AXI_16_RRESP(lane_read_rsp[1].r.resp), .AXI_16_RVALID(lane_read_rsp[1].r_valid),
    .AXI_16_RREADY(lane_read_req[1].r_ready), .APB_0_PWDATA(32'd0), .APB_0_PADDR(22'd0), .APB_0_PCLK(hbm_clk),
    .APB_0_PENABLE(1'b0), .APB_0_PRESET_N(1'b1), .APB_0_PSEL(1'b0), .APB_0_PWRITE(1'b0), .APB_0_PRDATA(),
    .APB_0_PREADY(), .APB_0_PSLVERR(), .apb_complete_0(ready[0]), .DRAM_0_STAT_CATTRIP(hot[0]), .DRAM_0_STAT_TEMP(),
    .APB_1_PWDATA(32'd0), .APB_1_PADDR(22'd0), .APB_1_PCLK(hbm_clk), .APB_1_PENABLE(1'b0), .APB_1_PRESET_N(1'b1),
    .APB_1_PSEL(1'b0), .APB_1_PWRITE(1'b0), .APB_1_PRDATA(), .APB_1_PREADY(), .APB_1_PSLVERR(),
    .apb_complete_1(ready[1]), .DRAM_1_STAT_CATTRIP(hot[1]), .DRAM_1_STAT_TEMP());
  assign memory_ready = ready == '1;
  assign hbm_cattrip  = hot != '0;
  assign led[0]       = link_up;

  logic unused_ok;
  assign unused_ok = &{1'b0, lane_write_req, lane_read_req};
endmodule
