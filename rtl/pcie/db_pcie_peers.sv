// SPDX-License-Identifier: Apache-2.0
// What an endpoint needs to drive other devices, peer to peer: their windows on CQ and CC, accesses to them on RQ. Stands
// between the hard block and a controller (db_pcie_endpoint); rtl/pcie/README.md has the picture.
//
// Each drive has 2**DRIVE_LOG2 bytes of BAR 2 as its window. Windows share one way in and one way out, in order; accesses
// are each drive's own, with tags from 128 on, so that one that never answers keeps nobody waiting.
// Where CQ and CC are straddled (STRADDLE), they are taken apart, and packed, here alone: between are rows of payload, and the
// controller has packets as ever.
// Latency: on CQ 1 cycle more for the controller, on CC 1; STRADDLE: 4 or 5, 4 or 5. Throughput: a beat a cycle, each way.
`include "db_pcie_types.svh"
module db_pcie_peers
  import db_pcie_block_pkg::*, db_pcie_pkg::*;
#(
  parameter int         DATA_W      = 256,    ///< bits of a beat and of a row: 128, 256 or 512
  parameter int         NUM_PEERS   = 2,      ///< drives: 1, 2, 4, 8
  parameter int         DRIVE_LOG2  = 26,     ///< log2 of the bytes of a drive's window
  parameter logic [7:0] READABLE    = 8'h3f,  ///< eighths of a window, lowest first, that answer reads
  parameter int         ROW_LATENCY = 4,      ///< cycles from m_row_valid to s_row_data, at least 2
  parameter bit         STRADDLE    = 1'b0,   ///< CQ and CC of the hard block are straddled: with 512 bits alone
  localparam type cq_t = `DB_PCIE_CQ_T(DATA_W),
  localparam type cc_t = `DB_PCIE_CC_T(DATA_W),
  localparam type rq_t = `DB_PCIE_RQ_T(DATA_W),
  localparam type rc_t = `DB_PCIE_RC_T(DATA_W)
) (
  input  logic                                  clk,
  input  logic                                  rst,
  /// 0: 128 bytes .. 5: 4096
  input  logic [2:0]                            cfg_mps,
  /// of BAR 2: a multiple of its size
  input  logic [63:0]                           window_base,
  /// requester id of each drive: it alone touches its window
  input  logic [NUM_PEERS-1:0][15:0]            peer_id,
  /// ... and while this is 1
  input  logic [NUM_PEERS-1:0]                  peer_open,
  /// no answer to a read of a drive is under way, no access waits
  output logic                                  idle,

  /// the hard block
  output logic                                  cq_np_req,
  input  logic                                  s_cq_valid,
  output logic                                  s_cq_ready,
  input  cq_t                                   s_cq,
  output logic                                  m_cc_valid,
  input  logic                                  m_cc_ready,
  output cc_t                                   m_cc,
  /// a beat of RC that the controller takes
  input  logic                                  s_rc_valid,
  input  rc_t                                   s_rc,

  /// the controller
  output logic                                  m_cq_valid,
  input  logic                                  m_cq_ready,
  output cq_t                                   m_cq,
  input  logic                                  s_cc_valid,
  output logic                                  s_cc_ready,
  input  cc_t                                   s_cc,
  output logic                                  m_rq_valid,
  input  logic                                  m_rq_ready,
  output rq_t                                   m_rq,

  /// each drive: a pulse each millisecond; where its BAR 0 is
  input  logic [NUM_PEERS-1:0]                  tick,
  input  logic [NUM_PEERS-1:0][63:0]            bar_base,
  input  logic [NUM_PEERS-1:0]                  s_poke_valid,
  output logic [NUM_PEERS-1:0]                  s_poke_ready,
  input  poke_t [NUM_PEERS-1:0]                 s_poke,
  input  logic [NUM_PEERS-1:0]                  s_acc_valid,
  output logic [NUM_PEERS-1:0]                  s_acc_ready,
  input  acc_t [NUM_PEERS-1:0]                  s_acc,
  output logic [NUM_PEERS-1:0]                  m_answer_valid,
  output acc_answer_t [NUM_PEERS-1:0]           m_answer,
  /// rows that a drive writes, always taken
  output logic [NUM_PEERS-1:0]                  m_wr_valid,
  output logic [DRIVE_LOG2-1:0]                 m_wr_addr,
  output logic [DATA_W-1:0]                     m_wr_data,
  output logic [DATA_W/8-1:0]                   m_wr_be,
  /// rows that it reads; s_row_data comes ROW_LATENCY cycles after m_row_valid
  output logic [NUM_PEERS-1:0]                  m_row_valid,
  output logic [DRIVE_LOG2-1:0]                 m_row_addr,
  input  logic [NUM_PEERS-1:0][DATA_W-1:0]      s_row_data,
  /// pulses: a request outside the windows or not supported; a write to this drive's window was damaged
  output logic                                  m_bad,
  output logic                                  m_foreign,  ///< a request to a window by another than its drive
  output logic [NUM_PEERS-1:0]                  m_damaged
);
  localparam int INDEX_LOG2  = $clog2(NUM_PEERS);
  localparam int INDEX_W     = NUM_PEERS > 1 ? INDEX_LOG2 : 1;
  localparam int WINDOW_LOG2 = DRIVE_LOG2 + INDEX_LOG2;
  localparam int TAG_W       = 5 - INDEX_LOG2;
  localparam int FIRST_TAG   = 128;
  if (!(NUM_PEERS inside {1, 2, 4, 8})) begin : g_bad
    $error("%m: NUM_PEERS must be 1, 2, 4 or 8 (is %0d)", NUM_PEERS);
  end
  if (STRADDLE && DATA_W != 512) begin : g_bad_straddle
    $error("%m: STRADDLE is for a DATA_W of 512 (is %0d)", DATA_W);
  end
  localparam int CC_FORM_W = cc_form_w(DATA_W, STRADDLE);
  typedef `DB_PCIE_STREAM_T(DATA_W, CC_FORM_W) cc_form_t;

  // ---- CQ
  logic cq_valid, cq_ready, window_valid, window_ready, window_own, other_valid, other_ready, other_asks, in_idle;
  cq_t  in, cq;
  if (STRADDLE) begin : g_cq_straddle
    cq_side_t   side;
    logic [4:0] dwords;
    logic       straddle_idle, join_valid, join_ready;
    cq_t        joined;
    assign in_idle = straddle_idle && !join_valid;
    db_pcie_cq_straddle i_straddle (
      .clk, .rst, .idle(straddle_idle), .s_cq_valid, .s_cq_ready, .s_cq, .m_valid(cq_valid), .m_ready(cq_ready),
      .m_sop(), .m_eop(in.tlast), .m_disc(side.damaged), .m_data(in.tdata), .m_dwords(dwords), .m_desc(side.desc),
      .m_first_be(side.first_be), .m_last_be(side.last_be));
    assign in.tuser = $bits(in.tuser)'(side);
    for (genvar l = 0; l < DATA_W / 32; l++) begin : g_lane
      assign in.tkeep[l] = dwords > 5'(l);
    end
    db_pcie_cq_join i_join (
      .clk, .rst, .spills(), .s_valid(other_valid), .s_ready(other_ready), .s_row(cq), .m_cq_valid(join_valid),
      .m_cq_ready(join_ready), .m_cq(joined));
    db_skid #(.WIDTH($bits(cq_t))) i_join_out (
      .clk, .rst, .s_valid(join_valid), .s_ready(join_ready), .s_data(joined), .m_valid(m_cq_valid),
      .m_ready(m_cq_ready), .m_data(m_cq));
  end else begin : g_cq
    assign cq_valid    = s_cq_valid;
    assign s_cq_ready  = cq_ready;
    assign in          = s_cq;
    assign in_idle     = 1'b1;
    assign m_cq_valid  = other_valid;
    assign other_ready = m_cq_ready;
    assign m_cq        = cq;
  end
  db_pcie_peer_cq #(.DATA_W(DATA_W), .NUM_PEERS(NUM_PEERS), .DRIVE_LOG2(DRIVE_LOG2), .SIDE(STRADDLE)) i_cq (
    .clk, .rst, .peer_id, .peer_open, .s_cq_valid(cq_valid), .s_cq_ready(cq_ready), .s_cq(in), .m_cq(cq),
    .m_window_valid(window_valid), .m_window_ready(window_ready), .m_window_own(window_own), .m_foreign,
    .m_other_valid(other_valid), .m_other_ready(other_ready), .m_other_asks(other_asks));

  logic                   req_valid, req_room, req_drop, req_done, wr_valid, damaged, row_valid, tx_idle;
  window_req_t            req;
  logic [WINDOW_LOG2-1:0] wr_addr, row_addr;
  logic [INDEX_W-1:0]     wr_index, row_index;
  logic [1:0]             np_req;
  db_pcie_root_rx #(
    .DATA_W(DATA_W), .WINDOW_LOG2(WINDOW_LOG2), .DRIVE_LOG2(DRIVE_LOG2), .READABLE(READABLE), .SIDE(STRADDLE)
  ) i_rx (
    .clk, .rst, .window_base, .s_cq_valid(window_valid), .s_cq_ready(window_ready), .s_cq(cq), .s_own(window_own),
    .m_wr_valid(wr_valid),
    .m_wr_addr(wr_addr), .m_wr_data, .m_wr_be, .stall(1'b0), .m_req_valid(req_valid), .m_req(req), .req_room,
    .m_req_drop(req_drop), .m_bad, .m_damaged(damaged));
  assign m_wr_addr = wr_addr[DRIVE_LOG2-1:0];
  assign wr_index  = NUM_PEERS > 1 ? wr_addr[WINDOW_LOG2-1-:INDEX_W] : '0;

  // ---- CC
  logic [DATA_W-1:0] row_data;
  logic [1:0]        cc_valid, cc_ready;
  cc_form_t [1:0]    cc;
  cc_form_t          tx, out;
  logic              tx_valid, tx_ready, mux_idle, out_valid, out_ready, cc_idle;
  db_pcie_root_tx #(
    .DATA_W(DATA_W), .WINDOW_LOG2(WINDOW_LOG2), .ROW_LATENCY(ROW_LATENCY), .SIDE(STRADDLE)
  ) i_tx (
    .clk, .rst, .cfg_mps, .s_req_valid(req_valid), .s_req(req), .req_room, .m_req_done(req_done),
    .m_row_valid(row_valid),
    .m_row_addr(row_addr), .s_row_data(row_data), .m_cc_valid(tx_valid), .m_cc_ready(tx_ready), .m_cc(tx),
    .idle(tx_idle));
  db_pcie_rq_mux #(.DATA_W(DATA_W), .N(2), .USER_W(CC_FORM_W)) i_cc_mux (
    .clk, .rst, .stop(2'b00), .idle(mux_idle), .begun(), .s_rq_valid(cc_valid), .s_rq_ready(cc_ready), .s_rq(cc),
    .m_rq_valid(out_valid), .m_rq_ready(out_ready), .m_rq(out));
  if (STRADDLE) begin : g_cc_straddle
    logic     rows_idle, straddle_idle, row_valid_in, row_ready_in;
    cc_form_t row_in;
    db_pcie_cc_rows i_rows (
      .clk, .rst, .idle(rows_idle), .s_cc_valid, .s_cc_ready, .s_cc, .m_valid(row_valid_in), .m_ready(row_ready_in),
      .m_row(row_in));
    db_skid #(.WIDTH($bits(cc_form_t))) i_row (
      .clk, .rst, .s_valid(row_valid_in), .s_ready(row_ready_in), .s_data(row_in), .m_valid(cc_valid[0]),
      .m_ready(cc_ready[0]), .m_data(cc[0]));
    db_skid #(.WIDTH($bits(cc_form_t))) i_tx_out (
      .clk, .rst, .s_valid(tx_valid), .s_ready(tx_ready), .s_data(tx), .m_valid(cc_valid[1]), .m_ready(cc_ready[1]),
      .m_data(cc[1]));
    db_pcie_cc_straddle i_straddle (
      .clk, .rst, .idle(straddle_idle), .s_valid(out_valid), .s_ready(out_ready), .s_last(out.tlast),
      .s_side(out.tuser), .s_data(out.tdata), .m_cc_valid, .m_cc_ready, .m_cc);
    assign cc_idle = mux_idle && rows_idle && cc_valid == '0 && straddle_idle;
  end else begin : g_cc
    assign cc_valid    = {tx_valid, s_cc_valid};
    assign cc          = {tx, s_cc};
    assign {tx_ready, s_cc_ready} = cc_ready;
    assign m_cc_valid  = out_valid;
    assign out_ready   = m_cc_ready;
    assign m_cc        = out;
    assign cc_idle     = mux_idle;
  end

  // A request of the host takes a credit, too, and no place here: it is given again at once. Both pulses come a cycle after
  // their request's first beat, so never together.
  db_pcie_root_credit i_credit (
    .clk, .rst, .link_up(1'b1), .s_done(req_done), .s_drop(req_drop || other_asks), .pcie_cq_np_req(np_req));
  assign cq_np_req = np_req[0];

  // ---- rows
  logic [ROW_LATENCY-1:0][INDEX_W-1:0] index_q;
  assign row_index  = NUM_PEERS > 1 ? row_addr[WINDOW_LOG2-1-:INDEX_W] : '0;
  assign m_row_addr = row_addr[DRIVE_LOG2-1:0];
  assign row_data   = s_row_data[index_q[ROW_LATENCY-1]];
  always_ff @(posedge clk) index_q <= {index_q[ROW_LATENCY-2:0], row_index};

  // ---- accesses
  logic [NUM_PEERS-1:0] access_valid, access_ready;
  rq_t  [NUM_PEERS-1:0] access;
  logic                 access_idle;
  for (genvar i = 0; i < NUM_PEERS; i++) begin : g_peer
    logic        acc_valid, acc_ready, answer_valid;
    acc_t        acc;
    acc_answer_t answer;
    assign m_wr_valid[i]  = wr_valid && wr_index == INDEX_W'(i);
    assign m_damaged[i]   = damaged && wr_index == INDEX_W'(i);
    assign m_row_valid[i] = row_valid && row_index == INDEX_W'(i);
    db_pcie_peer_config i_config (
      .clk, .rst, .bar_base(bar_base[i]), .s_acc_valid(s_acc_valid[i]), .s_acc_ready(s_acc_ready[i]), .s_acc(s_acc[i]),
      .m_answer_valid(m_answer_valid[i]), .m_answer(m_answer[i]), .m_acc_valid(acc_valid), .m_acc_ready(acc_ready),
      .m_acc(acc), .s_answer_valid(answer_valid), .s_answer(answer));
    db_pcie_root_req #(.DATA_W(DATA_W), .TAG_W(TAG_W), .TAG_BASE(FIRST_TAG + (i << TAG_W)), .SIDE(1'b1)) i_req (
      .clk, .rst, .tick(tick[i]), .bar_base(bar_base[i]), .s_poke_valid(s_poke_valid[i]),
      .s_poke_ready(s_poke_ready[i]), .s_poke(s_poke[i]), .s_acc_valid(acc_valid), .s_acc_ready(acc_ready),
      .s_acc(acc), .m_answer_valid(answer_valid), .m_answer(answer), .m_rq_valid(access_valid[i]),
      .m_rq_ready(access_ready[i]), .m_rq(access[i]), .s_rc_valid, .s_rc_ready(), .s_rc);
  end
  db_pcie_rq_mux #(.DATA_W(DATA_W), .N(NUM_PEERS)) i_rq_mux (
    .clk, .rst, .stop('0), .idle(access_idle), .begun(), .s_rq_valid(access_valid), .s_rq_ready(access_ready),
    .s_rq(access), .m_rq_valid, .m_rq_ready, .m_rq);

  assign idle = tx_idle && cc_idle && access_idle && access_valid == '0 && in_idle && !wr_valid && !window_valid &&
                !other_valid && !s_cq_valid && !np_req[0];
endmodule
