// SPDX-License-Identifier: Apache-2.0
// A memory of two AXI3 ports side by side as one of AXI4 with twice their width, as for HBM: no port has more than 256 bits,
// and with two of them at the clock of the PCIe block none has to be faster than it. The low half of a row is in lane 0.
//
// Bursts are of full rows and stay inside 4 KiB; those of more than 16 beats are cut. All accesses of a lane have the same id,
// so answers come in the order of the addresses; the lanes may be apart by what the FIFOs here hold.
// Latency: addresses 2 cycles, W and R 1. Throughput: a row a cycle each way.
`include "db_board_axi.svh"
module db_board_lanes #(
  parameter int DATA_W = 512,  ///< 256, 512
  parameter int ADDR_W = 33,   ///< bits of an address of both together, 20..64
  localparam type write_req_t = `DB_BOARD_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type write_rsp_t = `DB_BOARD_WRITE_RSP_T,
  localparam type read_req_t  = `DB_BOARD_READ_REQ_T(ADDR_W),
  localparam type read_rsp_t  = `DB_BOARD_READ_RSP_T(DATA_W),
  localparam type lane_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W - 1, DATA_W / 2),
  localparam type lane_write_rsp_t = `DB_AXI_WRITE_RSP_T,
  localparam type lane_read_req_t  = `DB_AXI_READ_REQ_T(ADDR_W - 1),
  localparam type lane_read_rsp_t  = `DB_AXI_READ_RSP_T(DATA_W / 2)
) (
  input  logic                  clk,
  input  logic                  rst,
  input  write_req_t            s_write_req,
  output write_rsp_t            s_write_rsp,
  input  read_req_t             s_read_req,
  output read_rsp_t             s_read_rsp,
  output lane_write_req_t [1:0] m_write_req,  ///< [0] the low half of a row, [1] the high half; bursts of AXI3
  input  lane_write_rsp_t [1:0] m_write_rsp,
  output lane_read_req_t [1:0]  m_read_req,
  input  lane_read_rsp_t [1:0]  m_read_rsp
);
  localparam int HALF = DATA_W / 2;

  if (DATA_W != 256 && DATA_W != 512) begin : g_bad
    $error("%m: DATA_W must be 256 or 512 (is %0d)", DATA_W);
  end

  // ---- addresses
  logic [1:0]      b_valid, r_valid, r_last, aw_lane_ready, ar_lane_ready;
  logic [1:0][1:0] b_resp, r_resp;
  logic            aw_piece_valid, aw_piece_id, aw_piece_last, ar_piece_valid, ar_piece_id, ar_piece_last, b_go, r_go,
                   aw_ready, ar_ready;
  logic [1:0]               aw_valid, ar_valid;
  logic [1:0][ADDR_W-2:0]   aw_addr, ar_addr;
  logic [1:0][3:0]          aw_len, ar_len;
  logic [1:0][HALF-1:0]     r_data;
  db_board_pieces #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_aw (
    .clk, .rst, .s_id(s_write_req.aw_id), .s_addr(s_write_req.axi.aw.addr), .s_len(s_write_req.axi.aw.len),
    .s_valid(s_write_req.axi.aw_valid), .s_ready(aw_ready), .m_addr(aw_addr), .m_len(aw_len), .m_valid(aw_valid),
    .m_ready(aw_lane_ready), .m_piece_valid(aw_piece_valid), .m_piece_ready(b_go), .m_piece_id(aw_piece_id),
    .m_piece_last(aw_piece_last));
  db_board_pieces #(.DATA_W(DATA_W), .ADDR_W(ADDR_W)) i_ar (
    .clk, .rst, .s_id(s_read_req.ar_id), .s_addr(s_read_req.axi.ar.addr), .s_len(s_read_req.axi.ar.len),
    .s_valid(s_read_req.axi.ar_valid), .s_ready(ar_ready), .m_addr(ar_addr), .m_len(ar_len), .m_valid(ar_valid),
    .m_ready(ar_lane_ready), .m_piece_valid(ar_piece_valid), .m_piece_ready(r_go && r_last[0]),
    .m_piece_id(ar_piece_id), .m_piece_last(ar_piece_last));

  // ---- rows to both lanes, answers of both
  logic [3:0] beat_q;
  logic [1:0] w_ready;
  logic       w_go;
  assign w_go = s_write_req.axi.w_valid && w_ready == '1;
  always_ff @(posedge clk) begin
    if (w_go) beat_q <= s_write_req.axi.w.last ? '0 : beat_q + 1'b1;
    if (rst) beat_q <= '0;
  end
  for (genvar i = 0; i < 2; i++) begin : g_lane
    assign m_write_req[i].aw_valid = aw_valid[i];
    assign m_write_req[i].aw       = '{fua: 1'b0, addr: aw_addr[i], len: 8'(aw_len[i])};
    assign aw_lane_ready[i]        = m_write_rsp[i].aw_ready;
    assign m_read_req[i].ar_valid  = ar_valid[i];
    assign m_read_req[i].ar        = '{fua: 1'b0, addr: ar_addr[i], len: 8'(ar_len[i])};
    assign ar_lane_ready[i]        = m_read_rsp[i].ar_ready;
    db_fifo #(.WIDTH(HALF + HALF / 8 + 1), .DEPTH(32)) i_w (
      .clk, .rst, .s_valid(w_go), .s_ready(w_ready[i]),
      .s_data({s_write_req.axi.w.last || beat_q == '1, s_write_req.axi.w.strb[i*HALF/8+:HALF/8],
               s_write_req.axi.w.data[i*HALF+:HALF]}),
      .m_valid(m_write_req[i].w_valid), .m_ready(m_write_rsp[i].w_ready), .m_data(m_write_req[i].w), .level());
    db_fifo #(.WIDTH(2), .DEPTH(16)) i_b (
      .clk, .rst, .s_valid(m_write_rsp[i].b_valid), .s_ready(m_write_req[i].b_ready), .s_data(m_write_rsp[i].b),
      .m_valid(b_valid[i]), .m_ready(b_go), .m_data(b_resp[i]), .level());
    db_fifo #(.WIDTH(HALF + 3), .DEPTH(32)) i_r (
      .clk, .rst, .s_valid(m_read_rsp[i].r_valid), .s_ready(m_read_req[i].r_ready), .s_data(m_read_rsp[i].r),
      .m_valid(r_valid[i]), .m_ready(r_go), .m_data({r_last[i], r_resp[i], r_data[i]}), .level());
  end

  // ---- to the controller: the response of a burst is the worst of its pieces'
  logic [1:0] worst_q, worst_b, worst;
  assign worst_b = b_resp[0] > b_resp[1] ? b_resp[0] : b_resp[1];
  assign worst   = worst_b > worst_q ? worst_b : worst_q;
  assign b_go    = b_valid == '1 && aw_piece_valid && (s_write_req.axi.b_ready || !aw_piece_last);
  assign r_go    = s_read_rsp.axi.r_valid && s_read_req.axi.r_ready;
  always_ff @(posedge clk) begin
    if (b_go) worst_q <= aw_piece_last ? '0 : worst;
    if (rst) worst_q <= '0;
  end
  assign s_write_rsp = '{
    b_id: aw_piece_id,
    axi: '{aw_held: 1'b0, aw_ready: aw_ready, w_ready: w_ready == '1,
           b_valid: b_valid == '1 && aw_piece_valid && aw_piece_last, b: worst}};
  assign s_read_rsp = '{
    r_id: ar_piece_id,
    axi: '{ar_ready: ar_ready, r_valid: r_valid == '1 && ar_piece_valid,
           r: '{last: r_last[0] && ar_piece_last, resp: r_resp[0] > r_resp[1] ? r_resp[0] : r_resp[1], data: r_data}}};

  logic unused_ok;
  assign unused_ok = &{1'b0, s_write_req.axi.aw.fua, s_read_req.axi.ar.fua};
`ifndef SYNTHESIS
  always_ff @(posedge clk) if (!rst && r_go) assert (r_last[0] == r_last[1]);
`endif
endmodule
