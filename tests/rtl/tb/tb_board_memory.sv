// SPDX-License-Identifier: Apache-2.0
// What stands between a controller and HBM on a board: db_board_zero, db_board_gate, db_board_lanes; and db_board_reset, which
// holds the controller's reset until the memory is left in peace. For the bench, all AXI signals that its models ask for.
`include "db_board_axi.svh"
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

  typedef `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W) axi_write_req_t;
  typedef `DB_AXI_WRITE_RSP_T axi_write_rsp_t;
  typedef `DB_BOARD_WRITE_REQ_T(ADDR_W, DATA_W) write_req_t;
  typedef `DB_BOARD_WRITE_RSP_T write_rsp_t;
  typedef `DB_BOARD_READ_REQ_T(ADDR_W) read_req_t;
  typedef `DB_BOARD_READ_RSP_T(DATA_W) read_rsp_t;
  typedef `DB_AXI_WRITE_REQ_T(ADDR_W - 1, DATA_W / 2) lane_write_req_t;
  typedef `DB_AXI_READ_REQ_T(ADDR_W - 1) lane_read_req_t;
  typedef `DB_AXI_READ_RSP_T(DATA_W / 2) lane_read_rsp_t;
  axi_write_req_t        own_req;
  axi_write_rsp_t        own_rsp;
  write_req_t            all_req, gate_write_req;
  write_rsp_t            all_rsp, gate_write_rsp;
  read_req_t             read_req, gate_read_req;
  read_rsp_t             read_rsp, gate_read_rsp;
  lane_write_req_t [1:0] lane_write_req;
  axi_write_rsp_t [1:0]  lane_write_rsp;
  lane_read_req_t [1:0]  lane_read_req;
  lane_read_rsp_t [1:0]  lane_read_rsp;
  assign own_req = '{aw_valid: s_axi_awvalid, aw: '{fua: 1'b0, addr: s_axi_awaddr, len: s_axi_awlen},
                     b_ready: s_axi_bready, w_valid: s_axi_wvalid,
                     w: '{last: s_axi_wlast, strb: s_axi_wstrb, data: s_axi_wdata}};
  assign {s_axi_awready, s_axi_wready, s_axi_bvalid, s_axi_bresp} = own_rsp;
  assign s_axi_bid = 1'b0;
  assign read_req = '{ar_id: s_axi_arid, axi: '{ar_valid: s_axi_arvalid, ar: '{fua: 1'b0, addr: s_axi_araddr,
                      len: s_axi_arlen}, r_ready: s_axi_rready}};
  assign {s_axi_rid, s_axi_arready, s_axi_rvalid, s_axi_rlast, s_axi_rresp, s_axi_rdata} = read_rsp;
  db_board_zero #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_zero (
    .s_axi_write_req(own_req), .s_axi_write_rsp(own_rsp), .m_write_req(all_req), .m_write_rsp(all_rsp), .*);
  db_board_gate #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_gate (
    .clk, .memory_rst, .rst, .quiet, .s_write_req(all_req), .s_write_rsp(all_rsp), .s_read_req(read_req),
    .s_read_rsp(read_rsp), .m_write_req(gate_write_req), .m_write_rsp(gate_write_rsp), .m_read_req(gate_read_req),
    .m_read_rsp(gate_read_rsp));
  db_board_lanes #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_lanes (
    .clk, .rst(memory_rst), .s_write_req(gate_write_req), .s_write_rsp(gate_write_rsp), .s_read_req(gate_read_req),
    .s_read_rsp(gate_read_rsp), .m_write_req(lane_write_req), .m_write_rsp(lane_write_rsp), .m_read_req(lane_read_req),
    .m_read_rsp(lane_read_rsp));
  assign {m0_axi_awvalid, m0_axi_awaddr, m0_axi_awlen, m0_axi_wvalid, m0_axi_wlast, m0_axi_wstrb, m0_axi_wdata,
          m0_axi_bready} = {
    lane_write_req[0].aw_valid, lane_write_req[0].aw.addr, lane_write_req[0].aw.len, lane_write_req[0].w_valid,
    lane_write_req[0].w, lane_write_req[0].b_ready};
  assign lane_write_rsp[0] = '{aw_held: 1'b0, aw_ready: m0_axi_awready, w_ready: m0_axi_wready, b_valid: m0_axi_bvalid,
                               b: m0_axi_bresp};
  assign {m0_axi_arvalid, m0_axi_araddr, m0_axi_arlen, m0_axi_rready} = {
    lane_read_req[0].ar_valid, lane_read_req[0].ar.addr, lane_read_req[0].ar.len, lane_read_req[0].r_ready};
  assign lane_read_rsp[0] = '{ar_ready: m0_axi_arready, r_valid: m0_axi_rvalid,
                              r: '{last: m0_axi_rlast, resp: m0_axi_rresp, data: m0_axi_rdata}};
  assign {m1_axi_awvalid, m1_axi_awaddr, m1_axi_awlen, m1_axi_wvalid, m1_axi_wlast, m1_axi_wstrb, m1_axi_wdata,
          m1_axi_bready} = {
    lane_write_req[1].aw_valid, lane_write_req[1].aw.addr, lane_write_req[1].aw.len, lane_write_req[1].w_valid,
    lane_write_req[1].w, lane_write_req[1].b_ready};
  assign lane_write_rsp[1] = '{aw_held: 1'b0, aw_ready: m1_axi_awready, w_ready: m1_axi_wready, b_valid: m1_axi_bvalid,
                               b: m1_axi_bresp};
  assign {m1_axi_arvalid, m1_axi_araddr, m1_axi_arlen, m1_axi_rready} = {
    lane_read_req[1].ar_valid, lane_read_req[1].ar.addr, lane_read_req[1].ar.len, lane_read_req[1].r_ready};
  assign lane_read_rsp[1] = '{ar_ready: m1_axi_arready, r_valid: m1_axi_rvalid,
                              r: '{last: m1_axi_rlast, resp: m1_axi_rresp, data: m1_axi_rdata}};
  assign {m0_axi_awid, m0_axi_awburst} = 3'b001;
  assign m0_axi_awsize = 3'($clog2(DATA_W / 16));
  assign {m0_axi_arid, m0_axi_arburst} = 3'b001;
  assign m0_axi_arsize = 3'($clog2(DATA_W / 16));
  assign {m1_axi_awid, m1_axi_awburst} = 3'b001;
  assign m1_axi_awsize = 3'($clog2(DATA_W / 16));
  assign {m1_axi_arid, m1_axi_arburst} = 3'b001;
  assign m1_axi_arsize = 3'($clog2(DATA_W / 16));
endmodule
