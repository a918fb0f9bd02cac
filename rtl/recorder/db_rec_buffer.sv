// SPDX-License-Identifier: Apache-2.0
// The recorder's buffer in memory: db_axi_fifo before the capture stream, and a gate at each of its ends.
//
// Why: what the source has given while capture was on must be recorded, and nothing else. The gate in front is open
// while the core takes blocks and software wants them, and always for the rest of a block; `state.busy` then keeps the
// capture on until all is out. What is left when a capture has ended (its chunk was full, or a reset) is thrown away
// before the next one begins (a row a cycle at most): data_enabled_out is low so long, and a row on offer to the core
// is taken back.
// Latency: that of db_axi_fifo; data_enabled_out 2 cycles later than the core's. Throughput: a row in and one out a
// cycle.
module db_rec_buffer
  import db_rec_pkg::*;
#(
  parameter int              STREAM_W   = 256,      ///< bits of a row: 128, 256, 512, 1024
  parameter longint unsigned BYTES      = 1 << 26,  ///< of memory: power of two, 8 KiB .. 2^40
  parameter longint unsigned BASE       = 0,        ///< its address: multiple of BYTES
  parameter longint unsigned DROP_BYTES = 0,        ///< level from which blocks are dropped; 0: never
  parameter int              ADDR_W     = 40
) (
  input  logic                  clk,
  input  logic                  rst,

  /// db_recorder_core
  input  logic                  capturing,         ///< from the begin of a capture to its last status
  input  logic                  enable,            ///< software wants blocks
  input  logic                  taking,            ///< its data_enabled_out
  output logic                  drop,
  output buffer_state_t         state,
  output logic                  idle,

  input  logic                  s_axis_tvalid,
  output logic                  s_axis_tready,
  input  logic [STREAM_W-1:0]   s_axis_tdata,
  input  logic                  s_axis_tlast,
  output logic                  data_enabled_out,
  output logic                  m_axis_tvalid,
  input  logic                  m_axis_tready,
  output logic [STREAM_W-1:0]   m_axis_tdata,
  output logic                  m_axis_tlast,

  /// The memory; flat, as in db_axi_fifo: it passes through here.
  output logic                  m_axi_awid,
  output logic [ADDR_W-1:0]     m_axi_awaddr,
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
  output logic [ADDR_W-1:0]     m_axi_araddr,
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
  if (DROP_BYTES >= BYTES) begin : g_bad
    $error("%m: DROP_BYTES must be 0 or below BYTES");
  end

  logic        error, bad_last;
  logic        open_q, gate_q, mid_q, pass, in_ready, out_valid, out_ready, almost_full, full_q;
  logic [40:0] level;
  logic        some_q;  // something is inside, a cycle later
  assign pass             = gate_q || mid_q;
  assign s_axis_tready    = in_ready && pass;
  assign data_enabled_out = pass;
  assign m_axis_tvalid    = out_valid && open_q;
  assign out_ready        = m_axis_tready || !open_q;
  assign drop             = DROP_BYTES != 0 && full_q;
  assign state            = '{busy: open_q && (pass || some_q || level != '0), blocks: level[40:12],
                              bad_last: bad_last, error: error};
  assign idle             = !pass && level == '0;

  always_ff @(posedge clk) begin
    some_q <= level != '0;
    full_q <= almost_full;
    if (!capturing) open_q <= 1'b0;
    else if (taking && enable && !pass && !some_q && level == '0) open_q <= 1'b1;
    gate_q <= open_q && capturing && taking && enable;
    if (s_axis_tvalid && s_axis_tready) mid_q <= !s_axis_tlast;
    if (rst) begin
      some_q <= 1'b0;
      open_q <= 1'b0;
      gate_q <= 1'b0;
      mid_q  <= 1'b0;
    end
  end

  db_axi_fifo #(
    .DATA_W(STREAM_W), .ADDR_W(ADDR_W), .BYTES(BYTES), .BASE(BASE),
    .ALMOST_FULL_BYTES(DROP_BYTES != 0 ? DROP_BYTES : BYTES)
  ) i_fifo (
    .clk, .rst, .s_axis_tvalid(s_axis_tvalid && pass), .s_axis_tready(in_ready), .s_axis_tdata, .s_axis_tlast,
    .m_axis_tvalid(out_valid), .m_axis_tready(out_ready), .m_axis_tdata, .m_axis_tlast, .level, .almost_full, .error,
    .bad_last, .m_axi_awid, .m_axi_awaddr, .m_axi_awlen, .m_axi_awsize, .m_axi_awburst, .m_axi_awvalid,
    .m_axi_awready, .m_axi_wdata, .m_axi_wstrb, .m_axi_wlast, .m_axi_wvalid, .m_axi_wready, .m_axi_bid, .m_axi_bresp,
    .m_axi_bvalid, .m_axi_bready, .m_axi_arid, .m_axi_araddr, .m_axi_arlen, .m_axi_arsize, .m_axi_arburst,
    .m_axi_arvalid, .m_axi_arready, .m_axi_rid, .m_axi_rdata, .m_axi_rresp, .m_axi_rlast, .m_axi_rvalid, .m_axi_rready
  );
endmodule
