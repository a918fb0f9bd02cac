// SPDX-License-Identifier: Apache-2.0
// db_ssd on AMD's VCU118: PCIe Gen3 x8 (pcie4_uscale_plus, 256 bits, 250 MHz), media in 2 GiB of DDR4 (interface C1). Wiring only.
//
//   edge connector <-> pcie4_uscale_plus_0 <-> db_board_ssd <-> axi_clock_converter_0 <-> ddr4_0 <-> DDR4
//                      user_clk, 250 MHz ...............|..... c0_ddr4_ui_clk, 300 MHz
//
// What each light says, and what to do if it does not: docs/boards.md.
`include "db_board_axi.svh"
module db_vcu118 (
  input  logic        pcie_refclk_p,
  input  logic        pcie_refclk_n,
  input  logic        pcie_reset_n,
  input  logic [7:0]  pcie_rx_p,
  input  logic [7:0]  pcie_rx_n,
  output logic [7:0]  pcie_tx_p,
  output logic [7:0]  pcie_tx_n,
  input  logic        cpu_reset,           ///< button: the memory calibrates anew, what it held is gone
  input  logic        ddr4_clk_p,
  input  logic        ddr4_clk_n,
  output logic [16:0] ddr4_adr,
  output logic [1:0]  ddr4_ba,
  output logic [0:0]  ddr4_bg,
  output logic [0:0]  ddr4_cke,
  output logic [0:0]  ddr4_cs_n,
  output logic [0:0]  ddr4_odt,
  output logic [0:0]  ddr4_ck_t,
  output logic [0:0]  ddr4_ck_c,
  output logic        ddr4_act_n,
  output logic        ddr4_reset_n,
  inout  wire  [7:0]  ddr4_dm_dbi_n,
  inout  wire  [63:0] ddr4_dq,
  inout  wire  [7:0]  ddr4_dqs_t,
  inout  wire  [7:0]  ddr4_dqs_c,
  output logic [3:0]  led                  ///< 0 link, 1 memory calibrated, 2 controller out of reset, 3 completions
);
  localparam int DATA_W = 256;
  localparam int ADDR_W = 31;
`include "db_board_wires.svh"

  // ---- PCIe
  logic sys_clk, sys_clk_gt;
  IBUFDS_GTE4 #(.REFCLK_HROW_CK_SEL(2'b00)) i_refclk (
    .I(pcie_refclk_p), .IB(pcie_refclk_n), .CEB(1'b0), .O(sys_clk_gt), .ODIV2(sys_clk));
  pcie4_uscale_plus_0 i_pcie (
`include "db_board_pcie.svh"
  );

  // ---- the controller
  db_board_ssd #(.DATA_W(DATA_W), .ADDR_W(ADDR_W), .CLK_MHZ(250)) i_board (
    .m_axis_cc_tready(cc_tready[0]), .m_axis_rq_tready(rq_tready[0]), .running(led[2]), .active(led[3]), .*);

  // ---- the memory, in its own clock
  logic                ui_clk, ui_rst, d_awvalid, d_awready, d_wlast, d_wvalid, d_wready, d_bvalid, d_bready,
                       d_arvalid, d_arready, d_rlast, d_rvalid, d_rready;
  logic [0:0]          d_awid, d_awlock, d_bid, d_arid, d_arlock, d_rid;
  logic [ADDR_W-1:0]   d_awaddr, d_araddr;
  logic [7:0]          d_awlen, d_arlen;
  logic [3:0]          d_awcache, d_awqos, d_arcache, d_arqos;
  logic [2:0]          d_awsize, d_awprot, d_arsize, d_arprot;
  logic [1:0]          d_awburst, d_arburst, d_bresp, d_rresp;
  logic [DATA_W-1:0]   d_wdata, d_rdata;
  logic [DATA_W/8-1:0] d_wstrb;
  axi_clock_converter_0 i_clocks (
    .s_axi_aclk(user_clk), .s_axi_aresetn(!memory_rst), .s_axi_awid(m_write_req.aw_id),
    .s_axi_awaddr(m_write_req.axi.aw.addr), .s_axi_awlen(m_write_req.axi.aw.len), .s_axi_awsize(3'd5),
    .s_axi_awburst(2'b01), .s_axi_awlock(1'b0), .s_axi_awcache(4'b0011), .s_axi_awprot(3'd0), .s_axi_awregion(4'd0),
    .s_axi_awqos(4'd0), .s_axi_awvalid(m_write_req.axi.aw_valid), .s_axi_awready(m_write_rsp.axi.aw_ready),
    .s_axi_wdata(m_write_req.axi.w.data), .s_axi_wstrb(m_write_req.axi.w.strb), .s_axi_wlast(m_write_req.axi.w.last),
    .s_axi_wvalid(m_write_req.axi.w_valid), .s_axi_wready(m_write_rsp.axi.w_ready), .s_axi_bid(m_write_rsp.b_id),
    .s_axi_bresp(m_write_rsp.axi.b), .s_axi_bvalid(m_write_rsp.axi.b_valid), .s_axi_bready(m_write_req.axi.b_ready),
    .s_axi_arid(m_read_req.ar_id), .s_axi_araddr(m_read_req.axi.ar.addr), .s_axi_arlen(m_read_req.axi.ar.len),
    .s_axi_arsize(3'd5), .s_axi_arburst(2'b01), .s_axi_arlock(1'b0), .s_axi_arcache(4'b0011), .s_axi_arprot(3'd0),
    .s_axi_arregion(4'd0), .s_axi_arqos(4'd0), .s_axi_arvalid(m_read_req.axi.ar_valid),
    .s_axi_arready(m_read_rsp.axi.ar_ready), .s_axi_rid(m_read_rsp.r_id), .s_axi_rdata(m_read_rsp.axi.r.data),
    .s_axi_rresp(m_read_rsp.axi.r.resp), .s_axi_rlast(m_read_rsp.axi.r.last), .s_axi_rvalid(m_read_rsp.axi.r_valid),
    .s_axi_rready(m_read_req.axi.r_ready), .m_axi_aclk(ui_clk), .m_axi_aresetn(!ui_rst), .m_axi_awid(d_awid),
    .m_axi_awaddr(d_awaddr), .m_axi_awlen(d_awlen), .m_axi_awsize(d_awsize), .m_axi_awburst(d_awburst),
    .m_axi_awlock(d_awlock), .m_axi_awcache(d_awcache), .m_axi_awprot(d_awprot), .m_axi_awregion(),
    .m_axi_awqos(d_awqos), .m_axi_awvalid(d_awvalid), .m_axi_awready(d_awready), .m_axi_wdata(d_wdata),
    .m_axi_wstrb(d_wstrb), .m_axi_wlast(d_wlast), .m_axi_wvalid(d_wvalid), .m_axi_wready(d_wready), .m_axi_bid(d_bid),
    .m_axi_bresp(d_bresp), .m_axi_bvalid(d_bvalid), .m_axi_bready(d_bready), .m_axi_arid(d_arid),
    .m_axi_araddr(d_araddr), .m_axi_arlen(d_arlen), .m_axi_arsize(d_arsize), .m_axi_arburst(d_arburst),
    .m_axi_arlock(d_arlock), .m_axi_arcache(d_arcache), .m_axi_arprot(d_arprot), .m_axi_arregion(),
    .m_axi_arqos(d_arqos), .m_axi_arvalid(d_arvalid), .m_axi_arready(d_arready), .m_axi_rid(d_rid),
    .m_axi_rdata(d_rdata), .m_axi_rresp(d_rresp), .m_axi_rlast(d_rlast), .m_axi_rvalid(d_rvalid),
    .m_axi_rready(d_rready));
  ddr4_0 i_ddr4 (
    .c0_sys_clk_p(ddr4_clk_p), .c0_sys_clk_n(ddr4_clk_n), .sys_rst(cpu_reset), .c0_init_calib_complete(memory_ready),
    .dbg_clk(), .dbg_bus(), .c0_ddr4_adr(ddr4_adr), .c0_ddr4_ba(ddr4_ba), .c0_ddr4_cke(ddr4_cke),
    .c0_ddr4_cs_n(ddr4_cs_n), .c0_ddr4_dm_dbi_n(ddr4_dm_dbi_n), .c0_ddr4_dq(ddr4_dq), .c0_ddr4_dqs_c(ddr4_dqs_c),
    .c0_ddr4_dqs_t(ddr4_dqs_t), .c0_ddr4_odt(ddr4_odt), .c0_ddr4_bg(ddr4_bg), .c0_ddr4_reset_n(ddr4_reset_n),
    .c0_ddr4_act_n(ddr4_act_n), .c0_ddr4_ck_c(ddr4_ck_c), .c0_ddr4_ck_t(ddr4_ck_t), .c0_ddr4_ui_clk(ui_clk),
    .c0_ddr4_ui_clk_sync_rst(ui_rst), .c0_ddr4_aresetn(!ui_rst), .c0_ddr4_s_axi_awid(d_awid),
    .c0_ddr4_s_axi_awaddr(d_awaddr), .c0_ddr4_s_axi_awlen(d_awlen), .c0_ddr4_s_axi_awsize(d_awsize),
    .c0_ddr4_s_axi_awburst(d_awburst), .c0_ddr4_s_axi_awlock(d_awlock), .c0_ddr4_s_axi_awcache(d_awcache),
    .c0_ddr4_s_axi_awprot(d_awprot), .c0_ddr4_s_axi_awqos(d_awqos), .c0_ddr4_s_axi_awvalid(d_awvalid),
    .c0_ddr4_s_axi_awready(d_awready), .c0_ddr4_s_axi_wdata(d_wdata), .c0_ddr4_s_axi_wstrb(d_wstrb),
    .c0_ddr4_s_axi_wlast(d_wlast), .c0_ddr4_s_axi_wvalid(d_wvalid), .c0_ddr4_s_axi_wready(d_wready),
    .c0_ddr4_s_axi_bid(d_bid), .c0_ddr4_s_axi_bresp(d_bresp), .c0_ddr4_s_axi_bvalid(d_bvalid),
    .c0_ddr4_s_axi_bready(d_bready), .c0_ddr4_s_axi_arid(d_arid), .c0_ddr4_s_axi_araddr(d_araddr),
    .c0_ddr4_s_axi_arlen(d_arlen), .c0_ddr4_s_axi_arsize(d_arsize), .c0_ddr4_s_axi_arburst(d_arburst),
    .c0_ddr4_s_axi_arlock(d_arlock), .c0_ddr4_s_axi_arcache(d_arcache), .c0_ddr4_s_axi_arprot(d_arprot),
    .c0_ddr4_s_axi_arqos(d_arqos), .c0_ddr4_s_axi_arvalid(d_arvalid), .c0_ddr4_s_axi_arready(d_arready),
    .c0_ddr4_s_axi_rid(d_rid), .c0_ddr4_s_axi_rdata(d_rdata), .c0_ddr4_s_axi_rresp(d_rresp),
    .c0_ddr4_s_axi_rlast(d_rlast), .c0_ddr4_s_axi_rvalid(d_rvalid), .c0_ddr4_s_axi_rready(d_rready));
  assign led[0] = link_up;
  assign led[1] = memory_ready;

  logic unused_ok;
  assign unused_ok = &{1'b0, m_write_req.axi.aw.fua, m_read_req.axi.ar.fua};
endmodule
