// SPDX-License-Identifier: Apache-2.0
// Card memory of an endpoint: a region a function that its controller finds among host addresses (a window), and that hosts and
// peers find in BAR 4. Stands between the hard block and db_pcie_endpoint; rtl/pcie/README.md has the picture. Wiring:
//
//   CQ -> _cmb_cq --- BAR 4 -.                    .-> _cmb_axi (writes) -> m_axi_write
//             '-> controller  +-> mux -> _root_rx -+
//   RQ, in a window ---------'                    '-> _cmb_tx [0] -> RC      rows <- _cmb_axi (reads) <- m_axi_read
//                                                  '> _cmb_tx [1] -> _cmb_landed -> CC
//
// All requests are in one stream, in order; a read begins when all that was written before it is in memory. So a controller
// reads what a host wrote before the doorbell, and a host what the controller wrote before its interrupt. Nothing of it is on
// the link. Answers to the controller and to hosts have ways of their own, so that neither waits for the other.
// Latency: of a read 12 cycles and the memory's; for the controller 1 more on CQ and CC. Throughput: a row a cycle in, a row a
// cycle out to both readers together. With CMB_LOG2 0 it is wires.
`include "db_axi_types.svh"
`include "db_pcie_types.svh"
module db_pcie_cmb
  import db_pcie_block_pkg::*, db_pcie_pkg::*, db_pcie_fn_pkg::*;
#(
  parameter int NUM_FN   = 1,    ///< functions, 1..17
  parameter int DATA_W   = 256,  ///< bits of a beat and of a row: 128, 256 or 512
  parameter int CMB_LOG2 = 16,   ///< log2 of the bytes of a function's region, 12..30; 0: there is none
  localparam int ADDR_W  = cmb_addr_w(CMB_LOG2, NUM_FN),
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W),
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W),
  localparam type axi_read_req_t  = `DB_AXI_READ_REQ_T(ADDR_W),
  localparam type axi_read_rsp_t  = `DB_AXI_READ_RSP_T(DATA_W),
  localparam type axi_write_req_t = `DB_AXI_WRITE_REQ_T(ADDR_W, DATA_W),
  localparam type axi_write_rsp_t = `DB_AXI_WRITE_RSP_T
) (
  input  logic               clk,
  input  logic               rst,
  /// 0: 128 bytes .. 5: 4096
  input  logic [2:0]         cfg_mps,
  input  logic               set_valid,  ///< pulse: a function's window is set (db_pcie_cmb_window)
  input  logic [PLACE_W-1:0] set_place,
  input  logic [NUM_FN-1:0]  clear,      ///< pulse: a function has none any more
  output logic               idle,

  /// the hard block
  output logic               cq_np_req,
  input  logic               s_cq_valid,
  output logic               s_cq_ready,
  input  cq_t                s_cq,
  output logic               m_cc_valid,
  input  logic               m_cc_ready,
  output cc_t                m_cc,
  input  rq_seq_t            s_rq_seq,

  /// the endpoint: its part of CQ and CC; its requests to card memory, completions of them; a pulse for each write that it sends
  input  logic               s_np_req,
  output logic               m_cq_valid,
  input  logic               m_cq_ready,
  output cq_t                m_cq,
  input  logic               s_cc_valid,
  output logic               s_cc_ready,
  input  cc_t                s_cc,
  input  logic               s_own_valid,
  output logic               s_own_ready,
  input  cq_t                s_own,
  output logic               m_own_valid,
  input  logic               m_own_ready,
  output cc_t                m_own,
  input  logic               link_write,
  input  logic               link_stall,       ///< RQ does not move

  output axi_read_req_t      m_axi_read_req,
  input  axi_read_rsp_t      m_axi_read_rsp,
  output axi_write_req_t     m_axi_write_req,
  input  axi_write_rsp_t     m_axi_write_rsp
);
  if (CMB_LOG2 == 0) begin : g_none
    assign idle            = 1'b1;
    assign cq_np_req       = s_np_req;
    assign m_cq_valid      = s_cq_valid;
    assign s_cq_ready      = m_cq_ready;
    assign m_cq            = s_cq;
    assign m_cc_valid      = s_cc_valid;
    assign s_cc_ready      = m_cc_ready;
    assign m_cc            = s_cc;
    assign s_own_ready     = 1'b0;
    assign m_own_valid     = 1'b0;
    assign m_own           = '0;
    assign m_axi_read_req  = '0;
    assign m_axi_write_req = '0;
    logic unused_ok;
    assign unused_ok = &{1'b0, clk, rst, cfg_mps, set_valid, set_place, clear, s_rq_seq, s_own_valid, s_own,
                         m_own_ready, link_write, link_stall, m_axi_read_rsp, m_axi_write_rsp};
  end else begin : g_cmb
    localparam int COUNT_W  = 8;
    localparam logic [2:0] OWN_MPS = 3'd2, HOST_MPS = 3'd1;  // completions of at most 512 and 256 bytes

    // ---- one stream
    logic [1:0] in_valid, in_ready;  // [0] hosts and peers, [1] controller
    cq_t  [1:0] in;
    logic       cq_valid, cq_ready, mux_idle;
    cq_t        cq;
    cq_desc_t   desc;
    db_pcie_cmb_cq #(.NUM_FN(NUM_FN), .DATA_W(DATA_W), .REGION_LOG2(CMB_LOG2)) i_cq (
      .clk, .rst, .s_cq_valid, .s_cq_ready, .s_cq, .m_cmb_valid(in_valid[0]), .m_cmb_ready(in_ready[0]), .m_cmb(in[0]),
      .m_bar_valid(m_cq_valid), .m_bar_ready(m_cq_ready), .m_bar(m_cq));
    assign in_valid[1] = s_own_valid;
    assign s_own_ready = in_ready[1];
    assign in[1]       = s_own;
    db_pcie_rq_mux #(.DATA_W(DATA_W), .N(2), .USER_W(cq_user_w(DATA_W))) i_mux (
      .clk, .rst, .stop(2'b00), .idle(mux_idle), .begun(), .s_rq_valid(in_valid), .s_rq_ready(in_ready), .s_rq(in),
      .m_rq_valid(cq_valid), .m_rq_ready(cq_ready), .m_rq(cq));
    assign desc = cq.tdata[127:0];

    logic                wr_valid, stall, req_valid, req_drop;
    logic [ADDR_W-1:0]   wr_addr;
    logic [DATA_W-1:0]   wr_data;
    logic [DATA_W/8-1:0] wr_be;
    window_req_t         req;
    logic [1:0]          req_room, req_done, tx_idle;
    db_pcie_root_rx #(.DATA_W(DATA_W), .WINDOW_LOG2(ADDR_W), .READABLE(8'hff)) i_rx (
      .clk, .rst, .window_base('0), .s_cq_valid(cq_valid), .s_cq_ready(cq_ready), .s_cq(cq), .s_own(1'b1),
      .m_wr_valid(wr_valid), .m_wr_addr(wr_addr), .m_wr_data(wr_data), .m_wr_be(wr_be), .stall, .m_req_valid(req_valid),
      .m_req(req), .req_room(req_room == '1), .m_req_drop(req_drop), .m_bad(), .m_damaged());

    // ---- memory
    logic [COUNT_W-1:0]     count_in, count_done;
    logic [1:0]             row_valid, row_ready, back_valid;
    logic [1:0][ADDR_W-1:0] row_addr;
    logic [DATA_W-1:0]      back_data;
    logic                   back_err, axi_idle;
    db_pcie_cmb_axi #(.NUM_FN(NUM_FN), .DATA_W(DATA_W), .REGION_LOG2(CMB_LOG2), .COUNT_W(COUNT_W)) i_axi (
      .clk, .rst, .set_valid, .set_place, .clear, .s_wr_valid(wr_valid), .s_wr_addr(wr_addr), .s_wr_data(wr_data),
      .s_wr_be(wr_be), .stall, .count_in, .count_done, .s_row_valid(row_valid), .s_row_ready(row_ready),
      .s_row_addr(row_addr), .m_row_valid(back_valid), .m_row_data(back_data), .m_row_err(back_err), .m_axi_read_req,
      .m_axi_read_rsp, .m_axi_write_req, .m_axi_write_rsp, .idle(axi_idle));

    // ---- answers: [0] to the controller, [1] to hosts
    logic [1:0] cpl_valid, cpl_ready;
    cc_t  [1:0] cpl;
    for (genvar i = 0; i < 2; i++) begin : g_tx
      db_pcie_cmb_tx #(
        .NUM_FN(i == 0 ? 1 : NUM_FN), .DATA_W(DATA_W), .ADDR_W(ADDR_W), .STEPS(i == 0 && DATA_W != 512 ? 64 : 32),
        .COUNT_W(COUNT_W)
      ) i_tx (
        .clk, .rst, .mps(i == 0 ? OWN_MPS : cfg_mps < HOST_MPS ? cfg_mps : HOST_MPS),
        .s_req_valid(req_valid && desc.rsvd1 == (i == 0)), .s_req(req), .s_req_fn(desc.target_fn),
        .req_room(req_room[i]), .m_req_done(req_done[i]), .count_in, .count_done, .m_row_valid(row_valid[i]),
        .m_row_ready(row_ready[i]), .m_row_addr(row_addr[i]), .s_row_valid(back_valid[i]), .s_row_data(back_data),
        .s_row_err(back_err), .m_cc_valid(cpl_valid[i]), .m_cc_ready(cpl_ready[i]), .m_cc(cpl[i]), .idle(tx_idle[i]));
    end
    assign m_own_valid  = cpl_valid[0];
    assign cpl_ready[0] = m_own_ready;
    assign m_own        = cpl[0];

    // ---- CC
    logic       open, cc_idle, wait_valid;
    cc_t        waiting;
    logic [1:0] cc_valid, cc_ready;
    cc_t  [1:0] cc;
    db_pcie_cmb_landed i_landed (
      .clk, .rst, .s_write(link_write), .s_seq(s_rq_seq), .s_stall(link_stall), .s_valid(wait_valid),
      .s_end(cc_valid[1] && cc_ready[1] && cc[1].tlast), .open);
    db_skid #(.WIDTH($bits(cc_t))) i_wait (
      .clk, .rst, .s_valid(cpl_valid[1]), .s_ready(cpl_ready[1]), .s_data(cpl[1]), .m_valid(wait_valid),
      .m_ready(cc_ready[1] && open), .m_data(waiting));
    assign cc_valid     = {wait_valid && open, s_cc_valid};
    assign cc           = {waiting, s_cc};
    assign s_cc_ready   = cc_ready[0];
    db_pcie_rq_mux #(.DATA_W(DATA_W), .N(2), .USER_W(cc_user_w(DATA_W))) i_cc_mux (
      .clk, .rst, .stop(2'b00), .idle(cc_idle), .begun(), .s_rq_valid(cc_valid), .s_rq_ready(cc_ready), .s_rq(cc),
      .m_rq_valid(m_cc_valid), .m_rq_ready(m_cc_ready), .m_rq(m_cc));

    // A credit is given again when its request has been answered, or is gone; one a cycle.
    logic [2:0] owed_q;
    assign cq_np_req = owed_q != '0;
    always_ff @(posedge clk) begin
      owed_q <= owed_q + 3'(s_np_req) + 3'(req_done[1]) + 3'(req_drop) - 3'(cq_np_req);
      if (rst) owed_q <= '0;
    end

    // Between the stream and memory are a few cycles in which nothing shows.
    logic [3:0] still_q;
    always_ff @(posedge clk) begin
      idle <= still_q == '0 && axi_idle && tx_idle == '1 && cc_idle && mux_idle && in_valid == '0 && !wait_valid;
      if (!mux_idle || in_valid != '0 || cq_valid || wr_valid || m_cq_valid || owed_q != '0 || rst) still_q <= '1;
      else if (still_q != '0) still_q <= still_q - 1'b1;
    end
  end
endmodule
