// SPDX-License-Identifier: Apache-2.0
// What stands between a controller and HBM on a board: db_board_zero, db_board_gate, db_board_lanes; and db_board_reset, which
// holds the controller's reset until the memory is left in peace. For the bench, all AXI signals that its models ask for.
module tb_board_memory #(
  parameter int DATA_W = 512,
  parameter int ADDR_W = 24
) (
  input  logic                clk,
  input  logic                link_rst,
  input  logic                memory_ready,
  output logic                memory_rst,
  output logic                rst,
  output logic                por_rst,
  output logic                quiet,
  input  logic                s_cmd_valid,
  output logic                s_cmd_ready,
  input  logic [1:0]          s_cmd_op,
  input  logic [ADDR_W-1:0]   s_cmd_addr,
  input  logic [63:0]         s_cmd_bytes,
  output logic                m_rsp_valid,
  output logic                m_rsp_err,
  input  logic                s_axi_awid,
  input  logic [ADDR_W-1:0]   s_axi_awaddr,
  input  logic [7:0]          s_axi_awlen,
  input  logic [2:0]          s_axi_awsize,
  input  logic [1:0]          s_axi_awburst,
  input  logic                s_axi_awvalid,
  output logic                s_axi_awready,
  input  logic [DATA_W-1:0]   s_axi_wdata,
  input  logic [DATA_W/8-1:0] s_axi_wstrb,
  input  logic                s_axi_wlast,
  input  logic                s_axi_wvalid,
  output logic                s_axi_wready,
  output logic                s_axi_bid,
  output logic [1:0]          s_axi_bresp,
  output logic                s_axi_bvalid,
  input  logic                s_axi_bready,
  input  logic                s_axi_arid,
  input  logic [ADDR_W-1:0]   s_axi_araddr,
  input  logic [7:0]          s_axi_arlen,
  input  logic [2:0]          s_axi_arsize,
  input  logic [1:0]          s_axi_arburst,
  input  logic                s_axi_arvalid,
  output logic                s_axi_arready,
  output logic                s_axi_rid,
  output logic [DATA_W-1:0]   s_axi_rdata,
  output logic [1:0]          s_axi_rresp,
  output logic                s_axi_rlast,
  output logic                s_axi_rvalid,
  input  logic                s_axi_rready,
  output logic                      m0_axi_awid,
  output logic [ADDR_W-2:0]         m0_axi_awaddr,
  output logic [7:0]                m0_axi_awlen,
  output logic [2:0]                m0_axi_awsize,
  output logic [1:0]                m0_axi_awburst,
  output logic                      m0_axi_awvalid,
  input  logic                      m0_axi_awready,
  output logic [DATA_W/2-1:0]       m0_axi_wdata,
  output logic [DATA_W/16-1:0]      m0_axi_wstrb,
  output logic                      m0_axi_wlast,
  output logic                      m0_axi_wvalid,
  input  logic                      m0_axi_wready,
  input  logic                      m0_axi_bid,
  input  logic [1:0]                m0_axi_bresp,
  input  logic                      m0_axi_bvalid,
  output logic                      m0_axi_bready,
  output logic                      m0_axi_arid,
  output logic [ADDR_W-2:0]         m0_axi_araddr,
  output logic [7:0]                m0_axi_arlen,
  output logic [2:0]                m0_axi_arsize,
  output logic [1:0]                m0_axi_arburst,
  output logic                      m0_axi_arvalid,
  input  logic                      m0_axi_arready,
  input  logic                      m0_axi_rid,
  input  logic [DATA_W/2-1:0]       m0_axi_rdata,
  input  logic [1:0]                m0_axi_rresp,
  input  logic                      m0_axi_rlast,
  input  logic                      m0_axi_rvalid,
  output logic                      m0_axi_rready,
  output logic                      m1_axi_awid,
  output logic [ADDR_W-2:0]         m1_axi_awaddr,
  output logic [7:0]                m1_axi_awlen,
  output logic [2:0]                m1_axi_awsize,
  output logic [1:0]                m1_axi_awburst,
  output logic                      m1_axi_awvalid,
  input  logic                      m1_axi_awready,
  output logic [DATA_W/2-1:0]       m1_axi_wdata,
  output logic [DATA_W/16-1:0]      m1_axi_wstrb,
  output logic                      m1_axi_wlast,
  output logic                      m1_axi_wvalid,
  input  logic                      m1_axi_wready,
  input  logic                      m1_axi_bid,
  input  logic [1:0]                m1_axi_bresp,
  input  logic                      m1_axi_bvalid,
  output logic                      m1_axi_bready,
  output logic                      m1_axi_arid,
  output logic [ADDR_W-2:0]         m1_axi_araddr,
  output logic [7:0]                m1_axi_arlen,
  output logic [2:0]                m1_axi_arsize,
  output logic [1:0]                m1_axi_arburst,
  output logic                      m1_axi_arvalid,
  input  logic                      m1_axi_arready,
  input  logic                      m1_axi_rid,
  input  logic [DATA_W/2-1:0]       m1_axi_rdata,
  input  logic [1:0]                m1_axi_rresp,
  input  logic                      m1_axi_rlast,
  input  logic                      m1_axi_rvalid,
  output logic                      m1_axi_rready
);
  db_board_reset i_reset (.clk, .link_rst, .memory_ready, .quiet, .memory_rst, .rst, .por_rst);

  logic [ADDR_W-1:0]   all_awaddr, g_awaddr, g_araddr;
  logic [7:0]          all_awlen, g_awlen, g_arlen;
  logic [DATA_W-1:0]   all_wdata, g_wdata, g_rdata;
  logic [DATA_W/8-1:0] all_wstrb, g_wstrb;
  logic [1:0]          all_bresp, g_bresp, g_rresp;
  logic all_awid, all_awvalid, all_awready, all_wlast, all_wvalid, all_wready, all_bid, all_bvalid, all_bready;
  logic g_awid, g_awvalid, g_awready, g_wlast, g_wvalid, g_wready, g_bid, g_bvalid, g_bready, g_arid, g_arvalid,
        g_arready, g_rid, g_rlast, g_rvalid, g_rready;
  assign s_axi_bid = 1'b0;
  db_board_zero #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_zero (
    .m_axi_awid(all_awid), .m_axi_awaddr(all_awaddr), .m_axi_awlen(all_awlen), .m_axi_awvalid(all_awvalid),
    .m_axi_awready(all_awready), .m_axi_wdata(all_wdata), .m_axi_wstrb(all_wstrb), .m_axi_wlast(all_wlast),
    .m_axi_wvalid(all_wvalid), .m_axi_wready(all_wready), .m_axi_bid(all_bid), .m_axi_bresp(all_bresp),
    .m_axi_bvalid(all_bvalid), .m_axi_bready(all_bready), .*);
  db_board_gate #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_gate (
    .clk, .memory_rst, .rst, .quiet, .s_axi_awid(all_awid), .s_axi_awaddr(all_awaddr), .s_axi_awlen(all_awlen),
    .s_axi_awvalid(all_awvalid), .s_axi_awready(all_awready), .s_axi_wdata(all_wdata), .s_axi_wstrb(all_wstrb),
    .s_axi_wlast(all_wlast), .s_axi_wvalid(all_wvalid), .s_axi_wready(all_wready), .s_axi_bid(all_bid),
    .s_axi_bresp(all_bresp), .s_axi_bvalid(all_bvalid), .s_axi_bready(all_bready), .s_axi_arid, .s_axi_araddr,
    .s_axi_arlen, .s_axi_arvalid, .s_axi_arready, .s_axi_rid, .s_axi_rdata, .s_axi_rresp, .s_axi_rlast, .s_axi_rvalid,
    .s_axi_rready, .m_axi_awid(g_awid), .m_axi_awaddr(g_awaddr), .m_axi_awlen(g_awlen), .m_axi_awvalid(g_awvalid),
    .m_axi_awready(g_awready), .m_axi_wdata(g_wdata), .m_axi_wstrb(g_wstrb), .m_axi_wlast(g_wlast),
    .m_axi_wvalid(g_wvalid), .m_axi_wready(g_wready), .m_axi_bid(g_bid), .m_axi_bresp(g_bresp),
    .m_axi_bvalid(g_bvalid), .m_axi_bready(g_bready), .m_axi_arid(g_arid), .m_axi_araddr(g_araddr),
    .m_axi_arlen(g_arlen), .m_axi_arvalid(g_arvalid), .m_axi_arready(g_arready), .m_axi_rid(g_rid),
    .m_axi_rdata(g_rdata), .m_axi_rresp(g_rresp), .m_axi_rlast(g_rlast), .m_axi_rvalid(g_rvalid),
    .m_axi_rready(g_rready));
  db_board_lanes #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_lanes (
    .clk, .rst(memory_rst), .s_axi_awid(g_awid), .s_axi_awaddr(g_awaddr), .s_axi_awlen(g_awlen),
    .s_axi_awvalid(g_awvalid), .s_axi_awready(g_awready), .s_axi_wdata(g_wdata), .s_axi_wstrb(g_wstrb),
    .s_axi_wlast(g_wlast), .s_axi_wvalid(g_wvalid), .s_axi_wready(g_wready), .s_axi_bid(g_bid), .s_axi_bresp(g_bresp),
    .s_axi_bvalid(g_bvalid), .s_axi_bready(g_bready), .s_axi_arid(g_arid), .s_axi_araddr(g_araddr),
    .s_axi_arlen(g_arlen), .s_axi_arvalid(g_arvalid), .s_axi_arready(g_arready), .s_axi_rid(g_rid),
    .s_axi_rdata(g_rdata), .s_axi_rresp(g_rresp), .s_axi_rlast(g_rlast), .s_axi_rvalid(g_rvalid),
    .s_axi_rready(g_rready), .m_axi_awaddr({m1_axi_awaddr, m0_axi_awaddr}),
    .m_axi_awlen({m1_axi_awlen[3:0], m0_axi_awlen[3:0]}), .m_axi_awvalid({m1_axi_awvalid, m0_axi_awvalid}),
    .m_axi_awready({m1_axi_awready, m0_axi_awready}), .m_axi_wdata({m1_axi_wdata, m0_axi_wdata}),
    .m_axi_wstrb({m1_axi_wstrb, m0_axi_wstrb}), .m_axi_wlast({m1_axi_wlast, m0_axi_wlast}),
    .m_axi_wvalid({m1_axi_wvalid, m0_axi_wvalid}), .m_axi_wready({m1_axi_wready, m0_axi_wready}),
    .m_axi_bresp({m1_axi_bresp, m0_axi_bresp}), .m_axi_bvalid({m1_axi_bvalid, m0_axi_bvalid}),
    .m_axi_bready({m1_axi_bready, m0_axi_bready}), .m_axi_araddr({m1_axi_araddr, m0_axi_araddr}),
    .m_axi_arlen({m1_axi_arlen[3:0], m0_axi_arlen[3:0]}), .m_axi_arvalid({m1_axi_arvalid, m0_axi_arvalid}),
    .m_axi_arready({m1_axi_arready, m0_axi_arready}), .m_axi_rdata({m1_axi_rdata, m0_axi_rdata}),
    .m_axi_rresp({m1_axi_rresp, m0_axi_rresp}), .m_axi_rlast({m1_axi_rlast, m0_axi_rlast}),
    .m_axi_rvalid({m1_axi_rvalid, m0_axi_rvalid}), .m_axi_rready({m1_axi_rready, m0_axi_rready}));
  assign {m0_axi_awid, m0_axi_awlen[7:4], m0_axi_awburst} = 7'b0_0000_01;
  assign m0_axi_awsize = 3'($clog2(DATA_W / 16));
  assign {m0_axi_arid, m0_axi_arlen[7:4], m0_axi_arburst} = 7'b0_0000_01;
  assign m0_axi_arsize = 3'($clog2(DATA_W / 16));
  assign {m1_axi_awid, m1_axi_awlen[7:4], m1_axi_awburst} = 7'b0_0000_01;
  assign m1_axi_awsize = 3'($clog2(DATA_W / 16));
  assign {m1_axi_arid, m1_axi_arlen[7:4], m1_axi_arburst} = 7'b0_0000_01;
  assign m1_axi_arsize = 3'($clog2(DATA_W / 16));
endmodule
