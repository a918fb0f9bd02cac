// SPDX-License-Identifier: Apache-2.0
// A memory of two AXI3 ports side by side as one of AXI4 with twice their width, as for HBM: no port has more than 256 bits,
// and with two of them at the clock of the PCIe block none has to be faster than it. The low half of a row is in lane 0.
//
// Bursts are of full rows and stay inside 4 KiB; those of more than 16 beats are cut. All accesses of a lane have the same id,
// so answers come in the order of the addresses; the lanes may be apart by what the FIFOs here hold.
// Latency: addresses 2 cycles, W and R 1. Throughput: a row a cycle each way.
module db_board_lanes #(
  parameter int DATA_W = 512,  ///< 256, 512
  parameter int ADDR_W = 33    ///< bits of an address of both together, 20..64
) (
  input  logic                        clk,
  input  logic                        rst,
  input  logic                        s_axi_awid,
  input  logic [ADDR_W-1:0]           s_axi_awaddr,
  input  logic [7:0]                  s_axi_awlen,
  input  logic                        s_axi_awvalid,
  output logic                        s_axi_awready,
  input  logic [DATA_W-1:0]           s_axi_wdata,
  input  logic [DATA_W/8-1:0]         s_axi_wstrb,
  input  logic                        s_axi_wlast,
  input  logic                        s_axi_wvalid,
  output logic                        s_axi_wready,
  output logic                        s_axi_bid,
  output logic [1:0]                  s_axi_bresp,
  output logic                        s_axi_bvalid,
  input  logic                        s_axi_bready,
  input  logic                        s_axi_arid,
  input  logic [ADDR_W-1:0]           s_axi_araddr,
  input  logic [7:0]                  s_axi_arlen,
  input  logic                        s_axi_arvalid,
  output logic                        s_axi_arready,
  output logic                        s_axi_rid,
  output logic [DATA_W-1:0]           s_axi_rdata,
  output logic [1:0]                  s_axi_rresp,
  output logic                        s_axi_rlast,
  output logic                        s_axi_rvalid,
  input  logic                        s_axi_rready,
  /// [0] the low half of a row, [1] the high half
  output logic [1:0][ADDR_W-2:0]      m_axi_awaddr,
  output logic [1:0][3:0]             m_axi_awlen,
  output logic [1:0]                  m_axi_awvalid,
  input  logic [1:0]                  m_axi_awready,
  output logic [1:0][DATA_W/2-1:0]    m_axi_wdata,
  output logic [1:0][DATA_W/16-1:0]   m_axi_wstrb,
  output logic [1:0]                  m_axi_wlast,
  output logic [1:0]                  m_axi_wvalid,
  input  logic [1:0]                  m_axi_wready,
  input  logic [1:0][1:0]             m_axi_bresp,
  input  logic [1:0]                  m_axi_bvalid,
  output logic [1:0]                  m_axi_bready,
  output logic [1:0][ADDR_W-2:0]      m_axi_araddr,
  output logic [1:0][3:0]             m_axi_arlen,
  output logic [1:0]                  m_axi_arvalid,
  input  logic [1:0]                  m_axi_arready,
  input  logic [1:0][DATA_W/2-1:0]    m_axi_rdata,
  input  logic [1:0][1:0]             m_axi_rresp,
  input  logic [1:0]                  m_axi_rlast,
  input  logic [1:0]                  m_axi_rvalid,
  output logic [1:0]                  m_axi_rready
);
  localparam int HALF = DATA_W / 2;

  if (DATA_W != 256 && DATA_W != 512) begin : g_bad
    $error("%m: DATA_W must be 256 or 512 (is %0d)", DATA_W);
  end

  logic [1:0]           b_valid, r_valid, r_last;
  logic [1:0][1:0]      b_resp, r_resp;
  logic [1:0][HALF-1:0] r_data;
  // ---- addresses
  logic aw_piece_valid, aw_piece_id, aw_piece_last, ar_piece_valid, ar_piece_id, ar_piece_last, b_go, r_go;
  db_board_pieces #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_aw (
    .clk, .rst, .s_id(s_axi_awid), .s_addr(s_axi_awaddr), .s_len(s_axi_awlen), .s_valid(s_axi_awvalid),
    .s_ready(s_axi_awready), .m_addr(m_axi_awaddr), .m_len(m_axi_awlen), .m_valid(m_axi_awvalid),
    .m_ready(m_axi_awready), .m_piece_valid(aw_piece_valid), .m_piece_ready(b_go), .m_piece_id(aw_piece_id),
    .m_piece_last(aw_piece_last));
  db_board_pieces #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_ar (
    .clk, .rst, .s_id(s_axi_arid), .s_addr(s_axi_araddr), .s_len(s_axi_arlen), .s_valid(s_axi_arvalid),
    .s_ready(s_axi_arready), .m_addr(m_axi_araddr), .m_len(m_axi_arlen), .m_valid(m_axi_arvalid),
    .m_ready(m_axi_arready), .m_piece_valid(ar_piece_valid), .m_piece_ready(r_go && r_last[0]),
    .m_piece_id(ar_piece_id),
    .m_piece_last(ar_piece_last));

  // ---- rows to both lanes
  logic [3:0] beat_q;
  logic [1:0] w_ready;
  logic       w_go;
  assign s_axi_wready = w_ready == '1;
  assign w_go         = s_axi_wvalid && s_axi_wready;
  always_ff @(posedge clk) begin
    if (w_go) beat_q <= s_axi_wlast ? '0 : beat_q + 1'b1;
    if (rst) beat_q <= '0;
  end

  // ---- answers of both
  logic [1:0]           worst_q, worst_b, worst_r;
  for (genvar i = 0; i < 2; i++) begin : g_lane
    db_fifo #(.WIDTH(HALF + HALF / 8 + 1), .DEPTH(32)) i_w (
      .clk, .rst, .s_valid(w_go), .s_ready(w_ready[i]),
      .s_data({s_axi_wlast || beat_q == '1, s_axi_wstrb[i*HALF/8+:HALF/8], s_axi_wdata[i*HALF+:HALF]}),
      .m_valid(m_axi_wvalid[i]), .m_ready(m_axi_wready[i]), .m_data({m_axi_wlast[i], m_axi_wstrb[i], m_axi_wdata[i]}),
      .level());
    db_fifo #(.WIDTH(2), .DEPTH(16)) i_b (
      .clk, .rst, .s_valid(m_axi_bvalid[i]), .s_ready(m_axi_bready[i]), .s_data(m_axi_bresp[i]), .m_valid(b_valid[i]),
      .m_ready(b_go), .m_data(b_resp[i]), .level());
    db_fifo #(.WIDTH(HALF + 3), .DEPTH(32)) i_r (
      .clk, .rst, .s_valid(m_axi_rvalid[i]), .s_ready(m_axi_rready[i]),
      .s_data({m_axi_rlast[i], m_axi_rresp[i], m_axi_rdata[i]}), .m_valid(r_valid[i]), .m_ready(r_go),
      .m_data({r_last[i], r_resp[i], r_data[i]}), .level());
  end
  // The response of a burst is the worst of its pieces'.
  assign worst_b      = b_resp[0] > b_resp[1] ? b_resp[0] : b_resp[1];
  assign s_axi_bid    = aw_piece_id;
  assign s_axi_bresp  = worst_b > worst_q ? worst_b : worst_q;
  assign s_axi_bvalid = b_valid == '1 && aw_piece_valid && aw_piece_last;
  assign b_go         = b_valid == '1 && aw_piece_valid && (s_axi_bready || !aw_piece_last);
  always_ff @(posedge clk) begin
    if (b_go) worst_q <= aw_piece_last ? '0 : s_axi_bresp;
    if (rst) worst_q <= '0;
  end
  assign worst_r      = r_resp[0] > r_resp[1] ? r_resp[0] : r_resp[1];
  assign s_axi_rid    = ar_piece_id;
  assign s_axi_rdata  = r_data;
  assign s_axi_rresp  = worst_r;
  assign s_axi_rlast  = r_last[0] && ar_piece_last;
  assign s_axi_rvalid = r_valid == '1 && ar_piece_valid;
  assign r_go         = s_axi_rvalid && s_axi_rready;

`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && r_go) assert (r_last[0] == r_last[1]);
`endif
endmodule
