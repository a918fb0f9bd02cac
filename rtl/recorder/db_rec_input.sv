// SPDX-License-Identifier: Apache-2.0
// The capture stream's way to db_recorder_core: through a buffer in memory (db_rec_buffer), or straight.
//
// Latency and throughput: without a buffer none; else see db_rec_buffer.
module db_rec_input
  import db_rec_pkg::*;
#(
  parameter int              STREAM_W    = 256,  ///< bits of a row
  parameter int              BUFFER_LOG2 = 0,    ///< memory on m_axi: 2^.. bytes, 13..40; 0: none
  parameter longint unsigned BUFFER_BASE = 0,    ///< its address, a multiple of its size
  parameter int              BUFFER_DROP_PCT = 0 ///< blocks are dropped from this level on, 0..99; 0: never
) (
  input  logic                  clk,
  input  logic                  rst,
  input  logic                  s_axis_tvalid,
  output logic                  s_axis_tready,
  input  logic [STREAM_W-1:0]   s_axis_tdata,
  input  logic                  s_axis_tlast,
  output logic                  data_enabled_out,
  input  logic                  data_drop_blocks,

  /// db_recorder_core
  output logic                  m_axis_tvalid,
  input  logic                  m_axis_tready,
  output logic [STREAM_W-1:0]   m_axis_tdata,
  output logic                  m_axis_tlast,
  input  logic                  taking,           ///< its data_enabled_out
  output logic                  drop,
  input  logic                  any_capturing,
  input  logic                  any_enable,
  output buffer_state_t         buffer,
  output logic                  idle,

  /// The memory; flat, as in the top and in db_axi_fifo: it passes through here. Idle without a buffer.
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
  output logic                  m_axi_rready
);
  if (BUFFER_DROP_PCT > 99 || (BUFFER_LOG2 != 0 && (BUFFER_LOG2 < 13 || BUFFER_LOG2 > 40))) begin : g_bad
    $error("%m: BUFFER_LOG2 must be 0 or 13..40, BUFFER_DROP_PCT 0..99");
  end
  if (BUFFER_LOG2 != 0) begin : g_buffer
    localparam longint unsigned BYTES = 64'd1 << BUFFER_LOG2;
    logic full;
    assign drop = data_drop_blocks || full;
    db_rec_buffer #(
      .STREAM_W(STREAM_W), .BYTES(BYTES), .BASE(BUFFER_BASE), .DROP_BYTES(BYTES * 64'(BUFFER_DROP_PCT) / 64'd100),
      .ADDR_W(40)
    ) i_buffer (
      .clk, .rst, .capturing(any_capturing), .enable(any_enable), .taking, .drop(full), .state(buffer), .idle,
      .s_axis_tvalid, .s_axis_tready, .s_axis_tdata, .s_axis_tlast, .data_enabled_out, .m_axis_tvalid,
      .m_axis_tready, .m_axis_tdata, .m_axis_tlast,
      .m_axi_awid, .m_axi_awaddr, .m_axi_awlen, .m_axi_awsize, .m_axi_awburst, .m_axi_awvalid, .m_axi_awready,
      .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready, .m_axi_bid, .m_axi_bresp,
      .m_axi_bvalid, .m_axi_bready, .m_axi_arid, .m_axi_araddr, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst,
      .m_axi_arvalid, .m_axi_arready, .m_axi_rid, .m_axi_rdata, .m_axi_rresp, .m_axi_rlast, .m_axi_rvalid,
      .m_axi_rready
    );
  end else begin : g_direct
    assign m_axis_tvalid      = s_axis_tvalid;
    assign s_axis_tready    = m_axis_tready;
    assign m_axis_tdata       = s_axis_tdata;
    assign m_axis_tlast       = s_axis_tlast;
    assign data_enabled_out = taking;
    assign drop             = data_drop_blocks;
    assign buffer           = '0;
    assign idle             = 1'b1;
    assign {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst, m_axi_awvalid} = '0;
    assign {m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_wvalid, m_axi_bready} = '0;
    assign {m_axi_arid, m_axi_araddr, m_axi_arlen, m_axi_arsize, m_axi_arburst, m_axi_arvalid, m_axi_rready} = '0;
    logic unused_ok;
    assign unused_ok = &{1'b0, clk, rst, any_capturing, any_enable, m_axi_awready, m_axi_wready, m_axi_bid,
                         m_axi_bresp, m_axi_bvalid, m_axi_arready, m_axi_rid, m_axi_rdata, m_axi_rresp, m_axi_rlast,
                         m_axi_rvalid};
  end
endmodule
