// SPDX-License-Identifier: Apache-2.0
// Between a controller and a memory that a reset of the controller must not disturb (PERST#, hot reset, link down): what
// is under way to the memory ends by the rules of AXI. A write burst goes to the memory when all of it is here, so it
// is written as a whole or not at all; half a burst that a reset leaves is dropped, answers to nobody are thrown away.
//
// With `rst` high nothing new comes in; `quiet` says that nothing of before is under way.
// Latency: an address of a read 1 cycle, R and B none; a write its rows and 2 cycles. Throughput: a row a cycle each way.
module db_board_gate #(
  parameter int DATA_W = 256,  ///< 128, 256, 512
  parameter int ADDR_W = 40    ///< bits of an address, 20..64
) (
  input  logic                clk,
  input  logic                memory_rst,    ///< of the memory, too
  input  logic                rst,           ///< of the controller
  output logic                quiet,
  input  logic                s_axi_awid,
  input  logic [ADDR_W-1:0]   s_axi_awaddr,
  input  logic [7:0]          s_axi_awlen,   ///< bursts of 4 KiB at most
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
  input  logic                s_axi_arvalid,
  output logic                s_axi_arready,
  output logic                s_axi_rid,
  output logic [DATA_W-1:0]   s_axi_rdata,
  output logic [1:0]          s_axi_rresp,
  output logic                s_axi_rlast,
  output logic                s_axi_rvalid,
  input  logic                s_axi_rready,
  output logic                m_axi_awid,
  output logic [ADDR_W-1:0]   m_axi_awaddr,
  output logic [7:0]          m_axi_awlen,
  output logic                m_axi_awvalid,
  input  logic                m_axi_awready,
  output logic [DATA_W-1:0]   m_axi_wdata,
  output logic [DATA_W/8-1:0] m_axi_wstrb,
  output logic                m_axi_wlast,
  output logic                m_axi_wvalid,
  input  logic                m_axi_wready,
  input  logic                m_axi_bid,
  input  logic [1:0]          m_axi_bresp,
  input  logic                m_axi_bvalid,
  output logic                m_axi_bready,
  output logic                m_axi_arid,
  output logic [ADDR_W-1:0]   m_axi_araddr,
  output logic [7:0]          m_axi_arlen,
  output logic                m_axi_arvalid,
  input  logic                m_axi_arready,
  input  logic                m_axi_rid,
  input  logic [DATA_W-1:0]   m_axi_rdata,
  input  logic [1:0]          m_axi_rresp,
  input  logic                m_axi_rlast,
  input  logic                m_axi_rvalid,
  output logic                m_axi_rready
);
  localparam int ROWS = 2 * 4096 / (DATA_W / 8);  // two of the longest bursts

  // ---- writes: whole bursts that are here without their address having gone, and without their rows having gone
  logic       aw_ready, aw_valid, w_ready, w_valid, aw_go, w_push, w_go, clear, clear_q;
  logic [5:0] whole_aw_q, whole_w_q;
  db_fifo #(.WIDTH(ADDR_W + 9), .DEPTH(32)) i_aw (
    .clk, .rst(clear_q), .s_valid(s_axi_awvalid && !rst), .s_ready(aw_ready),
    .s_data({s_axi_awid, s_axi_awlen, s_axi_awaddr}), .m_valid(aw_valid), .m_ready(aw_go),
    .m_data({m_axi_awid, m_axi_awlen, m_axi_awaddr}), .level());
  db_fifo #(.WIDTH(DATA_W + DATA_W / 8 + 1), .DEPTH(ROWS)) i_w (
    .clk, .rst(clear_q), .s_valid(w_push), .s_ready(w_ready), .s_data({s_axi_wlast, s_axi_wstrb, s_axi_wdata}),
    .m_valid(w_valid), .m_ready(w_go), .m_data({m_axi_wlast, m_axi_wstrb, m_axi_wdata}), .level());
  assign s_axi_awready = aw_ready && !rst;
  assign s_axi_wready  = w_ready && !rst && whole_w_q < 6'd32 && whole_aw_q < 6'd32;
  assign w_push        = s_axi_wvalid && s_axi_wready;
  assign m_axi_awvalid = aw_valid && whole_aw_q != '0;
  assign m_axi_wvalid  = w_valid && whole_w_q != '0;
  assign aw_go         = m_axi_awvalid && m_axi_awready;
  assign w_go          = m_axi_wvalid && m_axi_wready;
  assign clear         = rst && whole_aw_q == '0 && whole_w_q == '0;
  always_ff @(posedge clk) begin
    whole_aw_q <= whole_aw_q + 6'(w_push && s_axi_wlast) - 6'(aw_go);
    whole_w_q  <= whole_w_q + 6'(w_push && s_axi_wlast) - 6'(w_go && m_axi_wlast);
    clear_q    <= clear || memory_rst;
    if (memory_rst) begin
      whole_aw_q <= '0;
      whole_w_q  <= '0;
    end
  end

  // ---- reads: an address that was offered goes
  logic ar_ready, ar_push;
  db_fifo #(.WIDTH(ADDR_W + 9), .DEPTH(2)) i_ar (
    .clk, .rst(memory_rst), .s_valid(ar_push), .s_ready(ar_ready), .s_data({s_axi_arid, s_axi_arlen, s_axi_araddr}),
    .m_valid(m_axi_arvalid), .m_ready(m_axi_arready), .m_data({m_axi_arid, m_axi_arlen, m_axi_araddr}), .level());
  assign s_axi_arready = ar_ready && !rst;
  assign ar_push       = s_axi_arvalid && s_axi_arready;

  // ---- answers, and how many are to come
  logic [8:0] reads_q, writes_q;
  assign s_axi_bid    = m_axi_bid;
  assign s_axi_bresp  = m_axi_bresp;
  assign s_axi_bvalid = m_axi_bvalid && !rst;
  assign m_axi_bready = s_axi_bready || rst;
  assign s_axi_rid    = m_axi_rid;
  assign s_axi_rdata  = m_axi_rdata;
  assign s_axi_rresp  = m_axi_rresp;
  assign s_axi_rlast  = m_axi_rlast;
  assign s_axi_rvalid = m_axi_rvalid && !rst;
  assign m_axi_rready = s_axi_rready || rst;
  always_ff @(posedge clk) begin
    reads_q  <= reads_q + 9'(ar_push) - 9'(m_axi_rvalid && m_axi_rready && m_axi_rlast);
    writes_q <= writes_q + 9'(aw_go) - 9'(m_axi_bvalid && m_axi_bready);
    quiet    <= clear && clear_q && reads_q == '0 && writes_q == '0;
    if (memory_rst) begin
      reads_q  <= '0;
      writes_q <= '0;
      quiet    <= 1'b0;
    end
  end
endmodule
